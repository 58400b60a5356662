/* SPDX-License-Identifier: MIT */
/*
 * For a tool on a GPU in memory: work that goes on all the time, or that programs ask for by a
 * number of units that they write into the pipe $GPU_JOBS; $GPU_DONE answers when it is done.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/sys.h"
#include "test.h"

static struct {
	void (*work)(unsigned int units); /* of a job */
	struct perfctr_sys sys;
	const struct perfctr_sys *below;
	pthread_mutex_t lock; /* of the driver in memory */
	void (*of_driver)(unsigned int units);
} live = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* of a program that is no test: the fakes' own checks end it */
bool test_equal(long long a, long long b, const char *file, int line, const char *text)
{
	if (a != b)
		abort();
	return true;
}

bool test_check(bool good, const char *file, int line, const char *text)
{
	if (!good)
		abort();
	return true;
}

static inline void *take_jobs(void *arg)
{
	for (;;) {
		FILE *jobs = fopen(getenv("GPU_JOBS"), "re"), *done;
		unsigned int units;

		if (!jobs || fscanf(jobs, "%u", &units) != 1)
			abort();
		fclose(jobs);
		live.work(units);
		done = fopen(getenv("GPU_DONE"), "we");
		if (!done || fputs("done\n", done) < 0 || fclose(done))
			abort();
	}
	return NULL;
}

/* Return: whether programs ask for work; then there is to be no other. */
static inline bool live_take_jobs(void (*of_tool)(unsigned int units))
{
	pthread_t thread;

	live.work = of_tool;
	if (getenv("GPU_JOBS"))
		pthread_create(&thread, NULL, take_jobs, NULL);
	return getenv("GPU_JOBS");
}

/* --- for a driver that has no threads of its own ------------------------------------------- */

/* but perf's are the machine's */
static inline int live_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	if (_IOC_TYPE(request) == '$')
		return perfctr_sys_real.ioctl(data, fd, request, argument);
	pthread_mutex_lock(&live.lock);
	result = live.below->ioctl(data, fd, request, argument);
	pthread_mutex_unlock(&live.lock);
	return result;
}

static inline void live_work(unsigned int units)
{
	pthread_mutex_lock(&live.lock);
	live.of_driver(units);
	pthread_mutex_unlock(&live.lock);
}

/* A driver's work is no thread of the command, whose signals would end here. */
static inline void live_block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static inline void *live_go_on(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	live_block_signals();
	for (;;) {
		nanosleep(&pause, NULL);
		live_work(1000);
	}
	return NULL;
}

static inline void live_lock(void)
{
	pthread_mutex_lock(&live.lock);
}

static inline void live_unlock(void)
{
	pthread_mutex_unlock(&live.lock);
}

static inline void live_start(void)
{
	pthread_t thread;

	live_unlock();
	pthread_create(&thread, NULL, live_go_on, NULL);
}

/* A driver that does 1000 units a millisecond, also in a process that forks ("perfctr serve"). */
static inline struct perfctr_sys *live_begin(const struct perfctr_sys *below,
					     void (*of_driver)(unsigned int units))
{
	live.of_driver = of_driver;
	live.below = below;
	live.sys = *below;
	live.sys.ioctl = live_ioctl;
	if (!live_take_jobs(live_work)) {
		pthread_atfork(live_lock, live_unlock, live_start);
		live_lock();
		live_start();
	}
	return &live.sys;
}
