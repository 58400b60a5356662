/* SPDX-License-Identifier: MIT */
/* What the session of fixture.h has published: sums of each block. */
#pragma once

#include "fixture.h"

/* of the unread samples */
struct seen {
	uint64_t sum[16], cycles[16], lost_ns;
	unsigned int blocks, index[16], samples;
	uint32_t flags, states[16];
};

static inline void read_samples(struct seen *seen)
{
	struct perfctr_sample s;
	struct perfctr_block block;

	while (perfctr_cursor_next(cursor, &s) > 0) {
		seen->samples++;
		seen->flags |= s.flags;
		seen->lost_ns += s.lost_ns;
		for (seen->blocks = 0; perfctr_decode_block(&s, &block) > 0; seen->blocks++) {
			seen->index[seen->blocks] = block.index;
			seen->states[seen->blocks] |= block.states;
			seen->cycles[seen->blocks] += block.clock_cycles;
			for (unsigned int i = 0; i < block.count; i++)
				seen->sum[seen->blocks] += perfctr_block_value(&block, i);
		}
		perfctr_cursor_advance(cursor, 1);
	}
}

static inline struct seen take(bool stops)
{
	struct seen seen = { 0 };

	EQUAL(stops ? perfctr_session_stop(session, 0) : perfctr_session_sample(session, 0), 0);
	read_samples(&seen);
	return seen;
}
