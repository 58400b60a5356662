/* SPDX-License-Identifier: MIT */
/* What perfctr-load can do. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* the work of one run */
struct load {
	unsigned char *memory; /* @size bytes, all of which were written */
	size_t size; /* a multiple of 128 */
	size_t at; /* where the next part begins */
	void *data; /* of the kind */
	uint64_t sum; /* so that no read is left out */
	const char *error; /* why begin() failed */
};

/* a kind of work */
struct load_kind {
	const char *name, *unit;
	uint64_t least; /* units that are done at once */
	/* may be NULL; return: 0, -1 with @error */
	int (*begin)(struct load *load);
	/* Do so many units, a multiple of @least. */
	void (*work)(struct load *load, uint64_t units);
};

extern const struct load_kind load_gpu;
