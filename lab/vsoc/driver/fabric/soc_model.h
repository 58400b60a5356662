/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Register models of the SoC's uncore PMUs.
 *
 * A model shares only tegra410_regs.h with the drivers, which access it through a regmap and an
 * interrupt. The fabric reports each piece of traffic to a model once, with every attribute that
 * the hardware knows; the model's registers determine which counters count it.
 *
 * Locking: hw_lock of the device (a mutex) protects traffic and truth. soc_pmu.lock protects
 * registers; it is a raw spinlock, because perf reads and programs counters with interrupts off.
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

/* size of a PCIe or C2C request in this model: a line */
#define SOC_LINE_BYTES		64
/* events in the largest catalogue (UCF) */
#define SOC_EVENTS		(DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT + 1)
#define SOC_NAME_BYTES		48

/* clocks, as measured on a real machine */
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

/*
 * attributes of a piece of traffic that hardware knows
 *
 * Each kind uses the fields that its filters distinguish; the others are 0.
 */
struct soc_tag {
	u64 address;	/* PCIE_TGT: of the first byte */
	u64 bytes;	/* PCIE_TGT: length, for the address filters */
	u16 bdf;	/* PCIE: the device */
	u8 src;		/* UCF: enum soc_src */
	u8 dst;		/* UCF, PCIE, PCIE_TGT: enum soc_dst */
	u8 rp;		/* PCIE, PCIE_TGT: root port */
	u8 gpu;		/* NVLink-C2C: GPU, by its number on the link */
};

/* register interface of a kind; called with the model's lock held */
struct soc_pmu_ops {
	/* 32 bits; offset in a window */
	u32 (*read)(struct soc_pmu *pmu, unsigned int window, unsigned int offset);
	/* 32 bits */
	void (*write)(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value);
	/* count traffic; @amounts by catalogue number */
	void (*count)(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);
	void (*sync)(struct soc_pmu *pmu);	/* update the cycle counters */
};

/* overflow interrupt: irq_work, then an IPI to the driver's CPU */
struct soc_irq {
	struct irq_work work;		/* leaves the model's lock */
	call_single_data_t csd;		/* IPI to @cpu */
	void (*handler)(void *data);	/* the driver's, or NULL; under the model's lock */
	void *data;			/* for @handler */
	unsigned int cpu;		/* on which the handler runs */
	bool busy;			/* raised and not yet handled */
	u64 count;			/* number of interrupts raised */
};

#define SOC_CSPMU_COUNTERS	32
#define SOC_ADDRESS_SLOTS	8

/* struct soc_cspmu - registers of a CoreSight PMU */
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

/* struct soc_windows - registers of a PMU of instance windows */
struct soc_windows {
	u64 counter[SOC_INSTANCES][SOC_INSTANCE_COUNTERS];
	u32 enabled;
	u32 gate;
	unsigned int instances; /* constant */
};

/* struct soc_truth_row - true totals of one tag */
struct soc_truth_row {
	struct hlist_node node;
	struct soc_tag tag;
	u64 total[SOC_EVENTS];
};

#define SOC_TRUTH_BITS		6
#define SOC_TRUTH_MAX_ROWS	4096
/* PCIE_TGT rows are by address; traffic is split at multiples of this */
#define SOC_TRUTH_REGION_BYTES	0x10000

/* exact totals by tag */
struct soc_truth {
	DECLARE_HASHTABLE(rows, SOC_TRUTH_BITS);	/* by tag */
	struct soc_truth_row *last;			/* found last, or NULL */
	unsigned int row_count;				/* at most SOC_TRUTH_MAX_ROWS */
	u64 dropped;					/* pieces of traffic without a row */
};

/* the model of one PMU */
struct soc_pmu {
	char name[SOC_NAME_BYTES];	/* for debugfs and regmap */
	struct tegra410_pmu_platform_data pdata;	/* for the driver */
	struct platform_device *pdev;	/* the device that the driver binds to */
	const struct soc_pmu_ops *ops;	/* registers */
	struct regmap *regmap;		/* the driver's access to them */
	u64 hz;				/* of the cycle counter */
	void (*before_read)(struct soc_pmu *pmu, void *data);	/* see struct soc_config */
	void (*before_affinity)(struct soc_pmu *pmu, void *data);	/* see struct soc_config */
	void *before_data;		/* for both */
	bool leaving;			/* its device is about to be removed */
	struct soc_truth truth;		/* under hw_lock */
	raw_spinlock_t lock;		/* protects everything below */
	u64 cycles;	/* of the clock at the last counter update */
	u64 cycles_counted;		/* counted while the cycle counter was enabled */
	u64 bad_accesses;		/* to nonexistent registers, or without a clock */
	struct soc_irq irq;		/* CoreSight PMUs */
	union {
		struct soc_cspmu cs;	/* registers of UCF, PCIE, PCIE-TGT */
		struct soc_windows win;	/* registers of the others */
	};
};

/* shape of the models */
struct soc_config {
	unsigned int counters;	/* programmable counters of CoreSight PMUs, 1..31 */
	unsigned int width;	/* bits of their counters, 8..64 */
	/* called before each register read, with interrupts off; may inject a fault */
	void (*before_read)(struct soc_pmu *pmu, void *data);
	/* called before the interrupt's CPU is set, possibly with interrupts off */
	void (*before_affinity)(struct soc_pmu *pmu, void *data);
	void *before_data;	/* for both */
};

/* cycles of the PMU's clock since boot, as if it had never stopped */
static inline u64 soc_pmu_cycles(const struct soc_pmu *pmu)
{
	return mul_u64_u64_div_u64(ktime_get_raw_fast_ns(), pmu->hz, NSEC_PER_SEC);
}

/* soc_cspmu.c, soc_windows.c: models by kind */
void soc_cspmu_init(struct soc_pmu *pmu, const struct soc_config *config);
void soc_cspmu_fini(struct soc_pmu *pmu);
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
