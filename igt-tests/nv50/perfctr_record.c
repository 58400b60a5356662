// SPDX-License-Identifier: MIT
/**
 * TEST: Recorded PCOUNTER sessions
 * Description: NVIDIA-style counters that the hardware records, for periods too short for a timer.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_nv50.h"
#include "igt_sys.h"

#define US 1000ull
#define RATE_SLOTS 16384
#define RATE_PERIODS 10000

/* three domains, one of which counts an integer of six wires */
static const char *const recorded[] = { "gpu_busy", "setup_primitive_count",
					"rop_samples_in_count_1", "shader_busy" };
#define RECORDED ARRAY_SIZE(recorded)
/*
 * Clocks within which no counter may be full. The hardware owns half of the memory. In each of
 * these domains it writes at most one packet per 2^14 clocks, the longest power of two in half a
 * period of the slowest domain (500 MHz). Half of the room is left for packets of full integers, of
 * 61,440 counts each; no recording test has that many.
 */
#define ROOM_PACKETS 8192
#define ROOM_CLOCKS (ROOM_PACKETS / 2 * 16384ull)

/* each period between START and STOP is a sample, or merged into one */
static void assert_periods(const struct igt_perfctr_session *s, uint64_t period_ns)
{
	const uint64_t periods = (s->last.end_ns - s->first.start_ns) / period_ns;

	igt_assert_lte_u64(periods, s->periodic + s->merged + 1);
	igt_assert_lte_u64(s->periodic + s->merged, periods + 1);
}

/*
 * The machine stalled for longer than packets and counters have room: hardware lost counts, and
 * samples must report the loss. Measured on the hardware's clock, which may skip to a job's end at
 * once.
 */
static bool fell_behind(const struct igt_perfctr_session *s)
{
	unsigned int full = 0;

	if (!(s->flags & DRM_PERFCTR_SAMPLE_OVERFLOW))
		return false;
	igt_info("counters were full for %llu ns\n", (long long)s->lost_ns);
	igt_assert_lte_u64(1, s->lost_ns);
	for (unsigned int b = 0; b < s->layout.block_count; b++) {
		if (!(s->sums[b].states & DRM_PERFCTR_STATE_SATURATED))
			continue;
		igt_assert(s->sums[b].states & DRM_PERFCTR_STATE_LOST);
		igt_assert_lte_u64(ROOM_CLOCKS, s->sums[b].saturated_cycles);
		full++;
	}
	igt_assert_lte(1, full);
	return true;
}

/* all counts are in samples, or reported as lost on a machine that fell behind */
static void assert_exact(const struct igt_perfctr_session *s)
{
	igt_assert_eq_u32(s->flags & (DRM_PERFCTR_SAMPLE_MULTIPLEXED | DRM_PERFCTR_SAMPLE_ERROR),
			  0);
	if (fell_behind(s))
		return;
	igt_assert_eq_u64(s->lost_ns, 0);
	igt_nv50_assert_conserved(s);
}

static void end_exact(struct igt_perfctr_session *s, uint64_t period_ns)
{
	assert_exact(s);
	assert_periods(s, period_ns);
	igt_perfctr_session_close(s);
}

/* a block ends at its last packet; returns how many end within a period of the sample's end */
static unsigned int check_captures(const struct igt_perfctr_session *s, unsigned int *blocks)
{
	unsigned int near = 0;

	for (uint64_t i = s->extract; i != s->extract + igt_perfctr_unread(s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(s, i);
		const char *at = (const char *)h + h->header_size;

		for (unsigned int n = 0; n < h->block_count; n++) {
			const struct drm_perfctr_block_header *b = (const void *)at;

			igt_assert_lte(b->capture_ns, 0);
			near += b->capture_ns > -(int32_t)IGT_NV50_RECORD_PERIOD_NS;
			++*blocks;
			at += b->size;
		}
	}
	return near;
}

/* @beside: a counter that is not recorded, or NULL; returns whether most periods have samples */
static bool report_rate(uint64_t period_ns, const char *beside)
{
	const char *const names[] = { "gpu_busy", beside };
	struct igt_perfctr_session s;
	uint64_t interrupts, span_ns;

	igt_nv50_session_init(&s, period_ns);
	s.params.slots = RATE_SLOTS;
	for (unsigned int i = 0; i < 2 && names[i]; i++)
		igt_nv50_want(&s, names[i]);
	igt_perfctr_session_open(&s);
	igt_nv50_read_before();
	interrupts = igt_nv50_sampler("timer_interrupts");
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_is_batched(&s), !beside);
	while (s.samples + s.merged < RATE_PERIODS) {
		igt_perfctr_wait_unread(&s, 1);
		igt_perfctr_drain(&s);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	interrupts = igt_nv50_sampler("timer_interrupts") - interrupts;
	igt_perfctr_drain(&s);
	igt_nv50_read_after();
	span_ns = s.last.end_ns - s.first.start_ns;
	igt_info("%llu us, %s: %.0f samples/s, %.0f periods/s merged, %.0f interrupts/s\n",
		 (long long)(period_ns / US), beside ? "timer" : "recorded",
		 s.samples * 1e9 / span_ns, s.merged * 1e9 / span_ns, interrupts * 1e9 / span_ns);
	if (!beside)
		igt_assert_lte_u64(8 * interrupts, s.samples + s.merged);
	end_exact(&s, period_ns);
	return s.samples > s.merged;
}

/* returns whether the hardware could count everything */
static bool record_exact(void)
{
	unsigned int near = 0, blocks = 0;
	struct drm_perfctr_status status;
	struct igt_perfctr_session s;
	uint64_t interrupts, batches;

	igt_nv50_session_init(&s, IGT_NV50_RECORD_PERIOD_NS);
	s.params.slots = IGT_NV50_RECORD_SLOTS;
	s.params.eventfd = eventfd(0, EFD_CLOEXEC);
	igt_assert_lte(0, s.params.eventfd);
	for (unsigned int i = 0; i < RECORDED; i++)
		igt_nv50_want(&s, recorded[i]);
	igt_perfctr_session_open(&s);
	igt_nv50_read_before();
	interrupts = igt_nv50_sampler("timer_interrupts");
	batches = igt_nv50_sampler("batches");
	igt_assert_eq(igt_perfctr_start(&s, 7), 0);
	igt_assert(igt_perfctr_is_batched(&s));
	/* until there are enough samples, however long it takes */
	for (unsigned int n = 0; s.periodic < 2000; n++) {
		igt_nv50_work(n);
		near += check_captures(&s, &blocks);
		igt_perfctr_drain(&s);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 8), 0);
	interrupts = igt_nv50_sampler("timer_interrupts") - interrupts;
	batches = igt_nv50_sampler("batches") - batches;
	status = igt_perfctr_status(&s);
	igt_assert_eq_u32(status.flags, 0);
	igt_perfctr_drain(&s);
	igt_nv50_read_after();
	if (fell_behind(&s)) {
		close(s.params.eventfd);
		igt_perfctr_session_close(&s);
		return false;
	}
	assert_exact(&s);
	assert_periods(&s, IGT_NV50_RECORD_PERIOD_NS);
	/* all blocks, except where packets had no room */
	igt_assert_lte(blocks, 2 * near);
	for (unsigned int b = 0; b < s.layout.block_count; b++)
		igt_assert_lte_u64(1, s.sums[b].cycles);
	igt_info("%llu samples, %llu periods merged, %llu batches, %llu timer interrupts, "
		 "%llu signals\n",
		 (long long)s.samples, (long long)s.merged, (long long)batches,
		 (long long)interrupts, (long long)status.wakeups);
	/* START and STOP have their own batches; a late batch has more periods */
	igt_assert_lte_u64(8 * interrupts, s.samples + s.merged);
	igt_assert_lte_u64(4 * interrupts, s.samples);
	igt_assert_lte_u64(batches, interrupts + 3);
	igt_assert_lte_u64(1, status.wakeups);
	close(s.params.eventfd);
	igt_perfctr_session_close(&s);
	return true;
}

/* more clocks at once than half of the memory has packets for */
static void fill_memory(void)
{
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "1");
	igt_nv50_step(900 * MS);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
}

/* the hardware stops answering after it began to fill the other half of its memory */
static void fall_silent(void)
{
	const uint64_t collections = igt_nv50_sampler("collections");

	igt_fault_arm(&igt_nv50.dev, "pcounter_late", 1000000);
	while (igt_nv50_sampler("collections") < collections + 2)
		usleep(1000);
}

static void check_record_exact(void)
{
	unsigned int tries;

	for (tries = 1; !record_exact(); tries++)
		igt_assert_lt(tries, 10);
}

static void record_rate(void)
{
	static const unsigned int periods_us[] = { 100, 50, 20, 10 };
	bool fast = true;

	/* down to the period at which the model is too slow on this machine */
	for (unsigned int i = 0; fast && i < ARRAY_SIZE(periods_us); i++)
		fast = report_rate(periods_us[i] * US, NULL);
	/* the timer, for comparison: MP counters cannot be recorded */
	report_rate(100 * US, "instructions");
}

#define FULL_RING_PERIOD_NS 500000ull
#define FULL_RING_SLOTS 64

static void record_full_ring(void)
{
	struct igt_perfctr_session s;

	/* an emulated CPU keeps up with this period: periods are merged only for lack of slots */
	igt_nv50_session_init(&s, FULL_RING_PERIOD_NS);
	s.params.slots = FULL_RING_SLOTS;
	for (unsigned int i = 0; i < RECORDED; i++)
		igt_nv50_want(&s, recorded[i]);
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	igt_nv50_work(1);
	igt_perfctr_wait_merged(&s);
	igt_assert(igt_perfctr_is_batched(&s));
	igt_nv50_work(2);
	igt_assert_eq(igt_perfctr_sample(&s, 3), -ENOSPC);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_unread(&s), FULL_RING_SLOTS);
	igt_perfctr_drain(&s);
	igt_nv50_read_after();
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
	igt_assert_lte_u64(1, s.merged);
	end_exact(&s, FULL_RING_PERIOD_NS);
}

static void record_small_ring(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_init(&s, IGT_NV50_RECORD_PERIOD_NS);
	s.params.slots = 2;
	igt_nv50_want(&s, "gpu_busy");
	igt_perfctr_session_open(&s);
	igt_nv50_start(&s);
	for (unsigned int n = 0; s.periodic < 20; n++) {
		igt_nv50_work(n);
		igt_perfctr_drain(&s);
	}
	igt_nv50_finish(&s);
	end_exact(&s, IGT_NV50_RECORD_PERIOD_NS);
}

static void record_sessions(void)
{
	struct igt_perfctr_session s, t, m;
	static const char *const other[] = { "geom_primitive_in_count", "rop_busy" };
	static struct igt_truth start;

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, 2);
	igt_nv50_session_create(&t, 330 * US, recorded, RECORDED);
	igt_vsoc_truth(&igt_nv50.dev, &start);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	for (unsigned int n = 0; n < 8 || t.periodic < 40; n++) {
		/* work during START and STOP */
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
		uint64_t job;

		c.draw.vertices = 50001;
		c.draw.primitives = 20003 + n;
		c.draw.fragments = 300001;
		job = igt_vsoc_submit(&igt_nv50.dev, &c, 1);
		igt_nv50_session_create(&m, 0, other, 1 + (n & 1));
		igt_assert_eq(igt_perfctr_start(&m, 0), 0);
		/* needs another value of a multiplexer: multiplexed, not recorded */
		igt_perfctr_await_batched(&s, !(n & 1));
		igt_assert_eq(igt_perfctr_sample(&m, 1), 0);
		igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, job).status, 0);
		igt_nv50_read_before();
		igt_nv50_work(n);
		igt_nv50_read_after();
		igt_perfctr_drain(&m);
		{
			const uint64_t value = igt_nv50_value(&m, "geom_primitive_in_count");

			igt_assert_eq(igt_perfctr_stop(&m, 2), 0);
			igt_perfctr_drain(&m);
			if (!fell_behind(&m))
				igt_assert_lte_u64(igt_nv50_truth("geom_primitive_in_count"),
						   igt_nv50_value(&m, "geom_primitive_in_count") -
							   value);
		}
		igt_perfctr_await_batched(&s, true);
		igt_perfctr_session_close(&m);
		igt_perfctr_drain(&s);
		igt_perfctr_drain(&t);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_await_batched(&t, true);
	igt_nv50_work(3);
	igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&t);
	igt_nv50_read_after();
	igt_nv50.before = start;
	/* counters without a conflict counted all the time, to the last unit */
	if (!fell_behind(&s) && !fell_behind(&t)) {
		static const char *const whole[] = { "gpu_busy", "setup_primitive_count",
						     "shader_busy" };

		igt_assert_eq_u64(s.lost_ns, 0);
		igt_assert_eq_u64(t.lost_ns, 0);
		for (unsigned int i = 0; i < 3; i++)
			igt_assert_eq_u64(igt_nv50_value(&t, whole[i]), igt_nv50_truth(whole[i]));
		igt_assert_lte_u64(igt_nv50_value(&t, "rop_samples_in_count_1"),
				   igt_nv50_truth("rop_samples_in_count_1"));
	}
	assert_periods(&s, IGT_NV50_RECORD_PERIOD_NS);
	assert_periods(&t, 330 * US);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&t);
}

static void record_stop(void)
{
	struct igt_perfctr_session s;

	for (unsigned int n = 0; n < 20; n++) {
		igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, RECORDED);
		igt_nv50_start(&s);
		igt_nv50_work(n);
		igt_perfctr_sample_with_room(&s);
		igt_perfctr_drain(&s);
		igt_nv50_read_after();
		/* periods may have ended since, without work */
		igt_assert_eq_u64(s.manual, 1);
		assert_exact(&s);
		igt_nv50_work(n + 1);
		igt_assert_eq(igt_perfctr_stop(&s, 2), 0);
		igt_perfctr_drain(&s);
		igt_nv50_read_after();
		igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_FINAL);
		assert_exact(&s);
		igt_perfctr_session_close(&s);
	}
}

static void record_back_pressure(void)
{
	struct igt_perfctr_session s;
	uint64_t refused, saturated = igt_nv50_sampler("saturated");

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, RECORDED);
	igt_nv50_start(&s);
	igt_nv50_work(1);
	/* this sample has all counts; without work nothing can saturate after it */
	igt_perfctr_sample_with_room(&s);
	refused = igt_nv50_sampler("refused");
	fill_memory();
	while (igt_nv50_sampler("refused") == refused)
		igt_perfctr_drain(&s);
	igt_nv50_finish(&s);
	igt_assert_eq_u64(igt_nv50_sampler("saturated"), saturated);
	igt_assert_lte_u64(1, s.merged);
	end_exact(&s, IGT_NV50_RECORD_PERIOD_NS);
}

static void record_overflow(void)
{
	struct igt_perfctr_session s;
	const char *const idle[] = { "gpu_idle" };
	uint64_t saturated;

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, idle, 1);
	igt_nv50_start(&s);
	igt_nv50_read_after();
	saturated = igt_nv50_sampler("saturated");
	fill_memory();
	while (igt_nv50_sampler("saturated") == saturated)
		igt_perfctr_drain(&s);
	igt_perfctr_finish(&s);
	igt_assert(fell_behind(&s));
	igt_assert(igt_nv50_sum(&s, "gpu_idle")->states & DRM_PERFCTR_STATE_SATURATED);
	/* without work, cycles, which do not saturate, give the expected value */
	igt_assert_lte_u64(igt_nv50_value(&s, "gpu_idle") + 1,
			   igt_nv50_sum(&s, "gpu_idle")->cycles);
	assert_periods(&s, IGT_NV50_RECORD_PERIOD_NS);
	igt_perfctr_session_close(&s);
}

static void record_stop_silent(void)
{
	struct igt_perfctr_session s, t;
	static const char *const few[] = { "gpu_busy", "setup_primitive_count", "shader_busy" };
	/* so little work that no counter is full */
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };

	c.draw.vertices = 301;
	c.draw.primitives = 103;
	c.draw.fragments = 1009;
	/* the first answered collection is that of STOP, or was one of a batch */
	for (unsigned int n = 0; n < 2; n++) {
		const uint64_t saturated = igt_nv50_sampler("saturated");
		const uint64_t refused = igt_nv50_sampler("refused");

		igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, few, 3);
		igt_nv50_session_create(&t, 0, few, 3);
		igt_nv50_start(&s);
		igt_assert_eq(igt_perfctr_start(&t, 0), 0);
		igt_assert(igt_perfctr_is_batched(&s));
		fall_silent();
		fill_memory();
		igt_assert_eq(
			igt_vsoc_wait(&igt_nv50.dev, igt_vsoc_submit(&igt_nv50.dev, &c, 1)).status,
			0);
		igt_fault_disarm(&igt_nv50.dev, "pcounter_late");
		igt_assert_eq(igt_perfctr_stop(n & 1 ? &t : &s, 0), 0);
		igt_assert_eq(igt_perfctr_stop(n & 1 ? &s : &t, 0), 0);
		igt_perfctr_drain(&s);
		igt_perfctr_drain(&t);
		igt_nv50_read_after();
		igt_assert_lte_u64(refused + 1, igt_nv50_sampler("refused"));
		igt_assert_eq_u64(igt_nv50_sampler("saturated"), saturated);
		igt_nv50_assert_conserved(&s);
		igt_nv50_assert_conserved(&t);
		igt_assert_eq_u64(s.lost_ns + t.lost_ns, 0);
		igt_perfctr_session_close(&t);
		igt_perfctr_session_close(&s);
	}
}

static void record_fallback(void)
{
	struct igt_perfctr_session s;
	static const struct {
		uint64_t period_ns;
		const char *names[4];
		bool batched;
	} cases[] = {
		{ 500 * US, { "gpu_busy" }, true },
		/* long enough for the timer */
		{ MS, { "gpu_busy" }, false },
		/* three counters; the fourth one triggers the packets */
		{ IGT_NV50_RECORD_PERIOD_NS,
		  { "gpu_busy", "setup_primitive_count", "geom_primitive_in_count" },
		  true },
		{ IGT_NV50_RECORD_PERIOD_NS,
		  { "gpu_busy", "setup_primitive_count", "geom_primitive_in_count",
		    "input_assembler_busy" },
		  false },
		/* MP counters cannot be recorded */
		{ IGT_NV50_RECORD_PERIOD_NS, { "gpu_busy", "instructions" }, false },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned int count = 0;

		while (count < 4 && cases[i].names[count])
			count++;
		igt_nv50_session_create(&s, cases[i].period_ns, cases[i].names, count);
		igt_nv50_start(&s);
		igt_assert_eq(igt_perfctr_is_batched(&s), cases[i].batched);
		for (unsigned int n = 0; n < 2 || s.periodic < 10; n++) {
			igt_nv50_work(n);
			igt_perfctr_drain(&s);
		}
		igt_nv50_finish(&s);
		end_exact(&s, cases[i].period_ns);
	}
}

static void record_reset(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, RECORDED);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_perfctr_wait_unread(&s, 3);
	igt_vsoc_debugfs(&igt_nv50.dev, "reset", "1");
	igt_perfctr_await_batched(&s, true);
	igt_nv50_read_before();
	for (unsigned int n = 0; n < 3 || s.periodic < 100; n++) {
		igt_nv50_work(n);
		igt_perfctr_drain(&s);
	}
	igt_nv50_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_RESET);
	igt_assert_lte_u64(1, s.lost_ns);
	if (!fell_behind(&s))
		igt_nv50_assert_conserved(&s);
	assert_periods(&s, IGT_NV50_RECORD_PERIOD_NS);
	igt_perfctr_session_close(&s);
}

static void record_suspend(void)
{
	struct igt_perfctr_session s;

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, RECORDED);
	igt_nv50_start(&s);
	igt_nv50_work(0);
	igt_power(&igt_nv50.dev, "auto");
	for (unsigned int n = 0; !igt_power_is(&igt_nv50.dev, "suspended"); n++) {
		igt_assert_lt(n, 1000);
		usleep(10000);
		igt_perfctr_drain(&s);
	}
	igt_perfctr_await_batched(&s, false);
	igt_power(&igt_nv50.dev, "on");
	igt_nv50_work(1);
	igt_perfctr_await_batched(&s, true);
	igt_nv50_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	end_exact(&s, IGT_NV50_RECORD_PERIOD_NS);
}

static void record_unplug(void)
{
	struct igt_perfctr_session s, t, m;
	static const char *const clocks[] = { "gpu_busy", "gpu_idle" };

	igt_nv50_session_create(&s, IGT_NV50_RECORD_PERIOD_NS, recorded, RECORDED);
	igt_nv50_session_create(&t, 0, clocks, 2);
	igt_nv50_session_create(&m, 0, clocks, 2);
	igt_nv50_start(&s);
	igt_assert_eq(igt_perfctr_start(&t, 0), 0);
	igt_assert_eq(igt_perfctr_start(&m, 0), 0);
	igt_nv50_work(0);
	igt_nv50_read_after();
	igt_assert_eq(igt_vsoc_driver("del_device", IGT_NV50_NUMBER_TEXT), 0);
	igt_perfctr_drain(&t);
	igt_perfctr_drain(&m);
	/* the end of the first session did not affect later ones */
	if (!fell_behind(&t))
		igt_assert_eq_u64(igt_nv50_value(&t, "gpu_busy") + igt_nv50_value(&t, "gpu_idle"),
				  igt_nv50_sum(&t, "gpu_idle")->cycles);
	if (!fell_behind(&m))
		igt_assert_eq_u64(igt_nv50_value(&m, "gpu_busy") + igt_nv50_value(&m, "gpu_idle"),
				  igt_nv50_sum(&m, "gpu_idle")->cycles);
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	assert_exact(&s);
	igt_perfctr_close(&igt_nv50.dev);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&t);
	igt_perfctr_session_close(&m);
	igt_nv50_add();
}

static void record_tests(void)
{
	igt_describe("with a period of 100 us the hardware records: exact, each period accounted "
		     "for, far fewer interrupts than samples");
	igt_nv50_subtest("record-exact") check_record_exact();
	igt_describe("at each rate that the model can follow: exact, and eight times fewer "
		     "interrupts than periods; prints the rate of samples");
	igt_nv50_subtest("record-rate") record_rate();
	igt_describe("a full ring stretches recorded samples and loses nothing");
	igt_nv50_subtest("record-full-ring") record_full_ring();
	igt_describe("a small ring gets small batches: a reader that keeps up misses none");
	igt_nv50_subtest("record-small-ring") record_small_ring();
	/* Covers: DRM_PERFCTR_STATUS_BATCHED */
	igt_describe("sessions with other periods, other counters or no period have all counts "
		     "beside a recorded one");
	igt_nv50_subtest("record-sessions") record_sessions();
	igt_describe("SAMPLE and STOP have all earlier counts, in a batch or not");
	igt_nv50_subtest("record-stop") record_stop();
	igt_describe("packets without room in memory are merged: periods are lost, counts are not");
	igt_nv50_subtest("record-back-pressure") record_back_pressure();
	igt_describe("a counter that saturates during recording has LOST, and the time is in "
		     "lost_ns");
	igt_nv50_subtest("record-overflow") record_overflow();
	igt_describe("STOP has all counts after hardware did not answer until its memory was full");
	igt_nv50_subtest("record-stop-silent") record_stop_silent();
	/* Covers: DRM_PERFCTR_STATUS_BATCHED */
	igt_describe("a session that cannot be recorded is sampled by the timer, as STATUS "
		     "reports");
	igt_nv50_subtest("record-fallback") record_fallback();
	igt_describe("a reset during recording is reported; counting is exact after it");
	igt_nv50_subtest("record-reset") record_reset();
	igt_describe("suspend and resume during recording: nothing is lost");
	igt_nv50_subtest("record-suspend") record_suspend();
	igt_describe("unplug during recording leaves a final sample with all counts");
	igt_nv50_subtest("record-unplug") record_unplug();
}

int igt_main()
{
	igt_fixture() {
		igt_nv50_add();
	}
	record_tests();
	igt_fixture() {
		igt_nv50_remove();
	}
}
