// SPDX-License-Identifier: MIT
#include "soc.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSFS_PMUS "/sys/bus/event_source/devices"
#define TRUTH_GLOB "/sys/kernel/debug/dri/*/vsoc/soc"
#define LINE_BYTES 1024
#define PATH_BYTES 256

static noreturn void fail(const char *what, const char *which)
{
	printf("Bail out! %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

/* first number of a file below a PMU's directory */
static bool pmu_number(const char *pmu, const char *name, long *number)
{
	char path[PATH_BYTES];
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/%s", pmu, name);
	file = fopen(path, "r");
	if (!file)
		fail("cannot open", path);
	found = fscanf(file, "%ld", number) == 1;
	fclose(file);
	return found;
}

__u32 soc_pmu_type(const char *pmu)
{
	long type;

	if (!pmu_number(pmu, "type", &type))
		fail("no type of", pmu);
	return (__u32)type;
}

int soc_pmu_cpu(const char *pmu)
{
	long cpu;

	return pmu_number(pmu, "cpumask", &cpu) ? (int)cpu : -1;
}

struct perf_event_attr soc_attr(const char *pmu, __u64 config, __u64 config1,
				__u64 config2)
{
	return (struct perf_event_attr){
		.type = soc_pmu_type(pmu),
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.config1 = config1,
		.config2 = config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
}

int soc_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	struct perf_event_attr copy = *attr;
	long fd = syscall(SYS_perf_event_open, &copy, pid, cpu, group, flags);

	return fd < 0 ? -errno : (int)fd;
}

int soc_event(const char *pmu, __u64 config, __u64 config1, __u64 config2, int group)
{
	struct perf_event_attr attr = soc_attr(pmu, config, config1, config2);

	return soc_open(&attr, -1, soc_pmu_cpu(pmu), group, 0);
}

struct soc_count soc_read(int fd)
{
	struct soc_count count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		fail("cannot read", "an event");
	return count;
}

pid_t soc_job_start(const char *arguments)
{
	char command[LINE_BYTES];
	pid_t pid;

	snprintf(command, sizeof(command), "exec vsoc-job -q %s", arguments);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("cannot fork for", arguments);
	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

void soc_job(const char *arguments)
{
	int status;

	if (waitpid(soc_job_start(arguments), &status, 0) < 0 || status) {
		errno = EIO;
		fail("job failed:", arguments);
	}
}

void soc_job_stop(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static FILE *open_truth(void)
{
	FILE *file = NULL;
	glob_t found;

	if (!glob(TRUTH_GLOB, 0, NULL, &found))
		file = fopen(found.gl_pathv[0], "r");
	globfree(&found);
	if (!file)
		fail("cannot open", TRUTH_GLOB);
	return file;
}

__u64 soc_truth(const char *pmu, const char *event, const char *row)
{
	char line[LINE_BYTES], section[PATH_BYTES], key[PATH_BYTES];
	FILE *file = open_truth();
	__u64 total = 0;
	bool inside = false;

	snprintf(section, sizeof(section), "[%s]\n", pmu);
	snprintf(key, sizeof(key), " %s=", event);
	while (fgets(line, sizeof(line), file)) {
		const char *value = strstr(line, key);

		if (line[0] == '[')
			inside = !strcmp(line, section);
		else if (inside && value && strstr(line, row))
			total += strtoull(value + strlen(key), NULL, 10);
	}
	fclose(file);
	return total;
}

bool soc_cpu_online(int cpu, bool online)
{
	char path[PATH_BYTES];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	file = fopen(path, "w");
	if (!file)
		return false;
	done = fprintf(file, "%d\n", online) > 0;
	return fclose(file) == 0 && done;
}
