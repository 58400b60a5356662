// SPDX-License-Identifier: MIT
/**
 * TEST: SETUP rejects each invalid request with its own errno
 * Description: What SETUP rejects, one subtest for each rule of the header, and what it returns.
 *
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @setup-bad-flags: unknown flags are -EINVAL
 * @setup-bad-reserved: reserved[0] must be zero
 * @setup-bad-reserved2: reserved[1] must be zero
 * @setup-slots-zero: a ring has at least one slot
 * @setup-slots-three: slots are a power of two
 * @setup-slots-beyond: slots are at most max_slots
 * @setup-slots-huge: a huge number of slots does not overflow
 * @setup-ring-beyond: a ring has at most max_ring_bytes
 * @setup-count-zero: there is at least one request
 * @setup-count-beyond: there are at most max_requests requests
 * @setup-stride-short: a stride has at least the size of version 3's request
 * @setup-stride-odd: a stride is a multiple of 8
 * @setup-stride-long: a stride is at most 4096 bytes
 * @setup-requests-pointer: requests must be readable
 * @setup-watermark-beyond: a watermark fits the ring
 * @setup-period-short: no period below min_period_ns
 * @setup-period-long: no period above max_period_ns
 * @setup-eventfd-closed: the eventfd must be open
 * @setup-eventfd-negative: only -1 means no eventfd
 * @setup-eventfd-other: the descriptor must be an eventfd
 * @setup-test-only-eventfd: TEST_ONLY takes no eventfd
 * @setup-nothing-available: with AVAILABLE, at least one counter must remain
 * @setup-request-pad: a request's pad must be zero
 * @setup-request-pad2: a request's second pad must be zero
 * @setup-request-flags: unknown request flags are -EINVAL
 * @setup-mask-zero: a request has at least one counter
 * @setup-mask-absent: a block must have the counters
 * @setup-type-zero: no block has type 0
 * @setup-type-unknown: an unknown GPU type is -ENXIO
 * @setup-type-soc-unknown: an unknown SoC type is -ENXIO
 * @setup-type-huge: a huge type indexes no table
 * @setup-index-absent: an index in a hole of the core mask is no block
 * @setup-section-absent: a block must have the section
 * @setup-section-huge: a huge section indexes no table
 * @setup-set-absent: a set must exist
 * @setup-set-huge: a huge set is not shifted out of a mask
 * @setup-twice: the same block twice is -EEXIST
 * @setup-gpu-cpu: cpu is for SoC blocks
 * @setup-gpu-pmu-type: pmu_type is for SoC blocks
 * @setup-gpu-config: config is for SoC blocks
 * @setup-gpu-config1: config1 is for SoC blocks
 * @setup-gpu-config2: config2 is for SoC blocks
 * @setup-soc-set: SoC blocks have no sets
 * @setup-soc-section: SoC blocks have one section
 * @setup-soc-mask: a generic PMU block has one counter
 * @setup-soc-all: SoC blocks cannot have INDEX_ALL
 * @setup-soc-flags: AVAILABLE is for GPU blocks
 * @setup-pmu-flag-absent: members that name a PMU need REQUEST_PMU
 * @setup-pmu-flag-absent-plain: a PMU's type without REQUEST_PMU is no block
 * @setup-pmu-flag-device-type: no PMU counts a block type of the device
 * @setup-soc-cpu: a CPU is -1 or a number
 * @setup-soc-cpu-absent: the CPU must be online
 * @setup-soc-type: the PMU must exist
 * @setup-soc-kind: the PMU must be of the block's kind
 * @setup-soc-kind-config: events of a kind are in its mask
 * @setup-soc-twice: the same generic block twice is -EEXIST
 * @setup-sets-differ: all GPU blocks of a session have one set
 * @setup-set-in-use: a device counts one set at a time, from START to STOP; SETUP reserves none
 * @setup-set-not-of-block: a block type that does not count in a set is -EOPNOTSUPP
 * @setup-test-only: TEST_ONLY returns the sizes of a later SETUP and creates nothing
 * @setup-available: REQUEST_AVAILABLE drops counters that a block lacks
 * @setup-available-none: REQUEST_AVAILABLE leaves out a block that has none of the counters
 * @setup-period-ends: min_period_ns and max_period_ns are valid periods
 * @setup-count-most: max_requests requests are valid
 * @setup-result-pointer: results that cannot be written are -EFAULT and create no session
 * @setup-sessions-of-file: one session more than max_sessions_per_file is -ENOSPC
 * @setup-emfile: without a free file descriptor SETUP is -EMFILE and creates no session
 * @setup-test-only-enomem: a TEST_ONLY beyond the memory limit is -ENOMEM, and works with memory
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_raw.h"
#include "igt_sys.h"

/* largest size of a structure or request */
#define STRUCT_BYTES_MAX 4096u

static struct igt_perfctr_device dev;
static int an_eventfd;
static struct igt_perfctr_session good; /* set up and stopped */

/* The request fails with @error; a correct one works. */
static void refused(struct igt_perfctr_session *s, int error)
{
	struct igt_perfctr_session fine = igt_perfctr_two_slots(&dev);

	igt_assert_eq(igt_perfctr_session_try_bare(s), -error);
	igt_perfctr_session_close(s);
	igt_assert_eq(igt_perfctr_session_try_bare(&fine), 0);
	igt_perfctr_session_close(&fine);
}

static void only_pmu(struct igt_perfctr_session *s)
{
	igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_PMU,
		      "the kernel has no perf events\n");
	s->params.request_count = 0;
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK */
	igt_perfctr_add_pmu(s, 0, 1, 0, DRM_PERFCTR_CPU_ANY);
}

/* one rule: what makes the request invalid, and the errno */
struct rule {
	const char *name;
	void (*spoil)(struct igt_perfctr_session *s);
	int error;
};

#define SPOIL(name, ...)                                \
	static void name(struct igt_perfctr_session *s) \
	{                                               \
		__VA_ARGS__;                            \
	}

SPOIL(bad_flags, s->params.flags = 1u << 31)
SPOIL(bad_reserved, s->params.reserved[0] = 1)
SPOIL(bad_reserved2, s->params.reserved[1] = 1)
SPOIL(slots_zero, s->params.slots = 0)
SPOIL(slots_three, s->params.slots = 3)
SPOIL(slots_beyond, s->params.slots = 2 * dev.info.max_slots)
SPOIL(slots_huge, s->params.slots = 1u << 31)
SPOIL(ring_beyond, s->params.slots = dev.info.max_slots)
SPOIL(count_zero, s->params.request_count = 0)
SPOIL(count_beyond, s->params.request_count = dev.info.max_requests + 1)
SPOIL(stride_short, s->params.request_stride = sizeof(s->requests[0]) - 8)
SPOIL(stride_odd, s->params.request_stride = 60)
SPOIL(stride_long, s->params.request_stride = STRUCT_BYTES_MAX + 8)
SPOIL(pointer_bad, s->params.requests = 8)
SPOIL(watermark_beyond, s->params.watermark = s->params.slots + 1)
SPOIL(period_short, s->params.period_ns = dev.info.min_period_ns - 1)
SPOIL(period_long, s->params.period_ns = dev.info.max_period_ns + 1)
SPOIL(eventfd_closed, s->params.eventfd = 1000)
SPOIL(eventfd_negative, s->params.eventfd = -2)
SPOIL(eventfd_other, s->params.eventfd = dev.fd)
SPOIL(test_only_eventfd, s->params.flags = IGT_PERFCTR_CHECK; s->params.eventfd = an_eventfd)
/* bit 0 is a place of the header, no counter */
SPOIL(nothing_available, s->params.request_count = 1; s->requests[0].mask = 1;
      s->requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE)
SPOIL(request_pad, s->requests[1].pad = 1)
SPOIL(request_pad2, s->requests[1].pad2 = 1)
SPOIL(request_flags, s->requests[1].flags = 1u << 31)
SPOIL(mask_zero, s->requests[1].mask = 0)
SPOIL(mask_absent, s->requests[1].mask |= 1)
SPOIL(type_zero, s->requests[0].type = 0)
SPOIL(type_unknown, s->requests[0].type = 15)
SPOIL(type_soc_unknown, only_pmu(s); s->requests[0].type = 63)
SPOIL(type_huge, s->requests[0].type = 0xffff)
SPOIL(index_absent, s->requests[0].index = 17)
SPOIL(section_absent, s->requests[0].section = 3)
SPOIL(section_huge, s->requests[0].section = 0xffff)
SPOIL(set_absent, s->requests[0].set = DRM_PERFCTR_SET_TERTIARY + 1; s->params.request_count = 1)
SPOIL(set_huge, s->requests[0].set = 200; s->params.request_count = 1)
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
SPOIL(soc_flags, only_pmu(s); s->requests[0].flags |= DRM_PERFCTR_REQUEST_AVAILABLE)
SPOIL(pmu_flag_absent, only_pmu(s); s->requests[0].flags = 0)
SPOIL(pmu_flag_absent_plain, only_pmu(s); s->requests[0].flags = 0; s->requests[0].cpu = 0;
      s->requests[0].pmu_type = 0)
SPOIL(pmu_flag_device_type, only_pmu(s); s->requests[0].type = dev.blocks[0].type)
SPOIL(soc_cpu, only_pmu(s); s->requests[0].cpu = -2)
SPOIL(soc_cpu_absent, only_pmu(s); s->requests[0].cpu = 4000)
SPOIL(soc_type, only_pmu(s); s->requests[0].pmu_type = 0x7fff0000)
SPOIL(soc_kind, only_pmu(s); s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF)
SPOIL(soc_kind_config, only_pmu(s); s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
      s->requests[0].config = 1)
SPOIL(soc_twice, only_pmu(s); igt_perfctr_add_pmu(s, 0, 1, 0, DRM_PERFCTR_CPU_ANY))

/*
 * Covers: DRM_PERFCTR_REQUEST_PMU, drm_perfctr_block_request, setup -EINVAL, setup -E2BIG,
 * setup -EBADF, setup -EEXIST, DRM_PERFCTR_INDEX_ALL, setup -ENOENT, setup -ENXIO,
 * setup -EOPNOTSUPP, setup -ERANGE, DRM_PERFCTR_SECTION_COUNTERS
 */
static const struct rule rules[] = {
	{ "setup-bad-flags", bad_flags, EINVAL },
	{ "setup-bad-reserved", bad_reserved, EINVAL },
	{ "setup-bad-reserved2", bad_reserved2, EINVAL },
	{ "setup-slots-zero", slots_zero, EINVAL },
	{ "setup-slots-three", slots_three, EINVAL },
	{ "setup-slots-beyond", slots_beyond, ERANGE },
	{ "setup-slots-huge", slots_huge, ERANGE },
	{ "setup-ring-beyond", ring_beyond, ERANGE },
	{ "setup-count-zero", count_zero, EINVAL },
	{ "setup-count-beyond", count_beyond, E2BIG },
	{ "setup-stride-short", stride_short, EINVAL },
	{ "setup-stride-odd", stride_odd, EINVAL },
	{ "setup-stride-long", stride_long, EINVAL },
	{ "setup-requests-pointer", pointer_bad, EFAULT },
	{ "setup-watermark-beyond", watermark_beyond, EINVAL },
	{ "setup-period-short", period_short, ERANGE },
	{ "setup-period-long", period_long, ERANGE },
	{ "setup-eventfd-closed", eventfd_closed, EBADF },
	{ "setup-eventfd-negative", eventfd_negative, EBADF },
	{ "setup-eventfd-other", eventfd_other, EINVAL },
	{ "setup-test-only-eventfd", test_only_eventfd, EINVAL },
	{ "setup-nothing-available", nothing_available, EINVAL },
	{ "setup-request-pad", request_pad, EINVAL },
	{ "setup-request-pad2", request_pad2, EINVAL },
	{ "setup-request-flags", request_flags, EINVAL },
	{ "setup-mask-zero", mask_zero, EINVAL },
	{ "setup-mask-absent", mask_absent, EINVAL },
	{ "setup-type-zero", type_zero, ENXIO },
	{ "setup-type-unknown", type_unknown, ENXIO },
	{ "setup-type-soc-unknown", type_soc_unknown, ENXIO },
	{ "setup-type-huge", type_huge, ENXIO },
	{ "setup-index-absent", index_absent, ENXIO },
	{ "setup-section-absent", section_absent, ENXIO },
	{ "setup-section-huge", section_huge, ENXIO },
	{ "setup-set-absent", set_absent, EOPNOTSUPP },
	{ "setup-set-huge", set_huge, EOPNOTSUPP },
	{ "setup-twice", twice, EEXIST },
	{ "setup-gpu-cpu", gpu_cpu, EINVAL },
	{ "setup-gpu-pmu-type", gpu_pmu_type, EINVAL },
	{ "setup-gpu-config", gpu_config, EINVAL },
	{ "setup-gpu-config1", gpu_config1, EINVAL },
	{ "setup-gpu-config2", gpu_config2, EINVAL },
	{ "setup-soc-set", soc_set, EINVAL },
	{ "setup-soc-section", soc_section, ENXIO },
	{ "setup-soc-mask", soc_mask, EINVAL },
	{ "setup-soc-all", soc_all, EINVAL },
	{ "setup-soc-flags", soc_flags, EINVAL },
	{ "setup-pmu-flag-absent", pmu_flag_absent, EINVAL },
	{ "setup-pmu-flag-absent-plain", pmu_flag_absent_plain, ENXIO },
	{ "setup-pmu-flag-device-type", pmu_flag_device_type, ENXIO },
	{ "setup-soc-cpu", soc_cpu, EINVAL },
	{ "setup-soc-cpu-absent", soc_cpu_absent, EINVAL },
	{ "setup-soc-type", soc_type, ENOENT },
	{ "setup-soc-kind", soc_kind, ENOENT },
	{ "setup-soc-kind-config", soc_kind_config, EINVAL },
	{ "setup-soc-twice", soc_twice, EEXIST },
};

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
 * The limit of a memory cgroup grows step by step, so that each allocation of SETUP fails once.
 * This process allocates its own memory first.
 */
static void setup_enomem(void)
{
	static struct drm_perfctr_block_request many[DRM_PERFCTR_MAX_PMU_COUNTERS];
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
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
	/* three quarters of the memory is for PMU blocks */
	s.params.requests = (uintptr_t)many;
	s.params.request_count = 24;
	s.params.flags = IGT_PERFCTR_CHECK;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_assert_eq(mlockall(MCL_CURRENT), 0);
	/* An odd step gives both sizes of request. On PREEMPT_RT one limit takes two seconds. */
	for (unsigned int pages = 0; pages < 64 && !bad; pages += 3) {
		static char bytes[16];
		int length = snprintf(bytes, sizeof(bytes), "%u", pages * 4096);
		int ret;

		s.params.request_count = pages % 2 ? DRM_PERFCTR_MAX_PMU_COUNTERS : 24;
		if (write(procs, "0", 1) != 1 || write(limit, bytes, length) != length)
			bad = errno;
		ret = igt_perfctr_session_try_bare(&s);
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
	igt_info("-ENOMEM with %u of %u limits\n", failed, failed + worked);
	igt_assert_lt(0, failed);
	igt_assert_lt(0, worked);
	close(limit);
	close(procs);
	close(root);
	igt_assert_eq(rmdir("/sys/fs/cgroup/perfctr-nomem"), 0);
	/* with memory it works */
	s.params.request_count = 24;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
}

/* more attempts than a file may have sessions: a failed SETUP must not count */
static void setup_result_pointer(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev),
				   fine = igt_perfctr_two_slots(&dev);
	struct drm_perfctr_setup *setup;

	setup = mmap(NULL, sizeof(*setup), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	igt_assert(setup != MAP_FAILED);
	*setup = igt_raw_setup(&s);
	igt_assert_eq(mprotect(setup, sizeof(*setup), PROT_READ), 0);
	for (unsigned int i = 0; i <= dev.info.max_sessions_per_file; i++) {
		uint32_t handle = 0;

		igt_assert_eq(igt_raw_control(dev.fd, DRM_PERFCTR_CMD_SETUP, &handle, setup,
					      sizeof(*setup)),
			      -EFAULT);
		igt_assert_eq_u32(handle, 0);
	}
	munmap(setup, sizeof(*setup));
	igt_assert_eq(igt_perfctr_session_try_bare(&fine), 0);
	igt_perfctr_session_close(&fine);
}

static void setup_sets_differ(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

	igt_require_f(dev.info.sets >> DRM_PERFCTR_SET_SECONDARY, "the GPU has one counter set\n");
	igt_perfctr_session_init_set(&s, &dev, DRM_PERFCTR_SET_SECONDARY);
	s.params.slots = 2;
	/* each alone is valid */
	igt_assert_lte(2, s.params.request_count);
	igt_perfctr_session_close(&good);
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_perfctr_session_try_bare(&good), 0);
	s.requests[1].set = DRM_PERFCTR_SET_PRIMARY;
	refused(&s, EINVAL);
}

static void setup_set_in_use(void)
{
	struct igt_perfctr_session s[DRM_PERFCTR_SET_TERTIARY + 1], t;
	const unsigned int sets = __builtin_popcount(dev.info.sets);

	igt_require_f(dev.info.sets >> DRM_PERFCTR_SET_SECONDARY, "the GPU has one counter set\n");
	/* sessions that do not count keep nobody from SETUP and START */
	for (unsigned int set = 0; set < sets; set++) {
		igt_perfctr_session_init_set(&s[set], &dev, set);
		s[set].params.slots = 2;
		igt_perfctr_session_open(&s[set]);
	}
	for (unsigned int used = 0; used < sets; used++) {
		igt_assert_eq(igt_perfctr_start(&s[used], 0), 0);
		for (unsigned int set = 0; set < sets; set++)
			igt_assert_eq(igt_perfctr_start(&s[set], 0),
				      set == used ? -EALREADY : -EBUSY);
		/* nor does a session that counts keep anybody from SETUP */
		igt_perfctr_session_init_set(&t, &dev, used ? used - 1 : 1);
		igt_assert_eq(igt_perfctr_session_try_bare(&t), 0);
		igt_perfctr_session_close(&t);
		/* PMU blocks have no set */
		if (dev.info.features & DRM_PERFCTR_FEATURE_PMU) {
			t = igt_perfctr_two_slots(&dev);
			only_pmu(&t);
			igt_assert_eq(igt_perfctr_session_try_bare(&t), 0);
			igt_assert_eq(igt_perfctr_start(&t, 0), 0);
			igt_perfctr_session_close(&t);
		}
		igt_perfctr_finish(&s[used]);
	}
	for (unsigned int set = 0; set < sets; set++)
		igt_perfctr_session_close(&s[set]);
}

static void setup_set_not_of_block(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	bool found = false;

	igt_require_f(dev.info.sets >> DRM_PERFCTR_SET_SECONDARY, "the GPU has one counter set\n");
	for (unsigned int i = 0; i < dev.block_count; i++) {
		const struct drm_perfctr_block_info *b = &dev.blocks[i];

		for (unsigned int set = 1; set <= DRM_PERFCTR_SET_TERTIARY; set++) {
			if (b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY || b->sets >> set & 1 ||
			    !(dev.info.sets >> set & 1))
				continue;
			for (unsigned int n = 0; n < 4; n++)
				igt_assert_eq_u64(b->set_available[set - 1][n], 0);
			s.params.request_count = 1;
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

static void setup_test_only(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev), t = s;

	for (unsigned int i = 0; i < 2 * dev.info.max_sessions_per_file; i++) {
		igt_perfctr_session_init(&t, &dev);
		t.params.slots = 2;
		igt_assert_eq(igt_perfctr_session_check(&t), 0);
		igt_assert_eq(t.fd, -1);
	}
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_assert_eq_u64(s.layout.ring_offset, t.layout.ring_offset);
	igt_assert_eq_u32(s.layout.slot_stride, t.layout.slot_stride);
	igt_assert_eq_u32(s.layout.sample_size, t.layout.sample_size);
	igt_assert_eq_u32(s.layout.map_bytes, t.layout.map_bytes);
	igt_assert_eq_u32(s.layout.block_count, t.layout.block_count);
	igt_assert_eq_u32(s.layout.slots, 2);
	igt_assert_eq_u32(s.layout.slot_stride % DRM_PERFCTR_SLOT_ALIGN, 0);
	igt_assert_lte(s.layout.sample_size, s.layout.slot_stride);
	igt_perfctr_session_close(&s);
}

static void setup_available(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev),
				   all = igt_perfctr_two_slots(&dev);

	igt_assert_eq(igt_perfctr_session_try_bare(&all), 0);
	for (unsigned int i = 0; i < s.params.request_count; i++) {
		s.requests[i].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
		s.requests[i].mask = ~0ull;
	}
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_assert_eq_u32(s.layout.sample_size, all.layout.sample_size);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&all);
}

static void setup_available_none(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev),
				   others = igt_perfctr_two_slots(&dev);
	uint32_t left_out = 0;

	for (unsigned int i = 0; i < dev.block_count; i++)
		left_out += dev.blocks[i].type == s.requests[0].type;
	igt_assert_lte(1, left_out);
	others.params.request_count--;
	memmove(others.requests, others.requests + 1,
		others.params.request_count * sizeof(others.requests[0]));
	igt_assert_eq(igt_perfctr_session_try_bare(&others), 0);
	s.requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
	s.requests[0].mask = 1;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_assert_eq_u32(s.layout.block_count, others.layout.block_count);
	igt_assert_eq_u32(s.layout.sample_size, others.layout.sample_size);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&others);
}

static void setup_period_ends(void)
{
	const uint64_t ends[] = { dev.info.min_period_ns, dev.info.max_period_ns };

	for (unsigned int i = 0; i < 2; i++) {
		struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

		s.params.period_ns = ends[i];
		igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_perfctr_session_close(&s);
	}
}

static void setup_count_most(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	const uint32_t count = dev.info.max_requests;
	struct drm_perfctr_block_request *requests = calloc(count, sizeof(*requests));

	igt_assert(requests);
	/* all requests but the last are dropped */
	for (uint32_t i = 0; i < count; i++) {
		requests[i] = s.requests[0];
		if (i < count - 1)
			requests[i].mask = 1;
		requests[i].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
	}
	s.params.requests = (uintptr_t)requests;
	s.params.request_count = count;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_session_close(&s);
	free(requests);
}

static void setup_sessions_of_file(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	struct igt_small smalls[256];
	unsigned int count;
	int error;

	count = igt_small_fill(dev.fd, smalls, ARRAY_SIZE(smalls), &error);
	igt_assert_eq(error, -ENOSPC);
	igt_assert_eq(igt_perfctr_session_try_bare(&s), -ENOSPC);
	/* beside the session of the fixture */
	igt_assert_eq_u32(count + 1, dev.info.max_sessions_per_file);
	while (count--)
		igt_small_close(&smalls[count]);
	refused(&s, 0);
}

static void setup_emfile(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	struct rlimit old, none;

	igt_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (unsigned int i = 0; i <= dev.info.max_sessions_per_file; i++)
		if (igt_perfctr_session_try_bare(&s) != -EMFILE)
			break;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	igt_assert_eq(s.fd, -1);
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_session_close(&s);
}

static void setup_tests(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(rules); i++) {
		igt_subtest(rules[i].name)
		{
			struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

			rules[i].spoil(&s);
			refused(&s, rules[i].error);
		}
	}

	/* Covers: setup -EINVAL */
	igt_subtest("setup-sets-differ") setup_sets_differ();

	/* Covers: start -EBUSY */
	igt_subtest("setup-set-in-use") setup_set_in_use();

	/* Covers: setup -EOPNOTSUPP */
	igt_subtest("setup-set-not-of-block") setup_set_not_of_block();

	/* Covers: DRM_PERFCTR_CMD_SETUP, DRM_PERFCTR_SETUP_TEST_ONLY, DRM_PERFCTR_SLOT_ALIGN */
	igt_subtest("setup-test-only") setup_test_only();

	/* Covers: DRM_PERFCTR_REQUEST_AVAILABLE */
	igt_subtest("setup-available") setup_available();

	/* Covers: DRM_PERFCTR_REQUEST_AVAILABLE */
	igt_subtest("setup-available-none") setup_available_none();

	igt_subtest("setup-period-ends") setup_period_ends();

	/* Covers: setup -E2BIG */
	igt_subtest("setup-count-most") setup_count_most();

	igt_subtest("setup-result-pointer") setup_result_pointer();

	/* Covers: setup -ENOSPC */
	igt_subtest("setup-sessions-of-file") setup_sessions_of_file();
	/* Covers: setup -EMFILE */
	igt_subtest("setup-emfile") setup_emfile();

	/* Covers: setup -ENOMEM */
	igt_subtest("setup-test-only-enomem") setup_enomem();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		an_eventfd = eventfd(0, EFD_CLOEXEC);
		igt_assert(an_eventfd >= 0);
		igt_perfctr_session_init(&good, &dev);
		igt_perfctr_session_open(&good);
	}
	setup_tests();
	igt_fixture() {
		igt_perfctr_session_close(&good);
		igt_perfctr_close(&dev);
	}
}
