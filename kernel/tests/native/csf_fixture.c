// SPDX-License-Identifier: GPL-2.0
/*
 * A CSF source on working firmware, and the expected results.
 */
#include "csf_fixture.h"

struct csf_perfctr *csf;

void fixture_irq(void)
{
	csf_perfctr_irq(csf);
}

void fixture_create(void)
{
	native_free_managed();
	core_reset();
	native_while_waiting = firmware_process;
	csf = drmm_csf_perfctr_create(NULL, NULL, &fw.config);
	fw.irq = IS_ERR(csf) ? NULL : fixture_irq;
}

int fixture_start(void)
{
	firmware_boot();
	fixture_create();
	if (IS_ERR(csf))
		return PTR_ERR(csf);
	return core.source->ops->start(core.source, 0);
}

void fixture_count(u32 n)
{
	unsigned int b;

	native_sleep_ns(10000);
	for (b = 0; b < fw.blocks; b++) {
		firmware_count(b, 4, n);
		firmware_count(b, fw.counters - 1, 2 * n);
	}
	firmware_count(0, 10, n);
	native_sleep_ns(10000);
}

/* block of a firmware sample to index in descs, -1 if hidden */
static int desc_of(unsigned int block)
{
	unsigned int core_no;

	if (block < 3 + fw.config.csg_blocks + fw.config.l2_slices)
		return block;
	for (core_no = 0; core_no < 64; core_no++)
		if (fw.config.shader_present & BIT_ULL(core_no) &&
		    firmware_shader_block(core_no) == block)
			return core_block(DRM_PERFCTR_MALI_BLOCK_SHADER, core_no);
	return -1;
}

bool fixture_conserved(void)
{
	unsigned int b, i;

	for (b = 0; b < fw.blocks; b++) {
		int d = desc_of(b);

		if (d < 0)
			continue;
		for (i = 0; i < fw.counters; i++) {
			u64 want = fw.counted[b][i] - fw.dropped[b][i];

			if (core.totals[d][i] == want)
				continue;
			printf("# block %u counter %u: %llu, counted %llu\n", b, i,
			       core.totals[d][i], want);
			return false;
		}
	}
	return true;
}

const struct fixture_shape fixture_shapes[FIXTURE_SHAPES] = {
	{ 0x1, 1, 64, false, true, true, 0 },
	{ 0x50005, 2, 64, false, true, true, 0 },
	{ 0x50005, 1, 64, true, true, true, 0 },
	{ 0x1110055, 4, 128, false, true, true, 0 },
	{ 0x1110055, 1, 64, false, true, false, 0 },
	{ 0xffff, 1, 64, false, false, false, 0 },
	{ 0xffff, 2, 128, true, false, false, 31 },
	{ 1ull << 63 | 1, 1, 64, true, true, true, 0 },
	{ 1ull << 63 | 1, 1, 64, false, true, true, 0 },
	{ 0x50005, 4, 64, false, true, false, 8 },
};

void fixture_use_shape(unsigned int s)
{
	const struct fixture_shape *shape = &fixture_shapes[s];

	firmware_default_config();
	fw.config.shader_present = shape->present;
	fw.config.shader_visible = shape->present;
	fw.config.l2_slices = shape->l2_slices;
	fw.config.csg_blocks = shape->csg_blocks;
	fw.config.counters_per_block = shape->counters;
	fw.config.shader_dense = shape->dense;
	fw.config.extended_metadata = shape->extended;
	fw.metadata = shape->metadata;
}
