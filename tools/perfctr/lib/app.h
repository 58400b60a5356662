/* SPDX-License-Identifier: MIT */
/* What all subcommands share: messages, exit status, terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <perfctr/perfctr.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull

/* Exit status of every subcommand; stat, record and perfkit return that of their workload. */
enum exit_status {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_DENIED = 3, /* this user may not see the counters */
	EXIT_NO_DEVICE = 4, /* no device offers counters */
	EXIT_DIFFERS = 5, /* diff: more than the threshold */
	/* the workload cannot be executed, or is not found */
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128,
};

/* the state that a subcommand runs with */
struct app {
	struct perfctr_ctx *ctx; /* the library */
	const char *program; /* NULL: perfctr */
	const char *name; /* name of the subcommand, for messages */
	/* streams of stream.h except in tests */
	FILE *out; /* requested results */
	FILE *err; /* messages */
	char **argv; /* arguments of the subcommand, for messages */
	const char *via; /* socket of the broker to use, or NULL */
	bool quiet; /* no messages but errors */
};

/* A subcommand: argv[0] is its name. Return: enum exit_status. */
typedef int (*app_run_fn)(struct app *app, int argc, char **argv);

/*
 * main() of a program: set up @app, run, flush.
 * @app: name may be set; @run: runs with ctx, out, err and argv set.
 * Return: exit status.
 */
int app_main(struct app *app, app_run_fn run, int argc, char **argv);

/* Print a message with the subcommand's name in front. */
void app_error(const struct app *app, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* As app_error() with a hint at --help. Return: EXIT_USAGE. */
int app_usage(const struct app *app, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Report the option that getopt_long() rejected. Return: EXIT_USAGE. */
int app_bad_option(const struct app *app);

/*
 * Print the library's reason for a failed call, and how to fix it. Return: the exit status for the
 * error.
 */
int app_failed(const struct app *app, int error);
/* Print that "perfctr check" helps. */
void app_name_check(const struct app *app);

/*
 * Flush @out. Return: 0 if everything was written, else the -errno of the first write that failed;
 * of a stream of stream.h only once.
 */
int app_flush(FILE *out);

/* "No space left on device (ENOSPC)". Return: valid until the next call. */
const char *app_reason(int error);

/* Whether this process has a capability in its effective set; number from capability(7). */
bool app_has_capability(unsigned int number);
enum { APP_CAP_SYS_PTRACE = 19, APP_CAP_SYS_ADMIN = 21, APP_CAP_PERFMON = 38 };

/* The command that lets every user of this program count. Return: @text. */
char *app_setcap(char *text, size_t size);

/* Value of a sysctl below /proc/sys or of a small file with one number. Return: 0 or -errno. */
int app_read_number(const char *path, long *value);
