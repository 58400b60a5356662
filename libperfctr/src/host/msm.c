// SPDX-License-Identifier: MIT
/*
 * Counters of Adreno GPUs through streams of the driver msm: every period the driver writes a
 * record with the absolute values of the registers into a buffer, which is read here.
 *
 * Records are numbered. The number 0 means that something happened: a full buffer, whose counts the
 * next record includes, or a suspend or reset of the GPU, after which registers start again from 0.
 * A value that is smaller than the last one does not tell the two apart, as a register may have
 * become larger than that again. The driver's number of suspends does, see is_continued().
 *
 * A collection waits for a record that is younger than it, so that it includes all work that was
 * done before. While the GPU sleeps there are none. A record costs the GPU a moment out of its own
 * power saving, so the period is no shorter than the samples need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devfreq.h"
#include "host.h"
#include "kernel.h"
#include "msm_stream.h"
#include "stream_time.h"

#define NEEDS "CAP_PERFMON, which root and \"perfctr serve\" have"
#define GPU_DEVICES "/sys/bus/platform/drivers/adreno"
#define STREAM_NAME "anon_inode:[msm_perfcntrs]"

enum {
	SECTIONS = DRM_PERFCTR_BLOCK_INFO_SECTIONS,
	TIMESTAMP_HZ = 19200000,
};

/* until the first record, which the work before it may delay */
#define AWAKE_WAIT_NS NS_PER_S
/* the same if it is not known whether the GPU sleeps */
#define BLIND_WAIT_NS UINT64_C(20000000)
/* longest time without a collection: what a suspend after a full buffer costs */
#define BATCH_NS UINT64_C(250000000)
#define NS_PER_MS UINT64_C(1000000)
/* a new stream loses some milliseconds, until its first record */
#define TURN_NS UINT64_C(200000000)

struct msm {
	struct host_source hs;
	char name[32], why[192];
	struct drm_perfctr_clock_desc clock;
	struct host_devfreq devfreq;
	struct drm_perfctr_block_desc descs[PERFCTR_ADRENO_BLOCKS];
	unsigned int counters[PERFCTR_ADRENO_BLOCKS]; /* that a block has at a time */
	char power[PATH_BYTES]; /* folder of the GPU's device in sysfs; empty: unknown */

	u64 wanted[PERFCTR_ADRENO_BLOCKS][SECTIONS];
	struct msm_stream stream;
	u64 last[MSM_MOST_VALUES]; /* of the last record, if has_last */
	bool has_last;
	u32 seqno;
	u64 timestamp;
	/* suspends that surely happened before the last record */
	u64 suspends;
	/* CLOCK_MONOTONIC_RAW up to which counts are in the totals, or their time is lost */
	u64 counted_ns;
	u64 asleep_ms; /* time that the GPU has slept, at the end of the last collection */
	struct stream_time time;
};

/* in one collection */
struct reading {
	struct drm_perfctr_collection *c;
	u64 gap_ns; /* between records that do not belong together */
	int records;
	bool asleep;
	int error; /* of is_continued() */
};

static struct msm *msm_of(struct drm_perfctr_source *source)
{
	return (struct msm *)host_source_of(source);
}

/* --- the GPU's power ---------------------------------------------------------------- */

static bool read_power(const struct msm *m, const char *name, char *text, size_t size)
{
	char path[PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/power/%s", m->power, name);
	return *m->power && perfctr_sys_read_text(m->hs.host->ctx->sys, path, text, size) > 0;
}

static bool sleeps(const struct msm *m)
{
	char text[16];

	return read_power(m, "runtime_status", text, sizeof(text)) && !strcmp(text, "suspended");
}

static u64 read_asleep_ms(const struct msm *m)
{
	char text[32];

	return read_power(m, "runtime_suspended_time", text, sizeof(text)) ?
		       strtoull(text, NULL, 10) :
		       0;
}

struct search {
	struct msm *m;
	char path[PATH_BYTES];
	unsigned int found;
};

static int look_at_device(void *arg, const char *name)
{
	struct search *search = arg;
	char text[16];

	snprintf(search->m->power, sizeof(search->m->power), GPU_DEVICES "/%.64s", name);
	if (read_power(search->m, "runtime_status", text, sizeof(text))) {
		memcpy(search->path, search->m->power, sizeof(search->path));
		search->found++;
	}
	return 0;
}

/* Machines have one Adreno; of several it is not known which one the node has. */
static void find_power(struct msm *m)
{
	const struct perfctr_sys *sys = m->hs.host->ctx->sys;
	struct search search = { .m = m };

	sys->list(sys->data, GPU_DEVICES, look_at_device, &search);
	snprintf(m->power, sizeof(m->power), "%s", search.found == 1 ? search.path : "");
}

/* --- the stream ----------------------------------------------------------------------- */

/* counters of each block */
struct masks {
	u64 of[PERFCTR_ADRENO_BLOCKS][SECTIONS];
};

/* What the stream has. */
static struct masks masks_of(const struct msm *m)
{
	struct masks has = { 0 };

	for (unsigned int i = 0; i < m->stream.count; i++) {
		const struct msm_slot *slot = &m->stream.slots[i];

		has.of[slot->block][slot->position / DRM_PERFCTR_SECTION_COUNTERS] |=
			BIT_ULL(slot->position % DRM_PERFCTR_SECTION_COUNTERS);
	}
	return has;
}

static void add_counters(struct msm *m, unsigned int block, unsigned int section, u64 mask)
{
	for (; mask; mask &= mask - 1)
		msm_stream_add(&m->stream, block,
			       section * DRM_PERFCTR_SECTION_COUNTERS + __ffs64(mask));
}

/* Of each block the exact counters first: the last ones lack what others have reserved. */
static void choose(struct msm *m)
{
	m->stream.count = 0;
	for (unsigned int b = 0; b < m->hs.source.block_count; b++) {
		const u64 *exact = m->hs.state.turns.exact + b * SECTIONS;

		for (unsigned int i = 0; i < SECTIONS; i++)
			add_counters(m, b, i, m->wanted[b][i] & exact[i]);
		for (unsigned int i = 0; i < SECTIONS; i++)
			add_counters(m, b, i, m->wanted[b][i] & ~exact[i]);
	}
}

static u64 period_of(const struct msm *m)
{
	enum { RECORDS = 8, SHORTEST_NS = 100000, LONGEST_NS = 5000000, MANUAL_NS = 2000000 };
	const u64 period_ns = m->hs.extension.period_ns;

	return period_ns ? clamp_t(u64, period_ns / RECORDS, SHORTEST_NS, LONGEST_NS) : MANUAL_NS;
}

static int open_stream(struct msm *m, bool less)
{
	int error = msm_get_param(m->hs.host, MSM_SUSPENDS, &m->suspends);

	m->has_last = false;
	m->stream.period_ns = period_of(m);
	if (!error)
		error = msm_stream_open(m->hs.host, &m->stream, m->descs, less);
	m->hs.extension.batch_ns =
		min(BATCH_NS, msm_stream_room(&m->stream) / 2 * m->stream.period_ns);
	return error;
}

/* Permission and another owner: by a stream that ends at once. */
static int msm_prepare(struct drm_perfctr_source *source)
{
	struct msm *m = msm_of(source);
	int error = -E2BIG;

	m->hs.why = NULL;
	m->stream.period_ns = period_of(m);
	for (unsigned int b = 0; b < source->block_count && error == -E2BIG; b++) {
		m->stream.count = 0;
		msm_stream_add(&m->stream, b, 0);
		error = msm_stream_open(m->hs.host, &m->stream, m->descs, false);
	}
	msm_stream_close(m->hs.host, &m->stream);
	return error;
}

static int refuse_reserved(struct msm *m, unsigned int block, unsigned int free)
{
	char name[MSM_GROUP_NAME_BYTES];

	msm_group_name(m->descs[block].type, name);
	snprintf(m->why, sizeof(m->why),
		 "%u of the %u counters of %s are free: programs with performance monitors of "
		 "their own have the others",
		 free, m->counters[block], name);
	m->hs.why = m->why;
	return -E2BIG;
}

static int msm_start(struct drm_perfctr_source *source, u8 set)
{
	struct msm *m = msm_of(source);
	int error;

	m->hs.why = NULL;
	choose(m);
	m->time.has_offset = false;
	m->asleep_ms = read_asleep_ms(m);
	m->counted_ns = perfctr_time_raw_ns();
	error = open_stream(m, false);
	return error == -E2BIG ? refuse_reserved(m, m->stream.full_block, m->stream.free) : error;
}

static void msm_stop(struct drm_perfctr_source *source)
{
	struct msm *m = msm_of(source);

	msm_stream_close(m->hs.host, &m->stream);
}

/* A stream's counters cannot be changed: if they must, there is none for a moment. */
static void msm_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	struct msm *m = msm_of(source);
	bool more = m->stream.period_ns > period_of(m);
	struct masks has = masks_of(m);

	memcpy(m->wanted, wanted, source->block_count * sizeof(*m->wanted));
	for (unsigned int b = 0; b < source->block_count; b++)
		for (unsigned int i = 0; i < SECTIONS; i++)
			more |= m->wanted[b][i] & ~has.of[b][i];
	if (m->stream.fd < 0 || !more)
		return;
	msm_stream_close(m->hs.host, &m->stream);
	choose(m);
	open_stream(m, true);
}

/* Others may have reserved counters before the new stream. */
static int msm_check(struct host_source *hs, unsigned int block)
{
	struct msm *m = msm_of(&hs->source);
	const struct masks has = masks_of(m);
	unsigned int free = 0;
	u64 lacks = 0;

	for (unsigned int i = 0; i < SECTIONS; i++) {
		lacks |= m->wanted[block][i] & ~has.of[block][i];
		free += hweight64(has.of[block][i]);
	}
	return lacks && m->stream.fd >= 0 ? refuse_reserved(m, block, free) : 0;
}

/* --- records -------------------------------------------------------------------------- */

/* RAW of a record */
static u64 time_of(struct msm *m, u64 timestamp, u64 now)
{
	return stream_time_raw_ns(&m->time, timestamp * 625 / 12, now); /* of TIMESTAMP_HZ */
}

/*
 * Whether the values of a record and of the last one belong together. The GPU may have been
 * suspended since the last one if there are more suspends now than surely happened before it.
 */
static bool is_continued(const struct msm *m, const struct msm_record *record, struct reading *r)
{
	u64 suspends;

	if (!m->has_last || record->timestamp < m->timestamp)
		return false;
	for (unsigned int i = 0; i < m->stream.count; i++)
		if (record->values[i] < m->last[i])
			return false;
	if (record->seqno == m->seqno + 1)
		return true;
	if (record->seqno)
		return false;
	r->error = msm_get_param(m->hs.host, MSM_SUSPENDS, &suspends);
	return !r->error && suspends == m->suspends;
}

/* Take one record over. Return: whether it belongs to the last one. */
static bool add_record(struct msm *m, const struct msm_record *record, struct reading *r)
{
	const bool continued = is_continued(m, record, r);

	for (unsigned int i = 0; i < m->stream.count; i++) {
		const struct msm_slot *slot = &m->stream.slots[i];

		if (continued)
			drm_perfctr_block_totals(&m->hs.source, slot->block)[slot->position] +=
				record->values[i] - m->last[i];
		m->last[i] = record->values[i];
	}
	m->has_last = true;
	m->seqno = record->seqno;
	return continued;
}

/* Read what there is. Return: records; an errno. */
static int drain(struct msm *m, struct reading *r)
{
	const struct msm_record *record;
	int got, records = 0;

	while ((got = msm_stream_next(m->hs.host, &m->stream, &record)) > 0) {
		const u64 now = perfctr_time_raw_ns();
		u64 time_ns;
		bool continued;

		if (record->timestamp < m->timestamp)
			m->time.has_offset = false;
		time_ns = max(time_of(m, record->timestamp, now), m->counted_ns);
		continued = add_record(m, record, r);
		if (!continued)
			r->gap_ns += time_ns - m->counted_ns;
		m->timestamp = record->timestamp;
		m->counted_ns = time_ns;
		records++;
	}
	return got < 0 ? got : records;
}

/*
 * Wait for a record that is younger than the call. Return: records; 0: the GPU sleeps, or gives
 * none; an errno.
 */
static int await_record(struct msm *m, struct reading *r)
{
	const struct perfctr_sys *sys = m->hs.host->ctx->sys;
	const u64 slice_ns = 2 * m->stream.period_ns + NS_PER_MS;
	const u64 until_ns = perfctr_time_raw_ns() + (*m->power ? AWAKE_WAIT_NS : BLIND_WAIT_NS);
	int records = 0;

	while (!records && !r->asleep && perfctr_time_raw_ns() < until_ns) {
		r->asleep = sleeps(m);
		if (!r->asleep)
			records = sys->poll(sys->data, &m->stream.fd, 1, (int64_t)slice_ns);
		/* also the last one before the GPU fell asleep */
		if (records >= 0)
			records = drain(m, r);
	}
	return records;
}

/*
 * The GPU gives no records: it sleeps, so that there is nothing to count, or it was not set up yet,
 * so that the next record has all.
 */
static void note_silence(struct msm *m, struct reading *r, u64 suspends)
{
	const u64 now = perfctr_time_raw_ns();

	r->asleep |= !*m->power || suspends != m->suspends;
	if (!r->asleep) {
		r->c->incomplete = true;
		m->hs.why = "the GPU has given no record of its counters for a second: jobs before "
			    "them may take longer";
		return;
	}
	m->has_last = false;
	r->gap_ns += now - min(now, m->counted_ns);
	m->counted_ns = max(now, m->counted_ns);
}

/* The part of the gaps in which the GPU was awake, as the kernel accounts for it. */
static u64 lost_of(struct msm *m, const struct reading *r)
{
	const u64 asleep_ms = read_asleep_ms(m);
	/* times of the kernel are cut to milliseconds */
	const u64 asleep_ns =
		asleep_ms > m->asleep_ms ? (asleep_ms - m->asleep_ms - 1) * NS_PER_MS : 0;

	m->asleep_ms = asleep_ms;
	return r->gap_ns - min(r->gap_ns, asleep_ns);
}

/* A counter that has no turns, and that others reserved between two streams, counts nothing. */
static bool lacks_exact(const struct msm *m, const struct masks *has, unsigned int block)
{
	const u64 *exact = m->hs.state.turns.exact + block * SECTIONS;
	u64 lacks = 0;

	for (unsigned int i = 0; i < SECTIONS; i++)
		lacks |= exact[i] & ~has->of[block][i];
	return lacks;
}

/* @ns: of the collection, but the gaps, which are lost for all blocks */
static void report(struct msm *m, const struct reading *r, bool slept, u64 ns)
{
	u32 states = DRM_PERFCTR_STATE_AVAILABLE | DRM_PERFCTR_STATE_NORMAL;
	const struct masks has = masks_of(m);

	if (r->records)
		states |= DRM_PERFCTR_STATE_ON;
	if (slept)
		states |= DRM_PERFCTR_STATE_OFF;
	for (unsigned int b = 0; b < m->hs.source.block_count; b++) {
		const bool lost = r->records && lacks_exact(m, &has, b);

		if (lost)
			host_lose_block(&m->hs, b, ns);
		drm_perfctr_block_report(&m->hs.source, b,
					 states | (lost ? DRM_PERFCTR_STATE_LOST : 0), has.of[b]);
	}
}

static int msm_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	struct msm *m = msm_of(source);
	const u64 asleep_ms = m->asleep_ms, from_ns = m->counted_ns;
	struct reading r = { .c = c };
	u64 suspends = 0;
	int error = msm_get_param(m->hs.host, MSM_SUSPENDS, &suspends), late = 0;
	bool slept;

	if (!error && m->stream.fd < 0) {
		choose(m);
		error = open_stream(m, true);
	}
	if (error)
		return error;
	r.records = drain(m, &r);
	if (r.records >= 0)
		late = await_record(m, &r);
	error = r.error ? r.error : min(r.records, late);
	if (error < 0) {
		msm_stream_close(m->hs.host, &m->stream);
		return error;
	}
	slept = suspends != m->suspends;
	r.records += late;
	/* the last record is younger than the number of suspends */
	if (late)
		m->suspends = suspends;
	else
		note_silence(m, &r, suspends);
	c->lost_ns = lost_of(m, &r);
	slept |= r.asleep || m->asleep_ms != asleep_ms;
	if (r.gap_ns && slept)
		c->flags |= DRM_PERFCTR_SAMPLE_SUSPENDED;
	c->time_ns = m->counted_ns;
	c->gpu_timestamp = m->timestamp;
	c->has_gpu_timestamp = late;
	report(m, &r, slept, m->counted_ns - from_ns - r.gap_ns);
	return 0;
}

static const struct drm_perfctr_source_ops source_ops = {
	.prepare = msm_prepare,
	.start = msm_start,
	.stop = msm_stop,
	.collect = msm_collect,
};

/* --- description ------------------------------------------------------------------ */

/* GPUs whose number is no name; the driver has the tables of 6xx for some that are called 7xx */
static const struct {
	u32 chip;
	const char *name;
	u16 product; /* 0: by the first byte */
} chips[] = {
	{ 0x07000200, "Adreno 702", DRM_PERFCTR_ADRENO_PRODUCT_A6XX },
	{ 0x07000400, "Adreno 704", DRM_PERFCTR_ADRENO_PRODUCT_A6XX },
	{ 0x43020100, "Adreno 722", 0 },
	{ 0x43030c00, "Adreno X1-45", 0 },
	{ 0x43050a01, "Adreno 740", 0 },
	{ 0x43050c01, "Adreno X1-85", 0 },
	{ 0x43051401, "Adreno 750", 0 },
	{ 0x44010000, "Adreno 810", 0 },
	{ 0x44050a01, "Adreno 840", 0 },
	{ 0x44070001, "Adreno X2-85", 0 },
};

static u16 product_of(u32 chip)
{
	for (size_t n = 0; n < ARRAY_SIZE(chips); n++)
		if (chips[n].chip == chip && chips[n].product)
			return chips[n].product;
	switch (chip >> 24) {
	case 0x06:
		return DRM_PERFCTR_ADRENO_PRODUCT_A6XX;
	case 0x07:
	case 0x43:
		return DRM_PERFCTR_ADRENO_PRODUCT_A7XX;
	case 0x44:
		return DRM_PERFCTR_ADRENO_PRODUCT_A8XX;
	default:
		return 0;
	}
}

static void name_chip(u32 chip, char *name, size_t size)
{
	for (size_t n = 0; n < ARRAY_SIZE(chips); n++)
		if (chips[n].chip == chip) {
			snprintf(name, size, "%s", chips[n].name);
			return;
		}
	if (chip >> 24 < 10)
		snprintf(name, size, "Adreno %u%u%u", chip >> 24, chip >> 16 & 0xff,
			 chip >> 8 & 0xff);
	else
		snprintf(name, size, "Adreno of chip 0x%08x", chip);
}

/* The block's countables that the database has, unless the driver has no counters for them. */
static int describe_block(struct msm *m, u16 type)
{
	const unsigned int nth = m->hs.source.block_count;
	struct drm_perfctr_block_desc *desc = &m->descs[nth];
	unsigned int counters;
	int error = msm_count_counters(m->hs.host, type, &counters);

	if (error || !counters)
		return error;
	*desc = (struct drm_perfctr_block_desc){
		.type = type,
		.product = m->hs.host->config.product,
		.sets = 1u << DRM_PERFCTR_SET_PRIMARY,
		.clock = DRM_PERFCTR_CLOCK_NONE,
	};
	for (unsigned int i = 0; i < SECTIONS * DRM_PERFCTR_SECTION_COUNTERS; i++)
		if (perfctr_counter_at(desc->product, type, DRM_PERFCTR_SET_PRIMARY, i)) {
			desc->available[i / DRM_PERFCTR_SECTION_COUNTERS] |=
				BIT_ULL(i % DRM_PERFCTR_SECTION_COUNTERS);
			desc->counters = (u16)(i + 1);
		}
	if (!desc->counters)
		return 0;
	m->counters[nth] = counters;
	m->hs.source.block_count++;
	return 0;
}

static int describe_blocks(struct msm *m)
{
	unsigned int values = 0;
	int error = 0, released;

	for (u16 n = 0; !error && n < PERFCTR_ADRENO_BLOCKS; n++)
		error = describe_block(m, PERFCTR_ADRENO_FIRST_BLOCK + n);
	released = msm_release(m->hs.host);
	for (unsigned int b = 0; b < m->hs.source.block_count; b++)
		values += m->counters[b];
	if (!error && (!m->hs.source.block_count || values > MSM_MOST_VALUES))
		error = -EOPNOTSUPP;
	return error ? error : released;
}

/* Return: 0; -ENOTTY this driver has no streams, or the node no GPU. */
static int identify(struct msm *m)
{
	struct host *host = m->hs.host;
	u64 chip = 0;
	int streams = msm_release(host), error;

	if (streams == -EINVAL || streams == -ENOTTY)
		return -ENOTTY;
	error = msm_get_param(host, MSM_CHIP_ID, &chip);
	if (error == -ENXIO)
		return -ENOTTY;
	if (!error)
		name_chip((u32)chip, m->name, sizeof(m->name));
	if (!error && (streams == -ENXIO || !product_of((u32)chip)))
		return perfctr_fail(host->ctx, -EOPNOTSUPP,
				    "%s: this %s does not know the counters of %s, but those of "
				    "Adreno 6xx, 7xx and 8xx",
				    host->path, streams == -ENXIO ? "kernel's msm" : "perfctr",
				    m->name);
	error = error ? error : streams;
	if (error)
		return perfctr_fail(host->ctx, error, "%s: msm does not describe its GPU: %s",
				    host->path, strerror(-error));
	host->config.gpu_id = chip;
	host->config.product = product_of((u32)chip);
	return 0;
}

static int msm_keep_awake(struct host *host, bool awake)
{
	return msm_set_param(host, MSM_SYSPROF, awake ? MSM_SYSPROF_AWAKE : MSM_SYSPROF_OFF);
}

static int msm_probe(struct host *host)
{
	struct msm *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return perfctr_no_memory(host->ctx);
	host->driver_data = m;
	m->hs.host = host;
	m->hs.wake_fd = m->stream.fd = -1;
	m->hs.needs = NEEDS;
	m->hs.stream_name = STREAM_NAME;
	/* the driver continues the stream after a sleep of the machine */
	m->hs.keeps_counts = true;
	error = identify(m);
	if (error)
		return error;
	error = describe_blocks(m);
	if (error)
		return perfctr_fail(host->ctx, error,
				    "%s: this perfctr does not know the groups of counters that "
				    "msm has for %s",
				    host->path, m->name);
	find_power(m);
	if (*m->power)
		host_devfreq_find_at(host, m->power, &m->devfreq);
	m->clock = (struct drm_perfctr_clock_desc){ .name = "gpu" };
	if (msm_get_param(host, MSM_MAX_FREQ, &m->clock.max_frequency_hz))
		m->clock.max_frequency_hz = 0;
	host->config.name = m->name;
	host->config.sets = 1;
	host->config.features = DRM_PERFCTR_FEATURE_STATES | DRM_PERFCTR_FEATURE_KEEP_AWAKE;
	host->config.clocks = &m->clock;
	host->config.clock_count = 1;
	host->config.timestamp_hz = TIMESTAMP_HZ;
	host->config.timestamp_bits = 64;
	m->hs.source.name = "msm";
	m->hs.source.ops = &source_ops;
	m->hs.extension.select = msm_select;
	m->hs.source.descs = m->descs;
	m->hs.limits = m->counters;
	m->hs.turn_ns = TURN_NS;
	m->hs.check = msm_check;
	return host_add_source(host, &m->hs) ? perfctr_no_memory(host->ctx) : 0;
}

static u64 msm_frequency_hz(const struct host *host, unsigned int clock)
{
	return host_devfreq_hz(host, &((const struct msm *)host->driver_data)->devfreq);
}

static void msm_remove(struct host *host)
{
	free(host->driver_data);
}

const struct host_driver host_msm = {
	.name = "msm",
	.probe = msm_probe,
	.remove = msm_remove,
	.frequency_hz = msm_frequency_hz,
	.keep_awake = msm_keep_awake,
};
