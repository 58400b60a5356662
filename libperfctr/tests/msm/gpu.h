/* SPDX-License-Identifier: MIT */
/*
 * An Adreno under the kernel's own code of msm's streams, behind the library's table of system
 * calls. The truth is in the work that it is given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

#define GPU_NODE "/dev/dri/renderD128"

/* zero: as usual */
struct gpu_options {
	unsigned int generation; /* 6, 7, 8; 5: none that the driver has tables for */
	uint32_t chip;
	bool old; /* a kernel without the ioctl */
	bool no_sysfs;
};

/* Begin with an awake GPU and no files. Return: the system calls of a program with CAP_PERFMON. */
struct perfctr_sys *gpu_begin(const struct gpu_options *options);
/* Check that nothing is left, and free. */
void gpu_end(void);

/* Also in processes that fork from now on: each has a GPU of its own. */
void gpu_follow_forks(void);

/* Count in all counters that are set to a countable of a group. */
void gpu_work(const char *group, unsigned int countable, uint64_t count);
/* The sum of all work of that kind since gpu_begin(). */
uint64_t gpu_truth(const char *group, unsigned int countable);
void gpu_suspend(void);
void gpu_resume(void);
/*
 * So many periods at once, in which nobody reads, each with work of that kind; before them, with
 * @recovers, a reset of the GPU, after which the first period's work is not counted.
 */
void gpu_run(bool recovers, unsigned int periods, const char *group, unsigned int countable,
	     uint64_t count);
/* The ring is busy: counters are not programmed. */
void gpu_block_ring(bool blocked);
void gpu_deny(bool denied);
void gpu_unplug(void);
/* Another program: reserves counters for its jobs; opens a stream, 0, or closes it. */
int gpu_reserve(const char *group, unsigned int counters);
/* The same at the next end of a stream, before another can begin. */
void gpu_reserve_next(const char *group, unsigned int counters);
int gpu_other_stream(const char *group, bool opens);
/* The program is gone without a word: the kernel closes its files. */
void gpu_kill(void);

struct gpu_state {
	bool has_stream;
	unsigned int files, allocated, sysprof;
	uint64_t records, shortest_ns, splits; /* read in two parts */
};
struct gpu_state gpu_state(void);
