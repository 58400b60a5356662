/* SPDX-License-Identifier: MIT */
/* Checks of the tools' native tests: prints file and text of each failure, and counts them. */
#pragma once

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

/* the exit status of the program */
static inline int check_summary(void)
{
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
