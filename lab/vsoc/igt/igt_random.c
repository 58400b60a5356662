// SPDX-License-Identifier: MIT
#include <string.h>

#include "igt_random.h"

/* units of MP counters; the function that is the slot's own signal */
#define MP_UNITS 6
static const uint16_t own_signal[DRM_VSOC_MP_COUNTERS] = { 0xaaaa, 0xcccc, 0xf0f0, 0xff00 };

/* MP counters that the context needs for itself from now on, or releases */
static void choose_methods(struct igt_chance *chance, struct drm_vsoc_cmd_methods *m)
{
	m->count = 1 + igt_chance_any(chance, DRM_VSOC_MP_COUNTERS);
	for (unsigned int i = 0; i < m->count; i++) {
		const unsigned int slot = igt_chance_any(chance, DRM_VSOC_MP_COUNTERS);
		/* one function in four uses signals of several slots */
		const uint32_t function = igt_chance_one_in(chance, 4) ?
						  igt_chance_any(chance, 0x10000) :
						  own_signal[slot];

		m->methods[i].method = DRM_VSOC_MP_PM_CONTROL(slot);
		if (igt_chance_one_in(chance, 4)) {
			m->methods[i].method = DRM_VSOC_MP_PM_SET(slot);
			m->methods[i].data = igt_chance_any(chance, UINT32_MAX);
		} else if (!igt_chance_one_in(chance, 3)) {
			m->methods[i].data = igt_chance_any(chance, 0x100) << 24 | function << 8 |
					     igt_chance_any(chance, MP_UNITS) << 4 |
					     igt_chance_any(chance, 2);
		}
	}
}

unsigned int igt_random_commands(struct igt_chance *chance, struct drm_vsoc_command *commands,
				 bool nv50, const struct igt_perfctr_session *session,
				 uint64_t user_data)
{
	unsigned int count = 1 + igt_chance_any(chance, 5);

	memset(commands, 0, (count + 1) * sizeof(*commands));
	for (unsigned int i = 0; i < count; i++) {
		struct drm_vsoc_command *c = &commands[i];

		if (nv50 && igt_chance_one_in(chance, 6)) {
			c->type = DRM_VSOC_CMD_METHODS;
			choose_methods(chance, &c->methods);
			continue;
		}
		switch (igt_chance_any(chance, session ? 6 : 5)) {
		case 0:
			c->type = DRM_VSOC_CMD_DRAW;
			c->draw.primitives = 1 + igt_chance_any(chance, 3000);
			c->draw.vertices = 3 * c->draw.primitives;
			c->draw.primitives_culled = igt_chance_any(chance, c->draw.primitives);
			c->draw.fragments = igt_chance_any(chance, 200000);
			c->draw.texels = igt_chance_any(chance, 400000);
			break;
		case 1:
			c->type = DRM_VSOC_CMD_COMPUTE;
			c->compute.threads = 1 + igt_chance_any(chance, 40000);
			c->compute.instructions = 1 + igt_chance_any(chance, 100);
			break;
		case 2:
			c->type = DRM_VSOC_CMD_COPY;
			c->copy.flags = 1 + igt_chance_any(chance, 3);
			c->copy.bytes =
				DRM_VSOC_LINE_BYTES * (1ull + igt_chance_any(chance, 20000));
			c->copy.initiator = igt_chance_any(chance, DRM_VSOC_INITIATOR_REMOTE + 1);
			break;
		case 3:
			c->type = DRM_VSOC_CMD_WAIT;
			c->wait.duration_ns = igt_chance_any(chance, 2 * MS);
			break;
		case 4:
			c->type = DRM_VSOC_CMD_DRAW;
			c->draw.vertices = 3;
			c->draw.primitives = 1;
			break;
		default:
			*c = igt_vsoc_sample(session, user_data);
			break;
		}
	}
	return count;
}

static struct drm_perfctr_block_request *request_of(struct igt_perfctr_session *s, uint16_t type,
						    uint16_t index)
{
	struct drm_perfctr_block_request *r = s->requests;

	while (r < s->requests + s->params.request_count && (r->type != type || r->index != index))
		r++;
	if (r == s->requests + s->params.request_count) {
		s->params.request_count++;
		memset(r, 0, sizeof(*r));
		r->type = type;
		r->index = index;
	}
	return r;
}

/* mask of the counter in domain 1 that counts while nothing runs */
#define GPU_IDLE (1ull << 1)

/* one of the counters that are alone in their domains, so that they can be recorded */
static void choose_domain(struct igt_chance *chance, struct igt_perfctr_session *s)
{
	const struct drm_perfctr_block_info *b;

	s->params.request_count = 0;
	do {
		b = &s->dev->blocks[igt_chance_any(chance, s->dev->block_count)];
	} while (b->type != DRM_PERFCTR_NV50_BLOCK_PCOUNTER || !b->available[0]);
	request_of(s, b->type, b->index)->mask = b->index == 1 && igt_chance_one_in(chance, 2) ?
							 GPU_IDLE :
							 b->available[0] & -b->available[0];
}

/* few of the multiplexed ones: some of them can be counted together */
static void choose_domains(struct igt_chance *chance, struct igt_perfctr_session *s)
{
	s->params.request_count = 0;
	for (unsigned int n = 1 + igt_chance_any(chance, 3); n; n--) {
		const struct drm_perfctr_block_info *b =
			&s->dev->blocks[igt_chance_any(chance, s->dev->block_count)];
		const uint64_t available = b->available[0];
		uint64_t mask = available & igt_chance_any(chance, UINT32_MAX) &
				igt_chance_any(chance, UINT32_MAX);

		if (!available || b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY) {
			n++;
			continue;
		}
		if (igt_chance_one_in(chance, 2))
			mask &= igt_chance_any(chance, UINT32_MAX);
		request_of(s, b->type,
			   b->type == DRM_PERFCTR_NV50_BLOCK_MP ? DRM_PERFCTR_INDEX_ALL : b->index)
			->mask |= mask ?: available & -available;
	}
}

/* random blocks and counters, at least one */
static void choose_counters(struct igt_chance *chance, struct igt_perfctr_session *s)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < s->params.request_count; i++) {
		struct drm_perfctr_block_request r = s->requests[i];

		if (igt_chance_one_in(chance, 4) && kept)
			continue;
		if (igt_chance_one_in(chance, 3))
			r.mask &= (uint64_t)igt_chance_any(chance, UINT32_MAX) << 32 |
				  igt_chance_any(chance, UINT32_MAX);
		if (r.mask)
			s->requests[kept++] = r;
	}
	if (!kept)
		kept = 1;
	s->params.request_count = kept;
}

void igt_random_counters(struct igt_chance *chance, struct igt_perfctr_session *s,
			 enum igt_random_kind kind)
{
	if (kind == IGT_RANDOM_RECORDED)
		choose_domain(chance, s);
	else if (kind == IGT_RANDOM_TURNS)
		choose_domains(chance, s);
	else
		choose_counters(chance, s);
}
