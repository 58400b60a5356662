// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define JOB_TIMEOUT_NS 20000000000ll

static int control_query(const struct igt_perfctr_device *dev, void *info, uint32_t *bytes)
{
	struct drm_vsoc_get_info get = { .pointer = (uintptr_t)info, .size = *bytes };
	int ret = igt_perfctr_ioctl(dev->fd, DRM_IOCTL_VSOC_CONTROL_INFO, &get);

	*bytes = get.size;
	return ret;
}

static int create_buffer(int fd, uint64_t *bytes, uint32_t *handle, uint64_t *offset)
{
	struct drm_vsoc_bo_create bo = { .size = *bytes };
	int ret = igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_BO_CREATE, &bo);

	*bytes = bo.size;
	*handle = bo.handle;
	*offset = bo.mmap_offset;
	return ret;
}

static const struct igt_known vsoc = {
	.driver = "vsoc",
	.submit = DRM_IOCTL_VSOC_SUBMIT,
	.work = igt_vsoc_work,
	.truth = igt_vsoc_truth,
	.control_query = control_query,
	.create_buffer = create_buffer,
};

static void __attribute__((constructor)) add_vsoc(void)
{
	igt_known = &vsoc;
}

void igt_vsoc_require(const struct igt_perfctr_device *dev)
{
	igt_require_f(dev->known == &vsoc,
		      "only the virtual SoC has known jobs, true counts and faults\n");
}

void igt_vsoc_only(const struct igt_perfctr_device *dev, void (*test)(void))
{
	igt_vsoc_require(dev);
	test();
}

struct drm_vsoc_command igt_vsoc_sample(const struct igt_perfctr_session *s, uint64_t user_data)
{
	return (struct drm_vsoc_command){
		.type = DRM_VSOC_CMD_SAMPLE,
		.sample = { .session = s->fd, .user_data = user_data },
	};
}

void igt_vsoc_mixed(struct drm_vsoc_command commands[3], unsigned int n)
{
	memset(commands, 0, 3 * sizeof(commands[0]));
	commands[0].type = DRM_VSOC_CMD_DRAW;
	commands[0].draw.vertices = 300 + 17 * n;
	commands[0].draw.primitives = 100 + 5 * n;
	commands[0].draw.primitives_culled = 11 + n;
	commands[0].draw.fragments = 5000 + 301 * n;
	commands[0].draw.texels = 7000 + 13 * n;
	commands[1].type = DRM_VSOC_CMD_COMPUTE;
	commands[1].compute.threads = 4001 + 100 * n;
	commands[1].compute.instructions = 64;
	commands[2].type = DRM_VSOC_CMD_COPY;
	commands[2].copy.flags = DRM_VSOC_COPY_READ | DRM_VSOC_COPY_WRITE;
	commands[2].copy.bytes = DRM_VSOC_LINE_BYTES * (1000 + n);
}

int igt_vsoc_submit_to(int fd, uint32_t ctx, const struct drm_vsoc_command *commands,
		       unsigned int count, uint64_t *job, int *fence)
{
	struct drm_vsoc_submit submit = {
		.flags = fence ? DRM_VSOC_SUBMIT_FENCE_OUT : 0,
		.ctx_id = ctx,
		.commands = (uintptr_t)commands,
		.command_count = count,
		.command_stride = sizeof(*commands),
	};
	int ret = igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_SUBMIT, &submit);

	if (!ret && job)
		*job = submit.job_id;
	if (!ret && fence)
		*fence = submit.fence_fd;
	return ret;
}

uint64_t igt_vsoc_submit(const struct igt_perfctr_device *dev,
			 const struct drm_vsoc_command *commands, unsigned int count)
{
	uint64_t job = 0;

	igt_vsoc_require(dev);
	igt_assert_eq(
		igt_vsoc_submit_to(dev->fd, DRM_VSOC_CTX_DEFAULT, commands, count, &job, NULL), 0);
	return job;
}

int igt_vsoc_wait_for(int fd, uint64_t job, int64_t timeout_ns, struct drm_vsoc_wait *wait)
{
	*wait = (struct drm_vsoc_wait){ .job_id = job, .timeout_ns = timeout_ns };
	return igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_WAIT, wait);
}

struct drm_vsoc_wait igt_vsoc_wait(const struct igt_perfctr_device *dev, uint64_t job)
{
	struct drm_vsoc_wait wait = { .job_id = job, .timeout_ns = JOB_TIMEOUT_NS };
	int ret;

	do {
		ret = igt_perfctr_ioctl(dev->fd, DRM_IOCTL_VSOC_WAIT, &wait);
	} while (ret == -EINTR);
	igt_assert_eq(ret, 0);
	return wait;
}

void igt_vsoc_work(const struct igt_perfctr_device *dev, unsigned int n)
{
	struct drm_vsoc_command commands[3];

	igt_vsoc_mixed(commands, n);
	igt_assert_eq(igt_vsoc_wait(dev, igt_vsoc_submit(dev, commands, 3)).status, 0);
}

void *igt_vsoc_buffer(int fd, uint64_t bytes, uint32_t *handle, uint64_t *mapped)
{
	struct drm_vsoc_bo_create bo = { .size = bytes };
	void *map;

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_BO_CREATE, &bo), 0);
	map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, bo.mmap_offset);
	igt_assert(map != MAP_FAILED);
	*handle = bo.handle;
	*mapped = bo.size;
	return map;
}

void igt_vsoc_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args), 0);
}

uint32_t igt_vsoc_ctx_create(int fd)
{
	struct drm_vsoc_ctx_create create = { 0 };

	igt_assert_eq(igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), 0);
	igt_assert(create.ctx_id != DRM_VSOC_CTX_DEFAULT);
	return create.ctx_id;
}

int igt_vsoc_ctx_destroy(int fd, uint32_t ctx)
{
	struct drm_vsoc_ctx_destroy destroy = { .ctx_id = ctx };

	return igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_CTX_DESTROY, &destroy);
}

int igt_vsoc_ctx_hold(int fd, uint32_t ctx, uint32_t hold)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = ctx, .hold = hold };

	return igt_perfctr_ioctl(fd, DRM_IOCTL_VSOC_CTX_HOLD, &args);
}

static void debugfs_path(const struct igt_perfctr_device *dev, const char *file, char *path,
			 size_t size)
{
	snprintf(path, size, "/sys/kernel/debug/dri/%d/vsoc/%s", dev->minor, file);
}

static uint16_t type_of(const char *name)
{
	static const char *const names[] = {
		[DRM_PERFCTR_MALI_BLOCK_FW] = "FW",
		[DRM_PERFCTR_MALI_BLOCK_CSHW] = "CSHW",
		[DRM_PERFCTR_MALI_BLOCK_TILER] = "TILER",
		[DRM_PERFCTR_MALI_BLOCK_MEMSYS] = "MEMSYS",
		[DRM_PERFCTR_MALI_BLOCK_SHADER] = "SHADER",
		[DRM_PERFCTR_NV50_BLOCK_PCOUNTER] = "PCOUNTER",
		[DRM_PERFCTR_NV50_BLOCK_MP] = "MP",
	};

	for (unsigned int i = 1; i < ARRAY_SIZE(names); i++)
		if (names[i] && !strcmp(name, names[i]))
			return i;
	return 0;
}

void igt_vsoc_truth(const struct igt_perfctr_device *dev, struct igt_truth *truth)
{
	igt_vsoc_truth_of_set(dev, DRM_PERFCTR_SET_PRIMARY, truth);
}

static FILE *open_of_set(const struct igt_perfctr_device *dev, const char *file, unsigned int set)
{
	static const char *const sets[] = { "", "_secondary", "_tertiary" };
	char path[96], of_set[32];

	snprintf(of_set, sizeof(of_set), "%s%s", file, sets[set]);
	debugfs_path(dev, of_set, path, sizeof(path));
	return fopen(path, "re");
}

/* read the next counter of a file, without its value */
static bool read_counter(FILE *f, struct igt_true_counter *c)
{
	unsigned long long value;
	char type[16];

	if (fscanf(f, "%15s %hu %hu %39s %llu", type, &c->index, &c->counter, c->name, &value) != 5)
		return false;
	c->type = type_of(type);
	c->value = value;
	return true;
}

/* the whole file was read, unless its device was removed meanwhile */
static bool close_whole(FILE *f)
{
	bool whole = feof(f) && !ferror(f);

	fclose(f);
	return whole;
}

/* skips without debugfs */
static void require_file(const struct igt_perfctr_device *dev, const char *name)
{
	char path[96];

	igt_vsoc_require(dev);
	debugfs_path(dev, name, path, sizeof(path));
	igt_require_f(!access(path, R_OK), "%s: %s\n", path, strerror(errno));
}

static bool try_truth(const struct igt_perfctr_device *dev, unsigned int set,
		      struct igt_truth *truth)
{
	FILE *f = open_of_set(dev, "truth", set);

	if (!f)
		return false;
	truth->count = 0;
	while (truth->count < IGT_TRUTH_MAX && read_counter(f, &truth->at[truth->count]))
		truth->count++;
	return close_whole(f) && truth->count;
}

void igt_vsoc_truth_of_set(const struct igt_perfctr_device *dev, unsigned int set,
			   struct igt_truth *truth)
{
	require_file(dev, "truth");
	igt_assert_f(try_truth(dev, set, truth), "vsoc/truth of debugfs is incomplete: %s\n",
		     strerror(errno));
}

bool igt_vsoc_try_totals(const struct igt_perfctr_device *dev, unsigned int set,
			 struct igt_vsoc_totals *totals)
{
	FILE *f = open_of_set(dev, "counts", set);
	unsigned int i = 0;

	memset(totals, 0, sizeof(*totals));
	if (!f)
		return try_truth(dev, set, &totals->truth);
	for (; i < IGT_TRUTH_MAX && read_counter(f, &totals->truth.at[i]); i++) {
		unsigned long long dropped, doubtful, pending;

		if (fscanf(f, "%llu %llu %llu", &dropped, &doubtful, &pending) != 3)
			break;
		totals->dropped[i] = dropped;
		totals->doubtful[i] = doubtful;
		totals->pending[i] = pending;
	}
	totals->truth.count = i;
	return close_whole(f) && i;
}

void igt_vsoc_totals(const struct igt_perfctr_device *dev, unsigned int set,
		     struct igt_vsoc_totals *totals)
{
	require_file(dev, "truth");
	igt_assert_f(igt_vsoc_try_totals(dev, set, totals),
		     "vsoc/counts of debugfs is incomplete: %s\n", strerror(errno));
}

void igt_vsoc_print_log(const struct igt_perfctr_device *dev)
{
	char path[96], line[256];
	FILE *f;

	debugfs_path(dev, "log", path, sizeof(path));
	f = fopen(path, "r");
	if (!f)
		return;
	fprintf(stderr, "the last events of %s:\n", path);
	while (fgets(line, sizeof(line), f))
		fputs(line, stderr);
	fclose(f);
}

uint16_t igt_vsoc_counter(const struct igt_truth *truth, uint16_t type, const char *name)
{
	for (unsigned int i = 0; i < truth->count; i++)
		if (truth->at[i].type == type && !strcmp(truth->at[i].name, name))
			return truth->at[i].counter;
	igt_assert_f(false, "no counter %s\n", name);
	return 0;
}

void igt_vsoc_start(struct igt_perfctr_session *s, struct igt_truth *before)
{
	igt_vsoc_require(s->dev);
	igt_known_start(s, before);
}

void igt_vsoc_stop_conserved(struct igt_perfctr_session *s, const struct igt_truth *before)
{
	igt_vsoc_require(s->dev);
	igt_known_stop(s, before);
}

void igt_vsoc_conserve(struct igt_perfctr_session *s, unsigned int jobs,
		       void (*step)(struct igt_perfctr_session *s, unsigned int n))
{
	igt_vsoc_require(s->dev);
	igt_known_conserve(s, jobs, step);
}

int igt_vsoc_debugfs_try(const struct igt_perfctr_device *dev, const char *file, const char *text)
{
	char path[96];

	debugfs_path(dev, file, path, sizeof(path));
	return igt_write(path, text);
}

void igt_vsoc_debugfs(const struct igt_perfctr_device *dev, const char *file, const char *text)
{
	require_file(dev, file);
	igt_assert_eq(igt_vsoc_debugfs_try(dev, file, text), 0);
}

void igt_vsoc_debugfs_u64(const struct igt_perfctr_device *dev, const char *file, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	igt_vsoc_debugfs(dev, file, text);
}

uint64_t igt_vsoc_ucf_bytes_read(const struct igt_perfctr_device *dev)
{
	static const char event[] = " slc_bytes_rd=";
	char path[96], line[1024];
	uint64_t bytes = 0;
	bool ours = false;
	FILE *f;

	debugfs_path(dev, "soc", path, sizeof(path));
	f = fopen(path, "r");
	if (!f)
		return 0;
	/* "[PMU]", its state, a line for each kind of traffic */
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, event);

		if (*line == '[')
			ours = !strncmp(line, "[nvidia_ucf_pmu_0]", 18);
		else if (ours && at)
			bytes += strtoull(at + strlen(event), NULL, 10);
	}
	fclose(f);
	return bytes;
}

void igt_vsoc_settle(const struct igt_perfctr_device *dev)
{
	/* PRFCNT_ENABLE and PRFCNT_SAMPLE of the global interface */
	const uint64_t requests = 3ull << 5;
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (unsigned int i = 0;
	     (igt_vsoc_firmware(dev, "req") ^ igt_vsoc_firmware(dev, "ack")) & requests; i++) {
		igt_assert_lt(i, 1000);
		nanosleep(&pause, NULL);
	}
}

uint64_t igt_vsoc_firmware(const struct igt_perfctr_device *dev, const char *name)
{
	uint64_t value;

	require_file(dev, "firmware");
	igt_assert_f(igt_debugfs_number(dev, "vsoc/firmware", name, &value),
		     "no %s in vsoc/firmware: %s\n", name, strerror(errno));
	return value;
}
