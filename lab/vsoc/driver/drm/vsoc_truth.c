// SPDX-License-Identifier: GPL-2.0
/*
 * Exact counts of the hardware, and its shape, in debugfs. Tests compare samples with them.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/perfctr_drm.h>

#include "csf/vsoc_csf.h"
#include "engine/vsoc.h"
#include "engine/vsoc_account.h"
#include "engine/vsoc_engine.h"
#include "nv50/vsoc_nv50.h"
#include "vsoc_csf_counters.h"
#include "vsoc_drv.h"

#define ACCOUNT_NAME_BYTES	40

struct counter_name {
	u16 counter;
	const char *name;
};

#define COUNTER_NAME(position, text)	{ position, text },

struct counter_names {
	const struct counter_name *names;
	size_t count;
};

#define NAMES(kind) \
	static const struct counter_name kind##_names[] = { VSOC_##kind##_COUNTERS(COUNTER_NAME) }
#define NAMES_OF(kind) { kind##_names, ARRAY_SIZE(kind##_names) }

NAMES(FW);
NAMES(CSHW);
NAMES(CSHW_SECONDARY);
NAMES(CSHW_TERTIARY);
NAMES(TILER);
NAMES(TILER_SECONDARY);
NAMES(MEMSYS);
NAMES(MEMSYS_SECONDARY);
NAMES(MEMSYS_TERTIARY);
NAMES(SHADER);
NAMES(SHADER_SECONDARY);
NAMES(SHADER_TERTIARY);

/* counter names of each block type in a counter set */
struct set_names {
	struct counter_names fw;
	struct counter_names cshw;
	struct counter_names tiler;
	struct counter_names memsys;
	struct counter_names shader;
};

static const struct set_names sets[VSOC_SETS] = {
	[DRM_PERFCTR_SET_PRIMARY] = {
		NAMES_OF(FW), NAMES_OF(CSHW), NAMES_OF(TILER), NAMES_OF(MEMSYS),
		NAMES_OF(SHADER),
	},
	[DRM_PERFCTR_SET_SECONDARY] = {
		.cshw = NAMES_OF(CSHW_SECONDARY),
		.tiler = NAMES_OF(TILER_SECONDARY),
		.memsys = NAMES_OF(MEMSYS_SECONDARY),
		.shader = NAMES_OF(SHADER_SECONDARY),
	},
	[DRM_PERFCTR_SET_TERTIARY] = {
		.cshw = NAMES_OF(CSHW_TERTIARY),
		.memsys = NAMES_OF(MEMSYS_TERTIARY),
		.shader = NAMES_OF(SHADER_TERTIARY),
	},
};

enum totals {
	TOTALS_TRUTH,
	TOTALS_DROPPED,
	TOTALS_DOUBTFUL,
	TOTALS_PENDING,
	TOTALS_KINDS,
};

/* @account: prefix of each line, and zero counts are omitted; NULL: neither */
static void show_block(struct seq_file *m, const char *account, const char *type, u32 index,
		       u32 block, const struct counter_names *names, const u64 *values,
		       unsigned int kinds)
{
	const struct vsoc_device *vsoc = m->private;

	for (size_t i = 0; i < names->count; i++) {
		const struct counter_name *n = &names->names[i];
		const u64 *value = values + vsoc_gpu_index(vsoc, block, n->counter);

		if (n->counter >= vsoc->shape.counters_per_block || (account && !*value))
			continue;
		if (account)
			seq_printf(m, "%s ", account);
		seq_printf(m, "%s %u %u %s", type, index, n->counter, n->name);
		for (unsigned int kind = 0; kind < kinds; kind++)
			seq_printf(m, " %llu", value[kind * vsoc_gpu_registers(vsoc)]);
		seq_putc(m, '\n');
	}
}

/* @values: of the set, followed by @kinds - 1 more totals at a distance of all registers */
static void show_counters(struct seq_file *m, const char *account, const u64 *values, u32 set,
			  unsigned int kinds)
{
	const struct vsoc_device *vsoc = m->private;
	const struct vsoc_shape *shape = &vsoc->shape;
	const struct set_names *names = &sets[set];
	u32 block = VSOC_BLOCK_MEMSYS;
	u32 i;

	if (vsoc->nv50) {
		if (set == DRM_PERFCTR_SET_PRIMARY)
			vsoc_nv50_show(m, account, values);
		return;
	}
	show_block(m, account, "FW", 0, VSOC_BLOCK_FW, &names->fw, values, kinds);
	show_block(m, account, "CSHW", 0, VSOC_BLOCK_CSHW, &names->cshw, values, kinds);
	show_block(m, account, "TILER", 0, VSOC_BLOCK_TILER, &names->tiler, values, kinds);
	for (i = 0; i < shape->l2_slices; i++)
		show_block(m, account, "MEMSYS", i, block++, &names->memsys, values, kinds);
	for (i = 0; i < VSOC_MAX_CORES; i++)
		if (shape->shader_present & BIT_ULL(i))
			show_block(m, account, "SHADER", i, block++, &names->shader, values, kinds);
}

/* a consistent copy of @kinds totals, from @kind on */
static int show_totals(struct seq_file *m, u32 set, enum totals kind, unsigned int kinds)
{
	struct vsoc_device *vsoc = m->private;
	const size_t counters = vsoc_gpu_registers(vsoc);
	u64 *totals = kvcalloc(TOTALS_KINDS * counters, sizeof(*totals), GFP_KERNEL);

	if (!totals)
		return -ENOMEM;
	mutex_lock(&vsoc->hw_lock);
	vsoc_nv50_idle(vsoc);
	mutex_unlock(&vsoc->hw_lock);
	vsoc_fw_totals(vsoc, totals + TOTALS_TRUTH * counters,
		       totals + TOTALS_DROPPED * counters, totals + TOTALS_DOUBTFUL * counters,
		       totals + TOTALS_PENDING * counters);
	show_counters(m, NULL, totals + kind * counters +
		      vsoc_gpu_set_first(vsoc, set), set, kinds);
	kvfree(totals);
	return 0;
}

#define SET_FILE(name, call) \
	static int name##_show(struct seq_file *m, void *unused) \
	{ \
		return call; \
	} \
	DEFINE_SHOW_ATTRIBUTE(name)

SET_FILE(truth, show_totals(m, DRM_PERFCTR_SET_PRIMARY, TOTALS_TRUTH, 1));
SET_FILE(truth_secondary, show_totals(m, DRM_PERFCTR_SET_SECONDARY, TOTALS_TRUTH, 1));
SET_FILE(truth_tertiary, show_totals(m, DRM_PERFCTR_SET_TERTIARY, TOTALS_TRUTH, 1));
SET_FILE(dropped, show_totals(m, DRM_PERFCTR_SET_PRIMARY, TOTALS_DROPPED, 1));
SET_FILE(dropped_secondary, show_totals(m, DRM_PERFCTR_SET_SECONDARY, TOTALS_DROPPED, 1));
SET_FILE(dropped_tertiary, show_totals(m, DRM_PERFCTR_SET_TERTIARY, TOTALS_DROPPED, 1));
SET_FILE(doubtful, show_totals(m, DRM_PERFCTR_SET_PRIMARY, TOTALS_DOUBTFUL, 1));
SET_FILE(doubtful_secondary, show_totals(m, DRM_PERFCTR_SET_SECONDARY, TOTALS_DOUBTFUL, 1));
SET_FILE(doubtful_tertiary, show_totals(m, DRM_PERFCTR_SET_TERTIARY, TOTALS_DOUBTFUL, 1));
SET_FILE(counts, show_totals(m, DRM_PERFCTR_SET_PRIMARY, TOTALS_TRUTH, TOTALS_KINDS));
SET_FILE(counts_secondary, show_totals(m, DRM_PERFCTR_SET_SECONDARY, TOTALS_TRUTH, TOTALS_KINDS));
SET_FILE(counts_tertiary, show_totals(m, DRM_PERFCTR_SET_TERTIARY, TOTALS_TRUTH, TOTALS_KINDS));

/*
 * Accounts of a counter set, without zero counts. The first four are "total", "nobody", "closed"
 * and "others"; a context is PID/FILE/CONTEXT.
 */
static int show_accounts(struct seq_file *m, u32 set)
{
	static const char * const fixed[VSOC_ACCOUNTS_FIXED] = {
		"total", "nobody", "closed", "others"
	};
	struct vsoc_device *vsoc = m->private;
	struct vsoc_account_snapshot *s = vsoc_accounts_snapshot(vsoc, set);

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		const struct vsoc_account_owner *owner = &s->owners[i];
		char name[ACCOUNT_NAME_BYTES];

		if (i < VSOC_ACCOUNTS_FIXED)
			strscpy(name, fixed[i], sizeof(name));
		else
			snprintf(name, sizeof(name), "%d/%u/%u", owner->pid, owner->file,
				 owner->ctx_id);
		show_counters(m, name, s->counts + i * s->counters, set, 1);
	}
	kvfree(s);
	return 0;
}

SET_FILE(truth_contexts, show_accounts(m, DRM_PERFCTR_SET_PRIMARY));
SET_FILE(truth_contexts_secondary, show_accounts(m, DRM_PERFCTR_SET_SECONDARY));
SET_FILE(truth_contexts_tertiary, show_accounts(m, DRM_PERFCTR_SET_TERTIARY));

static int shape_show(struct seq_file *m, void *unused)
{
	static const char * const clock_names[VSOC_CLOCKS] = {
		[VSOC_CLOCK_TOP] = "top",
		[VSOC_CLOCK_COREGROUP] = "coregroup",
		[VSOC_CLOCK_SHADER] = "shader",
	};
	struct vsoc_device *vsoc = m->private;
	const struct vsoc_shape *shape = &vsoc->shape;

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
	for (unsigned int i = 0; i < VSOC_CLOCKS; i++)
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

#define CREATE_SETS(name, dir, vsoc) do { \
	debugfs_create_file(#name, 0444, dir, vsoc, &name##_fops); \
	debugfs_create_file(#name "_secondary", 0444, dir, vsoc, &name##_secondary_fops); \
	debugfs_create_file(#name "_tertiary", 0444, dir, vsoc, &name##_tertiary_fops); \
} while (0)

void vsoc_truth_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	CREATE_SETS(truth, dir, vsoc);
	CREATE_SETS(dropped, dir, vsoc);
	CREATE_SETS(doubtful, dir, vsoc);
	if (!vsoc->nv50)
		CREATE_SETS(counts, dir, vsoc);
	CREATE_SETS(truth_contexts, dir, vsoc);
	debugfs_create_file("shape", 0444, dir, vsoc, &shape_fops);
	debugfs_create_file("idle", 0444, dir, vsoc, &idle_fops);
}
