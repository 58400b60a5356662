/* SPDX-License-Identifier: MIT */
/*
 * What is used of NVML, NVIDIA's management library, in declarations of our own: it is loaded at
 * run time, and its header is never needed.
 */
#pragma once

#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"

enum {
	/* config of the events, as in counters/perf/nvml.toml */
	NVML_TEMPERATURE = 0,
	NVML_POWER,
	NVML_ENERGY,
	NVML_CLOCK,
	NVML_ACTIVITY,
	NVML_MEMORY,
	NVML_DATA,
	NVML_THROTTLE,
	NVML_CYCLES,
};

enum {
	/* results of the calls */
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_TOO_SMALL = 7,
	NVML_NO_DRIVER = 9,
	NVML_NO_FUNCTION = 13,
	NVML_GPU_LOST = 15,
	NVML_OTHER_VERSION = 18,
	NVML_NO_DATA = 21,
	/* sensors and clocks */
	NVML_TEMPERATURE_GPU = 0,
	NVML_CLOCK_GRAPHICS = 0,
	NVML_CLOCK_SM,
	NVML_CLOCK_MEMORY,
	NVML_CLOCK_VIDEO,
	/* types of the values of fields */
	NVML_U32 = 1,
	NVML_ULONG = 2,
	NVML_U64 = 3,
	/* numbers of fields; those of the clock event reasons differ between versions */
	NVML_FIELD_THROTTLE_POWER = 74,
	NVML_FIELD_THROTTLE_THERMAL,
	NVML_FIELD_THROTTLE_SYNC_BOOST,
	NVML_FIELD_THROTTLE_BOARD_LIMIT,
	NVML_FIELD_THROTTLE_LOW_UTILIZATION,
	NVML_FIELD_THROTTLE_RELIABILITY,
	NVML_FIELD_THROTTLE_APP_CLOCKS,
	NVML_FIELD_THROTTLE_BASE_CLOCKS,
	NVML_FIELD_NVLINK_TX = 138,
	NVML_FIELD_NVLINK_RX,
	NVML_FIELD_PCIE_TX = 197,
	NVML_FIELD_PCIE_RX,
	/* GPM metrics that are totals since the start of the GPU */
	NVML_GPM_SM_CYCLES = 248,
	NVML_GPM_SM_ACTIVE,
	NVML_GPM_TENSOR_ACTIVE,
	NVML_GPM_VERSION = 1,
};

#define NVML_ALL_LINKS UINT32_MAX

struct nvml_utilization {
	unsigned int gpu, memory; /* percent */
};

struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};

struct nvml_process {
	unsigned int pid;
	unsigned long long used; /* bytes; all ones: unknown */
	unsigned int gpu_instance, compute_instance;
};

struct nvml_process_use {
	unsigned int pid;
	unsigned long long time_us; /* CLOCK_REALTIME */
	unsigned int sm, memory, encoder, decoder; /* percent */
};

struct nvml_field {
	unsigned int field, scope;
	long long time_us, latency_us;
	unsigned int type;
	int result;
	union {
		double real;
		unsigned int u32;
		unsigned long ulong;
		unsigned long long u64;
	} value;
};

struct nvml_gpm_support {
	unsigned int version, supported;
};

struct nvml_gpm_metric {
	unsigned int metric;
	int result;
	double value;
	const char *name, *short_name, *unit;
};

enum { NVML_MOST_METRICS = 16 };

/* a header, then as many metrics as it says */
struct nvml_gpm {
	unsigned int version, count;
	void *first, *second; /* samples */
	struct nvml_gpm_metric metrics[NVML_MOST_METRICS];
};

/* X(result, name, other names of older drivers or NULL, arguments) */
#define NVML_FUNCTIONS(X)                                                                          \
	X(init, "nvmlInit_v2", NULL, (void))                                                       \
	X(shutdown, "nvmlShutdown", NULL, (void))                                                  \
	X(handle, "nvmlDeviceGetHandleByPciBusId_v2", NULL, (const char *, void **))               \
	X(energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, (void *, unsigned long long *))     \
	X(power, "nvmlDeviceGetPowerUsage", NULL, (void *, unsigned int *))                        \
	X(temperature, "nvmlDeviceGetTemperature", NULL, (void *, int, unsigned int *))            \
	X(clock, "nvmlDeviceGetClockInfo", NULL, (void *, int, unsigned int *))                    \
	X(memory, "nvmlDeviceGetMemoryInfo", NULL, (void *, struct nvml_memory *))                 \
	X(utilization, "nvmlDeviceGetUtilizationRates", NULL, (void *, struct nvml_utilization *)) \
	X(fields, "nvmlDeviceGetFieldValues", NULL, (void *, int, struct nvml_field *))            \
	X(compute, "nvmlDeviceGetComputeRunningProcesses_v3",                                      \
	  "nvmlDeviceGetComputeRunningProcesses_v2",                                               \
	  (void *, unsigned int *, struct nvml_process *))                                         \
	X(graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3",                                    \
	  "nvmlDeviceGetGraphicsRunningProcesses_v2",                                              \
	  (void *, unsigned int *, struct nvml_process *))                                         \
	X(process_use, "nvmlDeviceGetProcessUtilization", NULL,                                    \
	  (void *, struct nvml_process_use *, unsigned int *, unsigned long long))                 \
	X(gpm_support, "nvmlGpmQueryDeviceSupport", NULL, (void *, struct nvml_gpm_support *))     \
	X(gpm_alloc, "nvmlGpmSampleAlloc", NULL, (void **))                                        \
	X(gpm_free, "nvmlGpmSampleFree", NULL, (void *))                                           \
	X(gpm_sample, "nvmlGpmSampleGet", NULL, (void *, void *))                                  \
	X(gpm_metrics, "nvmlGpmMetricsGet", NULL, (struct nvml_gpm *))

struct nvml_api {
#define NVML_MEMBER(member, name, old, arguments) int(*member) arguments;
	NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};
