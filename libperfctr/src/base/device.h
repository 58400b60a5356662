/* SPDX-License-Identifier: MIT */
/* What a device says of itself, and the requests to it. session/link.h says how it is reached. */
#pragma once

#include <drm/perfctr_tegra410.h>

#include "../../counters/tegra241/perfctr_tegra241.h"
#include "cpus.h"
#include "ctx.h"

/* Whether a perf PMU counts a request, a block of the device, or counters of a product. */
static inline bool request_is_pmu(const struct drm_perfctr_block_request *request)
{
	return request->flags & DRM_PERFCTR_REQUEST_PMU;
}

/*
 * More bits of a request's @flags. Only this process's own sessions of perf events take them, not
 * the kernel and brokers: the value is a level; do not count in user space, the kernel, the
 * hypervisor, while idle, in guests, on the host.
 */
enum {
	LOCAL_REQUEST_LEVEL = 1u << 16,
	LOCAL_REQUEST_NO_USER = 1u << 17,
	LOCAL_REQUEST_NO_KERNEL = 1u << 18,
	LOCAL_REQUEST_NO_HV = 1u << 19,
	LOCAL_REQUEST_NO_IDLE = 1u << 20,
	LOCAL_REQUEST_NO_GUEST = 1u << 21,
	LOCAL_REQUEST_NO_HOST = 1u << 22,
	LOCAL_REQUEST_FLAGS = 0x7fu << 16,
};

static inline bool block_is_pmu(const struct drm_perfctr_block_info *block)
{
	return block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY;
}

/* The product of a block of a perf PMU. */
static inline unsigned int product_of_pmu(unsigned int block_type)
{
	return block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU  ? DRM_PERFCTR_PRODUCT_PERF_PMU :
	       block_type >= DRM_PERFCTR_TEGRA241_BLOCK_SCF ? DRM_PERFCTR_TEGRA241_PRODUCT :
							      DRM_PERFCTR_TEGRA410_PRODUCT;
}

static inline bool product_is_pmu(unsigned int product)
{
	return product == DRM_PERFCTR_TEGRA410_PRODUCT || product == DRM_PERFCTR_TEGRA241_PRODUCT ||
	       product == DRM_PERFCTR_PRODUCT_PERF_PMU;
}

/* who answers */
enum link_kind {
	LINK_NONE, /* a capture: nobody */
	LINK_KERNEL, /* a driver, through a file of this process */
	LINK_BROKER,
	LINK_HOST, /* this process counts itself */
};

struct device_link;

struct perfctr_device {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	int fd; /* the DRM file, which its link closes; -1: none */
	enum link_kind kind;
	const struct device_link *link; /* NULL: a device of a capture */
	void *link_data;
	void (*free_link)(void *link_data); /* if it has one */
	char path[PATH_BYTES];
	char driver[32];
	struct drm_perfctr_device_info info;
	struct drm_perfctr_block_info *blocks;
	size_t block_count;
	struct drm_perfctr_clock_info *clocks;
	size_t clock_count;
	/* the first process that a local device counts; 0: the whole machine, as a broker does */
	pid_t task;
	/* the CPUs whose cores a local device counts; empty: all */
	struct cpu_list cpus;
	unsigned int ext_bus_bytes; /* of a beat of a Mali GPU's external bus, 0 if unknown */
};

static inline bool device_is(const struct perfctr_device *device, enum link_kind kind)
{
	return device->kind == kind;
}
