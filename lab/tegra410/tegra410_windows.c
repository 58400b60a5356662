// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: fixed counters, always on, in the windows of several instances of one unit,
 * with a broadcast window to control all of them. CMEM latency and the C2C family use this layout.
 *
 * Any number of events share the counters. The first event starts them from zero, each further one
 * takes the current value as its start value. Counters have 64 bits and no overflow interrupt;
 * differences are modulo 2^64, so the overflow bits of the status registers are not needed.
 */
#include "tegra410_pmu.h"

/* Logical counters for an event. Returns all of them. @event: the event. */
u32 tegra410_windows_slots(struct tegra410_pmu *pmu, const struct perf_event *event)
{
	return U32_MAX;
}

/* Set the start value of an event. @event: the event; @idx: its slot. */
void tegra410_windows_preset(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	u64 value = 0;

	event->hw.flags &= ~TEGRA410_NO_BASELINE;
	if (pmu->running && pmu->kind->read(pmu, event, idx, &value))
		event->hw.flags |= TEGRA410_NO_BASELINE;
	local64_set(&event->hw.prev_count, value);
}

/*
 * Add up a counter over instances. Returns 0 or a negative errno.
 * @instances: bit n: window n; @offset: of the counter in the window; @sum: added to; undefined on
 * error.
 */
int tegra410_windows_sum(struct tegra410_pmu *pmu, u32 instances, unsigned int offset, u64 *sum)
{
	unsigned long bits = instances;
	unsigned int window;
	u64 value;
	int ret;

	for_each_set_bit(window, &bits, 32) {
		ret = tegra410_pmu_read64(pmu, window, offset, &value);
		if (ret)
			return ret;
		*sum += value;
	}
	return 0;
}
