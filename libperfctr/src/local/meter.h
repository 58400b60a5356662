/* SPDX-License-Identifier: MIT */
/*
 * A cumulative value of the kernel that may fall: it reads low for a while, or it starts again.
 *
 * What is counted is never more than what was used. A value that is a little lower than before is
 * waited for, as drm-usage-stats says. One that fell to less than half may have started again: its
 * growth counts. Once it is as high as before it either never started again or has grown that far:
 * from there on only what exceeds the former value and the growth counted since counts. Of a value
 * that did start again this loses less than one step.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct meter {
	bool read; /* @last is valid */
	uint64_t last, total; /* the last value; what was counted */
	/* after a fall, until the value is as high again, else 0: the value before, growth since */
	uint64_t peak, since;
	bool restarted; /* it fell to less than half */
};

/* Continue from a value, without counting it. */
static inline void meter_begin(struct meter *m, uint64_t value)
{
	*m = (struct meter){ .read = true, .last = value };
}

/* Count up to a value. Return: whether something may be missing. */
static inline bool meter_step(struct meter *m, uint64_t value)
{
	uint64_t growth = value > m->last ? value - m->last : 0;
	bool lost = false;

	if (value < m->last && !m->peak) {
		m->peak = m->last;
		m->since = 0;
		m->restarted = false;
	}
	if (m->peak && value >= m->peak) {
		growth = value - m->peak > m->since ? value - m->peak - m->since : 0;
		m->peak = 0;
		lost = m->restarted;
	} else if (m->peak) {
		lost = value <= m->peak / 2 && !m->restarted;
		m->restarted |= lost;
		growth = m->restarted ? growth : 0;
		m->since += growth;
	}
	m->last = value;
	m->total += growth;
	return lost;
}
