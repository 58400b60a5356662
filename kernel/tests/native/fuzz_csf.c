// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source under libFuzzer: firmware counts, samples, has named faults, or writes any bytes
 * to any memory that it can write.
 *
 * Always: no access out of bounds, each collection ends in time, times do not run backwards, each
 * block is reported once. Without faults, all counts arrive.
 */
#include "csf_fixture.h"
#include "fuzz_input.h"

#define MAX_STEPS	200

/* firmware has followed the protocol so far */
static bool hardware_is_valid;
static u64 last_ns;
/* counter set since the last start */
static u8 set;

static bool create(struct input *in)
{
	static const u64 present[] = {
		0x1, 0x50005, 0x1110055, 0xffff, 1ull << 63 | 1, ~0ull >> 32,
	};
	u8 shape = input_u8(in);

	firmware_default_config();
	fw.config.shader_present = present[input_below(in, ARRAY_SIZE(present))];
	fw.config.shader_visible = fw.config.shader_present;
	if (shape & 1)
		fw.config.shader_visible &= input_u64(in);
	fw.config.counters_per_block = shape & 2 ? 128 : 64;
	fw.config.shader_dense = shape & 4;
	fw.config.extended_metadata = shape & 8;
	fw.metadata = shape & 16 || shape & 8;
	fw.config.l2_slices = 1 + input_below(in, 4);
	fw.config.slots = 2u << input_below(in, 5);
	firmware_boot();
	if (shape & 32) {
		/* fields that firmware writes */
		fw.config.prfcnt_size = input_bytes(in, 4);
		fw.config.prfcnt_features = input_bytes(in, 4);
	}
	if (shape & 64)
		native_fail_alloc = 1 + input_below(in, 8);
	fixture_create();
	native_fail_alloc = 0;
	return !IS_ERR(csf);
}

static void collect(void)
{
	u64 before_ns = native_now_ns;
	unsigned int i;
	int ret = core_collect();

	require(native_now_ns - before_ns <= COLLECT_MAX_NS);
	require(ret == 0 || ret == -ETIMEDOUT);
	if (ret)
		return;
	require(got.time_ns <= native_now_ns && got.time_ns >= last_ns);
	require(got.lost_ns <= got.time_ns);
	last_ns = got.time_ns;
	for (i = 0; i < core.source->block_count; i++) {
		require(core.reports[i] == 1);
		require(!(core.valid[i][0] & ~core.source->descs[i].available[0]));
		require(!(core.valid[i][1] & ~core.source->descs[i].available[1]));
	}
	if (!hardware_is_valid)
		return;
	require(!ret && !(got.flags & DRM_PERFCTR_SAMPLE_ERROR));
	for (i = 4; i < fw.counters; i++)
		require(core.totals[0][i] == fw.counted[0][i] - fw.dropped[0][i]);
}

/* inject a fault a few times */
static void break_something(struct input *in)
{
	unsigned int n = sizeof(fw.fail) / sizeof(unsigned int);
	unsigned int *fault = (unsigned int *)&fw.fail + input_below(in, n);

	*fault = 1 + input_below(in, 4);
	fw.fault_block = input_below(in, fw.blocks);
	fw.ack_delay_ns = input_below(in, 200) * MS;
	hardware_is_valid = false;
}

static void scribble(struct input *in)
{
	u8 *to = (u8 *)&fw.output;
	size_t room = sizeof(fw.output);
	unsigned int n = 1 + input_below(in, 32);

	if (input_u8(in) & 1) {
		to = fw.ring;
		room = sizeof(fw.ring);
		/* headers are the most interesting bytes */
		to += fw.counters * 4 * input_below(in, room / (fw.counters * 4));
		room = 64;
	}
	while (n--)
		to[input_below(in, room)] = input_u8(in);
	hardware_is_valid = false;
}

static void step(struct input *in)
{
	/* more than a tick of the GPU's timestamp: no two samples have the same time */
	native_sleep_ns(1000);
	switch (input_u8(in) % 16) {
	case 0:
	case 1:
	case 2:
		native_sleep_ns(1000 * (1 + input_below(in, 1000)));
		firmware_count(0, 4 + input_below(in, fw.counters - 4), input_bytes(in, 2));
		break;
	case 3:
	case 4:
	case 5:
		collect();
		break;
	case 6:
		firmware_sample(0);
		break;
	case 7:
		firmware_power(input_u64(in) & fw.config.shader_present);
		break;
	case 8:
		firmware_protected(input_u8(in) & 1);
		break;
	case 9:
		fixture_irq();
		break;
	case 10:
		break_something(in);
		break;
	case 11:
		scribble(in);
		break;
	case 12:
		fw.output.prfcnt_insert = input_bytes(in, 4);
		hardware_is_valid = false;
		break;
	case 13:
		fw.output.ack ^= input_bytes(in, 4);
		hardware_is_valid = false;
		break;
	case 14:
		firmware_restart();
		hardware_is_valid = false;
		break;
	default:
		/* the core collects before it stops, too */
		collect();
		core.source->ops->stop(core.source);
		/* the core rejects a set that does not exist */
		if (input_u8(in) % 4 == 0)
			set = input_below(in, 3);
		/* the block that is compared counts in the primary set only */
		if (core.source->ops->start(core.source, set) || set)
			hardware_is_valid = false;
		native_sleep_ns(input_u8(in) * MS);
		break;
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	unsigned int steps = 0;

	native_now_ns = NSEC_PER_SEC;
	native_drm_errors = 0;
	last_ns = 0;
	set = DRM_PERFCTR_SET_PRIMARY;
	hardware_is_valid = true;
	if (!create(&in)) {
		/* an invalid description is rejected, and logged once */
		require(native_drm_errors <= 1);
		return 0;
	}
	if (core.source->ops->start(core.source, 0))
		hardware_is_valid = false;
	while (input_left(&in) && steps++ < MAX_STEPS)
		step(&in);
	collect();
	core.source->ops->stop(core.source);
	require(!fw.lock.held);
	/* faults of firmware must not fill the kernel log */
	require(!native_drm_errors);
	native_free_managed();
	return 0;
}
