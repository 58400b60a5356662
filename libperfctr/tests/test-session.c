// SPDX-License-Identifier: MIT
/* Sessions and cursors, against a kernel in memory. */
#include <string.h>

#include "fixture.h"

static void begin(void)
{
	begin_fake();
	open_device(NULL);
	CHECK(perfctr_selection_add(selection, "shader/FRAG*,GPU_ACTIVE") > 0);
}

static void begin_session(uint32_t slots)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = slots };

	begin();
	EQUAL(perfctr_session_new(selection, &opts, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 1), 0);
}

static void begin_counting(void)
{
	begin_session(4);
}

TEST_WITH(begin_counting, end, "reads what was published")
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	uint64_t n;

	for (n = 0; n < 10; n++) {
		EQUAL(perfctr_cursor_next(cursor, &sample), 0);
		EQUAL(perfctr_session_sample(session, n), 0);
		EQUAL(perfctr_cursor_lag(cursor), 1);
		EQUAL(perfctr_cursor_next(cursor, &sample), 1);
		EQUAL(sample.seq, n);
		EQUAL(sample.block_count, 5);
		EQUAL(perfctr_decode_block(&sample, &block), 1);
		EQUAL(block.index, 0);
		EQUAL(perfctr_block_value(&block, 2), 3);
		EQUAL(perfctr_cursor_advance(cursor, 1), 0);
		EQUAL(fake->control->extract_idx, (uint32_t)(DRM_PERFCTR_RING_FIRST + n + 1));
	}
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(sample.flags, DRM_PERFCTR_SAMPLE_FINAL);
}

/* panthor nodes are found, counted and decoded; Mali's counters have no names yet. */
TEST("another driver is the same to us")
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = 4 };
	struct perfctr_sample sample;
	struct perfctr_block block;

	fake = fake_new();
	fake_file(fake, "/dev/dri/card0", "node:panthor");
	fake_file(fake, "/dev/dri/renderD128", "node:panthor");
	fake->info.product = DRM_PERFCTR_MALI_PRODUCT_V10;
	for (size_t n = 0; n < fake->block_count; n++)
		fake->blocks[n].product = DRM_PERFCTR_MALI_PRODUCT_V10;
	perfctr_ctx_new_with(&fake->sys, &ctx);
	EQUAL(perfctr_device_open(ctx, "panthor", &device), 0);
	EQUAL_TEXT(perfctr_device_driver(device), "panthor");
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, "shader16/C4,shader16/C5") > 0);
	EQUAL(perfctr_session_new(selection, &opts, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 1), 0);
	EQUAL(perfctr_session_sample(session, 7), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(sample.block_count, 1);
	EQUAL(perfctr_decode_block(&sample, &block), 1);
	EQUAL(block.product, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(block.index, 16);
	EQUAL(perfctr_block_value(&block, 1), 2);
	EQUAL(perfctr_session_stop(session, 0), 0);
	end();
}

TEST("a burst is read ahead and given back at once")
{
	struct perfctr_sample sample;
	struct perfctr_slot slot;

	begin_session(8);
	for (uint32_t n = 0; n < 7; n++)
		EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_session_sample(session, 0), -ENOSPC);
	HAS_TEXT(perfctr_ctx_error(ctx), "the ring is full; nothing is lost");
	for (uint32_t n = 0; n < 7; n++) {
		EQUAL(perfctr_cursor_peek(cursor, n, &slot), 1);
		EQUAL(slot.index, n);
		CHECK(perfctr_decode_sample(slot.bytes, slot.size, &sample) > 0);
		EQUAL(sample.seq, n);
	}
	EQUAL(perfctr_cursor_peek(cursor, 7, &slot), 0);
	EQUAL(perfctr_cursor_advance(cursor, 8), -ERANGE);
	EQUAL(fake->control->extract_idx, DRM_PERFCTR_RING_FIRST);
	EQUAL(perfctr_cursor_advance(cursor, 7), 0);
	EQUAL(fake->control->extract_idx, DRM_PERFCTR_RING_FIRST + 7);
	EQUAL(perfctr_cursor_lag(cursor), 0);
	/* without a peek */
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	end();
}

TEST_WITH(begin_counting, end, "a sample follows the fence of a job")
{
	int fence = fake->sys.eventfd(fake->sys.data);

	fake->eventfd_count = 0;
	EQUAL(perfctr_session_sample_fence(session, fence, 1000, 7), -ETIMEDOUT);
	EQUAL(perfctr_cursor_lag(cursor), 0);
	fake_fail(fake, FAKE_POLL, 1, -EINTR);
	EQUAL(perfctr_session_sample_fence(session, fence, 1000, 7), -EINTR);
	fake->eventfd_count = 1;
	EQUAL(perfctr_session_sample_fence(session, fence, -1, 7), 0);
	EQUAL(perfctr_cursor_lag(cursor), 1);
	fake->sys.close(fake->sys.data, fence);
}

TEST("a ring of one slot works")
{
	struct perfctr_sample sample;

	begin_session(1);
	EQUAL(perfctr_session_sample(session, 0), -ENOSPC);
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(sample.seq, 1);
	end();
}

TEST_WITH(begin_counting, end, "waiting needs no system call while there is data")
{
	EQUAL(perfctr_session_sample(session, 0), 0);
	fake->calls[FAKE_POLL] = 0;
	fake->calls[FAKE_READ] = 0;
	EQUAL(perfctr_cursor_wait(cursor, -1), 1);
	EQUAL(perfctr_cursor_wait(cursor, 0), 1);
	EQUAL(fake->calls[FAKE_POLL], 0);
	EQUAL(fake->calls[FAKE_READ], 0);
}

static void publish_one(struct fake *f)
{
	fake_publish(f, DRM_PERFCTR_SAMPLE_PERIODIC);
}

TEST_WITH(begin_counting, end, "waiting ends with a sample or the time")
{
	EQUAL(perfctr_cursor_wait(cursor, 0), 0);
	EQUAL(fake->calls[FAKE_POLL], 0);
	EQUAL(perfctr_cursor_wait(cursor, 1000), 0);
	fake->on_poll = publish_one;
	EQUAL(perfctr_cursor_wait(cursor, 1000000000), 1);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	fake_fail(fake, FAKE_POLL, 1, -EINTR);
	EQUAL(perfctr_cursor_wait(cursor, -1), -EINTR);
}

/* An event for samples that were already read does not wake the reader. */
TEST_WITH(begin_counting, end, "stale events do not wake")
{
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_cursor_wait(cursor, -1), 1);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	EQUAL(fake->eventfd_count, 1);
	fake->calls[FAKE_POLL] = 0;
	EQUAL(perfctr_cursor_wait(cursor, 1000000000), 0);
	EQUAL(fake->calls[FAKE_POLL], 2);
}

TEST_WITH(begin_counting, end, "a dead ring is read to its end")
{
	struct perfctr_sample sample;

	EQUAL(perfctr_session_sample(session, 0), 0);
	fake->control->state = DRM_PERFCTR_RING_DEAD;
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), -ENODEV);
	EQUAL(perfctr_cursor_wait(cursor, -1), -ENODEV);
	EQUAL(perfctr_cursor_state(cursor), DRM_PERFCTR_RING_DEAD);
}

TEST_WITH(begin_counting, end, "impossible memory is noticed")
{
	struct perfctr_sample sample;
	struct perfctr_slot slot;

	EQUAL(perfctr_session_sample(session, 0), 0);
	memset(fake->ring, 0xff, fake->stride);
	EQUAL(perfctr_cursor_next(cursor, &sample), -EBADMSG);
	EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	fake->control->insert_idx = 100;
	EQUAL(perfctr_cursor_peek(cursor, 0, &slot), -EBADMSG);
	EQUAL(perfctr_cursor_lag(cursor), 4);
	fake->control->insert_idx = DRM_PERFCTR_RING_FIRST;
	EQUAL(perfctr_cursor_peek(cursor, 0, &slot), -EBADMSG);
}

TEST_WITH(begin_counting, end, "indices wrap")
{
	struct perfctr_sample sample;
	uint64_t n;

	cursor = perfctr_cursor_unref(cursor);
	fake->insert = UINT32_MAX - 1;
	fake->control->insert_idx = UINT32_MAX - 1;
	fake->control->extract_idx = UINT32_MAX - 1;
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	for (n = 0; n < 5; n++) {
		EQUAL(perfctr_session_sample(session, 0), 0);
		EQUAL(perfctr_cursor_next(cursor, &sample), 1);
		EQUAL(sample.seq, n);
		EQUAL(perfctr_cursor_advance(cursor, 1), 0);
	}
	EQUAL(fake->control->extract_idx, 3);
}

TEST_WITH(begin_counting, end, "a session has one cursor")
{
	struct perfctr_cursor *second;

	EQUAL(perfctr_cursor_new(session, &second), -EBUSY);
	cursor = perfctr_cursor_unref(cursor);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
}

TEST_WITH(begin_counting, end, "a cursor keeps its session")
{
	struct perfctr_sample sample;

	session = perfctr_session_unref(session);
	selection = perfctr_selection_unref(selection);
	device = perfctr_device_unref(device);
	ctx = perfctr_ctx_unref(ctx);
	publish_one(fake);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
}

TEST_WITH(begin_counting, end, "commands report the kernel's errors")
{
	struct drm_perfctr_status status;

	EQUAL(perfctr_session_start(session, 0), -EALREADY);
	HAS_TEXT(perfctr_ctx_error(ctx), "cannot start the session: it counts already");
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), -EALREADY);
	HAS_TEXT(perfctr_ctx_error(ctx), "it does not count");
	EQUAL(perfctr_session_sample(session, 0), -ENOTCONN);
	EQUAL(perfctr_session_status(session, &status, sizeof(status)), 0);
	EQUAL(status.published, 1);
	EQUAL(perfctr_session_status(session, &status, 8), 0);
	CHECK(perfctr_session_fd(session) >= 0);
	fake_fail(fake, FAKE_START, 1, -ENODEV);
	EQUAL(perfctr_session_start(session, 0), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "the device is gone");
	fake_fail(fake, FAKE_START, 1, -EBUSY);
	EQUAL(perfctr_session_start(session, 0), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "uses another counter set");
}

TEST("a refused set-up has a message with the fix")
{
	static const struct {
		int error;
		const char *text;
	} cases[] = {
		{ -EACCES, "dev.perfctr.paranoid=0" },
		{ -EPERM, "the shortest is 1 ms" },
		{ -EBUSY, "something other than perfctr uses" },
		{ -EACCES, "lets all users of this machine watch each other" },
		{ -EACCES, "\"perfctr serve\" gives single users" },
		{ -EACCES, "if root is refused, a security module such as SELinux" },
		{ -ENFILE, "users without CAP_PERFMON have all the sessions" },
		{ -E2BIG, "at most 64" },
		{ -ENODEV, "is gone" },
		{ -EXDEV, "makes it log the reason" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		begin();
		fake_fail(fake, FAKE_SESSION, 1, cases[n].error);
		EQUAL(perfctr_session_new(selection, NULL, &session), cases[n].error);
		HAS_TEXT(perfctr_ctx_error(ctx), cases[n].text);
		end();
	}
}

TEST("a refused set-up names AUTOMATIC samples, or the period")
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.flags = DRM_PERFCTR_OPEN_AUTOMATIC,
		.slots = 4,
	};

	for (int n = 0; n < 3; n++) {
		opts.period_ns = (uint64_t[]){ 0, 1000000, 999999 }[n];
		begin();
		fake_fail(fake, FAKE_SESSION, 1, -EPERM);
		EQUAL(perfctr_session_new(selection, &opts, &session), -EPERM);
		HAS_TEXT(perfctr_ctx_error(ctx),
			 n < 2 ? "(AUTOMATIC) need CAP_PERFMON" : "the shortest is 1 ms");
		end();
	}
}

TEST("a period out of range is named")
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .period_ns = 5, .slots = 4 };

	begin();
	fake_fail(fake, FAKE_SESSION, 1, -ERANGE);
	EQUAL(perfctr_session_new(selection, &opts, &session), -ERANGE);
	HAS_TEXT(perfctr_ctx_error(ctx), "the period of 5 ns is not within 10 us..10 s");
	/* a period below the minimum has a different errno in the kernel */
	end();
	begin();
	fake_fail(fake, FAKE_SESSION, 1, -EINVAL);
	EQUAL(perfctr_session_new(selection, &opts, &session), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "the period of 5 ns is not within 10 us..10 s");
	end();
}

#define PMUS "/sys/bus/event_source/devices/"

/* the refused request is found among valid ones, and named */
TEST("a refused PMU is named")
{
	static const struct {
		const char *event;
		unsigned int type;
		int error;
		const char *paranoid;
		const char *text;
	} cases[] = {
		{ "ucf0/cycles/", DRM_PERFCTR_TEGRA410_BLOCK_UCF, -EACCES, "0",
		  "the PMU of ucf0 is perf's, and kernel.perf_event_paranoid = 3" },
		{ "ucf0/cycles/", DRM_PERFCTR_TEGRA410_BLOCK_UCF, -EACCES, "1",
		  "dev.perfctr.paranoid=0" },
		{ "software/config=3/", DRM_PERFCTR_BLOCK_GENERIC_PMU, -EACCES, "0",
		  "other than SoC blocks need CAP_PERFMON" },
		{ "ucf0/cycles/", DRM_PERFCTR_TEGRA410_BLOCK_UCF, -EINVAL, "0",
		  "the PMU of ucf0 refuses ucf0/cycles/: Invalid argument; its driver may have" },
		{ "software/config=3/", DRM_PERFCTR_BLOCK_GENERIC_PMU, -EINVAL, "0",
		  "the PMU software refuses software/config=3/" },
		{ "software/config=3,cpu=9/", DRM_PERFCTR_BLOCK_GENERIC_PMU, -EINVAL, "0",
		  "CPU 9 is not online; there are 0-3,8" },
		{ "software/config=3,cpu=8/", DRM_PERFCTR_BLOCK_GENERIC_PMU, -EINVAL, "0",
		  "the PMU software refuses" },
		/* refused by the library, though its driver would not */
		{ "pcie0_rc4/rd_bytes,src_bdf=0x108/", DRM_PERFCTR_TEGRA410_BLOCK_PCIE, 0, "0",
		  "pcie0_rc4/rd_bytes/: src_bdf does nothing without src_bdf_en=1" },
		{ "pcie0_rc4/rd_bytes,src_bdf_en=1,src_rp_mask=3/", DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		  0, "0", "pcie0_rc4/rd_bytes/: src_bdf_en and src_rp_mask exclude each other" },
		{ "pcie0_rc4/rd_bytes,src_bdf=0x108,src_bdf_en=1/", DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		  -EINVAL, "0", "the PMU of pcie0_rc4 refuses pcie0_rc4/rd_bytes/" },
		/* the GPU's blocks are refused */
		{ "ucf0/cycles/", DRM_PERFCTR_MALI_BLOCK_SHADER, -EACCES, "0",
		  "this needs CAP_PERFMON" },
		{ "ucf0/cycles/", DRM_PERFCTR_MALI_BLOCK_SHADER, -EINVAL, "0",
		  "\"echo 2 > /sys/module/drm/parameters/debug\" makes it log" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		begin();
		fake_file(fake, PMUS "nvidia_ucf_pmu_0/type", "20\n");
		fake_file(fake, PMUS "nvidia_ucf_pmu_0/cpumask", "0\n");
		fake_file(fake, PMUS "nvidia_ucf_pmu_0/format/event", "config:0-32\n");
		fake_file(fake, PMUS "nvidia_ucf_pmu_0/events/cycles", "event=0x100000000\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/type", "21\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/format/event", "config:0-2\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/format/src_bdf", "config1:8-23\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/format/src_bdf_en", "config1:24\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/format/src_rp_mask", "config1:0-7\n");
		fake_file(fake, PMUS "nvidia_pcie_pmu_0_rc_4/events/rd_bytes", "event=0x0\n");
		fake_file(fake, PMUS "software/type", "1\n");
		fake_file(fake, "/proc/sys/dev/perfctr/paranoid", cases[n].paranoid);
		fake_file(fake, "/proc/sys/kernel/perf_event_paranoid", "3\n");
		fake_file(fake, "/sys/devices/system/cpu/online", "0-3,8\n");
		EQUAL(perfctr_selection_add(selection, cases[n].event), 1);
		fake->refused_type = cases[n].type;
		fake->refused_error = cases[n].error;
		EQUAL(perfctr_session_new(selection, NULL, &session), cases[n].error ?: -EINVAL);
		HAS_TEXT(perfctr_ctx_error(ctx), cases[n].text);
		end();
	}
}

TEST("failing system calls leave nothing behind")
{
	static const enum fake_call calls[] = { FAKE_MMAP, FAKE_EVENTFD, FAKE_SESSION };

	for (size_t n = 0; n < ARRAY_SIZE(calls); n++) {
		for (int nth = 1; nth <= 2; nth++) {
			begin();
			fake_fail(fake, calls[n], nth, -ENOMEM);
			if (perfctr_session_new(selection, NULL, &session))
				CHECK(!session);
			else
				CHECK(nth == 2 && fake->calls[calls[n]] == 1);
			end();
		}
	}
}

TEST_WITH(begin, end, "the ring fits the period and the limits")
{
	struct perfctr_session_sizes sizes = { .size = sizeof(sizes) };
	struct perfctr_session_opts opts = { .size = sizeof(opts) };

	EQUAL(perfctr_session_check(selection, &opts, &sizes), 0);
	EQUAL(sizes.slots, 16);
	EQUAL(sizes.block_count, 5);
	EQUAL(sizes.size, sizeof(sizes));
	opts.period_ns = 1000000;
	EQUAL(perfctr_session_check(selection, &opts, &sizes), 0);
	EQUAL(sizes.slots, 256);
	/* the quarter of a second does not fit max_ring_bytes: the ring shrinks */
	opts.period_ns = 10000;
	EQUAL(perfctr_session_check(selection, &opts, &sizes), 0);
	CHECK(sizes.slots < 4096 && sizes.ring_bytes <= fake->info.max_ring_bytes);
	/* a size that the program requests is not changed */
	opts.slots = 4096;
	EQUAL(perfctr_session_check(selection, &opts, &sizes), -ERANGE);
	HAS_TEXT(perfctr_ctx_error(ctx), "a ring of 4096 slots is too large");
	opts.slots = 5;
	EQUAL(perfctr_session_check(selection, &opts, &sizes), 0);
	EQUAL(sizes.slots, 8);
	opts.slots = UINT32_MAX;
	EQUAL(perfctr_session_check(selection, &opts, NULL), -ERANGE);
}

TEST_WITH(begin, end, "options grow both ways")
{
	struct {
		struct perfctr_session_opts opts;
		uint64_t later;
	} longer = { .opts = { .size = sizeof(longer) } };
	struct perfctr_session_opts opts = { .size = offsetof(struct perfctr_session_opts, slots),
					     .slots = 7 };
	struct perfctr_session_sizes sizes = { .size = sizeof(sizes) };

	EQUAL(perfctr_session_check(selection, &longer.opts, NULL), 0);
	longer.later = 1;
	EQUAL(perfctr_session_check(selection, &longer.opts, NULL), -E2BIG);
	HAS_TEXT(perfctr_ctx_error(ctx), "this older library");
	EQUAL(perfctr_session_check(selection, &opts, &sizes), 0);
	EQUAL(sizes.slots, 16);
	opts.size = 0;
	EQUAL(perfctr_session_check(selection, &opts, NULL), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "its size is not set");
	opts.size = sizeof(opts);
	opts.flags = DRM_PERFCTR_OPEN_CHECK;
	EQUAL(perfctr_session_check(selection, &opts, NULL), -EINVAL);
}

TEST_WITH(begin, end, "an empty selection is refused")
{
	struct perfctr_selection *empty;

	EQUAL(perfctr_selection_new(device, &empty), 0);
	EQUAL(perfctr_session_new(empty, NULL, &session), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "nothing is selected");
	perfctr_selection_unref(empty);
}

TEST_WITH(begin, end, "set-up is one command")
{
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	EQUAL(fake->calls[FAKE_SESSION], 1);
	EQUAL(fake->calls[FAKE_CHECK], 0);
}

/* A broker passes on the ring's file: another process reads samples but cannot write them. */
TEST_WITH(begin, end, "the ring's file is all that a reader needs")
{
	const struct perfctr_session_sizes *sizes;
	uint64_t ring_bytes;
	struct perfctr_sample sample;
	void *control, *ring, *none;
	int fd;

	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	sizes = perfctr_session_sizes(session);
	ring_bytes = sizes->ring_bytes;
	fd = perfctr_session_reader(session);
	EQUAL(fake->sys.mmap(fake, fd, 0, sizes->ring_offset, true, &control), 0);
	EQUAL(fake->sys.mmap(fake, fd, sizes->ring_offset, ring_bytes, true, &none), -EACCES);
	EQUAL(fake->sys.mmap(fake, fd, sizes->ring_offset, ring_bytes, false, &ring), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), 0);
	EQUAL(((struct drm_perfctr_ring_control *)control)->insert_idx, DRM_PERFCTR_RING_FIRST + 1);
	session = perfctr_session_unref(session);
	/* the memory outlives the session */
	CHECK(perfctr_decode_sample(ring, ring_bytes, &sample) > 0);
	EQUAL(sample.flags, DRM_PERFCTR_SAMPLE_FINAL);
	fake->sys.munmap(fake, control, 4096);
	fake->sys.munmap(fake, ring, ring_bytes);
	fake->sys.close(fake, fd);
}

TEST_WITH(begin, end, "the GPU's time is converted across its wrap")
{
	const uint64_t wrap = UINT64_C(1) << 40;
	uint64_t raw_ns;

	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH, FAKE_GPU_TIMESTAMP, &raw_ns), 0);
	EQUAL(raw_ns, FAKE_GPU_RAW_NS);
	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH, FAKE_GPU_TIMESTAMP - 7, &raw_ns), 0);
	EQUAL(raw_ns, FAKE_GPU_RAW_NS - 7000);
	/* with and without bits above the counter's width */
	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH, FAKE_GPU_TIMESTAMP + 32, &raw_ns), 0);
	EQUAL(raw_ns, FAKE_GPU_RAW_NS + 32000);
	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH, FAKE_GPU_TIMESTAMP + 32 - wrap, &raw_ns),
	      0);
	EQUAL(raw_ns, FAKE_GPU_RAW_NS + 32000);
	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH + 1, FAKE_GPU_TIMESTAMP, &raw_ns),
	      -ESTALE);
	EQUAL(perfctr_time_of_gpu(device, 0, FAKE_GPU_TIMESTAMP, &raw_ns), -ESTALE);
	device->clocks[2].frequency_hz = 0;
	EQUAL(perfctr_time_of_gpu(device, FAKE_GPU_EPOCH, FAKE_GPU_TIMESTAMP, &raw_ns),
	      -EOPNOTSUPP);
}
