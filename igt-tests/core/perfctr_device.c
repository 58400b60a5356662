// SPDX-License-Identifier: MIT
/**
 * TEST: Power, reset and lost time: the samples report each and stay correct
 * Description: Power, reset, lost time, and signals during waits.
 */
#include <errno.h>
#include <pthread.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_sys.h"

static struct igt_perfctr_device dev;
static struct igt_truth before, after;

static void create(struct igt_perfctr_session *s, uint32_t flags, uint64_t period_ns)
{
	igt_perfctr_session_init(s, &dev);
	s->params.slots = 64;
	s->params.flags = flags;
	s->params.period_ns = period_ns;
	igt_perfctr_session_open(s);
}

/* user_data of automatic samples */
#define START_DATA 0x5eedu

static void begin(struct igt_perfctr_session *s)
{
	igt_known_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(s, START_DATA), 0);
}

static void power_suspended(void)
{
	struct igt_perfctr_session s;

	create(&s, 0, 0);
	begin(&s);
	igt_known_work(&dev, 0);
	igt_suspend(&dev);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	/* sampling did not wake it */
	igt_assert(igt_power_is(&dev, "suspended"));
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	igt_assert_eq_u64(s.lost_ns, 0);
	/* suspended for the whole first sample, and at the start of the second */
	for (unsigned int i = 0; i < 2; i++) {
		igt_perfctr_sample_and_drain(&s);
		igt_assert_eq_u32(s.last.flags,
				  DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_SUSPENDED);
		if (!i)
			igt_power(&dev, "on");
	}
	igt_known_work(&dev, 1);
	igt_known_stop(&s, &before);
	igt_assert_eq_u32(s.last.flags, DRM_PERFCTR_SAMPLE_FINAL);
	igt_perfctr_session_close(&s);
}

static void power_keep_awake(void)
{
	struct igt_perfctr_session s;

	create(&s, DRM_PERFCTR_OPEN_KEEP_AWAKE, 0);
	igt_suspend(&dev);
	/* START wakes the GPU; that transition precedes the session */
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_known_truth(&dev, &before);
	igt_assert(igt_power_is(&dev, "active"));
	igt_sleep_ms(300);
	igt_assert(igt_power_is(&dev, "active"));
	igt_known_work(&dev, 1);
	igt_known_stop(&s, &before);
	igt_assert(!(s.flags & DRM_PERFCTR_SAMPLE_SUSPENDED));
	igt_await_suspend(&dev);
	igt_power(&dev, "on");
	igt_perfctr_session_close(&s);
}

static void power_start_suspended(void)
{
	struct igt_perfctr_session s;

	create(&s, 0, 0);
	igt_suspend(&dev);
	begin(&s);
	igt_assert(igt_power_is(&dev, "suspended"));
	igt_known_work(&dev, 2);
	igt_power(&dev, "on");
	igt_known_stop(&s, &before);
	igt_perfctr_session_close(&s);
}

static void power_protected_suspended(void)
{
	struct igt_perfctr_session s;

	create(&s, 0, 0);
	begin(&s);
	igt_suspend(&dev);
	igt_vsoc_debugfs(&dev, "protected", "1");
	igt_vsoc_debugfs(&dev, "protected", "0");
	igt_power(&dev, "on");
	igt_known_stop(&s, &before);
	igt_assert_eq_u64(igt_perfctr_sum(&s, DRM_PERFCTR_MALI_BLOCK_FW, 0,
					  igt_vsoc_counter(&before, DRM_PERFCTR_MALI_BLOCK_FW,
							   "PROTECTED_ENTRIES")),
			  1);
	igt_perfctr_session_close(&s);
}

static void power_automatic(void)
{
	struct igt_perfctr_session s, plain;

	create(&s, DRM_PERFCTR_OPEN_AUTOMATIC, 0);
	create(&plain, 0, 0);
	begin(&s);
	igt_assert_eq(igt_perfctr_start(&plain, 0), 0);
	igt_known_work(&dev, 0);
	igt_vsoc_debugfs(&dev, "cores_on", "0x0");
	igt_perfctr_wait_unread(&s, 1);
	igt_vsoc_debugfs(&dev, "cores_on", "0x50005");
	igt_perfctr_wait_unread(&s, 2);
	for (uint64_t i = 0; i < 2; i++) {
		igt_assert_eq_u32(igt_perfctr_slot(&s, i)->flags, DRM_PERFCTR_SAMPLE_AUTOMATIC);
		igt_assert_eq_u64(igt_perfctr_slot(&s, i)->user_data, START_DATA);
	}
	igt_known_work(&dev, 1);
	igt_assert_eq(igt_perfctr_stop(&plain, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_known_truth(&dev, &after);
	igt_perfctr_drain(&s);
	igt_known_compare(&s, &before, &after);
	igt_perfctr_drain(&plain);
	igt_known_compare(&plain, &before, &after);
	igt_assert_lte_u64(2, s.automatic);
	igt_assert_eq_u64(plain.automatic, 0);
	for (unsigned int b = 0; b < plain.layout.block_count; b++)
		if (plain.sums[b].type == DRM_PERFCTR_MALI_BLOCK_SHADER)
			igt_assert(plain.sums[b].states & DRM_PERFCTR_STATE_OFF);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&plain);
}

static void automatic_overflow(void)
{
	struct igt_perfctr_session s;

	create(&s, DRM_PERFCTR_OPEN_AUTOMATIC, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_debugfs(&dev, "fail_overflow", "1000 1");
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	/* the overflow event makes the core collect */
	igt_sleep_ms(100);
	igt_vsoc_debugfs(&dev, "fail_overflow", "0");
	igt_assert_eq_u32(igt_perfctr_status(&s).flags, DRM_PERFCTR_STATUS_ACTIVE);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(s.samples, 2);
	igt_assert_eq_u64(s.automatic, 0);
	igt_perfctr_session_close(&s);
}

static void power_protected(void)
{
	struct igt_perfctr_session s;
	uint32_t states = 0;

	create(&s, DRM_PERFCTR_OPEN_AUTOMATIC, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_debugfs(&dev, "protected", "1");
	igt_known_work(&dev, 0);
	igt_perfctr_wait_unread(&s, 1);
	igt_vsoc_debugfs(&dev, "protected", "0");
	igt_perfctr_wait_unread(&s, 2);
	igt_perfctr_finish(&s);
	for (unsigned int b = 0; b < s.layout.block_count; b++)
		states |= s.sums[b].states;
	igt_assert(states & DRM_PERFCTR_STATE_PROTECTED);
	igt_assert(states & DRM_PERFCTR_STATE_NORMAL);
	igt_assert_eq_u64(s.automatic, 2);
	igt_perfctr_session_close(&s);
}

/* States of the shader cores in sample @n; counters of unavailable ones are not measured. */
static void check_partition(const struct igt_perfctr_session *s, uint64_t n, uint64_t mine,
			    uint64_t away)
{
	const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, n);
	const struct drm_perfctr_block_header *b = NULL;
	unsigned int cores = 0;

	for (unsigned int i = 0; i < h->block_count; i++) {
		uint32_t expected;

		b = igt_perfctr_next_block(h, b);
		if (b->type != DRM_PERFCTR_MALI_BLOCK_SHADER)
			continue;
		expected = (mine >> b->index & 1 ? DRM_PERFCTR_STATE_AVAILABLE : 0) |
			   (away >> b->index & 1 ? DRM_PERFCTR_STATE_UNAVAILABLE : 0);
		igt_assert_eq_u32(b->states & (DRM_PERFCTR_STATE_AVAILABLE |
					       DRM_PERFCTR_STATE_UNAVAILABLE),
				  expected);
		igt_assert_eq(!!b->valid_mask, !!(expected & DRM_PERFCTR_STATE_AVAILABLE));
		cores++;
	}
	igt_assert_eq(cores, 4);
}

static void partition(void)
{
	struct igt_perfctr_session s;

	create(&s, 0, 0);
	begin(&s);
	igt_known_work(&dev, 0);
	igt_vsoc_debugfs(&dev, "partition", "0x5");
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_known_work(&dev, 1);
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	igt_vsoc_debugfs(&dev, "partition", "0x50005");
	igt_known_work(&dev, 2);
	igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
	igt_known_work(&dev, 3);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "partition", "0"), -EINVAL);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "partition", "0x8"), -EINVAL);
	igt_known_stop(&s, &before);
	check_partition(&s, 0, 0x50005, 0x50000);
	check_partition(&s, 1, 0x5, 0x50000);
	check_partition(&s, 2, 0x50005, 0x50000);
	check_partition(&s, 3, 0x50005, 0);
	igt_perfctr_session_close(&s);
}

static void power_tests(void)
{
	/* Covers: DRM_PERFCTR_SAMPLE_SUSPENDED */
	igt_describe("an active session lets the GPU suspend, and its samples have SUSPENDED");
	igt_subtest("power-suspended") power_suspended();
	/* Covers: DRM_PERFCTR_OPEN_KEEP_AWAKE */
	igt_describe("KEEP_AWAKE keeps the GPU awake between START and STOP");
	igt_subtest("power-keep-awake") power_keep_awake();
	igt_describe("a session can start while the GPU is suspended, and counts when it wakes");
	igt_subtest("power-start-suspended") power_start_suspended();
	/* Covers: DRM_PERFCTR_SAMPLE_SUSPENDED */
	igt_describe("entering protected mode wakes a suspended GPU, and is counted");
	igt_subtest("power-protected-suspended") igt_vsoc_only(&dev, power_protected_suspended);
	/*
	 * Covers: DRM_PERFCTR_STATE_OFF, DRM_PERFCTR_SAMPLE_AUTOMATIC, DRM_PERFCTR_OPEN_AUTOMATIC
	 */
	igt_describe("AUTOMATIC sessions get a sample for each transition of the cores");
	igt_subtest("power-automatic") igt_vsoc_only(&dev, power_automatic);
	/* Covers: DRM_PERFCTR_SAMPLE_AUTOMATIC */
	igt_describe("an event that is no transition adds no sample to AUTOMATIC sessions");
	igt_subtest("automatic-overflow") igt_vsoc_only(&dev, automatic_overflow);
	/* Covers: DRM_PERFCTR_STATE_NORMAL, DRM_PERFCTR_STATE_PROTECTED */
	igt_describe("protected mode is reported as a state, and entering it is a transition");
	igt_subtest("power-protected") igt_vsoc_only(&dev, power_protected);
	/* Covers: DRM_PERFCTR_STATE_AVAILABLE, DRM_PERFCTR_STATE_UNAVAILABLE */
	igt_describe("shader cores that work for another system are unavailable and not measured; "
		     "work and counts are those of the others, before, meanwhile and afterwards");
	igt_subtest("partition") igt_vsoc_only(&dev, partition);
}

static void start_in_reset(void)
{
	const uint64_t reset_ms = 400;
	struct igt_perfctr_session s;
	uint64_t start_ns, reset_ns = igt_raw_ns();

	igt_perfctr_sysctl("paranoid", "0");
	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_open_as_nobody(&s);
	igt_vsoc_debugfs_u64(&dev, "reset_ms", reset_ms);
	igt_fork(child, 1)
		igt_vsoc_debugfs(&dev, "reset", "1");
	igt_sleep_ms(reset_ms / 4);
	start_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_info("START took %llu us\n", (unsigned long long)(igt_raw_ns() - start_ns) / 1000);
	igt_assert_lte_u64(reset_ns + reset_ms * MS, igt_raw_ns());
	igt_waitchildren();
	igt_vsoc_debugfs(&dev, "reset_ms", "0");
	igt_known_truth(&dev, &before);
	igt_known_work(&dev, 0);
	igt_known_stop(&s, &before);
	igt_assert_eq_u64(s.lost_ns, 0);
	igt_perfctr_session_close(&s);
	igt_perfctr_sysctl("paranoid", "1");
}

/* a worker stops the hardware after STOP; a reset or a START may run before the worker */
static void reset_after_stop(void)
{
	for (unsigned int i = 0; i < 30; i++) {
		struct igt_perfctr_session s;

		create(&s, 0, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		if (i % 3)
			igt_vsoc_debugfs(&dev, "reset", "1");
		igt_perfctr_drain(&s);
		igt_perfctr_session_close(&s);
		create(&s, 0, 0);
		begin(&s);
		igt_known_work(&dev, i);
		igt_known_stop(&s, &before);
		igt_assert_eq_u64(s.lost_ns, 0);
		igt_perfctr_session_close(&s);
	}
}

static void reset_tests(void)
{
	/* Covers: DRM_PERFCTR_SAMPLE_RESET */
	igt_describe("a reset is flagged in the sample of its span and counted by STATUS; then "
		     "the session can be restarted and counts exactly");
	igt_subtest("reset-flagged")
	{
		struct igt_perfctr_session s;

		igt_vsoc_require(&dev);
		create(&s, 0, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_known_work(&dev, 0);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_vsoc_debugfs(&dev, "reset", "1");
		igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_assert(!(igt_perfctr_slot(&s, 0)->flags & DRM_PERFCTR_SAMPLE_RESET));
		igt_assert(igt_perfctr_slot(&s, 1)->flags & DRM_PERFCTR_SAMPLE_RESET);
		igt_assert_lt(0, igt_perfctr_slot(&s, 1)->lost_ns > 0);
		igt_assert(!(igt_perfctr_slot(&s, 2)->flags & DRM_PERFCTR_SAMPLE_RESET));
		igt_assert_eq_u64(igt_perfctr_status(&s).resets, 1);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(igt_perfctr_status(&s).lost_ns, s.lost_ns);
		igt_perfctr_clear_sums(&s);
		begin(&s);
		igt_known_work(&dev, 4);
		igt_known_stop(&s, &before);
		igt_assert(!(s.last.flags & DRM_PERFCTR_SAMPLE_RESET));
		igt_perfctr_session_close(&s);
	}
	igt_describe("sessions after a STOP and an immediate reset count exactly");
	igt_subtest("reset-after-stop") igt_vsoc_only(&dev, reset_after_stop);
	igt_describe("START during a reset waits for its end, then counts");
	igt_subtest("start-in-reset") igt_vsoc_only(&dev, start_in_reset);
}

/*
 * Counts may differ from the truth only where lost_ns or the block's state reports a loss. ERROR
 * alone reports none: a later sample has the counts that could not be read.
 */
static bool reports_loss(const struct igt_perfctr_session *s, const struct igt_perfctr_sum *sum)
{
	return s->lost_ns || sum->states & DRM_PERFCTR_STATE_SATURATED;
}

static void assert_losses_reported(const struct igt_perfctr_session *s)
{
	for (unsigned int b = 0; b < s->layout.block_count; b++) {
		const struct igt_perfctr_sum *sum = &s->sums[b];

		for (unsigned int i = 0; i < after.count && !reports_loss(s, sum); i++) {
			if (after.at[i].type != sum->type || after.at[i].index != sum->index)
				continue;
			igt_assert_f(igt_perfctr_sum(s, sum->type, sum->index,
						     after.at[i].counter) ==
					     after.at[i].value - before.at[i].value,
				     "%s of block %u:%u is wrong and not reported\n",
				     after.at[i].name, sum->type, sum->index);
		}
	}
}

/* a periodic session, and one that takes a single long sample */
struct beside {
	struct igt_perfctr_session manual, periodic;
};

static void begin_beside(struct beside *b)
{
	create(&b->manual, 0, 0);
	create(&b->periodic, 0, 10 * MS);
	igt_assert_eq(igt_perfctr_start(&b->manual, 0), 0);
	igt_assert_eq(igt_perfctr_start(&b->periodic, 0), 0);
}

static void drain_beside(struct beside *b)
{
	igt_perfctr_drain(&b->manual);
	igt_perfctr_drain(&b->periodic);
}

/* the drain checks that no sample has more lost_ns than its span */
static void end_beside(struct beside *b, uint32_t flags, uint64_t lost_ns)
{
	igt_assert_eq(igt_perfctr_stop(&b->manual, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&b->periodic, 0), 0);
	drain_beside(b);
	igt_info("%.1f ms and %.1f ms lost, at least %.1f ms\n", b->manual.lost_ns * 1e-6,
		 b->periodic.lost_ns * 1e-6, lost_ns * 1e-6);
	igt_assert_eq_u32(b->manual.flags & flags, flags);
	igt_assert_eq_u32(b->periodic.flags & flags, flags);
	igt_assert_lte_u64(lost_ns, b->manual.lost_ns);
	igt_assert_lte_u64(lost_ns, b->periodic.lost_ns);
	igt_perfctr_session_close(&b->manual);
	igt_perfctr_session_close(&b->periodic);
}

static void *reset_gpu(void *begun)
{
	__atomic_store_n((bool *)begun, true, __ATOMIC_RELEASE);
	igt_vsoc_debugfs(&dev, "reset", "1");
	return NULL;
}

/* suspend @awake_ns after a sample, while firmware does not answer */
static void suspend_unread(const char *cores_on, uint64_t awake_ns)
{
	const uint32_t flags = DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_SUSPENDED;
	struct igt_perfctr_session s;

	create(&s, 0, 0);
	begin(&s);
	igt_known_work(&dev, 0);
	igt_vsoc_debugfs(&dev, "cores_on", cores_on);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	if (awake_ns)
		igt_sleep_ms(awake_ns / MS);
	else
		igt_known_work(&dev, 1);
	igt_vsoc_debugfs(&dev, "fail_lost_irq", "1000");
	igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
	igt_suspend(&dev);
	igt_vsoc_debugfs(&dev, "fail_lost_irq", "0");
	igt_vsoc_debugfs(&dev, "fail_no_ack", "0");
	igt_sleep_ms(500);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_power(&dev, "on");
	igt_known_truth(&dev, &after);
	igt_perfctr_drain(&s);
	igt_info("%.1f of %.1f ms lost\n", s.lost_ns * 1e-6,
		 (s.last.end_ns - s.first.start_ns) * 1e-6);
	assert_losses_reported(&s);
	igt_assert_eq_u32(s.last.flags & flags, flags);
	igt_assert_lte_u64(awake_ns + 1, s.last.lost_ns);
	/* no time of the suspend is lost */
	igt_assert_lte_u64(s.last.lost_ns + 500 * MS, s.last.end_ns - s.last.start_ns);
	igt_perfctr_session_close(&s);
}

/* Returns false if the resetting thread ran so late that little time remained in the reset. */
static bool unplug_in_reset(bool sampling)
{
	const uint32_t flags = DRM_PERFCTR_SAMPLE_FINAL | DRM_PERFCTR_SAMPLE_UNPLUGGED |
			       DRM_PERFCTR_SAMPLE_RESET;
	struct igt_perfctr_session s, periodic;
	bool begun = false;
	pthread_t thread;

	create(&s, 0, 0);
	create(&periodic, 0, 10 * MS);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	if (sampling)
		igt_assert_eq(igt_perfctr_start(&periodic, 0), 0);
	igt_vsoc_debugfs(&dev, "reset_ms", "1000");
	igt_assert_eq(pthread_create(&thread, NULL, reset_gpu, &begun), 0);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		igt_sleep_ms(1);
	igt_sleep_ms(300);
	igt_unbind(&dev);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_perfctr_drain(&periodic);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&periodic);
	/* the following steps need the device */
	igt_bind_again(&dev);
	igt_info("%.1f ms and %.1f ms lost\n", s.lost_ns * 1e-6, periodic.lost_ns * 1e-6);
	if (s.lost_ns < 200 * MS || (sampling && periodic.lost_ns < 200 * MS))
		return false;
	igt_assert_eq_u32(s.last.flags & flags, flags);
	if (sampling)
		igt_assert_eq_u32(periodic.last.flags & flags, flags);
	return true;
}

static void lost_reset(void)
{
	/* a sleep is of ticks, of which a busy host delivers some late and at once */
	const uint64_t least_ns = 270 * MS;
	struct igt_perfctr_session after_it;
	uint64_t reset_ns;
	struct beside b;

	begin_beside(&b);
	reset_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&b.manual, 0), 0);
	igt_vsoc_debugfs(&dev, "reset_ms", "300");
	igt_vsoc_debugfs(&dev, "reset", "1");
	reset_ns = igt_raw_ns() - reset_ns;
	igt_vsoc_debugfs(&dev, "reset_ms", "0");
	/* a session that begins after the reset reports no loss */
	create(&after_it, 0, 0);
	igt_assert_eq(igt_perfctr_start(&after_it, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&b.manual, 0), 0);
	drain_beside(&b);
	igt_assert_lte_u64(least_ns, b.manual.last.lost_ns);
	igt_perfctr_finish(&after_it);
	igt_assert_eq_u64(after_it.lost_ns, 0);
	igt_assert(!(after_it.flags & DRM_PERFCTR_SAMPLE_RESET));
	igt_perfctr_session_close(&after_it);
	igt_sleep_ms(50);
	end_beside(&b, DRM_PERFCTR_SAMPLE_RESET, least_ns);
	igt_assert_eq_u64(b.manual.last.lost_ns, 0);
	igt_assert(!(b.manual.last.flags & DRM_PERFCTR_SAMPLE_RESET));
	/* the loss is at most the time since the last sample before the reset */
	igt_assert_lte_u64(b.periodic.lost_ns, reset_ns);
	igt_assert_lte_u64(b.manual.lost_ns, reset_ns);
}

static void lost_suspend(void)
{
	/* firmware takes a readable sample when cores power off */
	suspend_unread("0x50005", 0);
	suspend_unread("0x0", 200 * MS);
}

static void lost_resume(void)
{
	struct igt_perfctr_session other;
	struct beside b;
	uint64_t dead_ns;

	create(&other, 0, 0);
	begin_beside(&b);
	igt_suspend(&dev);
	igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
	igt_power(&dev, "on");
	dead_ns = igt_raw_ns();
	igt_known_work(&dev, 0);
	igt_sleep_ms(300);
	dead_ns = igt_raw_ns() - dead_ns;
	/* the hardware is dead until here; each collection tries to start it again */
	igt_vsoc_debugfs(&dev, "fail_no_ack", "0");
	igt_known_start(&other, &before);
	igt_known_work(&dev, 1);
	igt_known_stop(&other, &before);
	igt_assert_eq_u64(other.lost_ns, 0);
	igt_assert_eq_u32(other.flags, DRM_PERFCTR_SAMPLE_FINAL);
	igt_perfctr_session_close(&other);
	end_beside(&b, DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_SUSPENDED, dead_ns);
}

static void lost_unplug(void)
{
	struct igt_perfctr_session s;
	uint64_t work_ns;

	create(&s, 0, 0);
	begin(&s);
	work_ns = igt_raw_ns();
	igt_known_work(&dev, 0);
	work_ns = igt_raw_ns() - work_ns;
	igt_known_truth(&dev, &after);
	igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
	igt_unbind(&dev);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_info("%.1f ms lost\n", s.lost_ns * 1e-6);
	assert_losses_reported(&s);
	igt_assert_eq_u32(s.flags, DRM_PERFCTR_SAMPLE_FINAL | DRM_PERFCTR_SAMPLE_UNPLUGGED |
					   DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert_lte_u64(work_ns, s.lost_ns);
	igt_perfctr_session_close(&s);
	igt_bind_again(&dev);
}

static void lost_unplug_in_reset(void)
{
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int tries = 1; !unplug_in_reset(i); tries++)
			igt_assert_lt(tries, 10);
}

static void lost_tests(void)
{
	/* Covers: drm_perfctr_sample_header */
	igt_describe("each session loses the duration of a reset once, however many sessions "
		     "sample during it");
	igt_subtest("lost-reset") igt_vsoc_only(&dev, lost_reset);
	igt_describe("counts that could not be read before suspend are lost");
	igt_subtest("lost-suspend") igt_vsoc_only(&dev, lost_suspend);
	igt_describe("a GPU that resumes without counting loses everything until it is restarted");
	igt_subtest("lost-resume") igt_vsoc_only(&dev, lost_resume);
	igt_describe("what a device does not count before unplug is lost");
	igt_subtest("lost-unplug") igt_vsoc_only(&dev, lost_unplug);
	igt_describe("a reset that ends in an unplug is reported, and all its time is lost");
	igt_subtest("lost-unplug-in-reset") igt_vsoc_only(&dev, lost_unplug_in_reset);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_hold_power(&dev);
	}
	power_tests();
	reset_tests();
	lost_tests();
	igt_fixture()
		igt_perfctr_close(&dev);
}
