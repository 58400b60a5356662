/* SPDX-License-Identifier: MIT */
/*
 * perfctr guard: two processes. The watcher counts and enforces; the supervisor, its parent, runs
 * the command and applies the policy of a loss if the watcher dies or hangs.
 */
#pragma once

#include <poll.h>

#include "lib/app.h"
#include "lib/cgroup.h"
#include "lib/counting.h"
#include "lib/verdicts.h"

/* --- window.c: counts in a sliding window ----------------------------------------------- */

/*
 * Counts of samples in a sliding window, in integers.
 *
 * Where in its span a sample's counts occurred is unknown, so each sample counts as a whole. After
 * a sample the window has the counts of all samples that end after (start of that sample - length).
 * These include all counts of any interval of that length that ends within the sample: no interval
 * exceeds a limit unseen. They exceed the counts of the largest such interval by at most those of
 * two samples.
 */
enum { WINDOW_SAMPLES = 4096 };

struct window {
	uint64_t length_ns;
	/* of the samples, saturated at UINT64_MAX */
	uint64_t counted;
	/* a ring, oldest sample first */
	size_t first, count;
	struct window_sample {
		uint64_t start_ns, end_ns, counts;
	} samples[WINDOW_SAMPLES];
};

/* Add a sample. If there is no room, it joins the one before. Return: the window's counts. */
uint64_t window_add(struct window *window, uint64_t start_ns, uint64_t end_ns, uint64_t counts);

/*
 * Counts that a budget allows in a window: a count, or a rate times the window, rounded down.
 * @text: "20M" (counts), "2G/s", "2GB/s" (per second), "30%" (of @full_hz, counts per second)
 * @full_hz: what 100 % are, 0: unknown
 * Return: 0; -EINVAL no limit; -ERANGE beyond 64 bits; -EDOM percent of an unknown rate.
 */
int window_limit(const char *text, uint64_t length_ns, uint64_t full_hz, uint64_t *limit);

/* --- target.c: what a budget holds, and how ----------------------------------------------- */

enum target_action {
	TARGET_DEFAULT, /* by what the target is */
	TARGET_REPORT, /* nothing */
	TARGET_FREEZE, /* cgroup.freeze, or freezer.state of version 1 */
	TARGET_CPU_MAX, /* cpu.max of the cgroup */
	TARGET_HOLD, /* the GPU's scheduler holds contexts, see holder.h */
};

struct target {
	enum target_action action;
	char *cgroup; /* path as given, then its folder; NULL: none */
	char *counted_in; /* its folder where perf counts, NULL: nowhere */
	bool version_1; /* it is of the freezer of version 1 */
	bool is_inside; /* the guard was moved there, and would hold itself */
	pid_t pid; /* 0: the command, as long as it has no number */
	pid_t tree; /* the process with whose descendants it is held */
	char node[80]; /* TARGET_HOLD: path of the GPU's node */
	const struct context_holder *holder; /* TARGET_HOLD: what holds contexts */
	int node_fd; /* of it while something is held, else -1 */
	bool is_slow; /* its tasks did not freeze in time */
	bool has_context;
	uint32_t context; /* HOLDER_ALL_CONTEXTS: all */
	unsigned int cpu_percent; /* TARGET_CPU_MAX: of one CPU, while held */
	uint64_t inode, counted_inode; /* of the folders */
};

/* The target for people, in @text, which is returned. */
const char *target_text(const struct target *target, char *text, size_t size);

/* "freeze", "cpu.max" and so on */
const char *target_action_name(enum target_action action);

/* Read an action: a name, or "cpu.max:20%". Return: 0; -EINVAL. */
int target_parse_action(const char *text, struct target *target);

/*
 * Check that the target can be held, and release it. To be called before the first hold.
 * @error: set to the reason on failure.
 */
int target_open(struct target *target, char *error, size_t size);

/*
 * Hold or release. A hold returns when the target has stopped: a cgroup when the kernel reports it
 * frozen. Files that are opened later are not held, and others may release: repeat the call.
 * Return: 0 or a negative errno; -ESRCH there is nothing to hold; -ENOENT no such context;
 * -ETIMEDOUT tasks of the cgroup do not freeze, they stay in a system call.
 */
int target_set(struct target *target, bool hold);

/* Whether holding one holds the other, by the same means. */
bool target_overlaps(const struct target *a, const struct target *b);

/* Whether the cgroup, or where it is counted, is another one of that name than at the last call. */
bool target_was_replaced(struct target *target);

/* --- budgets ------------------------------------------------------------------------- */

/* a limit on what a target may count in a window */
struct budget {
	/* as configured */
	char *name, *device, *event, *limit_text;
	char *place; /* of the device that was opened first, see device_place() */
	char node[64]; /* its name now */
	uint32_t given; /* keys, a bit each */
	uint64_t period_ns; /* between samples */
	bool freeze_on_loss; /* the target is held while counts are missing; else released */
	bool allow_untrusted, allow_explained;
	struct target target;
	/* the watcher's */
	struct window window;
	uint64_t limit;
	struct perfctr_device *counts_on;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_totals *totals; /* of the last sample */
	bool wanted; /* a hold */
	bool held; /* it is */
	int error; /* of the last hold or release */
	/* counts are incomplete until a whole window without a loss follows this time; 0: fine */
	uint64_t lost_ns;
	uint64_t retry_ns; /* when to open a lost session again */
	uint64_t seen_ns; /* when the last sample was read */
	uint64_t silent_ns; /* how long it was waited since then */
	uint64_t carried; /* counts of the guard's own samples between those in jobs */
	uint64_t held_since_ns; /* sample that led to the hold */
	uint64_t wanted_since_ns; /* end of the sample that led to a hold to come, 0: none */
	uint64_t wanted_from_ns; /* its beginning */
	uint64_t held_ns; /* of holds since a hold was wanted */
	uint64_t peak; /* most counts in the window since then */
	struct members members; /* of the cgroup */
	bool is_silent; /* no sample came in time, which was said */
	bool had_target, has_ended; /* a process was there; none is left */
	struct {
		uint64_t samples, counted, violations, losses, silences, failures, held_ns;
		uint64_t reactions, reaction_ns, max_reaction_ns, max_overshoot;
		uint64_t worst_reaction_ns; /* from a count to the decision about it */
	} sums;
};

struct guard {
	struct app *app;
	struct budget *budgets;
	size_t count;
	/* options */
	const char *config, *output, *cgroup;
	bool json, quiet, verbose, in_stream, allow_untrusted, allow_explained, stay;
	struct command command;
	pid_t pid; /* of the supervisor */
	FILE *log; /* JSON lines, NULL: none */
	bool log_is_torn; /* the last line could not be written */
	bool log_failed;
	uint64_t *sequence; /* of the last record; both processes have it */
	/* the watcher's */
	int supervisor; /* socket */
	uint64_t beat_ns, look_ns;
	struct pollfd *fds; /* signals, supervisor, sessions */
};

/* --- policy.c ------------------------------------------------------------------------ */

/* The text of -b: words KEY=VALUE. Return: 0 or an exit status, the message was printed. */
int policy_take(const struct app *app, void *guard, const char *text);

/* Read the file of -c. Return: as above. */
int policy_read(const struct app *app, void *guard, const char *path);

/* Check all budgets, and fill in what they leave out. Return: as above. */
int policy_check(struct guard *guard);

void policy_free(struct guard *guard);

/* --- watch.c ------------------------------------------------------------------------- */

/*
 * The watcher: count and enforce until SIGTERM, or until the supervisor dies.
 * @supervisor: socket: gets 'R' once counting has begun, then 'H' at least each GUARD_BEAT_MS.
 * Return: exit status; GUARD_NO_LOG if the log is incomplete, GUARD_NOT_HELD if a hold or a release
 * failed, GUARD_SILENT if samples did not come, or several of them.
 */
int watch_run(struct guard *guard, const struct signals *signals, int supervisor);

/* Find each budget's device, which stays the same if it is lost. Return: 0 or an exit status. */
int watch_find_devices(struct guard *guard);

/* Open what the watcher shares with the command, before both. Return: 0 or an exit status. */
int watch_open(struct guard *guard);
void watch_close(struct guard *guard);

enum {
	GUARD_BEAT_MS = 250,
	GUARD_HANGS_MS = 3000,
	GUARD_SILENT = 16,
	GUARD_NOT_HELD = 32,
	GUARD_NO_LOG = 64
};

/* --- the log, in watch.c ------------------------------------------------------------ */

struct json_object;

/* A record of the log, with the members that all have. */
struct json_object *log_record(const struct guard *guard, const char *kind,
			       const struct budget *budget);
/* Write it to the log, and a line to stderr if there is a format. Readers that stop lose it. */
void log_write(struct guard *guard, const struct budget *budget, struct json_object *record,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Hold or release the target, from that time on; log a loss that was the reason. */
void target_apply(struct guard *guard, struct budget *budget, bool hold, uint64_t ns);
void loss_log(struct guard *guard, struct budget *budget, const char *reason);
