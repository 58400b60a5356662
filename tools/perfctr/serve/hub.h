/* SPDX-License-Identifier: MIT */
/*
 * The process that counts for all clients what only one file may have: a GPU whose driver gives its
 * counters to one file at a time. Clients' processes are its clients, by the broker's protocol.
 */
#pragma once

#include "lib/app.h"

/*
 * Serve the connections that come as files through a socket, until it is closed.
 * @control: SOCK_SEQPACKET, taken over.
 */
void serve_hub_run(struct app *app, int control);

/* Pass a connection on to a hub. @fd: taken over. Return: 0 or a negative errno. */
int serve_hub_pass(int control, int fd);
