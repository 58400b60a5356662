/* SPDX-License-Identifier: MIT */
/* Memory that lives as long as an analysis, and the text of the first error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* sums of products of 64-bit numbers; gcc and clang have it on all 64-bit machines */
typedef __int128 wide;

/* memory that is freed all at once; initialize with {0} */
struct arena {
	struct arena_block *last; /* newest block */
};

/*
 * Zeroed memory. Ends the program with a message if there is no memory.
 * Return: the memory, owned by the arena.
 */
void *arena_alloc(struct arena *arena, size_t bytes);

/*
 * Zeroed array; ends the program if its size overflows.
 * @bytes: of one element.
 * Return: the memory, owned by the arena.
 */
void *arena_array(struct arena *arena, size_t count, size_t bytes);

/*
 * Make room for another element. Capacities are powers of two, so that @count alone shows when to
 * copy.
 * @array: array from arena_array() or NULL; @count: elements in use; @bytes: of one element.
 * Return: the array, possibly moved; element @count is zero.
 */
void *arena_grow(struct arena *arena, void *array, size_t count, size_t bytes);
char *arena_copy(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena);

/* a hash table of the numbers of elements that its owner has in an array; initialize with {0} */
struct hash_table {
	struct hash_slot *slots;
	size_t size; /* elements of @slots: 0 or a power of two */
	size_t used;
};

#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_END SIZE_MAX

/* The hash of a sequence of words, the last of which is @word. @hash: of the others. */
uint64_t hash_word(uint64_t hash, uint64_t word);
void hash_add(struct arena *arena, struct hash_table *table, uint64_t hash, size_t number);

/*
 * The numbers that were added with a hash, one after the other.
 * @at: 0 for the first one; updated.
 * Return: a number; HASH_END: there are no more.
 */
size_t hash_next(const struct hash_table *table, uint64_t hash, size_t *at);

/* the first error; text is empty if there was none */
struct failure {
	char text[8192]; /* one line: file, line, column, reason and what would be correct */
};

/* Returns -1; only the first failure is kept. */
int fail(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A whole file.
 * @path: file, "-" for standard input; @length: set to its length; @failure: set if the result is
 * NULL.
 * Return: the bytes followed by a NUL, or NULL.
 */
char *read_file(struct arena *arena, const char *path, size_t *length, struct failure *failure);

/* --- Rows of comma-separated values, with the column in which each cell begins --- */

enum { CSV_MAX_COLUMNS = 32 };

struct csv_cell {
	const char *text;
	unsigned int column; /* from 1 on, in bytes */
};

/* a parser's position in a text */
struct csv {
	const char *name;
	struct arena *arena;
	struct failure *failure;
	const char *at; /* next byte to read */
	const char *end;
	unsigned int line; /* line that was read last */
	/* line in which the row began: quoted cells may contain line feeds */
	unsigned int row_line;
	struct csv_cell cells[CSV_MAX_COLUMNS];
	size_t count;
};

/* Reads the next row that is neither empty nor a comment. Returns 1, 0 at the end, -1. */
int csv_row(struct csv *csv);

/* Returns -1; @text may be NULL. */
int csv_fail(const struct csv *csv, unsigned int column, const char *what, const char *text);

/* --- Ranks --- */

enum { RANKS_MAX = 16 };

/*
 * Spearman's rank correlation of two series of fractions, exactly; ties share their mean rank.
 * @x, @y: pairs of numerator and denominator, which is not 0; @count: up to RANKS_MAX.
 * @noise_x, @noise_y: values tie that differ by no more than so many thousandths of the larger one
 * @squared: its square as numerator and denominator, 0/1 if a series is constant.
 * Return: its sign.
 */
int rank_correlation(const uint64_t (*x)[2], const uint64_t (*y)[2], size_t count,
		     unsigned int noise_x, unsigned int noise_y, uint64_t squared[2]);

/* --- Disturbed readings --- */

enum { DISTURBED_MAX = 20 };

struct disturbed {
	uint64_t value;
	uint64_t disturbances; /* each adds to the value */
};

/*
 * Subtracts from readings of the same work what disturbances added, and sorts them by their value.
 * What one adds is the median of the slopes between pairs of readings with different numbers of
 * them. Each reading is in one pair, so that one with an unusual disturbance decides nothing.
 * @count: even, up to DISTURBED_MAX.
 * Return: what one adds; or -1 if less than half of the pairs have a slope, or slopes differ by
 * more than an eighth. In that case no value changes.
 */
int64_t disturbed_correct(struct disturbed *readings, size_t count);
