/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the counter core: /sys/kernel/tracing/events/drm_perfctr.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM drm_perfctr

#if !defined(_PERFCTR_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _PERFCTR_TRACE_H_

#include <linux/tracepoint.h>
#include <drm/drm_file.h>
#include "perfctr_internal.h"

DECLARE_EVENT_CLASS(drm_perfctr_asked,
	TP_PROTO(const struct drm_perfctr_source *source,
		 const struct drm_perfctr_collection *c, int ret),
	TP_ARGS(source, c, ret),
	TP_STRUCT__entry(
		__field(u32, minor)
		__field(u32, source)
		__field(u64, seq)
		__field(u64, time_ns)
		__field(u64, lost_ns)
		__field(u32, flags)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->minor = source->pc->drm->render ? source->pc->drm->render->index : 0;
		__entry->source = source->id;
		__entry->seq = source->state->seq;
		__entry->time_ns = c->time_ns;
		__entry->lost_ns = c->lost_ns;
		__entry->flags = c->flags;
		__entry->ret = ret;
	),
	TP_printk("minor=%u source=%u seq=%llu time_ns=%llu lost_ns=%llu flags=0x%x ret=%d",
		  __entry->minor, __entry->source, __entry->seq, __entry->time_ns,
		  __entry->lost_ns, __entry->flags, __entry->ret)
);

/* a source was collected */
DEFINE_EVENT(drm_perfctr_asked, drm_perfctr_collect,
	TP_PROTO(const struct drm_perfctr_source *source,
		 const struct drm_perfctr_collection *c, int ret),
	TP_ARGS(source, c, ret));

/* a collection failed, or its report was invalid */
DEFINE_EVENT(drm_perfctr_asked, drm_perfctr_error,
	TP_PROTO(const struct drm_perfctr_source *source,
		 const struct drm_perfctr_collection *c, int ret),
	TP_ARGS(source, c, ret));

DECLARE_EVENT_CLASS(drm_perfctr_sample,
	TP_PROTO(const struct drm_perfctr_session *session,
		 const struct drm_perfctr_sample_header *header, u32 unread),
	TP_ARGS(session, header, unread),
	TP_STRUCT__entry(
		__field(u32, minor)
		__field(u32, unread)
		__field(u64, session)
		__field(u64, seq)
		__field(u64, start_ns)
		__field(u64, end_ns)
		__field(u32, flags)
		__field(u32, merged_periods)
		__field(u32, merged_others)
	),
	TP_fast_assign(
		__entry->minor = session->pc->drm->render ? session->pc->drm->render->index : 0;
		__entry->unread = unread;
		__entry->session = session->id;
		__entry->seq = header->seq;
		__entry->start_ns = header->start_ns;
		__entry->end_ns = header->end_ns;
		__entry->flags = header->flags;
		__entry->merged_periods = header->merged_periods;
		__entry->merged_others = header->merged_others;
	),
	TP_printk("minor=%u session=%llu seq=%llu start_ns=%llu end_ns=%llu "
		  "flags=0x%x merged=%u+%u unread=%u", __entry->minor, __entry->session,
		  __entry->seq, __entry->start_ns, __entry->end_ns, __entry->flags,
		  __entry->merged_periods, __entry->merged_others, __entry->unread)
);

/* a sample became visible */
DEFINE_EVENT(drm_perfctr_sample, drm_perfctr_publish,
	TP_PROTO(const struct drm_perfctr_session *session,
		 const struct drm_perfctr_sample_header *header, u32 unread),
	TP_ARGS(session, header, unread));

/* a sample about to be published includes earlier ones */
DEFINE_EVENT(drm_perfctr_sample, drm_perfctr_stretch,
	TP_PROTO(const struct drm_perfctr_session *session,
		 const struct drm_perfctr_sample_header *header, u32 unread),
	TP_ARGS(session, header, unread));

#endif /* _PERFCTR_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE perfctr_trace
#include <trace/define_trace.h>
