// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the tests of a program and prints TAP.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

#define DEFAULT_SEED	20240305

static jmp_buf end_of_test;
static struct test *tests, **end_of_tests = &tests;

void test_add(struct test *test)
{
	*end_of_tests = test;
	end_of_tests = &test->next;
}

void test_check(bool good, const char *file, int line, const char *what)
{
	if (good)
		return;
	printf("# %s:%d: not true: %s\n", file, line, what);
	longjmp(end_of_test, 1);
}

void test_check_eq(unsigned long long have, unsigned long long want, const char *file, int line,
		   const char *what)
{
	if (have == want)
		return;
	printf("# %s:%d: %s is %llu (0x%llx), not %llu (0x%llx)\n", file, line, what,
	       have, have, want, want);
	longjmp(end_of_test, 1);
}

unsigned long long test_seed(void)
{
	const char *seed = getenv("PERFCTR_SEED");

	return seed ? strtoull(seed, NULL, 0) : DEFAULT_SEED;
}

unsigned long test_rounds(unsigned long otherwise)
{
	const char *rounds = getenv("PERFCTR_ROUNDS");

	return rounds ? strtoul(rounds, NULL, 0) : otherwise;
}

static bool run_test(const struct test *test)
{
	if (setjmp(end_of_test))
		return false;
	test->run();
	return true;
}

/* arguments: names of the tests to run, all by default */
int main(int argc, char **argv)
{
	unsigned int failed = 0, number = 0;
	const struct test *test;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# PERFCTR_SEED=%llu\n", test_seed());
	for (test = tests; test; test = test->next) {
		bool wanted = argc < 2;
		bool good;
		int a;

		for (a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], test->name);
		if (!wanted)
			continue;
		good = run_test(test);
		failed += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", ++number, test->name);
	}
	printf("1..%u\n", number);
	return failed || !number;
}
