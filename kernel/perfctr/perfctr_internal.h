/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces between the files of the counter core.
 */
#ifndef _PERFCTR_INTERNAL_H_
#define _PERFCTR_INTERNAL_H_

#include <linux/atomic.h>
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
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_perfctr.h>
#include <drm/drm_print.h>

#include "format/perfctr_block.h"
#include "format/perfctr_layout.h"
#include "format/perfctr_ring.h"
#include "perfctr_lock.h"

struct eventfd_ctx;
struct file;
struct perfctr_sink;
struct poll_table_struct;
struct vm_area_struct;

#define PERFCTR_VERSION			4
#define PERFCTR_MAX_SOURCES		8
#define PERFCTR_MAX_SLOTS		65536u
#define PERFCTR_MAX_RING_BYTES		(64ull << 20)
#define PERFCTR_MAX_REQUESTS		1024u
/* above any structure size: bounds the check and the writing of trailing zeroes */
#define PERFCTR_STRUCT_SIZE_MAX		4096u
#define PERFCTR_MAX_BLOCKS		65535u
/*
 * Sessions without CAP_PERFMON are few and slow, so that the SCHED_FIFO worker can serve them, too:
 * those of a user on all devices, those of all users on a device, and their shortest period.
 */
#define PERFCTR_MAX_USER_SESSIONS	4u
#define PERFCTR_MAX_USERS_SESSIONS	32u
#define PERFCTR_USER_PERIOD_NS		(10ull * NSEC_PER_MSEC)
#define PERFCTR_MIN_PERIOD_NS		10000ull
#define PERFCTR_MAX_PERIOD_NS		(3600ull * NSEC_PER_SEC)
/* for memory whose size userspace chooses: charged to its cgroup, -ENOMEM without a warning */
#define PERFCTR_GFP_USER \
	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * the core's state of a source
 *
 * Protected by &drm_perfctr.lock, except for what @prepare_lock protects.
 */
struct perfctr_source_state {
	/* number of the last collection, and CLOCK_MONOTONIC_RAW up to which the totals count */
	u64 seq;
	u64 time_ns;
	/* end of the last call of ops->collect, CLOCK_MONOTONIC, whatever time it reports */
	ktime_t last_read;
	/* time up to which counts are in the totals or accounted for in lost_ns, the total loss */
	u64 good_ns;
	u64 lost_ns;
	/* DRM_PERFCTR_SAMPLE_* of collections; of the next one; whether that reports LOST */
	struct perfctr_sticky flags;
	u32 pending_flags;
	bool pending_lost;
	/* if not 0, all counts since good_ns are lost, for this reason, until the source starts */
	u32 lost_flags;
	/* the last collection with a transition */
	u64 transition_seq;
	/* the GPU timestamp at time_ns; epoch 0: none */
	u64 gpu_timestamp;
	u32 gpu_epoch;

	/* number of active sessions; it has decreased, and release_work has not run yet */
	unsigned int users;
	bool release_due;
	/* between ops->start and ops->stop, in counter set @set */
	bool running;
	u8 set;
	/* the last collection left counts in the hardware */
	bool incomplete;
	/* earliest time of the next attempt to start a source that failed to start */
	u64 restart_ns;

	/* protects the following; neither reset nor the sampler takes it */
	struct mutex prepare_lock;
	atomic_t prepare_users;
	bool prepared;
	bool unplugged;
	struct delayed_work unprepare_work;
	struct drm_perfctr_source *source;
};

/* the counters of a device */
struct drm_perfctr {
	/* constant after set-up: config is extended by the core, its @name a copy */
	struct drm_device *drm;
	struct module *owner; /* the driver's, which a session holds */
#ifdef PERFCTR_IN_TREE
	struct drm_perfctr_ioctls ioctls; /* &drm_device.perfctr refers to it */
#endif
	struct drm_perfctr_config config;
	char name[32];
	/* block_count is the sum over all sources */
	struct drm_perfctr_source *sources[PERFCTR_MAX_SOURCES];
	unsigned int source_count;
	unsigned int block_count;

	/*
	 * The sampler lock, see "locking". Protects everything below unless stated otherwise, all
	 * totals, and all sessions except for their references and perf events.
	 */
	struct rt_mutex lock;
	struct perfctr_worker workers[PERFCTR_WORKERS];
	/*
	 * what jobs, power, reset and CLOSE, and later the second worker, want of the first one
	 * while others have the lock
	 */
	struct {
		/* protects the lists */
		raw_spinlock_t lock;
		struct list_head lists[2];
		struct kthread_work work;
	} requests;
	/* all sessions, in any state; number of those without CAP_PERFMON; id of the next one */
	struct list_head all;
	unsigned int users_sessions;
	u64 next_session_id;
	/* of commands of sessions without CAP_PERFMON: one at a time, in order, gets further */
	struct rt_mutex users_lock;
	/* sessions of PERF_CONTROL by id, under the lock of the array */
	struct xarray controlled;
	/* counter set in use, valid while set_users is not 0: sources of all active sessions */
	u8 set;
	unsigned int set_users;
	/* total cycles of each clock domain */
	u64 cycles[DRM_PERFCTR_MAX_CLOCKS];
	/* no hardware access: while suspended; between pre_reset and post_reset; permanently */
	bool suspended;
	bool resetting;
	bool unplugged;
	/* unplug has begun: commands fail, workers finish early */
	bool ending;
	/* woken at the end of a reset, and by unplug */
	wait_queue_head_t reset_wait;
	/* the current collection's caller handles transitions */
	bool serving_events;
	/* for debugfs */
	u64 collections;
	atomic64_t timer_interrupts;

	/* the hardware reported an event; number of active sessions with AUTOMATIC samples */
	struct kthread_work event_work;
	unsigned int automatic_sessions;
	/* sources have fewer sessions: stop or reprogram them; sets the timers */
	struct kthread_work release_work;

	struct {
		/* sessions to read in the second worker's tick, and the one being read */
		struct list_head todo;
		struct drm_perfctr_session *serving;
		/* number of CPUs that came online or went offline, atomic; those handled */
		atomic_t cpu_changes;
		int cpu_changes_seen;
		/* in the list of devices that follow CPU hotplug */
		struct list_head node;
	} pmu;

	/* the last pair of clock readings, for QUERY */
	struct {
		/* protects the pair */
		spinlock_t lock;
		u64 gpu_timestamp;
		u64 raw_ns;
		u32 pair_epoch;
		/* current epoch; may also be read with @lock alone */
		u32 epoch;
	} clock;
};

/* a control area followed by the slots */
#define PERFCTR_CONTROL_BYTES		PAGE_SIZE

/* a ring, whose memory only CPUs access, and the readers that wait for its samples */
struct perfctr_memory {
	/* references of the session and of files */
	struct kref refcount;
	/* charged to this user; INVALID_UID: to nobody */
	kuid_t charged;
	u64 bytes;
	/* pages allocated so far */
	unsigned long count;
	struct page **pages;
	void *vaddr;
	/* for userspace; constant */
	struct drm_perfctr_layout layout;
	/* under &drm_perfctr.lock of the session's device; poll() reads it without */
	struct perfctr_ring ring;
	/* unread samples that cause a signal */
	u32 watermark;
	/* files from drm_perfctr_memory_reader() */
	atomic_t readers;
	/* readers, eventfd NULL: none; work that signals, its earliest jiffies; ns of the last */
	wait_queue_head_t wait;
	struct eventfd_ctx *eventfd;
	struct delayed_work wake_work;
	unsigned long wake_after;
	u64 walk_ns;
	/* the eventfd counts samples, once each; those that it was not signalled for yet */
	bool counted;
	atomic_t unsignalled;
};

/* position of a session in a source */
struct perfctr_source_view {
	struct drm_perfctr_source *source;
	/* collection at which the last sample ended, and the source's lost time then */
	u64 base_seq;
	u64 base_lost_ns;
	/* last collection already checked for AUTOMATIC samples */
	u64 transition_seq;
};

/* a set of requested counters and its ring */
struct drm_perfctr_session {
	/* one reference for the session's file, one for each job that samples it */
	struct kref refcount;
	struct drm_perfctr *pc;
	/* of a holder of CAP_PERFMON */
	bool privileged;
	u64 id;
	/* in &perfctr_worker.active, in &drm_perfctr.all */
	struct list_head node;
	struct list_head all_node;

	/* serialises START, STOP and SAMPLE; before all other locks of the core */
	struct mutex command_lock;

	/* as requested by OPEN and START */
	struct {
		u32 flags;
		u64 period_ns;
		u64 user_data;
	} config;

	/* creator: user charged (INVALID_UID with CAP_PERFMON), process, user and name */
	struct {
		kuid_t charged;
		struct pid *pid;
		kuid_t uid;
		char comm[TASK_COMM_LEN];
	} owner;

	/* between START and STOP; torn down or unplugged; holds the device awake */
	bool active;
	bool dead;
	bool awake;
	/* counter set of its blocks, in use while active */
	u8 set;

	/* the sample in progress */
	struct {
		/* next periodic sample, CLOCK_MONOTONIC */
		ktime_t due;
		/* end of the last sample */
		u64 end_ns;
		/* periods and other samples that were due and are not published yet */
		u64 periods;
		u64 others;
		/* the current tick serves the session, for a period */
		bool in_tick;
		bool periodic;
		/* @others include an AUTOMATIC sample that must be published */
		bool automatic_due;
		/* lost time of sources that the final collection could not read */
		u64 unread_ns;
	} pending;

	/* since OPEN; a copy for STATUS */
	struct drm_perfctr_status totals;
	struct drm_perfctr_status status;
	/* protects the copy */
	spinlock_t status_lock;

	/* the ring, in its memory */
	struct perfctr_ring *ring;
	struct perfctr_memory *memory;
	/* of a session with a file: the reader that its mappings refer to instead of that file */
	struct file *mapped;
	struct perfctr_sink *sink; /* NULL: samples of perfctr's own layout */

	/* sources; blocks in the order of the sample; storage of the blocks' base values */
	struct perfctr_source_view sources[PERFCTR_MAX_SOURCES];
	unsigned int source_count;
	struct perfctr_view *views;
	unsigned int view_count;
	u64 *bases;
	/* mask of sources on which ops->prepare was called for this session */
	unsigned long prepared;

	/* perf events, see "perf events and fences" */
	struct {
		/* protects the events; workers wait for it, so it has priority inheritance */
		struct rt_mutex lock;
		bool present;
		unsigned int counters;
		/* in &drm_perfctr.pmu.todo; to be read soon, and to follow CPUs before */
		struct list_head node;
		bool wanted;
		bool follow;
		/* &drm_perfctr.pmu.cpu_changes when START opened the events */
		int cpu_changes;
	} pmu;
};

/* an ioctl's number without the size of its structure, which may be that of another version */
#define PERFCTR_IOCTL_OF_ANY_SIZE(cmd)	((cmd) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT))

/*
 * What a command returns to its caller. One that a lock or a wait ended with -EINTR had no effect,
 * so it is repeated unless the handler of a signal forbids that: what ends a wait is often no
 * signal at all, for example SIGCONT or work that io_uring has for the task.
 */
static inline int perfctr_result(int ret)
{
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/* rejections name the field, at debug level only, as userspace can cause any number */
#define perfctr_reject(pc, errno, fmt, ...) \
	({ \
		drm_dbg((pc)->drm, "perfctr: " fmt "\n", ##__VA_ARGS__); \
		-(errno); \
	})

#define perfctr_for_each_active(pc, worker, session) \
	for ((worker) = (pc)->workers; (worker) < (pc)->workers + PERFCTR_WORKERS; (worker)++) \
		list_for_each_entry(session, &(worker)->active, node)

static inline struct perfctr_worker *perfctr_worker_of(const struct drm_perfctr_session *session)
{
	return &session->pc->workers[session->pmu.present ? PERFCTR_PMU : PERFCTR_HARDWARE];
}

/* whether a session keeps others from another counter set */
static inline bool perfctr_uses_set(const struct drm_perfctr_session *session)
{
	return READ_ONCE(session->active) && session->source_count;
}

/* the counter set in use; with the sampler lock held */
static inline u8 perfctr_active_set(const struct drm_perfctr *pc)
{
	return READ_ONCE(pc->set_users) ? READ_ONCE(pc->set) : DRM_PERFCTR_SET_PRIMARY;
}

/* perfctr_sysctl.c */
int drm_perfctr_sysctl_init(void);
void drm_perfctr_sysctl_exit(void);
bool drm_perfctr_has_privilege(void);
bool drm_perfctr_may_observe(void);
extern int drm_perfctr_max_user_ring_kb;

/* perfctr_account.c */
kuid_t drm_perfctr_charged_user(void);
int drm_perfctr_charge(kuid_t uid, unsigned int sessions, u64 bytes);
void drm_perfctr_uncharge(kuid_t uid, unsigned int sessions, u64 bytes);

/* perfctr_memory.c */
struct perfctr_memory *drm_perfctr_memory_create(kuid_t charged,
						 const struct drm_perfctr_layout *layout);
void drm_perfctr_memory_put(struct perfctr_memory *memory);
struct file *drm_perfctr_memory_reader(struct perfctr_memory *memory);
int drm_perfctr_memory_mmap(struct perfctr_memory *memory, struct vm_area_struct *vma);
__poll_t drm_perfctr_memory_poll(struct perfctr_memory *memory, struct file *file,
				 struct poll_table_struct *wait);
long drm_perfctr_memory_ioctl(struct perfctr_memory *memory, unsigned int cmd, unsigned long arg);
int drm_perfctr_copy_out(void __user *dst, size_t dst_size, const void *src, size_t size);

/* perfctr_wake.c */
extern struct workqueue_struct *drm_perfctr_wake_queue;
void drm_perfctr_wake_init(struct perfctr_memory *memory);
int drm_perfctr_set_eventfd(struct drm_perfctr_session *session, int fd);
void drm_perfctr_wake(struct perfctr_memory *memory);
void drm_perfctr_signal(struct perfctr_memory *memory);
void drm_perfctr_wake_fini(struct perfctr_memory *memory);

/* perfctr_file.c: the session of such a descriptor; NULL: it is no such file */
struct drm_perfctr_session *drm_perfctr_session_of(struct file *file);

/* perfctr_view.c */
int drm_perfctr_build_views(struct drm_perfctr_session *session, unsigned int request_count,
			    const struct drm_perfctr_block_request *requests);

/*
 * perfctr_open.c: a session without a file keeps its drm_device, but no module. Its caller keeps
 * the driver's, and so the core's, until drm_perfctr_session_end() returns, as a DRM file does.
 */
int drm_perfctr_check_open(struct drm_perfctr *pc, const struct drm_perfctr_open *open);
struct drm_perfctr_block_request *drm_perfctr_copy_requests(struct drm_perfctr *pc,
							    const struct drm_perfctr_open *open);
struct drm_perfctr_session *
drm_perfctr_session_create(struct drm_perfctr *pc, const struct drm_perfctr_open *open,
			   const struct drm_perfctr_block_request *requests,
			   struct perfctr_sink *sink, struct drm_perfctr_layout *layout);

/* perfctr_session.c */
void drm_perfctr_session_release(struct kref *ref);
void drm_perfctr_session_discard(struct drm_perfctr_session *session);
bool drm_perfctr_session_finish(struct drm_perfctr_session *session, u32 flags, u64 user_data);
void drm_perfctr_session_die(struct drm_perfctr_session *session);
void drm_perfctr_session_end(struct drm_perfctr_session *session);
int drm_perfctr_session_start(struct drm_perfctr_session *session, u64 user_data);
int drm_perfctr_session_stop(struct drm_perfctr_session *session, u64 user_data);
int drm_perfctr_session_manual(struct drm_perfctr_session *session, u64 user_data);
void drm_perfctr_session_status(struct drm_perfctr_session *session,
				struct drm_perfctr_status *status);

/* perfctr_tick.c */
int drm_perfctr_sampler_init(struct drm_perfctr *pc);
void drm_perfctr_sampler_fini(struct drm_perfctr *pc);

/* perfctr_timer.c; in a worker, with the sampler lock held */
ktime_t drm_perfctr_sampler_due(const struct perfctr_worker *worker,
				const struct drm_perfctr_session *session);
void drm_perfctr_sampler_arm(struct perfctr_worker *worker);
void drm_perfctr_sampler_publish_automatic(struct drm_perfctr_session *session);
void drm_perfctr_sampler_publish(struct perfctr_worker *worker, ktime_t now, unsigned long sources);
void drm_perfctr_sampler_rest(struct perfctr_worker *worker, ktime_t begin, bool privileged,
			      unsigned int users);

/* perfctr_sampler.c; with the sampler lock held, except for the first three */
int drm_perfctr_lock_call(struct drm_perfctr_session *session);
void drm_perfctr_unlock_call(struct drm_perfctr_session *session);
void drm_perfctr_sampler_settle(struct drm_perfctr *pc);
int drm_perfctr_sampler_attach(struct drm_perfctr_session *session);
void drm_perfctr_sampler_detach(struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect(struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect_source(struct drm_perfctr_source *source);
void drm_perfctr_sampler_add(struct drm_perfctr_session *session);
unsigned long drm_perfctr_sampler_sources(const struct drm_perfctr_session *session);
int drm_perfctr_sampler_collect_mask(struct drm_perfctr *pc, unsigned long mask);
bool drm_perfctr_sampler_collect_with_room(struct drm_perfctr_session *session);

/* perfctr_period.c; with the sampler lock held */
s64 drm_perfctr_raw_offset_ns(void);
void drm_perfctr_period_begin(struct drm_perfctr_session *session);
void drm_perfctr_period_end(struct drm_perfctr_session *session);
bool drm_perfctr_period_is_due(struct drm_perfctr_session *session, ktime_t now);

/* perfctr_publish.c; with the sampler lock held */
void drm_perfctr_baseline(struct drm_perfctr_session *session);
bool drm_perfctr_has_room(struct drm_perfctr_session *session);
u64 drm_perfctr_session_time(struct drm_perfctr_session *session);
bool __must_check drm_perfctr_publish_only(struct drm_perfctr_session *session, u32 flags,
					   u64 user_data);
void drm_perfctr_publish(struct drm_perfctr_session *session, u32 flags, u64 user_data);
void drm_perfctr_update_status(struct drm_perfctr_session *session);

/* perfctr_collect.c; with the sampler lock held */
int drm_perfctr_collect(struct drm_perfctr_source *source);
ktime_t drm_perfctr_collect_due(const struct drm_perfctr_source *source);

/* perfctr_source.c; with the sampler lock held, except for the first five */
struct drm_perfctr_block *drm_perfctr_block_at(struct drm_perfctr *pc, unsigned int nth);
void drm_perfctr_source_prepare_init(struct drm_perfctr_source *source);
int drm_perfctr_source_prepare(struct drm_perfctr_source *source);
void drm_perfctr_source_unprepare(struct drm_perfctr_source *source);
void drm_perfctr_source_unplug(struct drm_perfctr_source *source);
int drm_perfctr_source_start(struct drm_perfctr_source *source);
void drm_perfctr_source_stop(struct drm_perfctr_source *source);
void drm_perfctr_source_account_lost(struct drm_perfctr_source *source);

#endif /* _PERFCTR_INTERNAL_H_ */
