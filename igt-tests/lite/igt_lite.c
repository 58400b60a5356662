// SPDX-License-Identifier: MIT
/*
 * The functions of libigt that the tests call, for arm64, where Debian has no libigt. Prints only
 * what the runner reads.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"

enum { STATUS_SKIP = 77, STATUS_FAILURE = 98, MAX_CHILDREN = 64 };

jmp_buf igt_subtest_jmpbuf;

static bool list_only, describe, in_fixture, in_child;
/* of the next subtest */
static char description[512];
/* names between commas; NULL: all of them */
static const char *wanted;
static const char *current;
/* set by a fixture that was skipped or failed: the result of later subtests */
static const char *skip_later;
static struct timespec started;
static unsigned int passed, failed, skipped;
static pid_t children[MAX_CHILDREN];
static unsigned int child_count;
/* only at exit(), not by a signal */
static void (*exit_handler)(int signal);

int igt_subtest_init_parse_opts(int *argc, char **argv, const char *extra_short_opts,
				const struct option *extra_long_opts, const char *help_str,
				int (*extra_opt_handler)(int, int, void *), void *handler_data)
{
	for (int i = 1; i < *argc; i++) {
		if (!strcmp(argv[i], "--list-subtests")) {
			list_only = true;
		} else if (!strcmp(argv[i], "--describe")) {
			list_only = true;
			describe = true;
		} else if (!strcmp(argv[i], "--run-subtest") && i + 1 < *argc) {
			wanted = argv[++i];
		} else {
			fprintf(stderr,
				"%s: unknown option %s: --list-subtests, --describe, "
				"--run-subtest NAMES\n",
				argv[0], argv[i]);
			exit(2);
		}
	}
	/* the runner measures the time between lines */
	setvbuf(stdout, NULL, _IOLBF, 0);
	return 0;
}

static bool is_wanted(const char *name)
{
	size_t length = strlen(name);

	if (!wanted)
		return true;
	for (const char *at = wanted; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

static void end_subtest(const char *verdict)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("Subtest %s: %s (%.3fs)\n", current, verdict,
	       now.tv_sec - started.tv_sec + (now.tv_nsec - started.tv_nsec) / 1e9);
	current = NULL;
}

bool __igt_fixture(void)
{
	in_fixture = !list_only && !skip_later;
	return in_fixture;
}

void __igt_fixture_complete(void)
{
	in_fixture = false;
}

void igt_kmsg(const char *format, ...)
{
	FILE *log = fopen("/dev/kmsg", "we");
	va_list arguments;

	if (!log)
		return;
	va_start(arguments, format);
	vfprintf(log, format, arguments);
	va_end(arguments);
	fclose(log);
}

void igt_describe_f(const char *fmt, ...)
{
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(description, sizeof(description), fmt, arguments);
	va_end(arguments);
}

bool __igt_run_subtest(const char *subtest_name, const char *file, int line)
{
	if (describe) {
		printf("SUB %s %s:%d:\n  %s\n\n", subtest_name, file, line, description);
		description[0] = '\0';
		return false;
	}
	if (list_only) {
		puts(subtest_name);
		return false;
	}
	if (!is_wanted(subtest_name))
		return false;
	printf("Starting subtest: %s\n", subtest_name);
	igt_kmsg("<6>[IGT] %s: starting subtest %s\n", program_invocation_short_name, subtest_name);
	current = subtest_name;
	clock_gettime(CLOCK_MONOTONIC, &started);
	if (!skip_later)
		return true;
	end_subtest(skip_later);
	skipped++;
	return false;
}

void igt_success(void)
{
	end_subtest("SUCCESS");
	passed++;
	/* leave the loop of igt_subtest() as a failing subtest does */
	siglongjmp(igt_subtest_jmpbuf, 1);
}

static void call_exit_handler(void)
{
	if (exit_handler)
		exit_handler(0);
}

void igt_install_exit_handler(void (*handler)(int signal))
{
	if (!exit_handler)
		atexit(call_exit_handler);
	exit_handler = handler;
}

void igt_exit(void)
{
	exit(list_only ? 0 : failed ? STATUS_FAILURE : passed || !skipped ? 0 : STATUS_SKIP);
}

/* Leave the subtest or fixture. */
static _Noreturn void leave(const char *verdict)
{
	if (in_child)
		_exit(STATUS_FAILURE);
	if (in_fixture) {
		skip_later = "SKIP";
		in_fixture = false;
		siglongjmp(igt_subtest_jmpbuf, 1);
	}
	if (!current)
		exit(STATUS_FAILURE);
	end_subtest(verdict);
	siglongjmp(igt_subtest_jmpbuf, 1);
}

static void print(const char *format, va_list arguments)
{
	if (format)
		vprintf(format, arguments);
}

void igt_skip(const char *f, ...)
{
	va_list arguments;

	va_start(arguments, f);
	print(f, arguments);
	va_end(arguments);
	skipped++;
	leave("SKIP");
}

void __igt_skip_check(const char *file, int line, const char *func, const char *check,
		      const char *format, ...)
{
	va_list arguments;

	printf("Test requirement not met in function %s, file %s:%d: %s\n", func, file, line,
	       check);
	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
	skipped++;
	leave("SKIP");
}

void __igt_fail_assert(const char *domain, const char *file, int line, const char *func,
		       const char *assertion, const char *format, ...)
{
	int error = errno;
	va_list arguments;

	printf("Test assertion failure function %s, file %s:%d: %s\n", func, file, line, assertion);
	if (error)
		printf("Last errno: %d, %s\n", error, strerror(error));
	va_start(arguments, format);
	print(format, arguments);
	va_end(arguments);
	/* a failing fixture must not look like a missing device */
	if (in_fixture && !in_child)
		exit(STATUS_FAILURE);
	failed++;
	leave("FAIL");
}

void igt_log(const char *domain, enum igt_log_level level, const char *format, ...)
{
	va_list arguments;

	if (level == IGT_LOG_DEBUG)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
}

bool __igt_fork(void)
{
	pid_t pid;

	fflush(NULL);
	pid = child_count < MAX_CHILDREN ? fork() : -1;
	if (pid < 0)
		__igt_fail_assert(NULL, __FILE__, __LINE__, __func__, "fork", NULL);
	if (pid) {
		children[child_count++] = pid;
		return false;
	}
	in_child = true;
	child_count = 0;
	exit_handler = NULL;
	return true;
}

void igt_kill_children(int signal)
{
	for (unsigned int i = 0; i < child_count; i++)
		kill(children[i], signal);
}

/* the first status that is not 0, as a shell's */
int __igt_waitchildren(void)
{
	int result = 0;

	while (child_count) {
		int status;

		if (waitpid(children[--child_count], &status, 0) < 0)
			status = STATUS_FAILURE << 8;
		if (!result)
			result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return result;
}

void igt_waitchildren(void)
{
	if (__igt_waitchildren())
		__igt_fail_assert(NULL, __FILE__, __LINE__, __func__, "children succeed", NULL);
}
