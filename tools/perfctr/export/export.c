// SPDX-License-Identifier: MIT
/* perfctr export: convert a capture for other programs. */
#include "export.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/option.h"
#include "lib/output.h"

static const char help[] =
	"usage: perfctr export [OPTION...] [FILE]\n"
	"\n"
	"Writes a capture of perfctr record (default: " CAPTURE_DEFAULT_FILE
	"; - is stdin) for other\n"
	"programs.\n"
	"\n"
	"  -f, --format perfetto   counter tracks for ui.perfetto.dev and trace_processor:\n"
	"                          one for each counter and metric of each block, with units\n"
	"               csv        a line for each counter of each block of each sample\n"
	"               json       an object per line: the capture, each sample, the end\n"
	"  -o, --output OUT        write there instead of to stdout\n"
	"      --counts            perfetto: exact counts of each sample instead of rates\n"
	"  -j, --json              the same as --format json\n"
	"\n"
	"CSV and JSON have exact integers; what was not measured is empty or null. Perfetto's\n"
	"tracks cannot have holes: there it is 0, and a slice in the track \"samples\" marks it.\n"
	"\n"
	"Exit: 0 fine, also for a file that was cut off; 1 error, or part of the file could\n"
	"not be read; 2 usage.\n";

static const struct export_format *const formats[] = {
	&export_perfetto,
	&export_csv,
	&export_json,
};

struct export_options {
	const struct export_format *format;
	const char *path;
	const char *output;
	bool counts;
};

static int find_format(const struct app *app, void *options, const char *name)
{
	struct export_options *o = options;

	for (size_t n = 0; n < ARRAY_SIZE(formats); n++) {
		if (strcmp(formats[n]->name, name))
			continue;
		o->format = formats[n];
		return 0;
	}
	return app_usage(app, "there is no format '%s', but perfetto, csv and json", name);
}

static int take_json(const struct app *app, void *options, const char *text)
{
	return find_format(app, options, export_json.name);
}

static int parse_options(const struct app *app, int argc, char **argv, struct export_options *o)
{
	const struct option_spec options[] = {
		OPTION('f', "format", CALL, o, .call = find_format),
		OPTION('j', "json", CALL_PLAIN, o, .call = take_json),
		OPTION('o', "output", TEXT, &o->output),
		OPTION(0, "counts", FLAG, &o->counts),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status;
	if (!o->format)
		return app_usage(app, "say with --format what to write: perfetto, csv or json");
	if (argc - optind > 1)
		return app_usage(app, "one FILE at a time");
	if (o->format == &export_perfetto && !o->output && isatty(STDOUT_FILENO))
		return app_usage(app, "a Perfetto trace is nothing for a terminal: use -o OUT");
	if (o->counts && o->format != &export_perfetto)
		return app_usage(app, "--counts is for perfetto: csv and json have counts anyway");
	o->path = optind < argc ? argv[optind] : CAPTURE_DEFAULT_FILE;
	return 0;
}

struct walk {
	struct export *e;
	const struct export_format *format;
};

static int take_sample(void *data, struct perfctr_sample *sample)
{
	struct walk *walk = data;
	int error;

	/* output_close() says why */
	if (ferror(walk->e->out))
		return 0;
	error = values_take(&walk->e->values, sample);
	return error ? error : walk->format->sample(walk->e, sample);
}

static int write_all(const struct app *app, const struct export_options *o,
		     struct capture_file *file, FILE *out)
{
	struct export e = { .file = file, .out = out, .counts = o->counts };
	struct walk walk = { .e = &e, .format = o->format };
	int error = values_init(app, file, true, &e.values), status = 0;

	if (!error)
		error = o->format->begin(&e);
	if (!error) {
		status = capture_file_each(app, file, take_sample, &walk);
		/* also frees what begin() allocated */
		error = o->format->end(&e);
	}
	values_free(&e.values);
	if (!error || status)
		return status;
	app_error(app, "%s: %s", file->path, strerror(-error));
	return EXIT_FAILED;
}

int export_run(struct app *app, int argc, char **argv)
{
	struct export_options options = { 0 };
	struct capture_file file;
	struct output output;
	int status = parse_options(app, argc, argv, &options);

	if (status)
		return status < 0 ? EXIT_FINE : status;
	status = capture_file_open(app, options.path, &file);
	if (status)
		return status;
	capture_file_warn(app, &file);
	status = output_open(app, options.output, &output);
	if (!status)
		status = output_close(app, &output, write_all(app, &options, &file, output.stream));
	if (!status)
		status = capture_file_exit_status(&file);
	capture_file_close(&file);
	return status;
}
