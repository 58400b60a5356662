// SPDX-License-Identifier: GPL-2.0
/*
 * SAMPLE in the command stream of a job.
 */
#include <linux/export.h>
#include <linux/file.h>
#include <drm/drm_perfctr_extension.h>

#include "perfctr_internal.h"
#include "pmu/pmu.h"

/**
 * drm_perfctr_session_get() - look up a session for a job
 * @pc: the counters
 * @fd: the session's descriptor in the calling process
 *
 * Returns: a reference, to be released with drm_perfctr_session_put(); NULL if it is no session of
 * the device. The reference does not keep the session from ending.
 */
struct drm_perfctr_session *drm_perfctr_session_get(struct drm_perfctr *pc, int fd)
{
	struct drm_perfctr_session *session;
	struct file *file = fget(fd);

	if (!file)
		return NULL;
	session = drm_perfctr_session_of(file);
	if (session && session->pc != pc)
		session = NULL;
	if (session)
		kref_get(&session->refcount);
	fput(file);
	return session;
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_get);

struct sample_request {
	struct perfctr_request base;
	struct drm_perfctr_session *session;
	u64 user_data;
	int ret;
};

static void sample(struct drm_perfctr *pc, struct perfctr_request *base)
{
	struct sample_request *request = container_of(base, struct sample_request, base);
	struct drm_perfctr_session *session = request->session;

	if (session->dead || !session->active) {
		request->ret = -ENOENT;
	} else if (!drm_perfctr_sampler_collect_with_room(session)) {
		session->pending.others++;
		drm_perfctr_update_status(session);
		request->ret = -ENOSPC;
	} else {
		drm_perfctr_publish(session, DRM_PERFCTR_SAMPLE_IN_STREAM, request->user_data);
		drm_perfctr_pmu_want(session, false);
	}
}

/**
 * drm_perfctr_session_sample() - SAMPLE in the command stream
 * @session: reference from drm_perfctr_session_get()
 * @user_data: for the sample
 *
 * Called by the driver between two commands of a job, when the earlier one has been counted and the
 * later one has not started. The application does not see errors: a sample without a free slot is
 * merged into the next one.
 *
 * May be called in fence-signalling sections, so it does not call perf: the sample contains the
 * last values read from perf events, as their capture time shows, and the worker reads them soon.
 *
 * Returns: 0; -ENOENT if the session has ended or is not active; -ENOSPC if the sample was merged;
 * -EOPNOTSUPP without DRM_PERFCTR_FEATURE_IN_STREAM.
 */
int drm_perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data)
{
	struct sample_request request = {
		.base.run = sample,
		.session = session,
		.user_data = user_data,
	};

	if (!(session->pc->config.features & DRM_PERFCTR_FEATURE_IN_STREAM))
		return -EOPNOTSUPP;
	drm_perfctr_run_urgent(session->pc, &request.base);
	return request.ret;
}
EXPORT_SYMBOL_GPL(drm_perfctr_session_sample);
