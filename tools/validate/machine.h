/* SPDX-License-Identifier: MIT */
/* The machines that run campaigns. */
#pragma once

#include "study.h"

/*
 * A virtual SoC, counted through libperfctr.
 * @analysis: campaign; its configuration is completed, and events that cannot be counted are noted;
 * @which: device as of perfctr_device_open(), NULL: the first virtual SoC; @machine: filled on
 * success, to be closed; @error: set to the error of the library if the result is -1.
 * Return: 0; -1 with the analysis' failure.
 */
int machine_vsoc(struct analysis *analysis, const char *which, struct machine *machine, int *error);

/* machine_cpu() - this CPU, counted with perf events of the calling thread; as machine_vsoc() */
int machine_cpu(struct analysis *analysis, struct machine *machine, int *error);
