// SPDX-License-Identifier: MIT
/* Counters of V3D by the global performance monitor, by the driver of v3d/unit.h. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "fixture.h"
#include "idle.h"
#include "v3d/unit.h"

static void begin_driver(void)
{
	perfctr_ctx_new_with(make_driver(), &ctx);
}

/* Skip a test that counts where the call of v3d_guard.c is refused, as qemu-user does. */
static void begin(void)
{
	const unsigned long flags = CLONE_UNTRACED | CLONE_PIDFD;
	int process = -1;
	const long pid = syscall(SYS_clone, flags, 0, &process, 0, 0);

	if (!pid)
		_exit(0);
	if (pid < 0 && errno == EINVAL)
		test_skip("clone() of a process without a signal at its end: %s", strerror(errno));
	else
		waitpid((pid_t)pid, NULL, __WALL);
	if (process >= 0)
		close(process);
	begin_driver();
}

static void end_driver(void)
{
	end();
	CHECK(!driver.is_global || driver.unbound);
	/* no process is left */
	CHECK(waitpid(-1, NULL, __WALL) < 0);
}

static int open_session(const char *events)
{
	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(driver.sets, 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	return perfctr_session_new(selection, NULL, &session);
}

static int start(const char *events)
{
	int error = open_session(events);

	CHECK(error || !driver.id);
	if (error)
		return error;
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return perfctr_session_start(session, 0);
}

/* of the unread samples */
struct seen {
	uint64_t sum;
	unsigned int valid;
	uint32_t flags, states;
	uint64_t lost_ns, ns;
};

static struct seen take(bool stops)
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	struct seen seen = { 0 };

	EQUAL(stops ? perfctr_session_stop(session, 0) : perfctr_session_sample(session, 0), 0);
	while (perfctr_cursor_next(cursor, &sample) > 0) {
		seen.flags |= sample.flags;
		seen.lost_ns += sample.lost_ns;
		seen.ns += sample.end_ns - sample.start_ns;
		while (perfctr_decode_block(&sample, &block) > 0) {
			seen.states |= block.states;
			for (unsigned int i = 0; i < block.count; i++)
				seen.sum += perfctr_block_value(&block, i);
		}
		perfctr_cursor_advance(cursor, 1);
	}
	return seen;
}

TEST_WITH(begin, end_driver,
	  "names of events tell the product; cycles are in the first and last slot")
{
	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "V3D 4.2");
	EQUAL(driver.count, 3);
	EQUAL(driver.slots[0], CYCLES);
	EQUAL(driver.slots[1], PRIMITIVES);
	EQUAL(driver.slots[2], CYCLES);
	driver.pending[PRIMITIVES] = 7;
	EQUAL(take(false).sum, 7);
	driver.pending[PRIMITIVES] = UINT64_C(5) << 32;
	EQUAL(take(true).sum, UINT64_C(5) << 32);
	CHECK(!driver.id);
}

TEST_WITH(begin, end_driver, "cycles between the first and the last slot's read are a loss")
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.late = 500;
	usleep(20000);
	seen = take(true);
	/* a third of the cycles, times three slots' accesses for two differences */
	CHECK(seen.lost_ns > seen.ns / 3 && seen.lost_ns < seen.ns * 2 / 3);
	CHECK(!(seen.flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_RESET)));
}

TEST_WITH(begin, end_driver, "a kernel without a global monitor is refused with the reason")
{
	driver.generation = WITHOUT_GLOBAL;
	EQUAL(open_session("v3d/cycle_count"), -EOPNOTSUPP);
	CHECK(strstr(perfctr_ctx_error(ctx), "no counters for all programs"));
}

TEST_WITH(begin, end_driver, "one whose reads stop counting is refused with the reason")
{
	driver.generation = READS_STOP;
	EQUAL(open_session("v3d/cycle_count"), -EOPNOTSUPP);
	CHECK(strstr(perfctr_ctx_error(ctx), "stops counting at each read"));
}

TEST_WITH(begin_driver, end_driver, "a caller that cannot see all programs may not count")
{
	driver.hidden = true;
	EQUAL(open_session("v3d/cycle_count"), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "a program with performance monitors of its own hangs");
	EQUAL(driver.sets, 0);
}

TEST_WITH(begin_driver, end_driver, "only a caller that names the device counts it")
{
	struct perfctr_device_list *list;

	EQUAL(perfctr_device_list_new(ctx, &list), 0);
	EQUAL(perfctr_device_list_count(list), 1);
	EQUAL(perfctr_device_list_get(list, 0)->error, 0);
	EQUAL(perfctr_device_list_get(list, 0)->by_name, 1);
	perfctr_device_list_unref(list);
	if (!perfctr_device_open(ctx, NULL, &device))
		CHECK(strcmp(perfctr_device_info(device)->name, "V3D 4.2") != 0);
	EQUAL(driver.sets, 0);
}

TEST_WITH(begin, end_driver, "another program's global monitor: busy, and it stays")
{
	driver.other = true;
	EQUAL(open_session("v3d/cycle_count"), -EBUSY);
	CHECK(driver.other && !driver.id);
}

TEST_WITH(begin, end_driver, "a reset loses the interval and is marked")
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.resets++;
	seen = take(false);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_RESET && seen.lost_ns == seen.ns);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	seen = take(true);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_RESET) && seen.lost_ns < seen.ns);
}

TEST_WITH(begin, end_driver, "a monitor that was cleared is set again, and the interval is lost")
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.is_global = false;
	seen = take(false);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.lost_ns == seen.ns);
	CHECK(driver.is_global);
	driver.pending[PRIMITIVES] = 4;
	seen = take(true);
	EQUAL(seen.sum, 4);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
}

/* START of a second session, with other events */
static int join(void)
{
	struct perfctr_selection *more;
	struct perfctr_session *second;
	int error;

	EQUAL(perfctr_selection_new(device, &more), 0);
	CHECK(perfctr_selection_add(more, "v3d/cycle_count") > 0);
	EQUAL(perfctr_session_new(more, NULL, &second), 0);
	error = perfctr_session_start(second, 0);
	perfctr_session_unref(second);
	perfctr_selection_unref(more);
	return error;
}

TEST_WITH(begin, end_driver, "START beside a session whose monitor another program replaced")
{
	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.is_global = false;
	driver.other = true;
	driver.program = NODE;
	EQUAL(join(), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "to one program at a time");
	HAS_TEXT(perfctr_ctx_error(ctx), "has them: triangles (" PROGRAM ")");
	driver.program = NULL;
	driver.other = false;
	EQUAL(join(), 0);
	take(false);
	driver.pending[PRIMITIVES] = 4;
	EQUAL(take(true).sum, 4);
}

/* Begin to count beside a program that hangs. Return: whether counting ended in two seconds. */
static bool is_freed(const char *node)
{
	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.program = node;
	for (int looks = 0; looks < 20 && driver.is_global; looks++) {
		usleep(100000);
		take(false);
	}
	return !driver.is_global;
}

TEST_WITH(begin, end_driver, "START beside a session that ended for a program that hung")
{
	CHECK(is_freed(NODE));
	EQUAL(join(), -EIO);
	HAS_TEXT(perfctr_ctx_error(ctx), "counting has ended, as triangles (" PROGRAM ") hung");
	take(true);
	/* with nobody else, it is tried again */
	driver.program = NULL;
	EQUAL(perfctr_session_start(session, 0), 0);
	take(true);
}

TEST_WITH(begin, end_driver, "a program that hangs with the primary node is seen, too")
{
	CHECK(is_freed("/dev/dri/card1"));
	take(true);
}

TEST_WITH(begin, end_driver, "a program that burns time with another driver's node is none")
{
	driver.other_driver = true;
	CHECK(!is_freed("/dev/dri/card0"));
	take(true);
}

TEST_WITH(begin, end_driver, "another program's monitor: who has the primary node open is named")
{
	driver.other = true;
	driver.program = "/dev/dri/card1";
	EQUAL(open_session("v3d/cycle_count"), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "has them: triangles (" PROGRAM ")");
	session = perfctr_session_unref(session);
	selection = perfctr_selection_unref(selection);
	device = perfctr_device_unref(device);
	driver.program = "/dev/dri/card0";
	driver.sets = 0;
	EQUAL(open_session("v3d/cycle_count"), -EBUSY);
	CHECK(!strstr(perfctr_ctx_error(ctx), "triangles"));
}

TEST_WITH(begin, end_driver, "one that was replaced counts no cycles while the GPU is awake: lost")
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.is_global = false;
	driver.other = true;
	driver.awake_ms += 100;
	seen = take(false);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.lost_ns == seen.ns);
	/* asleep, it may count none */
	seen = take(true);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
}

TEST_WITH(begin, end_driver, "one that was replaced is found with a sample each millisecond, too")
{
	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	CHECK(!(take(false).flags & DRM_PERFCTR_SAMPLE_ERROR));
	driver.is_global = false;
	driver.other = true;
	for (int ms = 1; ms < 40; ms++) {
		bool found;

		driver.awake_ms++;
		found = take(false).flags & DRM_PERFCTR_SAMPLE_ERROR;
		/* the last look at times may be 10 ms old, and that long awake proves nothing */
		CHECK(ms > 25 ? found : ms > 10 || !found);
	}
}

TEST_WITH(begin, end_driver, "more than thirty events take turns, and their times give the rates")
{
	const struct timespec pause = { .tv_nsec = 700000000 };
	uint64_t enabled_ns, least_ns;
	struct perfctr_sample sample;
	struct perfctr_block block;
	unsigned int events = 0;

	driver.rate = 1000;
	EQUAL(start("v3d/*"), 0);
	nanosleep(&pause, NULL);
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	CHECK(sample.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	while (perfctr_decode_block(&sample, &block) > 0) {
		uint64_t mask = block.enable_mask;

		EQUAL(perfctr_block_read_times(&block, &enabled_ns, &least_ns), 1);
		EQUAL(block.valid_mask, block.enable_mask);
		CHECK(block.states & DRM_PERFCTR_STATE_MULTIPLEXED);
		/* but the gaps between monitors */
		CHECK(enabled_ns <= sample.end_ns - sample.start_ns);
		CHECK(enabled_ns >= (sample.end_ns - sample.start_ns) / 10 * 9);
		for (unsigned int i = 0; mask; mask &= mask - 1, i++) {
			double ran = (double)perfctr_block_running(&block, i);
			double count = (double)perfctr_block_value(&block, i);

			events++;
			if (!block.section && (mask & -mask) == UINT64_C(1) << CYCLES) {
				EQUAL(ran, enabled_ns);
				continue;
			}
			CHECK(ran > 0 && ran < (double)enabled_ns);
			CHECK(count > ran * 0.9e-3 && count < ran * 1.1e-3);
		}
	}
	CHECK(events > 60);
}

TEST_WITH(begin, end_driver, "a session that fits is exact beside one that does not")
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	struct perfctr_selection *all, *thirty;
	struct perfctr_session *turns, *refused;
	unsigned int left = 30;

	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &all), 0);
	EQUAL(perfctr_selection_new(device, &thirty), 0);
	CHECK(perfctr_selection_add(all, "v3d/*") > 60);
	for (unsigned int i = 0; left; i++) {
		char text[16];

		snprintf(text, sizeof(text), "v3d/C%u", i);
		left -= perfctr_selection_add(thirty, text) > 0;
	}
	EQUAL(perfctr_session_new(all, NULL, &turns), 0);
	EQUAL(perfctr_session_start(turns, 0), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, "v3d/PTB_primitives_binned") > 0);
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct seen seen;

		driver.pending[PRIMITIVES] = 7;
		nanosleep(&pause, NULL);
		seen = take(false);
		EQUAL(seen.sum, 7);
		CHECK(!(seen.states & DRM_PERFCTR_STATE_MULTIPLEXED));
	}
	/* it would leave no place for those that take turns */
	EQUAL(perfctr_session_new(thirty, NULL, &refused), 0);
	EQUAL(perfctr_session_start(refused, 0), -E2BIG);
	HAS_TEXT(perfctr_ctx_error(ctx), "of v3d at most 30 counters count at a time");
	driver.pending[PRIMITIVES] = 9;
	EQUAL(take(true).sum, 9);
	perfctr_session_unref(turns);
	perfctr_session_unref(refused);
	perfctr_selection_unref(all);
	perfctr_selection_unref(thirty);
}

/* of each count, by its running time, in what rate gives */
static void check_estimates(double low, double high)
{
	uint64_t enabled_ns, least_ns;
	struct perfctr_sample sample;
	struct perfctr_block block;

	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	while (perfctr_decode_block(&sample, &block) > 0) {
		uint64_t mask = block.enable_mask;

		EQUAL(perfctr_block_read_times(&block, &enabled_ns, &least_ns), 1);
		for (unsigned int i = 0; mask; mask &= mask - 1, i++) {
			double ran = (double)perfctr_block_running(&block, i);
			double count = (double)perfctr_block_value(&block, i);
			double truth =
				(double)(driver.rate * (sample.end_ns - sample.start_ns)) / 1e6;

			if (!block.section && (mask & -mask) == UINT64_C(1) << CYCLES)
				continue;
			CHECK(ran > 0);
			count *= (double)enabled_ns / ran;
			CHECK(count >= low * truth && count <= high * truth);
		}
	}
}

TEST_WITH(begin, end_driver, "resets between turns: no estimate is more than the truth")
{
	const struct timespec pause = { .tv_nsec = 90000000 };

	driver.rate = 1000;
	EQUAL(start("v3d/*"), 0);
	for (unsigned int i = 0; i < 8; i++) {
		nanosleep(&pause, NULL);
		driver.resets += i & 1;
	}
	check_estimates(0.5, 1.1);
}

TEST_WITH(begin, end_driver, "turns without a monitor, which another has: nobody asks all the time")
{
	idle_watch();
	EQUAL(start("v3d/*"), 0);
	driver.is_global = false;
	driver.other = true;
	driver.id = 0;
	driver.awake_ms += 100;
	CHECK(idle_calls(500) < 300);
	driver.other = false;
	take(true);
}

TEST_WITH(begin, end_driver, "a read that fails leaves no monitor that nobody watches")
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.broken = -EIO;
	seen = take(false);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && !driver.is_global && !driver.id);
	driver.broken = 0;
	seen = take(false);
	CHECK(driver.is_global && seen.lost_ns);
	driver.pending[PRIMITIVES] = 4;
	seen = take(true);
	EQUAL(seen.sum, 4);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
}

/* A program that counts and stands still. Return: its status. */
static int count_and_stop(void)
{
	struct seen seen;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	raise(SIGSTOP);
	seen = take(false);
	if (!CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR || seen.lost_ns))
		return 1;
	take(false);
	driver.pending[PRIMITIVES] = 4;
	return !EQUAL(take(true).sum, 4);
}

TEST_WITH(begin, end_driver, "a process that is stopped has no monitor a second later")
{
	siginfo_t info;
	int status;
	pid_t pid = fork();

	if (!pid) {
		status = count_and_stop();
		end();
		_exit(status);
	}
	EQUAL(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
	CHECK(driver.is_global);
	for (int ms = 0; ms < 1000 && driver.is_global; ms += 10)
		usleep(10000);
	CHECK(!driver.is_global);
	kill(pid, SIGCONT);
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, 0);
	CHECK(!driver.is_global);
}

/* Count for a moment in a process that ends. */
static _Noreturn void count_and_end(void)
{
	int error = start("v3d/PTB_primitives_binned");

	if (!error)
		take(true);
	end();
	_exit(error ? 1 : 0);
}

/* A debugger follows each new thread, and stops all that it follows. */
TEST_WITH(begin, end_driver, "a debugger of the program does not get the guard")
{
	const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL;
	unsigned long news;
	int status = 0;
	pid_t at, pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		count_and_end();
	}
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options), 0);
	for (at = pid; at > 0; at = waitpid(-1, &status, __WALL)) {
		if (at == pid && (WIFEXITED(status) || WIFSIGNALED(status)))
			break;
		/* a thread of the program, or a process? */
		if (status >> 16 && CHECK(!ptrace(PTRACE_GETEVENTMSG, at, NULL, &news)))
			EQUAL(syscall(SYS_tgkill, pid, (pid_t)news, 0), 0);
		ptrace(PTRACE_CONT, at, NULL, NULL);
	}
	EQUAL(at, pid);
	EQUAL(status, 0);
}

static int refuse_call(unsigned int number, unsigned int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int end_of(pid_t pid)
{
	int status;

	EQUAL(waitpid(pid, &status, 0), pid);
	return status;
}

TEST_WITH(begin, end_driver, "V3D counts where clone3 is refused, as in a container")
{
	pid_t pid = fork();

	if (!pid) {
		/* as containers and services with restricted namespaces do */
		if (refuse_call(SYS_clone3, ENOSYS))
			_exit(2);
		count_and_end();
	}
	EQUAL(end_of(pid), 0);
}

TEST_WITH(begin, end_driver, "no guard because of a limit of processes: refused with the reason")
{
	pid_t pid = fork();

	if (!pid) {
		bool good = !refuse_call(SYS_clone, EAGAIN) &&
			    EQUAL(open_session("v3d/cycle_count"), -EAGAIN) &&
			    HAS_TEXT(perfctr_ctx_error(ctx), "a second process, perfctr-guard") &&
			    HAS_TEXT(perfctr_ctx_error(ctx), "TasksMax=") && !driver.is_global;

		end();
		_exit(!good);
	}
	EQUAL(end_of(pid), 0);
}

static int find_child(void *arg, const char *name)
{
	char path[64], text[1024];
	pid_t *child = arg;
	char state;
	int parent;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
	if (perfctr_sys_read_text(&perfctr_sys_real, path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%*d (perfctr-guard) %c %d", &state, &parent) == 2 && state != 'Z' &&
	    parent == getpid())
		*child = atoi(name);
	return 0;
}

static bool has_text_of(pid_t pid, const char *file, const char *part)
{
	char path[64], *text;
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	found = perfctr_sys_read_all(&perfctr_sys_real, path, &text) > 0 && strstr(text, part);
	free(text);
	return found;
}

/* The guard of this process, which may have begun just now; 0: there is none. */
static pid_t find_guard(int wait_ms)
{
	pid_t guard = 0;

	for (int ms = 0; !guard && ms <= wait_ms; ms += 10) {
		usleep(10000);
		perfctr_sys_real.list(NULL, "/proc", find_child, &guard);
	}
	return guard;
}

TEST_WITH(begin, end_driver, "STOP does not wait for a guard that is stopped")
{
	pid_t guard;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	guard = find_guard(10000);
	if (!CHECK(guard))
		return;
	EQUAL(kill(guard, SIGSTOP), 0);
	take(true);
	CHECK(kill(guard, 0));
}

static int count_file(void *arg, const char *name)
{
	unsigned int *count = arg;

	++*count;
	return 0;
}

TEST_WITH(begin, end_driver, "a guard has two files and no folder")
{
	unsigned int files = 0;
	char path[64], folder[64] = "";
	pid_t guard;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	/* it has its name when it is ready */
	guard = find_guard(10000);
	snprintf(path, sizeof(path), "/proc/%d/fd", guard);
	EQUAL(perfctr_sys_real.list(NULL, path, count_file, &files), 0);
	EQUAL(files, 2);
	snprintf(path, sizeof(path), "/proc/%d/cwd", guard);
	CHECK(readlink(path, folder, sizeof(folder) - 1) > 0);
	EQUAL_TEXT(folder, "/");
	take(true);
}

static void ignore(int signal)
{
}

TEST_WITH(begin, end_driver, "a guard that was killed is replaced, and never runs handlers")
{
	siginfo_t info;
	pid_t guard, other;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	guard = find_guard(10000);
	if (!CHECK(guard))
		return;
	signal(SIGUSR1, ignore);
	EQUAL(kill(guard, SIGKILL), 0);
	EQUAL(waitid(P_PID, (id_t)guard, &info, WEXITED | WNOWAIT | __WALL), 0);
	/* by this thread, before the session's own is due, which has all signals blocked */
	take(false);
	other = find_guard(2000);
	CHECK(other && other != guard);
	EQUAL(kill(other, SIGUSR1), 0);
	EQUAL(kill(other, SIGTERM), 0);
	usleep(50000);
	/* they wait for ever */
	CHECK(has_text_of(other, "status", "SigPnd:\t0000000000000000\nShdPnd:\t0000000000004200"));
	EQUAL(find_guard(0), other);
	signal(SIGUSR1, SIG_DFL);
	take(true);
}

/* A process that counts and gives up root. Return: whether STOP took no longer than that. */
static bool count_and_change(bool stops, unsigned int most_ms)
{
	uint64_t begin_ns;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.guard = find_guard(10000);
	if (!CHECK(driver.guard) || (stops && !EQUAL(kill(driver.guard, SIGSTOP), 0)))
		return false;
	EQUAL(setresuid(1, 1, 1), 0);
	EQUAL(kill(driver.guard, 0), -1);
	driver.pending[PRIMITIVES] = 4;
	begin_ns = perfctr_time_raw_ns();
	return EQUAL(take(true).sum, 4) &&
	       CHECK(perfctr_time_raw_ns() - begin_ns < most_ms * UINT64_C(1000000));
}

static void check_change(bool stops, unsigned int most_ms)
{
	pid_t pid = fork();

	if (!pid) {
		bool good = count_and_change(stops, most_ms);

		end();
		_exit(!good);
	}
	EQUAL(end_of(pid), 0);
}

TEST_WITH(begin, end_driver, "a process that changed its user ends its guard")
{
	/* who is not root cannot */
	if (getuid())
		return;
	check_change(false, 900);
	EQUAL(kill(driver.guard, 0), -1);
	check_change(true, 5000);
	/* it goes on, and sees that it was left; nobody may wait for it */
	EQUAL(kill(driver.guard, SIGCONT), 0);
	for (int ms = 0; ms < 1000 && has_text_of(driver.guard, "status", "Name:\tperfctr-guard\n");
	     ms += 10) {
		if (has_text_of(driver.guard, "status", "State:\tZ"))
			return;
		usleep(10000);
	}
	CHECK(kill(driver.guard, 0));
}

TEST_WITH(begin, end_driver, "a START that is refused leaves no guard")
{
	EQUAL(open_session("v3d/PTB_primitives_binned"), 0);
	driver.other = true;
	EQUAL(perfctr_session_start(session, 0), -EBUSY);
	EQUAL(find_guard(300), 0);
}

TEST_WITH(begin, end_driver, "a process that stops while a session opens has no monitor, either")
{
	siginfo_t info;
	int status;
	pid_t pid = fork();

	if (!pid) {
		driver.stops = true;
		open_session("v3d/PTB_primitives_binned");
		end();
		_exit(0);
	}
	EQUAL(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
	CHECK(driver.is_global);
	for (int ms = 0; ms < 1000 && driver.is_global; ms += 10)
		usleep(10000);
	CHECK(!driver.is_global);
	driver.stops = driver.is_global = false;
	kill(pid, SIGKILL);
	EQUAL(waitpid(pid, &status, 0), pid);
}

TEST_WITH(begin, end_driver, "after an unbind no ioctl is called")
{
	struct perfctr_sample sample;

	EQUAL(start("v3d/PTB_primitives_binned"), 0);
	driver.unbound = true;
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	while (perfctr_cursor_next(cursor, &sample) > 0)
		perfctr_cursor_advance(cursor, 1);
	CHECK(driver.is_global);
}
