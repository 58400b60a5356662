// SPDX-License-Identifier: MIT
/* perfctr: the table of its subcommands. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/command.h"
#include "../../libperfctr/src/base/near.h"

enum { PATH_BYTES = 4096, MOST_OF_A_NAME = 64 };

/*
 * A subcommand that is a program of its own, perfctr-NAME: next to this one in a checkout, in
 * libexec/perfctr if installed.
 * @path: set to where it is, or to the last place that was tried.
 * Return: whether it is there.
 */
static bool find_program(const char *name, char path[PATH_BYTES])
{
	static const char *const places[] = { "", "../libexec/perfctr/" };
	ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - MOST_OF_A_NAME);
	char *end;

	path[length > 0 ? length : 0] = '\0';
	end = strrchr(path, '/');
	for (size_t i = 0; end && i < ARRAY_SIZE(places); i++) {
		snprintf(end + 1, MOST_OF_A_NAME, "%sperfctr-%s", places[i], name);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

static int program_exec(struct app *app, int argc, char **argv)
{
	char path[PATH_BYTES];

	if (find_program(*argv, path)) {
		child_restore_files();
		execv(path, argv);
	}
	app_error(app, "cannot run %s: %s; install perfctr again", path, strerror(errno));
	return EXIT_FAILED;
}

/* Without it, a page of the user with a mistake would only seem to be ignored. */
static void warn_of_pages(const struct app *app)
{
	const char *problems = perfctr_page_problems();

	if (problems)
		fprintf(app->err,
			"perfctr: warning: pages of counters are left out, in part or as "
			"a whole:\n%s\n",
			problems);
}

/* "list --check" reports the mistakes itself. */
static bool checks_pages(char *const *argv)
{
	if (strcmp(*argv, "list"))
		return false;
	while (*argv && strcmp(*argv, "--check"))
		argv++;
	return *argv;
}

struct subcommand {
	const char *name;
	const char *summary;
	app_run_fn run;
};

static const struct subcommand subcommands[] = {
	{ .name = "info",
	  .summary = "devices, their blocks, clocks and limits, and what this user may do",
	  .run = info_run },
	{ .name = "list", .summary = "events and metrics that can be counted", .run = list_run },
	{ .name = "stat",
	  .summary = "count events while a command runs, or until Ctrl-C",
	  .run = stat_run },
	{ .name = "perfkit",
	  .summary = "more counters than the hardware has, in as many passes as it takes",
	  .run = perfkit_run },
	{ .name = "top", .summary = "watch counters live", .run = top_run },
	{ .name = "record",
	  .summary = "record samples into a file while a command runs",
	  .run = record_run },
	{ .name = "mark",
	  .summary = "name points, phases and frames in the capture being recorded",
	  .run = mark_run },
	{ .name = "report",
	  .summary = "what a capture holds: tables, a picture, a page to explore",
	  .run = report_run },
	{ .name = "export",
	  .summary = "a capture for other programs: Perfetto, CSV, JSON",
	  .run = export_run },
	{ .name = "diff",
	  .summary = "two captures, or groups of them, counter by counter",
	  .run = diff_run },
	{ .name = "validate",
	  .summary = "which counters can be trusted, and why not",
	  .run = program_exec },
	{ .name = "interference",
	  .summary = "how much others slow a task down, and where",
	  .run = program_exec },
	{
		.name = "guard",
		.summary = "keep tasks to budgets of what they count",
		.run = guard_run,
	},
	{ .name = "exporter",
	  .summary = "counters for Prometheus, over HTTP or in a file",
	  .run = program_exec },
	{ .name = "serve",
	  .summary = "give unprivileged users counters, within a policy",
	  .run = serve_run },
	{ .name = "check",
	  .summary = "can counters be used here? If not, what helps?",
	  .run = check_run },
};

static void usage(FILE *to)
{
	fputs("usage: perfctr COMMAND [OPTION...]\n\n"
	      "Performance counters of GPUs and of the SoC around them.\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(to, "  %-12s  %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\n"
	      "perfctr COMMAND --help lists the options, man perfctr-COMMAND has the details.\n"
	      "Begin with: perfctr check; perfctr list; perfctr stat sleep 1\n"
	      "Exit: 0 fine, 1 error, 2 usage, 3 not permitted, 4 no device;\n"
	      "stat and record pass the status of their command through.\n",
	      to);
}

static void fail_unknown(const struct app *app, const char *name)
{
	unsigned int distance = near_distance_limit(name);
	const char *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (near_is_nearer(name, subcommands[i].name, &distance))
			best = subcommands[i].name;
	app_error(app, "there is no command '%s'%s%s%s; perfctr help lists them", name,
		  best ? ": did you mean " : "", best ? best : "", best ? "?" : "");
}

static int run_command(struct app *app, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--version")) {
		fputs("perfctr " PERFCTR_VERSION "\n", app->out);
		return EXIT_FINE;
	}
	if (!strcmp(name, "help") && argc > 2) {
		char *help_of[] = { argv[0], argv[2], "--help", NULL };

		return run_command(app, 3, help_of);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		usage(app->out);
		return EXIT_FINE;
	}
	app->argv = argv + 1;
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(subcommands[i].name, name))
			continue;
		app->name = name;
		/* a script may mark often */
		if (!checks_pages(app->argv) && strcmp(name, "mark"))
			warn_of_pages(app);
		return subcommands[i].run(app, argc - 1, argv + 1);
	}
	if (*name)
		fail_unknown(app, name);
	else
		usage(app->err);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct app app = { 0 };

	/* an event takes a file on each CPU */
	child_raise_files();
	return app_main(&app, run_command, argc, argv);
}
