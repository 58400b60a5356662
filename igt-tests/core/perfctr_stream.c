// SPDX-License-Identifier: MIT
/**
 * TEST: The samples of a session add up to what the hardware counted
 * Description: Samples: conservation, tags, times, states, and sampling in jobs.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

static struct igt_perfctr_device dev;
static struct igt_truth before, after;

/* wait until periodic samples were published or found no slot */
static void step_two_periods(struct igt_perfctr_session *s, unsigned int n)
{
	igt_perfctr_drain(s);
	if (n == 7 && s->periodic < 2)
		igt_perfctr_wait_unread(s, 2);
	igt_perfctr_drain(s);
}

static void step_until_merged(struct igt_perfctr_session *s, unsigned int n)
{
	if (n == 7)
		igt_perfctr_wait_merged(s);
}

static void *jobs_thread(void *arg)
{
	for (unsigned int n = 0; n < 12; n++)
		igt_vsoc_work(&dev, n);
	return NULL;
}

static void conserve_manual(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_vsoc_conserve(&s, 23, igt_known_step_sample);
	igt_assert_eq_u64(s.manual, 23);
	igt_assert_eq_u64(igt_perfctr_published(&s), 24);
	igt_perfctr_session_close(&s);
}

static void conserve_sets(void)
{
	uint64_t different[DRM_PERFCTR_SET_TERTIARY + 1] = { 0 };

	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int set = 0; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
			struct igt_perfctr_session s;

			igt_perfctr_session_init_set(&s, &dev, set);
			s.params.slots = 256;
			s.params.period_ns = MS;
			igt_perfctr_session_open(&s);
			igt_vsoc_truth_of_set(&dev, set, &before);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			igt_perfctr_describe(&dev);
			igt_assert_eq_u32(dev.info.active_set, set);
			for (unsigned int n = 0; n < 4; n++) {
				igt_vsoc_work(&dev, n);
				igt_assert_eq(igt_perfctr_sample(&s, n), 0);
				igt_perfctr_drain(&s);
			}
			igt_perfctr_finish(&s);
			igt_vsoc_truth_of_set(&dev, set, &after);
			igt_assert_conserved(&s, &before, &after);
			different[set] = igt_perfctr_sum(&s, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 0, 5);
			igt_assert(different[set]);
			igt_perfctr_session_close(&s);
			igt_perfctr_describe(&dev);
			igt_assert_eq_u32(dev.info.active_set, DRM_PERFCTR_SET_PRIMARY);
		}
		/* the same work; the counter at this position differs between sets */
		igt_assert(different[0] != different[1]);
		igt_assert(different[1] != different[2]);
		igt_assert(different[0] != different[2]);
	}
}

static void conserve_final_only(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 1, 0);
	igt_vsoc_conserve(&s, 3, NULL);
	igt_assert_eq_u64(s.samples, 1);
	igt_perfctr_session_close(&s);
}

static void conserve_periodic(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 256, MS);
	igt_vsoc_conserve(&s, 8, step_two_periods);
	igt_assert_lt(1, s.periodic);
	igt_perfctr_session_close(&s);
}

static void conserve_periodic_and_manual(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 256, 2 * MS);
	igt_vsoc_conserve(&s, 8, igt_known_step_sample);
	igt_assert_eq_u64(s.manual, 8);
	igt_perfctr_session_close(&s);
}

static void conserve_stretched(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 4, MS);
	igt_vsoc_conserve(&s, 10, step_until_merged);
	igt_assert_eq_u64(s.samples, 4);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
	igt_perfctr_session_close(&s);
}

static void conserve_sleeping_consumer(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 4, MS);
	igt_vsoc_start(&s, &before);
	for (unsigned int round = 0; round < 3; round++) {
		igt_vsoc_work(&dev, round);
		igt_perfctr_wait_merged(&s);
		igt_vsoc_work(&dev, 5 + round);
		igt_perfctr_drain(&s);
	}
	igt_vsoc_stop_conserved(&s, &before);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
	igt_perfctr_session_close(&s);
}

static void conserve_start_stop_start(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 16, 0);
	igt_vsoc_work(&dev, 50); /* before the first START */
	igt_vsoc_conserve(&s, 2, igt_known_step_sample);
	for (unsigned int i = 0; i < 3; i++) {
		igt_vsoc_work(&dev, 60 + i);
		igt_perfctr_clear_sums(&s);
		s.final = 0;
		igt_vsoc_conserve(&s, 2, igt_known_step_sample);
	}
	igt_perfctr_session_close(&s);
}

static void conserve_two_sessions(void)
{
	struct igt_perfctr_session a, b;

	igt_perfctr_session_open_with(&a, &dev, 64, MS);
	igt_perfctr_session_init(&b, &dev);
	/* every other counter of the second and third type only */
	b.requests[0] = b.requests[1];
	b.requests[1] = b.requests[2];
	b.requests[0].mask &= 0x5555555555555555;
	b.requests[1].mask &= 0x3333333333333333;
	b.params.request_count = 2;
	igt_perfctr_session_open(&b);

	igt_vsoc_start(&a, &before);
	igt_assert_eq(igt_perfctr_start(&b, 0), 0);
	for (unsigned int n = 0; n < 5; n++) {
		igt_vsoc_work(&dev, n);
		igt_assert_eq(igt_perfctr_sample(&b, n), 0);
		igt_perfctr_drain(&a);
		igt_perfctr_drain(&b);
	}
	igt_assert_eq(igt_perfctr_stop(&a, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&b, 0), 0);
	igt_vsoc_truth(&dev, &after);
	igt_perfctr_drain(&a);
	igt_perfctr_drain(&b);
	igt_assert_conserved(&a, &before, &after);
	igt_assert_conserved(&b, &before, &after);
	igt_perfctr_session_close(&a);
	igt_perfctr_session_close(&b);
}

static void conserve_joining_and_leaving(void)
{
	struct igt_perfctr_session s, other;
	pthread_t thread;

	igt_perfctr_session_open_with(&s, &dev, 64, MS);
	igt_vsoc_start(&s, &before);
	igt_assert_eq(pthread_create(&thread, NULL, jobs_thread, NULL), 0);
	for (unsigned int n = 0; n < 12; n++) {
		igt_perfctr_session_init(&other, &dev);
		other.params.request_count = 1 + n % other.params.request_count;
		other.params.period_ns = n & 1 ? MS / 2 : 0;
		igt_perfctr_begin(&other);
		igt_perfctr_drain(&s);
		if (n % 3)
			igt_assert_eq(igt_perfctr_stop(&other, 0), 0);
		igt_perfctr_session_close(&other);
	}
	pthread_join(thread, NULL);
	igt_vsoc_stop_conserved(&s, &before);
	igt_perfctr_session_close(&s);
}

static void idle_is_measured_zero(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 16, 0);
	igt_vsoc_conserve(&s, 0, NULL);
	for (unsigned int b = 0; b < s.layout.block_count; b++) {
		igt_assert_eq_u64(s.sums[b].valid, s.sums[b].mask);
		for (unsigned int i = 0; i < 64; i++)
			igt_assert_eq_u64(s.sums[b].value[i], 0);
	}
	igt_perfctr_session_close(&s);
}

static void conserve_each_sample(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_begin_with(&s, &dev, 16, 0);
	for (unsigned int n = 0; n < 5; n++) {
		igt_perfctr_clear_sums(&s);
		igt_vsoc_truth(&dev, &before);
		igt_vsoc_work(&dev, 3 * n);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq(igt_perfctr_sample(&s, n), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		igt_assert_conserved(&s, &before, &after);
	}
	igt_perfctr_session_close(&s);
}

static void conservation_tests(void)
{
	/* Covers: DRM_PERFCTR_IOCTL_SAMPLE, DRM_PERFCTR_IOCTL_STATUS, DRM_PERFCTR_STATUS_ACTIVE */
	igt_describe("manual samples add up to the truth, also when the ring wraps");
	igt_subtest("conserve-manual") conserve_manual();
	/* Covers: DRM_PERFCTR_SET_PRIMARY, DRM_PERFCTR_SET_SECONDARY, DRM_PERFCTR_SET_TERTIARY */
	igt_describe("each counter set adds up to its own truth; QUERY has the active set, "
		     "without sessions the primary one");
	igt_subtest("conserve-sets") conserve_sets();
	/* Covers: DRM_PERFCTR_IOCTL_STOP */
	igt_describe("the final sample alone has all counts");
	igt_subtest("conserve-final-only") conserve_final_only();
	igt_describe("periodic samples add up to the truth while jobs run");
	igt_subtest("conserve-periodic") conserve_periodic();
	igt_describe("periodic and manual samples of one session add up to the truth");
	igt_subtest("conserve-periodic-and-manual") conserve_periodic_and_manual();
	/* Covers: DRM_PERFCTR_SAMPLE_STRETCHED */
	igt_describe("samples stretch while a reader reads nothing, and lose nothing");
	igt_subtest("conserve-stretched") conserve_stretched();
	/* Covers: DRM_PERFCTR_SAMPLE_STRETCHED */
	igt_describe("a reader that pauses loses nothing");
	igt_subtest("conserve-sleeping-consumer") conserve_sleeping_consumer();
	/* Covers: DRM_PERFCTR_IOCTL_START, How a session runs */
	igt_describe("work between STOP and START is in no sample");
	igt_subtest("conserve-start-stop-start") conserve_start_stop_start();
	igt_describe("two sessions with different masks and periods each have all counts");
	igt_subtest("conserve-two-sessions") conserve_two_sessions();
	igt_describe("sessions that start and stop while jobs run do not affect another session");
	igt_subtest("conserve-joining-and-leaving") conserve_joining_and_leaving();
	/* Covers: drm_perfctr_block_header */
	igt_describe("an idle device reports measured zeroes");
	igt_subtest("idle-is-measured-zero") idle_is_measured_zero();
	igt_describe("a sample has the counts of its own job, not of the jobs before or after");
	igt_subtest("conserve-each-sample") conserve_each_sample();
}

static void user_data(void)
{
	const uint32_t reasons = DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_PERIODIC |
				 DRM_PERFCTR_SAMPLE_AUTOMATIC | DRM_PERFCTR_SAMPLE_FINAL |
				 DRM_PERFCTR_SAMPLE_IN_STREAM;
	struct igt_perfctr_session s;
	uint64_t i;

	igt_perfctr_session_open_with(&s, &dev, 256, 2 * MS);
	igt_assert_eq(igt_perfctr_start(&s, 0x5eed), 0);
	for (unsigned int n = 0; n < 4; n++) {
		igt_sleep_ms(5);
		igt_assert_eq(igt_perfctr_sample(&s, 0xa0 + n), 0);
	}
	igt_perfctr_wait_unread(&s, 5);
	igt_assert_eq(igt_perfctr_stop(&s, ~0ull), 0);
	for (i = 0, s.extract = 0; i < igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

		igt_assert_eq(__builtin_popcount(h->flags & reasons), 1);
		if (h->flags & DRM_PERFCTR_SAMPLE_MANUAL)
			igt_assert_eq_u64(h->user_data, 0xa0 + s.manual++);
		else if (h->flags & DRM_PERFCTR_SAMPLE_FINAL)
			igt_assert_eq_u64(h->user_data, ~0ull);
		else
			igt_assert_eq_u64(h->user_data, 0x5eed);
	}
	igt_assert_eq_u64(s.manual, 4);
	s.manual = 0;
	igt_perfctr_drain(&s);
	igt_assert_lt(0, s.periodic);
	igt_assert_eq_u64(s.final, 1);
	igt_perfctr_session_close(&s);
}

static void time_spans(void)
{
	struct igt_perfctr_session s;
	uint64_t t0, t1, t2, t3;

	igt_perfctr_session_open_with(&s, &dev, 64, 0);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	t1 = igt_raw_ns();
	igt_sleep_ms(5);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	t2 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	t3 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_drain(&s), 3);
	igt_assert_lte_u64(t0, s.first.start_ns);
	igt_assert_lte_u64(s.first.start_ns, t1);
	igt_assert_lte_u64(5 * MS, s.first.end_ns - s.first.start_ns + (t1 - t0));
	igt_assert_lte_u64(s.last.start_ns, t2);
	igt_assert_lte_u64(s.last.end_ns, t3);
	igt_perfctr_session_close(&s);
}

static void seq_over_restart(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 16, 0);
	for (unsigned int i = 0; i < 4; i++) {
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		igt_assert_eq_u64(s.last.seq, i);
	}
	igt_perfctr_session_close(&s);
}

static void teardown_active(void)
{
	struct igt_perfctr_session s;
	uint64_t published;

	igt_perfctr_begin_with(&s, &dev, 64, MS);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	published = igt_perfctr_published(&s);
	igt_sleep_ms(10);
	igt_assert_eq_u64(igt_perfctr_published(&s), published);
	igt_perfctr_session_close(&s);
}

struct watcher {
	struct igt_perfctr_session s;
	bool over, watching;
	unsigned int wrong;
};

static void *watch_stops(void *data)
{
	struct watcher *w = data;
	const uint32_t *state = &w->s.control->state;

	while (!__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(state, __ATOMIC_ACQUIRE) != DRM_PERFCTR_RING_ACTIVE)
			continue;
		__atomic_store_n(&w->watching, true, __ATOMIC_RELEASE);
		while (__atomic_load_n(state, __ATOMIC_ACQUIRE))
			;
		w->wrong += !!(igt_perfctr_status(&w->s).flags & DRM_PERFCTR_STATUS_ACTIVE);
		__atomic_store_n(&w->watching, false, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void await_watching(const struct watcher *w, bool watching)
{
	while (__atomic_load_n(&w->watching, __ATOMIC_ACQUIRE) != watching)
		usleep(100);
}

/* the watcher needs a CPU of its own; a stack trace delays what ends a session */
static void stop_visible(void)
{
	struct watcher w = { 0 };
	pthread_t thread;

	igt_require_f(sysconf(_SC_NPROCESSORS_ONLN) > 1, "one CPU\n");
	igt_require_write(IGT_TRACING "kprobe_events", "p:perfctr_stop drm_perfctr_sampler_detach");
	igt_require_write(IGT_TRACING "events/kprobes/perfctr_stop/trigger", "stacktrace");
	igt_require_write(IGT_TRACING "events/kprobes/perfctr_stop/enable", "1");
	igt_perfctr_session_open_with(&w.s, &dev, 4, 0);
	igt_assert_eq(pthread_create(&thread, NULL, watch_stops, &w), 0);
	for (unsigned int i = 0; i < 200; i++) {
		igt_assert_eq(igt_perfctr_start(&w.s, 0), 0);
		await_watching(&w, true);
		igt_perfctr_finish(&w.s);
		await_watching(&w, false);
	}
	__atomic_store_n(&w.over, true, __ATOMIC_RELEASE);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_require_write(IGT_TRACING "events/kprobes/perfctr_stop/enable", "0");
	igt_require_write(IGT_TRACING "events/kprobes/perfctr_stop/trigger", "!stacktrace");
	igt_require_write(IGT_TRACING "kprobe_events", "-:perfctr_stop");
	igt_assert_eq_u32(w.wrong, 0);
	igt_perfctr_session_close(&w.s);
}

static void header_tests(void)
{
	/*
	 * Covers: DRM_PERFCTR_SAMPLE_MANUAL, DRM_PERFCTR_SAMPLE_PERIODIC, DRM_PERFCTR_SAMPLE_FINAL
	 */
	igt_describe("SAMPLE and STOP tag their own samples, START tags all others; each has one "
		     "reason");
	igt_subtest("user-data") user_data();
	/* Covers: drm_perfctr_sample_header */
	igt_describe("spans lie on CLOCK_MONOTONIC_RAW between START and STOP, without holes");
	igt_subtest("time-spans") time_spans();
	/* Covers: drm_perfctr_sample_header */
	igt_describe("sequence numbers continue over STOP and START");
	igt_subtest("seq-over-restart") seq_over_restart();
	/* Covers: DRM_PERFCTR_RING_DEAD, Life of the descriptor */
	igt_describe("a reader that sees the ring stop finds the session stopped, with its last "
		     "sample");
	igt_subtest("stop-visible") stop_visible();
	igt_describe("closing an active session ends it");
	igt_subtest("teardown-active") teardown_active();
}

static void in_stream_attribution(void)
{
	struct drm_vsoc_command c[6] = { 0 };
	struct igt_perfctr_session s;
	struct drm_vsoc_wait wait;
	uint16_t counter;

	igt_perfctr_session_open_with(&s, &dev, 16, 0);
	for (unsigned int i = 0; i < 3; i++) {
		c[2 * i].type = DRM_VSOC_CMD_DRAW;
		c[2 * i].draw.vertices = 300 * (i + 1);
		c[2 * i].draw.primitives = 100 * (i + 1);
		c[2 * i + 1] = igt_vsoc_sample(&s, 70 + i);
	}
	igt_vsoc_start(&s, &before);
	wait = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 6));
	igt_assert_eq(wait.status, 0);
	igt_assert_eq(wait.sample_errors, 0);
	igt_assert_eq_u64(igt_perfctr_unread(&s), 3);
	counter = igt_vsoc_counter(&before, DRM_PERFCTR_MALI_BLOCK_TILER, "VERTICES");
	for (unsigned int i = 0; i < 3; i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);

		igt_assert(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM);
		igt_assert_eq_u64(h->user_data, 70 + i);
		igt_assert_eq_u64(igt_perfctr_value(h, DRM_PERFCTR_MALI_BLOCK_TILER, 0, counter),
				  300 * (i + 1));
	}
	igt_vsoc_stop_conserved(&s, &before);
	igt_perfctr_session_close(&s);
}

static void in_stream_full(void)
{
	struct drm_vsoc_command c[3] = { 0 };
	struct igt_perfctr_session s;
	struct drm_vsoc_wait wait;

	igt_perfctr_session_open_with(&s, &dev, 2, 0);
	for (unsigned int i = 0; i < 3; i++)
		c[i] = igt_vsoc_sample(&s, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	wait = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 3));
	igt_assert_eq(wait.sample_errors, 2);
	igt_assert_eq(wait.sample_errno, -ENOSPC);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_drain(&s), 2);
	igt_assert_eq_u64(s.last.merged_others, 2);
	igt_assert_eq_u64(s.last.merged_periods, 0);
	igt_perfctr_session_close(&s);
}

static void in_stream_bad_handle(void)
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command c;
	int reader;

	igt_vsoc_require(&dev);
	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	c = igt_vsoc_sample(&s, 0);
	reader = igt_perfctr_session_reader(&s);
	/* no session, or no descriptor */
	for (unsigned int i = 0; i < 4; i++) {
		c.sample.session = (const int[]){ dev.fd, reader, -1, 1 << 30 }[i];
		igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), -ENOENT);
	}
	close(reader);
	c = igt_vsoc_sample(&s, 0);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), -ENOENT);
}

/* SUBMIT on another file of the device, and by a process that got the session by fork() */
static void in_stream_other_file(void)
{
	struct igt_perfctr_device other;
	struct igt_perfctr_session s;
	struct drm_vsoc_command c;

	igt_vsoc_require(&dev);
	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	c = igt_vsoc_sample(&s, 5);
	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(igt_vsoc_wait(&other, igt_vsoc_submit(&other, &c, 1)).sample_errors, 0);
	igt_fork(child, 1)
		igt_assert_eq(igt_vsoc_wait(&other, igt_vsoc_submit(&other, &c, 1)).sample_errors,
			      0);
	igt_waitchildren();
	igt_perfctr_close(&other);
	igt_perfctr_finish(&s);
	igt_assert_eq_u64(s.in_stream, 2);
	igt_perfctr_session_close(&s);
}

/* the job keeps no file of the session: closing the descriptor ends it before the job runs */
static void in_stream_torn_down(void)
{
	struct drm_vsoc_command c[2] = { 0 };
	struct igt_perfctr_session s;
	struct drm_vsoc_wait wait;
	uint64_t job;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	c[0].type = DRM_VSOC_CMD_WAIT;
	c[0].wait.duration_ns = 30 * MS;
	c[1] = igt_vsoc_sample(&s, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	job = igt_vsoc_submit(&dev, c, 2);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	wait = igt_vsoc_wait(&dev, job);
	igt_assert_eq(wait.status, 0);
	igt_assert_eq(wait.sample_errors, 1);
	igt_assert_eq(wait.sample_errno, -ENOENT);
	igt_assert_eq(igt_perfctr_drain(&s), 0);
	igt_perfctr_session_close(&s);
}

/* a user's session, created with paranoid=0: jobs sample it also after root has changed that */
static void in_stream_unprivileged(void)
{
	struct drm_vsoc_command c[4] = { 0 };

	igt_vsoc_require(&dev);
	igt_perfctr_sysctl("paranoid", "0");
	igt_fork(child, 1) {
		struct igt_perfctr_device mine;
		struct igt_perfctr_session s, late;
		struct drm_vsoc_wait wait;
		uint64_t job;

		igt_perfctr_reopen(&mine, &dev);
		close(dev.fd);
		igt_perfctr_session_init(&s, &mine);
		igt_perfctr_open_as_nobody(&s);
		igt_perfctr_sysctl("paranoid", "1");
		igt_drop_to(IGT_NOBODY, 0);
		for (unsigned int i = 0; i < 4; i++)
			c[i] = igt_vsoc_sample(&s, 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_vsoc_submit_to(mine.fd, 0, c, 4, &job, NULL), 0);
		igt_assert_eq(igt_vsoc_wait_for(mine.fd, job, 10000 * MS, &wait), 0);
		igt_assert_eq(wait.sample_errors, 0);
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(s.in_stream, 4);
		igt_assert_eq_u64(s.merged_others, 0);
		igt_perfctr_session_init(&late, &mine);
		igt_assert_eq(igt_perfctr_session_try_open(&late), -EACCES);
	}
	igt_waitchildren();
	igt_perfctr_sysctl("paranoid", "1");
	igt_perfctr_default_limits();
}

static void in_stream_tests(void)
{
	/* Covers: DRM_PERFCTR_SAMPLE_IN_STREAM */
	igt_describe("samples between the commands of a job attribute counts to each command");
	igt_subtest("in-stream-attribution") in_stream_attribution();
	/* Covers: DRM_PERFCTR_SAMPLE_IN_STREAM */
	igt_describe("a sample in a job that finds the ring full is merged, and WAIT reports it");
	igt_subtest("in-stream-full") in_stream_full();
	igt_describe("a job that names no session of the device is -ENOENT");
	igt_subtest("in-stream-bad-handle") in_stream_bad_handle();
	igt_describe("a job names a session by descriptor, whatever file it is submitted to");
	igt_subtest("in-stream-other-file") in_stream_other_file();
	igt_describe("WAIT reports a session that was closed before its job ran");
	igt_subtest("in-stream-torn-down") in_stream_torn_down();
	/* Covers: Permissions */
	igt_describe("samples in jobs need the rights of OPEN only, once, whatever their rate");
	igt_subtest("in-stream-unprivileged") in_stream_unprivileged();
}

/*
 * A periodic session with a full ring, other samples that find no slot, and a slow STOP. The first
 * period begins up to one period after START.
 */
static void merged_arithmetic(bool others, bool slow_stop)
{
	struct drm_vsoc_command c[20] = { 0 };
	const uint64_t period_ns = 10 * MS;
	struct igt_perfctr_session s;
	uint64_t merged = 0, periods;

	igt_perfctr_session_open_with(&s, &dev, 4, period_ns);
	for (unsigned int i = 0; i < 20; i++)
		c[i] = igt_vsoc_sample(&s, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_sleep_ms(60);
	if (others)
		merged = igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 20)).sample_errors;
	if (slow_stop) {
		/* each request of STOP takes four periods, and is answered in time */
		igt_vsoc_debugfs(&dev, "fail_delay_ms", "40");
		igt_vsoc_debugfs(&dev, "fail_late_ack", "1000");
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	if (slow_stop) {
		igt_vsoc_debugfs(&dev, "fail_late_ack", "0");
		igt_vsoc_debugfs(&dev, "fail_delay_ms", "150");
		igt_vsoc_settle(&dev);
	}
	igt_perfctr_drain(&s);
	periods = (s.last.end_ns - s.first.start_ns) / period_ns;
	igt_info("%d periods, of them %d merged, %d other samples merged; time for %d\n",
		 (int)(s.periodic + s.merged), (int)s.merged, (int)s.merged_others, (int)periods);
	igt_assert_eq_u64(s.merged_others, merged);
	igt_assert_lte_u64(periods, s.periodic + s.merged + 1);
	igt_assert_lte_u64(s.periodic + s.merged, periods + 1);
	igt_perfctr_session_close(&s);
}

static void period_tests(void)
{
	/* Covers: drm_perfctr_sample_header */
	igt_describe("every elapsed period is a sample or merged into one");
	igt_subtest("merged-arithmetic")
	{
		merged_arithmetic(false, false);
		if (dev.known) {
			merged_arithmetic(true, false);
			merged_arithmetic(false, true);
		}
	}
	igt_describe("an unread session is collected before a counter wraps, and no more often "
		     "than needed");
	igt_subtest("collected-in-time")
	{
		uint64_t samples, runs_before, turns, span_ns;
		struct igt_perfctr_session s;

		igt_vsoc_require(&dev);
		igt_perfctr_begin_with(&s, &dev, 2, 0);
		igt_sleep_ms(100);
		span_ns = igt_raw_ns();
		samples = igt_vsoc_firmware(&dev, "samples_written");
		igt_sampler_ns(&dev, &runs_before);
		igt_sleep_ms(3000);
		samples = igt_vsoc_firmware(&dev, "samples_written") - samples;
		igt_sampler_ns(&dev, &turns);
		span_ns = igt_raw_ns() - span_ns;
		turns -= runs_before;
		igt_info("%d samples of firmware, %d runs of the sampler in %.1f s\n", (int)samples,
			 (int)turns, span_ns * 1e-9);
		/* at 3.2e9 counts/s a counter wraps in 1.34 s; 3/4 of that is allowed */
		igt_assert_lte_u64(3, samples);
		igt_assert_lte_u64(samples, 4 * span_ns / (1000 * MS));
		igt_assert_lte_u64(turns, 10 * samples);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_session_close(&s);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	conservation_tests();
	header_tests();
	in_stream_tests();
	period_tests();
}
