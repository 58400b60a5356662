// SPDX-License-Identifier: MIT
/*
 * Only the kernel knows which counters fit in one pass. libperfctr's perfkit measures it with short
 * sessions.
 */
#include "pctr_passes.h"

#include <stdlib.h>
#include <string.h>

/* Count for a short time, long enough for every multiplexing slot on a slow machine too. */
static bool look(struct perfctr_perfkit *kit, unsigned int looks)
{
	bool ok = true;

	for (unsigned int n = 0; ok && n < looks; n++) {
		ok = !pctr.perfkit_begin_object(kit, 0);
		if (ok && n)
			pctr_wait_for_slot();
		ok = ok && !pctr.perfkit_end_object(kit);
	}
	return ok;
}

/*
 * Run all passes of a kit without work. Returns the number of passes, or 0 if other sessions count,
 * because then the result does not depend on the hardware alone.
 */
static unsigned int measure_passes(struct perfctr_perfkit *kit, unsigned int looks)
{
	const struct perfctr_perfkit_counter *counter;
	struct perfctr_perfkit_value value;
	unsigned int passes = 0;
	bool ok = !pctr.perfkit_begin_experiment(kit, &passes);

	for (unsigned int n = 0; ok && n < passes; n++)
		ok = !pctr.perfkit_begin_pass(kit, n) && look(kit, looks) &&
		     !pctr.perfkit_end_pass(kit);
	ok = ok && !pctr.perfkit_end_experiment(kit);
	for (size_t n = 0; ok && (counter = pctr.perfkit_counter(kit, n)); n++)
		if (counter->kind == PERFCTR_PERFKIT_COUNTER)
			ok = !pctr.perfkit_value(kit, n, 0, &value) &&
			     value.state == PERFCTR_VALUE_OK &&
			     !(value.flags & PERFCTR_PERFKIT_ESTIMATED);
	return ok ? passes : 0;
}

/* A group that is being measured. */
struct group_trial {
	struct perfctr_device *device;
	struct pctr_counter *first;
	unsigned int count;
	bool *needs; /* needs[m * count + n]: metric m is computed from counter n of the group */
	bool *kept; /* counters of the pass that is being filled */
};

static void find_needs(struct group_trial *t, unsigned int m)
{
	struct perfctr_selection *selection = NULL;
	const struct drm_perfctr_block_request *r;

	if (pctr.selection_new(t->device, &selection) ||
	    pctr.selection_add(selection, t->first[m].event) < 0)
		goto out;
	for (size_t k = 0; (r = pctr.selection_request(selection, k)); k++)
		for (unsigned int n = 0; n < t->count; n++) {
			const struct pctr_counter *c = &t->first[n];

			t->needs[m * t->count + n] |=
				!c->metric && r->type == c->block_type &&
				r->section == c->position / DRM_PERFCTR_SECTION_COUNTERS &&
				r->mask >> c->position % DRM_PERFCTR_SECTION_COUNTERS & 1;
		}
out:
	pctr.selection_unref(selection);
}

/* Passes for the counters that a metric needs; 0: not known. */
static unsigned int passes_of_metric(const struct group_trial *t, unsigned int m)
{
	struct perfctr_perfkit *kit = NULL;
	bool ok = !pctr.perfkit_new(t->device, &kit);
	unsigned int passes = 0;

	for (unsigned int n = 0; ok && n < t->count; n++)
		if (t->needs[m * t->count + n])
			ok = pctr.perfkit_add(kit, t->first[n].event) > 0;
	if (ok && pctr.perfkit_count(kit) > 1)
		passes = measure_passes(kit, 1);
	pctr.perfkit_unref(kit);
	return passes;
}

/* What a counter adds: itself, and metrics that it is a part of. */
static unsigned int worth(const struct group_trial *t, unsigned int n)
{
	unsigned int sum = !t->first[n].metric;

	for (unsigned int m = 0; sum && m < t->count; m++)
		sum += t->needs[m * t->count + n] && !t->first[m].several_passes;
	return sum;
}

/* Whether all counters of a metric are in the pass already. */
static bool comes_along(const struct group_trial *t, unsigned int m)
{
	for (unsigned int n = 0; n < t->count; n++)
		if (t->needs[m * t->count + n] && !t->kept[n])
			return false;
	return t->first[m].metric && !t->first[m].several_passes;
}

/* Take a counter into the pass if there is room. Returns false if the device cannot answer. */
static bool try_counter(struct group_trial *t, struct perfctr_perfkit *kit, unsigned int n)
{
	unsigned int passes;

	if (pctr.perfkit_add(kit, t->first[n].event) < 0 || pctr.perfkit_passes(kit, &passes))
		return false;
	t->kept[n] = passes == 1;
	return t->kept[n] || !pctr.perfkit_remove(kit, pctr.perfkit_count(kit) - 1);
}

/* Fill a pass, counters of most metrics first. Returns how many; 0: not known. */
static unsigned int fill_a_pass(struct group_trial *t)
{
	struct perfctr_perfkit *kit = NULL;
	unsigned int members = 0, most = 0;
	bool ok = !pctr.perfkit_new(t->device, &kit);

	for (unsigned int n = 0; n < t->count; n++)
		most = worth(t, n) > most ? worth(t, n) : most;
	for (; ok && most; most--)
		for (unsigned int n = 0; ok && n < t->count; n++)
			if (worth(t, n) == most)
				ok = try_counter(t, kit, n);
	/* other sessions may have begun to count meanwhile */
	if (ok && measure_passes(kit, PCTR_LOOKS) == 1)
		for (unsigned int n = 0; n < t->count; n++)
			members += t->kept[n] || comes_along(t, n);
	pctr.perfkit_unref(kit);
	return members;
}

static unsigned int measure(struct group_trial *t)
{
	for (unsigned int m = 0; m < t->count; m++)
		if (t->first[m].metric) {
			find_needs(t, m);
			t->first[m].several_passes = passes_of_metric(t, m) > 1;
		}
	return fill_a_pass(t);
}

unsigned int pctr_passes_measure(const char *path, struct pctr_counter *first, unsigned int count)
{
	struct group_trial t = { .first = first, .count = count };
	struct perfctr_ctx *ctx = NULL;
	unsigned int most = 0;

	t.needs = calloc((size_t)count * count, sizeof(*t.needs));
	t.kept = calloc(count, sizeof(*t.kept));
	if (t.needs && t.kept && !pctr.ctx_new(&ctx) && !pctr.device_open(ctx, path, &t.device))
		most = measure(&t);
	pctr.device_unref(t.device);
	pctr.ctx_unref(ctx);
	free(t.kept);
	free(t.needs);
	return most;
}

/* --- a HUD's window ---------------------------------------------------------- */

static void window_free(struct pctr_window *w)
{
	pctr.totals_unref(w->totals);
	free(w->counters);
	free(w->values);
	free(w->waited);
	free(w);
}

static struct pctr_window *window_new(struct perfctr_ctx *ctx, const unsigned int *counters,
				      unsigned int count)
{
	struct pctr_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->counters = calloc(count, sizeof(*w->counters));
	w->values = calloc(count, sizeof(*w->values));
	w->waited = calloc(count, sizeof(*w->waited));
	if (!w->counters || !w->values || !w->waited || pctr.totals_new(ctx, &w->totals)) {
		window_free(w);
		return NULL;
	}
	memcpy(w->counters, counters, count * sizeof(*counters));
	w->count = count;
	return w;
}

struct pctr_window *pctr_window_get(struct pctr_window **windows, struct perfctr_ctx *ctx,
				    const unsigned int *counters, unsigned int count)
{
	struct pctr_window *w = *windows;

	while (w && (w->count != count || memcmp(w->counters, counters, count * sizeof(*counters))))
		w = w->next;
	if (!w) {
		w = window_new(ctx, counters, count);
		if (!w)
			return NULL;
		w->next = *windows;
		*windows = w;
	}
	w->users++;
	return w;
}

void pctr_window_put(struct pctr_window **windows, struct pctr_window *window)
{
	if (!window || --window->users)
		return;
	while (*windows != window)
		windows = &(*windows)->next;
	*windows = window->next;
	window_free(window);
}

bool pctr_window_is_full(const struct pctr_window *window)
{
	const struct perfctr_totals_block *block;
	const struct perfctr_total *total;

	for (size_t n = 0; (block = pctr.totals_block(window->totals, n)); n++)
		if (pctr_is_multiplexed(pctr.totals_block_info(block)->format))
			for (size_t k = 0; (total = pctr.totals_counter(block, k)); k++)
				if (total->running_ns < PCTR_WINDOW_SLOTS * PCTR_SLOT_NS)
					return false;
	return true;
}
