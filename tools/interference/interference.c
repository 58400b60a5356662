// SPDX-License-Identifier: MIT
/* perfctr interference: a task alone, then beside each aggressor at several levels. */
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "contention.h"
#include "lib/option.h"
#include "lib/output.h"
#include "validate/report.h"

/* On a terminal. @a: NULL: the task alone; @run: from 0 on, -1 clears the line. */
static void show_progress(const struct contention *c, const struct aggressor *a, uint64_t level,
			  int64_t run)
{
	char text[256] = "";

	if (!isatty(STDERR_FILENO))
		return;
	if (run >= 0 && a)
		snprintf(text, sizeof(text), "%s, level %" PRIu64 ": run %" PRId64 " of %" PRIu64,
			 a->name, level, run + 1, c->runs);
	else if (run >= 0)
		snprintf(text, sizeof(text), "alone: run %" PRId64 " of %" PRIu64, run + 1,
			 3 * c->runs);
	/* a line that wraps could not be erased */
	fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr, (int)sizeof(text)) - 1, text);
}

/*
 * The quickest run: what else happens on the machine only adds time. The aggressor begins anew for
 * each. @a: NULL: alone.
 */
static int measure_level(struct contention *c, const struct aggressor *a, uint64_t runs,
			 struct load *p)
{
	double low[MAX_CHANNELS] = { 0 }, high[MAX_CHANNELS] = { 0 };
	uint64_t max_time_ns = 0, i;

	for (i = 0; i < runs; i++) {
		struct load run = { .level = p->level, .delay_ns = DELAY_UNKNOWN };
		int ret;

		show_progress(c, a, p->level, (int64_t)i);
		ret = c->machine->measure(c, a, i, &run);
		if (ret == CONTENTION_NO_RUN)
			break;
		if (ret)
			return -1;
		if (run.time_ns > max_time_ns)
			max_time_ns = run.time_ns;
		if (!i || run.time_ns < p->time_ns)
			*p = run;
		for (size_t n = 0; n < c->channel_count; n++) {
			const double shown = contention_ratio(run.shown[n]);

			low[n] = i && low[n] < shown ? low[n] : shown;
			high[n] = i && high[n] > shown ? high[n] : shown;
		}
	}
	p->max_time_ns = max_time_ns;
	p->runs = i;
	memcpy(p->min_shown, low, sizeof(low));
	memcpy(p->max_shown, high, sizeof(high));
	return 0;
}

static int measure_aggressor(struct contention *c, struct aggressor *a, const struct load *alone)
{
	a->points[0] = *alone;
	for (size_t n = 1; n < a->count; n++) {
		struct load *p = &a->points[n];

		if (measure_level(c, a, c->runs, p))
			return -1;
		if (contention_slowdown(a, p) < 0.95)
			a->quicker = p;
	}
	return 0;
}

/* After the last run: what the machine knows of itself has the time of the first one, begun. */
static void configure(struct contention *c)
{
	char time[32];

	report_time(time, sizeof(time));
	measured_configure(&c->arena, &c->measured, "date", time);
	measured_configure(&c->arena, &c->measured, "runs",
			   arena_printf(&c->arena, "%" PRIu64, c->runs));
}

static int measure_all(struct contention *c)
{
	struct load alone = { 0 };
	/* all others are compared with it */
	int ret = measure_level(c, NULL, 3 * c->runs, &alone);

	for (size_t i = 0; i < c->aggressor_count && !ret; i++)
		ret = measure_aggressor(c, &c->aggressors[i], &alone);
	if (!ret)
		contention_analyse(c);
	return ret;
}

static int write_to(const struct contention *c, const char *path,
		    void (*write)(const struct contention *c, FILE *out))
{
	struct output output;
	int status = output_open(c->app, path, &output);

	if (status)
		return status;
	write(c, output.stream);
	return output_close(c->app, &output, 0);
}

static const char help[] =
	"usage: perfctr interference [OPTION...] [FILE]\n"
	"\n"
	"Measures contention: a task alone, then beside each aggressor at several levels;\n"
	"and which channel explains the task's time. FILE is JSON, which the manual page\n"
	"describes. Without it: programs that read memory on this machine, which takes\n"
	"minutes; or what a model of a machine has, where one is.\n"
	"\n"
	"      --readings CSV   use what was measured elsewhere; nothing runs here\n"
	"  -d, --device DEVICE  of a model: node (renderD128), driver or name\n"
	"  -j, --json           as JSON\n"
	"  -o, --output FILE    write the report there instead of to stdout\n"
	"      --html FILE      a page with plots of time and latency against load besides\n"
	"\n"
	"Aggressors end with the command, however it ends.\n"
	"Exit: 0 fine, 1 error, or at a level the task is quicker than alone, 2 usage.\n";

static int run_interference(struct app *app, int argc, char **argv)
{
	struct contention c = { .app = app };
	const char *device = NULL, *output = NULL, *html = NULL, *readings = NULL;
	bool json = false;
	const struct option_spec options[] = {
		OPTION('d', "device", TEXT, &device),	OPTION('j', "json", FLAG, &json),
		OPTION('o', "output", TEXT, &output),	OPTION(0, "html", TEXT, &html),
		OPTION(0, "readings", TEXT, &readings), OPTIONS_END,
	};
	int ret, status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status < 0 ? EXIT_FINE : status;
	if (argc - optind > 1)
		return app_usage(app, "give one FILE");
	if (readings && !argv[optind])
		return app_usage(app, "--readings needs FILE, which says what was measured");
	ret = contention_read(&c, argv[optind], readings ? &contention_readings : NULL);
	status = EXIT_USAGE;
	if (!ret) {
		status = EXIT_FAILED;
		ret = c.machine->open(&c, readings ? readings : device);
		if (!ret)
			ret = measure_all(&c);
		if (!ret && !readings)
			configure(&c);
		show_progress(&c, NULL, 0, -1);
		if (c.machine->close(&c))
			ret = -1;
	}
	if (ret)
		app_error(app, "%s", c.failure.text);
	else
		status = write_to(&c, output, json ? contention_json : contention_text);
	for (size_t i = 0; i < c.aggressor_count && !ret && !status; i++) {
		const struct aggressor *a = &c.aggressors[i];

		if (!a->quicker)
			continue;
		app_error(app,
			  "%s, level %" PRIu64 ": the task is quicker than alone, which is no "
			  "baseline: measure on a quieter machine, or a longer task",
			  a->name, a->quicker->level);
	}
	if (!ret && !status && html)
		status = write_to(&c, html, contention_html);
	arena_free(&c.arena);
	return !status && c.baseless ? EXIT_FAILED : status;
}

int main(int argc, char **argv)
{
	struct app app = { .name = "interference" };

	return app_main(&app, run_interference, argc, argv);
}
