/* SPDX-License-Identifier: MIT */
/* Submits jobs to the virtual SoC and waits for them. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"

/* a submitted job that was not waited for */
struct runner_job {
	uint64_t id;
	uint32_t ctx_id;
	uint32_t commands;
	/* buffer of its store commands, NULL: it has none */
	char *stores;
	uint32_t stores_handle;
	uint32_t store_count;
};

/* how a job ended */
struct runner_result {
	uint64_t id;
	uint32_t ctx_id;
	uint32_t commands;
	/* 0 done, -ECANCELED cancelled, -ETIME timed out */
	int status;
	uint32_t sample_errors;
	int sample_errno;
	/* for each store command the records of all TPCs, see runner_record() */
	const char *stores;
	uint32_t store_count;
};

typedef void (*runner_result_fn)(void *data, const struct runner_result *result);

/* an open device and its queue */
struct runner {
	int fd;
	bool owns_fd;
	struct drm_vsoc_info info;
	uint32_t *contexts;
	uint32_t context_count;
	uint32_t next_context;
	/*
	 * session that samples each job, 0: none. The sample before the first command has no tag,
	 * the one after the last command has 1 + the context's id
	 */
	int sample_session;
	bool fenced; /* take these samples before and after the job instead of in it */
	/* the submitted job, if it differs from the given one */
	struct job sampled;
	struct job stored;
	uint64_t timeout_ns;
	const volatile sig_atomic_t *stop; /* set by a signal handler: ends waiting */
	/* unfinished jobs, oldest first */
	struct runner_job *queue;
	size_t queue_count;
	size_t queue_capacity;
	runner_result_fn on_result;
	void *on_result_data;
	uint64_t submitted;
	uint64_t done;
	uint64_t cancelled;
	uint64_t timed_out;
	uint64_t sample_errors;
	struct command_amount amounts[COMMAND_AMOUNTS];
	char error[512];
};

/*
 * Open a virtual SoC.
 * @runner: zeroed but for sample_session, timeout_ns, stop and on_result; @which: path of a
 * DRM node, last part of it, or NULL for the first one of driver vsoc; @fd: open DRM file to use
 * instead, or -1; @contexts: contexts to spread jobs over, at least 1;
 * @concurrent: their jobs run beside those of the GPU.
 * Return: 0 or a negative errno with runner->error.
 */
int runner_open(struct runner *runner, const char *which, int fd, uint32_t contexts,
		bool concurrent);
void runner_close(struct runner *runner);

/*
 * Queue a job in the next context. While the context's queue is full, waits for its oldest job.
 * @job: commands.
 * Return: 0 or a negative errno with runner->error; -EINTR if stop was set.
 */
int runner_submit(struct runner *runner, const struct job *job);

/*
 * Wait until at most some jobs are unfinished. A job that exceeds timeout_ns is counted and dropped
 * from the queue.
 * @left: unfinished jobs to accept.
 * Return: 0 or a negative errno with runner->error; -EINTR if stop was set.
 */
int runner_wait(struct runner *runner, size_t left);

/* record of a TPC by a job's store command; complete only if the job is done */
const struct drm_vsoc_mp_record *runner_record(const struct runner *runner, const char *stores,
					       uint32_t store, unsigned int tpc);

uint64_t runner_now_ns(void);
