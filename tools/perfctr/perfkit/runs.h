/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: runs of the workload, and what counts in them. */
#pragma once

#include "lib/command.h"
#include "lib/option.h"
#include "report.h"
#include "lib/signals.h"

struct perfkit_options {
	struct option_words events;
	uint64_t repeat, interval_ns, frames, skip;
	bool has_skip;
	bool passes_only, json;
	const char *output, *device;
	char **command;
};

struct perfkit {
	struct perfkit_options options;
	struct perfkit_report report;
	struct command command;
	struct signals signals;
	int ended_by; /* signal that ended counting, 0: none */
	bool ran; /* the workload was started: there is a result, even if nothing was measured */
};

/* A run for each pass. Return: 0 or an exit status. */
int perfkit_experiment(struct perfkit *p);

/* One run, a pass in each slice of time. Return: 0 or an exit status. */
int perfkit_slices(struct perfkit *p);

/* One run, a pass in each frame that the workload reports. Return: 0 or an exit status. */
int perfkit_frames(struct perfkit *p);

/* Steps of a run. Return: 0 or an exit status, the message was printed. */
int perfkit_prepare_command(struct perfkit *p);
int perfkit_let_go(struct perfkit *p);

/* Handle pending signals: those that end perfctr are forwarded to the workload. */
void perfkit_pass_signals(struct perfkit *p);

/*
 * Print why counting failed, a negative errno. The workload continues without counting. Return: an
 * exit status.
 */
int perfkit_count_no_more(const struct perfkit *p, int error);
