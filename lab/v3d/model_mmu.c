// SPDX-License-Identifier: GPL-2.0
/*
 * The MMU: one table for all, of one word for each page of the 4 GiB that the GPU can address.
 * There is no TLB: each access walks the table, so a flush has nothing to do.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/string.h>

#include "v3d_model.h"

#define GPU_PAGE_SHIFT	12
#define GPU_PAGE	BIT(GPU_PAGE_SHIFT)
#define ENTRY_VALID	BIT(28)
#define ENTRY_WRITABLE	BIT(29)
#define ENTRY_PAGE	GENMASK(23, 0)

/* returns false where another part has the register */
bool v3d_mmu_write_locked(struct v3d_gpu *gpu, u32 offset, u32 value)
{
	const u32 faults = V3D_MMU_WRITE_FAULT | V3D_MMU_PT_INVALID | V3D_MMU_CAP_EXCEEDED;

	switch (offset) {
	case V3D_MMUC_CONTROL:
		gpu->hub[offset / 4] = value & ~V3D_MMUC_FLUSH;
		return true;
	case V3D_MMU_CTL:
		/* what faulted is cleared by writing it */
		gpu->hub[offset / 4] = (value & ~(faults | V3D_MMU_TLB_CLEAR)) |
				       (gpu->hub[offset / 4] & faults & ~value);
		return true;
	}
	return false;
}

static u32 client_id(const struct v3d_gpu *gpu, enum v3d_client client)
{
	static const u8 v42[] = { 0x80, 0x60, 0xa0 }, v71[] = { 0x30, 0x40, 0x7c };

	return gpu->version < 71 ? v42[client] : v71[client];
}

static void fault(struct v3d_gpu *gpu, enum v3d_client client, u32 va, bool valid)
{
	u32 *control = &gpu->hub[V3D_MMU_CTL / 4];

	*control |= valid ? V3D_MMU_WRITE_FAULT : V3D_MMU_PT_INVALID;
	gpu->hub[V3D_MMU_VIO_ID / 4] = client_id(gpu, client);
	gpu->hub[V3D_MMU_VIO_ADDR / 4] = va;
	if (*control & (valid ? V3D_MMU_WRITE_INT : V3D_MMU_PT_INVALID_INT))
		v3d_raise_locked(gpu, V3D_HUB,
				 valid ? V3D_HUB_INT_WRITE : V3D_HUB_INT_PT_INVALID);
}

/* the memory at @va, to the end of its page; NULL if the access faulted */
static void *translate(struct v3d_gpu *gpu, enum v3d_client client, u32 va, bool write)
{
	u64 table = (u64)gpu->hub[V3D_MMU_PT_PA_BASE / 4] << GPU_PAGE_SHIFT;
	u64 place = table + sizeof(u32) * (va >> GPU_PAGE_SHIFT);
	u64 pa = va;
	u32 entry;

	if (gpu->hub[V3D_MMU_CTL / 4] & V3D_MMU_ENABLE) {
		entry = pfn_valid(PHYS_PFN(place)) ? READ_ONCE(*(u32 *)phys_to_virt(place)) : 0;
		if (!(entry & ENTRY_VALID) || (write && !(entry & ENTRY_WRITABLE))) {
			fault(gpu, client, va, entry & ENTRY_VALID);
			return NULL;
		}
		pa = (u64)(entry & ENTRY_PAGE) << GPU_PAGE_SHIFT | (va & (GPU_PAGE - 1));
	}
	if (!pfn_valid(PHYS_PFN(pa))) {
		fault(gpu, client, va, false);
		return NULL;
	}
	return phys_to_virt(pa);
}

bool v3d_mem_check_locked(struct v3d_gpu *gpu, enum v3d_client client, u32 va, bool write)
{
	return translate(gpu, client, va, write);
}

bool v3d_mem_read_locked(struct v3d_gpu *gpu, enum v3d_client client, u32 va, void *data,
			 size_t bytes)
{
	while (bytes) {
		size_t some = min_t(size_t, bytes, GPU_PAGE - (va & (GPU_PAGE - 1)));
		const void *memory = translate(gpu, client, va, false);

		if (!memory)
			return false;
		memcpy(data, memory, some);
		v3d_count_locked(gpu, V3D_READS, 1);
		v3d_count_locked(gpu, V3D_READ_BYTES, some);
		va += some;
		data += some;
		bytes -= some;
	}
	return true;
}
