/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: what was measured, and how it is shown. */
#ifndef PERFCTR_PERFKIT_REPORT_H
#define PERFCTR_PERFKIT_REPORT_H

#include <perfctr/perfkit.h>

#include "app.h"
#include "perfkit_stat.h"

/**
 * struct perfkit_report - the result
 */
struct perfkit_report {
	struct app *app;
	struct perfctr_device *device;
	struct perfctr_perfkit *kit;
	char **command;
	/* one for each counter of the kit */
	struct perfkit_stat *stats;
	unsigned int passes;
	/* one of the two: experiments that were completed, or frames */
	uint64_t repetitions, frames;
	/* 0: experiments */
	uint64_t frame_ns;
	int exit_status;
	FILE *out;
};

void perfkit_print_text(const struct perfkit_report *report);
void perfkit_print_json(const struct perfkit_report *report);

#endif /* PERFCTR_PERFKIT_REPORT_H */
