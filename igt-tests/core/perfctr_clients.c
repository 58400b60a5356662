// SPDX-License-Identifier: MIT
/**
 * TEST: No client of the counters can harm or outlive another
 * Description: Many sessions, processes that start and end, and permissions.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_known.h"
#include "igt_sys.h"

#define SLOTS 64
#define SESSIONS 64

static struct igt_perfctr_device dev;
static struct igt_truth before, after;
static struct igt_perfctr_session many[SESSIONS];

/* do work, STOP, and compare with the truth since @before */
static void finish_conserved(struct igt_perfctr_session *s)
{
	igt_known_work(&dev, 3);
	igt_known_stop(s, &before);
}

static void start_many(void)
{
	for (unsigned int i = 0; i < SESSIONS; i++) {
		struct igt_perfctr_session *s = &many[i];

		igt_perfctr_session_init(s, &dev);
		s->params.slots = 1u << i % 6;
		/* manual, or periods of at least 2 ms, none a multiple of another */
		s->params.period_ns = i % 3 ? 2 * MS + i * 137000 : 0;
		s->params.request_count = 1 + i % s->params.request_count;
		for (unsigned int r = 0; r < s->params.request_count; r++) {
			uint64_t mask = s->requests[r].mask & (0x5bd1e995a5a5c3c3ull << i % 7);

			if (mask)
				s->requests[r].mask = mask;
		}
		igt_perfctr_session_open(s);
	}
	igt_known_truth(&dev, &before);
	for (unsigned int i = 0; i < SESSIONS; i++)
		igt_assert_eq(igt_perfctr_start(&many[i], i), 0);
}

static void many_tests(void)
{
	igt_describe("64 sessions with different masks and periods count at once, and end in any "
		     "order");
	igt_subtest("many-sessions")
	{
		start_many();
		for (unsigned int n = 0; n < 4; n++) {
			igt_known_work(&dev, n);
			for (unsigned int i = n; i < SESSIONS; i += 4)
				igt_perfctr_drain(&many[i]);
		}
		/* no job runs, so each session has all counts when it stops */
		igt_known_truth(&dev, &after);
		for (unsigned int i = 0; i < SESSIONS; i++) {
			struct igt_perfctr_session *s = &many[i * 37 % SESSIONS];

			igt_perfctr_finish(s);
			igt_known_compare(s, &before, &after);
			igt_perfctr_session_close(s);
		}
	}
	igt_describe("tearing down active sessions disturbs no other session");
	igt_subtest("many-torn-down")
	{
		start_many();
		for (unsigned int i = 1; i < SESSIONS; i++) {
			igt_perfctr_session_close(&many[i * 29 % SESSIONS]);
			if (i % 8 == 0)
				igt_known_work(&dev, i);
		}
		finish_conserved(&many[0]);
		igt_perfctr_session_close(&many[0]);
	}
	/* Covers: Life of the descriptor */
	igt_describe("closing the device's file ends no session, active or not");
	igt_subtest("close-active")
	{
		struct igt_perfctr_device other;
		struct igt_perfctr_session theirs[8];

		igt_perfctr_reopen(&other, &dev);
		for (unsigned int i = 0; i < 8; i++) {
			igt_perfctr_session_open_with(&theirs[i], &other, SLOTS, i & 1 ? MS : 0);
			if (i & 2)
				igt_assert_eq(igt_perfctr_start(&theirs[i], 0), 0);
		}
		igt_perfctr_close(&other);
		for (unsigned int i = 0; i < 8; i++) {
			if (!(i & 2))
				igt_assert_eq(igt_perfctr_start(&theirs[i], 0), 0);
			igt_assert_eq_u32(theirs[i].control->state, DRM_PERFCTR_RING_ACTIVE);
		}
		igt_known_truth(&dev, &before);
		for (unsigned int i = 0; i < 8; i++) {
			igt_perfctr_sample_with_room(&theirs[i]);
			igt_perfctr_clear_sums(&theirs[i]);
		}
		igt_known_work(&dev, 3);
		igt_known_truth(&dev, &after);
		for (unsigned int i = 0; i < 8; i++) {
			igt_perfctr_drain(&theirs[i]);
			igt_perfctr_finish(&theirs[i]);
			igt_known_compare(&theirs[i], &before, &after);
			igt_perfctr_session_close(&theirs[i]);
		}
	}
}

enum end { END_KILL, END_EXEC, END_EXIT };

/* references: open files, rings, perf events of its PMUs */
static int module_users(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	return igt_read_int(path);
}

/* the last one has PMUs only */
static const char *const modules[] = { dev.driver, "drm_perfctr", "nvidia_cspmu" };
#define MODULES ARRAY_SIZE(modules)

static void count_users(int users[MODULES])
{
	for (unsigned int i = 0; i < MODULES; i++)
		users[i] = module_users(modules[i]);
}

/* another thread may drop the last references */
static void wait_until_free(const int users[MODULES])
{
	for (unsigned int i = 0; i < MODULES; i++) {
		for (unsigned int n = 0; n < 1000 && module_users(modules[i]) != users[i]; n++)
			igt_sleep_ms(10);
		igt_assert_eq(module_users(modules[i]), users[i]);
	}
}

static void set_up_and_end(enum end end, int ready_fd)
{
	struct igt_perfctr_device mine;

	igt_perfctr_reopen(&mine, &dev);
	/* 20 rounds of 60 sessions exceed the limit of all users together */
	for (unsigned int i = 0; i < 60; i++) {
		igt_perfctr_session_init(&many[0], &mine);
		many[0].params.request_count = 1;
		many[0].params.period_ns = i % 2 * 3 * MS;
		if (i % 16 == 0) {
			igt_perfctr_add_ucf(&many[0]);
			many[0].params.flags = DRM_PERFCTR_OPEN_KEEP_AWAKE;
			many[0].params.eventfd = eventfd(0, EFD_CLOEXEC);
		}
		if (igt_perfctr_session_try_open(&many[0]) || igt_perfctr_start(&many[0], 0))
			_exit(1);
	}
	if (write(ready_fd, "x", 1) != 1)
		_exit(2);
	if (end == END_EXEC)
		execl("/bin/true", "true", NULL);
	if (end == END_KILL)
		pause();
	_exit(0);
}

/*
 * A child with many active sessions ends. If the kernel kept its rings, perf events or KEEP_AWAKE,
 * repeated rounds would exhaust them.
 */
static void child_ends(enum end end)
{
	/* as igt_perfctr_add_ucf() asks */
	const bool has_pmu = dev.info.features & DRM_PERFCTR_FEATURE_PMU &&
			     !access(IGT_UCF_TYPE, R_OK);
	struct igt_perfctr_session s;
	int users[MODULES];

	count_users(users);
	igt_perfctr_session_open_with(&s, &dev, SLOTS, MS);
	igt_known_start(&s, &before);
	for (unsigned int round = 0; round < 20; round++) {
		int pipes[2];
		char byte;

		igt_assert_eq(pipe(pipes), 0);
		igt_fork(child, 1)
			set_up_and_end(end, pipes[1]);
		close(pipes[1]);
		igt_assert_eq(read(pipes[0], &byte, 1), 1);
		close(pipes[0]);
		if (end == END_KILL) {
			for (unsigned int i = 0; i < MODULES - !has_pmu; i++)
				if (users[i] >= 0)
					igt_assert_lt(users[i], module_users(modules[i]));
			igt_kill_and_wait();
		}
		igt_waitchildren();
		igt_perfctr_drain(&s);
	}
	finish_conserved(&s);
	igt_perfctr_session_close(&s);
	wait_until_free(users);
	igt_suspend(&dev);
	igt_power(&dev, "on");
}

static void process_tests(void)
{
	igt_describe("a killed process leaves no session, ring or perf event");
	igt_subtest("process-killed") child_ends(END_KILL);
	igt_describe("exec ends sessions, which are close-on-exec");
	igt_subtest("process-exec") child_ends(END_EXEC);
	igt_describe("a process that exits without clean-up leaves no session, ring or perf event");
	igt_subtest("process-exit") child_ends(END_EXIT);

	igt_describe("a forked child that closes its copy of the descriptor ends no session");
	igt_subtest("fork-close")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_open_with(&s, &dev, SLOTS, MS);
		igt_known_start(&s, &before);
		igt_fork(child, 1)
			igt_assert_eq(igt_perfctr_session_end(&s), 0);
		igt_waitchildren();
		finish_conserved(&s);
		igt_perfctr_session_close(&s);
	}
	igt_describe("a session continues with the duplicate of a closed descriptor");
	igt_subtest("dup-close")
	{
		struct igt_perfctr_session s;
		int copy;

		igt_perfctr_session_open_with(&s, &dev, SLOTS, 0);
		igt_known_start(&s, &before);
		copy = dup(s.fd);
		igt_assert_eq(igt_perfctr_session_end(&s), 0);
		s.fd = copy;
		finish_conserved(&s);
		igt_assert_eq(igt_perfctr_session_end(&s), 0);
		igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
		igt_perfctr_session_close(&s);
	}
}

static struct igt_perfctr_session raced;
static volatile int raced_bad;

static void *race(void *arg)
{
	uint64_t x = (uintptr_t)arg * 2654435761u + 1;
	struct igt_perfctr_session mine = raced;
	struct drm_perfctr_status status;

	for (unsigned int n = 0; n < 400; n++) {
		int ret;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		switch (x % 5) {
		case 0:
			ret = igt_perfctr_start(&mine, 0);
			break;
		case 1:
			ret = igt_perfctr_stop(&mine, 0);
			break;
		case 2:
			ret = igt_perfctr_try_status(&mine, &status);
			break;
		case 3:
			if (n % 16 == 0) {
				struct igt_perfctr_session ended = mine;

				ret = igt_perfctr_session_end(&ended);
				break;
			}
			/* fallthrough */
		default:
			ret = igt_perfctr_sample(&mine, 0);
		}
		/* errors that the header allows */
		if (ret && ret != -IGT_PERFCTR_ENDED && ret != -EALREADY && ret != -ENOTCONN &&
		    ret != -ENOSPC && ret != -ENODEV)
			raced_bad = ret;
	}
	return NULL;
}

static void race_tests(void)
{
	igt_describe("commands on one session from several threads fail only as documented");
	igt_subtest("race-commands")
	{
		raced_bad = 0;
		for (unsigned int round = 0; round < 12; round++) {
			struct igt_perfctr_session s;
			pthread_t threads[3];

			igt_perfctr_session_open_with(&s, &dev, SLOTS, round & 1 ? MS : 0);
			raced = s;
			for (uintptr_t i = 0; i < 3; i++)
				pthread_create(&threads[i], NULL, race,
					       (void *)(round * 3 + i + 1));
			for (unsigned int i = 0; i < 3; i++)
				pthread_join(threads[i], NULL);
			igt_perfctr_session_end(&s); /* another thread may have ended it */
			igt_perfctr_session_close(&s);
		}
		igt_assert_eq(raced_bad, 0);
	}
	igt_describe("open, count and close in four processes at once");
	igt_subtest("stress-open-close")
	{
		igt_fork(child, 4) {
			for (unsigned int i = 0; i < 25; i++) {
				struct igt_perfctr_device mine;
				struct igt_perfctr_session s;

				igt_perfctr_reopen(&mine, &dev);
				igt_perfctr_begin_with(&s, &mine, SLOTS, i % 2 ? MS : 0);
				igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
				if (i % 3)
					igt_perfctr_session_close(&s);
				igt_perfctr_close(&mine);
				/* or after the device's file */
				igt_perfctr_session_close(&s);
			}
		}
		igt_waitchildren();
	}
}

static int try_period(uint64_t period_ns)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.period_ns = period_ns;
	return igt_perfctr_session_probe(&s);
}

/* the result on a kernel without perf events */
static int generic_or(int otherwise)
{
	return dev.info.features & DRM_PERFCTR_FEATURE_PMU ? otherwise : -EOPNOTSUPP;
}

static int try_generic(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, 1, 0, DRM_PERFCTR_CPU_ANY);
	return igt_perfctr_session_probe(&s);
}

static int try_ucf(uint32_t pmu_type)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.request_count = 1;
	s.requests[0] = (struct drm_perfctr_block_request){
		.type = DRM_PERFCTR_TEGRA410_BLOCK_UCF,
		.flags = DRM_PERFCTR_REQUEST_PMU,
		.cpu = DRM_PERFCTR_CPU_ANY,
		.mask = 1ull << DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD,
		.pmu_type = pmu_type,
	};
	return igt_perfctr_session_probe(&s);
}

/* what OPEN returns to a user with @capabilities */
static void permission_with(uint64_t capabilities, int expected)
{
	igt_fork(child, 1) {
		igt_drop_to(IGT_NOBODY, capabilities);
		igt_assert_eq(try_period(0), expected);
		igt_assert_eq(try_period(dev.info.min_period_ns), expected);
		igt_assert_eq(try_generic(), expected ? expected : generic_or(0));
	}
	igt_waitchildren();
}

static void permission_namespace(void)
{
	const int most = igt_read_int("/proc/sys/user/max_user_namespaces");
	/* of Debian's kernels; -1 on others */
	const int allowed = igt_read_int("/proc/sys/kernel/unprivileged_userns_clone");

	igt_require_f(!access("/proc/self/ns/user", F_OK), "no user namespaces\n");
	igt_require_f(most && allowed, "user namespaces are forbidden\n");
	igt_fork(child, 1) {
		igt_drop_to(IGT_NOBODY, 0);
		/* has all capabilities in the new namespace */
		igt_assert_eq(unshare(CLONE_NEWUSER), 0);
		igt_assert_eq(try_period(0), -EACCES);
		igt_assert_eq(try_generic(), -EACCES);
	}
	igt_waitchildren();
}

/* whether QUERY_CLOCKS shows when the last collection was */
static bool shows_last_collection(void)
{
	struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1];
	const unsigned int count = igt_perfctr_clocks(&dev, clocks);
	bool shows = false;

	for (unsigned int i = 0; i < count; i++)
		shows |= clocks[i].gpu_timestamp || clocks[i].raw_ns || clocks[i].age_ns ||
			 clocks[i].epoch;
	return shows;
}

/* an active session of the highest set, and what QUERY shows of it */
static struct igt_perfctr_session seen;

static void begin_seen(void)
{
	igt_perfctr_session_init_set(&seen, &dev, 31 - (unsigned int)__builtin_clz(dev.info.sets));
	igt_perfctr_session_open(&seen);
	igt_assert_eq(igt_perfctr_start(&seen, 0), 0);
}

static void end_seen(void)
{
	igt_assert_eq(igt_perfctr_stop(&seen, 0), 0);
	igt_perfctr_session_close(&seen);
}

/* whether QUERY shows a caller when the last collection was, and the set in use */
static void assert_shown(bool shown)
{
	const bool timestamps = dev.info.features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP;

	igt_assert_eq(shows_last_collection(), shown && timestamps);
	igt_perfctr_describe(&dev);
	igt_assert_eq_u32(dev.info.active_set,
			  shown ? seen.requests[0].set : DRM_PERFCTR_SET_PRIMARY);
}

static void permission_query(void)
{
	begin_seen();
	assert_shown(true);
	igt_fork(child, 1) {
		struct drm_perfctr_query q = { .type = DRM_PERFCTR_QUERY_BLOCKS };

		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(igt_perfctr_query(&dev, &q), 0);
		igt_assert_eq_u32(q.count, dev.block_count);
		assert_shown(false);
	}
	igt_waitchildren();
	igt_perfctr_sysctl("paranoid", "0");
	igt_fork(child, 1) {
		igt_drop_to(IGT_NOBODY, 0);
		assert_shown(true);
	}
	igt_waitchildren();
	igt_perfctr_sysctl("paranoid", "1");
	end_seen();
}

/* whether the kernel has a symbol of exactly this name that modules can find */
static bool kernel_has(const char *symbol)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], name[128];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %127s", name) == 1 && !strcmp(name, symbol);
	if (f)
		fclose(f);
	return found;
}

/* what perf allows to every user it allows here too, but only where the kernel lets modules ask */
static void permission_perf(void)
{
	const bool asked = kernel_has("perf_allow_cpu");
	const int paranoid = igt_read_int(IGT_PERF_PARANOID);

	igt_require_f(!access(IGT_PERF_PARANOID, W_OK), "no perf events\n");
	begin_seen();
	for (int level = 2; level >= -1; level--) {
		const bool allowed = asked && level <= 0;

		igt_write_int(IGT_PERF_PARANOID, level);
		igt_info("level %d: %s\n", level, allowed ? "allowed" : "-EACCES");
		igt_fork(child, 1) {
			igt_drop_to(IGT_NOBODY, 0);
			igt_assert_eq(try_period(0), allowed ? 0 : -EACCES);
			igt_assert_eq(try_period(dev.info.min_period_ns),
				      allowed ? -EPERM : -EACCES);
			igt_assert_eq(try_generic(), generic_or(-EACCES));
			assert_shown(allowed);
		}
		igt_waitchildren();
		permission_with(1ull << CAP_PERFMON, 0);
	}
	igt_write_int(IGT_PERF_PARANOID, paranoid);
	end_seen();
}

static void permission_paranoid(void)
{
	igt_perfctr_sysctl("paranoid", "0");
	igt_fork(child, 1) {
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(try_period(0), 0);
		igt_assert_eq(try_period(dev.info.unprivileged_min_period_ns), 0);
		igt_assert_eq(try_period(dev.info.unprivileged_min_period_ns - 1), -EPERM);
		igt_assert_eq(try_period(dev.info.min_period_ns - 1), -ERANGE);
		igt_assert_eq(try_generic(), generic_or(-EACCES));
	}
	igt_waitchildren();
	igt_perfctr_sysctl("paranoid", "1");
}

static void permission_soc(void)
{
	int type = igt_read_int(IGT_UCF_TYPE);
	int paranoid = igt_read_int(IGT_PERF_PARANOID);

	igt_require_f(type > 0, "no PMU nvidia_ucf_pmu_0\n");
	igt_perfctr_sysctl("paranoid", "0");
	for (int level = 0; level <= 3; level++) {
		igt_write_int(IGT_PERF_PARANOID, level);
		igt_fork(child, 1) {
			igt_drop_to(IGT_NOBODY, 0);
			igt_assert_eq(try_ucf(type), level ? -EACCES : 0);
		}
		igt_waitchildren();
		igt_assert_eq(try_ucf(type), 0);
	}
	igt_write_int(IGT_PERF_PARANOID, paranoid);
	igt_perfctr_sysctl("paranoid", "1");
}

static int try_automatic(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.flags |= DRM_PERFCTR_OPEN_AUTOMATIC;
	return igt_perfctr_session_check(&s);
}

static void permission_rate(void)
{
	const bool automatic = dev.info.features & DRM_PERFCTR_FEATURE_AUTOMATIC;

	igt_perfctr_sysctl("paranoid", "0");
	igt_assert_eq_u64(dev.info.unprivileged_min_period_ns, 10 * MS);
	igt_fork(child, 1) {
		igt_drop_to(IGT_NOBODY, 0);
		igt_assert_eq(try_period(9 * MS), -EPERM);
		igt_assert_eq(try_period(10 * MS), 0);
		igt_assert_eq(try_automatic(), automatic ? -EPERM : -EOPNOTSUPP);
	}
	igt_waitchildren();
	igt_assert_eq(try_period(9 * MS), 0);
	igt_assert_eq(try_automatic(), automatic ? 0 : -EOPNOTSUPP);
	igt_perfctr_sysctl("paranoid", "1");
}

static void permission_fd_passed(void)
{
	int sockets[2];

	igt_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	igt_fork(child, 1) {
		struct igt_perfctr_session s;
		struct igt_perfctr_device mine = dev;

		igt_drop_to(IGT_NOBODY, 0);
		close(dev.fd);
		igt_perfctr_session_receive(sockets[1], &s, &mine);
		igt_assert_eq(igt_perfctr_start(&s, 1), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_assert_eq(igt_perfctr_stop(&s, 3), 0);
		igt_assert_eq(igt_perfctr_session_try_bare(&s), -EACCES);
	}
	{
		struct igt_perfctr_device mine;
		struct igt_perfctr_session s;

		igt_perfctr_reopen(&mine, &dev);
		igt_perfctr_session_open_with(&s, &mine, SLOTS, 0);
		igt_perfctr_session_send(sockets[0], &s);
		igt_waitchildren();
		igt_assert_eq(igt_perfctr_drain(&s), 2);
		igt_assert_eq_u64(s.last.user_data, 3);
		igt_perfctr_session_close(&s);
		igt_perfctr_close(&mine);
	}
	close(sockets[0]);
	close(sockets[1]);
}

/* an event of ours at a function, removed at the end of the program if not before */
static void add_probe(const char *event, const char *where)
{
	char text[128];

	igt_require_f(!access(IGT_TRACING "kprobe_events", W_OK), "no kprobes\n");
	snprintf(text, sizeof(text), "-:%s", event);
	igt_write_at_exit(IGT_TRACING "kprobe_events", text);
	snprintf(text, sizeof(text), "p:%s %s", event, where);
	igt_require_f(!igt_write(IGT_TRACING "kprobe_events", text), "no probe at %s\n", where);
}

static void remove_probe(const char *event)
{
	char text[128];

	snprintf(text, sizeof(text), "-:%s", event);
	igt_assert_eq(igt_write(IGT_TRACING "kprobe_events", text), 0);
}

#define CAPABLE "perfctr/capable"

/* how many capability checks of a OPEN by an unprivileged user write a denial to the audit log */
static unsigned int audited(uint64_t period_ns, int result)
{
	unsigned int count, hard;
	char filter[96];

	/* CAP_PERFMON or CAP_SYS_ADMIN, without CAP_OPT_NOAUDIT */
	snprintf(filter, sizeof(filter), "(cap == 38 || cap == 21) && !(opts & 2) && %s == %d",
		 "common_pid", getpid());
	igt_trace_begin(CAPABLE, filter);
	igt_assert_eq(setresuid(IGT_NOBODY, IGT_NOBODY, 0), 0);
	igt_assert_eq(try_period(period_ns), result);
	igt_assert_eq(setresuid(0, 0, 0), 0);
	count = igt_trace_end(CAPABLE, "security_capable", &hard);
	igt_info("OPEN returned %d: %u checks\n", result, count);
	return count;
}

#define ASKED "perfctr/asked"

/* perf's question about a whole machine, PERF_SECURITY_CPU, goes to all security modules */
static void permission_lsm(void)
{
	unsigned int hard;
	char filter[64];

	add_probe(ASKED, "security_perf_event_open type=$arg1:s32");
	snprintf(filter, sizeof(filter), "type == 1 && common_pid == %d", getpid());
	igt_trace_begin(ASKED, filter);
	igt_assert_eq(try_period(0), 0);
	igt_assert_eq(igt_trace_end(ASKED, "security_perf_event_open", &hard) > 0,
		      kernel_has("perf_allow_cpu"));
	remove_probe(ASKED);
}

static void permission_audit(void)
{
	add_probe(CAPABLE, "security_capable cap=$arg3:s32 opts=$arg4:u32");
	igt_assert_lt(0, audited(0, -EACCES));
	igt_perfctr_sysctl("paranoid", "0");
	igt_assert_eq(audited(0, 0), 0);
	igt_assert_eq(audited(dev.info.unprivileged_min_period_ns - 1, -EPERM), 0);
	igt_perfctr_sysctl("paranoid", "1");
	remove_probe(CAPABLE);
}

static void permission_tests(void)
{
	/* Covers: open -EACCES, Permissions */
	igt_describe("without CAP_PERFMON counters are -EACCES");
	igt_subtest("permission-none") permission_with(0, -EACCES);
	/* Covers: open -EACCES */
	igt_describe("CAP_PERFMON alone is enough for everything");
	igt_subtest("permission-cap-perfmon") permission_with(1ull << CAP_PERFMON, 0);
	igt_describe("CAP_PERFMON in a user namespace grants nothing: -EACCES");
	igt_subtest("permission-namespace") permission_namespace();
	/* Covers: open -EACCES */
	igt_describe("a missing capability is audited only where it decides about -EACCES");
	igt_subtest("permission-audit") permission_audit();
	igt_describe("CAP_SYS_ADMIN includes CAP_PERFMON");
	igt_subtest("permission-cap-sys-admin") permission_with(1ull << CAP_SYS_ADMIN, 0);
	igt_describe("QUERY needs no capability, but shows neither the set in use nor the last "
		     "collection to callers that may not OPEN");
	igt_subtest("permission-query") permission_query();
	/* Covers: open -EACCES, Permissions */
	igt_describe("kernel.perf_event_paranoid permits OPEN and what QUERY shows at 0 and -1, "
		     "where the kernel exports perf_allow_cpu(); elsewhere CAP_PERFMON alone does");
	igt_subtest("permission-perf") permission_perf();
	/* Covers: Permissions */
	igt_describe("security modules are asked about each OPEN, CAP_PERFMON or not, where the "
		     "kernel exports perf_allow_cpu(), and nowhere else");
	igt_subtest("permission-lsm") permission_lsm();
	/* Covers: open -EPERM, open -EOPNOTSUPP */
	igt_describe("paranoid=0 opens GPU counters to every user, with a limited rate, but no "
		     "other PMUs, for which perf has its own policy");
	igt_subtest("permission-paranoid") permission_paranoid();
	/* Covers: open -EACCES */
	igt_describe("SoC blocks also need perf's permission: -EACCES without it");
	igt_subtest("permission-soc") permission_soc();
	/* Covers: open -EPERM */
	igt_describe("unprivileged sessions are slow: a period below 10 ms, which QUERY reports, "
		     "and AUTOMATIC samples need CAP_PERFMON: -EPERM");
	igt_subtest("permission-rate") permission_rate();
	igt_describe(
		"a session works in a process that received its descriptor but could not open it");
	igt_subtest("permission-fd-passed") permission_fd_passed();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_hold_power(&dev);
	}
	many_tests();
	process_tests();
	race_tests();
	permission_tests();
	igt_fixture()
		igt_perfctr_close(&dev);
}
