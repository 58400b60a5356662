// SPDX-License-Identifier: MIT
/* Metrics of every Mali layout against values computed by hand, and names of GPUs. */
#include <math.h>
#include <perfctr/perfctr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "test.h"

enum { COUNTERS = 64, INSTANCES = 2 };

static const uint16_t layouts[] = {
	DRM_PERFCTR_MALI_PRODUCT_T720, DRM_PERFCTR_MALI_PRODUCT_T760, DRM_PERFCTR_MALI_PRODUCT_T830,
	DRM_PERFCTR_MALI_PRODUCT_T880, DRM_PERFCTR_MALI_PRODUCT_G71,  DRM_PERFCTR_MALI_PRODUCT_G72,
	DRM_PERFCTR_MALI_PRODUCT_G31,  DRM_PERFCTR_MALI_PRODUCT_G51,  DRM_PERFCTR_MALI_PRODUCT_G52,
	DRM_PERFCTR_MALI_PRODUCT_G76,  DRM_PERFCTR_MALI_PRODUCT_G77,  DRM_PERFCTR_MALI_PRODUCT_G78,
	DRM_PERFCTR_MALI_PRODUCT_V10,  DRM_PERFCTR_MALI_PRODUCT_V11,  DRM_PERFCTR_MALI_PRODUCT_V12,
	DRM_PERFCTR_MALI_PRODUCT_V13,  DRM_PERFCTR_MALI_PRODUCT_V14,
};

/* numbers in layouts */
enum { T720 = 0, T880 = 3, G71 = 4, G77 = 10, G78 = 11, G710 = 12, G715, G720, G725, G1 };

/*
 * What each block counts; there are two slices and two cores. Blocked is more than active, by skew.
 * FRAG_SHADER_THREADS is in groups of four.
 */
static const char counts[] =
	" GPU_ACTIVE=1000 GPU_ITER_ACTIVE=800 MCU_ACTIVE=250 GPU_IRQ_ACTIVE=50 IRQ_ACTIVE=50"
	" JS0_ACTIVE=500 JS0_TASKS=2 ITER_FRAG_TASK_COMPLETED=2 ITER_FRAG_ACTIVE=700"
	" ITER_FRAG_READY_BLOCKED=900 ITER_COMP_ACTIVE=600 ITER_COMP_READY_BLOCKED=100"
	" TILER_ACTIVE=100 PRIM_VISIBLE=60 PRIM_CULLED=30 PRIM_CLIPPED=10 PRIM_FACE_CULLED=30"
	" PRIM_FRUSTUM_CULLED=10 BUS_READ=8 L2_EXT_READ=25 L2_READ_LOOKUP=100"
	" L2_EXT_AR_STALL=100 FRAG_ACTIVE=300 COMPUTE_ACTIVE=200 SHADER_CORE_ACTIVE=400"
	" EXEC_CORE_ACTIVE=320 TRIPIPE_ACTIVE=320 FRAG_QUADS_RAST=128 FRAG_QUADS_EZS_KILL=32"
	" FRAG_THREADS=4096 FRAG_SHADER_THREADS=1024 FRAG_WARPS=64 COMPUTE_WARPS=16"
	" FULL_WARPS=40 FULL_QUAD_WARPS=40 EXEC_INSTR_FMA=80 EXEC_INSTR_CVT=40"
	" EXEC_INSTR_SFU=10 EXEC_INSTR_SLOT_1=30 VARY_SLOT_32=16 VARY_SLOT_16=16"
	" LS_MEM_READ_FULL=8 LS_MEM_READ_SHORT=8 LS_MEM_WRITE_FULL=8 LS_MEM_WRITE_SHORT=8"
	" LS_ISSUES=32";

/* the layouts from first to last, and what they have by hand */
static const struct expected {
	int first, last;
	const char *metric;
	double value;
} expected[] = {
	{ T720, G78, "irq_util", 100.0 * 50 / 1000 },
	{ T720, G78, "fragment_queue_util", 100.0 * 500 / 1000 },
	{ T720, G710, "geometry_total_primitives", 30 + 10 + 60 },
	{ T720, G710, "geometry_face_xy_plane_cull_rate", 30 },
	{ T720, G710, "geometry_z_plane_cull_rate", 100.0 * 10 / 70 },
	{ T720, G78, "bus_read_stall_rate", 100.0 * 200 / 2 / 1000 },
	{ T720, T880, "gpu_pixels", 2 * 16 * 16 },
	{ T720, T880, "fragment_overdraw", 8192.0 / 512 },
	{ T720, G77, "core_util", 100.0 * 640 / 2 / 1000 },
	{ T720, G1, "load_store_util", 100.0 * 64 / 640 },
	{ T720, G720, "fragment_early_zs_kill_rate", 100.0 * 32 / 128 },
	{ T720, G77, "fragment_util", 100.0 * 600 / 2 / 1000 },
	{ G71, G715, "gpu_pixels", 2 * 32 * 32 },
	{ G71, G1, "geometry_visible_rate", 100.0 * 60 / 100 },
	{ G71, G1, "l2_cache_read_miss_rate", 100.0 * 50 / 200 },
	{ G71, G1, "l2_cache_read_hit_rate", 75 },
	{ G71, G78, "varying_issue_cycles", 64 },
	{ G71, G710, "tiler_read_bytes", 8 * 16 },
	{ G78, G1, "core_util", 100.0 * 640 / 800 },
	{ G710, G710, "firmware_util", 100.0 * 250 / 1000 },
	{ G710, G1, "compute_queue_active_cycles", 600 - 100 },
	{ G710, G715, "fragment_queue_active_cycles", 0 },
	{ G710, G710, "any_util", 100.0 * 800 / 2 / 1000 },
	{ G710, G710, "varying_issue_cycles", 64.0 / 2 },
	{ G710, G710, "exec_fma_pipe_util", 100.0 * 160 / 640 },
	{ G710, G710, "alu_issue_cycles", 160 + 80 + 20 },
	{ G710, G1, "core_full_warp_rate", 100.0 * 80 / (128 + 32) },
	{ G710, G710, "fragment_overdraw", 128.0 * 16 / 2048 },
	{ G715, G715, "firmware_util", 100.0 * 250 / 800 },
	{ G715, G715, "any_util", 100.0 * 800 / 2 / 800 },
	{ G715, G715, "fragment_overdraw", 4 * 2048.0 / 2048 },
	{ G715, G720, "alu_issue_cycles", 80 + 20 + (160 - 100) / 2.0 },
	{ G715, G1, "varying_issue_cycles", 64.0 / 4 },
	{ G715, G1, "exec_fma_pipe_util", 100.0 * 160 / (2 * 640) },
	{ G715, G1, "tiler_read_bytes", 8 * 64 },
	{ G720, G1, "gpu_pixels", 2 * 64 * 64 },
	{ G720, G1, "main_queue_active_cycles", 0 },
	{ G720, G1, "fragment_overdraw", 4 * 2048.0 / 8192 },
	{ G725, G1, "exec_slot0_issue_cycles", 260 - 60 },
	{ G725, G1, "alu_issue_cycles", 260 - 60 },
};

static uint64_t count_of(const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), " %s=", name);
	at = strstr(counts, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* A sample with every counter of a product. */
static void add_sample(struct perfctr_totals *totals, uint16_t product)
{
	static struct sample_writer w;
	struct perfctr_sample s;

	sample_begin(&w);
	for (uint16_t type = DRM_PERFCTR_MALI_BLOCK_CSHW; type <= DRM_PERFCTR_MALI_BLOCK_JM;
	     type++) {
		bool several = type == DRM_PERFCTR_MALI_BLOCK_MEMSYS ||
			       type == DRM_PERFCTR_MALI_BLOCK_SHADER;

		for (unsigned int n = 0; n < 2 * (several ? INSTANCES : 1u); n++) {
			uint64_t values[COUNTERS], mask = 0;
			unsigned int section = n % 2, used = 0;

			for (unsigned int bit = 0; bit < COUNTERS; bit++) {
				const struct perfctr_counter_desc *c = perfctr_counter_at(
					product, type, 0, section * COUNTERS + bit);

				if (!c)
					continue;
				mask |= UINT64_C(1) << bit;
				values[used++] = count_of(c->name);
			}
			if (mask) {
				struct drm_perfctr_block_header *b =
					sample_add_block(&w, type, (uint16_t)(n / 2), mask, values);

				b->product = product;
				b->section = (uint8_t)section;
			}
		}
	}
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_totals_add(totals, &s), 0);
}

static const struct perfctr_metric_desc *metric_of(uint16_t product, const char *name)
{
	const struct perfctr_metric_desc *m = NULL;

	while ((m = perfctr_metric_next(m)))
		if (m->product == product && !strcmp(m->name, name))
			return m;
	return NULL;
}

TEST("ten metrics and more of each layout are as computed by hand")
{
	for (int l = 0; l <= G1; l++) {
		struct perfctr_totals *totals = NULL, *sum = NULL;
		struct perfctr_ctx *ctx = NULL;
		unsigned int compared = 0;

		perfctr_ctx_new(&ctx);
		EQUAL(perfctr_totals_new(ctx, &totals), 0);
		add_sample(totals, layouts[l]);
		EQUAL(perfctr_totals_sum(totals, &sum), 0);
		for (size_t n = 0; n < sizeof(expected) / sizeof(expected[0]); n++) {
			const struct expected *e = &expected[n];
			const struct perfctr_metric_desc *m = metric_of(layouts[l], e->metric);
			struct perfctr_value v = { 0 };

			if (l < e->first || l > e->last)
				continue;
			compared++;
			if (!CHECK(m) || !EQUAL(perfctr_totals_metric(sum, m, NULL, &v), 0) ||
			    !EQUAL(v.state, PERFCTR_VALUE_OK) || fabs(v.number - e->value) > 1e-9)
				test_fail(__FILE__, __LINE__, "%s of %s: %g, by hand %g", e->metric,
					  perfctr_product_name(layouts[l]), v.number, e->value);
		}
		CHECK(compared >= 10);
		perfctr_totals_unref(sum);
		perfctr_totals_unref(totals);
		perfctr_ctx_unref(ctx);
	}
}

TEST("a metric that lacks the bus width or divides by zero has no value")
{
	const struct perfctr_metric_desc *m =
		metric_of(DRM_PERFCTR_MALI_PRODUCT_V10, "bus_read_bytes");
	struct perfctr_totals *totals = NULL, *sum = NULL;
	struct perfctr_ctx *ctx = NULL;
	struct perfctr_value v;

	perfctr_ctx_new(&ctx);
	perfctr_totals_new(ctx, &totals);
	add_sample(totals, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	EQUAL(perfctr_totals_metric(sum, m, NULL, &v), 0);
	EQUAL(v.state, PERFCTR_VALUE_NOT_MEASURED);
	m = metric_of(DRM_PERFCTR_MALI_PRODUCT_V10, "mmu_l3_hit_rate");
	EQUAL(perfctr_totals_metric(sum, m, NULL, &v), 0);
	EQUAL(v.state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	perfctr_totals_unref(sum);
	perfctr_totals_unref(totals);
	perfctr_ctx_unref(ctx);
}

TEST("a GPU_ID names its product")
{
	static const struct {
		uint64_t id;
		unsigned int cores;
		const char *name;
		unsigned int product;
	} gpus[] = {
		{ 0x07200000, 0, "T720", DRM_PERFCTR_MALI_PRODUCT_T720 },
		{ 0x08200010, 0, "T820", DRM_PERFCTR_MALI_PRODUCT_T830 },
		{ 0x62210000, 0, "G72", DRM_PERFCTR_MALI_PRODUCT_G72 },
		{ 0x74021000, 0, "G52", DRM_PERFCTR_MALI_PRODUCT_G52 },
		{ 0x90930000, 0, "G57", DRM_PERFCTR_MALI_PRODUCT_G77 },
		{ 0xa8670005, 4, "G610", DRM_PERFCTR_MALI_PRODUCT_V10 },
		{ 0xb8a20000, 6, "G615", DRM_PERFCTR_MALI_PRODUCT_V11 },
		{ 0xb8a20000, 7, "G715", DRM_PERFCTR_MALI_PRODUCT_V11 },
		{ 0xc8700000, 8, "G720", DRM_PERFCTR_MALI_PRODUCT_V12 },
		{ 0xd8300000, 5, "G625", DRM_PERFCTR_MALI_PRODUCT_V13 },
		{ 0xe8310000, 0, "G1-Premium", DRM_PERFCTR_MALI_PRODUCT_V14 },
		{ 0x0f00000300000000 | 0xf0000000, 0, "G2-Pro", DRM_PERFCTR_MALI_PRODUCT_V15 },
	};
	unsigned int product;

	for (size_t n = 0; n < sizeof(gpus) / sizeof(gpus[0]); n++) {
		product = 0;
		EQUAL_TEXT(perfctr_gpu_name(gpus[n].id, gpus[n].cores, &product), gpus[n].name);
		EQUAL(product, gpus[n].product);
	}
	CHECK(!perfctr_gpu_name(0x12340000, 0, &product));
}
