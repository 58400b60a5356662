/* SPDX-License-Identifier: MIT */
/*
 * A test program: functions, each of which checks one behaviour. Prints TAP; exit status 0 if all
 * passed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*begin)(void), (*run)(void), (*end)(void);
	struct test *next;
};

void test_add(struct test *test);
/* Say why a test cannot run here; called by its "begin", it does not run. */
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Skip it if the kernel has no perf events, or does not count for this user. */
void test_need_perf(void);

/* TEST("the condition gives the result") { ... }: tests run in the order of their file */
#define TEST(name) TEST_WITH(NULL, NULL, name)
/* as TEST(), between calls of two functions */
#define TEST_WITH(begin, end, name) TEST_AT(begin, end, name, __LINE__)
#define TEST_AT(begin, end, name, line) TEST_OF(begin, end, name, line)
#define TEST_OF(begin, end, name, line)                                            \
	static void test_##line(void);                                             \
	static void __attribute__((constructor)) add_##line(void)                  \
	{                                                                          \
		static struct test test = { name, begin, test_##line, end, NULL }; \
                                                                                   \
		test_add(&test);                                                   \
	}                                                                          \
	static void test_##line(void)

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
