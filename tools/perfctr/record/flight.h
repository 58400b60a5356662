/* SPDX-License-Identifier: MIT */
/* The samples of the last seconds, in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* when a sample was taken from the ring, and how large it is */
struct flight_entry {
	uint64_t taken_ns;
	uint32_t bytes;
	unsigned int session; /* whose sample it is */
};

/* samples, oldest first */
struct flight {
	uint64_t keep_ns; /* samples that were taken longer ago are dropped */
	size_t limit_bytes; /* memory for samples; the oldest are dropped at the limit */
	size_t stride; /* bytes for each sample */
	size_t capacity; /* allocated slots, a power of two or 0 */
	size_t first; /* free-running index of the oldest sample */
	size_t count; /* samples kept */
	uint64_t cut_short; /* dropped for lack of memory, until all of @keep_ns are there again */
	struct flight_entry *entries;
	unsigned char *bytes;
};

/*
 * Keep a sample, drop those that are too old.
 * @flight: keep_ns, limit_bytes and stride set by the caller, the rest zero at first; @session: its
 * number; @bytes: the sample; @size: its bytes, at most stride; @now_ns: time, never less than at
 * the last call.
 * Return: 0; -E2BIG it is longer than stride; -ENOMEM not even one fits.
 */
int flight_add(struct flight *flight, unsigned int session, const void *bytes, size_t size,
	       uint64_t now_ns);

/*
 * A kept sample.
 * @n: 0..count - 1, oldest first; @session, @size: set to its session and bytes; may be NULL.
 * Return: the sample, valid until the next flight_add().
 */
const void *flight_get(const struct flight *flight, size_t n, unsigned int *session, size_t *size);

void flight_free(struct flight *flight);
