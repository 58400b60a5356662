// SPDX-License-Identifier: GPL-2.0
/*
 * Executes one thread of an instruction listing; all threads of a command are equal.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "vsoc_listing.h"

/* last opcode of each class */
static const u16 last_opcode[VSOC_CLASSES] = {
	[VSOC_CLASS_INTEGER] = DRM_VSOC_OP_VABSDIFF4,
	[VSOC_CLASS_FP32] = DRM_VSOC_OP_FSETP,
	[VSOC_CLASS_LD_ST] = DRM_VSOC_OP_STS,
	[VSOC_CLASS_CONTROL] = DRM_VSOC_OP_EXIT,
	[VSOC_CLASS_CONVERT] = DRM_VSOC_OP_I2F,
	[VSOC_CLASS_MISC] = DRM_VSOC_OP_PMTRIG,
	[VSOC_CLASS_MOVE] = DRM_VSOC_OP_SHFL,
};

static u32 class_of(const struct drm_vsoc_instruction *insn)
{
	return insn->opcode >> 8;
}

const char *vsoc_listing_check(const struct drm_vsoc_instruction *insn, u32 count)
{
	const u32 class = class_of(insn);

	if (!class || class >= VSOC_CLASSES || insn->opcode > last_opcode[class])
		return "opcode is unknown";
	if (insn->guard > DRM_VSOC_GUARD_TIMES)
		return "guard is unknown";
	if (insn->guard != DRM_VSOC_GUARD_TIMES && insn->guard_times)
		return "guard_times must be zero without GUARD_TIMES";
	if (insn->opcode == DRM_VSOC_OP_PMTRIG && (!insn->target || insn->target >> VSOC_TRIGGERS))
		return "target of a PMTRIG is a mask of triggers, 1..255";
	if (insn->opcode != DRM_VSOC_OP_BRA && insn->opcode != DRM_VSOC_OP_PMTRIG && insn->target)
		return "target must be zero unless it is a BRA or PMTRIG";
	if (insn->opcode == DRM_VSOC_OP_BRA && insn->target >= count)
		return "target is outside of the listing";
	if (insn->pad || insn->reserved)
		return "pad and reserved must be zero";
	return NULL;
}

static bool guard_holds(struct vsoc_step *step)
{
	switch (step->insn.guard) {
	case DRM_VSOC_GUARD_TRUE:
		return true;
	case DRM_VSOC_GUARD_FALSE:
		return false;
	}
	if (step->used == step->insn.guard_times) {
		step->used = 0;
		return false;
	}
	step->used++;
	return true;
}

static void count_step(const struct vsoc_step *step, bool on, struct vsoc_thread *thread)
{
	const u32 class = class_of(&step->insn);

	if (!on) {
		thread->off[class]++;
		return;
	}
	thread->on[class]++;
	thread->shuffles += step->insn.opcode == DRM_VSOC_OP_SHFL;
	thread->loads += step->insn.opcode == DRM_VSOC_OP_LDG;
	thread->stores += step->insn.opcode == DRM_VSOC_OP_STG;
	if (step->insn.opcode == DRM_VSOC_OP_PMTRIG)
		for (u32 i = 0; i < VSOC_TRIGGERS; i++)
			thread->triggers[i] += step->insn.target >> i & 1;
}

static void count_dead(const struct vsoc_run *run, struct vsoc_thread *thread)
{
	u32 i;

	for (i = run->at + 1; i < run->count; i++)
		if (!run->steps[i].reached)
			thread->dead[class_of(&run->steps[i].insn)]++;
}

int vsoc_listing_run(struct vsoc_run *run, u32 steps, struct vsoc_thread *thread)
{
	while (steps--) {
		struct vsoc_step *step;
		bool on;

		if (run->at >= run->count)
			return -EINVAL;
		step = &run->steps[run->at];
		on = guard_holds(step);
		step->reached = true;
		run->taken++;
		count_step(step, on, thread);
		if (on && step->insn.opcode == DRM_VSOC_OP_EXIT) {
			count_dead(run, thread);
			return 0;
		}
		if (on && step->insn.opcode == DRM_VSOC_OP_BRA)
			run->at = step->insn.target;
		else
			run->at++;
	}
	return -EAGAIN;
}
