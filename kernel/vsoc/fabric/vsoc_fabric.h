/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric around the GPU: models of the SoC's PMUs, which count the engine's traffic.
 */
#ifndef _VSOC_FABRIC_H_
#define _VSOC_FABRIC_H_

struct dentry;
struct vsoc_device;
struct vsoc_traffic;

/* Process context; vsoc_fabric_init() returns 0 or a negative errno. */
int vsoc_fabric_init(struct vsoc_device *vsoc);
void vsoc_fabric_fini(struct vsoc_device *vsoc);
void vsoc_fabric_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

/* Call with hw_lock held, never concurrently. Does not sleep long or call into the GPU model. */
void vsoc_fabric_traffic(struct vsoc_device *vsoc, const struct vsoc_traffic *t);

#endif /* _VSOC_FABRIC_H_ */
