// SPDX-License-Identifier: MIT
/**
 * TEST: What the counter interface reports and what it rejects
 * Description: QUERY, growth of structures, and what the commands other than SETUP reject: one
 *   subtest for each rule of the header.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "minigt.h"
#include "igt_raw.h"

/* largest size of a structure */
#define STRUCT_BYTES_MAX 4096u

static struct igt_perfctr_device dev;
static struct igt_perfctr_session good; /* set up and stopped */

static int command(uint32_t cmd, uint32_t handle, void *arg, uint64_t size)
{
	return igt_raw_control(dev.fd, cmd, &handle, arg, size);
}

/* age_ns differs between two queries */
static bool is_age(uint32_t type, uint32_t at)
{
	const uint32_t age = offsetof(struct drm_perfctr_clock_info, age_ns);

	return type == DRM_PERFCTR_QUERY_CLOCKS && at >= age && at < age + sizeof(uint64_t);
}

static void query_array(uint32_t type, uint32_t kernel_size)
{
	static const uint32_t strides[] = { 8, 16, 24, 40, 48, 128, 136, 256 };
	uint8_t whole[64 * 128] = { 0 }, got[64 * 256];
	struct drm_perfctr_query q = { .type = type };
	uint32_t exist;

	igt_assert_eq(igt_perfctr_query(dev.fd, &q), 0);
	exist = q.count;
	igt_assert_eq_u32(q.stride, kernel_size);
	igt_assert_lte(1, exist);
	igt_assert_lte(exist, 64);

	q.pointer = (uintptr_t)whole;
	igt_assert_eq(igt_perfctr_query(dev.fd, &q), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(strides); i++) {
		for (uint32_t count = 0; count <= exist + 1; count++) {
			uint32_t written = count < exist ? count : exist;

			memset(got, 0xa5, sizeof(got));
			q = (struct drm_perfctr_query){
				.type = type,
				.count = count,
				.stride = strides[i],
				.pointer = (uintptr_t)got,
			};
			igt_assert_eq(igt_perfctr_query(dev.fd, &q), 0);
			igt_assert_eq_u32(q.count, exist);
			igt_assert_eq_u32(q.stride, kernel_size);
			for (uint32_t e = 0; e < written; e++) {
				for (uint32_t at = 0; at < strides[i]; at++)
					if (!is_age(type, at))
						igt_assert_eq(got[e * strides[i] + at],
							      at < kernel_size ?
								      whole[e * kernel_size + at] :
								      0);
			}
			/* QUERY writes nothing behind its elements */
			igt_assert_eq(got[written * strides[i]], 0xa5);
		}
	}
}

static void query_sizes(void)
{
	static const uint32_t sizes[] = {
		sizeof(struct drm_perfctr_device_info),
		sizeof(struct drm_perfctr_block_info),
		sizeof(struct drm_perfctr_clock_info),
	};

	for (uint32_t type = 0; type < 3; type++) {
		struct drm_perfctr_query q = { .type = type, .count = 99, .stride = 3 };

		igt_assert_eq(igt_perfctr_query(dev.fd, &q), 0);
		igt_assert_eq_u32(q.stride, sizes[type]);
		igt_assert(q.count != 99);
	}
}

static void query_device(void)
{
	igt_assert_lte(3, dev.info.version);
	igt_assert_eq_u32(dev.info.sample_header_size, sizeof(struct drm_perfctr_sample_header));
	igt_assert_eq_u32(dev.info.block_header_size, sizeof(struct drm_perfctr_block_header));
	igt_assert_eq_u32(dev.info.ring_control_size, sizeof(struct drm_perfctr_ring_control));
	igt_assert_eq_u32(dev.info.block_count, dev.block_count);
	igt_assert(dev.info.sets & 1);
	igt_assert(dev.info.max_slots && !(dev.info.max_slots & (dev.info.max_slots - 1)));
	igt_assert(dev.info.max_sessions_per_file > 0);
	igt_assert(dev.info.max_requests > 0);
	igt_assert(dev.info.min_period_ns > 0);
	igt_assert_lte_u64(dev.info.min_period_ns, dev.info.unprivileged_min_period_ns);
	igt_assert_lte_u64(dev.info.unprivileged_min_period_ns, dev.info.max_period_ns);
	igt_assert(memchr(dev.info.name, 0, sizeof(dev.info.name)));
	igt_assert(dev.info.name[0]);
}

static void query_blocks(void)
{
	for (unsigned int i = 0; i < dev.block_count; i++) {
		const struct drm_perfctr_block_info *b = &dev.blocks[i];

		igt_assert_lt(0, b->counters);
		igt_assert(b->sets & 1);
		for (unsigned int c = 0; c < 256; c++)
			if (b->available[c / 64] >> c % 64 & 1)
				igt_assert_lt(c, b->counters);
		for (unsigned int j = 0; j < i; j++)
			igt_assert(b->type != dev.blocks[j].type ||
				   b->index != dev.blocks[j].index);
	}
}

static void query_sparse_cores(void)
{
	uint64_t mask = 0;

	igt_require_f(dev.is_vsoc, "only the virtual SoC's core mask is known\n");
	for (unsigned int i = 0; i < dev.block_count; i++)
		if (dev.blocks[i].type == DRM_PERFCTR_MALI_BLOCK_SHADER)
			mask |= 1ull << dev.blocks[i].index;
	igt_assert_eq_u64(mask, 0x50005);
}

static void query_clocks(void)
{
	struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1];

	igt_perfctr_clocks(&dev, clocks);
	for (unsigned int i = 0; i < dev.info.clock_count; i++) {
		igt_assert_eq(clocks[i].pad, 0);
		igt_assert(clocks[i].name[0]);
		if (clocks[i].clock == DRM_PERFCTR_CLOCK_TIMESTAMP)
			continue;
		igt_assert_lte_u64(clocks[i].frequency_hz, clocks[i].max_frequency_hz);
		igt_assert_eq(clocks[i].valid_bits, 0);
		igt_assert_eq_u64(clocks[i].gpu_timestamp | clocks[i].raw_ns, 0);
		igt_assert_eq_u64(clocks[i].age_ns | clocks[i].epoch, 0);
	}
}

static void query_refused(struct drm_perfctr_query q, int error)
{
	igt_assert_eq(igt_perfctr_query(dev.fd, &q), error);
}

static void query_bad_stride(void)
{
	char buffer[256];
	struct drm_perfctr_query q = { .count = 1, .pointer = (uintptr_t)buffer };

	igt_assert_eq(igt_perfctr_query(dev.fd, &q), -EINVAL);
	q.stride = 12;
	igt_assert_eq(igt_perfctr_query(dev.fd, &q), -EINVAL);
	q.stride = STRUCT_BYTES_MAX + 8;
	igt_assert_eq(igt_perfctr_query(dev.fd, &q), -EINVAL);
	q.stride = -8u;
	igt_assert_eq(igt_perfctr_query(dev.fd, &q), -EINVAL);
}

static void query_tests(void)
{
	igt_describe("QUERY without a pointer returns count and size of the elements");
	igt_subtest("query-sizes") query_sizes();

	/* Covers: DRM_PERFCTR_QUERY_DEVICE, drm_perfctr_device_info */
	igt_describe("the device reports its limits, and they are plausible");
	igt_subtest("query-device") query_device();

	/* Covers: DRM_PERFCTR_QUERY_BLOCKS, drm_perfctr_block_info */
	igt_describe("every block has counters, and all available ones are among its positions");
	igt_subtest("query-blocks") query_blocks();

	/* Covers: drm_perfctr_block_info */
	igt_describe("shader blocks have the physical core numbers of a sparse core mask");
	igt_subtest("query-sparse-cores") query_sparse_cores();

	/* Covers: DRM_PERFCTR_QUERY_CLOCKS, drm_perfctr_clock_info */
	igt_describe("clocks have names and run no faster than their maximum");
	igt_subtest("query-clocks") query_clocks();

	igt_describe("the device is returned whole, cut, or extended with zeroes");
	igt_subtest("query-stride-device")
		query_array(DRM_PERFCTR_QUERY_DEVICE, sizeof(struct drm_perfctr_device_info));
	/* Covers: DRM_PERFCTR_BLOCK_INFO_SECTIONS */
	igt_describe("blocks are returned with any stride and count");
	igt_subtest("query-stride-blocks")
		query_array(DRM_PERFCTR_QUERY_BLOCKS, sizeof(struct drm_perfctr_block_info));
	igt_describe("clocks are returned with any stride and count");
	igt_subtest("query-stride-clocks")
		query_array(DRM_PERFCTR_QUERY_CLOCKS, sizeof(struct drm_perfctr_clock_info));

	/* Covers: query -EINVAL */
	igt_describe("an unknown query is -EINVAL");
	igt_subtest("query-bad-type")
		query_refused((struct drm_perfctr_query){ .type = 3 }, -EINVAL);
	/* Covers: query -EINVAL */
	igt_describe("the query's pad must be zero");
	igt_subtest("query-bad-pad") query_refused((struct drm_perfctr_query){ .pad = 1 }, -EINVAL);
	igt_describe("a stride of zero, above 4096 or no multiple of 8 is -EINVAL");
	igt_subtest("query-bad-stride") query_bad_stride();
	/* Covers: query -EFAULT */
	igt_describe("a query into unmapped memory is -EFAULT");
	igt_subtest("query-bad-pointer") query_refused(
		(struct drm_perfctr_query){ .count = 1, .stride = 128, .pointer = 8 }, -EFAULT);
}

static const struct {
	uint32_t cmd;
	uint64_t size;
	const char *name, *text;
} commands[] = {
	{ DRM_PERFCTR_CMD_SETUP, sizeof(struct drm_perfctr_setup), "size-of-setup",
	  "SETUP without a pointer returns the size of its structure and creates no session" },
	{ DRM_PERFCTR_CMD_START, sizeof(struct drm_perfctr_start), "size-of-start",
	  "the same for START, which starts nothing" },
	{ DRM_PERFCTR_CMD_STOP, sizeof(struct drm_perfctr_stop), "size-of-stop",
	  "the same for STOP, which stops nothing" },
	{ DRM_PERFCTR_CMD_SAMPLE, sizeof(struct drm_perfctr_sample), "size-of-sample",
	  "the same for SAMPLE, which publishes nothing" },
	{ DRM_PERFCTR_CMD_STATUS, sizeof(struct drm_perfctr_status), "size-of-status",
	  "the same for STATUS, which changes nothing" },
};

/* structures that are longer than ours and end with @tail */
static void growth_tail(uint64_t tail, int expected)
{
	struct {
		struct drm_perfctr_setup setup;
		uint64_t more[20];
	} longer = { .more[19] = tail };
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	uint64_t tag[3] = { 7, 0, tail };
	uint32_t handle = 0;

	longer.setup = igt_raw_setup(&s);
	igt_assert_eq(igt_raw_control(dev.fd, DRM_PERFCTR_CMD_SETUP, &handle, &longer,
				      sizeof(longer)),
		      expected);
	if (expected)
		handle = good.handle;
	igt_assert_eq(command(DRM_PERFCTR_CMD_START, handle, tag, sizeof(tag)), expected);
	if (expected)
		return;
	igt_raw_opened(&s, &longer.setup, handle);
	igt_assert_eq(command(DRM_PERFCTR_CMD_STOP, handle, tag, sizeof(tag)), 0);
	igt_perfctr_session_close(&s);
}

static void growth_status(void)
{
	uint64_t words[20];

	memset(words, 0xa5, sizeof(words));
	igt_assert_eq(command(DRM_PERFCTR_CMD_STATUS, good.handle, words, sizeof(words)), 0);
	for (unsigned int i = sizeof(struct drm_perfctr_status) / 8; i < 20; i++)
		igt_assert_eq_u64(words[i], 0);
}

static void growth_requests(void)
{
	struct {
		struct drm_perfctr_block_request request;
		uint64_t more;
	} longer[2] = { 0 };
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

	longer[0].request = s.requests[0];
	longer[1].request = s.requests[1];
	s.params.request_count = 2;
	s.params.request_stride = sizeof(longer[0]);
	s.params.requests = (uintptr_t)longer;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_perfctr_session_close(&s);
	longer[1].more = 1;
	igt_assert_eq(igt_perfctr_session_try_bare(&s), -E2BIG);
}

static void size_too_small(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	uint64_t short_words[sizeof(struct drm_perfctr_setup) / 8];
	struct drm_perfctr_setup setup;

	setup = igt_raw_setup(&s);
	memcpy(short_words, &setup, sizeof(short_words));
	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++)
		for (uint64_t size = 0; size < commands[i].size; size++)
			igt_assert_eq(command(commands[i].cmd, good.handle, short_words, size),
				      -EINVAL);
	igt_assert_eq_u64(igt_perfctr_status(&good).published, 0);
}

static void size_huge(void)
{
	static uint64_t zeroes[STRUCT_BYTES_MAX / 8 + 1];
	uint64_t tag = 0;

	for (uint32_t cmd = 0; cmd <= DRM_PERFCTR_CMD_STATUS; cmd++) {
		if (cmd == DRM_PERFCTR_CMD_TEARDOWN)
			continue;
		igt_assert_eq(command(cmd, good.handle, &tag, ~0ull), -E2BIG);
		igt_assert_eq(command(cmd, good.handle, zeroes, STRUCT_BYTES_MAX + 1), -E2BIG);
	}
	/* the longest size that is accepted; the session is not active */
	igt_assert_eq(command(DRM_PERFCTR_CMD_STOP, good.handle, zeroes, STRUCT_BYTES_MAX),
		      -EALREADY);
	igt_assert_eq(command(DRM_PERFCTR_CMD_STATUS, good.handle, zeroes, STRUCT_BYTES_MAX), 0);
}

static void growth_tests(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
		igt_describe(commands[i].text);
		igt_subtest(commands[i].name)
		{
			/* with a structure these commands would have an effect */
			const bool active = commands[i].cmd != DRM_PERFCTR_CMD_START;
			struct drm_perfctr_control c = { .cmd = commands[i].cmd };
			struct igt_perfctr_status status;
			struct igt_perfctr_session s;

			igt_perfctr_session_open_with(&s, &dev, 4, 0);
			if (active)
				igt_assert_eq(igt_perfctr_start(&s, 0), 0);
			c.handle = s.handle;
			igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PERFCTR_CONTROL, &c), 0);
			igt_assert_eq_u64(c.size, commands[i].size);
			igt_assert_eq_u32(c.handle, s.handle);
			status = igt_perfctr_status(&s);
			igt_assert_eq(!!(status.flags & DRM_PERFCTR_STATUS_ACTIVE), active);
			igt_assert_eq_u64(status.published, 0);
			igt_perfctr_session_close(&s);
			/* a query for the size needs no session */
			c = (struct drm_perfctr_control){ .cmd = commands[i].cmd };
			igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_PERFCTR_CONTROL, &c), 0);
			igt_assert_eq_u32(c.handle, 0);
		}
	}

	igt_describe("a longer structure is accepted if the rest is zero");
	igt_subtest("growth-zero-tail") growth_tail(0, 0);
	/* Covers: control -E2BIG */
	igt_describe("a longer structure with a nonzero rest is -E2BIG");
	igt_subtest("growth-tail") growth_tail(1, -E2BIG);
	/* Covers: How structures grow */
	igt_describe("STATUS fills a longer structure with zeroes");
	igt_subtest("growth-status") growth_status();
	/* Covers: control -E2BIG */
	igt_describe("longer requests are accepted with zero tails, else -E2BIG");
	igt_subtest("growth-requests") growth_requests();
	/* Covers: control -EINVAL */
	igt_describe("a structure shorter than in version 3 is -EINVAL");
	igt_subtest("size-too-small") size_too_small();
	igt_describe("a size above 4096 bytes is rejected without reading it, zero or not");
	igt_subtest("size-huge") size_huge();
}

static uint64_t words[16];

static void command_unknown(void)
{
	igt_assert_eq(command(6, good.handle, words, 8), -EINVAL);
	igt_assert_eq(command(6, good.handle, NULL, 0), -EINVAL);
	igt_assert_eq(command(~0u, good.handle, words, 8), -EINVAL);
}

static void command_bad_handle(void)
{
	static const uint32_t handles[] = { 0, 0x7fffffff, ~0u };

	for (unsigned int h = 0; h < 3; h++) {
		for (unsigned int i = 1; i < ARRAY_SIZE(commands); i++)
			igt_assert_eq(command(commands[i].cmd, handles[h], words, commands[i].size),
				      -ENOENT);
		igt_assert_eq(command(DRM_PERFCTR_CMD_TEARDOWN, handles[h], NULL, 0), -ENOENT);
	}
}

static void command_other_file(void)
{
	struct igt_perfctr_device other;
	uint32_t handle = good.handle;

	igt_perfctr_reopen(&other, &dev);
	for (unsigned int i = 1; i < ARRAY_SIZE(commands); i++)
		igt_assert_eq(igt_raw_control(other.fd, commands[i].cmd, &handle, words,
					      commands[i].size),
			      -ENOENT);
	igt_assert_eq(igt_raw_control(other.fd, DRM_PERFCTR_CMD_TEARDOWN, &handle, NULL, 0),
		      -ENOENT);
	igt_perfctr_close(&other);
	igt_assert_eq(igt_perfctr_status(&good).slots, good.layout.slots);
}

static void command_bad_pointer(void)
{
	for (unsigned int i = 1; i < ARRAY_SIZE(commands); i++)
		igt_assert_eq(command(commands[i].cmd, good.handle, (void *)8, commands[i].size),
			      -EFAULT);
	igt_assert_eq(command(DRM_PERFCTR_CMD_SETUP, 0, (void *)8,
			      sizeof(struct drm_perfctr_setup)),
		      -EFAULT);
}

static void teardown_structure(void)
{
	igt_assert_eq(command(DRM_PERFCTR_CMD_TEARDOWN, good.handle, words, 8), -EINVAL);
	igt_assert_eq(command(DRM_PERFCTR_CMD_TEARDOWN, good.handle, NULL, 8), -EINVAL);
	igt_assert_eq(command(DRM_PERFCTR_CMD_TEARDOWN, good.handle, words, 0), -EINVAL);
	igt_assert_eq(igt_perfctr_status(&good).slots, good.layout.slots);
}

static void teardown_twice(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev), again;

	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	again = s;
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_perfctr_session_end(&again), -IGT_PERFCTR_ENDED);
}

static void start_active(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

	igt_assert_eq(igt_perfctr_session_try_bare(&s), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), -EALREADY);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_session_close(&s);
}

static void start_full(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.params.slots = 1;
	igt_perfctr_begin(&s);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), -ENOSPC);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_perfctr_session_close(&s);
}

static void handles(void)
{
	struct igt_perfctr_session a = igt_perfctr_two_slots(&dev), b = igt_perfctr_two_slots(&dev);

	igt_assert_eq(igt_perfctr_session_try_bare(&a), 0);
	igt_assert_eq(igt_perfctr_session_try_bare(&b), 0);
	igt_assert(a.handle && b.handle && a.handle != b.handle);
	igt_perfctr_session_close(&a);
	igt_perfctr_session_close(&b);
}

static void command_tests(void)
{
	/* Covers: control -EINVAL */
	igt_describe("an unknown command is -EINVAL, with or without a structure");
	igt_subtest("command-unknown") command_unknown();
	/* Covers: control -ENOENT */
	igt_describe("a handle without a session is -ENOENT");
	igt_subtest("command-bad-handle") command_bad_handle();
	/* Covers: control -ENOENT */
	igt_describe("sessions of another file are -ENOENT");
	igt_subtest("command-other-file") command_other_file();
	/* Covers: control -EFAULT */
	igt_describe("a structure that cannot be read or written is -EFAULT");
	igt_subtest("command-bad-pointer") command_bad_pointer();
	/* Covers: control -EINVAL */
	igt_describe("TEARDOWN takes no structure");
	igt_subtest("teardown-structure") teardown_structure();
	igt_describe("the second TEARDOWN of a session is -ENOENT");
	igt_subtest("teardown-twice") teardown_twice();
	/* Covers: start -EALREADY */
	igt_describe("START of an active session is -EALREADY");
	igt_subtest("start-active") start_active();
	/* Covers: stop -EALREADY */
	igt_describe("STOP of a session that is not active is -EALREADY");
	igt_subtest("stop-stopped") igt_assert_eq(igt_perfctr_stop(&good, 0), -EALREADY);
	/* Covers: sample -ENOTCONN */
	igt_describe("SAMPLE of a session that is not active is -ENOTCONN");
	igt_subtest("sample-stopped") igt_assert_eq(igt_perfctr_sample(&good, 0), -ENOTCONN);
	/* Covers: start -ENOSPC */
	igt_describe("START is -ENOSPC while no slot is free for the final sample");
	igt_subtest("start-full") start_full();
	igt_describe("handles are not zero and belong to the file that created them");
	igt_subtest("handles") handles();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_perfctr_session_init(&good, &dev);
		igt_perfctr_session_open(&good);
	}
	query_tests();
	growth_tests();
	command_tests();
	igt_fixture() {
		igt_perfctr_session_close(&good);
		igt_perfctr_close(&dev);
	}
}
