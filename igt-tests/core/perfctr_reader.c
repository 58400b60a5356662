// SPDX-License-Identifier: MIT
/**
 * TEST: A reader sees the ring and nothing else, and outlives the session
 * Description: Descriptors of READER: what they take, how STATUS counts them, how long they last.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"
#include "igt_sys.h"

#define PAGE 4096u
#define RW (PROT_READ | PROT_WRITE)

static struct igt_perfctr_device dev;
static struct igt_perfctr_session s;

static void begin(void)
{
	igt_perfctr_begin_with(&s, &dev, 4, 0);
}

/* the same ring, mapped by the reader; closing it closes the reader */
static struct igt_perfctr_session read_by(int reader)
{
	struct igt_perfctr_session r;

	igt_perfctr_session_init(&r, &dev);
	igt_raw_opened(&r, reader);
	igt_perfctr_session_map(&r);
	return r;
}

static void ioctls(void)
{
	static const unsigned long others[] = {
		DRM_PERFCTR_IOCTL_START,
		DRM_PERFCTR_IOCTL_SAMPLE,
		DRM_PERFCTR_IOCTL_STOP,
		DRM_PERFCTR_IOCTL_STATUS,
		DRM_PERFCTR_IOCTL_READER,
		_IO(DRM_IOCTL_BASE, 0xe6),
		_IOW(DRM_IOCTL_BASE, 0xe4, uint64_t),
	};
	struct drm_perfctr_status before, after;
	uint64_t words[16] = { 0 };
	int reader;

	begin();
	reader = igt_perfctr_session_reader(&s);
	igt_assert_eq(fcntl(reader, F_GETFD), FD_CLOEXEC);
	before = igt_perfctr_status(&s);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		igt_assert_eq(igt_perfctr_ioctl(reader, others[i], words), -ENOTTY);
		igt_assert_eq(igt_perfctr_ioctl(reader, others[i], NULL), -ENOTTY);
	}
	after = igt_perfctr_status(&s);
	igt_assert(!memcmp(&before, &after, sizeof(after)));
	igt_assert(read(reader, words, 8) < 0);
	igt_assert(write(reader, words, 8) < 0);
	close(reader);
	igt_perfctr_session_close(&s);
}

static void protection(void)
{
	struct igt_perfctr_session r;
	uint32_t bytes;
	void *at;

	begin();
	r = read_by(igt_perfctr_session_reader(&s));
	igt_assert(!memcmp(&r.layout, &s.layout, sizeof(s.layout)));
	bytes = r.layout.map_bytes - r.layout.ring_offset;
	igt_assert_eq(igt_perfctr_map(r.fd, r.layout.ring_offset, bytes, RW, &at), -EACCES);
	igt_assert_eq(igt_perfctr_map(r.fd, 0, r.layout.map_bytes, RW, &at), -EACCES);
	igt_assert(mprotect(r.ring, bytes, RW) < 0 && errno == EACCES);
	igt_assert_eq(igt_perfctr_map(r.fd, r.layout.ring_offset, bytes + PAGE, PROT_READ, &at),
		      -EINVAL);
	igt_assert(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, r.fd, 0) == MAP_FAILED);
	igt_perfctr_session_close(&r);
	igt_perfctr_session_close(&s);
}

/* readers share extract_idx with the session */
static void shared_index(void)
{
	struct igt_perfctr_session r;

	begin();
	r = read_by(igt_perfctr_session_reader(&s));
	for (unsigned int i = 0; i < 20; i++) {
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq(igt_perfctr_drain(&r), 1);
		igt_assert_eq_u64(r.last.user_data, i);
	}
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq_u64(igt_perfctr_freed(&s), 20);
	igt_perfctr_session_close(&r);
	igt_perfctr_session_close(&s);
}

static uint32_t readers(void)
{
	return igt_perfctr_status(&s).readers;
}

static void counted(void)
{
	int first, second, copy;
	void *at, *control;

	begin();
	igt_assert_eq_u32(readers(), 2);
	igt_perfctr_session_unmap(&s);
	igt_assert_eq_u32(readers(), 0);
	first = igt_perfctr_session_reader(&s);
	igt_assert_eq_u32(readers(), 1);
	second = igt_perfctr_session_reader(&s);
	igt_assert_eq_u32(readers(), 2);
	/* a copy, and a mapping of a reader, are the same reader */
	copy = dup(first);
	igt_assert_eq(igt_perfctr_map(first, 0, PAGE, PROT_READ, &at), 0);
	igt_assert_eq_u32(readers(), 2);
	close(first);
	close(copy);
	igt_assert_eq_u32(readers(), 2);
	munmap(at, PAGE);
	igt_assert_eq_u32(readers(), 1);
	/* a mapping of the session is one, too; a refused one is not */
	igt_assert_eq(igt_perfctr_map(s.fd, 0, PAGE, RW, &control), 0);
	igt_assert_eq_u32(readers(), 2);
	igt_assert_eq(igt_perfctr_map(s.fd, s.layout.ring_offset, PAGE, RW, &at), -EACCES);
	igt_assert_eq(igt_perfctr_map(s.fd, s.layout.map_bytes, PAGE, PROT_READ, &at), -EINVAL);
	igt_assert_eq_u32(readers(), 2);
	munmap(control, PAGE);
	close(second);
	igt_assert_eq_u32(readers(), 0);
	igt_perfctr_session_close(&s);
}

/* the kernel's open files, which it counts within some hundred */
static int files(void)
{
	return igt_read_int("/proc/sys/fs/file-nr");
}

static void one_file(void)
{
	const unsigned int maps = 10000;

	begin();
	/* the child's end unmaps them */
	igt_fork(child, 1) {
		const int before = files();
		void *at;

		for (unsigned int i = 0; i < maps; i++)
			igt_assert_eq(igt_perfctr_map(s.fd, i % 2 * PAGE, PAGE, PROT_READ, &at), 0);
		igt_info("%d more files\n", files() - before);
		igt_assert_lt(files() - before, 1000);
		/* beside the two of the parent and the child's copies of them */
		igt_assert_eq_u32(readers(), 4 + maps);
	}
	igt_waitchildren();
	igt_assert_eq_u32(readers(), 2);
	igt_perfctr_session_close(&s);
}

static void outlives(void)
{
	struct igt_perfctr_session r;
	struct pollfd p;

	begin();
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	r = read_by(igt_perfctr_session_reader(&s));
	/* not the last sample, because the session is not stopped */
	igt_perfctr_session_close(&s);
	igt_assert_eq_u32(r.control->state, DRM_PERFCTR_RING_DEAD);
	p = (struct pollfd){ .fd = r.fd, .events = POLLIN };
	igt_assert_eq(poll(&p, 1, 0), 1);
	igt_assert_eq_u32(p.revents, POLLIN | POLLHUP);
	igt_assert_eq(igt_perfctr_drain(&r), 1);
	igt_assert_eq_u64(r.last.user_data, 1);
	igt_assert_eq(poll(&p, 1, 0), 1);
	igt_assert_eq_u32(p.revents, POLLHUP);
	/* it can still be mapped anew */
	igt_perfctr_session_unmap(&r);
	igt_perfctr_session_map(&r);
	igt_assert_eq_u64(igt_perfctr_slot(&r, 0)->user_data, 1);
	igt_perfctr_session_close(&r);
}

/* the session's end, in spite of its mappings, and of its readers */
static void keeps_nothing(void)
{
	struct igt_perfctr_session other, r;

	igt_perfctr_session_init_set(&s, &dev, DRM_PERFCTR_SET_SECONDARY);
	igt_require_f(dev.info.sets >> DRM_PERFCTR_SET_SECONDARY & 1, "one counter set\n");
	igt_perfctr_begin(&s);
	r = read_by(igt_perfctr_session_reader(&s));
	igt_perfctr_session_open_with(&other, &dev, 4, 0);
	igt_assert_eq(igt_perfctr_start(&other, 0), -EBUSY);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_assert_eq(igt_perfctr_start(&other, 0), 0);
	igt_perfctr_session_close(&other);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&r);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/* Covers: DRM_PERFCTR_IOCTL_READER, command -ENOTTY */
	igt_describe("a reader takes LAYOUT only; all other ioctls are -ENOTTY without effect");
	igt_subtest("reader-ioctls") ioctls();
	igt_describe("a reader's slots are never writable");
	igt_subtest("reader-slots") protection();
	igt_describe("readers read and free the samples of the session");
	igt_subtest("reader-shares-index") shared_index();
	igt_describe("STATUS counts readers that are open or mapped, and mappings of the session");
	igt_subtest("reader-counted") counted();
	igt_describe("10,000 mappings of a session are one file of the kernel");
	igt_subtest("reader-one-file") one_file();
	/* Covers: Life of the descriptor */
	igt_describe("a reader outlives the session, can be drained and mapped, and is hung up");
	igt_subtest("reader-outlives") outlives();
	/* Covers: Life of the descriptor */
	igt_describe("mappings and readers do not keep a session");
	igt_subtest("reader-keeps-nothing") keeps_nothing();
	igt_fixture()
		igt_perfctr_close(&dev);
}
