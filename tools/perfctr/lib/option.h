/* SPDX-License-Identifier: MIT */
/* Values of options as people write them. */
#ifndef PERFCTR_OPTION_H
#define PERFCTR_OPTION_H

#include "app.h"

/**
 * option_time() - read a duration
 * @app: for messages
 * @option: as the user wrote it, for example "-I"
 * @text: "100" (ms), "500us", "2s"
 * @or_zero: whether zero means something
 * @ns: set on success
 *
 * Return: 0 or EXIT_USAGE, the reason was told.
 */
int option_time(const struct app *app, const char *option, const char *text, bool or_zero,
		uint64_t *ns);

/**
 * option_number() - read an amount
 * @app: for messages
 * @option: as the user wrote it
 * @text: "12", "4Ki"
 * @min: smallest
 * @max: largest
 * @value: set on success
 *
 * Return: 0 or EXIT_USAGE, the reason was told.
 */
int option_number(const struct app *app, const char *option, const char *text, uint64_t min,
		  uint64_t max, uint64_t *value);

/**
 * struct option_words - what an option that may be repeated was given
 */
struct option_words {
	/** @words: texts of the command line; the array is freed by option_words_free(). */
	const char **words;
	size_t count;
};

/* Add a word. Return: 0 or EXIT_FAILED, the reason was told. */
int option_words_add(const struct app *app, struct option_words *words, const char *word);
void option_words_free(struct option_words *words);

#endif /* PERFCTR_OPTION_H */
