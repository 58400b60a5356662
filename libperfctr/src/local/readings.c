// SPDX-License-Identifier: MIT
/*
 * Engine times, memory, power, temperature and frequency, as text of the kernel.
 *
 * DRM clients: the kernel's drm-usage-stats document defines the keys in /proc/PID/fdinfo/FD. A
 * client may have several files and processes, and counts once. Its values may go backwards: the
 * larger one counts. The time of a client that ends is lost from the last reading on; the sample
 * says so by lost_ns. A search for new clients takes at most a fiftieth of the time.
 */
#include "readings.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/pmu.h"

enum {
	NAME_BYTES = 96,
	FDINFO_BYTES = 16384,
	MIN_LOOK_NS = 10000000,
	/* config of the events, as in counters/perf/: what a value is */
	DRM_TIME = 0,
	DRM_CYCLES,
	DRM_CLOCK,
	DRM_MEMORY,
	DRM_FREQUENCY,
	DRM_BUSY,
	HWMON_TEMPERATURE = 0,
	HWMON_POWER,
	HWMON_ENERGY,
	HWMON_FREQUENCY,
	HWMON_VOLTAGE,
};

static const struct {
	const char *name, *root;
} pmus[] = {
	{ "drm", "/sys/class/drm" },
	{ "hwmon", "/sys/class/hwmon" },
	{ "devfreq", "/sys/class/devfreq" },
};

/* Files below the root of a PMU; the first folder is part of the event's name. */
static const struct file_rule {
	const char *pmu, *pattern, *title; /* @title: a file beside it with the device's name */
	unsigned int config, factor;
} file_rules[] = {
	{ "hwmon", "hwmon*/temp*_input", "name", HWMON_TEMPERATURE, 1 },
	{ "hwmon", "hwmon*/power*_average", "name", HWMON_POWER, 1 },
	{ "hwmon", "hwmon*/power*_input", "name", HWMON_POWER, 1 },
	{ "hwmon", "hwmon*/energy*_input", "name", HWMON_ENERGY, 1 },
	{ "hwmon", "hwmon*/freq*_input", "name", HWMON_FREQUENCY, 1 },
	{ "hwmon", "hwmon*/in*_input", "name", HWMON_VOLTAGE, 1 },
	{ "devfreq", "*/cur_freq", NULL, 0, 1 },
	{ "drm", "card*/gt/gt*/rps_act_freq_mhz", NULL, DRM_FREQUENCY, 1000000 },
	{ "drm", "card*/device/tile*/gt*/freq*/act_freq", NULL, DRM_FREQUENCY, 1000000 },
	{ "drm", "card*/device/gpu_busy_percent", NULL, DRM_BUSY, 1 },
	{ "drm", "card*/device/mem_busy_percent", NULL, DRM_BUSY, 1 },
};

/* Keys of fdinfo behind "drm-"; a longer prefix is first. */
static const struct key_rule {
	const char *prefix;
	unsigned int config;
	/* the largest value of all clients counts, instead of the sum; the key is no counter */
	bool largest, ignored;
} key_rules[] = {
	{ "engine-capacity-", .ignored = true },
	{ "engine-", .config = DRM_TIME },
	{ "total-cycles-", .config = DRM_CLOCK, .largest = true },
	{ "cycles-", .config = DRM_CYCLES },
	{ "maxfreq-", .config = DRM_FREQUENCY, .largest = true },
	{ "curfreq-", .config = DRM_FREQUENCY, .largest = true },
	{ "memory-", .config = DRM_MEMORY },
	{ "total-", .config = DRM_MEMORY },
	{ "shared-", .config = DRM_MEMORY },
	{ "resident-", .config = DRM_MEMORY },
	{ "active-", .config = DRM_MEMORY },
	{ "purgeable-", .config = DRM_MEMORY },
};

static const struct {
	const char *pmu;
	unsigned int config;
	const char *unit;
	double scale;
} units[] = {
	{ "hwmon", HWMON_TEMPERATURE, "degC", 1e-3 },
	{ "hwmon", HWMON_POWER, "W", 1e-6 },
	{ "hwmon", HWMON_ENERGY, "J", 1e-6 },
	{ "hwmon", HWMON_VOLTAGE, "V", 1e-3 },
};

/* a DRM client, by all its files */
struct client {
	char key[NAME_BYTES]; /* "i915@0000:00:02.0#7" */
	char path[64]; /* one of its files */
	long pid;
	bool seen, gone;
	uint64_t read_ns;
	/* of each counter: the largest value so far, and that at START */
	uint64_t *values, *bases;
};

struct readings {
	struct client **clients;
	size_t client_count;
	bool started; /* a new client is newer than START */
	uint64_t next_look_ns;
	size_t counter_count;
};

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3;
	return h;
}

/* Replace what has a meaning in the text of an event. */
static void clean(char *text)
{
	for (; *text; text++)
		if (strchr(",/*?[]{}= ", *text))
			*text = '-';
}

/* --- fdinfo ------------------------------------------------------------------------- */

/* a counter of a client; name: of the event */
struct counter {
	char name[2 * NAME_BYTES];
	const struct key_rule *rule;
	uint64_t value;
};

/* a DRM file of a process */
struct fdinfo {
	const char *path;
	long pid;
	char driver[32], pdev[32], id[24];
	char device[64]; /* "i915@0000:00:02.0" */
	char key[NAME_BYTES]; /* of the client: "i915@0000:00:02.0#7" */
};

/* The next line "drm-KEY: VALUE" of a text. */
static bool next_line(const char **text, char *key, char *value)
{
	bool found = false;

	while (!found && **text) {
		found = sscanf(*text, "drm-%95[^: \t\n]: %63[^\n]", key, value) == 2;
		*text += strcspn(*text, "\n");
		*text += **text != '\0';
	}
	return found;
}

static const struct key_rule *find_rule(const char *key)
{
	for (size_t n = 0; n < ARRAY_SIZE(key_rules); n++)
		if (!strncmp(key, key_rules[n].prefix, strlen(key_rules[n].prefix)))
			return key_rules[n].ignored ? NULL : &key_rules[n];
	return NULL;
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *unit;

	errno = 0;
	*value = strtoull(text, &unit, 10);
	if (unit == text || errno || *text == '-')
		return false;
	unit += strspn(unit, " \t");
	if (!strcmp(unit, "KiB"))
		*value <<= 10;
	else if (!strcmp(unit, "MiB"))
		*value <<= 20;
	else if (!strcasecmp(unit, "kHz"))
		*value *= 1000;
	else if (!strcmp(unit, "MHz"))
		*value *= 1000000;
	return true;
}

/* The next counter of the client in a text. */
static bool next_counter(const struct fdinfo *f, const char **text, struct counter *c)
{
	char key[NAME_BYTES], value[64];

	while (next_line(text, key, value)) {
		c->rule = find_rule(key);
		if (!c->rule || !parse_value(value, &c->value))
			continue;
		snprintf(c->name, sizeof(c->name), "%s:%s", f->device, key);
		clean(c->name);
		return true;
	}
	return false;
}

/* Read who the client is. Return: whether it is one. */
static bool identify(const char *text, struct fdinfo *f)
{
	char key[NAME_BYTES], value[64];

	while (next_line(&text, key, value)) {
		if (!strcmp(key, "driver"))
			snprintf(f->driver, sizeof(f->driver), "%.31s", value);
		else if (!strcmp(key, "pdev"))
			snprintf(f->pdev, sizeof(f->pdev), "%.31s", value);
		else if (!strcmp(key, "client-id"))
			snprintf(f->id, sizeof(f->id), "%.23s", value);
	}
	snprintf(f->device, sizeof(f->device), "%s%s%s", f->driver, *f->pdev ? "@" : "", f->pdev);
	clean(f->device);
	snprintf(f->key, sizeof(f->key), "%.63s#%s", f->device, f->id);
	return *f->driver && *f->id;
}

typedef int (*client_fn)(void *arg, struct fdinfo *f, const char *text);

struct scan {
	struct perfctr_ctx *ctx;
	client_fn fn;
	void *arg;
	long pid;
};

static int scan_file(void *arg, const char *name)
{
	const struct scan *s = arg;
	const struct perfctr_sys *sys = s->ctx->sys;
	char path[64], target[64], text[FDINFO_BYTES];
	struct fdinfo f = { .path = path, .pid = s->pid };

	snprintf(path, sizeof(path), "/proc/%ld/fd/%.20s", s->pid, name);
	if (sys->readlink(sys->data, path, target, sizeof(target)) < 0 ||
	    strncmp(target, "/dev/dri/", 9) != 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%.20s", s->pid, name);
	if (perfctr_sys_read_text(sys, path, text, sizeof(text)) <= 0 || !identify(text, &f))
		return 0;
	return s->fn(s->arg, &f, text);
}

static int scan_process(void *arg, const char *name)
{
	struct scan *s = arg;
	char path[64], *end;
	int error;

	s->pid = strtol(name, &end, 10);
	if (*end || end == name)
		return 0;
	snprintf(path, sizeof(path), "/proc/%ld/fd", s->pid);
	error = s->ctx->sys->list(s->ctx->sys->data, path, scan_file, s);
	/* another user's process, or it ended */
	return error == -ENOMEM ? error : 0;
}

/* Call fn for the fdinfo of each open DRM file that this user may see. */
static int scan_clients(struct perfctr_ctx *ctx, client_fn fn, void *arg)
{
	struct scan s = { ctx, fn, arg, 0 };

	return ctx->sys->list(ctx->sys->data, "/proc", scan_process, &s);
}

/* --- sysfs -------------------------------------------------------------------------- */

typedef int (*file_fn)(void *arg, const struct file_rule *rule, const char *name, const char *path);

struct walk {
	struct perfctr_ctx *ctx;
	const struct file_rule *rule;
	size_t root_length; /* of path, with the slash */
	const char *rest; /* of the pattern */
	char path[PATH_BYTES];
	file_fn fn;
	void *arg;
};

/* "hwmon2-coretemp:temp1_input" of "/sys/class/hwmon/hwmon2/temp1_input" */
static int visit_file(struct walk *w)
{
	const char *first = w->path + w->root_length, *file = strchr(first, '/');
	char title[64] = "", path[PATH_BYTES + 16], name[2 * PATH_BYTES];
	size_t length;

	if (w->rule->title) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(file - w->path), w->path,
			 w->rule->title);
		perfctr_sys_read_text(w->ctx->sys, path, title, sizeof(title));
	}
	snprintf(name, sizeof(name), "%.*s%s%s:", (int)(file - first), first, *title ? "-" : "",
		 title);
	length = strlen(name);
	snprintf(name + length, sizeof(name) - length, "%s",
		 strncmp(file, "/device/", 8) ? file + 1 : file + 8);
	clean(name);
	return w->fn(w->arg, w->rule, name, w->path);
}

static int walk_entry(void *arg, const char *entry)
{
	struct walk *w = arg;
	size_t length = strlen(w->path), part = strcspn(w->rest, "/");
	const char *rest = w->rest;
	char pattern[64];
	int error = 0;

	snprintf(pattern, sizeof(pattern), "%.*s", (int)part, rest);
	/* "card0-DP-1" is a connector */
	if (fnmatch(pattern, entry, 0) || (!strcmp(pattern, "card*") && strchr(entry, '-')) ||
	    length + strlen(entry) + 2 > sizeof(w->path))
		return 0;
	strcpy(w->path + length, entry);
	if (rest[part]) {
		strcat(w->path, "/");
		w->rest = rest + part + 1;
		error = w->ctx->sys->list(w->ctx->sys->data, w->path, walk_entry, w);
		error = error == -ENOMEM || error > 0 ? error : 0;
	} else {
		error = visit_file(w);
	}
	w->path[length] = '\0';
	w->rest = rest;
	return error;
}

/* Call fn for each file of a PMU. */
static int walk_files(struct perfctr_ctx *ctx, const char *pmu, file_fn fn, void *arg)
{
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(file_rules); n++) {
		struct walk w = { .ctx = ctx, .rule = &file_rules[n], .fn = fn, .arg = arg };

		if (strcmp(file_rules[n].pmu, pmu) != 0)
			continue;
		snprintf(w.path, sizeof(w.path), "/sys/class/%s/", pmu);
		w.root_length = strlen(w.path);
		w.rest = file_rules[n].pattern;
		error = ctx->sys->list(ctx->sys->data, w.path, walk_entry, &w);
		error = error == -ENOENT ? 0 : error;
	}
	return error;
}

/* --- names -------------------------------------------------------------------------- */

static int is_there(void *arg, const char *name)
{
	return 1;
}

int readings_pmus(struct perfctr_ctx *ctx, int (*fn)(void *arg, const char *name, uint32_t type),
		  void *arg)
{
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(pmus); n++)
		if (ctx->sys->list(ctx->sys->data, pmus[n].root, is_there, NULL) > 0)
			error = fn(arg, pmus[n].name, READINGS_TYPE + (uint32_t)n);
	return error;
}

struct listing {
	sys_list_fn fn;
	void *arg;
	/* names that were listed */
	char (*names)[NAME_BYTES];
	size_t count;
	int error;
};

static void list_name(struct listing *l, const char *name)
{
	char(*names)[NAME_BYTES];

	for (size_t n = 0; n < l->count; n++)
		if (!strcmp(l->names[n], name))
			return;
	names = realloc(l->names, (l->count + 1) * sizeof(*names));
	if (!names) {
		l->error = -ENOMEM;
		return;
	}
	l->names = names;
	snprintf(names[l->count++], NAME_BYTES, "%.95s", name);
	if (!l->error)
		l->error = l->fn(l->arg, name);
}

static int list_client(void *arg, struct fdinfo *f, const char *text)
{
	struct listing *l = arg;
	struct counter c;

	while (next_counter(f, &text, &c))
		list_name(l, c.name);
	return l->error;
}

static int list_file(void *arg, const struct file_rule *rule, const char *name, const char *path)
{
	struct listing *l = arg;

	list_name(l, name);
	return l->error;
}

int readings_list(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg)
{
	struct listing l = { .fn = fn, .arg = arg };
	int error = 0;

	if (!strcmp(pmu->name, "drm"))
		error = scan_clients(ctx, list_client, &l);
	if (!error)
		error = walk_files(ctx, pmu->name, list_file, &l);
	free(l.names);
	return error;
}

struct pids {
	const char *name; /* of a client event */
	int (*fn)(void *arg, long pid);
	void *arg;
	long last; /* a process's files come one after the other */
};

static int list_pid(void *arg, struct fdinfo *f, const char *text)
{
	struct pids *p = arg;
	struct counter c;

	while (f->pid != p->last && next_counter(f, &text, &c)) {
		if (strcmp(p->name, c.name) != 0)
			continue;
		p->last = f->pid;
		return p->fn(p->arg, f->pid);
	}
	return 0;
}

int readings_pids(struct perfctr_ctx *ctx, const char *name, int (*fn)(void *arg, long pid),
		  void *arg)
{
	struct pids p = { .name = name, .fn = fn, .arg = arg };

	return scan_clients(ctx, list_pid, &p);
}

struct search {
	uint64_t hash;
	const struct file_rule *rule;
	char path[PATH_BYTES];
};

static int search_file(void *arg, const struct file_rule *rule, const char *name, const char *path)
{
	struct search *s = arg;

	if (hash(name) != s->hash)
		return 0;
	s->rule = rule;
	snprintf(s->path, sizeof(s->path), "%s", path);
	return 1;
}

int readings_add_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
		      struct pmu_event *event)
{
	struct search s = { .hash = hash(term) };
	const char *key = strrchr(term, ':');
	const struct key_rule *rule = NULL;
	unsigned long pid;
	int end = 0;

	if (!strcmp(pmu->name, "drm")) {
		/* labels have the process's name in parentheses */
		if (sscanf(term, "pid=%lu%n", &pid, &end) == 1 && strchr(" ", term[end])) {
			event->config2 = pid;
			return 0;
		}
		/* a client of the device may come later */
		rule = key ? find_rule(key + 1) : NULL;
	}
	if (!rule && walk_files(ctx, pmu->name, search_file, &s) != 1)
		return perfctr_fail(ctx, -ENOENT, "%s has no event \"%s\"; see \"perfctr list\"",
				    pmu->name, term);
	event->config = rule ? rule->config : s.rule->config;
	event->config1 = s.hash;
	for (size_t n = 0; n < ARRAY_SIZE(units); n++) {
		if (strcmp(units[n].pmu, pmu->name) != 0 || units[n].config != event->config)
			continue;
		snprintf(event->unit, sizeof(event->unit), "%s", units[n].unit);
		event->scale = units[n].scale;
	}
	return 0;
}

/* --- a session's counters ----------------------------------------------------------- */

static bool is_client_event(const struct local_counter *counter)
{
	return is_reading(counter->pmu_type) && !*counter->path;
}

struct profiling {
	struct perfctr_ctx *ctx;
	const char *folder;
};

static int check_switch(void *arg, const char *name)
{
	const struct profiling *p = arg;
	char path[PATH_BYTES], text[8];

	snprintf(path, sizeof(path), "%s/%.64s/profiling", p->folder, name);
	if (perfctr_sys_read_text(p->ctx->sys, path, text, sizeof(text)) <= 0 || strcmp(text, "0"))
		return 0;
	return perfctr_fail(p->ctx, -EOPNOTSUPP,
			    "the driver counts engines only after: echo 1 | sudo tee %s", path);
}

/* Some drivers count engines only after a switch. */
static int check_switches(struct perfctr_ctx *ctx)
{
	static const char *const folders[] = { "/sys/bus/platform/drivers/panfrost",
					       "/sys/bus/platform/drivers/panthor" };
	int error = 0;

	for (size_t n = 0; error != -EOPNOTSUPP && n < ARRAY_SIZE(folders); n++) {
		struct profiling p = { ctx, folders[n] };

		error = ctx->sys->list(ctx->sys->data, p.folder, check_switch, &p);
	}
	return error == -EOPNOTSUPP ? error : 0;
}

int readings_open(struct perfctr_ctx *ctx, struct perf_events *events,
		  struct local_counter *counter)
{
	struct search s = { .hash = counter->config1 };
	const size_t n = counter->pmu_type - READINGS_TYPE;
	const struct perfctr_counter_desc *desc;
	int error;

	if (n >= ARRAY_SIZE(pmus))
		return perfctr_fail(ctx, -ENOENT, "there is no PMU of type %u", counter->pmu_type);
	if (!events->readings)
		events->readings = calloc(1, sizeof(*events->readings));
	if (!events->readings)
		return perfctr_no_memory(ctx);
	events->readings->counter_count = events->counter_count;
	snprintf(counter->pmu, sizeof(counter->pmu), "%s", pmus[n].name);
	counter->open_count = 1;
	counter->open_cpu = DRM_PERFCTR_CPU_ANY;
	desc = perfctr_counter_of_pmu(counter->pmu, counter->config);
	if (!desc)
		return perfctr_fail(ctx, -ENOENT, "%s has no events %llu", counter->pmu,
				    (unsigned long long)counter->config);
	counter->is_level = desc->kind == PERFCTR_KIND_LEVEL;
	error = walk_files(ctx, pmus[n].name, search_file, &s);
	if (error == 1) {
		snprintf(counter->path, sizeof(counter->path), "%s", s.path);
		counter->factor = s.rule->factor;
		return 0;
	}
	if (n || error || counter->config > DRM_FREQUENCY)
		return perfctr_fail(ctx, error ? error : -ENOENT, "a sensor of %s is gone",
				    counter->pmu);
	return counter->config <= DRM_CYCLES ? check_switches(ctx) : 0;
}

static void take_value(struct perf_events *events, struct client *client,
		       const struct counter *counter)
{
	const uint64_t id = hash(counter->name);

	for (size_t n = 0; n < events->counter_count; n++) {
		struct local_counter *c = &events->counters[n];

		if (!is_client_event(c) || c->config != counter->rule->config || c->config1 != id ||
		    (c->config2 && c->config2 != (uint64_t)client->pid))
			continue;
		c->has_value = true;
		c->largest = counter->rule->largest;
		/* the document lets engines' values go backwards */
		if (c->is_level || counter->value > client->values[n])
			client->values[n] = counter->value;
	}
}

static void read_client(struct perf_events *events, struct client *client, struct fdinfo *f,
			const char *text)
{
	struct counter counter;

	client->read_ns = perfctr_time_raw_ns();
	while (next_counter(f, &text, &counter))
		take_value(events, client, &counter);
}

/* Begin with a client's values; those of a client that is newer than START are counts. */
static struct client *add_client(struct perf_events *events, const char *key)
{
	struct readings *r = events->readings;
	struct client **clients = realloc(r->clients, (r->client_count + 1) * sizeof(*clients));
	struct client *c = calloc(1, sizeof(*c));

	if (clients)
		r->clients = clients;
	if (c)
		c->values = calloc(2 * r->counter_count, sizeof(*c->values));
	if (!clients || !c || !c->values) {
		free(c ? c->values : NULL);
		free(c);
		return NULL;
	}
	c->bases = c->values + r->counter_count;
	snprintf(c->key, sizeof(c->key), "%.95s", key);
	clients[r->client_count++] = c;
	return c;
}

static int see_client(void *arg, struct fdinfo *f, const char *text)
{
	struct perf_events *events = arg;
	struct readings *r = events->readings;
	struct client *c = NULL;
	bool is_new;

	for (size_t n = 0; n < r->client_count; n++)
		if (!strcmp(r->clients[n]->key, f->key))
			c = r->clients[n];
	is_new = !c;
	if (is_new)
		c = add_client(events, f->key);
	if (!c)
		return -ENOMEM;
	if (c->seen)
		return 0;
	c->seen = true;
	c->gone = false;
	c->pid = f->pid;
	snprintf(c->path, sizeof(c->path), "%s", f->path);
	read_client(events, c, f, text);
	for (size_t n = 0; is_new && n < r->counter_count; n++)
		if (!r->started || events->counters[n].largest)
			c->bases[n] = c->values[n];
	return 0;
}

/* A client that ended keeps its counts; what it did since its last reading is lost. */
static void end_client(struct perf_events *events, struct client *client, uint64_t now_ns)
{
	const uint64_t lost_ns = now_ns - client->read_ns;

	client->gone = true;
	for (size_t n = 0; n < events->counter_count; n++) {
		struct local_counter *c = &events->counters[n];

		if (!is_client_event(c) || !client->values[n])
			continue;
		if (c->is_level)
			client->values[n] = 0;
		if (c->is_level || c->largest)
			continue;
		c->states |= DRM_PERFCTR_STATE_LOST;
		if (lost_ns > events->lost_ns)
			events->lost_ns = lost_ns;
	}
}

static bool reread(struct perf_events *events, struct client *client)
{
	struct fdinfo f = { .path = client->path };
	char text[FDINFO_BYTES];

	/* the descriptor may be of another file by now */
	if (perfctr_sys_read_text(events->sys, client->path, text, sizeof(text)) <= 0 ||
	    !identify(text, &f) || strcmp(f.key, client->key) != 0)
		return false;
	read_client(events, client, &f, text);
	return true;
}

static void read_clients(struct perf_events *events, uint64_t now_ns)
{
	struct readings *r = events->readings;
	bool look = now_ns >= r->next_look_ns;
	uint64_t took_ns;

	for (size_t n = 0; !look && n < r->client_count; n++)
		look = !r->clients[n]->gone && !reread(events, r->clients[n]);
	if (!look)
		return;
	for (size_t n = 0; n < r->client_count; n++)
		r->clients[n]->seen = false;
	scan_clients(events->ctx, see_client, events);
	took_ns = perfctr_time_raw_ns() - now_ns;
	r->next_look_ns = now_ns + MIN_LOOK_NS + 50 * took_ns;
	for (size_t n = 0; n < r->client_count; n++)
		if (!r->clients[n]->seen && !r->clients[n]->gone)
			end_client(events, r->clients[n], now_ns);
}

static void sum_clients(const struct readings *r, struct local_counter *c, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->client_count; i++) {
		uint64_t value = r->clients[i]->values[n] - r->clients[i]->bases[n];

		if (c->is_level)
			value = r->clients[i]->values[n];
		if (!c->largest)
			sum += value;
		else if (value > sum)
			sum = value;
	}
	/* not smaller than before: a clock may be that of another client now */
	c->sum[0] = c->is_level || sum > c->sum[0] ? sum : c->sum[0];
	c->incomplete |= !c->has_value;
}

static void read_file(struct perf_events *events, struct local_counter *c)
{
	char text[32], *end;
	long long value = -1;
	uint64_t scaled;

	if (perfctr_sys_read_text(events->sys, c->path, text, sizeof(text)) > 0) {
		value = strtoll(text, &end, 10);
		value = *end ? -1 : value;
	}
	/* a block's values are not negative: below 0 degrees nothing is shown */
	if (value < 0) {
		c->incomplete = true;
		return;
	}
	scaled = (uint64_t)value * c->factor;
	/* gone: the last value of energy, which a reset of the sensor may set back */
	if (c->is_level)
		c->sum[0] = scaled;
	else if (c->has_value && scaled < c->gone[0])
		c->states |= DRM_PERFCTR_STATE_LOST;
	else if (c->has_value)
		c->sum[0] += scaled - c->gone[0];
	c->gone[0] = scaled;
	c->has_value = true;
}

void readings_read(struct perf_events *events, uint64_t now_ns)
{
	bool clients = false;

	if (!events->readings)
		return;
	for (size_t n = 0; n < events->counter_count; n++)
		clients |= is_client_event(&events->counters[n]);
	if (clients)
		read_clients(events, now_ns);
	for (size_t n = 0; n < events->counter_count; n++) {
		struct local_counter *c = &events->counters[n];

		if (!is_reading(c->pmu_type))
			continue;
		c->sum[1] = c->sum[2] = now_ns;
		if (is_client_event(c))
			sum_clients(events->readings, c, n);
		else
			read_file(events, c);
	}
}

static void forget(struct readings *r)
{
	while (r->client_count) {
		free(r->clients[--r->client_count]->values);
		free(r->clients[r->client_count]);
	}
	r->next_look_ns = 0;
	r->started = false;
}

void readings_start(struct perf_events *events)
{
	if (!events->readings)
		return;
	forget(events->readings);
	for (size_t n = 0; n < events->counter_count; n++)
		if (is_client_event(&events->counters[n]))
			events->counters[n].sum[0] = 0;
	readings_read(events, perfctr_time_raw_ns());
	events->readings->started = true;
}

void readings_free(struct perf_events *events)
{
	if (!events->readings)
		return;
	forget(events->readings);
	free(events->readings->clients);
	free(events->readings);
}
