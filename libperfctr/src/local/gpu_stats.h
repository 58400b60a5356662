/* SPDX-License-Identifier: MIT */
/* config of the events of gpu_stats, as in counters/perf/gpu_stats.toml */
#pragma once

enum { GPU_STATS_TIME = 0, GPU_STATS_JOBS };
