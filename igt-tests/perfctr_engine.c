// SPDX-License-Identifier: MIT
/*
 * The workload engine of the virtual SoC: listings, contexts, fences, attribution, and time
 * that a test moves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"
#include "common/listing.h"

IGT_TEST_DESCRIPTION("Jobs of the virtual SoC count what its manual says, and the right job's");

#define MS 1000000ull
#define CONTEXTS 4
/* what own accounts the device has, and fixed ones beside them */
#define DEVICE_ACCOUNTS 256
#define MAX_ACCOUNTS (4 * (DEVICE_ACCOUNTS + 4))
/* durations of kernel/vsoc/README.md, "Rules" */
#define JOB_START_NS 400
#define JOB_END_NS 200
#define COMMAND_NS 200
/* of the GPU's timestamp: 24 MHz */
#define TICK_NS 42ull

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;
static struct drm_vsoc_info info;

static int submit_to(int fd, uint32_t ctx, const struct drm_vsoc_command *c, unsigned int count,
		     uint64_t *job, int *fence)
{
	struct drm_vsoc_submit submit = {
		.flags = fence ? DRM_VSOC_SUBMIT_FENCE_OUT : 0,
		.ctx_id = ctx,
		.commands = (uintptr_t)c,
		.command_count = count,
		.command_stride = sizeof(*c),
	};
	int ret = igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_SUBMIT, &submit);

	if (!ret && job)
		*job = submit.job_id;
	if (!ret && fence)
		*fence = submit.fence_fd;
	return ret;
}

static uint32_t ctx_create(int fd)
{
	struct drm_vsoc_ctx_create create = { 0 };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), 0);
	igt_assert(create.ctx_id != DRM_VSOC_CTX_DEFAULT);
	return create.ctx_id;
}

static int ctx_destroy(int fd, uint32_t ctx)
{
	struct drm_vsoc_ctx_destroy destroy = { .ctx_id = ctx };

	return igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_CTX_DESTROY, &destroy);
}

static int wait_for(int fd, uint64_t job, int64_t timeout_ns, struct drm_vsoc_wait *wait)
{
	*wait = (struct drm_vsoc_wait){ .job_id = job, .timeout_ns = timeout_ns };
	return igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_WAIT, wait);
}

/* sum over all blocks of a type */
static uint64_t total(const struct igt_vsoc_truth *truth, uint16_t type, const char *name)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < truth->count; i++)
		if (truth->at[i].type == type && !strcmp(truth->at[i].name, name))
			sum += truth->at[i].value;
	return sum;
}

static uint64_t moved(uint16_t type, const char *name)
{
	return total(&after, type, name) - total(&before, type, name);
}

/* --- listings ------------------------------------------------------------- */

static const char *const thread_counters[] = {
	"THREAD_INST_INTEGER",	   "THREAD_INST_FP32", "THREAD_INST_LD_ST", "THREAD_INST_CONTROL",
	"THREAD_INST_BIT_CONVERT", "THREAD_INST_MISC", "THREAD_INST_TOTAL",
};

#define THREAD_COUNTERS (sizeof(thread_counters) / sizeof(thread_counters[0]))

struct kernel {
	const char *name;
	int n; /* rounds, or -1 */
	uint64_t threads;
	uint64_t counts[THREAD_COUNTERS];
};

static const struct kernel kernels[] = {
	{ "matrix-copy.lst", -1, 1048576, { 5242880, 0, 2097152, 1048576, 0, 6291456, 14680064 } },
	{ "float-loop.lst", 0, 1024, { 4096, 3072, 3072, 2048, 0, 5120, 17408 } },
	{ "float-loop.lst", 1, 1024, { 9216, 7168, 3072, 1024, 1024, 7168, 28672 } },
	{ "float-loop.lst", 2, 1024, { 12288, 10240, 3072, 2048, 2048, 8192, 37888 } },
	{ "float-loop.lst", 10, 1024, { 36864, 34816, 3072, 10240, 10240, 16384, 111616 } },
	{ "executed-nop.lst", -1, 1024, { 3072, 0, 2048, 1024, 0, 5120, 11264 } },
};

static void read_kernel(const struct kernel *k, struct listing *listing)
{
	struct listing_parameter parameter = { .name = "N", .value = k->n };
	char path[512], error[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", LISTINGS, k->name);
	file = fopen(path, "re");
	igt_assert_f(file, "%s: %s\n", path, strerror(errno));
	igt_assert_f(!listing_read(file, k->name, &parameter, k->n >= 0, listing, error,
				   sizeof(error)),
		     "%s\n", error);
	fclose(file);
}

static struct drm_vsoc_command compute(uint64_t threads, const struct listing *listing)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COMPUTE };

	c.compute.threads = threads;
	c.compute.listing = (uintptr_t)listing->instructions;
	c.compute.listing_count = listing->count;
	c.compute.listing_stride = sizeof(*listing->instructions);
	return c;
}

/* run it and give the sums over all cores, as a session reads them */
static void run_kernel(const struct kernel *k, uint64_t counts[THREAD_COUNTERS])
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command c;
	struct listing listing;

	read_kernel(k, &listing);
	c = compute(k->threads, &listing);
	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_create(&s);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c, 1)).status, 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_vsoc_truth(&dev, &after);
	igt_perfctr_drain(&s);
	igt_vsoc_assert_conserved(&s, &before, &after);
	for (unsigned int i = 0; i < THREAD_COUNTERS; i++) {
		uint16_t counter =
			igt_vsoc_counter(&after, DRM_PERFCTR_BLOCK_SHADER, thread_counters[i]);

		counts[i] = 0;
		for (unsigned int core = 0; core < 64; core++)
			if (info.shader_present >> core & 1)
				counts[i] += igt_perfctr_sum(&s, DRM_PERFCTR_BLOCK_SHADER, core,
							     counter);
	}
	igt_perfctr_session_fini(&s);
	listing_free(&listing);
}

static void assert_counts(const uint64_t have[THREAD_COUNTERS],
			  const uint64_t want[THREAD_COUNTERS])
{
	for (unsigned int i = 0; i < THREAD_COUNTERS; i++)
		igt_assert_f(have[i] == want[i], "%s: %llu, not %llu\n", thread_counters[i],
			     (unsigned long long)have[i], (unsigned long long)want[i]);
}

/* INTEGER of a kernel that starts with @how */
static uint64_t integers(const char *how, const struct kernel *k, uint64_t counts[THREAD_COUNTERS])
{
	igt_vsoc_debugfs(&dev, "miscount", how);
	run_kernel(k, counts);
	igt_vsoc_debugfs(&dev, "miscount", "none");
	return counts[0];
}

static void miscounts(void)
{
	const uint32_t cores = (uint32_t)__builtin_popcountll(info.shader_present);
	const struct kernel *copy = &kernels[0], *loop = &kernels[4];
	uint64_t counts[THREAD_COUNTERS];

	igt_assert_eq_u64(integers("double", loop, counts), 2 * loop->counts[0]);
	igt_assert_eq_u64(counts[6], loop->counts[6]);
	igt_assert_eq_u64(integers("swap", loop, counts), loop->counts[1]);
	igt_assert_eq_u64(counts[1], loop->counts[0]);
	igt_assert_eq_u64(integers("off-by-one", loop, counts), loop->counts[0] + cores);
	igt_assert_eq_u64(integers("mux", loop, counts), loop->counts[1]);
	igt_assert_eq_u64(counts[1], loop->counts[1]);
	/* the kernel before was the loop */
	igt_assert_eq_u64(integers("stale", copy, counts), loop->counts[0]);
	igt_assert_eq_u64(integers("stale", loop, counts), copy->counts[0]);
	igt_assert_eq_u64(integers("dead", loop, counts), loop->counts[0]);
	igt_assert_eq_u64(counts[3], loop->counts[3] + loop->threads);
	igt_assert_eq_u64(counts[5], loop->counts[5] + 7 * loop->threads);
	igt_assert_eq_u64(counts[6], loop->counts[6] + 8 * loop->threads);
	igt_assert_eq_u64(integers("saturate", copy, counts), 65535 * cores);
	igt_assert_eq_u64(integers("saturate", loop, counts), loop->counts[0]);
	igt_assert_eq_u64(integers("wrap", copy, counts), copy->counts[0] / cores % 65536 * cores);
	run_kernel(loop, counts);
	assert_counts(counts, loop->counts);
}

static struct drm_vsoc_instruction forever[] = {
	{ .opcode = DRM_VSOC_OP_BRA, .target = 0 },
	{ .opcode = DRM_VSOC_OP_EXIT },
};

static int try_listing(const struct drm_vsoc_instruction *code, uint32_t count, uint32_t stride,
		       uint32_t instructions)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COMPUTE };

	c.compute.threads = 16;
	c.compute.instructions = instructions;
	c.compute.listing = (uintptr_t)code;
	c.compute.listing_count = count;
	c.compute.listing_stride = stride;
	return submit_to(dev.fd, 0, &c, 1, NULL, NULL);
}

static void listing_errors(void)
{
	static const struct drm_vsoc_instruction bad[] = {
		{ .opcode = 0 },
		{ .opcode = DRM_VSOC_OP_SHFL + 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = 3 },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard_times = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .target = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .pad = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .reserved = 1 },
		{ .opcode = DRM_VSOC_OP_BRA, .target = 1 },
		{ .opcode = DRM_VSOC_OP_NOP },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = DRM_VSOC_GUARD_FALSE },
	};
	static struct drm_vsoc_instruction many[5000];
	struct {
		struct drm_vsoc_instruction insn;
		uint64_t tail;
	} wide = { .insn.opcode = DRM_VSOC_OP_EXIT };
	const struct drm_vsoc_instruction good = { .opcode = DRM_VSOC_OP_EXIT };
	struct drm_vsoc_command c[8] = { 0 };

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		igt_assert_f(try_listing(&bad[i], 1, sizeof(bad[i]), 0) == -EINVAL, "case %u\n", i);
	igt_assert_eq(try_listing(&good, 1, sizeof(good), 0), 0);
	igt_assert_eq(try_listing(&good, 1, sizeof(good), 1), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 8, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 20, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 8192, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 0, 16, 0), -EINVAL);
	igt_assert_eq(try_listing(NULL, 1, 16, 0), -EFAULT);
	igt_assert_eq(try_listing(&wide.insn, 1, sizeof(wide), 0), 0);
	wide.tail = 1;
	igt_assert_eq(try_listing(&wide.insn, 1, sizeof(wide), 0), -E2BIG);

	for (unsigned int i = 0; i < info.max_listing; i++)
		many[i].opcode = DRM_VSOC_OP_NOP;
	many[info.max_listing - 1].opcode = DRM_VSOC_OP_EXIT;
	igt_assert_eq(try_listing(many, info.max_listing, 16, 0), 0);
	many[info.max_listing].opcode = DRM_VSOC_OP_EXIT;
	igt_assert_eq(try_listing(many, info.max_listing + 1, 16, 0), -E2BIG);
	igt_assert_eq(try_listing(forever, 2, 16, 0), -ELOOP);

	/* one step less than max_steps, together with EXIT, is the longest; five are too many */
	forever[0].guard = DRM_VSOC_GUARD_TIMES;
	forever[0].guard_times = info.max_steps - 1;
	igt_assert_eq(try_listing(forever, 2, 16, 0), -ELOOP);
	forever[0].guard_times = info.max_steps - 2;
	igt_assert_eq(try_listing(forever, 2, 16, 0), 0);
	for (unsigned int i = 0; i < 8; i++) {
		c[i].type = DRM_VSOC_CMD_COMPUTE;
		c[i].compute.listing = (uintptr_t)forever;
		c[i].compute.listing_count = 2;
		c[i].compute.listing_stride = 16;
	}
	igt_assert_eq(submit_to(dev.fd, 0, c, 3, NULL, NULL), 0);
	igt_assert_eq(submit_to(dev.fd, 0, c, 5, NULL, NULL), -E2BIG);
}

/* --- errors of the ioctls --------------------------------------------------- */

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
	{
		struct {
			struct drm_vsoc_command c;
			uint64_t tail;
		} wide = { .c.type = DRM_VSOC_CMD_WAIT };

		s = ok;
		s.commands = (uintptr_t)&wide;
		s.command_stride = sizeof(wide);
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT, &s), 0);
		wide.tail = 1;
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_SUBMIT, &s), -E2BIG);
	}
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
	ret = submit_to(dev.fd, 0, &c, 1, &job, &fence);
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	igt_assert_eq(ret, -EMFILE);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_FW, "JOBS_SUBMITTED"), 0);
}

/* a context whose only job lasts until it is cancelled */
static uint32_t endless(int fd, uint64_t *job, int *fence)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	uint32_t ctx = ctx_create(fd);

	c.wait.duration_ns = 1000000 * MS;
	igt_assert_eq(submit_to(fd, ctx, &c, 1, job, fence), 0);
	return ctx;
}

static void queue_full(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	uint32_t ctx = endless(dev.fd, NULL, NULL);

	for (unsigned int i = 1; i < info.max_queued_jobs; i++)
		igt_assert_eq(submit_to(dev.fd, ctx, &c, 1, NULL, NULL), 0);
	igt_assert_eq(submit_to(dev.fd, ctx, &c, 1, NULL, NULL), -EAGAIN);
	igt_assert_eq(submit_to(dev.fd, 0, &c, 1, NULL, NULL), 0);
	igt_assert_eq(ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(submit_to(dev.fd, ctx, &c, 1, NULL, NULL), -ENOENT);
}

static void wait_errors(void)
{
	struct igt_perfctr_device other;
	struct drm_vsoc_wait w;
	struct timespec t;
	uint64_t job, mine;
	uint32_t ctx = endless(dev.fd, &job, NULL);
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };

	igt_assert_eq(wait_for(dev.fd, job, 0, &w), -ETIME);
	igt_assert_eq(wait_for(dev.fd, job, 5 * MS, &w), -ETIME);
	w = (struct drm_vsoc_wait){ .job_id = job, .flags = DRM_VSOC_WAIT_ABSOLUTE };
	clock_gettime(CLOCK_MONOTONIC, &t);
	w.timeout_ns = t.tv_sec * 1000000000ll + t.tv_nsec + 5 * MS;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -ETIME);
	w.timeout_ns = 1;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -ETIME);
	w.flags = 2;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_WAIT, &w), -EINVAL);
	igt_assert_eq(wait_for(dev.fd, job, -1, &w), -EINVAL);
	igt_assert_eq(wait_for(dev.fd, 0, 0, &w), -ENOENT);
	igt_assert_eq(wait_for(dev.fd, job + 1, 0, &w), -ENOENT);
	/* ids are per file */
	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(wait_for(other.fd, 1, 0, &w), -ENOENT);
	igt_assert_eq(submit_to(other.fd, 0, &c, 1, &mine, NULL), 0);
	igt_assert_eq_u64(mine, 1);
	igt_perfctr_close(&other);
	igt_assert_eq(ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(wait_for(dev.fd, job, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
}

static void ctx_errors(void)
{
	struct drm_vsoc_ctx_create create = { .flags = 1 };
	struct drm_vsoc_ctx_destroy destroy = { .pad = 1 };
	struct igt_perfctr_device other;
	uint32_t ctx, first;

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), -EINVAL);
	igt_assert_eq(ctx_destroy(dev.fd, DRM_VSOC_CTX_DEFAULT), -EINVAL);
	igt_assert_eq(ctx_destroy(dev.fd, 4711), -ENOENT);
	ctx = ctx_create(dev.fd);
	destroy.ctx_id = ctx;
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_DESTROY, &destroy), -EINVAL);
	igt_perfctr_reopen(&other, &dev);
	igt_assert_eq(ctx_destroy(other.fd, ctx), -ENOENT);
	igt_assert_eq(ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(ctx_destroy(dev.fd, ctx), -ENOENT);

	first = ctx_create(other.fd);
	for (unsigned int i = 2; i < info.max_contexts; i++)
		ctx_create(other.fd);
	create.flags = 0;
	igt_assert_eq(igt_perfctr_ioctl(other.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), -EMFILE);
	igt_assert_eq(ctx_destroy(other.fd, first), 0);
	igt_assert_eq(igt_perfctr_ioctl(other.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), 0);
	igt_perfctr_close(&other);
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
	/* shorter and longer than the kernel's */
	memset(more, 0xff, sizeof(more));
	get = (struct drm_vsoc_get_info){ .pointer = (uintptr_t)more, .size = 8 };
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), 0);
	igt_assert_eq(get.size, sizeof(i));
	igt_assert(!memcmp(more, &info, 8) && more[8] == 0xff);
	get.size = sizeof(more);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), 0);
	igt_assert(!memcmp(more, &info, sizeof(info)) && !more[sizeof(info)]);
}

/* --- fences and contexts ---------------------------------------------------- */

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

	/* longer than a busy host takes until it is looked at */
	c.wait.duration_ns = 400 * MS;
	igt_assert_eq(submit_to(dev.fd, 0, &c, 1, &job, &done), 0);
	igt_assert(!signaled(done, 0));
	igt_assert_eq(fence_status(done), 0);
	igt_assert(fcntl(done, F_GETFD) & FD_CLOEXEC);
	igt_assert(signaled(done, 10000));
	igt_assert_eq(fence_status(done), 1);
	igt_assert_eq(wait_for(dev.fd, job, 0, &w), 0);

	ctx = endless(dev.fd, &cut_job, &cut);
	igt_assert(!signaled(cut, 20));
	merge.fd2 = done;
	igt_assert_eq(igt_perfctr_ioctl(cut, SYNC_IOC_MERGE, &merge), 0);
	igt_assert(!signaled(merge.fence, 0));
	igt_assert_eq(ctx_destroy(dev.fd, ctx), 0);
	/* it has ended when DESTROY returns */
	igt_assert(signaled(cut, 0));
	igt_assert_eq(fence_status(cut), -ECANCELED);
	igt_assert(signaled(merge.fence, 0));

	/* closing the file ends its jobs, the fence outlives it */
	igt_perfctr_reopen(&other, &dev);
	endless(other.fd, NULL, &orphan);
	igt_assert(!signaled(orphan, 0));
	igt_perfctr_close(&other);
	igt_assert(signaled(orphan, 0));
	igt_assert_eq(fence_status(orphan), -ECANCELED);

	/* nobody asked for one */
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
	igt_assert_eq(submit_to(dev.fd, ctx, &c, 1, &waiting, NULL), 0);
	igt_assert_eq(submit_to(dev.fd, 0, &c, 1, &others, NULL), 0);
	igt_assert_eq(wait_for(dev.fd, running, 30 * MS, &w), -ETIME);
	igt_assert_eq(ctx_destroy(dev.fd, ctx), 0);
	igt_assert_eq(wait_for(dev.fd, running, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
	igt_assert_eq(wait_for(dev.fd, waiting, 0, &w), 0);
	igt_assert_eq(w.status, -ECANCELED);
	igt_assert_eq(wait_for(dev.fd, others, 20000 * MS, &w), 0);
	igt_assert_eq(w.status, 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_FW, "JOBS_SUBMITTED"), 3);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_FW, "JOBS_STARTED"), 2);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_FW, "JOBS_FAULTED"), 1);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_FW, "JOBS_DONE"), 1);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_SHADER, "FRAGMENTS"), 4000);
}

/* --- accounts ----------------------------------------------------------------- */

/* counts of one counter by account, from one reading of truth_contexts */
struct account {
	char owner[40];
	uint64_t value;
};

struct accounts {
	unsigned int count;
	struct account at[MAX_ACCOUNTS];
	/* over all counters: what is not the sum of its parts */
	unsigned int wrong, counters;
};

static void read_accounts_of_set(const char *set, const char *wanted, struct accounts *accounts)
{
	static struct {
		uint16_t type, index, counter;
		uint64_t total, sum;
	} sums[IGT_VSOC_MAX_COUNTERS];
	char path[96], owner[40], type[16], name[40];
	unsigned int index, counter, used = 0;
	unsigned long long value;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/truth_contexts%s", dev.minor,
		 set);
	f = fopen(path, "re");
	igt_require_f(f, "%s: %s\n", path, strerror(errno));
	memset(accounts, 0, sizeof(*accounts));
	while (fscanf(f, "%39s %15s %u %u %39s %llu", owner, type, &index, &counter, name,
		      &value) == 6) {
		unsigned int i;

		for (i = 0; i < used; i++)
			if (sums[i].type == type[0] && sums[i].index == index &&
			    sums[i].counter == counter)
				break;
		if (!strcmp(owner, "total")) {
			igt_assert_eq(i, used);
			igt_assert_lt(used, IGT_VSOC_MAX_COUNTERS);
			/* block types differ in their first letters */
			sums[used].type = type[0];
			sums[used].index = index;
			sums[used].counter = counter;
			sums[used].sum = 0;
			sums[used++].total = value;
			continue;
		}
		igt_assert_f(i < used, "%s counted %s, the total did not\n", owner, name);
		sums[i].sum += value;
		if (strcmp(name, wanted))
			continue;
		igt_assert_lt(accounts->count, MAX_ACCOUNTS);
		strcpy(accounts->at[accounts->count].owner, owner);
		accounts->at[accounts->count++].value = value;
	}
	igt_assert(feof(f));
	fclose(f);
	accounts->counters = used;
	for (unsigned int i = 0; i < used; i++)
		accounts->wrong += sums[i].sum != sums[i].total;
}

static void read_accounts(const char *wanted, struct accounts *accounts)
{
	read_accounts_of_set("", wanted, accounts);
}

/* sum of the wanted counter over the blocks, of context @ctx of this process's latest file */
static uint64_t account_of(const struct accounts *accounts, uint32_t file, uint32_t ctx)
{
	char owner[40];
	uint64_t sum = 0;

	snprintf(owner, sizeof(owner), "%d/%u/%u", getpid(), file, ctx);
	for (unsigned int i = 0; i < accounts->count; i++)
		if (!strcmp(accounts->at[i].owner, owner))
			sum += accounts->at[i].value;
	return sum;
}

/* number of a file: that of its context with the only account that has the counter */
static uint32_t file_number(const struct igt_perfctr_device *d)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct accounts accounts;
	uint32_t last = 0;

	igt_assert_eq(igt_vsoc_wait(d, igt_vsoc_submit(d, &c, 1)).status, 0);
	read_accounts("JOBS_DONE", &accounts);
	for (unsigned int i = 0; i < accounts.count; i++) {
		int pid;
		unsigned int file, ctx;

		if (sscanf(accounts.at[i].owner, "%d/%u/%u", &pid, &file, &ctx) == 3 &&
		    pid == getpid() && file > last)
			last = file;
	}
	igt_assert_lt(0, last);
	return last;
}

static void contexts_add_up(void)
{
	struct igt_perfctr_device other;
	uint32_t ctx[CONTEXTS], file;
	struct accounts accounts;
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
	struct drm_vsoc_wait w;
	uint64_t job = 0, closed;

	igt_perfctr_reopen(&other, &dev);
	file = file_number(&other);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = ctx_create(other.fd);
	for (unsigned int n = 0; n < 8; n++) {
		for (unsigned int i = 0; i < CONTEXTS; i++) {
			c.draw.fragments = 1000 * (i + 1) + n;
			c.draw.texels = 100000;
			igt_assert_eq(submit_to(other.fd, ctx[i], &c, 1, &job, NULL), 0);
		}
	}
	/* one moment after the other, while they run */
	do {
		read_accounts("FRAGMENTS", &accounts);
		igt_assert_eq(accounts.wrong, 0);
	} while (wait_for(other.fd, job, 2 * MS, &w) == -ETIME);

	read_accounts("FRAGMENTS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(20, accounts.counters);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		igt_assert_eq_u64(account_of(&accounts, file, ctx[i]), 8000 * (i + 1) + 28);

	/* what a context counted stays when it is gone */
	closed = 0;
	for (unsigned int i = 0; i < accounts.count; i++)
		if (!strcmp(accounts.at[i].owner, "closed"))
			closed += accounts.at[i].value;
	igt_assert_eq(ctx_destroy(other.fd, ctx[2]), 0);
	read_accounts("FRAGMENTS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_eq_u64(account_of(&accounts, file, ctx[2]), 0);
	for (unsigned int i = 0; i < accounts.count; i++)
		if (!strcmp(accounts.at[i].owner, "closed"))
			closed -= accounts.at[i].value;
	igt_assert_eq_u64(-closed, 24028);
	/* the other sets of counters have accounts, too */
	read_accounts_of_set("_secondary", "THREADS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(0, account_of(&accounts, file, ctx[0]));
	read_accounts_of_set("_tertiary", "TILES_WRITTEN", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(0, account_of(&accounts, file, ctx[0]));
	igt_perfctr_close(&other);
}

/* more contexts than there are accounts: they share one, and nothing is lost */
static void accounts_bounded(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_device files[2];
	static struct accounts accounts;
	unsigned int own = 0, made = 0;
	uint64_t others = 0, job = 0;
	struct drm_vsoc_wait w;

	for (unsigned int f = 0; f < 2; f++) {
		igt_perfctr_reopen(&files[f], &dev);
		for (unsigned int i = 0; i < DEVICE_ACCOUNTS / 2 + 20; i++, made++)
			igt_assert_eq(submit_to(files[f].fd, ctx_create(files[f].fd), &c, 1, &job,
						NULL),
				      0);
		igt_assert_eq(wait_for(files[f].fd, job, 20000 * MS, &w), 0);
	}
	read_accounts("JOBS_DONE", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	for (unsigned int i = 0; i < accounts.count; i++) {
		own += !!strchr(accounts.at[i].owner, '/');
		if (!strcmp(accounts.at[i].owner, "others"))
			others += accounts.at[i].value;
	}
	igt_assert_lte(own, DEVICE_ACCOUNTS);
	igt_assert_lte_u64(made - DEVICE_ACCOUNTS, others);
	igt_perfctr_close(&files[0]);
	igt_perfctr_close(&files[1]);
	/* room again */
	igt_perfctr_reopen(&files[0], &dev);
	igt_assert_lt(0, file_number(&files[0]));
	igt_perfctr_close(&files[0]);
}

static void stepped(bool on)
{
	igt_vsoc_debugfs(&dev, "stepped", on ? "1" : "0");
}

/* A, SAMPLE, B, SAMPLE: exactly what A and B count, whoever else is busy */
static void attribution(void)
{
	struct drm_vsoc_command c[5] = { 0 }, noise = { .type = DRM_VSOC_CMD_DRAW };
	static uint64_t alone[2][IGT_VSOC_MAX_COUNTERS];
	struct igt_perfctr_device other;
	struct igt_perfctr_session s;
	struct drm_vsoc_wait w;
	uint64_t job, last = 0;
	unsigned int compared = 0;
	uint32_t ctx[CONTEXTS];

	c[0].type = c[2].type = c[4].type = DRM_VSOC_CMD_SAMPLE;
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
	igt_perfctr_session_create(&s);
	for (unsigned int i = 0; i < 5; i += 2) {
		c[i].sample.handle = s.handle;
		c[i].sample.user_data = i;
	}
	igt_perfctr_reopen(&other, &dev);
	noise.draw.fragments = 200000;
	noise.draw.vertices = 1000;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = ctx_create(other.fd);
	/* so that nobody ends before we looked */
	stepped(true);
	for (unsigned int n = 0; n < 48; n++)
		igt_assert_eq(submit_to(other.fd, ctx[n % CONTEXTS], &noise, 1, &last, NULL), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(submit_to(dev.fd, 0, c, 5, &job, NULL), 0);
	while (wait_for(dev.fd, job, 0, &w) == -ETIME)
		igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
	igt_assert_eq(w.status, 0);
	igt_assert_eq(w.sample_errors, 0);
	/* others were there all the time */
	igt_assert_eq(wait_for(other.fd, last, 0, &w), -ETIME);
	stepped(false);

	for (unsigned int i = 0; i < 2; i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i + 1);

		igt_assert_eq_u64(h->user_data, 2 * i + 2);
		for (unsigned int k = 0; k < after.count; k++) {
			/* commands only; FW and CSHW count the job and the SAMPLE too */
			if (after.at[k].type != DRM_PERFCTR_BLOCK_TILER &&
			    after.at[k].type != DRM_PERFCTR_BLOCK_MEMSYS &&
			    after.at[k].type != DRM_PERFCTR_BLOCK_SHADER)
				continue;
			if (after.at[k].counter >= DRM_PERFCTR_SECTION_COUNTERS)
				continue;
			igt_assert_eq_u64(igt_perfctr_value(h, after.at[k].type, after.at[k].index,
							    after.at[k].counter),
					  alone[i][k]);
			compared++;
		}
	}
	igt_assert_lt(100, compared);
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
	igt_perfctr_close(&other);
}

/* --- stepped time --------------------------------------------------------------- */

static void time_stands_still(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
	const uint64_t V = 8000000;
	struct timespec pause = { .tv_nsec = 20 * MS };
	struct drm_vsoc_wait w;
	uint64_t job, t, D;

	c.draw.vertices = V;
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c, 1)).status, 0);
	igt_vsoc_truth(&dev, &after);
	/* a cycle for each ns, without those of the job's start and end */
	D = moved(DRM_PERFCTR_BLOCK_CSHW, "GPU_ACTIVE") - JOB_START_NS - JOB_END_NS;
	stepped(true);
	t = igt_vsoc_device_ns(&dev);
	igt_vsoc_truth(&dev, &before);
	igt_assert_eq(submit_to(dev.fd, 0, &c, 1, &job, NULL), 0);
	nanosleep(&pause, NULL);
	igt_assert_eq_u64(igt_vsoc_device_ns(&dev), t);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_CSHW, "GPU_ACTIVE"), 0);
	igt_vsoc_debugfs_u64(&dev, "step_ns", JOB_START_NS);
	t += JOB_START_NS;
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_CSHW, "GPU_ACTIVE"), JOB_START_NS);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_TILER, "VERTICES"), 0);
	for (uint64_t done = 0, ns = 1; done + ns < D; ns = ns * 3 + 7) {
		igt_vsoc_debugfs_u64(&dev, "step_ns", ns);
		done += ns;
		igt_assert_eq_u64(igt_vsoc_device_ns(&dev), t + done);
		igt_vsoc_truth(&dev, &after);
		igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_TILER, "VERTICES"),
				  (uint64_t)((unsigned __int128)V * done / D));
		igt_assert_eq(wait_for(dev.fd, job, 0, &w), -ETIME);
	}
	/* at a quarter of the clock it takes four times as long */
	igt_vsoc_debugfs(&dev, "shader_hz", "125000000");
	igt_vsoc_debugfs_u64(&dev, "step_ns", 4 * (D + JOB_END_NS));
	igt_vsoc_debugfs(&dev, "shader_hz", "500000000");
	igt_assert_eq(wait_for(dev.fd, job, 1000 * MS, &w), 0);
	igt_vsoc_truth(&dev, &after);
	igt_assert_eq_u64(moved(DRM_PERFCTR_BLOCK_TILER, "VERTICES"), V);
	stepped(false);
	igt_vsoc_work(&dev, 1);
}

static void step_errors(void)
{
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "step_ns", "1"), -EINVAL);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "0"), -EALREADY);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "2"), -EINVAL);
	stepped(true);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "stepped", "1"), -EALREADY);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "step_ns", "3600000000000"), -ERANGE);
	stepped(false);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "profile", "nonsense"), -EINVAL);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "miscount", "nonsense"), -EINVAL);
}

static void fair(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_device other;
	uint32_t ctx[CONTEXTS], file;
	struct accounts accounts;
	unsigned int seen = 0;

	igt_perfctr_reopen(&other, &dev);
	file = file_number(&other);
	stepped(true);
	c.wait.duration_ns = 100000;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = ctx_create(other.fd);
	/* the first context queues all its jobs before the second one comes, and so on */
	for (unsigned int i = 0; i < CONTEXTS; i++)
		for (unsigned int n = 0; n < 6; n++)
			igt_assert_eq(submit_to(other.fd, ctx[i], &c, 1, NULL, NULL), 0);
	for (unsigned int n = 0; n < 6 * CONTEXTS; n++) {
		uint64_t least = UINT64_MAX, most = 0;

		igt_vsoc_debugfs_u64(&dev, "step_ns",
				     c.wait.duration_ns + COMMAND_NS + JOB_START_NS + JOB_END_NS);
		read_accounts("JOBS_DONE", &accounts);
		igt_assert_eq(accounts.wrong, 0);
		for (unsigned int i = 0; i < CONTEXTS; i++) {
			uint64_t jobs = account_of(&accounts, file, ctx[i]);

			least = jobs < least ? jobs : least;
			most = jobs > most ? jobs : most;
		}
		igt_assert_lte_u64(most, least + 1);
		seen += most > least;
	}
	igt_assert_lt(0, seen);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		igt_assert_eq_u64(account_of(&accounts, file, ctx[i]), 6);
	stepped(false);
	igt_perfctr_close(&other);
}

/* GPU timestamps become CLOCK_MONOTONIC_RAW within a tick, whatever the clocks do */
static void time_bound(void)
{
	static const char *const files[] = { "top_hz", "coregroup_hz", "shader_hz" };
	static const uint64_t nominal[] = { 1000000000, 800000000, 500000000 };
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_session s;
	uint64_t worst_ns = 0, apart;

	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 4;
	igt_perfctr_session_create(&s);
	stepped(true);
	c.wait.duration_ns = 200 * MS;
	igt_assert_eq(submit_to(dev.fd, 0, &c, 1, NULL, NULL), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	for (unsigned int i = 0; i < 60; i++) {
		char text[24];

		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)(nominal[i % 3] >> (i * 7 % 5)));
		igt_vsoc_debugfs(&dev, files[i % 3], text);
		igt_vsoc_debugfs_u64(&dev, "step_ns", 1 + i * 12345 % 999983);
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		igt_assert_eq(igt_perfctr_drain(&s), 1);
		apart = s.last.end_ns > igt_vsoc_device_ns(&dev) ?
				s.last.end_ns - igt_vsoc_device_ns(&dev) :
				igt_vsoc_device_ns(&dev) - s.last.end_ns;
		worst_ns = apart > worst_ns ? apart : worst_ns;
	}
	for (unsigned int i = 0; i < 3; i++) {
		char text[24];

		snprintf(text, sizeof(text), "%llu", (unsigned long long)nominal[i]);
		igt_vsoc_debugfs(&dev, files[i], text);
	}
	igt_info("largest error: %llu ns\n", (unsigned long long)worst_ns);
	stepped(false);
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
	igt_assert_lte_u64(worst_ns, TICK_NS);
}

/* the same with real time: the sample was taken between two looks at the clock */
static void time_bound_real(void)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_create(&s);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	for (unsigned int i = 0; i < 40; i++) {
		struct timespec a, b;
		uint64_t from, to;
		char text[24];

		snprintf(text, sizeof(text), "%u", 500000000u >> i % 4);
		igt_vsoc_debugfs(&dev, "shader_hz", text);
		igt_vsoc_work(&dev, i % 3);
		clock_gettime(CLOCK_MONOTONIC_RAW, &a);
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
		clock_gettime(CLOCK_MONOTONIC_RAW, &b);
		igt_perfctr_drain(&s);
		from = a.tv_sec * 1000000000ull + a.tv_nsec;
		to = b.tv_sec * 1000000000ull + b.tv_nsec;
		igt_assert_lte_u64(from, s.last.end_ns + TICK_NS);
		igt_assert_lte_u64(s.last.end_ns, to + TICK_NS);
	}
	igt_vsoc_debugfs(&dev, "shader_hz", "500000000");
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
}

/* a new device, with time as the module parameter says */
static void rebind(const char *parameter)
{
	igt_perfctr_close(&dev);
	igt_require_write("/sys/module/vsoc/parameters/stepped", parameter);
	igt_require_write("/sys/bus/platform/drivers/vsoc/unbind", "vsoc.0");
	igt_require_write("/sys/bus/platform/drivers/vsoc/bind", "vsoc.0");
	igt_assert(igt_perfctr_open(&dev, "vsoc"));
}

/* everything that a ring holds after a run that the seed decides */
static size_t seeded_run(uint64_t seed, uint8_t **ring)
{
	struct igt_perfctr_session s;
	uint32_t ctx[CONTEXTS];
	uint64_t x = seed;
	uint64_t bytes;

	rebind("Y");
	igt_perfctr_session_init(&s, &dev);
	s.setup.slots = 64;
	igt_perfctr_session_create(&s);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = ctx_create(dev.fd);
	igt_vsoc_debugfs_u64(&dev, "step_ns", 1000 + seed);
	igt_assert_eq(igt_perfctr_start(&s, seed), 0);
	for (unsigned int i = 0; i < 40; i++) {
		struct drm_vsoc_command c[4];

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		igt_vsoc_mixed(c, x >> 60);
		memset(&c[3], 0, sizeof(c[3]));
		c[3].type = DRM_VSOC_CMD_SAMPLE;
		c[3].sample.handle = s.handle;
		c[3].sample.user_data = i;
		igt_assert_eq(submit_to(dev.fd, ctx[x >> 40 & 3], c, i % 4 ? 3 : 4, NULL, NULL), 0);
		igt_vsoc_debugfs_u64(&dev, "step_ns", x >> 47);
		if (i % 3 == 0)
			igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	igt_vsoc_debugfs_u64(&dev, "step_ns", 20 * MS);
	igt_assert_eq(igt_perfctr_stop(&s, 1), 0);
	bytes = (uint64_t)s.setup.slots * s.setup.slot_stride;
	*ring = malloc(bytes);
	igt_assert(*ring);
	memcpy(*ring, s.ring, bytes);
	igt_assert_lt(20, igt_perfctr_unread(&s));
	igt_perfctr_session_fini(&s);
	return bytes;
}

static void repeats(void)
{
	uint8_t *first, *second, *other;
	size_t bytes = seeded_run(7, &first);

	igt_assert_eq(seeded_run(7, &second), bytes);
	igt_assert_eq(seeded_run(8, &other), bytes);
	for (size_t i = 0; i < bytes; i++)
		igt_assert_f(first[i] == second[i], "byte %zu of %zu: %#x, %#x\n", i, bytes,
			     first[i], second[i]);
	igt_assert(memcmp(first, other, bytes));
	free(first);
	free(second);
	free(other);
}

igt_main
{
	igt_fixture
	{
		struct drm_vsoc_get_info get = { .pointer = (uintptr_t)&info,
						 .size = sizeof(info) };

		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_GET_INFO, &get), 0);
	}

	igt_describe("published measurements, through jobs and sessions");
	igt_subtest("listing-measured")
	{
		for (unsigned int i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
			uint64_t counts[THREAD_COUNTERS];

			run_kernel(&kernels[i], counts);
			assert_counts(counts, kernels[i].counts);
		}
	}
	igt_describe("each wrong counter logic is wrong in its own way only");
	igt_subtest("listing-miscounts") miscounts();
	igt_describe(
		"a listing that is wrong, too long or does not end is refused, by an errno of its own");
	igt_subtest("listing-errors") listing_errors();
	igt_describe("every field of SUBMIT and of its commands that is out of range is refused");
	igt_subtest("submit-errors") submit_errors();
	igt_describe("without a free file descriptor for the fence nothing is queued: -EMFILE");
	igt_subtest("submit-emfile") submit_emfile();
	igt_describe("a context takes so many unfinished jobs, then -EAGAIN until one is done");
	igt_subtest("submit-queue-full") queue_full();
	igt_describe("WAIT refuses wrong fields and jobs that never were, and ends at its timeout");
	igt_subtest("wait-errors") wait_errors();
	igt_describe("contexts that do not exist, one too many and the default one are refused");
	igt_subtest("context-errors") ctx_errors();
	igt_describe("GET_INFO takes any size that makes sense and refuses all others");
	igt_subtest("info-errors") info_errors();
	igt_describe(
		"an out-fence signals at the end of its job, tells how it ended and outlives its file");
	igt_subtest("fences") fences();
	igt_describe("destroying a context cuts its running job short, and others go on");
	igt_subtest("context-destroy-running") destroy_running();
	igt_describe("the truth by context adds up to the truth, at any moment");
	igt_subtest("truth-contexts") contexts_add_up();
	igt_describe("contexts beyond the number of accounts share one, and nothing is lost");
	igt_subtest("truth-contexts-bounded") accounts_bounded();
	igt_describe(
		"between two samples in a job are exactly the counts of the commands between them");
	igt_subtest("attribution-exact") attribution();
	igt_describe(
		"stepped time moves by what is asked for, to the nanosecond, and not otherwise");
	igt_subtest("time-stands-still") time_stands_still();
	igt_describe("steps beyond their range and steps of a device whose time runs are refused");
	igt_subtest("step-errors") step_errors();
	igt_describe("contexts take turns, whoever queued first or more");
	igt_subtest("contexts-fair") fair();
	igt_describe(
		"GPU time converted to CLOCK_MONOTONIC_RAW stays within its bound, in stepped time");
	igt_subtest("time-bound") time_bound();
	igt_describe(
		"GPU time converted to CLOCK_MONOTONIC_RAW stays within its bound, in real time");
	igt_subtest("time-bound-real") time_bound_real();
	igt_describe("the same seed gives the same ring, timestamps included");
	igt_subtest("stepped-repeats") repeats();

	igt_fixture
	{
		rebind("N");
		igt_perfctr_close(&dev);
	}
}
