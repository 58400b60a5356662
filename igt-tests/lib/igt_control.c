// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"

/* type of the information about counters in panthor's DEV_QUERY */
#define PERF_INFO ((1u << 30) - 2)

struct control {
	uint32_t cmd, handle;
	uint64_t size, pointer;
};

struct dev_query {
	uint32_t type, size;
	uint64_t pointer;
};

struct bo_create {
	uint64_t size;
	uint32_t flags, vm, handle, pad;
};

struct bo_mmap_offset {
	uint32_t handle, pad;
	uint64_t offset;
};

#define PERF_CONTROL _IOWR('d', 0x9e, struct control)
#define DEV_QUERY _IOWR('d', 0x40, struct dev_query)
#define BO_CREATE _IOWR('d', 0x45, struct bo_create)
#define BO_MMAP_OFFSET _IOWR('d', 0x46, struct bo_mmap_offset)

_Static_assert(sizeof(struct control) == 24, "control");
_Static_assert(sizeof(struct igt_control_info) == 48, "info");
_Static_assert(sizeof(struct igt_control_setup) == 136, "setup");
_Static_assert(sizeof(struct igt_control_sample) == 64, "sample header");
_Static_assert(sizeof(struct igt_control_block) == 24, "block header");

/* size of the class that the client tears down */
#define CLIENT_CLASS_BYTES 48
/* counters 0..3 are header words of the hardware's samples: no client asks for them */
#define NO_COUNTERS 0xfull

/* --- what differs between the nodes -------------------------------------- */

int igt_control_query(const struct igt_perfctr_device *dev, void *info, uint32_t *bytes)
{
	struct dev_query query = { .type = PERF_INFO, .size = *bytes, .pointer = (uintptr_t)info };
	int ret;

	if (dev->known && dev->known->control_query)
		return dev->known->control_query(dev, info, bytes);
	/* the numbers below are others in other drivers */
	if (strcmp(dev->driver, "panthor"))
		return -EOPNOTSUPP;
	ret = igt_perfctr_ioctl(dev->fd, DEV_QUERY, &query);
	*bytes = query.size;
	return ret;
}

static int create_buffer(const struct igt_perfctr_device *dev, int fd, uint64_t bytes,
			 struct igt_control_buffer *buffer, uint64_t *offset)
{
	struct bo_create bo = { .size = bytes };
	struct bo_mmap_offset map = { 0 };
	int ret;

	*buffer = (struct igt_control_buffer){ .bytes = bytes };
	if (dev->known && dev->known->create_buffer)
		return dev->known->create_buffer(fd, &buffer->bytes, &buffer->handle, offset);
	ret = igt_perfctr_ioctl(fd, BO_CREATE, &bo);
	*buffer = (struct igt_control_buffer){ .handle = bo.handle, .bytes = bo.size };
	map.handle = bo.handle;
	if (!ret)
		ret = igt_perfctr_ioctl(fd, BO_MMAP_OFFSET, &map);
	*offset = map.offset;
	return ret;
}

/* --- buffers and set-up -------------------------------------------------- */

int igt_control_buffer_create(const struct igt_perfctr_device *dev, int fd, uint64_t bytes,
			      int prot, struct igt_control_buffer *buffer)
{
	uint64_t offset;
	void *at;
	int ret;

	ret = create_buffer(dev, fd, bytes, buffer, &offset);
	if (ret)
		return ret;
	at = mmap(NULL, buffer->bytes, prot, MAP_SHARED, fd, offset);
	if (at == MAP_FAILED)
		return -errno;
	buffer->at = at;
	return 0;
}

void igt_control_buffer_close(int fd, struct igt_control_buffer *buffer)
{
	struct drm_gem_close close = { .handle = buffer->handle };

	if (buffer->at)
		munmap(buffer->at, buffer->bytes);
	if (buffer->handle)
		ioctl(fd, DRM_IOCTL_GEM_CLOSE, &close);
	*buffer = (struct igt_control_buffer){ 0 };
}

void igt_control_info(const struct igt_perfctr_device *dev, struct igt_control_info *info)
{
	uint32_t bytes = 0, blocks = 0;
	int ret;

	memset(info, 0, sizeof(*info));
	ret = igt_control_query(dev, NULL, &bytes);
	igt_require_f(!ret, "%s has no PERF_CONTROL: %s\n", dev->driver, strerror(-ret));
	igt_assert_eq_u32(bytes, sizeof(*info));
	igt_assert_eq(igt_control_query(dev, info, &bytes), 0);
	for (unsigned int i = 0; i < IGT_CONTROL_TYPES; i++) {
		igt_assert_lte(info->blocks[i], IGT_CONTROL_MAX_BLOCKS);
		blocks += info->blocks[i];
	}
	/* otherwise the client does not try SETUP */
	igt_assert_eq_u32(info->sample_size,
			  info->sample_header + blocks * (info->block_header + 8 * info->counters));
}

void igt_control_init(struct igt_control *c, const struct igt_perfctr_device *dev, uint32_t slots,
		      uint64_t period_ns)
{
	memset(c, 0, sizeof(*c));
	c->dev = dev;
	c->fd = dev->fd;
	igt_control_info(dev, &c->info);
	c->eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK);
	igt_assert_lte(0, c->eventfd);
	c->user_eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK);
	igt_assert_lte(0, c->user_eventfd);
	igt_assert_eq(igt_control_buffer_create(dev, c->fd, (uint64_t)c->info.sample_size * slots,
						PROT_READ, &c->ring),
		      0);
	igt_assert_eq(igt_control_buffer_create(dev, c->fd, 2 * sizeof(*c->indices),
						PROT_READ | PROT_WRITE, &c->control),
		      0);
	c->setup = (struct igt_control_setup){
		.eventfd = c->eventfd,
		.ring = c->ring.handle,
		.control = c->control.handle,
		.slots = slots,
		.period_ns = period_ns,
	};
	for (unsigned int i = 0; i < IGT_CONTROL_TYPES; i++) {
		c->setup.masks[i][0] = ~NO_COUNTERS;
		c->setup.masks[i][1] = c->info.counters > 64 ? ~0ull : 0;
	}
}

int igt_control_call(int fd, uint32_t cmd, uint32_t id, uint64_t size, const void *pointer)
{
	struct control control = {
		.cmd = cmd, .handle = id, .size = size, .pointer = (uintptr_t)pointer
	};

	return igt_perfctr_ioctl(fd, PERF_CONTROL, &control);
}

int igt_control_setup(struct igt_control *c)
{
	int ret = igt_control_call(c->fd, IGT_CONTROL_SETUP, 0, sizeof(c->setup), &c->setup);

	if (ret <= 0)
		return ret;
	c->id = ret;
	c->indices = (volatile uint64_t *)(c->control.at + c->setup.control_offset);
	return ret;
}

int igt_control_command(const struct igt_control *c, enum igt_control_cmd cmd, uint64_t user_data)
{
	return igt_control_call(c->fd, cmd, c->id, sizeof(user_data), &user_data);
}

int igt_control_teardown(struct igt_control *c)
{
	int id = c->id;

	c->id = 0;
	return igt_control_call(c->fd, IGT_CONTROL_TEARDOWN, id, CLIENT_CLASS_BYTES, NULL);
}

void igt_control_open(struct igt_control *c, const struct igt_perfctr_device *dev, uint32_t slots,
		      uint64_t period_ns)
{
	igt_control_init(c, dev, slots, period_ns);
	igt_assert_lt(0, igt_control_setup(c));
	igt_assert_eq_u64(c->indices[0], 0);
	igt_assert_eq_u64(c->indices[1], 0);
}

void igt_control_close(struct igt_control *c)
{
	if (c->id)
		igt_assert_eq(igt_control_teardown(c), 0);
	igt_control_buffer_close(c->fd, &c->ring);
	igt_control_buffer_close(c->fd, &c->control);
	close(c->eventfd);
	close(c->user_eventfd);
}

/* --- samples ------------------------------------------------------------- */

bool igt_control_ready(const struct igt_control *c, int ms)
{
	struct pollfd p[] = { { .fd = c->eventfd, .events = POLLIN },
			      { .fd = c->user_eventfd, .events = POLLIN } };
	int ret;

	do {
		ret = poll(p, ARRAY_SIZE(p), ms);
	} while (ret < 0 && errno == EINTR);
	return ret > 0;
}

/* a semaphore's read takes one */
static bool take_signal(const struct igt_control *c)
{
	eventfd_t one;

	return !eventfd_read(c->user_eventfd, &one) || !eventfd_read(c->eventfd, &one);
}

void igt_control_await(struct igt_control *c)
{
	struct pollfd p = { .fd = c->eventfd, .events = POLLIN };
	eventfd_t one;

	while (poll(&p, 1, -1) < 0)
		igt_assert_eq(errno, EINTR);
	igt_assert_eq(eventfd_read(c->eventfd, &one), 0);
	igt_assert_eq(eventfd_write(c->user_eventfd, 1), 0);
}

unsigned int igt_control_signals(const struct igt_control *c)
{
	unsigned int signals = 0;

	while (take_signal(c))
		signals++;
	return signals;
}

static void add_block(struct igt_control *c, const struct igt_control_block *b,
		      const uint64_t *counters)
{
	const unsigned int type = b->type - 1u;

	igt_assert_lt(type, IGT_CONTROL_TYPES);
	igt_assert_lt(b->index, c->info.blocks[type]);
	c->states |= b->states;
	for (unsigned int i = 0; i < c->info.counters; i++) {
		if (!(b->enable[i / 64] >> i % 64 & 1))
			igt_assert_eq_u64(counters[i], 0);
		c->sums[type][b->index][i] += counters[i];
	}
	igt_assert_eq_u64(b->enable[0] & ~c->setup.masks[type][0], 0);
	igt_assert_eq_u64(b->enable[1] & ~c->setup.masks[type][1], 0);
}

/* all blocks of the device are in each sample, each type's in the order of their numbers */
static void add_sample(struct igt_control *c, const uint8_t *at)
{
	const struct igt_control_sample *s = (const void *)at;
	unsigned int next[IGT_CONTROL_TYPES] = { 0 }, blocks = 0;

	if (c->samples)
		igt_assert_eq_u64(s->start_ns, c->last.end_ns);
	else
		c->first = *s;
	igt_assert_lte_u64(s->start_ns, s->end_ns);
	igt_assert_eq(s->set, c->setup.set);
	igt_assert_eq_u32(s->flags & ~(IGT_CONTROL_OVERFLOW | IGT_CONTROL_STRETCHED), 0);
	c->last = *s;
	c->samples++;
	c->flagged += !!(s->flags & IGT_CONTROL_OVERFLOW);
	c->stretched += !!(s->flags & IGT_CONTROL_STRETCHED);
	for (unsigned int i = 0; i < 4; i++)
		c->cycles[i] += s->cycles[i];
	for (unsigned int i = 0; i < IGT_CONTROL_TYPES; i++)
		blocks += c->info.blocks[i];
	at += c->info.sample_header;
	while (blocks--) {
		const struct igt_control_block *b = (const void *)at;

		add_block(c, b, (const void *)(at + c->info.block_header));
		igt_assert_eq(b->index, next[b->type - 1]++);
		at += c->info.block_header + 8 * c->info.counters;
	}
}

void igt_control_get(struct igt_control *c)
{
	const uint64_t extract = c->indices[0];
	const uint64_t insert = c->indices[1];

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	igt_assert_f(extract != insert, "signalled without a sample, after %llu\n",
		     (unsigned long long)extract);
	igt_assert_lte_u64(insert - extract, c->setup.slots);
	add_sample(c, c->ring.at + extract % c->setup.slots * c->info.sample_size);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	c->indices[0] = extract + 1;
	igt_assert_f(take_signal(c), "sample %llu has no signal\n", (unsigned long long)extract);
}

unsigned int igt_control_drain(struct igt_control *c)
{
	unsigned int samples;

	for (samples = 0; igt_control_ready(c, 0); samples++)
		igt_control_get(c);
	return samples;
}

/* all up to the last one, which is of the command that was given */
static void read_last(struct igt_control *c, uint64_t user_data)
{
	if (!c->setup.period_ns)
		igt_control_await(c);
	do {
		igt_assert(igt_control_ready(c, -1));
		igt_control_get(c);
	} while (c->indices[0] != c->indices[1]);
	igt_assert_eq_u64(c->last.user_data, user_data);
}

void igt_control_sample(struct igt_control *c, uint64_t user_data)
{
	igt_assert_eq(igt_control_command(c, IGT_CONTROL_SAMPLE, user_data), 0);
	read_last(c, user_data);
}

void igt_control_stop(struct igt_control *c, uint64_t user_data)
{
	igt_assert_eq(igt_control_command(c, IGT_CONTROL_STOP, user_data), 0);
	read_last(c, user_data);
}

uint16_t igt_control_physical(const struct igt_perfctr_device *dev, unsigned int type,
			      unsigned int index)
{
	for (unsigned int i = 0; i < dev->block_count; i++)
		if (dev->blocks[i].type == type && !index--)
			return dev->blocks[i].index;
	igt_assert_f(false, "no block %u of type %u\n", index, type);
	return 0;
}

void igt_control_compare(const struct igt_control *c, const struct igt_truth *before,
			 const struct igt_truth *after)
{
	unsigned int compared = 0;

	if (!c->dev->known)
		return;
	igt_assert_eq(before->count, after->count);
	for (unsigned int type = 0; type < IGT_CONTROL_TYPES; type++)
		for (unsigned int b = 0; b < c->info.blocks[type]; b++) {
			uint16_t index = igt_control_physical(c->dev, type + 1, b);

			for (unsigned int i = 0; i < after->count; i++) {
				unsigned int n = after->at[i].counter;
				uint64_t truth = after->at[i].value - before->at[i].value;

				if (after->at[i].type != type + 1 || after->at[i].index != index)
					continue;
				if (!(c->setup.masks[type][n / 64] >> n % 64 & 1))
					truth = 0;
				igt_assert_f(c->sums[type][b][n] == truth,
					     "block %u:%u counter %u: %llu measured, %llu true\n",
					     type + 1, index, n,
					     (unsigned long long)c->sums[type][b][n],
					     (unsigned long long)truth);
				compared++;
			}
		}
	igt_assert_lt(0, compared);
}
