// SPDX-License-Identifier: MIT
/*
 * The CPU that this program runs on: kernels of known length, counted by perf events of the calling
 * thread, only in user space where the event allows it; functions of programs, by theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu_kernels.h"
#include "program.h"
#include "study.h"
#include "words.h"

enum { ATTEMPTS = DISTURBED_MAX, INTERRUPTS_BYTES = 1 << 14, MOST_BYTES = 1 << 30 };

enum side { ASKS, ANSWERS, SIDES };
/* read and write end of each side; a socket would also wake the reader when its message was read */
static int ends[SIDES][2];

/* This thread runs only while the one that asks, on the same CPU, sleeps. */
static void *answer(void *unused)
{
	const int from = ends[ANSWERS][0], to = ends[ANSWERS][1];
	char byte;

	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 });
	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	close(from);
	close(to);
	return NULL;
}

/* A timer could expire before the thread sleeps, and no context switch would happen. */
static int sleeps(uint64_t count)
{
	char byte = 0;

	while (count--)
		if (write(ends[ASKS][1], &byte, 1) != 1 || read(ends[ASKS][0], &byte, 1) != 1)
			return -errno;
	return 0;
}

/* Stay on this CPU, with a thread that answers; returns 0 or -errno. */
static int start_partner(cpu_set_t *affinity)
{
	pthread_t thread;
	cpu_set_t cpus;
	int there[2], back[2];

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	if (sched_getaffinity(0, sizeof(*affinity), affinity) ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) || pipe2(there, O_CLOEXEC) ||
	    pipe2(back, O_CLOEXEC))
		return -errno;
	memcpy(ends, (int[SIDES][2]){ { back[0], there[1] }, { there[0], back[1] } }, sizeof(ends));
	return -pthread_create(&thread, NULL, answer, NULL) ?: -pthread_detach(thread);
}

#define CACHE(level, op, result)                                          \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* names that are no events in sysfs; all others are resolved by libperfctr */
static const struct cpu_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} cpu_events[] = {
	{ .name = "cpu/instructions/",
	  .type = PERF_TYPE_HARDWARE,
	  .config = PERF_COUNT_HW_INSTRUCTIONS },
	{ .name = "cpu/branches/",
	  .type = PERF_TYPE_HARDWARE,
	  .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ .name = "cpu/L1-dcache-loads/",
	  .type = PERF_TYPE_HW_CACHE,
	  .config = CACHE(L1D, READ, ACCESS) },
	{ .name = "cpu/L1-dcache-load-misses/",
	  .type = PERF_TYPE_HW_CACHE,
	  .config = CACHE(L1D, READ, MISS) },
	{ .name = "cpu/L1-dcache-stores/",
	  .type = PERF_TYPE_HW_CACHE,
	  .config = CACHE(L1D, WRITE, ACCESS) },
	{ .name = "software/page-faults/",
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_PAGE_FAULTS },
	{ .name = "software/minor-faults/",
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ .name = "software/context-switches/",
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
};

/* what single steps count, instead of a perf event */
enum steps { NO_STEPS, STEPS_INSTRUCTIONS, STEPS_JUMPS };

static const char *const step_names[] = {
	[NO_STEPS] = "",
	[STEPS_INSTRUCTIONS] = "step/instructions/",
	[STEPS_JUMPS] = "step/jumps/",
};

/* what counts an event; zeroed: nothing */
struct cpu_counter {
	bool is_usable;
	enum steps steps;
	int fd; /* of this thread or CPU */
	struct perf_event_attr attr; /* it was opened with */
	bool of_cpu;
	bool is_software;
};

struct cpu {
	struct analysis *analysis;
	/* where the process could run before, and where it runs */
	cpu_set_t affinity;
	int number;
	struct cpu_counter *counters; /* one for each event of the campaign */
	size_t count;
	uint64_t run;
	/* /proc/interrupts, -1: not known */
	int interrupts_fd;
	char *interrupts;
	size_t interrupts_bytes;
	/* readings with interrupts: repeated without one; corrected; neither */
	uint64_t repeated, corrected, interrupted;
	/* counts of an interrupt by which readings were corrected, of any event */
	uint64_t least_cost, most_cost;
};

/*
 * Counts of the thread in user space; of the thread and the kernel in it, if the PMU cannot exclude
 * that; or of this CPU, if it does not count threads. Return: 0 or a negative errno.
 */
static int open_counter(const struct cpu *cpu, struct cpu_counter *counter)
{
	struct perf_event_attr *attr = &counter->attr;
	static const struct {
		bool user_only, of_cpu;
	} ways[] = { { true, false }, { false, false }, { false, true } };
	long fd = -1;

	/* events of software happen in the kernel */
	for (size_t i = attr->type == PERF_TYPE_SOFTWARE; fd < 0 && i < ARRAY_SIZE(ways); i++) {
		attr->exclude_kernel = attr->exclude_hv = ways[i].user_only;
		counter->of_cpu = ways[i].of_cpu;
		fd = syscall(SYS_perf_event_open, attr, ways[i].of_cpu ? -1 : 0,
			     ways[i].of_cpu ? cpu->number : -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno != EINVAL && errno != EOPNOTSUPP)
			break;
	}
	counter->fd = (int)fd;
	counter->is_usable = fd >= 0;
	return fd < 0 ? -errno : 0;
}

/* The event of any perf PMU, as perfctr stat has it. Return: 0 or a negative errno. */
static int resolve(struct analysis *a, const char *name, struct perf_event_attr *attr)
{
	struct perfctr_selection *selection = NULL;
	struct perfctr_device *device = NULL;
	int error = perfctr_device_open(a->ctx, PERFCTR_DEVICE_LOCAL, &device);

	if (!error)
		error = perfctr_selection_new(device, &selection);
	if (!error && perfctr_selection_add(selection, name) < 0)
		error = -ENOENT;
	/* a pattern: a campaign needs one event */
	if (!error && perfctr_selection_request_count(selection) != 1)
		error = -E2BIG;
	if (!error) {
		const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, 0);

		attr->type = r->pmu_type;
		attr->config = r->config;
		attr->config1 = r->config1;
		attr->config2 = r->config2;
	}
	perfctr_selection_unref(selection);
	perfctr_device_unref(device);
	return error;
}

static int open_event(struct analysis *a, struct cpu *cpu, size_t event)
{
	const char *name = a->campaign->events[event].counter;
	struct cpu_counter *counter = &cpu->counters[event];
	struct perf_event_attr *attr = &counter->attr;
	int error;

	*counter = (struct cpu_counter){ .fd = -1 };
	for (enum steps s = STEPS_INSTRUCTIONS; s < ARRAY_SIZE(step_names); s++)
		if (!strcmp(step_names[s], name))
			counter->steps = s;
	if (counter->steps) {
		counter->is_usable = true;
		return 0;
	}
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (size_t i = 0; i < ARRAY_SIZE(cpu_events); i++) {
		if (strcmp(cpu_events[i].name, name))
			continue;
		attr->type = cpu_events[i].type;
		attr->config = cpu_events[i].config;
		counter->is_software = attr->type == PERF_TYPE_SOFTWARE;
		return open_counter(cpu, counter);
	}
	error = resolve(a, name, attr);
	return error ? error : open_counter(cpu, counter);
}

/* --- interrupts ------------------------------------------------------------------- */

/* Read all of /proc/interrupts; a read returns one page at most. */
static bool read_interrupts(struct cpu *cpu)
{
	const int fd = cpu->interrupts_fd;
	size_t bytes = 0;
	ssize_t got;

	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		return false;
	while ((got = read(fd, cpu->interrupts + bytes, cpu->interrupts_bytes - 1 - bytes)) > 0) {
		bytes += (size_t)got;
		if (bytes + 1 < cpu->interrupts_bytes)
			continue;
		cpu->interrupts =
			arena_grow(cpu->analysis->arena, cpu->interrupts, cpu->interrupts_bytes, 1);
		cpu->interrupts_bytes *= 2;
	}
	cpu->interrupts[bytes] = '\0';
	return bytes && !got;
}

/* Sum of the column of a CPU in /proc/interrupts; 0 if it is not known. */
static uint64_t interrupts_of(struct cpu *cpu)
{
	unsigned int column = 0, number = 0;
	uint64_t sum = 0;
	char *line, *next, *end;

	if (!read_interrupts(cpu))
		return 0;
	line = cpu->interrupts;
	/* offline CPUs have no column */
	for (char *at = line; (at = strstr(at, "CPU")) && at < strchr(line, '\n'); at++) {
		number++;
		if (atoi(at + 3) == cpu->number)
			column = number;
	}
	for (; column && (next = strchr(line, '\n')); line = next + 1) {
		char *at = strchr(line, ':');
		unsigned long long value = 0;
		unsigned int n = 0;

		for (; at && at < next && n < column; n++, at = end - 1) {
			value = strtoull(at + 1, &end, 10);
			if (end == at + 1 || end > next)
				break;
		}
		sum += n == column ? value : 0;
	}
	return sum;
}

/* Give up an event whose counts are useless, as that will recur. */
static void abandon_event(struct analysis *a, struct cpu *cpu, size_t event, const char *why)
{
	if (cpu->counters[event].fd >= 0)
		close(cpu->counters[event].fd);
	cpu->counters[event] = (struct cpu_counter){ .fd = -1 };
	measured_forget(a->arena, &a->measured, a->campaign, event);
	a->unavailable[event] = why;
}

/* what is measured: a kernel; a program's function; or sleeps */
struct task {
	const struct cpu_kernel *kernel;
	struct cpu_work work;
	struct program *program;
	bool is_stepped; /* a run in single steps counts all of them */
	struct program_count stepped;
};

/* one reading, and the interrupts of the CPU meanwhile */
struct attempt {
	struct counted counted;
	uint64_t interrupts;
};

/* What disturbs an event: interrupts, or for those of the kernel other tasks on this CPU. */
static uint64_t disturbances(struct cpu *cpu, size_t event)
{
	struct rusage usage;

	if (!cpu->counters[event].is_software)
		return interrupts_of(cpu);
	return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nivcsw;
}

/* Note which build of a program is counted; another one is not the same work. */
static int note_program(struct cpu *cpu, const char *name, const char *build)
{
	struct analysis *a = cpu->analysis;
	const char *key = arena_printf(a->arena, "program %s", name);
	const char *known = measured_configured(&a->measured, key);

	build = build ? arena_printf(a->arena, "build %s", build) : "linked without a build id";
	if (!known)
		measured_configure(a->arena, &a->measured, key, build);
	else if (strcmp(known, build) != 0)
		return fail(a->failure, "%s has changed: %s, now %s", name, known, build);
	return 0;
}

/* Run a program, and count its function. */
static int attempt_program(struct cpu *cpu, size_t event, struct task *task, struct attempt *result)
{
	const struct cpu_counter *counter = &cpu->counters[event];
	struct program program = *task->program;
	struct counted before = { 0 };
	struct program_count count = task->stepped;
	int error = 0;

	program.attr = counter->steps || counter->of_cpu ? NULL : &counter->attr;
	program.cpu_fd = counter->of_cpu ? counter->fd : -1;
	if (counter->of_cpu && read(counter->fd, &before, sizeof(before)) != sizeof(before))
		return -EIO;
	/* other tasks do not disturb it, and single steps are of the program only */
	if (!counter->steps && !counter->is_software)
		result->interrupts = interrupts_of(cpu);
	if (!counter->steps || !task->is_stepped)
		error = program_count(&program, &count);
	if (!error && note_program(cpu, program.argv[0], count.build) < 0)
		error = -EINVAL;
	if (counter->steps && !error) {
		task->is_stepped = true;
		task->stepped = count;
	}
	if (!counter->steps && !counter->is_software)
		result->interrupts = interrupts_of(cpu) - result->interrupts;
	result->counted = count.counted;
	result->counted.value -= before.value;
	result->counted.enabled_ns -= before.enabled_ns;
	result->counted.running_ns -= before.running_ns;
	if (counter->steps == STEPS_JUMPS)
		result->counted.value = count.jumps;
	return error;
}

static int attempt(struct cpu *cpu, size_t event, struct task *task, struct attempt *result)
{
	int fd = cpu->counters[event].fd;
	struct counted before;
	int error;

	if (task->program)
		return attempt_program(cpu, event, task, result);
	/* the times are cumulative: RESET does not clear them */
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return -EIO;
	result->interrupts = disturbances(cpu, event);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	error = task->kernel ? task->kernel->run(&task->work) : sleeps(task->work.rounds);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	result->interrupts = disturbances(cpu, event) - result->interrupts;
	if (!error && read(fd, &result->counted, sizeof(before)) != sizeof(before))
		error = -EIO;
	result->counted.enabled_ns -= before.enabled_ns;
	result->counted.running_ns -= before.running_ns;
	return error;
}

/*
 * Counts of interrupts may be in readings, although the kernel is excluded: some PMUs count the
 * return from one, QEMU's counts handlers. The result is the median of the corrected readings, or
 * the lowest reading if they do not agree.
 */
static void correct(struct cpu *cpu, const struct attempt *attempts, struct reading *reading)
{
	struct disturbed all[ATTEMPTS], *used = all;
	int64_t cost;

	for (unsigned int i = 0; i < ATTEMPTS; i++)
		all[i] = (struct disturbed){ attempts[i].counted.value, attempts[i].interrupts };
	cost = disturbed_correct(all, ATTEMPTS);
	if (cost < 0) {
		cpu->interrupted++;
		cost = 0;
	} else {
		used = &all[ATTEMPTS / 2];
		if (!cpu->corrected++ || (uint64_t)cost < cpu->least_cost)
			cpu->least_cost = (uint64_t)cost;
		if ((uint64_t)cost > cpu->most_cost)
			cpu->most_cost = (uint64_t)cost;
	}
	reading->value = used->value;
	reading->interrupts = used->disturbances;
	reading->raw = used->value + (uint64_t)cost * used->disturbances;
}

/* One event at a time, so that events neither disturb each other nor compete for counters. */
static int measure_event(struct analysis *a, struct cpu *cpu, const struct point *point,
			 size_t event, struct task *task)
{
	struct reading reading = {
		.benchmark = point->benchmark,
		.event = event,
		.run = cpu->run,
		.sequence = NO_SEQUENCE,
		.units = 1,
	};
	struct attempt attempts[ATTEMPTS] = { 0 }, *best = attempts;
	unsigned int count = 0;

	memcpy(reading.parameters, point->parameters, sizeof(reading.parameters));
	do {
		struct attempt *now = &attempts[count++];
		int error = attempt(cpu, event, task, now);

		if (error == -ENOTSUP && task->program) {
			abandon_event(a, cpu, event,
				      "not measured: this machine has no single steps");
			return 0;
		}
		if (error)
			return fail(a->failure, "%s: %s", point->name, strerror(-error));
		if (now->counted.running_ns < now->counted.enabled_ns) {
			abandon_event(
				a, cpu, event,
				arena_printf(a->arena,
					     "not measured: it counted %" PRIu64 " of %" PRIu64
					     " ns; others use the PMU, or the thread ran on "
					     "another kind of core",
					     now->counted.running_ns, now->counted.enabled_ns));
			return 0;
		}
		if (now->interrupts < best->interrupts)
			best = now;
	} while (best->interrupts && count < ATTEMPTS);
	cpu->repeated += count - 1;
	reading.value = best->counted.value;
	if (best->interrupts)
		correct(cpu, attempts, &reading);
	measured_add(a->arena, &a->measured, a->campaign, &reading);
	return 0;
}

/* "run PROGRAM ARGUMENT..." with the listing of a function, of which calls are counted */
static int parse_program(struct analysis *a, const struct point *point, struct task *task)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	const char **words = arena_array(a->arena, MAX_WORDS + 1, sizeof(*words));
	struct program *program = arena_alloc(a->arena, sizeof(*program));

	if (words_split(a, point, b->command + strlen(RUN), words) < 0)
		return -1;
	if (!b->code.count)
		return fail(a->failure,
			    "%s: give the program's listing, a disassembly, with \"symbol\" or "
			    "\"region\"; on \"device\": \"local\" whole programs are counted",
			    point->name);
	if (!b->code.length)
		return fail(a->failure,
			    "%s: %s lacks the bytes of instructions, which show that the program "
			    "is that of the listing: objdump -d without --no-show-raw-insn",
			    point->name, b->listing_name);
	*program = (struct program){
		.point = point->name,
		.argv = (char **)(uintptr_t)words,
		.code = &b->code,
		.calls = point->kernels,
		.arena = a->arena,
		.failure = a->failure,
	};
	task->program = program;
	if (!b->call)
		return 0;
	if (analysis_formula(a, b->call, point, NULL, &program->call) < 0)
		return -1;
	if (program->call < 1 || point->kernels != 1)
		return fail(a->failure,
			    "%s: \"call\" is the number of one call, from 1, without \"kernels\"",
			    point->name);
	return 0;
}

/* The kernel and the amounts of "NAME FORMULA" or "NAME FORMULA, FORMULA". */
static int parse_task(struct analysis *a, const struct point *point, struct task *task)
{
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	size_t word = strcspn(b->command, " ");
	const char *text = b->command + word, *comma = strchr(text, ',');
	const long most_pages = MOST_BYTES / sysconf(_SC_PAGESIZE);
	int64_t rounds, bytes = 0;
	char usage[512];

	*task = (struct task){ 0 };
	if (!strncmp(b->command, RUN, strlen(RUN)))
		return parse_program(a, point, task);
	task->kernel = cpu_kernel_find(b->command, word);
	if ((!task->kernel && (word != 5 || memcmp(b->command, "sleep", 5))) || !*text ||
	    !comma != !(task->kernel && task->kernel->buffers))
		return fail(a->failure, "%s: work of the CPU is %s'sleep TIMES' or 'run PROGRAM'",
			    point->name, cpu_kernel_usage(usage, sizeof(usage)));
	if (comma && analysis_formula(a, comma + 1, point, NULL, &bytes))
		return -1;
	if (analysis_formula(a, arena_copy(a->arena, text, strcspn(text, ",")), point, NULL,
			     &rounds))
		return -1;
	if (rounds < 1 ||
	    (comma && (bytes < CPU_LINE_BYTES || bytes > MOST_BYTES || bytes & (bytes - 1))))
		return fail(a->failure,
			    "%s: rounds begin at 1, bytes are a power of two from %d to 2^30",
			    point->name, CPU_LINE_BYTES);
	if (task->kernel && !strcmp(task->kernel->name, "touch") && rounds > most_pages)
		return fail(a->failure, "%s: touch takes at most %ld pages, 2^30 bytes",
			    point->name, most_pages);
	task->work = (struct cpu_work){ .rounds = (uint64_t)rounds, .bytes = (uint64_t)bytes };
	return 0;
}

/* Whether an event can be counted of a task: of programs only there are single steps. */
static bool measures(struct analysis *a, const struct cpu *cpu, size_t event,
		     const struct task *task)
{
	const struct cpu_counter *counter = &cpu->counters[event];

	if (!counter->is_usable || !counter->steps)
		return counter->is_usable;
	if (task->program && task->program->code->has_exclusive && !a->unavailable[event])
		a->unavailable[event] = "not measured: an exclusive access never succeeds if the "
					"program is executed in single steps";
	return task->program && !task->program->code->has_exclusive;
}

static int measure(struct machine *machine, struct analysis *a, size_t number)
{
	const struct point *point = &a->points[number];
	struct cpu *cpu = machine->data;
	struct task task;
	int ret = parse_task(a, point, &task);

	if (ret)
		return ret;
	if (task.kernel && task.kernel->buffers) {
		int error = cpu_work_begin(&task.work, task.kernel);

		/* caches have what they have after the same work */
		if (!error)
			error = task.kernel->run(&task.work);
		if (error)
			ret = fail(a->failure, "%s: %s", point->name, strerror(-error));
	}
	for (size_t e = 0; !ret && e < a->campaign->event_count; e++)
		if (measures(a, cpu, e, &task) &&
		    benchmark_states(&a->campaign->benchmarks[point->benchmark], e))
			ret = measure_event(a, cpu, point, e, &task);
	cpu_work_end(&task.work);
	cpu->run++;
	return ret;
}

static void note_interrupts(struct cpu *cpu)
{
	struct analysis *a = cpu->analysis;

	measured_configure(a->arena, &a->measured, "interrupts",
			   cpu->interrupts_fd < 0 ?
				   "not known: no /proc/interrupts" :
				   arena_printf(a->arena,
						"%" PRIu64
						" readings repeated because of one; %" PRIu64
						" corrected, by %" PRIu64 " to %" PRIu64
						" counts for each; %" PRIu64 " left as they are",
						cpu->repeated, cpu->corrected, cpu->least_cost,
						cpu->most_cost, cpu->interrupted));
}

static void close_cpu(struct machine *machine)
{
	struct cpu *cpu = machine->data;

	note_interrupts(cpu);
	if (cpu->interrupts_fd >= 0)
		close(cpu->interrupts_fd);
	for (size_t e = 0; e < cpu->count; e++)
		if (cpu->counters[e].fd >= 0)
			close(cpu->counters[e].fd);
	close(ends[ASKS][0]);
	close(ends[ASKS][1]);
	sched_setaffinity(0, sizeof(cpu->affinity), &cpu->affinity);
}

/* The processor's own name of its model; NULL if the kernel has none. */
static const char *cpu_model(struct analysis *a)
{
	static const char *const keys[] = { "\nmodel name", "\nCPU part" };
	struct failure ignored = { "" };
	size_t length;
	const char *text = read_file(a->arena, "/proc/cpuinfo", &length, &ignored);

	for (size_t i = 0; text && i < ARRAY_SIZE(keys); i++) {
		const char *at = strstr(text, keys[i]);

		if (!at)
			continue;
		at += strcspn(at, ":");
		at += strspn(at, ": ");
		return arena_copy(a->arena, at, strcspn(at, "\n"));
	}
	return NULL;
}

/* a file of one line in sysfs; NULL: there is none */
static const char *sysfs_line(struct analysis *a, const char *path)
{
	struct failure ignored = { "" };
	size_t length;
	const char *text = read_file(a->arena, path, &length, &ignored);

	return text && *text ? arena_copy(a->arena, text, strcspn(text, "\n")) : NULL;
}

/* What influences cycles and cache misses and cannot be controlled from here. */
static void note_conditions(struct analysis *a, const struct cpu *cpu)
{
	const char *path =
		arena_printf(a->arena, "/sys/devices/system/cpu/cpu%d/cpufreq/", cpu->number);
	const char *governor = sysfs_line(a, arena_printf(a->arena, "%sscaling_governor", path));
	const char *khz = sysfs_line(a, arena_printf(a->arena, "%sscaling_cur_freq", path));
	int msr =
		open(arena_printf(a->arena, "/dev/cpu/%d/msr", cpu->number), O_RDONLY | O_CLOEXEC);
	const char *vendor = "GenuineIntel", *prefetch = "not known; chase defeats them";
	struct failure ignored = { "" };
	size_t length;
	uint64_t off;
	const char *info = read_file(a->arena, "/proc/cpuinfo", &length, &ignored);

	/* Intel's MISC_FEATURE_CONTROL: a bit for each of four prefetchers that is off */
	if (msr >= 0 && info && strstr(info, vendor) && pread(msr, &off, sizeof(off), 0x1a4) == 8)
		prefetch = arena_printf(a->arena, "off: %#" PRIx64 " of 0xf (MSR 0x1a4)", off & 15);
	if (msr >= 0)
		close(msr);
	measured_configure(a->arena, &a->measured, "pinned",
			   arena_printf(a->arena, "CPU %d", cpu->number));
	measured_configure(a->arena, &a->measured, "frequency",
			   governor ? arena_printf(a->arena, "governor %s, %s kHz at the begin",
						   governor, khz ? khz : "unknown") :
				      "not known: no cpufreq");
	measured_configure(a->arena, &a->measured, "prefetchers", prefetch);
}

static const char *why_not(struct analysis *a, int error)
{
	if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
		return "not measured: this CPU has no PMU that counts it";
	if (error == -E2BIG)
		return "not measured: its counter names several events";
	return arena_printf(a->arena, "not measured: %s", strerror(-error));
}

int machine_cpu(struct analysis *a, struct machine *machine, int *error)
{
	const size_t events = a->campaign->event_count;
	struct cpu *cpu = arena_alloc(a->arena, sizeof(*cpu));
	size_t usable = 0;

	*machine = (struct machine){
		.name = "this CPU",
		.data = cpu,
		.measure = measure,
		.close = close_cpu,
	};
	cpu->counters = arena_array(a->arena, events, sizeof(*cpu->counters));
	cpu->interrupts_bytes = INTERRUPTS_BYTES;
	cpu->interrupts = arena_alloc(a->arena, cpu->interrupts_bytes);
	cpu->analysis = a;
	cpu->count = events;
	if (words_allow(a) < 0) {
		*error = -EINVAL;
		return -1;
	}
	*error = start_partner(&cpu->affinity);
	if (*error)
		return fail(a->failure, "no thread can be pinned to a CPU: %s", strerror(-*error));
	cpu->number = sched_getcpu();
	cpu->interrupts_fd = open("/proc/interrupts", O_RDONLY | O_CLOEXEC);
	*error = -ENODEV;
	for (size_t e = 0; e < events; e++) {
		const int why = open_event(a, cpu, e);

		usable += !why;
		if (!why)
			continue;
		/* an event that does not exist says less than one that is denied */
		if (*error != -EACCES && *error != -EPERM)
			*error = why;
		a->unavailable[e] = why_not(a, why);
	}
	a->measured.source = "live on this CPU";
	if (cpu_model(a))
		measured_configure(a->arena, &a->measured, "cpu", cpu_model(a));
	note_conditions(a, cpu);
	study_configure(a->arena, &a->measured);
	if (usable)
		return 0;
	fail(a->failure, "perf events of a thread cannot be opened: %s", strerror(-*error));
	close_cpu(machine);
	return -1;
}
