// SPDX-License-Identifier: MIT
/* perfctr export: convert a capture for other programs. */
#include "export.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/capture_file.h"
#include "lib/option.h"
#include "lib/output.h"
#include "lib/stream.h"

static const char help[] =
	"usage: perfctr export [OPTION...] [CAPTURE...]\n"
	"\n"
	"Writes captures of perfctr record (default: " CAPTURE_DEFAULT_FILE "; - is stdin; of a\n"
	"directory all in it and below it) for other programs.\n"
	"\n"
	"  -f, --format perfetto   tracks for ui.perfetto.dev, AGI and trace_processor: one for\n"
	"                          each counter and metric of each block; a GPU's are in its\n"
	"                          group, with units and descriptions\n"
	"               csv        a line for each counter and metric of each block and sample\n"
	"               json       an object per line: the capture, each sample, the end\n"
	"  -o, --output OUT        write there instead of to stdout\n"
	"      --from TIME         only captures that begin then or later: 2026-11-30,\n"
	"                          '2026-11-30 12:00', also with Z or +01:00, '2 hours ago',\n"
	"                          yesterday, today, @SECONDS since 1970\n"
	"      --to TIME           only captures that begin before\n"
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
	struct capture_list captures;
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
		CAPTURE_OPTIONS_TIMES(&o->captures.times),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status;
	if (!o->format)
		return app_usage(app, "say with --format what to write: perfetto, csv or json");
	if (o->format == &export_perfetto && !o->output && isatty(STDOUT_FILENO))
		return app_usage(app, "a Perfetto trace is nothing for a terminal: use -o OUT");
	if (o->counts && o->format != &export_perfetto)
		return app_usage(app, "--counts is for perfetto: csv and json have counts anyway");
	status = capture_list_add(app, argv + optind, argc - optind, &o->captures);
	if (!status && o->format == &export_perfetto && o->captures.count > 1)
		return app_usage(app,
				 "a Perfetto trace has one capture, these are %zu: export each, "
				 "then concatenate the traces with cat",
				 o->captures.count);
	return status;
}

struct walk {
	struct export *e[PERFCTR_CAPTURE_MAX_SESSIONS];
	const struct export_format *format;
};

static int take_sample(void *data, struct capture_file *file, struct perfctr_sample *sample)
{
	const struct walk *walk = data;
	struct export *e = walk->e[file->number];
	int error;

	/* output_close() says why */
	if (ferror(e->out))
		return 0;
	error = values_take(&e->values, sample);
	return error ? error : walk->format->sample(e, sample);
}

static void free_export(struct export *e)
{
	for (size_t n = 0; e->names && n < e->values.count; n++)
		free(e->names[n].bytes);
	free(e->names);
	free(e->origin.bytes);
	values_free(&e->values);
	free(e);
}

static int begin_export(const struct app *app, const struct export_options *o,
			struct capture_file *file, FILE *out, bool is_first, struct export **export)
{
	struct export *e = *export = calloc(1, sizeof(*e));
	int error = e ? values_init(app, file, true, &e->values) : -ENOMEM;

	if (error)
		return error;
	e->file = file;
	e->out = out;
	e->counts = o->counts;
	e->values.blocks_only = true;
	e->is_first = is_first;
	e->names = calloc(e->values.count + 1, sizeof(*e->names));
	return e->names ? 0 : -ENOMEM;
}

/* Write the sessions of a capture: what precedes samples of each, samples by time, what follows. */
static int write_capture(const struct app *app, const struct export_options *o,
			 struct capture *capture, FILE *out, bool is_first)
{
	struct walk walk = { .format = o->format };
	struct text text = { .out = out };
	size_t begun = 0;
	int error = 0, status = 0;

	for (size_t n = 0; !error && n < capture->count; n++) {
		error = begin_export(app, o, &capture->files[n], out, is_first && !n, &walk.e[n]);
		if (!error) {
			walk.e[n]->text = &text;
			error = o->format->begin(walk.e[n]);
			begun += !error;
		}
	}
	if (!error)
		status = capture_each(app, capture, take_sample, &walk);
	/* also frees what begin() allocated */
	for (size_t n = 0; n < begun; n++) {
		int ended = o->format->end(walk.e[n]);

		error = error ? error : ended;
	}
	text_flush(&text);
	for (size_t n = 0; n < capture->count; n++)
		if (walk.e[n])
			free_export(walk.e[n]);
	if (!error || status)
		return status;
	app_error(app, "%s: %s", capture->files->path, strerror(-error));
	return EXIT_FAILED;
}

/* Write the captures one after the other. @damage: set if part of one could not be read. */
static int write_all(const struct app *app, struct export_options *o, FILE *out, int *damage)
{
	struct capture capture;
	size_t written = 0;
	int status = 0;

	for (size_t n = 0; !status && n < o->captures.count; n++) {
		status = capture_list_open(app, &o->captures, n, &capture, damage);
		if (status == CAPTURE_LEFT_OUT) {
			status = 0;
		} else if (!status) {
			status = write_capture(app, o, &capture, out, !written++);
			*damage |= capture_exit_status(&capture);
			capture_close(&capture);
		}
	}
	return status;
}

int export_run(struct app *app, int argc, char **argv)
{
	struct export_options options = { 0 };
	struct output output;
	int status = parse_options(app, argc, argv, &options);
	int damage = options.captures.has_left_out ? EXIT_FAILED : 0;

	if (!status)
		status = output_open(app, options.output, &output);
	if (!status) {
		if (options.format == &export_perfetto)
			stream_is_binary(output.stream);
		status = write_all(app, &options, output.stream, &damage);
		status = output_close(app, &output, status);
	}
	capture_list_free(&options.captures);
	return status < 0 ? EXIT_FINE : status ? status : damage;
}
