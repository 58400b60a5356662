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

static int number, failed;

static void check(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++number, name);
	failed += !ok;
}

int main(void)
{
	puts("1..2");
	check(blocks_of_perf_events(), "perf events are told apart by all that makes them");
	check(bad_query_fails_alone(),
	      "a query that cannot be had does not keep the others from counting");
	return failed != 0;
}
