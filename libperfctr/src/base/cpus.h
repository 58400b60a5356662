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
bool cpu_list_has(const struct cpu_list *list, int cpu);
bool cpu_list_equal(const struct cpu_list *a, const struct cpu_list *b);
void cpu_list_free(struct cpu_list *list);
