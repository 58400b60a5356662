// SPDX-License-Identifier: GPL-2.0
/*
 * The counting rules of the virtual GPU.
 */
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <drm/perfctr_drm.h>

#include "vsoc_csf_counters.h"
#include "memory/memsim.h"
#include "vsoc_rules.h"

#define WARP_THREADS		16
#define DRAW_INSTRUCTIONS	VSOC_DRAW_INSTRUCTIONS
#define WARP_INSTRUCTION_CYCLES	4	/* shader cycles that a warp instruction takes */
#define LINE_BEATS		4	/* of 16 bytes */
#define EXT_LINE_CYCLES		10	/* core-group cycles that a line takes on the bus */
#define TILE_FRAGMENTS		256	/* 16 × 16 */
#define MMU_PAGE_LINES		64	/* 4 KiB */
#define MMU_WALK_READS		4	/* levels of a table walk */
#define FABRIC_HZ		16000000000ULL	/* bytes per second, if the command has no rate */

/* core-group and shader cycles to nanoseconds */
#define COREGROUP_NS(cycles)	DIV64_U64_ROUND_UP((cycles) * 5, 4)
#define SHADER_NS(cycles)	((cycles) * 2)

#define ELEMENT_NS		10	/* of a copy by a core: 21 instructions */
#define COMMAND_NS		200	/* fixed part of every command */
#define COMMAND_MCU_CYCLES	100
#define COMMAND_CS_CYCLES	16
#define JOB_START_MCU_CYCLES	400
#define JOB_END_MCU_CYCLES	200

/* maximum rate of a register; it decides how long a kernel takes */
#define MAX_COUNTS_PER_NS	3
#define ACCUMULATOR_MAX		U16_MAX	/* of a faulty per-kernel accumulator */

/* a thread of @total instructions without a listing */
struct vsoc_thread vsoc_rules_mix(u64 total)
{
	struct vsoc_thread t = {
		.on = {
			[VSOC_CLASS_LD_ST] = total / 8,
			[VSOC_CLASS_CONTROL] = total / 16,
			[VSOC_CLASS_CONVERT] = total / 16,
			[VSOC_CLASS_MISC] = total / 8,
			[VSOC_CLASS_INTEGER] = total / 4,
		},
		.stores = total / 8 / 2,
	};

	t.loads = t.on[VSOC_CLASS_LD_ST] - t.stores;
	t.on[VSOC_CLASS_FP32] = total - t.on[VSOC_CLASS_LD_ST] - t.on[VSOC_CLASS_CONTROL] -
				t.on[VSOC_CLASS_CONVERT] - t.on[VSOC_CLASS_MISC] -
				t.on[VSOC_CLASS_INTEGER];
	return t;
}

static u64 executed(const struct vsoc_thread *thread)
{
	u64 sum = 0;

	for (u32 i = 0; i < VSOC_CLASSES; i++)
		sum += thread->on[i];
	return sum;
}

/* an instruction whose guard is false is issued as well */
static u64 issued(const struct vsoc_thread *thread)
{
	u64 sum = executed(thread);

	for (u32 i = 0; i < VSOC_CLASSES; i++)
		sum += thread->off[i];
	return sum;
}

void vsoc_rules_count_thread(const struct vsoc_thread *thread, enum vsoc_profile profile,
			     bool count_dead, u64 counts[VSOC_THREAD_COUNTERS])
{
	const bool documented = profile == VSOC_PROFILE_DOCUMENTED;
	u64 class[VSOC_CLASSES], total = 0;

	for (u32 i = 0; i < VSOC_CLASSES; i++) {
		class[i] = thread->on[i];
		if (documented && i != VSOC_CLASS_CONTROL)
			class[i] += thread->off[i];
		if (documented || count_dead)
			class[i] += thread->dead[i];
	}
	if (documented) {
		/* moves have a class but no counter; the total includes them */
		total = class[VSOC_CLASS_MOVE];
	} else {
		/* a shuffle has no class; other moves count as miscellaneous */
		class[VSOC_CLASS_MISC] += class[VSOC_CLASS_MOVE] - thread->shuffles;
	}

	counts[VSOC_THREAD_INTEGER] = class[VSOC_CLASS_INTEGER];
	counts[VSOC_THREAD_FP32] = class[VSOC_CLASS_FP32];
	counts[VSOC_THREAD_LD_ST] = class[VSOC_CLASS_LD_ST];
	counts[VSOC_THREAD_CONTROL] = class[VSOC_CLASS_CONTROL];
	counts[VSOC_THREAD_CONVERT] = class[VSOC_CLASS_CONVERT];
	counts[VSOC_THREAD_MISC] = class[VSOC_CLASS_MISC];
	for (u32 i = 0; i < VSOC_THREAD_TOTAL; i++)
		total += counts[i];
	counts[VSOC_THREAD_TOTAL] = total;
}

/* injects a counting error; @counts: of all threads of core @core */
static void miscount(struct vsoc_counting *counting, enum vsoc_miscount how, u32 core,
		     u64 counts[VSOC_THREAD_COUNTERS])
{
	const u64 last = counting->last_integer[core];
	u64 *integer = &counts[VSOC_THREAD_INTEGER];

	counting->last_integer[core] = *integer;
	switch (how) {
	case VSOC_MISCOUNT_DOUBLE:
		*integer *= 2;
		break;
	case VSOC_MISCOUNT_SWAP:
		swap(*integer, counts[VSOC_THREAD_FP32]);
		break;
	case VSOC_MISCOUNT_SATURATE:
		*integer = min_t(u64, *integer, ACCUMULATOR_MAX);
		break;
	case VSOC_MISCOUNT_WRAP:
		*integer &= ACCUMULATOR_MAX;
		break;
	case VSOC_MISCOUNT_STALE:
		*integer = last;
		break;
	case VSOC_MISCOUNT_OFF_BY_ONE:
		*integer += 1;
		break;
	case VSOC_MISCOUNT_MUX:
		*integer = counts[VSOC_THREAD_FP32];
		break;
	case VSOC_MISCOUNT_NONE:
	case VSOC_MISCOUNT_DEAD:
	case VSOC_MISCOUNTS:
		break;
	}
}

u64 vsoc_share(u64 total, u32 n, u32 k)
{
	u32 rest;
	u64 part = div_u64_rem(total, n, &rest);

	return part + (k < rest);
}

static u64 div_up(u64 total, u32 n)
{
	return div_u64(total + n - 1, n);
}

void vsoc_shape_init(struct vsoc_shape *shape, u64 shader_present, u32 l2_slices,
		     u32 counters_per_block)
{
	shape->shader_present = shader_present;
	shape->cores = hweight64(shader_present);
	shape->l2_slices = l2_slices;
	shape->counters_per_block = counters_per_block;
	shape->blocks = VSOC_BLOCK_MEMSYS + l2_slices + shape->cores;
	vsoc_shape_assign(shape, shader_present);
}

/* changes the partition: @assigned is a part of the cores present, not 0 */
void vsoc_shape_assign(struct vsoc_shape *shape, u64 assigned)
{
	shape->assigned = assigned;
	shape->assigned_cores = hweight64(assigned);
}

u32 vsoc_work_capacity(const struct vsoc_shape *shape)
{
	return VSOC_SETS * shape->blocks * 64;
}

static void work_init(struct vsoc_work *work)
{
	work->duration_ns = 0;
	work->done_ns = 0;
	work->count = 0;
	work->stream_count = 0;
	work->elements = 0;
	work->elements_done = 0;
	work->number++;
}

static void add_stream(struct vsoc_work *work, u16 block, u16 counter, u64 total, u16 stream)
{
	struct vsoc_work_item *item;

	if (!total || counter >= work->shape->counters_per_block ||
	    work->count == work->capacity)
		return;

	item = &work->items[work->count++];
	item->total = total;
	item->done = 0;
	item->block = block;
	item->counter = counter;
	item->stream = stream;
}

/* mask of the counters at positions 0..63 of @block that the other sets have, too */
static const u64 *shared_counters(const struct vsoc_work *work, u16 block)
{
	static const u64 cshw[] = { VSOC_CSHW_SECONDARY_SHARED, VSOC_CSHW_TERTIARY_SHARED };
	static const u64 tiler[] = { VSOC_TILER_SECONDARY_SHARED, 0 };
	static const u64 memsys[] = { VSOC_MEMSYS_SECONDARY_SHARED, VSOC_MEMSYS_TERTIARY_SHARED };
	static const u64 shader[] = { VSOC_SHADER_SECONDARY_SHARED, VSOC_SHADER_TERTIARY_SHARED };
	static const u64 none[] = { 0, 0 };

	switch (block) {
	case VSOC_BLOCK_FW:
		return none;
	case VSOC_BLOCK_CSHW:
		return cshw;
	case VSOC_BLOCK_TILER:
		return tiler;
	}
	return block < VSOC_BLOCK_MEMSYS + work->shape->l2_slices ? memsys : shader;
}

/* adds to a counter of the primary set, and of the other sets if they have it */
static void add(struct vsoc_work *work, u16 block, u16 counter, u64 total)
{
	const u64 *shared = shared_counters(work, block);
	u16 set;

	add_stream(work, block, counter, total, 0);
	for (set = 1; counter < 64 && set < VSOC_SETS; set++)
		if (shared[set - 1] & BIT_ULL(counter))
			add_stream(work, set * work->shape->blocks + block, counter, total, 0);
}

/* adds to a counter of the secondary or tertiary set */
static void add_secondary(struct vsoc_work *work, u16 block, u16 counter, u64 total)
{
	add_stream(work, DRM_PERFCTR_SET_SECONDARY * work->shape->blocks + block, counter, total,
		   0);
}

static void add_tertiary(struct vsoc_work *work, u16 block, u16 counter, u64 total)
{
	add_stream(work, DRM_PERFCTR_SET_TERTIARY * work->shape->blocks + block, counter, total,
		   0);
}

static u16 memsys_block(u32 slice)
{
	return VSOC_BLOCK_MEMSYS + slice;
}

/* of core number @core of those assigned to this system */
static u16 shader_block(const struct vsoc_work *work, u32 core)
{
	const struct vsoc_shape *shape = work->shape;
	u64 assigned = shape->assigned;

	while (core--)
		assigned &= assigned - 1;
	return VSOC_BLOCK_MEMSYS + shape->l2_slices +
	       hweight64(shape->shader_present & (BIT_ULL(__ffs64(assigned)) - 1));
}

/* lines that the units of the GPU move through the L2 */
struct l2_load {
	u64 read_tiler;
	u64 read_shader;
	u64 read_transfer;
	u64 write;
	u64 write_transfer;
};

static struct vsoc_work_stream *add_traffic(struct vsoc_work *work, const struct vsoc_traffic *t,
					    u64 lines)
{
	struct vsoc_work_stream *s = &work->streams[work->stream_count];

	s->traffic = *t;
	s->traffic.command = work->number;
	s->traffic.slot = vsoc_traffic_slot(work->lane, work->stream_count++);
	s->lines = lines;
	s->done = 0;
	s->by_counters = false;
	return s;
}

/*
 * Counters of the memory system, and traffic that leaves it for @home. Returns the time in
 * nanoseconds that the busiest slice needs.
 */
static u64 memsys(struct vsoc_work *work, const struct l2_load *load,
		  const struct vsoc_traffic *home)
{
	const u32 n = work->shape->l2_slices;
	struct vsoc_work_stream *in, *out;
	struct vsoc_traffic t = *home;
	u64 busiest_ns = 0;
	u16 in_number, out_number;

	if (!t.window)
		t.window = VSOC_GPU_WINDOW * n;
	t.op = MEMSIM_READ;
	in = add_traffic(work, &t, 0);
	in->by_counters = true;
	in_number = work->stream_count;
	t.op = MEMSIM_WRITE;
	/* shaders write elsewhere than they read */
	if (!load->read_transfer && !load->write_transfer)
		t.address += VSOC_HEAP_BYTES;
	out = add_traffic(work, &t, 0);
	out->by_counters = true;
	out_number = work->stream_count;

	for (u32 k = 0; k < n; k++) {
		const u16 b = memsys_block(k);
		const u64 cached = vsoc_share(load->read_tiler + load->read_shader, n, k);
		const u64 read = cached + vsoc_share(load->read_transfer, n, k);
		const u64 read_hit = cached / 4;
		const u64 ext_read = read - read_hit;
		const u64 merged = vsoc_share(load->write, n, k);
		const u64 write = merged + vsoc_share(load->write_transfer, n, k);
		const u64 write_hit = merged / 2;
		const u64 ext_write = write - merged / 8;
		const u64 active = EXT_LINE_CYCLES * (ext_read + ext_write) + read + write;

		add(work, b, VSOC_MEMSYS_L2_ACTIVE, active);
		add(work, b, VSOC_MEMSYS_L2_READ, read);
		add(work, b, VSOC_MEMSYS_L2_READ_HIT, read_hit);
		add(work, b, VSOC_MEMSYS_L2_READ_MISS, read - read_hit);
		add(work, b, VSOC_MEMSYS_L2_WRITE, write);
		add(work, b, VSOC_MEMSYS_L2_WRITE_HIT, write_hit);
		add(work, b, VSOC_MEMSYS_L2_WRITE_MISS, write - write_hit);
		add(work, b, VSOC_MEMSYS_L2_EVICTIONS, ext_write);
		add_stream(work, b, VSOC_MEMSYS_EXT_READ, ext_read, in_number);
		add(work, b, VSOC_MEMSYS_EXT_READ_BEATS, LINE_BEATS * ext_read);
		add_stream(work, b, VSOC_MEMSYS_EXT_WRITE, ext_write, out_number);
		add(work, b, VSOC_MEMSYS_EXT_WRITE_BEATS, LINE_BEATS * ext_write);
		add(work, b, VSOC_MEMSYS_EXT_READ_STALL, 2 * ext_read);
		add(work, b, VSOC_MEMSYS_EXT_WRITE_STALL, ext_write);
		add(work, b, VSOC_MEMSYS_MMU_LOOKUPS, read + write);
		add(work, b, VSOC_MEMSYS_MMU_MISSES, div_up(read + write, MMU_PAGE_LINES));
		add(work, b, VSOC_MEMSYS_L2_READ_TILER, vsoc_share(load->read_tiler, n, k));
		/* the sum of both kinds of cached reads was distributed above */
		add(work, b, VSOC_MEMSYS_L2_READ_SHADER,
		    cached - vsoc_share(load->read_tiler, n, k));
		add(work, b, VSOC_MEMSYS_L2_READ_TRANSFER, vsoc_share(load->read_transfer, n, k));

		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_L2_LOOKUPS, read + write);
		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_L2_HITS, read_hit + write_hit);
		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_L2_MISSES,
			      read + write - read_hit - write_hit);
		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_EXT_READ_BUSY,
			      EXT_LINE_CYCLES * ext_read);
		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_EXT_WRITE_BUSY,
			      EXT_LINE_CYCLES * ext_write);
		add_secondary(work, b, VSOC_MEMSYS_SECONDARY_WRITES_MERGED, write - ext_write);
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_MMU_HITS,
			     read + write - div_up(read + write, MMU_PAGE_LINES));
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_MMU_WALK_READS,
			     MMU_WALK_READS * div_up(read + write, MMU_PAGE_LINES));
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_READS_CACHED, cached);
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_READS_TRANSFER, read - cached);
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_WRITES_CACHED, merged);
		add_tertiary(work, b, VSOC_MEMSYS_TERTIARY_WRITES_TRANSFER, write - merged);

		in->lines += ext_read;
		out->lines += ext_write;
		busiest_ns = max(busiest_ns, COREGROUP_NS(active));
	}

	return busiest_ns;
}

/* what shaders and tiler access */
static struct vsoc_traffic heap_traffic(const struct vsoc_work *work)
{
	return (struct vsoc_traffic){
		.kind = VSOC_TRAFFIC_MEM,
		.initiator = DRM_VSOC_INITIATOR_GPU,
		.home = DRM_VSOC_HOME_CMEM,
		.address = work->heap,
	};
}

static const u16 thread_counters[VSOC_THREAD_COUNTERS] = {
	[VSOC_THREAD_INTEGER] = VSOC_SHADER_THREAD_INST_INTEGER,
	[VSOC_THREAD_FP32] = VSOC_SHADER_THREAD_INST_FP32,
	[VSOC_THREAD_LD_ST] = VSOC_SHADER_THREAD_INST_LD_ST,
	[VSOC_THREAD_CONTROL] = VSOC_SHADER_THREAD_INST_CONTROL,
	[VSOC_THREAD_CONVERT] = VSOC_SHADER_THREAD_INST_BIT_CONVERT,
	[VSOC_THREAD_MISC] = VSOC_SHADER_THREAD_INST_MISC,
	[VSOC_THREAD_TOTAL] = VSOC_SHADER_THREAD_INST_TOTAL,
};

/* counts of @warps warps of @thread in core @core */
static void warp_instructions(struct vsoc_work *work, u32 core, const struct vsoc_thread *thread,
			      u64 warps)
{
	const u16 b = shader_block(work, core);
	const u64 *on = thread->on;

	add(work, b, VSOC_SHADER_EXEC_ACTIVE, WARP_INSTRUCTION_CYCLES * warps * issued(thread));
	add(work, b, VSOC_SHADER_INSTR_FMA,
	    warps * (on[VSOC_CLASS_FP32] + on[VSOC_CLASS_CONTROL]));
	add(work, b, VSOC_SHADER_INSTR_CVT,
	    warps * (on[VSOC_CLASS_INTEGER] + on[VSOC_CLASS_CONVERT]));
	add(work, b, VSOC_SHADER_INSTR_SFU,
	    warps * (on[VSOC_CLASS_MISC] + on[VSOC_CLASS_MOVE] - thread->shuffles));
	add(work, b, VSOC_SHADER_INSTR_MSG, warps * (on[VSOC_CLASS_LD_ST] + thread->shuffles));
	add_secondary(work, b, VSOC_SHADER_SECONDARY_WARPS, warps);
	add_secondary(work, b, VSOC_SHADER_SECONDARY_INSTR_TOTAL, warps * executed(thread));
	add_secondary(work, b, VSOC_SHADER_SECONDARY_INSTR_LOAD, warps * thread->loads);
	add_secondary(work, b, VSOC_SHADER_SECONDARY_INSTR_STORE, warps * thread->stores);
}

static void add_thread_counts(struct vsoc_work *work, u32 core,
			      const u64 counts[VSOC_THREAD_COUNTERS])
{
	for (u32 i = 0; i < VSOC_THREAD_COUNTERS; i++)
		add(work, shader_block(work, core), thread_counters[i], counts[i]);
}

/* counts of @threads vertex and fragment threads of @thread in core @core */
static void thread_instructions(struct vsoc_work *work, u32 core,
				const struct vsoc_thread *thread, u64 threads)
{
	u64 counts[VSOC_THREAD_COUNTERS];

	vsoc_rules_count_thread(thread, VSOC_PROFILE_XAVIER, false, counts);
	for (u32 i = 0; i < VSOC_THREAD_COUNTERS; i++)
		counts[i] *= threads;
	add_thread_counts(work, core, counts);
}

/*
 * Counts of a kernel's threads, as the counter logic sees them. Returns the time that the fastest
 * counter needs.
 */
static u64 kernel_instructions(struct vsoc_work *work, u32 core, const struct vsoc_thread *thread,
			       u64 threads)
{
	const enum vsoc_miscount how = READ_ONCE(work->counting->miscount);
	u64 counts[VSOC_THREAD_COUNTERS], most = 0;

	vsoc_rules_count_thread(thread, READ_ONCE(work->counting->profile),
				how == VSOC_MISCOUNT_DEAD, counts);
	for (u32 i = 0; i < VSOC_THREAD_COUNTERS; i++)
		counts[i] *= threads;
	miscount(work->counting, how, core, counts);
	add_thread_counts(work, core, counts);
	for (u32 i = 0; i < VSOC_THREAD_COUNTERS; i++)
		most = max(most, counts[i]);
	return div_up(most, MAX_COUNTS_PER_NS);
}

/* instructions of a partial last warp diverge, in the core that runs it */
static void divergence(struct vsoc_work *work, u64 threads, u64 per_warp)
{
	u64 warps = div_up(threads, WARP_THREADS);
	u32 core, filled;

	div_u64_rem(threads, WARP_THREADS, &filled);
	if (!filled)
		return;
	div_u64_rem(warps - 1, work->shape->assigned_cores, &core);
	add(work, shader_block(work, core), VSOC_SHADER_INSTR_DIVERGED, per_warp);
	add_secondary(work, shader_block(work, core), VSOC_SHADER_SECONDARY_LANES_EMPTY,
		      WARP_THREADS - filled);
}

/* amounts that follow from those of a draw */
struct draw_amounts {
	u64 visible, indices, index_lines, bin_lines, vertex_lines, texel_lines;
	u64 pixels, pixel_lines, tiles, quads, vertex_warps, fragment_warps, tiler_cycles;
};

static struct draw_amounts draw_amounts(const struct drm_vsoc_cmd_draw *d)
{
	struct draw_amounts a = {
		.visible = d->primitives - d->primitives_culled,
		.indices = max(d->vertices, 3 * d->primitives),
		.vertex_lines = div_up(d->vertices, 2),
		.texel_lines = div_up(d->texels, 64),
		.pixels = d->fragments - d->fragments / 4,
		.tiles = div_up(d->fragments, TILE_FRAGMENTS),
		.quads = div_up(d->fragments, 4),
		.vertex_warps = div_up(d->vertices, WARP_THREADS),
		.fragment_warps = div_up(d->fragments, WARP_THREADS),
		.tiler_cycles = d->vertices + d->primitives,
	};

	a.index_lines = div_up(a.indices, 16);
	a.bin_lines = div_up(a.visible, 4);
	a.pixel_lines = div_up(a.pixels, 16);
	return a;
}

static void draw_tiler(struct vsoc_work *work, const struct drm_vsoc_cmd_draw *d,
		       const struct draw_amounts *a)
{
	const u64 frustum = d->primitives_culled / 4, coverage = d->primitives_culled / 8;

	add(work, VSOC_BLOCK_TILER, VSOC_TILER_TILER_ACTIVE, a->tiler_cycles);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_DRAWS, 1);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_VERTICES, d->vertices);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_INDICES, a->indices);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_PRIMITIVES, d->primitives);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_PRIMITIVES_VISIBLE, a->visible);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_PRIMITIVES_CULLED_FACING,
	    d->primitives_culled - frustum - coverage);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_PRIMITIVES_CULLED_FRUSTUM, frustum);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_PRIMITIVES_CULLED_SAMPLE, coverage);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_BIN_ENTRIES, 2 * a->visible);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_VERTEX_CACHE_HIT, a->indices - d->vertices);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_VERTEX_CACHE_MISS, d->vertices);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_TILER_READ_BEATS, LINE_BEATS * a->index_lines);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_TILER_WRITE_BEATS, LINE_BEATS * a->bin_lines);
	add(work, VSOC_BLOCK_TILER, VSOC_TILER_TILER_STALL,
	    min(a->tiler_cycles, a->index_lines + a->bin_lines));

	add_secondary(work, VSOC_BLOCK_TILER, VSOC_TILER_SECONDARY_INDEX_LINES, a->index_lines);
	add_secondary(work, VSOC_BLOCK_TILER, VSOC_TILER_SECONDARY_BIN_LINES, a->bin_lines);
	add_secondary(work, VSOC_BLOCK_TILER, VSOC_TILER_SECONDARY_PRIMITIVES_REJECTED,
		      d->primitives_culled);
}

/* the part of core @k of @n */
static void draw_core(struct vsoc_work *work, const struct drm_vsoc_cmd_draw *d,
		      const struct draw_amounts *a, const struct vsoc_thread *thread, u32 n, u32 k)
{
	const u64 warp_cycles = WARP_INSTRUCTION_CYCLES * DRAW_INSTRUCTIONS;
	const u16 b = shader_block(work, k);
	const u64 vw = vsoc_share(a->vertex_warps, n, k);
	const u64 fw = vsoc_share(a->fragment_warps, n, k);
	const u64 vt = vsoc_share(d->vertices, n, k);
	const u64 ft = vsoc_share(d->fragments, n, k);
	const u64 texels = vsoc_share(d->texels, n, k);
	const u64 fragment_cycles = max(warp_cycles * fw, texels);

	add(work, b, VSOC_SHADER_CORE_ACTIVE, warp_cycles * vw + fragment_cycles);
	add(work, b, VSOC_SHADER_COMPUTE_ACTIVE, warp_cycles * vw);
	add(work, b, VSOC_SHADER_FRAGMENT_ACTIVE, fragment_cycles);
	add(work, b, VSOC_SHADER_COMPUTE_WARPS, vw);
	add(work, b, VSOC_SHADER_COMPUTE_THREADS, vt);
	add(work, b, VSOC_SHADER_FRAGMENT_WARPS, fw);
	add(work, b, VSOC_SHADER_FRAGMENTS, ft);
	add(work, b, VSOC_SHADER_FRAGMENT_QUADS, vsoc_share(a->quads, n, k));
	add(work, b, VSOC_SHADER_PIXELS, vsoc_share(a->pixels, n, k));
	add(work, b, VSOC_SHADER_TILES, vsoc_share(a->tiles, n, k));
	add(work, b, VSOC_SHADER_TILES_UNCHANGED, vsoc_share(a->tiles / 8, n, k));
	add(work, b, VSOC_SHADER_EARLY_Z_KILLED, vsoc_share(a->quads / 8, n, k));
	warp_instructions(work, k, thread, vw + fw);
	add_secondary(work, b, VSOC_SHADER_SECONDARY_THREADS, vt + ft);
	thread_instructions(work, k, thread, vt + ft);
	add(work, b, VSOC_SHADER_LS_READ, vsoc_share(a->vertex_lines, n, k));
	add(work, b, VSOC_SHADER_LS_WRITE, vsoc_share(a->vertex_lines, n, k));
	add(work, b, VSOC_SHADER_LS_READ_BEATS, LINE_BEATS * vsoc_share(a->vertex_lines, n, k));
	add(work, b, VSOC_SHADER_LS_WRITE_BEATS,
	    LINE_BEATS * vsoc_share(a->vertex_lines, n, k));
	add(work, b, VSOC_SHADER_TEX_SAMPLES, texels);
	add(work, b, VSOC_SHADER_TEX_READ_BEATS, LINE_BEATS * vsoc_share(a->texel_lines, n, k));
	add(work, b, VSOC_SHADER_TILE_WRITE_BEATS,
	    LINE_BEATS * vsoc_share(a->pixel_lines, n, k));
	add_tertiary(work, b, VSOC_SHADER_TERTIARY_FRAGMENTS_KILLED,
		     ft - vsoc_share(a->pixels, n, k));
	add_tertiary(work, b, VSOC_SHADER_TERTIARY_QUADS_LATE_Z,
		     vsoc_share(a->quads, n, k) - vsoc_share(a->quads / 8, n, k));
	add_tertiary(work, b, VSOC_SHADER_TERTIARY_TILES_WRITTEN,
		     vsoc_share(a->tiles, n, k) - vsoc_share(a->tiles / 8, n, k));
	add_tertiary(work, b, VSOC_SHADER_TERTIARY_TEX_LINES, vsoc_share(a->texel_lines, n, k));
	add_tertiary(work, b, VSOC_SHADER_TERTIARY_TILE_LINES,
		     vsoc_share(a->pixel_lines, n, k));
	add(work, b, VSOC_SHADER_FRAGMENT_INSTR, DRAW_INSTRUCTIONS * fw);
	add(work, b, VSOC_SHADER_COMPUTE_INSTR, DRAW_INSTRUCTIONS * vw);
}

static u64 draw(struct vsoc_work *work, const struct drm_vsoc_cmd_draw *d)
{
	const struct vsoc_thread thread = vsoc_rules_mix(DRAW_INSTRUCTIONS);
	const struct draw_amounts a = draw_amounts(d);
	const u32 n = work->shape->assigned_cores;
	const u64 warp_cycles = WARP_INSTRUCTION_CYCLES * DRAW_INSTRUCTIONS;
	const struct vsoc_traffic heap = heap_traffic(work);
	const struct l2_load load = {
		.read_tiler = a.index_lines,
		.read_shader = a.vertex_lines + a.texel_lines,
		.write = a.bin_lines + a.vertex_lines + a.pixel_lines,
	};
	u64 vertex_ns, fragment_ns, memory_ns;

	draw_tiler(work, d, &a);
	for (u32 k = 0; k < n; k++)
		draw_core(work, d, &a, &thread, n, k);
	divergence(work, d->vertices, DRAW_INSTRUCTIONS);
	divergence(work, d->fragments, DRAW_INSTRUCTIONS);

	vertex_ns = max(COREGROUP_NS(a.tiler_cycles),
			SHADER_NS(warp_cycles * div_up(a.vertex_warps, n)));
	fragment_ns = SHADER_NS(max(warp_cycles * div_up(a.fragment_warps, n),
				    div_up(d->texels, n)));
	memory_ns = memsys(work, &load, &heap);

	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 12);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_JOBS, !!d->vertices + !!d->fragments);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_VERTEX_JOBS, !!d->vertices);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_FRAGMENT_JOBS, !!d->fragments);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_VERTEX_QUEUE_ACTIVE, vertex_ns);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_FRAGMENT_QUEUE_ACTIVE, fragment_ns);

	return max(vertex_ns + fragment_ns, memory_ns);
}

static u64 compute(struct vsoc_work *work, const struct drm_vsoc_cmd_compute *c,
		   const struct vsoc_thread *listed)
{
	const struct vsoc_thread thread = listed ? *listed : vsoc_rules_mix(c->instructions);
	const u64 warps = div_up(c->threads, WARP_THREADS);
	const u32 n = work->shape->assigned_cores;
	const struct vsoc_traffic heap = heap_traffic(work);
	const struct l2_load load = {
		.read_shader = warps * thread.loads,
		.write = warps * thread.stores,
	};
	u64 compute_ns, counting_ns = 0;

	for (u32 k = 0; k < n; k++) {
		const u16 b = shader_block(work, k);
		const u64 w = vsoc_share(warps, n, k);
		const u64 t = vsoc_share(c->threads, n, k);
		const u64 cycles = WARP_INSTRUCTION_CYCLES * w * issued(&thread);

		add(work, b, VSOC_SHADER_CORE_ACTIVE, cycles);
		add(work, b, VSOC_SHADER_COMPUTE_ACTIVE, cycles);
		add(work, b, VSOC_SHADER_COMPUTE_WARPS, w);
		add(work, b, VSOC_SHADER_COMPUTE_THREADS, t);
		warp_instructions(work, k, &thread, w);
		add_secondary(work, b, VSOC_SHADER_SECONDARY_THREADS, t);
		counting_ns = max(counting_ns, kernel_instructions(work, k, &thread, t));
		add(work, b, VSOC_SHADER_LS_READ, w * thread.loads);
		add(work, b, VSOC_SHADER_LS_WRITE, w * thread.stores);
		add(work, b, VSOC_SHADER_LS_READ_BEATS, LINE_BEATS * w * thread.loads);
		add(work, b, VSOC_SHADER_LS_WRITE_BEATS, LINE_BEATS * w * thread.stores);
		add(work, b, VSOC_SHADER_COMPUTE_INSTR, w * executed(&thread));
	}
	divergence(work, c->threads, executed(&thread));

	/* an empty warp takes the time of one instruction */
	compute_ns = SHADER_NS(WARP_INSTRUCTION_CYCLES * div_up(warps, n) *
			       max_t(u64, issued(&thread), 1));

	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 8);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_JOBS, 1);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_COMPUTE_JOBS, 1);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_COMPUTE_QUEUE_ACTIVE, compute_ns);

	return max3(compute_ns, counting_ns, memsys(work, &load, &heap));
}

/* the fabric snoops each L2 slice for the lines of a copy whose home is this GPU */
static void snoops(struct vsoc_work *work, u64 lines)
{
	const u32 n = work->shape->l2_slices;

	for (u32 k = 0; k < n; k++) {
		u64 part = vsoc_share(lines, n, k);

		add(work, memsys_block(k), VSOC_MEMSYS_SNOOPS, part);
		add(work, memsys_block(k), VSOC_MEMSYS_SNOOP_HITS, part / 8);
	}
}

/* time in which @lines are issued at @rate bytes per second, or at the fabric's */
static u64 issue_ns(u64 lines, u64 rate)
{
	return mul_u64_u64_div_u64(lines * DRM_VSOC_LINE_BYTES, NSEC_PER_SEC, rate ?: FABRIC_HZ);
}

static u64 copy(struct vsoc_work *work, const struct drm_vsoc_cmd_copy *c)
{
	static const u8 ops[] = { MEMSIM_READ, MEMSIM_WRITE, MEMSIM_ATOMIC, MEMSIM_DATALESS };
	const u64 lines = c->bytes / DRM_VSOC_LINE_BYTES;
	const u64 reads = c->flags & DRM_VSOC_COPY_READ ? lines : 0;
	const u64 writes = c->flags & DRM_VSOC_COPY_WRITE ? lines : 0;
	struct vsoc_traffic t = {
		.kind = VSOC_TRAFFIC_MEM,
		.initiator = c->initiator,
		.home = c->home,
		.socket = c->socket,
		.gpu = c->gpu,
		.address = c->address,
		.window = c->window,
		.engine = work->lane,
	};

	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 6);

	if (c->initiator == DRM_VSOC_INITIATOR_GPU && !work->lane) {
		const struct l2_load load = {
			.read_transfer = reads,
			.write_transfer = writes,
		};

		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_JOBS, 1);
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_TRANSFER_JOBS, 1);
		return max(memsys(work, &load, &t),
			   c->rate ? issue_ns(reads + writes, c->rate) : 0);
	}

	if (c->home == DRM_VSOC_HOME_GMEM)
		snoops(work, reads + writes);
	if (!t.window)
		t.window = VSOC_WINDOW;
	for (u32 i = 0; lines && i < ARRAY_SIZE(ops); i++) {
		if (!(c->flags & BIT(i)))
			continue;
		t.op = ops[i];
		add_traffic(work, &t, lines);
	}
	return issue_ns(lines * work->stream_count, c->rate);
}

static u64 pcie(struct vsoc_work *work, const struct drm_vsoc_cmd_pcie *p)
{
	const bool target = p->flags & DRM_VSOC_PCIE_TARGET;
	const struct vsoc_traffic t = {
		.kind = target ? VSOC_TRAFFIC_PCIE_TGT : VSOC_TRAFFIC_PCIE_SRC,
		.initiator = target ? p->initiator : DRM_VSOC_INITIATOR_NONCPU,
		.home = p->home,
		.op = p->flags & DRM_VSOC_PCIE_READ ? MEMSIM_READ : MEMSIM_WRITE,
		.socket = p->socket,
		.root_complex = p->root_complex,
		.root_port = p->root_port,
		.bdf = p->bdf,
		.address = p->address,
		.window = p->window ?: VSOC_WINDOW,
	};

	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 6);
	if (p->bytes)
		add_traffic(work, &t, p->bytes / DRM_VSOC_LINE_BYTES);
	return issue_ns(p->bytes / DRM_VSOC_LINE_BYTES, p->rate);
}

/* its streams get their lines from the core's bus */
static u64 core(struct vsoc_work *work, const struct drm_vsoc_cmd_core *c)
{
	struct vsoc_traffic t = {
		.kind = VSOC_TRAFFIC_MEM,
		.initiator = DRM_VSOC_INITIATOR_CPU,
		.home = DRM_VSOC_HOME_CMEM,
		.address = work->heap,
		.window = VSOC_WINDOW,
	};

	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 6);
	t.op = MEMSIM_READ;
	add_traffic(work, &t, 0);
	t.op = MEMSIM_WRITE;
	t.address += VSOC_HEAP_BYTES;
	add_traffic(work, &t, 0);
	work->elements = c->elements;
	return c->elements * ELEMENT_NS;
}

void vsoc_rules_command(struct vsoc_work *work, const struct drm_vsoc_command *cmd,
			const struct vsoc_thread *thread)
{
	u64 ns = 0;

	work_init(work);

	switch (cmd->type) {
	case DRM_VSOC_CMD_DRAW:
		ns = draw(work, &cmd->draw);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		ns = compute(work, &cmd->compute, thread);
		break;
	case DRM_VSOC_CMD_COPY:
		ns = copy(work, &cmd->copy);
		break;
	case DRM_VSOC_CMD_PCIE:
		ns = pcie(work, &cmd->pcie);
		break;
	case DRM_VSOC_CMD_CORE:
		ns = core(work, &cmd->core);
		break;
	case DRM_VSOC_CMD_WAIT:
		ns = cmd->wait.duration_ns;
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 1);
		break;
	case DRM_VSOC_CMD_SAMPLE:
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 2);
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_SAMPLE_COMMANDS, 1);
		break;
	case DRM_VSOC_CMD_METHODS:
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, cmd->methods.count);
		break;
	case DRM_VSOC_CMD_MP_STORE:
		add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_INSTRUCTIONS, 2);
		break;
	}

	work->duration_ns = COMMAND_NS + ns;
	add(work, VSOC_BLOCK_FW, VSOC_FW_MCU_ACTIVE, COMMAND_MCU_CYCLES);
	add(work, VSOC_BLOCK_FW, VSOC_FW_MCU_SLEEP, work->duration_ns - COMMAND_MCU_CYCLES);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_GPU_ACTIVE, work->duration_ns);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_ACTIVE, COMMAND_CS_CYCLES);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_WAIT, work->duration_ns - COMMAND_CS_CYCLES);
}

void vsoc_rules_job_start(struct vsoc_work *work, bool context_switch)
{
	work_init(work);
	work->duration_ns = JOB_START_MCU_CYCLES;
	add(work, VSOC_BLOCK_FW, VSOC_FW_MCU_ACTIVE, JOB_START_MCU_CYCLES);
	add(work, VSOC_BLOCK_FW, VSOC_FW_SCHED_TICKS, 1);
	add(work, VSOC_BLOCK_FW, VSOC_FW_JOBS_STARTED, 1);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_GPU_ACTIVE, JOB_START_MCU_CYCLES);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_SYNC_WAITS, context_switch);
}

void vsoc_rules_job_end(struct vsoc_work *work, bool faulted)
{
	work_init(work);
	work->duration_ns = JOB_END_MCU_CYCLES;
	add(work, VSOC_BLOCK_FW, VSOC_FW_MCU_ACTIVE, JOB_END_MCU_CYCLES);
	add(work, VSOC_BLOCK_FW, VSOC_FW_HOST_INTERRUPTS, 1);
	add(work, VSOC_BLOCK_FW, faulted ? VSOC_FW_JOBS_FAULTED : VSOC_FW_JOBS_DONE, 1);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_GPU_ACTIVE, JOB_END_MCU_CYCLES);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_CACHE_FLUSHES, 1);
	add(work, VSOC_BLOCK_CSHW, VSOC_CSHW_SYNC_SETS, 1);
}
