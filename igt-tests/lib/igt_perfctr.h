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
#include <drm/perfctr_tegra410.h>

/* a millisecond in ns */
#define MS 1000000ull

#define IGT_PERFCTR_MAX_BLOCKS 80
#define IGT_PERFCTR_MAX_REQUESTS 16
#define IGT_FDINFO_BYTES 4096

/* errno of a command on a session that another thread has ended */
#define IGT_PERFCTR_ENDED EBADF

struct igt_known;

struct igt_perfctr_device {
	int fd;
	unsigned int ioctl_nr; /* of QUERY */
	int minor; /* of the render node */
	char driver[32];
	const struct igt_known *known; /* its work and its true counts; NULL: they are not */
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
	/* change them between init and open; requests: 0 means requests[] below */
	struct drm_perfctr_open params;
	struct drm_perfctr_block_request requests[IGT_PERFCTR_MAX_REQUESTS];
	/* of an open session; -1: not open */
	int fd;
	struct drm_perfctr_layout layout;
	/* NULL: not mapped */
	struct drm_perfctr_ring_control *control;
	uint8_t *ring; /* slots, read only */
	uint64_t extract; /* samples read */

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
/*
 * opens a GPU whose counts are known, else any with counters; in an IGT tree: that of --device.
 * Skips without root.
 */
bool igt_perfctr_open_any(struct igt_perfctr_device *dev);
/* opens the node of a device by its name in sysfs */
bool igt_perfctr_open_device(struct igt_perfctr_device *dev, const char *device);
/* another file on the same device */
void igt_perfctr_reopen(struct igt_perfctr_device *dev, const struct igt_perfctr_device *other);
void igt_perfctr_close(struct igt_perfctr_device *dev);
/* what fdinfo says about a file of this process */
void igt_read_fdinfo(int fd, char text[IGT_FDINFO_BYTES]);
/* query device and blocks again */
void igt_perfctr_describe(struct igt_perfctr_device *dev);

/* clocks, and the timestamp if there is one; returns their number */
unsigned int igt_perfctr_clocks(const struct igt_perfctr_device *dev,
				struct drm_perfctr_clock_info clocks[DRM_PERFCTR_MAX_CLOCKS + 1]);

/* result of the ioctl, or -errno */
int igt_perfctr_ioctl(int fd, unsigned long request, void *arg);
/* 0 or -errno */
int igt_perfctr_query(const struct igt_perfctr_device *dev, struct drm_perfctr_query *query);

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
int igt_perfctr_map(int fd, uint64_t offset, size_t bytes, int prot, void **at);

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
/* the same as init with two slots */
struct igt_perfctr_session igt_perfctr_two_slots(const struct igt_perfctr_device *dev);

/*
 * Opening, in igt_session.c. An error leaves the session and what it has open as it was.
 */

/* check only, without the eventfd: sets the layout; 0 or -errno */
int igt_perfctr_session_check(struct igt_perfctr_session *s);
/* open as the parameters say, without mapping; 0 or -errno */
int igt_perfctr_session_try_bare(struct igt_perfctr_session *s);
/* check, open, map; 0 or -errno */
int igt_perfctr_session_try_open(struct igt_perfctr_session *s);
/* the same, and without the session again */
int igt_perfctr_session_probe(struct igt_perfctr_session *s);
void igt_perfctr_session_open(struct igt_perfctr_session *s);
/* init with that number of slots and period, and open */
void igt_perfctr_session_open_with(struct igt_perfctr_session *s,
				   const struct igt_perfctr_device *dev, uint32_t slots,
				   uint64_t period_ns);
/* map control area and slots of an open session; never fails */
void igt_perfctr_session_map(struct igt_perfctr_session *s);
void igt_perfctr_session_unmap(struct igt_perfctr_session *s);
/* READER: a descriptor that the caller closes */
int igt_perfctr_session_reader(const struct igt_perfctr_session *s);
/* close the descriptor and keep the mappings; 0 or -errno, after which it is not open either */
int igt_perfctr_session_end(struct igt_perfctr_session *s);
/* close it, unless that has happened, and unmap the session */
void igt_perfctr_session_close(struct igt_perfctr_session *s);
/* 0 or -errno */
int igt_perfctr_start(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_stop(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_sample(struct igt_perfctr_session *s, uint64_t user_data);
int igt_perfctr_try_status(const struct igt_perfctr_session *s, struct drm_perfctr_status *status);
struct drm_perfctr_status igt_perfctr_status(const struct igt_perfctr_session *s);

/* samples published, by the control area */
uint64_t igt_perfctr_published(const struct igt_perfctr_session *s);
/* samples whose slot the kernel knows to be free, by STATUS */
uint64_t igt_perfctr_freed(const struct igt_perfctr_session *s);
/* tell the kernel that so many samples have been read since the session was opened */
void igt_perfctr_free_slots(const struct igt_perfctr_session *s, uint64_t samples);

/* indices, state and totals of STATUS are those of the reader; no error, no loss */
void igt_perfctr_assert_status(struct igt_perfctr_session *s, bool active);
/* the hardware recorded the session at its last sample or command */
bool igt_perfctr_is_batched(const struct igt_perfctr_session *s);
/* wait until it is or is not recorded; bounded */
void igt_perfctr_await_batched(struct igt_perfctr_session *s, bool batched);
/* read and check everything that is published, free the slots; returns the samples read */
unsigned int igt_perfctr_drain(struct igt_perfctr_session *s);
/* open and START, which must succeed */
void igt_perfctr_begin(struct igt_perfctr_session *s);
/* the same with that number of slots and period */
void igt_perfctr_begin_with(struct igt_perfctr_session *s, const struct igt_perfctr_device *dev,
			    uint32_t slots, uint64_t period_ns);
/* STOP, which must succeed, and drain */
void igt_perfctr_finish(struct igt_perfctr_session *s);
/* SAMPLE, which must succeed, and drain */
void igt_perfctr_sample_and_drain(struct igt_perfctr_session *s);
/* SAMPLE of a periodic session: drains if periods have filled the ring */
void igt_perfctr_sample_with_room(struct igt_perfctr_session *s);
/* number of unread samples, without checking or freeing them */
uint64_t igt_perfctr_unread(const struct igt_perfctr_session *s);
/* the slot of sample @index, counted from 0 */
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

#endif
