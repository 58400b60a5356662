// SPDX-License-Identifier: MIT
#include "lib/app.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "lib/defaults.h"
#include "lib/permission.h"

static const struct subcommand subcommands[] = {
	{ "info", "devices, their blocks, clocks and limits, and what this user may do", info_run },
	{ "list", "events and metrics that can be counted", list_run },
	{ "stat", "count events while a command runs, or until Ctrl-C", stat_run },
	{ "perfkit", "more counters than the hardware has, in as many passes as it takes",
	  perfkit_run },
	{ "top", "watch counters live", top_run },
	{ "record", "record samples into a file while a command runs", record_run },
	{ "report", "what a capture holds: tables, a picture, a page to explore", report_run },
	{ "export", "a capture for other programs: Perfetto, CSV, JSON", export_run },
	{ "diff", "two captures, counter by counter", diff_run },
	{ "validate", "which counters can be trusted, and why not", validate_run },
	{ "serve", "hand counters to users who may not count themselves", serve_run },
	{ "check", "can counters be used here? If not, what helps?", check_run },
};

static void usage(FILE *to)
{
	fputs("usage: perfctr COMMAND [OPTION...]\n\n"
	      "Performance counters of GPUs and of the SoC around them.\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(to, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\n"
	      "perfctr COMMAND --help tells the options, man perfctr-COMMAND the details.\n"
	      "Begin with: perfctr check; perfctr list; perfctr stat sleep 1\n"
	      "Exit: 0 fine, 1 error, 2 usage, 3 not permitted, 4 no device;\n"
	      "stat and record pass the status of their command through.\n",
	      to);
}

void app_error(const struct app *app, const char *format, ...)
{
	va_list args;

	fprintf(app->err, "perfctr%s%s: ", app->name ? " " : "", app->name ? app->name : "");
	va_start(args, format);
	vfprintf(app->err, format, args);
	va_end(args);
	fputc('\n', app->err);
}

int app_usage(const struct app *app, const char *format, ...)
{
	va_list args;

	fprintf(app->err, "perfctr%s%s: ", app->name ? " " : "", app->name ? app->name : "");
	va_start(args, format);
	vfprintf(app->err, format, args);
	va_end(args);
	fprintf(app->err, "; see perfctr %s%s--help\n", app->name ? app->name : "",
		app->name ? " " : "");
	return EXIT_USAGE;
}

int app_bad_option(const struct app *app)
{
	/* one of several letters in a word, or a long option */
	if (optopt > ' ' && optopt < 0x7f)
		return app_usage(app, "unknown or incomplete option -%c", optopt);
	return app_usage(app, "unknown or incomplete option %s", app->argv[optind - 1]);
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
		/* what was asked for, not what happened to it */
		return EXIT_USAGE;
	case -EBUSY:
		fputs("perfctr info tells which processes have sessions; root sees all of them\n",
		      app->err);
		return EXIT_FAILED;
	case -ENODEV:
	case -ENOTTY:
		fputs("perfctr check tells what is missing and the command that fixes it\n",
		      app->err);
		return EXIT_NO_DEVICE;
	default:
		return EXIT_FAILED;
	}
}

static int open_at(const struct app *app, const char *which, struct perfctr_device **device)
{
	if (app->via)
		return perfctr_device_open_broker(app->ctx, app->via, which, device);
	return perfctr_device_open(app->ctx, which, device);
}

/* Whether this user lacks a right, not whether there is a device. */
static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* Return: 0 and another *device; else what the broker answered is in the context. */
static int try_broker(const struct app *app, const char *which, struct perfctr_device **device)
{
	struct perfctr_device *other;
	int error = perfctr_device_open_broker(app->ctx, NULL, which, &other);

	if (error)
		return error;
	perfctr_device_unref(*device);
	*device = other;
	fprintf(app->err,
		"perfctr %s: this user may not count by himself; through the broker at %s\n",
		app->name, PERFCTR_BROKER_SOCKET);
	return 0;
}

static int open_device(const struct app *app, const char *which, bool counts,
		       struct perfctr_device **device)
{
	char reason[512];
	int error, denied;

	*device = NULL;
	error = open_at(app, which, device);
	denied = is_denied(error) ? error : 0;
	if (!error && counts && !app->via && !app_has_capability(APP_CAP_PERFMON) &&
	    !access(PERFCTR_BROKER_SOCKET, F_OK)) {
		denied = permission_to_count(*device);
		denied = is_denied(denied) ? denied : 0;
	}
	if (!denied || app->via)
		return error ? app_failed(app, error) : 0;
	/* without a broker the direct way's own message is the best one */
	if (access(PERFCTR_BROKER_SOCKET, F_OK))
		return app_failed(app, denied);
	snprintf(reason, sizeof(reason), "%s", perfctr_ctx_error(app->ctx));
	error = try_broker(app, which, device);
	if (!error)
		return 0;
	app_error(app, "%s", reason);
	app_error(app, "nor through the broker at %s: %s", PERFCTR_BROKER_SOCKET,
		  perfctr_ctx_error(app->ctx));
	perfctr_device_unref(*device);
	*device = NULL;
	return EXIT_DENIED;
}

int app_open_device(const struct app *app, const char *which, struct perfctr_device **device)
{
	return open_device(app, which, true, device);
}

int app_open_to_look(const struct app *app, const char *which, struct perfctr_device **device)
{
	return open_device(app, which, false, device);
}

int app_select(const struct app *app, struct perfctr_selection *selection,
	       const char *const *events, size_t count)
{
	if (!count) {
		struct left_out left_out;
		char why[128];
		int error = defaults_add(app, selection, &left_out);

		if (error < 0)
			return app_failed(app, error);
		if (*left_out.blocks) {
			defaults_why(&left_out, why, sizeof(why));
			app_error(app, "without %s: %s", left_out.blocks, why);
		}
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		int added = perfctr_selection_add(selection, events[i]);

		if (added == -ENOENT || added == -EINVAL || added == -EEXIST) {
			app_failed(app, added);
			return EXIT_USAGE;
		}
		if (added < 0)
			return app_failed(app, added);
	}
	return 0;
}

int app_columns(FILE *out, int otherwise)
{
	struct winsize size;

	if (!ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return otherwise;
}

int app_flush(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	/* an earlier write failed, its reason is gone */
	return errno ? -errno : -EIO;
}

bool app_has_capability(unsigned int number)
{
	unsigned long long mask = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "CapEff: %llx", &mask) == 1)
			break;
	if (status)
		fclose(status);
	return mask >> number & 1;
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

int app_run(struct app *app, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--version")) {
		fputs("perfctr " PERFCTR_VERSION "\n", app->out);
		return EXIT_FINE;
	}
	if (!strcmp(name, "help") && argc > 2) {
		char *help_of[] = { argv[0], argv[2], "--help", NULL };

		return app_run(app, 3, help_of);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		usage(app->out);
		return EXIT_FINE;
	}
	/* the message is ours */
	opterr = 0;
	app->argv = argv + 1;
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(subcommands[i].name, name))
			continue;
		app->name = name;
		return subcommands[i].run(app, argc - 1, argv + 1);
	}
	if (*name)
		app_error(app, "there is no command '%s'", name);
	usage(app->err);
	return EXIT_USAGE;
}
