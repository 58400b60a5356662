// SPDX-License-Identifier: GPL-2.0
/*
 * PCOUNTER and MP counters of the nv50 family: a source of the counter core.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <drm/drm_managed.h>
#include <drm/drm_perfctr_extension.h>
#include <drm/perfctr_nv50.h>

#include "pcounter_internal.h"

/**
 * DOC: overview
 *
 * The database has a recipe for each counter: the hardware settings that it needs. The counters
 * that sessions request are packed into passes (pcounter_sched.c). If one pass is enough, all of
 * them count permanently. Otherwise the collection at the end of a slice programs the next pass,
 * and each block reports the running time of each counter.
 *
 * A collection swaps all domains, by a write to PRE's table. A swap copies and clears the
 * counters in one clock, so nothing is lost between two periods.
 *
 * MP counters belong to contexts. The driver programs them by methods at the start of each job,
 * identically in all contexts, and reads them at its end and at samples in its command stream. The
 * difference of two such samples is therefore the work of that job alone. A context that programs
 * MP counters itself keeps its slots; a counter without a slot does not count that context's jobs,
 * and its running time excludes them.
 *
 * Counters have 32 bits and saturate, so max_interval_ns depends on the largest increment per clock
 * in the schedule.
 */

/**
 * DOC: recording
 *
 * For periods that are too short for a timer, the hardware writes the counts of each period to
 * memory (pcounter_record.c), and the core collects packets in batches. A collection ends at the
 * packet for the core's next sample and reports whether there are more. Sessions get the same
 * counts as without recording, at a higher resolution.
 *
 * Recording requires one pass, no MP counters, at most three SIMPLE counters or one integer counter
 * in each domain, and a session with a period of at most PCOUNTER_RECORD_PERIOD_NS_MAX that samples
 * only this source. When these conditions change, everything is collected and reprogrammed.
 *
 * Each domain has its own clock and packets. The counts of a block end with its last packet before
 * the end of the sample; its capture time is the end of that packet.
 *
 * If packets ran out of room, a collection takes two batches: reading the first one makes room for
 * the second one, which has the counts up to now.
 */

/* largest increments of an integer counter in a clock */
#define B4_MAX			15
#define B6_MAX			63
/* minimum running time of a pass */
#define SLICE_NS		(2 * NSEC_PER_MSEC)
/* maximum interval with several passes; the core collects after half of it, which is SLICE_NS */
#define ROTATE_INTERVAL_NS	(2 * SLICE_NS)
/* longest time from a packet to its sample */
#define BATCH_NS		(10 * NSEC_PER_MSEC)

static struct pcounter *to_pcounter(struct drm_perfctr_source *source)
{
	return container_of(source, struct pcounter, source);
}

static int pcounter_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	u32 states[PCOUNTER_DOMAINS + PCOUNTER_MAX_TPCS] = {};
	struct pcounter *p = to_pcounter(source);
	u64 ns;
	int ret;

	p->stats.collections += !p->in_batch;
	if (p->recorded)
		return pcounter_collect_packets(p, c);
	pcounter_hold(p);
	ret = pcounter_read_domains(p, p->held_ns - p->time_ns);
	if (!ret) {
		pcounter_read_mp(p, p->held_ns - p->time_ns);
		pcounter_take_pending(p, c, states);
		/* by the hardware's clocks: independent of this collection's delay */
		ns = p->held_clock_ns - p->clock_ns;
		pcounter_report_all(p, ns, states);
		pcounter_schedule_ran(&p->schedule, ns);
		p->time_ns = p->held_ns;
		p->clock_ns = p->held_clock_ns;
		p->slice_ns += ns;
		if (p->slice_ns >= SLICE_NS && pcounter_schedule_rotate(&p->schedule))
			pcounter_program(p);
	}
	pcounter_release(p);
	return ret;
}

static u64 saturation_ns(const struct pcounter *p)
{
	unsigned int d, pass, most = 1;

	for (pass = 0; pass < p->schedule.count; pass++)
		for (d = 0; d < PCOUNTER_DOMAINS; d++) {
			const struct pcounter_set *members = &p->schedule.passes[pass].members;
			u64 mask = members->bits[0] & pcounter_domain_counters[d];

			for (; mask; mask &= mask - 1) {
				const u8 mode = pcounter_recipes[__ffs64(mask)].mode;

				if (mode == PCOUNTER_EVENT_B6)
					most = B6_MAX;
				else if (mode == PCOUNTER_EVENT_B4)
					most = max_t(unsigned int, most, B4_MAX);
			}
		}
	return div_u64(U32_MAX * (u64)NSEC_PER_SEC / PCOUNTER_MAX_HZ, most);
}

static u32 packet_clocks(const struct pcounter *p, unsigned int d)
{
	return PCOUNTER_PERIODIC_CLOCKS(pcounter_periodic(p, d));
}

/* time in which packets fill a half, at the fastest clock */
static u64 record_room_ns(const struct pcounter *p)
{
	const struct pcounter_pass *pass = &p->schedule.passes[0];
	u64 most_packets = 1;
	unsigned int d;

	for (d = 0; d < PCOUNTER_DOMAINS; d++) {
		const u32 most = pass->integer[d] ? B6_MAX : 1;

		if (pass->simple[d] || pass->integer[d])
			most_packets = max(most_packets,
					   PCOUNTER_MAX_HZ / packet_clocks(p, d) +
					   PCOUNTER_MAX_HZ * most / PCOUNTER_RECORD_FULL);
	}
	return div64_u64(p->config.record_bytes / 2 / PCOUNTER_SHORT_BYTES * (u64)NSEC_PER_SEC,
			 most_packets);
}

/*
 * Reads the counts since the last collection before programming clears them: they belong to the
 * sessions before the selection.
 */
static void save_pending(struct pcounter *p)
{
	const u64 ns = p->held_ns - p->time_ns;
	u64 end_ns;
	int ret;

	if (p->recorded) {
		ret = pcounter_begin_batch(p);
		if (!ret)
			pcounter_take_packets(p, U64_MAX, &end_ns);
	} else {
		ret = pcounter_read_domains(p, ns);
		pcounter_read_mp(p, ns);
	}
	/* a domain that did not respond loses its counts, as it is reprogrammed now */
	p->late_ns = p->held_ns - p->time_ns;
	p->pending.flags |= ret ? DRM_PERFCTR_SAMPLE_ERROR : 0;
}

/* programs a new schedule; @members: counters that counted so far */
static void select_now(struct pcounter *p, const struct pcounter_set *members)
{
	const u8 was_recorded = p->recorded;
	u64 reported_ns[PCOUNTER_DOMAINS], ns;
	struct pcounter_slice slice;
	unsigned int d;
	u8 begun;

	pcounter_hold(p);
	save_pending(p);
	ns = p->held_clock_ns - min(p->clock_ns, p->held_clock_ns);
	slice = pcounter_end_slice(p, members, was_recorded ? 0 : ns);
	if (!p->late)
		p->time_ns = p->held_ns;
	memcpy(reported_ns, p->reported_ns, sizeof(reported_ns));
	begun = was_recorded & pcounter_program(p);
	/* the packets of a domain that continues determine its time */
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		if (begun & BIT(d))
			slice.domain_ns[d] = p->held_ns - reported_ns[d];
	if ((slice.ns || begun) && p->pending_slice_count < PCOUNTER_PENDING_SLICES)
		p->pending_slices[p->pending_slice_count++] = slice;
	p->clock_ns = p->held_clock_ns;
	pcounter_release(p);
}

static void pcounter_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct pcounter *p = to_pcounter(source);
	const struct pcounter_set before = pcounter_current_pass(p)->members;
	struct pcounter_set set = {};
	unsigned int i;

	p->clocks_wanted = 0;
	for (i = 0; i < source->block_count; i++) {
		const u64 mask = wanted[i * DRM_PERFCTR_BLOCK_INFO_SECTIONS];

		set.bits[i >= PCOUNTER_DOMAINS] |= mask;
		if (mask)
			p->clocks_wanted |= BIT(i < PCOUNTER_DOMAINS ? i : PCOUNTER_MP_DOMAIN);
	}
	pcounter_schedule_make(&p->schedule, pcounter_recipes, &set);
	source->max_interval_ns = p->schedule.count > 1 ? ROTATE_INTERVAL_NS : saturation_ns(p);
	p->period_ns = 0;
	if (p->config.record_bytes && pcounter_record_fits(&p->schedule) &&
	    p->extension.period_ns <= PCOUNTER_RECORD_PERIOD_NS_MAX)
		p->period_ns = p->extension.period_ns;
	/* half of it, to allow for delays of the worker */
	p->extension.batch_ns = p->period_ns ? min_t(u64, BATCH_NS, record_room_ns(p) / 2) : 0;
	if (p->running)
		select_now(p, &before);
}

static int pcounter_start(struct drm_perfctr_source *source, u8 set)
{
	struct pcounter *p = to_pcounter(source);
	unsigned int d;

	pcounter_hold(p);
	p->clock_ns = p->held_clock_ns;
	p->time_ns = p->held_ns;
	p->late = 0;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		pcounter_write_ctrl(p, d, PCOUNTER_MODE_OFF);
	pcounter_program(p);
	p->running = true;
	pcounter_release(p);
	return 0;
}

static void pcounter_stop(struct drm_perfctr_source *source)
{
	static const u32 nothing[MP_SLOTS];
	struct pcounter *p = to_pcounter(source);
	unsigned int d;

	pcounter_hold(p);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		pcounter_write_ctrl(p, d, PCOUNTER_MODE_OFF);
	p->config.ops->mp_program(p->config.priv, nothing);
	p->recorded = 0;
	p->running = false;
	pcounter_release(p);
}

static void pcounter_reset(struct drm_perfctr_source *source)
{
	struct pcounter *p = to_pcounter(source);

	p->recorded = 0;
	p->running = false;
}

static const struct drm_perfctr_source_ops source_ops = {
	.start = pcounter_start,
	.stop = pcounter_stop,
	.collect = pcounter_collect,
	.reset = pcounter_reset,
};

/* --- set-up --------------------------------------------------------------------- */

static struct drm_perfctr_block_desc domain_desc(unsigned int d)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_NV50_BLOCK_PCOUNTER,
		.index = d,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_NV50_PRODUCT,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = d,
		.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES,
		.available = { pcounter_domain_counters[d] },
	};
}

static struct drm_perfctr_block_desc mp_desc(unsigned int tpc)
{
	return (struct drm_perfctr_block_desc) {
		.type = DRM_PERFCTR_NV50_BLOCK_MP,
		.index = tpc,
		.counters = PCOUNTER_POSITIONS,
		.product = DRM_PERFCTR_NV50_PRODUCT,
		.sets = BIT(DRM_PERFCTR_SET_PRIMARY),
		.clock = PCOUNTER_MP_DOMAIN,
		.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES,
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
 * Returns: the counters, freed with the device; or ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM), or an
 * error of drm_perfctr_add_source().
 */
struct pcounter *drmm_pcounter_create(struct drm_device *drm, struct drm_perfctr *pc,
				      const struct pcounter_config *config)
{
	struct drm_perfctr_block_desc *descs;
	struct pcounter *p;
	unsigned int d;
	u64 tpcs;
	int ret;

	if (!config->tpcs)
		return ERR_PTR(-EINVAL);
	p = drmm_kzalloc(drm, sizeof(*p), GFP_KERNEL);
	descs = drmm_kcalloc(drm, PCOUNTER_DOMAINS + hweight64(config->tpcs), sizeof(*descs),
			     GFP_KERNEL);
	if (!p || !descs)
		return ERR_PTR(-ENOMEM);

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
	p->extension.select = pcounter_select;
	ret = drm_perfctr_add_source(pc, &p->source);
	if (!ret)
		ret = drm_perfctr_extend_source(&p->source, &p->extension);
	return ret ? ERR_PTR(ret) : p;
}
EXPORT_SYMBOL_GPL(drmm_pcounter_create);

/**
 * pcounter_show() - print mode and statistics, for debugfs
 * @p: the counters
 * @m: the file
 */
void pcounter_show(struct pcounter *p, struct seq_file *m)
{
	seq_printf(m, "mode %s\n", READ_ONCE(p->recorded) ? "record" : "quad");
	seq_printf(m, "collections %llu\n", READ_ONCE(p->stats.collections));
	seq_printf(m, "batches %llu\n", READ_ONCE(p->stats.batches));
	seq_printf(m, "packets %llu\n", READ_ONCE(p->stats.packets));
	seq_printf(m, "full %llu\n", READ_ONCE(p->stats.full));
	seq_printf(m, "refused %llu\n", READ_ONCE(p->stats.refused));
	seq_printf(m, "saturated %llu\n", READ_ONCE(p->stats.saturated));
}
EXPORT_SYMBOL_GPL(pcounter_show);

MODULE_DESCRIPTION("PCOUNTER and MP counters of NVIDIA's nv50 family");
MODULE_LICENSE("GPL");
