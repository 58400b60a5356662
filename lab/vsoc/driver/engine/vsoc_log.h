/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recent events of firmware and faults, to explain lost counts.
 */
#ifndef _VSOC_LOG_H_
#define _VSOC_LOG_H_

#include <linux/types.h>

struct dentry;
struct vsoc_device;

enum vsoc_log_kind {
	VSOC_LOG_FAULT,		/* a fault occurred; name: which */
	VSOC_LOG_SAMPLE,	/* a sample was written; detail: its reason */
	VSOC_LOG_DOUBTED,	/* as SAMPLE, but the host may reject the sample */
	VSOC_LOG_DROPPED,	/* no slot was free for a sample; detail: its reason */
	VSOC_LOG_REQUEST,	/* requests were seen; detail: their bits */
	VSOC_LOG_GIVEN_UP,	/* counts so far are lost, samples in the ring unreliable */
};

struct vsoc_log_entry {
	u64 raw_ns;			/* CLOCK_MONOTONIC_RAW */
	u64 counts;			/* sum over the sample */
	enum vsoc_log_kind kind;
	const char *name;		/* of a fault */
	u32 detail;			/* depends on @kind */
	u32 insert;			/* firmware's, after the event */
	u32 extract;			/* the host's */
	u32 req;			/* request word */
	u32 ack;			/* acknowledge word */
};

int vsoc_log_init(struct vsoc_device *vsoc);
/* adds the time to @entry; any context */
void vsoc_log(struct vsoc_device *vsoc, const struct vsoc_log_entry *entry);
void vsoc_log_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_LOG_H_ */
