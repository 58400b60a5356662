/* SPDX-License-Identifier: MIT */
/*
 * JSON output: numbers keep their type, text is escaped, unknown values are null. A document of
 * which a part found no memory ends the stream that it is written to with ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <json.h>

/* Add a member; object and name as of json_object_object_add(). */
void json_add(struct json_object *object, const char *name, struct json_object *value);
void json_add_u64(struct json_object *object, const char *name, uint64_t value);
/* null if not @known */
void json_add_known(struct json_object *object, const char *name, bool known, uint64_t value);
void json_add_bool(struct json_object *object, const char *name, bool value);

/* A new object at the end of an array. */
struct json_object *json_append(struct json_object *array);

/*
 * NULL becomes null. Bytes that are no UTF-8 become U+FFFD, so that the result is valid, and
 * control characters but line feed and tab '?'.
 */
void json_add_text(struct json_object *object, const char *name, const char *value);

/* A copy that is cleaned so; the caller frees it. NULL: no memory. */
char *json_clean_text(const char *text);

/* The same in one line that is safe to print on a terminal. */
char *json_clean_line(const char *text);

/* Make a text such a line in place: '?' for what is no UTF-8 and for control characters. */
void json_clean_field(char *text);

/* Such a text at the end of an array. */
void json_append_text(struct json_object *array, const char *value);

enum { JSON_NUMBER_BYTES = 40 };

/* The fewest digits, at least 15, that read back as the same number. Return: @text. */
char *json_number_text(double value, char *text, size_t size);

/* The same as a member; null if not finite. */
void json_add_double(struct json_object *object, const char *name, double value);

/* "a,b" as an array of texts, empty array for an empty text. */
void json_add_words(struct json_object *object, const char *name, const char *words);

/*
 * A document that is written as it is made: an object whose arrays may be longer than memory.
 * Members and arrays come in the order of the calls, items into the last array.
 */
struct json_stream {
	FILE *to;
	void *data; /* the caller's */
	bool is_line; /* not indented */
	bool has_members, in_array, has_items;
};

/* Write the members of an object; drops the reference. */
void json_stream_members(struct json_stream *stream, struct json_object *object);
/* Begin an array. */
void json_stream_array(struct json_stream *stream, const char *name);
/* Write an item of it; drops the reference. */
void json_stream_item(struct json_stream *stream, struct json_object *value);
/* End the document with a line feed. */
void json_stream_end(struct json_stream *stream);

/* Write one value and a line feed, indented or in one line; drops the reference. */
void json_write(FILE *to, struct json_object *value, bool indented);
