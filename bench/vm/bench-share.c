// SPDX-License-Identifier: MIT
/*
 * What share of a CPU a periodic session of all GPU blocks costs the kernel, and how much of it
 * any sampler of hardware would cost on the same machine.
 *
 * A loop inside the kernel (kernel/tests/soak) takes what the CPU has left. In turns it runs with
 * nothing else, with the session, and with a bare sampler: the same two interrupts and switches
 * of threads with no counters. Time is that of the host's thread that is the CPU, so that other
 * work on the host does not count; medians of all windows. What the model of the firmware took is
 * no kernel's cost and is subtracted; it is measured by the model.
 *
 * usage: bench-share [--json], as root where perfctr_soak.ko is loaded, on one CPU
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <perfctr/perfctr.h>

#define SOAK_DIR "/sys/kernel/debug/perfctr_soak/"
#define HZ 1000u
#define PERIOD_NS (1000000000u / HZ)
#define WINDOW_MS 50
#define ROUNDS 60
/* ring: nobody reads in a window */
#define SLOTS 128
#define GOAL_SHARE 0.01
#define MAX_BLOCKS 256

struct window {
	/* of the loop, in the CPU's time */
	double ns, loops;
	/* the model's */
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

/* a number of the line that begins with @key, @skip numbers after it */
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

/* the device's directory in debugfs, by the minor number of its node */
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

		if (block->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
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
	/* the last one is STOP's, taken after the window */
	if (w.samples < 2)
		die("session", "no samples in a window");
	w.samples--;
	return w;
}

static struct window soak_bare(const char *firmware)
{
	struct window w;

	put("bare", HZ);
	w = soak(firmware);
	w.samples = (unsigned int)get(SOAK_DIR "bare", "", 0);
	put("bare", 0);
	if (!w.samples)
		die("bare sampler", "did nothing in a window");
	return w;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

/* what each sample took from the loop */
static double sample_ns(const struct window *w, const struct window *idle)
{
	return (w->ns - w->loops * idle->ns / idle->loops - w->model_ns) / w->samples;
}

int main(int argc, char **argv)
{
	double session_ns[ROUNDS], bare_ns[ROUNDS], model_ns[ROUNDS], with, bare, model;
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	struct sched_param param = { 0 };
	struct perfctr_session *session;
	struct perfctr_device *device;
	struct perfctr_cursor *cursor;
	struct perfctr_ctx *ctx;
	const char *firmware;
	unsigned int blocks;

	if (argc > 1 && !json)
		die("usage", "perfctr-bench-share [--json]");
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

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct window idle = soak(firmware), w;

		w = soak_session(session, cursor, firmware);
		session_ns[round] = sample_ns(&w, &idle);
		model_ns[round] = w.model_ns / w.samples;
		w = soak_bare(firmware);
		bare_ns[round] = sample_ns(&w, &idle);
	}
	with = median(session_ns);
	bare = median(bare_ns);
	model = median(model_ns);
	if (json)
		printf("{\"benchmark\": \"share\", \"hz\": %u, \"blocks\": %u, \"sample_ns\": %.0f, "
		       "\"bare_ns\": %.0f, \"ratio\": %.2f, \"model_ns\": %.0f, "
		       "\"share\": %.5f, \"bare_share\": %.5f, \"share_goal\": %.2f}\n",
		       HZ, blocks, with, bare, with / bare, model, with * HZ / 1e9, bare * HZ / 1e9,
		       GOAL_SHARE);
	else
		printf("a session of %u blocks: %.1f us a sample, %.2f %% of a CPU at %u Hz "
		       "(the model of the firmware, %.1f us, is left out)\n"
		       "a bare timer, thread and second interrupt: %.1f us, %.2f %%; ratio %.2f, "
		       "the session adds %.2f %% of a CPU (goal for all of it: at most %.0f)\n",
		       blocks, with / 1000, with * HZ / 1e7, HZ, model / 1000, bare / 1000,
		       bare * HZ / 1e7, with / bare, (with - bare) * HZ / 1e7, GOAL_SHARE * 100);
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	perfctr_device_unref(device);
	perfctr_ctx_unref(ctx);
	return 0;
}
