// SPDX-License-Identifier: MIT
/*
 * Counts all counters like a client without knowledge of the hardware: it adds counters to a
 * monitor until Begin refuses it, which makes a pass, and continues with the next pass (as
 * apitrace's retrace and qapitrace do). The scene is drawn once per pass.
 * usage: passes TRUTH
 * TRUTH is a file of the virtual SoC. Prints lines of words:
 *
 *	group NAME COUNTERS MAX_ACTIVE
 *	pass NUMBER
 *	before ...	a line of TRUTH before the scene
 *	after ...	a line of TRUTH after the scene
 *	value GROUP COUNTER VALUE
 */
#include "common/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 2, BLOCKS = 12, LINE_BYTES = 256 };

static struct groups groups;
/* counters still to be counted, in the order of the groups */
static const struct counter **left;
static int left_count;

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "passes: %s %s\n", what, name);
	exit(1);
}

static void copy_truth(const char *path, const char *when)
{
	FILE *file = fopen(path, "re");
	char line[LINE_BYTES];

	if (!file)
		die("no", path);
	while (fgets(line, sizeof(line), file))
		printf("%s %s", when, line);
	fclose(file);
}

static GLuint monitor_with(const struct counter *const *counters, int count)
{
	GLuint monitor = 0;

	gl.GenPerfMonitorsAMD(1, &monitor);
	for (int n = 0; n < count; n++)
		monitor_add(monitor, counters[n]);
	return monitor;
}

static bool begins(const struct counter *const *counters, int count)
{
	GLuint monitor = monitor_with(counters, count);
	GLenum error;

	gl_error();
	gl.BeginPerfMonitorAMD(monitor);
	error = gl_error();
	if (error == GL_NO_ERROR)
		gl.EndPerfMonitorAMD(monitor);
	else if (error != GL_INVALID_OPERATION)
		die("Begin fails with an error of another kind:", counters[count - 1]->name);
	gl.DeletePerfMonitorsAMD(1, &monitor);
	return error == GL_NO_ERROR;
}

/* Move the counters that fit from @left to @pass; returns how many. */
static int take_pass(const struct counter **pass)
{
	int count = 0, kept = 0;

	for (int n = 0; n < left_count; n++) {
		pass[count] = left[n];
		if (begins(pass, count + 1))
			count++;
		else if (!count)
			die("Begin refuses a counter alone:", left[n]->name);
		else
			left[kept++] = left[n];
	}
	left_count = kept;
	return count;
}

static void draw(void)
{
	for (int frame = 0; frame < FRAMES; frame++) {
		ring_draw(BLOCKS, 1, frame);
		glFlush();
	}
}

static void print_values(GLuint monitor, int expected)
{
	struct value *values = calloc((size_t)expected, sizeof(*values));
	int count;

	if (!values)
		die("out of", "memory");
	count = monitor_values(&groups, monitor, values, expected);
	if (count != expected)
		die("not all counters of a pass have", "values");
	for (int n = 0; n < count; n++) {
		const struct counter *counter = values[n].counter;

		printf("value %s %s ", groups.group[counter->group].name, counter->name);
		if (counter->type == GL_UNSIGNED_INT64_AMD)
			printf("%llu\n", (unsigned long long)values[n].u64);
		else
			printf("%.9g\n", values[n].number);
	}
	free(values);
}

static void count_pass(int number, const struct counter *const *pass, int count, const char *truth)
{
	GLuint monitor = monitor_with(pass, count);

	printf("pass %d\n", number);
	glFinish();
	copy_truth(truth, "before");
	gl.BeginPerfMonitorAMD(monitor);
	draw();
	gl.EndPerfMonitorAMD(monitor);
	if (gl_error() != GL_NO_ERROR)
		die("a pass that began before", "does not");
	copy_truth(truth, "after");
	print_values(monitor, count);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

int main(int argc, char **argv)
{
	const struct counter **pass;
	struct surface surface;
	int count = 0;

	if (argc != 2)
		die("usage:", "passes TRUTH");
	surface_new(&surface);
	groups_read(&groups);
	ring_set_up();
	for (int n = 0; n < groups.count; n++)
		count += groups.group[n].count;
	left = calloc((size_t)count, sizeof(*left));
	pass = calloc((size_t)count, sizeof(*pass));
	if (!left || !pass)
		die("out of", "memory");
	for (int n = 0; n < groups.count; n++) {
		const struct group *group = &groups.group[n];

		printf("group %s %d %d\n", group->name, group->count, group->max_active);
		/* without groups of perf PMUs */
		for (int c = 0; c < group->count; c++)
			if (!strncmp(group->name, "pcounter", 8) || !strncmp(group->name, "mp", 2))
				left[left_count++] = &group->counters[c];
	}
	for (int number = 0; left_count; number++) {
		count = take_pass(pass);
		count_pass(number, pass, count, argv[1]);
	}
	free(pass);
	free(left);
	groups_free(&groups);
	surface_free(&surface);
	return 0;
}
