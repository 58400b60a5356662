// SPDX-License-Identifier: MIT
/* The result file: verdicts with all the evidence. */
#include <string.h>

#include "build.h"
#include "lib/json.h"
#include "report.h"

static struct json_object *rule_json(const struct rule *rule)
{
	struct json_object *terms = json_object_new_array();

	for (size_t i = 0; i < rule->count; i++) {
		struct json_object *term = json_append(terms);
		char text[96];

		json_add_text(term, "feature",
			      feature_text(&rule->terms[i].feature, text, sizeof(text)));
		json_add(term, "weight", json_object_new_int64(rule->terms[i].weight));
	}
	return terms;
}

static struct json_object *parameters_json(const struct study *study, const struct point *point)
{
	const struct benchmark *b = &study->analysis.campaign->benchmarks[point->benchmark];
	struct json_object *parameters = json_object_new_object();

	for (size_t i = 0; i < b->parameter_count; i++)
		json_add(parameters, b->parameters[i].name,
			 json_object_new_int64(point->parameters[i]));
	return parameters;
}

/* all readings, in the format of --measured */
static struct json_object *rows_json(const struct study *study)
{
	const struct measured *m = &study->analysis.measured;
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < m->count; i++) {
		const struct reading *r = &m->readings[i];
		const struct point *point = &study->analysis.points[study->analysis.point_of[i]];
		struct json_object *row = json_append(rows);

		json_add_text(row, "benchmark",
			      study->analysis.campaign->benchmarks[r->benchmark].name);
		json_add_text(row, "event", study->analysis.campaign->events[r->event].name);
		json_add(row, "parameters", parameters_json(study, point));
		json_add_u64(row, "run", r->run);
		if (r->sequence != NO_SEQUENCE)
			json_add_u64(row, "sequence", r->sequence);
		if (r->units)
			json_add_u64(row, "units", r->units);
		if (r->has_published)
			json_add_u64(row, "expected", r->published);
		json_add_u64(row, "value", r->value);
		if (r->interrupts) {
			json_add_u64(row, "raw", r->raw);
			json_add_u64(row, "interrupts", r->interrupts);
		}
	}
	return rows;
}

/* the values of the author's hypotheses at a point, for the plots */
static struct json_object *hypotheses_json(const struct study *study, size_t point, size_t number,
					   uint64_t units)
{
	const struct analysis *a = &study->analysis;
	const struct campaign_event *event = &a->campaign->events[number];
	struct json_object *hypotheses = json_object_new_object();

	for (size_t i = 0; i < event->idea_count; i++) {
		uint64_t value;
		bool known = !analysis_expected(a, &a->points[point], &event->ideas[i].rule, units,
						&value);

		json_add(hypotheses, event->ideas[i].name,
			 known ? json_object_new_uint64(value) : NULL);
	}
	return hypotheses;
}

static struct json_object *points_json(const struct study *study, size_t event)
{
	struct json_object *points = json_object_new_array();

	for (size_t p = 0; p < study->analysis.point_count; p++) {
		struct json_object *point;
		struct table_row row;

		if (!validate_row(study, p, event, &row))
			continue;
		point = json_append(points);
		json_add_text(point, "point", study->analysis.points[p].name);
		json_add(point, "expected",
			 row.has_expected ? json_object_new_uint64(row.expected) : NULL);
		json_add_u64(point, "measured", row.cell.value);
		json_add_u64(point, "min", row.cell.min);
		json_add_u64(point, "max", row.cell.max);
		json_add_u64(point, "readings", row.cell.count);
		json_add(point, "refined",
			 row.has_refined ? json_object_new_uint64(row.refined) : NULL);
		json_add(point, "published",
			 row.cell.has_published ? json_object_new_uint64(row.cell.published) :
						  NULL);
		json_add_bool(point, "published_follows", !row.slip);
		json_add(point, "hypotheses", hypotheses_json(study, p, event, row.cell.units));
	}
	return points;
}

/* the weights that are left, for --from of another run */
static struct json_object *weights_json(const struct rule_group *set)
{
	struct json_object *list = json_object_new_array();
	char text[96];

	for (size_t i = 0; i < set->count; i++) {
		struct json_object *one = json_append(list), *weights = json_object_new_array();

		json_add_text(one, "feature", feature_text(&set->features[i], text, sizeof(text)));
		for (weight_set left = set->allowed[i]; left; left &= left - 1)
			json_object_array_add(weights,
					      json_object_new_int((int)weights_least(left)));
		json_add(one, "weights", weights);
	}
	return list;
}

static struct json_object *facts_json(const struct rule_group *set)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < set->fact_count; i++) {
		struct json_object *one = json_append(list);

		json_add(one, "sum", rule_json(&set->facts[i].sum));
		json_add(one, "min", json_object_new_int64(set->facts[i].lo));
		json_add(one, "max", json_object_new_int64(set->facts[i].hi));
	}
	return list;
}

static struct json_object *carried_json(const struct carried *c)
{
	struct json_object *carried = json_object_new_object();

	json_add_text(carried, "campaign", c->campaign);
	json_add_text(carried, "verdict", c->verdict);
	json_add_text(carried, "definition", c->definition);
	json_add_text(carried, "result", carried_names[c->result]);
	json_add_text(carried, "text", c->text);
	return carried;
}

/* features that the measurements cannot tell apart, with the amounts of their proportion */
static struct json_object *groups_json(const struct outcome *o)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < o->together_count; i++) {
		const struct rule *group = &o->together[i];
		struct json_object *features = json_object_new_array();

		for (size_t t = 0; t < group->count; t++) {
			struct json_object *one = json_append(features);
			char text[96];

			json_add_text(one, "feature",
				      feature_text(&group->terms[t].feature, text, sizeof(text)));
			json_add(one, "amount", json_object_new_int64(group->terms[t].weight));
		}
		json_object_array_add(list, features);
	}
	return list;
}

static struct json_object *search_json(const struct outcome *o)
{
	struct json_object *search = json_object_new_object();
	struct json_object *rounds = json_object_new_array();

	if (o->search_error) {
		json_add_text(search, "error", o->search_error);
		json_object_put(rounds);
		return search;
	}
	for (size_t i = 0; i < o->round_count; i++) {
		struct json_object *round = json_append(rounds);

		json_add_text(round, "after", o->rounds[i].after);
		json_add_u64(round, "points", o->rounds[i].points);
		json_add_u64(round, "remaining", o->rounds[i].remaining);
	}
	json_add_text(search, "space", o->bounds);
	json_add_u64(search, "remaining", o->remaining);
	json_add_text(search, "proven", o->proven);
	json_add_text(search, "excluded", o->excluded);
	json_add_text(search, "open", o->open);
	json_add_text(search, "untested", o->untested);
	json_add(search, "together", groups_json(o));
	json_add_text(search, "assumed", o->assumed);
	json_add_text(search, "relations", o->pruned_by);
	json_add(search, "before_relations",
		 o->pruned_by ? json_object_new_uint64(o->before) : NULL);
	json_add(search, "weights", weights_json(&o->left));
	json_add(search, "facts", facts_json(&o->left));
	json_add(search, "rounds", rounds);
	return search;
}

static struct json_object *names_json(const char **names)
{
	struct json_object *list = json_object_new_array();

	for (; names && *names; names++)
		json_object_array_add(list, json_object_new_string(*names));
	return list;
}

static struct json_object *event_json(const struct report *report, const struct study *study,
				      size_t number)
{
	const struct campaign_event *event = &study->analysis.campaign->events[number];
	const struct outcome *o = &study->outcomes[number];
	struct json_object *e = json_object_new_object(), *list = json_object_new_array();
	const char **steps;
	size_t count;

	json_add_text(e, "event", event->name);
	json_add_text(e, "counter", *event->counter ? event->counter : NULL);
	json_add(e, "requirements", names_json(event->requirements));
	json_add_text(e, "verdict", verdict_names[o->verdict]);
	for (size_t i = 0; i < o->path_length; i++)
		json_object_array_add(list, json_object_new_string(verdict_names[o->path[i]]));
	json_add(e, "path", list);
	if (earlier_verdict(study, number)) {
		struct json_object *was = json_object_new_object();

		json_add_text(was, "verdict", earlier_verdict(study, number));
		json_add_text(was, "tool", study->earlier_tool);
		json_add(e, "was", was);
	}
	json_add_text(e, "reason", o->reason);
	json_add_text(e, "definition", o->definition);
	json_add(e, "documented", event->documented.given ? rule_json(&event->documented) : NULL);
	if (event->is_guess)
		json_add(e, "guess", json_object_new_boolean(true));
	json_add(e, "rule", o->found.given ? rule_json(&o->found) : NULL);
	list = json_object_new_array();
	for (size_t i = 0; i < o->fault_count; i++) {
		struct json_object *fault = json_append(list);

		json_add_text(fault, "fault", fault_name(o->faults[i].fault));
		json_add_text(fault, "text", o->faults[i].text);
	}
	json_add(e, "faults", list);
	json_add_u64(e, "spread", o->spread);
	json_add_u64(e, "accept_absolute", event->accept.absolute);
	json_add_u64(e, "accept_relative_ppm", event->accept.relative_ppm);
	json_add(e, "carried",
		 study->carried && study->carried[number].campaign ?
			 carried_json(&study->carried[number]) :
			 NULL);
	json_add(e, "points", points_json(study, number));
	json_add(e, "search", o->searched ? search_json(o) : NULL);
	list = json_object_new_array();
	steps = validate_chain(study, number, report->arena, &count);
	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, json_object_new_string(steps[i]));
	json_add(e, "reasoning", list);
	return e;
}

static struct json_object *relations_json(const struct study *study)
{
	const struct campaign *c = study->analysis.campaign;
	struct json_object *list = json_object_new_array();

	for (size_t r = 0; r < c->relation_count; r++) {
		const struct relation_result *result = &study->relations[r];
		struct json_object *relation = json_append(list);

		json_add_text(relation, "relation", c->relations[r].name);
		json_add_text(relation, "left", c->relations[r].left);
		json_add_text(relation, "right", c->relations[r].right);
		json_add_u64(relation, "points", result->points);
		json_add_text(relation, "measured_at", result->measured_at);
		json_add_u64(relation, "violated", result->violated);
	}
	return list;
}

static struct json_object *next_json(const struct study *study)
{
	struct json_object *next, *events;
	const struct benchmark *b;
	const struct point *point;

	if (study->next.point < 0)
		return NULL;
	events = json_object_new_array();
	next = json_object_new_object();
	point = &study->analysis.points[study->next.point];
	b = &study->analysis.campaign->benchmarks[point->benchmark];
	json_add_text(next, "benchmark", b->name);
	json_add(next, "parameters", parameters_json(study, point));
	json_add_text(next, "listing", study->next.listing);
	json_add_text(next, "threads", b->listing ? b->threads : NULL);
	for (size_t e = 0; e < study->analysis.campaign->event_count; e++)
		if (propose_has(study, e))
			json_object_array_add(
				events,
				json_object_new_string(study->analysis.campaign->events[e].name));
	json_add(next, "events", events);
	return next;
}

void report_add_configuration(struct json_object *to, const struct measured *measured)
{
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < measured->configuration_count; i++)
		json_add_text(o, measured->configuration[2 * i],
			      measured->configuration[2 * i + 1]);
	json_add(to, "configuration", o);
}

static bool was_measured(const struct study *study, size_t benchmark)
{
	const struct measured *m = &study->analysis.measured;

	for (size_t i = 0; i < m->count; i++)
		if (m->readings[i].benchmark == benchmark)
			return true;
	return false;
}

/* what --measured reads */
static void add_inputs(struct json_object *to, const struct study *study)
{
	const struct analysis *a = &study->analysis;
	struct json_object *made = json_object_new_array();

	report_add_configuration(to, &a->measured);
	for (size_t b = 0; b < a->campaign->benchmark_count; b++) {
		struct json_object *one;

		/* one that is only proposed is no input */
		if (!a->campaign->benchmarks[b].constructed || !was_measured(study, b))
			continue;
		one = json_append(made);
		json_add_text(one, "benchmark", a->campaign->benchmarks[b].name);
		json_add_text(one, "listing", a->campaign->benchmarks[b].listing_file);
		json_add_text(one, "threads", a->campaign->benchmarks[b].threads);
	}
	json_add(to, "constructed", made);
	json_add(to, "rows", rows_json(study));
}

static struct json_object *study_json(const struct report *report, const struct study *study)
{
	const struct analysis *a = &study->analysis;
	struct json_object *s = json_object_new_object(), *events = json_object_new_array();

	json_add_text(s, "campaign", a->campaign->name);
	json_add_text(s, "title", a->campaign->title);
	json_add_text(s, "measured", a->measured.source);
	add_inputs(s, study);
	for (size_t e = 0; e < a->campaign->event_count; e++)
		json_object_array_add(events, event_json(report, study, e));
	json_add(s, "events", events);
	json_add_text(s, "carried_untested", a->strangers);
	json_add(s, "relations", relations_json(study));
	json_add(s, "next", next_json(study));
	json_add(s, "dropped_readings", json_object_new_uint64(a->dropped));
	return s;
}

void validate_readings(const struct study *study, FILE *out)
{
	struct json_object *root = json_object_new_object();

	json_add_u64(root, "schema", RESULT_SCHEMA);
	json_add_text(root, "campaign", study->analysis.campaign->name);
	add_inputs(root, study);
	json_write(out, root, true);
}

void validate_json(const struct report *report, FILE *out)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	json_add_u64(root, "schema", RESULT_SCHEMA);
	json_add_text(root, "tool", "perfctr validate " PERFCTR_VERSION);
	json_add_text(root, "build", build_id(report->arena));
	json_add_text(root, "time", report->time);
	json_add_text(root, "kernel", report->on.release);
	json_add_text(root, "machine", report->on.machine);
	for (size_t i = 0; i < report->count; i++)
		json_object_array_add(list, study_json(report, &report->studies[i]));
	json_add(root, "campaigns", list);
	list = json_object_new_array();
	for (size_t i = 0; i < report->skipped_count; i++) {
		struct json_object *one = json_append(list);

		json_add_text(one, "campaign", report->skipped[2 * i]);
		json_add_text(one, "reason", report->skipped[2 * i + 1]);
	}
	json_add(root, "skipped", list);
	json_write(out, root, true);
}
