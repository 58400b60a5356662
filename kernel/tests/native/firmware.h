/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware for tests of the CSF source. It follows csf_layout.h, keeps the true counts, counts
 * protocol errors of the host, and breaks the protocol if a test requests it.
 */
#ifndef NATIVE_FIRMWARE_H
#define NATIVE_FIRMWARE_H

#include "kernel.h"
#include "csf_layout.h"
#include "csf_perfctr.h"
#include <drm/drm_perfctr.h>
#include <drm/perfctr_mali.h>
#include <drm/vsoc_drm.h>

#define FIRMWARE_MAX_BLOCKS	(3 + 31 + 4 + 64)
#define FIRMWARE_MAX_SAMPLE	((1 + FIRMWARE_MAX_BLOCKS) * 128 * 4)
#define FIRMWARE_MAX_SLOTS	32
#define FIRMWARE_RING_VA	0x123456000ull

/* number of times that a fault happens */
#define FOREVER		1000000000u

struct random_state;

struct firmware_faults {
	unsigned int no_ack;		/* SAMPLE is ignored */
	unsigned int late_ack;		/* sample and acknowledgment come ack_delay_ns later */
	unsigned int double_ack;	/* the bit flips twice */
	unsigned int ack_without_sample;
	unsigned int no_irq;		/* acknowledged without an interrupt */
	unsigned int spurious_irq;	/* an interrupt before the request is handled */
	unsigned int lost_doorbell;
	unsigned int no_enable_ack;
	unsigned int no_disable_ack;
	unsigned int insert_beyond;	/* INSERT jumps ahead of the ring */
	unsigned int insert_backwards;
	unsigned int insert_unwritten;	/* INSERT counts a slot that is not written */
	unsigned int garbage_header;	/* PRFCNT_EN of block fault_block */
	unsigned int garbage_timestamp;	/* timestamp of block fault_block */
	unsigned int garbage_metadata;
	unsigned int torn;		/* blocks from fault_block on are not written */
	unsigned int failed_status;
	unsigned int saturate;		/* every counter reads U32_MAX */
	unsigned int clock_stop;	/* a sample with no cycles of any clock */
	unsigned int wrong_start;	/* start of the span before the previous end */
	unsigned int threshold;		/* raised with each sample */
	unsigned int overflow;		/* a sample is dropped as if the ring were full */
	unsigned int anchor_fails;
	unsigned int time_stops;
	unsigned int time_backwards;
};

struct firmware {
	/* shared with the host */
	struct csf_glb_input input;
	struct csf_glb_output output;
	u8 ring[FIRMWARE_MAX_SLOTS * FIRMWARE_MAX_SAMPLE] __aligned(8);
	/* req and ack_irq_mask of input */
	spinlock_t lock;
	struct csf_perfctr_config config;

	/* geometry */
	unsigned int blocks;
	unsigned int counters;
	bool metadata;
	u64 hz;
	s64 drift_ppm;

	/* state */
	bool counting;
	u32 latched_req;
	u32 slots;
	u32 seq;
	u64 span_start;
	u64 cores_off;
	u64 cores_seen_on, cores_seen_off;
	bool protected;
	u64 ack_at_ns;
	u64 frozen_ticks;
	u32 hw[FIRMWARE_MAX_BLOCKS][128];
	u64 cycles[3];

	/* all counts, and those of them that reached no slot */
	u64 counted[FIRMWARE_MAX_BLOCKS][128];
	u64 dropped[FIRMWARE_MAX_BLOCKS][128];
	unsigned int samples;
	unsigned int dropped_samples;

	/* behaviour of the host */
	unsigned int protocol_errors;
	unsigned int doorbells;
	unsigned int enables;

	struct firmware_faults fail;
	unsigned int fault_block;
	u64 ack_delay_ns;
	bool auto_process;
	void (*irq)(void);
};

extern struct firmware fw;

/* a GPU of the default shape: mask 0x50005, two slices, 64 counters, 4 slots */
void firmware_default_config(void);
/* fill in pages and geometry from fw.config; call after each change of the config */
void firmware_boot(void);
void firmware_count(unsigned int block, unsigned int counter, u32 n);
void firmware_count_random(struct random_state *random);
/* an automatic sample */
void firmware_sample(u32 reason);
/* handle the request word */
void firmware_process(void);
void firmware_power(u64 cores_off);
void firmware_protected(bool enter);
/* the microcontroller resets: all state is lost */
void firmware_restart(void);
u64 firmware_ticks(void);
/* position of a shader core's block in a sample, without the metadata block */
unsigned int firmware_shader_block(unsigned int core);

#endif /* NATIVE_FIRMWARE_H */
