/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last events of firmware and faults, to explain lost counts.
 */
#ifndef _VSOC_LOG_H_
#define _VSOC_LOG_H_

#include <linux/types.h>

struct dentry;
struct vsoc_device;

/**
 * enum vsoc_log_kind - what happened
 */
enum vsoc_log_kind {
	/** @VSOC_LOG_FAULT: a fault; name: which. */
	VSOC_LOG_FAULT,
	/** @VSOC_LOG_SAMPLE: a sample was written; detail: its reason. */
	VSOC_LOG_SAMPLE,
	/** @VSOC_LOG_DOUBTED: the same of one that the host need not believe. */
	VSOC_LOG_DOUBTED,
	/** @VSOC_LOG_DROPPED: there was no slot for one; detail: its reason. */
	VSOC_LOG_DROPPED,
	/** @VSOC_LOG_REQUEST: requests were seen; detail: their bits. */
	VSOC_LOG_REQUEST,
	/** @VSOC_LOG_GIVEN_UP: counts so far are destroyed, samples in the ring doubtful. */
	VSOC_LOG_GIVEN_UP,
};

/**
 * struct vsoc_log_entry - one event
 */
struct vsoc_log_entry {
	/** @raw_ns: CLOCK_MONOTONIC_RAW. */
	u64 raw_ns;
	/** @counts: all that a sample has. */
	u64 counts;
	/** @kind: what happened. */
	enum vsoc_log_kind kind;
	/** @name: of a fault. */
	const char *name;
	/** @detail: depends on @kind. */
	u32 detail;
	/** @insert: firmware's, after it. */
	u32 insert;
	/** @extract: the host's. */
	u32 extract;
	/** @req: request word. */
	u32 req;
	/** @ack: acknowledge word. */
	u32 ack;
};

int vsoc_log_init(struct vsoc_device *vsoc);
/* @entry without its time; any context */
void vsoc_log(struct vsoc_device *vsoc, const struct vsoc_log_entry *entry);
void vsoc_log_debugfs(struct vsoc_device *vsoc, struct dentry *dir);

#endif /* _VSOC_LOG_H_ */
