/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the counter core share.
 */
#ifndef _PERFCTR_INTERNAL_H_
#define _PERFCTR_INTERNAL_H_

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_perfctr.h>
#include <drm/drm_print.h>

#include "perfctr_block.h"
#include "perfctr_layout.h"
#include "perfctr_ring.h"

struct eventfd_ctx;
struct file;
struct perfctr_account;

#define PERFCTR_VERSION			3
#define PERFCTR_MAX_SOURCES		8
#define PERFCTR_MAX_SLOTS		65536u
#define PERFCTR_MAX_RING_BYTES		(64ull << 20)
#define PERFCTR_MAX_REQUESTS		1024u
/* larger than any structure will ever be: bounds the scan and the writing of zeroes behind ours */
#define PERFCTR_STRUCT_SIZE_MAX		4096u
#define PERFCTR_MAX_BLOCKS		65535u
#define PERFCTR_MAX_SESSIONS_FILE	128u
/* of all users without CAP_PERFMON together */
#define PERFCTR_MAX_SESSIONS_DEVICE	1024u
#define PERFCTR_MIN_PERIOD_NS		10000ull
#define PERFCTR_MAX_PERIOD_NS		(3600ull * NSEC_PER_SEC)
/* memory whose size user space decides: charged to its cgroup, -ENOMEM without a warning */
#define PERFCTR_GFP_USER \
	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * what the core keeps about a source
 *
 * Under &drm_perfctr.lock, but for what @prepare_lock protects.
 */
struct perfctr_source_state {
	/* collections: number, and CLOCK_MONOTONIC_RAW up to which the totals go */
	u64 seq;
	u64 time_ns;
	/* when the source was asked last, whatever time it reports */
	u64 asked_ns;
	/* time up to which all counts are in the totals or in lost_ns, the total of lost time */
	u64 good_ns;
	u64 lost_ns;
	/* DRM_PERFCTR_SAMPLE_* of the collections; for the next one, and LOST for its blocks */
	struct perfctr_sticky flags;
	u32 pending_flags;
	bool pending_lost;
	/* why all counts since good_ns are lost until the source is started; 0: they are not */
	u32 lost_flags;
	/* the last collection with a transition */
	u64 transition_seq;
	/* the GPU's timestamp at time_ns; epoch 0: there is none */
	u64 gpu_timestamp;
	u32 gpu_epoch;

	/* active sessions, and whether their number shrank and nothing was done about it yet */
	unsigned int users;
	bool release_due;
	/* between ops->start and ops->stop, in counter set @set */
	bool running;
	u8 set;
	/* the last collection left counts in the hardware */
	bool incomplete;
	/* for ops->select: DRM_PERFCTR_BLOCK_INFO_SECTIONS masks for each block */
	u64 *wanted;
	/* longest time between two batches, for source and rings; none is due before backoff */
	u64 batch_ns;
	u64 backoff_until_ns;
	/* a source that should run and does not is not started again before */
	u64 restart_ns;

	/* protects the rest; neither reset nor the sampler takes it */
	struct mutex prepare_lock;
	atomic_t prepare_users;
	bool prepared;
	bool unplugged;
	struct delayed_work unprepare_work;
	struct drm_perfctr_source *source;
};

/*
 * sessions of one priority
 *
 * Those of holders of CAP_PERFMON have a SCHED_FIFO worker, those of all others an
 * ordinary one.
 */
struct perfctr_class {
	struct drm_perfctr *pc;
	struct kthread_worker *worker;
	/* something is due; perf events are to be read; the hardware reported something */
	struct kthread_work tick_work;
	struct kthread_work pmu_work;
	struct kthread_work event_work;
	/* queues tick_work */
	struct hrtimer timer;
	ktime_t last_tick;
	/* before &drm_perfctr.lock: one caller of the class at a time is in the way of others */
	struct rt_mutex caller_lock;
	/* sessions between START and STOP, under &drm_perfctr.lock */
	struct list_head active;
	/* those of them with DRM_PERFCTR_SETUP_AUTOMATIC; a session was visited in this tick */
	unsigned int automatic_sessions;
	u64 ticks;
	/* perf events of some of them are to be read; &drm_perfctr.cpu_changes as followed */
	bool pmu_wanted;
	int cpu_changes;
};

enum { PERFCTR_ORDINARY, PERFCTR_PRIVILEGED, PERFCTR_CLASSES };

/* the counters of a device */
struct drm_perfctr {
	struct drm_device *drm;
	/* as given by the driver, and what the core adds; @name has its own copy */
	struct drm_perfctr_config config;
	char name[32];

	/* constant after set-up; block_count is of all sources */
	struct drm_perfctr_source *sources[PERFCTR_MAX_SOURCES];
	unsigned int source_count;
	unsigned int block_count;

	/*
	 * The sampler lock, see "locking". Protects everything below unless said
	 * otherwise, all totals and all sessions but for their references and their
	 * perf events.
	 */
	struct rt_mutex lock;
	struct perfctr_class classes[PERFCTR_CLASSES];
	/* all sessions, in any state; the number of those without CAP_PERFMON */
	struct list_head all;
	unsigned int ordinary_sessions;
	u64 next_session_id;
	/* counter set, valid while sessions with blocks of a source hold it */
	u8 set;
	unsigned int set_users;
	/* total cycles of each clock domain */
	u64 cycles[DRM_PERFCTR_MAX_CLOCKS];
	/* no hardware access: for now, between pre_reset and post_reset, for ever */
	bool suspended;
	bool resetting;
	bool unplugged;
	/* the end of a reset, or unplug */
	wait_queue_head_t reset_wait;
	/* transitions that a collection finds are served by its caller */
	bool serving_events;
	/* for debugfs */
	u64 collections;
	atomic64_t timer_interrupts;

	/* CPUs that came or went; atomic */
	atomic_t cpu_changes;
	/* sources have fewer sessions than before */
	struct kthread_work release_work;
	/* in the list of devices that follow CPU hotplug */
	struct list_head node;

	/* the last pair of times, for QUERY */
	struct {
		/* protects the pair */
		spinlock_t lock;
		u64 gpu_timestamp;
		u64 raw_ns;
		u32 pair_epoch;
		/* of now; also read under @lock alone */
		u32 epoch;
	} clock;
};

/* pages that only CPUs use: a control area and the slots behind it */
#define PERFCTR_CONTROL_BYTES		PAGE_SIZE

struct perfctr_memory {
	/* the session and the file */
	struct kref refcount;
	struct perfctr_account *account;
	/* charged to @account */
	u64 bytes;
	/* allocated so far */
	unsigned long count;
	struct page **pages;
	void *vaddr;
};

/* where a session stands with a source */
struct perfctr_source_view {
	struct drm_perfctr_source *source;
	/* the collection at which the last sample ended, and the source's lost time there */
	u64 base_seq;
	u64 base_lost_ns;
	/* the collection up to which an AUTOMATIC sample was due */
	u64 transition_seq;
};

/* counters that somebody requested */
struct drm_perfctr_session {
	/* one reference of the file's table, one of each job that samples it */
	struct kref refcount;
	struct drm_perfctr *pc;
	struct perfctr_class *class;
	u64 id;
	/* in &perfctr_class.active, in &drm_perfctr.all */
	struct list_head node;
	struct list_head all_node;

	/* as requested by SETUP and START */
	struct {
		u32 flags;
		u32 watermark;
		u64 period_ns;
		u64 user_data;
	} config;

	/* made by: user to charge (NULL with CAP_PERFMON), process, its user and its name */
	struct {
		struct perfctr_account *account;
		struct pid *pid;
		kuid_t uid;
		char comm[TASK_COMM_LEN];
	} owner;

	/* life: between START and STOP; torn down or unplugged; what it holds */
	bool active;
	bool dead;
	bool awake;
	bool holds_set;
	u8 set;

	/* the sample in progress */
	struct {
		/* next periodic sample, CLOCK_MONOTONIC */
		ktime_t due;
		/* end of the last sample */
		u64 end_ns;
		/* periods and other samples that were due and are not published */
		u64 periods;
		u64 others;
		/* the tick that goes on publishes a sample; &perfctr_class.ticks that came by */
		bool in_tick;
		u64 tick;
		/* one of @others: an AUTOMATIC sample is to be made of it */
		bool automatic_due;
		/* time whose counts the final collection could not get */
		u64 unread_ns;
	} pending;

	/* since SETUP; a copy for STATUS */
	struct drm_perfctr_status totals;
	struct drm_perfctr_status status;
	/* protects the copy */
	spinlock_t status_lock;

	/* the ring and its memory */
	struct perfctr_ring ring;
	struct perfctr_memory *memory;
	u32 sample_size;

	/* NULL: there is no eventfd; signals it */
	struct eventfd_ctx *eventfd;
	struct work_struct wake_work;

	/* what is counted: sources, the blocks in the order of the sample, their bases */
	struct perfctr_source_view sources[PERFCTR_MAX_SOURCES];
	unsigned int source_count;
	struct perfctr_view *views;
	unsigned int view_count;
	u64 *bases;
	/* sources whose ops->prepare was called for this session, one bit each */
	unsigned long prepared;

	/* perf events, see "perf events and fences" */
	struct {
		/* serialises START, STOP, SAMPLE; protects the events; before the sampler lock */
		struct mutex lock;
		bool present;
		unsigned int counters;
		/* the worker is to read them, to follow CPUs first; in its list of those */
		bool wanted;
		bool follow;
		struct list_head node;
		/* &drm_perfctr.cpu_changes when START opened them */
		int cpu_changes;
	} pmu;
};

/* rejections name the field, at debug level only: user space can cause them at will */
#define perfctr_reject(pc, errno, fmt, ...) \
	({ \
		drm_dbg((pc)->drm, "perfctr: " fmt "\n", ##__VA_ARGS__); \
		-(errno); \
	})

#define perfctr_for_each_active(pc, class, session) \
	for ((class) = (pc)->classes; (class) < (pc)->classes + PERFCTR_CLASSES; (class)++) \
		list_for_each_entry(session, &(class)->active, node)

/* the counter set that the hardware counts; with the sampler lock held */
static inline u8 perfctr_active_set(const struct drm_perfctr *pc)
{
	return READ_ONCE(pc->set_users) ? READ_ONCE(pc->set) : DRM_PERFCTR_SET_PRIMARY;
}

static inline bool perfctr_is_privileged(const struct drm_perfctr_session *session)
{
	return session->class == &session->pc->classes[PERFCTR_PRIVILEGED];
}

/* can periodic samples be made from batches of a source: is it the only one? */
static inline bool perfctr_is_batchable(const struct drm_perfctr_session *session)
{
	return session->config.period_ns && session->source_count == 1 &&
	       !session->pmu.present && perfctr_is_privileged(session);
}

/* are the periodic samples of an active session made from batches of its source? */
static inline bool perfctr_in_batches(const struct drm_perfctr_session *session)
{
	const struct drm_perfctr_source *source = session->sources[0].source;

	return perfctr_is_batchable(session) && source->batch_ns && source->state->running;
}

/* the next sample that the timer is to make for a session, KTIME_MAX: none */
static inline ktime_t perfctr_next_due(const struct drm_perfctr_session *session)
{
	if (session->pending.automatic_due)
		return 0;
	/* the source says when a batch is due */
	if (!session->config.period_ns || perfctr_in_batches(session))
		return KTIME_MAX;
	return session->pending.due;
}

/* perfctr_sysctl.c */
int drm_perfctr_sysctl_init(void);
void drm_perfctr_sysctl_exit(void);
bool drm_perfctr_has_privilege(void);
bool drm_perfctr_may_observe(bool privileged);
u64 drm_perfctr_unprivileged_min_period_ns(void);
extern int drm_perfctr_max_user_sessions;
extern int drm_perfctr_max_user_ring_kb;

/* perfctr_account.c; a NULL account has no limits */
struct perfctr_account *drm_perfctr_account_get(void);
struct perfctr_account *drm_perfctr_account_ref(struct perfctr_account *account);
void drm_perfctr_account_put(struct perfctr_account *account);
int drm_perfctr_charge(struct perfctr_account *account, unsigned int sessions,
		       unsigned int pmu_counters, u64 bytes);
void drm_perfctr_uncharge(struct perfctr_account *account, unsigned int sessions,
			  unsigned int pmu_counters, u64 bytes);

/* perfctr_memory.c */
struct perfctr_memory *drm_perfctr_memory_create(struct perfctr_account *account, u64 ring_bytes);
void drm_perfctr_memory_put(struct perfctr_memory *memory);
struct file *drm_perfctr_memory_file(struct perfctr_memory *memory);

/* perfctr_wake.c */
extern struct workqueue_struct *drm_perfctr_wake_queue;
int drm_perfctr_wake_init(struct drm_perfctr_session *session, int eventfd);
void drm_perfctr_wake(struct drm_perfctr_session *session);
void drm_perfctr_wake_fini(struct drm_perfctr_session *session);

/* perfctr_view.c */
int drm_perfctr_build_views(struct drm_perfctr_session *session, unsigned int request_count,
			    const struct drm_perfctr_block_request *requests);

/* perfctr_setup.c */
struct drm_perfctr_session *drm_perfctr_setup(struct drm_perfctr *pc,
					      struct drm_perfctr_setup *setup);

/* perfctr_session.c */
void drm_perfctr_session_release(struct kref *ref);
void drm_perfctr_session_discard(struct drm_perfctr_session *session);
void drm_perfctr_session_teardown(struct drm_perfctr_session *session);
int drm_perfctr_session_start(struct drm_perfctr_session *session, u64 user_data);
int drm_perfctr_session_stop(struct drm_perfctr_session *session, u64 user_data);
int drm_perfctr_session_manual(struct drm_perfctr_session *session, u64 user_data);
void drm_perfctr_session_status(struct drm_perfctr_session *session,
				struct drm_perfctr_status *status);

/* perfctr_tick.c; drm_perfctr_sampler_arm() with the sampler lock held */
int drm_perfctr_sampler_init(struct drm_perfctr *pc);
void drm_perfctr_sampler_fini(struct drm_perfctr *pc);
void drm_perfctr_sampler_arm(struct perfctr_class *class);

/* perfctr_sampler.c; with the sampler lock held but for the first three */
void drm_perfctr_lock_urgent(struct drm_perfctr *pc);
int drm_perfctr_lock_call(struct drm_perfctr_session *session);
void drm_perfctr_unlock_call(struct drm_perfctr_session *session);
int drm_perfctr_sampler_attach(struct drm_perfctr_session *session);
void drm_perfctr_sampler_detach(struct drm_perfctr_session *session);
void drm_perfctr_sampler_select(struct drm_perfctr_source *source,
				const struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect(struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect_source(struct drm_perfctr_source *source);
void drm_perfctr_sampler_add(struct drm_perfctr_session *session);
void drm_perfctr_sampler_remove(struct drm_perfctr_session *session);
void drm_perfctr_sampler_begin(struct drm_perfctr_session *session);
void drm_perfctr_sampler_end(struct drm_perfctr_session *session);
unsigned long drm_perfctr_sampler_sources(const struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect_mask(struct drm_perfctr *pc, unsigned long mask);
bool drm_perfctr_sampler_is_due(struct drm_perfctr_session *session, ktime_t now);

/* perfctr_publish.c; with the sampler lock held */
void drm_perfctr_baseline(struct drm_perfctr_session *session);
bool drm_perfctr_has_room(struct drm_perfctr_session *session);
u64 drm_perfctr_session_time(struct drm_perfctr_session *session);
void drm_perfctr_publish(struct drm_perfctr_session *session, u32 flags, u64 user_data);
void drm_perfctr_update_status(struct drm_perfctr_session *session);

/* perfctr_collect.c; with the sampler lock held */
int drm_perfctr_collect(struct drm_perfctr_source *source, u64 until_ns, bool *more);
u64 drm_perfctr_collect_left_ns(const struct drm_perfctr_source *source);

/* perfctr_source.c; with the sampler lock held but for the first five */
struct drm_perfctr_block *drm_perfctr_block_at(struct drm_perfctr *pc, unsigned int nth);
void drm_perfctr_source_prepare_init(struct drm_perfctr_source *source);
int drm_perfctr_source_prepare(struct drm_perfctr_source *source);
void drm_perfctr_source_unprepare(struct drm_perfctr_source *source);
void drm_perfctr_source_unplug(struct drm_perfctr_source *source);
int drm_perfctr_source_start(struct drm_perfctr_source *source);
void drm_perfctr_source_stop(struct drm_perfctr_source *source);
void drm_perfctr_source_account_lost(struct drm_perfctr_source *source);

#endif /* _PERFCTR_INTERNAL_H_ */
