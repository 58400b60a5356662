/* SPDX-License-Identifier: MIT */
/*
 * Kernels of known work for a CPU: loops in assembly with the same number of instructions for each
 * round on x86-64 and arm64, and two in C.
 */
#pragma once

#include <stdint.h>

/* what a kernel works on */
struct cpu_work {
	uint64_t rounds; /* of its loop; pages or sleeps */
	uint64_t bytes; /* of memory: a power of two, of lines of CPU_LINE_BYTES; 0: none */
	unsigned char *from, *to; /* the memory, for kernels that have it */
};

enum { CPU_LINE_BYTES = 64 };

/* a kernel; campaigns/format.md has what a round does */
struct cpu_kernel {
	const char *name;
	const char *usage;
	int (*run)(const struct cpu_work *work); /* 0 or a negative errno */
	unsigned int buffers; /* of work->bytes each */
};

/* Return: NULL if there is none of that name. */
const struct cpu_kernel *cpu_kernel_find(const char *name, unsigned long length);

/* Names and arguments of all, for messages. */
const char *cpu_kernel_usage(char *text, unsigned long size);

/*
 * Allocate the buffers of a kernel, write all of them, and link the lines of the first one to a
 * circle in random order.
 * Return: 0 or a negative errno.
 */
int cpu_work_begin(struct cpu_work *work, const struct cpu_kernel *kernel);
void cpu_work_end(struct cpu_work *work);
