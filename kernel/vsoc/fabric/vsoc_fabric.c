// SPDX-License-Identifier: GPL-2.0
/*
 * Everything outside the GPU: passes the workload engine's traffic to each PMU on its path.
 *
 * The routing below determines these PMUs and the amounts of their events; docs/tegra410.md lists
 * the rules. Nothing is rounded: traffic consists of whole 64-byte lines.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "soc_model.h"
#include "tegra410/tegra410_regs.h"
#include "engine/vsoc.h"
#include "engine/vsoc_fault.h"
#include "vsoc_fabric.h"

#define KINDS		(VSOC_TRAFFIC_PCIE_TGT + 1)
#define INITIATORS	(DRM_VSOC_INITIATOR_REMOTE + 1)
#define HOMES		(DRM_VSOC_HOME_REMOTE + 1)

/* duration of a stalled read, well below the kernel's lockup threshold */
#define SLOW_READ_MS	20

#define MIN_COUNTERS	1
#define MAX_COUNTERS	31
/* a narrower cycle counter would overflow faster than it can be updated */
#define MIN_WIDTH	32
#define MAX_WIDTH	64
#define MAX_GPU_MASK	(BIT(TEGRA410_PMU_MAX_GPUS) - 1)
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

static unsigned int soc_gpu_mask = MAX_GPU_MASK;
module_param(soc_gpu_mask, uint, 0444);
MODULE_PARM_DESC(soc_gpu_mask, "GPUs on NVLink-C2C, a bit for each of 2; 0: another SoC (3)");

static char *soc_cpus[VSOC_SOCKETS];
module_param_array(soc_cpus, charp, NULL, 0444);
MODULE_PARM_DESC(soc_cpus, "CPUs of each socket as ranges, e.g. 0-1,2-3 (split evenly)");

/* the SoC around the GPU; hw_lock protects traffic */
struct vsoc_fabric {
	/* totals since the device exists, by read (0) and write (1) */
	u64 bytes[KINDS][INITIATORS][HOMES][2];
	u64 max_step;				/* limit of a counter's increment at once */
	bool owner;				/* this device registers the PMUs' names */
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
	struct mutex plug_lock;		/* protects the set of PMUs with a device */
	struct work_struct leave_work;	/* removes the devices of PMUs that are leaving */
};

/* PMU names are global: only one virtual SoC can register them */
static atomic_t soc_taken = ATOMIC_INIT(0);

/* --- routing -------------------------------------------------------------- */

/* a decoded piece of traffic */
struct flow {
	const struct vsoc_traffic *t;
	u64 lines;
	/* part of @lines that misses the system level cache */
	u64 misses;
	u64 latency;
	u8 src;
	u8 dst;
};

static u8 flow_src(const struct vsoc_traffic *t)
{
	switch (t->initiator) {
	case DRM_VSOC_INITIATOR_CPU:
		return SOC_SRC_LOC_CPU;
	case DRM_VSOC_INITIATOR_REMOTE:
		return SOC_SRC_REM;
	default:
		return SOC_SRC_LOC_NONCPU;
	}
}

static u8 flow_dst(const struct vsoc_traffic *t)
{
	switch (t->home) {
	case DRM_VSOC_HOME_CMEM:
		return SOC_DST_CMEM;
	case DRM_VSOC_HOME_GMEM:
		return SOC_DST_GMEM;
	case DRM_VSOC_HOME_CXL:
		return SOC_DST_CXL;
	case DRM_VSOC_HOME_PCIE_PEER:
		return SOC_DST_PCIE_PEER;
	default:
		return SOC_DST_REM;
	}
}

static void to_ucf(struct soc_pmu *pmu, const struct flow *f)
{
	const struct soc_tag tag = { .src = f->src, .dst = f->dst };
	u64 hits = f->lines - f->misses;
	u64 n[SOC_EVENTS] = {};

	if (f->t->write) {
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR] = f->lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR] = f->lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR] = f->misses;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_WB] = f->misses;
		n[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR] = f->misses;
		n[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR] = f->misses * SOC_LINE_BYTES;
	} else {
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD] = f->lines;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD] = f->lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD] = hits;
		n[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD] = f->misses;
		n[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD] = f->misses;
		n[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD] = f->misses * SOC_LINE_BYTES;
	}
	n[DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE] = f->misses;
	if (f->src == SOC_SRC_LOC_CPU) {
		n[DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP] = hits;
	} else {
		n[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS] = f->lines;
		n[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT] = f->t->write ? f->misses : 0;
	}
	soc_pmu_count(pmu, &tag, n);
}

static void to_pcie(struct soc_pmu *pmu, const struct flow *f)
{
	const struct soc_tag tag = {
		.bdf = f->t->bdf,
		.rp = f->t->root_port,
		.dst = f->dst,
	};
	u64 n[SOC_EVENTS] = {};

	if (f->t->write) {
		n[DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES] = f->lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_PCIE_WR_REQ] = f->lines;
	} else {
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES] = f->lines * SOC_LINE_BYTES;
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_REQ] = f->lines;
		n[DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS] = f->lines * f->latency;
	}
	soc_pmu_count(pmu, &tag, n);
}

static void to_pcie_tgt(struct soc_pmu *pmu, const struct flow *f)
{
	u64 address = f->t->address, end = address + f->lines * SOC_LINE_BYTES, next;
	struct soc_tag tag = { .rp = f->t->root_port, .dst = f->dst };
	u64 n[SOC_EVENTS] = {};

	/* split by address, as rows of truth are */
	for (; address != end; address = next) {
		next = round_down(address, SOC_TRUTH_REGION_BYTES) + SOC_TRUTH_REGION_BYTES;
		if (end - address < next - address)
			next = end;
		tag.address = address;
		tag.bytes = next - address;
		n[f->t->write ? DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES :
				DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES] = tag.bytes;
		n[f->t->write ? DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ :
				DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ] = tag.bytes / SOC_LINE_BYTES;
		soc_pmu_count(pmu, &tag, n);
	}
}

static void to_cmem(struct soc_pmu *pmu, const struct flow *f)
{
	const struct soc_tag tag = {};
	u64 requests = f->misses * (SOC_LINE_BYTES / CMEM_REQUEST_BYTES);
	u64 n[SOC_EVENTS] = {};

	if (f->t->write || !requests)
		return;
	n[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ] = requests;
	n[DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS] = requests * f->latency;
	soc_pmu_count(pmu, &tag, n);
}

/* @lines over one of the links; @in: incoming */
static void to_link(struct soc_pmu *pmu, const struct flow *f, u8 gpu, u64 lines, bool in)
{
	const struct soc_tag tag = { .gpu = gpu };
	u64 n[SOC_EVENTS] = {};
	u64 cum_outs = lines * f->latency;

	if (!lines)
		return;
	if (f->t->write) {
		/* links to other SoCs and to memory count reads only */
		if (pmu->pdata.kind != TEGRA410_PMU_NVLINK_C2C || pmu->pdata.cpu_en_mask)
			return;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_WR_REQ :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ] = lines;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_WR_CUM_OUTS :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_WR_CUM_OUTS] = cum_outs;
	} else {
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ] = lines;
		n[in ? DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS :
		       DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS] = cum_outs;
	}
	soc_pmu_count(pmu, &tag, n);
}

/* hardware number of the engine's GPU @gpu: the @gpu-th present one */
static u8 link_gpu(u8 gpu)
{
	unsigned long present = soc_gpu_mask;
	unsigned int bit;

	for_each_set_bit(bit, &present, TEGRA410_PMU_MAX_GPUS) {
		if (!gpu--)
			return bit;
	}
	return __ffs(present);
}

/* beyond the cache, at the home of the traffic */
static void to_home(struct vsoc_fabric *fabric, const struct flow *f)
{
	u8 socket = f->t->socket;

	switch (f->dst) {
	case SOC_DST_CMEM:
		to_cmem(fabric->cmem[socket], f);
		break;
	case SOC_DST_GMEM:
		if (soc_gpu_mask)
			to_link(fabric->c2c[socket], f, link_gpu(f->t->gpu), f->misses, false);
		break;
	case SOC_DST_CXL:
		to_link(fabric->dlink[socket], f, 0, f->misses, true);
		break;
	case SOC_DST_REM:
		to_link(fabric->clink[socket], f, 0, f->misses, false);
		if (!soc_gpu_mask)
			to_link(fabric->c2c[socket], f, 0, f->misses, false);
		break;
	}
}

static void route_mem(struct vsoc_fabric *fabric, const struct flow *f)
{
	u8 socket = f->t->socket;

	if (f->t->initiator == DRM_VSOC_INITIATOR_GPU && soc_gpu_mask)
		to_link(fabric->c2c[socket], f, link_gpu(0), f->lines, true);
	if (f->t->initiator == DRM_VSOC_INITIATOR_REMOTE) {
		to_link(fabric->clink[socket], f, 0, f->lines, true);
		if (!soc_gpu_mask)
			to_link(fabric->c2c[socket], f, 0, f->lines, true);
	}
	to_ucf(fabric->ucf[socket], f);
	to_home(fabric, f);
}

static void route_pcie(struct vsoc_fabric *fabric, const struct flow *f)
{
	u8 socket = f->t->socket;

	to_pcie(fabric->pcie[socket][f->t->root_complex], f);
	/* peer-to-peer traffic does not enter the coherent fabric */
	if (f->dst == SOC_DST_PCIE_PEER)
		return;
	to_ucf(fabric->ucf[socket], f);
	to_home(fabric, f);
}

static void route(struct vsoc_fabric *fabric, const struct vsoc_traffic *t)
{
	const struct flow f = {
		.t = t,
		.lines = t->bytes / SOC_LINE_BYTES,
		.misses = (t->bytes - t->hit_bytes) / SOC_LINE_BYTES,
		.latency = t->latency_cycles,
		.src = flow_src(t),
		.dst = flow_dst(t),
	};

	switch (t->kind) {
	case VSOC_TRAFFIC_MEM:
		route_mem(fabric, &f);
		break;
	case VSOC_TRAFFIC_PCIE_SRC:
		route_pcie(fabric, &f);
		break;
	default:
		to_pcie_tgt(fabric->pcie_tgt[t->socket][t->root_complex], &f);
		/* CXL memory is coherent, a BAR is not */
		if (f.dst == SOC_DST_CXL)
			to_ucf(fabric->ucf[t->socket], &f);
	}
}

/* number of lines that do not exceed max_step in any counter */
static u64 max_lines(const struct vsoc_fabric *fabric, const struct vsoc_traffic *t)
{
	u64 per_line = max_t(u64, SOC_LINE_BYTES, t->latency_cycles);

	return max(div64_u64(fabric->max_step, per_line), 1ULL);
}

void vsoc_fabric_traffic(struct vsoc_device *vsoc, const struct vsoc_traffic *t)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	u64 part_bytes = max_lines(fabric, t) * SOC_LINE_BYTES;
	struct vsoc_traffic part = *t;
	u64 left = t->bytes, hits = t->hit_bytes;

	lockdep_assert_held(&vsoc->hw_lock);
	fabric->bytes[t->kind][t->initiator][t->home][t->write] += t->bytes;

	for (; left; left -= part.bytes, hits -= part.hit_bytes) {
		part.bytes = min(left, part_bytes);
		part.hit_bytes = min(hits, part.bytes);
		route(fabric, &part);
		part.address += part.bytes;
	}
}

/* --- debugfs -------------------------------------------------------------- */

static int traffic_show(struct seq_file *m, void *unused)
{
	static const char * const kinds[KINDS] = { "MEM", "PCIE_SRC", "PCIE_TGT" };
	static const char * const initiators[INITIATORS] = { "GPU", "CPU", "NONCPU", "REMOTE" };
	static const char * const homes[HOMES] = { "CMEM", "GMEM", "CXL", "PCIE_PEER", "REMOTE" };
	struct vsoc_device *vsoc = m->private;

	mutex_lock(&vsoc->hw_lock);
	for (unsigned int k = 0; k < KINDS; k++)
		for (unsigned int i = 0; i < INITIATORS; i++)
			for (unsigned int h = 0; h < HOMES; h++)
				for (unsigned int w = 0; w < 2; w++)
					seq_printf(m, "%s %s %s %s %llu\n", kinds[k],
						   initiators[i], homes[h], w ? "write" : "read",
						   vsoc->fabric->bytes[k][i][h][w]);
	mutex_unlock(&vsoc->hw_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(traffic);

static void show_state(struct soc_pmu *pmu, struct seq_file *m)
{
	unsigned long irq;
	u64 cycles, interrupts, bad;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->ops->sync(pmu);
	cycles = pmu->cycles_counted;
	interrupts = pmu->irq.count;
	bad = pmu->bad_accesses;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	seq_printf(m, "state cycles=%llu interrupts=%llu bad_accesses=%llu truth_dropped=%llu\n",
		   cycles, interrupts, bad, pmu->truth.dropped);
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

/* --- PMU removal and return ------------------------------------------------- */

static void leave_work(struct work_struct *work)
{
	struct vsoc_fabric *fabric = container_of(work, struct vsoc_fabric, leave_work);

	mutex_lock(&fabric->plug_lock);
	for (unsigned int i = 0; i < fabric->count; i++) {
		if (!READ_ONCE(fabric->all[i]->leaving))
			continue;
		soc_pmu_unplug(fabric->all[i]);
		WRITE_ONCE(fabric->all[i]->leaving, false);
	}
	mutex_unlock(&fabric->plug_lock);
}

/* called under the raw lock of a regmap */
static void before_read(struct soc_pmu *pmu, void *data)
{
	struct vsoc_device *vsoc = data;

	if (vsoc_fault(vsoc, VSOC_FAULT_PMU_SLOW))
		mdelay(SLOW_READ_MS);
	if (vsoc_fault(vsoc, VSOC_FAULT_PMU_GONE)) {
		WRITE_ONCE(pmu->leaving, true);
		schedule_work(&vsoc->fabric->leave_work);
	}
}

/* may be called with a raw lock held */
static void before_affinity(struct soc_pmu *pmu, void *data)
{
	if (vsoc_fault(data, VSOC_FAULT_PMU_AFFINITY))
		mdelay(SLOW_READ_MS);
}

static int plug(struct vsoc_device *vsoc, const char *name, bool in)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	int ret = -ENODEV;

	/* only the owner's PMUs have devices */
	if (!fabric->owner)
		return -EBUSY;
	/* finish a pending removal first */
	flush_work(&fabric->leave_work);
	mutex_lock(&fabric->plug_lock);
	for (unsigned int i = 0; i < fabric->count && ret == -ENODEV; i++) {
		struct soc_pmu *pmu = fabric->all[i];

		if (strcmp(pmu->name, name))
			continue;
		ret = 0;
		if (!in)
			soc_pmu_unplug(pmu);
		else if (pmu->pdev)
			ret = -EEXIST;
		else
			ret = soc_pmu_plug(pmu, vsoc->drm.dev);
	}
	mutex_unlock(&fabric->plug_lock);
	return ret;
}

static ssize_t plug_write(struct file *file, const char __user *from, size_t count, bool in)
{
	char name[SOC_NAME_BYTES];
	int ret;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, count))
		return -EFAULT;
	name[count] = '\0';
	ret = plug(file->private_data, strim(name), in);
	return ret ?: count;
}

static ssize_t pmu_plug_write(struct file *file, const char __user *from, size_t count,
			      loff_t *pos)
{
	return plug_write(file, from, count, true);
}

static ssize_t pmu_unplug_write(struct file *file, const char __user *from, size_t count,
				loff_t *pos)
{
	return plug_write(file, from, count, false);
}

static const struct file_operations pmu_plug_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = pmu_plug_write,
};

static const struct file_operations pmu_unplug_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = pmu_unplug_write,
};

void vsoc_fabric_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("pmu_plug", 0200, dir, vsoc, &pmu_plug_fops);
	debugfs_create_file("pmu_unplug", 0200, dir, vsoc, &pmu_unplug_fops);
	debugfs_create_file("traffic", 0444, dir, vsoc, &traffic_fops);
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

/* CPUs of a socket: the parameter, or an even share of all possible CPUs */
static int socket_cpus(struct vsoc_device *vsoc, unsigned int socket, cpumask_t *cpus)
{
	unsigned int per_socket = DIV_ROUND_UP(num_possible_cpus(), VSOC_SOCKETS);
	unsigned int cpu, n = 0;
	int ret;

	cpumask_clear(cpus);
	if (soc_cpus[socket]) {
		ret = cpulist_parse(soc_cpus[socket], cpus);
		if (ret || !cpumask_intersects(cpus, cpu_possible_mask)) {
			dev_err(vsoc->drm.dev, "soc_cpus: %s are no CPUs of this machine\n",
				soc_cpus[socket]);
			return ret ?: -EINVAL;
		}
		cpumask_and(cpus, cpus, cpu_possible_mask);
		return 0;
	}
	for_each_possible_cpu(cpu) {
		if (n++ / per_socket == socket)
			cpumask_set_cpu(cpu, cpus);
	}
	/* there are fewer CPUs than sockets */
	if (cpumask_empty(cpus))
		cpumask_set_cpu(cpumask_last(cpu_possible_mask), cpus);
	return 0;
}

static int create_pmu(struct vsoc_device *vsoc, struct tegra410_pmu_platform_data *pdata,
		      enum tegra410_pmu_kind_id kind, struct soc_pmu **slot)
{
	const struct soc_config config = {
		.counters = soc_counters,
		.width = soc_width,
		.before_read = before_read,
		.before_affinity = before_affinity,
		.before_data = vsoc,
	};
	struct soc_pmu *pmu;

	pdata->kind = kind;
	pmu = soc_pmu_create(vsoc->drm.dev, pdata, &config);
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	*slot = pmu;
	vsoc->fabric->all[vsoc->fabric->count++] = pmu;
	return 0;
}

static int create_links(struct vsoc_device *vsoc, struct tegra410_pmu_platform_data *pdata)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	unsigned int socket = pdata->socket;
	int ret;

	if (soc_gpu_mask & BIT(0))
		pdata->gpu_en_mask[0] = C2C_GPU0_INSTANCES;
	if (soc_gpu_mask & BIT(1))
		pdata->gpu_en_mask[1] = C2C_GPU1_INSTANCES;
	pdata->cpu_en_mask = soc_gpu_mask ? 0 : C2C_CPU_INSTANCES;
	ret = create_pmu(vsoc, pdata, TEGRA410_PMU_NVLINK_C2C, &fabric->c2c[socket]);
	if (ret)
		return ret;

	pdata->cpu_en_mask = CLINK_CPU_INSTANCES;
	ret = create_pmu(vsoc, pdata, TEGRA410_PMU_NVCLINK, &fabric->clink[socket]);
	if (ret)
		return ret;
	return create_pmu(vsoc, pdata, TEGRA410_PMU_NVDLINK, &fabric->dlink[socket]);
}

static int create_socket(struct vsoc_device *vsoc, unsigned int socket)
{
	struct tegra410_pmu_platform_data pdata = { .socket = socket };
	struct vsoc_fabric *fabric = vsoc->fabric;
	int ret;

	ret = socket_cpus(vsoc, socket, &pdata.cpus);
	if (!ret)
		ret = create_pmu(vsoc, &pdata, TEGRA410_PMU_UCF, &fabric->ucf[socket]);
	if (!ret)
		ret = create_pmu(vsoc, &pdata, TEGRA410_PMU_CMEM_LATENCY, &fabric->cmem[socket]);
	for (unsigned int rc = 0; !ret && rc < VSOC_ROOT_COMPLEXES; rc++) {
		pdata.root_complex = rc;
		ret = create_pmu(vsoc, &pdata, TEGRA410_PMU_PCIE, &fabric->pcie[socket][rc]);
		if (!ret)
			ret = create_pmu(vsoc, &pdata, TEGRA410_PMU_PCIE_TGT,
					 &fabric->pcie_tgt[socket][rc]);
	}
	return ret ?: create_links(vsoc, &pdata);
}

/* creates devices for the drivers; the truth does not depend on them */
static int plug_all(struct vsoc_device *vsoc)
{
	struct vsoc_fabric *fabric = vsoc->fabric;
	int ret = 0;

	if (!soc_pmus || atomic_cmpxchg(&soc_taken, 0, 1))
		return 0;
	fabric->owner = true;
	for (unsigned int i = 0; !ret && i < fabric->count; i++)
		ret = soc_pmu_plug(fabric->all[i], vsoc->drm.dev);
	return ret;
}

int vsoc_fabric_init(struct vsoc_device *vsoc)
{
	int ret;

	ret = check_params(vsoc);
	if (ret)
		return ret;
	vsoc->fabric = kzalloc(sizeof(*vsoc->fabric), GFP_KERNEL);
	if (!vsoc->fabric)
		return -ENOMEM;
	mutex_init(&vsoc->fabric->plug_lock);
	INIT_WORK(&vsoc->fabric->leave_work, leave_work);

	for (unsigned int socket = 0; !ret && socket < VSOC_SOCKETS; socket++)
		ret = create_socket(vsoc, socket);
	if (!ret) {
		vsoc->fabric->max_step = soc_cspmu_max_step(vsoc->fabric->ucf[0]);
		ret = plug_all(vsoc);
	}
	if (ret)
		vsoc_fabric_fini(vsoc);
	return ret;
}

void vsoc_fabric_fini(struct vsoc_device *vsoc)
{
	struct vsoc_fabric *fabric = vsoc->fabric;

	if (!fabric)
		return;
	/* no register is read afterwards, so leave_work is not scheduled again */
	mutex_lock(&fabric->plug_lock);
	for (unsigned int i = 0; i < fabric->count; i++)
		soc_pmu_unplug(fabric->all[i]);
	mutex_unlock(&fabric->plug_lock);
	cancel_work_sync(&fabric->leave_work);
	if (fabric->owner)
		atomic_set(&soc_taken, 0);
	for (unsigned int i = 0; i < fabric->count; i++)
		soc_pmu_destroy(fabric->all[i]);
	kfree(fabric);
	vsoc->fabric = NULL;
}
