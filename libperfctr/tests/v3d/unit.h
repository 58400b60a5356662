/* SPDX-License-Identifier: MIT */
/* Counters of V3D by the global performance monitor: a driver in memory, of each generation. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ctx.h"
#include "host/open.h"
#include "host/v3d_ioctls.h"
#include "../test.h"

#define NODE "/dev/dri/renderD128"
#define SYSFS "/sys/dev/char/226:128"
#define PROGRAM "4711"

enum { EVENTS = 87, CYCLES = 32, PRIMITIVES = 35 };

enum generation { WITHOUT_GLOBAL, READS_STOP, COUNTS_ON };

/* the driver and its GPU */
static struct state {
	enum generation generation;
	bool hidden, unbound; /* other programs' files; unbind */
	uint32_t id, next; /* monitor, 0: none; the next one's number */
	bool is_global, other; /* is it set; has another program one */
	unsigned int count, sets;
	uint8_t slots[V3D_MAX_SLOTS];
	uint64_t values[V3D_MAX_SLOTS];
	uint64_t resets, awake_ms;
	uint64_t pending[EVENTS]; /* that the next read adds */
	uint64_t rate; /* counts of each event in a ms, while a monitor has it */
	uint64_t counted_ns; /* up to which the monitor has them */
	uint64_t late; /* cycles that pass between the first slot's read and the last one's */
	unsigned int bursts, cut; /* reads that lose a part of the work, a larger one each time */
	bool stopped; /* until the next job */
	bool untouched; /* nobody may count */
	/* the node that another program has open, which hangs; NULL: there is none */
	const char *program;
	bool other_driver; /* has that node */
	unsigned int jobs, seconds;
	int broken; /* that reads fail with */
	bool stops; /* the process that sets a monitor stops */
	pid_t guard; /* that a process left behind */
} * shared; /* with processes that fork */
#define driver (*shared)

static struct perfctr_sys sys;

static int name_event(struct v3d_perfmon_get_counter *c)
{
	const char *name = c->counter == CYCLES	    ? "cycle-count" :
			   c->counter == PRIMITIVES ? "PTB-primitives-binned" :
			   c->counter == 41	    ? "AXI-read-bytes-seen-watch-0" :
						      NULL;
	const struct perfctr_counter_desc *known = perfctr_counter_at(0x0642, 48, 0, c->counter);

	snprintf((char *)c->name, sizeof(c->name), "%s", name ? name : known ? known->name : "?");
	return c->counter < EVENTS ? 0 : -EINVAL;
}

static int set_global(const struct v3d_perfmon_set_global *set)
{
	if (driver.generation == WITHOUT_GLOBAL || set->flags || set->id != driver.id)
		return -EINVAL;
	driver.sets++;
	if (driver.other || driver.is_global)
		return -EBUSY;
	driver.is_global = true;
	if (driver.stops)
		raise(SIGSTOP);
	return 0;
}

static int get_values(const struct v3d_perfmon_get_values *get)
{
	const uint64_t now = perfctr_time_raw_ns();
	const uint64_t worked = driver.rate * (now - driver.counted_ns) / 1000000;

	if (driver.broken || get->id != driver.id)
		return driver.broken ? driver.broken : -EINVAL;
	driver.counted_ns = now;
	if (driver.is_global && driver.cut < driver.bursts && driver.pending[PRIMITIVES])
		driver.pending[PRIMITIVES] /= 1 + ++driver.cut;
	for (unsigned int i = 0; i < driver.count && driver.is_global && !driver.stopped; i++) {
		uint64_t *pending = &driver.pending[driver.slots[i]];

		driver.values[i] += *pending + worked;
		if (driver.slots[i] == CYCLES)
			driver.values[i] += 1000 + (i && i == driver.count - 1 ? driver.late : 0);
	}
	if (driver.is_global)
		memset(driver.pending, 0, sizeof(driver.pending));
	driver.stopped = driver.generation == READS_STOP;
	memcpy((void *)(uintptr_t)get->values_ptr, driver.values,
	       driver.count * sizeof(*driver.values));
	return 0;
}

static int create(struct v3d_perfmon_create *c)
{
	CHECK(!driver.untouched && !driver.id && c->ncounters <= V3D_MAX_SLOTS);
	driver.counted_ns = perfctr_time_raw_ns();
	driver.id = c->id = ++driver.next;
	driver.count = c->ncounters;
	memcpy(driver.slots, c->counters, sizeof(driver.slots));
	memset(driver.values, 0, sizeof(driver.values));
	return 0;
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	static const char name[] = "v3d";
	struct drm_version *version = argument;
	struct v3d_get_param *param = argument;

	switch (request) {
	case DRM_IOCTL_VERSION:
		memcpy(version->name, name, sizeof(name) - 1);
		version->name_len = sizeof(name) - 1;
		return 0;
	case V3D_GET_PARAM:
		param->value = param->param == V3D_MAX_COUNTERS ? EVENTS : driver.resets;
		return 0;
	case V3D_PERFMON_GET_COUNTER:
		return name_event(argument);
	case V3D_PERFMON_CREATE:
		return create(argument);
	case V3D_PERFMON_SET_GLOBAL:
		return set_global(argument);
	case V3D_PERFMON_GET_VALUES:
		return get_values(argument);
	case V3D_PERFMON_DESTROY:
		/* what it counted since the last read is lost */
		memset(driver.pending, 0, sizeof(driver.pending));
		driver.id = 0;
		driver.is_global = false;
		return 0;
	default:
		return -EINVAL;
	}
}

static int fake_open(void *data, const char *path, int flags)
{
	char text[64] = "";
	int fd;

	if (driver.program && !strcmp(path, "/proc/" PROGRAM "/stat"))
		snprintf(text, sizeof(text), PROGRAM " (a b) R 1 1 1 0 0 0 0 0 0 0 %u 0",
			 100 * ++driver.seconds);
	else if (!strcmp(path, "/proc/" PROGRAM "/comm"))
		strcpy(text, "triangles\n");
	else if (!strcmp(path, "/proc/uptime"))
		strcpy(text, "100.00 0.00\n"); /* no processor is ever idle */
	else if (!strcmp(path, "/proc/" PROGRAM "/fdinfo/5"))
		/* it goes on when there is no global monitor */
		snprintf(text, sizeof(text), "drm-driver:\t%s\nv3d-jobs-render: %u jobs\n",
			 driver.other_driver ? "vc4" : "v3d", driver.jobs += !driver.is_global);
	else if (!strcmp(path, SYSFS "/device/power/runtime_active_time"))
		snprintf(text, sizeof(text), "%llu\n", (unsigned long long)driver.awake_ms);
	else if (!strcmp(path, SYSFS "/device/drm/card1/dev"))
		strcpy(text, "226:1\n");
	else if (!strcmp(path, SYSFS "/device/power/runtime_suspended_time"))
		snprintf(text, sizeof(text), "0\n");
	else if (strcmp(path, NODE) != 0 && strcmp(path, SYSFS "/dev") != 0)
		return perfctr_sys_real.open(data, path, flags);
	fd = memfd_create("file", MFD_CLOEXEC);
	if (pwrite(fd, text, strlen(text), 0) < 0)
		abort();
	return fd;
}

/* Each look finds a second of time that the program has burned since the last one. */
static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	if (!strcmp(path, "/proc/1/fdinfo"))
		return driver.hidden ? -EACCES : 0;
	if (!strcmp(path, "/proc"))
		return driver.program ? fn(arg, PROGRAM) : 0;
	if (!strcmp(path, "/proc/" PROGRAM "/fd"))
		return fn(arg, "5");
	if (!strcmp(path, "/dev/dri"))
		return fn(arg, "renderD128");
	return perfctr_sys_real.list(data, path, fn, arg);
}

static int fake_readlink(void *data, const char *path, char *text, size_t size)
{
	if (!strcmp(path, "/proc/" PROGRAM "/fd/5"))
		return snprintf(text, size, "%s", driver.program);
	return strcmp(path, "/proc/self/ns/pid") ?
		       perfctr_sys_real.readlink(data, path, text, size) :
		       -ENOENT;
}

static bool fake_is_removed(void *data, int fd)
{
	return driver.unbound;
}

static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	*major = 226;
	*minor = 128;
	return 0;
}

/* Return: its system calls. */
static struct perfctr_sys *make_driver(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	driver = (struct state){ .generation = COUNTS_ON };
	sys = perfctr_sys_real;
	sys.ioctl = fake_ioctl;
	sys.open = fake_open;
	sys.list = fake_list;
	sys.readlink = fake_readlink;
	sys.is_removed = fake_is_removed;
	sys.node_number = fake_node_number;
	return &sys;
}
