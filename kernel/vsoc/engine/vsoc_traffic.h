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

/* defaults of commands without latency_cycles */
#define VSOC_MEM_LATENCY_CYCLES		200
#define VSOC_PCIE_LATENCY_CYCLES	400

/* path of the traffic */
enum vsoc_traffic_kind {
	VSOC_TRAFFIC_MEM,	/* @initiator accesses @home (the GPU's L2 and COPY) */
	VSOC_TRAFFIC_PCIE_SRC,	/* PCIe device @bdf accesses @home */
	VSOC_TRAFFIC_PCIE_TGT,	/* @initiator accesses a BAR or CXL HDM of a device */
};

/*
 * some traffic of one kind, direction and place
 *
 * A command larger than one time slice is reported in parts, which add up exactly. @bytes and
 * @hit_bytes are multiples of DRM_VSOC_LINE_BYTES.
 */
struct vsoc_traffic {
	u8 kind;		/* enum vsoc_traffic_kind */
	u8 initiator;		/* enum drm_vsoc_initiator; NONCPU for PCIE_SRC */
	u8 home;		/* enum drm_vsoc_home, seen from @socket */
	bool write;		/* direction, seen from the initiator */
	u8 socket;		/* where it is observed; also the home's socket, unless REMOTE */
	u8 gpu;	/* for initiator GPU or home GMEM: number of the GPU behind the socket */
	u8 root_complex;	/* for the PCIe kinds */
	u8 root_port;		/* for the PCIe kinds */
	u16 bdf;		/* for PCIE_SRC and PCIE_TGT: the device */
	u64 address;		/* of the first byte of this part */
	u64 bytes;		/* of this part, not zero */
	u64 hit_bytes;		/* of @bytes, served by the system level cache */
	u32 latency_cycles;	/* of each read request, in cycles of the observing PMU's clock */
};

#endif /* _VSOC_TRAFFIC_H_ */
