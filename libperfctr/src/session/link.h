/* SPDX-License-Identifier: MIT */
/* How a device is reached: by the kernel's driver, a broker or this process itself. */
#pragma once

#include "base/device.h"

/* exists if the kernel has the counter core */
#define PERFCTR_PARANOID_PATH "/proc/sys/dev/perfctr/paranoid"

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

/* Whether the context already has the reason of the last failed operation. */
static inline bool perfctr_device_explained(const struct perfctr_device *device)
{
	return device->link && device->link->explained(device->link_data);
}

/* Takes ownership of @data, also on failure. */
int perfctr_device_from_link(struct perfctr_ctx *ctx, const struct device_link *link, void *data,
			     const char *path, const char *driver, struct perfctr_device **device);
/*
 * Open a DRM node. *device is set even for -ENOTTY, for its driver is known then; the caller drops
 * it.
 */
int session_open_node(struct perfctr_ctx *ctx, const char *path, struct perfctr_device **device);

/*
 * kernel.c. Link to the driver of a DRM file, which it owns unless it fails; @path, which may be
 * empty, is for messages. A query of the device is -ENOTTY if the driver has no counters.
 */
int session_kernel_link(struct perfctr_ctx *ctx, int fd, const char *path,
			const struct device_link **link, void **data);
/* control.c. To and from version 3 of the interface; the files are -1 at first. */
struct drm_perfctr_setup setup_of_session(const struct session_setup *s);
void session_take_setup(struct session_setup *s, const struct drm_perfctr_setup *setup);
/* map.c. The map() of sessions with a ring_fd. */
int session_map_ring(struct perfctr_ctx *ctx, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring);
