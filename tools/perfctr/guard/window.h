/* SPDX-License-Identifier: MIT */
/*
 * Counts of samples in a sliding window, in integers.
 *
 * Where in its span a sample's counts occurred is unknown, so each sample counts as a whole. After
 * a sample the window has the counts of all samples that end after (start of that sample - length).
 * These include all counts of any interval of that length that ends within the sample: no interval
 * exceeds a limit unseen. They exceed the counts of the largest such interval by at most those of
 * two samples.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { WINDOW_SAMPLES = 4096 };

struct window {
	uint64_t length_ns;
	/* of the samples, saturated at UINT64_MAX */
	uint64_t counted;
	/* a ring, oldest sample first */
	size_t first, count;
	struct window_sample {
		uint64_t start_ns, end_ns, counts;
	} samples[WINDOW_SAMPLES];
};

/* Add a sample. If there is no room, it joins the one before. Return: the window's counts. */
uint64_t window_add(struct window *window, uint64_t start_ns, uint64_t end_ns, uint64_t counts);

/*
 * Counts that a budget allows in a window: a count, or a rate times the window, rounded down.
 * @text: "20M" (counts), "2G/s", "2GB/s" (per second), "30%" (of @full_hz, counts per second)
 * @full_hz: what 100 % are, 0: unknown
 * Return: 0; -EINVAL no limit; -ERANGE beyond 64 bits; -EDOM percent of an unknown rate.
 */
int window_limit(const char *text, uint64_t length_ns, uint64_t full_hz, uint64_t *limit);
