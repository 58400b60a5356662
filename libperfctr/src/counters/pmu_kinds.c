// SPDX-License-Identifier: MIT
/* perf PMUs that have a block type of their own, by their names in sysfs. */
#include "catalogue.h"
#include "pmu.h"
#include "tables.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct kind {
	const char *format;
	uint16_t block_type;
	bool has_root_complex;
} kinds[] = {
	{ "nvidia_ucf_pmu_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_UCF, false },
	{ "nvidia_pcie_pmu_%u_rc_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_PCIE, true },
	{ "nvidia_pcie_tgt_pmu_%u_rc_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, true },
	{ "nvidia_cmem_latency_pmu_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, false },
	{ "nvidia_nvlink_c2c_pmu_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C, false },
	{ "nvidia_nvclink_pmu_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK, false },
	{ "nvidia_nvdlink_pmu_%u%n", DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK, false },
	{ "nvidia_scf_pmu_%u%n", DRM_PERFCTR_TEGRA241_BLOCK_SCF, false },
	{ "nvidia_pcie_pmu_%u%n", DRM_PERFCTR_TEGRA241_BLOCK_GRACE_PCIE, false },
	{ "nvidia_nvlink_c2c0_pmu_%u%n", DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C0, false },
	{ "nvidia_nvlink_c2c1_pmu_%u%n", DRM_PERFCTR_TEGRA241_BLOCK_NVLINK_C2C1, false },
	{ "nvidia_cnvlink_pmu_%u%n", DRM_PERFCTR_TEGRA241_BLOCK_CNVLINK, false },
};

void pmu_make_generic(struct pmu *pmu)
{
	pmu->block_type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
	pmu->index = 0;
	memcpy(pmu->label, pmu->name, sizeof(pmu->label));
}

static bool has_name(struct pmu *pmu, const struct kind *kind)
{
	unsigned int socket = 0, rc = 0;
	int end = 0;

	if (kind->has_root_complex)
		sscanf(pmu->name, kind->format, &socket, &rc, &end);
	else
		sscanf(pmu->name, kind->format, &socket, &end);
	if (!end || pmu->name[end] || socket > UCHAR_MAX || rc > UCHAR_MAX)
		return false;
	pmu->index = (uint16_t)(kind->has_root_complex ? socket << 8 | rc : socket);
	return true;
}

static const char *identifier_of(unsigned int block_type)
{
	for (unsigned int n = 0; n < table_identifiers_count; n++)
		if (table_identifiers[n].block_type == block_type)
			return table_identifiers[n].identifier;
	return NULL;
}

const char *pmu_set_kind(struct pmu *pmu)
{
	pmu_make_generic(pmu);
	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++) {
		if (!has_name(pmu, &kinds[n]))
			continue;
		pmu->block_type = kinds[n].block_type;
		perfctr_block_label(pmu->block_type, pmu->index, pmu->label, sizeof(pmu->label));
		return identifier_of(pmu->block_type);
	}
	return NULL;
}
