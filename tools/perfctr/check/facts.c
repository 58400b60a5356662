// SPDX-License-Identifier: MIT
/* Reads the facts of a report from /proc, /sys and the library, and writes them as text. */
#include "facts.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/json.h"

#define DRM_CLASS "/sys/class/drm"
#define PMUS "/sys/bus/event_source/devices"
#define HWMON "/sys/class/hwmon"

enum { TEXT_BYTES = 512, INDENT = 2 };

static void __attribute__((format(printf, 2, 3))) path_of(char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(path, TEXT_BYTES, format, args);
	va_end(args);
}

/* The first line of a file; lists of a device tree, which end with NUL, with commas. */
static bool read_line(const char *path, char *text)
{
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, TEXT_BYTES - 1, file) : 0;

	if (file)
		fclose(file);
	while (length && (!text[length - 1] || isspace((unsigned char)text[length - 1])))
		length--;
	text[length] = '\0';
	for (size_t n = 0; n < length; n++)
		if (!text[n])
			text[n] = ',';
	text[strcspn(text, "\n")] = '\0';
	return *text;
}

/* A file's line as a member; none if there is no such file. */
static void __attribute__((format(printf, 3, 4)))
add_file(struct json_object *object, const char *name, const char *format, ...)
{
	char path[TEXT_BYTES], text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (read_line(path, text))
		json_add_text(object, name, text);
}

/* The last part of a link as a member. */
static void add_link(struct json_object *object, const char *name, const char *path)
{
	char target[TEXT_BYTES];
	const ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *last;

	if (length < 0)
		return;
	target[length] = '\0';
	last = strrchr(target, '/');
	json_add_text(object, name, last ? last + 1 : target);
}

/* Call fn for each visible name in a folder, in order. Return: their number. */
static unsigned int each(const char *folder, struct json_object *to,
			 void (*fn)(struct json_object *to, const char *folder, const char *name))
{
	struct dirent **entries;
	const int count = scandir(folder, &entries, NULL, alphasort);
	unsigned int names = 0;

	for (int n = 0; n < count; n++) {
		if (*entries[n]->d_name != '.') {
			names++;
			if (fn)
				fn(to, folder, entries[n]->d_name);
		}
		free(entries[n]);
	}
	if (count >= 0)
		free(entries);
	return names;
}

static struct json_object *add_array(struct json_object *object, const char *name)
{
	json_add(object, name, json_object_new_array());
	return json_object_object_get(object, name);
}

static struct json_object *add_object(struct json_object *object, const char *name)
{
	json_add(object, name, json_object_new_object());
	return json_object_object_get(object, name);
}

/* --- kernel and user -------------------------------------------------------------- */

static void add_kernel(struct json_object *report)
{
	static const char *const settings[] = {
		"kernel/perf_event_paranoid",
		"dev/perfctr/paranoid",
		"dev/perfctr/max_user_ring_kb",
	};
	struct json_object *all;
	struct utsname name;

	json_add_text(report, "perfctr", PERFCTR_VERSION);
	if (!uname(&name)) {
		json_add_text(report, "kernel", name.release);
		json_add_text(report, "machine", name.machine);
	}
	add_file(report, "board", "/proc/device-tree/model");
	add_file(report, "compatible", "/proc/device-tree/compatible");
	json_add_u64(report, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	json_add_u64(report, "page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
	all = add_object(report, "settings");
	for (size_t n = 0; n < ARRAY_SIZE(settings); n++)
		add_file(all, settings[n], "/proc/sys/%s", settings[n]);
}

static void add_user(struct json_object *report)
{
	struct json_object *user = add_object(report, "user");

	json_add_bool(user, "root", !geteuid());
	json_add_bool(user, "CAP_PERFMON", app_has_capability(APP_CAP_PERFMON));
	json_add_bool(user, "CAP_SYS_ADMIN", app_has_capability(APP_CAP_SYS_ADMIN));
	json_add_bool(user, "CAP_SYS_PTRACE", app_has_capability(APP_CAP_SYS_PTRACE));
}

static void add_modules(struct json_object *report)
{
	static const struct {
		const char *name, *parameter;
	} modules[] = {
		{ "drm_perfctr", NULL }, { "panthor", NULL },	 { "panfrost", "unstable_ioctls" },
		{ "v3d", NULL },	 { "msm", NULL },	 { "amdgpu", NULL },
		{ "i915", NULL },	 { "xe", NULL },	 { "nouveau", NULL },
		{ "nvidia", NULL },	 { "mali_kbase", NULL },
	};
	struct json_object *all = add_array(report, "modules");

	for (size_t n = 0; n < ARRAY_SIZE(modules); n++) {
		struct json_object *module;
		char path[TEXT_BYTES];

		path_of(path, "/sys/module/%s", modules[n].name);
		if (access(path, F_OK))
			continue;
		module = json_append(all);
		json_add_text(module, "module", modules[n].name);
		add_file(module, "version", "%s/version", path);
		add_file(module, "srcversion", "%s/srcversion", path);
		if (modules[n].parameter)
			add_file(module, modules[n].parameter, "%s/parameters/%s", path,
				 modules[n].parameter);
	}
}

/* --- GPUs ------------------------------------------------------------------------- */

static void add_frequencies(struct json_object *to, const char *folder, const char *name)
{
	add_file(to, "frequencies", "%s/%s/available_frequencies", folder, name);
}

static void add_card(struct json_object *to, const char *folder, const char *name)
{
	static const char *const facts[] = {
		"vendor",	 "device",    "subsystem_vendor",   "subsystem_device",
		"revision",	 "class",     "of_node/compatible", "power/runtime_status",
		"power/control", "profiling",
	};
	static const char *const interfaces[] = {
		"gpu_metrics", "gpu_stats", "gpu_busy_percent", "devfreq", "hwmon", "tile0",
	};
	struct json_object *card, *has;
	char device[TEXT_BYTES], path[TEXT_BYTES + 64];

	/* "card0-DP-1" is a connector */
	if (strncmp(name, "card", 4) != 0 || strchr(name, '-'))
		return;
	path_of(device, "%s/%s/device", folder, name);
	card = json_append(to);
	json_add_text(card, "card", name);
	add_link(card, "place", device);
	snprintf(path, sizeof(path), "%s/driver", device);
	add_link(card, "driver", path);
	snprintf(path, sizeof(path), "%s/subsystem", device);
	add_link(card, "bus", path);
	for (size_t n = 0; n < ARRAY_SIZE(facts); n++)
		add_file(card, facts[n], "%s/%s", device, facts[n]);
	snprintf(path, sizeof(path), "%s/devfreq", device);
	each(path, card, add_frequencies);
	has = add_array(card, "has");
	for (size_t n = 0; n < ARRAY_SIZE(interfaces); n++) {
		snprintf(path, sizeof(path), "%s/%s", device, interfaces[n]);
		if (!access(path, F_OK))
			json_append_text(has, interfaces[n]);
	}
}

static void add_device(const struct app *app, struct json_object *node, const char *path)
{
	struct perfctr_device *device;
	const struct drm_perfctr_device_info *info;
	struct json_object *blocks;

	if (perfctr_device_open(app->ctx, path, &device))
		return;
	info = perfctr_device_info(device);
	json_add_u64(node, "gpu_id", info->gpu_id);
	json_add_u64(node, "product", info->product);
	json_add_u64(node, "features", info->features);
	json_add_u64(node, "sets", info->sets);
	blocks = add_array(node, "blocks");
	for (size_t n = 0; n < perfctr_device_block_count(device); n++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(device, n);
		char text[64];

		snprintf(text, sizeof(text), "type %u index %u positions %u sets 0x%x", b->type,
			 b->index, b->counters, b->sets);
		json_append_text(blocks, text);
	}
	perfctr_device_unref(device);
}

static void add_nodes(const struct app *app, struct json_object *report)
{
	struct json_object *nodes = add_array(report, "nodes");
	struct perfctr_device_list *list;

	if (perfctr_device_list_new(app->ctx, &list))
		return;
	for (size_t n = 0; n < perfctr_device_list_count(list); n++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, n);
		struct json_object *node = json_append(nodes);
		char mode[8];
		struct stat st;

		json_add_text(node, "node", e->path);
		if (!stat(e->path, &st)) {
			snprintf(mode, sizeof(mode), "%04o", st.st_mode & 07777u);
			json_add_text(node, "mode", mode);
		}
		json_add_bool(node, "may_open", !access(e->path, R_OK | W_OK));
		json_add_text(node, "driver", e->driver);
		json_add_text(node, "error", e->error ? strerrorname_np(-e->error) : NULL);
		if (e->error)
			continue;
		json_add_text(node, "name", e->name);
		add_device(app, node, e->path);
	}
	perfctr_device_list_unref(list);
}

/* --- PMUs and sensors ------------------------------------------------------------- */

static void add_name(struct json_object *to, const char *folder, const char *name)
{
	json_append_text(to, name);
}

static void add_pmu(struct json_object *to, const char *folder, const char *name)
{
	struct json_object *pmu = json_append(to);
	char path[TEXT_BYTES];

	json_add_text(pmu, "pmu", name);
	add_file(pmu, "type", "%s/%s/type", folder, name);
	add_file(pmu, "cpumask", "%s/%s/cpumask", folder, name);
	add_file(pmu, "cpus", "%s/%s/cpus", folder, name);
	path_of(path, "%s/%s/events", folder, name);
	json_add_u64(pmu, "events", each(path, NULL, NULL));
	path_of(path, "%s/%s/format", folder, name);
	each(path, add_array(pmu, "format"), add_name);
}

/* Files that have a value; what a chip's owner called it is not read. */
static void add_sensor(struct json_object *to, const char *folder, const char *name)
{
	const char *end = strchr(name, '_');

	if (end && (!strcmp(end, "_input") || !strcmp(end, "_average")))
		json_append_text(to, name);
}

static void add_chip(struct json_object *to, const char *folder, const char *name)
{
	struct json_object *chip = json_append(to);
	char path[TEXT_BYTES];

	add_file(chip, "chip", "%s/%s/name", folder, name);
	path_of(path, "%s/%s", folder, name);
	each(path, add_array(chip, "values"), add_sensor);
}

void facts_add(const struct app *app, struct json_object *report)
{
	add_kernel(report);
	add_user(report);
	add_modules(report);
	each(DRM_CLASS, add_array(report, "gpus"), add_card);
	add_nodes(app, report);
	each(PMUS, add_array(report, "pmus"), add_pmu);
	each(HWMON, add_array(report, "sensors"), add_chip);
}

/* --- as text ---------------------------------------------------------------------- */

static bool is_short(struct json_object *value)
{
	return !json_object_is_type(value, json_type_object) &&
	       !json_object_is_type(value, json_type_array);
}

static void write_short(FILE *to, struct json_object *value)
{
	char *line = json_clean_line(json_object_get_string(value));

	fputs(line ? line : "?", to);
	free(line);
}

static bool are_short(struct json_object *array)
{
	for (size_t n = 0; n < json_object_array_length(array); n++)
		if (!is_short(json_object_array_get_idx(array, n)))
			return false;
	return true;
}

static void write_members(FILE *to, struct json_object *value, int indent);

static void write_member(FILE *to, struct json_object *value, int indent)
{
	if (!value || is_short(value)) {
		fputc(' ', to);
		write_short(to, value);
		fputc('\n', to);
	} else if (json_object_is_type(value, json_type_array) && are_short(value)) {
		for (size_t n = 0; n < json_object_array_length(value); n++) {
			fputs(n ? ", " : " ", to);
			write_short(to, json_object_array_get_idx(value, n));
		}
		fputc('\n', to);
	} else {
		fputc('\n', to);
		write_members(to, value, indent + INDENT);
	}
}

static void write_members(FILE *to, struct json_object *value, int indent)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t n = 0; n < json_object_array_length(value); n++) {
			fprintf(to, "%*s-\n", indent, "");
			write_members(to, json_object_array_get_idx(value, n), indent + INDENT);
		}
		return;
	}
	json_object_object_foreach(value, name, member)
	{
		fprintf(to, "%*s%s:", indent, "", name);
		write_member(to, member, indent);
	}
}

void facts_write(FILE *to, struct json_object *value)
{
	write_members(to, value, 0);
}
