/* SPDX-License-Identifier: MIT */
/*
 * The virtual SoC's PMUs for the perf_event tests: opening events, running jobs, ground truth,
 * CPUs; TAP output.
 */
#ifndef PERFCTR_TESTS_PERF_SOC_H
#define PERFCTR_TESTS_PERF_SOC_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* dynamic type of a PMU from sysfs; exits if there is none */
__u32 soc_pmu_type(const char *pmu);
/* the CPU of a PMU, -1 if it has none now */
int soc_pmu_cpu(const char *pmu);

/* attributes of a counting event that starts at once */
struct perf_event_attr soc_attr(const char *pmu, __u64 config, __u64 config1,
				__u64 config2);
/* file descriptor or negative errno */
int soc_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	     unsigned long flags);
/* the same for a plain event on the PMU's CPU */
int soc_event(const char *pmu, __u64 config, __u64 config1, __u64 config2, int group);

struct soc_count {
	__u64 value;
	__u64 enabled_ns;
	__u64 running_ns;
};

/* exits if the event cannot be read */
struct soc_count soc_read(int fd);

/* run vsoc-job with these arguments and wait; exits if it fails */
void soc_job(const char *arguments);
/* the same in the background, until soc_job_stop() */
pid_t soc_job_start(const char *arguments);
void soc_job_stop(pid_t pid);

/* total of an event over the rows of a PMU that contain @row ("" for all) */
__u64 soc_truth(const char *pmu, const char *event, const char *row);

/* false if the CPU cannot be switched */
bool soc_cpu_online(int cpu, bool online);

/* --- TAP output of the perf_event tests --- */

#define TAP_TEXT_BYTES 256

static unsigned int tap_passed, tap_failed;
static char tap_text[TAP_TEXT_BYTES];

/* one result, its text is in tap_text */
static inline bool tap_report(bool passed, int length)
{
	(void)length;
	if (passed)
		tap_passed++;
	else
		tap_failed++;
	printf("%sok %u - %s\n", passed ? "" : "not ", tap_passed + tap_failed, tap_text);
	fflush(stdout);
	return passed;
}

/* one result; its text can have values, which help if it fails */
#define tap(passed, ...) tap_report(passed, snprintf(tap_text, TAP_TEXT_BYTES, __VA_ARGS__))

/* the end; returns the exit status */
static inline int tap_done(void)
{
	printf("1..%u\n%u passed, %u failed, 0 skipped\n", tap_passed + tap_failed, tap_passed,
	       tap_failed);
	return tap_failed != 0;
}

#endif /* PERFCTR_TESTS_PERF_SOC_H */
