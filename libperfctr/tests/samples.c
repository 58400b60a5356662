// SPDX-License-Identifier: MIT
#include "samples.h"

#include <stdlib.h>
#include <string.h>

enum { FUTURE_BYTE = 0xa5 };

struct drm_perfctr_sample_header *sample_header(struct sample_writer *w)
{
	return (struct drm_perfctr_sample_header *)w->bytes;
}

static void *append(struct sample_writer *w, size_t size)
{
	void *at = w->bytes + w->size;

	if (size > sizeof(w->bytes) - w->size)
		abort();
	memset(at, 0, size);
	w->size += size;
	sample_header(w)->size = (uint32_t)w->size;
	return at;
}

struct drm_perfctr_sample_header *sample_begin(struct sample_writer *w)
{
	struct drm_perfctr_sample_header *h;

	w->size = 0;
	h = append(w, sizeof(*h));
	h->size = sizeof(*h);
	h->header_size = sizeof(*h);
	h->start_ns = 1000;
	h->end_ns = 2000;
	h->flags = DRM_PERFCTR_SAMPLE_MANUAL;
	return h;
}

struct drm_perfctr_block_header *sample_add_block(struct sample_writer *w, uint16_t type,
						  uint16_t index, uint64_t mask,
						  const uint64_t *values)
{
	size_t bytes = (size_t)__builtin_popcountll(mask) * sizeof(*values);
	struct drm_perfctr_block_header *b;

	w->block = w->size;
	b = append(w, sizeof(*b) + bytes);
	b->size = (uint32_t)(sizeof(*b) + bytes);
	b->type = type;
	b->index = index;
	b->clock = DRM_PERFCTR_MALI_CLOCK_TOP;
	b->states = DRM_PERFCTR_STATE_ON;
	b->clock_cycles = 500;
	b->enable_mask = mask;
	b->valid_mask = mask;
	b->header_size = sizeof(*b);
	b->product = DRM_VSOC_PRODUCT_CSF;
	memcpy(b + 1, values, bytes);
	sample_header(w)->block_count++;
	return b;
}

/* Add a block with running times; its header has @header_bytes bytes. */
static struct drm_perfctr_block_header *add_timed(struct sample_writer *w, uint16_t type,
						  uint16_t index, uint64_t mask,
						  const uint64_t *values, const uint64_t *running,
						  uint64_t enabled, size_t header_bytes)
{
	size_t count = (size_t)__builtin_popcountll(mask), bytes = count * sizeof(*values), n;
	struct sample_mux_block *b;
	uint64_t *times;

	w->block = w->size;
	b = append(w, header_bytes + 2 * bytes);
	b->block.size = (uint32_t)(header_bytes + 2 * bytes);
	b->block.type = type;
	b->block.index = index;
	b->block.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	b->block.enable_mask = mask;
	b->block.valid_mask = mask;
	b->block.header_size = (uint16_t)header_bytes;
	b->times.time_enabled = enabled;
	b->times.time_running = enabled;
	memcpy((unsigned char *)b + header_bytes, values, bytes);
	times = (uint64_t *)((unsigned char *)b + header_bytes + bytes);
	for (n = 0; n < count; n++) {
		times[n] = running ? running[n] : enabled;
		if (times[n] < b->times.time_running)
			b->times.time_running = times[n];
	}
	if (b->times.time_running < enabled)
		b->block.states |= DRM_PERFCTR_STATE_MULTIPLEXED;
	sample_header(w)->block_count++;
	return &b->block;
}

struct sample_mux_block *sample_add_mux(struct sample_writer *w, uint16_t type, uint16_t index,
					uint64_t mask, const uint64_t *values,
					const uint64_t *running, uint64_t enabled)
{
	struct drm_perfctr_block_header *b = add_timed(w, type, index, mask, values, running,
						       enabled, sizeof(struct sample_mux_block));

	b->clock = (uint8_t)index;
	b->product = DRM_PERFCTR_NV50_PRODUCT;
	return (struct sample_mux_block *)b;
}

struct sample_pmu_block *sample_add_pmu(struct sample_writer *w, uint16_t type, uint16_t index,
					uint64_t mask, const uint64_t *values,
					const uint64_t *running, uint64_t enabled)
{
	struct sample_pmu_block *b =
		(void *)add_timed(w, type, index, mask, values, running, enabled, sizeof(*b));

	b->block.format |= DRM_PERFCTR_FORMAT_PMU_IDENTITY;
	b->block.clock = DRM_PERFCTR_CLOCK_NONE;
	b->block.product = type == DRM_PERFCTR_BLOCK_GENERIC_PMU ? DRM_PERFCTR_PRODUCT_PERF_PMU :
								   DRM_PERFCTR_TEGRA410_PRODUCT;
	b->pmu.cpu = -1;
	strcpy(b->pmu.pmu_name, "software");
	return b;
}

static void insert(struct sample_writer *w, size_t at, size_t bytes)
{
	if (bytes > sizeof(w->bytes) - w->size)
		abort();
	memmove(w->bytes + at + bytes, w->bytes + at, w->size - at);
	memset(w->bytes + at, FUTURE_BYTE, bytes);
	w->size += bytes;
	sample_header(w)->size = (uint32_t)w->size;
}

void sample_grow_block_header(struct sample_writer *w, size_t bytes)
{
	struct drm_perfctr_block_header *b = (void *)(w->bytes + w->block);

	insert(w, w->block + b->header_size, bytes);
	b->size += (uint32_t)bytes;
	b->header_size = (uint16_t)(b->header_size + bytes);
}

void sample_add_span(struct sample_writer *w, uint64_t start_ns, uint64_t end_ns)
{
	const struct drm_perfctr_block_span span = { start_ns, end_ns };
	struct drm_perfctr_block_header *b = (void *)(w->bytes + w->block);

	sample_grow_block_header(w, sizeof(span));
	b->format |= DRM_PERFCTR_FORMAT_SPAN;
	memcpy((unsigned char *)b + b->header_size - sizeof(span), &span, sizeof(span));
}

void sample_grow_header(struct sample_writer *w, size_t bytes)
{
	struct drm_perfctr_sample_header *h = sample_header(w);

	insert(w, h->header_size, bytes);
	h->header_size = (uint16_t)(h->header_size + bytes);
	w->block += bytes;
}
