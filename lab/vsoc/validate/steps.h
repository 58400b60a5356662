/* SPDX-License-Identifier: MIT */
/* The virtual SoC's time in steps, which a busy host does not distort. */
#pragma once

#include <perfctr/perfctr.h>

#include "validate/base.h"

/* a process that steps the time of a virtual SoC */
struct steps {
	int stepped; /* file that stops time; -1: time is real */
	int pipe; /* it runs until this is closed */
	pid_t process;
};

#define STEPS_NONE ((struct steps){ .stepped = -1, .pipe = -1 })

/* Path of a file of a virtual SoC's debugfs. */
const char *debugfs_file(struct arena *arena, const struct perfctr_device *device,
			 const char *file);

/*
 * Begin to step time. The process ends with this one, however that ends. Without debugfs time stays
 * real.
 * @steps: STEPS_NONE, for steps_end() in any case.
 * Return: 0; -1 with @failure, also if somebody else steps time.
 */
int steps_begin(struct steps *steps, struct arena *arena, const struct perfctr_device *device,
		struct failure *failure);

/* Return: 0; -ECHILD the process had ended before, and time passed since. */
int steps_end(struct steps *steps);
