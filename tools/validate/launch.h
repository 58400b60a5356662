/* SPDX-License-Identifier: MIT */
/* The command of a GPU's benchmark: "launch MODULE KERNEL GRID BLOCK ARGUMENT...". */
#pragma once

#include "words.h"

enum { LAUNCH_DIMENSIONS = 3, LAUNCH_ARGUMENTS = 8 };

struct launch_argument {
	bool is_buffer;
	uint64_t number; /* of 32 bits; bytes of a buffer */
	uint32_t word; /* a buffer is filled with it before each kernel */
};

struct launch {
	const char *module; /* a built-in file, or one in the campaign's folder */
	const char *kernel;
	uint32_t grid[LAUNCH_DIMENSIONS]; /* blocks */
	uint32_t block[LAUNCH_DIMENSIONS]; /* threads */
	struct launch_argument arguments[LAUNCH_ARGUMENTS];
	size_t argument_count;
};

/* Whether the command of a benchmark is one. */
bool is_launch(const struct benchmark *benchmark);

/* The command of a point, its formulas evaluated. Return: 0; -1 with a failure. */
int launch_parse(struct analysis *a, const struct point *point, struct launch *launch);

/* Threads of a launch. */
uint64_t launch_threads(const struct launch *launch);
