/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last events of firmware and faults, to explain lost counts.
 */
#ifndef _VSOC_LOG_H_
#define _VSOC_LOG_H_

#include <linux/types.h>

struct dentry;
struct vsoc_device;

/* what happened */
enum vsoc_log_kind {
	VSOC_LOG_FAULT,		/* a fault; name: which */
	VSOC_LOG_SAMPLE,	/* a sample was written; detail: its reason */
	VSOC_LOG_DOUBTED,	/* the same of one that the host need not believe */
	VSOC_LOG_DROPPED,	/* there was no slot for one; detail: its reason */
	VSOC_LOG_REQUEST,	/* requests were seen; detail: their bits */
	VSOC_LOG_GIVEN_UP,	/* counts so far are destroyed, samples in the ring doubtful */
};

/* one event */
struct vsoc_log_entry {
	u64 raw_ns;			/* CLOCK_MONOTONIC_RAW */
	u64 counts;			/* all that a sample has */
	enum vsoc_log_kind kind;	/* what happened */
	const char *name;		/* of a fault */
	u32 detail;			/* depends on @kind */
	u32 insert;			/* firmware's, after it */
	u32 extract;			/* the host's */
	u32 req;			/* request word */
	u32 ack;			/* acknowledge word */
};

int vsoc_log_init(struct vsoc_device *vsoc);
/* @entry without its time; any context */
void vsoc_log(struct vsoc_device *vsoc, const struct vsoc_log_entry *entry);
void vsoc_log_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_LOG_H_ */
