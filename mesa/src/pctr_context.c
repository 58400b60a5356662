// SPDX-License-Identifier: MIT
/* Queries of a GL context: sessions, samples at begin and end, values, windows of the HUD. */
#include "pctr_context.h"

#include "pctr_passes.h"
#include "pctr_value.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* two for each job between two reads, for a few jobs */
	SESSION_SLOTS = 64,
	WORD_BITS = 64,
	/*
	 * PCTR_LOOK_NS apart. The clock of a device that just powered up may stand still for a
	 * while, and a multiplexed counter may have to wait until the current slot ends.
	 */
	TRIES = 100,
};

/* A session of the kernel and its counters. */
struct pctr_session {
	struct pctr_session *next;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	uint64_t *covers; /* catalogue counters that it covers */
	struct pctr_query *active; /* active queries on it */
	bool exact; /* made for a monitor: monitors want, or wanted, its multiplexed counters */
	/* a counter had to wait for its multiplexing slot in the last sample */
	bool was_multiplexed;
	/* the last sample ended a frame of the HUD: the next frame begins there */
	bool is_between_frames;
	struct perfctr_totals *trial; /* totals of the samples since a trial began, else NULL */
};

struct pctr_context {
	const struct pctr_catalogue *catalogue;
	pctr_say_fn say;
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	/* the first one is the newest: queries begin on it */
	struct pctr_session *sessions;
	struct pctr_query *queries;
	struct pctr_window *windows;
	unsigned int words;
	/* a trial checks whether another monitor fits */
	bool in_trial;
	bool said, said_waits;
	bool gone;
};

struct pctr_query {
	struct pctr_context *context;
	struct pctr_query *next, *next_active;
	struct pctr_session *session; /* while it counts */
	/*
	 * totals of all samples, of the context's own samples, and of all samples outside of trials
	 */
	struct perfctr_totals *totals, *own, *undisturbed;
	/* window of a HUD's frame, with multiplexed counters averaged over it; else NULL */
	struct pctr_window *window;
	union pctr_value *values;
	unsigned int *counters;
	unsigned int count;
	bool attributed, exact;
	bool is_frame; /* a frame of the HUD, not a monitor's time from Begin to End */
};

/* --- context --------------------------------------------------------------- */

static void say_once(struct pctr_context *c, const char *what)
{
	char text[768];

	if (c->said)
		return;
	c->said = true;
	snprintf(text, sizeof(text), "%s; rendering goes on", what);
	c->say(text);
}

/* Report that the last call of the library failed. */
static void fail(struct pctr_context *c, int error)
{
	const char *reason = pctr.ctx_error(c->ctx);

	if (error == -ENODEV)
		c->gone = true;
	say_once(c, error == -ENODEV ? "the device is gone, its counters stand still" : reason);
}

void pctr_context_fail(struct pctr_context *context, const char *what)
{
	say_once(context, what);
}

struct pctr_context *pctr_context_new(const struct pctr_catalogue *catalogue, pctr_say_fn say)
{
	struct pctr_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->catalogue = catalogue;
	c->say = say;
	c->words = (catalogue->counter_count + WORD_BITS - 1) / WORD_BITS;
	if (pctr.ctx_new(&c->ctx)) {
		free(c);
		return NULL;
	}
	if (pctr.device_open(c->ctx, catalogue->device, &c->device)) {
		say_once(c, pctr.ctx_error(c->ctx));
		pctr.ctx_unref(c->ctx);
		free(c);
		return NULL;
	}
	return c;
}

int pctr_context_fd(const struct pctr_context *context)
{
	return pctr.device_fd(context->device);
}

/* --- sessions -------------------------------------------------------------- */

static void session_free(struct pctr_session *s)
{
	if (!s)
		return;
	pctr.totals_unref(s->trial);
	pctr.cursor_unref(s->cursor);
	pctr.session_unref(s->session);
	pctr.selection_unref(s->selection);
	free(s->covers);
	free(s);
}

/* Close sessions without active queries, except @kept. */
static void drop_others(struct pctr_context *c, const struct pctr_session *kept)
{
	struct pctr_session **link = &c->sessions;

	while (*link) {
		struct pctr_session *s = *link;

		if (s->active || s == kept) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		session_free(s);
	}
}

/* Keep the newest session while there are queries. */
static void drop_sessions(struct pctr_context *c)
{
	drop_others(c, c->queries ? c->sessions : NULL);
}

void pctr_context_free(struct pctr_context *context)
{
	if (!context)
		return;
	while (context->queries)
		pctr_query_free(context->queries);
	drop_sessions(context);
	pctr.device_unref(context->device);
	pctr.ctx_unref(context->ctx);
	free(context);
}

static void cover(uint64_t *covers, unsigned int counter)
{
	covers[counter / WORD_BITS] |= UINT64_C(1) << counter % WORD_BITS;
}

static bool covered(const uint64_t *covers, unsigned int counter)
{
	return covers[counter / WORD_BITS] >> counter % WORD_BITS & 1;
}

static bool covers_query(const struct pctr_session *s, const struct pctr_query *q)
{
	for (unsigned int n = 0; n < q->count; n++)
		if (!covered(s->covers, q->counters[n]))
			return false;
	return true;
}

/* Create a selection of the covered counters. On error there is no selection. */
static int select_counters(struct pctr_context *c, const uint64_t *covers,
			   struct perfctr_selection **selection)
{
	int error = pctr.selection_new(c->device, selection);

	for (unsigned int n = 0; error >= 0 && n < c->catalogue->counter_count; n++)
		if (covered(covers, n))
			error = pctr.selection_add(*selection, c->catalogue->counters[n].event);
	if (error >= 0)
		return 0;
	*selection = pctr.selection_unref(*selection);
	return error;
}

/*
 * Whether a session for @query also counts for @other. Counters that would only be multiplexed with
 * @query for nothing are left out. A session for a monitor has no counters that may be multiplexed
 * unless the monitor may be multiplexed too.
 */
static bool is_wanted(const struct pctr_context *c, const struct pctr_query *other, unsigned int n,
		      const struct pctr_query *query)
{
	if (other == query ||
	    !pctr_is_multiplexed(c->catalogue->counters[other->counters[n]].format))
		return true;
	return other->session && (other->exact || !query->exact);
}

/* Open a session for the counters of @query and, unless @alone, of other queries. */
static int session_open(struct pctr_context *c, const struct pctr_query *query, bool alone,
			struct pctr_session **session)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = SESSION_SLOTS };
	struct pctr_session *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	/* while the GPU sleeps, samples do not show whose slot it is */
	if (query->exact)
		opts.flags = DRM_PERFCTR_OPEN_KEEP_AWAKE;

	if (s)
		s->covers = calloc(c->words, sizeof(*s->covers));
	if (!s || !s->covers)
		goto failed;
	s->exact = query->exact;
	for (const struct pctr_query *q = c->queries; q; q = q->next)
		for (unsigned int n = 0; n < q->count && (!alone || q == query); n++)
			if (is_wanted(c, q, n, query))
				cover(s->covers, q->counters[n]);
	error = select_counters(c, s->covers, &s->selection);
	if (!error)
		error = pctr.session_new(s->selection, &opts, &s->session);
	if (!error)
		error = pctr.cursor_new(s->session, &s->cursor);
	if (!error)
		error = pctr.session_start(s->session, PCTR_MARK_OTHER);
	if (!error) {
		*session = s;
		return 0;
	}
failed:
	session_free(s);
	return error;
}

/*
 * One session for all queries saves sessions and samples. If a query cannot be served, the others
 * must not fail with it: then each query gets a separate session, and this one becomes the newest.
 */
static struct pctr_session *session_new(struct pctr_context *c, const struct pctr_query *query)
{
	struct pctr_session *s = NULL;
	int error = session_open(c, query, false, &s);

	if (error && error != -ENODEV && error != -ENOMEM && c->queries->next)
		error = session_open(c, query, true, &s);
	if (error) {
		fail(c, error);
		return NULL;
	}
	s->next = c->sessions;
	c->sessions = s;
	return s;
}

/* Whether this query is the one that counts for its window. */
static bool is_in_window(const struct pctr_query *q)
{
	return q->window && q->window->counting == q;
}

static int deliver(struct pctr_session *s, struct perfctr_sample *sample)
{
	int error = s->trial ? pctr.totals_add(s->trial, sample) : 0;

	for (struct pctr_query *q = s->active; q && !error; q = q->next_active) {
		error = pctr.totals_add(q->totals, sample);
		if (!error && is_in_window(q))
			error = pctr.totals_add(q->window->totals, sample);
		if (!error && q->exact && !(q->context->in_trial && s->was_multiplexed))
			error = pctr.totals_add(q->undisturbed, sample);
		if (!error && q->attributed && sample->user_data == PCTR_MARK_OWN)
			error = pctr.totals_add(q->own, sample);
	}
	return error;
}

/* Record whether all counters of a sample counted all the time. */
static void look_for_waits(struct pctr_session *s, struct perfctr_sample *sample)
{
	uint64_t enabled_ns, running_ns;
	struct perfctr_block block;

	s->was_multiplexed = false;
	pctr.decode_rewind(sample);
	while (pctr.decode_block(sample, &block) > 0)
		if (pctr_is_multiplexed(block.format) &&
		    pctr.block_read_times(&block, &enabled_ns, &running_ns))
			s->was_multiplexed |= block.states & DRM_PERFCTR_STATE_MULTIPLEXED ||
					      running_ns < enabled_ns;
}

/* Pass the samples in the ring to the queries that count. */
static int session_drain(struct pctr_session *s)
{
	struct perfctr_sample sample;
	int result;

	while ((result = pctr.cursor_next(s->cursor, &sample)) > 0) {
		look_for_waits(s, &sample);
		result = deliver(s, &sample);
		pctr.cursor_advance(s->cursor, 1);
		if (result)
			break;
	}
	return result;
}

/* Add everything counted until now to the queries that are active now. */
static bool session_sample(struct pctr_context *c, struct pctr_session *s)
{
	int error = session_drain(s);

	if (!error)
		error = pctr.session_sample(s->session, PCTR_MARK_OTHER);
	/* a removed device leaves a last sample */
	session_drain(s);
	if (error)
		fail(c, error);
	return !error;
}

static bool sample_all(struct pctr_context *c)
{
	bool ok = true;

	for (struct pctr_session *s = c->sessions; s; s = s->next)
		ok &= session_sample(c, s);
	return ok;
}

/* --- what fits --------------------------------------------------------------- */

/* State of the multiplexed counters in some totals. */
struct waits {
	uint64_t time_ns; /* device time that has passed for all of them */
	bool waited; /* a counter had to wait */
	unsigned int waiting; /* counters that only waited */
};

static struct waits waits_of(const struct perfctr_totals *totals)
{
	const struct perfctr_totals_block *block;
	const struct perfctr_total *total;
	struct waits waits = { .time_ns = UINT64_MAX };

	for (size_t n = 0; (block = pctr.totals_block(totals, n)); n++) {
		const struct perfctr_totals_block_info *info = pctr.totals_block_info(block);

		if (!pctr_is_multiplexed(info->format))
			continue;
		if (info->time_enabled < waits.time_ns)
			waits.time_ns = info->time_enabled;
		for (size_t k = 0; (total = pctr.totals_counter(block, k)); k++) {
			waits.waited |= total->running_ns < info->time_enabled;
			waits.waiting += !total->running_ns;
		}
	}
	return waits;
}

/* Whether monitors use a session; monitors are about to begin on the newest one. */
static bool is_for_monitors(const struct pctr_context *c, const struct pctr_session *s)
{
	const struct pctr_query *q = s->active;

	while (q && !q->exact)
		q = q->next_active;
	return q || s == c->sessions;
}

/*
 * Check all sessions since the trial began. Counters of monitors must not have waited. If no
 * counter of any session waited, there is one pass. Otherwise all monitors must need the same pass:
 * each waiting counter had its own slot, which its times show. Passes that only other processes
 * need are not visible.
 */
static struct waits waits_of_all(const struct pctr_context *c, bool *refused)
{
	struct waits all = { .time_ns = UINT64_MAX };

	*refused = false;
	for (const struct pctr_session *s = c->sessions; s; s = s->next) {
		struct waits waits = waits_of(s->trial);

		*refused |= waits.waited && is_for_monitors(c, s);
		if (waits.time_ns < all.time_ns)
			all.time_ns = waits.time_ns;
		all.waited |= waits.waited;
		all.waiting += waits.waiting;
	}
	return all;
}

/* Sample several times. Returns whether the counters of monitors run all the time. */
static bool observe(struct pctr_context *c)
{
	unsigned int looks = 0, waiting = UINT_MAX;
	struct waits waits = { 0 };
	uint64_t next_ns = 1;
	bool refused = false;

	for (unsigned int n = 0; n < TRIES; n++) {
		if (n)
			pctr_wait_for_slot();
		if (!sample_all(c))
			return false;
		waits = waits_of_all(c, &refused);
		if (refused)
			return false;
		/* not before a slot can have ended in the device's time */
		if (waits.time_ns >= next_ns) {
			looks++;
			next_ns = waits.time_ns + PCTR_SLOT_NS;
		}
		if (looks >= PCTR_LOOKS && (!waits.waited || !waits.waiting))
			return true;
		/* enough time for every slot */
		if (looks && waits.waiting < waiting) {
			waiting = waits.waiting;
			n = 0;
		}
	}
	if (looks < PCTR_LOOKS)
		say_once(c, "the device's time stands still: it is unknown what fits in one pass");
	return false;
}

/* Whether the counters of all monitors, including the newest session, fit in one pass. */
static bool fits(struct pctr_context *c)
{
	/* totals must not have samples from before the newest session */
	bool ok = sample_all(c);

	for (struct pctr_session *s = c->sessions; s && ok; s = s->next)
		if (pctr.totals_new(c->ctx, &s->trial)) {
			say_once(c, "out of memory");
			ok = false;
		}
	ok = ok && observe(c);
	for (struct pctr_session *s = c->sessions; s; s = s->next)
		s->trial = pctr.totals_unref(s->trial);
	return ok;
}

/*
 * Open a session for a monitor, which becomes the newest one. NULL if it made counters of this or
 * of another active monitor wait. All values exclude the time of the trial, which would make them
 * estimates.
 */
static struct pctr_session *session_exact(struct pctr_context *c, const struct pctr_query *query)
{
	struct pctr_session *s;

	/* an unused session would take multiplexing slots too */
	drop_others(c, NULL);
	if (!sample_all(c))
		return NULL;
	c->in_trial = true;
	s = session_new(c, query);
	if (s && !fits(c)) {
		c->sessions = s->next;
		/* closing it drops its counters too, but not at once: others would go on waiting */
		if (!c->gone)
			pctr.session_stop(s->session, PCTR_MARK_OTHER);
		session_free(s);
		s = NULL;
	}
	sample_all(c);
	c->in_trial = false;
	return s;
}

unsigned int pctr_context_sessions(struct pctr_context *context, int *sessions, unsigned int max)
{
	unsigned int count = 0;

	for (struct pctr_session *s = context->sessions; s; s = s->next) {
		const struct pctr_query *q = s->active;

		while (q && !q->attributed)
			q = q->next_active;
		if (!q)
			continue;
		if (count < max)
			sessions[count] = pctr.session_fd(s->session);
		count++;
	}
	return count;
}

unsigned int pctr_context_room(struct pctr_context *context)
{
	unsigned int room = SESSION_SLOTS;

	for (struct pctr_session *s = context->sessions; s; s = s->next) {
		int error = session_drain(s);
		unsigned int left;

		if (error < 0)
			fail(context, error);
		left = SESSION_SLOTS - pctr.cursor_lag(s->cursor);
		if (left < room)
			room = left;
	}
	/* one for STOP, one for our own sample */
	return room > 2 ? room - 2 : 0;
}

/* --- queries --------------------------------------------------------------- */

struct pctr_query *pctr_query_new(struct pctr_context *context, const unsigned int *counters,
				  unsigned int count, unsigned int flags)
{
	struct pctr_query *q;
	bool is_multiplexed = false;

	if (context->gone)
		return NULL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->context = context;
	for (unsigned int n = 0; n < count; n++)
		is_multiplexed |=
			pctr_is_multiplexed(context->catalogue->counters[counters[n]].format);
	q->attributed = flags & PCTR_QUERY_ATTRIBUTED;
	q->is_frame = flags & PCTR_QUERY_FRAME;
	q->exact = flags & PCTR_QUERY_EXACT && is_multiplexed;
	q->count = count;
	q->counters = calloc(count, sizeof(*q->counters));
	q->values = calloc(count, sizeof(*q->values));
	if (!q->counters || !q->values || pctr.totals_new(context->ctx, &q->totals) ||
	    pctr.totals_new(context->ctx, &q->own) ||
	    pctr.totals_new(context->ctx, &q->undisturbed))
		goto failed;
	if (is_multiplexed && q->is_frame) {
		q->window = pctr_window_get(&context->windows, context->ctx, counters, count);
		if (!q->window)
			goto failed;
	}
	memcpy(q->counters, counters, count * sizeof(*counters));
	q->next = context->queries;
	context->queries = q;
	return q;
failed:
	pctr.totals_unref(q->undisturbed);
	pctr.totals_unref(q->own);
	pctr.totals_unref(q->totals);
	free(q->counters);
	free(q->values);
	free(q);
	return NULL;
}

static void leave_session(struct pctr_query *q)
{
	struct pctr_query **link;

	if (!q->session)
		return;
	for (link = &q->session->active; *link != q; link = &(*link)->next_active)
		;
	*link = q->next_active;
	q->session = NULL;
	if (is_in_window(q))
		q->window->counting = NULL;
}

static bool is_other_active(const struct pctr_query *query)
{
	const struct pctr_query *q = query->context->queries;

	while (q && !(q != query && q->exact && q->session))
		q = q->next;
	return q;
}

/* The newest session, if it is one for @query. */
static struct pctr_session *session_found(struct pctr_context *c, const struct pctr_query *query)
{
	struct pctr_session *s = c->sessions;

	if (!s || !covers_query(s, query) || (query->exact && !s->exact))
		return NULL;
	if (query->exact)
		return fits(c) ? s : NULL;
	/* the GPU's work since then belongs to this query */
	return (query->is_frame && s->is_between_frames) || session_sample(c, s) ? s : NULL;
}

bool pctr_query_begin(struct pctr_query *query)
{
	struct pctr_context *c = query->context;
	struct pctr_session *s;

	leave_session(query);
	if (c->gone)
		return false;
	s = session_found(c, query);
	/* START is its first sample */
	if (!s && query->exact && !c->gone)
		s = session_exact(c, query);
	/* a single counter, alone in its context, always begins */
	if (!s && !c->gone && (!query->exact || (query->count == 1 && !is_other_active(query))))
		s = session_new(c, query);
	if (!s)
		return false;
	pctr.totals_reset(query->totals);
	pctr.totals_reset(query->own);
	pctr.totals_reset(query->undisturbed);
	query->session = s;
	s->is_between_frames = false;
	if (query->window && !query->window->counting)
		query->window->counting = query;
	query->next_active = s->active;
	s->active = query;
	drop_sessions(c);
	return true;
}

/* --- values ---------------------------------------------------------------- */

/* Another session began to count after Begin. GL cannot report that. */
static void report_waits(struct pctr_query *q)
{
	struct pctr_context *c = q->context;

	if (!q->exact || c->said_waits || !waits_of(q->attributed ? q->own : q->undisturbed).waited)
		return;
	c->said_waits = true;
	c->say("counters of monitors had to wait for those of others: values are extrapolated");
}

/* End a frame of the HUD: update the values if the window is full. */
static void end_frame(struct pctr_query *q)
{
	const struct pctr_catalogue *catalogue = q->context->catalogue;
	struct pctr_window *w = q->window;
	struct pctr_sums sums = { .single = w->totals, .frames = ++w->frames };
	bool was_multiplexed = waits_of(w->totals).waited, is_exact;

	if (!pctr_window_is_full(w))
		return;
	if (pctr.totals_sum(w->totals, &sums.sum)) {
		say_once(q->context, "out of memory");
		return;
	}
	for (unsigned int n = 0; n < w->count; n++) {
		w->values[n] = pctr_value_of(&catalogue->counters[w->counters[n]], &sums,
					     q->session->selection, &is_exact);
		w->waited[n] = was_multiplexed && !is_exact;
	}
	pctr.totals_unref(sums.sum);
	pctr.totals_reset(w->totals);
	w->frames = 0;
}

static void compute(struct pctr_query *q)
{
	const struct pctr_catalogue *catalogue = q->context->catalogue;
	struct pctr_sums all = { .single = q->totals, .frames = 1 },
			 own = { .single = q->own, .frames = 1 };
	struct pctr_sums undisturbed = { .single = q->undisturbed, .frames = 1 };
	bool was_multiplexed = waits_of(q->totals).waited;

	if (pctr.totals_sum(q->totals, &all.sum) || pctr.totals_sum(q->own, &own.sum) ||
	    pctr.totals_sum(q->undisturbed, &undisturbed.sum)) {
		say_once(q->context, "out of memory");
		goto out;
	}
	if (is_in_window(q))
		end_frame(q);
	for (unsigned int n = 0; n < q->count; n++) {
		const struct pctr_counter *counter = &catalogue->counters[q->counters[n]];
		const struct pctr_sums *sums = &all;
		bool is_exact;

		if (q->attributed && !(counter->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY))
			sums = &own;
		else if (q->exact && pctr_is_multiplexed(counter->format))
			sums = &undisturbed;
		q->values[n] = pctr_value_of(counter, sums, q->session->selection, &is_exact);
		if (!is_in_window(q) || !pctr_is_multiplexed(counter->format))
			continue;
		q->window->waited[n] |= was_multiplexed && !is_exact;
		if (q->window->waited[n])
			q->values[n] = q->window->values[n];
	}
	report_waits(q);
out:
	pctr.totals_unref(all.sum);
	pctr.totals_unref(own.sum);
	pctr.totals_unref(undisturbed.sum);
}

bool pctr_query_end(struct pctr_query *query)
{
	if (!query->session)
		return false;
	memset(query->values, 0, query->count * sizeof(*query->values));
	/* the failure was reported; the counts up to it are valid */
	query->session->is_between_frames = session_sample(query->context, query->session) &&
					    query->is_frame;
	compute(query);
	leave_session(query);
	drop_sessions(query->context);
	return true;
}

union pctr_value pctr_query_value(const struct pctr_query *query, unsigned int n)
{
	return query->values[n];
}

void pctr_query_free(struct pctr_query *query)
{
	struct pctr_context *c;
	struct pctr_query **link;

	if (!query)
		return;
	c = query->context;
	leave_session(query);
	for (link = &c->queries; *link != query; link = &(*link)->next)
		;
	*link = query->next;
	drop_sessions(c);
	pctr_window_put(&c->windows, query->window);
	pctr.totals_unref(query->undisturbed);
	pctr.totals_unref(query->own);
	pctr.totals_unref(query->totals);
	free(query->counters);
	free(query->values);
	free(query);
}
