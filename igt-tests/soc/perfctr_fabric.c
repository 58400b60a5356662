// SPDX-License-Identifier: MIT
/**
 * TEST: Blocks of the fabric count its traffic with the requested filters
 * Description: Blocks of the SoC's fabric: what their PMUs count, filters, multiplexing, and
 *   limits.
 */
#include <errno.h>
#include <stdio.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

static struct igt_perfctr_device dev;

static uint32_t ucf_type(void)
{
	const int type = igt_read_int(IGT_UCF_TYPE);

	igt_require_f(type > 0, "no PMU nvidia_ucf_pmu_0\n");
	return type;
}

static void add_ucf(struct igt_perfctr_session *s, uint16_t index, uint64_t config1)
{
	struct drm_perfctr_block_request *r =
		igt_perfctr_add_pmu(s, index, ucf_type(), 0, DRM_PERFCTR_CPU_ANY);

	r->type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
	r->mask = 1ull << DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD |
		  1ull << DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR;
	r->config1 = config1;
}

#define UCF_COUNTERS 8
#define UCF_SLC_BYTES_RD 0x113

static void ucf_events(struct igt_perfctr_session *s, unsigned int count)
{
	const uint32_t type = ucf_type();

	igt_perfctr_session_init_empty(s, &dev);
	for (unsigned int i = 0; i < count; i++)
		igt_perfctr_add_pmu(s, i, type, UCF_SLC_BYTES_RD, DRM_PERFCTR_CPU_ANY);
	igt_perfctr_session_open(s);
}

static void multiplexed(void)
{
	const unsigned int events = UCF_COUNTERS + 4;
	const struct drm_perfctr_sample_header *h;
	uint64_t running = 0, enabled = 0;
	struct igt_perfctr_session s;
	unsigned int multiplexed = 0;
	const uint8_t *at;
	double in_use;

	ucf_events(&s, events);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	/* perf rotates its counters with the tick */
	igt_sleep_ms(1000);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	h = igt_perfctr_slot(&s, 0);
	igt_assert(h->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u32(h->block_count, events);
	at = (const uint8_t *)h + h->header_size;
	for (unsigned int b = 0; b < events; b++) {
		const struct drm_perfctr_block_header *pmu = (const void *)at;

		igt_assert_lte_u64(igt_perfctr_times(pmu)->time_running,
				   igt_perfctr_times(pmu)->time_enabled);
		igt_assert_eq(!!(pmu->states & DRM_PERFCTR_STATE_MULTIPLEXED),
			      igt_perfctr_times(pmu)->time_running <
				      igt_perfctr_times(pmu)->time_enabled);
		/* valid, though multiplexed */
		igt_assert_eq_u64(pmu->valid_mask, 1);
		igt_assert_lte_u64(1, igt_perfctr_times(pmu)->time_running);
		multiplexed += !!(pmu->states & DRM_PERFCTR_STATE_MULTIPLEXED);
		running += igt_perfctr_times(pmu)->time_running;
		enabled += igt_perfctr_times(pmu)->time_enabled;
		at += pmu->size;
	}
	in_use = (double)running * events / enabled;
	igt_info("%u of %u events multiplexed, %.2f counters in use\n", multiplexed, events,
		 in_use);
	igt_assert_lte(events - UCF_COUNTERS, multiplexed);
	igt_assert(in_use > UCF_COUNTERS * 0.7 && in_use < UCF_COUNTERS * 1.02);
	igt_perfctr_drain(&s);
	igt_perfctr_session_close(&s);
}

static int try_filters(uint16_t type, const char *pmu, uint64_t config, uint64_t config1,
		       uint64_t config2)
{
	struct drm_perfctr_block_request *r;
	struct igt_perfctr_session s;
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	igt_perfctr_session_init_empty(&s, &dev);
	r = igt_perfctr_add_pmu(&s, 0, igt_read_int(path), config, DRM_PERFCTR_CPU_ANY);
	r->type = type;
	r->config1 = config1;
	r->config2 = config2;
	return igt_perfctr_session_probe(&s);
}

/* @counters in UCF blocks that differ by their filters; 0 or -errno */
static int try_counters(struct igt_perfctr_session *s, unsigned int counters)
{
	igt_perfctr_session_init_empty(s, &dev);
	igt_perfctr_add_ucf_counters(s, counters);
	return igt_perfctr_session_try_open(s);
}

static void bounds_tests(void)
{
	/* Covers: open -EINVAL */
	igt_describe("bits that are no filter of the PMU are refused: they would alias another "
		     "block");
	igt_subtest("filter-bits")
	{
		static const char ucf[] = "nvidia_ucf_pmu_0", tgt[] = "nvidia_pcie_tgt_pmu_0_rc_0";
		static const char cmem[] = "nvidia_cmem_latency_pmu_0";

		igt_require_f(ucf_type(), "no PMU nvidia_ucf_pmu_0\n");
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, ucf, 0, 0xf07, 0), 0);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, ucf, 0, 0x8, 0), -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, ucf, 0, 0x1000, 0),
			      -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, ucf, 0, 0, 1), -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, ucf, 1ull << 40, 0, 0),
			      -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, cmem, 0, 1, 0),
			      -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, tgt, 0x7f8, 0, 0),
			      0);
		/* an address without its enable bit */
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, tgt, 0, 0x10000, 0),
			      -EINVAL);
		igt_assert_eq(try_filters(DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, tgt, 0x800, 0x10000,
					  ~0ull),
			      0);
	}
	/* Covers: DRM_PERFCTR_MAX_PMU_COUNTERS */
	igt_describe("a session has at most DRM_PERFCTR_MAX_PMU_COUNTERS SoC counters, and can "
		     "start with all of them");
	igt_subtest("soc-counters")
	{
		struct igt_perfctr_session s;

		igt_require_f(ucf_type(), "no PMU nvidia_ucf_pmu_0\n");
		igt_assert_eq(try_counters(&s, DRM_PERFCTR_MAX_PMU_COUNTERS), 0);
		/* one more event of the first block */
		s.requests[0].mask |= 1ull << 16;
		igt_assert_eq(igt_perfctr_session_try_bare(&s), -E2BIG);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_perfctr_finish(&s);
		igt_perfctr_session_close(&s);
	}
}

static void fabric_tests(void)
{
	igt_describe("the fabric's PMU counts the bytes that a CPU reads");
	igt_subtest("ucf-bytes")
	{
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COPY };
		struct igt_perfctr_session s;

		c.copy.bytes = 64 * 1000;
		c.copy.flags = DRM_VSOC_COPY_READ;
		c.copy.initiator = DRM_VSOC_INITIATOR_CPU;
		igt_perfctr_session_init_empty(&s, &dev);
		add_ucf(&s, 0, 0);
		igt_perfctr_begin(&s);
		igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c, 1));
		igt_perfctr_finish(&s);
		igt_assert_eq_u64(igt_perfctr_sum(&s, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0,
						  DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD),
				  64000);
		igt_assert_eq_u64(igt_perfctr_sum(&s, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0,
						  DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR),
				  0);
		igt_perfctr_session_close(&s);
	}
	/* Covers: DRM_PERFCTR_STATE_MULTIPLEXED, DRM_PERFCTR_SAMPLE_MULTIPLEXED */
	igt_describe("more events than the PMU has counters are multiplexed and flagged");
	igt_subtest("multiplexed") multiplexed();
	/* Covers: DRM_PERFCTR_STATE_MULTIPLEXED, DRM_PERFCTR_SAMPLE_MULTIPLEXED */
	igt_describe("as many events as counters are not multiplexed");
	igt_subtest("not-multiplexed")
	{
		struct igt_perfctr_session s;

		ucf_events(&s, UCF_COUNTERS);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_sleep_ms(100);
		igt_perfctr_finish(&s);
		igt_assert(!(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED));
		for (unsigned int b = 0; b < s.layout.block_count; b++)
			igt_assert(!(s.sums[b].states & DRM_PERFCTR_STATE_MULTIPLEXED));
		igt_perfctr_session_close(&s);
	}
	/* Covers: open -EEXIST */
	igt_describe("a second request for a SoC block with the same filters is -EEXIST");
	igt_subtest("ucf-twice")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init_empty(&s, &dev);
		add_ucf(&s, 0, 0);
		add_ucf(&s, 0, 0);
		igt_assert_eq(igt_perfctr_session_try_open(&s), -EEXIST);
	}
	igt_describe("the PMU of another socket is not this block");
	igt_subtest("ucf-wrong-socket")
	{
		struct igt_perfctr_session s;

		igt_perfctr_session_init_empty(&s, &dev);
		add_ucf(&s, 1, 0);
		igt_assert_eq(igt_perfctr_session_try_open(&s), -ENOENT);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_PMU, "no perf events\n");
	}
	fabric_tests();
	bounds_tests();
}
