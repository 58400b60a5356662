// SPDX-License-Identifier: GPL-2.0
/*
 * GPU timestamps to CLOCK_MONOTONIC_RAW.
 */
#include "kernel.h"
#include "csf_time.h"
#include "test.h"

#define HZ	24000000ull

/* a clock that runs @ppm fast and began at @offset */
static u64 ticks_at(u64 raw_ns, u64 hz, s64 ppm, u64 offset)
{
	return offset + (u64)((__uint128_t)raw_ns * hz / NSEC_PER_SEC *
			      (1000000 + ppm) / 1000000);
}

static struct csf_perfctr_anchor anchor_at(u64 raw_ns, u64 hz, s64 ppm, u64 offset)
{
	return (struct csf_perfctr_anchor){ .raw_ns = raw_ns, .error_ns = 50,
		.gpu_ticks = ticks_at(raw_ns, hz, ppm, offset) };
}

TEST(interpolation_stays_within_its_error)
{
	static const u64 rates[] = { 1000000, HZ, 1000000000, 10000000000ull };
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(200000);

	for (round = 0; round < rounds; round++) {
		u64 hz = rates[random_below(&random, ARRAY_SIZE(rates))];
		s64 ppm = (s64)random_below(&random, 10000) - 5000;
		u64 offset = random_u64(&random) >> 8;
		u64 t0 = random_u64(&random) >> 10, t1 = t0 + 1 + (random_u64(&random) >> 28);
		u64 t = t0 + random_u64(&random) % (t1 - t0 + 1), raw_ns, apart;
		struct csf_perfctr_anchor a = anchor_at(t0, hz, ppm, offset);
		struct csf_perfctr_anchor b = anchor_at(t1, hz, ppm, offset);
		struct csf_time time;

		csf_time_init(&time, hz);
		check(csf_time_add_anchor(&time, &a));
		check(csf_time_add_anchor(&time, &b));
		check(csf_time_to_raw(&time, ticks_at(t, hz, ppm, offset), &raw_ns));
		apart = raw_ns > t ? raw_ns - t : t - raw_ns;
		/* readings are rounded down to a tick, those of anchors too */
		check(apart <= csf_time_error_ns(&time) + 2 * (NSEC_PER_SEC / hz + 1));
		check(raw_ns >= t0 && raw_ns <= t1);
	}
}

TEST(conversion_never_runs_backwards)
{
	struct csf_time time;
	u64 ticks, last_ns = 0, raw_ns;
	struct csf_perfctr_anchor a = anchor_at(1000000, HZ, 77, 5);
	struct csf_perfctr_anchor b = anchor_at(9000000, HZ, 77, 5);

	csf_time_init(&time, HZ);
	csf_time_add_anchor(&time, &a);
	csf_time_add_anchor(&time, &b);
	for (ticks = a.gpu_ticks; ticks <= b.gpu_ticks; ticks++) {
		check(csf_time_to_raw(&time, ticks, &raw_ns));
		check(raw_ns >= last_ns);
		last_ns = raw_ns;
	}
	check_eq(last_ns, b.raw_ns);
}

TEST(single_anchor_uses_the_nominal_rate)
{
	struct csf_perfctr_anchor a = { .gpu_ticks = 24000, .raw_ns = 5000000, .error_ns = 1 };
	struct csf_time time;
	u64 raw_ns;

	csf_time_init(&time, HZ);
	check(!csf_time_to_raw(&time, 1, &raw_ns));
	csf_time_add_anchor(&time, &a);
	check(csf_time_to_raw(&time, 48000, &raw_ns));
	check_eq(raw_ns, 6000000);
	check(csf_time_to_raw(&time, 0, &raw_ns));
	check_eq(raw_ns, 4000000);
	/* far in the past does not wrap */
	a.gpu_ticks = U64_MAX / 2;
	csf_time_init(&time, HZ);
	csf_time_add_anchor(&time, &a);
	check(csf_time_to_raw(&time, 0, &raw_ns));
	check_eq(raw_ns, 0);
	check_eq(csf_time_error_ns(&time), U64_MAX);
}

TEST(stopped_clock_is_detected)
{
	struct csf_perfctr_anchor a = anchor_at(1000000000, HZ, 0, 0), b;
	struct csf_time time;

	csf_time_init(&time, HZ);
	check(csf_time_add_anchor(&time, &a));
	b = anchor_at(1100000000, HZ, 0, 0);
	b.gpu_ticks = a.gpu_ticks;
	check(!csf_time_add_anchor(&time, &b));
	b = anchor_at(1200000000, HZ, 0, 0);
	b.gpu_ticks = a.gpu_ticks - 5;
	check(!csf_time_add_anchor(&time, &b));
	b = anchor_at(1300000000, HZ, 0, 1ull << 40);
	check(!csf_time_add_anchor(&time, &b));
	/* the next anchor that follows it is accepted */
	b = anchor_at(1400000000, HZ, 0, 1ull << 40);
	check(csf_time_add_anchor(&time, &b));
	/* a delay between the two readings is within the anchor's error */
	b = anchor_at(1400100000, HZ, 0, 1ull << 40);
	b.raw_ns += 5000000;
	b.error_ns = 5000000;
	check(csf_time_add_anchor(&time, &b));
}

TEST(unknown_rate_is_measured)
{
	struct csf_perfctr_anchor a = anchor_at(0, HZ, 0, 0), b = anchor_at(1000000, HZ, 0, 0);
	struct csf_time time;
	u64 raw_ns;

	csf_time_init(&time, 0);
	check(csf_time_add_anchor(&time, &a));
	check(!csf_time_to_raw(&time, 12, &raw_ns));
	check(csf_time_add_anchor(&time, &b));
	check(csf_time_to_raw(&time, 12000, &raw_ns));
	check_eq(raw_ns, 500000);
	check_eq(csf_time_to_ns(&time, 12000), 500000);
	check(!csf_time_to_raw(&time, 48000, &raw_ns));
}
