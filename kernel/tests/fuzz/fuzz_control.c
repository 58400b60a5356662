// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: PERF_CONTROL, with buffers of the application that change meanwhile. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fuzz.h"

enum command { SETUP, TEARDOWN, START, STOP, SAMPLE, COMMANDS };

struct control {
	__u32 cmd, handle;
	__u64 size, pointer;
};

struct setup {
	__u8 set, pad[7];
	__u32 eventfd, ring, control, slots;
	__u64 control_offset, period_ns;
	__u64 masks[6][2];
};

static_assert(sizeof(struct setup) == 136, "setup");

#define PERF_CONTROL	DRM_IOWR(0x9e, struct control)
/* of the words of CONTROL_INFO */
#define INFO_WORDS	12
#define SAMPLE_SIZE	3

static int control_call(struct world *w, struct rng *r, int fd, enum command cmd, __u32 number,
			const void *arg, __u64 bytes)
{
	struct control control = {
		.cmd = percent(r, 98) ? cmd : below(r, COMMANDS + 2),
		.handle = number,
		.size = percent(r, 95) ? bytes : percent(r, 50) ? below(r, 300) : wild(r),
		.pointer = (uintptr_t)place(w, r, arg, bytes),
	};

	if (percent(r, 3))
		mutate(r, &control, sizeof(control));
	return call(fd, PERF_CONTROL, percent(r, 95) ? &control :
						       place(w, r, &control, sizeof(control)));
}

/* a new buffer of the file, which others may close, map and change; 0: there is none */
static __u32 buffer(struct world *w, struct rng *r, unsigned int slot, __u64 bytes)
{
	struct drm_vsoc_bo_create create = { .size = bytes };
	struct bo *bo = &w->bos[below(r, MAX_BOS)];

	/* any other one, often too small */
	if (percent(r, 15))
		return any_bo(w, r)->handle;
	if (ioctl(w->fds[slot], DRM_IOCTL_VSOC_BO_CREATE, &create))
		return 0;
	*bo = (struct bo) { .fd = slot, .handle = create.handle, .offset = create.mmap_offset };
	return create.handle;
}

/* a file of a device that has PERF_CONTROL, mostly */
static unsigned int control_slot(struct world *w, struct rng *r)
{
	struct drm_vsoc_get_info get = { 0 };
	unsigned int i, slot = any_slot(w, r);

	for (i = 0; i < MAX_FDS && ioctl(w->fds[slot], DRM_IOCTL_VSOC_CONTROL_INFO, &get); i++)
		slot = (slot + 1) % MAX_FDS;
	return slot;
}

static void random_setup(struct world *w, struct rng *r, unsigned int slot, struct setup *setup)
{
	__u32 info[INFO_WORDS] = { 0 };
	struct drm_vsoc_get_info get = { .pointer = (uintptr_t)info, .size = sizeof(info) };
	int *signals = &w->eventfds[below(r, MAX_EVENTFDS)];
	unsigned int i;

	ioctl(w->fds[slot], DRM_IOCTL_VSOC_CONTROL_INFO, &get);
	if (*signals < 0 && percent(r, 95))
		*signals = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	memset(setup, 0, sizeof(*setup));
	setup->slots = 1u << below(r, percent(r, 95) ? 6 : 18);
	setup->ring = buffer(w, r, slot, (__u64)info[SAMPLE_SIZE] * setup->slots);
	setup->control = buffer(w, r, slot, PAGE_BYTES);
	setup->control_offset = percent(r, 90) ? 8 * below(r, 512) : wild(r);
	setup->eventfd = *signals;
	setup->set = percent(r, 90) ? 0 : below(r, 4);
	if (percent(r, 30))
		setup->period_ns = 100000ull << below(r, 12);
	for (i = 0; i < ARRAY_SIZE(setup->masks); i++) {
		setup->masks[i][0] = percent(r, 70) ? ~0ull : rnd(r) & rnd(r);
		setup->masks[i][1] = percent(r, 50) ? 0 : rnd(r);
	}
	if (percent(r, 10))
		mutate(r, setup, sizeof(*setup));
}

void op_control_setup(struct world *w, struct rng *r)
{
	struct control_session *s = &w->controls[below(r, MAX_CONTROLS)];
	unsigned int slot = control_slot(w, r);
	__u64 user_data = rnd(r);
	struct setup setup;
	int number;

	random_setup(w, r, slot, &setup);
	number = control_call(w, r, w->fds[slot], SETUP, 0, &setup, sizeof(setup));
	if (number <= 0)
		return;
	*s = (struct control_session) { .fd = slot, .number = number };
	if (percent(r, 80))
		control_call(w, r, w->fds[slot], START, number, &user_data, sizeof(user_data));
}

/* any command for a session that exists, has ended, or is another file's */
void op_control(struct world *w, struct rng *r)
{
	static const enum command commands[] = {
		SAMPLE, SAMPLE, SAMPLE, SAMPLE, START, START, STOP, STOP, TEARDOWN,
	};
	struct control_session *s = &w->controls[below(r, MAX_CONTROLS)];
	__u64 user_data = rnd(r);

	/* without a session most commands do nothing */
	if (!s->number && percent(r, 90)) {
		op_control_setup(w, r);
		return;
	}
	control_call(w, r, percent(r, 95) ? w->fds[s->fd] : any_fd(w, r),
		     commands[below(r, ARRAY_SIZE(commands))],
		     percent(r, 95) ? s->number : wild(r), &user_data, sizeof(user_data));
}

/* indices and samples are the application's to write: a reader, a wild one, garbage */
void op_control_scribble(struct world *w, struct rng *r)
{
	struct bo *bo = any_bo(w, r);
	__u64 *words, at = below(r, PAGE_BYTES / sizeof(*words) - 1);

	if (!bo->offset)
		return;
	words = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fds[bo->fd],
		     bo->offset);
	if (words == MAP_FAILED)
		return;
	switch (below(r, 4)) {
	case 0:
		words[at] = words[at + 1];
		break;
	case 1:
		words[at] = words[at + 1] + below(r, 5) - 2;
		break;
	case 2:
		words[at] = wild(r);
		break;
	default:
		memset(words, below(r, 256), PAGE_BYTES);
	}
	munmap(words, PAGE_BYTES);
}
