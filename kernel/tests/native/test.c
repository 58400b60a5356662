// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program's tests and prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

#define DEFAULT_SEED	20240305

bool test_failed;

void test_fail(const char *file, int line, const char *what)
{
	test_failed = true;
	printf("# %s:%d: not true: %s\n", file, line, what);
}

void test_fail_eq(const char *file, int line, const char *what, uint64_t have, uint64_t want)
{
	test_failed = true;
	printf("# %s:%d: %s is %llu (0x%llx), not %llu (0x%llx)\n", file, line, what,
	       (unsigned long long)have, (unsigned long long)have,
	       (unsigned long long)want, (unsigned long long)want);
}

uint64_t test_seed(void)
{
	const char *seed = getenv("PERFCTR_SEED");

	return seed ? strtoull(seed, NULL, 0) : DEFAULT_SEED;
}

unsigned long test_rounds(unsigned long otherwise)
{
	const char *rounds = getenv("PERFCTR_ROUNDS");

	return rounds ? strtoul(rounds, NULL, 0) : otherwise;
}

/* arguments: names of the tests to run, default all */
int test_main(int argc, char **argv, const struct test *tests, size_t count)
{
	unsigned int failed = 0, number = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < count; i++) {
		bool wanted = argc < 2;
		int a;

		for (a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], tests[i].name);
		if (!wanted)
			continue;
		test_failed = false;
		tests[i].run();
		failed += test_failed;
		printf("%sok %u - %s\n", test_failed ? "not " : "", ++number, tests[i].name);
	}
	printf("1..%u\n", number);
	return failed || !number;
}
