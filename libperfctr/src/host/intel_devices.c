// SPDX-License-Identifier: MIT
/*
 * Intel's GPUs by the number of their PCI device: those with a list of what to count, and names of
 * later ones. Device numbers of one platform are not a range.
 */
#include "intel_devices.h"

#include <stddef.h>

static const uint16_t tiger_lake[] = {
	0x9a40, 0x9a49, 0x9a59, 0x9a60, 0x9a68, 0x9a70, 0x9a78, 0x9ac0, 0x9ac9, 0x9ad9, 0x9af8,
};

static const uint16_t rocket_lake[] = {
	0x4c80, 0x4c8a, 0x4c8b, 0x4c8c, 0x4c90, 0x4c9a,
};

static const uint16_t alder_lake[] = {
	0x4626, 0x4628, 0x462a, 0x4680, 0x4682, 0x4688, 0x468a, 0x468b, 0x4690, 0x4692, 0x4693,
	0x46a0, 0x46a1, 0x46a2, 0x46a3, 0x46a6, 0x46a8, 0x46aa, 0x46b0, 0x46b1, 0x46b2, 0x46b3,
	0x46c0, 0x46c1, 0x46c2, 0x46c3, 0x46d0, 0x46d1, 0x46d2, 0x46d3, 0x46d4,
};

static const uint16_t raptor_lake[] = {
	0xa720, 0xa721, 0xa780, 0xa781, 0xa782, 0xa783, 0xa788, 0xa789, 0xa78a,
	0xa78b, 0xa7a0, 0xa7a1, 0xa7a8, 0xa7a9, 0xa7aa, 0xa7ab, 0xa7ac, 0xa7ad,
};

static const uint16_t dg1[] = {
	0x4905, 0x4906, 0x4907, 0x4908, 0x4909,
};

static const uint16_t meteor_lake[] = {
	0x7d40, 0x7d45, 0x7d55, 0x7d60, 0x7dd5,
};

static const uint16_t arrow_lake[] = {
	0x7d41, 0x7d51, 0x7d67, 0x7dd1, 0xb640,
};

static const uint16_t lunar_lake[] = {
	0x6420,
	0x64a0,
	0x64b0,
};

static const uint16_t battlemage[] = {
	0xe202, 0xe209, 0xe20b, 0xe20c, 0xe20d, 0xe210, 0xe211,
	0xe212, 0xe216, 0xe220, 0xe221, 0xe222, 0xe223,
};

#define PLATFORM(ids, text)                             \
	{                                               \
		text, ids, sizeof(ids) / sizeof(*(ids)) \
	}

static const struct {
	const char *name;
	const uint16_t *ids;
	size_t count;
} platforms[INTEL_PLATFORMS] = {
	[INTEL_TIGER_LAKE] = PLATFORM(tiger_lake, "Intel Tiger Lake"),
	[INTEL_ROCKET_LAKE] = PLATFORM(rocket_lake, "Intel Rocket Lake"),
	[INTEL_ALDER_LAKE] = PLATFORM(alder_lake, "Intel Alder Lake"),
	[INTEL_RAPTOR_LAKE] = PLATFORM(raptor_lake, "Intel Raptor Lake"),
	[INTEL_DG1] = PLATFORM(dg1, "Intel DG1"),
	[INTEL_METEOR_LAKE] = PLATFORM(meteor_lake, "Intel Meteor Lake"),
	[INTEL_ARROW_LAKE] = PLATFORM(arrow_lake, "Intel Arrow Lake"),
	[INTEL_LUNAR_LAKE] = PLATFORM(lunar_lake, "Intel Lunar Lake"),
	[INTEL_BATTLEMAGE] = PLATFORM(battlemage, "Intel Battlemage"),
};

/* platforms that perfctr has no list for, by the upper bits of their numbers */
static const struct {
	uint16_t id, mask;
	const char *name;
} others[] = {
	{ 0x5690, 0xfff0, "Intel DG2" },	   { 0x56a0, 0xfff0, "Intel DG2" },
	{ 0x56b0, 0xfff0, "Intel DG2" },	   { 0x56c0, 0xfff0, "Intel ATS-M" },
	{ 0x0b60, 0xfff0, "Intel Ponte Vecchio" }, { 0x0bd0, 0xfff0, "Intel Ponte Vecchio" },
	{ 0x0be0, 0xfff0, "Intel Ponte Vecchio" }, { 0xb080, 0xffc0, "Intel Panther Lake" },
};

enum intel_platform intel_platform_of(uint16_t device)
{
	for (int p = 1; p < INTEL_PLATFORMS; p++)
		for (size_t n = 0; n < platforms[p].count; n++)
			if (platforms[p].ids[n] == device)
				return (enum intel_platform)p;
	return INTEL_UNKNOWN;
}

const char *intel_name_of(uint16_t device)
{
	enum intel_platform platform = intel_platform_of(device);

	if (platform)
		return platforms[platform].name;
	for (size_t n = 0; n < sizeof(others) / sizeof(*others); n++)
		if ((device & others[n].mask) == others[n].id)
			return others[n].name;
	return NULL;
}
