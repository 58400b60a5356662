// SPDX-License-Identifier: MIT
/* Events of perf PMUs apart by CPU. */
#include <stdio.h>
#include <string.h>

#include "pmu.h"
#include "selection.h"

static bool is_apart(const struct drm_perfctr_block_request *r)
{
	return r->type != DRM_PERFCTR_BLOCK_GENERIC_PMU || r->cpu != DRM_PERFCTR_CPU_ANY ||
	       is_reading(r->pmu_type);
}

/* "cycles/u" on CPU 3 is "cycles,cpu=3/u". */
static int name_cpu(struct perfctr_ctx *ctx, const char *text, int cpu, char *named)
{
	int length = (int)strcspn(text, "/");

	if (snprintf(named, EVENT_BYTES, "%.*s%scpu=%d%s", length, text, length ? "," : "", cpu,
		     text + length) < EVENT_BYTES)
		return 0;
	return perfctr_fail(ctx, -EINVAL, "an event of more than %d characters: %.64s...",
			    EVENT_BYTES - 1, text);
}

/* Append the event once for each CPU of its PMU. */
static int append_each(struct perfctr_selection *to, const struct drm_perfctr_block_request *r,
		       const struct selection_label *label, const struct pmu *pmu)
{
	struct drm_perfctr_block_request request = *r;
	struct selection_label named = *label;
	char text[EVENT_BYTES];
	struct cpu_list cpus;
	int error = pmu_cpus(to->device->ctx, pmu, &cpus);

	const bool is_one = cpus.count < 2;

	if (!error && is_one)
		error = selection_add_generic(to, r, label);
	else if (!error && !pmu->is_uncore && to->device->cpus.count)
		cpu_list_intersect(&cpus, &to->device->cpus);
	named.text = text;
	for (size_t n = 0; !error && !is_one && n < cpus.count; n++) {
		request.cpu = cpus.cpus[n];
		error = name_cpu(to->device->ctx, label->text, request.cpu, text);
		if (!error)
			error = selection_add_generic(to, &request, &named);
	}
	cpu_list_free(&cpus);
	return error;
}

EXPORT int perfctr_selection_per_cpu(struct perfctr_selection *selection)
{
	struct perfctr_device *device = selection->device;
	struct perfctr_selection *to;
	struct pmu_list pmus;
	int error;

	if (!device_is(device, LINK_HOST) || device->task)
		return 0;
	error = perfctr_selection_copy(selection, &to);
	if (error)
		return error;
	selection_drop_requests(to);
	error = pmu_list_load(device->ctx, &pmus);
	for (size_t n = 0; !error && n < selection->request_count; n++) {
		const struct drm_perfctr_block_request *r = &selection->requests[n];
		const struct pmu *pmu = is_apart(r) ? NULL :
						      pmu_of_event(&pmus, r->pmu_type, r->config);

		if (pmu)
			error = append_each(to, r, &selection->labels[n], pmu);
		else if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			error = selection_add_generic(to, r, &selection->labels[n]);
		else
			error = selection_append(to, r, &selection->labels[n]);
	}
	pmu_list_free(&pmus);
	if (error)
		perfctr_selection_unref(to);
	else
		selection_take(selection, to);
	return error;
}
