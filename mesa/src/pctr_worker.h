/* SPDX-License-Identifier: MIT */
/* A device that executes software rendering as jobs, so that it has something to count. */
#pragma once

#include "pctr_context.h"

struct pctr_worker;

/* amounts of rendering, from pipeline statistics */
struct pctr_work {
	uint64_t vertices; /* invocations of vertex shaders */
	uint64_t primitives; /* primitives that reached the clipper */
	uint64_t fragments; /* invocations of fragment shaders */
	uint64_t threads; /* invocations of compute shaders */
};

struct pctr_worker_ops {
	const char *driver; /* the kernel's driver of such a device */

	/*
	 * Begin to submit work.
	 * @context: context on such a device, outlives this.
	 * Return: a handle for the other operations, NULL if memory is short.
	 */
	struct pctr_worker *(*begin)(struct pctr_context *context);

	/*
	 * Submit work. Does not wait for it. The job samples the sessions of
	 * pctr_context_sessions() before and after the work.
	 */
	void (*submit)(struct pctr_worker *worker, const struct pctr_work *work);

	/* Wait until all work is done and counted. */
	void (*wait)(struct pctr_worker *worker);

	void (*end)(struct pctr_worker *worker);
};

/* NULL: this build knows no such device. A build that has one replaces pctr_worker.c. */
extern const struct pctr_worker_ops *const pctr_worker_ops;
