/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory and PCIe traffic, as the engine reports it to the models of the fabric: every byte that
 * leaves the GPU's L2, and COPY and PCIE commands.
 */
#ifndef _VSOC_TRAFFIC_H_
#define _VSOC_TRAFFIC_H_

#include <linux/types.h>
#include <drm/vsoc_drm.h>

/* shape of the modelled SoC, Tegra410 style */
#define VSOC_SOCKETS		2
#define VSOC_ROOT_COMPLEXES	6
#define VSOC_ROOT_PORTS		8
#define VSOC_GPUS		2

/* jobs that execute at once: one of the GPU, the others beside it */
#define VSOC_LANES		8
/* kinds of traffic of a command */
#define VSOC_MAX_STREAMS	2

/* requests that initiators have in flight at most */
#define VSOC_GPU_WINDOW		8	/* for each L2 slice */
#define VSOC_WINDOW		64	/* all others */
#define VSOC_MAX_WINDOW		256

/* path of the traffic */
enum vsoc_traffic_kind {
	VSOC_TRAFFIC_MEM,	/* @initiator accesses @home (the GPU's L2 and COPY) */
	VSOC_TRAFFIC_PCIE_SRC,	/* PCIe device @bdf accesses @home */
	VSOC_TRAFFIC_PCIE_TGT,	/* @initiator accesses a BAR or CXL HDM of a device */
};

/*
 * some traffic of one kind, direction and place
 *
 * A command larger than one time slice is reported in parts, which add up exactly. @bytes is a
 * multiple of DRM_VSOC_LINE_BYTES.
 */
struct vsoc_traffic {
	u8 kind;		/* enum vsoc_traffic_kind */
	u8 initiator;		/* enum drm_vsoc_initiator; NONCPU for PCIE_SRC */
	u8 home;		/* enum drm_vsoc_home, seen from @socket */
	u8 op;			/* enum memsim_op */
	u8 slot;		/* flow of the memory system: vsoc_traffic_slot() */
	u32 command;		/* its number; parts of one command have the same */
	bool engine;		/* initiator GPU: a copy engine, not the L2 */
	u16 window;		/* requests in flight at most */
	u8 socket;		/* of the initiator and of the home, unless they are REMOTE */
	u8 gpu;	/* for initiator GPU or home GMEM: number of the GPU behind the socket */
	u8 root_complex;	/* for the PCIe kinds */
	u8 root_port;		/* for the PCIe kinds */
	u16 bdf;		/* for PCIE_SRC and PCIE_TGT: the device */
	u64 address;		/* of the first byte of this part */
	u64 bytes;		/* of this part, not zero */
};

/* flow of stream number @stream of a lane */
static inline u32 vsoc_traffic_slot(u32 lane, u32 stream)
{
	return lane * VSOC_MAX_STREAMS + stream;
}

#endif /* _VSOC_TRAFFIC_H_ */
