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
	uint32_t flags; /* enum drm_perfctr_open_flags, and PERFCTR_SESSION_SKIP_UNSUPPORTED */
	uint32_t slots; /* a power of two */
	uint64_t period_ns; /* 0: manual */
	uint32_t watermark;
	const struct drm_perfctr_block_request *requests;
	uint32_t request_count;
	/* set by open(), the files -1 with CHECK; the caller owns them. ring_fd is what other
	 * processes map, -1: the session itself */
	int eventfd, ring_fd;
	struct drm_perfctr_layout layout;
};

/*
 * How a device is reached. All calls get @data of the device; sessions are numbers that open()
 * gives, -1: none. Those that return an int return 0 or a negative errno.
 */
struct device_link {
	enum link_kind kind;
	/* elements as DRM_PERFCTR_IOCTL_QUERY gives them */
	int (*query)(void *data, struct drm_perfctr_query *query);
	/* -ERANGE: among others if the ring is too large */
	int (*open)(void *data, struct session_setup *setup, int *session);
	int (*start)(void *data, int session, uint64_t user_data);
	int (*sample)(void *data, int session, uint64_t user_data);
	int (*stop)(void *data, int session, uint64_t user_data);
	int (*status)(void *data, int session, struct drm_perfctr_status *status);
	/* map the control area, writable, and the slots; explains a failure in the context */
	int (*map)(void *data, int session, const struct session_setup *setup,
		   struct mapping *control, struct mapping *ring);
	/* a file for another process to read the ring; NULL: a copy of ring_fd */
	int (*reader)(void *data, int session);
	void (*close)(void *data, int session);
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
 * Open a DRM node, or take ownership of a DRM file, also on failure, whose counters the ioctls of
 * perfctr_drm.h give. *device is set even for -ENOTTY, for which no reason is kept: its driver is
 * known then; the caller drops it.
 */
int session_open_node(struct perfctr_ctx *ctx, const char *path, struct perfctr_device **device);
int session_open_fd(struct perfctr_ctx *ctx, int fd, const char *path,
		    struct perfctr_device **device);

/* device.c. The name of a GPU that perfctr_gpu_name() gives, as devices have it. */
void session_gpu_name(const char *name, unsigned int product, char *text, size_t size);
/* kernel.c. Link to the driver of a DRM file, which it owns unless it fails. */
int session_kernel_link(struct perfctr_ctx *ctx, int fd, const struct device_link **link,
			void **data);
/* map.c. Map the ring behind a file. */
int session_map_ring(struct perfctr_ctx *ctx, int fd, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring);
