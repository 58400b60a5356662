// SPDX-License-Identifier: MIT
#include "fdinfo.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys behind "drm-"; a longer prefix is first. */
static const struct key {
	const char *prefix;
	int config;
} keys[] = {
	{ "engine-capacity-", -1 },  { "engine-", DRM_TIME },	    { "total-cycles-", DRM_CLOCK },
	{ "cycles-", DRM_CYCLES },   { "maxfreq-", DRM_FREQUENCY }, { "curfreq-", DRM_FREQUENCY },
	{ "memory-", DRM_MEMORY },   { "total-", DRM_MEMORY },	    { "shared-", DRM_MEMORY },
	{ "resident-", DRM_MEMORY }, { "active-", DRM_MEMORY },	    { "purgeable-", DRM_MEMORY },
};

static const struct {
	const char *text;
	uint64_t factor;
} units[] = {
	{ "", 1 },
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "cycles", 1 },
	{ "bytes", 1 },
	{ "B", 1 },
	{ "KiB", 1ull << 10 },
	{ "MiB", 1ull << 20 },
	{ "GiB", 1ull << 30 },
	{ "TiB", 1ull << 40 },
	{ "Hz", 1 },
	{ "kHz", 1000 },
	{ "KHz", 1000 },
	{ "MHz", 1000000 },
	{ "GHz", 1000000000 },
};

/*
 * Files "profiling" of drivers that count engines only on request: bits of what they then count.
 * The advice turns on all.
 */
static const struct profiling {
	const char *driver, *folder;
	unsigned int time, cycles, all;
} profiling[] = {
	{ "panfrost", "/sys/bus/platform/drivers/panfrost", 1, 1, 1 },
	{ "panthor", "/sys/bus/platform/drivers/panthor", 2, 1, 3 },
};

/* --- a text ------------------------------------------------------------------------- */

/* a line "drm-KEY: VALUE", in place */
struct line {
	const char *key, *value;
	size_t key_length, value_length;
};

static bool next_line(const char **text, struct line *line)
{
	while (**text) {
		const char *start = *text, *end = start + strcspn(start, "\n"), *at;

		*text = end + (*end == '\n');
		at = start + strcspn(start, ": \t\n");
		if (strncmp(start, "drm-", 4) != 0 || *at != ':')
			continue;
		line->key = start + 4;
		line->key_length = (size_t)(at - line->key);
		at++;
		at += strspn(at, " \t");
		while (end > at && isspace((unsigned char)end[-1]))
			end--;
		line->value = at;
		line->value_length = at < end ? (size_t)(end - at) : 0;
		if (line->value_length)
			return true;
	}
	return false;
}

static bool is_key(const struct line *line, const char *key)
{
	return strlen(key) == line->key_length && !memcmp(line->key, key, line->key_length);
}

static int config_of(const char *key)
{
	for (size_t n = 0; n < ARRAY_SIZE(keys); n++)
		if (!strncmp(key, keys[n].prefix, strlen(keys[n].prefix)))
			return keys[n].config;
	return -1;
}

/* A value with an unknown unit is none. */
static bool parse_value(const struct line *line, uint64_t *value)
{
	const char *end_of_line = line->value + line->value_length;
	char *unit;

	errno = 0;
	*value = strtoull(line->value, &unit, 10);
	if (!isdigit((unsigned char)*line->value) || errno)
		return false;
	unit += strspn(unit, " \t");
	for (size_t n = 0; n < ARRAY_SIZE(units); n++)
		if (unit <= end_of_line && strlen(units[n].text) == (size_t)(end_of_line - unit) &&
		    !memcmp(units[n].text, unit, strlen(units[n].text)))
			return !__builtin_mul_overflow(*value, units[n].factor, value);
	return false;
}

void event_name_clean(char *text)
{
	perfctr_clean_text(text);
	for (; *text; text++)
		if (strchr(",/*?[]{}= ", *text))
			*text = '-';
}

/* Find out who the client is. Return: whether it is one. */
static bool identify(const char *text, struct drm_file *f)
{
	struct line line, pdev = { 0 }, id = { 0 };

	*f->driver = '\0';
	while (next_line(&text, &line)) {
		if (is_key(&line, "driver"))
			snprintf(f->driver, sizeof(f->driver), "%.*s", (int)line.value_length,
				 line.value);
		else if (is_key(&line, "pdev"))
			pdev = line;
		else if (is_key(&line, "client-id"))
			id = line;
	}
	if (!pdev.value)
		pdev = (struct line){ .value = f->place, .value_length = strlen(f->place) };
	snprintf(f->device, sizeof(f->device), "%.63s%s%.*s", f->driver,
		 pdev.value_length ? "@" : "", (int)pdev.value_length, pdev.value);
	event_name_clean(f->device);
	/* an id is optional: without one each file is a client */
	if (!id.value)
		id = (struct line){ .value = f->path, .value_length = strlen(f->path) };
	return *f->driver && snprintf(f->client, sizeof(f->client), "%s#%.*s", f->device,
				      (int)id.value_length, id.value) < (int)sizeof(f->client);
}

bool drm_next_value(const struct drm_file *file, const char **text, struct drm_value *value)
{
	struct line line;

	while (next_line(text, &line)) {
		int config = config_of(line.key);

		if (config < 0 || !parse_value(&line, &value->value) ||
		    snprintf(value->name, sizeof(value->name), "%s:%.*s", file->device,
			     (int)line.key_length, line.key) >= (int)sizeof(value->name))
			continue;
		value->config = (unsigned int)config;
		event_name_clean(value->name);
		return true;
	}
	return false;
}

int drm_event_config(const char *event)
{
	const char *key = strrchr(event, ':');

	return key ? config_of(key + 1) : -1;
}

unsigned int drm_capacity(const char *text, const char *event)
{
	const char *key = strrchr(event, ':'), *engine = key ? strchr(key, '-') : NULL;
	struct line line;

	while (engine && next_line(&text, &line)) {
		char name[DRM_NAME_BYTES];
		uint64_t value;

		if (config_of(line.key) != -1 || strncmp(line.key, "engine-capacity-", 16) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)line.key_length - 16, line.key + 16);
		event_name_clean(name);
		if (!strcmp(name, engine + 1) && parse_value(&line, &value) && value &&
		    value <= UINT16_MAX)
			return (unsigned int)value;
	}
	return 1;
}

/* --- processes ---------------------------------------------------------------------- */

struct scan {
	struct perfctr_ctx *ctx;
	drm_file_fn fn;
	void *arg;
	long pid;
	enum { UNKNOWN, SAFE, WAKES } reads; /* what reading a text of an unknown device may do */
};

bool drm_file_read(const struct perfctr_sys *sys, const char *path, struct drm_file *file,
		   char **text)
{
	if (perfctr_sys_read_all(sys, path, text) <= 0)
		return false;
	file->path = path;
	if (strncmp(*text, "drm-", 4) != 0 && !strstr(*text, "\ndrm-"))
		return false;
	return identify(*text, file);
}

/* Sockets, pipes and the like have no path, and these folders have no nodes of devices. */
static bool may_be_node(const char *target)
{
	static const char *const others[] = { "/memfd:",   "/proc/",	"/sys/",     "/dev/shm/",
					      "/dev/pts/", "/dev/null", "/dev/zero", "/dev/fuse" };

	for (size_t n = 0; n < ARRAY_SIZE(others); n++)
		if (!strncmp(target, others[n], strlen(others[n])))
			return false;
	return *target == '/';
}

static int is_there(void *arg, const char *name)
{
	return 1;
}

/*
 * Find the folder in sysfs of the device behind a file: by the number of its node, which may have
 * any name, or by its name where the number cannot be read. Return: false: it is no node.
 */
static bool find_sysfs(const struct perfctr_sys *sys, const char *path, const char *target,
		       char *folder, size_t size)
{
	unsigned int major, minor;
	int error = sys->node_number(sys->data, path, &major, &minor);

	if (error == -ENODEV)
		return false;
	if (error)
		snprintf(folder, size, "/sys/class/drm/%.32s/device", strrchr(target, '/') + 1);
	else
		snprintf(folder, size, "/sys/dev/char/%u:%u/device", major, minor);
	if (sys->list(sys->data, folder, is_there, NULL) <= 0)
		*folder = '\0';
	return true;
}

void drm_set_sysfs(const struct perfctr_sys *sys, struct drm_file *file, const char *folder)
{
	char target[PATH_BYTES];
	const char *name = NULL;

	snprintf(file->sysfs, sizeof(file->sysfs), "%s", folder);
	if (*folder && sys->readlink(sys->data, folder, target, sizeof(target)) >= 0)
		name = strrchr(target, '/');
	snprintf(file->place, sizeof(file->place), "%s", name ? name + 1 : "");
}

bool drm_is_hidden_asleep(const char *driver)
{
	return !strcmp(driver, "xe");
}

/* The driver of the device with that folder in sysfs. Return: its name, in @text; NULL: none. */
static const char *driver_of(const struct perfctr_sys *sys, const char *folder, char *text)
{
	char path[PATH_BYTES];
	const char *name;

	snprintf(path, sizeof(path), "%.200s/driver", folder);
	if (sys->readlink(sys->data, path, text, PATH_BYTES) < 0)
		return NULL;
	name = strrchr(text, '/');
	return name ? name + 1 : NULL;
}

static bool is_hidden(const struct perfctr_sys *sys, const char *folder)
{
	char path[PATH_BYTES], text[PATH_BYTES];
	const char *driver;

	snprintf(path, sizeof(path), "%.200s/power/runtime_status", folder);
	if (perfctr_sys_read_text(sys, path, text, sizeof(text)) <= 0 || strcmp(text, "suspended"))
		return false;
	driver = driver_of(sys, folder, text);
	return driver && drm_is_hidden_asleep(driver);
}

static int check_node(void *arg, const char *name)
{
	char folder[PATH_BYTES];

	snprintf(folder, sizeof(folder), "/sys/class/drm/%.64s/device", name);
	return is_hidden(arg, folder);
}

bool drm_read_wakes(const struct perfctr_sys *sys, const char *folder)
{
	if (*folder)
		return is_hidden(sys, folder);
	return sys->list(sys->data, "/sys/class/drm", check_node, (void *)sys) > 0;
}

static int scan_file(void *arg, const char *name)
{
	const struct scan *s = arg;
	const struct perfctr_sys *sys = s->ctx->sys;
	struct drm_file f = { .pid = s->pid };
	char path[64], target[PATH_BYTES], folder[DRM_SYSFS_BYTES], *text;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%ld/fd/%.20s", s->pid, name);
	if (sys->readlink(sys->data, path, target, sizeof(target)) < 0 || !may_be_node(target) ||
	    !find_sysfs(sys, path, target, folder, sizeof(folder)) || drm_read_wakes(sys, folder))
		return 0;
	drm_set_sysfs(sys, &f, folder);
	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%.20s", s->pid, name);
	if (drm_file_read(sys, path, &f, &text))
		result = s->fn(s->arg, &f, text);
	free(text);
	return result;
}

/* the devices of a driver in sysfs */
struct search {
	const struct perfctr_sys *sys;
	const char *driver;
	char folder[DRM_SYSFS_BYTES], device[PATH_BYTES];
	bool is_one;
};

static int compare_device(void *arg, const char *name)
{
	struct search *s = arg;
	char folder[DRM_SYSFS_BYTES], device[PATH_BYTES], text[PATH_BYTES];
	const char *driver;

	snprintf(folder, sizeof(folder), "/sys/class/drm/%.32s/device", name);
	driver = driver_of(s->sys, folder, text);
	if (!driver || strcmp(driver, s->driver) != 0 ||
	    s->sys->readlink(s->sys->data, folder, device, sizeof(device)) < 0)
		return 0;
	/* a device has several nodes */
	s->is_one = !*s->folder || (s->is_one && !strcmp(device, s->device));
	memcpy(s->folder, folder, sizeof(folder));
	memcpy(s->device, device, sizeof(device));
	return 0;
}

/* Find the device of a file whose node is not known, by its driver, if that has one device. */
static void find_by_driver(const struct perfctr_sys *sys, struct drm_file *file)
{
	struct search s = { .sys = sys, .driver = file->driver };

	sys->list(sys->data, "/sys/class/drm", compare_device, &s);
	if (s.is_one)
		drm_set_sysfs(sys, file, s.folder);
}

/* A file of a process whose files cannot be listed. */
static int scan_text(void *arg, const char *name)
{
	struct scan *s = arg;
	const struct perfctr_sys *sys = s->ctx->sys;
	struct drm_file f = { .pid = s->pid };
	char path[64], *text;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%.20s", s->pid, name);
	if (drm_file_read(sys, path, &f, &text)) {
		find_by_driver(sys, &f);
		if (identify(text, &f))
			result = s->fn(s->arg, &f, text);
	}
	free(text);
	return result;
}

static bool may_read_all(struct scan *s)
{
	if (s->reads == UNKNOWN)
		s->reads = drm_read_wakes(s->ctx->sys, "") ? WAKES : SAFE;
	return s->reads == SAFE;
}

static int scan_process(void *arg, const char *name)
{
	struct scan *s = arg;
	char path[64], *end;
	int result;

	s->pid = strtol(name, &end, 10);
	if (*end || end == name)
		return 0;
	snprintf(path, sizeof(path), "/proc/%ld/fd", s->pid);
	result = s->ctx->sys->list(s->ctx->sys->data, path, scan_file, s);
	/* others' files need CAP_DAC_READ_SEARCH, their texts CAP_SYS_PTRACE */
	if (result == -EACCES && may_read_all(s)) {
		snprintf(path, sizeof(path), "/proc/%ld/fdinfo", s->pid);
		result = s->ctx->sys->list(s->ctx->sys->data, path, scan_text, s);
	}
	/* another user's process, or it ended */
	return result > 0 || result == -ENOMEM ? result : 0;
}

int drm_scan(struct perfctr_ctx *ctx, drm_file_fn fn, void *arg)
{
	struct scan s = { .ctx = ctx, .fn = fn, .arg = arg };

	return ctx->sys->list(ctx->sys->data, "/proc", scan_process, &s);
}

/* --- switches ----------------------------------------------------------------------- */

struct check {
	struct perfctr_ctx *ctx;
	const struct profiling *driver;
	unsigned int needed;
	char *advice; /* of the first device that is off */
	size_t size;
	unsigned int on, off;
};

static int check_switch(void *arg, const char *name)
{
	struct check *c = arg;
	char path[PATH_BYTES], text[24], *end;
	unsigned long long bits;

	snprintf(path, sizeof(path), "%s/%.128s/profiling", c->driver->folder, name);
	if (perfctr_sys_read_text(c->ctx->sys, path, text, sizeof(text)) <= 0)
		return 0;
	bits = strtoull(text, &end, 0);
	if (*end)
		return 0;
	if (bits & c->needed)
		c->on++;
	else if (!c->off++ && c->advice)
		snprintf(c->advice, c->size, "echo %llu | sudo tee %s", bits | c->driver->all,
			 path);
	return 0;
}

/* Count the switches of a driver, of all its devices if @place is empty or has none. */
static void check_switches(struct check *c, const struct profiling *p, const char *place,
			   unsigned int config)
{
	c->driver = p;
	c->needed = config == DRM_TIME ? p->time : p->cycles;
	if (*place)
		check_switch(c, place);
	if (!c->on && !c->off)
		c->ctx->sys->list(c->ctx->sys->data, p->folder, check_switch, c);
}

bool drm_measures(struct perfctr_ctx *ctx, const char *driver, const char *place,
		  unsigned int config, char *advice, size_t size)
{
	struct check c = { .ctx = ctx, .advice = advice, .size = size };

	for (size_t n = 0; n < ARRAY_SIZE(profiling); n++)
		if (!strcmp(profiling[n].driver, driver))
			check_switches(&c, &profiling[n], place, config);
	return c.on || !c.off;
}

bool drm_all_measure(struct perfctr_ctx *ctx, unsigned int config)
{
	struct check c = { .ctx = ctx };

	for (size_t n = 0; n < ARRAY_SIZE(profiling) && !c.off; n++) {
		c.on = 0;
		check_switches(&c, &profiling[n], "", config);
	}
	return !c.off;
}
