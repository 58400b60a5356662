// SPDX-License-Identifier: MIT
/*
 * Sessions of a local device. They follow the contract of perfctr_drm.h. The core's own code
 * (core.c) writes ring and blocks; a thread replaces the kernel's timer.
 */
#include "sessions.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "local/perf_events.h"
#include "kernel.h"

#include "format/perfctr_ring.h"
#include "format/pmu_block.h"

/* a block of the samples; its counters are consecutive in events.counters */
struct host_block {
	struct perfctr_view view;
	struct perfctr_pmu_block pmu;
	size_t first;
	u64 asleep_mask; /* counters whose process slept since the last collection */
	u64 *words; /* base, totals, enabled, running, base_enabled, base_running of each counter */
};

struct host_session {
	const struct perfctr_sys *sys;
	/* serialises the caller's commands and the thread */
	pthread_mutex_t lock;
	pthread_t thread;
	struct perf_events events;
	struct host_block *blocks;
	size_t block_count;
	u32 sample_bytes, watermark;
	struct perfctr_ring ring;
	void *memory;
	size_t memory_bytes;
	/* eventfd of the program, and the eventfd that wakes the thread */
	int eventfd, wake;
	u64 period_ns, user_data;
	/* START, the end of the last sample and of the last periodic one, periods since START */
	u64 start_ns, end_ns, tick_ns, periods;
	struct drm_perfctr_status status;
};

static u64 round_up(u64 value, u64 to)
{
	return (value + to - 1) / to * to;
}

/* --- samples ---------------------------------------------------------------------- */

/*
 * Read the counters into the blocks. Return: CLOCK_MONOTONIC_RAW of the read.
 * @starts: the next counts begin with what is known, even of a counter that cannot be read now
 */
static u64 collect(struct host_session *s, bool starts)
{
	u64 now = perf_events_read(&s->events);

	for (size_t n = 0; n < s->block_count; n++) {
		struct perfctr_pmu_block *pmu = &s->blocks[n].pmu;
		u64 mask = s->blocks[n].view.mask;
		unsigned int open_count = 0;

		s->blocks[n].asleep_mask = 0;
		for (unsigned int i = 0; i < pmu->count; i++, mask &= mask - 1) {
			struct local_counter *c = &s->events.counters[s->blocks[n].first + i];

			if (!c->incomplete || starts) {
				pmu->totals[i] = c->sum[0];
				pmu->enabled[i] = c->sum[1];
				pmu->running[i] = c->sum[2];
				if (c->asleep)
					s->blocks[n].asleep_mask |= mask & -mask;
			} else if (c->is_level) {
				pmu->totals[i] = 0;
			}
			pmu->states |= c->states;
			pmu->identity.cpu = c->open_cpu;
			open_count += c->open_count;
			c->states = 0;
			c->incomplete = false;
		}
		if (open_count != pmu->count)
			pmu->identity.cpu = DRM_PERFCTR_CPU_ANY;
		pmu->time_ns = now;
	}
	return now;
}

static void update_status(struct host_session *s)
{
	s->status.published = s->ring.published;
	s->status.insert_idx = s->ring.insert;
	s->status.extract_idx = s->ring.extract;
	s->status.bad_extract = s->ring.bad_extract;
}

/* Add the periods that ended by @now to the pending ones of the next sample. */
static u64 count_periods(struct host_session *s, u64 now)
{
	u64 ended = s->period_ns ? (now - s->start_ns) / s->period_ns - s->periods : 0;

	s->periods += ended;
	s->status.pending_merged += ended;
	return ended;
}

static void signal_program(struct host_session *s)
{
	const uint64_t one = 1;

	s->status.wakeups++;
	if (s->eventfd >= 0)
		s->sys->write(s->sys->data, s->eventfd, &one, sizeof(one));
}

/* Publish the counts since the last sample. There is a free slot, and collect() was just called. */
static void publish(struct host_session *s, u64 end_ns, u32 flags, u64 user_data)
{
	struct drm_perfctr_sample_header header = {
		.size = s->sample_bytes,
		.header_size = sizeof(header),
		.block_count = (u16)s->block_count,
		.seq = s->ring.published,
		.start_ns = s->end_ns,
		.end_ns = end_ns,
		.user_data = user_data,
		.flags = flags,
	};
	char *slot = drm_perfctr_ring_slot(&s->ring);
	void *at = slot + sizeof(header);
	u32 states = 0, unread;

	for (size_t n = 0; n < s->block_count; n++) {
		struct drm_perfctr_block_header *block = at;

		/* a level is no difference */
		if (s->events.counters[s->blocks[n].first].is_level)
			*s->blocks[n].view.base = 0;
		at = drm_perfctr_pmu_layout(at, &s->blocks[n].view, &header, &states);
		/* the zero of a process that slept is a count, which took no time */
		block->valid_mask |= s->blocks[n].asleep_mask;
	}
	/* not the whole span, which the layout assumes; a loss may be found after its sample */
	if (s->events.span_lost)
		s->events.lost_ns = max(s->events.lost_ns, end_ns - s->end_ns);
	header.lost_ns = min(s->events.lost_ns, end_ns - s->start_ns);
	s->events.lost_ns = 0;
	s->events.span_lost = false;
	s->status.lost_ns += header.lost_ns;
	if (flags & DRM_PERFCTR_SAMPLE_PERIODIC)
		s->status.pending_merged--;
	header.merged_periods =
		s->status.pending_merged > UINT32_MAX ? UINT32_MAX : (u32)s->status.pending_merged;
	s->status.pending_merged -= header.merged_periods;
	s->status.merged_periods += header.merged_periods;
	if (header.merged_periods)
		header.flags |= DRM_PERFCTR_SAMPLE_STRETCHED;
	if (states & DRM_PERFCTR_STATE_MULTIPLEXED)
		header.flags |= DRM_PERFCTR_SAMPLE_MULTIPLEXED;
	*(struct drm_perfctr_sample_header *)slot = header;
	s->end_ns = end_ns;
	unread = drm_perfctr_ring_publish(&s->ring);
	/* a reader that the final sample wakes must not see an active session */
	if (flags & DRM_PERFCTR_SAMPLE_FINAL)
		drm_perfctr_ring_set_state(&s->ring, 0);
	if (unread >= s->watermark || flags & DRM_PERFCTR_SAMPLE_FINAL)
		signal_program(s);
	update_status(s);
}

static bool is_active(const struct host_session *s)
{
	return s->status.flags & DRM_PERFCTR_STATUS_ACTIVE;
}

/* Call with the lock held. Return: ns until the next period ends. */
static u64 tick(struct host_session *s)
{
	u64 now = perfctr_time_raw_ns();

	/*
	 * the next sample has the counts if there is no slot (one is for STOP), or if the last one
	 * was late: in the short rest of this period the moments of reading would decide the rates
	 */
	if (count_periods(s, now) && drm_perfctr_ring_free(&s->ring) >= 2 &&
	    now - s->tick_ns >= s->period_ns / 2) {
		s->tick_ns = collect(s, false);
		publish(s, s->tick_ns, DRM_PERFCTR_SAMPLE_PERIODIC, s->user_data);
	}
	update_status(s);
	now = perfctr_time_raw_ns() - s->start_ns;
	return now < (s->periods + 1) * s->period_ns ? (s->periods + 1) * s->period_ns - now : 0;
}

static void *sampler(void *arg)
{
	struct host_session *s = arg;

	prctl(PR_SET_NAME, "perfctr-local");
	/* precise sleeps; the default slack is 50 us */
	prctl(PR_SET_TIMERSLACK, 1ul);
	pthread_mutex_lock(&s->lock);
	while (is_active(s)) {
		u64 left_ns = tick(s);

		pthread_mutex_unlock(&s->lock);
		s->sys->poll(s->sys->data, s->wake, (int64_t)left_ns);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- commands --------------------------------------------------------------------- */

static int start_thread(struct host_session *s)
{
	sigset_t all, before;
	int error;

	/* leave signals to the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&s->thread, NULL, sampler, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void end_thread(struct host_session *s)
{
	uint64_t value = 1;

	if (!s->period_ns)
		return;
	s->sys->write(s->sys->data, s->wake, &value, sizeof(value));
	pthread_join(s->thread, NULL);
	s->sys->read(s->sys->data, s->wake, &value, sizeof(value));
}

int host_session_start(struct host_session *s, uint64_t user_data)
{
	int error = 0;

	if (is_active(s))
		return -EALREADY;
	if (!drm_perfctr_ring_free(&s->ring))
		return -ENOSPC;
	error = perf_events_start(&s->events);
	if (error)
		return error;
	s->user_data = user_data;
	s->start_ns = s->end_ns = s->tick_ns = collect(s, true);
	s->periods = s->status.pending_merged = 0;
	for (size_t n = 0; n < s->block_count; n++) {
		drm_perfctr_pmu_baseline(&s->blocks[n].view);
		s->blocks[n].pmu.states = 0;
	}
	s->events.lost_ns = 0;
	s->events.span_lost = false;
	s->status.flags |= DRM_PERFCTR_STATUS_ACTIVE;
	drm_perfctr_ring_set_state(&s->ring, DRM_PERFCTR_RING_ACTIVE);
	if (s->period_ns)
		error = start_thread(s);
	if (error) {
		perf_events_stop(&s->events);
		s->status.flags = 0;
		drm_perfctr_ring_set_state(&s->ring, 0);
	}
	return error;
}

int host_session_sample(struct host_session *s, uint64_t user_data)
{
	int error = 0;

	pthread_mutex_lock(&s->lock);
	if (!is_active(s)) {
		error = -ENOTCONN;
	} else if (drm_perfctr_ring_free(&s->ring) < 2) {
		s->status.ring_full++;
		error = -ENOSPC;
	} else {
		u64 now = collect(s, false);

		count_periods(s, now);
		publish(s, now, DRM_PERFCTR_SAMPLE_MANUAL, user_data);
	}
	update_status(s);
	pthread_mutex_unlock(&s->lock);
	return error;
}

int host_session_stop(struct host_session *s, uint64_t user_data)
{
	u64 now;

	pthread_mutex_lock(&s->lock);
	if (!is_active(s)) {
		pthread_mutex_unlock(&s->lock);
		return -EALREADY;
	}
	s->events.ends = true;
	now = collect(s, false);
	s->events.ends = false;
	perf_events_stop(&s->events);
	count_periods(s, now);
	drm_perfctr_ring_free(&s->ring);
	s->status.flags &= ~(u32)DRM_PERFCTR_STATUS_ACTIVE;
	publish(s, now, DRM_PERFCTR_SAMPLE_FINAL, user_data);
	pthread_mutex_unlock(&s->lock);
	end_thread(s);
	return 0;
}

void host_session_status(struct host_session *s, struct drm_perfctr_status *status)
{
	pthread_mutex_lock(&s->lock);
	*status = s->status;
	pthread_mutex_unlock(&s->lock);
}

/* --- OPEN ------------------------------------------------------------------------- */

static int check_request(const struct drm_perfctr_block_request *r)
{
	const u32 known = DRM_PERFCTR_REQUEST_AVAILABLE | DRM_PERFCTR_REQUEST_PMU |
			  LOCAL_REQUEST_FLAGS;

	if (r->pad || r->pad2 || r->flags & ~known || !r->mask || r->set ||
	    r->index == DRM_PERFCTR_INDEX_ALL || r->cpu < DRM_PERFCTR_CPU_ANY ||
	    (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU && (r->mask != 1 || r->section)))
		return -EINVAL;
	/* the device has only perf PMUs */
	return request_is_pmu(r) ? 0 : -ENXIO;
}

static int check(const struct session_setup *setup)
{
	const struct drm_perfctr_block_request *r = setup->requests;
	const u32 absent = DRM_PERFCTR_OPEN_KEEP_AWAKE | DRM_PERFCTR_OPEN_AUTOMATIC;

	if (setup->flags & ~(absent | DRM_PERFCTR_OPEN_CHECK | PERFCTR_SESSION_SKIP_UNSUPPORTED))
		return -EINVAL;
	if (setup->flags & absent)
		return -EOPNOTSUPP;
	if (!setup->request_count || !setup->slots || setup->slots & (setup->slots - 1) ||
	    setup->watermark > setup->slots)
		return -EINVAL;
	if (setup->slots > HOST_MAX_SLOTS ||
	    (setup->period_ns &&
	     (setup->period_ns < HOST_MIN_PERIOD_NS || setup->period_ns > HOST_MAX_PERIOD_NS)))
		return -ERANGE;
	if (setup->request_count > HOST_MAX_REQUESTS)
		return -E2BIG;
	for (u32 n = 0; n < setup->request_count; n++) {
		int error = check_request(&r[n]);

		if (error)
			return error;
	}
	return 0;
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
		desc = perfctr_counter_at(DRM_PERFCTR_TEGRA410_PRODUCT, r->type, 0,
					  r->section * DRM_PERFCTR_SECTION_COUNTERS + bit);
		if (!desc)
			return -ENXIO;
		c->config |= desc->event;
	}
	s->events.counter_count++;
	return 0;
}

static int add_block(struct host_session *s, const struct drm_perfctr_block_request *r)
{
	struct host_block *b = &s->blocks[s->block_count];
	bool generic = r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU;
	size_t count = hweight64(r->mask);
	u64 *words = calloc(6 * count, sizeof(*words));
	int error = words ? 0 : -ENOMEM;

	*b = (struct host_block){
		.view = { .mask = r->mask,
			  .section = r->section,
			  .format = PERFCTR_PMU_FORMAT,
			  .pmu = &b->pmu,
			  .base = words },
		.pmu = { .type = r->type,
			 .index = r->index,
			 .product = generic ? DRM_PERFCTR_PRODUCT_PERF_PMU :
					      DRM_PERFCTR_TEGRA410_PRODUCT,
			 .count = (unsigned int)count,
			 .identity = { .config = r->config,
				       .config1 = r->config1,
				       .config2 = r->config2,
				       .pmu_type = r->pmu_type } },
		.first = s->events.counter_count,
		.words = words,
	};
	s->block_count++;
	for (u64 mask = r->mask; !error && mask; mask &= mask - 1)
		error = add_counter(s, r, __ffs64(mask));
	if (error)
		return error;
	b->pmu.totals = words + count;
	b->pmu.enabled = words + 2 * count;
	b->pmu.running = words + 3 * count;
	b->pmu.base_enabled = words + 4 * count;
	b->pmu.base_running = words + 5 * count;
	s->sample_bytes += drm_perfctr_view_size(&b->view);
	return 0;
}

static int add_blocks(struct perfctr_ctx *ctx, struct host_session *s,
		      const struct session_setup *setup)
{
	const struct drm_perfctr_block_request *r = setup->requests;
	size_t counters = 0;
	int error = 0;

	for (u32 n = 0; n < setup->request_count; n++)
		counters += hweight64(r[n].mask);
	s->blocks = calloc(setup->request_count, sizeof(*s->blocks));
	s->events.counters = calloc(counters, sizeof(*s->events.counters));
	if (!s->blocks || !s->events.counters)
		return -ENOMEM;
	s->sample_bytes = sizeof(struct drm_perfctr_sample_header);
	for (u32 n = 0; !error && n < setup->request_count; n++)
		error = add_block(s, &r[n]);
	if (!error)
		error = perf_events_open(ctx, &s->events);
	for (size_t n = 0; !error && n < s->block_count; n++)
		memcpy(s->blocks[n].pmu.identity.pmu_name,
		       s->events.counters[s->blocks[n].first].pmu, DRM_PERFCTR_PMU_NAME_BYTES);
	return error;
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
		.block_count = (u32)s->block_count,
		.ring_offset = (u32)page,
		.map_bytes = (u32)(page + bytes),
	};
	return 0;
}

int host_session_open(struct perfctr_ctx *ctx, pid_t task, int cgroup, struct session_setup *setup,
		      struct host_session **session, bool *explained)
{
	struct host_session *s;
	int error = check(setup);

	if (error)
		return error;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->sys = s->events.sys = ctx->sys;
	s->eventfd = s->wake = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->events.task = task < 0 ? -task : task;
	s->events.from_exec = task < 0;
	s->events.skips_unsupported = setup->flags & PERFCTR_SESSION_SKIP_UNSUPPORTED;
	s->events.cgroup = cgroup < 0 ? -1 : ctx->sys->dup(ctx->sys->data, cgroup);
	error = cgroup >= 0 && s->events.cgroup < 0 ? s->events.cgroup : 0;
	if (!error)
		error = add_blocks(ctx, s, setup);
	*explained = error && s->events.explained;
	if (!error)
		error = lay_out(s, setup);
	s->period_ns = setup->period_ns;
	s->events.slow_ns = s->period_ns / 8;
	s->watermark = setup->watermark ? setup->watermark : 1;
	if (s->watermark == setup->slots && setup->slots > 1)
		s->watermark--;
	s->status.slots = setup->slots;
	if (!error && !(setup->flags & DRM_PERFCTR_OPEN_CHECK))
		error = make_ring(s, setup);
	if (!error && !(setup->flags & DRM_PERFCTR_OPEN_CHECK))
		*session = s;
	else
		host_session_free(s);
	return error;
}

void host_session_free(struct host_session *s)
{
	const struct perfctr_sys *sys = s->sys;

	if (is_active(s)) {
		pthread_mutex_lock(&s->lock);
		s->status.flags = 0;
		pthread_mutex_unlock(&s->lock);
		end_thread(s);
	}
	/* another process may still read the ring */
	if (s->memory) {
		drm_perfctr_ring_set_state(&s->ring, DRM_PERFCTR_RING_DEAD);
		sys->munmap(sys->data, s->memory, s->memory_bytes);
	}
	if (s->wake >= 0)
		sys->close(sys->data, s->wake);
	perf_events_close(&s->events);
	for (size_t n = 0; n < s->block_count; n++)
		free(s->blocks[n].words);
	free(s->blocks);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
