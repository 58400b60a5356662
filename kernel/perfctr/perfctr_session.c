// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: from SETUP to TEARDOWN.
 */
#include <linux/cred.h>
#include <linux/eventfd.h>
#include <linux/iosys-map.h>
#include <linux/log2.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "compat.h"
#include "perfctr_internal.h"

/**
 * DOC: life of a session
 *
 * ::
 *
 *     SETUP --> stopped --START--> active --STOP--> stopped --> TEARDOWN
 *                  ^                 |                 |
 *                  |                 | unplug          |
 *                  +-----START-------|-----------------+
 *                                    v
 *                                   dead
 *
 * TEARDOWN and closing the file work in every state. The memory of a session
 * stays until the last reference is gone: a job that carries a SAMPLE holds one
 * and finds the session dead.
 */

static bool already_viewed(const struct drm_perfctr_session *session,
			   const struct drm_perfctr_block *block, u16 section)
{
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		if (session->views[i].block == block && session->views[i].section == section)
			return true;
	return false;
}

static unsigned int session_source(struct drm_perfctr_session *session,
				   struct drm_perfctr_source *source)
{
	unsigned int i;

	for (i = 0; i < session->source_count; i++)
		if (session->sources[i].source == source)
			return i;
	session->sources[i].source = source;
	session->source_count++;
	return i;
}

/* append the block to the session, or say why not */
static int view_block(struct drm_perfctr_session *session, struct drm_perfctr_block *block,
		      const struct drm_perfctr_block_request *request)
{
	struct drm_perfctr *pc = session->pc;
	struct perfctr_view *view = &session->views[session->view_count];
	u64 mask = request->mask;
	unsigned int section;
	u64 available;
	u8 set;

	if (!(block->desc.sets & BIT(request->set)))
		return perfctr_reject(pc, EOPNOTSUPP, "block %u:%u has no set %u",
				      block->desc.type, block->desc.index, request->set);
	/* both were checked, but may be guessed to have passed */
	set = array_index_nospec(request->set, DRM_PERFCTR_SET_TERTIARY + 1);
	section = array_index_nospec(request->section, PERFCTR_SECTIONS_MAX);
	available = perfctr_block_available(&block->desc, set)[section];
	if (request->flags & DRM_PERFCTR_REQUEST_AVAILABLE)
		mask &= available;
	if (mask & ~available)
		return perfctr_reject(pc, EINVAL,
				      "block %u:%u has no counters 0x%llx in section %u",
				      block->desc.type, block->desc.index, mask & ~available,
				      request->section);
	if (!mask)
		return 0;
	if (already_viewed(session, block, request->section))
		return perfctr_reject(pc, EEXIST, "block %u:%u section %u requested twice",
				      block->desc.type, block->desc.index, request->section);

	view->block = block;
	view->mask = mask;
	view->section = section;
	view->set = set;
	view->totals = block->totals + section * DRM_PERFCTR_SECTION_COUNTERS;
	if (block->running)
		view->running = block->running + section * DRM_PERFCTR_SECTION_COUNTERS;
	view->source = session_source(session, block->source);
	session->view_count++;
	return 0;
}

static bool request_matches(const struct drm_perfctr_block_request *request,
			    const struct drm_perfctr_block *block)
{
	if (block->desc.type != request->type)
		return false;
	if (request->index == DRM_PERFCTR_INDEX_ALL)
		return request->section < perfctr_block_sections(&block->desc);
	return block->desc.index == request->index;
}

static int view_source_blocks(struct drm_perfctr_session *session,
			      const struct drm_perfctr_block_request *request)
{
	struct drm_perfctr *pc = session->pc;
	bool found = false;
	unsigned int n;
	int ret;

	for (n = 0; n < pc->block_count; n++) {
		struct drm_perfctr_block *block = perfctr_block_at(pc, n);

		if (!request_matches(request, block))
			continue;
		if (request->section >= perfctr_block_sections(&block->desc))
			return perfctr_reject(pc, ENXIO, "block %u:%u has no section %u",
					      request->type, request->index, request->section);
		found = true;
		ret = view_block(session, block, request);
		if (ret)
			return ret;
	}
	if (!found)
		return perfctr_reject(pc, ENXIO, "no block of type %u index %u section %u",
				      request->type, request->index, request->section);
	return 0;
}

/* a SoC block is known by its filters too; a block of any PMU by its number alone */
static bool same_pmu_block(const struct perfctr_pmu_block *pmu,
			   const struct drm_perfctr_block_request *request)
{
	if (!pmu || pmu->type != request->type || pmu->index != request->index)
		return false;
	return request->type == DRM_PERFCTR_BLOCK_GENERIC_PMU ||
	       (pmu->config == request->config && pmu->config1 == request->config1 &&
		pmu->config2 == request->config2);
}

static int view_pmu(struct drm_perfctr_session *session,
		    const struct drm_perfctr_block_request *request)
{
	struct drm_perfctr *pc = session->pc;
	struct perfctr_view *view = &session->views[session->view_count];
	unsigned int i;
	int ret;

	for (i = 0; i < session->view_count; i++)
		if (same_pmu_block(session->views[i].pmu, request))
			return perfctr_reject(pc, EEXIST, "block %u:%u requested twice",
					      request->type, request->index);

	ret = perfctr_pmu_create(pc, request, &view->pmu);
	if (ret)
		return ret;
	view->mask = request->mask;
	view->totals = view->pmu->totals;
	session->has_pmu = true;
	session->view_count++;
	return 0;
}

/* upper bound of the views that the requests can give */
static unsigned int count_views(struct drm_perfctr *pc, const struct drm_perfctr_setup *setup,
				const struct drm_perfctr_block_request *requests)
{
	unsigned int i, n, count = 0;

	for (i = 0; i < setup->request_count; i++) {
		if (perfctr_type_is_pmu(requests[i].type)) {
			count++;
			continue;
		}
		for (n = 0; n < pc->block_count; n++)
			count += request_matches(&requests[i], perfctr_block_at(pc, n));
	}
	return count;
}

static int alloc_bases(struct drm_perfctr_session *session)
{
	unsigned int i, counters = 0;
	u64 *bases;

	for (i = 0; i < session->view_count; i++)
		counters += hweight64(session->views[i].mask) *
			    (session->views[i].running ? 2 : 1);
	bases = kvcalloc(counters, sizeof(*bases), PERFCTR_GFP_USER);
	if (!bases)
		return -ENOMEM;
	session->bases = bases;
	for (i = 0; i < session->view_count; i++) {
		session->views[i].base = bases;
		bases += hweight64(session->views[i].mask);
		if (!session->views[i].running)
			continue;
		session->views[i].base_running = bases;
		bases += hweight64(session->views[i].mask);
	}
	return 0;
}

static int build_views(struct drm_perfctr_session *session, const struct drm_perfctr_setup *setup,
		       const struct drm_perfctr_block_request *requests)
{
	struct drm_perfctr *pc = session->pc;
	unsigned int i, max_views;
	int ret;

	max_views = count_views(pc, setup, requests);
	if (max_views > PERFCTR_MAX_BLOCKS)
		return perfctr_reject(pc, E2BIG, "requests: %u blocks", max_views);
	session->views = kvcalloc(max_views ?: 1, sizeof(*session->views), PERFCTR_GFP_USER);
	if (!session->views)
		return -ENOMEM;

	for (i = 0; i < setup->request_count; i++) {
		if (perfctr_type_is_pmu(requests[i].type))
			ret = view_pmu(session, &requests[i]);
		else
			ret = view_source_blocks(session, &requests[i]);
		if (ret)
			return ret;
	}
	if (!session->view_count)
		return perfctr_reject(pc, EINVAL, "requests: no counter of any block is left");
	return alloc_bases(session);
}

static int size_samples(struct drm_perfctr_session *session, struct drm_perfctr_setup *setup)
{
	struct drm_perfctr *pc = session->pc;
	u64 size = sizeof(struct drm_perfctr_sample_header);
	u64 stride, ring_bytes;
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		size += perfctr_view_size(&session->views[i]);
	stride = ALIGN(size, DRM_PERFCTR_SLOT_ALIGN);
	ring_bytes = stride * setup->slots;
	if (ring_bytes > PERFCTR_MAX_RING_BYTES)
		return perfctr_reject(pc, ERANGE,
				      "slots: %u of %llu bytes are more than %llu bytes",
				      setup->slots, stride, PERFCTR_MAX_RING_BYTES);

	session->sample_size = size;
	setup->sample_size = size;
	setup->slot_stride = stride;
	setup->ring_bytes = ring_bytes;
	setup->block_count = session->view_count;
	return 0;
}

/* a buffer of plain memory that holds bytes at offset, mapped */
static int map_buffer(struct drm_perfctr *pc, struct drm_file *file, const char *what,
		      u32 handle, u64 offset, u64 bytes,
		      struct drm_gem_object **out_bo, void **out_vaddr)
{
	struct drm_gem_object *bo;
	struct iosys_map map;
	u64 end;
	int ret;

	bo = drm_gem_object_lookup(file, handle);
	if (!bo)
		return perfctr_reject(pc, ENOENT, "%s_handle: no buffer %u", what, handle);

	/* the exporter of an imported buffer may move or revoke it under us */
	if (bo->import_attach) {
		ret = perfctr_reject(pc, EOPNOTSUPP, "%s_handle: buffer is imported", what);
		goto err_put;
	}
	if (check_add_overflow(offset, bytes, &end) || end > bo->size) {
		ret = perfctr_reject(pc, ENOSPC, "%s_offset: %llu + %llu bytes do not fit %zu",
				     what, offset, bytes, bo->size);
		goto err_put;
	}
	ret = perfctr_gem_vmap(bo, &map);
	if (ret) {
		drm_dbg(pc->drm, "perfctr: %s_handle: mapping failed: %d\n", what, ret);
		goto err_put;
	}
	if (map.is_iomem) {
		ret = perfctr_reject(pc, EOPNOTSUPP, "%s_handle: not plain memory", what);
		goto err_vunmap;
	}

	*out_bo = bo;
	*out_vaddr = map.vaddr;
	return 0;

err_vunmap:
	perfctr_gem_vunmap(bo, &map);
err_put:
	drm_gem_object_put(bo);
	return ret;
}

static void unmap_buffer(struct drm_gem_object *bo, void *vaddr)
{
	struct iosys_map map;

	if (!bo)
		return;
	iosys_map_set_vaddr(&map, vaddr);
	perfctr_gem_vunmap(bo, &map);
	drm_gem_object_put(bo);
}

static int map_ring(struct drm_perfctr_session *session, const struct drm_perfctr_setup *setup,
		    struct drm_file *file)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = map_buffer(pc, file, "ring", setup->ring_handle, setup->ring_offset,
			 setup->ring_bytes, &session->ring_bo, &session->ring_vaddr);
	if (ret)
		return ret;
	ret = map_buffer(pc, file, "control", setup->control_handle, setup->control_offset,
			 sizeof(struct drm_perfctr_ring_control),
			 &session->control_bo, &session->control_vaddr);
	if (ret)
		return ret;

	if (setup->eventfd >= 0) {
		struct eventfd_ctx *eventfd = eventfd_ctx_fdget(setup->eventfd);

		if (IS_ERR(eventfd))
			return perfctr_reject(pc, -PTR_ERR(eventfd), "eventfd: %d is none",
					      setup->eventfd);
		ret = perfctr_wake_init(session, eventfd);
		if (ret) {
			eventfd_ctx_put(eventfd);
			return ret;
		}
	}
	perfctr_ring_init(&session->ring, session->ring_vaddr + setup->ring_offset,
			  session->control_vaddr + setup->control_offset,
			  setup->slots, setup->slot_stride);
	return 0;
}

/* whole buffers are pinned, whatever part of them the session uses */
static int charge_buffers(struct drm_perfctr_session *session)
{
	u64 bytes = session->ring_bo->size;
	int ret;

	if (session->control_bo != session->ring_bo)
		bytes += session->control_bo->size;
	ret = perfctr_user_charge_bytes(session->pc, session->user, bytes);
	if (!ret)
		session->pinned_bytes = bytes;
	return ret;
}

static int check_set(struct drm_perfctr *pc, u8 set)
{
	if (pc->set_users && pc->set != set)
		return perfctr_reject(pc, EBUSY, "set %u: set %u is in use", set, pc->set);
	return 0;
}

/* the point of no return: the device knows the session */
static int register_session(struct drm_perfctr_session *session, bool test_only)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	if (pc->unplugged)
		ret = -ENODEV;
	else if (session->source_count)
		ret = check_set(pc, session->set);
	if (!ret && pc->sessions >= PERFCTR_MAX_SESSIONS_DEVICE)
		ret = perfctr_reject(pc, ENFILE, "%u sessions on this device", pc->sessions);
	if (!ret && !test_only) {
		if (session->source_count) {
			session->holds_set = true;
			pc->set_users++;
			pc->set = session->set;
		}
		pc->sessions++;
		list_add_tail(&session->all_node, &pc->all);
	}
	mutex_unlock(&pc->lock);
	return ret;
}

static void session_free(struct drm_perfctr_session *session)
{
	unsigned int i;

	for (i = 0; i < session->view_count; i++)
		if (session->views[i].pmu)
			perfctr_pmu_destroy(session->views[i].pmu);
	perfctr_wake_fini(session);
	unmap_buffer(session->control_bo, session->control_vaddr);
	unmap_buffer(session->ring_bo, session->ring_vaddr);
	perfctr_user_uncharge(session->user, session->pinned_bytes, session->soc_counters);
	kvfree(session->bases);
	kvfree(session->views);
	mutex_destroy(&session->pmu_lock);
	put_pid(session->maker);
	drm_dev_put(session->pc->drm);
	kfree(session);
}

static void session_release(struct kref *ref)
{
	session_free(container_of(ref, struct drm_perfctr_session, refcount));
}

/**
 * perfctr_session_create() - SETUP
 * @pc: the device
 * @setup: checked for all that does not depend on the device's state; the
 *	results are filled in
 * @requests: setup->request_count checked requests
 * @file: owner of the buffers
 *
 * Returns: the session with one reference, stopped; NULL for TEST_ONLY; or an
 * ERR_PTR.
 */
struct drm_perfctr_session *perfctr_session_create(struct drm_perfctr *pc,
						   struct drm_perfctr_setup *setup,
						   const struct drm_perfctr_block_request *requests,
						   struct drm_file *file)
{
	bool test_only = setup->flags & DRM_PERFCTR_SETUP_TEST_ONLY;
	struct drm_perfctr_session *session;
	unsigned int i;
	int ret;

	session = kzalloc(sizeof(*session), PERFCTR_GFP_USER);
	if (!session)
		return ERR_PTR(-ENOMEM);
	kref_init(&session->refcount);
	INIT_LIST_HEAD(&session->node);
	INIT_LIST_HEAD(&session->all_node);
	mutex_init(&session->pmu_lock);
	drm_dev_get(pc->drm);
	session->pc = pc;
	session->maker = get_pid(task_tgid(current));
	session->maker_uid = current_uid();
	get_task_comm(session->maker_comm, current);
	session->flags = setup->flags;
	/* the slot of STOP is not used before: a watermark of all slots would wake nobody */
	session->watermark = clamp(setup->watermark, 1u, max(setup->slots - 1, 1u));
	session->period_ns = setup->period_ns;
	/* the ioctl layer made sure that all source blocks agree */
	for (i = 0; i < setup->request_count; i++)
		if (perfctr_type_is_pmu(requests[i].type))
			session->soc_counters += hweight64(requests[i].mask);
		else
			session->set = requests[i].set;

	/* first of all: calls that are refused in the end have events meanwhile */
	ret = perfctr_user_charge(pc, session->soc_counters, &session->user);
	if (!ret)
		ret = build_views(session, setup, requests);
	if (!ret)
		ret = size_samples(session, setup);
	if (!ret && !test_only)
		ret = map_ring(session, setup, file);
	if (!ret && !test_only)
		ret = charge_buffers(session);
	if (!ret)
		ret = register_session(session, test_only);
	if (ret || test_only) {
		session_free(session);
		return ERR_PTR(ret);
	}
	return session;
}

/* with the sampler lock held */
static int check_start(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;

	if (pc->unplugged || session->dead)
		return -ENODEV;
	if (session->active)
		return perfctr_reject(pc, EALREADY, "START: session is active");
	if (!perfctr_ring_free(&session->ring))
		return perfctr_reject(pc, ENOSPC, "START: no slot is free for the final sample");
	return 0;
}

/* with the sampler lock held; PMU blocks count already */
static int activate(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = perfctr_sampler_attach(session);
	if (ret)
		return ret;
	ret = perfctr_sampler_collect_first(pc, session);
	if (ret) {
		drm_dbg(pc->drm, "perfctr: START: no baseline: %d\n", ret);
		perfctr_sampler_detach(session);
		return ret;
	}
	perfctr_session_baseline_pmu(session);
	perfctr_sampler_baseline(session);

	session->active = true;
	list_add_tail(&session->node, &pc->active);
	perfctr_ring_set_state(&session->ring, DRM_PERFCTR_RING_ACTIVE);
	perfctr_sampler_arm(pc);
	return 0;
}

/* with the session's pmu_lock held */
static int start(struct drm_perfctr_session *session, u64 user_data, bool awake)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	ret = check_start(session);
	mutex_unlock(&pc->lock);
	if (ret)
		return ret;

	ret = perfctr_session_enable_pmu(session);
	if (ret)
		return ret;
	ret = mutex_lock_interruptible(&pc->lock);
	if (!ret) {
		/* it may have been unplugged or torn down meanwhile */
		ret = check_start(session);
		if (!ret)
			ret = activate(session);
		if (!ret) {
			session->user_data = user_data;
			session->awake = awake;
		}
		mutex_unlock(&pc->lock);
	}
	if (ret)
		perfctr_session_disable_pmu(session);
	return ret;
}

/* -ENODEV: the device is gone, maybe while START waited for its turn */
static int wake_device(struct drm_perfctr *pc)
{
	int idx, ret;

	if (!drm_dev_enter(pc->drm, &idx))
		return -ENODEV;
	ret = pc->config.ops->wake(pc->drm);
	drm_dev_exit(idx);
	return ret;
}

/**
 * perfctr_session_start() - START
 * @session: the session
 * @user_data: for periodic and automatic samples
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int perfctr_session_start(struct drm_perfctr_session *session, u64 user_data)
{
	const struct drm_perfctr_driver_ops *ops = session->pc->config.ops;
	bool wake = session->flags & DRM_PERFCTR_SETUP_KEEP_AWAKE && ops && ops->wake;
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = perfctr_user_pace(session->user);
	if (ret)
		return ret;
	/* resuming takes the sampler lock: do it first */
	if (wake) {
		ret = wake_device(pc);
		if (ret)
			return ret;
	}
	ret = mutex_lock_interruptible(&session->pmu_lock);
	if (!ret) {
		ret = start(session, user_data, wake);
		mutex_unlock(&session->pmu_lock);
	}
	if (ret && wake)
		ops->relax(pc->drm);
	return ret;
}

/* leave the active state; the caller relaxes the device if this returns true */
static bool deactivate(struct drm_perfctr_session *session)
{
	bool awake = session->awake;

	list_del_init(&session->node);
	session->active = false;
	session->awake = false;
	perfctr_sampler_detach(session);
	perfctr_sampler_arm(session->pc);
	return awake;
}

/**
 * perfctr_session_stop() - STOP
 * @session: the session
 * @user_data: for the final sample
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int perfctr_session_stop(struct drm_perfctr_session *session, u64 user_data)
{
	struct drm_perfctr *pc = session->pc;
	bool relax = false;
	u32 wakes;
	int ret;

	ret = perfctr_session_lock(session);
	if (ret)
		return ret;
	perfctr_wake_begin_call(session);
	if (session->dead) {
		ret = -ENODEV;
	} else if (!session->active) {
		ret = perfctr_reject(pc, EALREADY, "STOP: session is not active");
	} else {
		/* an error is in the sample's flags; what could be read is in it */
		perfctr_sampler_collect_final(pc, session);
		perfctr_sampler_count_final_periods(session);
		perfctr_ring_free(&session->ring);
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_FINAL, user_data);
		relax = deactivate(session);
	}
	wakes = perfctr_wake_end_call(session);
	mutex_unlock(&pc->lock);
	if (!ret)
		perfctr_session_disable_pmu(session);
	mutex_unlock(&session->pmu_lock);

	perfctr_wake_pay_all(session, wakes);
	if (relax)
		pc->config.ops->relax(pc->drm);
	return ret;
}

/* periods of a batch come first, and may take the room */
static bool collect_with_room(struct drm_perfctr_session *session)
{
	if (!perfctr_sampler_has_room(session))
		return false;
	perfctr_sampler_collect(session->pc, session);
	return perfctr_sampler_has_room(session);
}

/**
 * perfctr_session_sample() - SAMPLE
 * @session: the session
 * @user_data: for the sample
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data)
{
	struct drm_perfctr *pc = session->pc;
	u32 wakes;
	int ret;

	ret = perfctr_user_pace(session->user);
	if (ret)
		return ret;
	ret = perfctr_session_lock(session);
	if (ret)
		return ret;
	perfctr_wake_begin_call(session);
	if (session->dead) {
		ret = -ENODEV;
	} else if (!session->active) {
		ret = perfctr_reject(pc, ENOTCONN, "SAMPLE: session is not active");
	} else if (!collect_with_room(session)) {
		session->totals.ring_full++;
		ret = perfctr_reject(pc, ENOSPC, "SAMPLE: only the slot of STOP is free");
	} else {
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_MANUAL, user_data);
	}
	wakes = perfctr_wake_end_call(session);
	perfctr_session_unlock(session);
	perfctr_wake_pay(session, wakes);
	return ret;
}

/**
 * drm_perfctr_session_pace() - wait until a job may carry one more SAMPLE
 * @session: reference from drm_perfctr_session_get()
 *
 * Called by the driver for each SAMPLE of a job before it queues the job, without
 * locks: users without CAP_PERFMON have collections at a limited rate, whatever way
 * they ask for them.
 *
 * Returns: 0 or -EINTR.
 */
int drm_perfctr_session_pace(struct drm_perfctr_session *session)
{
	return perfctr_user_pace(session->user);
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_pace);

/**
 * drm_perfctr_session_sample() - a SAMPLE in the command stream
 * @session: reference from drm_perfctr_session_get(), after drm_perfctr_session_pace()
 * @user_data: for the sample
 *
 * Called by the driver between two commands of a job, when what came before is
 * counted and what comes after has not begun. There is nobody to report a full
 * ring to: the sample is merged into the next one, as is one that comes sooner after
 * others than the session's user may have it.
 *
 * May be called where fences are signalled, so it does not call perf: PMU blocks
 * are as they were read last, which their capture time tells, and are read soon.
 *
 * Returns: 0; -ENOENT if the session ended or is not active meanwhile; -ENOSPC
 * if the sample was merged.
 */
int drm_perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data)
{
	struct drm_perfctr *pc = session->pc;
	int ret = 0;

	mutex_lock(&pc->lock);
	if (session->dead || !session->active) {
		ret = -ENOENT;
	} else if (!perfctr_user_may_burst(session->user) || !collect_with_room(session)) {
		session->pending_others++;
		ret = -ENOSPC;
	} else {
		perfctr_sampler_publish(session, DRM_PERFCTR_SAMPLE_IN_STREAM, user_data);
		perfctr_session_want_pmu(session, false);
		if (session->has_pmu)
			kthread_queue_work(pc->worker, &pc->pmu_work);
	}
	mutex_unlock(&pc->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_sample);

static u32 status_flags(const struct drm_perfctr_session *session)
{
	if (!session->active)
		return 0;
	return DRM_PERFCTR_STATUS_ACTIVE |
	       (perfctr_sampler_in_batches(session) ? DRM_PERFCTR_STATUS_BATCHED : 0);
}

/**
 * perfctr_session_status() - STATUS
 * @session: the session
 * @status: filled in
 *
 * Returns: 0 or -EINTR.
 */
int perfctr_session_status(struct drm_perfctr_session *session, struct drm_perfctr_status *status)
{
	struct drm_perfctr *pc = session->pc;
	int ret;

	ret = mutex_lock_interruptible(&pc->lock);
	if (ret)
		return ret;
	perfctr_ring_free(&session->ring);
	*status = (struct drm_perfctr_status) {
		.flags = status_flags(session),
		.slots = session->ring.slots,
		.insert_idx = session->ring.insert,
		.extract_idx = session->ring.extract,
		.merged_periods = session->totals.merged_periods,
		.pending_merged = session->pending_periods + session->pending_others,
		.lost_ns = session->totals.lost_ns,
		.errors = session->totals.errors,
		.overflows = session->totals.overflows,
		.resets = session->totals.resets,
		.bad_extract = session->ring.bad_extract,
		.ring_full = session->totals.ring_full,
		.wakeups = session->totals.wakeups,
		.merged_others = session->totals.merged_others,
	};
	mutex_unlock(&pc->lock);
	return 0;
}

/**
 * perfctr_session_teardown() - TEARDOWN: end a session in any state
 * @session: the session, no longer in its file's table; the table's reference
 *	is consumed
 */
void perfctr_session_teardown(struct drm_perfctr_session *session)
{
	struct drm_perfctr *pc = session->pc;
	bool relax;
	u32 wakes;

	mutex_lock(&pc->lock);
	perfctr_wake_begin_call(session);
	/* unplug has ended the session, but not its hold on the device */
	relax = session->active ? deactivate(session) : session->awake;
	session->awake = false;
	session->dead = true;
	perfctr_ring_set_state(&session->ring, DRM_PERFCTR_RING_DEAD);
	perfctr_wake(session, 1);
	if (session->holds_set)
		pc->set_users--;
	list_del_init(&session->all_node);
	pc->sessions--;
	wakes = perfctr_wake_end_call(session);
	mutex_unlock(&pc->lock);
	perfctr_wake_end(session, wakes);
	perfctr_session_close_pmu(session);

	if (relax)
		pc->config.ops->relax(pc->drm);
	drm_perfctr_session_put(session);
}

/**
 * drm_perfctr_session_get() - look up a session for a job
 * @pf: the file
 * @handle: user space's handle
 *
 * Returns: a reference, to be given back with drm_perfctr_session_put(), or NULL.
 */
struct drm_perfctr_session *drm_perfctr_session_get(struct drm_perfctr_file *pf, u32 handle)
{
	struct drm_perfctr_session *session;

	xa_lock(&pf->sessions);
	session = xa_load(&pf->sessions, handle);
	if (session)
		kref_get(&session->refcount);
	xa_unlock(&pf->sessions);
	return session;
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_get);

/**
 * drm_perfctr_session_put() - give a reference back
 * @session: the session, or NULL
 *
 * Process context, where a driver frees its jobs and not where it signals their
 * fences: the last reference unmaps and frees buffers.
 */
void drm_perfctr_session_put(struct drm_perfctr_session *session)
{
	if (session)
		kref_put(&session->refcount, session_release);
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_put);
