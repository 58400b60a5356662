/* SPDX-License-Identifier: MIT */
/*
 * Sessions that the broker has in the kernel for a client.
 *
 * The client gets files; what it does with them must not cost more than its policy allows. So
 * memory of a ring counts until nobody has it any more, also after the session's end.
 */
#ifndef PERFCTR_SERVE_SESSION_H
#define PERFCTR_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/perfctr_drm.h>

enum serve_file { SERVE_RING, SERVE_EVENTFD, SERVE_FILES };

/* a session, or what is left of one */
struct serve_session {
	uint32_t handle; /* of the kernel, 0: it has ended and only its memory is left */
	uint64_t bytes; /* of control area and slots */
	uint64_t period_ns; /* time between samples */
	int files[SERVE_FILES]; /* ring and eventfd, -1 if closed */
};

/* all of a client */
struct serve_sessions {
	int fd; /* DRM file that they belong to */
	struct serve_session *list;
	size_t count;
};

/**
 * serve_sessions_setup() - create a session
 * @sessions: sessions; @fd set
 * @setup: as the client wants it, with the requests' address; filled in as the kernel does
 *
 * Return: the session, valid until the next one is made; NULL with *@error a negative errno.
 */
struct serve_session *serve_sessions_setup(struct serve_sessions *sessions,
					   struct drm_perfctr_setup *setup, int *error);

/** serve_sessions_find() - the live session with a handle, or NULL */
struct serve_session *serve_sessions_find(struct serve_sessions *sessions, uint32_t handle);

/** serve_sessions_teardown() - end a session; its memory may be in use for longer */
void serve_sessions_teardown(struct serve_sessions *sessions, struct serve_session *session);

/**
 * serve_sessions_use() - forget memory that nobody has any more
 * @sessions: sessions
 * @bytes: set to what is in use, by sessions or by who kept a ring; may be NULL
 *
 * Return: number of sessions and remains.
 */
size_t serve_sessions_use(struct serve_sessions *sessions, uint64_t *bytes);

/** serve_ioctl() - ioctl() that is restarted; return: 0 or a negative errno */
int serve_ioctl(int fd, unsigned long request, void *argument);

#endif /* PERFCTR_SERVE_SESSION_H */
