// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware's global interface: the control words, requests, events, the idle timer.
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>

#include "mali_mcu.h"

/* offsets in the shared section; its first page holds the global interface */
#define INPUT_OFFSET		0x400
#define OUTPUT_OFFSET		0x800
#define GROUP_STRIDE		0x400

#define FLIPPED_REQUESTS \
	(MALI_GLB_PROGRESS_TIMER | MALI_GLB_ALLOC_ENABLE | MALI_GLB_POWEROFF_TIMER | \
	 MALI_GLB_PING | MALI_GLB_CONFIG_UPDATE)
#define LEVELS \
	(MALI_GLB_HALT | MALI_GLB_COUNTER_ENABLE | MALI_GLB_IDLE_ENABLE)

/* fills in the words that the host reads after boot; req and ack keep their values */
void mali_global_boot(struct mali_mcu *mcu)
{
	struct csf_glb_control *control = mali_mcu_shared(mcu, 0);

	mcu->in = mali_mcu_shared(mcu, INPUT_OFFSET);
	mcu->out = mali_mcu_shared(mcu, OUTPUT_OFFSET);
	mali_set_word(&mcu->out->ack, mali_word(&mcu->out->ack) & ~MALI_GLB_HALT);
	for (u32 i = 0; i < MALI_GROUPS; i++)
		mali_group_boot(mcu, i, GROUP_STRIDE);

	mali_set_word(&control->features, 0);
	mali_set_word(&control->input_va, MALI_SHARED_VA + INPUT_OFFSET);
	mali_set_word(&control->output_va, MALI_SHARED_VA + OUTPUT_OFFSET);
	mali_set_word(&control->group_num, MALI_GROUPS);
	mali_set_word(&control->group_stride, GROUP_STRIDE);
	mali_set_word(&control->prfcnt_size, mali_prfcnt_size(mcu->gpu));
	mali_set_word(&control->instr_features, 0);
	mali_set_word(&control->prfcnt_features, mali_prfcnt_features(mcu->gpu));
	/* written last: the host takes a version of zero for firmware that has not booted */
	mali_set_word(&control->version, 0x01010000);
}

static int ring_groups(struct mali_mcu *mcu)
{
	u32 req = mali_word(&mcu->in->doorbell_req);
	u32 rung = req ^ mali_doorbells_acknowledge(&mcu->out->doorbell_ack, req);
	int err = 0;

	for (u32 i = 0; i < MALI_GROUPS && !err; i++)
		if (rung & BIT(i))
			err = mali_group_requests(&mcu->group[i]);
	return err;
}

/* an error means that firmware cannot continue */
int mali_global_requests(struct mali_mcu *mcu)
{
	u32 req = mali_word(&mcu->in->req);
	u32 ack = mali_word(&mcu->out->ack);
	u32 pending = req ^ ack;

	if (pending & (MALI_GLB_PRFCNT_ENABLE | MALI_GLB_PRFCNT_SAMPLE))
		ack = mali_prfcnt_requests(mcu, req, ack);
	ack ^= pending & (FLIPPED_REQUESTS | LEVELS);
	mali_global_acknowledge(mcu, ack);
	return ring_groups(mcu);
}

/* reports idle once, after all groups have been idle for as long as the host's timer */
void mali_global_check_idle(struct mali_mcu *mcu)
{
	bool idle = true, active = false;

	for (u32 i = 0; i < MALI_GROUPS; i++) {
		active |= mali_group_active(&mcu->group[i]);
		idle &= mcu->group[i].idle || !mali_group_active(&mcu->group[i]);
	}
	if (!(mali_word(&mcu->in->req) & MALI_GLB_IDLE_ENABLE))
		idle = false;
	if (!active || !idle || mcu->instructions != mcu->instructions_idle) {
		WRITE_ONCE(mcu->idle_at_ns, 0);
		mcu->idle_reported = false;
		mcu->instructions_idle = mcu->instructions;
	}
	if (!active || !idle || mcu->idle_reported)
		return;
	if (!mcu->idle_at_ns) {
		WRITE_ONCE(mcu->idle_at_ns, ktime_get_ns() +
			   mali_timer_ns(mcu->gpu, mali_word(&mcu->in->idle_timer)));
	} else if (ktime_get_ns() >= mcu->idle_at_ns) {
		WRITE_ONCE(mcu->idle_at_ns, 0);
		mcu->idle_reported = true;
		mali_global_event(mcu, MALI_GLB_IDLE);
	}
}
