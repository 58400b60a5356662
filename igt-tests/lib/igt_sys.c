// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"

/* of a render node in sysfs */
#define DEVICE "/sys/class/drm/renderD%d/device/"
#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull

uint64_t igt_raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

void igt_sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS };

	nanosleep(&t, NULL);
}

int igt_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
	close(fd);
	return ret;
}

/* of a device that is not bound to a driver; empty: it is */
static char bound[80], bind_file[PATH_MAX + 8];

static struct {
	char path[128], text[48];
} at_exit[16];
static unsigned int at_exit_count;

/* the last one first: a probe is disabled before it is removed */
static void restore(int signal)
{
	if (*bound)
		igt_write(bind_file, bound);
	while (at_exit_count) {
		at_exit_count--;
		igt_write(at_exit[at_exit_count].path, at_exit[at_exit_count].text);
	}
}

void igt_write_at_exit(const char *path, const char *text)
{
	for (unsigned int i = 0; i < at_exit_count; i++)
		if (!strcmp(at_exit[i].path, path) && !strcmp(at_exit[i].text, text))
			return;
	igt_assert_lt(at_exit_count, ARRAY_SIZE(at_exit));
	snprintf(at_exit[at_exit_count].path, sizeof(at_exit[0].path), "%s", path);
	snprintf(at_exit[at_exit_count].text, sizeof(at_exit[0].text), "%s", text);
	at_exit_count++;
	igt_install_exit_handler(restore);
}

void igt_restore_at_exit(const char *path)
{
	char text[48];
	FILE *f;

	for (unsigned int i = 0; i < at_exit_count; i++)
		if (!strcmp(at_exit[i].path, path))
			return;
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(text, sizeof(text), f))
		igt_write_at_exit(path, text);
	fclose(f);
}

void igt_require_write(const char *path, const char *text)
{
	igt_require_f(!access(path, W_OK), "%s: %s\n", path, strerror(errno));
	igt_assert_eq(igt_write(path, text), 0);
}

int igt_read_int(const char *path)
{
	int value = -1;
	FILE *f = fopen(path, "re");

	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

bool igt_debugfs_number(const struct igt_perfctr_device *dev, const char *file, const char *name,
			uint64_t *value)
{
	char path[96], word[40], text[40];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", dev->minor, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fscanf(f, "%39s %39s", word, text) == 2)
		found = !strcmp(word, name);
	fclose(f);
	if (found)
		*value = strtoull(text, NULL, 0);
	return found;
}

void igt_write_int(const char *path, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", value);
	igt_restore_at_exit(path);
	igt_assert_eq(igt_write(path, text), 0);
}

unsigned int igt_entries(const char *path)
{
	DIR *directory = opendir(path);
	unsigned int count = 0;
	struct dirent *entry;

	igt_assert_f(directory, "no directory %s\n", path);
	while ((entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

unsigned int igt_open_files(void)
{
	/* without the directory's */
	return igt_entries("/proc/self/fd") - 1;
}

bool igt_perfctr_add_ucf(struct igt_perfctr_session *s)
{
	struct drm_perfctr_block_request *r;

	if (!(s->dev->info.features & DRM_PERFCTR_FEATURE_PMU) || access(IGT_UCF_TYPE, R_OK))
		return false;
	r = igt_perfctr_add_pmu(s, 0, igt_read_int(IGT_UCF_TYPE), 0, DRM_PERFCTR_CPU_ANY);
	r->type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
	r->mask = 1ull << DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD;
	return true;
}

void igt_perfctr_add_ucf_counters(struct igt_perfctr_session *s, unsigned int counters)
{
	const unsigned int most = 16;
	const int type = igt_read_int(IGT_UCF_TYPE);

	for (unsigned int filter = 1; counters; filter++) {
		unsigned int n = counters < most ? counters : most;
		struct drm_perfctr_block_request *r =
			igt_perfctr_add_pmu(s, 0, type, 0, DRM_PERFCTR_CPU_ANY);

		r->type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
		r->mask = (1ull << n) - 1;
		/* three bits of the source, four of the destination */
		r->config1 = (filter & 7) | (filter & ~7u) << 5;
		counters -= n;
	}
}

int igt_find_process(const char *prefix)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	igt_assert(proc);
	while (!found && (entry = readdir(proc))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strncmp(name, prefix, strlen(prefix)))
			found = atoi(entry->d_name);
		fclose(f);
	}
	closedir(proc);
	return found;
}

/* what a link of the device's directory in sysfs points to, and the last part of it */
static const char *link_of(const struct igt_perfctr_device *dev, const char *file,
			   char target[PATH_MAX])
{
	char path[80];

	snprintf(path, sizeof(path), DEVICE "%s", dev->minor, file);
	igt_assert_f(realpath(path, target), "%s: %m\n", path);
	return strrchr(target, '/') + 1;
}

const char *igt_device_name(const struct igt_perfctr_device *dev)
{
	static char target[PATH_MAX];

	return link_of(dev, "", target);
}

int igt_worker(const struct igt_perfctr_device *dev, bool events)
{
	char name[80];
	int pid;

	snprintf(name, sizeof(name), "perfctr%s/%.64s", events ? "-pmu" : "", igt_device_name(dev));
	pid = igt_find_process(name);
	igt_assert_f(pid, "no thread %s\n", name);
	return pid;
}

uint64_t igt_worker_ns(const struct igt_perfctr_device *dev, bool events, uint64_t *times)
{
	unsigned long long ns = 0, turns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", igt_worker(dev, events));
	f = fopen(path, "re");
	igt_require_f(f, "the kernel has no schedstat\n");
	if (f) {
		igt_assert_eq(fscanf(f, "%llu %*u %llu", &ns, &turns), 2);
		fclose(f);
	}
	igt_assert_lte_u64(1, ns);
	*times = turns;
	return ns;
}

uint64_t igt_sampler_ns(const struct igt_perfctr_device *dev, uint64_t *times)
{
	return igt_worker_ns(dev, false, times);
}

static const char *power_file(const struct igt_perfctr_device *dev, const char *file)
{
	static char path[64];

	snprintf(path, sizeof(path), DEVICE "power/%s", dev->minor, file);
	return path;
}

static const char *power_word(const struct igt_perfctr_device *dev, const char *file)
{
	FILE *f = fopen(power_file(dev, file), "re");
	static char word[16];

	igt_assert_f(f, "power/%s: %m\n", file);
	igt_assert_eq(fscanf(f, "%15s", word), 1);
	fclose(f);
	return word;
}

int igt_power_try(const struct igt_perfctr_device *dev, const char *how)
{
	return igt_write(power_file(dev, "control"), how);
}

void igt_power(const struct igt_perfctr_device *dev, const char *how)
{
	igt_restore_at_exit(power_file(dev, "control"));
	igt_require_write(power_file(dev, "control"), how);
}

bool igt_power_is(const struct igt_perfctr_device *dev, const char *status)
{
	return !strcmp(power_word(dev, "runtime_status"), status);
}

void igt_await_suspend(const struct igt_perfctr_device *dev)
{
	for (unsigned int i = 0; !igt_power_is(dev, "suspended"); i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
}

void igt_suspend(const struct igt_perfctr_device *dev)
{
	igt_power(dev, "auto");
	igt_require_f(!igt_power_is(dev, "unsupported"), "no runtime PM\n");
	igt_await_suspend(dev);
}

void igt_hold_power(const struct igt_perfctr_device *dev)
{
	if (!access(power_file(dev, "control"), W_OK))
		igt_power(dev, "on");
}

void igt_unbind(const struct igt_perfctr_device *dev)
{
	char path[PATH_MAX + 8], name[80], driver[PATH_MAX];

	snprintf(name, sizeof(name), "%.64s", igt_device_name(dev));
	link_of(dev, "driver", driver);
	snprintf(path, sizeof(path), "%s/unbind", driver);
	snprintf(bind_file, sizeof(bind_file), "%s/bind", driver);
	igt_require_f(!access(path, W_OK), "%s: %s\n", path, strerror(errno));
	igt_install_exit_handler(restore);
	memcpy(bound, name, sizeof(bound));
	igt_assert_eq(igt_write(path, name), 0);
}

void igt_bind_again(struct igt_perfctr_device *dev)
{
	igt_perfctr_close(dev);
	igt_assert_eq(igt_write(bind_file, bound), 0);
	igt_assert(igt_perfctr_open_device(dev, bound));
	*bound = '\0';
}

static const char *trace_file(const char *event, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), IGT_TRACING "events/%s/%s", event, name);
	return path;
}

void igt_trace_begin(const char *event, const char *filter)
{
	igt_require_f(!access(trace_file(event, "enable"), W_OK), "no trace event %s\n", event);
	igt_write_at_exit(trace_file(event, "filter"), "0");
	igt_write_at_exit(trace_file(event, "enable"), "0");
	igt_assert_eq(igt_write(trace_file(event, "filter"), filter), 0);
	/* empties it */
	close(open(IGT_TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
	igt_assert_eq(igt_write(trace_file(event, "enable"), "1"), 0);
}

unsigned int igt_trace_end(const char *event, const char *text, unsigned int *hard)
{
	unsigned int count = 0;
	char line[512];
	FILE *f;

	igt_assert_eq(igt_write(trace_file(event, "enable"), "0"), 0);
	igt_assert_eq(igt_write(trace_file(event, "filter"), "0"), 0);
	*hard = 0;
	f = fopen(IGT_TRACING "trace", "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *context = strstr(line, "] ");

		if (line[0] == '#' || !strstr(line, text))
			continue;
		count++;
		/* "] d.h1": the third letter */
		*hard += context && strlen(context) > 4 && strchr("hH", context[4]);
	}
	fclose(f);
	return count;
}

void igt_kill_and_wait(void)
{
	igt_kill_children(SIGKILL);
	igt_assert_eq(__igt_waitchildren(), 128 + SIGKILL);
}

int igt_module_users(const char *module)
{
	char path[64];
	int users;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	users = igt_read_int(path);
	snprintf(path, sizeof(path), "/sys/module/%s/holders", module);
	return users < 0 ? users : users - (int)igt_entries(path);
}

void igt_await_core_users(int users)
{
	for (unsigned int i = 0; igt_module_users("drm_perfctr") != users; i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
}
