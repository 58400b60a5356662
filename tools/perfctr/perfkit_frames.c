// SPDX-License-Identifier: MIT
/* perfctr perfkit: one run of the command, whose frames take turns in counting the passes. */
#include <inttypes.h>
#include <poll.h>

#include "common/number.h"
#include "frames.h"
#include "perfkit_runs.h"

/* Return: whether a frame ended; else the command did. */
static bool wait_for_frame(struct perfkit *p, struct frames *frames)
{
	while (!child_poll(&p->child)) {
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
 * Each counter has one value of each round of the passes: what is computed of several passes is known
 * when the round is over.
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
			perfkit_stat_add(&p->report.stats[n], &value);
	}
}

/* A frame has ended. Return: 1 that was the last one, 0 more are wanted, or a negative errno. */
static int take_frame(struct perfkit *p)
{
	struct perfkit_report *r = &p->report;
	int error;

	if (r->frames_told++ < r->frames_skipped) {
		/* the next one is the first that counts */
		error = r->frames_told == r->frames_skipped ? perfctr_perfkit_sample(r->kit) : 0;
		return error < 0 ? error : 0;
	}
	error = perfctr_perfkit_sample(r->kit);
	if (error < 0)
		return error;
	add_frame(p, (unsigned int)(r->frames++ % r->passes));
	return r->frames_told == perfkit_frames_needed(r);
}

static void tell_too_few(const struct perfkit_report *r)
{
	if (r->frames_told)
		app_error(r->app,
			  "the command ended after %" PRIu64 " frame%s, %" PRIu64
			  " are needed: %" PRIu64 " that are skipped and %" PRIu64
			  " of each of %u pass%s",
			  r->frames_told, r->frames_told == 1 ? "" : "s", perfkit_frames_needed(r),
			  r->frames_skipped, r->frames_of_pass, r->passes,
			  r->passes == 1 ? "" : "es");
	else
		app_error(
			r->app,
			"the command told no frame. OpenGL programs do that when they swap the "
			"buffers of a window, on a Mesa with perfctr's provider; others by the "
			"protocol in perfctr-perfkit(1). For any other command leave out --frames: "
			"it is run once for each pass then, or use -I");
}

static int measure(struct perfkit *p, struct frames *frames)
{
	int result = 0;

	while (!result && wait_for_frame(p, frames)) {
		result = take_frame(p);
		if (!result)
			frames_answer(frames);
	}
	perfctr_perfkit_end_sampling(p->report.kit);
	frames_close(frames);
	if (result < 0)
		return perfkit_give_up(p, result);
	/* nobody tells frames any more: until it ends */
	wait_for_frame(p, frames);
	p->report.exit_status = child_exit_status(&p->child);
	if (result)
		return p->report.exit_status;
	tell_too_few(&p->report);
	return p->report.exit_status ? p->report.exit_status : EXIT_FAILED;
}

static int start(struct perfkit *p)
{
	int error = p->report.frames_skipped ? 0 : perfctr_perfkit_sample(p->report.kit);

	if (!error)
		return perfkit_let_go(p);
	child_abandon(&p->child);
	return app_failed(p->report.app, error);
}

int perfkit_frames(struct perfkit *p)
{
	struct frames frames = { .socket_fd = -1 };
	int status, error;

	/* found out before the command runs, not in its first frame */
	error = perfctr_perfkit_passes(p->report.kit, &p->report.passes);
	if (error)
		return app_failed(p->report.app, error);
	status = frames_open(p->report.app, &frames);
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
