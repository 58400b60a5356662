// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_target.h"
#include "igt_sys.h"

#define MAX_FAULTS 64
#define FAULT_NAME_BYTES 48
/* debugfs has no such file */
#define MISSING (-2)

static char fault_names[MAX_FAULTS][FAULT_NAME_BYTES];
static unsigned int fault_count;

/* the first number in a debugfs file, or @missing */
static long long debugfs_number(const struct igt_target *d, const char *file, long long missing)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/%s", d->dev.minor, file);
	f = fopen(path, "re");
	if (!f)
		return missing;
	if (fscanf(f, "%lli", &missing) != 1)
		missing = -1;
	fclose(f);
	return missing;
}

uint64_t igt_target_fault_epoch(const struct igt_target *d)
{
	long long hits = debugfs_number(d, "fault_hits", MISSING);
	uint64_t resets;

	if (hits < 0 || !igt_debugfs_number(&d->dev, "vsoc/firmware", "resets", &resets))
		return IGT_TARGET_EPOCH_UNKNOWN;
	return hits + resets;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* faults of the device, in an order that does not depend on the directory's */
static void find_faults(const struct igt_target *d)
{
	char path[96];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc", d->dev.minor);
	dir = opendir(path);
	igt_require_f(dir, "%s: %s\n", path, strerror(errno));
	fault_count = 0;
	while ((e = readdir(dir))) {
		if (strncmp(e->d_name, "fail_", 5) || !strcmp(e->d_name, "fail_seed") ||
		    !strcmp(e->d_name, "fail_delay_ms"))
			continue;
		igt_assert_lt(fault_count, MAX_FAULTS);
		igt_assert_lt(strlen(e->d_name), FAULT_NAME_BYTES);
		strcpy(fault_names[fault_count++], e->d_name);
	}
	closedir(dir);
	qsort(fault_names, fault_count, sizeof(fault_names[0]), by_name);
}

bool igt_target_is_gone(struct igt_target *d, int ret)
{
	if (ret != -ENODEV || !d->number)
		return false;
	igt_assert_f(d->armed, "the device was removed, but not by a fault\n");
	d->gone = true;
	return true;
}

unsigned int igt_target_disarm_one(struct igt_target *d, const char *fault)
{
	unsigned int permille, times, hits = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/%s", d->dev.minor, fault);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u %u %u", &permille, &times, &hits) != 3)
		hits = 0;
	if (f)
		fclose(f);
	igt_vsoc_debugfs_try(&d->dev, fault, "0");
	d->hits += hits;
	return hits;
}

/* a fault removes the device: accept any later error */
static void await_removed(struct igt_target *d)
{
	uint64_t t0 = igt_raw_ns();

	while (debugfs_number(d, "idle", MISSING) != MISSING) {
		igt_assert_f(igt_raw_ns() - t0 < IGT_TARGET_PATIENCE_NS,
			     "the device is still there after %llu ms\n",
			     IGT_TARGET_PATIENCE_NS / MS);
		usleep(500);
	}
	d->gone = true;
}

/* faults that count while a sample is taken make final totals stale */
void igt_target_disarm_counting(struct igt_target *d)
{
	igt_target_disarm_one(d, "fail_saturation");
	igt_target_disarm_one(d, "fail_power_loss_mid_sample");
}

void igt_target_disarm(struct igt_target *d)
{
	bool unplugged = false;

	if (!d->armed)
		return;
	for (unsigned int i = 0; i < fault_count; i++)
		unplugged |= igt_target_disarm_one(d, fault_names[i]) &&
			     !strcmp(fault_names[i], "fail_unplug_in_request");
	if (unplugged)
		await_removed(d);
	d->armed = false;
}

void igt_target_wait_job(struct igt_target *d, int fd, uint64_t job)
{
	struct drm_vsoc_wait wait = { .job_id = job, .timeout_ns = IGT_TARGET_PATIENCE_NS };
	int ret;

	do {
		ret = igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_WAIT, &wait);
	} while (ret == -EINTR);
	if (igt_target_is_gone(d, ret))
		return;
	igt_assert_f(!ret, "WAIT for job %llu: %d\n", (unsigned long long)job, ret);
	igt_assert_f(!wait.status || wait.status == -ECANCELED || wait.status == -EIO,
		     "job %llu: %d\n", (unsigned long long)job, wait.status);
}

bool igt_target_quiesce(struct igt_target *d)
{
	uint64_t t0 = igt_raw_ns();

	for (unsigned int i = 0; i < d->job_count && !d->gone; i++)
		igt_target_wait_job(d, d->dev.fd, d->jobs[i]);
	d->job_count = 0;
	if (d->gone)
		return false;
	igt_power_try(&d->dev, "on");
	/* jobs of other files, too */
	while (debugfs_number(d, "idle", 1) != 1) {
		igt_assert_f(igt_raw_ns() - t0 < IGT_TARGET_PATIENCE_NS,
			     "the GPU is not idle after %llu ms\n", IGT_TARGET_PATIENCE_NS / MS);
		usleep(500);
	}
	/* the last fault removed the device */
	if (d->number && debugfs_number(d, "idle", MISSING) == MISSING) {
		igt_assert(d->armed);
		d->gone = true;
	}
	return !d->gone;
}

void igt_target_find(const struct igt_target *d)
{
	find_faults(d);
}

const char *igt_target_fault(uint32_t n)
{
	igt_assert_lt(0, fault_count);
	return fault_names[n % fault_count];
}

unsigned int igt_target_fault_count(void)
{
	return fault_count;
}
