// SPDX-License-Identifier: MIT
/* perfctr check: whether counters can be used here, and how to fix it if not. */
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "commands.h"
#include "check/fabric.h"
#include "check/facts.h"
#include "check/gpus.h"
#include "check/private.h"
#include "common/number.h"
#include "lib/device.h"
#include "lib/defaults.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/output.h"
#include "lib/permission.h"

static const char help[] =
	"usage: perfctr check [-j] [-d DEVICE] [--report]\n"
	"\n"
	"Goes from the kernel to a real sample and stops at what is missing: module, node,\n"
	"permission. Each line that is not ok ends with the command that fixes it. A line for\n"
	"each GPU has the interface that counts it, its cost and the permission it needs;\n"
	"others say whether the PMUs of the SoC's fabric have their drivers.\n"
	"\n"
	"  -d, --device DEVICE  node (/dev/dri/renderD128, renderD128), driver, name, local\n"
	"  -j, --json           as JSON\n"
	"      --report         for a report of a defect: the checks, kernel, drivers, GPUs, PMUs\n"
	"                       and sensors, without names of hosts, users and programs, serial\n"
	"                       numbers, addresses and paths in a home; nothing is sent\n"
	"\n"
	"Exit: 0 counters can be used, 1 they do not work, 2 usage, 3 not permitted,\n"
	"4 no device.\n";

#define CORE_FIX "sudo modprobe drm_perfctr; if missing: make dkms, or package perfctr-dkms"

enum { TEXT_COLUMN = 18 };

enum outcome { OUTCOME_OK, OUTCOME_NOTE, OUTCOME_BAD };

static const char *const outcome_names[] = { "ok", "note", "bad" };

struct checker {
	struct app *app;
	struct json_object *list;
	bool is_report; /* no names of programs; commands that fix something have paths */
	const char *which; /* the device wanted, NULL: any */
	bool own_only; /* this user may count the own processes only */
	bool known_kernel; /* the modules are for this kernel */
	struct perfctr_device *broker; /* what it lets this user count on, NULL: nothing */
	char refusal[256]; /* why it does not */
};

static void __attribute__((format(printf, 5, 6)))
say(struct checker *k, enum outcome outcome, const char *name, const char *fix, const char *format,
    ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (k->list) {
		struct json_object *o = json_append(k->list);

		json_add_text(o, "check", name);
		json_add_text(o, "verdict", outcome_names[outcome]);
		json_add_text(o, "text", text);
		if (!k->is_report)
			json_add_text(o, "fix", fix);
		return;
	}
	fprintf(k->app->out, "%-5s %-11s ", outcome_names[outcome], name);
	columns_wrap(k->app->out, text, TEXT_COLUMN, TEXT_COLUMN,
		     terminal_columns(k->app->out, INT_MAX));
	/* a command is copied from one line */
	if (fix)
		fprintf(k->app->out, "      fix:        %s\n", fix);
}

/* Connect to the broker: a user that it accepts needs no other permission. */
static enum outcome ask_broker(struct checker *k)
{
	if (!k->broker && !access(PERFCTR_BROKER_SOCKET, F_OK) &&
	    perfctr_device_open_broker(k->app->ctx, NULL, k->which, &k->broker))
		snprintf(k->refusal, sizeof(k->refusal), "%s", perfctr_ctx_error(k->app->ctx));
	return k->broker ? OUTCOME_NOTE : OUTCOME_BAD;
}

static void check_kernel(struct checker *k)
{
	struct utsname name;
	regex_t known;

	uname(&name);
	if (regcomp(&known, KERNELS_PATTERN, REG_EXTENDED | REG_NOSUB))
		return;
	k->known_kernel = !regexec(&known, name.release, 0, NULL, 0);
	say(k, k->known_kernel ? OUTCOME_OK : OUTCOME_NOTE, "kernel", NULL, "Linux %s%s",
	    name.release, k->known_kernel ? "" : ": the modules are for Linux " KERNELS);
	regfree(&known);
}

static void check_module(struct checker *k, bool has_device)
{
	if (!access("/sys/module/drm_perfctr", F_OK))
		say(k, OUTCOME_OK, "core", NULL, "drm_perfctr is loaded");
	else if (has_device)
		say(k, OUTCOME_OK, "core", NULL,
		    "not loaded: part of the kernel, or not needed for this device");
	else if (access("/proc/modules", F_OK))
		say(k, OUTCOME_NOTE, "core", NULL,
		    "this kernel takes no modules: no counters of GPUs through drm_perfctr");
	else
		say(k, OUTCOME_NOTE, "core", k->known_kernel ? CORE_FIX : NULL,
		    "the counter core drm_perfctr is not loaded: no counters of GPUs through it");
}

static int check_nodes(struct checker *k, const struct perfctr_device_list *list, bool has_device)
{
	size_t count = perfctr_device_list_count(list);
	const char *denied = NULL;
	bool asleep = false;

	for (size_t i = 0; i < count; i++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, i);

		if (!e->error && e->by_name)
			say(k, OUTCOME_OK, "node", NULL, "%s: %s, " DEVICE_BY_NAME, e->path,
			    e->name, e->driver);
		else if (!e->error)
			say(k, OUTCOME_OK, "node", NULL, "%s: %s, driver %s", e->path, e->name,
			    e->driver);
		else if (e->error == -EHOSTDOWN && has_device)
			say(k, OUTCOME_NOTE, "node", NULL, "%s: %s", e->path,
			    permission_entry_text(e));
		asleep |= e->error == -EHOSTDOWN;
	}
	if (has_device)
		return EXIT_FINE;

	for (size_t i = 0; i < count; i++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, i);

		if (permission_entry_denied(e))
			denied = e->path;
		say(k, OUTCOME_NOTE, "node", NULL, "%s%s%s: %s", e->path,
		    *e->driver ? ", driver " : "", e->driver, permission_entry_text(e));
	}
	if (denied && !access(PARANOID_PATH, F_OK)) {
		say(k, ask_broker(k), "node", permission_node_fix(denied),
		    "no node that this user may open offers counters");
		return EXIT_DENIED;
	}
	say(k, OUTCOME_NOTE, "node", NULL, "%s: perfctr counts this machine's perf PMUs",
	    asleep ? "no driver of a DRM node that is awake has counters" :
	    count  ? "no driver of a DRM node has counters" :
		     "there is no DRM node in /dev/dri");
	return EXIT_FINE;
}

static void say_gpu(void *arg, bool is_counted, const char *fix, const char *text)
{
	say(arg, is_counted && !fix ? OUTCOME_OK : OUTCOME_NOTE, "gpu", fix, "%s", text);
}

static void check_gpus(struct checker *k)
{
	struct perfctr_device *local;

	if (perfctr_device_open(k->app->ctx, PERFCTR_DEVICE_LOCAL, &local))
		return;
	gpus_walk(k->app->ctx, local, say_gpu, k);
	perfctr_device_unref(local);
}

static void say_fabric(void *arg, bool is_bound, unsigned int count, const char *what,
		       const char *option, const char *fix)
{
	if (is_bound)
		say(arg, OUTCOME_OK, "fabric", NULL, "%u %s with a driver", count, what);
	else
		say(arg, OUTCOME_NOTE, "fabric", fix,
		    "%u %s without a driver; it is %s of the kernel's configuration", count, what,
		    option);
}

static int check_permission(struct checker *k, struct perfctr_device *device)
{
	struct permission p;
	long paranoid;

	permission_of(k->app, device, &p);
	if (!app_read_number(PARANOID_PATH, &paranoid))
		say(k, OUTCOME_OK, "sysctl", NULL, "dev.perfctr.paranoid = %ld: %s", paranoid,
		    paranoid ? "counters need CAP_PERFMON or, from Linux 7.3 on, "
			       "kernel.perf_event_paranoid of at most 0" :
			       "all users of this machine may count and so watch each other");
	if (p.may_count && !p.error) {
		say(k, OUTCOME_OK, "permission", NULL, "this user %s", p.text);
		return EXIT_FINE;
	}
	/* nobody may count what is not there */
	if ((p.error == -ENOENT || p.error == -ENOSYS) && device_is_local(device)) {
		say(k, OUTCOME_BAD, "perf PMUs", NULL, "%s", p.text);
		return EXIT_FAILED;
	}
	if (p.own_only)
		perfctr_device_count_task(device, getpid());
	p.may_count |= p.own_only;
	k->own_only = p.own_only;
	say(k, p.may_count ? OUTCOME_NOTE : ask_broker(k), "permission", *p.fix ? p.fix : NULL,
	    "this user %s", p.text);
	if (p.may_count)
		return EXIT_FINE;
	return p.error == -EACCES || p.error == -EPERM ? EXIT_DENIED : EXIT_FAILED;
}

/* Only a sample proves that counting works. */
static int check_sample(struct checker *k, struct perfctr_selection *selection)
{
	const struct timespec pause = { 0, 10 * NS_PER_MS };
	struct perfctr_session *session = NULL;
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_sample sample = { 0 };
	int error = perfctr_session_new(selection, NULL, &session);

	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (!error) {
		nanosleep(&pause, NULL);
		error = perfctr_session_stop(session, 0);
	}
	if (!error) {
		int got = perfctr_cursor_next(cursor, &sample);

		error = got > 0 ? 0 : got < 0 ? got : -ENODATA;
	}
	if (error == -EBUSY) {
		/* not a problem of the setup: another session is active */
		say(k, OUTCOME_NOTE, "sample", NULL, "not tried: %s",
		    k->is_report ? "another program has the counters" :
				   perfctr_ctx_error(k->app->ctx));
		error = 0;
	} else if (error) {
		say(k, OUTCOME_BAD, "sample", NULL, "counting failed: %s",
		    *perfctr_ctx_error(k->app->ctx) ? perfctr_ctx_error(k->app->ctx) :
						      strerror(-error));
	} else if (sample.flags & DRM_PERFCTR_SAMPLE_ERROR) {
		say(k, OUTCOME_BAD, "sample", NULL,
		    "the hardware did not answer: the sample is marked with an error");
		error = -EIO;
	} else {
		say(k, OUTCOME_OK, "sample", NULL,
		    "%u block%s counted for %.1f ms, %u bytes through the ring", sample.block_count,
		    plural(sample.block_count), (double)(sample.end_ns - sample.start_ns) * 1e-6,
		    sample.size);
	}
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	return error ? EXIT_FAILED : EXIT_FINE;
}

static bool has_pmus(const struct perfctr_selection *selection)
{
	const size_t count = perfctr_selection_request_count(selection);

	for (size_t n = 0; n < count; n++) {
		if (perfctr_selection_request(selection, n)->flags & DRM_PERFCTR_REQUEST_PMU)
			return true;
	}
	return false;
}

static void check_perf(struct checker *k, const struct perfctr_device *device,
		       const struct perfctr_selection *selection, const struct left_out *left_out)
{
	char why[128];

	if (!(perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_PMU)) {
		say(k, OUTCOME_NOTE, "perf PMUs", NULL,
		    "not through this device: kernel without CONFIG_PERF_EVENTS");
		return;
	}
	if (*left_out->blocks) {
		const char *fix = defaults_why(left_out, why, sizeof(why));

		say(k, OUTCOME_NOTE, "perf PMUs", fix, "not %s: %s", left_out->blocks, why);
		return;
	}
	if (app_has_capability(APP_CAP_PERFMON) || app_has_capability(APP_CAP_SYS_ADMIN))
		say(k, OUTCOME_OK, "perf PMUs", NULL, "all can be counted in the same sample");
	else if (has_pmus(selection))
		say(k, OUTCOME_OK, "perf PMUs", NULL,
		    "those of the SoC's blocks can be counted in the same sample");
	else
		say(k, OUTCOME_NOTE, "perf PMUs", NULL, "not tried: there is none of a SoC");
}

/* Checks what perfctr stat counts by default. */
static int check_counting(struct checker *k, struct perfctr_device *device, bool by_broker)
{
	struct perfctr_selection *selection = NULL;
	struct left_out left_out = { 0 };
	int status = EXIT_FAILED;
	int error = perfctr_selection_new(device, &selection);

	if (!error)
		error = defaults_add(k->app, device, selection, true, &left_out);
	if (left_out.software_only)
		say(k, OUTCOME_NOTE, "events", NULL, "%s", defaults_software_only());
	/* a broker leaves PMUs out by its policy, not by perf's; the local device has only these */
	if (!by_broker && (!device_is_local(device) || app_has_capability(APP_CAP_PERFMON)))
		check_perf(k, device, selection, &left_out);
	if (error >= 0)
		status = check_sample(k, selection);
	else
		say(k, OUTCOME_BAD, "sample", NULL, "nothing can be counted: %s",
		    perfctr_ctx_error(k->app->ctx));
	perfctr_selection_unref(selection);
	return status;
}

/* After ask_broker(). Return: exit status. */
static int check_broker(struct checker *k, int status)
{
	if (access(PERFCTR_BROKER_SOCKET, F_OK)) {
		say(k, OUTCOME_NOTE, "broker",
		    "sudo systemctl enable --now perfctr-serve.socket; sudo adduser $USER perfctr",
		    "no broker at %s", PERFCTR_BROKER_SOCKET);
		return status;
	}
	if (!k->broker) {
		say(k, OUTCOME_NOTE, "broker", "sudo adduser $USER perfctr, then log in again",
		    "the broker at %s refuses: %s", PERFCTR_BROKER_SOCKET, k->refusal);
		return status;
	}
	say(k, OUTCOME_OK, "broker", NULL, "%s lets this user count on %s%s", PERFCTR_BROKER_SOCKET,
	    perfctr_device_info(k->broker)->name,
	    k->own_only ? ", the whole of it: perfctr stat -a" : "");
	return check_counting(k, k->broker, true);
}

static int check_device(struct checker *k, const char *which)
{
	struct perfctr_device *device;
	int error = perfctr_device_open(k->app->ctx, which, &device);
	int status;

	if (error) {
		char reason[256];
		bool denied = error == -EACCES || error == -EPERM;

		snprintf(reason, sizeof(reason), "%s", perfctr_ctx_error(k->app->ctx));
		say(k, denied ? ask_broker(k) : OUTCOME_BAD, "device", NULL, "%s", reason);
		return denied ? EXIT_DENIED : EXIT_NO_DEVICE;
	}
	status = check_permission(k, device);
	if (status == EXIT_FINE)
		status = check_counting(k, device, false);
	perfctr_device_unref(device);
	return status;
}

/* What stat and top count for a user without permission to count on the GPU. */
static void check_local(struct checker *k)
{
	struct perfctr_device *local;
	struct permission p;

	if (perfctr_device_open(k->app->ctx, PERFCTR_DEVICE_LOCAL, &local))
		return;
	permission_of(k->app, local, &p);
	perfctr_device_unref(local);
	if (p.may_count || p.own_only)
		say(k, OUTCOME_NOTE, "local", NULL,
		    "stat and top count %s without the GPU (-d local)",
		    p.own_only ? "own processes" : "this machine");
}

static int check_all(struct checker *k)
{
	struct perfctr_device_list *list;
	/* what is counted without -d */
	const char *path = PERFCTR_DEVICE_LOCAL;
	int status = perfctr_device_list_new(k->app->ctx, &list);
	bool has_device = false;

	if (status)
		return app_failed(k->app, status);
	for (size_t i = perfctr_device_list_count(list); i--;) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, i);

		has_device |= !e->error;
		if (!e->error && !e->by_name)
			path = e->path;
	}
	check_kernel(k);
	check_module(k, has_device);
	status = check_nodes(k, list, has_device);
	check_gpus(k);
	fabric_walk(say_fabric, k);
	if (status == EXIT_FINE || k->which)
		status = check_device(k, k->which ? k->which : path);
	if (status == EXIT_DENIED) {
		status = check_broker(k, status);
		if (status == EXIT_DENIED && !k->which)
			check_local(k);
	} else if (k->own_only && !access(PERFCTR_BROKER_SOCKET, F_OK) &&
		   ask_broker(k) == OUTCOME_NOTE) {
		/* that the own processes can be counted stays true whatever the broker does */
		check_broker(k, status);
	}
	perfctr_device_unref(k->broker);
	perfctr_device_list_unref(list);
	return status;
}

static int write_json(struct checker *k, int status, bool json)
{
	struct json_object *root = json_object_new_object();
	int error = 0;

	json_add_u64(root, "version", 1);
	json_add_bool(root, "usable", status == EXIT_FINE);
	json_add(root, "checks", k->list);
	if (k->is_report) {
		facts_add(k->app, root);
		error = private_remove(root);
	}
	if (error) {
		json_object_put(root);
		return app_failed(k->app, error);
	}
	if (json) {
		json_write(k->app->out, root, true);
	} else {
		facts_write(k->app->out, root);
		json_object_put(root);
	}
	return status;
}

int check_run(struct app *app, int argc, char **argv)
{
	struct checker k = { .app = app };
	bool json = false;
	const struct option_spec options[] = {
		OPTION('d', "device", TEXT, &k.which),
		OPTION('j', "json", FLAG, &json),
		OPTION(0, "report", FLAG, &k.is_report),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_NOTHING);

	if (status)
		return status < 0 ? EXIT_FINE : status;

	if (json || k.is_report)
		k.list = json_object_new_array();
	status = check_all(&k);
	if (k.list)
		return write_json(&k, status, json);
	fputs(status == EXIT_FINE ? "counters can be used here\n" :
				    "counters cannot be used here yet\n",
	      app->out);
	return status;
}
