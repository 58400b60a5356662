/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPU's microcontroller with its firmware, and the driver's glue for its counters.
 */
#ifndef _VSOC_CSF_H_
#define _VSOC_CSF_H_

#include <linux/types.h>

struct dentry;
struct vsoc_device;
struct csf_glb_control;
struct csf_glb_input;
struct csf_glb_output;

/* the global interface, shared by firmware and host */
struct vsoc_fw_pages {
	struct csf_glb_control *control;	/* written at boot */
	struct csf_glb_input *input;		/* written by the host */
	struct csf_glb_output *output;		/* written by firmware */
};

int vsoc_fw_init(struct vsoc_device *vsoc);
void vsoc_fw_fini(struct vsoc_device *vsoc);
const struct vsoc_fw_pages *vsoc_fw_pages(struct vsoc_device *vsoc);
void vsoc_fw_map(struct vsoc_device *vsoc, u64 va, void *memory, size_t bytes);
void vsoc_fw_set_irq(struct vsoc_device *vsoc, void (*handler)(struct vsoc_device *vsoc));
void vsoc_fw_doorbell(struct vsoc_device *vsoc);
void vsoc_fw_core_power(struct vsoc_device *vsoc, u64 cores_on);
void vsoc_fw_assign(struct vsoc_device *vsoc, u64 assigned);
void vsoc_fw_protected(struct vsoc_device *vsoc, bool enter);
void vsoc_fw_reset(struct vsoc_device *vsoc);
void vsoc_fw_totals(struct vsoc_device *vsoc, u64 *truth, u64 *dropped, u64 *doubtful,
		    u64 *pending);
void vsoc_fw_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* vsoc_csf.c: the driver's glue for the counters */
int vsoc_csf_init(struct vsoc_device *vsoc);

#endif /* _VSOC_CSF_H_ */
