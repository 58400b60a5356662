// SPDX-License-Identifier: MIT
/**
 * TEST: How the virtual SoC's engine executes jobs
 * Description: What commands count between the samples of a job; held contexts.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define CONTEXTS 4
#define EXT_READ_OUTSTANDING 18

static struct igt_perfctr_device dev;
static struct igt_truth before, after;

/* A, SAMPLE, B, SAMPLE: exactly the counts of A and B beside any other contexts */
static void attribution(void)
{
	struct drm_vsoc_command c[5] = { 0 }, noise = { .type = DRM_VSOC_CMD_DRAW };
	static uint64_t alone[2][IGT_TRUTH_MAX];
	struct igt_perfctr_device other;
	struct igt_perfctr_session s;
	struct drm_vsoc_wait w;
	uint64_t job, last = 0;
	unsigned int compared = 0;
	uint32_t ctx[CONTEXTS];

	c[1].type = c[3].type = DRM_VSOC_CMD_DRAW;
	c[1].draw.vertices = 301;
	c[1].draw.primitives = 99;
	c[1].draw.fragments = 12345;
	c[1].draw.texels = 20000;
	c[3].draw.vertices = 77;
	c[3].draw.primitives = 500;
	c[3].draw.primitives_culled = 123;
	c[3].draw.fragments = 54321;
	for (unsigned int i = 0; i < 2; i++) {
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c[2 * i + 1], 1)).status,
			      0);
		igt_vsoc_truth(&dev, &after);
		for (unsigned int k = 0; k < after.count; k++)
			alone[i][k] = after.at[k].value - before.at[k].value;
	}

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_open(&s);
	for (unsigned int i = 0; i < 5; i += 2)
		c[i] = igt_vsoc_sample(&s, i);
	igt_perfctr_reopen(&other, &dev);
	noise.draw.fragments = 200000;
	noise.draw.vertices = 1000;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = igt_vsoc_ctx_create(other.fd);
	/* so that no context ends before the check */
	igt_vsoc_debugfs(&dev, "stepped", "1");
	for (unsigned int n = 0; n < 48; n++)
		igt_assert_eq(
			igt_vsoc_submit_to(other.fd, ctx[n % CONTEXTS], &noise, 1, &last, NULL), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, c, 5, &job, NULL), 0);
	while (igt_vsoc_wait_for(dev.fd, job, 0, &w) == -ETIME)
		igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
	igt_assert_eq(w.status, 0);
	igt_assert_eq(w.sample_errors, 0);
	/* the others were active all the time */
	igt_assert_eq(igt_vsoc_wait_for(other.fd, last, 0, &w), -ETIME);
	igt_vsoc_debugfs(&dev, "stepped", "0");

	for (unsigned int i = 0; i < 2; i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i + 1);

		igt_assert_eq_u64(h->user_data, 2 * i + 2);
		for (unsigned int k = 0; k < after.count; k++) {
			/* commands only; FW and CSHW count the job and the SAMPLE too */
			if (after.at[k].type != DRM_PERFCTR_MALI_BLOCK_TILER &&
			    after.at[k].type != DRM_PERFCTR_MALI_BLOCK_MEMSYS &&
			    after.at[k].type != DRM_PERFCTR_MALI_BLOCK_SHADER)
				continue;
			if (after.at[k].counter >= DRM_PERFCTR_SECTION_COUNTERS)
				continue;
			/* depends on what the caches have */
			if (after.at[k].type == DRM_PERFCTR_MALI_BLOCK_MEMSYS &&
			    after.at[k].counter == EXT_READ_OUTSTANDING)
				continue;
			igt_assert_eq_u64(igt_perfctr_value(h, after.at[k].type, after.at[k].index,
							    after.at[k].counter),
					  alone[i][k]);
			compared++;
		}
	}
	igt_assert_lt(100, compared);
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_close(&s);
	igt_perfctr_close(&other);
}

/* counts of a type in all contexts, but for job starts (context switches depend on the order) */
static uint64_t counted(const char *name)
{
	uint64_t sum = 0;

	for (unsigned int k = 0; k < after.count; k++)
		if (!strcmp(after.at[k].name, name))
			sum += after.at[k].value - before.at[k].value;
	return sum;
}

static void hold_counts(void)
{
	struct drm_vsoc_command c[8] = { 0 };
	struct drm_vsoc_wait w;
	uint64_t job, other, steps = 0;
	uint32_t ctx;

	for (unsigned int i = 0; i < 8; i++) {
		c[i].type = DRM_VSOC_CMD_DRAW;
		c[i].draw.fragments = 10000 + i;
	}
	igt_vsoc_debugfs(&dev, "stepped", "1");
	igt_vsoc_truth(&dev, &before);
	ctx = igt_vsoc_ctx_create(dev.fd);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, c, 8, &job, NULL), 0);
	/* set aside after each command in turn, once for longer than the others need */
	while (igt_vsoc_wait_for(dev.fd, job, 0, &w) == -ETIME) {
		igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, steps & 2 ? DRM_VSOC_CTX_ALL : ctx, 1), 0);
		igt_vsoc_debugfs_u64(&dev, "step_ns", 50000);
		if (steps == 3) {
			igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
			igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, 0, 0), 0);
			igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, c, 1, &other, NULL), 0);
			igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
			igt_assert_eq(igt_vsoc_wait_for(dev.fd, other, 0, &w), 0);
			igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), -ETIME);
			igt_vsoc_truth(&dev, &after);
			igt_assert_lte_u64(counted("FRAGMENTS"), 50000);
			igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
		}
		igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, DRM_VSOC_CTX_ALL, 0), 0);
		igt_vsoc_debugfs_u64(&dev, "step_ns", 10000);
		igt_assert_lte_u64(steps++, 1000);
	}
	igt_assert_eq(w.status, 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(counted("FRAGMENTS"), 8 * 10000 + 28 + 10000);
	igt_assert_eq_u64(counted("JOBS_STARTED"), 2);
	igt_assert_eq_u64(counted("JOBS_DONE"), 2);
	igt_assert_lte_u64(4, steps);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_vsoc_debugfs(&dev, "stepped", "0");
}

/* a job of ten commands, set aside */
static uint64_t set_aside(int fd, uint32_t ctx)
{
	struct drm_vsoc_command c[10] = { 0 };
	uint64_t job;

	for (unsigned int i = 0; i < 10; i++) {
		c[i].type = DRM_VSOC_CMD_WAIT;
		c[i].wait.duration_ns = 10 * MS;
	}
	igt_assert_eq(igt_vsoc_submit_to(fd, ctx, c, 10, &job, NULL), 0);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 5 * MS);
	igt_assert_eq(igt_vsoc_ctx_hold(fd, ctx, 1), 0);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 20 * MS);
	return job;
}

static void hold_ends(void)
{
	struct igt_perfctr_device other;
	struct drm_vsoc_wait w;
	uint32_t ctx = igt_vsoc_ctx_create(dev.fd);
	uint64_t job;

	igt_vsoc_debugfs(&dev, "stepped", "1");
	job = set_aside(dev.fd, ctx);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), -ETIME);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);

	/* a reset ends the running job only */
	job = set_aside(dev.fd, 0);
	igt_vsoc_debugfs(&dev, "reset", "1");
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), -ETIME);
	igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, 0, 0), 0);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 200 * MS);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), 0);
	igt_assert_eq(w.status, 0);

	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(igt_vsoc_ctx_hold(other.fd, DRM_VSOC_CTX_ALL, 1), 0);
	ctx = igt_vsoc_ctx_create(other.fd);
	job = set_aside(other.fd, ctx);
	igt_perfctr_close(&other);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_vsoc_work(&dev, 1);
}

/* A job of a file of its own, which waits until it is released. */
static void held_job(int from, int to)
{
	struct igt_perfctr_device own, second;
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW, .draw.fragments = 1000 };
	struct drm_vsoc_wait w;
	uint64_t job, other;
	char byte;

	igt_perfctr_reopen(&own, &dev);
	igt_assert_eq(write(to, "o", 1), 1);
	igt_assert_eq(read(from, &byte, 1), 1);
	igt_assert_eq(igt_vsoc_submit_to(own.fd, 0, &c, 1, &job, NULL), 0);
	igt_assert_eq(igt_vsoc_wait_for(own.fd, job, 100 * MS, &w), -ETIME);
	igt_perfctr_reopen(&second, &dev);
	igt_assert_eq(igt_vsoc_submit_to(second.fd, 0, &c, 1, &other, NULL), 0);
	igt_assert_eq(igt_vsoc_wait_for(second.fd, other, 100 * MS, &w), -ETIME);
	igt_assert_eq(write(to, "w", 1), 1);
	igt_assert_eq(igt_vsoc_wait_for(own.fd, job, 10000 * MS, &w), 0);
	igt_assert_eq(igt_vsoc_wait_for(second.fd, other, 10000 * MS, &w), 0);
	igt_assert_eq(write(to, "d", 1), 1);
}

static void hold_process(void)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = DRM_VSOC_CTX_ALL, .hold = 1 };
	int to[2], from[2], end[2];
	pid_t child;
	char byte;

	igt_assert_eq(pipe(to) | pipe(from) | pipe(end), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		if (fork()) {
			/* until the end of the pipe */
			_exit((int)read(end[0], &byte, 1));
		}
		close(from[0]);
		held_job(to[0], from[1]);
		_exit(0);
	}
	close(from[1]);
	args.pid = child;
	igt_assert_eq(read(from[0], &byte, 1), 1);
	/* no jobs, but held from now on */
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args), -ESRCH);
	igt_assert_eq(write(to[1], "s", 1), 1);
	igt_assert_eq(read(from[0], &byte, 1), 1);
	/* the group stays when its process ends, and takes what the orphan opens */
	close(end[1]);
	igt_assert_eq(waitpid(child, NULL, 0), child);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args), 0);
	args.hold = 0;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args), 0);
	igt_assert_eq(read(from[0], &byte, 1), 1);
	igt_assert_eq(byte, 'd');
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(end[0]);
}

static void hold_rules(void)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = 77, .pid = getpid() };

	igt_vsoc_work(&dev, 1);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args), -ENOENT);
	args.pid = -1;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args), -EINVAL);
	igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, 0, 2), -EINVAL);
	igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, 77, 1), -ENOENT);
	igt_fork(child, 1) {
		igt_drop_to(65534, 0);
		igt_assert_eq(igt_vsoc_ctx_hold(dev.fd, 0, 1), -EACCES);
	}
	igt_waitchildren();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
	}
	igt_describe("two samples in a job enclose exactly the counts of the commands between "
		     "them");
	igt_subtest("attribution-exact") attribution();
	igt_describe("holds at any time change no count, and keep no other context waiting");
	igt_subtest("hold-counts") hold_counts();
	igt_describe("held jobs end when their context is destroyed, their file closed, the "
		     "device reset");
	igt_subtest("hold-ends") hold_ends();
	igt_describe("a process is held with what its children opened, and released when it has "
		     "ended");
	igt_subtest("hold-process") hold_process();
	igt_describe("who may hold what");
	igt_subtest("hold-rules") hold_rules();
}
