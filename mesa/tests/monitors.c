// SPDX-License-Identifier: MIT
/* GL_AMD_performance_monitor on the virtual SoC: values against what was drawn. Prints TAP.
 * usage: monitors [--without-jobs]
 */
#include "common/monitor.h"

#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_VALUES = 4096, CANARY = 0x5a5a5a5a };

extern char **environ;

static struct surface surface;
static struct groups groups;
static struct value values[MAX_VALUES];
static int value_count;

static int test_number, failures;
static bool test_ok;

#define EXPECT(condition)                                                                  \
	do {                                                                               \
		if (!(condition)) {                                                        \
			test_ok = false;                                                   \
			printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
		}                                                                          \
	} while (0)

#define EXPECT_EQUAL(a, b)                                                                         \
	do {                                                                                       \
		unsigned long long value_a = (a), value_b = (b);                                   \
		if (value_a != value_b) {                                                          \
			test_ok = false;                                                           \
			printf("# %s:%d: %s is %llu, not %s, which is %llu\n", __FILE__, __LINE__, \
			       #a, value_a, #b, value_b);                                          \
		}                                                                                  \
	} while (0)

static void run(const char *name, void (*test)(void))
{
	test_ok = true;
	test();
	EXPECT_EQUAL(gl_error(), GL_NO_ERROR);
	printf("%sok %d - %s\n", test_ok ? "" : "not ", ++test_number, name);
	fflush(stdout);
	failures += !test_ok;
}

static void read_values(GLuint monitor)
{
	value_count = monitor_values(&groups, monitor, values, MAX_VALUES);
	EXPECT(value_count >= 0);
}

static uint64_t value(const char *name)
{
	return value_find(&groups, values, value_count, name)->u64;
}

/* --- what there is --------------------------------------------------------- */

static bool in_range(const struct value *v)
{
	switch (v->counter->type) {
	case GL_FLOAT:
	case GL_PERCENTAGE_AMD:
		return v->number >= v->counter->range.f[0] && v->number <= v->counter->range.f[1];
	case GL_UNSIGNED_INT64_AMD:
		return v->u64 >= v->counter->range.u64[0] && v->u64 <= v->counter->range.u64[1];
	default:
		return false;
	}
}

static void expect_all_in_range(void)
{
	for (int n = 0; n < value_count; n++) {
		if (in_range(&values[n]))
			continue;
		printf("# %s: %g\n", values[n].counter->name, values[n].number);
		EXPECT(in_range(&values[n]));
	}
}

static void lists_groups(void)
{
	static const char *const wanted[] = { "fw",	 "cshw",     "tiler",	"memsys",
					      "memsys0", "memsys1",  "shader",	"shader0",
					      "shader2", "shader16", "shader18" };
	int last = -1;

	for (size_t n = 0; n < sizeof(wanted) / sizeof(wanted[0]); n++) {
		const struct group *group = group_find(&groups, wanted[n]);

		EXPECT(group != NULL);
		if (!group)
			continue;
		/* ascending ids */
		EXPECT((int)group->id > last);
		last = (int)group->id;
	}
	for (int n = 0; n < groups.count; n++) {
		const struct group *group = &groups.group[n];

		EXPECT(group->count > 0);
		EXPECT_EQUAL(group->max_active, group->count);
		for (int other = 0; other < n; other++)
			EXPECT(strcmp(group->name, groups.group[other].name) != 0);
	}
}

static void has_all_types(void)
{
	unsigned int counts = 0, percentages = 0, floats = 0;

	for (int n = 0; n < groups.count; n++) {
		for (int c = 0; c < groups.group[n].count; c++) {
			GLenum type = groups.group[n].counters[c].type;

			counts += type == GL_UNSIGNED_INT64_AMD;
			percentages += type == GL_PERCENTAGE_AMD;
			floats += type == GL_FLOAT;
		}
	}
	EXPECT(counts && percentages && floats);
	EXPECT_EQUAL(counter_find(&groups, "cshw.gpu_utilization")->type, GL_PERCENTAGE_AMD);
	EXPECT_EQUAL(counter_find(&groups, "shader.FRAGMENTS")->type, GL_UNSIGNED_INT64_AMD);
}

/* Each GPU counter alone, but only one per group of a perf PMU, because opening those is slow. */
static void each_counter_alone(void)
{
	for (int n = 0; n < groups.count; n++) {
		const struct group *group = &groups.group[n];
		bool is_gpu = group->id <= group_find(&groups, "shader")->id;

		for (int c = 0; c < (is_gpu ? group->count : 1); c++) {
			GLuint monitor;

			gl.GenPerfMonitorsAMD(1, &monitor);
			monitor_add(monitor, &group->counters[c]);
			gl.BeginPerfMonitorAMD(monitor);
			draw_rectangle(8, 8);
			gl.EndPerfMonitorAMD(monitor);
			read_values(monitor);
			EXPECT_EQUAL(value_count, 1);
			expect_all_in_range();
			gl.DeletePerfMonitorsAMD(1, &monitor);
		}
	}
}

static void everything_together(void)
{
	int count = 0;
	GLuint monitor;

	gl.GenPerfMonitorsAMD(1, &monitor);
	for (int n = 0; n < groups.count; n++)
		for (int c = 0; c < groups.group[n].count; c++, count++)
			monitor_add(monitor, &groups.group[n].counters[c]);
	gl.BeginPerfMonitorAMD(monitor);
	draw_rectangle(8, 8);
	gl.EndPerfMonitorAMD(monitor);
	read_values(monitor);
	EXPECT_EQUAL(value_count, count);
	expect_all_in_range();
	EXPECT_EQUAL(value("shader.FRAGMENTS"), 64);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* --- values ---------------------------------------------------------------- */

static const char *const drawing[] = { "tiler.VERTICES",     "tiler.PRIMITIVES",
				       "shader.FRAGMENTS",   "shader0.FRAGMENTS",
				       "shader2.FRAGMENTS",  "shader16.FRAGMENTS",
				       "shader18.FRAGMENTS", NULL };

static uint64_t parts_of_fragments(void)
{
	return value("shader0.FRAGMENTS") + value("shader2.FRAGMENTS") +
	       value("shader16.FRAGMENTS") + value("shader18.FRAGMENTS");
}

static void expect_drawn(int rectangles, int width, int height)
{
	EXPECT_EQUAL(value("tiler.VERTICES"), 6ull * (unsigned int)rectangles);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), 2ull * (unsigned int)rectangles);
	EXPECT_EQUAL(value("shader.FRAGMENTS"), (unsigned int)(rectangles * width * height));
	EXPECT_EQUAL(parts_of_fragments(), value("shader.FRAGMENTS"));
}

static void counts_what_was_drawn(void)
{
	GLuint monitor = monitor_of(&groups, drawing);

	draw_rectangle(64, 64);
	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < 3; n++)
		draw_rectangle(48, 32);
	gl.EndPerfMonitorAMD(monitor);
	draw_rectangle(64, 64);
	read_values(monitor);
	expect_drawn(3, 48, 32);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* GL's own statistics of the same drawing. */
static void agrees_with_pipeline_statistics(void)
{
	static const GLenum targets[] = { GL_VERTEX_SHADER_INVOCATIONS_ARB,
					  GL_CLIPPING_INPUT_PRIMITIVES_ARB,
					  GL_FRAGMENT_SHADER_INVOCATIONS_ARB };
	GLuint monitor = monitor_of(&groups, drawing), queries[3];
	GLuint64 result[3] = { 0 };

	EXPECT(has_extension("GL_ARB_pipeline_statistics_query"));
	glGenQueries(3, queries);
	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < 3; n++)
		glBeginQuery(targets[n], queries[n]);
	for (int n = 1; n < 20; n++)
		draw_rectangle(3 * n, 64 - n);
	for (int n = 0; n < 3; n++)
		glEndQuery(targets[n]);
	gl.EndPerfMonitorAMD(monitor);
	for (int n = 0; n < 3; n++)
		glGetQueryObjectui64v(queries[n], GL_QUERY_RESULT, &result[n]);
	read_values(monitor);
	EXPECT(result[2] > 10000);
	EXPECT_EQUAL(value("tiler.VERTICES"), result[0]);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), result[1]);
	EXPECT_EQUAL(value("shader.FRAGMENTS"), result[2]);
	glDeleteQueries(3, queries);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void frames_are_added_up(void)
{
	GLuint monitor = monitor_of(&groups, drawing);

	/* more jobs than a ring has slots */
	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < 100; n++) {
		draw_rectangle(4, 4);
		glFlush();
	}
	gl.EndPerfMonitorAMD(monitor);
	read_values(monitor);
	expect_drawn(100, 4, 4);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void monitors_overlap(void)
{
	static const char *const memory[] = { "memsys.L2_READ", "shader.FRAGMENTS",
					      "tiler.PRIMITIVES", NULL };
	GLuint first = monitor_of(&groups, drawing), second = monitor_of(&groups, memory);

	gl.BeginPerfMonitorAMD(first);
	draw_rectangle(10, 10);
	gl.BeginPerfMonitorAMD(second);
	draw_rectangle(20, 20);
	gl.EndPerfMonitorAMD(first);
	draw_rectangle(30, 30);
	gl.EndPerfMonitorAMD(second);
	read_values(first);
	EXPECT_EQUAL(value("shader.FRAGMENTS"), 100 + 400);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), 4);
	read_values(second);
	EXPECT_EQUAL(value("shader.FRAGMENTS"), 400 + 900);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), 4);
	EXPECT(value("memsys.L2_READ") > 0);
	gl.DeletePerfMonitorsAMD(1, &first);
	gl.DeletePerfMonitorsAMD(1, &second);
}

static void metrics_follow_their_counters(void)
{
	static const char *const names[] = { "memsys.L2_READ",		 "memsys.L2_READ_HIT",
					     "memsys.l2_read_hit_ratio", "memsys.EXT_READ_BEATS",
					     "memsys.ext_read_bytes",	 NULL };
	GLuint monitor = monitor_of(&groups, names);
	double ratio;

	gl.BeginPerfMonitorAMD(monitor);
	draw_rectangle(64, 64);
	gl.EndPerfMonitorAMD(monitor);
	read_values(monitor);
	ratio = 100.0 * (double)value("memsys.L2_READ_HIT") / (double)value("memsys.L2_READ");
	EXPECT(value("memsys.L2_READ") > 0);
	ratio -= value_find(&groups, values, value_count, "memsys.l2_read_hit_ratio")->number;
	EXPECT(ratio > -0.001 && ratio < 0.001);
	EXPECT_EQUAL(value("memsys.ext_read_bytes"), 16 * value("memsys.EXT_READ_BEATS"));
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* --- what else goes on ------------------------------------------------------ */

static pid_t start(char *const *argv)
{
	pid_t pid = 0;

	EXPECT_EQUAL(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static uint64_t truth(const char *name)
{
	char line[256], type[32], counter[64];
	unsigned long long amount, sum = 0;
	unsigned int index, position;
	glob_t paths;
	FILE *file;

	if (glob("/sys/kernel/debug/dri/*/vsoc/truth", 0, NULL, &paths))
		return 0;
	file = fopen(paths.gl_pathv[0], "re");
	globfree(&paths);
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%31s %u %u %63s %llu", type, &index, &position, counter,
			   &amount) == 5 &&
		    !strcmp(counter, name))
			sum += amount;
	if (file)
		fclose(file);
	return sum;
}

/* Somebody else keeps the GPU busy all the time. */
static void counts_the_context_only(void)
{
	char *const other[] = { "vsoc-job", "-q",	  "-D",		  "60s",
				"draw",	    "vertices=3", "primitives=1", "fragments=1000003",
				NULL };
	GLuint monitor = monitor_of(&groups, drawing);
	uint64_t before = truth("FRAGMENTS"), all;
	pid_t pid = start(other);

	while (truth("FRAGMENTS") == before)
		usleep(1000);
	before = truth("FRAGMENTS");
	gl.BeginPerfMonitorAMD(monitor);
	for (int n = 0; n < 10; n++) {
		draw_rectangle(20, 20);
		glFlush();
	}
	gl.EndPerfMonitorAMD(monitor);
	all = truth("FRAGMENTS") - before;
	end(pid);
	read_values(monitor);
	expect_drawn(10, 20, 20);
	/* the test needs other GPU work in that time */
	EXPECT(all > 1000003);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void *draw_in_a_thread(void *data)
{
	uint64_t *result = data;
	struct surface own;
	struct groups own_groups;
	struct value own_values[8];
	GLuint monitor;
	int count;

	surface_new(&own);
	groups_read(&own_groups);
	monitor = monitor_of(&own_groups, drawing);
	for (int n = 0; n < 20; n++) {
		gl.BeginPerfMonitorAMD(monitor);
		draw_rectangle(10, 10);
		glFlush();
		draw_rectangle(10, 10);
		gl.EndPerfMonitorAMD(monitor);
		count = monitor_values(&own_groups, monitor, own_values, 8);
		if (count != 7 ||
		    value_find(&own_groups, own_values, count, "shader.FRAGMENTS")->u64 != 200)
			break;
		++*result;
	}
	groups_free(&own_groups);
	surface_free(&own);
	return NULL;
}

static void contexts_in_threads(void)
{
	pthread_t threads[3];
	uint64_t right[3] = { 0 };

	for (int n = 0; n < 3; n++)
		EXPECT_EQUAL(pthread_create(&threads[n], NULL, draw_in_a_thread, &right[n]), 0);
	for (int n = 0; n < 3; n++) {
		pthread_join(threads[n], NULL);
		EXPECT_EQUAL(right[n], 20);
	}
}

/* Only one counter set is active at a time, so Begin refuses the other set. */
static void another_counter_set_is_in_use(void)
{
	char *const other[] = { "perfctr", "stat",	"--set",     "1",   "-e", "shader/WARPS",
				"-o",	   "/dev/null", "--timeout", "60s", NULL };
	GLuint monitor = monitor_of(&groups, drawing);
	GLenum error = GL_NO_ERROR;
	pid_t pid = start(other);

	for (int n = 0; n < 2000 && error == GL_NO_ERROR; n++) {
		gl.BeginPerfMonitorAMD(monitor);
		error = gl_error();
		if (error == GL_NO_ERROR)
			gl.EndPerfMonitorAMD(monitor);
		gl.DeletePerfMonitorsAMD(1, &monitor);
		monitor = monitor_of(&groups, drawing);
		/* the other program ended because our set is in use */
		if (waitpid(pid, NULL, WNOHANG) == pid)
			pid = start(other);
		usleep(5000);
	}
	EXPECT_EQUAL(error, GL_INVALID_OPERATION);
	end(pid);
	gl.BeginPerfMonitorAMD(monitor);
	draw_rectangle(16, 16);
	gl.EndPerfMonitorAMD(monitor);
	read_values(monitor);
	expect_drawn(1, 16, 16);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* --- life ------------------------------------------------------------------ */

static void deleted_while_active(void)
{
	GLuint monitor = monitor_of(&groups, drawing);

	gl.BeginPerfMonitorAMD(monitor);
	draw_rectangle(16, 16);
	gl.DeletePerfMonitorsAMD(1, &monitor);
	EXPECT_EQUAL(gl_error(), GL_NO_ERROR);
	gl.EndPerfMonitorAMD(monitor);
	EXPECT_EQUAL(gl_error(), GL_INVALID_VALUE);
}

static void context_destroyed_while_active(void)
{
	struct surface other;
	struct groups other_groups;

	surface_new(&other);
	groups_read(&other_groups);
	gl.BeginPerfMonitorAMD(monitor_of(&other_groups, drawing));
	draw_rectangle(16, 16);
	groups_free(&other_groups);
	surface_free(&other);
	surface_use(&surface);
}

/* --- defects of Mesa's performance_monitor.c that mesa/upstream mends ---- */

static void immediate_mode_is_counted(void)
{
	GLuint monitor = monitor_of(&groups, drawing);

	/* GL queues vertices until something flushes them */
	glBegin(GL_TRIANGLES);
	for (int n = 0; n < 9; n++)
		glVertex2f(n % 3 == 1 ? 1.0f : -1.0f, n % 3 == 2 ? 1.0f : -1.0f);
	glEnd();
	gl.BeginPerfMonitorAMD(monitor);
	glBegin(GL_TRIANGLES);
	for (int n = 0; n < 6; n++)
		glVertex2f(n % 3 == 1 ? 1.0f : -1.0f, n % 3 == 2 ? 1.0f : -1.0f);
	glEnd();
	gl.EndPerfMonitorAMD(monitor);
	read_values(monitor);
	EXPECT_EQUAL(value("tiler.VERTICES"), 6);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), 2);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* GL caches bitmaps until something else is drawn. */
static void draw_bitmap(void)
{
	static const GLubyte bits[] = { 0xff, 0xff, 0xff, 0xff };

	glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
	glRasterPos2f(0, 0);
	glBitmap(8, 4, 0, 0, 0, 0, bits);
}

static void bitmaps_are_counted(void)
{
	GLuint monitor = monitor_of(&groups, drawing);

	/* the first Begin of a monitor differs from later ones */
	for (int n = 0; n < 2; n++) {
		draw_bitmap();
		gl.BeginPerfMonitorAMD(monitor);
		gl.EndPerfMonitorAMD(monitor);
		read_values(monitor);
		expect_drawn(0, 0, 0);
		gl.BeginPerfMonitorAMD(monitor);
		draw_bitmap();
		gl.EndPerfMonitorAMD(monitor);
		read_values(monitor);
		EXPECT(value("shader.FRAGMENTS") >= 8 * 4);
	}
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void data_size_is_kept(void)
{
	GLuint monitor = monitor_of(&groups, drawing), data[64];
	GLuint size;
	GLint nothing = -1;

	gl.BeginPerfMonitorAMD(monitor);
	gl.EndPerfMonitorAMD(monitor);
	size = monitor_size(monitor);
	EXPECT_EQUAL(size, 7 * (2 * sizeof(GLuint) + sizeof(uint64_t)));
	for (GLuint room = 4; room <= size; room += 4) {
		GLint written = -1;

		for (int n = 0; n < 64; n++)
			data[n] = CANARY;
		gl.GetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AMD, (GLsizei)room, data,
						&written);
		/* whole counters of 16 bytes, and no write past the end */
		EXPECT_EQUAL(written, room / 16 * 16);
		for (GLuint n = room / 16 * 4; n < 64; n++)
			if (data[n] != CANARY)
				EXPECT_EQUAL(data[n], CANARY);
	}
	data[0] = CANARY;
	gl.GetPerfMonitorCounterDataAMD(monitor, GL_PERFMON_RESULT_AMD, -1, data, &nothing);
	EXPECT_EQUAL(nothing, 0);
	EXPECT_EQUAL(data[0], CANARY);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static void selected_while_active(void)
{
	GLuint monitor, bad = 1000000;

	gl.GenPerfMonitorsAMD(1, &monitor);
	monitor_add(monitor, counter_find(&groups, "tiler.VERTICES"));
	gl.BeginPerfMonitorAMD(monitor);
	draw_rectangle(16, 16);
	monitor_add(monitor, counter_find(&groups, "shader.FRAGMENTS"));
	monitor_add(monitor, counter_find(&groups, "tiler.PRIMITIVES"));
	draw_rectangle(32, 32);
	/* refused without a change */
	gl.SelectPerfMonitorCountersAMD(monitor, GL_TRUE,
					counter_find(&groups, "shader.FRAGMENTS")->group, 1, &bad);
	EXPECT_EQUAL(gl_error(), GL_INVALID_VALUE);
	gl.EndPerfMonitorAMD(monitor);
	EXPECT_EQUAL(monitor_size(monitor), 3 * (2 * sizeof(GLuint) + sizeof(uint64_t)));
	read_values(monitor);
	EXPECT_EQUAL(value_count, 3);
	if (value_count != 3)
		return;
	/* the change restarted it */
	EXPECT_EQUAL(value("shader.FRAGMENTS"), 32 * 32);
	EXPECT_EQUAL(value("tiler.VERTICES"), 6);
	EXPECT_EQUAL(value("tiler.PRIMITIVES"), 2);
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

/* GALLIUM_PERFCTR_JOBS=0: without our jobs monitors count the whole device. */
static void counts_the_device(void)
{
	char *const other[] = { "vsoc-job",	   "-q", "draw", "vertices=31", "primitives=7",
				"fragments=12345", NULL };
	GLuint monitor = monitor_of(&groups, drawing);

	draw_rectangle(64, 64);
	for (int n = 0; n < 3; n++) {
		gl.BeginPerfMonitorAMD(monitor);
		draw_rectangle(10, 10);
		waitpid(start(other), NULL, 0);
		gl.EndPerfMonitorAMD(monitor);
		waitpid(start(other), NULL, 0);
		read_values(monitor);
		EXPECT_EQUAL(value("tiler.VERTICES"), 31);
		EXPECT_EQUAL(value("tiler.PRIMITIVES"), 7);
		EXPECT_EQUAL(value("shader.FRAGMENTS"), 12345);
		EXPECT_EQUAL(parts_of_fragments(), 12345);
	}
	gl.DeletePerfMonitorsAMD(1, &monitor);
}

static int without_jobs(void)
{
	setenv("GALLIUM_PERFCTR_JOBS", "0", 1);
	surface_new(&surface);
	groups_read(&groups);
	puts("1..1");
	run("without jobs a monitor counts the device from Begin to End", counts_the_device);
	groups_free(&groups);
	surface_free(&surface);
	return failures != 0;
}

int main(int argc, char **argv)
{
	/* Mesa's messages must not interleave with a result */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	if (argc > 1 && !strcmp(argv[1], "--without-jobs"))
		return without_jobs();
	surface_new(&surface);
	groups_read(&groups);
	puts("1..18");
	run("groups: GPU blocks added up and one by one, in order, none empty", lists_groups);
	run("counters of all types", has_all_types);
	run("every counter alone", each_counter_alone);
	run("all counters of all groups in one monitor", everything_together);
	run("counts what was drawn between Begin and End", counts_what_was_drawn);
	run("agrees with GL's pipeline statistics", agrees_with_pipeline_statistics);
	run("many frames in one monitor", frames_are_added_up);
	run("two monitors overlap", monitors_overlap);
	run("metrics follow from their counters", metrics_follow_their_counters);
	run("only the context's own work, while others use the GPU", counts_the_context_only);
	run("contexts in three threads", contexts_in_threads);
	run("Begin fails while another counter set is in use", another_counter_set_is_in_use);
	run("a monitor deleted while active", deleted_while_active);
	run("a context destroyed while a monitor is active", context_destroyed_while_active);
	run("patched: vertices of glBegin count where they were issued", immediate_mode_is_counted);
	run("patched: bitmaps count where they were issued", bitmaps_are_counted);
	run("patched: dataSize is kept", data_size_is_kept);
	run("patched: counters selected while active", selected_while_active);
	groups_free(&groups);
	surface_free(&surface);
	return failures != 0;
}
