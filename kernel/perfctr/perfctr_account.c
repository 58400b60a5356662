// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of a user without CAP_PERFMON across all devices: sessions, bytes of rings. Requests above
 * them fail with -EDQUOT, so that no user can take all sessions of a device.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "perfctr_internal.h"

struct perfctr_account {
	struct hlist_node node;
	kuid_t uid;
	/* protected by the lock; an account exists while one of them is not 0 */
	unsigned int sessions;
	u64 bytes;
};

static DEFINE_SPINLOCK(accounts_lock);
static DEFINE_HASHTABLE(accounts, 6);

/*
 * The user to charge: the owner of the user namespace, so that subordinate IDs in it do not
 * multiply the limits. Namespaces owned by root (containers) are charged by their subordinate IDs.
 */
kuid_t drm_perfctr_charged_user(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? current_uid() : ns->owner;
}

static struct perfctr_account *find(kuid_t uid)
{
	struct perfctr_account *account;

	hash_for_each_possible(accounts, account, node, __kuid_val(uid))
		if (uid_eq(account->uid, uid))
			return account;
	return NULL;
}

/* charges a user, INVALID_UID: nobody; returns 0, -EDQUOT or -ENOMEM */
int drm_perfctr_charge(kuid_t uid, unsigned int sessions, u64 bytes)
{
	struct perfctr_account *account, *fresh;
	int ret = 0;

	if (!uid_valid(uid))
		return 0;
	fresh = kzalloc(sizeof(*fresh), PERFCTR_GFP_USER);
	if (!fresh)
		return -ENOMEM;
	fresh->uid = uid;
	spin_lock(&accounts_lock);
	account = find(uid) ?: fresh;
	/* no sum can overflow: limited amounts plus those of one call */
	if (account->sessions + sessions > PERFCTR_MAX_USER_SESSIONS ||
	    account->bytes + bytes > (u64)READ_ONCE(drm_perfctr_max_user_ring_kb) << 10) {
		ret = -EDQUOT;
	} else {
		account->sessions += sessions;
		account->bytes += bytes;
		if (account == fresh) {
			hash_add(accounts, &fresh->node, __kuid_val(uid));
			fresh = NULL;
		}
	}
	spin_unlock(&accounts_lock);
	kfree(fresh);
	return ret;
}

/* undo drm_perfctr_charge() */
void drm_perfctr_uncharge(kuid_t uid, unsigned int sessions, u64 bytes)
{
	struct perfctr_account *account;

	if (!uid_valid(uid))
		return;
	spin_lock(&accounts_lock);
	account = find(uid);
	account->sessions -= sessions;
	account->bytes -= bytes;
	if (account->sessions || account->bytes)
		account = NULL;
	else
		hash_del(&account->node);
	spin_unlock(&accounts_lock);
	kfree(account);
}
