// SPDX-License-Identifier: MIT
/* A ring of samples with a limit in time and in bytes. */
#include "flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

static size_t slot_of(const struct flight *f, size_t n)
{
	return (f->first + n) & (f->capacity - 1);
}

static void drop_first(struct flight *f)
{
	f->first++;
	f->count--;
}

/* Double the room, with samples in order from slot 0. Return: false at the limit. */
static bool grow(struct flight *f)
{
	size_t capacity = f->capacity ? 2 * f->capacity : FIRST_CAPACITY;
	struct flight_entry *entries;
	unsigned char *bytes;

	while (capacity > 1 && capacity * f->stride > f->limit_bytes)
		capacity /= 2;
	if (capacity <= f->capacity || capacity * f->stride > f->limit_bytes)
		return false;
	entries = calloc(capacity, sizeof(*entries));
	bytes = calloc(capacity, f->stride);
	if (!entries || !bytes) {
		free(entries);
		free(bytes);
		return false;
	}
	for (size_t n = 0; n < f->count; n++) {
		size_t from = slot_of(f, n);

		entries[n] = f->entries[from];
		memcpy(bytes + n * f->stride, f->bytes + from * f->stride, entries[n].bytes);
	}
	free(f->entries);
	free(f->bytes);
	f->entries = entries;
	f->bytes = bytes;
	f->capacity = capacity;
	f->first = 0;
	return true;
}

int flight_add(struct flight *f, unsigned int session, const void *bytes, size_t size,
	       uint64_t now_ns)
{
	size_t slot;

	if (size > f->stride)
		return -E2BIG;
	while (f->count && now_ns - f->entries[slot_of(f, 0)].taken_ns > f->keep_ns) {
		drop_first(f);
		f->cut_short = 0;
	}
	if (f->count == f->capacity && !grow(f)) {
		if (!f->capacity)
			return -ENOMEM;
		drop_first(f);
		f->cut_short++;
	}
	slot = slot_of(f, f->count++);
	f->entries[slot] = (struct flight_entry){ now_ns, (uint32_t)size, session };
	memcpy(f->bytes + slot * f->stride, bytes, size);
	return 0;
}

const void *flight_get(const struct flight *f, size_t n, unsigned int *session, size_t *size)
{
	size_t slot = slot_of(f, n);

	if (session)
		*session = f->entries[slot].session;

	*size = f->entries[slot].bytes;
	return f->bytes + slot * f->stride;
}

void flight_free(struct flight *f)
{
	free(f->entries);
	free(f->bytes);
	*f = (struct flight){ 0 };
}
