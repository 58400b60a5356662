// SPDX-License-Identifier: MIT
/* A hash table with open addressing: a thing is in the first free place from that of its hash. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>

uint64_t table_hash(uint64_t hash, const char *text)
{
	/* FNV-1a */
	do
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	while (*text++);
	return hash;
}

/* The place of a thing, or the free one for it; without @is only a free one. */
static struct table_place *place_of(const struct table *t, uint64_t hash, table_is_fn is,
				    const void *data)
{
	for (size_t n = hash ^ hash >> 32;; n++) {
		struct table_place *p = &t->places[n & (t->room - 1)];

		if (!p->number || (is && p->hash == hash && is(data, p->number - 1)))
			return p;
	}
}

static int grow(struct table *t)
{
	struct table more = { .room = t->room ? 2 * t->room : 64, .count = t->count };

	more.places = calloc(more.room, sizeof(*more.places));
	if (!more.places)
		return -ENOMEM;
	for (size_t n = 0; n < t->room; n++)
		if (t->places[n].number)
			*place_of(&more, t->places[n].hash, NULL, NULL) = t->places[n];
	free(t->places);
	*t = more;
	return 0;
}

int table_add(struct table *table, uint64_t hash, table_is_fn is, const void *data, size_t number,
	      size_t *found)
{
	struct table_place *p;

	if (2 * (table->count + 1) >= table->room && grow(table))
		return -ENOMEM;
	p = place_of(table, hash, is, data);
	if (!p->number) {
		*p = (struct table_place){ hash, number + 1 };
		table->count++;
	}
	*found = p->number - 1;
	return 0;
}

bool table_find(const struct table *table, uint64_t hash, table_is_fn is, const void *data,
		size_t *found)
{
	const struct table_place *p = table->room ? place_of(table, hash, is, data) : NULL;

	if (!p || !p->number)
		return false;
	*found = p->number - 1;
	return true;
}

void table_free(struct table *table)
{
	free(table->places);
	*table = (struct table){ 0 };
}
