// SPDX-License-Identifier: MIT
/**
 * TEST: What the counter interface reports and what it rejects
 * Description: QUERY, growth of structures, and what the ioctls other than OPEN reject: one
 *   subtest for each rule of the header.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"
#include "igt_sys.h"

/* of DRM_IOCTL_PERFCTR_QUERY in drm.h */
#define DRM_QUERY_NR 0xd3

static struct igt_perfctr_device dev;
static struct igt_perfctr_session good; /* set up and stopped */

static const unsigned long commands[] = {
	DRM_PERFCTR_IOCTL_START,
	DRM_PERFCTR_IOCTL_SAMPLE,
	DRM_PERFCTR_IOCTL_STOP,
};

/* an ioctl of @good with a structure of @bytes */
static int sized(unsigned long request, void *arg, uint32_t bytes)
{
	return igt_perfctr_ioctl(good.fd, igt_raw_sized(request, bytes), arg);
}

/* age_ns differs between two queries */
static bool is_age(uint32_t type, uint32_t at)
{
	const uint32_t age = offsetof(struct drm_perfctr_clock_info, age_ns);

	return type == DRM_PERFCTR_QUERY_CLOCKS && at >= age && at < age + sizeof(uint64_t);
}

/* @known: bytes of an element that this header describes */
static void query_array(uint32_t type, uint32_t known)
{
	static const uint32_t strides[] = { 8, 16, 24, 40, 48, 128, 136, 256 };
	uint8_t whole[64 * 128] = { 0 }, got[64 * 256];
	struct drm_perfctr_query q = { .type = type };
	uint32_t exist, kernel_size;

	igt_assert_eq(igt_perfctr_query(&dev, &q), 0);
	exist = q.count;
	kernel_size = q.stride;
	igt_assert_lte(known, kernel_size);
	igt_assert_lte(1, exist);
	igt_assert_lte(exist, 64);
	igt_assert_lte(exist * kernel_size, sizeof(whole));

	q.pointer = (uintptr_t)whole;
	igt_assert_eq(igt_perfctr_query(&dev, &q), 0);
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
			igt_assert_eq(igt_perfctr_query(&dev, &q), 0);
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

		igt_assert_eq(igt_perfctr_query(&dev, &q), 0);
		igt_assert_lte(sizes[type], q.stride);
		igt_assert(q.count != 99);
	}
}

static void query_device(void)
{
	igt_assert_lte(4, dev.info.version);
	igt_assert_lte(sizeof(struct drm_perfctr_sample_header), dev.info.sample_header_size);
	igt_assert_lte(sizeof(struct drm_perfctr_block_header), dev.info.block_header_size);
	igt_assert_lte(sizeof(struct drm_perfctr_ring_control), dev.info.ring_control_size);
	igt_assert_eq_u32(dev.info.block_count, dev.block_count);
	igt_assert(dev.info.sets & 1);
	igt_assert(dev.info.max_slots && !(dev.info.max_slots & (dev.info.max_slots - 1)));
	igt_assert_eq_u32(dev.info.max_sessions_per_file, 0);
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
	igt_assert_eq(igt_perfctr_query(&dev, &q), error);
}

static void query_bad_stride(void)
{
	char buffer[256];
	struct drm_perfctr_query q = { .count = 1, .pointer = (uintptr_t)buffer };

	igt_assert_eq(igt_perfctr_query(&dev, &q), -EINVAL);
	q.stride = 12;
	igt_assert_eq(igt_perfctr_query(&dev, &q), -EINVAL);
	q.stride = IGT_RAW_STRUCT_BYTES_MAX + 8;
	igt_assert_eq(igt_perfctr_query(&dev, &q), -EINVAL);
	q.stride = -8u;
	igt_assert_eq(igt_perfctr_query(&dev, &q), -EINVAL);
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

/* commands of @good with a structure that is longer than ours and ends with @tail */
static void command_tails(uint64_t tail, bool works)
{
	uint64_t words[3] = { 7, 0, tail };

	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++)
		igt_assert_eq(sized(commands[i], words, sizeof(words)), works ? 0 : -E2BIG);
}

static void growth_zero_tail(void)
{
	const uint64_t published = igt_perfctr_status(&good).published;

	command_tails(0, true);
	igt_assert_eq_u64(igt_perfctr_status(&good).published, published + 2);
	igt_perfctr_drain(&good);
	igt_assert_eq_u64(good.last.user_data, 7);
}

/* stopped or active, nothing happens */
static void growth_tail(void)
{
	const uint64_t published = igt_perfctr_status(&good).published;

	command_tails(1, false);
	igt_assert_eq_u32(igt_perfctr_status(&good).flags, 0);
	igt_assert_eq(igt_perfctr_start(&good, 0), 0);
	command_tails(1, false);
	igt_assert_eq_u32(igt_perfctr_status(&good).flags, DRM_PERFCTR_STATUS_ACTIVE);
	igt_assert_eq_u64(igt_perfctr_status(&good).published, published);
	igt_perfctr_finish(&good);
}

/* what is behind struct drm_perfctr_open has no effect; what is missing is zero */
static void growth_open(void)
{
	struct {
		struct drm_perfctr_open open;
		uint64_t more[20];
	} longer;
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);

	memset(&longer, 0xa5, sizeof(longer));
	longer.open = igt_raw_params(&s);
	for (unsigned int bytes = offsetof(struct drm_perfctr_open, layout);
	     bytes <= sizeof(longer); bytes += 8) {
		igt_raw_opened(&s, igt_raw_open(&dev, &longer, bytes));
		igt_perfctr_session_close(&s);
	}
	igt_assert_eq(igt_raw_open(&dev, &longer, offsetof(struct drm_perfctr_open, requests)),
		      -EINVAL);
}

/* STATUS or LAYOUT in all sizes: @whole cut, or filled with zeroes */
static void result_sizes(int fd, unsigned long request, const void *whole, uint32_t kernel_bytes)
{
	const uint8_t *expected = whole;
	uint8_t got[256];

	for (uint32_t bytes = 0; bytes < sizeof(got); bytes += 4) {
		memset(got, 0xa5, sizeof(got));
		igt_assert_eq(igt_perfctr_ioctl(fd, igt_raw_sized(request, bytes), got), 0);
		for (uint32_t at = 0; at < sizeof(got); at++)
			igt_assert_eq(got[at], at >= bytes	 ? 0xa5 :
					       at < kernel_bytes ? expected[at] :
								   0);
	}
}

static void growth_status(void)
{
	struct drm_perfctr_status status;
	static uint8_t words[16000];

	igt_assert_eq(igt_perfctr_start(&good, 0), 0);
	status = igt_perfctr_status(&good);
	result_sizes(good.fd, DRM_PERFCTR_IOCTL_STATUS, &status, sizeof(status));
	memset(words, 0xa5, sizeof(words));
	igt_assert_eq(sized(DRM_PERFCTR_IOCTL_STATUS, words, sizeof(words)), 0);
	for (unsigned int i = sizeof(status); i < sizeof(words); i++)
		igt_assert_eq(words[i], 0);
	igt_perfctr_finish(&good);
}

static void growth_layout(void)
{
	const int reader = igt_perfctr_session_reader(&good);

	result_sizes(good.fd, DRM_PERFCTR_IOCTL_LAYOUT, &good.layout, sizeof(good.layout));
	result_sizes(reader, DRM_PERFCTR_IOCTL_LAYOUT, &good.layout, sizeof(good.layout));
	close(reader);
}

/* the layout that OPEN writes, likewise */
static void growth_open_layout(void)
{
	struct igt_perfctr_session s = igt_perfctr_two_slots(&dev);
	struct drm_perfctr_open open = igt_raw_params(&s);
	uint8_t got[64], expected[64] = { 0 };

	igt_assert_eq(igt_perfctr_session_check(&s), 0);
	memcpy(expected, &s.layout, sizeof(s.layout));
	open.layout = (uintptr_t)got;
	for (uint32_t bytes = 0; bytes < sizeof(got); bytes += 4) {
		for (uint32_t flags = 0; flags <= DRM_PERFCTR_OPEN_CHECK; flags++) {
			int fd;

			memset(got, 0xa5, sizeof(got));
			open.flags = flags;
			open.layout_size = bytes;
			fd = igt_raw_open(&dev, &open, sizeof(open));
			igt_assert_lte(0, fd);
			igt_assert(!memcmp(got, expected, bytes));
			for (uint32_t at = bytes; at < sizeof(got); at++)
				igt_assert_eq(got[at], 0xa5);
			if (!flags)
				close(fd);
		}
	}
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

/* missing members are zero */
static void size_short(void)
{
	uint64_t user_data = 4711;

	igt_assert_eq(sized(DRM_PERFCTR_IOCTL_START, NULL, 0), 0);
	igt_assert_eq(sized(DRM_PERFCTR_IOCTL_SAMPLE, &user_data, sizeof(user_data)), 0);
	igt_perfctr_drain(&good);
	igt_assert_eq_u64(good.last.user_data, 4711);
	/* half of user_data */
	igt_assert_eq(sized(DRM_PERFCTR_IOCTL_STOP, &user_data, 4), 0);
	igt_perfctr_drain(&good);
	igt_assert_eq_u64(good.last.user_data, 4711);
}

static void size_huge(void)
{
	static uint64_t zeroes[16000 / 8];

	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
		igt_assert_eq(sized(commands[i], zeroes, sizeof(zeroes)), -E2BIG);
		igt_assert_eq(sized(commands[i], zeroes, IGT_RAW_STRUCT_BYTES_MAX + 1), -E2BIG);
		/* without reading it */
		igt_assert_eq(sized(commands[i], (void *)8, IGT_RAW_STRUCT_BYTES_MAX + 1), -E2BIG);
	}
	/* the longest size that is accepted; the session is not active */
	igt_assert_eq(sized(DRM_PERFCTR_IOCTL_STOP, zeroes, IGT_RAW_STRUCT_BYTES_MAX), -EALREADY);
}

static void growth_tests(void)
{
	/* Covers: How structures grow */
	igt_describe("a longer command is accepted if the rest is zero");
	igt_subtest("growth-zero-tail") growth_zero_tail();
	/* Covers: command -E2BIG */
	igt_describe("a longer command with a nonzero rest is -E2BIG and has no effect");
	igt_subtest("growth-tail") growth_tail();
	/* Covers: How structures grow */
	igt_describe("OPEN in any size: what is missing is zero, what is behind has no effect");
	igt_subtest("growth-open") growth_open();
	/* Covers: How structures grow, DRM_PERFCTR_IOCTL_STATUS */
	igt_describe("STATUS cuts its structure, or fills it with zeroes, to the caller's size");
	igt_subtest("growth-status") growth_status();
	/* Covers: DRM_PERFCTR_IOCTL_LAYOUT, drm_perfctr_layout */
	igt_describe("the same for LAYOUT, of a session and of a reader");
	igt_subtest("growth-layout") growth_layout();
	igt_describe("the same for the layout that OPEN writes, with and without CHECK");
	igt_subtest("growth-open-layout") growth_open_layout();
	/* Covers: open -E2BIG */
	igt_describe("longer requests are accepted with zero tails, else -E2BIG");
	igt_subtest("growth-requests") growth_requests();
	igt_describe("a shorter command is extended with zeroes");
	igt_subtest("size-short") size_short();
	igt_describe("a size above 4096 bytes is rejected without reading it, zero or not");
	igt_subtest("size-huge") size_huge();
}

static void command_unknown(void)
{
	static const unsigned long unknown[] = {
		_IO(DRM_IOCTL_BASE, 0xe6),
		_IO(DRM_IOCTL_BASE, 0xdf),
		/* the right number, another direction or type */
		_IOWR(DRM_IOCTL_BASE, 0xe0, struct drm_perfctr_command),
		_IOW(DRM_IOCTL_BASE, 0xe3, struct drm_perfctr_status),
		_IOW('e', 0xe0, struct drm_perfctr_command),
		DRM_IOCTL_VERSION,
	};
	uint64_t words[32] = { 0 };

	for (unsigned int i = 0; i < ARRAY_SIZE(unknown); i++)
		igt_assert_eq(igt_perfctr_ioctl(good.fd, unknown[i], words), -ENOTTY);
	igt_assert_eq(igt_perfctr_ioctl(good.fd, DRM_PERFCTR_IOCTL_QUERY(dev.ioctl_nr), words),
		      -ENOTTY);
	igt_assert_eq(igt_perfctr_ioctl(good.fd, DRM_PERFCTR_IOCTL_OPEN(dev.ioctl_nr), words),
		      -ENOTTY);
	igt_assert_eq_u32(igt_perfctr_status(&good).flags, 0);
}

/* the device's file has none of the session's ioctls */
static void command_of_device(void)
{
	struct drm_perfctr_command arg = { 0 };

	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++)
		igt_assert_lt(igt_perfctr_ioctl(dev.fd, commands[i], &arg), 0);
	igt_assert_lt(igt_perfctr_ioctl(dev.fd, DRM_PERFCTR_IOCTL_READER, NULL), 0);
}

static void command_bad_pointer(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++)
		igt_assert_eq(igt_perfctr_ioctl(good.fd, commands[i], (void *)8), -EFAULT);
	igt_assert_eq(igt_perfctr_ioctl(good.fd, DRM_PERFCTR_IOCTL_STATUS, (void *)8), -EFAULT);
	igt_assert_eq(igt_perfctr_ioctl(good.fd, DRM_PERFCTR_IOCTL_LAYOUT, (void *)8), -EFAULT);
	igt_assert_eq(igt_raw_open(&dev, (void *)8, sizeof(struct drm_perfctr_open)), -EFAULT);
}

/* stopped or active, nothing happens */
static void command_reserved(void)
{
	struct drm_perfctr_command bad[] = { { .flags = 1 }, { .flags = 1u << 31 }, { .pad = 1 } };

	for (unsigned int active = 0; active < 2; active++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(bad) * ARRAY_SIZE(commands); i++)
			igt_assert_eq(igt_perfctr_ioctl(good.fd, commands[i % ARRAY_SIZE(commands)],
							&bad[i / ARRAY_SIZE(commands)]),
				      -EINVAL);
		igt_assert_eq_u32(igt_perfctr_status(&good).flags,
				  active ? DRM_PERFCTR_STATUS_ACTIVE : 0);
		if (!active)
			igt_assert_eq(igt_perfctr_start(&good, 0), 0);
	}
	igt_perfctr_finish(&good);
}

static void reader_argument(void)
{
	for (uintptr_t arg = 1; arg; arg <<= 1)
		igt_assert_eq(igt_perfctr_ioctl(good.fd, DRM_PERFCTR_IOCTL_READER, (void *)arg),
			      -EINVAL);
	igt_assert_eq_u32(igt_perfctr_status(&good).readers, 2);
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

static void descriptors(void)
{
	struct igt_perfctr_session a = igt_perfctr_two_slots(&dev), b = igt_perfctr_two_slots(&dev);

	igt_assert_eq(igt_perfctr_session_try_bare(&a), 0);
	igt_assert_eq(igt_perfctr_session_try_bare(&b), 0);
	igt_assert(a.fd > 2 && b.fd > 2 && a.fd != b.fd);
	igt_assert_eq(fcntl(a.fd, F_GETFD), FD_CLOEXEC);
	igt_assert_eq(fcntl(a.fd, F_GETFL) & O_ACCMODE, O_RDWR);
	igt_perfctr_session_close(&a);
	igt_assert_eq(igt_perfctr_start(&b, 0), 0);
	igt_perfctr_session_close(&b);
}

static void ioctl_numbers(void)
{
	char text[IGT_FDINFO_BYTES], expected[32];
	const char *line;
	int version;

	igt_read_fdinfo(dev.fd, text);
	line = strstr(text, "\ndrm-perfctr:\t");
	igt_assert_f(line && sscanf(line, "\ndrm-perfctr:\t%d", &version) == 1,
		     "no line of the ioctls in:\n%s", text);
	igt_assert_lte(4, version);
	snprintf(expected, sizeof(expected), "%d ioctls 0x%x\n", version, dev.ioctl_nr);
	igt_assert(!strncmp(strchr(line, '\t') + 1, expected, strlen(expected)));
	/* DRM's own, or among the drivers' */
	if (dev.ioctl_nr == DRM_QUERY_NR)
		return;
	igt_assert_lte(DRM_COMMAND_BASE, dev.ioctl_nr);
	igt_assert_lt(dev.ioctl_nr + 1, DRM_COMMAND_END);
}

static void command_tests(void)
{
	/* Covers: DRM_PERFCTR_IOCTL_QUERY, Numbers of the device's ioctls */
	igt_describe("fdinfo of the device's file has the version and the numbers of its ioctls");
	igt_subtest("ioctl-numbers") ioctl_numbers();
	/* Covers: command -ENOTTY */
	igt_describe("an unknown ioctl of a session is -ENOTTY");
	igt_subtest("command-unknown") command_unknown();
	igt_describe("the device's file has none of the session's ioctls");
	igt_subtest("command-of-device") command_of_device();
	/* Covers: command -EFAULT, status -EFAULT */
	igt_describe("a structure that cannot be read or written is -EFAULT");
	igt_subtest("command-bad-pointer") command_bad_pointer();
	/* Covers: command -EINVAL */
	igt_describe("flags and pad of a command must be zero, else it has no effect");
	igt_subtest("command-reserved") command_reserved();
	/* Covers: DRM_PERFCTR_IOCTL_READER */
	igt_describe("the argument of READER must be zero");
	igt_subtest("reader-argument") reader_argument();
	/* Covers: command -EALREADY */
	igt_describe("START of an active session is -EALREADY");
	igt_subtest("start-active") start_active();
	/* Covers: command -EALREADY */
	igt_describe("STOP of a session that is not active is -EALREADY");
	igt_subtest("stop-stopped") igt_assert_eq(igt_perfctr_stop(&good, 0), -EALREADY);
	/* Covers: command -ENOTCONN */
	igt_describe("SAMPLE of a session that is not active is -ENOTCONN");
	igt_subtest("sample-stopped") igt_assert_eq(igt_perfctr_sample(&good, 0), -ENOTCONN);
	/* Covers: command -ENOSPC */
	igt_describe("START is -ENOSPC while no slot is free for the final sample");
	igt_subtest("start-full") start_full();
	igt_describe("descriptors of sessions differ and are close-on-exec");
	igt_subtest("descriptors") descriptors();
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
