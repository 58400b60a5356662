// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl fuzzer: rings and control areas, which we share with the kernel.
 */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fuzz.h"

static struct drm_perfctr_ring_control *control_area(struct world *w, const struct session *s)
{
	__u64 at = s->setup.control_offset;
	__u64 bytes;
	char *map = map_of(&w->bos[s->control], &bytes);

	if (!map || at % 64 || at > bytes ||
	    bytes - at < sizeof(struct drm_perfctr_ring_control))
		return NULL;
	return (void *)(map + at);
}

void op_scribble_control(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_ring_control *c = control_area(w, s);
	__u64 insert;

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

void op_scribble_ring(struct world *w, struct rng *r)
{
	__u64 i, bytes, n = below(r, 64);
	char *map = map_of(any_bo(w, r), &bytes);

	if (!map)
		return;
	for (i = 0; i < n; i++) {
		__u64 value = wild(r);

		memcpy(map + 8 * below(r, bytes / 8), &value, 8);
	}
}

/* a reader that follows the rules: what it reads must make sense, unless somebody scribbled */
void op_drain(struct world *w, struct rng *r)
{
	struct session *s = any_session(w, r);
	struct drm_perfctr_ring_control *c = control_area(w, s);
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
