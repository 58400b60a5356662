// SPDX-License-Identifier: MIT
/* The GPUs of /sys/class/drm and of the NVIDIA driver, each with a line of what can be counted. */
#include "gpus.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/app.h"

#define DRM_CLASS "/sys/class/drm"
#define NVIDIA_DRIVER "/sys/bus/pci/drivers/nvidia"
#define ENGINES "drm/*:engine-*/ by fdinfo: any user, own clients (CAP_SYS_PTRACE: all)"

#define CORE_HOLDERS "/sys/module/drm_perfctr/holders"
#define OA(driver, sysctl)                                                                         \
	"from Tiger Lake to Battlemage the block oa by -d " driver " only: CAP_PERFMON or sysctl " \
	"dev." sysctl "=0, one program at a time; the GPU does not enter RC6 meanwhile"
#define PROFILED ENGINES ", while the switch profiling is on, which costs time in each job"

/*
 * @all: what turns on all that the switch "profiling" of the driver has; @no_switch: its text on a
 * kernel that has no such switch; @own: its own interface for counters, if the core has none of
 * it, which @own_switch turns on, if it has a switch
 */
static const struct driver {
	const char *name, *text, *all, *own, *own_switch, *no_switch;
} drivers[] = {
	{ "amdgpu", ENGINES, NULL, NULL, NULL, NULL },
	{ "i915", ENGINES "; i915/*/: CAP_PERFMON", NULL, OA("i915", "i915.perf_stream_paranoid"),
	  NULL, NULL },
	{ "xe", ENGINES ", which are not read while it sleeps; xe_*/*/: CAP_PERFMON", NULL,
	  OA("xe", "xe.observation_paranoid"), NULL, NULL },
	{ "panfrost", PROFILED, "1",
	  "blocks by unstable ioctls of the driver: any user of its node, one program at a time; "
	  "the GPU does not sleep while one counts, and a reset loses the last second",
	  "/sys/module/panfrost/parameters/unstable_ioctls",
	  ENGINES ", if this kernel's panfrost shows them: it has no switch profiling" },
	{ "panthor", PROFILED, "3",
	  "blocks by PERF_CONTROL, if the driver has it, as no kernel from kernel.org has: "
	  "CAP_PERFMON; it may sleep",
	  NULL,
	  /* 6.12 has neither fdinfo nor the switch, 7.3 has both */
	  "this kernel's panthor shows no engine times" },
	{ "v3d", ENGINES "; gpu_stats/*/: any user, the engines' times for all programs", NULL,
	  "events by the global performance monitor of Linux 7.3 and -d v3d only: root or perfctr "
	  "serve, as programs with monitors of their own hang meanwhile",
	  NULL, NULL },
	{ "msm", ENGINES, NULL,
	  "blocks by streams of the driver, which it has from Linux 7.3 on: CAP_PERFMON, one "
	  "program at a time; it may sleep",
	  NULL, NULL },
	{ "nouveau", "nothing: the driver shows no engine times", NULL, NULL, NULL, NULL },
	/* any other */
	{ "", ENGINES ", if the driver shows them", NULL, NULL, NULL, NULL },
};

static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	const bool done = file && fgets(text, (int)size, file);

	if (file)
		fclose(file);
	if (done)
		text[strcspn(text, "\n")] = '\0';
	return done;
}

/* The last part of the target of a link. */
static bool read_target(const char *path, char *name, size_t size)
{
	char target[512];
	const ssize_t length = readlink(path, target, sizeof(target) - 1);
	const char *last;

	if (length < 0)
		return false;
	target[length] = '\0';
	last = strrchr(target, '/');
	snprintf(name, size, "%.63s", last ? last + 1 : target);
	return true;
}

static bool is_asleep(const char *folder)
{
	char path[512], text[24];

	snprintf(path, sizeof(path), "%s/power/runtime_status", folder);
	return read_line(path, text, sizeof(text)) && !strcmp(text, "suspended");
}

/* What gpu_metrics of a card offers. */
static void add_amdgpu(struct perfctr_ctx *ctx, struct perfctr_device *device, const char *place,
		       char *text, size_t size)
{
	struct perfctr_selection *selection = NULL;
	char events[128];
	int count = -1;

	snprintf(events, sizeof(events), "amdgpu/%s:*/", place);
	if (!perfctr_selection_new(device, &selection))
		count = perfctr_selection_add(selection, events);
	if (count > 0)
		snprintf(
			text, size,
			"; amdgpu/%s:*/ by gpu_metrics, %d values: any user, each reading asks the "
			"firmware, at most each 5 ms",
			place, count);
	else
		snprintf(text, size, "; %s", perfctr_ctx_error(ctx));
	perfctr_selection_unref(selection);
}

/* What counts the blocks of a card, with a separator. Return: the command that turns it on. */
static const char *describe_blocks(const struct driver *d, const char *driver, char *text,
				   size_t size, char *fix, size_t fix_size)
{
	char path[256], value[8];

	*text = '\0';
	snprintf(path, sizeof(path), CORE_HOLDERS "/%.64s", driver);
	if (!access(path, F_OK)) {
		snprintf(text, size,
			 "blocks by the counter core: CAP_PERFMON, or users that perfctr serve or "
			 "sysctl dev.perfctr.paranoid=0 permits; it may sleep; ");
		return NULL;
	}
	if (!d->own)
		return NULL;
	if (!d->own_switch) {
		snprintf(text, size, "%s; ", d->own);
		return NULL;
	}
	/* only root may read whether it is on */
	if (!read_line(d->own_switch, value, sizeof(value)))
		*value = '?';
	snprintf(text, size, "%s%s; ", d->own,
		 *value == 'Y' ? "" :
		 *value == 'N' ? "; they are off" :
				 "; root may have turned them off");
	snprintf(fix, fix_size, "echo 1 | sudo tee %s", d->own_switch);
	return *value == 'N' ? fix : NULL;
}

static void visit_card(struct perfctr_ctx *ctx, struct perfctr_device *device, const char *name,
		       gpus_fn fn, void *arg)
{
	char folder[256], path[512], driver[64], place[64], more[512] = "", text[1024], fix[256];
	char blocks[320], own_fix[128];
	const char *first_fix, *engines;
	const struct driver *d = drivers;

	snprintf(folder, sizeof(folder), DRM_CLASS "/%.64s/device", name);
	snprintf(path, sizeof(path), "%s/driver", folder);
	if (!read_target(path, driver, sizeof(driver)) ||
	    !read_target(folder, place, sizeof(place)) || !strcmp(driver, "nvidia"))
		return;
	while (*d->name && strcmp(d->name, driver) != 0)
		d++;
	if (!strcmp(driver, "amdgpu"))
		add_amdgpu(ctx, device, place, more, sizeof(more));
	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/%s/%s/profiling", driver, place);
	snprintf(fix, sizeof(fix), "echo %s | sudo tee %.200s", d->all ? d->all : "", path);
	engines = d->no_switch && access(path, F_OK) ? d->no_switch : d->text;
	first_fix = describe_blocks(d, driver, blocks, sizeof(blocks), own_fix, sizeof(own_fix));
	snprintf(text, sizeof(text), "%s, %s%s: %s%s%s", place, driver,
		 is_asleep(folder) ? ", asleep" : "", blocks, engines, more);
	if (!first_fix && d->all && read_line(path, more, sizeof(more)) && strcmp(more, d->all))
		first_fix = fix;
	fn(arg, *blocks || strncmp(d->text, "nothing", 7) != 0, first_fix, text);
}

static void visit_nvidia(const char *place, gpus_fn fn, void *arg)
{
	char folder[256], text[512];

	snprintf(folder, sizeof(folder), NVIDIA_DRIVER "/%.64s", place);
	if (is_asleep(folder))
		snprintf(
			text, sizeof(text),
			"%s, nvidia, asleep: nvml/*/ only while it is awake, as NVML would wake it",
			place);
	else
		snprintf(
			text, sizeof(text),
			"%s, nvidia: nvml/%s:*/ by NVML (libnvidia-ml.so.1): any user, and the GPU "
			"does not sleep while one is counted",
			place, place);
	fn(arg, true, NULL, text);
}

static void visit_kbase(const char *name, gpus_fn fn, void *arg)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%s, kbase: blocks by its interface kinstr_prfcnt, -d %s: any user of the node; "
		 "it may sleep",
		 name, name);
	fn(arg, true, NULL, text);
}

static bool is_mali(const char *name)
{
	return !strncmp(name, "mali", 4) && isdigit((unsigned char)name[4]) && !name[5];
}

static bool is_card(const char *name)
{
	return !strncmp(name, "card", 4) && isdigit((unsigned char)name[4]) && !strchr(name, '-');
}

static bool is_pci(const char *name)
{
	return strchr(name, ':');
}

void gpus_walk(struct perfctr_ctx *ctx, struct perfctr_device *device, gpus_fn fn, void *arg)
{
	static const struct {
		const char *folder;
		bool (*is_gpu)(const char *name);
	} places[] = { { DRM_CLASS, is_card }, { NVIDIA_DRIVER, is_pci }, { "/dev", is_mali } };

	for (size_t p = 0; p < ARRAY_SIZE(places); p++) {
		struct dirent **entries;
		const int count = scandir(places[p].folder, &entries, NULL, alphasort);

		for (int n = 0; n < count; n++) {
			if (places[p].is_gpu(entries[n]->d_name)) {
				if (p == 2)
					visit_kbase(entries[n]->d_name, fn, arg);
				else if (p)
					visit_nvidia(entries[n]->d_name, fn, arg);
				else
					visit_card(ctx, device, entries[n]->d_name, fn, arg);
			}
			free(entries[n]);
		}
		if (count >= 0)
			free(entries);
	}
}
