// SPDX-License-Identifier: MIT
/* The next measurement as a listing and as rows to fill in, which --measured reads. */
#include "report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/output.h"

/* Whether to measure an event next: it was measured before, and the benchmark states its amount. */
bool propose_has(const struct study *study, size_t event)
{
	const struct analysis *a = &study->analysis;
	const struct point *point = &a->points[study->next.point];

	return analysis_has(a, event) &&
	       benchmark_states(&a->campaign->benchmarks[point->benchmark], event);
}

/* names of the parameters of all benchmarks of the rows */
struct columns {
	const char **names;
	size_t count;
	bool listing, run, units, sequence, expected;
};

static void add_parameters(const struct benchmark *b, struct columns *columns, struct arena *arena)
{
	for (size_t i = 0; i < b->parameter_count; i++) {
		const char *name = b->parameters[i].name;
		bool known = false;

		for (size_t c = 0; c < columns->count; c++)
			known |= !strcmp(columns->names[c], name);
		if (known)
			continue;
		columns->names =
			arena_grow(arena, columns->names, columns->count, sizeof(*columns->names));
		columns->names[columns->count++] = name;
	}
}

static void print_header(const struct columns *columns, FILE *out)
{
	fputs("benchmark", out);
	if (columns->listing)
		fputs(",listing,threads", out);
	for (size_t c = 0; c < columns->count; c++)
		fprintf(out, ",%s", columns->names[c]);
	fprintf(out, ",event%s%s%s%s,value\n", columns->run ? ",run" : "",
		columns->sequence ? ",sequence" : "", columns->units ? ",units" : "",
		columns->expected ? ",expected" : "");
}

/* a cell, in quotes if it needs them */
static void print_cell(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\r\n") && *text != ' ' && *text != '#') {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++)
		fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', out);
}

/* "constructed-1.lst": the file of a benchmark that the campaign does not have */
static const char *file_of(const struct benchmark *b, struct arena *arena)
{
	const char *name = b->listing_name;

	return strstr(name, ".") ? name : arena_printf(arena, "%s.lst", name);
}

/* the cells before the event */
static void print_benchmark(const struct study *study, size_t benchmark, const int64_t *parameters,
			    const struct columns *columns, struct arena *arena, FILE *out)
{
	const struct benchmark *b = &study->analysis.campaign->benchmarks[benchmark];

	print_cell(b->name, out);
	if (columns->listing && b->constructed) {
		fputc(',', out);
		print_cell(file_of(b, arena), out);
		fputc(',', out);
		print_cell(b->threads, out);
	} else if (columns->listing) {
		fputs(",,", out);
	}
	for (size_t c = 0; c < columns->count; c++) {
		const long p = benchmark_parameter(b, columns->names[c]);

		fputc(',', out);
		if (p >= 0)
			fprintf(out, "%" PRId64, parameters[p]);
	}
	fputc(',', out);
}

static void print_number(bool column, bool known, uint64_t value, FILE *out)
{
	if (column)
		fputc(',', out);
	if (column && known)
		fprintf(out, "%" PRIu64, value);
}

static void print_waiting(const struct study *study, const struct columns *columns,
			  struct arena *arena, const char *indent, FILE *out)
{
	const struct analysis *a = &study->analysis;
	const struct point *point = &a->points[study->next.point];

	for (size_t e = 0; e < a->campaign->event_count; e++) {
		if (!propose_has(study, e))
			continue;
		fputs(indent, out);
		print_benchmark(study, point->benchmark, point->parameters, columns, arena, out);
		print_cell(a->campaign->events[e].name, out);
		print_number(columns->run, false, 0, out);
		print_number(columns->sequence, false, 0, out);
		print_number(columns->units, false, 0, out);
		print_number(columns->expected, false, 0, out);
		fputs(",\n", out);
	}
}

void propose_rows(const struct study *study, struct arena *arena, const char *indent, FILE *out)
{
	const struct point *point = &study->analysis.points[study->next.point];
	const struct benchmark *b = &study->analysis.campaign->benchmarks[point->benchmark];
	struct columns columns = { .listing = b->constructed };

	add_parameters(b, &columns, arena);
	fputs(indent, out);
	print_header(&columns, out);
	print_waiting(study, &columns, arena, indent, out);
}

/* all readings, then the rows of the next benchmark without a value */
static void print_file(const struct study *study, const char *campaign, struct arena *arena,
		       FILE *out)
{
	const struct analysis *a = &study->analysis;
	const struct measured *m = &a->measured;
	struct columns columns = { 0 };

	for (size_t b = 0; b < a->campaign->benchmark_count; b++)
		columns.listing |= a->campaign->benchmarks[b].constructed;
	for (size_t i = 0; i < m->count; i++) {
		add_parameters(&a->campaign->benchmarks[m->readings[i].benchmark], &columns, arena);
		columns.run |= m->readings[i].run != 0;
		columns.sequence |= m->readings[i].sequence != NO_SEQUENCE;
		columns.units |= m->readings[i].units != 0;
		columns.expected |= m->readings[i].has_published;
	}
	if (study->next.point >= 0)
		add_parameters(&a->campaign->benchmarks[a->points[study->next.point].benchmark],
			       &columns, arena);
	fprintf(out, "# campaign: %s\n", campaign);
	for (size_t i = 0; i < m->configuration_count; i++)
		fprintf(out, "# configuration: %s=%s\n", m->configuration[2 * i],
			m->configuration[2 * i + 1]);
	fputs("# fill in the values of the last rows, then: perfctr validate -m this-file\n", out);
	print_header(&columns, out);
	for (size_t i = 0; i < m->count; i++) {
		const struct reading *r = &m->readings[i];

		print_benchmark(study, r->benchmark, r->parameters, &columns, arena, out);
		print_cell(a->campaign->events[r->event].name, out);
		print_number(columns.run, true, r->run, out);
		print_number(columns.sequence, r->sequence != NO_SEQUENCE, r->sequence, out);
		print_number(columns.units, r->units, r->units, out);
		print_number(columns.expected, r->has_published, r->published, out);
		fprintf(out, ",%" PRIu64 "\n", r->value);
	}
	if (study->next.point >= 0)
		print_waiting(study, &columns, arena, "", out);
}

/*
 * Write a text into a file in the folder of @beside, unless it is there. Another one that is there
 * may be what a board's compiler made of a proposal. Returns an exit status.
 */
static int put(struct app *app, const char *beside, const char *name, const char *text,
	       struct arena *arena)
{
	const char *slash = strrchr(beside, '/');
	const char *path =
		arena_printf(arena, "%.*s%s", slash ? (int)(slash - beside) + 1 : 0, beside, name);
	struct failure reason = { "" };
	struct output output;
	const char *there;
	size_t length;
	int status;

	if (!access(path, F_OK)) {
		there = read_file(arena, path, &length, &reason);
		if (there && length == strlen(text) && !memcmp(there, text, length))
			return EXIT_FINE;
		app_error(app,
			  "%s: there is another file of that name, which is not overwritten: move "
			  "it, or propose into another folder",
			  path);
		return EXIT_FAILED;
	}
	status = output_open(app, path, &output);
	if (status)
		return status;
	fputs(text, output.stream);
	return output_close(app, &output, EXIT_FINE);
}

int propose_write(struct app *app, const struct study *study, const char *campaign,
		  const char *path, struct arena *arena)
{
	const struct analysis *a = &study->analysis;
	struct output output;
	int status = EXIT_FINE;

	for (size_t b = 0; !status && b < a->campaign->benchmark_count; b++) {
		const struct benchmark *one = &a->campaign->benchmarks[b];
		const char *file = one->constructed ? file_of(one, arena) : "/";

		/* of an own file its path leads to it */
		if (one->constructed && !strchr(file, '/'))
			status = put(app, path, file, one->listing_file, arena);
	}
	if (!status)
		status = output_open(app, path, &output);
	if (status)
		return status;
	print_file(study, campaign, arena, output.stream);
	return output_close(app, &output, EXIT_FINE);
}
