// SPDX-License-Identifier: MIT
/* Computes the units of GPUs from totals, by the formulas of the database. */
#include "busiest.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

const char busiest_idle[] =
	"No unit limits: the busiest one works for less than half of the cycles. The GPU waits for "
	"memory or the CPU, or the frame rate is limited.";

static const double HALF_PERCENT = 50;

struct busiest {
	const char *name; /* of the unit; NULL: counters of none were measured */
	int length; /* of the name */
	double percent; /* of its cycles: it had work, and waited for no other unit */
	unsigned int counted, units; /* of the GPU: whose counters were measured, and all */
	const char *advice; /* "": nobody knows */
};

static bool has_product(const struct perfctr_totals *totals, uint16_t product)
{
	for (size_t n = 0; n < perfctr_totals_block_count(totals); n++)
		if (perfctr_totals_block_info(perfctr_totals_block(totals, n))->product == product)
			return true;
	return false;
}

static struct busiest find(const struct perfctr_totals *totals)
{
	const struct perfctr_totals *sums = perfctr_totals_by_type(totals);
	const struct perfctr_metric_desc *m = NULL;
	struct busiest b = { .percent = -1, .advice = "" };
	bool has = false;

	/* the units of a product are together */
	for (int product = -1; (m = perfctr_unit_next(m)); product = m->product) {
		struct perfctr_value value;
		const char *end;

		has = m->product == product ? has : has_product(sums, m->product);
		end = has ? strstr(m->name, " Bottleneck") : NULL;
		if (!end)
			continue;
		b.units++;
		if (perfctr_totals_metric(sums, m, NULL, &value) ||
		    value.flags & (PERFCTR_VALUE_ESTIMATED | PERFCTR_VALUE_PARTIAL))
			continue;
		/* without a cycle it was idle */
		b.counted += value.state == PERFCTR_VALUE_OK ||
			     value.state == PERFCTR_VALUE_ZERO_DENOMINATOR;
		if (value.state != PERFCTR_VALUE_OK || value.number <= b.percent)
			continue;
		b.name = m->name;
		b.length = (int)(end - m->name);
		b.percent = value.number;
		b.advice = m->long_text;
	}
	/* one that was not counted may be busier */
	if (b.percent < HALF_PERCENT && *b.advice)
		b.advice = b.counted == b.units ? busiest_idle : "";
	return b;
}

char *busiest_text(const struct perfctr_totals *totals, char *text)
{
	const struct busiest b = find(totals);

	*text = '\0';
	if (*b.advice)
		snprintf(text, BUSIEST_BYTES,
			 "%.*s, %.3g %% of its cycles, of %u of %u units counted. %s", b.length,
			 b.name, b.percent, b.counted, b.units, b.advice);
	return text;
}

struct json_object *busiest_json(const struct perfctr_totals *totals)
{
	const struct busiest b = find(totals);
	struct json_object *o;

	if (!b.name)
		return NULL;
	o = json_object_new_object();
	json_add(o, "unit", json_object_new_string_len(b.name, b.length));
	json_add_double(o, "percent", b.percent);
	json_add_u64(o, "units_counted", b.counted);
	json_add_u64(o, "units", b.units);
	json_add_text(o, "advice", b.advice);
	return o;
}
