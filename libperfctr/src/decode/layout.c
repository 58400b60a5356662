// SPDX-License-Identifier: MIT
/* The decoder's offsets are those of the kernel's header: checked at build time. */
#include <stddef.h>

#include <drm/perfctr_drm.h>
#include <perfctr/decode.h>

#include "layout.h"

#define CHECK(constant, type, member) \
	_Static_assert((size_t)(constant) == offsetof(struct type, member), #type "." #member)

_Static_assert(LAYOUT_SECTION_COUNTERS == DRM_PERFCTR_SECTION_COUNTERS, "section");

CHECK(LAYOUT_SAMPLE_SIZE, drm_perfctr_sample_header, size);
CHECK(LAYOUT_SAMPLE_HEADER_SIZE, drm_perfctr_sample_header, header_size);
CHECK(LAYOUT_SAMPLE_BLOCK_COUNT, drm_perfctr_sample_header, block_count);
CHECK(LAYOUT_SAMPLE_SEQ, drm_perfctr_sample_header, seq);
CHECK(LAYOUT_SAMPLE_START_NS, drm_perfctr_sample_header, start_ns);
CHECK(LAYOUT_SAMPLE_END_NS, drm_perfctr_sample_header, end_ns);
CHECK(LAYOUT_SAMPLE_USER_DATA, drm_perfctr_sample_header, user_data);
CHECK(LAYOUT_SAMPLE_FLAGS, drm_perfctr_sample_header, flags);
CHECK(LAYOUT_SAMPLE_MERGED_PERIODS, drm_perfctr_sample_header, merged_periods);
CHECK(LAYOUT_SAMPLE_LOST_NS, drm_perfctr_sample_header, lost_ns);
CHECK(LAYOUT_SAMPLE_MERGED_OTHERS, drm_perfctr_sample_header, merged_others);
CHECK(LAYOUT_SAMPLE_GPU_EPOCH, drm_perfctr_sample_header, gpu_epoch);
CHECK(LAYOUT_SAMPLE_GPU_TIMESTAMP, drm_perfctr_sample_header, gpu_timestamp);
_Static_assert(LAYOUT_SAMPLE_MIN == sizeof(struct drm_perfctr_sample_header), "sample");

CHECK(LAYOUT_BLOCK_SIZE, drm_perfctr_block_header, size);
CHECK(LAYOUT_BLOCK_TYPE, drm_perfctr_block_header, type);
CHECK(LAYOUT_BLOCK_INDEX, drm_perfctr_block_header, index);
CHECK(LAYOUT_BLOCK_SECTION, drm_perfctr_block_header, section);
CHECK(LAYOUT_BLOCK_FORMAT, drm_perfctr_block_header, format);
CHECK(LAYOUT_BLOCK_SET, drm_perfctr_block_header, set);
CHECK(LAYOUT_BLOCK_CLOCK, drm_perfctr_block_header, clock);
CHECK(LAYOUT_BLOCK_STATES, drm_perfctr_block_header, states);
CHECK(LAYOUT_BLOCK_CLOCK_CYCLES, drm_perfctr_block_header, clock_cycles);
CHECK(LAYOUT_BLOCK_ENABLE_MASK, drm_perfctr_block_header, enable_mask);
CHECK(LAYOUT_BLOCK_VALID_MASK, drm_perfctr_block_header, valid_mask);
CHECK(LAYOUT_BLOCK_CAPTURE_NS, drm_perfctr_block_header, capture_ns);
CHECK(LAYOUT_BLOCK_HEADER_SIZE, drm_perfctr_block_header, header_size);
CHECK(LAYOUT_BLOCK_PRODUCT, drm_perfctr_block_header, product);
_Static_assert(LAYOUT_BLOCK_MIN == sizeof(struct drm_perfctr_block_header), "block");

_Static_assert((unsigned int)LAYOUT_FORMAT_RUNNING_TIMES == DRM_PERFCTR_FORMAT_RUNNING_TIMES,
	       "running times");
CHECK(LAYOUT_TIMES_ENABLED, drm_perfctr_running_times, time_enabled);
CHECK(LAYOUT_TIMES_RUNNING, drm_perfctr_running_times, time_running);
_Static_assert(LAYOUT_TIMES_BYTES == sizeof(struct drm_perfctr_running_times), "running times");

_Static_assert((unsigned int)LAYOUT_FORMAT_PMU_IDENTITY == DRM_PERFCTR_FORMAT_PMU_IDENTITY,
	       "pmu identity");
CHECK(LAYOUT_PMU_CONFIG, drm_perfctr_pmu_identity, config);
CHECK(LAYOUT_PMU_CONFIG1, drm_perfctr_pmu_identity, config1);
CHECK(LAYOUT_PMU_CONFIG2, drm_perfctr_pmu_identity, config2);
CHECK(LAYOUT_PMU_TYPE, drm_perfctr_pmu_identity, pmu_type);
CHECK(LAYOUT_PMU_CPU, drm_perfctr_pmu_identity, cpu);
CHECK(LAYOUT_PMU_NAME, drm_perfctr_pmu_identity, pmu_name);
_Static_assert(LAYOUT_PMU_BYTES == sizeof(struct drm_perfctr_pmu_identity), "pmu identity");
_Static_assert(sizeof(((struct perfctr_block_pmu *)0)->name) == DRM_PERFCTR_PMU_NAME_BYTES,
	       "pmu name");

_Static_assert((unsigned int)LAYOUT_FORMAT_SPAN == DRM_PERFCTR_FORMAT_SPAN, "span");
CHECK(LAYOUT_SPAN_START_NS, drm_perfctr_block_span, start_ns);
CHECK(LAYOUT_SPAN_END_NS, drm_perfctr_block_span, end_ns);
_Static_assert(LAYOUT_SPAN_BYTES == sizeof(struct drm_perfctr_block_span), "span");
