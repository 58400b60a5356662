// SPDX-License-Identifier: MIT
/* Measures a campaign on a device, through libperfctr. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/command.h"
#include "lib/device.h"
#include "lib/rows.h"
#include "study.h"
#include "words.h"
#include "worker.h"

enum { MAX_TRIES = 3 };

/* events that are counted together */
struct group {
	unsigned int set;
	unsigned int number;
	struct perfctr_selection *selection;
};

/* a program that a benchmark names */
struct work {
	const char *program;
	struct child child;
};

struct counted_device {
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	const struct worker *worker; /* NULL: its work is programs */
	void *worker_state;
	struct group *groups;
	size_t group_count;
	/* group of each event, -1: not counted */
	long *group_of;
	uint64_t run;
	uint64_t sequence;
};

/* --- selections ---------------------------------------------------------- */

static long find_group(struct analysis *a, struct counted_device *v,
		       const struct campaign_event *event)
{
	struct group *group;

	for (size_t i = 0; i < v->group_count; i++)
		if (v->groups[i].set == event->set && v->groups[i].number == event->group)
			return (long)i;
	v->groups = arena_grow(a->arena, v->groups, v->group_count, sizeof(*v->groups));
	group = &v->groups[v->group_count];
	*group = (struct group){ .set = event->set, .number = event->group };
	if (perfctr_selection_new(v->device, &group->selection) ||
	    perfctr_selection_set_counter_set(group->selection, group->set))
		return fail(a->failure, "counter set %u: %s", group->set,
			    perfctr_ctx_error(v->ctx));
	return (long)v->group_count++;
}

static int select_events(struct analysis *a, struct counted_device *v)
{
	const struct campaign *c = a->campaign;

	v->group_of = arena_array(a->arena, c->event_count, sizeof(*v->group_of));
	for (size_t e = 0; e < c->event_count; e++) {
		const struct campaign_event *event = &c->events[e];
		long group;

		v->group_of[e] = -1;
		if (!*event->counter) {
			a->unavailable[e] = "not measured: the campaign names no counter of it";
			continue;
		}
		group = find_group(a, v, event);
		if (group < 0)
			return -1;
		if (perfctr_selection_add(v->groups[group].selection, event->counter) < 0)
			a->unavailable[e] = arena_printf(a->arena, "not measured: %s",
							 perfctr_ctx_error(v->ctx));
		else
			v->group_of[e] = group;
	}
	if (!c->anchor)
		return 0;
	/* anchors have the same position in all sets */
	for (size_t g = 0; g < v->group_count; g++)
		if (v->group_of[campaign_event(c, c->anchor)] != (long)g &&
		    perfctr_selection_add(v->groups[g].selection,
					  c->events[campaign_event(c, c->anchor)].counter) < 0)
			return fail(a->failure, "anchor %s: %s", c->anchor,
				    perfctr_ctx_error(v->ctx));
	return 0;
}

/* --- work ---------------------------------------------------------------- */

/* "run PROGRAM ARGUMENT...", as a process that waits: its output is not of interest. */
static int prepare_program(struct analysis *a, const struct point *point, struct work *work)
{
	const char *command = a->campaign->benchmarks[point->benchmark].command;
	const char *words[MAX_WORDS + 1] = { NULL };
	int error, output;

	if (words_split(a, point, command + strlen(RUN), words) < 0)
		return -1;
	output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (output < 0)
		return fail(a->failure, "%s: /dev/null: %s", point->name, strerror(errno));
	error = child_prepare(&work->child, (char **)(uintptr_t)words, output);
	close(output);
	work->program = words[0];
	return error ? fail(a->failure, "%s: %s: %s", point->name, words[0], strerror(-error)) : 0;
}

/* Let the process execute the program, and wait for its end: its status is of interest. */
static int run_program(struct analysis *a, const struct point *point, struct work *work)
{
	const int error = child_go(&work->child);
	int status;

	if (error)
		return fail(a->failure, "%s: %s: %s", point->name, work->program, strerror(-error));
	child_wait(&work->child);
	status = work->child.status;
	if (WIFSIGNALED(status))
		return fail(a->failure, "%s: %s was killed by signal %d", point->name,
			    work->program, WTERMSIG(status));
	if (status)
		return fail(a->failure, "%s: %s ended with status %d", point->name, work->program,
			    WEXITSTATUS(status));
	return 0;
}

static bool is_program(const struct analysis *a, const struct point *point)
{
	const char *command = a->campaign->benchmarks[point->benchmark].command;

	return command && !strncmp(command, RUN, strlen(RUN));
}

/* Does the point's work once, and waits for its end. @work: the program, NULL: it is none */
static int do_work(struct analysis *a, struct counted_device *v, const struct point *point,
		   struct work *work)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	const char *words[MAX_WORDS];
	int count = 0;

	if (work)
		return run_program(a, point, work);
	if (!v->worker)
		return fail(a->failure,
			    "%s: for work on %s give \"command\": \"run PROGRAM ARGUMENT...\"",
			    point->name, perfctr_device_driver(v->device));
	if (!b->listing)
		count = words_split(a, point, b->command, words);
	return count < 0 ? -1 : v->worker->work(v->worker_state, a, point, words, (size_t)count);
}

/* --- counting ------------------------------------------------------------ */

static int add_samples(struct perfctr_cursor *cursor, struct perfctr_totals *totals)
{
	struct perfctr_sample sample;
	int got;

	while ((got = perfctr_cursor_next(cursor, &sample)) > 0) {
		int error = perfctr_totals_add(totals, &sample);

		perfctr_cursor_advance(cursor, 1);
		if (error)
			return error;
	}
	return got;
}

/*
 * Whether totals are less than what the hardware counted; the samples say so. Some hardware loses
 * a moment in each read (V3D): that is no loss if it is a part of the time that events accept.
 */
static bool has_losses(const struct perfctr_totals *totals, uint64_t accept_ppm)
{
	const struct perfctr_span *span = perfctr_totals_span(totals);
	const double ns = (double)span->elapsed_ns;

	return (double)span->lost_ns * 1e6 > (double)accept_ppm * ns || span->missing_samples ||
	       span->flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW |
			      DRM_PERFCTR_SAMPLE_RESET);
}

/* The least that an event of a group accepts. */
static uint64_t accept_ppm(const struct campaign *c, const struct counted_device *v, size_t group)
{
	uint64_t least = UINT64_MAX;

	for (size_t e = 0; e < c->event_count; e++)
		if (v->group_of[e] == (long)group && c->events[e].accept.relative_ppm < least)
			least = c->events[e].accept.relative_ppm;
	return least;
}

/* Counts the events of a group while the work is done, or once a program. */
static int count_once(struct analysis *a, struct counted_device *v, const struct group *group,
		      const struct point *point, struct perfctr_totals *totals)
{
	struct perfctr_session *session = NULL;
	struct perfctr_cursor *cursor = NULL;
	struct work program = { 0 }, *work = is_program(a, point) ? &program : NULL;
	int error = 0, ret = 0;

	if (work && prepare_program(a, point, work) < 0)
		return -1;
	/* on the local device: this process only, and its children */
	if (work && device_is_local(v->device))
		error = perfctr_device_count_task(v->device, -work->child.pid);
	if (!error)
		error = perfctr_session_new(group->selection, NULL, &session);
	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (error && work)
		child_abandon(&work->child);
	if (!error) {
		ret = do_work(a, v, point, work);
		error = perfctr_session_stop(session, 0);
	}
	if (!error)
		error = add_samples(cursor, totals);
	if (error && !ret)
		ret = fail(a->failure, "%s: %s", point->name, perfctr_ctx_error(v->ctx));
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	return ret;
}

/* Programs are counted one after the other. */
static int count_work(struct analysis *a, struct counted_device *v, const struct group *group,
		      const struct point *point, struct perfctr_totals *totals)
{
	int64_t times = is_program(a, point) ? point->kernels : 1;
	int ret = 0;

	while (!ret && times--)
		ret = count_once(a, v, group, point, totals);
	return ret;
}

static int make_reading(struct analysis *a, const struct counted_device *v,
			const struct campaign_event *event, const struct point *point,
			const struct row *row, struct reading *reading)
{
	if (!row)
		return fail(a->failure, "%s: '%s' is not one counter of the samples", event->name,
			    event->counter);
	if (row->state != PERFCTR_VALUE_OK ||
	    row->flags & (PERFCTR_VALUE_ESTIMATED | PERFCTR_VALUE_PARTIAL))
		return fail(a->failure,
			    "%s: %s was not measured all the time; count fewer events in one group",
			    point->name, event->name);
	*reading = (struct reading){
		.benchmark = point->benchmark,
		.event = (size_t)(event - a->campaign->events),
		.run = v->run,
		.sequence = v->sequence,
		.value = row->value,
		.units = row->info->blocks ? row->info->blocks : 1,
	};
	memcpy(reading->parameters, point->parameters, sizeof(reading->parameters));
	return 0;
}

/* The readings of a group, by event; units 0: none. */
static int make_readings(struct analysis *a, const struct counted_device *v, size_t group,
			 const struct point *point, struct perfctr_totals *totals,
			 struct reading *readings)
{
	struct perfctr_selection *selection = v->groups[group].selection;
	const struct campaign *c = a->campaign;
	struct rows blocks = { 0 }, types = { 0 };
	int ret = 0;

	if (rows_fill(&blocks, totals, selection, true) ||
	    rows_fill(&types, totals, selection, false))
		ret = fail(a->failure, "%s: %s", point->name, perfctr_ctx_error(v->ctx));
	for (size_t e = 0; !ret && e < c->event_count; e++) {
		const struct campaign_event *event = &c->events[e];
		bool is_anchor = c->anchor && !strcmp(c->anchor, event->name);

		if (a->unavailable[e] || !benchmark_states(&c->benchmarks[point->benchmark], e) ||
		    (v->group_of[e] != (long)group && !is_anchor))
			continue;
		ret = make_reading(a, v, event, point,
				   rows_find_counter(&types, &blocks, event->counter),
				   &readings[e]);
	}
	rows_free(&blocks);
	rows_free(&types);
	return ret;
}

/*
 * Whether a reading may lack counts of a moment that the hardware lost, however short: they may be
 * a burst. It does not if it is as documented, or if the try before, whose moments were others,
 * read the same.
 */
static bool may_lack(const struct analysis *a, const struct point *point, const struct reading *r,
		     const struct reading *before)
{
	const struct campaign_event *event = &a->campaign->events[r->event];
	uint64_t expected;

	if (!r->units || !event->documented.given ||
	    analysis_expected(a, point, &event->documented, r->units, &expected) ||
	    analysis_accepts(event, expected, r->value))
		return false;
	return !before->units || !analysis_accepts(event, before->value, r->value);
}

/* Give up an event, for a reason that is not the counter's. */
static void abandon_event(struct analysis *a, size_t event, const struct point *point)
{
	measured_forget(a->arena, &a->measured, a->campaign, event);
	a->unavailable[event] = arena_printf(
		a->arena, "not measured: at %s the hardware lost counts, in each of %d tries",
		point->name, MAX_TRIES);
}

/*
 * @before: of the try before; @tries: with this one.
 * Return: 0; 1 measure once more, @before is of this try now; -1 with a failure.
 */
static int add_readings(struct analysis *a, const struct counted_device *v, size_t group,
			const struct point *point, struct perfctr_totals *totals,
			struct reading *before, unsigned int tries)
{
	const size_t count = a->campaign->event_count;
	struct reading *readings = arena_array(a->arena, count, sizeof(*readings));
	bool *lacks = arena_array(a->arena, count, sizeof(*lacks)), any = false;

	if (make_readings(a, v, group, point, totals, readings) < 0)
		return -1;
	for (size_t e = 0; perfctr_totals_span(totals)->lost_ns && e < count; e++) {
		lacks[e] = may_lack(a, point, &readings[e], &before[e]);
		any |= lacks[e];
	}
	memcpy(before, readings, count * sizeof(*before));
	if (any && tries < MAX_TRIES)
		return 1;
	for (size_t e = 0; e < count; e++)
		if (lacks[e])
			abandon_event(a, e, point);
		else if (readings[e].units)
			measured_add(a->arena, &a->measured, a->campaign, &readings[e]);
	return 0;
}

/* Counts a group once more if counts were lost: they say nothing of the counter. */
static int measure_group(struct analysis *a, struct counted_device *v, size_t group,
			 const struct point *point)
{
	struct reading *before = arena_array(a->arena, a->campaign->event_count, sizeof(*before));
	int ret = 1;

	for (unsigned int tries = 1; ret > 0; tries++) {
		struct perfctr_totals *totals;

		if (perfctr_totals_new(v->ctx, &totals))
			return fail(a->failure, "out of memory");
		ret = count_work(a, v, &v->groups[group], point, totals);
		if (!ret && !has_losses(totals, accept_ppm(a->campaign, v, group)))
			ret = add_readings(a, v, group, point, totals, before, tries);
		else if (!ret && tries < MAX_TRIES)
			ret = 1;
		else if (!ret)
			ret = fail(a->failure,
				   "%s: the hardware lost counts, in each of %d tries: up to "
				   "%.3f ms, more than \"accept\" of the events",
				   point->name, MAX_TRIES,
				   (double)perfctr_totals_span(totals)->lost_ns / 1e6);
		perfctr_totals_unref(totals);
		v->run++;
		/* number of the last of several kernels */
		v->sequence += (uint64_t)point->kernels;
	}
	return ret;
}

static int measure(struct machine *machine, struct analysis *a, size_t number)
{
	struct counted_device *v = machine->data;
	/* analysis_formula() and the other functions never add points: the address is stable */
	const struct point *point = &a->points[number];
	int ret = 0;

	for (size_t g = 0; g < v->group_count && !ret; g++)
		if (perfctr_selection_request_count(v->groups[g].selection))
			ret = measure_group(a, v, g, point);
	return ret;
}

/* --- opening and closing ------------------------------------------------- */

static void close_device(struct machine *machine)
{
	struct counted_device *v = machine->data;

	for (size_t g = 0; g < v->group_count; g++)
		perfctr_selection_unref(v->groups[g].selection);
	if (v->worker_state)
		v->worker->close(v->worker_state);
	perfctr_device_unref(v->device);
}

static void configure(struct analysis *a, const struct counted_device *v)
{
	struct measured *m = &a->measured;
	const char *path = perfctr_device_path(v->device);

	m->source = arena_printf(a->arena, "live on %s (%s)", perfctr_device_info(v->device)->name,
				 path);
	measured_configure(a->arena, m, "driver", perfctr_device_driver(v->device));
	if (v->worker)
		v->worker->configure(v->worker_state, a);
	if (v->worker)
		measured_configure(a->arena, m, "cores",
				   arena_printf(a->arena, "%#" PRIx64,
						v->worker->cores(v->worker_state)));
	study_configure(a->arena, &a->measured);
}

/* --- which device -------------------------------------------------------- */

static bool is_product(const struct counted_device *v, const char *product)
{
	const char *name = perfctr_product_name(perfctr_device_info(v->device)->product);

	return !*product || (name && !strcmp(name, product));
}

/* Opens another device of the driver that has the product, if there is one. */
static void open_product(struct counted_device *v, const char *driver, const char *product)
{
	struct perfctr_device_list *list;

	if (perfctr_device_list_new(v->ctx, &list))
		return;
	for (size_t i = 0; !v->device && i < perfctr_device_list_count(list); i++) {
		const struct perfctr_device_entry *entry = perfctr_device_list_get(list, i);

		if (entry->error || strcmp(entry->driver, driver) ||
		    perfctr_device_open(v->ctx, entry->path, &v->device))
			continue;
		if (!is_product(v, product))
			v->device = perfctr_device_unref(v->device);
	}
	perfctr_device_list_unref(list);
}

/* The first device that the campaign accepts; or @which, if it accepts that. */
static int open_device(struct analysis *a, struct counted_device *v, const char *which)
{
	const char *product = a->campaign->product;
	int error = perfctr_device_open(a->ctx, which ? which : a->campaign->device, &v->device);

	if (error) {
		fail(a->failure, "%s", perfctr_ctx_error(a->ctx));
		return error;
	}
	if (is_product(v, product))
		return 0;
	v->device = perfctr_device_unref(v->device);
	if (!which)
		open_product(v, a->campaign->device, product);
	if (v->device)
		return 0;
	if (which)
		fail(a->failure, "%s is no device with counters of %s", which, product);
	else
		fail(a->failure, "there is no %s with counters of %s", a->campaign->device,
		     product);
	return -ENODEV;
}

/* The work of benchmarks may depend on the number of cores. */
static int use_cores(struct analysis *a, const struct counted_device *v)
{
	const int64_t *cores = campaign_constant(a->campaign, CORES_CONSTANT);
	const uint64_t mask = v->worker->cores(v->worker_state);

	if (cores && a->measured.count && *cores != __builtin_popcountll(mask))
		return fail(a->failure,
			    "the measurements are of %" PRId64 " cores, this device has others",
			    *cores);
	return analysis_set_cores(a, mask);
}

int machine_device(struct analysis *a, const char *which, struct machine *machine, int *error)
{
	struct counted_device *v = arena_alloc(a->arena, sizeof(*v));

	v->ctx = a->ctx;
	*machine = (struct machine){
		.data = v,
		.measure = measure,
		.close = close_device,
	};
	*error = open_device(a, v, which);
	if (*error)
		return -1;
	machine->name = arena_printf(a->arena, "%s", perfctr_device_info(v->device)->name);
	v->worker = worker_of(perfctr_device_driver(v->device));
	if (v->worker)
		*error = v->worker->open(a, v->device, &v->worker_state);
	if (!*error &&
	    (words_allow(a) < 0 || select_events(a, v) < 0 || (v->worker && use_cores(a, v) < 0)))
		*error = -EINVAL;
	if (!*error) {
		configure(a, v);
		/* whether this user may count at all */
		for (size_t g = 0; g < v->group_count && !*error; g++)
			if (perfctr_selection_request_count(v->groups[g].selection))
				*error = perfctr_session_check(v->groups[g].selection, NULL, NULL);
		if (*error)
			fail(a->failure, "%s", perfctr_ctx_error(a->ctx));
	}
	if (*error)
		close_device(machine);
	return *error ? -1 : 0;
}
