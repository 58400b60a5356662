// SPDX-License-Identifier: MIT
/*
 * An animated scene in a window: a rotating, pulsating ring of lit blocks. A frame depends on its
 * number only.
 * usage: scene [-s WxH] [-n FRAMES] [-b BLOCKS] [-x COMMAND] [-c] [-m] [-d] [-r TIMES]
 *  -s  size of the window in pixels, default 200x200
 *  -n  frames to draw, default 100
 *  -b  blocks of the ring at most, default 24
 *  -x  after each frame, run this in a shell with the frame's number in $FRAME
 *  -c  print "frame vertices primitives fragments" of each frame, from GL's pipeline statistics
 *  -m  in each frame two monitors of GL_AMD_performance_monitor, and print their counts: the first
 *	counts fragments; the second begins and ends after it and counts primitives
 *  -d  in each frame also three points, by one glMultiDrawArrays()
 *  -r  repeat everything TIMES times with a new display each: the driver is unloaded in between
 */
#include "common/monitor.h"

#include <X11/Xlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATISTICS = 3 };

struct options {
	int width, height, frames, blocks, times;
	const char *command;
	bool statistics, monitors, points;
};

static const GLenum targets[STATISTICS] = { GL_VERTEX_SHADER_INVOCATIONS_ARB,
					    GL_CLIPPING_INPUT_PRIMITIVES_ARB,
					    GL_FRAGMENT_SHADER_INVOCATIONS_ARB };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "scene: %s\n", what);
	exit(1);
}

/* --- window ---------------------------------------------------------------- */

struct window {
	Display *x;
	EGLDisplay display;
	EGLSurface surface;
};

static struct window open_window(int width, int height)
{
	static const EGLint wanted[] = { EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_DEPTH_SIZE, 16,
					 EGL_NONE };
	struct window opened = { .x = XOpenDisplay(NULL) };
	Display *x = opened.x;
	EGLContext context;
	EGLConfig config;
	EGLint count = 0;
	Window window;

	if (!x)
		die("no X display");
	window = XCreateSimpleWindow(x, DefaultRootWindow(x), 0, 0, (unsigned int)width,
				     (unsigned int)height, 0, 0, 0);
	XMapWindow(x, window);
	XSync(x, False);
	opened.display = eglGetDisplay((EGLNativeDisplayType)x);
	if (!eglInitialize(opened.display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
	    !eglChooseConfig(opened.display, wanted, &config, 1, &count) || !count)
		die("no EGL display for OpenGL");
	opened.surface =
		eglCreateWindowSurface(opened.display, config, (EGLNativeWindowType)window, NULL);
	context = eglCreateContext(opened.display, config, EGL_NO_CONTEXT, NULL);
	if (opened.surface == EGL_NO_SURFACE || context == EGL_NO_CONTEXT ||
	    !eglMakeCurrent(opened.display, opened.surface, opened.surface, context))
		die("no OpenGL context");
	return opened;
}

static void close_window(const struct window *window)
{
	EGLContext context = eglGetCurrentContext();

	eglMakeCurrent(window->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglDestroyContext(window->display, context);
	eglDestroySurface(window->display, window->surface);
	eglTerminate(window->display);
	eglReleaseThread();
	XCloseDisplay(window->x);
}

static double aspect(const struct options *options)
{
	return (double)options->width / options->height;
}

static void draw_counted(const struct options *options, int frame, const GLuint *queries)
{
	GLuint64 amount;

	for (int n = 0; n < STATISTICS; n++)
		glBeginQuery(targets[n], queries[n]);
	ring_draw(options->blocks, aspect(options), frame);
	for (int n = 0; n < STATISTICS; n++)
		glEndQuery(targets[n]);
	printf("%d", frame);
	for (int n = 0; n < STATISTICS; n++) {
		glGetQueryObjectui64v(queries[n], GL_QUERY_RESULT, &amount);
		printf(" %llu", (unsigned long long)amount);
	}
	putchar('\n');
}

static uint64_t only_value(const struct groups *groups, GLuint monitor)
{
	struct value value;

	if (monitor_values(groups, monitor, &value, 1) != 1)
		die("a monitor has no result");
	return value.u64;
}

static void draw_monitored(const struct options *options, int frame, const struct groups *groups,
			   const GLuint *monitors)
{
	gl.BeginPerfMonitorAMD(monitors[0]);
	gl.BeginPerfMonitorAMD(monitors[1]);
	ring_draw(options->blocks, aspect(options), frame);
	gl.EndPerfMonitorAMD(monitors[0]);
	gl.EndPerfMonitorAMD(monitors[1]);
	printf("%d %llu %llu\n", frame, (unsigned long long)only_value(groups, monitors[0]),
	       (unsigned long long)only_value(groups, monitors[1]));
}

/* A driver may divide this into three draws. */
static void draw_points(void)
{
	static const float points[] = { 0, 0, 0.1f, 0, 0, 0.1f };
	static const GLint first[] = { 0, 1, 2 };
	static const GLsizei count[] = { 1, 1, 1 };

	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, points);
	glMultiDrawArrays(GL_POINTS, first, count, 3);
	glDisableClientState(GL_VERTEX_ARRAY);
}

/* Run the command that checks the frame that just ended. */
static void run_command(const struct options *options, int frame)
{
	char number[16];

	if (!options->command)
		return;
	snprintf(number, sizeof(number), "%d", frame);
	if (setenv("FRAME", number, 1) || system(options->command))
		die("the command of -x failed");
}

static struct options read_options(int argc, char **argv)
{
	struct options options = {
		.width = 200, .height = 200, .frames = 100, .blocks = 24, .times = 1
	};
	int option;

	while ((option = getopt(argc, argv, "s:n:b:x:cmdr:")) != -1) {
		switch (option) {
		case 's':
			if (sscanf(optarg, "%dx%d", &options.width, &options.height) != 2)
				die("-s takes a size like 640x480");
			break;
		case 'n':
			options.frames = atoi(optarg);
			break;
		case 'b':
			options.blocks = atoi(optarg);
			break;
		case 'x':
			options.command = optarg;
			break;
		case 'c':
			options.statistics = true;
			break;
		case 'm':
			options.monitors = true;
			break;
		case 'd':
			options.points = true;
			break;
		case 'r':
			options.times = atoi(optarg);
			break;
		default:
			fputs("usage: scene [-s WxH] [-n FRAMES] [-b BLOCKS] [-x COMMAND] [-c] "
			      "[-m] [-d] [-r TIMES]\n",
			      stderr);
			exit(2);
		}
	}
	if (options.width < 1 || options.height < 1 || options.frames < 1 || options.blocks < 1 ||
	    options.times < 1)
		die("numbers are 1 and above");
	return options;
}

static void show(const struct options *options)
{
	static const char *const counters[2][2] = { { "shader.FRAGMENTS" },
						    { "tiler.PRIMITIVES" } };
	GLuint queries[STATISTICS], monitors[2];
	struct groups groups = { 0 };
	struct window window = open_window(options->width, options->height);

	glViewport(0, 0, options->width, options->height);
	ring_set_up();
	glGenQueries(STATISTICS, queries);
	gl_load();
	if (options->monitors) {
		groups_read(&groups);
		for (int n = 0; n < 2; n++)
			monitors[n] = monitor_of(&groups, counters[n]);
	}
	for (int frame = 0; frame < options->frames; frame++) {
		if (options->statistics)
			draw_counted(options, frame, queries);
		else if (options->monitors)
			draw_monitored(options, frame, &groups, monitors);
		else
			ring_draw(options->blocks, aspect(options), frame);
		if (options->points)
			draw_points();
		eglSwapBuffers(window.display, window.surface);
		run_command(options, frame);
	}
	groups_free(&groups);
	glFinish();
	close_window(&window);
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	/* a server that lost its last client restarts and refuses connections meanwhile */
	Display *x = XOpenDisplay(NULL);

	if (!x)
		die("no X display");
	for (int n = 0; n < options.times; n++)
		show(&options);
	XCloseDisplay(x);
	return 0;
}
