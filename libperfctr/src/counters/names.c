// SPDX-License-Identifier: MIT
/* Names of block types, flags and states. */
#include "catalogue.h"

#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../counters/adreno/perfctr_adreno.h"
#include "../../counters/intel/perfctr_intel.h"
#include "../../counters/tegra241/perfctr_tegra241.h"
#include "../../counters/v3d/perfctr_v3d.h"

struct name {
	unsigned int value;
	const char *text;
};

static const struct name block_types[] = {
	{ DRM_PERFCTR_MALI_BLOCK_FW, "fw" },
	{ DRM_PERFCTR_MALI_BLOCK_CSHW, "cshw" },
	{ DRM_PERFCTR_MALI_BLOCK_TILER, "tiler" },
	{ DRM_PERFCTR_MALI_BLOCK_MEMSYS, "memsys" },
	{ DRM_PERFCTR_MALI_BLOCK_SHADER, "shader" },
	{ DRM_PERFCTR_MALI_BLOCK_NEURAL, "neural" },
	{ DRM_PERFCTR_MALI_BLOCK_JM, "jm" },
	{ DRM_PERFCTR_MALI_BLOCK_CSG, "csg" },
	{ DRM_PERFCTR_NV50_BLOCK_PCOUNTER, "pcounter" },
	{ DRM_PERFCTR_NV50_BLOCK_MP, "mp" },
	{ DRM_PERFCTR_BLOCK_GENERIC_PMU, "pmu" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_UCF, "ucf" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE, "pcie" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, "pcie_tgt" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, "cmem_latency" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C, "nvlink_c2c" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK, "nvclink" },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK, "nvdlink" },
	{ DRM_PERFCTR_V3D_BLOCK_V3D, "v3d" },
	{ DRM_PERFCTR_ADRENO_BLOCK_CP, "cp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_RBBM, "rbbm" },
	{ DRM_PERFCTR_ADRENO_BLOCK_PC, "pc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_VFD, "vfd" },
	{ DRM_PERFCTR_ADRENO_BLOCK_HLSQ, "hlsq" },
	{ DRM_PERFCTR_ADRENO_BLOCK_VPC, "vpc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_TSE, "tse" },
	{ DRM_PERFCTR_ADRENO_BLOCK_RAS, "ras" },
	{ DRM_PERFCTR_ADRENO_BLOCK_UCHE, "uche" },
	{ DRM_PERFCTR_ADRENO_BLOCK_TP, "tp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_SP, "sp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_RB, "rb" },
	{ DRM_PERFCTR_ADRENO_BLOCK_VSC, "vsc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_CCU, "ccu" },
	{ DRM_PERFCTR_ADRENO_BLOCK_LRZ, "lrz" },
	{ DRM_PERFCTR_ADRENO_BLOCK_CMP, "cmp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_UFC, "ufc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_CP, "bv_cp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_PC, "bv_pc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_VFD, "bv_vfd" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_VPC, "bv_vpc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_TP, "bv_tp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_SP, "bv_sp" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_UFC, "bv_ufc" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_TSE, "bv_tse" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_RAS, "bv_ras" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_LRZ, "bv_lrz" },
	{ DRM_PERFCTR_ADRENO_BLOCK_BV_HLSQ, "bv_hlsq" },
	{ DRM_PERFCTR_INTEL_BLOCK_OA, "oa" },
	{ DRM_PERFCTR_TEGRA241_BLOCK_SCF, "scf" },
	{ DRM_PERFCTR_TEGRA241_BLOCK_GRACE_PCIE, "grace_pcie" },
	{ DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C0, "nvlink_c2c0" },
	{ DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C1, "nvlink_c2c1" },
	{ DRM_PERFCTR_TEGRA241_BLOCK_CNVLINK, "cnvlink" },
};

static const struct name sample_flags[] = {
	{ DRM_PERFCTR_SAMPLE_MANUAL, "manual" },
	{ DRM_PERFCTR_SAMPLE_PERIODIC, "periodic" },
	{ DRM_PERFCTR_SAMPLE_AUTOMATIC, "automatic" },
	{ DRM_PERFCTR_SAMPLE_FINAL, "final" },
	{ DRM_PERFCTR_SAMPLE_IN_STREAM, "in-stream" },
	{ DRM_PERFCTR_SAMPLE_STRETCHED, "stretched" },
	{ DRM_PERFCTR_SAMPLE_OVERFLOW, "overflow" },
	{ DRM_PERFCTR_SAMPLE_ERROR, "error" },
	{ DRM_PERFCTR_SAMPLE_RESET, "reset" },
	{ DRM_PERFCTR_SAMPLE_SUSPENDED, "suspended" },
	{ DRM_PERFCTR_SAMPLE_MULTIPLEXED, "multiplexed" },
	{ DRM_PERFCTR_SAMPLE_UNPLUGGED, "unplugged" },
};

static const struct name block_states[] = {
	{ DRM_PERFCTR_STATE_ON, "on" },
	{ DRM_PERFCTR_STATE_OFF, "off" },
	{ DRM_PERFCTR_STATE_AVAILABLE, "available" },
	{ DRM_PERFCTR_STATE_UNAVAILABLE, "unavailable" },
	{ DRM_PERFCTR_STATE_NORMAL, "normal" },
	{ DRM_PERFCTR_STATE_PROTECTED, "protected" },
	{ DRM_PERFCTR_STATE_MULTIPLEXED, "multiplexed" },
	{ DRM_PERFCTR_STATE_SATURATED, "saturated" },
	{ DRM_PERFCTR_STATE_LOST, "lost" },
	{ DRM_PERFCTR_STATE_ERROR, "error" },
	{ DRM_PERFCTR_STATE_MIGRATED, "migrated" },
};

static const char *find(const struct name *names, size_t count, unsigned int value)
{
	for (size_t n = 0; n < count; n++)
		if (names[n].value == value)
			return names[n].text;
	return NULL;
}

EXPORT const char *perfctr_block_type_name(unsigned int type)
{
	return find(block_types, ARRAY_SIZE(block_types), type);
}

unsigned int block_type_of(const char *name)
{
	for (size_t n = 0; n < ARRAY_SIZE(block_types); n++)
		if (!strcasecmp(block_types[n].text, name))
			return block_types[n].value;
	return 0;
}

void block_type_words(char *text, size_t size)
{
	size_t used = 0;

	for (size_t n = 0; n < ARRAY_SIZE(block_types) && used < size; n++)
		if (block_types[n].value != DRM_PERFCTR_BLOCK_GENERIC_PMU)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 block_types[n].text);
}

EXPORT int perfctr_block_label(unsigned int type, unsigned int index, char *text, size_t size)
{
	const char *name = perfctr_block_type_name(type);

	if (!name && index == DRM_PERFCTR_INDEX_ALL)
		return snprintf(text, size, "type%u", type);
	if (!name)
		return snprintf(text, size, "type%u.%u", type, index);
	if (index == DRM_PERFCTR_INDEX_ALL)
		return snprintf(text, size, "%s", name);
	if (type == DRM_PERFCTR_TEGRA410_BLOCK_PCIE || type == DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT)
		return snprintf(text, size, "%s%u_rc%u", name, index >> 8, index & 0xff);
	if (type == DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C0 ||
	    type == DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C1)
		return snprintf(text, size, "%s_%u", name, index);
	return snprintf(text, size, "%s%u", name, index);
}

static int bits_text(const struct name *names, size_t count, uint32_t bits, char *text, size_t size)
{
	size_t length = 0;

	if (size)
		text[0] = '\0';
	for (size_t n = 0; n < count && bits; n++) {
		if (!(bits & names[n].value))
			continue;
		bits &= ~names[n].value;
		length += (size_t)snprintf(length < size ? text + length : NULL,
					   length < size ? size - length : 0, "%s%s",
					   length ? "," : "", names[n].text);
	}
	if (bits)
		length += (size_t)snprintf(length < size ? text + length : NULL,
					   length < size ? size - length : 0, "%s0x%x",
					   length ? "," : "", bits);
	return (int)length;
}

EXPORT int perfctr_flag_text(uint32_t flags, char *text, size_t size)
{
	return bits_text(sample_flags, ARRAY_SIZE(sample_flags), flags, text, size);
}

EXPORT int perfctr_state_text(uint32_t states, char *text, size_t size)
{
	return bits_text(block_states, ARRAY_SIZE(block_states), states, text, size);
}
