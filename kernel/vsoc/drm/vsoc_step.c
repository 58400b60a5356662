// SPDX-License-Identifier: GPL-2.0
/*
 * Stepped time in debugfs: "stepped" switches it on; "step_ns" advances it and reads the time.
 */
#include <linux/debugfs.h>

#include "engine/vsoc.h"
#include "engine/vsoc_engine.h"
#include "vsoc_drv.h"

static int stepped_get(void *data, u64 *on)
{
	struct vsoc_device *vsoc = data;

	*on = READ_ONCE(vsoc->stepped.on);
	return 0;
}

static int stepped_set(void *data, u64 on)
{
	return on > 1 ? -EINVAL : vsoc_engine_set_stepped(data, on);
}
DEFINE_DEBUGFS_ATTRIBUTE(stepped_fops, stepped_get, stepped_set, "%llu\n");

static int step_get(void *data, u64 *now_ns)
{
	*now_ns = vsoc_now_ns(data);
	return 0;
}

static int step_set(void *data, u64 ns)
{
	return vsoc_engine_step(data, ns);
}
DEFINE_DEBUGFS_ATTRIBUTE(step_fops, step_get, step_set, "%llu\n");

void vsoc_step_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("stepped", 0600, dir, vsoc, &stepped_fops);
	debugfs_create_file("step_ns", 0600, dir, vsoc, &step_fops);
}
