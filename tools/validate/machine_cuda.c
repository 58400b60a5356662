// SPDX-License-Identifier: MIT
/*
 * An NVIDIA GPU: kernels are launched and counted by cuda-counter, a process with NVIDIA's
 * libraries. Each kernel is launched once for each pass that its group of events needs.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "builtin.h"
#include "helper.h"
#include "launch.h"
#include "study.h"

/* beyond it not every number is a double */
#define EXACT_MOST 9007199254740992.0

/* events that are counted together */
struct cuda_group {
	unsigned int number;
	size_t *events;
	size_t count;
	uint64_t passes;
};

struct cuda {
	struct analysis *a;
	struct helper helper;
	struct launch *launches; /* by point */
	const char **modules; /* names, in the order in which the helper got them */
	size_t module_count;
	struct cuda_group *groups;
	size_t group_count;
	uint64_t run;
};

/* --- modules ----------------------------------------------------------------------------- */

static long find_module(const struct cuda *c, const char *name)
{
	for (size_t i = 0; i < c->module_count; i++)
		if (!strcmp(c->modules[i], name))
			return (long)i;
	return -1;
}

/* A built-in module, or a file in the campaign's folder. Return: its bytes, or NULL. */
static const char *read_module(const struct cuda *c, const char *name, size_t *length)
{
	const struct builtin *builtin = builtin_find(name);
	const char *folder = c->a->campaign->folder;
	struct failure reason = { "" };
	const char *data;

	if (folder) {
		data = read_file(c->a->arena, arena_printf(c->a->arena, "%s%s", folder, name),
				 length, &reason);
		if (data || !builtin) {
			if (!data)
				fail(c->a->failure, "%s", reason.text);
			return data;
		}
	}
	if (!builtin) {
		fail(c->a->failure, "there is no module %s", name);
		return NULL;
	}
	*length = (size_t)(builtin->end - builtin->text) - 1;
	return builtin->text;
}

static int send_module(struct cuda *c, const char *name, const char *data, size_t length)
{
	const char *request = arena_printf(c->a->arena, "module %zu", length);
	uint64_t hash = HASH_START;
	int error = helper_send(&c->helper, request, strlen(request));

	for (size_t at = 0; !error && at < length; at += CUDA_CHUNK)
		error = helper_send(&c->helper, data + at,
				    length - at < CUDA_CHUNK ? length - at : CUDA_CHUNK);
	if (!error)
		error = helper_wait(&c->helper, CUDA_MAX_STEPS);
	for (size_t i = 0; i < length; i++)
		hash = hash_word(hash, (unsigned char)data[i]);
	measured_configure(
		c->a->arena, &c->a->measured, arena_printf(c->a->arena, "module %s", name),
		arena_printf(c->a->arena, "%zu bytes, FNV-1a %016" PRIx64, length, hash));
	return error;
}

/* Reads the commands of all points. Return: 0; -1 with a failure */
static int read_launches(struct cuda *c)
{
	struct analysis *a = c->a;

	c->launches = arena_array(a->arena, a->point_count, sizeof(*c->launches));
	for (size_t p = 0; p < a->point_count; p++) {
		const struct point *point = &a->points[p];

		if (!is_launch(&a->campaign->benchmarks[point->benchmark]))
			return fail(a->failure,
				    "%s: work on cuda is \"command\": \"launch MODULE KERNEL GRID "
				    "BLOCK ARGUMENT...\"",
				    point->name);
		if (point->kernels != 1)
			return fail(a->failure, "%s: on cuda a point is one kernel", point->name);
		if (launch_parse(a, point, &c->launches[p]) < 0)
			return -1;
	}
	return 0;
}

static int send_modules(struct cuda *c)
{
	for (size_t p = 0; p < c->a->point_count; p++) {
		const char *name = c->launches[p].module, *data;
		size_t length;
		int error;

		if (find_module(c, name) >= 0)
			continue;
		data = read_module(c, name, &length);
		if (!data)
			return -EINVAL;
		error = send_module(c, name, data, length);
		if (error)
			return error;
		c->modules =
			arena_grow(c->a->arena, c->modules, c->module_count, sizeof(*c->modules));
		c->modules[c->module_count++] = name;
	}
	return 0;
}

/* --- groups of events -------------------------------------------------------------------- */

static struct cuda_group *group_of(struct cuda *c, unsigned int number)
{
	struct cuda_group *group;

	for (size_t g = 0; g < c->group_count; g++)
		if (c->groups[g].number == number)
			return &c->groups[g];
	c->groups = arena_grow(c->a->arena, c->groups, c->group_count, sizeof(*c->groups));
	group = &c->groups[c->group_count++];
	*group = (struct cuda_group){ .number = number };
	return group;
}

static int sort_events(struct cuda *c)
{
	struct analysis *a = c->a;

	for (size_t e = 0; e < a->campaign->event_count; e++) {
		const struct campaign_event *event = &a->campaign->events[e];
		struct cuda_group *group;

		if (!*event->counter) {
			a->unavailable[e] = "not measured: the campaign names no counter of it";
			continue;
		}
		if (strlen(event->counter) >= CUDA_MAX_NAME || strpbrk(event->counter, ". \n"))
			return fail(a->failure,
				    "%s: '%s' is no metric without a form: .sum is counted",
				    event->name, event->counter);
		group = group_of(c, event->group);
		if (group->count == CUDA_MAX_EVENTS)
			return fail(a->failure, "group %u has more than %d events", event->group,
				    CUDA_MAX_EVENTS);
		group->events =
			arena_grow(a->arena, group->events, group->count, sizeof(*group->events));
		group->events[group->count++] = e;
	}
	return 0;
}

/* Ask for the events of a group; those that the chip does not have leave it. */
static int send_group(struct cuda *c, struct cuda_group *group)
{
	struct analysis *a = c->a;
	const char *request = "events";
	size_t kept = 0;
	int error;

	for (size_t i = 0; i < group->count; i++)
		request = arena_printf(a->arena, "%s\n%s", request,
				       a->campaign->events[group->events[i]].counter);
	error = helper_send(&c->helper, request, strlen(request));
	if (!error)
		error = helper_wait(&c->helper, CUDA_MAX_STEPS);
	if (error)
		return error;
	if (parse_count(helper_line(&c->helper) ?: "", &group->passes) ||
	    group->passes > CUDA_MAX_PASSES)
		return helper_lies(&c->helper, "no number of passes");
	for (size_t i = 0; i < group->count; i++) {
		const size_t event = group->events[i];
		const char *line = helper_line(&c->helper);

		if (!line)
			return helper_lies(&c->helper, "fewer events than were asked for");
		if (!strcmp(line, "+"))
			group->events[kept++] = event;
		else
			a->unavailable[event] = arena_printf(a->arena, "not measured: %s", line);
	}
	if (helper_line(&c->helper) || !group->passes != !kept)
		return helper_lies(&c->helper, "its events do not fit to its passes");
	group->count = kept;
	if (kept)
		measured_configure(a->arena, &a->measured,
				   arena_printf(a->arena, "passes of group %u", group->number),
				   arena_printf(a->arena, "%" PRIu64 ", for %zu events",
						group->passes, kept));
	return 0;
}

/* --- counting ---------------------------------------------------------------------------- */

/* @what: "measure GROUP" or "launch" */
static const char *request_of(const struct cuda *c, const char *what, const struct launch *launch)
{
	struct arena *arena = c->a->arena;
	const char *text = arena_printf(arena, "%s %ld %s %u %u %u %u %u %u", what,
					find_module(c, launch->module), launch->kernel,
					launch->grid[0], launch->grid[1], launch->grid[2],
					launch->block[0], launch->block[1], launch->block[2]);

	for (size_t i = 0; i < launch->argument_count; i++) {
		const struct launch_argument *argument = &launch->arguments[i];

		text = argument->is_buffer ?
			       arena_printf(arena, "%s b%" PRIu64 ":%u", text, argument->number,
					    argument->word) :
			       arena_printf(arena, "%s %" PRIu64, text, argument->number);
	}
	return text;
}

/* Gives up an event: what CUPTI has of it is no count. */
static void abandon_event(struct analysis *a, size_t event, const struct point *point,
			  const char *text)
{
	measured_forget(a->arena, &a->measured, a->campaign, event);
	a->unavailable[event] = arena_printf(
		a->arena, "not measured: at %s it is %s, no count of 0 to 2^53", point->name, text);
}

static int add_reading(struct cuda *c, size_t event, const struct point *point, const char *text,
		       uint64_t sequence)
{
	struct analysis *a = c->a;
	struct reading reading = {
		.benchmark = point->benchmark,
		.event = event,
		.run = c->run,
		.sequence = sequence,
	};
	char *end;
	const double value = strtod(text, &end);

	if (end == text || *end)
		return helper_lies(&c->helper, "a value is no number");
	if (a->unavailable[event] ||
	    !benchmark_states(&a->campaign->benchmarks[point->benchmark], event))
		return 0;
	if (!(value >= 0 && value <= EXACT_MOST && value == floor(value))) {
		abandon_event(a, event, point, text);
		return 0;
	}
	memcpy(reading.parameters, point->parameters, sizeof(reading.parameters));
	reading.value = (uint64_t)value;
	measured_add(a->arena, &a->measured, a->campaign, &reading);
	return 0;
}

static int measure_group(struct cuda *c, size_t number, const struct point *point,
			 const struct launch *launch)
{
	struct cuda_group *group = &c->groups[number];
	const char *request =
		request_of(c, arena_printf(c->a->arena, "measure %zu", number), launch);
	uint64_t launches;
	int error = 0;

	if (helper_send(&c->helper, request, strlen(request)) < 0 ||
	    helper_wait(&c->helper, CUDA_MAX_STEPS + (unsigned int)group->passes) < 0)
		return -1;
	if (parse_count(helper_line(&c->helper) ?: "", &launches) || launches != group->passes)
		return helper_lies(&c->helper, "its launches are not as many as its passes");
	for (size_t i = 0; !error && i < group->count; i++) {
		const char *line = helper_line(&c->helper);

		if (!line)
			return helper_lies(&c->helper, "fewer values than events");
		/* with several passes the previous kernel is the same one */
		error = add_reading(c, group->events[i], point, line,
				    group->passes == 1 ? c->run : NO_SEQUENCE);
	}
	if (!error && helper_line(&c->helper))
		return helper_lies(&c->helper, "more values than events");
	return error;
}

static int measure(struct machine *machine, struct analysis *a, size_t number)
{
	struct cuda *c = machine->data;
	int ret = 0;

	for (size_t g = 0; !ret && g < c->group_count; g++)
		if (c->groups[g].count) {
			ret = measure_group(c, g, &a->points[number], &c->launches[number]);
			c->run++;
		}
	return ret < 0 ? -1 : 0;
}

/* --- opening and closing ----------------------------------------------------------------- */

static void close_cuda(struct machine *machine)
{
	struct cuda *c = machine->data;

	helper_end(&c->helper);
}

/* Lines NAME=VALUE */
static int configure(struct cuda *c, struct machine *machine)
{
	struct analysis *a = c->a;
	char *line;

	helper_line(&c->helper);
	while ((line = helper_line(&c->helper))) {
		char *value = strchr(line, '=');

		if (!value || value == line)
			return helper_lies(&c->helper, "a line without a value");
		*value++ = '\0';
		measured_configure(a->arena, &a->measured, line, value);
		if (!strcmp(line, "gpu"))
			machine->name = arena_copy(a->arena, value, strlen(value));
	}
	if (!machine->name)
		return helper_lies(&c->helper, "no name of the GPU");
	a->measured.source = arena_printf(a->arena, "live on %s", machine->name);
	study_configure(a->arena, &a->measured);
	return 0;
}

/* a GPU that cannot be counted is like none, unless the user may change that */
static int error_of_opening(int error)
{
	return error && error != -ENXIO && error != -EACCES && error != -EINVAL ? -ENODEV : error;
}

/* Starts the helper and sends it the modules. @request: "open" or "driver" with a number */
static int open_helper(struct cuda *c, const char *request, struct machine *machine)
{
	int error;

	if (helper_start(&c->helper) < 0)
		return -ENODEV;
	error = helper_send(&c->helper, request, strlen(request));
	if (!error)
		error = helper_wait(&c->helper, CUDA_MAX_STEPS);
	if (!error)
		error = configure(c, machine);
	return error ? error : send_modules(c);
}

static int open_gpu(struct cuda *c, const char *which, struct machine *machine)
{
	const char *product = c->a->campaign->product;
	int error = open_helper(c,
				arena_printf(c->a->arena, "open %s %s", which ? which : "-",
					     *product ? product : "-"),
				machine);

	for (size_t g = 0; !error && g < c->group_count; g++)
		error = send_group(c, &c->groups[g]);
	return error_of_opening(error);
}

static int begin(struct cuda *c, struct analysis *a, const char *which)
{
	uint64_t number;

	c->a = a;
	c->helper = (struct helper){ .name = "cuda-counter", .fd = -1, .failure = a->failure };
	if (which && (parse_count(which, &number) || number > INT32_MAX))
		return fail(a->failure, "'%s' is no number of a GPU, from 0", which);
	return words_allow(a) < 0 ? -1 : read_launches(c);
}

/* All points, in the order in which ncu_parse() expects them. */
static int launch_all(struct cuda *c)
{
	struct analysis *a = c->a;

	for (unsigned int run = 0; run < a->campaign->runs; run++)
		for (size_t p = 0; p < a->point_count; p++) {
			const char *request = request_of(c, "launch", &c->launches[p]);

			if (!a->points[p].reserve &&
			    (helper_send(&c->helper, request, strlen(request)) < 0 ||
			     helper_wait(&c->helper, CUDA_MAX_STEPS) < 0))
				return -1;
		}
	return 0;
}

int machine_cuda_launch(struct analysis *a, const char *which, int *error)
{
	struct cuda *c = arena_alloc(a->arena, sizeof(*c));
	struct machine machine = { 0 };

	*error = -EINVAL;
	if (begin(c, a, which) < 0)
		return -1;
	*error = error_of_opening(
		open_helper(c, arena_printf(a->arena, "driver %s", which ? which : "-"), &machine));
	if (!*error && launch_all(c) < 0)
		*error = -EINVAL;
	helper_end(&c->helper);
	return *error ? -1 : 0;
}

int machine_cuda(struct analysis *a, const char *which, struct machine *machine, int *error)
{
	struct cuda *c = arena_alloc(a->arena, sizeof(*c));

	*machine = (struct machine){ .data = c, .measure = measure, .close = close_cuda };
	a->only_own = true;
	*error = -EINVAL;
	if (begin(c, a, which) < 0 || sort_events(c) < 0)
		return -1;
	*error = open_gpu(c, which, machine);
	if (*error)
		helper_end(&c->helper);
	return *error ? -1 : 0;
}
