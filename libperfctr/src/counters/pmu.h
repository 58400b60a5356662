/* SPDX-License-Identifier: MIT */
/* perf PMUs as sysfs describes them. */
#pragma once

#include "base/cpus.h"
#include "base/device.h"

enum { PMU_NAME_BYTES = 64 };

struct pmu {
	char name[PMU_NAME_BYTES];
	/* "ucf0", "pcie0_rc2"; the name itself if the block type is generic */
	char label[PMU_NAME_BYTES];
	uint32_t type;
	/* block type and index; GENERIC_PMU for all but those of pmu_kinds.c */
	uint16_t block_type;
	uint16_t index;
	/* belongs to another DRM device, see pmu_list_judge() */
	bool is_foreign;
	bool is_core; /* counts events of CPU cores */
	bool is_uncore; /* has a cpumask: it counts for the whole machine, on some CPUs */
};

/* the one of a machine whose sysfs shows none, which perf may have nevertheless */
extern const struct pmu pmu_unseen_core;
#define PMU_NO_CORE                                                 \
	"this machine shows no CPU PMU, as many virtual machines; " \
	"\"perfctr list\" has what it can count"

struct pmu_list {
	struct pmu *pmus;
	size_t count;
};

/* result of the terms of an event */
struct pmu_event {
	uint64_t config, config1, config2;
	int32_t cpu;
	bool has_type; /* it is of another type than its PMU, perf's generic ones */
	uint32_t type;
	uint32_t flags; /* LOCAL_REQUEST_... */
	char unit[UNIT_BYTES];
	double scale;
	char title[64]; /* of a sensor, as the kernel names it; empty for most */
	char name[EVENT_BYTES]; /* chosen by the user, empty: none */
	/* fields that sysfs leaves to the user, and those that terms gave: ",chip,lpar" */
	char params[EVENT_BYTES], given[EVENT_BYTES];
};

/* Whether the machine has PMUs. Return: 1 or 0; a negative errno, the reason is kept. */
int pmu_any(struct perfctr_ctx *ctx);
/* All PMUs of the machine, empty without perf events. */
int pmu_list_load(struct perfctr_ctx *ctx, struct pmu_list *list);
/* The same, or as they were up to 0.1 s ago: each event looks for its PMU, each session for all. */
int pmu_list_recent(struct perfctr_ctx *ctx, struct pmu_list *list);
void pmu_list_free(struct pmu_list *list);

/*
 * Set the block type, index and label that the name of a PMU means.
 * Return: the identifier that such a PMU has in sysfs; NULL: its block type is generic.
 */
const char *pmu_set_kind(struct pmu *pmu);
void pmu_make_generic(struct pmu *pmu);

/*
 * Mark the PMUs of other GPUs: their device in sysfs, the parent or the link "device", belongs to
 * another DRM device than @device, or their name has its PCI address. PMUs whose block types the
 * kernel of @device does not have become generic.
 */
void pmu_list_judge(const struct perfctr_device *device, struct pmu_list *list);

/*
 * The PMU of an event, NULL: none. Of perf's generic types it is the one whose type is in the upper
 * half of @config, or the first of CPU cores.
 */
const struct pmu *pmu_of_event(const struct pmu_list *list, uint32_t type, uint64_t config);

/* "software" for PERF_TYPE_SOFTWARE; "pmu_type=77" if there is none. */
void pmu_name_of_type(struct perfctr_ctx *ctx, uint32_t type, uint64_t config, char *name,
		      size_t size);

/* The CPUs on which a PMU counts now. Return: 0 or a negative errno, the reason is kept. */
int pmu_cpus(struct perfctr_ctx *ctx, const struct pmu *pmu, struct cpu_list *cpus);

/* Call fn for each event that the PMU names, from sysfs or from the database. */
int pmu_list_events(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg);

/* Whether the PMU names that event. */
bool pmu_has_event(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name);

/*
 * Add one term: the name of an event, a format field with a value, config=,
 * config1=, config2=, cpu=, name=, a raw event r1c0. Return: 0; -ENOENT, -EINVAL, -EFBIG with the
 * reason kept.
 */
int pmu_add_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
		 struct pmu_event *event);

/* Whether all fields that sysfs leaves to the user were given: 0, else -EINVAL and the reason. */
int pmu_check_params(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *terms,
		     const struct pmu_event *event);

/* The database's counter for an event of a SoC block, without its filters; NULL: none. */
const struct perfctr_counter_desc *pmu_typed_event(const struct pmu *pmu, uint64_t config);

/* Bits of config that select the event; the others are filters. */
uint64_t pmu_event_bits(struct perfctr_ctx *ctx, const struct pmu *pmu);

/*
 * PMUs that exist only in this library: what the kernel shows as text. The context has them.
 */

/* Type numbers that perf does not assign. */
#define READINGS_TYPE 0xfffff000u

static inline bool is_reading(uint32_t pmu_type)
{
	return pmu_type >= READINGS_TYPE;
}

struct reading_ops {
	/* call fn for each of these PMUs that this machine has */
	int (*pmus)(struct perfctr_ctx *ctx, int (*fn)(void *arg, const char *name, uint32_t type),
		    void *arg);
	/* call fn for each event of a PMU, "i915@0000:00:02.0:engine-render" */
	int (*list)(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg);
	/* call fn for each process whose clients have an event */
	int (*pids)(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
		    int (*fn)(void *arg, long pid), void *arg);
	/*
	 * Keep why a PMU, or a device of it, shows no events.
	 * Return: a negative errno; 0: there is no such reason.
	 */
	int (*explain)(struct perfctr_ctx *ctx, const char *pmu);
	/* call fn for each device with DRM nodes that a driver has in sysfs, "fb000000.gpu" */
	int (*devices)(struct perfctr_ctx *ctx, const char *driver, sys_list_fn fn, void *arg);
	/* add a term: the name of an event, or pid=N; 0; -ENOENT, the reason is kept */
	int (*add_term)(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
			struct pmu_event *event);
};
