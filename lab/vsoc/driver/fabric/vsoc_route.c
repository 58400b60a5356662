// SPDX-License-Identifier: GPL-2.0
/*
 * The ways of traffic through the memory system, and what the PMUs on them count.
 *
 * lab/tegra410/README.md lists the rules. Nothing is rounded: traffic consists of whole lines of
 * 64 bytes.
 */
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "tegra410/tegra410_regs.h"
#include "vsoc_route.h"

/* --- the modelled machine --------------------------------------------------- */

/* servers of a socket; back is the direction towards the initiator */
enum server {
	SERVER_UCF,
	SERVER_SLC,
	SERVER_DRAM,
	SERVER_C2C_IN,		/* from the GPU */
	SERVER_C2C_OUT,		/* to the GPU */
	SERVER_C2C_PEER,	/* to the other socket, without GPUs */
	SERVER_GMEM,
	SERVER_CLINK,		/* to the other socket */
	SERVER_DLINK_IN,
	SERVER_DLINK_OUT,
	SERVER_PCIE_IN,		/* of each root complex */
	SERVER_PCIE_OUT = SERVER_PCIE_IN + VSOC_ROOT_COMPLEXES,
	SERVERS = SERVER_PCIE_OUT + VSOC_ROOT_COMPLEXES,
};

/* peak bandwidth is 64 bytes × units / service */
static const struct memsim_server machine[SERVERS] = {
	[SERVER_UCF] = { .service_ps = 800, .units = 1 },
	[SERVER_SLC] = { .service_ps = 4000, .units = 4 },
	[SERVER_DRAM] = { .service_ps = 12000, .row_ps = 18000, .units = 4 },
	[SERVER_C2C_IN] = { .service_ps = 2000, .units = 1 },
	[SERVER_C2C_OUT] = { .service_ps = 2000, .units = 1 },
	[SERVER_C2C_PEER] = { .service_ps = 2000, .units = 1 },
	[SERVER_GMEM] = { .service_ps = 2000, .units = 1 },
	[SERVER_CLINK] = { .service_ps = 3200, .units = 1 },
	[SERVER_DLINK_IN] = { .service_ps = 8000, .units = 1 },
	[SERVER_DLINK_OUT] = { .service_ps = 8000, .units = 1 },
	[SERVER_PCIE_IN ... SERVERS - 1] = { .service_ps = 4000, .units = 1 },
};

static const char * const server_names[SERVERS] = {
	[SERVER_UCF] = "ucf", [SERVER_SLC] = "slc", [SERVER_DRAM] = "dram",
	[SERVER_C2C_IN] = "c2c_in", [SERVER_C2C_OUT] = "c2c_out", [SERVER_C2C_PEER] = "c2c_peer",
	[SERVER_GMEM] = "gmem", [SERVER_CLINK] = "clink", [SERVER_DLINK_IN] = "dlink_in",
	[SERVER_DLINK_OUT] = "dlink_out",
};

/* one way, in addition to the queues */
#define SLC_WIRE_PS	5000
#define DRAM_WIRE_PS	14000
#define GMEM_WIRE_PS	20000
#define C2C_WIRE_PS	15000
#define CLINK_WIRE_PS	60000
#define DLINK_WIRE_PS	80000
#define PCIE_WIRE_PS	30000
#define PEER_WIRE_PS	200000

/* system level cache of a socket: 4 MiB */
#define SLC_SETS	4096
#define SLC_WAYS	16
#define SLC_LINES	(SLC_SETS * SLC_WAYS)

static u8 server_of(enum server server, u8 socket)
{
	static_assert(VSOC_SOCKETS * SERVERS <= MEMSIM_SERVERS, "each socket has its servers");
	return socket * SERVERS + server;
}

/* the other end of a link, REMOTE of the interface */
static u8 other(u8 socket)
{
	static_assert(VSOC_SOCKETS == 2, "REMOTE names one socket, and links have two ends");
	return !socket;
}

int vsoc_routes_init(struct vsoc_fabric *fabric, bool exact)
{
	struct memsim *sim = &fabric->sim;

	static_assert(VSOC_SOCKETS <= MEMSIM_CACHES, "each socket has a cache");
	for (u8 socket = 0; socket < VSOC_SOCKETS; socket++) {
		struct memsim_cache *slc = &sim->caches[socket];

		memcpy(&sim->servers[server_of(0, socket)], machine, sizeof(machine));
		slc->lines = SLC_LINES;
		slc->sets = SLC_SETS;
		slc->ways = SLC_WAYS;
		slc->memory = server_of(SERVER_DRAM, socket);
		slc->far = server_of(SERVER_DLINK_OUT, socket);
		if (exact)
			slc->tags = kvcalloc(SLC_LINES, sizeof(*slc->tags), GFP_KERNEL);
		if (exact && !slc->tags)
			return -ENOMEM;
	}
	if (!exact)
		return 0;
	sim->exact = kvzalloc(sizeof(*sim->exact), GFP_KERNEL);
	if (!sim->exact)
		return -ENOMEM;
	memsim_exact_init(sim->exact);
	return 0;
}

void vsoc_routes_fini(struct vsoc_fabric *fabric)
{
	for (u8 socket = 0; socket < VSOC_SOCKETS; socket++)
		kvfree(fabric->sim.caches[socket].tags);
	kvfree(fabric->sim.exact);
}

/* --- ways ------------------------------------------------------------------ */

/* a way under construction */
struct way {
	struct vsoc_fabric *fabric;
	struct vsoc_route *route;
	struct memsim_flow flow;
};

static struct vsoc_route_hop *add_hop(struct way *w, enum vsoc_role role, struct soc_pmu *pmu,
				      u32 wire_ps)
{
	struct vsoc_route_hop *hop = &w->route->hops[w->flow.hop_count];

	*hop = (struct vsoc_route_hop){ .role = role, .pmu = pmu };
	w->flow.hops[w->flow.hop_count++] = (struct memsim_hop){
		.forward = MEMSIM_NONE, .back = MEMSIM_NONE, .cache = MEMSIM_NONE,
		.wire_ps = wire_ps,
	};
	return hop;
}

/* data of the last hop uses a link: @there with the request, @back with the answer */
static void use_link(struct way *w, u8 there, u8 back)
{
	struct memsim_hop *hop = &w->flow.hops[w->flow.hop_count - 1];

	if (w->flow.op == MEMSIM_WRITE || w->flow.op == MEMSIM_ATOMIC)
		hop->forward = there;
	if (w->flow.op == MEMSIM_READ || w->flow.op == MEMSIM_ATOMIC)
		hop->back = back;
}

static void add_ucf(struct way *w, u8 socket, u8 src, u8 dst)
{
	struct vsoc_route_hop *hop = add_hop(w, VSOC_ROLE_UCF, w->fabric->ucf[socket],
					     SLC_WIRE_PS);

	hop->tag.src = src;
	hop->tag.dst = dst;
	w->flow.hops[w->flow.hop_count - 1].forward = server_of(SERVER_UCF, socket);
}

/* the fabric of the home's socket, with its cache, and the memory behind it */
static void add_cached_memory(struct way *w, u8 socket, u8 src, u8 dst)
{
	struct memsim_hop *slc;

	add_ucf(w, socket, src, dst);
	w->route->hops[w->flow.hop_count - 1].role = VSOC_ROLE_UCF_CACHE;
	slc = &w->flow.hops[w->flow.hop_count - 1];
	slc->forward = server_of(SERVER_SLC, socket);
	slc->cache = socket;
	if (dst == SOC_DST_CXL) {
		w->flow.line |= MEMSIM_FAR_LINE;
		add_hop(w, VSOC_ROLE_IN, w->fabric->dlink[socket], DLINK_WIRE_PS);
		use_link(w, server_of(SERVER_DLINK_OUT, socket),
			 server_of(SERVER_DLINK_IN, socket));
		return;
	}
	add_hop(w, VSOC_ROLE_CMEM, w->fabric->cmem[socket], DRAM_WIRE_PS);
	w->flow.hops[w->flow.hop_count - 1].forward = server_of(SERVER_DRAM, socket);
}

/* both ends of a link to the other socket count */
static void add_socket_link(struct way *w, struct soc_pmu **ends, enum server server, u8 from)
{
	add_hop(w, VSOC_ROLE_OUT, ends[from], CLINK_WIRE_PS);
	use_link(w, server_of(server, from), server_of(server, other(from)));
	add_hop(w, VSOC_ROLE_IN, ends[other(from)], 0);
}

static void cross(struct way *w, u8 from)
{
	add_socket_link(w, w->fabric->clink, SERVER_CLINK, from);
	if (!w->fabric->gpu_mask)
		add_socket_link(w, w->fabric->c2c, SERVER_C2C_PEER, from);
}

/* hardware number of the engine's GPU @gpu: the @gpu-th present one */
static u8 link_gpu(const struct vsoc_fabric *fabric, u8 gpu)
{
	unsigned int bit;

	for_each_set_bit(bit, &fabric->gpu_mask, SOC_MAX_GPUS) {
		if (!gpu--)
			return bit;
	}
	return __ffs(fabric->gpu_mask);
}

/* NVLink-C2C: requests come from GPU @gpu, or go to its memory */
static void add_c2c(struct way *w, u8 socket, u8 gpu, bool in)
{
	const u8 to_gpu = server_of(SERVER_C2C_OUT, socket);
	const u8 from_gpu = server_of(SERVER_C2C_IN, socket);
	struct vsoc_route_hop *hop;

	if (!w->fabric->gpu_mask)
		return;
	hop = add_hop(w, in ? VSOC_ROLE_IN : VSOC_ROLE_OUT, w->fabric->c2c[socket], C2C_WIRE_PS);
	hop->tag.gpu = link_gpu(w->fabric, gpu);
	if (in)
		use_link(w, from_gpu, to_gpu);
	else
		use_link(w, to_gpu, from_gpu);
}

/* from the fabric of @t->socket to the home */
static void add_home(struct way *w, const struct vsoc_traffic *t, u8 src)
{
	const u8 socket = t->socket;

	switch (t->home) {
	case DRM_VSOC_HOME_CMEM:
		add_cached_memory(w, socket, src, SOC_DST_CMEM);
		break;
	case DRM_VSOC_HOME_CXL:
		add_cached_memory(w, socket, src, SOC_DST_CXL);
		break;
	case DRM_VSOC_HOME_GMEM:
		add_ucf(w, socket, src, SOC_DST_GMEM);
		add_c2c(w, socket, t->gpu, false);
		add_hop(w, VSOC_ROLE_NONE, NULL, GMEM_WIRE_PS);
		w->flow.hops[w->flow.hop_count - 1].forward = server_of(SERVER_GMEM, socket);
		break;
	case DRM_VSOC_HOME_PCIE_PEER:
		add_ucf(w, socket, src, SOC_DST_PCIE_PEER);
		add_hop(w, VSOC_ROLE_NONE, NULL, PEER_WIRE_PS);
		break;
	default:
		add_ucf(w, socket, src, SOC_DST_REM);
		cross(w, socket);
		add_cached_memory(w, other(socket), SOC_SRC_REM, SOC_DST_CMEM);
	}
}

static void route_memory(struct way *w, const struct vsoc_traffic *t)
{
	u8 src = SOC_SRC_LOC_NONCPU;

	switch (t->initiator) {
	case DRM_VSOC_INITIATOR_GPU:
		add_hop(w, t->engine ? VSOC_ROLE_NONE : VSOC_ROLE_L2, NULL, 0);
		add_c2c(w, t->socket, 0, true);
		break;
	case DRM_VSOC_INITIATOR_CPU:
		src = SOC_SRC_LOC_CPU;
		break;
	case DRM_VSOC_INITIATOR_REMOTE:
		add_ucf(w, other(t->socket), SOC_SRC_LOC_CPU, SOC_DST_REM);
		cross(w, other(t->socket));
		src = SOC_SRC_REM;
		break;
	}
	add_home(w, t, src);
}

static u8 pcie_dst(const struct vsoc_traffic *t)
{
	static const u8 dst[VSOC_HOMES] = {
		[DRM_VSOC_HOME_CMEM] = SOC_DST_CMEM,
		[DRM_VSOC_HOME_GMEM] = SOC_DST_GMEM,
		[DRM_VSOC_HOME_CXL] = SOC_DST_CXL,
		[DRM_VSOC_HOME_PCIE_PEER] = SOC_DST_PCIE_PEER,
		[DRM_VSOC_HOME_REMOTE] = SOC_DST_REM,
	};

	return dst[t->home];
}

/* a device reads or writes memory, through its root complex */
static void route_pcie_source(struct way *w, const struct vsoc_traffic *t)
{
	struct vsoc_route_hop *hop;

	hop = add_hop(w, VSOC_ROLE_PCIE, w->fabric->pcie[t->socket][t->root_complex],
		      PCIE_WIRE_PS);
	hop->tag.bdf = t->bdf;
	hop->tag.rp = t->root_port;
	hop->tag.dst = pcie_dst(t);
	use_link(w, server_of(SERVER_PCIE_IN + t->root_complex, t->socket),
		 server_of(SERVER_PCIE_OUT + t->root_complex, t->socket));
	/* peer-to-peer traffic does not enter the coherent fabric */
	if (t->home == DRM_VSOC_HOME_PCIE_PEER)
		add_hop(w, VSOC_ROLE_NONE, NULL, PEER_WIRE_PS);
	else
		add_home(w, t, SOC_SRC_LOC_NONCPU);
}

/* the SoC accesses a BAR or CXL memory of a device */
static void route_pcie_target(struct way *w, const struct vsoc_traffic *t)
{
	const bool remote = t->initiator == DRM_VSOC_INITIATOR_REMOTE;
	struct vsoc_route_hop *hop;

	if (remote) {
		add_ucf(w, other(t->socket), SOC_SRC_LOC_CPU, SOC_DST_REM);
		cross(w, other(t->socket));
	}
	/* CXL memory is coherent, a BAR is not */
	if (t->home == DRM_VSOC_HOME_CXL)
		add_ucf(w, t->socket, remote ? SOC_SRC_REM :
			t->initiator == DRM_VSOC_INITIATOR_CPU ? SOC_SRC_LOC_CPU :
			SOC_SRC_LOC_NONCPU, SOC_DST_CXL);
	hop = add_hop(w, VSOC_ROLE_PCIE_TGT, w->fabric->pcie_tgt[t->socket][t->root_complex],
		      PCIE_WIRE_PS + PEER_WIRE_PS);
	hop->tag.rp = t->root_port;
	hop->tag.dst = pcie_dst(t);
	use_link(w, server_of(SERVER_PCIE_OUT + t->root_complex, t->socket),
		 server_of(SERVER_PCIE_IN + t->root_complex, t->socket));
}

static void open_route(struct vsoc_fabric *fabric, const struct vsoc_traffic *t)
{
	struct vsoc_route *route = &fabric->routes[t->slot];
	const bool cpu = t->initiator == DRM_VSOC_INITIATOR_CPU ||
			 t->initiator == DRM_VSOC_INITIATOR_REMOTE;
	struct way w = {
		.fabric = fabric, .route = route,
		.flow = {
			.op = t->op, .window = t->window,
			.line = t->address / SOC_LINE_BYTES,
			.holder = cpu ? MEMSIM_HOLDER_CPU : MEMSIM_HOLDER_EXTERNAL,
		},
	};
	const struct memsim_count *count = &fabric->sim.flows[t->slot].count;

	/* seen from the home, the other socket's CPUs are external */
	if (t->initiator == DRM_VSOC_INITIATOR_REMOTE || t->home == DRM_VSOC_HOME_REMOTE)
		w.flow.holder = MEMSIM_HOLDER_EXTERNAL;
	route->t = *t;
	if (t->kind == VSOC_TRAFFIC_MEM)
		route_memory(&w, t);
	else if (t->kind == VSOC_TRAFFIC_PCIE_SRC)
		route_pcie_source(&w, t);
	else
		route_pcie_target(&w, t);
	route->hop_count = w.flow.hop_count;
	for (u32 i = 0; i < route->hop_count; i++) {
		route->hops[i].entered = count->entered[i];
		route->hops[i].base_ps = count->outstanding_ps[i];
	}
	memsim_open(&fabric->sim, t->slot, &w.flow);
}

/* traffic that is issued over the next @ns */
void vsoc_route_offer(struct vsoc_fabric *fabric, const struct vsoc_traffic *t, u64 ns)
{
	const u64 lines = t->bytes / SOC_LINE_BYTES;

	fabric->bytes[t->kind][t->initiator][t->home][t->op] += t->bytes;
	fabric->totals[t->kind][t->initiator][t->op].offered += lines;
	/* a command begins when all requests of the one before are done */
	if (!fabric->routes[t->slot].hop_count || fabric->routes[t->slot].t.command != t->command)
		open_route(fabric, t);
	memsim_offer(&fabric->sim, t->slot, lines, ns * 1000);
}

/* --- counts ---------------------------------------------------------------- */

static void count_ucf(struct vsoc_route *route, const struct vsoc_route_hop *hop, u64 lines,
		      const struct memsim_lookup *now)
{
	const struct memsim_lookup *was = &route->looked_up;
	const bool cache = hop->role == VSOC_ROLE_UCF_CACHE;
	const u64 hits = cache ? now->hits - was->hits : 0;
	const u64 fills = cache ? now->fills - was->fills : 0;
	u64 n[SOC_EVENTS] = {}, reads = 0, writes = 0;

	switch (route->t.op) {
	case MEMSIM_READ:
		reads = lines - hits;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD] = lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD] = lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD] = hits;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD] = reads;
		break;
	case MEMSIM_WRITE:
		writes = cache ? 0 : lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR] = lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR] = lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR] = fills;
		break;
	case MEMSIM_ATOMIC:
		reads = cache ? lines - hits : 0;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_ATOMIC] = lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD] = reads;
		break;
	default:
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_DATALESS] = lines;
	}
	if (cache) {
		writes += now->writebacks - was->writebacks + now->far_writebacks -
			  was->far_writebacks;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_WB] = writes;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE] = fills;
		n[DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP] = now->local_snoops - was->local_snoops;
		n[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS] =
			now->external_snoops - was->external_snoops;
		n[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT] =
			now->external_evicts - was->external_evicts;
		route->looked_up = *now;
	}
	n[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD] = reads;
	n[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD] = reads * SOC_LINE_BYTES;
	n[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR] = writes;
	n[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR] = writes * SOC_LINE_BYTES;
	soc_pmu_count(hop->pmu, &hop->tag, n);
}

static bool is_write(const struct vsoc_route *route)
{
	return route->t.op == MEMSIM_WRITE;
}

static void count_pcie(const struct vsoc_route *route, const struct vsoc_route_hop *hop,
		       u64 lines, u64 cycles)
{
	u64 n[SOC_EVENTS] = {};

	if (is_write(route)) {
		n[DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES] = lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_PCIE_WR_REQ] = lines;
	} else {
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES] = lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_REQ] = lines;
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS] = cycles;
	}
	soc_pmu_count(hop->pmu, &hop->tag, n);
}

static void count_pcie_target(struct vsoc_route *route, const struct vsoc_route_hop *hop,
			      u64 lines)
{
	u64 end = route->t.address + lines * SOC_LINE_BYTES, next;
	u64 n[SOC_EVENTS] = {}, address;
	struct soc_tag tag = hop->tag;

	/* split by address, as rows of truth are */
	for (address = route->t.address; address != end; address = next) {
		next = round_down(address, SOC_TRUTH_REGION_BYTES) + SOC_TRUTH_REGION_BYTES;
		if (end - address < next - address)
			next = end;
		tag.address = address;
		tag.bytes = next - address;
		n[is_write(route) ? DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES :
				    DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES] = tag.bytes;
		n[is_write(route) ? DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ :
				    DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ] =
			tag.bytes / SOC_LINE_BYTES;
		soc_pmu_count(hop->pmu, &tag, n);
	}
	route->t.address = end;
}

static void count_cmem(const struct vsoc_route_hop *hop, u64 lines, u64 cycles)
{
	const u64 requests = SOC_LINE_BYTES / CMEM_REQUEST_BYTES;
	u64 n[SOC_EVENTS] = {};

	/* the requests of a line are in flight together */
	n[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ] = lines * requests;
	n[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS] = cycles * requests;
	soc_pmu_count(hop->pmu, &hop->tag, n);
}

static void count_link(const struct vsoc_route *route, const struct vsoc_route_hop *hop,
		       u64 lines, u64 cycles)
{
	const bool in = hop->role == VSOC_ROLE_IN;
	u64 n[SOC_EVENTS] = {};

	if (is_write(route)) {
		/* links to other SoCs and to memory count reads only */
		if (hop->pmu->place.kind != SOC_NVLINK_C2C || hop->pmu->place.cpu_en_mask)
			return;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ] = lines;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS] = cycles;
	} else {
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ] = lines;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS] = cycles;
	}
	soc_pmu_count(hop->pmu, &hop->tag, n);
}

static void count_hop(struct vsoc_fabric *fabric, struct vsoc_route *route,
		      const struct memsim_count *count, u32 i)
{
	struct vsoc_route_hop *hop = &route->hops[i];
	const u64 lines = count->entered[i] - hop->entered;
	const u64 ps = count->outstanding_ps[i] - hop->base_ps;
	const u64 cycles = hop->pmu ? mul_u64_u64_div_u64(ps, hop->pmu->hz, 1000000000000ULL) : 0;
	const u64 new_cycles = cycles - hop->cycles;

	if (hop->role == VSOC_ROLE_L2 && !is_write(route))
		fabric->l2_read_ps += ps - hop->ps;
	hop->entered = count->entered[i];
	hop->ps = ps;
	hop->cycles = cycles;
	if (!hop->pmu || (!lines && !new_cycles))
		return;
	switch (hop->role) {
	case VSOC_ROLE_UCF:
	case VSOC_ROLE_UCF_CACHE:
		count_ucf(route, hop, lines, &count->lookup);
		break;
	case VSOC_ROLE_PCIE:
		count_pcie(route, hop, lines, new_cycles);
		break;
	case VSOC_ROLE_PCIE_TGT:
		count_pcie_target(route, hop, lines);
		break;
	case VSOC_ROLE_CMEM:
		count_cmem(hop, lines, new_cycles);
		break;
	default:
		count_link(route, hop, lines, new_cycles);
	}
}

void vsoc_routes_count(struct vsoc_fabric *fabric)
{
	for (u32 slot = 0; slot < MEMSIM_FLOWS; slot++) {
		const struct memsim_count *count = &fabric->sim.flows[slot].count;
		struct vsoc_route *route = &fabric->routes[slot];
		struct vsoc_route_total *total;

		if (!route->hop_count || (!memsim_pending(&fabric->sim, slot) &&
					  count->left[0] == route->left))
			continue;
		for (u32 i = 0; i < route->hop_count; i++)
			count_hop(fabric, route, count, i);
		total = &fabric->totals[route->t.kind][route->t.initiator][route->t.op];
		total->completed += count->left[0] - route->left;
		total->latency_ps += count->latency_ps[0] - route->latency_ps;
		total->outstanding_ps += count->outstanding_ps[0] - route->outstanding_ps;
		route->left = count->left[0];
		route->latency_ps = count->latency_ps[0];
		route->outstanding_ps = count->outstanding_ps[0];
	}
}

/* --- debugfs ---------------------------------------------------------------- */

void vsoc_routes_show(struct vsoc_fabric *fabric, struct seq_file *m)
{
	static const char * const kinds[] = { "MEM", "PCIE_SRC", "PCIE_TGT" };
	static const char * const initiators[] = { "GPU", "CPU", "NONCPU", "REMOTE" };
	static const char * const ops[] = { "read", "write", "atomic", "dataless" };

	seq_printf(m, "mode %s\n", fabric->sim.exact ? "exact" : "coarse");
	for (u32 k = 0; k < VSOC_TRAFFIC_KINDS; k++)
		for (u32 i = 0; i < VSOC_INITIATORS; i++)
			for (u32 op = 0; op < MEMSIM_OPS; op++) {
				const struct vsoc_route_total *t = &fabric->totals[k][i][op];

				seq_printf(m, "flow %s %s %s offered=%llu completed=%llu", kinds[k],
					   initiators[i], ops[op], t->offered, t->completed);
				seq_printf(m, " latency_ps=%llu outstanding_ps=%llu\n",
					   t->latency_ps, t->outstanding_ps);
			}
	for (u32 i = 0; i < VSOC_SOCKETS * SERVERS; i++) {
		const struct memsim_server *s = &fabric->sim.servers[i];
		const u32 kind = i % SERVERS;

		if (kind >= SERVER_PCIE_IN)
			seq_printf(m, "server pcie_%u_rc_%u_%s", i / SERVERS,
				   (kind - SERVER_PCIE_IN) % VSOC_ROOT_COMPLEXES,
				   kind < SERVER_PCIE_OUT ? "in" : "out");
		else
			seq_printf(m, "server %s_%u", server_names[kind], i / SERVERS);
		seq_printf(m, " units=%u service_ps=%u requests=%llu busy_ps=%llu\n", s->units,
			   s->service_ps, s->requests, s->busy_ps);
	}
}
