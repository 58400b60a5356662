// SPDX-License-Identifier: GPL-2.0
/*
 * Recent events of firmware and faults, in debugfs. They are always recorded: an unexplained loss
 * is noticed only afterwards, often in a stress run that cannot be replayed exactly.
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <drm/drm_managed.h>

#include "vsoc.h"
#include "vsoc_log.h"

/* a power of two; covers a few seconds of a stress run */
#define LOG_ENTRIES	512

struct vsoc_log {
	spinlock_t lock;				/* protects the members below */
	u64 next;					/* number of the next entry, free-running */
	struct vsoc_log_entry entries[LOG_ENTRIES];	/* indexed by number modulo LOG_ENTRIES */
};

void vsoc_log(struct vsoc_device *vsoc, const struct vsoc_log_entry *entry)
{
	struct vsoc_log *log = vsoc->log;
	struct vsoc_log_entry *slot;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	slot = &log->entries[log->next++ & (LOG_ENTRIES - 1)];
	*slot = *entry;
	slot->raw_ns = ktime_get_raw_ns();
	spin_unlock_irqrestore(&log->lock, flags);
}

static void show_entry(struct seq_file *m, const struct vsoc_log_entry *e)
{
	static const char * const kinds[] = {
		[VSOC_LOG_FAULT] = "fault",
		[VSOC_LOG_SAMPLE] = "sample",
		[VSOC_LOG_DOUBTED] = "sample, doubtful",
		[VSOC_LOG_DROPPED] = "no slot",
		[VSOC_LOG_REQUEST] = "request",
		[VSOC_LOG_GIVEN_UP] = "given up",
	};

	seq_printf(m, "%llu us: %s ", div_u64(e->raw_ns, NSEC_PER_USEC), kinds[e->kind]);
	if (e->kind == VSOC_LOG_FAULT)
		seq_printf(m, "%s\n", e->name);
	else
		seq_printf(m, "%#x: insert %u extract %u req %#x ack %#x counts %llu\n", e->detail,
			   e->insert, e->extract, e->req, e->ack, e->counts);
}

static int log_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;
	struct vsoc_log *copy;

	copy = kvmalloc(sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	spin_lock_irq(&vsoc->log->lock);
	copy->next = vsoc->log->next;
	memcpy(copy->entries, vsoc->log->entries, sizeof(copy->entries));
	spin_unlock_irq(&vsoc->log->lock);
	for (u64 n = copy->next - min_t(u64, copy->next, LOG_ENTRIES); n < copy->next; n++)
		show_entry(m, &copy->entries[n & (LOG_ENTRIES - 1)]);
	kvfree(copy);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

void vsoc_log_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("log", 0444, dir, vsoc, &log_fops);
}

int vsoc_log_init(struct vsoc_device *vsoc)
{
	vsoc->log = drmm_kzalloc(&vsoc->drm, sizeof(*vsoc->log), GFP_KERNEL);
	if (!vsoc->log)
		return -ENOMEM;
	spin_lock_init(&vsoc->log->lock);
	return 0;
}
