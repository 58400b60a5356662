// SPDX-License-Identifier: GPL-2.0
/*
 * The workload engine: takes jobs from the contexts round-robin and executes their commands in
 * slices of real or stepped time. Jobs never overlap: counts between two SAMPLE commands belong to
 * the commands between them.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include <linux/wait.h>
#include <drm/drm_managed.h>

#include "vsoc.h"
#include "vsoc_account.h"
#include "vsoc_csf_counters.h"
#include "vsoc_engine_state.h"
#include "vsoc_fault.h"

/* longest time whose work is counted at once */
#define SLICE_NS	NSEC_PER_MSEC
/* the same if the memory system simulates each line */
#define EXACT_SLICE_NS	(50 * NSEC_PER_USEC)
/* a delayed engine catches up by at most this */
#define MAX_LAG_NS	NSEC_PER_MSEC
/* a job without progress for this long hangs; also the interval at which a reset is retried */
#define HANG_TIMEOUT_NS	(200 * NSEC_PER_MSEC)
/* longest step */
#define STEP_MAX_NS	(10 * NSEC_PER_SEC)
/* longest wait for a step to finish */
#define STEP_TIMEOUT	(20 * HZ)
/* do not sleep for less than this; the next slice makes up for it */
#define MIN_SLEEP_NS	(20 * NSEC_PER_USEC)

/* speed of work relative to nominal clocks */
struct engine_rate {
	u64 hz;		/* of the clock that slowed down most */
	u64 nominal_hz;	/* of the same clock */
};

static bool job_cancelled(struct vsoc_engine *e)
{
	return READ_ONCE(e->cancel) || kthread_should_stop();
}

/* between two slices: wait while paused; a new pause may follow at once */
static void park(struct vsoc_engine *e)
{
	if (!READ_ONCE(e->pauses))
		return;

	while (READ_ONCE(e->pauses) && !kthread_should_stop()) {
		spin_lock(&e->lock);
		WRITE_ONCE(e->parked, e->pauses);
		spin_unlock(&e->lock);
		wake_up_all(&e->job_end);
		wait_event_idle(e->wait, !READ_ONCE(e->parked) || kthread_should_stop());
	}
	e->time_ns = vsoc_now_ns(e->vsoc);
}

static void move_time(struct vsoc_engine *e, u64 now_ns)
{
	struct vsoc_device *vsoc = e->vsoc;

	mutex_lock(&vsoc->hw_lock);
	WRITE_ONCE(vsoc->stepped.now_ns, max(vsoc->stepped.now_ns, now_ns));
	mutex_unlock(&vsoc->hw_lock);
	wake_up_all(&e->job_end);
}

static bool has_work(struct vsoc_engine *e)
{
	bool work;

	spin_lock(&e->lock);
	work = !list_empty(&e->ready);
	spin_unlock(&e->lock);
	return work;
}

static u64 step_target(struct vsoc_engine *e)
{
	u64 target_ns;

	spin_lock(&e->lock);
	target_ns = e->vsoc->stepped.target_ns;
	spin_unlock(&e->lock);
	return target_ns;
}

/* every command needs all clock domains, so none counts more cycles than its clock provides */
static struct engine_rate current_rate(const struct vsoc_device *vsoc)
{
	struct engine_rate rate = { 1, 1 };

	for (unsigned int i = 0; i < VSOC_CLOCKS; i++) {
		const u64 hz = READ_ONCE(vsoc->gpu.clocks[i].hz);

		if (hz * rate.nominal_hz < rate.hz * vsoc_nominal_hz[i])
			rate = (struct engine_rate) { hz, vsoc_nominal_hz[i] };
	}
	return rate;
}

/* work at nominal clocks that fits into @ns of time */
static u64 work_in(struct engine_rate rate, u64 ns)
{
	return mul_u64_u64_div_u64(ns, rate.hz, rate.nominal_hz);
}

/* time that @ns of work takes, rounded up */
static u64 time_of(struct engine_rate rate, u64 ns)
{
	return div64_u64(ns * rate.nominal_hz + rate.hz - 1, rate.hz);
}

/* something needs the thread that waits for time to pass */
static bool is_wanted(struct vsoc_engine *e)
{
	return READ_ONCE(e->pauses) || job_cancelled(e) || READ_ONCE(e->lanes.cancel) ||
	       (!e->running && has_work(e));
}

/*
 * Waits until a test advances time, and returns how much of @ns of work at nominal clocks fits
 * into it. Returns 0 if time is real again, a job was cancelled or became ready, or a pause begins.
 */
static u64 pass_stepped_time(struct vsoc_engine *e, struct engine_rate rate, u64 ns)
{
	struct vsoc_device *vsoc = e->vsoc;
	const u64 target_ns = step_target(e);
	const u64 left_ns = target_ns - min(target_ns, e->time_ns);

	ns = min(ns, work_in(rate, left_ns));
	if (ns) {
		e->time_ns += time_of(rate, ns);
		return ns;
	}
	move_time(e, target_ns);
	wait_event_idle(e->wait, step_target(e) != target_ns || !READ_ONCE(vsoc->stepped.on) ||
			is_wanted(e));
	return 0;
}

/* sleep until the next @ns of work at nominal clocks are over in real time */
static void pass_real_time(struct vsoc_engine *e, struct engine_rate rate, u64 ns)
{
	u64 now_ns = ktime_get_raw_ns();

	if (e->time_ns + MAX_LAG_NS < now_ns)
		e->time_ns = now_ns - MAX_LAG_NS;
	e->time_ns += time_of(rate, ns);
	if (e->time_ns > now_ns + MIN_SLEEP_NS) {
		u64 us = div_u64(e->time_ns - now_ns, NSEC_PER_USEC);

		fsleep(us);
	}
}

/* before counts are read: wait until real time has reached the time of all counts */
static void wait_for_time(struct vsoc_engine *e)
{
	u64 now_ns = ktime_get_raw_ns();

	if (!READ_ONCE(e->vsoc->stepped.on) && e->time_ns > now_ns)
		fsleep(DIV_ROUND_UP_ULL(e->time_ns - now_ns, NSEC_PER_USEC));
}

/* the watchdog runs asynchronously: another job may be running by then */
static void ask_reset(struct vsoc_engine *e)
{
	spin_lock(&e->lock);
	e->hung = true;
	spin_unlock(&e->lock);
	schedule_work(&e->vsoc->watchdog_work);
}

/* the watchdog resets the GPU, which cancels the job */
static void await_reset(struct vsoc_engine *e)
{
	u64 asked_ns = 0;

	while (!job_cancelled(e)) {
		u64 now_ns = ktime_get_raw_ns();

		if (!asked_ns || now_ns - asked_ns > HANG_TIMEOUT_NS) {
			ask_reset(e);
			asked_ns = now_ns;
		}
		park(e);
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
}

/* makes no progress until the watchdog notices */
static void hang(struct vsoc_engine *e)
{
	u64 hang_ns = ktime_get_raw_ns();

	while (!job_cancelled(e) && ktime_get_raw_ns() - hang_ns < HANG_TIMEOUT_NS) {
		park(e);
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
	await_reset(e);
}

static u64 backlog_ns(struct vsoc_engine *e)
{
	const bool all = e->work.done_ns == e->work.duration_ns;

	return e->work.stream_count ? e->vsoc->ops->backlog_ns(e->vsoc, e->work.lane, all) : 0;
}

/*
 * Account for @time_ns, in which @ns of e->work were executed. If time passed without work, the
 * command waited for the memory system.
 */
static void progress(struct vsoc_engine *e, u64 ns, u64 time_ns)
{
	/* @ns are too many at the end of a cancelled job */
	const u64 work_ns = ns ? min(ns, e->work.duration_ns - e->work.done_ns) :
				 work_in(current_rate(e->vsoc), time_ns);
	struct vsoc_device *vsoc = e->vsoc;
	/* a command that does not use the L2 waits without it */
	const u64 stall_ns = ns || !e->work.streams[0].by_counters ? 0 : time_ns;

	mutex_lock(&vsoc->hw_lock);
	if (e->running) {
		atomic64_add(time_ns, &e->running->usage->busy_ns);
		/* the top clock's nominal frequency is 1 GHz */
		atomic64_add(work_ns, &e->running->usage->cycles);
		vsoc->gpu.account = e->running->account;
		if (ns)
			vsoc_gpu_progress(vsoc, &e->work, ns, time_ns);
		vsoc->ops->progress(vsoc, &e->work, ns, time_ns);
	}
	vsoc_lanes_progress(&e->lanes, time_ns);
	vsoc->ops->advance(vsoc, time_ns);
	if (e->running)
		vsoc_gpu_memory(vsoc, vsoc->ops->take_l2_read_ps(vsoc), stall_ns,
				ns ? 0 : work_ns, !e->work.streams[0].lines);
	vsoc->gpu.account = NULL;
	WRITE_ONCE(vsoc->stepped.now_ns, max(vsoc->stepped.now_ns, e->time_ns));
	mutex_unlock(&vsoc->hw_lock);
}

/* longest time until something may change */
static u64 slice_ns(struct vsoc_engine *e)
{
	return vsoc_lanes_limit(&e->lanes, e->vsoc->memory_exact ? EXACT_SLICE_NS : SLICE_NS);
}

/* lets up to @ns pass, measured in work at @rate; returns how much did, 0: look again */
static u64 pass_time(struct vsoc_engine *e, struct engine_rate rate, u64 ns)
{
	if (READ_ONCE(e->vsoc->stepped.on))
		return pass_stepped_time(e, rate, ns);
	pass_real_time(e, rate, ns);
	return ns;
}

static void next_beside(struct vsoc_engine *e)
{
	if (vsoc_lanes_next(&e->lanes))
		wake_up_all(&e->job_end);
}

/* execute e->work; returns false if the job was cancelled before its end */
static bool execute(struct vsoc_engine *e)
{
	const struct engine_rate real = { 1, 1 };
	struct vsoc_work *work = &e->work;

	for (;;) {
		const struct engine_rate rate = current_rate(e->vsoc);
		u64 ns, wait_ns = backlog_ns(e);

		if (work->done_ns == work->duration_ns && !wait_ns)
			return true;
		park(e);
		next_beside(e);
		if (e->job_ns > (u64)READ_ONCE(e->vsoc->job_timeout_ms) * NSEC_PER_MSEC)
			await_reset(e);
		if (job_cancelled(e))
			return false;
		if (wait_ns) {
			ns = pass_time(e, real, min(wait_ns, slice_ns(e)));
			e->job_ns += ns;
			if (ns)
				progress(e, 0, ns);
			continue;
		}
		ns = min(work->duration_ns - work->done_ns,
			 max(work_in(rate, slice_ns(e)), 1ULL));
		ns = pass_time(e, rate, ns);
		e->job_ns += time_of(rate, ns);
		if (ns)
			progress(e, ns, time_of(rate, ns));
	}
}

/* the start and end of a job take time, but are counted even if the job is cancelled */
static void execute_surely(struct vsoc_engine *e)
{
	if (!execute(e))
		progress(e, e->work.duration_ns, e->work.duration_ns);
}

/* what a cancelled command has issued completes at once */
static void drain(struct vsoc_engine *e)
{
	struct vsoc_device *vsoc = e->vsoc;

	mutex_lock(&vsoc->hw_lock);
	vsoc->ops->drain(vsoc, e->work.lane);
	vsoc->gpu.account = e->running->account;
	vsoc_gpu_memory(vsoc, vsoc->ops->take_l2_read_ps(vsoc), 0, 0, false);
	vsoc->gpu.account = NULL;
	mutex_unlock(&vsoc->hw_lock);
}

/* without a job of the GPU, let a slice of the others pass */
static void execute_beside(struct vsoc_engine *e)
{
	u64 ns;

	next_beside(e);
	ns = pass_time(e, (struct engine_rate){ 1, 1 }, slice_ns(e));
	if (ns)
		progress(e, 0, ns);
}

static void take_sample(struct vsoc_engine *e, struct vsoc_job *job,
			const struct vsoc_job_command *c)
{
	int ret;

	wait_for_time(e);
	ret = drm_perfctr_session_sample(c->session, c->cmd.sample.user_data);
	/* the next command begins after the sample: there is no time to catch up with */
	e->time_ns = max(e->time_ns, vsoc_now_ns(e->vsoc));
	if (!ret)
		return;
	if (!job->sample_errors++)
		job->sample_errno = ret;
}

static void store(struct vsoc_engine *e, const struct vsoc_job_command *c)
{
	wait_for_time(e);
	e->vsoc->ops->store(e->vsoc, c->vaddr + c->cmd.mp_store.offset, c->cmd.mp_store.sequence);
}

static void start_job(struct vsoc_engine *e, struct vsoc_job *job, bool context_switch)
{
	struct vsoc_device *vsoc = e->vsoc;

	vsoc->ops->core_power(vsoc, vsoc->shape.shader_present);
	e->job_ns = job->device_ns;
	/* contexts share no memory */
	e->work.heap = job->ctx->heap;
	vsoc->ops->job(vsoc, job->ctx);
	if (job->started)
		return;
	job->started = true;
	vsoc_rules_job_start(&e->work, context_switch);
	vsoc->ops->command(vsoc, &e->work, NULL, NULL);
	execute_surely(e);
}

/* leave the hardware to the next job */
static void leave(struct vsoc_engine *e)
{
	wait_for_time(e);
	e->vsoc->ops->job(e->vsoc, NULL);
}

/* returns false if its context is held: the job continues later at @job->next */
static bool run_job(struct vsoc_engine *e, struct vsoc_job *job, bool context_switch)
{
	struct vsoc_device *vsoc = e->vsoc;
	bool signalling = dma_fence_begin_signalling();
	int status = 0;

	start_job(e, job, context_switch);
	for (; job->next < job->count; job->next++) {
		const struct vsoc_job_command *c = &job->commands[job->next];

		/* a sample belongs to the command before it */
		if (READ_ONCE(job->ctx->held) && !c->session && !job_cancelled(e)) {
			job->device_ns = e->job_ns;
			leave(e);
			dma_fence_end_signalling(signalling);
			return false;
		}
		if (vsoc_fault(vsoc, VSOC_FAULT_JOB_FAULT)) {
			status = -EIO;
			break;
		}
		if (vsoc_fault(vsoc, VSOC_FAULT_JOB_HANG))
			hang(e);
		vsoc_rules_command(&e->work, &c->cmd, c->thread);
		vsoc->ops->command(vsoc, &e->work, &c->cmd, c->thread);
		if (!execute(e)) {
			drain(e);
			status = -ECANCELED;
			break;
		}
		if (c->session)
			take_sample(e, job, c);
		else if (c->cmd.type == DRM_VSOC_CMD_METHODS)
			vsoc->ops->methods(vsoc, &c->cmd.methods);
		else if (c->bo)
			store(e, c);
	}

	vsoc_rules_job_end(&e->work, status);
	vsoc->ops->command(vsoc, &e->work, NULL, NULL);
	execute_surely(e);
	leave(e);
	dma_fence_end_signalling(signalling);
	vsoc->ops->job_finish(vsoc, job, status);
	return true;
}

/* the first job of the next context that has one */
static struct vsoc_job *next_job(struct vsoc_engine *e, bool *context_switch)
{
	struct vsoc_job *job = NULL;
	struct vsoc_ctx *ctx;

	spin_lock(&e->lock);
	ctx = list_first_entry_or_null(&e->ready, struct vsoc_ctx, ready);
	if (ctx && !e->pauses) {
		job = list_first_entry(&ctx->jobs, struct vsoc_job, node);
		list_del_init(&job->node);
		/* requeued at the end of its job, behind contexts that arrived meanwhile */
		list_del_init(&ctx->ready);
		*context_switch = ctx->fence_context != e->last_context;
		e->last_context = ctx->fence_context;
		e->running = ctx;
		e->hung = false;
	}
	spin_unlock(&e->lock);
	return job;
}

/* a step has been requested and is not finished */
static bool step_pending(struct vsoc_engine *e)
{
	const struct vsoc_stepped *stepped = &e->vsoc->stepped;

	return READ_ONCE(stepped->on) && READ_ONCE(stepped->now_ns) < step_target(e);
}

/* without work, stepped time advances at once */
static void skip_to_target(struct vsoc_engine *e)
{
	u64 target_ns = 0;

	spin_lock(&e->lock);
	/* a job submitted before the step must be executed first */
	if (list_empty(&e->ready) && list_empty(&e->lanes.ready))
		target_ns = e->vsoc->stepped.target_ns;
	spin_unlock(&e->lock);
	if (target_ns && READ_ONCE(e->vsoc->stepped.on))
		move_time(e, target_ns);
}

static int engine_thread(void *data)
{
	struct vsoc_engine *e = data;

	while (!kthread_should_stop()) {
		bool context_switch, ended;
		struct vsoc_ctx *ctx;
		struct vsoc_job *job;
		LIST_HEAD(cancelled);

		park(e);
		job = next_job(e, &context_switch);
		if (!job && vsoc_lanes_busy(&e->lanes)) {
			execute_beside(e);
			continue;
		}
		if (!job) {
			skip_to_target(e);
			wait_event_idle(e->wait, has_work(e) || vsoc_lanes_busy(&e->lanes) ||
					step_pending(e) ||
					READ_ONCE(e->pauses) || kthread_should_stop());
			e->time_ns = vsoc_now_ns(e->vsoc);
			continue;
		}
		ctx = job->ctx;
		ended = run_job(e, job, context_switch);

		spin_lock(&e->lock);
		e->running = NULL;
		/* a thread that is cancelled does not wait, not even for jobs beside the GPU's */
		WRITE_ONCE(e->cancel, false);
		if (ended)
			ctx->unfinished--;
		else
			list_add(&job->node, ctx->closed ? &cancelled : &ctx->jobs);
		if (!list_empty(&ctx->jobs))
			vsoc_engine_make_ready(e, ctx);
		spin_unlock(&e->lock);
		wake_up_all(&e->job_end);
		vsoc_engine_cancel_jobs(e->vsoc, ctx, &cancelled);
		if (ended)
			vsoc_ctx_put(ctx);
	}
	vsoc_lanes_stop(&e->lanes);
	wake_up_all(&e->job_end);
	return 0;
}

static bool is_parked(struct vsoc_engine *e)
{
	bool parked;

	spin_lock(&e->lock);
	parked = e->parked || e->stopped;
	spin_unlock(&e->lock);
	return parked;
}

/* with the lock held: no job starts from now on */
static void begin_pause(struct vsoc_engine *e, bool cancel)
{
	WRITE_ONCE(e->pauses, e->pauses + 1);
	if (cancel && e->running)
		WRITE_ONCE(e->cancel, true);
}

static void await_parked(struct vsoc_engine *e)
{
	wake_up(&e->wait);
	wait_event(e->job_end, is_parked(e));
}

/*
 * Stop executing between two slices. Waits for the thread to stop, which takes at most a slice or
 * an in-stream sample. Pauses nest. Must not be called from the engine's thread.
 * @cancel: end the running job when the pause is over.
 */
void vsoc_engine_pause(struct vsoc_device *vsoc, bool cancel)
{
	struct vsoc_engine *e = vsoc->engine;

	spin_lock(&e->lock);
	begin_pause(e, cancel);
	spin_unlock(&e->lock);
	await_parked(e);
}

/*
 * Vsoc_engine_pause() for the watchdog, with cancel.
 * Return: false, without a pause, if the hung job has been cancelled or has ended meanwhile.
 */
bool vsoc_engine_pause_hung(struct vsoc_device *vsoc)
{
	struct vsoc_engine *e = vsoc->engine;
	bool hung;

	spin_lock(&e->lock);
	hung = e->running && e->hung && !e->cancel;
	if (hung)
		begin_pause(e, true);
	spin_unlock(&e->lock);
	if (hung)
		await_parked(e);
	return hung;
}

/* undo vsoc_engine_pause() */
void vsoc_engine_resume(struct vsoc_device *vsoc)
{
	struct vsoc_engine *e = vsoc->engine;

	spin_lock(&e->lock);
	WRITE_ONCE(e->pauses, e->pauses - 1);
	if (!e->pauses)
		WRITE_ONCE(e->parked, false);
	spin_unlock(&e->lock);
	wake_up(&e->wait);
}

/* a job is running; meaningful only while paused */
bool vsoc_engine_busy(struct vsoc_device *vsoc)
{
	return READ_ONCE(vsoc->engine->running);
}

/*
 * Switch between stepped and real time. Time never goes backwards: it stops at its current value,
 * or jumps to real time.
 * @on: stepped time.
 * Return: 0; -EALREADY if nothing changes.
 */
int vsoc_engine_set_stepped(struct vsoc_device *vsoc, bool on)
{
	struct vsoc_engine *e = vsoc->engine;
	int ret = 0;

	vsoc_engine_pause(vsoc, false);
	mutex_lock(&vsoc->hw_lock);
	if (vsoc->stepped.on == on) {
		ret = -EALREADY;
	} else {
		vsoc_gpu_update_clocks(vsoc);
		spin_lock(&e->lock);
		vsoc->stepped.target_ns = vsoc->gpu.clock_ns;
		vsoc->stepped.now_ns = vsoc->gpu.clock_ns;
		spin_unlock(&e->lock);
		WRITE_ONCE(vsoc->stepped.on, on);
	}
	mutex_unlock(&vsoc->hw_lock);
	vsoc_engine_resume(vsoc);
	wake_up_all(&e->job_end);
	return ret;
}

static bool step_done(struct vsoc_engine *e)
{
	return !step_pending(e) || READ_ONCE(e->stopped);
}

/* returns by how much the step would overtake real time, 0 if it has begun, or -EINVAL */
static s64 try_step(struct vsoc_engine *e, u64 ns)
{
	struct vsoc_stepped *stepped = &e->vsoc->stepped;
	u64 room_ns;
	s64 ret = 0;

	spin_lock(&e->lock);
	room_ns = ktime_get_raw_ns() - stepped->target_ns;
	if (!READ_ONCE(stepped->on))
		ret = -EINVAL;
	else if (ns > room_ns)
		ret = ns - room_ns;
	else
		stepped->target_ns += ns;
	spin_unlock(&e->lock);
	return ret;
}

/*
 * Let stepped time advance. First waits until real time is ahead, because the core rejects samples
 * from the future; then until everything that happens in the step has happened.
 * @ns: by how much, at most STEP_MAX_NS.
 * Return: 0; -EINVAL if time is not stepped; -ERANGE for @ns; -EINTR on a fatal signal; -ETIME if a
 * job makes no progress for STEP_TIMEOUT.
 */
int vsoc_engine_step(struct vsoc_device *vsoc, u64 ns)
{
	struct vsoc_engine *e = vsoc->engine;
	s64 ahead_ns;
	long left;

	if (ns > STEP_MAX_NS)
		return -ERANGE;
	while ((ahead_ns = try_step(e, ns))) {
		if (ahead_ns < 0)
			return ahead_ns;
		if (schedule_timeout_killable(nsecs_to_jiffies(ahead_ns) + 1))
			return -EINTR;
	}
	wake_up(&e->wait);
	left = wait_event_killable_timeout(e->job_end, step_done(e), STEP_TIMEOUT);
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIME;
}

int vsoc_engine_init(struct vsoc_device *vsoc)
{
	struct vsoc_engine *e;

	e = drmm_kzalloc(&vsoc->drm, sizeof(*e), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	e->vsoc = vsoc;
	vsoc->job_timeout_ms = VSOC_JOB_TIMEOUT_MS;
	init_waitqueue_head(&e->wait);
	init_waitqueue_head(&e->job_end);
	spin_lock_init(&e->lock);
	INIT_LIST_HEAD(&e->ready);
	INIT_LIST_HEAD(&e->held);
	vsoc_lanes_init(&e->lanes, e);
	e->work.shape = &vsoc->shape;
	e->work.counting = &vsoc->counting;
	e->work.capacity = vsoc_work_capacity(&vsoc->shape);
	e->work.items = drmm_kcalloc(&vsoc->drm, e->work.capacity, sizeof(*e->work.items),
				     GFP_KERNEL);
	if (!e->work.items)
		return -ENOMEM;
	vsoc->engine = e;

	e->task = kthread_run(engine_thread, e, "vsoc%d-engine", vsoc->pdev->id);
	if (IS_ERR(e->task)) {
		int ret = PTR_ERR(e->task);

		e->task = NULL;
		return ret;
	}
	return 0;
}

/* stops the thread and cancels all jobs; open files may still close their contexts later */
void vsoc_engine_fini(struct vsoc_device *vsoc)
{
	struct vsoc_engine *e = vsoc->engine;
	struct vsoc_ctx *ctx;

	if (!e || !e->task)
		return;

	spin_lock(&e->lock);
	e->stopped = true;
	spin_unlock(&e->lock);
	wake_up_all(&e->job_end);
	kthread_stop(e->task);
	e->task = NULL;

	spin_lock(&e->lock);
	list_splice_init(&e->held, &e->ready);
	list_splice_tail_init(&e->lanes.ready, &e->ready);
	while ((ctx = list_first_entry_or_null(&e->ready, struct vsoc_ctx, ready))) {
		LIST_HEAD(jobs);

		/* the jobs' references keep the context until the last one is dropped */
		kref_get(&ctx->ref);
		list_splice_init(&ctx->jobs, &jobs);
		list_del_init(&ctx->ready);
		spin_unlock(&e->lock);
		vsoc_engine_cancel_jobs(vsoc, ctx, &jobs);
		vsoc_ctx_put(ctx);
		spin_lock(&e->lock);
	}
	spin_unlock(&e->lock);
}
