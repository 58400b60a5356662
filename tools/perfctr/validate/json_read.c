// SPDX-License-Identifier: MIT
#include "json_read.h"

#include <stdarg.h>
#include <string.h>

#define MAX_DEPTH 32

static const char *const type_names[] = {
	[NODE_NULL] = "null",	  [NODE_BOOL] = "true or false", [NODE_NUMBER] = "a number",
	[NODE_STRING] = "a text", [NODE_ARRAY] = "a list",	 [NODE_OBJECT] = "an object",
};

struct reader {
	const struct json_file *file;
	const char *at;
	const char *end;
	const char *line_start;
	unsigned int line;
	unsigned int depth;
};

static unsigned int column(const struct reader *r)
{
	return (unsigned int)(r->at - r->line_start) + 1;
}

static void *bad(const struct reader *r, const char *what)
{
	fail(r->file->failure, "%s:%u:%u: %s", r->file->name, r->line, column(r), what);
	return NULL;
}

static void skip_space(struct reader *r)
{
	for (; r->at < r->end; r->at++) {
		if (*r->at == '\n') {
			r->line++;
			r->line_start = r->at + 1;
		} else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') {
			return;
		}
	}
}

static bool take(struct reader *r, char sign)
{
	skip_space(r);
	if (r->at == r->end || *r->at != sign)
		return false;
	r->at++;
	return true;
}

static int hex4(struct reader *r, unsigned int *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, r->at++) {
		char c = r->at < r->end ? *r->at : 0;

		*code <<= 4;
		if (c >= '0' && c <= '9')
			*code |= (unsigned int)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*code |= (unsigned int)((c | 32) - 'a' + 10);
		else
			return bad(r, "\\u needs four hexadecimal digits"), -1;
	}
	return 0;
}

static char *put_utf8(char *to, unsigned int code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

static char *read_unicode(struct reader *r, char *to)
{
	unsigned int code, low;

	if (hex4(r, &code) < 0)
		return NULL;
	if (!code)
		return bad(r, "a text cannot hold the character U+0000");
	if (code >= 0xd800 && code < 0xe000) {
		if (code >= 0xdc00 || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
			return bad(r, "half of a surrogate pair");
		r->at += 2;
		if (hex4(r, &low) < 0)
			return NULL;
		if (low < 0xdc00 || low >= 0xe000)
			return bad(r, "half of a surrogate pair");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	return put_utf8(to, code);
}

static const char *read_string(struct reader *r)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *close = r->at;
	char *text, *to;

	while (close < r->end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= r->end)
		return bad(r, "the text has no closing quote");
	/* no escape is shorter than what it stands for */
	text = to = arena_alloc(r->file->arena, (size_t)(close - r->at) + 1);
	while (*r->at != '"') {
		const char *escape;

		if ((unsigned char)*r->at < ' ')
			return bad(r, "control character in a text");
		if (*r->at != '\\') {
			*to++ = *r->at++;
			continue;
		}
		r->at++;
		if (*r->at == 'u') {
			r->at++;
			to = read_unicode(r, to);
			if (!to)
				return NULL;
			continue;
		}
		escape = *r->at ? strchr(escapes, *r->at) : NULL;
		if (!escape)
			return bad(r, "unknown escape in a text");
		*to++ = meanings[escape - escapes];
		r->at++;
	}
	r->at++;
	return text;
}

static size_t digits(struct reader *r)
{
	const char *start = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return (size_t)(r->at - start);
}

static const char *read_number(struct reader *r)
{
	const char *start = r->at;

	if (*r->at == '-')
		r->at++;
	if (r->at < r->end && *r->at == '0')
		r->at++;
	else if (!digits(r))
		return bad(r, "not a value");
	if (r->at < r->end && *r->at == '.') {
		r->at++;
		if (!digits(r))
			return bad(r, "a digit must follow the point");
	}
	if (r->at < r->end && (*r->at | 32) == 'e') {
		r->at++;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
			r->at++;
		if (!digits(r))
			return bad(r, "a digit must follow the exponent's e");
	}
	return arena_copy(r->file->arena, start, (size_t)(r->at - start));
}

static bool take_word(struct reader *r, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length))
		return false;
	r->at += length;
	return true;
}

static struct json *read_value(struct reader *r);

static struct json *read_members(struct reader *r, struct json *value, char close)
{
	const struct json **link = &value->first;

	if (take(r, close))
		return value;
	if (++r->depth > MAX_DEPTH)
		return bad(r, "nested too deeply");
	do {
		const char *key = NULL;
		struct json *member;

		if (close == '}') {
			if (!take(r, '"'))
				return bad(r, "expected the name of a member in quotes");
			key = read_string(r);
			if (!key)
				return NULL;
			if (json_member(value, key))
				return bad(r, "this name stands twice in the object");
			if (!take(r, ':'))
				return bad(r, "expected ':'");
		}
		member = read_value(r);
		if (!member)
			return NULL;
		member->key = key;
		value->count++;
		*link = member;
		link = &member->next;
	} while (take(r, ','));
	r->depth--;
	if (!take(r, close))
		return bad(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
	return value;
}

static struct json *read_value(struct reader *r)
{
	struct json *value = arena_alloc(r->file->arena, sizeof(*value));

	skip_space(r);
	value->line = r->line;
	value->column = column(r);
	if (r->at == r->end)
		return bad(r, "the file ends where a value is expected");
	if (take(r, '{')) {
		value->type = NODE_OBJECT;
		return read_members(r, value, '}');
	}
	if (take(r, '[')) {
		value->type = NODE_ARRAY;
		return read_members(r, value, ']');
	}
	if (take(r, '"')) {
		value->type = NODE_STRING;
		value->text = read_string(r);
		return value->text ? value : NULL;
	}
	if (take_word(r, "null"))
		return value;
	value->type = NODE_BOOL;
	value->truth = take_word(r, "true");
	if (value->truth || take_word(r, "false"))
		return value;
	value->type = NODE_NUMBER;
	value->text = read_number(r);
	return value->text ? value : NULL;
}

const struct json *json_parse(const struct json_file *file, const char *text, size_t length)
{
	struct reader r = {
		.file = file,
		.at = text,
		.end = text + length,
		.line_start = text,
		.line = 1,
	};
	const char *nul = memchr(text, 0, length);
	struct json *value;

	if (nul) {
		for (; r.at < nul; r.at++) {
			if (*r.at == '\n') {
				r.line++;
				r.line_start = r.at + 1;
			}
		}
		return bad(&r, "a NUL byte; this is no text file");
	}
	value = read_value(&r);
	if (!value)
		return NULL;
	skip_space(&r);
	if (r.at != r.end)
		return bad(&r, "something follows the end of the value");
	return value;
}

int json_fail(const struct json_file *file, const struct json *at, const char *format, ...)
{
	char reason[384];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return fail(file->failure, "%s:%u:%u: %s", file->name, at->line, at->column, reason);
}

const struct json *json_member(const struct json *object, const char *key)
{
	const struct json *member;

	for (member = object->first; member; member = member->next)
		if (member->key && !strcmp(member->key, key))
			return member;
	return NULL;
}

const struct json *json_get(const struct json_file *file, const struct json *object,
			    const char *key, enum node_type type, bool required)
{
	const struct json *member = json_member(object, key);

	if (!member) {
		if (required)
			json_fail(file, object, "'%s' is missing", key);
		return NULL;
	}
	if (member->type != type) {
		json_fail(file, member, "'%s' must be %s", key, type_names[type]);
		return NULL;
	}
	return member;
}

const char *json_text(const struct json_file *file, const struct json *object, const char *key,
		      const char *fallback)
{
	const struct json *member = json_get(file, object, key, NODE_STRING, !fallback);

	return member ? member->text : fallback;
}

uint64_t json_u64(const struct json_file *file, const struct json *object, const char *key,
		  uint64_t max, uint64_t fallback)
{
	const struct json *member = json_get(file, object, key, NODE_NUMBER, false);
	enum number_error error;
	uint64_t value;

	if (!member)
		return fallback;
	error = parse_count(member->text, &value);
	if (!error && value > max)
		json_fail(file, member, "'%s' is %s, at most %llu is possible", key, member->text,
			  (unsigned long long)max);
	else if (error)
		json_fail(file, member, "'%s' is '%s': %s", key, member->text,
			  number_error_text(error));
	return error ? fallback : value;
}

int json_only(const struct json_file *file, const struct json *object, const char *const *keys)
{
	const struct json *member;

	for (member = object->first; member; member = member->next) {
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], member->key))
			i++;
		if (!keys[i])
			return json_fail(file, member, "unknown member '%s'", member->key);
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
