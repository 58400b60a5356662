/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note OR MIT */
/*
 * The virtual SoC (vsoc.ko): jobs for its GPU and its fabric.
 *
 * The counters of the device are read with the ioctls of perfctr_drm.h, which
 * vsoc offers at their usual numbers. The ioctls here submit work to be counted:
 *
 *   DRM_IOCTL_VSOC_GET_INFO     shape and limits of the device
 *   DRM_IOCTL_VSOC_SUBMIT       queue a job, an array of commands
 *   DRM_IOCTL_VSOC_WAIT         wait for a job
 *   DRM_IOCTL_VSOC_CTX_CREATE   create an additional queue
 *   DRM_IOCTL_VSOC_CTX_DESTROY  destroy it, cancel its jobs
 *   DRM_IOCTL_VSOC_BO_CREATE    create memory for MP counters
 *   DRM_IOCTL_VSOC_CTX_HOLD     keep a queue from running, or let it run again
 *   DRM_IOCTL_VSOC_CONTROL_INFO what PERF_CONTROL offers, see below
 *
 * lab/vsoc/README.md lists what each command adds to each counter, as exact integer rules. All
 * counts of a job are complete before WAIT reports it done or its fence signals.
 *
 * All structures are little-endian, have the same layout for 32- and 64-bit userspace and are
 * 8-byte aligned. They grow at the end: a shorter structure is extended with zeroes, a longer one
 * must be zero there, else -E2BIG. Members named pad or reserved and unknown flags must be zero,
 * else -EINVAL. The kernel's debug log (drm.debug=0x2) names the field of every rejection.
 *
 * Errors of every ioctl: -EFAULT a pointer is wrong; -ENODEV the device was unplugged.
 */
#ifndef _UAPI_VSOC_DRM_H_
#define _UAPI_VSOC_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Driver-private ioctl numbers, relative to DRM_COMMAND_BASE. */
#define DRM_VSOC_GET_INFO 0x00
#define DRM_VSOC_SUBMIT 0x01
#define DRM_VSOC_WAIT 0x02
#define DRM_VSOC_CTX_CREATE 0x03
#define DRM_VSOC_CTX_DESTROY 0x04
#define DRM_VSOC_BO_CREATE 0x05
#define DRM_VSOC_CTX_HOLD 0x06
#define DRM_VSOC_CONTROL_INFO 0x07

#define DRM_IOCTL_VSOC_GET_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_GET_INFO, struct drm_vsoc_get_info)
#define DRM_IOCTL_VSOC_SUBMIT DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_SUBMIT, struct drm_vsoc_submit)
#define DRM_IOCTL_VSOC_WAIT DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_WAIT, struct drm_vsoc_wait)
#define DRM_IOCTL_VSOC_CTX_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_CTX_CREATE, struct drm_vsoc_ctx_create)
#define DRM_IOCTL_VSOC_CTX_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_CTX_DESTROY, struct drm_vsoc_ctx_destroy)
#define DRM_IOCTL_VSOC_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_BO_CREATE, struct drm_vsoc_bo_create)
#define DRM_IOCTL_VSOC_CTX_HOLD \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VSOC_CTX_HOLD, struct drm_vsoc_ctx_hold)
#define DRM_IOCTL_VSOC_CONTROL_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VSOC_CONTROL_INFO, struct drm_vsoc_get_info)

#define DRM_VSOC_PRODUCT_CSF 0x0100 /* product number of the CSF-style GPU, see perfctr_drm.h */

/* --- GET_INFO ------------------------------------------------------------ */

/* struct drm_vsoc_info - shape and limits of the device */
struct drm_vsoc_info {
	__u32 version; /* of this interface; grows with each change, now 8 */
	__u32 counters_per_block; /* counter positions of a GPU block, 64 or 128 */
	__u64 shader_present; /* bit n: shader core n exists */
	__u32 l2_slices; /* L2 slices, one MEMSYS block each */
	__u32 max_commands; /* commands of one job */
	__u32 max_contexts; /* contexts of one open file, the default one included */
	__u32 max_queued_jobs; /* unfinished jobs of one context */
	__u64 max_units; /* largest value of a command's amounts (vertices, bytes, ...) */
	__u64 top_hz; /* nominal clock of firmware and command stream hardware */
	__u64 coregroup_hz; /* nominal clock of tiler and L2 */
	__u64 shader_hz; /* nominal clock of the shader cores */
	__u64 max_wait_ns; /* longest time that one WAIT sleeps */
	__u32 sockets; /* sockets of the modelled SoC */
	__u32 root_complexes; /* PCIe root complexes of each socket */
	__u32 root_ports; /* root ports of each root complex */
	__u32 gpus; /* GPUs behind each socket's NVLink-C2C; this one is number 0 */
	__u32 max_listing; /* instructions of one listing. Since version 2, like the following. */
	__u32 max_steps; /* instructions that one thread may reach until it ends */
	__u64 max_job_steps; /* sum over the commands of a job, one thread each */
};

/*
 * struct drm_vsoc_get_info - argument of DRM_IOCTL_VSOC_GET_INFO
 *
 * With @pointer zero, only @size is set, to the kernel's size of struct drm_vsoc_info. Otherwise
 * @size bytes are written; those beyond the kernel's size are zero. No permission is needed.
 *
 * Errors besides the common ones: -EINVAL @size is zero, not a multiple of 8, or above 4096.
 *
 * CONTROL_INFO has the same argument for struct drm_perfctr_control_info of
 * drm/drm_perfctr_control.h, which panthor's DEV_QUERY has; the device then has PERF_CONTROL at the
 * number that it has on panthor. Not with product nv50: -EOPNOTSUPP; not on 32-bit kernels.
 */
struct drm_vsoc_get_info {
	__u64 pointer; /* user address of a struct drm_vsoc_info, or zero */
	__u32 size; /* in: bytes at @pointer; out: the kernel's size */
	__u32 pad;
};

/* --- commands ------------------------------------------------------------ */

/* enum drm_vsoc_cmd_type - @type of struct drm_vsoc_command; the member that it uses */
enum drm_vsoc_cmd_type {
	DRM_VSOC_CMD_DRAW = 1, /* vertices, primitives, fragments; draw */
	DRM_VSOC_CMD_COMPUTE = 2, /* threads on the shader cores; compute */
	DRM_VSOC_CMD_COPY = 3, /* memory traffic of any initiator; copy */
	DRM_VSOC_CMD_PCIE = 4, /* traffic of a PCIe root complex; pcie */
	DRM_VSOC_CMD_WAIT = 5, /* pass time; wait */
	DRM_VSOC_CMD_SAMPLE = 6, /* sample a session; sample */
	/* program MP counters; methods. Since version 3, like the next. */
	DRM_VSOC_CMD_METHODS = 7,
	DRM_VSOC_CMD_MP_STORE = 8, /* store MP counters; mp_store */
	DRM_VSOC_CMD_CORE = 9, /* a CPU core copies an array; core. Since version 7. */
};

/* enum drm_vsoc_initiator - source of memory accesses */
enum drm_vsoc_initiator {
	DRM_VSOC_INITIATOR_GPU = 0, /* this GPU, through its L2 (counted in MEMSYS) */
	DRM_VSOC_INITIATOR_CPU = 1, /* a CPU of @socket */
	DRM_VSOC_INITIATOR_NONCPU = 2, /* another device of @socket */
	DRM_VSOC_INITIATOR_REMOTE = 3, /* the other socket */
};

/* enum drm_vsoc_home - memory of an address, seen from @socket */
enum drm_vsoc_home {
	DRM_VSOC_HOME_CMEM = 0, /* DRAM of the socket's CPUs */
	DRM_VSOC_HOME_GMEM = 1, /* memory of the GPU behind NVLink-C2C */
	DRM_VSOC_HOME_CXL = 2, /* CXL memory of the socket */
	DRM_VSOC_HOME_PCIE_PEER = 3, /* memory of a PCIe device */
	DRM_VSOC_HOME_REMOTE = 4, /* the other socket */
};

#define DRM_VSOC_LINE_BYTES 64 /* unit of all memory traffic, a cache line */

/*
 * struct drm_vsoc_cmd_draw - render
 *
 * Amounts are 0..max_units. Traffic of the GPU goes to home CMEM of socket 0.
 */
struct drm_vsoc_cmd_draw {
	__u64 vertices; /* vertices shaded */
	__u64 primitives; /* primitives assembled */
	__u64 fragments; /* fragments shaded */
	__u64 texels; /* texels fetched by all fragments together */
	__u64 primitives_culled; /* primitives that the tiler drops, at most @primitives */
	/* part of @primitives; the rest are triangles. Since version 6, like the next. */
	__u64 points;
	__u64 lines; /* part of @primitives, at most what @points leaves */
	__u64 streamed; /* primitives written by stream output, at most @primitives */
};

/*
 * enum drm_vsoc_opcode - @opcode of struct drm_vsoc_instruction
 *
 * Named after the shader instructions whose counting is modelled; modifiers are ignored (IMAD.MOV
 * and IMAD.WIDE are IMAD). The upper byte is the class: 1 integer, 2 single precision, 3 load and
 * store, 4 control, 5 conversion, 6 miscellaneous, 7 move. Operands are not modelled.
 */
enum drm_vsoc_opcode {
	DRM_VSOC_OP_BMSK = 0x100,
	DRM_VSOC_OP_BREV = 0x101,
	DRM_VSOC_OP_FLO = 0x102,
	DRM_VSOC_OP_IABS = 0x103,
	DRM_VSOC_OP_IADD = 0x104,
	DRM_VSOC_OP_IADD3 = 0x105,
	DRM_VSOC_OP_IADD32I = 0x106,
	DRM_VSOC_OP_IDP = 0x107,
	DRM_VSOC_OP_IDP4A = 0x108,
	DRM_VSOC_OP_IMAD = 0x109,
	DRM_VSOC_OP_IMMA = 0x10a,
	DRM_VSOC_OP_IMNMX = 0x10b,
	DRM_VSOC_OP_IMUL = 0x10c,
	DRM_VSOC_OP_IMUL32I = 0x10d,
	DRM_VSOC_OP_ISCADD = 0x10e,
	DRM_VSOC_OP_ISCADD32I = 0x10f,
	DRM_VSOC_OP_ISETP = 0x110,
	DRM_VSOC_OP_LEA = 0x111,
	DRM_VSOC_OP_LOP = 0x112,
	DRM_VSOC_OP_LOP3 = 0x113,
	DRM_VSOC_OP_LOP32I = 0x114,
	DRM_VSOC_OP_POPC = 0x115,
	DRM_VSOC_OP_SHF = 0x116,
	DRM_VSOC_OP_SHL = 0x117,
	DRM_VSOC_OP_SHR = 0x118,
	DRM_VSOC_OP_VABSDIFF = 0x119,
	DRM_VSOC_OP_VABSDIFF4 = 0x11a,
	DRM_VSOC_OP_FADD = 0x200,
	DRM_VSOC_OP_FMUL = 0x201,
	DRM_VSOC_OP_FSEL = 0x202,
	DRM_VSOC_OP_FSETP = 0x203,
	DRM_VSOC_OP_LDG = 0x300, /* load a line of global memory per warp */
	DRM_VSOC_OP_STG = 0x301, /* store a line of global memory per warp */
	DRM_VSOC_OP_LDS = 0x302, /* load from memory of the core */
	DRM_VSOC_OP_STS = 0x303, /* store to memory of the core */
	DRM_VSOC_OP_BRA = 0x400, /* go to @target if the guard is true */
	DRM_VSOC_OP_EXIT = 0x401, /* the thread ends if the guard is true */
	DRM_VSOC_OP_I2F = 0x500,
	DRM_VSOC_OP_S2R = 0x600,
	DRM_VSOC_OP_NOP = 0x601,
	DRM_VSOC_OP_BAR = 0x602, /* barrier */
	DRM_VSOC_OP_PMTRIG = 0x603, /* fire the profiler triggers in @target */
	DRM_VSOC_OP_MOV = 0x700,
	DRM_VSOC_OP_SHFL = 0x701, /* move between threads of a warp */
};

/* enum drm_vsoc_guard - @guard of struct drm_vsoc_instruction */
enum drm_vsoc_guard {
	DRM_VSOC_GUARD_TRUE = 0, /* no guard predicate, or PT */
	DRM_VSOC_GUARD_FALSE = 1, /* !PT */
	/*
	 * true the first @guard_times times that a thread reaches it, then false once, then
	 * repeated. A loop of N iterations ends with a BRA whose guard is true N - 1 times, even in
	 * a nested loop
	 */
	DRM_VSOC_GUARD_TIMES = 2,
};

/* struct drm_vsoc_instruction - one instruction of a listing */
struct drm_vsoc_instruction {
	__u16 opcode; /* enum drm_vsoc_opcode */
	__u8 guard; /* enum drm_vsoc_guard */
	__u8 pad;
	__u32 guard_times; /* for DRM_VSOC_GUARD_TIMES, else zero */
	/*
	 * for a BRA, index of an instruction in the listing; for a PMTRIG, mask of triggers,
	 * 1..255; else zero
	 */
	__u32 target;
	__u32 reserved;
};

/*
 * struct drm_vsoc_cmd_compute - run threads on the shader cores
 *
 * All threads are equal: they execute @instructions of a fixed mix, or a listing. A thread begins
 * at the first instruction of its listing, and must reach an EXIT whose guard is true within
 * max_steps instructions, including those with a false guard.
 *
 * Errors of SUBMIT because of a listing: -EINVAL a field of an instruction is out of range, the
 * thread runs past the end, or @instructions is not zero; -E2BIG @listing_count above max_listing,
 * or all listings of the job together take more than max_job_steps instructions and steps; -ELOOP
 * the thread has not ended after max_steps; -EINTR a fatal signal arrived meanwhile.
 *
 * Traffic of the GPU goes to home CMEM of socket 0.
 */
struct drm_vsoc_cmd_compute {
	__u64 threads; /* 0..max_units */
	__u32 instructions; /* number executed by each thread, 0..65535; 0 with a listing */
	__u32 listing_count; /* elements of @listing, 0..max_listing; 0: no listing */
	__u64 listing; /* user address of an array of struct drm_vsoc_instruction, or zero */
	/* bytes between elements of @listing, 16..4096, a multiple of 8; zero without a listing */
	__u32 listing_stride;
	__u32 pad;
};

/* enum drm_vsoc_copy_flags - @flags of struct drm_vsoc_cmd_copy */
enum drm_vsoc_copy_flags {
	DRM_VSOC_COPY_READ = 1u << 0, /* @bytes are read from the home */
	DRM_VSOC_COPY_WRITE = 1u << 1, /* @bytes are written to the home */
	/* @bytes are modified by the home's cache. Since version 5, like the next. */
	DRM_VSOC_COPY_ATOMIC = 1u << 2,
	DRM_VSOC_COPY_DATALESS = 1u << 3, /* caches are cleaned and invalidated for @bytes */
};

/*
 * struct drm_vsoc_cmd_copy - memory traffic
 *
 * With two flags, @bytes are accessed in each of both ways; no or more flags are -EINVAL, and so
 * are ATOMIC and DATALESS of the GPU. How long it takes, and what the caches have, depends on the
 * state of the memory system; a command takes at least the time in which it issues its requests.
 */
struct drm_vsoc_cmd_copy {
	__u64 bytes; /* 0..max_units, multiple of DRM_VSOC_LINE_BYTES */
	__u64 address; /* physical address in the home, multiple of DRM_VSOC_LINE_BYTES */
	__u64 reserved; /* zero; before version 5 an amount of hits */
	__u32 flags; /* enum drm_vsoc_copy_flags */
	__u32 initiator; /* enum drm_vsoc_initiator */
	__u32 home; /* enum drm_vsoc_home */
	__u32 socket; /* socket of the home and of the initiator, below sockets */
	__u32 reserved2; /* zero; before version 5 a latency */
	__u32 gpu; /* number of the GPU of home GMEM, below gpus; else zero */
	/*
	 * bytes per second at which requests are issued, all flags together, 10^6..max_units;
	 * 0: 16 * 10^9, for the GPU what its L2 can. Since version 5, like the next.
	 */
	__u64 rate;
	/* requests in flight at most, of each flag, 1..256; 0: 64, GPU: 8 per slice */
	__u32 window;
	__u32 pad;
};

/* enum drm_vsoc_pcie_flags - @flags of struct drm_vsoc_cmd_pcie */
enum drm_vsoc_pcie_flags {
	DRM_VSOC_PCIE_READ = 1u << 0, /* read; without it, write */
	/* the SoC accesses the device (BAR or CXL HDM); without it the device accesses memory */
	DRM_VSOC_PCIE_TARGET = 1u << 1,
};

/* struct drm_vsoc_cmd_pcie - traffic of a PCIe root complex */
struct drm_vsoc_cmd_pcie {
	__u64 bytes; /* 0..max_units, multiple of DRM_VSOC_LINE_BYTES */
	__u64 address; /* physical address accessed, multiple of DRM_VSOC_LINE_BYTES */
	__u32 flags; /* enum drm_vsoc_pcie_flags */
	__u32 socket; /* below sockets */
	__u32 root_complex; /* below root_complexes */
	__u32 root_port; /* below root_ports */
	__u32 bdf; /* bus << 8 | device << 3 | function of the device, 0..65535 */
	/*
	 * enum drm_vsoc_home that the device accesses; with DRM_VSOC_PCIE_TARGET only PCIE_PEER (a
	 * BAR) or CXL
	 */
	__u32 home;
	/*
	 * with DRM_VSOC_PCIE_TARGET, source of the accesses: CPU, NONCPU or REMOTE; else must be
	 * zero
	 */
	__u32 initiator;
	__u32 reserved; /* zero; before version 5 a latency */
	__u64 rate; /* as of a COPY, 0: 16 * 10^9. Since version 5, like the next. */
	__u32 window; /* as of a COPY, 0: 64 */
	__u32 pad;
};

/*
 * struct drm_vsoc_cmd_core - a CPU core of socket 0 copies an array of 4-byte elements
 *
 * The core has its own L1 and L2, which begin empty, and reads and writes CMEM of its socket. The
 * perf PMU vsoc_core counts its events; lab/vsoc/README.md describes it.
 */
struct drm_vsoc_cmd_core {
	__u64 elements; /* 0..2^24 */
};

/* struct drm_vsoc_cmd_wait - pass virtual time */
struct drm_vsoc_cmd_wait {
	__u64 duration_ns; /* 0..max_units */
};

/*
 * struct drm_vsoc_cmd_sample - sample a session between two commands
 *
 * The sample contains all counts of the commands before it, and none of the commands after it.
 * SUBMIT looks up the session, which must be active when the command is executed. A sample that
 * fails (the ring is full, the session is not active) does not stop the job; WAIT reports it.
 */
struct drm_vsoc_cmd_sample {
	__u64 user_data; /* for the sample */
	__s32 session; /* descriptor of a session of the device, else -ENOENT */
	__u32 pad;
};

#define DRM_VSOC_MP_COUNTERS 4 /* MP counters of a TPC */

/*
 * DRM_VSOC_MP_PM_SET - method: set the value of a counter
 * @slot: 0..3
 */
#define DRM_VSOC_MP_PM_SET(slot) (0x02d0 + 4 * (slot))

/*
 * DRM_VSOC_MP_PM_CONTROL - method: program a counter
 * @slot: 0..3
 *
 * Bit 0: 0 counts clocks in which the function is true (LOGOP), 1 its rising edges (LOGOP_PULSE).
 * Bits 4..6: unit, 0..5. Bits 8..23: function, a truth table: bit i is its value when the signals
 * of the four slots are the bits of i, slot 0's the lowest. Bits 24..31: signal of the unit, an
 * input of the functions of all slots. Other bits must be zero. A counter with function 0 does not
 * count.
 */
#define DRM_VSOC_MP_PM_CONTROL(slot) (0x02e0 + 4 * (slot))

/* struct drm_vsoc_method - a method and its value */
struct drm_vsoc_method {
	__u32 method; /* DRM_VSOC_MP_PM_SET(0..3) or DRM_VSOC_MP_PM_CONTROL(0..3) */
	__u32 data; /* the value */
};

/*
 * struct drm_vsoc_cmd_methods - program the MP counters of the context
 *
 * The methods take effect in all TPCs, in the order of @methods, between the previous and the next
 * command. MP counters are part of a context: they are all zero in a new one, count only its jobs,
 * and persist between jobs. A reset of the GPU clears them.
 *
 * Sessions use the counters that the context leaves free, in jobs and between them, see
 * kernel/source/pcounter/. Events of unit 1 are visible only while a session counts one of them,
 * because the kernel controls their multiplexer.
 *
 * Errors of SUBMIT because of this command: -EOPNOTSUPP the device's product is not nv50; -EINVAL
 * @count, an unknown method, an undefined bit of a value, or a non-zero element after @count.
 */
struct drm_vsoc_cmd_methods {
	__u32 count; /* elements of @methods, 1..10 */
	__u32 pad;
	struct drm_vsoc_method methods[10]; /* elements from @count on must be zero */
};

/* struct drm_vsoc_mp_record - MP counters of a TPC, as MP_STORE stores them */
struct drm_vsoc_mp_record {
	__u32 counters[DRM_VSOC_MP_COUNTERS]; /* their values */
	__u32 sequence; /* from the command, written last (store-release) */
};

#define DRM_VSOC_MP_STORE_ALIGN 8 /* unit of @offset of struct drm_vsoc_cmd_mp_store */

/*
 * struct drm_vsoc_cmd_mp_store - store the MP counters of the context
 *
 * The values contain all counts of earlier commands of the job, and none of later ones; the command
 * itself runs no warp. Record n, 20 bytes each, is that of TPC n (shader core n of shader_present);
 * records of absent TPCs are not written. A record is complete when it contains @sequence
 * (load-acquire). All of them are complete when WAIT reports the job done with status 0.
 *
 * SUBMIT looks up the buffer; the job references it until its end, even if the handle is closed.
 * Errors of SUBMIT because of this command: -EOPNOTSUPP the device's product is not nv50, or the
 * buffer is imported; -ENOENT no such buffer; -EINVAL @offset is not a multiple of
 * DRM_VSOC_MP_STORE_ALIGN; -ENOSPC the buffer has no room for the records up to that of the last
 * TPC.
 */
struct drm_vsoc_cmd_mp_store {
	__u64 offset; /* of record 0 in the buffer, in bytes */
	__u32 handle; /* GEM handle of the submitting file, from DRM_IOCTL_VSOC_BO_CREATE */
	__u32 sequence; /* for the records */
};

/* struct drm_vsoc_command - one command of a job */
struct drm_vsoc_command {
	__u32 type; /* enum drm_vsoc_cmd_type, else -EINVAL */
	__u32 pad;
	union {
		struct drm_vsoc_cmd_draw draw; /* for DRM_VSOC_CMD_DRAW */
		struct drm_vsoc_cmd_compute compute; /* for DRM_VSOC_CMD_COMPUTE */
		struct drm_vsoc_cmd_copy copy; /* for DRM_VSOC_CMD_COPY */
		struct drm_vsoc_cmd_pcie pcie; /* for DRM_VSOC_CMD_PCIE */
		struct drm_vsoc_cmd_wait wait; /* for DRM_VSOC_CMD_WAIT */
		struct drm_vsoc_cmd_sample sample; /* for DRM_VSOC_CMD_SAMPLE */
		struct drm_vsoc_cmd_methods methods; /* for DRM_VSOC_CMD_METHODS */
		struct drm_vsoc_cmd_mp_store mp_store; /* for DRM_VSOC_CMD_MP_STORE */
		struct drm_vsoc_cmd_core core; /* for DRM_VSOC_CMD_CORE */
		/* space for extensions; bytes unused by the command must be zero */
		__u64 reserved[11];
	};
};

/* --- SUBMIT -------------------------------------------------------------- */

#define DRM_VSOC_CTX_DEFAULT 0 /* the context that every open file has */

/* enum drm_vsoc_submit_flags - @flags of struct drm_vsoc_submit */
enum drm_vsoc_submit_flags {
	DRM_VSOC_SUBMIT_FENCE_OUT = 1u << 0, /* return a sync_file in @fence_fd */
};

/*
 * struct drm_vsoc_submit - argument of DRM_IOCTL_VSOC_SUBMIT
 *
 * Jobs of a context run in order; contexts are scheduled round-robin. Nothing is queued if SUBMIT
 * fails.
 *
 * Errors besides the common ones: -EINVAL a field of this structure or of a command is out of
 * range, @command_count is zero, @command_stride is below the size of struct drm_vsoc_command's
 * first version (96), not a multiple of 8, or above 4096; -E2BIG @command_count above max_commands,
 * or a longer command is not zero in the part that is unknown to the kernel; -ENOENT no such
 * context, session or buffer; -EOPNOTSUPP a command that the product does not support, or an
 * imported buffer; -ENOSPC a buffer is too small; -EAGAIN max_queued_jobs jobs of the context are
 * unfinished: WAIT for one; -EMFILE no file descriptor is left; -ENOMEM.
 */
struct drm_vsoc_submit {
	__u32 flags; /* enum drm_vsoc_submit_flags */
	__u32 ctx_id; /* DRM_VSOC_CTX_DEFAULT or from CTX_CREATE */
	__u64 commands; /* user address of the struct drm_vsoc_command array */
	__u32 command_count; /* elements of @commands */
	__u32 command_stride; /* bytes between elements of @commands */
	__u64 job_id; /* out: 1 for the first job of the file, incremented for each job */
	__s32 fence_fd; /* out: a sync_file that signals when the job is done, or -1 */
	__u32 pad;
};

/* --- WAIT ---------------------------------------------------------------- */

/* enum drm_vsoc_wait_flags - @flags of struct drm_vsoc_wait */
enum drm_vsoc_wait_flags {
	DRM_VSOC_WAIT_ABSOLUTE = 1u << 0, /* @timeout_ns is a time of CLOCK_MONOTONIC */
};

/*
 * struct drm_vsoc_wait - argument of DRM_IOCTL_VSOC_WAIT
 *
 * A call sleeps for at most max_wait_ns. @status, @sample_errors and @sample_errno are recorded for
 * the last 64 jobs of a file in which one of them is not zero.
 *
 * Errors besides the common ones: -EINVAL unknown @flags, @timeout_ns is negative; -ENOENT the file
 * never had that job; -ETIME it is not done after @timeout_ns or max_wait_ns; -EINTR a signal
 * arrived, and @timeout_ns is set to the remaining time if it was relative.
 */
struct drm_vsoc_wait {
	__u64 job_id; /* from SUBMIT */
	__s64 timeout_ns; /* 0: do not wait */
	__u32 flags; /* enum drm_vsoc_wait_flags */
	/*
	 * out: 0 done; -ECANCELED cancelled (context destroyed, reset); -EIO the GPU faulted
	 * (debugfs fail_job_fault)
	 */
	__s32 status;
	__u32 sample_errors; /* out: SAMPLE commands of the job that failed */
	__s32 sample_errno; /* out: negative errno of the first failure, or 0 */
};

/* --- contexts ------------------------------------------------------------ */

/* enum drm_vsoc_ctx_flags - @flags of struct drm_vsoc_ctx_create */
enum drm_vsoc_ctx_flags {
	/*
	 * Its jobs run beside the GPU's and those of up to 6 other contexts of this kind, and
	 * compete with them for the memory system only: CPUs, devices, the other socket, and copy
	 * engines (initiator GPU), which bypass the L2. Their commands are COPY, PCIE and WAIT,
	 * else SUBMIT returns -EINVAL; no block of the GPU counts them, and a reset does not affect
	 * them. Since version 5.
	 */
	DRM_VSOC_CTX_CONCURRENT = 1u << 0,
};

/*
 * struct drm_vsoc_ctx_create - argument of DRM_IOCTL_VSOC_CTX_CREATE
 *
 * Errors besides the common ones: -EINVAL @flags; -EMFILE max_contexts reached; -ENOMEM.
 */
struct drm_vsoc_ctx_create {
	__u32 flags; /* enum drm_vsoc_ctx_flags */
	__u32 ctx_id; /* out: never DRM_VSOC_CTX_DEFAULT */
};

/*
 * struct drm_vsoc_ctx_destroy - argument of DRM_IOCTL_VSOC_CTX_DESTROY
 *
 * Queued jobs and the running one are cancelled; all are done with status -ECANCELED when this
 * returns. Errors besides the common ones: -ENOENT no such context; -EINVAL the default context;
 * @pad.
 */
struct drm_vsoc_ctx_destroy {
	__u32 ctx_id; /* from CTX_CREATE */
	__u32 pad;
};

#define DRM_VSOC_CTX_ALL 0xffffffffu /* all contexts of a file, and those created later */

/*
 * struct drm_vsoc_ctx_hold - argument of DRM_IOCTL_VSOC_CTX_HOLD
 *
 * Since version 5. While a context is held, its jobs wait: no job of it starts, and the running one
 * is set aside at the end of its current command, after SAMPLEs that follow it; it continues there
 * after the release. Commands are never cut, so a context still counts the rest of one command.
 * Other contexts run meanwhile. SUBMIT queues as always, WAIT times out as always, and destroying
 * the context or closing the file cancels held jobs too. A reset does not end a job that is set
 * aside. Its next SAMPLE also contains what other contexts counted meanwhile.
 *
 * A hold has no count: the last call decides. The fences of held jobs signal after the release
 * only, hence the capability.
 *
 * The first call with a @pid, a release too, makes a group of files: those that the process and its
 * descendants opened before, and all that they open from then on, wherever they are passed, even if
 * they end. While all contexts of a group are held, new files of it begin held. A group lasts
 * until its process has ended and its files are closed; until then its number is that of the ended
 * process. Files before the first call of which the opener has ended are in no group.
 *
 * Errors besides the common ones: -EACCES without CAP_SYS_NICE; -EINVAL @hold, @pad; -ESRCH no file
 * of the group ever had a job; -ENOENT no such file has that context; -ENOSPC more than 32 groups.
 */
struct drm_vsoc_ctx_hold {
	__u32 ctx_id; /* a context of the file, or DRM_VSOC_CTX_ALL */
	__u32 hold; /* 1: hold, 0: release */
	__s32 pid; /* process whose files are meant, 0: the file of this call only */
	__u32 pad;
};

/* --- buffers ------------------------------------------------------------- */

/*
 * struct drm_vsoc_bo_create - argument of DRM_IOCTL_VSOC_BO_CREATE
 *
 * Errors besides the common ones: -EINVAL @size is zero, @pad; -ERANGE @size is above 1 MiB;
 * -ENOMEM.
 */
struct drm_vsoc_bo_create {
	__u64 size; /* in: bytes; out: rounded up to pages */
	__u64 mmap_offset; /* out: for mmap() of the DRM file */
	__u32 handle; /* out: GEM handle; DRM_IOCTL_GEM_CLOSE closes it */
	__u32 pad;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_VSOC_DRM_H_ */
