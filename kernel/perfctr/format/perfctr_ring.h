/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The ring of samples that userspace maps. Free of kernel interfaces, so that it can be tested in
 * user space.
 */
#ifndef _PERFCTR_RING_H_
#define _PERFCTR_RING_H_

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>
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
void drm_perfctr_ring_set_state(struct perfctr_ring *ring, u32 state);
u32 drm_perfctr_ring_unread(const struct perfctr_ring *ring);

/* of wide indices, which most rings have not: called by the functions below */
u32 drm_perfctr_ring_load_wide(const struct perfctr_ring *ring);
void drm_perfctr_ring_store_wide(const struct perfctr_ring *ring);

/* the following are inlined: a call takes as long as what it does */

/* userspace's extract index */
static inline u32 perfctr_load_extract(const struct perfctr_ring *ring)
{
	if (!ring->control)
		return drm_perfctr_ring_load_wide(ring);
	/*
	 * Pairs with userspace's store-release of extract_idx: its reads of the slot precede the
	 * kernel's next writes to it. Read only once, as userspace can change it.
	 */
	return smp_load_acquire(&ring->control->extract_idx);
}

/* number of slots that may be written, based on userspace's index */
static inline u32 drm_perfctr_ring_free(struct perfctr_ring *ring)
{
	u32 extract = perfctr_load_extract(ring);

	if (extract - ring->extract <= ring->insert - ring->extract)
		WRITE_ONCE(ring->extract, extract);
	else
		ring->bad_extract++;

	return ring->slots - (ring->insert - ring->extract);
}

/* the slot of the next sample, which userspace maps read-only; one must be free */
static inline void *drm_perfctr_ring_slot(const struct perfctr_ring *ring)
{
	return ring->memory + (size_t)(ring->insert & (ring->slots - 1)) * ring->stride;
}

/* makes the sample in drm_perfctr_ring_slot() visible; returns the number of unread ones */
static inline u32 drm_perfctr_ring_publish(struct perfctr_ring *ring)
{
	ring->published++;
	WRITE_ONCE(ring->insert, ring->insert + 1);
	if (!ring->control) {
		drm_perfctr_ring_store_wide(ring);
		return ring->insert - ring->extract;
	}
	/*
	 * Pairs with userspace's load-acquire of insert_idx: a reader that sees the new index sees
	 * the complete sample.
	 */
	smp_store_release(&ring->control->insert_idx, ring->insert);
	return ring->insert - ring->extract;
}

#endif /* _PERFCTR_RING_H_ */
