// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces: their registers, page-table walks, accesses to the host's memory.
 *
 * Tables are those of Arm's LPAE, stage 1, 4 KiB granule. There is no TLB: each access walks the
 * table, so a flush has nothing to do. A locked region stalls no access.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/string.h>

#include "mali.h"
#include "mali_counters.h"
#include "mali_regs.h"

#define TABLE_LEVELS		4
#define TABLE_BITS		9
#define LAST_LEVEL		(TABLE_LEVELS - 1)
#define GRANULE_SHIFT		12

#define ENTRY_VALID		BIT_ULL(0)
#define ENTRY_TABLE		BIT_ULL(1)	/* on the last level: a page */
#define ENTRY_READ_ONLY		BIT_ULL(7)
#define ENTRY_ACCESS_FLAG	BIT_ULL(10)
#define ENTRY_ADDRESS		GENMASK_ULL(47, 12)

/* where TRANSTAB has the form; every leaf has the type of a block */
#define TRANSTAB_BITS		48
#define TRANSTAB_READ		BIT_ULL(6)
#define TRANSTAB_WRITE		BIT_ULL(7)

#define INPUT_BITS_BASE		55

/* --- registers ----------------------------------------------------------- */

static u64 reg64(const struct mali_as *as, u32 offset)
{
	return (u64)as->reg[offset / 4 + 1] << 32 | as->reg[offset / 4];
}

static u64 config_of(const struct mali_as *as)
{
	u64 config = reg64(as, MALI_AS_TRANSCFG);

	if (config)
		return config;
	switch (FIELD_GET(MALI_TRANSTAB_MODE, reg64(as, MALI_AS_TRANSTAB))) {
	case MALI_TRANSTAB_IDENTITY:
		return MALI_MODE_IDENTITY;
	case MALI_TRANSTAB_TABLE:
		return MALI_MODE_TRANSTAB;
	}
	return MALI_MODE_UNMAPPED;
}

u32 mali_as_read(struct mali_gpu *gpu, u32 offset)
{
	/* STATUS and COMMAND are always zero, as commands finish at once */
	return gpu->as[offset / MALI_AS_BYTES].reg[offset % MALI_AS_BYTES / 4];
}

void mali_as_write(struct mali_gpu *gpu, u32 offset, u32 value)
{
	struct mali_as *as = &gpu->as[offset / MALI_AS_BYTES];

	offset %= MALI_AS_BYTES;
	switch (offset) {
	case MALI_AS_COMMAND:
		as->commands++;
		if (value == MALI_AS_COMMAND_UPDATE) {
			as->root = reg64(as, MALI_AS_TRANSTAB) & ENTRY_ADDRESS;
			as->config = config_of(as);
		} else if (value == MALI_AS_COMMAND_FLUSH_MEM ||
			   value == MALI_AS_COMMAND_FLUSH_PT) {
			mali_event_locked(gpu, MALI_MMU_FLUSHES, 1);
		}
		break;
	case MALI_AS_TRANSTAB ... MALI_AS_LOCKADDR + 4:
	case MALI_AS_TRANSCFG ... MALI_AS_TRANSCFG + 4:
		as->reg[offset / 4] = value;
		break;
	}
}

void mali_as_reset_locked(struct mali_gpu *gpu)
{
	memset(gpu->as, 0, sizeof(gpu->as));
	for (unsigned int i = 0; i < MALI_ADDRESS_SPACES; i++)
		gpu->as[i].config = MALI_MODE_UNMAPPED;
}

/* --- translation --------------------------------------------------------- */

static u32 fault_of_leaf(const struct mali_as *as, u64 entry, u32 access)
{
	if (FIELD_GET(MALI_TRANSCFG_MODE, as->config) == MALI_MODE_TRANSTAB)
		return entry & (access == MALI_AS_ACCESS_WRITE ? TRANSTAB_WRITE : TRANSTAB_READ) ?
		       0 : MALI_EXCEPTION_PERMISSION;
	if (!(entry & ENTRY_ACCESS_FLAG) && !(as->config & MALI_TRANSCFG_NO_AF_FAULT))
		return MALI_EXCEPTION_ACCESS_FLAG;
	if (entry & ENTRY_READ_ONLY && access == MALI_AS_ACCESS_WRITE)
		return MALI_EXCEPTION_PERMISSION;
	return 0;
}

static bool is_memory(u64 pa)
{
	return pfn_valid(PHYS_PFN(pa));
}

/* returns zero and @pa, or the exception */
static u32 walk(struct mali_gpu *gpu, const struct mali_as *as, u64 va, u32 access, u64 *pa)
{
	const bool old = FIELD_GET(MALI_TRANSCFG_MODE, as->config) == MALI_MODE_TRANSTAB;
	u64 table = as->root;
	u32 fault;

	for (unsigned int level = 0; level < TABLE_LEVELS; level++) {
		unsigned int shift = GRANULE_SHIFT + (LAST_LEVEL - level) * TABLE_BITS;
		u64 index = (va >> shift) & (BIT(TABLE_BITS) - 1);
		u64 entry;

		if (!is_memory(table))
			return MALI_EXCEPTION_ADDRESS_SIZE_OUT + level;
		entry = READ_ONCE(((u64 *)phys_to_virt(table))[index]);
		if (!(entry & ENTRY_VALID))
			return MALI_EXCEPTION_TRANSLATION + level;
		if (level < LAST_LEVEL && entry & ENTRY_TABLE) {
			table = entry & ENTRY_ADDRESS;
			continue;
		}
		/* there are no blocks on level 0, and pages on the last level have a type */
		if (!level || (level == LAST_LEVEL && old == !!(entry & ENTRY_TABLE)))
			return MALI_EXCEPTION_TRANSLATION + level;
		fault = fault_of_leaf(as, entry, access);
		if (fault)
			return fault + level;
		mali_count_walk_locked(gpu, level);
		*pa = (entry & ENTRY_ADDRESS & ~(BIT_ULL(shift) - 1)) | (va & (BIT_ULL(shift) - 1));
		return is_memory(*pa) ? 0 : MALI_EXCEPTION_ADDRESS_SIZE_OUT + level;
	}
	return MALI_EXCEPTION_TRANSLATION;
}

static u32 translate(struct mali_gpu *gpu, const struct mali_as *as, u64 va, u32 access, u64 *pa)
{
	u32 bits;

	switch (FIELD_GET(MALI_TRANSCFG_MODE, as->config)) {
	case MALI_MODE_IDENTITY:
		*pa = va;
		return is_memory(va) ? 0 : MALI_EXCEPTION_ADDRESS_SIZE_OUT;
	case MALI_MODE_TRANSTAB:
		if (va >> TRANSTAB_BITS)
			return MALI_EXCEPTION_ADDRESS_SIZE_IN;
		return walk(gpu, as, va, access, pa);
	case MALI_MODE_4K:
		bits = INPUT_BITS_BASE - FIELD_GET(MALI_TRANSCFG_INPUT_BITS, as->config);
		if (va >> min(bits, 63u))
			return MALI_EXCEPTION_ADDRESS_SIZE_IN;
		return walk(gpu, as, va, access, pa);
	}
	return MALI_EXCEPTION_TRANSLATION;
}

/* keeps the first fault until the address space is set up again */
static void report_fault(struct mali_gpu *gpu, u32 number, u64 va, u32 access, u32 exception)
{
	struct mali_as *as = &gpu->as[number];

	if (!(gpu->irq[MALI_IRQ_MMU].rawstat & BIT(number))) {
		as->reg[MALI_AS_FAULTSTATUS / 4] = FIELD_PREP(MALI_AS_FAULTSTATUS_TYPE, exception) |
						   FIELD_PREP(MALI_AS_FAULTSTATUS_ACCESS, access);
		as->reg[MALI_AS_FAULTADDRESS / 4] = lower_32_bits(va);
		as->reg[MALI_AS_FAULTADDRESS / 4 + 1] = upper_32_bits(va);
	}
	mali_irq_raise_locked(gpu, MALI_IRQ_MMU, BIT(number));
}

static void *translate_or_fault(struct mali_gpu *gpu, u32 number, u64 va, u32 access)
{
	u64 pa;
	u32 exception = translate(gpu, &gpu->as[number], va, access, &pa);

	if (!exception)
		return phys_to_virt(pa);
	/* a job manager ends the job instead */
	if (!gpu->jm || gpu->as[number].config != MALI_MODE_UNMAPPED)
		report_fault(gpu, number, va, access, exception);
	return NULL;
}

/* --- accesses ------------------------------------------------------------ */

/* copies page by page: the lock, which keeps the table valid, is dropped between pages */
static int copy(struct mali_gpu *gpu, u32 as, u64 va, void *data, size_t bytes, u32 access)
{
	while (bytes) {
		size_t some = min_t(size_t, bytes, PAGE_SIZE - offset_in_page(va));
		unsigned long flags;
		void *memory;

		spin_lock_irqsave(&gpu->lock, flags);
		memory = translate_or_fault(gpu, as, va, access);
		if (memory && access == MALI_AS_ACCESS_WRITE)
			memcpy(memory, data, some);
		else if (memory)
			memcpy(data, memory, some);
		spin_unlock_irqrestore(&gpu->lock, flags);
		if (!memory)
			return -EFAULT;
		va += some;
		data += some;
		bytes -= some;
	}
	return 0;
}

/* an error is a fault of the address space and has been reported */
int mali_mem_read(struct mali_gpu *gpu, u32 as, u64 va, void *data, size_t bytes)
{
	return copy(gpu, as, va, data, bytes, MALI_AS_ACCESS_READ);
}

int mali_mem_write(struct mali_gpu *gpu, u32 as, u64 va, const void *data, size_t bytes)
{
	return copy(gpu, as, va, (void *)data, bytes, MALI_AS_ACCESS_WRITE);
}

/*
 * Words that the host may access concurrently. Aligned words are accessed atomically, reads with
 * acquire and writes with release semantics.
 */
static int access_word(struct mali_gpu *gpu, u32 as, u64 va, u64 *value, size_t bytes, u32 access)
{
	const bool write = access == MALI_AS_ACCESS_WRITE;
	unsigned long flags;
	void *memory;

	/* the low word comes first, as in a little-endian u64 */
	if (va % bytes)
		return copy(gpu, as, va, value, bytes, access);
	if (write)
		/* release, see above */
		smp_wmb();
	spin_lock_irqsave(&gpu->lock, flags);
	memory = translate_or_fault(gpu, as, va, access);
	if (memory && write && bytes == sizeof(u64))
		WRITE_ONCE(*(u64 *)memory, *value);
	else if (memory && write)
		WRITE_ONCE(*(u32 *)memory, *value);
	else if (memory && bytes == sizeof(u64))
		*value = READ_ONCE(*(u64 *)memory);
	else if (memory)
		*value = READ_ONCE(*(u32 *)memory);
	spin_unlock_irqrestore(&gpu->lock, flags);
	if (!write)
		/* acquire, see above */
		smp_rmb();
	return memory ? 0 : -EFAULT;
}

/* @bytes: 4 or 8 */
int mali_mem_load(struct mali_gpu *gpu, u32 as, u64 va, size_t bytes, u64 *value)
{
	*value = 0;
	return access_word(gpu, as, va, value, bytes, MALI_AS_ACCESS_READ);
}

int mali_mem_store(struct mali_gpu *gpu, u32 as, u64 va, size_t bytes, u64 value)
{
	return access_word(gpu, as, va, &value, bytes, MALI_AS_ACCESS_WRITE);
}

/* the page at @va in the host's memory, for firmware's own structures; NULL on a fault */
void *mali_mem_page(struct mali_gpu *gpu, u32 as, u64 va)
{
	guard(spinlock_irqsave)(&gpu->lock);
	return translate_or_fault(gpu, as, va, MALI_AS_ACCESS_WRITE);
}
