// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of a user without CAP_PERFMON across all devices: sessions, bytes of rings, counters of
 * perf PMUs. Requests above them fail with -EDQUOT, so that no user can take all sessions of a
 * device.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "perfctr_internal.h"

#define MAX_PMU_COUNTERS	(2 * DRM_PERFCTR_MAX_PMU_COUNTERS)

struct perfctr_account {
	struct hlist_node node;
	kuid_t uid;
	/* one for each session and ring; protected by the lock, like everything else */
	unsigned int references;
	unsigned int sessions;
	unsigned int pmu_counters;
	u64 bytes;
};

static DEFINE_SPINLOCK(accounts_lock);
static DEFINE_HASHTABLE(accounts, 6);

/*
 * The user to charge: the owner of the user namespace, so that subordinate IDs in it do not
 * multiply the limits. Namespaces owned by root (containers) are charged by their subordinate IDs.
 */
static kuid_t charged_user(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? current_uid() : ns->owner;
}

/* the caller's account with one reference, or -ENOMEM */
struct perfctr_account *drm_perfctr_account_get(void)
{
	struct perfctr_account *account, *fresh;
	kuid_t uid = charged_user();

	fresh = kzalloc(sizeof(*fresh), PERFCTR_GFP_USER);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	fresh->uid = uid;
	spin_lock(&accounts_lock);
	hash_for_each_possible(accounts, account, node, __kuid_val(uid))
		if (uid_eq(account->uid, uid))
			break;
	if (!account) {
		swap(account, fresh);
		hash_add(accounts, &account->node, __kuid_val(uid));
	}
	account->references++;
	spin_unlock(&accounts_lock);
	kfree(fresh);
	return account;
}

struct perfctr_account *drm_perfctr_account_ref(struct perfctr_account *account)
{
	if (account) {
		spin_lock(&accounts_lock);
		account->references++;
		spin_unlock(&accounts_lock);
	}
	return account;
}

/* dropping the last reference frees the account */
void drm_perfctr_account_put(struct perfctr_account *account)
{
	bool last;

	if (!account)
		return;
	spin_lock(&accounts_lock);
	last = !--account->references;
	if (last)
		hash_del(&account->node);
	spin_unlock(&accounts_lock);
	if (last)
		kfree(account);
}

/* returns 0 or -EDQUOT */
int drm_perfctr_charge(struct perfctr_account *account, unsigned int sessions,
		       unsigned int pmu_counters, u64 bytes)
{
	int ret = 0;

	if (!account)
		return 0;
	spin_lock(&accounts_lock);
	/* no sum can overflow: limited amounts plus those of one call */
	if (account->sessions + sessions > (u32)READ_ONCE(drm_perfctr_max_user_sessions) ||
	    account->pmu_counters + pmu_counters > MAX_PMU_COUNTERS ||
	    account->bytes + bytes > (u64)READ_ONCE(drm_perfctr_max_user_ring_kb) << 10) {
		ret = -EDQUOT;
	} else {
		account->sessions += sessions;
		account->pmu_counters += pmu_counters;
		account->bytes += bytes;
	}
	spin_unlock(&accounts_lock);
	return ret;
}

/* undo drm_perfctr_charge() */
void drm_perfctr_uncharge(struct perfctr_account *account, unsigned int sessions,
			  unsigned int pmu_counters, u64 bytes)
{
	if (!account)
		return;
	spin_lock(&accounts_lock);
	account->sessions -= sessions;
	account->pmu_counters -= pmu_counters;
	account->bytes -= bytes;
	spin_unlock(&accounts_lock);
}
