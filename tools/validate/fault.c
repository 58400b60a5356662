// SPDX-License-Identifier: MIT
/* The table of known faults, and which of them predict all readings. */
#include "fault.h"

enum { MIN_BITS = 8, MAX_BITS = 48, MAX_MULTIPLE = 4 };

/* a hypothesis that is compared with all readings of an event */
struct trial {
	const struct analysis *a;
	const struct campaign_event *event;
	size_t number;
	struct rule rule; /* for linear faults: the rule of what is counted */
	/* for other faults */
	enum fault fault;
	unsigned int bits;
};

const char *fault_name(enum fault fault)
{
	static const char *const names[] = {
		[FAULT_NONE] = "none",
		[FAULT_MULTIPLE] = "multiple",
		[FAULT_SWAP] = "swap",
		[FAULT_MULTIPLEXER] = "stale-multiplexer",
		[FAULT_DEAD] = "dead",
		[FAULT_PREDICATED_OFF] = "predicated-off",
		[FAULT_OFF_BY_ONE] = "off-by-one",
		[FAULT_SATURATED] = "saturated",
		[FAULT_WRAPPED] = "wrapped",
		[FAULT_STALE] = "stale",
		[FAULT_SILENT] = "silent",
	};

	return names[fault];
}

/* the point whose work was done just before that of a reading; NULL: unknown */
static const struct point *point_before(const struct analysis *a, const struct reading *reading)
{
	const struct reading *before = reading->sequence ? analysis_at(a, reading->sequence - 1) :
							   NULL;

	return before ? &a->points[a->point_of[before - a->measured.readings]] : NULL;
}

/*
 * Returns 1 with a prediction; 0 if there is none for this reading; -1 if the fault is impossible.
 */
static int predict(const struct trial *t, size_t n, uint64_t *value)
{
	const struct reading *reading = &t->a->measured.readings[n];
	const struct point *point = &t->a->points[t->a->point_of[n]];
	uint64_t limit, share;

	if (t->fault == FAULT_STALE) {
		if (reading->sequence == NO_SEQUENCE || point->kernels != 1)
			return -1;
		point = point_before(t->a, reading);
		if (!point)
			return 0;
	}
	if (analysis_expected(t->a, point, &t->rule, reading->units, value) < 0)
		return -1;
	if (t->fault != FAULT_SATURATED && t->fault != FAULT_WRAPPED)
		return 1;
	/* each unit does its share of each kernel */
	limit = reading->units * (uint64_t)point->kernels;
	if (!limit || *value % limit)
		return -1;
	share = *value / limit;
	if (t->fault == FAULT_WRAPPED)
		share &= (UINT64_C(1) << t->bits) - 1;
	else if (share >= UINT64_C(1) << t->bits)
		share = (UINT64_C(1) << t->bits) - 1;
	*value = share * limit;
	return 1;
}

/* whether the trial agrees with all readings, and the documentation disagrees with at least one */
static bool agrees(const struct trial *t)
{
	const struct analysis *a = t->a;
	bool differs = false, any = false;

	for (size_t n = a->first[t->number]; n < a->first[t->number + 1]; n++) {
		const size_t i = a->order[n];
		const struct reading *reading = &a->measured.readings[i];
		uint64_t value, documented;
		int predicted;

		predicted = predict(t, i, &value);
		if (predicted < 0 ||
		    (predicted && !analysis_accepts(t->event, value, reading->value)))
			return false;
		any |= predicted > 0;
		if (!analysis_expected(a, &a->points[a->point_of[i]], &t->event->documented,
				       reading->units, &documented) &&
		    !analysis_accepts(t->event, documented, reading->value))
			differs = true;
	}
	return any && differs;
}

static bool rule_agrees(const struct analysis *a, size_t event, const struct rule *rule)
{
	const struct trial t = {
		.a = a,
		.event = &a->campaign->events[event],
		.number = event,
		.rule = *rule,
	};

	return agrees(&t);
}

static struct rule copy_rule(const struct analysis *a, const struct rule *rule, int64_t factor)
{
	struct rule copy = { .given = true };

	for (size_t i = 0; i < rule->count; i++)
		rule_add(a->arena, &copy, &rule->terms[i].feature, factor * rule->terms[i].weight);
	return copy;
}

/* the documented rule, counting its instructions in another state too */
static struct rule with_state(const struct analysis *a, const struct rule *rule, enum state state)
{
	struct rule more = copy_rule(a, rule, 1);

	for (size_t i = 0; i < rule->count; i++) {
		struct feature feature = rule->terms[i].feature;

		if (feature.state != STATE_ON)
			continue;
		feature.state = state;
		if (!rule_weight(rule, &feature))
			rule_add(a->arena, &more, &feature, rule->terms[i].weight);
	}
	return more;
}

static struct rule with_extra(const struct analysis *a, const struct rule *rule, const char *name)
{
	const struct feature extra = { .name = name };
	struct rule more = copy_rule(a, rule, 1);

	rule_add(a->arena, &more, &extra, 1);
	return more;
}

struct catalogue {
	const struct analysis *a;
	size_t event;
	struct fault_found *found;
	size_t max;
	size_t count;
};

static void report(struct catalogue *c, enum fault fault, const struct rule *correct,
		   const char *text)
{
	if (c->count < c->max)
		c->found[c->count++] =
			(struct fault_found){ fault, text,
					      correct ? *correct : (struct rule){ 0 } };
}

static void try_rule(struct catalogue *c, enum fault fault, struct rule rule, const char *text)
{
	if (rule_agrees(c->a, c->event, &rule))
		report(c, fault, &rule, text);
}

static void try_others(struct catalogue *c)
{
	const struct campaign *campaign = c->a->campaign;
	const struct rule *own = &campaign->events[c->event].documented;

	for (size_t o = 0; o < campaign->event_count; o++) {
		const struct campaign_event *other = &campaign->events[o];

		if (o == c->event || !other->documented.given || !other->documented.count ||
		    other->is_guess || !rule_agrees(c->a, c->event, &other->documented))
			continue;
		if (rule_agrees(c->a, o, own))
			report(c, FAULT_SWAP, &other->documented,
			       arena_printf(c->a->arena, "swapped: it and %s are exchanged",
					    other->name));
		else
			report(c, FAULT_MULTIPLEXER, &other->documented,
			       arena_printf(c->a->arena,
					    "stale multiplexer: it counts what %s should count",
					    other->name));
	}
}

static void try_widths(struct catalogue *c, enum fault fault, const char *text)
{
	struct trial t = {
		.a = c->a,
		.event = &c->a->campaign->events[c->event],
		.number = c->event,
		.rule = c->a->campaign->events[c->event].documented,
		.fault = fault,
	};

	for (t.bits = MIN_BITS; t.bits <= MAX_BITS; t.bits++)
		if (agrees(&t))
			report(c, fault, NULL, arena_printf(c->a->arena, text, t.bits));
}

size_t fault_find(const struct analysis *a, size_t event, struct fault_found *found, size_t max)
{
	struct catalogue c = { .a = a, .event = event, .found = found, .max = max };
	const struct rule *own = &a->campaign->events[event].documented;
	struct trial stale = {
		.a = a,
		.event = &a->campaign->events[event],
		.number = event,
		.rule = *own,
		.fault = FAULT_STALE,
	};

	/* what a counter should do is not known by a guess */
	if (!own->given || a->campaign->events[event].is_guess)
		return 0;
	for (int k = 2; k <= MAX_MULTIPLE; k++)
		try_rule(&c, FAULT_MULTIPLE, copy_rule(a, own, k),
			 arena_printf(a->arena, "%s: it counts %d times what it should",
				      k == 2 ? "doubled" : "multiplied", k));
	try_others(&c);
	try_rule(&c, FAULT_DEAD, with_state(a, own, STATE_DEAD),
		 "dead code is counted: what stands behind EXIT and is never reached");
	try_rule(&c, FAULT_PREDICATED_OFF, with_state(a, own, STATE_OFF),
		 "instructions whose guard is false are counted");
	try_rule(&c, FAULT_OFF_BY_ONE, with_extra(a, own, FEATURE_UNIT),
		 "off by one: one too many for each kernel in each unit");
	try_rule(&c, FAULT_OFF_BY_ONE, with_extra(a, own, FEATURE_KERNEL),
		 "off by one: one too many for each kernel");
	try_rule(&c, FAULT_SILENT, (struct rule){ .given = true }, "it never counts");
	try_widths(&c, FAULT_SATURATED, "saturated: a unit stops at 2^%u - 1 in each kernel");
	try_widths(&c, FAULT_WRAPPED, "wrapped: a unit counts modulo 2^%u in each kernel");
	if (agrees(&stale))
		report(&c, FAULT_STALE, NULL,
		       "stale: it reports the kernel before, a buffer swap is lost");
	return c.count;
}

bool fault_of_rule(const struct analysis *a, size_t event, const struct search *search,
		   struct fault_found *found)
{
	const struct rule *own = &a->campaign->events[event].documented;
	struct rule rule = search_rule(a, search, 0, a->arena);
	bool dead = true, off = true, extra = true, any = false;

	for (size_t v = 0; v < search->count; v++) {
		const struct feature *feature = &a->features.items[search->variables[v]];
		int64_t more = rule_weight(&rule, feature) - rule_weight(own, feature);

		if (!more || !search->occurs[v])
			continue;
		any = true;
		dead &= more > 0 && feature->state == STATE_DEAD;
		off &= more > 0 && feature->state == STATE_OFF;
		extra &= more > 0 && *feature->name == '@';
	}
	*found = (struct fault_found){ .correct = rule };
	if (!any || a->campaign->events[event].is_guess)
		return false;
	if (dead) {
		found->fault = FAULT_DEAD;
		found->text = "dead code is counted: what stands behind EXIT and is never reached";
	} else if (off) {
		found->fault = FAULT_PREDICATED_OFF;
		found->text = "instructions whose guard is false are counted";
	} else if (extra) {
		found->fault = FAULT_OFF_BY_ONE;
		found->text = "off by one: some are added for each kernel";
	}
	return found->fault != FAULT_NONE;
}
