// SPDX-License-Identifier: MIT
/**
 * TEST: Unplug: samples, commands, the ring and QUERY report it
 * Description: Unplug of a device with active sessions, during QUERY, and before close().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_known.h"
#include "igt_sys.h"

/* user_data of automatic samples */
#define START_DATA 0x5eedu

static struct igt_perfctr_device dev;
static struct igt_truth before, after;

struct querier {
	struct drm_perfctr_query query;
	int ret;
};

static void *query_clocks(void *data)
{
	struct querier *q = data;

	q->ret = igt_perfctr_query(&dev, &q->query);
	return NULL;
}

/* accesses to the pages, also by the kernel, block until unblock_access() */
static int withhold(void *pages, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { .start = (uintptr_t)pages, .len = bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	igt_require_f(fd >= 0, "no userfaultfd\n");
	igt_assert_eq(ioctl(fd, UFFDIO_API, &api), 0);
	igt_assert_eq(ioctl(fd, UFFDIO_REGISTER, &area), 0);
	return fd;
}

static void unblock_access(int fd, void *pages, size_t bytes)
{
	struct uffdio_zeropage zeroes = {
		.range = { .start = (uintptr_t)pages, .len = bytes },
	};

	igt_assert_eq(ioctl(fd, UFFDIO_ZEROPAGE, &zeroes), 0);
}

/* QUERY blocks while it writes clock 0; the device is removed before it reads clock 1 */
static void unplug_in_query(void)
{
	const size_t bytes = sysconf(_SC_PAGESIZE);
	struct drm_perfctr_clock_info *clocks;
	struct querier q = {
		.query = {
			.type = DRM_PERFCTR_QUERY_CLOCKS,
			.count = 2,
			.stride = sizeof(*clocks),
		},
	};
	struct uffd_msg fault;
	pthread_t thread;
	int fd;

	igt_require_f(dev.info.clock_count >= 2, "one clock\n");
	clocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	igt_assert(clocks != MAP_FAILED);
	q.query.pointer = (uintptr_t)clocks;
	fd = withhold(clocks, bytes);
	igt_assert_eq(pthread_create(&thread, NULL, query_clocks, &q), 0);
	igt_assert_eq(read(fd, &fault, sizeof(fault)), (ssize_t)sizeof(fault));
	igt_assert_eq(fault.event, UFFD_EVENT_PAGEFAULT);
	/* a QUERY in progress does not delay the removal */
	igt_unbind(&dev);
	unblock_access(fd, clocks, bytes);
	igt_assert_eq(pthread_join(thread, NULL), 0);
	igt_assert_eq(q.ret, -ENODEV);
	igt_assert_lte_u64(1, clocks[0].max_frequency_hz);
	igt_assert_eq_u64(clocks[1].max_frequency_hz, 0);
	close(fd);
	munmap(clocks, bytes);
	igt_bind_again(&dev);
}

static void unplug_active(void)
{
	struct drm_perfctr_query query = { .type = DRM_PERFCTR_QUERY_DEVICE };
	struct igt_perfctr_session s, idle;
	struct drm_perfctr_status status;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	igt_perfctr_session_init(&s, &dev);
	s.params.eventfd = fd;
	s.params.watermark = 16;
	igt_perfctr_session_open(&s);
	igt_perfctr_session_open_with(&idle, &dev, 64, 0);
	igt_known_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, START_DATA), 0);
	igt_known_work(&dev, 0);
	igt_known_truth(&dev, &after);

	igt_unbind(&dev);
	igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
	igt_assert_eq_u32(idle.control->state, DRM_PERFCTR_RING_DEAD);
	igt_assert_eq(poll(&p, 1, 10000), 1);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	/* without work it may have been suspended */
	igt_assert_eq_u32(s.last.flags & ~DRM_PERFCTR_SAMPLE_SUSPENDED,
			  DRM_PERFCTR_SAMPLE_FINAL | DRM_PERFCTR_SAMPLE_UNPLUGGED);
	igt_assert_eq_u64(s.last.user_data, START_DATA);
	igt_known_compare(&s, &before, &after);

	igt_assert_eq(igt_perfctr_query(&dev, &query), -ENODEV);
	igt_assert_eq(igt_perfctr_session_check(&idle), -ENODEV);
	igt_assert_eq(igt_perfctr_start(&idle, 0), -ENODEV);
	igt_assert_eq(igt_perfctr_stop(&s, 0), -ENODEV);
	igt_assert_eq(igt_perfctr_sample(&s, 0), -ENODEV);
	status = igt_perfctr_status(&s);
	igt_assert_eq_u32(status.flags, DRM_PERFCTR_STATUS_DEAD);
	igt_assert_eq_u64(status.published, 1);
	status = igt_perfctr_status(&idle);
	igt_assert_eq_u32(status.flags, DRM_PERFCTR_STATUS_DEAD);
	igt_assert_eq_u64(status.published, 0);
	igt_assert_eq(igt_perfctr_session_end(&s), 0);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&idle);
	close(fd);
	igt_bind_again(&dev);
	igt_perfctr_session_open_with(&s, &dev, 64, 0);
	igt_known_start(&s, &before);
	igt_known_work(&dev, 2);
	igt_known_stop(&s, &before);
	igt_perfctr_session_close(&s);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	/*
	 * Covers: DRM_PERFCTR_SAMPLE_UNPLUGGED, query -ENODEV, open -ENODEV, command -ENODEV,
	 * DRM_PERFCTR_STATUS_DEAD
	 */
	igt_describe("unplug delivers a final sample, sets the ring to DEAD and wakes its reader; "
		     "later commands are -ENODEV, STATUS works and closing is safe");
	igt_subtest("unplug-active") unplug_active();
	igt_describe("QUERY that blocks on user memory during an unplug does not call the driver "
		     "again: -ENODEV");
	igt_subtest("unplug-in-query") unplug_in_query();
}
