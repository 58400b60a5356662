// SPDX-License-Identifier: MIT
/* The virtual SoC does the work of perfctr validate's campaigns as jobs. */
#include "validate/worker.h"

#include <stdlib.h>
#include <string.h>

#include "job/instructions.h"
#include "job/runner.h"
#include "steps.h"

enum { TIMEOUT_S = 30 };

struct virtual_worker {
	const struct perfctr_device *device;
	struct runner runner;
};

static int open_runner(struct analysis *a, const struct perfctr_device *device, void **state)
{
	struct virtual_worker *w = arena_alloc(a->arena, sizeof(*w));
	int error;

	w->device = device;
	w->runner.timeout_ns = TIMEOUT_S * UINT64_C(1000000000);
	error = runner_open(&w->runner, NULL, perfctr_device_fd(device), 1, false);
	if (error)
		fail(a->failure, "%s", w->runner.error);
	else
		*state = w;
	return error;
}

static void close_runner(void *state)
{
	struct virtual_worker *w = state;

	runner_close(&w->runner);
}

static int listing_job(struct analysis *a, const struct point *point, struct job *job)
{
	struct drm_vsoc_command command = { .type = DRM_VSOC_CMD_COMPUTE };
	struct listing listing;
	int64_t threads;
	char text[256] = "";
	int error;

	if (analysis_formula(a, a->campaign->benchmarks[point->benchmark].threads, point, NULL,
			     &threads))
		return -1;
	if (analysis_listing(a, point, 0, &listing) < 0)
		return -1;
	error = job_add_listing(job, &command.compute, &listing, text, sizeof(text));
	listing_free(&listing);
	if (error)
		return fail(a->failure, "%s: %s", point->name, text);
	command.compute.threads = (uint64_t)threads;
	return job_add(job, &command) ? fail(a->failure, "out of memory") : 0;
}

static int work(void *state, struct analysis *a, const struct point *point,
		const char *const *words, size_t count)
{
	struct runner *runner = &((struct virtual_worker *)state)->runner;
	char error[256] = "";
	struct job job = { 0 };
	int ret = 0;

	if (!count)
		ret = listing_job(a, point, &job);
	else if (job_parse(&job, words, count, error, sizeof(error)))
		ret = fail(a->failure, "%s: %s", point->name, error);
	for (int64_t k = 0; !ret && k < point->kernels; k++)
		if (runner_submit(runner, &job) || runner_wait(runner, 0))
			ret = fail(a->failure, "%s: %s", point->name, runner->error);
	if (!ret && (runner->timed_out || runner->cancelled))
		ret = fail(a->failure, "%s: the job was cut short", point->name);
	job_free(&job);
	return ret;
}

static uint64_t cores(const void *state)
{
	const struct virtual_worker *w = state;

	return w->runner.info.shader_present;
}

/* the chosen profile is in brackets; without root debugfs is unreadable and the profile unknown */
static const char *profile_of(struct analysis *a, const struct perfctr_device *device)
{
	struct failure ignored = { "" };
	const char *text, *open;
	size_t length;

	text = read_file(a->arena, debugfs_file(a->arena, device, "profile"), &length, &ignored);
	open = text ? strchr(text, '[') : NULL;
	return open ? arena_copy(a->arena, open + 1, strcspn(open + 1, "]")) : NULL;
}

static void configure(const void *state, struct analysis *a)
{
	const struct virtual_worker *w = state;
	const char *profile = profile_of(a, w->device);

	if (profile)
		measured_configure(a->arena, &a->measured, "profile", profile);
}

static bool executes(const char *mnemonic, size_t length)
{
	return virtual_soc.knows(mnemonic, length);
}

static struct worker worker = {
	.driver = "vsoc",
	.open = open_runner,
	.close = close_runner,
	.work = work,
	.cores = cores,
	.configure = configure,
	.executes = executes,
};

static void __attribute__((constructor)) add(void)
{
	worker_add(&worker);
}
