/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instruction listings: what a thread of a COMPUTE does. Pure.
 */
#ifndef _VSOC_LISTING_H_
#define _VSOC_LISTING_H_

#include <linux/bits.h>
#include <linux/types.h>
#include <drm/vsoc_drm.h>

#define VSOC_MAX_LISTING	4096
#define VSOC_MAX_STEPS		BIT(20)
#define VSOC_MAX_JOB_STEPS	BIT(22)

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
	u64 on[VSOC_CLASSES];	/* executed with a true guard, by class */
	u64 off[VSOC_CLASSES];	/* reached with a false guard */
	/* that stand behind the EXIT that ended the thread and were never reached */
	u64 dead[VSOC_CLASSES];
	u64 shuffles;	/* SHFL among @on of VSOC_CLASS_MOVE */
	u64 loads;	/* LDG among @on of VSOC_CLASS_LD_ST */
	u64 stores;	/* STG among @on of VSOC_CLASS_LD_ST */
};

/* an instruction of a listing while it is executed */
struct vsoc_step {
	struct drm_vsoc_instruction insn;	/* as user space gave it */
	u32 used;	/* times that the guard was true since it was false */
	bool reached;	/* a thread came here */
};

/* what is wrong with instruction @insn of a listing of @count, or NULL */
const char *vsoc_listing_check(const struct drm_vsoc_instruction *insn, u32 count);

/* a thread on its way through a listing */
struct vsoc_run {
	struct vsoc_step *steps;	/* the listing; @used and @reached zero at the beginning */
	u32 count;			/* elements of @steps */
	u32 at;				/* where the thread is */
	u32 taken;			/* instructions that it has reached */
};

/* execute up to @steps more; 0 the thread ended, -EAGAIN not yet, -EINVAL it ran past the end */
int vsoc_listing_run(struct vsoc_run *run, u32 steps, struct vsoc_thread *thread);

#endif /* _VSOC_LISTING_H_ */
