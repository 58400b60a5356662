// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ring of samples that userspace maps.
 */
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "perfctr_ring.h"

/**
 * DOC: slots and indices
 *
 * Both indices are free-running; slot = index & (slots - 1).
 * With four slots, S = unread sample, . = free::
 *
 *     extract 5, insert 7        extract 5, insert 9       extract 9, insert 9
 *     slot   0  1  2  3          slot   0  1  2  3         slot   0  1  2  3
 *            .  S  S  .                 S  S  S  S                .  .  .  .
 *     2 unread, 2 free           4 unread, full            empty
 *
 * A session reserves one slot for the sample of STOP: while it is active, a sample is published
 * only if two slots are free, so that one is free at STOP. The slot being written is not visible
 * until insert moves past it.
 *
 * Userspace owns extract and can write any value. A value between the last accepted one and insert
 * is accepted. Others are ignored: the slots stay occupied, which harms only the owner of the ring.
 */

/* an empty ring in memory and control area, 8-byte aligned; the slots are a power of two */
void drm_perfctr_ring_init(struct perfctr_ring *ring, void *memory,
			   struct drm_perfctr_ring_control *control,
			   const struct drm_perfctr_layout *layout)
{
	*ring = (struct perfctr_ring) {
		.memory = memory,
		.control = control,
		.slots = layout->slots,
		.stride = layout->slot_stride,
		.insert = DRM_PERFCTR_RING_FIRST,
		.extract = DRM_PERFCTR_RING_FIRST,
	};
	*control = (struct drm_perfctr_ring_control) {
		.extract_idx = DRM_PERFCTR_RING_FIRST,
		.insert_idx = DRM_PERFCTR_RING_FIRST,
		.slots = layout->slots,
		.slot_stride = layout->slot_stride,
		.ring_offset = layout->ring_offset,
		.sample_size = layout->sample_size,
	};
}

/*
 * The same with indices of 64 bits, extract before insert, which begin at 0. Memory and indices may
 * be write-combined, and may be mapped writable by userspace: of these only extract is ever read.
 */
void drm_perfctr_ring_init_wide(struct perfctr_ring *ring, void *memory, u64 *wide,
				const struct drm_perfctr_layout *layout)
{
	*ring = (struct perfctr_ring) {
		.memory = memory,
		.wide = wide,
		.slots = layout->slots,
		.stride = layout->slot_stride,
	};
	WRITE_ONCE(wide[0], 0);
	WRITE_ONCE(wide[1], 0);
}

/* userspace's extract index of 64 bits */
u32 drm_perfctr_ring_load_wide(const struct perfctr_ring *ring)
{
	u64 unread = ring->published - READ_ONCE(ring->wide[0]);

	/* an acquire does not order what is write-combined */
	mb();
	/* what is impossible is so, too, as the kernel counts: before the accepted one */
	return unread <= ring->slots ? ring->insert - (u32)unread : ring->extract - 1;
}

void drm_perfctr_ring_store_wide(const struct perfctr_ring *ring)
{
	/* a release does not order what is write-combined: the sample is first */
	wmb();
	WRITE_ONCE(ring->wide[1], ring->published);
	/* the sample is visible before the signal */
	wmb();
}

/* @state: enum drm_perfctr_ring_state */
void drm_perfctr_ring_set_state(struct perfctr_ring *ring, u32 state)
{
	WRITE_ONCE(ring->state, state);
	if (!ring->control)
		return;
	/* a reader that sees DEAD must also see the last insert_idx */
	smp_store_release(&ring->control->state, state);
}

/*
 * Number of unread samples, not of wide indices; takes no lock, and userspace may change its index
 * at any time.
 */
u32 drm_perfctr_ring_unread(const struct perfctr_ring *ring)
{
	u32 accepted = READ_ONCE(ring->extract);
	u32 insert = READ_ONCE(ring->insert);
	u32 unread = insert - READ_ONCE(ring->control->extract_idx);

	return unread <= insert - accepted ? unread : insert - accepted;
}
