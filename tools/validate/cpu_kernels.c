// SPDX-License-Identifier: MIT
/* The table of kernels, and their loops for x86-64, arm64 and in C. */
#include "cpu_kernels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* @X86 or @ARM: the instructions of a round without the two that end it */
#if defined(__x86_64__)
#define ROUNDS(x86, arm, ...)                                                     \
	__asm__ volatile("1:\n\t" x86 "dec %[n]\n\tjnz 1b"                        \
			 : [n] "+r"(n), __VA_ARGS__                               \
			 : [from] "r"(w->from), [to] "r"(w->to), [mask] "r"(mask) \
			 : "cc", "memory")
#elif defined(__aarch64__)
#define ROUNDS(x86, arm, ...)                                                     \
	__asm__ volatile("1:\n\t" arm "subs %[n], %[n], #1\n\tb.ne 1b"            \
			 : [n] "+r"(n), __VA_ARGS__                               \
			 : [from] "r"(w->from), [to] "r"(w->to), [mask] "r"(mask) \
			 : "cc", "memory")
#else
#define ROUNDS(x86, arm, ...)    \
	do {                     \
		(void)mask;      \
		return -ENOTSUP; \
	} while (0)
#endif

/* a loop of n rounds, a register for data, an offset in the memory */
#define LOOP(x86, arm)                                \
	uint64_t n = w->rounds, x = 0, at = 0;        \
	const uint64_t mask = w->bytes - 1;           \
                                                      \
	ROUNDS(x86, arm, [x] "+r"(x), [at] "+r"(at)); \
	return 0

#define NEXT_LINE_X86 "add $64, %[at]\n\tand %[mask], %[at]\n\t"
#define NEXT_LINE_ARM "add %[at], %[at], #64\n\tand %[at], %[at], %[mask]\n\t"
#define ADD_X86 "add $3, %[x]\n\t"
#define ADD_ARM "add %[x], %[x], #3\n\t"

static int loop(const struct cpu_work *w)
{
	LOOP("", "");
}

/* eight additions, each of which waits for the one before */
static int alu(const struct cpu_work *w)
{
	LOOP(ADD_X86 ADD_X86 ADD_X86 ADD_X86 ADD_X86 ADD_X86 ADD_X86 ADD_X86,
	     ADD_ARM ADD_ARM ADD_ARM ADD_ARM ADD_ARM ADD_ARM ADD_ARM ADD_ARM);
}

/* a branch that is never taken and one that always is */
static int branch(const struct cpu_work *w)
{
	LOOP("test %[n], %[n]\n\tjz 2f\n\tjmp 2f\n2:\n\t",
	     "tst %[n], %[n]\n\tb.eq 2f\n\tb 2f\n2:\n\t");
}

static int load(const struct cpu_work *w)
{
	LOOP("mov (%[from],%[at]), %[x]\n\t" NEXT_LINE_X86,
	     "ldr %[x], [%[from], %[at]]\n\t" NEXT_LINE_ARM);
}

static int store(const struct cpu_work *w)
{
	LOOP("mov %[x], (%[to],%[at])\n\t" NEXT_LINE_X86,
	     "str %[x], [%[to], %[at]]\n\t" NEXT_LINE_ARM);
}

static int copy(const struct cpu_work *w)
{
	LOOP("mov (%[from],%[at]), %[x]\n\tmov %[x], (%[to],%[at])\n\t" NEXT_LINE_X86,
	     "ldr %[x], [%[from], %[at]]\n\tstr %[x], [%[to], %[at]]\n\t" NEXT_LINE_ARM);
}

/* each load has the address of the next one: no prefetcher can guess it */
static int chase(const struct cpu_work *w)
{
	uint64_t n = w->rounds;
	const uint64_t mask = 0;
	unsigned char *x = w->from;

	ROUNDS("mov (%[x]), %[x]\n\t", "ldr %[x], [%[x]]\n\t", [x] "+r"(x));
	return 0;
}

/* the same work as load and copy, in C: the compiler decides on all other instructions */
static int c_load(const struct cpu_work *w)
{
	for (uint64_t n = 0, at = 0; n < w->rounds;
	     n++, at = (at + CPU_LINE_BYTES) & (w->bytes - 1))
		(void)*(volatile uint64_t *)(void *)(w->from + at);
	return 0;
}

static int c_copy(const struct cpu_work *w)
{
	for (uint64_t n = 0, at = 0; n < w->rounds;
	     n++, at = (at + CPU_LINE_BYTES) & (w->bytes - 1))
		*(volatile uint64_t *)(void *)(w->to + at) =
			*(volatile uint64_t *)(void *)(w->from + at);
	return 0;
}

/* first write to each page of fresh memory */
static int touch(const struct cpu_work *w)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), bytes = w->rounds * page_bytes;
	volatile char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	/* with huge pages one fault would cover many pages */
	madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += page_bytes)
		memory[at] = 1;
	munmap((void *)memory, bytes);
	return 0;
}

static const struct cpu_kernel kernels[] = {
	{ .name = "loop", .usage = "ROUNDS", .run = loop },
	{ .name = "alu", .usage = "ROUNDS", .run = alu },
	{ .name = "branch", .usage = "ROUNDS", .run = branch },
	{ .name = "load", .usage = "ROUNDS, BYTES", .run = load, .buffers = 1 },
	{ .name = "store", .usage = "ROUNDS, BYTES", .run = store, .buffers = 2 },
	{ .name = "copy", .usage = "ROUNDS, BYTES", .run = copy, .buffers = 2 },
	{ .name = "chase", .usage = "ROUNDS, BYTES", .run = chase, .buffers = 1 },
	{ .name = "c-load", .usage = "ROUNDS, BYTES", .run = c_load, .buffers = 1 },
	{ .name = "c-copy", .usage = "ROUNDS, BYTES", .run = c_copy, .buffers = 2 },
	{ .name = "touch", .usage = "PAGES", .run = touch },
};

const struct cpu_kernel *cpu_kernel_find(const char *name, unsigned long length)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strlen(kernels[i].name) == length && !memcmp(kernels[i].name, name, length))
			return &kernels[i];
	return NULL;
}

const char *cpu_kernel_usage(char *text, unsigned long size)
{
	size_t used = 0;

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "'%s %s', ", kernels[i].name,
					 kernels[i].usage);
	return text;
}

/* Sattolo's algorithm: one circle of all lines; the same in every run. */
static void link_lines(unsigned char *memory, uint64_t lines)
{
	uint64_t random = 88172645463325252u;

	for (uint64_t i = 0; i < lines; i++) {
		const unsigned char *line = memory + i * CPU_LINE_BYTES;

		memcpy(memory + i * CPU_LINE_BYTES, &line, sizeof(line));
	}
	for (uint64_t i = lines; i-- > 1;) {
		unsigned char *a = memory + i * CPU_LINE_BYTES, *b, *of_a, *of_b;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		b = memory + random % i * CPU_LINE_BYTES;
		memcpy(&of_a, a, sizeof(of_a));
		memcpy(&of_b, b, sizeof(of_b));
		memcpy(a, &of_b, sizeof(of_b));
		memcpy(b, &of_a, sizeof(of_a));
	}
}

int cpu_work_begin(struct cpu_work *work, const struct cpu_kernel *kernel)
{
	unsigned char **buffers[] = { &work->from, &work->to };

	work->from = work->to = NULL;
	for (unsigned int i = 0; i < kernel->buffers; i++) {
		void *memory = mmap(NULL, work->bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED) {
			cpu_work_end(work);
			return -ENOMEM;
		}
		*buffers[i] = memory;
		memset(memory, 1, work->bytes);
	}
	if (work->from)
		link_lines(work->from, work->bytes / CPU_LINE_BYTES);
	return 0;
}

void cpu_work_end(struct cpu_work *work)
{
	if (work->from)
		munmap(work->from, work->bytes);
	if (work->to)
		munmap(work->to, work->bytes);
}
