// SPDX-License-Identifier: MIT
/* perfctr report: show the contents of a capture. */
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <time.h>

#include "commands.h"
#include "lib/option.h"
#include "lib/output.h"

enum {
	SVG_BINS = 350, /* one for each two pixels of a line: more are not visible */
	/* numbers in a page: each takes about seven bytes */
	HTML_NUMBERS = 1500000,
	HTML_LEAST_BINS = 400,
	HTML_MOST_BINS = 8000,
};

static const char help[] =
	"usage: perfctr report [OPTION...] [FILE]\n"
	"\n"
	"Shows a capture of perfctr record (default: " CAPTURE_DEFAULT_FILE
	"; - is stdin): totals,\n"
	"rates and metrics, what was not measured, merged or lost.\n"
	"\n"
	"  -e, --event PATTERN  only what matches, e.g. 'metric:*', 'shader*/FRAG*'; may be\n"
	"                     given several times\n"
	"  -A, --per-core     lines of single blocks and cores too (also --per-block)\n"
	"      --svg          a picture: counters and metrics over time\n"
	"      --html         a page to look around in: zoom, search, counters in one plot,\n"
	"                     markers with exact counts between them; needs no network\n"
	"  -j, --json         one JSON document\n"
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
	const char *path;
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
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status;
	if (json + svg + html > 1)
		return app_usage(app, "--json, --svg and --html exclude each other");
	o->format = json ? FORMAT_JSON : svg ? FORMAT_SVG : html ? FORMAT_HTML : FORMAT_TEXT;
	if (argc - optind > 1)
		return app_usage(app, "one FILE at a time; perfctr diff compares two");
	o->path = optind < argc ? argv[optind] : CAPTURE_DEFAULT_FILE;
	return 0;
}

static size_t bins_of(const struct report_options *o, struct capture_file *file)
{
	size_t lines = 0, bins;

	if (o->format == FORMAT_SVG)
		return SVG_BINS;
	if (o->format != FORMAT_HTML)
		return 1;
	for (size_t n = 0; n < perfctr_totals_block_count(file->totals); n++)
		lines += 2 * perfctr_totals_counter_count(perfctr_totals_block(file->totals, n));
	bins = HTML_NUMBERS / (4 * (lines + 1));
	bins = bins < HTML_LEAST_BINS ? HTML_LEAST_BINS : bins;
	return bins > HTML_MOST_BINS ? HTML_MOST_BINS : bins;
}

/* Keep the requested lines. Return: 0 or an exit status. */
static int select_lines(const struct app *app, const struct report_options *o, struct timeline *t)
{
	size_t kept = 0;

	for (size_t n = 0; n < t->line_count; n++)
		if (option_words_match(&o->patterns, t->lines[n].row->event))
			t->lines[kept++] = t->lines[n];
	if (t->line_count && !kept)
		return app_usage(app, "nothing in the capture matches '%s'", o->patterns.words[0]);
	t->line_count = kept;
	return 0;
}

static int show(struct app *app, const struct report_options *o, struct capture_file *file,
		FILE *out)
{
	static void (*const formats[])(const struct report *report) = {
		[FORMAT_TEXT] = report_text,
		[FORMAT_JSON] = report_json,
		[FORMAT_SVG] = report_svg,
		[FORMAT_HTML] = report_html,
	};
	struct timeline timeline = { 0 };
	struct report report = {
		.app = app,
		.file = file,
		.timeline = &timeline,
		.out = out,
		/* a page can fold lines of blocks */
		.per_block = o->per_block || o->format == FORMAT_HTML,
	};
	int status = timeline_fill(app, file, bins_of(o, file), report.per_block, &timeline);

	if (!status)
		status = select_lines(app, o, &timeline);
	if (!status && (o->format == FORMAT_SVG || o->format == FORMAT_HTML))
		timeline_use_shares(&timeline);
	report.plots = status ? NULL : calloc(2 * timeline.line_count + 1, sizeof(*report.plots));
	if (report.plots) {
		report_order(&timeline, report.plots, &report.plot_count);
		formats[o->format](&report);
	} else if (!status) {
		app_error(app, "%s", strerror(ENOMEM));
		status = EXIT_FAILED;
	}
	free(report.plots);
	timeline_free(&timeline);
	return status;
}

static int write_report(struct app *app, const struct report_options *o, struct capture_file *file)
{
	struct output output;
	int status = output_open(app, o->output, &output);

	if (status)
		return status;
	return output_close(app, &output, show(app, o, file, output.stream));
}

int report_run(struct app *app, int argc, char **argv)
{
	struct report_options options = { 0 };
	struct capture_file file;
	int status = parse_options(app, argc, argv, &options);

	if (!status)
		status = capture_file_open(app, options.path, &file);
	if (status) {
		option_words_free(&options.patterns);
		return status < 0 ? EXIT_FINE : status;
	}
	capture_file_warn(app, &file);
	status = write_report(app, &options, &file);
	if (!status)
		status = capture_file_exit_status(&file);
	capture_file_close(&file);
	option_words_free(&options.patterns);
	return status;
}
