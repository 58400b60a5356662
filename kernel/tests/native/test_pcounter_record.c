// SPDX-License-Identifier: GPL-2.0
/*
 * The source of PCOUNTER in RECORD mode: batches of packets, loss, unanswered triggers.
 */
#include "pcounter_fixture.h"

/* without memory for packets the core samples at each period */
TEST(missing_memory_disables_recording)
{
	check(!IS_ERR(fake_create(&fake_pcounter_ops, BIT_ULL(TPC), 0, 0)));
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
TEST(loss_is_marked_in_its_domain_only)
{
	u64 now_ns, stall_ns = 40 * MS;

	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_1);
	start();
	check(core.source->batch_ns);
	pass(MS);
	do
		check_eq(fake_collect(native_now_ns - MS / 2), 0);
	while (core.last.more);
	rop_overflows();
	pass(stall_ns);
	now_ns = native_now_ns;
	/* the core requests the first period and gets all at once */
	check_eq(fake_collect(now_ns - stall_ns + PERIOD_NS), 0);
	check(!core.last.more);
	check_eq(core.last.time_ns, now_ns);
	check_eq(core.last.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(fault_states(2), LOST | SATURATED);
	check_eq(fault_states(1), 0);
	/* since the last packet with room: at most 2,049 packets of 976 clocks earlier */
	check(core.last.lost_ns >= stall_ns - 2049 * 976);
	check(core.last.lost_ns <= stall_ns);
	check_eq(core.cycles[2], core.cycles[1]);
	finish();
}

TEST(simultaneous_losses_count_once)
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

TEST(unanswered_triggers_lose_nothing)
{
	set_up_idle(PERIOD_NS);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.unanswered = 2;
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
static void idle_for_1000_clocks(void)
{
	idle(true);
	pass(1000);
	fake_run();
	idle(false);
	pass(MS - 1000);
}

/* the first answered collection has the counts beyond both halves */
TEST(full_halves_lose_nothing)
{
	const u64 all_ns = HALF_NS + 4 * MS;
	unsigned int way;

	/* a collection, or a selection that programs the domain again */
	for (way = 0; way < 2; way++) {
		fill_both_halves();
		idle_for_1000_clocks();
		hw.stuck[1] = false;
		if (way) {
			want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
			fake_select();
		}
		check_eq(collect(), 0);
		check(!core.last.more);
		check_eq(core.last.time_ns, native_now_ns);
		check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 1000);
		check_eq(core.cycles[1], all_ns);
		check_loss(0, 0);
		check_eq(fault_states(1), 0);
		/* a selection takes a nanosecond */
		check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], core.enabled[1]);
		check_eq(core.enabled[1], all_ns + way);
		finish();
	}
}

TEST(saturation_after_full_halves_is_lost)
{
	const u64 lost_ns = 10 * MS;

	fill_both_halves();
	/* saturates in 65,535 clocks */
	idle(true);
	pass(lost_ns);
	hw.stuck[1] = false;
	/* the core requests a sample of the first period */
	check_eq(fake_collect(native_now_ns - HALF_NS), 0);
	check(!core.last.more);
	check_eq(core.last.time_ns, native_now_ns);
	check_eq(core.last.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(fault_states(1), LOST | SATURATED);
	check(core.totals[1][NV50_PCOUNTER_GPU_IDLE] <= U16_MAX);
	/* since the last packet with room */
	check(core.last.lost_ns >= lost_ns + MS);
	check(core.last.lost_ns <= lost_ns + 2 * MS);
	check_eq(core.cycles[1], HALF_NS + 3 * MS + lost_ns);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], U16_MAX + MS);
	finish();
}

TEST(unanswered_triggers_after_full_halves_lose_nothing)
{
	u64 all_ns = HALF_NS + 3 * MS;
	unsigned int n;

	fill_both_halves();
	idle_for_1000_clocks();
	all_ns += MS;
	hw.stuck[1] = false;
	hw.answered_first = 1;
	hw.unanswered = 3;
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

TEST(selection_marks_unread_packets_lost)
{
	set_up_idle(PERIOD_NS);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.unanswered = 1;
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	fake_select();
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

/* a batch covers all domains: no packets are read if one domain is stuck */
TEST(selection_marks_packets_unread_behind_stuck_domain_lost)
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
	fake_select();
	hw.stuck[2] = false;
	collect_after(MS, 0);
	check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], 2 * MS);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, MS + 1000);
	check_eq(fault_states(1), LOST);
	/* the stuck domain delivers all counts when it answers */
	check_eq(core.totals[2][NV50_PCOUNTER_ROP_BUSY], 3 * MS + 1000);
	check_eq(fault_states(2), 0);
	collect_after(MS, 0);
	check_loss(0, 0);
	check_eq(fault_states(1) | fault_states(2), 0);
	finish();
}

TEST(dropping_a_domain_while_another_is_stuck_loses_nothing)
{
	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start_idle();
	collect_after(MS, 0);
	pass(MS);
	hw.stuck[1] = true;
	core.wanted[2][0] = 0;
	fake_select();
	check_eq(mode_of(2), PCOUNTER_MODE_OFF);
	check_eq(mode_of(1), PCOUNTER_MODE_RECORD);
	collect_after(MS, -EIO);
	hw.stuck[1] = false;
	collect_after(MS, 0);
	check_idle(4 * MS);
	check_loss(DRM_PERFCTR_SAMPLE_ERROR, 0);
	check_eq(fault_states(1), 0);
	check_idle_ran(4 * MS);
	finish();
}

TEST(counter_added_while_a_domain_is_stuck_runs_from_then_on)
{
	set_up_idle(PERIOD_NS);
	want(2, NV50_PCOUNTER_ROP_BUSY);
	start();
	collect_after(MS, 0);
	pass(MS);
	hw.stuck[2] = true;
	check_eq(collect(), -EIO);
	pass(MS);
	/* in an active domain and in an idle one */
	want(1, NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT);
	want(3, NV50_PCOUNTER_SHADER_BUSY);
	fake_select();
	collect_after(MS, -EIO);
	/* another session joins */
	want(1, NV50_PCOUNTER_GEOM_PRIMITIVE_IN_COUNT);
	pass(1000);
	fake_select();
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
	/* unread counts of the domain that was reprogrammed */
	check_eq(fault_states(1), LOST);
	check_eq(fault_states(3) | fault_states(2), 0);
	finish();
}

/* recording begins, or ends */
TEST(recording_change_while_a_domain_is_stuck_counts_time_once)
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
		fake_select();
		check_eq(!!core.source->batch_ns, !ends);
		hw.stuck[1] = false;
		collect_after(MS, 0);
		check_idle_ran(3 * MS + 1000);
		check_eq(core.running[1][NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT], MS);
		check_eq(core.running[MP_BLOCK][NV50_MP_BRANCH], ends ? MS : 2 * MS + 1000);
		finish();
	}
}

/* two packets in each period */
TEST(packet_period_follows_the_frequency)
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
