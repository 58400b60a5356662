// SPDX-License-Identifier: MIT
/*
 * Buffers in the address space: whose they are, how far they reach, and what a dma-buf of them
 * allows.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_vsoc.h"

IGT_TEST_DESCRIPTION("A buffer is mapped by who may, as far as it goes, and as was allowed");

#define PAGE 4096u
#define BYTES (4 * PAGE)

static struct igt_perfctr_device dev;

static struct drm_perfctr_bo_create create_buffer(int fd)
{
	struct drm_perfctr_bo_create bo = { .size = BYTES };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_PERFCTR_BO_CREATE, &bo), 0);
	return bo;
}

/* 0 or -errno; *@at is the mapping */
static int try_map(int fd, uint64_t offset, size_t bytes, int prot, void **at)
{
	*at = mmap(NULL, bytes, prot, MAP_SHARED, fd, offset);
	return *at == MAP_FAILED ? -errno : 0;
}

static int map_only(int fd, uint64_t offset, size_t bytes, int prot)
{
	void *at;
	int ret = try_map(fd, offset, bytes, prot, &at);

	if (!ret)
		munmap(at, bytes);
	return ret;
}

static int export(uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | flags };

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
	return prime.fd;
}

static void mmap_tests(void)
{
	const int rw = PROT_READ | PROT_WRITE;

	igt_describe("a part of a buffer from its beginning can be mapped, and is the same memory");
	igt_subtest("map-part")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
		uint8_t *part, *whole;
		void *at;

		igt_assert_eq(try_map(dev.fd, bo.mmap_offset, PAGE, rw, &at), 0);
		part = at;
		igt_assert_eq(try_map(dev.fd, bo.mmap_offset, BYTES, rw, &at), 0);
		whole = at;
		part[17] = 42;
		igt_assert_eq(whole[17], 42);
		munmap(part, PAGE);
		munmap(whole, BYTES);
		igt_perfctr_gem_close(dev.fd, bo.handle);
	}
	igt_describe("no mapping reaches beyond its buffer, nor begins inside of it");
	igt_subtest("map-beyond")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd), next;
		uint64_t at = bo.mmap_offset;

		/* what could be reached */
		next = create_buffer(dev.fd);
		igt_assert_eq(map_only(dev.fd, at, BYTES + PAGE, rw), -EINVAL);
		igt_assert_eq(map_only(dev.fd, at, 1u << 30, rw), -EINVAL);
		igt_assert_eq(map_only(dev.fd, at + PAGE, BYTES, rw), -EINVAL);
		igt_assert_eq(map_only(dev.fd, at + PAGE, PAGE, rw), -EINVAL);
		igt_assert_eq(map_only(dev.fd, at, BYTES, rw), 0);
		igt_perfctr_gem_close(dev.fd, bo.handle);
		igt_perfctr_gem_close(dev.fd, next.handle);
	}
	igt_describe("a mapping cannot be made longer than its buffer afterwards");
	igt_subtest("map-grow")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
		void *at;

		igt_assert_eq(try_map(dev.fd, bo.mmap_offset, BYTES, rw, &at), 0);
		igt_assert(mremap(at, BYTES, 2 * BYTES, MREMAP_MAYMOVE) == MAP_FAILED);
		munmap(at, BYTES);
		igt_perfctr_gem_close(dev.fd, bo.handle);
	}
	igt_describe("the offset of a buffer is worth nothing in another file");
	igt_subtest("map-other-file")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
		struct igt_perfctr_device other;

		igt_perfctr_reopen(&other, &dev);
		igt_assert_eq(map_only(other.fd, bo.mmap_offset, BYTES, PROT_READ), -EACCES);
		igt_assert_eq(map_only(dev.fd, bo.mmap_offset, BYTES, PROT_READ), 0);
		igt_perfctr_close(&other);
		igt_perfctr_gem_close(dev.fd, bo.handle);
	}
	igt_describe("after GEM_CLOSE a buffer can no longer be mapped, but mappings stay");
	igt_subtest("map-after-close")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
		uint8_t *mapped;
		void *at;

		igt_assert_eq(try_map(dev.fd, bo.mmap_offset, BYTES, rw, &at), 0);
		mapped = at;
		igt_perfctr_gem_close(dev.fd, bo.handle);
		igt_assert(map_only(dev.fd, bo.mmap_offset, BYTES, rw) < 0);
		mapped[BYTES - 1] = 7;
		igt_assert_eq(mapped[BYTES - 1], 7);
		munmap(mapped, BYTES);
		igt_assert_eq(map_only(dev.fd, bo.mmap_offset, BYTES, rw), -EINVAL);
	}
	igt_describe("a session keeps its buffers after GEM_CLOSE, but gives nobody a mapping");
	igt_subtest("map-after-close-active")
	{
		struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
		struct igt_perfctr_session s;

		igt_perfctr_session_init(&s, &dev);
		s.setup.request_count = 1;
		s.setup.slots = 1;
		s.setup.ring_handle = bo.handle;
		s.setup.control_handle = bo.handle;
		s.setup.ring_offset = PAGE;
		s.setup.requests = (uintptr_t)s.requests;
		igt_assert_eq(igt_perfctr_control(dev.fd, DRM_PERFCTR_CMD_SETUP, &s.handle,
						  &s.setup, sizeof(s.setup)),
			      0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_perfctr_gem_close(dev.fd, bo.handle);
		igt_assert_eq(map_only(dev.fd, bo.mmap_offset, BYTES, PROT_READ), -EACCES);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq(map_only(dev.fd, bo.mmap_offset, BYTES, PROT_READ), -EINVAL);
	}
	igt_describe("a buffer has nothing of what another one held before");
	igt_subtest("map-recycled")
	{
		static const uint8_t zeroes[BYTES];

		for (unsigned int i = 0; i < 32; i++) {
			struct drm_perfctr_bo_create bo = create_buffer(dev.fd);
			void *at;

			igt_assert_eq(try_map(dev.fd, bo.mmap_offset, BYTES, rw, &at), 0);
			igt_assert(!memcmp(at, zeroes, BYTES));
			memset(at, 0xa5, BYTES);
			munmap(at, BYTES);
			igt_perfctr_gem_close(dev.fd, bo.handle);
		}
	}
}

static void export_tests(void)
{
	igt_describe("a ring that is exported read-only can be read, and in no way be written");
	igt_subtest("export-read-only")
	{
		const struct drm_perfctr_sample_header *h;
		struct igt_perfctr_session s;
		void *at;
		int fd;

		igt_perfctr_session_setup(&s, &dev, 4, 0);
		fd = export(s.setup.ring_handle, 0);
		igt_assert_eq(map_only(fd, 0, s.ring_map, PROT_READ | PROT_WRITE), -EACCES);
		igt_assert_eq(map_only(fd, 0, s.ring_map + PAGE, PROT_READ), -EINVAL);
		igt_assert_eq(try_map(fd, 0, s.ring_map, PROT_READ, &at), 0);
		igt_assert(mprotect(at, s.ring_map, PROT_READ | PROT_WRITE) < 0 && errno == EACCES);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 4711), 0);
		h = at;
		igt_assert_eq_u64(h->user_data, 4711);
		igt_assert(!memcmp(at, s.ring, h->size));
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		munmap(at, s.ring_map);
		close(fd);
		igt_perfctr_drain(&s);
		igt_perfctr_session_fini(&s);
	}
	igt_describe(
		"with a ring to read and a control area to write another process is the reader");
	igt_subtest("export-to-reader")
	{
		struct igt_perfctr_session s;
		int ring, control;

		igt_perfctr_session_setup(&s, &dev, 2, 0);
		ring = export(s.setup.ring_handle, 0);
		control = export(s.setup.control_handle, DRM_RDWR);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 1), -ENOSPC);
		igt_fork(child, 1)
		{
			const struct drm_perfctr_sample_header *h;
			struct drm_perfctr_ring_control *c;
			void *at;

			igt_assert_eq(try_map(ring, 0, s.ring_map, PROT_READ, &at), 0);
			h = at;
			igt_assert_eq(
				try_map(control, 0, s.control_map, PROT_READ | PROT_WRITE, &at), 0);
			c = at;
			igt_assert_eq_u64(__atomic_load_n(&c->insert_idx, __ATOMIC_ACQUIRE), 1);
			igt_assert_eq_u32(h->flags, DRM_PERFCTR_SAMPLE_MANUAL);
			__atomic_store_n(&c->extract_idx, 1, __ATOMIC_RELEASE);
		}
		igt_waitchildren();
		s.extract = 1;
		igt_assert_eq(igt_perfctr_sample(&s, 2), 0);
		igt_assert_eq_u64(igt_perfctr_status(&s).extract_idx, 1);
		close(ring);
		close(control);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		igt_perfctr_session_fini(&s);
	}
	igt_describe("a dma-buf outlives the session, the handle and the file it came from");
	igt_subtest("export-outlives")
	{
		const struct drm_perfctr_sample_header *h;
		struct igt_perfctr_device mine;
		struct igt_perfctr_session s;
		struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
		void *at;

		igt_perfctr_reopen(&mine, &dev);
		igt_perfctr_session_setup(&s, &mine, 2, 0);
		prime.handle = s.setup.ring_handle;
		igt_assert_eq(igt_perfctr_ioctl(mine.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_assert_eq(igt_perfctr_stop(&s, 99), 0);
		munmap(s.ring, s.ring_map);
		munmap(s.control, s.control_map);
		igt_perfctr_close(&mine);
		igt_assert_eq(try_map(prime.fd, 0, s.ring_map, PROT_READ, &at), 0);
		h = at;
		igt_assert_eq_u64(h->user_data, 99);
		munmap(at, s.ring_map);
		close(prime.fd);
	}
}

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
	}
	mmap_tests();
	export_tests();
	igt_fixture()
	{
		igt_perfctr_close(&dev);
	}
}
