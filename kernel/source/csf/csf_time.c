// SPDX-License-Identifier: GPL-2.0
/*
 * Conversion of GPU timestamps to CLOCK_MONOTONIC_RAW.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "csf_time.h"

/**
 * DOC: time of a sample
 *
 * Firmware stamps samples with the GPU timestamp; samples for userspace carry
 * CLOCK_MONOTONIC_RAW. Neither clock is adjusted, but they have different oscillators, so that a
 * single pair of readings and the nominal frequency would drift apart. The source therefore reads
 * a pair (an anchor) whenever it takes samples out of the ring, and interpolates between the last
 * two::
 *
 *     raw   prev.raw_ns ----------- ? --------- cur.raw_ns
 *     GPU   prev.gpu_ticks ------ ticks ------- cur.gpu_ticks
 *
 * A sample's timestamp lies between the anchor of the previous collection and the anchor taken
 * after firmware delivered it. The error is at most that of the worse anchor plus one tick plus
 * rounding, see csf_time_error_ns(). It does not depend on the GPU's frequency, which does not
 * affect the timestamp counter.
 *
 * Outside the two anchors the nominal frequency is used.
 */

/* fastest timestamp for which ticks * NSEC_PER_SEC / hz can be computed */
#define CSF_TIME_MAX_HZ			10000000000ULL
/* an anchor is rejected if it deviates from the nominal frequency by more than 1/64 ... */
#define CSF_TIME_TOLERANCE_SHIFT	6
/* ... plus this allowance for interrupts between two readings */
#define CSF_TIME_TOLERANCE_NS		100000ULL

/**
 * csf_time_init() - initialise without an anchor
 * @time: the conversion
 * @hz: nominal frequency of the timestamp, 0 if unknown
 */
void csf_time_init(struct csf_time *time, u64 hz)
{
	memset(time, 0, sizeof(*time));
	if (hz <= CSF_TIME_MAX_HZ)
		time->hz = hz;
}

static u64 nominal_ns(u64 hz, u64 ticks)
{
	u64 seconds, rest;

	if (!hz)
		return 0;
	seconds = div64_u64_rem(ticks, hz, &rest);
	if (seconds > U64_MAX / NSEC_PER_SEC - 1)
		return U64_MAX;
	return seconds * NSEC_PER_SEC + div64_u64(rest * NSEC_PER_SEC, hz);
}

/* num * ticks / den without overflow, for ticks <= den; loses at most 2^-27 of it */
static u64 interpolate(u64 ticks, u64 num, u64 den)
{
	u64 rest, whole = div64_u64_rem(num, den, &rest);

	while (den > U32_MAX) {
		rest >>= 1;
		den >>= 1;
	}
	return ticks * whole + mul_u64_u32_div(ticks, rest, den);
}

/**
 * csf_time_add_anchor() - add a reading of both clocks
 * @time: the conversion
 * @anchor: the reading
 *
 * Returns: false if the GPU timestamp did not advance as expected since the last anchor (it
 * stopped, jumped, or went backwards). The new anchor then becomes the only one.
 */
bool csf_time_add_anchor(struct csf_time *time, const struct csf_perfctr_anchor *anchor)
{
	u64 raw_ns = anchor->raw_ns - time->cur.raw_ns;
	u64 ticks = anchor->gpu_ticks - time->cur.gpu_ticks;
	bool plausible = true;

	if (time->anchors) {
		plausible = (s64)raw_ns >= 0 && (s64)ticks >= 0;
		if (plausible && time->hz) {
			u64 gpu_ns = nominal_ns(time->hz, ticks);
			u64 apart_ns = gpu_ns > raw_ns ? gpu_ns - raw_ns : raw_ns - gpu_ns;

			plausible = apart_ns <= (raw_ns >> CSF_TIME_TOLERANCE_SHIFT) +
						CSF_TIME_TOLERANCE_NS +
						time->cur.error_ns + anchor->error_ns;
		}
	}

	if (time->anchors && plausible) {
		time->prev = time->cur;
		time->anchors = 2;
	} else {
		time->anchors = 1;
	}
	time->cur = *anchor;
	return plausible;
}

/**
 * csf_time_to_ns() - length of a time span
 * @time: the conversion
 * @ticks: the span on the GPU timestamp
 *
 * Returns: the span in ns, 0 if the rate of the timestamp is unknown.
 */
u64 csf_time_to_ns(const struct csf_time *time, u64 ticks)
{
	u64 den = time->cur.gpu_ticks - time->prev.gpu_ticks;

	if (time->hz || time->anchors < 2 || ticks > den || !den)
		return nominal_ns(time->hz, ticks);
	return interpolate(ticks, time->cur.raw_ns - time->prev.raw_ns, den);
}

/**
 * csf_time_to_raw() - convert a GPU timestamp
 * @time: the conversion
 * @ticks: GPU timestamp
 * @raw_ns: CLOCK_MONOTONIC_RAW
 *
 * Returns: false without an anchor, and outside of two anchors without a nominal frequency.
 */
bool csf_time_to_raw(const struct csf_time *time, u64 ticks, u64 *raw_ns)
{
	const struct csf_perfctr_anchor *prev = &time->prev, *cur = &time->cur;

	if (!time->anchors)
		return false;

	if (time->anchors == 2 && ticks >= prev->gpu_ticks && ticks <= cur->gpu_ticks &&
	    cur->gpu_ticks > prev->gpu_ticks) {
		*raw_ns = prev->raw_ns + interpolate(ticks - prev->gpu_ticks,
						     cur->raw_ns - prev->raw_ns,
						     cur->gpu_ticks - prev->gpu_ticks);
		return true;
	}
	if (!time->hz)
		return false;

	if (ticks >= cur->gpu_ticks) {
		*raw_ns = cur->raw_ns + nominal_ns(time->hz, ticks - cur->gpu_ticks);
	} else {
		u64 ago_ns = nominal_ns(time->hz, cur->gpu_ticks - ticks);

		*raw_ns = cur->raw_ns - min(ago_ns, cur->raw_ns);
	}
	return true;
}

/**
 * csf_time_error_ns() - maximum error of csf_time_to_raw() between the anchors
 * @time: the conversion
 *
 * Returns: upper bound in ns.
 */
u64 csf_time_error_ns(const struct csf_time *time)
{
	u64 span_ns = time->cur.raw_ns - time->prev.raw_ns;

	if (time->anchors < 2)
		return U64_MAX;
	return max(time->prev.error_ns, time->cur.error_ns) +
	       nominal_ns(time->hz, 1) + (span_ns >> 27) + 2;
}
