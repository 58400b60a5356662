// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#ifdef PERFCTR_IN_TREE
#include "igt_device_scan.h"
#endif
#include "igt_known.h"

#define FIRST_RENDER_MINOR 128
#define RENDER_MINORS 64
/* of the interface, with these ioctls */
#define FIRST_VERSION 4

static bool driver_is(int fd, const char *driver, char name[32])
{
	struct drm_version version = { .name = name, .name_len = 31 };

	memset(name, 0, 32);
	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, driver);
}

void igt_perfctr_describe(struct igt_perfctr_device *dev)
{
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_DEVICE,
		.count = 1,
		.stride = sizeof(dev->info),
		.pointer = (uintptr_t)&dev->info,
	};

	dev->known = driver_is(dev->fd, igt_known ? igt_known->driver : "", dev->driver) ?
			     igt_known :
			     NULL;
	igt_assert_eq(igt_perfctr_query(dev, &query), 0);
	query.type = DRM_PERFCTR_QUERY_BLOCKS;
	query.count = IGT_PERFCTR_MAX_BLOCKS;
	query.stride = sizeof(dev->blocks[0]);
	query.pointer = (uintptr_t)dev->blocks;
	igt_assert_eq(igt_perfctr_query(dev, &query), 0);
	igt_assert_lte(query.count, IGT_PERFCTR_MAX_BLOCKS);
	dev->block_count = query.count;
}

unsigned int igt_perfctr_clocks(const struct igt_perfctr_device *dev,
				struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1])
{
	struct drm_perfctr_query q = {
		.type = DRM_PERFCTR_QUERY_CLOCKS,
		.count = DRM_PERFCTR_MAX_CLOCKS + 1,
		.stride = sizeof(clocks[0]),
		.pointer = (uintptr_t)clocks,
	};

	igt_assert_eq(igt_perfctr_query(dev, &q), 0);
	igt_assert_eq_u32(q.count, dev->info.clock_count);
	return q.count;
}

/* whether that is the name of the device behind a render node */
static bool device_is(int minor, const char *name)
{
	char path[64], target[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device", minor);
	return realpath(path, target) && !strcmp(strrchr(target, '/') + 1, name);
}

void igt_read_fdinfo(int fd, char text[IGT_FDINFO_BYTES])
{
	char path[64];
	ssize_t bytes;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	bytes = read(info, text, IGT_FDINFO_BYTES - 1);
	close(info);
	igt_assert_lt(0, bytes);
	text[bytes] = '\0';
}

/* whether the file's fdinfo has the numbers of the ioctls, of this version or a later one */
static bool has_counters(struct igt_perfctr_device *dev)
{
	static const char key[] = "drm-perfctr:";
	unsigned int version = 0;
	char text[IGT_FDINFO_BYTES], *line;

	igt_read_fdinfo(dev->fd, text);
	line = strstr(text, key);
	return line && sscanf(line + strlen(key), "%u ioctls %x", &version, &dev->ioctl_nr) == 2 &&
	       version >= FIRST_VERSION;
}

/* the first render node of @driver and @device; NULL: any device with counters */
static bool open_node(struct igt_perfctr_device *dev, const char *driver, const char *device)
{
	char path[32];

	memset(dev, 0, sizeof(*dev));
	for (int i = 0; i < RENDER_MINORS; i++) {
		int minor = FIRST_RENDER_MINOR + i;

		if (device && !device_is(minor, device))
			continue;
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
		dev->fd = open(path, O_RDWR | O_CLOEXEC);
		if (dev->fd < 0)
			continue;
		if ((!driver || driver_is(dev->fd, driver, dev->driver)) && has_counters(dev)) {
			dev->minor = minor;
			igt_perfctr_describe(dev);
			return true;
		}
		close(dev->fd);
	}
	dev->fd = -1;
	return false;
}

bool igt_perfctr_open(struct igt_perfctr_device *dev, const char *driver)
{
	return open_node(dev, driver, NULL);
}

bool igt_perfctr_open_any(struct igt_perfctr_device *dev)
{
	igt_require_f(!geteuid(), "needs root\n");
#ifdef PERFCTR_IN_TREE
	/* the node of --device */
	if (igt_device_filter_count()) {
		struct stat node;

		memset(dev, 0, sizeof(*dev));
		/* it keeps no other file, which would use the module */
		dev->fd = __drm_open_driver_render(DRIVER_ANY);
		igt_require_f(dev->fd >= 0 && has_counters(dev),
			      "the device has no counter interface\n");
		igt_assert_eq(fstat(dev->fd, &node), 0);
		dev->minor = minor(node.st_rdev);
		igt_perfctr_describe(dev);
		return true;
	}
#endif
	return (igt_known && igt_perfctr_open(dev, igt_known->driver)) ||
	       open_node(dev, NULL, NULL);
}

bool igt_perfctr_open_device(struct igt_perfctr_device *dev, const char *device)
{
	return open_node(dev, NULL, device);
}

void igt_perfctr_reopen(struct igt_perfctr_device *dev, const struct igt_perfctr_device *other)
{
	char path[32];

	*dev = *other;
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", other->minor);
	dev->fd = open(path, O_RDWR | O_CLOEXEC);
	igt_assert(dev->fd >= 0);
}

void igt_perfctr_close(struct igt_perfctr_device *dev)
{
	if (dev->fd >= 0)
		close(dev->fd);
	dev->fd = -1;
}

void igt_perfctr_session_init(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev)
{
	igt_perfctr_session_init_set(s, dev, DRM_PERFCTR_SET_PRIMARY);
}

void igt_perfctr_session_init_set(struct igt_perfctr_session *s,
				  const struct igt_perfctr_device *dev, unsigned int set)
{
	memset(s, 0, sizeof(*s));
	s->dev = dev;
	s->fd = -1;
	s->params.slots = 16;
	s->params.eventfd = -1;
	s->params.request_stride = sizeof(s->requests[0]);

	for (unsigned int section = 0; section < DRM_PERFCTR_BLOCK_INFO_SECTIONS; section++) {
		uint16_t type = 0;

		for (unsigned int i = 0; i < dev->block_count; i++) {
			const struct drm_perfctr_block_info *b = &dev->blocks[i];
			const __u64 *available = set ? b->set_available[set - 1] : b->available;
			struct drm_perfctr_block_request *r;

			if (b->type == type || b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY ||
			    !available[section])
				continue;
			type = b->type;
			igt_assert_lt(s->params.request_count, IGT_PERFCTR_MAX_REQUESTS);
			r = &s->requests[s->params.request_count++];
			r->type = type;
			r->index = DRM_PERFCTR_INDEX_ALL;
			r->section = section;
			r->set = set;
			r->mask = available[section];
		}
	}
}

void igt_perfctr_session_init_empty(struct igt_perfctr_session *s,
				    const struct igt_perfctr_device *dev)
{
	igt_perfctr_session_init(s, dev);
	memset(s->requests, 0, sizeof(s->requests));
	s->params.request_count = 0;
}

struct drm_perfctr_block_request *igt_perfctr_add_pmu(struct igt_perfctr_session *s, uint16_t index,
						      uint32_t type, uint64_t config, int cpu)
{
	struct drm_perfctr_block_request *r;

	igt_assert_lt(s->params.request_count, IGT_PERFCTR_MAX_REQUESTS);
	r = &s->requests[s->params.request_count++];
	memset(r, 0, sizeof(*r));
	r->type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
	r->flags = DRM_PERFCTR_REQUEST_PMU;
	r->index = index;
	r->mask = 1;
	r->pmu_type = type;
	r->config = config;
	r->cpu = cpu;
	return r;
}

void igt_perfctr_session_open_with(struct igt_perfctr_session *s,
				   const struct igt_perfctr_device *dev, uint32_t slots,
				   uint64_t period_ns)
{
	igt_perfctr_session_init(s, dev);
	s->params.slots = slots;
	s->params.period_ns = period_ns;
	igt_perfctr_session_open(s);
}

bool igt_perfctr_is_batched(const struct igt_perfctr_session *s)
{
	return igt_perfctr_status(s).flags & DRM_PERFCTR_STATUS_BATCHED;
}

uint64_t igt_perfctr_unread(const struct igt_perfctr_session *s)
{
	return igt_perfctr_published(s) - s->extract;
}

/* milliseconds on an idle machine; only a defect of the kernel takes this long */
#define PATIENCE_MS 20000

static void pause_ms(unsigned int *waited)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	igt_assert_lt((*waited)++, PATIENCE_MS);
	nanosleep(&ms, NULL);
}

void igt_perfctr_wait_unread(const struct igt_perfctr_session *s, uint64_t samples)
{
	for (unsigned int waited = 0; igt_perfctr_unread(s) < samples;)
		pause_ms(&waited);
}

void igt_perfctr_wait_merged(struct igt_perfctr_session *s)
{
	for (unsigned int waited = 0; !igt_perfctr_status(s).pending_merged;)
		pause_ms(&waited);
}

void igt_perfctr_await_batched(struct igt_perfctr_session *s, bool batched)
{
	for (unsigned int waited = 0; igt_perfctr_is_batched(s) != batched;) {
		igt_perfctr_drain(s);
		pause_ms(&waited);
	}
}

const struct drm_perfctr_sample_header *igt_perfctr_slot(const struct igt_perfctr_session *s,
							 uint64_t index)
{
	const uint32_t slot = (DRM_PERFCTR_RING_FIRST + index) & (s->layout.slots - 1);

	return (const void *)(s->ring + (uint64_t)slot * s->layout.slot_stride);
}

const struct drm_perfctr_block_header *
igt_perfctr_next_block(const struct drm_perfctr_sample_header *h,
		       const struct drm_perfctr_block_header *b)
{
	return b ? (const void *)((const char *)b + b->size) :
		   (const void *)((const char *)h + h->header_size);
}

const struct drm_perfctr_running_times *igt_perfctr_times(const struct drm_perfctr_block_header *b)
{
	igt_assert(b->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES);
	return (const void *)(b + 1);
}

const struct drm_perfctr_pmu_identity *
igt_perfctr_identity(const struct drm_perfctr_block_header *b)
{
	igt_assert(b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY);
	return (const void *)(igt_perfctr_times(b) + 1);
}

const struct drm_perfctr_block_span *igt_perfctr_span(const struct drm_perfctr_block_header *b)
{
	igt_assert(b->format & DRM_PERFCTR_FORMAT_SPAN);
	return (const void *)(igt_perfctr_identity(b) + 1);
}

/*
 * Formats: none, RUNNING_TIMES, RUNNING_TIMES | PMU_IDENTITY | SPAN. Later ones only add to a
 * block, behind these.
 */
static void check_format(const struct drm_perfctr_block_header *b)
{
	const bool later = b->format & ~(DRM_PERFCTR_FORMAT_RUNNING_TIMES |
					 DRM_PERFCTR_FORMAT_PMU_IDENTITY | DRM_PERFCTR_FORMAT_SPAN);
	const bool times = b->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	const bool pmu = b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY;
	const unsigned int stored = __builtin_popcountll(b->enable_mask);
	const unsigned int header = sizeof(*b) +
				    (times ? sizeof(struct drm_perfctr_running_times) : 0) +
				    (pmu ? sizeof(struct drm_perfctr_pmu_identity) +
						     sizeof(struct drm_perfctr_block_span) :
					   0);
	const unsigned int counts = (times ? 2 : 1) * stored * sizeof(uint64_t);

	igt_assert(times || !pmu);
	igt_assert_eq(!!(b->format & DRM_PERFCTR_FORMAT_SPAN), pmu);
	igt_assert(later ? header <= b->header_size : header == b->header_size);
	igt_assert(later ? b->header_size + counts <= b->size : b->header_size + counts == b->size);
}

static void check_timestamp(struct igt_perfctr_session *s,
			    const struct drm_perfctr_sample_header *h)
{
	if (!h->gpu_epoch) {
		igt_assert_eq_u64(h->gpu_timestamp, 0);
		return;
	}
	igt_assert(s->dev->info.features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP);
	if (h->gpu_epoch == s->gpu_epoch)
		igt_assert_lte_u64(s->gpu_timestamp, h->gpu_timestamp);
	s->gpu_epoch = h->gpu_epoch;
	s->gpu_timestamp = h->gpu_timestamp;
}

/* spans of a block adjoin, and end in their samples or before */
static void check_span(struct igt_perfctr_session *s, struct igt_perfctr_sum *sum,
		       const struct drm_perfctr_sample_header *h,
		       const struct drm_perfctr_block_header *b)
{
	const struct drm_perfctr_block_span *span;

	if (!(b->format & DRM_PERFCTR_FORMAT_SPAN))
		return;
	span = igt_perfctr_span(b);
	igt_assert_lte_u64(span->start_ns, span->end_ns);
	igt_assert_lte_u64(span->end_ns, h->end_ns);
	if (sum->span_end_ns && h->start_ns == s->last.end_ns)
		igt_assert_eq_u64(span->start_ns, sum->span_end_ns);
	if (h->end_ns - span->end_ns <= INT32_MAX)
		igt_assert_eq_u64(span->end_ns, h->end_ns + b->capture_ns);
	sum->span_end_ns = span->end_ns;
}

static void add_block(struct igt_perfctr_session *s, unsigned int n,
		      const struct drm_perfctr_sample_header *h,
		      const struct drm_perfctr_block_header *b)
{
	const uint64_t *values = (const void *)((const char *)b + b->header_size);
	const struct drm_perfctr_running_times *times = NULL;
	const bool is_pmu = b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY;
	unsigned int stored = __builtin_popcountll(b->enable_mask);
	struct igt_perfctr_sum *sum = &s->sums[n];
	unsigned int i = 0;

	check_format(b);
	check_span(s, sum, h, b);
	igt_assert_eq_u64(b->valid_mask & ~b->enable_mask, 0);
	if (!s->samples) {
		sum->type = b->type;
		sum->index = b->index;
		sum->section = b->section;
		sum->format = b->format;
		sum->mask = b->enable_mask;
		sum->valid = ~0ull;
		sum->saturated_cycles = ~0ull;
	}
	igt_assert_eq(sum->type, b->type);
	igt_assert_eq(sum->index, b->index);
	igt_assert_eq(sum->section, b->section);
	igt_assert_eq(sum->format, b->format);
	igt_assert_eq_u64(sum->mask, b->enable_mask);

	sum->valid &= b->valid_mask;
	sum->states |= b->states;
	sum->cycles += b->clock_cycles;
	if (b->states & DRM_PERFCTR_STATE_SATURATED && b->clock_cycles < sum->saturated_cycles)
		sum->saturated_cycles = b->clock_cycles;
	if (b->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES) {
		times = igt_perfctr_times(b);
		sum->time_enabled += times->time_enabled;
		sum->time_running += times->time_running;
	}
	for (unsigned int bit = 0; bit < DRM_PERFCTR_SECTION_COUNTERS; bit++) {
		if (!(b->enable_mask >> bit & 1))
			continue;
		/* not measured: zero */
		if (!(b->valid_mask >> bit & 1))
			igt_assert_eq_u64(values[i], 0);
		if (times && !is_pmu) {
			igt_assert_lte_u64(times->time_running, values[stored + i]);
			igt_assert_lte_u64(values[stored + i], times->time_enabled);
			/* valid exactly if it ran, except in a suspended block */
			if (!(b->states & DRM_PERFCTR_STATE_OFF))
				igt_assert_eq(!!(b->valid_mask >> bit & 1), !!values[stored + i]);
			sum->running[bit] += values[stored + i];
		}
		sum->value[bit] += values[i++];
	}
}

static void add_sample(struct igt_perfctr_session *s, const struct drm_perfctr_sample_header *h)
{
	const char *at = (const char *)h + h->header_size;

	igt_assert_eq_u32(h->size, s->layout.sample_size);
	igt_assert_lte(sizeof(*h), h->header_size);
	igt_assert_eq(h->header_size % 8, 0);
	igt_assert_eq(h->block_count, s->layout.block_count);
	igt_assert_lte(h->block_count, IGT_PERFCTR_MAX_BLOCKS);
	igt_assert_eq_u64(h->seq, s->samples);
	check_timestamp(s, h);
	igt_assert_lte_u64(h->start_ns, h->end_ns);
	if (s->samples && !s->restarted)
		igt_assert_eq_u64(h->start_ns, s->last.end_ns);
	else if (s->samples)
		igt_assert_lte_u64(s->last.end_ns, h->start_ns);
	igt_assert_lte_u64(h->lost_ns, h->end_ns - h->start_ns);
	igt_assert_eq(h->merged_periods || h->merged_others,
		      !!(h->flags & DRM_PERFCTR_SAMPLE_STRETCHED));

	for (unsigned int n = 0; n < h->block_count; n++) {
		const struct drm_perfctr_block_header *b = (const void *)at;

		add_block(s, n, h, b);
		at += b->size;
	}
	igt_assert_eq(at - (const char *)h, h->size);

	if (!s->samples)
		s->first = *h;
	s->last = *h;
	/* START may only follow a final sample */
	s->restarted = h->flags & DRM_PERFCTR_SAMPLE_FINAL;
	s->samples++;
	if (h->flags & DRM_PERFCTR_SAMPLE_MANUAL)
		s->manual_data = h->user_data;
	s->manual += !!(h->flags & DRM_PERFCTR_SAMPLE_MANUAL);
	s->periodic += !!(h->flags & DRM_PERFCTR_SAMPLE_PERIODIC);
	s->automatic += !!(h->flags & DRM_PERFCTR_SAMPLE_AUTOMATIC);
	s->in_stream += !!(h->flags & DRM_PERFCTR_SAMPLE_IN_STREAM);
	s->final += !!(h->flags & DRM_PERFCTR_SAMPLE_FINAL);
	s->merged += h->merged_periods;
	s->merged_others += h->merged_others;
	s->lost_ns += h->lost_ns;
	s->flags |= h->flags;
}

unsigned int igt_perfctr_drain(struct igt_perfctr_session *s)
{
	unsigned int n = 0;

	while (igt_perfctr_unread(s)) {
		igt_assert_lte_u64(igt_perfctr_unread(s), s->layout.slots);
		add_sample(s, igt_perfctr_slot(s, s->extract));
		igt_perfctr_free_slots(s, ++s->extract);
		n++;
	}
	return n;
}

void igt_perfctr_assert_status(struct igt_perfctr_session *s, bool active)
{
	struct drm_perfctr_status st = igt_perfctr_status(s);

	igt_assert_eq_u32(st.flags, active ? DRM_PERFCTR_STATUS_ACTIVE : 0);
	igt_assert_eq_u32(st.slots, s->layout.slots);
	igt_assert_eq_u64(st.published, igt_perfctr_published(s));
	igt_assert_eq_u64(st.published, s->samples + igt_perfctr_unread(s));
	/* as of the last sample or command */
	igt_assert_lte_u64(st.extract_idx - DRM_PERFCTR_RING_FIRST, s->extract);
	igt_assert_eq_u32(st.insert_idx - DRM_PERFCTR_RING_FIRST, st.published);
	if (!igt_perfctr_unread(s)) {
		igt_assert_eq_u64(st.merged_periods, s->merged);
		igt_assert_eq_u64(st.merged_others, s->merged_others);
		igt_assert_eq_u64(st.lost_ns, s->lost_ns);
	}
	igt_assert_eq_u64(st.errors, 0);
	igt_assert_eq_u64(st.overflows, 0);
	igt_assert_eq_u64(st.resets, 0);
	igt_assert_eq_u64(st.bad_extract, 0);
}

void igt_perfctr_begin(struct igt_perfctr_session *s)
{
	igt_perfctr_session_open(s);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
}

void igt_perfctr_begin_with(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev,
			    uint32_t slots, uint64_t period_ns)
{
	igt_perfctr_session_open_with(s, dev, slots, period_ns);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
}

void igt_perfctr_finish(struct igt_perfctr_session *s)
{
	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_perfctr_drain(s);
}

void igt_perfctr_sample_and_drain(struct igt_perfctr_session *s)
{
	igt_assert_eq(igt_perfctr_sample(s, 1), 0);
	igt_perfctr_drain(s);
}

void igt_perfctr_sample_with_room(struct igt_perfctr_session *s)
{
	int ret;

	do {
		igt_perfctr_drain(s);
		ret = igt_perfctr_sample(s, 1);
	} while (ret == -ENOSPC);
	igt_assert_eq(ret, 0);
}

uint64_t igt_perfctr_value(const struct drm_perfctr_sample_header *h, uint16_t type, uint16_t index,
			   uint16_t counter)
{
	const char *at = (const char *)h + h->header_size;

	for (unsigned int n = 0; n < h->block_count; n++) {
		const struct drm_perfctr_block_header *b = (const void *)at;
		const uint64_t *values = (const void *)(at + b->header_size);
		uint64_t bit = 1ull << counter % DRM_PERFCTR_SECTION_COUNTERS;

		if (b->type == type && b->index == index &&
		    b->section == counter / DRM_PERFCTR_SECTION_COUNTERS && b->enable_mask & bit)
			return values[__builtin_popcountll(b->enable_mask & (bit - 1))];
		at += b->size;
	}
	igt_assert_f(false, "sample has no counter %u of block %u:%u\n", counter, type, index);
	return 0;
}

void igt_perfctr_clear_sums(struct igt_perfctr_session *s)
{
	for (unsigned int b = 0; b < s->layout.block_count; b++)
		memset(s->sums[b].value, 0, sizeof(s->sums[b].value));
}

uint64_t igt_perfctr_sum(const struct igt_perfctr_session *s, uint16_t type, uint16_t index,
			 uint16_t counter)
{
	for (unsigned int i = 0; i < s->layout.block_count; i++) {
		const struct igt_perfctr_sum *sum = &s->sums[i];

		if (sum->type == type && sum->index == index &&
		    sum->section == counter / DRM_PERFCTR_SECTION_COUNTERS &&
		    sum->mask >> counter % DRM_PERFCTR_SECTION_COUNTERS & 1)
			return sum->value[counter % DRM_PERFCTR_SECTION_COUNTERS];
	}
	igt_assert_f(false, "session has no counter %u of block %u:%u\n", counter, type, index);
	return 0;
}

struct igt_perfctr_session igt_perfctr_two_slots(const struct igt_perfctr_device *dev)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, dev);
	s.params.slots = 2;
	return s;
}
