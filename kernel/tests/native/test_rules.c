// SPDX-License-Identifier: GPL-2.0
/*
 * The counting rules of the virtual SoC against its manual (kernel/vsoc/README.md), computed here a
 * second time in 128 bits, against published measurements, and against properties.
 */
#include "kernel.h"
#include "vsoc_counters.h"
#include "vsoc_rules.h"
#include "test.h"

#include "common/listing.h"

/* of all counter sets */
#define MAX_BLOCKS	(VSOC_SETS * (VSOC_BLOCK_MEMSYS + VSOC_MAX_L2_SLICES + VSOC_MAX_CORES))
#define MAX_COUNTERS	128

static struct vsoc_shape shape;
static struct vsoc_counting counting;
static struct vsoc_work work;
static struct vsoc_work_item items[MAX_BLOCKS * 64];
static u128 want[MAX_BLOCKS][MAX_COUNTERS];
static u128 have[MAX_BLOCKS][MAX_COUNTERS];

static void use_shape(u64 present, u32 slices, u32 counters)
{
	vsoc_shape_init(&shape, present, slices, counters);
	memset(&counting, 0, sizeof(counting));
	work = (struct vsoc_work){ .shape = &shape, .counting = &counting, .items = items,
				   .capacity = vsoc_work_capacity(&shape) };
	check(work.capacity <= ARRAY_SIZE(items));
}

static const struct {
	u64 present;
	u32 slices, counters;
} shapes[] = {
	{ 0x50005, 2, 64 }, { 0x1, 1, 64 }, { 0x1110055, 3, 128 }, { 0xffff, 4, 64 },
	{ ~0ull, 16, 128 }, { 0x80000001, 5, 128 },
};

static void use_some_shape(unsigned int i)
{
	i %= ARRAY_SIZE(shapes);
	use_shape(shapes[i].present, shapes[i].slices, shapes[i].counters);
}

static void run(const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread)
{
	u32 i;

	vsoc_rules_command(&work, cmd, thread);
	/* anything that does not fit is left out */
	check(work.count < work.capacity);
	memset(have, 0, sizeof(have));
	for (i = 0; i < work.count; i++) {
		check(items[i].block < VSOC_SETS * shape.blocks);
		check(items[i].counter < shape.counters_per_block);
		check(items[i].total && !items[i].done);
		have[items[i].block][items[i].counter] += items[i].total;
	}
}

/* --- the manual, once more ------------------------------------------------ */

static u128 up(u128 a, u128 b)
{
	return (a + b - 1) / b;
}

/* distributed one by one as long as that is quick */
static u128 share(u128 total, u32 n, u32 k)
{
	u128 i, mine = 0;

	if (total > 3000)
		return total / n + (k < total % n);
	for (i = 0; i < total; i++)
		mine += i % n == k;
	return mine;
}

static u128 more(u128 a, u128 b)
{
	return a > b ? a : b;
}

#define FW(c)		want[VSOC_BLOCK_FW][VSOC_FW_##c]
#define CSHW(c)		want[VSOC_BLOCK_CSHW][VSOC_CSHW_##c]
#define TILER(c)	want[VSOC_BLOCK_TILER][VSOC_TILER_##c]
#define MEMSYS(k, c)	want[VSOC_BLOCK_MEMSYS + (k)][VSOC_MEMSYS_##c]
#define SHADER(k, c)	want[VSOC_BLOCK_MEMSYS + shape.l2_slices + (k)][VSOC_SHADER_##c]

#define TILER2(c) \
	want[shape.blocks + VSOC_BLOCK_TILER][VSOC_TILER_SECONDARY_##c]
#define MEMSYS2(k, c) \
	want[shape.blocks + VSOC_BLOCK_MEMSYS + (k)][VSOC_MEMSYS_SECONDARY_##c]
#define MEMSYS3(k, c) \
	want[2 * shape.blocks + VSOC_BLOCK_MEMSYS + (k)][VSOC_MEMSYS_TERTIARY_##c]
#define SHADER2(k, c) \
	want[shape.blocks + VSOC_BLOCK_MEMSYS + shape.l2_slices + (k)][VSOC_SHADER_SECONDARY_##c]
#define SHADER3(k, c) \
	want[2 * shape.blocks + VSOC_BLOCK_MEMSYS + shape.l2_slices + (k)][VSOC_SHADER_TERTIARY_##c]

/* external lines read and written, memory time */
struct memory {
	u128 in, out, ns;
};

static struct memory memsys(u128 tiler, u128 shader, u128 rx, u128 w, u128 wx)
{
	struct memory m = { 0 };
	u32 k, n = shape.l2_slices;

	for (k = 0; k < n; k++) {
		u128 c = share(tiler + shader, n, k), r = c + share(rx, n, k);
		u128 wr = share(w, n, k) + share(wx, n, k);
		u128 er = r - c / 4, ew = wr - share(w, n, k) / 8;

		MEMSYS(k, L2_READ) = r;
		MEMSYS(k, L2_READ_HIT) = c / 4;
		MEMSYS(k, L2_READ_MISS) = r - c / 4;
		MEMSYS(k, L2_WRITE) = wr;
		MEMSYS(k, L2_WRITE_HIT) = share(w, n, k) / 2;
		MEMSYS(k, L2_WRITE_MISS) = wr - share(w, n, k) / 2;
		MEMSYS(k, L2_ACTIVE) = 10 * (er + ew) + r + wr;
		MEMSYS(k, MMU_LOOKUPS) = r + wr;
		MEMSYS(k, MMU_MISSES) = up(r + wr, 64);
		MEMSYS(k, EXT_READ) = er;
		MEMSYS(k, EXT_READ_BEATS) = 4 * er;
		MEMSYS(k, EXT_WRITE) = ew;
		MEMSYS(k, L2_EVICTIONS) = ew;
		MEMSYS(k, EXT_WRITE_BEATS) = 4 * ew;
		MEMSYS(k, EXT_READ_STALL) = 2 * er;
		MEMSYS(k, EXT_WRITE_STALL) = ew;
		MEMSYS(k, EXT_READ_OUTSTANDING) = 40 * er;
		MEMSYS(k, L2_READ_TILER) = share(tiler, n, k);
		MEMSYS(k, L2_READ_SHADER) = c - share(tiler, n, k);
		MEMSYS(k, L2_READ_TRANSFER) = share(rx, n, k);
		MEMSYS2(k, L2_LOOKUPS) = r + wr;
		MEMSYS2(k, L2_HITS) = c / 4 + share(w, n, k) / 2;
		MEMSYS2(k, L2_MISSES) = r + wr - c / 4 - share(w, n, k) / 2;
		MEMSYS2(k, EXT_READ_BUSY) = 10 * er;
		MEMSYS2(k, EXT_WRITE_BUSY) = 10 * ew;
		MEMSYS2(k, WRITES_MERGED) = wr - ew;
		MEMSYS3(k, MMU_HITS) = r + wr - up(r + wr, 64);
		MEMSYS3(k, MMU_WALK_READS) = 4 * up(r + wr, 64);
		MEMSYS3(k, READS_CACHED) = c;
		MEMSYS3(k, READS_TRANSFER) = r - c;
		MEMSYS3(k, WRITES_CACHED) = share(w, n, k);
		MEMSYS3(k, WRITES_TRANSFER) = share(wx, n, k);
		m.in += er;
		m.out += ew;
		m.ns = more(m.ns, up(MEMSYS(k, L2_ACTIVE) * 5, 4));
	}
	return m;
}

struct mix {
	u128 ld_st, control, convert, misc, integer, fp32, total;
};

static struct mix mix_of(u128 i)
{
	struct mix m = { i / 8, i / 16, i / 16, i / 8, i / 4, 0, i };

	m.fp32 = i - m.ld_st - m.control - m.convert - m.misc - m.integer;
	return m;
}

static void instructions(u32 k, u128 i, u128 w, u128 t)
{
	struct mix m = mix_of(i);

	SHADER(k, THREAD_INST_LD_ST) = t * m.ld_st;
	SHADER(k, THREAD_INST_CONTROL) = t * m.control;
	SHADER(k, THREAD_INST_BIT_CONVERT) = t * m.convert;
	SHADER(k, THREAD_INST_MISC) = t * m.misc;
	SHADER(k, THREAD_INST_INTEGER) = t * m.integer;
	SHADER(k, THREAD_INST_FP32) = t * m.fp32;
	SHADER(k, THREAD_INST_TOTAL) = t * i;
	SHADER(k, INSTR_FMA) = w * (m.fp32 + m.control);
	SHADER(k, INSTR_CVT) = w * (m.integer + m.convert);
	SHADER(k, INSTR_SFU) = w * m.misc;
	SHADER(k, INSTR_MSG) = w * m.ld_st;
	SHADER(k, EXEC_ACTIVE) = 4 * w * i;
	SHADER2(k, WARPS) = w;
	SHADER2(k, THREADS) = t;
	SHADER2(k, INSTR_TOTAL) = w * i;
	SHADER2(k, INSTR_LOAD) = w * (m.ld_st - m.ld_st / 2);
	SHADER2(k, INSTR_STORE) = w * (m.ld_st / 2);
}

static void diverged(u128 threads, u128 i)
{
	u32 core = (u32)((up(threads, 16) - 1) % shape.cores);

	if (threads % 16 == 0)
		return;
	SHADER(core, INSTR_DIVERGED) += i;
	SHADER2(core, LANES_EMPTY) += 16 - threads % 16;
}

static u128 want_draw(const struct drm_vsoc_cmd_draw *d, struct memory *m)
{
	u128 V = d->vertices, P = d->primitives, C = d->primitives_culled, F = d->fragments;
	u128 X = d->texels, I = more(V, 3 * P), seen = P - C, pixels = F - F / 4;
	u128 wv = up(V, 16), wf = up(F, 16), li = up(I, 16), lb = up(seen, 4), lv = up(V, 2);
	u128 lt = up(X, 64), lp = up(pixels, 16), tv, tf;
	u32 k, n = shape.cores;

	TILER(TILER_ACTIVE) = V + P;
	TILER(DRAWS) = 1;
	TILER(VERTICES) = V;
	TILER(INDICES) = I;
	TILER(PRIMITIVES) = P;
	TILER(PRIMITIVES_VISIBLE) = seen;
	TILER(PRIMITIVES_CULLED_FRUSTUM) = C / 4;
	TILER(PRIMITIVES_CULLED_SAMPLE) = C / 8;
	TILER(PRIMITIVES_CULLED_FACING) = C - C / 4 - C / 8;
	TILER(BIN_ENTRIES) = 2 * seen;
	TILER(VERTEX_CACHE_HIT) = I - V;
	TILER(VERTEX_CACHE_MISS) = V;
	TILER(TILER_READ_BEATS) = 4 * li;
	TILER(TILER_WRITE_BEATS) = 4 * lb;
	TILER2(INDEX_LINES) = li;
	TILER2(BIN_LINES) = lb;
	TILER2(PRIMITIVES_REJECTED) = C;
	TILER(TILER_STALL) = V + P < li + lb ? V + P : li + lb;
	for (k = 0; k < n; k++) {
		u128 vw = share(wv, n, k), fw = share(wf, n, k);

		SHADER(k, COMPUTE_WARPS) = vw;
		SHADER(k, COMPUTE_THREADS) = share(V, n, k);
		SHADER(k, FRAGMENT_WARPS) = fw;
		SHADER(k, FRAGMENTS) = share(F, n, k);
		SHADER(k, FRAGMENT_QUADS) = share(up(F, 4), n, k);
		SHADER(k, PIXELS) = share(pixels, n, k);
		SHADER(k, TILES) = share(up(F, 256), n, k);
		SHADER(k, TILES_UNCHANGED) = share(up(F, 256) / 8, n, k);
		SHADER(k, EARLY_Z_KILLED) = share(up(F, 4) / 8, n, k);
		SHADER(k, COMPUTE_ACTIVE) = 64 * vw;
		SHADER(k, FRAGMENT_ACTIVE) = more(64 * fw, share(X, n, k));
		SHADER(k, CORE_ACTIVE) = SHADER(k, COMPUTE_ACTIVE) + SHADER(k, FRAGMENT_ACTIVE);
		SHADER(k, TEX_SAMPLES) = share(X, n, k);
		SHADER(k, LS_READ) = share(lv, n, k);
		SHADER(k, LS_WRITE) = share(lv, n, k);
		SHADER(k, LS_READ_BEATS) = 4 * share(lv, n, k);
		SHADER(k, LS_WRITE_BEATS) = 4 * share(lv, n, k);
		SHADER(k, TEX_READ_BEATS) = 4 * share(lt, n, k);
		SHADER(k, TILE_WRITE_BEATS) = 4 * share(lp, n, k);
		instructions(k, 16, vw + fw, share(V, n, k) + share(F, n, k));
		SHADER3(k, FRAGMENTS_KILLED) = share(F, n, k) - share(pixels, n, k);
		SHADER3(k, QUADS_LATE_Z) = share(up(F, 4), n, k) - share(up(F, 4) / 8, n, k);
		SHADER3(k, TILES_WRITTEN) = share(up(F, 256), n, k) - share(up(F, 256) / 8, n, k);
		SHADER3(k, TEX_LINES) = share(lt, n, k);
		SHADER3(k, TILE_LINES) = share(lp, n, k);
		SHADER(k, FRAGMENT_INSTR) = 16 * fw;
		SHADER(k, COMPUTE_INSTR) = 16 * vw;
	}
	diverged(V, 16);
	diverged(F, 16);
	*m = memsys(li, lv + lt, 0, lb + lv + lp, 0);

	tv = more(up((V + P) * 5, 4), 128 * up(wv, n));
	tf = 2 * more(64 * up(wf, n), up(X, n));
	CSHW(CS_INSTRUCTIONS) = 12;
	CSHW(VERTEX_JOBS) = V != 0;
	CSHW(FRAGMENT_JOBS) = F != 0;
	CSHW(JOBS) = (V != 0) + (F != 0);
	CSHW(VERTEX_QUEUE_ACTIVE) = tv;
	CSHW(FRAGMENT_QUEUE_ACTIVE) = tf;
	return more(tv + tf, m->ns);
}

static u128 want_compute(const struct drm_vsoc_cmd_compute *c, struct memory *m)
{
	u128 T = c->threads, i = c->instructions, W = up(T, 16), ls = i / 8, tc;
	u32 k, n = shape.cores;

	for (k = 0; k < n; k++) {
		u128 w = share(W, n, k);

		SHADER(k, COMPUTE_WARPS) = w;
		SHADER(k, COMPUTE_THREADS) = share(T, n, k);
		SHADER(k, CORE_ACTIVE) = 4 * w * i;
		SHADER(k, COMPUTE_ACTIVE) = 4 * w * i;
		SHADER(k, LS_READ) = w * (ls - ls / 2);
		SHADER(k, LS_WRITE) = w * (ls / 2);
		SHADER(k, LS_READ_BEATS) = 4 * w * (ls - ls / 2);
		SHADER(k, LS_WRITE_BEATS) = 4 * w * (ls / 2);
		instructions(k, i, w, share(T, n, k));
		SHADER(k, COMPUTE_INSTR) = w * i;
	}
	diverged(T, i);
	*m = memsys(0, W * (ls - ls / 2), 0, W * (ls / 2), 0);
	tc = 8 * up(W, n) * more(i, 1);
	CSHW(CS_INSTRUCTIONS) = 8;
	CSHW(JOBS) = 1;
	CSHW(COMPUTE_JOBS) = 1;
	CSHW(COMPUTE_QUEUE_ACTIVE) = tc;
	return more(tc, m->ns);
}

static u128 want_copy(const struct drm_vsoc_cmd_copy *c, struct memory *m)
{
	u128 r = c->flags & DRM_VSOC_COPY_READ ? c->bytes / 64 : 0;
	u128 w = c->flags & DRM_VSOC_COPY_WRITE ? c->bytes / 64 : 0;
	u32 k, n = shape.l2_slices;

	CSHW(CS_INSTRUCTIONS) = 6;
	if (c->initiator == DRM_VSOC_INITIATOR_GPU) {
		CSHW(JOBS) = 1;
		CSHW(TRANSFER_JOBS) = 1;
		*m = memsys(0, 0, r, 0, w);
		return m->ns;
	}
	for (k = 0; c->home == DRM_VSOC_HOME_GMEM && k < n; k++) {
		MEMSYS(k, SNOOPS) = share(r + w, n, k);
		MEMSYS(k, SNOOP_HITS) = share(r + w, n, k) / 8;
	}
	*m = (struct memory){ .in = r, .out = w };
	return up((r + w) * 64, 16);
}

static u128 want_command(const struct drm_vsoc_command *cmd, struct memory *m)
{
	u128 ns = 0;

	memset(want, 0, sizeof(want));
	*m = (struct memory){ 0 };
	switch (cmd->type) {
	case DRM_VSOC_CMD_DRAW:
		ns = want_draw(&cmd->draw, m);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		ns = want_compute(&cmd->compute, m);
		break;
	case DRM_VSOC_CMD_COPY:
		ns = want_copy(&cmd->copy, m);
		break;
	case DRM_VSOC_CMD_PCIE:
		ns = up(cmd->pcie.bytes, 16);
		CSHW(CS_INSTRUCTIONS) = 6;
		*(cmd->pcie.flags & DRM_VSOC_PCIE_READ ? &m->in : &m->out) = cmd->pcie.bytes / 64;
		break;
	case DRM_VSOC_CMD_WAIT:
		ns = cmd->wait.duration_ns;
		CSHW(CS_INSTRUCTIONS) = 1;
		break;
	case DRM_VSOC_CMD_SAMPLE:
		CSHW(CS_INSTRUCTIONS) = 2;
		CSHW(SAMPLE_COMMANDS) = 1;
		break;
	}
	ns += 200;
	FW(MCU_ACTIVE) = 100;
	FW(MCU_SLEEP) = ns - 100;
	CSHW(GPU_ACTIVE) = ns;
	CSHW(CS_ACTIVE) = 16;
	CSHW(CS_WAIT) = ns - 16;
	return ns;
}

/* what all sets have at the same position, the tiler's not in the tertiary one */
static void want_shared(void)
{
	u32 set, b;

	for (set = 1; set < VSOC_SETS; set++) {
		for (b = VSOC_BLOCK_CSHW; b < shape.blocks; b++) {
			u128 *to = want[set * shape.blocks + b];
			const u128 *from = want[b];

			if (b == VSOC_BLOCK_CSHW) {
				to[VSOC_CSHW_GPU_ACTIVE] = from[VSOC_CSHW_GPU_ACTIVE];
				to[VSOC_CSHW_CS_ACTIVE] = from[VSOC_CSHW_CS_ACTIVE];
				to[VSOC_CSHW_JOBS] = from[VSOC_CSHW_JOBS];
			} else if (b == VSOC_BLOCK_TILER) {
				if (set == 1)
					to[VSOC_TILER_TILER_ACTIVE] = from[VSOC_TILER_TILER_ACTIVE];
			} else if (b < VSOC_BLOCK_MEMSYS + shape.l2_slices) {
				to[VSOC_MEMSYS_L2_ACTIVE] = from[VSOC_MEMSYS_L2_ACTIVE];
			} else {
				to[VSOC_SHADER_CORE_ACTIVE] = from[VSOC_SHADER_CORE_ACTIVE];
				to[VSOC_SHADER_EXEC_ACTIVE] = from[VSOC_SHADER_EXEC_ACTIVE];
			}
		}
	}
}

static void compare(void)
{
	u32 b, c;

	want_shared();
	for (b = 0; b < VSOC_SETS * shape.blocks; b++) {
		for (c = 0; c < shape.counters_per_block; c++) {
			if (have[b][c] == want[b][c])
				continue;
			printf("# block %u counter %u: %llu, not %llu\n", b, c,
			       (u64)have[b][c], (u64)want[b][c]);
			check(have[b][c] == want[b][c]);
		}
	}
}

static void check_command(const struct drm_vsoc_command *cmd)
{
	struct memory m;
	u128 in = 0, out = 0, ns = want_command(cmd, &m);
	u32 i;

	run(cmd, NULL);
	compare();
	check(work.duration_ns == ns);
	for (i = 0; i < work.stream_count; i++) {
		*(work.streams[i].traffic.write ? &out : &in) += work.streams[i].lines;
		check(work.streams[i].hit_lines <= work.streams[i].lines);
	}
	check(in == m.in && out == m.out);
}

/* --- commands -------------------------------------------------------------- */

/* 0..limit, with small numbers and those near the limit more often */
static u64 amount(struct random_state *r, u64 limit)
{
	switch (random_below(r, 4)) {
	case 0:
		return random_below(r, 40);
	case 1:
		return limit - random_below(r, 40);
	case 2:
		return random_u64(r) % (limit + 1);
	default:
		return random_u64(r) % 100000;
	}
}

static struct drm_vsoc_command random_command(struct random_state *r)
{
	struct drm_vsoc_command cmd = { .type = 1 + random_below(r, 6) };

	switch (cmd.type) {
	case DRM_VSOC_CMD_DRAW:
		cmd.draw.vertices = amount(r, VSOC_MAX_UNITS);
		cmd.draw.primitives = amount(r, VSOC_MAX_UNITS);
		cmd.draw.primitives_culled = amount(r, cmd.draw.primitives + 40) %
					     (cmd.draw.primitives + 1);
		cmd.draw.fragments = amount(r, VSOC_MAX_UNITS);
		cmd.draw.texels = amount(r, VSOC_MAX_UNITS);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		cmd.compute.threads = amount(r, VSOC_MAX_UNITS);
		cmd.compute.instructions = amount(r, VSOC_MAX_INSTRUCTIONS) %
					   (VSOC_MAX_INSTRUCTIONS + 1);
		break;
	case DRM_VSOC_CMD_COPY:
		cmd.copy.bytes = amount(r, VSOC_MAX_UNITS / 64) * 64;
		cmd.copy.hit_bytes = random_u64(r) % (cmd.copy.bytes / 64 + 1) * 64;
		cmd.copy.flags = 1 + random_below(r, 3);
		cmd.copy.initiator = random_below(r, 4);
		cmd.copy.home = random_below(r, 5);
		break;
	case DRM_VSOC_CMD_PCIE:
		cmd.pcie.bytes = amount(r, VSOC_MAX_UNITS / 64) * 64;
		cmd.pcie.flags = random_below(r, 2);
		break;
	case DRM_VSOC_CMD_WAIT:
		cmd.wait.duration_ns = amount(r, VSOC_MAX_UNITS);
		break;
	}
	return cmd;
}

static void commands_follow_the_manual(void)
{
	struct random_state random = { test_seed() };
	unsigned long i, rounds = test_rounds(6000);

	for (i = 0; i < rounds; i++) {
		struct drm_vsoc_command cmd = random_command(&random);

		use_some_shape(i);
		check_command(&cmd);
	}
}

static void limits_do_not_overflow(void)
{
	struct drm_vsoc_command cmd = { .type = DRM_VSOC_CMD_DRAW };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		use_some_shape(i);
		cmd = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_DRAW };
		cmd.draw.vertices = VSOC_MAX_UNITS;
		cmd.draw.primitives = VSOC_MAX_UNITS;
		cmd.draw.fragments = VSOC_MAX_UNITS;
		cmd.draw.texels = VSOC_MAX_UNITS;
		check_command(&cmd);
		cmd = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_COMPUTE };
		cmd.compute.threads = VSOC_MAX_UNITS;
		cmd.compute.instructions = VSOC_MAX_INSTRUCTIONS;
		check_command(&cmd);
		cmd = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_COPY };
		cmd.copy.bytes = VSOC_MAX_UNITS;
		cmd.copy.flags = DRM_VSOC_COPY_READ | DRM_VSOC_COPY_WRITE;
		check_command(&cmd);
	}
}

/* a register of 32 bits must not wrap between two reads */
static void check_rates(void)
{
	u32 i;

	for (i = 0; i < work.count; i++) {
		bool slow = (u128)items[i].total * NSEC_PER_SEC <=
			    (u128)work.duration_ns * VSOC_MAX_COUNT_HZ;

		if (!slow)
			printf("# block %u counter %u: %llu in %llu ns\n", items[i].block,
			       items[i].counter, items[i].total, work.duration_ns);
		check(slow);
	}
}

static void no_counter_is_too_fast(void)
{
	struct random_state random = { test_seed() + 1 };
	unsigned long i, rounds = test_rounds(6000);

	for (i = 0; i < rounds; i++) {
		struct drm_vsoc_command cmd = random_command(&random);

		use_some_shape(i);
		counting.profile = random_below(&random, VSOC_PROFILES);
		counting.miscount = random_below(&random, VSOC_MISCOUNTS);
		counting.last_integer[0] = random_u64(&random) >> 4;
		run(&cmd, NULL);
		check_rates();
	}
}

/* hits of the vertex cache become misses, warps become full, fewer are left */
static bool may_shrink(u32 b, u32 c)
{
	if (b == VSOC_BLOCK_TILER)
		return c == VSOC_TILER_VERTEX_CACHE_HIT;
	if (b >= VSOC_BLOCK_MEMSYS + shape.l2_slices)
		return c == VSOC_SHADER_INSTR_DIVERGED;
	return b >= VSOC_BLOCK_MEMSYS && c == VSOC_MEMSYS_L2_READ_SHADER;
}

/* more of any input never counts less of any counter */
static void counts_are_monotonic(void)
{
	struct random_state random = { test_seed() + 2 };
	static u128 less[MAX_BLOCKS][MAX_COUNTERS];
	unsigned long i, rounds = test_rounds(3000);

	for (i = 0; i < rounds; i++) {
		struct drm_vsoc_command cmd = { .type = DRM_VSOC_CMD_DRAW };
		u64 *field[] = { &cmd.draw.vertices, &cmd.draw.fragments, &cmd.draw.texels };
		u32 b, c, k;
		u64 ns;

		use_some_shape(i);
		for (k = 0; k < ARRAY_SIZE(field); k++)
			*field[k] = amount(&random, VSOC_MAX_UNITS / 2);
		run(&cmd, NULL);
		memcpy(less, have, sizeof(less));
		ns = work.duration_ns;
		k = random_below(&random, ARRAY_SIZE(field));
		*field[k] += amount(&random, VSOC_MAX_UNITS / 2);
		run(&cmd, NULL);
		for (b = 0; b < shape.blocks; b++)
			for (c = 0; c < shape.counters_per_block; c++)
				check(have[b][c] >= less[b][c] || may_shrink(b, c));
		check(work.duration_ns >= ns);
	}
}

static void job_start_and_end(void)
{
	unsigned int i, flag;

	for (flag = 0; flag < 2; flag++) {
		use_some_shape(0);
		memset(want, 0, sizeof(want));
		memset(have, 0, sizeof(have));
		vsoc_rules_job_start(&work, flag);
		for (i = 0; i < work.count; i++)
			have[items[i].block][items[i].counter] += items[i].total;
		FW(MCU_ACTIVE) = 400;
		FW(SCHED_TICKS) = 1;
		FW(JOBS_STARTED) = 1;
		CSHW(GPU_ACTIVE) = 400;
		CSHW(SYNC_WAITS) = flag;
		compare();
		check_eq(work.duration_ns, 400);

		memset(want, 0, sizeof(want));
		memset(have, 0, sizeof(have));
		vsoc_rules_job_end(&work, flag);
		for (i = 0; i < work.count; i++)
			have[items[i].block][items[i].counter] += items[i].total;
		FW(MCU_ACTIVE) = 200;
		FW(HOST_INTERRUPTS) = 1;
		FW(JOBS_DONE) = !flag;
		FW(JOBS_FAULTED) = flag;
		CSHW(GPU_ACTIVE) = 200;
		CSHW(CACHE_FLUSHES) = 1;
		CSHW(SYNC_SETS) = 1;
		compare();
		check_eq(work.duration_ns, 200);
	}
}

/* --- listings -------------------------------------------------------------- */

static struct vsoc_step steps[VSOC_MAX_LISTING];

static int follow(const struct drm_vsoc_instruction *listing, u32 count, u32 breath,
		  struct vsoc_thread *thread)
{
	struct vsoc_run r = { .steps = steps, .count = count };
	int ret = -EAGAIN;
	u32 i;

	memset(steps, 0, count * sizeof(*steps));
	memset(thread, 0, sizeof(*thread));
	for (i = 0; i < count; i++) {
		check(!vsoc_listing_check(&listing[i], count));
		steps[i].insn = listing[i];
	}
	while (ret == -EAGAIN && r.taken < VSOC_MAX_STEPS)
		ret = vsoc_listing_run(&r, breath, thread);
	return ret;
}

static void read_listing(const char *name, s64 n, struct vsoc_thread *thread)
{
	struct listing_parameter parameter = { "N", n, false };
	char path[512], error[512] = "";
	struct listing listing;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", LISTINGS, name);
	file = fopen(path, "r");
	check(file);
	if (listing_read(file, name, &parameter, n >= 0, &listing, error, sizeof(error))) {
		printf("# %s\n", error);
		check(false);
	}
	fclose(file);
	check_eq(follow(listing.instructions, listing.count, 7, thread), 0);
	listing_free(&listing);
}

/* sums over the cores, in the order of enum vsoc_thread_counter */
static void check_counts(const char *name, s64 n, u64 threads, enum vsoc_profile profile,
			 const u64 counts[VSOC_THREAD_COUNTERS])
{
	static const u16 counters[VSOC_THREAD_COUNTERS] = {
		VSOC_SHADER_THREAD_INST_INTEGER, VSOC_SHADER_THREAD_INST_FP32,
		VSOC_SHADER_THREAD_INST_LD_ST, VSOC_SHADER_THREAD_INST_CONTROL,
		VSOC_SHADER_THREAD_INST_BIT_CONVERT, VSOC_SHADER_THREAD_INST_MISC,
		VSOC_SHADER_THREAD_INST_TOTAL,
	};
	struct drm_vsoc_command cmd = { .type = DRM_VSOC_CMD_COMPUTE };
	struct vsoc_thread thread;
	unsigned int i, c, k;

	read_listing(name, n, &thread);
	cmd.compute.threads = threads;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		use_some_shape(i);
		counting.profile = profile;
		run(&cmd, &thread);
		for (c = 0; c < VSOC_THREAD_COUNTERS; c++) {
			u64 sum = 0;

			for (k = 0; k < shape.cores; k++)
				sum += have[VSOC_BLOCK_MEMSYS + shape.l2_slices + k][counters[c]];
			check_eq(sum, counts[c]);
		}
	}
}

/* integer, fp32, ld_st, control, convert, misc, total */
static void measured_tables(void)
{
	static const struct {
		const char *name;
		s64 n;
		u64 threads;
		u64 counts[VSOC_THREAD_COUNTERS];
	} rows[] = {
		{ "matrix-copy.lst", -1, 1048576,
		  { 5242880, 0, 2097152, 1048576, 0, 6291456, 14680064 } },
		{ "float-loop.lst", 0, 1024, { 4096, 3072, 3072, 2048, 0, 5120, 17408 } },
		{ "float-loop.lst", 1, 1024, { 9216, 7168, 3072, 1024, 1024, 7168, 28672 } },
		{ "float-loop.lst", 2, 1024, { 12288, 10240, 3072, 2048, 2048, 8192, 37888 } },
		{ "float-loop.lst", 10, 1024,
		  { 36864, 34816, 3072, 10240, 10240, 16384, 111616 } },
		{ "executed-nop.lst", -1, 1024, { 3072, 0, 2048, 1024, 0, 5120, 11264 } },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		check_counts(rows[i].name, rows[i].n, rows[i].threads, VSOC_PROFILE_XAVIER,
			     rows[i].counts);
}

/*
 * The publication expects no count for the SHFL in the loop, the profile does: totals of N = 1 and
 * 10 are 37888 and 120832 there.
 */
static void documented_tables(void)
{
	static const u64 copy[] = { 5242880, 0, 2097152, 2097152, 0, 4194304, 16777216 };
	static const u64 loop[][VSOC_THREAD_COUNTERS] = {
		{ 4096, 3072, 3072, 3072, 0, 9216, 26624 },
		{ 9216, 7168, 3072, 2048, 1024, 9216, 38912 },
		{ 36864, 34816, 3072, 11264, 10240, 9216, 131072 },
	};

	check_counts("matrix-copy.lst", -1, 1048576, VSOC_PROFILE_DOCUMENTED, copy);
	check_counts("float-loop.lst", 0, 1024, VSOC_PROFILE_DOCUMENTED, loop[0]);
	check_counts("float-loop.lst", 1, 1024, VSOC_PROFILE_DOCUMENTED, loop[1]);
	check_counts("float-loop.lst", 10, 1024, VSOC_PROFILE_DOCUMENTED, loop[2]);
}

/*
 * Random programs of straight code and nested loops, whose counts are known by multiplication,
 * without following any branch.
 */
struct program {
	struct random_state *random;
	struct drm_vsoc_instruction code[VSOC_MAX_LISTING];
	u32 count;
	struct vsoc_thread known;
};

static const u16 straight[] = {
	DRM_VSOC_OP_IMAD, DRM_VSOC_OP_VABSDIFF4, DRM_VSOC_OP_BMSK, DRM_VSOC_OP_FADD,
	DRM_VSOC_OP_FSETP, DRM_VSOC_OP_LDG, DRM_VSOC_OP_STG, DRM_VSOC_OP_LDS, DRM_VSOC_OP_STS,
	DRM_VSOC_OP_I2F, DRM_VSOC_OP_S2R, DRM_VSOC_OP_NOP, DRM_VSOC_OP_BAR, DRM_VSOC_OP_MOV,
	DRM_VSOC_OP_SHFL,
};

static void emit(struct program *p, u16 opcode, u8 guard, u32 times, u32 target, u64 on, u64 off)
{
	p->code[p->count++] = (struct drm_vsoc_instruction){
		.opcode = opcode, .guard = guard, .guard_times = times, .target = target };
	p->known.on[opcode >> 8] += on;
	p->known.off[opcode >> 8] += off;
	if (opcode == DRM_VSOC_OP_SHFL)
		p->known.shuffles += on;
	if (opcode == DRM_VSOC_OP_LDG)
		p->known.loads += on;
	if (opcode == DRM_VSOC_OP_STG)
		p->known.stores += on;
}

/* code that runs @times times */
static void generate(struct program *p, u64 times, unsigned int depth)
{
	unsigned int length = 1 + random_below(p->random, 5);

	while (length-- && p->count < VSOC_MAX_LISTING - 40) {
		u16 opcode = straight[random_below(p->random, ARRAY_SIZE(straight))];
		u32 start = p->count, n;

		switch (depth ? random_below(p->random, 6) : random_below(p->random, 3)) {
		case 0:
			emit(p, opcode, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			break;
		case 1:
			emit(p, opcode, DRM_VSOC_GUARD_FALSE, 0, 0, 0, times);
			break;
		case 2:
			/* true in n of n + 1 times */
			n = random_below(p->random, 4);
			emit(p, opcode, DRM_VSOC_GUARD_TIMES, n, 0, times - times / (n + 1),
			     times / (n + 1));
			break;
		case 3:
			/* a branch over code that is always skipped */
			emit(p, DRM_VSOC_OP_BRA, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			generate(p, 0, depth - 1);
			p->code[start].target = p->count;
			/* something to branch to */
			emit(p, DRM_VSOC_OP_NOP, DRM_VSOC_GUARD_TRUE, 0, 0, times, 0);
			break;
		case 4:
			/* an EXIT that never happens */
			emit(p, DRM_VSOC_OP_EXIT, DRM_VSOC_GUARD_FALSE, 0, 0, 0, times);
			break;
		case 5:
			n = 1 + random_below(p->random, 5);
			generate(p, times * n, depth - 1);
			emit(p, DRM_VSOC_OP_BRA, DRM_VSOC_GUARD_TIMES, n - 1, start,
			     times * (n - 1), times);
			break;
		}
	}
}

static void programs_do_what_they_say(void)
{
	static struct program p;
	struct random_state random = { test_seed() + 3 };
	unsigned long i, rounds = test_rounds(3000);
	unsigned int dead, k;
	struct vsoc_thread thread;

	for (i = 0; i < rounds; i++) {
		memset(&p, 0, sizeof(p));
		p.random = &random;
		generate(&p, 1, 4);
		emit(&p, DRM_VSOC_OP_EXIT, DRM_VSOC_GUARD_TRUE, 0, 0, 1, 0);
		dead = random_below(&random, 4);
		for (k = 0; k < dead; k++)
			emit(&p, DRM_VSOC_OP_NOP, DRM_VSOC_GUARD_TRUE, 0, 0, 0, 0);
		p.known.dead[VSOC_CLASS_MISC] = dead;

		check_eq(follow(p.code, p.count, 1 + random_below(&random, 100), &thread), 0);
		check(!memcmp(&thread, &p.known, sizeof(thread)));
	}
}

/* code behind the EXIT in memory but before it in time counts */
static void reached_behind_exit(void)
{
	static const struct drm_vsoc_instruction code[] = {
		{ .opcode = DRM_VSOC_OP_BRA, .target = 2 }, { .opcode = DRM_VSOC_OP_EXIT },
		{ .opcode = DRM_VSOC_OP_NOP }, { .opcode = DRM_VSOC_OP_BRA, .target = 1 },
		{ .opcode = DRM_VSOC_OP_NOP },
	};
	struct vsoc_thread thread;

	check_eq(follow(code, ARRAY_SIZE(code), 100, &thread), 0);
	check_eq(thread.on[VSOC_CLASS_CONTROL], 3);
	check_eq(thread.on[VSOC_CLASS_MISC], 1);
	check_eq(thread.dead[VSOC_CLASS_MISC], 1);
	check_eq(thread.dead[VSOC_CLASS_CONTROL], 0);
}

/* no program counts faster than a job without a listing may, or beyond 64 bits */
static void listings_at_the_limits(void)
{
	static const u16 one[] = { DRM_VSOC_OP_IMAD, DRM_VSOC_OP_LDG, DRM_VSOC_OP_STG,
				   DRM_VSOC_OP_MOV, DRM_VSOC_OP_FADD, DRM_VSOC_OP_SHFL };
	struct drm_vsoc_command cmd = { .type = DRM_VSOC_CMD_COMPUTE };
	struct vsoc_thread thread;
	unsigned int i, o, miscount, profile, threads;

	for (o = 0; o < ARRAY_SIZE(one); o++) {
		memset(&thread, 0, sizeof(thread));
		thread.on[one[o] >> 8] = VSOC_MAX_STEPS;
		thread.dead[one[o] >> 8] = VSOC_MAX_LISTING;
		thread.loads = one[o] == DRM_VSOC_OP_LDG ? VSOC_MAX_STEPS : 0;
		thread.stores = one[o] == DRM_VSOC_OP_STG ? VSOC_MAX_STEPS : 0;
		thread.shuffles = one[o] == DRM_VSOC_OP_SHFL ? VSOC_MAX_STEPS : 0;
		for (i = 0; i < ARRAY_SIZE(shapes); i++) {
			for (profile = 0; profile < VSOC_PROFILES * VSOC_MISCOUNTS * 2; profile++) {
				u128 total, lines = 0, rest = 0;
				u32 k;

				use_some_shape(i);
				miscount = profile / VSOC_PROFILES % VSOC_MISCOUNTS;
				threads = profile / VSOC_PROFILES / VSOC_MISCOUNTS;
				counting.profile = profile % VSOC_PROFILES;
				counting.miscount = miscount;
				cmd.compute.threads = threads ? VSOC_MAX_UNITS : 16;
				run(&cmd, &thread);
				check_rates();
				for (k = 0; k < work.stream_count; k++)
					lines += work.streams[k].lines;
				/* written lines merge by eights, a quarter of the reads hits */
				check(lines <= (u128)cmd.compute.threads / 16 * VSOC_MAX_STEPS);
				check(work.duration_ns < 1ull << 63);
				total = (u128)cmd.compute.threads * VSOC_MAX_STEPS;
				for (k = 0; k < shape.cores; k++)
					rest += have[VSOC_BLOCK_MEMSYS + shape.l2_slices + k]
						    [VSOC_SHADER_THREAD_INST_TOTAL];
				if (counting.profile == VSOC_PROFILE_XAVIER &&
				    miscount != VSOC_MISCOUNT_DEAD)
					check(rest == (thread.shuffles ? 0 : total));
			}
		}
	}
}

static void bad_listings(void)
{
	static const struct {
		struct drm_vsoc_instruction insn;
		const char *says;
	} bad[] = {
		{ { .opcode = 0 }, "opcode" },
		{ { .opcode = 0xff }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_VABSDIFF4 + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_FSETP + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_STS + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_EXIT + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_I2F + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_BAR + 1 }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_SHFL + 1 }, "opcode" },
		{ { .opcode = 0x800 }, "opcode" },
		{ { .opcode = 0xffff }, "opcode" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard = 3 }, "guard is" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard_times = 1 }, "guard_times" },
		{ { .opcode = DRM_VSOC_OP_NOP, .guard = 1, .guard_times = 1 }, "guard_times" },
		{ { .opcode = DRM_VSOC_OP_NOP, .target = 1 }, "target" },
		{ { .opcode = DRM_VSOC_OP_BRA, .target = 4 }, "outside" },
		{ { .opcode = DRM_VSOC_OP_BRA, .target = ~0u }, "outside" },
		{ { .opcode = DRM_VSOC_OP_NOP, .pad = 1 }, "pad" },
		{ { .opcode = DRM_VSOC_OP_NOP, .reserved = 1 }, "reserved" },
	};
	static const struct drm_vsoc_instruction no_exit[] = { { .opcode = DRM_VSOC_OP_NOP } };
	static const struct drm_vsoc_instruction forever[] = {
		{ .opcode = DRM_VSOC_OP_NOP }, { .opcode = DRM_VSOC_OP_BRA },
		{ .opcode = DRM_VSOC_OP_EXIT },
	};
	static const struct drm_vsoc_instruction exit_off[] = {
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = DRM_VSOC_GUARD_FALSE } };
	struct vsoc_thread thread;
	const char *says;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		says = vsoc_listing_check(&bad[i].insn, 4);
		if (!says || !strstr(says, bad[i].says))
			printf("# case %u: %s\n", i, says ? says : "accepted");
		check(says && strstr(says, bad[i].says));
	}
	check_eq(follow(no_exit, 1, 10, &thread), -EINVAL);
	check_eq(follow(exit_off, 1, 10, &thread), -EINVAL);
	check_eq(follow(forever, 3, 1000, &thread), -EAGAIN);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(commands_follow_the_manual),
		TEST(limits_do_not_overflow),
		TEST(no_counter_is_too_fast),
		TEST(counts_are_monotonic),
		TEST(job_start_and_end),
		TEST(measured_tables),
		TEST(documented_tables),
		TEST(programs_do_what_they_say),
		TEST(reached_behind_exit),
		TEST(listings_at_the_limits),
		TEST(bad_listings),
	};

	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
