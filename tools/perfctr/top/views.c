// SPDX-License-Identifier: MIT
/* The table of views. */
#include "views.h"

#include <string.h>

#include "lib/app.h"

static const char *const gpu[] = {
	"metric:cshw.*",
	"metric:jm.*",
	"metric:tiler.*",
	"metric:shader.*",
	"metric:mp.*",
	"metric:pcounter.*",
	"metric:v3d.*_busy",
	"metric:cp.*",
	"metric:oa.gpu_*",
	"metric:oa.eu_*",
	"metric:oa.thread_*",
	"drm/*:engine-*/",
	"drm/*:gpu_busy_percent/",
	"i915*/*-busy/",
	"gpu_stats/*:engine-*/",
	"amdgpu/*gfx_activity/",
	"amdgpu/*gfxclk*/",
	"amdgpu/*socket_power/",
	"nvml/*:utilization-gpu/",
	"nvml/*:sm-cycles*/",
	"nvml/*:power/",
	NULL,
};

static const char *const memory[] = {
	"metric:memsys.*",
	"metric:v3d.*_bandwidth",
	"metric:v3d.l2t_*",
	"metric:ucf.*",
	"metric:cmem_latency.*",
	"metric:scf.*",
	"metric:oa.*_bandwidth",
	"drm/*:memory-*/",
	"drm/*:resident-*/",
	"drm/*:mem_busy_percent/",
	"amdgpu/*umc_activity/",
	"amdgpu/*:average_dram_*s/",
	"nvml/*:utilization-memory/",
	"nvml/*:memory-used/",
	"uncore_imc*/cas_count_*/",
	"uncore_imc*/data_*/",
	NULL,
};

static const char *const pcie[] = { "metric:pcie.*", "metric:pcie_tgt.*", "metric:grace_pcie.*",
				    "nvml/*:pcie-*/", NULL };

static const char *const links[] = {
	"metric:nvlink_c2c.*",	"metric:nvclink.*", "metric:nvdlink.*", "metric:nvlink_c2c0.*",
	"metric:nvlink_c2c1.*", "metric:cnvlink.*", "nvml/*:nvlink-*/", NULL,
};

const struct top_view top_views[] = {
	{ .name = "overview" },
	{ .name = "gpu", .events = gpu },
	{ .name = "memory", .events = memory },
	{ .name = "pcie", .events = pcie },
	{ .name = "links", .events = links },
};
const size_t top_view_count = ARRAY_SIZE(top_views);

int top_view_find(const char *name)
{
	for (size_t i = 0; i < top_view_count; i++)
		if (!strcmp(top_views[i].name, name))
			return (int)i;
	return -1;
}
