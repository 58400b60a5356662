// SPDX-License-Identifier: GPL-2.0
/*
 * The ring: indices, full, empty, wrapped, hostile user space.
 */
#include "kernel.h"
#include "test.h"
#include "format/perfctr_ring.h"

#define STRIDE	64
#define SLOTS	8

static u8 memory[SLOTS * STRIDE] __aligned(8);
static struct drm_perfctr_ring_control control;
static struct perfctr_ring ring;

static void begin(u32 slots, u32 index)
{
	const struct drm_perfctr_layout layout = {
		.slots = slots,
		.slot_stride = STRIDE,
		.sample_size = STRIDE - 8,
		.ring_offset = 4096,
	};

	memset(memory, 0xa5, sizeof(memory));
	memset(&control, 0xa5, sizeof(control));
	drm_perfctr_ring_init(&ring, memory, &control, &layout);
	/* as after @index samples that were published and read */
	ring.insert = index;
	ring.extract = index;
	control.insert_idx = index;
	control.extract_idx = index;
}

TEST(a_new_ring_is_empty_and_described)
{
	const struct drm_perfctr_ring_control expected = {
		.extract_idx = DRM_PERFCTR_RING_FIRST,
		.insert_idx = DRM_PERFCTR_RING_FIRST,
		.slots = SLOTS,
		.slot_stride = STRIDE,
		.ring_offset = 4096,
		.sample_size = STRIDE - 8,
	};

	begin(SLOTS, DRM_PERFCTR_RING_FIRST);
	check(!memcmp(&control, &expected, sizeof(expected)));
	check_eq(drm_perfctr_ring_free(&ring), SLOTS);
	check_eq(drm_perfctr_ring_unread(&ring), 0);
	check_eq(ring.published, 0);
	drm_perfctr_ring_publish(&ring);
	check_eq(ring.published, 1);
	check_eq(ring.insert, DRM_PERFCTR_RING_FIRST + 1);
}

TEST(one_slot_ring_is_usable)
{
	begin(1, 0);
	check_eq(drm_perfctr_ring_free(&ring), 1);
	check(drm_perfctr_ring_slot(&ring) == memory);
	check_eq(drm_perfctr_ring_publish(&ring), 1);
	check_eq(drm_perfctr_ring_free(&ring), 0);
	check_eq(control.insert_idx, 1);
	control.extract_idx = 1;
	check_eq(drm_perfctr_ring_free(&ring), 1);
	check(drm_perfctr_ring_slot(&ring) == memory);
	check_eq(ring.bad_extract, 0);
}

TEST(two_slot_ring_uses_both)
{
	begin(2, 0);
	check(drm_perfctr_ring_slot(&ring) == memory);
	drm_perfctr_ring_publish(&ring);
	check_eq(drm_perfctr_ring_free(&ring), 1);
	check(drm_perfctr_ring_slot(&ring) == memory + STRIDE);
	check_eq(drm_perfctr_ring_publish(&ring), 2);
	check_eq(drm_perfctr_ring_free(&ring), 0);
}

/* also across 2^32 */
TEST(free_slots_are_exact_at_every_position)
{
	static const u32 starts[] = { 0, 1, 7, DRM_PERFCTR_RING_FIRST, U32_MAX - 3, U32_MAX };
	unsigned int s, unread;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		for (unread = 0; unread <= SLOTS; unread++) {
			unsigned int i;

			begin(SLOTS, starts[s]);
			for (i = 0; i < unread; i++) {
				check(drm_perfctr_ring_slot(&ring) ==
				      memory + ((starts[s] + i) % SLOTS) * STRIDE);
				check_eq(drm_perfctr_ring_publish(&ring), i + 1);
			}
			check_eq(drm_perfctr_ring_free(&ring), SLOTS - unread);
			check_eq(control.insert_idx, starts[s] + unread);
			check_eq(drm_perfctr_ring_unread(&ring), unread);
			for (i = 1; i <= unread; i++) {
				control.extract_idx = starts[s] + i;
				check_eq(drm_perfctr_ring_free(&ring), SLOTS - unread + i);
			}
			check_eq(ring.bad_extract, 0);
		}
	}
}

static u64 wide[2];

static void begin_wide(u32 slots)
{
	struct drm_perfctr_layout layout = { .slots = slots, .slot_stride = STRIDE };

	wide[0] = 17;
	wide[1] = 18;
	drm_perfctr_ring_init_wide(&ring, memory, wide, &layout);
	check_eq(wide[0], 0);
	check_eq(wide[1], 0);
}

/* also where the kernel's indices of 32 bits wrap */
TEST(wide_indices_begin_at_zero_and_never_wrap)
{
	static const u64 starts[] = { 0, 5, U32_MAX - 3, U32_MAX, 1ull << 40 };
	unsigned int s, i;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		begin_wide(SLOTS);
		ring.published = starts[s];
		wide[0] = starts[s];
		ring.insert = starts[s];
		ring.extract = starts[s];
		for (i = 0; i < SLOTS; i++) {
			check(drm_perfctr_ring_slot(&ring) ==
			      memory + (starts[s] + i) % SLOTS * STRIDE);
			check_eq(drm_perfctr_ring_publish(&ring), i + 1);
			check_eq(wide[1], starts[s] + i + 1);
		}
		check_eq(drm_perfctr_ring_free(&ring), 0);
		for (i = 1; i <= SLOTS; i++) {
			wide[0] = starts[s] + i;
			check_eq(drm_perfctr_ring_free(&ring), i);
		}
		check_eq(ring.bad_extract, 0);
		/* of the kernel's index nothing is read */
		wide[1] = 99;
		check_eq(drm_perfctr_ring_publish(&ring), 1);
		check_eq(wide[1], starts[s] + SLOTS + 1);
		drm_perfctr_ring_set_state(&ring, DRM_PERFCTR_RING_DEAD);
	}
}

TEST(impossible_wide_extract_is_ignored_and_counted)
{
	/* 10 published, 7 read: 7..10 are possible */
	static const u64 hostile[] = { 6, 0, 11, 10 + SLOTS, U64_MAX, 1ull << 63, 1ull << 32,
				       (1ull << 32) + 8, U64_MAX - 9 };
	unsigned int i;

	begin_wide(SLOTS);
	for (i = 0; i < 10; i++) {
		drm_perfctr_ring_publish(&ring);
		wide[0] = min(i + 1, 7u);
		drm_perfctr_ring_free(&ring);
	}
	check_eq(drm_perfctr_ring_free(&ring), SLOTS - 3);
	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		wide[0] = hostile[i];
		check_eq(drm_perfctr_ring_free(&ring), SLOTS - 3);
		check_eq(ring.bad_extract, i + 1);
	}
	wide[0] = 9;
	check_eq(drm_perfctr_ring_free(&ring), SLOTS - 1);
	check_eq(ring.bad_extract, ARRAY_SIZE(hostile));
}

TEST(impossible_extract_is_ignored_and_counted)
{
	/* 10 published, 7 read: 7..10 are possible */
	static const u32 hostile[] = { 6, 0, 11, 12, 10 + SLOTS, U32_MAX, 1u << 31 };
	unsigned int i;

	begin(SLOTS, 7);
	for (i = 0; i < 3; i++)
		drm_perfctr_ring_publish(&ring);
	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		control.extract_idx = hostile[i];
		check_eq(drm_perfctr_ring_free(&ring), SLOTS - 3);
		check_eq(ring.bad_extract, i + 1);
		check_eq(ring.extract, 7);
		check_eq(drm_perfctr_ring_unread(&ring), 3);
	}
	control.extract_idx = 10;
	check_eq(drm_perfctr_ring_free(&ring), SLOTS);
	/* an index below the accepted one would free slots twice */
	control.extract_idx = 8;
	check_eq(drm_perfctr_ring_free(&ring), SLOTS);
	check_eq(ring.bad_extract, ARRAY_SIZE(hostile) + 1);
}

TEST(overwritten_insert_index_is_not_read)
{
	begin(SLOTS, 0);
	drm_perfctr_ring_publish(&ring);
	control.insert_idx = 0xdeadbeef;
	control.state = 0xffffffff;
	check_eq(drm_perfctr_ring_free(&ring), SLOTS - 1);
	check(drm_perfctr_ring_slot(&ring) == memory + STRIDE);
	check_eq(drm_perfctr_ring_publish(&ring), 2);
	check_eq(control.insert_idx, 2);
}

/* the core publishes with two free slots, STOP with one */
TEST(stop_always_finds_its_slot)
{
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(100000);
	u32 slots;

	for (slots = 1; slots <= SLOTS; slots *= 2) {
		begin(slots, 0);
		for (round = 0; round < rounds; round++) {
			if (drm_perfctr_ring_free(&ring) >= 2)
				drm_perfctr_ring_publish(&ring);
			if (!random_below(&random, 3) && control.extract_idx != ring.insert)
				control.extract_idx++;
			check(drm_perfctr_ring_free(&ring) >= 1);
		}
		drm_perfctr_ring_publish(&ring);
		check(ring.insert - ring.extract <= slots);
	}
}

TEST(state_reaches_user_space)
{
	begin(SLOTS, 0);
	drm_perfctr_ring_set_state(&ring, DRM_PERFCTR_RING_ACTIVE);
	check_eq(control.state, DRM_PERFCTR_RING_ACTIVE);
	check_eq(ring.state, DRM_PERFCTR_RING_ACTIVE);
}
