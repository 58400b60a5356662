// SPDX-License-Identifier: MIT
/* Members and elements of JSON documents, clean UTF-8, numbers with all their digits. */
#include "json.h"
#include "stream.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linkhash.h>

/* json-c's own hash reads a random seed, which takes seconds after boot, while counting */
static void __attribute__((constructor)) hash_without_seed(void)
{
	json_global_set_string_hash(JSON_C_STR_HASH_PERLLIKE);
}

/* a part of the document that is made had no memory */
static bool is_short;

/* What may not be NULL, which would read as null. Return: @value. */
static struct json_object *made(struct json_object *value)
{
	is_short |= !value;
	return value;
}

void json_add(struct json_object *object, const char *name, struct json_object *value)
{
	is_short |= json_object_object_add(object, name, value) != 0;
}

static void append(struct json_object *array, struct json_object *value)
{
	is_short |= json_object_array_add(array, made(value)) != 0;
}

void json_add_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_add(object, name, made(json_object_new_uint64(value)));
}

void json_add_known(struct json_object *object, const char *name, bool known, uint64_t value)
{
	json_add(object, name, known ? made(json_object_new_uint64(value)) : NULL);
}

void json_add_bool(struct json_object *object, const char *name, bool value)
{
	json_add(object, name, made(json_object_new_boolean(value)));
}

struct json_object *json_append(struct json_object *array)
{
	struct json_object *object = json_object_new_object();

	append(array, object);
	return object;
}

char *json_clean_text(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const char *end = text + strlen(text);
	char *clean = malloc(3 * (size_t)(end - text) + 1), *to = clean;

	while (clean && *text) {
		size_t length =
			stream_plain_length((const unsigned char *)text, (size_t)(end - text));

		to = (char *)memcpy(to, text, length) + length;
		text += length;
		if (!*text)
			break;
		length = stream_utf8_length((const unsigned char *)text, (size_t)(end - text));

		if (length && stream_is_control((const unsigned char *)text, length)) {
			*to++ = '?';
			text += length;
		} else if (length) {
			memcpy(to, text, length);
			to += length;
			text += length;
		} else {
			memcpy(to, replacement, 3);
			to += 3;
			text++;
		}
	}
	if (clean)
		*to = '\0';
	return clean;
}

char *json_clean_line(const char *text)
{
	char *copy = json_clean_text(text);

	if (copy)
		json_clean_field(copy);
	return copy;
}

void json_clean_field(char *text)
{
	size_t left = strlen(text), plain = stream_plain_length((unsigned char *)text, left);
	unsigned char *from = (unsigned char *)text + plain, *to = from;

	left -= plain;
	while (left) {
		const size_t length = stream_utf8_length(from, left);

		if (!length || stream_is_control(from, length) || *from < ' ')
			*to++ = '?';
		else
			to = (unsigned char *)memmove(to, from, length) + length;
		from += length ? length : 1;
		left -= length ? length : 1;
	}
	*to = '\0';
}

void json_add_text(struct json_object *object, const char *name, const char *value)
{
	char *clean = value ? json_clean_text(value) : NULL;

	json_add(object, name, value ? made(clean ? json_object_new_string(clean) : NULL) : NULL);
	free(clean);
}

void json_append_text(struct json_object *array, const char *value)
{
	char *clean = json_clean_text(value);

	append(array, clean ? json_object_new_string(clean) : NULL);
	free(clean);
}

char *json_number_text(double value, char *text, size_t size)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, size, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* a whole number keeps a decimal point, so that it reads as floating-point */
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	return text;
}

void json_add_double(struct json_object *object, const char *name, double value)
{
	char text[JSON_NUMBER_BYTES];

	if (!isfinite(value))
		json_add(object, name, NULL);
	else
		json_add(object, name,
			 made(json_object_new_double_s(value, json_number_text(value, text,
									       sizeof(text)))));
}

void json_add_words(struct json_object *object, const char *name, const char *words)
{
	struct json_object *array = json_object_new_array();

	while (*words) {
		size_t length = strcspn(words, ",");

		append(array, json_object_new_string_len(words, (int)length));
		words += length + (words[length] == ',');
	}
	json_add(object, name, array);
}

enum {
	JSON_INDENTED = JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_PRETTY |
			JSON_C_TO_STRING_SPACED,
};

/*
 * json-c indents from the margin; texts have no line feeds in JSON. A line has none at all.
 * @indent: at most 4
 */
static void write_value(FILE *to, struct json_object *value, bool is_line, size_t indent)
{
	const char *end, *text = json_object_to_json_string_ext(
				 value, is_line ? JSON_C_TO_STRING_NOSLASHESCAPE : JSON_INDENTED);

	if (is_short || !text)
		stream_fail(to, ENOMEM);
	is_short = false;
	for (; text && (end = strchr(text, '\n')); text = end + 1) {
		fwrite(text, 1, (size_t)(end + 1 - text), to);
		fwrite("    ", 1, indent, to);
	}
	if (text)
		fputs(text, to);
}

static void end_array(struct json_stream *stream)
{
	struct json_object *empty;

	if (stream->in_array && stream->has_items) {
		fputs(stream->is_line ? "]" : "\n  ]", stream->to);
	} else if (stream->in_array) {
		empty = json_object_new_array();
		write_value(stream->to, made(empty), stream->is_line, 2);
		json_object_put(empty);
	}
	stream->in_array = false;
}

static void begin_member(struct json_stream *stream, const char *name)
{
	struct json_object *key = json_object_new_string(name);

	end_array(stream);
	fputs(stream->has_members ? "," : "{", stream->to);
	fputs(stream->is_line ? "" : "\n  ", stream->to);
	write_value(stream->to, made(key), true, 0);
	fputs(stream->is_line ? ":" : ": ", stream->to);
	json_object_put(key);
	stream->has_members = true;
}

void json_stream_members(struct json_stream *stream, struct json_object *object)
{
	json_object_object_foreach(object, name, value)
	{
		begin_member(stream, name);
		write_value(stream->to, value, stream->is_line, 2);
	}
	json_object_put(object);
}

void json_stream_array(struct json_stream *stream, const char *name)
{
	begin_member(stream, name);
	stream->in_array = true;
	stream->has_items = false;
}

void json_stream_item(struct json_stream *stream, struct json_object *value)
{
	fputs(stream->has_items ? "," : "[", stream->to);
	fputs(stream->is_line ? "" : "\n    ", stream->to);
	write_value(stream->to, made(value), stream->is_line, 4);
	json_object_put(value);
	stream->has_items = true;
}

void json_stream_end(struct json_stream *stream)
{
	end_array(stream);
	fputs(stream->has_members ? "" : "{", stream->to);
	fputs(stream->has_members && !stream->is_line ? "\n}\n" : "}\n", stream->to);
}

void json_write(FILE *to, struct json_object *value, bool indented)
{
	write_value(to, made(value), !indented, 0);
	fputs("\n", to);
	json_object_put(value);
}
