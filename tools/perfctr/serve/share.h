/* SPDX-License-Identifier: MIT */
/*
 * What all clients of one user share: how often they may sample together.
 *
 * Each client is served by a process of its own, so this is memory that the processes share.
 */
#ifndef PERFCTR_SERVE_SHARE_H
#define PERFCTR_SERVE_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SERVE_MAX_CLIENTS = 1024,
	/* periodic sessions of a user together, of the rate that min_period allows one */
	SERVE_USER_SESSIONS = 4,
};

/*
 * clients and users of a broker
 *
 * The broker's first process gives out the places; those that serve clients use them.
 */
struct serve_shared {
	struct {
		pid_t pid; /* of the process that serves it, 0: free */
		uid_t uid;
		/* of its periodic sessions together, in samples per 1000 s */
		_Atomic uint64_t rate;
	} clients[SERVE_MAX_CLIENTS];
	struct {
		uid_t uid;
		/* CLOCK_MONOTONIC from which on a command may reach the hardware */
		_Atomic uint64_t next_ns;
	} users[SERVE_MAX_CLIENTS];
};

/* a client's part of it */
struct serve_share {
	struct serve_shared *shared;
	unsigned int client, user;
};

/** serve_shared_new() - memory for this process and those that it starts; NULL: there is none */
struct serve_shared *serve_shared_new(void);
void serve_shared_free(struct serve_shared *shared);

/**
 * serve_share_take() - a place for a new client
 * @shared: shared memory
 * @uid: its user, who keeps his place until the time of his last command has passed
 * @now_ns: CLOCK_MONOTONIC
 * @share: filled on success; the place is free again unless the process is noted in it
 *
 * Return: whether there was a place.
 */
bool serve_share_take(struct serve_shared *shared, uid_t uid, uint64_t now_ns,
		      struct serve_share *share);

/** serve_share_note() - the process that serves the client */
void serve_share_note(const struct serve_share *share, pid_t pid);

/** serve_share_drop() - the process has ended, and its sessions with it */
void serve_share_drop(struct serve_shared *shared, pid_t pid);

/**
 * serve_share_wait_ns() - when the next command of the user may reach the hardware
 * @share: client
 * @now_ns: CLOCK_MONOTONIC
 * @interval_ns: time that commands of one user are apart, over all of his clients
 *
 * Return: ns to wait; the caller's command comes then, and others after it.
 */
uint64_t serve_share_wait_ns(const struct serve_share *share, uint64_t now_ns,
			     uint64_t interval_ns);

/**
 * serve_share_add_period() - a periodic session begins
 * @share: client
 * @period_ns: of the session, 0: none
 * @min_period_ns: shortest that the policy allows
 *
 * Return: whether the user's sessions stay within SERVE_USER_SESSIONS of the shortest period;
 * if not nothing has changed.
 */
bool serve_share_add_period(const struct serve_share *share, uint64_t period_ns,
			    uint64_t min_period_ns);

/** serve_share_end_period() - a session that was added has ended */
void serve_share_end_period(const struct serve_share *share, uint64_t period_ns);

#endif /* PERFCTR_SERVE_SHARE_H */
