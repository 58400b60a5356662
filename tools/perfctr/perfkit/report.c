// SPDX-License-Identifier: MIT
/* perfctr perfkit: the result as a table and as JSON. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "lib/busiest.h"
#include "lib/device.h"
#include "lib/json.h"

/*
 * 2: cycles, elapsed_ns are means, integers > 63 bits strings; 3: slices are separate from frames
 */
enum {
	JSON_VERSION = 3,
	NUMBER_BYTES = 48,
	MOST_BITS = 63,
	NAME_WIDTH = 36,
	HALF_PERCENT = 50,
};

uint64_t perfkit_frames_needed(const struct perfkit_report *r)
{
	return r->frames_skipped + r->frames_of_pass * r->passes;
}

static const char *mean_text(const struct perfkit_stat *stat, char *text, size_t size)
{
	mpq_t mean;

	mpq_init(mean);
	perfkit_stat_mean(stat, mean);
	ratio_text(mean, text, size);
	mpq_clear(mean);
	return text;
}

static const char *marks(uint32_t flags)
{
	static const char *const texts[] = { "", " >", " ~", " >~", " *", " >*", " ~*", " >~*" };

	return texts[!!(flags & PERFCTR_PERFKIT_OVERFLOW) +
		     2 * !!(flags & PERFCTR_PERFKIT_ESTIMATED) +
		     4 * !!(flags & PERFCTR_PERFKIT_PARTIAL)];
}

int perfkit_name_width(const struct perfkit_report *r)
{
	int width = NAME_WIDTH;

	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		int length = (int)strlen(perfctr_perfkit_counter(r->kit, n)->name);

		width = length > width ? length : width;
	}
	return width;
}

static void print_row(const struct perfkit_report *r, size_t n, int width)
{
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, n);
	const struct perfkit_stat *stat = &r->stats[n];
	char mean[NUMBER_BYTES], min[NUMBER_BYTES], max[NUMBER_BYTES];

	if (!stat->measured) {
		fprintf(r->out, "%-*s <%s>\n", width, counter->name,
			perfctr_value_state_text(stat->state));
		return;
	}
	fprintf(r->out, "%-*s %15s %15s %15s %s%s\n", width, counter->name,
		mean_text(stat, mean, sizeof(mean)), ratio_text(stat->min, min, sizeof(min)),
		ratio_text(stat->max, max, sizeof(max)), counter->unit, marks(stat->flags));
}

static void print_software(const struct perfkit_report *r, int width)
{
	const struct perfkit_software *s = &r->software;

	for (size_t n = 0; n < s->count; n++) {
		const struct perfkit_stat *stat = &s->values[n].stat;
		char mean[NUMBER_BYTES], min[NUMBER_BYTES], max[NUMBER_BYTES];

		if (!stat->measured)
			continue;
		fprintf(r->out, "%-*s %15s %15s %15s %s\n", width, s->values[n].name,
			mean_text(stat, mean, sizeof(mean)),
			ratio_text(stat->min, min, sizeof(min)),
			ratio_text(stat->max, max, sizeof(max)), s->values[n].unit);
	}
}

static int name_of_unit(const struct perfctr_perfkit_counter *counter)
{
	return (int)strcspn(counter->name, " ");
}

/* What to try: the unit's text in the database, if the unit is busy most of the time. */
static void print_advice(const struct perfkit_report *r, size_t bottleneck)
{
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, bottleneck);
	const char *advice = counter->metric->long_text;
	mpq_t share;

	mpq_init(share);
	perfkit_stat_mean(&r->stats[bottleneck], share);
	if (mpq_cmp_ui(share, HALF_PERCENT, 1) < 0)
		advice = busiest_idle;
	if (*counter->metric->long_text)
		fprintf(r->out, " %s\n", advice);
	mpq_clear(share);
}

/* Print a note on units that were not measured: one of them could be the bottleneck. */
static void print_bottleneck(const struct perfkit_report *r, size_t bottleneck, mpq_t time_ns)
{
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, bottleneck);
	const char *separator = " (not known: ";
	char text[NUMBER_BYTES];
	mpq_t ns_per_us;

	mpq_init(ns_per_us);
	mpq_set_ui(ns_per_us, NS_PER_S / US_PER_S, 1);
	mpq_div(time_ns, time_ns, ns_per_us);
	mpq_clear(ns_per_us);
	fprintf(r->out, "\nGPU bottleneck: %.*s, busy for %s us without waiting for others",
		name_of_unit(counter), counter->name, ratio_text(time_ns, text, sizeof(text)));
	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		counter = perfctr_perfkit_counter(r->kit, n);
		if (counter->kind != PERFCTR_PERFKIT_BOTTLENECK || r->stats[n].measured)
			continue;
		fprintf(r->out, "%s%.*s", separator, name_of_unit(counter), counter->name);
		separator = ", ";
	}
	fputs(separator[0] == ',' ? ")\n" : "\n", r->out);
	print_advice(r, bottleneck);
}

static void print_mode(const struct perfkit_report *r)
{
	switch (r->mode) {
	case PERFKIT_EXPERIMENTS:
		fprintf(r->out, "%" PRIu64 " experiment%s\n", r->repetitions,
			plural(r->repetitions));
		break;
	case PERFKIT_SLICES:
		fprintf(r->out, "%" PRIu64 " slice%s of %.3f s\n", r->slices, plural(r->slices),
			(double)r->interval_ns * 1e-9);
		break;
	case PERFKIT_FRAMES:
		fprintf(r->out,
			"%" PRIu64 " frame%s counted of %" PRIu64 " wanted: %" PRIu64
			" of each pass",
			r->frames, plural(r->frames), r->frames_of_pass * r->passes,
			r->frames_of_pass);
		if (r->frames_skipped)
			fprintf(r->out, ", after %" PRIu64 " that are skipped", r->frames_skipped);
		fputc('\n', r->out);
		break;
	}
}

/* The unit with the longest time: the bottleneck. Return: -1 if there is none. */
static long find_bottleneck(const struct perfkit_report *r, mpq_t time_ns)
{
	long found = -1;
	mpq_t mean;

	mpq_init(mean);
	mpq_set_ui(time_ns, 0, 1);
	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		if (perfctr_perfkit_counter(r->kit, n)->kind != PERFCTR_PERFKIT_BOTTLENECK ||
		    !perfkit_stat_mean_time(&r->stats[n], mean) || mpq_cmp(mean, time_ns) <= 0)
			continue;
		mpq_set(time_ns, mean);
		found = (long)n;
	}
	mpq_clear(mean);
	return found;
}

void perfkit_print_text(const struct perfkit_report *r)
{
	size_t count = perfctr_perfkit_count(r->kit), n;
	int width = perfkit_name_width(r);
	uint32_t flags = 0;
	long bottleneck;
	mpq_t time_ns;

	fprintf(r->out, "%zu counter%s in %u pass%s, ", count, plural(count), r->passes,
		r->passes == 1 ? "" : "es");
	print_mode(r);
	fprintf(r->out, "%-*s %15s %15s %15s\n", width, "", "mean", "min", "max");
	for (n = 0; n < count; n++) {
		print_row(r, n, width);
		flags |= r->stats[n].flags;
	}
	print_software(r, width);
	if (device_is_local(r->device))
		fputs(" of the whole machine in that time, not of the command alone; "
		      "'perfctr stat -- COMMAND' counts a command\n",
		      r->out);
	mpq_init(time_ns);
	bottleneck = find_bottleneck(r, time_ns);
	if (bottleneck >= 0)
		print_bottleneck(r, (size_t)bottleneck, time_ns);
	mpq_clear(time_ns);
	if (flags &
	    (PERFCTR_PERFKIT_OVERFLOW | PERFCTR_PERFKIT_ESTIMATED | PERFCTR_PERFKIT_PARTIAL))
		fputs(" > overflow: at least that much   ~ shared with another session: estimated"
		      "   * not all blocks measured it\n",
		      r->out);
}

/* A number if every JSON reader can represent it, else its digits as a string. */
static struct json_object *integer_object(mpz_srcptr number)
{
	struct json_object *o = NULL;
	char *digits = mpz_get_str(NULL, 10, number);

	if (mpz_sizeinbase(number, 2) <= MOST_BITS)
		o = json_object_new_int64(strtoll(digits, NULL, 10));
	else
		o = json_object_new_string(digits);
	free(digits);
	return o;
}

/* An exact ratio, and its nearest double. */
static void add_ratio(struct json_object *object, const char *name, mpq_srcptr ratio)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "numerator", integer_object(mpq_numref(ratio)));
	json_add(o, "denominator", integer_object(mpq_denref(ratio)));
	json_add_double(o, "number", ratio_number(ratio));
	json_add(object, name, o);
}

/* All means have one scale: 100 * mean / cycles is a percentage. */
static void add_means(struct json_object *object, const struct perfkit_stat *stat)
{
	mpq_t mean;

	mpq_init(mean);
	perfkit_stat_mean(stat, mean);
	add_ratio(object, "mean", mean);
	add_ratio(object, "min", stat->min);
	add_ratio(object, "max", stat->max);
	if (mpz_sgn(stat->cycles)) {
		perfkit_stat_mean_of(stat, stat->cycles, mean);
		add_ratio(object, "cycles", mean);
	} else {
		json_add(object, "cycles", NULL);
	}
	perfkit_stat_mean_of(stat, stat->elapsed_ns, mean);
	add_ratio(object, "elapsed_ns", mean);
	mpq_clear(mean);
}

static struct json_object *counter_object(const struct perfkit_report *r, size_t n)
{
	static const char *const kinds[] = { "counter", "metric", "sol", "bottleneck" };
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, n);
	const struct perfkit_stat *stat = &r->stats[n];
	struct json_object *o = json_object_new_object();
	mpq_t time_ns;

	json_add_text(o, "name", counter->name);
	json_add_text(o, "text", counter->text);
	json_add_text(o, "unit", counter->unit);
	json_add_text(o, "kind", kinds[counter->kind]);
	json_add_text(o, "formula", counter->metric ? counter->metric->formula : NULL);
	json_add_u64(o, "passes", counter->passes);
	json_add_u64(o, "first_pass", counter->first_pass);
	json_add_text(o, "state",
		      perfctr_value_state_text(stat->measured ? PERFCTR_VALUE_OK : stat->state));
	json_add_u64(o, "measured", stat->measured);
	if (stat->measured)
		add_means(o, stat);
	mpq_init(time_ns);
	if (perfkit_stat_mean_time(stat, time_ns))
		add_ratio(o, "time_ns", time_ns);
	mpq_clear(time_ns);
	json_add_bool(o, "overflow", stat->flags & PERFCTR_PERFKIT_OVERFLOW);
	json_add_bool(o, "estimated", stat->flags & PERFCTR_PERFKIT_ESTIMATED);
	json_add_bool(o, "partial", stat->flags & PERFCTR_PERFKIT_PARTIAL);
	return o;
}

static struct json_object *software_array(const struct perfkit_software *s)
{
	struct json_object *array = json_object_new_array();

	for (size_t n = 0; n < s->count; n++) {
		struct json_object *o;
		mpq_t mean;

		if (!s->values[n].stat.measured)
			continue;
		o = json_append(array);
		json_add_text(o, "name", s->values[n].name);
		json_add_text(o, "unit", s->values[n].unit);
		json_add_u64(o, "measured", s->values[n].stat.measured);
		mpq_init(mean);
		perfkit_stat_mean(&s->values[n].stat, mean);
		add_ratio(o, "mean", mean);
		mpq_clear(mean);
		add_ratio(o, "min", s->values[n].stat.min);
		add_ratio(o, "max", s->values[n].stat.max);
	}
	return array;
}

static void add_mode(struct json_object *root, const struct perfkit_report *r)
{
	switch (r->mode) {
	case PERFKIT_EXPERIMENTS:
		json_add_u64(root, "experiments", r->repetitions);
		break;
	case PERFKIT_SLICES:
		json_add_u64(root, "interval_ns", r->interval_ns);
		json_add_u64(root, "intervals", r->slices);
		break;
	case PERFKIT_FRAMES:
		json_add_u64(root, "frames", r->frames);
		json_add_u64(root, "frames_per_pass", r->frames_of_pass);
		json_add_u64(root, "frames_skipped", r->frames_skipped);
		json_add_u64(root, "frames_reported", r->frames_reported);
		json_add_u64(root, "frames_needed", perfkit_frames_needed(r));
		break;
	}
}

void perfkit_print_json(const struct perfkit_report *r)
{
	struct json_object *root = json_object_new_object();
	struct json_object *device = json_object_new_object();
	struct json_object *counters = json_object_new_array();
	long bottleneck;
	mpq_t time_ns;

	mpq_init(time_ns);
	bottleneck = find_bottleneck(r, time_ns);
	mpq_clear(time_ns);
	json_add_u64(root, "version", JSON_VERSION);
	json_add_text(device, "path", perfctr_device_path(r->device));
	json_add_text(device, "driver", perfctr_device_driver(r->device));
	json_add_text(device, "name", perfctr_device_info(r->device)->name);
	json_add(root, "device", device);
	json_add_bool(root, "whole_machine", device_is_local(r->device));
	json_add_u64(root, "passes", r->passes);
	add_mode(root, r);
	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++)
		json_object_array_add(counters, counter_object(r, n));
	json_add(root, "counters", counters);
	json_add(root, "software", software_array(&r->software));
	json_add_text(root, "bottleneck",
		      bottleneck < 0 ? NULL :
				       perfctr_perfkit_counter(r->kit, (size_t)bottleneck)->name);
	json_add(root, "exit_status", json_object_new_int(r->exit_status));
	json_write(r->out, root, true);
}
