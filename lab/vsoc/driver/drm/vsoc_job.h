/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VSOC_JOB_H_
#define _VSOC_JOB_H_

#include <linux/time64.h>
#include <drm/vsoc_drm.h>

struct drm_file;
struct vsoc_device;
struct vsoc_job_command;
struct vsoc_thread;

/* limits that GET_INFO reports */
#define VSOC_MAX_COMMANDS	4096
#define VSOC_MAX_CONTEXTS	256
#define VSOC_MAX_QUEUED_JOBS	1024
#define VSOC_MAX_WAIT_NS	(60ULL * NSEC_PER_SEC)

/* vsoc_command.c: returns 0, or -EINVAL or -EOPNOTSUPP and names the field in a debug message */
int vsoc_check_command(struct vsoc_device *vsoc, const struct drm_vsoc_command *cmd, u32 number);

/*
 * vsoc_command.c: reads the listing of a checked command and executes one thread of it. @budget:
 * instructions and steps that the job may still use. The caller frees *@thread, even on errors.
 */
int vsoc_read_listing(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_compute *c, u32 number,
		      u32 *budget, struct vsoc_thread **thread);

/*
 * vsoc_store.c: maps the buffer of a checked MP_STORE. Map before the job is queued; do not unmap
 * in a fence-signalling section.
 */
int vsoc_store_map(struct vsoc_device *vsoc, struct drm_file *file, struct vsoc_job_command *c,
		   u32 number);
void vsoc_store_unmap(struct vsoc_job_command *c);

#endif /* _VSOC_JOB_H_ */
