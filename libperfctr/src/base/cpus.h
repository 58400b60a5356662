/* SPDX-License-Identifier: MIT */
/* Lists of CPUs as sysfs has them: "0-3,8,16-30:1/2". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys.h"

struct cpu_list {
	int *cpus; /* ascending, each once */
	size_t count;
};

/*
 * Read a text; "0-30:1/2" has the first CPU of each two. An empty one is an empty list.
 * @list: filled, for cpu_list_free().
 * Return: 0; -EINVAL it is no list of CPUs; -ENOMEM.
 */
int cpu_list_parse(const char *text, struct cpu_list *list);
/* Read a file. Return: as above, or the error of reading it. */
int cpu_list_read(const struct perfctr_sys *sys, const char *path, struct cpu_list *list);
#define CPUS_ONLINE_PATH "/sys/devices/system/cpu/online"
/* Read the CPUs that are online: one without CPU hotplug. Return: as cpu_list_read(). */
int cpu_list_online(const struct perfctr_sys *sys, struct cpu_list *list);
/* Return: 0 or -ENOMEM. */
int cpu_list_copy(const struct cpu_list *from, struct cpu_list *to);
/* Remove the CPUs that are not in @other. */
void cpu_list_intersect(struct cpu_list *list, const struct cpu_list *other);
bool cpu_list_has(const struct cpu_list *list, int cpu);
bool cpu_list_equal(const struct cpu_list *a, const struct cpu_list *b);
void cpu_list_free(struct cpu_list *list);
