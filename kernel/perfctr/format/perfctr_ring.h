/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ring of samples that userspace maps. Free of kernel interfaces, so that it can be tested in
 * user space.
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
	/** @control: shared indices; NULL: they are @wide. */
	struct drm_perfctr_ring_control *control;
	/** @wide: userspace's and the kernel's index of 64 bits, from 0; may be write-combined. */
	u64 *wide;
	/** @slots: power of two. */
	u32 slots;
	/** @stride: bytes between slots. */
	u32 stride;
	/** @insert: next sample to publish. */
	u32 insert;
	/** @extract: last accepted value of userspace's index. */
	u32 extract;
	/** @state: enum drm_perfctr_ring_state. */
	u32 state;
	/** @published: number of samples. */
	u64 published;
	/** @bad_extract: number of invalid values ignored. */
	u64 bad_extract;
};

void drm_perfctr_ring_init(struct perfctr_ring *ring, void *memory,
			   struct drm_perfctr_ring_control *control,
			   const struct drm_perfctr_layout *layout);
void drm_perfctr_ring_init_wide(struct perfctr_ring *ring, void *memory, u64 *wide,
				const struct drm_perfctr_layout *layout);
u32 drm_perfctr_ring_free(struct perfctr_ring *ring);
void *drm_perfctr_ring_slot(struct perfctr_ring *ring);
u32 drm_perfctr_ring_publish(struct perfctr_ring *ring);
void drm_perfctr_ring_set_state(struct perfctr_ring *ring, u32 state);
u32 drm_perfctr_ring_unread(const struct perfctr_ring *ring);

#endif /* _PERFCTR_RING_H_ */
