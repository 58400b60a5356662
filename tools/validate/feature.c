// SPDX-License-Identifier: MIT
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
		if (!isalnum((unsigned char)text[i]) && !strchr("._@", text[i]))
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

	if (found >= 0)
		return (size_t)found;
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

/* a thread on its way through a listing */
struct walk {
	struct tally *tallies;
	struct tally *before; /* tallies when @branch was taken last */
	uint32_t *used; /* by instruction: how often its guard was true since it was false */
	size_t branch; /* backward branch with a limit that was taken last */
	unsigned long limited; /* guards with a limit that were evaluated */
	unsigned long limited_before; /* @limited when @branch was taken last */
};

static bool guard_is_true(struct walk *w, const struct drm_vsoc_instruction *insn, size_t at)
{
	if (insn->guard != DRM_VSOC_GUARD_TIMES)
		return insn->guard == DRM_VSOC_GUARD_TRUE;
	w->limited++;
	if (w->used[at] < insn->guard_times) {
		w->used[at]++;
		return true;
	}
	w->used[at] = 0;
	return false;
}

/*
 * A branch back was taken. If no other guard with a limit was evaluated since it was taken before,
 * all rounds are equal: add those that are left.
 */
static void skip_rounds(struct walk *w, const struct listing *listing, size_t at)
{
	const uint32_t left = listing->instructions[at].guard_times - w->used[at];

	if (w->branch == at && w->limited == w->limited_before + 1) {
		for (size_t i = 0; i < listing->count; i++) {
			w->tallies[i].on += left * (w->tallies[i].on - w->before[i].on);
			w->tallies[i].off += left * (w->tallies[i].off - w->before[i].off);
		}
		w->used[at] += left;
	}
	memcpy(w->before, w->tallies, listing->count * sizeof(*w->before));
	w->branch = at;
	w->limited_before = w->limited;
}

static int walk(struct walk *w, const struct listing *listing, size_t *exit_at,
		struct failure *failure)
{
	size_t at = 0;

	for (unsigned long steps = 0; steps < MAX_STEPS; steps++) {
		const struct drm_vsoc_instruction *insn;
		bool on;

		if (at >= listing->count)
			return fail(failure,
				    "the thread runs past the end of the listing; EXIT is missing");
		insn = &listing->instructions[at];
		on = guard_is_true(w, insn, at);
		if (on)
			w->tallies[at].on++;
		else
			w->tallies[at].off++;
		if (on && insn->opcode == DRM_VSOC_OP_EXIT) {
			*exit_at = at;
			return 0;
		}
		if (on && insn->opcode == DRM_VSOC_OP_BRA) {
			if (insn->target <= at && insn->guard == DRM_VSOC_GUARD_TIMES)
				skip_rounds(w, listing, at);
			at = insn->target;
		} else {
			at++;
		}
	}
	return fail(failure, "the listing does not end within %d steps", MAX_STEPS);
}

int listing_run(const struct listing *listing, struct tally *tallies, size_t *exit_at,
		struct failure *failure)
{
	struct walk w = {
		.tallies = tallies,
		.before = calloc(listing->count, sizeof(*w.before)),
		.used = calloc(listing->count, sizeof(*w.used)),
		.branch = SIZE_MAX,
	};
	int ret;

	memset(tallies, 0, listing->count * sizeof(*tallies));
	ret = w.before && w.used ? walk(&w, listing, exit_at, failure) :
				   fail(failure, "out of memory");
	free(w.before);
	free(w.used);
	return ret;
}

static const char *feature_name(struct arena *arena, const char *const *keep, const char *mnemonic)
{
	for (; keep && *keep; keep++)
		if (!strcmp(*keep, mnemonic))
			return *keep;
	return arena_copy(arena, mnemonic, strcspn(mnemonic, "."));
}

int listing_features(struct arena *arena, struct features *features, const char *const *keep,
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
			if (!amounts[state])
				continue;
			feature.state = (enum state)state;
			(*counts)[features_intern(arena, features, &feature)] +=
				(int64_t)amounts[state];
		}
	}
	return 0;
}
