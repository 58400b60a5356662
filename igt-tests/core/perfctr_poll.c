// SPDX-License-Identifier: MIT
/**
 * TEST: poll() and epoll tell when samples are to be read, and when none will follow
 * Description: Sessions and readers before START, below and at the watermark, after STOP, after the
 *   end of session and device, and with many waiters.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"

#define PATIENCE_MS 10000
/* of many-waiters: each set has an item for each descriptor */
#define SETS 100
#define DESCRIPTORS 200
#define SPAN_MS 1500
/*
 * A busy host spoils some attempts. The best one shows that walks do not always take the CPU from a
 * session, but not that they never do.
 */
#define ATTEMPTS 5

static struct igt_perfctr_device dev;

static unsigned int events_of(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

	igt_assert_lte(0, poll(&p, 1, 0));
	return p.revents;
}

/* what both descriptors report, and an epoll set of each */
static void assert_events(const int fds[2], unsigned int expected)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct epoll_event item = { .events = EPOLLIN }, got = { 0 };
		int set = epoll_create1(EPOLL_CLOEXEC);

		if (fds[i] < 0)
			continue;
		igt_assert_eq_u32(events_of(fds[i]), expected);
		igt_assert_lte(0, set);
		igt_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &item), 0);
		igt_assert_eq(epoll_wait(set, &got, 1, 0), !!expected);
		igt_assert_eq_u32(got.events, expected);
		close(set);
	}
}

static void open_two(struct igt_perfctr_session *s, int fds[2], uint32_t slots, uint32_t watermark)
{
	igt_perfctr_session_init(s, &dev);
	s->params.slots = slots;
	s->params.watermark = watermark;
	igt_perfctr_session_open(s);
	fds[0] = s->fd;
	fds[1] = igt_perfctr_session_reader(s);
}

/* @reached: the number of unread samples that is reported */
static void watermark(uint32_t slots, uint32_t mark, uint32_t reached)
{
	struct igt_perfctr_session s;
	int fds[2];

	open_two(&s, fds, slots, mark);
	assert_events(fds, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	assert_events(fds, 0);
	for (uint32_t i = 1; i < slots; i++) {
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		assert_events(fds, i >= reached ? POLLIN : 0);
	}
	/* user space reads, and poll() reads the index */
	for (uint32_t i = 1; i < slots; i++) {
		s.extract++;
		igt_perfctr_free_slots(&s, s.extract);
		assert_events(fds, slots - 1 - i >= reached ? POLLIN : 0);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	assert_events(fds, POLLIN);
	igt_perfctr_free_slots(&s, s.extract + 1);
	assert_events(fds, 0);
	igt_perfctr_session_close(&s);
	close(fds[1]);
}

static void after_stop(void)
{
	struct igt_perfctr_session s;
	int fds[2];

	open_two(&s, fds, 16, 8);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	/* one sample is below the watermark */
	assert_events(fds, POLLIN);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	assert_events(fds, 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	assert_events(fds, POLLIN);
	igt_assert_eq(igt_perfctr_drain(&s), 2);
	assert_events(fds, 0);
	igt_perfctr_session_close(&s);
	close(fds[1]);
}

static void after_end(void)
{
	struct igt_perfctr_session s;
	int fds[2];

	for (unsigned int unread = 0; unread < 2; unread++) {
		open_two(&s, fds, 16, 8);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		if (unread)
			igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq(igt_perfctr_session_end(&s), 0);
		fds[0] = -1;
		assert_events(fds, POLLHUP | (unread ? POLLIN : 0));
		igt_assert_eq(igt_perfctr_drain(&s), (int)unread);
		assert_events(fds, POLLHUP);
		igt_perfctr_session_close(&s);
		close(fds[1]);
	}
}

struct waiter {
	pthread_t thread;
	int fd;
	unsigned int events;
};

static void *wait_for_events(void *data)
{
	struct waiter *w = data;
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	igt_assert_eq(poll(&p, 1, PATIENCE_MS), 1);
	w->events = p.revents;
	return NULL;
}

static void begin_wait(struct waiter w[2], const int fds[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		w[i] = (struct waiter){ .fd = fds[i] };
		igt_assert_eq(pthread_create(&w[i].thread, NULL, wait_for_events, &w[i]), 0);
	}
	igt_sleep_ms(50);
}

static void end_wait(struct waiter w[2], unsigned int expected)
{
	for (unsigned int i = 0; i < 2; i++) {
		igt_assert_eq(pthread_join(w[i].thread, NULL), 0);
		igt_assert_eq_u32(w[i].events, expected);
	}
}

static void after_unplug(void)
{
	struct igt_perfctr_session s, idle;
	int fds[2], idle_fds[2];
	struct waiter w[2];

	open_two(&s, fds, 16, 8);
	open_two(&idle, idle_fds, 16, 8);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	begin_wait(w, fds);
	igt_unbind(&dev);
	end_wait(w, POLLIN | POLLHUP);
	assert_events(fds, POLLIN | POLLHUP);
	assert_events(idle_fds, POLLHUP);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	assert_events(fds, POLLHUP);
	igt_perfctr_session_close(&s);
	fds[0] = -1;
	assert_events(fds, POLLHUP);
	igt_perfctr_session_close(&idle);
	close(fds[1]);
	close(idle_fds[1]);
	igt_bind_again(&dev);
}

/* a waiting reader is woken by a sample of SAMPLE, of a period, of STOP, and by the end */
static void wakes(void)
{
	struct igt_perfctr_session s;
	struct waiter w[2];
	int fds[2];

	open_two(&s, fds, 16, 1);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	begin_wait(w, fds);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	end_wait(w, POLLIN);
	igt_perfctr_drain(&s);
	begin_wait(w, fds);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	end_wait(w, POLLIN);
	igt_perfctr_session_close(&s);
	close(fds[1]);

	igt_perfctr_session_init(&s, &dev);
	s.params.period_ns = 20 * MS;
	s.params.watermark = 3;
	igt_perfctr_session_open(&s);
	fds[0] = s.fd;
	fds[1] = igt_perfctr_session_reader(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	begin_wait(w, fds);
	end_wait(w, POLLIN);
	igt_assert_lte_u64(3, igt_perfctr_unread(&s));
	igt_perfctr_finish(&s);
	/* both wait by readers, as poll() of the session's descriptor keeps it */
	fds[0] = igt_perfctr_session_reader(&s);
	begin_wait(w, fds);
	igt_perfctr_session_close(&s);
	end_wait(w, POLLHUP);
	close(fds[0]);
	close(fds[1]);
}

static void edges(void)
{
	struct epoll_event item = { .events = EPOLLIN | EPOLLET }, got;
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct igt_perfctr_session s;

	igt_perfctr_begin_with(&s, &dev, 16, 0);
	igt_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, s.fd, &item), 0);
	igt_assert_eq(epoll_wait(set, &got, 1, 0), 0);
	for (unsigned int i = 0; i < 4; i++) {
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		/* each sample is an event, once, read or not */
		igt_assert_eq(epoll_wait(set, &got, 1, PATIENCE_MS), 1);
		igt_assert_eq(epoll_wait(set, &got, 1, 0), 0);
	}
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	/* the end removes the session from the set */
	igt_assert_eq(epoll_wait(set, &got, 1, 0), 0);
	igt_perfctr_session_close(&s);
	close(set);
}

/* @sets with an item for each copy of @fd, which become ready with it */
static void add_waiters(int fd, unsigned int sets)
{
	struct epoll_event item = { .events = EPOLLIN | EPOLLET };
	int fds[DESCRIPTORS];

	for (unsigned int i = 0; i < DESCRIPTORS; i++) {
		fds[i] = dup(fd);
		igt_assert_lte(0, fds[i]);
	}
	for (unsigned int n = 0; n < sets; n++) {
		int set = epoll_create1(EPOLL_CLOEXEC);

		for (unsigned int i = 0; i < DESCRIPTORS; i++)
			igt_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &item), 0);
	}
}

static void tell(int ready_fd)
{
	igt_assert_eq(write(ready_fd, "", 1), 1);
}

/* a user's session, whose samples wake all by poll() or an eventfd; counts until killed */
static void have_waiters(int ready_fd, unsigned int sets, bool by_eventfd)
{
	struct igt_perfctr_device mine;
	struct igt_perfctr_session s;

	igt_perfctr_reopen(&mine, &dev);
	igt_drop_to(IGT_NOBODY, 0);
	igt_perfctr_session_init(&s, &mine);
	s.params.period_ns = mine.info.unprivileged_min_period_ns;
	s.params.request_count = 1;
	if (by_eventfd)
		s.params.eventfd = eventfd(0, EFD_CLOEXEC);
	igt_perfctr_session_open(&s);
	add_waiters(by_eventfd ? s.params.eventfd : s.fd, sets);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	tell(ready_fd);
	/* the ring is never full, so each period signals */
	for (;; igt_sleep_ms(1))
		igt_perfctr_drain(&s);
}

/* periodic samples of a privileged session of 1 kHz, or 0 if its ring was full */
static uint64_t count_periods(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = 4096;
	s.params.period_ns = MS;
	s.params.request_count = 1;
	igt_perfctr_begin(&s);
	igt_sleep_ms(SPAN_MS);
	igt_perfctr_finish(&s);
	/* late or not, each period is accounted for */
	igt_assert_lte_u64((s.last.end_ns - s.first.start_ns) / MS, s.periodic + s.merged + 2);
	igt_perfctr_session_close(&s);
	return s.periodic * SPAN_MS * MS / (s.last.end_ns - s.first.start_ns);
}

static uint64_t count_periods_beside(unsigned int sets, bool by_eventfd)
{
	uint64_t periods;
	int ready[2];
	char byte;

	igt_assert_eq(pipe(ready), 0);
	igt_fork(child, 1)
		have_waiters(ready[1], sets, by_eventfd);
	close(ready[1]);
	igt_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	periods = count_periods();
	igt_kill_and_wait();
	return periods;
}

/* beside a session of a user, with and without waiters */
static void many_waiters(bool by_eventfd)
{
	unsigned int attempt;

	igt_perfctr_sysctl("paranoid", "0");
	igt_perfctr_default_limits();
	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		const uint64_t without = count_periods_beside(0, by_eventfd);
		const uint64_t beside = count_periods_beside(SETS, by_eventfd);

		igt_info("%llu of %u periods, beside %u epoll items %llu\n",
			 (unsigned long long)without, SPAN_MS, SETS * DESCRIPTORS,
			 (unsigned long long)beside);
		if (beside * 10 >= without * 7)
			break;
	}
	igt_perfctr_sysctl("paranoid", "1");
	igt_assert_f(attempt < ATTEMPTS, "slower in all of %u attempts\n", ATTEMPTS);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/* Covers: drm_perfctr_ring_control */
	igt_describe("nothing before START and below the watermark, POLLIN from there until read");
	igt_subtest("poll-watermark") watermark(16, 4, 4);
	igt_describe("watermark 0 reports each sample");
	igt_subtest("poll-zero") watermark(8, 0, 1);
	igt_describe("a watermark of all slots reports a ring with room for only the final sample");
	igt_subtest("poll-full") watermark(8, 8, 7);
	igt_describe("after STOP one unread sample below the watermark is POLLIN until read");
	igt_subtest("poll-stopped") after_stop();
	/* Covers: Life of the descriptor */
	igt_describe("a reader reports POLLHUP after the session's end, with POLLIN until drained");
	igt_subtest("poll-ended") after_end();
	/* Covers: Life of the descriptor */
	igt_describe("unplug wakes who polls: POLLIN until drained, and POLLHUP");
	igt_subtest("poll-unplugged") after_unplug();
	igt_describe("poll() returns at a manual, a periodic, the final sample and at the end");
	igt_subtest("poll-wakes") wakes();
	igt_describe("edge-triggered epoll reports each sample once");
	igt_subtest("epoll-edges") edges();
	igt_describe("beside 20,000 epoll items on a user's session, a session of 1 kHz has 70 % "
		     "of its periods in the best of five attempts");
	igt_subtest("epoll-many") many_waiters(false);
	igt_describe("the same with 20,000 epoll items on its eventfd");
	igt_subtest("epoll-many-eventfd") many_waiters(true);
	igt_fixture()
		igt_perfctr_close(&dev);
}
