/* SPDX-License-Identifier: MIT */
/* The DRM clients that a session counts. */
#pragma once

#include "fdinfo.h"
#include "meter.h"

struct client;

/* an event of clients */
struct drm_counter {
	uint64_t name; /* perfctr_hash() of the event's */
	unsigned int config; /* DRM_TIME and so on */
	long pid; /* only clients of this process, 0: of all */
	/* as of the last reading: count since START, or level */
	uint64_t value;
	bool measured;
	bool lost; /* something may be missing; the user resets it */
	/*
	 * Engines that the factor of the event's unit stands for, and that clients show, which may
	 * be more: then the value is that part of their time, so that the share is that of one.
	 */
	unsigned int assumed, engines;
	uint64_t growth, rest; /* since the last reading; what the division left */
	size_t next; /* of the same bucket of processes, from 1; 0: none */
	size_t leader; /* of the clock of a process: the counter of that clock for all clients */
	/* of the clients at the last reading */
	uint64_t sum, largest;
	bool is_here;
	/*
	 * a client had it, of this driver at this place; the clock of an engine, which all
	 * clients show
	 */
	bool seen;
	char driver[64], place[64];
	struct meter clock;
	char *event; /* the event's name, owned; only if @used */
};

/* Called at each reading for each engine of each client: what perfctr_clients_read() says. */
typedef void (*drm_use_fn)(void *arg, const struct perfctr_client_use *use);

/* Clients that ended and are remembered: more than end while a search runs. */
enum { DRM_ENDED_CLIENTS = 1024 };

struct drm_clients {
	struct perfctr_ctx *ctx;
	struct drm_counter *counters;
	size_t counter_count;
	/* the first counter of a process, from 1, by its number; 0: none */
	size_t *processes;
	size_t process_buckets;
	/* all clients by the hash of their key; @known: their number */
	struct client **buckets;
	size_t bucket_count, known;
	/* those that the last search found, or that end since */
	struct client **list;
	size_t count;
	/* those that it did not; @ended_count: of all since START */
	struct client *ended[DRM_ENDED_CLIENTS];
	size_t ended_count;
	bool started; /* a new client is newer than START */
	uint64_t started_ns;
	bool slept; /* at the last search a device did whose clients are not read then */
	uint64_t next_look_ns;
	uint64_t lost_ns; /* longest time that ended clients did not show; the user resets it */
	/* who asks for each client: then each engine that one shows has a counter; NULL: nobody */
	drm_use_fn used;
	void *used_arg;
};

uint64_t perfctr_hash(const char *text);

/* Whether values are counts of clients; a clock is a count of the engine. */
static inline bool drm_is_count(unsigned int config)
{
	return config == DRM_TIME || config == DRM_CYCLES;
}

/*
 * Add a counter, before the first reading.
 * @assumed: engines that the factor of its unit stands for; 0: 1.
 * Return: 0; -ENOMEM.
 */
int drm_clients_add(struct drm_clients *clients, uint64_t name, unsigned int config, long pid,
		    unsigned int assumed);

/* Begin to count: what clients did before does not count. */
void drm_clients_start(struct drm_clients *clients);

/* Bring the values of all counters up to date. */
void drm_clients_read(struct drm_clients *clients, uint64_t now_ns);
void drm_clients_free(struct drm_clients *clients);
