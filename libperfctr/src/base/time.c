// SPDX-License-Identifier: MIT
/* Time: conversion between the clock of samples and other clocks. */
#include "device.h"

#include <time.h>

enum { ANCHOR_ATTEMPTS = 8 };

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

EXPORT uint64_t perfctr_time_raw_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_RAW);
}

EXPORT int perfctr_time_anchor(struct perfctr_anchor *anchor)
{
	struct perfctr_anchor a;
	bool found = false;

	for (int n = 0; n < ANCHOR_ATTEMPTS; n++) {
		uint64_t before = read_clock(CLOCK_MONOTONIC_RAW);
		uint64_t after;

		a.monotonic_ns = read_clock(CLOCK_MONOTONIC);
		a.boottime_ns = read_clock(CLOCK_BOOTTIME);
		a.realtime_ns = read_clock(CLOCK_REALTIME);
		after = read_clock(CLOCK_MONOTONIC_RAW);
		if (!before || !after || after < before)
			return -EIO;
		a.raw_ns = before + (after - before) / 2;
		a.error_ns = after - before;
		/* use the shortest attempt: it was not interrupted */
		if (!found || a.error_ns < anchor->error_ns)
			*anchor = a;
		found = true;
	}
	return 0;
}

static int anchor_clock(const struct perfctr_anchor *anchor, int clock, uint64_t *ns)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		*ns = anchor->monotonic_ns;
		return 0;
	case CLOCK_BOOTTIME:
		*ns = anchor->boottime_ns;
		return 0;
	case CLOCK_REALTIME:
		*ns = anchor->realtime_ns;
		return 0;
	default:
		return -EINVAL;
	}
}

EXPORT int perfctr_time_convert(const struct perfctr_anchor *first,
				const struct perfctr_anchor *last, uint64_t raw_ns, int clock,
				uint64_t *ns)
{
	uint64_t from, to, raw_span;
	long double share;
	int error;

	error = anchor_clock(first, clock, &from);
	if (!error)
		error = anchor_clock(last, clock, &to);
	if (error)
		return error;

	/* modulo 2^64, so that times before the anchor are correct too */
	if (raw_ns <= first->raw_ns || last->raw_ns <= first->raw_ns) {
		*ns = from + (raw_ns - first->raw_ns);
		return 0;
	}
	if (raw_ns >= last->raw_ns) {
		*ns = to + (raw_ns - last->raw_ns);
		return 0;
	}
	/* interpolate the other clock's drift, which is small, not the time */
	raw_span = last->raw_ns - first->raw_ns;
	share = (long double)(raw_ns - first->raw_ns) / (long double)raw_span;
	*ns = from + (raw_ns - first->raw_ns) +
	      (uint64_t)(int64_t)(share * (long double)(int64_t)(to - from - raw_span));
	return 0;
}

/* CLOCK_MONOTONIC stops in suspend, CLOCK_BOOTTIME does not. */
static bool suspended(const struct perfctr_anchor *from, const struct perfctr_anchor *to)
{
	return to->boottime_ns - to->monotonic_ns >
	       from->boottime_ns - from->monotonic_ns + NS_PER_S / 1000;
}

EXPORT int perfctr_time_of_anchors(const struct perfctr_anchor *anchors, size_t count,
				   uint64_t raw_ns, int clock, uint64_t *ns)
{
	const struct perfctr_anchor *from, *to;
	uint64_t first_ns;
	size_t last = 0;
	int error;

	if (!count)
		return -ENODATA;
	/* the first anchor that is not before, or the last one */
	for (size_t end = count - 1; last < end;) {
		const size_t middle = last + (end - last) / 2;

		if (anchors[middle].raw_ns < raw_ns)
			last = middle + 1;
		else
			end = middle;
	}
	to = &anchors[last];
	from = &anchors[last ? last - 1 : 0];
	/* the clock leapt at an unknown instant: not a rate that one may interpolate with */
	if (raw_ns < to->raw_ns && suspended(from, to))
		to = from;
	error = anchor_clock(from, clock, &first_ns);
	if (!error && raw_ns < from->raw_ns && from->raw_ns - raw_ns > first_ns)
		return -ERANGE;
	return error ? error : perfctr_time_convert(from, to, raw_ns, clock, ns);
}

EXPORT int perfctr_time_of_gpu(const struct perfctr_device *device, uint32_t epoch,
			       uint64_t gpu_timestamp, uint64_t *raw_ns)
{
	const struct drm_perfctr_clock_info *c = NULL;
	unsigned int unused_bits;
	__int128 ticks;

	for (size_t n = 0; n < device->clock_count; n++)
		if (device->clocks[n].clock == DRM_PERFCTR_CLOCK_TIMESTAMP)
			c = &device->clocks[n];
	if (!c || !c->frequency_hz || !c->valid_bits || c->valid_bits > 64)
		return -EOPNOTSUPP;
	if (!epoch || epoch != c->epoch)
		return -ESTALE;

	/* nearest time before or after the pair, within one wrap of the counter */
	unused_bits = 64 - c->valid_bits;
	ticks = (int64_t)((gpu_timestamp - c->gpu_timestamp) << unused_bits) >> unused_bits;
	*raw_ns = c->raw_ns + (uint64_t)(int64_t)(ticks * NS_PER_S / c->frequency_hz);
	return 0;
}
