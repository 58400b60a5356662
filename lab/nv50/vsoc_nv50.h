/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual SoC's GPU with NVIDIA-style counters instead of Mali-style ones.
 */
#ifndef _VSOC_NV50_H_
#define _VSOC_NV50_H_

#include <linux/types.h>

struct drm_vsoc_cmd_methods;
struct drm_vsoc_command;
struct drm_vsoc_mp_record;
struct dentry;
struct seq_file;
struct vsoc_ctx;
struct vsoc_device;
struct vsoc_thread;
struct vsoc_work;

/* no-ops on a device without NVIDIA-style counters (vsoc->nv50) */
int vsoc_nv50_init(struct vsoc_device *vsoc);
int vsoc_nv50_counters_init(struct vsoc_device *vsoc);
u64 vsoc_nv50_hz(struct vsoc_device *vsoc, u8 clock);

int vsoc_nv50_ctx_init(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);

/* called from the engine's thread */
void vsoc_nv50_job(struct vsoc_device *vsoc, struct vsoc_ctx *ctx);
void vsoc_nv50_command(struct vsoc_device *vsoc, struct vsoc_work *work,
		       const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread);
/* require vsoc->nv50 and a running job */
void vsoc_nv50_methods(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_methods *methods);
void vsoc_nv50_store(struct vsoc_device *vsoc, struct drm_vsoc_mp_record *records, u32 sequence);
/* with hw_lock held */
void vsoc_nv50_progress(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 ns,
			u64 time_ns);
void vsoc_nv50_idle(struct vsoc_device *vsoc);

void vsoc_nv50_reset(struct vsoc_device *vsoc);
void vsoc_nv50_debugfs(struct vsoc_device *vsoc, struct dentry *dir);
void vsoc_nv50_show(struct seq_file *m, const char *account, const u64 *values);

#endif /* _VSOC_NV50_H_ */
