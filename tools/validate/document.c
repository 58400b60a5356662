// SPDX-License-Identifier: MIT
/* Parses a JSON file, and finds the line of a value that is wrong. */
#include "document.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_NUMBER_BYTES = 64 };

static const char *const type_names[] = {
	[json_type_null] = "null",	  [json_type_boolean] = "true or false",
	[json_type_double] = "a number",  [json_type_int] = "a number",
	[json_type_object] = "an object", [json_type_array] = "a list",
	[json_type_string] = "a text",
};

/* --- where a value stands ------------------------------------------------------- */

/* position in the text and in json-c's tree; the text is known to be valid JSON */
struct walk {
	const char *at;
	const char *twice; /* a name that occurs twice in its object */
	struct arena *arena; /* of @places and @names */
	const char **names; /* members of the objects around the position, in which they stand */
	size_t name_count; /* elements of @names */
	size_t name_room;
	struct hash_table *places; /* by value, in bytes of the text; NULL: not wanted */
	const char *text;
};

static void skip_space(struct walk *w)
{
	while (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n')
		w->at++;
}

/* from the opening quote to after the closing one */
static void skip_string(struct walk *w)
{
	for (w->at++; *w->at && *w->at != '"'; w->at++)
		if (*w->at == '\\' && w->at[1])
			w->at++;
	if (*w->at)
		w->at++;
}

/* The tree differs from the text only where a name with escapes occurs twice. */
static bool step(struct walk *w, char sign)
{
	if (*w->at == sign)
		w->at++;
	else
		w->twice = w->at;
	skip_space(w);
	return !w->twice;
}

static void walk_value(struct walk *w, const struct json_object *value);

static bool same_key(const char *a, const char *b)
{
	size_t length = strcspn(a + 1, "\"");

	return !strncmp(a, b, length + 2);
}

static void walk_name(struct walk *w, size_t first)
{
	/* json-c keeps only one of two members with the same name */
	for (size_t i = first; i < w->name_count; i++)
		if (same_key(w->names[i], w->at))
			w->twice = w->at;
	if (w->name_count == w->name_room) {
		w->names = arena_grow(w->arena, w->names, w->name_count, sizeof(*w->names));
		w->name_room = w->name_count ? 2 * w->name_count : 1;
	}
	w->names[w->name_count++] = w->at;
}

static void walk_object(struct walk *w, const struct json_object *object)
{
	const size_t first = w->name_count;

	json_object_object_foreach((struct json_object *)object, key, value)
	{
		(void)key;
		if (!step(w, w->name_count == first ? '{' : ','))
			return;
		walk_name(w, first);
		if (w->twice)
			return;
		skip_string(w);
		skip_space(w);
		w->at++;
		walk_value(w, value);
		if (w->twice)
			return;
		skip_space(w);
	}
	if (w->name_count == first)
		w->at++;
	w->name_count = first;
	skip_space(w);
	if (*w->at++ == ',') {
		/* more members than json-c kept */
		skip_space(w);
		w->twice = w->at;
	}
}

static void walk_array(struct walk *w, const struct json_object *array)
{
	size_t count = json_object_array_length(array);

	for (size_t i = 0; i < count; i++) {
		if (!step(w, i ? ',' : '['))
			return;
		walk_value(w, json_object_array_get_idx(array, i));
		if (w->twice)
			return;
		skip_space(w);
	}
	if (!count)
		w->at++;
	skip_space(w);
	w->at++;
}

static void walk_value(struct walk *w, const struct json_object *value)
{
	const enum json_type type = json_object_get_type(value);

	skip_space(w);
	if (value && w->places)
		hash_add(w->arena, w->places, hash_word(HASH_START, (uintptr_t)value),
			 (size_t)(w->at - w->text));
	if ((type == json_type_object) != (*w->at == '{') ||
	    (type == json_type_array) != (*w->at == '['))
		w->twice = w->at;
	else if (type == json_type_object)
		walk_object(w, value);
	else if (type == json_type_array)
		walk_array(w, value);
	else if (*w->at == '"')
		skip_string(w);
	else
		w->at += strcspn(w->at, ",}] \t\r\n");
}

static const char *locate(const struct document *document, const struct json_object *value)
{
	struct walk w = {
		.at = document->text,
		.arena = document->arena,
		.places = document->places,
		.text = document->text,
	};
	size_t place, at = 0;

	if (!w.places->used)
		walk_value(&w, document->root);
	/* hash_word() of one word has no collisions */
	place = hash_next(w.places, hash_word(HASH_START, (uintptr_t)value), &at);
	return place == HASH_END ? document->text : document->text + place;
}

static const char *place_of(const struct document *document, const char *at)
{
	unsigned int line = 1, column = 1;

	for (const char *c = document->text; c < at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	return arena_printf(document->arena, "%s:%u:%u", document->name, line, column);
}

const char *document_place(const struct document *document, const struct json_object *value)
{
	return place_of(document, locate(document, value));
}

static int fail_at(const struct document *document, const char *at, const char *reason)
{
	return fail(document->failure, "%s: %s", place_of(document, at), reason);
}

int document_fail(const struct document *document, const struct json_object *at, const char *format,
		  ...)
{
	char reason[384];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return fail_at(document, locate(document, at), reason);
}

/* --- reading -------------------------------------------------------------------- */

/*
 * The text with the largest or smallest integer instead of those beyond 64 bits: json-c 0.16 reads
 * them so, 0.18 refuses the text. document_count() says what is wrong, and where.
 */
static const char *clip(const struct document *document)
{
	char *text = arena_copy(document->arena, document->text, document->length);
	struct walk w = { .at = text };

	while (*w.at) {
		const char *limit = *w.at == '-' ? "-9223372036854775808" : "18446744073709551615";
		const size_t longest = strlen(limit), length = strspn(w.at, "+-.0123456789Ee");
		const bool integer = !memchr(w.at, '.', length) && !memchr(w.at, 'e', length) &&
				     !memchr(w.at, 'E', length);
		char *number = text + (w.at - text);

		if (*w.at == '"') {
			skip_string(&w);
			continue;
		}
		if (integer && (length > longest ||
				(length == longest && strncmp(number, limit, length) > 0))) {
			memset(number, ' ', length);
			memcpy(number, limit, longest);
		}
		w.at += length ? length : 1;
	}
	return text;
}

int document_parse(struct document *document)
{
	const char *nul = memchr(document->text, 0, document->length);
	struct json_tokener *tokener;
	enum json_tokener_error error;
	struct walk w = { .at = document->text, .arena = document->arena };
	size_t end;

	document->root = NULL;
	document->places = arena_alloc(document->arena, sizeof(*document->places));
	if (nul)
		return fail_at(document, nul, "a NUL byte; this is no text file");
	tokener = json_tokener_new();
	if (!tokener)
		return fail(document->failure, "%s: out of memory", document->name);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* the tokener stops at the NUL after the text */
	document->root = json_tokener_parse_ex(tokener, document->text, (int)document->length + 1);
	if (json_tokener_get_error(tokener) == json_tokener_error_parse_number) {
		json_tokener_reset(tokener);
		document->root =
			json_tokener_parse_ex(tokener, clip(document), (int)document->length + 1);
	}
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	if (error != json_tokener_success || !document->root)
		return fail_at(document,
			       document->text + (end < document->length ? end : document->length),
			       error != json_tokener_success ? json_tokener_error_desc(error) :
							       "null is no content");
	walk_value(&w, document->root);
	if (w.twice)
		return fail_at(document, w.twice, "this name stands twice in the object");
	return 0;
}

void document_free(struct document *document)
{
	json_object_put(document->root);
	document->root = NULL;
}

struct json_object *document_get(const struct document *document, const struct json_object *object,
				 const char *key, enum json_type type, bool required)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, key, &member)) {
		if (required)
			document_fail(document, object, "'%s' is missing", key);
		return NULL;
	}
	if (json_object_get_type(member) != type) {
		document_fail(document, member ? member : object, "'%s' must be %s", key,
			      type_names[type]);
		return NULL;
	}
	return member;
}

const char *document_string(const struct document *document, const struct json_object *value,
			    const char *what)
{
	const char *text;

	if (json_object_get_type(value) != json_type_string) {
		document_fail(document, value, "%s must be a text", what);
		return NULL;
	}
	text = json_object_get_string((struct json_object *)value);
	if (strlen(text) != (size_t)json_object_get_string_len(value)) {
		document_fail(document, value, "%s has a character U+0000", what);
		return NULL;
	}
	return arena_copy(document->arena, text, strlen(text));
}

const char *document_text(const struct document *document, const struct json_object *object,
			  const char *key, const char *fallback)
{
	const struct json_object *member =
		document_get(document, object, key, json_type_string, !fallback);

	return member ? document_string(document, member, key) : fallback;
}

int document_count(const struct document *document, const struct json_object *value,
		   const char *what, uint64_t max, uint64_t *count)
{
	char number[MAX_NUMBER_BYTES];
	enum number_error error;
	const char *at;

	if (json_object_get_type(value) != json_type_int &&
	    json_object_get_type(value) != json_type_double)
		return document_fail(document, value, "'%s' must be a number", what);
	/* json-c clips values beyond 64 bits: only the text is exact */
	*count = json_object_get_uint64(value);
	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0 &&
	    *count != UINT64_MAX && *count <= max)
		return 0;
	at = locate(document, value);
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(at, ",]} \t\r\n"), at);
	error = parse_count(number, count);
	if (!error && *count > max)
		return document_fail(document, value, "'%s' is %s, at most %llu is possible", what,
				     number, (unsigned long long)max);
	if (error)
		return document_fail(document, value, "'%s' is %s: %s", what, number,
				     number_error_text(error));
	return 0;
}

uint64_t document_u64(const struct document *document, const struct json_object *object,
		      const char *key, uint64_t max, uint64_t fallback)
{
	struct json_object *member;
	uint64_t count;

	if (!json_object_object_get_ex(object, key, &member))
		return fallback;
	return document_count(document, member ? member : object, key, max, &count) ? fallback :
										      count;
}

int document_only(const struct document *document, const struct json_object *object,
		  const char *const *keys)
{
	json_object_object_foreach((struct json_object *)object, key, value)
	{
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], key))
			i++;
		if (!keys[i])
			return document_fail(document, value ? value : object,
					     "unknown member '%s'", key);
	}
	return 0;
}

enum number_error parse_count(const char *text, uint64_t *value)
{
	bool negative = *text == '-';
	const char *at = text + negative;

	*value = 0;
	if (!*text)
		return NUMBER_EMPTY;
	if (*at < '0' || *at > '9')
		return NUMBER_TEXT;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
			return negative ? NUMBER_NEGATIVE : NUMBER_OVERFLOW;
	if (*at == '.' || *at == 'e' || *at == 'E')
		return NUMBER_FRACTION;
	if (*at)
		return NUMBER_TEXT;
	return negative ? NUMBER_NEGATIVE : NUMBER_OK;
}

const char *number_error_text(enum number_error error)
{
	switch (error) {
	case NUMBER_OK:
		return "fine";
	case NUMBER_EMPTY:
		return "empty; a number is expected";
	case NUMBER_NEGATIVE:
		return "negative; counts begin at 0";
	case NUMBER_FRACTION:
		return "not an integer; write counts as digits only";
	case NUMBER_TEXT:
		return "not a number; write counts as digits only";
	case NUMBER_OVERFLOW:
		break;
	}
	return "beyond 2^64-1, the largest count";
}
