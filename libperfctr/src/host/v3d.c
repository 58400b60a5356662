// SPDX-License-Identifier: MIT
/*
 * Counters of V3D GPUs (Raspberry Pi 4 and 5) through v3d's global performance monitor.
 *
 * Drivers had three behaviours, which no version distinguishes: without a global monitor (6.12);
 * with one that each read stops until the next job; with one that counts on (7.3), which is needed
 * here. A read then adds each register to a sum, the first slot first, and clears all at the end:
 * what happens in between is lost. The first and the last slot count cycles, whose difference is a
 * measured bound of it. Registers have 32 bits and wrap unseen. Suspends lose nothing, resets do.
 *
 * All who may open the node may set the monitor, or clear that of others, whose reads succeed
 * nevertheless. DESTROY ends ours and never another's, so nothing here uses CLEAR. While there is a
 * global monitor, a program that submits jobs with one of its own hangs: v3d_watch.h, v3d_guard.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters/catalogue.h"
#include "host.h"
#include "kernel.h"
#include "v3d_guard.h"
#include "v3d_ioctls.h"
#include "v3d_watch.h"

#include "../../counters/v3d/perfctr_v3d.h"

#define NEEDS                                                                                   \
	"the right to see all programs' files, as root and \"perfctr serve\" of root have it: " \
	"while v3d counts for all, a program with performance monitors of its own hangs, and "  \
	"only who sees it can end that"
#define NO_GLOBAL                                                                         \
	"this kernel's v3d has no counters for all programs (Linux 7.3 has); the device " \
	"\"local\" has the engines' times"
#define STOPS                                                                                      \
	"this kernel's v3d stops counting at each read, until the next job (Linux 7.3 does not); " \
	"the device \"local\" has the engines' times"
#define NO_PROCESS                                                                                \
	"counting needs a second process, perfctr-guard, but there are as many processes as are " \
	"allowed: raise the limit (\"ulimit -u\", TasksMax= of a service, pids.max of a cgroup)"

enum {
	SECTIONS = 2,
	/* without the two of cycles, which are counted if they are not wanted, too */
	MOST_EVENTS = V3D_MAX_SLOTS - 2,
	/* reads that must all have counted cycles since the one before */
	PAIRS = 8,
	NAME_MAX_CHARS = 48,
	/* longest time awake between the reads of times and of counters */
	AWAKE_MS = 10,
	/* in which a job that was refused starts */
	RELEASE_MS = 25,
	NS_PER_MS = 1000000,
	/* times have milliseconds: while cycles are counted, more looks have no use */
	LOOK_NS = 10 * NS_PER_MS,
};

static const unsigned int limits[] = { MOST_EVENTS };

/* a bus of 17 GB/s wraps a counter of bytes in 250 ms; reads below 50 ms keep the GPU awake */
#define WRAP_NS UINT64_C(250000000)
#define INTERVAL_NS UINT64_C(200000000)
#define TURN_NS UINT64_C(60000000)

struct times {
	uint64_t awake_ms, asleep_ms;
	bool known;
};

struct v3d {
	struct host_source hs;
	struct drm_perfctr_block_desc desc;
	char sysfs[64]; /* folder of the node while it exists */
	u8 cycles; /* number of the event */
	bool counts_on; /* the driver does, after a read */
	struct v3d_watch *watch;
	struct v3d_guard guard;
	u64 guarded_ns; /* when the guard was there */
	bool ended; /* a program would hang */
	char why[192];

	u64 wanted[SECTIONS];
	/* the monitor: events of its slots, 0: none */
	u32 id;
	u8 slots[V3D_MAX_SLOTS];
	unsigned int count;
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS]; /* events of the slots */
	u64 last[V3D_MAX_SLOTS];
	u64 resets;
	struct times times; /* at the last look, which was at @looked_ns */
	u64 looked_ns;
	/* when cycles were counted last; the last look at times up to then, and when that was */
	u64 counted_ns, awake_ms, awake_ns;
	bool replaced; /* none were, while the GPU was awake */
	u64 time_ns; /* up to which counts are in the totals, or reported as lost */
	u64 gap_ns; /* in which no monitor counted since */
};

static const struct {
	unsigned int product;
	const char *name;
	u64 id;
} products[] = {
	{ DRM_PERFCTR_V3D_PRODUCT_42, "V3D 4.2", 42 },
	{ DRM_PERFCTR_V3D_PRODUCT_71, "V3D 7.1", 71 },
};

static struct v3d *v3d_of(struct drm_perfctr_source *source)
{
	return (struct v3d *)host_source_of(source);
}

/* --- the driver ------------------------------------------------------------------- */

static int call(const struct host *host, unsigned long request, void *argument)
{
	return host->ctx->sys->ioctl(host->ctx->sys->data, host->fd, request, argument);
}

static int get_param(const struct host *host, enum v3d_param which, u64 *value)
{
	struct v3d_get_param param = { .param = which };
	int error = call(host, V3D_GET_PARAM, &param);

	*value = param.value;
	return error;
}

static int read_slots(const struct v3d *v, u64 *values)
{
	struct v3d_perfmon_get_values get = { .id = v->id, .values_ptr = (uintptr_t)values };

	return call(v->hs.host, V3D_PERFMON_GET_VALUES, &get);
}

/* 0: it is set now, so it was not; -EBUSY: there is one, ours or another's */
static int set_global(const struct v3d *v)
{
	struct v3d_perfmon_set_global set = { .id = v->id };

	return call(v->hs.host, V3D_PERFMON_SET_GLOBAL, &set);
}

static void destroy(struct v3d *v)
{
	struct v3d_perfmon_destroy argument = { .id = v->id };

	if (v->id)
		call(v->hs.host, V3D_PERFMON_DESTROY, &argument);
	v->id = 0;
	v3d_guard_beat(&v->guard, 0);
}

static int begin_guard(struct v3d *v)
{
	int error = v3d_guard_begin(&v->guard, v->hs.host->ctx->sys, v->hs.host->fd);

	if (error == -EAGAIN)
		v->hs.why = NO_PROCESS;
	if (!error)
		v->guarded_ns = perfctr_time_raw_ns();
	return error;
}

static int create(struct v3d *v)
{
	struct v3d_perfmon_create argument = { .ncounters = v->count };
	int error = begin_guard(v);

	if (error)
		return error;
	memcpy(argument.counters, v->slots, v->count);
	error = call(v->hs.host, V3D_PERFMON_CREATE, &argument);
	if (error)
		return error;
	v->id = argument.id;
	v3d_guard_beat(&v->guard, v->id);
	memset(v->last, 0, sizeof(v->last));
	error = set_global(v);
	if (error)
		destroy(v);
	return error;
}

static bool read_ms(const struct v3d *v, const char *name, uint64_t *ms)
{
	char path[PATH_BYTES], text[32];

	snprintf(path, sizeof(path), "%s/device/power/%s", v->sysfs, name);
	if (perfctr_sys_read_text(v->hs.host->ctx->sys, path, text, sizeof(text)) <= 0)
		return false;
	*ms = strtoull(text, NULL, 10);
	return true;
}

static struct times read_times(const struct v3d *v)
{
	struct times t = { 0 };

	t.known = read_ms(v, "runtime_active_time", &t.awake_ms) &&
		  read_ms(v, "runtime_suspended_time", &t.asleep_ms);
	return t;
}

static void begin_times(struct v3d *v)
{
	v->times = read_times(v);
	v->looked_ns = v->counted_ns = v->awake_ns = v->time_ns = perfctr_time_raw_ns();
	v->awake_ms = v->times.awake_ms;
	v->replaced = false;
}

/* --- the operations --------------------------------------------------------------- */

/* Cycles, what is wanted, cycles. */
static void choose_slots(struct v3d *v)
{
	v->count = 0;
	v->slots[v->count++] = v->cycles;
	for (unsigned int i = 0; i < SECTIONS; i++)
		for (u64 mask = v->wanted[i]; mask; mask &= mask - 1) {
			u8 event = (u8)(i * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask));

			if (event != v->cycles)
				v->slots[v->count++] = event;
		}
	v->slots[v->count++] = v->cycles;
	memset(v->valid, 0, sizeof(v->valid));
	for (unsigned int i = 1; i < v->count; i++)
		v->valid[v->slots[i] / DRM_PERFCTR_SECTION_COUNTERS] |=
			BIT_ULL(v->slots[i] % DRM_PERFCTR_SECTION_COUNTERS);
}

static void end_counting(struct v3d *v)
{
	destroy(v);
	v3d_guard_end(&v->guard);
}

static int v3d_start(struct drm_perfctr_source *source, u8 set)
{
	struct v3d *v = v3d_of(source);
	int error;

	if (!host_is_there(v->hs.host))
		return -ENODEV;
	destroy(v);
	choose_slots(v);
	error = create(v);
	if (!error)
		error = get_param(v->hs.host, V3D_RESETS, &v->resets);
	begin_times(v);
	v->gap_ns = 0;
	v->ended = false;
	v3d_watch_begin(v->watch);
	if (error)
		end_counting(v);
	return error;
}

static void v3d_stop(struct drm_perfctr_source *source)
{
	struct v3d *v = v3d_of(source);

	/* after an unbind the end of the file does it */
	if (host_is_there(v->hs.host))
		destroy(v);
	v3d_guard_end(&v->guard);
}

/* a monitor's events cannot be changed: there is none for a moment */
static void v3d_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct v3d *v = v3d_of(source);
	const bool counted = v->id;

	memcpy(v->wanted, wanted, sizeof(v->wanted));
	if (!counted || !host_is_there(v->hs.host))
		return;
	destroy(v);
	choose_slots(v);
	create(v);
	v->gap_ns = perfctr_time_raw_ns() - v->time_ns;
}

/* Two reads one after the other: the second must have counted cycles. */
static int check_reads(struct v3d *v)
{
	u64 ident, before, after;
	int error = get_param(v->hs.host, V3D_IDENT1, &ident);

	for (int i = 0; !error && i < PAIRS; i++) {
		error = read_slots(v, &before);
		error = error ? error : read_slots(v, &after);
		if (!error && after <= before) {
			v->hs.why = STOPS;
			return -EOPNOTSUPP;
		}
	}
	v->counts_on = !error;
	return error;
}

/* Only a SET shows whether the driver has a global monitor, and whether another's is set. */
static int v3d_prepare(struct drm_perfctr_source *source)
{
	struct v3d *v = v3d_of(source);
	int error;

	v->hs.why = NULL;
	if (!host_is_there(v->hs.host))
		return -ENODEV;
	if (!v3d_watch_allowed(v->hs.host->ctx->sys))
		return -EACCES;
	v->slots[0] = v->cycles;
	v->count = 1;
	error = create(v);
	if (error == -EINVAL || error == -ENOTTY) {
		v->hs.why = NO_GLOBAL;
		return -EOPNOTSUPP;
	}
	if (!error && !v->counts_on)
		error = check_reads(v);
	end_counting(v);
	return error;
}

/* Return: 0 there is a monitor; an errno: there was none, and none can be had. */
static int recover(struct v3d *v)
{
	int error;

	if (v->id)
		return 0;
	if (v->ended) {
		v->hs.why = v->why;
		return -EIO;
	}
	choose_slots(v);
	error = create(v);
	if (!error)
		v->gap_ns = perfctr_time_raw_ns() - v->time_ns;
	return error;
}

/*
 * A program that burns time without work for the GPU may hang because of us. It does if it goes on
 * as soon as nothing counts: then count no more, until somebody starts again.
 */
static void watch(struct v3d *v, u64 now)
{
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	struct host *host = v->hs.host;
	char text[64];

	if (!v3d_watch_look(v->watch, now, text, sizeof(text)))
		return;
	destroy(v);
	for (int ms = 0; ms < RELEASE_MS && !v->ended; ms++) {
		nanosleep(&pause, NULL);
		v->ended = v3d_watch_works(v->watch);
	}
	if (!v->ended) {
		recover(v);
		return;
	}
	snprintf(v->why, sizeof(v->why),
		 "counting has ended, as %s hung: it has performance monitors of its own, which "
		 "v3d refuses while it counts for all",
		 text);
	perfctr_log(host->ctx, PERFCTR_LOG_WARNING, "%s: %s", host->config.name, v->why);
}

/* Add what was counted. Return: cycles since the last read. */
static u64 add_counts(struct v3d *v, const u64 *values)
{
	u64 *restrict totals = drm_perfctr_block_totals(&v->hs.source, 0);
	const unsigned int count = v->count;

	/* the last slot has cycles, too, and loses least */
	for (unsigned int i = 1; i < count; i++)
		totals[v->slots[i]] += values[i] - v->last[i];
	return values[count - 1] - v->last[count - 1];
}

/* The part of @interval_ns in which the read did not count: from the first slot's to the clear. */
static u64 lost_in_read(const struct v3d *v, const u64 *values, u64 interval_ns)
{
	const u64 first = values[0] - v->last[0];
	const u64 last = values[v->count - 1] - v->last[v->count - 1];

	if (!last || last <= first)
		return 0;
	/* the clear comes one access after the last slot's */
	return (u64)((double)interval_ns * (double)(last - first) / (double)last * v->count /
		     (v->count - 1));
}

/* Another's monitor counts instead of ours: no cycles are counted while the GPU is awake. */
static bool is_replaced(struct v3d *v, u64 cycles, u64 now, const struct times *t)
{
	if (cycles) {
		v->replaced = false;
		v->counted_ns = now;
		if (t->known) {
			v->awake_ms = t->awake_ms;
			v->awake_ns = now;
		}
		return false;
	}
	if (!t->known || t->awake_ms == v->times.awake_ms)
		return false;
	/* at least so long since */
	if (t->awake_ms > v->awake_ms + (v->counted_ns - v->awake_ns) / NS_PER_MS + AWAKE_MS)
		v->replaced = true;
	return v->replaced;
}

/* Return: whether all counts of the interval may be wrong; sets flags of the collection. */
static bool is_untrusted(struct v3d *v, u64 cycles, u64 now, u64 interval_ns, const struct times *t,
			 struct drm_perfctr_collection *c)
{
	const bool slept = t->known && t->awake_ms == v->times.awake_ms;
	const bool replaced = is_replaced(v, cycles, now, t);
	u64 resets = v->resets;
	bool is_bad = false;

	if (get_param(v->hs.host, V3D_RESETS, &resets) || resets != v->resets) {
		c->flags |= DRM_PERFCTR_SAMPLE_RESET;
		is_bad = true;
	}
	v->resets = resets;
	/* it was taken from us, and is ours again; or it is another's, as no cycles are counted */
	if (!set_global(v) || replaced) {
		c->flags |= DRM_PERFCTR_SAMPLE_ERROR;
		is_bad = true;
	}
	return is_bad || (interval_ns > WRAP_NS && !slept);
}

static u32 power_states(const struct v3d *v, u64 cycles, const struct times *t)
{
	u32 states = DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL;

	if (cycles || !t->known || t->awake_ms != v->times.awake_ms)
		states |= DRM_PERFCTR_STATE_ON;
	if (t->known && t->asleep_ms != v->times.asleep_ms)
		states |= DRM_PERFCTR_STATE_OFF;
	return states;
}

static int v3d_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct v3d *v = v3d_of(source);
	u64 values[V3D_MAX_SLOTS];
	struct times times = { 0 };
	u64 now, interval_ns, cycles;
	bool looks;
	u32 states;
	int error;

	if (!host_is_there(v->hs.host))
		return -ENODEV;
	error = recover(v);
	if (error)
		return error;
	/* the guard ended ours if this process stood still */
	error = read_slots(v, values);
	now = perfctr_time_raw_ns();
	/* it may have been killed, as when memory ran out */
	if (!error && now - v->guarded_ns >= LOOK_NS)
		error = begin_guard(v);
	if (error) {
		destroy(v);
		return error;
	}
	v3d_guard_beat(&v->guard, v->id);
	interval_ns = now - v->time_ns;
	cycles = add_counts(v, values);
	looks = !cycles || now - v->looked_ns >= LOOK_NS;
	if (looks)
		times = read_times(v);
	states = power_states(v, cycles, &times);
	c->lost_ns = v->gap_ns + lost_in_read(v, values, interval_ns - v->gap_ns);
	if (is_untrusted(v, cycles, now, interval_ns, &times, c))
		c->lost_ns = interval_ns;
	if (c->lost_ns >= interval_ns)
		states |= DRM_PERFCTR_STATE_LOST;
	c->time_ns = now;
	memcpy(v->last, values, v->count * sizeof(*values));
	v->time_ns = now;
	v->gap_ns = 0;
	if (looks) {
		v->times = times;
		v->looked_ns = now;
	}
	drm_perfctr_block_report(source, 0, states, v->valid);
	watch(v, now);
	return 0;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = v3d_prepare,
	.start = v3d_start,
	.stop = v3d_stop,
	.collect = v3d_collect,
};

/* --- description ------------------------------------------------------------------ */

/* The name in the database: '_' for '-', and no "total" in what would be too long. */
static void page_name(const struct v3d_perfmon_get_counter *counter, char *name)
{
	char *total;

	snprintf(name, V3D_NAME_BYTES, "%.*s", V3D_NAME_BYTES - 1, (const char *)counter->name);
	for (char *at = name; *at; at++)
		if (*at == '-')
			*at = '_';
	total = strlen(name) > NAME_MAX_CHARS ? strstr(name, "_total") : NULL;
	if (total)
		memmove(total, total + strlen("_total"), strlen(total + strlen("_total")) + 1);
}

/*
 * The events that the driver and the database's product number alike. Gauges are not in it: the
 * driver adds them up. Return: their number; an error of the driver.
 */
static int match(struct v3d *v, unsigned int product, unsigned int events)
{
	int matches = 0;

	memset(v->desc.available, 0, sizeof(v->desc.available));
	for (unsigned int i = 0; i < events; i++) {
		struct v3d_perfmon_get_counter counter = { .counter = (u8)i };
		const struct perfctr_counter_desc *known;
		int error = call(v->hs.host, V3D_PERFMON_GET_COUNTER, &counter);
		char name[V3D_NAME_BYTES];

		if (error)
			return error;
		page_name(&counter, name);
		known = built_in_counter(product, DRM_PERFCTR_V3D_BLOCK_V3D, name);
		if (!known || known->position != i)
			continue;
		if (!strcmp(name, "cycle_count"))
			v->cycles = (u8)i;
		v->desc.available[i / DRM_PERFCTR_SECTION_COUNTERS] |=
			BIT_ULL(i % DRM_PERFCTR_SECTION_COUNTERS);
		matches++;
	}
	return matches;
}

static bool has_cycles(const struct v3d *v)
{
	return v->desc.available[v->cycles / DRM_PERFCTR_SECTION_COUNTERS] >>
		       v->cycles % DRM_PERFCTR_SECTION_COUNTERS &
	       1;
}

/* Which product it is, by the names of its events: asking for its version would wake it. */
static int describe_block(struct v3d *v)
{
	struct host *host = v->hs.host;
	u64 events;
	int error = get_param(host, V3D_MAX_COUNTERS, &events);

	for (size_t n = 0; !error && n < ARRAY_SIZE(products); n++) {
		int matches = events && events <= SECTIONS * DRM_PERFCTR_SECTION_COUNTERS ?
				      match(v, products[n].product, (unsigned int)events) :
				      0;

		if (matches < 0)
			error = matches;
		if (matches <= (int)events / 2 || !has_cycles(v))
			continue;
		host->config.name = products[n].name;
		host->config.gpu_id = products[n].id;
		host->config.product = v->desc.product = (u16)products[n].product;
		v->desc.counters = (u16)events;
		return 0;
	}
	/* kernels before 6.12 have no names */
	if (error == -EINVAL || error == -ENOTTY)
		return perfctr_fail(host->ctx, -ENOTTY, "%s: this kernel's v3d names no events",
				    host->path);
	if (error)
		return perfctr_fail(host->ctx, error, "%s: v3d does not describe its events: %s",
				    host->path, strerror(-error));
	return perfctr_fail(host->ctx, -EOPNOTSUPP,
			    "%s: this perfctr does not know the %llu events of this V3D",
			    host->path, (unsigned long long)events);
}

static int v3d_probe(struct host *host)
{
	struct v3d *v = calloc(1, sizeof(*v));
	int error;

	if (!v)
		return perfctr_no_memory(host->ctx);
	host->driver_data = v;
	v->hs.host = host;
	v->hs.wake_fd = -1;
	v->hs.needs = NEEDS;
	v->desc.type = DRM_PERFCTR_V3D_BLOCK_V3D;
	v->desc.sets = 1u << DRM_PERFCTR_SET_PRIMARY;
	v->desc.clock = DRM_PERFCTR_CLOCK_NONE;
	error = host_find_sysfs(host, v->sysfs, sizeof(v->sysfs));
	if (!error)
		error = describe_block(v);
	if (error)
		return error;
	host_watch_node(host, v->sysfs);
	v->watch = v3d_watch_new(host->ctx->sys);
	if (!v->watch)
		return perfctr_no_memory(host->ctx);
	host->config.sets = 1;
	host->config.features = DRM_PERFCTR_FEATURE_STATES;
	v->hs.source.name = "v3d";
	v->hs.source.ops = &source_ops;
	v->hs.extension.select = v3d_select;
	v->hs.source.descs = &v->desc;
	v->hs.source.block_count = 1;
	v->hs.source.max_interval_ns = INTERVAL_NS;
	v->hs.limits = limits;
	v->hs.turn_ns = TURN_NS;
	v->hs.collects_at_once = true;
	return host_add_source(host, &v->hs) ? perfctr_no_memory(host->ctx) : 0;
}

static void v3d_remove(struct host *host)
{
	struct v3d *v = host->driver_data;

	if (!v)
		return;
	v3d_guard_end(&v->guard);
	v3d_watch_free(v->watch);
	free(v);
}

const struct host_driver host_v3d = {
	.name = "v3d",
	.by_name = true,
	.probe = v3d_probe,
	.remove = v3d_remove,
};
