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

/* an empty ring in memory and control area, 8-byte aligned; @slots is a power of two */
void drm_perfctr_ring_init(struct perfctr_ring *ring, void *memory,
			   struct drm_perfctr_ring_control *control, u32 slots, u32 stride)
{
	memset(ring, 0, sizeof(*ring));
	ring->memory = memory;
	ring->control = control;
	ring->slots = slots;
	ring->stride = stride;
	memset(control, 0, sizeof(*control));
}

/* number of slots that may be written, based on userspace's extract_idx */
u32 drm_perfctr_ring_free(struct perfctr_ring *ring)
{
	/*
	 * Pairs with userspace's store-release of extract_idx: its reads of the slot precede the
	 * kernel's next writes to it. Read only once, as userspace can change it.
	 */
	u64 extract = smp_load_acquire(&ring->control->extract_idx);

	if (extract - ring->extract <= ring->insert - ring->extract)
		ring->extract = extract;
	else
		ring->bad_extract++;

	return ring->slots - (u32)(ring->insert - ring->extract);
}

/* the slot of the next sample, which userspace maps read-only; one must be free */
void *drm_perfctr_ring_slot(struct perfctr_ring *ring)
{
	return ring->memory + (size_t)(ring->insert & (ring->slots - 1)) * ring->stride;
}

/* makes the sample in drm_perfctr_ring_slot() visible; returns the number of unread ones */
u32 drm_perfctr_ring_publish(struct perfctr_ring *ring)
{
	ring->insert++;
	/*
	 * Pairs with userspace's load-acquire of insert_idx: a reader that sees the new index sees
	 * the complete sample.
	 */
	smp_store_release(&ring->control->insert_idx, ring->insert);
	return (u32)(ring->insert - ring->extract);
}

/* @state: enum drm_perfctr_ring_state */
void drm_perfctr_ring_set_state(struct perfctr_ring *ring, u32 state)
{
	/* a reader that sees DEAD must also see the last insert_idx */
	smp_store_release(&ring->control->state, state);
}

/* totals of the published samples */
void drm_perfctr_ring_set_totals(struct perfctr_ring *ring, u64 merged_periods, u64 lost_ns)
{
	WRITE_ONCE(ring->control->merged_periods, merged_periods);
	WRITE_ONCE(ring->control->lost_ns, lost_ns);
}
