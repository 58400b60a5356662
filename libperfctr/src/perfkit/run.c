// SPDX-License-Identifier: MIT
/* perfkit: experiments and samples. */
#include "perfkit.h"

#include <stdlib.h>

#include "counters/totals.h"

enum { KIT_SLOTS = 16 };

void kit_forget_values(struct perfctr_perfkit *kit)
{
	for (size_t n = 0; n < (size_t)kit->object_count * kit->pass_count; n++)
		perfctr_totals_unref(kit->totals[n]);
	free(kit->totals);
	kit->totals = NULL;
	kit->object_count = 0;
	for (size_t n = 0; n < kit->entry_count; n++)
		kit->entries[n]->updated = false;
	for (size_t n = 0; n < kit->pass_count; n++)
		kit->passes[n].done = false;
}

void kit_close_session(struct perfctr_perfkit *kit)
{
	kit->cursor = perfctr_cursor_unref(kit->cursor);
	kit->session = perfctr_session_unref(kit->session);
}

static int open_session(struct perfctr_perfkit *kit, unsigned int pass)
{
	const struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.slots = KIT_SLOTS,
		.flags = kit_setup_flags(kit),
	};
	int error = perfctr_session_new(kit->passes[pass].selection, &opts, &kit->session);

	if (!error)
		error = perfctr_cursor_new(kit->session, &kit->cursor);
	if (!error)
		error = perfctr_session_start(kit->session, 0);
	if (error)
		kit_close_session(kit);
	else
		kit->pass = pass;
	return error;
}

/* Find or create the empty totals of an object. */
static int find_totals(struct perfctr_perfkit *kit, unsigned int object,
		       struct perfctr_totals **totals)
{
	size_t before = (size_t)kit->object_count * kit->pass_count;
	size_t count = ((size_t)object + 1) * kit->pass_count;
	struct perfctr_totals **slot;

	if (count > before) {
		struct perfctr_totals **array;

		array = realloc(kit->totals, count * sizeof(struct perfctr_totals *));
		if (!array)
			return perfctr_no_memory(kit_ctx(kit));
		kit->totals = array;
		for (; before < count; before++)
			array[before] = NULL;
		kit->object_count = object + 1;
	}
	slot = &kit->totals[(size_t)object * kit->pass_count + kit->pass];
	if (!*slot) {
		int error = perfctr_totals_new(kit_ctx(kit), slot);

		if (!error)
			error = perfctr_totals_describe(*slot, kit->passes[kit->pass].selection);
		if (error)
			return error;
	}
	*totals = *slot;
	return 0;
}

/* Read all samples in the ring into the totals; without totals drop them. */
static int drain(struct perfctr_perfkit *kit, struct perfctr_totals *totals)
{
	struct perfctr_sample sample;
	int result;

	while ((result = perfctr_cursor_next(kit->cursor, &sample)) > 0) {
		int error = totals ? perfctr_totals_add(totals, &sample) : 0;

		if (!error)
			error = perfctr_cursor_advance(kit->cursor, 1);
		if (error)
			return error;
	}
	/* a stopped session publishes no more samples */
	return result == -ENODEV && !totals ? 0 : result;
}

EXPORT int perfctr_perfkit_passes(struct perfctr_perfkit *kit, unsigned int *passes)
{
	int error = kit->state == KIT_IDLE ? kit_plan(kit) : 0;

	if (!error)
		*passes = kit->pass_count;
	return error;
}

/* --- experiments ------------------------------------------------------------------ */

static int out_of_order(const struct perfctr_perfkit *kit, const char *what)
{
	return perfctr_fail(kit_ctx(kit), -EPROTO, "%s", what);
}

EXPORT int perfctr_perfkit_begin_experiment(struct perfctr_perfkit *kit, unsigned int *passes)
{
	int error;

	if (kit->state != KIT_IDLE)
		return perfctr_fail(kit_ctx(kit), -EBUSY, "an experiment or sampling is going on");
	kit_forget_values(kit);
	error = kit_plan(kit);
	if (error)
		return error;
	kit->state = KIT_EXPERIMENT;
	*passes = kit->pass_count;
	return 0;
}

EXPORT int perfctr_perfkit_begin_pass(struct perfctr_perfkit *kit, unsigned int pass)
{
	int error;

	if (kit->state != KIT_EXPERIMENT)
		return out_of_order(kit,
				    kit->state == KIT_PASS || kit->state == KIT_OBJECT ?
					    "a pass is going on: end it first" :
					    "a pass is part of an experiment: begin one first");
	if (pass >= kit->pass_count)
		return perfctr_fail(kit_ctx(kit), -ERANGE, "pass %u of %u", pass, kit->pass_count);
	for (unsigned int object = 0; object < kit->object_count; object++) {
		size_t place = (size_t)object * kit->pass_count + pass;

		kit->totals[place] = perfctr_totals_unref(kit->totals[place]);
	}
	kit->passes[pass].done = false;
	kit->had_object = false;
	error = open_session(kit, pass);
	if (!error)
		kit->state = KIT_PASS;
	return error;
}

EXPORT int perfctr_perfkit_begin_object(struct perfctr_perfkit *kit, unsigned int object)
{
	struct perfctr_totals *totals;
	int error;

	if (kit->state != KIT_PASS)
		return out_of_order(kit, kit->state == KIT_OBJECT ?
						 "an object is going on: end it first" :
						 "an object is part of a pass: begin one first");
	if (object >= KIT_MOST_OBJECTS)
		return perfctr_fail(kit_ctx(kit), -ERANGE, "object %u: the highest is %u", object,
				    KIT_MOST_OBJECTS - 1);
	error = find_totals(kit, object, &totals);
	/* the counts so far do not belong to an object */
	if (!error)
		error = perfctr_session_sample(kit->session, object);
	if (!error)
		error = drain(kit, NULL);
	if (error)
		return error;
	kit->had_object = true;
	kit->object = object;
	kit->state = KIT_OBJECT;
	return 0;
}

EXPORT int perfctr_perfkit_end_object(struct perfctr_perfkit *kit)
{
	struct perfctr_totals *totals;
	int error;

	if (kit->state != KIT_OBJECT)
		return out_of_order(kit, "no object is going on");
	kit->state = KIT_PASS;
	error = find_totals(kit, kit->object, &totals);
	if (!error)
		error = perfctr_session_sample(kit->session, kit->object);
	return error ? error : drain(kit, totals);
}

/* End the session; add its last counts to an object, or drop them. */
static int stop_session(struct perfctr_perfkit *kit, bool keep)
{
	struct perfctr_totals *totals = NULL;
	int error = perfctr_session_stop(kit->session, 0);

	if (!error && keep)
		error = find_totals(kit, 0, &totals);
	if (!error) {
		error = drain(kit, totals);
		/* the ring ended: all published samples are read */
		error = error == -ENODEV ? 0 : error;
	}
	kit_close_session(kit);
	return error;
}

EXPORT int perfctr_perfkit_end_pass(struct perfctr_perfkit *kit)
{
	int error;

	if (kit->state != KIT_PASS)
		return out_of_order(kit, kit->state == KIT_OBJECT ?
						 "an object is going on: end it first" :
						 "no pass is going on");
	kit->state = KIT_EXPERIMENT;
	error = stop_session(kit, !kit->had_object);
	kit->passes[kit->pass].done = !error;
	return error;
}

EXPORT int perfctr_perfkit_end_experiment(struct perfctr_perfkit *kit)
{
	unsigned int pass, missing = 0;

	if (kit->state != KIT_EXPERIMENT && kit->state != KIT_PASS && kit->state != KIT_OBJECT)
		return out_of_order(kit, "no experiment is going on");
	kit_close_session(kit);
	kit->state = KIT_IDLE;
	for (size_t n = 0; n < kit->entry_count; n++) {
		struct kit_entry *entry = kit->entries[n];

		entry->updated = true;
		for (size_t k = 0; k < entry->need_count; k++)
			entry->updated &= kit->passes[kit->needs[entry->needs[k]].pass].done;
	}
	for (pass = kit->pass_count; pass > 0; pass--)
		if (!kit->passes[pass - 1].done)
			missing = pass;
	if (missing)
		return perfctr_fail(kit_ctx(kit), -ENODATA, "pass %u of %u was not done",
				    missing - 1, kit->pass_count);
	return 0;
}

EXPORT unsigned int perfctr_perfkit_object_count(const struct perfctr_perfkit *kit)
{
	return kit->object_count;
}

/* --- samples ------------------------------------------------------------------------ */

/* Mark the counters that the pass has updated. */
static int mark_updated(struct perfctr_perfkit *kit)
{
	int updated = 0;

	kit->passes[kit->pass].done = true;
	for (size_t n = 0; n < kit->entry_count; n++) {
		struct kit_entry *entry = kit->entries[n];
		bool takes_part = false, complete = true;

		for (size_t k = 0; k < entry->need_count; k++) {
			unsigned int pass = kit->needs[entry->needs[k]].pass;

			takes_part |= pass == kit->pass;
			complete &= kit->passes[pass].done;
		}
		entry->updated = takes_part && complete;
		updated += entry->updated;
	}
	return updated;
}

/* The ending frame replaces the previous frame of the same pass. */
static int take_frame(struct perfctr_perfkit *kit)
{
	struct perfctr_totals *totals;
	int error = find_totals(kit, 0, &totals);

	if (error)
		return error;
	perfctr_totals_reset(totals);
	if (kit->pass_count > 1)
		return stop_session(kit, true);
	error = perfctr_session_sample(kit->session, 0);
	return error ? error : drain(kit, totals);
}

EXPORT int perfctr_perfkit_sample(struct perfctr_perfkit *kit)
{
	int error, updated;

	if (kit->state != KIT_IDLE && kit->state != KIT_SAMPLING)
		return perfctr_fail(kit_ctx(kit), -EBUSY,
				    "an experiment is going on: end it first");
	if (kit->state == KIT_IDLE) {
		kit_forget_values(kit);
		error = kit_plan(kit);
		if (!error)
			error = open_session(kit, 0);
		if (!error)
			kit->state = KIT_SAMPLING;
		return error;
	}
	error = take_frame(kit);
	updated = error ? 0 : mark_updated(kit);
	if (!error && kit->pass_count > 1)
		error = open_session(kit, (kit->pass + 1) % kit->pass_count);
	if (error)
		perfctr_perfkit_end_sampling(kit);
	return error ? error : updated;
}

EXPORT void perfctr_perfkit_end_sampling(struct perfctr_perfkit *kit)
{
	if (kit->state != KIT_SAMPLING)
		return;
	kit_close_session(kit);
	kit->state = KIT_IDLE;
}
