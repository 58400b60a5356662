// SPDX-License-Identifier: MIT
/* Finds the features of listings, and counts each for a thread or a core. */
#include "disassembly.h"
#include "feature.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const state_names[STATES] = { "on", "off", "skipped", "dead" };

int feature_parse(struct arena *arena, const char *text, struct feature *feature,
		  struct failure *failure)
{
	size_t length = strcspn(text, ":");

	*feature = (struct feature){ .name = arena_copy(arena, text, length) };
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._@*", text[i]))
			length = 0;
	if (!length)
		return fail(failure, "'%s' is no feature; write MOV, SHFL:off or NOP:dead", text);
	if (!text[length])
		return 0;
	for (int state = 0; state < STATES; state++) {
		if (!strcmp(text + length + 1, state_names[state])) {
			feature->state = (enum state)state;
			return 0;
		}
	}
	return fail(failure, "'%s': the state after the colon is on, off, skipped or dead", text);
}

char *feature_text(const struct feature *feature, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", feature->name, feature->state == STATE_ON ? "" : ":",
		 feature->state == STATE_ON ? "" : state_names[feature->state]);
	return text;
}

bool feature_covers(const struct feature *part, const struct feature *whole)
{
	const char *p = part->name, *w = whole->name;

	while (*p && *p == *w) {
		p++;
		w++;
	}
	if (!strcmp(part->name, "*"))
		return *whole->name != '@' && (part->state == whole->state ||
					       (part->state == STATE_ON && whole->executes));
	return part->state == whole->state && !*p && (!*w || *w == '.');
}

long features_find(const struct features *features, const struct feature *feature)
{
	for (size_t i = 0; i < features->count; i++)
		if (features->items[i].state == feature->state &&
		    !strcmp(features->items[i].name, feature->name))
			return (long)i;
	return -1;
}

size_t features_intern(struct arena *arena, struct features *features,
		       const struct feature *feature)
{
	long found = features_find(features, feature);

	if (found >= 0) {
		features->items[found].executes |= feature->executes;
		return (size_t)found;
	}
	features->items = arena_grow(arena, features->items, features->count, sizeof(*feature));
	features->items[features->count] = *feature;
	return features->count++;
}

int64_t rule_weight(const struct rule *rule, const struct feature *feature)
{
	int64_t weight = 0;

	for (size_t i = 0; i < rule->count; i++)
		if (feature_covers(&rule->terms[i].feature, feature))
			weight += rule->terms[i].weight;
	return weight;
}

void rule_add(struct arena *arena, struct rule *rule, const struct feature *feature, int64_t weight)
{
	rule->given = true;
	rule->terms = arena_grow(arena, rule->terms, rule->count, sizeof(*rule->terms));
	rule->terms[rule->count++] = (struct term){ *feature, weight };
}

const char *rule_text(struct arena *arena, const struct rule *rule)
{
	const char *text = "";
	char name[96];

	for (size_t i = 0; i < rule->count; i++) {
		const struct term *term = &rule->terms[i];
		int64_t size = term->weight < 0 ? -term->weight : term->weight;
		const char *sign = !*text ? (term->weight < 0 ? "-" : "") :
					    (term->weight < 0 ? " - " : " + ");

		if (!size)
			continue;
		feature_text(&term->feature, name, sizeof(name));
		if (size == 1)
			text = arena_printf(arena, "%s%s%s", text, sign, name);
		else
			text = arena_printf(arena, "%s%s%" PRId64 " %s", text, sign, size, name);
	}
	return *text ? text : "nothing";
}

/* @used: by instruction, how often its guard was true since it was false */
static bool guard_is_true(uint32_t *used, const struct listing_instruction *insn, size_t at)
{
	if (insn->guard != LISTING_TIMES)
		return insn->guard == LISTING_ALWAYS;
	used[at] = used[at] < insn->guard_times ? used[at] + 1 : 0;
	return used[at] > 0;
}

/* one step after the other */
static int walk(const struct listing *listing, uint32_t *used, struct tally *tallies,
		size_t *exit_at, struct failure *failure)
{
	size_t at = 0;

	memset(tallies, 0, listing->count * sizeof(*tallies));
	for (unsigned long steps = 0; steps < MAX_STEPS; steps++) {
		const struct listing_instruction *insn;
		bool on;

		if (at >= listing->count)
			return fail(failure,
				    "the thread runs past the end of the listing; EXIT is missing");
		insn = &listing->instructions[at];
		on = guard_is_true(used, insn, at);
		if (on)
			tallies[at].on++;
		else
			tallies[at].off++;
		if (on && insn->kind == LISTING_EXIT) {
			*exit_at = at;
			return 0;
		}
		at = on && insn->kind == LISTING_BRANCH ? insn->target : at + 1;
	}
	return fail(failure, "the listing does not end within %d steps", MAX_STEPS);
}

static int refuse(const struct listing *l, size_t at, uint64_t says, uint64_t comes,
		  struct failure *failure)
{
	const char *line;

	if (!l->source)
		return fail(failure, "guards have no totals");
	line = listing_line(l->source, l->lines[at] - 1);
	return fail(failure,
		    "%s:%u:%zu: \"taken\" says %" PRIu64 ", but from the start a thread comes "
		    "here %" PRIu64 " times",
		    l->name, l->lines[at], strspn(line, " \t") + 1, says, comes);
}

/* how often a thread goes on behind an instruction */
static uint64_t falls(const struct listing_instruction *insn, const struct tally *tally)
{
	const bool leaves = insn->kind == LISTING_BRANCH || insn->kind == LISTING_EXIT;

	return tally->off + (leaves ? 0 : tally->on);
}

/*
 * Amounts of a program. If all guards and branches back have totals, the amounts of the
 * instructions above give that of the next one: what comes to an instruction leaves it. A thread
 * with these amounts exists if the start leads to all of them. The guards of a listing have totals
 * if each is false once; of others it fails.
 * @in: how often a thread comes to each instruction, one more; zeroed
 */
static int follow_totals(const struct listing *l, struct tally *tallies, size_t *exit_at,
			 uint64_t *in, struct failure *failure)
{
	const struct listing_instruction *insn = l->instructions;
	bool more = true;

	*exit_at = l->count;
	in[0] = 1;
	for (size_t i = 0; i < l->count; i++)
		if (insn[i].kind == LISTING_BRANCH)
			in[insn[i].target] += insn[i].guard_times;
	for (size_t i = 0; i < l->count; i++) {
		const bool bra = insn[i].kind == LISTING_BRANCH;
		const bool always = insn[i].guard == LISTING_ALWAYS;
		const bool stated = always && bra && insn[i].target < i;
		struct tally *t = &tallies[i];

		t->on = always && !stated ? in[i] : insn[i].guard_times;
		t->off = in[i] - t->on;
		if (t->on > in[i] || (stated && t->off) ||
		    (!l->source && !always && t->on && t->off != 1))
			return refuse(l, i, t->on, in[i], failure);
		if (insn[i].kind == LISTING_EXIT && t->on)
			*exit_at = i;
		if (bra && always && !stated)
			in[insn[i].target] += t->on;
		in[i + 1] += falls(&insn[i], t);
	}
	if (*exit_at == l->count)
		return fail(failure, "%s: the function does not end with a return or EXIT",
			    l->name);
	/* zero what the start leads to */
	for (in[0] = 0; more;) {
		more = false;
		for (size_t i = 0; i < l->count; i++) {
			if (!in[i] && falls(&insn[i], &tallies[i]))
				in[i + 1] = 0;
			if (in[i] || insn[i].kind != LISTING_BRANCH || !tallies[i].on)
				continue;
			more |= in[insn[i].target] > 0;
			in[insn[i].target] = 0;
		}
	}
	for (size_t i = 0; i < l->count; i++)
		if (in[i])
			return refuse(l, i, in[i], 0, failure);
	return 0;
}

int listing_run(const struct listing *listing, struct tally *tallies, size_t *exit_at,
		struct failure *failure)
{
	uint64_t *in = calloc(listing->count + 1, sizeof(*in));
	uint32_t *used = calloc(listing->count, sizeof(*used));
	struct failure ignored = { "" };
	int ret;

	if (!used || !in)
		ret = fail(failure, "out of memory");
	else
		ret = follow_totals(listing, tallies, exit_at, in,
				    listing->source ? failure : &ignored);
	if (*ignored.text)
		ret = walk(listing, used, tallies, exit_at, failure);
	free(used);
	free(in);
	return ret;
}

/* the longest kept name that covers a mnemonic, or the operation */
static const char *feature_name(struct arena *arena, const struct features *keep,
				const char *mnemonic)
{
	const char *name = arena_copy(arena, mnemonic, strcspn(mnemonic, "."));

	for (size_t i = 0; i < keep->count; i++) {
		const struct feature whole = {
			.name = mnemonic,
			.state = keep->items[i].state,
		};

		if (feature_covers(&keep->items[i], &whole) &&
		    strlen(keep->items[i].name) > strlen(name))
			name = keep->items[i].name;
	}
	return name;
}

/* "BRA.jne": it is retired whether it is taken or not */
static bool is_cpu_branch(const struct listing *listing, size_t at)
{
	const char *mnemonic = listing->mnemonics[at];

	return !strncmp(mnemonic, "BRA.", 4) && islower((unsigned char)mnemonic[4]);
}

int listing_features(struct arena *arena, struct features *features, const struct features *keep,
		     const struct listing *listing, int64_t **counts, struct failure *failure)
{
	struct tally *tallies = arena_array(arena, listing->count, sizeof(*tallies));
	size_t exit_at = 0;

	/* an instruction adds at most two features: executed and off */
	*counts = arena_array(arena, features->count + 2 * listing->count, sizeof(**counts));
	if (listing_run(listing, tallies, &exit_at, failure) < 0)
		return -1;
	for (size_t i = 0; i < listing->count; i++) {
		struct feature feature = {
			.name = feature_name(arena, keep, listing->mnemonics[i]),
		};
		const bool reached = tallies[i].on || tallies[i].off;
		const uint64_t amounts[STATES] = {
			[STATE_ON] = tallies[i].on,
			[STATE_OFF] = tallies[i].off,
			[STATE_SKIPPED] = !reached && i < exit_at,
			[STATE_DEAD] = !reached && i > exit_at,
		};

		for (int state = 0; state < STATES; state++) {
			/* the end of a region is no instruction */
			if (!amounts[state] || !strcmp(listing->mnemonics[i], REGION_END))
				continue;
			feature.state = (enum state)state;
			feature.executes = state == STATE_OFF && is_cpu_branch(listing, i);
			(*counts)[features_intern(arena, features, &feature)] +=
				(int64_t)amounts[state];
		}
	}
	return 0;
}
