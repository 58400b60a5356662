/* SPDX-License-Identifier: MIT */
/*
 * Counters that the hardware can count at the same time. NVIDIA GPUs have four counters in each
 * clock domain and in each TPC, and multiplexers that several counters need. Counters that do not
 * fit in one pass are multiplexed.
 */
#pragma once

#include "pctr_catalogue.h"

#include <time.h>

enum {
	/* the minimum length of a multiplexing slot, kernel/source/pcounter; no ioctl has it */
	PCTR_SLOT_NS = 2000000,
	PCTR_LOOK_NS = 3000000, /* between two looks: a slot, and a margin for clocks that differ */
	/*
	 * Looks that cover two slots. The first slot shows nothing: a new counter gets it, because
	 * the others had theirs before. Each look collects, and a collection ends a slot that is
	 * over: the second look changes to the next pass, the third one sees it.
	 */
	PCTR_LOOKS = 3,
	/* slots of each counter in a window of frames: an estimate from one slot is noise */
	PCTR_WINDOW_SLOTS = 8,
};

/* Wait for the time between two looks. */
static inline void pctr_wait_for_slot(void)
{
	const struct timespec wait = { .tv_nsec = PCTR_LOOK_NS };

	nanosleep(&wait, NULL);
}

/*
 * Whether counters of a block may need several passes. A device counts everything of other blocks
 * at once; perf multiplexes the events of its PMUs.
 * @format: enum drm_perfctr_block_format of the block.
 * Return: whether they may.
 */
static inline bool pctr_is_multiplexed(unsigned int format)
{
	return format & DRM_PERFCTR_FORMAT_RUNNING_TIMES &&
	       !(format & DRM_PERFCTR_FORMAT_PMU_IDENTITY);
}

struct pctr_query;

/*
 * frames over which a HUD's counters are averaged
 *
 * A multiplexing slot lasts longer than most frames, so most frames have no counts of most
 * multiplexed counters, and hardly any frame has all counters of a metric. Frames are therefore
 * added up until each counter had PCTR_WINDOW_SLOTS. Multiplexed counters then show the mean over
 * that window until the next one is full. Queries of the same counters share a window; a HUD has a
 * few of them in flight.
 */
struct pctr_window {
	struct pctr_window *next; /* of the context */
	unsigned int *counters; /* indices in the catalogue */
	unsigned int count; /* number of them */
	unsigned int users; /* queries that share it */
	const struct pctr_query *counting; /* the query that counts for it, or NULL */
	unsigned int frames; /* number of frames in @totals */
	struct perfctr_totals *totals; /* of all frames since the last window was full */
	/* means of the last full window, zero before there was one */
	union pctr_value *values;
	bool *waited; /* counters that were estimated in the last window, or are in this one */
};

/*
 * The window of a query.
 * @ctx: context of the library.
 * Return: the window, a new one if there is none for such queries; NULL without memory.
 */
struct pctr_window *pctr_window_get(struct pctr_window **windows, struct perfctr_ctx *ctx,
				    const unsigned int *counters, unsigned int count);

/* A query is freed. @window: of the query, or NULL. */
void pctr_window_put(struct pctr_window **windows, struct pctr_window *window);

/*
 * Whether each counter had PCTR_WINDOW_SLOTS. While a device's time stands still no counter has
 * any.
 * Return: whether @totals have counts of all of them.
 */
bool pctr_window_is_full(const struct pctr_window *window);

/*
 * Find out how much of a group fits in one pass. Counts for a short time. Counters are tried one
 * after the other, those that metrics need first; a metric whose counters are all in the pass is in
 * it, too. While other sessions use the same hardware the result is unknown or, at worst, too
 * small.
 * @path: what perfctr_device_open() takes; @first: the group's first counter, its others follow;
 * @several_passes of its metrics is set; @count: counters of the group.
 * Return: how many counters one pass has at most; 0 if it is not known.
 */
unsigned int pctr_passes_measure(const char *path, struct pctr_counter *first, unsigned int count);
