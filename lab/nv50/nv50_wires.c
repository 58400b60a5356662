// SPDX-License-Identifier: GPL-2.0
/*
 * How an nv50 GPU executes a command, and the wires on which this is visible. README.md lists the
 * rules. The recipes of the counter database determine the wires; the amounts are this model's.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "nv50_wires.h"

#define WARP_THREADS	16
#define CTA_THREADS	256
#define TILE_FRAGMENTS	256
#define WARP_CYCLES	64	/* of a vertex or fragment warp in a shader */

/* nominal clocks; G84 and later, without MCP7x */
const u64 nv50_domain_hz[PCOUNTER_DOMAINS] = {
	200000000, VSOC_COREGROUP_HZ, VSOC_COREGROUP_HZ, VSOC_SHADER_HZ,
	400000000, VSOC_COREGROUP_HZ, 400000000, VSOC_COREGROUP_HZ,
};

/* domain of an activity, and its maximum per clock */
static const struct {
	u8 domain;
	u8 most;
} activities[NV50_ACTIVITIES] = {
	[NV50_IA_BUSY] = { 1, 1 },
	[NV50_IA_WAITS_FOR_FB] = { 1, 1 },
	[NV50_VERTICES] = { 1, 1 },
	[NV50_PRIMITIVES] = { 1, 1 },
	[NV50_POINTS] = { 1, 1 },
	[NV50_LINES] = { 1, 1 },
	[NV50_TRIANGLES] = { 1, 1 },
	[NV50_STREAMED] = { 1, 1 },
	[NV50_CULLED] = { 1, 1 },
	[NV50_TILES] = { 1, 4 },
	[NV50_TILES_ZCULLED] = { 1, 4 },
	[NV50_RASTER_PIXELS] = { 2, 16 },
	[NV50_SHADED_0] = { 2, 16 },
	[NV50_SHADED_1] = { 2, 16 },
	[NV50_SHADED_2] = { 2, 1 },
	[NV50_ROP_BUSY] = { 2, 1 },
	[NV50_ROP_WAITS_FOR_FB] = { 2, 1 },
	[NV50_ROP_WAITS_FOR_SHADER] = { 2, 1 },
	[NV50_EARLY_Z] = { 2, 16 },
	[NV50_LATE_Z] = { 2, 16 },
	[NV50_SAMPLES] = { 2, 16 },
	[NV50_TEX_WAITS_FOR_FB] = { 2, 1 },
	[NV50_TEX_BASE] = { 2, 1 },
	[NV50_TEX_OTHER] = { 2, 1 },
	[NV50_GEOM_BUSY] = { 3, 1 },
	[NV50_GEOM_WAITS_FOR_SHADER] = { 3, 1 },
	[NV50_SHADER_BUSY] = { 3, 1 },
	[NV50_SHADER_WAITS_FOR_TEX] = { 3, 1 },
	[NV50_SHADER_WAITS_FOR_GEOM] = { 3, 1 },
	[NV50_SHADER_WAITS_FOR_ROP] = { 3, 1 },
	[NV50_TEX_BUSY] = { 3, 1 },
	[NV50_TEX_WAITS_FOR_SHADER] = { 3, 1 },
};

/* --- activities of a command ------------------------------------------------------- */

static u64 div_up(u64 total, u32 n)
{
	return div_u64(total + n - 1, n);
}

static void mp_warps(struct nv50_demand *d, const struct vsoc_shape *shape,
		     const struct vsoc_thread *thread, u64 threads)
{
	const u64 warps = div_up(threads, WARP_THREADS);
	u64 instructions = 0;

	for (u32 i = 0; i < VSOC_CLASSES; i++)
		instructions += thread->on[i];
	for (u32 k = 0; k < shape->cores; k++) {
		const u64 w = vsoc_share(warps, shape->cores, k);

		d->mp[k][NV50_ACT_INSTRUCTIONS] += w * instructions;
		d->mp[k][NV50_ACT_BRANCH] += w * thread->on[VSOC_CLASS_CONTROL];
		/* accesses to shared memory: all threads hit the same banks, so they serialise */
		d->mp[k][NV50_ACT_SERIALIZE] +=
			w * (thread->on[VSOC_CLASS_LD_ST] - thread->loads - thread->stores);
		for (u32 i = 0; i < VSOC_TRIGGERS; i++)
			d->mp[k][NV50_ACT_TRIGGER + i] += w * thread->triggers[i];
	}
	/* in a partial last warp, some threads do not take the branch */
	if (warps && threads % WARP_THREADS)
		d->mp[(warps - 1) % shape->cores][NV50_ACT_DIVERGENT_BRANCH] +=
			thread->on[VSOC_CLASS_CONTROL];
}

static void draw(struct nv50_demand *d, const struct vsoc_shape *shape,
		 const struct drm_vsoc_cmd_draw *c)
{
	const struct vsoc_thread thread = vsoc_rules_mix(VSOC_DRAW_INSTRUCTIONS);
	const u64 v = c->vertices, p = c->primitives, f = c->fragments, x = c->texels;
	const u32 n = shape->cores;
	const u64 lines = div_up(max(v, 3 * p), 16) + div_up(p - c->primitives_culled, 4);
	const u64 vertex = WARP_CYCLES * div_up(div_up(v, WARP_THREADS), n);
	const u64 fragment = max(WARP_CYCLES * div_up(div_up(f, WARP_THREADS), n), div_up(x, n));
	const u64 quads = div_up(f, 4), tiles = div_up(f, TILE_FRAGMENTS);
	u64 *gpu = d->gpu;

	gpu[NV50_IA_BUSY] = v + p;
	gpu[NV50_IA_WAITS_FOR_FB] = min(v + p, lines);
	gpu[NV50_VERTICES] = v;
	gpu[NV50_PRIMITIVES] = p;
	gpu[NV50_POINTS] = c->points;
	gpu[NV50_LINES] = c->lines;
	gpu[NV50_TRIANGLES] = p - c->points - c->lines;
	gpu[NV50_STREAMED] = c->streamed;
	gpu[NV50_CULLED] = c->primitives_culled;
	gpu[NV50_TILES] = tiles;
	gpu[NV50_TILES_ZCULLED] = tiles / 8;
	gpu[NV50_RASTER_PIXELS] = f;
	gpu[NV50_SHADED_0] = f / 2;
	gpu[NV50_SHADED_1] = f / 2;
	gpu[NV50_SHADED_2] = f % 2;
	gpu[NV50_ROP_BUSY] = quads;
	gpu[NV50_ROP_WAITS_FOR_FB] = div_up(f - f / 4, 16);
	gpu[NV50_ROP_WAITS_FOR_SHADER] = quads / 8;
	gpu[NV50_EARLY_Z] = 4 * (quads / 8);
	gpu[NV50_LATE_Z] = f / 16;
	gpu[NV50_SAMPLES] = f;
	gpu[NV50_TEX_WAITS_FOR_FB] = div_up(x, 64);
	gpu[NV50_TEX_BASE] = x - x / 4;
	gpu[NV50_TEX_OTHER] = x / 4;
	gpu[NV50_GEOM_BUSY] = div_up(v + p, 2);
	gpu[NV50_GEOM_WAITS_FOR_SHADER] = div_up(v, 16);
	gpu[NV50_SHADER_BUSY] = vertex + fragment;
	gpu[NV50_SHADER_WAITS_FOR_TEX] = fragment / 4;
	gpu[NV50_SHADER_WAITS_FOR_GEOM] = vertex / 8;
	gpu[NV50_SHADER_WAITS_FOR_ROP] = fragment / 8;
	gpu[NV50_TEX_BUSY] = div_up(x, n);
	gpu[NV50_TEX_WAITS_FOR_SHADER] = div_up(x, n) / 8;
	mp_warps(d, shape, &thread, v);
	mp_warps(d, shape, &thread, f);
}

static void compute(struct nv50_demand *d, const struct vsoc_shape *shape,
		    const struct drm_vsoc_cmd_compute *c, const struct vsoc_thread *listed)
{
	const struct vsoc_thread thread = listed ? *listed : vsoc_rules_mix(c->instructions);
	const u64 warps = div_up(c->threads, WARP_THREADS);
	u64 issued = 0;

	for (u32 i = 0; i < VSOC_CLASSES; i++)
		issued += thread.on[i] + thread.off[i];
	d->gpu[NV50_SHADER_BUSY] = 4 * div_up(warps, shape->cores) * issued;
	mp_warps(d, shape, &thread, c->threads);
	for (u32 k = 0; k < shape->cores; k++)
		d->mp[k][NV50_ACT_CTA] += vsoc_share(div_up(c->threads, CTA_THREADS),
						     shape->cores, k);
}

/*
 * Compute the activities of a command.
 * @demand: filled in; @shape: of the device; each shader core is a TPC; @cmd: the command, NULL:
 * none; @thread: counts of a thread of its listing, or NULL.
 */
void nv50_command(struct nv50_demand *demand, const struct vsoc_shape *shape,
		  const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread)
{
	memset(demand, 0, sizeof(*demand));
	if (cmd && cmd->type == DRM_VSOC_CMD_DRAW)
		draw(demand, shape, &cmd->draw);
	else if (cmd && cmd->type == DRM_VSOC_CMD_COMPUTE)
		compute(demand, shape, &cmd->compute, thread);
}

/* shortest time in which the wires can show all activities */
u64 nv50_demand_ns(const struct nv50_demand *demand, const struct vsoc_shape *shape)
{
	u64 ns = 0;

	for (u32 i = 0; i < PCOUNTER_DOMAINS; i++)
		ns = max(ns, mul_u64_u64_div_u64(nv50_pending_clocks(demand->gpu, i), NSEC_PER_SEC,
						 nv50_domain_hz[i]) + 1);
	for (u32 k = 0; k < shape->cores; k++)
		for (u32 i = 0; i < NV50_MP_ACTIVITIES; i++)
			ns = max(ns, 2 * demand->mp[k][i] + 1);
	return ns;
}

/* --- wires ------------------------------------------------------------------------- */

static u64 clocks_of(unsigned int activity, u64 amount)
{
	return div_up(amount, activities[activity].most);
}

/* the activity that precedes @activity on the same wires, or itself */
static unsigned int before(unsigned int activity)
{
	if (activity == NV50_TEX_OTHER)
		return NV50_TEX_BASE;
	if (activity == NV50_GEOM_WAITS_FOR_SHADER)
		return NV50_GEOM_BUSY;
	return activity;
}

u64 nv50_pending_clocks(const u64 *pending, unsigned int domain)
{
	u64 most = 0;

	for (unsigned int i = 0; i < NV50_ACTIVITIES; i++) {
		u64 clocks = clocks_of(i, pending[i]);

		if (before(i) != i)
			clocks += clocks_of(before(i), pending[before(i)]);
		if (activities[i].domain == domain)
			most = max(most, clocks);
	}
	return most;
}

void nv50_emit(u64 *pending, const u64 *clocks, bool flush, u64 *emitted)
{
	for (unsigned int i = 0; i < NV50_ACTIVITIES; i++) {
		u64 room = clocks[activities[i].domain];
		u32 rest = 0;

		if (before(i) != i)
			room -= emitted[before(i)];
		emitted[i] = min(pending[i], room * activities[i].most);
		if (!flush)
			div_u64_rem(emitted[i], activities[i].most, &rest);
		emitted[i] -= rest;
		pending[i] -= emitted[i];
	}
}

static struct pm_wave *add_wave(struct nv50_waves *w, u64 from, u64 to)
{
	struct pm_wave *wave = &w->wave[w->count];

	/* an empty wave is not kept: the next one overwrites it */
	memset(wave, 0, sizeof(*wave));
	wave->from = from;
	wave->to = to;
	if (from < to && w->count < PM_WAVES_MAX - 1)
		w->count++;
	return wave;
}

static void high(struct nv50_waves *w, u64 from, u64 to, const u8 *signals, unsigned int count)
{
	struct pm_wave *wave = add_wave(w, from, to);

	while (count--)
		pm_signal_set(&wave->set, signals[count], true);
}

#define HIGH(w, from, to, ...) \
	high(w, from, to, (const u8 []){ __VA_ARGS__ }, sizeof((const u8 []){ __VA_ARGS__ }))

static void low(struct nv50_waves *w, u64 from, u64 to, const u8 *signals, unsigned int count)
{
	struct pm_wave *wave = add_wave(w, from, to);

	while (count--)
		pm_signal_set(&wave->clear, signals[count], true);
}

#define LOW(w, from, to, ...) \
	low(w, from, to, (const u8 []){ __VA_ARGS__ }, sizeof((const u8 []){ __VA_ARGS__ }))

/* shows @amount units as integers on @wires, @most per clock, with @gates high meanwhile */
static void integer(struct nv50_waves *w, u64 amount, u32 most, const u8 *wires, unsigned int count,
		    const u8 *gates, unsigned int gate_count)
{
	u32 rest;
	const u64 clocks = div_u64_rem(amount, most, &rest);
	const struct { u64 from, to; u32 value; } parts[] = {
		{ 0, clocks, most }, { clocks, clocks + !!rest, rest },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		struct pm_wave *wave = add_wave(w, parts[i].from, parts[i].to);

		for (unsigned int bit = 0; bit < count; bit++)
			if (parts[i].value >> bit & 1)
				pm_signal_set(&wave->set, wires[bit], true);
		for (unsigned int bit = 0; bit < gate_count; bit++)
			pm_signal_set(&wave->set, gates[bit], true);
	}
}

static void core_a(struct nv50_waves *w, const u32 *mux, const u64 *e)
{
	static const u8 vertex_wires[] = { 0x74, 0x75, 0x76 };
	static const u8 tile_wires[] = { 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c };
	const u64 ia = e[NV50_IA_BUSY], p = e[NV50_PRIMITIVES];

	if (mux[NV50_MUX_400C0C] & 1) {
		HIGH(w, 0, ia / 2, 0x7e, 0x7d);
		HIGH(w, ia / 2, ia, 0x69, 0x68);
		HIGH(w, 0, e[NV50_IA_WAITS_FOR_FB], 0x74);
		HIGH(w, 0, p, 0x6e);
	} else {
		integer(w, e[NV50_VERTICES], 7, vertex_wires, ARRAY_SIZE(vertex_wires), NULL, 0);
	}
	HIGH(w, 0, e[NV50_VERTICES], 0x5d);
	/* the wires of a kind of primitives are high in the first clocks of all of them */
	HIGH(w, 0, p, 0x5c, 0xd2, 0xd8, 0xd9);
	HIGH(w, 0, e[NV50_POINTS], 0xd3);
	HIGH(w, 0, e[NV50_LINES], 0xd4);
	HIGH(w, 0, e[NV50_TRIANGLES], 0xd5);
	HIGH(w, 0, e[NV50_STREAMED], 0x5e, 0x5f);
	HIGH(w, 0, e[NV50_CULLED], 0xa4);
	if (mux[NV50_MUX_402CA4] == 7)
		integer(w, e[NV50_TILES_ZCULLED], activities[NV50_TILES].most, tile_wires,
			ARRAY_SIZE(tile_wires), NULL, 0);
	else if (!mux[NV50_MUX_402CA4])
		integer(w, e[NV50_TILES], activities[NV50_TILES].most, tile_wires,
			ARRAY_SIZE(tile_wires), NULL, 0);
}

static void core_b(struct nv50_waves *w, const u32 *mux, const u64 *e)
{
	static const u8 wires[] = { 0x00, 0x01, 0x02, 0x03, 0x04, 0x05 };
	static const u8 gates[] = { 0x07, 0x06 };
	const u64 busy = e[NV50_ROP_BUSY], waits = e[NV50_ROP_WAITS_FOR_FB];
	const u64 base = e[NV50_TEX_BASE];

	switch (mux[NV50_MUX_408E50]) {
	case 0x80000000:
		HIGH(w, 0, busy / 2, 0x02, 0x03);
		HIGH(w, busy / 2, busy, 0x04, 0x05);
		HIGH(w, 0, e[NV50_ROP_WAITS_FOR_SHADER], 0x06);
		break;
	case 0x80000003:
		HIGH(w, 0, e[NV50_SHADED_2], 0x01);
		break;
	case 0x80000015:
		integer(w, e[NV50_SAMPLES], 16, wires, ARRAY_SIZE(wires), gates, 2);
		break;
	case 0x80000016:
		integer(w, e[NV50_RASTER_PIXELS], 16, wires, ARRAY_SIZE(wires), gates, 2);
		break;
	case 0x8000001a:
		integer(w, e[NV50_EARLY_Z], 16, wires, ARRAY_SIZE(wires), gates, 1);
		break;
	case 0x8000001b:
		integer(w, e[NV50_LATE_Z], 16, wires, ARRAY_SIZE(wires), gates, 1);
		break;
	case 0x8000001c:
		integer(w, e[NV50_SHADED_0], 16, wires, ARRAY_SIZE(wires), gates, 1);
		break;
	case 0x8000001d:
		integer(w, e[NV50_SHADED_1], 16, wires, ARRAY_SIZE(wires), gates, 1);
		break;
	}
	if (mux[NV50_MUX_407008] == 0x80000001 && mux[NV50_MUX_40708C] == 0x80000001) {
		HIGH(w, 0, waits / 2, 0x33);
		HIGH(w, waits / 2, waits, 0x47);
	}
	if (mux[NV50_MUX_408808] & 0x800) {
		/* the level: 0, then 1; all ones without a sample */
		LOW(w, 0, base, 0x48, 0x49, 0x4a, 0x4b);
		LOW(w, base, base + e[NV50_TEX_OTHER], 0x49, 0x4a, 0x4b);
		if (mux[NV50_MUX_40881C] & 0x800)
			HIGH(w, 0, e[NV50_TEX_WAITS_FOR_FB], 0x1c);
	}
}

static void shader(struct nv50_waves *w, const u32 *mux, const u64 *e)
{
	u64 n, more;

	switch (mux[NV50_MUX_MPC]) {
	case 0x3:
		n = e[NV50_GEOM_BUSY];
		more = n + e[NV50_GEOM_WAITS_FOR_SHADER];
		HIGH(w, 0, n, 0x00, 0x01);
		HIGH(w, n, more, 0x00);
		break;
	case 0x4:
		n = e[NV50_SHADER_WAITS_FOR_GEOM];
		HIGH(w, 0, n / 2, 0x00);
		HIGH(w, n / 2, n, 0x02);
		break;
	case 0x5:
		HIGH(w, 0, e[NV50_SHADER_WAITS_FOR_ROP], 0x00);
		break;
	case 0x10:
		n = e[NV50_SHADER_WAITS_FOR_TEX];
		HIGH(w, 0, n / 2, 0x02);
		HIGH(w, n / 2, n, 0x00);
		break;
	case 0x11:
		HIGH(w, 0, e[NV50_TEX_WAITS_FOR_SHADER], 0x00);
		break;
	case 0x100:
		n = e[NV50_SHADER_BUSY];
		HIGH(w, 0, n / 2, 0x00);
		HIGH(w, n / 2, n, 0x04);
		break;
	case 0x1110:
		n = e[NV50_TEX_BUSY];
		HIGH(w, 0, n / 2, 0x02);
		HIGH(w, n / 2, n, 0x04, 0x05);
		break;
	}
}

/*
 * Clock a domain.
 * @pm: the model; @waves: scratch memory; @domain: number of the domain; @mux: multiplexers;
 * @emitted: activities, see nv50_emit(); NULL: none; @busy: the graphics engine is not idle;
 * @clocks: number of clocks.
 */
void nv50_drive(struct pm_model *pm, struct nv50_waves *waves, unsigned int domain,
		const u32 *mux, const u64 *emitted, bool busy, u64 clocks)
{
	struct pm_signals idle = {};

	waves->count = 0;
	if (domain == 1)
		pm_signal_set(&idle, 0xbd, !busy);
	if (domain == 2 && mux[NV50_MUX_408808] & 0x800)
		idle.bits[1] |= 0xf00;
	if (emitted) {
		if (domain == 1)
			core_a(waves, mux, emitted);
		else if (domain == 2)
			core_b(waves, mux, emitted);
		else if (domain == 3)
			shader(waves, mux, emitted);
	}
	pm_run_waves(pm, domain, &idle, waves->wave, waves->count, clocks);
}

/* unit and signal of each TPC activity, as in the database */
static const struct {
	u8 unit, signal;
} mp_wires[NV50_MP_ACTIVITIES] = {
	[NV50_ACT_BRANCH] = { 4, 0x02 },
	[NV50_ACT_DIVERGENT_BRANCH] = { 4, 0x09 },
	[NV50_ACT_INSTRUCTIONS] = { 4, 0x04 },
	[NV50_ACT_CTA] = { 1, 0x33 },
	[NV50_ACT_SERIALIZE] = { 0, 0x0b },
	[NV50_ACT_TRIGGER + 0] = { 1, 0x26 },
	[NV50_ACT_TRIGGER + 1] = { 1, 0x27 },
	[NV50_ACT_TRIGGER + 2] = { 1, 0x28 },
	[NV50_ACT_TRIGGER + 3] = { 1, 0x29 },
	[NV50_ACT_TRIGGER + 4] = { 1, 0x2a },
	[NV50_ACT_TRIGGER + 5] = { 1, 0x2b },
	[NV50_ACT_TRIGGER + 6] = { 1, 0x2c },
	[NV50_ACT_TRIGGER + 7] = { 1, 0x2d },
};

/* signals of this unit share a multiplexer with PCOUNTER's shader domain */
#define MP_SHARED_UNIT	1
#define MP_SHARED_VALUE	0x200

void nv50_drive_mp(struct mp_state *mp, const u32 *mux, const u64 *emitted, u64 clocks)
{
	u64 at = 0;

	while (at < clocks) {
		struct mp_signals now = {};
		u64 next = clocks;

		for (unsigned int i = 0; i < NV50_MP_ACTIVITIES; i++) {
			if (emitted[i] <= at)
				continue;
			next = min(next, emitted[i]);
			if (mp_wires[i].unit != MP_SHARED_UNIT ||
			    mux[NV50_MUX_MPC] == MP_SHARED_VALUE)
				pm_signal_set(&now.unit[mp_wires[i].unit], mp_wires[i].signal,
					      true);
		}
		mp_run(mp, &now, next - at);
		at = next;
	}
}

/* --- expected counts of the database's counters ------------------------------------ */

void nv50_expect(const u64 *e, void (*count)(void *priv, u32 position, u64 n), void *priv)
{
	static const struct {
		u8 position, activity;
	} same[] = {
		{ NV50_PCOUNTER_INPUT_ASSEMBLER_BUSY, NV50_IA_BUSY },
		{ NV50_PCOUNTER_VERTEX_ATTRIBUTE_COUNT, NV50_IA_BUSY },
		{ NV50_PCOUNTER_INPUT_ASSEMBLER_WAITS_FOR_FB, NV50_IA_WAITS_FOR_FB },
		{ NV50_PCOUNTER_GEOM_VERTEX_IN_COUNT, NV50_VERTICES },
		{ NV50_PCOUNTER_GEOM_VERTEX_OUT_COUNT, NV50_VERTICES },
		{ NV50_PCOUNTER_GEOM_PRIMITIVE_IN_COUNT, NV50_PRIMITIVES },
		{ NV50_PCOUNTER_GEOM_PRIMITIVE_OUT_COUNT, NV50_PRIMITIVES },
		{ NV50_PCOUNTER_SETUP_PRIMITIVE_COUNT, NV50_PRIMITIVES },
		{ NV50_PCOUNTER_SETUP_POINT_COUNT, NV50_POINTS },
		{ NV50_PCOUNTER_SETUP_LINE_COUNT, NV50_LINES },
		{ NV50_PCOUNTER_SETUP_TRIANGLE_COUNT, NV50_TRIANGLES },
		{ NV50_PCOUNTER_STREAM_OUT_BUSY, NV50_STREAMED },
		{ NV50_PCOUNTER_SETUP_PRIMITIVE_CULLED_COUNT, NV50_CULLED },
		{ NV50_PCOUNTER_RASTERIZER_TILES_IN_COUNT, NV50_TILES },
		{ NV50_PCOUNTER_RASTERIZER_TILES_KILLED_BY_ZCULL_COUNT, NV50_TILES_ZCULLED },
		{ NV50_PCOUNTER_RASTERIZER_PIXELS_OUT_COUNT_1, NV50_RASTER_PIXELS },
		{ NV50_PCOUNTER_SHADED_PIXEL_COUNT_0, NV50_SHADED_0 },
		{ NV50_PCOUNTER_SHADED_PIXEL_COUNT_1, NV50_SHADED_1 },
		{ NV50_PCOUNTER_SHADED_PIXEL_COUNT_2, NV50_SHADED_2 },
		{ NV50_PCOUNTER_ROP_BUSY, NV50_ROP_BUSY },
		{ NV50_PCOUNTER_ROP_WAITS_FOR_FB, NV50_ROP_WAITS_FOR_FB },
		{ NV50_PCOUNTER_ROP_WAITS_FOR_SHADER, NV50_ROP_WAITS_FOR_SHADER },
		{ NV50_PCOUNTER_ROP_SAMPLES_KILLED_BY_EARLYZ_COUNT, NV50_EARLY_Z },
		{ NV50_PCOUNTER_ROP_SAMPLES_KILLED_BY_LATEZ_COUNT, NV50_LATE_Z },
		{ NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_1, NV50_SAMPLES },
		{ NV50_PCOUNTER_TEXTURE_WAITS_FOR_FB, NV50_TEX_WAITS_FOR_FB },
		{ NV50_PCOUNTER_TEXTURE_SAMPLE_BASE_LEVEL_COUNT, NV50_TEX_BASE },
		{ NV50_PCOUNTER_TEXTURE_SAMPLE_COUNT, NV50_TEX_BASE },
		{ NV50_PCOUNTER_TEXTURE_SAMPLE_COUNT, NV50_TEX_OTHER },
		{ NV50_PCOUNTER_GEOM_BUSY, NV50_GEOM_BUSY },
		{ NV50_PCOUNTER_GEOM_WAITS_FOR_SHADER, NV50_GEOM_WAITS_FOR_SHADER },
		{ NV50_PCOUNTER_SHADER_BUSY, NV50_SHADER_BUSY },
		{ NV50_PCOUNTER_SHADER_WAITS_FOR_TEXTURE, NV50_SHADER_WAITS_FOR_TEX },
		{ NV50_PCOUNTER_SHADER_WAITS_FOR_GEOM, NV50_SHADER_WAITS_FOR_GEOM },
		{ NV50_PCOUNTER_SHADER_WAITS_FOR_ROP, NV50_SHADER_WAITS_FOR_ROP },
		{ NV50_PCOUNTER_TEXTURE_BUSY, NV50_TEX_BUSY },
		{ NV50_PCOUNTER_TEXTURE_WAITS_FOR_SHADER, NV50_TEX_WAITS_FOR_SHADER },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(same); i++)
		if (e[same[i].activity])
			count(priv, same[i].position, e[same[i].activity]);
	/* these count clocks, not units */
	if (e[NV50_RASTER_PIXELS])
		count(priv, NV50_PCOUNTER_RASTERIZER_PIXELS_OUT_COUNT_0,
		      clocks_of(NV50_RASTER_PIXELS, e[NV50_RASTER_PIXELS]));
	if (e[NV50_SAMPLES])
		count(priv, NV50_PCOUNTER_ROP_SAMPLES_IN_COUNT_0,
		      clocks_of(NV50_SAMPLES, e[NV50_SAMPLES]));
}

void nv50_expect_mp(const u64 *e, void (*count)(void *priv, u32 position, u64 n), void *priv)
{
	static const u8 positions[NV50_MP_ACTIVITIES] = {
		[NV50_ACT_BRANCH] = NV50_MP_BRANCH,
		[NV50_ACT_DIVERGENT_BRANCH] = NV50_MP_DIVERGENT_BRANCH,
		[NV50_ACT_INSTRUCTIONS] = NV50_MP_INSTRUCTIONS,
		[NV50_ACT_CTA] = NV50_MP_SM_CTA_LAUNCHED,
		[NV50_ACT_SERIALIZE] = NV50_MP_WARP_SERIALIZE,
		[NV50_ACT_TRIGGER + 0] = NV50_MP_PROF_TRIGGER_00,
		[NV50_ACT_TRIGGER + 1] = NV50_MP_PROF_TRIGGER_01,
		[NV50_ACT_TRIGGER + 2] = NV50_MP_PROF_TRIGGER_02,
		[NV50_ACT_TRIGGER + 3] = NV50_MP_PROF_TRIGGER_03,
		[NV50_ACT_TRIGGER + 4] = NV50_MP_PROF_TRIGGER_04,
		[NV50_ACT_TRIGGER + 5] = NV50_MP_PROF_TRIGGER_05,
		[NV50_ACT_TRIGGER + 6] = NV50_MP_PROF_TRIGGER_06,
		[NV50_ACT_TRIGGER + 7] = NV50_MP_PROF_TRIGGER_07,
	};
	unsigned int i;

	for (i = 0; i < NV50_MP_ACTIVITIES; i++)
		if (e[i])
			count(priv, positions[i], e[i]);
}
