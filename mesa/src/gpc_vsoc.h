/* SPDX-License-Identifier: MIT */
/*
 * Work for the virtual SoC: what a software renderer did becomes a job of the
 * virtual GPU.
 */
#ifndef GPC_VSOC_H
#define GPC_VSOC_H

#include "gpc_context.h"

struct gpc_vsoc;

/**
 * struct gpc_work - what was rendered, from pipeline statistics
 */
struct gpc_work {
	/** @vertices: invocations of vertex shaders. */
	uint64_t vertices;
	/** @primitives: primitives that reached the clipper. */
	uint64_t primitives;
	/** @fragments: invocations of fragment shaders. */
	uint64_t fragments;
	/** @threads: invocations of compute shaders. */
	uint64_t threads;
};

/**
 * gpc_vsoc_is_device() - whether a device is a virtual SoC
 * @catalogue: of the device
 *
 * Return: whether it is.
 */
bool gpc_vsoc_is_device(const struct gpc_catalogue *catalogue);

/**
 * gpc_vsoc_new() - begin to give work
 * @context: context on a virtual SoC, outlives this
 *
 * Return: a handle to give work with, NULL if memory is short.
 */
struct gpc_vsoc *gpc_vsoc_new(struct gpc_context *context);

/**
 * gpc_vsoc_submit() - let the virtual GPU do some work
 * @vsoc: from gpc_vsoc_new()
 * @work: what to do
 *
 * Does not wait for it. The job takes the samples that gpc_context_handles()
 * asks for, before and after the work.
 */
void gpc_vsoc_submit(struct gpc_vsoc *vsoc, const struct gpc_work *work);

/**
 * gpc_vsoc_wait() - wait until all work is done and counted
 * @vsoc: from gpc_vsoc_new()
 */
void gpc_vsoc_wait(struct gpc_vsoc *vsoc);

/**
 * gpc_vsoc_free() - stop to give work
 * @vsoc: handle or NULL
 */
void gpc_vsoc_free(struct gpc_vsoc *vsoc);

#endif /* GPC_VSOC_H */
