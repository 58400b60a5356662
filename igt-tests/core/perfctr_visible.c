// SPDX-License-Identifier: MIT
/**
 * TEST: A handle is valid only when its session is complete
 * Description: Handles that are guessed before SETUP returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"

/* SETUP gives the lowest handle on a new file */
#define GUESSES 64

static struct igt_perfctr_device dev;

struct maker {
	struct igt_perfctr_session s;
	struct drm_perfctr_setup *setup;
	uint32_t handle;
	int ret;
};

static void *make(void *data)
{
	struct maker *m = data;

	m->ret = igt_raw_control(m->s.dev->fd, DRM_PERFCTR_CMD_SETUP, &m->handle, m->setup,
				 sizeof(*m->setup));
	return NULL;
}

/* writes to the page, also by the kernel, block */
static int protect(void *page, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { .start = (uintptr_t)page, .len = bytes },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect protect = {
		.range = area.range,
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	igt_require_f(fd >= 0, "no userfaultfd\n");
	igt_assert_eq(ioctl(fd, UFFDIO_API, &api), 0);
	igt_require_f(!ioctl(fd, UFFDIO_REGISTER, &area), "userfaultfd sees no writes\n");
	igt_assert_eq(ioctl(fd, UFFDIO_WRITEPROTECT, &protect), 0);
	return fd;
}

static void let_write(int fd, void *page, size_t bytes)
{
	struct uffdio_writeprotect protect = {
		.range = { .start = (uintptr_t)page, .len = bytes },
	};

	igt_assert_eq(ioctl(fd, UFFDIO_WRITEPROTECT, &protect), 0);
}

/* SETUP blocks while it writes its results: the session exists, but must not be visible */
static void setup_guessed(void)
{
	static const uint32_t commands[] = {
		DRM_PERFCTR_CMD_STATUS, DRM_PERFCTR_CMD_START,	  DRM_PERFCTR_CMD_SAMPLE,
		DRM_PERFCTR_CMD_STOP,	DRM_PERFCTR_CMD_TEARDOWN,
	};
	const size_t bytes = sysconf(_SC_PAGESIZE);
	struct igt_perfctr_device mine;
	struct uffd_msg fault;
	pthread_t thread;
	struct maker m;
	int fd;

	igt_perfctr_reopen(&mine, &dev);
	igt_perfctr_session_init(&m.s, &mine);
	m.s.params.slots = 4;
	m.handle = 0;
	m.setup = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	igt_assert(m.setup != MAP_FAILED);
	*m.setup = igt_raw_setup(&m.s);
	fd = protect(m.setup, bytes);
	igt_assert_eq(pthread_create(&thread, NULL, make, &m), 0);
	igt_assert_eq(read(fd, &fault, sizeof(fault)), (ssize_t)sizeof(fault));
	igt_assert_eq(fault.event, UFFD_EVENT_PAGEFAULT);

	for (uint32_t guess = 0; guess < GUESSES; guess++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
			const bool teardown = commands[i] == DRM_PERFCTR_CMD_TEARDOWN;
			struct drm_perfctr_status any = { 0 };
			uint32_t handle = guess;

			igt_assert_eq(igt_raw_control(mine.fd, commands[i], &handle,
						      teardown ? NULL : &any,
						      teardown ? 0 : sizeof(any)),
				      -ENOENT);
		}
	}
	let_write(fd, m.setup, bytes);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	close(fd);
	igt_assert_eq(m.ret, 0);
	igt_assert_lt(m.handle, GUESSES);
	/* now the session is visible and complete */
	igt_raw_opened(&m.s, m.setup, m.handle);
	igt_perfctr_session_map(&m.s);
	igt_assert_eq(igt_perfctr_start(&m.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&m.s, 0), 0);
	igt_assert_eq(igt_perfctr_drain(&m.s), 1);
	munmap(m.setup, bytes);
	igt_perfctr_session_close(&m.s);
	igt_perfctr_close(&mine);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	igt_describe("a handle that is guessed while SETUP creates its session is -ENOENT");
	igt_subtest("setup-guessed") setup_guessed();
}
