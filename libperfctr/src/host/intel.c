// SPDX-License-Identifier: MIT
/*
 * Counters of Intel's GPUs: the OA unit writes a report with cumulative counters into a buffer each
 * millisecond, or faster for short samples, which a stream of the driver i915 or xe gives. A stream
 * holds the only OA unit of the machine's GPU, and keeps the GPU out of RC6, so that it never
 * sleeps while it is counted.
 *
 * Counts are differences of reports. A lost report costs nothing, as the next one has its counts.
 * If the driver had to start the unit again, or counters may have wrapped between two reports, the
 * time between them is lost.
 *
 * What is counted is a list of registers that the driver keeps under a uuid, for all programs and
 * until it is unloaded. It is left there: the next program finds it.
 */
#include "intel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intel_devices.h"
#include "intel_ioctls.h"

#include "../../counters/intel/oa_lists.h"
#include "../../counters/intel/perfctr_intel.h"

#define NS_PER_MS UINT64_C(1000000)
/* longest and shortest time between two reports; the buffer has room for 2.4 s of the largest */
#define PERIOD_NS NS_PER_MS
#define LEAST_NS UINT64_C(100000)
/* reports in a sample: a collection waits for two or three */
#define REPORTS 8
/* in which no counter of 32 bits wraps: bytes of the L3 cache, at most 512 in a clock of 4 GHz */
#define WRAP_NS (60 * NS_PER_MS)
/* no GPU is faster */
#define CLOCKS_PER_NS 4
#define CLOCKS_SLACK 100000

enum {
	COUNTERS = 37,
	MOST_WAITS = 100, /* for a report, of PERIOD_NS at most */
	MOST_EXPONENT = 31,
	NOT_SUPPORTED = 524, /* ENOTSUPP, which the kernel does not translate */
};

static const struct intel_generation gen12 = {
	DRM_PERFCTR_INTEL_PRODUCT_GEN12, &oa_a32u40, &gen12_list, 7, COUNTERS,
};
static const struct intel_generation xe_lpg = {
	DRM_PERFCTR_INTEL_PRODUCT_XE_LPG, &oa_a24u40, &xe_lpg_list, 8, COUNTERS,
};
static const struct intel_generation xe2 = {
	DRM_PERFCTR_INTEL_PRODUCT_XE2, &oa_pec64, &xe2_list, 8, COUNTERS,
};

static const struct intel_generation *const generations[INTEL_PLATFORMS] = {
	[INTEL_TIGER_LAKE] = &gen12,  [INTEL_ROCKET_LAKE] = &gen12, [INTEL_ALDER_LAKE] = &gen12,
	[INTEL_RAPTOR_LAKE] = &gen12, [INTEL_DG1] = &gen12,	    [INTEL_METEOR_LAKE] = &xe_lpg,
	[INTEL_ARROW_LAKE] = &xe_lpg, [INTEL_LUNAR_LAKE] = &xe2,    [INTEL_BATTLEMAGE] = &xe2,
};

static struct intel *intel_of(struct drm_perfctr_source *source)
{
	return (struct intel *)host_source_of(source);
}

int intel_ioctl(const struct intel *i, int fd, unsigned long request, void *argument)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;

	return sys->ioctl(sys->data, fd, request, argument);
}

/* --- the configuration ---------------------------------------------------------------- */

struct search {
	const struct intel *i;
	const char *folder;
	u32 config;
};

static int look_at_card(void *arg, const char *name)
{
	struct search *s = arg;
	char path[PATH_BYTES], text[16];

	if (strncmp(name, "card", 4) != 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%.32s/metrics/%s/id", s->folder, name,
		 s->i->generation->list->uuid);
	if (perfctr_sys_read_text(s->i->hs.host->ctx->sys, path, text, sizeof(text)) > 0)
		s->config = (u32)strtoul(text, NULL, 10);
	return 0;
}

/* The number under which the driver has the list. Return: 0 it has not. */
static u32 find_config(const struct intel *i)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;
	char folder[PATH_BYTES / 2], sysfs[64];
	struct search s = { .i = i, .folder = folder };

	if (host_find_sysfs(i->hs.host, sysfs, sizeof(sysfs)))
		return 0;
	snprintf(folder, sizeof(folder), "%s/device/drm", sysfs);
	sys->list(sys->data, folder, look_at_card, &s);
	return s.config;
}

static int take_config(struct intel *i)
{
	int config;

	i->config = find_config(i);
	if (i->config)
		return 0;
	config = i->calls->add_config(i);
	/* another program was faster */
	if (config == -EADDRINUSE)
		i->config = find_config(i);
	else if (config > 0)
		i->config = (u32)config;
	if (!i->config && config == -EADDRINUSE) {
		snprintf(i->why, sizeof(i->why),
			 "%s has the list of what to count, but sysfs does not show its number: "
			 "mount /sys",
			 i->hs.host->driver->name);
		i->hs.why = i->why;
	}
	return i->config ? 0 : config < 0 ? config : -EPROTO;
}

/* --- the stream ----------------------------------------------------------------------- */

static u64 ns_of(const struct intel *i, u64 ticks)
{
	return ticks / i->hz * NS_PER_S + ticks % i->hz * NS_PER_S / i->hz;
}

/* of reports, as sessions need it */
static u64 period_of(const struct intel *i)
{
	const u64 period_ns = i->hs.extension.period_ns;

	return period_ns ? clamp_t(u64, period_ns / REPORTS, LEAST_NS, PERIOD_NS) : PERIOD_NS;
}

static void set_period(struct intel *i)
{
	i->period_ns = period_of(i);
	i->exponent = 0;
	while (i->exponent < MOST_EXPONENT && ns_of(i, UINT64_C(4) << i->exponent) <= i->period_ns)
		i->exponent++;
}

static void close_stream(struct intel *i)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;

	if (i->stream >= 0)
		sys->close(sys->data, i->stream);
	i->stream = -1;
}

/* A device that was removed refuses all calls so, and i915 a stream that it cannot have, too. */
static bool is_gone(const struct intel *i)
{
	struct drm_version version = { 0 };

	return intel_ioctl(i, i->hs.host->fd, DRM_IOCTL_VERSION, &version) == -ENODEV;
}

/* Open a stream that does not count yet. */
static int open_stream(struct intel *i)
{
	int error;

	i->hs.why = NULL;
	set_period(i);
	error = i->config ? 0 : take_config(i);
	if (!error)
		i->stream = i->calls->open(i);
	/* who removed the list? */
	if (!error && i->stream == -EINVAL) {
		error = take_config(i);
		if (!error)
			i->stream = i->calls->open(i);
	}
	if (!error && i->stream < 0)
		error = i->stream;
	if (error) {
		i->stream = -1;
		i->config = 0;
	}
	if (error == -NOT_SUPPORTED || (error == -ENODEV && !is_gone(i))) {
		snprintf(i->why, sizeof(i->why), "%s has no OA unit that it offers on this machine",
			 i->hs.host->driver->name);
		i->hs.why = i->why;
		error = -EOPNOTSUPP;
	}
	return error;
}

static int start_stream(struct intel *i)
{
	int error = open_stream(i);

	if (error)
		return error;
	i->bytes = i->at = 0;
	i->has_last = i->time.has_offset = false;
	i->ticks = 0;
	error = intel_ioctl(i, i->stream, INTEL_STREAM_ENABLE, NULL);
	if (error)
		close_stream(i);
	return error;
}

/* Permission and another owner: by a stream that ends at once. */
static int intel_prepare(struct drm_perfctr_source *source)
{
	struct intel *i = intel_of(source);
	int error = open_stream(i);

	close_stream(i);
	return error;
}

static int intel_start(struct drm_perfctr_source *source, u8 set)
{
	struct intel *i = intel_of(source);

	close_stream(i);
	i->counted_ns = perfctr_time_raw_ns();
	return start_stream(i);
}

static void intel_stop(struct drm_perfctr_source *source)
{
	close_stream(intel_of(source));
}

/* For shorter samples there are faster reports, and none for a moment. */
static void intel_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct intel *i = intel_of(source);

	if (i->stream < 0 || i->period_ns <= period_of(i))
		return;
	close_stream(i);
	start_stream(i);
}

/* --- reports -------------------------------------------------------------------------- */

static u64 raw_difference(const struct intel *i, unsigned int raw, const struct oa_values *to)
{
	const u64 clocks = oa_difference(i->generation->format, OA_CLOCKS, &i->last, to);

	switch (raw) {
	case OA_EU_CLOCKS:
		return clocks * i->eus;
	case OA_THREAD_CLOCKS:
		return clocks * i->eus * i->generation->eu_threads;
	default:
		return oa_difference(i->generation->format, raw, &i->last, to);
	}
}

static void add_counts(struct intel *i, const struct oa_values *to,
		       struct drm_perfctr_collection *c)
{
	const struct oa_list *list = i->generation->list;
	u64 *totals = drm_perfctr_block_totals(&i->hs.source, 0);

	for (size_t n = 0; n < list->equation_count; n++) {
		const struct oa_equation *e = &list->equations[n];
		u64 sum = 0;

		for (unsigned int k = 0; k < e->count; k++)
			sum += raw_difference(i, e->raws[k], to);
		totals[e->position] += sum * e->factor;
	}
	c->clock_cycles[0] += raw_difference(i, OA_CLOCKS, to);
}

/* Whether the difference to the last report is what was counted between them. */
static bool is_continued(const struct intel *i, const struct oa_values *to, u64 ticks,
			 struct drm_perfctr_collection *c)
{
	const struct oa_format *format = i->generation->format;
	u64 ns;

	if (!i->has_last)
		return false;
	ns = ns_of(i, ticks);
	if (format->is_64 ? to->timestamp < i->last.timestamp : ns > WRAP_NS)
		return false;
	/* a unit that was reset counts from 0 again, which looks as if it had wrapped */
	if (oa_difference(format, OA_CLOCKS, &i->last, to) <= ns * CLOCKS_PER_NS + CLOCKS_SLACK)
		return true;
	c->flags |= DRM_PERFCTR_SAMPLE_RESET;
	return false;
}

static void add_report(struct intel *i, const void *report, struct drm_perfctr_collection *c)
{
	const u64 now = perfctr_time_raw_ns();
	struct oa_values to;
	u64 ticks, time_ns;
	bool continued;

	oa_decode(i->generation->format, report, &to);
	ticks = to.timestamp - i->last.timestamp;
	if (!i->generation->format->is_64)
		ticks = (u32)ticks;
	continued = is_continued(i, &to, ticks, c);
	if (continued)
		i->ticks += ticks;
	else
		i->time.has_offset = false;
	time_ns = max(stream_time_raw_ns(&i->time, ns_of(i, i->ticks), now), i->counted_ns);
	if (continued)
		add_counts(i, &to, c);
	else
		c->lost_ns += time_ns - i->counted_ns;
	i->last = to;
	i->has_last = true;
	i->counted_ns = time_ns;
}

/* The last report is too old to tell how often its timestamp has wrapped since. */
static bool may_have_wrapped(const struct intel *i)
{
	const u64 age_ns = perfctr_time_raw_ns() - i->counted_ns;

	return !i->generation->format->is_64 && age_ns > ns_of(i, UINT64_C(1) << 31);
}

static void note_restart(struct intel *i, bool *restarted, struct drm_perfctr_collection *c)
{
	if (!*restarted)
		return;
	*restarted = i->has_last = false;
	c->flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
}

/* Take over what there is. Return: 0, or an errno. */
static int drain(struct intel *i, struct drm_perfctr_collection *c)
{
	bool overflow = false;
	const void *report;
	ssize_t got;

	while ((got = i->calls->read(i, &overflow)) > 0) {
		bool restarted = false;

		if (overflow)
			c->flags |= DRM_PERFCTR_SAMPLE_OVERFLOW;
		if (overflow && may_have_wrapped(i))
			i->has_last = false;
		overflow = false;
		i->bytes = (size_t)got;
		i->at = 0;
		while ((report = i->calls->next(i, &restarted))) {
			note_restart(i, &restarted, c);
			add_report(i, report, c);
		}
		note_restart(i, &restarted, c);
	}
	return (int)got;
}

/* Take over what there is until a report is surely younger than the call. Return: 0 or an errno. */
static int await_report(struct intel *i, struct drm_perfctr_collection *c)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;
	/* times of reports may be too late by a period, and by the time until one is read */
	const u64 wanted_ns = perfctr_time_raw_ns() + 2 * i->period_ns;
	u64 wait_ns = i->period_ns;
	int error = drain(i, c);

	/* this process may be late, too: so many waits, not so much time */
	for (unsigned int waits = 0; !error && waits < MOST_WAITS; waits++) {
		if (i->has_last && i->counted_ns >= wanted_ns)
			return 0;
		error = min(sys->poll(sys->data, &i->stream, 1, (int64_t)wait_ns), 0);
		error = error ? error : drain(i, c);
		wait_ns = min(2 * wait_ns, PERIOD_NS);
	}
	c->incomplete = !i->has_last || i->counted_ns < wanted_ns;
	return error;
}

static int intel_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct intel *i = intel_of(source);
	const u64 from_ns = i->counted_ns;
	int error = i->stream < 0 ? start_stream(i) : 0;

	error = error ? error : await_report(i, c);
	if (error) {
		close_stream(i);
		return error == -ENODEV ? error : -EIO;
	}
	/* the next one may have the counts */
	if (i->counted_ns == from_ns) {
		i->hs.why = "the OA unit has written no report for a tenth of a second";
		return -ETIMEDOUT;
	}
	c->time_ns = i->counted_ns;
	c->gpu_timestamp = i->last.timestamp;
	c->has_gpu_timestamp = i->has_last;
	drm_perfctr_block_report(source, 0,
				 DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_AVAILABLE |
					 DRM_PERFCTR_STATE_NORMAL,
				 i->desc.available);
	return 0;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = intel_prepare,
	.start = intel_start,
	.stop = intel_stop,
	.collect = intel_collect,
	.reset = intel_stop,
};

/* --- description ---------------------------------------------------------------------- */

static void describe_block(struct intel *i)
{
	const struct oa_list *list = i->generation->list;

	i->desc = (struct drm_perfctr_block_desc){
		.type = DRM_PERFCTR_INTEL_BLOCK_OA,
		.counters = i->generation->counters,
		.product = i->generation->product,
		.sets = 1u << DRM_PERFCTR_SET_PRIMARY,
	};
	for (size_t n = 0; n < list->equation_count; n++)
		if (list->equations[n].raws[0] <= OA_CLOCKS || i->eus)
			i->desc.available[0] |= BIT_ULL(list->equations[n].position);
}

static int refuse_device(const struct intel *i)
{
	struct host *host = i->hs.host;
	const char *name = intel_name_of(i->device_id);

	return perfctr_fail(host->ctx, -EOPNOTSUPP,
			    "%s: perfctr does not know the OA counters of %s, PCI device 8086:%04x "
			    "of %s, but those of Tiger, Rocket, Alder and Raptor Lake, DG1, Meteor "
			    "and Arrow Lake, Lunar Lake and Battlemage",
			    host->path, name ? name : "this GPU", i->device_id, host->driver->name);
}

static int identify(struct intel *i)
{
	struct host *host = i->hs.host;
	int error = i->calls->identify(i);
	enum intel_platform platform = intel_platform_of(i->device_id);

	if (error == -ENOTTY)
		return error;
	if (error)
		return perfctr_fail(host->ctx, error, "%s: %s does not describe its GPU: %s",
				    host->path, host->driver->name, strerror(-error));
	i->generation = generations[platform];
	if (!i->generation)
		return refuse_device(i);
	if (!i->hz || (!strcmp(host->driver->name, "i915") && !i->generation->format->of_i915))
		return perfctr_fail(host->ctx, -EOPNOTSUPP,
				    "%s: this %s has no OA unit for %s that perfctr knows",
				    host->path, host->driver->name, intel_name_of(i->device_id));
	snprintf(i->name, sizeof(i->name), "%s", intel_name_of(i->device_id));
	return 0;
}

int intel_probe(struct host *host, const struct intel_calls *calls)
{
	struct intel *i = calloc(1, sizeof(*i));
	int error;

	if (!i)
		return perfctr_no_memory(host->ctx);
	host->driver_data = i;
	i->calls = calls;
	i->hs.host = host;
	i->hs.wake_fd = i->stream = -1;
	i->hs.needs = calls->needs;
	i->hs.stream_name = calls->stream_name;
	error = identify(i);
	if (error)
		return error;
	describe_block(i);
	i->clock = (struct drm_perfctr_clock_desc){ .name = "gpu" };
	host->config.name = i->name;
	host->config.gpu_id = i->device_id;
	host->config.product = i->generation->product;
	host->config.sets = 1;
	host->config.clocks = &i->clock;
	host->config.clock_count = 1;
	host->config.timestamp_hz = i->hz;
	host->config.timestamp_bits = i->generation->format->is_64 ? 64 : 32;
	i->hs.source.name = host->driver->name;
	i->hs.source.ops = &source_ops;
	i->hs.extension.select = intel_select;
	i->hs.source.descs = &i->desc;
	i->hs.source.block_count = 1;
	/* long before the buffer is full, and 32-bit timestamps wrap */
	i->hs.source.max_interval_ns = 2 * NS_PER_S;
	return host_add_source(host, &i->hs) ? perfctr_no_memory(host->ctx) : 0;
}

void intel_remove(struct host *host)
{
	free(host->driver_data);
}
