// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler's work for a session that is due, with the core's own code: room, header, block,
 * publish.
 */
#include "kernel.h"
#include <drm/perfctr_mali.h>

#include "format/perfctr_layout.h"
#include "format/perfctr_ring.h"
#include "produce.h"

struct bench_session {
	struct perfctr_ring ring;
	struct perfctr_view view;
	u64 base[COUNTERS] __aligned(64); /* as allocations of that size are */
	u64 base_seq;
	u64 end_ns;
	struct drm_perfctr_ring_control control __aligned(64);
};

static u64 totals[COUNTERS] __aligned(64);
static u64 seq, now_ns;
static struct perfctr_sticky valid;
static struct drm_perfctr_block block = {
	.desc = {
		.type = DRM_PERFCTR_MALI_BLOCK_SHADER, .counters = COUNTERS,
		.clock = DRM_PERFCTR_MALI_CLOCK_SHADER,
	},
	.totals = totals,
	.valid = &valid,
};

static struct bench_session *sessions;
static unsigned int session_count;
static void *memory;

size_t sample_bytes(void)
{
	return sizeof(struct drm_perfctr_sample_header) + sizeof(struct drm_perfctr_block_header) +
	       COUNTERS * sizeof(u64);
}

size_t slot_stride(void)
{
	return ALIGN(sample_bytes(), DRM_PERFCTR_SLOT_ALIGN);
}

int sessions_create(unsigned int count)
{
	size_t ring_bytes = SLOTS / count * slot_stride();
	unsigned int i;

	sessions = aligned_alloc(64, ALIGN(count * sizeof(*sessions), 64));
	memory = aligned_alloc(4096, ALIGN(SLOTS * slot_stride(), 4096));
	if (!sessions || !memory)
		return 0;
	memset(sessions, 0, count * sizeof(*sessions));
	memset(memory, 0, SLOTS * slot_stride());
	session_count = count;
	for (i = 0; i < count; i++) {
		const struct drm_perfctr_layout layout = {
			.slots = SLOTS / count,
			.slot_stride = slot_stride(),
		};
		struct bench_session *s = &sessions[i];

		drm_perfctr_ring_init(&s->ring, (char *)memory + i * ring_bytes, &s->control,
				      &layout);
		s->view.header.enable_mask = U64_MAX;
		s->view.totals = totals;
		s->view.base = s->base;
		s->view.block = &block;
		drm_perfctr_view_complete(&s->view);
	}
	return 1;
}

void sessions_destroy(void)
{
	free(sessions);
	free(memory);
}

void hardware_counts(void)
{
	unsigned int i;

	for (i = 0; i < COUNTERS; i++)
		totals[i] += i;
	seq++;
	now_ns += 1000000;
	drm_perfctr_sticky_set(&valid, seq, U64_MAX);
	drm_perfctr_sticky_set(&block.states, seq, DRM_PERFCTR_STATE_ON);
}

static void publish(struct bench_session *s)
{
	struct drm_perfctr_sample_header header = {
		.size = sample_bytes(),
		.header_size = sizeof(header),
		.block_count = 1,
		.seq = s->ring.published,
		.start_ns = s->end_ns,
		.end_ns = now_ns,
		.flags = DRM_PERFCTR_SAMPLE_PERIODIC,
	};
	struct perfctr_block_status span = {
		.states = drm_perfctr_sticky_since(&block.states, s->base_seq),
		.valid = drm_perfctr_sticky_since(&valid, s->base_seq),
	};
	void *slot;

	if (drm_perfctr_ring_free(&s->ring) < 2)
		return;
	slot = drm_perfctr_ring_slot(&s->ring);
	drm_perfctr_layout_block((char *)slot + sizeof(header), &s->view, &span);
	drm_perfctr_layout_header(slot, &header);
	s->base_seq = seq;
	s->end_ns = now_ns;
	drm_perfctr_ring_publish(&s->ring);
}

void sessions_publish(void)
{
	unsigned int i;

	for (i = 0; i < session_count; i++) {
		struct bench_session *s = &sessions[i];

		publish(s);
		WRITE_ONCE(s->control.extract_idx, s->control.insert_idx);
	}
}

unsigned char *ring_memory(void)
{
	return memory;
}

uint32_t *ring_insert_idx(void)
{
	return &sessions[0].control.insert_idx;
}

uint32_t *ring_extract_idx(void)
{
	return &sessions[0].control.extract_idx;
}
