// SPDX-License-Identifier: MIT
/**
 * TEST: QUERY, the fields of samples and the totals agree with each other
 * Description: QUERY against samples, and totals against the truth.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

/* longer than the core waits for firmware */
#define NO_ANSWER_NS 50000000

/* of the virtual SoC with its CSF-style GPU, without the timestamp */
#define CLOCKS 3

static struct igt_perfctr_device dev;

static const struct drm_perfctr_block_info *info_of(uint16_t type, uint16_t index)
{
	for (unsigned int i = 0; i < dev.block_count; i++)
		if (dev.blocks[i].type == type && dev.blocks[i].index == index)
			return &dev.blocks[i];
	igt_assert_f(false, "QUERY has no block %u.%u\n", type, index);
	return NULL;
}

/* the clock of each GPU block type; one drives all of a Mali with a job manager */
static uint8_t clock_of(uint16_t type)
{
	if (dev.info.clock_count == 1 && type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return DRM_PERFCTR_MALI_CLOCK_TOP;
	switch (type) {
	case DRM_PERFCTR_MALI_BLOCK_FW:
	case DRM_PERFCTR_MALI_BLOCK_CSHW:
		return DRM_PERFCTR_MALI_CLOCK_TOP;
	case DRM_PERFCTR_MALI_BLOCK_TILER:
	case DRM_PERFCTR_MALI_BLOCK_MEMSYS:
		return DRM_PERFCTR_MALI_CLOCK_COREGROUP;
	case DRM_PERFCTR_MALI_BLOCK_SHADER:
		return DRM_PERFCTR_MALI_CLOCK_SHADER;
	default:
		return DRM_PERFCTR_CLOCK_NONE;
	}
}

static void features(void)
{
	const uint32_t all = DRM_PERFCTR_FEATURE_PERIODIC | DRM_PERFCTR_FEATURE_STATES |
			     DRM_PERFCTR_FEATURE_AUTOMATIC | DRM_PERFCTR_FEATURE_IN_STREAM |
			     DRM_PERFCTR_FEATURE_KEEP_AWAKE | DRM_PERFCTR_FEATURE_GPU_TIMESTAMP;
	const bool perf = !access(IGT_PERF_PARANOID, F_OK);

	igt_assert_eq_u32(dev.info.features & ~(dev.known ? 0 : all),
			  (dev.known ? all : 0) | (perf ? DRM_PERFCTR_FEATURE_PMU : 0));
}

/* OPEN with a flag that needs a feature: 0 or -errno */
static int try_flag(const struct igt_perfctr_device *d, uint32_t flag)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, d);
	s.params.flags = flag;
	s.params.request_count = 1;
	s.requests[0].flags = DRM_PERFCTR_REQUEST_AVAILABLE;
	return igt_perfctr_session_probe(&s);
}

static void features_enforced(void)
{
	static const struct {
		uint32_t flag, feature;
	} flags[] = {
		{ DRM_PERFCTR_OPEN_AUTOMATIC, DRM_PERFCTR_FEATURE_AUTOMATIC },
		{ DRM_PERFCTR_OPEN_KEEP_AWAKE, DRM_PERFCTR_FEATURE_KEEP_AWAKE },
	};
	struct igt_perfctr_device devices[2] = { dev };

	if (dev.known) {
		igt_vsoc_add(&devices[1], "8 product=nv50");
		igt_assert(!(devices[1].info.features & DRM_PERFCTR_FEATURE_AUTOMATIC));
	}
	for (unsigned int d = 0; d < (dev.known ? 2 : 1); d++)
		for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++)
			igt_assert_eq(try_flag(&devices[d], flags[i].flag),
				      devices[d].info.features & flags[i].feature ? 0 :
										    -EOPNOTSUPP);
	if (dev.known)
		igt_vsoc_remove(&devices[1], 8);
}

static void pmu_enforced(void)
{
	struct igt_perfctr_session s;

	igt_require_f(!(dev.info.features & DRM_PERFCTR_FEATURE_PMU), "the kernel has perf\n");
	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_add_pmu(&s, 0, 1, 0, DRM_PERFCTR_CPU_ANY);
	igt_assert_eq(igt_perfctr_session_try_open(&s), -EOPNOTSUPP);
}

static void blocks_and_products(void)
{
	if (dev.known)
		igt_assert_eq_u32(dev.info.product, DRM_VSOC_PRODUCT_CSF);
	for (unsigned int i = 0; i < dev.block_count; i++) {
		const struct drm_perfctr_block_info *b = &dev.blocks[i];
		bool pmu = b->type == DRM_PERFCTR_BLOCK_GENERIC_PMU;

		igt_assert_eq(b->clock, clock_of(b->type));
		igt_assert_eq(b->product, pmu ? DRM_PERFCTR_PRODUCT_PERF_PMU : dev.info.product);
		if (pmu)
			igt_assert_eq(b->index, DRM_PERFCTR_INDEX_ALL);
	}
}

/* blocks of each set have that set and its product */
static void words_of_blocks(void)
{
	for (unsigned int set = 0; set < 32; set++) {
		const struct drm_perfctr_block_header *b = NULL;
		const struct drm_perfctr_sample_header *h;
		struct igt_perfctr_session s;

		if (!(dev.info.sets >> set & 1))
			continue;
		igt_perfctr_session_init_set(&s, &dev, set);
		igt_perfctr_begin(&s);
		igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
		h = igt_perfctr_slot(&s, 0);
		igt_assert_lt(0, h->block_count);
		for (unsigned int i = 0; i < h->block_count; i++) {
			const struct drm_perfctr_block_info *info;

			b = igt_perfctr_next_block(h, b);
			info = info_of(b->type, b->index);
			igt_assert_eq(b->set, set);
			igt_assert_eq(b->clock, info->clock);
			igt_assert_eq(b->product, info->product);
			igt_assert_eq(b->format, info->format);
			igt_assert(info->sets >> set & 1);
		}
		igt_perfctr_drain(&s);
		igt_perfctr_session_close(&s);
	}
}

/* cycles of each clock against the frequency that QUERY reports, with the GPU awake */
static void clock_cycles(void)
{
	struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1];
	struct igt_perfctr_session s;
	unsigned int seen = 0;
	uint64_t span_ns;

	igt_perfctr_session_init(&s, &dev);
	s.params.flags = DRM_PERFCTR_OPEN_KEEP_AWAKE;
	igt_perfctr_session_open(&s);
	igt_vsoc_debugfs(&dev, "cores_on", "0x50005");
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_known_work(&dev, 0);
	igt_sleep_ms(20);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_vsoc_debugfs(&dev, "cores_on", "0");
	igt_perfctr_clocks(&dev, clocks);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	span_ns = s.last.end_ns - s.last.start_ns;
	for (unsigned int b = 0; b < s.layout.block_count; b++) {
		const uint8_t clock = clock_of(s.sums[b].type);
		uint64_t cycles;

		igt_assert_lt(clock, CLOCKS);
		igt_assert(s.sums[b].states & DRM_PERFCTR_STATE_ON);
		cycles = (unsigned __int128)span_ns * clocks[clock].frequency_hz / 1000000000;
		igt_info("block %u.%u: %llu cycles of %s, %llu in %llu ns\n", s.sums[b].type,
			 s.sums[b].index, (unsigned long long)s.sums[b].cycles, clocks[clock].name,
			 (unsigned long long)cycles, (unsigned long long)span_ns);
		igt_assert_lte_u64(cycles * 95 / 100, s.sums[b].cycles);
		igt_assert_lte_u64(s.sums[b].cycles, cycles * 105 / 100);
		seen |= 1u << clock;
	}
	igt_assert_eq_u32(seen, (1u << CLOCKS) - 1);
	igt_perfctr_session_close(&s);
}

static void frequencies(void)
{
	static const char *const names[CLOCKS] = { "top", "coregroup", "shader" };
	struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1];

	igt_assert_eq(igt_perfctr_clocks(&dev, clocks), CLOCKS + 1);
	for (unsigned int i = 0; i < CLOCKS; i++) {
		igt_info("%s: %llu Hz of %llu\n", clocks[i].name,
			 (unsigned long long)clocks[i].frequency_hz,
			 (unsigned long long)clocks[i].max_frequency_hz);
		igt_assert_eq_u32(clocks[i].clock, i);
		igt_assert(!strcmp(clocks[i].name, names[i]));
		igt_assert_lte_u64(1, clocks[i].frequency_hz);
		igt_assert_eq_u64(clocks[i].frequency_hz, clocks[i].max_frequency_hz);
	}
}

/* the PMUs are read first, then firmware does not answer, and the core retries later */
static void capture(void)
{
	const struct drm_perfctr_block_header *b = NULL;
	const struct drm_perfctr_sample_header *h;
	int32_t gpu_ns = 1, pmu_ns = 1;
	struct igt_perfctr_session s;
	uint64_t before_ns, pmu_at_ns;

	igt_perfctr_session_init(&s, &dev);
	igt_require_f(igt_perfctr_add_ucf(&s), "no PMU of the fabric\n");
	igt_perfctr_begin(&s);
	igt_fault_arm(&dev, "no_ack", 1);
	before_ns = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq_u32(igt_fault_disarm(&dev, "no_ack"), 1);
	h = igt_perfctr_slot(&s, 0);
	for (unsigned int i = 0; i < h->block_count; i++) {
		int32_t *which;

		b = igt_perfctr_next_block(h, b);
		which = b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY ? &pmu_ns : &gpu_ns;
		igt_assert_lte(b->capture_ns, 0);
		/* all blocks of a collection have one time */
		if (*which <= 0)
			igt_assert_eq(b->capture_ns, *which);
		*which = b->capture_ns;
	}
	igt_info("read before the sample's end: GPU %d ns, PMU %d ns\n", -gpu_ns, -pmu_ns);
	/* the sample ends with the block that was read last */
	igt_assert_eq(gpu_ns, 0);
	igt_assert_lte(pmu_ns, -NO_ANSWER_NS);
	pmu_at_ns = h->end_ns + pmu_ns;
	igt_assert_lte_u64(before_ns, pmu_at_ns);
	igt_assert_lte_u64(h->start_ns, pmu_at_ns);
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
}

/* totals of STATUS equal those of the samples and are not zero */
static void totals(void)
{
	unsigned int errors = 0, overflows = 0, resets = 0;
	struct drm_perfctr_status status;
	struct igt_perfctr_session s;

	igt_perfctr_begin_with(&s, &dev, 16, 0);
	igt_vsoc_debugfs(&dev, "reset", "1");
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_fault_arm(&dev, "overflow", 1);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_fault_disarm(&dev, "overflow");
	igt_fault_arm(&dev, "no_ack", 1);
	igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
	igt_fault_disarm(&dev, "no_ack");
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++) {
		const uint32_t flags = igt_perfctr_slot(&s, i)->flags;

		errors += !!(flags & DRM_PERFCTR_SAMPLE_ERROR);
		overflows += !!(flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
		resets += !!(flags & DRM_PERFCTR_SAMPLE_RESET);
	}
	igt_perfctr_drain(&s);
	status = igt_perfctr_status(&s);
	igt_info("errors %u, overflows %u, resets %u, lost %llu ns\n", errors, overflows, resets,
		 (unsigned long long)s.lost_ns);
	igt_assert(errors && overflows && resets);
	igt_assert_eq_u64(status.errors, errors);
	igt_assert_eq_u64(status.overflows, overflows);
	/* one reset, of which one or several samples have the flag */
	igt_assert_eq_u64(status.resets, 1);
	igt_assert_lte_u64(1, s.lost_ns);
	igt_assert_eq_u64(status.lost_ns, s.lost_ns);
	igt_perfctr_session_close(&s);
}

static void *reset_gpu(void *unused)
{
	igt_vsoc_debugfs(&dev, "reset", "1");
	return NULL;
}

/* several samples of a session have the flag because of one reset */
static void resets_counted_once(void)
{
	struct igt_perfctr_session s, idle, manual;
	unsigned int flagged = 0;

	igt_vsoc_debugfs(&dev, "reset_ms", "100");
	igt_perfctr_begin_with(&s, &dev, 2048, 2 * MS);
	igt_perfctr_begin_with(&manual, &dev, 16, 0);
	igt_perfctr_session_open_with(&idle, &dev, 4, 0);
	for (unsigned int n = 1; n <= 3; n++) {
		pthread_t thread;

		igt_assert_eq(pthread_create(&thread, NULL, reset_gpu, NULL), 0);
		igt_assert_eq(pthread_join(thread, NULL), 0);
		igt_assert_eq(igt_perfctr_sample(&s, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&manual, 0), 0);
		igt_assert_eq(igt_perfctr_sample(&manual, 0), 0);
		igt_assert_eq_u64(igt_perfctr_status(&s).resets, n);
		igt_assert_eq_u64(igt_perfctr_status(&manual).resets, n);
	}
	igt_assert_eq_u64(igt_perfctr_status(&idle).resets, 0);
	igt_vsoc_debugfs(&dev, "reset_ms", "0");
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	for (uint64_t i = 0; i < igt_perfctr_unread(&s); i++)
		flagged += !!(igt_perfctr_slot(&s, i)->flags & DRM_PERFCTR_SAMPLE_RESET);
	igt_info("3 resets, %u samples with the flag\n", flagged);
	igt_assert_lt(3, flagged);
	igt_assert_eq_u64(igt_perfctr_status(&s).resets, 3);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&manual);
	igt_perfctr_session_close(&idle);
}

static void query_sparse_cores(void)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < dev.block_count; i++)
		if (dev.blocks[i].type == DRM_PERFCTR_MALI_BLOCK_SHADER)
			mask |= 1ull << dev.blocks[i].index;
	igt_assert_eq_u64(mask, 0x50005);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
	}
	igt_describe("FEATURE_PMU where the kernel has perf; the others are those of the virtual "
		     "SoC");
	igt_subtest("features") features();
	/*
	 * Covers: DRM_PERFCTR_FEATURE_PERIODIC, DRM_PERFCTR_FEATURE_STATES,
	 * DRM_PERFCTR_FEATURE_AUTOMATIC, DRM_PERFCTR_FEATURE_PMU, DRM_PERFCTR_FEATURE_IN_STREAM,
	 * DRM_PERFCTR_FEATURE_KEEP_AWAKE, DRM_PERFCTR_FEATURE_GPU_TIMESTAMP
	 */
	igt_describe("a OPEN flag is -EOPNOTSUPP exactly where the device lacks its feature");
	igt_subtest("features-enforced") features_enforced();
	/* Covers: open -EOPNOTSUPP */
	igt_describe("a PMU block is -EOPNOTSUPP on a kernel without perf events");
	igt_subtest("features-pmu") pmu_enforced();
	/* Covers: drm_perfctr_block_info */
	igt_describe("shader blocks have the physical core numbers of a sparse core mask");
	igt_subtest("query-sparse-cores") igt_vsoc_only(&dev, query_sparse_cores);
	igt_describe("QUERY has the clock and the product of each block");
	igt_subtest("blocks-and-products") blocks_and_products();
	/* Covers: drm_perfctr_block_header, DRM_PERFCTR_PRODUCT_PERF_PMU */
	igt_describe("set, clock and product of a block in a sample are those of QUERY");
	igt_subtest("words-of-blocks") words_of_blocks();
	igt_describe("clocks have their names, and run at full speed when nothing slows them");
	igt_subtest("frequencies") igt_vsoc_only(&dev, frequencies);
	/* Covers: DRM_PERFCTR_STATE_ON, DRM_PERFCTR_CLOCK_NONE */
	igt_describe("clock_cycles of every clock are its frequency times the span");
	igt_subtest("clock-cycles") igt_vsoc_only(&dev, clock_cycles);
	/* Covers: drm_perfctr_block_header */
	igt_describe("capture_ns is the time at which a block was read; the last one ends the "
		     "sample");
	igt_subtest("capture") igt_vsoc_only(&dev, capture);
	/* Covers: DRM_PERFCTR_IOCTL_STATUS */
	igt_describe("totals of errors, overflows, resets and lost time are those of the samples");
	igt_subtest("totals") igt_vsoc_only(&dev, totals);
	/* Covers: DRM_PERFCTR_SAMPLE_RESET, DRM_PERFCTR_IOCTL_STATUS */
	igt_describe("a reset counts once in STATUS, although several samples have its flag");
	igt_subtest("resets-once") igt_vsoc_only(&dev, resets_counted_once);
}
