// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of perf PMUs: bits of a mask select the events of the uAPI header, filters are those of the
 * PMUs' formats, and each PMU name belongs to one block.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"
#include "test.h"
#include "pmu/pmu_events.h"
#include <drm/drm_perfctr_extension.h>
#include <drm/perfctr_tegra410.h>

#define MAX_EVENTS	64

struct wanted_kind {
	u16 type;
	/* prefix of its events in the header; NULL: any event */
	const char *events;
	/* PMU names of two blocks, "" of none */
	u16 index[2];
	const char *pmu[2];
	/* filters in config, config1, config2 */
	u64 filter[3];
};

static const struct wanted_kind wanted[] = {
	{ DRM_PERFCTR_TEGRA410_BLOCK_UCF, "DRM_PERFCTR_TEGRA410_UCF_", { 1, 12 },
	  { "nvidia_ucf_pmu_1", "nvidia_ucf_pmu_12" }, { 0, 0xf07, 0 } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE, "DRM_PERFCTR_TEGRA410_PCIE_", { 0x103, 0xff00 },
	  { "nvidia_pcie_pmu_1_rc_3", "nvidia_pcie_pmu_255_rc_0" }, { 0, 0x1ffffff, 0x1f } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, "DRM_PERFCTR_TEGRA410_PCIE_TGT_", { 0x103, 0xfe },
	  { "nvidia_pcie_tgt_pmu_1_rc_3", "nvidia_pcie_tgt_pmu_0_rc_254" },
	  { 0xff8, U64_MAX, U64_MAX } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, "DRM_PERFCTR_TEGRA410_CMEM_LATENCY_",
	  { 1, 65534 }, { "nvidia_cmem_latency_pmu_1", "nvidia_cmem_latency_pmu_65534" },
	  { 0, 0, 0 } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C, "DRM_PERFCTR_TEGRA410_C2C_", { 0, 1 },
	  { "nvidia_nvlink_c2c_pmu_0", "nvidia_nvlink_c2c_pmu_1" }, { 0, 3, 0 } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK, "DRM_PERFCTR_TEGRA410_C2C_", { 0, 1 },
	  { "nvidia_nvclink_pmu_0", "nvidia_nvclink_pmu_1" }, { 0, 0, 0 } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK, "DRM_PERFCTR_TEGRA410_C2C_", { 0, 1 },
	  { "nvidia_nvdlink_pmu_0", "nvidia_nvdlink_pmu_1" }, { 0, 0, 0 } },
};

static void __attribute__((constructor)) load_module(void)
{
	if (native_init())
		abort();
}

/* the registered kind of a block type, NULL if there is none */
static const struct drm_perfctr_pmu_kind *kind_of(u16 type)
{
	const struct drm_perfctr_pmu_kind *kind;
	struct module *owner;

	drm_perfctr_pmu_kind_get(type, &kind, &owner);
	return kind;
}

/*
 * Parses the header's events whose names begin with @prefix and hold no other prefix: "@NAME: text
 * (0xevent)." and then "NAME = bit". Returns their number.
 */
static unsigned int documented_events(const char *prefix, u64 *events)
{
	FILE *header = fopen(UAPI_HEADER, "re");
	unsigned int count = 0;
	char line[256], name[80] = "";
	u64 event = 0;

	check(header);
	if (!header)
		return 0;
	while (fgets(line, sizeof(line), header)) {
		const char *at = strstr(line, "@DRM_PERFCTR_"), *number = strstr(line, "(0x");
		char defined[80];
		unsigned int bit;

		/* the text may continue in the next line */
		if (at && sscanf(at, "@%79[A-Z0-9_]", name) != 1)
			name[0] = '\0';
		if (number) {
			event = strtoull(number + 1, NULL, 16);
		} else if (!at && sscanf(line, " %79[A-Z0-9_] = %u,", defined, &bit) == 2 &&
			   !strcmp(defined, name) && bit < MAX_EVENTS &&
			   !strncmp(name, prefix, strlen(prefix)) &&
			   (strstr(prefix, "_TGT_") || !strstr(name, "_TGT_"))) {
			events[bit] = event;
			count++;
		}
	}
	fclose(header);
	return count;
}

TEST(bits_select_the_events_of_the_header)
{
	unsigned int k, i;

	for (k = 0; k < ARRAY_SIZE(wanted); k++) {
		const struct drm_perfctr_pmu_kind *kind = kind_of(wanted[k].type);
		u64 events[MAX_EVENTS] = { 0 };

		check(kind && kind->events);
		check_eq(kind->event_count, documented_events(wanted[k].events, events));
		check(kind->event_count && kind->event_count <= MAX_EVENTS);
		for (i = 0; i < kind->event_count; i++) {
			check_eq(kind->events[i], events[i]);
			/* a user's filter must not select another event */
			check_eq(kind->events[i] & ~kind->config_mask, 0);
		}
	}
}

TEST(only_filters_of_the_format_are_accepted)
{
	unsigned int k, field, bit;

	for (k = 0; k < ARRAY_SIZE(wanted); k++) {
		const struct drm_perfctr_pmu_kind *kind = kind_of(wanted[k].type);

		check_eq(kind->filter_enable & ~kind->filter[0], 0);
		check_eq(kind->filter[0] & kind->config_mask, 0);
		for (field = 0; field < 3; field++)
			for (bit = 0; bit < 64; bit++)
				check_eq(drm_perfctr_pmu_kind_invalid_bits(kind, field,
									   kind->filter_enable,
									   BIT_ULL(bit)),
					 BIT_ULL(bit) & ~wanted[k].filter[field]);
	}
}

TEST(address_without_enable_bit_is_refused)
{
	const struct drm_perfctr_pmu_kind *kind = kind_of(DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT);

	check_eq(drm_perfctr_pmu_kind_invalid_bits(kind, 1, 0, 0x1000), 0x1000);
	check_eq(drm_perfctr_pmu_kind_invalid_bits(kind, 2, BIT_ULL(3), U64_MAX), U64_MAX);
	check_eq(drm_perfctr_pmu_kind_invalid_bits(kind, 1, 0, 0), 0);
	check_eq(drm_perfctr_pmu_kind_invalid_bits(kind, 0, 0, BIT_ULL(11)), 0);
}

TEST(each_name_matches_one_block)
{
	unsigned int k, other, i;

	for (k = 0; k < ARRAY_SIZE(wanted); k++) {
		const struct drm_perfctr_pmu_kind *kind = kind_of(wanted[k].type);

		for (i = 0; i < 2; i++) {
			char longer[64], shorter[64];

			check(drm_perfctr_pmu_kind_matches(kind, wanted[k].pmu[i],
							   wanted[k].index[i]));
			check(!drm_perfctr_pmu_kind_matches(kind, wanted[k].pmu[i],
							    wanted[k].index[!i]));
			snprintf(longer, sizeof(longer), "%s0", wanted[k].pmu[i]);
			check(!drm_perfctr_pmu_kind_matches(kind, longer, wanted[k].index[i]));
			snprintf(shorter, sizeof(shorter), "%s", wanted[k].pmu[i]);
			shorter[strlen(shorter) - 1] = '\0';
			check(!drm_perfctr_pmu_kind_matches(kind, shorter, wanted[k].index[i]));
			for (other = 0; other < ARRAY_SIZE(wanted); other++)
				check_eq(drm_perfctr_pmu_kind_matches(kind_of(wanted[other].type),
								      wanted[k].pmu[i],
								      wanted[k].index[i]),
					 other == k);
		}
		check(!drm_perfctr_pmu_kind_matches(kind, "", 0));
	}
}

TEST(generic_pmu_accepts_all_filters)
{
	const struct drm_perfctr_pmu_kind *kind;
	struct module *owner;
	unsigned int field;

	check_eq(drm_perfctr_pmu_kind_get(DRM_PERFCTR_BLOCK_GENERIC_PMU, &kind, &owner), 0);
	check(!kind);
	for (field = 0; field < 3; field++)
		check_eq(drm_perfctr_pmu_kind_invalid_bits(NULL, field, 0, U64_MAX), 0);
	check(drm_perfctr_pmu_kind_matches(NULL, "software", 0));
	check(drm_perfctr_pmu_kind_matches(NULL, "", 0xfffe));
}

TEST(only_known_types_have_a_kind)
{
	unsigned int type, kinds = 0;

	for (type = 0; type <= U16_MAX; type++) {
		const struct drm_perfctr_pmu_kind *kind = kind_of(type);

		kinds += !!kind;
		check(!kind || kind->type == type);
	}
	check_eq(kinds, ARRAY_SIZE(wanted));
}

TEST(kinds_are_unregistered_with_their_module)
{
	native_exit();
	check(!kind_of(DRM_PERFCTR_TEGRA410_BLOCK_UCF));
	check_eq(native_init(), 0);
	check(kind_of(DRM_PERFCTR_TEGRA410_BLOCK_UCF));
}
