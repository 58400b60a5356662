/* SPDX-License-Identifier: MIT */
/* Command lines: an option table for each subcommand, one parser for all. */
#pragma once

#include "app.h"

/* the values of an option that may be repeated */
struct option_words {
	/* texts of the command line; the array is freed by option_words_free() */
	const char **words;
	size_t count;
};

/* Add a text, which is not copied. Return: 0 or an exit status, the message was printed. */
int option_words_add(const struct app *app, struct option_words *words, const char *word);
void option_words_free(struct option_words *words);

/* Whether a text matches one of the patterns of a shell, in any case; true if there are none. */
bool option_words_match(const struct option_words *patterns, const char *text);

enum option_kind {
	OPTION_FLAG, /* bool *to = true */
	OPTION_TEXT, /* const char **to */
	OPTION_WORDS, /* struct option_words *to */
	/* uint64_t *to in ns, of "100" (ms), "500us", "2s"; OPTION_TIME_OR_ZERO accepts 0 */
	OPTION_TIME,
	OPTION_TIME_OR_ZERO,
	OPTION_SECONDS, /* as TIME_OR_ZERO, of "30" (s) */
	OPTION_NUMBER, /* uint64_t *to, of "12", "4Ki"; from min to max */
	/* call() with the text; NULL for PLAIN, and for OPTIONAL without a text */
	OPTION_CALL,
	OPTION_CALL_PLAIN,
	OPTION_CALL_OPTIONAL,
};

/* one option of a subcommand */
struct option_spec {
	/* 0: no letter. A later entry with the same letter is an alias. */
	char letter;
	const char *name; /* long name; NULL ends a table */
	enum option_kind kind;
	void *to;
	uint64_t min, max;
	bool *given; /* set if the option was given; may be NULL */
	/* Return: 0 or an exit status, the message was printed */
	int (*call)(const struct app *app, void *to, const char *text);
};

/* A line of a table: OPTION('n', "count", NUMBER, &count, .min = 1, .max = 9). -h is added. */
/* clang-format off */
#define OPTION(letter_, name_, kind_, to_, ...) \
	{ .letter = letter_, .name = name_, .kind = OPTION_##kind_, .to = to_, __VA_ARGS__ }
#define OPTIONS_END { .name = NULL }
/* -A by all its names */
#define OPTION_PER_BLOCK(to) \
	OPTION('A', "per-block", FLAG, to), OPTION('A', "per-core", FLAG, to), \
	OPTION('A', "no-aggr", FLAG, to)
/* clang-format on */

/* what follows the options; a command begins at the first word that is no option */
enum option_end { THEN_NOTHING, THEN_WORDS, THEN_COMMAND };

/*
 * Read a command line. On success optind is the index of the first word that is no option.
 * @help: text of --help; @end: what may follow the options.
 * Return: 0; an exit status, the message was printed; -1 help was printed.
 */
int option_parse(const struct app *app, int argc, char **argv, const char *help,
		 const struct option_spec *specs, enum option_end end);

/* Take an option from elsewhere by its long name. Return: 0 or an exit status, message printed. */
int option_take(const struct app *app, const struct option_spec *specs, const char *name,
		const char *text);
