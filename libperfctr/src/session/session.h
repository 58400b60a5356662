/* SPDX-License-Identifier: MIT */
/* A session, and why one is refused. */
#pragma once

#include "counters/selection.h"
#include "link.h"

struct perfctr_session {
	atomic_uint refs;
	struct perfctr_device *device;
	struct perfctr_selection *selection; /* NULL: of perfctr_session_new_raw() */
	struct perfctr_session_sizes sizes;
	uint64_t period_ns;
	uint32_t flags;
	int number; /* as its link knows it, -1: none */
	int eventfd, ring_fd;
	/* the indices, and slot 0; the kernel writes to both */
	struct mapping control, ring;
	atomic_bool has_cursor;
};

static inline struct perfctr_ctx *session_ctx(const struct perfctr_session *session)
{
	return session->device->ctx;
}

/*
 * Whether filters of a request contradict each other: drivers of these PMUs accept them and count
 * nothing. Return: 0, or -EINVAL with the reason as the context's error text.
 */
int refusal_of_filters(struct perfctr_selection *selection, const struct session_setup *setup);

/* Store the reason for an error of open() as the context's error text. */
void refusal_explain(struct perfctr_selection *selection, const struct session_setup *setup,
		     int error);
