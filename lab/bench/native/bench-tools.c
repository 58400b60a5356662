// SPDX-License-Identifier: MIT
/*
 * usage: perfctr-bench-tools serve SOCKET
 *        perfctr-bench-tools read SOCKET EVENTS
 *
 * serve: a broker with a GPU of 8 shader cores, so that commands count without a kernel. For each
 * line of the standard input it publishes a sample, waits until a reader took it, and prints a
 * line. The blocks count in whatever is requested; all samples are a period long.
 *
 * read: the plain loop that the commands are compared with: reads every counter of each sample,
 * and prints a line.
 */
#include <drm/perfctr_mali.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <perfctr/broker.h>
#include <perfctr/perfctr.h>

#include "bench.h"
#include "samples.h"

#define PRODUCT DRM_PERFCTR_MALI_PRODUCT_V10
#define FIRST_NS UINT64_C(1000000000000)

enum {
	SHADERS = 8,
	MEMSYS = 2,
	BLOCKS = 1 + 1 + MEMSYS + SHADERS,
	RING_OFFSET = 4096,
	HANDLE = 1,
};

struct message {
	struct perfctr_broker_header header;
	unsigned char content[PERFCTR_BROKER_MAX_BYTES - sizeof(struct perfctr_broker_header)];
};

struct server {
	int fd; /* the client */
	struct message message;
	struct drm_perfctr_block_info blocks[BLOCKS];
	struct drm_perfctr_open open; /* of the session that counts */
	struct drm_perfctr_layout layout;
	int ring_fd, eventfd;
	unsigned char *ring; /* the control area, then the slots */
	struct sample_writer sample;
	uint64_t published;
};

static int failed(const char *what)
{
	fprintf(stderr, "perfctr-bench-tools: %s: %s\n", what, strerror(errno));
	return 1;
}

/* --- the device ----------------------------------------------------------------------- */

static void describe_block(struct drm_perfctr_block_info *b, unsigned int type, unsigned int index)
{
	const struct perfctr_counter_desc *c = NULL;

	*b = (struct drm_perfctr_block_info){ .type = (uint16_t)type,
					      .index = (uint16_t)index,
					      .counters = 256,
					      .product = PRODUCT,
					      .sets = 1 };
	while ((c = perfctr_counter_next(c)))
		if (c->product == PRODUCT && c->block_type == type)
			b->available[c->position / DRM_PERFCTR_SECTION_COUNTERS] |=
				UINT64_C(1) << c->position % DRM_PERFCTR_SECTION_COUNTERS;
}

static void describe_device(struct server *s)
{
	struct drm_perfctr_block_info *b = s->blocks;

	describe_block(b++, DRM_PERFCTR_MALI_BLOCK_CSHW, 0);
	describe_block(b++, DRM_PERFCTR_MALI_BLOCK_TILER, 0);
	for (unsigned int n = 0; n < MEMSYS; n++)
		describe_block(b++, DRM_PERFCTR_MALI_BLOCK_MEMSYS, n);
	for (unsigned int n = 0; n < SHADERS; n++)
		describe_block(b++, DRM_PERFCTR_MALI_BLOCK_SHADER, n);
}

/* --- samples -------------------------------------------------------------------------- */

/* Add the blocks that a request selects. Return: 0; -E2BIG the sample has no room for them. */
static int add_request(struct server *s, const struct drm_perfctr_block_request *r)
{
	uint64_t values[DRM_PERFCTR_SECTION_COUNTERS];

	for (unsigned int n = 0; n < BLOCKS; n++) {
		const struct drm_perfctr_block_info *b = &s->blocks[n];
		struct drm_perfctr_block_header *header;

		if (b->type != r->type ||
		    (r->index != DRM_PERFCTR_INDEX_ALL && r->index != b->index))
			continue;
		if (s->sample.size + sizeof(*header) + sizeof(values) > sizeof(s->sample.bytes))
			return -E2BIG;
		for (unsigned int i = 0; i < DRM_PERFCTR_SECTION_COUNTERS; i++)
			values[i] = 1000 * n + i;
		header = sample_add_block(&s->sample, b->type, b->index, r->mask, values);
		header->section = (uint8_t)r->section;
		header->product = PRODUCT;
		header->clock_cycles = 1000000;
	}
	return 0;
}

static int lay_out(struct server *s, const struct drm_perfctr_open *open,
		   struct drm_perfctr_layout *layout, const unsigned char *requests)
{
	int error = 0;

	sample_begin(&s->sample);
	for (uint32_t n = 0; !error && n < open->request_count; n++) {
		struct drm_perfctr_block_request r;

		memcpy(&r, requests + (size_t)n * open->request_stride, sizeof(r));
		error = add_request(s, &r);
	}
	if (error)
		return error;
	*layout = (struct drm_perfctr_layout){
		.slots = open->slots,
		.slot_stride = ((uint32_t)s->sample.size + 63) / 64 * 64,
		.sample_size = (uint32_t)s->sample.size,
		.block_count = sample_header(&s->sample)->block_count,
		.ring_offset = RING_OFFSET,
	};
	layout->map_bytes = RING_OFFSET + (layout->slots * layout->slot_stride + RING_OFFSET - 1) /
						  RING_OFFSET * RING_OFFSET;
	return layout->block_count ? 0 : -ENXIO;
}

static struct drm_perfctr_ring_control *control(const struct server *s)
{
	return (struct drm_perfctr_ring_control *)s->ring;
}

static uint32_t insert_idx(const struct server *s)
{
	return DRM_PERFCTR_RING_FIRST + (uint32_t)s->published;
}

/* As the kernel does, see cursor.c; signals the reader. */
static int publish(struct server *s)
{
	const uint64_t period_ns = s->open.period_ns ? s->open.period_ns : 1000000000;
	struct drm_perfctr_sample_header *header = sample_header(&s->sample);
	unsigned char *slot = s->ring + RING_OFFSET +
			      (insert_idx(s) & (s->layout.slots - 1)) * s->layout.slot_stride;

	header->seq = s->published;
	header->start_ns = FIRST_NS + s->published * period_ns;
	header->end_ns = header->start_ns + period_ns;
	header->flags = DRM_PERFCTR_SAMPLE_PERIODIC;
	memcpy(slot, s->sample.bytes, s->sample.size);
	++s->published;
	__atomic_store_n(&control(s)->insert_idx, insert_idx(s), __ATOMIC_RELEASE);
	return write(s->eventfd, &(uint64_t){ 1 }, 8) == 8 ? 0 : failed("eventfd");
}

/* --- the broker's protocol --------------------------------------------------------------- */

static int make_ring(struct server *s)
{
	const size_t bytes = s->layout.map_bytes;

	s->ring_fd = memfd_create("ring", MFD_CLOEXEC);
	s->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->ring_fd < 0 || s->eventfd < 0 || ftruncate(s->ring_fd, (off_t)bytes))
		return -errno;
	s->ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->ring_fd, 0);
	if (s->ring == MAP_FAILED)
		return -errno;
	control(s)->insert_idx = control(s)->extract_idx = DRM_PERFCTR_RING_FIRST;
	return 0;
}

static int open_session(struct server *s, bool *files)
{
	struct drm_perfctr_layout layout;
	struct drm_perfctr_open open;
	int error;

	memcpy(&open, s->message.content, sizeof(open));
	error = lay_out(s, &open, &layout, s->message.content + sizeof(open));
	*files = !error && !(open.flags & DRM_PERFCTR_OPEN_CHECK);
	if (*files) {
		s->open = open;
		s->layout = layout;
		error = make_ring(s);
		s->message.header.handle = HANDLE;
	}
	memcpy(s->message.content, &layout, sizeof(layout));
	return error;
}

static size_t answer_query(struct server *s)
{
	const struct drm_perfctr_device_info info = {
		.features = DRM_PERFCTR_FEATURE_PERIODIC,
		.sample_header_size = sizeof(struct drm_perfctr_sample_header),
		.block_header_size = sizeof(struct drm_perfctr_block_header),
		.ring_control_size = sizeof(struct drm_perfctr_ring_control),
		.block_count = BLOCKS,
		.sets = 1,
		.max_slots = 65536,
		.max_sessions_per_file = 1,
		.max_requests = 256,
		.product = PRODUCT,
		.min_period_ns = 1000,
		.max_period_ns = UINT64_C(3600000000000),
		.max_ring_bytes = 64 << 20,
		.name = "a bench",
	};
	const struct {
		const void *elements;
		uint32_t stride, count;
	} answers[] = {
		[DRM_PERFCTR_QUERY_DEVICE] = { &info, sizeof(info), 1 },
		[DRM_PERFCTR_QUERY_BLOCKS] = { s->blocks, sizeof(*s->blocks), BLOCKS },
		[DRM_PERFCTR_QUERY_CLOCKS] = { NULL, sizeof(struct drm_perfctr_clock_info), 0 },
	};
	struct perfctr_broker_header *h = &s->message.header;
	const uint32_t type = h->code <= DRM_PERFCTR_QUERY_CLOCKS ? h->code : 2;

	h->count = h->count < answers[type].count ? h->count : answers[type].count;
	h->stride = answers[type].stride;
	h->first = answers[type].count;
	if (h->count)
		memcpy(s->message.content, answers[type].elements, (size_t)h->count * h->stride);
	return (size_t)h->count * h->stride;
}

static int reply(struct server *s, size_t bytes, bool files)
{
	union {
		char bytes[CMSG_SPACE(PERFCTR_BROKER_FILES * sizeof(int))];
		struct cmsghdr align;
	} room = { 0 };
	struct iovec part = { &s->message, sizeof(s->message.header) + bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	s->message.header.size = (uint32_t)part.iov_len;
	if (files) {
		const int fds[PERFCTR_BROKER_FILES] = { s->ring_fd, s->eventfd };
		struct cmsghdr *c;

		m.msg_control = room.bytes;
		m.msg_controllen = sizeof(room.bytes);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(c), fds, sizeof(fds));
	}
	return sendmsg(s->fd, &m, MSG_NOSIGNAL) < 0 ? failed("reply") : 0;
}

/* Return: 0; 1 at the end of the connection. */
static int answer(struct server *s)
{
	const struct perfctr_broker_opened opened = { .path = "/dev/dri/renderD128",
						      .driver = "panthor" };
	struct perfctr_broker_header *h = &s->message.header;
	ssize_t got = recv(s->fd, &s->message, sizeof(s->message), 0);
	size_t bytes = got > 0 ? (size_t)got - sizeof(*h) : 0;
	bool files = false;

	if (got < (ssize_t)sizeof(*h))
		return 1;
	if (h->type == PERFCTR_BROKER_OPEN) {
		memcpy(s->message.content, &opened, sizeof(opened));
		bytes = sizeof(opened);
	} else if (h->type == PERFCTR_BROKER_QUERY) {
		bytes = answer_query(s);
	} else if (h->type == PERFCTR_BROKER_SESSION) {
		h->error = open_session(s, &files);
		bytes = h->error ? 0 : sizeof(s->layout);
	} else {
		bytes = h->type == PERFCTR_BROKER_STATUS ? sizeof(struct drm_perfctr_status) : 0;
		memset(s->message.content, 0, bytes);
	}
	return reply(s, bytes, files);
}

static bool is_taken(const struct server *s)
{
	return __atomic_load_n(&control(s)->extract_idx, __ATOMIC_ACQUIRE) == insert_idx(s);
}

static int serve(const char *path)
{
	static struct server s;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool waits = false;
	char line;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1))
		return failed(path);
	describe_device(&s);
	if (puts("ready") < 0 || fflush(stdout))
		return failed("stdout");
	s.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (s.fd < 0)
		return failed("accept");
	while (true) {
		struct pollfd fds[] = {
			{ .fd = s.fd, .events = POLLIN },
			{ .fd = s.ring && !waits ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(fds, 2, waits ? 1 : -1) < 0)
			return failed("poll");
		if (fds[0].revents && answer(&s))
			return 0;
		if (fds[1].revents) {
			if (read(STDIN_FILENO, &line, 1) != 1)
				return 0;
			if (publish(&s))
				return 1;
			waits = true;
		}
		if (waits && is_taken(&s)) {
			waits = false;
			if (puts("taken") < 0 || fflush(stdout))
				return failed("stdout");
		}
	}
}

/* --- the plain loop ----------------------------------------------------------------------- */

static int read_samples(struct perfctr_session *session)
{
	struct perfctr_cursor *cursor;
	struct perfctr_sample sample;
	int result = perfctr_cursor_new(session, &cursor);

	if (!result)
		result = perfctr_session_start(session, 0);
	while (!result && (result = perfctr_cursor_wait(cursor, -1)) > 0) {
		struct perfctr_block block;
		uint64_t sum = 0;

		result = perfctr_cursor_next(cursor, &sample);
		while (result > 0 && perfctr_decode_block(&sample, &block) > 0)
			for (unsigned int n = 0; n < block.count; n++)
				sum += perfctr_block_value(&block, n);
		result = result > 0 ? perfctr_cursor_advance(cursor, 1) : result;
		printf("%llu\n", (unsigned long long)sum);
		fflush(stdout);
	}
	return result;
}

static int read_plainly(const char *socket, const char *events)
{
	const struct perfctr_session_opts opts = { .size = sizeof(opts), .period_ns = 1000000000 };
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_device *device;
	struct perfctr_ctx *ctx;
	int error = perfctr_ctx_new(&ctx);

	if (!error)
		error = perfctr_device_open_broker(ctx, socket, NULL, &device);
	if (!error)
		error = perfctr_selection_new(device, &selection);
	if (!error && perfctr_selection_add(selection, events) < 0)
		error = -EINVAL;
	if (!error)
		error = perfctr_session_new(selection, &opts, &session);
	if (!error)
		error = read_samples(session);
	errno = -error;
	return failed("read");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "read"))
		return read_plainly(argv[2], argv[3]);
	fputs("usage: perfctr-bench-tools serve SOCKET | read SOCKET EVENTS\n", stderr);
	return 2;
}
