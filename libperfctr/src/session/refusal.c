// SPDX-License-Identifier: MIT
/*
 * Why the kernel refuses a session.
 *
 * The kernel returns only an errno. This file finds the reason from the properties of the request
 * and by trying each request alone.
 */
#include "session.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "counters/pmu.h"
#include "counters/selection.h"
#include "counters/tables.h"

#define PERF_PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"
/* files of a process that are no perf events: the standard ones, rings, folders */
enum { FURTHER_FILES = 64 };

/* Return: whether the file holds a number. */
static bool read_number(struct perfctr_ctx *ctx, const char *path, long *value)
{
	char text[32], *end;

	if (perfctr_sys_read_text(ctx->sys, path, text, sizeof(text)) <= 0)
		return false;
	*value = strtol(text, &end, 10);
	return !*end;
}

/*
 * The first request that fails alone with the same error. NULL: they fail only together, or for a
 * reason that CHECK does not look at: the ring's memory, descriptors, hardware in use by others.
 */
static const struct drm_perfctr_block_request *
refused_request(struct perfctr_selection *s, const struct session_setup *setup, int error)
{
	for (size_t n = 0; n < s->request_count; n++) {
		struct session_setup one = *setup;
		int none;

		one.flags |= DRM_PERFCTR_OPEN_CHECK;
		one.requests = &s->requests[n];
		one.request_count = 1;
		if (s->device->link->open(s->device->link_data, &one, &none) == error)
			return &s->requests[n];
	}
	return NULL;
}

static bool has_pmu(const struct perfctr_selection *s)
{
	for (size_t n = 0; n < s->request_count; n++)
		if (request_is_pmu(&s->requests[n]))
			return true;
	return false;
}

static void explain_denial(struct perfctr_selection *s, const struct session_setup *setup,
			   int error)
{
	const char *name = s->device->info.name;
	const struct drm_perfctr_block_request *r;
	struct perfctr_ctx *ctx = s->device->ctx;
	long mine = 1, perf;
	char label[LABEL_BYTES];

	read_number(ctx, PERFCTR_PARANOID_PATH, &mine);
	r = !mine && has_pmu(s) ? refused_request(s, setup, error) : NULL;
	if (!r || !request_is_pmu(r)) {
		perfctr_fail(
			ctx, error,
			"%s: counters show what all users do, so this needs CAP_PERFMON (run as "
			"root), or \"sysctl dev.perfctr.paranoid=0\" by root, which lets all "
			"users of this machine watch each other; \"perfctr serve\" gives single "
			"users what its policy allows; if root is refused, a security module "
			"such as SELinux did it, and its log says why",
			name);
		return;
	}
	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU) {
		perfctr_fail(
			ctx, error,
			"%s: events of perf PMUs other than SoC blocks need CAP_PERFMON (run as "
			"root)",
			name);
		return;
	}
	perfctr_block_label(r->type, r->index, label, sizeof(label));
	if (!read_number(ctx, PERF_PARANOID_PATH, &perf))
		perf = 2;
	perfctr_fail(
		ctx, error,
		"%s: the PMU of %s is perf's, and kernel.perf_event_paranoid = %ld keeps it for "
		"CAP_PERFMON: run as root, or \"sysctl kernel.perf_event_paranoid=0\" by root",
		name, label, perf);
}

static uint64_t filter_value(const struct drm_perfctr_block_request *r, const char *name)
{
	const uint64_t words[] = { r->config, r->config1, r->config2 };
	const struct perfctr_filter_desc *f = NULL;

	while ((f = perfctr_filter_next(f))) {
		uint64_t mask = f->width < 64 ? (UINT64_C(1) << f->width) - 1 : UINT64_MAX;

		if (f->block_type == r->type && f->word < ARRAY_SIZE(words) &&
		    !strcmp(f->name, name))
			return words[f->word] >> f->low & mask;
	}
	return 0;
}

/* The rule of the database that the filters of a request break, or NULL. */
static const struct table_filter_rule *broken_rule(const struct drm_perfctr_block_request *r)
{
	for (unsigned int n = 0; n < table_filter_rules_count; n++) {
		const struct table_filter_rule *rule = &table_filter_rules[n];

		if (rule->block_type == r->type && filter_value(r, rule->filter) &&
		    ((*rule->needs && !filter_value(r, rule->needs)) ||
		     filter_value(r, rule->excludes)))
			return rule;
	}
	return NULL;
}

static void event_of_request(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
			     char *text, size_t size)
{
	struct counter_key key = {
		.type = r->type,
		.index = r->index,
		.product = product_of_pmu(r->type),
		.position = r->section * DRM_PERFCTR_SECTION_COUNTERS +
			    (unsigned int)__builtin_ctzll(r->mask | UINT64_C(1) << 63),
		.pmu = "",
		.config = r->config,
		.config1 = r->config1,
		.config2 = r->config2,
	};

	selection_counter_label(s, &key, text, size);
}

/* Return: whether it names an offline CPU, which was explained. */
static bool explain_cpu(struct perfctr_ctx *ctx, const struct drm_perfctr_block_request *r,
			const char *label, const char *event, int error)
{
	struct cpu_list online;
	bool is_offline;
	char *text;

	if (r->cpu == DRM_PERFCTR_CPU_ANY ||
	    perfctr_sys_read_all(ctx->sys, CPUS_ONLINE_PATH, &text) < 0)
		return false;
	is_offline = !cpu_list_parse(text, &online) && online.count &&
		     !cpu_list_has(&online, r->cpu);
	if (is_offline)
		perfctr_fail(ctx, error, "%s/%s/: CPU %d is not online; there are %s", label, event,
			     r->cpu, text);
	cpu_list_free(&online);
	free(text);
	return is_offline;
}

static void explain_pmu(struct perfctr_selection *s, const struct drm_perfctr_block_request *r,
			int error)
{
	struct perfctr_ctx *ctx = s->device->ctx;
	char label[LABEL_BYTES], event[EVENT_BYTES];

	event_of_request(s, r, event, sizeof(event));
	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		pmu_name_of_type(ctx, r->pmu_type, r->config, label, sizeof(label));
	else
		perfctr_block_label(r->type, r->index, label, sizeof(label));

	if (explain_cpu(ctx, r, label, event, error))
		return;
	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		perfctr_fail(ctx, error,
			     "the PMU %s refuses %s/%s/: %s; perf would be refused as well", label,
			     label, event, strerror(-error));
	else
		perfctr_fail(ctx, error,
			     "the PMU of %s refuses %s/%s/: %s; its driver may have logged why: "
			     "see dmesg",
			     label, label, event, strerror(-error));
}

/* Whether this process may count itself. Levels above 2 are those of distributions' kernels. */
static bool may_count_itself(struct perfctr_ctx *ctx)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = ctx->sys->perf_event_open(ctx->sys->data, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		ctx->sys->close(ctx->sys->data, fd);
	return fd >= 0;
}

/* Advice for an error of permission. @task: the process to be counted, 0: none */
static const char *denial_advice(struct perfctr_ctx *ctx, int error, pid_t task, char *text,
				 size_t size)
{
	char path[64], exe[256] = "PROGRAM", setcap[320], fix[400];
	long paranoid = 2;

	ctx->sys->readlink(ctx->sys->data, "/proc/self/exe", exe, sizeof(exe));
	snprintf(setcap, sizeof(setcap),
		 "sudo setcap cap_perfmon+ep %s (for every user who may execute it)", exe);
	snprintf(fix, sizeof(fix),
		 "%s, or for every program: sudo sysctl kernel.perf_event_paranoid=", setcap);

	read_number(ctx, PERF_PARANOID_PATH, &paranoid);
	/* readable under the same rule */
	snprintf(path, sizeof(path), "/proc/%d/environ", task);
	if (task && perfctr_sys_read_text(ctx->sys, path, text, size) == -EACCES)
		snprintf(text, size,
			 "process %d belongs to another user: run as that user or root, or %s",
			 task, setcap);
	else if (error == -EPERM)
		snprintf(text, size,
			 "a container's seccomp filter may forbid perf_event_open(); else: %s%d",
			 fix, task ? 2 : 0);
	else if (paranoid <= (task ? 1 : 0))
		snprintf(text, size,
			 "kernel.perf_event_paranoid = %ld allows it, so a security module "
			 "(SELinux, for example) forbids it: its log has the reason",
			 paranoid);
	else if (paranoid > 2 && !may_count_itself(ctx))
		/* patched kernels, as Debian's and Ubuntu's: only CAP_SYS_ADMIN counts */
		snprintf(text, size,
			 "kernel.perf_event_paranoid = %ld lets users count nothing, not even "
			 "their own processes, nor with CAP_PERFMON: sudo sysctl "
			 "kernel.perf_event_paranoid=2%s%s",
			 paranoid, task ? "" : ", and ", task ? "" : setcap);
	else if (task)
		snprintf(text, size,
			 "not without the kernel, which kernel.perf_event_paranoid = %ld keeps for "
			 "privileged users: %s1",
			 paranoid, fix);
	else
		snprintf(text, size,
			 "kernel.perf_event_paranoid = %ld lets users count their own processes "
			 "only (perfctr stat -- COMMAND). For the whole machine: %s0",
			 paranoid, fix);
	return text;
}

/* Advice for an error of perf. @task: the process to be counted, 0: none */
static const char *perf_advice(struct perfctr_ctx *ctx, int error, pid_t task, const char *pmu,
			       char *text, size_t size)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return denial_advice(ctx, error, task, text, size);
	case -ENOENT:
		return "this CPU or PMU has no such event; perfctr list shows those that exist";
	case -EOPNOTSUPP:
		return "the hardware cannot count it this way, and many virtual machines have no "
		       "hardware counters; perfctr list shows other events";
	case -EBUSY:
		return "the counter is in use: end the other profiler, or the NMI "
		       "watchdog with sudo sysctl kernel.nmi_watchdog=0";
	case -ENODEV:
		return "its CPU is offline or its hardware is gone; "
		       "/sys/devices/system/cpu/online has the CPUs";
	case -EINVAL:
		snprintf(text, size,
			 "it does not take these terms; /sys/bus/event_source/devices/%s/format "
			 "has its fields",
			 pmu);
		return text;
	case -ESRCH:
		return "there is no such process";
	case -ENOSYS:
		return "this kernel has no perf events (CONFIG_PERF_EVENTS); emulators of another "
		       "architecture's programs (qemu-user) have none, either";
	default:
		return strerror(-error);
	}
}

/* Whether an event is one of CPU cores, and sysfs has no PMU of these. */
static bool is_of_unseen_core(struct perfctr_ctx *ctx, const struct drm_perfctr_block_request *r)
{
	struct pmu_list pmus;
	bool is_unseen = !pmu_list_load(ctx, &pmus) &&
			 pmu_of_event(&pmus, r->pmu_type, r->config) == &pmu_unseen_core;

	pmu_list_free(&pmus);
	return is_unseen;
}

/* Files of a selection's perf events, one for each event and CPU. 0: unknown. */
static size_t files_needed(struct perfctr_ctx *ctx, const struct perfctr_selection *s, pid_t task)
{
	struct pmu_list pmus;
	size_t files = 0;
	int error = pmu_list_load(ctx, &pmus);

	for (size_t n = 0; !error && n < s->request_count; n++) {
		const struct drm_perfctr_block_request *r = &s->requests[n];
		const struct pmu *pmu = pmu_of_event(&pmus, r->pmu_type, r->config);
		struct cpu_list cpus = { 0 };
		size_t each = 1;

		if (!pmu || is_reading(r->pmu_type))
			continue;
		if (r->cpu == DRM_PERFCTR_CPU_ANY && (!task || pmu->is_uncore)) {
			error = pmu_cpus(ctx, pmu, &cpus);
			each = cpus.count;
			cpu_list_free(&cpus);
		}
		files += each * (size_t)__builtin_popcountll(r->mask);
	}
	pmu_list_free(&pmus);
	return error ? 0 : files;
}

/* Advice for an event, or for all together. */
static const char *files_advice(struct perfctr_selection *s, pid_t task, char *text, size_t size)
{
	const size_t files = files_needed(s->device->ctx, s, task);
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, size,
		 "each event takes a file %s, here %zu%s, and this process may have %llu open: "
		 "raise the limit with ulimit -n %zu%s, or count fewer events, or on one CPU with "
		 "cpu=0 behind the event",
		 task ? "for each thread" : "on each CPU", files, task ? " for each thread" : "",
		 (unsigned long long)limit.rlim_cur, files + FURTHER_FILES,
		 limit.rlim_max >= files + FURTHER_FILES ?
			 "" :
			 " as root, beyond the hard limit (LimitNOFILE= of a service)");
	return text;
}

static void explain_local(struct perfctr_selection *s, const struct session_setup *setup, int error)
{
	const struct drm_perfctr_block_request *r = refused_request(s, setup, error);
	struct perfctr_ctx *ctx = s->device->ctx;
	pid_t task = s->device->task;
	char pmu[LABEL_BYTES] = "*", event[EVENT_BYTES], text[640];
	const char *advice;

	if (error == -EOPNOTSUPP && setup->flags & DRM_PERFCTR_OPEN_KEEP_AWAKE) {
		perfctr_fail(ctx, error,
			     "--keep-awake (KEEP_AWAKE) is of DRM devices with counters, and this "
			     "machine's own events are counted (local): leave it out");
		return;
	}
	if (error == -EOPNOTSUPP && setup->flags & DRM_PERFCTR_OPEN_AUTOMATIC) {
		perfctr_fail(ctx, error,
			     "samples at the ends of jobs (AUTOMATIC) are of DRM devices with "
			     "counters, and this machine's own events are counted (local)");
		return;
	}
	/* it has left its reason */
	if (r && is_reading(r->pmu_type))
		return;
	if (r)
		pmu_name_of_type(ctx, r->pmu_type, r->config, pmu, sizeof(pmu));
	advice = error == -EMFILE ? files_advice(s, task, text, sizeof(text)) :
				    perf_advice(ctx, error, task, pmu, text, sizeof(text));
	if (!r) {
		perfctr_fail(ctx, error, "perf refuses %u events together: %s",
			     setup->request_count, advice);
		return;
	}
	event_of_request(s, r, event, sizeof(event));
	if (is_of_unseen_core(ctx, r))
		perfctr_fail(ctx, error, "%s: " PMU_NO_CORE, event);
	else if (!explain_cpu(ctx, r, pmu, event, error))
		perfctr_fail(ctx, error, "perf refuses %s/%s/: %s", pmu, event, advice);
}

static void explain_other(struct perfctr_selection *s, const struct session_setup *setup, int error)
{
	const struct drm_perfctr_block_request *r = refused_request(s, setup, error);

	if (r && request_is_pmu(r)) {
		explain_pmu(s, r, error);
		return;
	}
	perfctr_fail(s->device->ctx, error,
		     "%s: the kernel refuses the session: %s; "
		     "\"echo 2 > /sys/module/drm/parameters/debug\" makes it log the reason",
		     s->device->info.name, strerror(-error));
}

/* "100 us" */
static char *duration(uint64_t ns, char *text, size_t size)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	unsigned int n = 0;
	double value = (double)ns;

	for (; value >= 1000 && n + 1 < ARRAY_SIZE(units); n++)
		value /= 1000;
	snprintf(text, size, "%g %s", value, units[n]);
	return text;
}

/* Return: whether the period is the reason. */
static bool explain_period(struct perfctr_device *device, const struct session_setup *s, int error)
{
	const struct drm_perfctr_device_info *info = &device->info;
	char period[32], least[32], most[32];

	if (!s->period_ns ||
	    (s->period_ns >= info->min_period_ns && s->period_ns <= info->max_period_ns))
		return false;
	perfctr_fail(device->ctx, error, "%s: the period of %s is not within %s..%s", info->name,
		     duration(s->period_ns, period, sizeof(period)),
		     duration(info->min_period_ns, least, sizeof(least)),
		     duration(info->max_period_ns, most, sizeof(most)));
	return true;
}

/* Return: whether it is an error of the broker that counts this machine's perf events. */
static bool explain_broker(struct perfctr_device *device, int error)
{
	if (device_is(device, LINK_HOST))
		return false;
	if (error == -EPERM || error == -EACCES)
		perfctr_fail(device->ctx, error,
			     "the broker may not open perf events: it needs CAP_PERFMON, "
			     "perf_event_open in its unit's SystemCallFilter, and for Debian's "
			     "kernels sudo sysctl kernel.perf_event_paranoid=2");
	else if (error == -EMFILE)
		perfctr_fail(device->ctx, error,
			     "the broker has no more files, one for each event and CPU: count "
			     "fewer events, or raise LimitNOFILE of perfctr-serve.service");
	else
		return false;
	return true;
}

/* A driver's own interface counts the device's blocks, and perf the rest. */
static void explain_hosted(struct perfctr_selection *s, const struct session_setup *setup,
			   int error)
{
	const struct drm_perfctr_block_request *r = refused_request(s, setup, error);
	struct perfctr_device *device = s->device;
	char label[LABEL_BYTES];

	if (setup->flags & DRM_PERFCTR_OPEN_AUTOMATIC && error == -EOPNOTSUPP) {
		perfctr_fail(device->ctx, error,
			     "%s: samples at changes of power (AUTOMATIC) are of the counter core "
			     "drm_perfctr, and the driver %s has only an interface of its own here",
			     device->info.name, device->driver);
	} else if (r ? request_is_pmu(r) : has_pmu(s)) {
		explain_local(s, setup, error);
	} else if (r) {
		perfctr_block_label(r->type, r->index, label, sizeof(label));
		perfctr_fail(device->ctx, error, "%s: counters 0x%llx of %s, set %u: %s",
			     device->info.name, (unsigned long long)r->mask, label, r->set,
			     strerror(-error));
	} else {
		perfctr_fail(device->ctx, error, "%s: the session is refused: %s",
			     device->info.name, strerror(-error));
	}
}

int refusal_of_filters(struct perfctr_selection *selection, const struct session_setup *setup)
{
	struct perfctr_ctx *ctx = selection->device->ctx;
	char label[LABEL_BYTES], event[EVENT_BYTES];

	for (uint32_t n = 0; n < setup->request_count; n++) {
		const struct drm_perfctr_block_request *r = &setup->requests[n];
		const struct table_filter_rule *rule = broken_rule(r);

		if (!rule)
			continue;
		event_of_request(selection, r, event, sizeof(event));
		perfctr_block_label(r->type, r->index, label, sizeof(label));
		if (*rule->needs && !filter_value(r, rule->needs))
			return perfctr_fail(ctx, -EINVAL, "%s/%s/: %s does nothing without %s=1",
					    label, event, rule->filter, rule->needs);
		return perfctr_fail(ctx, -EINVAL, "%s/%s/: %s and %s exclude each other", label,
				    event, rule->filter, rule->excludes);
	}
	return 0;
}

void refusal_explain(struct perfctr_selection *selection, const struct session_setup *setup,
		     int error)
{
	struct perfctr_device *device = selection->device;
	const struct drm_perfctr_device_info *info = &device->info;
	const struct session_setup *s = setup;
	struct perfctr_ctx *ctx = device->ctx;
	char period[32], least[32];

	if (perfctr_device_explained(device))
		return;
	/* errors that concern neither the ring nor the number of requests come from perf */
	if (!strcmp(device->driver, PERFCTR_DEVICE_LOCAL) && error != -ERANGE &&
	    (error != -E2BIG || s->request_count <= info->max_requests)) {
		if (!explain_period(device, s, error) && !explain_broker(device, error))
			explain_local(selection, setup, error);
		return;
	}
	if (device_is(device, LINK_HOST) && error != -ERANGE && error != -ENODEV &&
	    (error != -E2BIG || s->request_count <= info->max_requests)) {
		if (!explain_period(device, s, error))
			explain_hosted(selection, setup, error);
		return;
	}
	switch (error) {
	case -EACCES:
		explain_denial(selection, setup, error);
		return;
	case -EPERM:
		if (s->flags & DRM_PERFCTR_OPEN_AUTOMATIC &&
		    (!s->period_ns || s->period_ns >= info->unprivileged_min_period_ns))
			perfctr_fail(ctx, error,
				     "%s: samples at changes of power (AUTOMATIC) need CAP_PERFMON "
				     "(run as root)",
				     info->name);
		else
			perfctr_fail(ctx, error,
				     "%s: a period of %s needs CAP_PERFMON (run as root); without "
				     "it the shortest is %s",
				     info->name, duration(s->period_ns, period, sizeof(period)),
				     duration(info->unprivileged_min_period_ns, least,
					      sizeof(least)));
		return;
	case -EDQUOT:
		perfctr_fail(
			ctx, error,
			"%s: this user's sessions (4) or their rings are at the limit: end some, "
			"run as root, or raise sysctl dev.perfctr.max_user_ring_kb",
			info->name);
		return;
	case -EBUSY:
		perfctr_fail(ctx, error,
			     "%s: something other than perfctr uses the counters, as the driver's "
			     "own counter ioctls do",
			     info->name);
		return;
	case -ERANGE:
		if (!explain_period(device, s, error))
			perfctr_fail(
				ctx, error,
				"%s: a ring of %u slots is too large; at most %u slots and %llu "
				"bytes",
				info->name, s->slots, info->max_slots,
				(unsigned long long)info->max_ring_bytes);
		return;
	case -E2BIG:
		perfctr_fail(ctx, error, "%s: %u requests are too many, at most %u", info->name,
			     s->request_count, info->max_requests);
		return;
	case -ENFILE:
		perfctr_fail(ctx, error,
			     "%s: users without CAP_PERFMON have all the sessions that the device "
			     "gives them; run as root",
			     info->name);
		return;
	case -ENODEV:
		perfctr_fail(ctx, error, "%s: the device is gone", info->name);
		return;
	case -EINVAL:
		if (!explain_period(device, s, error))
			explain_other(selection, setup, error);
		return;
	default:
		explain_other(selection, setup, error);
	}
}
