// SPDX-License-Identifier: MIT
#include "gpc_context.h"

#include "gpc_passes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	/* two for each job between two readings, and a few jobs */
	SESSION_SLOTS = 64,
	WORD_BITS = 64,
	/* a device that is just powered up may need a while until its time goes on */
	TIME_TRIES = 200,
	TIME_WAIT_NS = 1000000,
};

/* A session of the kernel and what it counts. */
struct gpc_session {
	struct gpc_session *next;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	/* counters of the catalogue that it covers */
	uint64_t *covers;
	/* queries that count on it */
	struct gpc_query *active;
	/* of the last sample: whether it tells of turns, and whether there were any */
	bool had_time, took_turns;
};

struct gpc_context {
	const struct gpc_catalogue *catalogue;
	gpc_say_fn say;
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	/* the first one is the newest: queries begin on it */
	struct gpc_session *sessions;
	struct gpc_query *queries;
	unsigned int words;
	bool said;
	bool gone;
};

struct gpc_query {
	struct gpc_context *context;
	struct gpc_query *next, *next_active;
	/* while it counts */
	struct gpc_session *session;
	/* of all samples, and of the context's own */
	struct perfctr_totals *totals, *own;
	union gpc_value *values;
	unsigned int *counters;
	unsigned int count;
	bool attributed, exact;
};

/* --- context --------------------------------------------------------------- */

static void say_once(struct gpc_context *c, const char *what)
{
	char text[768];

	if (c->said)
		return;
	c->said = true;
	snprintf(text, sizeof(text), "%s; rendering goes on", what);
	c->say(text);
}

/* The library's last call failed. */
static void fail(struct gpc_context *c, int error)
{
	const char *reason = gpc.ctx_error(c->ctx);

	if (error == -ENODEV)
		c->gone = true;
	say_once(c, error == -ENODEV ? "the device is gone, its counters stand still" : reason);
}

void gpc_context_fail(struct gpc_context *context, const char *what)
{
	say_once(context, what);
}

struct gpc_context *gpc_context_new(const struct gpc_catalogue *catalogue, gpc_say_fn say)
{
	struct gpc_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->catalogue = catalogue;
	c->say = say;
	c->words = (catalogue->counter_count + WORD_BITS - 1) / WORD_BITS;
	if (gpc.ctx_new(&c->ctx)) {
		free(c);
		return NULL;
	}
	if (gpc.device_open(c->ctx, catalogue->device, &c->device)) {
		say_once(c, gpc.ctx_error(c->ctx));
		gpc.ctx_unref(c->ctx);
		free(c);
		return NULL;
	}
	return c;
}

int gpc_context_fd(const struct gpc_context *context)
{
	return gpc.device_fd(context->device);
}

/* --- sessions -------------------------------------------------------------- */

static void session_free(struct gpc_session *s)
{
	if (!s)
		return;
	gpc.cursor_unref(s->cursor);
	gpc.session_unref(s->session);
	gpc.selection_unref(s->selection);
	free(s->covers);
	free(s);
}

/* Give up sessions that nothing counts on, but @kept. */
static void drop_others(struct gpc_context *c, const struct gpc_session *kept)
{
	struct gpc_session **link = &c->sessions;

	while (*link) {
		struct gpc_session *s = *link;

		if (s->active || s == kept) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		session_free(s);
	}
}

/* The newest may be of use as long as there are queries. */
static void drop_sessions(struct gpc_context *c)
{
	drop_others(c, c->queries ? c->sessions : NULL);
}

void gpc_context_free(struct gpc_context *context)
{
	if (!context)
		return;
	while (context->queries)
		gpc_query_free(context->queries);
	drop_sessions(context);
	gpc.device_unref(context->device);
	gpc.ctx_unref(context->ctx);
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

static bool covers_query(const struct gpc_session *s, const struct gpc_query *q)
{
	for (unsigned int n = 0; n < q->count; n++)
		if (!covered(s->covers, q->counters[n]))
			return false;
	return true;
}

/* A selection of counters of the catalogue; with an error, one that needs all of them. */
static int select_counters(struct gpc_context *c, const uint64_t *covers,
			   struct perfctr_selection **selection)
{
	int error = gpc.selection_new(c->device, selection);

	for (unsigned int n = 0; error >= 0 && n < c->catalogue->counter_count; n++)
		if (covered(covers, n))
			error = gpc.selection_add(*selection, c->catalogue->counters[n].event);
	if (error >= 0)
		return 0;
	*selection = gpc.selection_unref(*selection);
	return error;
}

/* What a session for @query has for @other, too: not what would take turns with it for nothing. */
static bool is_wanted(const struct gpc_context *c, const struct gpc_query *other, unsigned int n,
		      const struct gpc_query *query)
{
	return other == query || other->session ||
	       !gpc_takes_turns(c->catalogue->counters[other->counters[n]].block_type);
}

/* A session for what @query wants, and, unless it is @alone, other queries of the context. */
static int session_open(struct gpc_context *c, const struct gpc_query *query, bool alone,
			struct gpc_session **session)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = SESSION_SLOTS };
	struct gpc_session *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	/* while the GPU sleeps nothing tells whose turn it is */
	if (query->exact)
		opts.flags = DRM_PERFCTR_SETUP_KEEP_AWAKE;

	if (s)
		s->covers = calloc(c->words, sizeof(*s->covers));
	if (!s || !s->covers)
		goto failed;
	for (const struct gpc_query *q = c->queries; q; q = q->next)
		for (unsigned int n = 0; n < q->count && (!alone || q == query); n++)
			if (is_wanted(c, q, n, query))
				cover(s->covers, q->counters[n]);
	error = select_counters(c, s->covers, &s->selection);
	if (!error)
		error = gpc.session_new(s->selection, &opts, &s->session);
	if (!error)
		error = gpc.cursor_new(s->session, &s->cursor);
	if (!error)
		error = gpc.session_start(s->session, GPC_MARK_OTHER);
	if (!error) {
		*session = s;
		return 0;
	}
failed:
	session_free(s);
	return error;
}

/*
 * One session for all queries saves sessions and samples. But one query that asks for what cannot
 * be had must not take the others with it.
 */
static struct gpc_session *session_new(struct gpc_context *c, const struct gpc_query *query)
{
	struct gpc_session *s = NULL;
	int error = session_open(c, query, false, &s);

	if (error && error != -ENODEV && error != -ENOMEM && c->queries->next)
		error = session_open(c, query, true, &s);
	if (error)
		fail(c, error);
	return s;
}

static int deliver(struct gpc_session *s, struct perfctr_sample *sample)
{
	int error = 0;

	for (struct gpc_query *q = s->active; q && !error; q = q->next_active) {
		error = gpc.totals_add(q->totals, sample);
		if (!error && q->attributed && sample->user_data == GPC_MARK_OWN)
			error = gpc.totals_add(q->own, sample);
	}
	return error;
}

/* Whether all that a sample has counted all the time. */
static void look_for_turns(struct gpc_session *s, struct perfctr_sample *sample)
{
	uint64_t enabled_ns, running_ns;
	struct perfctr_block block;

	s->had_time = true;
	s->took_turns = false;
	gpc.decode_rewind(sample);
	while (gpc.decode_block(sample, &block) > 0) {
		if (!gpc_takes_turns(block.type) ||
		    !gpc.block_read_times(&block, &enabled_ns, &running_ns))
			continue;
		s->had_time &= enabled_ns != 0;
		s->took_turns |= block.states & DRM_PERFCTR_STATE_MULTIPLEXED ||
				 running_ns < enabled_ns;
	}
}

/* Hand the samples in the ring to the queries that count. */
static int session_drain(struct gpc_session *s)
{
	struct perfctr_sample sample;
	int result;

	while ((result = gpc.cursor_next(s->cursor, &sample)) > 0) {
		result = deliver(s, &sample);
		look_for_turns(s, &sample);
		gpc.cursor_advance(s->cursor, 1);
		if (result)
			break;
	}
	return result;
}

/* Everything up to now goes to the queries that count now. */
static bool session_sample(struct gpc_context *c, struct gpc_session *s)
{
	int error = session_drain(s);

	if (!error)
		error = gpc.session_sample(s->session, GPC_MARK_OTHER);
	/* a device that went away leaves a last sample */
	session_drain(s);
	if (error)
		fail(c, error);
	return !error;
}

/* Whether the hardware counts all of a session at once, as the last sample tells or the next. */
static bool counts_at_once(struct gpc_context *c, struct gpc_session *s)
{
	const struct timespec wait = { .tv_nsec = TIME_WAIT_NS };

	for (unsigned int n = 0; !s->had_time; n++) {
		if (n == TIME_TRIES) {
			say_once(c, "the device's time stands still: nothing tells what fits");
			return false;
		}
		if (n)
			nanosleep(&wait, NULL);
		if (!session_sample(c, s))
			return false;
	}
	return !s->took_turns;
}

unsigned int gpc_context_handles(struct gpc_context *context, uint32_t *handles, unsigned int max)
{
	unsigned int count = 0;

	for (struct gpc_session *s = context->sessions; s; s = s->next) {
		const struct gpc_query *q = s->active;

		while (q && !q->attributed)
			q = q->next_active;
		if (!q)
			continue;
		if (count < max)
			handles[count] = gpc.session_handle(s->session);
		count++;
	}
	return count;
}

unsigned int gpc_context_room(struct gpc_context *context)
{
	unsigned int room = SESSION_SLOTS;

	for (struct gpc_session *s = context->sessions; s; s = s->next) {
		int error = session_drain(s);
		unsigned int left;

		if (error < 0)
			fail(context, error);
		left = SESSION_SLOTS - gpc.cursor_lag(s->cursor);
		if (left < room)
			room = left;
	}
	/* one is for STOP, one for a sample of ours */
	return room > 2 ? room - 2 : 0;
}

/* --- queries --------------------------------------------------------------- */

struct gpc_query *gpc_query_new(struct gpc_context *context, const unsigned int *counters,
				unsigned int count, unsigned int flags)
{
	struct gpc_query *q;
	bool takes_turns = false;

	if (context->gone)
		return NULL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->context = context;
	for (unsigned int n = 0; n < count; n++)
		takes_turns |=
			gpc_takes_turns(context->catalogue->counters[counters[n]].block_type);
	q->attributed = flags & GPC_QUERY_ATTRIBUTED;
	q->exact = flags & GPC_QUERY_EXACT && takes_turns && count > 1;
	q->count = count;
	q->counters = calloc(count, sizeof(*q->counters));
	q->values = calloc(count, sizeof(*q->values));
	if (!q->counters || !q->values || gpc.totals_new(context->ctx, &q->totals) ||
	    gpc.totals_new(context->ctx, &q->own))
		goto failed;
	memcpy(q->counters, counters, count * sizeof(*counters));
	q->next = context->queries;
	context->queries = q;
	return q;
failed:
	gpc.totals_unref(q->own);
	gpc.totals_unref(q->totals);
	free(q->counters);
	free(q->values);
	free(q);
	return NULL;
}

static void leave_session(struct gpc_query *q)
{
	struct gpc_query **link;

	if (!q->session)
		return;
	for (link = &q->session->active; *link != q; link = &(*link)->next_active)
		;
	*link = q->next_active;
	q->session = NULL;
}

/* A session that counts no more than it can; NULL if there is none. */
static struct gpc_session *session_exact(struct gpc_context *c, const struct gpc_query *query)
{
	struct gpc_session *s;

	/* what nothing counts on would have its turns, too */
	drop_others(c, NULL);
	s = session_new(c, query);
	if (!s || counts_at_once(c, s))
		return s;
	session_free(s);
	/* others of this context may take turns, and this one need not */
	s = NULL;
	if (c->sessions && !session_open(c, query, true, &s) && !counts_at_once(c, s)) {
		session_free(s);
		s = NULL;
	}
	return s;
}

bool gpc_query_begin(struct gpc_query *query)
{
	struct gpc_context *c = query->context;
	struct gpc_session *s = c->sessions;

	leave_session(query);
	if (c->gone)
		return false;
	gpc.totals_reset(query->totals);
	gpc.totals_reset(query->own);
	if (s && covers_query(s, query)) {
		if (!session_sample(c, s))
			return false;
		if (query->exact && !counts_at_once(c, s))
			s = NULL;
	} else {
		s = NULL;
	}
	if (!s) {
		/* START is its first sample */
		s = query->exact ? session_exact(c, query) : session_new(c, query);
		if (!s)
			return false;
		s->next = c->sessions;
		c->sessions = s;
	}
	query->session = s;
	query->next_active = s->active;
	s->active = query;
	drop_sessions(c);
	return true;
}

/* --- values ---------------------------------------------------------------- */

/* Blocks of a query's samples, one by one and added up. */
struct view {
	const struct perfctr_totals *single;
	struct perfctr_totals *sum;
};

static bool is_gpu(unsigned int block_type)
{
	return block_type < DRM_PERFCTR_BLOCK_GENERIC_PMU;
}

/* Index of the block that the session has for an event of a perf PMU. */
static unsigned int generic_index(const struct gpc_session *s, const struct gpc_counter *counter)
{
	const struct drm_perfctr_block_request *r;

	for (size_t n = 0; (r = gpc.selection_request(s->selection, n)); n++)
		if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && r->pmu_type == counter->pmu_type &&
		    r->config == counter->config && r->config1 == counter->config1 &&
		    r->config2 == counter->config2)
			return r->index;
	return DRM_PERFCTR_INDEX_ALL;
}

static const struct perfctr_totals_block *find_block(const struct perfctr_totals *totals,
						     const struct gpc_counter *counter,
						     unsigned int index)
{
	unsigned int section = counter->metric ? 0 : counter->position / 64;
	const struct perfctr_totals_block *block;

	for (size_t n = 0; (block = gpc.totals_block(totals, n)); n++) {
		const struct perfctr_totals_block_info *info = gpc.totals_block_info(block);

		if (info->type == counter->block_type && info->index == index &&
		    info->section == section)
			return block;
	}
	return NULL;
}

static double count_of(const struct perfctr_totals_block *block, const struct gpc_counter *counter,
		       uint64_t *integer)
{
	const struct perfctr_totals_block_info *info = gpc.totals_block_info(block);
	const struct perfctr_total *total;
	double number;

	*integer = 0;
	for (size_t n = 0; (total = gpc.totals_counter(block, n)); n++)
		if (total->position == counter->position)
			break;
	if (!total || !total->measured)
		return 0;
	*integer = total->sum;
	number = (double)total->sum;
	/* it counted in a part of the time only: extrapolate, as perf does */
	if (info->states & DRM_PERFCTR_STATE_MULTIPLEXED && total->running_ns &&
	    total->running_ns < info->time_enabled) {
		number *= (double)info->time_enabled / (double)total->running_ns;
		*integer = (uint64_t)number;
	}
	return number;
}

static bool has_fraction(const struct gpc_counter *counter)
{
	return counter->unit == GPC_UNIT_NUMBER || counter->unit == GPC_UNIT_PERCENT;
}

static union gpc_value to_value(const struct gpc_counter *counter, double number)
{
	union gpc_value value = { 0 };

	if (!(number > 0))
		return value;
	if (counter->unit == GPC_UNIT_PERCENT && number > 100)
		number = 100;
	if (has_fraction(counter))
		value.number = number;
	else
		value.integer = number < 0x1p64 ? (uint64_t)(number + 0.5) : UINT64_MAX;
	return value;
}

static union gpc_value evaluate(const struct gpc_query *q, const struct gpc_counter *counter,
				const struct view *view)
{
	bool is_sum = counter->block_index == DRM_PERFCTR_INDEX_ALL;
	unsigned int index = counter->block_index;
	const struct perfctr_totals *totals = is_sum ? view->sum : view->single;
	const struct perfctr_totals_block *block;
	union gpc_value value = { 0 };
	double number;

	if (counter->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU && !counter->metric)
		index = generic_index(q->session, counter);
	block = find_block(totals, counter, index);
	if (!block)
		return value;
	if (counter->metric) {
		struct perfctr_value result = { 0 };

		if (gpc.totals_metric(totals, counter->metric, block, &result) ||
		    result.state != PERFCTR_VALUE_OK)
			return value;
		return to_value(counter, result.number);
	}
	number = count_of(block, counter, &value.integer);
	if (counter->scale == 1 && !has_fraction(counter))
		return value;
	return to_value(counter, number * counter->scale);
}

static void compute(struct gpc_query *q)
{
	const struct gpc_catalogue *catalogue = q->context->catalogue;
	struct view all = { q->totals, NULL }, own = { q->own, NULL };

	if (gpc.totals_sum(q->totals, &all.sum) || gpc.totals_sum(q->own, &own.sum)) {
		say_once(q->context, "out of memory");
		goto out;
	}
	for (unsigned int n = 0; n < q->count; n++) {
		const struct gpc_counter *counter = &catalogue->counters[q->counters[n]];
		bool is_own = q->attributed && is_gpu(counter->block_type);

		q->values[n] = evaluate(q, counter, is_own ? &own : &all);
	}
out:
	gpc.totals_unref(all.sum);
	gpc.totals_unref(own.sum);
}

bool gpc_query_end(struct gpc_query *query)
{
	if (!query->session)
		return false;
	memset(query->values, 0, query->count * sizeof(*query->values));
	/* a failure was told; what was counted until then is there */
	session_sample(query->context, query->session);
	compute(query);
	leave_session(query);
	drop_sessions(query->context);
	return true;
}

union gpc_value gpc_query_value(const struct gpc_query *query, unsigned int n)
{
	return query->values[n];
}

void gpc_query_free(struct gpc_query *query)
{
	struct gpc_context *c;
	struct gpc_query **link;

	if (!query)
		return;
	c = query->context;
	leave_session(query);
	for (link = &c->queries; *link != query; link = &(*link)->next)
		;
	*link = query->next;
	drop_sessions(c);
	gpc.totals_unref(query->own);
	gpc.totals_unref(query->totals);
	free(query->counters);
	free(query->values);
	free(query);
}
