// SPDX-License-Identifier: MIT
/*
 * A counter of GL_AMD_performance_monitor over rectangles, which are two triangles each.
 * usage: counter [GROUP.NAME RECTANGLES...]: prints the count of each frame of so many rectangles,
 * without arguments the names of the counters
 */
#include "common/monitor.h"

#include <stdio.h>
#include <stdlib.h>

static void list(const struct groups *groups)
{
	for (GLint i = 0; i < groups->count; i++)
		for (GLint j = 0; j < groups->group[i].count; j++)
			printf("%s.%s\n", groups->group[i].name, groups->group[i].counters[j].name);
}

static int count(const struct groups *groups, const char *name, int rectangles)
{
	const char *const names[] = { name, NULL };
	GLuint monitor = monitor_of(groups, names);
	struct value value;

	gl.BeginPerfMonitorAMD(monitor);
	for (int i = 0; i < rectangles; i++)
		draw_rectangle(1 + i % 8, 1 + i % 5);
	gl.EndPerfMonitorAMD(monitor);
	if (monitor_values(groups, monitor, &value, 1) != 1 || gl_error() != GL_NO_ERROR)
		return 1;
	printf("%llu\n", (unsigned long long)value.u64);
	fflush(stdout);
	gl.DeletePerfMonitorsAMD(1, &monitor);
	return 0;
}

int main(int argc, char **argv)
{
	struct surface surface;
	struct groups groups;
	int failed = 0;

	if (argc == 2)
		return 2;
	surface_new(&surface);
	groups_read(&groups);
	if (argc == 1)
		list(&groups);
	for (int i = 2; i < argc && !failed; i++)
		failed = count(&groups, argv[1], atoi(argv[i]));
	groups_free(&groups);
	surface_free(&surface);
	return failed;
}
