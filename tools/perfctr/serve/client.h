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
 * clients share; @broker: the broker's own socket, for a device whose counters one file has, NULL:
 * none; @fd: connection, taken over.
 */
void serve_client_run(struct app *app, struct serve_log *log, const struct serve_rule *rule,
		      const struct serve_peer *peer, const struct serve_share *share,
		      const char *broker, int fd);

struct client;

/* open the device at a node; return: 0 or a negative errno */
typedef int (*serve_open_fn)(void *data, const char *path, struct perfctr_device **device);

/*
 * The same in steps, for a process with several clients.
 * @share: NULL: the client's own process keeps to the rates.
 * Return: NULL: no memory, @fd is still the caller's.
 */
struct client *serve_client_new(struct app *app, struct serve_log *log,
				const struct serve_rule *rule, const struct serve_peer *peer,
				const struct serve_share *share, int fd);
/* Instead of the client's policy, which its own process applies: open its device by a function. */
void serve_client_set_open(struct client *client, serve_open_fn open, void *data);
/* Take a request that is there. Return: false: the connection has ended. */
bool serve_client_take(struct client *client);
/* The client's device, NULL: none yet. */
const struct perfctr_device *serve_client_device(const struct client *client);
/* End sessions and connection; what the client keeps of rings stays its own. */
void serve_client_end(struct client *client);

/*
 * Send a client the reason why it is not served, and hang up.
 * @fd: connection, taken over; @error: a negative errno.
 */
void serve_client_refuse(int fd, int error, const char *text);
