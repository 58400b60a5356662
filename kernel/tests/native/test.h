/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test program is a list of functions; each prints one line of TAP.
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
};

#define TEST(function)	{ #function, function }

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* a failing check ends the test, not the program */
#define check(condition)	test_check(!!(condition), __FILE__, __LINE__, #condition)
#define check_eq(have, want)	test_check_eq(have, want, __FILE__, __LINE__, #have)

void test_check(bool good, const char *file, int line, const char *what);
void test_check_eq(unsigned long long have, unsigned long long want, const char *file, int line,
		   const char *what);
int test_main(int argc, char **argv, const struct test *tests, size_t count);

/* seed of everything random: PERFCTR_SEED or a fixed one; printed on failure */
unsigned long long test_seed(void);
/* PERFCTR_ROUNDS or @otherwise */
unsigned long test_rounds(unsigned long otherwise);

struct random_state {
	unsigned long long x;
};

/* splitmix64: any seed works, and gives the same numbers everywhere */
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
