// SPDX-License-Identifier: MIT
/**
 * TEST: SUBMIT, WAIT, contexts and fences of the virtual SoC
 * Description: Jobs of the virtual SoC: what its ioctls refuse, contexts, and fences.
 *
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @submit-errors: SUBMIT refuses every field out of range, also in commands
 * @submit-emfile: without a free file descriptor for the fence nothing is queued: -EMFILE
 * @submit-queue-full: a context takes a fixed number of unfinished jobs, then -EAGAIN until one is
 *   done
 * @wait-errors: WAIT refuses invalid fields and unknown jobs, and ends at its timeout
 * @wait-interrupted: a signal ends WAIT with -EINTR and returns the rest of a relative timeout
 * @context-errors: unknown contexts, one too many, and destroying the default one are refused
 * @bo-create-errors: BO_CREATE refuses a size of zero, one above 1 MiB, and a pad
 * @info-errors: GET_INFO takes any size that is valid and refuses all others
 * @fences: an out-fence signals at the end of its job, carries its status and outlives its file
 * @context-destroy-running: destroying a context cuts its running job short, others continue
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_vsoc.h"

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;
static struct drm_vsoc_info info;

static void submit_errors(void)
{
	struct drm_vsoc_command good = { .type = DRM_VSOC_CMD_WAIT }, bad;
	const struct drm_vsoc_submit ok = {
		.commands = (uintptr_t)&good,
		.command_count = 1,
		.command_stride = sizeof(good),
	};
	struct drm_vsoc_submit s;

#define SUBMIT(error, ...)                                                                  \
	do {                                                                                \
		s = ok;                                                                     \
		__VA_ARGS__;                                                                \
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT, &s), error); \
	} while (0)
#define COMMAND(error, kind, ...)                            \
	do {                                                 \
		memset(&bad, 0, sizeof(bad));                \
		bad.type = DRM_VSOC_CMD_##kind;              \
		__VA_ARGS__;                                 \
		SUBMIT(error, s.commands = (uintptr_t)&bad); \
	} while (0)

	SUBMIT(0, );
	SUBMIT(-EINVAL, s.flags = 2);
	SUBMIT(-EINVAL, s.pad = 1);
	SUBMIT(-EINVAL, s.command_count = 0);
	SUBMIT(-E2BIG, s.command_count = info.max_commands + 1);
	SUBMIT(-EINVAL, s.command_stride = 88);
	SUBMIT(-EINVAL, s.command_stride = 100);
	SUBMIT(-EINVAL, s.command_stride = 4104);
	SUBMIT(-EFAULT, s.commands = 0);
	SUBMIT(-ENOENT, s.ctx_id = 99);

	COMMAND(-EINVAL, WAIT, bad.type = 0);
	COMMAND(-EINVAL, WAIT, bad.type = 7);
	COMMAND(-EINVAL, WAIT, bad.pad = 1);
	COMMAND(-EINVAL, WAIT, bad.wait.duration_ns = info.max_units + 1);
	COMMAND(-EINVAL, WAIT, bad.reserved[10] = 1);
	COMMAND(-EINVAL, DRAW, bad.draw.vertices = info.max_units + 1);
	COMMAND(-EINVAL, DRAW, bad.draw.primitives = info.max_units + 1);
	COMMAND(-EINVAL, DRAW, bad.draw.fragments = info.max_units + 1);
	COMMAND(-EINVAL, DRAW, bad.draw.texels = info.max_units + 1);
	COMMAND(-EINVAL, DRAW, bad.draw.primitives_culled = 1);
	COMMAND(-EINVAL, COMPUTE, bad.compute.threads = info.max_units + 1);
	COMMAND(-EINVAL, COMPUTE, bad.compute.instructions = 65536);
	COMMAND(-EINVAL, COMPUTE, bad.compute.pad = 1);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 0);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 4);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.bytes = 63);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.bytes = info.max_units + 64);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.address = 1);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.hit_bytes = 64);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.initiator = 4);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.home = 5);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.socket = info.sockets);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.latency_cycles = 65536);
	COMMAND(-EINVAL, COPY, bad.copy.flags = 1; bad.copy.gpu = 1);
	COMMAND(-EINVAL, PCIE, bad.pcie.bytes = 1);
	COMMAND(-EINVAL, PCIE, bad.pcie.address = 1);
	COMMAND(-EINVAL, PCIE, bad.pcie.flags = 4);
	COMMAND(-EINVAL, PCIE, bad.pcie.socket = info.sockets);
	COMMAND(-EINVAL, PCIE, bad.pcie.root_complex = info.root_complexes);
	COMMAND(-EINVAL, PCIE, bad.pcie.root_port = info.root_ports);
	COMMAND(-EINVAL, PCIE, bad.pcie.bdf = 65536);
	COMMAND(-EINVAL, PCIE, bad.pcie.home = 5);
	COMMAND(-EINVAL, PCIE, bad.pcie.initiator = 1);
	COMMAND(-EINVAL, PCIE, bad.pcie.latency_cycles = 65536);
	COMMAND(-EINVAL, PCIE, bad.pcie.flags = DRM_VSOC_PCIE_TARGET; bad.pcie.initiator = 1);
	COMMAND(-EINVAL, PCIE, bad.pcie.flags = DRM_VSOC_PCIE_TARGET;
		bad.pcie.home = DRM_VSOC_HOME_CXL);
	COMMAND(-EINVAL, SAMPLE, bad.sample.pad = 1);
	COMMAND(-ENOENT, SAMPLE, bad.sample.handle = 12345);
#undef COMMAND
#undef SUBMIT
}

static void submit_tail(void)
{
	struct {
		struct drm_vsoc_command c;
		uint64_t tail;
	} wide = { .c.type = DRM_VSOC_CMD_WAIT };
	struct drm_vsoc_submit s = {
		.commands = (uintptr_t)&wide,
		.command_count = 1,
		.command_stride = sizeof(wide),
	};

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT, &s), 0);
	wide.tail = 1;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT, &s), -E2BIG);
}

static void submit_emfile(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct rlimit limit, few;
	uint64_t job;
	int fence, ret;

	igt_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	fence = dup(dev.fd);
	close(fence);
	few.rlim_cur = fence;
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ret = igt_vsoc_submit_to(dev.fd, 0, &c, 1, &job, &fence);
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	igt_assert_eq(ret, -EMFILE);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_FW, "JOBS_SUBMITTED"), 0);
}

/* a context whose only job lasts until it is cancelled */
static uint32_t endless(int fd, uint64_t *job, int *fence)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	uint32_t ctx = igt_vsoc_ctx_create(fd);

	c.wait.duration_ns = 1000000 * MS;
	igt_assert_eq(igt_vsoc_submit_to(fd, ctx, &c, 1, job, fence), 0);
	return ctx;
}

static void queue_full(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	uint32_t ctx = endless(dev.fd, NULL, NULL);

	for (unsigned int i = 1; i < info.max_queued_jobs; i++)
		igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, &c, 1, NULL, NULL), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, &c, 1, NULL, NULL), -EAGAIN);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), 0);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, &c, 1, NULL, NULL), -ENOENT);
}

static void wait_errors(void)
{
	struct igt_perfctr_device other;
	struct drm_vsoc_wait w;
	struct timespec t;
	uint64_t job, mine;
	uint32_t ctx = endless(dev.fd, &job, NULL);
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };

	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), -ETIME);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 5 * MS, &w), -ETIME);
	w = (struct drm_vsoc_wait){ .job_id = job, .flags = DRM_VSOC_WAIT_ABSOLUTE };
	clock_gettime(CLOCK_MONOTONIC, &t);
	w.timeout_ns = t.tv_sec * 1000000000ll + t.tv_nsec + 5 * MS;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -ETIME);
	w.timeout_ns = 1;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -ETIME);
	w.flags = 2;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -EINVAL);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, -1, &w), -EINVAL);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, 0, 0, &w), -ENOENT);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job + 1, 0, &w), -ENOENT);
	/* ids are per file */
	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(igt_vsoc_wait_for(other.fd, 1, 0, &w), -ENOENT);
	igt_assert_eq(igt_vsoc_submit_to(other.fd, 0, &c, 1, &mine, NULL), 0);
	igt_assert_eq_u64(mine, 1);
	igt_perfctr_close(&other);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
}

static void ctx_errors(void)
{
	struct drm_vsoc_ctx_create create = { .flags = 1 };
	struct drm_vsoc_ctx_destroy destroy = { .pad = 1 };
	struct igt_perfctr_device other;
	uint32_t ctx, first;

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), -EINVAL);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, DRM_VSOC_CTX_DEFAULT), -EINVAL);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, 4711), -ENOENT);
	ctx = igt_vsoc_ctx_create(dev.fd);
	destroy.ctx_id = ctx;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_DESTROY, &destroy), -EINVAL);
	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(igt_vsoc_ctx_destroy(other.fd, ctx), -ENOENT);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), -ENOENT);

	first = igt_vsoc_ctx_create(other.fd);
	for (unsigned int i = 2; i < info.max_contexts; i++)
		igt_vsoc_ctx_create(other.fd);
	create.flags = 0;
	igt_assert_eq(igt_perfctr_ioctl(other.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), -EMFILE);
	igt_assert_eq(igt_vsoc_ctx_destroy(other.fd, first), 0);
	igt_assert_eq(igt_perfctr_ioctl(other.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), 0);
	igt_perfctr_close(&other);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static int create_buffer(struct drm_vsoc_bo_create bo)
{
	int ret = igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_BO_CREATE, &bo);

	if (!ret)
		igt_vsoc_gem_close(dev.fd, bo.handle);
	return ret;
}

static void bo_create_errors(void)
{
	const uint64_t most = 1 << 20;

	igt_assert_eq(create_buffer((struct drm_vsoc_bo_create){ .size = 0 }), -EINVAL);
	igt_assert_eq(create_buffer((struct drm_vsoc_bo_create){ .size = 1, .pad = 1 }), -EINVAL);
	igt_assert_eq(create_buffer((struct drm_vsoc_bo_create){ .size = most + 1 }), -ERANGE);
	igt_assert_eq(create_buffer((struct drm_vsoc_bo_create){ .size = ~0ull }), -ERANGE);
	igt_assert_eq(create_buffer((struct drm_vsoc_bo_create){ .size = most }), 0);
}

static void on_alarm(int signo)
{
}

/* Signals repeat, so that one arrives while WAIT sleeps. */
static struct drm_vsoc_wait interrupted_wait(uint64_t job, uint32_t flags, int64_t timeout_ns)
{
	const struct itimerval often = { .it_interval.tv_usec = 30000, .it_value.tv_usec = 30000 };
	const struct itimerval never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART }, old;
	struct drm_vsoc_wait wait = { .job_id = job, .flags = flags, .timeout_ns = timeout_ns };

	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &wait), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	return wait;
}

static void wait_interrupted(void)
{
	const int64_t hour_ns = 3600ll * 1000 * MS;
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct drm_vsoc_wait wait;
	uint64_t job, begin_ns, end_ns;
	int64_t remainder_ns = hour_ns;

	igt_vsoc_debugfs(&dev, "stepped", "1");
	c.wait.duration_ns = MS;
	job = igt_vsoc_submit(&dev, &c, 1);
	/* the rest is the timeout minus the time waited, each time */
	for (unsigned int i = 0; i < 3; i++) {
		begin_ns = monotonic_ns();
		wait = interrupted_wait(job, 0, remainder_ns);
		end_ns = monotonic_ns();
		igt_assert(wait.timeout_ns >= 0 && wait.timeout_ns < remainder_ns);
		igt_assert_lte_u64(remainder_ns - wait.timeout_ns, end_ns - begin_ns);
		remainder_ns = wait.timeout_ns;
	}
	/* an absolute time stays the same */
	remainder_ns = monotonic_ns() + hour_ns;
	wait = interrupted_wait(job, DRM_VSOC_WAIT_ABSOLUTE, remainder_ns);
	igt_assert_eq_u64(wait.timeout_ns, remainder_ns);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_vsoc_wait(&dev, job);
}

static void info_errors(void)
{
	struct drm_vsoc_info i;
	struct drm_vsoc_get_info get = { .size = sizeof(i), .pad = 1 };
	uint8_t more[sizeof(i) + 8];

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), -EINVAL);
	get = (struct drm_vsoc_get_info){ .pointer = 8, .size = sizeof(i) };
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), -EFAULT);
	for (unsigned int n = 0; n < 3; n++) {
		static const uint32_t sizes[] = { 0, 12, 4104 };

		get = (struct drm_vsoc_get_info){ .pointer = (uintptr_t)&i, .size = sizes[n] };
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), -EINVAL);
	}
	/* shorter and longer than the kernel's structure */
	memset(more, 0xff, sizeof(more));
	get = (struct drm_vsoc_get_info){ .pointer = (uintptr_t)more, .size = 8 };
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), 0);
	igt_assert_eq(get.size, sizeof(i));
	igt_assert(!memcmp(more, &info, 8) && more[8] == 0xff);
	get.size = sizeof(more);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), 0);
	igt_assert(!memcmp(more, &info, sizeof(info)) && !more[sizeof(info)]);
}

static bool signaled(int fence, int timeout_ms)
{
	struct pollfd p = { .fd = fence, .events = POLLIN };

	igt_assert_lte(0, poll(&p, 1, timeout_ms));
	return p.revents & POLLIN;
}

static int fence_status(int fence)
{
	struct sync_file_info file = { 0 };

	igt_assert_eq(igt_perfctr_ioctl(fence, SYNC_IOC_FILE_INFO, &file), 0);
	igt_assert_eq(file.num_fences, 1);
	return file.status;
}

static void fences(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_device other;
	struct sync_merge_data merge = { .name = "two" };
	int cut, done, orphan;
	uint64_t job, cut_job;
	struct drm_vsoc_wait w;
	uint32_t ctx;

	/* longer than a busy host takes to check */
	c.wait.duration_ns = 400 * MS;
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, &job, &done), 0);
	igt_assert(!signaled(done, 0));
	igt_assert_eq(fence_status(done), 0);
	igt_assert(fcntl(done, F_GETFD) & FD_CLOEXEC);
	igt_assert(signaled(done, 10000));
	igt_assert_eq(fence_status(done), 1);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, job, 0, &w), 0);

	ctx = endless(dev.fd, &cut_job, &cut);
	igt_assert(!signaled(cut, 20));
	merge.fd2 = done;
	igt_assert_eq(igt_perfctr_ioctl(cut, SYNC_IOC_MERGE, &merge), 0);
	igt_assert(!signaled(merge.fence, 0));
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	/* the job has ended when DESTROY returns */
	igt_assert(signaled(cut, 0));
	igt_assert_eq(fence_status(cut), -ECANCELED);
	igt_assert(signaled(merge.fence, 0));

	/* closing the file ends its jobs; the fence outlives the file */
	igt_perfctr_reopen(&other, &dev);
	endless(other.fd, NULL, &orphan);
	igt_assert(!signaled(orphan, 0));
	igt_perfctr_close(&other);
	igt_assert(signaled(orphan, 0));
	igt_assert_eq(fence_status(orphan), -ECANCELED);

	/* no fence requested */
	c.wait.duration_ns = MS;
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c, 1)).status, 0);
	close(merge.fence);
	close(orphan);
	close(cut);
	close(done);
}

static void destroy_running(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
	struct drm_vsoc_wait w;
	uint64_t running, waiting, others;
	uint32_t ctx;

	igt_vsoc_truth(&dev, &before);
	ctx = endless(dev.fd, &running, NULL);
	c.draw.fragments = 4000;
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, ctx, &c, 1, &waiting, NULL), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, &others, NULL), 0);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, running, 30 * MS, &w), -ETIME);
	igt_assert_eq(igt_vsoc_ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, running, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, waiting, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
	igt_assert_eq(igt_vsoc_wait_for(dev.fd, others, 20000 * MS, &w), 0);
	igt_assert_eq(w.status, 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_FW, "JOBS_SUBMITTED"), 3);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_FW, "JOBS_STARTED"), 2);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_FW, "JOBS_FAULTED"), 1);
	igt_assert_eq_u64(igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_FW, "JOBS_DONE"),
			  1);
	igt_assert_eq_u64(
		igt_vsoc_moved(&before, &after, DRM_PERFCTR_MALI_BLOCK_SHADER, "FRAGMENTS"), 4000);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_vsoc_info(&dev, &info);
	}
	/*
	 * Covers: vsoc_cmd_copy -EINVAL, vsoc_submit -E2BIG, vsoc_submit -EINVAL,
	 * vsoc_submit -ENOENT
	 */
	igt_subtest("submit-errors")
	{
		submit_errors();
		submit_tail();
	}
	/* Covers: vsoc_submit -EMFILE */
	igt_subtest("submit-emfile") submit_emfile();
	/* Covers: vsoc_submit -EAGAIN */
	igt_subtest("submit-queue-full") queue_full();
	/* Covers: vsoc_wait -EINVAL, vsoc_wait -ENOENT, vsoc_wait -ETIME */
	igt_subtest("wait-errors") wait_errors();
	/* Covers: vsoc_wait -EINTR */
	igt_subtest("wait-interrupted") wait_interrupted();
	/*
	 * Covers: vsoc_ctx_create -EINVAL, vsoc_ctx_create -EMFILE, vsoc_ctx_destroy -EINVAL,
	 * vsoc_ctx_destroy -ENOENT
	 */
	igt_subtest("context-errors") ctx_errors();
	/* Covers: vsoc_bo_create -EINVAL, vsoc_bo_create -ERANGE */
	igt_subtest("bo-create-errors") bo_create_errors();
	/* Covers: vsoc_get_info -EINVAL */
	igt_subtest("info-errors") info_errors();
	igt_subtest("fences") fences();
	igt_subtest("context-destroy-running") destroy_running();
}
