/* SPDX-License-Identifier: MIT */
/*
 * Sessions that the broker holds for a client.
 *
 * The client gets file descriptors, and keeping them must not cost more than its policy allows. So
 * the memory of a ring counts until its last descriptor and mapping are gone, even after the
 * session's end. A ring of the local device is emptied instead: its memory is the broker's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perfctr/perfctr.h>

enum serve_file { SERVE_RING, SERVE_EVENTFD, SERVE_FILES };

/* a session, or the memory that is left of one */
struct serve_session {
	uint32_t handle; /* 0: ended, only its memory is left */
	uint64_t bytes; /* size of control area and slots */
	uint64_t period_ns; /* time between samples */
	int files[SERVE_FILES]; /* ring and eventfd, -1 if closed */
};

/* the sessions of a client */
struct serve_sessions {
	struct perfctr_device *device; /* whose sessions they are */
	struct serve_session *list;
	size_t count;
};

/*
 * Create a session.
 * @sessions: sessions; @device set; @setup: from the client, with the requests' address; the kernel
 * fills it in.
 * Return: the session, valid until the next one is made; NULL with *@error a negative errno.
 */
struct serve_session *serve_sessions_setup(struct serve_sessions *sessions,
					   struct drm_perfctr_setup *setup, int *error);

/** serve_sessions_find() - the live session with a handle, or NULL */
struct serve_session *serve_sessions_find(struct serve_sessions *sessions, uint32_t handle);

/** serve_sessions_teardown() - end a session; its memory may be in use for longer */
void serve_sessions_teardown(struct serve_sessions *sessions, struct serve_session *session);

/*
 * Drop memory that is no longer in use.
 * @bytes: set to the bytes in use, including rings that the client kept; may be NULL.
 * Return: number of sessions, and of ended ones whose memory is in use.
 */
size_t serve_sessions_use(struct serve_sessions *sessions, uint64_t *bytes);
