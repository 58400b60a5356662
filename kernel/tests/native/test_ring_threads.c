// SPDX-License-Identifier: GPL-2.0
/*
 * Producer and consumer of a ring in two threads, under ThreadSanitizer: the two indices must order
 * all accesses to a slot. Without one of their acquires or releases it reports a data race.
 */
#include <pthread.h>
#include <sched.h>

#include "kernel.h"
#include "format/perfctr_ring.h"
#include "test.h"

#define WORDS	8
#define STRIDE	(WORDS * 8)
#define SLOTS	64

static u64 memory[SLOTS * WORDS] __aligned(64);
static struct drm_perfctr_ring_control control __aligned(64);
static unsigned long samples;
static u32 slots;

/* as libperfctr: load-acquire, plain reads, store-release */
static void *consumer(void *arg)
{
	u32 extract = DRM_PERFCTR_RING_FIRST;
	u64 *bad = arg, sum = 0;

	for (;;) {
		u32 insert = __atomic_load_n(&control.insert_idx, __ATOMIC_ACQUIRE);

		if (insert == extract) {
			u32 state = __atomic_load_n(&control.state, __ATOMIC_ACQUIRE);

			/* DEAD is written after the last insert_idx */
			if (state & DRM_PERFCTR_RING_DEAD &&
			    __atomic_load_n(&control.insert_idx, __ATOMIC_ACQUIRE) == extract)
				break;
			sched_yield();
			continue;
		}
		if (insert - extract > slots)
			++*bad;
		for (; extract != insert; extract++) {
			const u64 *slot = memory + (extract & (slots - 1)) * WORDS;
			unsigned int i;

			/* words 0..6: number of the sample; 7: the number of merged ones */
			for (i = 0; i < WORDS - 1; i++)
				if (slot[i] != extract)
					++*bad;
			sum += 1 + slot[WORDS - 1];
			__atomic_store_n(&control.extract_idx, extract + 1, __ATOMIC_RELEASE);
		}
	}
	if (sum != samples)
		++*bad;
	return NULL;
}

/* the sampler: two free slots to publish, else merge; STOP takes the last one */
static void produce(struct perfctr_ring *ring)
{
	u64 merged = 0;
	unsigned long n;

	for (n = 0; n < samples; n++) {
		bool final = n == samples - 1;
		u64 *slot;
		unsigned int i;

		if (drm_perfctr_ring_free(ring) < (final ? 1 : 2)) {
			merged++;
			if (!(n % 64))
				sched_yield();
			continue;
		}
		slot = drm_perfctr_ring_slot(ring);
		for (i = 0; i < WORDS - 1; i++)
			slot[i] = ring->insert;
		slot[WORDS - 1] = merged;
		merged = 0;
		drm_perfctr_ring_publish(ring);
	}
	drm_perfctr_ring_set_state(ring, DRM_PERFCTR_RING_DEAD);
}

static void run(u32 ring_slots)
{
	const struct drm_perfctr_layout layout = { .slots = ring_slots, .slot_stride = STRIDE };
	struct perfctr_ring ring;
	pthread_t thread;
	u64 bad = 0;

	slots = ring_slots;
	samples = test_rounds(30000);
	drm_perfctr_ring_init(&ring, memory, &control, &layout);
	check(!pthread_create(&thread, NULL, consumer, &bad));
	produce(&ring);
	pthread_join(thread, NULL);
	check_eq(bad, 0);
	check_eq(ring.bad_extract, 0);
	check_eq(drm_perfctr_ring_free(&ring), slots);
}

TEST(one_slot_is_ordered)
{
	run(1);
}

TEST(two_slots_are_ordered)
{
	run(2);
}

TEST(many_slots_are_ordered)
{
	run(SLOTS);
}
