// SPDX-License-Identifier: MIT
/*
 * A client of Mesa's counter sessions on panthor (mesa/upstream/panthor), with all counters.
 *
 * usage: kmod-perf NODE PERIOD_NS. Prints "created MIN_PERIOD_NS". Then for each line of standard
 * input: "enable", "disable": prints the result; "dump": prints the span in ns of the GPU's
 * timestamp, that timestamp or 0 if the driver does not tell it, then TYPE INDEX POSITION VALUE of
 * each counter that is not 0, and "end".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drm-uapi/panthor_drm.h"
#include "pan_kmod_backend.h"
#include "panthor_kmod_perf.h"

enum { MAX_INDEX = 64 };

static const char *const types[MALI_PERF_BLOCK_TYPE_COUNT] = {
	[MALI_PERF_BLOCK_GPU_FRONT_END] = "cshw",
	[MALI_PERF_BLOCK_MEMSYS] = "memsys",
	[MALI_PERF_BLOCK_SHADER_CORE] = "shader",
	[MALI_PERF_BLOCK_TILER] = "tiler",
};

/* --- what Mesa's kmod has, of the driver's uAPI --- */

void *pan_kmod_dev_alloc(struct pan_kmod_dev *dev, size_t size)
{
	(void)dev;
	return calloc(1, size);
}

void pan_kmod_dev_free(const struct pan_kmod_dev *dev, void *data)
{
	(void)dev;
	free(data);
}

struct pan_kmod_bo *pan_kmod_bo_alloc(struct pan_kmod_dev *dev, void *exclusive_vm, uint64_t size,
				      uint32_t flags)
{
	struct drm_panthor_bo_create create = { .size = size, .flags = flags };
	struct pan_kmod_bo *bo;

	if (exclusive_vm || drmIoctl(dev->fd, DRM_IOCTL_PANTHOR_BO_CREATE, &create))
		return NULL;
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		abort();
	bo->dev = dev;
	bo->handle = create.handle;
	bo->size = create.size;
	return bo;
}

void *pan_kmod_bo_mmap(struct pan_kmod_bo *bo, int prot, int flags, void *host_addr)
{
	struct drm_panthor_bo_mmap_offset map = { .handle = bo->handle };

	if (drmIoctl(bo->dev->fd, DRM_IOCTL_PANTHOR_BO_MMAP_OFFSET, &map))
		return MAP_FAILED;
	return mmap(host_addr, bo->size, prot, flags, bo->dev->fd, (off_t)map.offset);
}

void pan_kmod_bo_put(struct pan_kmod_bo *bo)
{
	drmCloseBufferHandle(bo->dev->fd, bo->handle);
	free(bo);
}

static struct drm_panthor_timestamp_info timestamp(const struct pan_kmod_dev *dev)
{
	struct drm_panthor_timestamp_info info = { 0 };
	struct drm_panthor_dev_query query = { .type = DRM_PANTHOR_DEV_QUERY_TIMESTAMP_INFO,
					       .size = sizeof(info),
					       .pointer = (uintptr_t)&info };

	drmIoctl(dev->fd, DRM_IOCTL_PANTHOR_DEV_QUERY, &query);
	return info;
}

uint64_t pan_kmod_query_timestamp(const struct pan_kmod_dev *dev)
{
	return timestamp(dev).current_timestamp;
}

/* --- the client --- */

static void dump(struct pan_kmod_perf_session *session)
{
	struct mali_perf_backend *backend = &session->mali_perf_backend;
	struct mali_perf_dump_info info;

	panthor_kmod_perf_dump(session, &info);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", info.time_span.start_ns,
	       info.time_span.end_ns,
	       pan_kmod_timestamp_cycles_to_ns(session->dev,
					       pan_kmod_query_timestamp(session->dev)));
	for (int8_t type = 0; type < MALI_PERF_BLOCK_TYPE_COUNT; type++)
		for (uint8_t i = 0; i < MAX_INDEX; i++)
			for (uint16_t c = 0; c < MALI_PERF_MAX_COUNTERS_PER_BLOCK; c++) {
				struct mali_perf_hw_counter_id id = { .block = { type, i },
								      .index = c };
				int64_t value = backend->get_hw_counter_value(backend, id);

				if (value)
					printf("%s %u %u %" PRId64 "\n", types[type], i, c, value);
			}
	puts("end");
}

int main(int argc, char **argv)
{
	struct pan_kmod_perf_config config = { 0 };
	struct pan_kmod_perf_session *session;
	struct pan_kmod_dev dev = { 0 };
	struct drm_panthor_timestamp_info time;
	char line[16];

	if (argc != 3) {
		fputs("usage: kmod-perf NODE PERIOD_NS\n", stderr);
		return 2;
	}
	dev.fd = open(argv[1], O_RDWR | O_CLOEXEC);
	time = timestamp(&dev);
	if (time.timestamp_frequency)
		dev.timestamp_cycles_to_ns_factor = 1e9 / (double)time.timestamp_frequency;
	setvbuf(stdout, NULL, _IOLBF, 0);
	session = panthor_kmod_perf_create(&dev);
	if (!session) {
		puts("not created");
		return 1;
	}
	printf("created %" PRIu64 "\n", session->caps.min_sampling_period_ns);
	config.sampling_period_ns = strtoull(argv[2], NULL, 10);
	memset(config.blocks, 0xff, sizeof(config.blocks));
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "enable\n"))
			printf("%d\n", panthor_kmod_perf_enable(session, &config));
		else if (!strcmp(line, "disable\n"))
			printf("%d\n", panthor_kmod_perf_disable(session));
		else
			dump(session);
	}
	panthor_kmod_perf_destroy(session);
	close(dev.fd);
	return 0;
}
