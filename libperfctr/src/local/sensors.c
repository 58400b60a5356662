// SPDX-License-Identifier: MIT
#include "sensors.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "fdinfo.h"
#include "gpu_metrics.h"
#include "nvml.h"

/*
 * The largest step of an energy: 10 kW, several times the largest accelerator, since the value
 * changed last, for a sensor may be slower than its readers; and 100 J.
 */
enum { LARGEST_UJ_PER_NS = 10, LARGEST_STEP_UJ = 100000000 };

/* Files below the root of a PMU; the first folder is part of the event's name. */
static const struct sensor_rule {
	const char *pmu, *pattern, *title; /* @title: a file beside it with the device's name */
	unsigned int config, factor;
} rules[] = {
	{ "hwmon", "hwmon*/temp*_input", "name", HWMON_TEMPERATURE, 1 },
	{ "hwmon", "hwmon*/power*_average", "name", HWMON_POWER, 1 },
	{ "hwmon", "hwmon*/power*_input", "name", HWMON_POWER, 1 },
	{ "hwmon", "hwmon*/energy*_input", "name", HWMON_ENERGY, 1 },
	{ "hwmon", "hwmon*/freq*_input", "name", HWMON_FREQUENCY, 1 },
	{ "hwmon", "hwmon*/in*_input", "name", HWMON_VOLTAGE, 1 },
	{ "hwmon", "hwmon*/in*_average", "name", HWMON_VOLTAGE, 1 },
	{ "hwmon", "hwmon*/curr*_input", "name", HWMON_CURRENT, 1 },
	{ "hwmon", "hwmon*/curr*_average", "name", HWMON_CURRENT, 1 },
	{ "hwmon", "hwmon*/humidity*_input", "name", HWMON_HUMIDITY, 1 },
	{ "hwmon", "hwmon*/fan*_input", "name", HWMON_FAN, 1 },
	{ "hwmon", "hwmon*/pwm[1-9]", "name", HWMON_PWM, 1 },
	{ "hwmon", "hwmon*/pwm[1-9][0-9]", "name", HWMON_PWM, 1 },
	{ "devfreq", "*/cur_freq", NULL, 0, 1 },
	{ "drm", "card*/gt/gt*/rps_act_freq_mhz", NULL, DRM_FREQUENCY, 1000000 },
	{ "drm", "card*/device/tile*/gt*/freq*/act_freq", NULL, DRM_FREQUENCY, 1000000 },
	{ "drm", "card*/device/gpu_busy_percent", NULL, DRM_BUSY, 1 },
	{ "drm", "card*/device/mem_busy_percent", NULL, DRM_BUSY, 1 },
	{ "drm", "card*/device/vcn_busy_percent", NULL, DRM_BUSY, 1 },
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
	{ "hwmon", HWMON_CURRENT, "A", 1e-3 },
	{ "hwmon", HWMON_FAN, "RPM", 1 },
	{ "hwmon", HWMON_PWM, "%", 100.0 / 255 },
	{ "hwmon", HWMON_HUMIDITY, "%", 1e-3 },
	{ "amdgpu", AMDGPU_TEMPERATURE, "degC", 1e-3 },
	{ "amdgpu", AMDGPU_POWER, "W", 1e-3 },
	{ "amdgpu", AMDGPU_ENERGY, "J", 1e-6 },
	{ "amdgpu", AMDGPU_ACTIVITY, "%", 1e-3 },
	{ "amdgpu", AMDGPU_VOLTAGE, "V", 1e-3 },
	{ "amdgpu", AMDGPU_CURRENT, "A", 1e-3 },
	{ "nvml", NVML_TEMPERATURE, "degC", 1e-3 },
	{ "nvml", NVML_POWER, "W", 1e-3 },
	{ "nvml", NVML_ENERGY, "J", 1e-6 },
};

/* --- finding ------------------------------------------------------------------------ */

struct walk {
	struct perfctr_ctx *ctx;
	const struct sensor_rule *rule;
	size_t root_length; /* of path, with the slash */
	const char *rest; /* of the pattern */
	char path[PATH_BYTES];
	sensor_fn fn;
	void *arg;
};

/*
 * "hwmon2-coretemp:temp1_input" of "/sys/class/hwmon/hwmon2/temp1_input"; @root_length: of
 * "/sys/class/hwmon/". Return: whether it fits.
 */
static bool event_name(const struct perfctr_sys *sys, const struct sensor_rule *rule,
		       const char *path, size_t root_length, char *name)
{
	const char *first = path + root_length, *file = strchr(first, '/');
	char title_path[PATH_BYTES + 16], *title = NULL;
	int length;

	if (rule->title) {
		snprintf(title_path, sizeof(title_path), "%.*s/%s", (int)(file - path), path,
			 rule->title);
		perfctr_sys_read_all(sys, title_path, &title);
	}
	length = snprintf(name, SENSOR_NAME_BYTES, "%.*s%s%s:%s", (int)(file - first), first,
			  title && *title ? "-" : "", title ? title : "",
			  strncmp(file, "/device/", 8) ? file + 1 : file + 8);
	free(title);
	event_name_clean(name);
	return length < SENSOR_NAME_BYTES;
}

static int visit_file(struct walk *w)
{
	char name[SENSOR_NAME_BYTES];

	if (!event_name(w->ctx->sys, w->rule, w->path, w->root_length, name))
		return 0;
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

int sensors_walk(struct perfctr_ctx *ctx, const char *pmu, sensor_fn fn, void *arg)
{
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(rules); n++) {
		struct walk w = { .ctx = ctx, .rule = &rules[n], .fn = fn, .arg = arg };

		if (strcmp(rules[n].pmu, pmu) != 0)
			continue;
		snprintf(w.path, sizeof(w.path), "/sys/class/%s/", pmu);
		w.root_length = strlen(w.path);
		w.rest = rules[n].pattern;
		error = ctx->sys->list(ctx->sys->data, w.path, walk_entry, &w);
		error = error == -ENOENT ? 0 : error;
	}
	return error;
}

/* a file, as of the last search */
struct sensor_place {
	uint64_t hash;
	const struct sensor_rule *rule;
	char path[PATH_BYTES];
};

static int keep_place(void *arg, const struct sensor_rule *rule, const char *name, const char *path)
{
	struct perfctr_ctx *ctx = arg;
	const size_t n = ctx->sensor_count;
	struct sensor_place *places = ctx->sensors;

	/* room is doubled */
	if (!(n & (n - 1)))
		places = realloc(places, (n ? 2 * n : 1) * sizeof(*places));
	if (!places)
		return -ENOMEM;
	ctx->sensors = places;
	places[n].hash = perfctr_hash(name);
	places[n].rule = rule;
	snprintf(places[n].path, sizeof(places[n].path), "%s", path);
	ctx->sensor_count++;
	return 0;
}

/* Return: the place of an event in the last search, if it still is; else NULL. */
static const struct sensor_place *find_place(struct perfctr_ctx *ctx, const char *pmu,
					     uint64_t hash)
{
	const struct sensor_place *place = NULL;
	char name[SENSOR_NAME_BYTES];
	int fd;

	/* events come in the order of the files */
	for (size_t n = 0; n < ctx->sensor_count && !place; n++) {
		const size_t at = (ctx->next_sensor + n) % ctx->sensor_count;

		if (ctx->sensors[at].hash != hash || strcmp(ctx->sensors[at].rule->pmu, pmu) != 0)
			continue;
		place = &ctx->sensors[at];
		ctx->next_sensor = at + 1;
	}
	if (!place ||
	    !event_name(ctx->sys, place->rule, place->path, strlen("/sys/class/") + strlen(pmu) + 1,
			name) ||
	    perfctr_hash(name) != hash)
		return NULL;
	fd = ctx->sys->open(ctx->sys->data, place->path, O_RDONLY);
	if (fd >= 0)
		ctx->sys->close(ctx->sys->data, fd);
	return fd == -ENOENT || fd == -ENODEV ? NULL : place;
}

static void forget_places(struct perfctr_ctx *ctx, const char *pmu)
{
	size_t kept = 0;

	for (size_t n = 0; n < ctx->sensor_count; n++)
		if (strcmp(ctx->sensors[n].rule->pmu, pmu) != 0)
			ctx->sensors[kept++] = ctx->sensors[n];
	ctx->sensor_count = kept;
}

int sensor_find(struct perfctr_ctx *ctx, const char *pmu, uint64_t hash,
		const struct sensor_rule **rule, char *path)
{
	const struct sensor_place *place = find_place(ctx, pmu, hash);
	int error = 0;

	if (!place) {
		forget_places(ctx, pmu);
		error = sensors_walk(ctx, pmu, keep_place, ctx);
		place = error ? NULL : find_place(ctx, pmu, hash);
	}
	if (!place)
		return error;
	*rule = place->rule;
	snprintf(path, PATH_BYTES, "%s", place->path);
	return 1;
}

unsigned int sensor_config(const struct sensor_rule *rule)
{
	return rule->config;
}

const char *sensor_unit(const char *pmu, unsigned int config, double *scale)
{
	for (size_t n = 0; n < ARRAY_SIZE(units); n++) {
		if (strcmp(units[n].pmu, pmu) != 0 || units[n].config != config)
			continue;
		*scale = units[n].scale;
		return units[n].unit;
	}
	return NULL;
}

void sensor_label(const struct perfctr_sys *sys, const char *path, char *text, size_t size)
{
	const char *end = strrchr(path, '_');
	char label[PATH_BYTES], *read = NULL;

	*text = '\0';
	if (end && (!strcmp(end, "_input") || !strcmp(end, "_average")) &&
	    snprintf(label, sizeof(label), "%.*s_label", (int)(end - path), path) <
		    (int)sizeof(label))
		perfctr_sys_read_all(sys, label, &read);
	if (read)
		snprintf(text, size, "%s", read);
	/* it may come from a chip */
	perfctr_clean_text(text);
	free(read);
}

/* --- reading ------------------------------------------------------------------------ */

/* Length of "/sys/class/hwmon/hwmon2" in the path of a file below it. */
static size_t entry_length(const char *path)
{
	size_t length = 0;

	for (unsigned int slashes = 0; path[length]; length++)
		if (path[length] == '/' && ++slashes == 5)
			break;
	return length;
}

/* The target of the entry in /sys/class, which names the device; empty if it is no link. */
static void read_device(const struct perfctr_sys *sys, const char *path, char *device, size_t size)
{
	char entry[PATH_BYTES];

	snprintf(entry, sizeof(entry), "%.*s", (int)entry_length(path), path);
	if (sys->readlink(sys->data, entry, device, size) < 0)
		*device = '\0';
}

/* Hash of the device's name beside the file; 0: it has none. */
static uint64_t read_name(const struct perfctr_sys *sys, const struct sensor_rule *rule,
			  const char *path)
{
	char file[PATH_BYTES + 16], *text = NULL;
	uint64_t name = 0;

	if (!rule->title)
		return 0;
	snprintf(file, sizeof(file), "%.*s/%s", (int)entry_length(path), path, rule->title);
	if (perfctr_sys_read_all(sys, file, &text) >= 0)
		name = perfctr_hash(text);
	free(text);
	return name;
}

void sensor_open(const struct perfctr_sys *sys, struct sensor *s, const struct sensor_rule *rule,
		 const char *path)
{
	s->rule = rule;
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->name = read_name(sys, rule, path);
	read_device(sys, s->path, s->device, sizeof(s->device));
}

static int is_there(void *arg, const char *name)
{
	return 1;
}

/* Whether the file is of a GPU that sleeps. */
static bool sleeps(const struct perfctr_sys *sys, const char *file)
{
	char path[PATH_BYTES + 32], text[24];
	const int length = (int)entry_length(file);

	snprintf(path, sizeof(path), "%.*s/device/power/runtime_status", length, file);
	if (perfctr_sys_read_text(sys, path, text, sizeof(text)) <= 0 || strcmp(text, "suspended"))
		return false;
	snprintf(path, sizeof(path), "%.*s/device/drm", length, file);
	return !strncmp(file, "/sys/class/drm/", 15) ||
	       sys->list(sys->data, path, is_there, NULL) > 0;
}

/*
 * Whether two targets of links are of the same device: all but the number at the end is equal.
 * Virtual devices differ in nothing else.
 */
static bool is_same_device(const char *a, const char *b)
{
	size_t length = strlen(a), other = strlen(b);

	if (strstr(a, "/devices/virtual/"))
		return !strcmp(a, b);
	while (length && isdigit((unsigned char)a[length - 1]))
		length--;
	while (other && isdigit((unsigned char)b[other - 1]))
		other--;
	return length == other && !memcmp(a, b, length);
}

struct find {
	const struct perfctr_sys *sys;
	struct sensor *sensor;
};

static int find_again(void *arg, const struct sensor_rule *rule, const char *name, const char *path)
{
	struct find *f = arg;
	struct sensor *s = f->sensor;
	char device[PATH_BYTES];

	if (rule != s->rule ||
	    strcmp(path + entry_length(path), s->path + entry_length(s->path)) != 0)
		return 0;
	read_device(f->sys, path, device, sizeof(device));
	if (!is_same_device(device, s->device) || read_name(f->sys, rule, path) != s->name)
		return 0;
	snprintf(s->path, sizeof(s->path), "%s", path);
	memcpy(s->device, device, sizeof(device));
	return 1;
}

/* Return: whether the path is still that of the device. */
static bool find_device(struct perfctr_ctx *ctx, struct sensor *s, const char *pmu)
{
	struct find f = { ctx->sys, s };
	char device[PATH_BYTES];

	read_device(ctx->sys, s->path, device, sizeof(device));
	if (!strcmp(device, s->device) && read_name(ctx->sys, s->rule, s->path) == s->name)
		return true;
	return *s->device && sensors_walk(ctx, pmu, find_again, &f) == 1;
}

/* "temp1_fault" beside "temp1_input": then the value has no meaning */
static bool is_faulty(const struct perfctr_sys *sys, const char *file)
{
	const char *end = strrchr(file, '_');
	char path[PATH_BYTES], text[8];

	return end && !strcmp(end, "_input") &&
	       snprintf(path, sizeof(path), "%.*s_fault", (int)(end - file), file) <
		       (int)sizeof(path) &&
	       perfctr_sys_read_text(sys, path, text, sizeof(text)) > 0 && !strcmp(text, "1");
}

bool sensor_count(struct sensor *s, uint64_t energy, uint64_t now_ns)
{
	const uint64_t before = s->meter.total;
	const uint64_t limit = LARGEST_STEP_UJ + (now_ns - s->changed_ns) * LARGEST_UJ_PER_NS;
	bool lost;

	if (!s->meter.read || s->meter.last != energy)
		s->changed_ns = now_ns;
	if (!s->meter.read)
		meter_begin(&s->meter, energy);
	lost = meter_step(&s->meter, energy);
	/* nothing allows an energy to fall, not even by a little */
	lost |= s->meter.peak && !s->meter.restarted;
	if (s->meter.total - before <= limit)
		return lost;
	s->meter.total = before;
	return true;
}

int sensor_read(struct perfctr_ctx *ctx, struct sensor *s, const char *pmu, int64_t *value)
{
	char text[64], *end;
	long long number;
	int length;

	if (!find_device(ctx, s, pmu))
		return -ENODEV;
	if (sleeps(ctx->sys, s->path))
		return -EAGAIN;
	if (is_faulty(ctx->sys, s->path))
		return -EIO;
	length = perfctr_sys_read_text(ctx->sys, s->path, text, sizeof(text));
	if (length < 0)
		return length;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (end == text || *end || errno ||
	    __builtin_mul_overflow(number, (long long)s->rule->factor, value))
		return -EINVAL;
	return 0;
}
