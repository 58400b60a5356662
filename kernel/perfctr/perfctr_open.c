// SPDX-License-Identifier: GPL-2.0
/*
 * OPEN: validates a request and creates a session.
 */
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "perfctr_internal.h"
#include "perfctr_sink.h"
#include "pmu/pmu.h"

#define KNOWN_OPEN_FLAGS \
	(DRM_PERFCTR_OPEN_CHECK | DRM_PERFCTR_OPEN_KEEP_AWAKE | DRM_PERFCTR_OPEN_AUTOMATIC)
#define KNOWN_REQUEST_FLAGS \
	(DRM_PERFCTR_REQUEST_AVAILABLE | DRM_PERFCTR_REQUEST_PMU)

static_assert(sizeof(struct drm_perfctr_layout) == 24);
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

static int check_period(struct drm_perfctr *pc, u64 period_ns, bool privileged)
{
	if (!period_ns)
		return 0;
	if (period_ns < PERFCTR_MIN_PERIOD_NS || period_ns > PERFCTR_MAX_PERIOD_NS)
		return perfctr_reject(pc, ERANGE, "period_ns: %llu is not in %llu..%llu", period_ns,
				      PERFCTR_MIN_PERIOD_NS, PERFCTR_MAX_PERIOD_NS);
	if (period_ns < PERFCTR_USER_PERIOD_NS && !privileged)
		return perfctr_reject(pc, EPERM, "period_ns: below %llu needs CAP_PERFMON",
				      PERFCTR_USER_PERIOD_NS);
	return 0;
}

/* the rate of AUTOMATIC samples has no limit */
static int check_rights(struct drm_perfctr *pc, const struct drm_perfctr_open *open)
{
	bool privileged;

	if (!drm_perfctr_may_observe())
		return perfctr_reject(pc, EACCES, "needs CAP_PERFMON or dev.perfctr.paranoid=0");
	privileged = drm_perfctr_has_privilege();
	if (!privileged && open->flags & DRM_PERFCTR_OPEN_AUTOMATIC)
		return perfctr_reject(pc, EPERM, "flags: AUTOMATIC needs CAP_PERFMON");
	return check_period(pc, open->period_ns, privileged);
}

static int check_flags(struct drm_perfctr *pc, u32 flags)
{
	if (flags & ~KNOWN_OPEN_FLAGS)
		return perfctr_reject(pc, EINVAL, "flags: 0x%x", flags);
	if (flags & DRM_PERFCTR_OPEN_AUTOMATIC &&
	    !(pc->config.features & DRM_PERFCTR_FEATURE_AUTOMATIC))
		return perfctr_reject(pc, EOPNOTSUPP, "flags: the device has no AUTOMATIC samples");
	if (flags & DRM_PERFCTR_OPEN_KEEP_AWAKE &&
	    !(pc->config.features & DRM_PERFCTR_FEATURE_KEEP_AWAKE))
		return perfctr_reject(pc, EOPNOTSUPP, "flags: the device has no KEEP_AWAKE");
	return 0;
}

static int check_members(struct drm_perfctr *pc, const struct drm_perfctr_open *open)
{
	int ret;

	ret = check_flags(pc, open->flags);
	if (ret)
		return ret;
	if (open->pad || open->reserved[0] || open->reserved[1])
		return perfctr_reject(pc, EINVAL, "pad or reserved is not zero");
	if (open->layout_size > PERFCTR_STRUCT_SIZE_MAX || (open->layout_size && !open->layout))
		return perfctr_reject(pc, EINVAL, "layout_size: %u", open->layout_size);
	if (!is_power_of_2(open->slots))
		return perfctr_reject(pc, EINVAL, "slots: %u is no power of two", open->slots);
	if (open->slots > PERFCTR_MAX_SLOTS)
		return perfctr_reject(pc, ERANGE, "slots: %u is above %u", open->slots,
				      PERFCTR_MAX_SLOTS);
	if (open->eventfd < -1)
		return perfctr_reject(pc, EBADF, "eventfd: %d", open->eventfd);
	if (open->flags & DRM_PERFCTR_OPEN_CHECK && open->eventfd != -1)
		return perfctr_reject(pc, EINVAL, "eventfd: CHECK takes none");
	if (open->watermark > open->slots)
		return perfctr_reject(pc, EINVAL, "watermark: %u is above slots", open->watermark);
	if (!open->request_count)
		return perfctr_reject(pc, EINVAL, "request_count: zero");
	if (open->request_count > PERFCTR_MAX_REQUESTS)
		return perfctr_reject(pc, E2BIG, "request_count: %u is above %u",
				      open->request_count, PERFCTR_MAX_REQUESTS);
	if (open->request_stride < sizeof(struct drm_perfctr_block_request) ||
	    open->request_stride % 8 || open->request_stride > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, EINVAL, "request_stride: %u", open->request_stride);
	return 0;
}

/*
 * All rules but those of the requests, and whether the calling task may count. 0 or an errno of
 * OPEN.
 */
int drm_perfctr_check_open(struct drm_perfctr *pc, const struct drm_perfctr_open *open)
{
	int ret = check_members(pc, open);

	return ret ?: check_rights(pc, open);
}

/* a copy of the requests from userspace, which the caller frees with kvfree(); or an ERR_PTR */
struct drm_perfctr_block_request *drm_perfctr_copy_requests(struct drm_perfctr *pc,
							    const struct drm_perfctr_open *open)
{
	u8 __user *from = u64_to_user_ptr(open->requests);
	struct drm_perfctr_block_request *requests;
	unsigned int i;
	int ret;

	requests = kvcalloc(open->request_count, sizeof(*requests), PERFCTR_GFP_USER);
	if (!requests)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < open->request_count; i++) {
		ret = copy_struct_from_user(&requests[i], sizeof(requests[i]),
					    from + (size_t)i * open->request_stride,
					    open->request_stride);
		if (ret) {
			drm_dbg(pc->drm, "perfctr: requests[%u]: %d\n", i, ret);
			kvfree(requests);
			return ERR_PTR(ret);
		}
	}
	return requests;
}

/* --- the session --------------------------------------------------------- */

static int lay_out(struct drm_perfctr_session *session, const struct drm_perfctr_open *open,
		   struct drm_perfctr_layout *layout)
{
	u64 size = sizeof(struct drm_perfctr_sample_header);
	u64 stride, ring_bytes;
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		size += drm_perfctr_view_complete(&session->views[i]);
	stride = ALIGN(size, DRM_PERFCTR_SLOT_ALIGN);
	ring_bytes = stride * open->slots;
	if (ring_bytes > PERFCTR_MAX_RING_BYTES)
		return perfctr_reject(session->pc, ERANGE,
				      "slots: %u of %llu bytes are more than %llu bytes",
				      open->slots, stride, PERFCTR_MAX_RING_BYTES);
	*layout = (struct drm_perfctr_layout) {
		.slots = open->slots,
		.slot_stride = stride,
		.sample_size = size,
		.block_count = session->view_count,
		.ring_offset = PERFCTR_CONTROL_BYTES,
		.map_bytes = PERFCTR_CONTROL_BYTES + PAGE_ALIGN(ring_bytes),
	};
	return 0;
}

static int make_ring(struct drm_perfctr_session *session, const struct drm_perfctr_open *open,
		     const struct drm_perfctr_layout *layout)
{
	struct perfctr_memory *memory;

	memory = drm_perfctr_memory_create(session->owner.charged, layout);
	if (IS_ERR(memory)) {
		drm_dbg(session->pc->drm, "perfctr: slots: no memory for the ring: %ld\n",
			PTR_ERR(memory));
		return PTR_ERR(memory);
	}
	session->memory = memory;
	session->ring = &memory->ring;
	/* without the slot reserved for STOP, a watermark of all slots would never be reached */
	memory->watermark = clamp(open->watermark, 1u, max(open->slots - 1, 1u));
	drm_perfctr_update_status(session);
	return drm_perfctr_set_eventfd(session, open->eventfd);
}

/* with CHECK: whether make_ring() would exceed the user's limit */
static int check_quota(struct drm_perfctr_session *session, const struct drm_perfctr_layout *layout)
{
	int ret = drm_perfctr_charge(session->owner.charged, 0, layout->map_bytes);

	if (ret)
		return perfctr_reject(session->pc, -ret, "slots: ring memory of this user");
	drm_perfctr_uncharge(session->owner.charged, 0, layout->map_bytes);
	return 0;
}

/* last step: makes the session visible to the device */
static int register_session(struct drm_perfctr_session *session, bool check)
{
	struct drm_perfctr *pc = session->pc;
	bool limited = !session->privileged;
	int ret;

	ret = rt_mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	if (pc->unplugged)
		ret = -ENODEV;
	else if (limited && pc->users_sessions >= PERFCTR_MAX_USERS_SESSIONS)
		ret = perfctr_reject(pc, ENFILE, "%u sessions without CAP_PERFMON",
				     pc->users_sessions);
	if (!ret && !check) {
		pc->users_sessions += limited;
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
						 const struct drm_perfctr_open *open,
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
	session->privileged = privileged;
	session->owner.charged = INVALID_UID;
	session->owner.pid = get_pid(task_tgid(current));
	session->owner.uid = current_uid();
	get_task_comm(session->owner.comm, current);
	session->config.flags = open->flags;
	session->config.period_ns = open->period_ns;
	return session;
}

/* before all other allocations, so that requests that fail later are limited, too */
static int charge(struct drm_perfctr_session *session)
{
	kuid_t uid = session->privileged ? INVALID_UID : drm_perfctr_charged_user();
	int ret = drm_perfctr_charge(uid, 1, 0);

	if (ret)
		return perfctr_reject(session->pc, -ret, "%u sessions of this user",
				      PERFCTR_MAX_USER_SESSIONS);
	session->owner.charged = uid;
	return 0;
}

static int build(struct drm_perfctr_session *session, const struct drm_perfctr_open *open,
		 const struct drm_perfctr_block_request *requests,
		 struct drm_perfctr_layout *layout)
{
	bool check = open->flags & DRM_PERFCTR_OPEN_CHECK;
	int ret;

	ret = drm_perfctr_build_views(session, open->request_count, requests);
	if (!ret && perfctr_sink_ops(session)) {
		ret = perfctr_sink_ops(session)->attach(session, open);
	} else if (!ret) {
		ret = lay_out(session, open, layout);
		if (!ret)
			ret = check ? check_quota(session, layout) :
				      make_ring(session, open, layout);
	}
	if (!ret && !check)
		ret = prepare_sources(session);
	if (!ret)
		ret = register_session(session, check);
	return ret;
}

/*
 * Creates a session for the calling task, without a file, after drm_perfctr_check_open().
 * @requests, request_count elements, are used instead of those in @open. @layout is set, but not
 * with a @sink, which is released with the session or by an error. Returns the session with one
 * reference, stopped, for drm_perfctr_session_end(); NULL for CHECK; or an ERR_PTR.
 */
struct drm_perfctr_session *
drm_perfctr_session_create(struct drm_perfctr *pc, const struct drm_perfctr_open *open,
			   const struct drm_perfctr_block_request *requests,
			   struct perfctr_sink *sink, struct drm_perfctr_layout *layout)
{
	struct drm_perfctr_session *session;
	int ret;

	session = alloc_session(pc, open, drm_perfctr_has_privilege());
	if (!session) {
		if (sink)
			sink->ops->release(sink);
		return ERR_PTR(-ENOMEM);
	}
	session->sink = sink;
	ret = check_requests(session, open->request_count, requests);
	if (!ret)
		ret = charge(session);
	if (!ret)
		ret = build(session, open, requests, layout);
	if (!ret && !(open->flags & DRM_PERFCTR_OPEN_CHECK))
		return session;
	drm_perfctr_session_discard(session);
	return ERR_PTR(ret);
}
