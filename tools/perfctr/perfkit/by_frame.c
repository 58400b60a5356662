// SPDX-License-Identifier: MIT
/* perfctr perfkit: one run of the workload, whose frames count the passes round-robin. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames.h"
#include "runs.h"

/* Mesa's provider reads its device from it; "1": the only one */
#define MESA_VARIABLE "GALLIUM_PERFCTR"
/* the loader of Vulkan takes the layer if it is 1 */
#define LAYER_VARIABLE "PERFCTR_VULKAN"

/* Return: whether a frame ended; false: the workload ended. */
static bool wait_for_frame(struct perfkit *p, struct frames *frames)
{
	while (!command_has_ended(&p->command)) {
		struct pollfd fds[FRAMES_MAX_FDS + 1] = { { .fd = p->signals.fd,
							    .events = POLLIN } };

		if (frames_next(frames))
			return true;
		poll(fds, 1 + frames_fds(frames, fds + 1), -1);
		perfkit_pass_signals(p);
	}
	return false;
}

/*
 * Each counter has one value per round of passes. Metrics of several passes are known after the
 * round.
 */
static void add_frame(struct perfkit *p, unsigned int pass)
{
	struct perfctr_perfkit *kit = p->report.kit;
	bool is_last = pass + 1 == p->report.passes;

	for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
		const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(kit, n);
		struct perfctr_perfkit_value value;

		if (perfctr_perfkit_value(kit, n, 0, &value))
			continue;
		if (counter->passes > 1 ? is_last : value.flags & PERFCTR_PERFKIT_UPDATED)
			perfkit_stat_take(&p->report.stats[n], kit, n, &value);
	}
}

/*
 * Handle the end of a frame. Return: 1 it was the last one, 0 more are wanted, or a negative errno.
 */
static int take_frame(struct perfkit *p, const char *values, uint64_t began_ns)
{
	struct perfkit_report *r = &p->report;
	int error;

	if (r->frames_reported++ < r->frames_skipped) {
		/* the next frame is the first that counts */
		error = r->frames_reported == r->frames_skipped ? perfctr_perfkit_sample(r->kit) :
								  0;
		return error < 0 ? error : 0;
	}
	error = perfkit_software_add(&r->software, values, began_ns);
	if (error)
		return error;
	error = perfctr_perfkit_sample(r->kit);
	/* the next pass cannot begin; the one that ended is complete */
	if (error >= 0 || (error == -EBUSY && r->passes > 1))
		add_frame(p, (unsigned int)(r->frames++ % r->passes));
	if (error < 0)
		return error;
	return r->frames_reported == perfkit_frames_needed(r);
}

/* Print why there may be no more frames. */
static void report_end(const struct perfkit *p)
{
	const struct app *app = p->report.app;
	int status = p->command.child.status;

	if (WIFSIGNALED(status))
		app_error(app, "the command was killed by signal %d (%s)", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		app_error(app, "the command ended with status %d", WEXITSTATUS(status));
}

static void report_too_few(const struct perfkit_report *r)
{
	if (r->frames_reported)
		app_error(r->app,
			  "the command ended after %" PRIu64 " frame%s, %" PRIu64
			  " are needed: %" PRIu64 " that are skipped and %" PRIu64
			  " of each of %u pass%s",
			  r->frames_reported, r->frames_reported == 1 ? "" : "s",
			  perfkit_frames_needed(r), r->frames_skipped, r->frames_of_pass, r->passes,
			  r->passes == 1 ? "" : "es");
	else
		app_error(
			r->app,
			"the command reported no frame. Vulkan programs do when they present, if "
			"perfctr's layer is installed and PERFCTR_VULKAN=0 does not forbid it; "
			"OpenGL programs when they swap the buffers of a window, on a Mesa with "
			"perfctr's provider; others by the protocol in perfctr-perfkit(1). For any "
			"other command leave out --frames: it is run once for each pass then, or "
			"use -I");
}

/* Cycles elapse without work. */
static bool is_clock(const struct perfctr_perfkit_counter *counter)
{
	return !strcmp(counter->unit, "cycles");
}

/* Frames drawn by another device look like frames without work. */
static void report_idle(const struct perfkit_report *r)
{
	const char *device = getenv(MESA_VARIABLE);
	size_t still = 0;

	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		const struct perfctr_perfkit_counter *c = perfctr_perfkit_counter(r->kit, n);

		if (c->kind != PERFCTR_PERFKIT_COUNTER || !c->desc || is_clock(c) ||
		    !r->stats[n].measured)
			continue;
		if (mpq_sgn(r->stats[n].max))
			return;
		still++;
	}
	if (still)
		app_error(r->app,
			  "no counter of the GPU moved in %" PRIu64
			  " frame%s: does %s draw them? -d "
			  "gives perfkit another device, " MESA_VARIABLE
			  " (for this command %s) our Mesa",
			  r->frames, r->frames == 1 ? "" : "s", perfctr_device_path(r->device),
			  device ? device : "unset");
}

static int measure(struct perfkit *p, struct frames *frames)
{
	int result = 0, failure = 0;
	/* 0: the first frame includes the start of the program */
	uint64_t began_ns = 0;

	while (!result && wait_for_frame(p, frames)) {
		result = take_frame(p, frames->values, began_ns);
		if (result)
			break;
		began_ns = perfkit_now_ns();
		frames_answer(frames);
	}
	if (result < 0)
		failure = perfkit_count_no_more(p, result);
	perfctr_perfkit_end_sampling(p->report.kit);
	frames_stop(frames);
	/* no process reports frames any more: wait for the end of the workload */
	wait_for_frame(p, frames);
	frames_close(frames);
	p->report.exit_status = child_exit_status(&p->command.child);
	if (!result) {
		report_end(p);
		report_too_few(&p->report);
		failure = EXIT_FAILED;
	}
	report_idle(&p->report);
	return p->report.exit_status ? p->report.exit_status : failure;
}

static int start(struct perfkit *p)
{
	int error = p->report.frames_skipped ? 0 : perfctr_perfkit_sample(p->report.kit);

	if (!error)
		return perfkit_let_go(p);
	command_abandon(&p->command);
	return app_failed(p->report.app, error);
}

/*
 * What reports frames: Vulkan's layer, and Mesa, which selects no device if there are several. Keep
 * the user's choice, even 0 for none.
 */
static int name_reporters(const struct perfkit *p)
{
	const char *path = perfctr_device_path(p->report.device);
	const char *node = strrchr(path, '/');
	const char *chosen = getenv(MESA_VARIABLE);

	if (setenv(LAYER_VARIABLE, "1", 0)) {
		app_error(p->report.app, "setenv: %s", strerror(errno));
		return EXIT_FAILED;
	}
	/* Mesa does not use a broker */
	if (!node || p->report.app->via || access(path, R_OK | W_OK) ||
	    (chosen && strcmp(chosen, "1")))
		return 0;
	if (!setenv(MESA_VARIABLE, node + 1, 1))
		return 0;
	app_error(p->report.app, "setenv: %s", strerror(errno));
	return EXIT_FAILED;
}

int perfkit_frames(struct perfkit *p)
{
	struct frames frames = { .socket_fd = -1 };
	int status, error;

	/* fail before the workload runs, not in its first frame */
	error = perfctr_perfkit_passes(p->report.kit, &p->report.passes);
	if (error)
		return app_failed(p->report.app, error);
	status = frames_open(p->report.app, &frames);
	if (!status)
		status = name_reporters(p);
	if (!status)
		status = perfkit_prepare_command(p);
	if (!status) {
		status = start(p);
		if (!status)
			return measure(p, &frames);
	}
	perfctr_perfkit_end_sampling(p->report.kit);
	frames_close(&frames);
	return status;
}
