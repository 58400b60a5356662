/* SPDX-License-Identifier: MIT */
/*
 * Sessions for tests, by the uAPI header alone: set-up, a ring reader that checks every rule, sums.
 */
#ifndef IGT_PERFCTR_H
#define IGT_PERFCTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/perfctr_tegra410.h>

/* a millisecond in ns */
#define MS 1000000ull

#define IGT_PERFCTR_MAX_BLOCKS 80
#define IGT_PERFCTR_MAX_REQUESTS 16

struct igt_perfctr_device {
	int fd;
	int minor; /* of the render node */
	char driver[32];
	bool is_vsoc;
	struct drm_perfctr_device_info info;
	struct drm_perfctr_block_info blocks[IGT_PERFCTR_MAX_BLOCKS];
	unsigned int block_count;
};

/* sums over all samples of one block of a session */
struct igt_perfctr_sum {
	uint16_t type, index, section;
	uint8_t format;
	uint64_t mask;
	uint64_t valid; /* valid in every sample */
	uint32_t states; /* seen in any sample */
	uint64_t cycles;
	uint64_t saturated_cycles; /* fewest in a sample with SATURATED */
	uint64_t time_enabled, time_running;
	uint64_t span_end_ns; /* of a perf PMU: end of its counts */
	uint64_t running[DRM_PERFCTR_SECTION_COUNTERS]; /* of a multiplexed block */
	uint64_t value[DRM_PERFCTR_SECTION_COUNTERS];
};

struct igt_perfctr_session {
	const struct igt_perfctr_device *dev;
	/* arguments of SETUP; change them between init and create */
	struct drm_perfctr_setup setup;
	struct drm_perfctr_block_request requests[IGT_PERFCTR_MAX_REQUESTS];
	bool keep_pointer; /* setup.requests was set by the test */
	uint32_t handle;
	uint8_t *ring; /* slots, read only */
	size_t ring_map;
	struct drm_perfctr_ring_control *control;
	uint64_t extract;

	/* results of drain() */
	struct igt_perfctr_sum sums[IGT_PERFCTR_MAX_BLOCKS];
	struct drm_perfctr_sample_header first, last;
	uint64_t manual_data; /* user_data of the last manual sample */
	bool restarted; /* the next start_ns need not be the last end_ns */
	uint64_t samples, periodic, manual, final, in_stream, automatic;
	uint64_t merged, merged_others, lost_ns;
	uint32_t flags; /* of all samples */
	/* of the last sample that had one */
	uint32_t gpu_epoch;
	uint64_t gpu_timestamp;
};

/* opens the render node of @driver; false: there is none */
bool igt_perfctr_open(struct igt_perfctr_device *dev, const char *driver);
/* opens the virtual SoC, else any GPU with counters; in an IGT tree: the node of --device */
bool igt_perfctr_open_any(struct igt_perfctr_device *dev);
/* opens the node of a device by its name in sysfs, for example "vsoc.0" */
bool igt_perfctr_open_device(struct igt_perfctr_device *dev, const char *device);
/* another file on the same device */
void igt_perfctr_reopen(struct igt_perfctr_device *dev, const struct igt_perfctr_device *other);
void igt_perfctr_close(struct igt_perfctr_device *dev);
/* query device and blocks again */
void igt_perfctr_describe(struct igt_perfctr_device *dev);

/* clocks, and the timestamp if there is one; returns their number */
unsigned int igt_perfctr_clocks(const struct igt_perfctr_device *dev,
				struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1]);

/* all return 0 or -errno */
int igt_perfctr_ioctl(int fd, unsigned long request, void *arg);
int igt_perfctr_query(int fd, struct drm_perfctr_query *query);
int igt_perfctr_control(int fd, uint32_t cmd, uint32_t *handle, void *arg, uint64_t size);

/* the block after @b in a sample, NULL: the first */
const struct drm_perfctr_block_header *
igt_perfctr_next_block(const struct drm_perfctr_sample_header *h,
		       const struct drm_perfctr_block_header *b);
/* additions to a block's header; fails if its format lacks them */
const struct drm_perfctr_running_times *igt_perfctr_times(const struct drm_perfctr_block_header *b);
const struct drm_perfctr_pmu_identity *
igt_perfctr_identity(const struct drm_perfctr_block_header *b);
const struct drm_perfctr_block_span *igt_perfctr_span(const struct drm_perfctr_block_header *b);

/* 0 or -errno; *@at is the mapping */
int igt_perfctr_map(int ring_fd, uint64_t offset, size_t bytes, int prot, void **at);

/* 16 slots, manual, all available counters of all GPU blocks */
void igt_perfctr_session_init(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev);
/* the same of one counter set, enum drm_perfctr_set */
void igt_perfctr_session_init_set(struct igt_perfctr_session *s,
				  const struct igt_perfctr_device *dev, unsigned int set);
/* the same without requests */
void igt_perfctr_session_init_empty(struct igt_perfctr_session *s,
				    const struct igt_perfctr_device *dev);
struct drm_perfctr_block_request *igt_perfctr_add_pmu(struct igt_perfctr_session *s, uint16_t index,
						      uint32_t type, uint64_t config, int cpu);
/* TEST_ONLY, SETUP, the ring mapped; 0 or -errno */
int igt_perfctr_session_try(struct igt_perfctr_session *s);
/* the same, and without the session again */
int igt_perfctr_session_probe(struct igt_perfctr_session *s);
void igt_perfctr_session_create(struct igt_perfctr_session *s);
/* init with that number of slots and period, and create */
void igt_perfctr_session_setup(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev,
			       uint32_t slots, uint64_t period_ns);
int igt_perfctr_start(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_stop(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_sample(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_teardown(struct igt_perfctr_session *s);
struct drm_perfctr_status igt_perfctr_status(struct igt_perfctr_session *s);
/* indices, state and totals of STATUS are those of the reader; no error, no loss */
void igt_perfctr_assert_status(struct igt_perfctr_session *s, bool active);
/* the hardware recorded the session at its last sample or command */
bool igt_perfctr_is_batched(struct igt_perfctr_session *s);
/* wait until it is or is not recorded; bounded */
void igt_perfctr_await_batched(struct igt_perfctr_session *s, bool batched);
/* read and check everything that is published, free the slots; returns the samples read */
unsigned int igt_perfctr_drain(struct igt_perfctr_session *s);
/* create and START, which must succeed */
void igt_perfctr_begin(struct igt_perfctr_session *s);
/* the same with that number of slots and period */
void igt_perfctr_begin_setup(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev,
			     uint32_t slots, uint64_t period_ns);
/* STOP, which must succeed, and drain */
void igt_perfctr_finish(struct igt_perfctr_session *s);
/* SAMPLE, which must succeed, and drain */
void igt_perfctr_sample_and_drain(struct igt_perfctr_session *s);
/* SAMPLE of a periodic session: drains if periods have filled the ring */
void igt_perfctr_sample_with_room(struct igt_perfctr_session *s);
/* number of unread samples, without checking or freeing them */
uint64_t igt_perfctr_unread(const struct igt_perfctr_session *s);
const struct drm_perfctr_sample_header *igt_perfctr_slot(const struct igt_perfctr_session *s,
							 uint64_t index);
/* wait until that many samples are unread, or until a period found no slot; bounded */
void igt_perfctr_wait_unread(const struct igt_perfctr_session *s, uint64_t samples);
void igt_perfctr_wait_merged(struct igt_perfctr_session *s);
/* one counter of one sample; fails if the sample does not have it */
uint64_t igt_perfctr_value(const struct drm_perfctr_sample_header *h, uint16_t type, uint16_t index,
			   uint16_t counter);
/* sum of one counter; fails if the session does not have it */
uint64_t igt_perfctr_sum(const struct igt_perfctr_session *s, uint16_t type, uint16_t index,
			 uint16_t counter);
void igt_perfctr_clear_sums(struct igt_perfctr_session *s);
/* control area and slots of setup.ring_fd; never fails */
void igt_perfctr_session_map(struct igt_perfctr_session *s);
/* unmap and close the ring only: its device is gone, or its file will be closed */
void igt_perfctr_session_unmap(struct igt_perfctr_session *s);
void igt_perfctr_session_fini(struct igt_perfctr_session *s);

/*
 * SETUP with any contents, for tests of what it refuses.
 */

/* a SETUP of two slots that succeeds */
struct igt_perfctr_session igt_setup_request(const struct igt_perfctr_device *dev);
/*
 * Send SETUP, the second with @size bytes at @arg; 0 or -errno. The ring is closed, the handle
 * kept.
 */
int igt_setup_send(struct igt_perfctr_session *s);
int igt_setup_send_sized(struct igt_perfctr_session *s, void *arg, uint64_t size);

#endif
