/* SPDX-License-Identifier: MIT */
/* A library in place of NVIDIA's, whose only GPU does what a test says. */
#pragma once

#include <stdbool.h>

#include "local/nvml.h"

enum { STUB_FIELDS = 256, STUB_PROCESSES = 4 };

extern struct nvml_stub {
	/* results: of the library's start, of the search for the GPU, of all calls for it */
	int init_result, handle_result, result;
	void (*at_call)(void); /* at each call for the GPU, before its answer; may be NULL */
	const char *missing; /* functions whose names begin so do not exist; NULL: none */
	bool is_open;
	unsigned int calls, opened, samples; /* calls of any kind; GPM samples that exist */
	char place[32]; /* what the GPU was looked up by */
	unsigned long long energy_mj;
	unsigned int power_mw, temperature, clocks_mhz[4];
	struct nvml_memory memory;
	struct nvml_utilization utilization;
	struct {
		unsigned long long value;
		unsigned int type, scope;
		int result;
	} fields[STUB_FIELDS];
	struct nvml_process processes[STUB_PROCESSES];
	struct nvml_process_use uses[STUB_PROCESSES];
	unsigned int process_count, use_count;
	/* totals; @gpm_is_difference: shown as what was added since the first sample */
	double gpm[3];
	int gpm_results[3];
	bool has_gpm, gpm_is_difference;
} nvml_stub;

/* Return: a function by its name, NULL: it is missing. */
void *nvml_stub_symbol(const char *name);
