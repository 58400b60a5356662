// SPDX-License-Identifier: MIT
/* perfctr perfkit: runs of the workload, one for each pass or one in slices of time. */
#include "runs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/number.h"

void perfkit_pass_signals(struct perfkit *p)
{
	int ended_by = command_take_signals(&p->command, &p->signals);

	p->ended_by = ended_by ? ended_by : p->ended_by;
}

/*
 * Wait for the workload, at most until an instant on CLOCK_MONOTONIC_RAW; 0: no limit. Return:
 * whether it has ended.
 */
static bool wait_for_command(struct perfkit *p, uint64_t until_ns)
{
	while (!command_has_ended(&p->command)) {
		struct pollfd fd = { .fd = p->signals.fd, .events = POLLIN };
		uint64_t now_ns = perfctr_time_raw_ns();
		int timeout_ms = -1;

		if (until_ns && now_ns >= until_ns)
			return false;
		if (until_ns)
			timeout_ms = (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
		poll(&fd, 1, timeout_ms);
		perfkit_pass_signals(p);
	}
	return true;
}

int perfkit_prepare_command(struct perfkit *p)
{
	bool data_on_stdout = p->options.json && !p->options.output;

	return command_prepare(p->report.app, &p->command, data_on_stdout ? STDERR_FILENO : -1);
}

int perfkit_let_go(struct perfkit *p)
{
	int status = command_go(p->report.app, &p->command);

	p->ran |= !status;
	return status;
}

static void add_values(struct perfkit *p, bool updated_only)
{
	struct perfctr_perfkit *kit = p->report.kit;

	for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
		struct perfctr_perfkit_value value;

		if (perfctr_perfkit_value(kit, n, 0, &value))
			continue;
		if (!updated_only || value.flags & PERFCTR_PERFKIT_UPDATED)
			perfkit_stat_take(&p->report.stats[n], kit, n, &value);
	}
}

static void tell_failed_pass(const struct perfkit *p, unsigned int pass)
{
	const struct perfkit_report *r = &p->report;
	const char *name = r->exit_status > EXIT_SIGNAL_BASE ?
				   sigabbrev_np(r->exit_status - EXIT_SIGNAL_BASE) :
				   NULL;
	const char *lost = ": without the other passes nothing is known of their counters";
	char status[64];

	if (r->repetitions)
		lost = ": this repetition is in no value";
	else if (r->passes == 1)
		lost = ", the only one: nothing is known of the counters";
	snprintf(status, sizeof(status), "%d%s%s", r->exit_status, name ? " = 128 + SIG" : "",
		 name ? name : "");
	app_error(r->app, "%s with status %s in pass %u of %u%s",
		  p->ended_by ? "interrupted: the command ended" : "the command ended", status,
		  pass + 1, r->passes, lost);
}

/*
 * One pass is one run of the workload. If the workload fails, its pass stays open: the counts of an
 * incomplete run are discarded. Return: 0 or an exit status.
 */
static int run_pass(struct perfkit *p, unsigned int pass)
{
	struct app *app = p->report.app;
	int status = perfkit_prepare_command(p), error;

	if (status)
		return status;
	error = perfctr_perfkit_begin_pass(p->report.kit, pass);
	if (error) {
		command_abandon(&p->command);
		return app_failed(app, error);
	}
	status = perfkit_let_go(p);
	if (status)
		return status;
	wait_for_command(p, 0);
	p->report.exit_status = child_exit_status(&p->command.child);
	if (!p->report.exit_status) {
		error = perfctr_perfkit_end_pass(p->report.kit);
		return error ? app_failed(app, error) : 0;
	}
	tell_failed_pass(p, pass);
	return p->report.exit_status;
}

int perfkit_experiment(struct perfkit *p)
{
	struct app *app = p->report.app;
	int status = 0, error = perfctr_perfkit_begin_experiment(p->report.kit, &p->report.passes);

	if (error)
		return app_failed(app, error);
	for (unsigned int pass = 0; !status && !p->ended_by && pass < p->report.passes; pass++)
		status = run_pass(p, pass);
	error = perfctr_perfkit_end_experiment(p->report.kit);
	if (!error)
		p->report.repetitions++;
	if (!error || !p->report.repetitions)
		add_values(p, false);
	return status;
}

int perfkit_count_no_more(const struct perfkit *p, int error)
{
	const struct app *app = p->report.app;
	int status = app_failed(app, error);

	if (error == -EBUSY)
		app_error(app,
			  "nothing is counted any more, the command goes on; end other sessions "
			  "(perfctr stat, GALLIUM_HUD), or take counters of one pass "
			  "(--passes shows which)");
	else
		app_error(app, "nothing is counted any more, the command goes on");
	return status;
}

int perfkit_slices(struct perfkit *p)
{
	struct app *app = p->report.app;
	struct perfctr_perfkit *kit = p->report.kit;
	uint64_t until_ns = perfctr_time_raw_ns();
	int status, error;
	bool ended = false;
	int failure = 0;

	/* fail before the workload runs, not in its first slice */
	error = perfctr_perfkit_passes(kit, &p->report.passes);
	if (error)
		return app_failed(app, error);
	status = perfkit_prepare_command(p);
	if (status)
		return status;
	error = perfctr_perfkit_sample(kit);
	if (error) {
		command_abandon(&p->command);
		return app_failed(app, error);
	}
	status = perfkit_let_go(p);
	while (!status && !ended && error >= 0) {
		until_ns = perfctr_time_raw_ns() + p->options.interval_ns;
		ended = wait_for_command(p, until_ns);
		/* a slice that was cut short is not comparable */
		if (ended)
			break;
		error = perfctr_perfkit_sample(kit);
		if (error < 0)
			break;
		add_values(p, true);
		p->report.slices++;
	}
	if (!status && error < 0)
		failure = perfkit_count_no_more(p, error);
	perfctr_perfkit_end_sampling(kit);
	if (status)
		return status;
	wait_for_command(p, 0);
	p->report.exit_status = child_exit_status(&p->command.child);
	if (!failure && !p->report.slices && !p->ended_by) {
		app_error(
			app,
			"the command ended in its first slice: give a time shorter than -I %.3g ms",
			(double)p->options.interval_ns / (double)NS_PER_MS);
		failure = EXIT_FAILED;
	}
	return p->report.exit_status ? p->report.exit_status : failure;
}
