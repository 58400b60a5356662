/* SPDX-License-Identifier: MIT */
/* Counts a function or a region of a program while the program runs, by breakpoints. */
#pragma once

#include <linux/perf_event.h>

#include "disassembly.h"

/* what to run, and what to count of it */
struct program {
	const char *point; /* for messages */
	char **argv; /* NULL at the end */
	const struct code *code;
	int64_t calls; /* of the function, as many as it must get */
	int64_t call; /* the only one that is counted, from 1; 0: all */
	/* event of the process, disabled; NULL: its instructions are counted step by step */
	const struct perf_event_attr *attr;
	int cpu_fd; /* instead of @attr: an event that counts a CPU; -1: none */
	struct arena *arena;
	struct failure *failure;
};

/* the format of read() with PERF_FORMAT_TOTAL_TIME_* */
struct counted {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* what the counted calls did */
struct program_count {
	struct counted counted; /* of the event; of steps: instructions in @value */
	const char *build; /* id of the program's file, or NULL */
	uint64_t jumps; /* of steps: instructions behind which another than the next one came */
};

/*
 * Run the program once, to its end.
 * Return: 0; -ENOTSUP: steps cannot be counted here; another negative errno: the event cannot be
 * opened; -EINVAL with a failure: anything else.
 */
int program_count(const struct program *program, struct program_count *count);
