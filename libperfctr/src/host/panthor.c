// SPDX-License-Identifier: MIT
/*
 * Counters of Mali GPUs with command streams through PERF_CONTROL, which Arm's libGPUCounters calls
 * too, where panthor has it and not the counter core's own interface.
 *
 * A session has two buffers of ours: a ring of samples, each with all blocks and positions, and a
 * page with the indices. The host asks for each sample (SAMPLE) and reads it at once, so the ring
 * is nearly empty; a driver may answer late, then the next collection has the counts. The driver
 * does not tell how much is missing in a sample that it marks: all of its time is reported as lost.
 *
 * Samples number a type's blocks without gaps. Positions, and indices of cores, are those of our
 * interface in the same driver, kernel/source/csf.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/drm_perfctr_control.h>
#include <drm/perfctr_mali.h>

#include "devfreq.h"
#include "host.h"
#include "kernel.h"
#include "session/panthor_ioctls.h"

#include "format/dense_layout.h"

#define NEEDS "CAP_PERFMON, which root and \"perfctr serve\" have"
#define OTHER_SET "another program counts in another counter set, and the GPU has one at a time"

#define CONTROL DRM_IOWR(DRM_COMMAND_BASE + DRM_PERFCTR_CONTROL_NR, struct drm_perfctr_control)

enum {
	TYPES = DRM_PERFCTR_CONTROL_TYPES,
	SECTIONS = DRM_PERFCTR_CONTROL_SECTIONS,
	/* as many as Arm's library has */
	SLOTS = 32,
	/* counters 0..3 are header words of the hardware's samples */
	HEADER_COUNTERS = 0xf,
	MAX_BLOCKS = 255, /* of a type: a block's number has 8 bits */
	ARCH_SHIFT = 28, /* of the GPU_ID */
	ARCH_DENSE = 14, /* from there on shader cores have numbers without gaps */
};

/* in which a sample comes unless something is wrong */
#define SAMPLE_NS NS_PER_S

static const struct {
	u16 type;
	u8 clock;
	/* which counters the other sets have is not public: every position may be one */
	u8 sets;
} kinds[TYPES] = {
	{ DRM_PERFCTR_MALI_BLOCK_FW, DRM_PERFCTR_MALI_CLOCK_TOP, 7 },
	{ DRM_PERFCTR_MALI_BLOCK_CSHW, DRM_PERFCTR_MALI_CLOCK_TOP, 7 },
	{ DRM_PERFCTR_MALI_BLOCK_TILER, DRM_PERFCTR_MALI_CLOCK_COREGROUP, 1 },
	{ DRM_PERFCTR_MALI_BLOCK_MEMSYS, DRM_PERFCTR_MALI_CLOCK_COREGROUP, 3 },
	{ DRM_PERFCTR_MALI_BLOCK_SHADER, DRM_PERFCTR_MALI_CLOCK_SHADER, 7 },
	{ DRM_PERFCTR_MALI_BLOCK_NEURAL, DRM_PERFCTR_MALI_CLOCK_TOP, 1 },
};

static const char *const clock_names[] = {
	[DRM_PERFCTR_MALI_CLOCK_TOP] = "core",
	[DRM_PERFCTR_MALI_CLOCK_COREGROUP] = "coregroup",
	[DRM_PERFCTR_MALI_CLOCK_SHADER] = "stacks",
};

/* a buffer of the driver */
struct buffer {
	u32 handle; /* 0: none */
	void *at; /* NULL: not mapped */
	size_t bytes;
};

struct panthor {
	struct host_source hs;
	char name[32];
	struct host_devfreq devfreq;
	struct drm_perfctr_clock_desc clocks[ARRAY_SIZE(clock_names)];
	struct drm_perfctr_control_info info;
	struct drm_perfctr_block_desc *descs;
	unsigned int first[TYPES]; /* block of each type */

	u32 session; /* 0: none */
	int eventfd; /* of the session */
	struct buffer ring, indices;
	u64 requests; /* number of the last SAMPLE */
	struct seen *seen; /* of each block, in this collection */
};

struct seen {
	u32 states;
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

static struct panthor *panthor_of(struct drm_perfctr_source *source)
{
	return (struct panthor *)host_source_of(source);
}

/* --- the driver ------------------------------------------------------------------- */

static int call(const struct host *host, unsigned long request, void *argument)
{
	return host->ctx->sys->ioctl(host->ctx->sys->data, host->fd, request, argument);
}

/* Return: the command's result; a negative errno. */
static int control(const struct panthor *p, u32 cmd, void *argument, size_t size)
{
	struct drm_perfctr_control c = {
		.cmd = cmd, .handle = p->session, .size = size, .pointer = (uintptr_t)argument
	};

	return call(p->hs.host, CONTROL, &c);
}

static int query(const struct host *host, u32 type, void *answer, size_t size)
{
	struct panthor_dev_query q = { .type = type,
				       .size = (u32)size,
				       .pointer = (uintptr_t)answer };

	return call(host, PANTHOR_DEV_QUERY, &q);
}

static void free_buffer(const struct panthor *p, struct buffer *buffer)
{
	const struct perfctr_sys *sys = p->hs.host->ctx->sys;
	struct drm_gem_close argument = { .handle = buffer->handle };

	if (buffer->at)
		sys->munmap(sys->data, buffer->at, buffer->bytes);
	if (buffer->handle)
		call(p->hs.host, DRM_IOCTL_GEM_CLOSE, &argument);
	*buffer = (struct buffer){ .handle = 0 };
}

static int make_buffer(const struct panthor *p, struct buffer *buffer, size_t bytes, bool writable)
{
	const struct perfctr_sys *sys = p->hs.host->ctx->sys;
	struct panthor_bo_create create = { .size = bytes };
	struct panthor_bo_mmap_offset map = { 0 };
	int error = call(p->hs.host, PANTHOR_BO_CREATE, &create);

	if (error)
		return error;
	map.handle = buffer->handle = create.handle;
	buffer->bytes = bytes;
	error = call(p->hs.host, PANTHOR_BO_MMAP_OFFSET, &map);
	if (!error)
		error = sys->mmap(sys->data, p->hs.host->fd, map.offset, bytes, writable,
				  &buffer->at);
	return error;
}

/* --- a session -------------------------------------------------------------------- */

static void tear_down(struct panthor *p)
{
	const struct perfctr_sys *sys = p->hs.host->ctx->sys;

	if (p->session)
		control(p, DRM_PERFCTR_CONTROL_TEARDOWN, NULL, 0);
	p->session = 0;
	free_buffer(p, &p->ring);
	free_buffer(p, &p->indices);
	if (p->eventfd >= 0)
		sys->close(sys->data, p->eventfd);
	p->eventfd = -1;
}

static int make_session(struct panthor *p, u8 set)
{
	struct drm_perfctr_control_setup setup = {
		.set = set,
		.eventfd = (u32)p->eventfd,
		.ring = p->ring.handle,
		.control = p->indices.handle,
		.slots = SLOTS,
	};
	int result;

	for (unsigned int i = 0; i < TYPES; i++) {
		setup.masks[i][0] = ~(u64)HEADER_COUNTERS;
		setup.masks[i][1] = p->info.counters_per_block > DRM_PERFCTR_SECTION_COUNTERS ?
					    ~UINT64_C(0) :
					    0;
	}
	result = control(p, DRM_PERFCTR_CONTROL_SETUP, &setup, sizeof(setup));
	if (result <= 0)
		return result ? result : -EPROTO;
	p->session = (u32)result;
	return 0;
}

static int set_up(struct panthor *p, u8 set)
{
	const struct perfctr_sys *sys = p->hs.host->ctx->sys;
	int error;

	p->hs.why = NULL;
	p->eventfd = sys->eventfd(sys->data);
	error = p->eventfd < 0 ?
			p->eventfd :
			make_buffer(p, &p->ring, (size_t)p->info.sample_size * SLOTS, false);
	if (!error)
		error = make_buffer(p, &p->indices, sizeof(struct drm_perfctr_control_area), true);
	if (!error)
		error = make_session(p, set);
	if (error)
		tear_down(p);
	if (error == -EBUSY)
		p->hs.why = OTHER_SET;
	return error;
}

/* Permission is asked for by SETUP. */
static int panthor_prepare(struct drm_perfctr_source *source)
{
	struct panthor *p = panthor_of(source);
	int error = set_up(p, DRM_PERFCTR_SET_PRIMARY);

	if (!error)
		tear_down(p);
	return error;
}

static int panthor_start(struct drm_perfctr_source *source, u8 set)
{
	struct panthor *p = panthor_of(source);
	u64 user_data = 0;
	int error;

	tear_down(p);
	error = set_up(p, set);
	if (error)
		return error;
	p->requests = 0;
	error = control(p, DRM_PERFCTR_CONTROL_START, &user_data, sizeof(user_data));
	if (!error)
		return 0;
	tear_down(p);
	if (error == -EBUSY)
		p->hs.why = OTHER_SET;
	return error;
}

static void panthor_stop(struct drm_perfctr_source *source)
{
	struct panthor *p = panthor_of(source);
	u64 user_data = 0;

	control(p, DRM_PERFCTR_CONTROL_STOP, &user_data, sizeof(user_data));
	tear_down(p);
}

/* --- samples ---------------------------------------------------------------------- */

static void add_block(struct panthor *p, const struct perfctr_dense_header *header,
		      const u64 *counters, u32 states)
{
	const unsigned int type = header->type - 1u;
	struct seen *seen;
	u64 *totals;

	if (type >= TYPES || header->index >= p->info.blocks[type])
		return;
	totals = drm_perfctr_block_totals(&p->hs.source, p->first[type] + header->index);
	seen = &p->seen[p->first[type] + header->index];
	seen->states |= states | (header->states & PERFCTR_DENSE_STATES);
	for (unsigned int i = 0; i < p->info.counters_per_block / DRM_PERFCTR_SECTION_COUNTERS;
	     i++) {
		const u64 *values = counters + i * DRM_PERFCTR_SECTION_COUNTERS;

		for (u64 mask = header->enable_mask[i]; mask; mask &= mask - 1)
			totals[i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask)] +=
				values[__ffs64(mask)];
		seen->valid[i] |= header->enable_mask[i];
	}
}

/* Return: the user_data of the sample. */
static u64 add_sample(struct panthor *p, const char *at, struct drm_perfctr_collection *c)
{
	const struct perfctr_dense_sample *sample = (const void *)at;
	u32 states = 0;

	if (sample->flags & PERFCTR_DENSE_INCOMPLETE) {
		states = DRM_PERFCTR_STATE_LOST;
		c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
		c->lost_ns += sample->end_ns - min(sample->start_ns, sample->end_ns);
	}
	c->time_ns = sample->end_ns;
	for (unsigned int i = 0; i < DRM_PERFCTR_CONTROL_CLOCKS; i++)
		if (p->info.supported_clocks >> i & 1)
			c->clock_cycles[i] += sample->cycles[i];
	at += p->info.sample_header_size;
	for (unsigned int i = 0; i < p->hs.source.block_count; i++) {
		add_block(p, (const void *)at, (const void *)(at + p->info.block_header_size),
			  states);
		at += p->info.block_header_size + p->info.counters_per_block * sizeof(u64);
	}
	return sample->user_data;
}

/* Add the unread samples. Return: their number; @last: user_data of the last one. */
static unsigned int add_samples(struct panthor *p, struct drm_perfctr_collection *c, u64 *last)
{
	struct drm_perfctr_control_area *area = p->indices.at;
	const u64 insert = smp_load_acquire(&area->insert_idx);
	u64 extract = area->extract_idx;
	unsigned int samples = 0;

	/* more than there are slots would be a mistake of the driver */
	for (; extract != insert && samples < SLOTS; samples++) {
		*last = add_sample(
			p, (const char *)p->ring.at + extract % SLOTS * p->info.sample_size, c);
		smp_store_release(&area->extract_idx, ++extract);
	}
	return samples;
}

/* Add what comes up to the sample that was asked for. Return: 0; -ETIMEDOUT. */
static int await_sample(struct panthor *p, struct drm_perfctr_collection *c)
{
	const struct perfctr_sys *sys = p->hs.host->ctx->sys;
	const u64 until_ns = perfctr_time_raw_ns() + SAMPLE_NS;
	u64 last = 0, signals, now;

	while (!add_samples(p, c, &last) || last != p->requests) {
		now = perfctr_time_raw_ns();
		if (now >= until_ns ||
		    sys->poll(sys->data, &p->eventfd, 1, (int64_t)(until_ns - now)) < 0)
			return -ETIMEDOUT;
		/* also those of samples that were read before they were signalled */
		sys->read(sys->data, p->eventfd, &signals, sizeof(signals));
	}
	return 0;
}

static int panthor_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct panthor *p = panthor_of(source);
	u64 number = ++p->requests, last;
	int error = control(p, DRM_PERFCTR_CONTROL_SAMPLE, &number, sizeof(number));

	memset(p->seen, 0, source->block_count * sizeof(*p->seen));
	if (!error) {
		error = await_sample(p, c);
	} else if (add_samples(p, c, &last) && error == -ENODEV) {
		/* the last sample of a device that is gone */
		p->hs.host->gone = true;
		error = 0;
	}
	for (unsigned int i = 0; !error && i < source->block_count; i++)
		drm_perfctr_block_report(source, i, p->seen[i].states, p->seen[i].valid);
	return error;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = panthor_prepare,
	.start = panthor_start,
	.stop = panthor_stop,
	.collect = panthor_collect,
};

/* --- description ------------------------------------------------------------------ */

/* Return: 0; -ENOTTY the driver has no PERF_CONTROL, or firmware no counters. */
static int read_info(struct panthor *p)
{
	struct drm_perfctr_control_info *info = &p->info;
	struct host *host = p->hs.host;
	u64 blocks = 0;
	bool good;
	int error = query(host, PANTHOR_DEV_QUERY_PERF_CONTROL, info, sizeof(*info));

	if (error)
		return error == -EINVAL || error == -EOPNOTSUPP ? -ENOTTY : error;
	good = true;
	for (unsigned int i = 0; i < TYPES; i++) {
		good &= info->blocks[i] <= MAX_BLOCKS;
		blocks += info->blocks[i];
	}
	good &= blocks &&
		(info->counters_per_block == DRM_PERFCTR_SECTION_COUNTERS ||
		 info->counters_per_block == SECTIONS * DRM_PERFCTR_SECTION_COUNTERS) &&
		info->sample_header_size >= sizeof(struct perfctr_dense_sample) &&
		info->block_header_size >= sizeof(struct perfctr_dense_header) &&
		info->sample_header_size % sizeof(u64) == 0 &&
		info->block_header_size % sizeof(u64) == 0 &&
		info->sample_size == info->sample_header_size +
					     blocks * (info->block_header_size +
						       info->counters_per_block * (u64)sizeof(u64));
	if (good)
		return 0;
	return perfctr_fail(host->ctx, -EOPNOTSUPP,
			    "%s: this perfctr does not know the samples of this driver's "
			    "PERF_CONTROL: %u bytes with %u blocks of %u counters",
			    host->path, info->sample_size, (unsigned int)blocks,
			    info->counters_per_block);
}

/* The number of a type's @nth block: samples have them without gaps. */
static u16 number_of(const struct panthor *p, const struct panthor_gpu_info *gpu, unsigned int type,
		     unsigned int nth)
{
	u64 cores = gpu->shader_present;

	if (kinds[type].type != DRM_PERFCTR_MALI_BLOCK_SHADER ||
	    gpu->gpu_id >> ARCH_SHIFT >= ARCH_DENSE || hweight64(cores) != p->info.blocks[type])
		return (u16)nth;
	while (nth--)
		cores &= cores - 1;
	return (u16)__ffs64(cores);
}

static int describe_blocks(struct panthor *p, const struct panthor_gpu_info *gpu, u16 product)
{
	struct drm_perfctr_block_desc *desc;

	p->descs = calloc((size_t)TYPES * MAX_BLOCKS, sizeof(*p->descs));
	p->seen = calloc((size_t)TYPES * MAX_BLOCKS, sizeof(*p->seen));
	if (!p->descs || !p->seen)
		return perfctr_no_memory(p->hs.host->ctx);
	desc = p->descs;
	for (unsigned int type = 0; type < TYPES; type++) {
		p->first[type] = p->hs.source.block_count;
		for (unsigned int n = 0; n < p->info.blocks[type]; n++, desc++) {
			*desc = (struct drm_perfctr_block_desc){
				.type = kinds[type].type,
				.index = number_of(p, gpu, type, n),
				.counters = (u16)p->info.counters_per_block,
				.product = product,
				.sets = kinds[type].sets,
				.clock = kinds[type].clock,
				.available = { ~(u64)HEADER_COUNTERS },
			};
			if (p->info.counters_per_block > DRM_PERFCTR_SECTION_COUNTERS)
				desc->available[1] = ~UINT64_C(0);
			for (unsigned int set = 1; set < 3; set++)
				if (desc->sets >> set & 1)
					memcpy(desc->set_available[set - 1], desc->available,
					       sizeof(desc->available));
		}
		p->hs.source.block_count += p->info.blocks[type];
	}
	return 0;
}

/* The kernel shows the frequency of the first one only. */
static void describe_clocks(struct panthor *p)
{
	for (u8 i = 0; i < ARRAY_SIZE(clock_names); i++)
		p->clocks[i] =
			(struct drm_perfctr_clock_desc){ .clock = i, .name = clock_names[i] };
	p->clocks[DRM_PERFCTR_MALI_CLOCK_TOP].max_frequency_hz = p->devfreq.max_hz;
}

static u64 panthor_frequency_hz(const struct host *host, unsigned int clock)
{
	const struct panthor *p = host->driver_data;

	return clock == DRM_PERFCTR_MALI_CLOCK_TOP ? host_devfreq_hz(host, &p->devfreq) : 0;
}

static int panthor_probe(struct host *host)
{
	struct panthor *p = calloc(1, sizeof(*p));
	struct panthor_gpu_info gpu = { 0 };
	unsigned int product = DRM_PERFCTR_PRODUCT_UNKNOWN;
	char sysfs[64];
	const char *name;
	int error;

	if (!p)
		return perfctr_no_memory(host->ctx);
	host->driver_data = p;
	p->hs.host = host;
	p->hs.wake_fd = p->eventfd = -1;
	p->hs.needs = NEEDS;
	/* the driver reads the counters before a suspend of the system */
	p->hs.keeps_counts = true;
	error = read_info(p);
	if (!error)
		error = query(host, PANTHOR_DEV_QUERY_GPU_INFO, &gpu, sizeof(gpu));
	if (!error)
		error = host_find_sysfs(host, sysfs, sizeof(sysfs));
	if (error)
		return error;
	host->config.gpu_id = gpu.gpu_id;
	name = perfctr_gpu_name(gpu.gpu_id, hweight64(gpu.shader_present), &product);
	session_gpu_name(name ? name : "Mali", product, p->name, sizeof(p->name));
	host->config.name = p->name;
	host->config.product = (u16)product;
	host->config.sets = 7;
	host->config.features = p->info.flags & 1 ? DRM_PERFCTR_FEATURE_STATES : 0;
	host->config.clocks = p->clocks;
	host->config.clock_count = ARRAY_SIZE(p->clocks);
	host_devfreq_find(host, sysfs, &p->devfreq);
	describe_clocks(p);
	p->hs.source.name = "panthor";
	p->hs.source.ops = &source_ops;
	error = describe_blocks(p, &gpu, (u16)product);
	if (error)
		return error;
	p->hs.source.descs = p->descs;
	return host_add_source(host, &p->hs) ? perfctr_no_memory(host->ctx) : 0;
}

static void panthor_remove(struct host *host)
{
	struct panthor *p = host->driver_data;

	if (!p)
		return;
	free(p->descs);
	free(p->seen);
	free(p);
}

const struct host_driver host_panthor = {
	.name = "panthor",
	.lacking = "a patched kernel: kernel/panthor/README.md, On a board",
	.probe = panthor_probe,
	.remove = panthor_remove,
	.frequency_hz = panthor_frequency_hz,
};
