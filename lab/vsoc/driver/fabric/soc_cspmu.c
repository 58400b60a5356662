// SPDX-License-Identifier: GPL-2.0
/*
 * Register model of a CoreSight PMU: UCF, PCIE, PCIE-TGT.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>

#include "compat.h"
#include "soc_model.h"
#include "tegra410/tegra410_regs.h"

/* event numbers by catalogue number, except for cycles */
static const u32 ucf_ids[] = {
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ALLOCATE]		= UCF_EVENT_SLC_ALLOCATE,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_WB]		= UCF_EVENT_SLC_WB,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_RD]		= UCF_EVENT_SLC_REFILL_RD,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_REFILL_WR]		= UCF_EVENT_SLC_REFILL_WR,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD]		= UCF_EVENT_SLC_HIT_RD,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_DATALESS]	= UCF_EVENT_SLC_ACCESS_DATALESS,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_ATOMIC]	= UCF_EVENT_SLC_ACCESS_ATOMIC,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_RD]		= UCF_EVENT_SLC_ACCESS_RD,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_ACCESS_WR]		= UCF_EVENT_SLC_ACCESS_WR,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD]		= UCF_EVENT_SLC_BYTES_RD,
	[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_WR]		= UCF_EVENT_SLC_BYTES_WR,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_RD]		= UCF_EVENT_MEM_ACCESS_RD,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_ACCESS_WR]		= UCF_EVENT_MEM_ACCESS_WR,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD]		= UCF_EVENT_MEM_BYTES_RD,
	[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR]		= UCF_EVENT_MEM_BYTES_WR,
	[DRM_PERFCTR_TEGRA410_UCF_LOCAL_SNOOP]		= UCF_EVENT_LOCAL_SNOOP,
	[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_ACCESS]	= UCF_EVENT_EXT_SNP_ACCESS,
	[DRM_PERFCTR_TEGRA410_UCF_EXT_SNP_EVICT]		= UCF_EVENT_EXT_SNP_EVICT,
};

/* on PCIE and PCIE-TGT, event numbers equal catalogue numbers; cycles are last */
#define PCIE_IDS	(PCIE_EVENT_RD_CUM_OUTS + 1)
#define PCIE_TGT_IDS	(PCIE_EVENT_WR_REQ + 1)

static bool cspmu_is_clock(const struct soc_pmu *pmu, unsigned int n)
{
	if (n == CSPMU_CYCLE_IDX)
		return true;
	switch (pmu->place.kind) {
	case SOC_UCF:
		return pmu->cs.typer[n] == UCF_EVENT_BUS_CYCLES;
	case SOC_PCIE_TGT:
		return pmu->cs.typer[n] == PCIE_TGT_EVENT_CYCLES;
	default:
		return false;
	}
}

static u64 cspmu_amount(const struct soc_pmu *pmu, u32 id, const u64 *amounts)
{
	switch (pmu->place.kind) {
	case SOC_UCF:
		for (unsigned int i = 0; i < ARRAY_SIZE(ucf_ids); i++) {
			if (ucf_ids[i] && ucf_ids[i] == id)
				return amounts[i];
		}
		return 0;
	case SOC_PCIE:
		return id < PCIE_IDS ? amounts[id] : 0;
	default:
		return id < PCIE_TGT_IDS ? amounts[id] : 0;
	}
}

static bool ucf_selects(u32 filter, const struct soc_tag *tag)
{
	static const u32 src[] = {
		[SOC_SRC_LOC_NONCPU]	= UCF_SRC_LOC_NONCPU,
		[SOC_SRC_LOC_CPU]	= UCF_SRC_LOC_CPU,
		[SOC_SRC_REM]		= UCF_SRC_REM,
	};
	static const u32 dst[] = {
		[SOC_DST_CMEM]		= UCF_DST_LOC_CMEM,
		[SOC_DST_GMEM]		= UCF_DST_LOC_GMEM,
		[SOC_DST_CXL]		= UCF_DST_LOC_OTHER,
		[SOC_DST_PCIE_PEER]	= UCF_DST_LOC_OTHER,
		[SOC_DST_REM]		= UCF_DST_REM,
	};

	return (filter & src[tag->src]) && (filter & dst[tag->dst]);
}

/* the one BDF that is set up for all counters, while a counter enables it */
static bool pcie_has_bdf(const struct soc_cspmu *cs)
{
	for (unsigned int n = 0; n < CSPMU_CYCLE_IDX; n++) {
		if (cs->filtr[n] & PCIE_SRC_BDF_EN)
			return true;
	}
	return false;
}

static bool pcie_selects(const struct soc_cspmu *cs, unsigned int n, const struct soc_tag *tag)
{
	static const u32 dst[] = {
		[SOC_DST_CMEM]		= PCIE_DST_LOC_CMEM,
		[SOC_DST_GMEM]		= PCIE_DST_LOC_GMEM,
		[SOC_DST_CXL]		= PCIE_DST_LOC_PCIE_CXL,
		[SOC_DST_PCIE_PEER]	= PCIE_DST_LOC_PCIE_P2P,
		[SOC_DST_REM]		= PCIE_DST_REM,
	};

	if (!(cs->filt2r[n] & dst[tag->dst]))
		return false;
	if (pcie_has_bdf(cs))
		return cs->bdf == tag->bdf;
	return FIELD_GET(PCIE_SRC_RP_MASK, cs->filtr[n]) & BIT(tag->rp);
}

/* lines of [address, address + bytes) for which (line & mask) == (base & mask) */
static u64 matching_lines(u64 address, u64 bytes, u64 base, u64 mask)
{
	u64 end = address + bytes, low, lines = 0;
	unsigned int k;

	while (address != end) {
		/* the largest aligned block in which the answer does not change */
		k = address ? __ffs64(address) : 63;
		while ((end - address) >> k == 0)
			k--;
		for (;; k--) {
			low = BIT_ULL(k) - 1;
			if ((address ^ base) & mask & ~low)
				break;
			if (BIT_ULL(k) == SOC_LINE_BYTES) {
				lines += !((address ^ base) & mask);
				break;
			}
			if (!(mask & low)) {
				lines += BIT_ULL(k) / SOC_LINE_BYTES;
				break;
			}
		}
		address += BIT_ULL(k);
	}
	return lines;
}

/* number of lines that pass the filters of a PCIE-TGT counter */
static u64 pcie_tgt_lines(const struct soc_cspmu *cs, u32 filter2, const struct soc_tag *tag)
{
	u32 rp_mask = FIELD_GET(PCIE_TGT_RP_MASK, filter2);
	u32 slots = FIELD_GET(PCIE_TGT_SLOT, filter2);
	u64 lines = tag->bytes / SOC_LINE_BYTES;
	unsigned int slot;

	if (!filter2)
		return 0;
	/* the root port filter applies to BARs only */
	if (rp_mask && (tag->dst != SOC_DST_PCIE_PEER || !(rp_mask & BIT(tag->rp))))
		return 0;
	if (slots) {
		slot = __ffs(slots);
		if (!(cs->slot[slot].ctrl & PCIE_TGT_SLOT_CTRL_E))
			return 0;
		lines = matching_lines(tag->address, tag->bytes, cs->slot[slot].base,
				       cs->slot[slot].mask);
	}
	return lines;
}

/* amount that counter @n selects from this traffic */
static u64 cspmu_selected(const struct soc_pmu *pmu, unsigned int n, const struct soc_tag *tag,
			  const u64 *amounts)
{
	const struct soc_cspmu *cs = &pmu->cs;
	u64 amount = cspmu_amount(pmu, cs->typer[n], amounts);

	if (!amount)
		return 0;
	switch (pmu->place.kind) {
	case SOC_UCF:
		return ucf_selects(cs->filtr[n], tag) ? amount : 0;
	case SOC_PCIE:
		return pcie_selects(cs, n, tag) ? amount : 0;
	default:
		/* bytes or requests, with one request per line */
		return amount / (tag->bytes / SOC_LINE_BYTES) *
		       pcie_tgt_lines(cs, cs->filt2r[n], tag);
	}
}

static void cspmu_add(struct soc_pmu *pmu, unsigned int n, u64 amount)
{
	struct soc_cspmu *cs = &pmu->cs;
	u64 room = cs->counter_mask - cs->counter[n];

	cs->counter[n] = (cs->counter[n] + amount) & cs->counter_mask;
	if (amount > room) {
		cs->overflow |= BIT(n);
		if (cs->irq_enabled & BIT(n))
			soc_irq_raise(pmu);
	}
}

static u32 cspmu_counting(const struct soc_cspmu *cs)
{
	return cs->cr & CSPMU_PMCR_E ? cs->enabled : 0;
}

static void cspmu_sync(struct soc_pmu *pmu)
{
	unsigned long counting = cspmu_counting(&pmu->cs);
	u64 now = soc_pmu_cycles(pmu);
	u64 passed = now - pmu->cycles;
	unsigned int n;

	pmu->cycles = now;
	for_each_set_bit(n, &counting, SOC_CSPMU_COUNTERS) {
		if (!cspmu_is_clock(pmu, n))
			continue;
		cspmu_add(pmu, n, passed);
		if (n == CSPMU_CYCLE_IDX)
			pmu->cycles_counted += passed;
	}
}

static void cspmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
	unsigned long counting = cspmu_counting(&pmu->cs);
	unsigned int n;

	for_each_set_bit(n, &counting, SOC_CSPMU_COUNTERS) {
		if (!cspmu_is_clock(pmu, n))
			cspmu_add(pmu, n, cspmu_selected(pmu, n, tag, amounts));
	}
}

/* --- registers ------------------------------------------------------------ */

/* a field of an array that the cycle counter does not have: reads as zero, ignores writes */
static bool cspmu_is_reserved(const struct soc_cspmu *cs, unsigned int offset)
{
	return (cs->implemented & BIT(CSPMU_CYCLE_IDX)) &&
	       (offset == CSPMU_PMEVFILTR(CSPMU_CYCLE_IDX) ||
		offset == CSPMU_PMEVFILT2R(CSPMU_CYCLE_IDX));
}

/* index of a register in an array of @count at @first, or -1 */
static int cspmu_index(const struct soc_cspmu *cs, unsigned int offset, unsigned int first,
		       unsigned int count)
{
	unsigned int n = (offset - first) / 4;

	if (offset < first || n >= count || !(cs->implemented & BIT(n)))
		return -1;
	return n;
}

static u32 *cspmu_event_register(struct soc_cspmu *cs, unsigned int offset)
{
	int n;

	if (offset == CSPMU_PMCCFILTR && (cs->implemented & BIT(CSPMU_CYCLE_IDX)))
		return &cs->ccfiltr;
	n = cspmu_index(cs, offset, CSPMU_PMEVTYPER(0), CSPMU_CYCLE_IDX);
	if (n >= 0)
		return &cs->typer[n];
	n = cspmu_index(cs, offset, CSPMU_PMEVFILTR(0), CSPMU_CYCLE_IDX);
	if (n >= 0)
		return &cs->filtr[n];
	n = cspmu_index(cs, offset, CSPMU_PMEVFILT2R(0), CSPMU_CYCLE_IDX);
	return n >= 0 ? &cs->filt2r[n] : NULL;
}

static u32 cspmu_page0_read(struct soc_pmu *pmu, unsigned int offset)
{
	struct soc_cspmu *cs = &pmu->cs;
	u32 *reg;

	switch (offset) {
	case CSPMU_PMCNTENSET:
	case CSPMU_PMCNTENCLR:
		return cs->enabled;
	case CSPMU_PMINTENSET:
	case CSPMU_PMINTENCLR:
		return cs->irq_enabled;
	case CSPMU_PMOVSSET:
		return cs->overflow;
	case CSPMU_PMCFGR:
		return cs->pmcfgr;
	case CSPMU_PMCR:
		return cs->cr;
	case CSPMU_PMIIDR:
		return cs->pmiidr;
	case CSPMU_PMPIDR4:
		return cs->pmpidr[4];
	case CSPMU_PMPIDR0:
	case CSPMU_PMPIDR1:
	case CSPMU_PMPIDR2:
	case CSPMU_PMPIDR3:
		return cs->pmpidr[(offset - CSPMU_PMPIDR0) / 4];
	case CSPMU_PMDEVARCH:
		/* optional */
		return 0;
	default:
		reg = cspmu_event_register(cs, offset);
		if (reg)
			return *reg;
		pmu->bad_accesses += !cspmu_is_reserved(cs, offset);
		return 0;
	}
}

static void cspmu_control(struct soc_cspmu *cs, u32 value)
{
	for (unsigned int n = 0; n < SOC_CSPMU_COUNTERS; n++) {
		if (value & (n == CSPMU_CYCLE_IDX ? CSPMU_PMCR_C : CSPMU_PMCR_P))
			cs->counter[n] = 0;
	}
	cs->cr = value & CSPMU_PMCR_E;
}

static void cspmu_page0_write(struct soc_pmu *pmu, unsigned int offset, u32 value)
{
	struct soc_cspmu *cs = &pmu->cs;
	u32 *reg;

	switch (offset) {
	case CSPMU_PMCNTENSET:
		cs->enabled |= value & cs->implemented;
		break;
	case CSPMU_PMCNTENCLR:
		cs->enabled &= ~value;
		break;
	case CSPMU_PMINTENSET:
		cs->irq_enabled |= value & cs->implemented;
		break;
	case CSPMU_PMINTENCLR:
		cs->irq_enabled &= ~value;
		break;
	case CSPMU_PMOVSSET:
		cs->overflow |= value & cs->implemented;
		break;
	case CSPMU_PMCR:
		cspmu_control(cs, value);
		break;
	case CSPMU_PMCNTEN:
		/* of PMUs with registers of 64 bits: here a drivers' probe is ignored */
		break;
	default:
		reg = cspmu_event_register(cs, offset);
		if (!reg) {
			pmu->bad_accesses += !cspmu_is_reserved(cs, offset);
			return;
		}
		*reg = value;
		/* a filter register of a counter sets the BDF of all of them */
		if (pmu->place.kind == SOC_PCIE && offset >= CSPMU_PMEVFILTR(0) &&
		    value & PCIE_SRC_BDF_EN)
			cs->bdf = FIELD_GET(PCIE_SRC_BDF, value);
	}
}

/* counter at @offset of page 1; @high: the high word */
static int cspmu_counter_at(const struct soc_cspmu *cs, unsigned int offset, bool *high)
{
	unsigned int n = offset / cs->stride;

	*high = offset % cs->stride;
	return n < SOC_CSPMU_COUNTERS && (cs->implemented & BIT(n)) ? n : -1;
}

static u32 cspmu_page1_read(struct soc_pmu *pmu, unsigned int offset)
{
	struct soc_cspmu *cs = &pmu->cs;
	bool high;
	int n;

	if (offset == CSPMU_PMOVSCLR)
		return cs->overflow;
	n = cspmu_counter_at(cs, offset, &high);
	if (n < 0) {
		pmu->bad_accesses++;
		return 0;
	}
	return high ? upper_32_bits(cs->counter[n]) : lower_32_bits(cs->counter[n]);
}

static void cspmu_page1_write(struct soc_pmu *pmu, unsigned int offset, u32 value)
{
	struct soc_cspmu *cs = &pmu->cs;
	u64 counter;
	bool high;
	int n;

	if (offset == CSPMU_PMOVSCLR) {
		cs->overflow &= ~value;
		return;
	}
	n = cspmu_counter_at(cs, offset, &high);
	if (n < 0) {
		pmu->bad_accesses++;
		return;
	}
	if (high)
		counter = (u64)value << 32 | lower_32_bits(cs->counter[n]);
	else
		counter = (cs->counter[n] & ~(u64)U32_MAX) | value;
	cs->counter[n] = counter & cs->counter_mask;
}

/* the 64-bit register of a 32-bit word of an address slot, and the word's shift in it */
static u64 *slot_word(struct soc_cspmu *cs, unsigned int offset, unsigned int *shift, u32 **ctrl)
{
	unsigned int n = (offset - PCIE_TGT_SLOT_CTRL(0)) / PCIE_TGT_SLOT_STRIDE;
	unsigned int word;

	*ctrl = NULL;
	if (offset < PCIE_TGT_SLOT_CTRL(0) || n >= SOC_ADDRESS_SLOTS)
		return NULL;
	word = offset - PCIE_TGT_SLOT_CTRL(n);
	*shift = word == 8 || word == 16 ? 32 : 0;
	switch (word) {
	case 0:
		*ctrl = &cs->slot[n].ctrl;
		return NULL;
	case 4:
	case 8:
		return &cs->slot[n].base;
	case 12:
	case 16:
		return &cs->slot[n].mask;
	default:
		return NULL;
	}
}

static u32 cspmu_slot_read(struct soc_pmu *pmu, unsigned int offset)
{
	unsigned int shift;
	u64 *word;
	u32 *ctrl;

	word = slot_word(&pmu->cs, offset, &shift, &ctrl);
	if (ctrl)
		return *ctrl;
	if (word)
		return *word >> shift;
	pmu->bad_accesses++;
	return 0;
}

static void cspmu_slot_write(struct soc_pmu *pmu, unsigned int offset, u32 value)
{
	unsigned int shift;
	u64 *word;
	u32 *ctrl;

	word = slot_word(&pmu->cs, offset, &shift, &ctrl);
	if (ctrl)
		*ctrl = value;
	else if (word)
		*word = (*word & ~((u64)U32_MAX << shift)) | (u64)value << shift;
	else
		pmu->bad_accesses++;
}

static bool cspmu_has_slots(const struct soc_pmu *pmu)
{
	return pmu->place.kind == SOC_PCIE_TGT;
}

static u32 cspmu_read(struct soc_pmu *pmu, unsigned int window, unsigned int offset)
{
	cspmu_sync(pmu);
	if (window == CSPMU_PAGE0)
		return cspmu_page0_read(pmu, offset);
	if (window == CSPMU_PAGE1)
		return cspmu_page1_read(pmu, offset);
	if (window == CSPMU_ADDRESS_FILTER && cspmu_has_slots(pmu))
		return cspmu_slot_read(pmu, offset);
	pmu->bad_accesses++;
	return 0;
}

static void cspmu_write(struct soc_pmu *pmu, unsigned int window, unsigned int offset, u32 value)
{
	cspmu_sync(pmu);
	if (window == CSPMU_PAGE0)
		cspmu_page0_write(pmu, offset, value);
	else if (window == CSPMU_PAGE1)
		cspmu_page1_write(pmu, offset, value);
	else if (window == CSPMU_ADDRESS_FILTER && cspmu_has_slots(pmu))
		cspmu_slot_write(pmu, offset, value);
	else
		pmu->bad_accesses++;
}

static const struct soc_pmu_ops cspmu_ops = {
	.read = cspmu_read,
	.write = cspmu_write,
	.count = cspmu_count,
	.sync = cspmu_sync,
};

/* --- set-up --------------------------------------------------------------- */

/* cycle counters below 64 bits overflow without traffic: update them four times per wrap */
static u64 cspmu_look_ns(const struct soc_pmu *pmu)
{
	return max_t(u64, div64_u64((pmu->cs.counter_mask >> 2) * (NSEC_PER_SEC / 1000),
				    pmu->hz / 1000), NSEC_PER_USEC * 100);
}

static enum hrtimer_restart cspmu_timer(struct hrtimer *timer)
{
	struct soc_pmu *pmu = container_of(timer, struct soc_pmu, cs.timer);
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	cspmu_sync(pmu);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	hrtimer_forward_now(timer, ns_to_ktime(cspmu_look_ns(pmu)));
	return HRTIMER_RESTART;
}

/* the registers from which PMIIDR is derived if it reads as zero */
static void cspmu_set_peripheral_id(struct soc_cspmu *cs)
{
	const u32 id = cs->pmiidr;
	const u32 product = FIELD_GET(CSPMU_PMIIDR_PRODUCT, id);
	const u32 designer = FIELD_GET(CSPMU_PMIIDR_IMPLEMENTER, id);

	cs->pmpidr[0] = FIELD_PREP(CSPMU_PMPIDR0_PART_0, product & 0xff);
	cs->pmpidr[1] = FIELD_PREP(CSPMU_PMPIDR1_PART_1, product >> 8) |
			FIELD_PREP(CSPMU_PMPIDR1_DES_0, designer & 0xf);
	cs->pmpidr[2] = FIELD_PREP(CSPMU_PMPIDR2_DES_1, designer >> 4 & 0x7) |
			FIELD_PREP(CSPMU_PMPIDR2_REVISION, FIELD_GET(CSPMU_PMIIDR_VARIANT, id));
	cs->pmpidr[3] = FIELD_PREP(CSPMU_PMPIDR3_REVAND, FIELD_GET(CSPMU_PMIIDR_REVISION, id));
	cs->pmpidr[4] = FIELD_PREP(CSPMU_PMPIDR4_DES_2, designer >> 8);
	cs->pmiidr = 0;
}

/* Set registers to their reset values. */
void soc_cspmu_init(struct soc_pmu *pmu, const struct soc_config *config)
{
	struct soc_cspmu *cs = &pmu->cs;
	u32 model;

	switch (pmu->place.kind) {
	case SOC_UCF:
		model = UCF_PMIIDR_MODEL;
		pmu->hz = SOC_UCF_HZ;
		break;
	case SOC_PCIE:
		model = PCIE_PMIIDR_MODEL;
		pmu->hz = SOC_PCIE_HZ;
		break;
	default:
		model = PCIE_TGT_PMIIDR_MODEL;
		pmu->hz = SOC_PCIE_HZ;
		break;
	}

	pmu->ops = &cspmu_ops;
	cs->pmiidr = model | CSPMU_IMPLEMENTER_NVIDIA;
	if (config->peripheral_id)
		cspmu_set_peripheral_id(cs);
	/* N is the number of counters, cycle counter included, minus one */
	cs->pmcfgr = FIELD_PREP(CSPMU_PMCFGR_N, config->counters) |
		     FIELD_PREP(CSPMU_PMCFGR_SIZE, config->width - 1) | CSPMU_PMCFGR_CC;
	cs->counter_mask = GENMASK_ULL(config->width - 1, 0);
	cs->implemented = GENMASK(config->counters - 1, 0) | BIT(CSPMU_CYCLE_IDX);
	cs->stride = config->width > 32 ? 8 : 4;
	soc_irq_init(pmu);

	perfctr_hrtimer_setup(&cs->timer, cspmu_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	if (config->width < 64)
		hrtimer_start(&cs->timer, ns_to_ktime(cspmu_look_ns(pmu)), HRTIMER_MODE_REL_HARD);
}

/* Undo soc_cspmu_init(). */
void soc_cspmu_fini(struct soc_pmu *pmu)
{
	hrtimer_cancel(&pmu->cs.timer);
}
