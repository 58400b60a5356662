// SPDX-License-Identifier: MIT
/*
 * OpenGL ES through panfrost on a Mali GPU: GL_AMD_performance_monitor counts exactly what was
 * drawn. Only counters that need no running shader. Prints TAP.
 */
#include "common/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAMES = 21,
	TILE_SIZE = 16,
	TILES = (SURFACE_SIZE / TILE_SIZE) * (SURFACE_SIZE / TILE_SIZE),
	RECTANGLES = 3,
};

enum kind { TRIANGLES, PIXEL_TILES, DRAWS, FRAGMENT_JOBS, KINDS };

/* of a G610, by name or by position */
static const struct {
	const char *group, *name, *position;
} wanted[KINDS] = {
	[TRIANGLES] = { "tiler", "TRIANGLES", "C6" },
	[PIXEL_TILES] = { "shader", "FRAG_PTILES", "C18" },
	[DRAWS] = { "cshw", "ITER_TILER_JOB_COMPLETED", "C17" },
	[FRAGMENT_JOBS] = { "cshw", "ITER_FRAG_JOB_COMPLETED", "C33" },
};

static struct groups groups;
static int number, failures;

static void report(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++number, name);
	failures += !ok;
}

static void compile(GLuint program, GLenum type, const char *source)
{
	GLuint shader = glCreateShader(type);

	glShaderSource(shader, 1, &source, NULL);
	glCompileShader(shader);
	glAttachShader(program, shader);
}

static void use_shaders(void)
{
	GLuint program = glCreateProgram();
	GLint linked = 0;

	compile(program, GL_VERTEX_SHADER,
		"#version 300 es\n"
		"layout(location = 0) in vec2 corner;\n"
		"void main() { gl_Position = vec4(corner, 0, 1); }\n");
	compile(program, GL_FRAGMENT_SHADER,
		"#version 300 es\n"
		"out highp vec4 colour;\n"
		"void main() { colour = vec4(0, 1, 0, 1); }\n");
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &linked);
	if (!linked) {
		puts("Bail out! the shaders do not link");
		exit(1);
	}
	glUseProgram(program);
}

static void draw_frame(void)
{
	static const GLfloat corners[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	GLuint buffer;

	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glEnableVertexAttribArray(0);
	glClear(GL_COLOR_BUFFER_BIT);
	for (int n = 0; n < RECTANGLES; n++)
		glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	glFinish();
	glDeleteBuffers(1, &buffer);
}

static const struct counter *find(enum kind kind)
{
	const struct group *group = group_find(&groups, wanted[kind].group);

	for (int n = 0; group && n < group->count; n++)
		if (!strcmp(group->counters[n].name, wanted[kind].name) ||
		    !strcmp(group->counters[n].name, wanted[kind].position))
			return &group->counters[n];
	printf("Bail out! no %s.%s\n", wanted[kind].group, wanted[kind].name);
	exit(1);
}

static bool counted(GLuint monitor, enum kind kind, uint64_t expected)
{
	struct value values[KINDS];
	int count = monitor_values(&groups, monitor, values, KINDS);

	for (int n = 0; n < count; n++) {
		if (values[n].counter != find(kind))
			continue;
		if (values[n].u64 != expected)
			printf("# %s: %llu, expected %llu\n", wanted[kind].name,
			       (unsigned long long)values[n].u64, (unsigned long long)expected);
		return values[n].u64 == expected;
	}
	return false;
}

int main(void)
{
	struct surface surface, other;
	const char *renderer;
	GLuint monitor;

	surface_new_es(&surface);
	renderer = (const char *)glGetString(GL_RENDERER);
	if (!renderer)
		renderer = "no renderer";
	printf("# %s\n", renderer);
	report(strstr(renderer, "Panfrost") != NULL, "the driver is panfrost");
	use_shaders();
	groups_read(&groups);
	gl.GenPerfMonitorsAMD(1, &monitor);
	for (enum kind kind = 0; kind < KINDS; kind++)
		monitor_add(monitor, find(kind));

	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < FRAMES; n++)
		draw_frame();
	gl.EndPerfMonitorAMD(monitor);
	report(counted(monitor, TRIANGLES, 2 * RECTANGLES * FRAMES), "triangles of 21 frames");
	report(counted(monitor, PIXEL_TILES, TILES * FRAMES), "tiles of 21 frames");
	report(counted(monitor, DRAWS, RECTANGLES * FRAMES), "draws of 21 frames");
	report(counted(monitor, FRAGMENT_JOBS, FRAMES), "fragment jobs of 21 frames");

	gl.BeginPerfMonitorAMD(monitor);
	glFinish();
	gl.EndPerfMonitorAMD(monitor);
	report(counted(monitor, PIXEL_TILES, 0), "nothing is drawn, nothing is counted");

	surface_new_es(&other);
	use_shaders();
	surface_use(&surface);
	gl.BeginPerfMonitorAMD(monitor);
	draw_frame();
	surface_use(&other);
	draw_frame();
	surface_use(&surface);
	gl.EndPerfMonitorAMD(monitor);
	report(counted(monitor, PIXEL_TILES, 2 * TILES), "work of another context is included");
	report(glGetError() == GL_NO_ERROR, "no GL error");
	surface_free(&other);
	surface_free(&surface);
	printf("1..%d\n", number);
	return failures > 0;
}
