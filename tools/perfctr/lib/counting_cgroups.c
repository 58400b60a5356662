// SPDX-License-Identifier: MIT
/* Cgroups that are counted: one, each of several, or one for each event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counting.h"

int counting_take_cgroups(const struct app *app, void *counting, const char *text)
{
	struct counting *c = counting;
	struct counting_event_cgroups *e = &c->event_cgroups;
	struct counting_cgroup_list *more;

	more = realloc(e->lists, (e->list_count + 1) * sizeof(*more));
	if (!more)
		return app_failed(app, -ENOMEM);
	e->lists = more;
	more[e->list_count] = (struct counting_cgroup_list){ strdup(text), c->events.count };
	return more[e->list_count++].text ? 0 : app_failed(app, -ENOMEM);
}

/* How many events are in the first words of -e. Return: 0 or an exit status. */
static int count_events(const struct app *app, struct counting *c, size_t words, size_t *count)
{
	struct counting_walk walk = { 0 };
	struct counted *only;
	char *event;

	for (*count = 0; (event = counting_next_event(c, &walk, &only)); free(event))
		*count += walk.words <= words;
	return *walk.text ? app_failed(app, -ENOMEM) : 0;
}

/*
 * The cgroup of each event, as perf: the first name is of the first event, of all before its -G if
 * no other follows; the next name, also of another -G, is of the next event. An empty one leaves
 * what a -G before says. Ours: a -G before all events is of all. Return: an exit status.
 */
static int name_cgroups(const struct app *app, struct counting *c)
{
	struct counting_event_cgroups *e = &c->event_cgroups;
	size_t total, before, next = 0;
	int status = count_events(app, c, SIZE_MAX, &total);

	e->names = calloc(total + 1, sizeof(*e->names));
	e->places = calloc(total + 1, sizeof(*e->places));
	if (!status && (!e->names || !e->places))
		status = app_failed(app, -ENOMEM);
	for (size_t n = 0; !status && n < e->list_count; n++) {
		const size_t after = e->lists[n].after;
		char *rest = e->lists[n].text, *name;

		status = count_events(app, c, after ? after : SIZE_MAX, &before);
		if (!status && !after && e->list_count > 1)
			status = app_usage(app, "-G before all events is of all: give no other");
		for (; !status && (name = strsep(&rest, ",")); next++) {
			if (*name && next >= before)
				status = app_usage(app,
						   "-G has more cgroups than -e before it has "
						   "events, %zu; --for-each-cgroup counts each "
						   "event in each",
						   before);
			else if (*name)
				e->names[next] = name;
		}
		for (size_t i = 1; !status && next == 1 && i < before; i++)
			e->names[i] = e->names[0];
	}
	e->count = total;
	return status;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Open what each event is counted of; if rows are in the order of events, again after another. */
static int open_of_events(const struct app *app, struct counting *c)
{
	struct counting_event_cgroups *e = &c->event_cgroups;
	int status = 0;

	for (size_t n = 0; !status && n < e->count; n++) {
		size_t before = n;

		while (before && !is_same(e->names[before - 1], e->names[n]) && !c->in_order)
			before--;
		if (before && is_same(e->names[before - 1], e->names[n])) {
			e->places[n] = e->places[before - 1];
			continue;
		}
		e->places[n] = c->count;
		status = counting_open_one(app, c, PERFCTR_DEVICE_LOCAL,
					   e->names[n] ? e->names[n] : "", false);
	}
	return status;
}

/* What -G says. Return: an exit status. */
static int open_lists(const struct app *app, struct counting *c)
{
	struct counting_event_cgroups *e = &c->event_cgroups;
	const struct counting_cgroup_list *first = e->lists;
	size_t same = 0;
	int status;

	if (e->list_count == 1 && *first->text && !strchr(first->text, ',') &&
	    (!first->after || first->after == c->events.count)) {
		c->cgroup = first->text;
		return 0;
	}
	if (!c->events.count || c->metrics.count)
		return app_usage(app, "-G of several cgroups is for events of -e, each of one");
	/* to know where events end */
	status = counting_open_one(app, c, PERFCTR_DEVICE_LOCAL, "", false);
	status = status ? status : name_cgroups(app, c);
	if (c->count)
		counting_drop(c, 0);
	while (!status && same < e->count && is_same(e->names[same], e->names[0]))
		same++;
	if (status)
		return status;
	c->has_cgroups = same < e->count || !e->names[0];
	if (c->has_cgroups)
		return open_of_events(app, c);
	c->cgroup = e->names[0];
	e->count = 0;
	return 0;
}

/* A session of the local device for each of several cgroups. */
static int open_each(const struct app *app, struct counting *c)
{
	char *names = strdup(c->cgroups), *rest = names, *name;
	int status = names ? 0 : app_failed(app, -ENOMEM);

	c->has_cgroups = true;
	while (!status && (name = strsep(&rest, ",")))
		status = *name ? counting_open_one(app, c, PERFCTR_DEVICE_LOCAL, name, false) :
				 app_usage(app,
					   "--for-each-cgroup: a cgroup has no name; / is that "
					   "of all processes");
	free(names);
	return status;
}

int counting_open_cgroups(const struct app *app, struct counting *c)
{
	char *folder;
	int status = 0;

	if (c->event_cgroups.list_count)
		status = open_lists(app, c);
	if (!status && c->cgroups)
		status = open_each(app, c);
	if (!status && c->has_cgroups && c->devices.count)
		status = app_usage(app, "%s counts on the local device: leave out -d",
				   c->cgroups ? "--for-each-cgroup" : "-G of several cgroups");
	if (!status && c->cgroup) {
		/* now, as none of the optional devices has to count it */
		status = counting_find_cgroup(app, c->cgroup, &folder);
		free(folder);
	}
	return status;
}
