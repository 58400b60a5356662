// SPDX-License-Identifier: MIT
#include "defaults.h"

#include "app.h"

/* counters of which there is one that matters, then metrics */
static const char *const gpu_events[] = {
	"GPU_ACTIVE",
	"JOBS",
	"VERTICES",
	"PRIMITIVES",
	"FRAGMENTS",
	"COMPUTE_THREADS",
	"EXEC_ACTIVE",
	"metric:gpu_utilization",
	"metric:shader_utilization",
	"metric:tiler_utilization",
	"metric:l2_read_hit_ratio",
	"metric:ext_read_bandwidth",
	"metric:ext_write_bandwidth",
	/* NVIDIA */
	"mp/inst_executed",
	"mp/branch",
	"pcounter*/cycles",
};

static const char *const soc_events[] = {
	"metric:slc_read_bandwidth",  "metric:mem_read_bandwidth",   "metric:mem_write_bandwidth",
	"metric:pcie.read_bandwidth", "metric:pcie.write_bandwidth", "metric:cmem_read_latency",
};

/* PMUs that every kernel has; their events need CAP_PERFMON */
static const char *const kernel_events[] = {
	"software/task-clock/",
	"software/context-switches/",
	"software/page-faults/",
};

static int add_known(struct perfctr_selection *selection, const char *const *events, size_t count,
		     int *error)
{
	int added = 0;

	for (size_t i = 0; i < count; i++) {
		int result = perfctr_selection_add(selection, events[i]);

		if (result > 0)
			added += result;
		else if (result < 0)
			*error = result;
	}
	return added;
}

int defaults_add(const struct app *app, struct perfctr_selection *selection)
{
	int error = 0, added = 0;

	added += add_known(selection, gpu_events, ARRAY_SIZE(gpu_events), &error);
	added += add_known(selection, soc_events, ARRAY_SIZE(soc_events), &error);
	/* a broker has a policy of its own, and few allow them */
	if (!app->via &&
	    (app_has_capability(APP_CAP_PERFMON) || app_has_capability(APP_CAP_SYS_ADMIN)))
		added += add_known(selection, kernel_events, ARRAY_SIZE(kernel_events), &error);
	if (!added)
		added = perfctr_selection_add(selection, "*");
	return added ? added : error;
}
