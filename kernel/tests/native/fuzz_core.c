// SPDX-License-Identifier: GPL-2.0
/*
 * Ring, sticky status, totals and samples of the core under libFuzzer. The reader writes anything
 * into control area and slots.
 */
#include <stdlib.h>

#include "fuzz_input.h"
#include "format/perfctr_layout.h"
#include "format/perfctr_ring.h"

#define VIEWS		4
#define SECTIONS	2
#define MAX_STEPS	300

static struct drm_perfctr_source source;
static struct drm_perfctr_block blocks[VIEWS];
static u64 totals[VIEWS][SECTIONS * 64];
static struct perfctr_view views[VIEWS];
static u64 bases[VIEWS][64];
/* of the last one, which is multiplexed */
static u64 base_running[64], running[SECTIONS * 64];
/* published value of each stored counter, and its value at START */
static u64 sums[VIEWS][64], starts[VIEWS][64];

static unsigned int stored(const struct perfctr_view *view)
{
	return hweight64(view->header.enable_mask);
}

static u64 total_of(const struct perfctr_view *view, unsigned int nth)
{
	u64 mask = view->header.enable_mask;

	while (nth--)
		mask &= mask - 1;
	return view->totals[__ffs64(mask)];
}

static u32 make_views(struct input *in)
{
	u32 bytes = sizeof(struct drm_perfctr_sample_header);
	struct perfctr_view *last = &views[VIEWS - 1];
	unsigned int v, i;

	memset(totals, 0, sizeof(totals));
	memset(sums, 0, sizeof(sums));
	memset(running, 0, sizeof(running));
	memset(base_running, 0, sizeof(base_running));
	for (v = 0; v < VIEWS; v++) {
		struct perfctr_view *view = &views[v];

		memset(view, 0, sizeof(*view));
		blocks[v].desc.type = 1 + v;
		blocks[v].desc.index = input_bytes(in, 2);
		blocks[v].desc.counters = SECTIONS * 64;
		blocks[v].enabled = 0;
		blocks[v].source = &source;
		view->header.enable_mask = input_u64(in) ?: 1;
		view->header.section = input_below(in, SECTIONS);
		view->base = bases[v];
		view->block = &blocks[v];
		view->totals = totals[v] + view->header.section * 64;
	}
	last->header.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	last->running = running + last->header.section * 64;
	last->base_running = base_running;

	for (v = 0; v < VIEWS; v++) {
		drm_perfctr_counters_rebase(views[v].base, views[v].totals,
					    views[v].header.enable_mask);
		for (i = 0; i < stored(&views[v]); i++)
			starts[v][i] = total_of(&views[v], i);
		bytes += drm_perfctr_view_complete(&views[v]);
	}
	return bytes;
}

/* the bytes follow the header */
static void check_sample(const u8 *slot, u32 bytes, u64 seq)
{
	const struct drm_perfctr_sample_header *header = (const void *)slot;
	const u8 *at = slot + header->header_size;
	unsigned int v, i;

	require(header->size == bytes && header->seq == seq);
	require(header->block_count == VIEWS);
	for (v = 0; v < VIEWS; v++) {
		const struct drm_perfctr_block_header *b = (const void *)at;
		const u64 *values = (const u64 *)(at + b->header_size);

		require(b->enable_mask == views[v].header.enable_mask);
		require(b->format == views[v].header.format);
		require(!(b->valid_mask & ~b->enable_mask));
		require(b->size == b->header_size + stored(&views[v]) * sizeof(u64) *
				   (views[v].running ? 2 : 1));
		for (i = 0; i < stored(&views[v]); i++)
			sums[v][i] += values[i];
		at += b->size;
	}
	require(at == slot + bytes);
}

static void publish(struct perfctr_ring *ring, struct input *in, u32 bytes, u8 *memory)
{
	struct drm_perfctr_sample_header header = {
		.size = bytes, .header_size = sizeof(header), .block_count = VIEWS,
		.seq = ring->published, .user_data = input_u64(in),
	};
	u8 *slot = drm_perfctr_ring_slot(ring);
	u8 *at = slot + sizeof(header);
	u64 before = ring->published;
	unsigned int v;
	u32 unread;

	require(slot >= memory && slot + ring->stride <= memory + ring->slots * ring->stride);
	for (v = 0; v < VIEWS; v++) {
		struct perfctr_block_status span = {
			.states = input_u8(in), .valid = ~0ull, .clock_cycles = input_u8(in),
			.capture_ns = (s64)input_u64(in),
		};

		at = drm_perfctr_layout_block(at, &views[v], &span);
	}
	require(at == slot + bytes);
	drm_perfctr_layout_header(slot, &header);
	unread = drm_perfctr_ring_publish(ring);
	require(ring->published == before + 1 && unread <= ring->slots);
	require(ring->control->insert_idx == ring->insert);
	check_sample(slot, bytes, before);
}

static void sticky(struct input *in)
{
	static u64 history[32];
	struct perfctr_sticky s = { 0 };
	unsigned int seq, base, i, n = 1 + input_below(in, ARRAY_SIZE(history));

	for (seq = 0; seq < n; seq++) {
		history[seq] = input_u8(in) & 1 ? input_u64(in) : seq ? history[seq - 1] : 0;
		drm_perfctr_sticky_set(&s, seq + 1, history[seq]);
	}
	for (base = 0; base < n; base++) {
		u64 want = 0;

		for (i = base; i < n; i++)
			want |= history[i];
		require(drm_perfctr_sticky_since(&s, base) == want);
	}
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	struct drm_perfctr_ring_control *control;
	u32 slots = 1u << input_below(&in, 7);
	struct drm_perfctr_layout layout = { .slots = slots };
	struct perfctr_ring ring;
	unsigned int steps = 0, v, i;
	u32 bytes, stride;
	u8 *memory;

	bytes = make_views(&in);
	stride = ALIGN(bytes, DRM_PERFCTR_SLOT_ALIGN);
	layout.slot_stride = stride;
	/* separate allocations, so that the sanitizer sees the ends */
	memory = aligned_alloc(64, slots * stride);
	control = aligned_alloc(64, sizeof(*control));
	require(memory && control);
	memset(memory, 0, slots * stride);
	drm_perfctr_ring_init(&ring, memory, control, &layout);

	while (input_left(&in) && steps++ < MAX_STEPS) {
		u32 accepted = ring.extract;
		u32 room;

		switch (input_u8(&in) % 8) {
		case 0:
			control->extract_idx = input_u64(&in);
			break;
		case 1:
			control->extract_idx = ring.insert - input_below(&in, 3);
			break;
		case 2:
			((u8 *)control)[input_below(&in, sizeof(*control))] = input_u8(&in);
			break;
		case 3:
			memory[input_below(&in, slots * stride)] = input_u8(&in);
			break;
		case 4:
			sticky(&in);
			break;
		case 5:
			v = input_below(&in, VIEWS);
			totals[v][input_below(&in, SECTIONS * 64)] += input_u64(&in);
			break;
		case 6:
			i = input_below(&in, SECTIONS * 64);
			blocks[VIEWS - 1].enabled += input_bytes(&in, 4);
			running[i] = blocks[VIEWS - 1].enabled - input_below(&in, 2);
			break;
		default:
			room = drm_perfctr_ring_free(&ring);
			require(room <= slots);
			require(ring.extract - accepted <= ring.insert - accepted);
			require(ring.insert - ring.extract == slots - room);
			require(drm_perfctr_ring_unread(&ring) <= slots - room);
			if (room)
				publish(&ring, &in, bytes, memory);
		}
	}
	/* conservation: published values add up to the change of the totals */
	control->extract_idx = ring.insert;
	if (drm_perfctr_ring_free(&ring))
		publish(&ring, &in, bytes, memory);
	for (v = 0; v < VIEWS && ring.published; v++)
		for (i = 0; i < stored(&views[v]); i++)
			require(sums[v][i] == total_of(&views[v], i) - starts[v][i]);
	free(control);
	free(memory);
	return 0;
}
