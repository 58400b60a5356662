// SPDX-License-Identifier: GPL-2.0
/*
 * The counting rules of the virtual SoC against its manual (kernel/vsoc/README.md), which is
 * computed here a second time in 128 bits. test_listing.c tests listings.
 */
#include "rules_fixture.h"

static u128 want[MAX_BLOCKS][MAX_COUNTERS];

/* --- the manual, computed again -------------------------------------------- */

static u128 up(u128 a, u128 b)
{
	return (a + b - 1) / b;
}

/* small totals are distributed one by one */
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

/* counters that all sets have at the same position; the tertiary set has none of the tiler */
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

TEST(commands_count_as_the_manual_says)
{
	struct random_state random = { test_seed() };
	unsigned long i, rounds = test_rounds(6000);

	for (i = 0; i < rounds; i++) {
		struct drm_vsoc_command cmd = random_command(&random);

		use_some_shape(i);
		check_command(&cmd);
	}
}

TEST(largest_commands_do_not_overflow)
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
TEST(no_counter_exceeds_its_rate)
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

TEST(job_start_and_end_count_as_the_manual_says)
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
