/* SPDX-License-Identifier: MIT */
/*
 * Checks of the native tests of the tools: the file and the text of those that fail, and a count.
 */
#ifndef TOOLS_TESTS_CHECK_H
#define TOOLS_TESTS_CHECK_H

#include <stdbool.h>
#include <stdio.h>

static unsigned int passed, failed;

static inline void check(bool ok, const char *what)
{
	if (ok) {
		passed++;
		return;
	}
	failed++;
	printf("failed: %s\n", what);
}

#define CHECK(condition) check(condition, __FILE__ ": " #condition)

/* what the program ends with */
static inline int check_summary(void)
{
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}

#endif
