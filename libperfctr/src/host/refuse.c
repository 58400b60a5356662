// SPDX-License-Identifier: MIT
/* Why a driver does not give its counters, and who has them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define DRM_NODES "/dev/dri/"

/* programs that have a node of the device open, or the stream that holds its counters */
struct holders {
	const struct host *host;
	const char *stream; /* target of the link of such a file, NULL: a node */
	char folder[64]; /* of the files of the process that is being looked at */
	bool found, hidden, itself;
	unsigned int more; /* than the text has room for */
	char text[192];
};

/* Whether a name is that of a node of the device, the primary or the render node. */
static bool is_node(const struct host *host, const char *name)
{
	char sysfs[64], path[160], text[16];

	if (!strcmp(name, host->path))
		return true;
	if (strncmp(name, DRM_NODES, strlen(DRM_NODES)) != 0 ||
	    host_find_sysfs(host, sysfs, sizeof(sysfs)))
		return false;
	snprintf(path, sizeof(path), "%s/device/drm/%.64s/dev", sysfs, name + strlen(DRM_NODES));
	return perfctr_sys_read_text(host->ctx->sys, path, text, sizeof(text)) > 0;
}

static int look_at_file(void *arg, const char *name)
{
	const struct perfctr_sys *sys = ((struct holders *)arg)->host->ctx->sys;
	struct holders *h = arg;
	char path[PATH_BYTES], target[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%.32s", h->folder, name);
	if (sys->readlink(sys->data, path, target, sizeof(target)) > 0 &&
	    (h->stream ? !strcmp(target, h->stream) : is_node(h->host, target)))
		h->found = true;
	return 0;
}

static void add_holder(struct holders *h, const char *pid)
{
	const size_t length = strlen(h->text);
	char path[64], name[32] = "?";
	int added;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	if (perfctr_sys_read_text(h->host->ctx->sys, path, name, sizeof(name)) > 0)
		perfctr_clean_text(name);
	added = snprintf(h->text + length, sizeof(h->text) - length, "%s%s (%.20s)",
			 length ? ", " : "", name, pid);
	if ((size_t)added < sizeof(h->text) - length)
		return;
	h->text[length] = '\0';
	h->more++;
}

static int look_at_process(void *arg, const char *name)
{
	struct holders *h = arg;
	const struct perfctr_sys *sys = h->host->ctx->sys;
	int error;

	if (!isdigit((unsigned char)*name))
		return 0;
	h->found = false;
	snprintf(h->folder, sizeof(h->folder), "/proc/%.20s/fd", name);
	error = sys->list(sys->data, h->folder, look_at_file, h);
	h->hidden |= error == -EACCES || error == -EPERM;
	if (!h->found)
		return 0;
	if (strtol(name, NULL, 10) == getpid())
		h->itself = true;
	else
		add_holder(h, name);
	return 0;
}

/* The driver does not tell who counts: who has the stream open, or one of those of the node. */
static int refuse_busy(struct host_source *hs, int error)
{
	const struct host *host = hs->host;
	struct holders h = { .host = host, .stream = hs->stream_name };
	const struct perfctr_sys *sys = host->ctx->sys;

	if (h.stream)
		sys->list(sys->data, "/proc", look_at_process, &h);
	if (!*h.text) {
		h = (struct holders){ .host = host };
		sys->list(sys->data, "/proc", look_at_process, &h);
	}
	if (!*h.text)
		return perfctr_fail(host->ctx, error,
				    "%s: the driver %s gives its counters to one program at a "
				    "time, and has given them to %s",
				    host->config.name, host->driver->name,
				    h.hidden ? "one that this user may not see; \"perfctr serve\" "
					       "shares them" :
					       "another session of this process");
	return perfctr_fail(
		host->ctx, error,
		"%s: the driver %s gives its counters to one program at a time, and one "
		"that has %s open has them: %s%s%s; \"perfctr serve\" shares them",
		host->config.name, host->driver->name, h.stream ? h.stream : "its node", h.text,
		h.more ? " and more" : "", h.hidden ? ", or one that this user may not see" : "");
}

int host_refuse(struct host_source *hs, int error)
{
	const struct host *host = hs->host;

	if (hs->why)
		return perfctr_fail(host->ctx, error, "%s: %s", host->config.name, hs->why);
	switch (error) {
	case -EBUSY:
		return refuse_busy(hs, error);
	case -EPERM:
	case -EACCES:
		return perfctr_fail(host->ctx, error, "%s: counting needs %s", host->config.name,
				    hs->needs);
	case -ENODEV:
		return perfctr_fail(host->ctx, error, "%s: the device is gone", host->config.name);
	default:
		return perfctr_fail(host->ctx, error,
				    "%s: the driver %s does not start its counters: %s",
				    host->config.name, host->driver->name, strerror(-error));
	}
}
