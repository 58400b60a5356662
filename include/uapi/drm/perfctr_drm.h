/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * The performance counter interface of DRM devices.
 *
 * Every driver that adopts the counter core (drm_perfctr.ko) offers the same
 * ioctls at the same numbers, so one library drives all of them:
 *
 *   DRM_IOCTL_PERFCTR_QUERY      what exists: device, blocks, clocks
 *   DRM_IOCTL_PERFCTR_CONTROL    sessions: SETUP, START, SAMPLE, STOP, ...
 *   DRM_IOCTL_PERFCTR_BO_CREATE  memory for rings; only where the driver has
 *                                no buffer ioctl that serves (-EINVAL else)
 *
 * All structures are little-endian, have the same layout for 32- and 64-bit
 * user space and are 8-byte aligned.
 *
 * How structures grow
 * -------------------
 * New members are added at the end only. A structure shorter than the
 * kernel's is extended with zeroes; a longer one must be zero in the part
 * that the kernel does not know, else -E2BIG. Members named pad or reserved
 * and unknown flags must be zero, else -EINVAL.
 *
 * How a session runs
 * ------------------
 *  1. QUERY tells which blocks, counters, sets and clocks the device has.
 *  2. SETUP with DRM_PERFCTR_SETUP_TEST_ONLY checks the requests and tells
 *     slot_stride and ring_bytes.
 *  3. User space allocates a buffer of ring_bytes and a control area of
 *     sizeof(struct drm_perfctr_ring_control), maps both, calls SETUP.
 *  4. START takes the baseline. From there on, periodic sessions publish by
 *     themselves and manual ones with SAMPLE.
 *  5. While insert_idx != extract_idx, the slot extract_idx & (slots - 1)
 *     holds a complete sample; user space reads it and adds 1 to extract_idx.
 *     Nothing is needed from the kernel for that.
 *  6. STOP publishes the final sample. START may follow again; TEARDOWN or
 *     closing the file ends the session at any point.
 *
 * The conservation law: the values of all samples published between START and
 * STOP add up to exactly what the hardware counted in that time. A full ring
 * never drops a sample, it stretches the next one. What the hardware itself
 * lost is told by flags and by lost_ns.
 */
#ifndef _UAPI_PERFCTR_DRM_H_
#define _UAPI_PERFCTR_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * Driver-private ioctl numbers, relative to DRM_COMMAND_BASE. The upper end of
 * the range is used so that they do not meet a driver's own numbering.
 */
#define DRM_PERFCTR_QUERY	0x5d
#define DRM_PERFCTR_CONTROL	0x5e
#define DRM_PERFCTR_BO_CREATE	0x5f

#define DRM_IOCTL_PERFCTR_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_PERFCTR_QUERY, struct drm_perfctr_query)
#define DRM_IOCTL_PERFCTR_CONTROL \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_PERFCTR_CONTROL, struct drm_perfctr_control)
#define DRM_IOCTL_PERFCTR_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_PERFCTR_BO_CREATE, struct drm_perfctr_bo_create)

/* --- blocks, sets, clocks, products -------------------------------------- */

/**
 * enum drm_perfctr_block_type - what kind of hardware a block describes
 *
 * Values are stable and never reused. A reader skips a type that it does not
 * know by the size in the block's header.
 *
 * 1-15: GPU blocks of Mali CSF devices. 16-31: NVIDIA GPU blocks.
 * 32-63: SoC blocks, counted by a perf PMU.
 */
enum drm_perfctr_block_type {
	/** @DRM_PERFCTR_BLOCK_FW: GPU firmware (microcontroller) counters. */
	DRM_PERFCTR_BLOCK_FW = 1,
	/** @DRM_PERFCTR_BLOCK_CSHW: command stream hardware. */
	DRM_PERFCTR_BLOCK_CSHW = 2,
	/** @DRM_PERFCTR_BLOCK_TILER: tiler. */
	DRM_PERFCTR_BLOCK_TILER = 3,
	/** @DRM_PERFCTR_BLOCK_MEMSYS: memory system, one block per L2 slice. */
	DRM_PERFCTR_BLOCK_MEMSYS = 4,
	/** @DRM_PERFCTR_BLOCK_SHADER: shader core; index = physical core number. */
	DRM_PERFCTR_BLOCK_SHADER = 5,

	/** @DRM_PERFCTR_BLOCK_PCOUNTER: PCOUNTER; index = clock domain = its clock. */
	DRM_PERFCTR_BLOCK_PCOUNTER = 16,
	/** @DRM_PERFCTR_BLOCK_MP: MP counters; index = TPC. */
	DRM_PERFCTR_BLOCK_MP = 17,

	/** @DRM_PERFCTR_BLOCK_GENERIC_PMU: one event of any perf PMU. */
	DRM_PERFCTR_BLOCK_GENERIC_PMU = 32,
	/** @DRM_PERFCTR_BLOCK_UCF: unified coherence fabric; index = socket. */
	DRM_PERFCTR_BLOCK_UCF = 33,
	/** @DRM_PERFCTR_BLOCK_PCIE: PCIe source side; index = socket << 8 | RC. */
	DRM_PERFCTR_BLOCK_PCIE = 34,
	/** @DRM_PERFCTR_BLOCK_PCIE_TGT: PCIe target side; index = socket << 8 | RC. */
	DRM_PERFCTR_BLOCK_PCIE_TGT = 35,
	/** @DRM_PERFCTR_BLOCK_CMEM_LATENCY: CPU memory latency; index = socket. */
	DRM_PERFCTR_BLOCK_CMEM_LATENCY = 36,
	/** @DRM_PERFCTR_BLOCK_NVLINK_C2C: NVLink-C2C; index = socket. */
	DRM_PERFCTR_BLOCK_NVLINK_C2C = 37,
	/** @DRM_PERFCTR_BLOCK_NVCLINK: NV-CLink; index = socket. */
	DRM_PERFCTR_BLOCK_NVCLINK = 38,
	/** @DRM_PERFCTR_BLOCK_NVDLINK: NV-DLink; index = socket. */
	DRM_PERFCTR_BLOCK_NVDLINK = 39,
};

/** DRM_PERFCTR_INDEX_ALL - in a block request: every block of that type. */
#define DRM_PERFCTR_INDEX_ALL	0xffff

/** DRM_PERFCTR_SECTION_COUNTERS - counters that one mask covers. */
#define DRM_PERFCTR_SECTION_COUNTERS	64

/**
 * enum drm_perfctr_set - counter set of a GPU
 *
 * A set selects what the counters of a block mean. One set is active per
 * device at a time: SETUP with another one fails with -EBUSY.
 */
enum drm_perfctr_set {
	/** @DRM_PERFCTR_SET_PRIMARY: the set that every device has. */
	DRM_PERFCTR_SET_PRIMARY = 0,
	/** @DRM_PERFCTR_SET_SECONDARY: depends on the product. */
	DRM_PERFCTR_SET_SECONDARY = 1,
	/** @DRM_PERFCTR_SET_TERTIARY: depends on the product. */
	DRM_PERFCTR_SET_TERTIARY = 2,
};

/**
 * enum drm_perfctr_clock - clock domain
 *
 * Index of the domain; in masks, bit n stands for domain n. These are the names
 * of Mali devices; what the clocks of DRM_PERFCTR_PRODUCT_NV50 are is told by
 * DRM_PERFCTR_QUERY_CLOCKS, number n is that of PCOUNTER's domain n.
 */
enum drm_perfctr_clock {
	/** @DRM_PERFCTR_CLOCK_TOP: GPU top level (command stream, firmware). */
	DRM_PERFCTR_CLOCK_TOP = 0,
	/** @DRM_PERFCTR_CLOCK_COREGROUP: L2, MMU, tiler. */
	DRM_PERFCTR_CLOCK_COREGROUP = 1,
	/** @DRM_PERFCTR_CLOCK_SHADER: shader cores. */
	DRM_PERFCTR_CLOCK_SHADER = 2,
};

/** DRM_PERFCTR_CLOCK_NONE - the block has no clock of its own. */
#define DRM_PERFCTR_CLOCK_NONE	0xff
/** DRM_PERFCTR_MAX_CLOCKS - number of clock domains a device can have. */
#define DRM_PERFCTR_MAX_CLOCKS	8

/**
 * enum drm_perfctr_product - which page of the counter database explains a block
 *
 * High byte: family. The value travels in every block, so that a sample can be
 * named without asking the device that it came from.
 */
enum drm_perfctr_product {
	/** @DRM_PERFCTR_PRODUCT_UNKNOWN: no database page, counters have numbers only. */
	DRM_PERFCTR_PRODUCT_UNKNOWN = 0,
	/** @DRM_PERFCTR_PRODUCT_VSOC_CSF: CSF-style GPU of the virtual SoC. */
	DRM_PERFCTR_PRODUCT_VSOC_CSF = 0x0100,
	/** @DRM_PERFCTR_PRODUCT_MALI_V10: Mali arch 10.x (G310, G510, G610, G710). */
	DRM_PERFCTR_PRODUCT_MALI_V10 = 0x020a,
	/** @DRM_PERFCTR_PRODUCT_MALI_V11: Mali arch 11.x (G615, G715). */
	DRM_PERFCTR_PRODUCT_MALI_V11 = 0x020b,
	/** @DRM_PERFCTR_PRODUCT_MALI_V12: Mali arch 12.x (G620, G720). */
	DRM_PERFCTR_PRODUCT_MALI_V12 = 0x020c,
	/** @DRM_PERFCTR_PRODUCT_MALI_V13: Mali arch 13.x (G625, G725). */
	DRM_PERFCTR_PRODUCT_MALI_V13 = 0x020d,
	/** @DRM_PERFCTR_PRODUCT_TEGRA410: SoC uncore PMUs of Tegra410. */
	DRM_PERFCTR_PRODUCT_TEGRA410 = 0x0300,
	/** @DRM_PERFCTR_PRODUCT_NV50: NVIDIA nv50 family, PCOUNTER and MP. */
	DRM_PERFCTR_PRODUCT_NV50 = 0x0400,
	/** @DRM_PERFCTR_PRODUCT_PERF_PMU: a perf PMU; the block carries name and config. */
	DRM_PERFCTR_PRODUCT_PERF_PMU = 0x0500,
};

/**
 * enum drm_perfctr_block_states - what happened to a block in the sample's span
 *
 * Bit mask; opposite bits together mean that both occurred. None set: unknown.
 */
enum drm_perfctr_block_states {
	/** @DRM_PERFCTR_STATE_ON: powered for some of the span. */
	DRM_PERFCTR_STATE_ON = 1u << 0,
	/** @DRM_PERFCTR_STATE_OFF: without power for some of the span. */
	DRM_PERFCTR_STATE_OFF = 1u << 1,
	/** @DRM_PERFCTR_STATE_AVAILABLE: usable by this system for some of the span. */
	DRM_PERFCTR_STATE_AVAILABLE = 1u << 2,
	/** @DRM_PERFCTR_STATE_UNAVAILABLE: given away (virtualisation, partition). */
	DRM_PERFCTR_STATE_UNAVAILABLE = 1u << 3,
	/** @DRM_PERFCTR_STATE_NORMAL: in normal mode for some of the span. */
	DRM_PERFCTR_STATE_NORMAL = 1u << 4,
	/** @DRM_PERFCTR_STATE_PROTECTED: in protected mode, where nothing is counted. */
	DRM_PERFCTR_STATE_PROTECTED = 1u << 5,
	/** @DRM_PERFCTR_STATE_MULTIPLEXED: counted for time_running of time_enabled only. */
	DRM_PERFCTR_STATE_MULTIPLEXED = 1u << 6,
	/** @DRM_PERFCTR_STATE_SATURATED: a hardware counter stuck at its maximum. */
	DRM_PERFCTR_STATE_SATURATED = 1u << 7,
	/** @DRM_PERFCTR_STATE_LOST: counts of this block were lost in the span. */
	DRM_PERFCTR_STATE_LOST = 1u << 8,
	/**
	 * @DRM_PERFCTR_STATE_ERROR: the block could not be read at least once, or
	 * the PMU's hardware is gone, or a CPU that came online could not be counted
	 * on: counters that lack it are not valid until it can.
	 */
	DRM_PERFCTR_STATE_ERROR = 1u << 9,
	/** @DRM_PERFCTR_STATE_MIGRATED: counting moved to another CPU. */
	DRM_PERFCTR_STATE_MIGRATED = 1u << 10,
};

/* --- samples ------------------------------------------------------------- */

/**
 * enum drm_perfctr_sample_flags - why a sample exists and what it went through
 */
enum drm_perfctr_sample_flags {
	/** @DRM_PERFCTR_SAMPLE_MANUAL: published by SAMPLE. */
	DRM_PERFCTR_SAMPLE_MANUAL = 1u << 0,
	/** @DRM_PERFCTR_SAMPLE_PERIODIC: published by the session's period. */
	DRM_PERFCTR_SAMPLE_PERIODIC = 1u << 1,
	/**
	 * @DRM_PERFCTR_SAMPLE_AUTOMATIC: published on a transition of the hardware
	 * (power, protected mode); only for DRM_PERFCTR_SETUP_AUTOMATIC. Sessions
	 * made without CAP_PERFMON have turns, see unprivileged_min_period_ns: each
	 * transition before the next turn is counted in merged_others, and a sample
	 * is published in that turn if none was meanwhile.
	 */
	DRM_PERFCTR_SAMPLE_AUTOMATIC = 1u << 2,
	/** @DRM_PERFCTR_SAMPLE_FINAL: published by STOP, the last one until START. */
	DRM_PERFCTR_SAMPLE_FINAL = 1u << 3,
	/**
	 * @DRM_PERFCTR_SAMPLE_IN_STREAM: taken between two commands of a job. SoC
	 * blocks are as they were read last, at their capture_ns, and are read again
	 * at once for the next sample: a job must not wait for perf.
	 */
	DRM_PERFCTR_SAMPLE_IN_STREAM = 1u << 4,
	/**
	 * @DRM_PERFCTR_SAMPLE_STRETCHED: earlier samples are inside: merged_periods or
	 * merged_others is not zero.
	 */
	DRM_PERFCTR_SAMPLE_STRETCHED = 1u << 5,
	/**
	 * @DRM_PERFCTR_SAMPLE_OVERFLOW: the hardware ran out of room; counts of up
	 * to lost_ns are missing.
	 */
	DRM_PERFCTR_SAMPLE_OVERFLOW = 1u << 6,
	/**
	 * @DRM_PERFCTR_SAMPLE_ERROR: the hardware did not answer or answered
	 * nonsense; what could not be read is not marked valid or is in lost_ns.
	 */
	DRM_PERFCTR_SAMPLE_ERROR = 1u << 7,
	/** @DRM_PERFCTR_SAMPLE_RESET: the device was reset inside the span. */
	DRM_PERFCTR_SAMPLE_RESET = 1u << 8,
	/** @DRM_PERFCTR_SAMPLE_SUSPENDED: the device was suspended inside the span. */
	DRM_PERFCTR_SAMPLE_SUSPENDED = 1u << 9,
	/** @DRM_PERFCTR_SAMPLE_MULTIPLEXED: a block has STATE_MULTIPLEXED. */
	DRM_PERFCTR_SAMPLE_MULTIPLEXED = 1u << 10,
	/** @DRM_PERFCTR_SAMPLE_UNPLUGGED: the device is gone; nothing follows. */
	DRM_PERFCTR_SAMPLE_UNPLUGGED = 1u << 11,
};

/**
 * struct drm_perfctr_sample_header - first bytes of a sample
 *
 * Followed by @block_count blocks, the first at @header_size bytes from here,
 * each further one at the previous one's size.
 */
struct drm_perfctr_sample_header {
	/** @size: bytes of the whole sample, this header included; multiple of 8. */
	__u32 size;
	/** @header_size: bytes of this header; at least 64, multiple of 8. */
	__u16 header_size;
	/** @block_count: blocks that follow. */
	__u16 block_count;
	/** @seq: 0 for the first published sample of the session, then +1 each. */
	__u64 seq;
	/**
	 * @start_ns: CLOCK_MONOTONIC_RAW from which on counts are inside. Equal to
	 * the end_ns of the previous sample, if START is not between.
	 */
	__u64 start_ns;
	/** @end_ns: CLOCK_MONOTONIC_RAW up to which counts are inside. */
	__u64 end_ns;
	/** @user_data: from SAMPLE and STOP; from START for all others. */
	__u64 user_data;
	/** @flags: enum drm_perfctr_sample_flags. */
	__u32 flags;
	/**
	 * @merged_periods: periods that ended inside the span without a sample of
	 * their own, as there was no slot or the sampler, or the turn, came late. Each period that
	 * ends between START and STOP is either a sample with
	 * DRM_PERFCTR_SAMPLE_PERIODIC or one of these, in whatever sample comes next.
	 */
	__u32 merged_periods;
	/**
	 * @lost_ns: upper bound of the time inside the span whose counts the
	 * hardware lost, 0 if none were. That includes time in which it was awake
	 * and did not count: during a reset, or until it is started again.
	 */
	__u64 lost_ns;
	/**
	 * @merged_others: AUTOMATIC and IN_STREAM samples inside that had no slot, or came
	 * sooner than sessions made without CAP_PERFMON may have them.
	 */
	__u32 merged_others;
	/** @reserved: zero. */
	__u32 reserved;
};

/**
 * struct drm_perfctr_block_header - first bytes of a block
 *
 * Followed, at @header_size, by one u64 for each bit of @enable_mask, lowest
 * bit first. The value of a bit that is not in @valid_mask is zero and means
 * "not measured".
 */
struct drm_perfctr_block_header {
	/** @size: bytes of header and counters; multiple of 8. */
	__u32 size;
	/** @type: enum drm_perfctr_block_type. */
	__u16 type;
	/** @index: physical index; sparse masks keep their holes. */
	__u16 index;
	/** @section: bit n stands for counter 64 * section + n. */
	__u16 section;
	/** @set: enum drm_perfctr_set. */
	__u8 set;
	/** @clock: enum drm_perfctr_clock of @clock_cycles or DRM_PERFCTR_CLOCK_NONE. */
	__u8 clock;
	/** @states: enum drm_perfctr_block_states. */
	__u32 states;
	/** @clock_cycles: cycles of @clock in the span; 0 if the clock is unknown. */
	__u64 clock_cycles;
	/** @enable_mask: counters that are stored. */
	__u64 enable_mask;
	/** @valid_mask: counters that were measured, a subset of @enable_mask. */
	__u64 valid_mask;
	/** @capture_ns: when this block was read, relative to the sample's end_ns. */
	__s32 capture_ns;
	/** @header_size: bytes of this header; at least 48, multiple of 8. */
	__u16 header_size;
	/** @product: enum drm_perfctr_product. */
	__u16 product;
};

/**
 * struct drm_perfctr_mux_block_header - header of the NVIDIA block types (16-31)
 *
 * Their hardware has fewer counters than can be asked for; what does not fit
 * takes turns. As in SoC blocks, the counters are followed by one more u64 for
 * each of them: the time in ns in which that counter really ran. Value, time and
 * @time_enabled say what it would have been: value * time_enabled / time.
 * A counter that did not run at all in the span is not in valid_mask.
 */
struct drm_perfctr_mux_block_header {
	/** @block: the common part; its header_size covers this structure. */
	struct drm_perfctr_block_header block;
	/**
	 * @time_enabled: ns of the span in which the block counted for anybody. Those of
	 * PCOUNTER and MP blocks are of the hardware's clock, and may differ from the span
	 * by what a collection comes late.
	 */
	__u64 time_enabled;
	/** @time_running: ns in which the least lucky of the stored counters did. */
	__u64 time_running;
};

/** DRM_PERFCTR_PMU_NAME_BYTES - room for a PMU's name with its final NUL. */
#define DRM_PERFCTR_PMU_NAME_BYTES	32

/**
 * struct drm_perfctr_pmu_block_header - header of the SoC block types (32-63)
 *
 * The counters are followed by one more u64 for each of them: the time in ns
 * in which that counter really ran. A reader that does not care stops after
 * the counters.
 */
struct drm_perfctr_pmu_block_header {
	/** @block: the common part; its header_size covers this structure. */
	struct drm_perfctr_block_header block;
	/**
	 * @config: perf config of the event for DRM_PERFCTR_BLOCK_GENERIC_PMU;
	 * filter bits of config, without the event, for the other types.
	 */
	__u64 config;
	/** @config1: perf config1. */
	__u64 config1;
	/** @config2: perf config2. */
	__u64 config2;
	/** @time_enabled: ns in which the events wanted to count, all CPUs added up. */
	__u64 time_enabled;
	/** @time_running: ns in which the least lucky of them did. */
	__u64 time_running;
	/** @pmu_type: dynamic perf type number on the machine that sampled. */
	__u32 pmu_type;
	/** @cpu: the CPU that counted, -1 for several added up. */
	__s32 cpu;
	/** @pmu_name: the PMU's name, NUL terminated, cut to 31 characters. */
	char pmu_name[DRM_PERFCTR_PMU_NAME_BYTES];
};

/* --- events of the SoC blocks --------------------------------------------- */

/*
 * Bit n of the masks of a SoC block stands for the event with value n below;
 * section is always 0. In parentheses: the event's number in perf's config.
 * Filters are the PMU's own (see format/ in sysfs), in config, config1 and
 * config2 of the request; all zero: everything is counted.
 */

/**
 * enum drm_perfctr_ucf_event - events of DRM_PERFCTR_BLOCK_UCF
 *
 * SLC: system level cache. Unit: events, or bytes where the name says so.
 */
enum drm_perfctr_ucf_event {
	/** @DRM_PERFCTR_UCF_CYCLES: cycles of the fabric, dedicated counter (0x100000000). */
	DRM_PERFCTR_UCF_CYCLES = 0,
	/** @DRM_PERFCTR_UCF_BUS_CYCLES: cycles of the fabric (0x1d). */
	DRM_PERFCTR_UCF_BUS_CYCLES = 1,
	/** @DRM_PERFCTR_UCF_SLC_ALLOCATE: lines allocated in the SLC (0xf0). */
	DRM_PERFCTR_UCF_SLC_ALLOCATE = 2,
	/** @DRM_PERFCTR_UCF_SLC_WB: lines written back from the SLC (0xf3). */
	DRM_PERFCTR_UCF_SLC_WB = 3,
	/** @DRM_PERFCTR_UCF_SLC_REFILL_RD: lines filled by reads (0x109). */
	DRM_PERFCTR_UCF_SLC_REFILL_RD = 4,
	/** @DRM_PERFCTR_UCF_SLC_REFILL_WR: lines filled by writes (0x10a). */
	DRM_PERFCTR_UCF_SLC_REFILL_WR = 5,
	/** @DRM_PERFCTR_UCF_SLC_HIT_RD: reads that hit (0x119). */
	DRM_PERFCTR_UCF_SLC_HIT_RD = 6,
	/** @DRM_PERFCTR_UCF_SLC_ACCESS_DATALESS: accesses without data (0x183). */
	DRM_PERFCTR_UCF_SLC_ACCESS_DATALESS = 7,
	/** @DRM_PERFCTR_UCF_SLC_ACCESS_ATOMIC: atomic accesses (0x184). */
	DRM_PERFCTR_UCF_SLC_ACCESS_ATOMIC = 8,
	/** @DRM_PERFCTR_UCF_SLC_ACCESS_RD: reads (0x111). */
	DRM_PERFCTR_UCF_SLC_ACCESS_RD = 9,
	/** @DRM_PERFCTR_UCF_SLC_ACCESS_WR: writes (0x112). */
	DRM_PERFCTR_UCF_SLC_ACCESS_WR = 10,
	/** @DRM_PERFCTR_UCF_SLC_BYTES_RD: bytes read (0x113). */
	DRM_PERFCTR_UCF_SLC_BYTES_RD = 11,
	/** @DRM_PERFCTR_UCF_SLC_BYTES_WR: bytes written (0x114). */
	DRM_PERFCTR_UCF_SLC_BYTES_WR = 12,
	/** @DRM_PERFCTR_UCF_MEM_ACCESS_RD: reads that went to memory (0x121). */
	DRM_PERFCTR_UCF_MEM_ACCESS_RD = 13,
	/** @DRM_PERFCTR_UCF_MEM_ACCESS_WR: writes that went to memory (0x122). */
	DRM_PERFCTR_UCF_MEM_ACCESS_WR = 14,
	/** @DRM_PERFCTR_UCF_MEM_BYTES_RD: bytes read from memory (0x123). */
	DRM_PERFCTR_UCF_MEM_BYTES_RD = 15,
	/** @DRM_PERFCTR_UCF_MEM_BYTES_WR: bytes written to memory (0x124). */
	DRM_PERFCTR_UCF_MEM_BYTES_WR = 16,
	/** @DRM_PERFCTR_UCF_LOCAL_SNOOP: snoops of local caches (0x180). */
	DRM_PERFCTR_UCF_LOCAL_SNOOP = 17,
	/** @DRM_PERFCTR_UCF_EXT_SNP_ACCESS: snoops by another agent for an access (0x181). */
	DRM_PERFCTR_UCF_EXT_SNP_ACCESS = 18,
	/** @DRM_PERFCTR_UCF_EXT_SNP_EVICT: snoops by another agent for an eviction (0x182). */
	DRM_PERFCTR_UCF_EXT_SNP_EVICT = 19,
};

/**
 * enum drm_perfctr_pcie_event - events of DRM_PERFCTR_BLOCK_PCIE
 */
enum drm_perfctr_pcie_event {
	/** @DRM_PERFCTR_PCIE_RD_BYTES: bytes that devices read (0x0). */
	DRM_PERFCTR_PCIE_RD_BYTES = 0,
	/** @DRM_PERFCTR_PCIE_WR_BYTES: bytes that devices wrote (0x1). */
	DRM_PERFCTR_PCIE_WR_BYTES = 1,
	/** @DRM_PERFCTR_PCIE_RD_REQ: read requests (0x2). */
	DRM_PERFCTR_PCIE_RD_REQ = 2,
	/** @DRM_PERFCTR_PCIE_WR_REQ: write requests (0x3). */
	DRM_PERFCTR_PCIE_WR_REQ = 3,
	/** @DRM_PERFCTR_PCIE_RD_CUM_OUTS: read requests in flight, summed each cycle (0x4). */
	DRM_PERFCTR_PCIE_RD_CUM_OUTS = 4,
	/** @DRM_PERFCTR_PCIE_CYCLES: cycles of the SoC fabric (0x100000000). */
	DRM_PERFCTR_PCIE_CYCLES = 5,
};

/**
 * enum drm_perfctr_pcie_tgt_event - events of DRM_PERFCTR_BLOCK_PCIE_TGT
 */
enum drm_perfctr_pcie_tgt_event {
	/** @DRM_PERFCTR_PCIE_TGT_RD_BYTES: bytes read from PCIe BARs and CXL memory (0x0). */
	DRM_PERFCTR_PCIE_TGT_RD_BYTES = 0,
	/** @DRM_PERFCTR_PCIE_TGT_WR_BYTES: bytes written there (0x1). */
	DRM_PERFCTR_PCIE_TGT_WR_BYTES = 1,
	/** @DRM_PERFCTR_PCIE_TGT_RD_REQ: read requests (0x2). */
	DRM_PERFCTR_PCIE_TGT_RD_REQ = 2,
	/** @DRM_PERFCTR_PCIE_TGT_WR_REQ: write requests (0x3). */
	DRM_PERFCTR_PCIE_TGT_WR_REQ = 3,
	/** @DRM_PERFCTR_PCIE_TGT_CYCLES: cycles of the SoC fabric (0x4). */
	DRM_PERFCTR_PCIE_TGT_CYCLES = 4,
};

/**
 * enum drm_perfctr_cmem_latency_event - events of DRM_PERFCTR_BLOCK_CMEM_LATENCY
 */
enum drm_perfctr_cmem_latency_event {
	/** @DRM_PERFCTR_CMEM_LATENCY_CYCLES: cycles of the memory clock (0x0). */
	DRM_PERFCTR_CMEM_LATENCY_CYCLES = 0,
	/** @DRM_PERFCTR_CMEM_LATENCY_RD_REQ: reads of 32 bytes from local CPU memory (0x1). */
	DRM_PERFCTR_CMEM_LATENCY_RD_REQ = 1,
	/** @DRM_PERFCTR_CMEM_LATENCY_RD_CUM_OUTS: reads in flight, summed each cycle (0x2). */
	DRM_PERFCTR_CMEM_LATENCY_RD_CUM_OUTS = 2,
};

/**
 * enum drm_perfctr_c2c_event - events of NVLINK_C2C, NVCLINK and NVDLINK blocks
 *
 * in: from the remote device to this SoC; out: from this SoC to the remote
 * device. NVCLINK, and NVLINK_C2C between two SoCs, have no write events;
 * NVDLINK has CYCLES, IN_RD_CUM_OUTS and IN_RD_REQ only.
 */
enum drm_perfctr_c2c_event {
	/** @DRM_PERFCTR_C2C_CYCLES: cycles of the link (0x0). */
	DRM_PERFCTR_C2C_CYCLES = 0,
	/** @DRM_PERFCTR_C2C_IN_RD_CUM_OUTS: incoming reads in flight, summed each cycle (0x1). */
	DRM_PERFCTR_C2C_IN_RD_CUM_OUTS = 1,
	/** @DRM_PERFCTR_C2C_IN_RD_REQ: incoming reads (0x2). */
	DRM_PERFCTR_C2C_IN_RD_REQ = 2,
	/** @DRM_PERFCTR_C2C_IN_WR_CUM_OUTS: incoming writes in flight, summed each cycle (0x3). */
	DRM_PERFCTR_C2C_IN_WR_CUM_OUTS = 3,
	/** @DRM_PERFCTR_C2C_IN_WR_REQ: incoming writes (0x4). */
	DRM_PERFCTR_C2C_IN_WR_REQ = 4,
	/** @DRM_PERFCTR_C2C_OUT_RD_CUM_OUTS: outgoing reads in flight, summed each cycle (0x5). */
	DRM_PERFCTR_C2C_OUT_RD_CUM_OUTS = 5,
	/** @DRM_PERFCTR_C2C_OUT_RD_REQ: outgoing reads (0x6). */
	DRM_PERFCTR_C2C_OUT_RD_REQ = 6,
	/** @DRM_PERFCTR_C2C_OUT_WR_CUM_OUTS: outgoing writes in flight, summed each cycle (0x7). */
	DRM_PERFCTR_C2C_OUT_WR_CUM_OUTS = 7,
	/** @DRM_PERFCTR_C2C_OUT_WR_REQ: outgoing writes (0x8). */
	DRM_PERFCTR_C2C_OUT_WR_REQ = 8,
};

/* --- the ring ------------------------------------------------------------ */

/** DRM_PERFCTR_SLOT_ALIGN - slots and control areas start at multiples of it. */
#define DRM_PERFCTR_SLOT_ALIGN	64

/**
 * enum drm_perfctr_ring_state - @state of the control area
 */
enum drm_perfctr_ring_state {
	/** @DRM_PERFCTR_RING_ACTIVE: between START and STOP. */
	DRM_PERFCTR_RING_ACTIVE = 1u << 0,
	/**
	 * @DRM_PERFCTR_RING_DEAD: nothing will follow. A session that was not torn
	 * down by its owner has lost its device.
	 */
	DRM_PERFCTR_RING_DEAD = 1u << 1,
};

/**
 * struct drm_perfctr_ring_control - the two indices, shared with the kernel
 *
 * Both indices run freely, slot = index & (slots - 1), and the number of
 * published, unread samples is insert_idx - extract_idx; all slots are usable.
 *
 * Memory ordering: the kernel writes a sample, then @insert_idx with
 * store-release; user space reads @insert_idx with load-acquire, then the
 * sample. User space reads the sample, then writes @extract_idx with
 * store-release; the kernel reads @extract_idx with load-acquire before it
 * writes into the slot again.
 *
 * SETUP zeroes the whole area. After that the kernel never reads anything but
 * @extract_idx: by START, SAMPLE, STOP and STATUS and for each sample that is due,
 * maybe several times. Each read is one load, and its value is checked. One
 * outside [last accepted extract_idx, insert_idx] is ignored, and counted in
 * STATUS each time that it is read.
 */
struct drm_perfctr_ring_control {
	/** @extract_idx: next sample that user space will read; user space writes. */
	__u64 extract_idx;
	/** @user_reserved: zeroed by SETUP, never read or written by the kernel after that. */
	__u64 user_reserved[7];
	/** @insert_idx: next sample that the kernel will publish; the kernel writes. */
	__u64 insert_idx;
	/** @merged_periods: total of the published samples' merged_periods. */
	__u64 merged_periods;
	/** @lost_ns: total of the published samples' lost_ns. */
	__u64 lost_ns;
	/** @state: enum drm_perfctr_ring_state. */
	__u32 state;
	/** @pad: zero. */
	__u32 pad;
	/** @kernel_reserved: zero. */
	__u64 kernel_reserved[4];
};

/* --- QUERY --------------------------------------------------------------- */

/**
 * enum drm_perfctr_query_type - what DRM_IOCTL_PERFCTR_QUERY tells
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
 * struct drm_perfctr_query - argument of DRM_IOCTL_PERFCTR_QUERY
 *
 * With @pointer zero, @count and @stride are set to what is there and nothing
 * else happens. Otherwise up to @count elements are written, @stride bytes
 * apart; an element longer than the kernel's is filled with zeroes, a shorter
 * one gets the first @stride bytes. @count and @stride are then set to what
 * exists in full. No permission is needed.
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
 */
enum drm_perfctr_features {
	/** @DRM_PERFCTR_FEATURE_PERIODIC: periods are supported. */
	DRM_PERFCTR_FEATURE_PERIODIC = 1u << 0,
	/** @DRM_PERFCTR_FEATURE_STATES: block states are reported. */
	DRM_PERFCTR_FEATURE_STATES = 1u << 1,
	/** @DRM_PERFCTR_FEATURE_AUTOMATIC: hardware transitions give samples. */
	DRM_PERFCTR_FEATURE_AUTOMATIC = 1u << 2,
	/** @DRM_PERFCTR_FEATURE_PMU: SoC block types can be requested. */
	DRM_PERFCTR_FEATURE_PMU = 1u << 3,
	/** @DRM_PERFCTR_FEATURE_IN_STREAM: jobs can carry samples. */
	DRM_PERFCTR_FEATURE_IN_STREAM = 1u << 4,
	/** @DRM_PERFCTR_FEATURE_BO_CREATE: DRM_IOCTL_PERFCTR_BO_CREATE works. */
	DRM_PERFCTR_FEATURE_BO_CREATE = 1u << 5,
};

/**
 * struct drm_perfctr_device_info - what the device and the core can do
 */
struct drm_perfctr_device_info {
	/** @features: enum drm_perfctr_features. */
	__u32 features;
	/** @version: of this interface; grows with each addition, now 2. */
	__u32 version;
	/** @sample_header_size: bytes of struct drm_perfctr_sample_header. */
	__u32 sample_header_size;
	/** @block_header_size: bytes of struct drm_perfctr_block_header. */
	__u32 block_header_size;
	/** @pmu_block_header_size: bytes of struct drm_perfctr_pmu_block_header. */
	__u32 pmu_block_header_size;
	/** @ring_control_size: bytes of struct drm_perfctr_ring_control. */
	__u32 ring_control_size;
	/** @block_count: elements of DRM_PERFCTR_QUERY_BLOCKS. */
	__u32 block_count;
	/** @clock_count: elements of DRM_PERFCTR_QUERY_CLOCKS. */
	__u32 clock_count;
	/** @sets: bit n: set n exists. */
	__u32 sets;
	/** @active_set: the set in use, or DRM_PERFCTR_SET_PRIMARY. */
	__u32 active_set;
	/** @max_slots: largest number of slots of a ring. */
	__u32 max_slots;
	/** @max_sessions_per_file: sessions that one open file can hold. */
	__u32 max_sessions_per_file;
	/** @max_requests: block requests of one SETUP. */
	__u32 max_requests;
	/** @product: enum drm_perfctr_product of the GPU blocks. */
	__u32 product;
	/** @min_period_ns: shortest period for a privileged user. */
	__u64 min_period_ns;
	/**
	 * @unprivileged_min_period_ns: shortest period for all others. Their PERIODIC
	 * and AUTOMATIC samples come in turns, at least a quarter of that apart, each
	 * of them for all such sessions of the device that wait.
	 */
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
 * DRM_PERFCTR_INDEX_ALL: which PMUs exist is told by sysfs.
 */
struct drm_perfctr_block_info {
	/** @type: enum drm_perfctr_block_type. */
	__u16 type;
	/** @index: physical index. */
	__u16 index;
	/** @counters: number of counter positions, available or not. */
	__u16 counters;
	/** @product: enum drm_perfctr_product. */
	__u16 product;
	/** @sets: bit n: this block counts in set n. */
	__u32 sets;
	/** @clock: enum drm_perfctr_clock or DRM_PERFCTR_CLOCK_NONE. */
	__u32 clock;
	/** @available: counters that exist, one mask per section, in the primary set. */
	__u64 available[DRM_PERFCTR_BLOCK_INFO_SECTIONS];
	/**
	 * @set_available: the same for the secondary ([0]) and the tertiary ([1])
	 * set; zero where @sets lacks the set.
	 */
	__u64 set_available[2][DRM_PERFCTR_BLOCK_INFO_SECTIONS];
};

/**
 * struct drm_perfctr_clock_info - one clock domain
 */
struct drm_perfctr_clock_info {
	/** @clock: enum drm_perfctr_clock. */
	__u32 clock;
	/** @pad: zero. */
	__u32 pad;
	/** @frequency_hz: at the time of the query, 0 if unknown. */
	__u64 frequency_hz;
	/** @max_frequency_hz: highest, 0 if unknown. */
	__u64 max_frequency_hz;
	/** @name: NUL terminated. */
	char name[16];
};

/* --- CONTROL ------------------------------------------------------------- */

/**
 * enum drm_perfctr_cmd - command of DRM_IOCTL_PERFCTR_CONTROL
 */
enum drm_perfctr_cmd {
	/** @DRM_PERFCTR_CMD_SETUP: create a session; struct drm_perfctr_setup. */
	DRM_PERFCTR_CMD_SETUP = 0,
	/**
	 * @DRM_PERFCTR_CMD_TEARDOWN: end a session in any state and release its
	 * handle; no structure, size and pointer must be zero. An active session
	 * loses what it has not published: STOP first.
	 */
	DRM_PERFCTR_CMD_TEARDOWN = 1,
	/** @DRM_PERFCTR_CMD_START: begin counting; struct drm_perfctr_start. */
	DRM_PERFCTR_CMD_START = 2,
	/** @DRM_PERFCTR_CMD_STOP: publish the rest, stop; struct drm_perfctr_stop. */
	DRM_PERFCTR_CMD_STOP = 3,
	/** @DRM_PERFCTR_CMD_SAMPLE: publish a sample; struct drm_perfctr_sample. */
	DRM_PERFCTR_CMD_SAMPLE = 4,
	/** @DRM_PERFCTR_CMD_STATUS: tell the totals; struct drm_perfctr_status. */
	DRM_PERFCTR_CMD_STATUS = 5,
};

/**
 * struct drm_perfctr_control - argument of DRM_IOCTL_PERFCTR_CONTROL
 *
 * A command that has a structure and is given a zero @pointer sets @size to
 * the kernel's size of that structure, does nothing else and succeeds.
 * Success is always 0. Commands are synchronous: when SAMPLE or STOP returns
 * 0 the sample is in the ring. They wait for the hardware for a bounded time;
 * hardware that does not answer gives a sample with DRM_PERFCTR_SAMPLE_ERROR.
 * The hardware takes one sample at a time, for everybody: sessions that were
 * made without CAP_PERFMON wait, all of a user's together, until
 * unprivileged_min_period_ns / 4 has passed since their last START or SAMPLE,
 * of sessions that are gone, too. A user namespace is one user.
 *
 * Errors of every command: -EINVAL unknown @cmd or a field that must be zero
 * is not (the kernel's debug log, drm.debug=0x2, names it); -EINVAL @size
 * below 8; -E2BIG the structure is longer than the kernel's and not zero
 * there, or longer than 4096 bytes; -EFAULT @pointer; -ENOENT @handle is no
 * session of this file (all but SETUP); -ENODEV the device was unplugged (the
 * ring's state says so too); -EINTR a signal came while waiting for another
 * session's turn (all but TEARDOWN): nothing was done, repeat the command.
 */
struct drm_perfctr_control {
	/** @cmd: enum drm_perfctr_cmd. */
	__u32 cmd;
	/** @handle: session of this file; in: all but SETUP, out: SETUP. Never 0. */
	__u32 handle;
	/** @size: bytes at @pointer. */
	__u64 size;
	/** @pointer: user address of the command's structure. */
	__u64 pointer;
};

/**
 * enum drm_perfctr_request_flags - @flags of struct drm_perfctr_block_request
 */
enum drm_perfctr_request_flags {
	/**
	 * @DRM_PERFCTR_REQUEST_AVAILABLE: drop counters that a block does not have
	 * from @mask instead of failing; a block with none left is left out.
	 */
	DRM_PERFCTR_REQUEST_AVAILABLE = 1u << 0,
};

/**
 * DRM_PERFCTR_MAX_SOC_COUNTERS - counters of all SoC blocks of one session
 *
 * Each is a perf event, or one for each CPU, and perf needs longer for each
 * further one. The sessions of a user without CAP_PERFMON have twice as many
 * together.
 */
#define DRM_PERFCTR_MAX_SOC_COUNTERS	256

/** DRM_PERFCTR_CPU_ANY - SoC blocks: the PMU's own CPU, or all CPUs added up. */
#define DRM_PERFCTR_CPU_ANY	(-1)

/**
 * struct drm_perfctr_block_request - counters of one block that a session wants
 */
struct drm_perfctr_block_request {
	/** @type: enum drm_perfctr_block_type. */
	__u16 type;
	/**
	 * @index: physical index or DRM_PERFCTR_INDEX_ALL. For
	 * DRM_PERFCTR_BLOCK_GENERIC_PMU any number below that, chosen by user
	 * space to tell the blocks apart.
	 */
	__u16 index;
	/** @section: @mask covers counters from 64 * section on. */
	__u16 section;
	/** @set: enum drm_perfctr_set, the same for all GPU blocks of a session; 0 for SoC. */
	__u8 set;
	/** @pad: must be zero. */
	__u8 pad;
	/** @flags: enum drm_perfctr_request_flags. */
	__u32 flags;
	/**
	 * @cpu: SoC blocks: CPU to count on, or DRM_PERFCTR_CPU_ANY. Must be zero
	 * for GPU blocks.
	 */
	__s32 cpu;
	/** @mask: counters; not zero. 1 for DRM_PERFCTR_BLOCK_GENERIC_PMU. */
	__u64 mask;
	/** @pmu_type: SoC blocks: the type number of the PMU from sysfs; else zero. */
	__u32 pmu_type;
	/** @pad2: must be zero. */
	__u32 pad2;
	/**
	 * @config: SoC blocks: perf config (GENERIC_PMU) or the filter bits of it
	 * (all others, where @mask selects events of the catalogue); else zero.
	 */
	__u64 config;
	/** @config1: SoC blocks: perf config1, else zero. */
	__u64 config1;
	/** @config2: SoC blocks: perf config2, else zero. */
	__u64 config2;
};

/**
 * enum drm_perfctr_setup_flags - @flags of struct drm_perfctr_setup
 */
enum drm_perfctr_setup_flags {
	/**
	 * @DRM_PERFCTR_SETUP_TEST_ONLY: check everything but buffers and eventfd,
	 * fill in the results, create nothing; limits of sessions and of SoC
	 * counters are checked as if it did. ring_handle, control_handle, both
	 * offsets must be zero and eventfd -1.
	 */
	DRM_PERFCTR_SETUP_TEST_ONLY = 1u << 0,
	/** @DRM_PERFCTR_SETUP_KEEP_AWAKE: keep the GPU powered while active. */
	DRM_PERFCTR_SETUP_KEEP_AWAKE = 1u << 1,
	/**
	 * @DRM_PERFCTR_SETUP_AUTOMATIC: publish also when power or protected mode of
	 * the hardware changed; transitions close together may share a sample.
	 */
	DRM_PERFCTR_SETUP_AUTOMATIC = 1u << 2,
};

/**
 * struct drm_perfctr_setup - DRM_PERFCTR_CMD_SETUP
 *
 * Errors besides the common ones:
 * -EACCES  counters are system-wide and the caller may not see them: needs
 *          CAP_PERFMON, or sysctl dev.perfctr.paranoid=0 set by root;
 *          DRM_PERFCTR_BLOCK_GENERIC_PMU always needs CAP_PERFMON, the other
 *          SoC blocks CAP_PERFMON or sysctl kernel.perf_event_paranoid=0 besides
 * -EPERM   @period_ns is shorter than what the caller may use
 * -EINVAL  @slots zero or no power of two; an offset not a multiple of 64;
 *          @request_count zero; @request_stride below the size of version 1,
 *          above 4096 or no multiple of 8; a request with a zero @mask, with counters that
 *          the block lacks, with a set that differs from the others', with SoC
 *          fields set for a GPU block or the reverse, with bits that are no
 *          filter of the block's PMU; nothing left of all requests with
 *          DRM_PERFCTR_REQUEST_AVAILABLE; @watermark above @slots
 * -ERANGE  @slots above max_slots; ring above max_ring_bytes; @period_ns
 *          beyond min_period_ns..max_period_ns
 * -E2BIG   @request_count above max_requests, more than 65535 blocks, more
 *          than DRM_PERFCTR_MAX_SOC_COUNTERS counters in SoC blocks
 * -ENXIO   no block of that type and index, or no such section
 * -EOPNOTSUPP the set does not exist; the kernel has no perf events; the ring
 *          or the control buffer is imported or not plain memory
 * -EEXIST  the same block and section is requested twice; SoC blocks may be
 *          requested again with other filters
 * -EBUSY   another set is in use on this device
 * -ENOENT  no buffer with that handle; no PMU with that type, or it is not of
 *          the block's kind, or it has no such event
 * -ENOSPC  @ring_offset + ring_bytes or @control_offset + control size does
 *          not fit the buffer
 * -EBADF   @eventfd is not an open file; -EINVAL it is no eventfd
 * -EMFILE  max_sessions_per_file reached; -ENFILE limit of the device reached
 * -EDQUOT  the caller's user has its share, see sysctl dev.perfctr.max_user_sessions
 *          and max_user_ring_kb, and DRM_PERFCTR_MAX_SOC_COUNTERS; nobody with
 *          CAP_PERFMON gets this
 * -ENOMEM  out of memory
 * For SoC blocks errors of perf and of the PMU itself are passed on, see its
 * documentation. With DRM_PERFCTR_CPU_ANY an event counts on every CPU that its
 * PMU counts on: -ENOENT, -EINVAL and -ENODEV of a PMU say that it does not
 * count on that CPU, and are errors only if no CPU is left; any other error of
 * one CPU is SETUP's. The right to count is checked here, not by START.
 */
struct drm_perfctr_setup {
	/** @flags: enum drm_perfctr_setup_flags. */
	__u32 flags;
	/** @slots: slots of the ring, a power of two, 1..max_slots. */
	__u32 slots;
	/** @ring_handle: GEM handle of the ring's buffer. */
	__u32 ring_handle;
	/** @control_handle: GEM handle of the control area's buffer; may be the same. */
	__u32 control_handle;
	/** @ring_offset: of slot 0 in its buffer, in bytes; multiple of 64. */
	__u64 ring_offset;
	/** @control_offset: of the control area, in bytes; multiple of 64. */
	__u64 control_offset;
	/**
	 * @eventfd: gets +1 for each published sample while @watermark or more are
	 * unread, at STOP and when the ring dies, each after insert_idx and state of the
	 * control area were written; or -1. Those of a batch come together, see
	 * DRM_PERFCTR_STATUS_BATCHED; a reader may be woken more than once.
	 */
	__s32 eventfd;
	/**
	 * @watermark: unread samples that wake, 0..slots; 0 means 1, and slots means
	 * slots - 1, as one slot is kept for the sample of STOP.
	 */
	__u32 watermark;
	/** @period_ns: time between periodic samples, 0 = manual. */
	__u64 period_ns;
	/** @requests: user address of the struct drm_perfctr_block_request array. */
	__u64 requests;
	/** @request_count: elements of @requests. */
	__u32 request_count;
	/** @request_stride: bytes between elements of @requests. */
	__u32 request_stride;
	/** @slot_stride: out: bytes between slots. */
	__u32 slot_stride;
	/** @sample_size: out: bytes of each sample. */
	__u32 sample_size;
	/** @ring_bytes: out: slots * slot_stride. */
	__u64 ring_bytes;
	/** @block_count: out: blocks in each sample. */
	__u32 block_count;
	/** @pad: must be zero. */
	__u32 pad;
};

/**
 * struct drm_perfctr_start - DRM_PERFCTR_CMD_START
 *
 * Counts from before START are in no sample. Errors besides the common ones:
 * -EALREADY the session is active; -ENOSPC no slot is free for the final
 * sample; -ETIMEDOUT or -EIO the hardware could not be started; what perf says
 * if a CPU that came online since SETUP cannot be counted on.
 */
struct drm_perfctr_start {
	/** @user_data: for the periodic and automatic samples. */
	__u64 user_data;
};

/**
 * struct drm_perfctr_stop - DRM_PERFCTR_CMD_STOP
 *
 * Always delivers: START made sure that a slot is left. Errors besides the
 * common ones: -EALREADY the session is not active.
 */
struct drm_perfctr_stop {
	/** @user_data: for the final sample. */
	__u64 user_data;
};

/**
 * struct drm_perfctr_sample - DRM_PERFCTR_CMD_SAMPLE
 *
 * Also for periodic sessions, in which the sample then comes in addition.
 * Errors besides the common ones: -ENOSPC only the slot kept for STOP is
 * free: nothing was lost, the counts will be in the next sample; -ENOTCONN
 * the session is not active.
 */
struct drm_perfctr_sample {
	/** @user_data: for this sample. */
	__u64 user_data;
};

/**
 * enum drm_perfctr_status_flags - @flags of struct drm_perfctr_status
 *
 * None says that the device is gone: STATUS fails with -ENODEV then, as every
 * ioctl of the file does. DRM_PERFCTR_RING_DEAD and, for a session that was
 * active, DRM_PERFCTR_SAMPLE_UNPLUGGED in its last sample tell it without ioctl.
 */
enum drm_perfctr_status_flags {
	/** @DRM_PERFCTR_STATUS_ACTIVE: between START and STOP. */
	DRM_PERFCTR_STATUS_ACTIVE = 1u << 0,
	/**
	 * @DRM_PERFCTR_STATUS_BATCHED: the hardware notes the counts of each period by
	 * itself, and its notes become samples in batches: many at once, with the
	 * times of the periods. Else a timer of the kernel makes each sample. What is
	 * in effect depends on what all sessions of the device count, and may change
	 * whenever one starts or stops. Since version 2.
	 */
	DRM_PERFCTR_STATUS_BATCHED = 1u << 1,
};

/**
 * struct drm_perfctr_status - DRM_PERFCTR_CMD_STATUS, filled by the kernel
 *
 * A structure shorter than the kernel's gets the first @size bytes. All totals
 * are since SETUP. What the caller passes in is not looked at.
 */
struct drm_perfctr_status {
	/** @flags: enum drm_perfctr_status_flags. */
	__u32 flags;
	/** @slots: as given to SETUP. */
	__u32 slots;
	/** @insert_idx: the kernel's own; also the number of published samples. */
	__u64 insert_idx;
	/** @extract_idx: last value accepted from the control area. */
	__u64 extract_idx;
	/** @merged_periods: total in published samples. */
	__u64 merged_periods;
	/** @pending_merged: due samples that wait for a free slot now. */
	__u64 pending_merged;
	/** @lost_ns: total in published samples. */
	__u64 lost_ns;
	/** @errors: published samples with DRM_PERFCTR_SAMPLE_ERROR. */
	__u64 errors;
	/** @overflows: published samples with DRM_PERFCTR_SAMPLE_OVERFLOW. */
	__u64 overflows;
	/** @resets: published samples with DRM_PERFCTR_SAMPLE_RESET. */
	__u64 resets;
	/** @bad_extract: impossible values of extract_idx that were ignored. */
	__u64 bad_extract;
	/** @ring_full: SAMPLE commands that failed with -ENOSPC. */
	__u64 ring_full;
	/**
	 * @wakeups: how often there was something for the eventfd; all samples of a
	 * batch are once, however often their reader is woken.
	 */
	__u64 wakeups;
	/** @merged_others: total in published samples. */
	__u64 merged_others;
};

/* --- BO_CREATE ----------------------------------------------------------- */

/**
 * struct drm_perfctr_bo_create - argument of DRM_IOCTL_PERFCTR_BO_CREATE
 *
 * A plain memory buffer for rings and control areas, zeroed. Released with
 * DRM_IOCTL_GEM_CLOSE. Errors: -EINVAL @flags or @pad not zero, @size zero;
 * -ERANGE @size above max_ring_bytes + 1 MiB; -ENOMEM; -ENFILE the system's
 * limit of files (sysctl fs.file-max), not for CAP_SYS_ADMIN; -ENODEV the device
 * was unplugged.
 */
struct drm_perfctr_bo_create {
	/** @size: in: bytes; out: rounded up to pages. */
	__u64 size;
	/** @flags: must be zero. */
	__u32 flags;
	/** @handle: out: GEM handle of this file. */
	__u32 handle;
	/** @mmap_offset: out: offset for mmap() of the DRM file. */
	__u64 mmap_offset;
	/** @pad: must be zero. */
	__u64 pad;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_PERFCTR_DRM_H_ */
