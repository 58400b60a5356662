/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs tests of kernel/tests/native inside the kernel, in place of their kernel.h and test.h. Each
 * function of a file becomes a parameter of one case.
 */
#ifndef KUNIT_NATIVE_H
#define KUNIT_NATIVE_H

/* their own headers are not wanted */
#define NATIVE_KERNEL_H
#define NATIVE_TEST_H

#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_NATIVE_SEED	20240305

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)	{ #function, function }

/* of the running case; suites run one after the other */
static struct kunit *native_kunit;

#define check(condition)	KUNIT_ASSERT_TRUE(native_kunit, condition)
#define check_eq(have, want)	KUNIT_ASSERT_EQ(native_kunit, (u64)(have), (u64)(want))

struct random_state {
	u64 x;
};

static inline u64 random_u64(struct random_state *state)
{
	u64 z = state->x += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline u32 random_below(struct random_state *state, u32 n)
{
	return (u32)(random_u64(state) >> 32) % n;
}

static inline u64 test_seed(void)
{
	return KUNIT_NATIVE_SEED;
}

static inline unsigned long test_rounds(unsigned long otherwise)
{
	/* emulated kernels with checkers run them at every boot */
	if (!IS_ENABLED(CONFIG_UML))
		return clamp(otherwise / 20, 1ul, 1000ul);
	return min(otherwise, 10000ul);
}

#define KUNIT_NATIVE_SUITE(suite_name)						\
static void native_desc(const struct test *t, char *desc)			\
{										\
	strscpy(desc, t->name, KUNIT_PARAM_DESC_SIZE);				\
}										\
KUNIT_ARRAY_PARAM(native, tests, native_desc);					\
										\
static void run(struct kunit *kunit)						\
{										\
	const struct test *t = kunit->param_value;				\
										\
	native_kunit = kunit;							\
	t->run();								\
}										\
										\
static struct kunit_case cases[] = {						\
	KUNIT_CASE_PARAM(run, native_gen_params),				\
	{ }									\
};										\
										\
static struct kunit_suite suite = {						\
	.name = suite_name,							\
	.test_cases = cases,							\
};										\
kunit_test_suite(suite)

#endif /* KUNIT_NATIVE_H */
