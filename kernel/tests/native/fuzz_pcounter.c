// SPDX-License-Identifier: GPL-2.0
/*
 * The source of PCOUNTER and MP counters under libFuzzer: the model of the hardware with any
 * signals, or registers and packets with any contents.
 *
 * In all cases: no access out of bounds, a bounded number of register accesses, times that do not
 * run backwards, every block reported once. With unchanged registers of the model each clock is
 * counted once.
 */
#include <drm/drm_perfctr.h>
#include <drm/perfctr_nv50.h>
#include "nv50_counters.h"
#include "pcounter_perfctr.h"
#include "pm_model.h"

#include "fuzz_input.h"

#define TPCS		3
#define BLOCKS		(PCOUNTER_DOMAINS + TPCS)
#define SECTIONS	DRM_PERFCTR_BLOCK_INFO_SECTIONS
/* odd, so that the halves are, too */
#define RECORD_BYTES	(8u << 10 | 40)
#define PACKETS		(PCOUNTER_DOMAINS * RECORD_BYTES / PCOUNTER_SHORT_BYTES)
/*
 * register accesses of one collection or selection: some for each of two attempts to read a domain
 */
#define ACCESSES_MAX	(2 * PCOUNTER_DOMAINS * 200)
#define MAX_STEPS	200

static struct input *input;
static struct pm_model pm;
/* separate allocations, so that the sanitizer sees the end */
static u8 *record[PCOUNTER_DOMAINS];

static struct {
	struct pm_signals wires[PCOUNTER_DOMAINS];
	struct mp_state mp[TPCS];
	struct mp_signals mp_wires;
	u64 mp_missed_ns[MP_SLOTS];
	u64 time_ns;
	u64 hz;
	/* of 256 reads of registers, this many return anything */
	unsigned int lies;
	unsigned int accesses;
	bool held;
} hw;

static struct {
	struct drm_perfctr_source *source;
	u64 totals[BLOCKS][DRM_PERFCTR_SECTION_COUNTERS];
	u64 cycles[PCOUNTER_DOMAINS];
	unsigned int reports[BLOCKS];
	u64 valid[BLOCKS];
	u64 wanted[BLOCKS][SECTIONS];
	bool running;
	u64 started_ns, last_ns;
	/* no register or packet was changed */
	bool honest;
	/* packets were requested since START: unwanted domains do not count then */
	bool recorded;
} core;

/* --- the core -------------------------------------------------------------------- */

int drm_perfctr_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	core.source = source;
	return 0;
}

u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	promise(block < BLOCKS);
	return core.totals[block];
}

void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block, u32 states,
			      const u64 *valid)
{
	promise(block < BLOCKS);
	promise(!core.reports[block]++);
	core.valid[block] = valid[0];
}

void drm_perfctr_block_ran(struct drm_perfctr_source *source, unsigned int block, u64 ns,
			   const u64 *counted)
{
	promise(block < BLOCKS);
	promise(!(counted[0] & ~source->descs[block].available[0]));
}

void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block, u64 time_ns)
{
	promise(block < BLOCKS);
	promise(time_ns <= native_now_ns);
}

/* --- the hardware ------------------------------------------------------------------ */

static void run_clocks(void)
{
	const u64 clocks = native_now_ns - hw.time_ns;
	unsigned int i;

	hw.time_ns = native_now_ns;
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		pm_run(&pm, i, &hw.wires[i], clocks);
	for (i = 0; i < TPCS; i++)
		mp_run(&hw.mp[i], &hw.mp_wires, clocks);
	/* contexts have less and less room: from none of the time to all of it */
	for (i = 0; i < MP_SLOTS; i++)
		hw.mp_missed_ns[i] += i ? clocks >> (MP_SLOTS - 1 - i) : 0;
}

static u64 begin(void *priv)
{
	promise(!hw.held);
	hw.held = true;
	run_clocks();
	return hw.time_ns;
}

static void end(void *priv)
{
	promise(hw.held);
	hw.held = false;
}

static u32 read_register(void *priv, u32 reg)
{
	promise(hw.held && ++hw.accesses < ACCESSES_MAX);
	if (hw.lies && input_u8(input) < hw.lies) {
		core.honest = false;
		/* anything, or a possible address in the memory of packets */
		return input_u8(input) & 1 ? input_bytes(input, 4) :
					     16 * input_below(input, RECORD_BYTES / 8);
	}
	return pm_read(&pm, reg);
}

static void write_register(void *priv, u32 reg, u32 value)
{
	promise(hw.held && ++hw.accesses < ACCESSES_MAX);
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
	unsigned int tpc, slot;

	for (tpc = 0; tpc < TPCS; tpc++)
		for (slot = 0; slot < MP_SLOTS; slot++) {
			mp_method(&hw.mp[tpc], MP_PM_CONTROL(slot), control[slot]);
			mp_method(&hw.mp[tpc], MP_PM_SET(slot), 0);
		}
}

static u64 mp_take(void *priv, unsigned int tpc, unsigned int slot, bool *saturated)
{
	u32 value;

	/* TPCs 0, 2, 4 */
	promise(tpc % 2 == 0 && tpc / 2 < TPCS && slot < MP_SLOTS);
	value = hw.mp[tpc / 2].value[slot];
	mp_method(&hw.mp[tpc / 2], MP_PM_SET(slot), 0);
	*saturated = value == U32_MAX;
	return value;
}

static u64 mp_missed_ns(void *priv, unsigned int slot)
{
	u64 ns;

	promise(slot < MP_SLOTS);
	ns = hw.mp_missed_ns[slot];
	hw.mp_missed_ns[slot] = 0;
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

static bool create(void)
{
	struct pcounter_config config = { .ops = &ops, .tpcs = 0x15, .record_bytes = RECORD_BYTES };
	unsigned int d;

	native_free_managed();
	memset(&hw, 0, sizeof(hw));
	memset(&core, 0, sizeof(core));
	pm_init(&pm);
	for (d = 0; d < PCOUNTER_DOMAINS; d++) {
		free(record[d]);
		record[d] = calloc(1, RECORD_BYTES);
		promise(record[d]);
		config.record[d] = record[d];
		pm_set_memory(&pm, d, record[d], RECORD_BYTES);
	}
	hw.time_ns = native_now_ns;
	hw.hz = NSEC_PER_SEC;
	core.honest = true;
	native_fail_alloc = input_below(input, 8) ? 0 : 1 + input_below(input, 2);
	if (IS_ERR(drmm_pcounter_create(NULL, NULL, &config)))
		promise(native_fail_alloc == 0);
	native_fail_alloc = 0;
	return core.source;
}

/* --- steps ----------------------------------------------------------------------- */

static void check_clocks(void)
{
	const u64 elapsed = native_now_ns - core.started_ns;
	unsigned int d;

	for (d = 0; core.honest && d < PCOUNTER_DOMAINS; d++) {
		promise(core.cycles[d] <= elapsed);
		promise(core.recorded || core.cycles[d] == elapsed);
	}
}

/* returns whether the batch has more */
static bool collect_one(u64 until_ns)
{
	struct drm_perfctr_collection c = { .until_ns = until_ns };
	unsigned int i;
	int ret;

	hw.accesses = 0;
	memset(core.reports, 0, sizeof(core.reports));
	ret = core.source->ops->collect(core.source, &c);
	promise(!hw.held);
	promise(ret == 0 || (ret == -EIO && !core.honest));
	if (ret)
		return false;
	for (i = 0; i < BLOCKS; i++) {
		promise(core.reports[i] == 1);
		promise(!(core.valid[i] & ~core.source->descs[i].available[0]));
	}
	for (i = 0; i < PCOUNTER_DOMAINS; i++)
		core.cycles[i] += c.clock_cycles[i];
	/* 0: now */
	c.time_ns = c.time_ns ?: native_now_ns;
	promise(c.time_ns <= native_now_ns && c.time_ns >= core.last_ns);
	promise(c.lost_ns <= native_now_ns - core.started_ns);
	promise(!c.more || core.source->batch_ns);
	core.last_ns = c.time_ns;
	return c.more;
}

static void collect(u64 until_ns)
{
	unsigned int pieces = 0;

	if (!core.running)
		return;
	while (collect_one(until_ns))
		promise(++pieces <= PACKETS);
	check_clocks();
}

static void choose(void)
{
	/* few enough for packets, or any number */
	const bool few = input_u8(input) & 3;
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		const u64 available = core.source->descs[i].available[0];
		const u64 some = few ? 1ull << input_below(input, 64) :
				 input_u8(input) & 1 ? input_u64(input) : 0;

		core.wanted[i][0] = few && i >= PCOUNTER_DOMAINS ? 0 : available & some;
	}
	core.source->period_ns = few || input_u8(input) & 1 ? 8 * input_bytes(input, 2) : 0;
	hw.accesses = 0;
	core.source->ops->select(core.source, core.wanted[0]);
	promise(!hw.held);
	core.recorded |= core.source->batch_ns != 0;
}

static void start(void)
{
	promise(!core.source->ops->start(core.source, 0));
	core.running = true;
	core.started_ns = native_now_ns;
	core.last_ns = native_now_ns;
	core.recorded = core.source->batch_ns != 0;
	memset(core.cycles, 0, sizeof(core.cycles));
}

static void stop(void)
{
	collect(U64_MAX);
	hw.accesses = 0;
	core.source->ops->stop(core.source);
	promise(!hw.held);
	core.running = false;
}

static void scribble(void)
{
	u8 *to = record[input_below(input, PCOUNTER_DOMAINS)];
	unsigned int at = input_below(input, RECORD_BYTES), n = input_u8(input);

	if (input_u8(input) & 1)
		memset(to, n, RECORD_BYTES);
	while (n-- && at < RECORD_BYTES)
		to[at++] = input_u8(input);
	core.honest = false;
}

static void step(void)
{
	struct pm_signals *wires = &hw.wires[input_below(input, PCOUNTER_DOMAINS)];

	switch (input_u8(input) % 12) {
	case 0:
	case 1:
	case 2:
		/* clocks of a domain fit its counter */
		native_sleep_ns(1 + input_bytes(input, 3));
		if (core.running)
			collect_one(U64_MAX);
		break;
	case 3:
		native_sleep_ns(1 + input_bytes(input, 3));
		collect(core.last_ns + input_bytes(input, 3));
		break;
	case 4:
		run_clocks();
		pm_signal_set(wires, input_u8(input), input_u8(input) & 1);
		break;
	case 5:
		run_clocks();
		memset(wires, input_u8(input) & 1 ? 0xff : 0, sizeof(*wires));
		break;
	case 6:
		run_clocks();
		memset(&hw.mp_wires, input_u8(input), sizeof(hw.mp_wires));
		break;
	case 7:
		choose();
		break;
	case 8:
		hw.lies = input_u8(input) & 1 ? input_u8(input) : 0;
		break;
	case 9:
		scribble();
		break;
	case 10:
		/* from nothing to more than there is */
		hw.hz = input_u64(input) >> input_below(input, 64);
		break;
	default:
		if (core.running)
			stop();
		else
			start();
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	unsigned int steps = 0;

	input = &in;
	native_verbose = getenv("PERFCTR_VERBOSE");
	native_now_ns = NSEC_PER_SEC;
	native_drm_errors = 0;
	if (!create())
		return 0;
	choose();
	start();
	while (input_left(&in) && steps++ < MAX_STEPS)
		step();
	if (core.running)
		stop();
	promise(!native_drm_errors);
	native_free_managed();
	return 0;
}
