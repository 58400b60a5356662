/* SPDX-License-Identifier: MIT */
/*
 * perfctr guard: two processes. The watcher counts and enforces; the supervisor, its parent, runs
 * the command and applies the policy of a loss if the watcher dies or hangs.
 */
#pragma once

#include "lib/app.h"
#include "lib/counting.h"
#include "lib/verdicts.h"
#include "target.h"
#include "window.h"

enum { GUARD_MAX_BUDGETS = 16 };

/* a limit on what a target may count in a window */
struct budget {
	/* as configured */
	char *name, *device, *event, *limit_text;
	uint64_t period_ns; /* between samples */
	bool freeze_on_loss; /* the target is held while counts are missing; else released */
	bool allow_untrusted;
	struct target target;
	/* the watcher's */
	struct window window;
	uint64_t limit;
	struct perfctr_device *counts_on;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_totals *totals; /* of the last sample */
	bool held;
	/* counts are incomplete until a whole window without a loss follows this time; 0: fine */
	uint64_t lost_ns;
	uint64_t retry_ns; /* when to open a lost session again */
	uint64_t seen_ns; /* when the last sample was read */
	uint64_t carried; /* counts of the guard's own samples between those in jobs */
	uint64_t held_since_ns; /* sample that led to the hold */
	uint64_t peak; /* most counts in the window since then */
	struct {
		uint64_t samples, counted, violations, losses, failures, held_ns;
		uint64_t reactions, reaction_ns, max_reaction_ns, max_overshoot;
	} sums;
};

struct guard {
	struct app *app;
	struct budget *budgets;
	size_t count;
	/* options */
	const char *config, *output, *cgroup;
	bool json, quiet, verbose, in_stream, allow_untrusted;
	struct command command;
	FILE *log; /* JSON lines, NULL: none */
};

/* --- policy.c ------------------------------------------------------------------------ */

/* The text of -b: words KEY=VALUE. Return: 0 or an exit status, the message was printed. */
int policy_take(const struct app *app, void *guard, const char *text);

/* Read the file of -c. Return: as above. */
int policy_read(const struct app *app, void *guard, const char *path);

/* The folder of a cgroup, below /sys/fs/cgroup if relative; the caller frees it. NULL: invalid. */
char *policy_cgroup(const char *text);

/* Check all budgets, and fill in what they leave out. Return: as above. */
int policy_check(struct guard *guard);

void policy_free(struct guard *guard);

/* --- watch.c ------------------------------------------------------------------------- */

/*
 * The watcher: count and enforce until SIGTERM, or until the supervisor dies.
 * @supervisor: socket: gets 'R' once counting has begun, then 'H' at least each GUARD_BEAT_MS.
 * Return: exit status.
 */
int watch_run(struct guard *guard, const struct signals *signals, int supervisor);

/* Open what the watcher shares with the command, before both. Return: 0 or an exit status. */
int watch_open(struct guard *guard);
void watch_close(struct guard *guard);

enum { GUARD_BEAT_MS = 250, GUARD_HANGS_MS = 3000 };

/* --- log.c --------------------------------------------------------------------------- */

struct json_object;

/* A record of the log, with the members that all have. */
struct json_object *log_record(const char *kind, const struct budget *budget);
/* Write it to the log, and a line to stderr if there is a format. */
void log_write(const struct guard *guard, const struct budget *budget, struct json_object *record,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Apply the policy of a loss: hold or release the target; log it. */
void policy_on_loss(struct guard *guard, struct budget *budget, const char *reason);
