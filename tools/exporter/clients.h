/* SPDX-License-Identifier: MIT */
/* --per-client: who uses GPUs, as series whose number has a bound. */
#pragma once

#include <sys/queue.h>

#include "lib/app.h"

/* where a process is; empty: nowhere of that kind */
struct place {
	char pod[40]; /* its uid, as Kubernetes writes it */
	char container[72];
	char unit[256]; /* "user@1000.service" for all that this user made below it */
	char command[32];
	bool is_users; /* a user may have chosen the container's name */
};

/*
 * Find the pod, container or unit of a process.
 * @cgroup, @command: as in struct perfctr_client_use; @place: filled with UTF-8 in one line.
 */
void place_read(const char *cgroup, const char *command, struct place *place);

enum { DEFAULT_SERIES = 1000 };

/* engines of one kind */
struct use_engine {
	char *event;
	char *labels; /* "gpu=...,engine=..." */
	unsigned int engines;
	unsigned int clients; /* that the last reading saw */
	uint64_t gaps; /* uses that may miss something, mostly at the end of a client */
	uint64_t other_ns; /* of what had no series */
	uint64_t ended_ns; /* of series that are shown no more */
};

/* series that may be dropped, the first shown one first */
TAILQ_HEAD(use_list, use_series);

/* whose series have a bound together */
struct use_owner {
	uint64_t hash; /* of what the places' owner cannot choose */
	size_t count; /* series */
	struct use_list shown;
};

/* a counter of what the clients at one place did on engines of one kind */
struct use_series {
	char *labels; /* all of them */
	uint64_t hash; /* of the labels */
	struct use_owner *owner;
	size_t engine;
	size_t number; /* in the array */
	uint64_t ns;
	bool is_here; /* a client of it was there at the last reading */
	bool is_shown; /* its last total was written since it has none; it is in two lists */
	uint64_t ended_ns; /* since when it has none, by the clock of samples */
	TAILQ_ENTRY(use_series) of_all, of_owner;
};

struct uses {
	struct perfctr_clients *clients;
	struct use_engine *engines;
	size_t engine_count;
	struct use_series **series; /* with room for the next power of two */
	size_t count;
	void *by_labels, *owners; /* trees: the series, their owners */
	struct use_list shown;
	uint64_t limit; /* most series */
	bool failed; /* no memory: something was not counted */
	uint64_t now_ns; /* of the reading */
};

/* Begin. Return: 0 or a negative errno; the caller frees in any case. */
int uses_open(struct app *app, struct uses *uses);

/* Add what the clients did since the last reading. Return: 0; -ENOMEM. */
int uses_read(struct uses *uses);

/* Add what one client did; uses_read() does it for each. */
void uses_take(struct uses *uses, const struct perfctr_client_use *use);

/* Comparisons in all trees so far, for tests: what a client costs when there are many. */
uint64_t uses_comparisons(void);

/* Labels of what has no series on an engine, for the caller to free; NULL: no memory. */
char *uses_other_labels(const struct use_engine *engine);

/* The series that have no client any more were written. */
void uses_shown(struct uses *uses);
void uses_free(struct uses *uses);
