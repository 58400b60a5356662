/* SPDX-License-Identifier: MIT */
/*
 * What is counted: options that subcommands share, devices, and a session for each of them. All
 * sessions have one clock, so their samples have one order.
 */
#pragma once

#include <poll.h>

#include "command.h"
#include "device.h"
#include "option.h"

enum { COUNTING_DEVICES = 64 }; /* as many as a capture has sessions */

/* a device, and its session */
struct counted {
	struct perfctr_device *device;
	char *name; /* owned: device_node(); of one of several cgroups, the cgroup's */
	bool is_cgroup; /* @name is a cgroup's */
	struct perfctr_selection *selection; /* NULL: it has none of the events */
	struct perfctr_selection *next; /* inside counting_select() */
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	uint32_t watermark;
	bool of_task; /* a process is counted, not the machine */
	bool is_optional; /* of DEVICE_ALL: left out if it cannot be counted */
	bool was_counted; /* it had a session */
	bool is_gone; /* its samples ended before the others', or it cannot be counted again */
	uint64_t taken; /* samples of the session that counting_take() gave */
	uint32_t left, ahead; /* inside counting_take(): samples to take; taken, not given back */
	struct drm_perfctr_status status; /* counting_status(); valid if @has_status */
	bool has_status;
};

/* processes or threads, each once */
struct counting_tasks {
	pid_t *numbers; /* owned */
	size_t count;
};

/* the options that stat and record share, and what they count */
struct counting {
	struct option_words devices; /* nodes, drivers, names, DEVICE_ALL; empty: the first */
	/* names of events and metrics; both empty: the defaults */
	struct option_words events, metrics;
	uint64_t period_ns; /* time between samples */
	bool has_period; /* whether a period was given */
	uint64_t timeout_ns; /* duration of counting, 0: unlimited */
	uint64_t set; /* counter set */
	bool keep_awake;
	bool all_cpus; /* count the whole machine also on the local device */
	/*
	 * whom the local device counts, at most one; none: the workload, else the machine:
	 * processes; threads; CPUs as a list; a cgroup; several, which are counted apart
	 */
	struct counting_tasks pids, tids;
	const char *cpus, *cgroup, *cgroups;
	/* -G: from which counting_open_devices() makes @cgroup, or what each event is counted of */
	struct counting_event_cgroups {
		struct counting_cgroup_list {
			char *text; /* owned */
			size_t after; /* words of -e that are before it */
		} * lists;
		size_t list_count;
		/* of each event its cgroup, NULL: the machine, and its place in @counted */
		const char **names;
		size_t *places;
		size_t count; /* of events, 0: all are of one cgroup */
	} event_cgroups;
	bool has_cgroups; /* @counted are cgroups, and the machine, on the local device */
	bool in_order; /* as the events of -G are: a cgroup may be there again */
	bool is_late; /* counting starts after the workload: not with its execve() */
	bool per_client; /* the engines of each DRM client, too */
	const char *output; /* file, NULL: not given */
	bool json;
	char **command; /* the workload to run, NULL: none */
	struct counted counted[COUNTING_DEVICES]; /* counting_open() */
	size_t count;
	bool timed_out; /* the last counting_wait() */
};

/* Take the numbers of --pid and -t, "12,34". Return: 0 or EXIT_USAGE, the message was printed. */
int counting_take_tasks(const struct app *app, void *to, const char *text);
/* Take "A,,B" of -G for the events before it. Return: 0 or EXIT_FAILED, the message was printed. */
int counting_take_cgroups(const struct app *app, void *counting, const char *text);
/* The processes or threads that are counted; NULL: none were given. */
const struct counting_tasks *counting_tasks(const struct counting *counting);

/* Lines of an option table. @period: TIME, or TIME_OR_ZERO if 0 is a value. */
/* clang-format off */
#define COUNTING_OPTIONS(app, c, period) \
	OPTION('e', "event", WORDS, &(c)->events), \
	OPTION('p', "period", period, &(c)->period_ns, .given = &(c)->has_period), \
	OPTION('o', "output", TEXT, &(c)->output), \
	OPTION('j', "json", FLAG, &(c)->json), \
	OPTION('d', "device", WORDS, &(c)->devices), \
	OPTION('a', "all-cpus", FLAG, &(c)->all_cpus), \
	OPTION(0, "per-client", FLAG, &(c)->per_client), \
	OPTION(0, "pid", CALL, &(c)->pids, .call = counting_take_tasks), \
	OPTION('t', "tid", CALL, &(c)->tids, .call = counting_take_tasks), \
	OPTION('C', "cpu", TEXT, &(c)->cpus), \
	OPTION('G', "cgroup", CALL, c, .call = counting_take_cgroups), \
	OPTION(0, "for-each-cgroup", TEXT, &(c)->cgroups), \
	OPTION('M', "metrics", WORDS, &(c)->metrics), \
	OPTION(0, "timeout", TIME, &(c)->timeout_ns), \
	OPTION(0, "set", NUMBER, &(c)->set, .max = DRM_PERFCTR_SET_TERTIARY), \
	OPTION(0, "keep-awake", FLAG, &(c)->keep_awake), \
	OPTION(0, "via", TEXT, &(app)->via)
/* clang-format on */

/*
 * Open the devices, and select what to count. A device that has none of the events is left out with
 * a message.
 * Return: 0 or an exit status, the message was printed; the caller closes, even on failure.
 */
int counting_open(const struct app *app, struct counting *counting);

/* Only open the devices. Return: as above. */
int counting_open_devices(const struct app *app, struct counting *counting);

/*
 * Open one more.
 * @cgroup: of several, a cgroup; "": the machine; NULL: no cgroup, or that of all devices
 */
int counting_open_one(const struct app *app, struct counting *counting, const char *which,
		      const char *cgroup, bool is_optional);
/* Open those of --for-each-cgroup and -G, and find the cgroup of all. Return: an exit status. */
int counting_open_cgroups(const struct app *app, struct counting *counting);
/* Where a cgroup is counted. Return: an exit status; @folder is the caller's. */
int counting_find_cgroup(const struct app *app, const char *cgroup, char **folder);

/* Close device number @n, and forget it. */
void counting_drop(struct counting *counting, size_t n);
/* Say which of several devices an error is about, before its message. */
void counting_say_whose(const struct app *app, const struct counting *counting,
			const struct counted *counted);
/* Whether the options name what is counted; whom the local device counts. */
bool counting_names_events(const struct counting *counting);
bool counting_is_of_some(const struct counting *counting);

/*
 * Select what to count instead of what was selected. An event is counted on each device that has
 * it, an event of the machine, which all have, on the local device, or else on the first. "NODE:"
 * before an event is that device only.
 * @patterns: events, NULL at the end, of which one is enough; NULL: those of the options, which all
 * must exist, or the defaults.
 * Return: 0 or an exit status, the message was printed and nothing has changed.
 */
int counting_select(const struct app *app, struct counting *counting, const char *const *patterns);

/* a walk over the events of -e: zero is its start */
struct counting_walk {
	const char *text; /* the rest of a word; not "" at the end: there was no memory */
	size_t words, events; /* that were taken */
};

/*
 * Take the next event of -e, whose words are "NODE:EVENT,{EVENT,EVENT}".
 * @only: set to the device that NODE names, or the cgroup that -G has for it; NULL: any of them
 * Return: the event without NODE, which the caller frees; NULL at the end, or without memory.
 */
char *counting_next_event(struct counting *counting, struct counting_walk *walk,
			  struct counted **only);

/* -A: count events of PMUs apart by CPU. Return: 0 or an exit status. */
int counting_select_per_cpu(const struct app *app, struct counting *counting);

/* What precedes names of events of a device: its node; NULL: it alone is counted. */
const char *counting_name(const struct counting *counting, const struct counted *counted);

/* The devices as a list in words. Return: @text. */
char *counting_text(const struct counting *counting, char *text, size_t size);

/* Whether a process is counted on one of the devices. */
bool counting_of_task(const struct counting *counting);

/* "kernel" if a process is counted without it, because this user may not; NULL: nothing. */
const char *counting_excludes(const struct counting *counting);

/*
 * Prepare the workload and create the sessions. If they count a process, the workload comes first.
 * @create: calls counting_create(). Return: 0 or an exit status, the message was printed.
 */
int counting_prepare(const struct app *app, const struct counting *counting,
		     struct command *command, int stdout_fd, int (*create)(void *data), void *data);

/*
 * Create a session for each device, instead of those before. An optional one that cannot be counted
 * is left out with a message; if it was counted before, its place in @counted stays.
 * @opts: of all; a watermark that is much for a ring becomes less; @in_stream: as
 * counting_in_stream_session(), of one device.
 * Return: 0 or an exit status, the message was printed.
 */
int counting_create(const struct app *app, struct counting *counting,
		    const struct perfctr_session_opts *opts, bool in_stream);

/*
 * A session for in-stream samples. Its ring has room for bursts of jobs, if the device allows that
 * size.
 * @selection: what to count; @opts: options; slots and watermark do not matter; @session: set to
 * the session on success.
 * Return: 0 or a negative errno.
 */
int counting_in_stream_session(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session);

/* Return: 0 or an exit status, the message was printed. */
int counting_start(const struct app *app, struct counting *counting);

/* Stop all, those that are gone too. Return: 0 or a negative errno. */
int counting_stop(struct counting *counting);

/* Read the totals of all. */
void counting_status(struct counting *counting);

/* Whether a device is gone. */
bool counting_has_lost(const struct counting *counting);

/**
 * typedef counting_take_fn - receives samples
 * @data: as given to counting_take()
 * @counted: the device
 * @slot: the sample, valid during the call
 *
 * Return: 0 or a negative errno, which ends the walk.
 */
typedef int (*counting_take_fn)(void *data, struct counted *counted,
				const struct perfctr_slot *slot);

/*
 * Take the samples that were published until now, in the order of their ends. What arrives
 * meanwhile waits, because a source that is faster than the caller would keep it here. That a
 * device is gone while others go on is printed.
 * Return: 0; -ENODEV all are gone; another negative errno.
 */
int counting_take(const struct app *app, struct counting *counting, counting_take_fn take,
		  void *data);

/*
 * Sleep until there are samples, or one of the caller's files is ready.
 * @fds: of the caller; @count: of these, at most 4.
 * Return: 0 or a negative errno.
 */
int counting_wait(struct counting *counting, struct pollfd *fds, size_t count, int timeout_ms);

/* End the sessions; what is selected stays. */
void counting_end(struct counting *counting);

/* Free all of it. */
void counting_close(struct counting *counting);
