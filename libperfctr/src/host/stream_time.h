/* SPDX-License-Identifier: MIT */
/* CLOCK_MONOTONIC_RAW of what a GPU recorded by its own clock, without asking it. */
#pragma once

#include "kernel.h"

/* zero: nothing is known */
struct stream_time {
	/* RAW = time of a record + offset, the smallest that records had, when that was found */
	u64 offset_ns, offset_at_ns;
	bool has_offset;
};

/* @ns: of a record by the GPU's clock; @now: when it was read. Return: its RAW. */
static inline u64 stream_time_raw_ns(struct stream_time *time, u64 ns, u64 now)
{
	/* clocks that differ by 100 ppm */
	const u64 drift_ns = (now - min(now, time->offset_at_ns)) / 10000;
	const u64 offset_ns = now - ns;

	/* a record is at most as late as the one that was delivered fastest */
	if (!time->has_offset || (s64)(offset_ns - time->offset_ns - drift_ns) < 0)
		time->offset_ns = offset_ns;
	else
		time->offset_ns += drift_ns;
	time->offset_at_ns = now;
	time->has_offset = true;
	return ns + time->offset_ns;
}
