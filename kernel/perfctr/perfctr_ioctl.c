// SPDX-License-Identifier: GPL-2.0
/*
 * DRM_IOCTL_PERFCTR_CONTROL: parses and validates, nothing else.
 */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "perfctr_internal.h"

/* first version's size: what every caller knows */
#define PERFCTR_REQUEST_SIZE_V1	sizeof(struct drm_perfctr_block_request)
/* no structure is shorter than one word */
#define PERFCTR_STRUCT_SIZE_MIN	sizeof(u64)

static_assert(sizeof(struct drm_perfctr_control) == 24);
static_assert(sizeof(struct drm_perfctr_setup) == 88);
static_assert(sizeof(struct drm_perfctr_block_request) == 56);
static_assert(sizeof(struct drm_perfctr_status) == 104);

static struct drm_perfctr_session *lookup(struct drm_perfctr_file *pf, u32 handle)
{
	struct drm_perfctr_session *session = drm_perfctr_session_get(pf, handle);

	if (!session)
		drm_dbg(pf->pc->drm, "perfctr: handle: no session %u\n", handle);
	return session;
}

/* a command's structure from user space, of any version */
static int copy_in(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		   void *dst, size_t size)
{
	int ret;

	if (control->size < PERFCTR_STRUCT_SIZE_MIN)
		return perfctr_reject(pc, EINVAL, "size: %llu bytes are no structure",
				      control->size);
	if (control->size > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, E2BIG, "size: %llu bytes", control->size);
	ret = copy_struct_from_user(dst, size, u64_to_user_ptr(control->pointer), control->size);
	if (ret == -E2BIG)
		drm_dbg(pc->drm, "perfctr: size: unknown members are not zero\n");
	return ret;
}

/* a structure back to user space: as much as it knows, zeroes beyond what we know */
static int copy_out(const struct drm_perfctr_control *control, const void *src, size_t size)
{
	void __user *dst = u64_to_user_ptr(control->pointer);
	size_t bytes = min_t(u64, control->size, size);

	if (copy_to_user(dst, src, bytes))
		return -EFAULT;
	if (control->size > size && clear_user(dst + size, control->size - size))
		return -EFAULT;
	return 0;
}

/* the rules for one request that need no look at the device */
static int check_request(struct drm_perfctr *pc, const struct drm_perfctr_block_request *r,
			 unsigned int i)
{
	if (r->pad || r->pad2)
		return perfctr_reject(pc, EINVAL, "requests[%u]: pad is not zero", i);
	if (r->flags & ~DRM_PERFCTR_REQUEST_AVAILABLE)
		return perfctr_reject(pc, EINVAL, "requests[%u].flags: 0x%x", i, r->flags);
	if (!r->mask)
		return perfctr_reject(pc, EINVAL, "requests[%u].mask: zero", i);

	if (perfctr_type_is_pmu(r->type)) {
		unsigned int events = perfctr_pmu_events(r->type);

		if (!IS_ENABLED(CONFIG_PERF_EVENTS))
			return perfctr_reject(pc, EOPNOTSUPP, "requests[%u].type: no perf events",
					      i);
		if (!events)
			return perfctr_reject(pc, ENXIO, "requests[%u].type: %u", i, r->type);
		if (r->section)
			return perfctr_reject(pc, ENXIO, "requests[%u].section: %u", i, r->section);
		if (r->set)
			return perfctr_reject(pc, EINVAL, "requests[%u].set: %u", i, r->set);
		if (r->index == DRM_PERFCTR_INDEX_ALL)
			return perfctr_reject(pc, EINVAL,
					      "requests[%u].index: all is for GPU blocks", i);
		if (r->flags)
			return perfctr_reject(pc, EINVAL, "requests[%u].flags: for GPU blocks", i);
		if (r->mask & ~GENMASK_ULL(events - 1, 0))
			return perfctr_reject(pc, EINVAL,
					      "requests[%u].mask: type %u has %u events",
					      i, r->type, events);
		if (r->cpu < DRM_PERFCTR_CPU_ANY)
			return perfctr_reject(pc, EINVAL, "requests[%u].cpu: %d", i, r->cpu);
		return 0;
	}

	if (r->cpu || r->pmu_type || r->config || r->config1 || r->config2)
		return perfctr_reject(pc, EINVAL, "requests[%u]: SoC fields on a GPU block", i);
	if (r->set >= 32 || !(pc->config.sets & BIT(r->set)))
		return perfctr_reject(pc, EOPNOTSUPP, "requests[%u].set: no set %u", i, r->set);
	if (r->section >= PERFCTR_SECTIONS_MAX)
		return perfctr_reject(pc, ENXIO, "requests[%u].section: %u", i, r->section);
	return 0;
}

static int check_requests(struct drm_perfctr *pc, const struct drm_perfctr_setup *setup,
			  const struct drm_perfctr_block_request *requests)
{
	unsigned int i, soc_counters = 0;
	int set = -1;

	for (i = 0; i < setup->request_count; i++) {
		int ret = check_request(pc, &requests[i], i);

		if (ret)
			return ret;
		if (perfctr_type_is_pmu(requests[i].type)) {
			soc_counters += hweight64(requests[i].mask);
			if (soc_counters > DRM_PERFCTR_MAX_SOC_COUNTERS)
				return perfctr_reject(pc, E2BIG,
						      "requests[%u].mask: more than %u SoC counters",
						      i, DRM_PERFCTR_MAX_SOC_COUNTERS);
			continue;
		}
		if (set >= 0 && requests[i].set != set)
			return perfctr_reject(pc, EINVAL, "requests[%u].set: %u, others have %d",
					      i, requests[i].set, set);
		set = requests[i].set;
	}
	return 0;
}

static struct drm_perfctr_block_request *copy_requests(struct drm_perfctr *pc,
						       const struct drm_perfctr_setup *setup)
{
	u8 __user *from = u64_to_user_ptr(setup->requests);
	struct drm_perfctr_block_request *requests;
	unsigned int i;
	int ret;

	requests = kvcalloc(setup->request_count, sizeof(*requests), PERFCTR_GFP_USER);
	if (!requests)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < setup->request_count; i++) {
		ret = copy_struct_from_user(&requests[i], sizeof(requests[i]),
					    from + (size_t)i * setup->request_stride,
					    setup->request_stride);
		if (ret) {
			drm_dbg(pc->drm, "perfctr: requests[%u]: %d\n", i, ret);
			goto err;
		}
	}
	ret = check_requests(pc, setup, requests);
	if (ret)
		goto err;
	return requests;

err:
	kvfree(requests);
	return ERR_PTR(ret);
}

static int check_period(struct drm_perfctr *pc, u64 period_ns)
{
	if (!period_ns)
		return 0;
	if (period_ns < PERFCTR_MIN_PERIOD_NS || period_ns > PERFCTR_MAX_PERIOD_NS)
		return perfctr_reject(pc, ERANGE, "period_ns: %llu is not in %llu..%llu", period_ns,
				      PERFCTR_MIN_PERIOD_NS, PERFCTR_MAX_PERIOD_NS);
	if (period_ns < perfctr_min_period_ns())
		return perfctr_reject(pc, EPERM,
				      "period_ns: below %llu needs CAP_PERFMON (sysctl dev.perfctr.max_sample_rate_hz)",
				      perfctr_min_period_ns());
	return 0;
}

/* the rules for SETUP that need no look at the device */
static int check_setup(struct drm_perfctr *pc, const struct drm_perfctr_setup *setup)
{
	if (setup->flags & ~(DRM_PERFCTR_SETUP_TEST_ONLY | DRM_PERFCTR_SETUP_KEEP_AWAKE |
			     DRM_PERFCTR_SETUP_AUTOMATIC))
		return perfctr_reject(pc, EINVAL, "flags: 0x%x", setup->flags);
	if (setup->pad)
		return perfctr_reject(pc, EINVAL, "pad is not zero");
	if (!is_power_of_2(setup->slots))
		return perfctr_reject(pc, EINVAL, "slots: %u is no power of two", setup->slots);
	if (setup->slots > PERFCTR_MAX_SLOTS)
		return perfctr_reject(pc, ERANGE, "slots: %u is above %u", setup->slots,
				      PERFCTR_MAX_SLOTS);
	if (setup->ring_offset % DRM_PERFCTR_SLOT_ALIGN)
		return perfctr_reject(pc, EINVAL, "ring_offset: %llu is no multiple of %u",
				      setup->ring_offset, DRM_PERFCTR_SLOT_ALIGN);
	if (setup->control_offset % DRM_PERFCTR_SLOT_ALIGN)
		return perfctr_reject(pc, EINVAL, "control_offset: %llu is no multiple of %u",
				      setup->control_offset, DRM_PERFCTR_SLOT_ALIGN);
	if (setup->eventfd < -1)
		return perfctr_reject(pc, EBADF, "eventfd: %d", setup->eventfd);
	if (setup->watermark > setup->slots)
		return perfctr_reject(pc, EINVAL, "watermark: %u is above slots", setup->watermark);
	if (!setup->request_count)
		return perfctr_reject(pc, EINVAL, "request_count: zero");
	if (setup->request_count > PERFCTR_MAX_REQUESTS)
		return perfctr_reject(pc, E2BIG, "request_count: %u is above %u",
				      setup->request_count, PERFCTR_MAX_REQUESTS);
	if (setup->request_stride < PERFCTR_REQUEST_SIZE_V1 || setup->request_stride % 8 ||
	    setup->request_stride > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, EINVAL, "request_stride: %u", setup->request_stride);
	if (setup->flags & DRM_PERFCTR_SETUP_TEST_ONLY &&
	    (setup->ring_handle || setup->control_handle || setup->ring_offset ||
	     setup->control_offset || setup->eventfd != -1))
		return perfctr_reject(pc, EINVAL, "TEST_ONLY takes no buffers and no eventfd");
	return check_period(pc, setup->period_ns);
}

/* nothing may follow that can fail: user space owns the handle from here on */
static int publish_handle(struct drm_perfctr_file *pf, struct drm_perfctr_session *session,
			  u32 *handle)
{
	int ret;

	ret = xa_alloc_cyclic(&pf->sessions, handle, session, XA_LIMIT(1, INT_MAX),
			      &pf->next_handle, PERFCTR_GFP_USER);
	return ret < 0 ? ret : 0;
}

static int control_setup(struct drm_perfctr_file *pf, struct drm_perfctr_control *control,
			 struct drm_file *file)
{
	struct drm_perfctr_block_request *requests;
	struct drm_perfctr_session *session;
	struct drm_perfctr *pc = pf->pc;
	struct drm_perfctr_setup setup;
	int ret;

	ret = copy_in(pc, control, &setup, sizeof(setup));
	if (ret)
		return ret;
	ret = check_setup(pc, &setup);
	if (ret)
		return ret;
	if (!perfctr_may_observe())
		return perfctr_reject(pc, EACCES,
				      "counters need CAP_PERFMON or sysctl dev.perfctr.paranoid=0");

	requests = copy_requests(pc, &setup);
	if (IS_ERR(requests))
		return PTR_ERR(requests);

	if (atomic_inc_return(&pf->session_count) > PERFCTR_MAX_SESSIONS_FILE) {
		ret = perfctr_reject(pc, EMFILE, "%u sessions in this file",
				     PERFCTR_MAX_SESSIONS_FILE);
		goto out_uncount;
	}
	session = perfctr_session_create(pc, &setup, requests, file);
	ret = PTR_ERR_OR_ZERO(session);
	if (ret)
		goto out_uncount;

	ret = copy_out(control, &setup, sizeof(setup));
	if (ret || !session)
		goto out_teardown;
	ret = publish_handle(pf, session, &control->handle);
	if (ret)
		goto out_teardown;
	kvfree(requests);
	return 0;

out_teardown:
	if (session)
		perfctr_session_teardown(session);
out_uncount:
	atomic_dec(&pf->session_count);
	kvfree(requests);
	return ret;
}

static int control_teardown(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control)
{
	struct drm_perfctr_session *session;

	if (control->size || control->pointer)
		return perfctr_reject(pf->pc, EINVAL, "TEARDOWN has no structure");
	/* whoever takes it out of the table owns it: no second teardown can */
	session = xa_erase(&pf->sessions, control->handle);
	if (!session)
		return perfctr_reject(pf->pc, ENOENT, "handle: no session %u", control->handle);
	perfctr_session_teardown(session);
	atomic_dec(&pf->session_count);
	return 0;
}

typedef int (*perfctr_tagged_cmd)(struct drm_perfctr_session *session, u64 user_data);

static_assert(sizeof(struct drm_perfctr_start) == sizeof(u64));
static_assert(sizeof(struct drm_perfctr_stop) == sizeof(u64));
static_assert(sizeof(struct drm_perfctr_sample) == sizeof(u64));

/* START, STOP and SAMPLE: their structures hold user_data and nothing else */
static int control_tagged(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control,
			  perfctr_tagged_cmd cmd)
{
	struct drm_perfctr_session *session;
	u64 user_data;
	int ret;

	ret = copy_in(pf->pc, control, &user_data, sizeof(user_data));
	if (ret)
		return ret;
	session = lookup(pf, control->handle);
	if (!session)
		return -ENOENT;
	ret = cmd(session, user_data);
	drm_perfctr_session_put(session);
	return ret;
}

static int control_status(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control)
{
	struct drm_perfctr_session *session;
	struct drm_perfctr_status status;
	int ret;

	if (control->size < PERFCTR_STRUCT_SIZE_MIN)
		return perfctr_reject(pf->pc, EINVAL, "size: %llu bytes are no structure",
				      control->size);
	if (control->size > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pf->pc, E2BIG, "size: %llu bytes", control->size);
	session = lookup(pf, control->handle);
	if (!session)
		return -ENOENT;
	ret = perfctr_session_status(session, &status);
	drm_perfctr_session_put(session);
	return ret ?: copy_out(control, &status, sizeof(status));
}

static u64 struct_size_of(u32 cmd)
{
	switch (cmd) {
	case DRM_PERFCTR_CMD_SETUP:
		return sizeof(struct drm_perfctr_setup);
	case DRM_PERFCTR_CMD_START:
		return sizeof(struct drm_perfctr_start);
	case DRM_PERFCTR_CMD_STOP:
		return sizeof(struct drm_perfctr_stop);
	case DRM_PERFCTR_CMD_SAMPLE:
		return sizeof(struct drm_perfctr_sample);
	case DRM_PERFCTR_CMD_STATUS:
		return sizeof(struct drm_perfctr_status);
	default:
		return 0;
	}
}

/**
 * drm_perfctr_control_ioctl() - DRM_IOCTL_PERFCTR_CONTROL
 * @pf: sessions of the file
 * @data: struct drm_perfctr_control in kernel memory
 * @file: the file, owner of the buffers that SETUP names
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int drm_perfctr_control_ioctl(struct drm_perfctr_file *pf, void *data, struct drm_file *file)
{
	struct drm_perfctr_control *control = data;

	if (!control->pointer && struct_size_of(control->cmd)) {
		control->size = struct_size_of(control->cmd);
		return 0;
	}

	switch (control->cmd) {
	case DRM_PERFCTR_CMD_SETUP:
		return control_setup(pf, control, file);
	case DRM_PERFCTR_CMD_TEARDOWN:
		return control_teardown(pf, control);
	case DRM_PERFCTR_CMD_START:
		return control_tagged(pf, control, perfctr_session_start);
	case DRM_PERFCTR_CMD_STOP:
		return control_tagged(pf, control, perfctr_session_stop);
	case DRM_PERFCTR_CMD_SAMPLE:
		return control_tagged(pf, control, perfctr_session_sample);
	case DRM_PERFCTR_CMD_STATUS:
		return control_status(pf, control);
	default:
		return perfctr_reject(pf->pc, EINVAL, "cmd: %u", control->cmd);
	}
}
EXPORT_SYMBOL_GPL(drm_perfctr_control_ioctl);

/**
 * drm_perfctr_file_open() - prepare a file for sessions
 * @pc: the counters
 * @pf: embedded in the driver's file; the driver's open calls this
 *
 * Returns: 0; cannot fail today.
 */
int drm_perfctr_file_open(struct drm_perfctr *pc, struct drm_perfctr_file *pf)
{
	pf->pc = pc;
	pf->next_handle = 1;
	atomic_set(&pf->session_count, 0);
	xa_init_flags(&pf->sessions, XA_FLAGS_ALLOC1);
	return 0;
}
EXPORT_SYMBOL_GPL(drm_perfctr_file_open);

/**
 * drm_perfctr_file_close() - end all sessions of a file
 * @pf: the file; the driver's postclose calls this
 */
void drm_perfctr_file_close(struct drm_perfctr_file *pf)
{
	struct drm_perfctr_session *session;
	unsigned long handle;

	xa_for_each(&pf->sessions, handle, session) {
		xa_erase(&pf->sessions, handle);
		perfctr_session_teardown(session);
	}
	xa_destroy(&pf->sessions);
}
EXPORT_SYMBOL_GPL(drm_perfctr_file_close);

/**
 * drm_perfctr_show_fdinfo() - what a file has of the counters, for whoever may look at its process
 * @p: where to; keys in the form of Documentation/gpu/drm-usage-stats.rst
 * @pf: the file
 *
 * From the driver's show_fdinfo. "perfctr-sessions" and, of these, "perfctr-active" are numbers;
 * "perfctr-memory" are the buffers that they hold, where one that several share counts for each;
 * "perfctr-set" is the number of the counter set that they keep from others' SETUP of another one,
 * and is missing if there is none.
 */
void drm_perfctr_show_fdinfo(struct drm_printer *p, struct drm_perfctr_file *pf)
{
	unsigned int sessions = 0, active = 0;
	struct drm_perfctr_session *session;
	struct drm_perfctr *pc = pf->pc;
	unsigned long handle;
	u64 bytes = 0;
	int set = -1;

	mutex_lock(&pc->lock);
	/* none of them goes while it is in the table */
	xa_lock(&pf->sessions);
	xa_for_each(&pf->sessions, handle, session) {
		sessions++;
		active += session->active;
		bytes += session->pinned_bytes;
		if (session->holds_set)
			set = session->set;
	}
	xa_unlock(&pf->sessions);
	mutex_unlock(&pc->lock);

	drm_printf(p, "perfctr-sessions:\t%u\n", sessions);
	drm_printf(p, "perfctr-active:\t%u\n", active);
	drm_printf(p, "perfctr-memory:\t%llu KiB\n", bytes / SZ_1K);
	if (set >= 0)
		drm_printf(p, "perfctr-set:\t%d\n", set);
}
EXPORT_SYMBOL_GPL(drm_perfctr_show_fdinfo);
