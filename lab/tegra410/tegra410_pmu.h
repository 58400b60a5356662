/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tegra410 uncore PMU drivers: interface between the common part and the kinds.
 */
#ifndef _TEGRA410_PMU_H_
#define _TEGRA410_PMU_H_

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/spinlock.h>

#include "tegra410_pmu_platform.h"
#include "tegra410_regs.h"

/* hardware or logical counters of one PMU; one bit each in a u32 */
#define TEGRA410_PMU_SLOTS	32
/* longest name: "nvidia_cmem_latency_pmu_" and two numbers */
#define TEGRA410_PMU_NAME_BYTES	48

struct tegra410_pmu;

/* fields of the perf event that hold its decoded attributes */
#define hw_event(hwc)		((hwc)->config_base)	/* event number */
#define hw_filter(hwc)		((hwc)->config)		/* first filter register */
#define hw_filter2(hwc)		((hwc)->event_base)	/* second filter register */
/* hwc->flags: the start value could not be read; the first value read replaces it */
#define TEGRA410_NO_BASELINE	BIT(0)
/* hwc->flags: the device was removed while the event was counting */
#define TEGRA410_ORPHAN		BIT(1)

/*
 * description of one kind of PMU
 *
 * Operations that access hardware are called with the PMU's lock held and interrupts off, and only
 * while a device is bound.
 */
struct tegra410_pmu_kind {
	const char *name_format;	/* of the PMU's name: socket, root complex */
	const struct attribute_group *const *attr_groups;	/* of the PMU in sysfs */
	int task_errno;			/* errno for an event attached to a task */
	const char *identifier;		/* contents of sysfs file "identifier"; NULL: PMIIDR */
	/*
	 * identify the hardware of a newly bound device, read its shape, stop its counters. Returns
	 * 0 or a negative errno. May sleep.
	 */
	int (*init)(struct tegra410_pmu *pmu, struct device *dev);
	/*
	 * check the event's config and decode it into hw_event(), hw_filter(), hw_filter2();
	 * reserve what it needs while open. @leader is the first event of the group on this PMU
	 * that has filters, or NULL. Called with open_lock. Returns 0, or a negative errno with a
	 * debug message.
	 */
	int (*open)(struct tegra410_pmu *pmu, struct perf_event *event,
		    struct perf_event *leader);
	/* release what @open reserved; optional, with open_lock */
	void (*close)(struct tegra410_pmu *pmu, struct perf_event *event);
	/* the event uses the dedicated cycle counter; optional */
	bool (*is_cycles)(const struct perf_event *event);
	/* mask of counters that can count the event */
	u32 (*slots)(struct tegra410_pmu *pmu, const struct perf_event *event);
	/* two events cannot count at the same time; optional, called with and without the lock */
	bool (*conflict)(const struct perf_event *a, const struct perf_event *b);
	/* program event and filters of a stopped counter; optional */
	void (*assign)(struct tegra410_pmu *pmu, struct perf_event *event, int idx);
	/* set the start value of a stopped counter, also in prev_count */
	void (*preset)(struct tegra410_pmu *pmu, struct perf_event *event, int idx);
	/* start these counters; others continue */
	void (*start)(struct tegra410_pmu *pmu, u32 mask);
	/* stop these counters; those of pmu->running continue */
	void (*stop)(struct tegra410_pmu *pmu, u32 mask);
	/*
	 * current value, counting or stopped. Returns 0, or a negative errno if no consistent value
	 * could be read.
	 */
	int (*read)(struct tegra410_pmu *pmu, struct perf_event *event, int idx, u64 *value);
	/* undo @assign; the counter is stopped; optional */
	void (*release)(struct tegra410_pmu *pmu, struct perf_event *event, int idx);
	/* pmu->running is empty and all values are read; optional */
	void (*idle)(struct tegra410_pmu *pmu);
	u32 (*irq)(struct tegra410_pmu *pmu);	/* read and clear the overflow status; optional */
};

/* a target address filter of PCIE-TGT */
struct tegra410_pmu_slot {
	u64 base;		/* address */
	u64 mask;		/* bits of the address that are compared */
	unsigned int opened;	/* number of open events that share it */
	unsigned int counting;	/* number of counters that use it now */
};

/*
 * one PMU
 *
 * Exists from the first bind of its device until module exit, see "unbinding" in
 * tegra410_pmu_bind.c.
 */
struct tegra410_pmu {
	struct pmu pmu;				/* interface to perf */
	char name[TEGRA410_PMU_NAME_BYTES];	/* in sysfs */
	const struct tegra410_pmu_kind *kind;	/* constant */
	/* of the bound device, or of the previous one */
	struct tegra410_pmu_platform_data pdata;
	struct list_head entry;		/* in the list of all PMUs */
	struct hlist_node hotplug;	/* CPU hotplug instance */

	struct mutex open_lock;	/* protects what open events reserve */
	unsigned int bdf_users;	/* PCIE: open events that use @bdf */
	u32 bdf;		/* PCIE: the PMU's BDF filter */
	/* PCIE-TGT; @lock protects .counting */
	struct tegra410_pmu_slot address_slots[PCIE_TGT_SLOTS];

	raw_spinlock_t lock;	/* protects the registers and everything below */
	bool bound;		/* a device is bound, registers may be accessed */
	bool was_opened;	/* an event was opened since registration */
	cpumask_t active_cpu;	/* CPU on which events run; none or one */
	bool migrating;		/* events are moving to another CPU, counters continue */
	u32 used;		/* slots assigned to an event */
	u32 running;		/* of @used, slots that are counting */
	u32 pending;		/* of @used, slots to start at the next pmu_enable() */
	u32 parked;		/* of @running, slots whose event perf has removed */
	struct perf_event *events[TEGRA410_PMU_SLOTS];	/* owner of each slot */

	u64 counter_mask;	/* maximum value of a counter */
	u32 programmable;	/* CoreSight: event counters */
	bool has_cycle_counter;	/* CoreSight: dedicated cycle counter */
	u32 pmiidr;		/* CoreSight: identification */
	unsigned int instances;	/* others: readable windows */
	u32 gpus;		/* NVLink-C2C: bit n: GPU n exists */
};

static inline struct tegra410_pmu *to_tegra410_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct tegra410_pmu, pmu);
}

static inline bool tegra410_pmu_owns(struct tegra410_pmu *pmu, struct perf_event *event)
{
	return event->pmu == &pmu->pmu;
}

/* logs an invalid user request, at debug level only */
#define tegra410_pmu_reject(pmu, fmt, ...) \
	pr_debug("%s: " fmt "\n", (pmu)->name, ##__VA_ARGS__)

/* tegra410_pmu_main.c */
extern const struct pmu tegra410_pmu_template;
void tegra410_pmu_handle_irq(void *data);
void tegra410_pmu_detach(struct tegra410_pmu *pmu);
bool tegra410_pmu_begin_migration(struct tegra410_pmu *pmu, unsigned int cpu);
void tegra410_pmu_end_migration(struct tegra410_pmu *pmu);

/* tegra410_pmu_regs.c */
int tegra410_pmu_read32(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			u32 *value);
void tegra410_pmu_write32(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			  u32 value);
void tegra410_pmu_write64(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			  u64 value);
int tegra410_pmu_read64(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			u64 *value);

/* tegra410_pmu_sysfs.c */
ssize_t tegra410_pmu_event_show(struct device *dev, struct device_attribute *attr, char *page);
ssize_t tegra410_pmu_text_show(struct device *dev, struct device_attribute *attr, char *page);
extern const struct attribute_group tegra410_pmu_cpumask_group;
extern const struct attribute_group tegra410_pmu_identifier_group;

#define TEGRA410_EVENT(_name, _id) \
	PMU_EVENT_ATTR_ID(_name, tegra410_pmu_event_show, _id)

/* a file in format/ */
#define TEGRA410_FORMAT(_name, _bits)						\
	(&((struct dev_ext_attribute[]) {					\
		{ .attr = __ATTR(_name, 0444, tegra410_pmu_text_show, NULL),	\
		  .var = (void *)(_bits) }					\
	})[0].attr.attr)

/* _name##_attr_groups with these arrays of attributes; further arguments: more groups */
#define TEGRA410_ATTR_GROUPS(_name, _events, _formats, ...)			\
	static const struct attribute_group _name##_event_group = {		\
		.name = "events",						\
		.attrs = _events,						\
	};									\
	static const struct attribute_group _name##_format_group = {		\
		.name = "format",						\
		.attrs = _formats,						\
	};									\
	static const struct attribute_group *const _name##_attr_groups[] = {	\
		&_name##_event_group,						\
		&_name##_format_group,						\
		&tegra410_pmu_cpumask_group,					\
		&tegra410_pmu_identifier_group,					\
		##__VA_ARGS__, NULL						\
	}

/* tegra410_cspmu.c: CoreSight PMU architecture */
int tegra410_cspmu_init(struct tegra410_pmu *pmu, u32 model);
u32 tegra410_cspmu_slots(struct tegra410_pmu *pmu, const struct perf_event *event);
void tegra410_cspmu_preset(struct tegra410_pmu *pmu, struct perf_event *event, int idx);
void tegra410_cspmu_start(struct tegra410_pmu *pmu, u32 mask);
void tegra410_cspmu_stop(struct tegra410_pmu *pmu, u32 mask);
int tegra410_cspmu_read(struct tegra410_pmu *pmu, struct perf_event *event, int idx, u64 *value);
u32 tegra410_cspmu_irq(struct tegra410_pmu *pmu);
/* config of the dedicated cycle counter, except on PCIE-TGT */
#define TEGRA410_CSPMU_CYCLES	BIT_ULL(32)
#define TEGRA410_CSPMU_OPS			\
	.slots = tegra410_cspmu_slots,		\
	.preset = tegra410_cspmu_preset,	\
	.start = tegra410_cspmu_start,		\
	.stop = tegra410_cspmu_stop,		\
	.read = tegra410_cspmu_read,		\
	.irq = tegra410_cspmu_irq

/* tegra410_windows.c: fixed counters in instance windows */
u32 tegra410_windows_slots(struct tegra410_pmu *pmu, const struct perf_event *event);
void tegra410_windows_preset(struct tegra410_pmu *pmu, struct perf_event *event, int idx);
int tegra410_windows_sum(struct tegra410_pmu *pmu, u32 instances, unsigned int offset, u64 *sum);

/* the kinds, one file each */
extern const struct tegra410_pmu_kind tegra410_ucf_kind;
extern const struct tegra410_pmu_kind tegra410_pcie_kind;
extern const struct tegra410_pmu_kind tegra410_pcie_tgt_kind;
extern const struct tegra410_pmu_kind tegra410_cmem_kind;
extern const struct tegra410_pmu_kind tegra410_nvlink_c2c_gpu_kind;
extern const struct tegra410_pmu_kind tegra410_nvlink_c2c_cpu_kind;
extern const struct tegra410_pmu_kind tegra410_nvclink_kind;
extern const struct tegra410_pmu_kind tegra410_nvdlink_kind;

#endif /* _TEGRA410_PMU_H_ */
