// SPDX-License-Identifier: MIT
/* Parses a command line, or a line of a configuration, by a table of options. */
#include "option.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

enum { MAX_OPTIONS = 64, LONG_BASE = 256 };

void option_words_free(struct option_words *words)
{
	free(words->words);
	*words = (struct option_words){ 0 };
}

bool option_words_match(const struct option_words *patterns, const char *text)
{
	for (size_t n = 0; n < patterns->count; n++)
		if (!fnmatch(patterns->words[n], text, FNM_CASEFOLD))
			return true;
	return !patterns->count;
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

static int take(const struct app *app, const struct option_spec *spec, const char *text)
{
	const struct option_spec *pid;
	char option[32];
	uint64_t *number = spec->to;

	if (spec->given)
		*spec->given = true;
	if (spec->letter)
		snprintf(option, sizeof(option), "-%c", spec->letter);
	else
		snprintf(option, sizeof(option), "--%s", spec->name);
	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)spec->to = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)spec->to = text;
		return 0;
	case OPTION_WORDS:
		return option_words_add(app, spec->to, text);
	case OPTION_SECONDS:
		if (!number_parse_time(text, NS_PER_S, number))
			return 0;
		return app_usage(app, "%s '%s': give a time such as 30 (s) or 500ms", option, text);
	case OPTION_TIME:
	case OPTION_TIME_OR_ZERO:
		/* perf's -p is a process, which is further on in the table */
		for (pid = spec; pid->name && strcmp(pid->name, "pid");)
			pid++;
		if (spec->letter == 'p' && pid->name && strcmp(text, "0") && *text &&
		    !text[strspn(text, "0123456789,")])
			return app_usage(app,
					 "-p takes a period with a unit (%.*sms); to count a "
					 "process: --pid %s",
					 (int)strcspn(text, ","), text, text);
		/* perf's -F is a frequency */
		if (spec->letter == 'F' && *text && !text[strspn(text, "0123456789.")])
			return app_usage(app,
					 "-F takes a time with a unit, the last one that is kept "
					 "(%ss); perf's frequency is a period, -p",
					 text);
		/* a fraction is of a second, while a number is in ms, as perf's */
		if (*text && !text[strspn(text, "0123456789.")] && strchr(text, '.'))
			return app_usage(app,
					 "%s '%s': a number without a unit is in ms: give %ss or "
					 "%sms",
					 option, text, text, text);
		if (!number_parse_time(text, NS_PER_MS, number) &&
		    (*number || spec->kind == OPTION_TIME_OR_ZERO))
			return 0;
		return app_usage(app, "%s '%s': give a time such as 100%s, 500us or 2s", option,
				 text, spec->letter == 'p' ? "ms" : " (ms)");
	case OPTION_NUMBER:
		if (!number_parse_count(text, number) && *number >= spec->min &&
		    *number <= spec->max)
			return 0;
		return app_usage(app, "%s '%s': give a number from %llu to %llu", option, text,
				 (unsigned long long)spec->min, (unsigned long long)spec->max);
	case OPTION_CALL:
	case OPTION_CALL_PLAIN:
	case OPTION_CALL_OPTIONAL:
		break;
	}
	return spec->call(app, spec->to, text);
}

static int has_arg(enum option_kind kind)
{
	if (kind == OPTION_FLAG || kind == OPTION_CALL_PLAIN)
		return no_argument;
	return kind == OPTION_CALL_OPTIONAL ? optional_argument : required_argument;
}

/* Convert to getopt_long()'s form: letters, and long options with the index of their entry. */
static void translate(const struct option_spec *specs, bool runs_command, char *letters,
		      struct option *options)
{
	size_t n;

	if (runs_command)
		*letters++ = '+';
	for (n = 0; n < MAX_OPTIONS && specs[n].name; n++) {
		options[n] = (struct option){ specs[n].name, has_arg(specs[n].kind), NULL,
					      LONG_BASE + (int)n };
		if (!specs[n].letter)
			continue;
		*letters++ = specs[n].letter;
		/* one colon: an argument; two: one in the same word, or none */
		for (int colon = 0; colon < options[n].has_arg; colon++)
			*letters++ = ':';
	}
	options[n++] = (struct option){ "help", no_argument, NULL, 'h' };
	options[n] = (struct option){ 0 };
	*letters++ = 'h';
	*letters = '\0';
}

int option_parse(const struct app *app, int argc, char **argv, const char *help,
		 const struct option_spec *specs, enum option_end end)
{
	char letters[3 * MAX_OPTIONS + 3];
	struct option options[MAX_OPTIONS + 2];
	const struct option_spec *spec;
	int c, status = 0;

	translate(specs, end == THEN_COMMAND, letters, options);
	optind = 0;
	while (!status && (c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, app->out);
			return -1;
		}
		if (c == '?')
			return app_bad_option(app);
		for (spec = specs; c < LONG_BASE && spec->letter != c;)
			spec++;
		if (c >= LONG_BASE)
			spec = &specs[c - LONG_BASE];
		status = take(app, spec, optarg);
	}
	if (!status && end == THEN_NOTHING && optind < argc)
		status = app_usage(app, "'%s' is too much", argv[optind]);
	return status;
}

int option_take(const struct app *app, const struct option_spec *specs, const char *name,
		const char *text)
{
	for (; specs->name; specs++)
		if (!strcmp(specs->name, name))
			return take(app, specs, text);
	return app_usage(app, "there is no option --%s", name);
}
