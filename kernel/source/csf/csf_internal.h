/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What csf_perfctr.c (the source) and csf_protocol.c (requests to firmware) share.
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
/* polls before a timeout, however long a virtual machine stood still */
#define CSF_MIN_POLLS			3
/* firmware that could not be recovered is tried again after this time */
#define CSF_RETRY_NS			NSEC_PER_SEC
#define CSF_EVENTS	(CSF_GLB_PRFCNT_THRESHOLD | CSF_GLB_PRFCNT_OVERFLOW)
#define CSF_ACK_IRQS	(CSF_GLB_PRFCNT_ENABLE | CSF_GLB_PRFCNT_SAMPLE | CSF_EVENTS)

/* the counters of one device */
struct csf_perfctr {
	struct drm_perfctr_source source;	/* what the core sees */
	bool prepared;				/* the driver's ring is there */
	struct drm_device *drm;			/* for messages */
	struct csf_perfctr_config config;	/* as given by the driver */
	struct csf_reader reader;		/* takes samples apart */
	struct csf_time time;			/* converts their timestamps */
	u64 **totals;				/* of each visible block, in the core */
	size_t sample_bytes;			/* between slots */
	wait_queue_head_t ack_wait;		/* woken by each global interrupt */

	u8 set;		/* counter set in use */
	bool enabled;	/* firmware acknowledged PRFCNT_ENABLE */
	u32 extract;	/* next sample to read; what is in memory is for firmware only */
	bool outstanding;	/* a request was not acknowledged in time */
	u64 time_ns;	/* CLOCK_MONOTONIC_RAW up to which counts were read */
	bool timed;	/* @time_ns was computed from the GPU timestamp of the last sample */
	u64 retry_ns;	/* CLOCK_MONOTONIC_RAW before which a dead firmware is left alone */

	bool live;		/* csf_perfctr_irq() may look at the pages */
	bool requesting;	/* new samples are expected, they are no event */
	bool event_pending;	/* the core was asked to collect */
	bool overflow;		/* firmware ran out of slots since the last collection */
	u32 seen_insert;	/* INSERT up to which no event is needed */
};

/* csf_protocol.c: with the core's sampler lock held; deadlines: CLOCK_MONOTONIC_RAW */
u32 csf_status(const struct csf_perfctr *csf);
u64 csf_ack_deadline_ms(void);
bool csf_enable_pending(const struct csf_perfctr *csf);
int csf_drain(struct csf_perfctr *csf, u64 *const *totals);
void csf_expect_samples(struct csf_perfctr *csf, bool expect);
int csf_settle_request(struct csf_perfctr *csf);
int csf_request(struct csf_perfctr *csf, u64 *const *totals, u64 deadline_ms);
void csf_set_live(struct csf_perfctr *csf, bool live);
int csf_disable(struct csf_perfctr *csf, u64 deadline_ms);
int csf_enable(struct csf_perfctr *csf, u64 deadline_ms);
bool csf_take_overflow(struct csf_perfctr *csf);

#endif /* _CSF_INTERNAL_H_ */
