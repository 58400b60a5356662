/* SPDX-License-Identifier: MIT */
/* One client of the broker, in a process of its own. */
#pragma once

#include "lib/app.h"
#include "log.h"
#include "policy.h"
#include "share.h"

/*
 * Answer a client until the connection ends. Returns when everything of the client is released,
 * including memory that it keeps.
 * @rule: permissions of the client; @peer: its credentials; @share: its slot in the state that all
 * clients share; @fd: connection, taken over.
 */
void serve_client_run(struct app *app, struct serve_log *log, const struct serve_rule *rule,
		      const struct serve_peer *peer, const struct serve_share *share, int fd);

/*
 * Send a client the reason why it is not served, and hang up.
 * @fd: connection, taken over; @error: a negative errno.
 */
void serve_client_refuse(int fd, int error, const char *text);
