// SPDX-License-Identifier: MIT
/* perfkit: values of counters, each computed from the pass that measured it. */
#include "perfkit.h"

#include <string.h>
#include <strings.h>

#include "counters/metric.h"
#include "counters/totals.h"

enum { PERCENT = 100 };

/* inputs and result of a value; cycles and time are those of its first counter */
struct computation {
	const struct perfctr_perfkit *kit;
	const struct kit_entry *entry;
	unsigned int object;
	bool has_cycles, clock_known;
	uint64_t cycles, elapsed_ns, blocks;
	/* clock of the first counter, if it has cycles */
	uint32_t clock;
	struct fraction frequency_hz;
};

static const struct perfctr_totals *totals_of(const struct computation *c,
					      const struct kit_need *need)
{
	const struct perfctr_perfkit *kit = c->kit;

	if (need->pass >= kit->pass_count || c->object >= kit->object_count ||
	    !kit->passes[need->pass].done)
		return NULL;
	return kit->totals[(size_t)c->object * kit->pass_count + need->pass];
}

static bool belongs(const struct drm_perfctr_block_request *r, const struct perfctr_totals_block *b)
{
	const struct perfctr_totals_block_info *i = &b->info;

	if (r->type != i->type || r->section != i->section || !(b->mask & r->mask))
		return false;
	if (i->is_pmu &&
	    (r->config != i->config || r->config1 != i->config1 || r->config2 != i->config2))
		return false;
	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return r->pmu_type == b->pmu_type;
	return r->index == DRM_PERFCTR_INDEX_ALL || r->index == i->index;
}

/*
 * Whether counts are missing. Blocks with states have their own mark. The sample's mark may come
 * from any block, possibly one of another session.
 */
static bool lacks_counts(const struct perfctr_totals *totals, const struct perfctr_totals_block *b)
{
	if (b->info.states)
		return b->info.states & (DRM_PERFCTR_STATE_SATURATED | DRM_PERFCTR_STATE_LOST);
	return totals->span.flags & DRM_PERFCTR_SAMPLE_OVERFLOW || totals->span.lost_ns;
}

static struct fraction value_in_block(const struct perfctr_totals *totals,
				      const struct perfctr_totals_block *b,
				      const struct perfctr_total *t)
{
	const bool is_level = t->desc && t->desc->kind == PERFCTR_KIND_LEVEL;
	struct fraction value = fraction_of(t->sum), enabled, running;

	if (is_level)
		value.numerator = (int64_t)t->sum;
	if (!t->measured || (b->info.time_enabled && !t->running_ns))
		return fraction_none(PERFCTR_VALUE_NOT_MEASURED);
	if (t->overflow)
		return fraction_none(PERFCTR_VALUE_OVERFLOW);
	if (lacks_counts(totals, b))
		value.flags |= PERFCTR_PERFKIT_OVERFLOW;
	if (!is_level && b->info.states & DRM_PERFCTR_STATE_MULTIPLEXED &&
	    t->running_ns < b->info.time_enabled) {
		enabled = fraction_of(b->info.time_enabled);
		running = fraction_of(t->running_ns);
		value = fraction_multiply(&value, &enabled);
		value = fraction_divide(&value, &running);
		value.flags |= PERFCTR_PERFKIT_ESTIMATED;
	} else if (t->missed) {
		value.flags |= PERFCTR_PERFKIT_PARTIAL;
	}
	return value;
}

/* Add a part to the sum; PARTIAL: only some parts were measured. */
static void add_part(struct fraction *sum, const struct fraction *part)
{
	bool had = sum->state == PERFCTR_VALUE_OK, has = part->state == PERFCTR_VALUE_OK;

	if (had && has)
		*sum = fraction_add(sum, part);
	else if (has)
		*sum = *part;
	if (had != has)
		sum->flags |= PERFCTR_PERFKIT_PARTIAL;
}

/* The device's frequency, else the cycles of the clock over the time. */
static struct fraction frequency_of(const struct computation *c,
				    const struct perfctr_totals *totals,
				    const struct perfctr_totals_block *b)
{
	const struct perfctr_device *device = c->kit->device;
	const struct fraction ns_per_s = fraction_of(NS_PER_S);
	struct fraction cycles = fraction_of(b->info.clock_cycles);
	struct fraction block_ns = fraction_of(totals->span.elapsed_ns);
	struct fraction blocks = fraction_of(b->info.blocks);

	for (size_t n = 0; n < device->clock_count; n++)
		if (device->clocks[n].clock == b->info.clock && device->clocks[n].frequency_hz)
			return fraction_of(device->clocks[n].frequency_hz);
	block_ns = fraction_multiply(&block_ns, &blocks);
	cycles = fraction_multiply(&cycles, &ns_per_s);
	return fraction_divide(&cycles, &block_ns);
}

/* Convert cycles to the first counter's clock: a unit can wait for a unit in another domain. */
static struct fraction in_first_clock(const struct computation *c,
				      const struct perfctr_totals *totals,
				      const struct perfctr_totals_block *b,
				      const struct fraction *cycles)
{
	struct fraction frequency_hz, result;

	if (cycles->state != PERFCTR_VALUE_OK || b->info.clock == c->clock)
		return *cycles;
	frequency_hz = frequency_of(c, totals, b);
	result = fraction_multiply(cycles, &c->frequency_hz);
	return fraction_divide(&result, &frequency_hz);
}

static const struct perfctr_total not_seen;

/* A need can cover all blocks of a type; *blocks counts them. */
static struct fraction value_of_need(struct computation *c, const struct kit_need *need, bool first)
{
	const struct perfctr_totals *totals = totals_of(c, need);
	unsigned int bit = (unsigned int)__builtin_ctzll(need->request.mask);
	struct fraction sum = fraction_none(PERFCTR_VALUE_NOT_MEASURED), one;
	bool any = false;

	for (size_t n = 0; totals && n < totals->block_count; n++) {
		const struct perfctr_totals_block *b = totals->blocks[n];

		if (!belongs(&need->request, b))
			continue;
		if (first && !any) {
			c->clock = b->info.clock;
			c->frequency_hz = frequency_of(c, totals, b);
		}
		one = value_in_block(totals, b,
				     b->mask >> bit & 1 ? totals_total(b, bit) : &not_seen);
		if (c->entry->info.kind == PERFCTR_PERFKIT_BOTTLENECK)
			one = in_first_clock(c, totals, b, &one);
		if (any)
			add_part(&sum, &one);
		else
			sum = one;
		any = true;
		if (!first)
			continue;
		c->has_cycles = true;
		c->clock_known |= b->info.clock != DRM_PERFCTR_CLOCK_NONE;
		c->cycles += b->info.clock_cycles;
		c->blocks += b->info.blocks;
		c->elapsed_ns = totals->span.elapsed_ns;
	}
	return sum;
}

static const char *name_of_need(const struct computation *c, const struct kit_need *need)
{
	const struct drm_perfctr_block_request *r = &need->request;
	const struct perfctr_counter_desc *desc;

	desc = perfctr_counter_at(c->entry->info.metric->product, r->type, r->set,
				  r->section * DRM_PERFCTR_SECTION_COUNTERS +
					  (unsigned int)__builtin_ctzll(r->mask));
	return desc ? desc->name : "";
}

/* Whether a need belongs to a name of the formula; without a name, always. */
static bool is_meant(const struct computation *c, const struct kit_need *need, const char *name)
{
	const char *dot = name ? strchr(name, '.') : NULL;
	unsigned int type = need->request.type;
	const char *type_name = perfctr_block_type_name(type);

	if (!name)
		return true;
	if (!dot)
		return type == c->entry->info.metric->block_type &&
		       !strcmp(name_of_need(c, need), name);
	return type_name && strlen(type_name) == (size_t)(dot - name) &&
	       !strncasecmp(type_name, name, strlen(type_name)) &&
	       !strcmp(name_of_need(c, need), dot + 1);
}

static struct fraction sum_of_needs(struct computation *c, const char *name)
{
	struct fraction sum = fraction_none(PERFCTR_VALUE_NOT_SELECTED), one;
	/* block.cycles refers to the blocks of the formula's first counter */
	bool first = !c->has_cycles;

	for (size_t n = 0; n < c->entry->need_count; n++) {
		const struct kit_need *need = &c->kit->needs[c->entry->needs[n]];

		if (!is_meant(c, need, name))
			continue;
		one = value_of_need(c, need, first);
		if (sum.state == PERFCTR_VALUE_NOT_SELECTED)
			sum = one;
		else
			add_part(&sum, &one);
	}
	return sum;
}

static struct fraction lookup(void *data, const char *name)
{
	const struct fraction ns_per_s = fraction_of(NS_PER_S);
	struct computation *c = data;
	struct fraction time_ns;

	if (!metric_is_variable(name))
		return sum_of_needs(c, name);
	if (!c->has_cycles)
		return fraction_none(PERFCTR_VALUE_NOT_MEASURED);
	time_ns = fraction_of(c->elapsed_ns);
	if (!strcmp(name, METRIC_ELAPSED_NS))
		return time_ns;
	if (!strcmp(name, METRIC_ELAPSED_S))
		return fraction_divide(&time_ns, &ns_per_s);
	if (!strcmp(name, METRIC_BLOCK_COUNT))
		return fraction_of(c->blocks);
	return c->clock_known ? fraction_of(c->cycles) : fraction_none(PERFCTR_VALUE_NOT_MEASURED);
}

static struct fraction compute(struct computation *c)
{
	const struct perfctr_metric_desc *metric = c->entry->info.metric;
	struct perfctr_expr *expr;
	struct fraction value;
	const char *name;

	if (!metric) {
		value = sum_of_needs(c, NULL);
		return value.state == PERFCTR_VALUE_OK ?
			       fraction_multiply(&value, &c->entry->scale) :
			       value;
	}
	if (perfctr_expr_new(kit_ctx(c->kit), metric->formula, &expr))
		return fraction_none(PERFCTR_VALUE_NOT_MEASURED);
	/* cycles and time may precede their counter in the formula */
	for (size_t n = 0; (name = perfctr_expr_name(expr, n)); n++) {
		if (metric_is_variable(name) || strchr(name, '.'))
			continue;
		sum_of_needs(c, name);
		break;
	}
	value = expr_eval_fraction(expr, lookup, c);
	perfctr_expr_unref(expr);
	return value;
}

static void give(const struct computation *c, struct fraction f,
		 struct perfctr_perfkit_value *value)
{
	if (f.state == PERFCTR_VALUE_OK &&
	    (f.numerator > INT64_MAX || f.numerator < INT64_MIN || f.denominator > INT64_MAX))
		f = fraction_none(PERFCTR_VALUE_OVERFLOW);
	if (c->entry->updated && f.state != PERFCTR_VALUE_NOT_MEASURED)
		f.flags |= PERFCTR_PERFKIT_UPDATED;
	*value = (struct perfctr_perfkit_value){
		.numerator = (int64_t)f.numerator,
		.denominator = (int64_t)f.denominator,
		.cycles = c->clock_known ? c->cycles : 0,
		.elapsed_ns = c->elapsed_ns,
		.state = f.state,
		.flags = f.flags,
	};
}

EXPORT int perfctr_perfkit_value(const struct perfctr_perfkit *kit, size_t n, unsigned int object,
				 struct perfctr_perfkit_value *value)
{
	struct computation c = { .kit = kit, .object = object };

	if (n >= kit->entry_count)
		return perfctr_fail(kit_ctx(kit), -ERANGE, "there is no counter %zu", n);
	c.entry = kit->entries[n];
	give(&c, compute(&c), value);
	return 0;
}

/* The cycles of a unit's share in ns, which can be compared between passes. */
static struct fraction compute_time_ns(struct computation *c)
{
	struct fraction time_ns = compute(c), cycles = fraction_of(c->cycles);
	struct fraction ns_per_s = fraction_of(NS_PER_S), part = fraction_of(PERCENT);
	struct fraction blocks = fraction_of(c->blocks);

	if (time_ns.state != PERFCTR_VALUE_OK)
		return time_ns;
	/* a share of cycles that the block counts itself is one of its time */
	if (!c->clock_known) {
		cycles = fraction_of(c->elapsed_ns);
		time_ns = fraction_multiply(&time_ns, &cycles);
		return fraction_divide(&time_ns, &part);
	}
	time_ns = fraction_multiply(&time_ns, &cycles);
	part = fraction_multiply(&part, &blocks);
	time_ns = fraction_divide(&time_ns, &part);
	time_ns = fraction_multiply(&time_ns, &ns_per_s);
	return fraction_divide(&time_ns, &c->frequency_hz);
}

EXPORT int perfctr_perfkit_time(const struct perfctr_perfkit *kit, size_t n, unsigned int object,
				struct perfctr_perfkit_value *time_ns)
{
	struct computation c = { .kit = kit, .object = object };

	if (n >= kit->entry_count)
		return perfctr_fail(kit_ctx(kit), -ERANGE, "there is no counter %zu", n);
	c.entry = kit->entries[n];
	if (c.entry->info.kind != PERFCTR_PERFKIT_SOL &&
	    c.entry->info.kind != PERFCTR_PERFKIT_BOTTLENECK)
		return perfctr_fail(kit_ctx(kit), -EINVAL, "%s is no share of a unit's cycles",
				    c.entry->info.name);
	give(&c, compute_time_ns(&c), time_ns);
	return 0;
}

EXPORT long perfctr_perfkit_bottleneck(const struct perfctr_perfkit *kit, unsigned int object)
{
	struct fraction most = fraction_of(0);
	long result = -ENODATA;

	for (size_t n = 0; n < kit->entry_count; n++) {
		struct computation c = { .kit = kit, .entry = kit->entries[n], .object = object };
		struct fraction f;

		if (c.entry->info.kind != PERFCTR_PERFKIT_BOTTLENECK)
			continue;
		f = compute_time_ns(&c);
		if (f.state != PERFCTR_VALUE_OK || fraction_compare(&f, &most) <= 0)
			continue;
		most = f;
		result = (long)n;
	}
	return result;
}
