// SPDX-License-Identifier: MIT
/**
 * TEST: A descriptor is valid only when its session is complete
 * Description: Descriptors that are guessed before OPEN returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"

/* OPEN returns the lowest free descriptor */
#define GUESSES 64

static struct igt_perfctr_device dev;

struct maker {
	struct igt_perfctr_session s;
	struct drm_perfctr_open open;
	int ret;
};

static void *make(void *data)
{
	struct maker *m = data;

	m->ret = igt_raw_open(m->s.dev, &m->open, sizeof(m->open));
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

/* OPEN blocks while it writes the layout: the session exists, but must not be visible */
static void setup_guessed(void)
{
	const size_t bytes = sysconf(_SC_PAGESIZE);
	struct drm_perfctr_status any;
	struct uffd_msg fault;
	pthread_t thread;
	struct maker m;
	void *layout;
	int fd;

	igt_perfctr_session_init(&m.s, &dev);
	m.s.params.slots = 4;
	layout = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	igt_assert(layout != MAP_FAILED);
	memset(layout, 0, bytes);
	m.open = igt_raw_params(&m.s);
	m.open.layout = (uintptr_t)layout;
	m.open.layout_size = sizeof(struct drm_perfctr_layout);
	fd = protect(layout, bytes);
	igt_assert_eq(pthread_create(&thread, NULL, make, &m), 0);
	igt_assert_eq(read(fd, &fault, sizeof(fault)), (ssize_t)sizeof(fault));
	igt_assert_eq(fault.event, UFFD_EVENT_PAGEFAULT);

	for (int guess = 0; guess < GUESSES; guess++)
		igt_assert_lt(igt_perfctr_ioctl(guess, DRM_PERFCTR_IOCTL_STATUS, &any), 0);
	let_write(fd, layout, bytes);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	close(fd);
	igt_assert_lt(m.ret, GUESSES);
	/* now the session is visible and complete */
	igt_raw_opened(&m.s, m.ret);
	igt_assert(!memcmp(layout, &m.s.layout, sizeof(m.s.layout)));
	igt_perfctr_session_map(&m.s);
	igt_assert_eq(igt_perfctr_start(&m.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&m.s, 0), 0);
	igt_assert_eq(igt_perfctr_drain(&m.s), 1);
	munmap(layout, bytes);
	igt_perfctr_session_close(&m.s);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	igt_describe("a descriptor that is guessed while OPEN creates its session is no session");
	igt_subtest("setup-guessed") setup_guessed();
}
