// SPDX-License-Identifier: MIT
#include "listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t mnemonic_base(const char *mnemonic)
{
	return strcspn(mnemonic, ".");
}

static bool is_operation(const char *mnemonic, const char *operation)
{
	size_t length = strlen(operation);

	return mnemonic_base(mnemonic) == length && !memcmp(mnemonic, operation, length);
}

/* a text while it is taken apart, and where the branch of each instruction wants to go */
struct parser {
	const struct json_file *file;
	const struct json *at;
	struct listing *listing;
	const char **targets;
	const struct json **places;
};

static const char *skip_space(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

static size_t label_length(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

static const char *parse_guard(struct parser *p, const char *text, struct instruction *insn)
{
	const char *end;

	text++;
	if (!strncmp(text, "!PT", 3)) {
		insn->guard = GUARD_NEVER;
		return text + 3;
	}
	if (!strncmp(text, "PT", 2))
		return text + 2;
	text += *text == '!';
	if (*text != 'P' || !isdigit((unsigned char)text[1]))
		return json_fail(p->file, p->at, "a guard is @PT, @!PT, @P0{times} or @!P0{times}"),
		       NULL;
	text += 2;
	end = strchr(text, '}');
	if (*text != '{' || !end)
		return json_fail(p->file, p->at,
				 "say in braces how often the guard is true: @P0{N-1}"),
		       NULL;
	insn->guard = GUARD_COUNTED;
	insn->guard_times = arena_copy(p->file->arena, text + 1, (size_t)(end - text) - 1);
	return end + 1;
}

static int parse_one(struct parser *p, const char *text, struct instruction *insn,
		     const char **target)
{
	size_t length;

	insn->text = text;
	length = label_length(text);
	if (length && text[length] == ':') {
		insn->label = arena_copy(p->file->arena, text, length);
		text = skip_space(text + length + 1);
	}
	if (*text == '@') {
		text = parse_guard(p, text, insn);
		if (!text)
			return -1;
		text = skip_space(text);
	}
	length = strcspn(text, " \t;");
	for (size_t i = 0; i < length; i++)
		if (!isupper((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    text[i] != '.')
			return json_fail(p->file, p->at, "'%.*s' is no mnemonic", (int)length,
					 text);
	if (!length)
		return json_fail(p->file, p->at, "no mnemonic");
	insn->mnemonic = arena_copy(p->file->arena, text, length);
	insn->is_exit = is_operation(insn->mnemonic, "EXIT");
	insn->is_branch = is_operation(insn->mnemonic, "BRA");
	*target = skip_space(text + length);
	if (insn->is_branch && !**target)
		return json_fail(p->file, p->at, "say where BRA goes: a label, +n or -n");
	return 0;
}

static int parse_text(struct parser *p)
{
	const char *text = skip_space(p->at->text), *target = NULL;
	struct instruction insn = { 0 };
	unsigned long repeat = 1;

	if (isdigit((unsigned char)*text)) {
		char *end;

		repeat = strtoul(text, &end, 10);
		text = skip_space(end);
		if (*text != '*' || !repeat)
			return json_fail(p->file, p->at, "a repetition is written '7 * NOP'");
		text = skip_space(text + 1);
	}
	if (parse_one(p, text, &insn, &target) < 0)
		return -1;
	if (insn.label && repeat > 1)
		return json_fail(p->file, p->at, "a label stands for one place, not for %lu",
				 repeat);
	if (repeat > MAX_INSTRUCTIONS || p->listing->count + repeat > MAX_INSTRUCTIONS)
		return json_fail(p->file, p->at, "more than %d instructions", MAX_INSTRUCTIONS);
	while (repeat--) {
		p->targets[p->listing->count] = target;
		p->places[p->listing->count] = p->at;
		p->listing->instructions[p->listing->count++] = insn;
	}
	return 0;
}

static int find_target(struct parser *p, size_t from)
{
	const char *target = p->targets[from];
	struct listing *listing = p->listing;
	size_t length = label_length(target);

	if (*target == '+' || *target == '-') {
		long to = (long)from + strtol(target, NULL, 10);

		if (to >= 0 && (size_t)to < listing->count) {
			listing->instructions[from].target = (size_t)to;
			return 0;
		}
		return json_fail(p->file, p->places[from], "BRA %s leaves the listing", target);
	}
	for (size_t i = 0; i < listing->count; i++) {
		const char *label = listing->instructions[i].label;

		if (label && strlen(label) == length && !memcmp(label, target, length)) {
			listing->instructions[from].target = i;
			return 0;
		}
	}
	return json_fail(p->file, p->places[from], "there is no label '%s'", target);
}

int listing_parse(const struct json_file *file, const struct json *list, struct listing *listing)
{
	struct parser p = { .file = file, .listing = listing };

	listing->count = 0;
	listing->instructions =
		arena_array(file->arena, MAX_INSTRUCTIONS, sizeof(*listing->instructions));
	p.targets = arena_array(file->arena, MAX_INSTRUCTIONS, sizeof(*p.targets));
	p.places = arena_array(file->arena, MAX_INSTRUCTIONS, sizeof(*p.places));
	for (p.at = list->first; p.at; p.at = p.at->next) {
		if (p.at->type != NODE_STRING)
			return json_fail(file, p.at, "an instruction is a text");
		if (parse_text(&p) < 0)
			return -1;
	}
	if (!listing->count)
		return json_fail(file, list, "the listing is empty");
	for (size_t i = 0; i < listing->count; i++) {
		for (size_t j = 0; j < i; j++)
			if (listing->instructions[i].label && listing->instructions[j].label &&
			    !strcmp(listing->instructions[i].label, listing->instructions[j].label))
				return json_fail(file, p.places[i], "label '%s' stands twice",
						 listing->instructions[i].label);
		if (listing->instructions[i].is_branch && find_target(&p, i) < 0)
			return -1;
	}
	return 0;
}

/* how often each counted guard is true, -1 until it is asked for, and has been since it was false */
struct guard_state {
	int64_t times;
	int64_t used;
};

static int guard_true(const struct instruction *insn, struct guard_state *state,
		      const struct bindings *bindings, struct failure *failure)
{
	if (insn->guard != GUARD_COUNTED)
		return insn->guard == GUARD_ALWAYS;
	if (state->times < 0 && formula_eval(insn->guard_times, bindings, &state->times, failure))
		return -1;
	if (state->times < 0)
		return fail(failure, "guard of \"%s\": true %lld times is not possible", insn->text,
			    (long long)state->times);
	if (state->used < state->times) {
		state->used++;
		return 1;
	}
	state->used = 0;
	return 0;
}

int listing_run(const struct listing *listing, const struct bindings *bindings,
		struct tally *tallies, struct failure *failure)
{
	struct guard_state *states = calloc(listing->count, sizeof(*states));
	size_t at = 0;
	int result = -1;

	if (!states)
		return fail(failure, "out of memory");
	memset(tallies, 0, listing->count * sizeof(*tallies));
	for (size_t i = 0; i < listing->count; i++)
		states[i].times = -1;
	for (unsigned long steps = 0; at < listing->count; steps++) {
		const struct instruction *insn = &listing->instructions[at];
		int on = guard_true(insn, &states[at], bindings, failure);

		if (on < 0)
			goto out;
		if (steps == MAX_STEPS) {
			fail(failure, "the listing does not end within %d steps", MAX_STEPS);
			goto out;
		}
		if (on)
			tallies[at].on++;
		else
			tallies[at].off++;
		if (on && insn->is_exit) {
			result = 0;
			goto out;
		}
		at = on && insn->is_branch ? insn->target : at + 1;
	}
	fail(failure, "the thread runs past the end of the listing; EXIT is missing");
out:
	free(states);
	return result;
}
