/* SPDX-License-Identifier: MIT */
/*
 * Sessions that the broker holds for a client.
 *
 * The client gets a reader of the ring, and keeping it must not cost more than its policy allows.
 * So the memory of a ring counts until its last reader and mapping are gone, even after the client
 * closed the session: the broker stops it, and keeps it until then. A ring that a process of the
 * broker fills is emptied instead: its memory is the broker's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perfctr/perfctr.h>

/* a session, or the memory that is left of one */
struct serve_session {
	uint32_t handle; /* the client's number for it; 0: closed */
	struct perfctr_session *session; /* NULL: only such memory is left */
	int local_ring; /* memory of such a session, else -1 */
	uint64_t bytes; /* size of control area and slots */
	uint64_t period_ns; /* time between samples */
};

/* the sessions of a client */
struct serve_sessions {
	struct perfctr_device *device; /* whose sessions they are */
	struct serve_session *list;
	size_t count;
	uint32_t last_handle;
};

/*
 * Create a session.
 * @sessions: sessions; @device set; @open: from the client, with the requests' address; @layout:
 * set.
 * Return: the session, valid until the next one is made; NULL with *@error a negative errno.
 */
struct serve_session *serve_sessions_open(struct serve_sessions *sessions,
					  const struct drm_perfctr_open *open,
					  struct drm_perfctr_layout *layout, int *error);

/** serve_sessions_find() - the session with a handle, or NULL */
struct serve_session *serve_sessions_find(struct serve_sessions *sessions, uint32_t handle);

/** serve_sessions_close() - stop a session; its memory may be in use for longer */
void serve_sessions_close(struct serve_sessions *sessions, struct serve_session *session);

/*
 * Drop memory that is no longer in use.
 * @bytes: set to the bytes in use, including rings that the client kept; may be NULL.
 * Return: number of sessions, and of ended ones whose memory is in use.
 */
size_t serve_sessions_use(struct serve_sessions *sessions, uint64_t *bytes);
