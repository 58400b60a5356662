// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl fuzzer: coverage of our modules by KCOV.
 *
 * The kernel records which basic blocks the calls of each thread run through, but not those of the
 * sampler's thread and of interrupts on their behalf.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define KCOV_FILE	"/sys/kernel/debug/kcov"
/* of one operation; the rest is not recorded */
#define TRACE_WORDS	(256 * 1024ul)
/* many times what our modules have */
#define MAX_PLACES	(256 * 1024ul)

/* addresses of basic blocks, shared by all processes: a hash table that is never full */
static struct {
	__u64 count;
	__u64 place[MAX_PLACES];
} *reached;
static __thread __u64 *trace;

bool coverage_init(void)
{
	if (access(KCOV_FILE, R_OK | W_OK))
		return false;
	/* populated: existing memory does not count as a leaked buffer */
	reached = mmap(NULL, sizeof(*reached), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (reached == MAP_FAILED)
		reached = NULL;
	return reached;
}

int coverage_open(void)
{
	int fd;

	if (!reached)
		return -1;
	fd = open(KCOV_FILE, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, KCOV_INIT_TRACE, TRACE_WORDS)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool coverage_enable(int fd)
{
	void *map = mmap(NULL, TRACE_WORDS * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);

	if (map == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return false;
	trace = map;
	return true;
}

void coverage_disable(void)
{
	trace = NULL;
}

void coverage_begin(void)
{
	if (trace)
		__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
}

static void reach(__u64 pc)
{
	unsigned long i = pc * 0x9e3779b97f4a7c15ull >> 46;

	for (;; i++) {
		__u64 *place = &reached->place[i % MAX_PLACES], there = 0;

		if (__atomic_compare_exchange_n(place, &there, pc, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			__atomic_fetch_add(&reached->count, 1, __ATOMIC_RELAXED);
			return;
		}
		if (there == pc)
			return;
	}
}

void coverage_end(void)
{
	__u64 i, n;

	if (!trace)
		return;
	n = __atomic_load_n(&trace[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < TRACE_WORDS; i++)
		reach(trace[i]);
}

void coverage_print(double seconds)
{
	if (reached)
		printf("# after %.0f s, %llu operations: %llu basic blocks\n", seconds,
		       (unsigned long long)tally->ops, (unsigned long long)reached->count);
}
