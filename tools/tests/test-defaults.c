// SPDX-License-Identifier: MIT
/* The events of the defaults and of top's views on every product of the database. */
#include "base/ctx.h"

/* its lists */
#include "lib/defaults.c"

#include "top/views.h"

#include "tests/fixture.h"

#define PMUS "/sys/bus/event_source/devices/"

enum { MOST_EVENTS = 128 };

/* what defaults.c uses, of a privileged user */
bool app_has_capability(unsigned int number)
{
	return true;
}

bool pmu_counts_machine(const char *pmu)
{
	return false;
}

int app_read_number(const char *path, long *value)
{
	return -ENOENT;
}

char *app_setcap(char *text, size_t size)
{
	return text;
}

static size_t list_events(const char **events)
{
	size_t count = 0;

	for (size_t n = 0; n < ARRAY_SIZE(gpu_events); n++)
		events[count++] = gpu_events[n];
	for (size_t n = 0; n < ARRAY_SIZE(soc_events); n++)
		events[count++] = soc_events[n];
	for (size_t n = 0; n < ARRAY_SIZE(kernel_events); n++)
		events[count++] = kernel_events[n];
	for (size_t n = 0; n < top_view_count; n++)
		for (const char *const *e = top_views[n].events; e && *e; e++)
			/* test-readings.py has the readings */
			if (!strncmp(*e, "metric:", 7))
				events[count++] = *e;
	CHECK(count <= MOST_EVENTS);
	return count;
}

/* A GPU that has all counters of a product, and a SoC with all kinds of PMUs. */
static void begin_product(unsigned int product)
{
	static const char *const pmus[] = {
		PMUS "nvidia_ucf_pmu_0/type",		PMUS "nvidia_pcie_pmu_0_rc_0/type",
		PMUS "nvidia_pcie_tgt_pmu_0_rc_0/type", PMUS "nvidia_cmem_latency_pmu_0/type",
		PMUS "nvidia_nvlink_c2c_pmu_0/type",	PMUS "nvidia_nvclink_pmu_0/type",
		PMUS "nvidia_nvdlink_pmu_0/type",
	};
	const struct perfctr_counter_desc *c = NULL;

	begin_fake();
	fake->block_count = 0;
	fake->info.product = (uint16_t)product;
	while ((c = perfctr_counter_next(c))) {
		struct drm_perfctr_block_info *b = fake->blocks;

		if (c->product != product)
			continue;
		while (b < fake->blocks + fake->block_count && b->type != c->block_type)
			b++;
		if (b == fake->blocks + fake->block_count) {
			fake->block_count++;
			*b = (struct drm_perfctr_block_info){ .type = c->block_type,
							      .product = c->product,
							      .counters = 256,
							      .sets = 7 };
		}
		b->available[c->position / DRM_PERFCTR_SECTION_COUNTERS] |=
			UINT64_C(1) << c->position % DRM_PERFCTR_SECTION_COUNTERS;
	}
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		fake_file(fake, pmus[n], "40\n");
	open_device(NULL);
}

/* Grace's PMUs, which no kernel module counts. */
static void begin_grace(void)
{
	static const char *const pmus[] = {
		PMUS "nvidia_scf_pmu_0/type",	      PMUS "nvidia_pcie_pmu_0/type",
		PMUS "nvidia_nvlink_c2c0_pmu_0/type", PMUS "nvidia_nvlink_c2c1_pmu_0/type",
		PMUS "nvidia_cnvlink_pmu_0/type",
	};

	begin_fake();
	for (size_t n = 0; n < ARRAY_SIZE(pmus); n++)
		fake_file(fake, pmus[n], "40\n");
	open_device("local");
}

/* @events: of a view; NULL: the defaults. */
static bool has_one_of(const char *const *events)
{
	bool has = !events;

	for (; events && *events; events++)
		has |= perfctr_selection_add(selection, *events) > 0;
	return has;
}

TEST("every default exists, and every product has some of its own")
{
	const struct perfctr_counter_desc *c = NULL;
	const char *events[MOST_EVENTS];
	const size_t count = list_events(events);
	bool exists[MOST_EVENTS] = { false };
	unsigned int product = 0, products = 0;

	while ((c = perfctr_counter_next(c))) {
		size_t own = 0;

		if (c->product == product || *c->pmu)
			continue;
		product = c->product;
		products++;
		begin_product(product);
		for (size_t n = 0; n < count; n++) {
			bool has = perfctr_selection_add(selection, events[n]) > 0;

			exists[n] |= has;
			own += has && n < ARRAY_SIZE(gpu_events);
		}
		if (own < 3)
			test_fail(__FILE__, __LINE__, "%s has %zu", perfctr_product_name(product),
				  own);
		selection = perfctr_selection_unref(selection);
		EQUAL(perfctr_selection_new(device, &selection), 0);
		CHECK(defaults_add(&(struct app){ .ctx = ctx }, device, selection, true, NULL) > 0);
		/* what a device lacks leaves the rest of a view; the SoC has some of each */
		for (size_t n = 0; n < top_view_count; n++) {
			selection = perfctr_selection_unref(selection);
			EQUAL(perfctr_selection_new(device, &selection), 0);
			CHECK(has_one_of(top_views[n].events));
		}
		end();
	}
	CHECK(products > 15);
	begin_grace();
	for (size_t n = 0; n < count; n++)
		exists[n] |= perfctr_selection_add(selection, events[n]) > 0;
	end();
	for (size_t n = 0; n < count; n++)
		if (!exists[n])
			test_fail(__FILE__, __LINE__, "no product has %s", events[n]);
}
