/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test program has a function for each test. Each prints one line of TAP.
 */
#ifndef NATIVE_TEST_H
#define NATIVE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_add(struct test *test);

/* TEST(condition_gives_result) { ... }: tests run in the order of their file */
#define TEST(function)							\
static void function(void);						\
static void __attribute__((constructor)) add_##function(void)		\
{									\
	static struct test test = { #function, function, NULL };	\
									\
	test_add(&test);						\
}									\
static void function(void)

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* a failing check ends its test */
#define check(condition)	test_check(!!(condition), __FILE__, __LINE__, #condition)
#define check_eq(have, want)	test_check_eq(have, want, __FILE__, __LINE__, #have)

void test_check(bool good, const char *file, int line, const char *what);
void test_check_eq(unsigned long long have, unsigned long long want, const char *file, int line,
		   const char *what);

/* seed of all random numbers: PERFCTR_SEED, or a fixed one */
unsigned long long test_seed(void);
/* PERFCTR_ROUNDS or @otherwise */
unsigned long test_rounds(unsigned long otherwise);

struct random_state {
	unsigned long long x;
};

/* splitmix64: any seed is good */
static inline unsigned long long random_u64(struct random_state *state)
{
	unsigned long long z = state->x += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline unsigned int random_below(struct random_state *state, unsigned int n)
{
	return random_u64(state) % n;
}

#ifdef __cplusplus
}
#endif

#endif /* NATIVE_TEST_H */
