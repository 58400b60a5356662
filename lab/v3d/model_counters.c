// SPDX-License-Identifier: GPL-2.0
/*
 * The 32 counter slots, of 32 bits each, and the truth: what happened since the module was loaded,
 * counted or not.
 *
 * A slot counts while its bit in EN is set, and keeps its value while it is not. CLR zeroes slots;
 * on 7.1 only those that are enabled. An overflow sets the slot's bit in OVERFLOW and wraps.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "v3d_model.h"

/* an event's numbers in the two versions; -1: it does not have it */
struct row {
	const char *name;	/* as the driver names it */
	enum v3d_event event;
	s16 number42, number71;
};

static const struct row rows[] = {
	{ "cycle-count", V3D_CYCLES, 32, 0 },
	{ "core-active", V3D_CORE_ACTIVE, -1, 1 },
	{ "CLE-bin-thread-active-cycles", V3D_BIN_ACTIVE, 28, 2 },
	{ "CLE-render-thread-active-cycles", V3D_RENDER_ACTIVE, 29, 3 },
	{ "compute-active-cycles", V3D_COMPUTE_ACTIVE, 86, 4 },
	{ "PTB-primitives-binned", V3D_PRIMITIVES, 35, 16 },
	{ "TLB-quads-written-to-color-buffer", V3D_QUADS, 9, 12 },
	{ "AXI-writes-seen-watch-0", V3D_WRITES, 36, 50 },
	{ "AXI-reads-seen-watch-0", V3D_READS, 37, 51 },
	{ "AXI-write-bytes-seen-watch-0", V3D_WRITE_BYTES, 40, 54 },
	{ "AXI-read-bytes-seen-watch-0", V3D_READ_BYTES, 41, 55 },
	/* nothing programs the watches, so both see all */
	{ "AXI-writes-seen-watch-1", V3D_WRITES, 42, 56 },
	{ "AXI-reads-seen-watch-1", V3D_READS, 43, 57 },
	{ "AXI-write-bytes-seen-watch-1", V3D_WRITE_BYTES, 46, 60 },
	{ "AXI-read-bytes-seen-watch-1", V3D_READ_BYTES, 47, 61 },
	{ "AXI-max-outstanding-reads", V3D_MAX_READS, -1, 79 },
	{ "AXI-max-outstanding-writes", V3D_MAX_WRITES, -1, 80 },
};

static s16 number_of(const struct v3d_gpu *gpu, const struct row *row)
{
	return gpu->version < 71 ? row->number42 : row->number71;
}

static s8 event_of(const struct v3d_gpu *gpu, u8 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (number_of(gpu, &rows[i]) == number)
			return rows[i].event;
	return -1;
}

/* --- counting -------------------------------------------------------------- */

static bool is_gauge(enum v3d_event event)
{
	return event == V3D_MAX_READS || event == V3D_MAX_WRITES;
}

static void add(struct v3d_gpu *gpu, unsigned int slot, u64 count)
{
	u64 sum = gpu->value[slot] + count;

	gpu->value[slot] = sum;
	if (sum <= U32_MAX)
		return;
	gpu->core[V3D_PCTR_OVERFLOW / 4] |= BIT(slot);
	v3d_raise_locked(gpu, V3D_CORE, V3D_INT_PCTR(gpu->version));
}

/* cycles are those of the clock, other events count @scale times */
void v3d_count_locked(struct v3d_gpu *gpu, enum v3d_event event, u64 count)
{
	unsigned long enabled = gpu->core[V3D_PCTR_EN / 4];
	unsigned int slot;

	if (is_gauge(event)) {
		gpu->truth[event] = max(gpu->truth[event], count);
		for_each_set_bit(slot, &enabled, V3D_PCTR_SLOTS)
			if (gpu->event[slot] == event)
				gpu->value[slot] = max_t(u64, gpu->value[slot], count);
		return;
	}
	if (event != V3D_CYCLES)
		count *= gpu->scale;
	gpu->truth[event] += count;
	for_each_set_bit(slot, &enabled, V3D_PCTR_SLOTS)
		if (gpu->event[slot] == event)
			add(gpu, slot, count);
}

void v3d_clock_update_locked(struct v3d_gpu *gpu)
{
	u64 now_ns = ktime_get_ns();
	u64 parts;
	u32 rest;

	if (v3d_is_powered(gpu)) {
		parts = gpu->part_ns + (now_ns - gpu->clock_ns) * gpu->mhz;
		v3d_count_locked(gpu, V3D_CYCLES, div_u64_rem(parts, 1000, &rest));
		gpu->part_ns = rest;
	}
	gpu->clock_ns = now_ns;
}

/* --- registers ------------------------------------------------------------- */

u32 v3d_counter_read(struct v3d_gpu *gpu, u32 offset)
{
	v3d_clock_update_locked(gpu);
	if (offset < V3D_PCTR)
		return gpu->core[offset / 4];
	return gpu->value[(offset - V3D_PCTR) / 4];
}

static void clear(struct v3d_gpu *gpu, unsigned long slots)
{
	unsigned int slot;

	if (gpu->version >= 71)
		slots &= gpu->core[V3D_PCTR_EN / 4];
	for_each_set_bit(slot, &slots, V3D_PCTR_SLOTS)
		gpu->value[slot] = 0;
}

static void set_source(struct v3d_gpu *gpu, unsigned int slot, u32 numbers)
{
	const u32 mask = gpu->version < 71 ? 0x7f : 0xff;

	for (int i = 0; i < 4; i++)
		gpu->event[slot + i] = event_of(gpu, numbers >> 8 * i & mask);
}

void v3d_counter_write(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	v3d_clock_update_locked(gpu);
	switch (offset) {
	case V3D_PCTR_CLR:
		clear(gpu, value);
		break;
	case V3D_PCTR_OVERFLOW:
		gpu->core[offset / 4] &= ~value;
		break;
	case V3D_PCTR_EN:
		gpu->core[offset / 4] = value;
		break;
	case V3D_PCTR_SRC ... V3D_PCTR_SRC + V3D_PCTR_SLOTS - 1:
		gpu->core[offset / 4] = value;
		set_source(gpu, offset - V3D_PCTR_SRC, value);
		break;
	}
}

/* the caller zeroes the registers */
void v3d_counters_reset_locked(struct v3d_gpu *gpu)
{
	v3d_clock_update_locked(gpu);
	memset(gpu->value, 0, sizeof(gpu->value));
	for (unsigned int slot = 0; slot < V3D_PCTR_SLOTS; slot += 4)
		set_source(gpu, slot, 0);
}

/* --- truth ----------------------------------------------------------------- */

static int truth_show(struct seq_file *file, void *unused)
{
	struct v3d_gpu *gpu = file->private;
	u64 truth[V3D_EVENTS];

	scoped_guard(spinlock_irqsave, &gpu->lock) {
		v3d_clock_update_locked(gpu);
		memcpy(truth, gpu->truth, sizeof(truth));
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (number_of(gpu, &rows[i]) >= 0)
			seq_printf(file, "%s %llu\n", rows[i].name, truth[rows[i].event]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(truth);

void v3d_counters_init(struct v3d_gpu *gpu)
{
	debugfs_create_file("truth", 0444, gpu->debugfs, gpu, &truth_fops);
}
