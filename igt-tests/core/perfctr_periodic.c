// SPDX-License-Identifier: MIT
/**
 * TEST: Periodic sessions keep their rate, and no period is forgotten
 * Description: Periods: rate, jitter, cost, and that each one is accounted for.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"

#define MAX_PERIODS 4096

static struct igt_perfctr_device dev;

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* a userspace thread with the same period, for comparison on this machine */
struct peer {
	uint64_t period_ns, wakes, late[MAX_PERIODS];
	bool stop;
};

static void *peer_thread(void *data)
{
	const struct sched_param fifo = { .sched_priority = 1 };
	struct peer *p = data;
	struct timespec t;
	uint64_t due, now;

	igt_assert_eq(pthread_setschedparam(pthread_self(), SCHED_FIFO, &fifo), 0);
	clock_gettime(CLOCK_MONOTONIC, &t);
	due = t.tv_sec * 1000000000ull + t.tv_nsec;
	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED) && p->wakes < MAX_PERIODS) {
		due += p->period_ns;
		t.tv_sec = due / 1000000000;
		t.tv_nsec = due % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000000000ull + t.tv_nsec;
		p->late[p->wakes++] = now - due;
		/* skip the periods that have passed */
		due += (now - due) / p->period_ns * p->period_ns;
	}
	return NULL;
}

/*
 * A sample of n periods ends when n more periods have ended since START, however late the sampler
 * runs. Samples account for all periods that end before STOP. The first period begins up to one
 * period after START.
 */
static void every_period(uint64_t period_ns, unsigned int periods)
{
	struct igt_perfctr_session s;
	uint64_t accounted = 0, ended, start_ns = 0;

	igt_perfctr_begin_with(&s, &dev, MAX_PERIODS, period_ns);
	igt_sleep_ms(periods * period_ns / MS);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

		if (!i)
			start_ns = h->start_ns;
		accounted += h->merged_periods + !!(h->flags & DRM_PERFCTR_SAMPLE_PERIODIC);
		ended = (h->end_ns - start_ns) / period_ns;
		igt_assert_lte_u64(accounted, ended + 1);
	}
	igt_perfctr_drain(&s);
	ended = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%d periods ended, %d are samples, %d merged\n", (int)ended, (int)s.periodic,
		 (int)s.merged);
	igt_assert_lte_u64(periods, ended);
	igt_assert_lte_u64(ended, accounted + 1);
	igt_assert_eq_u64(accounted, s.periodic + s.merged);
	igt_assert_eq_u64(igt_perfctr_status(&s).merged_periods, s.merged);
	igt_perfctr_session_close(&s);
}

/*
 * Jitter and cost of a periodic session on an idle machine. The peer thread measures whether most
 * periods have their own sample soon after they end. Returns false if the machine was too busy, or
 * the kernel is broken.
 */
static bool is_prompt(uint64_t period_ns, unsigned int periods)
{
	static uint64_t late[MAX_PERIODS];
	static struct peer peer;
	uint64_t before_ns, after_ns, span_ns, due, turns;
	struct igt_perfctr_session s;
	double rate, share;
	unsigned int n = 0;
	pthread_t thread;

	igt_perfctr_session_open_with(&s, &dev, MAX_PERIODS, period_ns);
	igt_assert_lt(periods, MAX_PERIODS);
	peer = (struct peer){ .period_ns = period_ns };
	before_ns = igt_sampler_ns(&dev, &turns);
	igt_assert_eq(pthread_create(&thread, NULL, peer_thread, &peer), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_sleep_ms(periods * period_ns / MS);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	__atomic_store_n(&peer.stop, true, __ATOMIC_RELAXED);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	after_ns = igt_sampler_ns(&dev, &turns);

	/* skip the first sample, whose span is a part of a period */
	for (uint64_t i = 1; i + 1 < igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

		due = (1 + h->merged_periods) * period_ns;
		span_ns = h->end_ns - h->start_ns;
		late[n++] = span_ns > due ? span_ns - due : due - span_ns;
	}
	igt_assert_lt(1, (int)n);
	qsort(late, n, sizeof(late[0]), ascending);
	qsort(peer.late, peer.wakes, sizeof(peer.late[0]), ascending);
	igt_perfctr_drain(&s);
	span_ns = s.last.end_ns - s.first.start_ns;
	periods = span_ns / period_ns;
	rate = (s.periodic + s.merged) * 1e9 / span_ns;
	share = 100.0 * (after_ns - before_ns) / span_ns;
	igt_info("%d periods, %d merged: %.1f per s; jitter median %.1f us, 99 %% %.1f us, "
		 "worst %.1f us; sampler %.2f %% of a CPU; peer woke %d times, late by %.1f us "
		 "(median), %.1f us (worst)\n",
		 (int)s.periodic, (int)s.merged, rate, late[n / 2] / 1e3, late[n * 99 / 100] / 1e3,
		 late[n - 1] / 1e3, share, (int)peer.wakes, peer.late[peer.wakes / 2] / 1e3,
		 peer.late[peer.wakes - 1] / 1e3);
	igt_perfctr_session_close(&s);
	/* each period is published or merged; either end may cut one off */
	igt_assert_lte_u64(periods, s.periodic + s.merged + 1);
	igt_assert_lte_u64(s.periodic + s.merged, periods + 1);
	return s.periodic >= peer.wakes / 2 &&
	       late[n / 2] <= period_ns / 2 + peer.late[peer.wakes / 2] && share < 60;
}

/* on PREEMPT_RT, a timer that is not HARD expires in a thread */
static void hard_timer(void)
{
	const char *event = "timer/hrtimer_expire_entry";
	struct igt_perfctr_session s;
	unsigned int fired, hard;

	igt_trace_begin(event, "0");
	igt_perfctr_begin_with(&s, &dev, MAX_PERIODS, 5 * MS);
	while (igt_perfctr_unread(&s) < 3)
		igt_sleep_ms(5);
	fired = igt_trace_end(event, "timer_fired", &hard);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_session_close(&s);
	igt_info("%u of %u timers in hard interrupt context\n", hard, fired);
	igt_assert_lt(0, fired);
	igt_assert_eq(hard, fired);
}

static void periodic_tests(void)
{
	igt_describe("at 1 kHz each period has its own sample or is merged into one, and no "
		     "sample precedes its period");
	igt_subtest("periodic-rate") every_period(MS, 200);
	igt_describe("at 1 kHz, samples come at least half as often as a thread with that period "
		     "wakes, half of them within half a period of its delay, for at most 60 % of "
		     "a CPU");
	igt_subtest("periodic-prompt")
	{
		unsigned int attempts = 0;

		while (!is_prompt(MS, 1000))
			igt_assert_lt(attempts++, 5);
	}
	igt_describe("the timer of the periods expires in hard interrupt context");
	igt_subtest("periodic-hard") hard_timer();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	periodic_tests();
}
