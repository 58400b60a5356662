// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER and MP counters of the nv50 family: a source of the counter core.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include <drm/drm_managed.h>

#include "nv50_counters.h"
#include "drm_perfctr.h"
#include "pcounter_perfctr.h"
#include "pcounter_sched.h"

/**
 * DOC: overview
 *
 * The database says for each counter what the hardware must be set to. What all
 * sessions want is packed into passes (pcounter_sched.c). While one pass is enough,
 * everything counts all the time. Else a collection that ends a slice of time sets
 * the hardware up for the next pass, and each block tells how long each of its
 * counters ran.
 *
 * A collection swaps all domains (a write to PRE's table), which copies the counters
 * and clears them at one clock: nothing is lost between two periods. MP counters are
 * per context: the driver's methods set them at the start of each job, so that every
 * context counts the same, and their values are read when the job ends and when a
 * sample is taken in its command stream. What lies between two such samples is what
 * the job did between them, whoever else has work in the queue.
 *
 * Counters have 32 bits and saturate: max_interval_ns is shorter the more a counter
 * of the schedule can add in a clock.
 */

/* fastest clock of a domain that a counter must not saturate at */
#define MAX_HZ			1500000000ULL
/* most that an integer counter adds in a clock */
#define B4_MAX			15
#define B6_MAX			63
/* a pass has its turn for so long, at least */
#define SLICE_NS		(2 * NSEC_PER_MSEC)
/* the core collects after half of it: while there are several passes, after SLICE_NS */
#define ROTATE_INTERVAL_NS	(2 * SLICE_NS)
/* a swap takes a clock; the slowest one runs at some MHz */
#define SWAP_TRIES		100
#define MAX_TPCS		64

struct pcounter {
	struct drm_perfctr_source source;
	struct pcounter_config config;
	struct pcounter_schedule schedule;
	/* what is wanted since the last select; the hardware may still be at the last pass */
	bool running;
	/* when the last collection was, and since when the pass has its turn */
	u64 time_ns;
	u64 slice_ns;
	/* MP_SLOTS and the domains' four counters: whose they are, PCOUNTER_COUNTERS: nobody's */
	u8 mp_counter[MP_SLOTS];
	u8 counter[PCOUNTER_DOMAINS][PCOUNTER_SLOTS];
	unsigned int tpc_count;
	u8 tpc[MAX_TPCS];
};

#define NOBODY	PCOUNTER_COUNTERS

static const struct pcounter_recipe recipes[PCOUNTER_COUNTERS] = {
#define DOMAIN_RECIPE(position, d, m, e, eop, st, stop, m0, v0, m1, v1) \
	[(position)] = { .kind = PCOUNTER_KIND_DOMAIN, .domain = d, .mode = m, .event = e, \
			 .event_op = eop, .start = st, .start_op = stop, .mux = { m0, m1 }, \
			 .value = { v0, v1 } },
	NV50_PCOUNTER_RECIPES(DOMAIN_RECIPE)
#define MP_RECIPE(position, m, u, s, m0, v0, m1, v1) \
	[PCOUNTER_MP_FIRST + (position)] = { .kind = PCOUNTER_KIND_MP, .mode = m, .unit = u, \
					     .signal = s, .mux = { m0, m1 }, .value = { v0, v1 } },
	NV50_MP_RECIPES(MP_RECIPE)
};

static_assert(NV50_MUXES <= PCOUNTER_MUXES_MAX);

static const u64 domain_counters[PCOUNTER_DOMAINS] = {
	NV50_PCOUNTER_DOMAIN0, NV50_PCOUNTER_DOMAIN1, NV50_PCOUNTER_DOMAIN2, NV50_PCOUNTER_DOMAIN3,
	NV50_PCOUNTER_DOMAIN4, NV50_PCOUNTER_DOMAIN5, NV50_PCOUNTER_DOMAIN6, NV50_PCOUNTER_DOMAIN7,
};

static struct pcounter *to_pcounter(struct drm_perfctr_source *source)
{
	return container_of(source, struct pcounter, source);
}

static u32 rd(struct pcounter *p, u32 reg)
{
	return p->config.ops->read(p->config.priv, reg);
}

static void wr(struct pcounter *p, u32 reg, u32 value)
{
	p->config.ops->write(p->config.priv, reg, value);
}

/* --- programming ------------------------------------------------------------- */

static const struct pcounter_pass *current_pass(const struct pcounter *p)
{
	return &p->schedule.passes[p->schedule.current_pass];
}

static void set_muxes(struct pcounter *p, const struct pcounter_pass *pass)
{
	unsigned int mux;

	for (mux = NV50_MUX_NONE + 1; mux < NV50_MUXES; mux++)
		if (pass->mux_users[mux])
			p->config.ops->set_mux(p->config.priv, mux, pass->mux_value[mux]);
}

static void program_domain(struct pcounter *p, unsigned int d, const struct pcounter_pass *pass)
{
	u64 mask = pass->members.bits[0] & domain_counters[d];
	u32 count_mode = PCOUNTER_SIMPLE;
	unsigned int slot = 0;

	memset(p->counter[d], NOBODY, sizeof(p->counter[d]));
	/* leaving QUAD forgets what was counted, so that entering it begins at zero */
	wr(p, PCOUNTER_CTRL(d), PCOUNTER_MODE_OFF);
	for (; mask; mask &= mask - 1) {
		const unsigned int counter = __ffs64(mask);
		const struct pcounter_recipe *r = &recipes[counter];

		if (r->mode != PCOUNTER_SIMPLE) {
			count_mode = r->mode;
			slot = PCOUNTER_EVENT;
			wr(p, PCOUNTER_SRC(d, PCOUNTER_START), r->start);
			wr(p, PCOUNTER_OP(d, PCOUNTER_START), r->start_op);
		}
		wr(p, PCOUNTER_SRC(d, slot), r->event);
		wr(p, PCOUNTER_OP(d, slot), r->event_op);
		p->counter[d][slot++] = counter;
	}
	wr(p, PCOUNTER_SRC(d, PCOUNTER_SWAP), 0);
	wr(p, PCOUNTER_OP(d, PCOUNTER_SWAP), 0);
	wr(p, PCOUNTER_CTRL(d), PCOUNTER_MODE_QUAD | count_mode << PCOUNTER_CTRL_COUNT_SHIFT);
}

static void program_mp(struct pcounter *p, const struct pcounter_pass *pass)
{
	u64 mask = pass->members.bits[1];
	u32 control[MP_SLOTS] = {};
	unsigned int slot;

	memset(p->mp_counter, NOBODY, sizeof(p->mp_counter));
	for (slot = 0; mask; slot++, mask &= mask - 1) {
		const unsigned int counter = PCOUNTER_MP_FIRST + __ffs64(mask);
		const struct pcounter_recipe *r = &recipes[counter];

		control[slot] = (r->mode == MP_LOGOP_PULSE ? MP_CONTROL_PULSE : 0) |
				r->unit << MP_CONTROL_UNIT_SHIFT |
				mp_func_own(slot) << MP_CONTROL_FUNC_SHIFT |
				(u32)r->signal << MP_CONTROL_SIGNAL_SHIFT;
		p->mp_counter[slot] = counter;
	}
	p->config.ops->mp_program(p->config.priv, control);
}

static void program(struct pcounter *p)
{
	const struct pcounter_pass *pass = current_pass(p);
	unsigned int d;

	set_muxes(p, pass);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		program_domain(p, d, pass);
	program_mp(p, pass);
	p->slice_ns = 0;
}

/* --- collecting ---------------------------------------------------------------- */

static int swap_domain(struct pcounter *p, unsigned int d)
{
	unsigned int tries;

	wr(p, PCOUNTER_OP(d, PCOUNTER_PRE), rd(p, PCOUNTER_OP(d, PCOUNTER_PRE)));
	for (tries = 0; tries < SWAP_TRIES; tries++)
		if (rd(p, PCOUNTER_STATUS(d)) != PCOUNTER_QUAD_EMPTY)
			return 0;
	return -EIO;
}

/* the counters that a period is copied to, by slot */
static u32 counter_register(unsigned int d, unsigned int slot)
{
	switch (slot) {
	case PCOUNTER_PRE:
		return PCOUNTER_CTR_PRE(d);
	case PCOUNTER_START:
		return PCOUNTER_CTR_START(d);
	case PCOUNTER_EVENT:
		return PCOUNTER_CTR_EVENT(d);
	}
	return PCOUNTER_CTR_STOP(d);
}

/* returns enum drm_perfctr_block_states that the period gave rise to */
static u32 read_domain(struct pcounter *p, unsigned int d, struct drm_perfctr_collection *c)
{
	u64 *totals = drm_perfctr_block_totals(&p->source, d);
	u32 states = 0;
	unsigned int slot;

	c->clock_cycles[d] = rd(p, PCOUNTER_CTR_CYCLES(d));
	for (slot = 0; slot < PCOUNTER_SLOTS; slot++) {
		u32 value;

		if (p->counter[d][slot] == NOBODY)
			continue;
		value = rd(p, counter_register(d, slot));
		totals[p->counter[d][slot]] += value;
		if (value == U32_MAX)
			states |= DRM_PERFCTR_STATE_SATURATED | DRM_PERFCTR_STATE_LOST;
	}
	/* somebody else swapped: one period is gone */
	if (rd(p, PCOUNTER_STATUS(d)) == PCOUNTER_QUAD_OVERFLOW) {
		states |= DRM_PERFCTR_STATE_LOST;
		wr(p, PCOUNTER_QUAD_ACK(d), 0);
	}
	wr(p, PCOUNTER_QUAD_ACK(d), 0);
	return states;
}

static void report(struct pcounter *p, unsigned int block, u64 ns, u32 states, u64 counted)
{
	const u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { counted };

	drm_perfctr_block_ran(&p->source, block, ns, valid);
	drm_perfctr_block_report(&p->source, block, states | DRM_PERFCTR_STATE_ON |
				 DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL, valid);
}

static int collect_domains(struct pcounter *p, u64 ns, struct drm_perfctr_collection *c)
{
	const struct pcounter_pass *pass = current_pass(p);
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (swap_domain(p, d))
			return -EIO;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		report(p, d, ns, read_domain(p, d, c),
		       pass->members.bits[0] & domain_counters[d]);
	return 0;
}

static void collect_mp(struct pcounter *p, u64 ns)
{
	const u64 counted = current_pass(p)->members.bits[1];
	unsigned int i, slot;

	for (i = 0; i < p->tpc_count; i++) {
		u64 *totals = drm_perfctr_block_totals(&p->source, PCOUNTER_DOMAINS + i);

		for (slot = 0; slot < MP_SLOTS; slot++)
			if (p->mp_counter[slot] != NOBODY)
				totals[p->mp_counter[slot] - PCOUNTER_MP_FIRST] +=
					p->config.ops->mp_take(p->config.priv, p->tpc[i], slot);
		report(p, PCOUNTER_DOMAINS + i, ns, 0, counted);
	}
}

static int pcounter_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct pcounter *p = to_pcounter(source);
	u64 now_ns, ns;
	int ret;

	p->config.ops->begin(p->config.priv);
	now_ns = ktime_get_raw_ns();
	ns = now_ns - p->time_ns;
	ret = collect_domains(p, ns, c);
	if (!ret) {
		collect_mp(p, ns);
		pcounter_schedule_ran(&p->schedule, ns);
		p->time_ns = now_ns;
		p->slice_ns += ns;
		if (p->slice_ns >= SLICE_NS && pcounter_schedule_rotate(&p->schedule))
			program(p);
	}
	p->config.ops->end(p->config.priv);
	return ret;
}

static u64 saturation_ns(const struct pcounter *p)
{
	unsigned int d, pass, most = 1;

	for (pass = 0; pass < p->schedule.count; pass++)
		for (d = 0; d < PCOUNTER_DOMAINS; d++) {
			u64 mask = p->schedule.passes[pass].members.bits[0] & domain_counters[d];

			for (; mask; mask &= mask - 1) {
				const u8 mode = recipes[__ffs64(mask)].mode;

				if (mode == PCOUNTER_EVENT_B6)
					most = B6_MAX;
				else if (mode == PCOUNTER_EVENT_B4)
					most = max_t(unsigned int, most, B4_MAX);
			}
		}
	return div_u64(U32_MAX * (u64)NSEC_PER_SEC / MAX_HZ, most);
}

static void pcounter_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct pcounter *p = to_pcounter(source);
	struct pcounter_set set = {};
	unsigned int i;

	for (i = 0; i < source->block_count; i++)
		set.bits[i >= PCOUNTER_DOMAINS] |= wanted[i * DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	pcounter_schedule_make(&p->schedule, recipes, &set);
	source->max_interval_ns = p->schedule.count > 1 ? ROTATE_INTERVAL_NS : saturation_ns(p);
	if (!p->running)
		return;
	p->config.ops->begin(p->config.priv);
	program(p);
	p->config.ops->end(p->config.priv);
}

static int pcounter_start(struct drm_perfctr_source *source, u8 set)
{
	struct pcounter *p = to_pcounter(source);

	p->config.ops->begin(p->config.priv);
	program(p);
	p->time_ns = ktime_get_raw_ns();
	p->running = true;
	p->config.ops->end(p->config.priv);
	return 0;
}

static void pcounter_stop(struct drm_perfctr_source *source)
{
	static const u32 nothing[MP_SLOTS];
	struct pcounter *p = to_pcounter(source);
	unsigned int d;

	p->config.ops->begin(p->config.priv);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		wr(p, PCOUNTER_CTRL(d), PCOUNTER_MODE_OFF);
	p->config.ops->mp_program(p->config.priv, nothing);
	p->running = false;
	p->config.ops->end(p->config.priv);
}

static void pcounter_reset(struct drm_perfctr_source *source)
{
	to_pcounter(source)->running = false;
}

static const struct drm_perfctr_source_ops source_ops = {
	.start = pcounter_start,
	.stop = pcounter_stop,
	.collect = pcounter_collect,
	.reset = pcounter_reset,
	.select = pcounter_select,
};

/* --- set-up --------------------------------------------------------------------- */

static struct drm_perfctr_block_desc domain_desc(unsigned int d)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_BLOCK_PCOUNTER,
		.index = d,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_PRODUCT_NV50,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = d,
		.available = { domain_counters[d] },
	};
}

static struct drm_perfctr_block_desc mp_desc(unsigned int tpc)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_BLOCK_MP,
		.index = tpc,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_PRODUCT_NV50,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = 3,
		.available = { NV50_MP_AVAILABLE },
	};
}

/**
 * drmm_pcounter_create() - add PCOUNTER and MP counters to a device's counters
 * @drm: the device, not registered yet
 * @pc: its counters
 * @config: the hardware
 *
 * The core's clock n is that of domain n.
 *
 * Returns: 0, -EINVAL, -ENOMEM, or an error of drm_perfctr_add_source().
 */
int drmm_pcounter_create(struct drm_device *drm, struct drm_perfctr *pc,
			 const struct pcounter_config *config)
{
	struct drm_perfctr_block_desc *descs;
	struct pcounter *p;
	unsigned int d;
	u64 tpcs;

	if (!config->tpcs)
		return -EINVAL;
	p = drmm_kzalloc(drm, sizeof(*p), GFP_KERNEL);
	descs = drmm_kcalloc(drm, PCOUNTER_DOMAINS + hweight64(config->tpcs), sizeof(*descs),
			     GFP_KERNEL);
	if (!p || !descs)
		return -ENOMEM;

	p->config = *config;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		descs[d] = domain_desc(d);
	for (tpcs = config->tpcs; tpcs; tpcs &= tpcs - 1) {
		descs[PCOUNTER_DOMAINS + p->tpc_count] = mp_desc(__ffs64(tpcs));
		p->tpc[p->tpc_count++] = __ffs64(tpcs);
	}
	p->source.name = "pcounter";
	p->source.ops = &source_ops;
	p->source.descs = descs;
	p->source.block_count = PCOUNTER_DOMAINS + p->tpc_count;
	p->source.max_interval_ns = saturation_ns(p);
	return drm_perfctr_add_source(pc, &p->source);
}
