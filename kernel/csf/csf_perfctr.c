// SPDX-License-Identifier: GPL-2.0
/*
 * Mali CSF firmware counters as a source of the counter core.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "csf_layout.h"
#include "csf_perfctr.h"
#include "csf_sample.h"
#include "csf_time.h"
#include "drm_perfctr.h"

/**
 * DOC: overview
 *
 * The microcontroller of a Mali CSF GPU reads and clears the hardware counters
 * and writes them as samples into a ring in memory. The host asks for a sample
 * through the global interface; firmware also takes one by itself before counts
 * would be lost (a core loses power, protected mode begins).
 *
 * This source turns that into what the core wants: counts since the last
 * collection. While anything counts, all counters of all blocks are enabled in
 * hardware. Sessions come and go without reprogramming it, so none disturbs
 * another one's counts and there is no moment in which nobody counts; each
 * session's mask is applied by the core when it writes samples.
 *
 * A collection::
 *
 *     host                                   firmware
 *     drain: read samples EXTRACT..INSERT
 *     req.SAMPLE = !ack.SAMPLE, doorbell --> read and clear hardware counters
 *     wait                                   write slot, INSERT + 1
 *                                       <--- ack.SAMPLE = req.SAMPLE, interrupt
 *     drain: read samples EXTRACT..INSERT
 *
 * The first drain matters: with a full ring the request itself would overflow.
 * Samples that firmware took by itself in between are read in order with the
 * rest; each adds to the totals, so nothing depends on why it was taken.
 */

/**
 * DOC: requests and acknowledgments
 *
 * Only the words in memory say whether a request is done. The interrupt merely
 * wakes; it is shared with the driver's other requests, and one that comes
 * between a request and its acknowledgment finds req and ack still different::
 *
 *     req  ___/-----------------      ack  ________________/----
 *                 ^ interrupt for something else   ^ done
 *
 * Acknowledgment too late: the request stays outstanding, as firmware still
 * works on it. The collection fails with what it has; the next one waits for the
 * old request first and then makes its own, so that it never takes the old
 * sample for the new one::
 *
 *     req  ___/--------------------------\_________
 *     ack  __________________/---------------\_____
 *             |--- timeout --| late, read    | the new one
 *
 * If the old request is not answered in the second time either, firmware is
 * told to stop and start again (recovery). Firmware that does not even do that
 * is left alone for CSF_RETRY_NS.
 *
 * Acknowledged twice: the bit flips back and req and ack differ without a
 * request of ours. That is how a request looks to firmware, so it is treated as
 * one that is outstanding. Acknowledged without a new sample, or with one that
 * was not taken for the request: the request is made once more.
 *
 * A lost interrupt costs CSF_POLL_MS, a lost doorbell one timeout: waiting for an
 * old request rings again.
 */

/**
 * DOC: recovery
 *
 * INSERT more than a ring ahead of EXTRACT (or behind it), a slot that was never
 * written, no answer twice, PRFCNT_STATUS.FAILED: the indices can no longer be
 * trusted. Counting is disabled, programmed anew from scratch (a reset may have
 * zeroed everything) and enabled. What was counted between the last sample that
 * was read and the new beginning is lost and reported: the collection carries
 * DRM_PERFCTR_SAMPLE_ERROR and the time.
 *
 * Every step has one acknowledge timeout, so that a collection takes at most four
 * of them:
 *
 * ============================ ==========================================
 * firmware                     waits
 * ============================ ==========================================
 * answers                      request
 * answers without a sample     request twice, disable, enable and baseline
 * stops answering              request
 * still does not answer        old request, disable, enable and baseline
 * answers too late             old request, request
 * is dead                      none for CSF_RETRY_NS, then disable, enable
 * ============================ ==========================================
 */

/**
 * DOC: locking
 *
 * The core's sampler lock serialises all source operations, so everything but
 * the fields below is only touched by one thread. Waiting happens under it.
 *
 * csf_perfctr_config.req_lock (innermost, taken with interrupts disabled)
 * protects the words req and ack_irq_mask, which the driver's other requests
 * change too, and in struct csf_perfctr what csf_perfctr_irq() needs: live,
 * requesting, seen_insert, event_pending, overflow. No wait, no callback and no
 * call of the core is made under it.
 *
 * csf_perfctr_irq() may run in hard or threaded interrupt context, at any time,
 * concurrently with itself and with every operation.
 */

/* interrupts can get lost: look at the words this often while waiting */
#define CSF_POLL_MS			10
/* firmware that could not be recovered is tried again after this time */
#define CSF_RETRY_NS			NSEC_PER_SEC
/* a request that was acknowledged without a sample is made this often */
#define CSF_REQUEST_ATTEMPTS		2
/* collect at least this often where the driver does not know how fast counters are */
#define CSF_DEFAULT_INTERVAL_NS		NSEC_PER_SEC
#define CSF_MAX_JASID			7

#define CSF_EVENTS	(CSF_GLB_PRFCNT_THRESHOLD | CSF_GLB_PRFCNT_OVERFLOW)
#define CSF_ACK_IRQS	(CSF_GLB_PRFCNT_ENABLE | CSF_GLB_PRFCNT_SAMPLE | CSF_EVENTS)

/**
 * struct csf_perfctr - the counters of one device
 */
struct csf_perfctr {
	/** @source: what the core sees. */
	struct drm_perfctr_source source;
	/** @drm: for messages. */
	struct drm_device *drm;
	/** @config: as given by the driver. */
	struct csf_perfctr_config config;
	/** @reader: takes samples apart. */
	struct csf_reader reader;
	/** @time: converts their timestamps. */
	struct csf_time time;
	/** @totals: of each visible block, in the core. */
	u64 **totals;
	/** @sample_bytes: between slots. */
	size_t sample_bytes;
	/** @ack_wait: woken by each global interrupt. */
	wait_queue_head_t ack_wait;

	/** @set: counter set in use. */
	u8 set;
	/** @enabled: firmware acknowledged PRFCNT_ENABLE. */
	bool enabled;
	/** @extract: next sample to read; what is in memory is for firmware only. */
	u32 extract;
	/** @outstanding: a request was not acknowledged in time. */
	bool outstanding;
	/** @time_ns: CLOCK_MONOTONIC_RAW up to which counts were read. */
	u64 time_ns;
	/** @retry_ns: CLOCK_MONOTONIC_RAW before which a dead firmware is left alone. */
	u64 retry_ns;

	/** @live: csf_perfctr_irq() may look at the pages. */
	bool live;
	/** @requesting: new samples are expected, they are no event. */
	bool requesting;
	/** @event_pending: the core was told to collect. */
	bool event_pending;
	/** @overflow: firmware ran out of slots since the last collection. */
	bool overflow;
	/** @seen_insert: INSERT up to which nobody needs to be told. */
	u32 seen_insert;
};

static struct csf_perfctr *to_csf(struct drm_perfctr_source *source)
{
	return container_of(source, struct csf_perfctr, source);
}

/* --- words shared with firmware ------------------------------------------ */

static u32 csf_req(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.input->req));
}

static u32 csf_ack(const struct csf_perfctr *csf)
{
	return le32_to_cpu(READ_ONCE(csf->config.output->ack));
}

static u32 csf_status(const struct csf_perfctr *csf)
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

/* bits of req and ack that differ: a request of ours or an event of firmware's */
static u32 csf_pending(const struct csf_perfctr *csf)
{
	return csf_req(csf) ^ csf_ack(csf);
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
	/* what was written to the input page comes before the doorbell */
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
	do {
		if (wait_event_timeout(csf->ack_wait, !(csf_pending(csf) & mask),
				       msecs_to_jiffies(CSF_POLL_MS)))
			return 0;
	} while (csf_now_ms() < deadline_ms);

	return -ETIMEDOUT;
}

static u64 csf_ack_deadline_ms(void)
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
		/* either of the two readings is wrong: judge no sample by them */
		csf->reader.corrupt = true;
		csf->reader.end_ticks = 0;
		return U64_MAX;
	}
	return anchor.gpu_ticks;
}

/*
 * Read all samples that firmware has finished. Returns -EPROTO if the indices
 * cannot be right and -EIO if a slot was not written; what came before is read.
 */
static int csf_drain(struct csf_perfctr *csf, u64 *const *totals)
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
	/* INSERT before the slots and before the clocks that bound their timestamps */
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
		/* csf_perfctr_irq() looks at it */
		WRITE_ONCE(csf->extract, csf->extract + 1);
		/* reads and the zeroed masks before firmware may write the slot again */
		mb();
		csf_write(&csf->config.input->prfcnt_extract, csf->extract);
	}
	return 0;
}

/* --- requests ------------------------------------------------------------ */

static void csf_expect_samples(struct csf_perfctr *csf, bool expect)
{
	unsigned long flags;

	spin_lock_irqsave(csf->config.req_lock, flags);
	csf->requesting = expect;
	csf->seen_insert = csf->extract;
	if (expect)
		csf->event_pending = false;
	spin_unlock_irqrestore(csf->config.req_lock, flags);
}

/* a request that was not acknowledged in time, or one that firmware made up */
static int csf_settle_request(struct csf_perfctr *csf, u64 deadline_ms)
{
	if (!csf->outstanding && !(csf_pending(csf) & CSF_GLB_PRFCNT_SAMPLE))
		return 0;

	csf_ring_doorbell(csf);
	if (csf_wait_ack(csf, CSF_GLB_PRFCNT_SAMPLE, deadline_ms))
		return -ETIMEDOUT;
	csf->outstanding = false;
	return 0;
}

/* ask for a sample and read everything up to it */
static int csf_request(struct csf_perfctr *csf, u64 *const *totals, u64 deadline_ms)
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
		/* the acknowledgment before INSERT */
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

static void csf_set_live(struct csf_perfctr *csf, bool live)
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

		/* events of an earlier time and unanswered requests are forgotten */
		csf_write(&input->req, (csf_req(csf) & ~CSF_EVENTS) | (ack & CSF_EVENTS));
		csf_write(&input->ack_irq_mask,
			  le32_to_cpu(READ_ONCE(input->ack_irq_mask)) | CSF_ACK_IRQS);
	}
	spin_unlock_irqrestore(csf->config.req_lock, flags);
}

static int csf_disable(struct csf_perfctr *csf, u64 deadline_ms)
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
	csf_write(&input->prfcnt_csg_select, 0);
	csf_write(&input->prfcnt_csg_en, 0);
	csf_write(&input->prfcnt_fw_en, enable[CSF_PERFCTR_FW]);
	csf_write(&input->prfcnt_csf_en, enable[CSF_PERFCTR_CSHW]);
	csf_write(&input->prfcnt_tiler_en, enable[CSF_PERFCTR_TILER]);
	csf_write(&input->prfcnt_mmu_l2_en, enable[CSF_PERFCTR_MEMSYS]);
	csf_write(&input->prfcnt_shader_en, enable[CSF_PERFCTR_SHADER]);
}

/*
 * Begin to count from scratch. Firmware does not promise that enabling clears
 * the hardware counters, so a first sample is taken and dropped.
 */
static int csf_enable(struct csf_perfctr *csf, u64 deadline_ms)
{
	int ret;

	if ((csf_req(csf) | csf_ack(csf)) & CSF_GLB_PRFCNT_ENABLE) {
		ret = csf_disable(csf, deadline_ms);
		if (ret)
			return ret;
	}

	csf_program(csf);
	csf_reader_restart(&csf->reader);
	/* an old request must not be answered into the new ring */
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
	/* not waited for: the next attempt does */
	csf_update_req(csf, 0, CSF_GLB_PRFCNT_ENABLE);
	csf_ring_doorbell(csf);
	csf->enabled = false;
	csf_set_live(csf, false);
	return ret;
}

/* time of the last sample that was read, or of now */
static u64 csf_last_time_ns(struct csf_perfctr *csf)
{
	u64 now_ns = ktime_get_raw_ns();
	u64 raw_ns;

	if (!csf->reader.end_ticks ||
	    !csf_time_to_raw(&csf->time, csf->reader.end_ticks, &raw_ns))
		return now_ns;
	return clamp(raw_ns, min(csf->time_ns, now_ns), now_ns);
}

static int csf_start(struct drm_perfctr_source *source, u8 set)
{
	struct csf_perfctr *csf = to_csf(source);
	int ret;

	csf->set = set;
	csf_reader_use_set(&csf->reader, &csf->config, set);
	csf_time_init(&csf->time, csf->config.timestamp_hz);
	csf_reader_begin(&csf->reader);
	csf->retry_ns = 0;
	ret = csf_enable(csf, csf_ack_deadline_ms());
	if (ret)
		return ret;
	csf->time_ns = 0;
	csf->time_ns = csf_last_time_ns(csf);
	return 0;
}

static void csf_stop(struct drm_perfctr_source *source)
{
	struct csf_perfctr *csf = to_csf(source);

	csf_disable(csf, csf_ack_deadline_ms());
	csf_set_live(csf, false);
	csf->outstanding = false;
}

static void csf_reset(struct drm_perfctr_source *source)
{
	struct csf_perfctr *csf = to_csf(source);

	csf_set_live(csf, false);
	csf->enabled = false;
	csf->outstanding = false;
}

/* --- collecting ---------------------------------------------------------- */

static bool csf_take_overflow(struct csf_perfctr *csf)
{
	unsigned long flags;
	bool overflow;

	spin_lock_irqsave(csf->config.req_lock, flags);
	overflow = csf->overflow;
	csf->overflow = false;
	spin_unlock_irqrestore(csf->config.req_lock, flags);
	return overflow;
}

/* what firmware says of the impact of power and protected mode, without metadata */
static u32 csf_status_states(u32 status)
{
	u32 states = 0;

	if (status & CSF_PRFCNT_STATUS_POWERON)
		states |= DRM_PERFCTR_STATE_OFF | DRM_PERFCTR_STATE_ON;
	if (status & CSF_PRFCNT_STATUS_POWEROFF)
		states |= DRM_PERFCTR_STATE_OFF;
	if (status & CSF_PRFCNT_STATUS_PROTSESSION)
		states |= DRM_PERFCTR_STATE_PROTECTED;
	return states;
}

static void csf_report_blocks(struct csf_perfctr *csf, u32 states)
{
	struct csf_reader *reader = &csf->reader;
	unsigned int i;

	for (i = 0; i < reader->block_count; i++) {
		const struct csf_block *block = &reader->blocks[i];
		struct csf_block_span *span;

		if (block->desc == CSF_BLOCK_HIDDEN)
			continue;
		span = &reader->spans[block->desc];
		if (block->type == CSF_PERFCTR_SHADER)
			span->states |= states;
		else
			span->states |= states & DRM_PERFCTR_STATE_PROTECTED;
		drm_perfctr_block_report(&csf->source, block->desc, span->states, span->valid);
	}
}

/*
 * Returns 0 if everything up to now was read, -ETIMEDOUT if firmware may still
 * answer, -EIO if it does not and -EPROTO if its indices make no sense.
 */
static int csf_collect_samples(struct csf_perfctr *csf)
{
	int ret;

	if (csf_settle_request(csf, csf_ack_deadline_ms()))
		return -EIO;
	ret = csf_drain(csf, csf->totals);
	/* firmware that does not say why: nobody asked for these */
	csf->reader.transition |= csf->reader.samples && !csf->reader.has_metadata;
	if (!ret)
		ret = csf_request(csf, csf->totals, csf_ack_deadline_ms());
	if (!ret && (csf_status(csf) & CSF_PRFCNT_STATUS_FAILED))
		ret = -EPROTO;
	return ret;
}

/* advance to the end of what was read */
static void csf_advance_time(struct csf_perfctr *csf)
{
	if (csf->reader.samples)
		csf->time_ns = max(csf->time_ns, csf_last_time_ns(csf));
}

/* first half of a recovery: stop counting and read what is left */
static void csf_shut_down(struct csf_perfctr *csf, bool trust_indices)
{
	if (csf->enabled && !csf_disable(csf, csf_ack_deadline_ms()) && trust_indices) {
		/* the acknowledgment before INSERT */
		rmb();
		csf_drain(csf, csf->totals);
		csf_advance_time(csf);
	}
	csf_set_live(csf, false);
	csf_reader_lost(&csf->reader, DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_ERROR);
}

/* second half: count again; everything up to here is lost */
static void csf_begin_anew(struct csf_perfctr *csf, struct drm_perfctr_collection *c)
{
	u64 now_ns = ktime_get_raw_ns();
	u64 end_ns;

	if (now_ns >= csf->retry_ns) {
		csf->retry_ns = 0;
		if (csf_enable(csf, csf_ack_deadline_ms())) {
			now_ns = ktime_get_raw_ns();
			csf->retry_ns = now_ns + CSF_RETRY_NS;
		}
	}
	end_ns = csf->enabled ? csf_last_time_ns(csf) : now_ns;
	end_ns = max(end_ns, csf->time_ns);
	c->lost_ns += end_ns - csf->time_ns;
	csf->time_ns = end_ns;
}

static int csf_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct csf_perfctr *csf = to_csf(source);
	struct csf_reader *reader = &csf->reader;
	u64 before_ns = csf->time_ns;
	bool restart, overflow;
	unsigned int i;
	int ret;

	for (i = 0; i < reader->visible_count; i++)
		csf->totals[i] = drm_perfctr_block_totals(source, i);
	csf_reader_begin(reader);

	csf_expect_samples(csf, true);
	ret = csf->enabled ? csf_collect_samples(csf) : -EIO;
	csf_advance_time(csf);
	restart = ret && ret != -ETIMEDOUT;
	if (restart)
		csf_shut_down(csf, ret == -EIO);
	else if (ret && !reader->samples)
		goto out;

	overflow = csf_take_overflow(csf);
	if (overflow && (!reader->extended_metadata || reader->corrupt)) {
		/* where and how long cannot be known */
		reader->gap = true;
		c->lost_ns = csf->time_ns - before_ns;
		csf_reader_lost(reader, DRM_PERFCTR_STATE_LOST);
	} else if (reader->lost_untimed) {
		c->lost_ns = csf->time_ns - before_ns;
	} else {
		c->lost_ns = min(csf_time_to_ns(&csf->time, reader->lost_ticks),
				 csf->time_ns - before_ns);
	}
	if (reader->corrupt || ret)
		c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
	if (reader->gap)
		c->flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
	c->transition = reader->transition;
	for (i = 0; i < CSF_CLOCKS; i++)
		c->clock_cycles[i] = reader->cycles[i];
	csf_report_blocks(csf, csf_status_states(csf_status(csf)));

	/* after the report: what follows must not change it */
	if (restart)
		csf_begin_anew(csf, c);
	c->time_ns = csf->time_ns;
	ret = 0;
out:
	if (csf->enabled)
		csf_expect_samples(csf, false);
	return ret;
}

static const struct drm_perfctr_source_ops csf_source_ops = {
	.start = csf_start,
	.stop = csf_stop,
	.collect = csf_collect,
	.reset = csf_reset,
};

/* --- interrupts ---------------------------------------------------------- */

/**
 * csf_perfctr_irq() - the global interface raised an interrupt
 * @csf: the counters, may be NULL
 *
 * To be called on each global interrupt whatever its reason, from hard or
 * threaded interrupt context. Acknowledges the events of the counters and
 * leaves all other bits alone. Does not touch the pages unless something
 * counts, so that it is harmless while the GPU is reset or suspended.
 */
void csf_perfctr_irq(struct csf_perfctr *csf)
{
	bool collect = false;
	unsigned long flags;
	u32 ack, events, insert;

	if (!csf)
		return;

	spin_lock_irqsave(csf->config.req_lock, flags);
	if (csf->live) {
		ack = csf_ack(csf);
		events = (csf_req(csf) ^ ack) & CSF_EVENTS;
		insert = csf_insert(csf);

		if (events)
			csf_write(&csf->config.input->req,
				  (csf_req(csf) & ~events) | (ack & events));
		if (events & CSF_GLB_PRFCNT_OVERFLOW)
			csf->overflow = true;
		/* the sampler being at it, or a storm: no reason to collect again */
		collect = events & CSF_GLB_PRFCNT_THRESHOLD &&
			  insert - READ_ONCE(csf->extract) >= csf->config.slots / 4;
		collect |= events & CSF_GLB_PRFCNT_OVERFLOW;
		/* a sample that nobody asked for: power or protected mode changed */
		collect |= !csf->requesting && insert != csf->seen_insert;
		csf->seen_insert = insert;
		collect &= !csf->event_pending;
		csf->event_pending |= collect;
	}
	spin_unlock_irqrestore(csf->config.req_lock, flags);

	wake_up(&csf->ack_wait);
	if (collect)
		drm_perfctr_source_event(&csf->source);
}
EXPORT_SYMBOL_GPL(csf_perfctr_irq);

/* --- set-up -------------------------------------------------------------- */

static size_t csf_block_bytes(const struct csf_perfctr_config *config)
{
	return config->counters_per_block * sizeof(__le32);
}

static size_t csf_metadata_bytes(const struct csf_perfctr_config *config)
{
	u32 features = le32_to_cpu(READ_ONCE(config->control->prfcnt_features));

	return FIELD_GET(CSF_PRFCNT_FEATURES_MD_MASK, features) * CSF_PRFCNT_SIZE_UNIT_BYTES;
}

/**
 * csf_perfctr_sample_bytes() - size of a firmware sample
 * @config: the geometry and @control must be filled in
 *
 * Returns: bytes, a multiple of 256.
 */
size_t csf_perfctr_sample_bytes(const struct csf_perfctr_config *config)
{
	return csf_metadata_bytes(config) +
	       csf_reader_block_count(config) * csf_block_bytes(config);
}
EXPORT_SYMBOL_GPL(csf_perfctr_sample_bytes);

/**
 * csf_perfctr_ring_bytes() - memory that the sample ring needs
 * @config: the geometry, @control and @slots must be filled in
 *
 * Returns: bytes.
 */
size_t csf_perfctr_ring_bytes(const struct csf_perfctr_config *config)
{
	return csf_perfctr_sample_bytes(config) * config->slots;
}
EXPORT_SYMBOL_GPL(csf_perfctr_ring_bytes);

static int csf_check_config(struct drm_device *drm, const struct csf_perfctr_config *config)
{
	const char *wrong = NULL;

	if (!config->control || !config->input || !config->output || !config->req_lock ||
	    !config->ring || !config->ops || !config->ops->ring_doorbell)
		wrong = "a pointer is missing";
	else if (config->counters_per_block != CSF_BLOCK_COUNTERS_MIN &&
		 config->counters_per_block != CSF_BLOCK_COUNTERS_MAX)
		wrong = "counters_per_block must be 64 or 128";
	else if (!is_power_of_2(config->slots) || config->slots < 2 ||
		 config->slots > CSF_PERFCTR_MAX_SLOTS)
		wrong = "slots must be a power of two, 2..128";
	else if (!config->l2_slices || config->l2_slices > CSF_PERFCTR_MAX_L2_SLICES)
		wrong = "l2_slices must be 1..64";
	else if (!config->shader_present)
		wrong = "shader_present is empty";
	else if (config->shader_visible & ~config->shader_present)
		wrong = "shader_visible has cores that are not present";
	else if (config->jasid > CSF_MAX_JASID)
		wrong = "jasid must be 0..7";
	else if (!IS_ALIGNED((unsigned long)config->ring, 8))
		wrong = "ring is not aligned";
	else if (config->ring_bytes < csf_perfctr_ring_bytes(config))
		wrong = "ring_bytes is too small, see csf_perfctr_ring_bytes()";
	if (!wrong)
		return 0;

	drm_err(drm, "csf: configuration: %s\n", wrong);
	return -EINVAL;
}

/* firmware tells sizes only: if they differ, the layout is another one */
static int csf_check_firmware(struct drm_device *drm, const struct csf_perfctr_config *config)
{
	u32 size = le32_to_cpu(READ_ONCE(config->control->prfcnt_size));
	size_t fw_bytes = FIELD_GET(CSF_PRFCNT_SIZE_FW_MASK, size) * CSF_PRFCNT_SIZE_UNIT_BYTES;
	size_t hw_bytes = FIELD_GET(CSF_PRFCNT_SIZE_HW_MASK, size) * CSF_PRFCNT_SIZE_UNIT_BYTES;
	size_t md_bytes = csf_metadata_bytes(config);
	size_t block_bytes = csf_block_bytes(config);
	size_t hw_expected = (csf_reader_block_count(config) - 1) * block_bytes;

	if ((!md_bytes || md_bytes == block_bytes) && fw_bytes == block_bytes &&
	    hw_bytes == hw_expected)
		return 0;

	drm_err(drm, "csf: firmware samples have %zu + %zu + %zu bytes, expected %zu + %zu + %zu\n",
		md_bytes, fw_bytes, hw_bytes, block_bytes, block_bytes, hw_expected);
	return -EINVAL;
}

/* positions of a set, as in csf_reader_use_set() */
static void csf_describe_set(const struct csf_perfctr *csf, unsigned int type, u8 set, u64 *out)
{
	struct csf_reader reader = { .counters_per_block = csf->reader.counters_per_block };

	if (!(csf->config.types[type].sets & BIT(set)))
		return;
	csf_reader_use_set(&reader, &csf->config, set);
	memcpy(out, reader.available[type], sizeof(reader.available[type]));
}

static void csf_describe_blocks(const struct csf_perfctr *csf,
				struct drm_perfctr_block_desc *descs)
{
	static const struct {
		u16 type;
		u8 clock;
	} kinds[CSF_PERFCTR_TYPES] = {
		[CSF_PERFCTR_FW] = { DRM_PERFCTR_BLOCK_FW, DRM_PERFCTR_CLOCK_TOP },
		[CSF_PERFCTR_CSHW] = { DRM_PERFCTR_BLOCK_CSHW, DRM_PERFCTR_CLOCK_TOP },
		[CSF_PERFCTR_TILER] = { DRM_PERFCTR_BLOCK_TILER, DRM_PERFCTR_CLOCK_COREGROUP },
		[CSF_PERFCTR_MEMSYS] = { DRM_PERFCTR_BLOCK_MEMSYS, DRM_PERFCTR_CLOCK_COREGROUP },
		[CSF_PERFCTR_SHADER] = { DRM_PERFCTR_BLOCK_SHADER, DRM_PERFCTR_CLOCK_SHADER },
	};
	const struct csf_reader *reader = &csf->reader;
	unsigned int i;

	for (i = 0; i < reader->block_count; i++) {
		const struct csf_block *block = &reader->blocks[i];
		struct drm_perfctr_block_desc *desc;

		if (block->desc == CSF_BLOCK_HIDDEN)
			continue;
		desc = &descs[block->desc];
		desc->type = kinds[block->type].type;
		desc->index = block->index;
		desc->counters = reader->counters_per_block;
		desc->product = csf->config.product;
		desc->sets = csf->config.types[block->type].sets ?: BIT(DRM_PERFCTR_SET_PRIMARY);
		desc->clock = kinds[block->type].clock;
		memcpy(desc->available, reader->available[block->type],
		       sizeof(reader->available[block->type]));
		csf_describe_set(csf, block->type, DRM_PERFCTR_SET_SECONDARY,
				 desc->set_available[0]);
		csf_describe_set(csf, block->type, DRM_PERFCTR_SET_TERTIARY,
				 desc->set_available[1]);
	}
}

static u64 csf_max_interval_ns(u64 max_count_hz)
{
	u64 wrap_ns;

	if (!max_count_hz)
		return CSF_DEFAULT_INTERVAL_NS;
	/* a quarter of it is left for a late timer and a slow acknowledgment */
	wrap_ns = div64_u64((u64)U32_MAX * NSEC_PER_SEC, max_count_hz);
	return max_t(u64, wrap_ns - wrap_ns / 4, 1);
}

/**
 * drmm_csf_perfctr_create() - offer the firmware counters of a device
 * @drm: the device
 * @pc: its counter core, from drmm_perfctr_create()
 * @config: description of the device, copied
 *
 * To be called while probing, after firmware has booted and filled in its
 * control block and before drm_dev_register(). Nothing is programmed before a
 * session starts. The memory is freed with @drm.
 *
 * Returns: the counters, or ERR_PTR(): -EINVAL the configuration contradicts
 * itself or what firmware says, -ENOMEM.
 */
struct csf_perfctr *drmm_csf_perfctr_create(struct drm_device *drm, struct drm_perfctr *pc,
					    const struct csf_perfctr_config *config)
{
	struct drm_perfctr_block_desc *descs;
	struct csf_perfctr *csf;
	struct csf_reader *reader;
	int ret;

	ret = csf_check_config(drm, config);
	if (!ret)
		ret = csf_check_firmware(drm, config);
	if (ret)
		return ERR_PTR(ret);

	csf = drmm_kzalloc(drm, sizeof(*csf), GFP_KERNEL);
	if (!csf)
		return ERR_PTR(-ENOMEM);
	csf->drm = drm;
	csf->config = *config;
	csf->sample_bytes = csf_perfctr_sample_bytes(config);
	init_waitqueue_head(&csf->ack_wait);

	reader = &csf->reader;
	reader->blocks = drmm_kcalloc(drm, csf_reader_block_count(config),
				      sizeof(*reader->blocks), GFP_KERNEL);
	if (!reader->blocks)
		return ERR_PTR(-ENOMEM);
	csf_reader_init(reader, config, csf_metadata_bytes(config));

	reader->spans = drmm_kcalloc(drm, reader->visible_count, sizeof(*reader->spans),
				     GFP_KERNEL);
	csf->totals = drmm_kcalloc(drm, reader->visible_count, sizeof(*csf->totals), GFP_KERNEL);
	descs = drmm_kcalloc(drm, reader->visible_count, sizeof(*descs), GFP_KERNEL);
	if (!reader->spans || !csf->totals || !descs)
		return ERR_PTR(-ENOMEM);
	csf_describe_blocks(csf, descs);

	csf->source.name = "csf";
	csf->source.ops = &csf_source_ops;
	csf->source.descs = descs;
	csf->source.block_count = reader->visible_count;
	csf->source.max_interval_ns = csf_max_interval_ns(config->max_count_hz);
	ret = drm_perfctr_add_source(pc, &csf->source);
	return ret ? ERR_PTR(ret) : csf;
}
EXPORT_SYMBOL_GPL(drmm_csf_perfctr_create);

MODULE_DESCRIPTION("Mali CSF firmware counters");
MODULE_LICENSE("GPL");
