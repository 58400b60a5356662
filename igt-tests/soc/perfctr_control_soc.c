// SPDX-License-Identifier: MIT
/**
 * TEST: PERF_CONTROL of other devices, after a reset, and with another device's buffers
 * Description: What of the core's second front end only the virtual SoC can show.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define OTHER_DEVICE "8"

static struct igt_perfctr_device dev;
static struct igt_control c;
static struct igt_truth before, after;

static void start(const struct igt_control *control)
{
	igt_vsoc_truth(control->dev, &before);
	igt_assert_eq(igt_control_command(control, IGT_CONTROL_START, 0), 0);
}

static void reset_test(void)
{
	igt_describe("a reset: the sample that misses counts is flagged, later ones count again");
	igt_subtest("control-reset")
	{
		igt_vsoc_require(&dev);
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		start(&c);
		igt_vsoc_work(&dev, 1);
		igt_control_sample(&c, 1);
		igt_assert_eq_u64(c.flagged, 0);
		igt_vsoc_debugfs(&dev, "reset", "1");
		igt_control_sample(&c, 2);
		igt_assert_eq_u64(c.flagged, 1);
		memset(c.sums, 0, sizeof(c.sums));
		igt_vsoc_truth(&dev, &before);
		igt_vsoc_work(&dev, 2);
		igt_control_sample(&c, 3);
		igt_vsoc_work(&dev, 3);
		igt_vsoc_truth(&dev, &after);
		igt_control_stop(&c, 4);
		igt_assert_eq_u64(c.flagged, 1);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
}

/* --- other shapes -------------------------------------------------------- */

static void shape_tests(void)
{
	static const struct {
		const char *name, *shape, *what;
		unsigned int cores, counters;
	} shapes[] = {
		{ "control-sparse", OTHER_DEVICE " shader_present=0x50005", "cores 0, 2, 16, 18", 4,
		  64 },
		{ "control-128",
		  OTHER_DEVICE " shader_present=0x12 l2_slices=1 "
			       "counters_per_block=128",
		  "two cores, blocks of 128 counters", 2, 128 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(shapes); i++) {
		igt_describe_f("%s: indices of blocks are dense, every count is exact",
			       shapes[i].what);
		igt_subtest(shapes[i].name)
		{
			struct igt_perfctr_device other;

			igt_vsoc_require(&dev);
			igt_vsoc_add(&other, shapes[i].shape);
			igt_control_open(&c, &other, IGT_CONTROL_SLOTS, 0);
			igt_assert_eq_u32(c.info.blocks[4], shapes[i].cores);
			igt_assert_eq_u32(c.info.counters, shapes[i].counters);
			start(&c);
			igt_vsoc_work(&other, 1);
			igt_control_sample(&c, 1);
			igt_vsoc_work(&other, 2);
			igt_vsoc_truth(&other, &after);
			igt_control_stop(&c, 2);
			igt_control_compare(&c, &before, &after);
			igt_control_close(&c);
			igt_vsoc_remove(&other, atoi(OTHER_DEVICE));
		}
	}
	igt_describe("a device without such blocks has no PERF_CONTROL");
	igt_subtest("control-none")
	{
		struct igt_control_setup setup = { 0 };
		struct igt_perfctr_device other;
		uint32_t bytes = 0;

		igt_vsoc_require(&dev);
		igt_vsoc_add(&other, OTHER_DEVICE " product=nv50");
		igt_assert_eq(igt_control_query(&other, NULL, &bytes), -EOPNOTSUPP);
		igt_assert_eq(igt_control_call(other.fd, IGT_CONTROL_SETUP, 0, sizeof(setup),
					       &setup),
			      -EOPNOTSUPP);
		igt_vsoc_remove(&other, atoi(OTHER_DEVICE));
	}
}

/* --- buffers ------------------------------------------------------------- */

/* a buffer of another device, in the file of @dev; its handle */
static uint32_t import(struct igt_perfctr_device *other, struct igt_control_buffer *theirs)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	int fd;

	igt_vsoc_add(other, OTHER_DEVICE);
	igt_assert_eq(igt_control_buffer_create(other, other->fd, c.ring.bytes, PROT_READ, theirs),
		      0);
	prime.handle = theirs->handle;
	igt_assert_eq(igt_perfctr_ioctl(other->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
	fd = prime.fd;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), 0);
	close(fd);
	return prime.handle;
}

static void imported_test(void)
{
	igt_describe("an imported buffer, which its exporter may move, is refused");
	igt_subtest("control-imported")
	{
		struct igt_control_buffer theirs;
		struct igt_perfctr_device other;
		struct drm_gem_close gem = { 0 };

		igt_vsoc_require(&dev);
		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		gem.handle = import(&other, &theirs);
		c.setup.ring = gem.handle;
		igt_assert_eq(igt_control_setup(&c), -EINVAL);
		c.setup.ring = c.ring.handle;
		c.setup.control = gem.handle;
		igt_assert_eq(igt_control_setup(&c), -EINVAL);
		igt_assert_eq(ioctl(dev.fd, DRM_IOCTL_GEM_CLOSE, &gem), 0);
		igt_control_buffer_close(other.fd, &theirs);
		igt_vsoc_remove(&other, atoi(OTHER_DEVICE));
		igt_control_close(&c);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require(igt_perfctr_open_any(&dev));
		/* a suspend between the truth and START or STOP powers cores down */
		igt_hold_power(&dev);
	}

	reset_test();
	shape_tests();
	imported_test();

	igt_fixture()
		igt_perfctr_close(&dev);
}
