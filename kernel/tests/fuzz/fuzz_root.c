// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: a root process that changes devices, power, CPUs and permissions meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define DRIVER		"/sys/bus/platform/drivers/vsoc/"
#define DEVICE		"/sys/bus/platform/devices/vsoc.0/"
#define PARANOID	"/proc/sys/dev/perfctr/paranoid"
#define RING_KB		"/proc/sys/dev/perfctr/max_user_ring_kb"
#define CPU1		"/sys/devices/system/cpu/cpu1/online"
/* a path in debugfs with the longest possible file name */
#define PATH_BYTES	(64 + 256)
/* devices that are added and removed; vsoc.0 is only unbound and bound */
#define FIRST_ID	240
#define IDS		3
/* one that stays, so that there is always a GPU with PCOUNTER */
#define NV50_ID		"243"

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	if (fuzz_verbose)
		fprintf(stderr, "#   %s <- %s: %d\n", path, text, ret);
	return ret;
}

/* the DRM minor of a device that probably exists */
static unsigned int some_minor(struct rng *r)
{
	unsigned int tries = 16, minor;
	char path[96];

	do {
		minor = FIRST_RENDER_MINOR + below(r, tries);
		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/vsoc", minor);
	} while (access(path, F_OK) && --tries);
	return minor;
}

static void debugfs(struct rng *r, const char *file, const char *text)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/vsoc/%s",
		 some_minor(r), file);
	write_text(path, text);
}

/* without udev, nodes belong to root alone */
static void open_nodes_to_all(void)
{
	unsigned int i;
	char path[32];

	for (i = 0; i < RENDER_MINORS; i++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%u", FIRST_RENDER_MINOR + i);
		chmod(path, 0666);
	}
}

static void root_new_device(struct world *w, struct rng *r)
{
	char text[160];
	int n;

	n = snprintf(text, sizeof(text), "%u shader_present=0x%x l2_slices=%u fw_slots=%u",
		     FIRST_ID + below(r, IDS), below(r, 256), below(r, 18), 1u << below(r, 8));
	snprintf(text + n, sizeof(text) - n, " counters_per_block=%u shader_dense=%u%s",
		 64 * (1 + below(r, 2)), below(r, 2), percent(r, 50) ? " product=nv50" : "");
	if (percent(r, 10))
		text[below(r, strlen(text))] = 32 + below(r, 95);
	write_text(DRIVER "new_device", text);
	open_nodes_to_all();
}

static void root_del_device(struct world *w, struct rng *r)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", FIRST_ID + below(r, IDS));
	write_text(DRIVER "del_device", text);
}

static void root_unbind(struct world *w, struct rng *r)
{
	write_text(DRIVER "unbind", "vsoc.0");
	usleep(below(r, 3000));
	write_text(DRIVER "bind", "vsoc.0");
	open_nodes_to_all();
}

static void root_reset(struct world *w, struct rng *r)
{
	debugfs(r, "reset", "1");
}

static void root_power(struct world *w, struct rng *r)
{
	write_text(DEVICE "power/control", percent(r, 50) ? "auto" : "on");
}

static void root_cores(struct world *w, struct rng *r)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%x", below(r, 2) ? 0x50005 : below(r, 0x60000));
	debugfs(r, "cores_on", text);
	debugfs(r, "protected", percent(r, 30) ? "1" : "0");
}

static void root_clock(struct world *w, struct rng *r)
{
	static const char *const files[] = { "top_hz", "coregroup_hz", "shader_hz" };
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)(percent(r, 80) ?
		 1000000 + rnd(r) % 1000000000 : wild(r)));
	debugfs(r, files[below(r, 3)], text);
}

static struct dirent **faults;
static int fault_count;

static int is_fault(const struct dirent *entry)
{
	/* settings of all faults, not faults */
	return !strncmp(entry->d_name, "fail_", 5) && strcmp(entry->d_name, "fail_seed") &&
	       strcmp(entry->d_name, "fail_delay_ms");
}

/* sorted, so that a seed selects the same one again */
static void find_faults(void)
{
	unsigned int minor;
	char path[96];

	for (minor = 0; minor < RENDER_MINORS && fault_count <= 0; minor++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/vsoc",
			 FIRST_RENDER_MINOR + minor);
		fault_count = scandir(path, &faults, is_fault, alphasort);
	}
}

/* faults of hardware and firmware: rarely, so that sessions also work */
static void root_fault(struct world *w, struct rng *r)
{
	char text[24];

	if (fault_count <= 0)
		return;
	snprintf(text, sizeof(text), "%u %u", below(r, 300), 1 + below(r, 3));
	debugfs(r, faults[below(r, fault_count)]->d_name, text);
}

static void root_read(struct world *w, struct rng *r)
{
	static const char *const files[] = {
		"truth", "dropped", "truth_secondary", "shape", "truth_contexts", "firmware",
		"traffic", "idle", "soc", "counts", "log",
	};
	static char buffer[65536];
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/vsoc/%s",
		 some_minor(r), files[below(r, ARRAY_SIZE(files))]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

static void root_rights(struct world *w, struct rng *r)
{
	char text[24];

	write_text(PARANOID, percent(r, 50) ? "0" : "1");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(percent(r, 50) ? 266240 :
		 wild(r)));
	write_text(RING_KB, text);
}

static void root_cpu(struct world *w, struct rng *r)
{
	write_text(CPU1, "0");
	usleep(below(r, 20000));
	write_text(CPU1, "1");
}

static void root_nap(struct world *w, struct rng *r)
{
	usleep(below(r, 60000));
}

const struct op root_ops[] = {
	{ "new_device", 5, root_new_device },
	{ "del_device", 4, root_del_device },
	{ "unbind", 1, root_unbind },
	{ "reset", 3, root_reset },
	{ "power", 2, root_power },
	{ "cores", 3, root_cores },
	{ "clock", 2, root_clock },
	{ "fault", 6, root_fault },
	{ "read", 6, root_read },
	{ "rights", 2, root_rights },
	{ "cpu", 1, root_cpu },
	{ "nap", 40, root_nap },
	{ NULL, 0, NULL },
};

bool root_init(void)
{
	int ret = write_text(DRIVER "new_device", NV50_ID " product=nv50");

	write_text(PARANOID, "0");
	open_nodes_to_all();
	find_faults();
	return !ret;
}

void root_restore(void)
{
	unsigned int id;
	char text[16];

	write_text(CPU1, "1");
	for (id = FIRST_ID; id < FIRST_ID + IDS; id++) {
		snprintf(text, sizeof(text), "%u", id);
		write_text(DRIVER "del_device", text);
	}
	write_text(DRIVER "del_device", NV50_ID);
	/* rebinding resets faults, clocks and masks */
	write_text(DRIVER "unbind", "vsoc.0");
	write_text(DRIVER "bind", "vsoc.0");
	write_text(DEVICE "power/control", "on");
	write_text(PARANOID, "1");
	write_text(RING_KB, "266240");
}
