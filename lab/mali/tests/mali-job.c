// SPDX-License-Identifier: MIT
/*
 * Jobs for a Mali CSF GPU through panthor's ioctls, on real hardware or on the model.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "panthor_drm.h"

static const char usage[] =
	"usage: mali-job [-d NODE] [-g GROUPS] [-n JOBS] [-s MS] [-q] COMMAND...\n"
	"Submit JOBS jobs in each of GROUPS groups with a VM of their own, MS ms apart, and wait.\n"
	"  compute=X,Y,Z      workgroups\n"
	"  draw=VERTICES[,N]  triangles, N instances\n"
	"  fragment=W,H       a framebuffer of so many pixels\n"
	"  tile=VERTICES[,N]  triangles in a tiler heap of four chunks, and their framebuffer\n"
	"  handler            what tile does if the heap is full: render its contents\n"
	"  store              the job's number to memory, which is checked in the end\n"
	"  fault              read an address that is not mapped\n"
	"  invalid[=OPCODE]   an instruction that does not exist\n"
	"  hang               wait for something that does not come\n"
	"Prints the state of each group; exit status 1 if one did not finish its jobs.\n";

enum {
	BO_BYTES = 64 << 10,
	DATA_OFFSET = 32 << 10,
	GPU_VA = 1 << 20,
	DATA_VA = GPU_VA + DATA_OFFSET,
	HANDLER_OFFSET = 48 << 10,
	HANDLER_VA = GPU_VA + HANDLER_OFFSET,
	HANDLER_BYTES = 64,
	CHUNK_BYTES = 128 << 10,
	CHUNKS = 4,
	EXCEPTION_TILER_OOM = 2,
	UNMAPPED_VA = 0x7f000000,
	RING_BYTES = 64 << 10,
	MAX_GROUPS = 64,
	/* stream registers: an address, and the data stored there */
	R_ADDRESS = 80,
	R_DATA = 82,
	WAIT_S = 60,
};

enum opcode {
	OP_MOVE48 = 1,
	OP_MOVE32 = 2,
	OP_RUN_COMPUTE = 4,
	OP_RUN_IDVS = 6,
	OP_RUN_FRAGMENT = 7,
	OP_LOAD_MULTIPLE = 20,
	OP_STORE_MULTIPLE = 21,
	OP_SET_EXCEPTION_HANDLER = 25,
	OP_HEAP_SET = 48,
	OP_HEAP_OPERATION = 49,
	OP_SYNC_WAIT64 = 53,
	OP_NONE = 255,
};

struct group {
	__u32 handle;
	__u32 syncobj;
	__u8 *memory;
	__u64 heap_va;
};

static int fd;
static const __u32 *flush_id;

static void call(unsigned long request, void *argument, const char *what)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	if (ret)
		err(2, "%s", what);
}

/* --- command streams ----------------------------------------------------- */

static __u64 *emit(__u64 *code, enum opcode opcode, __u64 fields)
{
	*code = (__u64)opcode << 56 | fields;
	return code + 1;
}

static __u64 *move32(__u64 *code, __u64 to, __u32 value)
{
	return emit(code, OP_MOVE32, to << 48 | value);
}

static __u64 *address(__u64 *code, __u64 va)
{
	return emit(code, OP_MOVE48, (__u64)R_ADDRESS << 48 | va);
}

static __u64 *fragment(__u64 *code, unsigned int width, unsigned int height)
{
	code = move32(move32(code, 42, 0), 43, (width - 1) | (height - 1) << 16);
	return emit(code, OP_RUN_FRAGMENT, 0);
}

/* the tiler starts, has finished, its output was rendered */
static __u64 *heap_operation(__u64 *code, __u64 which)
{
	return emit(code, OP_HEAP_OPERATION, which << 32);
}

static __u64 *draw(__u64 *code, unsigned int vertices, unsigned int instances)
{
	code = move32(move32(code, 33, vertices), 34, instances);
	code = move32(code, 56, 8); /* triangles */
	return emit(code, OP_RUN_IDVS, 0);
}

static __u64 *add_command(const struct group *group, __u64 *code, const char *text, __u32 job)
{
	const __u64 memory = (__u64)R_ADDRESS << 40;
	unsigned int v[3] = { 1, 1, 1 };
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);

	if (equals && sscanf(equals + 1, "%u,%u,%u", &v[0], &v[1], &v[2]) < 1)
		errx(2, "%s: expected numbers", text);
	if (!strncmp(text, "compute", length)) {
		for (int i = 0; i < 3; i++)
			code = move32(code, 37 + i, v[i]);
		return emit(code, OP_RUN_COMPUTE, 0);
	}
	if (!strncmp(text, "draw", length))
		return draw(code, v[0], v[1]);
	if (!strncmp(text, "tile", length)) {
		code = emit(address(code, group->heap_va), OP_HEAP_SET, memory);
		code = draw(heap_operation(code, 0), v[0], v[1]);
		return heap_operation(fragment(heap_operation(code, 1), 16, 16), 3);
	}
	if (!strcmp(text, "handler")) {
		fragment((__u64 *)(group->memory + HANDLER_OFFSET), 16, 16);
		code = move32(address(code, HANDLER_VA), R_DATA, HANDLER_BYTES);
		return emit(code, OP_SET_EXCEPTION_HANDLER,
			    memory | (__u64)R_DATA << 32 | EXCEPTION_TILER_OOM);
	}
	if (!strncmp(text, "fragment", length))
		return fragment(code, v[0], v[1]);
	if (!strcmp(text, "store")) {
		code = move32(address(code, DATA_VA), R_DATA, job);
		return emit(code, OP_STORE_MULTIPLE, (__u64)R_DATA << 48 | memory | 1 << 16);
	}
	if (!strcmp(text, "fault"))
		return emit(address(code, UNMAPPED_VA), OP_LOAD_MULTIPLE, memory | 1 << 16);
	if (!strncmp(text, "invalid", length))
		return emit(code, equals ? v[0] : OP_NONE, 0);
	if (!strcmp(text, "hang")) {
		code = move32(address(code, DATA_VA + 64), R_DATA, 1);
		code = move32(code, R_DATA + 1, 0);
		/* wait until the word is greater than one */
		return emit(code, OP_SYNC_WAIT64, memory | (__u64)R_DATA << 32 | 1u << 28);
	}
	errx(2, "%s: no such command", text);
}

/* --- groups -------------------------------------------------------------- */

static void create(struct group *group, __u64 cores)
{
	struct drm_panthor_vm_create vm = { 0 };
	struct drm_panthor_bo_create bo = { .size = BO_BYTES };
	struct drm_panthor_bo_mmap_offset map = { 0 };
	struct drm_panthor_vm_bind_op op = { .va = GPU_VA, .size = BO_BYTES };
	struct drm_panthor_vm_bind bind = { .ops = DRM_PANTHOR_OBJ_ARRAY(1, &op) };
	struct drm_panthor_queue_create queue = { .ringbuf_size = RING_BYTES };
	struct drm_panthor_group_create create = {
		.queues = DRM_PANTHOR_OBJ_ARRAY(1, &queue),
		.max_compute_cores = __builtin_popcountll(cores),
		.max_fragment_cores = __builtin_popcountll(cores),
		.max_tiler_cores = 1,
		.priority = PANTHOR_GROUP_PRIORITY_MEDIUM,
		.compute_core_mask = cores,
		.fragment_core_mask = cores,
		.tiler_core_mask = 1,
	};
	struct drm_panthor_tiler_heap_create heap = {
		.initial_chunk_count = 1,
		.chunk_size = CHUNK_BYTES,
		.max_chunks = CHUNKS,
		.target_in_flight = 2,
	};
	struct drm_syncobj_create sync = { 0 };

	call(DRM_IOCTL_PANTHOR_VM_CREATE, &vm, "VM_CREATE");
	call(DRM_IOCTL_PANTHOR_BO_CREATE, &bo, "BO_CREATE");
	map.handle = bo.handle;
	op.bo_handle = bo.handle;
	call(DRM_IOCTL_PANTHOR_BO_MMAP_OFFSET, &map, "BO_MMAP_OFFSET");
	group->memory = mmap(NULL, BO_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
	if (group->memory == MAP_FAILED)
		err(2, "mmap");
	bind.vm_id = vm.id;
	create.vm_id = vm.id;
	call(DRM_IOCTL_PANTHOR_VM_BIND, &bind, "VM_BIND");
	call(DRM_IOCTL_PANTHOR_GROUP_CREATE, &create, "GROUP_CREATE");
	group->handle = create.group_handle;
	heap.vm_id = vm.id;
	call(DRM_IOCTL_PANTHOR_TILER_HEAP_CREATE, &heap, "TILER_HEAP_CREATE");
	group->heap_va = heap.tiler_heap_ctx_gpu_va;
	call(DRM_IOCTL_SYNCOBJ_CREATE, &sync, "SYNCOBJ_CREATE");
	group->syncobj = sync.handle;
}

static void wait_for(const struct group *group, __u64 point)
{
	struct timespec now;
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&group->syncobj,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.timeout_nsec = (now.tv_sec + WAIT_S) * 1000000000ll;
	call(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait, "SYNCOBJ_TIMELINE_WAIT");
}

/* Return: false if the group takes no more jobs. */
static bool submit(struct group *group, __u32 job, char **commands)
{
	/* up to four jobs are in flight */
	__u32 place = job % 4 * (DATA_OFFSET / 4);
	__u64 *begin = (__u64 *)(group->memory + place), *code = begin;
	struct drm_panthor_sync_op sync = {
		.flags = DRM_PANTHOR_SYNC_OP_SIGNAL |
			 DRM_PANTHOR_SYNC_OP_HANDLE_TYPE_TIMELINE_SYNCOBJ,
		.handle = group->syncobj,
		.timeline_value = job,
	};
	struct drm_panthor_queue_submit queue = {
		.latest_flush = __atomic_load_n(flush_id, __ATOMIC_RELAXED),
		.syncs = DRM_PANTHOR_OBJ_ARRAY(1, &sync),
	};
	struct drm_panthor_group_submit arguments = {
		.group_handle = group->handle,
		.queue_submits = DRM_PANTHOR_OBJ_ARRAY(1, &queue),
	};

	if (job > 4)
		wait_for(group, job - 4);
	while (*commands)
		code = add_command(group, code, *commands++, job);
	queue.stream_addr = GPU_VA + place;
	/* pad to whole cache lines */
	while ((code - begin) % 8)
		*code++ = 0;
	queue.stream_size = (code - begin) * sizeof(*code);
	if (!ioctl(fd, DRM_IOCTL_PANTHOR_GROUP_SUBMIT, &arguments))
		return true;
	if (errno != EINVAL && errno != ECANCELED && errno != EIO)
		err(2, "GROUP_SUBMIT");
	return false;
}

static const char *state_of(const struct group *group, __u32 last, bool stored)
{
	struct drm_panthor_group_get_state state = { .group_handle = group->handle };

	wait_for(group, last);
	call(DRM_IOCTL_PANTHOR_GROUP_GET_STATE, &state, "GROUP_GET_STATE");
	if (state.state & DRM_PANTHOR_GROUP_STATE_FATAL_FAULT)
		return "fatal";
	if (state.state & DRM_PANTHOR_GROUP_STATE_TIMEDOUT)
		return "timed out";
	if (stored && *(__u32 *)(group->memory + DATA_OFFSET) != last)
		return "wrong memory";
	return "done";
}

int main(int argc, char **argv)
{
	struct drm_panthor_gpu_info info = { 0 };
	struct drm_panthor_dev_query query = {
		.type = DRM_PANTHOR_DEV_QUERY_GPU_INFO,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	const char *node = "/dev/dri/renderD128";
	static struct group groups[MAX_GROUPS];
	static __u32 last[MAX_GROUPS];
	unsigned int count = 1, jobs = 1, ms = 0, g, job;
	bool stored = false, quiet = false;
	int option, i, status = 0;

	while ((option = getopt(argc, argv, "d:g:n:s:q")) != -1) {
		switch (option) {
		case 'd':
			node = optarg;
			break;
		case 'g':
			count = atoi(optarg);
			break;
		case 'n':
			jobs = atoi(optarg);
			break;
		case 's':
			ms = atoi(optarg);
			break;
		case 'q':
			quiet = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc || !count || count > MAX_GROUPS || !jobs) {
		fputs(usage, stderr);
		return 2;
	}
	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", node);
	call(DRM_IOCTL_PANTHOR_DEV_QUERY, &query, "DEV_QUERY");
	flush_id = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd,
			DRM_PANTHOR_USER_FLUSH_ID_MMIO_OFFSET);
	if (flush_id == MAP_FAILED)
		err(2, "mmap of the flush ID");
	for (i = optind; i < argc; i++)
		stored |= !strcmp(argv[i], "store");
	for (g = 0; g < count; g++)
		create(&groups[g], info.shader_present);
	for (job = 1; job <= jobs; job++) {
		for (g = 0; g < count; g++)
			if (last[g] == job - 1 && submit(&groups[g], job, argv + optind))
				last[g] = job;
		usleep(ms * 1000);
	}
	for (g = 0; g < count; g++) {
		const char *state = state_of(&groups[g], last[g], stored);

		if (!quiet)
			printf("group %u: %u jobs, %s\n", g, last[g], state);
		status |= last[g] != jobs || strcmp(state, "done");
	}
	return status;
}
