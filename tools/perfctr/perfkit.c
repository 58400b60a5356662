// SPDX-License-Identifier: MIT
/* perfctr perfkit: more counters than the hardware has, of a command that does the same each time. */
#include "perfkit_report.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "common/number.h"
#include "output.h"
#include "signals.h"

enum { MAX_REPEAT = 10000, OPT_VIA = 256, OPT_PASSES };

static const char help[] =
	"usage: perfctr perfkit [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Counts more than the hardware counts at once: runs COMMAND once for each pass, or\n"
	"once with another pass in each frame. Shows mean, min and max of each counter.\n"
	"\n"
	"  -e, --event EVENTS     counters, metrics, units of the GPU: FRAGMENTS,L2_HITS,\n"
	"                         gpu_utilization,'SHD SOL','* Bottleneck',\n"
	"                         ucf0/mem_bytes_rd,src_loc_cpu=1/; default: all of the GPU\n"
	"  -r, --repeat N         do all passes N times; mean, min and max are of them\n"
	"  -I, --frame TIME       run COMMAND once; each TIME (a number: ms) the next pass counts;\n"
	"                         mean, min and max are of the slices of time that counted it\n"
	"      --passes           tell the number of passes and what is in each, run nothing\n"
	"  -j, --json             one JSON document, with exact fractions\n"
	"  -o, --output FILE      write there\n"
	"  -d, --device DEVICE    node (renderD128), driver or name\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"\n"
	"A table goes to stderr; JSON goes to stdout, and what the command prints then goes\n"
	"to stderr. Passes of different runs are comparable only if COMMAND does the same work\n"
	"each time: a job file of vsoc-job, a trace that is replayed, a fixed number of frames.\n"
	"Exit: the command's own status (128 + signal), 1 error, 2 usage, 3 not permitted,\n"
	"4 no device, 126 and 127 the command cannot be run.\n";

static const struct option long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "repeat", required_argument, NULL, 'r' },
	{ "frame", required_argument, NULL, 'I' },
	{ "interval", required_argument, NULL, 'I' },
	{ "passes", no_argument, NULL, OPT_PASSES },
	{ "json", no_argument, NULL, 'j' },
	{ "output", required_argument, NULL, 'o' },
	{ "device", required_argument, NULL, 'd' },
	{ "via", required_argument, NULL, OPT_VIA },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct perfkit_options {
	const char **events;
	size_t event_count;
	uint64_t repeat, frame_ns;
	bool passes_only, json;
	const char *output, *device, *via;
	char **command;
};

struct perfkit {
	struct perfkit_options options;
	struct perfkit_report report;
	struct child child;
	struct signals signals;
	/* signal that ended it, 0: none */
	int ended_by;
};

static int take_option(const struct app *app, struct perfkit_options *o, int c)
{
	switch (c) {
	case 'e':
		o->events[o->event_count++] = optarg;
		return 0;
	case 'r':
		if (!number_parse_count(optarg, &o->repeat) && o->repeat >= 1 &&
		    o->repeat <= MAX_REPEAT)
			return 0;
		return app_usage(app, "-r '%s': give a number from 1 to %d", optarg, MAX_REPEAT);
	case 'I':
		if (!number_parse_time(optarg, NS_PER_MS, &o->frame_ns) && o->frame_ns)
			return 0;
		return app_usage(app, "-I '%s': give a time such as 100 (ms), 500us or 2s", optarg);
	case OPT_PASSES:
		o->passes_only = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'o':
		o->output = optarg;
		return 0;
	case 'd':
		o->device = optarg;
		return 0;
	case OPT_VIA:
		o->via = optarg;
		return 0;
	default:
		return app_bad_option(app);
	}
}

/* Return: 0; an exit status; -1 help was printed. */
static int parse_options(const struct app *app, int argc, char **argv, struct perfkit_options *o)
{
	int c, status;

	/* as many events as there are words */
	o->events = calloc((size_t)argc + 1, sizeof(*o->events));
	if (!o->events) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	optind = 0;
	while ((c = getopt_long(argc, argv, "+e:r:I:jo:d:h", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, app->out);
			return -1;
		}
		status = take_option(app, o, c);
		if (status)
			return status;
	}
	if (optind < argc)
		o->command = argv + optind;
	if (!o->command && !o->passes_only)
		return app_usage(app, "give a command to run, or --passes");
	if (o->repeat && o->frame_ns)
		return app_usage(app, "-r repeats experiments and -I makes none: give one of them");
	if (!o->repeat)
		o->repeat = 1;
	return 0;
}

/* --- the command ------------------------------------------------------------------- */

/*
 * Wait for the command, at most until an instant on CLOCK_MONOTONIC_RAW; 0: no limit.
 * Return: whether it has ended.
 */
static bool wait_for_command(struct perfkit *p, uint64_t until_ns)
{
	while (!child_poll(&p->child)) {
		struct pollfd fd = { .fd = p->signals.fd, .events = POLLIN };
		struct signalfd_siginfo info;
		uint64_t now_ns = perfctr_time_raw_ns();
		int timeout_ms = -1;

		if (until_ns && now_ns >= until_ns)
			return false;
		if (until_ns)
			timeout_ms = (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
		poll(&fd, 1, timeout_ms);
		while (signals_next(&p->signals, &info)) {
			if (info.ssi_signo == SIGCHLD)
				continue;
			p->ended_by = (int)info.ssi_signo;
			/* the terminal tells the command by itself, kill(1) does not */
			if (info.ssi_code <= 0)
				kill(p->child.pid, p->ended_by);
		}
	}
	return true;
}

static int prepare_command(struct perfkit *p)
{
	struct app *app = p->report.app;
	bool data_on_stdout = p->options.json && !p->options.output;
	int error =
		child_prepare(&p->child, p->options.command, data_on_stdout ? STDERR_FILENO : -1);

	if (!error)
		return 0;
	app_error(app, "%s: %s", p->options.command[0], strerror(-error));
	return EXIT_CANNOT_RUN;
}

static int let_go(struct perfkit *p)
{
	int error = child_go(&p->child);

	if (!error)
		return 0;
	app_error(p->report.app, "%s: %s", p->options.command[0], strerror(-error));
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static void add_values(struct perfkit *p, bool updated_only)
{
	struct perfctr_perfkit *kit = p->report.kit;

	for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
		struct perfctr_perfkit_value value;

		if (perfctr_perfkit_value(kit, n, 0, &value))
			continue;
		if (!updated_only || value.flags & PERFCTR_PERFKIT_UPDATED)
			perfkit_stat_add(&p->report.stats[n], &value);
	}
}

/*
 * One pass is one run of the command. If the command fails, the pass is left open: what it counted
 * is of half the work and counts as not measured. Return: 0 or an exit status.
 */
static int run_pass(struct perfkit *p, unsigned int pass)
{
	struct app *app = p->report.app;
	int status = prepare_command(p), error;

	if (status)
		return status;
	error = perfctr_perfkit_begin_pass(p->report.kit, pass);
	if (error) {
		child_abandon(&p->child);
		return app_failed(app, error);
	}
	status = let_go(p);
	if (!status)
		wait_for_command(p, 0);
	if (status)
		return status;
	p->report.exit_status = child_exit_status(&p->child);
	if (!p->report.exit_status) {
		error = perfctr_perfkit_end_pass(p->report.kit);
		return error ? app_failed(app, error) : 0;
	}
	app_error(app,
		  "the command ended with status %d in pass %u of %u: without the other passes "
		  "nothing is known of their counters",
		  p->report.exit_status, pass + 1, p->report.passes);
	return p->report.exit_status;
}

static int run_experiment(struct perfkit *p)
{
	struct app *app = p->report.app;
	unsigned int pass;
	int status = 0, error = perfctr_perfkit_begin_experiment(p->report.kit, &p->report.passes);

	if (error)
		return app_failed(app, error);
	for (pass = 0; !status && !p->ended_by && pass < p->report.passes; pass++)
		status = run_pass(p, pass);
	error = perfctr_perfkit_end_experiment(p->report.kit);
	if (!error)
		p->report.repetitions++;
	if (!error || !p->report.repetitions)
		add_values(p, false);
	return status;
}

static int run_frames(struct perfkit *p)
{
	struct app *app = p->report.app;
	struct perfctr_perfkit *kit = p->report.kit;
	uint64_t until_ns = perfctr_time_raw_ns();
	int status, error;
	bool ended = false;

	/* found out before the command runs, not in its first frame */
	error = perfctr_perfkit_passes(kit, &p->report.passes);
	if (error)
		return app_failed(app, error);
	status = prepare_command(p);
	if (status)
		return status;
	error = perfctr_perfkit_sample(kit);
	if (error) {
		child_abandon(&p->child);
		return app_failed(app, error);
	}
	status = let_go(p);
	while (!status && !ended && error >= 0) {
		until_ns = perfctr_time_raw_ns() + p->options.frame_ns;
		ended = wait_for_command(p, until_ns);
		/* a frame that was cut short compares with no other one */
		if (ended)
			break;
		error = perfctr_perfkit_sample(kit);
		if (error < 0)
			break;
		add_values(p, true);
		p->report.frames++;
	}
	perfctr_perfkit_end_sampling(kit);
	if (status)
		return status;
	if (error < 0) {
		kill(p->child.pid, SIGTERM);
		child_wait(&p->child);
		return app_failed(app, error);
	}
	p->report.exit_status = child_exit_status(&p->child);
	return p->report.exit_status;
}

/* What would be done, and what each pass counts. */
static int tell_passes(struct perfkit *p)
{
	struct perfctr_perfkit *kit = p->report.kit;
	int error = perfctr_perfkit_passes(kit, &p->report.passes);

	if (error)
		return app_failed(p->report.app, error);
	if (p->options.json) {
		perfkit_print_json(&p->report);
		return 0;
	}
	fprintf(p->report.out, "%zu counters in %u pass%s\n", perfctr_perfkit_count(kit),
		p->report.passes, p->report.passes == 1 ? "" : "es");
	for (unsigned int pass = 0; pass < p->report.passes; pass++) {
		fprintf(p->report.out, "pass %u:\n", pass + 1);
		for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
			const struct perfctr_perfkit_counter *c = perfctr_perfkit_counter(kit, n);

			if (c->first_pass == pass)
				fprintf(p->report.out, "  %-36s %s%s\n", c->name, c->text,
					c->passes > 1 ? " (and in later passes)" : "");
		}
	}
	return 0;
}

/* --- set-up ------------------------------------------------------------------------- */

static int add_counters(struct perfkit *p)
{
	struct app *app = p->report.app;
	int error = perfctr_perfkit_new(p->report.device, &p->report.kit);

	for (size_t n = 0; error >= 0 && n < p->options.event_count; n++)
		error = perfctr_perfkit_add(p->report.kit, p->options.events[n]);
	if (error >= 0 && !p->options.event_count)
		error = perfctr_perfkit_add_all(p->report.kit);
	if (error == -ENOENT && !p->options.event_count)
		error = perfctr_perfkit_add(p->report.kit, "ucf/*");
	if (error == -ENOENT) {
		app_failed(app, error);
		return EXIT_USAGE;
	}
	if (error < 0)
		return app_failed(app, error);
	p->report.stats = calloc(perfctr_perfkit_count(p->report.kit), sizeof(*p->report.stats));
	if (!p->report.stats) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	for (size_t n = 0; n < perfctr_perfkit_count(p->report.kit); n++)
		perfkit_stat_init(&p->report.stats[n]);
	return 0;
}

static void free_counters(struct perfkit *p)
{
	for (size_t n = 0; p->report.stats && n < perfctr_perfkit_count(p->report.kit); n++)
		perfkit_stat_clear(&p->report.stats[n]);
	free(p->report.stats);
	perfctr_perfkit_unref(p->report.kit);
}

static int run_all(struct perfkit *p)
{
	struct perfkit_report *r = &p->report;
	int status = 0;

	if (p->options.passes_only)
		return tell_passes(p);
	if (p->options.frame_ns)
		status = run_frames(p);
	for (uint64_t n = 0; !p->options.frame_ns && n < p->options.repeat; n++) {
		if (status || p->ended_by)
			break;
		status = run_experiment(p);
	}
	/* without a completed pass there is nothing to show */
	if (!r->repetitions && !r->frames && status && status != r->exit_status)
		return status;
	if (p->options.json)
		perfkit_print_json(r);
	else
		perfkit_print_text(r);
	if (p->ended_by && !status)
		status = EXIT_SIGNAL_BASE + p->ended_by;
	return status;
}

int perfkit_run(struct app *app, int argc, char **argv)
{
	struct perfkit p = { .report.app = app, .signals.fd = -1 };
	const int more_signals[] = { SIGCHLD, 0 };
	int status = parse_options(app, argc, argv, &p.options);

	if (status) {
		free(p.options.events);
		return status < 0 ? EXIT_FINE : status;
	}
	app->via = p.options.via;
	p.report.frame_ns = p.options.frame_ns;
	p.report.command = p.options.command;

	status = app_open_device(app, p.options.device, &p.report.device);
	if (!status)
		status = add_counters(&p);
	if (!status)
		status = output_open_live(app, p.options.output,
					  p.options.json || p.options.passes_only ? app->out :
										    app->err,
					  &p.report.out);
	if (!status)
		status = signals_catch(app, &p.signals, more_signals);
	if (!status)
		status = run_all(&p);
	status = output_close_live(app, p.options.output, p.report.out, status);

	signals_release(&p.signals);
	free_counters(&p);
	free(p.options.events);
	perfctr_device_unref(p.report.device);
	return status;
}
