// SPDX-License-Identifier: GPL-2.0
/*
 * Validation of commands.
 */
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <drm/drm_print.h>

#include "nv50/nv50_mp.h"
#include "engine/vsoc.h"
#include "vsoc_job.h"

#define LISTING_STRIDE_MIN	16
#define LISTING_STRIDE_MAX	4096
/* steps and instructions between checks for signals and rescheduling */
#define LISTING_BREATH		8192

static bool is_amount(u64 value)
{
	return value <= VSOC_MAX_UNITS;
}

static bool is_line(u64 value)
{
	return value % DRM_VSOC_LINE_BYTES == 0;
}

static const char *check_draw(const struct drm_vsoc_cmd_draw *d)
{
	if (!is_amount(d->vertices))
		return "vertices is above max_units";
	if (!is_amount(d->primitives))
		return "primitives is above max_units";
	if (!is_amount(d->fragments))
		return "fragments is above max_units";
	if (!is_amount(d->texels))
		return "texels is above max_units";
	if (d->primitives_culled > d->primitives)
		return "primitives_culled is above primitives";
	if (d->points > d->primitives || d->lines > d->primitives - d->points)
		return "points and lines are above primitives";
	if (d->streamed > d->primitives)
		return "streamed is above primitives";
	return NULL;
}

static const char *check_compute(const struct drm_vsoc_cmd_compute *c)
{
	if (!is_amount(c->threads))
		return "threads is above max_units";
	if (c->instructions > VSOC_MAX_INSTRUCTIONS)
		return "instructions is above 65535";
	if (!c->listing_count && (c->listing || c->listing_stride))
		return "listing and listing_stride must be zero without listing_count";
	if (c->listing_count && c->instructions)
		return "instructions must be zero with a listing";
	if (c->listing_count &&
	    (c->listing_stride < LISTING_STRIDE_MIN || c->listing_stride % 8 ||
	     c->listing_stride > LISTING_STRIDE_MAX))
		return "listing_stride must be 16..4096 and a multiple of 8";
	if (c->pad)
		return "pad must be zero";
	return NULL;
}

static const char *check_issue(u64 rate, u32 window)
{
	if (rate && (rate < VSOC_MIN_RATE || !is_amount(rate)))
		return "rate is below 1000000 or above max_units";
	if (window > VSOC_MAX_WINDOW)
		return "window is above 256";
	return NULL;
}

static const char *check_copy(const struct drm_vsoc_cmd_copy *c)
{
	const u32 cache_flags = DRM_VSOC_COPY_ATOMIC | DRM_VSOC_COPY_DATALESS;
	const u32 flags = DRM_VSOC_COPY_READ | DRM_VSOC_COPY_WRITE | cache_flags;

	if (!is_amount(c->bytes) || !is_line(c->bytes))
		return "bytes is above max_units or no multiple of 64";
	if (!is_line(c->address))
		return "address is no multiple of 64";
	if (c->bytes > -c->address && c->address)
		return "address and bytes are beyond 2^64";
	if (c->reserved || c->reserved2 || c->pad)
		return "reserved, reserved2 and pad must be zero: hits and latency are not given";
	if (!c->flags || c->flags & ~flags || hweight32(c->flags) > VSOC_MAX_STREAMS)
		return "flags must have one or two of READ, WRITE, ATOMIC, DATALESS";
	if (c->initiator == DRM_VSOC_INITIATOR_GPU && c->flags & cache_flags)
		return "flags ATOMIC and DATALESS need another initiator than the GPU";
	if (c->initiator > DRM_VSOC_INITIATOR_REMOTE)
		return "initiator is unknown";
	if (c->home > DRM_VSOC_HOME_REMOTE)
		return "home is unknown";
	if (c->socket >= VSOC_SOCKETS)
		return "socket does not exist";
	if (c->gpu >= (c->home == DRM_VSOC_HOME_GMEM ? VSOC_GPUS : 1))
		return "gpu does not exist, or the home is not GMEM";
	return check_issue(c->rate, c->window);
}

static const char *check_pcie(const struct drm_vsoc_cmd_pcie *p)
{
	const bool target = p->flags & DRM_VSOC_PCIE_TARGET;

	if (!is_amount(p->bytes) || !is_line(p->bytes))
		return "bytes is above max_units or no multiple of 64";
	if (!is_line(p->address))
		return "address is no multiple of 64";
	if (p->flags & ~(DRM_VSOC_PCIE_READ | DRM_VSOC_PCIE_TARGET))
		return "flags has an unknown bit";
	if (p->socket >= VSOC_SOCKETS)
		return "socket does not exist";
	if (p->root_complex >= VSOC_ROOT_COMPLEXES)
		return "root_complex does not exist";
	if (p->root_port >= VSOC_ROOT_PORTS)
		return "root_port does not exist";
	if (p->bdf > U16_MAX)
		return "bdf is above 65535";
	if (p->home > DRM_VSOC_HOME_REMOTE)
		return "home is unknown";
	if (target && p->home != DRM_VSOC_HOME_PCIE_PEER && p->home != DRM_VSOC_HOME_CXL)
		return "home must be PCIE_PEER or CXL with TARGET";
	if (target && (p->initiator == DRM_VSOC_INITIATOR_GPU ||
		       p->initiator > DRM_VSOC_INITIATOR_REMOTE))
		return "initiator must be CPU, NONCPU or REMOTE with TARGET";
	if (!target && p->initiator)
		return "initiator must be zero without TARGET";
	if (p->reserved || p->pad)
		return "reserved and pad must be zero: latency is not given";
	return check_issue(p->rate, p->window);
}

static const char *check_wait(const struct drm_vsoc_cmd_wait *w)
{
	return is_amount(w->duration_ns) ? NULL : "duration_ns is above max_units";
}

static const char *check_sample(const struct drm_vsoc_cmd_sample *s)
{
	return s->pad ? "pad must be zero" : NULL;
}

static const char *check_methods(const struct drm_vsoc_cmd_methods *m)
{
	if (!m->count || m->count > ARRAY_SIZE(m->methods))
		return "count must be 1..10";
	if (m->pad)
		return "pad must be zero";
	for (u32 i = 0; i < m->count; i++)
		if (!nv50_mp_is_method(m->methods[i].method, m->methods[i].data))
			return "a method is no MP_PM_SET or MP_PM_CONTROL, or has undefined bits";
	if (memchr_inv(&m->methods[m->count], 0,
		       sizeof(m->methods) - m->count * sizeof(m->methods[0])))
		return "methods behind count must be zero";
	return NULL;
}

static const char *check_mp_store(const struct drm_vsoc_cmd_mp_store *s)
{
	return s->offset % DRM_VSOC_MP_STORE_ALIGN ? "offset is no multiple of 8" : NULL;
}

int vsoc_check_command(struct vsoc_device *vsoc, const struct drm_vsoc_command *cmd, u32 number)
{
	const char *wrong;
	size_t used = 0;
	int ret = -EINVAL;

	BUILD_BUG_ON(sizeof(*cmd) != 96);

	switch (cmd->type) {
	case DRM_VSOC_CMD_DRAW:
		wrong = check_draw(&cmd->draw);
		used = sizeof(cmd->draw);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		wrong = check_compute(&cmd->compute);
		used = sizeof(cmd->compute);
		break;
	case DRM_VSOC_CMD_COPY:
		wrong = check_copy(&cmd->copy);
		used = sizeof(cmd->copy);
		break;
	case DRM_VSOC_CMD_PCIE:
		wrong = check_pcie(&cmd->pcie);
		used = sizeof(cmd->pcie);
		break;
	case DRM_VSOC_CMD_WAIT:
		wrong = check_wait(&cmd->wait);
		used = sizeof(cmd->wait);
		break;
	case DRM_VSOC_CMD_SAMPLE:
		wrong = check_sample(&cmd->sample);
		used = sizeof(cmd->sample);
		break;
	case DRM_VSOC_CMD_METHODS:
		wrong = check_methods(&cmd->methods);
		used = sizeof(cmd->methods);
		break;
	case DRM_VSOC_CMD_CORE:
		wrong = cmd->core.elements > VSOC_MAX_ELEMENTS ? "elements is above 2^24" : NULL;
		used = sizeof(cmd->core);
		break;
	case DRM_VSOC_CMD_MP_STORE:
		wrong = check_mp_store(&cmd->mp_store);
		used = sizeof(cmd->mp_store);
		break;
	default:
		wrong = "type is unknown";
		break;
	}

	if (!wrong && cmd->pad)
		wrong = "pad must be zero";
	if (!wrong && memchr_inv((const u8 *)cmd->reserved + used, 0, sizeof(cmd->reserved) - used))
		wrong = "what the command does not use must be zero";
	if (!wrong && !vsoc->product_nv50 &&
	    (cmd->type == DRM_VSOC_CMD_METHODS || cmd->type == DRM_VSOC_CMD_MP_STORE)) {
		wrong = "the product has no MP counters, others have: product=nv50";
		ret = -EOPNOTSUPP;
	}
	if (!wrong)
		return 0;
	drm_dbg_driver(&vsoc->drm, "submit: command %u (type %u): %s\n", number, cmd->type, wrong);
	return ret;
}

static int read_steps(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_compute *c, u32 number,
		      struct vsoc_step *steps)
{
	int ret;

	BUILD_BUG_ON(sizeof(steps->insn) != LISTING_STRIDE_MIN);

	for (u32 i = 0; i < c->listing_count; i++) {
		const void __user *from = u64_to_user_ptr(c->listing + (u64)i * c->listing_stride);
		const char *wrong;

		ret = copy_struct_from_user(&steps[i].insn, sizeof(steps[i].insn), from,
					    c->listing_stride);
		if (ret) {
			drm_dbg_driver(&vsoc->drm,
				       "submit: command %u, instruction %u: cannot be read: %d\n",
				       number, i, ret);
			return ret;
		}
		wrong = vsoc_listing_check(&steps[i].insn, c->listing_count);
		if (wrong) {
			drm_dbg_driver(&vsoc->drm, "submit: command %u, instruction %u: %s\n",
				       number, i, wrong);
			return -EINVAL;
		}
	}
	cond_resched();
	return 0;
}

/* executes one thread to its end; @budget: steps that the job may still use */
static int follow_thread(struct vsoc_device *vsoc, struct vsoc_run *run, u32 number, u32 *budget,
			 struct vsoc_thread *thread)
{
	int ret;

	do {
		const u32 left = min_t(u32, VSOC_MAX_STEPS - run->taken, *budget);
		const u32 steps = min_t(u32, left, LISTING_BREATH);
		const u32 before = run->taken;

		if (!left) {
			drm_dbg_driver(&vsoc->drm, "submit: command %u: the listing %s\n", number,
				       *budget ? "does not end within max_steps" :
				       "is more than the job's max_job_steps");
			return *budget ? -ELOOP : -E2BIG;
		}
		ret = vsoc_listing_run(run, steps, thread);
		*budget -= run->taken - before;
		if (ret == -EINVAL)
			drm_dbg_driver(&vsoc->drm,
				       "submit: command %u: the listing ends without EXIT\n",
				       number);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}

int vsoc_read_listing(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_compute *c, u32 number,
		      u32 *budget, struct vsoc_thread **thread)
{
	struct vsoc_run run = { .count = c->listing_count };
	int ret = -ENOMEM;

	if (c->listing_count > VSOC_MAX_LISTING) {
		drm_dbg_driver(&vsoc->drm,
			       "submit: command %u: listing_count is above max_listing\n", number);
		return -E2BIG;
	}
	if (c->listing_count > *budget) {
		drm_dbg_driver(&vsoc->drm, "submit: command %u: the job is above max_job_steps\n",
			       number);
		return -E2BIG;
	}
	*budget -= c->listing_count;

	run.steps = kvcalloc(c->listing_count, sizeof(*run.steps), GFP_KERNEL);
	*thread = kzalloc(sizeof(**thread), GFP_KERNEL);
	if (run.steps && *thread)
		ret = read_steps(vsoc, c, number, run.steps);
	if (!ret)
		ret = follow_thread(vsoc, &run, number, budget, *thread);
	kvfree(run.steps);
	/* on an error, freeing the job frees the thread */
	return ret;
}
