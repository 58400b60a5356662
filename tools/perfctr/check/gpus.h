/* SPDX-License-Identifier: MIT */
/* Which interface of the kernel counts each GPU, what that costs and which permission it needs. */
#pragma once

#include <perfctr/perfctr.h>

/* @fix: command that makes more of the GPU countable, or NULL */
typedef void (*gpus_fn)(void *arg, bool is_counted, const char *fix, const char *text);

/*
 * Call fn for each GPU of the machine, with a line about it; wakes none, and loads no library of a
 * vendor.
 * @device: the local device.
 */
void gpus_walk(struct perfctr_ctx *ctx, struct perfctr_device *device, gpus_fn fn, void *arg);
