// SPDX-License-Identifier: MIT
/* Makes and ends the sessions of a client within the limits of its rule. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void forget(struct serve_session *session)
{
	session->session = perfctr_session_unref(session->session);
	if (session->local_ring >= 0)
		close(session->local_ring);
	session->local_ring = -1;
}

struct serve_session *serve_sessions_open(struct serve_sessions *sessions,
					  const struct drm_perfctr_open *open,
					  struct drm_perfctr_layout *layout, int *error)
{
	struct serve_session *list = realloc(sessions->list, (sessions->count + 1) * sizeof(*list));
	struct serve_session *session;
	bool is_hosted;

	*error = -ENOMEM;
	if (!list)
		return NULL;
	sessions->list = list;
	session = &list[sessions->count];
	*session = (struct serve_session){ .local_ring = -1, .period_ns = open->period_ns };
	*error = perfctr_session_new_raw(sessions->device, open, layout, &session->session);
	if (*error)
		return NULL;
	session->bytes = layout->map_bytes;
	/* the memory of a session that a process counts is the broker's own */
	is_hosted = perfctr_device_fd(sessions->device) < 0;
	if (is_hosted)
		session->local_ring = perfctr_session_reader(session->session);
	if (is_hosted && session->local_ring < 0) {
		*error = session->local_ring;
		forget(session);
		return NULL;
	}
	session->handle = ++sessions->last_handle;
	sessions->count++;
	return session;
}

struct serve_session *serve_sessions_find(struct serve_sessions *sessions, uint32_t handle)
{
	for (size_t i = 0; handle && i < sessions->count; i++)
		if (sessions->list[i].handle == handle)
			return &sessions->list[i];
	return NULL;
}

void serve_sessions_close(struct serve_sessions *sessions, struct serve_session *session)
{
	session->handle = 0;
	perfctr_session_stop(session->session, 0);
	if (session->local_ring < 0)
		return;
	session->session = perfctr_session_unref(session->session);
	if (!fallocate(session->local_ring, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		       (off_t)session->bytes))
		forget(session);
}

static bool is_read(const struct serve_session *session)
{
	struct drm_perfctr_status status;

	/* if unknown, assume that it is in use */
	return perfctr_session_status(session->session, &status, sizeof(status)) || status.readers;
}

size_t serve_sessions_use(struct serve_sessions *sessions, uint64_t *bytes)
{
	uint64_t used = 0;
	size_t kept = 0;

	for (size_t i = 0; i < sessions->count; i++) {
		struct serve_session *s = &sessions->list[i];

		if (!s->handle && s->session && !is_read(s))
			forget(s);
		if (!s->handle && !s->session && s->local_ring < 0)
			continue;
		used += s->bytes;
		sessions->list[kept++] = *s;
	}
	sessions->count = kept;
	if (bytes)
		*bytes = used;
	return kept;
}
