// SPDX-License-Identifier: MIT
/* The loop of a campaign: measure, judge, propose, measure again. */
#include "study.h"

#include <string.h>

#include <sys/utsname.h>

#include "build.h"
#include "report.h"
#include "verdict.h"

/* each round settles several features; more rounds mean that the search does not converge */
enum { MAX_ROUNDS = 96 };

void study_configure(struct arena *arena, struct measured *measured)
{
	struct utsname kernel;
	char now[32];

	if (!uname(&kernel)) {
		measured_configure(arena, measured, "kernel", kernel.release);
		measured_configure(arena, measured, "machine", kernel.machine);
	}
	measured_configure(arena, measured, "perfctr", PERFCTR_VERSION);
	measured_configure(arena, measured, "perfctr build", build_id(arena));
	report_time(now, sizeof(now));
	measured_configure(arena, measured, "begun", now);
}

/* Changes the point from reading to reading, so that stale counts show. */
static int measure_all(struct study *study, struct machine *machine, FILE *progress)
{
	struct analysis *a = &study->analysis;
	size_t points = a->point_count;

	for (unsigned int run = 0; run < a->campaign->runs; run++) {
		if (progress)
			fprintf(progress, "%s: run %u of %u on %s\n", a->campaign->name, run + 1,
				a->campaign->runs, machine->name);
		for (size_t p = 0; p < points; p++)
			if (!a->points[p].reserve && machine->measure(machine, a, p) < 0)
				return -1;
	}
	return 0;
}

/* Uses what relations say until they say nothing new. */
static int prune(struct study *study, const char *after, struct search *searches)
{
	struct analysis *a = &study->analysis;
	const size_t events = a->campaign->event_count;
	bool *changed = arena_array(a->arena, events, sizeof(*changed));
	bool *ignored = arena_array(a->arena, events, sizeof(*ignored)), any;

	do {
		any = false;
		memset(changed, 0, events * sizeof(*changed));
		if (prune_by_relations(a, study->relations, searches, ignored, study->outcomes,
				       changed) < 0)
			return -1;
		for (size_t e = 0; e < events; e++) {
			struct outcome *o = &study->outcomes[e];

			if (!changed[e])
				continue;
			any = true;
			if (!o->before)
				o->before = o->remaining;
			search_free(&searches[e]);
			verdict_event(a, e, study->relations, after, &searches[e], o);
			if (o->search_error || o->remaining)
				continue;
			/* a contradiction: some verdict, or the relation, is wrong */
			ignored[e] = true;
			a->limits[e] = NULL;
			o->pruned_by = NULL;
			search_free(&searches[e]);
			verdict_event(a, e, study->relations, after, &searches[e], o);
		}
	} while (any);
	return 0;
}

static int judge(struct study *study, const char *after, struct search *searches,
		 struct wish *wishes, size_t *wish_count, bool ask_all)
{
	struct analysis *a = &study->analysis;

	*wish_count = 0;
	if (analysis_merge(a) < 0 || verdict_relations(a, study->relations) < 0)
		return -1;
	a->limits = arena_array(a->arena, a->campaign->event_count, sizeof(*a->limits));
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		searches[e] = (struct search){ 0 };
		study->outcomes[e].pruned_by = NULL;
		study->outcomes[e].before = 0;
		verdict_event(a, e, study->relations, after, &searches[e], &study->outcomes[e]);
	}
	if (prune(study, after, searches) < 0)
		return -1;
	verdict_by_relations(a, study->relations, study->outcomes);
	for (size_t e = 0; e < a->campaign->event_count; e++) {
		const struct outcome *o = &study->outcomes[e];

		if (!ask_all && o->verdict != VERDICT_QUARANTINED)
			continue;
		if (o->search_error)
			wishes[(*wish_count)++] = (struct wish){ e, NULL, NULL };
		else if (verdict_is_open(o))
			wishes[(*wish_count)++] = (struct wish){ e, &searches[e], NULL };
		else if (verdict_is_unconfirmed(o))
			wishes[(*wish_count)++] = (struct wish){ e, &searches[e], &o->found };
	}
	return 0;
}

/* Earlier findings are tested before the engine separates rules. */
static int propose(struct study *study, const struct wish *wishes, size_t count, unsigned int round,
		   bool live)
{
	struct analysis *a = &study->analysis;
	long point = -1;

	for (size_t e = 0; study->carried && e < a->campaign->event_count; e++)
		if (study->carried[e].campaign)
			from_judge(a, e, &study->carried[e]);
	if (study->carried && live)
		point = from_next(a, study->carried);
	if (point < 0)
		return split_propose(a, wishes, count, round, &study->next);
	study->next = (struct proposal){ .point = point, .name = a->points[point].name };
	return 0;
}

/* With readings from a file, what it has no readings of can be measured next. */
static int reserve_fresh(struct analysis *a)
{
	if (analysis_merge(a) < 0)
		return -1;
	for (size_t p = 0; p < a->point_count; p++)
		a->points[p].reserve = true;
	for (size_t i = 0; i < a->cell_count; i++)
		a->points[a->cells[i].point].reserve = false;
	return 0;
}

int study_run(struct study *study, struct machine *machine, FILE *progress)
{
	struct analysis *a = &study->analysis;
	const size_t events = a->campaign->event_count;
	struct search *searches = arena_array(a->arena, events, sizeof(*searches));
	struct wish *wishes = arena_array(a->arena, events, sizeof(*wishes));
	const char *after = "the first measurements";
	size_t count;
	int ret = 0;

	study->outcomes = arena_array(a->arena, events, sizeof(*study->outcomes));
	study->relations =
		arena_array(a->arena, a->campaign->relation_count, sizeof(*study->relations));
	if (machine && !a->measured.count) {
		if (measure_all(study, machine, progress) < 0)
			return -1;
	} else if (reserve_fresh(a) < 0) {
		return -1;
	}
	for (unsigned int round = 1; !ret; round++) {
		ret = judge(study, after, searches, wishes, &count, machine != NULL);
		if (!ret)
			ret = propose(study, wishes, count, round, machine != NULL);
		for (size_t e = 0; e < events; e++)
			search_free(&searches[e]);
		if (ret || !machine || study->next.point < 0 || round == MAX_ROUNDS)
			break;
		if (progress)
			fprintf(progress, "%s: %s, because rules of %zu events are open%s\n",
				a->campaign->name, study->next.name, count,
				study->next.splits ? "" : ", or findings untested");
		a->points[study->next.point].reserve = false;
		after = study->next.name;
		study->asked++;
		ret = machine->measure(machine, a, (size_t)study->next.point);
	}
	return ret;
}
