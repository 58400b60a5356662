// SPDX-License-Identifier: MIT
/*
 * The machine "programs": the task and its aggressors are programs on this computer.
 *
 * The command has two processes. One measures and is the parent of all programs; the other waits
 * for it, and ends what is left if it dies. Both are subreapers, so that children of programs
 * become theirs. They have process groups of their own: only who kills both by their numbers leaves
 * programs behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contention.h"
#include "lib/command.h"
#include "validate/study.h"

enum {
	MAX_WORDS = 64,
	MAX_COPIES = 1024, /* of an aggressor */
	SETTLE_MS = 300, /* an aggressor fills its memory */
	CHILDREN_BYTES = 4096,
};

static const char level_mark[] = "{LEVEL}";

struct programs {
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	int null_fd; /* where programs write */
	int events; /* that are counted; 0: only times are measured */
	bool counted; /* a session was opened */
};

/* --- no program outlives the command ---------------------------------------------------- */

/* lists the children of the main thread, which alone starts programs */
static char children_path[64];
/* a program may not be killed: it is another user's */
static volatile sig_atomic_t refused;

static void find_children(void)
{
	snprintf(children_path, sizeof(children_path), "/proc/self/task/%d/children",
		 (int)getpid());
}

/* Kill each child, and those that have ended. Return: whether there was one. Signal safe. */
static bool kill_children(void)
{
	char text[CHILDREN_BYTES];
	int fd = open(children_path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text));
	bool any = false;
	pid_t pid = 0;

	if (fd >= 0)
		close(fd);
	for (ssize_t n = 0; n < length; n++) {
		if (text[n] >= '0' && text[n] <= '9') {
			pid = 10 * pid + (text[n] - '0');
		} else if (pid) {
			if (!kill(pid, SIGKILL))
				any = true;
			else if (errno == EPERM)
				refused = true;
			pid = 0;
		}
	}
	return any;
}

/* The children of those that end become ours, and are killed in turn. Signal safe. */
static void end_programs(void)
{
	while (kill_children())
		waitpid(-1, NULL, 0);
}

static void on_end(int number)
{
	end_programs();
	signal(number, SIG_DFL);
	raise(number);
}

static void handle_signals(void (*handler)(int number))
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_NODEFER };

	for (size_t n = 0; n < ARRAY_SIZE(numbers); n++) {
		struct sigaction before;

		/* nohup ignores some */
		if (!sigaction(numbers[n], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[n], &action, NULL);
	}
}

static pid_t measuring; /* the process that measures */

static void pass_on(int number)
{
	kill(measuring, number);
}

/* Wait for the process that measures, pass its end on. Does not return. */
static void supervise(pid_t pid)
{
	int status = 0;

	measuring = pid;
	handle_signals(pass_on);
	find_children();
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	end_programs();
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFSIGNALED(status) ? EXIT_SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Return: 0 in the process that measures. */
static int split(struct contention *c)
{
	const pid_t parent = getpid();
	pid_t pid;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return fail(&c->failure, "becoming a subreaper: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return fail(&c->failure, "fork: %s", strerror(errno));
	if (pid)
		supervise(pid);
	find_children();
	/* a signal for the command's group is for the process that waits, which passes it on */
	setpgid(0, 0);
	handle_signals(on_end);
	/* not inherited */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGTERM);
	if (access(children_path, R_OK))
		return fail(&c->failure,
			    "%s: %s: without it programs could be left behind: the kernel needs "
			    "CONFIG_PROC_CHILDREN, and /proc must be that of this PID namespace",
			    children_path, strerror(errno));
	return 0;
}

/* --- where programs run ------------------------------------------------------------------ */

/* "0-3,8" Return: 0 or -1. */
static int parse_cpus(const char *text, cpu_set_t *cpus)
{
	const char *at = text;

	CPU_ZERO(cpus);
	do {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at || *at == '-')
			return -1;
		if (*end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			if (end == at || *at == '-')
				return -1;
		}
		if (last < first || last >= CPU_SETSIZE || (*end && *end != ','))
			return -1;
		for (; first <= last; first++)
			CPU_SET((int)first, cpus);
		at = end + 1;
		if (!*end)
			return 0;
	} while (true);
}

static int check_place(struct contention *c, const char *name, const struct work *work)
{
	cpu_set_t cpus;
	char path[PATH_MAX];

	if (*work->cpus && parse_cpus(work->cpus, &cpus))
		return fail(&c->failure, "%s: cpus '%s': give a list such as \"0-3,8\"", name,
			    work->cpus);
	snprintf(path, sizeof(path), "%s/cgroup.procs", work->cgroup);
	if (*work->cgroup && access(path, W_OK))
		return fail(&c->failure,
			    "%s: cgroup '%s': %s: give the folder of a control group that this "
			    "user may write to",
			    name, work->cgroup, strerror(errno));
	return 0;
}

/* Move a process that waits to its CPUs and its control group. */
static int place(struct contention *c, const char *name, const struct work *work, pid_t pid)
{
	cpu_set_t cpus;
	char path[PATH_MAX];
	FILE *procs;

	if (*work->cpus && !parse_cpus(work->cpus, &cpus) &&
	    sched_setaffinity(pid, sizeof(cpus), &cpus))
		return fail(&c->failure, "%s: cpus '%s': %s", name, work->cpus,
			    errno == EINVAL ? "none of them is online for this command" :
					      strerror(errno));
	if (!*work->cgroup)
		return 0;
	snprintf(path, sizeof(path), "%s/cgroup.procs", work->cgroup);
	procs = fopen(path, "we");
	if (procs && fprintf(procs, "%d\n", (int)pid) > 0 && !fclose(procs))
		return 0;
	return fail(&c->failure, "%s: %s: %s", name, path, strerror(errno));
}

/* Words of a command, with {LEVEL} replaced. */
static int make_words(struct contention *c, const char *name, const struct work *work,
		      uint64_t level, char *words[MAX_WORDS + 1])
{
	char *position, *text = arena_printf(&c->arena, "%s", work->command);
	size_t count = 0;

	for (const char *at; (at = strstr(text, level_mark));)
		text = arena_printf(&c->arena, "%.*s%" PRIu64 "%s", (int)(at - text), text, level,
				    at + strlen(level_mark));
	for (char *word = strtok_r(text, " ", &position); word;
	     word = strtok_r(NULL, " ", &position)) {
		if (count == MAX_WORDS)
			return fail(&c->failure, "%s: at most %d words: use a script", name,
				    MAX_WORDS);
		words[count++] = word;
	}
	words[count] = NULL;
	return count ? 0 : fail(&c->failure, "%s: the command is empty", name);
}

/* Fork a process that waits to become a program. */
static int prepare(struct contention *c, const char *name, const struct work *work, uint64_t level,
		   struct child *child)
{
	const struct programs *p = c->of_machine;
	char *words[MAX_WORDS + 1];
	int error;

	if (make_words(c, name, work, level, words))
		return -1;
	error = child_prepare(child, words, p->null_fd);
	if (error)
		return fail(&c->failure, "%s: %s", name, strerror(-error));
	if (!place(c, name, work, child->pid))
		return 0;
	child_abandon(child);
	return -1;
}

static int go(struct contention *c, const char *name, const struct work *work, struct child *child)
{
	const int error = child_go(child);

	if (!error)
		return 0;
	return fail(&c->failure, "%s: '%s' cannot be run: %s", name, work->command,
		    strerror(-error));
}

/* --- measuring --------------------------------------------------------------------------- */

/* Without {LEVEL} in its command as many copies run. */
static size_t copies_of(const struct aggressor *a, uint64_t level)
{
	return strstr(a->work.command, level_mark) ? 1 : (size_t)level;
}

static int start_aggressor(struct contention *c, const struct aggressor *a, uint64_t level,
			   struct child *copies, size_t count)
{
	const struct timespec settle = { .tv_nsec = SETTLE_MS * (long)NS_PER_MS };

	for (size_t n = 0; n < count; n++)
		if (prepare(c, a->name, &a->work, level, &copies[n]) ||
		    go(c, a->name, &a->work, &copies[n]))
			return -1;
	nanosleep(&settle, NULL);
	return 0;
}

static int check_aggressor(struct contention *c, const struct aggressor *a, uint64_t level,
			   struct child *copies, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (child_poll(&copies[n]))
			return fail(&c->failure,
				    "%s, level %" PRIu64 ": it ended before the task, with status "
				    "%d; it has to run for ever",
				    a->name, level, child_exit_status(&copies[n]));
	return 0;
}

static bool is_any(enum channel_kind kind)
{
	return true;
}

/* Time for which the main thread could have run, and did not. */
static uint64_t run_delay(pid_t pid)
{
	char path[64];
	uint64_t ran_ns, delay_ns = DELAY_UNKNOWN;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	stat = fopen(path, "re");
	if (!stat)
		return DELAY_UNKNOWN;
	if (fscanf(stat, "%" SCNu64 " %" SCNu64, &ran_ns, &delay_ns) != 2)
		delay_ns = DELAY_UNKNOWN;
	fclose(stat);
	return delay_ns;
}

static int run_task(struct contention *c, struct child *task, struct load *run)
{
	const uint64_t begin_ns = perfctr_time_raw_ns();
	siginfo_t info;

	if (go(c, "the task", &c->task, task))
		return -1;
	/* it stays, with its times */
	while (waitid(P_PID, (id_t)task->pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	run->time_ns = perfctr_time_raw_ns() - begin_ns;
	run->delay_ns = run_delay(task->pid);
	child_wait(task);
	if (!task->status)
		return 0;
	return fail(&c->failure, "the task '%s' ended with status %d", c->task.command,
		    child_exit_status(task));
}

/* Count while the task runs. */
static int count_task(struct contention *c, struct load *run)
{
	const struct perfctr_session_opts opts = { .size = sizeof(opts),
						   .slots = 16,
						   .flags = PERFCTR_SESSION_SKIP_UNSUPPORTED };
	struct programs *p = c->of_machine;
	struct perfctr_session *session = NULL;
	struct perfctr_totals *totals = NULL;
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_sample sample;
	struct child task;
	int error = 0, ret = -1;

	if (prepare(c, "the task", &c->task, 0, &task))
		return -1;
	perfctr_device_count_task(p->device, -task.pid);
	if (p->events)
		error = perfctr_session_new(p->selection, &opts, &session);
	if (error && !p->counted) {
		/* as in containers without perf_event_open() */
		channels_lack(c, perfctr_ctx_error(c->app->ctx));
		p->events = 0;
	}
	if (!p->events) {
		ret = run_task(c, &task, run);
		child_abandon(&task);
		return ret ? ret : channels_take(c, p->selection, NULL, is_any, run);
	}
	p->counted = true;
	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_totals_new(c->app->ctx, &totals);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (!error) {
		ret = run_task(c, &task, run);
		error = perfctr_session_stop(session, 0);
	}
	while (!error && perfctr_cursor_next(cursor, &sample) > 0) {
		error = perfctr_totals_add(totals, &sample);
		perfctr_cursor_advance(cursor, 1);
	}
	child_abandon(&task);
	if (error)
		ret = fail(&c->failure, "%s", perfctr_ctx_error(c->app->ctx));
	if (!ret)
		ret = channels_take(c, p->selection, totals, is_any, run);
	perfctr_totals_unref(totals);
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	return ret;
}

static int programs_measure(struct contention *c, const struct aggressor *a, uint64_t n,
			    struct load *run)
{
	const size_t count = a ? copies_of(a, run->level) : 0;
	struct child copies[MAX_COPIES] = { { 0 } };
	int ret = 0;

	if (a)
		ret = start_aggressor(c, a, run->level, copies, count);
	if (!ret)
		ret = count_task(c, run);
	if (!ret && a)
		ret = check_aggressor(c, a, run->level, copies, count);
	end_programs();
	if (refused && !ret)
		ret = fail(&c->failure,
			   "%s: a process of it belongs to another user, and still runs: end it, "
			   "and run perfctr interference as that user or as root",
			   a ? a->name : "the task");
	return ret;
}

/* --- beginning and end ------------------------------------------------------------------- */

/* perfctr-load is beside this program. */
static void find_own_programs(struct contention *c)
{
	const char *path = getenv("PATH");
	char own[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *end;

	own[length > 0 ? length : 0] = '\0';
	end = strrchr(own, '/');
	if (end)
		setenv("PATH",
		       arena_printf(&c->arena, "%.*s:%s", (int)(end - own), own,
				    path ? path : "/usr/bin:/bin"),
		       1);
}

static int programs_open(struct contention *c, const char *device)
{
	struct programs *p = arena_alloc(&c->arena, sizeof(*p));
	int error;

	c->of_machine = p;
	p->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* each run begins with the same input */
	if (p->null_fd < 0 || dup2(p->null_fd, STDIN_FILENO) < 0)
		return fail(&c->failure, "/dev/null: %s", strerror(errno));
	if (device)
		return fail(&c->failure, "programs run on this machine: without --device");
	if (c->jobs)
		return fail(&c->failure, "jobs are of a device: a program runs once");
	if (check_place(c, "the task", &c->task))
		return -1;
	for (size_t n = 0; n < c->aggressor_count; n++) {
		const struct aggressor *a = &c->aggressors[n];

		if (a->concurrent)
			return fail(&c->failure, "%s: concurrent is of a device", a->name);
		if (copies_of(a, a->points[a->count - 1].level) > MAX_COPIES)
			return fail(&c->failure,
				    "%s: its command has no {LEVEL}, so a level is the number of "
				    "copies, at most %d",
				    a->name, MAX_COPIES);
		if (check_place(c, a->name, &a->work))
			return -1;
	}
	if (split(c))
		return -1;
	find_own_programs(c);
	error = perfctr_device_open(c->app->ctx, PERFCTR_DEVICE_LOCAL, &p->device);
	if (!error)
		error = perfctr_device_count_task(p->device, getpid());
	if (!error)
		error = perfctr_selection_new(p->device, &p->selection);
	if (error)
		return fail(&c->failure, "%s", perfctr_ctx_error(c->app->ctx));
	study_configure(&c->arena, &c->measured);
	p->events = channels_select(c, p->selection, true);
	if (p->events < 0)
		return -1;
	for (size_t n = 0; n < c->channel_count; n++)
		if (!c->channels[n].missing)
			return 0;
	return !c->channel_count ? 0 :
				   fail(&c->failure, "no channel can be measured here: %s: %s",
					c->channels[0].name, c->channels[0].missing);
}

static int programs_close(struct contention *c)
{
	struct programs *p = c->of_machine;

	end_programs();
	perfctr_selection_unref(p->selection);
	perfctr_device_unref(p->device);
	if (p->null_fd >= 0)
		close(p->null_fd);
	return 0;
}

const struct contention_machine contention_programs = {
	.name = "programs",
	.open = programs_open,
	.measure = programs_measure,
	.close = programs_close,
};
