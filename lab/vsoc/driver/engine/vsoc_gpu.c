// SPDX-License-Identifier: GPL-2.0
/*
 * Block counter hardware: 32-bit registers that wrap, clocks, and the 64-bit truth, which real
 * hardware does not have.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include <drm/drm_managed.h>

#include "vsoc.h"
#include "vsoc_csf_counters.h"
#include "vsoc_account.h"

/* arbitrary: the GPU's timestamp is not aligned with the host's clock */
#define VSOC_TIMESTAMP_START	0x123456789aULL

const u64 vsoc_nominal_hz[VSOC_CLOCKS] = {
	[VSOC_CLOCK_TOP] = VSOC_TOP_HZ,
	[VSOC_CLOCK_COREGROUP] = VSOC_COREGROUP_HZ,
	[VSOC_CLOCK_SHADER] = VSOC_SHADER_HZ,
};

int vsoc_gpu_init(struct vsoc_device *vsoc)
{
	const size_t counters = vsoc_gpu_registers(vsoc);
	struct vsoc_gpu *gpu = &vsoc->gpu;

	gpu->reg = drmm_kcalloc(&vsoc->drm, counters, sizeof(*gpu->reg), GFP_KERNEL);
	gpu->truth = drmm_kcalloc(&vsoc->drm, counters, sizeof(*gpu->truth), GFP_KERNEL);
	if (!gpu->reg || !gpu->truth || vsoc_accounts_init(vsoc))
		return -ENOMEM;

	for (unsigned int i = 0; i < VSOC_CLOCKS; i++) {
		gpu->clocks[i].hz = vsoc_nominal_hz[i];
		gpu->clocks[i].on = true;
	}
	gpu->clock_ns = vsoc_now_ns(vsoc);
	gpu->cores_on = vsoc->shape.shader_present;
	return 0;
}

/* CLOCK_MONOTONIC_RAW or stepped time, which is never ahead of it */
u64 vsoc_now_ns(const struct vsoc_device *vsoc)
{
	return READ_ONCE(vsoc->stepped.on) ? READ_ONCE(vsoc->stepped.now_ns) : ktime_get_raw_ns();
}

/* account for the time since the last call; call before power or frequency changes */
void vsoc_gpu_update_clocks(struct vsoc_device *vsoc)
{
	struct vsoc_gpu *gpu = &vsoc->gpu;
	u64 now = vsoc_now_ns(vsoc);

	lockdep_assert_held(&vsoc->hw_lock);

	vsoc->ops->idle(vsoc);
	for (unsigned int i = 0; i < VSOC_CLOCKS; i++)
		if (gpu->clocks[i].on)
			gpu->clocks[i].on_ns += now - gpu->clock_ns;
	gpu->clock_ns = now;
}

/* cycles up to the last vsoc_gpu_update_clocks() */
u64 vsoc_gpu_cycles(const struct vsoc_device *vsoc, enum vsoc_clock clock)
{
	const struct vsoc_clock_state *c = &vsoc->gpu.clocks[clock];

	return c->base_cycles + mul_u64_u64_div_u64(c->on_ns, c->hz, NSEC_PER_SEC);
}

void vsoc_gpu_set_hz(struct vsoc_device *vsoc, enum vsoc_clock clock, u64 hz)
{
	struct vsoc_clock_state *c = &vsoc->gpu.clocks[clock];

	vsoc_gpu_update_clocks(vsoc);
	c->base_cycles = vsoc_gpu_cycles(vsoc, clock);
	c->on_ns = 0;
	/* frequency_hz() reads it without the lock */
	WRITE_ONCE(c->hz, hz);
}

/* the GPU's timestamp counter at a time of CLOCK_MONOTONIC_RAW */
u64 vsoc_gpu_timestamp(u64 raw_ns)
{
	return VSOC_TIMESTAMP_START + mul_u64_u64_div_u64(raw_ns, VSOC_TIMESTAMP_HZ, NSEC_PER_SEC);
}

/* counts in the truth only, not in the registers */
void vsoc_gpu_count_truth(struct vsoc_device *vsoc, size_t index, u64 n)
{
	struct vsoc_gpu *gpu = &vsoc->gpu;

	lockdep_assert_held(&vsoc->hw_lock);
	gpu->truth[index] += n;
	if (gpu->account)
		gpu->account->counts[index] += n;
	else
		gpu->nobody[index] += n;
}

void vsoc_gpu_count(struct vsoc_device *vsoc, u32 block, u32 counter, u64 n)
{
	const size_t i = vsoc_gpu_index(vsoc, block, counter);

	lockdep_assert_held(&vsoc->hw_lock);
	if (vsoc->gpu.protected)
		return;
	vsoc->gpu.reg[i] += (u32)n;
	vsoc_gpu_count_truth(vsoc, i, n);
}

static u64 part_done(const struct vsoc_work *work, u64 total)
{
	if (work->done_ns == work->duration_ns)
		return total;
	return mul_u64_u64_div_u64(total, work->done_ns, work->duration_ns);
}

static void report(struct vsoc_device *vsoc, struct vsoc_work_stream *s, u64 lines, u64 time_ns)
{
	struct vsoc_traffic t = s->traffic;

	if (!lines)
		return;

	t.address += s->done * DRM_VSOC_LINE_BYTES;
	t.bytes = lines * DRM_VSOC_LINE_BYTES;
	s->done += lines;
	vsoc->ops->traffic(vsoc, &t, time_ns);
}

/*
 * Execute @ns more nanoseconds of @work, which take @time_ns. At any time, each counter has its
 * share of the total; at the end, all of it.
 */
void vsoc_gpu_progress(struct vsoc_device *vsoc, struct vsoc_work *work, u64 ns, u64 time_ns)
{
	u64 lines[VSOC_MAX_STREAMS] = {};

	lockdep_assert_held(&vsoc->hw_lock);

	work->done_ns = min(work->done_ns + ns, work->duration_ns);

	for (u32 i = 0; i < work->count; i++) {
		struct vsoc_work_item *item = &work->items[i];
		u64 delta = part_done(work, item->total) - item->done;

		item->done += delta;
		vsoc_gpu_count(vsoc, item->block, item->counter, delta);
		if (item->stream)
			lines[item->stream - 1] += delta;
	}

	for (u32 i = 0; i < work->stream_count; i++) {
		struct vsoc_work_stream *s = &work->streams[i];

		if (!s->by_counters)
			lines[i] = part_done(work, s->lines) - s->done;
		report(vsoc, s, lines[i], time_ns);
	}
	if (work->elements) {
		const u64 delta = part_done(work, work->elements) - work->elements_done;

		vsoc->ops->core(vsoc, work, delta, time_ns);
		work->elements_done += delta;
	}
}

/* core-group cycles of @ps at the current clock; @rest: what earlier calls left over */
static u64 coregroup_cycles(const struct vsoc_device *vsoc, u64 ps, u32 *rest)
{
	const u64 khz = div_u64(READ_ONCE(vsoc->gpu.clocks[VSOC_CLOCK_COREGROUP].hz), 1000);

	return div_u64_rem(ps * khz + *rest, NSEC_PER_SEC, rest);
}

/*
 * The memory system let @ps of requests × time pass for reads of the L2, and the command in
 * execution waited for it for @stall_ns, that is @work_ns at nominal clocks.
 */
void vsoc_gpu_memory(struct vsoc_device *vsoc, u64 ps, u64 stall_ns, u64 work_ns, bool write)
{
	const u32 n = vsoc->shape.l2_slices;
	struct vsoc_gpu *gpu = &vsoc->gpu;
	const u64 outstanding = ps ? coregroup_cycles(vsoc, ps, &gpu->outstanding_rest) : 0;
	const u64 stall = stall_ns ?
			  coregroup_cycles(vsoc, stall_ns * 1000, &gpu->stall_rest) : 0;

	for (u32 k = 0; outstanding && k < n; k++)
		vsoc_gpu_count(vsoc, VSOC_BLOCK_MEMSYS + k, VSOC_MEMSYS_EXT_READ_OUTSTANDING,
			       vsoc_share(outstanding, n, k));
	for (u32 k = 0; stall && k < n; k++) {
		const u32 b = VSOC_BLOCK_MEMSYS + k;

		vsoc_gpu_count(vsoc, b, write ? VSOC_MEMSYS_EXT_WRITE_STALL :
			       VSOC_MEMSYS_EXT_READ_STALL, stall);
		for (u32 set = 0; set < VSOC_SETS; set++)
			vsoc_gpu_count(vsoc, b + set * vsoc->shape.blocks, VSOC_MEMSYS_L2_ACTIVE,
				       stall);
	}
	if (!work_ns)
		return;
	vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_MCU_SLEEP, work_ns);
	for (u32 set = 0; set < VSOC_SETS; set++)
		vsoc_gpu_count(vsoc, VSOC_BLOCK_CSHW + set * vsoc->shape.blocks,
			       VSOC_CSHW_GPU_ACTIVE, work_ns);
	vsoc_gpu_count(vsoc, VSOC_BLOCK_CSHW, VSOC_CSHW_CS_WAIT, work_ns);
}
