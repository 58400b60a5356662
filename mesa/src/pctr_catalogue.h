/* SPDX-License-Identifier: MIT */
/*
 * Counters of a device, as groups for GL: one group for each type of block (the sum of its blocks),
 * one for each block if there are several, one for each perf PMU. Blocks without common counters,
 * for example the clock domains of PCOUNTER, are not added up. Metrics are counters of the group
 * that they are computed from. Order and names depend on the device only.
 */
#pragma once

#include "pctr_library.h"

#include <stdbool.h>

/* meaning and format of a value */
enum pctr_unit {
	PCTR_UNIT_COUNT, /* integer */
	PCTR_UNIT_BYTES, /* integer, bytes or bytes per second */
	PCTR_UNIT_MICROSECONDS, /* integer */
	PCTR_UNIT_HZ, /* integer */
	PCTR_UNIT_NUMBER, /* with fraction */
	PCTR_UNIT_PERCENT, /* with fraction, 0..100 */
};

/* value of a counter */
union pctr_value {
	uint64_t integer; /* for units without fraction */
	double number; /* for PCTR_UNIT_NUMBER and PCTR_UNIT_PERCENT */
};

/* a counter or a metric */
struct pctr_counter {
	char *name; /* in its group, "FRAGMENTS" */
	char *full_name; /* of the device, "shader16.FRAGMENTS" */
	char *event; /* what perfctr_selection_add() takes */
	const struct perfctr_metric_desc *metric; /* for a metric, else NULL */
	double scale; /* factor of a count, usually 1 */
	uint64_t config; /* of a perf event, identifies its block */
	uint64_t config1; /* of a perf event */
	uint64_t config2; /* of a perf event */
	uint32_t pmu_type; /* of a perf event, type of the PMU */
	unsigned int group; /* index of its group */
	enum pctr_unit unit; /* unit of its values */
	bool several_passes; /* of a metric: see pctr_catalogue_is_monitored() */
	bool is_level; /* values are states or ratios: they do not add up over time */
	uint8_t format; /* enum drm_perfctr_block_format of its block */
	/* see "Block types" in perfctr_drm.h; 0 for a metric of the whole device */
	uint16_t block_type;
	uint16_t block_index; /* DRM_PERFCTR_INDEX_ALL: all blocks added up */
	uint16_t position; /* in its block */
};

/* related counters, never empty */
struct pctr_group {
	char *name; /* "shader16" */
	unsigned int count; /* number of its counters */
	bool is_tried; /* the following members are valid */
	bool is_measured; /* the limit was measured; otherwise it is the minimum */
	unsigned int monitored; /* counters for which pctr_catalogue_is_monitored() is true */
	unsigned int max_active; /* how many of them can be active at once */
};

/* groups and counters of a device; does not change */
struct pctr_catalogue {
	struct pctr_counter *counters; /* of all groups, in their order */
	struct pctr_group *groups; /* the groups */
	unsigned int counter_count; /* elements of @counters */
	unsigned int group_count; /* elements of @groups */
	char *device; /* what perfctr_device_open() takes */
	char *driver; /* name of the device's kernel driver */
};

/*
 * Find the device and its counters. The device is @wanted; else the only one with one of the
 * drivers; else the only device.
 * @wanted: name or node of the device, or NULL; @screen_drivers: names of the kernel drivers that
 * the screen's GPU may have, ends with NULL; @problem: on failure set to a sentence with the
 * reason; valid forever or until the next call of this thread.
 * Return: the catalogue, owned by the caller; NULL on failure.
 */
struct pctr_catalogue *pctr_catalogue_new(const char *wanted, const char *const *screen_drivers,
					  const char **problem);

/*
 * Limits of a group. max_active is the largest number of counters that fit in one pass. Begin may
 * refuse a smaller set whose multiplexers conflict. For multiplexed counters the limit is measured
 * at the first call, with short sessions that take multiplexing slots from other sessions. While
 * other sessions prevent the measurement max_active is 1, which Begin always accepts, and the next
 * call measures again. Any thread may call this.
 * Return: the group as it is now; it changes if it could not be measured before. The catalogue owns
 * its name.
 */
struct pctr_group pctr_catalogue_group(struct pctr_catalogue *catalogue, unsigned int group);

/*
 * Whether a monitor can have a counter. A metric that needs counters of several passes never has a
 * value, so Begin would refuse it.
 * Return: whether it can.
 */
bool pctr_catalogue_is_monitored(struct pctr_catalogue *catalogue, unsigned int counter);

/* @catalogue: may be NULL */
void pctr_catalogue_free(struct pctr_catalogue *catalogue);
