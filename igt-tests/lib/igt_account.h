/* SPDX-License-Identifier: MIT */
/*
 * What a session has told against what the hardware counted, while the session goes on.
 */
#ifndef IGT_ACCOUNT_H
#define IGT_ACCOUNT_H

#include "igt_vsoc.h"

struct igt_account {
	struct igt_perfctr_session *session;
	unsigned int set; /* enum drm_perfctr_set */
	/* up to here everything is settled */
	struct igt_vsoc_totals base;
	uint64_t ucf_base; /* bytes, for sessions with DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD */
	/* of gpu_idle, which goes on while one looks, since the account began */
	uint64_t idle_truth, idle_told;
	bool unplugged;
	/* over all settlements */
	uint64_t compared; /* counters that were compared */
	uint64_t truth; /* counts that happened */
	uint64_t counts; /* counts that were found in samples */
	uint64_t dropped; /* counts that hardware destroyed, all admitted */
	uint64_t multiplexed; /* counts that happened while it was another counter's turn */
	uint64_t refused; /* counts that were there but could not be trusted or read, admitted */
	uint64_t blocks_missing; /* blocks of which any of these is not zero */
	uint32_t types_missing; /* their types, 1 << enum drm_perfctr_block */
	uint64_t lost_ns;
	uint64_t ucf_bytes;
	const char *missing_name; /* a counter that lacked counts */
};

/* the session is about to count, the GPU is idle */
void igt_account_open(struct igt_account *account, struct igt_perfctr_session *session,
		      unsigned int set);
/* the same, or false if the device has gone */
bool igt_account_try_open(struct igt_account *account, struct igt_perfctr_session *session,
			  unsigned int set);
/*
 * All that was counted until @now has been published and drained, the GPU was idle since. For each
 * counter
 *
 *	truth = in samples + dropped + refused, and refused <= doubtful
 *
 * and if not all is in samples, they say so: lost_ns and the block's STATE_LOST are set, or the
 * block is saturated. For blocks of product nv50, where nothing tells what became of counts,
 *
 *	truth = in samples + multiplexed + dropped
 *
 * where only counters that ran for less than their block have multiplexed ones, and the others' dropped
 * ones are admitted in the same way, saturated or not. Asserts, and begins anew at @now. Returns the counts that are not in samples:
 * where nothing failed there are none.
 */
uint64_t igt_account_settle(struct igt_account *account, const struct igt_vsoc_totals *now);
/*
 * The same right after STOP. If its sample says ERROR, hardware may not have answered and have kept
 * what it had. It has it still then, pending @now, or threw it away when counting ended, which
 * @now calls doubtful. Only with @others that count, it may as well be theirs by now: then
 * all that was pending @before STOP is excused here, and due in their accounts.
 */
uint64_t igt_account_settle_stopped(struct igt_account *account,
				    const struct igt_vsoc_totals *before,
				    const struct igt_vsoc_totals *now, bool others);
/* the same after unplug: @now was read before the last sample, when the GPU was idle already */
uint64_t igt_account_settle_unplugged(struct igt_account *account,
				      const struct igt_vsoc_totals *now);

#endif
