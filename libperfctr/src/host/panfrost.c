// SPDX-License-Identifier: MIT
/*
 * Counters of Mali GPUs with a job manager through the unstable ioctls that every panfrost has.
 *
 * ENABLE gives one file the counters, clears them, and keeps the GPU awake until DISABLE or the end
 * of the file. DUMP has the GPU write all of them, clears them, and waits up to a second. A reset
 * and a suspend of the system forget the set-up, but not who has it: DUMP then fails with
 * -ETIMEDOUT, and DISABLE and ENABLE set them up again. A DUMP must not be repeated, as the one
 * before has cleared the counters: a SIGSTOP that arrives while one waits makes the kernel repeat
 * it, which loses that sample's counts unnoticed.
 *
 * Blocks and positions are those of our source in the driver, kernel/panfrost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/perfctr_mali.h>

#include "devfreq.h"
#include "host.h"
#include "panfrost_ioctls.h"
#include "kernel.h"

#define SWITCH "/sys/module/panfrost/parameters/unstable_ioctls"
#define NEEDS "the driver's unstable ioctls, which root turns on: echo 1 | sudo tee " SWITCH

enum {
	BLOCK_WORDS = 64,
	/* of a block's header: time stamp, and a mask of the groups that were written */
	HEADER_TIME = 0,
	HEADER_ENABLE = 2,
	HEADER_WORDS = 4,
	GROUP_WORDS = 4,
	GROUPS_MASK = 0xffff,
	/* no counter counts more in a cycle: four beats of a bus */
	MAX_PER_CYCLE = 4,
	MAX_CORES = 64,
	/* a sample of the oldest GPUs: eight blocks for each group of cores, the first is in use */
	V4_GROUP = 8,
	V4_CORES = 4,
	V4_TILER = 4,
	V4_MEMSYS = 5,
	V4_JM = 7,
	PRODUCT_ARCH_SHIFT = 12, /* of Bifrost and later; zero of Midgard */
};

/* if sysfs does not tell the frequency: above that of any of these GPUs */
#define UNKNOWN_HZ UINT64_C(2000000000)

struct panfrost {
	struct host_source hs;
	char name[32];
	struct drm_perfctr_clock_desc clock;
	char sysfs[64]; /* folder of the node while it exists */
	struct host_devfreq devfreq;
	struct drm_perfctr_block_desc *descs;
	unsigned int *positions; /* of each block in a dump */
	u64 *times; /* in each block's header at the last dump */
	u32 *words;
	bool enabled;
	u64 wrap_ns; /* time in which no counter wraps */
	u64 time_ns; /* up to which counts are in the totals, or reported as lost */
};

/* what the layout of a dump depends on */
struct shape {
	uint64_t id, revision, cores, l2, mem;
	bool v4, bifrost;
};

static struct panfrost *panfrost_of(struct drm_perfctr_source *source)
{
	return (struct panfrost *)host_source_of(source);
}

static int call(const struct host *host, unsigned long request, void *argument)
{
	return host->ctx->sys->ioctl(host->ctx->sys->data, host->fd, request, argument);
}

/* -ENOSYS: root has not turned the ioctls on, or off again */
static int enable(struct panfrost *p, bool on, u8 set)
{
	struct panfrost_perfcnt_enable argument = { .enable = on, .counterset = set };
	int error = call(p->hs.host, PANFROST_PERFCNT_ENABLE, &argument);

	if (!error)
		p->enabled = on;
	return error == -ENOSYS ? -EPERM : error;
}

/* --- the operations --------------------------------------------------------------- */

static int panfrost_start(struct drm_perfctr_source *source, u8 set)
{
	struct panfrost *p = panfrost_of(source);
	int error;

	if (!host_is_there(p->hs.host))
		return -ENODEV;
	/* while it has them, the driver takes ENABLE for done */
	if (p->enabled)
		enable(p, false, 0);
	error = enable(p, true, set);
	p->time_ns = perfctr_time_raw_ns();
	return error;
}

static void panfrost_stop(struct drm_perfctr_source *source)
{
	struct panfrost *p = panfrost_of(source);

	/* after an error the end of the file does it */
	if (host_is_there(p->hs.host))
		enable(p, false, 0);
}

/* The driver has no other means to ask who has them. */
static int panfrost_prepare(struct drm_perfctr_source *source)
{
	int error = panfrost_start(source, DRM_PERFCTR_SET_PRIMARY);

	if (!error)
		panfrost_stop(source);
	return error;
}

/* @ns: since the last dump */
static void add_block(struct panfrost *p, unsigned int i, u32 states, u64 ns)
{
	const u32 *words = p->words + p->positions[i] * BLOCK_WORDS;
	const u32 groups = words[HEADER_ENABLE] & GROUPS_MASK;
	u64 *totals = drm_perfctr_block_totals(&p->hs.source, i);
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { 0 }, time;

	memcpy(&time, words + HEADER_TIME, sizeof(time));
	/* memory that the GPU did not write again; the driver keeps all cores powered */
	if (!groups || (time && time == p->times[i])) {
		host_lose_block(&p->hs, i, ns);
		drm_perfctr_block_report(&p->hs.source, i,
					 DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_ERROR, NULL);
		return;
	}
	p->times[i] = time;
	for (unsigned int n = HEADER_WORDS; n < BLOCK_WORDS; n++) {
		if (!(groups >> n / GROUP_WORDS & 1))
			continue;
		totals[n] += words[n];
		valid[0] |= BIT_ULL(n);
	}
	drm_perfctr_block_report(&p->hs.source, i,
				 states | DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL |
					 DRM_PERFCTR_STATE_ON,
				 valid);
}

/* No sample came: what was counted since the last one is lost, until the counters are set up. */
static int set_up_again(struct panfrost *p, struct drm_perfctr_collection *c)
{
	const u64 begin_ns = p->time_ns;
	int error = panfrost_start(&p->hs.source, p->hs.state.set);

	if (error) {
		p->time_ns = begin_ns;
		return error;
	}
	for (unsigned int i = 0; i < p->hs.source.block_count; i++)
		drm_perfctr_block_report(&p->hs.source, i,
					 DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_ERROR, NULL);
	c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
	c->lost_ns = p->time_ns - begin_ns;
	return 0;
}

static int panfrost_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct panfrost *p = panfrost_of(source);
	struct panfrost_perfcnt_dump dump = { .buf_ptr = (uintptr_t)p->words };
	const u64 now = perfctr_time_raw_ns();
	u32 states = 0;
	int error = host_is_there(p->hs.host) ? call(p->hs.host, PANFROST_PERFCNT_DUMP, &dump) :
						-ENODEV;

	/* the last one: another file has the counters, so this one lost them */
	if (error == -ETIMEDOUT || error == -EINVAL)
		error = set_up_again(p, c);
	else if (!error && now - p->time_ns > p->wrap_ns)
		states = DRM_PERFCTR_STATE_LOST;
	if (error)
		return error == -ENOSYS ? -EPERM : error;
	if (!c->lost_ns) {
		c->lost_ns = states ? now - p->time_ns : 0;
		for (unsigned int i = 0; i < source->block_count; i++)
			add_block(p, i, states, states ? 0 : now - p->time_ns);
		p->time_ns = now;
	}
	c->time_ns = p->time_ns;
	return 0;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = panfrost_prepare,
	.start = panfrost_start,
	.stop = panfrost_stop,
	.collect = panfrost_collect,
};

/* --- description ------------------------------------------------------------------ */

static int get(const struct host *host, enum panfrost_param which, uint64_t *value)
{
	struct panfrost_get_param param = { .param = which };
	int error = call(host, PANFROST_GET_PARAM, &param);

	*value = param.value;
	return error;
}

/* Return: 0; -EOPNOTSUPP blocks of such a GPU are not known; an error of the driver. */
static int read_shape(struct host *host, struct shape *s)
{
	static const u16 midgard[] = { 0x600, 0x620, 0x720, 0x750, 0x820, 0x830, 0x860, 0x880 };
	bool known = false;
	int error = get(host, PANFROST_GPU_PROD_ID, &s->id);

	error = error ? error : get(host, PANFROST_GPU_REVISION, &s->revision);
	error = error ? error : get(host, PANFROST_SHADER_PRESENT, &s->cores);
	error = error ? error : get(host, PANFROST_L2_PRESENT, &s->l2);
	error = error ? error : get(host, PANFROST_MEM_FEATURES, &s->mem);
	if (error)
		return perfctr_fail(host->ctx, error, "%s: panfrost does not describe its GPU: %s",
				    host->path, strerror(-error));
	s->bifrost = s->id >> PRODUCT_ARCH_SHIFT;
	s->v4 = s->id == 0x600 || s->id == 0x620 || s->id == 0x720;
	for (size_t n = 0; n < ARRAY_SIZE(midgard); n++)
		known |= s->id == midgard[n];
	/* those with a job manager: Bifrost and the first Valhall */
	switch (s->id >> PRODUCT_ARCH_SHIFT) {
	case 6:
	case 7:
	case 9:
		known = true;
	}
	if (known)
		return 0;
	return perfctr_fail(
		host->ctx, -EOPNOTSUPP,
		"%s: this perfctr does not know the blocks of a GPU with product 0x%llx",
		host->path, (unsigned long long)s->id);
}

static void describe(struct panfrost *p, const struct shape *s, u16 product, u16 type, u16 index,
		     unsigned int position)
{
	struct drm_perfctr_block_desc *desc = &p->descs[p->hs.source.block_count];

	p->positions[p->hs.source.block_count++] = position;
	*desc = (struct drm_perfctr_block_desc){
		.type = type,
		.index = index,
		.counters = BLOCK_WORDS,
		.product = product,
		.sets = 1u << DRM_PERFCTR_SET_PRIMARY,
		.available = { ~BIT_ULL(HEADER_WORDS) + 1 },
	};
	/* which counters the second set has is not public: every position may be one */
	if (s->bifrost && type != DRM_PERFCTR_MALI_BLOCK_TILER) {
		desc->sets |= 1u << DRM_PERFCTR_SET_SECONDARY;
		desc->set_available[0][0] = desc->available[0];
	}
}

static void describe_blocks(struct panfrost *p, const struct shape *s, u16 product)
{
	const unsigned int slices = s->v4 ? 1 : (s->mem >> 8 & 0xf) + 1;

	describe(p, s, product, DRM_PERFCTR_MALI_BLOCK_JM, 0, s->v4 ? V4_JM : 0);
	describe(p, s, product, DRM_PERFCTR_MALI_BLOCK_TILER, 0, s->v4 ? V4_TILER : 1);
	for (unsigned int i = 0; i < slices; i++)
		describe(p, s, product, DRM_PERFCTR_MALI_BLOCK_MEMSYS, (u16)i,
			 s->v4 ? V4_MEMSYS : 2 + i);
	/* of the oldest GPUs the driver uses the first group of cores only */
	for (unsigned int i = 0; i < (s->v4 ? V4_CORES : MAX_CORES); i++)
		if (s->cores >> i & 1)
			describe(p, s, product, DRM_PERFCTR_MALI_BLOCK_SHADER, (u16)i,
				 s->v4 ? i : 2 + slices + i);
}

/* Blocks in a dump: the driver writes so many. */
static size_t dump_blocks(const struct shape *s)
{
	if (s->v4)
		return V4_GROUP * (size_t)hweight64(s->l2 | !s->l2);
	return 2 + (s->mem >> 8 & 0xf) + 1 +
	       (s->cores ? MAX_CORES - (size_t)__builtin_clzll(s->cores) : 0);
}

static void find_clock(struct panfrost *p)
{
	uint64_t hz;

	host_devfreq_find(p->hs.host, p->sysfs, &p->devfreq);
	hz = p->devfreq.max_hz ? p->devfreq.max_hz : UNKNOWN_HZ;
	p->clock.name = "core";
	p->clock.max_frequency_hz = p->devfreq.max_hz;
	p->wrap_ns = (u64)((double)UINT32_MAX * NS_PER_S / ((double)hz * MAX_PER_CYCLE));
	/* a quarter is for a late thread */
	p->hs.source.max_interval_ns = p->wrap_ns / 4 * 3;
}

static u64 panfrost_frequency_hz(const struct host *host, unsigned int clock)
{
	const struct panfrost *p = host->driver_data;

	return host_devfreq_hz(host, &p->devfreq);
}

/* Neither this nor the calls above wake the GPU. */
static int check_switch(struct host *host)
{
	struct panfrost_perfcnt_dump dump = { 0 };
	int error = call(host, PANFROST_PERFCNT_DUMP, &dump);

	if (error == -ENOSYS)
		return perfctr_fail(host->ctx, -EPERM, "%s: counting needs " NEEDS, host->path);
	/* without ENABLE the driver knows no better answer */
	return error == -EINVAL ? 0 : -ENOTTY;
}

static int allocate(struct panfrost *p, const struct shape *s)
{
	const size_t blocks = dump_blocks(s);

	p->descs = calloc(blocks, sizeof(*p->descs));
	p->positions = calloc(blocks, sizeof(*p->positions));
	p->times = calloc(blocks, sizeof(*p->times));
	p->words = calloc(blocks * BLOCK_WORDS, sizeof(*p->words));
	if (p->descs && p->positions && p->times && p->words)
		return 0;
	return perfctr_no_memory(p->hs.host->ctx);
}

static int panfrost_probe(struct host *host)
{
	struct panfrost *p = calloc(1, sizeof(*p));
	unsigned int product = DRM_PERFCTR_PRODUCT_UNKNOWN;
	struct shape shape = { 0 };
	const char *name;
	int error;

	if (!p)
		return perfctr_no_memory(host->ctx);
	host->driver_data = p;
	p->hs.host = host;
	p->hs.wake_fd = -1;
	p->hs.needs = NEEDS;
	error = check_switch(host);
	if (!error)
		error = read_shape(host, &shape);
	if (!error)
		error = host_find_sysfs(host, p->sysfs, sizeof(p->sysfs));
	if (!error)
		error = allocate(p, &shape);
	if (error)
		return error;
	host_watch_node(host, p->sysfs);
	host->config.gpu_id = shape.id << 16 | shape.revision;
	name = perfctr_gpu_name(host->config.gpu_id, hweight64(shape.cores), &product);
	session_gpu_name(name ? name : "Mali", product, p->name, sizeof(p->name));
	host->config.name = p->name;
	host->config.product = (u16)product;
	host->config.sets = shape.bifrost ? 3 : 1;
	host->config.features = DRM_PERFCTR_FEATURE_STATES | DRM_PERFCTR_FEATURE_KEEP_AWAKE;
	host->config.clocks = &p->clock;
	host->config.clock_count = 1;
	find_clock(p);
	describe_blocks(p, &shape, (u16)product);
	p->hs.source.name = "panfrost";
	p->hs.source.ops = &source_ops;
	p->hs.source.descs = p->descs;
	return host_add_source(host, &p->hs) ? perfctr_no_memory(host->ctx) : 0;
}

static void panfrost_remove(struct host *host)
{
	struct panfrost *p = host->driver_data;

	if (!p)
		return;
	free(p->descs);
	free(p->positions);
	free(p->times);
	free(p->words);
	free(p);
}

const struct host_driver host_panfrost = {
	.name = "panfrost",
	.probe = panfrost_probe,
	.remove = panfrost_remove,
	.frequency_hz = panfrost_frequency_hz,
};
