/* SPDX-License-Identifier: MIT */
/* GL contexts without a window, and GL_AMD_performance_monitor for tests. */
#pragma once

#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdbool.h>
#include <stdint.h>

enum { SURFACE_SIZE = 64, NAME_BYTES = 128 };

/* A context and its render target: SURFACE_SIZE by SURFACE_SIZE pixels. */
struct surface {
	EGLDisplay display;
	EGLContext context;
	GLuint framebuffer, colour;
};

/* A counter of a group. */
struct counter {
	GLuint group, id;
	GLenum type;
	union {
		uint64_t u64[2];
		uint32_t u32[2];
		float f[2];
	} range;
	char name[NAME_BYTES];
};

struct group {
	GLuint id;
	GLint count, max_active;
	struct counter *counters;
	char name[NAME_BYTES];
};

/* All groups of a context. */
struct groups {
	struct group *group;
	GLint count;
};

/* The value of a counter in a result. */
struct value {
	const struct counter *counter;
	uint64_t u64;
	double number;
};

#define PERF_MONITOR_FUNCTIONS(X)                                                  \
	X(PFNGLGETPERFMONITORGROUPSAMDPROC, GetPerfMonitorGroupsAMD)               \
	X(PFNGLGETPERFMONITORCOUNTERSAMDPROC, GetPerfMonitorCountersAMD)           \
	X(PFNGLGETPERFMONITORGROUPSTRINGAMDPROC, GetPerfMonitorGroupStringAMD)     \
	X(PFNGLGETPERFMONITORCOUNTERSTRINGAMDPROC, GetPerfMonitorCounterStringAMD) \
	X(PFNGLGETPERFMONITORCOUNTERINFOAMDPROC, GetPerfMonitorCounterInfoAMD)     \
	X(PFNGLGENPERFMONITORSAMDPROC, GenPerfMonitorsAMD)                         \
	X(PFNGLDELETEPERFMONITORSAMDPROC, DeletePerfMonitorsAMD)                   \
	X(PFNGLSELECTPERFMONITORCOUNTERSAMDPROC, SelectPerfMonitorCountersAMD)     \
	X(PFNGLBEGINPERFMONITORAMDPROC, BeginPerfMonitorAMD)                       \
	X(PFNGLENDPERFMONITORAMDPROC, EndPerfMonitorAMD)                           \
	X(PFNGLGETPERFMONITORCOUNTERDATAAMDPROC, GetPerfMonitorCounterDataAMD)

/* gl.BeginPerfMonitorAMD() and so on, after gl_load() or surface_new() */
struct perf_monitor_functions {
#define X(type, name) type name;
	PERF_MONITOR_FUNCTIONS(X)
#undef X
};

extern struct perf_monitor_functions gl;
void gl_load(void);

/* Create a context of OpenGL and make it current; exits if there is no GL. */
void surface_new(struct surface *surface);
/* The same, of OpenGL ES 3. */
void surface_new_es(struct surface *surface);
void surface_use(const struct surface *surface);
/* Destroys the context in any state. */
void surface_free(struct surface *surface);

bool has_extension(const char *name);
/* The first GL error since the last call. */
GLenum gl_error(void);

/* Read all groups of the current context; exits if there are none. */
void groups_read(struct groups *groups);
void groups_free(struct groups *groups);
const struct group *group_find(const struct groups *groups, const char *name);
/* Find a counter by the HUD's name, "shader.FRAGMENTS"; exits if there is none. */
const struct counter *counter_find(const struct groups *groups, const char *name);

/* Add a counter to a monitor. */
void monitor_add(GLuint monitor, const struct counter *counter);
/* Create a monitor of counters by the HUD's names, the last one NULL. */
GLuint monitor_of(const struct groups *groups, const char *const *names);
GLuint monitor_size(GLuint monitor);
/*
 * Wait for the result and parse it. Returns the number of values, in any order, or -1 if there is
 * no result or it is malformed.
 */
int monitor_values(const struct groups *groups, GLuint monitor, struct value *values, int max);
/* Find a value by the HUD's name; exits if there is none. */
const struct value *value_find(const struct groups *groups, const struct value *values, int count,
			       const char *name);
/* Number of bytes of a counter's value in a result. */
unsigned int value_bytes(GLenum type);

/* Two triangles that cover @width by @height pixels without overlap. */
void draw_rectangle(int width, int height);

/* The animated scene of the tests: a rotating, pulsating ring of lit blocks. */

/* Set GL's state for it. */
void ring_set_up(void);

/* Draw a frame of up to @most_blocks blocks. The result depends on the arguments only. */
void ring_draw(int most_blocks, double width_by_height, int frame);
