/* SPDX-License-Identifier: MIT */
/* The clock, sysfs and debugfs files, power, unbind, and the fabric's PMU. */
#ifndef IGT_SYS_H
#define IGT_SYS_H

#include <stdbool.h>
#include <stdint.h>

#include "igt_perfctr.h"
#include <sys/types.h>
#include <linux/capability.h>

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
/* the number after @name in a debugfs file of the node, false: there is none */
bool igt_debugfs_number(const struct igt_perfctr_device *dev, const char *file, const char *name,
			uint64_t *value);
void igt_write_int(const char *path, int value);
/* when the program ends, also by a signal: write @text, or what the file has at the first call */
void igt_write_at_exit(const char *path, const char *text);
void igt_restore_at_exit(const char *path);
/* files and directories in a directory, but hidden ones */
unsigned int igt_entries(const char *path);
/* open descriptors of this process */
unsigned int igt_open_files(void);
/* add a block for the bytes read from memory behind UCF 0; false: no PMU */
bool igt_perfctr_add_ucf(struct igt_perfctr_session *s);
/* add @counters of its PMU, in blocks of up to 16 with different filters */
void igt_perfctr_add_ucf_counters(struct igt_perfctr_session *s, unsigned int counters);

/* kill what igt_fork() made, which must not have ended by itself */
void igt_kill_and_wait(void);

/* references to a module, but those of the modules that call it; negative: it is built in */
int igt_module_users(const char *module);
/* until nobody but @users uses the core: sessions and their rings have gone */
void igt_await_core_users(int users);

/* the device's name in sysfs */
const char *igt_device_name(const struct igt_perfctr_device *dev);
/* the first process or kernel thread whose name begins with @prefix; 0: none */
int igt_find_process(const char *prefix);
/* the device's thread for its hardware, or for perf events */
int igt_worker(const struct igt_perfctr_device *dev, bool events);
/* ns for which that thread, or the first one, ran, and how often it was scheduled */
uint64_t igt_worker_ns(const struct igt_perfctr_device *dev, bool events, uint64_t *times);
uint64_t igt_sampler_ns(const struct igt_perfctr_device *dev, uint64_t *times);

/*
 * @how: "auto" suspends an idle device, "on" keeps it active. The first returns 0 or -errno, the
 * second skips on kernels without runtime PM, and is undone at the program's end.
 */
int igt_power_try(const struct igt_perfctr_device *dev, const char *how);
void igt_power(const struct igt_perfctr_device *dev, const char *how);
/* whether the device's runtime status is @status: "active", "suspended", ... */
bool igt_power_is(const struct igt_perfctr_device *dev, const char *status);
/* wait until it is suspended, the second with "auto" before; fails after ten seconds */
void igt_await_suspend(const struct igt_perfctr_device *dev);
void igt_suspend(const struct igt_perfctr_device *dev);
/* "on" for a program; at its end power/control is what it was before the first change */
void igt_hold_power(const struct igt_perfctr_device *dev);

/*
 * Unplug the device; then bind and open it again, which closes the file. At the program's end it is
 * bound in any case.
 */
void igt_unbind(const struct igt_perfctr_device *dev);
void igt_bind_again(struct igt_perfctr_device *dev);

/*
 * Record a trace event, "group/event"; skips without it. End returns the number of its lines with
 * @text, and sets @hard to how many of them were in hard interrupt context.
 */
void igt_trace_begin(const char *event, const char *filter);
unsigned int igt_trace_end(const char *event, const char *text, unsigned int *hard);

/*
 * Sessions of one slot, for tests that create many of them.
 */

/* descriptor of a session of one slot, not mapped, or -errno */
int igt_small_open(const struct igt_perfctr_device *dev);
/* as many as possible, at most @most; *@error is of the one that failed, or 0 */
unsigned int igt_small_fill(const struct igt_perfctr_device *dev, int *fds, unsigned int most,
			    int *error);

/* Processes with fewer rights, and root's settings. */

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

#define IGT_NOBODY 65534

/* become @uid with exactly these capabilities, for good */
void igt_drop_to(unsigned int uid, uint64_t capabilities);
/* the session belongs to an unprivileged user; the caller is root again on return */
void igt_perfctr_open_as_nobody(struct igt_perfctr_session *s);
void igt_perfctr_open_as(unsigned int uid, struct igt_perfctr_session *s);
/* a descriptor passed to another process, and received there, close-on-exec */
void igt_send_fd(int socket, int fd);
int igt_receive_fd(int socket);
/* pass an open session, and the file of its device, to another process */
void igt_perfctr_session_send(int socket, const struct igt_perfctr_session *s);
/* @dev, a copy of the session's device, gets the received file; the session is not mapped */
void igt_perfctr_session_receive(int socket, struct igt_perfctr_session *s,
				 struct igt_perfctr_device *dev);
/* set dev.perfctr.@name until the program ends */
void igt_perfctr_sysctl(const char *name, const char *value);
/* reset the limits of unprivileged users to their defaults */
void igt_perfctr_default_limits(void);

#endif
