/* SPDX-License-Identifier: MIT */
/*
 * libperfctr: performance counters of DRM devices and SoC PMUs.
 *
 *	context    log and error text; all other objects belong to one
 *	device     a DRM node that offers counters
 *	selection  which counters, given by name
 *	session    a selection that counts into a ring
 *	cursor     reads the samples of a session in place
 *	decoder    decode.h: sample bytes to blocks and counters
 *	totals     adds samples up; sums, rates, metrics
 *	database   names, units and meaning of counters and metrics
 *
 * Conventions
 *  - Objects are opaque and reference-counted: perfctr_x_ref() takes a reference and
 *    returns the object, perfctr_x_unref() drops one and returns NULL; both
 *    accept NULL. An object holds references to the objects it was made from.
 *  - A function that can fail returns 0 or a negative errno, unless documented
 *    otherwise. perfctr_ctx_error() then has the reason in words.
 *  - Option structures begin with their size: set it to sizeof and unused members
 *    to zero. A library older than the program accepts a longer structure if the
 *    members that it does not know are zero, else -E2BIG.
 *  - Structures to which the library returns a pointer may grow at their end:
 *    never copy, allocate or subscript them. Structures that the caller provides
 *    without a size never change.
 *  - Nothing is global. One thread at a time may use a context and the objects made
 *    from it; different contexts are independent. The cursor functions access only
 *    the cursor and its ring, so a second thread may use the cursor of a session.
 *
 * Example: the sum over all shader cores in one second:
 *
 *	struct perfctr_ctx *ctx = NULL;
 *	struct perfctr_device *device = NULL;
 *	struct perfctr_selection *selection = NULL;
 *	struct perfctr_session *session = NULL;
 *	struct perfctr_cursor *cursor = NULL;
 *	struct perfctr_sample sample;
 *	struct perfctr_block block;
 *
 *	if (perfctr_ctx_new(&ctx) || perfctr_device_open(ctx, NULL, &device) ||
 *	    perfctr_selection_new(device, &selection) ||
 *	    perfctr_selection_add(selection, "shader/FRAGMENTS") < 0 ||
 *	    perfctr_session_new(selection, NULL, &session) ||
 *	    perfctr_cursor_new(session, &cursor) || perfctr_session_start(session, 0))
 *		return 1;
 *	sleep(1);
 *	perfctr_session_stop(session, 0);
 *	while (perfctr_cursor_next(cursor, &sample) > 0) {
 *		while (perfctr_decode_block(&sample, &block) > 0)
 *			total += perfctr_block_value(&block, 0);
 *		perfctr_cursor_advance(cursor, 1);
 *	}
 */
#ifndef PERFCTR_PERFCTR_H
#define PERFCTR_PERFCTR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <drm/perfctr_drm.h>
#include <perfctr/decode.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct perfctr_ctx;
struct perfctr_device;
struct perfctr_device_list;
struct perfctr_selection;
struct perfctr_session;
struct perfctr_cursor;
struct perfctr_totals;
struct perfctr_totals_block;
struct perfctr_expr;

/* --- context ------------------------------------------------------------- */

/** enum perfctr_log_level - importance of a message */
enum perfctr_log_level {
	PERFCTR_LOG_NONE = 0, /* as a threshold: no messages */
	PERFCTR_LOG_ERROR = 1, /* a call failed */
	PERFCTR_LOG_WARNING = 2, /* something is wrong, the call continues */
	PERFCTR_LOG_INFO = 3, /* choices that the library made */
	PERFCTR_LOG_DEBUG = 4, /* every step */
};

/**
 * typedef perfctr_log_fn - receives messages
 * @data: as given to perfctr_ctx_set_log()
 * @level: enum perfctr_log_level
 * @text: one line without a line feed; valid during the call
 */
typedef void (*perfctr_log_fn)(void *data, int level, const char *text);

/**
 * perfctr_ctx_new() - create a context
 * @ctx: set to the context on success
 *
 * The environment variable PERFCTR_LOG (none, error, warning, info, debug) sets
 * the threshold; default none. Without a callback messages go to stderr.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_ctx_new(struct perfctr_ctx **ctx);
struct perfctr_ctx *perfctr_ctx_ref(struct perfctr_ctx *ctx);
struct perfctr_ctx *perfctr_ctx_unref(struct perfctr_ctx *ctx);

/**
 * perfctr_ctx_set_log() - set the destination of messages
 * @fn: callback, NULL for stderr
 * @data: passed to @fn
 */
void perfctr_ctx_set_log(struct perfctr_ctx *ctx, perfctr_log_fn fn, void *data);

/**
 * perfctr_ctx_set_log_level() - set the threshold of messages
 * @level: enum perfctr_log_level; PERFCTR_LOG in the environment has priority
 */
void perfctr_ctx_set_log_level(struct perfctr_ctx *ctx, int level);

/**
 * perfctr_ctx_log_level() - threshold in use
 *
 * Return: enum perfctr_log_level.
 */
int perfctr_ctx_log_level(const struct perfctr_ctx *ctx);

/**
 * perfctr_ctx_error() - reason of the last failure
 *
 * One sentence with the problem and, if known, a remedy.
 *
 * Return: the text, empty if no call failed yet; valid until the next failure.
 */
const char *perfctr_ctx_error(const struct perfctr_ctx *ctx);

/* --- devices ------------------------------------------------------------- */

/** struct perfctr_device_entry - a DRM node of the machine, or a node of kbase */
struct perfctr_device_entry {
	const char *path; /* of the node, /dev/dri/renderD128, /dev/accel/accel0, /dev/mali0 */
	const char *driver; /* name of the kernel driver, empty if unknown */
	const char *name; /* name of the device or product, empty without counters */
	/*
	 * 0 if the device offers counters; -EACCES or -EPERM the node may not be opened, or, with a
	 * driver's name, its counters are turned off; -ENOTTY or -EINVAL its driver has none;
	 * -EHOSTDOWN the device sleeps, and was not opened because that would wake it, so whether
	 * it has counters is unknown; another negative errno
	 */
	int error;
	/* 1 if counting harms other programs: perfctr_device_open() opens it only by name */
	int by_name;
};

/**
 * perfctr_device_list_new() - list all DRM nodes of the machine, and those of kbase
 * @list: set to the list on success; GPUs first, both by path
 *
 * Render nodes, primary nodes of devices that have no render node, and nodes of accelerators.
 * Nodes without counters are listed too, with the reason. A GPU that sleeps is not woken.
 *
 * Return: 0 or a negative errno. A machine without DRM gives an empty list.
 */
int perfctr_device_list_new(struct perfctr_ctx *ctx, struct perfctr_device_list **list);
struct perfctr_device_list *perfctr_device_list_ref(struct perfctr_device_list *list);
struct perfctr_device_list *perfctr_device_list_unref(struct perfctr_device_list *list);

/**
 * perfctr_device_list_count() - nodes in a list
 *
 * Return: the number.
 */
size_t perfctr_device_list_count(const struct perfctr_device_list *list);

/**
 * perfctr_device_list_get() - one node of a list
 * @n: 0..count - 1
 *
 * Return: the entry, valid as long as the list; NULL if @n is out of range.
 */
const struct perfctr_device_entry *perfctr_device_list_get(const struct perfctr_device_list *list,
							   size_t n);

/** PERFCTR_DEVICE_LOCAL - the perf PMUs of this machine; needs no kernel module. */
#define PERFCTR_DEVICE_LOCAL "local"

/**
 * perfctr_device_open() - open a device
 * @which: path of a node ("/dev/dri/renderD128"), last part of it ("renderD128"),
 *	   name of a driver ("panthor"), name of a device, PERFCTR_DEVICE_LOCAL, or NULL for
 *	   the first device that is awake and offers counters, or the local device if there
 *	   is none
 * @device: set to the device on success
 *
 * A session of the local device counts in this process: a thread reads perf events and
 * writes the ring. The rules of perf_event_open() decide about permission.
 *
 * Return: 0; -ENODEV no matching device offers counters; -ENOTTY the node's driver
 * has none; errors of open().
 */
int perfctr_device_open(struct perfctr_ctx *ctx, const char *which, struct perfctr_device **device);
struct perfctr_device *perfctr_device_ref(struct perfctr_device *device);
struct perfctr_device *perfctr_device_unref(struct perfctr_device *device);

/**
 * perfctr_device_count_task() - count a process instead of the whole machine
 * @device: the local device
 * @task: the process, counted with its future children; -PID: the same from its next execve() on,
 * for a command that is about to run; 0: the whole machine
 *
 * Applies to sessions made after this call. PMUs with a cpumask in sysfs (the SoC's, GPUs')
 * cannot count a single process and count the whole machine. Without CAP_PERFMON,
 * kernel.perf_event_paranoid = 2 excludes kernel mode.
 *
 * Return: 0; -EOPNOTSUPP another device.
 */
int perfctr_device_count_task(struct perfctr_device *device, pid_t task);

/**
 * perfctr_device_count_processes() - count some processes instead of the whole machine
 * @device: the local device
 * @processes: their numbers, from 1, of the caller; each is counted with its future children
 * @count: of them, from 1
 *
 * Counts are sums. A session of several leaves out, with a warning, a process that ended before the
 * session was made; if all have, it is refused. As perfctr_device_count_task(), which it replaces.
 *
 * Return: 0; -EINVAL none, one twice, or no number of a process; -ESRCH one does not exist;
 * -ENOMEM; -EOPNOTSUPP another device.
 */
int perfctr_device_count_processes(struct perfctr_device *device, const pid_t *processes,
				   size_t count);

/**
 * perfctr_device_count_threads() - count some threads instead of the whole machine
 * @device: the local device
 * @threads: their numbers, from 1, of the caller; each is counted with its future children
 * @count: of them, from 1
 *
 * As perfctr_device_count_processes(), but perfctr_session_new() is -ESRCH if one has ended.
 *
 * Return: as perfctr_device_count_processes().
 */
int perfctr_device_count_threads(struct perfctr_device *device, const pid_t *threads, size_t count);

/**
 * perfctr_device_count_cpus() - count some CPUs instead of the whole machine
 * @device: the local device
 * @list: the CPUs, "0-3,8"
 *
 * It replaces perfctr_device_count_task(). PMUs with a cpumask in sysfs count the whole machine.
 *
 * Return: 0; -EINVAL no list, or a CPU that is not online; -EOPNOTSUPP another device; errors of
 * reading sysfs.
 */
int perfctr_device_count_cpus(struct perfctr_device *device, const char *list);

/**
 * perfctr_device_count_cgroup() - count a cgroup and those below it instead of the whole machine
 * @device: the local device
 * @path: folder of the cgroup, "/sys/fs/cgroup/batch.slice"
 *
 * As perfctr_device_count_task(), which it replaces. Needs CAP_PERFMON, or
 * kernel.perf_event_paranoid below 1.
 *
 * Return: 0; -EOPNOTSUPP another device; errors of open().
 */
int perfctr_device_count_cgroup(struct perfctr_device *device, const char *path);

/**
 * perfctr_device_open_fd() - make a device from an open DRM file
 * @fd: open DRM file; it is duplicated, so the caller may close it
 * @device: set to the device on success
 *
 * Return: 0; -ENOTTY the driver offers no counters; another negative errno.
 */
int perfctr_device_open_fd(struct perfctr_ctx *ctx, int fd, struct perfctr_device **device);

/**
 * perfctr_device_open_broker() - open a device through "perfctr serve"
 * @socket: path of the broker's socket, NULL for the system's broker, /run/perfctr/serve
 * @which: as for perfctr_device_open(), among the devices that the policy allows this user
 * @device: set to the device on success
 *
 * For processes without permission to count. All objects made from the device work the
 * same, within the broker's policy; samples come from the kernel through the ring, not
 * through the broker. Blocks that the policy forbids are not listed. When the broker ends,
 * sessions end: the cursor returns the published samples and then -ENODEV.
 *
 * Return: 0; -ENOENT, -ECONNREFUSED no broker listens there; -EACCES the user may not
 * connect, or the policy does not name this user; -EUSERS too many clients; -ENODEV no
 * such device, or the policy allows none; another negative errno.
 */
int perfctr_device_open_broker(struct perfctr_ctx *ctx, const char *socket, const char *which,
			       struct perfctr_device **device);

/**
 * perfctr_device_fd() - the device's DRM file
 *
 * For the driver's own ioctls.
 *
 * Return: the file descriptor, owned by the device; -1 if a broker has it, or if this process
 * counts, as on the local device and on a GPU through its driver's own interface.
 */
int perfctr_device_fd(const struct perfctr_device *device);

/**
 * perfctr_device_path() - path of the device's node
 *
 * Return: the path, empty if it was made from a file descriptor.
 */
const char *perfctr_device_path(const struct perfctr_device *device);

/**
 * perfctr_device_driver() - name of the device's kernel driver
 *
 * Return: the name.
 */
const char *perfctr_device_driver(const struct perfctr_device *device);

/**
 * perfctr_device_info() - properties of the device
 *
 * Return: as the kernel reported it, with the name and the product that the database has for the
 * gpu_id; members that an older kernel does not know are zero.
 */
const struct drm_perfctr_device_info *perfctr_device_info(const struct perfctr_device *device);

/**
 * perfctr_device_block_count() - blocks of the device
 *
 * Return: the number.
 */
size_t perfctr_device_block_count(const struct perfctr_device *device);

/**
 * perfctr_device_block() - one block of the device
 * @n: 0..count - 1
 *
 * Return: the block as the kernel reported it, NULL if @n is out of range.
 */
const struct drm_perfctr_block_info *perfctr_device_block(const struct perfctr_device *device,
							  size_t n);

/**
 * perfctr_device_clock_count() - clock domains of the device
 *
 * Return: the number.
 */
size_t perfctr_device_clock_count(const struct perfctr_device *device);

/**
 * perfctr_device_clock() - one clock domain of the device
 * @n: 0..count - 1
 *
 * Return: the clock as of the last query, NULL if @n is out of range.
 */
const struct drm_perfctr_clock_info *perfctr_device_clock(const struct perfctr_device *device,
							  size_t n);

/**
 * perfctr_device_refresh() - query the device again
 *
 * Updates info, blocks and current clock frequencies; earlier pointers become invalid.
 *
 * Return: 0 or a negative errno, with the device unchanged.
 */
int perfctr_device_refresh(struct perfctr_device *device);

/* --- the counter database ------------------------------------------------ */

/** enum perfctr_kind - how the values of a counter behave */
enum perfctr_kind {
	PERFCTR_KIND_COUNT = 0, /* events; values of samples add up */
	PERFCTR_KIND_CYCLES = 1, /* cycles of the counter's clock; values add up */
	PERFCTR_KIND_BYTES = 2, /* bytes; values add up */
	PERFCTR_KIND_TIME = 3, /* nanoseconds; values add up */
	/* a state at the sample's end; values do not add up, and are signed: cast to int64_t */
	PERFCTR_KIND_LEVEL = 4,
};

/** enum perfctr_trust - verdict of the validation of a counter */
enum perfctr_trust {
	PERFCTR_TRUST_UNVALIDATED = 0, /* never compared with a known count */
	PERFCTR_TRUST_TRUSTED = 1, /* measured equals expected, as far as tested */
	PERFCTR_TRUST_QUARANTINED = 2, /* differs from the expected count, no explanation yet */
	/* differs from its name; the text describes its real meaning */
	PERFCTR_TRUST_EXPLAINED = 3,
	PERFCTR_TRUST_UNTRUSTED = 4, /* differs from the expected count, no explanation holds */
};

/** struct perfctr_counter_desc - description of a counter */
struct perfctr_counter_desc {
	const char *id; /* stable name, for example "mali_v10.shader.frag_active" */
	const char *name; /* short name, for example "FRAGMENTS" */
	const char *short_text; /* a few words */
	const char *long_text; /* exactly which events it counts */
	const char *unit; /* for example "cycles", "bytes", "fragments" */
	const char *pmu; /* name of the perf PMU or a prefix of it, else empty */
	uint64_t event; /* perf config that selects it, for counters of perf PMUs */
	uint32_t sets; /* bit n is set if counter set n has it */
	uint16_t product; /* see "Products" in perfctr_drm.h */
	uint16_t block_type; /* block type, see perfctr_drm.h */
	uint16_t position; /* position in its block */
	uint8_t clock; /* clock domain or DRM_PERFCTR_CLOCK_NONE */
	uint8_t kind; /* enum perfctr_kind */
	uint8_t trust; /* enum perfctr_trust */
	uint8_t optional; /* 1 if only some devices of the product have it */
	uint8_t shift; /* the hardware counts in units of 1 << shift; totals are in @unit */
	/* its real meaning, if validation found one that differs, or NULL */
	const char *definition;
};

/** enum perfctr_scope - the blocks that a metric is computed from */
enum perfctr_scope {
	PERFCTR_SCOPE_BLOCK = 0, /* one block, or all blocks of its type added up */
	PERFCTR_SCOPE_DEVICE = 1, /* the device, with all blocks of each type added up */
};

/** struct perfctr_metric_desc - a value computed from counters */
struct perfctr_metric_desc {
	const char *id; /* stable name, for example "mali_v10.memsys.l2_read_hit_rate" */
	const char *name; /* short name, for example "l2_read_hit_ratio" */
	const char *short_text; /* a few words */
	const char *long_text; /* exact meaning */
	const char *unit; /* for example "%", "bytes/s" */
	const char *formula; /* see perfctr_expr_new() */
	uint16_t product; /* see "Products" in perfctr_drm.h */
	uint16_t block_type; /* block type, see perfctr_drm.h */
	uint8_t scope; /* enum perfctr_scope */
	uint8_t trust; /* enum perfctr_trust of the least trusted counter or of the metric itself */
};

/**
 * perfctr_counter_next() - walk through all counters of the database
 * @prev: counter from the last call, NULL to begin
 *
 * Return: the next counter, ordered by product, block type and position; NULL after the last one.
 */
const struct perfctr_counter_desc *perfctr_counter_next(const struct perfctr_counter_desc *prev);

/**
 * perfctr_counter_at() - description of the counter at a position
 * @product: product number
 * @block_type: block type, not GENERIC_PMU
 * @set: enum drm_perfctr_set
 * @position: position in the block
 *
 * Return: the counter or NULL.
 */
const struct perfctr_counter_desc *perfctr_counter_at(unsigned int product, unsigned int block_type,
						      unsigned int set, unsigned int position);

/**
 * perfctr_counter_of_pmu() - description of an event of a perf PMU
 * @pmu: name of the PMU, for example "software"
 * @config: perf config
 *
 * Return: the counter or NULL.
 */
const struct perfctr_counter_desc *perfctr_counter_of_pmu(const char *pmu, uint64_t config);

/**
 * perfctr_metric_next() - walk through all metrics of the database
 * @prev: metric from the last call, NULL to begin
 *
 * Return: the next metric, NULL after the last one.
 */
const struct perfctr_metric_desc *perfctr_metric_next(const struct perfctr_metric_desc *prev);

/**
 * perfctr_unit_next() - walk through the units of GPUs of the database
 * @prev: row from the last call, NULL to begin
 *
 * Each unit of a product has two rows: "TEX SOL", the share of its cycles in which it had work, in
 * %, and "TEX Bottleneck", that in which it also waited for no other unit. The long text of the
 * second one is what helps if the unit limits, or "". Neither is an event of a selection;
 * perfctr_totals_metric() computes both.
 *
 * Return: the next row, NULL after the last one.
 */
const struct perfctr_metric_desc *perfctr_unit_next(const struct perfctr_metric_desc *prev);

/** struct perfctr_filter_desc - one filter of the events of a SoC block */
struct perfctr_filter_desc {
	const char *name; /* as in event names and in the PMU's format directory, "src_loc_cpu" */
	const char *short_text; /* the traffic that it selects */
	uint16_t product; /* see "Products" in perfctr_drm.h */
	uint16_t block_type; /* block type, see perfctr_drm.h */
	uint8_t word; /* 0: in perf's config, 1: config1, 2: config2 */
	uint8_t low; /* lowest bit in @word */
	uint8_t width; /* bits, 1..64 */
	uint8_t hex; /* 1 if shown in hexadecimal: a mask or an address */
};

/**
 * perfctr_filter_next() - walk through all filters of the database
 * @prev: filter from the last call, NULL to begin
 *
 * Return: the next filter, NULL after the last one.
 */
const struct perfctr_filter_desc *perfctr_filter_next(const struct perfctr_filter_desc *prev);

/**
 * perfctr_filter_text() - filters of a SoC block as text
 * @block_type: block type; a generic PMU's words are events and give no text
 * @config: filter bits of perf's config, from the block
 * @config1: config1
 * @config2: config2
 * @text: buffer for the text, always NUL terminated if @size is not zero
 * @size: bytes at @text
 *
 * For example "src_loc_cpu=1,dst_loc_cmem=1", "" without a filter. Bits without a name in the
 * database follow as "config1=0x...".
 *
 * Return: length of the full text, as snprintf().
 */
int perfctr_filter_text(unsigned int block_type, uint64_t config, uint64_t config1,
			uint64_t config2, char *text, size_t size);

/**
 * perfctr_block_type_name() - name of a type of block
 * @type: block type
 *
 * Return: for example "shader", "ucf"; NULL if unknown.
 */
const char *perfctr_block_type_name(unsigned int type);

/**
 * perfctr_product_name() - name of a product
 * @product: product number
 *
 * Return: for example "mali_v10"; NULL if unknown.
 */
const char *perfctr_product_name(unsigned int product);

/**
 * perfctr_product_gpus() - marketing names of a product
 * @product: of the database
 *
 * Return: for example "G310, G510, G610, G710"; "" if there is none.
 */
const char *perfctr_product_gpus(unsigned int product);

/**
 * typedef perfctr_page_problem - a mistake in a page
 * @data: from perfctr_page_check()
 * @line: from 1
 * @column: from 1
 * @text: what is wrong
 */
typedef void (*perfctr_page_problem)(void *data, unsigned int line, unsigned int column,
				     const char *text);

/**
 * perfctr_page_check() - check a page of counters
 * @ctx: for the error text
 * @path: TOML file, as below /etc/perfctr/counters.d
 * @fn: gets each mistake, or NULL
 * @data: for @fn
 *
 * The library adds the pages of $PERFCTR_COUNTERS (files and folders, separated by colons),
 * /etc/perfctr/counters.d and ~/.config/perfctr/counters.d to its database, and those of metrics.d
 * beside them. A metric with a mistake is left out; with any other mistake the whole page is.
 *
 * Return: the number of mistakes; -ENOENT the file cannot be read.
 */
int perfctr_page_check(struct perfctr_ctx *ctx, const char *path, perfctr_page_problem fn,
		       void *data);

/**
 * perfctr_page_problems() - mistakes in the pages that this process reads
 *
 * Return: a line "FILE:LINE:COLUMN: what is wrong" for each; NULL if there is none.
 */
const char *perfctr_page_problems(void);

/**
 * perfctr_gpu_name() - marketing name of a Mali GPU
 * @gpu_id: as in struct drm_perfctr_device_info
 * @cores: its shader cores, 0 if unknown; some names depend on them
 * @product: set to its product number if it is known, or NULL
 *
 * Return: for example "G610"; NULL if unknown.
 */
const char *perfctr_gpu_name(uint64_t gpu_id, unsigned int cores, unsigned int *product);

/**
 * perfctr_block_label() - name of a block, also used in event names
 * @type: block type
 * @index: its index, DRM_PERFCTR_INDEX_ALL for the sum of all blocks of the type
 * @text: buffer for the name, always NUL terminated if @size is not zero
 * @size: bytes at @text
 *
 * For example "shader16", "pcie0_rc2", "shader" for the sum, "type77.3" if unknown.
 *
 * Return: length of the full name, as snprintf().
 */
int perfctr_block_label(unsigned int type, unsigned int index, char *text, size_t size);

/**
 * perfctr_flag_text() - names of the bits of flags
 * @flags: enum drm_perfctr_sample_flags
 * @text: buffer for the names, separated by commas, always NUL terminated
 * @size: bytes at @text
 *
 * Return: length of the full text, as snprintf().
 */
int perfctr_flag_text(uint32_t flags, char *text, size_t size);

/**
 * perfctr_state_text() - names of the bits of block states
 * @states: enum drm_perfctr_block_states
 * @text: buffer for the names, separated by commas, always NUL terminated
 * @size: bytes at @text
 *
 * Return: length of the full text, as snprintf().
 */
int perfctr_state_text(uint32_t states, char *text, size_t size);

/* --- perf PMUs of the machine --------------------------------------------- */

/** struct perfctr_pmu_event - an event that a perf PMU of the machine names */
struct perfctr_pmu_event {
	const char *pmu; /* name of the PMU in sysfs */
	const char *label; /* name of its block, for example "ucf0", or @pmu without one */
	const char *event; /* name of the event, NULL for a PMU without named events */
	const char *text; /* as perfctr_selection_add() takes it */
	const char *unit; /* unit of the value after @scale, empty if unknown */
	double scale; /* factor from a count to @unit, usually 1 */
	const struct perfctr_counter_desc *desc; /* its description in the database, or NULL */
	uint64_t config; /* perf config */
	uint32_t pmu_type; /* type number of the PMU on this machine */
	uint16_t block_type; /* block type, see perfctr_drm.h */
	uint16_t index; /* index of the block; no meaning for GENERIC_PMU */
	const char *title; /* what the kernel calls a sensor, "Package id 0"; else empty */
};

/**
 * typedef perfctr_pmu_event_fn - receives events
 * @data: as given to perfctr_pmu_events()
 * @event: valid during the call
 *
 * Return: 0 to continue; any other value ends the walk and is its result.
 */
typedef int (*perfctr_pmu_event_fn)(void *data, const struct perfctr_pmu_event *event);

/**
 * perfctr_pmu_events() - walk through the named events of the machine's perf PMUs
 * @fn: called for each event, ordered by PMU and name, and once for a PMU without named events
 * @data: passed to @fn
 *
 * Return: 0; what @fn returned; a negative errno.
 */
int perfctr_pmu_events(struct perfctr_ctx *ctx, perfctr_pmu_event_fn fn, void *data);

/**
 * perfctr_device_pmu_events() - as perfctr_pmu_events(), without the PMUs of other GPUs
 * @device: from perfctr_device_open(). A PMU of another DRM device can be counted beside it, but
 *	    only an event that names the PMU or its block selects it, no pattern and no metric.
 * @fn: called for each event
 * @data: passed to @fn
 *
 * Return: 0; what @fn returned; a negative errno.
 */
int perfctr_device_pmu_events(const struct perfctr_device *device, perfctr_pmu_event_fn fn,
			      void *data);

/**
 * struct perfctr_pcie_port - a PCIe root port and its root complex
 *
 * The PMUs of a Tegra410 are named after socket and root complex; lspci and drivers use PCI
 * segments. Each root port has both in a designated vendor-specific extended capability
 * (DVSEC, vendor 0x10de, id 4).
 */
struct perfctr_pcie_port {
	const char *address; /* "0004:00:00.0"; NULL from perfctr_pcie_port_decode() */
	uint8_t segment; /* PCI segment (domain) */
	uint8_t bus; /* bus behind the port */
	uint8_t root_port; /* number of the port, bit of src_rp_mask and dst_rp_mask */
	uint8_t root_complex; /* number in the PMU's name: pcie<socket>_rc<root_complex> */
	uint8_t socket; /* socket of the root complex */
};

/**
 * perfctr_pcie_port_decode() - find the capability in a configuration space
 * @config: configuration space, as in a device's file "config" in sysfs; not trusted
 * @bytes: bytes at @config, 4096 for the whole space
 * @port: filled in on success
 *
 * Return: 0; -ENOENT if the device has no such capability; -ENODATA if @bytes end before the
 * extended capabilities, as for users other than root; -EBADMSG if the list of capabilities
 * is truncated, has a loop or an invalid pointer.
 */
int perfctr_pcie_port_decode(const void *config, size_t bytes, struct perfctr_pcie_port *port);

/**
 * typedef perfctr_pcie_port_fn - receives root ports
 * @data: as given to perfctr_pcie_ports()
 * @port: valid during the call
 *
 * Return: 0 to continue; any other value ends the walk and is its result.
 */
typedef int (*perfctr_pcie_port_fn)(void *data, const struct perfctr_pcie_port *port);

/**
 * perfctr_pcie_ports() - walk through the root ports of the machine that name their root complex
 * @fn: called for each, in the order of their addresses
 * @data: passed to @fn
 *
 * Return: 0, also without root ports; what @fn returned; -EACCES if there may be root ports that
 * only root can see; another negative errno.
 */
int perfctr_pcie_ports(struct perfctr_ctx *ctx, perfctr_pcie_port_fn fn, void *data);

/* --- who uses GPUs ------------------------------------------------------- */

struct perfctr_clients;

/**
 * struct perfctr_client_use - what a DRM client did on engines of one kind
 *
 * The texts are as the kernel has them: a process chooses its command, and may choose the name of
 * its cgroup.
 */
struct perfctr_client_use {
	const char *event; /* the engines: "i915@0000:00:02.0:engine-render" */
	/* text of /proc/PID/cgroup, a line for each hierarchy; empty: it could not be read */
	const char *cgroup;
	const char *command; /* name of the process; empty: it could not be read */
	uint64_t ns; /* since the reading before, of all these engines; 0 for most */
	uint32_t engines; /* how many engines that may be */
	int32_t pid; /* of a process that has a file of the client */
	bool is_here; /* it has the engines; false: it ended, and this is its last use */
	bool lost; /* something may be missing: what it did since it was seen last */
};

/**
 * typedef perfctr_client_use_fn - receives what clients did
 * @data: as given to perfctr_clients_read()
 * @use: valid during the call
 */
typedef void (*perfctr_client_use_fn)(void *data, const struct perfctr_client_use *use);

/**
 * perfctr_clients_new() - begin to account for the DRM clients of this machine
 * @clients: set to the account on success
 *
 * Sees the processes that this user may inspect: its own; with CAP_SYS_PTRACE all of them. What
 * they did before does not count.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_clients_new(struct perfctr_ctx *ctx, struct perfctr_clients **clients);

/**
 * perfctr_clients_read() - say what each client did since the last reading
 * @fn: called for each client and kind of engine, also of a client that did nothing
 * @data: passed to @fn
 *
 * A client that has several files or processes is there once. What one did that came since the last
 * reading counts whole. One that came and ended in between is not seen. Searches all processes, at
 * most a fiftieth of the time; in between new clients are not seen.
 */
void perfctr_clients_read(struct perfctr_clients *clients, perfctr_client_use_fn fn, void *data);

struct perfctr_clients *perfctr_clients_unref(struct perfctr_clients *clients);

/* --- selections ---------------------------------------------------------- */

/**
 * perfctr_selection_new() - create an empty selection
 * @device: device whose counters are selected
 * @selection: set to the selection on success
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_selection_new(struct perfctr_device *device, struct perfctr_selection **selection);
struct perfctr_selection *perfctr_selection_ref(struct perfctr_selection *selection);
struct perfctr_selection *perfctr_selection_unref(struct perfctr_selection *selection);

/**
 * perfctr_selection_copy() - copy a selection
 * @from: selection
 * @selection: set to the copy on success
 *
 * For trying a change with perfctr_session_check() first.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_selection_copy(const struct perfctr_selection *from,
			   struct perfctr_selection **selection);

/**
 * perfctr_selection_add() - select counters by name
 * @text: one or more events, separated by commas outside of slashes
 *
 * Names are not case-sensitive; * ? and [] match as in a shell. An event is
 *
 *   GPU_ACTIVE, FRAG*            counters of all blocks by name
 *   shader/FRAG*, shader*        a type of block; without a counter: all its counters
 *   memsys0/L2_READ, shader16    one block by its index
 *   shader/C9                    counter by position, in the database or not
 *   ucf0/mem_bytes_rd,src_loc_cpu=1/
 *                                event of a SoC block with filters
 *   software/cpu-clock/, pmu/event=0x3c,config1=1,cpu=2/
 *                                event of any perf PMU as in perf; cpu=N chooses
 *                                a CPU, default: the PMU's own or the sum of all
 *   tracepoint/sched:sched_switch/
 *                                a tracepoint
 *   cpu-clock, context-switches  events of the software PMU
 *   cycles, instructions, branches, L1-dcache-load-misses, r1c0, ...
 *                                perf's generic names and raw numbers: always events
 *                                of each PMU of CPU cores, also where another PMU
 *                                has such a name
 *   cpu-clock:u, pmu/event/u     perf's modifiers, of events of any perf PMU
 *   metric:l2_*                  the counters that a metric needs
 *   {a,b}                        braces of a perf group are accepted and ignored
 *
 * If a SoC block is already selected with another filter, the event gets a
 * separate block of type GENERIC_PMU. PMUs are those of the last 0.1 s: one that
 * a module or a device just brought may be unknown for as long.
 *
 * Return: counters that the text names, at least 1; -ENOENT no counter has that
 * name; -EINVAL the text is malformed; -EOPNOTSUPP the device does not support perf
 * PMUs; another negative errno. On failure the selection is unchanged.
 */
int perfctr_selection_add(struct perfctr_selection *selection, const char *text);

/**
 * perfctr_event_length() - where the first event of a text ends
 * @device: device whose events are named; what its blocks are decides which commas are terms
 * @text: as for perfctr_selection_add()
 *
 * Return: bytes up to the comma after the first event, or up to the end.
 */
size_t perfctr_event_length(struct perfctr_device *device, const char *text);

/**
 * perfctr_selection_add_request() - select counters by a request of the kernel interface
 * @request: request; for GENERIC_PMU the index is chosen by the library
 *
 * Return: counters that were added or a negative errno.
 */
int perfctr_selection_add_request(struct perfctr_selection *selection,
				  const struct drm_perfctr_block_request *request);

/**
 * perfctr_selection_per_cpu() - count events of perf PMUs apart by CPU
 * @selection: complete selection
 *
 * On the local device, counting the whole machine, replaces each event that its PMU counts on
 * several CPUs by one for each of the CPUs that are online now, "cpu/cycles,cpu=3/". Other
 * selections stay as they are.
 *
 * Return: 0 or a negative errno; then the selection is unchanged.
 */
int perfctr_selection_per_cpu(struct perfctr_selection *selection);

/**
 * perfctr_selection_set_counter_set() - choose the counter set of the GPU's blocks
 * @selection: selection, still empty
 * @set: enum drm_perfctr_set; default primary
 *
 * Return: 0; -EOPNOTSUPP the device does not have this set; -EBUSY not empty.
 */
int perfctr_selection_set_counter_set(struct perfctr_selection *selection, unsigned int set);

/**
 * perfctr_selection_request_count() - requests of a selection
 *
 * Return: the number.
 */
size_t perfctr_selection_request_count(const struct perfctr_selection *selection);

/**
 * perfctr_selection_request() - one request of a selection
 * @n: 0..count - 1
 *
 * Return: the request, valid until the selection changes; NULL if out of range.
 */
const struct drm_perfctr_block_request *
perfctr_selection_request(const struct perfctr_selection *selection, size_t n);

/**
 * perfctr_selection_naming() - how the counters of a request were named
 * @n: number of the request
 * @single: set to the bits of its mask that were named with the block's index, as in
 *          "memsys0/L2_READ" or "shader1?/FRAGMENTS": to be shown per block
 * @summed: set to the bits that were named without an index, as in "L2_READ" or
 *          "memsys/L2_READ": to be added up over the blocks of the type; a bit can be in
 *          both. Both are 0 for counters without a name, and in captures without this
 *          information.
 */
void perfctr_selection_naming(const struct perfctr_selection *selection, size_t n, uint64_t *single,
			      uint64_t *summed);

/**
 * perfctr_selection_metric_count() - metrics that were selected with "metric:"
 *
 * Return: the number.
 */
size_t perfctr_selection_metric_count(const struct perfctr_selection *selection);

/**
 * perfctr_selection_metric() - one metric that was selected
 * @n: 0..count - 1
 *
 * Return: the metric, NULL if out of range.
 */
const struct perfctr_metric_desc *
perfctr_selection_metric(const struct perfctr_selection *selection, size_t n);

/**
 * perfctr_counter_label() - display name of a counter
 * @selection: selection that the block was sampled with, or NULL
 * @block: block from the decoder
 * @position: position in the block
 * @text: buffer for the name, always NUL terminated if @size is not zero
 * @size: bytes at @text
 *
 * The name in the database; for events of perf PMUs the selection's text
 * ("cpu-clock"); else "C" and the position. The block's name is not included.
 *
 * Return: length of the full name, as snprintf().
 */
int perfctr_counter_label(const struct perfctr_selection *selection,
			  const struct perfctr_block *block, unsigned int position, char *text,
			  size_t size);

/**
 * perfctr_counter_unit() - unit of a counter
 * @selection: selection that the block was sampled with, or NULL
 * @block: block from the decoder
 * @position: position in the block
 * @text: buffer for the unit, always NUL terminated if @size is not zero
 * @size: bytes at @text
 * @scale: set to the value of one count in that unit, usually 1; may be NULL
 *
 * From the database, or from the unit and scale files of the event in sysfs.
 *
 * Return: length of the unit, as snprintf(); 0 if it is unknown.
 */
int perfctr_counter_unit(const struct perfctr_selection *selection,
			 const struct perfctr_block *block, unsigned int position, char *text,
			 size_t size, double *scale);

/* --- sessions ------------------------------------------------------------ */

/**
 * PERFCTR_SESSION_SKIP_UNSUPPORTED - count the other events if perf refuses some
 *
 * A flag of struct perfctr_session_opts. On the local device an event that the PMU does not have
 * is in the samples with DRM_PERFCTR_STATE_UNAVAILABLE and never measured, as <not supported> of
 * perf stat; OPEN fails only if perf refuses all. Other devices ignore it.
 *
 * Both that state and DRM_PERFCTR_STATE_AVAILABLE say something else there: a task's event ran for
 * time_running of time_enabled, and whether it was multiplexed, or the task was on CPUs that the
 * event does not count on, is not known. So nothing can be extrapolated.
 */
#define PERFCTR_SESSION_SKIP_UNSUPPORTED (1u << 16)

/** struct perfctr_session_opts - options of a session */
struct perfctr_session_opts {
	size_t size; /* sizeof(struct perfctr_session_opts) */
	uint64_t period_ns; /* time between samples, 0: only perfctr_session_sample() */
	/*
	 * samples that the ring holds, rounded up to a power of two; 0: the samples of a quarter of
	 * a second, at least 16
	 */
	uint32_t slots;
	/*
	 * unread samples that wake perfctr_cursor_wait(), 0: 1; one slot is reserved for STOP, so a
	 * watermark of all slots means one less
	 */
	uint32_t watermark;
	/*
	 * DRM_PERFCTR_OPEN_KEEP_AWAKE, DRM_PERFCTR_OPEN_AUTOMATIC,
	 * PERFCTR_SESSION_SKIP_UNSUPPORTED
	 */
	uint32_t flags;
	uint32_t reserved; /* zero */
};

/** struct perfctr_session_sizes - sizes of a session's ring and samples */
struct perfctr_session_sizes {
	size_t size; /* sizeof(struct perfctr_session_sizes), set by the caller */
	uint64_t ring_offset; /* where slot 0 begins in the ring's file */
	uint64_t ring_bytes; /* bytes of the slots */
	uint32_t slots; /* samples that the ring holds */
	uint32_t slot_stride; /* bytes between slots */
	uint32_t sample_bytes; /* bytes of each sample */
	uint32_t block_count; /* blocks of each sample */
};

/**
 * perfctr_session_check() - check whether a session could be created
 * @selection: counters
 * @opts: options, or NULL
 * @sizes: filled on success, may be NULL
 *
 * Creates nothing.
 *
 * Return: 0 or as perfctr_session_new().
 */
int perfctr_session_check(struct perfctr_selection *selection,
			  const struct perfctr_session_opts *opts,
			  struct perfctr_session_sizes *sizes);

/**
 * perfctr_session_new() - create a session
 * @selection: counters; later changes of it have no effect
 * @opts: options, or NULL for a manual session
 * @session: set to the session on success
 *
 * Creates an eventfd, sets the session up and maps its ring. Does not count yet.
 *
 * Return: 0; -EACCES or -EPERM this user has no permission for system-wide counters or for this
 * period; -EBUSY the hardware is in use otherwise; -EDQUOT, -ENFILE, -ENOSPC too many sessions of
 * this user, of all users, of a broker's client; other errors of struct drm_perfctr_open, see
 * perfctr_drm.h.
 */
int perfctr_session_new(struct perfctr_selection *selection,
			const struct perfctr_session_opts *opts, struct perfctr_session **session);

/**
 * perfctr_session_new_raw() - create a session for another process
 * @device: the device, of any kind
 * @open: as for the kernel; requests is an array of this process, eventfd -1, layout zero
 * @layout: set on success
 * @session: set on success, to NULL with DRM_PERFCTR_OPEN_CHECK
 *
 * For programs that keep sessions for others, such as a broker. The ring is not mapped: a process
 * that gets a file of perfctr_session_reader() reads it. The session has no cursor, no selection.
 *
 * Return: 0 or a negative errno, as the kernel's interface documents them; the context has a text
 * for some of them only.
 */
int perfctr_session_new_raw(struct perfctr_device *device, const struct drm_perfctr_open *open,
			    struct drm_perfctr_layout *layout, struct perfctr_session **session);
struct perfctr_session *perfctr_session_ref(struct perfctr_session *session);
struct perfctr_session *perfctr_session_unref(struct perfctr_session *session);

/**
 * perfctr_session_start() - begin to count
 * @user_data: for periodic and automatic samples
 *
 * Return: 0; -EALREADY it is active; -EBUSY another counter set is in use; -ENOSPC no slot is free
 * for the final sample; -ETIMEDOUT, -EIO the hardware does not answer; another negative errno.
 */
int perfctr_session_start(struct perfctr_session *session, uint64_t user_data);

/**
 * perfctr_session_sample() - publish a sample now
 * @user_data: for this sample
 *
 * Return: 0, the sample is in the ring; -ENOSPC the ring is full: no counts are
 * lost, the next sample has them; -ENOTCONN not started; another negative errno.
 */
int perfctr_session_sample(struct perfctr_session *session, uint64_t user_data);

/**
 * perfctr_session_sample_fence() - publish a sample when a job is done
 * @fence_fd: sync_file of the job, which stays the caller's
 * @timeout_ns: longest wait for it, negative: no limit
 * @user_data: for this sample
 *
 * A sample that a job takes itself has values of perf PMUs from before. This one reads them after
 * the fence, together with the GPU's: between two such samples all blocks have the counts of the
 * same jobs, as long as no other work runs between a fence and its sample.
 *
 * Return: as perfctr_session_sample(); -ETIMEDOUT; -EINTR a signal; -EBADF @fence_fd.
 */
int perfctr_session_sample_fence(struct perfctr_session *session, int fence_fd, int64_t timeout_ns,
				 uint64_t user_data);

/**
 * perfctr_session_stop() - publish the final sample and stop counting
 * @user_data: for the final sample
 *
 * Return: 0, the sample is in the ring; -EALREADY not started; another negative errno.
 */
int perfctr_session_stop(struct perfctr_session *session, uint64_t user_data);

/**
 * perfctr_session_status() - the kernel's totals of the session
 * @status: filled on success; members that an older kernel does not know are zero
 * @size: sizeof(*@status) of the caller
 *
 * Return: 0 or a negative errno.
 */
int perfctr_session_status(struct perfctr_session *session, struct drm_perfctr_status *status,
			   size_t size);

/**
 * perfctr_session_sizes() - sizes of the session's ring
 *
 * Return: the sizes, valid as long as the session.
 */
const struct perfctr_session_sizes *perfctr_session_sizes(const struct perfctr_session *session);

/**
 * perfctr_session_fd() - the kernel's descriptor of the session
 *
 * For jobs that carry samples.
 *
 * Return: the file descriptor, owned by the session; -1 a broker or this process counts.
 */
int perfctr_session_fd(const struct perfctr_session *session);

/**
 * perfctr_session_eventfd() - file that becomes readable at the watermark
 *
 * For the caller's own poll(). Read 8 bytes from it before reading the ring,
 * or use perfctr_cursor_wait(), which does so.
 *
 * Return: the file descriptor, owned by the session.
 */
int perfctr_session_eventfd(const struct perfctr_session *session);

/**
 * perfctr_session_reader() - a file for another process to read the ring
 *
 * The reader maps it as struct drm_perfctr_ring_control describes, and can only write extract_idx.
 * It needs the eventfd, too: poll() of the file works only if the session is the kernel's. The
 * session must not have a cursor then.
 *
 * Return: a file descriptor, which the caller closes, close-on-exec; a negative errno.
 */
int perfctr_session_reader(const struct perfctr_session *session);

/**
 * perfctr_session_device() - the session's device
 *
 * Return: the device, no reference is taken.
 */
struct perfctr_device *perfctr_session_device(const struct perfctr_session *session);

/**
 * perfctr_session_selection() - counters of the session
 *
 * Return: the session's own copy of the selection, no reference is taken.
 */
struct perfctr_selection *perfctr_session_selection(const struct perfctr_session *session);

/* --- cursors ------------------------------------------------------------- */

/** struct perfctr_slot - a published sample in the ring */
struct perfctr_slot {
	const void *bytes; /* the sample; valid until perfctr_cursor_advance() passes it */
	size_t size; /* bytes that may be read; the sample itself may be smaller */
	uint64_t index; /* samples that the cursor returned to the kernel before it */
};

/**
 * perfctr_cursor_new() - read a session's samples
 * @session: session; has one cursor at a time
 * @cursor: set to the cursor on success
 *
 * Return: 0; -EBUSY the session has a cursor; -ENOMEM.
 */
int perfctr_cursor_new(struct perfctr_session *session, struct perfctr_cursor **cursor);
struct perfctr_cursor *perfctr_cursor_ref(struct perfctr_cursor *cursor);
struct perfctr_cursor *perfctr_cursor_unref(struct perfctr_cursor *cursor);

/**
 * perfctr_cursor_peek() - access an unread sample
 * @ahead: 0 for the oldest unread sample, 1 for the next one, and so on
 * @slot: filled if the result is 1
 *
 * No system call and no copy. Decode with perfctr_decode_sample().
 *
 * Return: 1; 0 there is no such sample yet; -ENODEV there is none and none will
 * follow; -EBADMSG the indices in the ring are invalid.
 */
int perfctr_cursor_peek(struct perfctr_cursor *cursor, uint32_t ahead, struct perfctr_slot *slot);

/**
 * perfctr_cursor_advance() - return the slots of read samples to the kernel
 * @count: samples, oldest first, at most perfctr_cursor_lag()
 *
 * One store for all of them: read several, then advance once.
 *
 * Return: 0; -ERANGE fewer samples were published.
 */
int perfctr_cursor_advance(struct perfctr_cursor *cursor, uint32_t count);

/**
 * perfctr_cursor_next() - decode the oldest unread sample
 * @sample: filled if the result is 1; valid until perfctr_cursor_advance()
 *
 * Return: 1; 0 or a negative errno as perfctr_cursor_peek(); -EBADMSG the
 * slot does not hold a sample.
 */
int perfctr_cursor_next(struct perfctr_cursor *cursor, struct perfctr_sample *sample);

/**
 * perfctr_cursor_wait() - sleep until a sample can be read
 * @timeout_ns: longest time, 0: do not sleep, negative: no limit
 *
 * Returns at once, without a system call, while there are unread samples; otherwise when the
 * session's watermark is reached or the session stops.
 *
 * Return: 1 there is a sample; 0 timeout; -ENODEV none will follow; -EINTR interrupted by a signal.
 */
int perfctr_cursor_wait(struct perfctr_cursor *cursor, int64_t timeout_ns);

/**
 * perfctr_cursor_lag() - samples published and not yet returned
 *
 * Return: the number, at most the ring's slots.
 */
uint32_t perfctr_cursor_lag(const struct perfctr_cursor *cursor);

/**
 * perfctr_cursor_state() - state of the ring
 *
 * Return: enum drm_perfctr_ring_state.
 */
uint32_t perfctr_cursor_state(const struct perfctr_cursor *cursor);

/* --- totals -------------------------------------------------------------- */

/** struct perfctr_span - the samples that were added up */
struct perfctr_span {
	uint64_t samples; /* number of samples */
	uint64_t start_ns; /* earliest start_ns of a sample */
	uint64_t end_ns; /* latest end_ns of a sample */
	uint64_t elapsed_ns; /* time covered: lengths of all samples added up */
	uint64_t merged_periods; /* total of all samples */
	uint64_t lost_ns; /* total of all samples */
	uint64_t missing_samples; /* holes in the sequence numbers */
	uint32_t flags; /* bitwise OR of the flags of all samples */
};

/** struct perfctr_total - one counter added up */
struct perfctr_total {
	const struct perfctr_counter_desc *desc; /* its description, or NULL */
	uint16_t position; /* position in its block */
	uint16_t overflow; /* 1 if @sum exceeded 64 bits and is modulo 2^64 */
	uint64_t sum; /* exact sum of the measured values; the last one for a level */
	uint64_t min; /* smallest value of a sample that was measured */
	uint64_t max; /* largest value of a sample */
	uint64_t last; /* value of the last sample that was measured */
	uint64_t measured; /* samples in which it was measured */
	uint64_t missed; /* samples in which it was not */
	uint64_t running_ns; /* time it ran, for multiplexed counters and those of perf PMUs */
};

/** struct perfctr_totals_block_info - the block that counters belong to */
struct perfctr_totals_block_info {
	const char *label; /* name of the block, for example "shader16" */
	uint16_t type; /* block type, see perfctr_drm.h */
	uint16_t index; /* physical index, DRM_PERFCTR_INDEX_ALL in perfctr_totals_sum() */
	uint8_t section; /* positions begin at 64 * @section */
	uint8_t format; /* enum drm_perfctr_block_format of its blocks */
	uint16_t product; /* see "Products" in perfctr_drm.h */
	uint8_t set; /* enum drm_perfctr_set */
	uint8_t clock; /* clock domain or DRM_PERFCTR_CLOCK_NONE */
	uint16_t blocks; /* blocks that were added up */
	uint32_t states; /* bitwise OR of the states of all samples */
	uint64_t clock_cycles; /* cycles of @clock */
	uint32_t is_pmu; /* 1 if the members below are valid; the times are valid in any case */
	int32_t cpu; /* CPU that counted, -1 for several */
	uint64_t config; /* see struct perfctr_block_pmu */
	uint64_t config1; /* see struct perfctr_block_pmu */
	uint64_t config2; /* see struct perfctr_block_pmu */
	uint64_t time_enabled; /* ns for which its counters were enabled */
	uint64_t time_running; /* smallest running time of its counters, in ns */
	const char *pmu; /* name of the PMU, empty if none */
	/*
	 * what its counts cover: for blocks with a span of their own, see
	 * perfctr_block_read_span(), earliest start, latest end, and all spans added up; for others
	 * the same of their samples. Of several blocks in a sample the mean of their spans counts.
	 */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t elapsed_ns;
	uint64_t apart_ns; /* largest distance of such a span's end from that of its sample */
};

/**
 * perfctr_totals_new() - create totals
 * @totals: set to the totals on success
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_totals_new(struct perfctr_ctx *ctx, struct perfctr_totals **totals);
struct perfctr_totals *perfctr_totals_ref(struct perfctr_totals *totals);
struct perfctr_totals *perfctr_totals_unref(struct perfctr_totals *totals);

/**
 * perfctr_totals_describe() - set the source of names and kinds of unknown counters
 * @totals: totals, still empty if the selection is of a capture
 * @selection: of the samples' session, or from perfctr_capture_selection(); NULL: none
 *
 * Counters that are not in this library's database are described from the capture file. Of a perf
 * PMU's events the selection knows which are levels, whose values do not add up. Totals keep the
 * selection, and with it the device, until another one or NULL replaces it.
 *
 * Return: 0; -EBUSY @totals has blocks already, and one of the selections is of a capture.
 */
int perfctr_totals_describe(struct perfctr_totals *totals, struct perfctr_selection *selection);

/**
 * perfctr_totals_add() - add a sample
 * @sample: from the decoder; the call ignores and changes its position
 *
 * Return: 0; -EBADMSG its blocks are malformed; -ENOMEM.
 */
int perfctr_totals_add(struct perfctr_totals *totals, struct perfctr_sample *sample);

/**
 * perfctr_totals_reset() - clear all values, keep the blocks
 */
void perfctr_totals_reset(struct perfctr_totals *totals);

/**
 * perfctr_totals_sum() - add up the blocks of each type
 * @totals: totals of single blocks
 * @sum: set to new totals on success, with one block for each type, section,
 *	 set, product, clock and filter; GENERIC_PMU blocks stay separate
 *
 * min, max and last refer to the sum of each sample. The result is a copy:
 * later samples do not change it. Samples that are added to the result itself
 * are added up by type only, which takes less than half of the time.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_totals_sum(const struct perfctr_totals *totals, struct perfctr_totals **sum);

/**
 * perfctr_totals_by_type() - the blocks of each type added up, without a copy
 * @totals: totals of single blocks
 *
 * As perfctr_totals_sum(), but the result changes with each sample that is added to @totals, and
 * with perfctr_totals_reset().
 *
 * Return: the sums, valid as long as @totals; @totals if it came from perfctr_totals_sum().
 */
const struct perfctr_totals *perfctr_totals_by_type(const struct perfctr_totals *totals);

/**
 * perfctr_totals_span() - the samples that were added up
 *
 * Return: the span, valid as long as the totals.
 */
const struct perfctr_span *perfctr_totals_span(const struct perfctr_totals *totals);

/**
 * perfctr_totals_block_count() - blocks in totals
 *
 * Return: the number.
 */
size_t perfctr_totals_block_count(const struct perfctr_totals *totals);

/**
 * perfctr_totals_block() - one block in totals
 * @n: 0..count - 1; in the order of their first appearance
 *
 * Return: the block, valid until a sample adds a new one; NULL if out of range.
 */
const struct perfctr_totals_block *perfctr_totals_block(const struct perfctr_totals *totals,
							size_t n);

/**
 * perfctr_totals_block_info() - description of a block
 * @block: block in totals
 *
 * Return: the description, valid as long as the block.
 */
const struct perfctr_totals_block_info *
perfctr_totals_block_info(const struct perfctr_totals_block *block);

/**
 * perfctr_totals_counter_count() - counters of a block
 * @block: block in totals
 *
 * Return: the number.
 */
size_t perfctr_totals_counter_count(const struct perfctr_totals_block *block);

/**
 * perfctr_totals_counter() - one counter of a block
 * @block: block in totals
 * @n: 0..count - 1, ordered by position
 *
 * Return: the counter, valid as long as the block; NULL if out of range.
 */
const struct perfctr_total *perfctr_totals_counter(const struct perfctr_totals_block *block,
						   size_t n);

/**
 * perfctr_totals_label() - name of a counter in totals
 * @selection: selection that was sampled, or NULL
 * @block: block in totals
 * @n: 0..count - 1
 * @text: buffer for the name, always NUL terminated if @size is not zero
 * @size: bytes at @text
 *
 * Return: as perfctr_counter_label().
 */
int perfctr_totals_label(const struct perfctr_selection *selection,
			 const struct perfctr_totals_block *block, size_t n, char *text,
			 size_t size);

/**
 * perfctr_totals_unit() - unit of a counter in totals
 * @selection: selection that was sampled, or NULL
 * @block: block in totals
 * @n: 0..count - 1
 * @text: buffer for the unit, always NUL terminated if @size is not zero
 * @size: bytes at @text
 * @scale: set to the factor from a value to that unit; may be NULL
 *
 * Return: as perfctr_counter_unit().
 */
int perfctr_totals_unit(const struct perfctr_selection *selection,
			const struct perfctr_totals_block *block, size_t n, char *text, size_t size,
			double *scale);

/* --- values and metrics -------------------------------------------------- */

/** enum perfctr_value_state - whether there is a value */
enum perfctr_value_state {
	PERFCTR_VALUE_OK = 0, /* there is a value */
	PERFCTR_VALUE_NOT_SELECTED = 1, /* a counter that it needs is not in the samples */
	PERFCTR_VALUE_NOT_MEASURED = 2, /* a counter that it needs was not measured */
	PERFCTR_VALUE_ZERO_DENOMINATOR = 3, /* a division by zero */
	PERFCTR_VALUE_OVERFLOW = 4, /* the result is out of range */
	PERFCTR_VALUE_NOT_SUPPORTED = 5, /* the PMU does not have the event */
};

/** enum perfctr_value_flags - accuracy of a value */
enum perfctr_value_flags {
	PERFCTR_VALUE_INTEGER = 1u << 0, /* integer and exact, @integer holds it */
	PERFCTR_VALUE_ESTIMATED = 1u << 1, /* extrapolated, a counter was multiplexed */
	PERFCTR_VALUE_PARTIAL = 1u << 2, /* some samples or blocks did not measure a counter */
};

/** struct perfctr_value - a computed number, or the reason why there is none */
struct perfctr_value {
	double number; /* the value if @state is PERFCTR_VALUE_OK */
	int64_t integer; /* the exact value if PERFCTR_VALUE_INTEGER is set */
	uint32_t state; /* enum perfctr_value_state */
	uint32_t flags; /* enum perfctr_value_flags */
};

/**
 * perfctr_value_state_text() - text for the reason why there is no value
 * @state: enum perfctr_value_state
 *
 * Return: a constant text, never NULL.
 */
const char *perfctr_value_state_text(unsigned int state);

/**
 * perfctr_totals_value() - value of a counter in totals
 * @block: block in totals
 * @n: 0..count - 1
 * @value: filled: in the counter's own steps, see perfctr_totals_unit(); signed for a level. Of a
 * multiplexed counter it is extrapolated to the whole time, unless the time in which it did not run
 * is that on CPUs that do not have the event, where it counted zero.
 * @running: set to the part of the time in which a multiplexed counter ran, 1 for all others; 0 if
 * it was not measured; may be NULL
 *
 * Members of struct perfctr_total say nothing if @value has no number.
 */
void perfctr_totals_value(const struct perfctr_totals_block *block, size_t n,
			  struct perfctr_value *value, double *running);

/**
 * perfctr_totals_rate() - value per second
 * @total: counter in them
 * @value: filled
 */
void perfctr_totals_rate(const struct perfctr_totals *totals, const struct perfctr_total *total,
			 struct perfctr_value *value);

/**
 * perfctr_totals_metric() - compute a metric of the database
 * @totals: totals; from perfctr_totals_sum() for whole types and for the device
 * @metric: metric
 * @block: block in @totals of the metric's type; NULL: the first matching one
 * @value: filled on success
 *
 * Return: 0; -EINVAL @block is of another type; -ENOMEM.
 */
int perfctr_totals_metric(const struct perfctr_totals *totals,
			  const struct perfctr_metric_desc *metric,
			  const struct perfctr_totals_block *block, struct perfctr_value *value);

/**
 * typedef perfctr_expr_lookup - returns the value of a name in a formula
 * @data: as given to perfctr_expr_eval()
 * @name: the name as written in the formula
 * @value: to be filled; its state and flags carry over to the result
 */
typedef void (*perfctr_expr_lookup)(void *data, const char *name, struct perfctr_value *value);

/**
 * perfctr_expr_new() - parse a formula
 * @text: formula
 * @expr: set to the formula on success
 *
 * A formula has numbers, names, + - * /, parentheses, min(a, b), max(a, b). A name is a counter of
 * the metric's block ("L2_READ"), of the blocks of another type ("MEMSYS.L2_READ"), or one of
 * elapsed_ns, elapsed_s, block.cycles (of the clock of the formula's first counter) and block.count
 * (blocks that were added up). Integers stay exact through + - * and division without remainder.
 *
 * Return: 0; -EINVAL the formula is malformed; -ENOMEM.
 */
int perfctr_expr_new(struct perfctr_ctx *ctx, const char *text, struct perfctr_expr **expr);
struct perfctr_expr *perfctr_expr_ref(struct perfctr_expr *expr);
struct perfctr_expr *perfctr_expr_unref(struct perfctr_expr *expr);

/**
 * perfctr_expr_eval() - compute a formula
 * @expr: formula
 * @lookup: returns the values of names
 * @data: passed to @lookup
 * @value: filled
 */
void perfctr_expr_eval(const struct perfctr_expr *expr, perfctr_expr_lookup lookup, void *data,
		       struct perfctr_value *value);

/**
 * perfctr_expr_name() - names that a formula uses
 * @expr: formula
 * @n: 0..
 *
 * Return: the name, NULL if @n is out of range.
 */
const char *perfctr_expr_name(const struct perfctr_expr *expr, size_t n);

/* --- marks --------------------------------------------------------------- */

/** enum perfctr_mark_kind - what a mark stands for */
enum perfctr_mark_kind {
	PERFCTR_MARK_POINT = 0, /* an instant */
	PERFCTR_MARK_FRAME = 1, /* the end of a frame, and the beginning of the next one */
	PERFCTR_MARK_BEGIN = 2, /* the beginning of a phase */
	/*
	 * The end of the phase of that name that began last; of a kind of frames: none begins with
	 * its last mark, so that a pause before the next one is no frame.
	 */
	PERFCTR_MARK_END = 3,
};

/** PERFCTR_MARK_NAME_MAX - longest name of a mark, in bytes without the NUL. */
#define PERFCTR_MARK_NAME_MAX 127

/**
 * perfctr_mark() - annotate the capture that is being recorded
 * @kind: what it is
 * @name: name of the point, phase or kind of frame, UTF-8; not empty, at most
 *        PERFCTR_MARK_NAME_MAX bytes
 *
 * Marks the current time for "perfctr record", which started this process or an ancestor of it,
 * and which passes PERFCTR_MARKS in the environment. Costs two system calls, and without a
 * recorder none. May be called from any thread and never blocks. Frames of a name belong to one
 * another within a thread that has several, else within such a process, else within the capture;
 * the end of a phase belongs to the last beginning in its thread, else process, else capture.
 * Marks stop if the program closes the descriptor, and do not leave a PID namespace. The clock of
 * another time namespace may be shifted, and its marks with it.
 *
 * Return: 1; 0 nothing records; -EINVAL unknown @kind or no @name; -ENAMETOOLONG; -EAGAIN the
 * recorder did not keep up: the mark is lost, which the process' next one reports; the negative
 * errno of open(), e.g. -EACCES: the recorder belongs to another user.
 */
int perfctr_mark(enum perfctr_mark_kind kind, const char *name);

/* --- time ---------------------------------------------------------------- */

/** struct perfctr_anchor - one instant on several clocks */
struct perfctr_anchor {
	uint64_t raw_ns; /* CLOCK_MONOTONIC_RAW, the clock of samples */
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC at that instant */
	uint64_t boottime_ns; /* CLOCK_BOOTTIME at that instant */
	uint64_t realtime_ns; /* CLOCK_REALTIME at that instant */
	uint64_t error_ns; /* time between the first and the last clock read */
};

/**
 * perfctr_time_raw_ns() - current time on the clock of samples
 *
 * Return: CLOCK_MONOTONIC_RAW in ns.
 */
uint64_t perfctr_time_raw_ns(void);

/**
 * perfctr_time_anchor() - read all clocks at one instant
 * @anchor: filled with the attempt that has the smallest error_ns
 *
 * Return: 0 or a negative errno.
 */
int perfctr_time_anchor(struct perfctr_anchor *anchor);

/**
 * perfctr_time_convert() - convert a time of a sample to another clock
 * @first: an earlier anchor
 * @last: a later anchor, or @first
 * @raw_ns: time to convert
 * @clock: CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME
 * @ns: set to the time on that clock
 *
 * Interpolates linearly between the anchors. Outside of them it uses the rate of
 * CLOCK_MONOTONIC_RAW.
 *
 * Return: 0; -EINVAL any other clock.
 */
int perfctr_time_convert(const struct perfctr_anchor *first, const struct perfctr_anchor *last,
			 uint64_t raw_ns, int clock, uint64_t *ns);

/**
 * perfctr_time_of_anchors() - convert a time of a sample by the anchors around it
 * @anchors: by raw_ns, as perfctr_capture_anchor() lets them pass
 * @count: of @anchors
 * @raw_ns: time to convert
 * @clock: CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME
 * @ns: set to the time on that clock
 *
 * As perfctr_time_convert(), but between two anchors with a suspend in between, where clocks leap
 * at an unknown instant, by the first of them alone.
 *
 * Return: 0; -ENODATA there is no anchor; -ERANGE the time is before that clock's zero; -EINVAL any
 * other clock.
 */
int perfctr_time_of_anchors(const struct perfctr_anchor *anchors, size_t count, uint64_t raw_ns,
			    int clock, uint64_t *ns);

/**
 * perfctr_time_of_gpu() - convert a GPU timestamp to the clock of samples
 * @device: device; its clocks are as of the last query, see perfctr_device_refresh()
 * @epoch: epoch of the timestamp: gpu_epoch of a sample, or epoch of the device's clock
 *	   DRM_PERFCTR_CLOCK_TIMESTAMP for later timestamps of Vulkan or GL
 * @gpu_timestamp: value of the GPU's timestamp counter
 * @raw_ns: set to CLOCK_MONOTONIC_RAW on success
 *
 * Extrapolates at the nominal frequency from the pair of times of the last query.
 * Refresh the device from time to time if the GPU has a separate oscillator.
 *
 * Return: 0; -EOPNOTSUPP the device has no timestamp; -ESTALE the counter restarted
 * between the timestamp and the query.
 */
int perfctr_time_of_gpu(const struct perfctr_device *device, uint32_t epoch, uint64_t gpu_timestamp,
			uint64_t *raw_ns);

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_PERFCTR_H */
