// SPDX-License-Identifier: MIT
/* Reads the command of a GPU's benchmark. */
#include "launch.h"

#include <string.h>

/* with them the number of threads fits into 64 bits */
enum { MAX_SIZE = 1 << 16, MAX_BLOCK = 1024, MAX_BUFFER_SHIFT = 36 };

bool is_launch(const struct benchmark *benchmark)
{
	return benchmark->command && !strncmp(benchmark->command, LAUNCH, strlen(LAUNCH));
}

/* "4x1024": up to three sizes; returns whether it is that */
static bool parse_sizes(const char *text, uint32_t *sizes)
{
	for (int i = 0; i < LAUNCH_DIMENSIONS; i++)
		sizes[i] = 1;
	for (int i = 0; i < LAUNCH_DIMENSIONS; i++) {
		const size_t length = strcspn(text, "x");
		char digits[16] = "";
		uint64_t size;

		if (length >= sizeof(digits))
			return false;
		memcpy(digits, text, length);
		if (parse_count(digits, &size) || !size || size > MAX_SIZE)
			return false;
		sizes[i] = (uint32_t)size;
		text += length;
		if (!*text++)
			return true;
	}
	return false;
}

/* "12", "buffer:BYTES", "buffer:BYTES:WORD" */
static bool parse_argument(struct arena *arena, const char *text, struct launch_argument *argument)
{
	static const char mark[] = "buffer:";
	uint64_t word = 0;
	size_t length;

	*argument = (struct launch_argument){ .is_buffer = !strncmp(text, mark, strlen(mark)) };
	if (!argument->is_buffer)
		return !parse_count(text, &argument->number) && argument->number <= UINT32_MAX;
	text += strlen(mark);
	length = strcspn(text, ":");
	if (parse_count(arena_copy(arena, text, length), &argument->number) || !argument->number ||
	    argument->number % sizeof(argument->word) || argument->number >> MAX_BUFFER_SHIFT)
		return false;
	if (text[length] && (parse_count(text + length + 1, &word) || word > UINT32_MAX))
		return false;
	argument->word = (uint32_t)word;
	return true;
}

int launch_parse(struct analysis *a, const struct point *point, struct launch *launch)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	enum { MODULE, KERNEL, GRID, BLOCK, FIRST };
	const char *words[MAX_WORDS];
	const int count = words_split(a, point, b->command + strlen(LAUNCH), words);

	if (count < 0)
		return -1;
	if (count < FIRST || count > FIRST + LAUNCH_ARGUMENTS)
		return fail(a->failure,
			    "%s: '%s': launch takes MODULE KERNEL GRID BLOCK and up to %d "
			    "arguments",
			    point->name, b->command, LAUNCH_ARGUMENTS);
	*launch = (struct launch){ .module = words[MODULE], .kernel = words[KERNEL] };
	if (!parse_sizes(words[GRID], launch->grid) || !parse_sizes(words[BLOCK], launch->block) ||
	    (uint64_t)launch->block[0] * launch->block[1] * launch->block[2] > MAX_BLOCK)
		return fail(a->failure,
			    "%s: grid '%s' and block '%s' are up to three sizes of 1 to %d, as "
			    "4x1024, of a block at most %d in all",
			    point->name, words[GRID], words[BLOCK], MAX_SIZE, MAX_BLOCK);
	for (int i = FIRST; i < count; i++)
		if (!parse_argument(a->arena, words[i],
				    &launch->arguments[launch->argument_count++]))
			return fail(a->failure,
				    "%s: argument '%s' is neither a number of 32 bits nor "
				    "buffer:BYTES or buffer:BYTES:WORD, of whole words",
				    point->name, words[i]);
	return 0;
}

uint64_t launch_threads(const struct launch *launch)
{
	uint64_t threads = 1;

	for (int i = 0; i < LAUNCH_DIMENSIONS; i++)
		threads *= (uint64_t)launch->grid[i] * launch->block[i];
	return threads;
}
