// SPDX-License-Identifier: MIT
/* Engine times, memory, power, temperature and frequency, as text of the kernel. */
#include "readings.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "counters/pmu.h"
#include "gauge.h"
#include "sensors.h"

/* how many engines an event of DRM clients stands for */
struct drm_capacity {
	uint64_t event; /* perfctr_hash() of its name */
	unsigned int engines;
};

/* by type number: a folder of files, or a source of tables */
static const struct {
	const char *name, *root;
	const struct gauge_source *source;
} pmus[] = {
	{ "drm", "/sys/class/drm", NULL },
	{ "hwmon", "/sys/class/hwmon", NULL },
	{ "devfreq", "/sys/class/devfreq", NULL },
	{ "amdgpu", NULL, &amdgpu_source },
	{ "nvml", NULL, &nvml_source },
	{ "gpu_stats", NULL, &gpu_stats_source },
};

/* what a counter of a session reads: @client of the session's clients, a table, or a sensor */
struct reading {
	bool is_used, is_client;
	size_t client;
	struct gauge *gauge;
	struct sensor sensor;
	uint64_t valued_ns; /* time of the last read that had a value, or of START */
};

struct readings {
	struct drm_clients clients;
	void *states[ARRAY_SIZE(pmus)]; /* of the sources */
	struct reading *list; /* by number of the counter */
	uint64_t read_ns; /* time of the last read */
};

static const struct gauge_source *source_of(const char *pmu)
{
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		if (!strcmp(pmus[n].name, pmu))
			return pmus[n].source;
	return NULL;
}

/* --- names -------------------------------------------------------------------------- */

static int is_there(void *arg, const char *name)
{
	return 1;
}

static int readings_pmus(struct perfctr_ctx *ctx,
			 int (*fn)(void *arg, const char *name, uint32_t type), void *arg)
{
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(pmus); n++)
		if (pmus[n].source ?
			    pmus[n].source->exists(ctx) :
			    ctx->sys->list(ctx->sys->data, pmus[n].root, is_there, NULL) > 0)
			error = fn(arg, pmus[n].name, READINGS_TYPE + (uint32_t)n);
	return error;
}

struct listing {
	struct perfctr_ctx *ctx;
	sys_list_fn fn;
	void *arg;
	/* names that were listed */
	char **names;
	size_t count;
};

static int list_name(struct listing *l, const char *name)
{
	char **names;

	for (size_t n = 0; n < l->count; n++)
		if (!strcmp(l->names[n], name))
			return 0;
	names = realloc(l->names, (l->count + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	l->names = names;
	names[l->count] = strdup(name);
	if (!names[l->count])
		return -ENOMEM;
	l->count++;
	return l->fn(l->arg, name);
}

/* How many engines an event stands for in this context; 0: nobody asked. */
static unsigned int find_capacity(const struct perfctr_ctx *ctx, uint64_t event)
{
	for (size_t n = 0; n < ctx->capacity_count; n++)
		if (ctx->capacities[n].event == event)
			return ctx->capacities[n].engines;
	return 0;
}

/* Keep how many engines an event stands for, so that one search serves all events. */
static void note_capacity(struct perfctr_ctx *ctx, uint64_t event, unsigned int engines)
{
	struct drm_capacity *list;

	if (find_capacity(ctx, event))
		return;
	list = realloc(ctx->capacities, (ctx->capacity_count + 1) * sizeof(*list));
	if (!list)
		return;
	ctx->capacities = list;
	list[ctx->capacity_count++] = (struct drm_capacity){ .event = event, .engines = engines };
}

static int list_client(void *arg, const struct drm_file *file, const char *text)
{
	struct listing *l = arg;
	const char *at = text;
	struct drm_value value;
	int error = 0;

	while (!error && drm_next_value(file, &at, &value)) {
		if (value.config <= DRM_CYCLES)
			note_capacity(l->ctx, perfctr_hash(value.name),
				      drm_capacity(text, value.name));
		error = l->fn ? list_name(l, value.name) : 0;
	}
	return error;
}

static int list_file(void *arg, const struct sensor_rule *rule, const char *name, const char *path)
{
	return list_name(arg, name);
}

static int list_gauge(void *arg, const char *name, const struct gauge_kind *kind)
{
	const struct listing *l = arg;

	return l->fn(l->arg, name);
}

static int readings_list(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg)
{
	struct listing l = { .ctx = ctx, .fn = fn, .arg = arg };
	const struct gauge_source *source = source_of(pmu->name);
	char reason[GAUGE_REASON_BYTES] = "";
	int error = 0;

	if (source)
		return source->list(ctx, list_gauge, &l, reason);
	if (!strcmp(pmu->name, "drm"))
		error = drm_scan(ctx, list_client, &l);
	if (!error)
		error = sensors_walk(ctx, pmu->name, list_file, &l);
	while (l.count)
		free(l.names[--l.count]);
	free(l.names);
	return error;
}

static int ignore_gauge(void *arg, const char *name, const struct gauge_kind *kind)
{
	return 0;
}

static int is_client(void *arg, const struct drm_file *file, const char *text)
{
	struct drm_value value;

	return drm_next_value(file, &text, &value);
}

static int readings_explain(struct perfctr_ctx *ctx, const char *pmu)
{
	const struct gauge_source *source = source_of(pmu);
	char reason[GAUGE_REASON_BYTES] = "";

	if (!strcmp(pmu, "drm") && !drm_scan(ctx, is_client, NULL))
		return perfctr_fail(ctx, -ENOENT,
				    "drm: no program that this user may see uses a GPU whose "
				    "driver shows it: begin one first; others' need "
				    "CAP_SYS_PTRACE");
	if (source)
		source->list(ctx, ignore_gauge, NULL, reason);
	return *reason ? perfctr_fail(ctx, -EOPNOTSUPP, "%s: %s", pmu, reason) : 0;
}

struct pids {
	const char *name; /* of a client event */
	int (*fn)(void *arg, long pid);
	void *arg;
	long last; /* a process's files come one after the other */
};

static int list_pid(void *arg, const struct drm_file *file, const char *text)
{
	struct pids *p = arg;
	struct drm_value value;

	while (file->pid != p->last && drm_next_value(file, &text, &value)) {
		if (strcmp(p->name, value.name) != 0)
			continue;
		p->last = file->pid;
		return p->fn(p->arg, file->pid);
	}
	return 0;
}

static int readings_pids(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
			 int (*fn)(void *arg, long pid), void *arg)
{
	const struct gauge_source *source = source_of(pmu->name);
	struct pids p = { .name = name, .fn = fn, .arg = arg };
	char reason[GAUGE_REASON_BYTES] = "";
	int error;

	if (source && !source->pids)
		return 0;
	if (source) {
		error = source->pids(ctx, name, fn, arg, reason);
		return error && *reason ? perfctr_fail(ctx, error, "%s: %s", pmu->name, reason) :
					  error;
	}
	return drm_scan(ctx, list_pid, &p);
}

struct device_list {
	struct perfctr_ctx *ctx;
	const char *folder;
	sys_list_fn fn;
	void *arg;
	int result; /* of fn */
};

static int list_device(void *arg, const char *name)
{
	struct device_list *l = arg;
	char path[PATH_BYTES], clean[DRM_NAME_BYTES];

	snprintf(path, sizeof(path), "%s/%.128s/drm", l->folder, name);
	if (l->ctx->sys->list(l->ctx->sys->data, path, is_there, NULL) <= 0)
		return 0;
	snprintf(clean, sizeof(clean), "%s", name);
	event_name_clean(clean);
	l->result = l->fn(l->arg, clean);
	return l->result;
}

static int readings_devices(struct perfctr_ctx *ctx, const char *driver, sys_list_fn fn, void *arg)
{
	static const char *const buses[] = { "platform", "pci" };
	char folder[PATH_BYTES];
	struct device_list l = { .ctx = ctx, .folder = folder, .fn = fn, .arg = arg };

	/* most have devices on one bus only */
	for (size_t n = 0; !l.result && n < ARRAY_SIZE(buses); n++) {
		snprintf(folder, sizeof(folder), "/sys/bus/%s/drivers/%.64s", buses[n], driver);
		ctx->sys->list(ctx->sys->data, folder, list_device, &l);
	}
	return l.result;
}

struct search {
	uint64_t hash;
	const struct sensor_rule *rule;
	char path[PATH_BYTES];
	const struct gauge_kind *kind;
};

static int search_gauge(void *arg, const char *name, const struct gauge_kind *kind)
{
	struct search *s = arg;

	if (perfctr_hash(name) != s->hash)
		return 0;
	s->kind = kind;
	return 1;
}

/*
 * An event of a class of several engines has their time: its share of the elapsed time is that of
 * one engine of the class, so the unit's factor divides by their number. That of an event which no
 * client has yet is 1 for good: the session divides then, see struct drm_counter.
 */
static void add_capacity(struct perfctr_ctx *ctx, uint64_t event, struct pmu_event *result)
{
	struct listing l = { .ctx = ctx };

	if (!find_capacity(ctx, event)) {
		drm_scan(ctx, list_client, &l);
		note_capacity(ctx, event, 1);
	}
	if (find_capacity(ctx, event) > 1)
		result->scale = 1.0 / find_capacity(ctx, event);
}

/* A term "pid=7", with the process's name in parentheses in labels. */
static int add_pid(struct perfctr_ctx *ctx, const char *term, struct pmu_event *event)
{
	const char *number = term + strlen("pid=");
	unsigned long pid;
	char *end;

	errno = 0;
	pid = strtoul(number, &end, 10);
	if (!isdigit((unsigned char)*number) || errno || !pid || pid > INT_MAX ||
	    (*end && *end != ' '))
		return perfctr_fail(ctx, -EINVAL,
				    "%s is no process: pid= takes its number, or * for each", term);
	if (event->config2)
		return perfctr_fail(ctx, -EINVAL,
				    "%s is the second pid= of an event: give an event for each",
				    term);
	event->config2 = pid;
	return 0;
}

static void set_unit(const struct pmu *pmu, struct pmu_event *event)
{
	const char *unit = sensor_unit(pmu->name, (unsigned int)event->config, &event->scale);

	if (unit)
		snprintf(event->unit, sizeof(event->unit), "%s", unit);
}

static int add_gauge(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
		     struct pmu_event *event)
{
	struct search s = { .hash = perfctr_hash(term) };
	const struct gauge_source *source = source_of(pmu->name);
	char reason[GAUGE_REASON_BYTES] = "";
	int found;

	if (source->pids && !strncmp(term, "pid=", 4))
		return add_pid(ctx, term, event);
	found = source->list(ctx, search_gauge, &s, reason);
	if (found != 1 && *reason)
		return perfctr_fail(ctx, -EOPNOTSUPP, "%s: %s", pmu->name, reason);
	if (found != 1)
		return perfctr_fail(ctx, -ENOENT, "%s has no event \"%s\"; see \"perfctr list\"",
				    pmu->name, term);
	event->config = s.kind->config;
	event->config1 = s.hash;
	set_unit(pmu, event);
	return 0;
}

static int readings_add_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
			     struct pmu_event *event)
{
	struct search s = { .hash = perfctr_hash(term) };
	int config = -1;

	if (source_of(pmu->name))
		return add_gauge(ctx, pmu, term, event);
	if (!strcmp(pmu->name, "drm")) {
		if (!strncmp(term, "pid=", 4))
			return add_pid(ctx, term, event);
		/* a client of the device may come later */
		config = drm_event_config(term);
	}
	if (config < 0 && sensor_find(ctx, pmu->name, s.hash, &s.rule, s.path) != 1)
		return perfctr_fail(ctx, -ENOENT, "%s has no event \"%s\"; see \"perfctr list\"",
				    pmu->name, term);
	event->config = config >= 0 ? (unsigned int)config : sensor_config(s.rule);
	event->config1 = s.hash;
	if (config == DRM_TIME || config == DRM_CYCLES)
		add_capacity(ctx, s.hash, event);
	if (config < 0)
		sensor_label(ctx->sys, s.path, event->title, sizeof(event->title));
	set_unit(pmu, event);
	return 0;
}

/* --- a session's counters ----------------------------------------------------------- */

struct owner {
	uint64_t event;
	char driver[64], place[64];
};

static int find_owner(void *arg, const struct drm_file *file, const char *text)
{
	struct owner *o = arg;
	struct drm_value value;

	while (drm_next_value(file, &text, &value)) {
		if (perfctr_hash(value.name) != o->event)
			continue;
		memcpy(o->driver, file->driver, sizeof(o->driver));
		memcpy(o->place, file->place, sizeof(o->place));
		return 1;
	}
	return 0;
}

/* Refuse what the driver does not measure: its values stand still. */
static int check_switches(struct perfctr_ctx *ctx, const struct local_counter *counter)
{
	struct owner owner = { .event = counter->config1 };
	char advice[PATH_BYTES + 64];

	if (drm_all_measure(ctx, (unsigned int)counter->config) ||
	    drm_scan(ctx, find_owner, &owner) != 1 ||
	    drm_measures(ctx, owner.driver, owner.place, (unsigned int)counter->config, advice,
			 sizeof(advice)))
		return 0;
	return perfctr_fail(ctx, -EOPNOTSUPP, "the driver counts %s of engines only after: %s",
			    counter->config == DRM_TIME ? "the time" : "cycles", advice);
}

static int add_client_event(struct perfctr_ctx *ctx, struct readings *r, struct reading *reading,
			    const struct local_counter *counter)
{
	int error = counter->config <= DRM_CYCLES ? check_switches(ctx, counter) : 0;

	if (error)
		return error;
	r->clients.ctx = ctx;
	reading->is_client = true;
	reading->client = r->clients.counter_count;
	if (drm_clients_add(&r->clients, counter->config1, (unsigned int)counter->config,
			    (long)counter->config2, find_capacity(ctx, counter->config1)))
		return perfctr_no_memory(ctx);
	return 0;
}

static int open_gauge(struct perfctr_ctx *ctx, struct readings *r, size_t source,
		      struct reading *reading, const struct local_counter *counter)
{
	char reason[GAUGE_REASON_BYTES] = "";
	const int error = pmus[source].source->open(ctx, &r->states[source], counter->config1,
						    (long)counter->config2, &reading->gauge,
						    reason);

	if (error == -ENOMEM)
		return perfctr_no_memory(ctx);
	if (!error && reading->gauge->kind->config == counter->config)
		return 0;
	return perfctr_fail(ctx, error ? error : -ENOENT, "%s: %s", counter->pmu,
			    *reason ? reason : "an event is gone");
}

int readings_open(struct perfctr_ctx *ctx, struct perf_events *events,
		  struct local_counter *counter)
{
	struct search s = { .hash = counter->config1 };
	const size_t n = counter->pmu_type - READINGS_TYPE;
	const struct perfctr_counter_desc *desc;
	struct reading *reading;
	int error;

	if (n >= ARRAY_SIZE(pmus))
		return perfctr_fail(ctx, -ENOENT, "there is no PMU of type %u", counter->pmu_type);
	if (!events->readings) {
		struct readings *r = calloc(1, sizeof(*r));

		if (r)
			r->list = calloc(events->counter_count, sizeof(*r->list));
		if (!r || !r->list) {
			free(r);
			return perfctr_no_memory(ctx);
		}
		events->readings = r;
	}
	snprintf(counter->pmu, sizeof(counter->pmu), "%s", pmus[n].name);
	counter->open_count = 1;
	counter->open_cpu = DRM_PERFCTR_CPU_ANY;
	desc = perfctr_counter_of_pmu(counter->pmu, counter->config);
	if (!desc)
		return perfctr_fail(ctx, -ENOENT, "%s has no events %llu", counter->pmu,
				    (unsigned long long)counter->config);
	counter->is_level = desc->kind == PERFCTR_KIND_LEVEL;
	reading = &events->readings->list[counter - events->counters];
	reading->is_used = true;
	if (pmus[n].source) {
		error = open_gauge(ctx, events->readings, n, reading, counter);
		counter->unsupported = error == -EOPNOTSUPP && events->skips_unsupported;
		return counter->unsupported ? 0 : error;
	}
	error = sensor_find(ctx, pmus[n].name, s.hash, &s.rule, s.path);
	if (error == 1) {
		sensor_open(ctx->sys, &reading->sensor, s.rule, s.path);
		return 0;
	}
	if (n || error || counter->config > DRM_FREQUENCY)
		return perfctr_fail(ctx, error ? error : -ENOENT, "a sensor of %s is gone",
				    counter->pmu);
	return add_client_event(ctx, events->readings, reading, counter);
}

static void read_sensor(struct perf_events *events, struct local_counter *c, struct sensor *s,
			uint64_t now_ns)
{
	int64_t value;

	if (sensor_read(events->ctx, s, c->pmu, &value) || (!c->is_level && value < 0)) {
		c->incomplete = true;
		return;
	}
	if (c->is_level) {
		c->sum[0] = (uint64_t)value;
		return;
	}
	if (sensor_count(s, (uint64_t)value, now_ns))
		c->states |= DRM_PERFCTR_STATE_LOST;
	c->sum[0] = s->meter.total;
}

static void read_client_event(struct local_counter *c, struct drm_counter *counter)
{
	c->incomplete |= !counter->measured;
	c->sum[0] = counter->value;
	if (counter->lost)
		c->states |= DRM_PERFCTR_STATE_LOST;
	counter->lost = false;
}

static void read_gauge(struct local_counter *c, struct gauge *gauge)
{
	c->incomplete |= !gauge->measured;
	c->sum[0] = gauge->value;
	if (gauge->lost)
		c->states |= DRM_PERFCTR_STATE_LOST;
	gauge->lost = false;
	gauge->began = true;
}

void readings_read(struct perf_events *events, uint64_t now_ns)
{
	struct readings *r = events->readings;

	if (!r)
		return;
	if (r->clients.counter_count)
		drm_clients_read(&r->clients, now_ns);
	if (r->clients.lost_ns > events->lost_ns)
		events->lost_ns = r->clients.lost_ns;
	r->clients.lost_ns = 0;
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		if (r->states[n])
			pmus[n].source->read(events->ctx, r->states[n]);
	for (size_t n = 0; n < events->counter_count; n++) {
		struct local_counter *c = &events->counters[n];
		struct reading *reading = &r->list[n];

		if (!reading->is_used)
			continue;
		if (c->unsupported) {
			c->incomplete = true;
			c->states |= DRM_PERFCTR_STATE_UNAVAILABLE;
			continue;
		}
		if (reading->is_client)
			read_client_event(c, &r->clients.counters[reading->client]);
		else if (reading->gauge)
			read_gauge(c, reading->gauge);
		else
			read_sensor(events, c, &reading->sensor, now_ns);
		if (c->states & DRM_PERFCTR_STATE_LOST &&
		    now_ns - reading->valued_ns > events->lost_ns)
			events->lost_ns = now_ns - reading->valued_ns;
		/* what has a value was there all the time, and else at none */
		if (!c->incomplete) {
			c->sum[1] += now_ns - r->read_ns;
			reading->valued_ns = now_ns;
		}
		c->sum[2] = c->sum[1];
	}
	r->read_ns = now_ns;
}

void readings_start(struct perf_events *events)
{
	struct readings *r = events->readings;

	if (!r)
		return;
	if (r->clients.counter_count)
		drm_clients_start(&r->clients);
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		if (r->states[n])
			pmus[n].source->start(r->states[n]);
	r->read_ns = perfctr_time_raw_ns();
	for (size_t n = 0; n < events->counter_count; n++)
		r->list[n].valued_ns = r->read_ns;
	readings_read(events, r->read_ns);
}

void readings_free(struct perf_events *events)
{
	struct readings *r = events->readings;

	if (!r)
		return;
	drm_clients_free(&r->clients);
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		if (r->states[n])
			pmus[n].source->close(r->states[n]);
	free(r->list);
	free(r);
}

const struct reading_ops local_readings = {
	.pmus = readings_pmus,
	.list = readings_list,
	.pids = readings_pids,
	.explain = readings_explain,
	.devices = readings_devices,
	.add_term = readings_add_term,
};
