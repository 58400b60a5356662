// SPDX-License-Identifier: MIT
/* --from: reads the findings of an earlier result, and judges them by new readings. */
#include "verdict.h"

#include <inttypes.h>
#include <string.h>

#include "common/number.h"
#include "document.h"

const char *const carried_names[] = {
	[CARRIED_UNTESTED] = "untested",
	[CARRIED_CONFIRMED] = "confirmed",
	[CARRIED_REFUTED] = "refuted",
};

/* --- reading ---------------------------------------------------------------------------- */

/* an element of an array that must be an object */
static const struct json_object *element(const struct document *doc, const struct json_object *list,
					 size_t i)
{
	const struct json_object *one = json_object_array_get_idx(list, i);

	if (json_object_is_type(one, json_type_object))
		return one;
	document_fail(doc, one ? one : list, "an element is an object");
	return NULL;
}

static int read_number(const struct document *doc, const struct json_object *object,
		       const char *key, int64_t *number)
{
	const struct json_object *member = document_get(doc, object, key, json_type_int, true);

	if (member)
		*number = json_object_get_int64(member);
	return member ? 0 : -1;
}

static int read_feature(const struct document *doc, const struct json_object *term,
			struct feature *feature)
{
	const char *text = document_text(doc, term, "feature", NULL);

	return text ? feature_parse(doc->arena, text, feature, doc->failure) : -1;
}

static int read_terms(const struct document *doc, const struct json_object *list, struct rule *rule)
{
	rule->given = true;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		const struct json_object *term = element(doc, list, i);
		struct feature feature;
		int64_t weight;

		if (!term || read_feature(doc, term, &feature) < 0 ||
		    read_number(doc, term, "weight", &weight) < 0)
			return -1;
		rule_add(doc->arena, rule, &feature, weight);
	}
	return 0;
}

static int read_weights(const struct document *doc, const struct json_object *list,
			struct rule_group *set)
{
	set->features =
		arena_array(doc->arena, json_object_array_length(list), sizeof(*set->features));
	set->allowed =
		arena_array(doc->arena, json_object_array_length(list), sizeof(*set->allowed));
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		const struct json_object *one = element(doc, list, i), *weights;

		weights = one ? document_get(doc, one, "weights", json_type_array, true) : NULL;
		if (!weights || read_feature(doc, one, &set->features[i]) < 0)
			return -1;
		for (size_t w = 0; w < json_object_array_length(weights); w++) {
			struct json_object *number = json_object_array_get_idx(weights, w);
			uint64_t weight;

			if (document_count(doc, number ? number : weights, "weights", MAX_WEIGHT,
					   &weight) < 0)
				return -1;
			set->allowed[i] |= weight_bit((unsigned int)weight);
		}
		set->count++;
	}
	return 0;
}

static int read_facts(const struct document *doc, const struct json_object *list,
		      struct rule_group *set)
{
	set->facts = arena_array(doc->arena, json_object_array_length(list), sizeof(*set->facts));
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		const struct json_object *one = element(doc, list, i), *sum;
		struct sum_fact *fact = &set->facts[i];

		sum = one ? document_get(doc, one, "sum", json_type_array, true) : NULL;
		if (!sum || read_terms(doc, sum, &fact->sum) < 0 ||
		    read_number(doc, one, "min", &fact->lo) < 0 ||
		    read_number(doc, one, "max", &fact->hi) < 0)
			return -1;
		set->fact_count++;
	}
	return 0;
}

/* The readings of an event, so that the same ones confirm nothing. */
static int read_rows(const struct document *doc, const struct json_object *result,
		     const char *event, struct carried *c)
{
	const struct json_object *rows = document_get(doc, result, "rows", json_type_array, false);

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		const struct json_object *row = element(doc, rows, i), *parameters;
		const char *of = row ? document_text(doc, row, "event", NULL) : NULL;
		struct from_row *at;

		if (!of)
			return -1;
		if (strcmp(of, event) != 0)
			continue;
		c->rows = arena_grow(doc->arena, c->rows, c->row_count, sizeof(*c->rows));
		at = &c->rows[c->row_count++];
		at->point = document_text(doc, row, "benchmark", NULL);
		at->run = document_u64(doc, row, "run", INT64_MAX, 0);
		at->value = document_u64(doc, row, "value", UINT64_MAX, 0);
		parameters = document_get(doc, row, "parameters", json_type_object, false);
		if (!parameters)
			continue;
		json_object_object_foreach((struct json_object *)parameters, key, value)
		{
			at->point = arena_printf(doc->arena, "%s %s=%" PRId64, at->point, key,
						 json_object_get_int64(value));
		}
	}
	return doc->failure->text[0] ? -1 : 0;
}

/* The configuration of readings as pairs of name and value, sorted as in the file. */
static const char **from_configuration(const struct document *doc, const struct json_object *result,
				       size_t *count)
{
	const struct json_object *o =
		document_get(doc, result, "configuration", json_type_object, false);
	const char **pairs = NULL;

	*count = 0;
	if (!o)
		return NULL;
	pairs = arena_array(doc->arena, 2 * (size_t)json_object_object_length(o), sizeof(*pairs));
	json_object_object_foreach((struct json_object *)o, key, value)
	{
		pairs[2 * *count] = arena_copy(doc->arena, key, strlen(key));
		pairs[2 * *count + 1] = document_string(doc, value ? value : o, key);
		++*count;
	}
	return pairs;
}

/* Neither an untrusted event nor one without a search carries anything over. */
static int read_event(const struct document *doc, const struct json_object *event,
		      const char *campaign, struct carried *carried)
{
	const char *verdict = document_text(doc, event, "verdict", NULL);
	const struct json_object *list, *search;
	struct carried c = { .campaign = campaign, .verdict = verdict };

	if (!verdict)
		return -1;
	if (!strcmp(verdict, "TRUSTED") || !strcmp(verdict, "EXPLAINED")) {
		list = document_get(doc, event, "rule", json_type_array, false);
		if (!list || read_terms(doc, list, &c.rule) < 0)
			return doc->failure->text[0] ? -1 : 0;
		c.definition = rule_text(doc->arena, &c.rule);
	} else if (!strcmp(verdict, "QUARANTINED")) {
		search = document_get(doc, event, "search", json_type_object, false);
		list = search ? document_get(doc, search, "weights", json_type_array, false) : NULL;
		if (!list || read_weights(doc, list, &c.set) < 0)
			return doc->failure->text[0] ? -1 : 0;
		list = document_get(doc, search, "facts", json_type_array, true);
		c.definition = document_text(doc, event, "definition", "");
		if (!list || !c.definition || read_facts(doc, list, &c.set) < 0)
			return -1;
	} else {
		return 0;
	}
	*carried = c;
	return 0;
}

static int read_result(const struct document *doc, const struct json_object *result,
		       struct analysis *a, struct carried *carried, size_t *count)
{
	const char *name = document_text(doc, result, "campaign", NULL);
	const struct json_object *events =
		name ? document_get(doc, result, "events", json_type_array, true) : NULL;

	for (size_t i = 0; events && i < json_object_array_length(events); i++) {
		const struct json_object *event = element(doc, events, i);
		const char *text = event ? document_text(doc, event, "event", NULL) : NULL;
		long number;

		if (!text)
			return -1;
		number = campaign_event(a->campaign, text);
		if (number < 0)
			a->strangers = arena_printf(doc->arena, "%s%s%s",
						    a->strangers ? a->strangers : "",
						    a->strangers ? ", " : "", text);
		if (number < 0 || carried[number].campaign)
			continue;
		if (read_event(doc, event, name, &carried[number]) < 0)
			return -1;
		if (carried[number].campaign && read_rows(doc, result, text, &carried[number]) < 0)
			return -1;
		carried[number].configuration =
			from_configuration(doc, result, &carried[number].configuration_count);
		*count += carried[number].campaign != NULL;
	}
	return events ? 0 : -1;
}

int from_read(struct analysis *a, const char *path, struct carried *carried)
{
	struct document doc = { .name = path, .arena = a->arena, .failure = a->failure };
	const struct json_object *list = NULL;
	size_t count = 0;
	int ret = -1;

	doc.text = read_file(a->arena, path, &doc.length, a->failure);
	if (!doc.text || document_parse(&doc) < 0)
		return -1;
	if (json_object_is_type(doc.root, json_type_object) &&
	    document_u64(&doc, doc.root, "schema", UINT32_MAX, 1) > RESULT_SCHEMA) {
		document_fail(&doc, doc.root,
			      "the file is of a newer perfctr; this one reads up to schema %d",
			      RESULT_SCHEMA);
		document_free(&doc);
		return -1;
	}
	if (json_object_is_type(doc.root, json_type_object))
		list = document_get(&doc, doc.root, "campaigns", json_type_array, false);
	if (!list)
		document_fail(&doc, doc.root,
			      "this is no result file: write one with perfctr validate --json");
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const struct json_object *result = element(&doc, list, i);

		ret = result ? read_result(&doc, result, a, carried, &count) : -1;
		if (ret < 0)
			break;
	}
	if (list && !ret && !count)
		ret = document_fail(&doc, list,
				    "the file explains no event of campaign %s, nor has it rules "
				    "that are left of one",
				    a->campaign->name);
	document_free(&doc);
	return list ? ret : -1;
}

/* --- comparing -------------------------------------------------------------------------- */

/* Whether the readings here are of the same place and time as the earlier ones. */
static bool is_same_place(const struct analysis *a, const struct carried *c)
{
	const struct measured *m = &a->measured;

	for (size_t i = 0; i < c->configuration_count; i++) {
		const char *here = measured_configured(m, c->configuration[2 * i]);

		if (!here || strcmp(here, c->configuration[2 * i + 1]) != 0)
			return false;
	}
	return m->configuration_count == c->configuration_count;
}

/* Whether each reading at a point is one that the finding was made from. */
static bool is_old(const struct analysis *a, size_t event, size_t point, const struct carried *c)
{
	for (size_t n = a->first[event]; n < a->first[event + 1]; n++) {
		const size_t i = a->order[n];
		const struct reading *r = &a->measured.readings[i];
		bool found = false;

		for (size_t row = 0; row < c->row_count && !found; row++)
			found = c->rows[row].run == r->run && c->rows[row].value == r->value &&
				!strcmp(c->rows[row].point, a->points[point].name);
		if (a->point_of[i] == point && !found)
			return false;
	}
	return true;
}

/* By point: whether all readings are those that the finding was made from. */
static bool *old_points(const struct analysis *a, size_t event, const struct carried *c)
{
	bool *old = arena_array(a->arena, a->point_count, sizeof(*old));
	const bool same = is_same_place(a, c);

	for (size_t p = 0; p < a->point_count; p++)
		old[p] = same && is_old(a, event, p, c);
	return old;
}

/* Confirm a finding that agrees at a number of new points, if they show it. */
static void confirm(const struct analysis *a, size_t event, const bool *old, size_t points,
		    struct carried *c)
{
	const char *doubt = verdict_doubt(a, event, c->rule.given ? &c->rule : NULL, old);

	c->result = points > 1 && !doubt ? CARRIED_CONFIRMED : CARRIED_UNTESTED;
	if (points > 1 && doubt)
		c->text = arena_printf(a->arena, "%s; %s", c->text, doubt);
}

static void judge_rule(struct analysis *a, size_t event, struct carried *c)
{
	const bool *old = old_points(a, event, c);
	size_t points = 0, old_count = 0;
	const char *rest;

	for (size_t p = 0; p < a->point_count; p++) {
		const struct cell cell = analysis_cell(a, p, event);
		uint64_t value = 0;

		if (!cell.count)
			continue;
		if (analysis_expected(a, &a->points[p], &c->rule, cell.units, &value) ||
		    !analysis_accepts(&a->campaign->events[event], value, cell.min) ||
		    !analysis_accepts(&a->campaign->events[event], value, cell.max)) {
			c->result = CARRIED_REFUTED;
			c->text = arena_printf(a->arena,
					       "it gives %" PRIu64 " at %s, measured %" PRIu64,
					       value, a->points[p].name, cell.value);
			return;
		}
		old_count += value && old[p];
		points += value && !old[p];
	}
	rest = analysis_missing(a, event, &c->rule);
	c->text = arena_printf(a->arena, "it agrees at %zu point%s where it counts%s%s", points,
			       plural(points), *rest ? "; no benchmark had: " : "", rest);
	if (old_count)
		c->text = arena_printf(a->arena,
				       "%s; the readings of %zu point%s are those that it was made "
				       "from",
				       c->text, old_count, plural(old_count));
	confirm(a, event, old, points, c);
}

/* A feature that the measurements have, all rules of a set count and no rule here may; or NULL. */
static const struct feature *beyond(const struct analysis *a, size_t event,
				    const struct rule_group *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const long f = features_find(&a->features, &set->features[i]);

		if (f >= 0 && analysis_exercises(a, event, (size_t)f) &&
		    !search_may_use(a, event, (size_t)f, false) &&
		    !(set->allowed[i] & weight_bit(0)))
			return &set->features[i];
	}
	return NULL;
}

static void judge_set(struct analysis *a, size_t event, struct carried *c)
{
	const struct feature *other = beyond(a, event, &c->set);
	const bool *old = old_points(a, event, c);
	struct search here, both;
	size_t points = 0;
	char name[96];

	if (!analysis_has(a, event)) {
		c->text = "not measured";
		return;
	}
	if (other) {
		c->text = arena_printf(a->arena,
				       "not compared: it counts %s, which no rule here may; add it "
				       "to the candidates",
				       feature_text(other, name, sizeof(name)));
		return;
	}
	for (size_t p = 0; p < a->point_count; p++)
		points += analysis_cell(a, p, event).count && !old[p];
	if (search_rules(a, event, false, NULL, &here) < 0) {
		c->text = arena_printf(a->arena, "not searched: %s", here.failure.text);
	} else if (search_rules(a, event, false, &c->set, &both) < 0) {
		c->text = arena_printf(a->arena, "not searched: %s", both.failure.text);
		search_free(&both);
	} else {
		if (here.space.solutions == UINT64_MAX)
			c->text = "more than 2^64 rules fit here";
		else
			c->text = arena_printf(a->arena,
					       "of %" PRIu64 " rules that fit here, %" PRIu64
					       " also fitted there; other readings at %zu point%s",
					       here.space.solutions, both.space.solutions, points,
					       plural(points));
		if (!both.space.solutions)
			c->result = CARRIED_REFUTED;
		else if (both.space.solutions == here.space.solutions &&
			 here.space.solutions != UINT64_MAX)
			confirm(a, event, old, points, c);
		search_free(&both);
	}
	search_free(&here);
}

void from_judge(struct analysis *a, size_t event, struct carried *c)
{
	c->result = CARRIED_UNTESTED;
	c->text = NULL;
	if (c->rule.given)
		judge_rule(a, event, c);
	else
		judge_set(a, event, c);
}

long from_next(const struct analysis *a, const struct carried *carried)
{
	for (size_t p = 0; p < a->point_count; p++)
		for (size_t e = 0; a->points[p].reserve && e < a->campaign->event_count; e++) {
			const struct carried *c = &carried[e];
			uint64_t value = 0;

			if (c->campaign && c->rule.given && c->result == CARRIED_UNTESTED &&
			    !a->unavailable[e] &&
			    benchmark_states(&a->campaign->benchmarks[a->points[p].benchmark], e) &&
			    !analysis_expected(a, &a->points[p], &c->rule, 0, &value) &&
			    acceptance_is_narrow(&a->campaign->events[e].accept, value))
				return (long)p;
		}
	return -1;
}
