// SPDX-License-Identifier: MIT
/*
 * What SETUP refuses, one subtest for each rule of the header, and what it tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_setup.h"
#include "igt_sys.h"

IGT_TEST_DESCRIPTION("SETUP refuses what is wrong, each mistake by an errno of its own");

/* no element is longer */
#define STRUCT_BYTES_MAX 4096u

static struct igt_perfctr_device dev;
static uint32_t bo;
static int an_eventfd;
static struct igt_perfctr_session good; /* set up and stopped */

/* the request fails like this, and the same without the mistake works */
static void refused(struct igt_perfctr_session *s, int error)
{
	struct igt_perfctr_session fine = igt_setup_request(&dev, bo);

	igt_assert_eq(igt_setup_send(s), -error);
	igt_assert_eq(igt_setup_send(&fine), 0);
	igt_assert_eq(igt_perfctr_teardown(&fine), 0);
}

static void only_pmu(struct igt_perfctr_session *s)
{
	igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_PMU,
		      "the kernel has no perf events\n");
	s->setup.request_count = 0;
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK */
	igt_perfctr_add_pmu(s, 0, 1, 0, DRM_PERFCTR_CPU_ANY);
}

/* --- rules --------------------------------------------------------------- */

/* one rule: what makes the request wrong, and the errno */
struct rule {
	const char *name, *what;
	void (*spoil)(struct igt_perfctr_session *s);
	int error;
};

#define SPOIL(name, ...)                                \
	static void name(struct igt_perfctr_session *s) \
	{                                               \
		__VA_ARGS__;                            \
	}

SPOIL(bad_flags, s->setup.flags = 1u << 31)
SPOIL(bad_pad, s->setup.pad = 1)
SPOIL(slots_zero, s->setup.slots = 0)
SPOIL(slots_three, s->setup.slots = 3)
SPOIL(slots_beyond, s->setup.slots = 2 * dev.info.max_slots)
SPOIL(slots_huge, s->setup.slots = 1u << 31)
SPOIL(ring_beyond, s->setup.slots = dev.info.max_slots)
SPOIL(ring_unaligned, s->setup.ring_offset += 32)
SPOIL(control_unaligned, s->setup.control_offset = 8)
SPOIL(count_zero, s->setup.request_count = 0)
SPOIL(count_beyond, s->setup.request_count = dev.info.max_requests + 1)
SPOIL(stride_short, s->setup.request_stride = 48)
SPOIL(stride_odd, s->setup.request_stride = 60)
SPOIL(stride_long, s->setup.request_stride = STRUCT_BYTES_MAX + 8)
SPOIL(pointer_bad, s->setup.requests = 8; s->keep_pointer = true)
SPOIL(watermark_beyond, s->setup.watermark = s->setup.slots + 1)
SPOIL(period_short, s->setup.period_ns = dev.info.min_period_ns - 1)
SPOIL(period_long, s->setup.period_ns = dev.info.max_period_ns + 1)
SPOIL(eventfd_closed, s->setup.eventfd = 1000)
SPOIL(eventfd_negative, s->setup.eventfd = -2)
SPOIL(eventfd_other, s->setup.eventfd = dev.fd)
SPOIL(ring_handle, s->setup.ring_handle = 0xdead)
SPOIL(control_handle, s->setup.control_handle = 0xdead)
SPOIL(ring_end, s->setup.ring_offset = IGT_SETUP_BO_BYTES - 64)
SPOIL(ring_wraps, s->setup.ring_offset = -64ull)
SPOIL(control_end, s->setup.control_offset = IGT_SETUP_BO_BYTES - 64)
SPOIL(control_wraps, s->setup.control_offset = -64ull)
SPOIL(test_only, s->setup.flags = DRM_PERFCTR_SETUP_TEST_ONLY; s->setup.ring_handle = 0;
      s->setup.control_handle = 0; s->setup.ring_offset = 0)
SPOIL(test_only_ring, test_only(s); s->setup.ring_handle = bo)
SPOIL(test_only_control, test_only(s); s->setup.control_handle = bo)
SPOIL(test_only_ring_offset, test_only(s); s->setup.ring_offset = 64)
SPOIL(test_only_control_offset, test_only(s); s->setup.control_offset = 64)
SPOIL(test_only_eventfd, test_only(s); s->setup.eventfd = an_eventfd)
SPOIL(nothing_available, s->setup.request_count = 1; s->requests[0].mask = 1ull << 63;
      s->requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE)
SPOIL(request_pad, s->requests[1].pad = 1)
SPOIL(request_pad2, s->requests[1].pad2 = 1)
SPOIL(request_flags, s->requests[1].flags = 2)
SPOIL(mask_zero, s->requests[1].mask = 0)
SPOIL(mask_absent, s->requests[1].mask |= 1ull << 63)
SPOIL(type_zero, s->requests[0].type = 0)
SPOIL(type_unknown, s->requests[0].type = 15)
SPOIL(type_soc_unknown, only_pmu(s); s->requests[0].type = 63)
SPOIL(type_huge, s->requests[0].type = 0xffff)
SPOIL(index_absent, s->requests[0].index = 17)
SPOIL(section_absent, s->requests[0].section = 3)
SPOIL(section_huge, s->requests[0].section = 0xffff)
SPOIL(set_absent, s->requests[0].set = DRM_PERFCTR_SET_TERTIARY + 1; s->setup.request_count = 1)
SPOIL(set_huge, s->requests[0].set = 200; s->setup.request_count = 1)
SPOIL(twice, s->requests[1] = s->requests[0])
SPOIL(gpu_cpu, s->requests[0].cpu = 1)
SPOIL(gpu_pmu_type, s->requests[0].pmu_type = 1)
SPOIL(gpu_config, s->requests[0].config = 1)
SPOIL(gpu_config1, s->requests[0].config1 = 1)
SPOIL(gpu_config2, s->requests[0].config2 = 1)
SPOIL(soc_set, only_pmu(s); s->requests[0].set = 1)
SPOIL(soc_section, only_pmu(s); s->requests[0].section = 1)
SPOIL(soc_mask, only_pmu(s); s->requests[0].mask = 2)
SPOIL(soc_all, only_pmu(s); s->requests[0].index = DRM_PERFCTR_INDEX_ALL)
SPOIL(soc_flags, only_pmu(s); s->requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE)
SPOIL(soc_cpu, only_pmu(s); s->requests[0].cpu = -2)
SPOIL(soc_cpu_absent, only_pmu(s); s->requests[0].cpu = 4000)
SPOIL(soc_type, only_pmu(s); s->requests[0].pmu_type = 0x7fff0000)
SPOIL(soc_kind, only_pmu(s); s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF)
SPOIL(soc_kind_config, only_pmu(s); s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
      s->requests[0].config = 1)
SPOIL(soc_twice, only_pmu(s); igt_perfctr_add_pmu(s, 0, 1, 0, DRM_PERFCTR_CPU_ANY))

static const struct rule rules[] = {
	{ "setup-bad-flags", "unknown flags are -EINVAL", bad_flags, EINVAL },
	{ "setup-bad-pad", "pad must be zero", bad_pad, EINVAL },
	{ "setup-slots-zero", "a ring has at least one slot", slots_zero, EINVAL },
	{ "setup-slots-three", "slots are a power of two", slots_three, EINVAL },
	{ "setup-slots-beyond", "slots end at max_slots", slots_beyond, ERANGE },
	{ "setup-slots-huge", "no slot count overflows", slots_huge, ERANGE },
	{ "setup-ring-beyond", "a ring ends at max_ring_bytes", ring_beyond, ERANGE },
	{ "setup-ring-unaligned", "ring_offset is a multiple of 64", ring_unaligned, EINVAL },
	{ "setup-control-unaligned", "control_offset is a multiple of 64", control_unaligned,
	  EINVAL },
	{ "setup-count-zero", "something must be requested", count_zero, EINVAL },
	{ "setup-count-beyond", "requests end at max_requests", count_beyond, E2BIG },
	{ "setup-stride-short", "a request is at least version 1", stride_short, EINVAL },
	{ "setup-stride-odd", "a stride is a multiple of 8", stride_odd, EINVAL },
	{ "setup-stride-long", "a stride ends at 4096 bytes", stride_long, EINVAL },
	{ "setup-requests-pointer", "requests must be readable", pointer_bad, EFAULT },
	{ "setup-watermark-beyond", "a watermark fits the ring", watermark_beyond, EINVAL },
	{ "setup-period-short", "no period below min_period_ns", period_short, ERANGE },
	{ "setup-period-long", "no period above max_period_ns", period_long, ERANGE },
	{ "setup-eventfd-closed", "the eventfd is open", eventfd_closed, EBADF },
	{ "setup-eventfd-negative", "only -1 means no eventfd", eventfd_negative, EBADF },
	{ "setup-eventfd-other", "the eventfd is an eventfd", eventfd_other, EINVAL },
	{ "setup-ring-handle", "the ring's buffer exists", ring_handle, ENOENT },
	{ "setup-control-handle", "the control area's buffer exists", control_handle, ENOENT },
	{ "setup-ring-end", "the ring fits its buffer", ring_end, ENOSPC },
	{ "setup-ring-wraps", "ring_offset cannot wrap around", ring_wraps, ENOSPC },
	{ "setup-control-end", "the control area fits its buffer", control_end, ENOSPC },
	{ "setup-control-wraps", "control_offset cannot wrap around", control_wraps, ENOSPC },
	{ "setup-test-only-ring", "TEST_ONLY takes no ring", test_only_ring, EINVAL },
	{ "setup-test-only-control", "TEST_ONLY takes no control area", test_only_control, EINVAL },
	{ "setup-test-only-ring-offset", "TEST_ONLY takes no offset of a ring",
	  test_only_ring_offset, EINVAL },
	{ "setup-test-only-control-offset", "TEST_ONLY takes no offset of a control area",
	  test_only_control_offset, EINVAL },
	{ "setup-test-only-eventfd", "TEST_ONLY takes no eventfd", test_only_eventfd, EINVAL },
	{ "setup-nothing-available", "with AVAILABLE one counter must be left of all",
	  nothing_available, EINVAL },
	{ "setup-request-pad", "a request's pad must be zero", request_pad, EINVAL },
	{ "setup-request-pad2", "a request's second pad must be zero", request_pad2, EINVAL },
	{ "setup-request-flags", "unknown request flags are -EINVAL", request_flags, EINVAL },
	{ "setup-mask-zero", "a request asks for something", mask_zero, EINVAL },
	{ "setup-mask-absent", "a block must have the counters", mask_absent, EINVAL },
	{ "setup-type-zero", "type 0 is no block", type_zero, ENXIO },
	{ "setup-type-unknown", "an unknown GPU type is -ENXIO", type_unknown, ENXIO },
	{ "setup-type-soc-unknown", "an unknown SoC type is -ENXIO", type_soc_unknown, ENXIO },
	{ "setup-type-huge", "no type indexes out of a table", type_huge, ENXIO },
	{ "setup-index-absent", "holes of the core mask are no blocks", index_absent, ENXIO },
	{ "setup-section-absent", "a block must have the section", section_absent, ENXIO },
	{ "setup-section-huge", "no section indexes out of a table", section_huge, ENXIO },
	{ "setup-set-absent", "a set must exist", set_absent, EOPNOTSUPP },
	{ "setup-set-huge", "no set shifts out of a mask", set_huge, EOPNOTSUPP },
	{ "setup-twice", "the same block twice is -EEXIST", twice, EEXIST },
	{ "setup-gpu-cpu", "cpu is for SoC blocks", gpu_cpu, EINVAL },
	{ "setup-gpu-pmu-type", "pmu_type is for SoC blocks", gpu_pmu_type, EINVAL },
	{ "setup-gpu-config", "config is for SoC blocks", gpu_config, EINVAL },
	{ "setup-gpu-config1", "config1 is for SoC blocks", gpu_config1, EINVAL },
	{ "setup-gpu-config2", "config2 is for SoC blocks", gpu_config2, EINVAL },
	{ "setup-soc-set", "SoC blocks have no sets", soc_set, EINVAL },
	{ "setup-soc-section", "SoC blocks have one section", soc_section, ENXIO },
	{ "setup-soc-mask", "a generic PMU block has one counter", soc_mask, EINVAL },
	{ "setup-soc-all", "SoC blocks are asked for one by one", soc_all, EINVAL },
	{ "setup-soc-flags", "AVAILABLE is for GPU blocks", soc_flags, EINVAL },
	{ "setup-soc-cpu", "a CPU is -1 or a number", soc_cpu, EINVAL },
	{ "setup-soc-cpu-absent", "the CPU must be online", soc_cpu_absent, EINVAL },
	{ "setup-soc-type", "the PMU must exist", soc_type, ENOENT },
	{ "setup-soc-kind", "the PMU must be of the block's kind", soc_kind, ENOENT },
	{ "setup-soc-kind-config", "events of a kind are in its mask", soc_kind_config, EINVAL },
	{ "setup-soc-twice", "the same generic block twice is -EEXIST", soc_twice, EEXIST },
};

/* --- sets, buffers, limits ----------------------------------------------- */

/* a dma-buf of vgem: for kernels without udmabuf */
static int export_vgem_buffer(void)
{
	struct drm_mode_create_dumb create = { .width = 512, .height = 512, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	int fd;

	igt_assert_eq(system("modprobe -q vgem"), 0);
	fd = igt_perfctr_open_card("vgem");
	igt_assert_f(fd >= 0, "no exporter of foreign buffers: neither /dev/udmabuf nor vgem\n");
	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create), 0);
	prime.handle = create.handle;
	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), 0);
	close(fd);
	return prime.fd;
}

static int export_udmabuf(int exporter)
{
	struct udmabuf_create create = { .size = IGT_SETUP_BO_BYTES };
	int memfd, fd;

	memfd = memfd_create("igt", MFD_ALLOW_SEALING);
	igt_assert(memfd >= 0);
	igt_assert_eq(ftruncate(memfd, IGT_SETUP_BO_BYTES), 0);
	igt_assert_eq(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = memfd;
	fd = ioctl(exporter, UDMABUF_CREATE, &create);
	igt_assert(fd >= 0);
	close(memfd);
	close(exporter);
	return fd;
}

/* a buffer of somebody else, as a handle of ours */
static uint32_t import_buffer(void)
{
	struct drm_prime_handle prime = { 0 };
	int exporter = open("/dev/udmabuf", O_RDWR);

	prime.fd = exporter >= 0 ? export_udmabuf(exporter) : export_vgem_buffer();
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), 0);
	close(prime.fd);
	return prime.handle;
}

static int open_cgroup(const char *file)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	igt_assert_f(fd >= 0, "%s: %s\n", path, strerror(errno));
	return fd;
}

/*
 * A memory cgroup whose limit grows page by page: each allocation of SETUP is the one that
 * fails once. All memory of this process exists before, so that nothing else can fail.
 */
static void setup_enomem(void)
{
	static struct drm_perfctr_block_request many[DRM_PERFCTR_MAX_PMU_COUNTERS];
	struct igt_perfctr_session s = igt_setup_request(&dev, bo);
	unsigned int failed = 0, worked = 0;
	int control, procs, root, limit;
	int bad = 0;

	control = open_cgroup("cgroup.subtree_control");
	igt_require_f(write(control, "+memory", 7) == 7, "no memory controller\n");
	close(control);
	igt_assert(!mkdir("/sys/fs/cgroup/perfctr-nomem", 0755) || errno == EEXIST);
	root = open_cgroup("cgroup.procs");
	procs = open_cgroup("perfctr-nomem/cgroup.procs");
	limit = open_cgroup("perfctr-nomem/memory.max");

	only_pmu(&s);
	for (unsigned int i = 0; i < DRM_PERFCTR_MAX_PMU_COUNTERS; i++) {
		many[i] = s.requests[0];
		many[i].index = i;
	}
	/* three quarters of the memory are for the PMU blocks */
	s.setup.requests = (uintptr_t)many;
	s.setup.request_count = 24;
	s.setup.ring_handle = 0;
	s.setup.control_handle = 0;
	s.setup.ring_offset = 0;
	s.setup.flags = DRM_PERFCTR_SETUP_TEST_ONLY;
	s.keep_pointer = true;
	igt_assert_eq(igt_setup_send(&s), 0);
	igt_assert_eq(mlockall(MCL_CURRENT), 0);
	for (unsigned int pages = 0; pages < 64 && !bad; pages++) {
		static char bytes[16];
		int length = snprintf(bytes, sizeof(bytes), "%u", pages * 4096);
		int ret;

		s.setup.request_count = pages % 2 ? DRM_PERFCTR_MAX_PMU_COUNTERS : 24;
		if (write(procs, "0", 1) != 1 || write(limit, bytes, length) != length)
			bad = errno;
		s.setup.ring_handle = 0;
		ret = igt_setup_send(&s);
		if (write(limit, "max", 3) != 3 || write(root, "0", 1) != 1)
			bad = errno;
		if (ret == -ENOMEM)
			failed++;
		else if (!ret)
			worked++;
		else
			bad = -ret;
	}
	munlockall();
	igt_assert_eq(bad, 0);
	igt_info("-ENOMEM with %u of 64 limits\n", failed);
	igt_assert_lt(0, failed);
	igt_assert_lt(0, worked);
	close(limit);
	close(procs);
	close(root);
	igt_assert_eq(rmdir("/sys/fs/cgroup/perfctr-nomem"), 0);
	/* and with memory it works */
	s.setup.request_count = 24;
	igt_assert_eq(igt_setup_send(&s), 0);
}

/* a file can have so many sessions: more attempts than that, and none of them counts */
static void setup_result_pointer(void)
{
	struct igt_perfctr_session s = igt_setup_request(&dev, bo),
				   fine = igt_setup_request(&dev, bo);
	struct drm_perfctr_setup *setup;

	setup = mmap(NULL, sizeof(*setup), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	igt_assert(setup != MAP_FAILED);
	s.setup.requests = (uintptr_t)s.requests;
	*setup = s.setup;
	igt_assert_eq(mprotect(setup, sizeof(*setup), PROT_READ), 0);
	for (unsigned int i = 0; i <= dev.info.max_sessions_per_file; i++) {
		igt_assert_eq(igt_setup_send_sized(&s, setup, sizeof(*setup)), -EFAULT);
		igt_assert_eq_u32(s.handle, 0);
	}
	munmap(setup, sizeof(*setup));
	igt_assert_eq(igt_setup_send(&fine), 0);
	igt_assert_eq(igt_perfctr_teardown(&fine), 0);
}

static void setup_tests(void)
{
	for (unsigned int i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		igt_describe(rules[i].what);
		igt_subtest(rules[i].name)
		{
			struct igt_perfctr_session s = igt_setup_request(&dev, bo);

			rules[i].spoil(&s);
			refused(&s, rules[i].error);
		}
	}

	igt_describe("all GPU blocks of a session are in one set");
	igt_subtest("setup-sets-differ")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo);

		igt_perfctr_session_init_set(&s, &dev, DRM_PERFCTR_SET_SECONDARY);
		s.setup.slots = 2;
		s.setup.ring_handle = bo;
		s.setup.control_handle = bo;
		s.setup.ring_offset = 4096;
		/* either alone is fine */
		igt_assert_lte(2, s.setup.request_count);
		igt_assert_eq(igt_perfctr_teardown(&good), 0);
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq(igt_setup_send(&good), 0);
		s.requests[1].set = DRM_PERFCTR_SET_PRIMARY;
		refused(&s, EINVAL);
	}

	igt_describe("one counter set at a time on a device; the last session of a set frees it");
	igt_subtest("setup-set-in-use")
	{
		struct igt_perfctr_session s[DRM_PERFCTR_SET_TERTIARY + 1];
		struct igt_perfctr_device other;

		igt_perfctr_reopen(&other, &dev);
		for (unsigned int used = 0; used <= DRM_PERFCTR_SET_TERTIARY; used++) {
			for (unsigned int set = 0; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
				igt_perfctr_session_init_set(&s[set], &other, set);
				s[set].setup.slots = 2;
			}
			if (used == DRM_PERFCTR_SET_PRIMARY) {
				/* the file's own idle session holds the set as well */
				igt_assert_eq(igt_perfctr_session_try(&s[1]), -EBUSY);
				igt_assert_eq(igt_perfctr_teardown(&good), 0);
			}
			igt_perfctr_session_create(&s[used]);
			for (unsigned int set = 0; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
				struct igt_perfctr_session t;

				igt_perfctr_session_init_set(&t, &dev, set);
				t.setup.slots = 2;
				igt_assert_eq(igt_perfctr_session_try(&t),
					      set == used ? 0 : -EBUSY);
				igt_perfctr_session_fini(&t);
			}
			/* PMU blocks have no set */
			if (dev.info.features & DRM_PERFCTR_FEATURE_PMU) {
				struct igt_perfctr_session pmu = igt_setup_request(&dev, bo);

				only_pmu(&pmu);
				igt_assert_eq(igt_setup_send(&pmu), 0);
				igt_assert_eq(igt_perfctr_teardown(&pmu), 0);
			}
			igt_perfctr_session_fini(&s[used]);
		}
		igt_perfctr_close(&other);
		igt_assert_eq(igt_setup_send(&good), 0);
	}

	igt_describe("a type that does not count in a set is -EOPNOTSUPP");
	igt_subtest("setup-set-not-of-block")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo);
		bool found = false;

		for (unsigned int i = 0; i < dev.block_count; i++) {
			const struct drm_perfctr_block_info *b = &dev.blocks[i];

			for (unsigned int set = 1; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
				if (b->type >= DRM_PERFCTR_BLOCK_GENERIC_PMU ||
				    b->sets >> set & 1 || !(dev.info.sets >> set & 1))
					continue;
				for (unsigned int n = 0; n < 4; n++)
					igt_assert_eq_u64(b->set_available[set - 1][n], 0);
				s.setup.request_count = 1;
				s.requests[0] = (struct drm_perfctr_block_request){
					.type = b->type,
					.index = b->index,
					.set = set,
					.mask = 1ull << 4,
				};
				refused(&s, EOPNOTSUPP);
				found = true;
			}
		}
		igt_assert(found);
	}

	igt_describe("TEST_ONLY tells the sizes that SETUP then has, and creates nothing");
	igt_subtest("setup-test-only")
	{
		struct igt_perfctr_session t, s = igt_setup_request(&dev, bo);

		for (unsigned int i = 0; i < 2 * dev.info.max_sessions_per_file; i++) {
			igt_perfctr_session_init(&t, &dev);
			t.setup.slots = 2;
			t.setup.flags = DRM_PERFCTR_SETUP_TEST_ONLY;
			igt_assert_eq(igt_setup_send(&t), 0);
			igt_assert_eq_u32(t.handle, 0);
		}
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq_u32(s.setup.slot_stride, t.setup.slot_stride);
		igt_assert_eq_u32(s.setup.sample_size, t.setup.sample_size);
		igt_assert_eq_u64(s.setup.ring_bytes, t.setup.ring_bytes);
		igt_assert_eq_u32(s.setup.block_count, t.setup.block_count);
		igt_assert_eq_u64(s.setup.ring_bytes, 2ull * s.setup.slot_stride);
		igt_assert_eq_u32(s.setup.slot_stride % DRM_PERFCTR_SLOT_ALIGN, 0);
		igt_assert_lte(s.setup.sample_size, s.setup.slot_stride);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
	}

	igt_describe("REQUEST_AVAILABLE drops what a block does not have");
	igt_subtest("setup-available")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo),
					   all = igt_setup_request(&dev, bo);

		igt_assert_eq(igt_setup_send(&all), 0);
		for (unsigned int i = 0; i < s.setup.request_count; i++) {
			s.requests[i].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
			s.requests[i].mask = ~0ull;
		}
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq_u32(s.setup.sample_size, all.setup.sample_size);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&all), 0);
	}

	igt_describe("with REQUEST_AVAILABLE a block that has none of the counters is left out");
	igt_subtest("setup-available-none")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo),
					   others = igt_setup_request(&dev, bo);
		uint32_t left_out = 0;

		for (unsigned int i = 0; i < dev.block_count; i++)
			left_out += dev.blocks[i].type == s.requests[0].type;
		igt_assert_lte(1, left_out);
		others.setup.request_count--;
		memmove(others.requests, others.requests + 1,
			others.setup.request_count * sizeof(others.requests[0]));
		igt_assert_eq(igt_setup_send(&others), 0);
		s.requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
		s.requests[0].mask = 1ull << 63;
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq_u32(s.setup.block_count, others.setup.block_count);
		igt_assert_eq_u32(s.setup.sample_size, others.setup.sample_size);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&others), 0);
	}

	igt_describe("the shortest and the longest period are periods");
	igt_subtest("setup-period-ends")
	{
		const uint64_t ends[] = { dev.info.min_period_ns, dev.info.max_period_ns };

		for (unsigned int i = 0; i < 2; i++) {
			struct igt_perfctr_session s = igt_setup_request(&dev, bo);

			s.setup.period_ns = ends[i];
			igt_assert_eq(igt_setup_send(&s), 0);
			igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			igt_assert_eq(igt_perfctr_teardown(&s), 0);
		}
	}

	igt_describe("max_requests are not too many");
	igt_subtest("setup-count-most")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo);
		const uint32_t count = dev.info.max_requests;
		struct drm_perfctr_block_request *requests = calloc(count, sizeof(*requests));

		igt_assert(requests);
		/* nothing is left of all but the last */
		for (uint32_t i = 0; i < count; i++) {
			requests[i] = s.requests[0];
			if (i < count - 1)
				requests[i].mask = 1ull << 63;
			requests[i].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
		}
		s.setup.requests = (uintptr_t)requests;
		s.setup.request_count = count;
		s.keep_pointer = true;
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		free(requests);
	}

	igt_describe("ring and control area exactly at the end of a buffer fit");
	igt_subtest("setup-exact-fit")
	{
		struct igt_perfctr_session s = igt_setup_request(&dev, bo);

		s.setup.control_offset =
			IGT_SETUP_BO_BYTES - sizeof(struct drm_perfctr_ring_control);
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
		s.setup.ring_offset = IGT_SETUP_BO_BYTES - s.setup.ring_bytes;
		s.setup.control_offset = 0;
		igt_assert_eq(igt_setup_send(&s), 0);
		igt_assert_eq(igt_perfctr_teardown(&s), 0);
	}

	igt_describe("an imported buffer is -EOPNOTSUPP");
	igt_subtest("setup-imported")
	{
		struct igt_perfctr_session ring = igt_setup_request(&dev, bo),
					   control = igt_setup_request(&dev, bo);
		uint32_t handle = import_buffer();

		ring.setup.ring_handle = handle;
		refused(&ring, EOPNOTSUPP);
		control.setup.control_handle = handle;
		refused(&control, EOPNOTSUPP);
		igt_perfctr_gem_close(dev.fd, handle);
	}

	igt_describe("results that cannot be written are -EFAULT, and there is no session");
	igt_subtest("setup-result-pointer") setup_result_pointer();

	igt_describe("one session more than max_sessions_per_file is -EMFILE");
	igt_subtest("setup-emfile")
	{
		struct igt_perfctr_session s;
		uint32_t first = 0;

		for (unsigned int i = 0; i < dev.info.max_sessions_per_file - 1; i++) {
			s = igt_setup_request(&dev, bo);
			igt_assert_eq(igt_setup_send(&s), 0);
			if (!first)
				first = s.handle;
		}
		s = igt_setup_request(&dev, bo);
		igt_assert_eq(igt_setup_send(&s), -EMFILE);
		for (uint32_t h = first; h < first + dev.info.max_sessions_per_file - 1; h++) {
			uint32_t handle = h;

			igt_assert_eq(igt_perfctr_control(dev.fd, DRM_PERFCTR_CMD_TEARDOWN, &handle,
							  NULL, 0),
				      0);
		}
		refused(&s, 0);
	}

	igt_describe("a test-only SETUP beyond the caller's memory limit is -ENOMEM, and works "
		     "again with memory");
	igt_subtest("setup-test-only-enomem") setup_enomem();

	igt_describe("the device's limit of sessions is -ENFILE and ends with their files");
	igt_subtest("setup-enfile")
	{
		struct igt_perfctr_device files[16];
		struct igt_perfctr_session t;
		int ret = 0;
		unsigned int n = 0;

		while (n < 16 && !ret) {
			struct igt_perfctr_session s;
			uint32_t handle;
			uint64_t mapped;
			void *map;

			igt_perfctr_reopen(&files[n], &dev);
			map = igt_perfctr_buffer(files[n].fd, 65536, &handle, &mapped);
			munmap(map, mapped);
			for (unsigned int i = 0; i < dev.info.max_sessions_per_file && !ret; i++) {
				s = igt_setup_request(&dev, bo);
				s.setup.ring_handle = handle;
				s.setup.control_handle = handle;
				s.dev = &files[n];
				ret = igt_setup_send(&s);
			}
			n++;
		}
		igt_assert_eq(ret, -ENFILE);
		/* TEST_ONLY would not have one either */
		igt_perfctr_session_init(&t, &dev);
		t.setup.flags = DRM_PERFCTR_SETUP_TEST_ONLY;
		igt_assert_eq(igt_setup_send(&t), -ENFILE);
		while (n--)
			igt_perfctr_close(&files[n]);
		{
			struct igt_perfctr_session s = igt_setup_request(&dev, bo);

			igt_assert_eq(igt_setup_send(&s), 0);
			igt_assert_eq(igt_perfctr_teardown(&s), 0);
			igt_assert_eq(igt_setup_send(&t), 0);
		}
	}
}

int igt_main()
{
	igt_fixture()
	{
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		bo = igt_setup_buffer(&dev);
		an_eventfd = eventfd(0, EFD_CLOEXEC);
		igt_assert(an_eventfd >= 0);
		igt_perfctr_session_init(&good, &dev);
		igt_perfctr_session_create(&good);
	}
	setup_tests();
	igt_fixture()
	{
		igt_perfctr_session_fini(&good);
		igt_perfctr_close(&dev);
	}
}
