// SPDX-License-Identifier: MIT
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Linux has at most 8192 CPUs on today's largest architecture */
enum { MAX_CPUS = 1 << 17 };

static bool read_number(const char **text, long *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*number = strtol(*text, &end, 10);
	*text = end;
	return !errno && *number < MAX_CPUS;
}

/* One range with its stride. Return: whether the text has one. */
static bool read_range(const char **text, long *low, long *high, long *used, long *group)
{
	const char *at = *text;

	if (!read_number(&at, low))
		return false;
	*high = *low;
	*used = *group = 1;
	if (*at == '-' && (at++, !read_number(&at, high)))
		return false;
	if (*at == ':') {
		at++;
		if (!read_number(&at, used) || *at++ != '/' || !read_number(&at, group))
			return false;
	}
	*text = at;
	return *low <= *high && *used > 0 && *used <= *group;
}

/* Return: how many are set in @is_set, -EINVAL. */
static int collect(const char *text, bool *is_set)
{
	long low, high, used, group;
	int count = 0;

	while (*text == ' ' || *text == '\n')
		text++;
	while (*text) {
		if (!read_range(&text, &low, &high, &used, &group))
			return -EINVAL;
		for (long cpu = low; cpu <= high; cpu++) {
			if ((cpu - low) % group >= used || is_set[cpu])
				continue;
			is_set[cpu] = true;
			count++;
		}
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	return count;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	bool *is_set = calloc(MAX_CPUS, sizeof(*is_set));
	int count = is_set ? collect(text, is_set) : -ENOMEM;

	*list = (struct cpu_list){ 0 };
	if (count > 0) {
		list->cpus = calloc((size_t)count, sizeof(*list->cpus));
		for (int cpu = 0; list->cpus && list->count < (size_t)count; cpu++)
			if (is_set[cpu])
				list->cpus[list->count++] = cpu;
		count = list->cpus ? count : -ENOMEM;
	}
	free(is_set);
	return count < 0 ? count : 0;
}

int cpu_list_read(const struct perfctr_sys *sys, const char *path, struct cpu_list *list)
{
	char *text;
	int length = perfctr_sys_read_all(sys, path, &text);
	int error = length < 0 ? length : cpu_list_parse(text, list);

	if (length < 0)
		*list = (struct cpu_list){ 0 };
	free(text);
	return error;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int cpu_list_online(const struct perfctr_sys *sys, struct cpu_list *list)
{
	int error = cpu_list_read(sys, CPUS_ONLINE_PATH, list);

	/* a kernel without CPU hotplug has no list */
	return error == -ENOENT ? cpu_list_parse("0", list) : error;
}

int cpu_list_copy(const struct cpu_list *from, struct cpu_list *to)
{
	*to = (struct cpu_list){ calloc(from->count + 1, sizeof(*to->cpus)), from->count };
	if (!to->cpus)
		return -ENOMEM;
	memcpy(to->cpus, from->cpus, from->count * sizeof(*to->cpus));
	return 0;
}

void cpu_list_intersect(struct cpu_list *list, const struct cpu_list *other)
{
	size_t kept = 0;

	for (size_t n = 0; n < list->count; n++)
		if (cpu_list_has(other, list->cpus[n]))
			list->cpus[kept++] = list->cpus[n];
	list->count = kept;
}

bool cpu_list_has(const struct cpu_list *list, int cpu)
{
	return list->count && bsearch(&cpu, list->cpus, list->count, sizeof(*list->cpus), compare);
}

bool cpu_list_equal(const struct cpu_list *a, const struct cpu_list *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->cpus, b->cpus, a->count * sizeof(*a->cpus)));
}

void cpu_list_free(struct cpu_list *list)
{
	free(list->cpus);
	*list = (struct cpu_list){ 0 };
}
