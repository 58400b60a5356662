// SPDX-License-Identifier: MIT
/**
 * TEST: Callers wait for hardware that is slow, and for nothing else
 * Description: O_NONBLOCK, signals and unplug while firmware does not answer or a reset takes long.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

enum { SESSIONS = 12, ATTEMPTS = 4 };
/* shorter than the time after which the core gives up an answer of the firmware */
#define SILENT_NS (50 * MS)

static struct igt_perfctr_device dev;
static struct igt_perfctr_session s;

/* START waits for the end of a reset, SAMPLE and STOP for firmware that does not answer */
static void nonblocking(void)
{
	const uint64_t reset_ms = 400;
	uint64_t start_ns;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_assert_eq(fcntl(s.fd, F_SETFL, O_NONBLOCK), 0);
	igt_assert(fcntl(s.fd, F_GETFL) & O_NONBLOCK);
	igt_vsoc_debugfs_u64(&dev, "reset_ms", reset_ms);
	start_ns = igt_raw_ns();
	igt_fork(child, 1)
		igt_vsoc_debugfs(&dev, "reset", "1");
	igt_sleep_ms(reset_ms / 4);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_lte_u64(reset_ms * MS, igt_raw_ns() - start_ns);
	igt_waitchildren();
	igt_vsoc_debugfs(&dev, "reset_ms", "0");
	igt_fault_arm(&dev, "no_ack", 1);
	start_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_lte_u64(SILENT_NS, igt_raw_ns() - start_ns);
	igt_assert_eq_u32(igt_fault_disarm(&dev, "no_ack"), 1);
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
}

static void on_alarm(int number)
{
}

static void *sample_silent(void *data)
{
	*(int *)data = igt_perfctr_sample(&s, 1);
	return NULL;
}

/* what @call returns when a signal arrives while a sample of @s waits for the firmware */
static int interrupt(int (*call)(struct igt_perfctr_session *of), struct igt_perfctr_session *of)
{
	/* without SA_RESTART */
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction before;
	pthread_t thread;
	sigset_t alarms;
	int first, ret;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	igt_assert_eq(sigaction(SIGALRM, &action, &before), 0);
	igt_fault_arm(&dev, "no_ack", 1);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	igt_assert_eq(pthread_create(&thread, NULL, sample_silent, &first), 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	igt_sleep_ms(5);
	setitimer(ITIMER_REAL, &soon, NULL);
	ret = call(of);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert_eq(first, 0);
	igt_fault_disarm(&dev, "no_ack");
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	sigaction(SIGALRM, &before, NULL);
	return ret;
}

static int sample_2(struct igt_perfctr_session *of)
{
	return igt_perfctr_sample(of, 2);
}

/* of 20 attempts, whose timing decides, at least one is interrupted */
static void interrupted(void)
{
	unsigned int interrupts = 0;

	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		int ret;

		igt_perfctr_begin_with(&s, &dev, 8, 0);
		ret = interrupt(sample_2, &s);
		igt_assert(!ret || ret == -EINTR);
		/* no effect, and it can be repeated */
		igt_assert_eq_u64(igt_perfctr_status(&s).published, ret ? 1 : 2);
		interrupts += !!ret;
		if (ret)
			igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(s.samples, 3);
		igt_perfctr_session_close(&s);
	}
	igt_info("%u of 20 were interrupted\n", interrupts);
	igt_assert_lt(0, interrupts);
}

static void interrupted_in_open(void)
{
	unsigned int interrupts = 0, files;
	struct igt_perfctr_session other;
	int users;

	igt_perfctr_begin_with(&s, &dev, 64, 0);
	files = igt_open_files();
	users = igt_module_users("drm_perfctr");
	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		int ret;

		igt_perfctr_session_init(&other, &dev);
		ret = interrupt(igt_perfctr_session_try_bare, &other);
		igt_assert(!ret || ret == -EINTR);
		interrupts += !!ret;
		if (!ret)
			igt_perfctr_session_end(&other);
		igt_assert_eq(igt_open_files(), files);
		igt_await_core_users(users);
	}
	igt_info("%u of 20 were interrupted\n", interrupts);
	igt_assert_lt(0, interrupts);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(s.samples, 21);
	igt_perfctr_session_close(&s);
}

/* what @call returns when the process is stopped and continued while it waits, as interrupt() */
static int stop_and_continue(int (*call)(struct igt_perfctr_session *of),
			     struct igt_perfctr_session *of)
{
	pthread_t thread;
	int first, ret;

	igt_fault_arm(&dev, "no_ack", 1);
	igt_fork(child, 1) {
		igt_sleep_ms(20);
		kill(getppid(), SIGSTOP);
		igt_sleep_ms(1);
		kill(getppid(), SIGCONT);
	}
	igt_assert_eq(pthread_create(&thread, NULL, sample_silent, &first), 0);
	igt_sleep_ms(5);
	ret = call(of);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert_eq(first, 0);
	igt_waitchildren();
	igt_fault_disarm(&dev, "no_ack");
	return ret;
}

/* no handler sees a signal, so no caller sees -EINTR */
static void stopped(void)
{
	struct igt_perfctr_session other;

	for (unsigned int attempt = 0; attempt < 20; attempt++) {
		igt_perfctr_begin_with(&s, &dev, 8, 0);
		igt_assert_eq(stop_and_continue(sample_2, &s), 0);
		igt_perfctr_session_init(&other, &dev);
		igt_assert_eq(stop_and_continue(igt_perfctr_session_try_bare, &other), 0);
		igt_perfctr_session_end(&other);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(s.samples, 4);
		igt_perfctr_session_close(&s);
	}
}

/* SAMPLE until unplug, without room for more than one more sample */
static void *sample_until_unplug(void *data)
{
	struct igt_perfctr_session *of = data;
	int ret;

	do {
		ret = igt_perfctr_sample(of, 0);
		igt_perfctr_free_slots(of, igt_perfctr_published(of));
	} while (!ret);
	igt_assert_eq(ret, -ENODEV);
	return NULL;
}

/*
 * Half of the sessions have callers, half of them periods, which the worker serves. Returns the
 * callers' samples from just before unplug.
 */
static uint64_t samples_in_unplug(void)
{
	static struct igt_perfctr_session all[SESSIONS];
	uint64_t samples = 0;
	pthread_t threads[SESSIONS];

	igt_perfctr_sysctl("paranoid", "0");
	for (unsigned int i = 0; i < SESSIONS; i++) {
		igt_perfctr_session_init(&all[i], &dev);
		all[i].params.period_ns = i % 2 ? 0 : dev.info.unprivileged_min_period_ns;
		/* as many as a user may have */
		igt_perfctr_open_as(IGT_NOBODY - i / 4, &all[i]);
		igt_assert_eq(igt_perfctr_start(&all[i], 0), 0);
	}
	igt_vsoc_debugfs(&dev, "fail_no_ack", "1000");
	for (unsigned int i = 1; i < SESSIONS; i += 2)
		igt_assert_eq(pthread_create(&threads[i], NULL, sample_until_unplug, &all[i]), 0);
	/* all of them wait */
	for (unsigned int i = 1; i < SESSIONS; i += 2)
		igt_perfctr_wait_unread(&all[i], 1);
	for (unsigned int i = 1; i < SESSIONS; i += 2)
		samples -= igt_perfctr_published(&all[i]);
	igt_unbind(&dev);
	for (unsigned int i = 1; i < SESSIONS; i += 2) {
		igt_assert_eq(pthread_join(threads[i], NULL), 0);
		samples += igt_perfctr_published(&all[i]);
		igt_assert_eq_u32(all[i].control->state, DRM_PERFCTR_RING_DEAD);
	}
	igt_perfctr_sysctl("paranoid", "1");
	igt_info("%llu samples of %u callers during unplug\n", (unsigned long long)samples,
		 SESSIONS / 2);
	for (unsigned int i = 0; i < SESSIONS; i++)
		igt_perfctr_session_close(&all[i]);
	igt_bind_again(&dev);
	return samples;
}

/*
 * A final one each, and those that ended before unplug began: up to 30 on a busy machine, but some
 * more if the host stops the task in between. A kernel that lets callers queue during unplug makes
 * 160 each time.
 */
static void unplug_busy(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < ATTEMPTS && least > 12 * SESSIONS / 2; i++) {
		const uint64_t samples = samples_in_unplug();

		least = samples < least ? samples : least;
	}
	igt_assert_lte_u64(least, 12 * SESSIONS / 2);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/* Covers: Life of the descriptor */
	igt_describe("O_NONBLOCK has no effect: START and SAMPLE wait for the hardware");
	igt_subtest("life-nonblock") igt_vsoc_only(&dev, nonblocking);
	/* Covers: command -EINTR */
	igt_describe("a command that a signal interrupts is -EINTR without effect");
	igt_subtest("life-interrupted") igt_vsoc_only(&dev, interrupted);
	/* Covers: open -EINTR */
	igt_describe("an OPEN that a signal interrupts is -EINTR, and leaves no session");
	igt_subtest("life-open-interrupted") igt_vsoc_only(&dev, interrupted_in_open);
	igt_describe("a command or an OPEN that waits while its process is stopped and continued "
		     "goes on");
	igt_subtest("life-stopped") igt_vsoc_only(&dev, stopped);
	igt_describe("unplug does not wait for callers that queue for firmware that does not "
		     "answer");
	igt_subtest("unplug-busy") igt_vsoc_only(&dev, unplug_busy);
	igt_fixture()
		igt_perfctr_close(&dev);
}
