// SPDX-License-Identifier: MIT
/*
 * How often one user may have counters collected, and what that leaves to others.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_rights.h"
#include "igt_small.h"
#include "igt_sys.h"
#include "igt_times.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION(
	"A user without rights has collections at a limited rate, so others have theirs");

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PAGE 4096
/* collections of an unprivileged user per shortest period */
#define TICKS 4

/* a host that is busy with other things spoils one measurement, a defect all of them */
#define ATTEMPTS 5
/* nor is one that starves others most of the time lucky twice */
#define FAIR_ATTEMPTS 2
#define ATTACKERS 6

static struct igt_perfctr_device dev;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

/* --- one user ------------------------------------------------------------------ */

#define MIN_DEMANDS 6

/* SAMPLE, and START where it must be, as fast as it goes; counts what demanded a collection */
static unsigned int hammer(int fd, uint32_t handle, uint64_t end_ns)
{
	unsigned int count = 0;

	/* a busy machine takes longer for what tells a limit from a refusal */
	while (now_ns() < end_ns || count < MIN_DEMANDS) {
		/* a ring of one slot has no room but for STOP */
		if (!igt_small_command(fd, DRM_PERFCTR_CMD_START, handle))
			count++;
		if (igt_small_command(fd, DRM_PERFCTR_CMD_SAMPLE, handle) == -ENOSPC)
			count++;
	}
	return count;
}

struct hammer {
	int fd;
	uint32_t handle;
	uint64_t end_ns;
	unsigned int count;
};

static void *hammer_thread(void *data)
{
	struct hammer *h = data;

	h->count = hammer(h->fd, h->handle, h->end_ns);
	return NULL;
}

static void user_rate(void)
{
	const int children = 2, threads = 2;
	const uint64_t span_ns = 500 * MS;
	unsigned int *total =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t start_ns = now_ns(), most;

	igt_assert(total != MAP_FAILED);
	/* slow enough to be noticed on any machine */
	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, children)
	{
		struct hammer h[threads];
		pthread_t id[threads];

		for (int i = 0; i < threads; i++) {
			struct igt_perfctr_device mine;
			uint32_t bo;

			igt_perfctr_reopen(&mine, &dev);
			bo = igt_small_buffer(mine.fd, 2 * PAGE);
			h[i] = (struct hammer){ mine.fd, bo, 0, 0 };
		}
		igt_drop_to(IGT_NOBODY, 0);
		for (int i = 0; i < threads; i++) {
			int handle = igt_small_setup(h[i].fd, h[i].handle, h[i].handle);

			igt_assert_lt(0, handle);
			h[i].handle = handle;
			h[i].end_ns = now_ns() + span_ns;
			igt_assert_eq(pthread_create(&id[i], NULL, hammer_thread, &h[i]), 0);
		}
		for (int i = 0; i < threads; i++) {
			pthread_join(id[i], NULL);
			__atomic_fetch_add(total, h[i].count, __ATOMIC_RELAXED);
		}
	}
	igt_waitchildren();
	most = (now_ns() - start_ns) * 50 * TICKS / SECOND + children * threads;
	igt_perfctr_default_limits();
	igt_info("%u collections demanded in %llu ms, at most %llu may be\n", *total,
		 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)most);
	igt_assert_lte_u64(*total, most);
	/* it is a limit, not a refusal */
	igt_assert_lte(children * threads * MIN_DEMANDS, (int)*total);
	munmap(total, PAGE);
}

/* what a session that does not last leaves of the limit: its process's turn, on a file of its own */
static unsigned int come_and_go(int fd, uint32_t bo, uint64_t end_ns)
{
	unsigned int count = 0;

	while (now_ns() < end_ns || count < MIN_DEMANDS) {
		int handle = igt_small_setup(fd, bo, bo);

		igt_assert_lt(0, handle);
		if (!igt_small_command(fd, DRM_PERFCTR_CMD_START, handle))
			count++;
		/* TEARDOWN ends active sessions, too */
		if (count % 2)
			igt_assert_eq(igt_small_command(fd, DRM_PERFCTR_CMD_STOP, handle), 0);
		igt_small_teardown(fd, handle);
	}
	return count;
}

/* a session, a sample and nothing left, then the same in a process that is born later */
static void user_rate_teardown(void)
{
	const unsigned int processes = 4;
	uint64_t start_ns = now_ns(), least_ns;

	/* longer than a process needs on any machine that is not busy */
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	for (unsigned int i = 0; i < processes; i++) {
		igt_fork(child, 1)
		{
			struct igt_perfctr_device mine;
			uint32_t bo;
			int handle;

			bo = igt_small_become(&mine, &dev, IGT_NOBODY);
			handle = igt_small_setup(mine.fd, bo, bo);
			igt_assert_lt(0, handle);
			igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_START, handle), 0);
		}
		igt_waitchildren();
	}
	least_ns = (processes - 1) * SECOND / TICKS;
	igt_info("%u processes, one START each: %llu ms, at least %llu\n", processes,
		 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)least_ns / MS);
	igt_assert_lte_u64(least_ns, now_ns() - start_ns);

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		unsigned int count;
		uint64_t most;
		uint32_t bo;

		bo = igt_small_become(&mine, &dev, IGT_NOBODY);
		start_ns = now_ns();
		count = come_and_go(mine.fd, bo, start_ns + 500 * MS);
		most = (now_ns() - start_ns) * 50 * TICKS / SECOND + 1;
		igt_info("%u sessions started in %llu ms, at most %llu may be\n", count,
			 (unsigned long long)(now_ns() - start_ns) / MS, (unsigned long long)most);
		igt_assert_lte_u64(count, most);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/* a SAMPLE in a job is a demand like any other: its turn comes before the job is queued */
static void user_rate_jobs(void)
{
	const unsigned int samples = 8, jobs = 3;

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, 1)
	{
		struct drm_vsoc_command commands[8] = { 0 };
		struct igt_perfctr_device mine;
		uint64_t start_ns, least_ns;
		uint32_t bo;
		int handle;

		igt_perfctr_reopen(&mine, &dev);
		bo = igt_small_buffer(mine.fd, 2 * PAGE);
		handle = igt_small_setup(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < samples; i++) {
			commands[i].type = DRM_VSOC_CMD_SAMPLE;
			commands[i].sample.handle = handle;
		}
		/* root's session may */
		igt_vsoc_wait(&mine, igt_vsoc_submit(&mine, commands, samples));
		igt_small_teardown(mine.fd, handle);

		igt_drop_to(IGT_NOBODY, 0);
		handle = igt_small_setup(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < samples; i++)
			commands[i].sample.handle = handle;
		start_ns = now_ns();
		for (unsigned int i = 0; i < jobs; i++)
			igt_vsoc_submit(&mine, commands, samples);
		/* the first turn is at once */
		least_ns = (jobs * samples - 1) * SECOND / (50 * TICKS);
		igt_info("%u samples in jobs submitted in %llu ms, at least %llu\n", jobs * samples,
			 (unsigned long long)(now_ns() - start_ns) / MS,
			 (unsigned long long)least_ns / MS);
		igt_assert_lte_u64(least_ns, now_ns() - start_ns);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

static void on_alarm(int signo)
{
}

static void rate_interrupted(void)
{
	/* a quarter of a second between two samples */
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	igt_fork(child, 1)
	{
		const struct itimerval soon = { .it_interval.tv_usec = 30000,
						.it_value.tv_usec = 30000 };
		const struct itimerval never = { 0 };
		struct sigaction action = { .sa_handler = on_alarm };
		uint64_t start_ns, stop_ns = UINT64_MAX;
		struct igt_perfctr_device mine;
		bool interrupted = false;
		uint32_t bo;
		int handle;

		bo = igt_small_become(&mine, &dev, IGT_NOBODY);
		handle = igt_small_setup(mine.fd, bo, bo);
		sigaction(SIGALRM, &action, NULL);
		/* on a machine that stands still in between it is the next one's turn at once */
		for (unsigned int i = 0; i < ATTEMPTS && !interrupted; i++) {
			int ret;

			igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_START, handle), 0);
			start_ns = now_ns();
			igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_STOP, handle), 0);
			if (now_ns() - start_ns < stop_ns)
				stop_ns = now_ns() - start_ns;
			setitimer(ITIMER_REAL, &soon, NULL);
			ret = igt_small_command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle);
			setitimer(ITIMER_REAL, &never, NULL);
			igt_assert(ret == -EINTR || ret == -ENOTCONN);
			interrupted = ret == -EINTR;
			/* one slot, and STOP's sample is in it */
			igt_small_teardown(mine.fd, handle);
			handle = igt_small_setup(mine.fd, bo, bo);
		}
		igt_assert(interrupted);
		/* STOP does not wait */
		igt_assert_lt(stop_ns / MS, 200);
		/* the turn was not lost */
		start_ns = now_ns();
		igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle),
			      -ENOTCONN);
		igt_assert_lt((now_ns() - start_ns) / MS, 5000);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/* a job waits for the turns of its samples before it is queued, and a signal ends that */
static void submit_interrupted(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	igt_fork(child, 1)
	{
		const struct itimerval often = { .it_interval.tv_usec = 30000,
						 .it_value.tv_usec = 30000 };
		const struct itimerval never = { 0 };
		struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
		struct drm_vsoc_command commands[64] = { 0 };
		struct drm_vsoc_command draw[3];
		struct igt_perfctr_device mine;
		uint64_t job;
		uint32_t bo;
		int handle;

		bo = igt_small_become(&mine, &dev, IGT_NOBODY);
		handle = igt_small_setup(mine.fd, bo, bo);
		igt_assert_lt(0, handle);
		for (unsigned int i = 0; i < 64; i++) {
			commands[i].type = DRM_VSOC_CMD_SAMPLE;
			commands[i].sample.handle = handle;
		}
		igt_vsoc_mixed(draw, 1);
		job = igt_vsoc_submit(&mine, draw, 3);
		sigaction(SIGALRM, &action, NULL);
		/* 16 s without a signal */
		setitimer(ITIMER_REAL, &often, NULL);
		igt_assert_eq(igt_vsoc_submit_to(mine.fd, DRM_VSOC_CTX_DEFAULT, commands, 64, NULL,
						 NULL),
			      -EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		/* nothing was queued, and nothing holds the session */
		igt_assert_eq_u64(igt_vsoc_submit(&mine, draw, 3), job + 1);
		igt_vsoc_wait(&mine, job + 1);
		igt_small_teardown(mine.fd, handle);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/* --- samples of their own accord --------------------------------------------- */

/* turns of users in a span: at both ends, too */
static uint64_t most_turns(uint64_t span_ns, unsigned int rate_hz)
{
	return span_ns * rate_hz * TICKS / SECOND + 1;
}

/* one AUTOMATIC session of root, to which each transition is told, and one of a user */
static void user_rate_automatic(void)
{
	const unsigned int transitions = 100, rate_hz = 1;
	const uint64_t span_ns = 1200 * MS;
	struct igt_perfctr_session all, few;
	static struct igt_vsoc_truth before, after;
	uint64_t start_ns, told_all, told_few, most;

	igt_perfctr_sysctl("max_sample_rate_hz", "1");
	igt_perfctr_session_init(&all, &dev);
	all.setup.flags = DRM_PERFCTR_SETUP_AUTOMATIC;
	all.setup.slots = 64;
	few = all;
	igt_perfctr_session_create(&all);
	igt_perfctr_create_as_nobody(&few);

	igt_assert_eq(igt_perfctr_start(&all, 0), 0);
	igt_vsoc_truth(&dev, &before);
	start_ns = now_ns();
	igt_assert_eq(igt_perfctr_start(&few, 0), 0);
	for (unsigned int i = 0; all.automatic < transitions || now_ns() < start_ns + span_ns;
	     i++) {
		igt_vsoc_debugfs(&dev, "cores_on", i % 2 ? "0x50005" : "0x0");
		igt_perfctr_wait_unread(&all, 1);
		igt_perfctr_drain(&all);
		igt_perfctr_drain(&few);
		if (i % 16 == 15)
			igt_vsoc_work(&dev, i);
	}
	igt_vsoc_debugfs(&dev, "cores_on", "0x50005");
	/* what waits for its turn has it, though nothing happens any more */
	for (unsigned int i = 0; igt_perfctr_status(&few).pending_merged; i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
	igt_perfctr_drain(&few);
	igt_assert(few.last.flags & DRM_PERFCTR_SAMPLE_AUTOMATIC);
	most = most_turns(now_ns() - start_ns, rate_hz);
	igt_assert_eq(igt_perfctr_stop(&few, 0), 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq(igt_perfctr_stop(&all, 0), 0);
	igt_perfctr_drain(&few);
	igt_perfctr_drain(&all);
	igt_perfctr_default_limits();

	told_all = all.automatic + all.merged_others;
	told_few = few.automatic + few.merged_others;
	igt_info("%llu transitions: root has %llu samples, a user %llu and may have %llu\n",
		 (unsigned long long)told_all, (unsigned long long)all.automatic,
		 (unsigned long long)few.automatic, (unsigned long long)most);
	igt_assert_lte_u64(most + 1, all.automatic);
	igt_assert_lte_u64(few.automatic, most);
	igt_assert_lte_u64(2, few.automatic);
	/* those without a sample are counted; of the last ones STOP may have cut one off */
	igt_assert_lte_u64(told_all, told_few + 2);
	igt_assert_lte_u64(told_few, told_all + 2);
	igt_vsoc_assert_conserved(&few, &before, &after);
	igt_perfctr_session_fini(&few);
	igt_perfctr_session_fini(&all);
}

#define UNEQUAL 32

/*
 * Many sessions of a user with unequal periods, beside one of root with that period, or none.
 * However many there are, they get no more times together than one user may have.
 */
static void unequal_periods(uint64_t root_period_ns)
{
	const unsigned int rate_hz = 100, enough = 20;
	const uint64_t span_ns = 500 * MS;
	static struct igt_perfctr_session s[UNEQUAL];
	static struct igt_times times;
	struct igt_perfctr_session root;
	unsigned int found;
	uint64_t least = 0;
	uint64_t start_ns, most;

	times.count = 0;
	for (unsigned int k = 0; k < UNEQUAL; k++) {
		igt_perfctr_session_init(&s[k], &dev);
		s[k].setup.slots = 64;
		s[k].setup.period_ns = SECOND / rate_hz + k * 97000;
		igt_perfctr_create_as_nobody(&s[k]);
	}
	if (root_period_ns) {
		igt_perfctr_session_setup(&root, &dev, 1024, root_period_ns);
		igt_assert_eq(igt_perfctr_start(&root, 0), 0);
	}
	start_ns = now_ns();
	for (unsigned int k = 0; k < UNEQUAL; k++)
		igt_assert_eq(igt_perfctr_start(&s[k], 0), 0);
	/* nobody starves: each of them has its samples, though late ones */
	while (least < enough || now_ns() < start_ns + span_ns) {
		least = igt_times_gather(&times, s, UNEQUAL);
		if (root_period_ns)
			igt_perfctr_drain(&root);
		igt_sleep_ms(10);
	}
	most = most_turns(now_ns() - start_ns, rate_hz);
	for (unsigned int k = 0; k < UNEQUAL; k++)
		igt_perfctr_session_fini(&s[k]);
	if (root_period_ns)
		igt_perfctr_session_fini(&root);
	found = igt_times_distinct(&times);
	igt_info("%u samples have %u times, %llu there may be\n", times.count, found,
		 (unsigned long long)most);
	igt_assert_lte_u64(found, most);
}

static void user_rate_periods(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "100");
	unequal_periods(0);
	unequal_periods(200000);
	igt_perfctr_default_limits();
}

/* --- others ----------------------------------------------------------------- */

/* attackers that have prepared themselves; shared with them */
static unsigned int *prepared;

/* everything that a user can do to keep the device busy, until killed */
static void be_malicious(unsigned int seed)
{
	struct igt_perfctr_device mine;
	struct drm_vsoc_command commands[3];
	struct drm_vsoc_submit submit = {
		.commands = (uintptr_t)commands,
		.command_count = 3,
		.command_stride = sizeof(commands[0]),
	};
	uint32_t bo;
	int handle;

	bo = igt_small_become(&mine, &dev, IGT_NOBODY - seed % 2);
	igt_vsoc_mixed(commands, seed);
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		struct drm_perfctr_status status;
		uint32_t h;

		handle = igt_small_setup(mine.fd, bo, bo);
		h = handle;
		igt_small_command(mine.fd, DRM_PERFCTR_CMD_START, handle);
		for (unsigned int i = 0; i < 20; i++) {
			igt_small_command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle);
			igt_perfctr_control(mine.fd, DRM_PERFCTR_CMD_STATUS, &h, &status,
					    sizeof(status));
			igt_perfctr_ioctl(mine.fd, DRM_IOCTL_VSOC_SUBMIT, &submit);
		}
		igt_small_command(mine.fd, DRM_PERFCTR_CMD_STOP, handle);
		igt_small_teardown(mine.fd, handle);
	}
}

/* the same with sessions that do not last, and a user for each attacker, until killed */
static void come_and_go_for_ever(unsigned int seed)
{
	struct igt_perfctr_device mine;
	uint32_t bo;

	bo = igt_small_become(&mine, &dev, IGT_NOBODY - seed);
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	come_and_go(mine.fd, bo, UINT64_MAX);
}

/* kernels with checkers are many times slower, and attackers run with them, too */
static bool sanitized;

/* --- waiters: each signal of an eventfd walks all of them ---------------------- */

/* as many as one user may have; copies of the descriptor, as an epoll takes each of them once */
static void have_many_waiters(int fd)
{
	const struct rlimit descriptors = { 4096, 4096 };
	enum { COPIES = 2000, EPOLLS = 10 };
	/* a signal takes a second there */
	const unsigned int epolls = sanitized ? 1 : EPOLLS, each = COPIES / (sanitized ? 20 : 1);
	struct epoll_event event = { .events = EPOLLIN };
	int copies[COPIES];

	setrlimit(RLIMIT_NOFILE, &descriptors);
	for (unsigned int i = 0; i < each; i++)
		copies[i] = dup(fd);
	for (unsigned int n = 0; n < epolls; n++) {
		int epoll = epoll_create1(EPOLL_CLOEXEC);

		for (unsigned int i = 0; i < each; i++)
			if (epoll_ctl(epoll, EPOLL_CTL_ADD, copies[i], &event))
				_exit(1);
	}
}

/* sessions of short periods signal it, until killed */
static void be_told_often(unsigned int seed)
{
	enum { SESSIONS = 16 };
	struct igt_perfctr_session sessions[SESSIONS];
	int fd = eventfd(0, EFD_NONBLOCK);
	struct igt_perfctr_device mine;

	igt_perfctr_reopen(&mine, &dev);
	igt_drop_to(IGT_NOBODY - seed % 2, 0);
	have_many_waiters(fd);
	for (unsigned int i = 0; i < SESSIONS; i++) {
		igt_perfctr_session_init(&sessions[i], &mine);
		sessions[i].setup.slots = 64;
		sessions[i].setup.period_ns = MS;
		sessions[i].setup.eventfd = fd;
		igt_perfctr_session_create(&sessions[i]);
		igt_assert_eq(igt_perfctr_start(&sessions[i], 0), 0);
	}
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		for (unsigned int i = 0; i < SESSIONS; i++)
			igt_perfctr_drain(&sessions[i]);
		usleep(2000);
	}
}

/* what everybody can do without counters, until killed */
static void write_often(unsigned int seed)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	igt_drop_to(IGT_NOBODY - seed % 2, 0);
	have_many_waiters(fd);
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		const uint64_t n = 1;

		if (write(fd, &n, sizeof(n)) != sizeof(n))
			_exit(1);
	}
}

/* --- how others fare --------------------------------------------------------- */

/* how a session of root fares beside so many attackers */
struct fared {
	uint64_t periodic, due, worst_ns;
};

static struct fared fare(unsigned int attackers, void (*attack)(unsigned int seed))
{
	const uint64_t span_ns = 1500 * MS, period_ns = 10 * MS;
	struct igt_perfctr_session s;
	struct drm_perfctr_status status;
	struct fared fared = { 0 };
	uint64_t end_ns;
	pid_t pids[ATTACKERS];

	__atomic_store_n(prepared, 0, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < attackers; i++) {
		pids[i] = fork();
		igt_assert(pids[i] >= 0);
		if (!pids[i])
			attack(i);
	}
	while (__atomic_load_n(prepared, __ATOMIC_SEQ_CST) < attackers) {
		for (unsigned int i = 0; i < attackers; i++)
			igt_assert_f(!waitpid(pids[i], NULL, WNOHANG), "an attacker failed\n");
		usleep(1000);
	}
	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 1024;
	s.setup.period_ns = period_ns;
	igt_perfctr_session_create(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	end_ns = now_ns() + span_ns;
	while (now_ns() < end_ns) {
		uint64_t before_ns = now_ns(), took_ns;

		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		took_ns = now_ns() - before_ns;
		if (took_ns > fared.worst_ns)
			fared.worst_ns = took_ns;
		igt_perfctr_drain(&s);
		usleep(20000);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	for (unsigned int i = 0; i < attackers; i++) {
		kill(pids[i], SIGKILL);
		igt_assert_eq(waitpid(pids[i], NULL, 0), pids[i]);
	}
	igt_perfctr_drain(&s);
	status = igt_perfctr_status(&s);
	fared.periodic = s.periodic;
	fared.due = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%u attackers: %llu of %llu periods on time, slowest SAMPLE took %llu us\n",
		 attackers, (unsigned long long)s.periodic, (unsigned long long)fared.due,
		 (unsigned long long)fared.worst_ns / 1000);
	/* late or not, each period is accounted for */
	igt_assert_lte_u64(fared.due, s.periodic + status.merged_periods + 2);
	igt_assert_lte_u64(status.errors, 0);
	igt_perfctr_session_fini(&s);
	return fared;
}

/*
 * Half of the periods that the machine manages without attackers, or beside @others, at least:
 * they share its few CPUs with the hardware model, and it may be busy with other things for one of the attempts.
 * Nine tenths are usual on two emulated CPUs, three tenths if nobody held the attackers back.
 */
static void nobody_starves_beside(void (*others)(unsigned int seed),
				  void (*attack)(unsigned int seed))
{
	unsigned int fair = 0;

	for (unsigned int i = 0;; i++) {
		struct fared alone = fare(others ? ATTACKERS : 0, others);
		struct fared beside = fare(ATTACKERS, attack);

		if (alone.periodic * beside.due <=
			    (sanitized ? 20 : 2) * beside.periodic * alone.due &&
		    beside.worst_ns <= (sanitized ? 5 : 1) * SECOND + 10 * alone.worst_ns &&
		    ++fair == FAIR_ATTEMPTS)
			return;
		/* not even if all that are left are fair */
		igt_assert_lte(i + FAIR_ATTEMPTS - fair, ATTEMPTS);
	}
}

static void nobody_starves(void (*attack)(unsigned int seed))
{
	nobody_starves_beside(NULL, attack);
}

static void nobody_starves_teardown(void)
{
	igt_perfctr_sysctl("max_sample_rate_hz", "5");
	nobody_starves(come_and_go_for_ever);
	igt_perfctr_default_limits();
}

/* --- SoC blocks ---------------------------------------------------------------- */

/* as many perf events as one user may have, read as often as may be, until killed */
static void have_many_events(unsigned int seed)
{
	enum { SESSIONS = 2, BLOCKS = 16 };
	struct igt_perfctr_session s[SESSIONS];
	const int type = igt_read_int(IGT_UCF_TYPE);
	struct igt_perfctr_device mine;

	igt_perfctr_reopen(&mine, &dev);
	igt_drop_to(IGT_NOBODY - seed, 0);
	for (unsigned int k = 0; k < SESSIONS; k++) {
		igt_perfctr_session_init_empty(&s[k], &mine);
		for (unsigned int i = 0; i < BLOCKS; i++) {
			struct drm_perfctr_block_request *r = &s[k].requests[i];

			r->type = DRM_PERFCTR_BLOCK_UCF;
			r->cpu = DRM_PERFCTR_CPU_ANY;
			r->mask = 0xffff;
			r->pmu_type = type;
			/* a filter for each */
			r->config1 = ((i + 1) & 7) | ((i + 1) & ~7u) << 5;
		}
		s[k].setup.request_count = BLOCKS;
		s[k].setup.period_ns = MS + k * 300000;
		igt_perfctr_session_create(&s[k]);
		igt_assert_eq(igt_perfctr_start(&s[k], 0), 0);
	}
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		for (unsigned int k = 0; k < SESSIONS; k++)
			igt_perfctr_drain(&s[k]);
		usleep(1000);
	}
}

/*
 * The worker runs before everybody else. Half of a CPU is its share after turns that are longer than
 * their distance; four fifths if nothing held it back, on emulated CPUs, where they are.
 */
static void others_have_time(void)
{
	enum { USERS = 4 };
	const int paranoid = igt_read_int(IGT_PERF_PARANOID);
	uint64_t start_ns, span_ns, worker_ns, times;
	pid_t pids[USERS];

	igt_require_f(igt_read_int(IGT_UCF_TYPE) > 0, "no PMU nvidia_ucf_pmu_0\n");
	igt_write_int(IGT_PERF_PARANOID, 0);
	__atomic_store_n(prepared, 0, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < USERS; i++) {
		pids[i] = fork();
		igt_assert(pids[i] >= 0);
		if (!pids[i])
			have_many_events(i);
	}
	while (__atomic_load_n(prepared, __ATOMIC_SEQ_CST) < USERS) {
		for (unsigned int i = 0; i < USERS; i++)
			igt_assert_f(!waitpid(pids[i], NULL, WNOHANG), "an attacker failed\n");
		usleep(1000);
	}
	start_ns = now_ns();
	worker_ns = igt_sampler_ns(&times);
	usleep(2000000);
	worker_ns = igt_sampler_ns(&times) - worker_ns;
	span_ns = now_ns() - start_ns;
	for (unsigned int i = 0; i < USERS; i++) {
		kill(pids[i], SIGKILL);
		igt_assert_eq(waitpid(pids[i], NULL, 0), pids[i]);
	}
	igt_write_int(IGT_PERF_PARANOID, paranoid);
	igt_info("the worker ran for %llu of %llu ms\n", (unsigned long long)worker_ns / MS,
		 (unsigned long long)span_ns / MS);
	igt_assert_lte_u64(worker_ns * 100, span_ns * 62);
}

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_perfctr_sysctl("paranoid", "0");
		igt_perfctr_default_limits();
		/* attackers may not look */
		sanitized = !access("/sys/kernel/debug/kmemleak", F_OK) ||
			    !access("/sys/kernel/debug/kcsan", F_OK);
		prepared =
			mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		igt_assert(prepared != MAP_FAILED);
	}
	igt_describe("START and SAMPLE of all of a user's processes keep their distance");
	igt_subtest("user-rate") user_rate();
	igt_describe("samples in jobs keep the same distance, before the job is queued");
	igt_subtest("user-rate-jobs") user_rate_jobs();
	igt_describe("and so do those of sessions, files and processes that do not last");
	igt_subtest("user-rate-teardown") user_rate_teardown();
	igt_describe("who waits for its turn can be interrupted, and STOP never waits for it");
	igt_subtest("rate-interrupted") rate_interrupted();
	igt_describe("a job that waits for the turns of its samples can be interrupted: -EINTR");
	igt_subtest("submit-interrupted") submit_interrupted();
	igt_describe("transitions, whoever causes them, give a user no more AUTOMATIC samples");
	igt_subtest("user-rate-automatic") user_rate_automatic();
	igt_describe(
		"unequal periods of a user, alone or beside a quicker session, give no more times");
	igt_subtest("user-rate-periods") user_rate_periods();
	igt_describe("six attackers of two users take neither time nor periods from a session");
	igt_subtest("nobody-starves") nobody_starves(be_malicious);
	igt_describe(
		"sessions with many waiters for their eventfd cost others no more than write() to "
		"such an eventfd does");
	igt_subtest("nobody-starves-waiters") nobody_starves_beside(write_often, be_told_often);
	igt_describe("nor do six users whose sessions last for one START, at a rate that root set");
	igt_subtest("nobody-starves-teardown") nobody_starves_teardown();
	igt_describe("the worker leaves half of a CPU to others, however many perf events users have");
	igt_subtest("others-have-time") others_have_time();
	igt_fixture()
	{
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
