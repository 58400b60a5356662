// SPDX-License-Identifier: MIT
/*
 * OpenGL ES through panfrost on a Mali GPU: GL_AMD_performance_monitor counts exactly what was
 * drawn, and so do the HUD's graphs. Only counters that need no running shader. Prints TAP.
 * --own: panfrost's own queries (mesa/upstream/panfrost) instead of perfctr's.
 */
#include "common/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAMES = 21,
	IDLE_FRAMES = 1000,
	TILE_SIZE = 16,
	TILES = (SURFACE_SIZE / TILE_SIZE) * (SURFACE_SIZE / TILE_SIZE),
	CORNERS = 4,
	RECTANGLES = 3,
	INSTANCES = 5,
};

enum kind { TRIANGLES, LINES, VERTICES, PIXEL_TILES, PIXELS, DRAWS, FRAGMENT_JOBS, KINDS };

/* counters and metrics, and what a frame has of each */
static const struct family {
	const char *names[KINDS + 1];
	/* no product counts lines beside others that need shaders: tasks of 16 pixels instead */
	bool tasks_for_lines;
	unsigned int jobs_of_draw;
	/* vertices and pixels come in requests and tasks of so many */
	unsigned int vertices_of_request, pixels_of_task;
} families[] = {
	/* with command streams */
	{ { "tiler.TRIANGLES", "tiler.LINES", "tiler.tiler_position_shading_threads",
	    "shader.FRAG_PTILES", "cshw.gpu_pixels", "cshw.ITER_TILER_JOB_COMPLETED",
	    "cshw.ITER_FRAG_JOB_COMPLETED" },
	  false,
	  1,
	  1,
	  1 },
	/* with a job manager */
	{ { "tiler.TRIANGLES", "tiler.LINES", "tiler.tiler_position_shading_threads",
	    "shader.FRAG_PTILES", "jm.gpu_pixels", "jm.JS1_JOBS", "jm.JS0_JOBS" },
	  false,
	  1,
	  1,
	  1 },
	/* Midgard: vertices are jobs and tasks of their own */
	{ { "tiler.TRIANGLES", "jm.JS0_TASKS", "shader.COMPUTE_TASKS", "shader.FRAG_PTILES",
	    "jm.gpu_pixels", "jm.JS1_JOBS", "jm.JS0_JOBS" },
	  true,
	  2,
	  1,
	  1 },
	/* counters, as panfrost has no metrics */
	{ { "Tiler.triangles", "Tiler.lines", "Tiler.idvs_pos_shad_req", "Shader Core.frag_ptiles",
	    "Job Manager.js0_tasks", "Job Manager.js1_jobs", "Job Manager.js0_jobs" },
	  false,
	  1,
	  4,
	  32 * 32 },
};
enum { OWN = sizeof(families) / sizeof(families[0]) - 1 };
static const char *const *names = families[0].names;
static unsigned int in_frame[KINDS] = {
	[TRIANGLES] = 2 * (RECTANGLES + INSTANCES),
	[LINES] = CORNERS / 2,
	[VERTICES] = CORNERS * (RECTANGLES + INSTANCES + 1),
	[PIXEL_TILES] = TILES,
	[PIXELS] = SURFACE_SIZE * SURFACE_SIZE,
	[DRAWS] = RECTANGLES + 2,
	[FRAGMENT_JOBS] = 1,
};

static void use_family(const char *renderer, bool own)
{
	bool midgard = strstr(renderer, "Mali-T");
	bool streams = strstr(renderer, "0 (Panfrost)");
	const struct family *family = &families[own ? OWN : midgard ? 2 : streams ? 0 : 1];

	names = family->names;
	if (family->tasks_for_lines)
		in_frame[LINES] = TILES;
	in_frame[DRAWS] *= family->jobs_of_draw;
	in_frame[VERTICES] /= family->vertices_of_request;
	in_frame[PIXELS] /= family->pixels_of_task;
}

/* perfctr's names have their group for the HUD, those of drivers do not */
static const char *hud_name(enum kind kind)
{
	return names == families[OWN].names ? strchr(names[kind], '.') + 1 : names[kind];
}

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
		glDrawArrays(GL_TRIANGLE_STRIP, 0, CORNERS);
	glDrawArrays(GL_LINES, 0, CORNERS);
	glDrawArraysInstanced(GL_TRIANGLE_FAN, 0, CORNERS, INSTANCES);
	glFinish();
	glDeleteBuffers(1, &buffer);
}

static bool counted(GLuint monitor, enum kind kind, unsigned int expected)
{
	struct value values[KINDS];
	int count = monitor_values(&groups, monitor, values, KINDS);
	double got = value_find(&groups, values, count, names[kind])->number;

	if (got != expected)
		printf("# %s: %.17g, expected %u\n", names[kind], got, expected);
	return got == expected;
}

static void test_frames(GLuint monitor)
{
	char name[NAME_BYTES];

	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < FRAMES; n++)
		draw_frame();
	gl.EndPerfMonitorAMD(monitor);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		snprintf(name, sizeof(name), "%s of %d frames", names[kind], FRAMES);
		report(counted(monitor, kind, FRAMES * in_frame[kind]), name);
	}

	gl.BeginPerfMonitorAMD(monitor);
	glFinish();
	gl.EndPerfMonitorAMD(monitor);
	report(counted(monitor, PIXEL_TILES, 0), "nothing is drawn, nothing is counted");
}

/* the suite runs this with tiled and with linear framebuffers */
static void test_clear(void)
{
	static const GLubyte orange[] = { 255, 128, 64, 255 };
	static GLubyte pixels[SURFACE_SIZE * SURFACE_SIZE][4];
	int wrong = 0;

	glClearColor(1, 0.5f, 0.25f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glReadPixels(0, 0, SURFACE_SIZE, SURFACE_SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (int n = 0; n < SURFACE_SIZE * SURFACE_SIZE; n++)
		wrong += memcmp(pixels[n], orange, sizeof(orange)) != 0;
	printf("# %d pixels differ, the first one is %02x%02x%02x%02x\n", wrong, pixels[0][0],
	       pixels[0][1], pixels[0][2], pixels[0][3]);
	report(!wrong, "a cleared surface reads back");
}

/* two contexts at once, each with a monitor */
static void test_contexts(const struct surface *surface, GLuint monitor)
{
	struct surface other;
	GLuint others;

	surface_new_es(&other);
	use_shaders();
	others = monitor_of(&groups, names);
	gl.BeginPerfMonitorAMD(others);
	surface_use(surface);
	gl.BeginPerfMonitorAMD(monitor);
	draw_frame();
	surface_use(&other);
	draw_frame();
	gl.EndPerfMonitorAMD(others);
	report(counted(others, PIXEL_TILES, 2 * TILES), "work of the first context is included");
	draw_frame();
	surface_use(surface);
	gl.EndPerfMonitorAMD(monitor);
	report(counted(monitor, VERTICES, 3 * in_frame[VERTICES]), "and of the second context");
	surface_free(&other);
}

/* The values of a graph of test_hud(), added up. */
static double graphed(const char *directory, enum kind kind)
{
	double total = 0, value;
	char path[NAME_BYTES];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, hud_name(kind));
	f = fopen(path, "r");
	while (f && fscanf(f, "%lf", &value) == 1)
		total += value;
	if (f)
		fclose(f);
	return total;
}

/*
 * The HUD without a window: a context that records and does not draw has a frame whenever it stops
 * being current. The HUD does not wait, so frames that draw nothing follow until it has all values.
 */
static void test_hud(void)
{
	static const enum kind graphs[] = { TRIANGLES, VERTICES, PIXELS };
	char directory[] = "/tmp/hud-XXXXXX", name[NAME_BYTES], wanted[3 * NAME_BYTES];
	struct surface surface;

	if (!mkdtemp(directory))
		exit(1);
	snprintf(wanted, sizeof(wanted), "%s,%s,%s", hud_name(TRIANGLES), hud_name(VERTICES),
		 hud_name(PIXELS));
	setenv("GALLIUM_HUD", wanted, 1);
	setenv("GALLIUM_HUD_DUMP_DIR", directory, 1);
	setenv("GALLIUM_HUD_PERIOD", "0", 1);
	setenv("GALLIUM_HUD_SHARE", "0,1", 1);
	surface_new_es(&surface);
	use_shaders();
	glFinish();
	for (int n = 0; n <= FRAMES + IDLE_FRAMES; n++) {
		if (n > FRAMES && graphed(directory, PIXELS) >= FRAMES * in_frame[PIXELS])
			break;
		surface_use(&surface);
		/* the first frame has no values */
		if (n && n <= FRAMES)
			draw_frame();
		eglMakeCurrent(surface.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	}
	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		double total = graphed(directory, graphs[i]);

		printf("# %s: %g\n", names[graphs[i]], total);
		snprintf(name, sizeof(name), "the HUD's graph of %s", names[graphs[i]]);
		report(total == FRAMES * in_frame[graphs[i]], name);
	}
	surface_free(&surface);
}

int main(int argc, char **argv)
{
	struct surface surface;
	const char *renderer;
	GLuint monitor;

	surface_new_es(&surface);
	renderer = (const char *)glGetString(GL_RENDERER);
	if (!renderer)
		renderer = "no renderer";
	printf("# %s\n", renderer);
	report(strstr(renderer, "Panfrost") != NULL, "the driver is panfrost");
	use_family(renderer, argc > 1 && !strcmp(argv[1], "--own"));
	use_shaders();
	groups_read(&groups);
	monitor = monitor_of(&groups, names);
	test_frames(monitor);
	test_contexts(&surface, monitor);
	surface_use(&surface);
	test_clear();
	report(glGetError() == GL_NO_ERROR, "no GL error");
	surface_free(&surface);
	test_hud();
	printf("1..%d\n", number);
	return failures > 0;
}
