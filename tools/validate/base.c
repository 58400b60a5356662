// SPDX-License-Identifier: MIT
/* Arena, hashes, first error, whole files, and readings without what disturbed them. */
#include "base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)

struct arena_block {
	struct arena_block *next;
	max_align_t bytes[];
};

struct hash_slot {
	uint64_t hash;
	size_t number; /* plus 1; 0: free */
};

static void out_of_memory(void)
{
	fputs("perfctr validate: out of memory\n", stderr);
	exit(2);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct arena_block *block;

	if (bytes > SIZE_MAX - sizeof(*block))
		out_of_memory();
	block = calloc(1, sizeof(*block) + bytes);
	if (!block)
		out_of_memory();
	block->next = arena->last;
	arena->last = block;
	return block->bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t bytes)
{
	if (bytes && count > SIZE_MAX / bytes)
		out_of_memory();
	return arena_alloc(arena, count * bytes);
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t bytes)
{
	void *grown;

	if (count & (count - 1) || (count == 1 && !array))
		return array;
	grown = arena_array(arena, count ? 2 * count : 1, bytes);
	if (count)
		memcpy(grown, array, count * bytes);
	return grown;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	memcpy(copy, text, length);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = arena_alloc(arena, (size_t)length + 1);
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->last) {
		struct arena_block *next = arena->last->next;

		free(arena->last);
		arena->last = next;
	}
}

/* FNV-1a over words; the last step distributes small ones */
uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

void hash_add(struct arena *arena, struct hash_table *table, uint64_t hash, size_t number)
{
	const struct hash_table old = *table;
	size_t at = (size_t)hash;

	/* at most half full */
	if (2 * old.used >= old.size) {
		*table = (struct hash_table){ .size = old.size ? 4 * old.size : 4 };
		table->slots = arena_array(arena, table->size, sizeof(*table->slots));
		for (size_t i = 0; i < old.size; i++)
			if (old.slots[i].number)
				hash_add(arena, table, old.slots[i].hash, old.slots[i].number - 1);
	}
	while (table->slots[at & (table->size - 1)].number)
		at++;
	table->slots[at & (table->size - 1)] = (struct hash_slot){ hash, number + 1 };
	table->used++;
}

size_t hash_next(const struct hash_table *table, uint64_t hash, size_t *at)
{
	while (table->size) {
		const struct hash_slot *slot =
			&table->slots[((size_t)hash + (*at)++) & (table->size - 1)];

		if (!slot->number)
			break;
		if (slot->hash == hash)
			return slot->number - 1;
	}
	return HASH_END;
}

int fail(struct failure *failure, const char *format, ...)
{
	va_list args;

	if (failure->text[0])
		return -1;
	va_start(args, format);
	vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
	return -1;
}

char *read_file(struct arena *arena, const char *path, size_t *length, struct failure *failure)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	size_t used = 0, capacity = 65536, got;
	char *bytes = malloc(capacity), *bigger, *copy = NULL;

	if (!file || !bytes) {
		fail(failure, "%s: %s", path, strerror(errno));
		goto out;
	}
	while ((got = fread(bytes + used, 1, capacity - used, file)) > 0) {
		used += got;
		if (used > MAX_FILE_BYTES) {
			fail(failure, "%s: longer than %zu MiB", path, MAX_FILE_BYTES >> 20);
			goto out;
		}
		if (used < capacity)
			continue;
		bigger = realloc(bytes, capacity *= 2);
		if (!bigger)
			out_of_memory();
		bytes = bigger;
	}
	if (ferror(file)) {
		fail(failure, "%s: %s", path, strerror(errno));
		goto out;
	}
	copy = arena_copy(arena, bytes, used);
	*length = used;
out:
	free(bytes);
	if (file && file != stdin)
		fclose(file);
	return copy;
}

/* --- ranks ---------------------------------------------------------------------------- */

static int compare(const uint64_t a[2], const uint64_t b[2], unsigned int noise)
{
	const unsigned __int128 left = (unsigned __int128)a[0] * b[1];
	const unsigned __int128 right = (unsigned __int128)b[0] * a[1];

	/* divided first, as the products have 128 bits */
	if (left < right)
		return right - left > right / 1000 * noise ? -1 : 0;
	return left - right > left / 1000 * noise;
}

/* twice the rank, minus the mean of all: integers also with ties, and their sum is 0 */
static void rank(const uint64_t (*values)[2], size_t count, unsigned int noise, int64_t *ranks)
{
	for (size_t i = 0; i < count; i++) {
		ranks[i] = 0;
		for (size_t j = 0; j < count; j++)
			ranks[i] += compare(values[i], values[j], noise);
	}
}

int rank_correlation(const uint64_t (*x)[2], const uint64_t (*y)[2], size_t count,
		     unsigned int noise_x, unsigned int noise_y, uint64_t squared[2])
{
	int64_t a[RANKS_MAX], b[RANKS_MAX], both = 0, of_a = 0, of_b = 0;

	rank(x, count, noise_x, a);
	rank(y, count, noise_y, b);
	for (size_t i = 0; i < count; i++) {
		both += a[i] * b[i];
		of_a += a[i] * a[i];
		of_b += b[i] * b[i];
	}
	squared[0] = of_a && of_b ? (uint64_t)(both * both) : 0;
	squared[1] = of_a && of_b ? (uint64_t)(of_a * of_b) : 1;
	return both < 0 ? -1 : both > 0 && squared[0];
}

static int by_disturbances(const void *a, const void *b)
{
	const struct disturbed *x = a, *y = b;

	return (x->disturbances > y->disturbances) - (x->disturbances < y->disturbances);
}

static int by_value(const void *a, const void *b)
{
	/* what an unusual reading lacks makes it negative */
	const int64_t x = (int64_t)((const struct disturbed *)a)->value;
	const int64_t y = (int64_t)((const struct disturbed *)b)->value;

	return (x > y) - (x < y);
}

/* Slopes between each of the readings in the lower half and one in the upper half, sorted. */
static size_t find_slopes(const struct disturbed *readings, size_t half, int64_t *slopes)
{
	size_t count = 0;

	for (size_t n = 0; n < half; n++) {
		const struct disturbed *a = &readings[n], *b = &readings[n + half];
		int64_t slope;
		size_t at;

		if (a->disturbances == b->disturbances)
			continue;
		slope = (int64_t)(b->value - a->value) /
			(int64_t)(b->disturbances - a->disturbances);
		for (at = count++; at && slopes[at - 1] > slope; at--)
			slopes[at] = slopes[at - 1];
		slopes[at] = slope;
	}
	return count;
}

int64_t disturbed_correct(struct disturbed *readings, size_t count)
{
	int64_t slopes[DISTURBED_MAX / 2], cost = -1;
	size_t found;

	qsort(readings, count, sizeof(*readings), by_disturbances);
	found = find_slopes(readings, count / 2, slopes);
	if (found >= count / 4 && slopes[found / 4] >= 0 &&
	    slopes[3 * found / 4] <= slopes[found / 4] + slopes[found / 4] / 8 + 2)
		cost = slopes[found / 2];
	for (size_t n = 0; n < count && cost > 0; n++)
		readings[n].value -= (uint64_t)cost * readings[n].disturbances;
	qsort(readings, count, sizeof(*readings), by_value);
	return cost;
}
