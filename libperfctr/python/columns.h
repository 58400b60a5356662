/* SPDX-License-Identifier: MIT */
/*
 * Samples as columns: an array for each counter, that others use in place.
 *
 * A store is filled by one thread, then never changed: Python's buffers and Arrow's arrays point
 * into it and hold references.
 */
#pragma once

/* the stable interface of 3.11, for all later versions of Python too */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <perfctr/capture.h>

/* what a column holds, as the letter of struct.unpack() */
enum column_type { COLUMN_U64 = 'Q', COLUMN_I64 = 'q', COLUMN_U32 = 'I' };

struct column {
	char *name;
	char *unit; /* empty: none */
	char *text; /* a few words; empty: none */
	enum column_type type;
	uint8_t kind; /* enum perfctr_kind */
	double scale; /* from a value to the unit */
	unsigned int shift; /* of values in samples */
	void *data;
	uint8_t *valid; /* a bit for each row, lowest first; NULL: all are */
	size_t missing; /* rows that were not measured, when the store is finished */
};

/* the columns that a block of samples goes to; samples of a session have their blocks in order */
struct source {
	struct perfctr_block block;
	struct perfctr_block_pmu pmu;
	size_t first; /* column of the lowest bit of the mask */
};

struct store {
	atomic_size_t refs;
	size_t rows, room;
	struct column *columns;
	size_t count;
	struct source *sources;
	size_t source_count;
	struct perfctr_ctx *ctx; /* while it is filled */
	struct perfctr_selection *selection; /* names of counters */
};

/*
 * A store without rows. @hint: rows that may come. Return: NULL without memory.
 */
struct store *store_new(struct perfctr_ctx *ctx, struct perfctr_selection *selection, size_t hint);
struct store *store_ref(struct store *store);
/* May be called by any thread, without Python's lock. */
void store_unref(struct store *store);

/* Append a sample. Return: 0 or a negative errno. */
int store_add(struct store *store, struct perfctr_sample *sample);

/* Time of a sample's end on the clock of samples, in ns. @row: 0 .. rows - 1. */
uint64_t store_end_ns(const struct store *store, size_t row);

/*
 * Append a column of times in ns, none of which is known. Call it after the last sample.
 * Return: the column, until the next one; NULL: no memory.
 */
struct column *store_add_times(struct store *store, const char *name);

/* Set a value of a column that has @valid. @row: 0 .. room - 1. */
void column_set(struct column *column, size_t row, uint64_t value);

/* No more samples come: count what is missing, and forget what it was filled with. */
void store_finish(struct store *store);

/* Whether a block has an event of the kernel's PMU "software", whose blocks have other names. */
bool is_software(const struct perfctr_totals_block_info *info,
		 const struct perfctr_selection *selection);
/* "shader16/FRAGMENTS", as all commands of perfctr name it. */
void event_name(const struct perfctr_totals_block_info *info,
		const struct perfctr_selection *selection, const char *counter, char *text,
		size_t size);

/* The types of a module: several interpreters may import it. */
struct types {
	PyObject *table, *column, *session;
};

/* A new object of a type, all zero. */
PyObject *object_new(PyObject *type);
/* A table of a finished store, whose reference it takes. Return: NULL with an exception. */
PyObject *table_new(PyObject *module, struct store *store);
/* Add the types Table and Column. Return: 0 or -1 with an exception. */
int columns_init(PyObject *module);
