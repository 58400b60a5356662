// SPDX-License-Identifier: GPL-2.0
/*
 * The source of PCOUNTER and MP counters between the model of the hardware and a fake core. The
 * test controls time, so that all results are exact.
 */
#include <drm/drm_perfctr.h>
#include <drm/perfctr_nv50.h>
#include "nv50_counters.h"
#include "pcounter_perfctr.h"
#include "pm_model.h"
#include "test.h"

#define TPC		2
#define BLOCKS		(PCOUNTER_DOMAINS + 1)
#define MP_BLOCK	PCOUNTER_DOMAINS
#define MP_DOMAIN	3
#define SECTIONS	DRM_PERFCTR_BLOCK_INFO_SECTIONS
/* all domains: a clock is a nanosecond, so that times and clocks can be compared */
#define HZ		NSEC_PER_SEC
#define RECORD_BYTES	(64u << 10)
#define MS		NSEC_PER_MSEC
#define LOST		DRM_PERFCTR_STATE_LOST
#define SATURATED	DRM_PERFCTR_STATE_SATURATED

static struct pm_model pm;
static u8 record[PCOUNTER_DOMAINS][RECORD_BYTES] __aligned(8);

static struct {
	struct pm_signals wires[PCOUNTER_DOMAINS];
	struct mp_state mp;
	struct mp_signals mp_wires;
	u64 mp_missed_ns[MP_SLOTS];
	u32 mux[NV50_MUXES];
	u64 time_ns;
	/*
	 * STATUS and RECORD_STATUS read 0 after this many requests, until the test resets them or
	 * for ever
	 */
	unsigned int silences;
	/* so many requests are answered before */
	unsigned int answers;
	bool silent[PCOUNTER_DOMAINS], for_ever;
	/* this one is answered after any request, until the test ends it */
	bool stuck[PCOUNTER_DOMAINS];
	/* writes of CTRL to each domain */
	unsigned int set_up[PCOUNTER_DOMAINS];
	/* frequency that the source sees; 0: HZ */
	u64 hz;
} hw;

static struct {
	struct drm_perfctr_source *source;
	u64 totals[BLOCKS][DRM_PERFCTR_SECTION_COUNTERS];
	u64 running[BLOCKS][DRM_PERFCTR_SECTION_COUNTERS];
	u64 enabled[BLOCKS], cycles[PCOUNTER_DOMAINS], reached_ns[BLOCKS];
	u32 states[BLOCKS];
	u64 valid[BLOCKS];
	u64 wanted[BLOCKS][SECTIONS];
	/* of the last collection */
	struct drm_perfctr_collection last;
	/* its answers to a source */
	int add_errno;
} core;

/* --- the core -------------------------------------------------------------------- */

int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	core.source = source;
	return -core.add_errno;
}

u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	assert(block < BLOCKS);
	return core.totals[block];
}

void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block, u32 states,
			      const u64 *valid)
{
	assert(block < BLOCKS);
	core.states[block] = states;
	core.valid[block] = valid[0];
}

void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted)
{
	unsigned int i;

	core.enabled[block] += ns;
	for (i = 0; i < DRM_PERFCTR_SECTION_COUNTERS; i++)
		core.running[block][i] += counted[0] >> i & 1 ? ns : 0;
}

void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block, u64 time_ns)
{
	core.reached_ns[block] = time_ns;
}

/* --- the hardware ------------------------------------------------------------------ */

static u64 begin(void *priv)
{
	const u64 clocks = native_now_ns - hw.time_ns;
	unsigned int d;

	hw.time_ns = native_now_ns;
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		pm_run(&pm, d, &hw.wires[d], clocks);
	mp_run(&hw.mp, &hw.mp_wires, clocks);
	return hw.time_ns;
}

static void end(void *priv)
{
	if (!hw.for_ever)
		memset(hw.silent, 0, sizeof(hw.silent));
}

static bool falls_silent(void)
{
	if (!hw.silences)
		return false;
	if (hw.answers) {
		hw.answers--;
		return false;
	}
	hw.silences--;
	return true;
}

static u32 read_register(void *priv, u32 reg)
{
	const unsigned int d = reg / 4 % PCOUNTER_DOMAINS;
	const u32 value = pm_read(&pm, reg);

	if ((reg == PCOUNTER_STATUS(d) || reg == PCOUNTER_RECORD_STATUS(d)) &&
	    (hw.silent[d] || hw.stuck[d]))
		return 0;
	return value;
}

static void write_register(void *priv, u32 reg, u32 value)
{
	const unsigned int d = reg / 4 % PCOUNTER_DOMAINS;

	if (reg == PCOUNTER_OP(d, PCOUNTER_PRE))
		hw.silent[d] = falls_silent();
	if (reg == PGRAPH_PM_TRIGGER)
		memset(hw.silent, falls_silent(), sizeof(hw.silent));
	hw.set_up[d] += reg == PCOUNTER_CTRL(d);
	pm_write(&pm, reg, value);
}

static void set_mux(void *priv, unsigned int mux, u32 value)
{
	hw.mux[mux] = value;
}

static u64 hz(void *priv, unsigned int domain)
{
	return hw.hz ?: HZ;
}

static void mp_program(void *priv, const u32 *control)
{
	unsigned int slot;

	for (slot = 0; slot < MP_SLOTS; slot++) {
		mp_method(&hw.mp, MP_PM_CONTROL(slot), control[slot]);
		mp_method(&hw.mp, MP_PM_SET(slot), 0);
	}
}

static u64 mp_take(void *priv, unsigned int tpc, unsigned int slot, bool *saturated)
{
	const u32 value = hw.mp.value[slot];

	assert(tpc == TPC);
	*saturated = value == U32_MAX;
	mp_method(&hw.mp, MP_PM_SET(slot), 0);
	return value;
}

static u64 mp_missed_ns(void *priv, unsigned int counter)
{
	const u64 ns = hw.mp_missed_ns[counter];

	hw.mp_missed_ns[counter] = 0;
	return ns;
}

static const struct pcounter_ops ops = {
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

/* --- the test --------------------------------------------------------------------- */

static void want(unsigned int block, unsigned int counter)
{
	core.wanted[block][0] |= 1ull << counter;
}

static struct pcounter *create(u32 record_bytes, int add_errno)
{
	struct pcounter_config config = {
		.ops = &ops,
		.tpcs = BIT_ULL(TPC),
		.record_bytes = record_bytes,
	};
	unsigned int d;

	memset(&hw, 0, sizeof(hw));
	memset(&core, 0, sizeof(core));
	memset(record, 0, sizeof(record));
	pm_init(&pm);
	for (d = 0; d < PCOUNTER_DOMAINS; d++) {
		config.record[d] = record[d];
		pm_set_memory(&pm, d, record[d], RECORD_BYTES);
	}
	hw.time_ns = native_now_ns;
	core.add_errno = add_errno;
	return drmm_pcounter_create(NULL, NULL, &config);
}

static void set_up(u64 period_ns)
{
	check(!IS_ERR(create(RECORD_BYTES, 0)));
	core.source->period_ns = period_ns;
}

static void select_wanted(void)
{
	core.source->ops->select(core.source, core.wanted[0]);
}

static void start(void)
{
	select_wanted();
	check_eq(core.source->ops->start(core.source, 0), 0);
}

/* as the core does; without a source time, the time of a collection is its end */
static int collect_until(u64 until_ns)
{
	unsigned int d;
	int ret;

	memset(core.states, 0, sizeof(core.states));
	core.last = (struct drm_perfctr_collection){ .until_ns = until_ns };
	ret = core.source->ops->collect(core.source, &core.last);
	for (d = 0; d < PCOUNTER_DOMAINS; d++)
		core.cycles[d] += core.last.clock_cycles[d];
	return ret;
}

static int collect(void)
{
	return collect_until(U64_MAX);
}

static void pass(u64 ns)
{
	native_sleep_ns(ns);
}

static void finish(void)
{
	core.source->ops->stop(core.source);
	native_free_managed();
}

/* GPU_IDLE's signal; the others of the domain are silent */
static void idle(bool high)
{
	pm_signal_set(&hw.wires[1], 0xbd, high);
}

static void start_idle(void)
{
	start();
	idle(true);
}

/* a session that wants GPU_IDLE */
static void set_up_idle(u64 period_ns)
{
	set_up(period_ns);
	want(1, NV50_PCOUNTER_GPU_IDLE);
}

/* the signals of ROP_BUSY */
static void rop_busy(void)
{
	pm_signal_set(&hw.wires[2], 0x02, true);
	pm_signal_set(&hw.wires[2], 0x03, true);
}

/* 63 in each clock: a packet in each 976 clocks, 2,048 of them fit */
static void rop_overflows(void)
{
	memset(hw.wires[2].bits, 0xff, 3 * sizeof(hw.wires[2].bits[0]));
}

/* macros, so that a failed check has the line of its test */
#define collect_after(ns, errno) \
	do { \
		pass(ns); \
		check_eq(collect(), errno); \
	} while (0)
#define check_loss(flags_, ns) \
	do { \
		check_eq(core.last.flags, flags_); \
		check_eq(core.last.lost_ns, ns); \
	} while (0)
#define check_idle(clocks) \
	do { \
		check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], clocks); \
		check_eq(core.cycles[1], clocks); \
	} while (0)
#define check_idle_ran(ns) \
	do { \
		check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], ns); \
		check_eq(core.enabled[1], ns); \
	} while (0)

static u32 fault_states(unsigned int block)
{
	return core.states[block] & (LOST | SATURATED | DRM_PERFCTR_STATE_ERROR);
}

static void a_saturated_counter_costs_the_time_between_two_collections(void)
{
	set_up_idle(0);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	collect_after(U32_MAX - 1ull, 0);
	/* the last value that is one */
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], U32_MAX - 1ull);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	collect_after(5000 * MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2ull * U32_MAX - 1);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, 5000 * MS);
	check_eq(fault_states(1), LOST | SATURATED);
	/* its own counts are few, its clocks are not */
	check_eq(fault_states(2), LOST | SATURATED);
	check_eq(fault_states(MP_BLOCK), 0);
	check_eq(fault_states(4), 0);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

/* no session uses the clocks of this domain: they may saturate */
static void clocks_that_nobody_is_told_are_nobodys_loss(void)
{
	set_up(0);
	start();
	collect_after(5000 * MS, 0);
	check_eq(core.cycles[1], U32_MAX);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

/* those of the TPCs belong to a domain */
static void clocks_of_mp_counters_that_saturate_are_lost(void)
{
	set_up(0);
	want(MP_BLOCK, NV50_MP_BRANCH);
	start();
	collect_after(5000 * MS, 0);
	check_eq(core.cycles[MP_DOMAIN], U32_MAX);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, 5000 * MS);
	check_eq(fault_states(MP_BLOCK), LOST | SATURATED);
	check_eq(fault_states(1), 0);
	finish();
}

static void mp_counters_that_saturate_say_so(void)
{
	set_up(0);
	want(MP_BLOCK, NV50_MP_INSTRUCTIONS);
	start();
	pm_signal_set(&hw.mp_wires.unit[4], 0x04, true);
	collect_after(1000 * MS, 0);
	check_eq(core.totals[MP_BLOCK][NV50_MP_INSTRUCTIONS], 1000 * MS);
	check_eq(core.last.flags, 0);
	/* so that the clocks of its domain do not saturate as well */
	mp_method(&hw.mp, MP_PM_SET(0), U32_MAX - 1000);
	collect_after(MS, 0);
	check_eq(core.totals[MP_BLOCK][NV50_MP_INSTRUCTIONS], 1000 * MS + U32_MAX);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, MS);
	check_eq(fault_states(MP_BLOCK), LOST | SATURATED);
	collect_after(MS, 0);
	check_eq(core.last.flags, 0);
	check_eq(fault_states(MP_BLOCK), 0);
	finish();
}

/* a domain that does not answer costs neither the others' counts nor its own */
static void a_swap_that_is_not_answered_is_read_later(void)
{
	set_up_idle(0);
	start_idle();
	pass(MS);
	/* of the eight requests, those of domains 0 and 1 */
	hw.silences = 2;
	check_eq(collect(), -EIO);
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2 * MS);
	check_idle_ran(2 * MS);
	check_eq(core.cycles[1], 2 * MS);
	check_eq(core.cycles[2], 2 * MS);
	check_loss(0, 0);
	check_eq(fault_states(0) | fault_states(1) | fault_states(2), 0);
	finish();
}

/* requested twice before it answers: the second swap has overwritten the first one's counts */
static void a_period_that_was_swapped_over_is_lost(void)
{
	set_up_idle(0);
	start_idle();
	pass(MS);
	hw.for_ever = true;
	hw.silences = PCOUNTER_DOMAINS;
	check_eq(collect(), -EIO);
	pass(MS);
	/* one read sees nothing; the next request sees both at once */
	check_eq(collect(), 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], MS);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, 2 * MS);
	check_eq(fault_states(1), LOST);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

static void a_selection_keeps_what_was_counted_before_it(void)
{
	set_up_idle(0);
	start_idle();
	collect_after(MS, 0);
	pass(1000);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	select_wanted();
	collect_after(MS, 0);
	check_idle(2 * MS + 1000);
	check_eq(core.last.flags, 0);
	finish();
}

/* too many between two collections: running times are missing, counts are not */
static void selections_without_end_lose_no_counts(void)
{
	const unsigned int selections = 20;
	unsigned int i;

	set_up_idle(0);
	start_idle();
	for (i = 0; i < selections; i++) {
		pass(1000);
		select_wanted();
	}
	collect_after(1000, 0);
	check_idle((selections + 1) * 1000);
	check(core.running[1][NV50_PCOUNTER_GPU_IDLE] < (selections + 1) * 1000);
	check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], core.enabled[1]);
	check_eq(core.last.flags, 0);
	finish();
}

/* a domain that does not answer before it is programmed again: its counts are lost, no others */
static void a_selection_tells_what_it_could_not_read(void)
{
	set_up_idle(0);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	rop_busy();
	collect_after(MS, 0);
	pass(1000);
	hw.silences = 2;
	/* another counter of each domain */
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	want(2, NV50_PCOUNTER_ROP_WAITS_FOR_SHADER);
	select_wanted();
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2 * MS);
	check_eq(core.totals[2][NV50_PCOUNTER_ROP_BUSY], 2 * MS + 1000);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, 1000);
	check_eq(fault_states(1), LOST);
	check_eq(fault_states(2), 0);
	collect_after(MS, 0);
	check_loss(0, 0);
	finish();
}

/* --- recording ------------------------------------------------------------------------ */

#define PERIOD_NS	100000

static void what_the_core_refuses_is_the_drivers_to_know(void)
{
	struct pcounter *p = create(RECORD_BYTES, EINVAL);

	check(IS_ERR(p));
	check_eq(PTR_ERR(p), -EINVAL);
	native_free_managed();
}

/* a driver without memory for packets: periods are the core's own */
static void without_memory_nothing_is_recorded(void)
{
	check(!IS_ERR(create(0, 0)));
	core.source->period_ns = PERIOD_NS;
	want(1, NV50_PCOUNTER_GPU_IDLE);
	start();
	check_eq(core.source->batch_ns, 0);
	idle(true);
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], MS);
	finish();
}

/* two domains; one of them reaches the end of its memory and of its counter */
static void the_loss_of_one_domain_is_told_beside_another(void)
{
	u64 now_ns, stall_ns = 40 * MS;

	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_1);
	start();
	check(core.source->batch_ns);
	pass(MS);
	do
		check_eq(collect_until(native_now_ns - MS / 2), 0);
	while (core.last.more);
	rop_overflows();
	pass(stall_ns);
	now_ns = native_now_ns;
	/* the core requests a sample of the first period: it gets all at once */
	check_eq(collect_until(now_ns - stall_ns + PERIOD_NS), 0);
	check(!core.last.more);
	check_eq(core.last.time_ns, now_ns);
	check_eq(core.last.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(fault_states(2), LOST | SATURATED);
	check_eq(fault_states(1), 0);
	/* from the last packet that had room, which is at most so many packets of 976 clocks */
	check(core.last.lost_ns >= stall_ns - 2049 * 976);
	check(core.last.lost_ns <= stall_ns);
	check_eq(core.cycles[2], core.cycles[1]);
	finish();
}

/* two domains lose counts at the same time: the time is lost once */
static void losses_at_the_same_time_are_not_added_up(void)
{
	u64 stall_ns = 300 * MS;

	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_1);
	start_idle();
	rop_overflows();
	collect_after(stall_ns, 0);
	check_eq(fault_states(1), LOST | SATURATED);
	check_eq(fault_states(2), LOST | SATURATED);
	check(core.last.lost_ns >= stall_ns - 2049 * 976);
	check(core.last.lost_ns <= stall_ns);
	finish();
}

static void a_trigger_that_is_not_answered_costs_nothing(void)
{
	set_up_idle(PERIOD_NS);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.silences = 2;
	check_eq(collect(), -EIO);
	collect_after(MS, -EIO);
	collect_after(MS, 0);
	check_idle(4 * MS);
	check_loss(0, 0);
	check_eq(core.last.time_ns, native_now_ns);
	finish();
}

static u32 periodic_of(unsigned int d)
{
	return ((pm.domains[d].ctrl & PCOUNTER_CTRL_PERIODIC) >> PCOUNTER_CTRL_PERIODIC_SHIFT) - 1;
}

/* time in which packets fill a half of the memory, each of them 2^15 clocks */
#define HALF_NS		(RECORD_BYTES / 2 / PCOUNTER_SHORT_BYTES * 32768ull)

/* a recorded, idle domain that does not answer until both halves are full */
static void fill_both_halves(void)
{
	set_up_idle(PERIOD_NS);
	start();
	check_eq(periodic_of(1), 5);
	collect_after(MS, 0);
	hw.stuck[1] = true;
	collect_after(MS, -EIO);
	collect_after(HALF_NS + MS, -EIO);
}

/* 1000 clocks of a millisecond */
static void idle_for_a_moment(void)
{
	idle(true);
	pass(1000);
	begin(NULL);
	end(NULL);
	idle(false);
	pass(MS - 1000);
}

/* counts without room are in the first answered collection, and nothing is lost */
static void a_long_silence_costs_nothing(void)
{
	const u64 all_ns = HALF_NS + 4 * MS;
	unsigned int way;

	/* a collection, or a selection that programs the domain again */
	for (way = 0; way < 2; way++) {
		fill_both_halves();
		idle_for_a_moment();
		hw.stuck[1] = false;
		if (way) {
			want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
			select_wanted();
		}
		check_eq(collect(), 0);
		check(!core.last.more);
		check_eq(core.last.time_ns, native_now_ns);
		check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 1000);
		check_eq(core.cycles[1], all_ns);
		check_loss(0, 0);
		check_eq(fault_states(1), 0);
		/* that is its time as well; at least a nanosecond */
		check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], core.enabled[1]);
		check_eq(core.enabled[1], all_ns + way);
		finish();
	}
}

/* a counter without room loses counts from that moment on */
static void a_long_silence_tells_what_it_lost(void)
{
	const u64 lost_ns = 10 * MS;

	fill_both_halves();
	/* full in a moment */
	idle(true);
	pass(lost_ns);
	hw.stuck[1] = false;
	/* the core requests a sample of the first period */
	check_eq(collect_until(native_now_ns - HALF_NS), 0);
	check(!core.last.more);
	check_eq(core.last.time_ns, native_now_ns);
	check_eq(core.last.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(fault_states(1), LOST | SATURATED);
	check(core.totals[1][NV50_PCOUNTER_GPU_IDLE] <= U16_MAX);
	/* since the last packet with room: an odd one was there, that of the first trigger */
	check(core.last.lost_ns >= lost_ns + MS);
	check(core.last.lost_ns <= lost_ns + 2 * MS);
	check_eq(core.cycles[1], HALF_NS + 3 * MS + lost_ns);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], U16_MAX + MS);
	finish();
}

/* silent again before it has delivered what had no room */
static void a_silence_after_a_long_one_costs_nothing(void)
{
	u64 all_ns = HALF_NS + 3 * MS;
	unsigned int n;

	fill_both_halves();
	idle_for_a_moment();
	all_ns += MS;
	hw.stuck[1] = false;
	hw.answers = 1;
	hw.silences = 3;
	for (n = 0; n < 3; n++) {
		check_eq(collect(), -EIO);
		pass(MS);
		all_ns += MS;
	}
	check_eq(collect(), 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 1000);
	check_eq(core.cycles[1], all_ns);
	check_loss(0, 0);
	check_eq(core.last.time_ns, native_now_ns);
	check_idle_ran(all_ns);
	finish();
}

static void a_selection_tells_what_was_not_recorded(void)
{
	set_up_idle(PERIOD_NS);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.silences = 1;
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	select_wanted();
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2 * MS);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, MS);
	check_eq(fault_states(1), LOST);
	finish();
}

static u32 mode_of(unsigned int d)
{
	return pm.domains[d].ctrl & PCOUNTER_CTRL_MODE;
}

/* a batch covers all domains: packets of those that answered are not read either */
static void a_selection_tells_what_another_domain_kept_from_being_read(void)
{
	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	rop_busy();
	collect_after(MS, 0);
	pass(MS);
	hw.stuck[2] = true;
	check_eq(collect(), -EIO);
	pass(1000);
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	select_wanted();
	hw.stuck[2] = false;
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2 * MS);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, MS + 1000);
	check_eq(fault_states(1), LOST);
	/* it is unchanged, and delivers everything when it answers */
	check_eq(core.totals[2][NV50_PCOUNTER_ROP_BUSY], 3 * MS + 1000);
	check_eq(fault_states(2), 0);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1) | fault_states(2), 0);
	finish();
}

/* a counter is dropped while another domain does not answer: no session loses anything */
static void a_domain_may_leave_while_another_is_silent(void)
{
	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.stuck[1] = true;
	core.wanted[2][0] = 0;
	select_wanted();
	check_eq(mode_of(2), PCOUNTER_MODE_OFF);
	check_eq(mode_of(1), PCOUNTER_MODE_RECORD);
	collect_after(MS, -EIO);
	hw.stuck[1] = false;
	collect_after(MS, 0);
	check_idle(4 * MS);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, 0);
	check_eq(fault_states(1), 0);
	/* each time once */
	check_idle_ran(4 * MS);
	finish();
}

/* a session that joins while another domain is silent runs from then on, the others all the time */
static void joining_a_silent_record_gives_no_earlier_time(void)
{
	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start();
	collect_after(MS, 0);
	pass(MS);
	hw.stuck[2] = true;
	check_eq(collect(), -EIO);
	pass(MS);
	/* in a domain that counts already, in one that does not */
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	want(3, NV50_PCOUNTER_SHADER_BUSY);
	select_wanted();
	collect_after(MS, -EIO);
	/* once more: the session that joined continues */
	want(1, NV50_PCOUNTER_GEOM_PRIMITIVE_IN_COUNT);
	pass(1000);
	select_wanted();
	hw.stuck[2] = false;
	collect_after(MS, 0);
	check_eq(core.enabled[3], 2 * MS + 1000);
	check_eq(core.enabled[1], 5 * MS + 1000);
	check_eq(core.enabled[2], 5 * MS + 1000);
	check_eq(core.running[3][NV50_PCOUNTER_SHADER_BUSY], 2 * MS + 1000);
	check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], 5 * MS + 1000);
	check_eq(core.running[1][NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT], 2 * MS + 1000);
	check_eq(core.running[1][NV50_PCOUNTER_GEOM_PRIMITIVE_IN_COUNT], MS);
	check_eq(core.running[2][NV50_PCOUNTER_ROP_BUSY], 5 * MS + 1000);
	/* what the others have not read of the domain that was set up twice */
	check_eq(fault_states(1), LOST);
	check_eq(fault_states(3) | fault_states(2), 0);
	finish();
}

/* the same where recording begins, or ends */
static void recording_that_begins_or_ends_in_silence_has_each_time_once(void)
{
	unsigned int ends;

	for (ends = 0; ends < 2; ends++) {
		set_up_idle(PERIOD_NS);
		if (!ends)
			want(MP_BLOCK, NV50_MP_BRANCH);
		start();
		check_eq(!!core.source->batch_ns, ends);
		collect_after(MS, 0);
		pass(MS);
		hw.stuck[1] = true;
		check_eq(collect(), -EIO);
		pass(1000);
		core.wanted[MP_BLOCK][0] ^= 1ull << NV50_MP_BRANCH;
		want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
		select_wanted();
		check_eq(!!core.source->batch_ns, !ends);
		hw.stuck[1] = false;
		collect_after(MS, 0);
		check_idle_ran(3 * MS + 1000);
		check_eq(core.running[1][NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT], MS);
		check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], ends ? MS : 2 * MS + 1000);
		finish();
	}
}

/* a domain with unchanged counters is not reprogrammed: hardware counts on */
static void a_selection_leaves_other_domains_alone(void)
{
	unsigned int period;

	for (period = 0; period < 2; period++) {
		set_up_idle(period * PERIOD_NS);
		start();
		check_eq(!!core.source->batch_ns, period);
		idle(true);
		memset(hw.set_up, 0, sizeof(hw.set_up));
		collect_after(MS, 0);
		pass(1000);
		/* what it does not deliver now comes later */
		hw.silences = 1 + !period;
		want(2, NV50_PCOUNTER_ROP_BUSY);
		select_wanted();
		check_eq(hw.set_up[1], 0);
		check_eq(hw.set_up[2], 2);
		collect_after(MS, 0);
		check_idle(2 * MS + 1000);
		check_loss(DRM_PERFCTR_SAMPLE_ERROR, 0);
		check_eq(fault_states(1), 0);
		collect_after(MS, 0);
		check_eq(core.last.flags, 0);
		check_eq(core.cycles[1], 3 * MS + 1000);
		finish();
	}
}

/* sessions come and go faster than slots change: every counter gets slots all the same */
static void selections_starve_nobody(void)
{
	static const u8 conflicting[] = { NV50_PCOUNTER_ROP_BUSY,
					  NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_1,
					  NV50_PCOUNTER_SHADED_PIXEL_COUNT_0,
					  NV50_PCOUNTER_SHADED_PIXEL_COUNT_2 };
	unsigned int i, n;
	u64 least = U64_MAX, most = 0, sum = 0;

	set_up(0);
	for (i = 0; i < 3; i++)
		want(2, conflicting[i]);
	start();
	for (n = 0; n < 600; n++) {
		/* the last one is wanted half of the time */
		core.wanted[2][0] ^= 1ull << conflicting[3];
		check_eq(collect(), 0);
		select_wanted();
		collect_after(100000, 0);
	}
	for (i = 0; i < 4; i++) {
		const u64 ns = core.running[2][conflicting[i]];

		sum += ns;
		least = min(least, ns);
		most = max(most, ns);
	}
	/* a collection without elapsed time takes a nanosecond */
	check_eq(sum, 600 * 100000 + 600);
	check(most <= 2 * least);
	finish();
}

/* one clock in each nanosecond: counts equal the time that it ran, and the reported counts too */
static void turns_are_as_long_as_what_was_counted_in_them(void)
{
	struct random_state r = { test_seed() };
	unsigned int n;

	set_up_idle(0);
	/* an integer: has the domain for itself */
	want(1, NV50_PCOUNTER_GEOM_VERTEX_IN_COUNT);
	start_idle();
	for (n = 0; n < 1000; n++) {
		pass(1 + random_below(&r, 3 * MS));
		/* sometimes a session comes or goes, some time after the collection */
		if (!random_below(&r, 8)) {
			core.wanted[2][0] ^= 1ull << NV50_PCOUNTER_ROP_BUSY;
			check_eq(collect(), 0);
			pass(random_below(&r, 10000));
			select_wanted();
		} else {
			check_eq(collect(), 0);
		}
	}
	/* a collection without elapsed time takes a nanosecond, and begins no slot */
	check_eq(collect(), 0);
	check(core.running[1][NV50_PCOUNTER_GPU_IDLE] >= core.totals[1][NV50_PCOUNTER_GPU_IDLE]);
	check(core.running[1][NV50_PCOUNTER_GPU_IDLE] <=
	      core.totals[1][NV50_PCOUNTER_GPU_IDLE] + 1000);
	check(core.running[1][NV50_PCOUNTER_GEOM_VERTEX_IN_COUNT] >= core.enabled[1] / 3);
	check(core.running[1][NV50_PCOUNTER_GPU_IDLE] >= core.enabled[1] / 3);
	check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE] +
		 core.running[1][NV50_PCOUNTER_GEOM_VERTEX_IN_COUNT], core.enabled[1]);
	finish();
}

/* time without valid counts is not reported before the counts are */
/* the driver's number of an MP counter: its position among the wanted ones */
static unsigned int slot_of(unsigned int counter)
{
	return hweight64(core.wanted[MP_BLOCK][0] & ((1ull << counter) - 1));
}

static void times_of_turns_come_with_their_counts(void)
{
	set_up_idle(0);
	start_idle();
	collect_after(MS, 0);
	pass(1000);
	hw.silences = 2 * PCOUNTER_DOMAINS;
	core.wanted[1][0] = 1ull << NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT;
	select_wanted();
	collect_after(1000, -EIO);
	check_idle_ran(MS);
	collect_after(1000, 0);
	check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], MS + 1000);
	check_eq(core.running[1][NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT], 2000);
	check_eq(core.enabled[1], MS + 3000);
	check_eq(core.valid[1], 1ull << NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT |
				1ull << NV50_PCOUNTER_GPU_IDLE);
	finish();
}

/* contexts had no slot for some counters, each for another time */
static void what_missed_contexts_ran_for_less(void)
{
	set_up(0);
	want(MP_BLOCK, NV50_MP_BRANCH);
	want(MP_BLOCK, NV50_MP_INSTRUCTIONS);
	want(MP_BLOCK, NV50_MP_DIVERGENT_BRANCH);
	want(1, NV50_PCOUNTER_GPU_IDLE);
	start();
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 1000;
	hw.mp_missed_ns[slot_of(NV50_MP_INSTRUCTIONS)] = MS;
	check_eq(collect(), 0);
	check_eq(core.enabled[MP_BLOCK], MS);
	check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], MS - 1000);
	check_eq(core.running[MP_BLOCK][NV50_MP_INSTRUCTIONS], 0);
	check_eq(core.running[MP_BLOCK][NV50_MP_DIVERGENT_BRANCH], MS);
	check_eq(core.valid[MP_BLOCK],
		 1ull << NV50_MP_BRANCH | 1ull << NV50_MP_DIVERGENT_BRANCH);
	check_idle_ran(MS);
	/* a failed collection reports nothing of it, the next one everything */
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 300;
	hw.silences = 1;
	check_eq(collect(), -EIO);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] += 200;
	collect_after(MS, 0);
	check_eq(core.enabled[MP_BLOCK], 3 * MS);
	check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], 3 * MS - 1500);
	check_eq(core.valid[MP_BLOCK], core.wanted[MP_BLOCK][0]);
	/* time before a selection is reported with the selection's first sample */
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 700;
	core.wanted[MP_BLOCK][0] = 1ull << NV50_MP_BRANCH | 1ull << NV50_MP_WARP_SERIALIZE;
	select_wanted();
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 20;
	check_eq(collect(), 0);
	check_eq(core.enabled[MP_BLOCK], 5 * MS);
	check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], 5 * MS - 2220);
	check_eq(core.running[MP_BLOCK][NV50_MP_WARP_SERIALIZE], MS);
	finish();
}

/* two packets for each period, after the first batch with another frequency */
static void packets_follow_the_frequency(void)
{
	set_up_idle(PERIOD_NS);
	start_idle();
	check_eq(periodic_of(1), 5);
	pass(MS);
	hw.hz = HZ / 4;
	check_eq(collect(), 0);
	check_eq(periodic_of(1), 3);
	pass(MS);
	hw.hz = HZ;
	check_eq(collect(), 0);
	check_eq(periodic_of(1), 5);
	collect_after(MS, 0);
	check_idle(3 * MS);
	finish();
}

static const struct test tests[] = {
	TEST(a_selection_leaves_other_domains_alone),
	TEST(selections_starve_nobody),
	TEST(turns_are_as_long_as_what_was_counted_in_them),
	TEST(times_of_turns_come_with_their_counts),
	TEST(selections_without_end_lose_no_counts),
	TEST(without_memory_nothing_is_recorded),
	TEST(what_the_core_refuses_is_the_drivers_to_know),
	TEST(what_missed_contexts_ran_for_less),
	TEST(packets_follow_the_frequency),
	TEST(a_saturated_counter_costs_the_time_between_two_collections),
	TEST(clocks_that_nobody_is_told_are_nobodys_loss),
	TEST(clocks_of_mp_counters_that_saturate_are_lost),
	TEST(mp_counters_that_saturate_say_so),
	TEST(a_swap_that_is_not_answered_is_read_later),
	TEST(a_period_that_was_swapped_over_is_lost),
	TEST(a_selection_keeps_what_was_counted_before_it),
	TEST(a_selection_tells_what_it_could_not_read),
	TEST(the_loss_of_one_domain_is_told_beside_another),
	TEST(losses_at_the_same_time_are_not_added_up),
	TEST(a_trigger_that_is_not_answered_costs_nothing),
	TEST(a_long_silence_costs_nothing),
	TEST(a_long_silence_tells_what_it_lost),
	TEST(a_silence_after_a_long_one_costs_nothing),
	TEST(a_selection_tells_what_was_not_recorded),
	TEST(a_selection_tells_what_another_domain_kept_from_being_read),
	TEST(joining_a_silent_record_gives_no_earlier_time),
	TEST(recording_that_begins_or_ends_in_silence_has_each_time_once),
	TEST(a_domain_may_leave_while_another_is_silent),
};

int main(int argc, char **argv)
{
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
