// SPDX-License-Identifier: MIT
/* OPEN of a session that this process counts, and what it allocates. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sessions.h"
#include "session_state.h"
#include "kernel.h"

static u64 round_up(u64 value, u64 to)
{
	return (value + to - 1) / to * to;
}

static int check_pmu_request(const struct drm_perfctr_block_request *r)
{
	return r->set || r->index == DRM_PERFCTR_INDEX_ALL || r->cpu < DRM_PERFCTR_CPU_ANY ||
			       (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU &&
				(r->mask != 1 || r->section)) ?
		       -EINVAL :
		       0;
}

static int check_request(const struct host *host, const struct drm_perfctr_block_request *r)
{
	const u32 known = DRM_PERFCTR_REQUEST_AVAILABLE | DRM_PERFCTR_REQUEST_PMU |
			  LOCAL_REQUEST_FLAGS;

	if (r->pad || r->pad2 || r->flags & ~known || !r->mask)
		return -EINVAL;
	if (request_is_pmu(r))
		return check_pmu_request(r);
	if (!host->source_count)
		return r->set ? -EINVAL : -ENXIO;
	if (r->cpu || r->pmu_type || r->config || r->config1 || r->config2 ||
	    r->flags & LOCAL_REQUEST_FLAGS)
		return -EINVAL;
	if (r->set >= 32 || !((host->config.sets | 1) >> r->set & 1))
		return -EOPNOTSUPP;
	return r->section < PERFCTR_SECTIONS_MAX ? 0 : -ENXIO;
}

/* The counters of the device's blocks are of one set. */
static int check_sets(const struct session_setup *setup, u8 *set)
{
	const struct drm_perfctr_block_request *first = NULL;

	for (u32 n = 0; n < setup->request_count; n++) {
		const struct drm_perfctr_block_request *r = &setup->requests[n];

		if (request_is_pmu(r))
			continue;
		if (first && first->set != r->set)
			return -EINVAL;
		first = r;
	}
	*set = first ? first->set : DRM_PERFCTR_SET_PRIMARY;
	return 0;
}

static int check_flags(const struct host *host, u32 flags)
{
	if (flags & ~(DRM_PERFCTR_OPEN_KEEP_AWAKE | DRM_PERFCTR_OPEN_AUTOMATIC |
		      DRM_PERFCTR_OPEN_CHECK | PERFCTR_SESSION_SKIP_UNSUPPORTED))
		return -EINVAL;
	/* of a source that keeps it awake anyway */
	if (flags & DRM_PERFCTR_OPEN_KEEP_AWAKE &&
	    !(host->config.features & DRM_PERFCTR_FEATURE_KEEP_AWAKE))
		return -EOPNOTSUPP;
	return flags & DRM_PERFCTR_OPEN_AUTOMATIC ? -EOPNOTSUPP : 0;
}

static int check(const struct host *host, const struct session_setup *setup)
{
	int error = check_flags(host, setup->flags);

	if (error)
		return error;
	if (!setup->request_count || !setup->slots || setup->slots & (setup->slots - 1) ||
	    setup->watermark > setup->slots)
		return -EINVAL;
	if (setup->slots > HOST_MAX_SLOTS ||
	    (setup->period_ns &&
	     (setup->period_ns < HOST_MIN_PERIOD_NS || setup->period_ns > HOST_MAX_PERIOD_NS)))
		return -ERANGE;
	if (setup->request_count > HOST_MAX_REQUESTS)
		return -E2BIG;
	for (u32 n = 0; !error && n < setup->request_count; n++)
		error = check_request(host, &setup->requests[n]);
	return error;
}

/* Add one counter, bit @bit of the request. Return: 0; -ENXIO the type has no such counter. */
static int add_counter(struct host_session *s, const struct drm_perfctr_block_request *r,
		       unsigned int bit)
{
	struct local_counter *c = &s->events.counters[s->events.counter_count];
	const struct perfctr_counter_desc *desc;

	*c = (struct local_counter){
		.pmu_type = r->pmu_type,
		.config = r->config,
		.config1 = r->config1,
		.config2 = r->config2,
		.cpu = r->cpu,
		.flags = r->flags & LOCAL_REQUEST_FLAGS,
		.is_level = r->flags & LOCAL_REQUEST_LEVEL,
	};
	if (r->type != DRM_PERFCTR_BLOCK_GENERIC_PMU) {
		desc = perfctr_counter_at(product_of_pmu(r->type), r->type, 0,
					  r->section * DRM_PERFCTR_SECTION_COUNTERS + bit);
		if (!desc)
			return -ENXIO;
		c->config |= desc->event;
	}
	s->events.counter_count++;
	return 0;
}

static int add_pmu_block(struct host_session *s, const struct drm_perfctr_block_request *r)
{
	struct host_block *b = &s->views.blocks[s->views.count];
	size_t count = hweight64(r->mask);
	u64 *words = calloc(6 * count, sizeof(*words));
	int error = words ? 0 : -ENOMEM;

	*b = (struct host_block){
		.view = { .header = { .type = r->type,
				      .index = r->index,
				      .section = (u8)r->section,
				      .format = PERFCTR_PMU_FORMAT,
				      .clock = DRM_PERFCTR_CLOCK_NONE,
				      .enable_mask = r->mask,
				      .product = product_of_pmu(r->type) },
			  .pmu = &b->pmu,
			  .base = words },
		.pmu = { .type = r->type,
			 .index = r->index,
			 .count = (unsigned int)count,
			 .identity = { .config = r->config,
				       .config1 = r->config1,
				       .config2 = r->config2,
				       .pmu_type = r->pmu_type } },
		.first = s->events.counter_count,
		.words = words,
	};
	s->views.count++;
	for (u64 mask = r->mask; !error && mask; mask &= mask - 1)
		error = add_counter(s, r, __ffs64(mask));
	if (error)
		return error;
	b->pmu.totals = words + count;
	b->pmu.enabled = words + 2 * count;
	b->pmu.running = words + 3 * count;
	b->pmu.base_enabled = words + 4 * count;
	b->pmu.base_running = words + 5 * count;
	return 0;
}

static int add_blocks(struct host_session *s, const struct session_setup *setup)
{
	const struct drm_perfctr_block_request *r = setup->requests;
	struct host_views *views = &s->views;
	size_t counters = 0, blocks = 0;
	int error = check_sets(setup, &views->set);

	for (u32 n = 0; n < setup->request_count; n++) {
		counters += request_is_pmu(&r[n]) ? hweight64(r[n].mask) : 0;
		blocks += host_views_room(s->host, &r[n]);
	}
	if (error || blocks > UINT16_MAX)
		return error ? error : -E2BIG;
	views->blocks = calloc(blocks + 1, sizeof(*views->blocks));
	s->events.counters = calloc(counters + 1, sizeof(*s->events.counters));
	if (!views->blocks || !s->events.counters)
		return -ENOMEM;
	for (u32 n = 0; !error && n < setup->request_count; n++)
		error = request_is_pmu(&r[n]) ? add_pmu_block(s, &r[n]) :
						host_views_add(s->host, views, &r[n]);
	if (!error && !views->count)
		error = -EINVAL;
	if (!error && counters)
		error = perf_events_open(s->host->ctx, &s->events);
	host_views_add_times(views);
	s->sample_bytes = sizeof(struct drm_perfctr_sample_header);
	for (size_t n = 0; !error && n < views->count; n++) {
		struct host_block *b = &views->blocks[n];

		s->sample_bytes += drm_perfctr_view_complete(&b->view);
		if (b->view.pmu)
			memcpy(b->pmu.identity.pmu_name, s->events.counters[b->first].pmu,
			       DRM_PERFCTR_PMU_NAME_BYTES);
	}
	return error;
}

/* Return: 0 or the error of a source, the reason is kept. */
static int prepare_sources(struct host_session *s)
{
	while (s->prepared < s->views.span_count) {
		struct host_source *hs = s->views.spans[s->prepared].source;
		int error = host_source_prepare(hs);

		if (error)
			return host_refuse(hs, error);
		s->prepared++;
	}
	return 0;
}

/* File descriptors for the program: the ring and its eventfd. */
static int make_ring(struct host_session *s, struct session_setup *setup)
{
	const struct perfctr_sys *sys = s->sys;
	int error;

	s->wake = sys->eventfd(sys->data);
	if (s->wake < 0)
		return s->wake;
	s->eventfd = setup->eventfd = sys->eventfd(sys->data);
	if (s->eventfd < 0)
		return s->eventfd;
	s->memory_bytes = setup->layout.map_bytes;
	setup->ring_fd = sys->memfd(sys->data, "perfctr-ring", s->memory_bytes);
	error = setup->ring_fd;
	if (error >= 0)
		error = sys->mmap(sys->data, setup->ring_fd, 0, s->memory_bytes, true, &s->memory);
	if (error < 0) {
		s->memory = NULL;
		sys->close(sys->data, s->eventfd);
		if (setup->ring_fd >= 0)
			sys->close(sys->data, setup->ring_fd);
		setup->eventfd = setup->ring_fd = -1;
		return error;
	}
	drm_perfctr_ring_init(&s->ring, (char *)s->memory + setup->layout.ring_offset, s->memory,
			      &setup->layout);
	return 0;
}

static int lay_out(const struct host_session *s, struct session_setup *setup)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	const u64 stride = round_up(s->sample_bytes, DRM_PERFCTR_SLOT_ALIGN);
	const u64 bytes = round_up(setup->slots * stride, page);

	if (bytes > HOST_MAX_RING_BYTES)
		return -ERANGE;
	setup->layout = (struct drm_perfctr_layout){
		.slots = setup->slots,
		.slot_stride = (u32)stride,
		.sample_size = s->sample_bytes,
		.block_count = (u32)s->views.count,
		.ring_offset = (u32)page,
		.map_bytes = (u32)(page + bytes),
	};
	return 0;
}

void host_session_discard(struct host_session *s)
{
	const struct perfctr_sys *sys = s->sys;

	while (s->prepared)
		host_source_unprepare(s->views.spans[--s->prepared].source);
	/* another process may still read the ring */
	if (s->memory) {
		drm_perfctr_ring_set_state(&s->ring, DRM_PERFCTR_RING_DEAD);
		sys->munmap(sys->data, s->memory, s->memory_bytes);
	}
	if (s->wake >= 0)
		sys->close(sys->data, s->wake);
	perf_events_close(&s->events);
	for (size_t n = 0; n < s->views.count; n++)
		free(s->views.blocks[n].words);
	free(s->views.blocks);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct host_session *new_session(struct host *host, const struct session_setup *setup)
{
	struct host_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->host = host;
	s->sys = s->events.sys = host->ctx->sys;
	s->eventfd = s->wake = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->events.from_exec = host->from_exec;
	s->events.are_threads = host->are_threads;
	s->events.skips_unsupported = setup->flags & PERFCTR_SESSION_SKIP_UNSUPPORTED;
	s->events.cgroup = -1;
	s->period_ns = setup->period_ns;
	s->events.slow_ns = s->period_ns / 8;
	s->views.period_ns = s->period_ns;
	s->views.keeps_awake = setup->flags & DRM_PERFCTR_OPEN_KEEP_AWAKE;
	s->watermark = setup->watermark ? setup->watermark : 1;
	if (s->watermark == setup->slots && setup->slots > 1)
		s->watermark--;
	s->status.slots = setup->slots;
	return s;
}

static int build(struct host_session *s, struct session_setup *setup)
{
	struct host *host = s->host;
	int error = perf_events_count_tasks(&s->events, host->tasks, host->task_count);

	if (error)
		return error;
	if (host->cgroup >= 0)
		s->events.cgroup = s->sys->dup(s->sys->data, host->cgroup);
	if (host->cgroup >= 0 && s->events.cgroup < 0)
		return s->events.cgroup;
	if (host->cpus)
		error = cpu_list_copy(host->cpus, &s->events.only);
	if (error)
		return error;
	error = host->gone ? -ENODEV : add_blocks(s, setup);
	host->explained = error && s->events.explained;
	if (!error)
		error = lay_out(s, setup);
	if (error || setup->flags & DRM_PERFCTR_OPEN_CHECK)
		return error;
	error = prepare_sources(s);
	if (error) {
		host->explained = true;
		return error;
	}
	error = make_ring(s, setup);
	/* the advice about open files is the caller's */
	if (error && error != -EMFILE) {
		host->explained = true;
		perfctr_fail(host->ctx, error, "cannot create the ring of %llu bytes: %s%s",
			     (unsigned long long)setup->layout.map_bytes, strerror(-error),
			     error == -EFBIG ? "; \"ulimit -f\" is the limit" : "");
	}
	return error;
}

int host_session_open(struct host *host, struct session_setup *setup, struct host_session **session)
{
	struct host_session *s;
	int error = check(host, setup);

	if (error)
		return error;
	s = new_session(host, setup);
	if (!s)
		return -ENOMEM;
	error = build(s, setup);
	if (!error && !(setup->flags & DRM_PERFCTR_OPEN_CHECK))
		*session = s;
	else
		host_session_discard(s);
	return error;
}
