// SPDX-License-Identifier: MIT
/* Replaces functions of each screen and context, and forwards to those of the driver. */
#include "pctr_hook.h"

#include "pctr_catalogue.h"
#include "pctr_context.h"
#include "pctr_frames.h"
#include "pctr_software.h"
#include "pctr_worker.h"

#include "pipe/p_context.h"
#include "pipe/p_defines.h"
#include "pipe/p_screen.h"
#include "util/log.h"
#include "util/u_debug.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Our query types begin far above those of drivers: 256 and a few hundred. */
#define FIRST_HUD_TYPE 0x50430000u
#define FIRST_MONITOR_TYPE 0x50440000u
#define LAST_TYPE 0x5044ffffu
#define NO_GROUP (~0u)
/* a GPU that does nothing for this long hangs */
#define FLUSH_TIMEOUT_NS 10000000000ull

/* The screen's original functions, and its counters. Stored in pipe_screen::pctr. */
struct pctr_screen {
	void (*destroy)(struct pipe_screen *screen);
	struct pipe_context *(*context_create)(struct pipe_screen *screen, void *priv,
					       unsigned flags);
	int (*get_driver_query_info)(struct pipe_screen *screen, unsigned index,
				     struct pipe_driver_query_info *info);
	int (*get_driver_query_group_info)(struct pipe_screen *screen, unsigned index,
					   struct pipe_driver_query_group_info *info);
	/* NULL without counters: the reason was reported, or the user disabled them */
	struct pctr_catalogue *catalogue;
	unsigned references;
	bool gives_work; /* rendering becomes jobs of the virtual GPU */
	/* report ends of frames to a tool */
	bool reports_frames;
	bool driver_has_monitors;
};

/* The context's original functions, and its counters. Stored in pipe_context::pctr. */
struct pctr_hook {
	const struct pctr_screen *screen;
	struct pctr_context *context;
	bool context_failed;

	/* Rendering that becomes jobs of the virtual GPU. */
	struct pctr_worker *worker;
	struct pctr_work work;
	struct pipe_query *statistics;
	bool statistics_active;

	/* counters of frames; NULL: none */
	struct pctr_software *software;
	/* drivers divide a draw and call draw_vbo again */
	unsigned draw_depth;
	void (*draw_vbo)(struct pipe_context *pipe, const struct pipe_draw_info *info,
			 unsigned drawid_offset, const struct pipe_draw_indirect_info *indirect,
			 const struct pipe_draw_start_count_bias *draws, unsigned num_draws);
	struct pctr_functions driver;
	void (*set_active_query_state)(struct pipe_context *pipe, bool enable);
	void (*flush)(struct pipe_context *pipe, struct pipe_fence_handle **fence, unsigned flags);
};

/* A batch query: our counters, and perhaps some of the driver. */
struct hooked_query {
	struct pctr_query *ours;
	struct pipe_query *drivers;
	union pipe_query_result *driver_result;
	unsigned count;
	/* whether a counter of ours is for a monitor: then Begin and End wait for rendering */
	bool for_monitor;
	struct {
		enum { OF_DRIVER, FOR_HUD, FOR_MONITOR } kind;
		/* position in our query or in the driver's */
		unsigned position;
		enum pctr_unit unit;
	} counters[];
};

/* screens are created and destroyed in any thread, and drivers share them */
static pthread_mutex_t screens_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text)
{
	mesa_logw("perfctr: %s", text);
}

/* --- queries --------------------------------------------------------------- */

/* Drivers' queries are aligned pointers: an odd one is ours and never reaches a driver. */
static struct pipe_query *to_pipe_query(struct hooked_query *query)
{
	return (struct pipe_query *)((uintptr_t)query | 1);
}

static struct hooked_query *to_hooked_query(struct pipe_query *query)
{
	return (uintptr_t)query & 1 ? (struct hooked_query *)((uintptr_t)query & ~(uintptr_t)1) :
				      NULL;
}

static bool is_type_of_ours(unsigned type)
{
	return type >= FIRST_HUD_TYPE && type <= LAST_TYPE;
}

static struct pctr_context *counting_context(struct pctr_hook *hook)
{
	if (!hook->context && !hook->context_failed && hook->screen->catalogue) {
		hook->context = pctr_context_new(hook->screen->catalogue, say);
		hook->context_failed = !hook->context;
	}
	return hook->context;
}

static struct pipe_query *hooked_create_query(struct pipe_context *pipe, unsigned type,
					      unsigned index)
{
	struct pctr_hook *hook = pipe->pctr;

	/* ours have PIPE_DRIVER_QUERY_FLAG_BATCH: only create_batch_query takes them */
	if (is_type_of_ours(type))
		return NULL;
	return hook->driver.create_query(pipe, type, index);
}

static void free_hooked_query(struct pipe_context *pipe, struct hooked_query *query)
{
	struct pctr_hook *hook = pipe->pctr;

	pctr_query_free(query->ours);
	if (query->drivers)
		hook->driver.destroy_query(pipe, query->drivers);
	free(query->driver_result);
	free(query);
}

/* Split @types; returns the number of our types, or -1 for a type that does not exist. */
static int divide(const struct pctr_catalogue *catalogue, struct hooked_query *query,
		  const unsigned *types, unsigned *ours, unsigned *drivers)
{
	unsigned our_count = 0, driver_count = 0;

	for (unsigned n = 0; n < query->count; n++) {
		bool for_hud = types[n] < FIRST_MONITOR_TYPE;
		unsigned counter = types[n] - (for_hud ? FIRST_HUD_TYPE : FIRST_MONITOR_TYPE);

		if (!is_type_of_ours(types[n])) {
			query->counters[n].kind = OF_DRIVER;
			query->counters[n].position = driver_count;
			drivers[driver_count++] = types[n];
			continue;
		}
		if (counter >= catalogue->counter_count)
			return -1;
		query->counters[n].kind = for_hud ? FOR_HUD : FOR_MONITOR;
		query->counters[n].position = our_count;
		query->counters[n].unit = catalogue->counters[counter].unit;
		query->for_monitor |= !for_hud;
		ours[our_count++] = counter;
	}
	return (int)our_count;
}

static bool fill_batch_query(struct pipe_context *pipe, struct hooked_query *query,
			     const unsigned *types, unsigned *ours, unsigned *drivers)
{
	struct pctr_hook *hook = pipe->pctr;
	struct pctr_context *context = counting_context(hook);
	unsigned driver_count, flags = PCTR_QUERY_FRAME;
	int our_count;

	if (!context)
		return false;
	our_count = divide(hook->screen->catalogue, query, types, ours, drivers);
	if (our_count < 0)
		return false;
	driver_count = query->count - (unsigned)our_count;
	/* only a job can take samples between commands */
	if (query->for_monitor)
		flags = PCTR_QUERY_EXACT | (hook->worker ? PCTR_QUERY_ATTRIBUTED : 0);
	query->ours = pctr_query_new(context, ours, (unsigned)our_count, flags);
	if (!query->ours)
		return false;
	if (!driver_count)
		return true;
	/* a driver may clear the whole union */
	query->driver_result =
		calloc(1, sizeof(*query->driver_result) +
				  driver_count * sizeof(query->driver_result->batch[0]));
	if (!query->driver_result || !hook->driver.create_batch_query)
		return false;
	query->drivers = hook->driver.create_batch_query(pipe, driver_count, drivers);
	return query->drivers != NULL;
}

static struct pipe_query *hooked_create_batch_query(struct pipe_context *pipe, unsigned count,
						    unsigned *types)
{
	struct pctr_hook *hook = pipe->pctr;
	struct hooked_query *query;
	unsigned *ours, *drivers, n = 0;
	bool ok;

	while (n < count && !is_type_of_ours(types[n]))
		n++;
	if (n == count)
		return hook->driver.create_batch_query ?
			       hook->driver.create_batch_query(pipe, count, types) :
			       NULL;
	query = calloc(1, sizeof(*query) + count * sizeof(query->counters[0]));
	ours = calloc(count, sizeof(*ours));
	drivers = calloc(count, sizeof(*drivers));
	ok = query && ours && drivers;
	if (ok) {
		query->count = count;
		ok = fill_batch_query(pipe, query, types, ours, drivers);
	}
	free(drivers);
	free(ours);
	if (ok)
		return to_pipe_query(query);
	if (query)
		free_hooked_query(pipe, query);
	return NULL;
}

static void hooked_destroy_query(struct pipe_context *pipe, struct pipe_query *query)
{
	struct pctr_hook *hook = pipe->pctr;
	struct hooked_query *hooked = to_hooked_query(query);

	if (hooked)
		free_hooked_query(pipe, hooked);
	else if (query)
		hook->driver.destroy_query(pipe, query);
}

static void fail(struct pctr_hook *hook, const char *what)
{
	if (hook->context)
		pctr_context_fail(hook->context, what);
	else
		say(what);
}

/* On return all earlier draws are counted. */
static void finish_rendering(struct pipe_context *pipe)
{
	struct pctr_hook *hook = pipe->pctr;
	struct pipe_screen *screen = pipe->screen;
	struct pipe_fence_handle *fence = NULL;

	pipe->flush(pipe, &fence, 0);
	if (fence) {
		if (!screen->fence_finish(screen, pipe, fence, FLUSH_TIMEOUT_NS))
			fail(hook,
			     "rendering is not done after 10 s: its end is not in the values");
		screen->fence_reference(screen, &fence, NULL);
	}
	if (hook->worker)
		pctr_worker_ops->wait(hook->worker);
}

static bool hooked_begin_query(struct pipe_context *pipe, struct pipe_query *query)
{
	struct pctr_hook *hook = pipe->pctr;
	struct hooked_query *hooked = to_hooked_query(query);

	if (!hooked)
		return query && hook->driver.begin_query(pipe, query);
	if (hooked->drivers && !hook->driver.begin_query(pipe, hooked->drivers))
		return false;
	if (hooked->for_monitor)
		finish_rendering(pipe);
	if (pctr_query_begin(hooked->ours))
		return true;
	if (hooked->drivers)
		hook->driver.end_query(pipe, hooked->drivers);
	return false;
}

static bool hooked_end_query(struct pipe_context *pipe, struct pipe_query *query)
{
	struct pctr_hook *hook = pipe->pctr;
	struct hooked_query *hooked = to_hooked_query(query);
	bool ok;

	if (!hooked)
		return query && hook->driver.end_query(pipe, query);
	if (hooked->for_monitor)
		finish_rendering(pipe);
	ok = pctr_query_end(hooked->ours);
	/* end the driver's query even if ours failed */
	if (hooked->drivers && !hook->driver.end_query(pipe, hooked->drivers))
		ok = false;
	return ok;
}

/* 64 bits for every unit: a reader may read more bits than the unit needs. */
static union pipe_numeric_type_union format(union pctr_value value, enum pctr_unit unit,
					    bool for_hud)
{
	union pipe_numeric_type_union result = { .u64 = 0 };

	if (unit != PCTR_UNIT_NUMBER && unit != PCTR_UNIT_PERCENT)
		result.u64 = value.integer;
	else if (!for_hud)
		result.f = (float)value.number;
	else if (unit == PCTR_UNIT_NUMBER)
		/* the HUD divides numbers of a batch by 1000 */
		result.u64 = (uint64_t)(value.number * 1000 + 0.5);
	else
		result.u64 = (uint64_t)(value.number + 0.5);
	return result;
}

static bool hooked_get_query_result(struct pipe_context *pipe, struct pipe_query *query, bool wait,
				    union pipe_query_result *result)
{
	struct pctr_hook *hook = pipe->pctr;
	struct hooked_query *hooked = to_hooked_query(query);

	if (!hooked)
		return query && hook->driver.get_query_result(pipe, query, wait, result);
	if (hooked->drivers &&
	    !hook->driver.get_query_result(pipe, hooked->drivers, wait, hooked->driver_result))
		return false;
	/* the result has exactly these numbers, not whole unions */
	for (unsigned n = 0; n < hooked->count; n++) {
		unsigned position = hooked->counters[n].position;

		if (hooked->counters[n].kind == OF_DRIVER)
			result->batch[n] = hooked->driver_result->batch[position];
		else
			result->batch[n] = format(pctr_query_value(hooked->ours, position),
						  hooked->counters[n].unit,
						  hooked->counters[n].kind == FOR_HUD);
	}
	return true;
}

/* --- rendering that becomes jobs of the virtual GPU ------------------------- */

static void begin_statistics(struct pipe_context *pipe)
{
	struct pctr_hook *hook = pipe->pctr;

	if (!hook->statistics_active)
		hook->statistics_active = hook->driver.begin_query(pipe, hook->statistics);
}

static void end_statistics(struct pipe_context *pipe)
{
	struct pctr_hook *hook = pipe->pctr;
	union pipe_query_result result = { 0 };

	if (!hook->statistics_active)
		return;
	hook->statistics_active = false;
	hook->driver.end_query(pipe, hook->statistics);
	if (!hook->driver.get_query_result(pipe, hook->statistics, true, &result))
		return;
	hook->work.vertices += result.pipeline_statistics.vs_invocations;
	hook->work.primitives += result.pipeline_statistics.c_invocations;
	hook->work.fragments += result.pipeline_statistics.ps_invocations;
	hook->work.threads += result.pipeline_statistics.cs_invocations;
}

static void submit_work(struct pctr_hook *hook)
{
	pctr_worker_ops->submit(hook->worker, &hook->work);
	memset(&hook->work, 0, sizeof(hook->work));
}

static void flush_work(struct pipe_context *pipe, unsigned flags)
{
	struct pctr_hook *hook = pipe->pctr;
	bool active = hook->statistics_active;

	end_statistics(pipe);
	submit_work(hook);
	/* glFinish() waits for the GPU, so wait for the jobs too */
	if (flags & PIPE_FLUSH_HINT_FINISH)
		pctr_worker_ops->wait(hook->worker);
	if (active)
		begin_statistics(pipe);
}

static void hooked_draw_vbo(struct pipe_context *pipe, const struct pipe_draw_info *info,
			    unsigned drawid_offset, const struct pipe_draw_indirect_info *indirect,
			    const struct pipe_draw_start_count_bias *draws, unsigned num_draws)
{
	struct pctr_hook *hook = pipe->pctr;

	if (!hook->draw_depth++)
		pctr_software_draw(hook->software, indirect ? 1 : num_draws);
	hook->draw_vbo(pipe, info, drawid_offset, indirect, draws, num_draws);
	hook->draw_depth--;
}

static void hooked_flush(struct pipe_context *pipe, struct pipe_fence_handle **fence,
			 unsigned flags)
{
	struct pctr_hook *hook = pipe->pctr;

	hook->flush(pipe, fence, flags);
	if (hook->worker)
		flush_work(pipe, flags);
	if (!(flags & PIPE_FLUSH_END_OF_FRAME) || !hook->screen->reports_frames ||
	    !pctr_frames_listens(hook, say))
		return;
	finish_rendering(pipe);
	/* some drivers replace the function when states change */
	pctr_frames_end(hook, hook->software ?
				      pctr_software_end(hook->software,
							pipe->draw_vbo == hooked_draw_vbo) :
				      "");
	if (hook->software)
		pctr_software_begin(hook->software);
}

/* Drawing of the HUD and of the driver itself is not the program's work. */
static void hooked_set_active_query_state(struct pipe_context *pipe, bool enable)
{
	struct pctr_hook *hook = pipe->pctr;

	if (!enable)
		end_statistics(pipe);
	hook->set_active_query_state(pipe, enable);
	if (enable)
		begin_statistics(pipe);
}

static void begin_work(struct pipe_context *pipe)
{
	struct pctr_hook *hook = pipe->pctr;

	if (!counting_context(hook))
		return;
	hook->statistics = hook->driver.create_query(pipe, PIPE_QUERY_PIPELINE_STATISTICS, 0);
	if (!hook->statistics)
		return;
	hook->worker = pctr_worker_ops->begin(hook->context);
	if (!hook->worker)
		return;
	hook->set_active_query_state = pipe->set_active_query_state;
	pipe->set_active_query_state = hooked_set_active_query_state;
	begin_statistics(pipe);
}

/* --- capabilities ---------------------------------------------------------- */

/* Capabilities are a function up to Mesa 24; from 25 on, where the patch defines this, a struct. */
#if PCTR_MESA < 25
static bool has_statistics(struct pipe_screen *screen)
{
	return screen->get_param(screen, PIPE_CAP_QUERY_PIPELINE_STATISTICS);
}

/* the state tracker asks for groups itself */
static bool offer_monitors(struct pipe_screen *screen, bool offered)
{
	return false;
}
#else
static bool has_statistics(struct pipe_screen *screen)
{
	return screen->caps.query_pipeline_statistics;
}

/* The driver filled the struct before this hook ran. Return: the driver's value. */
static bool offer_monitors(struct pipe_screen *screen, bool offered)
{
	struct pipe_caps *caps = (struct pipe_caps *)&screen->caps;
	bool before = caps->performance_monitor;

	caps->performance_monitor = offered;
	return before;
}
#endif

/* --- contexts -------------------------------------------------------------- */

static struct pctr_functions functions_of(const struct pipe_context *pipe)
{
	return (struct pctr_functions){
		.destroy = pipe->destroy,
		.create_query = pipe->create_query,
		.create_batch_query = pipe->create_batch_query,
		.destroy_query = pipe->destroy_query,
		.begin_query = pipe->begin_query,
		.end_query = pipe->end_query,
		.get_query_result = pipe->get_query_result,
	};
}

static void set_functions(struct pipe_context *pipe, const struct pctr_functions *f)
{
	pipe->destroy = f->destroy;
	pipe->create_query = f->create_query;
	pipe->create_batch_query = f->create_batch_query;
	pipe->destroy_query = f->destroy_query;
	pipe->begin_query = f->begin_query;
	pipe->end_query = f->end_query;
	pipe->get_query_result = f->get_query_result;
}

/* A driver may use any of these functions while it destroys the context. */
static void restore(struct pipe_context *pipe, const struct pctr_hook *hook)
{
	pipe->pctr = NULL;
	set_functions(pipe, &hook->driver);
	if (hook->flush)
		pipe->flush = hook->flush;
	if (hook->draw_vbo && pipe->draw_vbo == hooked_draw_vbo)
		pipe->draw_vbo = hook->draw_vbo;
	if (hook->worker)
		pipe->set_active_query_state = hook->set_active_query_state;
}

static void hooked_context_destroy(struct pipe_context *pipe)
{
	struct pctr_hook *hook = pipe->pctr;

	if (hook->statistics) {
		if (hook->worker) {
			end_statistics(pipe);
			submit_work(hook);
			/* the kernel cancels unfinished work when the device is closed */
			pctr_worker_ops->wait(hook->worker);
		}
		hook->driver.destroy_query(pipe, hook->statistics);
	}
	pctr_frames_leave(hook);
	pctr_software_free(hook->software);
	if (hook->worker)
		pctr_worker_ops->end(hook->worker);
	pctr_context_free(hook->context);
	restore(pipe, hook);
	free(hook);
	pipe->destroy(pipe);
}

static const struct pctr_functions hooked_functions = {
	.destroy = hooked_context_destroy,
	.create_query = hooked_create_query,
	.create_batch_query = hooked_create_batch_query,
	.destroy_query = hooked_destroy_query,
	.begin_query = hooked_begin_query,
	.end_query = hooked_end_query,
	.get_query_result = hooked_get_query_result,
};

static struct pipe_context *hooked_context_create(struct pipe_screen *screen, void *priv,
						  unsigned flags)
{
	const struct pctr_screen *s = screen->pctr;
	struct pipe_context *pipe = s->context_create(screen, priv, flags);
	struct pctr_hook *hook;

	if (!pipe || !pipe->create_query)
		return pipe;
	hook = calloc(1, sizeof(*hook));
	if (!hook)
		return pipe;
	hook->screen = s;
	pipe->pctr = hook;
	hook->driver = functions_of(pipe);
	set_functions(pipe, &hooked_functions);
	if (s->gives_work)
		begin_work(pipe);
	if (s->reports_frames)
		hook->software = pctr_software_new(pipe, &hook->driver, s->get_driver_query_info,
						   has_statistics(screen));
	if (hook->software) {
		hook->draw_vbo = pipe->draw_vbo;
		pipe->draw_vbo = hooked_draw_vbo;
	}
	if (hook->worker || s->reports_frames) {
		hook->flush = pipe->flush;
		pipe->flush = hooked_flush;
	}
	return pipe;
}

/* --- screens --------------------------------------------------------------- */

static const enum pipe_driver_query_type pipe_types[] = {
	[PCTR_UNIT_COUNT] = PIPE_DRIVER_QUERY_TYPE_UINT64,
	[PCTR_UNIT_BYTES] = PIPE_DRIVER_QUERY_TYPE_BYTES,
	[PCTR_UNIT_MICROSECONDS] = PIPE_DRIVER_QUERY_TYPE_MICROSECONDS,
	[PCTR_UNIT_HZ] = PIPE_DRIVER_QUERY_TYPE_HZ,
	[PCTR_UNIT_NUMBER] = PIPE_DRIVER_QUERY_TYPE_FLOAT,
	[PCTR_UNIT_PERCENT] = PIPE_DRIVER_QUERY_TYPE_PERCENTAGE,
};

static unsigned driver_groups(const struct pctr_screen *s, struct pipe_screen *screen)
{
	return s->get_driver_query_group_info ?
		       (unsigned)s->get_driver_query_group_info(screen, 0, NULL) :
		       0;
}

/*
 * The HUD takes the first query of a name, listed or not, so it must not find GL's queries by a
 * name without group.
 */
enum { FOR_HUD_IN_FULL, FOR_HUD_IN_SHORT, FOR_GL, LISTINGS };

static int hooked_driver_query_info(struct pipe_screen *screen, unsigned index,
				    struct pipe_driver_query_info *info)
{
	const struct pctr_screen *s = screen->pctr;
	struct pctr_catalogue *c = s->catalogue;
	unsigned drivers =
		s->get_driver_query_info ? (unsigned)s->get_driver_query_info(screen, 0, NULL) : 0;
	const struct pctr_counter *counter;
	unsigned listing;
	bool for_hud;

	if (!info)
		return (int)(drivers + LISTINGS * c->counter_count);
	if (index < drivers) {
		int result = s->get_driver_query_info(screen, index, info);

		/* some drivers have no groups and use 0, which is now one of our groups */
		if (result && info->group_id >= driver_groups(s, screen))
			info->group_id = NO_GROUP;
		return result;
	}
	index -= drivers;
	if (index >= LISTINGS * c->counter_count)
		return 0;
	listing = index / c->counter_count;
	index %= c->counter_count;
	for_hud = listing != FOR_GL;
	counter = &c->counters[index];
	memset(info, 0, sizeof(*info));
	info->name = listing == FOR_HUD_IN_FULL ? counter->full_name : counter->name;
	info->query_type = (for_hud ? FIRST_HUD_TYPE : FIRST_MONITOR_TYPE) + index;
	info->type = pipe_types[counter->unit];
	/* the HUD reads percentages as integers */
	if (for_hud && counter->unit == PCTR_UNIT_PERCENT)
		info->max_value.u64 = 100;
	info->result_type = counter->is_level ? PIPE_DRIVER_QUERY_RESULT_TYPE_AVERAGE :
						PIPE_DRIVER_QUERY_RESULT_TYPE_CUMULATIVE;
	info->group_id = NO_GROUP;
	if (!for_hud && pctr_catalogue_is_monitored(c, index))
		info->group_id = driver_groups(s, screen) + counter->group;
	info->flags = PIPE_DRIVER_QUERY_FLAG_BATCH;
	if (listing != FOR_HUD_IN_FULL)
		info->flags |= PIPE_DRIVER_QUERY_FLAG_DONT_LIST;
	return 1;
}

static int hooked_driver_query_group_info(struct pipe_screen *screen, unsigned index,
					  struct pipe_driver_query_group_info *info)
{
	const struct pctr_screen *s = screen->pctr;
	struct pctr_catalogue *c = s->catalogue;
	unsigned drivers = driver_groups(s, screen);
	struct pctr_group group;

	if (!info)
		return (int)(drivers + c->group_count);
	if (index < drivers)
		return s->get_driver_query_group_info(screen, index, info);
	index -= drivers;
	if (index >= c->group_count)
		return 0;
	group = pctr_catalogue_group(c, index);
	info->name = group.name;
	info->num_queries = group.monitored;
	info->max_active_queries = group.max_active;
	return 1;
}

static void hooked_screen_destroy(struct pipe_screen *screen)
{
	struct pctr_screen *s = screen->pctr;
	void (*destroy)(struct pipe_screen * screen) = s->destroy;

	pthread_mutex_lock(&screens_lock);
	if (!--s->references) {
		/* a shared screen may continue to exist */
		screen->destroy = destroy;
		screen->context_create = s->context_create;
		screen->get_driver_query_info = s->get_driver_query_info;
		screen->get_driver_query_group_info = s->get_driver_query_group_info;
		screen->pctr = NULL;
		if (s->catalogue)
			offer_monitors(screen, s->driver_has_monitors);
		pctr_catalogue_free(s->catalogue);
		free(s);
	}
	pthread_mutex_unlock(&screens_lock);
	destroy(screen);
}

/* Kernel drivers that the GPU of a screen can have, guessed from the screen's name. */
static const char *const *kernel_drivers(const char *name)
{
	static const struct {
		const char *part;
		const char *drivers[4];
	} known[] = {
		{ .part = "Panfrost", .drivers = { "panfrost", "panthor" } },
		{ .part = "Mali4", .drivers = { "lima" } },
		{ .part = "V3D", .drivers = { "v3d" } },
		{ .part = "VC4", .drivers = { "vc4", "v3d" } },
		{ .part = "Vivante", .drivers = { "etnaviv" } },
		{ .part = "FD", .drivers = { "msm" } },
		{ .part = "Adreno", .drivers = { "msm" } },
		{ .part = "NV", .drivers = { "nouveau", "nova-drm" } },
		{ .part = "AMD", .drivers = { "amdgpu", "radeon" } },
		{ .part = "Intel", .drivers = { "i915", "xe" } },
	};
	static const char *const none[] = { NULL };

	for (unsigned n = 0; n < sizeof(known) / sizeof(known[0]); n++)
		if (strstr(name, known[n].part))
			return known[n].drivers;
	return none;
}

static bool gives_work(struct pipe_screen *screen, const struct pctr_catalogue *catalogue)
{
	const char *name = screen->get_name(screen);

	return catalogue && (!strncmp(name, "softpipe", 8) || !strncmp(name, "llvmpipe", 8)) &&
	       pctr_worker_ops && !strcmp(catalogue->driver, pctr_worker_ops->driver) &&
	       has_statistics(screen) && debug_get_bool_option("GALLIUM_PERFCTR_JOBS", true);
}

/* The variable's value: "1" or a device; NULL: no counters. */
static const char *counters_wanted(void)
{
	const char *wanted = debug_get_option("GALLIUM_PERFCTR", NULL);

	return wanted && *wanted && strcmp(wanted, "0") ? wanted : NULL;
}

static struct pctr_catalogue *catalogue_of(struct pipe_screen *screen, const char *wanted)
{
	const char *device = strcmp(wanted, "1") ? wanted : NULL;
	struct pctr_catalogue *catalogue;
	const char *problem;

	catalogue = pctr_catalogue_new(device, kernel_drivers(screen->get_name(screen)), &problem);
	if (!catalogue)
		mesa_logw("perfctr: no counters: %s", problem);
	return catalogue;
}

static void hook(struct pipe_screen *screen, const char *wanted)
{
	struct pctr_screen *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->catalogue = wanted ? catalogue_of(screen, wanted) : NULL;
	s->reports_frames = pctr_frames_wanted();
	if (!s->catalogue && !s->reports_frames) {
		free(s);
		return;
	}
	s->references = 1;
	s->gives_work = gives_work(screen, s->catalogue);
	s->destroy = screen->destroy;
	s->context_create = screen->context_create;
	s->get_driver_query_info = screen->get_driver_query_info;
	s->get_driver_query_group_info = screen->get_driver_query_group_info;
	screen->pctr = s;
	screen->destroy = hooked_screen_destroy;
	screen->context_create = hooked_context_create;
	if (!s->catalogue)
		return;
	screen->get_driver_query_info = hooked_driver_query_info;
	screen->get_driver_query_group_info = hooked_driver_query_group_info;
	s->driver_has_monitors =
		offer_monitors(screen, driver_groups(s, screen) + s->catalogue->group_count > 0);
}

void pctr_screen_hook(struct pipe_screen *screen)
{
	const char *wanted = counters_wanted();

	if (!screen || (!wanted && !pctr_frames_wanted()))
		return;
	pthread_mutex_lock(&screens_lock);
	if (screen->destroy == hooked_screen_destroy)
		((struct pctr_screen *)screen->pctr)->references++;
	else
		hook(screen, wanted);
	pthread_mutex_unlock(&screens_lock);
}
