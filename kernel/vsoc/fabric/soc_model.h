/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Register models of the SoC's uncore PMUs.
 *
 * A model shares nothing with the drivers but tegra410_regs.h: they reach it
 * through a regmap and get its interrupt. The fabric reports to a model each
 * piece of traffic once, with all that hardware would know of it; what a
 * counter counts of it is decided here, from the registers.
 *
 * Locking: traffic and truth are under the device's hw_lock (mutex). Registers
 * are under soc_pmu.lock, a raw spinlock, because perf reads and programs
 * counters with interrupts off.
 */
#ifndef _SOC_MODEL_H_
#define _SOC_MODEL_H_

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <drm/perfctr_drm.h>
#include <drm/perfctr_tegra410.h>
#include "tegra410/tegra410_pmu_platform.h"

struct device;
struct platform_device;
struct regmap;
struct seq_file;
struct soc_pmu;

/* bytes of a request on PCIe and on the C2C links in this model: a line */
#define SOC_LINE_BYTES		64
/* events of the largest catalogue (UCF) */
#define SOC_EVENTS		(DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT + 1)
#define SOC_NAME_BYTES		48

/* virtual clocks, as measured on a real machine */
#define SOC_UCF_HZ		2500000000ULL
#define SOC_PCIE_HZ		1040000000ULL
#define SOC_CMEM_HZ		2500000000ULL
#define SOC_LINK_HZ		1870000000ULL

/* enum soc_src - initiator as UCF sees it */
enum soc_src {
	SOC_SRC_LOC_NONCPU,
	SOC_SRC_LOC_CPU,
	SOC_SRC_REM,
};

/* enum soc_dst - home as UCF and PCIE see it */
enum soc_dst {
	SOC_DST_CMEM,
	SOC_DST_GMEM,
	SOC_DST_CXL,
	SOC_DST_PCIE_PEER,
	SOC_DST_REM,
};

/**
 * struct soc_tag - what hardware knows of a piece of traffic
 *
 * A kind uses the fields that its filters can tell apart, the others are 0.
 */
struct soc_tag {
	/** @address: PCIE_TGT: of the first byte. */
	u64 address;
	/** @bytes: PCIE_TGT: length, for the address filters. */
	u64 bytes;
	/** @bdf: PCIE: the device. */
	u16 bdf;
	/** @src: UCF: enum soc_src. */
	u8 src;
	/** @dst: UCF, PCIE, PCIE_TGT: enum soc_dst. */
	u8 dst;
	/** @rp: PCIE, PCIE_TGT: root port. */
	u8 rp;
	/** @gpu: NVLink-C2C: GPU, by its number on the link. */
	u8 gpu;
};

/**
 * struct soc_pmu_ops - registers of a kind; all with the model's lock
 */
struct soc_pmu_ops {
	/** @read: 32 bits; offset in a window. */
	u32 (*read)(struct soc_pmu *pmu, unsigned int window, unsigned int offset);
	/** @write: 32 bits. */
	void (*write)(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value);
	/** @count: this traffic happened, @amounts by catalogue number. */
	void (*count)(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);
	/** @sync: bring cycle counters up to date. */
	void (*sync)(struct soc_pmu *pmu);
};

/**
 * struct soc_irq - overflow interrupt: irq_work here, then the CPU that the driver wants
 */
struct soc_irq {
	/** @work: gets out of the model's lock. */
	struct irq_work work;
	/** @csd: gets to @cpu. */
	call_single_data_t csd;
	/** @handler: the driver's, or NULL. Under the model's lock. */
	void (*handler)(void *data);
	/** @data: for @handler. */
	void *data;
	/** @cpu: where the handler runs. */
	unsigned int cpu;
	/** @busy: raised and not yet handled. */
	bool busy;
	/** @count: how often it was raised. */
	u64 count;
};

#define SOC_CSPMU_COUNTERS	32
#define SOC_ADDRESS_SLOTS	8

/*
 * struct soc_cspmu - registers of a CoreSight PMU
 */
struct soc_cspmu {
	u32 typer[SOC_CSPMU_COUNTERS];
	u32 filtr[SOC_CSPMU_COUNTERS];
	u32 filt2r[SOC_CSPMU_COUNTERS];
	u64 counter[SOC_CSPMU_COUNTERS];
	u32 ccfiltr;
	u32 enabled;
	u32 irq_enabled;
	u32 overflow;
	u32 cr;
	struct {
		u32 ctrl;
		u64 base;
		u64 mask;
	} slot[SOC_ADDRESS_SLOTS];
	/* constant */
	u32 pmiidr;
	u32 pmcfgr;
	u64 counter_mask;
	u32 implemented;
	unsigned int stride;
	struct hrtimer timer;
};

#define SOC_INSTANCES		16
#define SOC_INSTANCE_COUNTERS	9

/*
 * struct soc_windows - registers of a PMU of instance windows
 */
struct soc_windows {
	u64 counter[SOC_INSTANCES][SOC_INSTANCE_COUNTERS];
	u32 enabled;
	u32 gate;
	/* constant */
	unsigned int instances;
};

/*
 * struct soc_truth_row - true totals of one tag
 */
struct soc_truth_row {
	struct hlist_node node;
	struct soc_tag tag;
	u64 total[SOC_EVENTS];
};

#define SOC_TRUTH_BITS		6
#define SOC_TRUTH_MAX_ROWS	4096
/* PCIE_TGT rows are by address; traffic is cut at multiples of this */
#define SOC_TRUTH_REGION_BYTES	0x10000

/**
 * struct soc_truth - what really happened, by tag
 */
struct soc_truth {
	/** @rows: by tag. */
	DECLARE_HASHTABLE(rows, SOC_TRUTH_BITS);
	/** @row_count: at most SOC_TRUTH_MAX_ROWS. */
	unsigned int row_count;
	/** @dropped: pieces of traffic that have no row. */
	u64 dropped;
};

/**
 * struct soc_pmu - the model of one PMU
 */
struct soc_pmu {
	/** @name: for debugfs and regmap. */
	char name[SOC_NAME_BYTES];
	/** @pdata: for the driver. */
	struct tegra410_pmu_platform_data pdata;
	/** @pdev: the device that the driver binds to. */
	struct platform_device *pdev;
	/** @ops: registers. */
	const struct soc_pmu_ops *ops;
	/** @regmap: the driver's way to them. */
	struct regmap *regmap;
	/** @hz: of the cycle counter. */
	u64 hz;
	/** @before_read: see struct soc_config. */
	void (*before_read)(struct soc_pmu *pmu, void *data);
	/** @before_affinity: see struct soc_config. */
	void (*before_affinity)(struct soc_pmu *pmu, void *data);
	/** @before_data: for both. */
	void *before_data;
	/** @leaving: its device is about to go. */
	bool leaving;
	/** @truth: under hw_lock. */
	struct soc_truth truth;
	/** @lock: protects all below. */
	raw_spinlock_t lock;
	/** @cycles: of the virtual clock when counters were last brought up to date. */
	u64 cycles;
	/** @cycles_counted: by the cycle counter while it was enabled. */
	u64 cycles_counted;
	/** @bad_accesses: to registers that do not exist or whose clock is off. */
	u64 bad_accesses;
	/** @irq: CoreSight PMUs. */
	struct soc_irq irq;
	union {
		/** @cs: registers of UCF, PCIE, PCIE-TGT. */
		struct soc_cspmu cs;
		/** @win: registers of the others. */
		struct soc_windows win;
	};
};

/**
 * struct soc_config - shape of the models
 */
struct soc_config {
	/** @counters: programmable counters of CoreSight PMUs, 1..31. */
	unsigned int counters;
	/** @width: bits of their counters, 8..64. */
	unsigned int width;
	/** @before_read: before each read of a register, with interrupts off; may spoil it. */
	void (*before_read)(struct soc_pmu *pmu, void *data);
	/** @before_affinity: before the CPU of the interrupt is set, maybe with interrupts off. */
	void (*before_affinity)(struct soc_pmu *pmu, void *data);
	/** @before_data: for both. */
	void *before_data;
};

/* cycles of the PMU's clock since the machine started, as if it had always run */
static inline u64 soc_pmu_cycles(const struct soc_pmu *pmu)
{
	return mul_u64_u64_div_u64(ktime_get_raw_fast_ns(), pmu->hz, NSEC_PER_SEC);
}

/* soc_cspmu.c, soc_windows.c: models by kind */
void soc_cspmu_init(struct soc_pmu *pmu, const struct soc_config *config);
void soc_cspmu_fini(struct soc_pmu *pmu);
u64 soc_cspmu_max_step(const struct soc_pmu *pmu);
void soc_windows_init(struct soc_pmu *pmu);

/* soc_irq.c */
extern const struct tegra410_pmu_irq_ops soc_irq_ops;
void soc_irq_init(struct soc_pmu *pmu);
void soc_irq_raise(struct soc_pmu *pmu);
void soc_irq_wait(struct soc_pmu *pmu);

/* soc_truth.c */
void soc_truth_add(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);
void soc_truth_show(struct soc_pmu *pmu, struct seq_file *m);
void soc_truth_fini(struct soc_pmu *pmu);

/* soc_pmu.c: one PMU, all kinds */
struct soc_pmu *soc_pmu_create(struct device *parent,
			       const struct tegra410_pmu_platform_data *pdata,
			       const struct soc_config *config);
int soc_pmu_plug(struct soc_pmu *pmu, struct device *parent);
void soc_pmu_unplug(struct soc_pmu *pmu);
void soc_pmu_destroy(struct soc_pmu *pmu);
void soc_pmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);

#endif /* _SOC_MODEL_H_ */
