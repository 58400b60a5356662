// SPDX-License-Identifier: MIT
/* main() of every program: streams, signals, locale; messages and what errors mean. */
#include "app.h"
#include "stream.h"

#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *app_reason(int error)
{
	static char text[128];
	const char *name = strerrorname_np(error);

	snprintf(text, sizeof(text), "%s%s%s%s", strerror(error), name ? " (" : "",
		 name ? name : "", name ? ")" : "");
	return text;
}

/* Errors are the callers' to print. */
static void print_warning(void *data, int level, const char *text)
{
	if (level == PERFCTR_LOG_WARNING)
		app_error(data, "%s", text);
}

int app_main(struct app *app, app_run_fn run, int argc, char **argv)
{
	int status, error;

	stream_keep_standard();
	*app = (struct app){ .name = app->name,
			     .out = stream_new(STDOUT_FILENO, false),
			     .err = stream_new(STDERR_FILENO, false),
			     .argv = argv };
	if (!app->out || !app->err)
		return EXIT_FAILED;
	/* "perfctr list | head" ends quietly, even if the caller ignores SIGPIPE */
	signal(SIGPIPE, SIG_DFL);
	/* a limit of a file's size is an error of write(); child_prepare() restores the default */
	signal(SIGXFSZ, SIG_IGN);
	/* only LC_CTYPE, so that numbers keep the decimal point */
	setlocale(LC_CTYPE, "");
	/* getopt_long() leaves the message to app_bad_option() */
	opterr = 0;
	error = perfctr_ctx_new(&app->ctx);
	if (error) {
		app_error(app, "%s", strerror(-error));
		return EXIT_FAILED;
	}
	/* PERFCTR_LOG in the environment has the library print them itself */
	if (!getenv("PERFCTR_LOG")) {
		perfctr_ctx_set_log(app->ctx, print_warning, app);
		perfctr_ctx_set_log_level(app->ctx, PERFCTR_LOG_WARNING);
	}
	status = run(app, argc, argv);
	perfctr_ctx_unref(app->ctx);
	/* 0 if the subcommand has reported it */
	error = app_flush(app->out);
	if (error) {
		app_error(app, "standard output: %s", app_reason(-error));
		status = EXIT_FAILED;
	}
	fclose(app->out);
	fclose(app->err);
	return status;
}

static void print_name(const struct app *app)
{
	fprintf(app->err, "%s%s%s", app->program ? app->program : "perfctr", app->name ? " " : "",
		app->name ? app->name : "");
}

static void print_message(const struct app *app, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		return;
	/* a line feed of an argument or a file's name: a message is one line */
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	print_name(app);
	fprintf(app->err, ": %s", text);
	free(text);
}

void app_error(const struct app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(app, format, args);
	va_end(args);
	fputc('\n', app->err);
}

int app_usage(const struct app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(app, format, args);
	va_end(args);
	fputs("; see ", app->err);
	print_name(app);
	fputs(" --help\n", app->err);
	return EXIT_USAGE;
}

int app_bad_option(const struct app *app)
{
	/* one of several letters in a word, or a long option */
	if (optopt > ' ' && optopt < 0x7f)
		return app_usage(app, "unknown or incomplete option -%c", optopt);
	return app_usage(app, "unknown or incomplete option %s", app->argv[optind - 1]);
}

void app_name_check(const struct app *app)
{
	fputs("perfctr check shows what is missing and the command that fixes it\n", app->err);
}

int app_failed(const struct app *app, int error)
{
	const char *reason = perfctr_ctx_error(app->ctx);

	app_error(app, "%s", *reason ? reason : strerror(-error));
	switch (error) {
	case -EACCES:
	case -EPERM:
		return EXIT_DENIED;
	case -EINVAL:
	case -ERANGE:
	case -E2BIG:
		/* the request was invalid */
		return EXIT_USAGE;
	case -EBUSY:
		fputs("perfctr info lists the processes that have sessions; "
		      "root sees all of them\n",
		      app->err);
		return EXIT_FAILED;
	case -ENODEV:
	case -ENOTTY:
		app_name_check(app);
		return EXIT_NO_DEVICE;
	default:
		return EXIT_FAILED;
	}
}

int app_flush(FILE *out)
{
	return stream_flush(out);
}

bool app_has_capability(unsigned int number)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets))
		return false;
	return sets[number / 32].effective >> number % 32 & 1;
}

char *app_setcap(char *text, size_t size)
{
	char path[256];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	snprintf(text, size, "sudo setcap cap_perfmon+ep %.*s (for every user who may execute it)",
		 length > 0 ? (int)length : 7, length > 0 ? path : "perfctr");
	return text;
}

int app_read_number(const char *path, long *value)
{
	char text[64], *end;
	FILE *file = fopen(path, "re");
	int ret = -EINVAL;

	if (!file)
		return -errno;
	if (fgets(text, sizeof(text), file)) {
		*value = strtol(text, &end, 0);
		if (end != text)
			ret = 0;
	}
	fclose(file);
	return ret;
}
