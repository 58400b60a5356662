// SPDX-License-Identifier: MIT
/* --listings: prints programs with what a thread executes of them. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

static enum state fate(const struct tally *tally, size_t at, size_t exit_at)
{
	if (tally->on)
		return STATE_ON;
	return tally->off ? STATE_OFF : at < exit_at ? STATE_SKIPPED : STATE_DEAD;
}

/* "a loop of 10 instructions", "2 instructions that are never reached" */
static void print_note(FILE *out, const struct listing *listing, const struct tally *tallies,
		       size_t at, size_t exit_at)
{
	const struct listing_instruction *insn = &listing->instructions[at];
	const enum state state = fate(&tallies[at], at, exit_at);
	size_t same = 0;

	if (insn->kind == LISTING_BRANCH && insn->target <= at && state != STATE_DEAD)
		fprintf(out, "  loop of %zu instructions", at - insn->target + 1);
	else if (insn->kind == LISTING_BRANCH && state != STATE_DEAD)
		fprintf(out, "  to %u", insn->target);
	if (state == STATE_OFF)
		fputs("  its guard is false", out);
	if (state < STATE_SKIPPED || (at && fate(&tallies[at - 1], at - 1, exit_at) == state))
		return;
	while (at + same < listing->count && fate(&tallies[at + same], at + same, exit_at) == state)
		same++;
	fprintf(out, "  %zu instruction%s %s", same, same == 1 ? "" : "s",
		state == STATE_DEAD ? "behind the end" : "skipped");
}

static void print_point(FILE *out, const char *name, const struct listing *listing,
			const struct tally *tallies, size_t exit_at)
{
	const char *line = listing->source;

	fprintf(out, "\n%s, a thread:\n  %5s %12s %12s\n", name, "", "executed", "off");
	for (size_t i = 0; i < listing->count; i++) {
		const char *text = listing->mnemonics[i];

		if (line) {
			line = listing_line(line,
					    listing->lines[i] - (i ? listing->lines[i - 1] : 1));
			text = line + strspn(line, " \t");
		}
		fprintf(out, "  %5zu %12" PRIu64 " %12" PRIu64 "  %.*s", i, tallies[i].on,
			tallies[i].off, (int)strcspn(text, "\r\n"), text);
		print_note(out, listing, tallies, i, exit_at);
		fputc('\n', out);
	}
}

static void add_point(struct json_object *list, const char *name, const struct listing *listing,
		      const struct tally *tallies, size_t exit_at)
{
	struct json_object *one = json_append(list), *code = json_object_new_array();

	json_add_text(one, "point", name);
	for (size_t i = 0; i < listing->count; i++) {
		const struct listing_instruction *insn = &listing->instructions[i];
		struct json_object *at = json_append(code);

		json_add_text(at, "mnemonic", listing->mnemonics[i]);
		json_add_u64(at, "executed", tallies[i].on);
		json_add_u64(at, "off", tallies[i].off);
		json_add_text(at, "fate", state_names[fate(&tallies[i], i, exit_at)]);
		json_add(at, "target",
			 insn->kind == LISTING_BRANCH ? json_object_new_int64(insn->target) : NULL);
	}
	json_add(one, "instructions", code);
}

/* Print what a thread of a path executes. */
static int review_path(struct analysis *a, const struct point *point, size_t path,
		       struct json_object *list, FILE *out)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	const char *name = point->name;
	struct listing listing;
	struct tally *tallies;
	size_t exit_at = 0;
	int64_t threads;
	int ret;

	if (analysis_path_threads(a, point, path, &threads) < 0 ||
	    analysis_listing(a, point, path, &listing) < 0)
		return -1;
	if (b->path_count)
		name = arena_printf(a->arena, "%s, path %zu of %" PRId64 " threads", name, path + 1,
				    threads);
	tallies = arena_array(a->arena, listing.count, sizeof(*tallies));
	ret = listing_run(&listing, tallies, &exit_at, a->failure);
	if (!ret && list)
		add_point(list, name, &listing, tallies, exit_at);
	else if (!ret)
		print_point(out, name, &listing, tallies, exit_at);
	listing_free(&listing);
	return ret;
}

int review_listings(struct analysis *a, bool json, FILE *out)
{
	struct json_object *list = json ? json_object_new_array() : NULL;
	int ret = 0;

	for (size_t p = 0; !ret && p < a->point_count; p++) {
		const struct benchmark *b = &a->campaign->benchmarks[a->points[p].benchmark];

		for (size_t path = 0; !ret && b->listing && path < benchmark_paths(b); path++)
			ret = review_path(a, &a->points[p], path, list, out);
	}
	if (json && !ret)
		json_write(out, list, true);
	else
		json_object_put(list);
	return ret;
}
