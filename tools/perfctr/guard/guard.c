// SPDX-License-Identifier: MIT
/* perfctr guard: keeps tasks to their budgets. The supervisor; guard.h has the two processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "guard.h"
#include "lib/stream.h"

static const char help[] =
	"usage: perfctr guard [OPTION...] -b 'KEY=VALUE...' [-- COMMAND [ARGUMENT...]]\n"
	"\n"
	"Keeps tasks to budgets: a task that counted more than the limit in a window of time is\n"
	"held until the window allows it again.\n"
	"\n"
	"  -b, --budget TEXT   a budget, words KEY=VALUE:\n"
	"                        event=EVENT      as for perfctr stat; counts of a DRM device are\n"
	"                                         everybody's, those of local the target's\n"
	"                        limit=LIMIT      20M (in a window), 2G/s, 30% (of cycles, time)\n"
	"                        window=TIME      100ms; period=TIME between samples: a\n"
	"                                         hundredth, but 1ms (a tenth of a short one)\n"
	"                        cgroup=PATH | pid=NUMBER | context=NUMBER|all\n"
	"                                         the target; the command if there is none\n"
	"                        action=freeze|cpu.max:PERCENT%|hold|report\n"
	"                        on_loss=freeze|release   if counts are lost (freeze)\n"
	"                        device=DEVICE    node, driver or local (first)\n"
	"                        allow_explained=yes, allow_untrusted=yes\n"
	"  -c, --config FILE   budgets in sections [budget NAME], KEY = VALUE\n"
	"  -g, --cgroup PATH   run the command in that cgroup, made if it does not exist\n"
	"      --in-stream     no period: the command's jobs sample, as with perfctr record\n"
	"      --allow-explained  also counters of which perfctr validate found that they count\n"
	"                      something else than documented, which the guard then says\n"
	"      --allow-untrusted  all counters\n"
	"      --stay          go on after the command ended, until no process of it or of a\n"
	"                      budget's cgroup is left, or a signal comes; then release\n"
	"  -o, --output FILE   append the log to FILE, as JSON lines\n"
	"  -j, --json          the same to stdout\n"
	"  -v, --verbose       log each sample\n"
	"  -q, --quiet         no lines about violations on stderr\n"
	"\n"
	"Exit: the command's own, 0 ended by a signal, 1 error, a hold failed, or samples did\n"
	"not come, 2 usage, 3 not permitted, 4 no device.\n";

static int parse_options(struct guard *g, int argc, char **argv)
{
	const struct option_spec options[] = {
		OPTION('b', "budget", CALL, g, .call = policy_take),
		OPTION('c', "config", CALL, g, .call = policy_read),
		OPTION('g', "cgroup", TEXT, &g->cgroup),
		OPTION(0, "in-stream", FLAG, &g->in_stream),
		OPTION(0, "allow-explained", FLAG, &g->allow_explained),
		OPTION(0, "allow-untrusted", FLAG, &g->allow_untrusted),
		OPTION(0, "stay", FLAG, &g->stay),
		OPTION('o', "output", TEXT, &g->output),
		OPTION('j', "json", FLAG, &g->json),
		OPTION('v', "verbose", FLAG, &g->verbose),
		OPTION('q', "quiet", FLAG, &g->quiet),
		OPTIONS_END,
	};
	int status = option_parse(g->app, argc, argv, help, options, THEN_COMMAND);

	if (status)
		return status;
	if (argv[optind])
		g->command.argv = argv + optind;
	if ((g->in_stream || g->cgroup || g->stay) && !g->command.argv)
		return app_usage(g->app, "%s needs a command",
				 g->cgroup    ? "-g" :
				 g->in_stream ? "--in-stream" :
						"--stay");
	if (g->json && g->output)
		return app_usage(g->app, "-j logs to stdout, -o to a file: give one of them");
	return 0;
}

static int open_log(struct guard *g)
{
	int fd;

	g->log = g->json ? g->app->out : NULL;
	if (!g->output)
		return 0;
	fd = open(g->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	g->log = fd < 0 ? NULL : stream_new(fd, true);
	if (g->log)
		return 0;
	app_error(g->app, "%s: %s", g->output, app_reason(errno));
	return EXIT_FAILED;
}

/* --- the command's cgroup ------------------------------------------------------------ */

static int make_cgroup(struct guard *g, struct cgroup *c)
{
	char error[512];
	int result;

	if (!g->cgroup)
		return 0;
	if (!cgroup_is_path(g->cgroup))
		return app_usage(g->app, "-g %s: give a path below a mount of cgroups", g->cgroup);
	result = cgroup_find(g->cgroup, true, c, error, sizeof(error));
	if (!result)
		return 0;
	app_error(g->app, "cgroup %s", error);
	return result == -EACCES || result == -EPERM ? EXIT_DENIED : EXIT_FAILED;
}

static int join_cgroup(struct guard *g, const struct cgroup *c)
{
	const char *const folders[] = { c->hold, c->count };

	for (size_t n = 0; n < ARRAY_SIZE(folders); n++) {
		int error = folders[n] ? cgroup_join(folders[n], g->command.child.pid) : 0;

		if (!error)
			continue;
		app_error(g->app, "%s/cgroup.procs: %s", folders[n], strerror(-error));
		return EXIT_FAILED;
	}
	return 0;
}

/* --- the watcher's life -------------------------------------------------------------- */

struct watcher {
	pid_t pid;
	int socket;
	int status; /* of waitpid() */
	bool ready, ended;
	uint64_t beat_ns;
};

static int start_watcher(struct guard *g, struct watcher *w, const struct signals *signals)
{
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		app_error(g->app, "socketpair: %s", strerror(errno));
		return EXIT_FAILED;
	}
	fflush(NULL);
	w->pid = fork();
	if (!w->pid) {
		close(pair[0]);
		status = watch_run(g, signals, pair[1]);
		watch_close(g);
		fflush(NULL);
		_exit(status);
	}
	close(pair[1]);
	w->socket = pair[0];
	w->beat_ns = perfctr_time_raw_ns();
	if (w->pid > 0)
		return 0;
	app_error(g->app, "fork: %s", strerror(errno));
	return EXIT_FAILED;
}

/* Processes of the command that lost their parents are ours, so that they are held, too. */
static void reap_orphans(const struct guard *g, const struct watcher *w)
{
	siginfo_t info = { 0 };

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	       info.si_pid != w->pid && info.si_pid != g->command.child.pid)
		waitpid(info.si_pid, NULL, 0);
}

static void reap(struct watcher *w, bool wait)
{
	if (!w->ended && w->pid > 0 && waitpid(w->pid, &w->status, wait ? 0 : WNOHANG) == w->pid)
		w->ended = true;
}

/* Wait for a signal, a sign of life, or an end. Return: the signal that ends guarding, or 0. */
static int wait_for_events(struct guard *g, struct watcher *w, struct signals *signals)
{
	struct pollfd fds[] = { { .fd = signals->fd, .events = POLLIN },
				{ .fd = w->socket, .events = POLLIN } };
	char bytes[64];
	ssize_t length;

	poll(fds, ARRAY_SIZE(fds), GUARD_BEAT_MS);
	length = fds[1].revents ? recv(w->socket, bytes, sizeof(bytes), MSG_DONTWAIT) : 0;
	if (length > 0) {
		w->ready = true;
		w->beat_ns = perfctr_time_raw_ns();
	}
	reap(w, false);
	if (!length && fds[1].revents)
		reap(w, true);
	reap_orphans(g, w);
	return command_take_signals(&g->command, signals);
}

/* The watcher died or hangs: nobody counts, so what the configuration says about a loss holds. */
static int take_over(struct guard *g, struct watcher *w)
{
	char reason[64] = "the watching process does not answer";

	if (w->ended)
		snprintf(reason, sizeof(reason), "the watching process %s %d",
			 WIFSIGNALED(w->status) ? "was killed by signal" : "ended with status",
			 WIFSIGNALED(w->status) ? WTERMSIG(w->status) : WEXITSTATUS(w->status));
	if (!w->ended)
		kill(w->pid, SIGKILL);
	/* all, before the log, whose file system may hang, too */
	for (size_t n = 0; n < g->count; n++)
		target_apply(g, &g->budgets[n], g->budgets[n].freeze_on_loss,
			     perfctr_time_raw_ns());
	for (size_t n = 0; n < g->count; n++)
		loss_log(g, &g->budgets[n], reason);
	app_error(g->app,
		  "%s; a guard of the same cgroup or process releases what is held%s (pid=%d)",
		  reason, g->command.argv ? ", of the command this one" : "", (int)g->pid);
	return EXIT_FAILED;
}

/* Release before the command gets time to end: it may be frozen. */
static int finish(struct guard *g, struct watcher *w, int ended_by)
{
	uint64_t end_ns;
	int failed;

	if (!w->ended)
		kill(w->pid, SIGTERM);
	end_ns = perfctr_time_raw_ns() + GUARD_HANGS_MS * NS_PER_MS;
	for (; !w->ended && perfctr_time_raw_ns() < end_ns; poll(NULL, 0, 10))
		reap(w, false);
	if (!w->ended || !WIFEXITED(w->status) ||
	    WEXITSTATUS(w->status) & ~(GUARD_NO_LOG | GUARD_NOT_HELD | GUARD_SILENT))
		return take_over(g, w);
	failed = WEXITSTATUS(w->status);
	end_ns = perfctr_time_raw_ns() + COMMAND_GRACE_MS * NS_PER_MS;
	while (g->command.argv && !command_has_ended(&g->command) && perfctr_time_raw_ns() < end_ns)
		poll(NULL, 0, 10);
	return failed ? EXIT_FAILED : command_status(&g->command, ended_by);
}

/* Whether the command left processes, or a cgroup of a budget has some. */
static bool is_something_left(const struct guard *g, const struct watcher *w)
{
	char path[64];
	bool left = false;
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)g->pid);
	file = fopen(path, "re");
	while (file && !left && fscanf(file, "%d", &pid) == 1)
		left = pid != w->pid && pid != g->command.child.pid;
	if (file)
		fclose(file);
	for (size_t n = 0; n < g->count && !left; n++) {
		struct members members = { 0 };

		if (g->budgets[n].target.cgroup)
			members_read(&members, g->budgets[n].target.cgroup);
		left = members.count;
		members_free(&members);
	}
	return left;
}

static int supervise(struct guard *g, struct signals *signals)
{
	struct watcher w = { .socket = -1 };
	int ended_by = 0, status = start_watcher(g, &w, signals);
	bool running = false;

	while (!status && !ended_by) {
		ended_by = wait_for_events(g, &w, signals);
		if (w.ended)
			return w.ready ? take_over(g, &w) : WEXITSTATUS(w.status);
		if (w.ready && !running) {
			running = true;
			status = command_go(g->app, &g->command);
		}
		if (running && perfctr_time_raw_ns() - w.beat_ns > GUARD_HANGS_MS * NS_PER_MS)
			return take_over(g, &w);
		if (running && command_has_ended(&g->command) &&
		    !(g->stay && is_something_left(g, &w)))
			break;
	}
	if (w.pid <= 0)
		return status;
	return status ? (finish(g, &w, 0), status) : finish(g, &w, ended_by);
}

/*
 * All that the command begins are descendants of this process. The first call, before the command
 * runs, makes the group of their files.
 */
static int set_command(const struct guard *g, struct budget *b)
{
	int error = 0;

	b->target.pid = g->command.child.pid;
	b->target.tree = g->pid;
	if (b->target.action == TARGET_HOLD)
		error = target_set(&b->target, false);
	if (!error || error == -ESRCH || error == -ENOENT)
		return 0;
	app_error(g->app, "budget %s: contexts cannot be held: %s", b->name, strerror(-error));
	return error == -EACCES || error == -EPERM ? EXIT_DENIED : EXIT_FAILED;
}

int guard_run(struct app *app, int argc, char **argv)
{
	struct guard g = { .app = app,
			   .supervisor = -1,
			   .pid = getpid(),
			   .command = { .watched_fd = -1,
					.child = { .pid = -1, .go_fd = -1, .error_fd = -1 } } };
	struct signals signals = { .fd = -1 };
	struct cgroup cgroup = { 0 };
	int status = parse_options(&g, argc, argv);

	status = status ?: open_log(&g);
	g.sequence = mmap(NULL, sizeof(*g.sequence), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!status && g.sequence == MAP_FAILED)
		status = app_failed(app, -errno);
	status = status ?: make_cgroup(&g, &cgroup);
	status = status ?: policy_check(&g);
	status = status ?: signals_catch(app, &signals, (const int[]){ SIGCHLD, SIGPIPE, 0 });
	status = status ?: watch_open(&g);
	if (!status && g.command.argv)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	status = status ?: command_prepare(app, &g.command, g.json ? STDERR_FILENO : -1);
	if (!status) {
		for (size_t n = 0; n < g.count; n++)
			if (!g.budgets[n].target.pid && g.command.argv)
				status = status ?: set_command(&g, &g.budgets[n]);
		status = status ?: join_cgroup(&g, &cgroup);
		status = status ?: supervise(&g, &signals);
		if (g.command.argv && g.command.child.go_fd >= 0)
			command_abandon(&g.command);
	}
	watch_close(&g);
	command_close(&g.command);
	signals_release(&signals);
	cgroup_remove(&cgroup);
	if (g.output && g.log && fclose(g.log)) {
		app_error(app, "%s: %s", g.output, app_reason(errno));
		g.log_failed = true;
	}
	if (g.log_failed)
		status = EXIT_FAILED;
	policy_free(&g);
	return status < 0 ? EXIT_FINE : status;
}
