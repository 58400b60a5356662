// SPDX-License-Identifier: MIT
/* The events without -e: those of GPUs by product, those of the local device. */
#include "defaults.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "device.h"
#include "pmu.h"

#define PERF_PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"

/* the counters that users look at first, then metrics */
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
	/* Mali */
	"ITER_FRAG_JOB_COMPLETED",
	"JS0_JOBS",
	"metric:fragment_util",
	"metric:compute_util",
	"metric:tiler_util",
	"metric:l2_cache_read_hit_rate",
	"metric:bus_read_bytes_per_s",
	"metric:bus_write_bytes_per_s",
	/* NVIDIA */
	"mp/instructions",
	"mp/branch",
	"pcounter/gpu_busy",
	"pcounter/shader_busy",
	"pcounter/rop_busy",
	/* V3D */
	"PTB_primitives_binned",
	"TLB_quads_written_to_color_buffer",
	"metric:bin_busy",
	"metric:render_busy",
	"metric:compute_busy",
	"metric:l2t_hit_rate",
	"metric:v3d.read_bandwidth",
	"metric:v3d.write_bandwidth",
	/* Adreno */
	"sp/BUSY_CYCLES",
	"tp/BUSY_CYCLES",
	"uche/BUSY_CYCLES",
	"rb/BUSY_CYCLES",
	"metric:gpu_clock",
	"metric:cp_busy",
	/* Intel */
	"oa/VS_THREADS",
	"oa/PS_THREADS",
	"oa/CS_THREADS",
	"metric:gpu_busy",
	"metric:eu_active",
	"metric:eu_stall",
	"metric:oa.read_bandwidth",
	"metric:oa.write_bandwidth",
};

static const char *const soc_events[] = {
	"metric:slc_read_bandwidth",	 "metric:mem_read_bandwidth",
	"metric:mem_write_bandwidth",	 "metric:pcie.read_bandwidth",
	"metric:pcie.write_bandwidth",	 "metric:cmem_read_latency",
	"metric:gmem_read_bandwidth",	 "metric:gmem_write_bandwidth",
	"metric:grace_pcie.*_bandwidth",
};

/* software PMU of every kernel; its events need CAP_PERFMON */
static const char *const kernel_events[] = {
	"software/task-clock/",
	"software/context-switches/",
	"software/page-faults/",
};

/* what is counted on the local device, by the names in sysfs */
static const struct local_event {
	const char *pmu, *event;
} local_events[] = {
	{ "cpu", "cpu-cycles" },
	{ "cpu", "instructions" },
	{ "cpu_*", "cpu-cycles" },
	{ "cpu_*", "instructions" },
	{ "armv*", "cpu_cycles" },
	{ "armv*", "inst_retired" },
	{ "uncore_imc*", "cas_count_read" },
	{ "uncore_imc*", "cas_count_write" },
	{ "uncore_imc*", "data_reads" },
	{ "uncore_imc*", "data_writes" },
	{ "uncore_imc_free_running*", "data_read" },
	{ "uncore_imc_free_running*", "data_write" },
	{ "uncore_imc_free_running*", "data_total" },
	{ "imx*_ddr*", "read-cycles" },
	{ "imx*_ddr*", "write-cycles" },
	{ "meson_ddr_bw*", "total_rw_bytes" },
	{ "arm_cmn*", "hnf_mc_reqs" },
	{ "i915*", "rcs0-busy" },
	{ "i915*", "bcs0-busy" },
	{ "i915*", "vcs0-busy" },
	{ "power", "energy-pkg" },
	{ "power", "energy-ram" },
	{ "power", "energy-gpu" },
	{ "drm", "*:engine-*" },
	{ "drm", "*:cycles-*" },
	{ "drm", "*:gpu_busy_percent" },
	{ "amdgpu", "*:energy_accumulator" },
	{ "amdgpu", "*:average_dram_*s" },
	{ "nvml", "*:energy" },
	{ "nvml", "*:utilization-gpu" },
	{ "nvml", "*:memory-used" },
	{ "nvml", "*:pcie-*" },
	{ "gpu_stats", "*:engine-*" },
	{ "hwmon", "*:power*" },
	/* of Intel's discrete GPUs, among others */
	{ "hwmon", "*:energy*" },
};

const char *defaults_software_only(void)
{
	return app_has_capability(APP_CAP_PERFMON) || app_has_capability(APP_CAP_SYS_ADMIN) ?
		       "software events only: this machine has no CPU, memory or power counters" :
		       "software events only: no CPU, memory or power counters that this user may "
		       "use";
}

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

/* All counters of the blocks that are no PMUs. Return: counters added. */
static int add_blocks(struct perfctr_selection *selection, const struct perfctr_device *device,
		      int *error)
{
	int added = 0;

	for (size_t n = 0; n < perfctr_device_block_count(device); n++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(device, n);
		char type[64], text[sizeof(type) + 2];

		if (b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		perfctr_block_label(b->type, DRM_PERFCTR_INDEX_ALL, type, sizeof(type));
		snprintf(text, sizeof(text), "%s/*", type);
		added += add_known(selection, &(const char *const){ text }, 1, error);
	}
	return added;
}

static bool is_accepted(struct perfctr_selection *selection, int *error)
{
	*error = perfctr_session_check(selection, NULL, NULL);
	return *error >= 0;
}

/* Note the PMU blocks of a selection that was refused, or the @event of another PMU. */
static void note_left_out(struct left_out *left_out, const struct perfctr_selection *with,
			  const char *event, int error)
{
	size_t length = strlen(left_out->blocks);

	for (size_t i = 0; i < perfctr_selection_request_count(with); i++) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(with, i);
		const char *name = r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU ?
					   event :
					   perfctr_block_type_name(r->type);
		const char *known = strstr(left_out->blocks, name);

		/* compare whole names: pcie is part of pcie_tgt */
		while (known && known[strlen(name)] != ',' && known[strlen(name)])
			known = strstr(known + 1, name);
		if (known || !(r->flags & DRM_PERFCTR_REQUEST_PMU) ||
		    (name == event && error != -EACCES && error != -EPERM))
			continue;
		left_out->error = error;
		length += (size_t)snprintf(left_out->blocks + length,
					   sizeof(left_out->blocks) - length, "%s%s",
					   length ? ", " : "", name);
		if (length >= sizeof(left_out->blocks)) {
			strcpy(left_out->blocks + sizeof(left_out->blocks) - 4, "...");
			return;
		}
	}
}

/*
 * Add an event if the kernel accepts it alone; whether it fits with the others is not checked.
 * Return: counters added.
 */
static int add_permitted(struct perfctr_selection *selection, struct perfctr_selection *empty,
			 const char *event, struct left_out *left_out)
{
	struct perfctr_selection *one = NULL;
	int added, error = perfctr_selection_copy(empty, &one);

	if (error)
		return 0;
	added = perfctr_selection_add(one, event);
	if (added > 0 && is_accepted(one, &error))
		added = perfctr_selection_add(selection, event);
	else if (added > 0)
		note_left_out(left_out, one, event, error);
	perfctr_selection_unref(one);
	return added > 0 && error >= 0 ? added : 0;
}

struct local_defaults {
	struct perfctr_selection *selection, *empty;
	struct left_out *left_out;
	bool machine;
	int added;
};

/* Counting keeps a GPU of NVML awake, which only one that never sleeps does not notice. */
static bool harms_nobody(const struct perfctr_pmu_event *event)
{
	const char *end = strrchr(event->event, ':');
	char path[160], control[16] = "";
	FILE *file;

	/* a value whose unit nobody knows says nothing without its name */
	if (!strcmp(event->unit, "units"))
		return false;
	if (strcmp(event->pmu, "nvml") != 0 || !end)
		return true;
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/nvidia/%.*s/power/control",
		 (int)(end - event->event), event->event);
	file = fopen(path, "re");
	if (file && !fgets(control, sizeof(control), file))
		*control = '\0';
	if (file)
		fclose(file);
	return !strncmp(control, "on", 2);
}

static int add_local_event(void *data, const struct perfctr_pmu_event *event)
{
	struct local_defaults *l = data;

	if (!event->event || !harms_nobody(event) ||
	    (!l->machine && pmu_counts_machine(event->pmu)))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(local_events); i++)
		if (!fnmatch(local_events[i].pmu, event->pmu, 0) &&
		    !fnmatch(local_events[i].event, event->event, 0))
			l->added += add_permitted(l->selection, l->empty, event->text, l->left_out);
	return 0;
}

/* Hardware events first; software events only if there are no others. */
static int add_local(const struct app *app, const struct perfctr_device *device,
		     struct perfctr_selection *selection, struct perfctr_selection *empty,
		     bool machine, struct left_out *left_out)
{
	/* the task-clock of all processes is the number of CPUs */
	const bool of_all = !strcmp(perfctr_device_info(device)->name, "this machine");
	struct local_defaults l = { selection, empty, left_out, machine, 0 };
	int error = perfctr_pmu_events(app->ctx, add_local_event, &l);

	for (size_t i = 0; machine && i < ARRAY_SIZE(soc_events); i++)
		l.added += add_permitted(selection, empty, soc_events[i], left_out);
	if (l.added)
		return l.added;
	/* a process's own are for everybody: it costs more to ask than to count */
	if (!of_all)
		l.added = add_known(selection, kernel_events, ARRAY_SIZE(kernel_events), &error);
	for (size_t i = 1; of_all && i < ARRAY_SIZE(kernel_events); i++)
		l.added += add_permitted(selection, empty, kernel_events[i], left_out);
	if (!l.added) {
		*left_out->blocks = '\0';
		return add_known(selection, kernel_events, ARRAY_SIZE(kernel_events), &error);
	}
	left_out->software_only = true;
	return l.added;
}

int defaults_add(const struct app *app, const struct perfctr_device *device,
		 struct perfctr_selection *selection, bool machine, struct left_out *left_out)
{
	struct perfctr_selection *all = NULL, *empty = NULL;
	int error = 0, added = 0, soc = 0, refused = 0;
	struct left_out unused = { 0 };

	left_out = left_out ? left_out : &unused;
	*left_out = (struct left_out){ 0 };
	if (perfctr_selection_copy(selection, &empty))
		return -ENOMEM;
	if (device_is_local(device)) {
		added = add_local(app, device, selection, empty, machine, left_out);
		perfctr_selection_unref(empty);
		return added;
	}
	added += add_known(selection, gpu_events, ARRAY_SIZE(gpu_events), &error);
	if (!added)
		added += add_blocks(selection, device, &error);
	if (!machine) {
		perfctr_selection_unref(empty);
		return added ? added : error;
	}
	error = perfctr_selection_copy(selection, &all);
	if (!error)
		soc = add_known(all, soc_events, ARRAY_SIZE(soc_events), &error);
	/* usually a user may see all of them or none */
	if (all && soc && !is_accepted(all, &refused) &&
	    (!added || is_accepted(selection, &error))) {
		for (size_t i = 0; i < ARRAY_SIZE(soc_events); i++)
			added += add_permitted(selection, empty, soc_events[i], left_out);
		/* nothing was accepted: fail with the reason */
		if (!added)
			added = add_known(selection, soc_events, ARRAY_SIZE(soc_events), &error);
	} else {
		added += add_known(selection, soc_events, ARRAY_SIZE(soc_events), &error);
	}
	perfctr_selection_unref(all);
	perfctr_selection_unref(empty);
	/* a broker has its own policy, and few allow these */
	if (!app->via &&
	    (app_has_capability(APP_CAP_PERFMON) || app_has_capability(APP_CAP_SYS_ADMIN)))
		added += add_known(selection, kernel_events, ARRAY_SIZE(kernel_events), &error);
	if (!added)
		added = perfctr_selection_add(selection, "*");
	return added ? added : error;
}

const char *defaults_why(const struct left_out *left_out, char *text, size_t size)
{
	static char fix[448];
	char setcap[336];
	bool denied = left_out->error == -EACCES || left_out->error == -EPERM;
	long paranoid;

	if (!denied || app_has_capability(APP_CAP_PERFMON) ||
	    app_read_number(PERF_PARANOID_PATH, &paranoid)) {
		snprintf(text, size, "the kernel refuses them: %s", strerror(-left_out->error));
		return NULL;
	}
	snprintf(text, size, "kernel.perf_event_paranoid = %ld keeps them for CAP_PERFMON",
		 paranoid);
	snprintf(fix, sizeof(fix),
		 "sudo sysctl kernel.perf_event_paranoid=0 (for every program), or: %s",
		 app_setcap(setcap, sizeof(setcap)));
	return fix;
}
