// SPDX-License-Identifier: GPL-2.0
/*
 * Mali CSF firmware counters: requests, acknowledgments and samples in shared memory.
 */
#include <linux/bitfield.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>

#include "csf_internal.h"

/**
 * DOC: requests and acknowledgments
 *
 * Only the words in memory show whether a request is done. The interrupt just wakes the waiter; it
 * is shared with the driver's other requests, so req and ack may still differ when it occurs::
 *
 *     req  ___/-----------------      ack  ________________/----
 *                 ^ interrupt for something else   ^ done
 *
 * Late acknowledgment: the request stays outstanding. The collection fails with the samples it
 * has; the next one waits for the old request before it makes its own, so that it cannot mistake
 * the old sample for the new one::
 *
 *     req  ___/--------------------------\_________
 *     ack  __________________/---------------\_____
 *             |--- timeout --| late, read    | the new one
 *
 * If the second timeout expires as well, firmware is stopped and started (recovery). If that
 * fails too, the next attempt is made after CSF_RETRY_NS.
 *
 * Duplicate acknowledgment: the bit flips back, and req and ack differ without a request.
 * Firmware sees a request, so it is treated as outstanding. Acknowledgment without a sample: the
 * request is repeated once.
 *
 * A lost interrupt costs CSF_POLL_MS, a lost doorbell one timeout: waiting for an old request
 * rings the doorbell again.
 */

/**
 * DOC: locking
 *
 * The core's sampler lock serialises all source operations, including their waits. It protects
 * everything except the fields below.
 *
 * csf_perfctr_config.req_lock (innermost, taken with interrupts disabled) protects the words req
 * and ack_irq_mask, which the driver's other requests change as well, and the fields of struct
 * csf_perfctr that csf_perfctr_irq() uses: live, requesting, seen_insert, event_pending, overflow.
 * Code that holds it does not wait, and calls neither the driver nor the core.
 *
 * csf_perfctr_irq() may run in hard or threaded interrupt context, at any time, concurrently with
 * itself and with every operation.
 */

/* attempts of a request that is acknowledged without a sample */
#define CSF_REQUEST_ATTEMPTS		2

/* --- words shared with firmware ------------------------------------------ */

static u32 csf_req(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.input->req));
}

static u32 csf_ack(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.output->ack));
}

u32 csf_status(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.output->prfcnt_status));
}

static u32 csf_insert(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.output->prfcnt_insert));
}

static void csf_write(__le32 *word, u32 value)
{
	WRITE_ONCE(*word, cpu_to_le32(value));
}

/* bits of req and ack that differ: pending requests of the driver and events of firmware */
static u32 csf_pending(const struct csf_perfctr *csf)
{
	return csf_req(csf) ^ csf_ack(csf);
}

bool csf_enable_pending(const struct csf_perfctr *csf)
{
	return csf_pending(csf) & CSF_GLB_PRFCNT_ENABLE;
}

static void csf_update_req(struct csf_perfctr *csf, u32 value, u32 mask)
{
	unsigned long flags;

	spin_lock_irqsave(csf->config.req_lock, flags);
	csf_write(&csf->config.input->req, (csf_req(csf) & ~mask) | (value & mask));
	spin_unlock_irqrestore(csf->config.req_lock, flags);
}

static void csf_ring_doorbell(struct csf_perfctr *csf)
{
	/* order writes to the input page before the doorbell */
	wmb();
	csf->config.ops->ring_doorbell(csf->config.priv);
}

static u64 csf_now_ms(void)
{
	return ktime_to_ms(ktime_get_raw());
}

/* wait until req and ack agree in all bits of @mask */
static int csf_wait_ack(struct csf_perfctr *csf, u32 mask, u64 deadline_ms)
{
	unsigned int polls = 0;

	do {
		if (wait_event_timeout(csf->ack_wait, !(csf_pending(csf) & mask),
				       msecs_to_jiffies(CSF_POLL_MS)))
			return 0;
	} while (++polls < CSF_MIN_POLLS || csf_now_ms() < deadline_ms);

	return -ETIMEDOUT;
}

u64 csf_ack_deadline_ms(void)
{
	return csf_now_ms() + CSF_PRFCNT_ACK_TIMEOUT_MS;
}

/* --- reading samples ----------------------------------------------------- */

/* read both clocks; returns the GPU timestamp or U64_MAX if it is unknown */
static u64 csf_read_clocks(struct csf_perfctr *csf)
{
	const struct csf_perfctr_driver_ops *ops = csf->config.ops;
	struct csf_perfctr_anchor anchor = {};

	if (!ops->read_anchor || ops->read_anchor(csf->config.priv, &anchor)) {
		csf_time_init(&csf->time, csf->config.timestamp_hz);
		return U64_MAX;
	}
	if (!csf_time_add_anchor(&csf->time, &anchor)) {
		drm_dbg(csf->drm, "csf: GPU timestamp did not go on as it must\n");
		/* one of the two readings is wrong: do not validate samples with them */
		csf->reader.corrupt = true;
		csf->reader.end_ticks = 0;
		return U64_MAX;
	}
	return anchor.gpu_ticks;
}

/*
 * Reads all complete samples. Returns -EPROTO if the indices are invalid and -EIO if a slot was
 * not written; samples before it are read.
 */
int csf_drain(struct csf_perfctr *csf, u64 *const *totals)
{
	u32 insert = csf_insert(csf);
	u32 count = insert - csf->extract;
	u64 now_ticks;

	if (!count)
		return 0;
	if (count > csf->config.slots) {
		drm_dbg(csf->drm, "csf: INSERT %u is not within %u of EXTRACT %u\n",
			insert, csf->config.slots, csf->extract);
		return -EPROTO;
	}
	/* read INSERT before the slots, and before the clocks that bound their timestamps */
	rmb();
	now_ticks = csf_read_clocks(csf);

	for (; count; count--) {
		u32 slot = csf->extract & (csf->config.slots - 1);
		int ret;

		ret = csf_reader_read(&csf->reader, csf->config.ring + slot * csf->sample_bytes,
				      now_ticks, totals);
		if (ret) {
			drm_dbg(csf->drm, "csf: slot %u was not written\n", slot);
			return ret;
		}
		/* csf_perfctr_irq() reads it locklessly */
		WRITE_ONCE(csf->extract, csf->extract + 1);
		/* finish reads and zeroing of masks before firmware may reuse the slot */
		mb();
		csf_write(&csf->config.input->prfcnt_extract, csf->extract);
	}
	return 0;
}

/* --- requests ------------------------------------------------------------ */

void csf_expect_samples(struct csf_perfctr *csf, bool expect)
{
	unsigned long flags;

	spin_lock_irqsave(csf->config.req_lock, flags);
	csf->requesting = expect;
	csf->seen_insert = csf->extract;
	if (expect)
		csf->event_pending = false;
	spin_unlock_irqrestore(csf->config.req_lock, flags);
}

/* wait for a request whose acknowledgment is late or was duplicated */
int csf_settle_request(struct csf_perfctr *csf, u64 deadline_ms)
{
	if (!csf->outstanding && !(csf_pending(csf) & CSF_GLB_PRFCNT_SAMPLE))
		return 0;

	csf_ring_doorbell(csf);
	if (csf_wait_ack(csf, CSF_GLB_PRFCNT_SAMPLE, deadline_ms))
		return -ETIMEDOUT;
	csf->outstanding = false;
	return 0;
}

/* request a sample and read everything up to it */
int csf_request(struct csf_perfctr *csf, u64 *const *totals, u64 deadline_ms)
{
	unsigned int attempt;
	int ret;

	for (attempt = 0; attempt < CSF_REQUEST_ATTEMPTS; attempt++) {
		unsigned int samples = csf->reader.samples;

		csf->reader.reasons = 0;
		csf->reader.unknown_reason = false;
		csf_update_req(csf, ~csf_ack(csf), CSF_GLB_PRFCNT_SAMPLE);
		csf_ring_doorbell(csf);
		if (csf_wait_ack(csf, CSF_GLB_PRFCNT_SAMPLE, deadline_ms)) {
			csf->outstanding = true;
			return -ETIMEDOUT;
		}
		/* read the acknowledgment before INSERT */
		rmb();
		ret = csf_drain(csf, totals);
		if (ret)
			return ret;
		if (csf->reader.samples == samples)
			continue;
		if (!csf->reader.has_metadata || csf->reader.unknown_reason ||
		    (csf->reader.reasons & CSF_REASON_REQUEST))
			return 0;
	}
	drm_dbg(csf->drm, "csf: SAMPLE acknowledged without a sample\n");
	return -EIO;
}

/* --- enable and disable -------------------------------------------------- */

void csf_set_live(struct csf_perfctr *csf, bool live)
{
	struct csf_glb_input *input = csf->config.input;
	unsigned long flags;

	spin_lock_irqsave(csf->config.req_lock, flags);
	csf->live = live;
	csf->requesting = false;
	csf->event_pending = false;
	csf->overflow = false;
	csf->seen_insert = csf->extract;
	if (live) {
		u32 ack = csf_ack(csf);

		/* clear old events and requests */
		csf_write(&input->req, (csf_req(csf) & ~CSF_EVENTS) | (ack & CSF_EVENTS));
		csf_write(&input->ack_irq_mask,
			  le32_to_cpu(READ_ONCE(input->ack_irq_mask)) | CSF_ACK_IRQS);
	}
	spin_unlock_irqrestore(csf->config.req_lock, flags);
}

int csf_disable(struct csf_perfctr *csf, u64 deadline_ms)
{
	int ret;

	csf_update_req(csf, 0, CSF_GLB_PRFCNT_ENABLE);
	csf_ring_doorbell(csf);
	ret = csf_wait_ack(csf, CSF_GLB_PRFCNT_ENABLE, deadline_ms);
	if (ret)
		drm_dbg(csf->drm, "csf: PRFCNT_ENABLE=0 not acknowledged\n");
	csf->enabled = false;
	return ret;
}

static void csf_program(struct csf_perfctr *csf)
{
	const struct csf_perfctr_config *config = &csf->config;
	struct csf_glb_input *input = config->input;
	const u32 *enable = csf->reader.enable;
	u32 slot;

	for (slot = 0; slot < config->slots; slot++)
		csf_reader_clear_slot(&csf->reader, config->ring + slot * csf->sample_bytes);

	WRITE_ONCE(csf->extract, 0);
	csf_write(&input->prfcnt_jasid, config->jasid);
	WRITE_ONCE(input->prfcnt_base, cpu_to_le64(config->ring_va));
	csf_write(&input->prfcnt_extract, 0);
	csf_write(&input->prfcnt_config,
		  FIELD_PREP(CSF_PRFCNT_CONFIG_SLOTS_MASK, config->slots) |
		  FIELD_PREP(CSF_PRFCNT_CONFIG_SET_MASK, csf->set) |
		  (csf->reader.has_metadata ? CSF_PRFCNT_CONFIG_METADATA : 0));
	csf_write(&input->prfcnt_csg_select, BIT(config->csg_blocks) - 1);
	csf_write(&input->prfcnt_csg_en, config->csg_blocks ? enable[CSF_PERFCTR_CSG] : 0);
	csf_write(&input->prfcnt_fw_en, enable[CSF_PERFCTR_FW]);
	csf_write(&input->prfcnt_csf_en, enable[CSF_PERFCTR_CSHW]);
	csf_write(&input->prfcnt_tiler_en, enable[CSF_PERFCTR_TILER]);
	csf_write(&input->prfcnt_mmu_l2_en, enable[CSF_PERFCTR_MEMSYS]);
	csf_write(&input->prfcnt_shader_en, enable[CSF_PERFCTR_SHADER]);
}

/*
 * Starts counting from scratch. Enabling does not necessarily clear the hardware counters, so the
 * first sample is discarded.
 */
int csf_enable(struct csf_perfctr *csf, u64 deadline_ms)
{
	int ret;

	if ((csf_req(csf) | csf_ack(csf)) & CSF_GLB_PRFCNT_ENABLE) {
		ret = csf_disable(csf, deadline_ms);
		if (ret)
			return ret;
	}

	csf_program(csf);
	csf_reader_restart(&csf->reader);
	/* firmware must not answer an old request in the new ring */
	csf->outstanding = false;
	csf_update_req(csf, csf_ack(csf), CSF_GLB_PRFCNT_SAMPLE);
	csf_set_live(csf, true);
	csf_expect_samples(csf, true);
	csf_read_clocks(csf);

	csf_update_req(csf, CSF_GLB_PRFCNT_ENABLE, CSF_GLB_PRFCNT_ENABLE);
	csf_ring_doorbell(csf);
	ret = csf_wait_ack(csf, CSF_GLB_PRFCNT_ENABLE, deadline_ms);
	if (ret) {
		drm_dbg(csf->drm, "csf: PRFCNT_ENABLE=1 not acknowledged\n");
		goto err_stop;
	}
	csf->enabled = true;

	ret = csf_request(csf, NULL, deadline_ms);
	if (ret)
		goto err_stop;
	csf_expect_samples(csf, false);
	return 0;

err_stop:
	/* does not wait for the acknowledgment: the next attempt does */
	csf_update_req(csf, 0, CSF_GLB_PRFCNT_ENABLE);
	csf_ring_doorbell(csf);
	csf->enabled = false;
	csf_set_live(csf, false);
	return ret;
}

/* acknowledges and returns firmware's events; with req_lock held */
static u32 csf_take_events(struct csf_perfctr *csf)
{
	u32 ack = csf_ack(csf);
	u32 events = (csf_req(csf) ^ ack) & CSF_EVENTS;

	if (events)
		csf_write(&csf->config.input->req, (csf_req(csf) & ~events) | (ack & events));
	if (events & CSF_GLB_PRFCNT_OVERFLOW)
		csf->overflow = true;
	return events;
}

bool csf_take_overflow(struct csf_perfctr *csf)
{
	unsigned long flags;
	bool overflow;

	spin_lock_irqsave(csf->config.req_lock, flags);
	/* the interrupt of an event may be late or lost */
	if (csf->live)
		csf_take_events(csf);
	overflow = csf->overflow;
	csf->overflow = false;
	spin_unlock_irqrestore(csf->config.req_lock, flags);
	return overflow;
}

/* --- interrupts ---------------------------------------------------------- */

/**
 * csf_perfctr_irq() - handle an interrupt of the global interface
 * @csf: the counters, may be NULL
 *
 * Call it on each global interrupt, whatever its reason, from hard or threaded interrupt context.
 * Acknowledges events of the counters and leaves all other bits unchanged. Accesses the pages only
 * while counting, so it is safe while the GPU is reset or suspended.
 */
void csf_perfctr_irq(struct csf_perfctr *csf)
{
	bool fill = false, transition = false;
	unsigned long flags;
	u32 events, insert;

	if (!csf)
		return;

	spin_lock_irqsave(csf->config.req_lock, flags);
	if (csf->live) {
		events = csf_take_events(csf);
		insert = csf_insert(csf);

		/* not while samples are being read, nor in an interrupt storm */
		fill = events & CSF_GLB_PRFCNT_THRESHOLD &&
		       insert - READ_ONCE(csf->extract) >= csf->config.slots / 4;
		fill |= events & CSF_GLB_PRFCNT_OVERFLOW;
		fill &= !csf->event_pending;
		csf->event_pending |= fill;
		/* an unsolicited sample: power or protected mode changed */
		transition = !csf->requesting && insert != csf->seen_insert;
		csf->seen_insert = insert;
	}
	spin_unlock_irqrestore(csf->config.req_lock, flags);

	/* a later waiter checks the words before it sleeps */
	if (wq_has_sleeper(&csf->ack_wait))
		wake_up(&csf->ack_wait);
	if (fill)
		drm_perfctr_source_event(&csf->source);
	else if (transition)
		drm_perfctr_source_transition(&csf->source);
}
EXPORT_SYMBOL_GPL(csf_perfctr_irq);
