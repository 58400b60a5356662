// SPDX-License-Identifier: MIT
/*
 * Concurrent monitors, controlled by commands on standard input. Commands and answers are lines;
 * "done" ends each answer:
 *
 *	groups				a new context: group NAME COUNTERS MAX_ACTIVE
 *	begin MONITOR GROUP.COUNTER...	began or refused; MONITOR is a digit
 *	draw				the scene
 *	end MONITOR			value GROUP.COUNTER VALUE
 */
#include "common/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 12, MONITORS = 10, MOST_VALUES = 16, LINE_BYTES = 512 };

static struct surface surface;
static struct groups groups;
static GLuint monitors[MONITORS];

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "beside: %s %s\n", what, name ? name : "nothing");
	exit(1);
}

static GLuint *monitor_by(const char *word)
{
	if (!word || word[0] < '0' || word[0] > '9')
		die("no monitor", word);
	return &monitors[word[0] - '0'];
}

/* Print the groups. Limits are listed when a context is created. */
static void tell_groups(void)
{
	struct surface other;
	struct groups others;

	surface_new(&other);
	groups_read(&others);
	for (int n = 0; n < others.count; n++)
		printf("group %s %d %d\n", others.group[n].name, others.group[n].count,
		       others.group[n].max_active);
	groups_free(&others);
	surface_free(&other);
	surface_use(&surface);
}

static void begin(void)
{
	GLuint *monitor = monitor_by(strtok(NULL, " "));
	const char *name;
	GLenum error;

	gl.GenPerfMonitorsAMD(1, monitor);
	while ((name = strtok(NULL, " ")))
		monitor_add(*monitor, counter_find(&groups, name));
	gl_error();
	gl.BeginPerfMonitorAMD(*monitor);
	error = gl_error();
	if (error != GL_NO_ERROR && error != GL_INVALID_OPERATION)
		die("Begin fails with an error of another kind", "");
	puts(error == GL_NO_ERROR ? "began" : "refused");
	if (error != GL_NO_ERROR)
		gl.DeletePerfMonitorsAMD(1, monitor);
}

static void end(void)
{
	GLuint *monitor = monitor_by(strtok(NULL, " "));
	struct value values[MOST_VALUES];
	int count;

	gl.EndPerfMonitorAMD(*monitor);
	count = monitor_values(&groups, *monitor, values, MOST_VALUES);
	if (count < 0 || gl_error() != GL_NO_ERROR)
		die("no values", "");
	for (int n = 0; n < count; n++)
		printf("value %s.%s %.0f\n", groups.group[values[n].counter->group].name,
		       values[n].counter->name, values[n].number);
	gl.DeletePerfMonitorsAMD(1, monitor);
}

int main(void)
{
	char line[LINE_BYTES];

	surface_new(&surface);
	groups_read(&groups);
	ring_set_up();
	while (fgets(line, sizeof(line), stdin)) {
		const char *word;

		line[strcspn(line, "\n")] = '\0';
		word = strtok(line, " ");
		if (word && !strcmp(word, "groups"))
			tell_groups();
		else if (word && !strcmp(word, "begin"))
			begin();
		else if (word && !strcmp(word, "end"))
			end();
		else if (word && !strcmp(word, "draw"))
			ring_draw(BLOCKS, 1, 0);
		else
			die("no command", word);
		puts("done");
		fflush(stdout);
	}
	groups_free(&groups);
	surface_free(&surface);
	return 0;
}
