// SPDX-License-Identifier: MIT
/* What programs open: a context, the list of this machine's devices, and one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "open.h"
#include "host.h"
#include "local/readings.h"
#include "session/kbase.h"

#define DRM_CLASS_PATH "/sys/class/drm"

/* folders of nodes, and what sysfs has of them; the last one is kbase's, which sleeps on */
static const struct node_folder {
	const char *path, *class;
} node_folders[] = {
	{ "/dev/dri", DRM_CLASS_PATH },
	{ "/dev/accel", "/sys/class/accel" },
	{ "/dev", NULL },
};

int perfctr_ctx_new_with(const struct perfctr_sys *sys, struct perfctr_ctx **ctx)
{
	return ctx_new(sys, &local_readings, ctx);
}

EXPORT int perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	return perfctr_ctx_new_with(&perfctr_sys_real, ctx);
}

/* --- interfaces ------------------------------------------------------------- */

/*
 * The first interface that has counters: the core's, then the driver's own. Drops the device of the
 * first for that of the second. *device is set even for errors if its driver is known.
 */
static int try_interfaces(struct perfctr_ctx *ctx, int error, struct perfctr_device **device)
{
	struct perfctr_device *of_core = *device, *of_driver = NULL;
	const struct host_driver *driver;
	const char *name;
	const struct device_link *link;
	void *data;

	if (error != -ENOTTY || !of_core)
		return error;
	name = kbase_is_node(of_core->path) ? KBASE_DRIVER : of_core->driver;
	driver = host_driver_of(name);
	if (driver)
		error = host_link_gpu(ctx, of_core->fd, of_core->path, driver, &link, &data);
	if (!error)
		error = perfctr_device_from_link(ctx, link, data, of_core->path, name, &of_driver);
	if (error == -ENOTTY)
		perfctr_fail(ctx, error, "%s: the driver%s%s offers no performance counters%s%s",
			     *of_core->path ? of_core->path : "this DRM file",
			     *of_core->driver ? " " : "", of_core->driver,
			     driver && driver->lacking ? ": it needs " : "",
			     driver && driver->lacking ? driver->lacking : "");
	if (error)
		return error;
	perfctr_device_unref(of_core);
	*device = of_driver;
	return 0;
}

static int open_node(struct perfctr_ctx *ctx, const char *path, struct perfctr_device **device)
{
	return try_interfaces(ctx, session_open_node(ctx, path, device), device);
}

EXPORT int perfctr_device_open_fd(struct perfctr_ctx *ctx, int fd, struct perfctr_device **device)
{
	struct perfctr_device *d;
	int copy = ctx->sys->dup(ctx->sys->data, fd);
	int error;

	if (copy < 0)
		return perfctr_fail(ctx, copy, "file descriptor %d: %s", fd, strerror(-copy));
	error = try_interfaces(ctx, session_open_fd(ctx, copy, "", &d), &d);
	if (error)
		perfctr_device_unref(d);
	else
		*device = d;
	return error;
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
	char path[PATH_BYTES];

	if (!list->folder->class) {
		snprintf(path, sizeof(path), "%s/%s", list->folder->path, name);
		return kbase_is_node(path);
	}
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

	if (!list->folder->class)
		return false;
	snprintf(path, sizeof(path), "%s/%.64s/device/power/runtime_status", list->folder->class,
		 name);
	if (perfctr_sys_read_text(list->ctx->sys, path, text, sizeof(text)) <= 0 ||
	    (strcmp(text, "suspended") && strcmp(text, "suspending")))
		return false;
	read_link(list, name, "subsystem", text, sizeof(text));
	return !list->has_core || !*text || !strcmp(text, "pci");
}

/* The DRM driver of a sleeping device: msm's devices have drivers of other names in sysfs. */
static void read_sleeping_driver(const struct perfctr_device_list *list, const char *name,
				 char *driver, size_t size)
{
	read_link(list, name, "driver", driver, size);
	if (!strcmp(driver, "adreno") || !strncmp(driver, "msm", strlen("msm")))
		snprintf(driver, size, "msm");
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
		read_sleeping_driver(list, name, e->driver, sizeof(e->driver));
		e->entry.error = -EHOSTDOWN;
		return 0;
	}
	e->entry.error = open_node(list->ctx, e->path, &device);
	if (device)
		memcpy(e->driver, device->driver, sizeof(e->driver));
	if (!e->entry.error) {
		memcpy(e->name, device->info.name, sizeof(e->name));
		e->entry.by_name = device_is(device, LINK_HOST) &&
				   host_driver_of(e->driver)->by_name;
	}
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
	int error = host_link_local(ctx, &link, &data);

	return error ? error :
		       perfctr_device_from_link(ctx, link, data, PERFCTR_DEVICE_LOCAL,
						PERFCTR_DEVICE_LOCAL, device);
}

static int fail_no_device(struct perfctr_ctx *ctx, const struct perfctr_device_list *list,
			  const char *which)
{
	char there[512] = "";
	size_t length = 0;

	for (size_t n = 0; n < list->count && length < sizeof(there); n++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, n);

		if (!e->error)
			length += (size_t)snprintf(there + length, sizeof(there) - length,
						   "%s (%s), ", strrchr(e->path, '/') + 1,
						   e->driver);
	}
	return perfctr_fail(ctx, -ENODEV, "no device \"%s\"; those with counters: %s%s", which,
			    there, PERFCTR_DEVICE_LOCAL);
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
		error = open_node(ctx, which, &d);
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

		if (!entry_is(e, which) || (!which && e->by_name))
			continue;
		/* a device that was named is wanted even if it sleeps */
		if (!e->error || (e->error == -EHOSTDOWN && which))
			error = open_node(ctx, e->path, &d);
		/* one whose driver answered is open to this user */
		else if (((e->error == -EACCES || e->error == -EPERM) && !*e->driver) || which)
			denied = e;
	}
	if (!error) {
		*device = d;
	} else if (error != -ENODEV) {
		perfctr_device_unref(d);
	} else if (denied && (which || has_core(ctx))) {
		/* opening it again puts the reason into the context */
		error = open_node(ctx, denied->path, &d);
		if (error)
			perfctr_device_unref(d);
		else
			*device = d;
	} else if (which) {
		error = fail_no_device(ctx, list, which);
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
