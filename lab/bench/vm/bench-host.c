// SPDX-License-Identifier: MIT
/*
 * Cost of a sample through the library's host of sources and its ring, where a driver's own
 * interface counts (lab/model/redirected):
 *
 *  - v3d: 30 events, against the plainest loop of the ioctls that a reading of them needs;
 *  - panthor: all blocks through PERF_CONTROL, against a session of the kernel's core with the same
 *    counters.
 *
 * Both also say what an open session costs a second in which nobody asks for a sample. Subject and
 * peer alternate in the same run, but for panthor's; figures are the median of all rounds. Prints
 * JSON; lab/bench/run has the goals.
 *
 * usage: bench-host v3d|panthor
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perfctr/perfctr.h>

#include "../../../libperfctr/src/host/v3d_ioctls.h"
#include "bench.h"
#include "subject.h"

#define NODE "/dev/dri/renderD128"
#define ROUNDS 9
#define SAMPLES 64
#define EVENTS 30
#define IDLE_S 4
/* type and number of QUERY, as the drivers under test have it; OPEN is the next one */
#define QUERY (DRM_IOCTL_BASE << 8 | 0x9a)

static volatile uint64_t sink;

/*
 * --- a session ---------------------------------------------------------------
 */

/* nobody waits for a sample, as in the loop */
static const struct perfctr_session_opts opts = { .size = sizeof(opts),
						  .slots = SAMPLES,
						  .watermark = SAMPLES / 2 };

/* at most @most counters of each block */
static void select_some(struct subject *s, struct perfctr_selection *selection, unsigned int most)
{
	for (size_t n = 0; n < perfctr_device_block_count(s->device); n++) {
		const struct drm_perfctr_block_info *block = perfctr_device_block(s->device, n);
		uint64_t left = block->available[0], mask = 0;

		if (block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		for (unsigned int i = 0; left && i < most; i++, left &= left - 1)
			mask |= left & -left;
		struct drm_perfctr_block_request request = { .type = block->type,
							     .index = block->index,
							     .mask = mask };
		if (perfctr_selection_add_request(selection, &request) < 0)
			die("selecting counters", perfctr_ctx_error(s->ctx));
	}
}

static void select_thirty(struct subject *s, struct perfctr_selection *selection)
{
	select_some(s, selection, EVENTS);
}

static void select_all(struct subject *s, struct perfctr_selection *selection)
{
	select_some(s, selection, 64);
}

/* @counters: set to those of a sample */
static double time_session(struct subject *s, unsigned int *counters)
{
	uint64_t begin = now_ns(), sum = 0;
	struct perfctr_sample sample;
	struct perfctr_block block;
	struct perfctr_slot slot;

	for (unsigned int i = 0; i < SAMPLES; i++) {
		if (perfctr_session_sample(s->session, i))
			die("sample", perfctr_ctx_error(s->ctx));
		if (perfctr_cursor_peek(s->cursor, 0, &slot) != 1 ||
		    perfctr_decode_sample(slot.bytes, slot.size, &sample) <= 0)
			die("cursor", "no sample where one must be");
		*counters = 0;
		while (perfctr_decode_block(&sample, &block) > 0) {
			for (unsigned int n = 0; n < block.count; n++)
				sum += perfctr_block_value(&block, n);
			*counters += block.count;
		}
		perfctr_cursor_advance(s->cursor, 1);
	}
	begin = now_ns() - begin;
	sink += sum;
	return (double)begin / SAMPLES;
}

/* CPU time that the process takes in a second in which nobody asks for a sample */
static double time_idle(void)
{
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	sleep(IDLE_S);
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / IDLE_S;
}

/*
 * --- v3d's ioctls ------------------------------------------------------------
 */

/* Values, resets, and whether the monitor is still set: less does not tell what was lost. */
static double time_loop(int fd, uint32_t id)
{
	uint64_t values[V3D_MAX_SLOTS] = { 0 }, begin = now_ns(), sum = 0;
	struct v3d_perfmon_get_values get = { .id = id, .values_ptr = (uintptr_t)values };
	struct v3d_get_param resets = { .param = V3D_RESETS };
	struct v3d_perfmon_set_global set = { .id = id };

	for (unsigned int i = 0; i < SAMPLES; i++) {
		if (ioctl(fd, V3D_PERFMON_GET_VALUES, &get) || ioctl(fd, V3D_GET_PARAM, &resets) ||
		    !ioctl(fd, V3D_PERFMON_SET_GLOBAL, &set) || errno != EBUSY)
			die("v3d", strerror(errno));
		for (unsigned int n = 0; n < V3D_MAX_SLOTS; n++)
			sum += values[n];
	}
	begin = now_ns() - begin;
	sink += sum;
	return (double)begin / SAMPLES;
}

static double loop_round(int fd)
{
	struct v3d_perfmon_create create = { .ncounters = V3D_MAX_SLOTS };
	struct v3d_perfmon_set_global set = { 0 };
	struct v3d_perfmon_destroy destroy = { 0 };
	double ns;

	for (unsigned int n = 0; n < V3D_MAX_SLOTS; n++)
		create.counters[n] = (uint8_t)n;
	if (ioctl(fd, V3D_PERFMON_CREATE, &create))
		die("creating a monitor", strerror(errno));
	set.id = destroy.id = create.id;
	if (ioctl(fd, V3D_PERFMON_SET_GLOBAL, &set))
		die("setting the monitor", strerror(errno));
	ns = time_loop(fd, create.id);
	ioctl(fd, V3D_PERFMON_DESTROY, &destroy);
	return ns;
}

static int v3d(void)
{
	double host[ROUNDS], loop[ROUNDS], idle = 0;
	unsigned int counters = 0;
	struct subject s;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		int fd = open(NODE, O_RDWR | O_CLOEXEC);

		loop[i] = loop_round(fd);
		close(fd);
		subject_open(&s, "v3d", opts, select_thirty);
		host[i] = time_session(&s, &counters);
		if (!i)
			idle = time_idle();
		subject_close(&s);
	}
	printf("{\"host_ns\": %.0f, \"loop_ns\": %.0f, \"idle_ns\": %.0f, \"counters\": %u}\n",
	       median(host, ROUNDS), median(loop, ROUNDS), idle, counters);
	return 0;
}

/*
 * --- panthor's two interfaces ------------------------------------------------
 */

/* from now on the node has none of our ioctls: the library takes PERF_CONTROL */
static void hide_ioctls(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, QUERY, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, QUERY + 1, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
	};
	struct sock_fprog program = { .len = sizeof(steps) / sizeof(*steps), .filter = steps };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		die("hiding ioctls", strerror(errno));
}

/* one of two processes, as a filter cannot be removed */
static void panthor_side(bool host)
{
	const char *name = host ? "host" : "core";
	double ns[ROUNDS], idle = 0;
	unsigned int counters = 0;
	struct subject s;

	if (host)
		hide_ioctls();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		subject_open(&s, NODE, opts, select_all);
		ns[i] = time_session(&s, &counters);
		if (!i)
			idle = time_idle();
		subject_close(&s);
	}
	printf("\"%s_ns\": %.0f, \"%s_idle_ns\": %.0f, \"%s_counters\": %u", name,
	       median(ns, ROUNDS), name, idle, name, counters);
	fflush(stdout);
}

static int panthor(void)
{
	int status;

	printf("{");
	panthor_side(false);
	printf(", ");
	fflush(stdout);
	if (!fork()) {
		panthor_side(true);
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		die("panthor", "no figure of PERF_CONTROL");
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "v3d"))
		return v3d();
	if (argc == 2 && !strcmp(argv[1], "panthor"))
		return panthor();
	fprintf(stderr, "usage: perfctr-bench-host v3d|panthor\n");
	return 2;
}
