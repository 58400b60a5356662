// SPDX-License-Identifier: MIT
/* Devices that a link reaches: opening them, and asking them for their properties. */
#include "link.h"

#include <drm/perfctr_mali.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/catalogue.h"
#include "counters/pages.h"
#include "kbase.h"
#include "panthor_ioctls.h"

#define RENDER_NODE "/dev/dri/renderD"

enum {
	MAX_ELEMENTS = 65536, /* more than any device has: the driver misunderstood the query */
};

/* Query an array. @elements is allocated; members that the kernel's elements lack are zero. */
static int query(struct perfctr_device *device, uint32_t type, size_t element_bytes,
		 void **elements, size_t *count)
{
	struct drm_perfctr_query q = { .type = type };
	uint32_t room = 0;
	int error;

	*elements = NULL;
	if (!device->link)
		return -EBADF;
	error = device->link->query(device->link_data, &q);
	while (!error) {
		room = q.count;
		if (room > MAX_ELEMENTS) {
			error = -EPROTO;
			break;
		}
		free(*elements);
		*elements = calloc(room ? room : 1, element_bytes);
		if (!*elements)
			return -ENOMEM;
		q = (struct drm_perfctr_query){
			.type = type,
			.count = room,
			.stride = (uint32_t)element_bytes,
			.pointer = (uintptr_t)*elements,
		};
		if (!room)
			break;
		error = device->link->query(device->link_data, &q);
		/* the number may have grown since the last query */
		if (!error && q.count <= room) {
			room = q.count;
			break;
		}
	}
	if (error < 0) {
		free(*elements);
		*elements = NULL;
		return error;
	}
	*count = room;
	return 0;
}

static bool is_valid(const struct drm_perfctr_device_info *info, size_t count)
{
	return count == 1 && info->sample_header_size >= sizeof(struct drm_perfctr_sample_header);
}

/* L2_FEATURES, by a file of the GPU's driver; 0: unknown. */
static uint32_t read_l2_features(const struct perfctr_device *device, int fd)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	struct panthor_gpu_info info = { 0 };
	struct panthor_dev_query q = {
		.type = PANTHOR_DEV_QUERY_GPU_INFO,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	struct kbase_gpu gpu;

	if (!strcmp(device->driver, KBASE_DRIVER))
		return kbase_identify(device->ctx, fd, &gpu) ? 0 : gpu.l2_features;
	return sys->ioctl(sys->data, fd, PANTHOR_DEV_QUERY, &q) ? 0 : info.l2_features;
}

static bool is_own_node(const struct perfctr_device *device)
{
	return !strncmp(device->path, RENDER_NODE, strlen(RENDER_NODE)) &&
	       !strchr(device->path + strlen(RENDER_NODE), '/');
}

static void find_bus_bytes(struct perfctr_device *device)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	int fd = device->fd;
	uint32_t bits;

	if (strcmp(device->driver, "panthor") != 0 && strcmp(device->driver, KBASE_DRIVER) != 0)
		return;
	/* a broker passes no node on, and what it says is checked */
	if (fd < 0 && (is_own_node(device) || kbase_is_node(device->path)))
		fd = sys->open(sys->data, device->path, O_RDWR);
	if (fd < 0)
		return;
	/* bits 31:24: log2 of the bus width in bits */
	bits = read_l2_features(device, fd) >> 24;
	if (bits >= 3 && bits < 16)
		device->ext_bus_bytes = 1u << (bits - 3);
	if (fd != device->fd)
		sys->close(sys->data, fd);
}

void session_gpu_name(const char *name, unsigned int product, char *text, size_t size)
{
	snprintf(text, size, "%s%s",
		 built_in_product_name(product) && strncmp(name, "Immortalis", 10) ? "Mali-" : "",
		 name);
}

/* By its GPU_ID, if the kernel names no other product: its name, its product. */
static void find_product(struct perfctr_device *device)
{
	unsigned int cores = 0, product = 0;
	const char *name;

	/* a broker's pages have numbers of their own */
	if (device->info.product >= PAGES_PRODUCT)
		device->info.product = 0;
	for (size_t n = 0; n < device->block_count; n++) {
		if (device->blocks[n].product >= PAGES_PRODUCT)
			device->blocks[n].product = 0;
		cores += device->blocks[n].type == DRM_PERFCTR_MALI_BLOCK_SHADER;
	}
	name = device->info.gpu_id ? perfctr_gpu_name(device->info.gpu_id, cores, &product) : NULL;
	if (!name || (device->info.product && device->info.product != product))
		return;
	session_gpu_name(name, product, device->info.name, sizeof(device->info.name));
	if (device->info.product)
		return;
	device->info.product = product;
	for (size_t n = 0; n < device->block_count; n++)
		if (!device->blocks[n].product)
			device->blocks[n].product = (uint16_t)product;
}

static int query_all(struct perfctr_device *device)
{
	void *info = NULL, *blocks = NULL, *clocks = NULL;
	size_t info_count = 0, block_count = 0, clock_count = 0;
	int error;

	error = query(device, DRM_PERFCTR_QUERY_DEVICE, sizeof(device->info), &info, &info_count);
	if (!error && !is_valid(info, info_count))
		error = -EPROTO;
	if (!error)
		error = query(device, DRM_PERFCTR_QUERY_BLOCKS, sizeof(*device->blocks), &blocks,
			      &block_count);
	if (!error)
		error = query(device, DRM_PERFCTR_QUERY_CLOCKS, sizeof(*device->clocks), &clocks,
			      &clock_count);
	if (error) {
		free(info);
		free(blocks);
		free(clocks);
		return error;
	}

	memcpy(&device->info, info, sizeof(device->info));
	device->info.name[sizeof(device->info.name) - 1] = '\0';
	free(info);
	free(device->blocks);
	device->blocks = blocks;
	device->block_count = block_count;
	free(device->clocks);
	device->clocks = clocks;
	device->clock_count = clock_count;
	find_product(device);
	find_bus_bytes(device);
	return 0;
}

static void read_driver_name(struct perfctr_device *device)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	struct drm_version version = {
		.name = device->driver,
		.name_len = sizeof(device->driver) - 1,
	};

	if (sys->ioctl(sys->data, device->fd, DRM_IOCTL_VERSION, &version))
		device->driver[0] = '\0';
	else if (version.name_len < sizeof(device->driver))
		device->driver[version.name_len] = '\0';
}

/* Sets *device even for -ENOTTY: its driver is known then. */
static int device_new(struct perfctr_ctx *ctx, int fd, const struct device_link *link,
		      void *link_data, const char *path, const char *driver,
		      struct perfctr_device **device)
{
	struct perfctr_device *d = calloc(1, sizeof(*d));
	int error;

	if (!d) {
		link->free(link_data);
		return perfctr_no_memory(ctx);
	}
	atomic_init(&d->refs, 1);
	d->ctx = perfctr_ctx_ref(ctx);
	d->fd = fd;
	d->kind = link->kind;
	d->link = link;
	d->free_link = link->free;
	d->link_data = link_data;
	snprintf(d->path, sizeof(d->path), "%s", path);
	snprintf(d->driver, sizeof(d->driver), "%s", driver);
	if (fd >= 0)
		read_driver_name(d);
	pages_report(ctx);
	error = query_all(d);
	*device = d;
	if (error && perfctr_device_explained(d))
		return error;
	/* another interface may have them */
	if (error && error != -ENOTTY)
		perfctr_fail(ctx, error, "%s: cannot ask the device for its counters: %s",
			     path[0] ? path : "this DRM file", strerror(-error));
	return error;
}

int session_open_fd(struct perfctr_ctx *ctx, int fd, const char *path,
		    struct perfctr_device **device)
{
	const struct device_link *link;
	void *data;
	int error = session_kernel_link(ctx, fd, &link, &data);

	if (error) {
		ctx->sys->close(ctx->sys->data, fd);
		*device = NULL;
		return error;
	}
	return device_new(ctx, fd, link, data, path, "", device);
}

int perfctr_device_from_link(struct perfctr_ctx *ctx, const struct device_link *link, void *data,
			     const char *path, const char *driver, struct perfctr_device **device)
{
	struct perfctr_device *d = NULL;
	int error = device_new(ctx, -1, link, data, path, driver, &d);

	if (error)
		perfctr_device_unref(d);
	else
		*device = d;
	return error;
}

int session_open_node(struct perfctr_ctx *ctx, const char *path, struct perfctr_device **device)
{
	int fd = ctx->sys->open(ctx->sys->data, path, O_RDWR);

	*device = NULL;
	if (fd == -EACCES || fd == -EPERM)
		return perfctr_fail(
			ctx, fd,
			"%s: %s; the user must be a member of the node's group (often \"render\")",
			path, strerror(-fd));
	if (fd < 0)
		return perfctr_fail(ctx, fd, "%s: %s", path, strerror(-fd));
	return session_open_fd(ctx, fd, path, device);
}

EXPORT int perfctr_device_refresh(struct perfctr_device *device)
{
	int error = query_all(device);

	if (error)
		return perfctr_fail(device->ctx, error, "%s: cannot ask the device again: %s",
				    device->path, strerror(-error));
	return 0;
}
