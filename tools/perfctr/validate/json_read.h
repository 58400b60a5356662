/* SPDX-License-Identifier: MIT */
/*
 * A strict JSON reader that remembers where each value stood, so that an error
 * in a campaign or a measurement can name line and column (json-c cannot).
 */
#ifndef VALIDATE_JSON_READ_H
#define VALIDATE_JSON_READ_H

#include "base.h"

enum node_type { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_ARRAY, NODE_OBJECT };

/**
 * struct json - a value
 */
struct json {
	/** @next: next value of the same array or object. */
	const struct json *next;
	/** @first: first value of an array or object. */
	const struct json *first;
	/** @key: name of the value in its object, else NULL. */
	const char *key;
	/** @text: of a string; of a number as it was written. */
	const char *text;
	/** @count: values of an array or object. */
	size_t count;
	/** @line: from 1 on. */
	unsigned int line;
	/** @column: in bytes, from 1 on. */
	unsigned int column;
	/** @type: enum node_type. */
	enum node_type type;
	/** @truth: of a bool. */
	bool truth;
};

/**
 * struct json_file - a file that is being read
 */
struct json_file {
	/** @name: for messages. */
	const char *name;
	/** @arena: owner of all values. */
	struct arena *arena;
	/** @failure: the first error. */
	struct failure *failure;
};

/**
 * json_parse() - read a text
 * @file: name, owner and where the error goes
 * @text: JSON
 * @length: its bytes
 *
 * Return: the value, or NULL with the failure set.
 */
const struct json *json_parse(const struct json_file *file, const char *text, size_t length);

/* Returns -1; the message begins with file, line and column of @at. */
int json_fail(const struct json_file *file, const struct json *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Members: NULL if absent. */
const struct json *json_member(const struct json *object, const char *key);

/* The same with a check of the type; a failure if it is required and absent. */
const struct json *json_get(const struct json_file *file, const struct json *object,
			    const char *key, enum node_type type, bool required);
/* A string member, or @fallback if it is absent. */
const char *json_text(const struct json_file *file, const struct json *object, const char *key,
		      const char *fallback);
/* A non-negative integer member of at most @max, or @fallback if it is absent. */
uint64_t json_u64(const struct json_file *file, const struct json *object, const char *key,
		  uint64_t max, uint64_t fallback);
/* A failure if @object has a member that is not in @keys (NULL at the end). */
int json_only(const struct json_file *file, const struct json *object, const char *const *keys);

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

#endif /* VALIDATE_JSON_READ_H */
