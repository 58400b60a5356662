// SPDX-License-Identifier: MIT
/**
 * TEST: PERF_CONTROL on panthor
 * Description: What panthor has of its own: the query, and its buffers.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"

static struct igt_perfctr_device dev;
static struct igt_control c;

static void query_tests(void)
{
	igt_describe("the query is cut and filled with zeroes as panthor's are; its neighbours are "
		     "none");
	igt_subtest("panthor-query")
	{
		struct {
			uint32_t type, size;
			uint64_t pointer;
		} query = { .type = (1u << 30) - 2 };
		const unsigned long number = _IOWR('d', 0x40, query);
		uint32_t words[20];

		memset(words, 0xee, sizeof(words));
		query.pointer = (uintptr_t)words;
		query.size = 64;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, number, &query), 0);
		igt_assert_eq_u32(words[1], 64);
		igt_assert_eq_u32(words[12], 0);
		igt_assert_eq_u32(words[15], 0);
		igt_assert_eq_u32(words[16], 0xeeeeeeee);
		query.size = 0;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, number, &query), -EINVAL);
		query.size = 64;
		query.pointer = 1;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, number, &query), -EFAULT);
		query.pointer = (uintptr_t)words;
		query.type = (1u << 30) - 1;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, number, &query), -EINVAL);
		query.type = (1u << 30) - 3;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, number, &query), -EINVAL);
	}
}

/* handle of a buffer that is of a VM only, or cannot be mapped by user space */
static uint32_t special_buffer(uint64_t bytes, uint32_t flags, uint32_t vm)
{
	struct {
		uint64_t size;
		uint32_t flags, vm, handle, pad;
	} bo = { .size = bytes, .flags = flags, .vm = vm };

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, _IOWR('d', 0x45, bo), &bo), 0);
	return bo.handle;
}

static void buffer_tests(void)
{
	igt_describe(
		"rings in buffers that user space cannot map, or that are of one VM: they work "
		"as long as a session has them, also without VM and handle");
	igt_subtest("panthor-buffers")
	{
		struct {
			uint32_t flags, id;
			uint64_t range;
		} vm = { 0 };
		struct drm_gem_close gem = { 0 };
		struct {
			uint32_t id, pad;
		} destroy = { 0 };

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, _IOWR('d', 0x41, vm), &vm), 0);
		destroy.id = vm.id;
		for (unsigned int i = 0; i < 2; i++) {
			gem.handle = special_buffer(c.ring.bytes, !i, i ? vm.id : 0);
			c.setup.ring = gem.handle;
			igt_assert_lt(0, igt_control_setup(&c));
			igt_assert_eq(ioctl(dev.fd, DRM_IOCTL_GEM_CLOSE, &gem), 0);
			if (i)
				igt_assert_eq(igt_perfctr_ioctl(dev.fd, _IOWR('d', 0x42, destroy),
								&destroy),
					      0);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, 0), 0);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 0), 0);
			igt_assert_eq(igt_control_teardown(&c), 0);
			/* of two samples, and of the session's end, which TEARDOWN waits for */
			igt_assert_eq(igt_control_signals(&c), 3);
		}
		igt_control_close(&c);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(!geteuid(), "needs root\n");
		igt_require_f(igt_perfctr_open(&dev, "panthor"), "no panthor with counters\n");
	}

	query_tests();
	buffer_tests();

	igt_fixture()
		igt_perfctr_close(&dev);
}
