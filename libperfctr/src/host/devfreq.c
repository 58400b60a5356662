// SPDX-License-Identifier: MIT
/* Finds the clock of a GPU below its device in sysfs. */
#include "devfreq.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

struct search {
	const struct host *host;
	const char *device;
	struct host_devfreq *devfreq;
};

static int take_folder(void *arg, const char *name)
{
	const struct search *search = arg;
	const struct perfctr_sys *sys = search->host->ctx->sys;
	struct host_devfreq *d = search->devfreq;
	char path[PATH_BYTES], text[1024], *at = text, *end;
	u64 hz;

	snprintf(d->folder, sizeof(d->folder), "%.63s/devfreq/%.48s", search->device, name);
	snprintf(path, sizeof(path), "%s/available_frequencies", d->folder);
	if (perfctr_sys_read_text(sys, path, text, sizeof(text)) <= 0)
		return 0;
	while ((hz = strtoull(at, &end, 10)) && end != at) {
		d->max_hz = max(d->max_hz, hz);
		at = end;
	}
	return 0;
}

void host_devfreq_find_at(const struct host *host, const char *device, struct host_devfreq *devfreq)
{
	struct search search = { .host = host, .device = device, .devfreq = devfreq };
	char path[PATH_BYTES];

	*devfreq = (struct host_devfreq){ .max_hz = 0 };
	snprintf(path, sizeof(path), "%s/devfreq", device);
	host->ctx->sys->list(host->ctx->sys->data, path, take_folder, &search);
}

void host_devfreq_find(const struct host *host, const char *sysfs, struct host_devfreq *devfreq)
{
	char device[PATH_BYTES];

	snprintf(device, sizeof(device), "%s/device", sysfs);
	host_devfreq_find_at(host, device, devfreq);
}

u64 host_devfreq_hz(const struct host *host, const struct host_devfreq *devfreq)
{
	char path[PATH_BYTES], text[32];

	snprintf(path, sizeof(path), "%s/cur_freq", devfreq->folder);
	if (!*devfreq->folder ||
	    perfctr_sys_read_text(host->ctx->sys, path, text, sizeof(text)) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}
