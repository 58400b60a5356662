// SPDX-License-Identifier: MIT
/*
 * Counters of the virtual SoC in the driver of another GPU, whose kernel driver Mesa's drm-shim
 * replaces. Prints TAP. usage: drivers RENDERER, a substring of GL_RENDERER
 */
#include "common/monitor.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_VALUES = 64, FRAGMENTS = 777 };

extern char **environ;

static const char *renderer;
static struct groups groups;
static int number, failed;

static void check(bool ok, const char *name)
{
	printf("%sok %d - %s: %s\n", ok ? "" : "not ", ++number, renderer, name);
	fflush(stdout);
	failed += !ok;
}

static void use_device(void)
{
	char *const job[] = { "vsoc-job", "-q", "draw", "fragments=777", NULL };
	pid_t pid;

	if (!posix_spawnp(&pid, job[0], NULL, NULL, job, environ))
		waitpid(pid, NULL, 0);
}

static const char *const ours[] = { "shader.FRAGMENTS", "memsys.l2_read_hit_ratio", "cshw.JOBS",
				    NULL };

static bool counts(GLuint monitor)
{
	struct value values[MAX_VALUES];
	int count;

	gl.BeginPerfMonitorAMD(monitor);
	if (gl_error() != GL_NO_ERROR)
		return false;
	draw_rectangle(16, 16);
	use_device();
	gl.EndPerfMonitorAMD(monitor);
	if (gl_error() != GL_NO_ERROR)
		return false;
	count = monitor_values(&groups, monitor, values, MAX_VALUES);
	return count >= 3 &&
	       value_find(&groups, values, count, "shader.FRAGMENTS")->u64 == FRAGMENTS;
}

/* The driver's groups precede ours. */
static int driver_groups(void)
{
	const struct group *first = group_find(&groups, "fw");

	return first ? (int)first->id : groups.count;
}

static void mixed(void)
{
	GLuint monitor = monitor_of(&groups, ours);
	bool begun;

	for (int n = 0; n < driver_groups(); n++)
		monitor_add(monitor, &groups.group[n].counters[0]);
	gl.BeginPerfMonitorAMD(monitor);
	begun = gl_error() == GL_NO_ERROR;
	if (begun) {
		draw_rectangle(16, 16);
		gl.EndPerfMonitorAMD(monitor);
	}
	check(begun && gl_error() == GL_NO_ERROR, "a monitor of the driver's counters and of ours");
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void over_limit(void)
{
	for (int n = 0; n < driver_groups(); n++) {
		const struct group *group = &groups.group[n];
		GLuint monitor;

		if (group->max_active >= group->count)
			continue;
		monitor = monitor_of(&groups, ours);
		for (int c = 0; c <= group->max_active; c++)
			monitor_add(monitor, &group->counters[c]);
		gl.BeginPerfMonitorAMD(monitor);
		check(gl_error() == GL_INVALID_OPERATION,
		      "more counters of a group than the driver can have active");
		gl.DeletePerfMonitorsAMD(1, &monitor);
		return;
	}
}

int main(int argc, char **argv)
{
	struct surface surface;
	GLuint monitor;

	if (argc != 2)
		return 2;
	renderer = argv[1];
	/* vsoc-job must not use drm-shim */
	unsetenv("LD_PRELOAD");
	surface_new(&surface);
	check(strstr((const char *)glGetString(GL_RENDERER), renderer) != NULL, "is the driver");
	groups_read(&groups);
	check(group_find(&groups, "shader16") != NULL, "lists our groups");
	printf("# %d groups of the driver, %d of ours\n", driver_groups(),
	       groups.count - driver_groups());
	monitor = monitor_of(&groups, ours);
	check(counts(monitor) && counts(monitor), "a monitor counts the device, twice");
	gl.DeletePerfMonitorsAMD(1, &monitor);
	if (driver_groups())
		mixed();
	over_limit();
	monitor = monitor_of(&groups, ours);
	gl.BeginPerfMonitorAMD(monitor);
	groups_free(&groups);
	surface_free(&surface);
	check(true, "its context is destroyed with an active monitor");
	printf("1..%d\n", number);
	return failed != 0;
}
