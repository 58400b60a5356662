// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"

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
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
	close(fd);
	return ret;
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

void igt_write_int(const char *path, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", value);
	igt_assert_eq(igt_write(path, text), 0);
}

bool igt_perfctr_add_ucf(struct igt_perfctr_session *s)
{
	struct drm_perfctr_block_request *r;

	if (!(s->dev->info.features & DRM_PERFCTR_FEATURE_PMU) || access(IGT_UCF_TYPE, R_OK))
		return false;
	r = igt_perfctr_add_pmu(s, 0, igt_read_int(IGT_UCF_TYPE), 0, DRM_PERFCTR_CPU_ANY);
	r->type = DRM_PERFCTR_TEGRA410_BLOCK_UCF;
	r->mask = 1ull << DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD;
	return true;
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

uint64_t igt_sampler_ns(uint64_t *times)
{
	unsigned long long ns = 0, turns = 0;
	int pid = igt_find_process("perfctr/vsoc");
	char path[64];
	FILE *f;

	igt_assert_f(pid, "no thread perfctr/vsoc*\n");
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
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

static const char *trace_file(const char *event, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), IGT_TRACING "events/%s/%s", event, name);
	return path;
}

void igt_trace_begin(const char *event, const char *filter)
{
	igt_require_f(!access(trace_file(event, "enable"), W_OK), "no trace event %s\n", event);
	igt_assert_eq(igt_write(trace_file(event, "filter"), filter), 0);
	igt_assert_eq(igt_write(IGT_TRACING "trace", "\n"), 0);
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
