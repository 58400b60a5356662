// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: state of a process, and values for its calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

struct tally *tally;
bool fuzz_verbose;
__thread sigjmp_buf *fuzz_recover;
__thread unsigned int fuzz_op;
__thread bool fuzz_gone;

__u64 wild(struct rng *r)
{
	static const __u64 numbers[] = {
		0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 255, 256, 4095, 4096, 4097, 0x7fff, 0x8000,
		0xfffe, 0xffff, 0x10000, 0x10001, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffc0, 0xffffffffffffffff,
	};

	switch (below(r, 4)) {
	case 0:
		return rnd(r);
	case 1:
		return below(r, 300);
	case 2:
		return (1ull << below(r, 64)) - percent(r, 30);
	default:
		return numbers[below(r, ARRAY_SIZE(numbers))];
	}
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

void mutate(struct rng *r, void *data, size_t bytes)
{
	unsigned int n = 1 + below(r, 3);

	while (n--) {
		size_t width = min_size(bytes, 1u << below(r, 4));
		size_t at = below(r, bytes / width) * width;
		__u64 value = wild(r);

		if (percent(r, 25)) {
			((__u8 *)data)[at] ^= 1u << below(r, 8);
			continue;
		}
		memcpy((char *)data + at, &value, width);
	}
}

int call(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);
	unsigned int error = ret < 0 ? errno : 0;

	if (error == ENODEV || error == EBADF)
		fuzz_gone = true;
	if (error)
		__atomic_fetch_add(&tally->failed, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&tally->ok, 1, __ATOMIC_RELAXED);
	if (error < ARRAY_SIZE(tally->results[0]))
		__atomic_fetch_add(&tally->results[fuzz_op][error], 1, __ATOMIC_RELAXED);
	if (fuzz_verbose)
		fprintf(stderr, "#   ioctl(%d, 0x%lx): %d\n", fd, request,
			error ? -(int)error : ret);
	return error ? -(int)error : ret;
}

/* mostly a slot with an open file */
int any_slot(struct world *w, struct rng *r)
{
	unsigned int first = below(r, MAX_FDS);
	unsigned int i;

	for (i = 0; i < MAX_FDS && percent(r, 99); i++)
		if (w->fds[(first + i) % MAX_FDS] >= 0)
			return (first + i) % MAX_FDS;
	return first;
}

int any_fd(struct world *w, struct rng *r)
{
	return w->fds[any_slot(w, r)];
}

struct session *any_session(struct world *w, struct rng *r)
{
	unsigned int first = below(r, MAX_SESSIONS);
	unsigned int i;

	/* mostly an existing one */
	for (i = 0; i < MAX_SESSIONS && percent(r, 99); i++)
		if (w->sessions[(first + i) % MAX_SESSIONS].fd >= 0)
			return &w->sessions[(first + i) % MAX_SESSIONS];
	return &w->sessions[first];
}

struct bo *any_bo(struct world *w, struct rng *r)
{
	unsigned int first = below(r, MAX_BOS);
	unsigned int i;

	for (i = 0; i < MAX_BOS && percent(r, 99); i++)
		if (w->bos[(first + i) % MAX_BOS].handle)
			return &w->bos[(first + i) % MAX_BOS];
	return &w->bos[first];
}

char *map_of(const struct session *s, __u64 *bytes)
{
	uintptr_t map = __atomic_load_n(&s->map, __ATOMIC_RELAXED);

	*bytes = map % PAGE_BYTES * PAGE_BYTES;
	return map ? (char *)(map & ~(PAGE_BYTES - 1)) : NULL;
}

/* nothing is or will be mapped there */
static void *clear_field(void *at, size_t bytes)
{
	return mmap(at, bytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

void set_map(struct session *s, uintptr_t map)
{
	map = __atomic_exchange_n(&s->map, map, __ATOMIC_RELAXED);
	if (map)
		clear_field((void *)(map & ~(PAGE_BYTES - 1)), map % PAGE_BYTES * PAGE_BYTES);
}

/* map at the next place; replaces an old ring there, which is input, too */
void map_ring(struct world *w, struct session *s, int fd)
{
	unsigned int n = __atomic_fetch_add(&w->next_map, 1, __ATOMIC_RELAXED) % FIELD_MAPS;
	char *at = w->field + FIELD_FIRST_MAP + n * (MAX_MAP_BYTES + PAGE_BYTES);
	const __u64 control = s->layout.ring_offset, bytes = s->layout.map_bytes;

	if (bytes > MAX_MAP_BYTES || control >= bytes)
		return;
	if (mmap(at, control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
		    MAP_FAILED &&
	    mmap(at + control, bytes - control, PROT_READ, MAP_SHARED | MAP_FIXED, fd, control) !=
		    MAP_FAILED)
		set_map(s, (uintptr_t)at | bytes / PAGE_BYTES);
	else
		clear_field(at, bytes);
}

/* address of a structure: our memory, its last bytes, a control area, or an invalid one */
void *place(struct world *w, struct rng *r, const void *data, size_t bytes)
{
	char *at = w->arena + 64 * below(r, ARENA_RW / 64 / 2);
	__u64 map_bytes;
	char *map;

	switch (below(r, 20)) {
	case 0:
		/* the next page is not mapped */
		at = w->arena + ARENA_RW - bytes;
		break;
	case 1:
		/* read-only */
		return w->arena + ARENA_RW + PAGE_BYTES;
	case 2:
		return percent(r, 50) ? (void *)wild(r) : (void *)0xffff888000000000ul;
	case 3:
		/* memory that the kernel writes to asynchronously */
		map = map_of(any_session(w, r), &map_bytes);
		if (map && bytes <= PAGE_BYTES)
			at = map;
		break;
	}
	memcpy(at, data, bytes);
	return at;
}

bool is_ours(int fd)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) &&
	       (!strcmp(name, "vsoc") || !strcmp(name, "perfctr_soc"));
}

int open_node(unsigned int n)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%u", FIRST_RENDER_MINOR + n);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

int open_any_node(void)
{
	unsigned int n;
	int fd = -1;

	for (n = 0; n < RENDER_MINORS && fd < 0; n++)
		fd = open_node(n);
	return fd;
}

static void find_pmus(struct world *w)
{
	static const struct {
		const char *name;
		__u16 block;
	} known[] = {
		{ "software", DRM_PERFCTR_BLOCK_GENERIC_PMU },
		{ "nvidia_ucf_pmu_0", DRM_PERFCTR_TEGRA410_BLOCK_UCF },
		{ "nvidia_ucf_pmu_1", DRM_PERFCTR_BLOCK_GENERIC_PMU },
		{ "nvidia_pcie_pmu_0_rc_0", DRM_PERFCTR_TEGRA410_BLOCK_PCIE },
		{ "nvidia_pcie_tgt_pmu_0_rc_0", DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT },
		{ "nvidia_cmem_latency_pmu_0", DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY },
		{ "nvidia_nvlink_c2c_pmu_0", DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C },
		{ "nvidia_nvclink_pmu_0", DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK },
		{ "nvidia_nvdlink_pmu_0", DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		char path[96], text[16];
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type",
			 known[i].name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n <= 0)
			continue;
		text[n] = '\0';
		w->pmus[w->pmu_count].block = known[i].block;
		w->pmus[w->pmu_count++].type = strtoul(text, NULL, 0);
	}
}

/* aligned to its size */
static void reserve_field(struct world *w)
{
	char *at = clear_field(NULL, 2 * FIELD_BYTES), *end = at + 2 * FIELD_BYTES;

	if (at == MAP_FAILED) {
		fprintf(stderr, "ioctl_fuzz: no address space\n");
		exit(2);
	}
	w->field = (char *)(((uintptr_t)at + FIELD_BYTES - 1) & ~(FIELD_BYTES - 1));
	if (w->field > at)
		munmap(at, w->field - at);
	munmap(w->field + FIELD_BYTES, end - (w->field + FIELD_BYTES));
}

void world_init(struct world *w)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	for (i = 0; i < MAX_FDS; i++)
		w->fds[i] = -1;
	for (i = 0; i < MAX_EVENTFDS; i++)
		w->eventfds[i] = -1;
	for (i = 0; i < MAX_SESSIONS; i++) {
		w->sessions[i].fd = -1;
		w->sessions[i].reader = -1;
	}
	reserve_field(w);
	w->arena = w->field + FIELD_ARENA;
	/* pages after these stay unmapped */
	mprotect(w->arena, ARENA_RW, PROT_READ | PROT_WRITE);
	mprotect(w->arena + ARENA_RW + PAGE_BYTES, PAGE_BYTES, PROT_READ);
	find_pmus(w);
}

void world_fini(struct world *w)
{
	unsigned int i;

	for (i = 0; i < MAX_SESSIONS; i++) {
		set_map(&w->sessions[i], 0);
		if (w->sessions[i].fd >= 0)
			close(w->sessions[i].fd);
		if (w->sessions[i].reader >= 0)
			close(w->sessions[i].reader);
	}
	for (i = 0; i < MAX_FDS; i++)
		if (w->fds[i] >= 0)
			close(w->fds[i]);
	for (i = 0; i < MAX_EVENTFDS; i++)
		if (w->eventfds[i] >= 0)
			close(w->eventfds[i]);
}
