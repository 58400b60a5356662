/* SPDX-License-Identifier: MIT */
/*
 * TAP output of the perf_event tests.
 */
#ifndef PERFCTR_TESTS_PERF_TAP_H
#define PERFCTR_TESTS_PERF_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_passed, tap_failed;

/* one result; the text may carry values, they help when it fails */
__attribute__((format(printf, 2, 3))) static inline bool tap(bool passed, const char *format, ...)
{
	va_list args;

	if (passed)
		tap_passed++;
	else
		tap_failed++;
	printf("%sok %u - ", passed ? "" : "not ", tap_passed + tap_failed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return passed;
}

/* the end; returns the exit status */
static inline int tap_done(void)
{
	printf("1..%u\n%u passed, %u failed, 0 skipped\n", tap_passed + tap_failed, tap_passed,
	       tap_failed);
	return tap_failed != 0;
}

#endif /* PERFCTR_TESTS_PERF_TAP_H */
