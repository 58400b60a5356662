// SPDX-License-Identifier: MIT
/* Makes the points of a campaign, counts their features, and sums up their readings. */
#include "analysis.h"
#include "architecture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMED = 4 }; /* points that a sentence names */

/* --- formulas ---------------------------------------------------------------------- */

struct names {
	const struct analysis *analysis;
	const struct point *point;
	const struct cell *cells;
	const char *unknown;
	bool missing;
};

static void lookup(void *data, const char *name, struct perfctr_value *value)
{
	struct names *names = data;
	const struct campaign *campaign = names->analysis->campaign;
	long n;

	*value = (struct perfctr_value){ .flags = PERFCTR_VALUE_INTEGER };
	if (names->point) {
		n = benchmark_parameter(&campaign->benchmarks[names->point->benchmark], name);
		if (n >= 0) {
			value->integer = names->point->parameters[n];
			value->number = (double)value->integer;
			return;
		}
	}
	for (size_t i = 0; i < campaign->constant_count; i++) {
		if (!strcmp(campaign->constants[i].name, name)) {
			value->integer = campaign->constants[i].value;
			value->number = (double)value->integer;
			return;
		}
	}
	n = names->cells ? campaign_event(campaign, name) : -1;
	if (n >= 0 && names->cells[n].count && names->cells[n].value <= INT64_MAX) {
		value->integer = (int64_t)names->cells[n].value;
		value->number = (double)value->integer;
		return;
	}
	value->state = PERFCTR_VALUE_NOT_MEASURED;
	if (n >= 0)
		names->missing = true;
	else
		names->unknown = name;
}

int analysis_formula(const struct analysis *analysis, const char *text, const struct point *point,
		     const struct cell *cells, int64_t *value)
{
	struct names names = { .analysis = analysis, .point = point, .cells = cells };
	struct perfctr_expr *expr;
	struct perfctr_value result = { 0 };
	uint64_t number;

	/* most formulas are numbers */
	if (!parse_count(text, &number) && number <= INT64_MAX) {
		*value = (int64_t)number;
		return 0;
	}
	if (perfctr_expr_new(analysis->ctx, text, &expr))
		return fail(analysis->failure, "campaign %s: %s", analysis->campaign->name,
			    perfctr_ctx_error(analysis->ctx));
	perfctr_expr_eval(expr, lookup, &names, &result);
	*value = result.integer;
	if (names.unknown)
		fail(analysis->failure, "campaign %s: formula '%s': '%s' is not known",
		     analysis->campaign->name, text, names.unknown);
	else if (!names.missing &&
		 (result.state != PERFCTR_VALUE_OK || !(result.flags & PERFCTR_VALUE_INTEGER)))
		fail(analysis->failure, "campaign %s: formula '%s' gives no integer of 64 bits",
		     analysis->campaign->name, text);
	perfctr_expr_unref(expr);
	return analysis->failure->text[0] ? -1 : names.missing;
}

bool analysis_formula_has(const struct analysis *analysis, const char *text, const char *name)
{
	struct perfctr_expr *expr;
	const char *at;
	bool found = false;

	if (perfctr_expr_new(analysis->ctx, text, &expr))
		return false;
	for (size_t n = 0; !found && (at = perfctr_expr_name(expr, n)); n++)
		found = !strcmp(at, name);
	perfctr_expr_unref(expr);
	return found;
}

/* --- what points do ------------------------------------------------------------------ */

/* A written listing has the branches of listing.h, and no others that would not be seen. */
static int check_mnemonics(struct analysis *a, const struct benchmark *b,
			   const struct listing *listing)
{
	struct architecture of = { 0 };
	const char *name, *odd = NULL;
	size_t line = 0;

	for (size_t i = 0; i < listing->count; i++) {
		const char *mnemonic = listing->mnemonics[i];
		const char *text = listing_line(b->listing, listing->lines[i] - 1);
		const char *operands = strstr(text, mnemonic);

		if (listing->instructions[i].kind != LISTING_STEP || !operands ||
		    !architecture_is_foreign(mnemonic))
			continue;
		operands += strlen(mnemonic);
		architecture_take(&of,
				  &(struct printed){ .mnemonic = mnemonic,
						     .mnemonic_length = strlen(mnemonic),
						     .operands = operands,
						     .operands_length = strcspn(operands, "#\n") });
		if (odd)
			continue;
		odd = mnemonic;
		line = listing->lines[i];
	}
	if (!odd)
		return 0;
	architecture_of(&of, NULL, 0, &name);
	return fail(
		a->failure,
		"%s:%zu: '%s' is no instruction of a listing, where only BRA and EXIT end a "
		"block%s%s; give what a disassembler prints for x86-64, arm64, RISC-V or NVIDIA's "
		"SASS",
		b->listing_name, line, odd, name ? "; this looks like " : "", name ? name : "");
}

size_t benchmark_paths(const struct benchmark *b)
{
	return b->path_count ? b->path_count : 1;
}

int analysis_listing(struct analysis *a, const struct point *point, size_t path,
		     struct listing *listing)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	const char *text = b->path_count ? b->paths[path].listing : b->listing;
	struct listing_parameter parameters[MAX_PARAMETERS] = { 0 };
	char error[384] = "";
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int ret;

	if (!file)
		return fail(a->failure, "%s: %s", b->listing_name, strerror(errno));
	for (size_t i = 0; i < b->parameter_count; i++) {
		snprintf(parameters[i].name, sizeof(parameters[i].name), "%s",
			 b->parameters[i].name);
		parameters[i].value = point->parameters[i];
	}
	ret = listing_read(file, b->listing_name, NULL, parameters, b->parameter_count, listing,
			   error, sizeof(error));
	fclose(file);
	if (ret)
		return fail(a->failure, "%s", error);
	/* a disassembled program was converted */
	if (b->listing_file && b->listing != b->listing_file) {
		listing->name = b->listing_name;
		listing->source = b->listing_file;
		return 0;
	}
	ret = check_mnemonics(a, b, listing);
	if (ret)
		listing_free(listing);
	return ret;
}

static int too_many(struct analysis *a, const struct point *point)
{
	return fail(a->failure, "%s: it does more than 2^63 of something", point->name);
}

int analysis_path_threads(struct analysis *a, const struct point *point, size_t path,
			  int64_t *threads)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	int64_t all, lanes = 0, own = 0;

	if (analysis_formula(a, b->threads, point, NULL, &all))
		return -1;
	if (all < 1)
		return fail(a->failure, "%s: it has %" PRId64 " threads", point->name, all);
	*threads = all;
	for (size_t i = 0; i < b->path_count; i++) {
		int64_t more;

		if (analysis_formula(a, b->paths[i].lanes, point, NULL, &more))
			return -1;
		if (more < 0 || __builtin_add_overflow(lanes, more, &lanes))
			return fail(a->failure, "%s: a path has %" PRId64 " lanes", point->name,
				    more);
		own = i == path ? more : own;
	}
	if (!b->path_count)
		return 0;
	if (!lanes || all % lanes)
		return fail(a->failure,
			    "%s: its paths have %" PRId64 " lanes, of which %" PRId64
			    " threads are no multiple",
			    point->name, lanes, all);
	*threads = all / lanes * own;
	return 0;
}

/* Sum what the campaign takes together of the mnemonics that a point has. */
static int take_amounts(struct analysis *a, const struct features *mnemonics, struct point *point)
{
	const struct campaign *c = a->campaign;
	int64_t *counts;

	for (size_t n = 0; n < c->amount_count; n++)
		features_intern(a->arena, &a->features,
				&(struct feature){ .name = c->amounts[n].name });
	counts = arena_array(a->arena, a->features.count, sizeof(*counts));
	for (size_t n = 0; n < c->amount_count; n++) {
		const struct feature feature = { .name = c->amounts[n].name };
		int64_t *sum = &counts[features_find(&a->features, &feature)];

		for (size_t f = 0; f < mnemonics->count; f++) {
			const int64_t weight =
				rule_weight(&c->amounts[n].rule, &mnemonics->items[f]);
			int64_t part;

			if (__builtin_mul_overflow(weight, point->counts[f], &part) ||
			    __builtin_add_overflow(*sum, part, sum))
				return too_many(a, point);
		}
	}
	point->counts = counts;
	return 0;
}

/* Adds the features of the threads that go one path. */
static int count_path(struct analysis *a, struct point *point, size_t path)
{
	const int64_t *before = point->counts;
	const size_t known = point->known;
	struct features mnemonics = { 0 };
	struct listing listing;
	int64_t threads, times;
	int ret;

	if (analysis_path_threads(a, point, path, &threads) < 0 ||
	    analysis_listing(a, point, path, &listing))
		return -1;
	ret = listing_features(a->arena, a->campaign->amounts ? &mnemonics : &a->features,
			       &a->campaign->keep, &listing, &point->counts, a->failure);
	listing_free(&listing);
	if (ret < 0 || (a->campaign->amounts && take_amounts(a, &mnemonics, point) < 0))
		return -1;
	point->known = a->features.count;
	if (__builtin_mul_overflow(threads, point->kernels, &times))
		return too_many(a, point);
	for (size_t f = 0; f < point->known; f++)
		if (__builtin_mul_overflow(point->counts[f], times, &point->counts[f]) ||
		    (f < known &&
		     __builtin_add_overflow(point->counts[f], before[f], &point->counts[f])))
			return too_many(a, point);
	return 0;
}

static int count_listing(struct analysis *a, struct point *point)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];

	for (size_t path = 0; path < benchmark_paths(b); path++)
		if (count_path(a, point, path) < 0)
			return -1;
	return 0;
}

static int count_quantities(struct analysis *a, struct point *point)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	/* those of the listing, if it has any */
	const int64_t *before = point->counts;
	const size_t known = point->known;

	for (size_t i = 0; i < b->quantity_count; i++) {
		const struct feature feature = { .name = b->quantities[i].name };

		for (size_t n = 0; n < a->campaign->amount_count; n++)
			if (!strcmp(a->campaign->amounts[n].name, feature.name))
				return fail(a->failure,
					    "%s: quantity '%s' is an amount of listings",
					    point->name, feature.name);
		features_intern(a->arena, &a->features, &feature);
	}
	point->known = a->features.count;
	point->counts = arena_array(a->arena, point->known, sizeof(*point->counts));
	if (before)
		memcpy(point->counts, before, known * sizeof(*before));
	for (size_t i = 0; i < b->quantity_count; i++) {
		const struct feature feature = { .name = b->quantities[i].name };
		int64_t amount;

		if (analysis_formula(a, b->quantities[i].formula, point, NULL, &amount))
			return -1;
		if (amount < 0 || __builtin_mul_overflow(amount, point->kernels, &amount))
			return fail(a->failure, "%s: quantity '%s' is negative or beyond 63 bits",
				    point->name, feature.name);
		point->counts[features_find(&a->features, &feature)] += amount;
	}
	return 0;
}

static const char *point_name(struct analysis *a, size_t benchmark, const int64_t *parameters)
{
	const struct benchmark *b = &a->campaign->benchmarks[benchmark];
	const char *text = b->name;

	for (size_t i = 0; i < b->parameter_count; i++)
		text = arena_printf(a->arena, "%s %s=%" PRId64, text, b->parameters[i].name,
				    parameters[i]);
	return text;
}

static int count_point(struct analysis *a, struct point *point)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];

	point->counts = NULL;
	point->known = 0;
	/* amounts stand beside quantities, mnemonics do not */
	if (b->listing && (!b->quantity_count || a->campaign->amounts) &&
	    count_listing(a, point) < 0)
		return -1;
	return b->quantity_count ? count_quantities(a, point) : 0;
}

long analysis_point(struct analysis *a, size_t benchmark, const int64_t *parameters)
{
	const struct benchmark *b = &a->campaign->benchmarks[benchmark];
	const size_t bytes = b->parameter_count * sizeof(*parameters);
	uint64_t hash = hash_word(HASH_START, benchmark);
	struct point *point;
	size_t n;

	for (size_t p = 0; p < b->parameter_count; p++)
		hash = hash_word(hash, (uint64_t)parameters[p]);
	for (size_t at = 0; (n = hash_next(&a->point_table, hash, &at)) != HASH_END;)
		/* split_propose() removes points */
		if (n < a->point_count && a->points[n].benchmark == benchmark &&
		    !memcmp(a->points[n].parameters, parameters, bytes))
			return (long)n;
	a->points = arena_grow(a->arena, a->points, a->point_count, sizeof(*a->points));
	point = &a->points[a->point_count];
	*point = (struct point){ .benchmark = benchmark, .reserve = b->reserve };
	memcpy(point->parameters, parameters, bytes);
	point->name = point_name(a, benchmark, parameters);
	if (analysis_formula(a, b->kernels, point, NULL, &point->kernels))
		return -1;
	if (point->kernels < 1)
		return fail(a->failure, "%s: it is started %" PRId64 " times", point->name,
			    point->kernels);
	if (count_point(a, point))
		return -1;
	hash_add(a->arena, &a->point_table, hash, a->point_count);
	return (long)a->point_count++;
}

/* all combinations of values; the last parameter varies fastest */
static int add_points(struct analysis *a, size_t benchmark)
{
	const struct benchmark *b = &a->campaign->benchmarks[benchmark];
	size_t at[MAX_PARAMETERS] = { 0 };
	int64_t parameters[MAX_PARAMETERS] = { 0 };

	for (;;) {
		size_t p = b->parameter_count;

		for (size_t i = 0; i < p; i++)
			parameters[i] = b->parameters[i].values[at[i]];
		if (analysis_point(a, benchmark, parameters) < 0)
			return -1;
		while (p && ++at[p - 1] == b->parameters[p - 1].count)
			at[--p] = 0;
		if (!p)
			return 0;
	}
}

bool analysis_is_quantity(const struct campaign *c, const struct feature *feature)
{
	for (size_t b = 0; b < c->benchmark_count; b++)
		for (size_t q = 0; q < c->benchmarks[b].quantity_count; q++) {
			const struct feature quantity = {
				.name = c->benchmarks[b].quantities[q].name
			};

			if (feature_covers(feature, &quantity))
				return true;
		}
	for (size_t n = 0; n < c->amount_count; n++)
		if (feature_covers(feature, &(struct feature){ .name = c->amounts[n].name }))
			return true;
	return false;
}

static int check_feature(const struct analysis *a, const struct campaign_event *event,
			 const struct feature *feature)
{
	char text[96];

	if (*feature->name == '@' || analysis_is_quantity(a->campaign, feature))
		return 0;
	return fail(a->failure, "campaign %s: event '%s': no benchmark has '%s'", a->campaign->name,
		    event->name, feature_text(feature, text, sizeof(text)));
}

/* Reject names that no benchmark has, which are probably misspelled: they would count nothing. */
static int check_names(const struct analysis *a)
{
	const struct campaign *c = a->campaign;

	/* an instruction need not occur: its absence is a result */
	for (size_t b = 0; b < c->benchmark_count; b++)
		if (!c->benchmarks[b].quantity_count && !c->amounts)
			return 0;
	for (size_t e = 0; e < c->event_count; e++) {
		const struct campaign_event *event = &c->events[e];

		for (size_t i = 0; i < event->documented.count; i++)
			if (check_feature(a, event, &event->documented.terms[i].feature) < 0)
				return -1;
		for (size_t i = 0; i < event->candidate_count; i++)
			if (check_feature(a, event, &event->candidates[i]) < 0)
				return -1;
		for (size_t n = 0; n < event->idea_count; n++)
			for (size_t i = 0; i < event->ideas[n].rule.count; i++)
				if (check_feature(a, event,
						  &event->ideas[n].rule.terms[i].feature) < 0)
					return -1;
	}
	return 0;
}

static void intern_named(struct analysis *a, const struct feature *feature)
{
	if (strcmp(feature->name, "*") != 0)
		features_intern(a->arena, &a->features, feature);
}

int analysis_begin(struct analysis *a)
{
	const struct feature kernel = { .name = FEATURE_KERNEL }, unit = { .name = FEATURE_UNIT };

	a->unavailable = arena_array(a->arena, a->campaign->event_count, sizeof(*a->unavailable));
	if (check_names(a) < 0)
		return -1;
	/* features 0 and 1, see analysis_count() */
	features_intern(a->arena, &a->features, &kernel);
	features_intern(a->arena, &a->features, &unit);
	/* features that only a hypothesis or the documentation names count too */
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		const struct campaign_event *event = &a->campaign->events[e];

		for (size_t i = 0; i < event->candidate_count; i++)
			intern_named(a, &event->candidates[i]);
		for (size_t i = 0; i < event->documented.count; i++)
			intern_named(a, &event->documented.terms[i].feature);
	}
	for (size_t i = 0; i < a->campaign->benchmark_count; i++)
		if (add_points(a, i) < 0)
			return -1;
	return 0;
}

int analysis_set_cores(struct analysis *a, uint64_t mask)
{
	int64_t *cores = campaign_constant(a->campaign, CORES_CONSTANT);
	const int64_t count = __builtin_popcountll(mask);

	if (!cores || *cores == count)
		return 0;
	*cores = count;
	for (size_t p = 0; p < a->point_count; p++)
		if (count_point(a, &a->points[p]))
			return -1;
	return 0;
}

long analysis_construct(struct analysis *a, const char *name, const char *listing)
{
	const int64_t none[MAX_PARAMETERS] = { 0 };
	const long number = campaign_construct(a->arena, a->campaign, name, name, listing,
					       CONSTRUCTED_THREADS, a->failure);

	return number < 0 ? -1 : analysis_point(a, (size_t)number, none);
}

int64_t analysis_count(const struct analysis *a, const struct point *point, size_t feature,
		       uint64_t units)
{
	if (feature == 0)
		return point->kernels;
	if (feature == 1)
		return units < INT32_MAX ? point->kernels * (int64_t)units : 0;
	return feature < point->known ? point->counts[feature] : 0;
}

bool analysis_exercises(const struct analysis *a, size_t event, size_t feature)
{
	for (size_t p = 0; p < a->point_count; p++) {
		const struct cell cell = analysis_cell(a, p, event);

		if (cell.count && analysis_count(a, &a->points[p], feature, cell.units))
			return true;
	}
	return false;
}

bool analysis_lacks(const struct analysis *a, size_t event, const struct feature *part)
{
	for (size_t f = 0; f < a->features.count; f++)
		if (feature_covers(part, &a->features.items[f]) && analysis_exercises(a, event, f))
			return false;
	return true;
}

bool analysis_may_exercise(const struct analysis *a, size_t event, size_t feature)
{
	for (size_t p = 0; p < a->point_count; p++)
		if (benchmark_states(&a->campaign->benchmarks[a->points[p].benchmark], event) &&
		    analysis_count(a, &a->points[p], feature, 1))
			return true;
	return false;
}

const char *analysis_missing(const struct analysis *a, size_t event, const struct rule *rule)
{
	const char *text = "";
	char name[96];

	for (size_t t = 0; t < rule->count; t++)
		if (analysis_lacks(a, event, &rule->terms[t].feature))
			text = arena_printf(a->arena, "%s%s%s", text, *text ? ", " : "",
					    feature_text(&rule->terms[t].feature, name,
							 sizeof(name)));
	return text;
}

int analysis_expected(const struct analysis *a, const struct point *point, const struct rule *rule,
		      uint64_t units, uint64_t *value)
{
	wide sum = 0;

	for (size_t f = 0; f < a->features.count; f++) {
		const int64_t count = analysis_count(a, point, f, units);

		if (count)
			sum += (wide)rule_weight(rule, &a->features.items[f]) * count;
	}
	if (sum < 0 || sum > INT64_MAX)
		return -1;
	*value = (uint64_t)sum;
	return 0;
}

bool analysis_accepts(const struct campaign_event *event, uint64_t expected, uint64_t value)
{
	uint64_t apart = expected > value ? expected - value : value - expected;

	return apart <= acceptance_limit(&event->accept, expected);
}

const char *analysis_left_out(const struct analysis *a, const bool *events, size_t *count)
{
	const char *text = "";

	*count = 0;
	for (size_t p = 0; p < a->point_count; p++) {
		const struct point *point = &a->points[p];
		const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
		bool is_stated = true, is_measured = true;

		for (size_t e = 0; e < a->campaign->event_count; e++) {
			is_stated &= !events[e] || benchmark_states(b, e);
			is_measured &= !events[e] || analysis_cell(a, p, e).count;
		}
		if (b->reserve || b->constructed || !is_stated || is_measured)
			continue;
		if (++*count <= MAX_NAMED)
			text = arena_printf(a->arena, "%s%s%s", text,
					    *text ? ", " : "not measured: ", point->name);
	}
	return *count > MAX_NAMED ?
		       arena_printf(a->arena, "%s and %zu more", text, *count - MAX_NAMED) :
		       text;
}

/* If the least value that accepts the highest reading does not accept the lowest, none does. */
bool analysis_constant(const struct analysis *a, size_t number, const bool *left_out,
		       const uint64_t *more, uint64_t *constant)
{
	const struct campaign_event *event = &a->campaign->events[number];
	uint64_t least = more ? *more : UINT64_MAX, most = more ? *more : 0, low;

	for (size_t p = 0; p < a->point_count; p++) {
		const struct cell cell = analysis_cell(a, p, number);

		if (!cell.count || (left_out && left_out[p]))
			continue;
		least = cell.min < least ? cell.min : least;
		most = cell.max > most ? cell.max : most;
	}
	for (low = least, *constant = most; low < *constant;) {
		const uint64_t middle = low + (*constant - low) / 2;

		if (analysis_accepts(event, middle, most))
			*constant = middle;
		else
			low = middle + 1;
	}
	return least <= most && analysis_accepts(event, *constant, least);
}

/* --- readings ------------------------------------------------------------------------ */

static uint64_t cell_hash(size_t event, size_t point)
{
	return hash_word(hash_word(HASH_START, event), point);
}

struct cell analysis_cell(const struct analysis *a, size_t point, size_t event)
{
	const uint64_t hash = cell_hash(event, point);
	size_t n;

	for (size_t at = 0; (n = hash_next(&a->cell_table, hash, &at)) != HASH_END;)
		if (a->cells[n].event == event && a->cells[n].point == point)
			return a->cells[n];
	return (struct cell){ .event = event, .point = point };
}

bool analysis_has(const struct analysis *a, size_t event)
{
	return a->first[event] < a->first[event + 1];
}

const struct reading *analysis_at(const struct analysis *a, uint64_t sequence)
{
	const struct reading *readings = a->measured.readings;
	size_t n;

	for (size_t at = 0;
	     (n = hash_next(&a->sequence_table, hash_word(HASH_START, sequence), &at)) != HASH_END;)
		if (readings[n].sequence == sequence)
			return &readings[n];
	return NULL;
}

static int by_event(const void *x, const void *y, void *analysis)
{
	const struct analysis *a = analysis;
	const size_t i = *(const size_t *)x, j = *(const size_t *)y;
	const struct reading *r = &a->measured.readings[i], *s = &a->measured.readings[j];
	const uint64_t keys[][2] = { { r->event, s->event },
				     { a->point_of[i], a->point_of[j] },
				     { r->value, s->value },
				     { i, j } };

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		if (keys[k][0] != keys[k][1])
			return keys[k][0] < keys[k][1] ? -1 : 1;
	return 0;
}

/* Index all readings, and sort those in use. */
static void sort_readings(struct analysis *a)
{
	const struct measured *m = &a->measured;
	size_t used = 0;

	a->order = arena_array(a->arena, m->count, sizeof(*a->order));
	a->first = arena_array(a->arena, a->campaign->event_count + 1, sizeof(*a->first));
	a->sequence_table = (struct hash_table){ 0 };
	for (size_t i = 0; i < m->count; i++) {
		const struct reading *r = &m->readings[i];

		if (r->sequence != NO_SEQUENCE && !analysis_at(a, r->sequence))
			hash_add(a->arena, &a->sequence_table, hash_word(HASH_START, r->sequence),
				 i);
		if (r->dropped)
			continue;
		a->order[used++] = i;
		a->first[r->event + 1]++;
	}
	for (size_t e = 0; e < a->campaign->event_count; e++)
		a->first[e + 1] += a->first[e];
	qsort_r(a->order, used, sizeof(*a->order), by_event, a);
}

/* Adds the cell of the readings from a position in the order on. Returns the position after it. */
static size_t add_cell(struct analysis *a, size_t event, size_t from)
{
	const struct reading *readings = a->measured.readings;
	struct cell cell = { .event = event, .point = a->point_of[a->order[from]] };
	size_t at = from;

	for (; at < a->first[event + 1] && a->point_of[a->order[at]] == cell.point; at++) {
		const struct reading *r = &readings[a->order[at]];

		if (r->units)
			cell.units = r->units;
		if (r->has_published) {
			cell.published = r->published;
			cell.has_published = true;
		}
	}
	cell.count = at - from;
	cell.min = readings[a->order[from]].value;
	cell.value = readings[a->order[from + (cell.count - 1) / 2]].value;
	cell.max = readings[a->order[at - 1]].value;
	a->cells = arena_grow(a->arena, a->cells, a->cell_count, sizeof(*a->cells));
	hash_add(a->arena, &a->cell_table, cell_hash(cell.event, cell.point), a->cell_count);
	a->cells[a->cell_count++] = cell;
	return at;
}

static void fill_cells(struct analysis *a)
{
	a->cells = NULL;
	a->cell_count = 0;
	a->cell_table = (struct hash_table){ 0 };
	sort_readings(a);
	for (size_t e = 0; e < a->campaign->event_count; e++)
		for (size_t at = a->first[e]; at < a->first[e + 1];)
			at = add_cell(a, e, at);
}

static void drop_runs(struct analysis *a, size_t anchor)
{
	const struct campaign_event *event = &a->campaign->events[anchor];
	struct measured *m = &a->measured;

	for (size_t i = 0; i < m->count; i++) {
		struct reading like = m->readings[i];
		const struct cell cell = analysis_cell(a, a->point_of[i], anchor);
		const struct reading *own;

		like.event = anchor;
		own = measured_find(m, a->campaign, &like);
		/* keep a reading without an anchor: it cannot be compared */
		m->readings[i].dropped = own && !analysis_accepts(event, cell.value, own->value);
		a->dropped += m->readings[i].dropped;
	}
}

int analysis_merge(struct analysis *a)
{
	struct measured *m = &a->measured;

	a->point_of = arena_array(a->arena, m->count + 1, sizeof(*a->point_of));
	a->dropped = 0;
	for (size_t i = 0; i < m->count; i++) {
		long point = analysis_point(a, m->readings[i].benchmark, m->readings[i].parameters);

		if (point < 0) {
			a->bad_reading = &m->readings[i];
			return -1;
		}
		a->points[point].reserve = false;
		a->point_of[i] = (size_t)point;
		m->readings[i].dropped = false;
	}
	fill_cells(a);
	if (a->campaign->anchor)
		drop_runs(a, (size_t)campaign_event(a->campaign, a->campaign->anchor));
	if (a->dropped)
		fill_cells(a);
	return 0;
}
