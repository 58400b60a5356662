// SPDX-License-Identifier: MIT
/*
 * perf events of a local session.
 *
 * A counter has one event on each CPU that its PMU counts on: the cpumask of an uncore PMU, the
 * CPUs of one kind of cores, or all; those of cores can be restricted to some CPUs. The sum over
 * all files that were ever open never decreases, even if CPUs go offline.
 *
 * If a process is counted, each of its threads has an event instead, which future threads and
 * children inherit. If a cgroup is counted, the events on the CPUs count while its tasks run.
 * Uncore PMUs can do neither and count the whole machine.
 *
 * Events of one PMU and CPU share a group if the PMU can count all of them at once, so one read(),
 * and one interrupt of another CPU, returns up to 128 of them. Events of CPU cores have no groups:
 * a group counts completely or not at all, and a counter taken by the kernel (the NMI watchdog)
 * would keep a large group from counting.
 * Nor do events with different filters share one: a driver may count an event without a filter by
 * that of its leader, as the one of NVIDIA's PCIE PMUs does.
 */
#include "perf_events.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/pmu.h"
#include "readings.h"

#define PMU_PATH "/sys/bus/event_source/devices"

enum { MAX_GROUP = 128, NO_FILE = UINT32_MAX };
/*
 * more than one tick: the resolution of the clock of some kernels (User-mode Linux); at STOP, when
 * a second read follows at once, in which the time of an attached event goes on
 */
enum { GAP_NS = 20000000, GAP_AT_STOP_NS = 1000000 };
/* number, times enabled and running; value and id of each event */
enum { GROUP_WORDS = 3 + 2 * MAX_GROUP };

struct local_file {
	int fd, cpu;
	uint32_t counter;
	/* whether it leads its group; the next file of the group, NO_FILE: none */
	bool leads;
	uint32_t next, members;
	/* values of the last read: count, and the times enabled and running in ns */
	uint64_t last[3];
	/* when the last read ended; time in which perf did not count */
	uint64_t read_ns, gap_ns;
	/* its CPU went offline: perf detached the event for ever */
	bool detached;
};

static bool is_of_task(const struct perf_events *c, const struct local_counter *counter)
{
	return c->task_count && !counter->uncore && !is_reading(counter->pmu_type);
}

static bool is_of_cgroup(const struct perf_events *c, const struct local_counter *counter)
{
	return c->cgroup >= 0 && !counter->uncore && !is_reading(counter->pmu_type);
}

/* --- files ------------------------------------------------------------------------ */

/* The kernel's own software events have none. */
static bool has_filters_of(const struct local_counter *a, const struct local_counter *b)
{
	return a->pmu_type == PERF_TYPE_SOFTWARE ||
	       (a->config1 == b->config1 && a->config2 == b->config2);
}

/* The leader of a group that an event can join; NO_FILE: none. */
static uint32_t find_leader(const struct perf_events *c, const struct local_counter *counter,
			    int cpu)
{
	for (size_t n = c->file_count; counter->grouped && !is_of_task(c, counter) && n-- > 0;) {
		const struct local_file *f = &c->files[n];

		if (f->leads && f->cpu == cpu && f->members < MAX_GROUP &&
		    c->counters[f->counter].pmu_type == counter->pmu_type &&
		    has_filters_of(&c->counters[f->counter], counter))
			return (uint32_t)n;
	}
	return NO_FILE;
}

/* @pid: a thread, or -1: all, on @cpu. */
static int open_event(struct perf_events *c, const struct local_counter *counter, pid_t pid,
		      int cpu, int group_fd)
{
	struct perf_event_attr attr = {
		.type = counter->pmu_type,
		.size = sizeof(attr),
		.config = counter->config,
		.config1 = counter->config1,
		.config2 = counter->config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       (pid > 0 ? 0 : PERF_FORMAT_GROUP | PERF_FORMAT_ID),
		/* the leader enables and disables its group */
		.disabled = group_fd == -1,
		.inherit = pid > 0,
		.enable_on_exec = pid > 0 && c->from_exec,
		.exclude_user = !!(counter->flags & LOCAL_REQUEST_NO_USER),
		.exclude_kernel = !!(counter->flags & LOCAL_REQUEST_NO_KERNEL),
		.exclude_hv = !!(counter->flags & LOCAL_REQUEST_NO_HV),
		.exclude_idle = !!(counter->flags & LOCAL_REQUEST_NO_IDLE),
		.exclude_guest = !!(counter->flags & LOCAL_REQUEST_NO_GUEST),
		.exclude_host = !!(counter->flags & LOCAL_REQUEST_NO_HOST),
	};
	const bool of_cgroup = is_of_cgroup(c, counter);
	int fd = c->sys->perf_event_open(c->sys->data, &attr, of_cgroup ? c->cgroup : pid, cpu,
					 group_fd, of_cgroup ? PERF_FLAG_PID_CGROUP : 0);

	/* as perf: unprivileged users may count their own processes without the kernel */
	if (fd == -EACCES && pid > 0 && !attr.exclude_user) {
		attr.exclude_kernel = attr.exclude_hv = 1;
		fd = c->sys->perf_event_open(c->sys->data, &attr, pid, cpu, group_fd, 0);
		/* most likely the PMU cannot exclude the kernel, which needs permission */
		fd = fd == -EINVAL ? -EACCES : fd;
	}
	return fd;
}

static void control(struct perf_events *c, const struct local_file *f, unsigned long request)
{
	c->sys->ioctl(c->sys->data, f->fd, request, NULL);
}

static int open_on(struct perf_events *c, uint32_t which, pid_t pid, int cpu)
{
	struct local_counter *counter = &c->counters[which];
	uint32_t leader = find_leader(c, counter, cpu);
	struct local_file *f;
	int fd = -EINVAL;

	if (c->file_count == c->file_room) {
		size_t room = c->file_room ? 2 * c->file_room : 16;

		f = realloc(c->files, room * sizeof(*f));
		if (!f)
			return -ENOMEM;
		c->files = f;
		c->file_room = room;
	}
	if (leader != NO_FILE)
		fd = open_event(c, counter, pid, cpu, c->files[leader].fd);
	if (fd < 0) {
		leader = NO_FILE;
		fd = open_event(c, counter, pid, cpu, -1);
	}
	/* the list of CPUs names one that is about to leave */
	c->look_again |= fd == -ENODEV && cpu_list_has(&c->online, cpu);
	if (fd < 0)
		return fd;
	f = &c->files[c->file_count];
	*f = (struct local_file){
		.fd = fd,
		.cpu = cpu,
		.counter = which,
		.leads = leader == NO_FILE,
		.next = NO_FILE,
		.members = 1,
		.read_ns = perfctr_time_raw_ns(),
	};
	if (leader != NO_FILE) {
		uint32_t last = leader;

		while (c->files[last].next != NO_FILE)
			last = c->files[last].next;
		c->files[last].next = (uint32_t)c->file_count;
		c->files[leader].members++;
	}
	c->file_count++;
	counter->open_count++;
	counter->open_cpu = cpu;
	if (c->active && leader == NO_FILE)
		control(c, f, PERF_EVENT_IOC_ENABLE);
	return 0;
}

static bool is_open_on(const struct perf_events *c, uint32_t which, int cpu)
{
	for (size_t n = 0; n < c->file_count; n++)
		if (c->files[n].counter == which && c->files[n].cpu == cpu)
			return true;
	return false;
}

/*
 * The CPU or PMU is going away, or it is a PMU of CPU cores of which sysfs does not say which of
 * several kinds it counts on. A PMU that refuses a CPU of its list is an error.
 */
static bool is_elsewhere(const struct perf_events *c, const struct local_counter *counter,
			 int error)
{
	return error == -ENODEV ||
	       (counter->is_unlisted && c->core_pmus > 1 && (error == -ENOENT || error == -EINVAL));
}

struct threads {
	struct perf_events *events;
	uint32_t which;
	bool any; /* that did not end since the folder was read, and is no zombie */
};

static int open_on_thread(void *arg, const char *name)
{
	struct threads *t = arg;
	int error = open_on(t->events, t->which, (pid_t)strtol(name, NULL, 10),
			    t->events->counters[t->which].cpu);

	t->any |= error != -ESRCH;
	return error == -ESRCH ? 0 : error;
}

static int open_on_process(struct perf_events *c, uint32_t which, pid_t process)
{
	struct threads t = { c, which, false };
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	error = c->sys->list(c->sys->data, path, open_on_thread, &t);
	return t.any ? error : -ESRCH;
}

/*
 * As perf: a process that ended beside others is left out with a warning, a thread is an error.
 * Return: 0 or a negative errno.
 */
static int open_on_tasks(struct perf_events *c, uint32_t which)
{
	for (size_t n = 0; n < c->task_count; n++) {
		const pid_t task = c->tasks[n];
		const int error = c->are_threads ? open_on(c, which, task, c->counters[which].cpu) :
						   open_on_process(c, which, task);

		if (error == -ESRCH && !c->are_threads && c->task_count > 1) {
			if (!c->has_warned)
				perfctr_log(c->ctx, PERFCTR_LOG_WARNING,
					    "process %d has ended: the others are counted", task);
			continue;
		}
		if (error)
			return error;
	}
	c->has_warned = true;
	return c->counters[which].open_count ? 0 : -ESRCH;
}

/* The driver moved the events of CPUs that left its mask to those that joined it. */
static void follow_mask(struct perf_events *c, uint32_t which, const struct cpu_list *cpus)
{
	size_t next = 0;

	for (size_t n = 0; n < c->file_count; n++) {
		struct local_file *f = &c->files[n];

		if (f->counter != which || cpu_list_has(cpus, f->cpu))
			continue;
		while (next < cpus->count && is_open_on(c, which, cpus->cpus[next]))
			next++;
		if (next == cpus->count)
			return;
		f->cpu = c->counters[which].open_cpu = cpus->cpus[next];
		c->counters[which].states |= DRM_PERFCTR_STATE_MIGRATED;
	}
}

static int open_on_cpus(struct perf_events *c, uint32_t which, const struct cpu_list *cpus)
{
	struct local_counter *counter = &c->counters[which];
	/* a kind of cores that is on none of the CPUs wanted has no such event */
	int error = c->only.count ? -ENOENT : -ENODEV;

	if (counter->uncore)
		follow_mask(c, which, cpus);
	for (size_t n = 0; n < cpus->count; n++) {
		int cpu = cpus->cpus[n], result;

		if (is_open_on(c, which, cpu) ||
		    (!counter->uncore && (!cpu_list_has(&c->online, cpu) ||
					  (c->only.count && !cpu_list_has(&c->only, cpu)))))
			continue;
		result = open_on(c, which, -1, cpu);
		if (result && !is_elsewhere(c, counter, result))
			return result;
		/* -ENOENT, no such event, is the most helpful error */
		if (result && error != -ENOENT)
			error = result;
	}
	return counter->open_count ? 0 : error;
}

/* Open the event on the CPUs requested. Return: 0; the error of a CPU that the sum would miss. */
static int open_where_wanted(struct perf_events *c, uint32_t which)
{
	struct local_counter *counter = &c->counters[which];
	struct cpu_list own = { 0 };
	int error = 0;

	if (is_reading(counter->pmu_type) || counter->unsupported)
		return 0;
	if (is_of_task(c, counter))
		return counter->open_count ? 0 : open_on_tasks(c, which);
	if (counter->cpu != DRM_PERFCTR_CPU_ANY)
		return is_open_on(c, which, counter->cpu) ? 0 : open_on(c, which, -1, counter->cpu);
	if (*counter->cpus_path)
		error = cpu_list_read(c->sys, counter->cpus_path, &own);
	/* a PMU that left, or whose CPUs all are offline, has no list */
	counter->is_unlisted = !own.count;
	if (!error || error == -ENOENT || error == -ENODEV)
		error = open_on_cpus(c, which, own.count ? &own : &c->online);
	cpu_list_free(&own);
	return error;
}

/* Leave the reason for an error of a file. */
static int explain(struct perf_events *c, int error, const char *path)
{
	c->explained = true;
	return perfctr_fail(c->ctx, error, "%s is no list of CPUs: %s", path, strerror(-error));
}

static int read_online(struct perf_events *c)
{
	struct cpu_list online;
	int error = cpu_list_online(c->sys, &online);

	if (!error && !online.count)
		error = -EINVAL;
	if (error)
		return explain(c, error, CPUS_ONLINE_PATH);
	cpu_list_free(&c->online);
	c->online = online;
	c->looked_ns = perfctr_time_raw_ns();
	return 0;
}

/* How many of the online CPUs a list has, 0: all. */
static unsigned int count_of_online(const struct perf_events *c, const struct cpu_list *cpus)
{
	unsigned int count = 0;

	for (size_t n = 0; n < cpus->count; n++)
		count += cpu_list_has(&c->online, cpus->cpus[n]);
	return count == c->online.count ? 0 : count;
}

/* The PMU's name in samples. Two that are too long would be equal: these end with their type. */
static void name_pmu(char name[DRM_PERFCTR_PMU_NAME_BYTES], const struct pmu *pmu)
{
	char type[16];
	const int length = snprintf(type, sizeof(type), "~%u", pmu->type);
	const int room = DRM_PERFCTR_PMU_NAME_BYTES - 1;

	if (strlen(pmu->name) > (size_t)room)
		snprintf(name, DRM_PERFCTR_PMU_NAME_BYTES, "%.*s%s", room - length, pmu->name,
			 type);
	else
		snprintf(name, DRM_PERFCTR_PMU_NAME_BYTES, "%.*s", room, pmu->name);
}

/* Find the CPUs that the PMU counts on. Return: 0, or an error if there is no such PMU. */
static int describe(struct perfctr_ctx *ctx, struct perf_events *c, const struct pmu_list *pmus,
		    struct local_counter *counter)
{
	static const char *const files[] = { "cpumask", "cpus" };
	const struct pmu *pmu = pmu_of_event(pmus, counter->pmu_type, counter->config);
	char *path = counter->cpus_path;

	if (!pmu)
		return -ENOENT;
	name_pmu(counter->pmu, pmu);
	for (size_t n = 0; n < ARRAY_SIZE(files) && !*path; n++) {
		struct cpu_list cpus;
		int error;

		snprintf(path, sizeof(counter->cpus_path), PMU_PATH "/%s/%s", pmu->name, files[n]);
		error = cpu_list_read(ctx->sys, path, &cpus);
		if (error && error != -ENOENT)
			return explain(c, error, path);
		counter->uncore = !n;
		if (n && is_of_task(c, counter))
			counter->of_some_cores = count_of_online(c, &cpus);
		if (!cpus.count)
			*path = '\0';
		cpu_list_free(&cpus);
	}
	counter->uncore &= *path != '\0';
	counter->grouped = counter->uncore || pmu->type == PERF_TYPE_SOFTWARE;
	return 0;
}

/* Errors with which perf says that there is no such event; perf stat then counts the others. */
static bool is_unsupported(int error)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -EINVAL || error == -ENXIO ||
	       error == -ENOSYS;
}

/* The file before @file in the list of its group. */
static uint32_t file_before(const struct perf_events *c, uint32_t file)
{
	uint32_t before = 0;

	while (c->files[before].next != file)
		before++;
	return before;
}

/* Remove the last file from the list of its group. */
static void leave_group(struct perf_events *c)
{
	uint32_t file = (uint32_t)c->file_count - 1;

	if (c->files[file].leads)
		return;
	file = file_before(c, file);
	c->files[file].next = NO_FILE;
	while (!c->files[file].leads)
		file = file_before(c, file);
	c->files[file].members--;
}

/* Close what was opened on some CPUs or threads for the last counter. */
static void leave_out(struct perf_events *c, uint32_t which)
{
	c->counters[which].unsupported = true;
	c->counters[which].open_count = 0;
	while (c->file_count && c->files[c->file_count - 1].counter == which) {
		leave_group(c);
		c->sys->close(c->sys->data, c->files[--c->file_count].fd);
	}
}

/*
 * Open the event of a counter.
 * @refused: set to the error if it is one that the session counts the others without
 */
static int open_counter(struct perfctr_ctx *ctx, struct perf_events *c, uint32_t which,
			const struct pmu_list *pmus, int *refused)
{
	struct local_counter *counter = &c->counters[which];
	int error;

	*refused = 0;
	if (is_reading(counter->pmu_type)) {
		error = readings_open(ctx, c, counter);
		if (error != -EOPNOTSUPP || !c->skips_unsupported)
			return error;
		counter->unsupported = true;
		*refused = error;
		return 0;
	}
	error = describe(ctx, c, pmus, counter);
	if (error)
		return error;
	if (counter->cpu != DRM_PERFCTR_CPU_ANY && !cpu_list_has(&c->online, counter->cpu)) {
		c->explained = true;
		return perfctr_fail(ctx, -EINVAL,
				    "%s: CPU %d is not online; " CPUS_ONLINE_PATH
				    " lists those that are",
				    counter->pmu, counter->cpu);
	}
	error = open_where_wanted(c, which);
	if (!c->skips_unsupported || !is_unsupported(error))
		return error;
	leave_out(c, which);
	*refused = error;
	return 0;
}

/* The PMUs of all counters, as they were a moment ago unless one is newer. */
static int load_pmus(struct perfctr_ctx *ctx, const struct perf_events *c, struct pmu_list *pmus)
{
	int error = pmu_list_recent(ctx, pmus);

	for (uint32_t n = 0; !error && n < c->counter_count; n++) {
		if (pmu_of_event(pmus, c->counters[n].pmu_type, c->counters[n].config))
			continue;
		pmu_list_free(pmus);
		return pmu_list_load(ctx, pmus);
	}
	return error;
}

int perf_events_count_tasks(struct perf_events *c, const pid_t *tasks, size_t count)
{
	c->tasks = calloc(count + 1, sizeof(*tasks));
	if (!c->tasks)
		return -ENOMEM;
	if (count)
		memcpy(c->tasks, tasks, count * sizeof(*tasks));
	c->task_count = count;
	return 0;
}

int perf_events_open(struct perfctr_ctx *ctx, struct perf_events *c)
{
	struct pmu_list pmus;
	int error = load_pmus(ctx, c, &pmus), refused, first_refused = 0;
	size_t refused_count = 0;

	c->sys = ctx->sys;
	c->ctx = ctx;
	if (!error)
		error = read_online(c);
	for (size_t n = 0; n < pmus.count; n++)
		c->core_pmus += pmus.pmus[n].is_core;
	for (uint32_t n = 0; !error && n < c->counter_count; n++) {
		error = open_counter(ctx, c, n, &pmus, &refused);
		refused_count += !!refused;
		first_refused = first_refused ? first_refused : refused;
	}
	pmu_list_free(&pmus);
	return !error && refused_count == c->counter_count ? first_refused : error;
}

/* --- reading ------------------------------------------------------------------------ */

/*
 * A CPU that goes offline dissolves its groups. Read a member by its own file; older releases of
 * Linux answer with the former leader's count. @id: of the leader
 */
static void read_member(struct perf_events *c, struct local_file *f, uint64_t id)
{
	uint64_t words[GROUP_WORDS];
	ssize_t got = c->sys->read(c->sys->data, f->fd, words, sizeof(words));

	if (got >= (ssize_t)(5 * sizeof(words[0])) && words[4] != id) {
		f->last[0] = words[3];
		return;
	}
	c->counters[f->counter].states |= DRM_PERFCTR_STATE_LOST;
	c->span_lost = true;
}

/*
 * Find out whether perf detached the events of a group, because their CPU went offline since the
 * last read: the time enabled of an event of a CPU grows as fast as the clock, and its time stands
 * still once it is detached. The allowed difference of both clocks is a thousandth.
 * @before_ns: when this read began; @grown_ns: what the time enabled grew by
 */
static void check_time(struct perf_events *c, struct local_file *leader, uint64_t before_ns,
		       uint64_t grown_ns)
{
	uint64_t gap_ns = leader->gap_ns + (before_ns - leader->read_ns);
	uint64_t allowed_ns = grown_ns + grown_ns / 1000;

	/* a driver that moves an event to another CPU changes its clock */
	if (c->counters[leader->counter].uncore && grown_ns)
		allowed_ns = gap_ns;
	leader->gap_ns = gap_ns > allowed_ns ? gap_ns - allowed_ns : 0;
	leader->detached = leader->gap_ns > (c->ends && !grown_ns ? GAP_AT_STOP_NS : GAP_NS);
}

/* perf returns no bytes for an event that lost its place on the CPU: keep the last values. */
static void read_group(struct perf_events *c, struct local_file *leader)
{
	uint64_t words[GROUP_WORDS];
	uint32_t at = (uint32_t)(leader - c->files), n = 0;
	uint64_t before_ns = perfctr_time_raw_ns();
	ssize_t got = c->sys->read(c->sys->data, leader->fd, words, sizeof(words));

	leader->detached = false;
	/* the time of a cgroup's events stands still while none of its tasks runs */
	if (!is_of_task(c, &c->counters[leader->counter]) &&
	    !is_of_cgroup(c, &c->counters[leader->counter]) &&
	    got >= (ssize_t)(5 * sizeof(words[0])))
		check_time(c, leader, before_ns, words[1] - leader->last[1]);
	leader->read_ns = perfctr_time_raw_ns();
	for (; at != NO_FILE; at = c->files[at].next, n++) {
		struct local_file *f = &c->files[at];
		struct local_counter *counter = &c->counters[f->counter];

		f->detached = leader->detached;
		f->gap_ns = leader->gap_ns;
		f->read_ns = leader->read_ns;
		/* each CPU has all of them at once: a cgroup's times may differ by a switch */
		if (counter->pmu_type == PERF_TYPE_SOFTWARE &&
		    got >= (ssize_t)(3 * sizeof(words[0])) && words[2])
			words[2] = words[1];
		if (is_of_task(c, counter) && got >= (ssize_t)(3 * sizeof(words[0]))) {
			memcpy(f->last, words, sizeof(f->last));
		} else if (!is_of_task(c, counter) && got >= (ssize_t)(5 * sizeof(words[0]))) {
			if (n < words[0])
				f->last[0] = words[3 + 2 * n];
			else
				read_member(c, f, words[4]);
			f->last[1] = words[1];
			f->last[2] = words[2];
		} else {
			counter->incomplete = true;
			counter->states |= DRM_PERFCTR_STATE_ERROR;
		}
	}
}

/* Return: whether perf detached events. */
static bool read_files(struct perf_events *c)
{
	bool detached = false;

	for (size_t n = 0; n < c->counter_count; n++) {
		struct local_counter *counter = &c->counters[n];

		if (!is_reading(counter->pmu_type))
			memcpy(counter->sum, counter->gone, sizeof(counter->sum));
		/* a CPU that went offline has no level */
		if (!is_reading(counter->pmu_type) && counter->is_level)
			counter->sum[0] = 0;
		counter->incomplete |= counter->missing;
		counter->states |= counter->unsupported ? DRM_PERFCTR_STATE_UNAVAILABLE :
				   counter->open_count	? DRM_PERFCTR_STATE_ON :
							  DRM_PERFCTR_STATE_OFF;
		if (counter->missing) {
			counter->states |= DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_LOST;
			c->span_lost = true;
		}
	}
	for (size_t n = 0; n < c->file_count; n++)
		if (c->files[n].leads)
			read_group(c, &c->files[n]);
	for (size_t n = 0; n < c->file_count; n++) {
		for (size_t i = 0; i < ARRAY_SIZE(c->files[n].last); i++)
			c->counters[c->files[n].counter].sum[i] += c->files[n].last[i];
		detached |= c->files[n].detached;
	}
	return detached;
}

/* perf's times stand still while a process or cgroup sleeps; that is not "not measured". */
static void note_sleep(struct perf_events *c)
{
	for (size_t n = 0; n < c->counter_count; n++) {
		struct local_counter *counter = &c->counters[n];

		counter->asleep = !counter->unsupported && counter->sum[1] == counter->enabled_ns &&
				  (is_of_task(c, counter) || is_of_cgroup(c, counter));
		counter->enabled_ns = counter->sum[1];
	}
}

static bool is_offline(const struct perf_events *c, const struct local_file *f)
{
	return !c->counters[f->counter].uncore && f->cpu >= 0 && !cpu_list_has(&c->online, f->cpu);
}

/*
 * Close the files of CPUs that are or were offline, in whole groups; keep their counts.
 * @gap_ns: set to the longest time in which events of CPUs that are online did not count
 */
static int drop_files(struct perf_events *c, uint64_t *gap_ns)
{
	size_t kept = 0;
	uint32_t *moved = calloc(c->file_count + 1, sizeof(*moved));

	if (!moved)
		return -ENOMEM;
	for (size_t n = 0; n < c->file_count; n++)
		if (c->files[n].leads && is_offline(c, &c->files[n]))
			read_group(c, &c->files[n]);
	for (size_t n = 0; n < c->file_count; n++) {
		struct local_file *f = &c->files[n];
		struct local_counter *counter = &c->counters[f->counter];

		moved[n] = (uint32_t)kept;
		if (!f->detached && !is_offline(c, f)) {
			c->files[kept++] = *f;
			continue;
		}
		if (!is_offline(c, f) && f->gap_ns > *gap_ns)
			*gap_ns = f->gap_ns;
		for (size_t i = 0; i < ARRAY_SIZE(f->last); i++)
			counter->gone[i] += f->last[i];
		counter->open_count--;
		counter->states |= DRM_PERFCTR_STATE_MIGRATED;
		c->sys->close(c->sys->data, f->fd);
	}
	c->file_count = kept;
	for (size_t n = 0; n < kept; n++)
		if (c->files[n].next != NO_FILE)
			c->files[n].next = moved[c->files[n].next];
	free(moved);
	return 0;
}

/*
 * Adapt to CPU hotplug. @detached: perf detached events.
 * Return: 0, or the reason why a counter lacks a CPU.
 */
static int follow_cpus(struct perf_events *c, bool detached)
{
	struct cpu_list before = c->online;
	uint64_t looked_ns = c->looked_ns, gap_ns = 0;
	bool same;
	int error;

	c->online = (struct cpu_list){ 0 };
	error = read_online(c);
	if (error) {
		c->online = before;
		return error;
	}
	same = cpu_list_equal(&before, &c->online);
	cpu_list_free(&before);
	if (!detached && !c->look_again && same)
		return 0;
	/* a CPU may have been online since the last look */
	if (c->look_again || !same)
		gap_ns = c->looked_ns - looked_ns;
	c->look_again = false;
	error = drop_files(c, &gap_ns);
	for (size_t n = 0; n < c->counter_count; n++) {
		unsigned int open_count = c->counters[n].open_count;
		int result = open_where_wanted(c, (uint32_t)n);

		if (c->counters[n].open_count != open_count)
			c->counters[n].states |= DRM_PERFCTR_STATE_MIGRATED;
		/* the counts of a CPU until its event was opened are lost */
		c->span_lost |= c->counters[n].missing;
		if (c->active && c->counters[n].open_count != open_count) {
			c->counters[n].states |= DRM_PERFCTR_STATE_LOST;
			c->lost_ns = gap_ns > c->lost_ns ? gap_ns : c->lost_ns;
		}
		c->counters[n].missing = result && !is_elsewhere(c, &c->counters[n], result);
		if (c->counters[n].missing)
			error = result;
	}
	return error;
}

/* A thread that loses its CPU meanwhile reads counts of another time than it returns: try again. */
static bool read_at_once(struct perf_events *c, uint64_t *now_ns)
{
	for (int tries = 3;;) {
		uint64_t begin_ns = perfctr_time_raw_ns();
		bool detached = read_files(c);
		uint64_t took_ns;

		*now_ns = perfctr_time_raw_ns();
		took_ns = *now_ns - begin_ns;
		if (!c->quick_ns || took_ns < c->quick_ns)
			c->quick_ns = took_ns;
		if (detached || !--tries || !c->slow_ns || took_ns < c->slow_ns ||
		    took_ns < 4 * c->quick_ns)
			return detached;
	}
}

uint64_t perf_events_read(struct perf_events *c)
{
	uint64_t now_ns;

	if (perfctr_time_raw_ns() - c->looked_ns > NS_PER_S)
		follow_cpus(c, false);
	if (read_at_once(c, &now_ns) || (c->ends && read_at_once(c, &now_ns)))
		follow_cpus(c, true);
	readings_read(c, now_ns);
	if (c->task_count)
		hybrid_add_away(c);
	note_sleep(c);
	return now_ns;
}

int perf_events_start(struct perf_events *c)
{
	int error;

	/* perf does not say which events it detached while they were disabled: open all again */
	for (size_t n = 0; n < c->file_count; n++)
		c->files[n].detached = !is_of_task(c, &c->counters[c->files[n].counter]);
	error = follow_cpus(c, true);
	if (error)
		return error;
	for (size_t n = 0; n < c->file_count; n++) {
		struct local_file *f = &c->files[n];

		if (f->leads && !(c->from_exec && is_of_task(c, &c->counters[f->counter])))
			control(c, f, PERF_EVENT_IOC_ENABLE);
		f->read_ns = perfctr_time_raw_ns();
	}
	c->from_exec = false;
	readings_start(c);
	c->active = true;
	return 0;
}

void perf_events_stop(struct perf_events *c)
{
	for (size_t n = 0; n < c->file_count; n++)
		if (c->files[n].leads)
			control(c, &c->files[n], PERF_EVENT_IOC_DISABLE);
	c->active = false;
}

void perf_events_close(struct perf_events *c)
{
	while (c->file_count)
		c->sys->close(c->sys->data, c->files[--c->file_count].fd);
	readings_free(c);
	cpu_list_free(&c->online);
	cpu_list_free(&c->only);
	free(c->tasks);
	free(c->files);
	free(c->counters);
	if (c->cgroup >= 0)
		c->sys->close(c->sys->data, c->cgroup);
	*c = (struct perf_events){ .sys = c->sys, .cgroup = -1 };
}
