// SPDX-License-Identifier: MIT
#include "feature.h"

#include <ctype.h>
#include <string.h>

const char *const state_names[STATES] = { "on", "off", "dead" };

int feature_parse(const char *text, struct feature *feature, struct failure *failure)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	*feature = (struct feature){ .mnemonic = text, .length = length };
	for (size_t i = 0; i < length; i++)
		if (!isupper((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    text[i] != '.')
			return fail(failure, "'%s' is no feature; write MOV, SHFL:off or NOP:dead",
				    text);
	if (!length)
		return fail(failure, "'%s' is no feature; the mnemonic is missing", text);
	if (!colon)
		return 0;
	for (int state = 0; state < STATES; state++) {
		if (!strcmp(colon + 1, state_names[state])) {
			feature->state = (enum state)state;
			return 0;
		}
	}
	return fail(failure, "'%s': the state after the colon is on, off or dead", text);
}

bool feature_equal(const struct feature *a, const struct feature *b)
{
	return a->state == b->state && a->length == b->length &&
	       !memcmp(a->mnemonic, b->mnemonic, a->length);
}

char *feature_text(const struct feature *feature, char *text, size_t size)
{
	snprintf(text, size, "%.*s%s%s", (int)feature->length, feature->mnemonic,
		 feature->state == STATE_ON ? "" : ":",
		 feature->state == STATE_ON ? "" : state_names[feature->state]);
	return text;
}

long features_find(const struct features *features, const struct feature *feature)
{
	for (size_t i = 0; i < features->count; i++)
		if (feature_equal(&features->items[i], feature))
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

static size_t feature_length(const char *const *keep, const char *mnemonic)
{
	for (; keep && *keep; keep++)
		if (!strcmp(*keep, mnemonic))
			return strlen(mnemonic);
	return mnemonic_base(mnemonic);
}

void features_count(struct arena *arena, struct features *features, const char *const *keep,
		    const struct listing *listing, const struct tally *tallies, int64_t **counts)
{
	/* a listing has at most three new features for each instruction */
	*counts = arena_array(arena, features->count + STATES * listing->count, sizeof(**counts));
	for (size_t i = 0; i < listing->count; i++) {
		const char *mnemonic = listing->instructions[i].mnemonic;
		struct feature feature = {
			.mnemonic = mnemonic,
			.length = feature_length(keep, mnemonic),
		};
		const uint64_t amounts[STATES] = {
			tallies[i].on,
			tallies[i].off,
			!tallies[i].on && !tallies[i].off,
		};

		for (int state = 0; state < STATES; state++) {
			if (!amounts[state])
				continue;
			feature.state = (enum state)state;
			(*counts)[features_intern(arena, features, &feature)] +=
				(int64_t)amounts[state];
		}
	}
}

int64_t rule_weight(const struct rule *rule, const struct feature *feature)
{
	for (size_t i = 0; i < rule->count; i++) {
		const struct feature *of = &rule->terms[i].feature;

		if (of->state == feature->state && of->length <= feature->length &&
		    !memcmp(of->mnemonic, feature->mnemonic, of->length) &&
		    (of->length == feature->length || feature->mnemonic[of->length] == '.'))
			return rule->terms[i].weight;
	}
	return 0;
}
