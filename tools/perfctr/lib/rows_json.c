// SPDX-License-Identifier: MIT
/* Rows of a table as JSON, the same for every command. */
#include "rows.h"

#include <math.h>
#include <stdio.h>

#include "app.h"
#include "json.h"

const char *rows_kind_name(const struct perfctr_counter_desc *desc)
{
	static const char *const names[] = {
		[PERFCTR_KIND_COUNT] = "count", [PERFCTR_KIND_CYCLES] = "cycles",
		[PERFCTR_KIND_BYTES] = "bytes", [PERFCTR_KIND_TIME] = "time",
		[PERFCTR_KIND_LEVEL] = "level",
	};

	return desc && desc->kind < ARRAY_SIZE(names) ? names[desc->kind] : NULL;
}

static void add_rate(struct json_object *object, const struct row *row)
{
	char unit[ROW_UNIT_BYTES + 2];

	json_add_double(object, "rate", row->rate);
	if (!isfinite(row->rate)) {
		json_add(object, "rate_unit", NULL);
		return;
	}
	snprintf(unit, sizeof(unit), "%s/s", row->unit);
	json_add_text(object, "rate_unit", unit);
}

struct json_object *rows_json_value(const struct row *row)
{
	if (row->metric || row->state != PERFCTR_VALUE_OK)
		return NULL;
	return row_is_level(row) ? json_object_new_int64((int64_t)row->value) :
				   json_object_new_uint64(row->value);
}

struct json_object *rows_json_counter(const struct row *row)
{
	struct json_object *c = json_object_new_object();
	const struct perfctr_totals_block_info *part;
	bool ok = row->state == PERFCTR_VALUE_OK;
	struct json_object *names;
	char states[128];
	size_t n = 0;

	json_add_text(c, "event", row->event);
	json_add_text(c, "block", row->label);
	json_add_text(c, "type", perfctr_block_type_name(row->info->type));
	json_add_known(c, "index",
		       row->info->index != DRM_PERFCTR_INDEX_ALL && row->info->blocks < 2,
		       row->info->index);
	json_add_u64(c, "blocks", row->info->blocks);
	names = json_object_new_array();
	if (!row->parts)
		json_append_text(names, row->label);
	while ((part = row_part(row, &n)))
		json_append_text(names, part->label);
	json_add(c, "block_names", names);
	json_add_text(c, "counter", row->counter);
	json_add_text(c, "id", row->desc && *row->desc->id ? row->desc->id : NULL);
	json_add_text(c, "trust", verdicts_trust_name(row->trust));
	json_add_text(c, "kind", rows_kind_name(row->desc));
	json_add_text(c, "unit", *row->unit ? row->unit : NULL);
	/* null, never 0, if the counter was not measured */
	json_add(c, "value", rows_json_value(row));
	json_add_text(c, "state", perfctr_value_state_text(row->state));
	if (row->scale != 1) {
		json_add_double(c, "scale", row->scale);
		json_add_double(c, "scaled_value", ok ? row->number : NAN);
	}
	if (row->flags & PERFCTR_VALUE_ESTIMATED)
		json_add_double(c, "estimate", row->number);
	json_add_bool(c, "partial", row->flags & PERFCTR_VALUE_PARTIAL);
	/* null if no sample has it: it neither ran nor was it kept from running */
	json_add_double(c, "running_percent", row->measured ? 100 * row->running_ratio : NAN);
	json_add_u64(c, "samples_measured", row->measured);
	json_add_u64(c, "samples_missed", row->missed);
	json_add_u64(c, "start_ns", row->info->start_ns);
	json_add_u64(c, "end_ns", row->info->end_ns);
	json_add_u64(c, "elapsed_ns", row->info->elapsed_ns);
	perfctr_state_text(row->info->states, states, sizeof(states));
	json_add_words(c, "block_states", states);
	add_rate(c, row);
	return c;
}

struct json_object *rows_json_metric(const struct row *row)
{
	struct json_object *m = json_object_new_object();
	bool ok = row->state == PERFCTR_VALUE_OK;

	json_add_text(m, "metric", row->event);
	json_add_text(m, "block", row->label);
	json_add_text(m, "name", row->counter);
	json_add_text(m, "id", row->metric->id);
	json_add_text(m, "unit", row->metric->unit);
	json_add_double(m, "value", ok ? row->number : NAN);
	json_add_text(m, "state", perfctr_value_state_text(row->state));
	json_add_bool(m, "estimated", row->flags & PERFCTR_VALUE_ESTIMATED);
	json_add_bool(m, "partial", row->flags & PERFCTR_VALUE_PARTIAL);
	return m;
}

void rows_json_add_span(struct json_object *object, const struct perfctr_span *span)
{
	char flags[256];

	json_add_u64(object, "start_ns", span->start_ns);
	json_add_u64(object, "end_ns", span->end_ns);
	json_add_u64(object, "elapsed_ns", span->elapsed_ns);
	json_add_u64(object, "samples", span->samples);
	json_add_u64(object, "merged_periods", span->merged_periods);
	json_add_u64(object, "lost_ns", span->lost_ns);
	json_add_u64(object, "missing_samples", span->missing_samples);
	perfctr_flag_text(span->flags, flags, sizeof(flags));
	json_add_words(object, "flags", flags);
}

struct json_object *rows_json_status(const struct drm_perfctr_status *status)
{
	struct json_object *kernel = json_object_new_object();

	json_add_u64(kernel, "samples", status->published);
	json_add_u64(kernel, "merged_periods", status->merged_periods);
	json_add_u64(kernel, "lost_ns", status->lost_ns);
	json_add_u64(kernel, "errors", status->errors);
	json_add_u64(kernel, "overflows", status->overflows);
	json_add_u64(kernel, "resets", status->resets);
	return kernel;
}
