// SPDX-License-Identifier: MIT
#include "nvml_stub.h"

#include <stdlib.h>
#include <string.h>

struct nvml_stub nvml_stub;

static char the_gpu;

static int called(const void *device)
{
	nvml_stub.calls++;
	if (!nvml_stub.is_open || device != &the_gpu)
		abort();
	return nvml_stub.result;
}

static int init(void)
{
	nvml_stub.calls++;
	if (nvml_stub.init_result)
		return nvml_stub.init_result;
	nvml_stub.is_open = true;
	nvml_stub.opened++;
	return 0;
}

static int shut_down(void)
{
	nvml_stub.calls++;
	if (!nvml_stub.opened)
		abort();
	nvml_stub.is_open = --nvml_stub.opened;
	return 0;
}

static int find(const char *place, void **device)
{
	called(&the_gpu);
	strncpy(nvml_stub.place, place, sizeof(nvml_stub.place) - 1);
	*device = &the_gpu;
	return nvml_stub.handle_result;
}

static int energy(void *device, unsigned long long *value)
{
	*value = nvml_stub.energy_mj;
	return called(device);
}

static int power(void *device, unsigned int *value)
{
	*value = nvml_stub.power_mw;
	return called(device);
}

static int temperature(void *device, int sensor, unsigned int *value)
{
	if (sensor != NVML_TEMPERATURE_GPU)
		abort();
	*value = nvml_stub.temperature;
	return called(device);
}

static int clock_info(void *device, int type, unsigned int *value)
{
	*value = nvml_stub.clocks_mhz[type];
	return called(device);
}

static int memory(void *device, struct nvml_memory *value)
{
	*value = nvml_stub.memory;
	return called(device);
}

static int utilization(void *device, struct nvml_utilization *value)
{
	*value = nvml_stub.utilization;
	return called(device);
}

static int fields(void *device, int count, struct nvml_field *list)
{
	for (int n = 0; n < count; n++) {
		struct nvml_field *f = &list[n];

		f->result = nvml_stub.fields[f->field].result;
		f->type = nvml_stub.fields[f->field].type;
		f->value.u64 = nvml_stub.fields[f->field].value;
		if (f->scope != nvml_stub.fields[f->field].scope)
			f->result = NVML_NOT_FOUND;
	}
	return called(device);
}

static int processes(void *device, unsigned int *count, struct nvml_process *list)
{
	if (*count < nvml_stub.process_count)
		return NVML_TOO_SMALL;
	*count = nvml_stub.process_count;
	memcpy(list, nvml_stub.processes, *count * sizeof(*list));
	return called(device);
}

static int process_use(void *device, struct nvml_process_use *list, unsigned int *count,
		       unsigned long long since_us)
{
	unsigned int found = 0;
	const int result = called(device);

	for (unsigned int n = 0; n < nvml_stub.use_count; n++)
		if (nvml_stub.uses[n].time_us > since_us)
			list[found++] = nvml_stub.uses[n];
	*count = found;
	return result ? result : found ? 0 : NVML_NOT_FOUND;
}

static int gpm_support(void *device, struct nvml_gpm_support *support)
{
	if (support->version != NVML_GPM_VERSION)
		abort();
	support->supported = nvml_stub.has_gpm;
	return called(device);
}

static int gpm_alloc(void **sample)
{
	nvml_stub.samples++;
	*sample = calloc(1, sizeof(nvml_stub.gpm));
	return 0;
}

static int gpm_free(void *sample)
{
	nvml_stub.samples--;
	free(sample);
	return 0;
}

static int gpm_sample(void *device, void *sample)
{
	memcpy(sample, nvml_stub.gpm, sizeof(nvml_stub.gpm));
	return called(device);
}

static int gpm_metrics(struct nvml_gpm *gpm)
{
	const double *first = gpm->first, *second = gpm->second;

	if (gpm->version != NVML_GPM_VERSION || gpm->count > NVML_MOST_METRICS)
		abort();
	for (unsigned int n = 0; n < gpm->count; n++) {
		const unsigned int metric = gpm->metrics[n].metric - NVML_GPM_SM_CYCLES;

		gpm->metrics[n].result = nvml_stub.gpm_results[metric];
		gpm->metrics[n].value =
			second[metric] - (nvml_stub.gpm_is_difference ? first[metric] : 0);
	}
	return called(&the_gpu);
}

void *nvml_stub_symbol(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} all[] = {
		{ "nvmlInit_v2", init },
		{ "nvmlShutdown", shut_down },
		{ "nvmlDeviceGetHandleByPciBusId_v2", find },
		{ "nvmlDeviceGetTotalEnergyConsumption", energy },
		{ "nvmlDeviceGetPowerUsage", power },
		{ "nvmlDeviceGetTemperature", temperature },
		{ "nvmlDeviceGetClockInfo", clock_info },
		{ "nvmlDeviceGetMemoryInfo", memory },
		{ "nvmlDeviceGetUtilizationRates", utilization },
		{ "nvmlDeviceGetFieldValues", fields },
		{ "nvmlDeviceGetComputeRunningProcesses_v3", processes },
		{ "nvmlDeviceGetComputeRunningProcesses_v2", processes },
		{ "nvmlDeviceGetGraphicsRunningProcesses_v3", processes },
		{ "nvmlDeviceGetProcessUtilization", process_use },
		{ "nvmlGpmQueryDeviceSupport", gpm_support },
		{ "nvmlGpmSampleAlloc", gpm_alloc },
		{ "nvmlGpmSampleFree", gpm_free },
		{ "nvmlGpmSampleGet", gpm_sample },
		{ "nvmlGpmMetricsGet", gpm_metrics },
	};

	if (nvml_stub.missing && !strncmp(name, nvml_stub.missing, strlen(nvml_stub.missing)))
		return NULL;
	for (unsigned int n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(all[n].name, name))
			return all[n].function;
	return NULL;
}
