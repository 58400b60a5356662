// SPDX-License-Identifier: MIT
#include "test.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned int failures, count;
static char skipped[256]; /* why the test is */
static struct test *tests, **end_of_tests = &tests;

void test_add(struct test *test)
{
	*end_of_tests = test;
	end_of_tests = &test->next;
	count++;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	failures++;
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void test_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(skipped, sizeof(skipped), format, args);
	va_end(args);
}

void test_need_perf(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	const long fd = syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1, 0);

	if (fd >= 0)
		close((int)fd);
	else if (errno == ENOSYS || errno == EACCES || errno == EPERM)
		test_skip("perf_event_open() of a CPU's page faults: %s", strerror(errno));
}

bool test_check(bool good, const char *file, int line, const char *text)
{
	if (!good)
		test_fail(file, line, "%s", text);
	return good;
}

bool test_equal(long long a, long long b, const char *file, int line, const char *text)
{
	if (a != b)
		test_fail(file, line, "%s: %lld (0x%llx) and %lld (0x%llx)", text, a,
			  (unsigned long long)a, b, (unsigned long long)b);
	return a == b;
}

bool test_equal_text(const char *a, const char *b, const char *file, int line, const char *text)
{
	bool equal = a && b && !strcmp(a, b);

	if (!equal)
		test_fail(file, line, "%s: \"%s\" and \"%s\"", text, a ? a : "(null)",
			  b ? b : "(null)");
	return equal;
}

bool test_has_text(const char *all, const char *part, const char *file, int line)
{
	bool found = all && strstr(all, part);

	if (!found)
		test_fail(file, line, "\"%s\" does not contain \"%s\"", all ? all : "(null)", part);
	return found;
}

int main(void)
{
	unsigned int failed = 0, number = 0;

	printf("1..%u\n", count);
	for (const struct test *test = tests; test; test = test->next) {
		failures = 0;
		*skipped = '\0';
		if (test->begin)
			test->begin();
		if (!*skipped)
			test->run();
		if (test->end)
			test->end();
		failed += failures > 0;
		printf("%s %u - %s%s%s\n", failures ? "not ok" : "ok", ++number, test->name,
		       *skipped ? " # SKIP " : "", skipped);
		fflush(stdout);
	}
	return failed > 0;
}
