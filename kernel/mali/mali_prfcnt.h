/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware's side of the counter protocol (csf_layout.h): samples of the hardware's counters in a
 * ring in firmware's own address space.
 */
#ifndef _MALI_PRFCNT_H_
#define _MALI_PRFCNT_H_

#include "mali.h"

struct mali_mcu;

int mali_prfcnt_init(struct mali_gpu *gpu);
void mali_prfcnt_fini(struct mali_gpu *gpu);
u32 mali_prfcnt_size(const struct mali_gpu *gpu);
u32 mali_prfcnt_requests(struct mali_mcu *mcu, u32 req, u32 ack);
void mali_prfcnt_reset(struct mali_gpu *gpu);

#endif /* _MALI_PRFCNT_H_ */
