// SPDX-License-Identifier: GPL-2.0
/*
 * The counter registers of the hardware, and their 64-bit truth in debugfs; clock and timestamp.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include "mali_counters.h"
#include "mali_jm.h"
#include "mali_regs.h"

/* where the hardware counts, by the layout of its blocks */
static const struct layout {
	u8 position[MALI_EVENTS];	/* 0: the hardware does not count it */
	/*
	 * Bit mask of the positions below 64 whose counts are valid, unimplemented ones included,
	 * for firmware, front end, tiler, memory system, cores. Work takes no time in the model, so
	 * its active cycles are zero; no shader runs, so nothing is killed. All other positions
	 * depend on shaders, caches or culling, and are not valid.
	 */
	u64 modelled[5];
} layouts[] = {
	[MALI_LAYOUT_CSF10] = {
		{ 4, 5, 10, 11, 7, 13, 17, 25, 33, 34, 0, 6, 7, 8, 21, 4, 6, 5, 18, 23 },
		/* a header without any valid position looks corrupt */
		{ GENMASK_ULL(3, 0),
		  GENMASK_ULL(17, 0) | GENMASK_ULL(25, 24) | GENMASK_ULL(35, 32),
		  GENMASK_ULL(7, 0) | GENMASK_ULL(23, 20), GENMASK_ULL(11, 0),
		  GENMASK_ULL(3, 0) | GENMASK_ULL(19, 18) | GENMASK_ULL(23, 22) },
	},
	/* moved the job counters; counts partial warps beside position tasks */
	[MALI_LAYOUT_CSF13] = {
		{ 4, 5, 10, 11, 7, 13, 65, 33, 49, 50, 0, 6, 7, 8, 21, 4, 6, 5, 18, 23 },
		{ GENMASK_ULL(3, 0), GENMASK_ULL(15, 0) | GENMASK_ULL(51, 48), GENMASK_ULL(7, 0),
		  GENMASK_ULL(11, 0),
		  GENMASK_ULL(3, 0) | GENMASK_ULL(19, 18) | GENMASK_ULL(23, 22) },
	},
	[MALI_LAYOUT_V4] = {
		{ 4, 0, 5, 0, 0, 0, 9, 9, 6, 7, 10, 4, 8, 7, 0, 0, 0, 0, 15, 18 },
		{ 0, GENMASK_ULL(15, 0), GENMASK_ULL(7, 0), GENMASK_ULL(3, 0),
		  GENMASK_ULL(3, 0) | GENMASK_ULL(15, 12) },
	},
	[MALI_LAYOUT_V5] = {
		{ 6, 0, 7, 0, 0, 0, 16, 16, 8, 9, 17, 4, 8, 7, 0, 9, 8, 0, 20, 23 },
		{ 0, GENMASK_ULL(31, 0), GENMASK_ULL(7, 0), GENMASK_ULL(11, 0),
		  GENMASK_ULL(3, 0) | GENMASK_ULL(23, 20) },
	},
	[MALI_LAYOUT_V6] = {
		{ 6, 0, 7, 0, 0, 63, 16, 16, 8, 9, 17, 6, 7, 8, 21, 4, 6, 5, 18, 23 },
		{ 0, GENMASK_ULL(31, 0) | GENMASK_ULL(63, 60),
		  GENMASK_ULL(7, 0) | GENMASK_ULL(23, 20), GENMASK_ULL(11, 0),
		  GENMASK_ULL(3, 0) | GENMASK_ULL(23, 16) },
	},
};

static void count_locked(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount)
{
	struct mali_counters *counters = gpu->counters;
	size_t i = block * counters->words + counter;

	lockdep_assert_held(&gpu->lock);
	counters->reg[i] += amount;
	counters->truth[i] += amount;
}

void mali_count(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount)
{
	guard(spinlock_irqsave)(&gpu->lock);
	count_locked(gpu, block, counter, amount);
}

/* distributes @amount over the cores round-robin */
static void count_cores_locked(struct mali_gpu *gpu, u32 counter, u64 amount)
{
	const u32 cores = hweight64(gpu->product->shader_present);
	struct mali_counters *counters = gpu->counters;
	const u64 each = amount / cores;
	u32 i, rest = amount % cores;

	for (i = 0; i < cores; i++) {
		u32 core = (counters->next_core + i) % cores;

		count_locked(gpu, mali_block_shader(core), counter, each + (i < rest));
	}
	counters->next_core = (counters->next_core + rest) % cores;
}

void mali_event_locked(struct mali_gpu *gpu, enum mali_event event, u64 amount)
{
	const u8 position = layouts[gpu->product->layout].position[event];

	if (!position)
		return;
	if (event >= MALI_FRAGMENT_TILES)
		count_cores_locked(gpu, position, amount);
	else if (event >= MALI_MMU_REQUESTS)
		count_locked(gpu, MALI_BLOCK_MEMSYS, position, amount);
	else if (event >= MALI_TRIANGLES)
		count_locked(gpu, MALI_BLOCK_TILER, position, amount);
	else
		count_locked(gpu, MALI_BLOCK_FRONT, position, amount);
}

void mali_event(struct mali_gpu *gpu, enum mali_event event, u64 amount)
{
	guard(spinlock_irqsave)(&gpu->lock);
	mali_event_locked(gpu, event, amount);
}

u64 mali_counters_modelled(const struct mali_gpu *gpu, u32 block)
{
	const u64 *modelled = layouts[gpu->product->layout].modelled;

	if (block >= mali_block_csg(gpu, 0))
		return GENMASK_ULL(7, 0);
	if (block >= mali_block_shader(0))
		return modelled[4];
	return modelled[min_t(u32, block, MALI_BLOCK_MEMSYS)];
}

static void count_cycles_locked(struct mali_gpu *gpu, u64 cycles)
{
	bool irq = false;

	mali_event_locked(gpu, MALI_GPU_ACTIVE, cycles);
	if (gpu->mcu_status == MALI_MCU_STATUS_ENABLED)
		mali_event_locked(gpu, MALI_MCU_ACTIVE, cycles);
	for (int i = 0; i < MALI_IRQS; i++)
		irq |= gpu->irq[i].rawstat & gpu->irq[i].mask;
	if (irq)
		mali_event_locked(gpu, MALI_IRQ_ACTIVE, cycles);
}

/* a walk that ended at @level */
void mali_count_walk_locked(struct mali_gpu *gpu, unsigned int level)
{
	mali_event_locked(gpu, MALI_MMU_REQUESTS, 1);
	mali_event_locked(gpu, MALI_TABLE_READS_L2, 1);
	if (level == 3)
		mali_event_locked(gpu, MALI_TABLE_READS_L3, 1);
}

/* --- clock --------------------------------------------------------------- */

/* accounts the elapsed time; call before frequency or power changes */
void mali_clock_update_locked(struct mali_gpu *gpu)
{
	u64 now = ktime_get_ns();
	u64 cycles = 0;

	lockdep_assert_held(&gpu->lock);
	if (gpu->powered[MALI_DOMAIN_L2])
		cycles = mul_u64_u64_div_u64(now - gpu->clock_ns, gpu->core_hz, NSEC_PER_SEC);
	/* leave a fraction of a cycle for the next call */
	if (gpu->powered[MALI_DOMAIN_L2] && !cycles)
		return;
	if (!gpu->jm || gpu->jm->cycle_count)
		gpu->cycles += cycles;
	gpu->clock_ns = now;
	count_cycles_locked(gpu, cycles);
}

void mali_clock_set(struct mali_gpu *gpu, unsigned long hz)
{
	guard(spinlock_irqsave)(&gpu->lock);
	mali_clock_update_locked(gpu);
	gpu->core_hz = hz;
}

u64 mali_cycles_locked(struct mali_gpu *gpu)
{
	mali_clock_update_locked(gpu);
	return gpu->cycles;
}

u64 mali_cycles(struct mali_gpu *gpu)
{
	guard(spinlock_irqsave)(&gpu->lock);
	return mali_cycles_locked(gpu);
}

u64 mali_timestamp(void)
{
	return mul_u64_u64_div_u64(ktime_get_raw_ns(), MALI_TIMESTAMP_HZ, NSEC_PER_SEC);
}

/* --- set-up and debugfs -------------------------------------------------- */

/* the number of the @n-th core that is present */
static u32 core_number(const struct mali_gpu *gpu, u32 n)
{
	u64 cores = gpu->product->shader_present;

	while (n--)
		cores &= cores - 1;
	return __ffs64(cores);
}

static int truth_show(struct seq_file *file, void *unused)
{
	struct mali_gpu *gpu = file->private;
	const char * const names[] = {
		"fw", gpu->jm ? "jm" : "cshw", "tiler", "memsys", "shader", "csg",
	};
	struct mali_counters *counters = gpu->counters;

	for (u32 block = 0; block < counters->blocks; block++) {
		for (u32 counter = MALI_COUNTER_HEADER; counter < counters->words; counter++) {
			u32 index = 0, name = min(block, 3u);
			u64 truth;

			scoped_guard(spinlock_irqsave, &gpu->lock)
				truth = counters->truth[block * counters->words + counter];
			if (block >= mali_block_csg(gpu, 0)) {
				name = 5;
				index = block - mali_block_csg(gpu, 0);
			} else if (block >= mali_block_shader(0)) {
				name = 4;
				index = core_number(gpu, block - mali_block_shader(0));
			} else if (block >= MALI_BLOCK_MEMSYS) {
				index = block - MALI_BLOCK_MEMSYS;
			}
			if (truth)
				seq_printf(file, "%s %u %u %llu\n", names[name], index, counter,
					   truth);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(truth);

int mali_counters_init(struct mali_gpu *gpu)
{
	struct mali_counters *counters =
		devm_kzalloc(gpu->model, sizeof(*counters), GFP_KERNEL);
	size_t number;

	if (!counters)
		return -ENOMEM;
	counters->blocks = mali_block_csg(gpu, MALI_GROUPS);
	counters->words = gpu->product->counters_per_block;
	number = counters->blocks * counters->words;
	counters->reg = devm_kcalloc(gpu->model, number, sizeof(*counters->reg), GFP_KERNEL);
	counters->truth = devm_kcalloc(gpu->model, number, sizeof(*counters->truth), GFP_KERNEL);
	gpu->counters = counters;
	if (!counters->reg || !counters->truth)
		return -ENOMEM;
	debugfs_create_file("truth", 0444, gpu->debugfs, gpu, &truth_fops);
	return 0;
}
