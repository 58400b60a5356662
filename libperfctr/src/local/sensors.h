/* SPDX-License-Identifier: MIT */
/* Values of devices as files of sysfs: sensors (hwmon), clocks (devfreq), state of GPUs (drm). */
#pragma once

#include "meter.h"
#include "base/device.h"

enum {
	SENSOR_NAME_BYTES = 2 * PATH_BYTES,
	/* config of the events, as in counters/perf/hwmon.toml: what a value is */
	HWMON_TEMPERATURE = 0,
	HWMON_POWER,
	HWMON_ENERGY,
	HWMON_FREQUENCY,
	HWMON_VOLTAGE,
	HWMON_CURRENT,
	HWMON_FAN,
	HWMON_PWM,
	HWMON_HUMIDITY,
};

struct sensor_rule;

/* a file */
struct sensor {
	const struct sensor_rule *rule;
	char path[PATH_BYTES];
	/* its device: the target of the link below /sys/class; empty: unknown */
	char device[PATH_BYTES];
	uint64_t name; /* hash of what it is called, 0: nothing */
	struct meter meter; /* of a count */
	uint64_t changed_ns; /* when it was found to be another value */
};

/* Return: 0; else the walk ends with it. */
typedef int (*sensor_fn)(void *arg, const struct sensor_rule *rule, const char *name,
			 const char *path);

/* Call fn for each file of a PMU. */
int sensors_walk(struct perfctr_ctx *ctx, const char *pmu, sensor_fn fn, void *arg);

/*
 * Find a file by the hash of its event's name. A file is where the last search found it, or all are
 * searched again: finding many takes one search.
 * @path: set to it, PATH_BYTES. Return: 1; 0 there is none; a negative errno.
 */
int sensor_find(struct perfctr_ctx *ctx, const char *pmu, uint64_t hash,
		const struct sensor_rule **rule, char *path);

/* What the file of a rule has, as config of its PMU. */
unsigned int sensor_config(const struct sensor_rule *rule);

/* Unit and factor to it of a PMU's values. Return: NULL: as the kernel has them. */
const char *sensor_unit(const char *pmu, unsigned int config, double *scale);

/* What a person calls it, "Package id 0"; empty: it has no such name. */
void sensor_label(const struct perfctr_sys *sys, const char *path, char *text, size_t size);

void sensor_open(const struct perfctr_sys *sys, struct sensor *s, const struct sensor_rule *rule,
		 const char *path);

/*
 * Count up to an energy in uJ that was read at a time. More than any device uses is not counted:
 * the reading before was wrong, or this one is. Return: whether something may be missing.
 */
bool sensor_count(struct sensor *s, uint64_t energy, uint64_t now_ns);

/*
 * Read a value, which may be negative. A GPU that sleeps is not read: that would wake it. A device
 * that came back under another number is found again.
 * Return: 0; -EAGAIN it sleeps; -EIO it says that it is faulty; -ENODEV it is gone; another
 * negative errno.
 */
int sensor_read(struct perfctr_ctx *ctx, struct sensor *s, const char *pmu, int64_t *value);
