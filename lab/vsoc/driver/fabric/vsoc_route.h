/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways of traffic through the memory system, and the PMUs on them.
 */
#ifndef _VSOC_ROUTE_H_
#define _VSOC_ROUTE_H_

#include "engine/vsoc_traffic.h"
#include "memory/memsim_core.h"
#include "soc_model.h"

#define VSOC_TRAFFIC_KINDS	(VSOC_TRAFFIC_PCIE_TGT + 1)
#define VSOC_INITIATORS		(DRM_VSOC_INITIATOR_REMOTE + 1)
#define VSOC_HOMES		(DRM_VSOC_HOME_REMOTE + 1)

/* what is counted at a hop */
enum vsoc_role {
	VSOC_ROLE_NONE,
	VSOC_ROLE_L2,		/* the GPU's L2: its requests in flight */
	VSOC_ROLE_UCF,		/* the lines have their home elsewhere */
	VSOC_ROLE_UCF_CACHE,	/* the system level cache may have them */
	VSOC_ROLE_PCIE,
	VSOC_ROLE_PCIE_TGT,
	VSOC_ROLE_CMEM,
	VSOC_ROLE_IN,		/* end of a link at which requests arrive */
	VSOC_ROLE_OUT,
};

/* a hop and what of it has been counted */
struct vsoc_route_hop {
	u8 role;		/* enum vsoc_role */
	struct soc_pmu *pmu;	/* NULL without one */
	struct soc_tag tag;
	u64 entered;
	u64 ps, base_ps;	/* requests × time since the flow began, in cycles */
	u64 cycles;
};

/* a flow of the memory system */
struct vsoc_route {
	struct vsoc_traffic t;	/* of its first part */
	struct vsoc_route_hop hops[MEMSIM_HOPS];
	u32 hop_count;
	struct memsim_lookup looked_up;
	u64 left, latency_ps, outstanding_ps;	/* at the first hop */
};

/* true totals of the requests of an initiator */
struct vsoc_route_total {
	u64 offered, completed;
	u64 latency_ps, outstanding_ps;
};

/* the SoC around the GPU; hw_lock protects traffic */
struct vsoc_fabric {
	struct memsim sim;
	struct vsoc_route routes[MEMSIM_FLOWS];
	struct memsim_core core;	/* copies; its caches hold nothing between commands */
	u64 l2_read_ps;		/* reads of the GPU's L2 in flight × time, not yet taken */
	u64 bytes[VSOC_TRAFFIC_KINDS][VSOC_INITIATORS][VSOC_HOMES][MEMSIM_OPS];
	struct vsoc_route_total totals[VSOC_TRAFFIC_KINDS][VSOC_INITIATORS][MEMSIM_OPS];
	unsigned long gpu_mask;			/* GPUs on NVLink-C2C */
	bool owner;				/* its PMUs have drivers, where there are some */
	struct vsoc_pci *pci;			/* its root ports, or NULL */
	struct soc_pmu *ucf[VSOC_SOCKETS];	/* models by socket */
	struct soc_pmu *pcie[VSOC_SOCKETS][VSOC_ROOT_COMPLEXES]; /* by socket and root complex */
	/* by socket and root complex */
	struct soc_pmu *pcie_tgt[VSOC_SOCKETS][VSOC_ROOT_COMPLEXES];
	struct soc_pmu *cmem[VSOC_SOCKETS];	/* by socket */
	struct soc_pmu *c2c[VSOC_SOCKETS];	/* by socket */
	struct soc_pmu *clink[VSOC_SOCKETS];	/* by socket */
	struct soc_pmu *dlink[VSOC_SOCKETS];	/* by socket */
	/* all models, in the order of creation */
	struct soc_pmu *all[VSOC_SOCKETS * (5 + 2 * VSOC_ROOT_COMPLEXES)];
	unsigned int count;		/* elements of @all */
	struct soc_trouble trouble;	/* of this device's PMUs */
};

/* 0 or -ENOMEM; @exact: simulate each line */
int vsoc_routes_init(struct vsoc_fabric *fabric, bool exact);
void vsoc_routes_fini(struct vsoc_fabric *fabric);
/* counts what has happened since the last call */
void vsoc_routes_count(struct vsoc_fabric *fabric);
void vsoc_route_offer(struct vsoc_fabric *fabric, const struct vsoc_traffic *t, u64 ns);
void vsoc_routes_show(struct vsoc_fabric *fabric, struct seq_file *m);

#endif /* _VSOC_ROUTE_H_ */
