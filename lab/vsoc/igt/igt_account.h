/* SPDX-License-Identifier: MIT */
/* The account of an active session: its samples against what the hardware counted. */
#ifndef IGT_ACCOUNT_H
#define IGT_ACCOUNT_H

#include "igt_vsoc.h"

struct igt_account {
	struct igt_perfctr_session *session;
	unsigned int set; /* enum drm_perfctr_set */
	/* truth at the last settlement */
	struct igt_vsoc_totals base;
	uint64_t ucf_base; /* bytes, for sessions with DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD */
	/* of gpu_idle, which also counts during comparisons, since the account began */
	uint64_t idle_truth, idle_in_samples;
	bool unplugged;
	/* over all settlements */
	uint64_t compared; /* compared counters */
	uint64_t truth; /* counts that happened */
	uint64_t counts; /* counts in samples */
	uint64_t dropped; /* counts that hardware destroyed, all reported */
	uint64_t multiplexed; /* counts of other counters' slots */
	uint64_t refused; /* counts that were unreadable or untrusted, reported */
	uint64_t blocks_missing; /* blocks in which any of these is not zero */
	uint32_t types_missing; /* their types, 1 << enum drm_perfctr_block */
	uint64_t lost_ns;
	uint64_t ucf_bytes;
	const char *missing_name; /* a counter that lacked counts */
};

/* flags of samples without faults */
#define IGT_ORDINARY_FLAGS                                                                    \
	(DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_PERIODIC | DRM_PERFCTR_SAMPLE_FINAL | \
	 DRM_PERFCTR_SAMPLE_STRETCHED)

struct igt_accounted {
	struct igt_perfctr_session s;
	struct igt_account account;
};

/* create a session of all GPU blocks, perhaps of UCF 0 too, and its account */
void igt_accounted_open(struct igt_accounted *a, const struct igt_perfctr_device *d, uint64_t mask,
			uint64_t period_ns, bool with_ucf);
/* after STOP: drain, settle, and remove the session */
void igt_accounted_close(struct igt_accounted *a);

/* call before START, with the GPU idle */
void igt_account_open(struct igt_account *account, struct igt_perfctr_session *session,
		      unsigned int set);
/* the same; false: the device is gone */
bool igt_account_try_open(struct igt_account *account, struct igt_perfctr_session *session,
			  unsigned int set);
/*
 * All counts until @now must have been published and drained, with the GPU idle since. Asserts for
 * each counter
 *
 *	truth = in samples + dropped + refused, and refused <= doubtful
 *
 * Samples report missing counts by lost_ns and the block's STATE_LOST, or the block is saturated.
 * For product nv50, whose model has no such totals, it asserts
 *
 *	truth = in samples + multiplexed + dropped
 *
 * where only counters that ran for less than their block have multiplexed counts. Begins a new
 * account at @now. Returns the counts that are not in samples: zero without faults.
 */
uint64_t igt_account_settle(struct igt_account *account, const struct igt_vsoc_totals *now);
/*
 * Settle after STOP. If the final sample has ERROR, hardware may have kept counts: they are pending
 * in @now, or dropped and doubtful in @now. With @others (active sessions of the device) all counts
 * that were pending in @before STOP may be missing here; the accounts of those sessions must have
 * them.
 */
uint64_t igt_account_settle_stopped(struct igt_account *account,
				    const struct igt_vsoc_totals *before,
				    const struct igt_vsoc_totals *now, bool others);
/* settle after unplug; @now was read before the last sample, with the GPU idle */
uint64_t igt_account_settle_unplugged(struct igt_account *account,
				      const struct igt_vsoc_totals *now);

#endif
