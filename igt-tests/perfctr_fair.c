// SPDX-License-Identifier: MIT
/*
 * What users who ask for all that they can have leave to others.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_rights.h"
#include "igt_small.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION("Users without rights leave time, counters and the CPU to others");

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PAGE 4096

/* a host that is busy with other things spoils one measurement, a defect all of them */
#define ATTEMPTS 5
/* nor is one that starves others most of the time lucky twice */
#define FAIR_ATTEMPTS 2
#define ATTACKERS 6

static struct igt_perfctr_device dev;

/* --- attackers -------------------------------------------------------------- */

/* attackers that have prepared themselves; shared with them */
static unsigned int *prepared;
/* kernels with checkers are many times slower, and attackers run with them, too */
static bool sanitized;

/* those of the subtest; one that failed has left some */
static pid_t pids[ATTACKERS];

static void end_attack(void)
{
	for (unsigned int i = 0; i < ATTACKERS; i++) {
		if (!pids[i])
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		pids[i] = 0;
	}
}

static void begin_attack(unsigned int attackers, void (*attack)(unsigned int seed))
{
	end_attack();
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
}

/* the virtual firmware, which has no CPU of its own, may not answer in time where all is slow */
static void start(struct igt_perfctr_session *s)
{
	enum { TRIES = 20 };
	int ret = igt_perfctr_start(s, 0);

	for (unsigned int i = 0; sanitized && ret == -ETIMEDOUT && i < TRIES; i++)
		ret = igt_perfctr_start(s, 0);
	igt_assert_eq(ret, 0);
}

/* an attacker that is prepared, and reads what it gets until killed */
static void read_for_ever(struct igt_perfctr_session *sessions, unsigned int count,
			  unsigned int pause_us)
{
	__atomic_add_fetch(prepared, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		for (unsigned int i = 0; i < count; i++)
			igt_perfctr_drain(&sessions[i]);
		usleep(pause_us);
	}
}

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
	igt_small_come_and_go(mine.fd, bo, UINT64_MAX);
}

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
		start(&sessions[i]);
	}
	read_for_ever(sessions, SESSIONS, 2000);
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

	begin_attack(attackers, attack);
	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 1024;
	s.setup.period_ns = period_ns;
	igt_perfctr_session_create(&s);
	start(&s);
	end_ns = igt_raw_ns() + span_ns;
	while (igt_raw_ns() < end_ns) {
		uint64_t before_ns = igt_raw_ns(), took_ns;

		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		took_ns = igt_raw_ns() - before_ns;
		if (took_ns > fared.worst_ns)
			fared.worst_ns = took_ns;
		igt_perfctr_drain(&s);
		usleep(20000);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	end_attack();
	igt_perfctr_drain(&s);
	status = igt_perfctr_status(&s);
	fared.periodic = s.periodic;
	fared.due = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%u attackers: %llu of %llu periods on time, slowest SAMPLE took %llu us\n",
		 attackers, (unsigned long long)s.periodic, (unsigned long long)fared.due,
		 (unsigned long long)fared.worst_ns / 1000);
	/* late or not, each period is accounted for */
	igt_assert_lte_u64(fared.due, s.periodic + status.merged_periods + 2);
	if (!sanitized)
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

			r->type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
			r->cpu = DRM_PERFCTR_CPU_ANY;
			r->mask = 0xffff;
			r->pmu_type = type;
			/* a filter for each */
			r->config1 = ((i + 1) & 7) | ((i + 1) & ~7u) << 5;
		}
		s[k].setup.request_count = BLOCKS;
		s[k].setup.period_ns = MS + k * 300000;
		igt_perfctr_session_create(&s[k]);
		start(&s[k]);
	}
	read_for_ever(s, SESSIONS, 1000);
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

	igt_require_f(igt_read_int(IGT_UCF_TYPE) > 0, "no PMU nvidia_ucf_pmu_0\n");
	/* skips where the kernel does not tell, which is not for the middle of an attack */
	igt_sampler_ns(&times);
	igt_write_int(IGT_PERF_PARANOID, 0);
	begin_attack(USERS, have_many_events);
	start_ns = igt_raw_ns();
	worker_ns = igt_sampler_ns(&times);
	usleep(2000000);
	worker_ns = igt_sampler_ns(&times) - worker_ns;
	span_ns = igt_raw_ns() - start_ns;
	end_attack();
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
	igt_describe("six attackers of two users take neither time nor periods from a session");
	igt_subtest("nobody-starves") nobody_starves(be_malicious);
	igt_describe(
		"sessions with many waiters for their eventfd cost others no more than write() to "
		"such an eventfd does");
	igt_subtest("nobody-starves-waiters") nobody_starves_beside(write_often, be_told_often);
	igt_describe("nor do six users whose sessions last for one START, at a rate that root set");
	igt_subtest("nobody-starves-teardown") nobody_starves_teardown();
	igt_describe(
		"the worker leaves half of a CPU to others, however many perf events users have");
	igt_subtest("others-have-time") others_have_time();
	igt_fixture()
	{
		end_attack();
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
