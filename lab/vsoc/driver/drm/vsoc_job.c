// SPDX-License-Identifier: GPL-2.0
/*
 * Open files, their contexts and jobs: all ioctls except GET_INFO.
 */
#include <linux/capability.h>
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "engine/vsoc.h"
#include "engine/vsoc_account.h"
#include "engine/vsoc_engine.h"
#include "engine/vsoc_fault.h"
#include "nv50/vsoc_nv50.h"
#include "vsoc_drv.h"
#include "vsoc_job.h"

#define COMMAND_STRIDE_MIN	96
#define COMMAND_STRIDE_MAX	4096
/* failed jobs that a file remembers */
#define MAX_RECORDS		64

/* what WAIT reports about a failed job */
struct vsoc_record {
	u64 job_id;
	int status;
	u32 sample_errors;
	int sample_errno;
};

struct vsoc_file {
	struct vsoc_device *vsoc;
	struct pid *pid;		/* of the process that opened it */
	u32 groups;			/* mask of the device's groups in which it is */
	struct list_head link;		/* in the device's @open_files */
	u32 number;			/* number of the file, from 1 */
	struct vsoc_usage usage;	/* what its jobs took */
	struct xarray ctxs;		/* contexts by id */
	struct xarray jobs;		/* unfinished jobs by id */
	struct mutex submit_lock;	/* job ids follow the order of queueing */
	/* all contexts are held, and those to come; under the lock of @ctxs */
	bool held;
	u64 last_job;			/* id of the last job; 0: none */
	wait_queue_head_t job_end;	/* woken at the end of each job */
	struct llist_head freed;	/* ended jobs, to be freed by @free_work */
	struct work_struct free_work;

	spinlock_t record_lock;				/* protects the following */
	struct vsoc_record records[MAX_RECORDS];	/* of recent failed jobs */
	unsigned int next_record;			/* index of the oldest one */
};

static struct vsoc_file *to_vsoc_file(struct drm_file *file)
{
	return file->driver_priv;
}

/* unique among those of all vsoc devices */
u64 vsoc_client_id(struct drm_file *file)
{
	const struct vsoc_file *vf = to_vsoc_file(file);

	return (u64)vf->vsoc->pdev->id << 32 | vf->number;
}

void vsoc_show_usage(struct drm_printer *p, struct drm_file *file)
{
	const struct vsoc_usage *usage = &to_vsoc_file(file)->usage;

	drm_printf(p, "drm-engine-gpu:\t%lld ns\n", atomic64_read(&usage->busy_ns));
	drm_printf(p, "drm-cycles-gpu:\t%lld\n", atomic64_read(&usage->cycles));
	drm_printf(p, "drm-maxfreq-gpu:\t%llu Hz\n", VSOC_TOP_HZ);
}

/* --- fences -------------------------------------------------------------- */

/* A sync_file can outlive the device and its files, so a fence references the module only. */
struct vsoc_fence {
	struct dma_fence base;
	spinlock_t lock;	/* protects base */
};

static const char *fence_driver_name(struct dma_fence *fence)
{
	return "vsoc";
}

static const char *fence_timeline_name(struct dma_fence *fence)
{
	return "vsoc-context";
}

static void fence_release(struct dma_fence *fence)
{
	/* freed after a grace period without calling back into this module */
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = fence_timeline_name,
	.release = fence_release,
};

static struct dma_fence *fence_create(u64 context, u64 seqno)
{
	struct vsoc_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, context, seqno);
	return &fence->base;
}

/* --- contexts ------------------------------------------------------------ */

static struct vsoc_ctx *ctx_get(struct vsoc_file *vf, u32 id)
{
	struct vsoc_ctx *ctx;

	xa_lock(&vf->ctxs);
	ctx = xa_load(&vf->ctxs, id);
	if (ctx)
		kref_get(&ctx->ref);
	xa_unlock(&vf->ctxs);
	return ctx;
}

/* addresses that COPY commands rarely use */
static u64 heap_address(u64 fence_context)
{
	return BIT_ULL(60) | (fence_context * 2 * VSOC_HEAP_BYTES & (BIT_ULL(60) - 1));
}

static int ctx_create(struct vsoc_file *vf, struct xa_limit limit, u32 flags, u32 *id)
{
	struct vsoc_ctx *ctx = NULL;
	int ret;

	if (!vsoc_fault(vf->vsoc, VSOC_FAULT_ALLOC_CTX))
		ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	ret = vsoc_nv50_ctx_init(vf->vsoc, ctx);
	if (ret) {
		kfree(ctx);
		return ret;
	}
	kref_init(&ctx->ref);
	ctx->file = vf;
	ctx->usage = &vf->usage;
	ctx->fence_context = dma_fence_context_alloc(1);
	ctx->heap = heap_address(ctx->fence_context);
	ctx->concurrent = flags & DRM_VSOC_CTX_CONCURRENT;
	vsoc_engine_ctx_init(ctx);

	xa_lock(&vf->ctxs);
	ret = __xa_alloc(&vf->ctxs, id, ctx, limit, GFP_KERNEL);
	ctx->held = vf->held;
	xa_unlock(&vf->ctxs);
	if (ret) {
		kfree(ctx->mp);
		kfree(ctx);
	}
	return ret == -EBUSY ? -EMFILE : ret;
}

/* the caller has removed @ctx from the file's table and passes its reference */
static void ctx_close(struct vsoc_file *vf, struct vsoc_ctx *ctx)
{
	vsoc_engine_close_ctx(vf->vsoc, ctx);
	vsoc_ctx_put(ctx);
}

int vsoc_ctx_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_ctx_create *args = data;

	if (args->flags & ~DRM_VSOC_CTX_CONCURRENT) {
		drm_dbg_driver(drm, "ctx_create: flags %#x has an unknown bit\n", args->flags);
		return -EINVAL;
	}
	return ctx_create(to_vsoc_file(file), XA_LIMIT(1, VSOC_MAX_CONTEXTS - 1), args->flags,
			  &args->ctx_id);
}

int vsoc_ctx_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_ctx_destroy *args = data;
	struct vsoc_file *vf = to_vsoc_file(file);
	struct vsoc_ctx *ctx;

	if (args->pad || args->ctx_id == DRM_VSOC_CTX_DEFAULT) {
		drm_dbg_driver(drm, "ctx_destroy: ctx_id %u is the default context or pad is set\n",
			       args->ctx_id);
		return -EINVAL;
	}
	ctx = xa_erase(&vf->ctxs, args->ctx_id);
	if (!ctx) {
		drm_dbg_driver(drm, "ctx_destroy: no context %u\n", args->ctx_id);
		return -ENOENT;
	}
	ctx_close(vf, ctx);
	return 0;
}

static int ctx_hold(struct vsoc_file *vf, u32 id, bool hold)
{
	struct vsoc_ctx *ctx;
	unsigned long index;

	if (id != DRM_VSOC_CTX_ALL) {
		ctx = ctx_get(vf, id);
		if (!ctx)
			return -ENOENT;
		vsoc_engine_hold_ctx(vf->vsoc, ctx, hold);
		vsoc_ctx_put(ctx);
		return 0;
	}
	xa_lock(&vf->ctxs);
	vf->held = hold;
	xa_for_each(&vf->ctxs, index, ctx)
		vsoc_engine_hold_ctx(vf->vsoc, ctx, hold);
	xa_unlock(&vf->ctxs);
	return 0;
}

/* --- groups of files; the caller has groups_lock ---------------------------------- */

/* Mask of the groups of a process: it or an ancestor is theirs. */
static u32 groups_of(struct vsoc_device *vsoc, struct pid *pid)
{
	struct task_struct *task;
	u32 groups = 0;

	rcu_read_lock();
	/* up to the idle task, which has number 0 */
	for (task = pid_task(pid, PIDTYPE_TGID); task && task_pid_nr(task);
	     task = rcu_dereference(task->real_parent))
		for (u32 i = 0; i < VSOC_MAX_GROUPS; i++)
			if (vsoc->groups[i].pid && vsoc->groups[i].pid == task_tgid(task))
				groups |= BIT(i);
	rcu_read_unlock();
	return groups;
}

static u32 groups_in_use(struct vsoc_device *vsoc)
{
	struct vsoc_file *vf;
	u32 used = 0;

	list_for_each_entry(vf, &vsoc->open_files, link)
		used |= vf->groups;
	rcu_read_lock();
	for (u32 i = 0; i < VSOC_MAX_GROUPS; i++)
		if (vsoc->groups[i].pid && pid_task(vsoc->groups[i].pid, PIDTYPE_TGID))
			used |= BIT(i);
	rcu_read_unlock();
	return used;
}

/* The group of a process, with all that its descendants have open now. Return: its number. */
static int group_make(struct vsoc_device *vsoc, struct pid *pid)
{
	struct vsoc_file *vf;
	int n;

	for (n = 0; n < VSOC_MAX_GROUPS; n++)
		if (vsoc->groups[n].pid == pid)
			return n;
	n = ffs(~groups_in_use(vsoc)) - 1;
	if (n < 0)
		return -ENOSPC;
	put_pid(vsoc->groups[n].pid);
	vsoc->groups[n] = (struct vsoc_group){ .pid = get_pid(pid) };
	list_for_each_entry(vf, &vsoc->open_files, link)
		vf->groups |= groups_of(vsoc, vf->pid) & BIT(n);
	return n;
}

/* Groups in which a file begins: also those of the process's other files, if its parents ended. */
static void group_join(struct vsoc_file *vf)
{
	struct vsoc_device *vsoc = vf->vsoc;
	struct vsoc_file *other;

	vf->groups = groups_of(vsoc, vf->pid);
	list_for_each_entry(other, &vsoc->open_files, link)
		if (other->pid == vf->pid)
			vf->groups |= other->groups;
	for (u32 i = 0; i < VSOC_MAX_GROUPS; i++)
		vf->held |= vf->groups & BIT(i) && vsoc->groups[i].held;
	list_add(&vf->link, &vsoc->open_files);
}

static void group_leave(struct vsoc_file *vf)
{
	mutex_lock(&vf->vsoc->groups_lock);
	list_del(&vf->link);
	mutex_unlock(&vf->vsoc->groups_lock);
}

/* A drm_driver's release */
void vsoc_release(struct drm_device *drm)
{
	for (u32 i = 0; i < VSOC_MAX_GROUPS; i++)
		put_pid(to_vsoc(drm)->groups[i].pid);
}

static int hold_group(struct vsoc_device *vsoc, const struct drm_vsoc_ctx_hold *args, u32 n)
{
	int ret = -ESRCH, result;
	struct vsoc_file *vf;

	if (args->ctx_id == DRM_VSOC_CTX_ALL)
		vsoc->groups[n].held = args->hold;
	list_for_each_entry(vf, &vsoc->open_files, link) {
		if (!(vf->groups & BIT(n)))
			continue;
		result = ctx_hold(vf, args->ctx_id, args->hold);
		/* files without jobs are those of a process that only counts */
		if (READ_ONCE(vf->last_job) && ret)
			ret = result;
	}
	return ret;
}

static int hold_process(struct drm_device *drm, const struct drm_vsoc_ctx_hold *args)
{
	struct vsoc_device *vsoc = to_vsoc(drm);
	struct pid *pid = find_get_pid(args->pid);
	int made = 0, ret = -ESRCH, result;

	mutex_lock(&vsoc->groups_lock);
	if (pid)
		made = group_make(vsoc, pid);
	for (u32 n = 0; n < VSOC_MAX_GROUPS && made != -ENOSPC; n++) {
		struct pid *of = vsoc->groups[n].pid;

		/* a process that ended has its group by its number */
		if (!of || (of != pid && (pid_vnr(of) != args->pid || (pid && args->hold))))
			continue;
		result = hold_group(vsoc, args, n);
		if (ret)
			ret = result;
	}
	mutex_unlock(&vsoc->groups_lock);
	put_pid(pid);
	return made == -ENOSPC ? made : ret;
}

int vsoc_ctx_hold_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vsoc_ctx_hold *args = data;

	if (args->hold > 1 || args->pad || args->pid < 0) {
		drm_dbg_driver(drm, "ctx_hold: hold %u must be 0 or 1, pid %d not below 0, pad 0\n",
			       args->hold, args->pid);
		return -EINVAL;
	}
	if (!capable(CAP_SYS_NICE)) {
		drm_dbg_driver(drm, "ctx_hold: needs CAP_SYS_NICE\n");
		return -EACCES;
	}
	return args->pid ? hold_process(drm, args) :
			   ctx_hold(to_vsoc_file(file), args->ctx_id, args->hold);
}

/* --- files --------------------------------------------------------------- */

static void job_free(struct vsoc_job *job)
{
	for (u32 i = 0; i < job->count; i++) {
		if (job->commands[i].session)
			drm_perfctr_session_put(job->commands[i].session);
		vsoc_store_unmap(&job->commands[i]);
		kfree(job->commands[i].thread);
	}
	dma_fence_put(job->fence);
	kvfree(job);
}

/*
 * Dropping the last reference to a session or a buffer takes locks, whose holder may wait for the
 * fence of the next job. The engine's thread must therefore not free jobs.
 */
static void free_jobs(struct work_struct *work)
{
	struct vsoc_file *vf = container_of(work, struct vsoc_file, free_work);
	struct vsoc_job *job, *next;

	llist_for_each_entry_safe(job, next, llist_del_all(&vf->freed), freed)
		job_free(job);
}

int vsoc_open(struct drm_device *drm, struct drm_file *file)
{
	struct vsoc_device *vsoc = to_vsoc(drm);
	struct vsoc_file *vf = NULL;
	u32 id;
	int ret;

	if (!vsoc_fault(vsoc, VSOC_FAULT_ALLOC_FILE))
		vf = kzalloc(sizeof(*vf), GFP_KERNEL);
	if (!vf)
		return -ENOMEM;
	vf->vsoc = vsoc;
	vf->pid = get_pid(task_tgid(current));
	vf->number = atomic_inc_return(&vsoc->files);
	xa_init_flags(&vf->ctxs, XA_FLAGS_ALLOC);
	xa_init(&vf->jobs);
	mutex_init(&vf->submit_lock);
	init_waitqueue_head(&vf->job_end);
	init_llist_head(&vf->freed);
	INIT_WORK(&vf->free_work, free_jobs);
	spin_lock_init(&vf->record_lock);
	mutex_lock(&vsoc->groups_lock);
	group_join(vf);
	mutex_unlock(&vsoc->groups_lock);

	ret = ctx_create(vf, XA_LIMIT(DRM_VSOC_CTX_DEFAULT, DRM_VSOC_CTX_DEFAULT), 0, &id);
	if (ret)
		goto err_free;
	file->driver_priv = vf;
	return 0;

err_free:
	group_leave(vf);
	put_pid(vf->pid);
	xa_destroy(&vf->ctxs);
	mutex_destroy(&vf->submit_lock);
	kfree(vf);
	return ret;
}

void vsoc_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct vsoc_file *vf = to_vsoc_file(file);
	struct vsoc_ctx *ctx;
	unsigned long id;

	group_leave(vf);
	xa_for_each(&vf->ctxs, id, ctx) {
		xa_erase(&vf->ctxs, id);
		ctx_close(vf, ctx);
	}
	flush_work(&vf->free_work);
	xa_destroy(&vf->ctxs);
	xa_destroy(&vf->jobs);
	mutex_destroy(&vf->submit_lock);
	put_pid(vf->pid);
	kfree(vf);
}

/* --- jobs ---------------------------------------------------------------- */

static void remember(struct vsoc_file *vf, const struct vsoc_job *job, int status)
{
	struct vsoc_record *r;

	if (!status && !job->sample_errors)
		return;
	spin_lock(&vf->record_lock);
	r = &vf->records[vf->next_record++ % MAX_RECORDS];
	r->job_id = job->id;
	r->status = status;
	r->sample_errors = job->sample_errors;
	r->sample_errno = job->sample_errno;
	spin_unlock(&vf->record_lock);
}

static void recall(struct vsoc_file *vf, struct drm_vsoc_wait *args)
{
	spin_lock(&vf->record_lock);
	for (unsigned int i = 0; i < MAX_RECORDS; i++) {
		const struct vsoc_record *r = &vf->records[i];

		if (r->job_id != args->job_id)
			continue;
		args->status = r->status;
		args->sample_errors = r->sample_errors;
		args->sample_errno = r->sample_errno;
	}
	spin_unlock(&vf->record_lock);
}

/*
 * End of a queued job. Its file still exists, because closing waits until all contexts are empty.
 * The job is gone afterwards, and the caller owns its context reference.
 */
void vsoc_job_finish(struct vsoc_device *vsoc, struct vsoc_job *job, int status)
{
	struct dma_fence *fence = job->fence ? dma_fence_get(job->fence) : NULL;
	struct vsoc_file *vf = job->ctx->file;
	const u64 id = job->id;
	bool signalling = dma_fence_begin_signalling();

	remember(vf, job, status);
	/* before the end is visible, because WAIT flushes the work */
	llist_add(&job->freed, &vf->freed);
	schedule_work(&vf->free_work);
	xa_erase(&vf->jobs, id);
	if (fence) {
		if (status)
			dma_fence_set_error(fence, status);
		dma_fence_signal(fence);
	}
	dma_fence_end_signalling(signalling);
	wake_up_all(&vf->job_end);
	dma_fence_put(fence);
	vsoc_power_put(vsoc);
}

static int read_commands(struct vsoc_file *vf, struct drm_file *file, struct vsoc_job *job,
			 const struct drm_vsoc_submit *args)
{
	struct drm_device *drm = &vf->vsoc->drm;
	u32 budget = VSOC_MAX_JOB_STEPS;
	int ret;

	for (u32 i = 0; i < job->count; i++) {
		const void __user *from = u64_to_user_ptr(args->commands +
							  (u64)i * args->command_stride);
		struct vsoc_job_command *c = &job->commands[i];

		ret = copy_struct_from_user(&c->cmd, sizeof(c->cmd), from, args->command_stride);
		if (ret) {
			drm_dbg_driver(drm, "submit: command %u: cannot be read: %d\n", i, ret);
			return ret;
		}
		ret = vsoc_check_command(vf->vsoc, &c->cmd, i);
		if (ret)
			return ret;
		if (c->cmd.type == DRM_VSOC_CMD_COMPUTE && c->cmd.compute.listing_count) {
			ret = vsoc_read_listing(vf->vsoc, &c->cmd.compute, i, &budget, &c->thread);
			if (ret)
				return ret;
		}
		if (c->cmd.type == DRM_VSOC_CMD_MP_STORE) {
			ret = vsoc_store_map(vf->vsoc, file, c, i);
			if (ret)
				return ret;
			cond_resched();
		}
		if (c->cmd.type != DRM_VSOC_CMD_SAMPLE)
			continue;
		c->session = drm_perfctr_session_get(vf->vsoc->pc, c->cmd.sample.session);
		if (!c->session) {
			drm_dbg_driver(drm, "submit: command %u: %d is no session\n", i,
				       c->cmd.sample.session);
			return -ENOENT;
		}
		cond_resched();
	}
	return 0;
}

/* jobs beside the GPU's have no commands for it */
static bool only_moves_data(struct drm_device *drm, const struct vsoc_job *job)
{
	for (u32 i = 0; i < job->count; i++) {
		const u32 type = job->commands[i].cmd.type;

		if (type == DRM_VSOC_CMD_COPY || type == DRM_VSOC_CMD_PCIE ||
		    type == DRM_VSOC_CMD_WAIT)
			continue;
		drm_dbg_driver(drm, "submit: command %u: a concurrent context only moves data\n",
			       i);
		return false;
	}
	return true;
}

static int check_submit(struct drm_device *drm, const struct drm_vsoc_submit *args)
{
	const char *wrong = NULL;
	int ret = -EINVAL;

	if (args->flags & ~DRM_VSOC_SUBMIT_FENCE_OUT)
		wrong = "flags has an unknown bit";
	else if (args->pad)
		wrong = "pad must be zero";
	else if (!args->command_count)
		wrong = "command_count is zero";
	else if (args->command_stride < COMMAND_STRIDE_MIN || args->command_stride % 8 ||
		 args->command_stride > COMMAND_STRIDE_MAX)
		wrong = "command_stride must be 96..4096 and a multiple of 8";

	if (!wrong && args->command_count > VSOC_MAX_COMMANDS) {
		wrong = "command_count is above max_commands";
		ret = -E2BIG;
	}
	if (!wrong)
		return 0;
	drm_dbg_driver(drm, "submit: %s\n", wrong);
	return ret;
}

/* the job keeps the GPU powered until its end; the lock excludes a reset */
static int power_and_queue(struct vsoc_device *vsoc, struct vsoc_job *job)
{
	int ret;

	ret = down_read_killable(&vsoc->reset_sem);
	if (ret)
		return ret;
	ret = vsoc_power_get(vsoc);
	if (!ret) {
		/* from here on the job can end at any time */
		ret = vsoc_engine_queue(vsoc, job, VSOC_MAX_QUEUED_JOBS);
		if (ret)
			vsoc_power_put(vsoc);
	}
	up_read(&vsoc->reset_sem);
	return ret;
}

/* queues @job under the file's next id */
static int job_queue(struct vsoc_file *vf, struct vsoc_job *job, u32 ctx_id,
		     struct sync_file **sync, u64 *id)
{
	struct vsoc_ctx *ctx = job->ctx;
	int ret;

	mutex_lock(&vf->submit_lock);
	*id = vf->last_job + 1;
	job->id = *id;
	if (!ctx->account)
		ctx->account = vsoc_account_open(vf->vsoc, pid_nr(vf->pid), vf->number, ctx_id);
	if (!ctx->account) {
		ret = -ENOMEM;
		goto out;
	}
	if (sync) {
		if (!vsoc_fault(vf->vsoc, VSOC_FAULT_ALLOC_FENCE))
			job->fence = fence_create(ctx->fence_context, ++ctx->fence_seqno);
		if (job->fence)
			*sync = sync_file_create(job->fence);
		if (!*sync) {
			ret = -ENOMEM;
			goto out;
		}
	}
	ret = xa_err(xa_store(&vf->jobs, *id, job, GFP_KERNEL));
	if (ret)
		goto out;
	ret = power_and_queue(vf->vsoc, job);
	if (ret)
		xa_erase(&vf->jobs, *id);
	else
		vf->last_job = *id;
out:
	mutex_unlock(&vf->submit_lock);
	return ret;
}

static int submit_job(struct drm_file *file, struct drm_vsoc_submit *args)
{
	struct vsoc_file *vf = to_vsoc_file(file);
	struct drm_device *drm = &vf->vsoc->drm;
	bool fence_out = args->flags & DRM_VSOC_SUBMIT_FENCE_OUT;
	struct sync_file *sync = NULL;
	struct vsoc_job *job = NULL;
	int fd = -1;
	int ret;

	if (!vsoc_fault(vf->vsoc, VSOC_FAULT_ALLOC_JOB))
		job = kvzalloc(struct_size(job, commands, args->command_count), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->count = args->command_count;
	INIT_LIST_HEAD(&job->node);
	ret = read_commands(vf, file, job, args);
	if (ret)
		goto err_job;

	if (fence_out) {
		fd = get_unused_fd_flags(O_CLOEXEC);
		if (fd < 0) {
			ret = fd;
			goto err_job;
		}
	}
	job->ctx = ctx_get(vf, args->ctx_id);
	if (!job->ctx) {
		drm_dbg_driver(drm, "submit: no context %u\n", args->ctx_id);
		ret = -ENOENT;
		goto err_fd;
	}
	if (job->ctx->concurrent && !only_moves_data(drm, job)) {
		ret = -EINVAL;
		goto err_ctx;
	}

	ret = job_queue(vf, job, args->ctx_id, fence_out ? &sync : NULL, &args->job_id);
	if (ret)
		goto err_ctx;
	if (sync)
		fd_install(fd, sync->file);
	args->fence_fd = fd;
	return 0;

err_ctx:
	drm_dbg_driver(drm, "submit: context %u does not take the job: %d\n", args->ctx_id, ret);
	vsoc_ctx_put(job->ctx);
	if (job->fence)
		dma_fence_signal(job->fence);
	if (sync)
		fput(sync->file);
err_fd:
	if (fd >= 0)
		put_unused_fd(fd);
err_job:
	job_free(job);
	return ret;
}

int vsoc_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_submit *args = data;
	int idx, ret;

	ret = check_submit(drm, args);
	if (ret)
		return ret;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = submit_job(file, args);
	drm_dev_exit(idx);
	return ret;
}

/* --- waiting ------------------------------------------------------------- */

/* remaining time, at most VSOC_MAX_WAIT_NS */
static s64 wait_ns(const struct drm_vsoc_wait *args)
{
	s64 ns = args->timeout_ns;

	if (args->flags & DRM_VSOC_WAIT_ABSOLUTE)
		ns -= ktime_get_ns();
	return clamp_t(s64, ns, 0, VSOC_MAX_WAIT_NS);
}

static bool job_ended(struct vsoc_file *vf, u64 id)
{
	return !xa_load(&vf->jobs, id);
}

static bool job_existed(struct vsoc_file *vf, u64 id)
{
	bool existed;

	mutex_lock(&vf->submit_lock);
	existed = id && id <= vf->last_job;
	mutex_unlock(&vf->submit_lock);
	return existed;
}

int vsoc_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vsoc_wait *args = data;
	struct vsoc_file *vf = to_vsoc_file(file);
	ktime_t begin = ktime_get();
	s64 ns;
	int ret;

	if (args->flags & ~DRM_VSOC_WAIT_ABSOLUTE || args->timeout_ns < 0) {
		drm_dbg_driver(drm, "wait: unknown flags %#x or timeout_ns negative\n",
			       args->flags);
		return -EINVAL;
	}
	if (!job_existed(vf, args->job_id)) {
		drm_dbg_driver(drm, "wait: no job %llu\n", args->job_id);
		return -ENOENT;
	}

	args->status = 0;
	args->sample_errors = 0;
	args->sample_errno = 0;

	ns = wait_ns(args);
	if (!ns)
		ret = job_ended(vf, args->job_id) ? 0 : -ETIME;
	else
		ret = wait_event_interruptible_hrtimeout(vf->job_end,
							 job_ended(vf, args->job_id),
							 ns_to_ktime(ns));
	if (ret == -ERESTARTSYS) {
		if (!(args->flags & DRM_VSOC_WAIT_ABSOLUTE))
			args->timeout_ns = max_t(s64, args->timeout_ns -
						 ktime_to_ns(ktime_sub(ktime_get(), begin)), 0);
		return -EINTR;
	}
	if (ret)
		return ret;
	recall(vf, args);
	/* wait until the job's references are dropped */
	flush_work(&vf->free_work);
	return 0;
}
