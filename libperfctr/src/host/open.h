/* SPDX-License-Identifier: MIT */
/* This machine's own counters: a context that has them, and a link to them. */
#pragma once

#include "session/link.h"

/* As perfctr_ctx_new(), with other system calls. */
int perfctr_ctx_new_with(const struct perfctr_sys *sys, struct perfctr_ctx **ctx);

/* Link to this machine's perf PMUs, without a DRM device. Return: 0; -ENODEV there are none. */
int host_link_local(struct perfctr_ctx *ctx, const struct device_link **link, void **data);

struct host_driver;

/* The interface that a DRM driver has for its counters, NULL: none that is known. */
const struct host_driver *host_driver_of(const char *name);

/*
 * Link to a GPU's counters through the interface of its driver, with a copy of its DRM file.
 * Return: 0; -ENOTTY this kernel's driver has none; another errno, the reason is kept.
 */
int host_link_gpu(struct perfctr_ctx *ctx, int fd, const char *path,
		  const struct host_driver *driver, const struct device_link **link, void **data);
