// SPDX-License-Identifier: MIT
/* Which block of a session is a perf event's. Built by mesa/tests/groups. */
#include "gpc_context.c"

struct gpc_library gpc;

enum { TYPE = 9, CONFIG = 5, CONFIG1 = 6 };

/* Two requests that differ in one number only, for each of the numbers. */
static const struct drm_perfctr_block_request requests[] = {
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE + 1, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG + 1, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 + 1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1, .config2 = 1 },
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };
static struct drm_perfctr_block_request in_selection[REQUESTS];

static const struct drm_perfctr_block_request *request(const struct perfctr_selection *selection,
						       size_t n)
{
	(void)selection;
	return n < REQUESTS ? &in_selection[n] : NULL;
}

int main(void)
{
	struct gpc_session session = { 0 };
	int wrong = 0;

	gpc.selection_request = request;
	for (unsigned int n = 0; n < REQUESTS; n++) {
		in_selection[n] = requests[n];
		in_selection[n].type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
		in_selection[n].index = (uint16_t)n;
	}
	for (unsigned int n = 0; n < REQUESTS; n++) {
		struct gpc_counter counter = { .pmu_type = requests[n].pmu_type,
					       .config = requests[n].config,
					       .config1 = requests[n].config1,
					       .config2 = requests[n].config2 };

		wrong += generic_index(&session, &counter) != n;
	}
	printf("1..1\n%sok 1 - perf events are told apart by all that makes them\n",
	       wrong ? "not " : "");
	return wrong != 0;
}
