/* SPDX-License-Identifier: MIT */
/* The file gpu_metrics of amdgpu: a table of the firmware's values, in one of several formats. */
#pragma once

#include "gauge.h"

enum {
	GPU_METRICS_BYTES = 4096, /* of the largest file; sysfs has no larger one */
	GPU_METRICS_NAME_BYTES = 64,
	/* config of the events, as in counters/perf/amdgpu.toml: what a value is */
	AMDGPU_TEMPERATURE = 0,
	AMDGPU_POWER,
	AMDGPU_ENERGY,
	AMDGPU_CLOCK,
	AMDGPU_ACTIVITY,
	AMDGPU_VOLTAGE,
	AMDGPU_CURRENT,
	AMDGPU_FAN,
	AMDGPU_BANDWIDTH,
	AMDGPU_DATA,
	AMDGPU_EVENTS,
	AMDGPU_TICKS,
	AMDGPU_ACTIVITY_SUM,
	AMDGPU_BANDWIDTH_SUM,
	AMDGPU_LANES,
	AMDGPU_LINK_SPEED,
	AMDGPU_STATUS,
	AMDGPU_VALUE,
	AMDGPU_SUM,
};

/* where a value is in the file */
struct gpu_field {
	const struct gauge_kind *kind;
	uint16_t at;
	uint8_t bytes;
	bool is_signed;
	/* of a format that describes itself: where the description is, and that it is this one */
	uint16_t described_at;
	uint64_t description;
};

/* @name: as the kernel calls it, "temperature_hbm-2" of an array; return: 0; else the walk ends */
typedef int (*gpu_field_fn)(void *arg, const char *name, const struct gpu_field *field);

/*
 * Call fn for each value that a file may have, whether or not the firmware filled it in.
 * @reason: set if this library does not know the format, which it names.
 * Return: 0; -EPROTO the format is unknown or the file is not whole; else what fn returned.
 */
int gpu_metrics_walk(const void *file, size_t bytes, gpu_field_fn fn, void *arg, char *reason);

/* Return: false: the firmware did not fill it in, or the file is another one than the walk's. */
bool gpu_metrics_read(const void *file, size_t bytes, const struct gpu_field *field,
		      uint64_t *value);
