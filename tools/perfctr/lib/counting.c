// SPDX-License-Identifier: MIT
/* Devices, what is selected on them, and their sessions: one loop, for one device or several. */
#include "counting.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "device.h"
#include "permission.h"

enum {
	IN_STREAM_SLOTS = 1024, /* in-stream samples arrive in bursts */
	CALLERS_FDS = 4,
};

/* --- devices ------------------------------------------------------------------- */

static void free_counted(struct counted *d)
{
	perfctr_cursor_unref(d->cursor);
	perfctr_session_unref(d->session);
	perfctr_selection_unref(d->selection);
	perfctr_selection_unref(d->next);
	perfctr_device_unref(d->device);
	free(d->name);
}

void counting_drop(struct counting *c, size_t n)
{
	free_counted(&c->counted[n]);
	memmove(&c->counted[n], &c->counted[n + 1], (--c->count - n) * sizeof(*c->counted));
}

void counting_say_whose(const struct app *app, const struct counting *c, const struct counted *d)
{
	if (c->count > 1)
		app_error(app,
			  d->is_optional ? "%s is left out:" : "%s cannot be counted:", d->name);
}

bool counting_names_events(const struct counting *c)
{
	return c->events.count || c->metrics.count;
}

bool counting_is_of_some(const struct counting *c)
{
	return counting_tasks(c) || c->cpus || c->cgroup || c->has_cgroups;
}

int counting_find_cgroup(const struct app *app, const char *cgroup, char **folder)
{
	*folder = cgroup_find_counted(cgroup);
	return *folder ? 0 :
			 app_usage(app, "cgroup '%s': %s; give its path below the mount of cgroups",
				   cgroup, strerror(errno));
}

static int count_cgroup(const struct app *app, const char *cgroup, struct counted *d)
{
	char *folder;
	int error, status = counting_find_cgroup(app, cgroup, &folder);

	if (status)
		return status;
	error = perfctr_device_count_cgroup(d->device, folder);
	free(folder);
	return error ? app_failed(app, error) : 0;
}

/* Have the local device count a cgroup, threads, processes, or CPUs. Return: an exit status. */
static int count_some(const struct app *app, const struct counting *c, const char *cgroup,
		      struct counted *d)
{
	int error;

	if (cgroup)
		return count_cgroup(app, cgroup, d);
	if (c->tids.count)
		error = perfctr_device_count_threads(d->device, c->tids.numbers, c->tids.count);
	else if (c->pids.count)
		error = perfctr_device_count_processes(d->device, c->pids.numbers, c->pids.count);
	else
		error = perfctr_device_count_cpus(d->device, c->cpus);
	return error ? app_failed(app, error) : 0;
}

/* Open a device to count its process, a cgroup, or the machine. @cgroup: "": the machine */
static int open_to_count(const struct app *app, const struct counting *c, const char *which,
			 const char *cgroup, struct counted *d)
{
	const bool of_machine = c->all_cpus || c->cpus || cgroup;
	const bool of_task = !of_machine && (counting_tasks(c) || c->command);
	const bool any = !counting_names_events(c) && !c->set;
	int status, error;

	if (counting_is_of_some(c) && !which)
		which = PERFCTR_DEVICE_LOCAL;
	/* counting one's own process needs no permission */
	status = of_task ? device_open_to_look(app, which, any, &d->device) :
			   device_open(app, which, any, &d->device);
	/* a broker counts the whole machine, also one that was found without --via */
	d->of_task = !status && of_task && device_is_local(d->device) &&
		     !perfctr_device_count_task(d->device, 0);
	if (!status && of_task && !d->of_task) {
		d->device = perfctr_device_unref(d->device);
		status = device_open(app, which, any, &d->device);
		d->of_task = !status && device_is_local(d->device) &&
			     !perfctr_device_count_task(d->device, 0);
	}
	if (!status && (counting_tasks(c) || c->cpus || (cgroup && *cgroup)))
		return count_some(app, c, cgroup, d);
	if (status || !d->of_task)
		return status;
	error = perfctr_device_count_task(d->device, getpid());
	return error ? app_failed(app, error) : 0;
}

int counting_open_one(const struct app *app, struct counting *c, const char *which,
		      const char *cgroup, bool is_optional)
{
	struct counted *d = &c->counted[c->count];
	bool is_twice = false;
	char node[64] = "";
	int status;

	if (c->count == COUNTING_DEVICES)
		return app_usage(app, "at most %d devices or cgroups", COUNTING_DEVICES);
	*d = (struct counted){ .is_optional = is_optional };
	status = open_to_count(app, c, which, cgroup ? cgroup : c->cgroup, d);
	d->is_cgroup = cgroup && *cgroup;
	c->count++;
	if (!status)
		d->name =
			strdup(d->is_cgroup ? cgroup : device_node(d->device, node, sizeof(node)));
	if (!status && !d->name)
		status = app_failed(app, -ENOMEM);
	for (size_t n = 0; !status && !is_twice && n + 1 < c->count; n++)
		is_twice = cgroup ? c->cgroups && !strcmp(c->counted[n].name, d->name) :
				    device_is_same(c->counted[n].device, d->device);
	if (is_twice && !is_optional)
		status = app_usage(app, "%s: %s is there twice",
				   c->cgroups ? "--for-each-cgroup" : which, d->name);
	if (!is_optional || (!status && !is_twice))
		return status;
	counting_drop(c, c->count - 1);
	return 0;
}

int counting_take_tasks(const struct app *app, void *to, const char *text)
{
	struct counting_tasks *t = to;
	const char *at = text;

	do {
		pid_t *more = realloc(t->numbers, (t->count + 1) * sizeof(*more));
		unsigned long number;
		char *end;
		size_t n = 0;

		if (!more)
			return app_failed(app, -ENOMEM);
		t->numbers = more;
		number = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || !number || number > INT32_MAX ||
		    (*end && *end != ','))
			return app_usage(app, "--pid or --tid '%s': give numbers such as 12,34",
					 text);
		while (n < t->count && more[n] != (pid_t)number)
			n++;
		more[n] = (pid_t)number;
		t->count += n == t->count;
		at = end + 1;
	} while (at[-1]);
	return 0;
}

const struct counting_tasks *counting_tasks(const struct counting *c)
{
	return c->pids.count ? &c->pids : c->tids.count ? &c->tids : NULL;
}

int counting_select_per_cpu(const struct app *app, struct counting *c)
{
	int status = 0;

	for (size_t n = 0; !status && n < c->count; n++)
		if (c->counted[n].selection)
			status = device_select_per_cpu(app, c->counted[n].selection);
	return status;
}

const char *counting_name(const struct counting *c, const struct counted *counted)
{
	size_t selected = 0;

	for (size_t n = 0; n < c->count; n++)
		selected += c->counted[n].selection != NULL;
	return selected > 1 ? counted->name : NULL;
}

char *counting_text(const struct counting *c, char *text, size_t size)
{
	size_t length = 0;

	for (size_t n = 0; n < c->count && length < size; n++) {
		const struct counted *d = &c->counted[n];
		length += (size_t)snprintf(text + length, size - length, "%s%s%s (%s)",
					   n ? ", " : "", d->is_cgroup ? "cgroup " : "",
					   d->is_cgroup ? d->name :
							  perfctr_device_info(d->device)->name,
					   perfctr_device_path(d->device));
	}
	return text;
}

bool counting_of_task(const struct counting *c)
{
	for (size_t n = 0; n < c->count; n++)
		if (c->counted[n].of_task)
			return true;
	return false;
}

const char *counting_excludes(const struct counting *counting)
{
	long paranoid;

	return counting_of_task(counting) && !app_has_capability(APP_CAP_PERFMON) &&
			       !app_has_capability(APP_CAP_SYS_ADMIN) &&
			       !app_read_number("/proc/sys/kernel/perf_event_paranoid",
						&paranoid) &&
			       paranoid > 1 ?
		       "kernel" :
		       NULL;
}

/* --- sessions ------------------------------------------------------------------- */

int counting_prepare(const struct app *app, const struct counting *c, struct command *command,
		     int stdout_fd, int (*create)(void *data), void *data)
{
	const struct counting_tasks *tasks = counting_tasks(c);
	int status;

	if (!counting_of_task(c)) {
		status = create(data);
		return status ? status : command_prepare(app, command, stdout_fd);
	}
	status = tasks && !command->argv ?
			 command_watch(app, command, tasks->numbers, tasks->count) :
			 command_prepare(app, command, stdout_fd);
	if (status)
		return status;
	for (size_t n = 0; !tasks && n < c->count; n++)
		if (c->counted[n].of_task)
			perfctr_device_count_task(c->counted[n].device,
						  c->is_late ? command->child.pid :
							       -command->child.pid);
	status = create(data);
	if (status)
		command_abandon(command);
	return status;
}

int counting_in_stream_session(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session)
{
	struct perfctr_session_opts mine = *opts;
	int error;

	mine.slots = IN_STREAM_SLOTS;
	mine.watermark = IN_STREAM_SLOTS / 8;
	error = perfctr_session_new(selection, &mine, session);
	if (error != -ERANGE)
		return error;
	mine.slots = 0;
	mine.watermark = 1;
	return perfctr_session_new(selection, &mine, session);
}

static int create_session(struct counted *d, const struct perfctr_session_opts *opts,
			  bool in_stream)
{
	const uint32_t most = perfctr_device_info(d->device)->max_slots / 8;
	struct perfctr_session_opts mine = *opts;
	int error;

	/* far below what the library's ring of a quarter of a second holds */
	mine.watermark = mine.watermark > most ? most : mine.watermark;
	mine.watermark = mine.watermark ? mine.watermark : 1;
	d->watermark = mine.watermark;
	d->taken = 0;
	error = in_stream ? counting_in_stream_session(d->selection, &mine, &d->session) :
			    perfctr_session_new(d->selection, &mine, &d->session);
	return error ? error : perfctr_cursor_new(d->session, &d->cursor);
}

int counting_create(const struct app *app, struct counting *c,
		    const struct perfctr_session_opts *opts, bool in_stream)
{
	counting_end(c);
	for (size_t n = 0; n < c->count;) {
		struct counted *d = &c->counted[n];
		int status, error = d->selection ? create_session(d, opts, in_stream) : 0;

		if (!error) {
			d->was_counted |= d->session != NULL;
			n++;
			continue;
		}
		counting_say_whose(app, c, d);
		status = app_failed(app, error);
		if (!d->is_optional || c->count == 1)
			return status;
		/* what it counted before stays its own */
		if (d->was_counted) {
			d->session = perfctr_session_unref(d->session);
			d->is_gone = true;
			n++;
		} else {
			counting_drop(c, n);
		}
	}
	return 0;
}

int counting_start(const struct app *app, struct counting *c)
{
	for (size_t n = 0; n < c->count; n++) {
		struct counted *d = &c->counted[n];
		int error = d->session ? perfctr_session_start(d->session, 0) : 0;

		if (!error)
			continue;
		counting_say_whose(app, c, d);
		return app_failed(app, error);
	}
	return 0;
}

int counting_stop(struct counting *c)
{
	int result = 0;

	for (size_t n = 0; n < c->count; n++) {
		struct counted *d = &c->counted[n];
		int error = d->session ? perfctr_session_stop(d->session, 0) : 0;

		if (error != -ENODEV)
			result = result ? result : error;
	}
	return result;
}

void counting_status(struct counting *c)
{
	for (size_t n = 0; n < c->count; n++) {
		struct counted *d = &c->counted[n];

		d->has_status = d->session &&
				!perfctr_session_status(d->session, &d->status, sizeof(d->status));
	}
}

bool counting_has_lost(const struct counting *c)
{
	for (size_t n = 0; n < c->count; n++)
		if (c->counted[n].is_gone)
			return true;
	return false;
}

void counting_end(struct counting *c)
{
	for (size_t n = 0; n < c->count; n++) {
		c->counted[n].cursor = perfctr_cursor_unref(c->counted[n].cursor);
		c->counted[n].session = perfctr_session_unref(c->counted[n].session);
		c->counted[n].is_gone = false;
	}
}

void counting_close(struct counting *c)
{
	while (c->count)
		counting_drop(c, c->count - 1);
	option_words_free(&c->devices);
	option_words_free(&c->events);
	option_words_free(&c->metrics);
	for (size_t n = 0; n < c->event_cgroups.list_count; n++)
		free(c->event_cgroups.lists[n].text);
	free(c->event_cgroups.lists);
	free(c->event_cgroups.names);
	free(c->event_cgroups.places);
	free(c->pids.numbers);
	free(c->tids.numbers);
}

/* --- samples -------------------------------------------------------------------- */

static bool is_active(const struct counted *d)
{
	return d->session && !d->is_gone;
}

/* Give the slots back that were taken: one store for many of them. */
static void give_back(struct counted *d)
{
	perfctr_cursor_advance(d->cursor, d->ahead);
	d->ahead = 0;
}

static void note_gone(const struct app *app, const struct counting *c, struct counted *gone)
{
	size_t others = 0;

	gone->is_gone = true;
	for (size_t n = 0; n < c->count; n++)
		others += is_active(&c->counted[n]);
	if (others)
		app_error(app, "%s is gone: its counts end here, those of the other%s go on",
			  gone->name, others == 1 ? "" : "s");
}

/* Return: 1 and a sample; 0: there is none, or it came too late; a negative errno. */
static int next_of(const struct app *app, struct counting *c, struct counted *d,
		   struct perfctr_slot *slot)
{
	/* also without samples: an empty ring reports that the device is gone */
	int result = is_active(d) ? perfctr_cursor_peek(d->cursor, d->ahead, slot) : 0;
	struct drm_perfctr_status status;

	/* the ring of a local session does not say that a broker was killed */
	if (!result && is_active(d) && c->timed_out)
		result = perfctr_session_status(d->session, &status, sizeof(status));
	if (result == -ENODEV) {
		give_back(d);
		note_gone(app, c, d);
		return 0;
	}
	return result > 0 && !d->left ? 0 : result;
}

static int take_next(const struct app *app, struct counting *c, counting_take_fn take, void *data)
{
	struct perfctr_slot slot, first_slot;
	struct counted *first = NULL;
	uint64_t end_ns, first_ns = 0;
	int result;

	for (size_t n = 0; n < c->count; n++) {
		result = next_of(app, c, &c->counted[n], &slot);
		if (result < 0)
			return result;
		if (!result)
			continue;
		memcpy(&end_ns,
		       (const char *)slot.bytes +
			       offsetof(struct drm_perfctr_sample_header, end_ns),
		       sizeof(end_ns));
		if (first && end_ns >= first_ns)
			continue;
		first = &c->counted[n];
		first_slot = slot;
		first_ns = end_ns;
	}
	if (!first)
		return 0;
	result = take(data, first, &first_slot);
	if (result)
		return result;
	first->taken++;
	first->left--;
	/* at most half a ring, so that a fast source finds free slots */
	if (++first->ahead > perfctr_session_sizes(first->session)->slots / 2)
		give_back(first);
	return 1;
}

int counting_take(const struct app *app, struct counting *c, counting_take_fn take, void *data)
{
	bool any = false;
	int result;

	for (size_t n = 0; n < c->count; n++)
		if (is_active(&c->counted[n]))
			c->counted[n].left = perfctr_cursor_lag(c->counted[n].cursor);
	do
		result = take_next(app, c, take, data);
	while (result > 0);
	for (size_t n = 0; n < c->count; n++) {
		if (is_active(&c->counted[n]))
			give_back(&c->counted[n]);
		any |= is_active(&c->counted[n]);
	}
	c->timed_out = false;
	return result ? result : any ? 0 : -ENODEV;
}

int counting_wait(struct counting *c, struct pollfd *fds, size_t count, int timeout_ms)
{
	struct pollfd all[CALLERS_FDS + COUNTING_DEVICES];
	uint64_t counter;
	int ready;

	memcpy(all, fds, count * sizeof(*fds));
	for (size_t n = 0; n < c->count; n++) {
		const struct counted *d = &c->counted[n];
		const bool active = is_active(d);

		all[count + n] = (struct pollfd){
			.fd = active ? perfctr_session_eventfd(d->session) : -1,
			.events = POLLIN,
		};
		/* the eventfd signals new samples, and the end of the ring, only once */
		if (active && (perfctr_cursor_lag(d->cursor) >= d->watermark ||
			       perfctr_cursor_state(d->cursor) & DRM_PERFCTR_RING_DEAD))
			timeout_ms = 0;
	}
	ready = poll(all, count + c->count, timeout_ms);
	c->timed_out = !ready && timeout_ms;
	if (ready < 0 && errno != EINTR)
		return -errno;
	for (size_t n = 0; n < count; n++)
		fds[n].revents = ready > 0 ? all[n].revents : 0;
	/* the eventfd's count is not needed */
	for (size_t n = count; ready > 0 && n < count + c->count; n++)
		if (all[n].revents & POLLIN && read(all[n].fd, &counter, sizeof(counter)) < 0 &&
		    errno != EAGAIN)
			return -errno;
	return 0;
}
