// SPDX-License-Identifier: MIT
/**
 * TEST: The ring is mapped as its rules allow, and outlives its session
 * Description: mmap() of a session and of a reader: what can be mapped, how, by whom, and how long
 *   it lasts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"

#define PAGE ((unsigned int)getpagesize())
#define PAGE_MAX 65536
#define RW (PROT_READ | PROT_WRITE)

static struct igt_perfctr_device dev;
static struct igt_perfctr_session s;

static void begin(uint32_t slots)
{
	igt_perfctr_session_open_with(&s, &dev, slots, 0);
}

/* of the slots' mapping */
static uint32_t slots_bytes(void)
{
	return s.layout.map_bytes - s.layout.ring_offset;
}

static int map_only(uint64_t offset, size_t bytes, int prot)
{
	void *at;
	int ret = igt_perfctr_map(s.fd, offset, bytes, prot, &at);

	if (!ret)
		munmap(at, bytes);
	return ret;
}

static void control_writable(void)
{
	struct drm_perfctr_ring_control *second;
	void *at;

	begin(4);
	igt_assert_eq_u64(s.layout.ring_offset % PAGE, 0);
	igt_assert_lte_u64(sizeof(*second), s.layout.ring_offset);
	igt_assert_eq(igt_perfctr_map(s.fd, 0, PAGE, RW, &at), 0);
	second = at;
	second->user_reserved[3] = 4711;
	igt_assert_eq_u64(s.control->user_reserved[3], 4711);
	munmap(at, PAGE);
	igt_perfctr_session_close(&s);
}

static void slots_read_only(void)
{
	begin(4);
	igt_assert_eq(map_only(s.layout.ring_offset, slots_bytes(), RW), -EACCES);
	igt_assert_eq(map_only(s.layout.ring_offset, PAGE, PROT_WRITE), -EACCES);
	igt_assert_eq(map_only(0, s.layout.map_bytes, RW), -EACCES);
	igt_assert(mprotect(s.ring, slots_bytes(), RW) < 0 && errno == EACCES);
	igt_assert(mprotect(s.ring, PAGE, RW) < 0 && errno == EACCES);
	igt_perfctr_session_close(&s);
}

/* /proc/self/mem ignores the protection of private mappings, but cannot write slots either */
static void slots_forced(void)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	const uint64_t word = ~0ull;

	igt_assert_lte(0, fd);
	begin(4);
	igt_assert_eq(pwrite(fd, &word, sizeof(word), (off_t)(uintptr_t)s.ring), -1);
	igt_assert_eq_u64(*(uint64_t *)s.ring, 0);
	close(fd);
	igt_perfctr_session_close(&s);
}

static void whole_read_only(void)
{
	const struct drm_perfctr_sample_header *h;
	uint64_t bytes;
	void *at;

	begin(4);
	bytes = s.layout.map_bytes;
	igt_assert_eq(igt_perfctr_map(s.fd, 0, bytes, PROT_READ, &at), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 4711), 0);
	h = (void *)((char *)at + s.layout.ring_offset);
	igt_assert_eq_u64(h->user_data, 4711);
	igt_assert(!memcmp(h, s.ring, h->size));
	/* a range with slots never becomes writable */
	igt_assert(mprotect(at, PAGE, RW) < 0 && errno == EACCES);
	munmap(at, bytes);
	igt_perfctr_session_close(&s);
}

static void private_refused(void)
{
	begin(4);
	for (unsigned int write = 0; write < 2; write++) {
		igt_assert(mmap(NULL, PAGE, write ? RW : PROT_READ, MAP_PRIVATE, s.fd, 0) ==
			   MAP_FAILED);
		igt_assert_eq(errno, EINVAL);
	}
	igt_assert(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, s.fd, s.layout.ring_offset) ==
		   MAP_FAILED);
	igt_assert_eq(errno, EINVAL);
	igt_perfctr_session_close(&s);
}

static void beyond_refused(void)
{
	/* the low 32 bits are valid, or the sum with the length wraps */
	const uint64_t far[] = {
		1ull << 32, (1ull << 32) + PAGE, 1ull << 44, 1ull << 62, 0x7ffffffffffff000,
	};
	uint64_t end;

	begin(64);
	end = s.layout.map_bytes;
	igt_assert_eq(map_only(s.layout.ring_offset, slots_bytes(), PROT_READ), 0);
	igt_assert_eq(map_only(s.layout.ring_offset, slots_bytes() + PAGE, PROT_READ), -EINVAL);
	igt_assert_eq(map_only(end, PAGE, PROT_READ), -EINVAL);
	igt_assert_eq(map_only(end - PAGE, 2 * PAGE, PROT_READ), -EINVAL);
	igt_assert_eq(map_only(0, 1u << 30, PROT_READ), -EINVAL);
	igt_assert(mremap(s.ring, slots_bytes(), slots_bytes() + PAGE, MREMAP_MAYMOVE) ==
		   MAP_FAILED);
	for (unsigned int i = 0; i < ARRAY_SIZE(far); i++) {
		int ret = map_only(far[i], PAGE, PROT_READ);

		igt_assert_f(ret == -EINVAL || ret == -EOVERFLOW, "offset %#llx: %d\n",
			     (unsigned long long)far[i], ret);
	}
	igt_perfctr_session_close(&s);
}

static void part_unmapped(void)
{
	begin(64);
	igt_assert_lte_u64(2 * PAGE, slots_bytes());
	/* without slot 0; the first sample is in slot 48 */
	igt_assert_eq(munmap(s.ring, PAGE), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 5), 0);
	igt_assert_eq_u64(igt_perfctr_slot(&s, 0)->user_data, 5);
	igt_perfctr_session_close(&s);
}

static void not_a_file_to_read(void)
{
	char byte = 0;

	begin(4);
	igt_assert(read(s.fd, &byte, 1) < 0);
	igt_assert(write(s.fd, &byte, 1) < 0);
	igt_assert(ftruncate(s.fd, PAGE) < 0);
	igt_assert_eq(fcntl(s.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	igt_perfctr_session_close(&s);
}

static void zeroed(void)
{
	static const uint8_t zeroes[PAGE_MAX];
	struct drm_perfctr_ring_control first;

	for (unsigned int i = 0; i < 8; i++) {
		begin(16);
		for (uint64_t at = 0; at < slots_bytes(); at += PAGE)
			igt_assert(!memcmp(s.ring + at, zeroes, PAGE));
		first = (struct drm_perfctr_ring_control){
			.extract_idx = DRM_PERFCTR_RING_FIRST,
			.insert_idx = DRM_PERFCTR_RING_FIRST,
			.slots = s.layout.slots,
			.slot_stride = s.layout.slot_stride,
			.ring_offset = s.layout.ring_offset,
			.sample_size = s.layout.sample_size,
		};
		igt_assert(!memcmp(s.control, &first, sizeof(first)));
		igt_assert(!memcmp(s.control + 1, zeroes, s.layout.ring_offset - sizeof(first)));
		/* write a pattern that the next ring must not show */
		memset(s.control, 0xa5, sizeof(*s.control));
		igt_assert_eq(igt_perfctr_start(&s, ~0ull), 0);
		igt_assert_eq(igt_perfctr_stop(&s, ~0ull), 0);
		igt_perfctr_session_close(&s);
	}
}

/* the reader is an unprivileged process that could not create the session */
static void other_process_reads(void)
{
	int sockets[2], fd;
	void *at;

	igt_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	igt_fork(child, 1) {
		struct igt_perfctr_session r;

		igt_perfctr_session_init(&r, &dev);
		igt_drop_to(IGT_NOBODY, 0);
		fd = igt_receive_fd(sockets[1]);
		igt_assert_eq(read(sockets[1], &r.layout, sizeof(r.layout)),
			      (ssize_t)sizeof(r.layout));
		r.fd = fd;
		igt_perfctr_session_map(&r);
		igt_assert_eq(igt_perfctr_map(fd, r.layout.ring_offset, PAGE, RW, &at), -EACCES);
		igt_assert_eq_u64(igt_perfctr_published(&r), 1);
		igt_assert(igt_perfctr_slot(&r, 0)->flags & DRM_PERFCTR_SAMPLE_MANUAL);
		igt_perfctr_free_slots(&r, 1);
	}
	begin(2);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 1), -ENOSPC);
	fd = igt_perfctr_session_reader(&s);
	igt_send_fd(sockets[0], fd);
	close(fd);
	igt_assert_eq(write(sockets[0], &s.layout, sizeof(s.layout)), (ssize_t)sizeof(s.layout));
	igt_waitchildren();
	s.extract = 1;
	igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
	igt_assert_eq_u64(igt_perfctr_freed(&s), 1);
	close(sockets[0]);
	close(sockets[1]);
	igt_perfctr_session_close(&s);
}

static void child_keeps_mapping(void)
{
	begin(4);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 6), 0);
	igt_fork(child, 1) {
		igt_assert_eq_u64(igt_perfctr_slot(&s, 0)->user_data, 6);
		igt_assert(mprotect(s.ring, PAGE, RW) < 0 && errno == EACCES);
		igt_perfctr_free_slots(&s, 1);
	}
	igt_waitchildren();
	igt_assert_eq(igt_perfctr_sample(&s, 7), 0);
	igt_assert_eq_u64(igt_perfctr_freed(&s), 1);
	igt_perfctr_session_close(&s);
}

/* first only a mapping of the ring remains, then only a reader */
static void outlives_session(void)
{
	uint64_t offset;
	void *at;
	int fd;

	begin(2);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 99), 0);
	fd = igt_perfctr_session_reader(&s);
	offset = s.layout.ring_offset;
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_assert_eq_u64(igt_perfctr_slot(&s, 0)->user_data, 99);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_perfctr_map(fd, offset, PAGE, PROT_READ, &at), 0);
	igt_assert_eq_u64(((struct drm_perfctr_sample_header *)at)->user_data, 99);
	close(fd);
	igt_assert_eq_u64(((struct drm_perfctr_sample_header *)at)->user_data, 99);
	munmap(at, PAGE);
}

static void session_unmapped(void)
{
	begin(2);
	igt_perfctr_session_unmap(&s);
	igt_assert_eq_u32(igt_perfctr_status(&s).readers, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&s, 1), 0);
	igt_assert_eq_u64(igt_perfctr_status(&s).published, 1);
	igt_perfctr_session_map(&s);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_perfctr_session_close(&s);
}

static void unplugged_state(void)
{
	igt_perfctr_begin_with(&s, &dev, 4, 0);
	igt_unbind(&dev);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	igt_assert_eq(map_only(s.layout.ring_offset, PAGE, PROT_READ), 0);
	igt_perfctr_session_close(&s);
	igt_bind_again(&dev);
}

/* @mem_fd: /proc/self/mem, which reads as ptrace() does */
static void not_kept(const void *at, int pipe_fd, int mem_fd)
{
	struct iovec from = { .iov_base = (void *)(uintptr_t)at, .iov_len = 64 };
	char copy[64];
	struct iovec to = { .iov_base = copy, .iov_len = sizeof(copy) };
	int error;

	igt_assert_eq(vmsplice(pipe_fd, &from, 1, 0) < 0 ? errno : 0, EFAULT);
	error = process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 ? errno : 0;
	/* ENOSYS: User-mode Linux without CROSS_MEMORY_ATTACH */
	if (error != ENOSYS)
		igt_assert_eq(error, EFAULT);
	igt_assert_eq(pread(mem_fd, copy, 64, (off_t)(uintptr_t)at) < 0 ? errno : 0, EIO);
	igt_assert_eq((int)write(pipe_fd, at, 64), 64);
}

static void unpinnable(void)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int fds[2];

	igt_assert_lte(0, mem);
	begin(16);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(pipe(fds), 0);
	not_kept(igt_perfctr_slot(&s, 0), fds[1], mem);
	not_kept(s.control, fds[1], mem);
	close(fds[0]);
	close(fds[1]);
	close(mem);
	igt_perfctr_session_close(&s);
}

/* the unused loop device, with memory as its contents, for O_DIRECT; -1: the kernel has none */
static int open_loop(void)
{
	const int memory = memfd_create("blocks", MFD_CLOEXEC);
	int control, loop;
	char path[32];

	igt_assert_eq(ftruncate(memory, 16 * PAGE), 0);
	if (system("modprobe -q loop"))
		igt_info("no module loop\n");
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
	close(control);
	loop = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	igt_assert_lte(0, loop);
	igt_assert_eq(ioctl(loop, LOOP_SET_FD, memory), 0);
	close(memory);
	return loop;
}

/* 0 or the errno of a write of a page that the kernel must not copy */
static int write_page(int loop, const void *at)
{
	const ssize_t written = pwrite(loop, at, PAGE, 0);

	igt_assert(written < 0 || written == PAGE);
	return written < 0 ? errno : 0;
}

static void direct_io(void)
{
	void *anonymous = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int loop = open_loop();

	igt_require_f(loop >= 0, "no loop devices: %s\n", strerror(errno));
	begin(16);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(write_page(loop, s.ring), EFAULT);
	igt_assert_eq(write_page(loop, s.control), EFAULT);
	/* other memory works */
	igt_assert_eq(write_page(loop, anonymous), 0);
	igt_assert_eq(ioctl(loop, LOOP_CLR_FD), 0);
	close(loop);
	munmap(anonymous, PAGE);
	igt_perfctr_session_close(&s);
}

/* io_uring with @at as a fixed buffer; 0 or -errno */
static int fix_buffer(int ring, void *at)
{
	struct iovec buffer = { .iov_base = at, .iov_len = PAGE };
	const long ret = syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1);

	return ret < 0 ? -errno : 0;
}

static void fixed_buffers(void)
{
	struct io_uring_params params = { 0 };
	int ring = syscall(SYS_io_uring_setup, 1, &params);
	void *anonymous = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	igt_require_f(ring >= 0, "the kernel has no io_uring: %s\n", strerror(errno));
	begin(16);
	igt_assert_eq(fix_buffer(ring, s.control), -EFAULT);
	igt_assert_eq(fix_buffer(ring, s.ring), -EFAULT);
	/* other memory works */
	igt_assert_eq(fix_buffer(ring, anonymous), 0);
	close(ring);
	munmap(anonymous, PAGE);
	igt_perfctr_session_close(&s);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/* Covers: drm_perfctr_ring_control */
	igt_describe("the control area is mapped for reading and writing, each mapping the same");
	igt_subtest("map-control") control_writable();
	igt_describe("slots are mapped for reading only, and mprotect() does not change that");
	igt_subtest("map-slots") slots_read_only();
	igt_describe("/proc/self/mem cannot write to slots either");
	igt_subtest("map-slots-forced") slots_forced();
	igt_describe("the whole file can be mapped at once for reading");
	igt_subtest("map-whole") whole_read_only();
	igt_describe("a private mapping is -EINVAL");
	igt_subtest("map-private") private_refused();
	igt_describe("no page can be kept beyond its mapping: vmsplice(), process_vm_readv() and "
		     "/proc/PID/mem fail, and write() from a slot works");
	igt_subtest("map-pinned") unpinnable();
	igt_describe("O_DIRECT from slots and control area is -EFAULT");
	igt_subtest("map-direct-io") direct_io();
	igt_describe("control area and slots are no fixed buffers of io_uring: -EFAULT");
	igt_subtest("map-fixed-buffers") fixed_buffers();
	igt_describe("no mapping reaches or grows beyond the end of the ring; offsets of 4 GiB "
		     "and more never wrap to a valid one");
	igt_subtest("map-beyond") beyond_refused();
	igt_describe("a part of a mapping can be unmapped; the rest stays mapped");
	igt_subtest("map-part-unmapped") part_unmapped();
	igt_describe("a session's descriptor cannot be read, written or truncated");
	igt_subtest("map-no-file") not_a_file_to_read();
	/* Covers: DRM_PERFCTR_RING_FIRST */
	igt_describe("a new ring shows nothing of an earlier one");
	igt_subtest("map-zeroed") zeroed();
	igt_describe("a process without privileges that receives a reader can read the ring");
	igt_subtest("map-other-process") other_process_reads();
	igt_describe("a child inherits its parent's mappings with the same protection");
	igt_subtest("map-fork") child_keeps_mapping();
	igt_describe("samples stay readable after the session's end, with ring state DEAD");
	igt_subtest("map-outlives-session") outlives_session();
	igt_describe("a session works on after its ring was unmapped");
	igt_subtest("map-closed-first") session_unmapped();
	igt_describe("a mapping of an unplugged device has the last sample and state DEAD");
	igt_subtest("map-unplugged") unplugged_state();
}
