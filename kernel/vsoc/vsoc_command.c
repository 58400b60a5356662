// SPDX-License-Identifier: GPL-2.0
/*
 * What a command may look like.
 */
#include <linux/string.h>
#include <drm/drm_print.h>

#include "vsoc.h"
#include "vsoc_job.h"

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
	return NULL;
}

static const char *check_compute(const struct drm_vsoc_cmd_compute *c)
{
	if (!is_amount(c->threads))
		return "threads is above max_units";
	if (c->instructions > VSOC_MAX_INSTRUCTIONS)
		return "instructions is above 65535";
	if (c->listing || c->listing_count || c->listing_stride)
		return "a listing is not supported: must be zero";
	if (c->pad)
		return "pad must be zero";
	return NULL;
}

static const char *check_copy(const struct drm_vsoc_cmd_copy *c)
{
	if (!is_amount(c->bytes) || !is_line(c->bytes))
		return "bytes is above max_units or no multiple of 64";
	if (!is_line(c->address))
		return "address is no multiple of 64";
	if (c->hit_bytes > c->bytes || !is_line(c->hit_bytes))
		return "hit_bytes is above bytes or no multiple of 64";
	if (!c->flags || c->flags & ~(DRM_VSOC_COPY_READ | DRM_VSOC_COPY_WRITE))
		return "flags must have READ or WRITE and nothing else";
	if (c->initiator > DRM_VSOC_INITIATOR_REMOTE)
		return "initiator is unknown";
	if (c->home > DRM_VSOC_HOME_REMOTE)
		return "home is unknown";
	if (c->socket >= VSOC_SOCKETS)
		return "socket does not exist";
	if (c->latency_cycles > VSOC_MAX_LATENCY_CYCLES)
		return "latency_cycles is above 65535";
	if (c->gpu >= (c->home == DRM_VSOC_HOME_GMEM ? VSOC_GPUS : 1))
		return "gpu does not exist, or the home is not GMEM";
	return NULL;
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
	if (p->latency_cycles > VSOC_MAX_LATENCY_CYCLES)
		return "latency_cycles is above 65535";
	return NULL;
}

static const char *check_wait(const struct drm_vsoc_cmd_wait *w)
{
	return is_amount(w->duration_ns) ? NULL : "duration_ns is above max_units";
}

static const char *check_sample(const struct drm_vsoc_cmd_sample *s)
{
	return s->pad ? "pad must be zero" : NULL;
}

int vsoc_check_command(struct vsoc_device *vsoc, const struct drm_vsoc_command *cmd, u32 number)
{
	const char *wrong;
	size_t used = 0;

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
	default:
		wrong = "type is unknown";
		break;
	}

	if (!wrong && cmd->pad)
		wrong = "pad must be zero";
	if (!wrong && memchr_inv((const u8 *)cmd->reserved + used, 0, sizeof(cmd->reserved) - used))
		wrong = "what the command does not use must be zero";
	if (!wrong)
		return 0;
	drm_dbg_driver(&vsoc->drm, "submit: command %u (type %u): %s\n", number, cmd->type, wrong);
	return -EINVAL;
}
