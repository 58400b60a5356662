// SPDX-License-Identifier: MIT
/* perfctr perfkit: mean, min and max, exactly; as a table and as JSON. */
#include "perfkit_report.h"

#include <inttypes.h>
#include <string.h>

#include "common/number.h"
#include "json.h"

enum { NUMBER_BYTES = 48, DIGITS = 3, SCALE = 1000, MOST_BITS = 100 };

__extension__ typedef __int128 int128;

static int128 common_divisor(int128 a, int128 b)
{
	a = a < 0 ? -a : a;
	while (b) {
		int128 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct ratio reduce(int128 numerator, int128 denominator)
{
	int128 divisor = common_divisor(numerator, denominator);

	return (struct ratio){ numerator / divisor, denominator / divisor };
}

struct ratio ratio_of(int64_t numerator, int64_t denominator)
{
	return reduce(numerator, denominator);
}

struct ratio ratio_add(struct ratio a, struct ratio b)
{
	const struct ratio unknown = { 0, 0 };
	int128 divisor, left, right, numerator, denominator;

	if (!a.denominator || !b.denominator)
		return unknown;
	divisor = common_divisor(a.denominator, b.denominator);
	if (__builtin_mul_overflow(a.numerator, b.denominator / divisor, &left) ||
	    __builtin_mul_overflow(b.numerator, a.denominator / divisor, &right) ||
	    __builtin_add_overflow(left, right, &numerator) ||
	    __builtin_mul_overflow(a.denominator, b.denominator / divisor, &denominator))
		return unknown;
	return reduce(numerator, denominator);
}

struct ratio ratio_divide(struct ratio a, uint64_t by)
{
	int128 divisor, denominator;

	if (!a.denominator)
		return a;
	divisor = common_divisor(a.numerator, (int128)by);
	if (__builtin_mul_overflow(a.denominator, (int128)by / divisor, &denominator))
		return (struct ratio){ 0, 0 };
	return (struct ratio){ a.numerator / divisor, denominator };
}

double ratio_number(struct ratio a)
{
	return (double)a.numerator / (double)a.denominator;
}

int ratio_compare(struct ratio a, struct ratio b)
{
	/* values are of 63 bits each, so that their products fit */
	int128 left = a.numerator * b.denominator, right = b.numerator * a.denominator;

	return (left > right) - (left < right);
}

const char *ratio_text(struct ratio a, char *text, size_t size)
{
	int128 magnitude = a.numerator < 0 ? -a.numerator : a.numerator, rest;
	const char *sign = a.numerator < 0 ? "-" : "";
	int128 denominator = a.denominator;
	char whole[NUMBER_BYTES];
	uint64_t digits;

	if (!denominator || magnitude / denominator >= INT64_MAX) {
		snprintf(text, size, "-");
		return text;
	}
	if (denominator == 1) {
		snprintf(text, size, "%s%s", sign,
			 number_group((uint64_t)magnitude, whole, sizeof(whole)));
		return text;
	}
	rest = magnitude % denominator;
	magnitude /= denominator;
	/* what is left out is far below the last digit */
	while (denominator >> MOST_BITS) {
		denominator >>= 1;
		rest >>= 1;
	}
	digits = (uint64_t)((rest * SCALE + denominator / 2) / denominator);
	magnitude += digits / SCALE;
	snprintf(text, size, "%s%s.%0*" PRIu64, sign,
		 number_group((uint64_t)magnitude, whole, sizeof(whole)), DIGITS, digits % SCALE);
	return text;
}

void perfkit_stat_add(struct perfkit_stat *stat, const struct perfctr_perfkit_value *value)
{
	struct ratio ratio;

	stat->flags |= value->flags;
	if (value->state != PERFCTR_VALUE_OK) {
		stat->state = value->state;
		return;
	}
	ratio = ratio_of(value->numerator, value->denominator);
	if (!stat->measured || ratio_compare(ratio, stat->min) < 0)
		stat->min = ratio;
	if (!stat->measured || ratio_compare(ratio, stat->max) > 0)
		stat->max = ratio;
	stat->sum = stat->measured ? ratio_add(stat->sum, ratio) : ratio;
	stat->cycles += value->cycles;
	stat->elapsed_ns += value->elapsed_ns;
	stat->measured++;
}

/* Number of the counter with the highest mean of its kind, -1 if none is above 0. */
static long find_bottleneck(const struct perfkit_report *r)
{
	double most = 0;
	long found = -1;

	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++) {
		const struct perfkit_stat *stat = &r->stats[n];
		double number;

		if (perfctr_perfkit_counter(r->kit, n)->kind != PERFCTR_PERFKIT_BOTTLENECK ||
		    !stat->measured || !stat->sum.denominator)
			continue;
		number = ratio_number(ratio_divide(stat->sum, stat->measured));
		if (number <= most)
			continue;
		most = number;
		found = (long)n;
	}
	return found;
}

/* --- text ------------------------------------------------------------------------ */

static const char *marks(uint32_t flags)
{
	static const char *const texts[] = { "", " >", " ~", " >~", " *", " >*", " ~*", " >~*" };

	return texts[!!(flags & PERFCTR_PERFKIT_OVERFLOW) +
		     2 * !!(flags & PERFCTR_PERFKIT_ESTIMATED) +
		     4 * !!(flags & PERFCTR_PERFKIT_PARTIAL)];
}

static void print_row(const struct perfkit_report *r, size_t n)
{
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, n);
	const struct perfkit_stat *stat = &r->stats[n];
	char mean[NUMBER_BYTES], min[NUMBER_BYTES], max[NUMBER_BYTES];

	if (!stat->measured) {
		fprintf(r->out, "%-36s <%s>\n", counter->name,
			perfctr_value_state_text(stat->state));
		return;
	}
	ratio_text(ratio_divide(stat->sum, stat->measured), mean, sizeof(mean));
	fprintf(r->out, "%-36s %15s %15s %15s %s%s\n", counter->name, mean,
		ratio_text(stat->min, min, sizeof(min)), ratio_text(stat->max, max, sizeof(max)),
		counter->unit, marks(stat->flags));
}

void perfkit_print_text(const struct perfkit_report *r)
{
	size_t count = perfctr_perfkit_count(r->kit), n;
	char share[NUMBER_BYTES];
	uint32_t flags = 0;
	long bottleneck = find_bottleneck(r);

	fprintf(r->out, "%zu counters in %u pass%s, ", count, r->passes,
		r->passes == 1 ? "" : "es");
	if (r->frame_ns)
		fprintf(r->out, "%" PRIu64 " frames of %.3f s\n", r->frames,
			(double)r->frame_ns * 1e-9);
	else
		fprintf(r->out, "%" PRIu64 " experiment%s\n", r->repetitions,
			r->repetitions == 1 ? "" : "s");
	fprintf(r->out, "%-36s %15s %15s %15s\n", "", "mean", "min", "max");
	for (n = 0; n < count; n++) {
		print_row(r, n);
		flags |= r->stats[n].flags;
	}
	if (bottleneck >= 0) {
		const struct perfkit_stat *stat = &r->stats[bottleneck];

		fprintf(r->out, "\nGPU bottleneck: %.*s, in %s %% of its cycles\n",
			(int)strcspn(perfctr_perfkit_counter(r->kit, (size_t)bottleneck)->name,
				     " "),
			perfctr_perfkit_counter(r->kit, (size_t)bottleneck)->name,
			ratio_text(ratio_divide(stat->sum, stat->measured), share, sizeof(share)));
	}
	if (flags &
	    (PERFCTR_PERFKIT_OVERFLOW | PERFCTR_PERFKIT_ESTIMATED | PERFCTR_PERFKIT_PARTIAL))
		fputs(" > overflow: at least that much   ~ shared with another session: estimated"
		      "   * not all blocks measured it\n",
		      r->out);
}

/* --- JSON -------------------------------------------------------------------------- */

/* Exact, and as a number for those who do not mind. */
static void add_ratio(struct json_object *object, const char *name, struct ratio ratio)
{
	struct json_object *o;

	if (!ratio.denominator) {
		json_add(object, name, NULL);
		return;
	}
	o = json_object_new_object();
	if (ratio.numerator >= INT64_MIN && ratio.numerator <= INT64_MAX &&
	    ratio.denominator <= INT64_MAX) {
		json_add(o, "numerator", json_object_new_int64((int64_t)ratio.numerator));
		json_add(o, "denominator", json_object_new_int64((int64_t)ratio.denominator));
	} else {
		json_add(o, "numerator", NULL);
		json_add(o, "denominator", NULL);
	}
	json_add_double(o, "number", ratio_number(ratio));
	json_add(object, name, o);
}

static struct json_object *counter_object(const struct perfkit_report *r, size_t n)
{
	static const char *const kinds[] = { "counter", "metric", "sol", "bottleneck" };
	const struct perfctr_perfkit_counter *counter = perfctr_perfkit_counter(r->kit, n);
	const struct perfkit_stat *stat = &r->stats[n];
	struct json_object *o = json_object_new_object();

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
	if (stat->measured) {
		add_ratio(o, "mean", ratio_divide(stat->sum, stat->measured));
		add_ratio(o, "min", stat->min);
		add_ratio(o, "max", stat->max);
		json_add_u64(o, "cycles", stat->cycles);
		json_add_u64(o, "elapsed_ns", stat->elapsed_ns);
	}
	json_add_bool(o, "overflow", stat->flags & PERFCTR_PERFKIT_OVERFLOW);
	json_add_bool(o, "estimated", stat->flags & PERFCTR_PERFKIT_ESTIMATED);
	json_add_bool(o, "partial", stat->flags & PERFCTR_PERFKIT_PARTIAL);
	return o;
}

void perfkit_print_json(const struct perfkit_report *r)
{
	struct json_object *root = json_object_new_object();
	struct json_object *device = json_object_new_object();
	struct json_object *counters = json_object_new_array();
	long bottleneck = find_bottleneck(r);

	json_add_u64(root, "version", 1);
	json_add_text(device, "path", perfctr_device_path(r->device));
	json_add_text(device, "driver", perfctr_device_driver(r->device));
	json_add_text(device, "name", perfctr_device_info(r->device)->name);
	json_add(root, "device", device);
	json_add_u64(root, "passes", r->passes);
	if (r->frame_ns) {
		json_add_u64(root, "frame_ns", r->frame_ns);
		json_add_u64(root, "frames", r->frames);
	} else {
		json_add_u64(root, "experiments", r->repetitions);
	}
	for (size_t n = 0; n < perfctr_perfkit_count(r->kit); n++)
		json_object_array_add(counters, counter_object(r, n));
	json_add(root, "counters", counters);
	json_add_text(root, "bottleneck",
		      bottleneck < 0 ? NULL :
				       perfctr_perfkit_counter(r->kit, (size_t)bottleneck)->name);
	json_add(root, "exit_status", json_object_new_int(r->exit_status));
	json_write(r->out, root, true);
	fputc('\n', r->out);
}
