// SPDX-License-Identifier: GPL-2.0
/*
 * A session in a 32-bit process: the structures are the same, so every command must work without a
 * compat layer, and counts equal those in debugfs. Prints TAP.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/vsoc_drm.h>

#define SLOTS		4
#define VERTICES	4711
#define JOB_TIMEOUT_NS	10000000000ll

static int fd = -1;
static int minor;
static unsigned int tests, failed;

static void result(int ok, const char *what)
{
	printf("%s %u - compat32: %s\n", ok ? "ok" : "not ok", ++tests, what);
	if (!ok) {
		failed++;
		printf("# errno %d\n", errno);
	}
}

static int open_vsoc(void)
{
	char path[32], name[8] = "";

	for (minor = 128; minor < 192; minor++) {
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

		snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strncmp(name, "vsoc", 4))
			return 1;
		close(fd);
	}
	return 0;
}

static int control(__u32 cmd, __u32 *handle, void *arg, __u64 size)
{
	struct drm_perfctr_control c = {
		.cmd = cmd, .handle = *handle, .size = size, .pointer = (uintptr_t)arg,
	};
	int ret = ioctl(fd, DRM_IOCTL_PERFCTR_CONTROL, &c);

	*handle = c.handle;
	return ret;
}

/* sum of one counter of all blocks of a type */
static __u64 total_of(const char *type, const char *counter)
{
	char path[64], t[16], n[64];
	unsigned long long value;
	unsigned int index, number;
	__u64 sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/truth", minor);
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (fscanf(f, "%15s %u %u %63s %llu", t, &index, &number, n, &value) == 5)
		if (!strcmp(t, type) && !strcmp(n, counter))
			sum += value;
	fclose(f);
	return sum;
}

static int counter_number(const char *type, const char *counter)
{
	char path[64], t[16], n[64];
	unsigned long long value;
	unsigned int index, number;
	int found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/truth", minor);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fscanf(f, "%15s %u %u %63s %llu", t, &index, &number, n, &value) == 5)
		if (!strcmp(t, type) && !strcmp(n, counter))
			found = number;
	fclose(f);
	return found;
}

static int run_job(void)
{
	struct drm_vsoc_command command = {
		.type = DRM_VSOC_CMD_DRAW,
		.draw = { .vertices = VERTICES, .primitives = 100 },
	};
	struct drm_vsoc_submit submit = {
		.commands = (uintptr_t)&command, .command_count = 1,
		.command_stride = sizeof(command),
	};
	struct drm_vsoc_wait wait = { .timeout_ns = JOB_TIMEOUT_NS };

	if (ioctl(fd, DRM_IOCTL_VSOC_SUBMIT, &submit))
		return -1;
	wait.job_id = submit.job_id;
	return ioctl(fd, DRM_IOCTL_VSOC_WAIT, &wait) ?: wait.status;
}

/* sum of the only counter of the only block over all samples */
static __u64 drain(struct drm_perfctr_ring_control *c, const __u8 *ring, __u32 stride,
		   unsigned int *samples)
{
	__u64 insert = __atomic_load_n(&c->insert_idx, __ATOMIC_ACQUIRE);
	__u64 sum = 0, i;

	for (i = 0; i < insert; i++) {
		const struct drm_perfctr_sample_header *h =
			(const void *)(ring + (i & (SLOTS - 1)) * stride);
		const struct drm_perfctr_block_header *b =
			(const void *)((const char *)h + h->header_size);
		__u64 value;

		memcpy(&value, (const char *)b + b->header_size, sizeof(value));
		if (h->block_count == 1 && b->type == DRM_PERFCTR_MALI_BLOCK_TILER)
			sum += value;
		(*samples)++;
	}
	__atomic_store_n(&c->extract_idx, insert, __ATOMIC_RELEASE);
	return sum;
}

int main(void)
{
	struct drm_perfctr_query query = { .type = DRM_PERFCTR_QUERY_DEVICE };
	struct drm_perfctr_block_request request = { .type = DRM_PERFCTR_MALI_BLOCK_TILER };
	struct drm_perfctr_setup setup = {
		.flags = DRM_PERFCTR_SETUP_TEST_ONLY, .slots = SLOTS, .eventfd = -1,
		.requests = (uintptr_t)&request, .request_count = 1,
		.request_stride = sizeof(request),
	};
	struct drm_perfctr_ring_control *c;
	struct drm_perfctr_status status;
	__u64 tag = 0x1234567890abcdefull, before, after;
	unsigned int samples = 0;
	__u32 handle = 0;
	__u8 *ring;
	int number;

	if (sizeof(void *) != 4) {
		printf("Bail out! not a 32-bit program\n");
		return 1;
	}
	if (!open_vsoc()) {
		printf("1..0 # SKIP no virtual SoC\n");
		return 0;
	}
	result(!ioctl(fd, DRM_IOCTL_PERFCTR_QUERY, &query) &&
	       query.stride == sizeof(struct drm_perfctr_device_info), "query");

	number = counter_number("TILER", "VERTICES");
	result(number >= 0 && number < 64, "the counter's number is in debugfs");
	request.mask = 1ull << (number & 63);
	result(!control(DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup)), "TEST_ONLY");

	setup.flags = 0;
	result(!control(DRM_PERFCTR_CMD_SETUP, &handle, &setup, sizeof(setup)) && handle, "SETUP");
	c = mmap(NULL, setup.ring_offset, PROT_READ | PROT_WRITE, MAP_SHARED, setup.ring_fd, 0);
	ring = mmap(NULL, setup.ring_bytes, PROT_READ, MAP_SHARED, setup.ring_fd,
		    setup.ring_offset);
	result(ring != MAP_FAILED && (void *)c != MAP_FAILED, "mappings");
	if (ring == MAP_FAILED || (void *)c == MAP_FAILED)
		goto out;

	before = total_of("TILER", "VERTICES");
	result(!control(DRM_PERFCTR_CMD_START, &handle, &tag, sizeof(tag)), "START");
	result(!run_job(), "job");
	result(!control(DRM_PERFCTR_CMD_SAMPLE, &handle, &tag, sizeof(tag)), "SAMPLE");
	result(!run_job(), "second job");
	result(!control(DRM_PERFCTR_CMD_STOP, &handle, &tag, sizeof(tag)), "STOP");
	after = total_of("TILER", "VERTICES");
	result(!control(DRM_PERFCTR_CMD_STATUS, &handle, &status, sizeof(status)) &&
	       status.insert_idx == 2, "STATUS");
	result(after - before == 2 * VERTICES, "truth has both jobs");
	result(drain(c, ring, setup.slot_stride, &samples) == after - before && samples == 2,
	       "samples add up to the truth");
	result(((struct drm_perfctr_sample_header *)ring)->user_data == tag, "64-bit user_data");
	result(!control(DRM_PERFCTR_CMD_TEARDOWN, &handle, NULL, 0), "TEARDOWN");
out:
	printf("1..%u\n", tests);
	return failed ? 1 : 0;
}
