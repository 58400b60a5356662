// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: operations of a process, valid and invalid. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_REQUESTS		12

static bool is_child;

/* forget the members of a closed file; sometimes keep using them */
static void forget_file(struct world *w, struct rng *r, int slot)
{
	unsigned int i;

	for (i = 0; i < MAX_BOS; i++)
		if (w->bos[i].fd == slot && percent(r, 90))
			w->bos[i].handle = 0;
}

static void op_open(struct world *w, struct rng *r)
{
	unsigned int first = percent(r, 60) ? 0 : below(r, 8);
	unsigned int slot = below(r, MAX_FDS);
	unsigned int i, n;
	int fd = -1;

	/* a file of a removed device is useless */
	for (i = 0; i < MAX_FDS; i++)
		if (w->fds[i] >= 0 && !is_ours(w->fds[i]))
			slot = i;
	if (w->fds[slot] >= 0 && is_ours(w->fds[slot]) && percent(r, 70))
		return;
	for (n = 0; n < RENDER_MINORS && fd < 0; n++)
		fd = open_node((first + n) % RENDER_MINORS);
	if (fd < 0)
		return;
	fd = __atomic_exchange_n(&w->fds[slot], fd, __ATOMIC_RELAXED);
	if (fd < 0)
		return;
	forget_file(w, r, slot);
	close(fd);
}

static void op_close(struct world *w, struct rng *r)
{
	unsigned int slot = below(r, MAX_FDS);
	/* another thread may be in an ioctl on this file */
	int fd = __atomic_exchange_n(&w->fds[slot], -1, __ATOMIC_RELAXED);

	if (fd < 0)
		return;
	forget_file(w, r, slot);
	close(fd);
}

static void op_dup(struct world *w, struct rng *r)
{
	int fd = any_fd(w, r), *slot = &w->fds[below(r, MAX_FDS)];

	if (fd >= 0 && *slot < 0)
		*slot = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void op_query(struct world *w, struct rng *r)
{
	static const __u32 strides[] = {
		sizeof(struct drm_perfctr_device_info), sizeof(struct drm_perfctr_block_info),
		sizeof(struct drm_perfctr_clock_info),
	};
	unsigned int type = below(r, 3);
	struct drm_perfctr_query query = {
		.type = type,
		.count = below(r, 40),
		.stride = strides[type] + 8 * below(r, 3),
	};
	int fd;

	if (percent(r, 70))
		query.pointer = (uintptr_t)(w->arena + 64 * below(r, 128));
	if (percent(r, 30))
		mutate(r, &query, sizeof(query));
	fd = any_fd(w, r);
	call(fd, DRM_PERFCTR_IOCTL_QUERY(query_nr(fd)), place(w, r, &query, sizeof(query)));
}

static void op_bo_create(struct world *w, struct rng *r)
{
	struct drm_vsoc_bo_create create = { .size = 1ull << below(r, 22) };
	struct bo *bo = &w->bos[below(r, MAX_BOS)];
	unsigned int fd_slot = any_slot(w, r);

	if (percent(r, 8))
		mutate(r, &create, sizeof(create));
	if (call(w->fds[fd_slot], DRM_IOCTL_VSOC_BO_CREATE, &create))
		return;
	*bo = (struct bo) {
		.fd = fd_slot, .handle = create.handle, .offset = create.mmap_offset,
	};
}

static void op_gem_close(struct world *w, struct rng *r)
{
	struct bo *bo = any_bo(w, r);
	struct drm_gem_close close_bo = { .handle = percent(r, 90) ? bo->handle : wild(r) };

	/* a job may be using it */
	call(percent(r, 90) ? w->fds[bo->fd] : any_fd(w, r), DRM_IOCTL_GEM_CLOSE, &close_bo);
	if (percent(r, 80))
		bo->handle = 0;
}

/* an ioctl of a session: its structure anywhere, and of any size */
static int session_call(struct world *w, struct rng *r, int fd, unsigned int request,
			const void *arg)
{
	unsigned int size = _IOC_SIZE(request);
	void *at = place(w, r, arg, size);

	if (percent(r, 6))
		size = percent(r, 50) ? size + 8 * below(r, 8) : below(r, _IOC_SIZEMASK);
	return call(fd, _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size), at);
}

/* blocks of the GPU behind a file: a device has those of one family */
struct family {
	unsigned int first, last;
};

static unsigned int types_of(struct family family)
{
	return family.last - family.first + 1;
}

static struct family family_of(int fd)
{
	static const struct family csf = {
		DRM_PERFCTR_MALI_BLOCK_FW, DRM_PERFCTR_MALI_BLOCK_SHADER,
	};
	static const struct family nv50 = {
		DRM_PERFCTR_NV50_BLOCK_PCOUNTER, DRM_PERFCTR_NV50_BLOCK_MP,
	};
	struct drm_perfctr_device_info info = { 0 };
	struct drm_perfctr_query query = {
		.type = DRM_PERFCTR_QUERY_DEVICE,
		.count = 1,
		.stride = sizeof(info),
		.pointer = (uintptr_t)&info,
	};

	if (ioctl(fd, DRM_PERFCTR_IOCTL_QUERY(query_nr(fd)), &query))
		return csf;
	return info.product == DRM_PERFCTR_NV50_PRODUCT ? nv50 : csf;
}

static void random_request(struct world *w, struct rng *r, struct family family,
			   struct drm_perfctr_block_request *q)
{
	unsigned int i;

	memset(q, 0, sizeof(*q));
	q->index = DRM_PERFCTR_INDEX_ALL;
	switch (below(r, 20)) {
	case 0:
		/* a PMU of the machine: software events, the fabric's */
		if (!w->pmu_count)
			break;
		i = below(r, w->pmu_count);
		q->type = w->pmus[i].block;
		q->flags = percent(r, 97) ? DRM_PERFCTR_REQUEST_PMU : 0;
		q->pmu_type = percent(r, 95) ? w->pmus[i].type : wild(r);
		q->index = below(r, 4);
		q->cpu = percent(r, 80) ? DRM_PERFCTR_CPU_ANY : (int)below(r, 4);
		q->mask = 1;
		if (q->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			q->config = percent(r, 90) ? below(r, 10) : wild(r);
		else
			q->mask = 1 + below(r, 7);
		break;
	case 1:
		q->index = below(r, 4);
		fallthrough;
	default:
		q->type = family.first + below(r, types_of(family));
		q->flags = DRM_PERFCTR_REQUEST_AVAILABLE;
		q->mask = percent(r, 70) ? ~0ull : rnd(r) & rnd(r);
		q->section = percent(r, 90) ? 0 : below(r, 3);
	}
	if (percent(r, 4))
		mutate(r, q, sizeof(*q));
}

static unsigned int random_requests(struct world *w, struct rng *r, int fd,
				    struct drm_perfctr_block_request *requests)
{
	const struct family family = family_of(fd);
	unsigned int i, count = 1 + below(r, percent(r, 90) ? types_of(family) : MAX_REQUESTS);
	__u8 set = percent(r, 90) ? 0 : below(r, 4);

	for (i = 0; i < count; i++) {
		random_request(w, r, family, &requests[i]);
		if (!(requests[i].flags & DRM_PERFCTR_REQUEST_PMU))
			requests[i].set = percent(r, 99) ? set : below(r, 4);
		/* the same type twice is refused */
		if (percent(r, 90) && requests[i].type <= DRM_PERFCTR_NV50_BLOCK_MP)
			requests[i].type = family.first + i % types_of(family);
	}
	return count;
}

static void random_open(struct world *w, struct rng *r, int fd, struct drm_perfctr_open *open)
{
	struct drm_perfctr_block_request requests[MAX_REQUESTS];

	memset(open, 0, sizeof(*open));
	open->slots = 1u << below(r, percent(r, 95) ? 6 : 17);
	open->eventfd = -1;
	open->request_count = random_requests(w, r, fd, requests);
	open->request_stride = sizeof(requests[0]);
	open->requests = (uintptr_t)place(w, r, requests, sizeof(requests));
	if (percent(r, 30))
		open->period_ns = 100000ull << below(r, 12);
	open->watermark = percent(r, 80) ? 0 : below(r, open->slots + 2);
	if (percent(r, 10))
		open->flags |= DRM_PERFCTR_OPEN_KEEP_AWAKE;
	if (percent(r, 15))
		open->flags |= DRM_PERFCTR_OPEN_AUTOMATIC;
}

/* replace a session; its descriptors are closed afterwards, its ring before */
static void put_session(struct world *w, struct rng *r, struct session *s, struct session made)
{
	int old = s->fd, reader = s->reader;

	set_map(s, 0);
	*s = made;
	if (percent(r, 90))
		map_ring(w, s, s->fd);
	if (old >= 0)
		close(old);
	if (reader >= 0)
		close(reader);
}

static void op_session(struct world *w, struct rng *r)
{
	int fd = any_fd(w, r);
	struct session *s = &w->sessions[below(r, MAX_SESSIONS)];
	struct session made = { .reader = -1, .extract = DRM_PERFCTR_RING_FIRST };
	struct drm_perfctr_layout layout = { };
	struct drm_perfctr_open open;

	random_open(w, r, fd, &open);
	if (percent(r, 20))
		open.flags |= DRM_PERFCTR_OPEN_CHECK;
	else if (percent(r, 40))
		open.eventfd = w->eventfds[below(r, MAX_EVENTFDS)];
	/* where it can be written, cannot, and vanishes meanwhile */
	open.layout = (uintptr_t)place(w, r, &layout, sizeof(layout));
	open.layout_size = percent(r, 90) ? sizeof(layout) : below(r, 200);
	if (percent(r, 15))
		mutate(r, &open, sizeof(open));
	made.fd = call(fd, DRM_PERFCTR_IOCTL_OPEN(query_nr(fd)),
		       percent(r, 90) ? &open : place(w, r, &open, sizeof(open)));
	if (made.fd < 0 || open.flags & DRM_PERFCTR_OPEN_CHECK)
		return;
	ioctl(made.fd, DRM_PERFCTR_IOCTL_LAYOUT, &made.layout);
	put_session(w, r, s, made);
	if (family_of(fd).first == DRM_PERFCTR_NV50_BLOCK_PCOUNTER)
		__atomic_fetch_add(&tally->nv50_sessions, 1, __ATOMIC_RELAXED);
	if (percent(r, 70)) {
		struct drm_perfctr_command command = { .user_data = rnd(r) };

		session_call(w, r, made.fd, DRM_PERFCTR_IOCTL_START, &command);
	}
}

/* every field of OPEN is invalid at once */
static void op_session_wild(struct world *w, struct rng *r)
{
	struct drm_perfctr_open open;
	int fd = any_fd(w, r), session;

	random_open(w, r, fd, &open);
	if (percent(r, 50))
		open.flags |= DRM_PERFCTR_OPEN_CHECK;
	open.request_stride += percent(r, 50) ? 8 * below(r, 10) : 0;
	mutate(r, &open, sizeof(open));
	session = session_call(w, r, fd, DRM_PERFCTR_IOCTL_OPEN(query_nr(fd)), &open);
	if (session > 2)
		close(session);
}

static void command(struct world *w, struct rng *r, unsigned int request)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_command command = { .user_data = rnd(r) };

	/* without a session most operations do nothing */
	if (s->fd < 0 && percent(r, 80)) {
		op_session(w, r);
		return;
	}
	if (percent(r, 3))
		mutate(r, &command, sizeof(command));
	session_call(w, r, percent(r, 97) ? s->fd : percent(r, 50) ? s->reader : any_fd(w, r),
		     request, &command);
}

static void op_start(struct world *w, struct rng *r)
{
	command(w, r, DRM_PERFCTR_IOCTL_START);
}

static void op_stop(struct world *w, struct rng *r)
{
	command(w, r, DRM_PERFCTR_IOCTL_STOP);
}

static void op_sample(struct world *w, struct rng *r)
{
	command(w, r, DRM_PERFCTR_IOCTL_SAMPLE);
}

static void op_status(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_status status = { 0 };

	session_call(w, r, s->fd, DRM_PERFCTR_IOCTL_STATUS, &status);
}

static void op_layout(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_layout layout = { 0 };

	session_call(w, r, percent(r, 50) ? s->fd : s->reader, DRM_PERFCTR_IOCTL_LAYOUT, &layout);
}

static void op_end(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	/* another thread may be in an ioctl on it */
	int fd = __atomic_exchange_n(&s->fd, -1, __ATOMIC_RELAXED);

	if (fd >= 0)
		close(fd);
}

/* our ioctl numbers and adjacent ones, with structures of any size */
static void op_raw(struct world *w, struct rng *r)
{
	static const unsigned int of_sessions[] = {
		0xdf, 0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6,
	};
	const bool is_session = percent(r, 50);
	int fd = is_session ? any_session(w, r)->fd : any_fd(w, r), ret;
	unsigned int nr = is_session ? of_sessions[below(r, ARRAY_SIZE(of_sessions))] :
			  percent(r, 50) ? query_nr(fd) + below(r, 4) - 1 :
					   DRM_COMMAND_BASE + below(r, 8);
	unsigned int size = percent(r, 70) ? 8 * below(r, 20) : below(r, 16384);
	unsigned long request = _IOC(below(r, 4), DRM_IOCTL_BASE, nr, size);
	char bytes[256];
	unsigned int i;

	for (i = 0; i < sizeof(bytes); i += 8) {
		__u64 value = percent(r, 60) ? 0 : wild(r);

		memcpy(bytes + i, &value, 8);
	}
	ret = call(fd, request,
		   request == DRM_PERFCTR_IOCTL_READER ? NULL : place(w, r, bytes, sizeof(bytes)));
	/* a descriptor; the first ones are the process's own */
	if (ret > 2)
		close(ret);
}

/* a child inherits everything, does some operations and is mostly killed */
static void op_child(struct world *w, struct rng *r)
{
	unsigned int n = 2 + below(r, 20);
	__u64 seed = rnd(r);
	pid_t pid = fork();

	if (!pid) {
		/* must not fork: nothing waits for grandchildren */
		static const struct op ops[] = {
			{ "sample", 1, op_sample }, { "stop", 1, op_stop },
			{ "start", 1, op_start }, { "end", 1, op_end },
			{ "session", 2, op_session }, { "submit", 1, op_submit },
			{ "close", 1, op_close }, { NULL, 0, NULL },
		};

		alarm(10);
		is_child = true;
		while (n--)
			run_op(w, ops, seed++);
		_exit(0);
	}
	if (pid < 0)
		return;
	if (percent(r, 60)) {
		usleep(below(r, 5000));
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

static void op_nap(struct world *w, struct rng *r)
{
	usleep(below(r, 2000));
}

/* interrupt a call of the second thread with a signal */
static void op_signal(struct world *w, struct rng *r)
{
	kill(getpid(), SIGUSR1);
}

const struct op user_ops[] = {
	{ "open", 10, op_open },
	{ "close", 1, op_close },
	{ "dup", 1, op_dup },
	{ "query", 5, op_query },
	{ "bo_create", 3, op_bo_create },
	{ "gem_close", 2, op_gem_close },
	{ "remap", 3, op_remap },
	{ "reader", 3, op_reader },
	{ "close_ring", 2, op_close_ring },
	{ "session", 16, op_session },
	{ "session_wild", 8, op_session_wild },
	{ "start", 10, op_start },
	{ "stop", 8, op_stop },
	{ "sample", 14, op_sample },
	{ "status", 5, op_status },
	{ "layout", 2, op_layout },
	{ "poll", 4, op_poll },
	{ "end", 5, op_end },
	{ "scribble_control", 8, op_scribble_control },
	{ "drain", 12, op_drain },
	{ "eventfd", 3, op_eventfd },
	{ "control_setup", 8, op_control_setup },
	{ "control", 16, op_control },
	{ "control_scribble", 6, op_control_scribble },
	{ "submit", 8, op_submit },
	{ "wait", 3, op_wait },
	{ "context", 2, op_context },
	{ "info", 1, op_info },
	{ "raw", 4, op_raw },
	{ "child", 1, op_child },
	{ "nap", 2, op_nap },
	{ "signal", 2, op_signal },
	{ NULL, 0, NULL },
};

void run_op(struct world *w, const struct op *ops, __u64 seed)
{
	struct rng r = { .x = seed };
	const struct op *op;
	unsigned int total = 0, n;
	sigjmp_buf recover;

	for (op = ops; op->name; op++)
		total += op->weight;
	n = below(&r, total);
	for (op = ops; n >= op->weight; op++)
		n -= op->weight;
	if (fuzz_verbose)
		fprintf(stderr, "# %d 0x%016llx %s\n", getpid(), (unsigned long long)seed,
			op->name);
	__atomic_fetch_add(&tally->ops, 1, __ATOMIC_RELAXED);

	if (!sigsetjmp(recover, 1)) {
		fuzz_recover = &recover;
		if (!is_child)
			fuzz_op = op - ops;
		op->run(w, &r);
		/* open the device again, as most programs do */
		if (fuzz_gone && percent(&r, 80))
			op_open(w, &r);
	} else {
		__atomic_fetch_add(&tally->faults, 1, __ATOMIC_RELAXED);
	}
	fuzz_gone = false;
	fuzz_recover = NULL;
}
