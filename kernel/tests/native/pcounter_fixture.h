/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for tests of the source of PCOUNTER and MP counters.
 */
#ifndef NATIVE_PCOUNTER_FIXTURE_H
#define NATIVE_PCOUNTER_FIXTURE_H

#include "fake_pcounter.h"
#include "test.h"

#define TPC		2
#define MP_BLOCK	PCOUNTER_DOMAINS
#define MP_DOMAIN	3
/* of all domains: a clock is a nanosecond, so that times and clocks can be compared */
#define HZ		NSEC_PER_SEC
#define RECORD_BYTES	(64u << 10)
#define PERIOD_NS	100000
#define MS		NSEC_PER_MSEC
#define LOST		DRM_PERFCTR_STATE_LOST
#define SATURATED	DRM_PERFCTR_STATE_SATURATED

static inline void want(unsigned int block, unsigned int counter)
{
	core.wanted[block][0] |= 1ull << counter;
}

static inline void set_up(u64 period_ns)
{
	check(!IS_ERR(fake_create(&fake_pcounter_ops, BIT_ULL(TPC), RECORD_BYTES, 0)));
	core.source->period_ns = period_ns;
}

static inline void start(void)
{
	fake_select();
	check_eq(core.source->ops->start(core.source, 0), 0);
}

static inline int collect(void)
{
	return fake_collect(U64_MAX);
}

static inline void pass(u64 ns)
{
	native_sleep_ns(ns);
}

static inline void finish(void)
{
	core.source->ops->stop(core.source);
	native_free_managed();
}

/* GPU_IDLE's signal; the others of the domain are silent */
static inline void idle(bool high)
{
	pm_signal_set(&hw.wires[1], 0xbd, high);
}

static inline void start_idle(void)
{
	start();
	idle(true);
}

/* a session that wants GPU_IDLE */
static inline void set_up_idle(u64 period_ns)
{
	set_up(period_ns);
	want(1, NV50_PCOUNTER_GPU_IDLE);
}

/* the signals of ROP_BUSY */
static inline void rop_busy(void)
{
	pm_signal_set(&hw.wires[2], 0x02, true);
	pm_signal_set(&hw.wires[2], 0x03, true);
}

/* 63 in each clock: a packet in each 976 clocks, 2,048 of them fit */
static inline void rop_overflows(void)
{
	memset(hw.wires[2].bits, 0xff, 3 * sizeof(hw.wires[2].bits[0]));
}

/* macros, so that a failed check has the line of its test */
#define collect_after(ns, errno) \
	do { \
		pass(ns); \
		check_eq(collect(), errno); \
	} while (0)
#define check_loss(flags_, ns) \
	do { \
		check_eq(core.last.flags, flags_); \
		check_eq(core.last.lost_ns, ns); \
	} while (0)
#define check_idle(clocks) \
	do { \
		check_eq(core.totals[1][NV50_PCOUNTER_GPU_IDLE], clocks); \
		check_eq(core.cycles[1], clocks); \
	} while (0)
#define check_idle_ran(ns) \
	do { \
		check_eq(core.running[1][NV50_PCOUNTER_GPU_IDLE], ns); \
		check_eq(core.enabled[1], ns); \
	} while (0)

static inline u32 fault_states(unsigned int block)
{
	return core.states[block] & (LOST | SATURATED | DRM_PERFCTR_STATE_ERROR);
}

#endif /* NATIVE_PCOUNTER_FIXTURE_H */
