/* SPDX-License-Identifier: MIT */
/* Declarations shared by the library's files. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <drm/perfctr_tegra410.h>
#include <perfctr/perfctr.h>

#include "base/sys.h"

#define EXPORT __attribute__((visibility("default")))
#define PRINTF(string, first) __attribute__((format(printf, string, first)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
/* exists if the kernel has the counter core */
#define PERFCTR_PARANOID_PATH "/proc/sys/dev/perfctr/paranoid"

enum {
	NS_PER_S = 1000000000,
	PATH_BYTES = 512,
	LABEL_BYTES = 64,
	EVENT_BYTES = 512, /* of the text of an event, including the final NUL */
	UNIT_BYTES = 64,
};

/* how many engines an event of DRM clients stands for */
struct drm_capacity {
	uint64_t event; /* perfctr_hash() of its name */
	unsigned int engines;
};

struct perfctr_ctx {
	atomic_uint refs;
	const struct perfctr_sys *sys;
	perfctr_log_fn log;
	void *log_data;
	int log_level;
	bool log_from_environment;
	char error[1024];
	/* what the last searches for DRM clients found */
	struct drm_capacity *capacities;
	size_t capacity_count;
};

int perfctr_ctx_new_with(const struct perfctr_sys *sys, struct perfctr_ctx **ctx);

void perfctr_log(struct perfctr_ctx *ctx, int level, const char *format, ...) PRINTF(3, 4);

/* Keep the reason for perfctr_ctx_error(). Return: error, a negative errno. */
int perfctr_fail(struct perfctr_ctx *ctx, int error, const char *format, ...) PRINTF(3, 4);

/* As perfctr_fail() with -ENOMEM. */
int perfctr_no_memory(struct perfctr_ctx *ctx);

/*
 * Make a text one line of UTF-8: "?" for each byte that is none, and for those of control and
 * format characters.
 */
void perfctr_clean_text(char *text);

/* As snprintf() with "%s", which is dear where each sample names each counter. */
static inline int copy_text(char *text, size_t size, const char *from)
{
	size_t length = strlen(from), room = length < size ? length : size - 1;

	if (size) {
		memcpy(text, from, room);
		text[room] = '\0';
	}
	return (int)length;
}

/* Defines type_ref() and type_unref() for objects with a member refs. */
#define DEFINE_REFS(scope, type, release)                                                   \
	scope struct type *type##_ref(struct type *object)                                  \
	{                                                                                   \
		if (object)                                                                 \
			atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);  \
		return object;                                                              \
	}                                                                                   \
                                                                                            \
	scope struct type *type##_unref(struct type *object)                                \
	{                                                                                   \
		/* acquire-release: all accesses to the object happen before it is freed */ \
		if (object &&                                                               \
		    atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1) \
			release(object);                                                    \
		return NULL;                                                                \
	}

/*
 * Check a versioned structure of the caller and copy the known part.
 * Return: 0; -EINVAL no size; -E2BIG not zero beyond the known part.
 */
int perfctr_take_struct(struct perfctr_ctx *ctx, const char *what, const void *from,
			size_t from_bytes, void *to, size_t to_bytes);

/* As strtod(), independent of the locale's decimal point. */
double perfctr_strtod(const char *text, char **end);

/* Whether a perf PMU counts a request, a block of the device, or counters of a product. */
static inline bool request_is_pmu(const struct drm_perfctr_block_request *request)
{
	return request->flags & DRM_PERFCTR_REQUEST_PMU;
}

/*
 * More bits of a request's @flags. Only this process's own sessions of perf events take them, not
 * the kernel and brokers: the value is a level; do not count in user space, the kernel, the
 * hypervisor, while idle, in guests, on the host.
 */
enum {
	LOCAL_REQUEST_LEVEL = 1u << 16,
	LOCAL_REQUEST_NO_USER = 1u << 17,
	LOCAL_REQUEST_NO_KERNEL = 1u << 18,
	LOCAL_REQUEST_NO_HV = 1u << 19,
	LOCAL_REQUEST_NO_IDLE = 1u << 20,
	LOCAL_REQUEST_NO_GUEST = 1u << 21,
	LOCAL_REQUEST_NO_HOST = 1u << 22,
	LOCAL_REQUEST_FLAGS = 0x7fu << 16,
};

static inline bool block_is_pmu(const struct drm_perfctr_block_info *block)
{
	return block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY;
}

static inline bool product_is_pmu(unsigned int product)
{
	return product == DRM_PERFCTR_TEGRA410_PRODUCT || product == DRM_PERFCTR_PRODUCT_PERF_PMU;
}

struct mapping {
	void *address;
	size_t bytes;
};

/* what a session shall be, and what it became */
struct session_setup {
	uint32_t flags; /* enum drm_perfctr_setup_flags, and PERFCTR_SESSION_SKIP_UNSUPPORTED */
	uint32_t slots; /* a power of two */
	uint64_t period_ns; /* 0: manual */
	uint32_t watermark;
	const struct drm_perfctr_block_request *requests;
	uint32_t request_count;
	/* set by open(), the files -1 with TEST_ONLY; the caller owns them */
	int eventfd, ring_fd;
	uint32_t slot_stride, sample_size, block_count;
	uint64_t ring_offset, ring_bytes;
};

/* who answers */
enum link_kind {
	LINK_KERNEL, /* a driver, through a file of this process */
	LINK_BROKER,
	LINK_LOCAL, /* this process counts perf events itself */
};

/*
 * How a device is reached. All calls get @data of the device; sessions are numbers that open()
 * gives. All but the last two return 0 or a negative errno.
 */
struct device_link {
	enum link_kind kind;
	/* elements as DRM_IOCTL_PERFCTR_QUERY gives them */
	int (*query)(void *data, struct drm_perfctr_query *query);
	/* -ERANGE: among others if the ring is too large */
	int (*open)(void *data, struct session_setup *setup, uint32_t *session);
	int (*start)(void *data, uint32_t session, uint64_t user_data);
	int (*sample)(void *data, uint32_t session, uint64_t user_data);
	int (*stop)(void *data, uint32_t session, uint64_t user_data);
	int (*status)(void *data, uint32_t session, struct drm_perfctr_status *status);
	/* map the control area, writable, and the slots; explains a failure in the context */
	int (*map)(void *data, const struct session_setup *setup, struct mapping *control,
		   struct mapping *ring);
	int (*close)(void *data, uint32_t session);
	/* a command of version 3 as it came; NULL: perfctr_device_control() uses the others */
	int (*control)(void *data, uint32_t cmd, uint32_t *handle, void *argument, size_t bytes);
	/* whether the last failed operation left its reason in the context */
	bool (*explained)(const void *data);
	void (*free)(void *data);
};

struct perfctr_device {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	int fd; /* the DRM file, which its link closes; -1: none */
	const struct device_link *link; /* NULL: a device of a capture */
	void *link_data;
	char path[PATH_BYTES];
	char driver[32];
	struct drm_perfctr_device_info info;
	struct drm_perfctr_block_info *blocks;
	size_t block_count;
	struct drm_perfctr_clock_info *clocks;
	size_t clock_count;
	unsigned int ext_bus_bytes; /* of a beat of a Mali GPU's external bus, 0 if unknown */
};

static inline bool device_is(const struct perfctr_device *device, enum link_kind kind)
{
	return device->link && device->link->kind == kind;
}

/* Whether the context already has the reason of the last failed operation. */
static inline bool perfctr_device_explained(const struct perfctr_device *device)
{
	return device->link && device->link->explained(device->link_data);
}

/* Takes ownership of @data, also on failure. */
int perfctr_device_from_link(struct perfctr_ctx *ctx, const struct device_link *link, void *data,
			     const char *path, const char *driver, struct perfctr_device **device);

/* Link to this machine's perf PMUs, without a DRM device. Return: 0; -ENODEV there are none. */
int perfctr_local_link(struct perfctr_ctx *ctx, const struct device_link **link, void **data);
/* The process that a local device counts; 0: the whole machine, as a broker does. */
pid_t perfctr_local_task(const struct perfctr_device *device);

/* name of a perf PMU's event, for request number n of a selection */
struct selection_label {
	char text[EVENT_BYTES];
	bool is_chosen; /* the user named the event (name=), and may name it twice */
	char unit[UNIT_BYTES];
	double scale;
	/* bits of the request's mask that were named with and without the block's index */
	uint64_t single, summed;
};

/* counters and metrics that a capture file describes */
struct catalogue;

struct perfctr_selection {
	atomic_uint refs;
	struct perfctr_device *device;
	unsigned int set;
	struct drm_perfctr_block_request *requests;
	struct selection_label *labels;
	size_t request_count;
	const struct perfctr_metric_desc **metrics;
	size_t metric_count;
	struct catalogue *catalogue; /* NULL unless the selection was read from a file */
};

struct perfctr_session {
	atomic_uint refs;
	struct perfctr_selection *selection;
	struct perfctr_session_sizes sizes;
	uint64_t period_ns;
	uint32_t flags;
	uint32_t handle;
	int eventfd, ring_fd;
	/* the indices, and slot 0; the kernel writes to both */
	struct mapping control, ring;
	atomic_bool has_cursor;
};

static inline struct perfctr_ctx *session_ctx(const struct perfctr_session *session)
{
	return session->selection->device->ctx;
}

/* session/refusal.c. Store the reason for an error of open() as the context's error text. */
void refusal_explain(struct perfctr_selection *selection, const struct session_setup *setup,
		     int error);

/* session/kernel.c. Link to the driver of a DRM file, which it owns unless it fails. */
int session_kernel_link(struct perfctr_ctx *ctx, int fd, const struct device_link **link,
			void **data);
/* session/control.c. To and from version 3 of the interface; the files are -1 at first. */
struct drm_perfctr_setup setup_of_session(const struct session_setup *s);
void session_take_setup(struct session_setup *s, const struct drm_perfctr_setup *setup);
/* session/map.c. The map() of sessions with a ring_fd. */
int session_map_ring(struct perfctr_ctx *ctx, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring);
