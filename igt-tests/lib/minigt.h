/* SPDX-License-Identifier: MIT */
/*
 * The part of IGT's API that the tests use. Debian ships libigt.so.0 without headers; an IGT tree
 * has its own igt.h instead.
 */
#ifndef MINIGT_H
#define MINIGT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct option;

enum igt_log_level {
	IGT_LOG_DEBUG,
	IGT_LOG_INFO,
	IGT_LOG_WARN,
	IGT_LOG_CRITICAL,
	IGT_LOG_NONE,
};

extern jmp_buf igt_subtest_jmpbuf;

int igt_subtest_init_parse_opts(int *argc, char **argv, const char *extra_short_opts,
				const struct option *extra_long_opts, const char *help_str,
				int (*extra_opt_handler)(int, int, void *), void *handler_data);
bool __igt_fixture(void);
void __igt_fixture_complete(void);
bool __igt_run_subtest(const char *subtest_name, const char *file, int line);
void igt_describe_f(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void igt_success(void);
_Noreturn void igt_exit(void);
_Noreturn void igt_skip(const char *f, ...) __attribute__((format(printf, 1, 2)));
void __igt_skip_check(const char *file, int line, const char *func, const char *check,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));
_Noreturn void __igt_fail_assert(const char *domain, const char *file, int line, const char *func,
				 const char *assertion, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
void igt_log(const char *domain, enum igt_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void igt_kmsg(const char *format, ...) __attribute__((format(printf, 1, 2)));
void igt_install_exit_handler(void (*handler)(int signal));
bool __igt_fork(void);
void igt_waitchildren(void);
void igt_kill_children(int signal);
int __igt_waitchildren(void);

#define minigt_cat2(x, y) x##y
#define minigt_cat(x, y) minigt_cat2(x, y)

/* as "int igt_main() { ... }" */
#define igt_main()                                                                      \
	main(int argc, char **argv);                                                    \
	static void minigt_cat(__igt_real_main, __LINE__)(void);                        \
	int main(int argc, char **argv)                                                 \
	{                                                                               \
		igt_subtest_init_parse_opts(&argc, argv, NULL, NULL, NULL, NULL, NULL); \
		minigt_cat(__igt_real_main, __LINE__)();                                \
		igt_exit();                                                             \
	}                                                                               \
	static void minigt_cat(__igt_real_main, __LINE__)(void)

#define igt_fixture()                                             \
	for (volatile int minigt_cat(once, __LINE__) = 0;         \
	     minigt_cat(once, __LINE__) < 1 && __igt_fixture() && \
	     sigsetjmp(igt_subtest_jmpbuf, 1) == 0;               \
	     minigt_cat(once, __LINE__)++, __igt_fixture_complete())

/* of the next subtest; --describe prints it */
#define igt_describe(text) igt_describe_f("%s", text)

#define igt_subtest(name)                                       \
	for (; __igt_run_subtest((name), __FILE__, __LINE__) && \
	       sigsetjmp(igt_subtest_jmpbuf, 1) == 0;           \
	     igt_success())

#define igt_fork(child, count)                        \
	for (int child = 0; child < (count); child++) \
		for (; __igt_fork(); exit(0))

/* as in later versions of IGT: kernel messages that match are expected until the subtest ends */
#define igt_emit_ignore_dmesg_regex(regex) igt_kmsg("<6>[IGT] add ignored dmesg regex: %s\n", regex)

#define igt_info(...) igt_log(NULL, IGT_LOG_INFO, __VA_ARGS__)

#define minigt_fail(text, ...) \
	__igt_fail_assert(NULL, __FILE__, __LINE__, __func__, text, __VA_ARGS__)

#define igt_assert(expr)                          \
	do {                                      \
		if (!(expr))                      \
			minigt_fail(#expr, NULL); \
	} while (0)

#define igt_assert_f(expr, ...)                          \
	do {                                             \
		if (!(expr))                             \
			minigt_fail(#expr, __VA_ARGS__); \
	} while (0)

#define minigt_compare(type, format, a, op, b)                                                   \
	do {                                                                                     \
		type minigt_a = (a), minigt_b = (b);                                             \
		if (!(minigt_a op minigt_b))                                                     \
			minigt_fail(#a " " #op " " #b, "error: " format " " #op " " format "\n", \
				    minigt_a, minigt_b);                                         \
	} while (0)

#define igt_assert_eq(a, b) minigt_compare(int, "%d", a, ==, b)
#define igt_assert_neq(a, b) minigt_compare(int, "%d", a, !=, b)
#define igt_assert_lt(a, b) minigt_compare(int, "%d", a, <, b)
#define igt_assert_lte(a, b) minigt_compare(int, "%d", a, <=, b)
#define igt_assert_eq_u32(a, b) minigt_compare(uint32_t, "%#x", a, ==, b)
#define igt_assert_eq_u64(a, b) minigt_compare(unsigned long long, "%#llx", a, ==, b)
#define igt_assert_lte_u64(a, b) minigt_compare(unsigned long long, "%#llx", a, <=, b)

#define igt_require(expr)                                                            \
	do {                                                                         \
		if (!(expr))                                                         \
			__igt_skip_check(__FILE__, __LINE__, __func__, #expr, NULL); \
	} while (0)

#define igt_require_f(expr, ...)                                                            \
	do {                                                                                \
		if (!(expr))                                                                \
			__igt_skip_check(__FILE__, __LINE__, __func__, #expr, __VA_ARGS__); \
	} while (0)

#endif
