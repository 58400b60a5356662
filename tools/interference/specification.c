// SPDX-License-Identifier: MIT
/* Files that say what is measured, and the list of machines. */
#include <math.h>
#include <string.h>

#include "contention.h"
#include "lib/embed.h"
#include "validate/builtin.h"
#include "validate/document.h"

static const char *const kinds[] = { "path", "wait", "hits", "others" };
static const char *const parts[CHANNEL_PARTS] = { "counts", "minus", "per" };

EMBED(interference_json, "tools/interference/interference.json");

static struct contention_machine *machines;

void contention_add(struct contention_machine *machine)
{
	machine->next = machines;
	machines = machine;
}

static const struct contention_machine *find_machine(const char *name)
{
	const struct contention_machine *m = machines;

	if (!strcmp(name, contention_programs.name))
		return &contention_programs;
	while (m && strcmp(m->name, name) != 0)
		m = m->next;
	return m;
}

static int read_channel(struct contention *c, struct document *d, struct json_object *o)
{
	static const char *const keys[] = { "name", "kind", "counts", "minus", "per",
					    "hz",   "ns",   "window", NULL };
	struct channel *channel = &c->channels[c->channel_count];
	const char *kind = document_text(d, o, "kind", kinds[WAIT]);
	size_t n = 0;

	if (c->channel_count == MAX_CHANNELS)
		return document_fail(d, o, "at most %d channels", MAX_CHANNELS);
	channel->name = document_text(d, o, "name", NULL);
	for (size_t part = 0; part < CHANNEL_PARTS; part++)
		channel->events[part] =
			document_text(d, o, parts[part], part == COUNTS ? NULL : "");
	while (kind && n < ARRAY_SIZE(kinds) && strcmp(kinds[n], kind) != 0)
		n++;
	if (n == ARRAY_SIZE(kinds))
		return document_fail(d, o, "kind '%s': wait, hits, others or path", kind);
	channel->kind = (enum channel_kind)n;
	channel->window = document_u64(d, o, "window", UINT64_MAX, channel->kind == OTHERS);
	channel->ns = channel->kind == HITS ?
			      (double)document_u64(d, o, "ns", UINT64_MAX, 0) :
			      1e9 / (double)document_u64(d, o, "hz", UINT64_MAX, 1000000000);
	if (*c->failure.text)
		return -1;
	if (channel->kind != OTHERS && !*channel->events[PER])
		return document_fail(d, o, "it needs 'per', the requests");
	if (!channel->window || channel->ns <= 0 || isinf(channel->ns))
		return document_fail(d, o, "it needs 'window', and hits 'ns'");
	for (size_t i = 0; i < c->channel_count; i++)
		if (!strcmp(c->channels[i].name, channel->name))
			return document_fail(d, o, "there are two channels '%s'", channel->name);
	c->channel_count++;
	return document_only(d, o, keys);
}

static void read_work(struct document *d, struct json_object *o, bool required, struct work *work)
{
	work->command = document_text(d, o, "command", required ? NULL : "");
	work->cpus = document_text(d, o, "cpus", "");
	work->cgroup = document_text(d, o, "cgroup", "");
}

static int read_aggressor(struct contention *c, struct document *d, struct json_object *o)
{
	static const char *const keys[] = { "name",   "command",    "cpus", "cgroup",
					    "levels", "concurrent", NULL };
	struct json_object *levels = document_get(d, o, "levels", json_type_array, true);
	struct json_object *concurrent = document_get(d, o, "concurrent", json_type_boolean, false);
	const size_t count = levels ? json_object_array_length(levels) : 0;
	struct aggressor *a;

	c->aggressors = arena_grow(&c->arena, c->aggressors, c->aggressor_count, sizeof(*a));
	a = &c->aggressors[c->aggressor_count++];
	a->name = document_text(d, o, "name", NULL);
	read_work(d, o, c->machine != &contention_readings, &a->work);
	a->concurrent = concurrent && json_object_get_boolean(concurrent);
	if (levels && (count < LEVELS_MIN || count > LEVELS_MAX))
		return document_fail(d, levels, "give %d to %d levels", LEVELS_MIN, LEVELS_MAX);
	for (size_t n = 0; n < count; n++)
		if (document_count(d, json_object_array_get_idx(levels, n), "a level", UINT64_MAX,
				   &a->points[n + 1].level) ||
		    (n && a->points[n + 1].level <= a->points[n].level))
			return document_fail(d, levels, "give ascending levels");
	a->count = count + 1;
	for (size_t n = 0; a->name && n + 1 < c->aggressor_count; n++)
		if (!strcmp(c->aggressors[n].name, a->name))
			return document_fail(d, o, "there are two aggressors '%s'", a->name);
	return document_only(d, o, keys);
}

static int read_task(struct contention *c, struct document *d)
{
	static const char *const keys[] = { "command", "cpus", "cgroup", NULL };
	struct json_object *task;

	/* a text alone is the command */
	if (json_object_object_get_ex(d->root, "task", &task) &&
	    json_object_is_type(task, json_type_object)) {
		read_work(d, task, true, &c->task);
		return document_only(d, task, keys);
	}
	c->task = (struct work){ .command = document_text(d, d->root, "task", NULL),
				 .cpus = "",
				 .cgroup = "" };
	return c->task.command ? 0 : -1;
}

static int choose_machine(struct contention *c, struct document *d)
{
	const char *name = document_text(d, d->root, "machine", contention_programs.name);

	if (!name || c->machine)
		return name ? 0 : -1;
	c->machine = find_machine(name);
	if (c->machine)
		return 0;
	return document_fail(d, d->root,
			     "machine '%s' is not known here: leave it out for programs of this "
			     "machine, and give a model's to the perfctr that comes with it",
			     name);
}

int contention_read(struct contention *c, const char *path,
		    const struct contention_machine *machine)
{
	static const char *const keys[] = { "title", "machine",	 "task",       "jobs",
					    "runs",  "channels", "aggressors", NULL };
	static const struct builtin own = BUILTIN(interference_json, "interference");
	/* a program with a machine of its own has another one */
	const struct builtin *added = path ? NULL : builtin_find("interference");
	const struct builtin *builtin = path || added ? added : &own;
	struct document d = { .name = path ? path : "interference.json",
			      .arena = &c->arena,
			      .failure = &c->failure };
	struct json_object *channels, *aggressors;

	c->machine = machine;
	d.text = builtin ? builtin->text : read_file(&c->arena, path, &d.length, &c->failure);
	d.length = builtin ? (size_t)(builtin->end - builtin->text) - 1 : d.length;
	if (!d.text || document_parse(&d) < 0)
		return -1;
	if (choose_machine(c, &d) || read_task(c, &d)) {
		document_free(&d);
		return -1;
	}
	c->title = document_text(&d, d.root, "title", "Interference");
	c->jobs = document_u64(&d, d.root, "jobs", 1000, 0);
	c->runs = document_u64(&d, d.root, "runs", RUNS_MAX, 3);
	channels = document_get(&d, d.root, "channels", json_type_array, true);
	aggressors = document_get(&d, d.root, "aggressors", json_type_array, true);
	for (size_t n = 0; channels && n < json_object_array_length(channels); n++)
		if (read_channel(c, &d, json_object_array_get_idx(channels, n)))
			break;
	for (size_t n = 0; aggressors && n < json_object_array_length(aggressors); n++)
		if (read_aggressor(c, &d, json_object_array_get_idx(aggressors, n)))
			break;
	document_only(&d, d.root, keys);
	if (!*c->failure.text && !c->aggressor_count)
		document_fail(&d, d.root, "the file has no aggressor");
	document_free(&d);
	return *c->failure.text ? -1 : 0;
}
