// SPDX-License-Identifier: MIT
/*
 * Work for a GPU: triangles that cover a square, by OpenGL ES without a window (EGL's surfaceless
 * platform). EGL is loaded when it is needed, so that nobody else has to install it.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "load.h"

/* of Khronos' registries of EGL and OpenGL ES */
enum {
	EGL_NONE = 0x3038,
	EGL_SURFACE_TYPE = 0x3033,
	EGL_RENDERABLE_TYPE = 0x3040,
	EGL_OPENGL_ES2_BIT = 0x0004,
	EGL_CONTEXT_MAJOR_VERSION = 0x3098,
	EGL_OPENGL_ES_API = 0x30a0,
	EGL_PLATFORM_SURFACELESS_MESA = 0x31dd,
	GL_TRIANGLES = 0x0004,
	GL_TEXTURE_2D = 0x0de1,
	GL_UNSIGNED_BYTE = 0x1401,
	GL_FLOAT = 0x1406,
	GL_RGBA = 0x1908,
	GL_FRAGMENT_SHADER = 0x8b30,
	GL_VERTEX_SHADER = 0x8b31,
	GL_LINK_STATUS = 0x8b82,
	GL_FRAMEBUFFER_COMPLETE = 0x8cd5,
	GL_COLOR_ATTACHMENT0 = 0x8ce0,
	GL_FRAMEBUFFER = 0x8d40,
	GL_RENDERER = 0x1f01,
};

/* result, name, arguments; displays, configurations and contexts are pointers */
#define FUNCTIONS(X)                                                                             \
	X(void *, eglGetPlatformDisplay, unsigned int, void *, const intptr_t *)                 \
	X(unsigned int, eglInitialize, void *, int *, int *)                                     \
	X(unsigned int, eglBindAPI, unsigned int)                                                \
	X(unsigned int, eglChooseConfig, void *, const int *, void **, int, int *)               \
	X(void *, eglCreateContext, void *, void *, void *, const int *)                         \
	X(unsigned int, eglMakeCurrent, void *, void *, void *, void *)                          \
	X(unsigned int, glCreateShader, unsigned int)                                            \
	X(void, glShaderSource, unsigned int, int, const char *const *, const int *)             \
	X(void, glCompileShader, unsigned int)                                                   \
	X(unsigned int, glCreateProgram, void)                                                   \
	X(void, glAttachShader, unsigned int, unsigned int)                                      \
	X(void, glLinkProgram, unsigned int)                                                     \
	X(void, glGetProgramiv, unsigned int, unsigned int, int *)                               \
	X(void, glUseProgram, unsigned int)                                                      \
	X(void, glGenTextures, int, unsigned int *)                                              \
	X(void, glBindTexture, unsigned int, unsigned int)                                       \
	X(void, glTexImage2D, unsigned int, int, int, int, int, int, unsigned int, unsigned int, \
	  const void *)                                                                          \
	X(void, glGenFramebuffers, int, unsigned int *)                                          \
	X(void, glBindFramebuffer, unsigned int, unsigned int)                                   \
	X(void, glFramebufferTexture2D, unsigned int, unsigned int, unsigned int, unsigned int,  \
	  int)                                                                                   \
	X(unsigned int, glCheckFramebufferStatus, unsigned int)                                  \
	X(void, glViewport, int, int, int, int)                                                  \
	X(void, glVertexAttribPointer, unsigned int, int, unsigned int, unsigned char, int,      \
	  const void *)                                                                          \
	X(void, glEnableVertexAttribArray, unsigned int)                                         \
	X(void, glDrawArrays, unsigned int, int, int)                                            \
	X(void, glFinish, void)                                                                  \
	X(const unsigned char *, glGetString, unsigned int)                                      \
	X(unsigned int, glGetError, void)

#define MEMBER(result, name, ...) result (*name)(__VA_ARGS__);

static struct {
	FUNCTIONS(MEMBER)
} gl;

enum { SIDE = 1024, FINISH = 8 /* triangles between two waits for the GPU */ };

static int find_functions(struct load *load)
{
	typedef void (*(*get_proc)(const char *name))(void);
	void *egl = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
	get_proc get;

	if (!egl) {
		load->error = "libEGL.so.1 is not installed: on Debian, apt install libegl1";
		return -1;
	}
	*(void **)&get = dlsym(egl, "eglGetProcAddress");
#define FIND(result, name, ...)                                                 \
	gl.name = get ? (result(*)(__VA_ARGS__))get(#name) : NULL;              \
	if (!gl.name) {                                                         \
		load->error = "libEGL.so.1 lacks " #name ": EGL 1.5 is needed"; \
		return -1;                                                      \
	}
	FUNCTIONS(FIND)
	return 0;
}

static int begin_context(struct load *load)
{
	static const int config_wish[] = { EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE,
					   EGL_OPENGL_ES2_BIT, EGL_NONE };
	static const int context_wish[] = { EGL_CONTEXT_MAJOR_VERSION, 2, EGL_NONE };
	void *display = gl.eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	void *config = NULL, *context;
	const char *renderer;
	int count = 0;

	load->error = "no GPU with OpenGL ES 2 without a window (EGL_MESA_platform_surfaceless)";
	if (!display || !gl.eglInitialize(display, NULL, NULL) ||
	    !gl.eglBindAPI(EGL_OPENGL_ES_API) ||
	    !gl.eglChooseConfig(display, config_wish, &config, 1, &count) || !count)
		return -1;
	context = gl.eglCreateContext(display, config, NULL, context_wish);
	if (!context || !gl.eglMakeCurrent(display, NULL, NULL, context))
		return -1;
	renderer = (const char *)gl.glGetString(GL_RENDERER);
	load->error = "no GPU: OpenGL ES is rendered by the CPU; /dev/dri/renderD* may be missing, "
		      "or not for this user";
	if (!renderer || strstr(renderer, "llvmpipe") || strstr(renderer, "softpipe") ||
	    strstr(renderer, "SwiftShader"))
		return -1;
	load->error = NULL;
	return 0;
}

static void add_shader(unsigned int program, unsigned int type, const char *source)
{
	const unsigned int shader = gl.glCreateShader(type);

	gl.glShaderSource(shader, 1, &source, NULL);
	gl.glCompileShader(shader);
	gl.glAttachShader(program, shader);
}

static int begin_gpu(struct load *load)
{
	/* one triangle that covers all */
	static const float corners[] = { -1, -1, 3, -1, -1, 3 };
	unsigned int program, texture, frame;
	int linked = 0;

	if (find_functions(load) || begin_context(load))
		return -1;
	program = gl.glCreateProgram();
	add_shader(program, GL_VERTEX_SHADER,
		   "attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }");
	add_shader(program, GL_FRAGMENT_SHADER,
		   "precision mediump float;\n"
		   "void main() {\n"
		   "	vec2 x = gl_FragCoord.xy / 1024.0;\n"
		   "	for (int n = 0; n < 32; n++)\n"
		   "		x = fract(x * 1.7 + x.yx * 0.3);\n"
		   "	gl_FragColor = vec4(x, 0.0, 1.0);\n"
		   "}");
	gl.glLinkProgram(program);
	gl.glGetProgramiv(program, GL_LINK_STATUS, &linked);
	gl.glGenTextures(1, &texture);
	gl.glBindTexture(GL_TEXTURE_2D, texture);
	gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	gl.glGenFramebuffers(1, &frame);
	gl.glBindFramebuffer(GL_FRAMEBUFFER, frame);
	gl.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	gl.glViewport(0, 0, SIDE, SIDE);
	gl.glUseProgram(program);
	gl.glVertexAttribPointer(0, 2, GL_FLOAT, 0, 0, corners);
	gl.glEnableVertexAttribArray(0);
	load->error = "the driver refuses the shaders or the picture";
	return linked && gl.glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE &&
			       !gl.glGetError() ?
		       0 :
		       -1;
}

static void work_gpu(struct load *load, uint64_t units)
{
	while (units) {
		for (int n = 0; n < FINISH && units; n++, units--)
			gl.glDrawArrays(GL_TRIANGLES, 0, 3);
		gl.glFinish();
	}
}

const struct load_kind load_gpu = { .name = "gpu",
				    .unit = "triangles",
				    .least = 1,
				    .begin = begin_gpu,
				    .work = work_gpu };
