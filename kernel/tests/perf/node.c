// SPDX-License-Identifier: MIT
/*
 * perfctr_soc: the PMUs of the machine through a DRM node without a GPU. The samples of a session
 * with UCF, CMEM and filtered PCIE blocks add up to the truth and to concurrent perf events.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/perfctr_drm.h>
#include <drm/perfctr_tegra410.h>

#include "../query_nr.h"
#include "soc.h"

#define DRIVER "perfctr_soc"
/* a node without a GPU has no wake-up and no transitions of one */
#define FEATURES (DRM_PERFCTR_FEATURE_PMU | DRM_PERFCTR_FEATURE_PERIODIC)
#define LACKS (DRM_PERFCTR_FEATURE_KEEP_AWAKE | DRM_PERFCTR_FEATURE_AUTOMATIC | \
	       DRM_PERFCTR_FEATURE_GPU_TIMESTAMP)
#define NODES 16
#define SLOTS 8
#define BIT(n) (UINT64_C(1) << (n))
#define UCF "nvidia_ucf_pmu_0"
#define CMEM "nvidia_cmem_latency_pmu_0"
#define PCIE "nvidia_pcie_pmu_0_rc_4"
#define BDF UINT64_C(0x0108)
#define JOB                                                                          \
	"copy bytes=64Ki read write initiator=cpu home=cmem socket=0 " \
	"copy bytes=4Ki read initiator=noncpu home=cmem socket=0 "                   \
	"pcie bytes=8Ki read socket=0 rc=4 rp=1 bdf=0x108 home=cmem "                \
	"pcie bytes=16Ki read socket=0 rc=4 rp=1 bdf=0x109 home=cmem "               \
	"copy bytes=64Ki dataless initiator=cpu home=cmem socket=0"

enum { BLOCK_UCF, BLOCK_CMEM, BLOCK_PCIE, BLOCKS };

static int open_node(void)
{
	char path[64], name[64];
	struct drm_version version;
	int fd, i;

	for (i = 0; i < NODES; i++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", 128 + i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		version = (struct drm_version){ .name = name, .name_len = sizeof(name) - 1 };
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, DRIVER))
			return fd;
		close(fd);
	}
	return -1;
}

/* 0 or -errno */
static int command(int session, unsigned long request, __u64 user_data)
{
	struct drm_perfctr_command command = { .user_data = user_data };

	return ioctl(session, request, &command) ? -errno : 0;
}

static void fill_requests(struct drm_perfctr_block_request *requests)
{
	memset(requests, 0, BLOCKS * sizeof(*requests));
	requests[BLOCK_UCF] = (struct drm_perfctr_block_request){
		.type = DRM_PERFCTR_TEGRA410_BLOCK_UCF,
		.flags = DRM_PERFCTR_REQUEST_PMU,
		.cpu = DRM_PERFCTR_CPU_ANY,
		.mask = BIT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD) |
			BIT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR),
		.pmu_type = soc_pmu_type(UCF),
	};
	requests[BLOCK_CMEM] = (struct drm_perfctr_block_request){
		.type = DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY,
		.flags = DRM_PERFCTR_REQUEST_PMU,
		.cpu = DRM_PERFCTR_CPU_ANY,
		.mask = BIT(DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ) |
			BIT(DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS),
		.pmu_type = soc_pmu_type(CMEM),
	};
	requests[BLOCK_PCIE] = (struct drm_perfctr_block_request){
		.type = DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		.flags = DRM_PERFCTR_REQUEST_PMU,
		.index = 4,
		.cpu = DRM_PERFCTR_CPU_ANY,
		.mask = BIT(DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES),
		.pmu_type = soc_pmu_type(PCIE),
		.config1 = BDF << 8 | BIT(24),
	};
}

/* add the counters of all unread samples, two for each block */
static unsigned int drain(const char *ring, struct drm_perfctr_ring_control *control,
			  __u32 stride, __u64 totals[BLOCKS][2])
{
	__u32 insert = __atomic_load_n(&control->insert_idx, __ATOMIC_ACQUIRE);
	__u32 index = control->extract_idx;
	unsigned int samples = 0;

	for (; index != insert; index++, samples++) {
		const struct drm_perfctr_sample_header *sample =
			(const void *)(ring + (index % SLOTS) * stride);
		const char *at = (const char *)sample + sample->header_size;
		int i;

		for (i = 0; i < sample->block_count; i++) {
			const struct drm_perfctr_block_header *block = (const void *)at;
			const __u64 *counters = (const void *)(at + block->header_size);
			int which = block->type == DRM_PERFCTR_TEGRA410_BLOCK_UCF  ? BLOCK_UCF :
				    block->type == DRM_PERFCTR_TEGRA410_BLOCK_PCIE ? BLOCK_PCIE :
									    BLOCK_CMEM;

			totals[which][0] += counters[0];
			if (which != BLOCK_PCIE)
				totals[which][1] += counters[1];
			at += block->size;
		}
	}
	__atomic_store_n(&control->extract_idx, index, __ATOMIC_RELEASE);
	return samples;
}

static void session(int fd, unsigned int nr)
{
	struct drm_perfctr_block_request requests[BLOCKS];
	struct drm_perfctr_layout layout;
	struct drm_perfctr_open open = {
		.slots = SLOTS,
		.eventfd = -1,
		.requests = (uintptr_t)requests,
		.request_count = BLOCKS,
		.request_stride = sizeof(*requests),
		.layout = (uintptr_t)&layout,
		.layout_size = sizeof(layout),
	};
	__u64 totals[BLOCKS][2] = {}, truth[BLOCKS];
	struct drm_perfctr_ring_control *control;
	struct soc_count together;
	int event, ret, s, i;
	unsigned int samples;
	char *ring;

	fill_requests(requests);
	for (i = 0; i < 2; i++) {
		open.flags = i ? DRM_PERFCTR_OPEN_AUTOMATIC : DRM_PERFCTR_OPEN_KEEP_AWAKE;
		s = ioctl(fd, DRM_PERFCTR_IOCTL_OPEN(nr), &open);
		tap(s < 0 && errno == EOPNOTSUPP, "missing features are refused: flag %#x: %d",
		    open.flags, s);
	}
	open.flags = 0;
	s = ioctl(fd, DRM_PERFCTR_IOCTL_OPEN(nr), &open);
	if (!tap(s >= 0, "OPEN: %s", strerror(errno)))
		return;
	control = mmap(NULL, layout.ring_offset, PROT_READ | PROT_WRITE, MAP_SHARED, s, 0);
	ring = mmap(NULL, layout.map_bytes - layout.ring_offset, PROT_READ, MAP_SHARED, s,
		    layout.ring_offset);
	if (!tap(ring != MAP_FAILED && (void *)control != MAP_FAILED, "the ring is mapped"))
		return;

	event = soc_event(UCF, 0x123, 0, 0, -1);
	truth[BLOCK_UCF] = soc_truth(UCF, "mem_bytes_rd", "");
	truth[BLOCK_CMEM] = soc_truth(CMEM, "rd_cum_outs", "");
	truth[BLOCK_PCIE] = soc_truth(PCIE, "rd_bytes", "bdf=0x0108");
	ret = command(s, DRM_PERFCTR_IOCTL_START, 1);
	tap(!ret, "START: %s", strerror(-ret));
	for (i = 0; i < 3; i++) {
		soc_job(JOB);
		ret = command(s, DRM_PERFCTR_IOCTL_SAMPLE, 2);
	}
	tap(!ret, "SAMPLE: %s", strerror(-ret));
	ret = command(s, DRM_PERFCTR_IOCTL_STOP, 3);
	tap(!ret, "STOP: %s", strerror(-ret));
	together = soc_read(event);
	close(event);

	samples = drain(ring, control, layout.slot_stride, totals);
	tap(samples == 4, "three samples and the final one: %u", samples);
	truth[BLOCK_UCF] = soc_truth(UCF, "mem_bytes_rd", "") - truth[BLOCK_UCF];
	truth[BLOCK_CMEM] = soc_truth(CMEM, "rd_cum_outs", "") - truth[BLOCK_CMEM];
	truth[BLOCK_PCIE] = soc_truth(PCIE, "rd_bytes", "bdf=0x0108") - truth[BLOCK_PCIE];
	tap(totals[BLOCK_UCF][0] == truth[BLOCK_UCF] && truth[BLOCK_UCF],
	    "UCF bytes read: %lu of %lu", (unsigned long)totals[BLOCK_UCF][0],
	    (unsigned long)truth[BLOCK_UCF]);
	tap(totals[BLOCK_CMEM][1] == truth[BLOCK_CMEM] && truth[BLOCK_CMEM],
	    "CMEM requests in flight: %lu of %lu", (unsigned long)totals[BLOCK_CMEM][1],
	    (unsigned long)truth[BLOCK_CMEM]);
	tap(totals[BLOCK_PCIE][0] == truth[BLOCK_PCIE] && truth[BLOCK_PCIE],
	    "PCIE bytes of one device: %lu of %lu", (unsigned long)totals[BLOCK_PCIE][0],
	    (unsigned long)truth[BLOCK_PCIE]);
	tap(together.value == totals[BLOCK_UCF][0], "a perf event at the same time: %lu",
	    (unsigned long)together.value);
	tap(totals[BLOCK_CMEM][0] * 32 == totals[BLOCK_UCF][0],
	    "what left the fabric is what entered the memory: %lu bytes",
	    (unsigned long)totals[BLOCK_CMEM][0] * 32);
}

int main(void)
{
	struct drm_perfctr_device_info info = {};
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_DEVICE,
		.count = 1,
		.stride = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	int fd = open_node();
	unsigned int nr;

	if (tap(fd >= 0, "there is a render node of %s", DRIVER)) {
		nr = query_nr(fd);
		tap(!ioctl(fd, DRM_PERFCTR_IOCTL_QUERY(nr), &query), "QUERY is ioctl %#x", nr);
		tap((info.features & FEATURES) == FEATURES && !(info.features & LACKS),
		    "it serves PMUs and nothing of a GPU: features %#x", info.features);
		session(fd, nr);
		close(fd);
	}
	return tap_done();
}
