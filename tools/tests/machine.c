// SPDX-License-Identifier: MIT
/*
 * A made-up machine for tests of the tools: a library for LD_PRELOAD, see machine.py.
 *
 * Files below /proc, /sys, /dev/dri and /dev/accel are those below $MACHINE_ROOT. Files of
 * /proc/self that the root does not have are real, and so is the /proc folder of each process that
 * it does not have.
 *
 * perf_event_open() follows the table in $MACHINE_ROOT/perf.txt. Its first line that matches an
 * event decides:
 *
 *	TYPE CONFIG[/CONFIG1[/CONFIG2]] CPU err ERRNO
 *	TYPE CONFIG[/CONFIG1[/CONFIG2]] CPU rate PER_SECOND [PART [AWAKE_S]]
 *	TYPE CONFIG[/CONFIG1[/CONFIG2]] CPU level VALUE...
 *
 * "*" for CONFIG or CPU matches all; CPU is -1 for an event of a task on any CPU. Without a line
 * the event does not exist (ENOENT). A rate counts in time enabled; with PART it is on a PMU's
 * counter in that part of the time only, so perf's time running is shorter than its time enabled.
 * With AWAKE_S its times stand still after so many seconds, as those of a task that sleeps.
 * A level has one value after the other, each for 0.1 s, and keeps the last one. Values are whole
 * numbers in decimal, PER_SECOND and PART may have a fraction.
 *
 * $MACHINE_ROOT/perf.log gets a line for each call, for example
 *
 *	type 4 config 0x3c config1 0 config2 0 pid -1 cpu 2 group -1 excludes kh -> 7
 *
 * with the letters of exclude_user (u), _kernel (k), _hv (h), _guest (G), _host (H), "-" for none,
 * and the file descriptor or the negative errno.
 *
 * The events' files are not safe against use by several threads at once; libperfctr serialises it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define REAL(name) ((__typeof__(&name))real(#name))

enum {
	PATH_BYTES = 4096,
	LINE_BYTES = 512,
	MAX_FILES = 1 << 20, /* fs.nr_open */
	MAX_LEVELS = 16,
	MAX_GROUP = 64,
	LEVEL_NS = 100000000,
};

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr, "machine: the C library has no %s\n", name);
		abort();
	}
	return function;
}

/* --- files -------------------------------------------------------------------------- */

static const char *root(void)
{
	const char *path = getenv("MACHINE_ROOT");

	if (!path) {
		fputs("machine: MACHINE_ROOT is not set\n", stderr);
		abort();
	}
	return path;
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

/* The path below the root, in @buffer, or the path itself. */
static const char *locate(const char *path, char *buffer)
{
	static const char *const ours[] = { "/proc", "/sys", "/dev/dri", "/dev/accel" };
	bool is_ours = false;

	for (size_t n = 0; n < ARRAY_SIZE(ours); n++)
		is_ours |= is_below(path, ours[n]);
	if (!is_ours || is_below(path, "/proc/thread-self"))
		return path;
	if (is_below(path, "/proc/self")) {
		snprintf(buffer, PATH_BYTES, "%s%s", root(), path);
		return REAL(access)(buffer, F_OK) ? path : buffer;
	}
	if (!strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9') {
		snprintf(buffer, PATH_BYTES, "%s/proc/%.*s", root(), (int)strcspn(path + 6, "/"),
			 path + 6);
		if (REAL(access)(buffer, F_OK))
			return path;
	}
	snprintf(buffer, PATH_BYTES, "%s%s", root(), path);
	return buffer;
}

static int mode_of(int flags, va_list arguments)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, int) : 0;
}

#define OPEN(name)                                                    \
	int name(const char *path, int flags, ...)                    \
	{                                                             \
		char buffer[PATH_BYTES];                              \
		va_list arguments;                                    \
		int mode;                                             \
                                                                      \
		va_start(arguments, flags);                           \
		mode = mode_of(flags, arguments);                     \
		va_end(arguments);                                    \
		return REAL(name)(locate(path, buffer), flags, mode); \
	}

/* a function whose first argument is the path */
#define OF_PATH(type, name, parameters, ...)                            \
	type name parameters                                            \
	{                                                               \
		char buffer[PATH_BYTES];                                \
                                                                        \
		return REAL(name)(locate(path, buffer), ##__VA_ARGS__); \
	}

typedef int (*filter)(const struct dirent *);
typedef int (*filter64)(const struct dirent64 *);
typedef int (*order)(const struct dirent **, const struct dirent **);
typedef int (*order64)(const struct dirent64 **, const struct dirent64 **);

OPEN(open)
OPEN(open64)

/* what these are with _FORTIFY_SOURCE, as in a package */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open64(path, flags);
}

OF_PATH(int, access, (const char *path, int mode), mode)
OF_PATH(int, stat, (const char *path, struct stat *status), status)
OF_PATH(int, stat64, (const char *path, struct stat64 *status), status)
OF_PATH(int, lstat, (const char *path, struct stat *status), status)
OF_PATH(int, lstat64, (const char *path, struct stat64 *status), status)
OF_PATH(ssize_t, readlink, (const char *path, char *text, size_t size), text, size)
/* cppcheck-suppress CastIntegerToAddressAtReturn */
OF_PATH(DIR *, opendir, (const char *path))
OF_PATH(FILE *, fopen, (const char *path, const char *mode), mode)
OF_PATH(FILE *, fopen64, (const char *path, const char *mode), mode)
OF_PATH(int, scandir, (const char *path, struct dirent ***list, filter f, order o), list, f, o)
OF_PATH(int, scandir64, (const char *path, struct dirent64 ***list, filter64 f, order64 o), list, f,
	o)

/* --- perf events -------------------------------------------------------------------- */

struct made_event {
	struct perf_event_attr attr;
	uint64_t id;
	struct made_event *leader; /* itself if it leads */
	struct made_event *next, *last; /* of the group; the leader knows the last one */
	size_t member_count;
	double rate, part, awake_s; /* awake_s: 0: it never sleeps */
	long long *levels; /* room for MAX_LEVELS, NULL: none */
	size_t level_count;
	bool on;
	uint64_t on_ns, enabled_ns; /* the last time it was enabled; the time until then */
};

static struct made_event *events[MAX_FILES];

static struct made_event *event_of(int fd)
{
	return fd >= 0 && fd < MAX_FILES ? events[fd] : NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool matches(const char *configs, const char *place, const struct perf_event_attr *attr,
		    int cpu)
{
	unsigned long long config[3] = { 0 };

	if (strcmp(place, "*") && atoi(place) != cpu)
		return false;
	for (size_t n = 0; n < ARRAY_SIZE(config) && *configs && *configs != '*'; n++) {
		config[n] = strtoull(configs, (char **)&configs, 0);
		configs += *configs == '/';
	}
	return *configs == '*' || (attr->config == config[0] && attr->config1 == config[1] &&
				   attr->config2 == config[2]);
}

/* Set what an event counts by the end of its line. Return: 0 or the errno of the line. */
static int read_mode(const char *mode, char *rest, struct made_event *event)
{
	char *end = rest;

	if (!strcmp(mode, "err"))
		return atoi(rest);
	event->part = 1;
	if (!strcmp(mode, "rate")) {
		sscanf(rest, "%lf %lf %lf", &event->rate, &event->part, &event->awake_s);
		return 0;
	}
	event->levels = calloc(MAX_LEVELS, sizeof(*event->levels));
	if (!event->levels)
		return ENOMEM;
	for (; event->level_count < MAX_LEVELS; rest = end) {
		long long level = strtoll(rest, &end, 10);

		if (end == rest)
			break;
		event->levels[event->level_count++] = level;
	}
	return event->level_count ? 0 : EINVAL;
}

/* Return: NULL if the process has too many files. */
static FILE *open_at_root(const char *name, const char *mode)
{
	char path[PATH_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root(), name);
	file = REAL(fopen)(path, mode);
	if (!file && errno != EMFILE) {
		perror(path);
		abort();
	}
	return file;
}

/* Return: 0 or an errno, ENOENT if no line matches. */
static int look_up(struct made_event *event, int cpu)
{
	FILE *table = open_at_root("perf.txt", "re");
	char line[LINE_BYTES], configs[80], place[16], mode[16];
	int error = ENOENT;

	/* a test of the limit */
	if (!table)
		return EMFILE;
	while (fgets(line, sizeof(line), table)) {
		unsigned int type;
		int used = 0;

		if (sscanf(line, "%u %79s %15s %15s %n", &type, configs, place, mode, &used) < 4 ||
		    type != event->attr.type || !matches(configs, place, &event->attr, cpu))
			continue;
		error = read_mode(mode, line + used, event);
		break;
	}
	fclose(table);
	return error;
}

static void log_call(const struct perf_event_attr *attr, int pid, int cpu, int group, int result)
{
	static FILE *log;

	/* the first event is opened before there are too many files */
	if (!log)
		log = open_at_root("perf.log", "ae");
	if (!log)
		return;
	fprintf(log,
		"type %u config %#llx config1 %#llx config2 %#llx pid %d cpu %d group %d excludes "
		"%s%s%s%s%s%s -> %d\n",
		attr->type, (unsigned long long)attr->config, (unsigned long long)attr->config1,
		(unsigned long long)attr->config2, pid, cpu, group, attr->exclude_user ? "u" : "",
		attr->exclude_kernel ? "k" : "", attr->exclude_hv ? "h" : "",
		attr->exclude_guest ? "G" : "", attr->exclude_host ? "H" : "",
		attr->exclude_user || attr->exclude_kernel || attr->exclude_hv ||
				attr->exclude_guest || attr->exclude_host ?
			"" :
			"-",
		result);
	fflush(log);
}

/* Return: a file descriptor or a negative errno. */
static int make_event(const struct perf_event_attr *attr, int cpu, int group)
{
	static uint64_t last_id = 1000;
	struct made_event *event = calloc(1, sizeof(*event)), *leader = event_of(group);
	int error = event ? 0 : ENOMEM;
	int fd = -1;

	if (!error) {
		memcpy(&event->attr, attr,
		       attr->size < sizeof(event->attr) ? attr->size : sizeof(event->attr));
		error = look_up(event, cpu);
	}
	if (!error && group >= 0 && (!leader || !leader->last || leader->member_count == MAX_GROUP))
		error = EINVAL;
	if (!error) {
		fd = memfd_create("perf-event", MFD_CLOEXEC);
		error = fd < 0 ? errno : fd >= MAX_FILES ? EMFILE : 0;
	}
	if (error) {
		if (event)
			free(event->levels);
		free(event);
		return -error;
	}
	event->id = ++last_id;
	leader = leader ? leader : event;
	event->leader = leader;
	if (leader->last)
		leader->last->next = event;
	leader->last = event;
	leader->member_count++;
	event->on = !attr->disabled || attr->enable_on_exec;
	event->on_ns = now_ns();
	events[fd] = event;
	return fd;
}

static uint64_t enabled_ns(const struct made_event *event)
{
	uint64_t ns = event->enabled_ns;

	/* a member counts while its leader does */
	if (event->leader->on && event->on)
		ns += now_ns() - event->on_ns;
	if (event->awake_s > 0 && (double)ns > event->awake_s * 1e9)
		return (uint64_t)(event->awake_s * 1e9);
	return ns;
}

static uint64_t value_of(const struct made_event *event)
{
	uint64_t ns = enabled_ns(event);
	size_t step = ns / LEVEL_NS;

	if (!event->level_count)
		return (uint64_t)(event->rate * event->part * (double)ns / 1e9);
	if (!ns)
		return 0;
	return (uint64_t)event->levels[step < event->level_count ? step : event->level_count - 1];
}

static void enable(struct made_event *event, bool on)
{
	for (struct made_event *member = event->last ? event : NULL; member;
	     member = member->next) {
		if (member->on && (!on || !event->on))
			member->enabled_ns += on ? 0 : now_ns() - member->on_ns;
		if (on && !(member->on && event->on))
			member->on_ns = now_ns();
		member->on = on;
	}
}

static ssize_t read_event(const struct made_event *event, void *bytes, size_t size)
{
	uint64_t words[3 + 2 * MAX_GROUP], ns = enabled_ns(event);
	size_t count = 0;

	words[count++] = event->attr.read_format & PERF_FORMAT_GROUP ? event->member_count :
								       value_of(event);
	words[count++] = ns;
	words[count++] = event->part < 1 ? (uint64_t)((double)ns * event->part) : ns;
	for (const struct made_event *member = event;
	     event->attr.read_format & PERF_FORMAT_GROUP && event->last && member;
	     member = member->next) {
		words[count++] = value_of(member);
		words[count++] = member->id;
	}
	if (count * sizeof(*words) > size) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(bytes, words, count * sizeof(*words));
	return (ssize_t)(count * sizeof(*words));
}

long syscall(long number, ...)
{
	va_list list;
	long a[6];
	int fd;

	va_start(list, number);
	for (size_t n = 0; n < ARRAY_SIZE(a); n++)
		a[n] = va_arg(list, long);
	va_end(list);
	if (number != SYS_perf_event_open)
		return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	fd = make_event((const void *)a[0], (int)a[2], (int)a[3]);
	log_call((const void *)a[0], (int)a[1], (int)a[2], (int)a[3], fd);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct made_event *event = event_of(fd);
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (!event)
		return REAL(ioctl)(fd, request, argument);
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE) {
		enable(event, request == PERF_EVENT_IOC_ENABLE);
		return 0;
	}
	errno = ENOTTY;
	return -1;
}

ssize_t read(int fd, void *bytes, size_t size)
{
	const struct made_event *event = event_of(fd);

	return event ? read_event(event, bytes, size) : REAL(read)(fd, bytes, size);
}

/* An event without a file stays in memory: others of its group may still be read. */
int close(int fd)
{
	if (event_of(fd))
		events[fd] = NULL;
	return REAL(close)(fd);
}
