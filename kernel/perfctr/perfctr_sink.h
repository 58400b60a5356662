/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam for front ends other than the session's descriptor.
 */
#ifndef _PERFCTR_SINK_H_
#define _PERFCTR_SINK_H_

#include <linux/kconfig.h>
#include "perfctr_internal.h"

/*
 * What another front end makes of a session's samples; a session without one has perfctr's own
 * layout, in memory of its own. All but attach and release are called with the sampler lock held:
 * they must neither allocate, nor look anything up, nor lock.
 */
struct perfctr_sink_ops {
	/* OPEN: the blocks are known; sets memory and ring of the session. 0 or an errno */
	int (*attach)(struct drm_perfctr_session *session, const struct drm_perfctr_open *open);
	/* START: a span begins */
	void (*begin)(struct drm_perfctr_session *session);
	/* writes the blocks of a sample, whose counts end here, then its header; reads neither */
	void (*blocks)(struct drm_perfctr_session *session, void *slot);
	void (*header)(struct drm_perfctr_session *session, void *slot,
		       const struct drm_perfctr_sample_header *header);
	/* the session is freed, or was not created; its memory is freed already */
	void (*release)(struct perfctr_sink *sink);
};

/* embedded in the front end's structure */
struct perfctr_sink {
	const struct perfctr_sink_ops *ops;
};

/* of a session with another front end, NULL: none */
static inline const struct perfctr_sink_ops *perfctr_sink_ops(const struct drm_perfctr_session *s)
{
	return IS_ENABLED(CONFIG_DRM_PERFCTR_CONTROL) && s->sink ? s->sink->ops : NULL;
}

/* perfctr_memory.c: memory of a sink's own, without pages; perfctr_wake.c: one signal more */
struct perfctr_memory *drm_perfctr_memory_describe(kuid_t charged,
						   const struct drm_perfctr_layout *layout);
void drm_perfctr_count_signal(struct perfctr_memory *memory);

#endif /* _PERFCTR_SINK_H_ */
