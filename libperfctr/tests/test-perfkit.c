// SPDX-License-Identifier: MIT
/* perfkit against a kernel in memory. */
#include <perfctr/perfkit.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "perfkit/perfkit.h"

static struct perfctr_perfkit *kit;

static void add_block(uint16_t type, uint16_t index, uint16_t product, uint64_t available)
{
	fake->blocks[fake->block_count++] = (struct drm_perfctr_block_info){
		.type = type,
		.index = index,
		.counters = 64,
		.product = product,
		.sets = 1,
		.clock = index,
		.available = { available },
	};
}

static void begin_with(bool nvidia)
{
	fake = fake_new();
	fake->info.sets = 7;
	for (size_t n = 0; n < fake->block_count; n++) {
		fake->blocks[n].sets = 7;
		fake->blocks[n].set_available[0][0] = fake->blocks[n].available[0];
		fake->blocks[n].set_available[1][0] = fake->blocks[n].available[0];
	}
	if (nvidia) {
		fake->block_count = 0;
		fake->info.product = DRM_PERFCTR_NV50_PRODUCT;
		fake->info.sets = 1;
		add_block(DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 1, DRM_PERFCTR_NV50_PRODUCT, 0x1ff);
		add_block(DRM_PERFCTR_NV50_BLOCK_MP, 0, DRM_PERFCTR_NV50_PRODUCT, 0x1fff);
		add_block(DRM_PERFCTR_NV50_BLOCK_MP, 1, DRM_PERFCTR_NV50_PRODUCT, 0x1fff);
	}
	perfctr_ctx_new_with(&fake->sys, &ctx);
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_perfkit_new(device, &kit), 0);
}

static void begin(void)
{
	begin_with(false);
}

static void end_kit(void)
{
	CHECK(!perfctr_perfkit_unref(kit));
	end();
}

static struct perfctr_perfkit_value value_of(const char *name, unsigned int object)
{
	struct perfctr_perfkit_value value = { .state = ~0u };
	long n = perfctr_perfkit_find(kit, name);

	if (CHECK(n >= 0))
		EQUAL(perfctr_perfkit_value(kit, (size_t)n, object, &value), 0);
	return value;
}

/* Run all passes without work. */
static unsigned int run_experiment(void)
{
	unsigned int passes = 0, pass;

	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	for (pass = 0; pass < passes; pass++) {
		EQUAL(perfctr_perfkit_begin_pass(kit, pass), 0);
		EQUAL(perfctr_perfkit_end_pass(kit), 0);
	}
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	return passes;
}

/* --- names ------------------------------------------------------------------------- */

TEST_WITH(begin, end_kit, "counters are added by name")
{
	EQUAL(perfctr_perfkit_add(kit, "shader/FRAGMENTS,shader16/FRAGMENTS"), 5);
	EQUAL(perfctr_perfkit_count(kit), 2);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 0)->name, "shader/FRAGMENTS");
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 0)->unit, "fragments");
	CHECK(perfctr_perfkit_counter(kit, 0)->desc);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 1)->name, "shader16/FRAGMENTS");
	/* counters that the kit has are not added again */
	CHECK(perfctr_perfkit_add(kit, "FRAGMENTS") > 0);
	EQUAL(perfctr_perfkit_count(kit), 2);
	EQUAL(perfctr_perfkit_find(kit, "fragments"), 0);
	EQUAL(perfctr_perfkit_find(kit, "shader16/fragments"), 1);
	EQUAL(perfctr_perfkit_find(kit, "shader2/fragments"), -ENOENT);
	CHECK(!perfctr_perfkit_counter(kit, 2));
	EQUAL(perfctr_perfkit_remove(kit, 2), -ERANGE);
	EQUAL(perfctr_perfkit_remove(kit, 0), 0);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 0)->name, "shader16/FRAGMENTS");
}

TEST_WITH(begin, end_kit, "metrics and units need no prefix")
{
	EQUAL(perfctr_perfkit_add(kit, "gpu_utilization,metric:l2_read_hit_ratio,SHD SOL"), 3);
	EQUAL(perfctr_perfkit_count(kit), 3);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 0)->name, "cshw.gpu_utilization");
	EQUAL(perfctr_perfkit_counter(kit, 1)->kind, PERFCTR_PERFKIT_METRIC);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, 2)->name, "SHD SOL");
	EQUAL(perfctr_perfkit_counter(kit, 2)->kind, PERFCTR_PERFKIT_SOL);
	EQUAL(perfctr_perfkit_add(kit, "* Bottleneck"), 4);
	EQUAL(perfctr_perfkit_count(kit), 7);
}

TEST_WITH(begin, end_kit, "bad names leave the kit as it was")
{
	EQUAL(perfctr_perfkit_add(kit, "FRAGMENTS,no_such_thing"), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "no_such_thing");
	EQUAL(perfctr_perfkit_count(kit), 0);
	EQUAL(perfctr_perfkit_add(kit, "FRAGMENTS,,PIXELS"), -EINVAL);
	EQUAL(perfctr_perfkit_add(kit, ""), -EINVAL);
	EQUAL(perfctr_perfkit_add(kit, "metric:no_such_thing"), -ENOENT);
	/* a unit of another GPU */
	EQUAL(perfctr_perfkit_add(kit, "GEOM SOL"), -ENOENT);
	EQUAL(perfctr_perfkit_count(kit), 0);
}

TEST_WITH(begin, end_kit, "formulas of units are of the database")
{
	const struct perfctr_metric_desc *unit = NULL;
	size_t found = 0;

	while ((unit = perfctr_unit_next(unit))) {
		struct perfctr_expr *expr;
		const char *name;

		EQUAL(perfctr_expr_new(ctx, unit->formula, &expr), 0);
		for (size_t n = 0; (name = perfctr_expr_name(expr, n)); n++) {
			const struct perfctr_counter_desc *c = NULL;

			if (!strcmp(name, "block.cycles"))
				continue;
			while ((c = perfctr_counter_next(c)))
				if (c->product == unit->product &&
				    c->block_type == unit->block_type && !strcmp(c->name, name))
					break;
			if (!CHECK(c))
				printf("# %s: %s\n", unit->name, name);
			found++;
		}
		perfctr_expr_unref(expr);
	}
	CHECK(found > 20);
}

/* --- passes -------------------------------------------------------------------------- */

TEST_WITH(begin, end_kit, "counter sets are passes")
{
	unsigned int passes = 0;

	EQUAL(perfctr_perfkit_passes(kit, &passes), -ENODATA);
	CHECK(perfctr_perfkit_add(kit, "FRAGMENTS,L2_READ") > 0);
	EQUAL(perfctr_perfkit_passes(kit, &passes), 0);
	EQUAL(passes, 1);
	CHECK(perfctr_perfkit_add(kit, "L2_HITS,INSTR_STORE,READS_CACHED") > 0);
	EQUAL(perfctr_perfkit_passes(kit, &passes), 0);
	EQUAL(passes, 3);
	EQUAL(perfctr_perfkit_counter(kit, 0)->first_pass, 0);
	EQUAL(perfctr_perfkit_counter(kit, 2)->first_pass, 1);
	EQUAL(perfctr_perfkit_counter(kit, 4)->first_pass, 2);
	EQUAL(run_experiment(), 3);
	EQUAL(value_of("L2_HITS", 0).state, PERFCTR_VALUE_OK);
}

TEST_WITH(begin, end_kit, "every counter of the GPU is in three passes")
{
	CHECK(perfctr_perfkit_add_all(kit) > 150);
	EQUAL(run_experiment(), 3);
	/* all sets have it, but it is counted once */
	EQUAL(value_of("GPU_ACTIVE", 0).numerator, 1);
	EQUAL(perfctr_perfkit_counter(kit, (size_t)perfctr_perfkit_find(kit, "GPU_ACTIVE"))->passes,
	      1);
	for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
		struct perfctr_perfkit_value value;

		EQUAL(perfctr_perfkit_value(kit, n, 0, &value), 0);
		CHECK(value.flags & PERFCTR_PERFKIT_UPDATED);
		CHECK(value.denominator >= 1);
		if (perfctr_perfkit_counter(kit, n)->kind == PERFCTR_PERFKIT_COUNTER)
			EQUAL(value.state, PERFCTR_VALUE_OK);
	}
}

TEST("counters of a PMU are packed")
{
	const unsigned int events = 11;
	unsigned int passes;

	for (unsigned int slots = 1; slots <= events + 1; slots++) {
		begin();
		for (unsigned int n = 0; n < events; n++) {
			char text[64];

			snprintf(text, sizeof(text), "software/config=%u/", n);
			EQUAL(perfctr_perfkit_add(kit, text), 1);
		}
		fake->slots_at_once = slots;
		passes = run_experiment();
		EQUAL(passes, (events + slots - 1) / slots);
		for (unsigned int n = 0; n < events; n++) {
			struct perfctr_perfkit_value value;

			EQUAL(perfctr_perfkit_value(kit, n, 0, &value), 0);
			EQUAL(value.state, PERFCTR_VALUE_OK);
			EQUAL(value.flags, PERFCTR_PERFKIT_UPDATED);
			EQUAL(perfctr_perfkit_counter(kit, n)->first_pass, n / slots);
		}
		end_kit();
	}
}

TEST_WITH(begin, end_kit, "too many for one session are split")
{
	/* the fake kernel takes 64 requests */
	for (unsigned int n = 0; n < 100; n++) {
		char text[64];

		snprintf(text, sizeof(text), "software/config=%u/", n);
		EQUAL(perfctr_perfkit_add(kit, text), 1);
	}
	EQUAL(run_experiment(), 2);
}

TEST("NVIDIA counters take as many passes as they need")
{
	begin_with(true);
	CHECK(perfctr_perfkit_add(kit, "branch,divergent_branch,branch_efficiency,gpu_busy") > 0);
	/* two blocks of MP with two counters, one of PCOUNTER */
	fake->slots_at_once = 2;
	EQUAL(run_experiment(), 3);
	/* the sum of both blocks, whatever passes measured them */
	EQUAL(value_of("branch", 0).numerator, 2);
	EQUAL(value_of("divergent_branch", 0).numerator, 4);
	EQUAL(value_of("branch_efficiency", 0).numerator, 100);
	EQUAL(value_of("branch_efficiency", 0).denominator, 3);
	EQUAL(value_of("gpu_busy", 0).cycles, 500);
	end_kit();
}

/* --- experiments ----------------------------------------------------------------------- */

TEST_WITH(begin, end_kit, "objects have values of their own")
{
	unsigned int passes;

	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE,L2_HITS") > 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(passes, 2);
	for (unsigned int pass = 0; pass < passes; pass++) {
		EQUAL(perfctr_perfkit_begin_pass(kit, pass), 0);
		for (unsigned int object = 0; object < 3; object++) {
			/* each object does twice the work of the previous one */
			EQUAL(perfctr_perfkit_begin_object(kit, object), 0);
			for (unsigned int n = 1; n < 1u << object; n++) {
				EQUAL(perfctr_perfkit_end_object(kit), 0);
				EQUAL(perfctr_perfkit_begin_object(kit, object), 0);
			}
			EQUAL(perfctr_perfkit_end_object(kit), 0);
		}
		EQUAL(perfctr_perfkit_end_pass(kit), 0);
	}
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	EQUAL(perfctr_perfkit_object_count(kit), 3);
	for (unsigned int object = 0; object < 3; object++) {
		struct perfctr_perfkit_value active = value_of("GPU_ACTIVE", object);

		/* the first counter of a block grows by 1 in each sample, the next by 2 */
		EQUAL(active.numerator, 1 << object);
		EQUAL(active.cycles, 500 << object);
		EQUAL(active.elapsed_ns, 1000000 << object);
		EQUAL(active.flags, PERFCTR_PERFKIT_UPDATED);
		EQUAL(value_of("L2_HITS", object).state, PERFCTR_VALUE_OK);
	}
	EQUAL(value_of("GPU_ACTIVE", 3).state, PERFCTR_VALUE_NOT_MEASURED);
	EQUAL(value_of("GPU_ACTIVE", 3).flags, 0);
}

/* Several blocks and passes: an object that never began is not partly measured. */
TEST("an object that never began has no marks")
{
	unsigned int passes;

	begin_with(true);
	CHECK(perfctr_perfkit_add(kit, "instructions,branch,branch_efficiency") > 0);
	fake->slots_at_once = 1;
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	for (unsigned int pass = 0; pass < passes; pass++) {
		EQUAL(perfctr_perfkit_begin_pass(kit, pass), 0);
		EQUAL(perfctr_perfkit_begin_object(kit, 1), 0);
		EQUAL(perfctr_perfkit_end_object(kit), 0);
		EQUAL(perfctr_perfkit_end_pass(kit), 0);
	}
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	for (size_t n = 0; n < perfctr_perfkit_count(kit); n++) {
		struct perfctr_perfkit_value value;

		EQUAL(perfctr_perfkit_value(kit, n, 1, &value), 0);
		EQUAL(value.state, PERFCTR_VALUE_OK);
		EQUAL(value.flags, PERFCTR_PERFKIT_UPDATED);
		EQUAL(perfctr_perfkit_value(kit, n, 0, &value), 0);
		EQUAL(value.state, PERFCTR_VALUE_NOT_MEASURED);
		EQUAL(value.flags, 0);
	}
	end_kit();
}

TEST_WITH(begin, end_kit, "a pass that is done again replaces its values")
{
	unsigned int passes;

	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE") > 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	for (int n = 0; n < 2; n++) {
		EQUAL(perfctr_perfkit_begin_pass(kit, 0), 0);
		EQUAL(perfctr_perfkit_end_pass(kit), 0);
	}
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	EQUAL(value_of("GPU_ACTIVE", 0).numerator, 1);
}

TEST_WITH(begin, end_kit, "what is out of order is refused")
{
	unsigned int passes;

	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE,L2_HITS") > 0);
	EQUAL(perfctr_perfkit_begin_pass(kit, 0), -EPROTO);
	EQUAL(perfctr_perfkit_end_experiment(kit), -EPROTO);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), -EBUSY);
	EQUAL(perfctr_perfkit_add(kit, "PIXELS"), -EBUSY);
	EQUAL(perfctr_perfkit_remove(kit, 0), -EBUSY);
	EQUAL(perfctr_perfkit_sample(kit), -EBUSY);
	EQUAL(perfctr_perfkit_begin_object(kit, 0), -EPROTO);
	EQUAL(perfctr_perfkit_end_pass(kit), -EPROTO);
	EQUAL(perfctr_perfkit_begin_pass(kit, passes), -ERANGE);
	EQUAL(perfctr_perfkit_begin_pass(kit, 0), 0);
	EQUAL(perfctr_perfkit_begin_pass(kit, 1), -EPROTO);
	EQUAL(perfctr_perfkit_end_object(kit), -EPROTO);
	EQUAL(perfctr_perfkit_begin_object(kit, 65536), -ERANGE);
	EQUAL(perfctr_perfkit_begin_object(kit, 0), 0);
	EQUAL(perfctr_perfkit_begin_object(kit, 1), -EPROTO);
	EQUAL(perfctr_perfkit_end_pass(kit), -EPROTO);
	EQUAL(perfctr_perfkit_end_object(kit), 0);
	EQUAL(perfctr_perfkit_end_pass(kit), 0);
	/* the second pass is missing: the first one's values stay */
	EQUAL(perfctr_perfkit_end_experiment(kit), -ENODATA);
	HAS_TEXT(perfctr_ctx_error(ctx), "pass 1 of 2");
	EQUAL(value_of("GPU_ACTIVE", 0).state, PERFCTR_VALUE_OK);
	EQUAL(value_of("L2_HITS", 0).state, PERFCTR_VALUE_NOT_MEASURED);
	CHECK(!(value_of("L2_HITS", 0).flags & PERFCTR_PERFKIT_UPDATED));
	EQUAL(perfctr_perfkit_sample(kit), 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), -EBUSY);
}

TEST_WITH(begin, end_kit, "an experiment can end anywhere")
{
	unsigned int passes;

	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE") > 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(perfctr_perfkit_begin_pass(kit, 0), 0);
	EQUAL(perfctr_perfkit_begin_object(kit, 7), 0);
	EQUAL(perfctr_perfkit_end_experiment(kit), -ENODATA);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(perfctr_perfkit_begin_pass(kit, 0), 0);
}

/* --- samples ----------------------------------------------------------------------------- */

TEST_WITH(begin, end_kit, "samples mark what they update")
{
	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE,L2_HITS,READS_CACHED") > 0);
	EQUAL(perfctr_perfkit_sample(kit), 0);
	EQUAL(value_of("GPU_ACTIVE", 0).state, PERFCTR_VALUE_NOT_MEASURED);
	for (unsigned int n = 0; n < 7; n++) {
		EQUAL(perfctr_perfkit_sample(kit), 1);
		for (unsigned int k = 0; k < 3; k++) {
			struct perfctr_perfkit_value value;

			EQUAL(perfctr_perfkit_value(kit, k, 0, &value), 0);
			EQUAL(!!(value.flags & PERFCTR_PERFKIT_UPDATED), n % 3 == k);
			EQUAL(value.state, k <= n ? PERFCTR_VALUE_OK : PERFCTR_VALUE_NOT_MEASURED);
		}
	}
	perfctr_perfkit_end_sampling(kit);
	EQUAL(value_of("READS_CACHED", 0).state, PERFCTR_VALUE_OK);
}

TEST_WITH(begin, end_kit, "one pass samples without a gap")
{
	CHECK(perfctr_perfkit_add(kit, "cshw/GPU_ACTIVE,shader_utilization") > 0);
	EQUAL(perfctr_perfkit_sample(kit), 0);
	for (int n = 0; n < 5; n++) {
		EQUAL(perfctr_perfkit_sample(kit), 2);
		EQUAL(value_of("GPU_ACTIVE", 0).numerator, 1);
	}
	/* one session, and one for the plan: none was stopped */
	EQUAL(fake->calls[FAKE_START], 1);
	EQUAL(fake->calls[FAKE_STOP], 0);
}

/* --- values -------------------------------------------------------------------------------- */

TEST_WITH(begin, end_kit, "ratios are fractions")
{
	struct perfctr_perfkit_value value;

	CHECK(perfctr_perfkit_add(kit, "vertices_per_primitive,gpu_utilization,ext_read_bandwidth,"
				       "TILER SOL,TILER Bottleneck") > 0);
	EQUAL(run_experiment(), 1);
	/* after TILER_ACTIVE and before TILER_STALL */
	value = value_of("vertices_per_primitive", 0);
	EQUAL(value.numerator, 2);
	EQUAL(value.denominator, 3);
	/* 100 * 1 / 500 */
	value = value_of("gpu_utilization", 0);
	EQUAL(value.numerator, 1);
	EQUAL(value.denominator, 5);
	EQUAL(value_of("TILER SOL", 0).state, PERFCTR_VALUE_OK);
	/* the unit waited longer than it was busy: 0, not negative */
	EQUAL(value_of("TILER Bottleneck", 0).numerator, 0);
	EQUAL(perfctr_perfkit_bottleneck(kit, 0), -ENODATA);
	CHECK(perfctr_perfkit_add(kit, "* Bottleneck") > 0);
	run_experiment();
	CHECK(perfctr_perfkit_bottleneck(kit, 0) >= 0);
	EQUAL_TEXT(perfctr_perfkit_counter(kit, (size_t)perfctr_perfkit_bottleneck(kit, 0))->name,
		   "SHD Bottleneck");
	/* no work: no ratio, and an error */
	fake->step = 0;
	run_experiment();
	EQUAL(value_of("vertices_per_primitive", 0).state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	EQUAL(perfctr_perfkit_bottleneck(kit, 0), -ENODATA);
}

enum {
	/* nv50's counters of the units SHD and TEX */
	SHADER_COUNTERS = 0xf,
	TEXTURE_BUSY = 1 << 4,
	TEXTURE_WAITS_FOR_FB = 1 << 5,
	TEXTURE_WAITS_FOR_SHADER = 1 << 6,
	FIRST_OF_SHADER = 31,
	/* of the fake's clocks */
	MHZ_500 = 0,
	MHZ_800 = 2,
};

static void begin_with_domains(uint64_t slow, uint64_t fast)
{
	begin_with(true);
	perfctr_device_unref(device);
	perfctr_perfkit_unref(kit);
	fake->block_count = 0;
	add_block(DRM_PERFCTR_NV50_BLOCK_PCOUNTER, MHZ_500, DRM_PERFCTR_NV50_PRODUCT,
		  slow << FIRST_OF_SHADER);
	add_block(DRM_PERFCTR_NV50_BLOCK_PCOUNTER, MHZ_800, DRM_PERFCTR_NV50_PRODUCT,
		  fast << FIRST_OF_SHADER);
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_perfkit_new(device, &kit), 0);
}

/* A unit that waits for a unit of another clock domain: the wait is converted by time. */
TEST("waits are of their own clock")
{
	struct perfctr_perfkit_value value;

	begin_with_domains(TEXTURE_BUSY | TEXTURE_WAITS_FOR_SHADER, TEXTURE_WAITS_FOR_FB);
	EQUAL(perfctr_perfkit_add(kit, "TEX SOL,TEX Bottleneck"), 2);
	fake->slots_at_once = 1;
	fake->mux_steps[MHZ_800] = 8;
	fake->mux_steps[MHZ_500] = 8;
	/* 8 - 8 * 500 / 800 - 8 */
	EQUAL(run_experiment(), 3);
	EQUAL(value_of("TEX Bottleneck", 0).numerator, 0);
	EQUAL(perfctr_perfkit_bottleneck(kit, 0), -ENODATA);
	end_kit();

	begin_with_domains(TEXTURE_BUSY, TEXTURE_WAITS_FOR_FB | TEXTURE_WAITS_FOR_SHADER);
	EQUAL(perfctr_perfkit_add(kit, "TEX SOL,TEX Bottleneck"), 2);
	fake->mux_steps[MHZ_500] = 100;
	fake->mux_steps[MHZ_800] = 8;
	EQUAL(run_experiment(), 1);
	value = value_of("TEX SOL", 0);
	EQUAL(value.numerator, 20);
	/* 100 * (100 - (8 + 16) * 500 / 800) / 500 */
	value = value_of("TEX Bottleneck", 0);
	EQUAL(value.numerator, 17);
	EQUAL(value.denominator, 1);
	EQUAL(perfctr_perfkit_bottleneck(kit, 0), perfctr_perfkit_find(kit, "TEX Bottleneck"));
	end_kit();
}

static const struct perfctr_perfkit_counter *counter_of(const char *name)
{
	return perfctr_perfkit_counter(kit, (size_t)perfctr_perfkit_find(kit, name));
}

/* SHD is busy for longer than TEX, in an even longer pass. */
static void check_the_bottleneck_is_the_longest(unsigned int texture_domain,
						uint64_t texture_cycles)
{
	struct perfctr_perfkit_value shader, texture, time_ns;
	unsigned int passes = 0, pass;
	size_t found;

	EQUAL(perfctr_perfkit_add(kit, "SHD Bottleneck,TEX Bottleneck"), 2);
	fake->slots_at_once = 1;
	fake->step = 0;
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(passes, 7);
	for (pass = 0; pass < passes; pass++) {
		bool is_shader = pass == counter_of("SHD Bottleneck")->first_pass;
		bool is_texture = pass == counter_of("TEX Bottleneck")->first_pass;

		memset(fake->mux_steps, 0, sizeof(fake->mux_steps));
		fake->mux_steps[MHZ_500] = is_shader ? 2160 : 0;
		if (is_texture)
			fake->mux_steps[texture_domain] = texture_cycles;
		fake->mux_cycles = is_shader ? 19960704 : 5400704;
		EQUAL(perfctr_perfkit_begin_pass(kit, pass), 0);
		EQUAL(perfctr_perfkit_end_pass(kit), 0);
	}
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	shader = value_of("SHD Bottleneck", 0);
	texture = value_of("TEX Bottleneck", 0);
	EQUAL((uint64_t)shader.numerator * shader.cycles,
	      (uint64_t)shader.denominator * 100 * 2160);
	EQUAL((uint64_t)texture.numerator * texture.cycles,
	      (uint64_t)texture.denominator * 100 * texture_cycles);
	CHECK((double)texture.numerator / (double)texture.denominator >
	      (double)shader.numerator / (double)shader.denominator);
	found = (size_t)perfctr_perfkit_find(kit, "SHD Bottleneck");
	EQUAL(perfctr_perfkit_bottleneck(kit, 0), found);
	/* 2160 cycles of 500 MHz */
	EQUAL(perfctr_perfkit_time(kit, found, 0, &time_ns), 0);
	EQUAL(time_ns.state, PERFCTR_VALUE_OK);
	EQUAL(time_ns.numerator, 4320);
	EQUAL(time_ns.denominator, 1);
	EQUAL(perfctr_perfkit_time(kit, 99, 0, &time_ns), -ERANGE);
	EQUAL(perfctr_perfkit_add(kit, "software/config=1/"), 1);
	found = perfctr_perfkit_count(kit) - 1;
	EQUAL(perfctr_perfkit_time(kit, found, 0, &time_ns), -EINVAL);
}

TEST("the bottleneck is by time")
{
	const uint64_t waits = TEXTURE_WAITS_FOR_FB | TEXTURE_WAITS_FOR_SHADER;

	begin_with_domains(SHADER_COUNTERS | TEXTURE_BUSY, waits);
	check_the_bottleneck_is_the_longest(MHZ_500, 1828);
	end_kit();
	/* more cycles of a faster clock are less time */
	begin_with_domains(SHADER_COUNTERS | waits, TEXTURE_BUSY);
	check_the_bottleneck_is_the_longest(MHZ_800, 3000);
	end_kit();
}

TEST_WITH(begin, end_kit, "flags describe the quality of a value")
{
	unsigned int passes;

	CHECK(perfctr_perfkit_add(kit, "software/config=1/,software/config=2/") > 0);
	EQUAL(perfctr_perfkit_begin_experiment(kit, &passes), 0);
	EQUAL(passes, 1);
	EQUAL(perfctr_perfkit_begin_pass(kit, 0), 0);
	/* another session started after the passes were planned */
	fake->slots_at_once = 1;
	EQUAL(perfctr_perfkit_end_pass(kit), 0);
	EQUAL(perfctr_perfkit_end_experiment(kit), 0);
	EQUAL(value_of("config=1", 0).state, PERFCTR_VALUE_OK);
	EQUAL(value_of("config=2", 0).state, PERFCTR_VALUE_NOT_MEASURED);
	fake->slots_at_once = 0;
	fake->block_states = DRM_PERFCTR_STATE_SATURATED;
	run_experiment();
	EQUAL(value_of("config=1", 0).flags, PERFCTR_PERFKIT_UPDATED | PERFCTR_PERFKIT_OVERFLOW);
	fake->block_states = 0;
	fake->sample_flags = DRM_PERFCTR_SAMPLE_OVERFLOW;
	run_experiment();
	EQUAL(value_of("config=1", 0).flags, PERFCTR_PERFKIT_UPDATED | PERFCTR_PERFKIT_OVERFLOW);
	/* a block with its own states has lost nothing: the mark is another block's */
	fake->block_states = DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_AVAILABLE;
	run_experiment();
	EQUAL(value_of("config=1", 0).flags, PERFCTR_PERFKIT_UPDATED);
	fake->block_states |= DRM_PERFCTR_STATE_LOST;
	run_experiment();
	EQUAL(value_of("config=1", 0).flags, PERFCTR_PERFKIT_UPDATED | PERFCTR_PERFKIT_OVERFLOW);
	fake->block_states = 0;
	/* beyond 63 bits: no wrong number */
	fake->sample_flags = 0;
	fake->step = UINT64_C(1) << 63;
	run_experiment();
	EQUAL(value_of("config=1", 0).state, PERFCTR_VALUE_OVERFLOW);
}

TEST("every failure leaves nothing behind")
{
	static const enum fake_call calls[] = {
		FAKE_MMAP, FAKE_EVENTFD, FAKE_SESSION, FAKE_START, FAKE_SAMPLE, FAKE_STOP,
	};
	unsigned int failed = 0;

	for (size_t call = 0; call < ARRAY_SIZE(calls); call++) {
		for (int nth = 1; nth <= 8; nth++) {
			unsigned int passes = 0, pass;
			int error;

			begin();
			CHECK(perfctr_perfkit_add(kit, "software/config=1/,L2_HITS,L2_READ") > 0);
			fake_fail(fake, calls[call], nth, -EIO);
			error = perfctr_perfkit_begin_experiment(kit, &passes);
			for (pass = 0; !error && pass < passes; pass++) {
				error = perfctr_perfkit_begin_pass(kit, pass);
				if (!error)
					error = perfctr_perfkit_begin_object(kit, 0);
				if (!error)
					error = perfctr_perfkit_end_object(kit);
				if (!error)
					error = perfctr_perfkit_end_pass(kit);
			}
			failed += error != 0;
			if (error)
				CHECK(error == -EIO);
			end_kit();
		}
	}
	CHECK(failed > 20);
}
