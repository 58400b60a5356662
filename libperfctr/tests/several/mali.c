// SPDX-License-Identifier: MIT
#include <pthread.h>

#include "../kbase/unit.h"
#include "gpus.h"

enum { GPU_ACTIVE = 4, TRIANGLES = 6, SHADER = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int locked_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	pthread_mutex_lock(&lock);
	result = fake_ioctl(data, fd, request, argument);
	pthread_mutex_unlock(&lock);
	return result;
}

static struct perfctr_sys *make(void)
{
	struct perfctr_sys *calls = make_driver();

	calls->ioctl = locked_ioctl;
	return calls;
}

static void do_units(unsigned int units)
{
	pthread_mutex_lock(&lock);
	driver.counts[0][GPU_ACTIVE] += units;
	driver.counts[1][TRIANGLES] += units;
	driver.counts[4][SHADER] += 3 * (uint64_t)units;
	driver.cycles[0] += 2 * (uint64_t)units;
	pthread_mutex_unlock(&lock);
}

static void unplug(void)
{
	driver.gone = true;
}

static void take(void)
{
	driver.denied = true;
}

const struct gpu mali_gpu = { make, do_units, unplug, take };
