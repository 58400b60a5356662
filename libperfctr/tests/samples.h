/* SPDX-License-Identifier: MIT */
/* Creates well-formed samples, which tests can then modify. */
#pragma once

#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/perfctr_tegra410.h>
#include <drm/vsoc_drm.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_ROOM = 1 << 16 };

struct sample_writer {
	/* aligned as a slot is */
	_Alignas(8) unsigned char bytes[SAMPLE_ROOM];
	size_t size;
	size_t block; /* offset of the last block */
};

/* blocks of DRM_PERFCTR_FORMAT_RUNNING_TIMES, without and with _PMU_IDENTITY */
struct sample_mux_block {
	struct drm_perfctr_block_header block;
	struct drm_perfctr_running_times times;
};

struct sample_pmu_block {
	struct drm_perfctr_block_header block;
	struct drm_perfctr_running_times times;
	struct drm_perfctr_pmu_identity pmu;
};

struct drm_perfctr_sample_header *sample_begin(struct sample_writer *w);
struct drm_perfctr_sample_header *sample_header(struct sample_writer *w);

/* Add a block with the counters of mask; values has one entry for each. */
struct drm_perfctr_block_header *sample_add_block(struct sample_writer *w, uint16_t type,
						  uint16_t index, uint64_t mask,
						  const uint64_t *values);

/* The same for multiplexed counters; @running: ns of each counter, NULL: all the time. */
struct sample_mux_block *sample_add_mux(struct sample_writer *w, uint16_t type, uint16_t index,
					uint64_t mask, const uint64_t *values,
					const uint64_t *running, uint64_t enabled);
/* The same for a block of a perf PMU. */
struct sample_pmu_block *sample_add_pmu(struct sample_writer *w, uint16_t type, uint16_t index,
					uint64_t mask, const uint64_t *values,
					const uint64_t *running, uint64_t enabled);

/* Give the last block a span of its own. */
void sample_add_span(struct sample_writer *w, uint64_t start_ns, uint64_t end_ns);

/* Extend a header by @bytes of 0xa5, as a newer kernel would. */
void sample_grow_block_header(struct sample_writer *w, size_t bytes);
void sample_grow_header(struct sample_writer *w, size_t bytes);
