// SPDX-License-Identifier: MIT
/* perfctr mark: annotate the capture that is being recorded, from a shell. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>

#include "commands.h"
#include "lib/command.h"
#include "lib/json.h"
#include "lib/option.h"

static const char help[] =
	"usage: perfctr mark [OPTION] NAME\n"
	"       perfctr mark NAME -- COMMAND [ARGUMENT...]\n"
	"\n"
	"Marks the current time, or the time that COMMAND takes, in the capture of the perfctr\n"
	"record that started this shell or program. Without one it does nothing, so scripts can\n"
	"keep their marks.\n"
	"\n"
	"  -f, --frame  a frame called NAME ends, the next one begins\n"
	"  -b, --begin  a phase called NAME begins\n"
	"  -e, --end    the phase called NAME that began last ends; of frames: none begins with\n"
	"               the last mark\n"
	"  -j, --json   whether there was a recorder, as JSON; not with COMMAND\n"
	"\n"
	"Without an option NAME is a point. perfctr report shows marks, perfctr diff --by-mark\n"
	"compares what was counted in phases and frames. Programs call perfctr_mark(). Phases of\n"
	"a name that run in parallel need -- COMMAND: ends of others may take the wrong one.\n"
	"\n"
	"Exit: COMMAND's own status, else 0 fine; 1 error, 2 usage, 126 and 127 it cannot run.\n";

/* @recorder: set to whether there is one. */
static int put(const struct app *app, enum perfctr_mark_kind kind, const char *name, bool *recorder)
{
	const int error = perfctr_mark(kind, name);

	*recorder = error == 1 || error == -EAGAIN;

	if (error == -ENAMETOOLONG || error == -EINVAL)
		return app_usage(app, "NAME has 1 to %d bytes", PERFCTR_MARK_NAME_MAX);
	if (error >= 0)
		return 0;
	app_error(app, "the mark %s is lost: %s", name,
		  error == -EAGAIN ? "perfctr record does not keep up" : strerror(-error));
	/* a script of another user goes on */
	return error == -EACCES ? 0 : EXIT_FAILED;
}

static volatile sig_atomic_t running; /* process of the command */

static void forward(int number)
{
	kill((pid_t)running, number);
}

static int run_command(const struct app *app, const char *name, char **argv)
{
	bool recorder;
	struct command command = { .argv = argv, .watched_fd = -1 };
	int status = command_prepare(app, &command, -1);

	if (status)
		return status;
	status = put(app, PERFCTR_MARK_BEGIN, name, &recorder);
	if (status == EXIT_USAGE) {
		command_abandon(&command);
		return status;
	}
	/* the command runs also if its mark was lost */
	status = command_go(app, &command);
	if (!status) {
		/* a terminal signals the command too */
		running = command.child.pid;
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		signal(SIGTERM, forward);
		child_wait(&command.child);
		status = command_status(&command, 0);
	}
	put(app, PERFCTR_MARK_END, name, &recorder);
	return status;
}

static int print_json(const struct app *app, const char *name, bool recorder, int status)
{
	struct json_object *root = json_object_new_object();

	json_add_u64(root, "version", 1);
	json_add_text(root, "name", name);
	json_add_bool(root, "recorder", recorder);
	json_add(root, "exit_status", json_object_new_int(status));
	json_write(app->out, root, true);
	return status;
}

int mark_run(struct app *app, int argc, char **argv)
{
	/* by enum perfctr_mark_kind; a point has no option */
	bool kinds[PERFCTR_MARK_END + 1] = { 0 }, json = false, recorder;
	const struct option_spec options[] = {
		OPTION('f', "frame", FLAG, &kinds[PERFCTR_MARK_FRAME]),
		OPTION('b', "begin", FLAG, &kinds[PERFCTR_MARK_BEGIN]),
		OPTION('e', "end", FLAG, &kinds[PERFCTR_MARK_END]),
		OPTION('j', "json", FLAG, &json),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_COMMAND), count = 0;
	enum perfctr_mark_kind kind = PERFCTR_MARK_POINT;
	char **words = argv + optind;

	if (status)
		return status < 0 ? EXIT_FINE : status;
	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++) {
		kind = kinds[n] ? (enum perfctr_mark_kind)n : kind;
		count += kinds[n];
	}
	if (optind == argc || count > 1)
		return app_usage(app, "give one NAME, and at most one option");
	if (optind + 1 == argc) {
		status = put(app, kind, *words, &recorder);
		return json ? print_json(app, *words, recorder, status) : status;
	}
	if (strcmp(words[1], "--") || !words[2] || count || json)
		return app_usage(app, "after NAME: -- COMMAND, without an option");
	return run_command(app, *words, words + 2);
}
