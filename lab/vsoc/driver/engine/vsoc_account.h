/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts by context: divides what vsoc_gpu.c counts.
 */
#ifndef _VSOC_ACCOUNT_H_
#define _VSOC_ACCOUNT_H_

#include <linux/list.h>
#include <linux/types.h>

struct vsoc_device;

/* counts of one context */
struct vsoc_account {
	struct vsoc_device *vsoc;
	struct list_head node;	/* in the device's list, under hw_lock */
	pid_t pid;		/* opener of the file */
	u32 file;		/* number of the open file, from 1, in the order of opening */
	u32 ctx_id;		/* as userspace knows it */
	u64 counts[];		/* by register, under hw_lock */
};

/* contexts with an account of their own; further ones share one */
#define VSOC_MAX_ACCOUNTS	256
/* first accounts of a snapshot: the truth, no context, closed contexts, shared */
#define VSOC_ACCOUNTS_FIXED	4

struct vsoc_account_owner {
	pid_t pid;
	u32 file;
	u32 ctx_id;
	u32 pad;
};

/* all accounts at one moment */
struct vsoc_account_snapshot {
	size_t count;		/* VSOC_ACCOUNTS_FIXED plus those of contexts */
	struct vsoc_account_owner *owners;	/* of each account; the fixed ones have none */
	size_t counters;	/* registers of the set */
	u64 *counts;		/* of each account by register of the set */
};

int vsoc_accounts_init(struct vsoc_device *vsoc);
struct vsoc_account *vsoc_account_open(struct vsoc_device *vsoc, pid_t pid, u32 file, u32 ctx_id);
void vsoc_account_close(struct vsoc_account *account);
struct vsoc_account_snapshot *vsoc_accounts_snapshot(struct vsoc_device *vsoc, u32 set);

#endif /* _VSOC_ACCOUNT_H_ */
