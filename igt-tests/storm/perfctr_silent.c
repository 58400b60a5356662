// SPDX-License-Identifier: MIT
/**
 * TEST: START, SAMPLE and STOP while firmware does not answer
 * Description: Commands end in bounded time, and samples report the counts that they lack.
 */
#include <errno.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_account.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

/* covers several waits for firmware that time out */
#define TIME_LIMIT_NS (60000 * MS)
/* half of the counters, so that the sessions differ */
#define SECOND_MASK 0x5555555555555555ull

static struct igt_perfctr_device dev;
static struct igt_vsoc_totals before, totals;
static struct igt_accounted first, second;

/* remove sessions of a failed or skipped subtest; mappings keep their file open */
static void begin_anew(void)
{
	igt_perfctr_session_close(&first.s);
	igt_perfctr_session_close(&second.s);
	igt_perfctr_close(&dev);
	igt_assert(igt_perfctr_open_device(&dev, "vsoc.0"));
}

static void start_without_answer(const char *name, int error)
{
	struct igt_accounted *a = &first;
	uint64_t t0;
	int ret;

	igt_accounted_open(a, &dev, ~0ull, 0, false);
	/* a worker stops the hardware after the last session */
	for (unsigned int i = 0; igt_vsoc_firmware(&dev, "enabled"); i++) {
		igt_assert_lt(i, 10000);
		usleep(1000);
	}
	igt_fault_arm(&dev, name, UINT32_MAX);
	t0 = igt_raw_ns();
	ret = igt_perfctr_start(&a->s, 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&dev, name));
	igt_assert_eq(ret, -error);
	igt_assert_eq_u32(a->s.control->state, 0);
	igt_assert_eq(igt_perfctr_sample(&a->s, 0), -ENOTCONN);
	igt_account_open(&a->account, &a->s, DRM_PERFCTR_SET_PRIMARY);
	igt_assert_eq(igt_perfctr_start(&a->s, 0), 0);
	igt_vsoc_work(&dev, 1);
	igt_perfctr_finish(&a->s);
	igt_assert_eq_u32(a->s.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_accounted_close(a);
	igt_assert_eq_u64(a->account.truth, a->account.counts);
}

static void silent_firmware(void)
{
	uint64_t t0;

	begin_anew();
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq(igt_perfctr_drain(&first.s), 2);
	igt_assert(first.s.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_FINAL);
	igt_assert_lte_u64(1, igt_perfctr_status(&first.s).errors);
	/* the loss is bounded in time */
	igt_assert_lte_u64(1, first.s.lost_ns);
	/* firmware may still hold counts; samples do not exceed the truth */
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	for (unsigned int i = 0; i < totals.truth.count; i++)
		igt_assert_lte_u64(igt_perfctr_sum(&first.s, totals.truth.at[i].type,
						   totals.truth.at[i].index,
						   totals.truth.at[i].counter),
				   totals.truth.at[i].value - first.account.base.truth.at[i].value);
	igt_perfctr_session_close(&first.s);
}

/* the core retries once a second: the first attempt fails, the second one works */
static void silent_for_seconds(void)
{
	static uint64_t sums[IGT_TRUTH_MAX];
	uint64_t t0 = igt_raw_ns(), reset_ns, dead_ns;
	unsigned int asked = 0;

	begin_anew();
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	/* after a reset the core starts the hardware again */
	reset_ns = igt_raw_ns();
	igt_vsoc_debugfs(&dev, "reset", "1");
	/* wait for the request that failed and at least two more starts */
	while (asked < 6) {
		igt_assert_lte_u64(igt_raw_ns() - t0, 3 * TIME_LIMIT_NS);
		igt_perfctr_sample_and_drain(&first.s);
		igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
		asked = igt_fault_hits(&dev, "no_ack");
		igt_sleep_ms(50);
	}
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	do {
		igt_assert_lte_u64(igt_raw_ns() - t0, 4 * TIME_LIMIT_NS);
		igt_sleep_ms(50);
		/* a sample with ERROR may end after counting began again */
		dead_ns = first.s.last.start_ns - reset_ns;
		igt_perfctr_sample_and_drain(&first.s);
	} while (first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert_lte_u64(dead_ns, first.s.lost_ns);
	/* from here on counts are exact */
	igt_perfctr_sample_and_drain(&first.s);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	for (unsigned int i = 0; i < before.truth.count; i++)
		sums[i] = igt_perfctr_sum(&first.s, before.truth.at[i].type,
					  before.truth.at[i].index, before.truth.at[i].counter);
	igt_vsoc_work(&dev, 1);
	igt_perfctr_sample_and_drain(&first.s);
	igt_assert_eq_u32(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR, 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	for (unsigned int i = 0; i < totals.truth.count; i++)
		igt_assert_eq_u64(igt_perfctr_sum(&first.s, totals.truth.at[i].type,
						  totals.truth.at[i].index,
						  totals.truth.at[i].counter) -
					  sums[i],
				  totals.truth.at[i].value - before.truth.at[i].value);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_perfctr_session_close(&first.s);
}

/*
 * A sample after START must not have counts from before it. Firmware took a sample that the host
 * has not seen yet, so that its answer has only half of the counts.
 */
static void start_half_answered(void)
{
	begin_anew();
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_accounted_open(&second, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	/* all cores are on: the sample before they power off, and what is counted after it */
	igt_fault_arm(&dev, "lost_irq", 1);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_assert_eq(igt_fault_disarm(&dev, "lost_irq"), 1);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), -ETIMEDOUT);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq_u32(second.s.control->state, 0);

	igt_account_open(&second.account, &second.s, DRM_PERFCTR_SET_PRIMARY);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_vsoc_work(&dev, 1);
	igt_assert_eq(igt_perfctr_stop(&second.s, 0), 0);
	igt_accounted_close(&second);
	igt_assert_eq_u64(second.account.truth, second.account.counts);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_accounted_close(&first);
	igt_assert_eq_u64(first.account.truth, first.account.counts);
}

/* STOP reports LOST; another session gets the counts a moment later */
static void stop_unanswered(void)
{
	begin_anew();
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_accounted_open(&second, &dev, SECOND_MASK, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq(igt_perfctr_drain(&first.s), 1);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert_lte_u64(1, first.s.last.lost_ns);
	for (unsigned int b = 0; b < first.s.layout.block_count; b++)
		igt_assert(first.s.sums[b].states & DRM_PERFCTR_STATE_LOST);
	igt_account_settle_stopped(&first.account, &before, &totals, true);
	igt_assert_lt(0, first.account.blocks_missing);
	igt_perfctr_session_close(&first.s);

	igt_perfctr_finish(&second.s);
	igt_assert_eq_u64(second.s.lost_ns, 0);
	for (unsigned int b = 0; b < second.s.layout.block_count; b++)
		igt_assert_eq_u32(second.s.sums[b].states & DRM_PERFCTR_STATE_LOST, 0);
	igt_accounted_close(&second);
	igt_assert_lte_u64(1, second.account.counts);
	igt_assert_eq_u64(second.account.truth, second.account.counts);
}

static void stop_unanswered_power(void)
{
	struct igt_perfctr_session s;

	igt_power(&dev, "auto");
	igt_perfctr_session_init(&s, &dev);
	s.params.flags = DRM_PERFCTR_OPEN_KEEP_AWAKE;
	igt_perfctr_begin(&s);
	igt_vsoc_work(&dev, 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_perfctr_session_close(&s);
	igt_await_suspend(&dev);
	igt_power(&dev, "on");
}

/*
 * Without another session, counts in firmware's ring are in samples; hardware has kept or dropped
 * the rest. Any other missing count is a bug.
 */
static bool stopped_unanswered(void)
{
	bool missing;

	begin_anew();
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	/* samples that the host has not seen: cores power off and on for work */
	igt_fault_arm(&dev, "lost_irq", UINT32_MAX);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_vsoc_work(&dev, 4);
	igt_assert_lte(2, igt_fault_disarm(&dev, "lost_irq"));
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_perfctr_drain(&first.s);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	missing = igt_account_settle_stopped(&first.account, &before, &totals, false);
	igt_assert_lte_u64(1, first.account.counts);
	igt_perfctr_session_close(&first.s);
	return missing;
}

/* on a busy host the kernel may have read the counters first */
static void stop_unanswered_alone(void)
{
	for (unsigned int tries = 0; !stopped_unanswered(); tries++)
		igt_assert_lt(tries, 20);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_device(&dev, "vsoc.0"), "no virtual SoC\n");
	}
	/* Covers: command -EIO, command -ETIMEDOUT */
	igt_describe("START is -ETIMEDOUT in bounded time without an answer, -EIO after an "
		     "invalid one, and works afterwards");
	igt_subtest("start-unanswered")
	{
		begin_anew();
		start_without_answer("no_ack", ETIMEDOUT);
		start_without_answer("lost_doorbell", ETIMEDOUT);
		start_without_answer("ack_without_sample", EIO);
		start_without_answer("insert_beyond", EIO);
	}
	/* Covers: DRM_PERFCTR_SAMPLE_ERROR */
	igt_describe("hardware that stops answering gives samples with ERROR, no errors, and STOP "
		     "still delivers");
	igt_subtest("silent-firmware") silent_firmware();
	/* Covers: DRM_PERFCTR_SAMPLE_ERROR */
	igt_describe("hardware that does not start after a reset is retried once a second, that "
		     "time is lost, and counts are exact once it starts");
	igt_subtest("silent-for-seconds") silent_for_seconds();
	igt_describe("an unanswered final sample has LOST in every block; another session gets "
		     "all counts later");
	igt_subtest("stop-unanswered") stop_unanswered();
	igt_describe("after a STOP without an answer nothing keeps the GPU awake");
	igt_subtest("stop-unanswered-power") stop_unanswered_power();
	igt_describe("without another session, missing counts of an unanswered final sample are "
		     "reported, destroyed, or still in hardware");
	igt_subtest("stop-unanswered-alone") stop_unanswered_alone();
	/* Covers: command -EIO, command -ETIMEDOUT */
	igt_describe("START is refused if hardware returns only a part of the earlier counts");
	igt_subtest("start-half-answered") start_half_answered();
}
