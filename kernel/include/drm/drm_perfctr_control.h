/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * PERF_CONTROL: a second interface to the counters of a device, which GPU libraries of applications
 * call. It exists beside that of perfctr_drm.h; needs CONFIG_DRM_PERFCTR_CONTROL.
 *
 * One ioctl has all commands. SETUP returns a session's number, which is valid for that open file
 * of the device. The application gives it two buffers of its own, for the ring and for the indices,
 * and an eventfd, which is signalled once for each sample.
 */
#ifndef _DRM_PERFCTR_CONTROL_H_
#define _DRM_PERFCTR_CONTROL_H_

#include <linux/ioctl.h>
#include <linux/types.h>
#include <drm/drm_perfctr.h>

struct drm_device;
struct drm_file;
struct drm_perfctr;

/* types of blocks, in the order of setup's masks, numbered from 1 in samples; sections of each */
#define DRM_PERFCTR_CONTROL_TYPES	6
#define DRM_PERFCTR_CONTROL_SECTIONS	2
#define DRM_PERFCTR_CONTROL_CLOCKS	4

/**
 * struct drm_perfctr_control_config - what PERF_CONTROL offers of a device
 *
 * Blocks of other types have no place in its samples.
 */
struct drm_perfctr_control_config {
	/** @types: block types of perfctr_drm.h in the order of the masks; 0: none. */
	u16 types[DRM_PERFCTR_CONTROL_TYPES];
	/** @clocks: bit n: samples have the cycles of clock n. */
	u32 clocks;
};

/**
 * enum drm_perfctr_control_command - commands of struct drm_perfctr_control
 *
 * Errors of all: -EFAULT, -EINVAL for a size that is too small or a number that is no session of
 * the file, -E2BIG for one that is too large or a longer structure that is not zero at its end,
 * -EINTR, -ENODEV once the device is gone.
 */
enum drm_perfctr_control_command {
	/**
	 * @DRM_PERFCTR_CONTROL_SETUP: struct drm_perfctr_control_setup; the result is the session's
	 * number, at least 1. -EPERM where OPEN is -EACCES, otherwise as OPEN; -EINVAL also for a
	 * buffer that is not one of the file, imported, too small, or above 64 MiB.
	 */
	DRM_PERFCTR_CONTROL_SETUP = 0,
	/** @DRM_PERFCTR_CONTROL_TEARDOWN: end it in any state; size and pointer are ignored. */
	DRM_PERFCTR_CONTROL_TEARDOWN = 1,
	/** @DRM_PERFCTR_CONTROL_START: a u64 user_data for periodic samples; errors as START. */
	DRM_PERFCTR_CONTROL_START = 2,
	/** @DRM_PERFCTR_CONTROL_STOP: a u64 user_data for the last sample; errors as STOP. */
	DRM_PERFCTR_CONTROL_STOP = 3,
	/** @DRM_PERFCTR_CONTROL_SAMPLE: a u64 user_data for the sample; errors as SAMPLE. */
	DRM_PERFCTR_CONTROL_SAMPLE = 4,
};

/**
 * struct drm_perfctr_control - argument of the ioctl
 */
struct drm_perfctr_control {
	/** @cmd: enum drm_perfctr_control_command. */
	u32 cmd;
	/** @handle: the session's number; not used by SETUP. */
	u32 handle;
	/** @size: bytes at @pointer. */
	u64 size;
	/** @pointer: the command's structure. */
	u64 pointer;
};

/**
 * struct drm_perfctr_control_setup - structure of DRM_PERFCTR_CONTROL_SETUP
 */
struct drm_perfctr_control_setup {
	/** @set: counter set, enum drm_perfctr_set. */
	u8 set;
	/** @pad: zero. */
	u8 pad[7];
	/** @eventfd: is signalled once for each sample, and for the end of the session. */
	u32 eventfd;
	/** @ring: handle of the buffer for the samples, @slots times info's sample_size bytes. */
	u32 ring;
	/** @control: handle of the buffer with struct drm_perfctr_control_area. */
	u32 control;
	/** @slots: a power of two, at most 65536; STOP always has one. */
	u32 slots;
	/** @control_offset: of the area in @control, a multiple of 8. */
	u64 control_offset;
	/** @period_ns: as in struct drm_perfctr_open; 0: samples are taken by SAMPLE only. */
	u64 period_ns;
	/**
	 * @masks: bit n of section s: counter 64 * s + n. Bits of counters that blocks do not have
	 * in @set, and those of header words (0..3), are ignored; the samples say what is left.
	 */
	u64 masks[DRM_PERFCTR_CONTROL_TYPES][DRM_PERFCTR_CONTROL_SECTIONS];
};

/**
 * struct drm_perfctr_control_area - the indices; slot = index modulo slots
 */
struct drm_perfctr_control_area {
	/** @extract_idx: samples that the application has read, written by it. */
	u64 extract_idx;
	/** @insert_idx: samples so far, written by the kernel. */
	u64 insert_idx;
};

/**
 * struct drm_perfctr_control_info - what an application has to know before SETUP
 */
struct drm_perfctr_control_info {
	/** @counters_per_block: 64 or 128. */
	u32 counters_per_block;
	/** @sample_header_size: 64. */
	u32 sample_header_size;
	/** @block_header_size: 24. */
	u32 block_header_size;
	/** @sample_size: a header, and all blocks with all their counters; also between slots. */
	u32 sample_size;
	/** @flags: bit 0: blocks have states. */
	u32 flags;
	/** @supported_clocks: see &struct drm_perfctr_control_config.clocks. */
	u32 supported_clocks;
	/** @blocks: number of blocks of each type. */
	u32 blocks[DRM_PERFCTR_CONTROL_TYPES];
};

int drm_perfctr_control_describe(struct drm_perfctr *pc, struct drm_perfctr_control_info *info);
int drm_perfctr_control_ioctl(struct drm_perfctr *pc, void *data, struct drm_file *file);
/* in the driver's postclose */
void drm_perfctr_control_close(struct drm_perfctr *pc, struct drm_file *file);

/* the ioctl's number, counted from DRM_COMMAND_BASE as in a driver's table */
#define DRM_PERFCTR_CONTROL_NR		(0x9e - DRM_COMMAND_BASE)

/*
 * Entry of a driver's table of struct drm_ioctl_desc; @handler calls drm_perfctr_control_ioctl().
 * The driver also sets &drm_perfctr_config.control, and calls drm_perfctr_control_close(). User
 * space has _IOWR, but nothing is written: so no call fails after it had an effect.
 */
#define DRM_PERFCTR_CONTROL_IOCTL(handler)							\
	[DRM_PERFCTR_CONTROL_NR] = {								\
		.cmd = _IOW('d', DRM_COMMAND_BASE + DRM_PERFCTR_CONTROL_NR,			\
			    struct drm_perfctr_control),					\
		.func = (handler),								\
		.flags = DRM_RENDER_ALLOW,							\
		.name = "PERF_CONTROL",								\
	}

#endif /* _DRM_PERFCTR_CONTROL_H_ */
