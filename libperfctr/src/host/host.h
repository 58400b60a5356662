/* SPDX-License-Identifier: MIT */
/*
 * A device that this process counts itself: sources in user space, with the contract of the
 * kernel's, beside perf events and readings. The device "local" is one without sources.
 */
#pragma once

#include <pthread.h>

#include <drm/drm_perfctr_extension.h>

#include "format/perfctr_block.h"
#include "session/link.h"

enum { HOST_MAX_SOURCES = 8, HOST_MAX_SESSIONS = 64 };

struct host;
struct host_session;
struct host_views;

/* masks of a source's counters, one for each section of each block; see turns.h */
struct host_turns {
	/* by sessions; by those without turns; what counts now, and did in the last collection */
	u64 *wanted, *exact, *chosen, *counted;
	unsigned int *next; /* of each block: where the next turn begins */
	u64 began_ns; /* this turn, CLOCK_MONOTONIC_RAW */
	bool active, was_off;
	char why[192];
};

/* the host's state of a source, under the host's lock; times are CLOCK_MONOTONIC_RAW */
struct perfctr_source_state {
	/* number of the last collection, up to when totals count, when the source was read */
	u64 seq, time_ns, read_ns;
	/* up to when all is in the totals or in lost_ns, the total loss */
	u64 good_ns, lost_ns;
	/* of each block: loss that is not in lost_ns, as it concerns no other */
	u64 *block_lost_ns;
	/* DRM_PERFCTR_SAMPLE_* of collections, of the next one, whether that reports LOST */
	struct perfctr_sticky flags;
	u32 pending_flags;
	bool pending_lost;
	/* if not 0, counts since good_ns are lost, for this reason, until the source starts */
	u32 lost_flags;
	u64 resets; /* collections with DRM_PERFCTR_SAMPLE_RESET */
	/* the GPU timestamp at time_ns; epoch 0: none */
	u64 gpu_timestamp;
	u32 gpu_epoch;
	/* sessions that are open, and that count */
	unsigned int prepared, users;
	bool running, incomplete;
	int error; /* of the last collection */
	u8 set;
	u64 restart_ns; /* earliest time of another attempt to start */
	struct host_turns turns;
};

/*
 * A source in user space. The driver embeds it, fills in @source as a driver in the kernel does,
 * and the members up to @keeps_counts, before host_add_source().
 *
 * What differs from the kernel: prepare finds a lack of permission (-EACCES, -EPERM) and another
 * owner (-EBUSY), without keeping what others may want. start may return them, too. collect returns
 * -ENODEV when the device is gone. Signals are blocked in all operations. reset is called when the
 * machine has slept, and start after it, unless the source keeps its counts. Levels and driver
 * callbacks of the kernel do not exist.
 */
struct host_source {
	struct drm_perfctr_source source;
	struct drm_perfctr_extension extension; /* of a source with @select */
	int wake_fd; /* readable when the source wants to be collected; -1: none */
	const char *needs; /* what counting takes: "CAP_PERFMON" */
	/* what /proc/PID/fd shows of an open stream, if one holds the counters; NULL: nothing */
	const char *stream_name;
	const char *why; /* with an error of prepare or start: its reason, NULL: the errno's */
	/*
	 * Counters of each block that count at a time, NULL: all. For sessions that want more,
	 * @select is called with others after @turn_ns.
	 */
	const unsigned int *limits;
	u64 turn_ns;
	/*
	 * After @select, for a START that joins: whether all that was selected of @block
	 * counts. Return: 0; an errno with its reason in @why. NULL: it always does.
	 */
	int (*check)(struct host_source *hs, unsigned int block);
	bool keeps_counts; /* while the machine sleeps: the driver has read them before */
	bool collects_at_once; /* no call of collect waits: a signal cannot interrupt it */

	/* the host's */
	struct host *host;
	struct perfctr_source_state state;
};

static inline struct host_source *host_source_of(struct drm_perfctr_source *source)
{
	return (struct host_source *)((char *)source - offsetof(struct host_source, source));
}

/* In a collection: @ns of counts of one block are lost, and of no other. */
static inline void host_lose_block(struct host_source *hs, unsigned int block, u64 ns)
{
	hs->state.block_lost_ns[block] += ns;
}

/* a driver whose counters a host can read, by the name of its DRM driver, or "kbase" */
struct host_driver {
	const char *name;
	bool by_name; /* counting harms others: never a device that was not named */
	const char *lacking; /* what a driver of this name without counters needs; optional */
	/*
	 * Fill in host->config and add the sources, without waking the device.
	 * Return: 0; -ENOTTY no counters; another errno, the context has the reason.
	 */
	int (*probe)(struct host *host);
	/* free what probe left in host->driver_data; sessions have ended */
	void (*remove)(struct host *host);
	/* present frequency of a clock, 0: unknown; without waking the device; optional */
	u64 (*frequency_hz)(const struct host *host, unsigned int clock);
	/* for sessions with DRM_PERFCTR_OPEN_KEEP_AWAKE; NULL: it is awake while a source counts */
	int (*keep_awake)(struct host *host, bool awake);
};

/* the drivers */
extern const struct host_driver host_i915, host_kbase, host_msm, host_panfrost, host_panthor,
	host_v3d, host_xe;

struct host {
	struct perfctr_ctx *ctx;
	/* of a GPU: its DRM file and node; else -1 */
	int fd;
	int attribute; /* of the node in sysfs, see host_watch_node(), or -1 */
	char path[PATH_BYTES];
	const struct host_driver *driver;
	void *driver_data;
	struct drm_perfctr_config config;
	bool has_pmus;

	/* serialises all access to sources and their blocks */
	pthread_mutex_t lock;
	struct host_source *sources[HOST_MAX_SOURCES];
	unsigned int source_count, block_count;
	struct host_views *counting; /* blocks of the sessions that count */
	/* the counter set in use, and by how many sources of sessions */
	u8 set;
	unsigned int set_users, awake_users;
	u64 cycles[DRM_PERFCTR_MAX_CLOCKS];
	bool gone;
	s64 slept_ns; /* time that the machine slept since it booted */
	/* the last GPU timestamp, and when; epochs differ if the counter may have restarted */
	u64 gpu_timestamp, gpu_raw_ns;
	u32 gpu_epoch, pair_epoch;

	/*
	 * what the device "local" counts instead of the machine: processes, or only these threads
	 * of them, owned, from their execve() on; folder of a cgroup; the cores of these CPUs, of
	 * the device, NULL: all
	 */
	pid_t *tasks;
	size_t task_count;
	bool are_threads, from_exec;
	int cgroup;
	const struct cpu_list *cpus;
	struct host_session *sessions[HOST_MAX_SESSIONS];
	bool explained; /* the context has the reason of the last failure */
	struct host_source *refusing; /* that did not start, under the lock */
};

/* source.c; the host's lock is held, but for the first five and prepare */
/* The folder of the node's device file in sysfs, which is there while the device is. */
int host_find_sysfs(const struct host *host, char *path, size_t size);
/*
 * Whether the device is still bound, for drivers whose ioctls do not ask, and access what has been
 * freed. Their probe calls the first one, once, with the folder of the node.
 */
void host_watch_node(struct host *host, const char *sysfs);
bool host_is_there(const struct host *host);
int host_add_source(struct host *host, struct host_source *source);
void host_free_sources(struct host *host);
/* The @nth block of all sources. */
struct drm_perfctr_block *host_block(const struct host *host, unsigned int nth);
int host_source_prepare(struct host_source *hs);
void host_source_unprepare(struct host_source *hs);
/* Begin to count for one more session, which is in the list. */
int host_source_attach(struct host_source *hs, u8 set);
void host_source_detach(struct host_source *hs);
int host_source_collect(struct host_source *hs);
/* Time until it must be collected, UINT64_MAX: none. */
u64 host_source_left_ns(const struct host_source *hs);

/* refuse.c. Keep the reason for an error of prepare or start. Return: the error. */
int host_refuse(struct host_source *hs, int error);
