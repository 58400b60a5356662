// SPDX-License-Identifier: MIT
#include "monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* polls of one result: a driver needs only a few flushes */
enum { RESULT_POLLS = 1000 };

struct perf_monitor_functions gl;

static _Noreturn void die(const char *what, const char *name)
{
	printf("Bail out! %s %s\n", what, name);
	exit(1);
}

void gl_load(void)
{
#define X(type, name) gl.name = (type)eglGetProcAddress("gl" #name);
	PERF_MONITOR_FUNCTIONS(X)
#undef X
}

void surface_use(const struct surface *surface)
{
	if (!eglMakeCurrent(surface->display, EGL_NO_SURFACE, EGL_NO_SURFACE, surface->context))
		die("eglMakeCurrent", "failed");
	glBindFramebuffer(GL_FRAMEBUFFER, surface->framebuffer);
}

static void create(struct surface *surface, EGLenum api, EGLint type, const EGLint *attributes)
{
	const EGLint wanted[] = { EGL_RENDERABLE_TYPE, type, EGL_SURFACE_TYPE, 0, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get_display =
		(PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLConfig config;
	EGLint count = 0;

	memset(surface, 0, sizeof(*surface));
	if (!get_display)
		die("no", "eglGetPlatformDisplayEXT");
	surface->display = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
	if (!eglInitialize(surface->display, NULL, NULL) || !eglBindAPI(api) ||
	    !eglChooseConfig(surface->display, wanted, &config, 1, &count) || !count)
		die("no EGL display for", "OpenGL");
	surface->context = eglCreateContext(surface->display, config, EGL_NO_CONTEXT, attributes);
	if (surface->context == EGL_NO_CONTEXT)
		die("no context of", "OpenGL");
	surface_use(surface);
	glGenFramebuffers(1, &surface->framebuffer);
	glGenRenderbuffers(1, &surface->colour);
	glBindFramebuffer(GL_FRAMEBUFFER, surface->framebuffer);
	glBindRenderbuffer(GL_RENDERBUFFER, surface->colour);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, SURFACE_SIZE, SURFACE_SIZE);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
				  surface->colour);
	if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
		die("the framebuffer is not", "complete");
	glViewport(0, 0, SURFACE_SIZE, SURFACE_SIZE);
	glClear(GL_COLOR_BUFFER_BIT);
	gl_load();
}

void surface_new(struct surface *surface)
{
	create(surface, EGL_OPENGL_API, EGL_OPENGL_BIT, NULL);
}

void surface_new_es(struct surface *surface)
{
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };

	create(surface, EGL_OPENGL_ES_API, EGL_OPENGL_ES3_BIT, version);
}

void surface_free(struct surface *surface)
{
	eglMakeCurrent(surface->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglDestroyContext(surface->display, surface->context);
	memset(surface, 0, sizeof(*surface));
}

bool has_extension(const char *name)
{
	const char *all = (const char *)glGetString(GL_EXTENSIONS);
	size_t length = strlen(name);

	for (; all && (all = strstr(all, name)); all += length)
		if (all[length] == ' ' || !all[length])
			return true;
	return false;
}

GLenum gl_error(void)
{
	GLenum first = glGetError();

	while (first != GL_NO_ERROR && glGetError() != GL_NO_ERROR)
		;
	return first;
}

/* --- groups ---------------------------------------------------------------- */

static void group_read(struct group *group)
{
	GLuint *ids;

	gl.GetPerfMonitorGroupStringAMD(group->id, NAME_BYTES, NULL, group->name);
	gl.GetPerfMonitorCountersAMD(group->id, &group->count, &group->max_active, 0, NULL);
	group->counters = calloc((size_t)group->count + 1, sizeof(*group->counters));
	ids = calloc((size_t)group->count + 1, sizeof(*ids));
	if (!group->counters || !ids)
		die("out of", "memory");
	gl.GetPerfMonitorCountersAMD(group->id, NULL, NULL, group->count, ids);
	for (int n = 0; n < group->count; n++) {
		struct counter *counter = &group->counters[n];

		counter->group = group->id;
		counter->id = ids[n];
		gl.GetPerfMonitorCounterStringAMD(group->id, ids[n], NAME_BYTES, NULL,
						  counter->name);
		gl.GetPerfMonitorCounterInfoAMD(group->id, ids[n], GL_COUNTER_TYPE_AMD,
						&counter->type);
		gl.GetPerfMonitorCounterInfoAMD(group->id, ids[n], GL_COUNTER_RANGE_AMD,
						&counter->range);
	}
	free(ids);
}

void groups_read(struct groups *groups)
{
	GLuint *ids;

	if (!has_extension("GL_AMD_performance_monitor"))
		die("no", "GL_AMD_performance_monitor");
	gl.GetPerfMonitorGroupsAMD(&groups->count, 0, NULL);
	groups->group = calloc((size_t)groups->count + 1, sizeof(*groups->group));
	ids = calloc((size_t)groups->count + 1, sizeof(*ids));
	if (!groups->group || !ids)
		die("out of", "memory");
	gl.GetPerfMonitorGroupsAMD(NULL, groups->count, ids);
	for (int n = 0; n < groups->count; n++) {
		groups->group[n].id = ids[n];
		group_read(&groups->group[n]);
	}
	free(ids);
}

void groups_free(struct groups *groups)
{
	for (int n = 0; n < groups->count; n++)
		free(groups->group[n].counters);
	free(groups->group);
	memset(groups, 0, sizeof(*groups));
}

const struct group *group_find(const struct groups *groups, const char *name)
{
	for (int n = 0; n < groups->count; n++)
		if (!strcmp(groups->group[n].name, name))
			return &groups->group[n];
	return NULL;
}

const struct counter *counter_find(const struct groups *groups, const char *name)
{
	for (int n = 0; n < groups->count; n++) {
		const struct group *group = &groups->group[n];
		size_t length = strlen(group->name);

		if (strncmp(name, group->name, length) != 0 || name[length] != '.')
			continue;
		for (int c = 0; c < group->count; c++)
			if (!strcmp(group->counters[c].name, name + length + 1))
				return &group->counters[c];
	}
	die("no counter", name);
}

/* --- monitors -------------------------------------------------------------- */

void monitor_add(GLuint monitor, const struct counter *counter)
{
	GLuint id = counter->id;

	gl.SelectPerfMonitorCountersAMD(monitor, GL_TRUE, counter->group, 1, &id);
}

GLuint monitor_of(const struct groups *groups, const char *const *names)
{
	GLuint monitor = 0;

	gl.GenPerfMonitorsAMD(1, &monitor);
	for (; *names; names++)
		monitor_add(monitor, counter_find(groups, *names));
	return monitor;
}

static GLuint query(GLuint monitor, GLenum what)
{
	GLuint result = 0;

	gl.GetPerfMonitorCounterDataAMD(monitor, what, sizeof(result), &result, NULL);
	return result;
}

static bool wait_for_result(GLuint monitor)
{
	for (int n = 0; n < RESULT_POLLS; n++)
		if (query(monitor, GL_PERFMON_RESULT_AVAILABLE_AMD))
			return true;
	return false;
}

GLuint monitor_size(GLuint monitor)
{
	return wait_for_result(monitor) ? query(monitor, GL_PERFMON_RESULT_SIZE_AMD) : 0;
}

unsigned int value_bytes(GLenum type)
{
	return type == GL_UNSIGNED_INT64_AMD ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Parse the entry at @data; returns its words, 0 if it is invalid. */
static unsigned int parse(const struct groups *groups, const GLuint *data, unsigned int words,
			  struct value *value)
{
	const struct group *group;
	unsigned int used;
	float number;

	if (words < 3 || data[0] >= (GLuint)groups->count)
		return 0;
	group = &groups->group[data[0]];
	if (data[1] >= (GLuint)group->count)
		return 0;
	value->counter = &group->counters[data[1]];
	used = 2 + value_bytes(value->counter->type) / sizeof(GLuint);
	if (used > words)
		return 0;
	value->u64 = 0;
	memcpy(&value->u64, &data[2], value_bytes(value->counter->type));
	memcpy(&number, &data[2], sizeof(number));
	value->number = value->counter->type == GL_FLOAT ||
					value->counter->type == GL_PERCENTAGE_AMD ?
				number :
				(double)value->u64;
	return used;
}

int monitor_values(const struct groups *groups, GLuint monitor, struct value *values, int max)
{
	GLuint bytes = monitor_size(monitor), *data;
	unsigned int words = bytes / sizeof(*data), at = 0, used;
	GLint written = 0;
	int count = 0;

	if (!bytes)
		return -1;
	data = calloc(1, bytes);
	if (!data)
		die("out of", "memory");
	gl.GetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AMD, (GLsizei)bytes, data,
					&written);
	if ((GLuint)written != bytes)
		count = -1;
	while (count >= 0 && at < words) {
		used = count < max ? parse(groups, data + at, words - at, &values[count]) : 0;
		at += used;
		count = used ? count + 1 : -1;
	}
	free(data);
	return count;
}

const struct value *value_find(const struct groups *groups, const struct value *values, int count,
			       const char *name)
{
	const struct counter *counter = counter_find(groups, name);

	for (int n = 0; n < count; n++)
		if (values[n].counter == counter)
			return &values[n];
	die("no value of", name);
}

/* --- drawing --------------------------------------------------------------- */

void draw_rectangle(int width, int height)
{
	float right = 2.0f * (float)width / SURFACE_SIZE - 1;
	float top = 2.0f * (float)height / SURFACE_SIZE - 1;
	const float corners[] = { -1, -1, right, -1, right, top, -1, -1, right, top, -1, top };

	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, corners);
	glDrawArrays(GL_TRIANGLES, 0, 6);
	glDisableClientState(GL_VERTEX_ARRAY);
}
