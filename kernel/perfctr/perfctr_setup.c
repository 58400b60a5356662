// SPDX-License-Identifier: GPL-2.0
/*
 * SETUP: validates userspace's request and creates a session.
 */
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "perfctr_internal.h"
#include "pmu/pmu.h"

#define KNOWN_SETUP_FLAGS \
	(DRM_PERFCTR_SETUP_TEST_ONLY | DRM_PERFCTR_SETUP_KEEP_AWAKE | DRM_PERFCTR_SETUP_AUTOMATIC)
#define KNOWN_REQUEST_FLAGS \
	(DRM_PERFCTR_REQUEST_AVAILABLE | DRM_PERFCTR_REQUEST_PMU)

static_assert(sizeof(struct drm_perfctr_setup) == 88);
static_assert(sizeof(struct drm_perfctr_block_request) == 56);

/* --- rules that do not depend on the device's state ---------------------- */

static int check_request(struct drm_perfctr *pc, const struct drm_perfctr_block_request *r,
			 unsigned int i)
{
	if (r->pad || r->pad2)
		return perfctr_reject(pc, EINVAL, "requests[%u]: pad is not zero", i);
	if (r->flags & ~KNOWN_REQUEST_FLAGS)
		return perfctr_reject(pc, EINVAL, "requests[%u].flags: 0x%x", i, r->flags);
	if (!r->mask)
		return perfctr_reject(pc, EINVAL, "requests[%u].mask: zero", i);
	if (r->flags & DRM_PERFCTR_REQUEST_PMU)
		return drm_perfctr_pmu_check(pc, r, i);
	if (r->cpu || r->pmu_type || r->config || r->config1 || r->config2)
		return perfctr_reject(pc, EINVAL, "requests[%u]: PMU members without REQUEST_PMU",
				      i);
	if (r->set >= 32 || !(pc->config.sets & BIT(r->set)))
		return perfctr_reject(pc, EOPNOTSUPP, "requests[%u].set: no set %u", i, r->set);
	if (r->section >= PERFCTR_SECTIONS_MAX)
		return perfctr_reject(pc, ENXIO, "requests[%u].section: %u", i, r->section);
	return 0;
}

static int check_requests(struct drm_perfctr_session *session, unsigned int count,
			  const struct drm_perfctr_block_request *requests)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i;
	int set = -1;

	for (i = 0; i < count; i++) {
		int ret = check_request(pc, &requests[i], i);

		if (ret)
			return ret;
		if (requests[i].flags & DRM_PERFCTR_REQUEST_PMU) {
			session->pmu.counters += hweight64(requests[i].mask);
			if (session->pmu.counters <= DRM_PERFCTR_MAX_PMU_COUNTERS)
				continue;
			return perfctr_reject(pc, E2BIG,
					      "requests[%u].mask: more than %u PMU counters", i,
					      DRM_PERFCTR_MAX_PMU_COUNTERS);
		}
		if (set >= 0 && requests[i].set != set)
			return perfctr_reject(pc, EINVAL, "requests[%u].set: %u, others have %d",
					      i, requests[i].set, set);
		set = requests[i].set;
		session->set = set;
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
			kvfree(requests);
			return ERR_PTR(ret);
		}
	}
	return requests;
}

static int check_period(struct drm_perfctr *pc, u64 period_ns, bool privileged)
{
	u64 min_ns = drm_perfctr_unprivileged_min_period_ns();

	if (!period_ns)
		return 0;
	if (period_ns < PERFCTR_MIN_PERIOD_NS || period_ns > PERFCTR_MAX_PERIOD_NS)
		return perfctr_reject(pc, ERANGE, "period_ns: %llu is not in %llu..%llu", period_ns,
				      PERFCTR_MIN_PERIOD_NS, PERFCTR_MAX_PERIOD_NS);
	if (period_ns < min_ns && !privileged)
		return perfctr_reject(pc, EPERM,
				      "period_ns: below %llu needs CAP_PERFMON (sysctl %s)",
				      min_ns, "dev.perfctr.max_sample_rate_hz");
	return 0;
}

static int check_flags(struct drm_perfctr *pc, u32 flags)
{
	if (flags & ~KNOWN_SETUP_FLAGS)
		return perfctr_reject(pc, EINVAL, "flags: 0x%x", flags);
	if (flags & DRM_PERFCTR_SETUP_AUTOMATIC &&
	    !(pc->config.features & DRM_PERFCTR_FEATURE_AUTOMATIC))
		return perfctr_reject(pc, EOPNOTSUPP, "flags: the device has no AUTOMATIC samples");
	if (flags & DRM_PERFCTR_SETUP_KEEP_AWAKE &&
	    !(pc->config.features & DRM_PERFCTR_FEATURE_KEEP_AWAKE))
		return perfctr_reject(pc, EOPNOTSUPP, "flags: the device has no KEEP_AWAKE");
	return 0;
}

static int check_setup(struct drm_perfctr *pc, const struct drm_perfctr_setup *setup)
{
	int ret;

	ret = check_flags(pc, setup->flags);
	if (ret)
		return ret;
	if (setup->reserved[0] || setup->reserved[1])
		return perfctr_reject(pc, EINVAL, "reserved is not zero");
	if (!is_power_of_2(setup->slots))
		return perfctr_reject(pc, EINVAL, "slots: %u is no power of two", setup->slots);
	if (setup->slots > PERFCTR_MAX_SLOTS)
		return perfctr_reject(pc, ERANGE, "slots: %u is above %u", setup->slots,
				      PERFCTR_MAX_SLOTS);
	if (setup->eventfd < -1)
		return perfctr_reject(pc, EBADF, "eventfd: %d", setup->eventfd);
	if (setup->flags & DRM_PERFCTR_SETUP_TEST_ONLY && setup->eventfd != -1)
		return perfctr_reject(pc, EINVAL, "eventfd: TEST_ONLY takes none");
	if (setup->watermark > setup->slots)
		return perfctr_reject(pc, EINVAL, "watermark: %u is above slots", setup->watermark);
	if (!setup->request_count)
		return perfctr_reject(pc, EINVAL, "request_count: zero");
	if (setup->request_count > PERFCTR_MAX_REQUESTS)
		return perfctr_reject(pc, E2BIG, "request_count: %u is above %u",
				      setup->request_count, PERFCTR_MAX_REQUESTS);
	if (setup->request_stride < sizeof(struct drm_perfctr_block_request) ||
	    setup->request_stride % 8 || setup->request_stride > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, EINVAL, "request_stride: %u", setup->request_stride);
	return 0;
}

/* --- the session --------------------------------------------------------- */

static int size_samples(struct drm_perfctr_session *session, struct drm_perfctr_setup *setup)
{
	u64 size = sizeof(struct drm_perfctr_sample_header);
	u64 stride, ring_bytes;
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		size += drm_perfctr_view_size(&session->views[i]);
	stride = ALIGN(size, DRM_PERFCTR_SLOT_ALIGN);
	ring_bytes = stride * setup->slots;
	if (ring_bytes > PERFCTR_MAX_RING_BYTES)
		return perfctr_reject(session->pc, ERANGE,
				      "slots: %u of %llu bytes are more than %llu bytes",
				      setup->slots, stride, PERFCTR_MAX_RING_BYTES);
	session->sample_size = size;
	setup->sample_size = size;
	setup->slot_stride = stride;
	setup->ring_bytes = ring_bytes;
	setup->ring_offset = PERFCTR_CONTROL_BYTES;
	setup->block_count = session->view_count;
	setup->ring_fd = -1;
	return 0;
}

static int make_ring(struct drm_perfctr_session *session, const struct drm_perfctr_setup *setup)
{
	struct perfctr_memory *memory;

	memory = drm_perfctr_memory_create(session->owner.charged, setup->ring_bytes);
	if (IS_ERR(memory)) {
		drm_dbg(session->pc->drm, "perfctr: slots: no memory for the ring: %ld\n",
			PTR_ERR(memory));
		return PTR_ERR(memory);
	}
	session->memory = memory;
	drm_perfctr_ring_init(&session->ring, memory->vaddr + PERFCTR_CONTROL_BYTES,
			      memory->vaddr, setup->slots, setup->slot_stride);
	drm_perfctr_update_status(session);
	return drm_perfctr_wake_init(session, setup->eventfd);
}

/* last step: makes the session visible to the device */
static int register_session(struct drm_perfctr_session *session, bool test_only)
{
	struct drm_perfctr *pc = session->pc;
	bool privileged = perfctr_is_privileged(session);
	int ret;

	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	if (pc->unplugged)
		ret = -ENODEV;
	else if (!privileged && pc->ordinary_sessions >= PERFCTR_MAX_SESSIONS_DEVICE)
		ret = perfctr_reject(pc, ENFILE, "%u sessions without CAP_PERFMON",
				     pc->ordinary_sessions);
	if (!ret && !test_only) {
		if (!privileged)
			pc->ordinary_sessions++;
		session->id = ++pc->next_session_id;
		list_add_tail(&session->all_node, &pc->all);
	}
	rt_mutex_unlock(&pc->lock);
	return ret;
}

static int prepare_sources(struct drm_perfctr_session *session)
{
	unsigned int i;
	int ret;

	for (i = 0; i < session->source_count; i++) {
		ret = drm_perfctr_source_prepare(session->sources[i].source);
		if (ret)
			return ret;
		session->prepared |= BIT(session->sources[i].source->id);
	}
	return 0;
}

static struct drm_perfctr_session *alloc_session(struct drm_perfctr *pc,
						 const struct drm_perfctr_setup *setup,
						 bool privileged)
{
	struct drm_perfctr_session *session;

	session = kzalloc(sizeof(*session), PERFCTR_GFP_USER);
	if (!session)
		return NULL;
	kref_init(&session->refcount);
	INIT_LIST_HEAD(&session->node);
	INIT_LIST_HEAD(&session->all_node);
	INIT_LIST_HEAD(&session->pmu.node);
	rt_mutex_init(&session->pmu.lock);
	mutex_init(&session->command_lock);
	spin_lock_init(&session->status_lock);
	drm_dev_get(pc->drm);
	session->pc = pc;
	session->class = &pc->classes[privileged ? PERFCTR_PRIVILEGED : PERFCTR_ORDINARY];
	session->owner.charged = INVALID_UID;
	session->owner.pid = get_pid(task_tgid(current));
	session->owner.uid = current_uid();
	get_task_comm(session->owner.comm, current);
	session->config.flags = setup->flags;
	/* without the slot reserved for STOP, a watermark of all slots would never be reached */
	session->config.watermark = clamp(setup->watermark, 1u, max(setup->slots - 1, 1u));
	session->config.period_ns = setup->period_ns;
	return session;
}

/* before all other allocations, so that requests that fail later are limited, too */
static int charge(struct drm_perfctr_session *session)
{
	kuid_t uid = perfctr_is_privileged(session) ? INVALID_UID : drm_perfctr_charged_user();
	int ret = drm_perfctr_charge(uid, 1, session->pmu.counters, 0);

	if (ret)
		return perfctr_reject(session->pc, -ret, "sessions or PMU counters of this user");
	session->owner.charged = uid;
	return 0;
}

static int build(struct drm_perfctr_session *session, struct drm_perfctr_setup *setup,
		 const struct drm_perfctr_block_request *requests)
{
	bool test_only = setup->flags & DRM_PERFCTR_SETUP_TEST_ONLY;
	int ret;

	ret = drm_perfctr_build_views(session, setup->request_count, requests);
	if (!ret)
		ret = size_samples(session, setup);
	if (!ret && !test_only)
		ret = make_ring(session, setup);
	if (!ret && !test_only)
		ret = prepare_sources(session);
	if (!ret)
		ret = register_session(session, test_only);
	return ret;
}

/*
 * SETUP: fills in the results except ring_fd. Returns the session with one reference, stopped; NULL
 * for TEST_ONLY; or an ERR_PTR.
 */
struct drm_perfctr_session *drm_perfctr_setup(struct drm_perfctr *pc,
					      struct drm_perfctr_setup *setup)
{
	bool privileged = drm_perfctr_has_privilege();
	struct drm_perfctr_block_request *requests;
	struct drm_perfctr_session *session;
	int ret;

	ret = check_setup(pc, setup);
	if (!ret && !drm_perfctr_may_observe())
		ret = perfctr_reject(pc, EACCES, "needs CAP_PERFMON or dev.perfctr.paranoid=0");
	if (!ret)
		ret = check_period(pc, setup->period_ns, privileged);
	if (ret)
		return ERR_PTR(ret);
	requests = copy_requests(pc, setup);
	if (IS_ERR(requests))
		return ERR_CAST(requests);
	session = alloc_session(pc, setup, privileged);
	if (!session) {
		kvfree(requests);
		return ERR_PTR(-ENOMEM);
	}
	ret = check_requests(session, setup->request_count, requests);
	if (!ret)
		ret = charge(session);
	if (!ret)
		ret = build(session, setup, requests);
	kvfree(requests);
	if (!ret && !(setup->flags & DRM_PERFCTR_SETUP_TEST_ONLY))
		return session;
	drm_perfctr_session_discard(session);
	return ERR_PTR(ret);
}
