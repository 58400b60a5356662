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
	/* numbers in a page: each takes about seven bytes */
	HTML_NUMBERS = 1500000,
	HTML_LEAST_BINS = 400,
	HTML_MOST_BINS = 8000,
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
	"      --svg          a picture: counters and metrics over time\n"
	"      --html         a page to look around in: zoom, search, counters in one plot,\n"
	"                     markers with exact counts between them; needs no network\n"
	"  -j, --json         one JSON document; of several captures an array of them\n"
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
		if (row_matches(t->lines[n].row, &o->patterns))
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

/* Show the captures one after the other. @damage: set if part of one could not be read. */
static int show_all(struct app *app, const struct report_options *o, FILE *out, int *damage)
{
	const bool is_array = o->format == FORMAT_JSON && o->captures.count > 1;
	struct capture_file file;
	int status = 0;

	for (size_t n = 0; !status && n < o->captures.count; n++) {
		status = capture_file_open(app, o->captures.paths[n], &file);
		if (status)
			break;
		capture_file_warn(app, &file);
		fputs(is_array ? (n ? "," : "[") : n ? "\n" : "", out);
		if (o->captures.count > 1 && !is_array)
			fprintf(out, " file       %s\n", file.path);
		status = show(app, o, &file, out);
		*damage |= capture_file_exit_status(&file);
		capture_file_close(&file);
	}
	fputs(is_array ? "]\n" : "", out);
	return status;
}

int report_run(struct app *app, int argc, char **argv)
{
	struct report_options options = { 0 };
	struct output output;
	int damage = 0, status = parse_options(app, argc, argv, &options);

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
