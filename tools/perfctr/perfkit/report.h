/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: the result and its output. */
#pragma once

#include <perfctr/perfkit.h>

#include "lib/app.h"
#include "software.h"
#include "stat.h"

/* what the passes are distributed over */
enum perfkit_mode {
	PERFKIT_EXPERIMENTS, /* runs of the workload */
	PERFKIT_SLICES, /* time slices of one run */
	PERFKIT_FRAMES, /* frames of one run */
};

/* the result */
struct perfkit_report {
	struct app *app;
	struct perfctr_device *device;
	struct perfctr_perfkit *kit;
	char **command;
	/* one for each counter of the kit */
	struct perfkit_stat *stats;
	/* what frames reported; empty for other modes */
	struct perfkit_software software;
	unsigned int passes;
	enum perfkit_mode mode;
	/* completed experiments; measured slices and frames */
	uint64_t repetitions, slices, frames;
	uint64_t interval_ns; /* length of a slice */
	/* frames wanted per pass, skipped at the beginning, and reported in total */
	uint64_t frames_of_pass, frames_skipped, frames_reported;
	int exit_status;
	FILE *out;
};

/* Width of the column of names. */
int perfkit_name_width(const struct perfkit_report *report);

/* Frames that the workload must report; the passes must be known. */
uint64_t perfkit_frames_needed(const struct perfkit_report *report);

void perfkit_print_text(const struct perfkit_report *report);
void perfkit_print_json(const struct perfkit_report *report);
