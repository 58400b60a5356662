// SPDX-License-Identifier: MIT
/*
 * The hook with a driver that shares its screen, has queries of its own, and uses its context's
 * functions while it destroys the context. Built against Mesa's headers by mesa/tests/groups.
 */
#include "pctr_hook.c"
#include "tap.h"

/* counters of the driver, and ours in one group */
enum { DRIVERS = 2, OURS = 3, DRIVER_TYPE = 256, DRIVER_VALUE = 70, OUR_VALUE = 500 };

/* --- counters of ours ------------------------------------------------------- */

static struct pctr_counter counters[OURS] = {
	{ .name = "A", .full_name = "g.A" },
	{ .name = "B", .full_name = "g.B", .unit = PCTR_UNIT_PERCENT, .is_level = true },
	{ .name = "C", .full_name = "g.C", .unit = PCTR_UNIT_NUMBER, .is_level = true },
};
static struct pctr_group group = { .name = "g", .count = OURS, .monitored = 2, .max_active = 1 };
static struct pctr_catalogue catalogue = { .counters = counters,
					   .groups = &group,
					   .counter_count = OURS,
					   .group_count = 1 };
static int catalogues, contexts, queries;
static unsigned int query_flags;
static bool refuse, fail_end;

struct pctr_query {
	unsigned int counters[8];
};

struct pctr_catalogue *pctr_catalogue_new(const char *wanted, const char *const *screen_drivers,
					  const char **problem)
{
	*problem = NULL;
	catalogues++;
	return &catalogue;
}

void pctr_catalogue_free(struct pctr_catalogue *c)
{
	catalogues -= c != NULL;
}

struct pctr_group pctr_catalogue_group(struct pctr_catalogue *c, unsigned int n)
{
	return c->groups[n];
}

/* C is a metric of several passes */
bool pctr_catalogue_is_monitored(struct pctr_catalogue *c, unsigned int counter)
{
	return counter < group.monitored;
}

struct pctr_context *pctr_context_new(const struct pctr_catalogue *c, pctr_say_fn tell)
{
	contexts++;
	return (struct pctr_context *)&catalogue;
}

void pctr_context_free(struct pctr_context *c)
{
	contexts -= c != NULL;
}

void pctr_context_fail(struct pctr_context *c, const char *what)
{
}

struct pctr_query *pctr_query_new(struct pctr_context *c, const unsigned int *wanted,
				  unsigned int count, unsigned int flags)
{
	struct pctr_query *q = calloc(1, sizeof(*q));

	query_flags = flags;
	memcpy(q->counters, wanted, count * sizeof(*wanted));
	queries++;
	return q;
}

void pctr_query_free(struct pctr_query *q)
{
	queries -= q != NULL;
	free(q);
}

bool pctr_query_begin(struct pctr_query *q)
{
	return !refuse;
}

bool pctr_query_end(struct pctr_query *q)
{
	return !fail_end;
}

/* 500 of the first counter, 50.1 of the second and third one */
union pctr_value pctr_query_value(const struct pctr_query *q, unsigned int n)
{
	if (q->counters[n])
		return (union pctr_value){ .number = 50.1 };
	return (union pctr_value){ .integer = OUR_VALUE };
}

/* --- who waits for ends of frames ---------------------------------------------- */

static bool frames_wanted;
static const void *frames_of, *left;
static int flushes, waits, frames_ended;

bool pctr_frames_wanted(void)
{
	return frames_wanted;
}

bool pctr_frames_listens(const void *context, pctr_frames_say_fn tell)
{
	return !frames_of || frames_of == context;
}

/* the frame was flushed, and the GPU was waited for */
void pctr_frames_end(const void *context)
{
	frames_of = context;
	frames_ended += flushes >= 1 && waits >= 1;
}

void pctr_frames_leave(const void *context)
{
	left = context;
}

bool pctr_vsoc_is_device(const struct pctr_catalogue *c)
{
	return true;
}

struct pctr_vsoc *pctr_vsoc_new(struct pctr_context *c)
{
	return (struct pctr_vsoc *)c;
}

void pctr_vsoc_submit(struct pctr_vsoc *v, const struct pctr_work *work)
{
}

void pctr_vsoc_wait(struct pctr_vsoc *v)
{
	waits++;
}

void pctr_vsoc_free(struct pctr_vsoc *v)
{
}

/* --- the driver -------------------------------------------------------------- */

static int driver_active, driver_queries, screen_destroyed, pools;
static unsigned int driver_types[DRIVERS];

static struct pipe_query *driver_create(struct pipe_context *pipe, unsigned int type,
					unsigned int index)
{
	driver_queries++;
	return calloc(1, 8);
}

static struct pipe_query *driver_create_batch(struct pipe_context *pipe, unsigned int count,
					      unsigned int *types)
{
	memcpy(driver_types, types, count * sizeof(*types));
	return driver_create(pipe, 0, 0);
}

/* Like svga: NULL, on destruction of the context, frees data shared by its queries. */
static void driver_destroy_query(struct pipe_context *pipe, struct pipe_query *query)
{
	if (query)
		driver_queries--;
	else
		pools--;
	free(query);
}

static bool driver_begin(struct pipe_context *pipe, struct pipe_query *query)
{
	driver_active++;
	return true;
}

static bool driver_end(struct pipe_context *pipe, struct pipe_query *query)
{
	driver_active--;
	return true;
}

static bool driver_result(struct pipe_context *pipe, struct pipe_query *query, bool wait,
			  union pipe_query_result *result)
{
	for (int n = 0; n < DRIVERS; n++)
		result->batch[n].u64 = DRIVER_VALUE + n;
	return true;
}

static void driver_active_state(struct pipe_context *pipe, bool enable)
{
}

static void driver_flush(struct pipe_context *pipe, struct pipe_fence_handle **fence,
			 unsigned int flags)
{
	flushes++;
}

static void driver_destroy(struct pipe_context *pipe)
{
	pipe->flush(pipe, NULL, 0);
	pipe->set_active_query_state(pipe, false);
	pipe->destroy_query(pipe, NULL);
	free(pipe);
}

static struct pipe_context *driver_context(struct pipe_screen *screen, void *priv,
					   unsigned int flags)
{
	struct pipe_context *pipe = calloc(1, sizeof(*pipe));

	*pipe = (struct pipe_context){
		.screen = screen,
		.priv = priv,
		.destroy = driver_destroy,
		.create_query = driver_create,
		.create_batch_query = driver_create_batch,
		.destroy_query = driver_destroy_query,
		.begin_query = driver_begin,
		.end_query = driver_end,
		.get_query_result = driver_result,
		.set_active_query_state = driver_active_state,
		.flush = driver_flush,
	};
	pools++;
	return pipe;
}

/* It has no groups, and its queries claim group 0. */
static int driver_query_info(struct pipe_screen *screen, unsigned int index,
			     struct pipe_driver_query_info *info)
{
	if (!info)
		return DRIVERS;
	*info = (struct pipe_driver_query_info){ .name = "driver",
						 .query_type = DRIVER_TYPE + index };
	return 1;
}

static void driver_screen_destroy(struct pipe_screen *screen)
{
	screen_destroyed++;
}

static const char *driver_name(struct pipe_screen *screen)
{
	return "softpipe";
}

#if PCTR_MESA < 25
static int driver_param(struct pipe_screen *screen, enum pipe_cap cap)
{
	return 1;
}
#define CAPABILITIES .get_param = driver_param
#define offers_monitors(screen) true
#else
#define CAPABILITIES .caps.query_pipeline_statistics = true
#define offers_monitors(screen) ((screen)->caps.performance_monitor)
#endif

/* --- tests -------------------------------------------------------------------- */

/* Search like the HUD; 0: there is none. */
static unsigned int type_of_first(struct pipe_screen *screen, const char *name)
{
	unsigned int count = (unsigned int)screen->get_driver_query_info(screen, 0, NULL);
	struct pipe_driver_query_info info;

	for (unsigned int n = 0; n < count; n++)
		if (screen->get_driver_query_info(screen, n, &info) && !strcmp(info.name, name))
			return info.query_type;
	return 0;
}

static void test_list(struct pipe_screen *screen)
{
	struct pipe_driver_query_info info;
	struct pipe_driver_query_group_info group_info;
	unsigned int count = (unsigned int)screen->get_driver_query_info(screen, 0, NULL);
	unsigned int in_group = 0;
	bool ok = count == DRIVERS + 3 * OURS;

	for (unsigned int n = 0; n < count; n++) {
		ok &= screen->get_driver_query_info(screen, n, &info) == 1;
		ok &= n >= DRIVERS || info.query_type == DRIVER_TYPE + n;
		in_group += info.group_id == 0;
	}
	check(ok && !screen->get_driver_query_info(screen, count, &info),
	      "the driver's queries come first, each of ours three times");
	ok = true;
	for (unsigned int n = 0; n < OURS; n++)
		ok &= type_of_first(screen, counters[n].name) ==
			      type_of_first(screen, counters[n].full_name) &&
		      type_of_first(screen, counters[n].name);
	check(ok, "the HUD finds the same query by a name with and without its group");
	check(screen->get_driver_query_group_info(screen, 0, NULL) == 1 &&
		      screen->get_driver_query_group_info(screen, 0, &group_info) == 1 &&
		      in_group == group_info.num_queries,
	      "a query of a driver without groups is in none of ours, nor what no pass has");
	check(group_info.num_queries == group.monitored &&
		      group_info.max_active_queries == group.max_active && offers_monitors(screen),
	      "limits of a group are reported, and that there are monitors");
}

static void test_batch(struct pipe_context *pipe)
{
	unsigned int types[] = { FIRST_MONITOR_TYPE + 1, DRIVER_TYPE + 1,    FIRST_HUD_TYPE,
				 FIRST_HUD_TYPE + 1,	 FIRST_HUD_TYPE + 2, DRIVER_TYPE };
	enum { COUNT = sizeof(types) / sizeof(types[0]) };
	unsigned int bad = FIRST_HUD_TYPE + OURS;
	struct pipe_query *query = pipe->create_batch_query(pipe, COUNT, types);
	/* exactly as large as st/mesa allocates it */
	union pipe_numeric_type_union *batch = calloc(COUNT, sizeof(*batch));
	union pipe_query_result *result = (union pipe_query_result *)batch;

	check(query_flags == (PCTR_QUERY_EXACT | PCTR_QUERY_ATTRIBUTED),
	      "monitors are not multiplexed");
	check(driver_types[0] == DRIVER_TYPE + 1 && driver_types[1] == DRIVER_TYPE,
	      "the driver gets its own counters of a batch");
	check(pipe->begin_query(pipe, query) && pipe->end_query(pipe, query) &&
		      pipe->get_query_result(pipe, query, false, result) && batch[0].f == 50.1f &&
		      batch[1].u64 == DRIVER_VALUE && batch[2].u64 == OUR_VALUE &&
		      batch[3].u64 == 50 && batch[4].u64 == 50100 &&
		      batch[5].u64 == DRIVER_VALUE + 1,
	      "values are at the requested place, in the requested format");
	driver_active = 0;
	refuse = true;
	check(!pipe->begin_query(pipe, query) && !driver_active,
	      "if ours cannot begin, the driver's do not go on");
	refuse = false;
	fail_end = true;
	check(pipe->begin_query(pipe, query) && !pipe->end_query(pipe, query) && !driver_active,
	      "if ours cannot end, the driver's do not go on");
	fail_end = false;
	check(!pipe->create_batch_query(pipe, 1, &bad) && !pipe->create_query(pipe, bad, 0) &&
		      !pipe->begin_query(pipe, NULL) && !pipe->end_query(pipe, NULL) &&
		      !pipe->get_query_result(pipe, NULL, false, result),
	      "what is no query is refused");
	pipe->begin_query(pipe, query);
	pipe->destroy_query(pipe, query);
	free(batch);
}

/* End a frame or only flush. Returns the number of reported frames. */
static int flush(struct pipe_context *pipe, unsigned int flags)
{
	int before = frames_ended;

	flushes = waits = 0;
	pipe->flush(pipe, NULL, flags);
	return frames_ended - before;
}

static void test_frames(struct pipe_screen *screen)
{
	const struct pipe_screen before = *screen;
	struct pipe_context *first, *second;
	const void *hook_of_first;

	frames_wanted = true;
	pctr_screen_hook(screen);
	first = screen->context_create(screen, NULL, 0);
	second = screen->context_create(screen, NULL, 0);
	check(!flush(first, 0) && flush(first, PIPE_FLUSH_END_OF_FRAME) == 1 && flushes && waits,
	      "the end of a frame is reported when its work is done, a flush is none");
	check(!flush(second, PIPE_FLUSH_END_OF_FRAME) && flush(first, PIPE_FLUSH_END_OF_FRAME),
	      "without wanted frames reports none");
	hook_of_first = first->pctr;
	first->destroy(first);
	check(left == hook_of_first, "a context that is destroyed leaves");
	second->destroy(second);
	screen->destroy(screen);
	setenv("GALLIUM_PERFCTR", "0", 1);
	frames_of = NULL;
	pctr_screen_hook(screen);
	first = screen->context_create(screen, NULL, 0);
	waits = 1;
	flushes = 0;
	first->flush(first, NULL, PIPE_FLUSH_END_OF_FRAME);
	check(frames_of == first->pctr && flushes && !catalogues && !contexts &&
		      screen->get_driver_query_info == before.get_driver_query_info,
	      "without counters frames are reported");
	first->destroy(first);
	screen->destroy(screen);
	check(!memcmp(screen, &before, sizeof(before)) && !pools, "and nothing stays");
	frames_wanted = false;
	pctr_screen_hook(screen);
	check(!memcmp(screen, &before, sizeof(before)), "without either nothing is hooked");
}

int main(void)
{
	struct pipe_screen screen = { .destroy = driver_screen_destroy,
				      .context_create = driver_context,
				      .get_driver_query_info = driver_query_info,
				      .get_name = driver_name,
				      CAPABILITIES };
	const struct pipe_screen before = screen;
	struct pipe_context *pipe;

	setenv("GALLIUM_PERFCTR", "1", 1);
	puts("1..19");
	pctr_screen_hook(&screen);
	/* the driver returned the same screen again */
	pctr_screen_hook(&screen);
	test_list(&screen);
	pipe = screen.context_create(&screen, NULL, 0);
	test_batch(pipe);
	pipe->destroy(pipe);
	check(!pools, "the driver's own functions are called while it destroys a context");
	check(!driver_queries && !queries && !contexts, "nothing of a context stays");
	screen.destroy(&screen);
	screen.destroy(&screen);
	check(screen_destroyed == 2 && !catalogues && !memcmp(&screen, &before, sizeof(screen)),
	      "a shared screen is as it was after as many destroys as hooks");
	test_frames(&screen);
	return failed != 0;
}
