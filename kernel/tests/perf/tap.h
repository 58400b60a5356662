/* SPDX-License-Identifier: MIT */
/* TAP output of the perf_event tests. */
#ifndef PERFCTR_TESTS_PERF_TAP_H
#define PERFCTR_TESTS_PERF_TAP_H

#include <stdbool.h>
#include <stdio.h>

#define TAP_TEXT_BYTES 256

static unsigned int tap_passed, tap_failed;
static char tap_text[TAP_TEXT_BYTES];

/* one result, its text is in tap_text */
static inline bool tap_report(bool passed, int length)
{
	(void)length;
	if (passed)
		tap_passed++;
	else
		tap_failed++;
	printf("%sok %u - %s\n", passed ? "" : "not ", tap_passed + tap_failed, tap_text);
	fflush(stdout);
	return passed;
}

/* one result; the text may have values for debugging */
#define tap(passed, ...) tap_report(passed, snprintf(tap_text, TAP_TEXT_BYTES, __VA_ARGS__))

/* the end; returns the exit status */
static inline int tap_done(void)
{
	printf("1..%u\n%u passed, %u failed, 0 skipped\n", tap_passed + tap_failed, tap_passed,
	       tap_failed);
	return tap_failed != 0;
}

#endif /* PERFCTR_TESTS_PERF_TAP_H */
