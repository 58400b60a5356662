// SPDX-License-Identifier: MIT
/* Sessions of a context: which block is a perf event's, and which queries share one. Built by mesa/tests/groups. */
#include "gpc_context.c"

struct gpc_library gpc;

enum { TYPE = 9, CONFIG = 5, CONFIG1 = 6 };

/* Two requests that differ in one number only, for each of the numbers. */
static const struct drm_perfctr_block_request requests[] = {
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE + 1, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG + 1, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 + 1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1, .config2 = 1 },
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };
static struct drm_perfctr_block_request in_selection[REQUESTS];

static const struct drm_perfctr_block_request *request(const struct perfctr_selection *selection,
						       size_t n)
{
	(void)selection;
	return n < REQUESTS ? &in_selection[n] : NULL;
}

static bool blocks_of_perf_events(void)
{
	struct gpc_session session = { 0 };
	int wrong = 0;

	gpc.selection_request = request;
	for (unsigned int n = 0; n < REQUESTS; n++) {
		in_selection[n] = requests[n];
		in_selection[n].type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
		in_selection[n].index = (uint16_t)n;
	}
	for (unsigned int n = 0; n < REQUESTS; n++) {
		struct gpc_counter counter = { .pmu_type = requests[n].pmu_type,
					       .config = requests[n].config,
					       .config1 = requests[n].config1,
					       .config2 = requests[n].config2 };

		wrong += generic_index(&session, &counter) != n;
	}
	return !wrong;
}

/* --- a library that has sessions for all but one event ----------------------- */

#define BAD "bad"

static bool bad_selected;
static int sessions, tries, complaints;

static int selection_new(struct perfctr_device *device, struct perfctr_selection **selection)
{
	(void)device;
	*selection = (struct perfctr_selection *)&bad_selected;
	bad_selected = false;
	return 0;
}

static int selection_add(struct perfctr_selection *selection, const char *event)
{
	(void)selection;
	bad_selected |= !strcmp(event, BAD);
	return 1;
}

static struct perfctr_selection *selection_unref(struct perfctr_selection *selection)
{
	(void)selection;
	return NULL;
}

static int session_create(struct perfctr_selection *selection,
			  const struct perfctr_session_opts *opts, struct perfctr_session **session)
{
	(void)selection;
	(void)opts;
	tries++;
	if (bad_selected)
		return -EACCES;
	sessions++;
	*session = (struct perfctr_session *)&sessions;
	return 0;
}

static struct perfctr_session *session_unref(struct perfctr_session *session)
{
	sessions -= session != NULL;
	return NULL;
}

static int session_start(struct perfctr_session *session, uint64_t user_data)
{
	(void)session;
	(void)user_data;
	return 0;
}

static int cursor_new(struct perfctr_session *session, struct perfctr_cursor **cursor)
{
	(void)session;
	*cursor = NULL;
	return 0;
}

static struct perfctr_cursor *cursor_unref(struct perfctr_cursor *cursor)
{
	(void)cursor;
	return NULL;
}

static void totals_reset(struct perfctr_totals *totals)
{
	(void)totals;
}

static const char *ctx_error(const struct perfctr_ctx *ctx)
{
	(void)ctx;
	return "not permitted";
}

static void say(const char *what)
{
	(void)what;
	complaints++;
}

static bool bad_query_fails_alone(void)
{
	struct gpc_counter counters[] = { { .event = "good" }, { .event = BAD } };
	struct gpc_catalogue catalogue = { .counters = counters, .counter_count = 2 };
	struct gpc_context context = { .catalogue = &catalogue, .say = say, .words = 1 };
	unsigned int which[] = { 0, 1 };
	struct gpc_query bad = { .context = &context, .counters = &which[1], .count = 1 };
	struct gpc_query good = {
		.context = &context, .counters = &which[0], .count = 1, .next = &bad
	};
	bool ok;

	gpc.selection_new = selection_new;
	gpc.selection_add = selection_add;
	gpc.selection_unref = selection_unref;
	gpc.session_new = session_create;
	gpc.session_unref = session_unref;
	gpc.session_start = session_start;
	gpc.cursor_new = cursor_new;
	gpc.cursor_unref = cursor_unref;
	gpc.totals_reset = totals_reset;
	gpc.ctx_error = ctx_error;

	context.queries = &good;
	ok = !gpc_query_begin(&bad) && !sessions && complaints == 1;
	/* with the other first, then alone */
	tries = 0;
	ok = ok && gpc_query_begin(&good) && tries == 2 && sessions == 1 && complaints == 1;
	leave_session(&good);
	context.queries = NULL;
	drop_sessions(&context);
	return ok && !sessions;
}

/* --- a library whose hardware counts one event at a time ----------------------- */

#define ROOM 1

static unsigned int selected, samples_left;

static int select_one(struct perfctr_selection *selection, const char *event)
{
	(void)selection;
	(void)event;
	selected++;
	return 1;
}

static int select_nothing(struct perfctr_device *device, struct perfctr_selection **selection)
{
	selected = 0;
	return selection_new(device, selection);
}

static int take_sample(struct perfctr_session *session, uint64_t user_data)
{
	(void)session;
	(void)user_data;
	samples_left = 1;
	return 0;
}

static int next_sample(struct perfctr_cursor *cursor, struct perfctr_sample *sample)
{
	(void)cursor;
	(void)sample;
	return samples_left ? (int)samples_left-- : 0;
}

static int advance(struct perfctr_cursor *cursor, size_t count)
{
	(void)cursor;
	(void)count;
	return 0;
}

static bool block_told;

static void rewind_sample(struct perfctr_sample *sample)
{
	(void)sample;
	block_told = false;
}

static int next_block(struct perfctr_sample *sample, struct perfctr_block *block)
{
	(void)sample;
	if (block_told)
		return 0;
	block_told = true;
	*block = (struct perfctr_block){ .type = DRM_PERFCTR_BLOCK_PCOUNTER };
	return 1;
}

static bool read_times(const struct perfctr_block *block, uint64_t *enabled_ns,
		       uint64_t *running_ns)
{
	(void)block;
	*enabled_ns = 100;
	/* a second session has the other counter */
	*running_ns = selected > ROOM || sessions > 1 ? 50 : 100;
	return true;
}

static int add_nothing(struct perfctr_totals *totals, struct perfctr_sample *sample)
{
	(void)totals;
	(void)sample;
	return 0;
}

/* Two counters of PCOUNTER that do not fit together. */
static bool turns_are_refused(void)
{
	struct gpc_counter counters[] = {
		{ .event = "a", .block_type = DRM_PERFCTR_BLOCK_PCOUNTER },
		{ .event = "b", .block_type = DRM_PERFCTR_BLOCK_PCOUNTER },
	};
	struct gpc_catalogue catalogue = { .counters = counters, .counter_count = 2 };
	struct gpc_context context = { .catalogue = &catalogue, .say = say, .words = 1 };
	unsigned int which[] = { 0, 1 };
	struct gpc_query first = {
		.context = &context, .counters = &which[0], .count = 1, .exact = true
	};
	struct gpc_query second = first, both = first;
	bool ok;

	gpc.selection_new = select_nothing;
	gpc.selection_add = select_one;
	gpc.session_sample = take_sample;
	gpc.cursor_next = next_sample;
	gpc.cursor_advance = advance;
	gpc.decode_rewind = rewind_sample;
	gpc.decode_block = next_block;
	gpc.block_read_times = read_times;
	gpc.totals_add = add_nothing;
	complaints = 0;
	second.counters = &which[1];
	second.next = &first;
	both.count = 2;
	both.next = &second;
	context.queries = &both;

	/* the others are not active: their counters have no turn */
	ok = gpc_query_begin(&first) && sessions == 1;
	leave_session(&first);
	ok = ok && gpc_query_begin(&second) && sessions == 1 && selected == 1;
	leave_session(&second);
	ok = ok && !gpc_query_begin(&both) && !sessions && !complaints;
	/* for the HUD they do, and what is exact has to wait */
	both.exact = false;
	ok = ok && gpc_query_begin(&both) && sessions == 1 && !gpc_query_begin(&first);
	leave_session(&both);
	ok = ok && gpc_query_begin(&first) && sessions == 1;
	leave_session(&first);
	context.queries = NULL;
	drop_sessions(&context);
	return ok && !sessions;
}

static int number, failed;

static void check(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++number, name);
	failed += !ok;
}

int main(void)
{
	puts("1..3");
	check(blocks_of_perf_events(), "perf events are told apart by all that makes them");
	check(bad_query_fails_alone(),
	      "a query that cannot be had does not keep the others from counting");
	check(turns_are_refused(),
	      "what would take turns does not begin; what is not active has none");
	return failed != 0;
}
