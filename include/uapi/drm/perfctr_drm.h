/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * The performance counter interface of DRM devices.
 *
 * Every driver that adopts the counter core (drm_perfctr.ko) offers the same two ioctls, so one
 * library drives all of them:
 *
 *   QUERY    what exists: device, blocks, clocks
 *   OPEN     a session, which is a file descriptor of its own
 *
 * and the same ioctls of a session: START, SAMPLE, STOP, STATUS, LAYOUT, READER.
 *
 * Block types, products and events of a hardware family are defined in its own
 * header, drm/perfctr_<family>.h.
 *
 * All structures are little-endian, have the same layout for 32- and 64-bit
 * userspace and are 8-byte aligned.
 *
 * Numbers of the device's ioctls
 * ------------------------------
 * QUERY and OPEN are DRM_IOCTL_PERFCTR_QUERY and DRM_IOCTL_PERFCTR_OPEN of drm.h (0xd3, 0xd4).
 * /proc/self/fdinfo/N of an opened DRM file N contains
 *
 *   drm-perfctr:	<version> ioctls <number of QUERY>
 *
 * e.g. "drm-perfctr: 4 ioctls 0xd3"; OPEN is the next number. Without that line the driver has no
 * counters: user space tries no number.
 *
 * How structures grow
 * -------------------
 * New members are added at the end only. The kernel extends a shorter structure than its own with
 * zeroes. The part of a longer one that is unknown to the kernel must be zero, else -E2BIG; in the
 * arguments of the device's ioctls, which DRM copies, it has no effect, so a new member comes with
 * a flag, and unknown flags are refused. Results are cut to, or filled with zeroes up to, the size
 * that the caller passes. Members named pad or reserved and unknown flags must be zero, else
 * -EINVAL.
 *
 * How a session runs
 * ------------------
 *  1. QUERY returns which blocks, counters, sets and clocks the device has.
 *  2. OPEN checks the requests, allocates the ring and returns the session's descriptor. With
 *     DRM_PERFCTR_OPEN_CHECK it only checks.
 *  3. User space maps the control area and the slots with mmap() of the descriptor.
 *  4. START takes the baseline. Periodic sessions then publish samples
 *     automatically, manual ones on SAMPLE.
 *  5. While insert_idx != extract_idx, the slot extract_idx & (slots - 1)
 *     holds a complete sample; userspace reads it and adds 1 to extract_idx.
 *     This needs no system call.
 *  6. STOP publishes the final sample. START may follow again; closing the descriptor ends the
 *     session, when no call of it is in progress any more.
 *
 * No ioctl that returns an error has had an effect, -EFAULT included, but that SAMPLE counts its
 * -ENOSPC in ring_full of STATUS, and that -EFAULT may follow a part of what user space receives.
 *
 * Conservation of counts: the values of all samples published between START and STOP add up to
 * exactly what the hardware counted in that time. If the ring is full, no sample is dropped; the
 * next one is stretched. Counts lost in the hardware are reported by flags and by lost_ns.
 *
 * Life of the descriptor
 * ----------------------
 *  - Closing the DRM file does not end its sessions.
 *  - The session ends when its last descriptor is closed: in every process that got one by fork(),
 *    dup() or SCM_RIGHTS, and no call in progress uses it; a poll() in another thread is one, for
 *    as long as it waits. Mappings do not keep it. Each holder may use all of its ioctls.
 *  - The ring outlives the session in its mappings and readers, with DRM_PERFCTR_RING_DEAD.
 *  - Removal of the device, by unbind or unplug: the ring is dead, an active session's last sample
 *    has DRM_PERFCTR_SAMPLE_UNPLUGGED, and poll() reports POLLHUP. START, SAMPLE and STOP fail with
 *    -ENODEV; what is in the ring can be read; STATUS, LAYOUT and READER work.
 *  - mmap(): -EINVAL for a private mapping and for what is no area of the layout, -EACCES for slots
 *    that are to be written.
 *  - The module of the driver cannot be removed while a session exists, that of the core while a
 *    session, a reader or a mapping does.
 *  - O_NONBLOCK has no effect: START, SAMPLE and STOP wait for the hardware, for a bounded time.
 *  - -EINTR: a signal arrived while one of them, or OPEN, waited for another one or for the end of
 *    a reset, and its handler has no SA_RESTART. Repeat it. Otherwise the kernel repeats it.
 *
 * Permissions
 * -----------
 * Counters are system-wide: they reveal the activity of every user, in enough detail to recognise
 * keystrokes and web pages. OPEN therefore asks perf_allow_cpu(), unless root has set the sysctl
 * dev.perfctr.paranoid to 0, by which users may observe each other. It takes CAP_PERFMON, or
 * kernel.perf_event_paranoid of 0 or less, and security modules may refuse. QUERY hides from others
 * what shows when somebody counts. Sessions without CAP_PERFMON are few and slow: 4 of a user, 32
 * of a device, with periods of at least unprivileged_min_period_ns (10 ms), without AUTOMATIC
 * samples. There is no other isolation of users. OPEN checks the permission; any process that gets
 * the descriptor may then use it.
 */
#ifndef _UAPI_PERFCTR_DRM_H_
#define _UAPI_PERFCTR_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#ifndef PERFCTR_IN_TREE
/*
 * Drivers outside of the kernel's tree have numbers of their own range, e.g. 0x9a. Kernels before
 * 7.3 do not export perf_allow_cpu(): on them OPEN needs CAP_PERFMON, or dev.perfctr.paranoid=0,
 * and neither security modules nor kernel.perf_event_paranoid are asked.
 *
 * @nr: any driver's, from fdinfo, see "Numbers of the device's ioctls"
 */
#define DRM_PERFCTR_IOCTL_QUERY(nr)	_IOWR(DRM_IOCTL_BASE, (nr), struct drm_perfctr_query)
#define DRM_PERFCTR_IOCTL_OPEN(nr)	_IOW(DRM_IOCTL_BASE, (nr) + 1, struct drm_perfctr_open)
#endif

/* of a session's descriptor; a reader has LAYOUT only */
#define DRM_PERFCTR_IOCTL_START		_IOW(DRM_IOCTL_BASE, 0xe0, struct drm_perfctr_command)
#define DRM_PERFCTR_IOCTL_SAMPLE	_IOW(DRM_IOCTL_BASE, 0xe1, struct drm_perfctr_command)
#define DRM_PERFCTR_IOCTL_STOP		_IOW(DRM_IOCTL_BASE, 0xe2, struct drm_perfctr_command)
#define DRM_PERFCTR_IOCTL_STATUS	_IOR(DRM_IOCTL_BASE, 0xe3, struct drm_perfctr_status)
#define DRM_PERFCTR_IOCTL_LAYOUT	_IOR(DRM_IOCTL_BASE, 0xe4, struct drm_perfctr_layout)
#define DRM_PERFCTR_IOCTL_READER	_IO(DRM_IOCTL_BASE, 0xe5)

/* --- blocks, sets, clocks, products -------------------------------------- */

/*
 * Block types
 *
 * A block type is a number that is unique across all drivers, stable and never reused. Types are
 * allocated in ranges of 16, of which a hardware family may have several; the family's header names
 * the types. A reader can skip an unknown type by the size in the block's header, or read its
 * counters, as the block specifies their format, see enum drm_perfctr_block_format.
 */

/** DRM_PERFCTR_BLOCK_GENERIC_PMU - one event of any perf PMU. */
#define DRM_PERFCTR_BLOCK_GENERIC_PMU	32

/** DRM_PERFCTR_INDEX_ALL - in a block request: every block of that type. */
#define DRM_PERFCTR_INDEX_ALL	0xffff

/** DRM_PERFCTR_SECTION_COUNTERS - number of counters in a mask. */
#define DRM_PERFCTR_SECTION_COUNTERS	64

/**
 * enum drm_perfctr_block_format - extensions of a block
 *
 * Bit mask. Extensions of the block's header follow struct drm_perfctr_block_header in the order of
 * the bits; others follow the counters in the same order. A reader ignores extensions of unknown
 * bits, which come after all known ones, within header_size and size.
 */
enum drm_perfctr_block_format {
	/**
	 * @DRM_PERFCTR_FORMAT_RUNNING_TIMES: the hardware has fewer counters than can be requested
	 * and multiplexes them. Header: struct drm_perfctr_running_times. After the counters: one
	 * u64 for each of them, its running time in ns.
	 */
	DRM_PERFCTR_FORMAT_RUNNING_TIMES = 1u << 0,
	/**
	 * @DRM_PERFCTR_FORMAT_PMU_IDENTITY: a perf PMU counted. Header: struct
	 * drm_perfctr_pmu_identity.
	 */
	DRM_PERFCTR_FORMAT_PMU_IDENTITY = 1u << 1,
	/**
	 * @DRM_PERFCTR_FORMAT_SPAN: the block's counts are of a span of its own, which may differ
	 * from the sample's. Header: struct drm_perfctr_block_span.
	 */
	DRM_PERFCTR_FORMAT_SPAN = 1u << 2,
};

/**
 * enum drm_perfctr_set - counter set of a GPU
 *
 * A set selects the meaning of a block's counters. Only one set is in use per
 * device at a time, from START to STOP of its sessions: START with a different
 * one fails with -EBUSY, also with CAP_PERFMON. OPEN reserves nothing.
 */
enum drm_perfctr_set {
	/** @DRM_PERFCTR_SET_PRIMARY: the set that every device has. */
	DRM_PERFCTR_SET_PRIMARY = 0,
	/** @DRM_PERFCTR_SET_SECONDARY: depends on the product. */
	DRM_PERFCTR_SET_SECONDARY = 1,
	/** @DRM_PERFCTR_SET_TERTIARY: depends on the product. */
	DRM_PERFCTR_SET_TERTIARY = 2,
};

/** DRM_PERFCTR_MAX_CLOCKS - number of clock domains a device can have. */
#define DRM_PERFCTR_MAX_CLOCKS	8
/** DRM_PERFCTR_CLOCK_TIMESTAMP - in QUERY_CLOCKS: the GPU's timestamp counter. */
#define DRM_PERFCTR_CLOCK_TIMESTAMP	0xfe
/** DRM_PERFCTR_CLOCK_NONE - the block has no clock of its own. */
#define DRM_PERFCTR_CLOCK_NONE	0xff

/*
 * Products
 *
 * A product number identifies a page of the counter database. Every block
 * contains it, so that a sample can be decoded without access to its device.
 * The high byte is the hardware family; the family's header defines products.
 */

/** DRM_PERFCTR_PRODUCT_UNKNOWN - no database page, counters have numbers only. */
#define DRM_PERFCTR_PRODUCT_UNKNOWN	0
/** DRM_PERFCTR_PRODUCT_PERF_PMU - a perf PMU; the block contains name and config. */
#define DRM_PERFCTR_PRODUCT_PERF_PMU	0x0500

/**
 * enum drm_perfctr_block_states - states of a block in the sample's span
 *
 * Bit mask; opposite bits together mean that both occurred. None set: unknown.
 */
enum drm_perfctr_block_states {
	/** @DRM_PERFCTR_STATE_ON: powered for part of the span. */
	DRM_PERFCTR_STATE_ON = 1u << 0,
	/** @DRM_PERFCTR_STATE_OFF: without power for part of the span. */
	DRM_PERFCTR_STATE_OFF = 1u << 1,
	/** @DRM_PERFCTR_STATE_AVAILABLE: usable by this system for part of the span. */
	DRM_PERFCTR_STATE_AVAILABLE = 1u << 2,
	/**
	 * @DRM_PERFCTR_STATE_UNAVAILABLE: assigned elsewhere (virtualisation, partition) for
	 * part of the span.
	 */
	DRM_PERFCTR_STATE_UNAVAILABLE = 1u << 3,
	/** @DRM_PERFCTR_STATE_NORMAL: in normal mode for part of the span. */
	DRM_PERFCTR_STATE_NORMAL = 1u << 4,
	/** @DRM_PERFCTR_STATE_PROTECTED: in protected mode, where nothing is counted. */
	DRM_PERFCTR_STATE_PROTECTED = 1u << 5,
	/** @DRM_PERFCTR_STATE_MULTIPLEXED: counted for time_running of time_enabled only. */
	DRM_PERFCTR_STATE_MULTIPLEXED = 1u << 6,
	/** @DRM_PERFCTR_STATE_SATURATED: a hardware counter reached its maximum. */
	DRM_PERFCTR_STATE_SATURATED = 1u << 7,
	/** @DRM_PERFCTR_STATE_LOST: counts of this block were lost in the span. */
	DRM_PERFCTR_STATE_LOST = 1u << 8,
	/**
	 * @DRM_PERFCTR_STATE_ERROR: reading the block failed at least once, or the
	 * PMU's hardware was removed, or counting failed on a CPU that came online:
	 * counters that lack this CPU are not valid until it succeeds. The next valid
	 * sample has the counts of the other CPUs since the last valid one, and
	 * STATE_LOST, because those of this CPU are lost.
	 */
	DRM_PERFCTR_STATE_ERROR = 1u << 9,
	/** @DRM_PERFCTR_STATE_MIGRATED: counting moved to another CPU. */
	DRM_PERFCTR_STATE_MIGRATED = 1u << 10,
};

/* --- samples ------------------------------------------------------------- */

/**
 * enum drm_perfctr_sample_flags - reason of a sample, and events in its span
 */
enum drm_perfctr_sample_flags {
	/** @DRM_PERFCTR_SAMPLE_MANUAL: published by SAMPLE. */
	DRM_PERFCTR_SAMPLE_MANUAL = 1u << 0,
	/** @DRM_PERFCTR_SAMPLE_PERIODIC: published at the end of a period. */
	DRM_PERFCTR_SAMPLE_PERIODIC = 1u << 1,
	/**
	 * @DRM_PERFCTR_SAMPLE_AUTOMATIC: published on a transition of the hardware
	 * (power, protected mode); only for DRM_PERFCTR_OPEN_AUTOMATIC.
	 */
	DRM_PERFCTR_SAMPLE_AUTOMATIC = 1u << 2,
	/** @DRM_PERFCTR_SAMPLE_FINAL: published by STOP, the last one until START. */
	DRM_PERFCTR_SAMPLE_FINAL = 1u << 3,
	/**
	 * @DRM_PERFCTR_SAMPLE_IN_STREAM: taken between two commands of a job. A job
	 * must not wait for perf: blocks of perf PMUs contain the last values read, in
	 * their own span (DRM_PERFCTR_FORMAT_SPAN), and are read again soon for the next
	 * sample. For counts of one span, wait for the job's fence and SAMPLE.
	 */
	DRM_PERFCTR_SAMPLE_IN_STREAM = 1u << 4,
	/**
	 * @DRM_PERFCTR_SAMPLE_STRETCHED: includes earlier samples: merged_periods or
	 * merged_others is not zero.
	 */
	DRM_PERFCTR_SAMPLE_STRETCHED = 1u << 5,
	/**
	 * @DRM_PERFCTR_SAMPLE_OVERFLOW: a hardware buffer overflowed; counts of up
	 * to lost_ns are missing.
	 */
	DRM_PERFCTR_SAMPLE_OVERFLOW = 1u << 6,
	/**
	 * @DRM_PERFCTR_SAMPLE_ERROR: the hardware did not respond, or its response
	 * was invalid; what could not be read is not valid, or is in lost_ns.
	 */
	DRM_PERFCTR_SAMPLE_ERROR = 1u << 7,
	/** @DRM_PERFCTR_SAMPLE_RESET: the device was reset inside the span. */
	DRM_PERFCTR_SAMPLE_RESET = 1u << 8,
	/** @DRM_PERFCTR_SAMPLE_SUSPENDED: the device was suspended inside the span. */
	DRM_PERFCTR_SAMPLE_SUSPENDED = 1u << 9,
	/** @DRM_PERFCTR_SAMPLE_MULTIPLEXED: a block has STATE_MULTIPLEXED. */
	DRM_PERFCTR_SAMPLE_MULTIPLEXED = 1u << 10,
	/** @DRM_PERFCTR_SAMPLE_UNPLUGGED: the device was removed; this is the last sample. */
	DRM_PERFCTR_SAMPLE_UNPLUGGED = 1u << 11,
};

/**
 * struct drm_perfctr_sample_header - first bytes of a sample
 *
 * Followed by @block_count blocks, the first at offset @header_size, each further
 * one at the end (size) of the previous one.
 */
struct drm_perfctr_sample_header {
	/** @size: bytes of the whole sample, this header included; multiple of 8. */
	__u32 size;
	/** @header_size: bytes of this header; at least 72, multiple of 8. */
	__u16 header_size;
	/** @block_count: blocks that follow. */
	__u16 block_count;
	/** @seq: 0 for the first published sample of the session, then +1 each. */
	__u64 seq;
	/**
	 * @start_ns: CLOCK_MONOTONIC_RAW at the start of the span. Equal to the
	 * end_ns of the previous sample, except after START.
	 */
	__u64 start_ns;
	/** @end_ns: CLOCK_MONOTONIC_RAW at the end of the span. */
	__u64 end_ns;
	/** @user_data: from SAMPLE and STOP; from START for all others. */
	__u64 user_data;
	/** @flags: enum drm_perfctr_sample_flags. */
	__u32 flags;
	/**
	 * @merged_periods: periods that ended in the span without a separate sample,
	 * because no slot was free or the sampler was delayed. Each period that ends
	 * between START and STOP is either a sample with DRM_PERFCTR_SAMPLE_PERIODIC,
	 * or counted here in the next sample of any kind.
	 */
	__u32 merged_periods;
	/**
	 * @lost_ns: upper bound of the time in the span whose counts the hardware
	 * lost, or a CPU on which perf did not count; 0: none. Includes time in which
	 * the hardware was powered but did not count: during a reset, or until it is
	 * started again. A loss that was found late may belong to samples before and be
	 * longer than the span; the total of all samples is the bound then.
	 */
	__u64 lost_ns;
	/** @merged_others: AUTOMATIC and IN_STREAM samples in the span that had no slot. */
	__u32 merged_others;
	/**
	 * @gpu_epoch: changes whenever the GPU's timestamp counter may have restarted (reset,
	 * resume). Timestamps of equal epochs are comparable. 0: the sample has no timestamp.
	 */
	__u32 gpu_epoch;
	/**
	 * @gpu_timestamp: raw value of the GPU's timestamp counter at the end of the
	 * counts of the device's blocks, which is @end_ns plus their capture_ns.
	 * Frequency and width are in DRM_PERFCTR_QUERY_CLOCKS. 0 if @gpu_epoch is 0.
	 */
	__u64 gpu_timestamp;
};

/**
 * struct drm_perfctr_block_header - first bytes of a block
 *
 * Followed by the extensions in @format and then, at @header_size, by one u64 for
 * each bit of @enable_mask, lowest bit first. The value of a bit that is not in
 * @valid_mask is zero and means "not measured".
 */
struct drm_perfctr_block_header {
	/** @size: bytes of header, counters and extensions in @format; multiple of 8. */
	__u32 size;
	/** @type: block type, see "Block types". */
	__u16 type;
	/** @index: physical index; indices may have gaps. */
	__u16 index;
	/** @section: bit n of the masks is counter 64 * section + n. */
	__u8 section;
	/** @format: enum drm_perfctr_block_format. */
	__u8 format;
	/** @set: enum drm_perfctr_set. */
	__u8 set;
	/** @clock: clock domain of @clock_cycles or DRM_PERFCTR_CLOCK_NONE. */
	__u8 clock;
	/** @states: enum drm_perfctr_block_states. */
	__u32 states;
	/** @clock_cycles: cycles of @clock in the span; 0 if the clock is unknown. */
	__u64 clock_cycles;
	/** @enable_mask: counters that are stored. */
	__u64 enable_mask;
	/** @valid_mask: counters that were measured, a subset of @enable_mask. */
	__u64 valid_mask;
	/** @capture_ns: time at which this block was read, relative to the sample's end_ns. */
	__s32 capture_ns;
	/** @header_size: bytes of this header and its extensions; multiple of 8. */
	__u16 header_size;
	/** @product: see "Products". */
	__u16 product;
};

/**
 * struct drm_perfctr_running_times - DRM_PERFCTR_FORMAT_RUNNING_TIMES in the header
 *
 * The estimated count without multiplexing is value * @time_enabled / running time of the counter.
 * A counter that did not run in the span is not in valid_mask.
 */
struct drm_perfctr_running_times {
	/**
	 * @time_enabled: ns of the span in which the block counted for any session; for a perf PMU,
	 * in which its events were enabled, summed over all CPUs. Measured by the hardware's clock,
	 * it may differ from the span by the delay of a collection.
	 */
	__u64 time_enabled;
	/** @time_running: smallest running time of the stored counters, in ns. */
	__u64 time_running;
};

/** DRM_PERFCTR_PMU_NAME_BYTES - size of a PMU's name, including the final NUL. */
#define DRM_PERFCTR_PMU_NAME_BYTES	32

/**
 * struct drm_perfctr_pmu_identity - DRM_PERFCTR_FORMAT_PMU_IDENTITY in the header
 */
struct drm_perfctr_pmu_identity {
	/**
	 * @config: perf config of the event for DRM_PERFCTR_BLOCK_GENERIC_PMU;
	 * filter bits of config, without the event, for the other types.
	 */
	__u64 config;
	/** @config1: perf config1. */
	__u64 config1;
	/** @config2: perf config2. */
	__u64 config2;
	/** @pmu_type: dynamic perf type number on the sampled machine. */
	__u32 pmu_type;
	/** @cpu: the CPU of the counts; -1: sum over several. */
	__s32 cpu;
	/** @pmu_name: the PMU's name, NUL terminated, truncated to 31 characters. */
	char pmu_name[DRM_PERFCTR_PMU_NAME_BYTES];
};

/**
 * struct drm_perfctr_block_span - DRM_PERFCTR_FORMAT_SPAN in the header
 *
 * The spans of a block adjoin, as those of samples do. A span is empty if the block was not read
 * since the last sample.
 */
struct drm_perfctr_block_span {
	/** @start_ns: CLOCK_MONOTONIC_RAW at the start of the block's counts. */
	__u64 start_ns;
	/** @end_ns: CLOCK_MONOTONIC_RAW at their end: capture_ns, but of any length. */
	__u64 end_ns;
};

/* --- the ring ------------------------------------------------------------ */

/** DRM_PERFCTR_SLOT_ALIGN - slots start at multiples of it. */
#define DRM_PERFCTR_SLOT_ALIGN	64

/**
 * enum drm_perfctr_ring_state - @state of the control area
 */
enum drm_perfctr_ring_state {
	/** @DRM_PERFCTR_RING_ACTIVE: between START and STOP. */
	DRM_PERFCTR_RING_ACTIVE = 1u << 0,
	/**
	 * @DRM_PERFCTR_RING_DEAD: no sample will follow, after the end of the session
	 * or removal of the device.
	 */
	DRM_PERFCTR_RING_DEAD = 1u << 1,
};

/** DRM_PERFCTR_RING_FIRST - both indices of a new ring: they wrap soon, as they must anyway. */
#define DRM_PERFCTR_RING_FIRST	0xfffffff0u

/**
 * struct drm_perfctr_ring_control - the indices and the layout, shared with the kernel
 *
 * It is at offset 0 of the descriptor, in an area of @ring_offset bytes that may be mapped for
 * reading and writing. The slots after it may be mapped for reading only. Mappings must be
 * MAP_SHARED. Their pages cannot be pinned: get_user_pages() fails for them, and with it O_DIRECT,
 * vmsplice(), ptrace(), process_vm_readv() and io_uring's fixed buffers; write() works.
 *
 * Both indices are free-running modulo 2^32 from DRM_PERFCTR_RING_FIRST on, slot = index &
 * (slots - 1), and the number of published, unread samples is insert_idx - extract_idx; all slots
 * are usable.
 *
 * Memory ordering: the kernel writes a sample, then @insert_idx with store-release; userspace
 * reads @insert_idx with load-acquire, then the sample. User space reads the sample, then writes
 * @extract_idx with store-release; the kernel reads @extract_idx with load-acquire before it writes
 * into the slot again.
 *
 * @extract_idx is the only member that the kernel reads: in START, SAMPLE, STOP and poll() and for
 * each sample that is due, possibly several times. Each read is a single load. A value outside
 * [last accepted extract_idx, insert_idx] is ignored and counted in bad_extract of STATUS.
 *
 * poll(): POLLIN while at least watermark samples are unread, and while any is unread after STOP or
 * the end of the session or the device; POLLHUP after such an end.
 */
struct drm_perfctr_ring_control {
	/** @extract_idx: next sample that userspace will read; userspace writes. */
	__u32 extract_idx;
	/** @user_reserved: zeroed by OPEN; the kernel does not access it afterwards. */
	__u32 user_reserved[15];
	/** @insert_idx: next sample that the kernel will publish; the kernel writes. */
	__u32 insert_idx;
	/** @state: enum drm_perfctr_ring_state. */
	__u32 state;
	/** @slots: as in struct drm_perfctr_layout, like the following. */
	__u32 slots;
	/** @slot_stride: bytes between slots. */
	__u32 slot_stride;
	/** @ring_offset: offset of slot 0. */
	__u32 ring_offset;
	/** @sample_size: bytes of each sample. */
	__u32 sample_size;
	/** @kernel_reserved: zero. */
	__u32 kernel_reserved[10];
};

/* --- QUERY --------------------------------------------------------------- */

/**
 * enum drm_perfctr_query_type - result of QUERY
 */
enum drm_perfctr_query_type {
	/** @DRM_PERFCTR_QUERY_DEVICE: one struct drm_perfctr_device_info. */
	DRM_PERFCTR_QUERY_DEVICE = 0,
	/** @DRM_PERFCTR_QUERY_BLOCKS: struct drm_perfctr_block_info for each block. */
	DRM_PERFCTR_QUERY_BLOCKS = 1,
	/** @DRM_PERFCTR_QUERY_CLOCKS: struct drm_perfctr_clock_info for each clock. */
	DRM_PERFCTR_QUERY_CLOCKS = 2,
};

/**
 * struct drm_perfctr_query - argument of QUERY
 *
 * With @pointer zero, only @count and @stride are set, to the kernel's number and size of elements.
 * Otherwise up to @count elements are written, @stride bytes apart: a longer element than the
 * kernel's is filled with zeroes, a shorter one gets the first @stride bytes. @count and @stride
 * are then set as well. No permission is needed, but for members that show what others do. A query
 * neither waits for hardware nor wakes it.
 *
 * Errors: -EINVAL unknown @type, @pad not zero, @stride zero, above 4096 or
 * not a multiple of 8; -EFAULT; -ENODEV the device was unplugged.
 */
struct drm_perfctr_query {
	/** @type: enum drm_perfctr_query_type. */
	__u32 type;
	/** @count: in: elements that fit at @pointer; out: elements that exist. */
	__u32 count;
	/** @stride: in: bytes between elements; out: bytes of the kernel's element. */
	__u32 stride;
	/** @pad: must be zero. */
	__u32 pad;
	/** @pointer: user address of the elements, or zero. */
	__u64 pointer;
};

/**
 * enum drm_perfctr_features - @features of struct drm_perfctr_device_info
 *
 * A request that needs a missing feature fails with -EOPNOTSUPP.
 */
enum drm_perfctr_features {
	/** @DRM_PERFCTR_FEATURE_PERIODIC: periods are supported. */
	DRM_PERFCTR_FEATURE_PERIODIC = 1u << 0,
	/** @DRM_PERFCTR_FEATURE_STATES: the hardware reports block states. */
	DRM_PERFCTR_FEATURE_STATES = 1u << 1,
	/** @DRM_PERFCTR_FEATURE_AUTOMATIC: hardware transitions can cause samples. */
	DRM_PERFCTR_FEATURE_AUTOMATIC = 1u << 2,
	/** @DRM_PERFCTR_FEATURE_PMU: blocks of perf PMUs can be requested. */
	DRM_PERFCTR_FEATURE_PMU = 1u << 3,
	/** @DRM_PERFCTR_FEATURE_IN_STREAM: jobs can contain samples. */
	DRM_PERFCTR_FEATURE_IN_STREAM = 1u << 4,
	/** @DRM_PERFCTR_FEATURE_KEEP_AWAKE: DRM_PERFCTR_OPEN_KEEP_AWAKE works. */
	DRM_PERFCTR_FEATURE_KEEP_AWAKE = 1u << 5,
	/** @DRM_PERFCTR_FEATURE_GPU_TIMESTAMP: samples have gpu_timestamp. */
	DRM_PERFCTR_FEATURE_GPU_TIMESTAMP = 1u << 6,
};

/**
 * struct drm_perfctr_device_info - features and limits of the device and the core
 */
struct drm_perfctr_device_info {
	/** @features: enum drm_perfctr_features. */
	__u32 features;
	/** @version: of this interface: 4; grows with each addition. */
	__u32 version;
	/** @sample_header_size: bytes of struct drm_perfctr_sample_header. */
	__u32 sample_header_size;
	/** @block_header_size: bytes of struct drm_perfctr_block_header. */
	__u32 block_header_size;
	/** @ring_control_size: bytes of struct drm_perfctr_ring_control. */
	__u32 ring_control_size;
	/** @block_count: elements of DRM_PERFCTR_QUERY_BLOCKS. */
	__u32 block_count;
	/** @clock_count: elements of DRM_PERFCTR_QUERY_CLOCKS. */
	__u32 clock_count;
	/** @sets: bit n: set n exists. */
	__u32 sets;
	/**
	 * @active_set: the set in use, or DRM_PERFCTR_SET_PRIMARY: if none is, and for callers
	 * without the permission that OPEN needs, whom it would show when others count.
	 */
	__u32 active_set;
	/** @max_slots: largest number of slots of a ring. */
	__u32 max_slots;
	/** @max_sessions_per_file: sessions that one file may have; 0: no limit. */
	__u32 max_sessions_per_file;
	/** @max_requests: block requests of one OPEN. */
	__u32 max_requests;
	/** @product: of the device's own blocks, see "Products". */
	__u32 product;
	/** @pad: zero. */
	__u32 pad;
	/** @min_period_ns: shortest period with CAP_PERFMON. */
	__u64 min_period_ns;
	/** @unprivileged_min_period_ns: shortest period for all others. */
	__u64 unprivileged_min_period_ns;
	/** @max_period_ns: longest period. */
	__u64 max_period_ns;
	/** @max_ring_bytes: largest ring. */
	__u64 max_ring_bytes;
	/** @gpu_id: the driver's identification of the hardware, 0 if none. */
	__u64 gpu_id;
	/** @name: name of the device or product, NUL terminated. */
	char name[32];
};

/** DRM_PERFCTR_BLOCK_INFO_SECTIONS - sections that a block can have. */
#define DRM_PERFCTR_BLOCK_INFO_SECTIONS	4

/**
 * struct drm_perfctr_block_info - one block that can be requested
 *
 * For DRM_PERFCTR_BLOCK_GENERIC_PMU there is a single element with index
 * DRM_PERFCTR_INDEX_ALL: sysfs lists the PMUs that exist.
 */
struct drm_perfctr_block_info {
	/** @type: block type, see "Block types". */
	__u16 type;
	/** @index: physical index. */
	__u16 index;
	/** @counters: number of counter positions, available or not. */
	__u16 counters;
	/** @product: see "Products". */
	__u16 product;
	/** @sets: bit n: this block counts in set n. */
	__u32 sets;
	/** @clock: clock domain or DRM_PERFCTR_CLOCK_NONE. */
	__u8 clock;
	/** @format: enum drm_perfctr_block_format of the block in samples. */
	__u8 format;
	/**
	 * @first_section: section of the first mask of @available. A block with more sections than
	 * fit into an element has several elements; there is none so far.
	 */
	__u8 first_section;
	/** @pad: zero. */
	__u8 pad;
	/** @available: counters that exist, one mask per section, in the primary set. */
	__u64 available[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	/**
	 * @set_available: as @available for the secondary ([0]) and the tertiary
	 * ([1]) set; zero for sets that are not in @sets.
	 */
	__u64 set_available[2][DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

/**
 * struct drm_perfctr_clock_info - one clock domain, or the GPU's timestamp
 *
 * The element with @clock DRM_PERFCTR_CLOCK_TIMESTAMP exists if the device has
 * DRM_PERFCTR_FEATURE_GPU_TIMESTAMP. It relates the GPU's time to the host's:
 * @gpu_timestamp and @raw_ns are simultaneous, at the end of the last collection. All members below
 * @name are zero in other elements, before the first collection, and for callers without the
 * permission that OPEN needs: they would show when others sample.
 */
struct drm_perfctr_clock_info {
	/** @clock: number of the domain, or DRM_PERFCTR_CLOCK_TIMESTAMP. */
	__u32 clock;
	/** @valid_bits: bits after which the timestamp wraps; 0 in other elements. */
	__u32 valid_bits;
	/** @frequency_hz: at the time of the query, 0 if unknown. */
	__u64 frequency_hz;
	/** @max_frequency_hz: highest, 0 if unknown. */
	__u64 max_frequency_hz;
	/** @name: NUL terminated. */
	char name[16];
	/** @gpu_timestamp: raw value of the counter. */
	__u64 gpu_timestamp;
	/** @raw_ns: CLOCK_MONOTONIC_RAW at that time. */
	__u64 raw_ns;
	/** @age_ns: time from @raw_ns to the query. */
	__u64 age_ns;
	/** @epoch: as gpu_epoch of samples. */
	__u32 epoch;
	/** @pad: zero. */
	__u32 pad;
};

/* --- OPEN ---------------------------------------------------------------- */

/**
 * enum drm_perfctr_request_flags - @flags of struct drm_perfctr_block_request
 */
enum drm_perfctr_request_flags {
	/**
	 * @DRM_PERFCTR_REQUEST_AVAILABLE: remove counters that a block does not have from @mask
	 * instead of failing; omit a block with an empty mask. Not with DRM_PERFCTR_REQUEST_PMU.
	 */
	DRM_PERFCTR_REQUEST_AVAILABLE = 1u << 0,
	/** @DRM_PERFCTR_REQUEST_PMU: a perf PMU counts, given by the members from @cpu on. */
	DRM_PERFCTR_REQUEST_PMU = 1u << 1,
};

/**
 * DRM_PERFCTR_MAX_PMU_COUNTERS - counters of all perf PMUs of one session
 *
 * Each is a perf event, or one for each CPU; the cost of each grows with their number.
 */
#define DRM_PERFCTR_MAX_PMU_COUNTERS	256

/** DRM_PERFCTR_CPU_ANY - the PMU's own CPU, or the sum over all CPUs. */
#define DRM_PERFCTR_CPU_ANY	(-1)

/**
 * struct drm_perfctr_block_request - requested counters of one block
 */
struct drm_perfctr_block_request {
	/** @type: block type, see "Block types". */
	__u16 type;
	/**
	 * @index: physical index or DRM_PERFCTR_INDEX_ALL. For DRM_PERFCTR_BLOCK_GENERIC_PMU any
	 * smaller number, chosen by userspace to distinguish blocks.
	 */
	__u16 index;
	/**
	 * @section: @mask covers counters from 64 * section on; 0 for a PMU. With
	 * DRM_PERFCTR_INDEX_ALL, blocks without this section are left out.
	 */
	__u16 section;
	/** @set: enum drm_perfctr_set, the same for all of the device's blocks; 0 for a PMU. */
	__u8 set;
	/** @pad: must be zero. */
	__u8 pad;
	/** @flags: enum drm_perfctr_request_flags. */
	__u32 flags;
	/** @cpu: CPU to count on, or DRM_PERFCTR_CPU_ANY; zero without REQUEST_PMU. */
	__s32 cpu;
	/**
	 * @mask: counters; not zero. 1 for DRM_PERFCTR_BLOCK_GENERIC_PMU; events of
	 * the family's catalogue for other types of PMU blocks.
	 */
	__u64 mask;
	/** @pmu_type: type number of the PMU from sysfs; zero without REQUEST_PMU. */
	__u32 pmu_type;
	/** @pad2: must be zero. */
	__u32 pad2;
	/**
	 * @config: perf config (GENERIC_PMU) or its filter bits (types with a
	 * catalogue). @config, @config1 and @config2 are zero without REQUEST_PMU.
	 */
	__u64 config;
	/** @config1: perf config1. */
	__u64 config1;
	/** @config2: perf config2. */
	__u64 config2;
};

/**
 * enum drm_perfctr_open_flags - @flags of struct drm_perfctr_open
 */
enum drm_perfctr_open_flags {
	/**
	 * @DRM_PERFCTR_OPEN_CHECK: check the requests, the permission and all limits, write the
	 * layout, create no session and return 0. @eventfd must be -1. What only OPEN can find is
	 * not checked: -EBUSY, as CHECK does not prepare the hardware, -EMFILE, and -ENOMEM for
	 * the ring.
	 */
	DRM_PERFCTR_OPEN_CHECK = 1u << 0,
	/** @DRM_PERFCTR_OPEN_KEEP_AWAKE: keep the GPU powered while active. */
	DRM_PERFCTR_OPEN_KEEP_AWAKE = 1u << 1,
	/**
	 * @DRM_PERFCTR_OPEN_AUTOMATIC: also publish when power or protected mode of
	 * the hardware has changed; transitions in quick succession may share a sample.
	 * Needs CAP_PERFMON, as the rate of transitions has no limit.
	 */
	DRM_PERFCTR_OPEN_AUTOMATIC = 1u << 2,
};

/**
 * struct drm_perfctr_layout - the ring, DRM_PERFCTR_IOCTL_LAYOUT, filled by the kernel
 */
struct drm_perfctr_layout {
	/** @slots: as given to OPEN. */
	__u32 slots;
	/** @slot_stride: bytes between slots. */
	__u32 slot_stride;
	/** @sample_size: bytes of each sample. */
	__u32 sample_size;
	/** @block_count: blocks in each sample. */
	__u32 block_count;
	/** @ring_offset: bytes from the descriptor's start to slot 0; multiple of the page size. */
	__u32 ring_offset;
	/** @map_bytes: bytes of the control area and all slots, rounded up to pages. */
	__u32 map_bytes;
};

/**
 * struct drm_perfctr_open - argument of OPEN
 *
 * Returns the session's descriptor, close-on-exec, or 0 with DRM_PERFCTR_OPEN_CHECK. Errors::
 *
 *   -EACCES  system-wide counters need what "Permissions" says;
 *            DRM_PERFCTR_BLOCK_GENERIC_PMU always needs CAP_PERFMON, other PMUs
 *            CAP_PERFMON or sysctl kernel.perf_event_paranoid=0 in addition
 *   -EPERM   @period_ns is shorter than the caller's minimum, or it may not have
 *            AUTOMATIC samples
 *   -EINVAL  a field that must be zero is not, an unknown flag (the kernel's debug
 *            log, drm.debug=0x2, names it); @slots is zero or not a power of two;
 *            @request_count is zero; @request_stride is below 56, above 4096 or not
 *            a multiple of 8; @layout_size is above 4096,
 *            or not zero without @layout; a request with a zero @mask, with counters
 *            that the block lacks, with a set that differs from other requests', with
 *            PMU members set without DRM_PERFCTR_REQUEST_PMU, with bits that are
 *            not filters of the block's PMU; no counter remains with
 *            DRM_PERFCTR_REQUEST_AVAILABLE; @watermark above @slots; @eventfd is
 *            not an eventfd
 *   -EFAULT  @requests or @layout
 *   -ERANGE  @slots above max_slots; ring above max_ring_bytes; @period_ns
 *            outside min_period_ns..max_period_ns
 *   -E2BIG   @request_count above max_requests, more than 65535 blocks, more
 *            than DRM_PERFCTR_MAX_PMU_COUNTERS counters of PMUs; a request is longer
 *            than the kernel's and not zero there
 *   -ENXIO   no block of that type and index, no such section, or no catalogue
 *            for that type of PMU block
 *   -EOPNOTSUPP the set does not exist, or the device lacks a feature
 *   -EEXIST  the same block and section is requested twice; PMU blocks may be
 *            requested again with other filters
 *   -EBUSY   the hardware is in use by other means
 *   -ENOENT  no PMU with that type number, or it is not of the block's kind, or it
 *            has no such event
 *   -EBADF   @eventfd is not an open file
 *   -EMFILE  the process has reached its limit of file descriptors
 *   -EDQUOT  the user has reached its limits: 4 sessions, or the ring memory of sysctl
 *            dev.perfctr.max_user_ring_kb; not with CAP_PERFMON
 *   -ENFILE  the limit of this device for all users without CAP_PERFMON is
 *            reached; not with CAP_PERFMON. Or the machine's table of open files is full
 *   -ENOMEM  out of memory
 *   -EINTR   a signal arrived whose handler has no SA_RESTART; repeat it
 *   -ENODEV  the device was removed
 *
 * For PMUs, errors of perf and of the PMU are returned, see its documentation.
 * With DRM_PERFCTR_CPU_ANY an event counts on every CPU on which its PMU counts:
 * -ENOENT, -EINVAL and -ENODEV from a PMU mean that it does not count on that
 * CPU, and are errors only if no CPU is left; OPEN returns any other error of a
 * CPU. Permission to count is checked here, not by START.
 */
struct drm_perfctr_open {
	/** @flags: enum drm_perfctr_open_flags. */
	__u32 flags;
	/** @slots: slots of the ring, a power of two, 1..max_slots. */
	__u32 slots;
	/**
	 * @period_ns: time between periodic samples, 0 = manual. Periods end at its multiples on
	 * CLOCK_MONOTONIC, so the first and the last one are shorter.
	 */
	__u64 period_ns;
	/**
	 * @eventfd: signalled after a sample is published while @watermark or more are unread,
	 * after STOP and when the ring becomes dead; or -1. insert_idx and state of the control
	 * area are written before. Its value is not a count of samples: several may share a signal.
	 */
	__s32 eventfd;
	/**
	 * @watermark: unread samples that cause a signal and POLLIN, 0..slots; 0 means 1, and
	 * slots means slots - 1, as one slot is reserved for the sample of STOP.
	 */
	__u32 watermark;
	/** @requests: user address of the struct drm_perfctr_block_request array. */
	__u64 requests;
	/** @request_count: elements of @requests. */
	__u32 request_count;
	/** @request_stride: bytes between elements of @requests. */
	__u32 request_stride;
	/** @layout: user address of a struct drm_perfctr_layout, which is written, or zero. */
	__u64 layout;
	/** @layout_size: bytes at @layout. */
	__u32 layout_size;
	/** @pad: must be zero. */
	__u32 pad;
	/** @reserved: must be zero; for future wake-ups by a counter's value. */
	__u64 reserved[2];
};

/* --- sessions ------------------------------------------------------------ */

/**
 * struct drm_perfctr_command - argument of START, SAMPLE and STOP
 *
 * DRM_PERFCTR_IOCTL_START starts counting. No sample contains counts from before. During a reset
 * of the device it waits for the end of the reset. The hardware's blocks count from the first
 * sample's start_ns on, those of perf PMUs from a moment later, for time_enabled. Errors: -EALREADY
 * the session is active; -EBUSY an active session uses another counter set; -ENOSPC no slot is
 * free for the final sample; -ETIMEDOUT or -EIO the hardware does not power up or could not be
 * started; perf's error if counting fails on a CPU that came online since OPEN.
 *
 * DRM_PERFCTR_IOCTL_SAMPLE publishes a sample, in periodic sessions an additional one. Errors:
 * -ENOSPC only the slot reserved for STOP is free: no counts are lost, the next sample contains
 * them; -ENOTCONN the session is not active.
 *
 * DRM_PERFCTR_IOCTL_STOP publishes a final sample, always, as START has reserved a slot, and stops.
 * When it returns 0, counters of other sessions no longer wait for those of this one. After
 * closing the descriptor alone they may, for a short time; unpublished counts are then discarded.
 * Blocks of perf PMUs count until their capture_ns. Errors: -EALREADY the session is not active.
 *
 * They wait for the hardware for a bounded time: when SAMPLE or STOP returns 0, the sample is in
 * the ring. If the hardware does not respond, the sample has DRM_PERFCTR_SAMPLE_ERROR. The hardware
 * takes one sample at a time. Callers without CAP_PERFMON are serialised: at most one of them at a
 * time accesses the hardware while periodic sessions, jobs and callers with CAP_PERFMON wait.
 * STATUS, LAYOUT, READER and closing the descriptor do not access the hardware.
 *
 * Errors of all three: -EINVAL @flags or @pad is not zero; -E2BIG the structure is longer than the
 * kernel's and not zero there, or longer than 4096 bytes; -EFAULT; -ENODEV the device was removed;
 * -EINTR. -ENOTTY the descriptor is a reader.
 */
struct drm_perfctr_command {
	/** @user_data: for this sample; with START for the periodic and automatic samples. */
	__u64 user_data;
	/** @flags: must be zero. */
	__u32 flags;
	/** @pad: must be zero. */
	__u32 pad;
};

/**
 * enum drm_perfctr_status_flags - @flags of struct drm_perfctr_status
 */
enum drm_perfctr_status_flags {
	/** @DRM_PERFCTR_STATUS_ACTIVE: between START and STOP. */
	DRM_PERFCTR_STATUS_ACTIVE = 1u << 0,
	/**
	 * @DRM_PERFCTR_STATUS_BATCHED: the hardware records the counts of each period, and the
	 * kernel converts the records to samples in batches: many at once, with the times of the
	 * periods. Otherwise a timer of the kernel triggers each sample. This depends on the
	 * counters of all sessions of the device, and may change whenever one starts or stops.
	 */
	DRM_PERFCTR_STATUS_BATCHED = 1u << 1,
	/** @DRM_PERFCTR_STATUS_DEAD: the device was removed. */
	DRM_PERFCTR_STATUS_DEAD = 1u << 2,
};

/**
 * struct drm_perfctr_status - DRM_PERFCTR_IOCTL_STATUS, filled by the kernel
 *
 * The number of the ioctl contains the size of the caller's structure. All totals are since OPEN,
 * as of the session's last sample or command, whichever is later. Contents passed in are ignored.
 * Errors: -EFAULT.
 */
struct drm_perfctr_status {
	/** @flags: enum drm_perfctr_status_flags. */
	__u32 flags;
	/** @slots: as given to OPEN. */
	__u32 slots;
	/** @published: samples. */
	__u64 published;
	/** @merged_periods: total in published samples. */
	__u64 merged_periods;
	/** @merged_others: total in published samples. */
	__u64 merged_others;
	/** @pending_merged: due samples that wait for a free slot. */
	__u64 pending_merged;
	/** @lost_ns: total in published samples. */
	__u64 lost_ns;
	/** @errors: published samples with DRM_PERFCTR_SAMPLE_ERROR. */
	__u64 errors;
	/** @overflows: published samples with DRM_PERFCTR_SAMPLE_OVERFLOW. */
	__u64 overflows;
	/**
	 * @resets: resets of the device while it had power and the session counted blocks of it.
	 * Several samples may have DRM_PERFCTR_SAMPLE_RESET because of one.
	 */
	__u64 resets;
	/** @bad_extract: number of invalid values of extract_idx, which were ignored. */
	__u64 bad_extract;
	/** @ring_full: SAMPLE commands that failed with -ENOSPC. */
	__u64 ring_full;
	/** @wakeups: published samples that reached the watermark or were final. */
	__u64 wakeups;
	/** @insert_idx: the kernel's index. */
	__u32 insert_idx;
	/** @extract_idx: last value accepted from the control area. */
	__u32 extract_idx;
	/**
	 * @readers: uses of the ring's memory besides the session: descriptors from
	 * DRM_PERFCTR_IOCTL_READER that are open or mapped, and mappings of the session's, those
	 * that fork() or munmap() in the middle made included.
	 */
	__u32 readers;
	/** @pad: zero. */
	__u32 pad;
};

/*
 * DRM_PERFCTR_IOCTL_LAYOUT writes struct drm_perfctr_layout, in the size that the number contains.
 *
 * DRM_PERFCTR_IOCTL_READER returns a descriptor, close-on-exec, for another process to read the
 * ring. It takes mmap(), poll() and LAYOUT only, and outlives the session. Readers share
 * extract_idx with the session. Its argument must be zero, else -EINVAL; -EMFILE; -ENOMEM.
 *
 * All others are -ENOTTY.
 */

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_DRM_H_ */
