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

/*
 * @is_set: of each CPU up to the highest; NULL: to be found.
 * Return: how many CPUs up to the highest there are, -EINVAL.
 */
static int collect(const char *text, bool *is_set)
{
	long low, high, used, group;
	int bound = 0;

	while (*text == ' ' || *text == '\n')
		text++;
	while (*text) {
		if (!read_range(&text, &low, &high, &used, &group))
			return -EINVAL;
		bound = high < bound ? bound : (int)high + 1;
		for (long cpu = low; is_set && cpu <= high; cpu++)
			is_set[cpu] |= (cpu - low) % group < used;
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	return bound;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	const int bound = collect(text, NULL);
	bool *is_set;

	*list = (struct cpu_list){ 0 };
	if (bound <= 0)
		return bound;
	is_set = calloc((size_t)bound, sizeof(*is_set));
	list->cpus = is_set ? calloc((size_t)bound, sizeof(*list->cpus)) : NULL;
	if (list->cpus)
		collect(text, is_set);
	for (int cpu = 0; list->cpus && cpu < bound; cpu++)
		if (is_set[cpu])
			list->cpus[list->count++] = cpu;
	free(is_set);
	return list->cpus ? 0 : -ENOMEM;
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
