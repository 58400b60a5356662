/* SPDX-License-Identifier: MIT */
/* Which number something has, by its hash. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_place {
	uint64_t hash;
	size_t number; /* + 1; 0: the place is free */
};

/* zeroed: empty */
struct table {
	struct table_place *places;
	size_t room; /* 0 or a power of two, more than twice @count */
	size_t count;
};

#define TABLE_HASH UINT64_C(0xcbf29ce484222325)

/* A hash that also depends on @text, in this place. Begin with TABLE_HASH. */
uint64_t table_hash(uint64_t hash, const char *text);

/* Whether the thing with that number is what is looked for. */
typedef bool (*table_is_fn)(const void *data, size_t number);

/*
 * Find the number of a thing; if it has none, it gets @number.
 * @found: set to its number. Return: 0 or -ENOMEM.
 */
int table_add(struct table *table, uint64_t hash, table_is_fn is, const void *data, size_t number,
	      size_t *found);

/* The same without giving it one. Return: whether it has a number. */
bool table_find(const struct table *table, uint64_t hash, table_is_fn is, const void *data,
		size_t *found);

void table_free(struct table *table);
