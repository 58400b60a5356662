// SPDX-License-Identifier: GPL-2.0
/*
 * Counter logic, chosen in debugfs: how the product counts thread instructions, injected counting
 * errors, and what a core's L2D_CACHE counts. It tests validation tools.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "engine/vsoc.h"
#include "memory/memsim_core.h"
#include "vsoc_drv.h"

#define MAX_NAME_BYTES	32

static const char * const profile_names[VSOC_PROFILES] = {
	[VSOC_PROFILE_XAVIER] = "xavier",
	[VSOC_PROFILE_DOCUMENTED] = "documented",
};

static const char * const miscount_names[VSOC_MISCOUNTS] = {
	[VSOC_MISCOUNT_NONE] = "none",
	[VSOC_MISCOUNT_DOUBLE] = "double",
	[VSOC_MISCOUNT_SWAP] = "swap",
	[VSOC_MISCOUNT_DEAD] = "dead",
	[VSOC_MISCOUNT_SATURATE] = "saturate",
	[VSOC_MISCOUNT_WRAP] = "wrap",
	[VSOC_MISCOUNT_STALE] = "stale",
	[VSOC_MISCOUNT_OFF_BY_ONE] = "off-by-one",
	[VSOC_MISCOUNT_MUX] = "mux",
};

static const char * const l2_counting_names[MEMSIM_L2_COUNTINGS] = {
	[MEMSIM_L2_SPECULATIVE] = "speculative",
	[MEMSIM_L2_REFILLS] = "refills",
	[MEMSIM_L2_EVICTIONS] = "evictions",
};

/* returns an enum vsoc_profile or -EINVAL */
int vsoc_profile_by_name(const char *name)
{
	return match_string(profile_names, VSOC_PROFILES, name);
}

/* all names, the current one in brackets */
static void show_names(struct seq_file *m, const char * const *names, u32 count, u32 chosen)
{
	for (u32 i = 0; i < count; i++)
		seq_printf(m, i == chosen ? "%s[%s]" : "%s%s", i ? " " : "", names[i]);
	seq_putc(m, '\n');
}

static int read_name(const char __user *from, size_t count, const char * const *names, u32 total)
{
	char name[MAX_NAME_BYTES];

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, count))
		return -EFAULT;
	name[count] = '\0';
	return match_string(names, total, strim(name));
}

/* a file that chooses a name */
#define NAMES_FILE(what, total) \
	static int what##_show(struct seq_file *m, void *unused) \
	{ \
		struct vsoc_device *vsoc = m->private; \
		\
		show_names(m, what##_names, total, READ_ONCE(vsoc->counting.what)); \
		return 0; \
	} \
	static ssize_t what##_write(struct file *f, const char __user *from, size_t count, \
				    loff_t *pos) \
	{ \
		struct vsoc_device *vsoc = ((struct seq_file *)f->private_data)->private; \
		int i = read_name(from, count, what##_names, total); \
		\
		if (i < 0) \
			return i; \
		WRITE_ONCE(vsoc->counting.what, i); \
		return count; \
	} \
	static int what##_open(struct inode *inode, struct file *f) \
	{ \
		return single_open(f, what##_show, inode->i_private); \
	} \
	static const struct file_operations what##_fops = { \
		.owner = THIS_MODULE, \
		.open = what##_open, \
		.read = seq_read, \
		.write = what##_write, \
		.llseek = seq_lseek, \
		.release = single_release, \
	}

NAMES_FILE(profile, VSOC_PROFILES);
NAMES_FILE(miscount, VSOC_MISCOUNTS);
NAMES_FILE(l2_counting, MEMSIM_L2_COUNTINGS);

void vsoc_profile_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("profile", 0600, dir, vsoc, &profile_fops);
	debugfs_create_file("miscount", 0600, dir, vsoc, &miscount_fops);
	debugfs_create_file("l2_counting", 0600, dir, vsoc, &l2_counting_fops);
}
