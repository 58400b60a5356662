/* SPDX-License-Identifier: MIT */
/* Work for the virtual SoC: software rendering becomes a job of the virtual GPU. */
#pragma once

#include "pctr_context.h"

struct pctr_vsoc;

/* amounts of rendering, from pipeline statistics */
struct pctr_work {
	uint64_t vertices; /* invocations of vertex shaders */
	uint64_t primitives; /* primitives that reached the clipper */
	uint64_t fragments; /* invocations of fragment shaders */
	uint64_t threads; /* invocations of compute shaders */
};

/* Whether the catalogue's device is a virtual SoC. */
bool pctr_vsoc_is_device(const struct pctr_catalogue *catalogue);

/*
 * Begin to submit work.
 * @context: context on a virtual SoC, outlives this.
 * Return: a handle for submissions, NULL if memory is short.
 */
struct pctr_vsoc *pctr_vsoc_new(struct pctr_context *context);

/*
 * Submit work to the virtual GPU. Does not wait for it. The job samples the sessions of
 * pctr_context_handles() before and after the work.
 * @vsoc: from pctr_vsoc_new(); @work: amounts of work.
 */
void pctr_vsoc_submit(struct pctr_vsoc *vsoc, const struct pctr_work *work);

/* Wait until all work is done and counted. */
void pctr_vsoc_wait(struct pctr_vsoc *vsoc);

/* @vsoc: may be NULL */
void pctr_vsoc_free(struct pctr_vsoc *vsoc);
