/* SPDX-License-Identifier: MIT */
/* The frequency of a GPU as devfreq has it, which is read without waking the GPU. */
#pragma once

#include "host.h"

struct host_devfreq {
	char folder[128]; /* in sysfs; empty: none */
	u64 max_hz; /* 0: unknown */
};

/* @sysfs: as host_find_sysfs() gives it. */
void host_devfreq_find(const struct host *host, const char *sysfs, struct host_devfreq *devfreq);
/* @device: folder of the GPU's device, if the node has another. */
void host_devfreq_find_at(const struct host *host, const char *device,
			  struct host_devfreq *devfreq);
/* At present; 0: unknown. */
u64 host_devfreq_hz(const struct host *host, const struct host_devfreq *devfreq);
