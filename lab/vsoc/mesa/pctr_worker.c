// SPDX-License-Identifier: MIT
/* Work for the virtual SoC: software rendering becomes a job of the virtual GPU. */
#include "pctr_worker.h"

#include <drm/vsoc_drm.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
	/* of each session: before and after the work */
	SAMPLES_OF_A_JOB = 2,
	WORK_COMMANDS = 2,
};

/* a job takes milliseconds, but the queue before it may be long */
#define WAIT_STEP_NS 1000000000ll
#define WAIT_STEPS 30

struct pctr_worker {
	struct pctr_context *context;
	uint64_t last_job;
	uint64_t done_job;
	/* samples of each session that jobs may take before the next wait */
	unsigned int due_samples;
	bool stopped; /* the device accepts no more work */
};

static struct pctr_worker *begin(struct pctr_context *context)
{
	struct pctr_worker *v = calloc(1, sizeof(*v));

	if (v)
		v->context = context;
	return v;
}

static void end(struct pctr_worker *worker)
{
	free(worker);
}

static void stop(struct pctr_worker *v, const char *what, int error)
{
	char text[128];

	v->stopped = true;
	snprintf(text, sizeof(text), "the virtual GPU takes no work any more: %s: %s", what,
		 strerror(error));
	pctr_context_fail(v->context, text);
}

/* drmIoctl() would spin on EAGAIN, which means that the queue is full */
static int call(int fd, unsigned long request, void *argument)
{
	int result;

	do {
		result = ioctl(fd, request, argument);
	} while (result && errno == EINTR);
	return result;
}

static void wait_for_work(struct pctr_worker *v)
{
	struct drm_vsoc_wait wait = { .job_id = v->last_job };
	int fd = pctr_context_fd(v->context);

	if (v->stopped || v->done_job == v->last_job)
		return;
	for (int n = 0; n < WAIT_STEPS; n++) {
		wait.timeout_ns = WAIT_STEP_NS;
		if (!call(fd, DRM_IOCTL_VSOC_WAIT, &wait))
			break;
		if (errno != ETIME) {
			stop(v, "WAIT", errno);
			return;
		}
		if (n == WAIT_STEPS - 1) {
			stop(v, "a job is not done after 30 s", ETIME);
			return;
		}
	}
	v->done_job = v->last_job;
	v->due_samples = 0;
	if (wait.sample_errors)
		pctr_context_fail(v->context,
				  "a job could not be sampled: values of the GPU are too low");
	else if (wait.status)
		pctr_context_fail(v->context, "a job of the virtual GPU was cut short");
}

static void add_samples(struct drm_vsoc_command *commands, uint32_t *count, const int *sessions,
			unsigned int session_count, enum pctr_mark mark)
{
	for (unsigned int n = 0; n < session_count; n++)
		commands[(*count)++] = (struct drm_vsoc_command){
			.type = DRM_VSOC_CMD_SAMPLE,
			.sample = { .session = sessions[n], .user_data = mark },
		};
}

/* The job's commands; returns their number. */
static uint32_t build(struct drm_vsoc_command *commands, const struct pctr_work *work,
		      const int *sessions, unsigned int session_count)
{
	uint32_t count = 0;

	/* this sample ends other contexts' work, the next one ends ours */
	add_samples(commands, &count, sessions, session_count, PCTR_MARK_OTHER);
	if (work->vertices | work->primitives | work->fragments)
		commands[count++] = (struct drm_vsoc_command){
			.type = DRM_VSOC_CMD_DRAW,
			.draw = { .vertices = work->vertices,
				  .primitives = work->primitives,
				  .fragments = work->fragments },
		};
	if (work->threads)
		commands[count++] = (struct drm_vsoc_command){
			.type = DRM_VSOC_CMD_COMPUTE,
			.compute = { .threads = work->threads },
		};
	add_samples(commands, &count, sessions, session_count, PCTR_MARK_OWN);
	return count;
}

static void queue(struct pctr_worker *v, struct drm_vsoc_command *commands, uint32_t count)
{
	struct drm_vsoc_submit args = {
		.ctx_id = DRM_VSOC_CTX_DEFAULT,
		.commands = (uintptr_t)commands,
		.command_count = count,
		.command_stride = sizeof(*commands),
	};

	while (call(pctr_context_fd(v->context), DRM_IOCTL_VSOC_SUBMIT, &args)) {
		/* the queue is full; if all our jobs are done, waiting does not help */
		if (errno != EAGAIN || v->done_job == v->last_job) {
			stop(v, "SUBMIT", errno);
			return;
		}
		wait_for_work(v);
		if (v->stopped)
			return;
	}
	v->last_job = args.job_id;
}

static void submit(struct pctr_worker *v, const struct pctr_work *work)
{
	unsigned int session_count = pctr_context_sessions(v->context, NULL, 0);
	struct drm_vsoc_command *commands;
	int *sessions;

	if (v->stopped || !(work->vertices | work->primitives | work->fragments | work->threads))
		return;
	sessions = calloc(session_count + 1, sizeof(*sessions));
	commands = calloc(SAMPLES_OF_A_JOB * session_count + WORK_COMMANDS, sizeof(*commands));
	if (!sessions || !commands) {
		stop(v, "a job", ENOMEM);
		goto out;
	}
	if (session_count && pctr_context_room(v->context) < v->due_samples + SAMPLES_OF_A_JOB) {
		wait_for_work(v);
		pctr_context_room(v->context);
	}
	pctr_context_sessions(v->context, sessions, session_count);
	queue(v, commands, build(commands, work, sessions, session_count));
	if (session_count)
		v->due_samples += SAMPLES_OF_A_JOB;
out:
	free(commands);
	free(sessions);
}

static const struct pctr_worker_ops virtual_soc = {
	.driver = "vsoc",
	.begin = begin,
	.submit = submit,
	.wait = wait_for_work,
	.end = end,
};

const struct pctr_worker_ops *const pctr_worker_ops = &virtual_soc;
