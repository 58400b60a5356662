// SPDX-License-Identifier: MIT
/*
 * perfkit: find counters that fit into one pass.
 *
 * This depends on the device: counter sets exclude each other, PMUs have a limited number of
 * counters, recipes of PCOUNTER need multiplexers of other recipes. This code knows none of these
 * rules. It requests all needs together; the counters that the kernel reports as running from the
 * beginning share a pass. The rest is requested again.
 */
#include "perfkit.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* after power-up it may take a while until the device's time advances */
	PROBE_TRIES = 200,
	PROBE_WAIT_NS = 1000000,
	PROBE_SLOTS = 4,
	FIRST_TIMED_BLOCK = 16,
};

/* indices of the needs that are tried together */
struct trial {
	struct perfctr_perfkit *kit;
	size_t *needs;
	size_t count;
	/* result: the time that each ran, and whether any was multiplexed */
	uint64_t *running_ns;
	bool takes_turns;
};

void kit_forget_plan(struct perfctr_perfkit *kit)
{
	for (unsigned int n = 0; n < kit->pass_count; n++)
		perfctr_selection_unref(kit->passes[n].selection);
	free(kit->passes);
	kit->passes = NULL;
	kit->pass_count = 0;
	kit->planned = false;
}

static int select_needs(const struct trial *t, struct perfctr_selection **selection)
{
	int error = perfctr_selection_new(t->kit->device, selection);

	for (size_t n = 0; n < t->count && error >= 0; n++)
		error = perfctr_selection_add_request(*selection,
						      &t->kit->needs[t->needs[n]].request);
	if (error >= 0)
		return 0;
	*selection = perfctr_selection_unref(*selection);
	return error;
}

static bool belongs(const struct drm_perfctr_block_request *r, const struct perfctr_block *block,
		    const struct perfctr_block_pmu *pmu)
{
	if (r->type != block->type || r->section != block->section ||
	    !(block->enable_mask & r->mask))
		return false;
	if (request_is_pmu(r) && (r->pmu_type != pmu->pmu_type || r->config != pmu->config ||
				  r->config1 != pmu->config1 || r->config2 != pmu->config2))
		return false;
	return r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU || r->index == DRM_PERFCTR_INDEX_ALL ||
	       r->index == block->index;
}

static uint64_t time_of(const struct perfctr_block *block, uint64_t bit)
{
	unsigned int place = (unsigned int)__builtin_popcountll(block->enable_mask & (bit - 1));

	return block->valid_mask & bit ? perfctr_block_running(block, place) : 0;
}

/* Return: 1; 0 if the sample covers no time. */
static int read_trial(struct trial *t, struct perfctr_sample *sample)
{
	struct perfctr_block_pmu pmu = { 0 };
	struct perfctr_block block;
	bool no_time = false;

	t->takes_turns = false;
	memset(t->running_ns, 0, t->count * sizeof(*t->running_ns));
	perfctr_decode_rewind(sample);
	while (perfctr_decode_block(sample, &block) > 0) {
		uint64_t enabled_ns, running_ns;

		/* blocks without running times count all the time */
		if (!perfctr_block_read_times(&block, &enabled_ns, &running_ns))
			enabled_ns = 1;
		no_time |= !enabled_ns;
		/*
		 * perf events are enabled one after another: their times alone are no multiplexing
		 */
		t->takes_turns |= block.states & DRM_PERFCTR_STATE_MULTIPLEXED;
		perfctr_block_read_pmu(&block, &pmu);
		for (size_t n = 0; n < t->count; n++) {
			const struct drm_perfctr_block_request *r =
				&t->kit->needs[t->needs[n]].request;

			if (!belongs(r, &block, &pmu))
				continue;
			t->running_ns[n] += block.running ? time_of(&block, r->mask) : 1;
			t->takes_turns |= block.running && !time_of(&block, r->mask);
		}
	}
	return !no_time;
}

/* Count for a short time. */
static int run_trial(struct trial *t, struct perfctr_session *session,
		     struct perfctr_cursor *cursor)
{
	int tries, result, error = perfctr_session_start(session, 0);

	if (error)
		return error;
	result = 0;
	for (tries = 0; !error && !result && tries < PROBE_TRIES; tries++) {
		struct perfctr_sample sample;

		if (tries)
			perfctr_cursor_wait(cursor, PROBE_WAIT_NS);
		error = perfctr_session_sample(session, 0);
		if (!error)
			error = perfctr_cursor_next(cursor, &sample) < 0 ? -EIO : 0;
		if (!error) {
			result = read_trial(t, &sample);
			error = perfctr_cursor_advance(cursor, 1);
		}
	}
	perfctr_session_stop(session, 0);
	if (!error && !result)
		return perfctr_fail(kit_ctx(t->kit), -ETIMEDOUT,
				    "the device's time stands still, so passes cannot be planned");
	return error;
}

static bool can_take_turns(const struct trial *t)
{
	for (size_t n = 0; n < t->count; n++)
		if (t->kit->needs[t->needs[n]].request.type >= FIRST_TIMED_BLOCK)
			return true;
	return false;
}

static int try_together(struct trial *t)
{
	const struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.slots = PROBE_SLOTS,
		.flags = kit_setup_flags(t->kit),
	};
	struct perfctr_selection *selection = NULL;
	struct perfctr_session *session = NULL;
	struct perfctr_cursor *cursor = NULL;
	int error = select_needs(t, &selection);

	if (error)
		return error;
	if (can_take_turns(t)) {
		error = perfctr_session_new(selection, &opts, &session);
		if (!error)
			error = perfctr_cursor_new(session, &cursor);
		if (!error)
			error = run_trial(t, session, cursor);
	} else {
		error = perfctr_session_check(selection, &opts, NULL);
		t->takes_turns = false;
	}
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	perfctr_selection_unref(selection);
	return error;
}

/* Keep the needs that ran all the time; if all were multiplexed, the half that ran longest. */
static void keep_luckiest(struct trial *t)
{
	size_t before = t->count, kept = 0, n, k;

	for (n = 0; n < before; n++) {
		if (!t->running_ns[n])
			continue;
		t->running_ns[kept] = t->running_ns[n];
		t->needs[kept++] = t->needs[n];
	}
	if (kept && kept < before) {
		t->count = kept;
		return;
	}
	/* no need ran because other sessions hold the hardware: try a single counter */
	for (n = 0; kept && n < before / 2; n++) {
		size_t most = n, need;
		uint64_t time_ns;

		for (k = n + 1; k < before; k++)
			if (t->running_ns[k] > t->running_ns[most])
				most = k;
		need = t->needs[n];
		time_ns = t->running_ns[n];
		t->needs[n] = t->needs[most];
		t->running_ns[n] = t->running_ns[most];
		t->needs[most] = need;
		t->running_ns[most] = time_ns;
	}
	t->count = before / 2;
}

/* Needs that the next pass could have: those of one counter set, and of PMUs, which have no set. */
static void candidates(struct trial *t)
{
	const struct perfctr_perfkit *kit = t->kit;
	int set = -1;

	t->count = 0;
	for (size_t n = 0; n < kit->need_count; n++) {
		const struct drm_perfctr_block_request *r = &kit->needs[n].request;

		if (kit->needs[n].pass != KIT_NO_PASS)
			continue;
		if (!request_is_pmu(r)) {
			if (set < 0)
				set = r->set;
			if (r->set != set)
				continue;
		}
		t->needs[t->count++] = n;
	}
}

/* A trial that was halved may be too small: add other needs that still fit. */
static int fill_up(struct trial *t, const size_t *all, size_t all_count)
{
	size_t k;

	for (size_t n = 0; n < all_count; n++) {
		int error;

		for (k = 0; k < t->count && t->needs[k] != all[n]; k++)
			;
		if (k < t->count)
			continue;
		t->needs[t->count++] = all[n];
		error = try_together(t);
		if (error == -E2BIG || error == -ERANGE)
			t->takes_turns = true;
		else if (error)
			return error;
		if (t->takes_turns)
			t->count--;
	}
	return 0;
}

static int plan_pass(struct trial *t, size_t *all)
{
	size_t all_count;
	bool halved = false;
	int error;

	candidates(t);
	all_count = t->count;
	memcpy(all, t->needs, all_count * sizeof(*all));
	for (;;) {
		size_t before = t->count;

		error = try_together(t);
		if ((error == -E2BIG || error == -ERANGE) && t->count > 1) {
			t->count /= 2;
			halved = true;
			continue;
		}
		if (error)
			return error;
		if (!t->takes_turns || t->count == 1)
			break;
		keep_luckiest(t);
		halved |= t->count == before / 2;
	}
	return halved ? fill_up(t, all, all_count) : 0;
}

static int add_pass(struct perfctr_perfkit *kit, const struct trial *t)
{
	struct kit_pass *passes;
	int error;

	passes = realloc(kit->passes, (kit->pass_count + 1) * sizeof(*passes));
	if (!passes)
		return perfctr_no_memory(kit_ctx(kit));
	kit->passes = passes;
	passes[kit->pass_count] = (struct kit_pass){ 0 };
	error = select_needs(t, &passes[kit->pass_count].selection);
	if (error)
		return error;
	for (size_t n = 0; n < t->count; n++)
		kit->needs[t->needs[n]].pass = kit->pass_count;
	kit->pass_count++;
	return 0;
}

/* Set the pass numbers of the counters. */
static void tell_passes(struct perfctr_perfkit *kit)
{
	size_t before;

	for (size_t n = 0; n < kit->entry_count; n++) {
		struct kit_entry *entry = kit->entries[n];

		entry->info.passes = 0;
		entry->info.first_pass = KIT_NO_PASS;
		for (size_t k = 0; k < entry->need_count; k++) {
			unsigned int pass = kit->needs[entry->needs[k]].pass;

			for (before = 0; before < k; before++)
				if (kit->needs[entry->needs[before]].pass == pass)
					break;
			entry->info.passes += before == k;
			if (pass < entry->info.first_pass)
				entry->info.first_pass = pass;
		}
	}
}

int kit_plan(struct perfctr_perfkit *kit)
{
	struct trial t = { .kit = kit };
	size_t left = kit->need_count, n;
	size_t *all;
	int error = 0;

	if (kit->planned)
		return 0;
	if (!kit->need_count)
		return perfctr_fail(kit_ctx(kit), -ENODATA,
				    "the kit has no counters: perfctr_perfkit_add()");
	t.needs = calloc(kit->need_count + 1, sizeof(*t.needs));
	t.running_ns = calloc(kit->need_count + 1, sizeof(*t.running_ns));
	all = calloc(kit->need_count, sizeof(*all));
	if (!t.needs || !t.running_ns || !all)
		error = perfctr_no_memory(kit_ctx(kit));
	for (n = 0; n < kit->need_count; n++)
		kit->needs[n].pass = KIT_NO_PASS;
	while (left && !error) {
		error = plan_pass(&t, all);
		if (!error)
			error = add_pass(kit, &t);
		left -= t.count;
	}
	free(t.needs);
	free(t.running_ns);
	free(all);
	if (error) {
		kit_forget_plan(kit);
		return error;
	}
	tell_passes(kit);
	kit->planned = true;
	return 0;
}
