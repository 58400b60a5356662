// SPDX-License-Identifier: GPL-2.0
/*
 * What the hardware really counted, and what it looks like, in debugfs. Tests
 * compare samples with it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vsoc.h"
#include "vsoc_counters.h"

struct counter_name {
	u16 counter;
	const char *name;
};

#define COUNTER_NAME(position, text)	{ position, text },

static const struct counter_name fw_names[] = { VSOC_FW_COUNTERS(COUNTER_NAME) };
static const struct counter_name cshw_names[] = { VSOC_CSHW_COUNTERS(COUNTER_NAME) };
static const struct counter_name tiler_names[] = { VSOC_TILER_COUNTERS(COUNTER_NAME) };
static const struct counter_name memsys_names[] = { VSOC_MEMSYS_COUNTERS(COUNTER_NAME) };
static const struct counter_name shader_names[] = { VSOC_SHADER_COUNTERS(COUNTER_NAME) };

static void show_block(struct seq_file *m, const char *type, u32 index, u32 block,
		       const struct counter_name *names, size_t count, const u64 *values)
{
	const struct vsoc_device *vsoc = m->private;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct counter_name *n = &names[i];

		if (n->counter < vsoc->shape.counters_per_block)
			seq_printf(m, "%s %u %u %s %llu\n", type, index, n->counter, n->name,
				   values[vsoc_gpu_index(vsoc, block, n->counter)]);
	}
}

static void show_counters(struct seq_file *m, const u64 *values)
{
	const struct vsoc_device *vsoc = m->private;
	const struct vsoc_shape *shape = &vsoc->shape;
	u32 block = VSOC_BLOCK_MEMSYS;
	u32 i;

	show_block(m, "FW", 0, VSOC_BLOCK_FW, fw_names, ARRAY_SIZE(fw_names), values);
	show_block(m, "CSHW", 0, VSOC_BLOCK_CSHW, cshw_names, ARRAY_SIZE(cshw_names), values);
	show_block(m, "TILER", 0, VSOC_BLOCK_TILER, tiler_names, ARRAY_SIZE(tiler_names), values);
	for (i = 0; i < shape->l2_slices; i++)
		show_block(m, "MEMSYS", i, block++, memsys_names, ARRAY_SIZE(memsys_names),
			   values);
	for (i = 0; i < VSOC_MAX_CORES; i++)
		if (shape->shader_present & BIT_ULL(i))
			show_block(m, "SHADER", i, block++, shader_names,
				   ARRAY_SIZE(shader_names), values);
}

/* both totals in one consistent copy; @dropped selects the one to show */
static int show_totals(struct seq_file *m, bool dropped)
{
	struct vsoc_device *vsoc = m->private;
	const size_t counters = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);
	u64 *totals = kvcalloc(2 * counters, sizeof(*totals), GFP_KERNEL);

	if (!totals)
		return -ENOMEM;
	vsoc_fw_totals(vsoc, totals, totals + counters);
	show_counters(m, dropped ? totals + counters : totals);
	kvfree(totals);
	return 0;
}

static int truth_show(struct seq_file *m, void *unused)
{
	return show_totals(m, false);
}
DEFINE_SHOW_ATTRIBUTE(truth);

static int dropped_show(struct seq_file *m, void *unused)
{
	return show_totals(m, true);
}
DEFINE_SHOW_ATTRIBUTE(dropped);

static int shape_show(struct seq_file *m, void *unused)
{
	static const char * const clock_names[VSOC_CLOCKS] = {
		[VSOC_CLOCK_TOP] = "top",
		[VSOC_CLOCK_COREGROUP] = "coregroup",
		[VSOC_CLOCK_SHADER] = "shader",
	};
	struct vsoc_device *vsoc = m->private;
	const struct vsoc_shape *shape = &vsoc->shape;
	unsigned int i;

	seq_puts(m, "{\n");
	seq_printf(m, "  \"shader_present\": \"0x%llx\",\n", shape->shader_present);
	seq_printf(m, "  \"cores\": %u,\n", shape->cores);
	seq_printf(m, "  \"shader_dense\": %s,\n", shape->shader_dense ? "true" : "false");
	seq_printf(m, "  \"l2_slices\": %u,\n", shape->l2_slices);
	seq_printf(m, "  \"counters_per_block\": %u,\n", shape->counters_per_block);
	seq_printf(m, "  \"fw_slots\": %u,\n", vsoc->fw_slots);
	seq_printf(m, "  \"timestamp_hz\": %llu,\n", VSOC_TIMESTAMP_HZ);
	seq_printf(m, "  \"max_count_hz\": %llu,\n", VSOC_MAX_COUNT_HZ);
	seq_puts(m, "  \"clocks\": {");
	mutex_lock(&vsoc->hw_lock);
	vsoc_gpu_update_clocks(vsoc);
	for (i = 0; i < VSOC_CLOCKS; i++)
		seq_printf(m, "%s\n    \"%s\": { \"hz\": %llu, \"on\": %s, \"cycles\": %llu }",
			   i ? "," : "", clock_names[i], vsoc->gpu.clocks[i].hz,
			   vsoc->gpu.clocks[i].on ? "true" : "false", vsoc_gpu_cycles(vsoc, i));
	seq_printf(m, "\n  },\n  \"cores_on\": \"0x%llx\"\n}\n", vsoc->gpu.cores_on);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(shape);

static int idle_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;

	seq_printf(m, "%u\n", vsoc_engine_idle(vsoc));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(idle);

void vsoc_truth_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("truth", 0444, dir, vsoc, &truth_fops);
	debugfs_create_file("dropped", 0444, dir, vsoc, &dropped_fops);
	debugfs_create_file("shape", 0444, dir, vsoc, &shape_fops);
	debugfs_create_file("idle", 0444, dir, vsoc, &idle_fops);
}
