// SPDX-License-Identifier: GPL-2.0
/*
 * Everything outside the GPU: the memory system, which takes the workload engine's traffic, and the
 * PMUs on its ways.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "soc_model.h"
#include "tegra410/tegra410_regs.h"
#include "engine/vsoc.h"
#include "engine/vsoc_fault.h"
#include "vsoc_fabric.h"
#include "vsoc_route.h"

/* a command that goes on does not wait for less */
#define LEAST_WAIT_PS	20000000
/* the same in exact mode, where the time is not known: lines, and the steps of waiting */
#define EXACT_LINES	1024
#define EXACT_WAIT_PS	2000000
/* step of waiting for the last requests of a command */
#define LAST_WAIT_PS	250000

/* duration of a stalled read, well below the kernel's lockup threshold */
#define SLOW_READ_MS	20

#define MIN_COUNTERS	1
#define MAX_COUNTERS	31
/* a narrower cycle counter would overflow faster than it can be updated */
#define MIN_WIDTH	32
#define MAX_WIDTH	64
#define MAX_GPU_MASK	(BIT(SOC_MAX_GPUS) - 1)
/* NVLink-C2C instances by GPU, all of them to another SoC, those of NV-CLink */
#define C2C_GPU0_INSTANCES	GENMASK(6, 0)
#define C2C_GPU1_INSTANCES	GENMASK(13, 7)
#define C2C_CPU_INSTANCES	GENMASK(NVLINK_C2C_INSTANCES - 1, 0)
#define CLINK_CPU_INSTANCES	GENMASK(NVCLINK_INSTANCES - 1, 0)

static bool soc_pmus = true;
module_param(soc_pmus, bool, 0444);
MODULE_PARM_DESC(soc_pmus, "the first virtual SoC has the PMUs of the fabric (Y)");

static unsigned int soc_counters = 8;
module_param(soc_counters, uint, 0444);
MODULE_PARM_DESC(soc_counters, "programmable counters of UCF, PCIE and PCIE-TGT PMUs, 1..31 (8)");

static unsigned int soc_width = 64;
module_param(soc_width, uint, 0444);
MODULE_PARM_DESC(soc_width, "bits of the counters of these PMUs, 32..64 (64)");

static bool soc_pmpidr;
module_param(soc_pmpidr, bool, 0444);
MODULE_PARM_DESC(soc_pmpidr, "these PMUs are identified by PMPIDR instead of PMIIDR (N)");

static unsigned int soc_gpu_mask = MAX_GPU_MASK;
module_param(soc_gpu_mask, uint, 0444);
MODULE_PARM_DESC(soc_gpu_mask, "GPUs on NVLink-C2C, a bit for each of 2; 0: another SoC (3)");

static bool soc_pci;
module_param(soc_pci, bool, 0444);
MODULE_PARM_DESC(soc_pci, "the first virtual SoC has PCI host bridges with its root ports (N)");

/* PMU names are global: only one virtual SoC can register them */
static atomic_t soc_taken = ATOMIC_INIT(0);

/* --- memory system ---------------------------------------------------------- */

void vsoc_fabric_traffic(struct vsoc_device *vsoc, const struct vsoc_traffic *t, u64 ns)
{
	lockdep_assert_held(&vsoc->hw_lock);
	vsoc_route_offer(vsoc->fabric, t, ns);
}

void vsoc_fabric_advance(struct vsoc_device *vsoc, u64 ns)
{
	lockdep_assert_held(&vsoc->hw_lock);
	memsim_run(&vsoc->fabric->sim, ns * 1000);
	vsoc_routes_count(vsoc->fabric);
}

void vsoc_fabric_drain(struct vsoc_device *vsoc, u32 lane)
{
	struct vsoc_fabric *fabric = vsoc->fabric;

	lockdep_assert_held(&vsoc->hw_lock);
	for (u32 i = 0; i < VSOC_MAX_STREAMS; i++) {
		const u32 slot = vsoc_traffic_slot(lane, i);
		const u64 lines = memsim_drain(&fabric->sim, slot);
		const struct vsoc_traffic *t = &fabric->routes[slot].t;

		fabric->totals[t->kind][t->initiator][t->op].offered -= lines;
		fabric->bytes[t->kind][t->initiator][t->home][t->op] -= lines * SOC_LINE_BYTES;
	}
	vsoc_routes_count(fabric);
}

u64 vsoc_fabric_backlog_ns(struct vsoc_device *vsoc, u32 lane, bool all)
{
	const struct memsim *sim = &vsoc->fabric->sim;
	u64 ps = 0, waiting = 0, pending = 0;

	for (u32 i = 0; i < VSOC_MAX_STREAMS; i++) {
		const struct memsim_flow *f = &sim->flows[vsoc_traffic_slot(lane, i)];

		waiting += f->waiting;
		pending += f->waiting + f->in_flight;
		if (f->waiting)
			ps = max(ps, div64_u64(f->waiting * sim->dt_ps, max(f->lines, 1ULL)));
		else if (f->in_flight && !sim->exact)
			ps = max(ps, div64_u64(-f->ahead_ps[0], f->window) + 1);
	}
	if (sim->exact)
		ps = waiting > EXACT_LINES ? EXACT_WAIT_PS : all && pending ? LAST_WAIT_PS : 0;
	else if (!all && ps < LEAST_WAIT_PS)
		ps = 0;
	return DIV_ROUND_UP_ULL(ps, 1000);
}

void vsoc_fabric_core(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 elements,
		      u64 ns)
{
	struct memsim_core *core = &vsoc->fabric->core;
	const u64 first = work->elements_done, evictions = core->evictions;
	u64 before[MEMSIM_EVENTS], lines[VSOC_MAX_STREAMS];

	lockdep_assert_held(&vsoc->hw_lock);
	memcpy(before, core->events, sizeof(before));
	if (!first) {
		core->counting = READ_ONCE(work->counting->l2_counting);
		memsim_core_init(core);
	}
	memsim_core_copy(core, first, elements, first + elements == work->elements);
	vsoc_core_count(core, before);
	lines[0] = core->events[MEMSIM_L2D_CACHE_REFILL] - before[MEMSIM_L2D_CACHE_REFILL];
	lines[1] = core->evictions - evictions;
	for (u32 i = 0; i < VSOC_MAX_STREAMS; i++) {
		struct vsoc_traffic t = work->streams[i].traffic;

		t.bytes = lines[i] * DRM_VSOC_LINE_BYTES;
		if (t.bytes)
			vsoc_route_offer(vsoc->fabric, &t, ns);
	}
}

u64 vsoc_fabric_take_l2_read_ps(struct vsoc_device *vsoc)
{
	const u64 ps = vsoc->fabric->l2_read_ps;

	vsoc->fabric->l2_read_ps = 0;
	return ps;
}

/* --- debugfs -------------------------------------------------------------- */

static int traffic_show(struct seq_file *m, void *unused)
{
	static const char * const kinds[] = { "MEM", "PCIE_SRC", "PCIE_TGT" };
	static const char * const initiators[] = { "GPU", "CPU", "NONCPU", "REMOTE" };
	static const char * const homes[] = { "CMEM", "GMEM", "CXL", "PCIE_PEER", "REMOTE" };
	static const char * const ops[] = { "read", "write", "atomic", "dataless" };
	struct vsoc_device *vsoc = m->private;

	mutex_lock(&vsoc->hw_lock);
	for (unsigned int k = 0; k < VSOC_TRAFFIC_KINDS; k++)
		for (unsigned int i = 0; i < VSOC_INITIATORS; i++)
			for (unsigned int h = 0; h < VSOC_HOMES; h++)
				for (unsigned int op = 0; op < MEMSIM_OPS; op++)
					seq_printf(m, "%s %s %s %s %llu\n", kinds[k],
						   initiators[i], homes[h], ops[op],
						   vsoc->fabric->bytes[k][i][h][op]);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(traffic);

static int memory_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;

	mutex_lock(&vsoc->hw_lock);
	vsoc_routes_show(vsoc->fabric, m);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memory);

static void show_state(struct soc_pmu *pmu, struct seq_file *m)
{
	unsigned long irq;
	u64 cycles, interrupts, bad, wide;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->sync(pmu);
	cycles = pmu->cycles_counted;
	interrupts = pmu->irq.count;
	bad = pmu->bad_accesses;
	wide = pmu->wide_accesses;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	seq_printf(m, "state cycles=%llu interrupts=%llu bad_accesses=%llu wide_accesses=%llu",
		   cycles, interrupts, bad, wide);
	seq_printf(m, " truth_dropped=%llu\n", pmu->truth.dropped);
}

/* all PMUs in one file, so that one read is consistent */
static int soc_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;
	struct vsoc_fabric *fabric = vsoc->fabric;

	mutex_lock(&vsoc->hw_lock);
	for (unsigned int i = 0; i < fabric->count; i++) {
		seq_printf(m, "[%s]\n", fabric->all[i]->name);
		show_state(fabric->all[i], m);
		soc_truth_show(fabric->all[i], m);
	}
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(soc);

/* --- faults ----------------------------------------------------------------- */

static void before_read(void *data)
{
	if (vsoc_fault(data, VSOC_FAULT_PMU_SLOW))
		mdelay(SLOW_READ_MS);
}

static void before_affinity(void *data)
{
	if (vsoc_fault(data, VSOC_FAULT_PMU_AFFINITY))
		mdelay(SLOW_READ_MS);
}

void vsoc_fabric_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("traffic", 0444, dir, vsoc, &traffic_fops);
	debugfs_create_file("memory", 0444, dir, vsoc, &memory_fops);
	debugfs_create_file("soc", 0444, dir, vsoc, &soc_fops);
}

/* --- set-up --------------------------------------------------------------- */

static int check_params(struct vsoc_device *vsoc)
{
	struct device *dev = vsoc->drm.dev;

	if (soc_counters < MIN_COUNTERS || soc_counters > MAX_COUNTERS) {
		dev_err(dev, "soc_counters=%u is not in %u..%u\n", soc_counters, MIN_COUNTERS,
			MAX_COUNTERS);
		return -EINVAL;
	}
	if (soc_width < MIN_WIDTH || soc_width > MAX_WIDTH) {
		dev_err(dev, "soc_width=%u is not in %u..%u\n", soc_width, MIN_WIDTH, MAX_WIDTH);
		return -EINVAL;
	}
	if (soc_gpu_mask > MAX_GPU_MASK) {
		dev_err(dev, "soc_gpu_mask=%#x is not in 0..%#lx\n", soc_gpu_mask, MAX_GPU_MASK);
		return -EINVAL;
	}
	return 0;
}

static int create_pmu(struct vsoc_device *vsoc, struct soc_place *place, enum soc_kind kind,
		      struct soc_pmu **slot)
{
	const struct soc_config config = {
		.counters = soc_counters,
		.width = soc_width,
		.peripheral_id = soc_pmpidr,
	};
	struct soc_pmu *pmu;

	place->kind = kind;
	pmu = vsoc->fabric->owner ? soc_host_take(place) : NULL;
	if (!pmu)
		pmu = soc_pmu_create(place, &config);
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	rcu_assign_pointer(pmu->trouble, &vsoc->fabric->trouble);
	*slot = pmu;
	vsoc->fabric->all[vsoc->fabric->count++] = pmu;
	return 0;
}

static int create_links(struct vsoc_device *vsoc, struct soc_place *place)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	unsigned int socket = place->socket;
	int ret;

	if (soc_gpu_mask & BIT(0))
		place->gpu_en_mask[0] = C2C_GPU0_INSTANCES;
	if (soc_gpu_mask & BIT(1))
		place->gpu_en_mask[1] = C2C_GPU1_INSTANCES;
	place->cpu_en_mask = soc_gpu_mask ? 0 : C2C_CPU_INSTANCES;
	ret = create_pmu(vsoc, place, SOC_NVLINK_C2C, &fabric->c2c[socket]);
	if (ret)
		return ret;

	place->cpu_en_mask = CLINK_CPU_INSTANCES;
	ret = create_pmu(vsoc, place, SOC_NVCLINK, &fabric->clink[socket]);
	if (ret)
		return ret;
	return create_pmu(vsoc, place, SOC_NVDLINK, &fabric->dlink[socket]);
}

static int create_socket(struct vsoc_device *vsoc, unsigned int socket)
{
	struct soc_place place = { .socket = socket };
	struct vsoc_fabric *fabric = vsoc->fabric;
	int ret;

	ret = create_pmu(vsoc, &place, SOC_UCF, &fabric->ucf[socket]);
	if (!ret)
		ret = create_pmu(vsoc, &place, SOC_CMEM_LATENCY, &fabric->cmem[socket]);
	for (unsigned int rc = 0; !ret && rc < VSOC_ROOT_COMPLEXES; rc++) {
		place.root_complex = rc;
		ret = create_pmu(vsoc, &place, SOC_PCIE, &fabric->pcie[socket][rc]);
		if (!ret)
			ret = create_pmu(vsoc, &place, SOC_PCIE_TGT,
					 &fabric->pcie_tgt[socket][rc]);
	}
	return ret ?: create_links(vsoc, &place);
}

/* creates devices for the drivers; the truth does not depend on them */
static int plug_all(struct vsoc_device *vsoc)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	int ret = 0;

	if (!fabric->owner)
		return 0;
	for (unsigned int i = 0; !ret && i < fabric->count; i++)
		ret = soc_host_plug(fabric->all[i]);
	if (ret || !soc_pci)
		return ret;
	fabric->pci = vsoc_pci_add(vsoc->drm.dev);
	if (IS_ERR(fabric->pci)) {
		ret = PTR_ERR(fabric->pci);
		fabric->pci = NULL;
		dev_err(vsoc->drm.dev, "soc_pci: no PCI host bridges, which need PCI on x86: %d\n",
			ret);
	}
	return ret;
}

int vsoc_fabric_init(struct vsoc_device *vsoc)
{
	int ret;

	ret = check_params(vsoc);
	if (ret)
		return ret;
	vsoc->fabric = kvzalloc(sizeof(*vsoc->fabric), GFP_KERNEL);
	if (!vsoc->fabric)
		return -ENOMEM;
	vsoc->fabric->gpu_mask = soc_gpu_mask;
	vsoc->fabric->owner = soc_pmus && !atomic_cmpxchg(&soc_taken, 0, 1);
	vsoc->fabric->trouble = (struct soc_trouble) {
		.before_read = before_read,
		.before_affinity = before_affinity,
		.data = vsoc,
	};

	ret = vsoc_routes_init(vsoc->fabric, vsoc->memory_exact);
	for (unsigned int socket = 0; !ret && socket < VSOC_SOCKETS; socket++)
		ret = create_socket(vsoc, socket);
	if (!ret)
		ret = plug_all(vsoc);
	if (ret)
		vsoc_fabric_fini(vsoc);
	return ret;
}

void vsoc_fabric_fini(struct vsoc_device *vsoc)
{
	struct vsoc_fabric *fabric = vsoc->fabric;

	if (!fabric)
		return;
	if (fabric->pci)
		vsoc_pci_remove(fabric->pci);
	for (unsigned int i = 0; i < fabric->count; i++)
		RCU_INIT_POINTER(fabric->all[i]->trouble, NULL);
	/* drivers may be reading registers */
	synchronize_rcu();
	for (unsigned int i = 0; i < fabric->count; i++) {
		if (!soc_host_keep(fabric->all[i]))
			soc_pmu_destroy(fabric->all[i]);
	}
	if (fabric->owner)
		atomic_set(&soc_taken, 0);
	vsoc_routes_fini(fabric);
	kvfree(fabric);
	vsoc->fabric = NULL;
}

void vsoc_fabric_exit(void)
{
	soc_host_exit();
}
