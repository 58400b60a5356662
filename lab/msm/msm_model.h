/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands in for the headers of the kernel's msm driver: what msm_perfcntr.c uses of them. The
 * names are the driver's.
 */
#ifndef MSM_MODEL_H
#define MSM_MODEL_H

#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>

enum adreno_pipe { PIPE_NONE, PIPE_BR, PIPE_BV };

struct kthread_worker;
struct msm_gpu;
struct msm_perfcntr_context_state;
struct msm_perfcntr_group;
struct msm_perfcntr_stream;

#define UERR(error, dev, fmt, ...) ({ \
	drm_dbg_driver(dev, fmt "\n", ##__VA_ARGS__); \
	-(error); \
})

struct msm_rbmemptrs {
	u32 perfcntr_fence;
};

struct msm_ringbuffer {
	struct {
		struct workqueue_struct *submit_wq;
	} sched;
	struct msm_rbmemptrs *memptrs;
};

struct msm_gpu_funcs {
	void (*sysprof_setup)(struct msm_gpu *gpu, bool force_on);
	void (*perfcntr_configure)(struct msm_gpu *gpu, struct msm_ringbuffer *ring,
				   const struct msm_perfcntr_stream *stream);
	void (*perfcntr_flush)(struct msm_gpu *gpu);
};

struct msm_perfcntr_group_state {
	unsigned int allocated_counters;
	u32 countables[];
};

struct msm_perfcntr_state {
	struct msm_perfcntr_stream *stream;
	u32 sel_seqno;
	struct msm_perfcntr_group_state *groups[];
};

struct msm_gpu {
	struct platform_device *pdev;
	struct drm_device *dev;
	struct msm_ringbuffer *rb[1];
	struct kthread_worker *worker;
	const struct msm_gpu_funcs *funcs;
	/* the first one is taken before the second one */
	struct mutex lock, perfcntr_lock;
	const struct msm_perfcntr_group *perfcntr_groups;
	unsigned int num_perfcntr_groups;
	struct msm_perfcntr_state *perfcntrs;
};

struct msm_context {
	struct msm_perfcntr_context_state *perfctx;
	u64 sysprof;
};

struct msm_drm_private {
	struct msm_gpu *gpu;
};

struct adreno_gpu_funcs {
	u64 (*get_timestamp)(struct msm_gpu *gpu);
};

struct adreno_gpu {
	const struct adreno_gpu_funcs *funcs;
};

struct adreno_gpu *to_adreno_gpu(struct msm_gpu *gpu);
u64 gpu_read64(struct msm_gpu *gpu, u32 reg);
/* the registers are set up whenever the GPU is powered */
#define msm_gpu_hw_init(gpu) ((void)(gpu))

int msm_perfcntr_resume(struct msm_gpu *gpu);
void msm_perfcntr_suspend(struct msm_gpu *gpu);
int msm_ioctl_perfcntr_config(struct drm_device *dev, void *data, struct drm_file *file);
struct msm_perfcntr_state *msm_perfcntr_init(struct msm_gpu *gpu);
void msm_perfcntr_cleanup(struct msm_gpu *gpu);

#endif
