// SPDX-License-Identifier: MIT
/* Programs that hang while v3d counts for all: v3d_watch.h. */
#include "v3d_watch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ctx.h"

#define DRIVER "drm-driver:\tv3d\n"
#define PERIOD_NS UINT64_C(200000000)
/* as the kernel numbers the first PID namespace */
#define FIRST_NAMESPACE "pid:[4026531836]"

enum {
	/* in a hundred parts of the time between two looks */
	BUSY = 70,
	/* the more false alarms there were, the more suspicious looks in a row are one */
	MOST_ALARMS = 4,
	/* fields of /proc/PID/stat behind the name: time of the program, then of the kernel */
	USER_FIELD = 12,
};

/* a program at the last look */
struct program {
	long pid;
	uint64_t ticks;
	bool has_node;
	uint64_t work; /* jobs and times of engines, which only grow */
	unsigned int suspicious, alarms;
};

struct v3d_watch {
	const struct perfctr_sys *sys;
	uint64_t ticks_per_s, look_ns, elapsed_ns;
	double idle_s; /* of all processors, at the last look */
	struct program *programs, *before;
	size_t count, capacity, before_count;
	/* of the program that is looked at */
	char folder[32];
	struct program *at;
	struct program suspect; /* pid 0: none */
};

struct v3d_watch *v3d_watch_new(const struct perfctr_sys *sys)
{
	struct v3d_watch *w = calloc(1, sizeof(*w));
	long ticks = sysconf(_SC_CLK_TCK);

	if (!w)
		return NULL;
	w->sys = sys;
	w->ticks_per_s = ticks > 0 ? (uint64_t)ticks : 100;
	return w;
}

void v3d_watch_free(struct v3d_watch *w)
{
	if (!w)
		return;
	free(w->programs);
	free(w->before);
	free(w);
}

void v3d_watch_begin(struct v3d_watch *w)
{
	w->count = 0;
	w->look_ns = 0;
}

static int ignore_name(void *arg, const char *name)
{
	return 0;
}

bool v3d_watch_allowed(const struct perfctr_sys *sys)
{
	char text[64];

	/* a kernel without namespaces has no such file */
	if (sys->readlink(sys->data, "/proc/self/ns/pid", text, sizeof(text)) > 0 &&
	    strcmp(text, FIRST_NAMESPACE) != 0)
		return false;
	return !sys->list(sys->data, "/proc/1/fdinfo", ignore_name, NULL);
}

/* --- one program ------------------------------------------------------------------ */

/* The numbers of lines such as "v3d-jobs-render: 7 jobs". */
static uint64_t sum_of(const char *text, const char *key)
{
	uint64_t sum = 0;

	for (const char *line = strstr(text, key); line; line = strstr(line + 1, key)) {
		const char *colon = strchr(line, ':');

		if (colon)
			sum += strtoull(colon + 1, NULL, 10);
	}
	return sum;
}

static int look_at_file(void *arg, const char *name)
{
	struct v3d_watch *w = arg;
	char path[128], target[PATH_BYTES], *text;

	snprintf(path, sizeof(path), "%s/fd/%.32s", w->folder, name);
	if (w->sys->readlink(w->sys->data, path, target, sizeof(target)) <= 0 ||
	    strncmp(target, "/dev/", strlen("/dev/")) != 0)
		return 0;
	/* of the primary or of the render node, by whatever name */
	snprintf(path, sizeof(path), "%s/fdinfo/%.32s", w->folder, name);
	if (perfctr_sys_read_all(w->sys, path, &text) > 0 && strstr(text, DRIVER)) {
		w->at->has_node = true;
		w->at->work += sum_of(text, "v3d-jobs-") + sum_of(text, "drm-engine-");
	}
	free(text);
	return 0;
}

/* Return: whether the file of a program that still runs was understood. */
static bool read_times(struct v3d_watch *w, struct program *p)
{
	char path[64], text[1024], *at;
	uint64_t user, kernel;

	snprintf(path, sizeof(path), "/proc/%ld/stat", p->pid);
	if (perfctr_sys_read_text(w->sys, path, text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')');
	for (int field = 0; at && field < USER_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%" SCNu64 " %" SCNu64, &user, &kernel) != 2)
		return false;
	p->ticks = user + kernel;
	return true;
}

/* Fill in @p->work. */
static void read_work(struct v3d_watch *w, struct program *p)
{
	char path[64];

	snprintf(w->folder, sizeof(w->folder), "/proc/%ld", p->pid);
	snprintf(path, sizeof(path), "%s/fd", w->folder);
	p->has_node = false;
	p->work = 0;
	w->at = p;
	w->sys->list(w->sys->data, path, look_at_file, w);
}

static const struct program *before_of(const struct v3d_watch *w, long pid)
{
	for (size_t i = 0; i < w->before_count; i++)
		if (w->before[i].pid == pid)
			return &w->before[i];
	return NULL;
}

static void judge(struct v3d_watch *w, struct program *p)
{
	const struct program *before = before_of(w, p->pid);

	/* only of those who burn time is it worth to look at all files */
	if (!before ||
	    (p->ticks - before->ticks) * 100 * NS_PER_S < BUSY * w->ticks_per_s * w->elapsed_ns)
		return;
	read_work(w, p);
	/* at the first look it is not known yet what it had done before */
	if (!p->has_node || !before->has_node || before->work != p->work)
		return;
	p->suspicious = before->suspicious + 1;
	p->alarms = before->alarms;
	if (p->suspicious <= p->alarms)
		return;
	p->suspicious = 0;
	p->alarms += p->alarms < MOST_ALARMS;
	w->suspect = *p;
}

static int look_at_process(void *arg, const char *name)
{
	struct v3d_watch *w = arg;
	struct program *p;

	if (!isdigit((unsigned char)*name))
		return 0;
	if (w->count == w->capacity) {
		size_t capacity = 2 * w->capacity + 256;
		struct program *more = realloc(w->programs, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->programs = more;
		w->capacity = capacity;
	}
	p = &w->programs[w->count];
	*p = (struct program){ .pid = strtol(name, NULL, 10) };
	if (p->pid == getpid() || !read_times(w, p))
		return 0;
	w->count++;
	judge(w, p);
	return 0;
}

/*
 * Whether the processors have worked so long since the last look that a program may have burned a
 * processor's time. A look at all programs costs a hundred times as much.
 */
static bool is_busy(struct v3d_watch *w)
{
	const double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	const double elapsed_s = (double)w->elapsed_ns / NS_PER_S, before_s = w->idle_s;
	char text[64];

	if (perfctr_sys_read_text(w->sys, "/proc/uptime", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*s %lf", &w->idle_s) != 1)
		return true;
	return (cpus * elapsed_s - (w->idle_s - before_s)) * 100 >= BUSY * elapsed_s;
}

/* --- all -------------------------------------------------------------------------- */

bool v3d_watch_look(struct v3d_watch *w, uint64_t now_ns, char *text, size_t size)
{
	char path[64], name[32] = "?";

	if (w->look_ns && now_ns - w->look_ns < PERIOD_NS)
		return false;
	w->elapsed_ns = now_ns - w->look_ns;
	w->look_ns = now_ns;
	/* what was seen of programs stays: none has burned a processor's time since */
	if (!is_busy(w) && w->count)
		return false;
	free(w->before);
	w->before = w->programs;
	w->before_count = w->count;
	w->programs = NULL;
	w->count = w->capacity = 0;
	w->suspect.pid = 0;
	w->sys->list(w->sys->data, "/proc", look_at_process, w);
	if (!w->suspect.pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/comm", w->suspect.pid);
	if (perfctr_sys_read_text(w->sys, path, name, sizeof(name)) > 0)
		perfctr_clean_text(name);
	snprintf(text, size, "%s (%ld)", name, w->suspect.pid);
	return true;
}

bool v3d_watch_works(struct v3d_watch *w)
{
	struct program now = w->suspect;

	read_work(w, &now);
	return now.work != w->suspect.work;
}
