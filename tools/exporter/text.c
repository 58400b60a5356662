// SPDX-License-Identifier: MIT
/* What the exporter writes: families and series in the text formats of Prometheus. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "exporter.h"
#include "lib/output.h"

#define CLIENT_FAMILY "client_engine_seconds"

enum kind { COUNTER, GAUGE, INFO };

static const char client_help[] = "Time for which clients used the engines of a kind";

/* one value */
struct series {
	char family[256]; /* without _total and _info */
	const char *unit; /* suffix of @family, or NULL */
	const char *help;
	enum kind kind;
	size_t labels; /* where they are in the text of the list */
	char value[56];
};

struct list {
	struct series *series;
	size_t count, capacity;
	/* labels of all series, each with a NUL; the text is complete when the stream was closed */
	FILE *labels;
	char *text;
	size_t text_bytes;
	bool failed;
};

/* base units of OpenMetrics */
static const struct base_unit {
	const char *unit, *base;
	double scale;
} base_units[] = {
	{ .unit = "ns", .base = "seconds", .scale = 1e-9 },
	{ .unit = "us", .base = "seconds", .scale = 1e-6 },
	{ .unit = "ms", .base = "seconds", .scale = 1e-3 },
	{ .unit = "s", .base = "seconds", .scale = 1 },
	{ .unit = "%", .base = "ratio", .scale = 1e-2 },
	{ .unit = "bytes", .base = "bytes", .scale = 1 },
	{ .unit = "MiB", .base = "bytes", .scale = 0x1p20 },
	{ .unit = "cycles", .base = "cycles", .scale = 1 },
	{ .unit = "Hz", .base = "hertz", .scale = 1 },
	{ .unit = "J", .base = "joules", .scale = 1 },
	{ .unit = "Joules", .base = "joules", .scale = 1 },
	{ .unit = "uJ", .base = "joules", .scale = 1e-6 },
	{ .unit = "W", .base = "watts", .scale = 1 },
	{ .unit = "uW", .base = "watts", .scale = 1e-6 },
	{ .unit = "V", .base = "volts", .scale = 1 },
	{ .unit = "mV", .base = "volts", .scale = 1e-3 },
	{ .unit = "degC", .base = "celsius", .scale = 1 },
	{ .unit = "mdegC", .base = "celsius", .scale = 1e-3 },
	{ .unit = "A", .base = "amperes", .scale = 1 },
	{ .unit = "mA", .base = "amperes", .scale = 1e-3 },
	{ .unit = "RPM", .base = "rpm", .scale = 1 },
};

static bool is_gauge(const struct row *row)
{
	return row->metric || row_is_level(row);
}

/* Append lower-case letters, digits and underscores to the family. */
static void append(struct series *s, const char *text, size_t length)
{
	size_t at = strlen(s->family);

	for (; length-- && *text && at + 1 < sizeof(s->family); text++)
		/* without the letters of a locale */
		s->family[at++] = (char)(*text > 0 && isalnum(*text) ? tolower(*text) : '_');
	s->family[at] = '\0';
}

/* None for "fragments", as in FRAGMENTS. Return: factor from the row's unit. */
static double append_unit(struct series *s, const char *unit)
{
	const char *slash = strchr(unit, '/');
	const size_t have = strlen(s->family);
	char suffix[80] = "_";
	double scale = 1;

	for (size_t n = 0; n < ARRAY_SIZE(base_units); n++) {
		if (!strcmp(base_units[n].unit, unit)) {
			s->unit = base_units[n].base;
			scale = base_units[n].scale;
		}
	}
	if (s->unit)
		snprintf(suffix, sizeof(suffix), "_%s", s->unit);
	else if (slash)
		snprintf(suffix, sizeof(suffix), "_%.*s_per_%s", (int)(slash - unit), unit,
			 strcmp(slash, "/s") ? slash + 1 : "second");
	/* not a second time */
	if (suffix[1] &&
	    (have < strlen(suffix) || strcmp(s->family + have - strlen(suffix), suffix)))
		append(s, suffix, sizeof(suffix));
	return scale;
}

static void label(FILE *out, const char *name, const char *value)
{
	fprintf(out, ",%s=\"", name);
	label_text(out, value, true);
	fputc('"', out);
}

/* Name and labels of a row. @event: with the event's name even if the others tell it. */
static void describe(struct series *s, const struct row *row, bool event, FILE *labels)
{
	const char *type =
		perfctr_block_type_name(row->metric ? row->metric->block_type : row->info->type);
	bool generic = !row->metric && row->info->type == DRM_PERFCTR_BLOCK_GENERIC_PMU;
	const char *name = row->counter, *end;
	size_t length;

	/* "shader16" is a shader; a generic block has the name of its PMU */
	type = generic || !type ? row->label : type;
	length = strlen(type);
	label(labels, "block", type);
	/* "instance" is Prometheus' own */
	if (!strncmp(row->label, type, length) && row->label[length])
		label(labels, "index", row->label + length);
	append(s, "perfctr_", 8);
	append(s, type, length);
	append(s, "_", 1);
	end = name + strcspn(name, generic ? ",=/" : "");
	/* not the device that a reading belongs to, nor the subsystem of a tracepoint */
	for (const char *at = name; generic && at < end; at++)
		if (*at == ':')
			name = at + 1;
	append(s, name, (size_t)(end - name));
	for (name = row->counter; isalnum((unsigned char)*name) || *name == '_';)
		name++;
	if (event || generic || *name || strchr(row->event, ','))
		label(labels, "event", row->event);
	s->help = row->metric ? row->metric->short_text :
		  row->desc   ? row->desc->short_text :
				"An event of a perf PMU";
}

/* A new series; its labels are written after it. Return: NULL if there is no memory. */
static struct series *add_empty(struct list *list, enum kind kind)
{
	struct series *s = list->series;

	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 64;
		s = realloc(list->series, list->capacity * sizeof(*s));
	}
	/* fflush() also updates text_bytes */
	if (!s || fflush(list->labels)) {
		list->failed = true;
		return NULL;
	}
	list->series = s;
	s += list->count++;
	*s = (struct series){ .kind = kind, .labels = list->text_bytes };
	return s;
}

/* A new series with labels as they are written. Return: NULL if there is no memory. */
static struct series *add_labelled(struct list *list, enum kind kind, const char *text)
{
	struct series *s = add_empty(list, kind);

	if (s)
		fwrite(text, 1, strlen(text) + 1, list->labels);
	return s;
}

/*
 * A new series of a device, or of a row of it.
 * @name: of the exporter's own families, NULL: the row's.
 * Return: NULL if there is no memory.
 */
static struct series *add(struct list *list, const struct exported *device, const struct row *row,
			  enum kind kind, const char *name)
{
	struct series *s = add_empty(list, kind);
	FILE *labels = list->labels;

	if (!s)
		return NULL;
	fputs("device=\"", labels);
	label_text(labels, device->name, true);
	fputc('"', labels);
	if (row)
		describe(s, row, name, labels);
	if (kind == INFO) {
		label(labels, "driver", perfctr_device_driver(device->device));
		label(labels, "name", perfctr_device_info(device->device)->name);
	}
	if (name)
		snprintf(s->family, sizeof(s->family), "perfctr_%s", name);
	fputc('\0', labels);
	return s;
}

/* A new series of the account of clients, in nanoseconds if @seconds. */
static void add_use(struct list *list, enum kind kind, const char *family, const char *help,
		    const char *labels, uint64_t value, bool seconds)
{
	struct series *s = add_labelled(list, kind, labels);

	if (!s)
		return;
	snprintf(s->family, sizeof(s->family), "perfctr_%s", family);
	s->help = help;
	s->unit = seconds ? "seconds" : NULL;
	number_scaled(value, seconds ? 1e-9 : 1, s->value, sizeof(s->value));
}

static void add_engine_uses(struct list *list, const struct use_engine *e)
{
	char *others = uses_other_labels(e);

	add_use(list, GAUGE, "client_engines", "Engines behind a label", e->labels, e->engines,
		false);
	add_use(list, GAUGE, "clients", "Clients that the last reading saw", e->labels, e->clients,
		false);
	add_use(list, COUNTER, "client_gaps",
		"Times that the end of what a client did was not seen", e->labels, e->gaps, false);
	add_use(list, COUNTER, "ended_client_engine_seconds",
		"Engine time of series of clients that are not shown any more", e->labels,
		e->ended_ns, true);
	if (others)
		add_use(list, COUNTER, CLIENT_FAMILY, client_help, others, e->other_ns, true);
	else
		list->failed = true;
	free(others);
}

static int add_uses(struct list *list, const struct uses *uses, bool shown)
{
	add_use(list, GAUGE, "clients_shown", "Whether this scraper may see the clients", "", shown,
		false);
	for (size_t n = 0; shown && n < uses->engine_count; n++)
		add_engine_uses(list, &uses->engines[n]);
	for (size_t n = 0; shown && n < uses->count; n++)
		add_use(list, COUNTER, CLIENT_FAMILY, client_help, uses->series[n]->labels,
			uses->series[n]->ns, true);
	return list->failed ? -ENOMEM : 0;
}

/* Return: whether the row has a value. */
static bool add_row(struct list *list, const struct exported *device, const struct row *row)
{
	struct series *s;
	double scale;

	if (row->state != PERFCTR_VALUE_OK || (row->metric && !isfinite(row->number)))
		return false;
	s = add(list, device, row, is_gauge(row) ? GAUGE : COUNTER, NULL);
	if (!s)
		return true;
	scale = append_unit(s, row->unit);
	if (row->metric)
		snprintf(s->value, sizeof(s->value), "%.15g", row->number * scale);
	else if (row_is_level(row))
		number_scaled_signed((int64_t)row->value, row->scale * scale, s->value,
				     sizeof(s->value));
	else
		number_scaled(row->value, row->scale * scale, s->value, sizeof(s->value));
	if (row->metric || row->running_ratio >= 1)
		return true;
	s = add(list, device, row, GAUGE, "running_ratio");
	if (s) {
		s->help = "Part of the time in which a multiplexed counter ran";
		snprintf(s->value, sizeof(s->value), "%.15g", row->running_ratio);
	}
	return true;
}

static int add_device(struct list *list, struct exported *device)
{
	const struct perfctr_span *span = perfctr_totals_span(device->all);
	uint64_t unmeasured = 0, missed = 0;
	int error = exported_rows(device);

	if (error)
		return error;
	for (size_t n = 0; n < device->sums.count; n++) {
		missed += device->sums.rows[n].missed;
		if (!is_gauge(&device->sums.rows[n]))
			unmeasured += !add_row(list, device, &device->sums.rows[n]);
	}
	for (size_t n = 0; n < device->now.count; n++)
		if (is_gauge(&device->now.rows[n]))
			unmeasured += !add_row(list, device, &device->now.rows[n]);

	const struct {
		enum kind kind;
		const char *name, *help;
		uint64_t value;
	} own[] = {
		{ .kind = INFO,
		  .name = "device",
		  .help = "The device behind the label, if it is not lost",
		  .value = 1 },
		{ .kind = GAUGE,
		  .name = "up",
		  .help = "Whether the device is being counted",
		  .value = !!device->session },
		{ .kind = GAUGE,
		  .name = "not_measured",
		  .help = "Counters and metrics that are absent: without a value",
		  .value = unmeasured },
		{ .kind = COUNTER,
		  .name = "missed_values",
		  .help = "Values of counters that a sample did not have",
		  .value = missed },
		{ .kind = COUNTER,
		  .name = "samples",
		  .help = "Samples that were added up",
		  .value = span->samples },
		{ .kind = COUNTER,
		  .name = "sampled_seconds",
		  .help = "Time that the samples cover",
		  .value = span->elapsed_ns },
		{ .kind = COUNTER,
		  .name = "lost_seconds",
		  .help = "At most this time's counts were lost",
		  .value = span->lost_ns },
		{ .kind = COUNTER,
		  .name = "merged_periods",
		  .help = "Periods in longer samples, without loss",
		  .value = span->merged_periods },
		{ .kind = COUNTER,
		  .name = "device_resets",
		  .help = "Samples in which the device was reset",
		  .value = device->resets },
		{ .kind = COUNTER,
		  .name = "device_restarts",
		  .help = "Times that counting began again after a loss",
		  .value = device->restarts },
	};

	/* nothing is behind the name of a lost one */
	for (size_t n = device->device ? 0 : 1; n < ARRAY_SIZE(own); n++) {
		struct series *s = add(list, device, NULL, own[n].kind, own[n].name);

		if (!s)
			break;
		s->help = own[n].help;
		s->unit = strstr(own[n].name, "_seconds") ? "seconds" : NULL;
		number_scaled(own[n].value, s->unit ? 1e-9 : 1, s->value, sizeof(s->value));
	}
	return list->failed ? -ENOMEM : 0;
}

/* A family has one type. */
static int compare(const void *a, const void *b, void *list)
{
	const struct series *x = a, *y = b;
	const char *text = ((const struct list *)list)->text;
	int order = strcmp(x->family, y->family);

	order = order ? order : (int)x->kind - (int)y->kind;
	return order ? order : strcmp(text + x->labels, text + y->labels);
}

static void write_series(FILE *out, const struct list *list, size_t n, bool open)
{
	const struct series *s = &list->series[n], *before = n ? s - 1 : NULL;
	static const char *const types[] = { "counter", "gauge", "info" };
	const char *suffix = s->kind == COUNTER ? "_total" : s->kind == INFO ? "_info" : "";
	/* OpenMetrics describes the family, the older format its samples */
	const char *described = open ? "" : suffix;

	if (!before || strcmp(before->family, s->family) || before->kind != s->kind) {
		fprintf(out, "# HELP %s%s ", s->family, described);
		label_text(out, s->help, open);
		fprintf(out, "\n# TYPE %s%s %s\n", s->family, described,
			types[s->kind == INFO && !open ? GAUGE : s->kind]);
		if (s->unit && open)
			fprintf(out, "# UNIT %s %s\n", s->family, s->unit);
	} else if (!strcmp(list->text + before->labels, list->text + s->labels)) {
		/* two names that differ in a character that names of families cannot have */
		return;
	}
	fprintf(out, "%s%s{%s} %s\n", s->family, suffix, list->text + s->labels, s->value);
}

int text_write(FILE *out, struct exporter *e, bool open, bool clients)
{
	struct list list = { 0 };
	int error = 0;

	list.labels = open_memstream(&list.text, &list.text_bytes);
	if (!list.labels)
		return -ENOMEM;
	for (size_t n = 0; n < e->count && !error; n++)
		error = add_device(&list, &e->devices[n]);
	if (!error && e->uses.clients)
		error = add_uses(&list, &e->uses, clients);
	if (fclose(list.labels) && !error)
		error = -ENOMEM;
	if (!error)
		qsort_r(list.series, list.count, sizeof(*list.series), compare, &list);
	for (size_t n = 0; n < list.count && !error; n++)
		write_series(out, &list, n, open);
	if (!error && open)
		fputs("# EOF\n", out);
	if (!error && clients)
		uses_shown(&e->uses);
	free(list.text);
	free(list.series);
	return error;
}
