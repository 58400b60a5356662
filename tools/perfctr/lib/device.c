// SPDX-License-Identifier: MIT
/* Opens a device or asks the broker for it, selects events, finds it again by its place. */
#include "device.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "defaults.h"
#include "permission.h"

static int open_at(const struct app *app, const char *which, struct perfctr_device **device)
{
	if (app->via)
		return perfctr_device_open_broker(app->ctx, app->via, which, device);
	return perfctr_device_open(app->ctx, which, device);
}

/* Whether the error is one of permission, not a missing device. */
static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* Return: 0 and another *device; on error the context has the broker's reason. */
static int try_broker(const struct app *app, const char *which, struct perfctr_device **device)
{
	struct perfctr_device *other;
	int error = perfctr_device_open_broker(app->ctx, NULL, which, &other);

	if (error)
		return error;
	perfctr_device_unref(*device);
	*device = other;
	fprintf(app->err, "perfctr %s: this user may count only through the broker at %s\n",
		app->name, PERFCTR_BROKER_SOCKET);
	return 0;
}

/* What this user may count without the GPU. @device: dropped. Return: 0 or an exit status. */
static int use_local(const struct app *app, struct perfctr_device **device)
{
	int error;

	perfctr_device_unref(*device);
	*device = NULL;
	error = perfctr_device_open(app->ctx, PERFCTR_DEVICE_LOCAL, device);
	if (error)
		return app_failed(app, error);
	app_error(app, "this user may not count on the GPU, perfctr check has the reason: without "
		       "it, as -d local");
	return 0;
}

static bool any_has_counters(const struct app *app)
{
	struct perfctr_device_list *list;
	bool any = false;

	if (perfctr_device_list_new(app->ctx, &list))
		return false;
	for (size_t n = 0; n < perfctr_device_list_count(list); n++)
		any |= !perfctr_device_list_get(list, n)->error;
	perfctr_device_list_unref(list);
	return any;
}

/* Return: an exit status. */
static int fail_to_open(const struct app *app, const char *which, int error)
{
	if (error != -ENODEV || !which || app->via)
		return app_failed(app, error);
	app_error(app, "%s", perfctr_ctx_error(app->ctx));
	/* else the name is wrong, and nothing is missing */
	if (!any_has_counters(app))
		app_name_check(app);
	return EXIT_NO_DEVICE;
}

enum {
	OPEN_TO_COUNT = 1,
	OPEN_ANY = 2, /* no event is wanted that the local device lacks */
};

static int open_device(const struct app *app, const char *which, unsigned int flags,
		       struct perfctr_device **device)
{
	const bool any = flags & OPEN_ANY && !which && !app->via;
	char reason[512];
	int error, denied;

	*device = NULL;
	error = open_at(app, which, device);
	denied = is_denied(error) ? error : 0;
	if (!error && flags & OPEN_TO_COUNT && !app->via && !device_is_local(*device) &&
	    !app_has_capability(APP_CAP_PERFMON) && (any || !access(PERFCTR_BROKER_SOCKET, F_OK))) {
		denied = permission_to_count(*device);
		denied = is_denied(denied) ? denied : 0;
	}
	if (!denied || app->via)
		return error ? fail_to_open(app, which, error) : 0;
	snprintf(reason, sizeof(reason), "%s", perfctr_ctx_error(app->ctx));
	if (!access(PERFCTR_BROKER_SOCKET, F_OK)) {
		if (!try_broker(app, which, device))
			return 0;
		if (any)
			return use_local(app, device);
		app_error(app, "%s", reason);
		app_error(app, "nor through the broker at %s: %s", PERFCTR_BROKER_SOCKET,
			  perfctr_ctx_error(app->ctx));
	} else if (any) {
		return use_local(app, device);
	} else {
		/* without a broker, the message of the direct attempt is the most useful one */
		app_error(app, "%s", reason);
	}
	if (!which)
		app_error(app, "events of this machine and of own processes: -d local");
	perfctr_device_unref(*device);
	*device = NULL;
	return EXIT_DENIED;
}

bool device_broker_accepts(const struct app *app)
{
	struct perfctr_device *device = NULL;

	if (access(PERFCTR_BROKER_SOCKET, F_OK) ||
	    perfctr_device_open_broker(app->ctx, NULL, NULL, &device))
		return false;
	perfctr_device_unref(device);
	return true;
}

int device_open(const struct app *app, const char *which, bool any, struct perfctr_device **device)
{
	return open_device(app, which, OPEN_TO_COUNT | (any ? OPEN_ANY : 0), device);
}

int device_open_to_look(const struct app *app, const char *which, bool any,
			struct perfctr_device **device)
{
	return open_device(app, which, any ? OPEN_ANY : 0, device);
}

bool device_note_entry(const struct app *app, const struct perfctr_device_entry *e)
{
	const bool is_by_name = !e->error && e->by_name;

	if (e->error == -EHOSTDOWN)
		app_error(app, "%s%s%s: %s", e->path, *e->driver ? ", driver " : "", e->driver,
			  permission_entry_text(e));
	else if (is_by_name)
		app_error(app, "%s: %s, " DEVICE_BY_NAME "; perfctr check says what it costs",
			  e->path, e->name, e->driver);
	return is_by_name || e->error == -EHOSTDOWN;
}

void device_note_others(const struct app *app, const char *which,
			const struct perfctr_device *device)
{
	struct perfctr_device_list *list;

	if (which || app->via || !device_is_local(device) ||
	    perfctr_device_list_new(app->ctx, &list))
		return;
	for (size_t n = 0; n < perfctr_device_list_count(list); n++)
		device_note_entry(app, perfctr_device_list_get(list, n));
	perfctr_device_list_unref(list);
}

int device_select_defaults(const struct app *app, const struct perfctr_device *device,
			   struct perfctr_selection *selection, bool machine)
{
	struct left_out left_out;
	char why[128];
	int error = defaults_add(app, device, selection, machine, &left_out);

	if (error < 0)
		return app_failed(app, error);
	if (!error && machine) {
		app_error(app, "there is nothing to count here; perfctr check says why");
		return EXIT_FAILED;
	}
	if (left_out.software_only && !app->quiet)
		app_error(app, "%s; perfctr list has all events", defaults_software_only());
	if (*left_out.blocks) {
		defaults_why(&left_out, why, sizeof(why));
		app_error(app, "without %s: %s", left_out.blocks, why);
	}
	return 0;
}

int device_select(const struct app *app, const struct perfctr_device *device,
		  struct perfctr_selection *selection, const char *const *events, size_t count)
{
	if (!count)
		return device_select_defaults(app, device, selection, true);
	for (size_t i = 0; i < count; i++) {
		int added = perfctr_selection_add(selection, events[i]);

		if (added == -ENOENT || added == -EINVAL || added == -EEXIST) {
			app_failed(app, added);
			return EXIT_USAGE;
		}
		if (added < 0)
			return app_failed(app, added);
	}
	return 0;
}

bool device_is_of_machine(const struct perfctr_selection *selection)
{
	for (size_t n = 0; n < perfctr_selection_request_count(selection); n++)
		if (!(perfctr_selection_request(selection, n)->flags & DRM_PERFCTR_REQUEST_PMU))
			return false;
	return true;
}

bool device_has_event_of_kernel(const struct perfctr_selection *selection)
{
	for (size_t i = 0; i < perfctr_selection_request_count(selection); i++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, i);

		if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && r->pmu_type == PERF_TYPE_SOFTWARE &&
		    (r->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		     r->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		     r->config == PERF_COUNT_SW_CGROUP_SWITCHES))
			return true;
	}
	return false;
}

int device_select_existing(const struct app *app, struct perfctr_device *device,
			   struct perfctr_selection *selection, const struct option_words *events,
			   bool machine)
{
	int error = 0;

	for (size_t n = 0; !error && n < events->count; n++) {
		const char *text = events->words[n];

		for (text += strspn(text, ", {"); !error && *text; text += strspn(text, ", {")) {
			struct perfctr_selection *one = NULL;
			const size_t length = perfctr_event_length(device, text);
			char *event = strndup(text, length);

			error = event ? perfctr_selection_new(device, &one) : -ENOMEM;
			if (!error && perfctr_selection_add(one, event) > 0 &&
			    (machine || !device_is_of_machine(one)))
				error = perfctr_selection_add(selection, event);
			error = error > 0 ? 0 : error;
			perfctr_selection_unref(one);
			free(event);
			text += length;
		}
	}
	return error ? app_failed(app, error) : 0;
}

int device_select_clients(const struct app *app, struct perfctr_selection *selection)
{
	int added = perfctr_selection_add(selection, "drm/*:engine-*,pid=*/");

	if (added != -ENOENT)
		return added < 0 ? app_failed(app, added) : 0;
	app_error(app, "--per-client: no process that this user may see uses a GPU whose driver "
		       "shows engine times");
	return EXIT_USAGE;
}

int device_select_per_cpu(const struct app *app, struct perfctr_selection *selection)
{
	int error = perfctr_selection_per_cpu(selection);

	return error ? app_failed(app, error) : 0;
}

char *device_place(const struct perfctr_device *device)
{
	char path[PATH_MAX], *place = NULL, *node = NULL;
	const char *name;
	struct stat st;
	size_t length;

	if (device_is_local(device))
		return NULL;
	/* by its number: the node may have any name */
	if (!stat(perfctr_device_path(device), &st) && S_ISCHR(st.st_mode)) {
		snprintf(path, sizeof(path), "/sys/dev/char/%u:%u", major(st.st_rdev),
			 minor(st.st_rdev));
		node = realpath(path, NULL);
	}
	/* the broker's node may be hidden from this process */
	if (!node) {
		name = strrchr(perfctr_device_path(device), '/');
		snprintf(path, sizeof(path), "/sys/class/drm/%s",
			 name ? name + 1 : perfctr_device_path(device));
		node = realpath(path, NULL);
	}
	/* ".../drm/renderD*": the same device may have another number later */
	name = node ? node : path;
	length = strlen(name);
	while (node && length && isdigit((unsigned char)name[length - 1]))
		length--;
	if (asprintf(&place, "%.*s%s", (int)length, name, node ? "*" : "") < 0)
		place = NULL;
	free(node);
	return place;
}

char *device_node(const struct perfctr_device *device, char *name, size_t size)
{
	char path[PATH_MAX];
	const char *slash;

	/* the broker's node may be hidden from this process */
	if (!realpath(perfctr_device_path(device), path))
		snprintf(path, sizeof(path), "%s", perfctr_device_path(device));
	slash = device_is_local(device) ? NULL : strrchr(path, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : PERFCTR_DEVICE_LOCAL);
	return name;
}

bool device_is_same(const struct perfctr_device *a, const struct perfctr_device *b)
{
	char *x = device_place(a), *y = device_place(b);
	const bool is_same = x && y ? !strcmp(x, y) : device_is_local(a) && device_is_local(b);

	free(x);
	free(y);
	return is_same;
}

bool device_at(const char *place, char *node, size_t size)
{
	glob_t nodes;

	if (glob(place, 0, NULL, &nodes))
		return false;
	snprintf(node, size, "%s", strrchr(nodes.gl_pathv[0], '/') + 1);
	globfree(&nodes);
	return true;
}
