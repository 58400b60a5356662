// SPDX-License-Identifier: MIT
/**
 * TEST: OPEN rejects each invalid request with its own errno
 * Description: What OPEN rejects, one subtest for each rule of the header, and what it returns.
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

/* what the rule takes as given: two block types, no counter 0, and what they have not */
static void of_mali(void)
{
	igt_require_f(dev.blocks[0].type <= DRM_PERFCTR_MALI_BLOCK_CSG, "not a Mali's blocks\n");
}

/* a request to spoil */
static struct igt_perfctr_session *good_one(void)
{
	static struct igt_perfctr_session s;

	s = igt_perfctr_two_slots(&dev);
	return &s;
}

/* a subtest: @text says which rule the statements break, OPEN fails with @errno_ */
#define RULE(name, text, errno_, ...)                       \
	igt_describe(text);                                 \
	igt_subtest(name)                                   \
	{                                                   \
		struct igt_perfctr_session *s = good_one(); \
		__VA_ARGS__;                                \
		refused(s, errno_);                         \
	}

/*
 * Covers: DRM_PERFCTR_REQUEST_PMU, drm_perfctr_block_request, open -EINVAL, open -E2BIG,
 * open -EBADF, open -EEXIST, DRM_PERFCTR_INDEX_ALL, open -ENOENT, open -ENXIO,
 * open -EOPNOTSUPP, open -ERANGE, DRM_PERFCTR_SECTION_COUNTERS
 */
static void rule_tests(void)
{
	RULE("setup-bad-flags", "unknown flags are -EINVAL", EINVAL, s->params.flags = 1u << 31);
	RULE("setup-bad-reserved", "reserved[0] must be zero", EINVAL, s->params.reserved[0] = 1);
	RULE("setup-bad-reserved2", "reserved[1] must be zero", EINVAL, s->params.reserved[1] = 1);
	RULE("setup-slots-zero", "a ring has at least one slot", EINVAL, s->params.slots = 0);
	RULE("setup-slots-three", "slots are a power of two", EINVAL, s->params.slots = 3);
	RULE("setup-slots-beyond", "slots are at most max_slots", ERANGE,
	     s->params.slots = 2 * dev.info.max_slots);
	RULE("setup-slots-huge", "a huge number of slots does not overflow", ERANGE,
	     s->params.slots = 1u << 31);
	RULE("setup-ring-beyond", "a ring has at most max_ring_bytes", ERANGE,
	     s->params.slots = dev.info.max_slots);
	RULE("setup-count-zero", "there is at least one request", EINVAL,
	     s->params.request_count = 0);
	RULE("setup-count-beyond", "there are at most max_requests requests", E2BIG,
	     s->params.request_count = dev.info.max_requests + 1);
	RULE("setup-stride-short", "a stride has at least the size of a request", EINVAL,
	     s->params.request_stride = sizeof(s->requests[0]) - 8);
	RULE("setup-stride-odd", "a stride is a multiple of 8", EINVAL,
	     s->params.request_stride = 60);
	RULE("setup-stride-long", "a stride is at most 4096 bytes", EINVAL,
	     s->params.request_stride = IGT_RAW_STRUCT_BYTES_MAX + 8);
	RULE("setup-requests-pointer", "requests must be readable", EFAULT, s->params.requests = 8);
	RULE("setup-watermark-beyond", "a watermark fits the ring", EINVAL,
	     s->params.watermark = s->params.slots + 1);
	RULE("setup-period-short", "no period below min_period_ns", ERANGE,
	     s->params.period_ns = dev.info.min_period_ns - 1);
	RULE("setup-period-long", "no period above max_period_ns", ERANGE,
	     s->params.period_ns = dev.info.max_period_ns + 1);
	RULE("setup-eventfd-closed", "the eventfd must be open", EBADF, s->params.eventfd = 1000);
	RULE("setup-eventfd-negative", "only -1 means no eventfd", EBADF, s->params.eventfd = -2);
	RULE("setup-eventfd-other", "the descriptor must be an eventfd", EINVAL,
	     s->params.eventfd = dev.fd);
	RULE("setup-test-only-eventfd", "CHECK takes no eventfd", EINVAL,
	     s->params.flags = DRM_PERFCTR_OPEN_CHECK;
	     s->params.eventfd = an_eventfd);
	/* bit 0 is a place of the header, no counter */
	RULE("setup-nothing-available", "with AVAILABLE, at least one counter must remain", EINVAL,
	     of_mali();
	     s->params.request_count = 1; s->requests[0].mask = 1;
	     s->requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE);
	RULE("setup-request-pad", "a request's pad must be zero", EINVAL, of_mali();
	     s->requests[1].pad = 1);
	RULE("setup-request-pad2", "a request's second pad must be zero", EINVAL, of_mali();
	     s->requests[1].pad2 = 1);
	RULE("setup-request-flags", "unknown request flags are -EINVAL", EINVAL, of_mali();
	     s->requests[1].flags = 1u << 31);
	RULE("setup-mask-zero", "a request has at least one counter", EINVAL, of_mali();
	     s->requests[1].mask = 0);
	RULE("setup-mask-absent", "a block must have the counters", EINVAL, of_mali();
	     s->requests[1].mask |= 1);
	RULE("setup-type-zero", "no block has type 0", ENXIO, s->requests[0].type = 0);
	RULE("setup-type-unknown", "an unknown GPU type is -ENXIO", ENXIO, of_mali();
	     s->requests[0].type = 15);
	RULE("setup-type-soc-unknown", "an unknown SoC type is -ENXIO", ENXIO, only_pmu(s);
	     s->requests[0].type = 63);
	RULE("setup-type-huge", "a huge type indexes no table", ENXIO,
	     s->requests[0].type = 0xffff);
	RULE("setup-index-absent", "an index in a hole of the core mask is no block", ENXIO,
	     of_mali();
	     s->requests[0].index = 17);
	RULE("setup-section-absent", "a block must have the section", ENXIO, of_mali();
	     s->requests[0].section = 3);
	RULE("setup-section-huge", "a huge section indexes no table", ENXIO,
	     s->requests[0].section = 0xffff);
	RULE("setup-set-absent", "a set must exist", EOPNOTSUPP,
	     s->requests[0].set = DRM_PERFCTR_SET_TERTIARY + 1;
	     s->params.request_count = 1);
	RULE("setup-set-huge", "a huge set is not shifted out of a mask", EOPNOTSUPP,
	     s->requests[0].set = 200;
	     s->params.request_count = 1);
	RULE("setup-twice", "the same block twice is -EEXIST", EEXIST, of_mali();
	     s->requests[1] = s->requests[0]);
	RULE("setup-gpu-cpu", "cpu is for SoC blocks", EINVAL, s->requests[0].cpu = 1);
	RULE("setup-gpu-pmu-type", "pmu_type is for SoC blocks", EINVAL,
	     s->requests[0].pmu_type = 1);
	RULE("setup-gpu-config", "config is for SoC blocks", EINVAL, s->requests[0].config = 1);
	RULE("setup-gpu-config1", "config1 is for SoC blocks", EINVAL, s->requests[0].config1 = 1);
	RULE("setup-gpu-config2", "config2 is for SoC blocks", EINVAL, s->requests[0].config2 = 1);
	RULE("setup-soc-set", "SoC blocks have no sets", EINVAL, only_pmu(s);
	     s->requests[0].set = 1);
	RULE("setup-soc-section", "SoC blocks have one section", ENXIO, only_pmu(s);
	     s->requests[0].section = 1);
	RULE("setup-soc-mask", "a generic PMU block has one counter", EINVAL, only_pmu(s);
	     s->requests[0].mask = 2);
	RULE("setup-soc-all", "SoC blocks cannot have INDEX_ALL", EINVAL, only_pmu(s);
	     s->requests[0].index = DRM_PERFCTR_INDEX_ALL);
	RULE("setup-soc-flags", "AVAILABLE is for GPU blocks", EINVAL, only_pmu(s);
	     s->requests[0].flags |= DRM_PERFCTR_REQUEST_AVAILABLE);
	RULE("setup-pmu-flag-absent", "members that name a PMU need REQUEST_PMU", EINVAL,
	     only_pmu(s);
	     s->requests[0].flags = 0);
	RULE("setup-pmu-flag-absent-plain", "a PMU's type without REQUEST_PMU is no block", ENXIO,
	     only_pmu(s);
	     s->requests[0].flags = 0; s->requests[0].cpu = 0; s->requests[0].pmu_type = 0);
	RULE("setup-pmu-flag-device-type", "no PMU counts a block type of the device", ENXIO,
	     only_pmu(s);
	     s->requests[0].type = dev.blocks[0].type);
	RULE("setup-soc-cpu", "a CPU is -1 or a number", EINVAL, only_pmu(s);
	     s->requests[0].cpu = -2);
	RULE("setup-soc-cpu-absent", "the CPU must be online", EINVAL, only_pmu(s);
	     s->requests[0].cpu = 4000);
	RULE("setup-soc-type", "the PMU must exist", ENOENT, only_pmu(s);
	     s->requests[0].pmu_type = 0x7fff0000);
	RULE("setup-soc-kind", "the PMU must be of the block's kind", ENOENT, only_pmu(s);
	     s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF);
	RULE("setup-soc-kind-config", "events of a kind are in its mask", EINVAL, only_pmu(s);
	     s->requests[0].type = DRM_PERFCTR_TEGRA410_BLOCK_UCF; s->requests[0].config = 1);
	RULE("setup-soc-twice", "the same generic block twice is -EEXIST", EEXIST, only_pmu(s);
	     igt_perfctr_add_pmu(s, 0, 1, 0, DRM_PERFCTR_CPU_ANY));
}

static int open_cgroup(const char *file)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	igt_require_f(fd >= 0, "%s: %s\n", path, strerror(errno));
	return fd;
}

/*
 * The limit of a memory cgroup grows step by step, so that each allocation of OPEN fails once.
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
	s.params.flags = DRM_PERFCTR_OPEN_CHECK;
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

/* more attempts than the process may have descriptors */
static void setup_result_pointer(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	struct drm_perfctr_open open = igt_raw_params(&s);
	const size_t bytes = sysconf(_SC_PAGESIZE);
	const unsigned int before = igt_open_files();
	void *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	igt_assert(page != MAP_FAILED);
	open.layout = (uintptr_t)page;
	open.layout_size = sizeof(s.layout);
	for (unsigned int i = 0; i < 1100; i++)
		igt_assert_eq(igt_raw_open(&dev, &open, sizeof(open)), -EFAULT);
	open.flags = DRM_PERFCTR_OPEN_CHECK;
	igt_assert_eq(igt_raw_open(&dev, &open, sizeof(open)), -EFAULT);
	igt_assert_eq(igt_open_files(), before);
	munmap(page, bytes);
	refused(&s, 0);
}

/* the structure itself is only read */
static void setup_read_only(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	const size_t bytes = sysconf(_SC_PAGESIZE);
	struct drm_perfctr_open *open;

	open = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	igt_assert(open != MAP_FAILED);
	*open = igt_raw_params(&s);
	igt_assert_eq(mprotect(open, bytes, PROT_READ), 0);
	igt_raw_opened(&s, igt_raw_open(&dev, open, sizeof(*open)));
	munmap(open, bytes);
	igt_perfctr_session_close(&s);
}

static void setup_layout_size(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	struct drm_perfctr_open open = igt_raw_params(&s);

	open.layout_size = 8;
	igt_assert_eq(igt_raw_open(&dev, &open, sizeof(open)), -EINVAL);
	open.layout = (uintptr_t)&s.layout;
	open.layout_size = IGT_RAW_STRUCT_BYTES_MAX + 8;
	igt_assert_eq(igt_raw_open(&dev, &open, sizeof(open)), -EINVAL);
	open.layout = 8;
	open.layout_size = 0;
	igt_raw_opened(&s, igt_raw_open(&dev, &open, sizeof(open)));
	igt_perfctr_session_close(&s);
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
	/* sessions that do not count keep nobody from OPEN and START */
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
		/* nor does a session that counts keep anybody from OPEN */
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

	of_mali();
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

	for (unsigned int i = 0; i < 256; i++) {
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

	of_mali();
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

	of_mali();
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

/* there is no limit of the file's own */
static void setup_sessions_of_file(void)
{
	int fds[256], error;

	igt_assert_eq(igt_small_fill(&dev, fds, ARRAY_SIZE(fds), &error), ARRAY_SIZE(fds));
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void setup_emfile(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	const unsigned int repeats = 128;
	struct rlimit old, none;
	unsigned int i;

	igt_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (i = 0; i < repeats; i++)
		if (igt_perfctr_session_try_bare(&s) != -EMFILE)
			break;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	igt_assert_eq_u32(i, repeats);
	igt_assert_eq(s.fd, -1);
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_session_close(&s);
}

static void setup_tests(void)
{
	rule_tests();

	/* Covers: open -EINVAL */
	igt_describe("all GPU blocks of a session have one set");
	igt_subtest("setup-sets-differ") setup_sets_differ();

	/* Covers: command -EBUSY */
	igt_describe("a device counts one set at a time, from START to STOP; OPEN reserves none");
	igt_subtest("setup-set-in-use") setup_set_in_use();

	/* Covers: open -EOPNOTSUPP */
	igt_describe("a block type that does not count in a set is -EOPNOTSUPP");
	igt_subtest("setup-set-not-of-block") setup_set_not_of_block();

	/* Covers: DRM_PERFCTR_IOCTL_OPEN, DRM_PERFCTR_OPEN_CHECK, DRM_PERFCTR_SLOT_ALIGN */
	igt_describe("CHECK returns the sizes of a later OPEN and creates nothing");
	igt_subtest("setup-test-only") setup_test_only();

	/* Covers: DRM_PERFCTR_REQUEST_AVAILABLE */
	igt_describe("REQUEST_AVAILABLE drops counters that a block lacks");
	igt_subtest("setup-available") setup_available();

	/* Covers: DRM_PERFCTR_REQUEST_AVAILABLE */
	igt_describe("REQUEST_AVAILABLE leaves out a block that has none of the counters");
	igt_subtest("setup-available-none") setup_available_none();

	igt_describe("min_period_ns and max_period_ns are valid periods");
	igt_subtest("setup-period-ends") setup_period_ends();

	/* Covers: open -E2BIG */
	igt_describe("max_requests requests are valid");
	igt_subtest("setup-count-most") setup_count_most();

	/* Covers: open -EFAULT */
	igt_describe("a layout that cannot be written is -EFAULT and creates no session");
	igt_subtest("setup-result-pointer") setup_result_pointer();

	igt_describe("a structure in a read-only page is accepted");
	igt_subtest("setup-read-only") setup_read_only();
	/* Covers: open -EINVAL */
	igt_describe("layout_size is at most 4096, and zero without layout");
	igt_subtest("setup-layout-size") setup_layout_size();
	igt_describe("a file may have 256 sessions");
	igt_subtest("setup-sessions-of-file") setup_sessions_of_file();
	/* Covers: open -EMFILE */
	igt_describe("without a free file descriptor OPEN is -EMFILE and creates no session");
	igt_subtest("setup-emfile") setup_emfile();

	/* Covers: open -ENOMEM */
	igt_describe("a CHECK beyond the memory limit is -ENOMEM, and works with memory");
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
