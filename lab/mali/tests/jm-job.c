// SPDX-License-Identifier: MIT
/*
 * Jobs for a Mali GPU with a job manager through panfrost's ioctls, on real hardware or on the
 * model. Options and output are those of mali-job.
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

#include "panfrost_drm.h"

static const char usage[] =
	"usage: mali-job [-d NODE] [-g FILES] [-n JOBS] [-s MS] [-q] [-w] [-c SET] COMMAND...\n"
	"Submit JOBS jobs through each of FILES open files, MS ms apart, and wait.\n"
	"  compute=X,Y,Z      workgroups\n"
	"  draw=VERTICES[,N]  triangles, N instances\n"
	"  fragment=W,H       a framebuffer of so many pixels\n"
	"  store              zero to memory, which is checked\n"
	"  flush, null        these job types\n"
	"  heap=N             write to N places of memory that is allocated on faults\n"
	"  fault              write to an address that is not mapped\n"
	"  invalid[=TYPE]     a job of that type, by default one that does not exist\n"
	"  hang               wait for a job that does not come\n"
	"-w: close the files at the end of standard input, whatever the jobs do.\n"
	"-c: count with the driver's own ioctls, and print block, position, count unless it is 0.\n"
	"Prints the state of each file's jobs; status 1 if one was not done, 3 if others count.\n";

enum {
	IN_FLIGHT = 4,
	JOB_BYTES = 8 << 10,
	DESCRIPTOR_BYTES = 128,
	/* where a sample of counters in another address space would be */
	STORE_OFFSET = 0,
	CHAIN_OFFSET = 128,
	FRAGMENT_OFFSET = JOB_BYTES - 256,
	BO_BYTES = IN_FLIGHT * JOB_BYTES,
	HEAP_BYTES = 16 << 20,
	HEAP_STEP = 2 << 20,
	UNMAPPED_VA = 0x7f000000,
	MAX_FILES = 64,
	WAIT_S = 60,
	MAX_BLOCKS = 64,
	BLOCK_WORDS = 64,
	HEADER_WORDS = 4,
};

enum job_type {
	JOB_NULL = 1,
	JOB_WRITE_VALUE,
	JOB_CACHE_FLUSH,
	JOB_COMPUTE,
	JOB_VERTEX,
	JOB_TILER = 7,
	JOB_FRAGMENT = 9,
	JOB_INDEXED_VERTEX,
	JOB_MALLOC_VERTEX,
};

struct file {
	int fd;
	__u32 handles[2];	/* memory, and heap */
	__u8 *memory;
	__u64 va, heap_va;
	__u32 syncobj[IN_FLIGHT][2];	/* of other jobs and of the fragment job */
	bool submitted[IN_FLIGHT][2];
	bool stored[IN_FLIGHT];
	const char *state;
};

/* a chain being written */
struct chain {
	__u32 *first, *last;
	__u64 va;
	unsigned int count;
};

static unsigned int arch;

static int try(int fd, unsigned long request, void *argument)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	return ret;
}

static void call(int fd, unsigned long request, void *argument, const char *what)
{
	if (try(fd, request, argument))
		err(2, "%s", what);
}

/* --- descriptors --------------------------------------------------------- */

/* Return: the descriptor, whose payload begins at word 8. */
static __u32 *add(struct chain *chain, enum job_type type, unsigned int dependency)
{
	__u32 *words = chain->first + chain->count * (DESCRIPTOR_BYTES / 4);
	__u64 va = chain->va + chain->count * DESCRIPTOR_BYTES;

	if (++chain->count > (FRAGMENT_OFFSET - CHAIN_OFFSET) / DESCRIPTOR_BYTES)
		errx(2, "too many commands");
	memset(words, 0, DESCRIPTOR_BYTES);
	/* bit 0: 64-bit addresses, without a choice on Valhall */
	words[4] = (arch < 9) | type << 1 | chain->count << 16;
	words[5] = dependency;
	if (chain->last)
		memcpy(&chain->last[6], &va, sizeof(va));
	chain->last = words;
	return words;
}

static void put64(__u32 *words, __u64 value)
{
	memcpy(words, &value, sizeof(value));
}

/* workgroups of one thread in three dimensions, packed; or as they are on Valhall */
static void set_workgroups(__u32 *payload, const unsigned int *count)
{
	unsigned int shift = 0, shifts[4] = { 0 };

	if (arch >= 9) {
		memcpy(&payload[2], count, 3 * sizeof(*count));
		return;
	}
	for (int i = 0; i < 3; i++) {
		payload[0] |= (count[i] - 1) << shift;
		while ((1u << (shift - shifts[i])) < count[i])
			shift++;
		shifts[i + 1] = shift;
	}
	payload[1] = shifts[0] << 10 | shifts[1] << 16 | shifts[2] << 22;
}

static void add_tiler(struct chain *chain, enum job_type type, unsigned int vertices,
		      unsigned int instances, unsigned int dependency)
{
	__u32 *words = add(chain, type, dependency);
	__u32 *primitive = &words[arch >= 9 ? 8 : 10];

	if (arch < 9)
		set_workgroups(&words[8], (const unsigned int[]){ 1, vertices, instances });
	primitive[0] = 8; /* triangles */
	primitive[3] = vertices - (arch < 9);
	if (arch >= 9)
		primitive[4] = instances;
}

static void add_draw(struct chain *chain, unsigned int vertices, unsigned int instances)
{
	if (arch >= 9) {
		add_tiler(chain, JOB_MALLOC_VERTEX, vertices, instances, 0);
	} else if (arch >= 6) {
		add_tiler(chain, JOB_INDEXED_VERTEX, vertices, instances, 0);
	} else {
		set_workgroups(&add(chain, JOB_VERTEX, 0)[8],
			       (const unsigned int[]){ 1, vertices, instances });
		add_tiler(chain, JOB_TILER, vertices, instances, chain->count);
	}
}

/* zero in 64 bits */
static void add_store(struct chain *chain, __u64 va)
{
	__u32 *words = add(chain, JOB_WRITE_VALUE, 0);

	put64(&words[8], va);
	words[10] = 3;
}

/* the fragment job is a chain of its own, in another slot */
static void set_fragment(struct chain *fragment, unsigned int width, unsigned int height)
{
	__u32 *words = add(fragment, JOB_FRAGMENT, 0);

	words[9] = (width - 1) / 16 | (height - 1) / 16 << 16;
}

static void add_command(struct file *file, unsigned int place, struct chain *chain,
			struct chain *fragment, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	unsigned int v[3] = { 1, 1, 1 };

	if (equals && sscanf(equals + 1, "%u,%u,%u", &v[0], &v[1], &v[2]) < 1)
		errx(2, "%s: expected numbers", text);
	if (!strncmp(text, "compute", length)) {
		set_workgroups(&add(chain, JOB_COMPUTE, 0)[8], v);
	} else if (!strncmp(text, "draw", length)) {
		add_draw(chain, v[0], v[1]);
	} else if (!strncmp(text, "fragment", length)) {
		set_fragment(fragment, v[0], v[1]);
	} else if (!strcmp(text, "store")) {
		*(__u64 *)(file->memory + place + STORE_OFFSET) = ~0ull;
		file->stored[place / JOB_BYTES] = true;
		add_store(chain, file->va + place + STORE_OFFSET);
	} else if (!strncmp(text, "heap", length)) {
		for (unsigned int i = 0; i < v[0] && i < HEAP_BYTES / HEAP_STEP; i++)
			add_store(chain, file->heap_va + i * HEAP_STEP);
	} else if (!strcmp(text, "flush")) {
		add(chain, JOB_CACHE_FLUSH, 0);
	} else if (!strcmp(text, "null")) {
		add(chain, JOB_NULL, 0);
	} else if (!strcmp(text, "fault")) {
		add_store(chain, UNMAPPED_VA);
	} else if (!strncmp(text, "invalid", length)) {
		add(chain, equals ? v[0] : 0, 0);
	} else if (!strcmp(text, "hang")) {
		add(chain, JOB_NULL, 0xffff);
	} else {
		errx(2, "%s: no such command", text);
	}
}

/* --- files --------------------------------------------------------------- */

static __u64 get_param(int fd, enum drm_panfrost_param which)
{
	struct drm_panfrost_get_param param = { .param = which };

	call(fd, DRM_IOCTL_PANFROST_GET_PARAM, &param, "GET_PARAM");
	return param.value;
}

static void create(struct file *file, const char *node)
{
	struct drm_panfrost_create_bo bo = { .size = BO_BYTES };
	struct drm_panfrost_create_bo heap = {
		.size = HEAP_BYTES,
		.flags = PANFROST_BO_HEAP | PANFROST_BO_NOEXEC,
	};
	struct drm_panfrost_mmap_bo map = { 0 };

	file->state = "done";
	file->fd = open(node, O_RDWR | O_CLOEXEC);
	if (file->fd < 0)
		err(2, "%s", node);
	arch = get_param(file->fd, DRM_PANFROST_PARAM_GPU_PROD_ID) >> 12;
	call(file->fd, DRM_IOCTL_PANFROST_CREATE_BO, &bo, "CREATE_BO");
	call(file->fd, DRM_IOCTL_PANFROST_CREATE_BO, &heap, "CREATE_BO of a heap");
	file->handles[0] = bo.handle;
	file->handles[1] = heap.handle;
	file->va = bo.offset;
	file->heap_va = heap.offset;
	map.handle = bo.handle;
	call(file->fd, DRM_IOCTL_PANFROST_MMAP_BO, &map, "MMAP_BO");
	file->memory = mmap(NULL, BO_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd,
			    map.offset);
	if (file->memory == MAP_FAILED)
		err(2, "mmap");
	for (int i = 0; i < IN_FLIGHT * 2; i++) {
		struct drm_syncobj_create sync = { 0 };

		call(file->fd, DRM_IOCTL_SYNCOBJ_CREATE, &sync, "SYNCOBJ_CREATE");
		file->syncobj[i / 2][i % 2] = sync.handle;
	}
}

/* Return: 1, or the negative error with which the job ended. */
static int status_of(const struct file *file, __u32 syncobj)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&syncobj,
		.count_handles = 1,
	};
	struct drm_syncobj_handle fd = {
		.handle = syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = { 0 };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.timeout_nsec = (now.tv_sec + WAIT_S) * 1000000000ll;
	call(file->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait, "SYNCOBJ_WAIT");
	call(file->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &fd, "SYNCOBJ_HANDLE_TO_FD");
	call(fd.fd, SYNC_IOC_FILE_INFO, &info, "SYNC_IOC_FILE_INFO");
	close(fd.fd);
	return info.status;
}

static void finish(struct file *file, unsigned int i)
{
	for (int which = 0; which < 2; which++) {
		int status = 1;

		if (file->submitted[i][which])
			status = status_of(file, file->syncobj[i][which]);
		if (status < 0)
			file->state = status == -EINVAL ? "fatal" : "timed out";
		file->submitted[i][which] = false;
	}
	if (file->stored[i] && *(__u64 *)(file->memory + i * JOB_BYTES + STORE_OFFSET) &&
	    !strcmp(file->state, "done"))
		file->state = "wrong memory";
	file->stored[i] = false;
}

static void submit_chain(struct file *file, unsigned int i, const struct chain *chain,
			 bool fragment)
{
	struct drm_panfrost_submit submit = {
		.jc = chain->va,
		.in_syncs = (uintptr_t)&file->syncobj[i][0],
		.in_sync_count = fragment && file->submitted[i][0],
		.out_sync = file->syncobj[i][fragment],
		.bo_handles = (uintptr_t)file->handles,
		.bo_handle_count = 2,
		.requirements = fragment ? PANFROST_JD_REQ_FS : 0,
	};

	if (!chain->count)
		return;
	call(file->fd, DRM_IOCTL_PANFROST_SUBMIT, &submit, "SUBMIT");
	file->submitted[i][fragment] = true;
}

static void submit(struct file *file, unsigned int job, char **commands)
{
	const unsigned int i = job % IN_FLIGHT, place = i * JOB_BYTES;
	struct chain chain = {
		.first = (__u32 *)(file->memory + place + CHAIN_OFFSET),
		.va = file->va + place + CHAIN_OFFSET,
	};
	struct chain fragment = {
		.first = (__u32 *)(file->memory + place + FRAGMENT_OFFSET),
		.va = file->va + place + FRAGMENT_OFFSET,
	};

	finish(file, i);
	while (*commands)
		add_command(file, place, &chain, &fragment, *commands++);
	submit_chain(file, i, &chain, false);
	submit_chain(file, i, &fragment, true);
}

/* --- the driver's own counters ------------------------------------------- */

static void enable_counters(int fd, unsigned int set)
{
	struct drm_panfrost_perfcnt_enable enable = { .enable = 1, .counterset = set };

	if (!try(fd, DRM_IOCTL_PANFROST_PERFCNT_ENABLE, &enable))
		return;
	warn("PERFCNT_ENABLE");
	exit(errno == EBUSY ? 3 : 2);
}

static void print_counters(int fd)
{
	static __u32 words[MAX_BLOCKS][BLOCK_WORDS];
	struct drm_panfrost_perfcnt_dump dump = { .buf_ptr = (uintptr_t)words };
	struct drm_panfrost_perfcnt_enable disable = { 0 };

	call(fd, DRM_IOCTL_PANFROST_PERFCNT_DUMP, &dump, "PERFCNT_DUMP");
	for (int block = 0; block < MAX_BLOCKS; block++)
		for (int i = HEADER_WORDS; i < BLOCK_WORDS; i++)
			if (words[block][i])
				printf("%d %d %u\n", block, i, words[block][i]);
	call(fd, DRM_IOCTL_PANFROST_PERFCNT_ENABLE, &disable, "PERFCNT_ENABLE of nothing");
}

int main(int argc, char **argv)
{
	const char *node = "/dev/dri/renderD128";
	static struct file files[MAX_FILES];
	unsigned int count = 1, jobs = 1, ms = 0, f, job;
	int option, set = -1, status = 0;
	bool quiet = false, leave = false;

	while ((option = getopt(argc, argv, "d:g:n:s:c:qw")) != -1) {
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
		case 'c':
			set = atoi(optarg);
			break;
		case 'q':
			quiet = true;
			break;
		case 'w':
			leave = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc || !count || count > MAX_FILES || !jobs) {
		fputs(usage, stderr);
		return 2;
	}
	for (f = 0; f < count; f++)
		create(&files[f], node);
	if (set >= 0)
		enable_counters(files[0].fd, set);
	for (job = 1; job <= jobs; job++) {
		for (f = 0; f < count; f++)
			submit(&files[f], job, argv + optind);
		usleep(ms * 1000);
	}
	if (leave)
		getchar();
	for (f = 0; leave && f < count; f++) {
		munmap(files[f].memory, BO_BYTES);
		close(files[f].fd);
	}
	for (f = 0; !leave && f < count; f++) {
		for (int i = 0; i < IN_FLIGHT; i++)
			finish(&files[f], i);
		if (!quiet)
			printf("group %u: %u jobs, %s\n", f, jobs, files[f].state);
		status |= !!strcmp(files[f].state, "done");
	}
	if (set >= 0)
		print_counters(files[0].fd);
	return status;
}
