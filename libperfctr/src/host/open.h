/* SPDX-License-Identifier: MIT */
/* This machine's own counters: a context that has them, and a link to them. */
#pragma once

#include "session/link.h"

/* As perfctr_ctx_new(), with other system calls. */
int perfctr_ctx_new_with(const struct perfctr_sys *sys, struct perfctr_ctx **ctx);

/* Link to this machine's perf PMUs, without a DRM device. Return: 0; -ENODEV there are none. */
int host_link_new(struct perfctr_ctx *ctx, const struct device_link **link, void **data);
