/* SPDX-License-Identifier: MIT */
/* Options that stat and record share: events, period, output, device, and the workload to run. */
#pragma once

#include "command.h"
#include "option.h"

/* the options that stat and record share */
struct counting {
	const char *device; /* node, driver or name; NULL: the first */
	struct option_words events; /* names; empty: the defaults */
	uint64_t period_ns; /* time between samples */
	bool has_period; /* whether a period was given */
	uint64_t timeout_ns; /* duration of counting, 0: unlimited */
	uint64_t set; /* counter set */
	bool keep_awake;
	bool all_cpus; /* count the whole machine also on the local device */
	uint64_t pid; /* the process to count on the local device, 0: the workload */
	bool per_client; /* the engines of each DRM client, too */
	bool of_task; /* counting_open(): a process is counted */
	const char *output; /* file, NULL: not given */
	bool json;
	char **command; /* the workload to run, NULL: none */
};

/* Lines of an option table. @period: TIME, or TIME_OR_ZERO if 0 is a value. */
/* clang-format off */
#define COUNTING_OPTIONS(app, c, period) \
	OPTION('e', "event", WORDS, &(c)->events), \
	OPTION('p', "period", period, &(c)->period_ns, .given = &(c)->has_period), \
	OPTION('o', "output", TEXT, &(c)->output), \
	OPTION('j', "json", FLAG, &(c)->json), \
	OPTION('d', "device", TEXT, &(c)->device), \
	OPTION('a', "all-cpus", FLAG, &(c)->all_cpus), \
	OPTION(0, "per-client", FLAG, &(c)->per_client), \
	OPTION(0, "pid", NUMBER, &(c)->pid, .min = 1, .max = INT32_MAX), \
	OPTION(0, "timeout", TIME, &(c)->timeout_ns), \
	OPTION(0, "set", NUMBER, &(c)->set, .max = DRM_PERFCTR_SET_TERTIARY), \
	OPTION(0, "keep-awake", FLAG, &(c)->keep_awake), \
	OPTION(0, "via", TEXT, &(app)->via)
/* clang-format on */

/*
 * Open the device and select what to count.
 * Return: 0 or an exit status, the message was printed; the caller owns what was set, even on
 * failure.
 */
int counting_open(const struct app *app, struct counting *counting, struct perfctr_device **device,
		  struct perfctr_selection **selection);

/* "kernel" if a process is counted without it, because this user may not; NULL: nothing. */
const char *counting_excludes(const struct counting *counting);

/*
 * Prepare the workload and create the session. If it counts a process, the workload comes first.
 * @create: creates it. Return: 0 or an exit status, the message was printed.
 */
int counting_prepare(const struct app *app, const struct counting *counting,
		     struct perfctr_device *device, struct command *command, int stdout_fd,
		     int (*create)(void *data), void *data);

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
