/* SPDX-License-Identifier: MIT */
/*
 * A machine in memory: files, DRM nodes and a kernel that answers the ioctls, behind the library's
 * table of system calls.
 */
#pragma once

#include "host/open.h"

#include "samples.h"

enum fake_call {
	FAKE_OPEN,
	FAKE_DUP,
	FAKE_READ,
	FAKE_MMAP,
	FAKE_EVENTFD,
	FAKE_POLL,
	FAKE_LIST,
	FAKE_QUERY,
	/* ioctls of the interface */
	FAKE_CHECK,
	FAKE_SESSION,
	FAKE_START,
	FAKE_SAMPLE,
	FAKE_STOP,
	FAKE_STATUS,
	FAKE_READER,
	FAKE_CALLS,
};

enum {
	FAKE_SLOT_ALIGN = 64,
	/* number of QUERY in fdinfo: none that a real driver has */
	FAKE_IOCTL_NR = 0x77,
	/* the GPU's timestamp counter: 40 bits, about to wrap */
	FAKE_GPU_HZ = 1000000,
	FAKE_GPU_RAW_NS = 5000000,
	FAKE_GPU_EPOCH = 7,
};

#define FAKE_GPU_TIMESTAMP 0xfffffffff0

struct fake {
	struct perfctr_sys sys;
	/* fails the call number fail_at[call] (from 1) with fail_error[call]; 0: none */
	int fail_at[FAKE_CALLS], fail_error[FAKE_CALLS], calls[FAKE_CALLS];

	unsigned int listed_pmus; /* how often all PMUs were looked for */

	/* a session with a block of that type is refused with that error; 0: none */
	unsigned int refused_type;
	int refused_error;

	/* answers of the device; a test may change them */
	struct drm_perfctr_device_info info;
	struct drm_perfctr_block_info blocks[32];
	size_t block_count;
	/* sizes of the kernel's structures, to simulate an older or newer kernel */
	size_t info_bytes, block_bytes;

	/* the last session */
	struct drm_perfctr_open setup;
	struct drm_perfctr_block_request requests[64];
	bool has_session, active, dead;
	unsigned char *ring;
	struct drm_perfctr_ring_control *control;
	uint64_t seq, merged;
	uint32_t insert, stride;
	/* counter n of a block grows by step * (n + 1) in each sample */
	uint64_t step;
	struct sample_writer writer;
	/* the step of PCOUNTER and MP blocks with that index, 0: step; cycles of their clocks */
	uint64_t mux_steps[8], mux_cycles;
	/* number of counters of all PMUs and NVIDIA blocks that run at once; 0: all */
	unsigned int slots_at_once;
	const char *fdinfo; /* of DRM files; NULL: of a driver that has counters or has none */
	uint32_t l2_features; /* of panthor's DEV_QUERY, 0: it has none */
	uint32_t sample_flags, block_states; /* flags of every sample, states of every block */
	/* called by poll() instead of waiting */
	void (*on_poll)(struct fake *fake);

	/* open or allocated resources: all zero at the end */
	int open_fds, mappings;
	uint64_t ring_file_bytes;
	struct {
		bool used;
		const char *content;
		size_t at, bytes;
		bool device, eventfd, session;
		/* of a session or reader: the real file */
		int memory;
		const char *driver;
	} fds[64];
	uint64_t eventfd_count;
	/* text files by path; a node is one with the content "node:DRIVER" */
	struct {
		const char *path, *content;
		size_t bytes; /* of a binary one; 0: up to the first NUL */
	} files[256];
	size_t file_count;
};

/* A machine with a vsoc device: fw, cshw, tiler, two L2 slices, four cores. */
struct fake *fake_new(void);
/* Check that no resource is left, and free. */
void fake_free(struct fake *fake);
void fake_file(struct fake *fake, const char *path, const char *content);
void fake_binary(struct fake *fake, const char *path, const void *content, size_t bytes);
void fake_fail(struct fake *fake, enum fake_call call, int nth, int error);

/* Publish a sample as the kernel does. Return: whether there was a slot. */
bool fake_publish(struct fake *fake, uint32_t flags);
