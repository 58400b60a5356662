// SPDX-License-Identifier: MIT
/*
 * Share of a CPU that a periodic session of all GPU blocks costs the kernel, and how much of it any
 * sampler of hardware would cost on the same machine.
 *
 * A loop inside the kernel (kernel/tests/soak) uses the remaining CPU time. It runs alone, with the
 * session, and with a bare sampler: the same two interrupts and thread switches without counters.
 * The figures are medians of all windows. Time is that of the host's thread of the CPU, so that
 * other work on the host does not count.
 *
 * The firmware of the virtual GPU is a model, so its work is no cost of the kernel. That work is
 * measured separately. The wakeups and switches of the model's thread are measured by a bare
 * sampler whose hardware is a thread too. Both are subtracted.
 *
 * --instructions: the machine runs an instruction in a nanosecond (lab/vm/run
 * --count-instructions), so times are counts, and independent of the host.
 *
 * usage: bench-share [--instructions], as root where perfctr_soak.ko is loaded, on one CPU. Prints
 * JSON; lab/bench/run has the goals.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfctr/perfctr.h>

#include "bench.h"

#define SOAK_DIR "/sys/kernel/debug/perfctr_soak/"
#define HZ 1000u
#define PERIOD_NS (1000000000u / HZ)
#define WINDOW_MS 50
#define ROUNDS 60
/* rounds with --count-instructions: exact, but slow */
#define COUNTED_ROUNDS 5
/* slots of the ring, which has no reader during a window */
#define SLOTS 128
#define MAX_BLOCKS 256

struct window {
	double ns, loops; /* of the loop, in CPU time */
	/* CPU time of the model */
	double model_ns;
	unsigned int samples;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "perfctr-bench-share: %s: %s\n", what, why);
	exit(1);
}

static void put(const char *file, unsigned int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), SOAK_DIR "%s", file);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%u", value) < 0 || fclose(f))
		die(path, strerror(errno));
}

/* number at position @skip of the line that begins with @key */
static uint64_t get(const char *path, const char *key, unsigned int skip)
{
	char line[256] = "", *at = NULL;
	uint64_t value = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		die(path, strerror(errno));
	while (!at && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			at = line + strlen(key);
	fclose(f);
	if (!at)
		die(path, "not understood");
	do
		value = strtoull(at, &at, 10);
	while (skip--);
	return value;
}

/* file in the device's debugfs directory, by the minor number of its node */
static const char *firmware_file(struct perfctr_device *device)
{
	static char path[128];
	const char *node = perfctr_device_path(device), *digits = node + strlen(node);
	unsigned int minor;

	while (digits > node && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	minor = (unsigned int)strtoul(digits, NULL, 10);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/vsoc/firmware",
			 i ? minor : minor % 64);
		if (!access(path, R_OK))
			return path;
	}
	die(path, "the device is no virtual SoC");
	return NULL;
}

static struct window soak(const char *firmware)
{
	uint64_t busy = get(firmware, "busy_ns ", 0);
	struct window w = { 0 };

	put("soak", WINDOW_MS);
	w.model_ns = (double)(get(firmware, "busy_ns ", 0) - busy);
	w.loops = (double)get(SOAK_DIR "result", "", 0);
	w.ns = (double)get(SOAK_DIR "result", "", 1);
	return w;
}

static struct perfctr_session *open_session(struct perfctr_ctx *ctx, struct perfctr_device *device,
					    unsigned int *blocks)
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.slots = SLOTS,
		.period_ns = PERIOD_NS,
		/* as the tools: wake the reader for half a ring, not for each sample */
		.watermark = SLOTS / 2,
	};
	struct perfctr_selection *selection;
	struct perfctr_session *session;

	if (perfctr_selection_new(device, &selection))
		die("selection", perfctr_ctx_error(ctx));
	*blocks = 0;
	for (size_t n = 0; n < perfctr_device_block_count(device); n++) {
		const struct drm_perfctr_block_info *block = perfctr_device_block(device, n);
		struct drm_perfctr_block_request request = {
			.type = block->type,
			.index = block->index,
			.mask = block->available[0],
		};

		if (block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		if (perfctr_selection_add_request(selection, &request) < 0)
			die("selecting counters", perfctr_ctx_error(ctx));
		++*blocks;
	}
	if (perfctr_session_new(selection, &opts, &session))
		die("session", perfctr_ctx_error(ctx));
	perfctr_selection_unref(selection);
	return session;
}

static struct window soak_session(struct perfctr_session *session, struct perfctr_cursor *cursor,
				  const char *firmware)
{
	struct perfctr_slot slot;
	struct window w;

	if (perfctr_session_start(session, 0))
		die("start", strerror(errno));
	w = soak(firmware);
	if (perfctr_session_stop(session, 0))
		die("stop", strerror(errno));
	while (perfctr_cursor_peek(cursor, 0, &slot) == 1) {
		w.samples++;
		perfctr_cursor_advance(cursor, 1);
	}
	/* the last one is that of STOP, after the window */
	if (w.samples < 2)
		die("session", "no samples in a window");
	w.samples--;
	return w;
}

static struct window soak_bare(const char *firmware, const char *file)
{
	struct window w;

	put(file, HZ);
	w = soak(firmware);
	w.samples = (unsigned int)get(SOAK_DIR "bare", "", 0);
	put(file, 0);
	if (!w.samples)
		die("bare sampler", "did nothing in a window");
	return w;
}

/* time that each sample took from the loop */
static double sample_ns(const struct window *w, const struct window *idle)
{
	return (w->ns - w->loops * idle->ns / idle->loops - w->model_ns) / w->samples;
}

struct result {
	/* cost of a sample: of the kernel, of a bare sampler, and the two parts of the model */
	double session_ns, bare_ns, model_ns, model_thread_ns;
};

static struct result measure(struct perfctr_session *session, struct perfctr_cursor *cursor,
			     const char *firmware, unsigned int rounds)
{
	double session_ns[ROUNDS], bare_ns[ROUNDS], threaded_ns[ROUNDS], model_ns[ROUNDS];
	struct result r = { 0 };

	for (unsigned int round = 0; round < rounds; round++) {
		struct window idle = soak(firmware), w;

		w = soak_session(session, cursor, firmware);
		session_ns[round] = sample_ns(&w, &idle);
		model_ns[round] = w.model_ns / w.samples;
		w = soak_bare(firmware, "bare");
		bare_ns[round] = sample_ns(&w, &idle);
		w = soak_bare(firmware, "bare_model");
		threaded_ns[round] = sample_ns(&w, &idle);
	}
	r.bare_ns = median(bare_ns, rounds);
	r.model_ns = median(model_ns, rounds);
	r.model_thread_ns = median(threaded_ns, rounds) - r.bare_ns;
	r.session_ns = median(session_ns, rounds) - r.model_thread_ns;
	return r;
}

int main(int argc, char **argv)
{
	bool counted = false;
	struct sched_param param = { 0 };
	struct perfctr_session *session;
	struct perfctr_device *device;
	struct perfctr_cursor *cursor;
	struct perfctr_ctx *ctx;
	const char *firmware;
	unsigned int blocks;
	struct result r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--instructions"))
			counted = true;
		else
			die("usage", "perfctr-bench-share [--instructions]");
	}
	if (sysconf(_SC_NPROCESSORS_ONLN) != 1)
		die("this machine", "the loop soaks up one CPU and there are more");
	if (perfctr_ctx_new(&ctx) || perfctr_device_open(ctx, NULL, &device))
		die("device", "none that can be opened");
	firmware = firmware_file(device);
	session = open_session(ctx, device, &blocks);
	if (perfctr_cursor_new(session, &cursor))
		die("cursor", perfctr_ctx_error(ctx));
	if (sched_setscheduler(0, SCHED_IDLE, &param))
		die("SCHED_IDLE", strerror(errno));

	r = measure(session, cursor, firmware, counted ? COUNTED_ROUNDS : ROUNDS);
	/* ns, or instructions if one takes a nanosecond */
	printf("{\"hz\": %u, \"blocks\": %u, \"sample\": %.0f, \"bare\": %.0f, \"model\": %.0f, "
	       "\"model_thread\": %.0f}\n",
	       HZ, blocks, r.session_ns, r.bare_ns, r.model_ns, r.model_thread_ns);
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	perfctr_device_unref(device);
	perfctr_ctx_unref(ctx);
	return 0;
}
