// SPDX-License-Identifier: GPL-2.0
/*
 * usage: vsoc_smoke [SECONDS [IDLE_MS]]
 *
 * Random jobs while a periodic session and in-stream samples run; every counter of every block must
 * add up to the truth in debugfs. IDLE_MS is the time between two pairs of jobs. With
 * VSOC_SMOKE_LOSSY in the environment hardware may lose counts: samples must never have more than
 * the truth, and if they have less, a flag must report it.
 *
 * Exit status 0 passed, 1 failed, 77 no device.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/vsoc_drm.h>

#define SLOTS		64
#define PERIOD_NS	5000000
#define MAX_BLOCKS	128
#define MAX_COUNTERS	128
#define MAX_REQUESTS	64
#define WAIT_NS		30000000000LL

struct session {
	__u32 handle;
	__u64 stride;
	__u8 *ring;
	struct drm_perfctr_ring_control *control;
	__u64 samples;
	__u64 seq;
	__u32 flags;
	bool saturated;
};

struct total {
	__u16 type;
	__u16 index;
	__u64 available[2];
	__u64 sum[MAX_COUNTERS];
	__u64 before[MAX_COUNTERS];
	__u64 after[MAX_COUNTERS];
};

static struct total totals[MAX_BLOCKS];
static unsigned int total_count;
static int fd;
static char truth_path[128];
static bool lossy;

static void fail(const char *what)
{
	fprintf(stderr, "vsoc_smoke: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_device(void)
{
	for (int minor = 128; minor < 192; minor++) {
		char path[64], name[32] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int f;

		snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
		f = open(path, O_RDWR | O_CLOEXEC);
		if (f < 0)
			continue;
		if (!ioctl(f, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vsoc")) {
			snprintf(truth_path, sizeof(truth_path),
				 "/sys/kernel/debug/dri/%d/vsoc/truth", minor);
			return f;
		}
		close(f);
	}
	return -1;
}

static struct total *find(__u16 type, __u16 index)
{
	for (unsigned int i = 0; i < total_count; i++)
		if (totals[i].type == type && totals[i].index == index)
			return &totals[i];
	return NULL;
}

static void read_truth(bool after)
{
	static const char *const names[] = { "", "FW", "CSHW", "TILER", "MEMSYS", "SHADER" };
	char type[16], name[64];
	unsigned long long value;
	unsigned int index, counter, lines = 0;
	FILE *f = fopen(truth_path, "r");

	if (!f)
		fail(truth_path);
	while (fscanf(f, "%15s %u %u %63s %llu", type, &index, &counter, name, &value) == 5) {
		for (unsigned int t = 1; t < 6; t++) {
			struct total *b = strcmp(type, names[t]) ? NULL : find(t, index);

			if (b)
				(after ? b->after : b->before)[counter] = value;
		}
		lines++;
	}
	fclose(f);
	if (!lines)
		fail("truth is empty");
}

static void query_blocks(void)
{
	static struct drm_perfctr_block_info info[MAX_BLOCKS];
	struct drm_perfctr_query q = {
		.type = DRM_PERFCTR_QUERY_BLOCKS, .count = MAX_BLOCKS, .stride = sizeof(info[0]),
		.pointer = (uintptr_t)info,
	};

	if (ioctl(fd, DRM_IOCTL_PERFCTR_QUERY, &q))
		fail("QUERY");
	for (unsigned int i = 0; i < q.count; i++) {
		if (info[i].type > DRM_PERFCTR_MALI_BLOCK_SHADER)
			continue;
		totals[total_count].type = info[i].type;
		totals[total_count].index = info[i].index;
		memcpy(totals[total_count++].available, info[i].available, 2 * sizeof(__u64));
	}
}

static void *map_ring(__u64 offset, __u64 bytes, int prot, int ring_fd)
{
	void *map = mmap(NULL, bytes, prot, MAP_SHARED, ring_fd, offset);

	if (map == MAP_FAILED)
		fail("mmap");
	return map;
}

static int control(__u32 cmd, __u32 *handle, void *arg, size_t size)
{
	struct drm_perfctr_control c = {
		.cmd = cmd, .handle = *handle, .size = size, .pointer = (uintptr_t)arg,
	};
	int ret = ioctl(fd, DRM_IOCTL_PERFCTR_CONTROL, &c);

	*handle = c.handle;
	return ret;
}

static void setup(struct session *s, __u64 period_ns)
{
	struct drm_perfctr_block_request requests[MAX_REQUESTS] = {};
	struct drm_perfctr_setup setup = {
		.slots = SLOTS, .eventfd = -1,
		.period_ns = period_ns, .requests = (uintptr_t)requests,
		.request_stride = sizeof(requests[0]),
	};

	for (unsigned int section = 0; section < 2; section++) {
		for (unsigned int t = 1; t <= DRM_PERFCTR_MALI_BLOCK_SHADER; t++) {
			__u64 available = 0;

			for (unsigned int i = 0; i < total_count; i++)
				if (totals[i].type == t)
					available = totals[i].available[section];
			if (!available)
				continue;
			requests[setup.request_count].type = t;
			requests[setup.request_count].index = DRM_PERFCTR_INDEX_ALL;
			requests[setup.request_count].section = section;
			requests[setup.request_count++].mask = available;
		}
	}
	if (control(DRM_PERFCTR_CMD_SETUP, &s->handle, &setup, sizeof(setup)))
		fail("SETUP");
	s->control = map_ring(0, setup.ring_offset, PROT_READ | PROT_WRITE, setup.ring_fd);
	s->ring = map_ring(setup.ring_offset, setup.ring_bytes, PROT_READ, setup.ring_fd);
	close(setup.ring_fd);
	s->stride = setup.slot_stride;
}

static void drain(struct session *s, bool add)
{
	__u64 extract = s->control->extract_idx;

	while (extract != __atomic_load_n(&s->control->insert_idx, __ATOMIC_ACQUIRE)) {
		const __u8 *p = s->ring + (extract & (SLOTS - 1)) * s->stride;
		const struct drm_perfctr_sample_header *h = (const void *)p;

		if (h->seq != s->seq++) {
			errno = EPROTO;
			fail("seq");
		}
		s->flags |= h->flags;
		s->samples++;
		p += h->header_size;
		for (unsigned int i = 0; i < h->block_count; i++) {
			const struct drm_perfctr_block_header *b = (const void *)p;
			const __u64 *v = (const void *)(p + b->header_size);
			struct total *t = find(b->type, b->index);

			s->saturated |= !!(b->states & DRM_PERFCTR_STATE_SATURATED);
			for (unsigned int bit = 0; bit < 64; bit++) {
				if (!(b->enable_mask >> bit & 1))
					continue;
				if (add && t)
					t->sum[64 * b->section + bit] += *v;
				v++;
			}
			p += b->size;
		}
		__atomic_store_n(&s->control->extract_idx, ++extract, __ATOMIC_RELEASE);
	}
}

static __u64 submit(struct drm_vsoc_command *cmds, unsigned int count, __u32 ctx)
{
	struct drm_vsoc_submit s = {
		.ctx_id = ctx, .commands = (uintptr_t)cmds, .command_count = count,
		.command_stride = sizeof(*cmds),
	};

	if (ioctl(fd, DRM_IOCTL_VSOC_SUBMIT, &s))
		fail("SUBMIT");
	return s.job_id;
}

static void wait_job(__u64 id)
{
	struct drm_vsoc_wait w = { .job_id = id, .timeout_ns = WAIT_NS };

	if (ioctl(fd, DRM_IOCTL_VSOC_WAIT, &w))
		fail("WAIT");
	if (!lossy && (w.status || w.sample_errors)) {
		fprintf(stderr, "job %llu: status %d, %u sample errors, first %d\n",
			(unsigned long long)id, w.status, w.sample_errors, w.sample_errno);
		exit(1);
	}
}

static unsigned int random_commands(struct drm_vsoc_command *c, __u32 session)
{
	memset(c, 0, 5 * sizeof(*c));
	c[0].type = DRM_VSOC_CMD_DRAW;
	c[0].draw.vertices = random() % 100000;
	c[0].draw.primitives = random() % 50000;
	c[0].draw.primitives_culled = c[0].draw.primitives ? random() % c[0].draw.primitives : 0;
	c[0].draw.fragments = random() % 300000;
	c[0].draw.texels = random() % 500000;
	c[1].type = DRM_VSOC_CMD_COMPUTE;
	c[1].compute.threads = random() % 50000;
	c[1].compute.instructions = random() % 100;
	c[2].type = DRM_VSOC_CMD_SAMPLE;
	c[2].sample.handle = session;
	c[2].sample.user_data = 42;
	c[3].type = DRM_VSOC_CMD_COPY;
	c[3].copy.bytes = (random() % 100000) * DRM_VSOC_LINE_BYTES;
	c[3].copy.flags = 1 + random() % 3;
	c[3].copy.initiator = random() % 4;
	c[3].copy.home = random() % 5;
	c[4].type = DRM_VSOC_CMD_WAIT;
	c[4].wait.duration_ns = random() % 1000000;
	return 5;
}

static unsigned int compare(const struct session *s)
{
	const __u32 admits = DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR |
			     DRM_PERFCTR_SAMPLE_RESET | DRM_PERFCTR_SAMPLE_UNPLUGGED;
	unsigned int wrong = 0, moved = 0, less = 0;

	for (unsigned int i = 0; i < total_count; i++) {
		const struct total *t = &totals[i];

		for (unsigned int c = 0; c < MAX_COUNTERS; c++) {
			__u64 truth = t->after[c] - t->before[c];

			if (!(t->available[c / 64] >> c % 64 & 1))
				continue;
			moved += !!truth;
			if (t->sum[c] == truth)
				continue;
			if (lossy && t->sum[c] < truth && (s->flags & admits || s->saturated)) {
				less++;
				continue;
			}
			if (wrong++ < 20)
				fprintf(stderr, "block %u.%u counter %u: %llu, truth %llu\n",
					t->type, t->index, c, (unsigned long long)t->sum[c],
					(unsigned long long)truth);
		}
	}
	printf("%u blocks, %u counters moved, %u lost something, %u wrong\n", total_count, moved,
	       less, wrong);
	return wrong || !moved;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	unsigned int idle_ms = argc > 2 ? atoi(argv[2]) : 0;
	struct session periodic = {}, manual = {};
	struct drm_perfctr_start start = { .user_data = 7 };
	struct drm_vsoc_ctx_create second = {};
	unsigned int jobs = 0;
	time_t end;

	lossy = getenv("VSOC_SMOKE_LOSSY");
	fd = open_device();
	if (fd < 0) {
		fprintf(stderr, "vsoc_smoke: no vsoc device\n");
		return 77;
	}
	query_blocks();
	if (ioctl(fd, DRM_IOCTL_VSOC_CTX_CREATE, &second))
		fail("CTX_CREATE");
	setup(&periodic, PERIOD_NS);
	setup(&manual, 0);
	read_truth(false);
	if (control(DRM_PERFCTR_CMD_START, &periodic.handle, &start, sizeof(start)) ||
	    control(DRM_PERFCTR_CMD_START, &manual.handle, &start, sizeof(start)))
		fail("START");

	end = time(NULL) + seconds;
	do {
		struct drm_vsoc_command c[5];
		__u64 a, b;

		a = submit(c, random_commands(c, manual.handle), 0);
		b = submit(c, random_commands(c, manual.handle), second.ctx_id);
		wait_job(a);
		wait_job(b);
		jobs += 2;
		drain(&periodic, true);
		drain(&manual, false);
		usleep(1000 * idle_ms);
	} while (time(NULL) < end);

	if (control(DRM_PERFCTR_CMD_STOP, &periodic.handle, &start, sizeof(start)) ||
	    control(DRM_PERFCTR_CMD_STOP, &manual.handle, &start, sizeof(start)))
		fail("STOP");
	drain(&periodic, true);
	drain(&manual, false);
	read_truth(true);
	printf("%u jobs, %llu periodic samples (flags %#x), %llu in-stream (flags %#x)\n", jobs,
	       (unsigned long long)periodic.samples, periodic.flags,
	       (unsigned long long)manual.samples, manual.flags);
	return compare(&periodic);
}
