// SPDX-License-Identifier: GPL-2.0
/*
 * Everything outside of the GPU: takes the traffic of the workload engine.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <drm/drm_managed.h>

#include "vsoc.h"

#define KINDS		(VSOC_TRAFFIC_PCIE_TGT + 1)
#define INITIATORS	(DRM_VSOC_INITIATOR_REMOTE + 1)
#define HOMES		(DRM_VSOC_HOME_REMOTE + 1)

/**
 * struct vsoc_fabric - the SoC around the GPU; under hw_lock
 */
struct vsoc_fabric {
	/** @bytes: totals since the device exists, by read (0) and write (1). */
	u64 bytes[KINDS][INITIATORS][HOMES][2];
};

void vsoc_fabric_traffic(struct vsoc_device *vsoc, const struct vsoc_traffic *t)
{
	lockdep_assert_held(&vsoc->hw_lock);
	vsoc->fabric->bytes[t->kind][t->initiator][t->home][t->write] += t->bytes;
}

static int traffic_show(struct seq_file *m, void *unused)
{
	static const char * const kinds[KINDS] = { "MEM", "PCIE_SRC", "PCIE_TGT" };
	static const char * const initiators[INITIATORS] = { "GPU", "CPU", "NONCPU", "REMOTE" };
	static const char * const homes[HOMES] = { "CMEM", "GMEM", "CXL", "PCIE_PEER", "REMOTE" };
	struct vsoc_device *vsoc = m->private;
	unsigned int k, i, h, w;

	mutex_lock(&vsoc->hw_lock);
	for (k = 0; k < KINDS; k++)
		for (i = 0; i < INITIATORS; i++)
			for (h = 0; h < HOMES; h++)
				for (w = 0; w < 2; w++)
					seq_printf(m, "%s %s %s %s %llu\n", kinds[k],
						   initiators[i], homes[h], w ? "write" : "read",
						   vsoc->fabric->bytes[k][i][h][w]);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(traffic);

void vsoc_fabric_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("traffic", 0444, dir, vsoc, &traffic_fops);
}

int vsoc_fabric_init(struct vsoc_device *vsoc)
{
	vsoc->fabric = drmm_kzalloc(&vsoc->drm, sizeof(*vsoc->fabric), GFP_KERNEL);
	return vsoc->fabric ? 0 : -ENOMEM;
}

void vsoc_fabric_fini(struct vsoc_device *vsoc)
{
}
