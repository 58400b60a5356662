// SPDX-License-Identifier: GPL-2.0
/*
 * Mali CSF firmware counters as a source of the counter core.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/perfctr_mali.h>

#include "csf_internal.h"

/**
 * DOC: overview
 *
 * The microcontroller of a Mali CSF GPU reads and clears the hardware counters and writes them as
 * samples into a ring in memory. The host requests samples through the global interface; firmware
 * also takes them automatically before counts would be lost (before a core loses power or protected
 * mode begins).
 *
 * The core needs the counts since the last collection. While a session runs, all counters of all
 * blocks are enabled in hardware, so that sessions do not disturb each other when they start or
 * stop; the core applies their masks when it writes samples.
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
 * Without the first drain a request could overflow a full ring. Automatic samples in between are
 * read in order; each adds to the totals, whatever its reason.
 */

/**
 * DOC: recovery
 *
 * The indices are untrusted if INSERT is behind EXTRACT or more than a ring ahead, a slot was
 * never written, two requests were not answered, PRFCNT_ENABLE is no longer acknowledged
 * (firmware has restarted), or PRFCNT_STATUS.FAILED is set. Recovery disables counting, programs
 * it from scratch (a reset may have zeroed everything) and enables it. Counts since the last
 * sample read are lost; the collection has DRM_PERFCTR_SAMPLE_ERROR and the lost time.
 *
 * All steps of a collection share one acknowledgment timeout, because others wait for the sampler
 * lock; each has at least CSF_MIN_POLLS polls. Firmware that does not even disable is dead:
 *
 * ============================ ==========================================
 * firmware                     waits
 * ============================ ==========================================
 * answers                      request
 * answers without a sample     request twice, disable, enable and baseline
 * stops answering              request
 * still does not answer        old request, disable, enable and baseline
 * answers too late             old request, request
 * is dead                      old request, disable; then none for CSF_RETRY_NS, then disable
 * ============================ ==========================================
 */

/* longest interval if the driver does not specify the counters' maximum rate */
#define CSF_DEFAULT_INTERVAL_NS		NSEC_PER_SEC
#define CSF_MAX_JASID			7

static struct csf_perfctr *to_csf(struct drm_perfctr_source *source)
{
	return container_of(source, struct csf_perfctr, source);
}

/* --- start and stop ------------------------------------------------------- */

/* time of the last sample read, or now */
static u64 csf_last_time_ns(struct csf_perfctr *csf)
{
	/* the clocks were read after that sample */
	const u64 end_ns = csf->time.cur.raw_ns;
	u64 raw_ns;

	csf->timed = csf->reader.end_ticks &&
		     csf_time_to_raw(&csf->time, csf->reader.end_ticks, &raw_ns);
	if (!csf->timed)
		return ktime_get_raw_ns();
	return clamp(raw_ns, min(csf->time_ns, end_ns), end_ns);
}

static int csf_prepare(struct drm_perfctr_source *source)
{
	struct csf_perfctr *csf = to_csf(source);
	struct csf_perfctr_config *config = &csf->config;
	int ret;

	if (!config->ops->prepare || csf->prepared)
		return 0;
	ret = config->ops->prepare(config->priv, csf_perfctr_ring_bytes(config), &config->ring,
				   &config->ring_va);
	csf->prepared = !ret;
	return ret;
}

static void csf_free_ring(struct drm_device *drm, void *data)
{
	struct csf_perfctr *csf = data;

	if (csf->prepared)
		csf->config.ops->unprepare(csf->config.priv);
	csf->prepared = false;
}

static void csf_unprepare(struct drm_perfctr_source *source)
{
	struct csf_perfctr *csf = to_csf(source);

	/*
	 * Firmware that has not acknowledged the request of STOP may still write to the ring. Only
	 * a reset stops it, and a failing reset waits for this call. Keep the ring until the next
	 * session or the release of the device.
	 */
	if (!csf_enable_pending(csf))
		csf_free_ring(csf->drm, csf);
}

static int csf_start(struct drm_perfctr_source *source, u8 set)
{
	struct csf_perfctr *csf = to_csf(source);
	unsigned int i;
	int ret;

	for (i = 0; i < csf->reader.visible_count; i++)
		csf->totals[i] = drm_perfctr_block_totals(source, i);
	csf->set = set;
	csf_reader_use_set(&csf->reader, &csf->config, set);
	csf_time_init(&csf->time, csf->config.timestamp_hz);
	csf_reader_begin(&csf->reader);
	csf->retry_ns = 0;
	ret = csf_enable(csf, csf_ack_deadline_ms());
	/* userspace cannot act on the details */
	if (ret)
		return ret == -ETIMEDOUT ? ret : -EIO;
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

/* power and protected mode from PRFCNT_STATUS, for firmware without metadata */
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
	unsigned int i;

	for (i = 0; i < csf->reader.visible_count; i++) {
		const struct csf_block_span *span = &csf->reader.spans[i];
		u32 applies = DRM_PERFCTR_STATE_PROTECTED;

		if (csf->source.descs[i].type == DRM_PERFCTR_MALI_BLOCK_SHADER)
			applies = U32_MAX;
		drm_perfctr_block_report(&csf->source, i, span->states | (states & applies),
					 span->valid);
	}
}

/*
 * Returns 0 if everything up to now was read, -ETIMEDOUT if firmware may still answer, -EIO if it
 * does not answer, and -EPROTO if its indices are invalid.
 */
static int csf_collect_samples(struct csf_perfctr *csf, u64 deadline_ms)
{
	int ret;

	/* no longer acknowledged: firmware has restarted */
	if (csf_enable_pending(csf))
		return -EPROTO;
	if (csf_settle_request(csf, deadline_ms))
		return -EIO;
	ret = csf_drain(csf, csf->totals);
	/* without metadata: these samples were not requested */
	csf->reader.transition |= csf->reader.samples && !csf->reader.has_metadata;
	if (!ret)
		ret = csf_request(csf, csf->totals, deadline_ms);
	if (!ret && (csf_status(csf) & CSF_PRFCNT_STATUS_FAILED))
		ret = -EPROTO;
	return ret;
}

/* advance to the end of the last sample read */
static void csf_advance_time(struct csf_perfctr *csf)
{
	if (csf->reader.samples)
		csf->time_ns = max(csf->time_ns, csf_last_time_ns(csf));
}

/* report the GPU timestamp at csf->time_ns, if that was derived from one */
static void csf_report_timestamp(struct csf_perfctr *csf, struct drm_perfctr_collection *c)
{
	c->gpu_timestamp = csf->reader.end_ticks;
	c->has_gpu_timestamp = csf->enabled && csf->timed;
}

/* first half of a recovery: stop counting and read the remaining samples */
static void csf_shut_down(struct csf_perfctr *csf, bool trust_indices, u64 deadline_ms)
{
	int ret = csf->enabled ? csf_disable(csf, deadline_ms) : -EIO;

	if (ret == -ETIMEDOUT) {
		csf->retry_ns = ktime_get_raw_ns() + CSF_RETRY_NS;
	} else if (!ret && trust_indices) {
		/* read the acknowledgment before INSERT */
		rmb();
		csf_drain(csf, csf->totals);
		csf_advance_time(csf);
	}
	csf_set_live(csf, false);
	csf_reader_lost(&csf->reader, DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_ERROR);
}

/* second half: start counting again; all counts so far are lost */
static void csf_begin_anew(struct csf_perfctr *csf, struct drm_perfctr_collection *c,
			   u64 deadline_ms)
{
	u64 now_ns = ktime_get_raw_ns();
	u64 end_ns;

	if (now_ns >= csf->retry_ns) {
		csf->retry_ns = 0;
		if (csf_enable(csf, deadline_ms)) {
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
	const u64 deadline_ms = csf_ack_deadline_ms();
	struct csf_reader *reader = &csf->reader;
	u64 before_ns = csf->time_ns;
	bool restart, overflow;
	unsigned int i;
	int ret;

	csf_reader_begin(reader);

	csf_expect_samples(csf, true);
	ret = csf->enabled ? csf_collect_samples(csf, deadline_ms) : -EIO;
	csf_advance_time(csf);
	restart = ret && ret != -ETIMEDOUT;
	if (restart)
		csf_shut_down(csf, ret == -EIO, deadline_ms);
	else if (ret && !reader->samples)
		goto out;

	overflow = csf_take_overflow(csf);
	if (overflow && (!reader->extended_metadata || reader->corrupt)) {
		/* blocks and length of the loss are unknown */
		reader->gap = true;
		c->lost_ns = csf->time_ns - before_ns;
		csf_reader_lost(reader, DRM_PERFCTR_STATE_LOST);
	} else if (reader->lost_untimed) {
		c->lost_ns = csf->time_ns - before_ns;
	} else if (reader->lost_ticks) {
		c->lost_ns = min(csf_time_to_ns(&csf->time, reader->lost_ticks),
				 csf->time_ns - before_ns);
	}
	if (reader->corrupt || ret)
		c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
	if (reader->gap)
		c->flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
	c->transition = reader->transition;
	c->incomplete = ret && !restart;
	for (i = 0; i < CSF_CLOCKS; i++)
		c->clock_cycles[i] = reader->cycles[i];
	csf_report_blocks(csf, csf_status_states(csf_status(csf)));

	/* after the report, which must not include it */
	if (restart)
		csf_begin_anew(csf, c, deadline_ms);
	c->time_ns = csf->time_ns;
	csf_report_timestamp(csf, c);
	ret = 0;
out:
	if (csf->enabled)
		csf_expect_samples(csf, false);
	return ret;
}

static const struct drm_perfctr_source_ops csf_source_ops = {
	.prepare = csf_prepare,
	.unprepare = csf_unprepare,
	.start = csf_start,
	.stop = csf_stop,
	.collect = csf_collect,
	.reset = csf_reset,
};

/* --- set-up -------------------------------------------------------------- */

static size_t csf_block_bytes(const struct csf_perfctr_config *config)
{
	return config->counters_per_block * sizeof(__le32);
}

static size_t csf_metadata_bytes(const struct csf_perfctr_config *config)
{
	return FIELD_GET(CSF_PRFCNT_FEATURES_MD_MASK, config->prfcnt_features) *
	       CSF_PRFCNT_SIZE_UNIT_BYTES;
}

static size_t csf_sample_bytes(const struct csf_perfctr_config *config)
{
	return csf_metadata_bytes(config) +
	       csf_reader_block_count(config) * csf_block_bytes(config);
}

/**
 * csf_perfctr_ring_bytes() - memory that the sample ring needs
 * @config: the geometry, firmware's words and @slots must be filled in
 *
 * Returns: bytes.
 */
size_t csf_perfctr_ring_bytes(const struct csf_perfctr_config *config)
{
	return csf_sample_bytes(config) * config->slots;
}
EXPORT_SYMBOL_GPL(csf_perfctr_ring_bytes);

static int csf_check_config(struct drm_device *drm, const struct csf_perfctr_config *config)
{
	const char *wrong = NULL;

	if (!config->input || !config->output || !config->req_lock || !config->ops ||
	    !config->ops->ring_doorbell ||
	    !config->ops->prepare != !config->ops->unprepare ||
	    !config->ops->prepare == !config->ring)
		wrong = "a pointer is missing, or there are two rings";
	else if (config->counters_per_block != CSF_BLOCK_COUNTERS_MIN &&
		 config->counters_per_block != CSF_BLOCK_COUNTERS_MAX)
		wrong = "counters_per_block must be 64 or 128";
	else if (!is_power_of_2(config->slots) || config->slots < 2 ||
		 config->slots > CSF_PERFCTR_MAX_SLOTS)
		wrong = "slots must be a power of two, 2..128";
	else if (!config->l2_slices || config->l2_slices > CSF_PERFCTR_MAX_L2_SLICES)
		wrong = "l2_slices must be 1..64";
	else if (config->csg_blocks > CSF_PERFCTR_MAX_CSG_BLOCKS)
		wrong = "csg_blocks must be 0..31";
	else if (!config->shader_present)
		wrong = "shader_present is empty";
	else if (config->shader_visible & ~config->shader_present)
		wrong = "shader_visible has cores that are not present";
	else if (config->jasid > CSF_MAX_JASID)
		wrong = "jasid must be 0..7";
	else if (!IS_ALIGNED((unsigned long)config->ring, 8))
		wrong = "ring is not aligned";
	else if (config->ring && config->ring_bytes < csf_perfctr_ring_bytes(config))
		wrong = "ring_bytes is too small, see csf_perfctr_ring_bytes()";
	if (!wrong)
		return 0;

	drm_err(drm, "csf: configuration: %s\n", wrong);
	return -EINVAL;
}

/* firmware reports only sizes: a different size indicates a different layout */
static int csf_check_firmware(struct drm_device *drm, const struct csf_perfctr_config *config)
{
	u32 size = config->prfcnt_size;
	size_t fw_bytes = FIELD_GET(CSF_PRFCNT_SIZE_FW_MASK, size) * CSF_PRFCNT_SIZE_UNIT_BYTES;
	size_t hw_bytes = FIELD_GET(CSF_PRFCNT_SIZE_HW_MASK, size) * CSF_PRFCNT_SIZE_UNIT_BYTES;
	size_t md_bytes = csf_metadata_bytes(config);
	size_t block_bytes = csf_block_bytes(config);
	size_t fw_expected = (1 + config->csg_blocks) * block_bytes;
	size_t hw_expected = csf_reader_block_count(config) * block_bytes - fw_expected;

	if ((!md_bytes || md_bytes == block_bytes) && fw_bytes == fw_expected &&
	    hw_bytes == hw_expected)
		return 0;

	drm_err(drm, "csf: firmware samples have %zu + %zu + %zu bytes, expected %zu + %zu + %zu\n",
		md_bytes, fw_bytes, hw_bytes, block_bytes, fw_expected, hw_expected);
	return -EINVAL;
}

/**
 * csf_perfctr_check() - check the description's consistency, and against firmware
 * @drm: the device, for messages
 * @config: description of the device
 *
 * For drivers that register with the core before they call drmm_csf_perfctr_create(), which makes
 * the same check.
 *
 * Returns: 0, or -EINVAL after a message.
 */
int csf_perfctr_check(struct drm_device *drm, const struct csf_perfctr_config *config)
{
	return csf_check_config(drm, config) ?: csf_check_firmware(drm, config);
}
EXPORT_SYMBOL_GPL(csf_perfctr_check);

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
		[CSF_PERFCTR_FW] = {
			DRM_PERFCTR_MALI_BLOCK_FW, DRM_PERFCTR_MALI_CLOCK_TOP,
		},
		[CSF_PERFCTR_CSG] = {
			DRM_PERFCTR_MALI_BLOCK_CSG, DRM_PERFCTR_MALI_CLOCK_TOP,
		},
		[CSF_PERFCTR_CSHW] = {
			DRM_PERFCTR_MALI_BLOCK_CSHW, DRM_PERFCTR_MALI_CLOCK_TOP,
		},
		[CSF_PERFCTR_TILER] = {
			DRM_PERFCTR_MALI_BLOCK_TILER, DRM_PERFCTR_MALI_CLOCK_COREGROUP,
		},
		[CSF_PERFCTR_MEMSYS] = {
			DRM_PERFCTR_MALI_BLOCK_MEMSYS, DRM_PERFCTR_MALI_CLOCK_COREGROUP,
		},
		[CSF_PERFCTR_SHADER] = {
			DRM_PERFCTR_MALI_BLOCK_SHADER, DRM_PERFCTR_MALI_CLOCK_SHADER,
		},
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
	/* reserve a quarter of it for a late timer and a slow acknowledgment */
	wrap_ns = div64_u64((u64)U32_MAX * NSEC_PER_SEC, max_count_hz);
	return max_t(u64, wrap_ns - wrap_ns / 4, 1);
}

/**
 * drmm_csf_perfctr_create() - offer the firmware counters of a device
 * @drm: the device
 * @pc: its counter core, from drmm_perfctr_create()
 * @config: description of the device, copied
 *
 * Call it while probing, after firmware has booted and filled in its control block, and before
 * drm_dev_register(). It programs nothing; the first session does. The memory is freed with @drm.
 *
 * Returns: the counters, or ERR_PTR(): -EINVAL if the configuration contradicts itself or
 * firmware, -ENOMEM.
 */
struct csf_perfctr *drmm_csf_perfctr_create(struct drm_device *drm, struct drm_perfctr *pc,
					    const struct csf_perfctr_config *config)
{
	struct drm_perfctr_block_desc *descs;
	struct csf_perfctr *csf;
	struct csf_reader *reader;
	int ret;

	ret = csf_perfctr_check(drm, config);
	if (ret)
		return ERR_PTR(ret);

	csf = drmm_kzalloc(drm, sizeof(*csf), GFP_KERNEL);
	if (!csf)
		return ERR_PTR(-ENOMEM);
	csf->drm = drm;
	csf->config = *config;
	csf->sample_bytes = csf_sample_bytes(config);
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

	/* registered before the source, so that it is called after the source's work items end */
	ret = drmm_add_action_or_reset(drm, csf_free_ring, csf);
	if (ret)
		return ERR_PTR(ret);

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
