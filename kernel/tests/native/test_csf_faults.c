// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source with faulty firmware: each fault is reported, its time is bounded, and the source
 * counts exactly when the firmware works again.
 */
#include "csf_fixture.h"

struct fault_case {
	const char *name;
	size_t offset;
	unsigned int times;
	/* nothing is lost and nothing is reported */
	bool harmless;
	/* all counts arrive in the end */
	bool conserves;
	/* collections until everything works again */
	unsigned int recovers_in;
};

#define FAULT(name, times, harmless, conserves, recovers_in) \
	{ #name, offsetof(struct firmware_faults, name), times, harmless, conserves, recovers_in }

static const struct fault_case fault_cases[] = {
	FAULT(no_ack, 1, true, true, 0),	/* the next poll sees it */
	FAULT(no_ack, 500, false, false, 12),
	FAULT(late_ack, 1, false, true, 2),
	FAULT(double_ack, 1, true, true, 0),	/* taken for a request, and answered */
	FAULT(ack_without_sample, 1, true, true, 0),
	FAULT(ack_without_sample, 2, false, true, 1),
	FAULT(no_irq, 1, true, true, 0),
	FAULT(spurious_irq, 1, true, true, 0),
	FAULT(spurious_irq, 50, true, true, 0),
	FAULT(lost_doorbell, 1, true, true, 0),	/* firmware.c polls during waits */
	FAULT(insert_beyond, 1, false, false, 1),
	FAULT(insert_backwards, 1, false, false, 1),
	FAULT(insert_unwritten, 1, false, true, 1),
	FAULT(garbage_header, 1, false, false, 1),
	FAULT(garbage_timestamp, 1, false, false, 1),
	FAULT(garbage_metadata, 1, false, true, 2),
	FAULT(wrong_start, 1, false, true, 2),
	FAULT(clock_stop, 1, false, true, 2),
	FAULT(torn, 1, false, false, 1),
	FAULT(failed_status, 1, false, true, 1),
	FAULT(overflow, 1, false, false, 2),
	FAULT(threshold, 50, true, true, 0),
	FAULT(anchor_fails, 1, true, true, 1),
	FAULT(time_backwards, 1, false, true, 2),
};

static bool try_fault(const struct fault_case *fc, unsigned int block)
{
	unsigned int *fault = (unsigned int *)((char *)&fw.fail + fc->offset);
	u64 lost_ns = 0, last_ns, sum_before, sum_after;
	unsigned int i, round;
	u32 flags = 0;

	firmware_default_config();
	fw.fault_block = block;
	fw.ack_delay_ns = 150 * MS;
	if (fixture_start())
		return false;
	fixture_count(5);
	if (core_collect() || got.flags || !fixture_conserved())
		return false;
	last_ns = got.time_ns;

	*fault = fc->times;
	for (round = 0; round <= fc->recovers_in; round++) {
		u64 before_ns;
		int ret;

		/* each span has ticks of each clock */
		native_now_ns += MS;
		before_ns = native_now_ns;
		fixture_count(6);
		ret = core_collect();
		if (native_now_ns - before_ns > COLLECT_MAX_NS + MS) {
			printf("# round %u took %llu ms\n", round,
			       (native_now_ns - before_ns) / MS);
			return false;
		}
		flags |= ret ? DRM_PERFCTR_SAMPLE_ERROR : got.flags;
		if (!ret) {
			if (got.time_ns < last_ns || got.time_ns > native_now_ns ||
			    got.lost_ns > got.time_ns - last_ns) {
				printf("# round %u: time %llu..%llu, lost %llu\n", round, last_ns,
				       got.time_ns, got.lost_ns);
				return false;
			}
			last_ns = got.time_ns;
			for (i = 0; i < core.source->block_count; i++)
				if (core.reports[i] != 1)
					return false;
		}
		lost_ns += got.lost_ns;
		/* after a timeout the source does not retry for a second */
		native_sleep_ns(200 * MS);
	}
	*fault = 0;

	if (fc->harmless && (flags || lost_ns)) {
		printf("# flags 0x%x, lost %llu ns\n", flags, lost_ns);
		return false;
	}
	if (!fc->harmless && !(flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW))) {
		printf("# no flag\n");
		return false;
	}
	if (fc->conserves && !fixture_conserved())
		return false;
	/* missing counts are reported */
	if (!fc->conserves && !lost_ns) {
		printf("# no lost time\n");
		return false;
	}

	/* exact from here on */
	sum_before = core.totals[0][4];
	sum_after = fw.counted[0][4];
	fixture_count(9);
	if (core_collect() || got.flags || got.lost_ns) {
		printf("# afterwards: flags 0x%x, lost %llu ns\n", got.flags, got.lost_ns);
		return false;
	}
	if (core.totals[0][4] - sum_before != fw.counted[0][4] - sum_after) {
		printf("# afterwards: counts differ\n");
		return false;
	}
	/* the driver's own bits are unchanged */
	return fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING;
}

TEST(faults_are_flagged_and_end)
{
	unsigned int i, block;

	for (i = 0; i < ARRAY_SIZE(fault_cases); i++) {
		/* FW, CSHW, a slice, a shader core */
		static const unsigned int blocks[] = { 0, 1, 4, 5 };

		for (block = 0; block < ARRAY_SIZE(blocks); block++) {
			bool ok = try_fault(&fault_cases[i], blocks[block]);

			if (!ok)
				printf("# fault %s x%u block %u\n", fault_cases[i].name,
				       fault_cases[i].times, blocks[block]);
			check(ok);
		}
	}
}

FIXTURE_TEST(saturated_counter_is_reported)
{
	fw.fail.saturate = 1;
	check_eq(core_collect(), 0);
	check(core.states[3] & DRM_PERFCTR_STATE_SATURATED);
	check_eq(core_collect(), 0);
	check(!(core.states[3] & DRM_PERFCTR_STATE_SATURATED));
}

TEST(late_answer_does_not_complete_the_next_request)
{
	u64 asked_ns;

	firmware_default_config();
	fw.ack_delay_ns = 130 * MS;
	check_eq(fixture_start(), 0);
	fixture_count(1);
	fw.fail.late_ack = 1;
	check_eq(core_collect(), -ETIMEDOUT);
	/* the answer arrives without a waiter; then more is counted */
	native_sleep_ns(50 * MS);
	fixture_count(2);
	asked_ns = native_now_ns;
	collect_clean();
	check_eq(got.lost_ns, 0);
	check(fixture_conserved());
	check(got.time_ns + 100 >= asked_ns);
}

/* remaining polls during which the machine stalls: time passes without firmware */
static unsigned int stalled_polls;

static void stall(void)
{
	if (stalled_polls == CSF_POLL_MS)
		native_now_ns += 10 * ACK_TIMEOUT_NS;
	if (stalled_polls)
		stalled_polls--;
	else
		firmware_process();
}

TEST(stalled_machine_is_no_timeout)
{
	firmware_default_config();
	fw.ack_delay_ns = MS;
	check_eq(fixture_start(), 0);
	native_while_waiting = stall;
	fixture_count(3);
	fw.fail.late_ack = 1;
	stalled_polls = CSF_POLL_MS;
	check_eq(core_collect(), 0);
	check_eq(stalled_polls, 0);
	check_eq(got.flags, 0);
	check_eq(got.lost_ns, 0);
	check(fixture_conserved());
}

TEST(unanswered_start_times_out_and_can_be_repeated)
{
	u64 before_ns = native_now_ns;

	firmware_default_config();
	fw.fail.no_enable_ack = FOREVER;
	before_ns = native_now_ns;
	check_eq(fixture_start(), -ETIMEDOUT);
	check(native_now_ns - before_ns <= 2 * ACK_TIMEOUT_NS);
	check(!(fw.input.req & CSF_GLB_PRFCNT_ENABLE));
	fw.fail.no_enable_ack = 0;
	check_eq(core.source->ops->start(core.source, 0), 0);
	fixture_collect_clean(1);
}

FIXTURE_TEST(start_recovers_from_an_unanswered_stop)
{
	u64 before_ns;

	fw.fail.no_disable_ack = FOREVER;
	before_ns = native_now_ns;
	core.source->ops->stop(core.source);
	check(native_now_ns - before_ns <= 2 * ACK_TIMEOUT_NS);
	check_eq(core.source->ops->start(core.source, 0), -ETIMEDOUT);
	fw.fail.no_disable_ack = 0;
	check_eq(core.source->ops->start(core.source, 0), 0);
	fixture_collect_clean(1);
}

FIXTURE_TEST(unresponsive_firmware_is_retried_without_waits)
{
	u64 lost_ns = 0, began_ns, before_ns;
	unsigned int i;

	fixture_collect(1);
	began_ns = got.time_ns;
	fw.auto_process = false;
	native_while_waiting = NULL;

	check_eq(core_collect(), -ETIMEDOUT);
	check_eq(core_collect(), 0);
	lost_ns += got.lost_ns;
	check(got.flags & DRM_PERFCTR_SAMPLE_ERROR);
	/* no waits in the retry interval */
	before_ns = native_now_ns;
	for (i = 0; i < 50; i++) {
		collect_error();
		check_eq(core.valid[0][0], 0);
		check(core.states[0] & DRM_PERFCTR_STATE_LOST);
		lost_ns += got.lost_ns;
	}
	check_eq(native_now_ns, before_ns);

	fw.auto_process = true;
	native_while_waiting = firmware_process;
	native_sleep_ns(2 * CSF_RETRY_NS);
	check_eq(core_collect(), 0);
	lost_ns += got.lost_ns;
	check(csf->enabled);
	/* every ns from the last good sample to the new baseline, once */
	check(got.time_ns - began_ns >= lost_ns && got.time_ns - began_ns - lost_ns < 1000);
	fixture_collect_clean(5);
	check_eq(got.lost_ns, 0);
}

FIXTURE_TEST(restarted_firmware_is_used_again)
{
	u64 before;

	fixture_count(3);
	firmware_restart();
	/* INSERT is zero again: recovered at once */
	collect_error();
	check(got.lost_ns);
	before = core.totals[0][4];
	fixture_collect_clean(4);
	check_eq(core.totals[0][4], before + 4);
}

TEST(restart_is_not_hidden_by_garbage)
{
	struct csf_glb_input input;
	unsigned int requests;

	/* the request bit may have either value after the firmware's restart */
	for (requests = 0; requests < 2; requests++) {
		fixture_begin();
		fixture_count(2);
		if (requests)
			check_eq(core_collect(), 0);
		fixture_count(3);
		/* the restarted firmware takes the host's request for a new one */
		input = fw.input;
		firmware_restart();
		fw.input = input;
		fw.fail.garbage_metadata = 1;
		collect_error();
		check(got.lost_ns);
		check(core.states[0] & DRM_PERFCTR_STATE_LOST);
	}
}

FIXTURE_TEST(overflow_is_not_hidden_by_garbage)
{
	fixture_collect(1);
	fixture_count(10);
	fw.fail.overflow = 1;
	fw.fail.no_irq = 1;
	firmware_sample(CSF_REASON_PROTM_ENTER);
	check_eq(fw.dropped_samples, 1);
	fixture_count(2);
	fw.fail.garbage_metadata = 1;
	check_eq(core_collect(), 0);
	check_eq(got.flags, DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR);
	check(got.lost_ns);
	check(core.states[0] & DRM_PERFCTR_STATE_LOST);
}

FIXTURE_TEST(torn_core_is_lost_although_another_is_off)
{
	firmware_power(BIT_ULL(16));
	fixture_collect(1);
	fixture_collect(1);
	fixture_count(2);
	fw.fault_block = firmware_shader_block(0);
	fw.fail.torn = 1;
	fw.fail.garbage_metadata = 1;
	collect_error();
	check(got.lost_ns);
	check(core.states[shader(0)] & DRM_PERFCTR_STATE_LOST);
	check(!(core.states[shader(16)] & DRM_PERFCTR_STATE_LOST));
}

/* a core without power has valid zeroes, but not together with counts that were lost */
FIXTURE_TEST(invalid_header_after_power_off_is_not_valid)
{
	firmware_power(BIT_ULL(16));
	fixture_collect(1);
	firmware_sample(CSF_REASON_THRESHOLD);
	firmware_power(0);
	fw.fault_block = firmware_shader_block(16);
	fw.fail.garbage_header = 1;
	collect_error();
	check_eq(fw.fail.garbage_header, 0);
	check(core.states[shader(16)] & DRM_PERFCTR_STATE_LOST);
	check_eq(core.valid[shader(16)][0], 0);
}

/* the sample with invalid metadata may be the last one of a core that powered off */
TEST(power_loss_is_not_hidden_by_garbage)
{
	int garbage, i;

	for (garbage = 1; garbage <= 2; garbage++) {
		fixture_begin();
		fixture_collect(1);
		for (i = 0; i < garbage; i++) {
			fixture_count(1);
			fw.fail.garbage_metadata = 1;
			check_eq(core_collect(), 0);
			check_eq(got.flags, DRM_PERFCTR_SAMPLE_ERROR);
			check(!(core.states[shader(16)] & DRM_PERFCTR_STATE_LOST));
		}
		check(fixture_conserved());
		fixture_count(3);
		/* without a sample before it */
		fw.cores_off = BIT_ULL(16);
		fw.cores_seen_on &= ~BIT_ULL(16);
		fw.cores_seen_off |= BIT_ULL(16);
		collect_error();
		check(got.lost_ns);
		check(core.states[shader(16)] & DRM_PERFCTR_STATE_LOST);
		check_eq(core.valid[shader(16)][0], 0);
		check(!(core.states[shader(0)] & DRM_PERFCTR_STATE_LOST));
		/* then it is off */
		fixture_collect_clean(1);
		check_eq(got.lost_ns, 0);
		check(core.valid[shader(16)][0]);
	}
}

/* the counts are there, but the host cannot know */
FIXTURE_TEST(poweroff_with_garbage_may_have_lost_counts)
{
	fixture_collect(1);
	fixture_count(2);
	fw.fail.garbage_metadata = 1;
	firmware_power(BIT_ULL(16));
	native_sleep_ns(1000);
	collect_error();
	check(got.lost_ns);
	check(core.states[shader(16)] & DRM_PERFCTR_STATE_LOST);
	check(!(core.states[shader(0)] & DRM_PERFCTR_STATE_LOST));
	check(fixture_conserved());
	fixture_collect_clean(1);
	check_eq(got.lost_ns, 0);
}

/* a timestamp that stops is detected; the sample then has the time of delivery */
FIXTURE_TEST(stopped_gpu_clock_is_flagged)
{
	fixture_collect(1);
	fw.fail.time_stops = 1;
	native_sleep_ns(50 * MS);
	check_eq(core_collect(), 0);
	native_sleep_ns(50 * MS);
	fixture_collect(2);
	check(got.flags & DRM_PERFCTR_SAMPLE_ERROR);
	check(got.time_ns <= native_now_ns);
	check(fixture_conserved());
}

/* firmware writes any bytes: bounded time, no access out of bounds, recovery */
TEST(random_firmware_is_survived_and_recovered)
{
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(1000);

	for (round = 0; round < rounds; round++) {
		unsigned int step, i;
		u64 last_ns = 0;

		fixture_use_shape(random_below(&random, FIXTURE_SHAPES));
		fw.config.shader_visible &= random_u64(&random);
		check_eq(fixture_start(), 0);
		for (step = 0; step < 20; step++) {
			u8 *out = (u8 *)&fw.output;
			u64 before_ns;
			int ret;

			fixture_count(1);
			switch (random_below(&random, 5)) {
			case 0:
				for (i = 0; i < sizeof(fw.output); i++)
					out[i] = random_u64(&random);
				break;
			case 1:
				fw.output.prfcnt_insert += random_below(&random, 8);
				break;
			case 2:
				for (i = 0; i < 1000; i++)
					fw.ring[random_below(&random, sizeof(fw.ring))] =
						random_u64(&random);
				break;
			case 3:
				fw.output.ack ^= random_u64(&random);
				break;
			}
			fixture_irq();
			before_ns = native_now_ns;
			ret = core_collect();
			check(ret == 0 || ret == -ETIMEDOUT);
			check(native_now_ns - before_ns <= COLLECT_MAX_NS);
			if (!ret) {
				check(got.time_ns <= native_now_ns && got.time_ns >= last_ns);
				check(got.lost_ns <= got.time_ns);
				last_ns = got.time_ns;
			}
		}
		/* firmware works again: exact after at most the retry interval */
		native_sleep_ns(2 * CSF_RETRY_NS);
		for (i = 0; i < 3; i++)
			core_collect();
		{
			u64 host = core.totals[0][4], truth = fw.counted[0][4];

			fixture_collect_clean(3);
			check_eq(core.totals[0][4] - host, fw.counted[0][4] - truth);
		}
	}
}
