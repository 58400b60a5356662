/* SPDX-License-Identifier: MIT */
/*
 * Looks for programs that hang because v3d counts for all: submitting a job with a performance
 * monitor of its own then fails with EAGAIN, which libdrm repeats for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"

struct v3d_watch;

/* Of programs that have a node of a V3D open. NULL: no memory. */
struct v3d_watch *v3d_watch_new(const struct perfctr_sys *sys);
void v3d_watch_free(struct v3d_watch *watch);

/* Whether this process may see the files of all others: root, in the machine's PID namespace. */
bool v3d_watch_allowed(const struct perfctr_sys *sys);

/* Forget what was seen: counting starts. */
void v3d_watch_begin(struct v3d_watch *watch);

/*
 * Look, if it is due at @now_ns; call it at least every 200 ms. A program is suspect if it burns a
 * processor's time and the GPU does nothing for it.
 * Return: whether there is one; @text is its name and number.
 */
bool v3d_watch_look(struct v3d_watch *watch, uint64_t now_ns, char *text, size_t size);

/* Whether the GPU has done something for the suspect since: ask it when nothing counts any more. */
bool v3d_watch_works(struct v3d_watch *watch);
