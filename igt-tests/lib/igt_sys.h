/* SPDX-License-Identifier: MIT */
/* The clock, sysfs and debugfs files, and the fabric's PMU. */
#ifndef IGT_SYS_H
#define IGT_SYS_H

#include <stdbool.h>
#include <stdint.h>

#include "igt_perfctr.h"

#define IGT_PERF_PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define IGT_TRACING "/sys/kernel/tracing/"
#define IGT_UCF_TYPE "/sys/bus/event_source/devices/nvidia_ucf_pmu_0/type"

/* CLOCK_MONOTONIC_RAW */
uint64_t igt_raw_ns(void);
void igt_sleep_ms(unsigned int ms);
/* 0 or -errno */
int igt_write(const char *path, const char *text);
/* skips without the file, fails if it does not accept the text */
void igt_require_write(const char *path, const char *text);
/* the number in a file, -1 if there is none */
int igt_read_int(const char *path);
void igt_write_int(const char *path, int value);
/* add a block for the bytes read from memory behind UCF 0; false: no PMU */
bool igt_perfctr_add_ucf(struct igt_perfctr_session *s);

/* the first process or kernel thread whose name begins with @prefix; 0: none */
int igt_find_process(const char *prefix);
/* ns for which the virtual SoC's sampler thread ran, and how often it was scheduled */
uint64_t igt_sampler_ns(uint64_t *times);

/*
 * Record a trace event, "group/event"; skips without it. End returns the number of its lines with
 * @text, and sets @hard to how many of them were in hard interrupt context.
 */
void igt_trace_begin(const char *event, const char *filter);
unsigned int igt_trace_end(const char *event, const char *text, unsigned int *hard);

#endif
