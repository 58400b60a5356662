// SPDX-License-Identifier: MIT
/* The words of a benchmark's command, and whether it may be run. */
#include "words.h"

#include <inttypes.h>
#include <string.h>

/* "copy bytes={N * 64} read" with its formulas evaluated; in the arena */
static const char *expand(const struct analysis *a, const struct point *point, const char *text)
{
	const char *out = "";

	while (*text) {
		size_t plain = strcspn(text, "{"), length;
		int64_t value;

		out = arena_printf(a->arena, "%s%.*s", out, (int)plain, text);
		text += plain;
		if (!*text)
			break;
		length = strcspn(++text, "}");
		if (analysis_formula(a, arena_copy(a->arena, text, length), point, NULL, &value))
			return NULL;
		out = arena_printf(a->arena, "%s%" PRId64, out, value);
		text += length + (text[length] == '}');
	}
	return out;
}

int words_split(const struct analysis *a, const struct point *point, const char *command,
		const char **words)
{
	const char *text = expand(a, point, command);
	int count = 0;

	if (!text)
		return -1;
	while (*text && count < MAX_WORDS) {
		size_t length = strcspn(text, " ");

		words[count++] = arena_copy(a->arena, text, length);
		text += length + strspn(text + length, " ");
	}
	if (*text || !count)
		return fail(a->failure, "%s: '%s': a command has 1 to %d words", point->name,
			    command, MAX_WORDS);
	return count;
}

/* A campaign may come from anybody: its programs are run only on request. */
int words_allow(struct analysis *a)
{
	for (size_t b = 0; b < a->campaign->benchmark_count; b++) {
		const char *command = a->campaign->benchmarks[b].command;

		if (command && !a->may_run &&
		    (!strncmp(command, RUN, strlen(RUN)) ||
		     (!strncmp(command, LAUNCH, strlen(LAUNCH)) && a->campaign->folder)))
			return fail(a->failure,
				    "%s: '%s' is a program: read the campaign, then "
				    "give --run-programs",
				    a->campaign->benchmarks[b].name, command);
	}
	return 0;
}
