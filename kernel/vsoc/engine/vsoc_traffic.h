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

/* a command without latency_cycles has these */
#define VSOC_MEM_LATENCY_CYCLES		200
#define VSOC_PCIE_LATENCY_CYCLES	400

/**
 * enum vsoc_traffic_kind - which way traffic takes
 */
enum vsoc_traffic_kind {
	/** @VSOC_TRAFFIC_MEM: @initiator accesses @home (the GPU's L2 and COPY). */
	VSOC_TRAFFIC_MEM,
	/** @VSOC_TRAFFIC_PCIE_SRC: PCIe device @bdf accesses @home. */
	VSOC_TRAFFIC_PCIE_SRC,
	/** @VSOC_TRAFFIC_PCIE_TGT: @initiator accesses a BAR or CXL HDM of a device. */
	VSOC_TRAFFIC_PCIE_TGT,
};

/**
 * struct vsoc_traffic - some traffic of one kind, direction and place
 *
 * A command larger than one time slice is reported in parts; the parts add up
 * to the command exactly. @bytes is a multiple of DRM_VSOC_LINE_BYTES, and so is
 * @hit_bytes.
 */
struct vsoc_traffic {
	/** @kind: enum vsoc_traffic_kind. */
	u8 kind;
	/** @initiator: enum drm_vsoc_initiator; NONCPU for PCIE_SRC. */
	u8 initiator;
	/** @home: enum drm_vsoc_home, seen from @socket. */
	u8 home;
	/** @write: direction, seen from the initiator. */
	bool write;
	/** @socket: where it is observed and where the home is, unless REMOTE. */
	u8 socket;
	/** @gpu: for initiator GPU or home GMEM: number of the GPU behind the socket. */
	u8 gpu;
	/** @root_complex: for the PCIe kinds. */
	u8 root_complex;
	/** @root_port: for the PCIe kinds. */
	u8 root_port;
	/** @bdf: for PCIE_SRC and PCIE_TGT: the device. */
	u16 bdf;
	/** @address: of the first byte of this part. */
	u64 address;
	/** @bytes: of this part, not zero. */
	u64 bytes;
	/** @hit_bytes: of @bytes, served by the system level cache. */
	u64 hit_bytes;
	/** @latency_cycles: of each read request, in cycles of the counting PMU's clock. */
	u32 latency_cycles;
};

#endif /* _VSOC_TRAFFIC_H_ */
