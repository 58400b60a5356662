// SPDX-License-Identifier: MIT
/**
 * TEST: Samples carry the GPU's timestamp, which QUERY_CLOCKS relates to the host's time
 * Description: The GPU's clock: timestamps of samples, their epochs, and the pair of times of
 *   QUERY_CLOCKS.
 */
#include <string.h>

#include "minigt.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define NEW 8
#define NS_PER_S 1e9
/* two clock reads on a busy host */
#define ERROR_NS 50000.0

static struct igt_perfctr_device dev;

/* the element of the timestamp; false: there is none */
static bool query_timestamp(const struct igt_perfctr_device *d, struct drm_perfctr_clock_info *info)
{
	struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1];
	const unsigned int count = igt_perfctr_clocks(d, clocks);
	bool found = false;

	for (unsigned int i = 0; i < count; i++) {
		if (clocks[i].clock != DRM_PERFCTR_CLOCK_TIMESTAMP)
			continue;
		igt_assert(!found);
		found = true;
		*info = clocks[i];
	}
	return found;
}

static struct drm_perfctr_clock_info timestamp(void)
{
	struct drm_perfctr_clock_info info = { 0 };

	igt_assert(query_timestamp(&dev, &info));
	return info;
}

/* START and a sample: QUERY_CLOCKS has the pair from then on */
static void begin(struct igt_perfctr_session *s)
{
	igt_perfctr_begin_with(s, &dev, 64, 0);
	igt_perfctr_sample_and_drain(s);
	igt_assert_lt(0, (int)s->last.gpu_epoch);
}

static void end(struct igt_perfctr_session *s)
{
	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_perfctr_session_close(s);
}

static void element(void)
{
	static const char *const shapes[] = { "8", "8 product=nv50" };

	for (unsigned int i = 0; i < 2; i++) {
		struct drm_perfctr_clock_info info = { 0 };
		struct igt_perfctr_device d = dev;
		bool found;

		if (dev.known)
			igt_vsoc_add(&d, shapes[i]);
		found = query_timestamp(&d, &info);
		igt_assert_eq(found, !!(d.info.features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP));
		if (found) {
			igt_assert(!strcmp(info.name, "timestamp"));
			igt_assert_lte_u64(1, info.frequency_hz);
			igt_assert_lte(1, info.valid_bits);
			igt_assert_lte(info.valid_bits, 64);
			if (dev.known) {
				/* nothing was collected yet */
				igt_assert_eq_u64(info.gpu_timestamp | info.raw_ns, 0);
				igt_assert_eq_u64(info.age_ns | info.epoch, 0);
			}
		}
		if (dev.known)
			igt_vsoc_remove(&d, NEW);
	}
}

static void in_job(const struct igt_perfctr_session *s)
{
	struct drm_vsoc_command c[2] = { { .type = DRM_VSOC_CMD_WAIT } };

	c[0].wait.duration_ns = MS;
	c[1] = igt_vsoc_sample(s, 0);
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c, 2)).status, 0);
}

static void monotonic(void)
{
	struct drm_perfctr_sample_header before;
	struct igt_perfctr_session s;

	begin(&s);
	for (unsigned int i = 0; i < 50; i++) {
		before = s.last;
		if (i % 5 || !dev.known)
			igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		else
			in_job(&s);
		igt_perfctr_drain(&s);
		igt_assert_eq_u32(s.last.gpu_epoch, before.gpu_epoch);
		if (s.last.end_ns > before.end_ns + 1000)
			igt_assert(s.last.gpu_timestamp > before.gpu_timestamp);
	}
	end(&s);
}

/* the sample's timestamp in the host's time by QUERY_CLOCKS, minus the sample's end */
static double error_ns(const struct drm_perfctr_sample_header *h,
		       const struct drm_perfctr_clock_info *pair, int32_t capture)
{
	const double since = (double)((int64_t)(h->gpu_timestamp - pair->gpu_timestamp));

	igt_assert_eq_u32(h->gpu_epoch, pair->epoch);
	return since * NS_PER_S / pair->frequency_hz -
	       (double)((int64_t)(h->end_ns + capture - pair->raw_ns));
}

/*
 * A busy machine may stop the guest between the reads of both clocks: a wrong conversion is wrong
 * for most samples, not for some.
 */
static void matches_end(void)
{
	enum { SAMPLES = 20 };
	struct igt_perfctr_session s;
	unsigned int close = 0;
	double worst = 0, most;

	begin(&s);
	/* and a tick at either end */
	most = ERROR_NS + 2 * NS_PER_S / timestamp().frequency_hz;
	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct drm_perfctr_clock_info pair = timestamp();
		int32_t capture;
		double error;

		igt_sleep_ms(10);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		capture = igt_perfctr_next_block(igt_perfctr_slot(&s, s.extract), NULL)->capture_ns;
		igt_perfctr_drain(&s);
		error = error_ns(&s.last, &pair, capture);
		error = error < 0 ? -error : error;
		worst = worst > error ? worst : error;
		close += error <= most;
	}
	end(&s);
	igt_info("%u of %u at most %.0f ns apart, worst %.0f ns\n", close, SAMPLES, most, worst);
	igt_assert_lte(SAMPLES / 2, close);
}

static void last_pair(void)
{
	struct drm_perfctr_clock_info info;
	struct igt_perfctr_session s;
	uint64_t before, after;

	begin(&s);
	igt_sleep_ms(20);
	before = igt_raw_ns();
	info = timestamp();
	after = igt_raw_ns();
	igt_assert_lte_u64(before, info.raw_ns + info.age_ns);
	igt_assert_lte_u64(info.raw_ns + info.age_ns, after);
	/* the time of the sample, not of an earlier collection */
	igt_assert_eq_u64(info.gpu_timestamp, s.last.gpu_timestamp);
	igt_assert_eq_u32(info.epoch, s.last.gpu_epoch);
	igt_assert_eq(info.pad, 0);
	end(&s);
}

static void epoch_of_reset(void)
{
	struct igt_perfctr_session s;
	uint32_t epoch;

	begin(&s);
	for (unsigned int i = 0; i < 3; i++) {
		epoch = s.last.gpu_epoch;
		igt_vsoc_debugfs(&dev, "reset", "1");
		igt_perfctr_sample_and_drain(&s);
		igt_assert(s.last.gpu_epoch);
		igt_assert_neq(s.last.gpu_epoch, epoch);
		igt_assert_eq_u32(timestamp().epoch, s.last.gpu_epoch);
	}
	end(&s);
}

static void epoch_of_resume(void)
{
	struct igt_perfctr_session s;
	uint32_t epoch;

	begin(&s);
	epoch = s.last.gpu_epoch;
	igt_suspend(&dev);
	igt_power(&dev, "on");
	igt_perfctr_sample_and_drain(&s);
	igt_assert(s.last.gpu_epoch);
	igt_assert_neq(s.last.gpu_epoch, epoch);
	end(&s);
}

static void query_while_asleep(void)
{
	struct drm_perfctr_clock_info first, second;
	struct igt_perfctr_session s;

	begin(&s);
	end(&s);
	igt_suspend(&dev);
	first = timestamp();
	igt_sleep_ms(20);
	second = timestamp();
	igt_perfctr_describe(&dev);
	igt_assert(igt_power_is(&dev, "suspended"));
	igt_assert_eq_u64(first.raw_ns, second.raw_ns);
	igt_assert_lte_u64(first.age_ns + 20 * MS, second.age_ns);
	igt_power(&dev, "on");
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_GPU_TIMESTAMP,
			      "no GPU timestamp\n");
		igt_hold_power(&dev);
	}
	/* Covers: DRM_PERFCTR_CLOCK_TIMESTAMP */
	igt_describe("QUERY_CLOCKS has the timestamp exactly if the device has the feature, all "
		     "zero until the first collection");
	igt_subtest("timestamp-element") element();
	igt_describe("within an epoch the timestamps of samples, also in jobs, grow with their "
		     "ends");
	igt_subtest("timestamp-monotonic") monotonic();
	/* Covers: drm_perfctr_sample_header */
	igt_describe("a sample's timestamp, converted by the pair of QUERY_CLOCKS, is the "
		     "sample's end");
	igt_subtest("timestamp-matches-end") matches_end();
	igt_describe("the pair of QUERY_CLOCKS is that of the last collection, with its age");
	igt_subtest("timestamp-last-pair") last_pair();
	igt_describe("a reset begins a new epoch");
	igt_subtest("timestamp-epoch-reset") igt_vsoc_only(&dev, epoch_of_reset);
	igt_describe("a resume begins a new epoch");
	igt_subtest("timestamp-epoch-resume") epoch_of_resume();
	igt_describe("QUERY does not resume a suspended device");
	igt_subtest("timestamp-query-asleep") query_while_asleep();
	igt_fixture()
		igt_perfctr_close(&dev);
}
