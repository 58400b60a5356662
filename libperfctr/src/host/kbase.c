// SPDX-License-Identifier: MIT
/*
 * Counters of Mali GPUs through kbase, the driver in vendors' kernels, by its interface
 * kinstr_prfcnt. Blocks, positions, cores and clocks are those of panthor and panfrost.
 *
 * The driver counts for several programs at a time. A session of it counts from START on; SAMPLE
 * gives a sample with the counts since the last one, also of a GPU that slept, which it does not
 * wake. Its own periodic samples are not used: early versions may return an empty one at STOP, and
 * drop the one that STOP takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/perfctr_mali.h>

#include "devfreq.h"
#include "host.h"
#include "kernel.h"
#include "session/kbase.h"

#define NEEDS "access to the node for reading and writing"

enum {
	TYPES = 6,
	/* counters 0..3 are header words of the hardware's samples */
	HEADER_COUNTERS = 0xf,
	SETS = 3,
	MAX_BLOCKS = 255, /* of a type: a block's number has 8 bits */
	MOST_ITEMS = 256,
	ARCH_SHIFT = 28, /* of the GPU_ID */
	ARCH_DENSE = 14, /* from there on shader cores have numbers without gaps */
	MAJOR_CSF = 1,
	MAJOR_JM = 11,
	STATES = DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF | DRM_PERFCTR_STATE_AVAILABLE |
		 DRM_PERFCTR_STATE_UNAVAILABLE | DRM_PERFCTR_STATE_NORMAL |
		 DRM_PERFCTR_STATE_PROTECTED,
};

/* minor versions: of CSF, of a job manager */
static const u16 first_minor[2] = { 10, 34 };
static const u16 dense_minor[2] = { 17, 37 }; /* cores are numbered without gaps */
static const u16 states_minor[2] = { 23, 41 };

/* in which a sample comes unless something is wrong */
#define SAMPLE_NS NS_PER_S

/* by the driver's number */
static const struct {
	u16 csf, jm;
	u8 clock;
} kinds[TYPES] = {
	{ DRM_PERFCTR_MALI_BLOCK_CSHW, DRM_PERFCTR_MALI_BLOCK_JM, DRM_PERFCTR_MALI_CLOCK_TOP },
	{ DRM_PERFCTR_MALI_BLOCK_TILER, DRM_PERFCTR_MALI_BLOCK_TILER,
	  DRM_PERFCTR_MALI_CLOCK_COREGROUP },
	{ DRM_PERFCTR_MALI_BLOCK_MEMSYS, DRM_PERFCTR_MALI_BLOCK_MEMSYS,
	  DRM_PERFCTR_MALI_CLOCK_COREGROUP },
	{ DRM_PERFCTR_MALI_BLOCK_SHADER, DRM_PERFCTR_MALI_BLOCK_SHADER,
	  DRM_PERFCTR_MALI_CLOCK_SHADER },
	{ DRM_PERFCTR_MALI_BLOCK_FW, 0, DRM_PERFCTR_MALI_CLOCK_TOP },
	{ DRM_PERFCTR_MALI_BLOCK_CSG, 0, DRM_PERFCTR_MALI_CLOCK_TOP },
};

static const char *const clock_names[] = {
	[DRM_PERFCTR_MALI_CLOCK_TOP] = "core",
	[DRM_PERFCTR_MALI_CLOCK_COREGROUP] = "coregroup",
	[DRM_PERFCTR_MALI_CLOCK_SHADER] = "stacks",
};

/* blocks of a type, as the driver lists them */
struct kind {
	unsigned int instances, values, first; /* the first one's number among all */
	u8 sets;
	u64 masks[SETS][2];
};

struct seen {
	u32 states;
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

struct kbase {
	struct host_source hs;
	char name[32];
	struct kbase_gpu gpu;
	struct host_devfreq devfreq;
	struct drm_perfctr_clock_desc clocks[ARRAY_SIZE(clock_names)];
	struct kind kinds[TYPES];
	struct drm_perfctr_block_desc *descs;
	struct seen *seen; /* of each block, in this collection */

	int session; /* the driver's file, -1: none */
	void *at; /* its samples, NULL: not mapped */
	size_t bytes, item_bytes;
	u64 requests; /* number of the last SAMPLE */
};

static struct kbase *kbase_of(struct drm_perfctr_source *source)
{
	return (struct kbase *)host_source_of(source);
}

static bool has_minor(const struct kbase *k, const u16 *minor)
{
	return k->gpu.version.minor >= minor[!k->gpu.csf];
}

/* --- the driver ------------------------------------------------------------------- */

static int call(const struct kbase *k, int fd, unsigned long request, void *argument)
{
	const struct perfctr_sys *sys = k->hs.host->ctx->sys;

	return sys->ioctl(sys->data, fd, request, argument);
}

static int command(const struct kbase *k, enum kbase_command which, u64 user_data)
{
	struct kbase_command_args args = { .command = (u16)which, .user_data = user_data };

	return call(k, k->session, KBASE_COMMAND, &args);
}

static void tear_down(struct kbase *k)
{
	const struct perfctr_sys *sys = k->hs.host->ctx->sys;

	if (k->at)
		sys->munmap(sys->data, k->at, k->bytes);
	if (k->session >= 0)
		sys->close(sys->data, k->session);
	k->at = NULL;
	k->session = -1;
}

static int make_session(struct kbase *k, u8 set)
{
	/* mode, scope, the end */
	struct kbase_request_item items[TYPES + 3] = {
		{ .head.type = KBASE_REQUEST_MODE },
		{ .head.type = KBASE_REQUEST_SCOPE },
	};
	union kbase_setup_args args = {
		.in = { .item_count = 2, .item_size = sizeof(*items), .requests = (uintptr_t)items }
	};

	for (u8 type = 0; type < TYPES; type++) {
		struct kbase_request_item *item = &items[args.in.item_count];

		if (!(k->kinds[type].sets >> set & 1))
			continue;
		item->head.type = KBASE_REQUEST_ENABLE;
		item->u.enable.type = type;
		item->u.enable.set = set;
		memcpy(item->u.enable.mask, k->kinds[type].masks[set], sizeof(item->u.enable.mask));
		args.in.item_count++;
	}
	args.in.item_count++;
	k->session = call(k, k->hs.host->fd, KBASE_SETUP, &args);
	if (k->session < 0)
		return k->session;
	k->item_bytes = args.out.metadata_item_size;
	k->bytes = args.out.mmap_bytes;
	return k->item_bytes >= sizeof(struct kbase_metadata_item) && k->bytes ? 0 : -EPROTO;
}

static int set_up(struct kbase *k, u8 set)
{
	const struct perfctr_sys *sys = k->hs.host->ctx->sys;
	int error = make_session(k, set);

	if (!error)
		error = sys->mmap(sys->data, k->session, 0, k->bytes, false, &k->at);
	if (error) {
		k->at = NULL;
		tear_down(k);
	}
	return error;
}

static u8 first_set(const struct kbase *k)
{
	return (u8)__ffs64(k->hs.host->config.sets);
}

static int kbase_prepare(struct drm_perfctr_source *source)
{
	struct kbase *k = kbase_of(source);
	int error = set_up(k, first_set(k));

	tear_down(k);
	return error;
}

static int kbase_start(struct drm_perfctr_source *source, u8 set)
{
	struct kbase *k = kbase_of(source);
	int error;

	tear_down(k);
	error = set_up(k, set);
	if (error)
		return error;
	k->requests = 0;
	error = command(k, KBASE_START, 0);
	if (error)
		tear_down(k);
	return error;
}

static void kbase_stop(struct drm_perfctr_source *source)
{
	struct kbase *k = kbase_of(source);

	command(k, KBASE_STOP, 0);
	tear_down(k);
}

/* --- samples ---------------------------------------------------------------------- */

/* The block of that number, which early versions give shader cores by their place. */
static int nth_of(const struct kbase *k, unsigned int type, unsigned int index)
{
	const struct kind *kind = &k->kinds[type];

	if (kinds[type].csf == DRM_PERFCTR_MALI_BLOCK_SHADER && !has_minor(k, dense_minor)) {
		if (index >= 64 || !(k->gpu.shader_present >> index & 1))
			return -1;
		index = hweight64(k->gpu.shader_present & (BIT_ULL(index) - 1));
	}
	return index < kind->instances ? (int)(kind->first + index) : -1;
}

static void add_block(struct kbase *k, const struct kbase_metadata_item *item)
{
	const unsigned int type = item->u.block.type;
	const u32 offset = item->u.block.values_offset;
	const struct kind *kind = &k->kinds[type < TYPES ? type : 0];
	int nth = type < TYPES ? nth_of(k, type, item->u.block.index) : -1;
	const u64 *values = (const void *)((const char *)k->at + offset);
	u64 *totals;

	if (nth < 0 || offset % sizeof(*values) || offset > k->bytes ||
	    k->bytes - offset < kind->values * sizeof(*values))
		return;
	totals = drm_perfctr_block_totals(&k->hs.source, (unsigned int)nth);
	if (has_minor(k, states_minor))
		k->seen[nth].states |= item->u.block.states & STATES;
	for (unsigned int i = 0; i < kind->values / DRM_PERFCTR_SECTION_COUNTERS; i++) {
		u64 mask = kind->masks[k->hs.state.set][i];

		k->seen[nth].valid[i] |= mask;
		for (; mask; mask &= mask - 1)
			totals[i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask)] +=
				values[i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask)];
	}
}

static void add_clocks(const struct kbase *k, const struct kbase_metadata_item *item,
		       struct drm_perfctr_collection *c)
{
	const u64 top = item->u.clock.cycles[0];

	if (!item->u.clock.count)
		return;
	c->clock_cycles[DRM_PERFCTR_MALI_CLOCK_TOP] += top;
	c->clock_cycles[DRM_PERFCTR_MALI_CLOCK_COREGROUP] += top;
	c->clock_cycles[DRM_PERFCTR_MALI_CLOCK_SHADER] +=
		item->u.clock.count > 1 ? item->u.clock.cycles[1] : top;
}

/* Add the sample whose items begin at @offset. Return: 0 with its user_data; -EPROTO. */
static int add_sample(struct kbase *k, u64 offset, struct drm_perfctr_collection *c, u64 *number)
{
	const struct kbase_metadata_item *item;
	bool is_bad = false, has_sample = false;

	if (offset % sizeof(u64))
		return -EPROTO;
	for (;; offset += k->item_bytes) {
		if (offset > k->bytes || k->bytes - offset < k->item_bytes)
			return -EPROTO;
		item = (const void *)((const char *)k->at + offset);
		if (!item->head.type)
			return has_sample ? 0 : -EPROTO;
		if (item->head.version)
			continue;
		switch (item->head.type) {
		case KBASE_META_SAMPLE:
			has_sample = true;
			*number = item->u.sample.user_data;
			c->time_ns = item->u.sample.end_ns;
			/* what it has then is undefined */
			is_bad = item->u.sample.flags & KBASE_SAMPLE_ERROR;
			if (!is_bad)
				break;
			c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
			c->lost_ns += c->time_ns - min(item->u.sample.start_ns, c->time_ns);
			break;
		case KBASE_META_CLOCK:
			if (!is_bad)
				add_clocks(k, item, c);
			break;
		case KBASE_META_BLOCK:
			if (!is_bad)
				add_block(k, item);
			break;
		}
	}
}

static int take_sample(struct kbase *k, struct drm_perfctr_collection *c, u64 *number)
{
	struct kbase_sample_access access = { 0 };
	int error = call(k, k->session, KBASE_GET_SAMPLE, &access), put;

	if (error)
		return error;
	error = add_sample(k, access.offset, c, number);
	put = call(k, k->session, KBASE_PUT_SAMPLE, &access);
	return error ? error : put;
}

/* Add what there is up to the sample that was asked for, which comes at once. */
static int take_samples(struct kbase *k, struct drm_perfctr_collection *c)
{
	const struct perfctr_sys *sys = k->hs.host->ctx->sys;
	u64 number = 0;
	int error = 0;

	while (!error && number != k->requests) {
		error = sys->poll(sys->data, &k->session, 1, SAMPLE_NS);
		error = error > 0 ? take_sample(k, c, &number) : error ? error : -ETIMEDOUT;
	}
	return error;
}

/* Samples of collections that failed may fill the driver's buffers. */
static int request_sample(struct kbase *k, struct drm_perfctr_collection *c)
{
	const struct perfctr_sys *sys = k->hs.host->ctx->sys;
	int error = command(k, KBASE_SAMPLE_SYNC, ++k->requests), ready = 1;
	u64 number;

	while (error == -EBUSY && ready > 0) {
		ready = sys->poll(sys->data, &k->session, 1, 0);
		ready = ready > 0 && take_sample(k, c, &number) ? 0 : ready;
		error = command(k, KBASE_SAMPLE_SYNC, k->requests);
	}
	return error;
}

static int kbase_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct kbase *k = kbase_of(source);
	int error;

	memset(k->seen, 0, source->block_count * sizeof(*k->seen));
	error = request_sample(k, c);
	if (!error)
		error = take_samples(k, c);
	for (unsigned int i = 0; !error && i < source->block_count; i++)
		drm_perfctr_block_report(
			source, i, k->seen[i].states | (c->lost_ns ? DRM_PERFCTR_STATE_LOST : 0),
			k->seen[i].valid);
	return error;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = kbase_prepare,
	.start = kbase_start,
	.stop = kbase_stop,
	.collect = kbase_collect,
};

/* --- description ------------------------------------------------------------------ */

static int refuse_version(const struct kbase *k, const char *what)
{
	return perfctr_fail(k->hs.host->ctx, -EOPNOTSUPP, "%s: kbase of version %s %u.%u %s",
			    k->hs.host->path, k->gpu.csf ? "CSF" : "JM", k->gpu.version.major,
			    k->gpu.version.minor, what);
}

static int check_version(const struct kbase *k)
{
	if (k->gpu.version.major != (k->gpu.csf ? MAJOR_CSF : MAJOR_JM))
		return refuse_version(k, "is not known to this perfctr");
	return has_minor(k, first_minor) ?
		       0 :
		       refuse_version(k, "has only vinstr, which perfctr does not read: counters "
					 "by kinstr_prfcnt came with CSF 1.10 and JM 11.34");
}

static int take_block(struct kbase *k, const struct kbase_enum_item *item)
{
	const u8 type = item->u.block.type, set = item->u.block.set;
	struct kind *kind = &k->kinds[type < TYPES ? type : 0];
	bool known = type < TYPES && (k->gpu.csf ? kinds[type].csf : kinds[type].jm);

	if (item->head.version)
		return refuse_version(k, "lists blocks in a form that this perfctr does not know");
	/* a type that came later, or none */
	if (!known || set >= SETS || !item->u.block.instances)
		return 0;
	if (item->u.block.instances > MAX_BLOCKS ||
	    (item->u.block.values != DRM_PERFCTR_SECTION_COUNTERS &&
	     item->u.block.values != 2 * DRM_PERFCTR_SECTION_COUNTERS) ||
	    (kind->instances && kind->instances != item->u.block.instances))
		return refuse_version(k, "has blocks that this perfctr does not know");
	kind->instances = item->u.block.instances;
	kind->values = item->u.block.values;
	kind->sets |= (u8)(1u << set);
	memcpy(kind->masks[set], item->u.block.mask, sizeof(kind->masks[set]));
	kind->masks[set][0] &= ~(u64)HEADER_COUNTERS;
	if (kind->values <= DRM_PERFCTR_SECTION_COUNTERS)
		kind->masks[set][1] = 0;
	return 0;
}

static int take_list(struct kbase *k, const char *list, const struct kbase_enum_info *info)
{
	int error = 0;

	for (u32 n = 0; !error && n < info->item_count; n++) {
		const struct kbase_enum_item *item =
			(const void *)(list + (size_t)n * info->item_size);

		if (item->head.type == KBASE_ENUM_BLOCK && item->u.block.values)
			error = take_block(k, item);
	}
	return error;
}

static int read_list(struct kbase *k)
{
	struct kbase_enum_info info = { 0 };
	const int fd = k->hs.host->fd;
	int error = call(k, fd, KBASE_ENUM_INFO, &info);
	char *list;

	if (error)
		return perfctr_fail(k->hs.host->ctx, error,
				    "%s: kbase does not list its counters: %s", k->hs.host->path,
				    strerror(-error));
	if (info.item_size < sizeof(struct kbase_enum_item) || info.item_size % sizeof(u64) ||
	    info.item_size > PATH_BYTES || !info.item_count || info.item_count > MOST_ITEMS)
		return refuse_version(k,
				      "lists counters in a form that this perfctr does not know");
	list = calloc(info.item_count, info.item_size);
	if (!list)
		return perfctr_no_memory(k->hs.host->ctx);
	info.list = (uintptr_t)list;
	error = call(k, fd, KBASE_ENUM_INFO, &info);
	error = error ? perfctr_fail(k->hs.host->ctx, error, "%s: %s", k->hs.host->path,
				     strerror(-error)) :
			take_list(k, list, &info);
	free(list);
	return error;
}

/* The number of a type's @nth block, as drivers of kernel.org give it. */
static u16 number_of(const struct kbase *k, unsigned int type, unsigned int nth)
{
	u64 cores = k->gpu.shader_present;

	if (kinds[type].csf != DRM_PERFCTR_MALI_BLOCK_SHADER ||
	    (k->gpu.gpu_id >> 32 ? k->gpu.gpu_id >> 56 : k->gpu.gpu_id >> ARCH_SHIFT) >=
		    ARCH_DENSE ||
	    hweight64(cores) != k->kinds[type].instances)
		return (u16)nth;
	while (nth--)
		cores &= cores - 1;
	return (u16)__ffs64(cores);
}

static void describe_type(struct kbase *k, unsigned int type, u16 product)
{
	struct kind *kind = &k->kinds[type];

	kind->first = k->hs.source.block_count;
	for (unsigned int n = 0; n < kind->instances; n++) {
		struct drm_perfctr_block_desc *desc = &k->descs[k->hs.source.block_count++];

		*desc = (struct drm_perfctr_block_desc){
			.type = k->gpu.csf ? kinds[type].csf : kinds[type].jm,
			.index = number_of(k, type, n),
			.counters = (u16)kind->values,
			.product = product,
			.sets = kind->sets,
			.clock = kinds[type].clock,
		};
		memcpy(desc->available, kind->masks[0], sizeof(kind->masks[0]));
		for (unsigned int set = 1; set < SETS; set++)
			memcpy(desc->set_available[set - 1], kind->masks[set],
			       sizeof(kind->masks[set]));
	}
}

static int describe_blocks(struct kbase *k, u16 product)
{
	u32 sets = 0;

	k->descs = calloc((size_t)TYPES * MAX_BLOCKS, sizeof(*k->descs));
	k->seen = calloc((size_t)TYPES * MAX_BLOCKS, sizeof(*k->seen));
	if (!k->descs || !k->seen)
		return perfctr_no_memory(k->hs.host->ctx);
	for (unsigned int type = 0; type < TYPES; type++) {
		describe_type(k, type, product);
		sets |= k->kinds[type].sets;
	}
	k->hs.host->config.sets = sets;
	return k->hs.source.block_count ?
		       0 :
		       refuse_version(k, "lists no counters that this perfctr knows");
}

static void describe_clocks(struct kbase *k)
{
	for (u8 i = 0; i < ARRAY_SIZE(clock_names); i++)
		k->clocks[i] =
			(struct drm_perfctr_clock_desc){ .clock = i, .name = clock_names[i] };
	k->clocks[DRM_PERFCTR_MALI_CLOCK_TOP].max_frequency_hz = k->devfreq.max_hz;
}

static u64 kbase_frequency_hz(const struct host *host, unsigned int clock)
{
	const struct kbase *k = host->driver_data;

	return clock == DRM_PERFCTR_MALI_CLOCK_TOP ? host_devfreq_hz(host, &k->devfreq) : 0;
}

static int identify(struct kbase *k)
{
	struct host *host = k->hs.host;
	int error = kbase_identify(host->ctx, host->fd, &k->gpu);

	if (error)
		return perfctr_fail(host->ctx, error, "%s: kbase does not describe its GPU: %s",
				    host->path, strerror(-error));
	error = check_version(k);
	return error ? error : read_list(k);
}

static int kbase_probe(struct host *host)
{
	struct kbase *k = calloc(1, sizeof(*k));
	unsigned int product = DRM_PERFCTR_PRODUCT_UNKNOWN;
	char sysfs[64];
	const char *name;
	int error;

	if (!k)
		return perfctr_no_memory(host->ctx);
	host->driver_data = k;
	k->hs.host = host;
	k->hs.wake_fd = k->session = -1;
	k->hs.needs = NEEDS;
	/* the driver reads the counters before a suspend of the system */
	k->hs.keeps_counts = true;
	error = identify(k);
	if (!error)
		error = host_find_sysfs(host, sysfs, sizeof(sysfs));
	if (error)
		return error;
	host->config.gpu_id = k->gpu.gpu_id;
	name = perfctr_gpu_name(k->gpu.gpu_id, hweight64(k->gpu.shader_present), &product);
	session_gpu_name(name ? name : "Mali", product, k->name, sizeof(k->name));
	host->config.name = k->name;
	host->config.product = (u16)product;
	host->config.features = has_minor(k, states_minor) ? DRM_PERFCTR_FEATURE_STATES : 0;
	host->config.clocks = k->clocks;
	host->config.clock_count = ARRAY_SIZE(k->clocks);
	host_devfreq_find(host, sysfs, &k->devfreq);
	describe_clocks(k);
	k->hs.source.name = KBASE_DRIVER;
	k->hs.source.ops = &source_ops;
	error = describe_blocks(k, (u16)product);
	if (error)
		return error;
	k->hs.source.descs = k->descs;
	return host_add_source(host, &k->hs) ? perfctr_no_memory(host->ctx) : 0;
}

static void kbase_remove(struct host *host)
{
	struct kbase *k = host->driver_data;

	if (!k)
		return;
	free(k->descs);
	free(k->seen);
	free(k);
}

const struct host_driver host_kbase = {
	.name = KBASE_DRIVER,
	.probe = kbase_probe,
	.remove = kbase_remove,
	.frequency_hz = kbase_frequency_hz,
};
