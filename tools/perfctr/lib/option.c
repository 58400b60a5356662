// SPDX-License-Identifier: MIT
#include "option.h"

#include <stdlib.h>

#include "common/number.h"

int option_time(const struct app *app, const char *option, const char *text, bool or_zero,
		uint64_t *ns)
{
	if (!number_parse_time(text, NS_PER_MS, ns) && (*ns || or_zero))
		return 0;
	return app_usage(app, "%s '%s': give a time such as 100 (ms), 500us or 2s", option, text);
}

int option_number(const struct app *app, const char *option, const char *text, uint64_t min,
		  uint64_t max, uint64_t *value)
{
	if (!number_parse_count(text, value) && *value >= min && *value <= max)
		return 0;
	return app_usage(app, "%s '%s': give a number from %llu to %llu", option, text,
			 (unsigned long long)min, (unsigned long long)max);
}

int option_words_add(const struct app *app, struct option_words *words, const char *word)
{
	const char **more = realloc(words->words, (words->count + 1) * sizeof(*more));

	if (!more) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	words->words = more;
	words->words[words->count++] = word;
	return 0;
}

void option_words_free(struct option_words *words)
{
	free(words->words);
	*words = (struct option_words){ 0 };
}
