// SPDX-License-Identifier: MIT
/*
 * Jobs for a V3D GPU through v3d's ioctls, on real hardware or on the model. The lists have no
 * shaders: on real hardware only compute and tiles without draws may work.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "v3d_drm.h"

static const char usage[] =
	"usage: v3d-job [-d NODE] [-n JOBS] [-s MS] [-f N] [-p EVENT,...] [-w] [-1] COMMAND...\n"
	"Submit JOBS jobs (1), MS ms apart, and wait for each, or until -f N (1) are in flight.\n"
	"  draw=N[,M]     bin N packets of M (1) triangles\n"
	"  tiles=W,H      render a frame of so many tiles\n"
	"  compute=N      N batches\n"
	"  tfu=W,H        convert so many pixels\n"
	"  clean          clean caches behind the frame\n"
	"  hang           a list without an end\n"
	"  fault          a list at an address that is not mapped\n"
	"-p: jobs with a performance monitor; prints each event and its count.\n"
	"-w: do not submit before standard input ends.\n"
	"-1: give up on EAGAIN, with status 3, instead of repeating it as libdrm does.\n"
	"Prints how many jobs ended well; status 1 if not all did, 4 if one did not end.\n";

enum {
	MAX_FLIGHT = 16,
	MAX_EVENTS = DRM_V3D_MAX_PERF_COUNTERS,
	WAIT_S = 20,
	/* memory of lists */
	BIN_OFFSET = 0,
	RENDER_OFFSET = 0x8000,
	TILE_OFFSET = 0x9000,
	ALLOC_OFFSET = 0xa000,
	ALLOC_BYTES = 0x4000,
	STATE_OFFSET = 0xe000,
	LIST_BYTES = 0x10000,
	TARGET_BYTES = 0x10000,
	UNMAPPED = 0xf0000000,
	TILE_LOG2 = 3,	/* 64 pixels, as 7.1 writes it */
	TRIANGLES = 4,
	STATUS_BUSY = 3,
	STATUS_STUCK = 4,
};

struct buffer {
	__u32 handle, address;
	__u8 *memory;
};

/* a list being written */
struct list {
	__u8 *at;
	const __u8 *end;
};

struct work {
	unsigned int draws, triangles;
	unsigned int width, height;	/* of the frame, in tiles */
	unsigned int batches;
	unsigned int tfu_width, tfu_height;
	bool clean, hang, fault;
};

static int fd;
static bool only_once;
static unsigned int version;
static struct buffer lists, target;
static __u32 syncobj[MAX_FLIGHT];

static int try(unsigned long request, void *argument)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret && (errno == EINTR || (errno == EAGAIN && !only_once)));
	return ret;
}

static void call(unsigned long request, void *argument, const char *what)
{
	if (!try(request, argument))
		return;
	if (errno == EAGAIN) {
		printf("%s: busy\n", what);
		exit(STATUS_BUSY);
	}
	err(2, "%s", what);
}

static __u64 get_param(enum drm_v3d_param which)
{
	struct drm_v3d_get_param param = { .param = which };

	call(DRM_IOCTL_V3D_GET_PARAM, &param, "GET_PARAM");
	return param.value;
}

static void create(struct buffer *buffer, __u32 bytes)
{
	struct drm_v3d_create_bo bo = { .size = bytes };
	struct drm_v3d_mmap_bo map = { 0 };

	call(DRM_IOCTL_V3D_CREATE_BO, &bo, "CREATE_BO");
	map.handle = bo.handle;
	call(DRM_IOCTL_V3D_MMAP_BO, &map, "MMAP_BO");
	buffer->handle = bo.handle;
	buffer->address = bo.offset;
	buffer->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      (off_t)map.offset);
	if (buffer->memory == MAP_FAILED)
		err(2, "mmap");
}

/* --- lists ----------------------------------------------------------------- */

static __u8 *put(struct list *list, __u8 packet, size_t bytes)
{
	__u8 *at = list->at;

	if (bytes > (size_t)(list->end - at))
		errx(2, "too many commands");
	memset(at, 0, bytes);
	at[0] = packet;
	list->at += bytes;
	return at + 1;
}

static void put32(__u8 *at, __u32 value)
{
	memcpy(at, &value, sizeof(value));
}

static void put64(__u8 *at, __u64 value)
{
	memcpy(at, &value, sizeof(value));
}

static __u32 write_bin(const struct work *work)
{
	struct list list = { lists.memory + BIN_OFFSET, lists.memory + RENDER_OFFSET };

	put(&list, 119, 2);	/* one layer */
	put(&list, 120, 9);	/* tiles */
	put(&list, 6, 1);	/* start */
	for (unsigned int i = 0; i < work->draws; i++) {
		__u8 *draw = put(&list, 36, 10);

		draw[0] = TRIANGLES;
		put32(draw + 1, 3 * work->triangles);
	}
	if (work->hang) {
		__u32 itself = lists.address + (__u32)(list.at - lists.memory);

		put32(put(&list, 16, 5), itself);
	}
	put(&list, 4, 1);	/* flush */
	return (__u32)(list.at - lists.memory);
}

static void write_tile(void)
{
	struct list list = { lists.memory + TILE_OFFSET, lists.memory + ALLOC_OFFSET };

	put(&list, 125, 1);	/* coordinates */
	put(&list, 26, 1);	/* end of loads */
	put32(put(&list, 29, 13) + 8, target.address);
	put(&list, 27, 1);	/* end of the tile */
	put(&list, 18, 1);	/* return */
}

static __u32 write_render(const struct work *work)
{
	struct list list = { lists.memory + RENDER_OFFSET, lists.memory + TILE_OFFSET };
	unsigned int width = work->width, height = work->height;
	__u8 *packet;

	put64(put(&list, 121, 9),
	      version < 71 ? 0 : (__u64)TILE_LOG2 << 52 | (__u64)TILE_LOG2 << 55);
	if (width && height) {
		/* one supertile */
		put64(put(&list, 122, 9), (width - 1) | (height - 1) << 8 | 1 << 16 | 1 << 24 |
						  (__u64)width << 32 | (__u64)height << 44);
		packet = put(&list, 20, 9);
		put32(packet, lists.address + TILE_OFFSET);
		put32(packet + 4, lists.address + TILE_OFFSET + 17);
		put(&list, 23, 3);
	}
	put(&list, 13, 1);	/* end of rendering */
	return (__u32)(list.at - lists.memory);
}

/* --- jobs ------------------------------------------------------------------ */

static __u32 bin_bytes, render_end;

static void submit_frame(const struct work *work, __u32 perfmon, __u32 out_sync)
{
	__u32 handles[] = { lists.handle, target.handle };
	struct drm_v3d_submit_cl submit = {
		.rcl_start = lists.address + RENDER_OFFSET,
		.rcl_end = lists.address + render_end,
		.qma = lists.address + ALLOC_OFFSET,
		.qms = ALLOC_BYTES,
		.qts = lists.address + STATE_OFFSET,
		.out_sync = out_sync,
		.perfmon_id = perfmon,
		.bo_handles = (uintptr_t)handles,
		.bo_handle_count = 2,
		.flags = work->clean ? DRM_V3D_SUBMIT_CL_FLUSH_CACHE : 0,
	};

	if (work->draws || work->hang) {
		submit.bcl_start = lists.address + BIN_OFFSET;
		submit.bcl_end = submit.bcl_start + bin_bytes;
	}
	if (work->fault) {
		submit.rcl_start = UNMAPPED;
		submit.rcl_end = UNMAPPED + 1;
	}
	call(DRM_IOCTL_V3D_SUBMIT_CL, &submit, "SUBMIT_CL");
}

static void submit_compute(const struct work *work, __u32 perfmon, __u32 out_sync)
{
	__u32 handle = lists.handle;
	bool minus_one = version < 71 ||
			 (version == 71 &&
			  (get_param(DRM_V3D_PARAM_V3D_HUB_IDENT3) >> 8 & 0xff) < 6);
	struct drm_v3d_submit_csd submit = {
		/* one workgroup in each direction */
		.cfg = { 1 << 16, 1 << 16, 1 << 16, 0, work->batches - minus_one },
		.bo_handles = (uintptr_t)&handle,
		.bo_handle_count = 1,
		.out_sync = out_sync,
		.perfmon_id = perfmon,
	};

	call(DRM_IOCTL_V3D_SUBMIT_CSD, &submit, "SUBMIT_CSD");
}

static void submit_tfu(const struct work *work, __u32 out_sync)
{
	struct drm_v3d_submit_tfu submit = {
		.iia = lists.address,
		.ioa = target.address,
		.ios = work->tfu_width | work->tfu_height << 16,
		.bo_handles = { target.handle, lists.handle },
		.out_sync = out_sync,
	};

	if (4ull * work->tfu_width * work->tfu_height > TARGET_BYTES)
		errx(2, "tfu: more than %u bytes", TARGET_BYTES);
	call(DRM_IOCTL_V3D_SUBMIT_TFU, &submit, "SUBMIT_TFU");
}

/* Return: whether the job ended without an error. */
static bool wait_for(__u32 handle)
{
	struct timespec now;
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&handle,
		.count_handles = 1,
	};
	struct drm_syncobj_handle export = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct sync_file_info info = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.timeout_nsec = (now.tv_sec + WAIT_S) * 1000000000ll;
	if (try(DRM_IOCTL_SYNCOBJ_WAIT, &wait))
		err(STATUS_STUCK, "a job does not end");
	call(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &export, "SYNCOBJ_HANDLE_TO_FD");
	if (ioctl(export.fd, SYNC_IOC_FILE_INFO, &info))
		err(2, "SYNC_IOC_FILE_INFO");
	close(export.fd);
	return info.status == 1;
}

static void submit(const struct work *work, __u32 perfmon, __u32 out_sync)
{
	bool frame = work->draws || work->width || work->hang || work->fault || work->clean;
	bool last_is_tfu = work->tfu_width, last_is_compute = work->batches && !last_is_tfu;

	if (frame)
		submit_frame(work, perfmon, last_is_tfu || last_is_compute ? 0 : out_sync);
	if (work->batches)
		submit_compute(work, perfmon, last_is_compute ? out_sync : 0);
	if (work->tfu_width)
		submit_tfu(work, out_sync);
	if (!frame && !work->batches && !work->tfu_width)
		errx(2, "no command");
}

static unsigned int run(const struct work *work, __u32 perfmon, unsigned int jobs,
			unsigned int pause_ms, unsigned int in_flight)
{
	unsigned int good = 0, waited = 0;

	for (unsigned int i = 0; i < jobs; i++) {
		if (i >= in_flight)
			good += wait_for(syncobj[waited++ % in_flight]);
		submit(work, perfmon, syncobj[i % in_flight]);
		if (pause_ms)
			usleep(1000 * pause_ms);
	}
	while (waited < jobs)
		good += wait_for(syncobj[waited++ % in_flight]);
	return good;
}

/* --- performance monitors --------------------------------------------------- */

static char *names[MAX_EVENTS];
static unsigned int events;

static __u8 number_of(const char *name)
{
	for (unsigned int i = 0; i < get_param(DRM_V3D_PARAM_MAX_PERF_COUNTERS); i++) {
		struct drm_v3d_perfmon_get_counter counter = { .counter = (__u8)i };

		call(DRM_IOCTL_V3D_PERFMON_GET_COUNTER, &counter, "PERFMON_GET_COUNTER");
		if (!strcmp((const char *)counter.name, name))
			return (__u8)i;
	}
	errx(2, "%s: no such event", name);
}

static __u32 create_perfmon(char *list)
{
	struct drm_v3d_perfmon_create create = { 0 };

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		if (events == MAX_EVENTS)
			errx(2, "more than %u events", MAX_EVENTS);
		names[events] = name;
		create.counters[events++] = number_of(name);
	}
	create.ncounters = events;
	call(DRM_IOCTL_V3D_PERFMON_CREATE, &create, "PERFMON_CREATE");
	return create.id;
}

static void print_perfmon(__u32 id)
{
	__u64 values[MAX_EVENTS];
	struct drm_v3d_perfmon_get_values get = { .id = id, .values_ptr = (uintptr_t)values };

	call(DRM_IOCTL_V3D_PERFMON_GET_VALUES, &get, "PERFMON_GET_VALUES");
	for (unsigned int i = 0; i < events; i++)
		printf("%s %llu\n", names[i], (unsigned long long)values[i]);
}

/* --- command line ----------------------------------------------------------- */

static void parse(struct work *work, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	unsigned int v[2] = { 1, 1 };

	if (equals && sscanf(equals + 1, "%u,%u", &v[0], &v[1]) < 1)
		errx(2, "%s: expected numbers", text);
	if (!strncmp(text, "draw", length)) {
		work->draws = v[0];
		work->triangles = v[1];
	} else if (!strncmp(text, "tiles", length)) {
		work->width = v[0];
		work->height = v[1];
	} else if (!strncmp(text, "compute", length)) {
		work->batches = v[0];
	} else if (!strncmp(text, "tfu", length)) {
		work->tfu_width = v[0];
		work->tfu_height = v[1];
	} else if (!strcmp(text, "clean")) {
		work->clean = true;
	} else if (!strcmp(text, "hang")) {
		work->hang = true;
	} else if (!strcmp(text, "fault")) {
		work->fault = true;
	} else {
		errx(2, "%s: no such command", text);
	}
}

static void set_up(const struct work *work)
{
	__u64 hub = get_param(DRM_V3D_PARAM_V3D_HUB_IDENT1);
	struct drm_syncobj_create create_sync = { 0 };

	version = (hub & 0xf) * 10 + (hub >> 4 & 0xf);
	create(&lists, LIST_BYTES);
	create(&target, TARGET_BYTES);
	write_tile();
	bin_bytes = write_bin(work);
	render_end = write_render(work);
	for (int i = 0; i < MAX_FLIGHT; i++) {
		call(DRM_IOCTL_SYNCOBJ_CREATE, &create_sync, "SYNCOBJ_CREATE");
		syncobj[i] = create_sync.handle;
	}
}

static unsigned int number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *node = "/dev/dri/renderD128";
	unsigned int jobs = 1, pause_ms = 0, in_flight = 1, good;
	bool wait_first = false;
	struct work work = { 0 };
	char *counted = NULL;
	__u32 perfmon = 0;
	int option;

	while ((option = getopt(argc, argv, "d:n:s:f:p:w1")) != -1) {
		switch (option) {
		case 'd':
			node = optarg;
			break;
		case 'n':
			jobs = number(optarg);
			break;
		case 's':
			pause_ms = number(optarg);
			break;
		case 'f':
			in_flight = number(optarg);
			break;
		case 'p':
			counted = optarg;
			break;
		case 'w':
			wait_first = true;
			break;
		case '1':
			only_once = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc || !in_flight || in_flight > MAX_FLIGHT) {
		fputs(usage, stderr);
		return 2;
	}
	for (int i = optind; i < argc; i++)
		parse(&work, argv[i]);

	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", node);
	set_up(&work);
	if (counted)
		perfmon = create_perfmon(counted);
	if (wait_first) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	good = run(&work, perfmon, jobs, pause_ms, in_flight);
	if (counted)
		print_perfmon(perfmon);
	printf("%u of %u jobs\n", good, jobs);
	return good != jobs;
}
