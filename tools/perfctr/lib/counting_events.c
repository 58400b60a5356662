// SPDX-License-Identifier: MIT
/* What is selected on the devices that count: events, metrics, and those of cgroups. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "counting.h"
#include "device.h"

static int new_selection(const struct counting *c, struct perfctr_device *device,
			 struct perfctr_selection **selection)
{
	int error = perfctr_selection_new(device, selection);

	return error || !c->set ?
		       error :
		       perfctr_selection_set_counter_set(*selection, (unsigned int)c->set);
}

/* The device that counts events of the machine: the local one, or the first. */
static size_t machine_of(const struct counting *c)
{
	for (size_t n = 0; n < c->count; n++)
		if (device_is_local(c->counted[n].device))
			return n;
	return 0;
}

/* Return: counters that were added, 0: another device has this event of the machine; or -errno. */
static int add_where(const struct counting *c, struct counted *d, const char *event,
		     bool *has_machine)
{
	struct perfctr_selection *one = NULL;
	int added = new_selection(c, d->device, &one);

	if (!added)
		added = perfctr_selection_add(one, event);
	if (added > 0 && !c->has_cgroups && device_is_of_machine(one)) {
		if (*has_machine)
			added = 0;
		*has_machine = true;
	}
	perfctr_selection_unref(one);
	return added > 0 ? perfctr_selection_add(d->next, event) : added;
}

/* The device whose node is before an event, or NULL. */
static struct counted *named_by(struct counting *c, const char *event)
{
	for (struct counted *d = c->counted; d < c->counted + c->count; d++)
		if (!strncmp(event, d->name, strlen(d->name)) && event[strlen(d->name)] == ':')
			return d;
	return NULL;
}

/*
 * Add an event to each device that has it. @only: to this one, NULL: to any; @required: one must.
 * Return: 0 or an exit status.
 */
static int add_event(const struct app *app, struct counting *c, const struct counted *only,
		     const char *event, bool required)
{
	const size_t machine = machine_of(c);
	struct counted *refused = NULL;
	bool found = false, has_machine = false;

	for (size_t n = 0; n < c->count; n++) {
		struct counted *d = &c->counted[(machine + n) % c->count];
		int added = only && only != d ? 0 : add_where(c, d, event, &has_machine);

		found |= added > 0;
		/* the first that knows the event, and refuses it, has the best reason */
		if (added < 0 && (!refused || added != -ENOENT))
			refused = d;
	}
	return found || !required || !refused ?
		       0 :
		       device_select(app, refused->device, refused->next, &event, 1);
}

static char *next_of_word(struct counting *c, const char **text, struct counted **only)
{
	static const char local[] = PERFCTR_DEVICE_LOCAL ":";
	const char *start = *text + strspn(*text, ", {");
	const bool is_local = !strncmp(start, local, strlen(local));
	size_t length, end;
	char *event;

	*text = start;
	if (!*start)
		return NULL;
	if (c->event_cgroups.list_count) {
		*only = NULL;
		start += is_local ? strlen(local) : 0;
	} else {
		*only = named_by(c, start);
		start += *only ? strlen((*only)->name) + 1 : 0;
	}
	length = strlen(start);
	/* a device that knows the block of a GPU has the shortest */
	for (size_t n = 0; n < c->count; n++) {
		end = perfctr_event_length(c->counted[n].device, start);
		length = end < length ? end : length;
	}
	event = strndup(start, length);
	for (end = length; event && end && strchr("} ", event[end - 1]);)
		event[--end] = '\0';
	if (event)
		*text = start + length;
	return event;
}

char *counting_next_event(struct counting *c, struct counting_walk *walk, struct counted **only)
{
	const struct counting_event_cgroups *e = &c->event_cgroups;
	char *event = NULL;

	for (;;) {
		event = walk->text ? next_of_word(c, &walk->text, only) : NULL;
		if (event || (walk->text && *walk->text) || walk->words == c->events.count)
			break;
		walk->text = c->events.words[walk->words++];
	}
	if (event && walk->events < e->count)
		*only = &c->counted[e->places[walk->events]];
	walk->events += event != NULL;
	return event;
}

/* Add events of a text one by one: each may be of another device. */
static int add_text(const struct app *app, struct counting *c, const char *text)
{
	struct counted *only;
	int status = 0;
	char *event;

	while (!status && (event = next_of_word(c, &text, &only))) {
		status = add_event(app, c, only, event, true);
		free(event);
	}
	return status || !*text ? status : app_failed(app, -ENOMEM);
}

/* Add each event for the cgroup that -G has for it. Return: 0 or an exit status. */
static int add_in_cgroups(const struct app *app, struct counting *c)
{
	struct counting_walk walk = { 0 };
	struct counted *only;
	int status = 0;
	char *event;

	while (!status && (event = counting_next_event(c, &walk, &only))) {
		status = add_event(app, c, only, event, true);
		free(event);
	}
	return status || !*walk.text ? status : app_failed(app, -ENOMEM);
}

/* -M a,b is -e metric:a,metric:b */
static int add_metrics(const struct app *app, struct counting *c)
{
	int status = 0;

	for (size_t n = 0; !status && n < c->metrics.count; n++) {
		char *names = strdup(c->metrics.words[n]), *rest = names, *name, *event;

		if (!names)
			return app_failed(app, -ENOMEM);
		while (!status && (name = strsep(&rest, ","))) {
			if (asprintf(&event, "metric:%s", name) < 0)
				event = NULL;
			status = event ? add_event(app, c, NULL, event, true) :
					 app_failed(app, -ENOMEM);
			free(event);
		}
		free(names);
	}
	return status;
}

static int select_next(const struct app *app, struct counting *c, const char *const *patterns)
{
	const struct option_words *events = &c->events;
	const size_t machine = machine_of(c);
	int status = 0;

	for (; patterns && *patterns; patterns++)
		status = status ? status : add_event(app, c, NULL, *patterns, false);
	if (patterns)
		return status;
	if (c->event_cgroups.count) {
		status = add_in_cgroups(app, c);
		return status || !c->per_client ?
			       status :
			       app_usage(app, "--per-client counts the machine: leave out -G");
	}
	/* messages of one device are about the text as it was written */
	for (size_t n = 0; !status && n < events->count; n++)
		status = c->count > 1 || named_by(c, events->words[n]) ?
				 add_text(app, c, events->words[n]) :
				 device_select(app, c->counted[0].device, c->counted[0].next,
					       &events->words[n], 1);
	status = status ? status : add_metrics(app, c);
	for (size_t n = 0; !status && !counting_names_events(c) && n < c->count; n++) {
		struct counted *d = &c->counted[n];

		/* each of several cgroups would show the counts of the whole machine */
		status = device_select_defaults(app, d->device, d->next,
						n == machine && !c->has_cgroups);
		if (status && d->is_optional && c->count > 1) {
			counting_say_whose(app, c, d);
			status = 0;
		}
	}
	return status || !c->per_client ? status :
					  device_select_clients(app, c->counted[machine].next);
}

int counting_select(const struct app *app, struct counting *c, const char *const *patterns)
{
	bool any = false;
	int error = 0, status;

	for (size_t n = 0; !error && n < c->count; n++)
		error = new_selection(c, c->counted[n].device, &c->counted[n].next);
	status = error ? app_failed(app, error) : select_next(app, c, patterns);
	for (size_t n = 0; n < c->count; n++)
		any |= !status && perfctr_selection_request_count(c->counted[n].next);
	for (size_t n = 0; n < c->count; n++) {
		struct counted *d = &c->counted[n];

		if (any) {
			perfctr_selection_unref(d->selection);
			d->selection = perfctr_selection_request_count(d->next) ?
					       perfctr_selection_ref(d->next) :
					       NULL;
		}
		d->next = perfctr_selection_unref(d->next);
	}
	if (!status && !any && !patterns)
		app_error(app, "none of the devices has something to count");
	return status ? status : any ? 0 : EXIT_FAILED;
}
