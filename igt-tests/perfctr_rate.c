// SPDX-License-Identifier: MIT
/*
 * How often one user may have counters collected.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
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

static struct igt_perfctr_device dev;

/* --- one user ------------------------------------------------------------------ */

#define MIN_DEMANDS 6

/* SAMPLE, and START where it must be, as fast as it goes; counts what demanded a collection */
static unsigned int hammer(int fd, uint32_t handle, uint64_t end_ns)
{
	unsigned int count = 0;

	/* a busy machine takes longer for what tells a limit from a refusal */
	while (igt_raw_ns() < end_ns || count < MIN_DEMANDS) {
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
	uint64_t start_ns = igt_raw_ns(), most;

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
			h[i].end_ns = igt_raw_ns() + span_ns;
			igt_assert_eq(pthread_create(&id[i], NULL, hammer_thread, &h[i]), 0);
		}
		for (int i = 0; i < threads; i++) {
			pthread_join(id[i], NULL);
			__atomic_fetch_add(total, h[i].count, __ATOMIC_RELAXED);
		}
	}
	igt_waitchildren();
	most = (igt_raw_ns() - start_ns) * 50 * TICKS / SECOND + children * threads;
	igt_perfctr_default_limits();
	igt_info("%u collections demanded in %llu ms, at most %llu may be\n", *total,
		 (unsigned long long)(igt_raw_ns() - start_ns) / MS, (unsigned long long)most);
	igt_assert_lte_u64(*total, most);
	/* it is a limit, not a refusal */
	igt_assert_lte(children * threads * MIN_DEMANDS, (int)*total);
	munmap(total, PAGE);
}

/* a session, a sample and nothing left, then the same in a process that is born later */
static void user_rate_teardown(void)
{
	const unsigned int processes = 4;
	uint64_t start_ns = igt_raw_ns(), least_ns;

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
		 (unsigned long long)(igt_raw_ns() - start_ns) / MS,
		 (unsigned long long)least_ns / MS);
	igt_assert_lte_u64(least_ns, igt_raw_ns() - start_ns);

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_fork(child, 1)
	{
		struct igt_perfctr_device mine;
		unsigned int count;
		uint64_t most;
		uint32_t bo;

		bo = igt_small_become(&mine, &dev, IGT_NOBODY);
		start_ns = igt_raw_ns();
		count = igt_small_come_and_go(mine.fd, bo, start_ns + 500 * MS);
		most = (igt_raw_ns() - start_ns) * 50 * TICKS / SECOND + 1;
		igt_info("%u sessions started in %llu ms, at most %llu may be\n", count,
			 (unsigned long long)(igt_raw_ns() - start_ns) / MS,
			 (unsigned long long)most);
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
		start_ns = igt_raw_ns();
		for (unsigned int i = 0; i < jobs; i++)
			igt_vsoc_submit(&mine, commands, samples);
		/* the first turn is at once */
		least_ns = (jobs * samples - 1) * SECOND / (50 * TICKS);
		igt_info("%u samples in jobs submitted in %llu ms, at least %llu\n", jobs * samples,
			 (unsigned long long)(igt_raw_ns() - start_ns) / MS,
			 (unsigned long long)least_ns / MS);
		igt_assert_lte_u64(least_ns, igt_raw_ns() - start_ns);
	}
	igt_waitchildren();
	igt_perfctr_default_limits();
}

/* samples of one job that a user may have at once, and their distance after that */
#define BURST 16

/* turns that a job has taken can be saved up, as they have passed when it begins */
static void user_rate_burst(void)
{
	enum { SAMPLES = 64 };
	const unsigned int rate_hz = 50;
	struct drm_vsoc_command commands[SAMPLES] = { 0 };
	static struct igt_vsoc_truth before, after;
	uint64_t first_ns = 0, last_ns = 0, most;
	struct igt_perfctr_session s;
	unsigned int published = 0;

	igt_perfctr_sysctl("max_sample_rate_hz", "50");
	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 2 * SAMPLES;
	igt_perfctr_create_as_nobody(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_truth(&dev, &before);
	for (unsigned int i = 0; i < SAMPLES; i++) {
		commands[i].type = DRM_VSOC_CMD_SAMPLE;
		commands[i].sample.handle = s.handle;
	}
	igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, commands, SAMPLES));
	igt_vsoc_work(&dev, 1);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_default_limits();
	for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, s.extract + i);

		if (!(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM))
			continue;
		if (!published++)
			first_ns = h->end_ns;
		last_ns = h->end_ns;
	}
	igt_perfctr_drain(&s);
	most = BURST + (last_ns - first_ns) * rate_hz * TICKS / SECOND + 1;
	igt_info("%u samples of a job in %llu us, %llu there may be\n", published,
		 (unsigned long long)(last_ns - first_ns) / 1000, (unsigned long long)most);
	igt_assert_lte_u64(published, most);
	/* begin and end of some parts, at once */
	igt_assert_lte(BURST, published);
	/* none is forgotten */
	igt_assert_eq_u64(s.in_stream + s.merged_others, SAMPLES);
	igt_vsoc_assert_conserved(&s, &before, &after);
	igt_perfctr_session_fini(&s);
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
			start_ns = igt_raw_ns();
			igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_STOP, handle), 0);
			if (igt_raw_ns() - start_ns < stop_ns)
				stop_ns = igt_raw_ns() - start_ns;
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
		start_ns = igt_raw_ns();
		igt_assert_eq(igt_small_command(mine.fd, DRM_PERFCTR_CMD_SAMPLE, handle),
			      -ENOTCONN);
		igt_assert_lt((igt_raw_ns() - start_ns) / MS, 5000);
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
	start_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_start(&few, 0), 0);
	for (unsigned int i = 0; all.automatic < transitions || igt_raw_ns() < start_ns + span_ns;
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
	most = most_turns(igt_raw_ns() - start_ns, rate_hz);
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
	start_ns = igt_raw_ns();
	for (unsigned int k = 0; k < UNEQUAL; k++)
		igt_assert_eq(igt_perfctr_start(&s[k], 0), 0);
	/* nobody starves: each of them has its samples, though late ones */
	while (least < enough || igt_raw_ns() < start_ns + span_ns) {
		least = igt_times_gather(&times, s, UNEQUAL);
		if (root_period_ns)
			igt_perfctr_drain(&root);
		igt_sleep_ms(10);
	}
	most = most_turns(igt_raw_ns() - start_ns, rate_hz);
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

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_perfctr_sysctl("paranoid", "0");
		igt_perfctr_default_limits();
	}
	igt_describe("START and SAMPLE of all of a user's processes keep their distance");
	igt_subtest("user-rate") user_rate();
	igt_describe("samples in jobs keep the same distance, before the job is queued");
	igt_subtest("user-rate-jobs") user_rate_jobs();
	igt_describe("turns that jobs have saved up do not come at once: the rest is merged");
	igt_subtest("user-rate-burst") user_rate_burst();
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
	igt_fixture()
	{
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
