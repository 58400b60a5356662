// SPDX-License-Identifier: MIT
#include "serve_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

int serve_ioctl(int fd, unsigned long request, void *argument)
{
	int result;

	do {
		result = ioctl(fd, request, argument);
	} while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result < 0 ? -errno : 0;
}

static int teardown(int fd, uint32_t handle)
{
	struct drm_perfctr_control c = {
		.cmd = DRM_PERFCTR_CMD_TEARDOWN,
		.handle = handle,
	};

	return serve_ioctl(fd, DRM_IOCTL_PERFCTR_CONTROL, &c);
}

static int create_buffer(int fd, uint64_t *bytes, uint32_t *handle)
{
	struct drm_perfctr_bo_create create = { .size = *bytes };
	int error = serve_ioctl(fd, DRM_IOCTL_PERFCTR_BO_CREATE, &create);

	if (error)
		return error;
	*bytes = create.size;
	*handle = create.handle;
	return 0;
}

static int export_buffer(int fd, uint32_t handle, uint32_t flags, int *file)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | flags };
	int error = serve_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	if (!error)
		*file = prime.fd;
	return error;
}

static void close_buffer(int fd, uint32_t handle)
{
	struct drm_gem_close close_it = { .handle = handle };

	if (handle)
		serve_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &close_it);
}

static void close_files(struct serve_session *session)
{
	for (size_t i = 0; i < SERVE_FILES; i++) {
		if (session->files[i] >= 0)
			close(session->files[i]);
		session->files[i] = -1;
	}
}

static int make_files(int fd, const struct drm_perfctr_setup *setup, struct serve_session *session)
{
	int error = export_buffer(fd, setup->ring_handle, 0, &session->files[SERVE_RING]);

	if (!error)
		error = export_buffer(fd, setup->control_handle, DRM_RDWR,
				      &session->files[SERVE_CONTROL]);
	return error;
}

static int create(int fd, struct drm_perfctr_setup *setup, struct serve_session *session)
{
	struct drm_perfctr_control c = {
		.cmd = DRM_PERFCTR_CMD_SETUP,
		.size = sizeof(*setup),
		.pointer = (uintptr_t)setup,
	};
	uint64_t ring_bytes = setup->ring_bytes;
	uint64_t control_bytes = sizeof(struct drm_perfctr_ring_control);
	int error;

	session->files[SERVE_EVENTFD] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->files[SERVE_EVENTFD] < 0)
		return -errno;
	error = create_buffer(fd, &ring_bytes, &setup->ring_handle);
	setup->ring_bytes = 0;
	if (!error)
		error = create_buffer(fd, &control_bytes, &setup->control_handle);
	if (!error)
		error = make_files(fd, setup, session);
	if (error)
		return error;
	session->bytes = ring_bytes + control_bytes;
	setup->flags &= ~(uint32_t)DRM_PERFCTR_SETUP_TEST_ONLY;
	setup->eventfd = session->files[SERVE_EVENTFD];
	error = serve_ioctl(fd, DRM_IOCTL_PERFCTR_CONTROL, &c);
	if (!error)
		session->handle = c.handle;
	return error;
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
	*session = (struct serve_session){ .files = { -1, -1, -1 } };
	setup->ring_handle = 0;
	setup->control_handle = 0;
	*error = create(sessions->fd, setup, session);
	/* the session and the dma-bufs hold the memory from here on */
	close_buffer(sessions->fd, setup->ring_handle);
	close_buffer(sessions->fd, setup->control_handle);
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
	if (session->handle)
		teardown(sessions->fd, session->handle);
	session->handle = 0;
	close(session->files[SERVE_EVENTFD]);
	session->files[SERVE_EVENTFD] = -1;
}

/* A dma-buf tells how many files and mappings have it; one of them is ours. */
static bool is_shared(int file)
{
	char path[64], line[128];
	long count = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
	info = fopen(path, "re");
	if (!info)
		/* unknown is not free */
		return true;
	while (fgets(line, sizeof(line), info))
		if (sscanf(line, "count: %ld", &count) == 1)
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

		if (!s->handle && !is_shared(s->files[SERVE_RING]) &&
		    !is_shared(s->files[SERVE_CONTROL])) {
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
