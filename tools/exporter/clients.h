/* SPDX-License-Identifier: MIT */
/* --per-client: who uses GPUs, as series whose number has a bound. */
#pragma once

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

/* a counter of what the clients at one place did on engines of one kind */
struct use_series {
	char *labels; /* all of them */
	uint64_t hash; /* of the labels */
	uint64_t owner; /* hash of what the place's owner cannot choose */
	size_t engine;
	uint64_t ns;
	bool is_here; /* a client of it was there at the last reading */
	bool is_shown; /* its last total was written since it has none */
	uint64_t ended_ns; /* since when it has none, by the clock of samples */
};

struct uses {
	struct perfctr_clients *clients;
	struct use_engine *engines;
	size_t engine_count;
	struct use_series *series;
	size_t count;
	uint64_t limit; /* most series */
	bool failed; /* no memory: something was not counted */
	uint64_t now_ns; /* of the reading */
};

/* Begin. Return: 0 or a negative errno; the caller frees in any case. */
int uses_open(struct app *app, struct uses *uses);

/* Add what the clients did since the last reading. Return: 0; -ENOMEM. */
int uses_read(struct uses *uses);

/* Labels of what has no series on an engine, for the caller to free; NULL: no memory. */
char *uses_other_labels(const struct use_engine *engine);

/* The series that have no client any more were written. */
void uses_shown(struct uses *uses);
void uses_free(struct uses *uses);
