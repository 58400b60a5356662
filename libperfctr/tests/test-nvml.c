// SPDX-License-Identifier: MIT
/* NVIDIA GPUs by a library in place of NVML. */
#include <link.h>

#include "tree.h"

#include "nvml_stub.h"

#define PLACE "0000:01:00.0"
#define GPU "nvml/" PLACE ":"
#define STATUS "/sys/bus/pci/drivers/nvidia/" PLACE "/power/runtime_status"

static void *symbol(void *data, const char *library, const char *name)
{
	CHECK(!strcmp(library, "libnvidia-ml.so.1"));
	return nvml_stub_symbol(name);
}

static void set_field(unsigned int field, unsigned long long value)
{
	nvml_stub.fields[field].type = NVML_U64;
	nvml_stub.fields[field].value = value;
	nvml_stub.fields[field].scope =
		field == NVML_FIELD_NVLINK_TX || field == NVML_FIELD_NVLINK_RX ? UINT32_MAX : 0;
}

static void begin_gpu(void)
{
	begin();
	sys.symbol = symbol;
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	put("/sys/bus/pci/drivers/nvidia/bind", "");
	put(STATUS, "active\n");
	nvml_stub = (struct nvml_stub){
		.energy_mj = 5000000,
		.power_mw = 70500,
		.temperature = 43,
		.clocks_mhz = { 1980, 1979, 2619, 1545 },
		.memory = { 80ull << 30, 79ull << 30, 1ull << 30 },
		.utilization = { 37, 12 },
		.has_gpm = true,
		.gpm = { 1e12, 1e11, 1e10 },
	};
	set_field(NVML_FIELD_PCIE_TX, 1000);
	set_field(NVML_FIELD_PCIE_RX, 2000);
	set_field(NVML_FIELD_NVLINK_TX, 10);
	set_field(NVML_FIELD_NVLINK_RX, 20);
	for (unsigned int n = NVML_FIELD_THROTTLE_POWER; n <= NVML_FIELD_THROTTLE_BASE_CLOCKS; n++)
		set_field(n, 100 * n);
}

static void end_gpu(void)
{
	end_tree();
	/* all that was opened is closed */
	EQUAL(nvml_stub.opened, 0);
	EQUAL(nvml_stub.samples, 0);
}

TEST_WITH(begin_gpu, end_gpu, "counts and levels have their units")
{
	struct seen seen;

	start(GPU "energy/," GPU "power/," GPU "temperature/," GPU "clock-sm/," GPU
		  "memory-used/," GPU "utilization-gpu/," GPU "pcie-tx/," GPU "nvlink-rx/," GPU
		  "throttle-thermal/," GPU "clock-memory/," GPU "memory-free/," GPU
		  "utilization-memory/",
	      12);
	EQUAL_TEXT(nvml_stub.place, PLACE);
	nvml_stub.energy_mj += 1234;
	set_field(NVML_FIELD_PCIE_TX, 1777);
	set_field(NVML_FIELD_NVLINK_RX, 23);
	set_field(NVML_FIELD_THROTTLE_THERMAL, 7500 + 999);
	seen = take_sample();
	EQUAL(seen.valid, 0xfff);
	EQUAL(seen.values[0], 1234000);
	EQUAL(seen.values[1], 70500);
	EQUAL(seen.values[2], 43000);
	EQUAL(seen.values[3], 1979000000);
	EQUAL(seen.values[4], 1ull << 30);
	EQUAL(seen.values[5], 37);
	EQUAL(seen.values[6], 777);
	EQUAL(seen.values[7], 3 * 1024);
	EQUAL(seen.values[8], 999);
	EQUAL(seen.values[9], 2619000000);
	EQUAL(seen.values[10], 79ull << 30);
	EQUAL(seen.values[11], 12);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
}

static unsigned int listed;

static int count_event(void *data, const struct perfctr_pmu_event *event)
{
	listed += !strcmp(event->pmu, "nvml") && event->event;
	return 0;
}

TEST_WITH(begin_gpu, end_gpu, "looking calls nothing, and a GPU that sleeps is not woken")
{
	struct seen seen;
	unsigned int calls;

	listed = 0;
	put(STATUS, "suspended\n");
	EQUAL(perfctr_pmu_events(ctx, count_event, NULL), 0);
	EQUAL(listed, 29);
	EQUAL(perfctr_selection_add(selection, GPU "power/"), 1);
	EQUAL(nvml_stub.calls, 0);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EHOSTDOWN);
	HAS_TEXT(perfctr_ctx_error(ctx), PLACE " sleeps");
	/* another one sleeps, and the library's start would wake it */
	put(STATUS, "active\n");
	put("/sys/bus/pci/drivers/nvidia/0000:81:00.0/power/runtime_status", "suspended\n");
	EQUAL(perfctr_session_new(selection, NULL, &session), -EHOSTDOWN);
	HAS_TEXT(perfctr_ctx_error(ctx), "0000:81:00.0 sleeps");
	EQUAL(nvml_stub.calls, 0);
	drop("/sys/bus/pci/drivers/nvidia/0000:81:00.0");
	perfctr_selection_unref(selection);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	start(GPU "power/," GPU "energy/", 2);
	put(STATUS, "suspended\n");
	calls = nvml_stub.calls;
	EQUAL(take_sample().valid, 0);
	EQUAL(nvml_stub.calls, calls);
	put(STATUS, "active\n");
	nvml_stub.energy_mj += 7;
	seen = take_sample();
	EQUAL(seen.valid, 3);
	EQUAL(seen.values[1], 7000);
}

TEST_WITH(begin_gpu, end_gpu, "a library that cannot be used is refused with what helps")
{
	static const struct {
		int result, error;
		const char *text;
	} starts[] = {
		{ NVML_NO_DRIVER, -ENODEV, "modprobe nvidia" },
		{ NVML_OTHER_VERSION, -ENODEV, "restart the machine" },
		{ NVML_NO_PERMISSION, -EACCES, "RmProfilingAdminOnly" },
		{ 999, -ENODEV, "NVML error 999" },
	};

	EQUAL(perfctr_selection_add(selection, GPU "power/"), 1);
	for (size_t n = 0; n < ARRAY_SIZE(starts); n++) {
		nvml_stub.init_result = starts[n].result;
		EQUAL(perfctr_session_new(selection, NULL, &session), starts[n].error);
		HAS_TEXT(perfctr_ctx_error(ctx), starts[n].text);
	}
	nvml_stub.init_result = 0;
	nvml_stub.missing = "nvml";
	EQUAL(perfctr_session_new(selection, NULL, &session), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "libnvidia-ml.so.1");
	nvml_stub.missing = NULL;
	nvml_stub.handle_result = NVML_GPU_LOST;
	EQUAL(perfctr_session_new(selection, NULL, &session), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "Xid");
	nvml_stub.handle_result = 0;
	nvml_stub.result = NVML_NO_PERMISSION;
	EQUAL(perfctr_session_new(selection, NULL, &session), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), PLACE ":power: the driver keeps it for root");
}

TEST_WITH(begin_gpu, end_gpu, "what a GPU or an old driver lacks is refused, or not supported")
{
	static const struct {
		const char *missing, *event;
	} old[] = {
		{ "nvmlDeviceGetTotalEnergy", GPU "energy/" },
		{ "nvmlDeviceGetPowerUsage", GPU "power/" },
		{ "nvmlDeviceGetTemperature", GPU "temperature/" },
		{ "nvmlDeviceGetClockInfo", GPU "clock-video/" },
		{ "nvmlDeviceGetMemoryInfo", GPU "memory-free/" },
		{ "nvmlDeviceGetUtilizationRates", GPU "utilization-gpu/" },
		{ "nvmlDeviceGetFieldValues", GPU "pcie-rx/" },
		{ "nvmlGpm", GPU "sm-cycles/" },
		{ "nvmlGpmMetricsGet", GPU "sm-cycles-active/" },
		{ "nvmlDeviceGetProcessUtilization", GPU "process-sm,pid=7/" },
	};
	const struct perfctr_session_opts skip = { .size = sizeof(skip),
						   .flags = PERFCTR_SESSION_SKIP_UNSUPPORTED };
	struct seen seen;

	for (size_t n = 0; n < ARRAY_SIZE(old); n++) {
		nvml_stub.missing = old[n].missing;
		EQUAL(perfctr_selection_add(selection, old[n].event), 1);
		EQUAL(perfctr_session_new(selection, NULL, &session), -EOPNOTSUPP);
		HAS_TEXT(perfctr_ctx_error(ctx), "too old");
		perfctr_selection_unref(selection);
		EQUAL(perfctr_selection_new(device, &selection), 0);
	}
	nvml_stub.missing = NULL;
	nvml_stub.has_gpm = false;
	EQUAL(perfctr_selection_add(selection, GPU "sm-cycles/," GPU "power/"), 2);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "does not measure it");
	EQUAL(perfctr_session_new(selection, &skip, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	seen = take_sample();
	EQUAL(seen.valid, 2);
	EQUAL(seen.values[1], 70500);
	CHECK(seen.states & DRM_PERFCTR_STATE_UNAVAILABLE);
}

TEST_WITH(begin_gpu, end_gpu, "values that cannot be are not measured, and not counted")
{
	struct seen seen;

	start(GPU "energy/," GPU "power/," GPU "memory-used/," GPU "utilization-gpu/," GPU
		  "pcie-tx/",
	      5);
	nvml_stub.power_mw = UINT32_MAX;
	nvml_stub.memory.used = 81ull << 30;
	nvml_stub.utilization.gpu = 101;
	nvml_stub.fields[NVML_FIELD_PCIE_TX].type = NVML_U32;
	nvml_stub.energy_mj += 1000000000;
	seen = take_sample();
	EQUAL(seen.valid, 1);
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	nvml_stub.power_mw = 0;
	nvml_stub.energy_mj += 3;
	set_field(NVML_FIELD_PCIE_TX, UINT64_MAX);
	seen = take_sample();
	EQUAL(seen.valid, 3);
	EQUAL(seen.values[0], 3000);
	EQUAL(seen.values[1], 0);
	/* the driver was loaded again */
	nvml_stub.energy_mj = 5;
	set_field(NVML_FIELD_PCIE_TX, 1500);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	EQUAL(seen.values[4], 500);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	nvml_stub.energy_mj = 9;
	EQUAL(take_sample().values[0], 4000);
}

TEST_WITH(begin_gpu, end_gpu, "a GPU that falls off the bus is not measured")
{
	struct seen seen;

	start(GPU "energy/," GPU "utilization-gpu/," GPU "pcie-tx/," GPU "process-memory,pid=5/",
	      4);
	nvml_stub.result = NVML_GPU_LOST;
	nvml_stub.energy_mj += 8;
	for (unsigned int n = 0; n < 3; n++)
		EQUAL(take_sample().valid, 0);
	nvml_stub.result = 0;
	seen = take_sample();
	EQUAL(seen.valid, 7);
	EQUAL(seen.values[0], 8000);
}

/* a sample at least 100 ms after the last */
static struct seen take_late_sample(void)
{
	usleep(110000);
	return take_sample();
}

TEST_WITH(begin_gpu, end_gpu, "totals of GPM count whichever way NVML shows them")
{
	for (unsigned int way = 0; way < 2; way++) {
		uint64_t sum = 0, active = 0;
		struct seen seen;

		nvml_stub.gpm_is_difference = way;
		start(GPU "sm-cycles/," GPU "sm-cycles-active/," GPU "tensor-cycles-active/", 3);
		nvml_stub.gpm[0] += 50;
		take_late_sample();
		for (unsigned int n = 0; n < 3; n++) {
			nvml_stub.gpm[0] += 1000;
			nvml_stub.gpm[1] += 300;
			seen = take_late_sample();
			sum += seen.values[0];
			active += seen.values[1];
			EQUAL(seen.valid, 7);
			EQUAL(seen.values[2], 0);
			/* too soon: GPM is not asked */
			EQUAL(take_sample().valid, 0);
		}
		EQUAL(sum, 3000);
		EQUAL(active, 900);
		cursor = perfctr_cursor_unref(cursor);
		session = perfctr_session_unref(session);
		perfctr_selection_unref(selection);
		EQUAL(perfctr_selection_new(device, &selection), 0);
	}
}

TEST_WITH(begin_gpu, end_gpu,
	  "totals of GPM whose clock stands still, or that are no numbers, are none")
{
	struct seen seen;

	start(GPU "sm-cycles-active/," GPU "tensor-cycles-active/", 2);
	nvml_stub.gpm[0] += 1000;
	EQUAL(take_late_sample().valid, 3);
	nvml_stub.gpm[1] += 10;
	EQUAL(take_late_sample().valid, 0);
	nvml_stub.gpm[0] += 1000;
	nvml_stub.gpm[1] = 0.0 / 0.0;
	nvml_stub.gpm_results[2] = NVML_NOT_SUPPORTED;
	EQUAL(take_late_sample().valid, 0);
	nvml_stub.gpm[0] += 1000;
	nvml_stub.gpm[1] = 1e11 + 17;
	seen = take_late_sample();
	EQUAL(seen.valid, 1);
	EQUAL(seen.values[0], 17);
}

TEST_WITH(begin_gpu, end_gpu, "a process has its memory and its part of the time")
{
	struct seen seen;

	nvml_stub.processes[0] = (struct nvml_process){ .pid = 100, .used = 3 << 20 };
	nvml_stub.processes[1] = (struct nvml_process){ .pid = 101, .used = 5 << 20 };
	nvml_stub.processes[2] = (struct nvml_process){ .pid = 102, .used = ~0ull };
	nvml_stub.process_count = 3;
	EQUAL(perfctr_selection_add(selection, GPU "process-memory,pid=*/"), 3);
	EQUAL(nvml_stub.opened, 0);
	EQUAL(perfctr_selection_add(selection, GPU "process-sm,pid=101/"), 1);
	nvml_stub.uses[0] = (struct nvml_process_use){ .pid = 101, .time_us = 10, .sm = 20 };
	nvml_stub.uses[1] = (struct nvml_process_use){ .pid = 101, .time_us = 20, .sm = 40 };
	nvml_stub.uses[2] = (struct nvml_process_use){ .pid = 100, .time_us = 30, .sm = 60 };
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	nvml_stub.use_count = 3;
	seen = take_sample();
	EQUAL(seen.values[0], 3 << 20);
	EQUAL(seen.values[1], 5 << 20);
	EQUAL(seen.values[3], 40);
	/* what nobody knows is not measured */
	EQUAL(seen.valid, 0xb);
	/* no newer sample, and one process less */
	nvml_stub.process_count = 1;
	EQUAL(take_sample().valid, 1);
	nvml_stub.uses[0].time_us = 40;
	nvml_stub.uses[0].sm = 120;
	EQUAL(take_sample().valid, 1);
}

TEST_WITH(begin_gpu, end_gpu, "pid=* of a GPU that is lost is an error, not no process")
{
	nvml_stub.handle_result = NVML_GPU_LOST;
	EQUAL(perfctr_selection_add(selection, GPU "process-memory,pid=*/"), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "fell off the bus");
}

static int add_thread_bytes(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int n = 0; n < info->dlpi_phnum; n++)
		if (!*info->dlpi_name && info->dlpi_phdr[n].p_type == PT_TLS)
			*(size_t *)data += info->dlpi_phdr[n].p_memsz;
	return 0;
}

TEST("threads of other programs have no room for answers of NVML")
{
	size_t bytes = 0;

	dl_iterate_phdr(add_thread_bytes, &bytes);
	CHECK(bytes < 1024);
}

TEST_WITH(begin_gpu, end_gpu, "pid= belongs to events of a process, and to no other")
{
	EQUAL(perfctr_selection_add(selection, GPU "power,pid=7/"), 1);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "leave out pid=");
	perfctr_selection_unref(selection);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_add(selection, GPU "process-sm/"), 1);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "with pid=");
}
