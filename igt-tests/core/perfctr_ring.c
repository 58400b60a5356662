// SPDX-License-Identifier: MIT
/**
 * TEST: A ring keeps its contents after any writes of user space
 * Description: Rings: full ones, all sizes, invalid indices, and eventfd wake-ups.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_chance.h"
#include "igt_known.h"
#include "igt_sys.h"

static struct igt_perfctr_device dev;
static struct igt_truth before, after;

static uint64_t checksum(const struct igt_perfctr_session *s)
{
	uint64_t hash = 14695981039346656037ull;

	for (uint64_t i = 0; i < s->params.slots; i++) {
		const uint8_t *slot = (const void *)igt_perfctr_slot(s, i);

		for (uint32_t b = 0; b < s->layout.sample_size; b++)
			hash = (hash ^ slot[b]) * 1099511628211ull;
	}
	return hash;
}

static void full_ring(uint32_t slots, uint64_t period_ns)
{
	/* a GPU without work may be suspended */
	const uint32_t allowed = DRM_PERFCTR_SAMPLE_STRETCHED | DRM_PERFCTR_SAMPLE_SUSPENDED;
	struct igt_perfctr_session s;
	struct drm_perfctr_status st;
	uint64_t sum;

	igt_perfctr_session_open_with(&s, &dev, slots, period_ns);
	igt_known_start(&s, &before);
	if (period_ns) {
		/* until only the slot of STOP is free */
		igt_perfctr_wait_unread(&s, slots - 1);
	} else {
		for (uint32_t i = 0; i < slots - 1; i++)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	sum = checksum(&s);
	for (unsigned int i = 0; i < 3; i++) {
		igt_known_work(&dev, i);
		igt_assert_eq(igt_perfctr_sample(&s, 0xbad), -ENOSPC);
	}
	if (period_ns)
		igt_perfctr_wait_merged(&s);
	/* nothing was overwritten, nothing was published */
	igt_assert_eq_u64(checksum(&s), sum);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots - 1);
	st = igt_perfctr_status(&s);
	igt_assert_eq_u64(st.ring_full, 3);
	igt_assert_eq_u64(st.published, slots - 1);
	igt_assert_eq_u32(st.extract_idx, DRM_PERFCTR_RING_FIRST);
	igt_assert_eq(!!st.pending_merged, !!period_ns);

	igt_assert_eq(igt_perfctr_stop(&s, 77), 0);
	igt_known_truth(&dev, &after);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots);
	igt_assert_eq_u64(igt_perfctr_status(&s).pending_merged, 0);
	igt_assert_eq(igt_perfctr_drain(&s), (int)slots);
	igt_assert_eq_u64(s.last.user_data, 77);
	igt_assert_eq_u32(s.last.flags & ~allowed, DRM_PERFCTR_SAMPLE_FINAL);
	igt_known_compare(&s, &before, &after);
	igt_perfctr_session_close(&s);
}

static void hostile_extract(uint32_t value)
{
	struct igt_perfctr_session s, other;
	struct drm_perfctr_status st;

	igt_perfctr_session_open_with(&s, &dev, 8, 0);
	igt_perfctr_session_open_with(&other, &dev, 8, 0);
	igt_known_start(&s, &before);
	igt_assert_eq(igt_perfctr_start(&other, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	igt_perfctr_drain(&s);
	/* the kernel reads the index, and accepts 3 */
	igt_assert_eq(igt_perfctr_sample(&s, 3), 0);
	igt_assert_eq_u64(igt_perfctr_freed(&s), 3);

	__atomic_store_n(&s.control->extract_idx, value, __ATOMIC_RELEASE);
	/* no slot becomes free: 7 of 8 are for samples, one has been used */
	for (unsigned int i = 0; i < 6; i++)
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENOSPC);
	st = igt_perfctr_status(&s);
	igt_assert_eq_u32(st.extract_idx, DRM_PERFCTR_RING_FIRST + 3);
	igt_assert_lte_u64(1, st.bad_extract);

	/* a valid index works again */
	igt_perfctr_free_slots(&s, s.extract);
	igt_known_work(&dev, 1);
	igt_assert_eq(igt_perfctr_drain(&s), 7);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&other, 0), 0);
	igt_known_truth(&dev, &after);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&other);
	igt_known_compare(&s, &before, &after);
	igt_known_compare(&other, &before, &after);
	igt_perfctr_assert_status(&other, false);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&other);
}

static volatile bool scribbling;

static void *scribble(void *arg)
{
	struct igt_perfctr_session *s = arg;
	volatile uint32_t *control = (void *)s->control;
	const uint32_t control_words = s->layout.ring_offset / sizeof(*control);
	struct igt_chance chance = { .seed = 1 };

	igt_chance_begin(&chance, 0);
	while (scribbling) {
		for (unsigned int i = 0; i < 512; i++) {
			uint32_t wild = igt_chance_any(&chance, UINT32_MAX);

			/* these indices may be valid by chance */
			control[igt_chance_any(&chance, control_words)] =
				igt_chance_one_in(&chance, 2) ? wild :
								DRM_PERFCTR_RING_FIRST + wild % 32;
		}
		igt_sleep_ms(0);
	}
	return NULL;
}

/* max_slots slots, written up to the last one */
static void ring_largest(void)
{
	const uint32_t slots = dev.info.max_slots;
	struct igt_perfctr_session s;
	unsigned int published = 0;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = slots;
	s.params.period_ns = dev.info.min_period_ns;
	/* the smallest sample */
	s.params.request_count = 1;
	igt_perfctr_session_open(&s);
	igt_assert_lte_u64((uint64_t)s.layout.slots * s.layout.slot_stride,
			   dev.info.max_ring_bytes);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	/* periodic samples at the highest rate; these fill the ring */
	while (igt_perfctr_unread(&s) < slots - 1) {
		int ret = igt_perfctr_sample(&s, published++);

		igt_assert(!ret || ret == -ENOSPC);
	}
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENOSPC);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_unread(&s), slots);
	igt_assert_eq(igt_perfctr_start(&s, 0), -ENOSPC);
	igt_assert_eq(igt_perfctr_drain(&s), (int)slots);
	igt_perfctr_session_close(&s);
}

static void ring_all_sizes(void)
{
	for (uint32_t slots = 1; slots <= dev.info.max_slots; slots *= 2) {
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		s.params.slots = slots;
		s.params.request_count = 1;
		igt_perfctr_begin(&s);
		for (uint32_t i = 0; i < slots - 1 && i < 70; i++)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_drain(&s), slots < 71 ? (int)slots : 71);
		igt_perfctr_session_close(&s);
	}
}

static void ring_scribbled(void)
{
	struct igt_perfctr_session s, other;
	pthread_t thread;

	igt_perfctr_session_open_with(&s, &dev, 8, MS);
	igt_perfctr_session_open_with(&other, &dev, 256, MS);
	igt_known_start(&other, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	scribbling = true;
	igt_assert_eq(pthread_create(&thread, NULL, scribble, &s), 0);
	/* until the scribbling thread has run */
	for (unsigned int n = 0; n < 10 || (n < 500 && !igt_perfctr_status(&s).bad_extract); n++) {
		int ret = igt_perfctr_sample(&s, n);

		igt_assert(!ret || ret == -ENOSPC);
		igt_known_work(&dev, n);
		igt_sleep_ms(1);
		igt_perfctr_drain(&other);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	scribbling = false;
	pthread_join(thread, NULL);
	igt_known_stop(&other, &before);
	igt_perfctr_assert_status(&other, false);
	igt_assert_lte_u64(1, igt_perfctr_status(&s).bad_extract);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&other);
}

static void insert_index_written(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_begin_with(&s, &dev, 8, 0);
	s.control->insert_idx = 12345;
	s.control->state = ~0u;
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_published(&s), 1);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_published(&s), 2);
	igt_assert_eq_u32(s.control->state, 0);
	igt_perfctr_drain(&s);
	igt_perfctr_session_close(&s);
}

static void control_reserved(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 8, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(s.control->user_reserved); i++)
		s.control->user_reserved[i] = i + 1;
	igt_known_conserve(&s, 2, igt_known_step_sample);
	for (unsigned int i = 0; i < ARRAY_SIZE(s.control->user_reserved); i++)
		igt_assert_eq_u32(s.control->user_reserved[i], i + 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(s.control->kernel_reserved); i++)
		igt_assert_eq_u32(s.control->kernel_reserved[i], 0);
	igt_perfctr_session_close(&s);
}

/* the indices go over 2^32 with @unread samples in the ring */
static void wrap(uint32_t slots, uint32_t unread)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, slots, 0);
	igt_assert_eq_u32(s.control->insert_idx, DRM_PERFCTR_RING_FIRST);
	igt_assert_eq_u32(s.control->extract_idx, DRM_PERFCTR_RING_FIRST);
	igt_known_start(&s, &before);
	for (uint32_t i = 0; i < 40; i++) {
		struct drm_perfctr_status st;

		if (igt_perfctr_unread(&s) > unread) {
			igt_assert_eq_u64(igt_perfctr_slot(&s, s.extract)->user_data, s.extract);
			igt_perfctr_drain(&s);
		}
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq_u32(s.control->insert_idx, DRM_PERFCTR_RING_FIRST + i + 1);
		st = igt_perfctr_status(&s);
		igt_assert_eq_u32(st.insert_idx, s.control->insert_idx);
		igt_assert_eq_u32(st.extract_idx, s.control->extract_idx);
		igt_assert_eq_u64(st.published, i + 1);
		igt_assert_eq_u64(st.bad_extract, 0);
	}
	igt_assert_eq_u32(s.control->insert_idx, 24);
	igt_known_work(&dev, 1);
	igt_known_stop(&s, &before);
	igt_assert_eq_u64(s.samples, 41);
	igt_perfctr_session_close(&s);
}

static void ring_wrap(void)
{
	for (uint32_t slots = 2; slots <= 64; slots *= 2)
		for (uint32_t unread = 0; unread + 2 <= slots && unread < 40;
		     unread = 2 * unread + 1)
			wrap(slots, unread);
}

static void ring_state(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	igt_assert_eq_u32(s.control->state, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_ACTIVE);
	igt_assert_eq_u32(igt_perfctr_status(&s).flags, DRM_PERFCTR_STATUS_ACTIVE);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u32(s.control->state, 0);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_perfctr_session_close(&s);
}

static void ring_tests(void)
{
	static const struct {
		const char *name, *text;
		uint32_t extract;
	} hostile[] = {
		{ "extract-one-back",
		  "an extract_idx one below the accepted one is ignored, counted, and affects only "
		  "its session",
		  DRM_PERFCTR_RING_FIRST + 2 },
		{ "extract-zero", "the same for zero, which is above insert_idx", 0 },
		{ "extract-first", "the same for the first index after samples were read",
		  DRM_PERFCTR_RING_FIRST },
		{ "extract-beyond-insert", "the same for an extract_idx far above insert_idx",
		  DRM_PERFCTR_RING_FIRST + 4000 },
		{ "extract-full-circle", "the same for an extract_idx that is a whole ring ahead",
		  DRM_PERFCTR_RING_FIRST + 11 },
		{ "extract-minus-one", "the same for the largest unsigned 32-bit number", ~0u },
		{ "extract-sign-bit", "the same for a number with only the sign bit set",
		  1u << 31 },
		{ "extract-low-16-right",
		  "the same for an index that is right in its low 16 bits only",
		  (DRM_PERFCTR_RING_FIRST + 3) ^ 0x10000 },
		{ "extract-largest", "the same for the largest signed 32-bit number", 0x7fffffff },
		{ "extract-half-circle", "the same for the index 2^31 after the accepted one",
		  DRM_PERFCTR_RING_FIRST + 3 + (1u << 31) },
	};

	igt_describe("a ring of one slot delivers the final sample and nothing else");
	igt_subtest("ring-one-slot") full_ring(1, 0);
	igt_describe("a ring of two slots delivers one sample and the final one");
	igt_subtest("ring-two-slots") full_ring(2, 0);
	/* Covers: command -ENOSPC */
	igt_describe("a full ring refuses SAMPLE, keeps every byte, and still accepts the sample "
		     "of STOP");
	igt_subtest("ring-full-manual") full_ring(16, 0);
	/* Covers: command -ENOSPC, DRM_PERFCTR_STATUS_ACTIVE */
	igt_describe("periods that find the ring full are merged into the sample of STOP");
	igt_subtest("ring-full-periodic") full_ring(8, MS);
	igt_describe("a periodic session in one slot gives one stretched sample");
	igt_subtest("ring-one-slot-periodic") full_ring(1, MS);

	/* Covers: drm_perfctr_ring_control */
	igt_describe("every power of two up to max_slots is a valid ring size, with all slots "
		     "usable");
	igt_subtest("ring-all-sizes") ring_all_sizes();
	igt_describe("a ring of max_slots can be filled to the last slot and read");
	igt_subtest("ring-largest") ring_largest();
	for (unsigned int i = 0; i < ARRAY_SIZE(hostile); i++) {
		igt_describe(hostile[i].text);
		igt_subtest(hostile[i].name) hostile_extract(hostile[i].extract);
	}

	/* Covers: DRM_PERFCTR_RING_FIRST */
	igt_describe("the indices go over 2^32 after 16 samples, whatever is unread");
	igt_subtest("ring-wrap") ring_wrap();
	igt_describe("scribbling over the control area affects no other session");
	igt_subtest("ring-scribbled") ring_scribbled();
	igt_describe("the kernel ignores and overwrites what user space writes to insert_idx");
	igt_subtest("insert-index-written") insert_index_written();
	/* Covers: drm_perfctr_ring_control */
	igt_describe("the reserved words of user space stay as written, those of the kernel stay "
		     "zero");
	igt_subtest("control-reserved") control_reserved();
	/* Covers: DRM_PERFCTR_RING_ACTIVE, DRM_PERFCTR_RING_DEAD */
	igt_describe("the control area has the state of the session");
	igt_subtest("ring-state") ring_state();
}

/* whether a signal was pending; resets the eventfd */
static bool is_signalled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n;

	return poll(&p, 1, 10000) == 1 && read(fd, &n, sizeof(n)) == sizeof(n) && n;
}

/* no signal arrives within the time that one would take */
static bool is_quiet(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 50) == 0;
}

struct woken {
	struct igt_perfctr_session *s;
	int eventfd;
	bool woken;
	uint32_t state;
	uint64_t unread;
};

static void *be_woken(void *data)
{
	struct woken *w = data;
	struct pollfd p = { .fd = w->eventfd, .events = POLLIN };

	w->woken = poll(&p, 1, -1) == 1;
	w->state = __atomic_load_n(&w->s->control->state, __ATOMIC_ACQUIRE);
	w->unread = igt_perfctr_unread(w->s);
	return NULL;
}

static void wake_watermark(void)
{
	struct igt_perfctr_session s;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = fd;
	s.params.watermark = 4;
	igt_perfctr_begin(&s);
	for (unsigned int i = 1; i <= 6; i++) {
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert(i >= 4 ? is_signalled(fd) : is_quiet(fd));
	}
	igt_perfctr_drain(&s);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert(is_quiet(fd));
	igt_assert_eq_u64(igt_perfctr_status(&s).wakeups, 3);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert(is_signalled(fd));
	igt_perfctr_session_close(&s);
	/* the ring is DEAD */
	igt_assert(is_signalled(fd));
	close(fd);
}

static void wake_zero(void)
{
	struct igt_perfctr_session s;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = fd;
	igt_perfctr_begin(&s);
	for (unsigned int i = 0; i < 3; i++) {
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert(is_signalled(fd));
	}
	igt_perfctr_session_close(&s);
	close(fd);
}

static void wake_poll(void)
{
	struct igt_perfctr_session s;
	struct pollfd p = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = p.fd;
	s.params.watermark = 3;
	s.params.period_ns = 5 * MS;
	igt_perfctr_begin(&s);
	igt_assert_eq(poll(&p, 1, 5000), 1);
	igt_assert_lte_u64(3, igt_perfctr_unread(&s));
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_session_close(&s);
	close(p.fd);
}

static void wake_full(void)
{
	for (uint32_t slots = 2; slots <= 8; slots *= 2) {
		struct igt_perfctr_session s;
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		igt_perfctr_session_init(&s, &dev);
		s.params.slots = slots;
		s.params.eventfd = fd;
		s.params.watermark = slots;
		igt_perfctr_begin(&s);
		for (uint32_t i = 1; i < slots; i++) {
			igt_assert(is_quiet(fd));
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		}
		igt_assert_eq(igt_perfctr_sample(&s, 0), -ENOSPC);
		igt_assert(is_signalled(fd));
		igt_perfctr_session_close(&s);
		close(fd);
	}
}

static void wake_stop_state(void)
{
	struct igt_perfctr_session s;
	struct woken w = { .s = &s, .eventfd = eventfd(0, EFD_CLOEXEC) };
	pthread_t thread;

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = w.eventfd;
	igt_perfctr_begin(&s);
	igt_assert_eq(pthread_create(&thread, NULL, be_woken, &w), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert(w.woken);
	igt_assert_eq_u64(w.unread, 1);
	igt_assert_eq_u32(w.state, 0);
	igt_perfctr_session_close(&s);
	close(w.eventfd);
}

static void wake_closed_eventfd(void)
{
	struct igt_perfctr_session s;
	int fd = eventfd(0, EFD_CLOEXEC);

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = fd;
	igt_perfctr_session_open(&s);
	close(fd);
	igt_known_conserve(&s, 3, igt_known_step_sample);
	igt_perfctr_session_close(&s);
}

static void wake_tests(void)
{
	igt_describe("samples at or above the watermark signal the eventfd, those below do not");
	igt_subtest("wake-watermark") wake_watermark();
	igt_describe("watermark 0 signals every sample");
	igt_subtest("wake-zero") wake_zero();
	igt_describe("poll() of the eventfd returns when a periodic sample is there");
	igt_subtest("wake-poll") wake_poll();
	igt_describe("a ring with room for only the final sample wakes its reader at any "
		     "watermark");
	igt_subtest("wake-full") wake_full();
	igt_describe("a reader that STOP wakes finds the final sample and an inactive session");
	igt_subtest("wake-stop-state") wake_stop_state();
	igt_describe("an eventfd that is never read, or closed, does no harm");
	igt_subtest("wake-closed-eventfd") wake_closed_eventfd();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	ring_tests();
	wake_tests();
}
