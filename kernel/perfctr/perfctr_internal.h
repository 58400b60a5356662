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
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "drm_perfctr.h"
#include "perfctr_block.h"
#include "perfctr_layout.h"
#include "perfctr_ring.h"

struct drm_gem_object;
struct eventfd_ctx;
struct perfctr_user;

#define PERFCTR_VERSION			2
#define PERFCTR_MAX_SOURCES		8
#define PERFCTR_MAX_SLOTS		65536u
#define PERFCTR_MAX_RING_BYTES		(64ull << 20)
/* a control area or two next to the largest ring */
#define PERFCTR_MAX_BO_BYTES		(PERFCTR_MAX_RING_BYTES + (1ull << 20))
#define PERFCTR_MAX_REQUESTS		1024u
/* larger than any structure will ever be: bounds the scan and the writing of zeroes behind ours */
#define PERFCTR_STRUCT_SIZE_MAX		4096u
#define PERFCTR_MAX_BLOCKS		65535u
#define PERFCTR_MAX_SESSIONS_FILE	128u
#define PERFCTR_MAX_SESSIONS_DEVICE	1024u
#define PERFCTR_MIN_PERIOD_NS		10000ull
#define PERFCTR_MAX_PERIOD_NS		(3600ull * NSEC_PER_SEC)
/*
 * For memory whose size or number user space decides: charged to it, and -ENOMEM
 * rather than the OOM killer and a warning when its limit is reached.
 */
#define PERFCTR_GFP_USER \
	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/* collections per shortest period that users without CAP_PERFMON can have, and provoke */
#define PERFCTR_UNPRIVILEGED_TICKS	4
/* samples of jobs of an unprivileged user that may come at once */
#define PERFCTR_UNPRIVILEGED_BURST	16

/**
 * struct perfctr_source_state - what the core keeps about a source
 *
 * Under &drm_perfctr.lock.
 */
struct perfctr_source_state {
	/** @seq: number of collections. */
	u64 seq;
	/** @time_ns: CLOCK_MONOTONIC_RAW up to which the totals go. */
	u64 time_ns;
	/** @good_ns: time up to which all counts are in the totals or in @lost_ns. */
	u64 good_ns;
	/** @lost_ns: total time whose counts the hardware lost. */
	u64 lost_ns;
	/** @flags: DRM_PERFCTR_SAMPLE_* of each collection. */
	struct perfctr_trace flags;
	/** @pending_flags: for the next collection. */
	u32 pending_flags;
	/** @pending_lost: the same for DRM_PERFCTR_STATE_LOST of the blocks. */
	bool pending_lost;
	/**
	 * @lost_flags: DRM_PERFCTR_SAMPLE_* that say why all counts since @good_ns are
	 * lost, until the source is started; 0: they are not.
	 */
	u32 lost_flags;
	/** @transition_seq: number of the last collection with a transition. */
	u64 transition_seq;
	/** @users: active sessions. */
	unsigned int users;
	/** @running: between ops->start and ops->stop. */
	bool running;
	/** @incomplete: the last collection left counts in the hardware. */
	bool incomplete;
	/** @wanted: for ops->select, DRM_PERFCTR_BLOCK_INFO_SECTIONS masks for each block. */
	u64 *wanted;
	/** @batch_ns: longest time between two batches, for the source and the rings. */
	u64 batch_ns;
	/** @rest_until_ns: no batch is due before, CLOCK_MONOTONIC_RAW. */
	u64 rest_until_ns;
	/** @users_served: last time in a batch at which sessions of users were. */
	ktime_t users_served;
	/** @restart_ns: while it should run and does not: not to be tried again before. */
	u64 restart_ns;
};

/**
 * struct drm_perfctr - the counters of a device
 */
struct drm_perfctr {
	/** @drm: the device. */
	struct drm_device *drm;
	/** @config: as given by the driver, see struct drm_perfctr_config. */
	struct {
		/** @config.name: product name. */
		char name[32];
		/** @config.gpu_id: the driver's identification of the hardware. */
		u64 gpu_id;
		/** @config.product: enum drm_perfctr_product of the GPU blocks. */
		u16 product;
		/** @config.sets: bit n: counter set n exists. */
		u32 sets;
		/** @config.features: enum drm_perfctr_features. */
		u32 features;
		/** @config.clocks: clock domains. */
		const struct drm_perfctr_clock_desc *clocks;
		/** @config.clock_count: elements of @config.clocks. */
		unsigned int clock_count;
		/** @config.ops: may be NULL. */
		const struct drm_perfctr_driver_ops *ops;
	} config;

	/** @sources: constant after set-up. */
	struct drm_perfctr_source *sources[PERFCTR_MAX_SOURCES];
	/** @source_count: elements of @sources in use. */
	unsigned int source_count;
	/** @block_count: blocks of all sources. */
	unsigned int block_count;

	/**
	 * @lock: the sampler lock. Protects everything below, all totals and all
	 * sessions but for their reference count and their perf events. Held
	 * across hardware access, which is bounded. Fences wait for it: nothing
	 * may be allocated under it, and no lock taken under which others do.
	 */
	struct mutex lock;
	/** @active: sessions between START and STOP. */
	struct list_head active;
	/** @all: all sessions. */
	struct list_head all;
	/** @caller: session that holds @lock for an ioctl of its own, or NULL. */
	struct drm_perfctr_session *caller;
	/** @sessions: number of sessions. */
	unsigned int sessions;
	/** @set: counter set, valid while @set_users is not zero. */
	u8 set;
	/** @set_users: sessions with blocks of a source. */
	unsigned int set_users;
	/** @cycles: total cycles of each clock domain. */
	u64 cycles[DRM_PERFCTR_MAX_CLOCKS];
	/** @suspended: no hardware access. */
	bool suspended;
	/** @resetting: between pre_reset and post_reset. */
	bool resetting;
	/** @unplugged: no hardware access ever again. */
	bool unplugged;
	/** @pmu_wanted: the PMU blocks of some sessions are to be read. */
	bool pmu_wanted;
	/** @serving_events: transitions that a collection finds are served by its caller. */
	bool serving_events;
	/** @cpu_changes: CPUs that came or went. Atomic. */
	atomic_t cpu_changes;
	/** @in_batch: several samples of a session come at once: they wake together. */
	bool in_batch;
	/** @timer_interrupts: of @timer; for debugfs. */
	u64 timer_interrupts;
	/** @last_tick: when the periodic sessions were last served. */
	ktime_t last_tick;
	/** @users_served: the same for sessions of users, and for what is due by itself. */
	ktime_t users_served;

	/** @worker: serves the works below. */
	struct kthread_worker *worker;
	/** @tick_work: something is due. */
	struct kthread_work tick_work;
	/** @event_work: the hardware has something to say. */
	struct kthread_work event_work;
	/** @hotplug_work: a CPU came or went. */
	struct kthread_work hotplug_work;
	/** @pmu_work: PMU blocks are to be read. */
	struct kthread_work pmu_work;
	/** @timer: queues @tick_work. */
	struct hrtimer timer;
	/** @node: in the list of devices that follow CPU hotplug. */
	struct list_head node;
};

/**
 * struct perfctr_source_view - where a session stands with a source
 */
struct perfctr_source_view {
	/** @source: the source. */
	struct drm_perfctr_source *source;
	/** @base_seq: its collection at which the last sample ended. */
	u64 base_seq;
	/** @base_lost_ns: its lost time at the end of the last sample. */
	u64 base_lost_ns;
	/** @transition_seq: its collection up to which an AUTOMATIC sample was due. */
	u64 transition_seq;
};

/**
 * struct drm_perfctr_session - counters that somebody asked for
 */
struct drm_perfctr_session {
	/** @refcount: one of the file's table, one of each job that samples it. */
	struct kref refcount;
	/** @pc: the device. */
	struct drm_perfctr *pc;
	/** @node: in &drm_perfctr.active. */
	struct list_head node;
	/** @all_node: in &drm_perfctr.all. */
	struct list_head all_node;
	/** @flags: enum drm_perfctr_setup_flags. */
	u32 flags;
	/** @watermark: unread samples that wake, such as there can be while @active. */
	u32 watermark;
	/** @period_ns: 0 for a manual session. */
	u64 period_ns;
	/** @wake_due: samples of a batch that are to wake. */
	u32 wake_due;
	/** @active: between START and STOP. */
	bool active;
	/** @dead: torn down or unplugged. */
	bool dead;
	/** @awake: holds the device awake. */
	bool awake;
	/** @holds_set: counted in &drm_perfctr.set_users. */
	bool holds_set;
	/** @set: counter set of the blocks of sources. */
	u8 set;

	/** @due: next periodic sample, CLOCK_MONOTONIC. */
	ktime_t due;
	/** @user_data: of START. */
	u64 user_data;
	/** @end_ns: end of the last sample. */
	u64 end_ns;
	/** @pending_periods: periods that ended without a sample. */
	u64 pending_periods;
	/** @pending_others: other samples that had no slot, or wait for the users' turn. */
	u64 pending_others;
	/** @automatic_due: one of those that wait; an AUTOMATIC sample is to be made of it. */
	bool automatic_due;
	/** @unread_ns: time whose counts the final collection could not get. */
	u64 unread_ns;
	/** @totals: since SETUP, see struct drm_perfctr_status. */
	struct {
		/** @totals.merged_periods: in published samples. */
		u64 merged_periods;
		/** @totals.merged_others: in published samples. */
		u64 merged_others;
		/** @totals.lost_ns: in published samples. */
		u64 lost_ns;
		/** @totals.errors: samples with DRM_PERFCTR_SAMPLE_ERROR. */
		u64 errors;
		/** @totals.overflows: samples with DRM_PERFCTR_SAMPLE_OVERFLOW. */
		u64 overflows;
		/** @totals.resets: samples with DRM_PERFCTR_SAMPLE_RESET. */
		u64 resets;
		/** @totals.ring_full: SAMPLE commands that found no slot. */
		u64 ring_full;
		/** @totals.wakeups: signals of @eventfd; a batch is one. */
		u64 wakeups;
	} totals;

	/** @ring: the user's ring. */
	struct perfctr_ring ring;
	/** @sample_size: bytes of each sample. */
	u32 sample_size;
	/** @ring_bo: buffer of the ring. */
	struct drm_gem_object *ring_bo;
	/** @control_bo: buffer of the control area, may be the same. */
	struct drm_gem_object *control_bo;
	/** @ring_vaddr: mapping of @ring_bo. */
	void *ring_vaddr;
	/** @control_vaddr: mapping of @control_bo. */
	void *control_vaddr;
	/** @eventfd: may be NULL, and what follows is of no use then. */
	struct eventfd_ctx *eventfd;
	/** @wakes_of_caller: signals that &drm_perfctr.caller owes. */
	u32 wakes_of_caller;
	/** @wakes_due: signals that @wake_work owes. */
	atomic64_t wakes_due;
	/** @wake_work: pays them. */
	struct work_struct wake_work;
	/** @wake_queue: of @user. */
	struct workqueue_struct *wake_queue;
	/** @user: who made the session, NULL if that was with CAP_PERFMON. */
	struct perfctr_user *user;
	/** @maker: its process, for whoever looks for it. */
	struct pid *maker;
	/** @maker_uid: and that one's user. */
	kuid_t maker_uid;
	/** @maker_comm: and the name of the thread. */
	char maker_comm[TASK_COMM_LEN];
	/** @pinned_bytes: of both buffers, as charged to @user. */
	u64 pinned_bytes;
	/** @soc_counters: of all PMU blocks, as charged to @user. */
	unsigned int soc_counters;

	/** @source_count: elements of @sources in use. */
	unsigned int source_count;
	/** @sources: sources that count for this session. */
	struct perfctr_source_view sources[PERFCTR_MAX_SOURCES];
	/** @view_count: elements of @views; blocks of each sample. */
	unsigned int view_count;
	/** @views: the blocks in the order of the sample. */
	struct perfctr_view *views;
	/** @bases: memory of all views' bases. */
	u64 *bases;
	/** @has_pmu: some views are PMU blocks. */
	bool has_pmu;

	/**
	 * @pmu_lock: serialises START, STOP and SAMPLE and protects the events of
	 * the PMU blocks. Before the sampler lock; see "perf events and fences".
	 */
	struct mutex pmu_lock;
	/** @pmu_wanted: the worker is to read the PMU blocks; under the sampler lock. */
	bool pmu_wanted;
	/** @pmu_follow: and to follow CPU hotplug first. */
	bool pmu_follow;
	/** @pmu_node: in the worker's list of what it reads now. */
	struct list_head pmu_node;
	/** @cpu_changes: of the device, when START opened the events. */
	int cpu_changes;
};

/* rejections name the field, at debug level only: users can cause them at will */
#define perfctr_reject(pc, errno, fmt, ...) \
	({ \
		drm_dbg((pc)->drm, "perfctr: " fmt "\n", ##__VA_ARGS__); \
		-(errno); \
	})

/* the counter set that the hardware counts; with the sampler lock held */
static inline u8 perfctr_active_set(const struct drm_perfctr *pc)
{
	return pc->set_users ? pc->set : DRM_PERFCTR_SET_PRIMARY;
}

/* can periodic samples be made from batches of a source: is it the only one? */
static inline bool perfctr_session_is_batchable(const struct drm_perfctr_session *session)
{
	return session->period_ns && session->source_count == 1 && !session->has_pmu;
}

/* perfctr_device.c */
struct drm_perfctr_block *perfctr_block_at(struct drm_perfctr *pc, unsigned int nth);

/* perfctr_sysctl.c */
int perfctr_sysctl_init(void);
void perfctr_sysctl_exit(void);
bool perfctr_may_observe(void);
u64 perfctr_min_period_ns(void);
u64 perfctr_unprivileged_min_period_ns(void);
unsigned int perfctr_max_user_sessions(void);
u64 perfctr_max_user_ring_bytes(void);

/* perfctr_wake.c */
int perfctr_wake_init(struct drm_perfctr_session *session, struct eventfd_ctx *eventfd);
void perfctr_wake_fini(struct drm_perfctr_session *session);
void perfctr_wake(struct drm_perfctr_session *session, u32 samples);
void perfctr_wake_begin_call(struct drm_perfctr_session *session);
u32 perfctr_wake_end_call(struct drm_perfctr_session *session);
void perfctr_wake_pay(struct drm_perfctr_session *session, u32 due);
void perfctr_wake_pay_all(struct drm_perfctr_session *session, u32 due);
void perfctr_wake_end(struct drm_perfctr_session *session, u32 due);

/* perfctr_user.c */
int perfctr_user_charge(struct drm_perfctr *pc, unsigned int soc_counters,
			struct perfctr_user **out);
int perfctr_user_charge_bytes(struct drm_perfctr *pc, struct perfctr_user *user, u64 bytes);
void perfctr_user_uncharge(struct perfctr_user *user, u64 bytes, unsigned int soc_counters);
u64 perfctr_users_distance_ns(void);
int perfctr_user_pace(struct perfctr_user *user);
bool perfctr_user_may_burst(struct perfctr_user *user);
struct workqueue_struct *perfctr_user_wake_queue(struct perfctr_user *user);
void perfctr_user_exit(void);

/* perfctr_session.c */
struct drm_perfctr_session *perfctr_session_create(struct drm_perfctr *pc,
						   struct drm_perfctr_setup *setup,
						   const struct drm_perfctr_block_request *requests,
						   struct drm_file *file);
void perfctr_session_teardown(struct drm_perfctr_session *session);
int perfctr_session_start(struct drm_perfctr_session *session, u64 user_data);
int perfctr_session_stop(struct drm_perfctr_session *session, u64 user_data);
int perfctr_session_sample(struct drm_perfctr_session *session, u64 user_data);
int perfctr_session_status(struct drm_perfctr_session *session, struct drm_perfctr_status *status);

/* perfctr_sampler.c; all with the sampler lock held */
int perfctr_sampler_collect(struct drm_perfctr *pc, struct drm_perfctr_session *session);
int perfctr_sampler_collect_first(struct drm_perfctr *pc, struct drm_perfctr_session *session);
void perfctr_sampler_collect_final(struct drm_perfctr *pc, struct drm_perfctr_session *session);
void perfctr_sampler_give_up(struct drm_perfctr_session *session);
void perfctr_sampler_count_final_periods(struct drm_perfctr_session *session);
void perfctr_sampler_baseline(struct drm_perfctr_session *session);
void perfctr_sampler_publish(struct drm_perfctr_session *session, u32 flags, u64 user_data);
bool perfctr_sampler_has_room(struct drm_perfctr_session *session);
int perfctr_sampler_attach(struct drm_perfctr_session *session);
void perfctr_sampler_detach(struct drm_perfctr_session *session);
void perfctr_sampler_arm(struct drm_perfctr *pc);
bool perfctr_sampler_in_batches(const struct drm_perfctr_session *session);
s64 perfctr_raw_offset_ns(void);
u64 perfctr_sampler_next_due(const struct drm_perfctr_source *source, s64 raw_offset_ns);
void perfctr_sampler_publish_batched(struct drm_perfctr_source *source, s64 raw_offset_ns);
void perfctr_sampler_end_batch(struct drm_perfctr *pc);
int perfctr_sampler_init(struct drm_perfctr *pc);
void perfctr_sampler_fini(struct drm_perfctr *pc);

/* perfctr_source.c; all with the sampler lock held */
int perfctr_source_collect(struct drm_perfctr *pc, struct drm_perfctr_source *source);
int perfctr_source_start(struct drm_perfctr *pc, struct drm_perfctr_source *source);
void perfctr_source_stop(struct drm_perfctr_source *source);
void perfctr_source_account_lost(struct drm_perfctr_source *source);
int perfctr_source_acquire(struct drm_perfctr_source *source,
			   const struct drm_perfctr_session *session);
void perfctr_source_release(struct drm_perfctr_source *source);
u64 perfctr_source_time_left_ns(const struct drm_perfctr_source *source);

/* perfctr_pmu_session.c */
int perfctr_session_lock(struct drm_perfctr_session *session);
void perfctr_session_unlock(struct drm_perfctr_session *session);
int perfctr_session_enable_pmu(struct drm_perfctr_session *session);
void perfctr_session_disable_pmu(struct drm_perfctr_session *session);
void perfctr_session_baseline_pmu(struct drm_perfctr_session *session);
void perfctr_session_close_pmu(struct drm_perfctr_session *session);
void perfctr_session_want_pmu(struct drm_perfctr_session *session, bool follow);
void perfctr_serve_pmu(struct drm_perfctr *pc);

/* perfctr_pmu.c; with the session's pmu_lock held and the sampler lock not, but to hand over */
#ifdef CONFIG_PERF_EVENTS
int perfctr_pmu_create(struct drm_perfctr *pc, const struct drm_perfctr_block_request *request,
		       struct perfctr_pmu_block **out);
void perfctr_pmu_destroy(struct perfctr_pmu_block *pmu);
int perfctr_pmu_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
void perfctr_pmu_disable(struct perfctr_pmu_block *pmu);
void perfctr_pmu_read(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
void perfctr_pmu_hand_over(struct perfctr_pmu_block *pmu);
void perfctr_pmu_close(struct perfctr_pmu_block *pmu);
int perfctr_pmu_follow_cpus(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu);
unsigned int perfctr_pmu_events(u16 type);
int perfctr_pmu_init(void);
void perfctr_pmu_exit(void);
void perfctr_pmu_add_device(struct drm_perfctr *pc);
void perfctr_pmu_remove_device(struct drm_perfctr *pc);
#else
static inline int perfctr_pmu_create(struct drm_perfctr *pc,
				     const struct drm_perfctr_block_request *request,
				     struct perfctr_pmu_block **out)
{
	return -EOPNOTSUPP;
}

static inline void perfctr_pmu_destroy(struct perfctr_pmu_block *pmu) {}
static inline void perfctr_pmu_close(struct perfctr_pmu_block *pmu) {}
static inline void perfctr_pmu_hand_over(struct perfctr_pmu_block *pmu) {}

static inline int perfctr_pmu_enable(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	return 0;
}

static inline void perfctr_pmu_disable(struct perfctr_pmu_block *pmu) {}

static inline void perfctr_pmu_read(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu) {}

static inline int perfctr_pmu_follow_cpus(struct drm_perfctr *pc, struct perfctr_pmu_block *pmu)
{
	return 0;
}

static inline unsigned int perfctr_pmu_events(u16 type)
{
	return 0;
}

static inline int perfctr_pmu_init(void)
{
	return 0;
}

static inline void perfctr_pmu_exit(void) {}
static inline void perfctr_pmu_add_device(struct drm_perfctr *pc) {}
static inline void perfctr_pmu_remove_device(struct drm_perfctr *pc) {}
#endif

#define PERFCTR_PMU_TYPE_FIRST	DRM_PERFCTR_BLOCK_GENERIC_PMU
#define PERFCTR_PMU_TYPE_LAST	63

static inline bool perfctr_type_is_pmu(u16 type)
{
	return type >= PERFCTR_PMU_TYPE_FIRST && type <= PERFCTR_PMU_TYPE_LAST;
}

#endif /* _PERFCTR_INTERNAL_H_ */
