/* SPDX-License-Identifier: MIT */
/* What is counted by default. */
#pragma once

#include "app.h"

/* PMUs that this user may not see */
struct left_out {
	/* kinds of SoC blocks, "ucf, pcie", and events of other PMUs; empty: nothing */
	char blocks[128];
	int error; /* the kernel's error for the last of them */
	bool software_only; /* on the local device there was nothing else */
};

const char *defaults_software_only(void);

/*
 * Select the events that show most of what a device does. Selects metrics and the most useful
 * counters. What the device lacks or the user may not see is left out.
 * @selection: empty selection; @machine: with events of the whole machine, which each device has,
 * or, of several devices, one; without them the local device has those that can be of some tasks;
 * @left_out: filled with the PMUs that the kernel refuses this user;
 * may be NULL.
 * Return: number of counters, or a negative errno if nothing could be selected.
 */
int defaults_add(const struct app *app, const struct perfctr_device *device,
		 struct perfctr_selection *selection, bool machine, struct left_out *left_out);

/*
 * Why PMUs were left out, and how to fix it.
 * @left_out: not empty; @text: filled with a clause such as "kernel.perf_event_paranoid = 3 keeps
 * them for CAP_PERFMON".
 * Return: a shell command that fixes it, NULL if none is known.
 */
const char *defaults_why(const struct left_out *left_out, char *text, size_t size);
