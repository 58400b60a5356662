// SPDX-License-Identifier: MIT
/* perfctr perfkit: more counters than the hardware has at once, of a repeatable workload. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "commands.h"
#include "lib/device.h"
#include "common/number.h"
#include "lib/option.h"
#include "lib/output.h"
#include "runs.h"

enum { MAX_REPEAT = 10000, MAX_FRAMES = 1000000 };

static const char help[] =
	"usage: perfctr perfkit [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Counts more than the hardware counts at once: runs COMMAND once for each pass, or\n"
	"once with another pass in each of its frames or slices of time. Shows mean, min and\n"
	"max of each counter.\n"
	"\n"
	"  -e, --event EVENTS     counters, metrics, units of the GPU: FRAGMENTS,L2_HITS,\n"
	"                         gpu_utilization,'SHD SOL','* Bottleneck',\n"
	"                         ucf0/mem_bytes_rd,src_loc_cpu=1/; default: all of the GPU\n"
	"  -r, --repeat N         do all passes N times; mean, min and max are of them\n"
	"      --frames N         run COMMAND once; each frame that it draws "
	"counts the next pass,\n"
	"                         until each pass has N frames; mean, min and max are of those.\n"
	"                         OpenGL programs on a Mesa with perfctr's provider do\n"
	"      --skip M           with --frames: leave out the first M frames\n"
	"  -I, --interval TIME    run COMMAND once; each TIME (a number: ms) "
	"the next pass counts;\n"
	"                         mean, min and max are of the slices of time that counted it\n"
	"      --passes           print the number of passes and what is in each, run nothing\n"
	"  -j, --json             one JSON document, with exact fractions\n"
	"  -o, --output FILE      write there\n"
	"  -d, --device DEVICE    node (renderD128), driver or name\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"\n"
	"A table goes to stderr; JSON goes to stdout, and what the command prints then goes\n"
	"to stderr. Passes of different runs are comparable only if COMMAND does the same work\n"
	"each time: a trace that is replayed, a fixed number of frames.\n"
	"With --frames, frames of about the same work are enough.\n"
	"The local device (-d local) counts the whole machine while COMMAND runs; for the\n"
	"counts of COMMAND itself use perfctr stat.\n"
	"Exit: the command's own status (128 + signal), 1 error or too few frames, 2 usage,\n"
	"3 not permitted, 4 no device, 126 and 127 the command cannot be run.\n";

static int parse_options(struct app *app, int argc, char **argv, struct perfkit_options *o)
{
	const struct option_spec options[] = {
		OPTION('e', "event", WORDS, &o->events),
		OPTION('r', "repeat", NUMBER, &o->repeat, .min = 1, .max = MAX_REPEAT),
		OPTION(0, "frames", NUMBER, &o->frames, .min = 1, .max = MAX_FRAMES),
		OPTION(0, "skip", NUMBER, &o->skip, .min = 0, .max = MAX_FRAMES,
		       .given = &o->has_skip),
		OPTION('I', "interval", TIME, &o->interval_ns),
		OPTION(0, "passes", FLAG, &o->passes_only),
		OPTION('j', "json", FLAG, &o->json),
		OPTION('o', "output", TEXT, &o->output),
		OPTION('d', "device", TEXT, &o->device),
		OPTION(0, "via", TEXT, &app->via),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_COMMAND);

	if (status)
		return status;
	if (optind < argc)
		o->command = argv + optind;
	if (!o->command && !o->passes_only)
		return app_usage(app, "give a command to run, or --passes");
	if (o->command && o->passes_only)
		return app_usage(
			app,
			"--passes runs nothing: leave out '%s'; options stand in front of a "
			"command",
			o->command[0]);
	if (!!o->repeat + !!o->interval_ns + !!o->frames > 1)
		return app_usage(app,
				 "-r repeats experiments, -I makes slices of one run and --frames "
				 "frames of one run: give one of them");
	if (o->has_skip && !o->frames)
		return app_usage(app, "--skip leaves out frames: give --frames, too");
	if (!o->repeat)
		o->repeat = 1;
	return 0;
}

/* Print the plan: what each pass counts. */
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
	fprintf(p->report.out, "%zu counter%s in %u pass%s\n", perfctr_perfkit_count(kit),
		perfctr_perfkit_count(kit) == 1 ? "" : "s", p->report.passes,
		p->report.passes == 1 ? "" : "es");
	if (p->report.mode == PERFKIT_FRAMES)
		fprintf(p->report.out, "%" PRIu64 " frame%s needed\n",
			perfkit_frames_needed(&p->report),
			perfkit_frames_needed(&p->report) == 1 ? " is" : "s are");
	for (unsigned int pass = 0; pass < p->report.passes; pass++) {
		fprintf(p->report.out, "pass %u:\n", pass + 1);
		for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
			const struct perfctr_perfkit_counter *c = perfctr_perfkit_counter(kit, n);

			if (c->first_pass == pass)
				fprintf(p->report.out, "  %-*s %s%s\n",
					perfkit_name_width(&p->report), c->name, c->text,
					c->passes > 1 ? " (and in later passes)" : "");
		}
	}
	return 0;
}

static int add_counters(struct perfkit *p)
{
	struct app *app = p->report.app;
	int error = perfctr_perfkit_new(p->report.device, &p->report.kit);

	for (size_t n = 0; error >= 0 && n < p->options.events.count; n++)
		error = perfctr_perfkit_add(p->report.kit, p->options.events.words[n]);
	if (error >= 0 && !p->options.events.count)
		error = perfctr_perfkit_add_all(p->report.kit);
	if (error == -ENOENT && !p->options.events.count)
		error = perfctr_perfkit_add(p->report.kit, "ucf/*");
	if (error == -ENOENT) {
		if (p->options.events.count)
			app_failed(app, error);
		else
			app_error(app,
				  "%s has no counters of a GPU or fabric: choose events with -e",
				  perfctr_device_info(p->report.device)->name);
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
	perfkit_software_free(&p->report.software);
	perfctr_perfkit_unref(p->report.kit);
}

static int run_all(struct perfkit *p)
{
	struct perfkit_report *r = &p->report;
	int status = 0;

	if (p->options.passes_only)
		return tell_passes(p);
	if (r->mode == PERFKIT_FRAMES)
		status = perfkit_frames(p);
	else if (r->mode == PERFKIT_SLICES)
		status = perfkit_slices(p);
	for (uint64_t n = 0; r->mode == PERFKIT_EXPERIMENTS && n < p->options.repeat; n++) {
		if (status || p->ended_by)
			break;
		status = perfkit_experiment(p);
	}
	if (!p->ran)
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
	struct output output = { 0 };
	struct perfkit p = { .report.app = app, .signals.fd = -1 };
	const int more_signals[] = { SIGCHLD, 0 };
	int status = parse_options(app, argc, argv, &p.options);

	if (status) {
		option_words_free(&p.options.events);
		return status < 0 ? EXIT_FINE : status;
	}
	p.report.mode = PERFKIT_EXPERIMENTS;
	if (p.options.interval_ns)
		p.report.mode = PERFKIT_SLICES;
	if (p.options.frames)
		p.report.mode = PERFKIT_FRAMES;
	p.report.interval_ns = p.options.interval_ns;
	p.report.frames_of_pass = p.options.frames;
	p.report.frames_skipped = p.options.skip;
	p.report.command = p.options.command;
	p.command = (struct command){ p.options.command, .watched_fd = -1 };

	status = device_open(app, p.options.device, false, &p.report.device);
	if (!status)
		device_note_others(app, p.options.device, p.report.device);
	if (!status)
		status = add_counters(&p);
	if (!status)
		status = output_open(app, p.options.output, &output);
	p.report.out = p.options.output || p.options.json || p.options.passes_only ? output.stream :
										     app->err;
	if (!status)
		status = signals_catch(app, &p.signals, more_signals);
	if (!status)
		status = run_all(&p);
	if (output.stream) {
		/* the status of a command that was counted is no failure of ours */
		int closed = output_close(app, &output, p.report.passes ? 0 : status);

		status = closed ? closed : status;
		if (p.report.out == app->err)
			status = output_close_live(app, NULL, app->err, status);
	}

	signals_release(&p.signals);
	free_counters(&p);
	option_words_free(&p.options.events);
	perfctr_device_unref(p.report.device);
	return status;
}
