/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instruction listings: what a thread of a COMPUTE executes.
 */
#ifndef _VSOC_LISTING_H_
#define _VSOC_LISTING_H_

#include <linux/bits.h>
#include <linux/types.h>
#include <drm/vsoc_drm.h>

#define VSOC_MAX_LISTING	4096
#define VSOC_MAX_STEPS		BIT(20)
#define VSOC_MAX_JOB_STEPS	BIT(22)

#define VSOC_TRIGGERS		8

/* upper byte of enum drm_vsoc_opcode */
enum vsoc_class {
	VSOC_CLASS_INTEGER = 1,
	VSOC_CLASS_FP32,
	VSOC_CLASS_LD_ST,
	VSOC_CLASS_CONTROL,
	VSOC_CLASS_CONVERT,
	VSOC_CLASS_MISC,
	VSOC_CLASS_MOVE,
	VSOC_CLASSES,
};

/* instructions of one thread */
struct vsoc_thread {
	u64 on[VSOC_CLASSES];	/* executed: the guard was true */
	u64 off[VSOC_CLASSES];	/* skipped: the guard was false */
	/* behind the EXIT that ended the thread, never reached */
	u64 dead[VSOC_CLASSES];
	u64 shuffles;	/* SHFL among @on of VSOC_CLASS_MOVE */
	u64 loads;	/* LDG among @on of VSOC_CLASS_LD_ST */
	u64 stores;	/* STG among @on of VSOC_CLASS_LD_ST */
	u64 triggers[VSOC_TRIGGERS];	/* fired by PMTRIG */
};

/* an instruction of a listing and its state */
struct vsoc_step {
	struct drm_vsoc_instruction insn;	/* as submitted */
	u32 used;	/* times that the guard was true since it was last false */
	bool reached;	/* the thread has reached it */
};

/* describes what is wrong with instruction @insn of a listing of @count; NULL if it is valid */
const char *vsoc_listing_check(const struct drm_vsoc_instruction *insn, u32 count);

/* a thread that executes a listing */
struct vsoc_run {
	struct vsoc_step *steps;	/* the listing; @used and @reached are initially zero */
	u32 count;			/* elements of @steps */
	u32 at;				/* position of the thread */
	u32 taken;			/* instructions reached so far */
};

/* execute up to @steps more; 0 if the thread ended, -EAGAIN if not yet, -EINVAL past the end */
int vsoc_listing_run(struct vsoc_run *run, u32 steps, struct vsoc_thread *thread);

#endif /* _VSOC_LISTING_H_ */
