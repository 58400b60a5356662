// SPDX-License-Identifier: GPL-2.0
/*
 * Counts by context: an account for each context, one for closed contexts, one for counts without
 * a context (power, protected mode), one for contexts beyond VSOC_MAX_ACCOUNTS. Their sum is the
 * truth.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <drm/drm_managed.h>

#include "vsoc.h"
#include "vsoc_account.h"

int vsoc_accounts_init(struct vsoc_device *vsoc)
{
	struct vsoc_gpu *gpu = &vsoc->gpu;
	const size_t counters = vsoc_gpu_registers(vsoc);

	INIT_LIST_HEAD(&gpu->accounts);
	gpu->nobody = drmm_kcalloc(&vsoc->drm, counters, sizeof(*gpu->nobody), GFP_KERNEL);
	gpu->closed = drmm_kcalloc(&vsoc->drm, counters, sizeof(*gpu->closed), GFP_KERNEL);
	gpu->others = drmm_kzalloc(&vsoc->drm, struct_size(gpu->others, counts, counters),
				   GFP_KERNEL);
	return gpu->nobody && gpu->closed && gpu->others ? 0 : -ENOMEM;
}

/* reserves an account if there is room */
static bool reserve(struct vsoc_device *vsoc)
{
	bool room;

	mutex_lock(&vsoc->hw_lock);
	room = vsoc->gpu.account_count < VSOC_MAX_ACCOUNTS;
	vsoc->gpu.account_count += room;
	mutex_unlock(&vsoc->hw_lock);
	return room;
}

/* returns the shared account if there are too many; NULL without memory */
struct vsoc_account *vsoc_account_open(struct vsoc_device *vsoc, pid_t pid, u32 file, u32 ctx_id)
{
	struct vsoc_account *account;

	if (!reserve(vsoc))
		return vsoc->gpu.others;
	account = kvzalloc(struct_size(account, counts, vsoc_gpu_registers(vsoc)),
			   GFP_KERNEL_ACCOUNT);
	if (!account) {
		mutex_lock(&vsoc->hw_lock);
		vsoc->gpu.account_count--;
		mutex_unlock(&vsoc->hw_lock);
		return NULL;
	}
	account->vsoc = vsoc;
	account->pid = pid;
	account->file = file;
	account->ctx_id = ctx_id;
	mutex_lock(&vsoc->hw_lock);
	list_add_tail(&account->node, &vsoc->gpu.accounts);
	mutex_unlock(&vsoc->hw_lock);
	return account;
}

/* adds the counts to those of closed contexts; @account may be NULL */
void vsoc_account_close(struct vsoc_account *account)
{
	struct vsoc_device *vsoc;

	/* the shared account has no device */
	if (!account || !account->vsoc)
		return;
	vsoc = account->vsoc;
	mutex_lock(&vsoc->hw_lock);
	list_del(&account->node);
	vsoc->gpu.account_count--;
	for (size_t i = 0; i < vsoc_gpu_registers(vsoc); i++)
		vsoc->gpu.closed[i] += account->counts[i];
	mutex_unlock(&vsoc->hw_lock);
	kvfree(account);
}

/*
 * Consistent copy of all accounts and the truth of a counter set. The caller frees with kvfree().
 * VSOC_MAX_ACCOUNTS bounds its size.
 */
struct vsoc_account_snapshot *vsoc_accounts_snapshot(struct vsoc_device *vsoc, u32 set)
{
	const size_t first = vsoc_gpu_set_first(vsoc, set);
	const size_t counters = vsoc_gpu_set_registers(vsoc, set);
	const size_t bytes = counters * sizeof(u64);
	struct vsoc_gpu *gpu = &vsoc->gpu;
	struct vsoc_account_snapshot *s;
	struct vsoc_account *account;
	size_t room = 0, count;
	struct list_head *node;
	u64 *to;

	for (;;) {
		s = kvzalloc(sizeof(*s) + (VSOC_ACCOUNTS_FIXED + room) *
			     (sizeof(*s->owners) + bytes), GFP_KERNEL);
		if (!s)
			return NULL;
		mutex_lock(&vsoc->hw_lock);
		count = 0;
		list_for_each(node, &gpu->accounts)
			count++;
		if (count <= room)
			break;
		mutex_unlock(&vsoc->hw_lock);
		kvfree(s);
		room = count;
	}

	s->count = VSOC_ACCOUNTS_FIXED + count;
	s->counters = counters;
	s->owners = (struct vsoc_account_owner *)(s + 1);
	s->counts = (u64 *)(s->owners + VSOC_ACCOUNTS_FIXED + room);
	to = s->counts;
	memcpy(to, gpu->truth + first, bytes);
	memcpy(to + counters, gpu->nobody + first, bytes);
	memcpy(to + 2 * counters, gpu->closed + first, bytes);
	memcpy(to + 3 * counters, gpu->others->counts + first, bytes);
	count = VSOC_ACCOUNTS_FIXED;
	list_for_each_entry(account, &gpu->accounts, node) {
		s->owners[count].pid = account->pid;
		s->owners[count].file = account->file;
		s->owners[count].ctx_id = account->ctx_id;
		memcpy(to + count++ * counters, account->counts + first, bytes);
	}
	mutex_unlock(&vsoc->hw_lock);
	return s;
}
