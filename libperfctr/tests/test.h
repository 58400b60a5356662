/* SPDX-License-Identifier: MIT */
/*
 * A test program: a list of functions, each of which checks one behaviour of the
 * library. Prints TAP; exit status 0 if all passed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*run)(void);
};

int test_main(const struct test *tests, size_t count);

void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool test_check(bool good, const char *file, int line, const char *text);
bool test_equal(long long a, long long b, const char *file, int line, const char *text);
bool test_equal_text(const char *a, const char *b, const char *file, int line, const char *text);
bool test_has_text(const char *all, const char *part, const char *file, int line);

/* All continue after a failure and return whether they held. */
#define CHECK(condition) test_check((condition), __FILE__, __LINE__, #condition)
#define EQUAL(a, b) test_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)
#define EQUAL_TEXT(a, b) test_equal_text((a), (b), __FILE__, __LINE__, #a " == " #b)
#define HAS_TEXT(all, part) test_has_text((all), (part), __FILE__, __LINE__)

#define TEST_MAIN(tests)                                                     \
	int main(void)                                                       \
	{                                                                    \
		return test_main(tests, sizeof(tests) / sizeof((tests)[0])); \
	}
