// SPDX-License-Identifier: MIT
/* Sessions: tests other than those of the ioctls know them by igt_perfctr.h only. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"

int igt_perfctr_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

int igt_perfctr_query(const struct igt_perfctr_device *dev, struct drm_perfctr_query *query)
{
	return igt_perfctr_ioctl(dev->fd, DRM_PERFCTR_IOCTL_QUERY(dev->ioctl_nr), query);
}

unsigned long igt_raw_sized(unsigned long request, uint32_t bytes)
{
	return (request & ~(unsigned long)IOCSIZE_MASK) | (unsigned long)bytes << IOCSIZE_SHIFT;
}

int igt_raw_open(const struct igt_perfctr_device *dev, void *open, uint32_t bytes)
{
	return igt_perfctr_ioctl(dev->fd,
				 igt_raw_sized(DRM_PERFCTR_IOCTL_OPEN(dev->ioctl_nr), bytes), open);
}

struct drm_perfctr_open igt_raw_params(const struct igt_perfctr_session *s)
{
	struct drm_perfctr_open open = s->params;

	if (!open.requests)
		open.requests = (uintptr_t)s->requests;
	return open;
}

static void check_layout(const struct drm_perfctr_layout *l)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	const uint64_t bytes = (uint64_t)l->slots * l->slot_stride;

	igt_assert_eq_u64(l->map_bytes, l->ring_offset + (bytes + page - 1) / page * page);
}

void igt_raw_opened(struct igt_perfctr_session *s, int fd)
{
	igt_assert_lte(0, fd);
	s->fd = fd;
	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_PERFCTR_IOCTL_LAYOUT, &s->layout), 0);
	check_layout(&s->layout);
}

static int send_open(struct igt_perfctr_session *s, struct drm_perfctr_open open)
{
	struct drm_perfctr_layout layout = { 0 };
	int ret;

	open.layout = (uintptr_t)&layout;
	open.layout_size = sizeof(layout);
	ret = igt_raw_open(s->dev, &open, sizeof(open));
	if (ret < 0)
		return ret;
	check_layout(&layout);
	s->layout = layout;
	/* descriptor 0 is the tests' standard input */
	if (open.flags & DRM_PERFCTR_OPEN_CHECK)
		igt_assert_eq(ret, 0);
	else
		s->fd = ret;
	return 0;
}

int igt_perfctr_session_check(struct igt_perfctr_session *s)
{
	struct drm_perfctr_open open = igt_raw_params(s);

	open.flags |= DRM_PERFCTR_OPEN_CHECK;
	open.eventfd = -1;
	return send_open(s, open);
}

int igt_perfctr_session_try_bare(struct igt_perfctr_session *s)
{
	return send_open(s, igt_raw_params(s));
}

int igt_perfctr_session_try_open(struct igt_perfctr_session *s)
{
	struct drm_perfctr_layout checked;
	int ret = igt_perfctr_session_check(s);

	if (ret)
		return ret;
	checked = s->layout;
	ret = igt_perfctr_session_try_bare(s);
	if (ret)
		return ret;
	igt_assert(!memcmp(&s->layout, &checked, sizeof(checked)));
	igt_perfctr_session_map(s);
	return 0;
}

int igt_perfctr_session_probe(struct igt_perfctr_session *s)
{
	int ret = igt_perfctr_session_try_open(s);

	if (!ret)
		igt_perfctr_session_close(s);
	return ret;
}

void igt_perfctr_session_open(struct igt_perfctr_session *s)
{
	igt_assert_eq(igt_perfctr_session_try_open(s), 0);
}

int igt_perfctr_map(int fd, uint64_t offset, size_t bytes, int prot, void **at)
{
	*at = mmap(NULL, bytes, prot, MAP_SHARED, fd, offset);
	return *at == MAP_FAILED ? -errno : 0;
}

void igt_perfctr_session_map(struct igt_perfctr_session *s)
{
	const struct drm_perfctr_layout *l = &s->layout;
	void *at;

	igt_assert_eq(igt_perfctr_map(s->fd, 0, l->ring_offset, PROT_READ | PROT_WRITE, &at), 0);
	s->control = at;
	igt_assert_eq(igt_perfctr_map(s->fd, l->ring_offset, l->map_bytes - l->ring_offset,
				      PROT_READ, &at),
		      0);
	s->ring = at;
}

void igt_perfctr_session_unmap(struct igt_perfctr_session *s)
{
	if (!s->control)
		return;
	munmap(s->ring, s->layout.map_bytes - s->layout.ring_offset);
	munmap(s->control, s->layout.ring_offset);
	s->ring = NULL;
	s->control = NULL;
}

int igt_perfctr_session_reader(const struct igt_perfctr_session *s)
{
	int fd = igt_perfctr_ioctl(s->fd, DRM_PERFCTR_IOCTL_READER, NULL);

	igt_assert_lte(0, fd);
	return fd;
}

/* sessions in static memory that were never used are zero */
static bool is_open(const struct igt_perfctr_session *s)
{
	return s->dev && s->fd >= 0;
}

int igt_perfctr_session_end(struct igt_perfctr_session *s)
{
	int ret = close(s->fd) ? -errno : 0;

	s->fd = -1;
	return ret;
}

void igt_perfctr_session_close(struct igt_perfctr_session *s)
{
	if (is_open(s))
		igt_assert_eq(igt_perfctr_session_end(s), 0);
	igt_perfctr_session_unmap(s);
}

static int command(const struct igt_perfctr_session *s, unsigned long request, uint64_t user_data)
{
	struct drm_perfctr_command arg = { .user_data = user_data };

	return igt_perfctr_ioctl(s->fd, request, &arg);
}

int igt_perfctr_start(struct igt_perfctr_session *s, uint64_t user_data)
{
	s->restarted = true;
	return command(s, DRM_PERFCTR_IOCTL_START, user_data);
}

int igt_perfctr_stop(struct igt_perfctr_session *s, uint64_t user_data)
{
	return command(s, DRM_PERFCTR_IOCTL_STOP, user_data);
}

int igt_perfctr_sample(struct igt_perfctr_session *s, uint64_t user_data)
{
	return command(s, DRM_PERFCTR_IOCTL_SAMPLE, user_data);
}

int igt_perfctr_try_status(const struct igt_perfctr_session *s, struct drm_perfctr_status *status)
{
	return igt_perfctr_ioctl(s->fd, DRM_PERFCTR_IOCTL_STATUS, status);
}

struct drm_perfctr_status igt_perfctr_status(const struct igt_perfctr_session *s)
{
	struct drm_perfctr_status status;

	igt_assert_eq(igt_perfctr_try_status(s, &status), 0);
	return status;
}

uint64_t igt_perfctr_published(const struct igt_perfctr_session *s)
{
	return __atomic_load_n(&s->control->insert_idx, __ATOMIC_ACQUIRE) - DRM_PERFCTR_RING_FIRST;
}

uint64_t igt_perfctr_freed(const struct igt_perfctr_session *s)
{
	return igt_perfctr_status(s).extract_idx - DRM_PERFCTR_RING_FIRST;
}

void igt_perfctr_free_slots(const struct igt_perfctr_session *s, uint64_t samples)
{
	__atomic_store_n(&s->control->extract_idx, DRM_PERFCTR_RING_FIRST + (uint32_t)samples,
			 __ATOMIC_RELEASE);
}
