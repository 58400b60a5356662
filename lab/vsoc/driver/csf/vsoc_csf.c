// SPDX-License-Identifier: GPL-2.0
/*
 * Glue between the firmware interface and the counter source: only what a driver of real hardware
 * does, nothing specific to a model.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>

#include "source/csf/csf_layout.h"
#include "source/csf/csf_perfctr.h"
#include "engine/vsoc.h"
#include "vsoc_csf.h"
#include "vsoc_csf_counters.h"

#define RING_VA		0x10000000ULL

/* mask of available counters: a section of the block without any */
#define NO_COUNTERS	0

#define ALL_SETS \
	(BIT(DRM_PERFCTR_SET_PRIMARY) | BIT(DRM_PERFCTR_SET_SECONDARY) | \
	 BIT(DRM_PERFCTR_SET_TERTIARY))

static void ring_doorbell(void *priv)
{
	vsoc_fw_doorbell(priv);
}

static int read_anchor(void *priv, struct csf_perfctr_anchor *anchor)
{
	u64 before = vsoc_now_ns(priv);
	u64 after;

	anchor->gpu_ticks = vsoc_gpu_timestamp(vsoc_now_ns(priv));
	after = vsoc_now_ns(priv);
	anchor->raw_ns = before + (after - before) / 2;
	anchor->error_ns = DIV_ROUND_UP(after - before, 2);
	return 0;
}

static int prepare(void *priv, size_t bytes, void **ring, u64 *ring_va)
{
	struct vsoc_device *vsoc = priv;

	vsoc->fw_ring = vzalloc(bytes);
	if (!vsoc->fw_ring)
		return -ENOMEM;
	vsoc_fw_map(vsoc, RING_VA, vsoc->fw_ring, bytes);
	*ring = vsoc->fw_ring;
	*ring_va = RING_VA;
	return 0;
}

/* the firmware model restarts if its ring is unmapped while counting is enabled */
static void unprepare(void *priv)
{
	struct vsoc_device *vsoc = priv;

	vsoc_fw_map(vsoc, RING_VA, NULL, 0);
	vfree(vsoc->fw_ring);
}

static const struct csf_perfctr_driver_ops driver_ops = {
	.prepare = prepare,
	.unprepare = unprepare,
	.ring_doorbell = ring_doorbell,
	.read_anchor = read_anchor,
};

static void global_irq(struct vsoc_device *vsoc)
{
	csf_perfctr_irq(READ_ONCE(vsoc->csf));
}

int vsoc_csf_init(struct vsoc_device *vsoc)
{
	const struct vsoc_fw_pages *pages = vsoc_fw_pages(vsoc);
	struct csf_perfctr_config config = {
		.prfcnt_size = le32_to_cpu(READ_ONCE(pages->control->prfcnt_size)),
		.prfcnt_features = le32_to_cpu(READ_ONCE(pages->control->prfcnt_features)),
		.input = pages->input,
		.output = pages->output,
		.req_lock = &vsoc->req_lock,
		.ops = &driver_ops,
		.priv = vsoc,
		.slots = vsoc->fw_slots,
		.l2_slices = vsoc->shape.l2_slices,
		.shader_present = vsoc->shape.shader_present,
		.shader_visible = vsoc->shape.shader_present,
		.shader_dense = vsoc->shape.shader_dense,
		.extended_metadata = true,
		.counters_per_block = vsoc->shape.counters_per_block,
		.types = {
			[CSF_PERFCTR_FW].available = { VSOC_FW_AVAILABLE, NO_COUNTERS },
			[CSF_PERFCTR_CSHW] = {
				.available = { VSOC_CSHW_AVAILABLE, NO_COUNTERS },
				.set_available = {
					{ VSOC_CSHW_SECONDARY_AVAILABLE, NO_COUNTERS },
					{ VSOC_CSHW_TERTIARY_AVAILABLE, NO_COUNTERS },
				},
				.sets = ALL_SETS,
			},
			[CSF_PERFCTR_TILER] = {
				.available = { VSOC_TILER_AVAILABLE, NO_COUNTERS },
				.set_available = {
					{ VSOC_TILER_SECONDARY_AVAILABLE, NO_COUNTERS },
				},
				.sets = BIT(DRM_PERFCTR_SET_PRIMARY) |
					BIT(DRM_PERFCTR_SET_SECONDARY),
			},
			[CSF_PERFCTR_MEMSYS] = {
				.available = { VSOC_MEMSYS_AVAILABLE, VSOC_MEMSYS_AVAILABLE1 },
				.set_available = {
					{ VSOC_MEMSYS_SECONDARY_AVAILABLE, NO_COUNTERS },
					{ VSOC_MEMSYS_TERTIARY_AVAILABLE, NO_COUNTERS },
				},
				.sets = ALL_SETS,
			},
			[CSF_PERFCTR_SHADER] = {
				.available = { VSOC_SHADER_AVAILABLE, VSOC_SHADER_AVAILABLE1 },
				.set_available = {
					{ VSOC_SHADER_SECONDARY_AVAILABLE, NO_COUNTERS },
					{ VSOC_SHADER_TERTIARY_AVAILABLE, NO_COUNTERS },
				},
				.sets = ALL_SETS,
			},
		},
		.product = DRM_VSOC_PRODUCT_CSF,
		.timestamp_hz = VSOC_TIMESTAMP_HZ,
		.max_count_hz = VSOC_MAX_COUNT_HZ,
	};
	struct csf_perfctr *csf;

	csf = drmm_csf_perfctr_create(&vsoc->drm, vsoc->pc, &config);
	if (IS_ERR(csf))
		return PTR_ERR(csf);
	WRITE_ONCE(vsoc->csf, csf);
	vsoc_fw_set_irq(vsoc, global_irq);
	return 0;
}
