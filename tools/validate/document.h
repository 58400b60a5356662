/* SPDX-License-Identifier: MIT */
/*
 * JSON files whose errors name line and column. json-c parses, but does not record where a value
 * was, so the text is read again when a position is needed.
 */
#pragma once

#include <json.h>

#include "base.h"

/* a JSON file */
struct document {
	const char *name; /* for messages */
	const char *text; /* the bytes, NUL terminated */
	size_t length; /* of @text */
	struct arena *arena; /* owner of strings */
	struct failure *failure; /* the first error */
	struct json_object *root; /* parsed document; owned */
	struct hash_table *places; /* of values, filled when one is needed */
};

/*
 * Read a text. A name that occurs twice in an object is an error, as is invalid JSON.
 * @document: all but @root filled.
 * Return: 0 with @root set, or -1.
 */
int document_parse(struct document *document);
void document_free(struct document *document);

/* Returns -1; the message begins with file, line and column of @at. */
int document_fail(const struct document *document, const struct json_object *at, const char *format,
		  ...) __attribute__((format(printf, 3, 4)));

/* "FILE:LINE:COLUMN" of a value, in the arena. */
const char *document_place(const struct document *document, const struct json_object *value);

/* A member of the given type; NULL if it is absent or, with a failure, of another type. */
struct json_object *document_get(const struct document *document, const struct json_object *object,
				 const char *key, enum json_type type, bool required);
/* A text, copied to the arena; @fallback if it is absent. NULL as fallback makes it required. */
const char *document_text(const struct document *document, const struct json_object *object,
			  const char *key, const char *fallback);
/* A value that must be a text, copied to the arena; NULL with a failure. */
const char *document_string(const struct document *document, const struct json_object *value,
			    const char *what);
/* A count of at most @max; @fallback if it is absent. */
uint64_t document_u64(const struct document *document, const struct json_object *object,
		      const char *key, uint64_t max, uint64_t fallback);
/* A value that must be a count of at most @max. Returns 0 or -1. */
int document_count(const struct document *document, const struct json_object *value,
		   const char *what, uint64_t max, uint64_t *count);
/* A failure if @object has a member that is not in @keys (NULL at the end). */
int document_only(const struct document *document, const struct json_object *object,
		  const char *const *keys);

enum number_error {
	NUMBER_OK,
	NUMBER_EMPTY,
	NUMBER_NEGATIVE,
	NUMBER_FRACTION,
	NUMBER_TEXT,
	NUMBER_OVERFLOW,
};

/* A count: decimal digits only, 0..2^64-1. */
enum number_error parse_count(const char *text, uint64_t *value);
const char *number_error_text(enum number_error error);
