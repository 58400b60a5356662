/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ring of samples that userspace maps. Free of kernel interfaces: kernel/tests/native builds
 * it, too.
 */
#ifndef _PERFCTR_RING_H_
#define _PERFCTR_RING_H_

#include <linux/types.h>
#include <drm/perfctr_drm.h>

/**
 * struct perfctr_ring - the kernel's view of a ring
 *
 * These indices are authoritative; those in @control are for userspace.
 */
struct perfctr_ring {
	/** @memory: slot 0; never read, as another process may read it at any time. */
	void *memory;
	/** @control: shared indices. */
	struct drm_perfctr_ring_control *control;
	/** @slots: power of two. */
	u32 slots;
	/** @stride: bytes between slots. */
	u32 stride;
	/** @insert: next sample to publish. */
	u64 insert;
	/** @extract: last accepted value of userspace's index. */
	u64 extract;
	/** @bad_extract: number of invalid values ignored. */
	u64 bad_extract;
};

void drm_perfctr_ring_init(struct perfctr_ring *ring, void *memory,
			   struct drm_perfctr_ring_control *control, u32 slots, u32 stride);
u32 drm_perfctr_ring_free(struct perfctr_ring *ring);
void *drm_perfctr_ring_slot(struct perfctr_ring *ring);
u32 drm_perfctr_ring_publish(struct perfctr_ring *ring);
void drm_perfctr_ring_set_state(struct perfctr_ring *ring, u32 state);
void drm_perfctr_ring_set_totals(struct perfctr_ring *ring, u64 merged_periods, u64 lost_ns);

#endif /* _PERFCTR_RING_H_ */
