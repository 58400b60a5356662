/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The microcontroller with its firmware: global interface, group slots, stream slots.
 */
#ifndef _MALI_MCU_H_
#define _MALI_MCU_H_

#include <linux/mutex.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

#include "source/csf/csf_layout.h"
#include "mali.h"
#include "mali_interface.h"

#define MALI_CALL_DEPTH		8
#define MALI_SHARED_PAGES	(MALI_SHARED_BYTES / PAGE_SIZE)

/* events, bits of mali_mcu.events */
#define MALI_MCU_EVENT_CONTROL	0	/* MCU_CONTROL was written */
#define MALI_MCU_EVENT_RESET	1	/* soft reset requested */
#define MALI_MCU_EVENT_GLOBAL	2	/* doorbell 0 */
#define MALI_MCU_EVENT_STREAMS	3	/* any other doorbell */

/* a buffer of instructions that is being executed */
struct mali_frame {
	u64 pc;
	u64 end;
};

/* state of a command stream across suspend; copied to the suspend buffer as it is */
struct mali_cs {
	u32 reg[MALI_REGISTERS];
	u64 extract;	/* ring position in bytes, free-running: next instruction at depth 0 */
	struct mali_frame frame[MALI_CALL_DEPTH];
	u32 depth;	/* frames in use */
	u32 error;	/* a fault was inherited and no barrier has been met since */
	u64 heap_va;
	u32 vt_started;
	u32 vt_ended;
	u32 fragment_ended;
	u32 handler_bytes;	/* of the handler for a full heap; 0: none */
	u64 handler_va;
	/* chunks of the heap, from the host's answers: its first ones are not used */
	u64 heap_bytes;
	u64 heap_room;	/* bytes of them that are free */
	u64 tiled_bytes;	/* taken by the RUN_IDVS that is being executed */
};

/* state of a stream slot */
enum mali_stream_state {
	MALI_STREAM_STOPPED,
	MALI_STREAM_RUNNING,
	MALI_STREAM_EMPTY,	/* the ring has nothing to execute */
	MALI_STREAM_WAITING,	/* for a synchronisation object */
	MALI_STREAM_HEAP_FULL,	/* until the host answers the event */
	MALI_STREAM_FATAL,	/* until the group ends */
};

/* the object that a stream waits for */
struct mali_wait {
	u64 va;
	u64 value;
	bool greater;
	bool wide;
};

struct mali_stream {
	struct mali_group *group;
	struct mali_stream_input *in;
	struct mali_stream_output *out;
	u32 number;
	enum mali_stream_state state;
	u64 ring_va;
	u32 ring_bytes;
	u64 ring_input_va;
	u64 ring_output_va;
	struct mali_wait wait;
	struct mali_cs cs;
};

struct mali_group {
	struct mali_mcu *mcu;
	struct mali_group_input *in;
	struct mali_group_output *out;
	u32 number;
	u32 state;	/* MALI_CSG_*, as acknowledged */
	u32 as;	/* address space of the streams */
	bool idle;	/* no stream can continue, and the host was notified */
	struct mali_stream streams[MALI_STREAMS];
};

struct mali_mcu {
	struct mali_gpu *gpu;
	wait_queue_head_t wait;
	unsigned long events;	/* MALI_MCU_EVENT_* since firmware last looked */

	struct mutex lock;	/* protects everything below */
	bool running;	/* booted, and neither halted nor dead */
	void *shared[MALI_SHARED_PAGES];	/* the pages of the shared section */
	struct csf_glb_input *in;
	struct csf_glb_output *out;
	struct mali_group group[MALI_GROUPS];
	bool synced;	/* a synchronisation object was written: waiting streams check again */
	u64 idle_at_ns;	/* when to report that all groups are idle; zero: not counting down */
	bool idle_reported;	/* idle was reported */
	u64 cores_off_ns;	/* when shader cores lose power; zero: not counting down */
	u64 instructions;	/* executed; a blocked one counts when it completes */
	u64 instructions_idle;	/* @instructions when all groups were found idle */
};

static inline u32 mali_word(const __le32 *word)
{
	/* what the host wrote before the word is read after it */
	return le32_to_cpu(smp_load_acquire(word));
}

static inline u64 mali_word64(const __le64 *word)
{
	/* as in mali_word() */
	return le64_to_cpu(smp_load_acquire(word));
}

/* everything written before the word becomes visible before it */
static inline void mali_set_word(__le32 *word, u32 value)
{
	/* see above */
	smp_store_release(word, cpu_to_le32(value));
}

static inline void mali_set_word64(__le64 *word, u64 value)
{
	/* see mali_set_word() */
	smp_store_release(word, cpu_to_le64(value));
}

/* memory at @offset of the shared section, up to the end of its page */
static inline void *mali_mcu_shared(struct mali_mcu *mcu, u32 offset)
{
	return mcu->shared[offset / PAGE_SIZE] + offset % PAGE_SIZE;
}

/* mali_mcu.c */
int mali_mcu_init(struct mali_gpu *gpu);
void mali_mcu_kick(struct mali_gpu *gpu, unsigned int event);
void mali_mcu_doorbell(struct mali_gpu *gpu, u32 number);
void mali_mcu_poll(struct mali_gpu *gpu);

/* mali_global.c */
void mali_global_boot(struct mali_mcu *mcu);
int mali_global_requests(struct mali_mcu *mcu);
void mali_global_check_idle(struct mali_mcu *mcu);

/* mali_power.c */
u64 mali_timer_ns(struct mali_gpu *gpu, u32 timer);
void mali_cores_use(struct mali_mcu *mcu);
u64 mali_next_timer_ns(const struct mali_mcu *mcu);
void mali_cores_check(struct mali_mcu *mcu);

/* mali_group.c */
void mali_group_boot(struct mali_mcu *mcu, u32 number, u32 stride);
int mali_group_requests(struct mali_group *group);
bool mali_group_active(const struct mali_group *group);
bool mali_group_run(struct mali_group *group);
void mali_group_reset(struct mali_group *group);

/* mali_stream.c */
void mali_stream_start(struct mali_stream *stream);
void mali_stream_stop(struct mali_stream *stream);
void mali_stream_requests(struct mali_stream *stream);
void mali_stream_status(struct mali_stream *stream);
bool mali_stream_idle(const struct mali_stream *stream);
bool mali_stream_run(struct mali_stream *stream);

/* mali_cs.c */
bool mali_cs_step(struct mali_stream *stream, u64 instruction);

/* mali_event.c */
u32 mali_doorbells_acknowledge(__le32 *word, u32 req);
void mali_global_acknowledge(struct mali_mcu *mcu, u32 ack);
void mali_global_event(struct mali_mcu *mcu, u32 event);
void mali_group_acknowledge(struct mali_group *group, u32 ack);
void mali_group_event(struct mali_group *group, u32 event);
void mali_stream_fatal(struct mali_stream *stream, u32 exception, u64 info);
void mali_stream_heap_full(struct mali_stream *stream);
void mali_stream_fault(struct mali_stream *stream, u32 exception, u64 info);

/* mali_prfcnt.c */
int mali_prfcnt_init(struct mali_gpu *gpu);
u32 mali_prfcnt_size(const struct mali_gpu *gpu);
u32 mali_prfcnt_features(const struct mali_gpu *gpu);
void mali_prfcnt_transition(struct mali_mcu *mcu, u32 reason);
u32 mali_prfcnt_requests(struct mali_mcu *mcu, u32 req, u32 ack);
void mali_prfcnt_reset(struct mali_gpu *gpu);

#endif /* _MALI_MCU_H_ */
