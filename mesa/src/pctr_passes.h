/* SPDX-License-Identifier: MIT */
/*
 * What the hardware counts at the same time. NVIDIA's counters have four in each clock domain and each
 * TPC, and multiplexers that several of them need: what does not fit into one pass takes turns.
 */
#ifndef PCTR_PASSES_H
#define PCTR_PASSES_H

#include "pctr_catalogue.h"

#include <time.h>

enum {
	/* a pass has its turn for so long, at least: "Turns" of docs/pcounter.md; no ioctl tells it */
	PCTR_TURN_NS = 2000000,
	/* between two looks: a turn, and something for clocks that are not the same */
	PCTR_LOOK_NS = 3000000,
	/*
	 * Looks that see two turns. The first turn tells nothing: it is given to who begins to count, as
	 * others had theirs before. Each look collects, and a collection gives the turn to the next pass if
	 * one is over: the second look does, the third one sees it.
	 */
	PCTR_LOOKS = 3,
	/* turns of each counter in a window of frames: of one alone the estimate is noise */
	PCTR_WINDOW_TURNS = 8,
};

/**
 * pctr_wait_for_turn() - let the time between two looks pass
 */
static inline void pctr_wait_for_turn(void)
{
	const struct timespec wait = { .tv_nsec = PCTR_LOOK_NS };

	nanosleep(&wait, NULL);
}

/**
 * pctr_takes_turns() - whether counters of a block may need several passes
 * @format: enum drm_perfctr_block_format of the block
 *
 * Of the others a device counts everything that it has; perf PMUs are perf's business.
 *
 * Return: whether they may.
 */
static inline bool pctr_takes_turns(unsigned int format)
{
	return format & DRM_PERFCTR_FORMAT_RUNNING_TIMES &&
	       !(format & DRM_PERFCTR_FORMAT_PMU_IDENTITY);
}

struct pctr_query;

/**
 * struct pctr_window - frames of which a HUD's counters are known together
 *
 * A turn is longer than many a frame: most counters that take turns were not counted in most of
 * them, and what is computed from several hardly ever. So the frames of a HUD are put together until
 * each of its counters had PCTR_WINDOW_TURNS, and of those that waited in it the window tells the
 * mean of a frame, until the next one is full. Queries of the same counters, as a HUD has a few in
 * turn, share it.
 */
struct pctr_window {
	/** @next: of the context. */
	struct pctr_window *next;
	/** @counters: indices in the catalogue. */
	unsigned int *counters;
	/** @count: number of them. */
	unsigned int count;
	/** @users: queries that share it. */
	unsigned int users;
	/** @counting: the one of them that counts for it, or NULL. */
	const struct pctr_query *counting;
	/** @frames: that @totals are of. */
	unsigned int frames;
	/** @totals: of all frames since the last window was full. */
	struct perfctr_totals *totals;
	/** @values: of a frame of the last window, zero before there was one. */
	union pctr_value *values;
	/** @waited: which of them were estimated in the last window, or are in this one. */
	bool *waited;
};

/**
 * pctr_window_get() - the window of a query
 * @windows: of the context
 * @ctx: context of the library
 * @counters: of the query
 * @count: number of them
 *
 * Return: the window, a new one if there is none for such queries; NULL without memory.
 */
struct pctr_window *pctr_window_get(struct pctr_window **windows, struct perfctr_ctx *ctx,
				    const unsigned int *counters, unsigned int count);

/**
 * pctr_window_put() - a query is given up
 * @windows: of the context
 * @window: of the query, or NULL
 */
void pctr_window_put(struct pctr_window **windows, struct pctr_window *window);

/**
 * pctr_window_is_full() - whether each counter had PCTR_WINDOW_TURNS
 * @window: window
 *
 * While a device's time stands still nobody has one.
 *
 * Return: whether @totals tell something of all of them.
 */
bool pctr_window_is_full(const struct pctr_window *window);

/**
 * pctr_passes_measure() - find out what one pass has of a group
 * @path: what perfctr_device_open() takes
 * @first: the group's first counter, its others follow; @several_passes of its metrics is set
 * @count: counters of the group
 *
 * Counts for some moments. Counters are tried one after the other, those first that metrics need;
 * a metric whose counters are in the pass is in it, too. While somebody else counts what shares the
 * hardware, the answer is that nothing is known, or, at worst, too small.
 *
 * Return: how many counters one pass has at most; 0 if it is not known.
 */
unsigned int pctr_passes_measure(const char *path, struct pctr_counter *first, unsigned int count);

#endif /* PCTR_PASSES_H */
