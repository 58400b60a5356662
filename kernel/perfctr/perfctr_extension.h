/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core knows of the extension of a source: how to call it.
 */
#ifndef _PERFCTR_EXTENSION_H_
#define _PERFCTR_EXTENSION_H_

#include <drm/drm_perfctr_extension.h>

#include "perfctr_internal.h"

/* calls of the core, with the sampler lock held; it has no other ones */
struct perfctr_extension_ops {
	/* a collection that is a batch: as drm_perfctr_sampler_collect_source() */
	int (*collect)(struct drm_perfctr_source *source);
	/* the active sessions, and @session if not NULL, are what it counts for from now on */
	void (*select)(struct drm_perfctr_source *source,
		       const struct drm_perfctr_session *session);
};

/* whether a source's collections are batches */
static inline bool perfctr_has_batches(const struct drm_perfctr_source *source)
{
	return source->extension && source->extension->batch_ns;
}

static inline void perfctr_select(struct drm_perfctr_source *source,
				  const struct drm_perfctr_session *session)
{
	if (source->extension)
		source->extension->ops->select(source, session);
}

/* whether a source's batches could provide the periodic samples: it must be the only source */
static inline bool perfctr_is_batchable(const struct drm_perfctr_session *session)
{
	return session->config.period_ns && session->source_count == 1 &&
	       !session->pmu.present && session->privileged;
}

/* whether a source's batches provide the periodic samples of an active session */
static inline bool perfctr_in_batches(const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_source *source = session->sources[0].source;

	return perfctr_is_batchable(session) && perfctr_has_batches(source) &&
	       source->state->running;
}

#endif /* _PERFCTR_EXTENSION_H_ */
