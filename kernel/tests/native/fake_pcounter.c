// SPDX-License-Identifier: GPL-2.0
/*
 * A fake core and the model of the hardware for the source of PCOUNTER and MP counters.
 */
#include "fake_pcounter.h"

struct pm_model pm;
u8 *record[PCOUNTER_DOMAINS];
struct fake_hw hw;
struct fake_core core;

/* --- the core -------------------------------------------------------------------- */

int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	core.source = source;
	return 0;
}

int drm_perfctr_extend_source(struct drm_perfctr_source *source,
			      struct drm_perfctr_extension *extension)
{
	assert(source == core.source);
	core.extension = extension;
	return 0;
}

u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	assert(block < source->block_count);
	return core.totals[block];
}

void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block, u32 states,
			      const u64 *valid)
{
	assert(block < source->block_count && !core.reports[block]++);
	assert(!(valid[0] & ~source->descs[block].available[0]));
}

void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted)
{
	assert(block < source->block_count);
	assert(!(counted[0] & ~source->descs[block].available[0]));
}

void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block, u64 time_ns)
{
	assert(block < source->block_count && time_ns <= native_now_ns);
}

/* --- the hardware ------------------------------------------------------------------ */

void fake_run(void)
{
	const u64 clocks = native_now_ns - hw.time_ns;
	unsigned int i;

	hw.time_ns = native_now_ns;
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		pm_run(&pm, i, &hw.wires[i], clocks);
	for (i = 0; i < MAX_TPCS; i++)
		mp_run(&hw.mp[i], &hw.mp_wires, clocks);
}

static u64 begin(void *priv)
{
	assert(!hw.held);
	hw.held = true;
	fake_run();
	return hw.time_ns;
}

static void end(void *priv)
{
	assert(hw.held);
	hw.held = false;
}

static u32 read_register(void *priv, u32 reg)
{
	assert(hw.held);
	return pm_read(&pm, reg);
}

static void write_register(void *priv, u32 reg, u32 value)
{
	assert(hw.held);
	pm_write(&pm, reg, value);
}

static void set_mux(void *priv, unsigned int mux, u32 value)
{
}

static u64 hz(void *priv, unsigned int domain)
{
	return hw.hz;
}

static void mp_program(void *priv, const u32 *control)
{
	unsigned int i, slot;

	for (i = 0; i < MAX_TPCS; i++)
		for (slot = 0; slot < MP_SLOTS; slot++) {
			mp_method(&hw.mp[i], MP_PM_CONTROL(slot), control[slot]);
			mp_method(&hw.mp[i], MP_PM_SET(slot), 0);
		}
}

static u64 mp_take(void *priv, unsigned int tpc, unsigned int slot, bool *saturated)
{
	struct mp_state *mp = &hw.mp[hweight64(hw.tpcs & (BIT_ULL(tpc) - 1))];
	u32 value;

	assert(tpc < 64 && hw.tpcs >> tpc & 1 && slot < MP_SLOTS);
	value = mp->value[slot];
	mp_method(mp, MP_PM_SET(slot), 0);
	*saturated = value == U32_MAX;
	return value;
}

static u64 mp_missed_ns(void *priv, unsigned int slot)
{
	u64 ns;

	assert(slot < MP_SLOTS);
	ns = hw.mp_missed_ns[slot];
	hw.mp_missed_ns[slot] = 0;
	return ns;
}

const struct pcounter_ops fake_pcounter_ops = {
	.begin = begin,
	.end = end,
	.read = read_register,
	.write = write_register,
	.set_mux = set_mux,
	.mp_program = mp_program,
	.hz = hz,
	.mp_take = mp_take,
	.mp_missed_ns = mp_missed_ns,
};

/* --- steps -------------------------------------------------------------------------- */

struct pcounter *fake_create(const struct pcounter_ops *ops, u64 tpcs, u32 record_bytes)
{
	struct pcounter_config config = {
		.ops = ops,
		.tpcs = tpcs,
		.record_bytes = record_bytes,
	};
	unsigned int d;

	native_free_managed();
	memset(&hw, 0, sizeof(hw));
	memset(&core, 0, sizeof(core));
	pm_init(&pm);
	for (d = 0; d < PCOUNTER_DOMAINS; d++) {
		free(record[d]);
		record[d] = calloc(1, record_bytes);
		assert(record[d]);
		config.record[d] = record[d];
		pm_set_memory(&pm, d, record[d], record_bytes);
	}
	hw.tpcs = tpcs;
	hw.time_ns = native_now_ns;
	hw.hz = NSEC_PER_SEC;
	return drmm_pcounter_create(NULL, NULL, &config);
}

void fake_select(void)
{
	core.extension->select(core.source, core.wanted[0]);
	assert(!hw.held);
}

int fake_collect(u64 until_ns)
{
	unsigned int d;
	int ret;

	memset(core.reports, 0, sizeof(core.reports));
	core.last = (struct drm_perfctr_collection){};
	core.extension->until_ns = until_ns;
	core.extension->more = false;
	ret = core.source->ops->collect(core.source, &core.last);
	assert(!hw.held);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		core.cycles[d] += core.last.clock_cycles[d];
	return ret;
}
