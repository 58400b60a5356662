// SPDX-License-Identifier: GPL-2.0
/*
 * What one user without CAP_PERFMON may take of all devices together.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "perfctr_internal.h"

/**
 * DOC: limits of users
 *
 * Sessions and the buffers that they pin are counted for each user, all devices
 * together, and refused with -EDQUOT above dev.perfctr.max_user_sessions and
 * dev.perfctr.max_user_ring_kb, and so are counters of SoC blocks, which are perf
 * events, above twice what one session may have. So nobody can take all sessions of a device, or
 * all memory, from everybody else. All other memory that user space can have us
 * allocate is charged to its memory cgroup.
 *
 * Collections that a user demands, by START or SAMPLE, take turns and keep a
 * distance: PERFCTR_UNPRIVILEGED_TICKS for each shortest period. So do samples that
 * users get of their own accord, see "turns of users". Who asks more often sleeps
 * before it may queue for the sampler lock, so the hardware is free for others
 * meanwhile. A SAMPLE in a job takes its turn before the job is queued, because no
 * job may wait. A user is remembered beyond the last session until the distance is
 * kept, or else who makes a session for each sample would have no limit.
 *
 * A user namespace is one user, whatever uids it has: its owner, or, if root made
 * it, as for a container, whoever is root in it. So subordinate uids give nothing
 * more, as long as they stay in their namespace.
 *
 * Turns that jobs have taken are saved up while an earlier job runs, so what they carry
 * could come at once. PERFCTR_UNPRIVILEGED_BURST of them may, enough for a job that
 * samples before and after some of its parts; those that come sooner than the distance
 * after that are merged, see perfctr_user_may_burst().
 *
 * Who has CAP_PERFMON is not counted.
 */

#define USER_HASH_BITS	6
#define MAX_SOC_COUNTERS	(2 * DRM_PERFCTR_MAX_SOC_COUNTERS)

/**
 * struct perfctr_user - a user with sessions, or with one a moment ago
 */
struct perfctr_user {
	/** @node: in users. */
	struct hlist_node node;
	/** @uid: whose it is. */
	kuid_t uid;
	/** @sessions: number of sessions; gone with the last one, but not before @next_ns. */
	unsigned int sessions;
	/** @bytes: of their buffers. */
	u64 bytes;
	/** @soc_counters: of their SoC blocks. */
	unsigned int soc_counters;
	/** @pace: whose turn it is to have a collection; protects @next_ns. */
	struct mutex pace;
	/** @next_ns: earliest time of the next one, CLOCK_MONOTONIC. */
	u64 next_ns;
	/** @burst_lock: protects @burst_ns. */
	spinlock_t burst_lock;
	/** @burst_ns: when all samples of jobs so far would have had their distance. */
	u64 burst_ns;
	/** @wake_queue: of sessions with an eventfd; NULL before the first of them. */
	struct workqueue_struct *wake_queue;
};

/* protects the table and all counts */
static DEFINE_MUTEX(users_lock);
static DEFINE_HASHTABLE(users, USER_HASH_BITS);

static void forget_users(struct work_struct *work);
static DECLARE_DELAYED_WORK(forget_work, forget_users);

/* whose share the caller uses up */
static kuid_t current_payer(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t root;

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	root = make_kuid(ns, 0);
	return uid_valid(root) ? root : current_uid();
}

/* with the lock held; whoever is not known yet becomes *@fresh, which is NULL then */
static struct perfctr_user *get_user_of(kuid_t uid, struct perfctr_user **fresh)
{
	struct perfctr_user *user;

	hash_for_each_possible(users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;

	user = *fresh;
	*fresh = NULL;
	user->uid = uid;
	mutex_init(&user->pace);
	spin_lock_init(&user->burst_lock);
	hash_add(users, &user->node, __kuid_val(uid));
	return user;
}

/*
 * With the lock held: remove who has no session and no distance to keep, for free_dropped().
 * Nobody is in perfctr_user_pace() without a session. Returns: jiffies until it is worth to try
 * again, 0 if there is no need.
 */
static unsigned long drop_unused(struct perfctr_user *user, struct hlist_head *dropped)
{
	u64 keep_ns = max(user->next_ns, user->burst_ns);
	u64 now_ns = ktime_get_ns();

	if (user->sessions)
		return 0;
	if (now_ns < keep_ns)
		return nsecs_to_jiffies(keep_ns - now_ns) + 1;
	hash_del(&user->node);
	hlist_add_head(&user->node, dropped);
	return 0;
}

/* without the lock that everybody needs: this waits for whoever changes any workqueue */
static void free_dropped(struct hlist_head *dropped)
{
	struct perfctr_user *user;
	struct hlist_node *next;

	hlist_for_each_entry_safe(user, next, dropped, node) {
		if (user->wake_queue)
			destroy_workqueue(user->wake_queue);
		mutex_destroy(&user->pace);
		kfree(user);
	}
}

static void forget_users(struct work_struct *work)
{
	unsigned long again = 0;
	struct perfctr_user *user;
	struct hlist_node *next;
	HLIST_HEAD(dropped);
	int bucket;

	mutex_lock(&users_lock);
	hash_for_each_safe(users, bucket, next, user, node)
		again = max(again, drop_unused(user, &dropped));
	mutex_unlock(&users_lock);
	free_dropped(&dropped);
	if (again)
		schedule_delayed_work(&forget_work, again);
}

/* with the lock held; the work, if it waits already, tries again for who comes too late for it */
static void drop_unused_later(struct perfctr_user *user, struct hlist_head *dropped)
{
	unsigned long delay = drop_unused(user, dropped);

	if (delay)
		schedule_delayed_work(&forget_work, delay);
}

/**
 * perfctr_user_exit() - forget all users; there are no sessions any more
 */
void perfctr_user_exit(void)
{
	struct perfctr_user *user;
	struct hlist_node *next;
	HLIST_HEAD(dropped);
	int bucket;

	cancel_delayed_work_sync(&forget_work);
	hash_for_each_safe(users, bucket, next, user, node) {
		user->next_ns = 0;
		user->burst_ns = 0;
		drop_unused(user, &dropped);
	}
	free_dropped(&dropped);
}

/**
 * perfctr_user_charge() - a session is about to be made
 * @pc: the device
 * @soc_counters: of its SoC blocks, none of which exists yet
 * @out: the user, to be given to perfctr_user_uncharge(); NULL if it may do what it likes
 *
 * Returns: 0; -EDQUOT if the caller has enough already; -ENOMEM; -EINTR.
 */
int perfctr_user_charge(struct drm_perfctr *pc, unsigned int soc_counters,
			struct perfctr_user **out)
{
	unsigned int max_sessions = perfctr_max_user_sessions();
	struct perfctr_user *user, *fresh;
	HLIST_HEAD(dropped);
	int ret = 0;

	*out = NULL;
	if (perfmon_capable())
		return 0;
	/* before the lock, which all users want: the caller's memory cgroup may have to reclaim */
	fresh = kzalloc(sizeof(*fresh), PERFCTR_GFP_USER);
	if (!fresh)
		return -ENOMEM;
	if (mutex_lock_interruptible(&users_lock)) {
		kfree(fresh);
		return -EINTR;
	}
	user = get_user_of(current_payer(), &fresh);
	if (user->sessions >= max_sessions) {
		ret = perfctr_reject(pc, EDQUOT, "%u sessions of this user", user->sessions);
		drop_unused_later(user, &dropped);
	} else if (soc_counters > MAX_SOC_COUNTERS - user->soc_counters) {
		ret = perfctr_reject(pc, EDQUOT, "%u SoC counters of this user, and %u",
				     user->soc_counters, soc_counters);
		drop_unused_later(user, &dropped);
	} else {
		user->sessions++;
		user->soc_counters += soc_counters;
		*out = user;
	}
	mutex_unlock(&users_lock);
	free_dropped(&dropped);
	kfree(fresh);
	return ret;
}

/**
 * perfctr_user_charge_bytes() - a session pins its buffers
 * @pc: the device
 * @user: from perfctr_user_charge(), may be NULL
 * @bytes: of the buffers
 *
 * Returns: 0; -EDQUOT if the user has enough already; -EINTR.
 */
int perfctr_user_charge_bytes(struct drm_perfctr *pc, struct perfctr_user *user, u64 bytes)
{
	u64 max_bytes = perfctr_max_user_ring_bytes();
	int ret = 0;

	if (!user)
		return 0;
	if (mutex_lock_interruptible(&users_lock))
		return -EINTR;
	if (bytes > max_bytes || user->bytes > max_bytes - bytes)
		ret = perfctr_reject(pc, EDQUOT, "%llu bytes of this user's buffers, and %llu",
				     user->bytes, bytes);
	else
		user->bytes += bytes;
	mutex_unlock(&users_lock);
	return ret;
}

/**
 * perfctr_user_uncharge() - a session ends, or was not made
 * @user: from perfctr_user_charge(), may be NULL
 * @bytes: as charged
 * @soc_counters: as charged
 */
void perfctr_user_uncharge(struct perfctr_user *user, u64 bytes, unsigned int soc_counters)
{
	HLIST_HEAD(dropped);

	if (!user)
		return;
	mutex_lock(&users_lock);
	user->sessions--;
	user->bytes -= bytes;
	user->soc_counters -= soc_counters;
	drop_unused_later(user, &dropped);
	mutex_unlock(&users_lock);
	free_dropped(&dropped);
}

/**
 * perfctr_users_distance_ns() - between two collections of users without CAP_PERFMON
 *
 * Returns: ns, as root has set it now.
 */
u64 perfctr_users_distance_ns(void)
{
	return perfctr_unprivileged_min_period_ns() / PERFCTR_UNPRIVILEGED_TICKS;
}

/**
 * perfctr_user_pace() - wait until the caller may have a collection
 * @user: from perfctr_user_charge(), may be NULL; the caller holds one of its sessions
 *
 * Not with the sampler lock held. The wait is as long as the user's own calls
 * before this one take, a distance each.
 *
 * Returns: 0 or -EINTR.
 */
int perfctr_user_pace(struct perfctr_user *user)
{
	u64 distance_ns = perfctr_users_distance_ns();
	ktime_t next;
	int ret;

	if (!user)
		return 0;
	ret = mutex_lock_interruptible(&user->pace);
	if (ret)
		return ret;
	next = ns_to_ktime(user->next_ns);
	while (ktime_before(ktime_get(), next)) {
		if (signal_pending(current)) {
			ret = -EINTR;
			goto out;
		}
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
	}
	user->next_ns = ktime_get_ns() + distance_ns;
out:
	mutex_unlock(&user->pace);
	return ret;
}

/**
 * perfctr_user_may_burst() - whether a sample of a job may be published now
 * @user: from perfctr_user_charge(), may be NULL; the caller holds one of its sessions
 *
 * May be called where fences are signalled: neither sleeps nor waits for who does.
 *
 * Returns: true, and the sample is counted; false: it has to be merged.
 */
bool perfctr_user_may_burst(struct perfctr_user *user)
{
	u64 distance_ns = perfctr_users_distance_ns();
	u64 now_ns = ktime_get_ns();
	bool may;

	if (!user)
		return true;
	spin_lock(&user->burst_lock);
	/* root may have allowed more since */
	user->burst_ns = clamp(user->burst_ns, now_ns,
			       now_ns + PERFCTR_UNPRIVILEGED_BURST * distance_ns);
	may = user->burst_ns <= now_ns + (PERFCTR_UNPRIVILEGED_BURST - 1) * distance_ns;
	if (may)
		user->burst_ns += distance_ns;
	spin_unlock(&user->burst_lock);
	return may;
}

/**
 * perfctr_user_wake_queue() - where the works of a user's sessions wait for each other
 * @user: from perfctr_user_charge(), may be NULL; the caller holds one of its sessions
 *
 * Returns: a queue that lives as long as the sessions, of ordinary priority; that of the system for
 * whom there are no limits; NULL if there is no memory.
 */
struct workqueue_struct *perfctr_user_wake_queue(struct perfctr_user *user)
{
	struct workqueue_struct *queue, *surplus;

	if (!user)
		return system_unbound_wq;
	mutex_lock(&users_lock);
	queue = user->wake_queue;
	mutex_unlock(&users_lock);
	if (queue)
		return queue;

	/* not under the lock that everybody needs */
	surplus = alloc_ordered_workqueue("perfctr-wake", 0);
	if (!surplus)
		return NULL;
	mutex_lock(&users_lock);
	if (!user->wake_queue)
		swap(user->wake_queue, surplus);
	queue = user->wake_queue;
	mutex_unlock(&users_lock);
	if (surplus)
		destroy_workqueue(surplus);
	return queue;
}
