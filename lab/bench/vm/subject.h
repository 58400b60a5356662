/* SPDX-License-Identifier: MIT */
/* A session that a benchmark in the VM measures. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perfctr/perfctr.h>

struct subject {
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
};

static inline void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

/* @device: NULL: the first one. @select: adds what is counted. The session has started. */
static inline void
subject_open(struct subject *s, const char *device, struct perfctr_session_opts opts,
	     void (*select)(struct subject *s, struct perfctr_selection *selection))
{
	struct perfctr_selection *selection;

	if (perfctr_ctx_new(&s->ctx))
		die("context", strerror(ENOMEM));
	if (perfctr_device_open(s->ctx, device, &s->device))
		die("device", perfctr_ctx_error(s->ctx));
	if (perfctr_selection_new(s->device, &selection))
		die("selection", perfctr_ctx_error(s->ctx));
	select(s, selection);
	if (perfctr_session_new(selection, &opts, &s->session) ||
	    perfctr_cursor_new(s->session, &s->cursor) || perfctr_session_start(s->session, 0))
		die("session", perfctr_ctx_error(s->ctx));
	perfctr_selection_unref(selection);
}

static inline void subject_close(struct subject *s)
{
	perfctr_session_stop(s->session, 0);
	perfctr_cursor_unref(s->cursor);
	perfctr_session_unref(s->session);
	perfctr_device_unref(s->device);
	perfctr_ctx_unref(s->ctx);
}
