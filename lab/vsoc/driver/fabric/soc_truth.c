// SPDX-License-Identifier: GPL-2.0
/*
 * Exact totals of each PMU's events, for each combination of attributes that its filters
 * distinguish. Totals start with the device, whether or not a PMU counts.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "soc_model.h"
#include "tegra410_counters.h"

/* names by catalogue number */
#define NAME(number, name, ...) \
	[number] = name,
static const char * const ucf_names[] = { TEGRA410_UCF_COUNTERS(NAME) };
static const char * const pcie_names[] = { TEGRA410_PCIE_COUNTERS(NAME) };
static const char * const pcie_tgt_names[] = { TEGRA410_PCIE_TGT_COUNTERS(NAME) };
static const char * const cmem_names[] = { TEGRA410_CMEM_LATENCY_COUNTERS(NAME) };
static const char * const c2c_names[] = { TEGRA410_NVLINK_C2C_COUNTERS(NAME) };

static const char * const src_names[] = {
	[SOC_SRC_LOC_NONCPU]	= "loc_noncpu",
	[SOC_SRC_LOC_CPU]	= "loc_cpu",
	[SOC_SRC_REM]		= "rem",
};

static const char * const dst_names[] = {
	[SOC_DST_CMEM]		= "cmem",
	[SOC_DST_GMEM]		= "gmem",
	[SOC_DST_CXL]		= "cxl",
	[SOC_DST_PCIE_PEER]	= "pcie_peer",
	[SOC_DST_REM]		= "rem",
};

/* the attributes that identify a row */
static struct soc_tag truth_key(const struct soc_tag *tag)
{
	struct soc_tag key = *tag;

	key.address = round_down(tag->address, SOC_TRUTH_REGION_BYTES);
	key.bytes = 0;
	return key;
}

static bool truth_same(const struct soc_tag *a, const struct soc_tag *b)
{
	return a->address == b->address && a->bdf == b->bdf && a->src == b->src &&
	       a->dst == b->dst && a->rp == b->rp && a->gpu == b->gpu;
}

static u32 truth_hash(const struct soc_tag *key)
{
	return jhash_3words(lower_32_bits(key->address), upper_32_bits(key->address),
			    key->bdf | key->rp << 16 | key->src << 20 | key->dst << 24 |
			    (u32)key->gpu << 28, 0);
}

static struct soc_truth_row *truth_row(struct soc_truth *truth, const struct soc_tag *tag)
{
	struct soc_tag key = truth_key(tag);
	struct soc_truth_row *row;
	u32 hash;

	if (truth->last && truth_same(&truth->last->tag, &key))
		return truth->last;
	hash = truth_hash(&key);
	hash_for_each_possible(truth->rows, row, node, hash) {
		if (truth_same(&row->tag, &key)) {
			truth->last = row;
			return row;
		}
	}
	if (truth->row_count == SOC_TRUTH_MAX_ROWS)
		return NULL;
	/* GFP_ATOMIC: fences wait for the job that causes the traffic */
	row = kzalloc(sizeof(*row), GFP_ATOMIC | __GFP_NOWARN);
	if (!row)
		return NULL;
	row->tag = key;
	hash_add(truth->rows, &row->node, hash);
	truth->row_count++;
	return row;
}

static const char * const *truth_names(const struct soc_pmu *pmu, unsigned int *count)
{
	switch (pmu->place.kind) {
	case SOC_UCF:
		*count = ARRAY_SIZE(ucf_names);
		return ucf_names;
	case SOC_PCIE:
		*count = ARRAY_SIZE(pcie_names);
		return pcie_names;
	case SOC_PCIE_TGT:
		*count = ARRAY_SIZE(pcie_tgt_names);
		return pcie_tgt_names;
	case SOC_CMEM_LATENCY:
		*count = ARRAY_SIZE(cmem_names);
		return cmem_names;
	default:
		*count = ARRAY_SIZE(c2c_names);
		return c2c_names;
	}
}

/*
 * Account for traffic.
 * @pmu: the PMU that it passed; @tag: its attributes; it must not cross a multiple of
 * SOC_TRUTH_REGION_BYTES; @amounts: by catalogue number.
 */
void soc_truth_add(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
	struct soc_truth_row *row = truth_row(&pmu->truth, tag);
	unsigned int count;

	if (!row) {
		pmu->truth.dropped++;
		return;
	}
	truth_names(pmu, &count);
	for (unsigned int i = 0; i < count; i++)
		row->total[i] += amounts[i];
}

static void truth_show_tag(const struct soc_pmu *pmu, const struct soc_tag *tag,
			   struct seq_file *m)
{
	switch (pmu->place.kind) {
	case SOC_UCF:
		seq_printf(m, "src=%s dst=%s", src_names[tag->src], dst_names[tag->dst]);
		break;
	case SOC_PCIE:
		seq_printf(m, "rp=%u bdf=%#06x dst=%s", tag->rp, tag->bdf, dst_names[tag->dst]);
		break;
	case SOC_PCIE_TGT:
		seq_printf(m, "rp=%u dst=%s address=%#llx", tag->rp, dst_names[tag->dst],
			   tag->address);
		break;
	case SOC_NVLINK_C2C:
		seq_printf(m, "gpu=%u", tag->gpu);
		break;
	default:
		seq_puts(m, "all");
	}
}

/* Print all rows: tag, then event=total. */
void soc_truth_show(struct soc_pmu *pmu, struct seq_file *m)
{
	const char * const *names;
	struct soc_truth_row *row;
	unsigned int count, b;

	names = truth_names(pmu, &count);
	hash_for_each(pmu->truth.rows, b, row, node) {
		truth_show_tag(pmu, &row->tag, m);
		for (unsigned int i = 0; i < count; i++) {
			/* cycles are a clock's, not traffic */
			if (names[i] && !strstr(names[i], "cycles"))
				seq_printf(m, " %s=%llu", names[i], row->total[i]);
		}
		seq_putc(m, '\n');
	}
}

/* Free all rows. */
void soc_truth_fini(struct soc_pmu *pmu)
{
	struct soc_truth_row *row;
	struct hlist_node *next;
	unsigned int b;

	hash_for_each_safe(pmu->truth.rows, b, next, row, node) {
		hash_del(&row->node);
		kfree(row);
	}
}
