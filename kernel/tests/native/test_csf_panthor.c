// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source in the call order of the panthor driver (kernel/panthor/): an interface page that
 * the driver's own requests share and each boot of the firmware rewrites, runtime suspend, reset,
 * unplug, and firmware without a metadata block.
 */
#include "csf_fixture.h"

/* the driver's bits in req and ack_irq_mask */
#define CFG_ALLOC_EN		BIT(2)
#define CFG_PROGRESS_TIMER	BIT(1)
#define CFG_POWEROFF_TIMER	BIT(3)
#define IDLE_EN			BIT(10)
#define CONFIGURE		(CFG_ALLOC_EN | CFG_POWEROFF_TIMER | CFG_PROGRESS_TIMER)
#define DRIVER_IRQS		(CONFIGURE | CSF_GLB_PING | IDLE_EN | CSF_GLB_IDLE)
#define DRIVER_BITS		(CONFIGURE | CSF_GLB_PING | IDLE_EN)
#define COUNTER_IRQS		(CSF_GLB_PRFCNT_ENABLE | CSF_GLB_PRFCNT_SAMPLE |	\
				 CSF_GLB_PRFCNT_THRESHOLD | CSF_GLB_PRFCNT_OVERFLOW)

/* the driver's part of req, without the counters' bits */
static u32 driver_req;
static bool asleep;
/* the ring, allocated and mapped by SETUP of the first session */
static u64 ring_va;
static unsigned int rings;
static int ring_error;

static int prepare(void *priv, void **ring, u64 *va)
{
	if (ring_error)
		return ring_error;
	check_eq(rings++, 0);
	memset(fw.ring, 0, sizeof(fw.ring));
	*ring = fw.ring;
	*va = ring_va;
	return 0;
}

static void unprepare(void *priv)
{
	check_eq(--rings, 0);
}

static void toggle(u32 bits)
{
	unsigned long flags;

	spin_lock_irqsave(&fw.lock, flags);
	driver_req ^= bits;
	fw.input.req ^= bits;
	spin_unlock_irqrestore(&fw.lock, flags);
	firmware_process();
	/* firmware handles the driver's requests at once */
	fw.output.ack = (fw.output.ack & ~DRIVER_BITS) | (fw.input.req & DRIVER_BITS);
}

/* as panthor_fw_init_global_iface() after each boot: no lock, all of the mask */
static void init_global_iface(void)
{
	unsigned long flags;

	fw.input.ack_irq_mask = DRIVER_IRQS;
	spin_lock_irqsave(&fw.lock, flags);
	fw.input.req = (fw.input.req & ~IDLE_EN) | IDLE_EN;
	spin_unlock_irqrestore(&fw.lock, flags);
	driver_req = fw.input.req & DRIVER_BITS;
	toggle(CONFIGURE);
}

static void ping(void)
{
	toggle(CSF_GLB_PING);
}

/* firmware without a metadata block, as Debian has it */
static void probe(void)
{
	static struct csf_perfctr_driver_ops ops;

	native_free_managed();
	firmware_default_config();
	fw.config.extended_metadata = false;
	fw.metadata = false;
	ops = *fw.config.ops;
	ops.prepare = prepare;
	ops.unprepare = unprepare;
	fw.config.ops = &ops;
	ring_va = fw.config.ring_va;
	fw.config.ring_va = 0;
	fw.config.ring = NULL;
	rings = 0;
	ring_error = 0;
	firmware_boot();
	fw.input.req = 0;
	init_global_iface();
	fixture_create();
	check(!IS_ERR(csf));
	asleep = false;
}

/* --- the core behind the hooks of the driver --- */

static int core_start(void)
{
	if (!rings)
		check_eq(core.source->ops->prepare(core.source), 0);
	return core.source->ops->start(core.source, 0);
}

static void suspend(bool fast)
{
	struct drm_perfctr_collection c;

	check_eq(core_collect(&c), 0);
	core.source->ops->stop(core.source);
	/* then panthor_fw_suspend(): the microcontroller halts */
	asleep = true;
	check(!fw.counting);
	check_eq(fw.input.req & CSF_GLB_PRFCNT_ENABLE, 0);
	if (!fast)
		firmware_restart();
}

static void resume(void)
{
	asleep = false;
	init_global_iface();
	/* the driver's mask has no bit of the counters */
	check_eq(fw.input.ack_irq_mask & COUNTER_IRQS, 0);
	check_eq(core_start(), 0);
}

static void reset_on_hang(void)
{
	core.source->ops->reset(core.source);
	/* all sections are loaded again: pages, ring state and requests are gone */
	firmware_restart();
	init_global_iface();
	check_eq(core_start(), 0);
}

static void count(u32 n)
{
	unsigned int b;

	check(!asleep);
	native_sleep_ns(20000);
	for (b = 0; b < fw.blocks; b++)
		firmware_count(b, 4 + b % 8, n + b);
	ping();
}

static void collect(void)
{
	struct drm_perfctr_collection c;

	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
}

static u64 totals(const u64 (*of)[128])
{
	u64 sum = 0;
	unsigned int b, i;

	for (b = 0; b < FIRMWARE_MAX_BLOCKS; b++)
		for (i = 0; i < 128; i++)
			sum += of[b][i];
	return sum;
}

/* sums over all blocks and counters; test_csf.c compares each of them */
static u64 lost(void)
{
	return totals(fw.counted) - totals(fw.dropped) - totals(core.totals);
}

TEST(requests_of_the_driver_are_kept)
{
	unsigned int i;

	probe();
	check_eq(core_start(), 0);
	for (i = 0; i < 20; i++) {
		count(i);
		collect();
		check_eq(fw.input.req & DRIVER_BITS, driver_req);
		check_eq(fw.input.ack_irq_mask, DRIVER_IRQS | COUNTER_IRQS);
	}
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
	core.source->ops->stop(core.source);
	check_eq(fw.input.req & DRIVER_BITS, driver_req);
	check_eq(fw.input.ack_irq_mask & DRIVER_IRQS, DRIVER_IRQS);
}

TEST(suspend_and_resume_lose_no_count)
{
	unsigned int i;

	probe();
	check_eq(core_start(), 0);
	for (i = 0; i < 1000; i++) {
		count(i);
		if (i % 3)
			collect();
		count(1);
		suspend(i % 2);
		resume();
	}
	count(5);
	collect();
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
}

/* probe, first suspend and first resume happen before the first session */
TEST(suspend_before_the_first_session_is_harmless)
{
	probe();
	asleep = true;
	firmware_restart();
	asleep = false;
	init_global_iface();
	check_eq(fw.enables, 0);
	check_eq(core_start(), 0);
	count(7);
	collect();
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
}

TEST(reset_loses_uncollected_counts_only)
{
	u64 before, after;

	probe();
	check_eq(core_start(), 0);
	count(11);
	collect();
	before = totals(fw.counted);
	count(13);
	after = totals(fw.counted);
	reset_on_hang();
	count(17);
	collect();
	/* the reset dropped the counts since the collection */
	check_eq(totals(fw.dropped), after - before);
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
}

TEST(random_resets_and_suspends_lose_no_collected_count)
{
	struct random_state random = { test_seed() };
	unsigned int i;

	probe();
	check_eq(core_start(), 0);
	for (i = 0; i < 500; i++) {
		count(random_below(&random, 100));
		switch (random_below(&random, 4)) {
		case 0:
			reset_on_hang();
			break;
		case 1:
			suspend(random_below(&random, 2));
			resume();
			break;
		default:
			collect();
		}
	}
	collect();
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
	check_eq(fw.input.req & DRIVER_BITS, driver_req);
}

TEST(ring_exists_while_sessions_do)
{
	probe();
	ring_error = -ENOMEM;
	check_eq(core.source->ops->prepare(core.source), -ENOMEM);
	ring_error = 0;
	check_eq(core_start(), 0);
	check_eq(rings, 1);
	count(3);
	collect();
	core.source->ops->stop(core.source);
	core.source->ops->unprepare(core.source);
	check_eq(rings, 0);
	/* a second session */
	check_eq(core_start(), 0);
	count(5);
	collect();
	check_eq(lost(), 0);
	check_eq(fw.protocol_errors, 0);
}

TEST(ring_is_kept_while_firmware_may_write)
{
	probe();
	check_eq(core_start(), 0);
	fw.fail.no_disable_ack = FOREVER;
	core.source->ops->stop(core.source);
	core.source->ops->unprepare(core.source);
	check_eq(rings, 1);
	/* the next session uses the same ring; firmware answers again */
	fw.fail.no_disable_ack = 0;
	check_eq(core_start(), 0);
	count(3);
	collect();
	check_eq(lost(), 0);
	core.source->ops->stop(core.source);
	core.source->ops->unprepare(core.source);
	check_eq(rings, 0);

	/* without an acknowledgment of the stop, the release of the device frees the ring */
	check_eq(core_start(), 0);
	fw.fail.no_disable_ack = FOREVER;
	core.source->ops->stop(core.source);
	core.source->ops->unprepare(core.source);
	check_eq(rings, 1);
	native_free_managed();
	check_eq(rings, 0);
	fw.fail.no_disable_ack = 0;
	probe();
}

/* a late interrupt of the job IRQ after the source was stopped for good */
TEST(interrupts_after_unplug_are_harmless)
{
	u32 req;

	probe();
	check_eq(core_start(), 0);
	count(1);
	suspend(true);
	req = fw.input.req;
	fw.output.ack ^= CSF_GLB_PRFCNT_THRESHOLD | CSF_GLB_PRFCNT_OVERFLOW;
	fixture_irq();
	check_eq(fw.input.req, req);
	check_eq(lost(), 0);
}

/* only the sizes in firmware distinguish 64 counters from 128 */
TEST(geometry_that_differs_from_firmware_is_refused)
{
	probe();
	fw.config.counters_per_block = 128;
	csf = drmm_csf_perfctr_create(NULL, NULL, &fw.config);
	check(IS_ERR(csf) && PTR_ERR(csf) == -EINVAL);
	csf = NULL;
}
