// SPDX-License-Identifier: GPL-2.0
/*
 * Counter logic of the shader cores, chosen in debugfs: how the product counts thread instructions,
 * and injected counting errors. It tests validation tools.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "engine/vsoc.h"
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

/* returns an enum vsoc_profile or -EINVAL */
int vsoc_profile_by_name(const char *name)
{
	return match_string(profile_names, VSOC_PROFILES, name);
}

/* all names, the current one in brackets */
static void show_names(struct seq_file *m, const char * const *names, u32 count, u32 chosen)
{
	u32 i;

	for (i = 0; i < count; i++)
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

static int profile_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;

	show_names(m, profile_names, VSOC_PROFILES, READ_ONCE(vsoc->counting.profile));
	return 0;
}

static ssize_t profile_write(struct file *file, const char __user *from, size_t count,
			     loff_t *pos)
{
	struct vsoc_device *vsoc = ((struct seq_file *)file->private_data)->private;
	int i = read_name(from, count, profile_names, VSOC_PROFILES);

	if (i < 0)
		return i;
	WRITE_ONCE(vsoc->counting.profile, i);
	return count;
}

static int profile_open(struct inode *inode, struct file *file)
{
	return single_open(file, profile_show, inode->i_private);
}

static const struct file_operations profile_fops = {
	.owner = THIS_MODULE,
	.open = profile_open,
	.read = seq_read,
	.write = profile_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int miscount_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;

	show_names(m, miscount_names, VSOC_MISCOUNTS, READ_ONCE(vsoc->counting.miscount));
	return 0;
}

static ssize_t miscount_write(struct file *file, const char __user *from, size_t count,
			      loff_t *pos)
{
	struct vsoc_device *vsoc = ((struct seq_file *)file->private_data)->private;
	int i = read_name(from, count, miscount_names, VSOC_MISCOUNTS);

	if (i < 0)
		return i;
	WRITE_ONCE(vsoc->counting.miscount, i);
	return count;
}

static int miscount_open(struct inode *inode, struct file *file)
{
	return single_open(file, miscount_show, inode->i_private);
}

static const struct file_operations miscount_fops = {
	.owner = THIS_MODULE,
	.open = miscount_open,
	.read = seq_read,
	.write = miscount_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void vsoc_profile_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("profile", 0600, dir, vsoc, &profile_fops);
	debugfs_create_file("miscount", 0600, dir, vsoc, &miscount_fops);
}
