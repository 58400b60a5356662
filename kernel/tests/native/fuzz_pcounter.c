// SPDX-License-Identifier: GPL-2.0
/*
 * The source of PCOUNTER and MP counters under libFuzzer: the model with any signals, or with any
 * contents of registers and packets.
 *
 * Always: no access out of bounds, a bounded number of register accesses, times that do not run
 * backwards, each block reported once. With registers of the model each clock is counted once.
 */
#include "fake_pcounter.h"
#include "fuzz_input.h"

#define TPCS		0x15ull
/* odd, so that the halves are, too */
#define RECORD_BYTES	(8u << 10 | 40)
#define PACKETS		(PCOUNTER_DOMAINS * RECORD_BYTES / PCOUNTER_SHORT_BYTES)
/* register accesses of one collection or selection: two attempts to read each domain */
#define ACCESSES_MAX	(2 * PCOUNTER_DOMAINS * 200)
#define MAX_STEPS	200

static struct input *input;
/* of 256 reads of registers, this many return any value */
static unsigned int lies;
static unsigned int accesses;
static bool running;
static u64 started_ns, last_ns;
/* no register or packet was changed */
static bool hardware_is_valid;
/* packets were requested since START: unwanted domains do not count then */
static bool recorded;

static void run_clocks(void)
{
	const u64 clocks = native_now_ns - hw.time_ns;
	unsigned int i;

	fake_run();
	/* counters miss from none to all of the time */
	for (i = 1; i < MP_SLOTS; i++)
		hw.mp_missed_ns[i] += clocks >> (MP_SLOTS - 1 - i);
}

static u64 begin(void *priv)
{
	run_clocks();
	return fake_pcounter_ops.begin(priv);
}

static u32 read_register(void *priv, u32 reg)
{
	require(++accesses < ACCESSES_MAX);
	if (lies && input_u8(input) < lies) {
		hardware_is_valid = false;
		/* anything, or a possible address in the memory of packets */
		return input_u8(input) & 1 ? input_bytes(input, 4) :
					     16 * input_below(input, RECORD_BYTES / 8);
	}
	return fake_pcounter_ops.read(priv, reg);
}

static void write_register(void *priv, u32 reg, u32 value)
{
	require(++accesses < ACCESSES_MAX);
	fake_pcounter_ops.write(priv, reg, value);
}

static bool create(void)
{
	/* the source keeps the pointer */
	static struct pcounter_ops ops;
	struct pcounter *p;

	ops = fake_pcounter_ops;
	ops.begin = begin;
	ops.read = read_register;
	ops.write = write_register;
	lies = 0;
	running = false;
	hardware_is_valid = true;
	native_fail_alloc = input_below(input, 8) ? 0 : 1 + input_below(input, 2);
	p = fake_create(&ops, TPCS, RECORD_BYTES);
	if (IS_ERR(p))
		require(native_fail_alloc == 0);
	native_fail_alloc = 0;
	return core.source;
}

/* --- steps ----------------------------------------------------------------------- */

static void check_clocks(void)
{
	const u64 elapsed = native_now_ns - started_ns;
	unsigned int d;

	for (d = 0; hardware_is_valid && d < PCOUNTER_DOMAINS; d++) {
		require(core.cycles[d] <= elapsed);
		require(recorded || core.cycles[d] == elapsed);
	}
}

/* returns whether the batch has more */
static bool collect_one(u64 until_ns)
{
	struct drm_perfctr_collection *c = &core.last;
	unsigned int i;
	int ret;

	accesses = 0;
	ret = fake_collect(until_ns);
	require(ret == 0 || (ret == -EIO && !hardware_is_valid));
	if (ret)
		return false;
	for (i = 0; i < core.source->block_count; i++)
		require(core.reports[i] == 1);
	/* 0: now */
	c->time_ns = c->time_ns ?: native_now_ns;
	require(c->time_ns <= native_now_ns && c->time_ns >= last_ns);
	require(c->lost_ns <= native_now_ns - started_ns);
	require(!core.extension->more || core.extension->batch_ns);
	last_ns = c->time_ns;
	return core.extension->more;
}

static void collect(u64 until_ns)
{
	unsigned int pieces = 0;

	if (!running)
		return;
	while (collect_one(until_ns))
		require(++pieces <= PACKETS);
	check_clocks();
}

static void choose(void)
{
	/* few counters can be recorded */
	const bool few = input_u8(input) & 3;
	unsigned int i;

	for (i = 0; i < core.source->block_count; i++) {
		const u64 available = core.source->descs[i].available[0];
		const u64 some = few ? 1ull << input_below(input, 64) :
				 input_u8(input) & 1 ? input_u64(input) : 0;

		core.wanted[i][0] = few && i >= PCOUNTER_DOMAINS ? 0 : available & some;
	}
	core.extension->period_ns = few || input_u8(input) & 1 ? 8 * input_bytes(input, 2) : 0;
	accesses = 0;
	fake_select();
	recorded |= core.extension->batch_ns != 0;
}

static void start(void)
{
	require(!core.source->ops->start(core.source, 0));
	running = true;
	started_ns = native_now_ns;
	last_ns = native_now_ns;
	recorded = core.extension->batch_ns != 0;
	memset(core.cycles, 0, sizeof(core.cycles));
}

static void stop(void)
{
	collect(U64_MAX);
	accesses = 0;
	core.source->ops->stop(core.source);
	require(!hw.held);
	running = false;
}

static void scribble(void)
{
	u8 *to = record[input_below(input, PCOUNTER_DOMAINS)];
	unsigned int at = input_below(input, RECORD_BYTES), n = input_u8(input);

	if (input_u8(input) & 1)
		memset(to, n, RECORD_BYTES);
	while (n-- && at < RECORD_BYTES)
		to[at++] = input_u8(input);
	hardware_is_valid = false;
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
		if (running)
			collect_one(U64_MAX);
		break;
	case 3:
		native_sleep_ns(1 + input_bytes(input, 3));
		collect(last_ns + input_bytes(input, 3));
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
		lies = input_u8(input) & 1 ? input_u8(input) : 0;
		break;
	case 9:
		scribble();
		break;
	case 10:
		/* from 0 Hz to more than any hardware has */
		hw.hz = input_u64(input) >> input_below(input, 64);
		break;
	default:
		if (running)
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
	native_now_ns = NSEC_PER_SEC;
	native_drm_errors = 0;
	if (!create())
		return 0;
	choose();
	start();
	while (input_left(&in) && steps++ < MAX_STEPS)
		step();
	if (running)
		stop();
	require(!native_drm_errors);
	native_free_managed();
	return 0;
}
