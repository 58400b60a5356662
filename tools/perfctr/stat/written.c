// SPDX-License-Identifier: MIT
/* Events as the user wrote them: perf stat -x prints these, and so do we for what perf has, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"

/* Whether a text may be one event of perf: of a PMU of its, or a name without a PMU. */
static bool may_be_of_perf(const char *event)
{
	char path[128];

	/* of name= it prints that */
	if (strpbrk(event, "*?[") || strstr(event, "name="))
		return false;
	if (!strchr(event, '/'))
		return true;
	return snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%.*s",
			(int)strcspn(event, "/"), event) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

static int keep(struct stat_written *w, const struct counted *of,
		const struct drm_perfctr_block_request *request, char *event)
{
	struct stat_written_event *more;

	more = realloc(w->events, (w->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	w->events = more;
	more[w->count++] = (struct stat_written_event){ of, *request, event };
	return 0;
}

/* Note an event, which becomes the list's if it is one of perf's. Return: 1: it did; 0; -ENOMEM. */
static int note(struct stat_written *w, const struct counted *of, struct perfctr_device *device,
		char *event)
{
	const struct drm_perfctr_block_request *request;
	struct perfctr_selection *one = NULL;
	int result = 0;

	if (perfctr_selection_new(device, &one))
		return -ENOMEM;
	if (perfctr_selection_add(one, event) > 0 && perfctr_selection_request_count(one) == 1) {
		request = perfctr_selection_request(one, 0);
		if (request->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			result = keep(w, of, request, event) ? -ENOMEM : 1;
	}
	perfctr_selection_unref(one);
	return result;
}

int stat_written_note(struct stat_written *w, struct counting *c)
{
	struct counting_walk walk = { 0 };
	struct counted *only;
	int result = 0;
	char *event;

	while (result >= 0 && (event = counting_next_event(c, &walk, &only))) {
		result = 0;
		for (size_t i = 0; !result && may_be_of_perf(event) && i < c->count; i++)
			if (!only || only == &c->counted[i])
				result = note(w, c->has_cgroups ? only : NULL, c->counted[i].device,
					      event);
		if (result <= 0)
			free(event);
	}
	return result < 0 ? result : 0;
}

static bool is_same(const struct drm_perfctr_block_request *a,
		    const struct drm_perfctr_block_request *b)
{
	return a->pmu_type == b->pmu_type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->flags == b->flags;
}

/* How much a text is the name of a counter, which two names of one event have apart. */
static unsigned int likeness(const char *text, const char *counter)
{
	const size_t length = strcspn(counter, "/,");

	if (!strncmp(text, counter, length) && (!text[length] || text[length] == ':'))
		return 3;
	for (const char *at = text; *at; at++)
		if (!strncmp(at, counter, length))
			return 2;
	return 1;
}

const char *stat_written_find(const struct stat_written *w, const struct counted *of,
			      const struct drm_perfctr_block_request *request, const char *counter)
{
	const char *found = NULL;
	unsigned int most = 0;

	for (size_t n = 0; n < w->count; n++) {
		const struct stat_written_event *e = &w->events[n];
		unsigned int like;

		/* -A makes one of each CPU */
		if ((e->of && e->of != of) || !is_same(&e->request, request) ||
		    (e->request.cpu != request->cpu && e->request.cpu != DRM_PERFCTR_CPU_ANY))
			continue;
		like = likeness(e->text, counter) + 4 * (e->request.cpu == request->cpu);
		if (like > most) {
			most = like;
			found = e->text;
		}
	}
	return found;
}

void stat_written_free(struct stat_written *w)
{
	for (size_t n = 0; n < w->count; n++)
		free(w->events[n].text);
	free(w->events);
	*w = (struct stat_written){ 0 };
}
