/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts by context: what vsoc_gpu.c counts, divided by who caused it.
 */
#ifndef _VSOC_ACCOUNT_H_
#define _VSOC_ACCOUNT_H_

#include <linux/list.h>
#include <linux/types.h>

struct vsoc_device;

/**
 * struct vsoc_account - counts of one context
 */
struct vsoc_account {
	/** @vsoc: the device. */
	struct vsoc_device *vsoc;
	/** @node: in the device's list, under hw_lock. */
	struct list_head node;
	/** @pid: who opened the file. */
	pid_t pid;
	/** @file: number of the open file, from 1 on in the order of opening. */
	u32 file;
	/** @ctx_id: of the context, as user space knows it. */
	u32 ctx_id;
	/** @counts: by register, under hw_lock. */
	u64 counts[];
};

/* contexts that have an account of their own at a time; the rest shares one */
#define VSOC_MAX_ACCOUNTS	256
/* accounts that a snapshot begins with: the truth, nobody's, closed contexts', others' */
#define VSOC_ACCOUNTS_FIXED	4

struct vsoc_account_owner {
	pid_t pid;
	u32 file;
	u32 ctx_id;
	u32 pad;
};

/**
 * struct vsoc_account_snapshot - all accounts at one moment
 */
struct vsoc_account_snapshot {
	/** @count: accounts, VSOC_ACCOUNTS_FIXED and those of contexts. */
	size_t count;
	/** @owners: of each account; the fixed ones have none. */
	struct vsoc_account_owner *owners;
	/** @counters: registers of the set. */
	size_t counters;
	/** @counts: of each account by register of the set. */
	u64 *counts;
};

int vsoc_accounts_init(struct vsoc_device *vsoc);
struct vsoc_account *vsoc_account_open(struct vsoc_device *vsoc, pid_t pid, u32 file, u32 ctx_id);
void vsoc_account_close(struct vsoc_account *account);
struct vsoc_account_snapshot *vsoc_accounts_snapshot(struct vsoc_device *vsoc, u32 set);

#endif /* _VSOC_ACCOUNT_H_ */
