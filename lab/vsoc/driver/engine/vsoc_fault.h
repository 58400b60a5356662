/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection.
 */
#ifndef _VSOC_FAULT_H_
#define _VSOC_FAULT_H_

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include "vsoc.h"

/* one debugfs file fail_<name in lower case> each; README.md describes them */
enum vsoc_fault {
	VSOC_FAULT_LOST_DOORBELL,
	VSOC_FAULT_SLOW_DOORBELL,
	VSOC_FAULT_NO_ACK,
	VSOC_FAULT_LATE_ACK,
	VSOC_FAULT_DOUBLE_ACK,
	VSOC_FAULT_ACK_WITHOUT_SAMPLE,
	VSOC_FAULT_SPURIOUS_IRQ,
	VSOC_FAULT_LOST_IRQ,
	VSOC_FAULT_EXTRA_SAMPLE,
	VSOC_FAULT_INSERT_BEYOND,
	VSOC_FAULT_INSERT_BACKWARDS,
	VSOC_FAULT_GARBAGE_HEADER,
	VSOC_FAULT_GARBAGE_METADATA,
	VSOC_FAULT_TORN_WRITE,
	VSOC_FAULT_SEQ_JUMP,
	VSOC_FAULT_TIME_BACKWARDS,
	VSOC_FAULT_CLOCK_STOP,
	VSOC_FAULT_COUNTER_WRAP,
	VSOC_FAULT_SATURATION,
	VSOC_FAULT_THRESHOLD_STORM,
	VSOC_FAULT_OVERFLOW,
	VSOC_FAULT_STATUS_FAILED,
	VSOC_FAULT_FW_RESTART,
	VSOC_FAULT_POWER_LOSS,
	VSOC_FAULT_POWER_LOSS_MID_SAMPLE,
	VSOC_FAULT_JOB_HANG,
	VSOC_FAULT_JOB_FAULT,
	VSOC_FAULT_WATCHDOG_LATE,
	VSOC_FAULT_RESET_IN_REQUEST,
	VSOC_FAULT_UNPLUG_IN_REQUEST,
	VSOC_FAULT_PCOUNTER_LOST,
	VSOC_FAULT_PCOUNTER_LATE,
	VSOC_FAULT_PCOUNTER_TWICE,
	VSOC_FAULT_PMU_SLOW,
	VSOC_FAULT_PMU_AFFINITY,
	VSOC_FAULT_ALLOC_JOB,
	VSOC_FAULT_ALLOC_FENCE,
	VSOC_FAULT_ALLOC_CTX,
	VSOC_FAULT_ALLOC_FILE,
	VSOC_FAULT_COUNT,
};

int vsoc_faults_init(struct vsoc_device *vsoc);
/* decides whether a fault with a probability above zero occurs now */
bool vsoc_fault_draw(struct vsoc_device *vsoc, enum vsoc_fault fault);

/* whether the fault occurs now; any context. Cheap if the fault is not set. */
static inline bool vsoc_fault(struct vsoc_device *vsoc, enum vsoc_fault fault)
{
	return READ_ONCE(vsoc->faults_set) & BIT_ULL(fault) && vsoc_fault_draw(vsoc, fault);
}

/* next pseudo-random number of the sequence */
u32 vsoc_fault_random(struct vsoc_device *vsoc);
/* delay of faults that delay something */
unsigned int vsoc_fault_delay_ms(struct vsoc_device *vsoc);
void vsoc_faults_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_FAULT_H_ */
