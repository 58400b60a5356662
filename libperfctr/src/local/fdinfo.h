/* SPDX-License-Identifier: MIT */
/*
 * DRM files of processes, as the kernel's drm-usage-stats document defines their text in
 * /proc/PID/fdinfo/FD. A file is one by its text: nodes have other names and numbers in containers,
 * and those of accelerators are below /dev/accel.
 */
#pragma once

#include "base/device.h"

enum {
	DRM_NAME_BYTES = 256, /* of a device, client or event; a longer one does not exist */
	DRM_SYSFS_BYTES = 64,
	/* config of the events, as in counters/perf/drm.toml: what a value is */
	DRM_TIME = 0,
	DRM_CYCLES,
	DRM_CLOCK,
	DRM_MEMORY,
	DRM_FREQUENCY,
	DRM_BUSY,
};

/* a DRM file of a process */
struct drm_file {
	const char *path; /* of the text */
	long pid;
	char sysfs[DRM_SYSFS_BYTES]; /* folder of its device; empty: unknown */
	char place[64]; /* name of the device in sysfs, "fb000000.gpu"; empty: unknown */
	char driver[64];
	char device[DRM_NAME_BYTES]; /* "i915@0000:00:02.0", by drm-pdev or else the place */
	/* "i915@0000:00:02.0#7": the same for all files of a client; without an id, of the path */
	char client[DRM_NAME_BYTES];
};

/* a value of a client */
struct drm_value {
	char name[DRM_NAME_BYTES]; /* of the event, "i915@0000:00:02.0:engine-render" */
	unsigned int config;
	uint64_t value; /* in ns, cycles, bytes or Hz */
};

/* Replace what has a meaning in the text of an event, in a name of the kernel. */
void event_name_clean(char *text);

/* Return: 0; else the walk ends with it. */
typedef int (*drm_file_fn)(void *arg, const struct drm_file *file, const char *text);

/* Call fn for each open DRM file of a client that this user may see. */
int drm_scan(struct perfctr_ctx *ctx, drm_file_fn fn, void *arg);

/* Set the folder of the device and its place before drm_file_read(). */
void drm_set_sysfs(const struct perfctr_sys *sys, struct drm_file *file, const char *folder);

/*
 * Read a file of a client again.
 * @path: of its text; @text: set to it, for the caller to free.
 * Return: whether it is a client's.
 */
bool drm_file_read(const struct perfctr_sys *sys, const char *path, struct drm_file *file,
		   char **text);

/* Whether clients of a driver are not read while their device sleeps: that would wake it. */
bool drm_is_hidden_asleep(const char *driver);

/*
 * Whether reading the text of a file would wake its device: xe's does.
 * @folder: of the device in sysfs; empty: unknown, then whether it may wake one.
 */
bool drm_read_wakes(const struct perfctr_sys *sys, const char *folder);

/* The next value in a client's text; *text moves on. Return: whether there is one. */
bool drm_next_value(const struct drm_file *file, const char **text, struct drm_value *value);

/* Number of engines that an event "...:engine-video" or "...:cycles-video" stands for, 1 or more */
unsigned int drm_capacity(const char *text, const char *event);

/* What the values of an event "DEVICE:KEY" are, whether or not a client has it; -1: none. */
int drm_event_config(const char *event);

/*
 * Whether the driver of a device measures a kind of value now; some have a switch in sysfs.
 * @place: of the device; empty: unknown, then whether any of the driver's devices does.
 * @config: DRM_TIME or DRM_CYCLES; @advice: for the command that turns the switch on, or NULL.
 */
bool drm_measures(struct perfctr_ctx *ctx, const char *driver, const char *place,
		  unsigned int config, char *advice, size_t size);

/* Whether the drivers of this machine measure a kind of value; no search for clients. */
bool drm_all_measure(struct perfctr_ctx *ctx, unsigned int config);
