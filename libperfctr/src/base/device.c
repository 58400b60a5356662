// SPDX-License-Identifier: MIT
/* A device: its life and its properties. */
#include "device.h"

#include <stdlib.h>

static void free_device(struct perfctr_device *device)
{
	if (device->free_link)
		device->free_link(device->link_data);
	perfctr_ctx_unref(device->ctx);
	free(device->blocks);
	free(device->clocks);
	cpu_list_free(&device->cpus);
	free(device);
}

DEFINE_REFS(EXPORT, perfctr_device, free_device)

EXPORT int perfctr_device_fd(const struct perfctr_device *device)
{
	return device->fd;
}

EXPORT const char *perfctr_device_path(const struct perfctr_device *device)
{
	return device->path;
}

EXPORT const char *perfctr_device_driver(const struct perfctr_device *device)
{
	return device->driver;
}

EXPORT const struct drm_perfctr_device_info *
perfctr_device_info(const struct perfctr_device *device)
{
	return &device->info;
}

EXPORT size_t perfctr_device_block_count(const struct perfctr_device *device)
{
	return device->block_count;
}

EXPORT const struct drm_perfctr_block_info *
perfctr_device_block(const struct perfctr_device *device, size_t n)
{
	return n < device->block_count ? &device->blocks[n] : NULL;
}

EXPORT size_t perfctr_device_clock_count(const struct perfctr_device *device)
{
	return device->clock_count;
}

EXPORT const struct drm_perfctr_clock_info *
perfctr_device_clock(const struct perfctr_device *device, size_t n)
{
	return n < device->clock_count ? &device->clocks[n] : NULL;
}
