// SPDX-License-Identifier: MIT
/* Devices: finding them, opening them, and their properties. */
#include "counters/catalogue.h"
#include "counters/pages.h"

#include <drm/perfctr_mali.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DRM_CLASS_PATH "/sys/class/drm"
#define RENDER_NODE "/dev/dri/renderD"

/* folders of nodes, and what sysfs has of them */
static const struct node_folder {
	const char *path, *class;
} node_folders[] = {
	{ "/dev/dri", DRM_CLASS_PATH },
	{ "/dev/accel", "/sys/class/accel" },
};

enum {
	MAX_ELEMENTS = 65536, /* more than any device has: the driver misunderstood the query */
	/* version of the interface in perfctr_drm.h, and its predecessor */
	LEAST_VERSION = 3,
	OLD_SAMPLE_HEADER_SIZE = 64,
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

/* Errors of drivers without the ioctl. */
static bool is_unknown_ioctl(int error)
{
	return error == -ENOTTY || error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP ||
	       error == -EACCES || error == -EPROTO;
}

/* Return: 0; -EPROTO it is not an answer to the query; -EPROTONOSUPPORT the kernel is too old. */
static int check_info(const struct drm_perfctr_device_info *info)
{
	if (info->version >= LEAST_VERSION &&
	    info->sample_header_size >= sizeof(struct drm_perfctr_sample_header))
		return 0;
	return info->version && info->version < LEAST_VERSION &&
			       info->sample_header_size == OLD_SAMPLE_HEADER_SIZE ?
		       -EPROTONOSUPPORT :
		       -EPROTO;
}

/* Of panthor's DRM_IOCTL_PANTHOR_DEV_QUERY, see panthor_drm.h of Linux 6.10 and later. */
struct panthor_query {
	uint32_t type, size;
	uint64_t pointer;
};

struct panthor_gpu_info {
	uint32_t gpu_id, gpu_rev, csf_id, l2_features;
	uint32_t others[60]; /* panthor refuses less than its first version had */
};

static void find_bus_bytes(struct perfctr_device *device)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	struct panthor_gpu_info info = { 0 };
	struct panthor_query q = { .size = sizeof(info), .pointer = (uintptr_t)&info };
	int fd = device->fd;

	if (strcmp(device->driver, "panthor"))
		return;
	/* a broker passes no node on, and what it says is checked */
	if (fd < 0 && !strncmp(device->path, RENDER_NODE, strlen(RENDER_NODE)) &&
	    !strchr(device->path + strlen(RENDER_NODE), '/'))
		fd = sys->open(sys->data, device->path, O_RDWR);
	if (fd < 0)
		return;
	/* bits 31:24: log2 of the bus width in bits */
	if (!sys->ioctl(sys->data, fd, DRM_IOWR(DRM_COMMAND_BASE, struct panthor_query), &q) &&
	    info.l2_features >> 24 >= 3 && info.l2_features >> 24 < 16)
		device->ext_bus_bytes = 1u << ((info.l2_features >> 24) - 3);
	if (fd != device->fd)
		sys->close(sys->data, fd);
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
	snprintf(device->info.name, sizeof(device->info.name), "%s%s",
		 built_in_product_name(product) && strncmp(name, "Immortalis", 10) ? "Mali-" : "",
		 name);
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
	if (!error)
		error = info_count == 1 ? check_info(info) : -EPROTO;
	if (is_unknown_ioctl(error) && device_is(device, LINK_KERNEL))
		error = -ENOTTY;
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
	d->link = link;
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
	if (error == -ENOTTY)
		perfctr_fail(ctx, error, "%s: the driver%s%s offers no performance counters",
			     path[0] ? path : "this DRM file", d->driver[0] ? " " : "", d->driver);
	else if (error == -EPROTONOSUPPORT)
		perfctr_fail(ctx, error,
			     "%s: the kernel modules are too old: this library needs interface "
			     "version %d",
			     path[0] ? path : "this DRM file", LEAST_VERSION);
	else if (error)
		perfctr_fail(ctx, error, "%s: cannot ask the device for its counters: %s",
			     path[0] ? path : "this DRM file", strerror(-error));
	return error;
}

/* Takes ownership of fd, also on failure. Sets *device as device_new() does. */
static int device_from_fd(struct perfctr_ctx *ctx, int fd, const char *path,
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

static int open_path(struct perfctr_ctx *ctx, const char *path, struct perfctr_device **device)
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
	return device_from_fd(ctx, fd, path, device);
}

/* --- list ------------------------------------------------------------------ */

struct list_entry {
	struct perfctr_device_entry entry;
	char path[PATH_BYTES];
	char driver[32];
	char name[32];
};

struct perfctr_device_list {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	struct list_entry **entries;
	size_t count;
	const struct node_folder *folder; /* that is being listed */
	bool has_core;
};

static int find_render_node(void *arg, const char *name)
{
	bool *found = arg;

	if (!strncmp(name, "renderD", strlen("renderD")))
		*found = true;
	return 0;
}

/* Whether the device of a primary node has a render node, which is listed instead. */
static bool has_render_node(struct perfctr_ctx *ctx, const char *card)
{
	char path[PATH_BYTES];
	bool found = false;

	snprintf(path, sizeof(path), DRM_CLASS_PATH "/%s/device/drm", card);
	ctx->sys->list(ctx->sys->data, path, find_render_node, &found);
	return found;
}

/* Whether the kernel has the counter core: without it no DRM node has counters. */
static bool has_core(struct perfctr_ctx *ctx)
{
	char text[8];

	return perfctr_sys_read_text(ctx->sys, PERFCTR_PARANOID_PATH, text, sizeof(text)) > 0;
}

static bool is_node(struct perfctr_device_list *list, const char *name)
{
	if (list->folder != node_folders)
		return !strncmp(name, "accel", strlen("accel"));
	return !strncmp(name, "renderD", strlen("renderD")) ||
	       (!strncmp(name, "card", strlen("card")) && !has_render_node(list->ctx, name));
}

/* The last part of a link of a node's device in sysfs; empty if there is none. */
static void read_link(const struct perfctr_device_list *list, const char *name, const char *link,
		      char *text, size_t size)
{
	const struct perfctr_sys *sys = list->ctx->sys;
	char path[PATH_BYTES], target[PATH_BYTES];

	*text = '\0';
	snprintf(path, sizeof(path), "%s/%.64s/device/%s", list->folder->class, name, link);
	if (sys->readlink(sys->data, path, target, sizeof(target)) > 0 && strrchr(target, '/'))
		snprintf(text, size, "%s", strrchr(target, '/') + 1);
}

/*
 * Whether opening a node would wake its device. Drivers of GPUs on PCI resume the device for any
 * open file; those of a SoC's GPUs, which sleep whenever they have no work, resume it for jobs.
 * Without the counter core there is no reason to rely on that.
 */
static bool would_wake(const struct perfctr_device_list *list, const char *name)
{
	char path[PATH_BYTES], text[32];

	snprintf(path, sizeof(path), "%s/%.64s/device/power/runtime_status", list->folder->class,
		 name);
	if (perfctr_sys_read_text(list->ctx->sys, path, text, sizeof(text)) <= 0 ||
	    (strcmp(text, "suspended") && strcmp(text, "suspending")))
		return false;
	read_link(list, name, "subsystem", text, sizeof(text));
	return !list->has_core || !*text || !strcmp(text, "pci");
}

static int list_add(void *arg, const char *name)
{
	struct perfctr_device_list *list = arg;
	struct perfctr_device *device = NULL;
	struct list_entry **entries;
	struct list_entry *e;

	if (!is_node(list, name))
		return 0;

	entries = realloc(list->entries, (list->count + 1) * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	list->entries = entries;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	entries[list->count++] = e;

	snprintf(e->path, sizeof(e->path), "%s/%s", list->folder->path, name);
	e->entry = (struct perfctr_device_entry){
		.path = e->path,
		.driver = e->driver,
		.name = e->name,
	};
	if (would_wake(list, name)) {
		read_link(list, name, "driver", e->driver, sizeof(e->driver));
		e->entry.error = -EHOSTDOWN;
		return 0;
	}
	e->entry.error = open_path(list->ctx, e->path, &device);
	if (device)
		memcpy(e->driver, device->driver, sizeof(e->driver));
	if (!e->entry.error)
		memcpy(e->name, device->info.name, sizeof(e->name));
	perfctr_device_unref(device);
	return 0;
}

EXPORT int perfctr_device_list_new(struct perfctr_ctx *ctx, struct perfctr_device_list **list)
{
	struct perfctr_device_list *l = calloc(1, sizeof(*l));
	int level = ctx->log_level;
	int error = 0;

	if (!l)
		return perfctr_no_memory(ctx);
	atomic_init(&l->refs, 1);
	l->ctx = perfctr_ctx_ref(ctx);
	l->has_core = has_core(ctx);

	/* a node without counters is not an error here */
	if (level < PERFCTR_LOG_DEBUG)
		ctx->log_level = PERFCTR_LOG_NONE;
	for (size_t n = 0; !error && n < ARRAY_SIZE(node_folders); n++) {
		l->folder = &node_folders[n];
		error = ctx->sys->list(ctx->sys->data, l->folder->path, list_add, l);
		error = error == -ENOENT ? 0 : error;
	}
	ctx->log_level = level;
	if (error) {
		perfctr_fail(ctx, error, "%s: %s", l->folder->path, strerror(-error));
		perfctr_device_list_unref(l);
		return error;
	}
	*list = l;
	return 0;
}

static void free_device_list(struct perfctr_device_list *list)
{
	for (size_t n = 0; n < list->count; n++)
		free(list->entries[n]);
	free(list->entries);
	perfctr_ctx_unref(list->ctx);
	free(list);
}

DEFINE_REFS(EXPORT, perfctr_device_list, free_device_list)

EXPORT size_t perfctr_device_list_count(const struct perfctr_device_list *list)
{
	return list->count;
}

EXPORT const struct perfctr_device_entry *
perfctr_device_list_get(const struct perfctr_device_list *list, size_t n)
{
	return n < list->count ? &list->entries[n]->entry : NULL;
}

/* --- one device -------------------------------------------------------------- */

static bool entry_is(const struct perfctr_device_entry *e, const char *which)
{
	return !which || !strcmp(strrchr(e->path, '/') + 1, which) || !strcmp(e->driver, which) ||
	       !strcasecmp(e->name, which);
}

static int open_local(struct perfctr_ctx *ctx, struct perfctr_device **device)
{
	const struct device_link *link;
	void *data;
	int error = perfctr_local_link(ctx, &link, &data);

	return error ? error :
		       perfctr_device_from_link(ctx, link, data, PERFCTR_DEVICE_LOCAL,
						PERFCTR_DEVICE_LOCAL, device);
}

EXPORT int perfctr_device_open(struct perfctr_ctx *ctx, const char *which,
			       struct perfctr_device **device)
{
	const struct perfctr_device_entry *denied = NULL;
	struct perfctr_device_list *list;
	struct perfctr_device *d = NULL;
	int error;

	if (which && !strcmp(which, PERFCTR_DEVICE_LOCAL))
		return open_local(ctx, device);
	if (which && strchr(which, '/')) {
		error = open_path(ctx, which, &d);
		if (error)
			perfctr_device_unref(d);
		else
			*device = d;
		return error;
	}

	error = perfctr_device_list_new(ctx, &list);
	if (error)
		return error;
	error = -ENODEV;
	for (size_t n = 0; n < list->count && error == -ENODEV; n++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, n);

		if (!entry_is(e, which))
			continue;
		/* a device that was named is wanted even if it sleeps */
		if (!e->error || (e->error == -EHOSTDOWN && which))
			error = open_path(ctx, e->path, &d);
		else if (e->error == -EACCES || e->error == -EPERM || which)
			denied = e;
	}
	if (!error) {
		*device = d;
	} else if (error != -ENODEV) {
		perfctr_device_unref(d);
	} else if (denied && (which || has_core(ctx))) {
		/* opening it again puts the reason into the context */
		error = open_path(ctx, denied->path, &d);
		if (error)
			perfctr_device_unref(d);
		else
			*device = d;
	} else if (which) {
		perfctr_fail(ctx, error,
			     "no device \"%s\": give a node, driver or name from \"perfctr info\"",
			     which);
	} else {
		error = open_local(ctx, device);
		if (error == -ENODEV)
			perfctr_fail(ctx, error,
				     "none of the %zu DRM devices offers performance counters, and "
				     "the kernel has no perf PMUs",
				     list->count);
	}
	perfctr_device_list_unref(list);
	return error;
}

EXPORT int perfctr_device_open_fd(struct perfctr_ctx *ctx, int fd, struct perfctr_device **device)
{
	struct perfctr_device *d;
	int copy = ctx->sys->dup(ctx->sys->data, fd);
	int error;

	if (copy < 0)
		return perfctr_fail(ctx, copy, "file descriptor %d: %s", fd, strerror(-copy));
	error = device_from_fd(ctx, copy, "", &d);
	if (error)
		perfctr_device_unref(d);
	else
		*device = d;
	return error;
}

static void free_device(struct perfctr_device *device)
{
	if (device->link)
		device->link->free(device->link_data);
	perfctr_ctx_unref(device->ctx);
	free(device->blocks);
	free(device->clocks);
	free(device);
}

DEFINE_REFS(EXPORT, perfctr_device, free_device)

EXPORT int perfctr_device_fd(const struct perfctr_device *device)
{
	return device->fd;
}

EXPORT const char *perfctr_device_path(const struct perfctr_device *device)
{
	return device->path;
}

EXPORT const char *perfctr_device_driver(const struct perfctr_device *device)
{
	return device->driver;
}

EXPORT const struct drm_perfctr_device_info *
perfctr_device_info(const struct perfctr_device *device)
{
	return &device->info;
}

EXPORT size_t perfctr_device_block_count(const struct perfctr_device *device)
{
	return device->block_count;
}

EXPORT const struct drm_perfctr_block_info *
perfctr_device_block(const struct perfctr_device *device, size_t n)
{
	return n < device->block_count ? &device->blocks[n] : NULL;
}

EXPORT size_t perfctr_device_clock_count(const struct perfctr_device *device)
{
	return device->clock_count;
}

EXPORT const struct drm_perfctr_clock_info *
perfctr_device_clock(const struct perfctr_device *device, size_t n)
{
	return n < device->clock_count ? &device->clocks[n] : NULL;
}

EXPORT int perfctr_device_refresh(struct perfctr_device *device)
{
	int error = query_all(device);

	if (error)
		return perfctr_fail(device->ctx, error, "%s: cannot ask the device again: %s",
				    device->path, strerror(-error));
	return 0;
}
