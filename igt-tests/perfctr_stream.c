// SPDX-License-Identifier: MIT
/*
 * Samples: conservation, rings, periods, tags, times, wake-up, sampling in jobs.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION("Sums of samples equal what the hardware counted, whatever happens");

#define MS 1000000ull
#define MAX_PERIODS 4096

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;

static void create(struct igt_perfctr_session *s, uint32_t slots, uint64_t period_ns)
{
	igt_perfctr_session_init(s, &dev);
	s->setup.slots = slots;
	s->setup.period_ns = period_ns;
	igt_perfctr_session_create(s);
}

/* indices, states and totals of STATUS are those that the reader saw */
static void check_status(struct igt_perfctr_session *s, bool active)
{
	struct drm_perfctr_status st = igt_perfctr_status(s);

	igt_assert_eq_u32(st.flags, active ? DRM_PERFCTR_STATUS_ACTIVE : 0);
	igt_assert_eq_u32(st.slots, s->setup.slots);
	igt_assert_eq_u64(st.insert_idx, s->control->insert_idx);
	igt_assert_eq_u64(st.insert_idx, s->samples + igt_perfctr_unread(s));
	igt_assert_eq_u64(st.extract_idx, s->extract);
	if (!igt_perfctr_unread(s)) {
		igt_assert_eq_u64(st.merged_periods, s->merged);
		igt_assert_eq_u64(st.merged_others, s->merged_others);
		igt_assert_eq_u64(st.lost_ns, s->lost_ns);
		igt_assert_eq_u64(s->control->merged_periods, s->merged);
		igt_assert_eq_u64(s->control->lost_ns, s->lost_ns);
	}
	igt_assert_eq_u64(st.errors, 0);
	igt_assert_eq_u64(st.overflows, 0);
	igt_assert_eq_u64(st.resets, 0);
	igt_assert_eq_u64(st.bad_extract, 0);
}

/* run @jobs between START and STOP; after each one @step; sums must be the truth */
static void conserve(struct igt_perfctr_session *s, unsigned int jobs,
		     void (*step)(struct igt_perfctr_session *s, unsigned int n))
{
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	for (unsigned int n = 0; n < jobs; n++) {
		igt_vsoc_work(&dev, n);
		if (step)
			step(s, n);
	}
	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_vsoc_truth(&dev, &after);
	igt_perfctr_drain(s);
	igt_vsoc_assert_conserved(s, &before, &after);
	igt_assert_eq_u64(s->final, 1);
	igt_assert_eq_u64(s->lost_ns, 0);
	check_status(s, false);
}

static void step_sample(struct igt_perfctr_session *s, unsigned int n)
{
	igt_assert_eq(igt_perfctr_sample(s, n), 0);
	igt_perfctr_drain(s);
	/* the sample of a period may have come after it */
	igt_assert_eq_u64(s->manual_data, n);
}

/* however busy the machine: until samples of periods came, or periods found no slot */
static void step_two_periods(struct igt_perfctr_session *s, unsigned int n)
{
	igt_perfctr_drain(s);
	if (n == 7 && s->periodic < 2)
		igt_perfctr_wait_unread(s, 2);
	igt_perfctr_drain(s);
}

static void step_until_merged(struct igt_perfctr_session *s, unsigned int n)
{
	if (n == 7)
		igt_perfctr_wait_merged(s);
}

/* --- conservation -------------------------------------------------------- */

static void *jobs_thread(void *arg)
{
	for (unsigned int n = 0; n < 12; n++)
		igt_vsoc_work(&dev, n);
	return NULL;
}

static void conservation_tests(void)
{
	igt_describe("manual samples add up to the truth");
	igt_subtest("conserve-manual")
	{
		struct igt_perfctr_session s;

		create(&s, 16, 0);
		conserve(&s, 8, step_sample);
		igt_assert_eq_u64(s.manual, 8);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("each counter set adds up to its own truth, one set after the other");
	igt_subtest("conserve-sets")
	{
		uint64_t different[DRM_PERFCTR_SET_TERTIARY + 1] = { 0 };

		for (unsigned int round = 0; round < 2; round++) {
			for (unsigned int set = 0; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
				struct igt_perfctr_session s;

				igt_perfctr_session_init_set(&s, &dev, set);
				s.setup.slots = 256;
				s.setup.period_ns = MS;
				igt_perfctr_session_create(&s);
				igt_perfctr_describe(&dev);
				igt_assert_eq_u32(dev.info.active_set, set);
				igt_vsoc_truth_of_set(&dev, set, &before);
				igt_assert_eq(igt_perfctr_start(&s, 0), 0);
				for (unsigned int n = 0; n < 4; n++) {
					igt_vsoc_work(&dev, n);
					igt_assert_eq(igt_perfctr_sample(&s, n), 0);
					igt_perfctr_drain(&s);
				}
				igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
				igt_perfctr_drain(&s);
				igt_vsoc_truth_of_set(&dev, set, &after);
				igt_vsoc_assert_conserved(&s, &before, &after);
				different[set] =
					igt_perfctr_sum(&s, DRM_PERFCTR_BLOCK_MEMSYS, 0, 5);
				igt_assert(different[set]);
				igt_perfctr_session_fini(&s);
			}
			/* the same work, the same position, another meaning */
			igt_assert(different[0] != different[1]);
			igt_assert(different[1] != different[2]);
			igt_assert(different[0] != different[2]);
		}
	}
	igt_describe("the final sample alone holds everything");
	igt_subtest("conserve-final-only")
	{
		struct igt_perfctr_session s;

		create(&s, 1, 0);
		conserve(&s, 3, NULL);
		igt_assert_eq_u64(s.samples, 1);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("periodic samples add up to the truth while jobs run");
	igt_subtest("conserve-periodic")
	{
		struct igt_perfctr_session s;

		create(&s, 256, MS);
		conserve(&s, 8, step_two_periods);
		igt_assert_lt(1, s.periodic);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("periodic and manual samples of one session add up to the truth");
	igt_subtest("conserve-periodic-and-manual")
	{
		struct igt_perfctr_session s;

		create(&s, 256, 2 * MS);
		conserve(&s, 8, step_sample);
		igt_assert_eq_u64(s.manual, 8);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a consumer that reads nothing loses nothing: samples stretch");
	igt_subtest("conserve-stretched")
	{
		struct igt_perfctr_session s;

		create(&s, 4, MS);
		conserve(&s, 10, step_until_merged);
		igt_assert_eq_u64(s.samples, 4);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a consumer that sleeps and comes back loses nothing");
	igt_subtest("conserve-sleeping-consumer")
	{
		struct igt_perfctr_session s;

		create(&s, 4, MS);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int round = 0; round < 3; round++) {
			igt_vsoc_work(&dev, round);
			igt_perfctr_wait_merged(&s);
			igt_vsoc_work(&dev, 5 + round);
			igt_perfctr_drain(&s);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_vsoc_truth(&dev, &after);
		igt_perfctr_drain(&s);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_assert(s.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("work between STOP and START is in no sample");
	igt_subtest("conserve-start-stop-start")
	{
		struct igt_perfctr_session s;

		create(&s, 16, 0);
		igt_vsoc_work(&dev, 50); /* before the first START */
		conserve(&s, 2, step_sample);
		for (unsigned int i = 0; i < 3; i++) {
			struct igt_perfctr_session again = s;

			igt_vsoc_work(&dev, 60 + i);
			memset(s.sums, 0, sizeof(s.sums));
			for (unsigned int b = 0; b < s.setup.block_count; b++) {
				s.sums[b] = again.sums[b];
				memset(s.sums[b].value, 0, sizeof(s.sums[b].value));
			}
			s.final = 0;
			conserve(&s, 2, step_sample);
		}
		igt_perfctr_session_fini(&s);
	}
	igt_describe("two sessions with different masks and periods each see the whole truth");
	igt_subtest("conserve-two-sessions")
	{
		struct igt_perfctr_session a, b;

		create(&a, 64, MS);
		igt_perfctr_session_init(&b, &dev);
		/* every other counter of the second and third type only */
		b.requests[0] = b.requests[1];
		b.requests[1] = b.requests[2];
		b.requests[0].mask &= 0x5555555555555555;
		b.requests[1].mask &= 0x3333333333333333;
		b.setup.request_count = 2;
		igt_perfctr_session_create(&b);

		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&a, 0), 0);
		igt_assert_eq(igt_perfctr_start(&b, 0), 0);
		for (unsigned int n = 0; n < 5; n++) {
			igt_vsoc_work(&dev, n);
			igt_assert_eq(igt_perfctr_sample(&b, n), 0);
			igt_perfctr_drain(&a);
			igt_perfctr_drain(&b);
		}
		igt_assert_eq(igt_perfctr_stop(&a, 0), 0);
		igt_assert_eq(igt_perfctr_stop(&b, 0), 0);
		igt_vsoc_truth(&dev, &after);
		igt_perfctr_drain(&a);
		igt_perfctr_drain(&b);
		igt_vsoc_assert_conserved(&a, &before, &after);
		igt_vsoc_assert_conserved(&b, &before, &after);
		igt_perfctr_session_fini(&a);
		igt_perfctr_session_fini(&b);
	}
	igt_describe("sessions that come and go while jobs run change nothing for another");
	igt_subtest("conserve-joining-and-leaving")
	{
		struct igt_perfctr_session s, other;
		pthread_t thread;

		create(&s, 64, MS);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(pthread_create(&thread, NULL, jobs_thread, NULL), 0);
		for (unsigned int n = 0; n < 12; n++) {
			igt_perfctr_session_init(&other, &dev);
			other.setup.request_count = 1 + n % other.setup.request_count;
			other.setup.period_ns = n & 1 ? MS / 2 : 0;
			igt_perfctr_session_create(&other);
			igt_assert_eq(igt_perfctr_start(&other, 0), 0);
			igt_perfctr_drain(&s);
			if (n % 3)
				igt_assert_eq(igt_perfctr_stop(&other, 0), 0);
			igt_perfctr_session_fini(&other);
		}
		pthread_join(thread, NULL);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_vsoc_truth(&dev, &after);
		igt_perfctr_drain(&s);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("an idle device counts nothing, and says that it measured it");
	igt_subtest("idle-is-measured-zero")
	{
		struct igt_perfctr_session s;

		create(&s, 16, 0);
		conserve(&s, 0, NULL);
		for (unsigned int b = 0; b < s.setup.block_count; b++) {
			igt_assert_eq_u64(s.sums[b].valid, s.sums[b].mask);
			for (unsigned int i = 0; i < 64; i++)
				igt_assert_eq_u64(s.sums[b].value[i], 0);
		}
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a sample's values belong to its own job, not to the one before or after");
	igt_subtest("conserve-each-sample")
	{
		struct igt_perfctr_session s;

		create(&s, 16, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int n = 0; n < 5; n++) {
			for (unsigned int b = 0; b < s.setup.block_count; b++)
				memset(s.sums[b].value, 0, sizeof(s.sums[b].value));
			igt_vsoc_truth(&dev, &before);
			igt_vsoc_work(&dev, 3 * n);
			igt_vsoc_truth(&dev, &after);
			igt_assert_eq(igt_perfctr_sample(&s, n), 0);
			igt_assert_eq(igt_perfctr_drain(&s), 1);
			igt_vsoc_assert_conserved(&s, &before, &after);
		}
		igt_perfctr_session_fini(&s);
	}
}

/* --- rings --------------------------------------------------------------- */

static uint64_t checksum(const struct igt_perfctr_session *s)
{
	uint64_t hash = 14695981039346656037ull;

	for (uint64_t i = 0; i < s->setup.slots; i++) {
		const uint8_t *slot = (const void *)igt_perfctr_slot(s, i);

		for (uint32_t b = 0; b < s->setup.sample_size; b++)
			hash = (hash ^ slot[b]) * 1099511628211ull;
	}
	return hash;
}

static void full_ring(uint32_t slots, uint64_t period_ns)
{
	struct igt_perfctr_session s;
	struct drm_perfctr_status st;
	uint64_t sum;

	create(&s, slots, period_ns);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	if (period_ns) {
		/* until only the slot of STOP is free */
		igt_perfctr_wait_unread(&s, slots - 1);
	} else {
		for (uint32_t i = 0; i < slots - 1; i++)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	sum = checksum(&s);
	for (unsigned int i = 0; i < 3; i++) {
		igt_vsoc_work(&dev, i);
		igt_assert_eq(igt_perfctr_sample(&s, 0xbad), -ENOSPC);
	}
	if (period_ns)
		igt_perfctr_wait_merged(&s);
	/* nothing was overwritten, nothing was published */
	igt_assert_eq_u64(checksum(&s), sum);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots - 1);
	st = igt_perfctr_status(&s);
	igt_assert_eq_u64(st.ring_full, 3);
	igt_assert_eq_u64(st.insert_idx, slots - 1);
	igt_assert_eq_u64(st.extract_idx, 0);
	igt_assert_eq(!!st.pending_merged, !!period_ns);

	igt_assert_eq(igt_perfctr_stop(&s, 77), 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots);
	igt_assert_eq_u64(igt_perfctr_status(&s).pending_merged, 0);
	igt_assert_eq(igt_perfctr_drain(&s), (int)slots);
	igt_assert_eq_u64(s.last.user_data, 77);
	igt_assert_eq_u32(s.last.flags & ~DRM_PERFCTR_SAMPLE_STRETCHED, DRM_PERFCTR_SAMPLE_FINAL);
	igt_vsoc_assert_conserved(&s, &before, &after);
	igt_perfctr_session_fini(&s);
}

static void hostile_extract(uint64_t value)
{
	struct igt_perfctr_session s, other;
	struct drm_perfctr_status st;

	create(&s, 8, 0);
	create(&other, 8, 0);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&other, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	igt_perfctr_drain(&s);
	/* the kernel looks, and accepts 3 */
	igt_assert_eq_u64(igt_perfctr_status(&s).extract_idx, 3);

	__atomic_store_n(&s.control->extract_idx, value, __ATOMIC_RELEASE);
	/* nothing is free but what was: 7 of 8 slots for samples */
	for (unsigned int i = 0; i < 7; i++)
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENOSPC);
	st = igt_perfctr_status(&s);
	igt_assert_eq_u64(st.extract_idx, 3);
	igt_assert_lte_u64(1, st.bad_extract);

	/* the right value heals it */
	__atomic_store_n(&s.control->extract_idx, s.extract, __ATOMIC_RELEASE);
	igt_vsoc_work(&dev, 1);
	igt_assert_eq(igt_perfctr_drain(&s), 7);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&other, 0), 0);
	igt_vsoc_truth(&dev, &after);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&other);
	igt_vsoc_assert_conserved(&s, &before, &after);
	igt_vsoc_assert_conserved(&other, &before, &after);
	check_status(&other, false);
	igt_perfctr_session_fini(&s);
	igt_perfctr_session_fini(&other);
}

static volatile bool scribbling;

static void *scribble(void *arg)
{
	struct igt_perfctr_session *s = arg;
	uint64_t x = 88172645463325252ull;

	while (scribbling) {
		for (unsigned int i = 0; i < 512; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			((volatile uint64_t *)s->ring)[x % (s->setup.ring_bytes / 8)] = x;
			((volatile uint64_t *)s->control)[x % (sizeof(*s->control) / 8)] =
				x & 1 ? x : x & 31;
		}
		igt_sleep_ms(0);
	}
	return NULL;
}

/* the largest number of slots that the header promises, written to the last one */
static void ring_largest(void)
{
	const uint32_t slots = dev.info.max_slots;
	struct igt_perfctr_session s;
	unsigned int published = 0;

	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = slots;
	s.setup.period_ns = dev.info.min_period_ns;
	/* the smallest sample */
	s.setup.request_count = 1;
	igt_perfctr_session_create(&s);
	igt_assert_lte_u64(s.setup.ring_bytes, dev.info.max_ring_bytes);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	/* the samples of the period come as fast as they can; these fill up */
	while (igt_perfctr_unread(&s) < slots - 1) {
		int ret = igt_perfctr_sample(&s, published++);

		igt_assert(!ret || ret == -ENOSPC);
	}
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENOSPC);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots);
	igt_assert_eq(igt_perfctr_start(&s, 0), -ENOSPC);
	igt_assert_eq(igt_perfctr_drain(&s), (int)slots);
	igt_perfctr_session_fini(&s);
}

static void ring_tests(void)
{
	static const uint64_t hostile[] = {
		2, 0, 4000, 11, ~0ull, 1ull << 63, 0x100000003, 0x7fffffffffffffff,
	};
	static const char *const hostile_names[] = {
		"extract-one-back",	"extract-zero",	     "extract-beyond-insert",
		"extract-full-circle",	"extract-minus-one", "extract-sign-bit",
		"extract-low-32-right", "extract-largest",
	};

	igt_describe("a ring of one slot delivers the final sample and nothing else");
	igt_subtest("ring-one-slot") full_ring(1, 0);
	igt_describe("a ring of two slots delivers one sample and the final one");
	igt_subtest("ring-two-slots") full_ring(2, 0);
	igt_describe("a full ring refuses SAMPLE, keeps every byte, and still takes STOP's");
	igt_subtest("ring-full-manual") full_ring(16, 0);
	igt_describe("periods that find the ring full are merged into STOP's sample");
	igt_subtest("ring-full-periodic") full_ring(8, MS);
	igt_describe("a periodic session in one slot gives one stretched sample");
	igt_subtest("ring-one-slot-periodic") full_ring(1, MS);

	igt_describe(
		"every power of two up to max_slots works as number of slots, all of them usable");
	igt_subtest("ring-all-sizes")
	{
		for (uint32_t slots = 1; slots <= dev.info.max_slots; slots *= 2) {
			struct igt_perfctr_session s;

			igt_perfctr_session_init(&s, &dev);
			s.setup.slots = slots;
			s.setup.request_count = 1;
			igt_perfctr_session_create(&s);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			for (uint32_t i = 0; i < slots - 1 && i < 70; i++)
				igt_assert_eq(igt_perfctr_sample(&s, i), 0);
			igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
			igt_assert_eq(igt_perfctr_drain(&s), slots < 71 ? (int)slots : 71);
			igt_perfctr_session_fini(&s);
		}
	}
	igt_describe("a ring of max_slots can be filled to the last slot and read");
	igt_subtest("ring-largest") ring_largest();
	igt_describe("indices run through the ring many times");
	igt_subtest("ring-wraps")
	{
		struct igt_perfctr_session s;

		create(&s, 4, 0);
		conserve(&s, 23, step_sample);
		igt_assert_eq_u64(s.control->insert_idx, 24);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("control area and ring in one buffer at an offset work");
	igt_subtest("ring-offsets")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		s.setup.control_offset = 4096 + 64;
		igt_perfctr_session_create(&s);
		conserve(&s, 2, step_sample);
		igt_perfctr_session_fini(&s);
	}

	for (unsigned int i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		igt_describe("an impossible extract_idx is ignored, counted, and costs its owner "
			     "only");
		igt_subtest(hostile_names[i]) hostile_extract(hostile[i]);
	}

	igt_describe("scribbling over slots and control area harms nobody else");
	igt_subtest("ring-scribbled")
	{
		struct igt_perfctr_session s, other;
		pthread_t thread;

		create(&s, 8, MS);
		create(&other, 256, MS);
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&other, 0), 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		scribbling = true;
		igt_assert_eq(pthread_create(&thread, NULL, scribble, &s), 0);
		/* until the scribbler had its turn, however busy the machine */
		for (unsigned int n = 0; n < 10 || (n < 500 && !igt_perfctr_status(&s).bad_extract);
		     n++) {
			int ret = igt_perfctr_sample(&s, n);

			igt_assert(!ret || ret == -ENOSPC);
			igt_vsoc_work(&dev, n);
			igt_perfctr_drain(&other);
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		scribbling = false;
		pthread_join(thread, NULL);
		igt_assert_eq(igt_perfctr_stop(&other, 0), 0);
		igt_vsoc_truth(&dev, &after);
		igt_perfctr_drain(&other);
		igt_vsoc_assert_conserved(&other, &before, &after);
		check_status(&other, false);
		igt_assert_lte_u64(1, igt_perfctr_status(&s).bad_extract);
		igt_perfctr_session_fini(&s);
		igt_perfctr_session_fini(&other);
	}
	igt_describe("what user space writes to insert_idx is neither read nor kept");
	igt_subtest("insert-index-written")
	{
		struct igt_perfctr_session s;

		create(&s, 8, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		s.control->insert_idx = 12345;
		s.control->state = ~0u;
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq_u64(s.control->insert_idx, 1);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq_u64(s.control->insert_idx, 2);
		igt_assert_eq_u32(s.control->state, 0);
		igt_perfctr_drain(&s);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("the user's reserved words stay as they are, the kernel's stay zero");
	igt_subtest("control-reserved")
	{
		struct igt_perfctr_session s;

		create(&s, 8, 0);
		for (unsigned int i = 0; i < 7; i++)
			s.control->user_reserved[i] = i + 1;
		conserve(&s, 2, step_sample);
		for (unsigned int i = 0; i < 7; i++)
			igt_assert_eq_u64(s.control->user_reserved[i], i + 1);
		for (unsigned int i = 0; i < 4; i++)
			igt_assert_eq_u64(s.control->kernel_reserved[i], 0);
		igt_assert_eq_u32(s.control->pad, 0);
		igt_perfctr_session_fini(&s);
	}
}

/* --- tags, times, states ------------------------------------------------- */

/* ns that the device's sampling thread has run, and how often it was put on a CPU */
static uint64_t sampler_ns(uint64_t *times)
{
	unsigned long long ns = 0, turns = 0;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	igt_assert(proc);
	while (!ns && (entry = readdir(proc))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = '\0';
		fclose(f);
		if (strncmp(name, "perfctr/vsoc", strlen("perfctr/vsoc")))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", entry->d_name);
		f = fopen(path, "r");
		igt_require_f(f, "the kernel has no schedstat\n");
		if (f && fscanf(f, "%llu %*u %llu", &ns, &turns) != 2)
			ns = 0;
		if (f)
			fclose(f);
	}
	closedir(proc);
	igt_assert_f(ns, "no thread perfctr/vsoc*\n");
	*times = turns;
	return ns;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* a thread of user space with the same period: what the machine can do just now */
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
		/* periods that passed meanwhile are gone */
		due += (now - due) / p->period_ns * p->period_ns;
	}
	return NULL;
}

/*
 * Rate, jitter and cost of a periodic session that nobody hinders. All periods are accounted for
 * on any machine. That most of them have a sample of their own, soon after they end, is measured
 * by the peer: false if the machine was too busy with other things, or the kernel is broken.
 */
static bool periodic_rate(uint64_t period_ns, unsigned int periods)
{
	static uint64_t late[MAX_PERIODS];
	static struct peer peer;
	uint64_t before_ns, after_ns, span_ns, due, turns;
	struct igt_perfctr_session s;
	double rate, share;
	unsigned int n = 0;
	pthread_t thread;

	create(&s, MAX_PERIODS, period_ns);
	igt_assert_lt(periods, MAX_PERIODS);
	peer = (struct peer){ .period_ns = period_ns };
	before_ns = sampler_ns(&turns);
	igt_assert_eq(pthread_create(&thread, NULL, peer_thread, &peer), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_sleep_ms(periods * period_ns / MS);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	__atomic_store_n(&peer.stop, true, __ATOMIC_RELAXED);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	after_ns = sampler_ns(&turns);

	/* periodic samples but the first, whose span is a part of a period */
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
	igt_perfctr_session_fini(&s);
	/* each period is published or merged, none is made up: the ends may cut one off */
	igt_assert_lte_u64(periods, s.periodic + s.merged + 1);
	igt_assert_lte_u64(s.periodic + s.merged, periods + 1);
	return s.periodic >= peer.wakes / 2 &&
	       late[n / 2] <= period_ns / 2 + peer.late[peer.wakes / 2] && share < 60;
}

/*
 * A periodic session whose ring is full, with other samples that find no slot either, and
 * whose STOP takes long. The grid of periods begins up to one period after START.
 */
static void merged_arithmetic(bool others, bool slow_stop)
{
	struct drm_vsoc_command c[20] = { 0 };
	const uint64_t period_ns = 10 * MS;
	struct igt_perfctr_session s;
	uint64_t merged = 0, periods;

	create(&s, 4, period_ns);
	for (unsigned int i = 0; i < 20; i++) {
		c[i].type = DRM_VSOC_CMD_SAMPLE;
		c[i].sample.handle = s.handle;
	}
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_sleep_ms(60);
	if (others)
		merged = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 20)).sample_errors;
	if (slow_stop) {
		/* late, but in time: each of STOP's requests takes four periods */
		igt_vsoc_debugfs(&dev, "fail_delay_ms", "40");
		igt_vsoc_debugfs(&dev, "fail_late_ack", "1000");
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_vsoc_debugfs(&dev, "fail_late_ack", "0");
	igt_vsoc_debugfs(&dev, "fail_delay_ms", "150");
	igt_vsoc_settle(&dev);
	igt_perfctr_drain(&s);
	periods = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%d periods, of them %d merged, %d other samples merged; time for %d\n",
		 (int)(s.periodic + s.merged), (int)s.merged, (int)s.merged_others, (int)periods);
	igt_assert_eq_u64(s.merged_others, merged);
	igt_assert_lte_u64(periods, s.periodic + s.merged + 1);
	igt_assert_lte_u64(s.periodic + s.merged, periods + 1);
	igt_perfctr_session_fini(&s);
}

static void header_tests(void)
{
	igt_describe("SAMPLE and STOP tag their samples, START tags all others");
	igt_subtest("user-data")
	{
		struct igt_perfctr_session s;
		uint64_t i;

		create(&s, 256, 2 * MS);
		igt_assert_eq(igt_perfctr_start(&s, 0x5eed), 0);
		for (unsigned int n = 0; n < 4; n++) {
			igt_sleep_ms(5);
			igt_assert_eq(igt_perfctr_sample(&s, 0xa0 + n), 0);
		}
		igt_perfctr_wait_unread(&s, 5);
		igt_assert_eq(igt_perfctr_stop(&s, ~0ull), 0);
		for (i = 0, s.extract = 0; i < igt_perfctr_unread(&s); i++) {
			const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

			if (h->flags & DRM_PERFCTR_SAMPLE_MANUAL)
				igt_assert_eq_u64(h->user_data, 0xa0 + s.manual++);
			else if (h->flags & DRM_PERFCTR_SAMPLE_FINAL)
				igt_assert_eq_u64(h->user_data, ~0ull);
			else
				igt_assert_eq_u64(h->user_data, 0x5eed);
		}
		igt_assert_eq_u64(s.manual, 4);
		s.manual = 0;
		igt_perfctr_drain(&s);
		igt_assert_lt(0, s.periodic);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a sample has exactly one reason");
	igt_subtest("flags-reason")
	{
		const uint32_t reasons = DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_PERIODIC |
					 DRM_PERFCTR_SAMPLE_AUTOMATIC | DRM_PERFCTR_SAMPLE_FINAL |
					 DRM_PERFCTR_SAMPLE_IN_STREAM;
		struct igt_perfctr_session s;

		create(&s, 64, 2 * MS);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_sleep_ms(10);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++)
			igt_assert_eq(__builtin_popcount(igt_perfctr_slot(&s, i)->flags & reasons),
				      1);
		igt_perfctr_drain(&s);
		igt_assert_eq_u64(s.final, 1);
		igt_assert_eq_u64(s.manual, 1);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("spans lie on CLOCK_MONOTONIC_RAW between START and STOP, without holes");
	igt_subtest("time-spans")
	{
		struct igt_perfctr_session s;
		uint64_t t0, t1, t2, t3;

		create(&s, 64, 0);
		t0 = igt_raw_ns();
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		t1 = igt_raw_ns();
		igt_sleep_ms(5);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		t2 = igt_raw_ns();
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		t3 = igt_raw_ns();
		igt_assert_eq(igt_perfctr_drain(&s), 3);
		igt_assert_lte_u64(t0, s.first.start_ns);
		igt_assert_lte_u64(s.first.start_ns, t1);
		igt_assert_lte_u64(5 * MS, s.first.end_ns - s.first.start_ns + (t1 - t0));
		igt_assert_lte_u64(s.last.start_ns, t2);
		igt_assert_lte_u64(s.last.end_ns, t3);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("sequence numbers go on over STOP and START");
	igt_subtest("seq-over-restart")
	{
		struct igt_perfctr_session s;

		create(&s, 16, 0);
		for (unsigned int i = 0; i < 4; i++) {
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
			igt_assert_eq(igt_perfctr_drain(&s), 1);
			igt_assert_eq_u64(s.last.seq, i);
		}
		igt_perfctr_session_fini(&s);
	}
	igt_describe("periods that passed are samples or merged ones, none is forgotten");
	igt_subtest("merged-arithmetic")
	{
		merged_arithmetic(false, false);
		merged_arithmetic(true, false);
		merged_arithmetic(false, true);
	}
	igt_describe("the control area tells whether the session runs");
	igt_subtest("ring-state")
	{
		struct igt_perfctr_session s;

		create(&s, 4, 0);
		igt_assert_eq_u32(s.control->state, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_ACTIVE);
		igt_assert_eq_u32(igt_perfctr_status(&s).flags, DRM_PERFCTR_STATUS_ACTIVE);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq_u32(s.control->state, 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
		s.handle = 0;
		igt_perfctr_session_fini(&s);
	}
	igt_describe("TEARDOWN of an active session ends it");
	igt_subtest("teardown-active")
	{
		struct igt_perfctr_session s;
		uint64_t insert;

		create(&s, 64, MS);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
		insert = s.control->insert_idx;
		igt_sleep_ms(10);
		igt_assert_eq_u64(s.control->insert_idx, insert);
		s.handle = 0;
		igt_perfctr_session_fini(&s);
	}
	igt_describe("blocks count the cycles of their clock for the time of the span");
	igt_subtest("clock-cycles")
	{
		struct igt_perfctr_session s;

		create(&s, 4, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_vsoc_work(&dev, 0);
		igt_sleep_ms(20);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		for (unsigned int b = 0; b < s.setup.block_count; b++) {
			uint64_t ns = s.last.end_ns - s.last.start_ns;

			if (s.sums[b].type != DRM_PERFCTR_BLOCK_FW)
				continue;
			/* the top clock runs at 1 GHz */
			igt_assert_lte_u64(ns * 95 / 100, s.sums[b].cycles);
			igt_assert_lte_u64(s.sums[b].cycles, ns * 105 / 100);
			igt_assert(s.sums[b].states & DRM_PERFCTR_STATE_ON);
		}
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a session that nobody reads is collected before a counter can wrap, and no "
		     "more often than that");
	igt_subtest("collected-in-time")
	{
		uint64_t samples, turns_before, turns, span_ns;
		struct igt_perfctr_session s;

		create(&s, 2, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_sleep_ms(100);
		span_ns = igt_raw_ns();
		samples = igt_vsoc_firmware(&dev, "samples_written");
		sampler_ns(&turns_before);
		igt_sleep_ms(3000);
		samples = igt_vsoc_firmware(&dev, "samples_written") - samples;
		sampler_ns(&turns);
		span_ns = igt_raw_ns() - span_ns;
		turns -= turns_before;
		igt_info("%d samples of firmware, %d turns of the sampler in %.1f s\n",
			 (int)samples, (int)turns, span_ns * 1e-9);
		/* 3.2e9 counts per s: 1.34 s until a wrap, three quarters of it allowed */
		igt_assert_lte_u64(3, samples);
		igt_assert_lte_u64(samples, 4 * span_ns / (1000 * MS));
		igt_assert_lte_u64(turns, 10 * samples);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a 1 kHz session publishes at its rate");
	igt_subtest("periodic-rate")
	{
		unsigned int attempts = 0;

		while (!periodic_rate(MS, 1000))
			igt_assert_lt(attempts++, 5);
	}
}

/* --- wake-up ------------------------------------------------------------- */

static uint64_t signals(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void wake_tests(void)
{
	igt_describe("each sample at or above the watermark signals the eventfd once");
	igt_subtest("wake-watermark")
	{
		struct igt_perfctr_session s;
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		igt_perfctr_session_init(&s, &dev);
		s.setup.eventfd = fd;
		s.setup.watermark = 4;
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int i = 1; i <= 6; i++) {
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
			igt_assert_eq_u64(signals(fd), i >= 4);
		}
		igt_perfctr_drain(&s);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq_u64(signals(fd), 0);
		igt_assert_eq_u64(igt_perfctr_status(&s).wakeups, 3);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq_u64(signals(fd), 1);
		igt_perfctr_session_fini(&s);
		/* the ring died */
		igt_assert_eq_u64(signals(fd), 1);
		close(fd);
	}
	igt_describe("watermark 0 means every sample");
	igt_subtest("wake-zero")
	{
		struct igt_perfctr_session s;
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		igt_perfctr_session_init(&s, &dev);
		s.setup.eventfd = fd;
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		for (unsigned int i = 0; i < 3; i++)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq_u64(signals(fd), 3);
		igt_perfctr_session_fini(&s);
		close(fd);
	}
	igt_describe("a poll on the eventfd returns when a period's sample is there");
	igt_subtest("wake-poll")
	{
		struct igt_perfctr_session s;
		struct pollfd p = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

		igt_perfctr_session_init(&s, &dev);
		s.setup.eventfd = p.fd;
		s.setup.watermark = 3;
		s.setup.period_ns = 5 * MS;
		igt_perfctr_session_create(&s);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(poll(&p, 1, 5000), 1);
		igt_assert_lte_u64(3, igt_perfctr_unread(&s));
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_session_fini(&s);
		close(p.fd);
	}
	igt_describe("an eventfd that nobody reads and that is closed does no harm");
	igt_subtest("wake-closed-eventfd")
	{
		struct igt_perfctr_session s;
		int fd = eventfd(0, EFD_CLOEXEC);

		igt_perfctr_session_init(&s, &dev);
		s.setup.eventfd = fd;
		igt_perfctr_session_create(&s);
		close(fd);
		conserve(&s, 3, step_sample);
		igt_perfctr_session_fini(&s);
	}
}

/* --- samples in jobs ----------------------------------------------------- */

static void in_stream_tests(void)
{
	igt_describe("samples between the commands of a job attribute counts to each command");
	igt_subtest("in-stream-attribution")
	{
		struct drm_vsoc_command c[6] = { 0 };
		struct igt_perfctr_session s;
		struct drm_vsoc_wait wait;
		uint16_t counter;

		create(&s, 16, 0);
		for (unsigned int i = 0; i < 3; i++) {
			c[2 * i].type = DRM_VSOC_CMD_DRAW;
			c[2 * i].draw.vertices = 300 * (i + 1);
			c[2 * i].draw.primitives = 100 * (i + 1);
			c[2 * i + 1].type = DRM_VSOC_CMD_SAMPLE;
			c[2 * i + 1].sample.handle = s.handle;
			c[2 * i + 1].sample.user_data = 70 + i;
		}
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		wait = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 6));
		igt_assert_eq(wait.status, 0);
		igt_assert_eq(wait.sample_errors, 0);
		igt_assert_eq_u64(igt_perfctr_unread(&s), 3);
		counter = igt_vsoc_counter(&before, DRM_PERFCTR_BLOCK_TILER, "VERTICES");
		for (unsigned int i = 0; i < 3; i++) {
			const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

			igt_assert(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM);
			igt_assert_eq_u64(h->user_data, 70 + i);
			igt_assert_eq_u64(igt_perfctr_value(h, DRM_PERFCTR_BLOCK_TILER, 0, counter),
					  300 * (i + 1));
		}
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_vsoc_truth(&dev, &after);
		igt_perfctr_drain(&s);
		igt_vsoc_assert_conserved(&s, &before, &after);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a sample in a job that finds the ring full is merged, and WAIT tells it");
	igt_subtest("in-stream-full")
	{
		struct drm_vsoc_command c[3] = { 0 };
		struct igt_perfctr_session s;
		struct drm_vsoc_wait wait;

		create(&s, 2, 0);
		for (unsigned int i = 0; i < 3; i++) {
			c[i].type = DRM_VSOC_CMD_SAMPLE;
			c[i].sample.handle = s.handle;
		}
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		wait = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 3));
		igt_assert_eq(wait.sample_errors, 2);
		igt_assert_eq(wait.sample_errno, -ENOSPC);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 2);
		igt_assert_eq_u64(s.last.merged_others, 2);
		igt_assert_eq_u64(s.last.merged_periods, 0);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a job cannot name a session that is not its file's");
	igt_subtest("in-stream-bad-handle")
	{
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_SAMPLE };
		struct igt_perfctr_device other;
		struct igt_perfctr_session s;

		create(&s, 4, 0);
		c.sample.handle = s.handle;
		igt_perfctr_reopen(&other, &dev);
		igt_assert_eq(igt_vsoc_submit_to(other.fd, 0, &c, 1, NULL, NULL), -ENOENT);
		igt_perfctr_close(&other);
		igt_perfctr_session_fini(&s);
		igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), -ENOENT);
	}
	igt_describe("a session that was torn down before its job runs is told by WAIT");
	igt_subtest("in-stream-torn-down")
	{
		struct drm_vsoc_command c[2] = { 0 };
		struct igt_perfctr_session s;
		struct drm_vsoc_wait wait;
		uint64_t job;

		create(&s, 4, 0);
		c[0].type = DRM_VSOC_CMD_WAIT;
		c[0].wait.duration_ns = 30 * MS;
		c[1].type = DRM_VSOC_CMD_SAMPLE;
		c[1].sample.handle = s.handle;
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		job = igt_vsoc_submit(&dev, c, 2);
		igt_perfctr_session_fini(&s);
		wait = igt_vsoc_wait(&dev, job);
		igt_assert_eq(wait.status, 0);
		igt_assert_eq(wait.sample_errors, 1);
		igt_assert_eq(wait.sample_errno, -ENOENT);
	}
}

igt_main
{
	igt_fixture igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
	conservation_tests();
	ring_tests();
	header_tests();
	wake_tests();
	in_stream_tests();
	igt_fixture igt_perfctr_close(&dev);
}
