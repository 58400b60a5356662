// SPDX-License-Identifier: MIT
/*
 * Cost of sessions of users without CAP_PERFMON, and their effect on a privileged session.
 *
 * Each measurement has a number of periodic sessions of one small block, at the shortest period
 * that they may have, of as many users as that number needs; their rings are drained. The jitter of
 * a privileged session of 1 kHz is the deviation of its samples from the period. CPU is the time of
 * all kernel workers, 0 if the kernel does not count it.
 *
 * usage: bench-users, as root, with the sysctl dev.perfctr.paranoid, which is set to 0 meanwhile.
 * Prints JSON; bench/run has the goals.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perfctr/perfctr.h>

#include "bench.h"

#define PARANOID "/proc/sys/dev/perfctr/paranoid"
#define FIRST_USER 40000
/* limits of the kernel, see perfctr_drm.h */
#define USER_SESSIONS 128
#define ALL_SESSIONS 1024
#define SLOTS 16
#define DRAIN_US 4000
#define PERIOD_NS 1000000
#define SAMPLES 1000

static void die(const char *what, const char *why)
{
	fprintf(stderr, "perfctr-bench-users: %s: %s\n", what, why);
	exit(1);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f))
		die(path, strerror(errno));
}

/* CPU time of the kernel workers in ns */
static double worker_ns(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	double sum = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300], name[64] = "";
		unsigned long long ns = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = '\0';
		fclose(f);
		if (strncmp(name, "kworker/", 8))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", entry->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += (double)ns;
		if (f)
			fclose(f);
	}
	if (proc)
		closedir(proc);
	return sum;
}

static struct perfctr_selection *select_block(struct perfctr_device *device)
{
	const struct drm_perfctr_block_info *b = perfctr_device_block(device, 0);
	struct drm_perfctr_block_request request = {
		.type = b->type,
		.index = b->index,
		.mask = b->available[0],
	};
	struct perfctr_selection *selection;

	if (perfctr_selection_new(device, &selection) ||
	    perfctr_selection_add_request(selection, &request) < 0)
		die("selection", strerror(EIO));
	return selection;
}

/* A user with @sessions sessions, whose rings never fill. Does not return. */
static void be_user(unsigned int number, unsigned int sessions, int ready)
{
	static struct perfctr_cursor *cursors[USER_SESSIONS];
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = SLOTS };
	struct perfctr_session *session;
	struct perfctr_device *device;
	struct perfctr_ctx *ctx;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setgid(FIRST_USER + number) ||
	    setuid(FIRST_USER + number) || perfctr_ctx_new(&ctx))
		die("user", strerror(errno));
	if (perfctr_device_open(ctx, NULL, &device))
		die("user", perfctr_ctx_error(ctx));
	opts.period_ns = perfctr_device_info(device)->unprivileged_min_period_ns;
	for (unsigned int n = 0; n < sessions; n++)
		if (perfctr_session_new(select_block(device), &opts, &session) ||
		    perfctr_cursor_new(session, &cursors[n]) || perfctr_session_start(session, 0))
			die("user", perfctr_ctx_error(ctx));
	if (write(ready, "", 1) != 1)
		die("user", strerror(errno));
	for (;;) {
		usleep(DRAIN_US);
		for (unsigned int n = 0; n < sessions; n++)
			perfctr_cursor_advance(cursors[n], perfctr_cursor_lag(cursors[n]));
	}
}

static void start_users(unsigned int sessions, pid_t *users, unsigned int *count)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		die("pipe", strerror(errno));
	for (*count = 0; sessions; ++*count) {
		unsigned int some = sessions < USER_SESSIONS ? sessions : USER_SESSIONS;

		fflush(NULL);
		users[*count] = fork();
		if (!users[*count])
			be_user(*count, some, ready[1]);
		if (users[*count] < 0)
			die("fork", strerror(errno));
		sessions -= some;
	}
	close(ready[1]);
	for (unsigned int n = 0; n < *count; n++)
		if (read(ready[0], &byte, 1) != 1)
			die("users", "one of them could not begin");
	close(ready[0]);
}

struct result {
	double jitter_ns, jitter_99_ns, worker_share, merged_share;
};

/* Measure the privileged session for SAMPLES periods. */
static struct result measure(struct perfctr_device *device)
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = PERIOD_NS,
		.slots = 2 * SAMPLES,
	};
	static double jitter[SAMPLES];
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_sample sample;
	struct result r = { 0 };
	uint64_t begin, last = 0;
	double workers, merged = 0;
	size_t count = 0;

	if (perfctr_session_new(select_block(device), &opts, &session) ||
	    perfctr_cursor_new(session, &cursor) || perfctr_session_start(session, 0))
		die("session", strerror(EIO));
	workers = worker_ns();
	begin = now_ns();
	usleep(SAMPLES * (PERIOD_NS / 1000));
	r.worker_share = (worker_ns() - workers) / (double)(now_ns() - begin);
	perfctr_session_stop(session, 0);
	while (perfctr_cursor_next(cursor, &sample) > 0 && count < SAMPLES) {
		double apart = (double)(sample.end_ns - last) - PERIOD_NS;

		merged += sample.merged_periods;
		if (last && sample.flags & DRM_PERFCTR_SAMPLE_PERIODIC)
			jitter[count++] = apart < 0 ? -apart : apart;
		last = sample.end_ns;
		perfctr_cursor_advance(cursor, 1);
	}
	if (!count)
		die("session", "no samples");
	r.merged_share = merged / (merged + (double)count);
	r.jitter_ns = median(jitter, count);
	r.jitter_99_ns = jitter[count * 99 / 100];
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	return r;
}

int main(void)
{
	static const unsigned int steps[] = { 0, 1, 64, ALL_SESSIONS };
	struct perfctr_device *device;
	struct perfctr_ctx *ctx;

	put(PARANOID, "0");
	if (perfctr_ctx_new(&ctx) || perfctr_device_open(ctx, NULL, &device))
		die("device", "none that can be opened");
	/* users are in no group */
	chmod(perfctr_device_path(device), 0666);
	printf("{\"period_ns\": %llu, \"steps\": [",
	       (unsigned long long)perfctr_device_info(device)->unprivileged_min_period_ns);
	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		pid_t users[ALL_SESSIONS / USER_SESSIONS];
		unsigned int count;
		struct result r;

		start_users(steps[n], users, &count);
		r = measure(device);
		for (unsigned int i = 0; i < count; i++)
			kill(users[i], SIGKILL);
		while (count-- && wait(NULL) > 0)
			;
		printf("%s{\"sessions\": %u, \"worker_percent\": %.2f, \"jitter_us\": %.1f, "
		       "\"jitter_99_us\": %.1f, \"merged_percent\": %.1f}",
		       n ? ", " : "", steps[n], 100 * r.worker_share, r.jitter_ns / 1e3,
		       r.jitter_99_ns / 1e3, 100 * r.merged_share);
	}
	puts("]}");
	put(PARANOID, "1");
	return 0;
}
