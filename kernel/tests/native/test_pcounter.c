// SPDX-License-Identifier: GPL-2.0
/*
 * The source of PCOUNTER and MP counters: saturation, unanswered requests, selections, running
 * times. test_pcounter_record.c tests RECORD mode.
 */
#include "pcounter_fixture.h"

TEST(saturated_counter_loses_the_time_since_last_collection)
{
	set_up_idle(0);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	collect_after(U32_MAX - 1ull, 0);
	/* the largest value without saturation */
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], U32_MAX - 1ull);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	collect_after(5000 * MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2ull * U32_MAX - 1);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, 5000 * MS);
	check_eq(fault_states(1), LOST | SATURATED);
	/* the clocks of this domain have saturated */
	check_eq(fault_states(2), LOST | SATURATED);
	check_eq(fault_states(MP_BLOCK), 0);
	check_eq(fault_states(4), 0);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

TEST(saturated_clocks_of_unused_domain_are_no_loss)
{
	set_up(0);
	start();
	collect_after(5000 * MS, 0);
	check_eq(core.cycles[1], U32_MAX);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

/* the clocks of MP counters are those of a domain */
TEST(saturated_mp_clocks_are_lost)
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

TEST(saturated_mp_counter_is_marked)
{
	set_up(0);
	want(MP_BLOCK, NV50_MP_INSTRUCTIONS);
	start();
	pm_signal_set(&hw.mp_wires.unit[4], 0x04, true);
	collect_after(1000 * MS, 0);
	check_eq(core.totals[MP_BLOCK][NV50_MP_INSTRUCTIONS], 1000 * MS);
	check_eq(core.last.flags, 0);
	/* near saturation, while the clocks of the domain are not */
	mp_method(&hw.mp[0], MP_PM_SET(0), U32_MAX - 1000);
	collect_after(MS, 0);
	check_eq(core.totals[MP_BLOCK][NV50_MP_INSTRUCTIONS], 1000 * MS + U32_MAX);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, MS);
	check_eq(fault_states(MP_BLOCK), LOST | SATURATED);
	collect_after(MS, 0);
	check_eq(core.last.flags, 0);
	check_eq(fault_states(MP_BLOCK), 0);
	finish();
}

TEST(unanswered_swap_is_read_later)
{
	set_up_idle(0);
	start_idle();
	pass(MS);
	/* of the eight requests, those of domains 0 and 1 */
	hw.unanswered = 2;
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

/* the second unanswered swap overwrites the counts of the first one */
TEST(overwritten_period_is_lost)
{
	set_up_idle(0);
	start_idle();
	pass(MS);
	hw.stay_silent = true;
	hw.unanswered = PCOUNTER_DOMAINS;
	check_eq(collect(), -EIO);
	pass(MS);
	/* the next request reads one period of two */
	check_eq(collect(), 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], MS);
	check_loss(DRM_PERFCTR_SAMPLE_OVERFLOW, 2 * MS);
	check_eq(fault_states(1), LOST);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1), 0);
	finish();
}

TEST(selection_keeps_earlier_counts)
{
	set_up_idle(0);
	start_idle();
	collect_after(MS, 0);
	pass(1000);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	fake_select();
	collect_after(MS, 0);
	check_idle(2 * MS + 1000);
	check_eq(core.last.flags, 0);
	finish();
}

/* with too many selections between two collections, some running time is missing */
TEST(many_selections_lose_no_counts)
{
	const unsigned int selections = 20;
	unsigned int i;

	set_up_idle(0);
	start_idle();
	for (i = 0; i < selections; i++) {
		pass(1000);
		fake_select();
	}
	collect_after(1000, 0);
	check_idle((selections + 1) * 1000);
	check(core.running[1][NV50_PCOUNTER_GPU_IDLE] < (selections + 1) * 1000);
	check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], core.enabled[1]);
	check_eq(core.last.flags, 0);
	finish();
}

/* the domain does not answer before it is reprogrammed */
TEST(selection_marks_unread_counts_lost)
{
	set_up_idle(0);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	rop_busy();
	collect_after(MS, 0);
	pass(1000);
	hw.unanswered = 2;
	/* another counter of each domain */
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	want(2, NV50_PCOUNTER_ROP_WAITS_FOR_SHADER);
	fake_select();
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

TEST(refused_source_fails_create)
{
	struct pcounter *p = fake_create(&fake_pcounter_ops, BIT_ULL(TPC), RECORD_BYTES, EINVAL);

	check(IS_ERR(p));
	check_eq(PTR_ERR(p), -EINVAL);
	native_free_managed();
}

TEST(selection_does_not_reprogram_other_domains)
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
		/* unanswered counts are read later */
		hw.unanswered = 1 + !period;
		want(2, NV50_PCOUNTER_ROP_BUSY);
		fake_select();
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

/* sessions come and go faster than multiplexing slots change */
TEST(frequent_selections_starve_no_counter)
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
		/* a session with the last one starts or ends */
		core.wanted[2][0] ^= 1ull << conflicting[3];
		check_eq(collect(), 0);
		fake_select();
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

/* the signal is high in each clock, so counts equal the running time in ns */
TEST(running_times_match_the_counts)
{
	struct random_state r = { test_seed() };
	unsigned int n;

	set_up_idle(0);
	/* an integer counter needs the domain alone */
	want(1, NV50_PCOUNTER_GEOM_VERTEX_IN_COUNT);
	start_idle();
	for (n = 0; n < 1000; n++) {
		pass(1 + random_below(&r, 3 * MS));
		/* sometimes the selection changes some time after a collection */
		if (!random_below(&r, 8)) {
			core.wanted[2][0] ^= 1ull << NV50_PCOUNTER_ROP_BUSY;
			check_eq(collect(), 0);
			pass(random_below(&r, 10000));
			fake_select();
		} else {
			check_eq(collect(), 0);
		}
	}
	/* a collection without elapsed time takes a nanosecond and ends no slot */
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

/* slot of an MP counter: its position among the wanted ones */
static unsigned int slot_of(unsigned int counter)
{
	return hweight64(core.wanted[MP_BLOCK][0] & ((1ull << counter) - 1));
}

/* time without valid counts is not reported before the counts are */
TEST(running_times_are_reported_with_their_counts)
{
	set_up_idle(0);
	start_idle();
	collect_after(MS, 0);
	pass(1000);
	hw.unanswered = 2 * PCOUNTER_DOMAINS;
	core.wanted[1][0] = 1ull << NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT;
	fake_select();
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

TEST(missed_contexts_shorten_running_times)
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
	/* after a failed collection the next one reports all */
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 300;
	hw.unanswered = 1;
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
	fake_select();
	pass(MS);
	hw.mp_missed_ns[slot_of(NV50_MP_BRANCH)] = 20;
	check_eq(collect(), 0);
	check_eq(core.enabled[MP_BLOCK], 5 * MS);
	check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], 5 * MS - 2220);
	check_eq(core.running[MP_BLOCK][NV50_MP_WARP_SERIALIZE], MS);
	finish();
}
