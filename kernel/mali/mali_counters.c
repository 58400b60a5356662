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
#include "mali_regs.h"

void mali_count_locked(struct mali_gpu *gpu, u32 block, u32 counter, u64 amount)
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
	mali_count_locked(gpu, block, counter, amount);
}

/* architecture 13 moved the job counters */
void mali_count_job(struct mali_gpu *gpu, enum mali_job_counter job, u64 amount)
{
	static const u8 positions[2][4] = { { 17, 25, 33, 34 }, { 65, 33, 49, 50 } };

	mali_count(gpu, MALI_BLOCK_CSHW, positions[mali_arch(gpu) >= 13][job], amount);
}

/*
 * Bit mask of the positions below 64 whose counts are valid, unimplemented ones included. Work
 * takes no time in the model, so its active cycles are zero. All other positions depend on
 * shaders, caches or culling, and are not valid.
 */
u64 mali_counters_modelled(const struct mali_gpu *gpu, u32 block)
{
	/* a header without any valid position looks corrupt */
	if (block == MALI_BLOCK_FW)
		return GENMASK_ULL(3, 0);
	if (block == MALI_BLOCK_CSHW && mali_arch(gpu) >= 13)
		return GENMASK_ULL(15, 0) | GENMASK_ULL(51, 48);
	if (block == MALI_BLOCK_CSHW)
		return GENMASK_ULL(17, 0) | GENMASK_ULL(25, 24) | GENMASK_ULL(35, 32);
	/* architecture 13 counts partial warps beside position tasks */
	if (block == MALI_BLOCK_TILER)
		return GENMASK_ULL(7, 0) | (mali_arch(gpu) < 13 ? GENMASK_ULL(23, 20) : 0);
	if (block < mali_block_shader(0))
		return GENMASK_ULL(11, 0);
	if (block >= mali_block_csg(gpu, 0))
		return GENMASK_ULL(7, 0);
	return GENMASK_ULL(3, 0) | GENMASK_ULL(19, 18) | GENMASK_ULL(23, 22);
}

/* distributes @amount over the cores round-robin */
void mali_count_cores(struct mali_gpu *gpu, u32 counter, u64 amount)
{
	const u32 cores = hweight64(gpu->product->shader_present);
	struct mali_counters *counters = gpu->counters;
	const u64 each = amount / cores;
	u32 i, rest = amount % cores;

	guard(spinlock_irqsave)(&gpu->lock);
	for (i = 0; i < cores; i++) {
		u32 core = (counters->next_core + i) % cores;

		mali_count_locked(gpu, mali_block_shader(core), counter, each + (i < rest));
	}
	counters->next_core = (counters->next_core + rest) % cores;
}

void mali_count_cycles_locked(struct mali_gpu *gpu, u64 cycles)
{
	bool irq = false;

	mali_count_locked(gpu, MALI_BLOCK_CSHW, MALI_CSHW_GPU_ACTIVE, cycles);
	if (gpu->mcu_status == MALI_MCU_STATUS_ENABLED)
		mali_count_locked(gpu, MALI_BLOCK_CSHW, MALI_CSHW_MCU_ACTIVE, cycles);
	for (int i = 0; i < MALI_IRQS; i++)
		irq |= gpu->irq[i].rawstat & gpu->irq[i].mask;
	if (irq)
		mali_count_locked(gpu, MALI_BLOCK_CSHW, MALI_CSHW_GPU_IRQ_ACTIVE, cycles);
}

/* a walk that ended at @level; the model has one MMU, counted in the first slice */
void mali_count_walk_locked(struct mali_gpu *gpu, unsigned int level)
{
	mali_count_locked(gpu, MALI_BLOCK_MEMSYS, MALI_MEMSYS_MMU_REQUESTS, 1);
	mali_count_locked(gpu, MALI_BLOCK_MEMSYS, MALI_MEMSYS_TABLE_READS_L2, 1);
	if (level == 3)
		mali_count_locked(gpu, MALI_BLOCK_MEMSYS, MALI_MEMSYS_TABLE_READS_L3, 1);
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
	gpu->cycles += cycles;
	gpu->clock_ns = now;
	mali_count_cycles_locked(gpu, cycles);
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
	static const char * const names[] = { "fw", "cshw", "tiler", "memsys", "shader", "csg" };
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
