// SPDX-License-Identifier: MIT
/*
 * perfctr interference: the machine "vsoc". Task and aggressors are jobs on the GPU of a virtual
 * SoC, or traffic of its other parts.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "interference/contention.h"
#include "job/runner.h"
#include "steps.h"
#include "validate/study.h"

enum {
	MAX_WORDS = 32,
	QUEUED = 1000, /* jobs of an aggressor */
	SETTLE_MS = 20,
	READINGS = 32, /* of PMUs while the task runs, about */
	MIN_PERIOD_NS = 100000,
	MAX_TRIES = 20, /* a busy host reads PMUs late */
	TOO_SHORT = 1, /* PMUs were not read while the task ran */
	BEGIN = 1, /* tags of samples */
	END = 2,
};

struct vsoc {
	struct contention *c;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct steps steps;
	struct runner runner, *beside; /* an aggressor on the GPU: held while the task is not run */
};

/* The job of a command; {LEVEL} is replaced. */
static int make_job(struct vsoc *v, const char *command, uint64_t level, struct job *job)
{
	const char *at = strstr(command, "{LEVEL}"), *words[MAX_WORDS];
	char *text = at ? arena_printf(&v->c->arena, "%.*s%" PRIu64 "%s", (int)(at - command),
				       command, level, at + strlen("{LEVEL}")) :
			  arena_printf(&v->c->arena, "%s", command);
	char error[256] = "", *position;
	size_t count = 0;

	for (char *word = strtok_r(text, " ", &position); word && count < MAX_WORDS;
	     word = strtok_r(NULL, " ", &position))
		words[count++] = word;
	if (count == MAX_WORDS)
		return fail(&v->c->failure, "'%s': at most %d words", command, MAX_WORDS - 1);
	if (job_parse(job, words, count, error, sizeof(error)))
		return fail(&v->c->failure, "'%s': %s", command, error);
	return 0;
}

static int add_sample(struct vsoc *v, struct perfctr_session *session, uint64_t tag,
		      struct job *job)
{
	const struct drm_vsoc_command sample = {
		.type = DRM_VSOC_CMD_SAMPLE,
		.sample = { .user_data = tag, .session = perfctr_session_fd(session) },
	};

	return job_add(job, &sample) ? fail(&v->c->failure, "out of memory") : 0;
}

/* The task and an aggressor on the GPU start no job: there are no gaps, and enough are left. */
static int hold(struct vsoc *v, bool held)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = DRM_VSOC_CTX_ALL, .hold = held };

	if ((v->beside && ioctl(v->beside->fd, DRM_IOCTL_VSOC_CTX_HOLD, &args)) ||
	    ioctl(v->runner.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args))
		return fail(&v->c->failure, "holding jobs: %s", strerror(errno));
	return 0;
}

/* The task's jobs. The first one begins with a sample, the last one ends with another. */
static int run_task(struct vsoc *v, struct perfctr_session *session)
{
	const uint64_t jobs = v->c->jobs;
	int ret = hold(v, true);

	for (uint64_t n = 0; n < jobs && !ret; n++) {
		struct job job = { 0 };

		if (session && !n)
			ret = add_sample(v, session, BEGIN, &job);
		if (!ret)
			ret = make_job(v, v->c->task.command, 0, &job);
		if (!ret && session && n + 1 == jobs)
			ret = add_sample(v, session, END, &job);
		if (!ret && runner_submit(&v->runner, &job))
			ret = fail(&v->c->failure, "the task: %s", v->runner.error);
		job_free(&job);
	}
	if (ret || hold(v, false))
		return -1;
	if (runner_wait(&v->runner, 0) || v->runner.timed_out || v->runner.cancelled)
		return fail(&v->c->failure, "the task: %s",
			    *v->runner.error ? v->runner.error : "a job was not done");
	return hold(v, true);
}

/* The end of a sample by the GPU's clock, if it has one: PMUs are read at other times. */
static uint64_t time_of(const struct vsoc *v, const struct perfctr_sample *s)
{
	for (size_t n = 0; s->gpu_epoch && n < perfctr_device_clock_count(v->device); n++) {
		const struct drm_perfctr_clock_info *clock = perfctr_device_clock(v->device, n);

		if (clock->clock == DRM_PERFCTR_CLOCK_TIMESTAMP && clock->frequency_hz)
			return (uint64_t)((unsigned __int128)s->gpu_timestamp * NS_PER_S /
					  clock->frequency_hz);
	}
	return s->end_ns;
}

/* Whether a sample has counts of all perf PMUs, which began at that time or later. */
static bool pmus_began(const struct perfctr_totals *of_sample, uint64_t ns)
{
	for (size_t n = 0; n < perfctr_totals_block_count(of_sample); n++) {
		const struct perfctr_totals_block_info *info =
			perfctr_totals_block_info(perfctr_totals_block(of_sample, n));

		if (info->is_pmu && (info->start_ns < ns || info->start_ns == info->end_ns))
			return false;
	}
	return true;
}

/* totals of a session: of all samples, of the task's, of those whose PMUs counted the task only */
struct counts {
	struct perfctr_totals *all, *task, *pmus, *sample;
};

static int add_samples(struct vsoc *v, struct perfctr_cursor *cursor, struct counts *c,
		       struct load *p)
{
	uint64_t begin_ns = 0, raw_ns = 0;
	struct perfctr_sample s;
	int error = 0;

	while (!error && perfctr_cursor_next(cursor, &s) > 0) {
		error = perfctr_totals_add(c->all, &s);
		if (!error && raw_ns && !p->time_ns)
			error = perfctr_totals_add(c->task, &s);
		perfctr_totals_reset(c->sample);
		if (!error)
			error = perfctr_totals_add(c->sample, &s);
		/* the PMUs' counts of a sample end before it does */
		if (!error && raw_ns && !p->time_ns && pmus_began(c->sample, raw_ns))
			error = perfctr_totals_add(c->pmus, &s);
		if (s.user_data == BEGIN) {
			begin_ns = time_of(v, &s);
			raw_ns = s.end_ns;
		}
		if (s.user_data == END)
			p->time_ns = time_of(v, &s) - begin_ns;
		perfctr_cursor_advance(cursor, 1);
	}
	return error;
}

static bool is_others(enum channel_kind kind)
{
	return kind == OTHERS;
}

static bool is_seen_by_pmus(enum channel_kind kind)
{
	return kind != OTHERS;
}

/* Count while the task runs. PMUs are read meanwhile. Return: 0; -1 with a failure; TOO_SHORT. */
static int measure(struct vsoc *v, bool beside, struct load *p)
{
	const uint64_t start_ns = perfctr_time_raw_ns();
	int ret = run_task(v, NULL), error = ret;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.slots = 1024,
		.period_ns = (perfctr_time_raw_ns() - start_ns) / READINGS,
	};
	struct perfctr_session *session = NULL;
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_totals *totals[4] = { NULL };
	struct counts c;

	if (opts.period_ns < MIN_PERIOD_NS)
		opts.period_ns = MIN_PERIOD_NS;
	for (size_t n = 0; n < ARRAY_SIZE(totals) && !error; n++)
		error = perfctr_totals_new(v->c->app->ctx, &totals[n]);
	c = (struct counts){ totals[0], totals[1], totals[2], totals[3] };
	if (!error)
		error = perfctr_session_new(v->selection, &opts, &session);
	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (!error) {
		ret = run_task(v, session);
		error = perfctr_session_stop(session, 0);
	}
	error = error ? error : add_samples(v, cursor, &c, p);
	if (error && !ret)
		ret = fail(&v->c->failure, "%s", perfctr_ctx_error(v->c->app->ctx));
	if (!ret && !p->time_ns)
		ret = fail(&v->c->failure, "the task's last job was not sampled");
	/* alone there is nothing else to count, and all requests of the task are needed */
	if (!ret && beside && !perfctr_totals_span(c.pmus)->samples)
		ret = TOO_SHORT;
	if (!ret)
		ret = channels_take(v->c, v->selection, beside ? c.pmus : c.all, is_seen_by_pmus,
				    p);
	if (!ret)
		ret = channels_take(v->c, v->selection, c.task, is_others, p);
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	for (size_t n = 0; n < ARRAY_SIZE(totals); n++)
		perfctr_totals_unref(totals[n]);
	return ret;
}

static int measure_beside(struct vsoc *v, const struct aggressor *a, struct load *p)
{
	const struct timespec settle = { .tv_nsec = SETTLE_MS * 1000000 };
	struct runner other = { .timeout_ns = NS_PER_S };
	struct job job = { 0 };
	int ret = make_job(v, a->work.command, p->level, &job);

	if (!ret && runner_open(&other, perfctr_device_path(v->device), -1, 1, a->concurrent))
		ret = fail(&v->c->failure, "%s: %s", a->name, other.error);
	v->beside = a->concurrent ? NULL : &other;
	ret = ret ? ret : hold(v, true);
	for (size_t n = 0; n < QUEUED && !ret; n++)
		if (runner_submit(&other, &job))
			ret = fail(&v->c->failure, "%s: %s", a->name, other.error);
	if (!ret) {
		nanosleep(&settle, NULL);
		ret = measure(v, true, p);
	}
	/* those that are not done time out */
	other.timeout_ns = 0;
	if (!ret && (runner_wait(&other, 0) || !other.timed_out))
		ret = fail(&v->c->failure,
			   "%s, level %" PRIu64 ": its %d jobs ended before the task", a->name,
			   p->level, QUEUED);
	v->beside = NULL;
	/* cancels its jobs */
	runner_close(&other);
	job_free(&job);
	return ret;
}

static int vsoc_measure(struct contention *c, const struct aggressor *a, uint64_t n,
			struct load *run)
{
	const struct load begin = *run;
	int tries = 0, ret;

	do {
		*run = begin;
		ret = a ? measure_beside(c->of_machine, a, run) :
			  measure(c->of_machine, false, run);
	} while (ret == TOO_SHORT && ++tries < MAX_TRIES);
	return ret != TOO_SHORT ?
		       ret :
		       fail(&c->failure, "no PMU was read while the task ran: make it longer");
}

static void configure(struct vsoc *v)
{
	struct arena *arena = &v->c->arena;
	struct measured *measured = &v->c->measured;

	measured_configure(arena, measured, "device", perfctr_device_path(v->device));
	measured_configure(arena, measured, "driver", perfctr_device_driver(v->device));
	study_configure(arena, measured);
	measured_configure(arena, measured, "time", v->steps.stepped >= 0 ? "stepped" : "real");
}

/* CPUs and control groups are of programs. */
static int check_work(struct vsoc *v, const char *name, const struct work *work)
{
	return !*work->cpus && !*work->cgroup ?
		       0 :
		       fail(&v->c->failure, "%s: a job has no cpus and no cgroup", name);
}

static int vsoc_open(struct contention *c, const char *device)
{
	struct vsoc *v = arena_alloc(&c->arena, sizeof(*v));
	int error;

	*v = (struct vsoc){ .c = c, .steps = STEPS_NONE };
	v->runner = (struct runner){ .fd = -1, .timeout_ns = 60ull * NS_PER_S };
	c->of_machine = v;
	c->jobs = c->jobs ? c->jobs : 1;
	if (check_work(v, "the task", &c->task))
		return -1;
	for (size_t n = 0; n < c->aggressor_count; n++)
		if (check_work(v, c->aggressors[n].name, &c->aggressors[n].work))
			return -1;
	error = perfctr_device_open(c->app->ctx, device ? device : "vsoc", &v->device);
	if (!error)
		error = perfctr_selection_new(v->device, &v->selection);
	if (error)
		return fail(&c->failure, "%s", perfctr_ctx_error(c->app->ctx));
	if (runner_open(&v->runner, NULL, perfctr_device_fd(v->device), 1, false))
		return fail(&c->failure, "%s", v->runner.error);
	if (channels_select(c, v->selection, false) < 0 ||
	    steps_begin(&v->steps, &c->arena, v->device, &c->failure))
		return -1;
	configure(v);
	return 0;
}

static int vsoc_close(struct contention *c)
{
	struct vsoc *v = c->of_machine;
	const int ret =
		steps_end(&v->steps) ? fail(&c->failure, "the process that steps time ended") : 0;

	runner_close(&v->runner);
	perfctr_selection_unref(v->selection);
	perfctr_device_unref(v->device);
	return ret;
}

static struct contention_machine machine = {
	.name = "vsoc",
	.open = vsoc_open,
	.measure = vsoc_measure,
	.close = vsoc_close,
};

static void __attribute__((constructor)) add(void)
{
	contention_add(&machine);
}
