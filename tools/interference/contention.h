/* SPDX-License-Identifier: MIT */
/*
 * Contention: how much longer a task takes beside others, and over which channel they slow it down.
 * What is measured comes from a machine: programs on this computer, a file of readings, or a device
 * with jobs of its own, which a program adds.
 */
#pragma once

#include "lib/app.h"
#include "validate/base.h"
#include "validate/measured.h"

enum {
	MAX_CHANNELS = 24,
	LEVELS_MIN = 5, /* fewer rise with the time too often by chance */
	LEVELS_MAX = RANKS_MAX - 1,
	RUNS_MAX = 100,
	CONTENTION_NO_RUN = 1, /* of a machine: there are no more runs */
};

#define DELAY_UNKNOWN UINT64_MAX

/* what slows requests down; a later kind is looked at first, since it brings the earlier ones */
enum channel_kind {
	PATH, /* cycles of a request on its whole path: where is not known */
	WAIT, /* cycles that a request waits or travels */
	HITS, /* of a cache, which the aggressor takes away */
	OTHERS, /* cycles of others' work between the task's */
};

/* how a channel's three events are named in a file */
enum channel_part { COUNTS, MINUS, PER, CHANNEL_PARTS };

/* where the aggressor may slow the task down */
struct channel {
	const char *name;
	enum channel_kind kind;
	/*
	 * events, "" for none: (counts - minus) / per; "time" is that of the task in ns, and
	 * "run-delay" its part in which it waited for a CPU
	 */
	const char *events[CHANNEL_PARTS];
	double ns; /* of a cycle, or of a lost hit */
	uint64_t window; /* requests in flight */
	unsigned int trust; /* enum perfctr_trust, the least of its events */
	const char *missing; /* why it is not measured here, or NULL */
};

/* the task at one level of an aggressor: its quickest run */
struct load {
	uint64_t level; /* 0: the task alone */
	uint64_t time_ns;
	uint64_t max_time_ns; /* of the slowest run */
	uint64_t runs; /* that were measured; one has no spread */
	uint64_t delay_ns; /* for which it could have run, and did not, or DELAY_UNKNOWN */
	/* by channel; the denominator is 0 if the task does not use it */
	uint64_t shown[MAX_CHANNELS][2];
	/* the least and the most that a run showed */
	double min_shown[MAX_CHANNELS], max_shown[MAX_CHANNELS];
};

/* what is known of a channel beside an aggressor */
struct correlation {
	int sign;
	uint64_t squared[2]; /* of the rank correlation with the task's time */
	bool explains; /* enough of the time that the task takes longer */
	bool has_others; /* more requests than alone: others' are counted, too */
	double growth; /* ns of a request, part of all hits, or ns */
	double added_ns; /* of the task's time; what two channels add together counts for both */
	double shared_ns; /* of @added_ns, together with another one */
};

/* what runs: words of a program or of a device's job */
struct work {
	const char *command; /* {LEVEL} stands for the level */
	const char *cpus; /* list of CPUs that it may use, or NULL */
	const char *cgroup; /* folder of a control group to run in, or NULL */
};

struct aggressor {
	const char *name;
	struct work work;
	bool concurrent; /* of a device: beside the GPU */
	struct load points[LEVELS_MAX + 1]; /* the first one is the task alone */
	size_t count;
	const struct load *slowest;
	const struct load *quicker; /* than alone, or NULL */
	struct correlation of[MAX_CHANNELS];
	/* the channels that explain its time, the most important one first */
	size_t named[MAX_CHANNELS], named_count;
};

struct contention_machine;

struct contention {
	struct app *app;
	struct arena arena;
	struct failure failure;
	const char *title;
	struct work task;
	uint64_t jobs; /* of a device: how often the task's job runs; 0: not given */
	uint64_t runs; /* of each level */
	struct channel channels[MAX_CHANNELS];
	size_t channel_count;
	struct aggressor *aggressors;
	size_t aggressor_count;
	struct measured measured; /* its configuration */
	bool baseless; /* beside some aggressor the task is quicker than alone: no baseline */
	const struct contention_machine *machine;
	void *of_machine;
};

/* what measures */
struct contention_machine {
	const char *name; /* as "machine" of a file */
	/* Check what the file says, open what is needed, set channels' @trust and @missing. */
	int (*open)(struct contention *c, const char *device);
	/*
	 * Run the task once.
	 * @a: beside it at @run->level; NULL: alone; @n: number of the run; @run: time_ns and shown
	 * are filled. Return: 0; CONTENTION_NO_RUN; -1 with the failure.
	 */
	int (*measure)(struct contention *c, const struct aggressor *a, uint64_t n,
		       struct load *run);
	/* Return: 0; -1 with the failure: what was measured is not to be used. */
	int (*close)(struct contention *c);
	struct contention_machine *next;
};

/* A program with more machines adds them before main(). @machine: stays until the program ends. */
void contention_add(struct contention_machine *machine);

extern const struct contention_machine contention_programs, contention_readings;

/*
 * Read a file.
 * @path: NULL: the one that is built in; @machine: measures instead of the file's, or NULL.
 * Return: 0; -1 with the failure, which names the place.
 */
int contention_read(struct contention *c, const char *path,
		    const struct contention_machine *machine);

/* --- events of libperfctr's devices, by channel ------------------------------------- */

struct perfctr_selection;
struct perfctr_totals;

/*
 * Add the events of all channels.
 * @optional: a channel that cannot be counted is left out, else it is a failure.
 * Return: how many events are counted; -1 with the failure.
 */
int channels_select(struct contention *c, struct perfctr_selection *selection, bool optional);

/*
 * Take what the channels show.
 * @totals: NULL: nothing was counted; @is_of: which channels are taken, by kind; @run: time_ns is
 * known, or no channel needs it.
 * Return: 0; -1 with the failure.
 */
int channels_take(struct contention *c, struct perfctr_selection *selection,
		  struct perfctr_totals *totals, bool (*is_of)(enum channel_kind kind),
		  struct load *run);

/* Leave out all channels that need an event of the device. */
void channels_lack(struct contention *c, const char *reason);

/* Set what a channel shows, of the values of its events. */
void channel_show(const struct channel *channel, const uint64_t values[CHANNEL_PARTS],
		  uint64_t shown[2]);

/* --- the analysis -------------------------------------------------------------------- */

/* numerator and denominator as a number; 0 of nothing */
double contention_ratio(const uint64_t value[2]);
double contention_slowdown(const struct aggressor *a, const struct load *p);

/* Whether the task takes so much longer that it is not by chance. */
bool contention_slower(const struct aggressor *a);

/* Find the channels of all aggressors, all of whose points are measured. */
void contention_analyse(struct contention *c);

/* --- reports ------------------------------------------------------------------------- */

/* the rank correlation */
double contention_rho(const struct correlation *of);

/* a unit of time in which numbers stay short */
struct time_unit {
	const char *name;
	double ns;
};

/* The unit for times up to @ns; @is_short: ns are one, else us is the least. */
struct time_unit contention_time_unit(double ns, bool is_short);

/* What a channel shows at a load: time of a request or of others, part of all hits, or cycles. */
double contention_shown(const struct channel *channel, const struct load *p, size_t n);

/*
 * The unit of what a channel shows, "ms of a request".
 * @most: the largest value; @scale: set to what values are to be divided by.
 */
const char *contention_unit(const struct channel *channel, double most, double *scale,
			    struct arena *arena);

/*
 * Part of the time that the task takes longer at its slowest level which the named channels add. It
 * is larger than 1 if a window is too small, or if lost hits and what they wait for overlap.
 */
double contention_explained(const struct aggressor *a);

void contention_text(const struct contention *c, FILE *out);
void contention_json(const struct contention *c, FILE *out);
void contention_html(const struct contention *c, FILE *out);
