/* SPDX-License-Identifier: MIT */
/*
 * State that all clients of one user share: how often they may sample together.
 *
 * Each client has a process of its own, so this is memory that the processes share.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SERVE_MAX_CLIENTS = 1024,
	/* total rate of a user's periodic sessions, in sessions at min_period */
	SERVE_USER_SESSIONS = 4,
};

/*
 * clients and users of a broker
 *
 * The broker's first process assigns the slots; the processes that serve clients use them.
 */
struct serve_shared {
	struct {
		pid_t pid; /* process that serves it, 0: free */
		uid_t uid;
		_Atomic uint64_t rate; /* total of its periodic sessions, in samples per 1000 s */
	} clients[SERVE_MAX_CLIENTS];
	struct {
		uid_t uid;
		/* CLOCK_MONOTONIC_RAW before which no command may reach the hardware */
		_Atomic uint64_t next_ns;
	} users[SERVE_MAX_CLIENTS];
};

/* a client's slot */
struct serve_share {
	struct serve_shared *shared;
	unsigned int client, user;
};

/** serve_shared_new() - memory shared with child processes; NULL: no memory */
struct serve_shared *serve_shared_new(void);
void serve_shared_free(struct serve_shared *shared);

/*
 * Reserve a slot for a new client.
 * @uid: its user, whose slot stays reserved until the time of the last command; @now_ns:
 * CLOCK_MONOTONIC_RAW; @share: filled on success; the slot stays free until serve_share_note().
 * Return: whether there was a slot.
 */
bool serve_share_take(struct serve_shared *shared, uid_t uid, uint64_t now_ns,
		      struct serve_share *share);

/** serve_share_note() - set the process that serves the client */
void serve_share_note(const struct serve_share *share, pid_t pid);

/** serve_share_drop() - free the slot of a process that has ended */
void serve_share_drop(struct serve_shared *shared, pid_t pid);

/*
 * When the next command of the user may reach the hardware.
 * @now_ns: CLOCK_MONOTONIC_RAW; @interval_ns: least interval between commands of one user, over all
 * clients.
 * Return: ns to wait; that instant is reserved for the caller's command.
 */
uint64_t serve_share_wait_ns(const struct serve_share *share, uint64_t now_ns,
			     uint64_t interval_ns);

/*
 * Add a periodic session.
 * @period_ns: of the session, 0: none; @min_period_ns: shortest that the policy allows.
 * Return: whether the user's sessions stay within SERVE_USER_SESSIONS of the shortest period; if
 * not, nothing changes.
 */
bool serve_share_add_period(const struct serve_share *share, uint64_t period_ns,
			    uint64_t min_period_ns);

/** serve_share_end_period() - remove a periodic session */
void serve_share_end_period(const struct serve_share *share, uint64_t period_ns);
