/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test program is a list of functions; each prints one line of TAP.
 */
#ifndef NATIVE_TEST_H
#define NATIVE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)	{ #function, function }

extern bool test_failed;

/* a failing check ends the test, not the program */
#define check(condition)							\
do {										\
	if (!(condition)) {							\
		test_fail(__FILE__, __LINE__, #condition);			\
		return;								\
	}									\
} while (0)

#define check_eq(have, want)							\
do {										\
	uint64_t _have = (have), _want = (want);				\
	if (_have != _want) {							\
		test_fail_eq(__FILE__, __LINE__, #have, _have, _want);		\
		return;								\
	}									\
} while (0)

void test_fail(const char *file, int line, const char *what);
void test_fail_eq(const char *file, int line, const char *what, uint64_t have, uint64_t want);
int test_main(int argc, char **argv, const struct test *tests, size_t count);

/* seed of everything random: PERFCTR_SEED or a fixed one; printed on failure */
uint64_t test_seed(void);
/* PERFCTR_ROUNDS or @otherwise */
unsigned long test_rounds(unsigned long otherwise);

struct random_state {
	uint64_t x;
};

/* splitmix64: any seed is a good one, and replays everywhere */
static inline uint64_t random_u64(struct random_state *state)
{
	uint64_t z = state->x += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline uint32_t random_below(struct random_state *state, uint32_t n)
{
	return random_u64(state) % n;
}

#ifdef __cplusplus
}
#endif

#endif /* NATIVE_TEST_H */
