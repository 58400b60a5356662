/* SPDX-License-Identifier: MIT */
/*
 * A client of PERF_CONTROL as Arm's libGPUCounters is one: the calls and the bytes that it knows,
 * in its order. Written from a description of them, without the kernel's headers. The node is
 * panthor's, or that of a driver with its own way to ask and to make buffers, see igt_known.h.
 */
#ifndef IGT_CONTROL_H
#define IGT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "igt_known.h"

#define IGT_CONTROL_TYPES 6
#define IGT_CONTROL_MAX_BLOCKS 64 /* of a type */
#define IGT_CONTROL_MAX_COUNTERS 128
#define IGT_CONTROL_SLOTS 32

enum igt_control_cmd {
	IGT_CONTROL_SETUP,
	IGT_CONTROL_TEARDOWN,
	IGT_CONTROL_START,
	IGT_CONTROL_STOP,
	IGT_CONTROL_SAMPLE,
};

/* bits of a sample's flags */
#define IGT_CONTROL_OVERFLOW 1u
#define IGT_CONTROL_STRETCHED 2u

struct igt_control_info {
	uint32_t counters, sample_header, block_header, sample_size, flags, clocks;
	uint32_t blocks[IGT_CONTROL_TYPES];
};

struct igt_control_setup {
	uint8_t set, pad[7];
	uint32_t eventfd, ring, control, slots;
	uint64_t control_offset, period_ns;
	uint64_t masks[IGT_CONTROL_TYPES][2];
};

struct igt_control_sample {
	uint64_t start_ns, end_ns;
	uint8_t set, pad[3];
	uint32_t flags;
	uint64_t user_data;
	uint64_t cycles[4];
};

struct igt_control_block {
	uint8_t type, index, states, clock, pad[4];
	uint64_t enable[2];
};

struct igt_control_buffer {
	uint32_t handle;
	uint64_t bytes;
	uint8_t *at; /* NULL: not mapped */
};

struct igt_control {
	const struct igt_perfctr_device *dev;
	int fd; /* of dev, unless changed before setup */
	struct igt_control_info info;
	/* change it between init and setup */
	struct igt_control_setup setup;
	struct igt_control_buffer ring, control;
	volatile uint64_t *indices; /* extract, insert */
	/*
	 * Semaphores, non-blocking: the kernel's, and that of the client's user in manual mode, to
	 * which await() moves what it waited for.
	 */
	int eventfd, user_eventfd;
	int id; /* of the session; 0: not set up */

	/* results of get(), by type - 1, index, counter */
	uint64_t sums[IGT_CONTROL_TYPES][IGT_CONTROL_MAX_BLOCKS][IGT_CONTROL_MAX_COUNTERS];
	uint8_t states; /* seen in any block */
	uint64_t cycles[4];
	uint64_t samples, stretched, flagged;
	struct igt_control_sample first, last;
};

/* DEV_QUERY: 0 or -errno; @info has @bytes, of which *@bytes are known */
int igt_control_query(const struct igt_perfctr_device *dev, void *info, uint32_t *bytes);
/* the same for the structure, as the client asks it, with its check of the sizes; skips without */
void igt_control_info(const struct igt_perfctr_device *dev, struct igt_control_info *info);
/* a buffer of the device, mapped; 0 or -errno */
int igt_control_buffer_create(const struct igt_perfctr_device *dev, int fd, uint64_t bytes,
			      int prot, struct igt_control_buffer *buffer);
void igt_control_buffer_close(int fd, struct igt_control_buffer *buffer);

/* eventfd, buffers for so many slots, masks of all counters; skips without PERF_CONTROL */
void igt_control_init(struct igt_control *c, const struct igt_perfctr_device *dev, uint32_t slots,
		      uint64_t period_ns);
/* any command with any argument: the ioctl's result or -errno */
int igt_control_call(int fd, uint32_t cmd, uint32_t id, uint64_t size, const void *pointer);
/* the session's number, which @c has from then on, or -errno */
int igt_control_setup(struct igt_control *c);
/* START, STOP, SAMPLE */
int igt_control_command(const struct igt_control *c, enum igt_control_cmd cmd, uint64_t user_data);
/* TEARDOWN as the client does it: with a size, without a structure */
int igt_control_teardown(struct igt_control *c);
/* init and setup, which must succeed */
void igt_control_open(struct igt_control *c, const struct igt_perfctr_device *dev, uint32_t slots,
		      uint64_t period_ns);
/* TEARDOWN if it is set up, close and unmap everything */
void igt_control_close(struct igt_control *c);

/* whether one of the eventfds can be read within so many ms, -1: waits for ever */
bool igt_control_ready(const struct igt_control *c, int ms);
/* number of signals that can be read at once, of both eventfds; reads them */
unsigned int igt_control_signals(const struct igt_control *c);
/* what the client does after SAMPLE and STOP in manual mode: waits without a time-out */
void igt_control_await(struct igt_control *c);
/* reads one sample: the slot, which is freed, and one signal; fails if there is none */
void igt_control_get(struct igt_control *c);
/* reads what has been signalled; returns the number of samples */
unsigned int igt_control_drain(struct igt_control *c);
/* SAMPLE or STOP; waits as the client does, and reads all samples up to that one */
void igt_control_sample(struct igt_control *c, uint64_t user_data);
void igt_control_stop(struct igt_control *c, uint64_t user_data);
/* the physical index of a block of a sample */
uint16_t igt_control_physical(const struct igt_perfctr_device *dev, unsigned int type,
			      unsigned int index);
/* every sum of the client is what the hardware counted in between, where that is known */
void igt_control_compare(const struct igt_control *c, const struct igt_truth *before,
			 const struct igt_truth *after);

#endif
