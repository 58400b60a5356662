/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between csf_perfctr.c (the source) and csf_protocol.c (requests to firmware).
 */
#ifndef _CSF_INTERNAL_H_
#define _CSF_INTERNAL_H_

#include <linux/types.h>
#include <linux/wait.h>
#include <drm/drm_perfctr.h>

#include "csf_layout.h"
#include "csf_perfctr.h"
#include "csf_sample.h"
#include "csf_time.h"

/* interrupts can get lost: poll this often while waiting */
#define CSF_POLL_MS			10
/* minimum number of polls before a timeout, in case a virtual machine was paused */
#define CSF_MIN_POLLS			3
/* minimum time between attempts to recover firmware */
#define CSF_RETRY_NS			NSEC_PER_SEC
#define CSF_EVENTS	(CSF_GLB_PRFCNT_THRESHOLD | CSF_GLB_PRFCNT_OVERFLOW)
#define CSF_ACK_IRQS	(CSF_GLB_PRFCNT_ENABLE | CSF_GLB_PRFCNT_SAMPLE | CSF_EVENTS)

/* the counters of one device */
struct csf_perfctr {
	struct drm_perfctr_source source;	/* interface to the core */
	bool prepared;				/* the driver has allocated the ring */
	struct drm_device *drm;			/* for messages */
	struct csf_perfctr_config config;	/* as given by the driver */
	struct csf_reader reader;		/* decodes samples */
	struct csf_time time;			/* converts their timestamps */
	u64 **totals;				/* of each visible block, in the core */
	size_t sample_bytes;			/* between slots */
	wait_queue_head_t ack_wait;		/* woken by each global interrupt */

	u8 set;		/* counter set in use */
	bool enabled;	/* firmware acknowledged PRFCNT_ENABLE */
	u32 extract;	/* next sample to read; the copy in shared memory is for firmware only */
	bool outstanding;	/* a request was not acknowledged in time */
	u64 time_ns;	/* CLOCK_MONOTONIC_RAW until which counts were read */
	bool timed;	/* @time_ns was derived from the GPU timestamp of the last sample */
	u64 retry_ns;	/* CLOCK_MONOTONIC_RAW of the next attempt to recover firmware */

	bool live;		/* csf_perfctr_irq() may access the pages */
	bool requesting;	/* a request is pending: its samples are not events */
	bool event_pending;	/* a collection was requested from the core */
	bool overflow;		/* firmware ran out of slots since the last collection */
	u32 seen_insert;	/* INSERT up to which no event is raised */
};

/* csf_protocol.c: with the core's sampler lock held; deadlines: CLOCK_MONOTONIC_RAW */
u32 csf_status(const struct csf_perfctr *csf);
u64 csf_ack_deadline_ms(void);
bool csf_enable_pending(const struct csf_perfctr *csf);
int csf_drain(struct csf_perfctr *csf, u64 *const *totals);
void csf_expect_samples(struct csf_perfctr *csf, bool expect);
int csf_settle_request(struct csf_perfctr *csf, u64 deadline_ms);
int csf_request(struct csf_perfctr *csf, u64 *const *totals, u64 deadline_ms);
void csf_set_live(struct csf_perfctr *csf, bool live);
int csf_disable(struct csf_perfctr *csf, u64 deadline_ms);
int csf_enable(struct csf_perfctr *csf, u64 deadline_ms);
bool csf_take_overflow(struct csf_perfctr *csf);

#endif /* _CSF_INTERNAL_H_ */
