// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: rings, which user space shares with the kernel. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static struct drm_perfctr_ring_control *control_area(const struct session *s)
{
	__u64 bytes;

	return (void *)map_of(s, &bytes);
}

void op_scribble_control(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_ring_control *c = control_area(s);
	__u32 insert;

	if (!c)
		return;
	insert = __atomic_load_n(&c->insert_idx, __ATOMIC_RELAXED);
	switch (below(r, 5)) {
	case 0:
		__atomic_store_n(&c->extract_idx, wild(r), __ATOMIC_RELAXED);
		break;
	case 1:
		__atomic_store_n(&c->extract_idx, insert + below(r, 5) - 2, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n(&c->insert_idx, wild(r), __ATOMIC_RELAXED);
		break;
	case 3:
		mutate(r, c, sizeof(*c));
		break;
	default:
		/* a reader that has read everything */
		__atomic_store_n(&c->extract_idx, insert, __ATOMIC_RELEASE);
	}
}

/* any part of a ring with any protection, then mprotect() */
void op_remap(struct world *w, struct rng *r)
{
	static const int prots[] = {
		PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE, PROT_READ | PROT_EXEC, PROT_NONE,
	};
	struct session *s = any_session(w, r);
	__u64 bytes, at = percent(r, 80) ? PAGE_BYTES * below(r, 8) : wild(r) & -PAGE_BYTES;
	char *map;

	bytes = percent(r, 80) ? PAGE_BYTES * (1 + below(r, 8)) : wild(r) % MAX_MAP_BYTES + 1;
	map = mmap(NULL, bytes, prots[below(r, ARRAY_SIZE(prots))],
		   percent(r, 90) ? MAP_SHARED : MAP_PRIVATE,
		   percent(r, 50) ? s->fd : s->reader, at);
	if (map == MAP_FAILED)
		return;
	if (at && !mprotect(map, bytes, PROT_READ | PROT_WRITE)) {
		fprintf(stderr, "ioctl_fuzz: slots became writable\n");
		abort();
	}
	mremap(map, bytes, bytes + PAGE_BYTES, 0);
	if (percent(r, 50))
		munmap(map, PAGE_BYTES);
	munmap(map, bytes);
}

/* a descriptor for another reader, which replaces the last one */
void op_reader(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	int fd = ioctl(s->fd, DRM_PERFCTR_IOCTL_READER, percent(r, 95) ? 0 : wild(r));

	if (fd < 0)
		return;
	if (percent(r, 30))
		map_ring(w, s, fd);
	fd = __atomic_exchange_n(&s->reader, fd, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
}

/* close the reader, the mapping or both, while the session stays */
void op_close_ring(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	unsigned int what = 1 + below(r, 3);
	int fd = what & 1 ? __atomic_exchange_n(&s->reader, -1, __ATOMIC_RELAXED) : -1;

	if (fd >= 0)
		close(fd);
	if (what & 2)
		set_map(s, 0);
}

void op_poll(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct pollfd p[] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = s->reader, .events = percent(r, 90) ? POLLIN : rnd(r) },
	};

	poll(p, ARRAY_SIZE(p), below(r, 3));
}

/* A reader that follows the rules: samples must be valid unless the ring was overwritten. */
void op_drain(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_ring_control *c = control_area(s);
	unsigned int n = 1 + below(r, 64);

	while (c && n-- && __atomic_load_n(&c->insert_idx, __ATOMIC_ACQUIRE) != s->extract)
		__atomic_store_n(&c->extract_idx, ++s->extract, __ATOMIC_RELEASE);
}

void op_eventfd(struct world *w, struct rng *r)
{
	int *slot = &w->eventfds[below(r, MAX_EVENTFDS)];
	struct pollfd p = { .fd = *slot, .events = POLLIN };
	__u64 count;

	if (*slot < 0) {
		*slot = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		return;
	}
	poll(&p, 1, 1);
	if (read(*slot, &count, sizeof(count)) < 0 && percent(r, 30)) {
		close(*slot);
		*slot = -1;
	}
}
