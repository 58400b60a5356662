// SPDX-License-Identifier: MIT
/*
 * The host: sources in user space, by a device whose counters the tests have in memory. A count
 * that a test adds to it must be in a sample, or in lost time.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <drm/perfctr_mali.h>

#include "host/host.h"
#include "host/open.h"
#include "test.h"

enum { TILER, SHADER, BLOCKS, COUNTERS = 70, SECTION = 64 };

#define MS 1000000ull

/* the hardware: what it has counted since its counters were cleared, and what is injected */
static struct hardware {
	struct host_source hs;
	struct drm_perfctr_block_desc descs[BLOCKS];
	uint64_t counts[BLOCKS][COUNTERS];
	bool counts_now; /* between start and stop */
	/* errors of the operations, 0: none; the sessions' threads call them, too */
	_Atomic int prepare_error, start_error, collect_error;
	_Atomic unsigned int prepared, started, collected, reset, pieces;
	/* added to the next collection; multiplexed: half of its time counts */
	struct drm_perfctr_collection next;
	uint64_t lost_alone_ns[BLOCKS];
	bool multiplexed;
	_Atomic bool signals_blocked;
	uint64_t wanted[BLOCKS]; /* of the first section */
	int wake[2];
} hw;

static struct perfctr_sys sys;
static struct perfctr_ctx *ctx;
static struct perfctr_device *device;
static struct host *host;
static struct perfctr_selection *selection;
static struct perfctr_session *session;
static struct perfctr_cursor *cursor;

/* --- the source ------------------------------------------------------------------- */

static int fake_prepare(struct drm_perfctr_source *source)
{
	hw.prepared++;
	return hw.prepare_error;
}

static void fake_unprepare(struct drm_perfctr_source *source)
{
	hw.prepared--;
}

static int fake_start(struct drm_perfctr_source *source, u8 set)
{
	hw.started++;
	if (hw.start_error)
		return hw.start_error;
	memset(hw.counts, 0, sizeof(hw.counts));
	hw.counts_now = true;
	return 0;
}

static void fake_stop(struct drm_perfctr_source *source)
{
	hw.counts_now = false;
}

static void fake_reset(struct drm_perfctr_source *source)
{
	hw.reset++;
	hw.counts_now = false;
}

static void fake_select(struct drm_perfctr_source *source, const u64 *wanted)
{
	for (unsigned int b = 0; b < BLOCKS; b++)
		hw.wanted[b] = wanted[b * DRM_PERFCTR_BLOCK_INFO_SECTIONS];
}

static int fake_collect(struct drm_perfctr_source *source, struct drm_perfctr_collection *c)
{
	u64 valid[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { ~0ull, ~0ull, ~0ull, ~0ull };
	const u64 all[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { ~0ull, 0x3f };
	const u64 one[DRM_PERFCTR_BLOCK_INFO_SECTIONS] = { 1 };
	sigset_t blocked;
	char byte;

	hw.collected++;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	hw.signals_blocked = sigismember(&blocked, SIGUSR1);
	if (hw.hs.wake_fd >= 0 && hw.collected > 2 && read(hw.hs.wake_fd, &byte, 1) < 0)
		byte = 0;
	if (hw.collect_error)
		return hw.collect_error;
	*c = hw.next;
	hw.hs.extension.more = hw.pieces && hw.pieces--;
	memset(&hw.next, 0, sizeof(hw.next));
	for (unsigned int b = 0; b < BLOCKS; b++) {
		u64 *totals = drm_perfctr_block_totals(source, b);

		for (unsigned int n = 0; n < COUNTERS; n++) {
			totals[n] += hw.counts[b][n];
			hw.counts[b][n] = 0;
		}
		host_lose_block(&hw.hs, b, hw.lost_alone_ns[b]);
		drm_perfctr_block_report(source, b, DRM_PERFCTR_STATE_ON, valid);
		if (hw.multiplexed && b == SHADER) {
			drm_perfctr_block_ran(source, b, 10 * MS, all);
			drm_perfctr_block_ran(source, b, 10 * MS, one);
		}
	}
	return 0;
}

static const struct drm_perfctr_source_ops fake_ops = {
	.prepare = fake_prepare,
	.unprepare = fake_unprepare,
	.start = fake_start,
	.stop = fake_stop,
	.collect = fake_collect,
	.reset = fake_reset,
};

static int fake_probe(struct host *h)
{
	static const struct drm_perfctr_clock_desc clock = { 0, "core", 1000 };

	host = h;
	for (unsigned int b = 0; b < BLOCKS; b++)
		hw.descs[b] = (struct drm_perfctr_block_desc){
			.type = b == TILER ? DRM_PERFCTR_MALI_BLOCK_TILER :
					     DRM_PERFCTR_MALI_BLOCK_SHADER,
			.index = (u16)(3 * b),
			.counters = COUNTERS,
			.product = DRM_PERFCTR_MALI_PRODUCT_G52,
			.sets = 3,
			.format = b == SHADER && hw.multiplexed ? DRM_PERFCTR_FORMAT_RUNNING_TIMES :
								  0,
			.available = { ~0ull, 0x3f },
			.set_available = { { 0xf0 } },
		};
	hw.hs.source.name = "fake";
	hw.hs.source.ops = &fake_ops;
	hw.hs.extension.select = fake_select;
	hw.hs.source.descs = hw.descs;
	hw.hs.source.block_count = BLOCKS;
	hw.hs.needs = "a permit";
	h->config.name = "Fake";
	h->config.product = DRM_PERFCTR_MALI_PRODUCT_G52;
	h->config.sets = 3;
	h->config.features = DRM_PERFCTR_FEATURE_STATES;
	h->config.clocks = &clock;
	h->config.clock_count = 1;
	h->config.timestamp_hz = 1000;
	h->config.timestamp_bits = 64;
	return host_add_source(h, &hw.hs);
}

static void fake_remove(struct host *h)
{
}

static const struct host_driver fake_driver = {
	.name = "fake",
	.probe = fake_probe,
	.remove = fake_remove,
};

/* --- the machine ------------------------------------------------------------------ */

/* processes 11 and 12 have the node open, 13 is of another user */
static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	int error = 0;

	if (!strcmp(path, "/proc"))
		for (const char *const *name = (const char *const[]){ "11", "12", "13", "x", NULL };
		     *name && !error; name++)
			error = fn(arg, *name);
	else if (!strcmp(path, "/proc/11/fd") || !strcmp(path, "/proc/12/fd"))
		error = fn(arg, "4");
	else if (!strcmp(path, "/proc/13/fd"))
		error = -EACCES;
	else
		error = perfctr_sys_real.list(data, path, fn, arg);
	return error;
}

static int fake_readlink(void *data, const char *path, char *text, size_t size)
{
	if (strcmp(path, "/proc/11/fd/4") && strcmp(path, "/proc/12/fd/4"))
		return perfctr_sys_real.readlink(data, path, text, size);
	return snprintf(text, size, "/dev/dri/renderD128");
}

static int fake_open(void *data, const char *path, int flags)
{
	const char *comm = !strcmp(path, "/proc/11/comm") ? "glmark2\n" :
			   !strcmp(path, "/proc/12/comm") ? "bad\x1bname\n" :
							    NULL;
	int fd;

	if (!comm)
		return perfctr_sys_real.open(data, path, flags);
	fd = memfd_create("comm", 0);
	if (pwrite(fd, comm, strlen(comm), 0) < 0)
		abort();
	return fd;
}

static void begin_with(bool multiplexed, uint64_t max_interval_ns)
{
	const struct device_link *link;
	int fd = memfd_create("node", 0);
	void *data;

	sys = perfctr_sys_real;
	sys.list = fake_list;
	sys.readlink = fake_readlink;
	sys.open = fake_open;
	memset(&hw, 0, sizeof(hw));
	hw.multiplexed = multiplexed;
	hw.hs.wake_fd = -1;
	hw.hs.source.max_interval_ns = max_interval_ns;
	perfctr_ctx_new_with(&sys, &ctx);
	EQUAL(host_link_gpu(ctx, fd, "/dev/dri/renderD128", &fake_driver, &link, &data), 0);
	close(fd);
	EQUAL(perfctr_device_from_link(ctx, link, data, "/dev/dri/renderD128", "fake", &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
}

static void begin(void)
{
	begin_with(false, 0);
}

static void end_session(void)
{
	cursor = perfctr_cursor_unref(cursor);
	session = perfctr_session_unref(session);
}

static void end(void)
{
	end_session();
	selection = perfctr_selection_unref(selection);
	device = perfctr_device_unref(device);
	ctx = perfctr_ctx_unref(ctx);
	EQUAL(hw.prepared, 0);
	CHECK(!hw.counts_now);
}

static void want(unsigned int block, unsigned int section, uint64_t mask, unsigned int set)
{
	const struct drm_perfctr_block_request r = {
		.type = hw.descs[block].type,
		.index = hw.descs[block].index,
		.section = (uint16_t)section,
		.mask = mask,
		.set = (uint8_t)set,
	};

	CHECK(perfctr_selection_add_request(selection, &r) > 0);
}

static int try_session(uint64_t period_ns)
{
	const struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = period_ns,
		.slots = 16,
	};
	int error = perfctr_session_new(selection, &opts, &session);

	return error ? error : perfctr_cursor_new(session, &cursor);
}

static void start_session(uint64_t period_ns)
{
	want(TILER, 0, 0x30, 0);
	want(SHADER, 1, 0x20, 0);
	EQUAL(try_session(period_ns), 0);
	EQUAL(perfctr_session_start(session, 7), 0);
}

static void count(unsigned int block, unsigned int counter, uint64_t n)
{
	pthread_mutex_lock(&host->lock);
	if (hw.counts_now)
		hw.counts[block][counter] += n;
	pthread_mutex_unlock(&host->lock);
}

static void pause_ms(unsigned int ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * (long)MS };

	nanosleep(&pause, NULL);
}

/* what the unread samples have */
struct seen {
	uint64_t tiler4, tiler5, shader69, ns, lost_ns;
	uint32_t flags, states;
	unsigned int samples, final;
	uint32_t epoch;
	uint64_t timestamp;
};

static struct seen read_samples(void)
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	struct seen seen = { 0 };
	uint64_t end_ns = 0;

	while (perfctr_cursor_next(cursor, &sample) > 0) {
		CHECK(!seen.samples++ || sample.start_ns == end_ns);
		CHECK(sample.end_ns >= sample.start_ns);
		end_ns = sample.end_ns;
		seen.ns += sample.end_ns - sample.start_ns;
		seen.flags |= sample.flags;
		seen.lost_ns += sample.lost_ns;
		seen.final += !!(sample.flags & DRM_PERFCTR_SAMPLE_FINAL);
		seen.epoch = sample.gpu_epoch;
		seen.timestamp = sample.gpu_timestamp;
		while (perfctr_decode_block(&sample, &block) > 0) {
			seen.states |= block.states;
			if (block.type == DRM_PERFCTR_MALI_BLOCK_SHADER) {
				seen.shader69 += perfctr_block_value(&block, 0);
			} else {
				seen.tiler4 += perfctr_block_value(&block, 0);
				seen.tiler5 += perfctr_block_value(&block, 1);
			}
		}
		perfctr_cursor_advance(cursor, 1);
	}
	return seen;
}

static struct seen stop_and_read(void)
{
	EQUAL(perfctr_session_stop(session, 8), 0);
	return read_samples();
}

/* --- counts ----------------------------------------------------------------------- */

TEST_WITH(begin, end, "what the device has is described as a kernel describes it")
{
	const struct drm_perfctr_device_info *info = perfctr_device_info(device);
	const struct drm_perfctr_block_info *shader = perfctr_device_block(device, SHADER);

	EQUAL_TEXT(info->name, "Fake");
	EQUAL(info->sets, 3);
	CHECK(info->features & DRM_PERFCTR_FEATURE_STATES);
	CHECK(info->features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP);
	CHECK(perfctr_device_block_count(device) >= BLOCKS);
	EQUAL(shader->index, 3);
	EQUAL(shader->counters, COUNTERS);
	EQUAL(shader->available[1], 0x3f);
	EQUAL(perfctr_device_clock_count(device), 2);
	EQUAL(perfctr_device_clock(device, 0)->max_frequency_hz, 1000);
	EQUAL(hw.prepared + hw.started + hw.collected, 0);
	EQUAL(perfctr_device_count_task(device, 1), -EOPNOTSUPP);
}

TEST_WITH(begin, end, "samples of all kinds have each count once, of all sections")
{
	struct seen seen;

	start_session(0);
	CHECK(hw.signals_blocked);
	count(TILER, 4, 10);
	count(TILER, 6, 99);
	EQUAL(perfctr_session_sample(session, 0), 0);
	count(TILER, 5, 3);
	count(SHADER, 69, 1000);
	seen = stop_and_read();
	EQUAL(seen.samples, 2);
	EQUAL(seen.tiler4, 10);
	EQUAL(seen.tiler5, 3);
	EQUAL(seen.shader69, 1000);
	EQUAL(seen.lost_ns, 0);
	EQUAL(seen.states, DRM_PERFCTR_STATE_ON);
	CHECK(!hw.counts_now);
}

TEST_WITH(begin, end,
	  "periods, a full ring and two sessions: each has what was counted in its time")
{
	struct perfctr_session *other, *first;
	struct perfctr_cursor *other_cursor, *first_cursor;
	struct drm_perfctr_status status = { 0 };
	struct seen seen;
	int counts;

	start_session(0);
	count(TILER, 4, 5);
	first = session;
	first_cursor = cursor;
	EQUAL(try_session(MS), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(hw.started, 1);
	other = session;
	other_cursor = cursor;
	/* until the ring is full, which takes longer on a busy machine */
	for (counts = 0; counts < 60 || (!status.pending_merged && counts < 5000); counts++) {
		count(TILER, 4, 1);
		pause_ms(1);
		perfctr_session_status(session, &status, sizeof(status));
	}
	EQUAL(hw.wanted[TILER], 0x30);
	seen = stop_and_read();
	EQUAL(seen.tiler4, counts);
	EQUAL(seen.final, 1);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_PERIODIC &&
	      seen.flags & DRM_PERFCTR_SAMPLE_STRETCHED);
	CHECK(hw.counts_now);
	session = first;
	cursor = first_cursor;
	count(TILER, 4, 7);
	EQUAL(stop_and_read().tiler4, 12 + counts);
	CHECK(!hw.counts_now);
	perfctr_cursor_unref(other_cursor);
	perfctr_session_unref(other);
}

TEST_WITH(NULL, end, "a source whose counters wrap is collected without samples")
{
	unsigned int collected;

	begin_with(false, 10 * MS);
	start_session(0);
	collected = hw.collected;
	for (int n = 0; n < 10; n++) {
		count(TILER, 4, 1);
		pause_ms(10);
	}
	CHECK(hw.collected >= collected + 5);
	EQUAL(stop_and_read().tiler4, 10);
}

TEST_WITH(NULL, end, "running times say what was multiplexed")
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	uint64_t enabled_ns, running_ns;
	bool found = false;

	begin_with(true, 0);
	start_session(0);
	EQUAL(perfctr_session_stop(session, 0), 0);
	CHECK(perfctr_cursor_next(cursor, &sample) > 0);
	CHECK(sample.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	while (perfctr_decode_block(&sample, &block) > 0) {
		if (block.type != DRM_PERFCTR_MALI_BLOCK_SHADER)
			continue;
		found = perfctr_block_read_times(&block, &enabled_ns, &running_ns);
		EQUAL(enabled_ns, 20 * MS);
		EQUAL(running_ns, 10 * MS);
	}
	CHECK(found);
}

TEST_WITH(begin, end, "a batch is collected up to its end, a wake-up collects at once")
{
	struct seen seen;
	int pipes[2];

	EQUAL(pipe2(pipes, O_NONBLOCK | O_CLOEXEC), 0);
	hw.hs.wake_fd = pipes[0];
	start_session(0);
	hw.pieces = 3;
	hw.collected = 10;
	count(TILER, 4, 1);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(hw.collected, 14);
	EQUAL(write(pipes[1], "", 1), 1);
	for (int n = 0; n < 1000 && hw.collected == 14; n++)
		pause_ms(1);
	CHECK(hw.collected >= 15);
	seen = stop_and_read();
	EQUAL(seen.tiler4, 1);
	close(pipes[0]);
	close(pipes[1]);
	hw.hs.wake_fd = -1;
}

static void begin_with_perf(void)
{
	begin();
	test_need_perf();
}

TEST_WITH(begin_with_perf, end, "events of perf are in the same sample")
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	unsigned int pmus = 0, blocks = 0;

	CHECK(perfctr_selection_add(selection, "software/task-clock/") > 0);
	start_session(0);
	count(SHADER, 69, 1);
	EQUAL(perfctr_session_stop(session, 0), 0);
	CHECK(perfctr_cursor_next(cursor, &sample) > 0);
	for (; perfctr_decode_block(&sample, &block) > 0; blocks++)
		pmus += block.type == DRM_PERFCTR_BLOCK_GENERIC_PMU &&
			perfctr_block_value(&block, 0) > 0;
	EQUAL(blocks, 3);
	EQUAL(pmus, 1);
}

/* --- losses ----------------------------------------------------------------------- */

TEST_WITH(begin, end, "what a source says of its span is in the sample, once")
{
	struct drm_perfctr_status status;
	struct seen seen;

	start_session(0);
	pause_ms(2);
	hw.next = (struct drm_perfctr_collection){
		.lost_ns = MS,
		.flags = DRM_PERFCTR_SAMPLE_RESET | DRM_PERFCTR_SAMPLE_OVERFLOW,
		.has_gpu_timestamp = true,
		.gpu_timestamp = 55,
	};
	EQUAL(perfctr_session_sample(session, 0), 0);
	seen = read_samples();
	EQUAL(seen.lost_ns, MS);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_RESET && seen.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	EQUAL(seen.timestamp, 55);
	EQUAL(seen.epoch, 2);
	seen = stop_and_read();
	EQUAL(seen.lost_ns, 0);
	EQUAL(seen.flags, DRM_PERFCTR_SAMPLE_FINAL);
	EQUAL(seen.epoch, 0);
	EQUAL(perfctr_session_status(session, &status, sizeof(status)), 0);
	EQUAL(status.resets, 1);
	EQUAL(status.overflows, 1);
	EQUAL(status.lost_ns, MS);
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_device_clock(device, 1)->gpu_timestamp, 55);
}

TEST_WITH(begin, end, "blocks lose time beside their source's, all samples no more than was")
{
	struct seen first, second;

	start_session(0);
	pause_ms(20);
	hw.next.lost_ns = MS;
	hw.lost_alone_ns[TILER] = 2 * MS;
	hw.lost_alone_ns[SHADER] = 3 * MS;
	EQUAL(perfctr_session_sample(session, 0), 0);
	first = read_samples();
	/* of the one that lost most */
	EQUAL(first.lost_ns, 4 * MS);
	hw.lost_alone_ns[TILER] = 1000 * MS;
	EQUAL(perfctr_session_sample(session, 0), 0);
	second = read_samples();
	/* it may be of the sample before */
	EQUAL(second.lost_ns, first.ns + second.ns - 4 * MS);
	second = stop_and_read();
	EQUAL(second.lost_ns, second.ns);
}

TEST_WITH(begin, end, "counts that cannot be read come later, or are lost at the end")
{
	struct seen seen;

	start_session(0);
	count(TILER, 4, 5);
	hw.collect_error = -EIO;
	EQUAL(perfctr_session_sample(session, 0), 0);
	seen = read_samples();
	EQUAL(seen.tiler4, 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.states & DRM_PERFCTR_STATE_ERROR);
	EQUAL(seen.lost_ns, 0);
	hw.collect_error = 0;
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(read_samples().tiler4, 5);
	count(TILER, 4, 9);
	pause_ms(2);
	hw.collect_error = -EIO;
	seen = stop_and_read();
	EQUAL(seen.tiler4, 0);
	CHECK(seen.lost_ns >= 2 * MS && seen.states & DRM_PERFCTR_STATE_LOST);
}

TEST_WITH(begin, end, "the machine slept: the sources start again, and the time is lost")
{
	struct seen seen;

	start_session(0);
	count(TILER, 4, 5);
	EQUAL(perfctr_session_sample(session, 0), 0);
	count(TILER, 4, 6);
	pause_ms(2);
	pthread_mutex_lock(&host->lock);
	host->slept_ns -= NS_PER_S;
	pthread_mutex_unlock(&host->lock);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(hw.reset, 1);
	EQUAL(hw.started, 2);
	seen = read_samples();
	EQUAL(seen.tiler4, 5);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_SUSPENDED && seen.states & DRM_PERFCTR_STATE_LOST);
	CHECK(seen.lost_ns >= 2 * MS && seen.lost_ns < 1000 * MS);
	count(TILER, 4, 1);
	seen = stop_and_read();
	EQUAL(seen.tiler4, 1);
	EQUAL(seen.lost_ns, 0);
}

TEST_WITH(begin, end, "a source that does not start after sleep is tried once a second")
{
	struct seen seen;

	start_session(0);
	hw.start_error = -EIO;
	pthread_mutex_lock(&host->lock);
	host->slept_ns -= NS_PER_S;
	pthread_mutex_unlock(&host->lock);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(hw.started, 2);
	hw.start_error = 0;
	pause_ms(1050);
	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(hw.started, 3);
	seen = read_samples();
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.lost_ns >= 1000 * MS);
	count(TILER, 4, 4);
	EQUAL(stop_and_read().tiler4, 4);
}

TEST_WITH(begin, end, "the device is gone: a last sample, then the ring is dead")
{
	struct perfctr_sample sample;
	struct seen seen;

	start_session(5 * MS);
	count(TILER, 4, 5);
	EQUAL(perfctr_session_sample(session, 0), 0);
	hw.collect_error = -ENODEV;
	for (int n = 0; n < 1000 && !(perfctr_cursor_state(cursor) & DRM_PERFCTR_RING_DEAD); n++)
		pause_ms(1);
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	EQUAL(perfctr_session_stop(session, 0), -ENODEV);
	seen = read_samples();
	EQUAL(seen.tiler4, 5);
	EQUAL(seen.final, 1);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	EQUAL(perfctr_cursor_next(cursor, &sample), -ENODEV);
	EQUAL(perfctr_session_start(session, 0), -ENODEV);
	end_session();
	EQUAL(try_session(0), -ENODEV);
}

/* --- refusals --------------------------------------------------------------------- */

TEST_WITH(begin, end, "a check asks the device for nothing, OPEN finds who has it")
{
	want(TILER, 0, 0x30, 0);
	hw.prepare_error = -EBUSY;
	EQUAL(perfctr_session_check(selection, NULL, NULL), 0);
	EQUAL(hw.prepared + hw.started + hw.collected, 0);
	EQUAL(try_session(0), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "glmark2 (11), bad?name (12)");
	HAS_TEXT(perfctr_ctx_error(ctx), "or one that this user may not see");
	hw.prepared = 0;
	hw.prepare_error = -EPERM;
	EQUAL(try_session(0), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "Fake: counting needs a permit");
	hw.prepared = 0;
}

TEST_WITH(begin, end, "START says who took the counters meanwhile, and may be repeated")
{
	want(TILER, 0, 0x30, 0);
	EQUAL(try_session(0), 0);
	hw.start_error = -EBUSY;
	EQUAL(perfctr_session_start(session, 0), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx), "glmark2 (11)");
	hw.start_error = 0;
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), 0);
}

TEST_WITH(begin, end, "one counter set is in use at a time")
{
	struct perfctr_session *first;
	struct perfctr_cursor *first_cursor;
	struct perfctr_selection *second = NULL;

	start_session(0);
	first = session;
	first_cursor = cursor;
	EQUAL(perfctr_selection_new(device, &second), 0);
	EQUAL(perfctr_selection_set_counter_set(second, 1), 0);
	selection = perfctr_selection_unref(selection);
	selection = second;
	want(TILER, 0, 0x10, 1);
	EQUAL(try_session(0), 0);
	EQUAL(perfctr_session_start(session, 0), -EBUSY);
	EQUAL(perfctr_session_stop(first, 0), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(perfctr_session_stop(session, 0), 0);
	perfctr_cursor_unref(first_cursor);
	perfctr_session_unref(first);
}

/* requests that the core refuses, and its errors */
static int open_request(struct drm_perfctr_block_request r, unsigned int count)
{
	const struct drm_perfctr_block_request requests[2] = { r, r };
	const struct drm_perfctr_open open = {
		.flags = DRM_PERFCTR_OPEN_CHECK,
		.slots = 4,
		.eventfd = -1,
		.requests = (uintptr_t)requests,
		.request_count = count,
		.request_stride = sizeof(r),
	};
	struct drm_perfctr_layout layout;
	struct perfctr_session *none;

	return perfctr_session_new_raw(device, &open, &layout, &none);
}

TEST_WITH(begin, end, "requests follow the rules of the core")
{
	const struct drm_perfctr_block_request good = {
		.type = DRM_PERFCTR_MALI_BLOCK_TILER,
		.mask = 1,
	};
	struct drm_perfctr_block_request r = good;

	EQUAL(open_request(good, 1), 0);
	EQUAL(open_request(good, 2), -EEXIST);
	r.index = 1;
	EQUAL(open_request(r, 1), -ENXIO);
	r = good;
	r.section = 2;
	EQUAL(open_request(r, 1), -ENXIO);
	r.section = 1;
	r.mask = 0x40;
	EQUAL(open_request(r, 1), -EINVAL);
	r.flags = DRM_PERFCTR_REQUEST_AVAILABLE;
	EQUAL(open_request(r, 1), -EINVAL);
	r = good;
	r.set = 2;
	EQUAL(open_request(r, 1), -EOPNOTSUPP);
	r = good;
	r.cpu = -1;
	EQUAL(open_request(r, 1), -EINVAL);
	r = good;
	r.type = DRM_PERFCTR_MALI_BLOCK_JM;
	EQUAL(open_request(r, 1), -ENXIO);
	r = good;
	r.index = DRM_PERFCTR_INDEX_ALL;
	EQUAL(open_request(r, 1), 0);
}
