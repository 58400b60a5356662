// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl fuzzer: processes and threads with random operations on the counters, and a verdict at
 * the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_WORKERS	32
#define THREADS		2
#define NOBODY		65534
/* a process that has not ended by then hangs in the kernel */
#define HANG_S		30
/* files that all processes share */
#define SHARED_FDS	2

static const char usage[] =
"usage: ioctl_fuzz [--seed N] [--seconds S] [--ops N] [--workers N] [--no-root] [--trace FILE]\n"
"                  [--replay FILE [--serial]] [--verbose]\n"
"Runs valid and mutated operations on all counter devices in several processes of two threads\n"
"each. Ends after S seconds (10) or N operations of each thread. The same seed gives each thread\n"
"the same operations. --trace records them, one line each: PROCESS THREAD SEED; --replay repeats\n"
"a record, with --serial one line after the other in one process. Process 0 works in sysfs and\n"
"debugfs as root (not with --no-root), odd ones are unprivileged. Prints TAP.\n";

static struct {
	__u64 seed;
	double seconds;
	__u64 ops;
	unsigned int workers;
	bool root;
	bool serial;
	const char *replay;
} option = { .seconds = 10, .workers = 4, .root = true };

struct line {
	unsigned int worker, thread;
	__u64 seed;
};

static struct line *lines;
static size_t line_count;
static int trace_fd = -1;
/* shared by all processes */
static __u32 *stop;

static bool stopped(void)
{
	return __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static struct world world;

struct thread {
	unsigned int worker, number;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	char text[128];
	int n;

	/* memory that another thread unmapped, or a truncated file */
	if (fuzz_recover)
		siglongjmp(*fuzz_recover, 1);
	n = snprintf(text, sizeof(text),
		     "# thread %d: signal %d at %p outside of operations, its world is at %p\n",
		     gettid(), signo, info->si_addr, world.field);
	_exit(write(STDOUT_FILENO, text, n) == n ? 99 : 98);
}

static void on_signal(int signo)
{
}

static void catch_signals(void)
{
	struct sigaction fault = { .sa_sigaction = on_fault,
				   .sa_flags = SA_NODEFER | SA_SIGINFO };
	struct sigaction usr1 = { .sa_handler = on_signal };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGUSR1, &usr1, NULL);
}

static __u64 seed_of(unsigned int worker, unsigned int thread, __u64 n)
{
	struct rng r = { .x = option.seed ^ (__u64)worker << 40 ^ (__u64)thread << 56 };

	rnd(&r);
	r.x += n * 0x2545f4914f6cdd1dull;
	return rnd(&r);
}

static void do_op(unsigned int worker, unsigned int thread, __u64 seed)
{
	char text[64];
	int n;

	if (trace_fd >= 0) {
		/* before the operation: the last lines are those of a crash */
		n = snprintf(text, sizeof(text), "%u %u 0x%016llx\n", worker, thread,
			     (unsigned long long)seed);
		if (write(trace_fd, text, n) != n)
			_exit(98);
	}
	run_op(&world, worker || !option.root ? user_ops : root_ops, seed);
}

static void *thread_main(void *data)
{
	const struct thread *t = data;
	__u64 n;
	size_t i;

	if (option.replay) {
		for (i = 0; i < line_count && !stopped(); i++)
			if (lines[i].worker == t->worker && lines[i].thread == t->number)
				do_op(t->worker, t->number, lines[i].seed);
		return NULL;
	}
	for (n = 0; !stopped() && (!option.ops || n < option.ops); n++)
		do_op(t->worker, t->number, seed_of(t->worker, t->number, n));
	return NULL;
}

/* replay every line in order, in one thread of one process */
static void serial_main(void)
{
	size_t i;

	catch_signals();
	for (i = 0; i < line_count && !stopped(); i++)
		do_op(lines[i].worker, lines[i].thread, lines[i].seed);
	world_fini(&world);
	_exit(0);
}

static void worker_main(unsigned int worker)
{
	/* one process controls devices and CPUs */
	unsigned int i, threads = worker || !option.root ? THREADS : 1;
	struct thread t[THREADS];
	pthread_t id[THREADS];

	for (i = 0; i < threads; i++)
		t[i] = (struct thread) { worker, i };
	if (worker % 2 && option.root && (setgid(NOBODY) || setuid(NOBODY)))
		_exit(97);
	catch_signals();
	for (i = 0; i < threads; i++)
		if (pthread_create(&id[i], NULL, thread_main, &t[i]))
			_exit(97);
	for (i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	world_fini(&world);
	_exit(0);
}

static void read_lines(void)
{
	FILE *f = fopen(option.replay, "r");
	unsigned long long seed;
	struct line l;

	if (!f) {
		fprintf(stderr, "ioctl_fuzz: %s: %s\n", option.replay, strerror(errno));
		exit(2);
	}
	while (fscanf(f, "%u %u %llx", &l.worker, &l.thread, &seed) == 3) {
		l.seed = seed;
		if (!(line_count & (line_count + 1023) & 1023))
			lines = realloc(lines, (line_count + 1024) * sizeof(*lines));
		if (!lines)
			exit(2);
		lines[line_count++] = l;
		if (l.worker >= option.workers)
			option.workers = l.worker + 1;
	}
	fclose(f);
	if (!line_count || option.workers > MAX_WORKERS) {
		fprintf(stderr, "ioctl_fuzz: %s: no record\n", option.replay);
		exit(2);
	}
	if (option.serial)
		option.workers = 1;
}

/* run all processes until they end or hang; returns the number of failures */
static unsigned int run_workers(void)
{
	double end = now_s() + option.seconds;
	pid_t pids[MAX_WORKERS];
	unsigned int i, left = option.workers, bad = 0;

	for (i = 0; i < option.workers; i++) {
		pids[i] = fork();
		if (!pids[i] && option.serial)
			serial_main();
		if (!pids[i])
			worker_main(i);
		if (pids[i] < 0) {
			perror("ioctl_fuzz: fork");
			exit(2);
		}
	}
	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			for (i = 0; i < option.workers && pids[i] != pid; i++)
				;
			if (i == option.workers)
				continue;
			left--;
			pids[i] = 0;
			if (status) {
				printf("# process %u ended with status 0x%x\n", i, status);
				bad++;
			}
			continue;
		}
		usleep(20000);
		if (now_s() > end && !option.replay)
			__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
		if (now_s() > end + HANG_S)
			break;
	}
	for (i = 0; i < option.workers; i++)
		if (pids[i]) {
			printf("# process %u hangs\n", i);
			kill(pids[i], SIGKILL);
			bad++;
		}
	return bad;
}

static __u64 read_number(const char *text, const char *what)
{
	char *end;
	__u64 value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-') {
		fprintf(stderr, "ioctl_fuzz: %s %s: not a whole number\n", what, text);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", 1, NULL, 's' }, { "seconds", 1, NULL, 't' }, { "ops", 1, NULL, 'n' },
		{ "workers", 1, NULL, 'w' }, { "no-root", 0, NULL, 'R' },
		{ "trace", 1, NULL, 'T' }, { "replay", 1, NULL, 'r' },
		{ "serial", 0, NULL, 'S' }, { "verbose", 0, NULL, 'v' },
		{ "help", 0, NULL, 'h' }, { }
	};
	int c;

	option.seed = (__u64)time(NULL) << 20 ^ getpid();
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's':
			option.seed = read_number(optarg, "--seed");
			break;
		case 't':
			option.seconds = read_number(optarg, "--seconds");
			break;
		case 'n':
			option.ops = read_number(optarg, "--ops");
			break;
		case 'w':
			option.workers = read_number(optarg, "--workers");
			break;
		case 'R':
			option.root = false;
			break;
		case 'T':
			trace_fd = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
			if (trace_fd < 0) {
				fprintf(stderr, "ioctl_fuzz: %s: %s\n", optarg, strerror(errno));
				exit(2);
			}
			break;
		case 'r':
			option.replay = optarg;
			break;
		case 'S':
			option.serial = true;
			break;
		case 'v':
			fuzz_verbose = true;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	if (optind != argc || !option.workers || option.workers > MAX_WORKERS) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* results of each operation's ioctls */
static void print_results(void)
{
	unsigned int i, e;

	for (i = 0; user_ops[i].name; i++) {
		bool any = false;

		for (e = 0; e < ARRAY_SIZE(tally->results[0]); e++) {
			if (!tally->results[i][e])
				continue;
			if (!any)
				printf("# %s:", user_ops[i].name);
			any = true;
			printf(" %u %s", tally->results[i][e], e ? strerrorname_np(e) : "good");
		}
		if (any)
			printf("\n");
	}
	printf("# %llu accesses to unmapped memory\n",
	       (unsigned long long)tally->faults);
}

int main(int argc, char **argv)
{
	struct kernel_state kernel;
	unsigned int i, bad;
	double start;

	parse(argc, argv);
	if (option.replay)
		read_lines();
	printf("# seed 0x%llx: ioctl_fuzz --seed 0x%llx --workers %u --seconds %.0f repeats it\n",
	       (unsigned long long)option.seed, (unsigned long long)option.seed, option.workers,
	       option.seconds);
	fflush(stdout);

	tally = mmap(NULL, sizeof(*tally) + PAGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 2;
	stop = (void *)((char *)tally + ((sizeof(*tally) + 7) & ~7ul));

	i = open_any_node();
	if ((int)i < 0) {
		fprintf(stderr, "ioctl_fuzz: there is no counter device\n");
		return 2;
	}
	close(i);
	kernel_before(&kernel);
	kernel.has_nv50 = option.root && root_init();
	world_init(&world);
	for (i = 0; i < SHARED_FDS; i++)
		world.fds[i] = open_node(0);

	start = now_s();
	bad = run_workers();
	printf("# all ended after %.1f s\n", now_s() - start);
	world_fini(&world);
	if (option.root)
		root_restore();
	print_results();
	if (bad)
		printf("not ok 0 - every process ends without a crash\n");
	return !!kernel_after(&kernel, now_s() - start) | !!bad;
}
