// SPDX-License-Identifier: GPL-2.0
/*
 * QUERY: describes device, blocks, clocks and sets.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "perfctr_internal.h"
#include "format/pmu_block.h"

static_assert(sizeof(struct drm_perfctr_query) == 24);
static_assert(sizeof(struct drm_perfctr_device_info) == 128);
static_assert(sizeof(struct drm_perfctr_block_info) == 112);
static_assert(sizeof(struct drm_perfctr_clock_info) == 72);

/* fills in one existing element; -ENODEV: the device was removed meanwhile */
typedef int (*query_fill)(struct drm_perfctr *pc, unsigned int nth, void *element);

static unsigned int block_info_count(const struct drm_perfctr *pc)
{
	return pc->block_count + (IS_ENABLED(CONFIG_DRM_PERFCTR_PMU) ? 1 : 0);
}

static unsigned int clock_info_count(const struct drm_perfctr *pc)
{
	return pc->config.clock_count + (pc->config.timestamp_hz ? 1 : 0);
}

static int fill_device(struct drm_perfctr *pc, unsigned int nth, void *element)
{
	struct drm_perfctr_device_info *info = element;

	*info = (struct drm_perfctr_device_info) {
		.features = pc->config.features,
		.version = PERFCTR_VERSION,
		.sample_header_size = sizeof(struct drm_perfctr_sample_header),
		.block_header_size = sizeof(struct drm_perfctr_block_header),
		.ring_control_size = sizeof(struct drm_perfctr_ring_control),
		.block_count = block_info_count(pc),
		.clock_count = clock_info_count(pc),
		.sets = pc->config.sets,
		.active_set = DRM_PERFCTR_SET_PRIMARY,
		.max_slots = PERFCTR_MAX_SLOTS,
		.max_requests = PERFCTR_MAX_REQUESTS,
		.product = pc->config.product,
		.min_period_ns = PERFCTR_MIN_PERIOD_NS,
		.unprivileged_min_period_ns = PERFCTR_USER_PERIOD_NS,
		.max_period_ns = PERFCTR_MAX_PERIOD_NS,
		.max_ring_bytes = PERFCTR_MAX_RING_BYTES,
		.gpu_id = pc->config.gpu_id,
	};
	strscpy(info->name, pc->config.name, sizeof(info->name));
	/* not locked, as the lock is held across hardware access: may be outdated */
	if (drm_perfctr_may_observe())
		info->active_set = perfctr_active_set(pc);
	return 0;
}

static int fill_block(struct drm_perfctr *pc, unsigned int nth, void *element)
{
	if (nth == pc->block_count)
		perfctr_pmu_block_info(element);
	else
		perfctr_block_info(&drm_perfctr_block_at(pc, nth)->desc, element);
	return 0;
}

/* the pair of clock readings of the last collection, which shows when others sample */
static void fill_timestamp(struct drm_perfctr *pc, struct drm_perfctr_clock_info *info)
{
	*info = (struct drm_perfctr_clock_info) {
		.clock = DRM_PERFCTR_CLOCK_TIMESTAMP,
		.valid_bits = pc->config.timestamp_bits,
		.frequency_hz = pc->config.timestamp_hz,
		.max_frequency_hz = pc->config.timestamp_hz,
		.name = "timestamp",
	};
	if (!drm_perfctr_may_observe())
		return;
	spin_lock(&pc->clock.lock);
	info->gpu_timestamp = pc->clock.gpu_timestamp;
	info->raw_ns = pc->clock.raw_ns;
	info->epoch = pc->clock.pair_epoch;
	spin_unlock(&pc->clock.lock);
	if (info->epoch)
		info->age_ns = ktime_get_raw_ns() - info->raw_ns;
}

static int fill_clock(struct drm_perfctr *pc, unsigned int nth, void *element)
{
	const struct drm_perfctr_driver_ops *ops = pc->config.ops;
	struct drm_perfctr_clock_info *info = element;
	const struct drm_perfctr_clock_desc *desc = &pc->config.clocks[nth];
	int idx;

	if (nth == pc->config.clock_count) {
		fill_timestamp(pc, info);
		return 0;
	}
	*info = (struct drm_perfctr_clock_info) {
		.clock = desc->clock,
		.max_frequency_hz = desc->max_frequency_hz,
	};
	strscpy(info->name, desc->name, sizeof(info->name));
	if (ops && ops->frequency_hz) {
		/* the device may have been removed since the call began */
		if (!drm_dev_enter(pc->drm, &idx))
			return -ENODEV;
		info->frequency_hz = ops->frequency_hz(pc->drm, desc->clock);
		drm_dev_exit(idx);
	}
	return 0;
}

/* copies element by element, in the caller's element size */
static int query_array(struct drm_perfctr *pc, struct drm_perfctr_query *query,
		       unsigned int exist, size_t size, query_fill fill)
{
	union {
		struct drm_perfctr_device_info device;
		struct drm_perfctr_block_info block;
		struct drm_perfctr_clock_info clock;
	} element;
	u8 __user *to = u64_to_user_ptr(query->pointer);
	size_t bytes = min_t(size_t, query->stride, size);
	unsigned int i;
	int ret;

	memset(&element, 0, sizeof(element));
	if (!query->pointer)
		goto out;
	if (!query->stride || query->stride % 8 || query->stride > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, EINVAL, "stride: %u is no multiple of 8 up to %u",
				      query->stride, PERFCTR_STRUCT_SIZE_MAX);

	for (i = 0; i < min(query->count, exist); i++, to += query->stride) {
		ret = fill(pc, i, &element);
		if (ret)
			return ret;
		if (copy_to_user(to, &element, bytes) ||
		    clear_user(to + bytes, query->stride - bytes))
			return -EFAULT;
	}
out:
	query->count = exist;
	query->stride = size;
	return 0;
}

/**
 * drm_perfctr_query_ioctl() - the QUERY ioctl
 * @pc: the counters
 * @data: struct drm_perfctr_query in kernel memory
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int drm_perfctr_query_ioctl(struct drm_perfctr *pc, void *data)
{
	struct drm_perfctr_query *query = data;

	if (query->pad)
		return perfctr_reject(pc, EINVAL, "pad is not zero");

	switch (query->type) {
	case DRM_PERFCTR_QUERY_DEVICE:
		return query_array(pc, query, 1, sizeof(struct drm_perfctr_device_info),
				   fill_device);
	case DRM_PERFCTR_QUERY_BLOCKS:
		return query_array(pc, query, block_info_count(pc),
				   sizeof(struct drm_perfctr_block_info), fill_block);
	case DRM_PERFCTR_QUERY_CLOCKS:
		return query_array(pc, query, clock_info_count(pc),
				   sizeof(struct drm_perfctr_clock_info), fill_clock);
	default:
		return perfctr_reject(pc, EINVAL, "type: %u", query->type);
	}
}
EXPORT_SYMBOL_GPL(drm_perfctr_query_ioctl);
