// SPDX-License-Identifier: MIT
/*
 * The command perfctr on the GPU of gpu.c, which works all the time: 1000 countables a millisecond
 * of each kind that the tests look at, and sleeps for a moment every 50 ms if $GPU_SLEEPS is set.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "gpu.h"
#include "host/open.h"
#include "live.h"
#include "test.h"

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static void do_job(unsigned int units)
{
	gpu_work("CP", 2, units);
	gpu_work("SP", 0, 3 * (uint64_t)units);
}

static void *work(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned int n = 1;; n++) {
		nanosleep(&pause, NULL);
		gpu_work("CP", 0, 2000);
		gpu_work("CP", 2, 1000);
		gpu_work("SP", 0, 1000);
		if (n % 50 || !getenv("GPU_SLEEPS"))
			continue;
		gpu_suspend();
		for (int ms = 0; ms < 30; ms++)
			nanosleep(&pause, NULL);
		gpu_resume();
	}
	return NULL;
}

static void start_work(void)
{
	pthread_t thread;

	if (!live_take_jobs(do_job))
		pthread_create(&thread, NULL, work, NULL);
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	static const struct gpu_options options = { .generation = 7, .chip = 0x43050c01 };
	static struct perfctr_sys *sys;

	if (!sys) {
		sys = gpu_begin(&options);
		gpu_follow_forks();
		/* "perfctr serve" counts in a child */
		pthread_atfork(NULL, NULL, start_work);
		start_work();
	}
	return perfctr_ctx_new_with(sys, ctx);
}
