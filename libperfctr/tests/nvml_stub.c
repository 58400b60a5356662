// SPDX-License-Identifier: MIT
#include "nvml_stub.h"

#include <stdlib.h>
#include <string.h>

struct nvml_stub nvml_stub;

/* with NVML's symbols, so that a shared library of this file can replace it */
#define DECLARE(member, name, old, arguments) int stub_##member arguments __asm__(name);
NVML_FUNCTIONS(DECLARE)

static char the_gpu;

static int called(const void *device)
{
	nvml_stub.calls++;
	if (nvml_stub.at_call)
		nvml_stub.at_call();
	if (!nvml_stub.is_open || device != &the_gpu)
		abort();
	return nvml_stub.result;
}

int stub_init(void)
{
	nvml_stub.calls++;
	if (nvml_stub.init_result)
		return nvml_stub.init_result;
	nvml_stub.is_open = true;
	nvml_stub.opened++;
	return 0;
}

int stub_shutdown(void)
{
	nvml_stub.calls++;
	if (!nvml_stub.opened)
		abort();
	nvml_stub.is_open = --nvml_stub.opened;
	return 0;
}

int stub_handle(const char *place, void **device)
{
	called(&the_gpu);
	strncpy(nvml_stub.place, place, sizeof(nvml_stub.place) - 1);
	*device = &the_gpu;
	return nvml_stub.handle_result;
}

int stub_energy(void *device, unsigned long long *value)
{
	const int result = called(device);

	*value = nvml_stub.energy_mj;
	return result;
}

int stub_power(void *device, unsigned int *value)
{
	*value = nvml_stub.power_mw;
	return called(device);
}

int stub_temperature(void *device, int sensor, unsigned int *value)
{
	if (sensor != NVML_TEMPERATURE_GPU)
		abort();
	*value = nvml_stub.temperature;
	return called(device);
}

int stub_clock(void *device, int type, unsigned int *value)
{
	*value = nvml_stub.clocks_mhz[type];
	return called(device);
}

int stub_memory(void *device, struct nvml_memory *value)
{
	*value = nvml_stub.memory;
	return called(device);
}

int stub_utilization(void *device, struct nvml_utilization *value)
{
	*value = nvml_stub.utilization;
	return called(device);
}

int stub_fields(void *device, int count, struct nvml_field *list)
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

int stub_compute(void *device, unsigned int *count, struct nvml_process *list)
{
	return processes(device, count, list);
}

int stub_graphics(void *device, unsigned int *count, struct nvml_process *list)
{
	return processes(device, count, list);
}

int stub_process_use(void *device, struct nvml_process_use *list, unsigned int *count,
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

int stub_gpm_support(void *device, struct nvml_gpm_support *support)
{
	if (support->version != NVML_GPM_VERSION)
		abort();
	support->supported = nvml_stub.has_gpm;
	return called(device);
}

int stub_gpm_alloc(void **sample)
{
	nvml_stub.samples++;
	*sample = calloc(1, sizeof(nvml_stub.gpm));
	return 0;
}

int stub_gpm_free(void *sample)
{
	nvml_stub.samples--;
	free(sample);
	return 0;
}

int stub_gpm_sample(void *device, void *sample)
{
	memcpy(sample, nvml_stub.gpm, sizeof(nvml_stub.gpm));
	return called(device);
}

int stub_gpm_metrics(struct nvml_gpm *gpm)
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
		const char *name, *old;
		void *function;
	} all[] = {
#define ENTRY(member, name, old, arguments) { name, old, stub_##member },
		NVML_FUNCTIONS(ENTRY)
	};

	if (nvml_stub.missing && !strncmp(name, nvml_stub.missing, strlen(nvml_stub.missing)))
		return NULL;
	for (unsigned int n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(all[n].name, name) || (all[n].old && !strcmp(all[n].old, name)))
			return all[n].function;
	return NULL;
}
