/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: what was measured, and how it is shown. */
#ifndef PERFCTR_PERFKIT_REPORT_H
#define PERFCTR_PERFKIT_REPORT_H

#include <perfctr/perfkit.h>

#include "lib/app.h"
#include "stat.h"

/* what passes take turns in */
enum perfkit_mode {
	PERFKIT_EXPERIMENTS, /* runs of the command */
	PERFKIT_SLICES, /* slices of time of one run */
	PERFKIT_FRAMES, /* frames that one run draws */
};

/* the result */
struct perfkit_report {
	struct app *app;
	struct perfctr_device *device;
	struct perfctr_perfkit *kit;
	char **command;
	/* one for each counter of the kit */
	struct perfkit_stat *stats;
	unsigned int passes;
	enum perfkit_mode mode;
	/* experiments that were completed; slices, and frames, that were measured */
	uint64_t repetitions, slices, frames;
	/* of slices */
	uint64_t interval_ns;
	/* of frames: what is wanted, what is left out in front of it, and all that were reported */
	uint64_t frames_of_pass, frames_skipped, frames_told;
	int exit_status;
	FILE *out;
};

/* Characters of the longest name, or what looks well. */
int perfkit_name_width(const struct perfkit_report *report);

/* Frames that the command must report; the passes are known. */
uint64_t perfkit_frames_needed(const struct perfkit_report *report);

void perfkit_print_text(const struct perfkit_report *report);
void perfkit_print_json(const struct perfkit_report *report);

#endif /* PERFCTR_PERFKIT_REPORT_H */
