// SPDX-License-Identifier: MIT
/*
 * The CPU that this program runs on: kernels of known length, counted by perf events of the calling
 * thread, only in user space where the event allows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "study.h"

/* two instructions per round, one of them a branch that is taken in all but the last round */
static int loop(uint64_t rounds)
{
#if defined(__x86_64__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
	return 0;
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
	return 0;
#else
	return -ENOTSUP;
#endif
}

/* first write to each page of fresh memory */
static int touch(uint64_t pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), bytes = pages * page_bytes;
	volatile char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	/* with huge pages one fault would cover many pages */
	madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += page_bytes)
		memory[at] = 1;
	munmap((void *)memory, bytes);
	return 0;
}

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

static const struct kernel {
	const char *name;
	int (*run)(uint64_t amount);
} kernels[] = {
	{ "loop", loop },
	{ "touch", touch },
	{ "sleep", sleeps },
};

static const struct cpu_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool user_only;
} cpu_events[] = {
	{ "cpu/instructions/", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true },
	{ "cpu/branches/", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true },
	{ "software/page-faults/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false },
	{ "software/minor-faults/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false },
	{ "software/context-switches/", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false },
};

struct cpu {
	/* where the process could run before */
	cpu_set_t affinity;
	/* one for each event of the campaign, -1: not available */
	int *fds;
	size_t count;
	uint64_t run;
};

static int open_event(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(cpu_events); i++) {
		struct perf_event_attr attr = {
			.type = cpu_events[i].type,
			.size = sizeof(attr),
			.config = cpu_events[i].config,
			.disabled = 1,
			.exclude_kernel = cpu_events[i].user_only,
			.exclude_hv = cpu_events[i].user_only,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		long fd;

		if (strcmp(cpu_events[i].name, name))
			continue;
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		return fd < 0 ? -errno : (int)fd;
	}
	return -EINVAL;
}

/* the format of read() with PERF_FORMAT_TOTAL_TIME_* */
struct counted {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* Give up an event that ran only part of the time: its count is useless, and that will recur. */
static void abandon_event(struct analysis *a, struct cpu *cpu, size_t event,
			  const struct counted *counted)
{
	close(cpu->fds[event]);
	cpu->fds[event] = -1;
	measured_forget(a->arena, &a->measured, a->campaign, event);
	a->unavailable[event] =
		arena_printf(a->arena,
			     "not measured: it counted %" PRIu64 " of %" PRIu64
			     " ns; others use the PMU, or the thread ran on another kind of core",
			     counted->running_ns, counted->enabled_ns);
}

/* One event at a time, so that events neither disturb each other nor compete for counters. */
static int measure_event(struct analysis *a, struct cpu *cpu, const struct point *point,
			 size_t event, const struct kernel *kernel, uint64_t amount)
{
	struct reading reading = {
		.benchmark = point->benchmark,
		.event = event,
		.run = cpu->run,
		.sequence = NO_SEQUENCE,
		.units = 1,
	};
	int fd = cpu->fds[event], error;
	struct counted counted, before;

	memcpy(reading.parameters, point->parameters, sizeof(reading.parameters));
	/* the times are cumulative: RESET does not clear them */
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		return fail(a->failure, "%s: %s", point->label, strerror(EIO));
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	error = kernel->run(amount);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!error && read(fd, &counted, sizeof(counted)) != sizeof(counted))
		error = -EIO;
	if (error)
		return fail(a->failure, "%s: %s", point->label, strerror(-error));
	counted.enabled_ns -= before.enabled_ns;
	counted.running_ns -= before.running_ns;
	if (counted.running_ns < counted.enabled_ns) {
		abandon_event(a, cpu, event, &counted);
		return 0;
	}
	reading.value = counted.value;
	measured_add(a->arena, &a->measured, a->campaign, &reading);
	return 0;
}

static int measure(struct machine *machine, struct analysis *a, size_t number)
{
	const struct point *point = &a->points[number];
	const struct benchmark *b = &a->campaign->benchmarks[point->benchmark];
	size_t word = strcspn(b->command, " ");
	const struct kernel *kernel = NULL;
	struct cpu *cpu = machine->data;
	int64_t amount;
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strlen(kernels[i].name) == word && !memcmp(kernels[i].name, b->command, word))
			kernel = &kernels[i];
	if (!kernel || !b->command[word])
		return fail(a->failure,
			    "%s: a kernel of the CPU is 'loop', 'touch' or 'sleep' and a "
			    "formula",
			    point->label);
	if (analysis_formula(a, b->command + word + 1, point, NULL, &amount))
		return -1;
	for (size_t e = 0; !ret && e < a->campaign->event_count; e++)
		if (cpu->fds[e] >= 0 && benchmark_states(b, e))
			ret = measure_event(a, cpu, point, e, kernel, (uint64_t)amount);
	cpu->run++;
	return ret;
}

static void close_cpu(struct machine *machine)
{
	struct cpu *cpu = machine->data;

	for (size_t e = 0; e < cpu->count; e++)
		if (cpu->fds[e] >= 0)
			close(cpu->fds[e]);
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

static const char *why_not(struct analysis *a, int error)
{
	if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
		return "not measured: this CPU has no PMU that counts it";
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
	cpu->fds = arena_array(a->arena, events, sizeof(*cpu->fds));
	cpu->count = events;
	*error = start_partner(&cpu->affinity);
	if (*error)
		return fail(a->failure, "no thread can be pinned to a CPU: %s", strerror(-*error));
	*error = -ENODEV;
	for (size_t e = 0; e < events; e++) {
		cpu->fds[e] = open_event(a->campaign->events[e].counter);
		if (cpu->fds[e] < 0) {
			*error = cpu->fds[e];
			a->unavailable[e] = why_not(a, cpu->fds[e]);
			cpu->fds[e] = -1;
		} else {
			usable++;
		}
	}
	a->measured.source = "live on this CPU";
	if (cpu_model(a))
		measured_configure(a->arena, &a->measured, "cpu", cpu_model(a));
	study_configure(a);
	if (usable)
		return 0;
	fail(a->failure, "perf events of a thread cannot be opened: %s", strerror(-*error));
	close_cpu(machine);
	return -1;
}
