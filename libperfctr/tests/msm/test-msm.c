// SPDX-License-Identifier: MIT
/*
 * Counters of Adreno through the driver's streams: the kernel's own code of them, with a GPU in
 * memory. What is counted is compared with the work that the GPU was given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "idle.h"
#include "gpu.h"
#include "host/open.h"

#define MS 1000000ull

/* positions of a7xx */
enum { BUSY = 2, RB_BUSY = 0, SP_LAST = 150, UCHE_FIRST = 0 };

static void begin_as(struct gpu_options options)
{
	perfctr_ctx_new_with(gpu_begin(&options), &ctx);
}

static void begin_7(void)
{
	begin_as((struct gpu_options){ .generation = 7, .chip = 0x43050a01 });
}

static void end_gpu(void)
{
	end();
	gpu_end();
}

static int open_session(const char *events, const struct perfctr_session_opts *options)
{
	int error;

	EQUAL(perfctr_device_open(ctx, GPU_NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	error = perfctr_session_new(selection, options, &session);
	if (!error)
		EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return error;
}

static int start(const char *events)
{
	int error = open_session(events, NULL);

	return error ? error : perfctr_session_start(session, 0);
}

static void wait_ms(unsigned int ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&pause, NULL);
}

/* Until the stream's counters are set up again. */
static void resume(void)
{
	const uint64_t records = gpu_state().records;

	gpu_resume();
	for (unsigned int ms = 0; ms < 5000 && gpu_state().records == records; ms++)
		wait_ms(1);
}

struct seen {
	uint64_t sum[4], valid[4], lost_ns, ns;
	unsigned int samples;
	uint32_t flags, states;
};

static void read_samples(struct perfctr_cursor *from, struct seen *seen)
{
	struct perfctr_sample s;
	struct perfctr_block block;

	while (perfctr_cursor_next(from, &s) > 0) {
		seen->samples++;
		seen->flags |= s.flags;
		seen->lost_ns += s.lost_ns;
		seen->ns += s.end_ns - s.start_ns;
		for (unsigned int b = 0; perfctr_decode_block(&s, &block) > 0; b++) {
			seen->states |= block.states;
			for (unsigned int i = 0; i < block.count; i++)
				seen->sum[b] += perfctr_block_value(&block, i);
		}
		perfctr_cursor_advance(from, 1);
	}
}

static struct seen take(void)
{
	struct seen seen = { 0 };

	EQUAL(perfctr_session_sample(session, 0), 0);
	read_samples(cursor, &seen);
	return seen;
}

static struct seen stop(void)
{
	struct seen seen = { 0 };

	EQUAL(perfctr_session_stop(session, 0), 0);
	read_samples(cursor, &seen);
	return seen;
}

TEST_WITH(begin_7, end_gpu, "the GPU's name, its clocks, its blocks; opening changes nothing")
{
	EQUAL(perfctr_device_open(ctx, GPU_NODE, &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Adreno 740");
	EQUAL(perfctr_device_info(device)->gpu_id, 0x43050a01);
	EQUAL(perfctr_device_info(device)->product, 0x0707);
	EQUAL(perfctr_device_info(device)->block_count -
		      !!(perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_PMU),
	      28);
	EQUAL(perfctr_device_clock(device, 0)->max_frequency_hz, 1000000000);
	EQUAL(perfctr_device_clock(device, 0)->frequency_hz, 300000000);
	CHECK(perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP);
	EQUAL(gpu_state().records, 0);
}

TEST_WITH(begin_7, end_gpu, "each sample has all work that was done before, and no other")
{
	uint64_t sum = 0;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	for (uint64_t n = 1; n <= 50; n++) {
		struct seen seen;

		gpu_work("CP", BUSY, n << 28);
		seen = take();
		EQUAL(seen.sum[0], n << 28);
		EQUAL(seen.lost_ns, 0);
		CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR) &&
		      seen.states & DRM_PERFCTR_STATE_ON);
		sum += seen.sum[0];
	}
	EQUAL(sum, gpu_truth("CP", BUSY));
	gpu_work("CP", BUSY, 7);
	EQUAL(stop().sum[0], 7);
}

TEST_WITH(begin_7, end_gpu, "blocks of both pipes, in whatever order the driver has them")
{
	const struct perfctr_counter_desc *last = perfctr_counter_at(0x0707, 74, 0, SP_LAST);
	char events[128];
	struct seen seen;

	if (!CHECK(last))
		return;
	snprintf(events, sizeof(events), "uche/BUSY_CYCLES,bv_sp/%s,sp/%s,cp/BUSY_CYCLES",
		 last->name, last->name);
	EQUAL(start(events), 0);
	gpu_work("CP", BUSY, 1);
	gpu_work("UCHE", UCHE_FIRST, 20);
	gpu_work("SP", SP_LAST, 300);
	gpu_work("BV_SP", SP_LAST, 4000);
	gpu_work("BV_SP", SP_LAST - 1, 50000);
	seen = stop();
	/* by block type */
	EQUAL(seen.sum[0] + seen.sum[1] + seen.sum[2] + seen.sum[3], 4321);
}

TEST_WITH(begin_7, end_gpu, "a session without samples makes fifty calls a second at most")
{
	idle_watch();
	EQUAL(start("CP/BUSY_CYCLES"), 0);
	CHECK(idle_calls(3000) <= 150);
}

TEST_WITH(begin_7, end_gpu, "a full buffer loses nothing, and records are split over two reads")
{
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	for (unsigned int n = 0; n < 3; n++) {
		gpu_run(false, 5000, "CP", BUSY, 1000003);
		seen = take();
		EQUAL(seen.lost_ns, 0);
		EQUAL(seen.sum[0], UINT64_C(5000) * 1000003);
		CHECK(!(seen.flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_SUSPENDED)));
	}
	CHECK(gpu_state().splits);
}

TEST_WITH(begin_7, end_gpu, "a reset whose first record is larger than the last one is a loss")
{
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_work("CP", BUSY, 10);
	EQUAL(take().sum[0], 10);
	/* the first two periods: before the counters are set up, and the new base */
	gpu_run(true, 5, "CP", BUSY, 1000);
	seen = take();
	EQUAL(seen.sum[0], 3000);
	CHECK(seen.lost_ns && seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	gpu_work("CP", BUSY, 11);
	seen = take();
	EQUAL(seen.sum[0], 11);
	EQUAL(seen.lost_ns, 0);
}

TEST_WITH(begin_7, end_gpu, "a full buffer and a reset at once: never more than was done")
{
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_work("CP", BUSY, 10);
	EQUAL(take().sum[0], 10);
	gpu_run(false, 4000, "CP", BUSY, 1000);
	gpu_run(true, 5000, "CP", BUSY, 1000);
	seen = take();
	CHECK(seen.sum[0] < 9000 * 1000 && seen.lost_ns);
	gpu_run(false, 4000, "CP", BUSY, 1000);
	EQUAL(take().sum[0], 4000 * 1000);
}

TEST_WITH(begin_7, end_gpu, "the GPU sleeps: off, and little of that time is lost")
{
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_work("CP", BUSY, 5);
	EQUAL(take().sum[0], 5);
	gpu_suspend();
	wait_ms(200);
	seen = take();
	EQUAL(seen.sum[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_OFF && seen.ns > 190 * MS);
	CHECK(seen.lost_ns < 100 * MS);
	wait_ms(100);
	resume();
	gpu_work("CP", BUSY, 9);
	seen = take();
	EQUAL(seen.sum[0], 9);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED && seen.lost_ns < 90 * MS);
	gpu_work("CP", BUSY, 9);
	EQUAL(take().lost_ns, 0);
}

TEST_WITH(begin_7, end_gpu, "start while the GPU sleeps, which does not wake it")
{
	struct seen seen;

	gpu_suspend();
	EQUAL(start("cp/BUSY_CYCLES"), 0);
	seen = take();
	EQUAL(seen.sum[0], 0);
	EQUAL(gpu_state().records, 0);
	resume();
	gpu_work("CP", BUSY, 77);
	EQUAL(take().sum[0], 77);
}

TEST_WITH(begin_7, end_gpu, "work in front of the set-up delays the start")
{
	gpu_block_ring(true);
	EQUAL(open_session("cp/BUSY_CYCLES", NULL), 0);
	EQUAL(perfctr_session_start(session, 0), -EIO);
	HAS_TEXT(perfctr_ctx_error(ctx), "has given no record of its counters for a second");
	CHECK(!gpu_state().has_stream);
	gpu_block_ring(false);
	EQUAL(perfctr_session_start(session, 0), 0);
	gpu_work("CP", BUSY, 3);
	EQUAL(stop().sum[0], 3);
}

static void begin_blind(void)
{
	begin_as((struct gpu_options){ .generation = 7, .chip = 0x43050a01, .no_sysfs = true });
}

TEST_WITH(begin_blind, end_gpu, "without the GPU in sysfs all time around a sleep is lost")
{
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_work("CP", BUSY, 5);
	EQUAL(take().sum[0], 5);
	gpu_suspend();
	wait_ms(100);
	seen = take();
	CHECK(seen.lost_ns > 90 * MS && seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	resume();
	gpu_work("CP", BUSY, 6);
	EQUAL(take().sum[0], 6);
}

TEST_WITH(begin_7, end_gpu, "samples every 100 us: no period of the driver is shorter")
{
	const struct perfctr_session_opts options = { .size = sizeof(options),
						      .period_ns = 100000,
						      .slots = 4096 };
	struct seen seen = { 0 };

	EQUAL(open_session("cp/BUSY_CYCLES", &options), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	for (unsigned int n = 0; n < 50; n++) {
		gpu_work("CP", BUSY, 1u << 20);
		wait_ms(1);
	}
	EQUAL(perfctr_session_stop(session, 0), 0);
	read_samples(cursor, &seen);
	CHECK(seen.samples > 10);
	EQUAL(seen.sum[0], 50u << 20);
	EQUAL(seen.lost_ns, 0);
	EQUAL(gpu_state().shortest_ns, 100000);
}

TEST_WITH(begin_7, end_gpu, "a second session with other counters: the first goes on")
{
	struct perfctr_selection *other_selection = NULL;
	struct perfctr_session *other = NULL;
	struct perfctr_cursor *other_cursor = NULL;
	struct seen seen, other_seen = { 0 };

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_work("CP", BUSY, 100);
	EQUAL(perfctr_selection_new(device, &other_selection), 0);
	CHECK(perfctr_selection_add(other_selection, "uche/BUSY_CYCLES") > 0);
	EQUAL(perfctr_session_new(other_selection, NULL, &other), 0);
	EQUAL(perfctr_cursor_new(other, &other_cursor), 0);
	EQUAL(perfctr_session_start(other, 0), 0);
	gpu_work("CP", BUSY, 20);
	gpu_work("UCHE", UCHE_FIRST, 3);
	seen = take();
	EQUAL(seen.sum[0], 120);
	CHECK(seen.lost_ns && !(seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED));
	EQUAL(perfctr_session_stop(other, 0), 0);
	read_samples(other_cursor, &other_seen);
	EQUAL(other_seen.sum[0], 3);
	/* fewer counters need no other stream */
	gpu_work("CP", BUSY, 8);
	seen = take();
	EQUAL(seen.sum[0], 8);
	EQUAL(seen.lost_ns, 0);
	perfctr_cursor_unref(other_cursor);
	perfctr_session_unref(other);
	perfctr_selection_unref(other_selection);
}

TEST_WITH(begin_7, end_gpu,
	  "permission that is gone when the counters change: an error, no wrong count")
{
	struct perfctr_selection *other_selection = NULL;
	struct perfctr_session *other = NULL;
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	EQUAL(perfctr_selection_new(device, &other_selection), 0);
	CHECK(perfctr_selection_add(other_selection, "uche/BUSY_CYCLES") > 0);
	EQUAL(perfctr_session_new(other_selection, NULL, &other), 0);
	gpu_deny(true);
	EQUAL(perfctr_session_start(other, 0), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "counting needs CAP_PERFMON");
	gpu_work("CP", BUSY, 1000);
	seen = take();
	EQUAL(seen.sum[0], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.states & DRM_PERFCTR_STATE_ERROR);
	gpu_deny(false);
	CHECK(take().lost_ns);
	gpu_work("CP", BUSY, 4);
	seen = take();
	EQUAL(seen.sum[0], 4);
	EQUAL(seen.lost_ns, 0);
	perfctr_session_unref(other);
	perfctr_selection_unref(other_selection);
}

TEST_WITH(begin_7, end_gpu, "kept awake while it counts")
{
	const struct perfctr_session_opts options = { .size = sizeof(options),
						      .flags = DRM_PERFCTR_OPEN_KEEP_AWAKE };

	EQUAL(open_session("cp/BUSY_CYCLES", &options), 0);
	EQUAL(gpu_state().sysprof, 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(gpu_state().sysprof, 2);
	stop();
	EQUAL(gpu_state().sysprof, 0);
}

TEST_WITH(begin_7, end_gpu, "refusals: permission, another stream, reserved counters")
{
	gpu_deny(true);
	EQUAL(open_session("cp/BUSY_CYCLES", NULL), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "Adreno 740: counting needs CAP_PERFMON");
	end();
	gpu_end();
	begin_7();
	EQUAL(gpu_other_stream("CP", true), 0);
	EQUAL(open_session("cp/BUSY_CYCLES", NULL), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "one program at a time");
	EQUAL(gpu_other_stream("CP", false), 0);
	end();
	gpu_end();
	begin_7();
	EQUAL(gpu_reserve("RB", 7), 0);
	EQUAL(start("rb/BUSY_CYCLES"), 0);
	stop();
	end();
	gpu_end();
	begin_7();
	EQUAL(gpu_reserve("RB", 8), 0);
	EQUAL(start("rb/BUSY_CYCLES"), -E2BIG);
	HAS_TEXT(perfctr_ctx_error(ctx), "0 of the 8 counters of RB are free");
}

TEST_WITH(begin_7, end_gpu, "more counters than a group has take turns, those of others do not")
{
	uint64_t enabled_ns, least_ns, work = 0;
	struct perfctr_sample sample;
	struct perfctr_block block;

	EQUAL(start("vsc/*,cp/BUSY_CYCLES"), 0);
	for (unsigned int i = 0; i < 120; i++, work += 10) {
		for (unsigned int n = 0; n < 5; n++)
			gpu_work("VSC", n, 10);
		gpu_work("CP", BUSY, 10);
		wait_ms(10);
	}
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	/* a new stream's first record comes late */
	CHECK(sample.lost_ns > 0 && sample.lost_ns < (sample.end_ns - sample.start_ns) / 4);
	while (perfctr_decode_block(&sample, &block) > 0) {
		if (block.count == 1) {
			EQUAL(perfctr_block_read_times(&block, &enabled_ns, &least_ns), 0);
			CHECK(!(block.states & DRM_PERFCTR_STATE_MULTIPLEXED));
			CHECK(perfctr_block_value(&block, 0) <= work);
			CHECK(perfctr_block_value(&block, 0) >= work / 4 * 3);
			continue;
		}
		EQUAL(perfctr_block_read_times(&block, &enabled_ns, &least_ns), 1);
		CHECK(block.states & DRM_PERFCTR_STATE_MULTIPLEXED && least_ns > 0);
		EQUAL(block.valid_mask, block.enable_mask);
		for (unsigned int i = 0; i < block.count; i++) {
			uint64_t ran = perfctr_block_running(&block, i);
			double all = (double)perfctr_block_value(&block, i) * (double)enabled_ns /
				     (double)ran;

			CHECK(ran < enabled_ns && perfctr_block_value(&block, i) < work);
			CHECK(all > (double)work * 0.5 && all < (double)work * 1.5);
		}
	}
}

/* another session on the device */
struct other {
	struct perfctr_selection *selection;
	struct perfctr_session *session;
};

static struct other open_other(const char *events)
{
	struct other other = { 0 };

	EQUAL(perfctr_selection_new(device, &other.selection), 0);
	CHECK(perfctr_selection_add(other.selection, events) > 0);
	EQUAL(perfctr_session_new(other.selection, NULL, &other.session), 0);
	return other;
}

static void close_other(struct other *other)
{
	perfctr_session_unref(other->session);
	perfctr_selection_unref(other->selection);
}

TEST_WITH(begin_7, end_gpu, "a session that fits keeps its counter, also if others reserve some")
{
	uint64_t work = 0, seen = 0, lost_ns = 0;
	struct other turns;

	EQUAL(start("vsc/INPUT_TILES"), 0);
	turns = open_other("vsc/*");
	EQUAL(perfctr_session_start(turns.session, 0), 0);
	gpu_reserve_next("VSC", 1);
	for (unsigned int i = 0; i < 60; i++, work += 10) {
		struct seen now;

		gpu_work("VSC", 4, 10);
		wait_ms(10);
		now = take();
		seen += now.sum[0];
		lost_ns += now.lost_ns;
	}
	CHECK(seen <= work && seen >= work / 4 * 3);
	CHECK(seen == work || lost_ns);
	close_other(&turns);
}

TEST_WITH(begin_7, end_gpu,
	  "who joins is refused a counter that others reserved, the first goes on")
{
	struct other other, turns;
	struct seen seen;

	EQUAL(start("cp/BUSY_CYCLES,vsc/INPUT_TILES"), 0);
	EQUAL(gpu_reserve("RB", 8), 0);
	other = open_other("rb/BUSY_CYCLES");
	EQUAL(perfctr_session_start(other.session, 0), -E2BIG);
	HAS_TEXT(perfctr_ctx_error(ctx), "0 of the 8 counters of RB are free: programs with");
	EQUAL(gpu_reserve("RB", 0), 0);
	EQUAL(gpu_reserve("VSC", 1), 0);
	turns = open_other("vsc/*");
	EQUAL(perfctr_session_start(turns.session, 0), -E2BIG);
	HAS_TEXT(perfctr_ctx_error(ctx), "1 of the 2 counters of VSC are free");
	take();
	gpu_work("CP", BUSY, 6);
	gpu_work("VSC", 4, 70);
	seen = take();
	EQUAL(seen.sum[0] + seen.sum[1], 76);
	EQUAL(seen.lost_ns, 0);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
	EQUAL(perfctr_session_start(other.session, 0), 0);
	close_other(&other);
	close_other(&turns);
}

TEST_WITH(begin_7, end_gpu, "a counter that is reserved while another session joins is lost")
{
	struct other other, third;
	struct perfctr_cursor *other_cursor;
	struct seen seen, other_seen = { 0 };

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	other = open_other("rb/BUSY_CYCLES");
	EQUAL(perfctr_cursor_new(other.session, &other_cursor), 0);
	third = open_other("uche/BUSY_CYCLES");
	/* so that more could be lost than the next samples are long */
	wait_ms(300);
	EQUAL(take().lost_ns, 0);
	gpu_reserve_next("CP", 13);
	EQUAL(perfctr_session_start(other.session, 0), 0);
	take();
	gpu_work("CP", BUSY, 6);
	seen = take();
	EQUAL(seen.sum[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST && seen.lost_ns == seen.ns);
	/* a gap that all counters have is a part of that, and all that the other one lost */
	EQUAL(perfctr_session_sample(other.session, 0), 0);
	read_samples(other_cursor, &other_seen);
	wait_ms(50);
	gpu_run(true, 5, "RB", RB_BUSY, 1000);
	seen = take();
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	EQUAL(seen.lost_ns, seen.ns);
	other_seen = (struct seen){ 0 };
	EQUAL(perfctr_session_sample(other.session, 0), 0);
	read_samples(other_cursor, &other_seen);
	EQUAL(other_seen.sum[0], 3000);
	CHECK(other_seen.lost_ns && other_seen.lost_ns < other_seen.ns / 2);
	/* when there is another stream, it is asked for again */
	EQUAL(gpu_reserve("CP", 0), 0);
	EQUAL(perfctr_session_start(third.session, 0), 0);
	take();
	gpu_work("CP", BUSY, 7);
	seen = take();
	EQUAL(seen.sum[0], 7);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST) && !seen.lost_ns);
	perfctr_cursor_unref(other_cursor);
	close_other(&other);
	close_other(&third);
}

TEST_WITH(begin_7, end_gpu, "a program that is killed leaves nothing behind")
{
	const struct perfctr_session_opts options = { .size = sizeof(options),
						      .flags = DRM_PERFCTR_OPEN_KEEP_AWAKE };

	EQUAL(open_session("cp/BUSY_CYCLES", &options), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(gpu_state().sysprof, 2);
	gpu_kill();
	EQUAL(gpu_state().sysprof, 0);
	CHECK(!gpu_state().has_stream && !gpu_state().allocated);
	EQUAL(gpu_other_stream("CP", true), 0);
	EQUAL(gpu_other_stream("CP", false), 0);
}

TEST_WITH(begin_7, end_gpu, "the device goes: the session ends")
{
	struct seen seen = { 0 };

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	gpu_unplug();
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	read_samples(cursor, &seen);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
}

static int open_as(struct gpu_options options)
{
	int error;

	begin_as(options);
	error = perfctr_device_open(ctx, GPU_NODE, &device);
	return error;
}

TEST("each generation has its counters; those of no known one are refused by name")
{
	static const struct {
		struct gpu_options options;
		const char *name;
		unsigned int product, blocks;
	} known[] = {
		{ { .generation = 6, .chip = 0x06030001 }, "Adreno 630", 0x0706, 15 },
		{ { .generation = 6, .chip = 0x07000200 }, "Adreno 702", 0x0706, 15 },
		{ { .generation = 7, .chip = 0x07030001 }, "Adreno 730", 0x0707, 28 },
		{ { .generation = 7, .chip = 0x43050c01 }, "Adreno X1-85", 0x0707, 28 },
		{ { .generation = 8, .chip = 0x44070001 }, "Adreno X2-85", 0x0708, 28 },
	};

	for (size_t n = 0; n < sizeof(known) / sizeof(*known); n++) {
		EQUAL(open_as(known[n].options), 0);
		EQUAL_TEXT(perfctr_device_info(device)->name, known[n].name);
		EQUAL(perfctr_device_info(device)->product, known[n].product);
		EQUAL(perfctr_device_info(device)->block_count -
			      !!(perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_PMU),
		      known[n].blocks);
		end_gpu();
	}
	EQUAL(open_as((struct gpu_options){ .generation = 8, .chip = 0x45010001 }), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "Adreno of chip 0x45010001");
	end_gpu();
	EQUAL(open_as((struct gpu_options){ .generation = 5, .chip = 0x05040000 }), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "this kernel's msm does not know the counters of "
					 "Adreno 540");
	end_gpu();
	EQUAL(open_as((struct gpu_options){ .generation = 7, .chip = 0x43050a01, .old = true }),
	      -ENOTTY);
	HAS_TEXT(perfctr_ctx_error(ctx), "msm offers no performance counters");
	end_gpu();
}

/* Work, resets, full buffers and sleep, in the order of @random. */
static void do_something(unsigned int random)
{
	const unsigned int what = random >> 16 & 15;

	if (what < 8)
		gpu_work("CP", BUSY, random >> 8);
	else if (what < 12)
		gpu_run(false, what == 8 ? 4000 : what, "CP", BUSY, what);
	else if (what < 14)
		gpu_run(true, what == 13 ? 3000 : what - 10, "CP", BUSY, random >> 12);
	else if (what == 15)
		gpu_suspend();
	if (what == 15 && random & 1 << 20)
		wait_ms(random >> 21 & 7);
	if (what == 15)
		gpu_resume();
}

TEST_WITH(begin_7, end_gpu, "whatever happens: a sample has all that was done, or a loss")
{
	unsigned int random = 1, whole = 0, less = 0;
	uint64_t before = 0, lost_ns = 0, ns = 0;

	EQUAL(start("cp/BUSY_CYCLES"), 0);
	for (unsigned int n = 0; n < 300; n++) {
		struct seen seen;
		uint64_t work;

		random = random * 1103515245 + 12345;
		do_something(random);
		if (random & 1 << 12)
			continue;
		work = gpu_truth("CP", BUSY) - before;
		before += work;
		seen = take();
		lost_ns += seen.lost_ns;
		ns += seen.ns;
		CHECK(lost_ns <= ns && seen.sum[0] <= work);
		if (!seen.lost_ns)
			EQUAL(seen.sum[0], work);
		whole += !seen.lost_ns && work;
		less += seen.sum[0] < work;
	}
	/* both have happened, more than now and then */
	CHECK(whole > 20 && less > 20);
}
