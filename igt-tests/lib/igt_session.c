// SPDX-License-Identifier: MIT
/*
 * Sessions on today's interface: CONTROL with a handle, and a descriptor for the ring. Tests other
 * than those of the raw commands know sessions by igt_perfctr.h only.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"

int igt_perfctr_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

int igt_perfctr_query(int fd, struct drm_perfctr_query *query)
{
	return igt_perfctr_ioctl(fd, DRM_IOCTL_PERFCTR_QUERY, query);
}

int igt_raw_control(int fd, uint32_t cmd, uint32_t *handle, void *arg, uint64_t size)
{
	struct drm_perfctr_control control = {
		.cmd = cmd,
		.handle = handle ? *handle : 0,
		.size = size,
		.pointer = (uintptr_t)arg,
	};
	int ret = igt_perfctr_ioctl(fd, DRM_IOCTL_PERFCTR_CONTROL, &control);

	if (!ret && handle)
		*handle = control.handle;
	return ret;
}

struct drm_perfctr_setup igt_raw_setup(const struct igt_perfctr_session *s)
{
	const struct igt_perfctr_params *p = &s->params;

	return (struct drm_perfctr_setup){
		.flags = p->flags,
		.slots = p->slots,
		.period_ns = p->period_ns,
		.eventfd = p->eventfd,
		.watermark = p->watermark,
		.requests = p->requests ? p->requests : (uintptr_t)s->requests,
		.request_count = p->request_count,
		.request_stride = p->request_stride,
		.reserved = { p->reserved[0], p->reserved[1] },
		.ring_fd = -1,
	};
}

static struct igt_perfctr_layout layout_of(const struct drm_perfctr_setup *setup)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	const uint64_t bytes = setup->ring_offset + (setup->ring_bytes + page - 1) / page * page;

	igt_assert_eq_u64(setup->ring_bytes, (uint64_t)setup->slots * setup->slot_stride);
	igt_assert_lte_u64(setup->ring_offset, bytes);
	igt_assert_lte_u64(bytes, UINT32_MAX);
	return (struct igt_perfctr_layout){
		.slots = setup->slots,
		.slot_stride = setup->slot_stride,
		.sample_size = setup->sample_size,
		.block_count = setup->block_count,
		.ring_offset = setup->ring_offset,
		.map_bytes = bytes,
	};
}

void igt_raw_opened(struct igt_perfctr_session *s, const struct drm_perfctr_setup *setup,
		    uint32_t handle)
{
	igt_assert(handle != 0);
	igt_assert_lte(0, setup->ring_fd);
	s->layout = layout_of(setup);
	s->fd = setup->ring_fd;
	s->handle = handle;
}

static int send_setup(struct igt_perfctr_session *s, struct drm_perfctr_setup setup)
{
	uint32_t handle = 0;
	int ret =
		igt_raw_control(s->dev->fd, DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup));

	if (ret)
		return ret;
	if (!(setup.flags & IGT_PERFCTR_CHECK)) {
		igt_raw_opened(s, &setup, handle);
		return 0;
	}
	igt_assert_eq_u32(handle, 0);
	igt_assert_eq(setup.ring_fd, -1);
	s->layout = layout_of(&setup);
	return 0;
}

int igt_perfctr_session_check(struct igt_perfctr_session *s)
{
	struct drm_perfctr_setup setup = igt_raw_setup(s);

	setup.flags |= IGT_PERFCTR_CHECK;
	setup.eventfd = -1;
	return send_setup(s, setup);
}

int igt_perfctr_session_try_bare(struct igt_perfctr_session *s)
{
	return send_setup(s, igt_raw_setup(s));
}

int igt_perfctr_session_try_open(struct igt_perfctr_session *s)
{
	struct igt_perfctr_layout checked;
	int ret = igt_perfctr_session_check(s);

	if (ret)
		return ret;
	checked = s->layout;
	ret = igt_perfctr_session_try_bare(s);
	if (ret)
		return ret;
	igt_assert_eq_u32(s->layout.slots, checked.slots);
	igt_assert_eq_u32(s->layout.slot_stride, checked.slot_stride);
	igt_assert_eq_u32(s->layout.sample_size, checked.sample_size);
	igt_assert_eq_u32(s->layout.block_count, checked.block_count);
	igt_assert_eq_u32(s->layout.ring_offset, checked.ring_offset);
	igt_assert_eq_u32(s->layout.map_bytes, checked.map_bytes);
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
	const struct igt_perfctr_layout *l = &s->layout;
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
	int fd = dup(s->fd);

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
	int ret = igt_raw_control(s->dev->fd, DRM_PERFCTR_CMD_TEARDOWN, &s->handle, NULL, 0);

	/* who ended it earlier has closed the descriptor */
	if (is_open(s) && ret != -IGT_PERFCTR_ENDED)
		close(s->fd);
	s->fd = -1;
	s->handle = 0;
	return ret;
}

void igt_perfctr_session_close(struct igt_perfctr_session *s)
{
	if (is_open(s))
		igt_assert_eq(igt_perfctr_session_end(s), 0);
	igt_perfctr_session_unmap(s);
}

void igt_perfctr_session_drop(struct igt_perfctr_session *s)
{
	if (is_open(s))
		close(s->fd);
	s->fd = -1;
	igt_perfctr_session_unmap(s);
}

static int tagged(const struct igt_perfctr_session *s, uint32_t cmd, uint64_t user_data)
{
	uint32_t handle = s->handle;

	return igt_raw_control(s->dev->fd, cmd, &handle, &user_data, sizeof(user_data));
}

int igt_perfctr_start(struct igt_perfctr_session *s, uint64_t user_data)
{
	s->restarted = true;
	return tagged(s, DRM_PERFCTR_CMD_START, user_data);
}

int igt_perfctr_stop(struct igt_perfctr_session *s, uint64_t user_data)
{
	return tagged(s, DRM_PERFCTR_CMD_STOP, user_data);
}

int igt_perfctr_sample(struct igt_perfctr_session *s, uint64_t user_data)
{
	return tagged(s, DRM_PERFCTR_CMD_SAMPLE, user_data);
}

int igt_perfctr_try_status(const struct igt_perfctr_session *s, struct igt_perfctr_status *status)
{
	struct drm_perfctr_status st;
	uint32_t handle = s->handle;
	int ret = igt_raw_control(s->dev->fd, DRM_PERFCTR_CMD_STATUS, &handle, &st, sizeof(st));

	if (ret)
		return ret;
	*status = (struct igt_perfctr_status){
		.flags = st.flags,
		.slots = st.slots,
		.published = st.insert_idx,
		.freed = st.extract_idx,
		.merged = st.merged_periods,
		.merged_others = st.merged_others,
		.pending = st.pending_merged,
		.lost_ns = st.lost_ns,
		.errors = st.errors,
		.overflows = st.overflows,
		.resets = st.resets,
		.bad_extract = st.bad_extract,
		.ring_full = st.ring_full,
		.wakeups = st.wakeups,
	};
	return 0;
}

struct igt_perfctr_status igt_perfctr_status(const struct igt_perfctr_session *s)
{
	struct igt_perfctr_status status;

	igt_assert_eq(igt_perfctr_try_status(s, &status), 0);
	return status;
}

uint64_t igt_perfctr_published(const struct igt_perfctr_session *s)
{
	return __atomic_load_n(&s->control->insert_idx, __ATOMIC_ACQUIRE);
}

void igt_perfctr_free_slots(const struct igt_perfctr_session *s, uint64_t samples)
{
	__atomic_store_n(&s->control->extract_idx, samples, __ATOMIC_RELEASE);
}
