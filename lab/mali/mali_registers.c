// SPDX-License-Identifier: GPL-2.0
/*
 * The registers: each access is dispatched to a part of the model. The window lies at the address
 * of real memory, because userspace maps the flush ID page.
 */
#include <linux/bitfield.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "mali.h"
#include "mali_jm.h"
#include "mali_mcu.h"
#include "mali_regs.h"

/* what a job manager's GPU has elsewhere or else; Mesa has values for registers that are zero */
static u32 read_jm_identity(const struct mali_gpu *gpu, u32 offset)
{
	static const u32 js_features[MALI_JM_SLOTS] = { 0x20e, 0x1fe, 0x7e };

	switch (offset) {
	case MALI_CORE_FEATURES:
		return 2;
	case MALI_JS_PRESENT:
		return BIT(MALI_JM_SLOTS) - 1;
	case MALI_JS_FEATURES ... MALI_JS_FEATURES + 4 * (MALI_JM_SLOTS - 1):
		return js_features[(offset - MALI_JS_FEATURES) / 4];
	case MALI_JM_LATEST_FLUSH_ID:
		return gpu->flush_id;
	case MALI_THREAD_MAX_THREADS:
	case MALI_THREAD_MAX_WORKGROUP:
	case MALI_THREAD_MAX_BARRIER:
		return 256;
	}
	return 0;
}

/* values of the Mali-G610 in the RK3588, except where the model depends on the product */
static u32 read_identity(const struct mali_gpu *gpu, u32 offset)
{
	const struct mali_product *product = gpu->product;

	switch (offset) {
	case MALI_GPU_ID:
		return product->gpu_id;
	case MALI_L2_FEATURES:
		return 0x07120306;
	case MALI_TILER_FEATURES:
		return 0x809;
	case MALI_MEM_FEATURES:
		return (MALI_L2_SLICES - 1) << 8 | 1;
	case MALI_MMU_FEATURES:
		return 40 << 8 | 48;
	case MALI_AS_PRESENT:
		return 0xff;
	case MALI_TEXTURE_FEATURES:
		return 0xc1ffff9e;
	case MALI_TEXTURE_FEATURES + 4:
		return 0xffff;
	case MALI_TEXTURE_FEATURES + 8:
		return U32_MAX;
	case MALI_SHADER_PRESENT ... MALI_SHADER_PRESENT + 4:
		return mali_half(product->shader_present, offset);
	case MALI_TILER_PRESENT:
	case MALI_L2_PRESENT:
		return 1;
	case MALI_COHERENCY_FEATURES:
		/* ACE-Lite */
		return product->coherent;
	}
	if (gpu->jm)
		return read_jm_identity(gpu, offset);
	switch (offset) {
	case MALI_CSF_ID:
		return 0x040a0412;
	case MALI_THREAD_MAX_THREADS:
		return 2048;
	case MALI_THREAD_MAX_WORKGROUP:
	case MALI_THREAD_MAX_BARRIER:
		return 1024;
	case MALI_THREAD_FEATURES:
		return 0x04010000;
	}
	return 0;
}

static u32 read_gpu(struct mali_gpu *gpu, u32 offset)
{
	u32 value;

	if (gpu->jm && mali_jm_read(gpu, offset, &value))
		return value;
	switch (offset) {
	case MALI_CYCLE_COUNT ... MALI_CYCLE_COUNT + 4:
		return mali_half(mali_cycles_locked(gpu), offset);
	case MALI_TIMESTAMP ... MALI_TIMESTAMP + 4:
		return mali_half(mali_timestamp(), offset);
	case MALI_MCU_CONTROL:
		return gpu->mcu_control;
	case MALI_MCU_STATUS:
		return gpu->mcu_status;
	case MALI_FLUSH_ID:
		return gpu->flush_id;
	}
	return read_identity(gpu, offset);
}

static void gpu_command(struct mali_gpu *gpu, u32 command)
{
	switch (FIELD_GET(MALI_COMMAND_CODE, command)) {
	case MALI_COMMAND_NOP:
		break;
	case MALI_COMMAND_RESET:
		mali_mcu_kick(gpu, MALI_MCU_EVENT_RESET);
		break;
	case MALI_COMMAND_FLUSH:
		mali_flush_caches_locked(gpu);
		mali_irq_raise_locked(gpu, MALI_IRQ_GPU, MALI_GPU_IRQ_FLUSH_DONE);
		break;
	default:
		pr_debug("mali: unknown GPU command %#x\n", command);
	}
}

static void write_gpu(struct mali_gpu *gpu, u32 offset, u32 value)
{
	switch (offset) {
	case MALI_GPU_COMMAND:
		gpu_command(gpu, value);
		break;
	case MALI_MCU_CONTROL:
		gpu->mcu_control = value;
		mali_mcu_kick(gpu, MALI_MCU_EVENT_CONTROL);
		break;
	default:
		pr_debug("mali: write of %#x to register %#x has no effect\n", value, offset);
	}
}

static bool within(u32 offset, u32 first, u32 bytes)
{
	return offset >= first && offset - first < bytes;
}

/* the block of interrupt registers at @offset, or -1 */
static int irq_block(u32 offset)
{
	if (within(offset, MALI_GPU_IRQ, MALI_IRQ_BLOCK_BYTES))
		return MALI_IRQ_GPU;
	if (within(offset, MALI_JOB_IRQ, MALI_IRQ_BLOCK_BYTES))
		return MALI_IRQ_JOB;
	if (within(offset, MALI_MMU_IRQ, MALI_IRQ_BLOCK_BYTES))
		return MALI_IRQ_MMU;
	return -1;
}

#define POWER_BYTES	(MALI_POWER_ACTIVE + MALI_POWER_BANK_BYTES - MALI_POWER_READY)
#define AS_BYTES	(MALI_ADDRESS_SPACES * MALI_AS_BYTES)

u32 mali_register_read(struct mali_gpu *gpu, u32 offset)
{
	int irq = irq_block(offset);
	u32 value;

	guard(spinlock_irqsave)(&gpu->lock);
	if (irq >= 0)
		value = mali_irq_read(gpu, irq, offset % MALI_IRQ_BLOCK_BYTES);
	else if (within(offset, MALI_POWER_READY, POWER_BYTES))
		value = mali_power_read(gpu, offset);
	else if (within(offset, MALI_AS, AS_BYTES))
		value = mali_as_read(gpu, offset - MALI_AS);
	else
		value = read_gpu(gpu, offset);
	return value;
}

void mali_register_write(struct mali_gpu *gpu, u32 offset, u32 value)
{
	int irq = irq_block(offset);

	/* a doorbell orders earlier writes of the host to memory; takes no lock */
	if (offset >= MALI_DOORBELL && gpu->mcu) {
		mali_mcu_doorbell(gpu, (offset - MALI_DOORBELL) / MALI_DOORBELL_BYTES);
		return;
	}
	guard(spinlock_irqsave)(&gpu->lock);
	if (gpu->jm && mali_jm_write(gpu, offset, value))
		return;
	if (irq >= 0)
		mali_irq_write(gpu, irq, offset % MALI_IRQ_BLOCK_BYTES, value);
	else if (within(offset, MALI_POWER_READY, POWER_BYTES))
		mali_power_write(gpu, offset, value);
	else if (within(offset, MALI_AS, AS_BYTES))
		mali_as_write(gpu, offset - MALI_AS, value);
	else if (gpu->mcu)
		write_gpu(gpu, offset, value);
	if (gpu->jm && within(offset, MALI_AS, AS_BYTES))
		mali_jm_retry_locked(gpu, (offset - MALI_AS) / MALI_AS_BYTES);
}

/* --- the window ---------------------------------------------------------- */

#define WINDOW_ORDER	get_order(MALI_WINDOW_BYTES)
/* up to 256 MiB of the resource tree are taken, and pages come at random addresses */
#define ATTEMPTS	130

/* the region can never be removed, so the module cannot be unloaded */
int __init mali_window_init(struct mali_gpu *gpu)
{
	static struct page *tried[ATTEMPTS] __initdata;
	int err = -ENOMEM;
	int i, n = 0;

	while (err && n < ATTEMPTS) {
		struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, WINDOW_ORDER);

		if (!pages)
			break;
		gpu->window = (struct resource) {
			.name = "mali",
			.start = page_to_phys(pages),
			.end = page_to_phys(pages) + MALI_WINDOW_BYTES - 1,
			.flags = IORESOURCE_MEM,
		};
		err = mali_host_add_window(gpu);
		if (err)
			tried[n++] = pages;
		else
			gpu->window_pages = pages;
	}
	for (i = 0; i < n; i++)
		__free_pages(tried[i], WINDOW_ORDER);
	if (err)
		return err;
	*(u32 *)(page_address(gpu->window_pages) + MALI_FLUSH_ID) = gpu->flush_id;
	__module_get(THIS_MODULE);
	return 0;
}
