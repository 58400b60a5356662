// SPDX-License-Identifier: MIT
/* Events that the perf PMUs of the machine name. */
#include <stdio.h>

#include "pmu.h"

struct walk {
	struct perfctr_ctx *ctx;
	const struct pmu *pmu;
	perfctr_pmu_event_fn fn;
	void *data;
	bool any;
};

static int visit_name(struct walk *w, const char *name)
{
	const struct pmu *pmu = w->pmu;
	struct pmu_event resolved = { .cpu = DRM_PERFCTR_CPU_ANY };
	struct perfctr_pmu_event event = {
		.pmu = pmu->name,
		.label = pmu->label,
		.event = name,
		.block_type = pmu->block_type,
		.index = pmu->index,
		.pmu_type = pmu->type,
		.unit = "",
		.scale = 1,
		.title = resolved.title,
	};
	char text[PMU_NAME_BYTES + 4 * EVENT_BYTES];
	size_t length;

	/* skip an event whose description in sysfs this library cannot parse */
	if (name && pmu_add_term(w->ctx, pmu, name, &resolved))
		return 0;
	length = (size_t)snprintf(text, sizeof(text), "%s/%.*s", pmu->label, EVENT_BYTES,
				  name ? name : "");
	/* ",chip" becomes ",chip=?": the user gives the value */
	for (const char *at = resolved.params; *at; at += strcspn(at + 1, ",") + 1)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s=?",
					   (int)strcspn(at + 1, ",") + 1, at);
	snprintf(text + length, sizeof(text) - length, "/");
	event.text = text;
	if (name) {
		event.config = resolved.config;
		event.desc = pmu->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU ?
				     perfctr_counter_of_pmu(pmu->name, resolved.config) :
				     pmu_typed_event(pmu, resolved.config);
		if (event.desc)
			event.unit = event.desc->unit;
		if (resolved.unit[0])
			event.unit = resolved.unit;
		if (resolved.scale > 0)
			event.scale = resolved.scale;
	}
	return w->fn(w->data, &event);
}

static int visit_event(void *arg, const char *name)
{
	struct walk *w = arg;

	w->any = true;
	return visit_name(w, name);
}

static int visit_pmus(struct perfctr_ctx *ctx, const struct perfctr_device *device,
		      perfctr_pmu_event_fn fn, void *data)
{
	struct pmu_list list = { 0 };
	int error = pmu_list_recent(ctx, &list);

	if (!error && device)
		pmu_list_judge(device, &list);
	for (size_t n = 0; !error && n < list.count; n++) {
		struct walk w = { ctx, &list.pmus[n], fn, data, false };

		if (list.pmus[n].is_foreign)
			continue;
		error = pmu_list_events(ctx, w.pmu, visit_event, &w);
		if (!error && !w.any)
			error = visit_name(&w, NULL);
	}
	pmu_list_free(&list);
	return error;
}

EXPORT int perfctr_pmu_events(struct perfctr_ctx *ctx, perfctr_pmu_event_fn fn, void *data)
{
	return visit_pmus(ctx, NULL, fn, data);
}

EXPORT int perfctr_device_pmu_events(const struct perfctr_device *device, perfctr_pmu_event_fn fn,
				     void *data)
{
	return visit_pmus(device->ctx, device, fn, data);
}
