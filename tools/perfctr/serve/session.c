// SPDX-License-Identifier: MIT
/* Makes, uses and ends the sessions of a client within the limits of its rule. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/device.h"

static void close_files(struct serve_session *session)
{
	for (size_t i = 0; i < SERVE_FILES; i++) {
		if (session->files[i] >= 0)
			close(session->files[i]);
		session->files[i] = -1;
	}
}

static int create(struct perfctr_device *device, struct drm_perfctr_setup *setup,
		  struct serve_session *session)
{
	int error;

	setup->eventfd = device_is_local(device) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->files[SERVE_EVENTFD] = setup->eventfd;
	if (setup->eventfd < 0 && !device_is_local(device))
		return -errno;
	error = perfctr_device_control(device, DRM_PERFCTR_CMD_SETUP, &session->handle, setup,
				       sizeof(*setup));
	if (error)
		return error;
	session->files[SERVE_RING] = setup->ring_fd;
	session->files[SERVE_EVENTFD] = setup->eventfd;
	session->bytes = setup->ring_offset + setup->ring_bytes;
	session->period_ns = setup->period_ns;
	return 0;
}

struct serve_session *serve_sessions_setup(struct serve_sessions *sessions,
					   struct drm_perfctr_setup *setup, int *error)
{
	struct serve_session *list = realloc(sessions->list, (sessions->count + 1) * sizeof(*list));
	struct serve_session *session;

	*error = -ENOMEM;
	if (!list)
		return NULL;
	sessions->list = list;
	session = &list[sessions->count];
	*session = (struct serve_session){ .files = { -1, -1 } };
	*error = create(sessions->device, setup, session);
	if (*error) {
		close_files(session);
		return NULL;
	}
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

void serve_sessions_teardown(struct serve_sessions *sessions, struct serve_session *session)
{
	const int ring = session->files[SERVE_RING];

	if (session->handle)
		perfctr_device_control(sessions->device, DRM_PERFCTR_CMD_TEARDOWN, &session->handle,
				       NULL, 0);
	session->handle = 0;
	close(session->files[SERVE_EVENTFD]);
	session->files[SERVE_EVENTFD] = -1;
	if (device_is_local(sessions->device) &&
	    !fallocate(ring, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)session->bytes))
		close_files(session);
}

/* The ring's fdinfo has the number of its descriptors and mappings; one is the broker's. */
static bool is_shared(int file)
{
	char path[64], line[128];
	long count = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
	info = fopen(path, "re");
	if (!info)
		/* if unknown, assume that it is in use */
		return true;
	while (fgets(line, sizeof(line), info))
		if (sscanf(line, "users: %ld", &count) == 1)
			break;
	fclose(info);
	return count != 1;
}

size_t serve_sessions_use(struct serve_sessions *sessions, uint64_t *bytes)
{
	uint64_t used = 0;
	size_t kept = 0;

	for (size_t i = 0; i < sessions->count; i++) {
		struct serve_session *s = &sessions->list[i];

		if (!s->handle && (s->files[SERVE_RING] < 0 || !is_shared(s->files[SERVE_RING]))) {
			close_files(s);
			continue;
		}
		used += s->bytes;
		sessions->list[kept++] = *s;
	}
	sessions->count = kept;
	if (bytes)
		*bytes = used;
	return kept;
}
