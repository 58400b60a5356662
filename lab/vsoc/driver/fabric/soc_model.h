/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Register models of the SoC's uncore PMUs.
 *
 * The drivers are the kernel's own (lab/tegra410): a model shares nothing with them, and
 * soc_host.c takes their accesses and its interrupt there. The fabric reports each piece of traffic
 * to a model once, with every attribute that the hardware knows; the model's registers determine
 * which counters count it.
 *
 * Locking: hw_lock of the device (a mutex) protects traffic and truth. soc_pmu.lock protects
 * registers; it is a raw spinlock, because perf reads and programs counters with interrupts off.
 */
#ifndef _SOC_MODEL_H_
#define _SOC_MODEL_H_

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
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

struct platform_device;
struct seq_file;
struct soc_pmu;

/* GPUs behind the NVLink-C2C of a socket */
#define SOC_MAX_GPUS		2

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

/* enum soc_kind - kinds of PMUs */
enum soc_kind {
	SOC_UCF,
	SOC_PCIE,
	SOC_PCIE_TGT,
	SOC_CMEM_LATENCY,
	SOC_NVLINK_C2C,
	SOC_NVCLINK,
	SOC_NVDLINK,
	SOC_KINDS
};

/* struct soc_place - which PMU it is, and what its links lead to */
struct soc_place {
	enum soc_kind kind;
	unsigned int socket;
	unsigned int root_complex;	/* PCIE, PCIE_TGT */
	u32 cpu_en_mask;		/* links: instances connected to another SoC */
	u32 gpu_en_mask[SOC_MAX_GPUS];	/* NVLINK_C2C: instances connected to each GPU */
};

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
	irq_handler_t handler;		/* the driver's, or NULL; under the model's lock */
	int number;			/* the interrupt's, for @handler */
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
	u16 bdf;	/* PCIE: one for all counters, the last that was written */
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
	u32 pmiidr;	/* 0: the ID is in @pmpidr */
	u32 pmpidr[5];
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
	char name[SOC_NAME_BYTES];	/* for debugfs */
	struct soc_place place;
	struct platform_device *pdev;	/* made by soc_host.c, or NULL */
	const struct soc_pmu_ops *ops;	/* registers */
	u64 hz;				/* of the cycle counter */
	const struct soc_trouble __rcu *trouble;	/* of the device whose traffic it counts */
	struct soc_truth truth;		/* under hw_lock */
	raw_spinlock_t lock;		/* protects everything below */
	u64 cycles;	/* of the clock at the last counter update */
	u64 cycles_counted;		/* counted while the cycle counter was enabled */
	u64 bad_accesses;		/* to nonexistent registers, or without a clock */
	u64 wide_accesses;		/* of 64 bits */
	struct soc_irq irq;		/* CoreSight PMUs */
	union {
		struct soc_cspmu cs;	/* registers of UCF, PCIE, PCIE-TGT */
		struct soc_windows win;	/* registers of the others */
	};
};

/* faults of a device; called with interrupts off */
struct soc_trouble {
	void (*before_read)(void *data);	/* before each register read */
	void (*before_affinity)(void *data);	/* before the interrupt's CPU is set */
	void *data;				/* for both */
};

/* shape of the models */
struct soc_config {
	unsigned int counters;	/* programmable counters of CoreSight PMUs, 1..31 */
	unsigned int width;	/* bits of their counters, 8..64 */
	bool peripheral_id;	/* they are identified by PMPIDR, and PMIIDR reads as zero */
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

/* soc_irq.c; process context */
int soc_irq_request(struct soc_pmu *pmu, int number, irq_handler_t handler, void *data);
void soc_irq_free(struct soc_pmu *pmu);
/* any context */
void soc_irq_set_affinity(struct soc_pmu *pmu, unsigned int cpu);
void soc_irq_init(struct soc_pmu *pmu);
void soc_irq_raise(struct soc_pmu *pmu);
void soc_irq_wait(struct soc_pmu *pmu);

/* soc_truth.c */
void soc_truth_add(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);
void soc_truth_show(struct soc_pmu *pmu, struct seq_file *m);
void soc_truth_fini(struct soc_pmu *pmu);

/* soc_pmu.c: one PMU, all kinds */
struct soc_pmu *soc_pmu_create(const struct soc_place *place, const struct soc_config *config);
void soc_pmu_destroy(struct soc_pmu *pmu);
void soc_pmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts);
u32 soc_pmu_read(struct soc_pmu *pmu, unsigned int window, unsigned int offset);
void soc_pmu_write(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value);
u64 soc_pmu_read64(struct soc_pmu *pmu, unsigned int window, unsigned int offset);
void soc_pmu_write64(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u64 value);

/*
 * soc_host.c: PMUs that drivers bind to. They stay when the device that feeds them is unbound, as
 * the SoC of a GPU does: an event that is open then counts nothing, and goes on with the next one.
 */
#if defined(CONFIG_X86) && defined(CONFIG_ACPI) && defined(CONFIG_NUMA)
/* the PMU of an earlier device, or NULL */
struct soc_pmu *soc_host_take(const struct soc_place *place);
/* make the device of a PMU; 0 or a negative errno */
int soc_host_plug(struct soc_pmu *pmu);
/* false: it was not plugged, and belongs to the caller */
bool soc_host_keep(struct soc_pmu *pmu);
void soc_host_exit(void);
#else
static inline struct soc_pmu *soc_host_take(const struct soc_place *place)
{
	return NULL;
}

static inline int soc_host_plug(struct soc_pmu *pmu)
{
	return 0;
}

static inline bool soc_host_keep(struct soc_pmu *pmu)
{
	return false;
}

static inline void soc_host_exit(void) { }
#endif

#endif /* _SOC_MODEL_H_ */
