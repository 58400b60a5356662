// SPDX-License-Identifier: MIT
/* perfctr report: show the contents of a capture. */
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <time.h>

#include "commands.h"
#include "lib/capture_file.h"
#include "lib/option.h"
#include "lib/output.h"

enum {
	SVG_BINS = 350, /* one for each two pixels of a line: more are not visible */
	/* numbers in a page, four for each bin of a line, take about seven bytes each */
	HTML_NUMBERS = 1500000 / 4,
	HTML_BINS = 8000,
	HTML_LINES = 2000, /* then each has 187 bins */
};

static const char help[] =
	"usage: perfctr report [OPTION...] [CAPTURE...]\n"
	"\n"
	"Shows captures of perfctr record (default: " CAPTURE_DEFAULT_FILE "; - is stdin; of a\n"
	"directory all in it and below it): totals, rates and metrics, what was not measured,\n"
	"merged or lost.\n"
	"\n"
	"  -e, --event PATTERN  only what matches, e.g. 'metric:*', 'shader*/FRAG*'; may be\n"
	"                     given several times\n"
	"  -A, --per-core     lines of single blocks and cores too (also --per-block)\n"
	"      --from TIME    only captures that begin then or later: 2026-11-30,\n"
	"                     '2026-11-30 12:00', also with Z or +01:00, '2 hours ago',\n"
	"                     yesterday, today, @SECONDS since 1970\n"
	"      --to TIME      only captures that begin before\n"
	"      --svg          a picture: counters and metrics over time\n"
	"      --html         a page to look around in: zoom, search, counters in one plot,\n"
	"                     markers with exact counts between them; needs no network; at\n"
	"                     most 2000 lines (-e chooses), and about 15 MB\n"
	"  -j, --json         one JSON document; of several captures or devices an array\n"
	"  -o, --output OUT   write there instead of to stdout\n"
	"\n"
	"A count is the exact sum of all samples. Rates are per second; min and max are of\n"
	"single samples. In pictures of long captures each point stands for several samples:\n"
	"the line is their mean, the area behind it reaches from the smallest to the largest.\n"
	"\n"
	"Exit: 0 fine, also for a file that was cut off; 1 error, or part of the file could\n"
	"not be read; 2 usage.\n";

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML };

struct report_options {
	struct capture_list captures;
	const char *output;
	enum format format;
	bool per_block;
	struct option_words patterns;
};

static int parse_options(const struct app *app, int argc, char **argv, struct report_options *o)
{
	bool json = false, svg = false, html = false;
	const struct option_spec options[] = {
		OPTION('e', "event", WORDS, &o->patterns),
		OPTION_PER_BLOCK(&o->per_block),
		OPTION(0, "svg", FLAG, &svg),
		OPTION(0, "html", FLAG, &html),
		OPTION('j', "json", FLAG, &json),
		OPTION('o', "output", TEXT, &o->output),
		CAPTURE_OPTIONS_TIMES(&o->captures.times),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status;
	if (json + svg + html > 1)
		return app_usage(app, "--json, --svg and --html exclude each other");
	o->format = json ? FORMAT_JSON : svg ? FORMAT_SVG : html ? FORMAT_HTML : FORMAT_TEXT;
	status = capture_list_add(app, argv + optind, argc - optind, &o->captures);
	if (!status && o->captures.count > 1 && (svg || html))
		return app_usage(app, "--svg and --html show one capture, these are %zu",
				 o->captures.count);
	return status;
}

/* Read the samples of all sessions. Return: 0 or an exit status. */
static int fill(const struct report_options *o, struct report *r, struct timeline *timelines)
{
	const bool is_picture = o->format == FORMAT_SVG || o->format == FORMAT_HTML;
	const bool is_page = o->format == FORMAT_HTML;
	const struct timeline_limits limits = {
		.bins = is_page	   ? HTML_BINS :
			is_picture ? SVG_BINS :
				     1,
		.numbers = is_page ? HTML_NUMBERS / r->capture->count : 0,
		.lines = is_page ? HTML_LINES / r->capture->count : 0,
		.per_block = r->per_block,
		.patterns = &o->patterns,
	};
	bool any = false;
	int status = 0;

	r->is_exact = true;
	for (size_t n = 0; !status && n < r->capture->count; n++) {
		struct timeline *t = &timelines[n];

		status = timeline_fill(r->app, &r->capture->files[n], &limits, t);
		any |= !status && (!t->values.count || t->line_count);
		if (!status && is_picture)
			timeline_use_shares(t);
		r->is_exact &= t->is_exact;
		if (!perfctr_totals_span(r->capture->files[n].totals)->samples)
			continue;
		if (!r->end_ns || t->start_ns < r->start_ns)
			r->start_ns = t->start_ns;
		r->end_ns = t->end_ns > r->end_ns ? t->end_ns : r->end_ns;
	}
	if (!status && !any && !r->per_block) {
		/* the words may name single blocks */
		for (size_t n = 0; n < r->capture->count; n++)
			timeline_free(&timelines[n]);
		r->per_block = true;
		return fill(o, r, timelines);
	}
	if (!status && !any)
		return app_usage(r->app, "nothing in the capture matches '%s'",
				 o->patterns.words[0]);
	return status;
}

/* A picture or page has all sessions; else one follows the other. */
static int write_report(const struct report_options *o, struct report *r)
{
	static void (*const formats[])(const struct report *report) = {
		[FORMAT_TEXT] = report_text,
		[FORMAT_JSON] = report_json,
		[FORMAT_SVG] = report_svg,
		[FORMAT_HTML] = report_html,
	};
	const bool is_whole = o->format == FORMAT_SVG || o->format == FORMAT_HTML;
	size_t lines = 0, written = 0;

	for (size_t n = 0; n < r->capture->count; n++)
		lines += r->timelines[n].line_count;
	r->plots = calloc(2 * lines + 1, sizeof(*r->plots));
	if (!r->plots)
		return app_failed(r->app, -ENOMEM);
	for (size_t n = 0; n < r->capture->count; n++)
		report_order(&r->timelines[n], r->plots, &r->plot_count);
	for (size_t n = 0; n < (is_whole ? 1 : r->capture->count); n++) {
		r->file = &r->capture->files[n];
		r->timeline = &r->timelines[n];
		/* one that has nothing of what was asked for */
		if (!is_whole && o->patterns.count && !r->timeline->line_count &&
		    r->capture->count > 1)
			continue;
		if (written++)
			fputs(o->format == FORMAT_JSON ? "," : "\n", r->out);
		formats[o->format](r);
	}
	free(r->plots);
	return 0;
}

static int show(struct app *app, const struct report_options *o, const struct capture *capture,
		FILE *out)
{
	struct timeline *timelines = calloc(capture->count, sizeof(*timelines));
	struct report report = {
		.app = app,
		.capture = capture,
		.timelines = timelines,
		.out = out,
		/* a page can fold lines of blocks */
		.per_block = o->per_block || o->format == FORMAT_HTML,
	};
	int status = timelines ? fill(o, &report, timelines) : app_failed(app, -ENOMEM);

	if (!status)
		status = write_report(o, &report);
	for (size_t n = 0; timelines && n < capture->count; n++)
		timeline_free(&timelines[n]);
	free(timelines);
	return status;
}

/* Show the captures one after the other. @damage: set if part of one could not be read. */
static int show_all(struct app *app, struct report_options *o, FILE *out, int *damage)
{
	const bool is_json = o->format == FORMAT_JSON;
	bool is_array = is_json && o->captures.count > 1;
	struct capture capture;
	size_t shown = 0;
	int status = 0;

	for (size_t n = 0; !status && n < o->captures.count; n++) {
		status = capture_list_open(app, &o->captures, n, &capture, damage);
		if (status == CAPTURE_LEFT_OUT) {
			status = 0;
		} else if (!status) {
			is_array |= is_json && capture.count > 1;
			fputs(is_array ? (shown ? "," : "[") : shown ? "\n" : "", out);
			shown++;
			if (o->captures.count > 1 && !is_array)
				fprintf(out, " file       %s\n", capture.files->path);
			status = show(app, o, &capture, out);
			*damage |= capture_exit_status(&capture);
			capture_close(&capture);
		}
	}
	fputs(is_array && shown ? "]\n" : "", out);
	return status;
}

int report_run(struct app *app, int argc, char **argv)
{
	struct report_options options = { 0 };
	struct output output;
	int status = parse_options(app, argc, argv, &options);
	int damage = options.captures.has_left_out ? EXIT_FAILED : 0;

	if (!status)
		status = output_open(app, options.output, &output);
	if (!status) {
		status = show_all(app, &options, output.stream, &damage);
		status = output_close(app, &output, status);
	}
	capture_list_free(&options.captures);
	option_words_free(&options.patterns);
	return status < 0 ? EXIT_FINE : status ? status : damage;
}
