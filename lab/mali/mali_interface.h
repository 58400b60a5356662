/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface shared by firmware and host: global, group slots, stream slots, ring buffers.
 *
 * Written from the public description of the interface, for the model alone: no header is shared
 * with the driver under test. The global words are those of csf_layout.h.
 */
#ifndef _MALI_INTERFACE_H_
#define _MALI_INTERFACE_H_

#include <linux/bits.h>
#include <linux/types.h>

/* address of the shared section, as the microcontroller sees it */
#define MALI_SHARED_VA			0x04000000ULL
#define MALI_SHARED_BYTES		0x20000

/* these two offsets are fixed; the host finds all others through the control words */
#define MALI_GROUP_CONTROL_OFFSET	0x1000
#define MALI_STREAM_CONTROL_OFFSET	0x40

/* --- the global interface ------------------------------------------------ */

/* bits of req and ack. Levels, which ack follows: */
#define MALI_GLB_HALT			BIT(0)
#define MALI_GLB_PRFCNT_ENABLE		BIT(5)
#define MALI_GLB_COUNTER_ENABLE		BIT(7)
#define MALI_GLB_IDLE_ENABLE		BIT(10)
/* requests, which the host makes by flipping req; done when ack equals req: */
#define MALI_GLB_PROGRESS_TIMER		BIT(1)
#define MALI_GLB_ALLOC_ENABLE		BIT(2)
#define MALI_GLB_POWEROFF_TIMER		BIT(3)
#define MALI_GLB_PRFCNT_SAMPLE		BIT(6)
#define MALI_GLB_PING			BIT(8)
#define MALI_GLB_CONFIG_UPDATE		BIT(9)
/* events, which firmware makes by flipping ack; pending until req equals ack: */
#define MALI_GLB_PRFCNT_THRESHOLD	BIT(24)
#define MALI_GLB_PRFCNT_OVERFLOW	BIT(25)
#define MALI_GLB_IDLE			BIT(26)

/* timers: in units of 1024 ticks of the timestamp, or of 1024 GPU cycles */
#define MALI_TIMER_VALUE		GENMASK(30, 0)
#define MALI_TIMER_GPU_CYCLES		BIT(31)
#define MALI_TIMER_SHIFT		10

/* --- group slots --------------------------------------------------------- */

struct mali_group_control {
	__le32 features;
	__le32 input_va;
	__le32 output_va;
	__le32 suspend_bytes;
	__le32 protected_suspend_bytes;
	__le32 stream_num;
	__le32 stream_stride;
};

struct mali_group_input {
	__le32 req;
	__le32 ack_irq_mask;
	__le32 doorbell_req;
	__le32 stream_irq_ack;
	__le32 reserved1[4];
	__le64 allow_compute;
	__le64 allow_fragment;
	__le32 allow_other;
	__le32 endpoint_req;
	__le32 reserved2[2];
	__le64 suspend_va;
	__le64 protected_suspend_va;
	__le32 config;
	__le32 trace_config;
};

struct mali_group_output {
	__le32 ack;
	__le32 reserved1;
	__le32 doorbell_ack;
	__le32 stream_irq_req;
	__le32 endpoint_current;
	__le32 endpoint_wanted;
	__le32 state;
	__le32 resource_dep;
};

#define MALI_CSG_STATE			GENMASK(2, 0)
#define MALI_CSG_TERMINATE		0
#define MALI_CSG_START			1
#define MALI_CSG_SUSPEND		2
#define MALI_CSG_RESUME			3
#define MALI_CSG_ENDPOINT_CONFIG	BIT(4)
#define MALI_CSG_STATUS_UPDATE		BIT(5)
#define MALI_CSG_SYNC_UPDATE		BIT(28)
#define MALI_CSG_IDLE			BIT(29)

#define MALI_CSG_OUTPUT_IDLE		BIT(0)		/* of state */
#define MALI_CSG_CONFIG_AS		GENMASK(3, 0)

/* --- stream slots -------------------------------------------------------- */

struct mali_stream_control {
	__le32 features;
	__le32 input_va;
	__le32 output_va;
};

#define MALI_STREAM_REGISTERS		GENMASK(7, 0)	/* number minus one */
#define MALI_STREAM_SCOREBOARDS		GENMASK(15, 8)
#define MALI_STREAM_COMPUTE		BIT(16)
#define MALI_STREAM_FRAGMENT		BIT(17)
#define MALI_STREAM_TILER		BIT(18)

struct mali_stream_input {
	__le32 req;
	__le32 config;
	__le32 reserved1;
	__le32 ack_irq_mask;
	__le64 ring_va;
	__le32 ring_bytes;
	__le32 reserved2;
	__le64 heap_start;	/* a chunk, and its size in pages in the bits below; 0: none */
	__le64 heap_end;
	__le64 ring_input_va;
	__le64 ring_output_va;
};

struct mali_stream_output {
	__le32 ack;
	__le32 reserved1[15];
	__le64 command_va;
	__le32 wait;
	__le32 resource;
	__le64 wait_va;
	__le32 wait_value_low;
	__le32 scoreboards;
	__le32 blocked_reason;
	__le32 wait_value_high;
	__le32 reserved2[6];
	__le32 fault;
	__le32 fatal;
	__le64 fault_info;
	__le64 fatal_info;
	__le32 reserved3[10];
	__le32 heap_vt_started;
	__le32 heap_vt_ended;
	__le32 reserved4;
	__le32 heap_fragment_ended;
	__le64 heap_va;
};

#define MALI_CS_STATE			GENMASK(2, 0)
#define MALI_CS_STOP			0
#define MALI_CS_START			1
#define MALI_CS_TILER_OOM		BIT(26)
#define MALI_CS_FATAL			BIT(30)
#define MALI_CS_FAULT			BIT(31)

#define MALI_CHUNK_PAGES		GENMASK_ULL(11, 0)

#define MALI_CS_WAIT_GREATER		BIT(24)
#define MALI_CS_WAIT_64BIT		BIT(30)
#define MALI_CS_WAIT_SYNC		BIT(31)

#define MALI_CS_BLOCKED_NOT		0
#define MALI_CS_BLOCKED_SYNC_WAIT	3

/* --- ring buffers: the host's part and firmware's part ------------------- */

struct mali_ring_input {
	__le64 insert;
	__le64 extract;
};

struct mali_ring_output {
	__le64 extract;
	__le32 active;
};

#endif /* _MALI_INTERFACE_H_ */
