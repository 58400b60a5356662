// SPDX-License-Identifier: MIT
/*
 * Units of GPUs: SOL (speed of light) is the share of cycles in which a unit was busy. Bottleneck
 * is the part of it in which the unit did not wait for another unit.
 *
 * Names as in NVPerfKit: IDX input assembler, GEOM geometry, SHD shader, TEX texture, ROP raster
 * operations. Units without a busy counter (2D, ZCULL, FB) are missing.
 */
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/vsoc_drm.h>

#include "perfkit.h"

#define UNIT(label, of_product, of_block, busy, waits)                                             \
	{                                                                                          \
		.name = label " SOL",                                                              \
		.short_text = label " busy",                                                       \
		.long_text = "Share of the cycles in which the unit had work.",                    \
		.unit = "%",                                                                       \
		.formula = "100 * " busy " / block.cycles",                                        \
		.product = of_product,                                                             \
		.block_type = of_block,                                                            \
	},                                                                                         \
	{                                                                                          \
		.name = label " Bottleneck", .short_text = label " busy, waits for no other unit", \
		.long_text = "Share of the cycles in which it waited for no unit.", .unit = "%",   \
		.formula = "100 * max(0, " busy waits ") / block.cycles", .product = of_product,   \
		.block_type = of_block,                                                            \
	}

#define CSF(label, block, busy, waits) \
	UNIT(label, DRM_VSOC_PRODUCT_CSF, DRM_PERFCTR_MALI_BLOCK_##block, busy, waits)
#define NV50(label, busy, waits) \
	UNIT(label, DRM_PERFCTR_NV50_PRODUCT, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, busy, waits)

static const struct perfctr_metric_desc units[] = {
	CSF("CS", CSHW, "CS_ACTIVE", " - CS_WAIT"),
	CSF("TILER", TILER, "TILER_ACTIVE", " - TILER_STALL"),
	CSF("SHD", SHADER, "EXEC_ACTIVE", ""),
	CSF("L2", MEMSYS, "L2_ACTIVE", " - EXT_READ_STALL - EXT_WRITE_STALL"),
	NV50("IDX", "input_assembler_busy", " - input_assembler_waits_for_fb"),
	NV50("GEOM", "geom_busy", " - geom_waits_for_shader"),
	NV50("SHD", "shader_busy",
	     " - shader_waits_for_texture - shader_waits_for_geom - shader_waits_for_rop"),
	NV50("TEX", "texture_busy", " - texture_waits_for_fb - texture_waits_for_shader"),
	NV50("ROP", "rop_busy", " - rop_waits_for_fb - rop_waits_for_shader"),
};

const struct perfctr_metric_desc *kit_unit_next(const struct perfctr_metric_desc *prev)
{
	const struct perfctr_metric_desc *next = prev ? prev + 1 : units;

	return next < units + ARRAY_SIZE(units) ? next : NULL;
}
