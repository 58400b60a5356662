/* SPDX-License-Identifier: MIT */
/* Multiplexing: sessions that want more counters than the hardware has at a time. */
#pragma once

#include "block_views.h"

/*
 * A session that wants no more of a block than it has at a time is exact: its counters always
 * count. Those of the others share what is left in turns, and host_views_add_times() gives their
 * sessions running times.
 */

/* Have the source's arrays for turns. Return: 0 or -ENOMEM. */
int host_turns_init(struct host_source *hs);
void host_turns_free(struct host_source *hs);

/* The following with the host's lock held. */

/* What the sessions from @first on want. Return: 0; -E2BIG with the reason in hs->why. */
int host_turns_gather(struct host_source *hs, const struct host_views *first);
/* What the source is to count now, one mask for each section of each block. */
const u64 *host_turns_choose(struct host_source *hs);
/* The block was measured in a collection: what counted in it. */
void host_turns_report(struct host_source *hs, unsigned int block, u32 states, const u64 *valid);
/* A collection has ended, whose counts took @ns. */
void host_turns_count(struct host_source *hs, u64 ns);
/* Time until the turn of others, UINT64_MAX: never. */
u64 host_turns_left_ns(const struct host_source *hs);
