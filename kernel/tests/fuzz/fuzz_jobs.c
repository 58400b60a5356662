// SPDX-License-Identifier: GPL-2.0
/* The ioctl fuzzer: jobs of the virtual SoC, valid and invalid. */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_COMMANDS 6
/* short jobs, so that the device executes all of them */
#define MAX_UNITS 20000

static void random_command(struct world *w, struct rng *r, struct drm_vsoc_command *c)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->type = 1 + below(r, 8);
	switch (c->type) {
	case DRM_VSOC_CMD_DRAW:
		c->draw.vertices = below(r, MAX_UNITS);
		c->draw.primitives = below(r, MAX_UNITS);
		c->draw.primitives_culled = below(r, c->draw.primitives + 1);
		c->draw.points = below(r, c->draw.primitives + 1);
		c->draw.streamed = below(r, c->draw.primitives + 1);
		c->draw.fragments = below(r, MAX_UNITS);
		c->draw.texels = below(r, MAX_UNITS);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		c->compute.threads = below(r, MAX_UNITS);
		c->compute.instructions = below(r, 200);
		break;
	case DRM_VSOC_CMD_COPY:
		c->copy.bytes = 64ull * below(r, MAX_UNITS);
		c->copy.flags = 1 + below(r, 3);
		c->copy.initiator = below(r, 3);
		c->copy.address = 64ull * below(r, 1000);
		break;
	case DRM_VSOC_CMD_PCIE:
		c->pcie.bytes = 64ull * below(r, MAX_UNITS);
		c->pcie.flags = below(r, 2);
		break;
	case DRM_VSOC_CMD_WAIT:
		c->wait.duration_ns = below(r, 1000000);
		break;
	case DRM_VSOC_CMD_SAMPLE:
		c->sample.session = any_session(w, r)->fd;
		c->sample.user_data = rnd(r);
		break;
	case DRM_VSOC_CMD_METHODS:
		c->methods.count = 1 + below(r, ARRAY_SIZE(c->methods.methods));
		for (i = 0; i < c->methods.count; i++) {
			c->methods.methods[i].method = DRM_VSOC_MP_PM_SET(below(r, 8));
			/* a unit that exists and bits that are defined */
			c->methods.methods[i].data = (rnd(r) & ~0xfeu) | below(r, 6) << 4;
		}
		break;
	case DRM_VSOC_CMD_MP_STORE:
		c->mp_store.handle = any_bo(w, r)->handle;
		c->mp_store.offset = 8ull * below(r, 1000);
		c->mp_store.sequence = rnd(r);
		break;
	}
	if (percent(r, 6))
		mutate(r, c, sizeof(*c));
}

/* threads of a small program that mostly ends */
static void random_listing(struct world *w, struct rng *r, struct drm_vsoc_command *c)
{
	struct drm_vsoc_instruction listing[12];
	unsigned int i, n = 2 + below(r, ARRAY_SIZE(listing) - 2);

	memset(listing, 0, sizeof(listing));
	for (i = 0; i + 1 < n; i++) {
		listing[i].opcode = (1 + below(r, 7)) << 8 | below(r, 4);
		if (percent(r, 20)) {
			listing[i].opcode = DRM_VSOC_OP_BRA;
			listing[i].target = below(r, n);
			listing[i].guard = DRM_VSOC_GUARD_TIMES;
			listing[i].guard_times = below(r, 50);
		}
	}
	listing[n - 1].opcode = DRM_VSOC_OP_EXIT;
	if (percent(r, 15))
		mutate(r, listing, sizeof(listing));
	c->type = DRM_VSOC_CMD_COMPUTE;
	c->compute.threads = below(r, 4000);
	c->compute.instructions = 0;
	c->compute.listing_count = n;
	c->compute.listing_stride = sizeof(listing[0]);
	c->compute.listing = (uintptr_t)place(w, r, listing, sizeof(listing));
}

void op_submit(struct world *w, struct rng *r)
{
	struct drm_vsoc_command commands[MAX_COMMANDS];
	unsigned int i, n = 1 + below(r, MAX_COMMANDS);
	struct drm_vsoc_submit submit = {
		.flags = percent(r, 20) ? DRM_VSOC_SUBMIT_FENCE_OUT : 0,
		.ctx_id = percent(r, 60) ? 0 : w->contexts[below(r, MAX_CONTEXTS)],
		.command_count = n,
		.command_stride = sizeof(commands[0]),
		.fence_fd = -1,
	};

	for (i = 0; i < n; i++) {
		random_command(w, r, &commands[i]);
		if (percent(r, 10)) {
			memset(&commands[i], 0, sizeof(commands[i]));
			random_listing(w, r, &commands[i]);
		}
	}
	submit.commands = (uintptr_t)place(w, r, commands, sizeof(commands[0]) * n);
	if (percent(r, 10))
		mutate(r, &submit, sizeof(submit));
	submit.fence_fd = -1;
	if (call(any_fd(w, r), DRM_IOCTL_VSOC_SUBMIT, &submit))
		return;
	w->jobs[below(r, MAX_JOBS)] = submit.job_id;
	if (submit.flags & DRM_VSOC_SUBMIT_FENCE_OUT && submit.fence_fd > 2)
		close(submit.fence_fd);
}

void op_wait(struct world *w, struct rng *r)
{
	struct drm_vsoc_wait wait = {
		.job_id = percent(r, 90) ? w->jobs[below(r, MAX_JOBS)] : wild(r),
		.timeout_ns = below(r, 3000000),
	};

	if (percent(r, 10))
		mutate(r, &wait.flags, sizeof(wait.flags));
	call(any_fd(w, r), DRM_IOCTL_VSOC_WAIT, &wait);
}

void op_context(struct world *w, struct rng *r)
{
	__u32 *slot = &w->contexts[below(r, MAX_CONTEXTS)];
	struct drm_vsoc_ctx_create create = { .flags = percent(r, 95) ? 0 : wild(r) };
	struct drm_vsoc_ctx_destroy destroy = { .ctx_id = percent(r, 90) ? *slot : wild(r) };
	/* more releases than holds: held jobs do nothing */
	struct drm_vsoc_ctx_hold hold = {
		.ctx_id = percent(r, 50) ? *slot : DRM_VSOC_CTX_ALL,
		.hold = percent(r, 95) ? percent(r, 30) : wild(r),
		.pid = percent(r, 50) ? 0 :
		       percent(r, 80) ? (int)getppid() :
					(int)wild(r),
	};

	if (percent(r, 30)) {
		call(any_fd(w, r), DRM_IOCTL_VSOC_CTX_HOLD, &hold);
	} else if (percent(r, 50)) {
		if (!call(any_fd(w, r), DRM_IOCTL_VSOC_CTX_CREATE, &create))
			*slot = create.ctx_id;
	} else {
		call(any_fd(w, r), DRM_IOCTL_VSOC_CTX_DESTROY, &destroy);
	}
}

void op_info(struct world *w, struct rng *r)
{
	struct drm_vsoc_get_info info = {
		.pointer = percent(r, 70) ? (uintptr_t)w->arena : 0,
		.size = percent(r, 70) ? sizeof(struct drm_vsoc_info) : wild(r),
	};

	call(any_fd(w, r), DRM_IOCTL_VSOC_GET_INFO, place(w, r, &info, sizeof(info)));
}
