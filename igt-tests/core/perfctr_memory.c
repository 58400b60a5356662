// SPDX-License-Identifier: MIT
/**
 * TEST: An ioctl whose memory is not there has no effect and leaves nothing behind
 * Description: Arguments in pages that are read-only, unmapped, or vanish in the middle. What is
 *   left is counted by descriptors, by sessions in debugfs, and by ring memory of the user.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_raw.h"
#include "igt_sys.h"

/* more than a user may have sessions */
#define REPEATS 160
/* of a call whose pages vanish */
#define FEW 8

static struct igt_perfctr_device dev;
static long page;

static const struct kind {
	const char *name;
	enum { READ_ONLY, UNMAPPED, HALF, VANISHING } kind;
} kinds[] = {
	{ "read-only", READ_ONLY },
	{ "unmapped", UNMAPPED },
	{ "half-mapped", HALF },
	{ "vanishing", VANISHING },
};

/* two pages; the structure lies across their border */
struct argument {
	uint8_t *pages;
	void *at;
	int userfault;
	bool over;
	pthread_t thread;
};

/* unmaps the second page when the kernel accesses it */
static void *vanish(void *data)
{
	struct argument *a = data;
	struct pollfd p = { .fd = a->userfault, .events = POLLIN };

	while (!__atomic_load_n(&a->over, __ATOMIC_ACQUIRE) && poll(&p, 1, 10) != 1)
		;
	munmap(a->pages + page, page);
	/* the access goes on */
	close(a->userfault);
	return NULL;
}

static void require_userfault(void)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	igt_require_f(fd >= 0, "no userfaultfd\n");
	close(fd);
}

static void make_vanish(struct argument *a)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { .start = (uintptr_t)a->pages + page, .len = page },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	a->userfault = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	igt_assert_lte(0, a->userfault);
	igt_assert_eq(madvise(a->pages + page, page, MADV_DONTNEED), 0);
	igt_assert_eq(ioctl(a->userfault, UFFDIO_API, &api), 0);
	igt_assert_eq(ioctl(a->userfault, UFFDIO_REGISTER, &area), 0);
	a->over = false;
	igt_assert_eq(pthread_create(&a->thread, NULL, vanish, a), 0);
}

static void place(struct argument *a, int kind, const void *contents, size_t bytes)
{
	a->pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	igt_assert(a->pages != MAP_FAILED);
	a->at = a->pages + page - bytes / 16 * 8;
	memcpy(a->at, contents, bytes);
	switch (kind) {
	case READ_ONLY:
		igt_assert_eq(mprotect(a->pages, 2 * page, PROT_READ), 0);
		break;
	case UNMAPPED:
		igt_assert_eq(munmap(a->pages, 2 * page), 0);
		break;
	case HALF:
		igt_assert_eq(munmap(a->pages + page, page), 0);
		break;
	default:
		make_vanish(a);
	}
}

static void drop(struct argument *a, int kind)
{
	if (kind == VANISHING) {
		__atomic_store_n(&a->over, true, __ATOMIC_RELEASE);
		igt_assert_eq(pthread_join(a->thread, NULL), 0);
	}
	munmap(a->pages, kind == READ_ONLY ? 2 * page : page);
}

/* an ioctl with its structure in such memory; result or -errno */
static int call(int fd, unsigned long request, int kind, const void *contents, size_t bytes)
{
	struct argument a;
	int ret;

	place(&a, kind, contents, bytes);
	ret = igt_perfctr_ioctl(fd, request, a.at);
	drop(&a, kind);
	return ret;
}

static unsigned int listed_sessions(void)
{
	char path[64], line[256];
	unsigned int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/perfctr_sessions", dev.minor);
	f = fopen(path, "re");
	igt_require_f(f, "no %s\n", path);
	while (f && fgets(line, sizeof(line), f))
		count += atoi(line) == getpid();
	if (f)
		fclose(f);
	return count;
}

/* OPEN by a user who may have memory for one ring; what may be changed is in @open */
static int open_as_user(const struct drm_perfctr_open *open)
{
	int ret;

	igt_assert_eq(setresuid(IGT_NOBODY, IGT_NOBODY, 0), 0);
	ret = igt_raw_open(&dev, (void *)open, sizeof(*open));
	igt_assert_eq(setresuid(0, 0, 0), 0);
	return ret;
}

static struct drm_perfctr_open one_ring(struct igt_perfctr_session *s)
{
	char kib[16];

	igt_perfctr_session_init(s, &dev);
	s->params.slots = 64;
	igt_assert_eq(igt_perfctr_session_check(s), 0);
	snprintf(kib, sizeof(kib), "%u", s->layout.map_bytes / 1024);
	igt_perfctr_sysctl("paranoid", "0");
	igt_perfctr_sysctl("max_user_ring_kb", kib);
	return igt_raw_params(s);
}

static void end_one_ring(const struct drm_perfctr_open *good)
{
	int fd = open_as_user(good);

	igt_assert_lte(0, fd);
	/* one is the limit */
	igt_assert_eq(open_as_user(good), -EDQUOT);
	close(fd);
	igt_perfctr_sysctl("paranoid", "1");
	igt_perfctr_default_limits();
}

/* OPEN with one of its three arrays in such memory */
static void open_case(int kind, const void *contents, size_t bytes, __u64 *pointer,
		      const struct drm_perfctr_open *open, bool written)
{
	const unsigned int files = igt_open_files(), sessions = listed_sessions();
	const bool works = kind == READ_ONLY && !written;
	const __u64 before = *pointer;

	for (unsigned int i = 0; i < (kind == VANISHING ? FEW : REPEATS); i++) {
		struct argument a;
		int fd;

		place(&a, kind, contents, bytes);
		*pointer = (uintptr_t)a.at;
		fd = open_as_user(open);
		drop(&a, kind);
		igt_assert(works ? fd >= 0 : fd == -EFAULT);
		if (works)
			close(fd);
	}
	*pointer = before;
	igt_assert_eq_u32(igt_open_files(), files);
	igt_assert_eq_u32(listed_sessions(), sessions);
}

static void open_requests(int kind)
{
	struct igt_perfctr_session s;
	struct drm_perfctr_open good = one_ring(&s), open = good;

	open_case(kind, s.requests, open.request_count * sizeof(s.requests[0]), &open.requests,
		  &open, false);
	end_one_ring(&good);
}

static void open_layout(int kind)
{
	struct drm_perfctr_layout layout = { 0 };
	struct igt_perfctr_session s;
	struct drm_perfctr_open good = one_ring(&s), open = good;

	open.layout_size = sizeof(layout);
	open_case(kind, &layout, sizeof(layout), &open.layout, &open, true);
	open.flags = DRM_PERFCTR_OPEN_CHECK;
	open_case(kind, &layout, sizeof(layout), &open.layout, &open, true);
	end_one_ring(&good);
}

static void open_structure(int kind)
{
	const unsigned int files = igt_open_files(), sessions = listed_sessions();
	struct igt_perfctr_session s;
	struct drm_perfctr_open good = one_ring(&s);

	for (unsigned int i = 0; i < FEW; i++) {
		int fd = call(dev.fd, DRM_PERFCTR_IOCTL_OPEN(dev.ioctl_nr), kind, &good,
			      sizeof(good));

		igt_assert(kind == READ_ONLY ? fd >= 0 : fd == -EFAULT);
		if (fd >= 0)
			close(fd);
	}
	igt_assert_eq_u32(igt_open_files(), files);
	igt_assert_eq_u32(listed_sessions(), sessions);
	end_one_ring(&good);
}

static void query(int kind)
{
	const unsigned long request = DRM_PERFCTR_IOCTL_QUERY(dev.ioctl_nr);
	struct drm_perfctr_device_info info = { 0 };
	struct drm_perfctr_query q = {
		.type = DRM_PERFCTR_QUERY_DEVICE,
		.count = 1,
		.stride = sizeof(info),
	};
	struct argument a;

	igt_assert_eq(call(dev.fd, request, kind, &q, sizeof(q)), -EFAULT);
	place(&a, kind, &info, sizeof(info));
	q.pointer = (uintptr_t)a.at;
	igt_assert_eq(igt_perfctr_query(&dev, &q), -EFAULT);
	drop(&a, kind);
}

/* a command fails and has no effect, or works if its structure can be read */
static void command(struct igt_perfctr_session *s, unsigned long request, int kind, bool active)
{
	const struct drm_perfctr_command arg = { .user_data = 4711 };
	const struct drm_perfctr_status before = igt_perfctr_status(s);
	struct drm_perfctr_status after;

	for (unsigned int i = 0; i < FEW && kind != READ_ONLY; i++) {
		igt_assert_eq(call(s->fd, request, kind, &arg, sizeof(arg)), -EFAULT);
		after = igt_perfctr_status(s);
		igt_assert(!memcmp(&before, &after, sizeof(after)));
		igt_assert_eq_u32(s->control->state, active ? DRM_PERFCTR_RING_ACTIVE : 0);
	}
	if (kind == READ_ONLY)
		igt_assert_eq(call(s->fd, request, kind, &arg, sizeof(arg)), 0);
	else
		igt_assert_eq(igt_perfctr_ioctl(s->fd, request, (void *)&arg), 0);
}

static void commands(int kind)
{
	struct igt_perfctr_session s;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	command(&s, DRM_PERFCTR_IOCTL_START, kind, false);
	command(&s, DRM_PERFCTR_IOCTL_SAMPLE, kind, true);
	command(&s, DRM_PERFCTR_IOCTL_STOP, kind, true);
	igt_assert_eq(igt_perfctr_drain(&s), 2);
	igt_assert_eq_u64(s.last.user_data, 4711);
	igt_perfctr_session_close(&s);
}

static void results(int kind)
{
	struct drm_perfctr_status status = { 0 };
	struct drm_perfctr_layout layout = { 0 };
	struct igt_perfctr_session s;
	int reader;

	igt_perfctr_session_open_with(&s, &dev, 4, 0);
	reader = igt_perfctr_session_reader(&s);
	igt_assert_eq(call(s.fd, DRM_PERFCTR_IOCTL_STATUS, kind, &status, sizeof(status)), -EFAULT);
	igt_assert_eq(call(s.fd, DRM_PERFCTR_IOCTL_LAYOUT, kind, &layout, sizeof(layout)), -EFAULT);
	igt_assert_eq(call(reader, DRM_PERFCTR_IOCTL_LAYOUT, kind, &layout, sizeof(layout)),
		      -EFAULT);
	close(reader);
	igt_perfctr_session_close(&s);
}

/* a descriptor is missing: OPEN, which then does not write its layout, and READER */
static void no_descriptor(void)
{
	struct drm_perfctr_layout layout = { 0 };
	struct igt_perfctr_session s;
	struct drm_perfctr_open good = one_ring(&s), open = good;
	const unsigned int sessions = listed_sessions();
	struct drm_perfctr_status status;
	struct rlimit old, none;
	unsigned int i;

	open.layout = (uintptr_t)&layout;
	open.layout_size = sizeof(layout);
	igt_perfctr_session_open(&s);
	igt_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (i = 0; i < REPEATS; i++) {
		if (open_as_user(&open) != -EMFILE)
			break;
		if (igt_perfctr_ioctl(s.fd, DRM_PERFCTR_IOCTL_READER, NULL) != -EMFILE)
			break;
	}
	status = igt_perfctr_status(&s);
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	igt_assert_eq_u32(i, REPEATS);
	igt_assert_eq_u32(layout.slots, 0);
	/* control area and slots */
	igt_assert_eq_u32(status.readers, 2);
	igt_perfctr_session_close(&s);
	igt_assert_eq_u32(listed_sessions(), sessions);
	end_one_ring(&good);
}

static const struct {
	const char *name, *text;
	void (*run)(int kind);
} calls[] = {
	{ "open", "OPEN's structure: -EFAULT leaves nothing behind", open_structure },
	{ "requests", "OPEN's requests: -EFAULT leaves no session, descriptor or ring memory",
	  open_requests },
	{ "layout", "OPEN's layout: -EFAULT leaves no session, descriptor or ring memory",
	  open_layout },
	{ "query", "QUERY and its elements: -EFAULT", query },
	{ "command", "START, SAMPLE, STOP: -EFAULT means that nothing has happened", commands },
	{ "result", "STATUS and LAYOUT, also of a reader: -EFAULT", results },
};

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_any(&dev), "no GPU with counters\n");
		page = sysconf(_SC_PAGESIZE);
	}
	/* Covers: open -EFAULT, query -EFAULT, command -EFAULT, status -EFAULT */
	for (unsigned int c = 0; c < ARRAY_SIZE(calls); c++) {
		for (unsigned int k = 0; k < ARRAY_SIZE(kinds); k++) {
			char name[48], text[160];

			snprintf(name, sizeof(name), "%s-%s", calls[c].name, kinds[k].name);
			snprintf(text, sizeof(text), "%s memory for %s", kinds[k].name,
				 calls[c].text);
			igt_describe(text);
			igt_subtest(name)
			{
				if (kinds[k].kind == VANISHING)
					require_userfault();
				calls[c].run(kinds[k].kind);
			}
		}
	}
	/* Covers: open -EMFILE */
	igt_describe("without a free descriptor OPEN and READER are -EMFILE and leave nothing");
	igt_subtest("no-descriptor") no_descriptor();
	igt_fixture() {
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_default_limits();
		igt_perfctr_close(&dev);
	}
}
