/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCOUNTER and MP counters of the nv50 family: registers, methods, record packets. The only header
 * shared by the source and the model in lab/nv50.
 *
 * Addresses, CTRL and PM_TRIGGER are as documented by envytools (docs/hw/pcounter/intro.rst,
 * NV40:GF100) and programmed by nouveau's nv40.c; methods are those of Mesa's nv50 driver.
 * "chosen" marks definitions of our own.
 */
#ifndef _PCOUNTER_HW_H_
#define _PCOUNTER_HW_H_

#include <linux/bits.h>
#include <linux/types.h>

#define PCOUNTER_DOMAINS	8
#define PCOUNTER_SIGNALS	256
#define PCOUNTER_SLOTS		4

/* counters of a domain, and the inputs that they count */
enum pcounter_slot {
	PCOUNTER_PRE,
	PCOUNTER_START,
	PCOUNTER_EVENT,
	PCOUNTER_STOP,
};

/* --- registers; @d: domain, @i: enum pcounter_slot ------------------------- */

#define PCOUNTER_SRC(d, i)	(0xa400 + 0x40 * (i) + 4 * (d))
#define PCOUNTER_OP(d, i)	(0xa420 + 0x40 * (i) + 4 * (d))
#define PCOUNTER_SPEC_SRC(d)	(0xa560 + 4 * (d))	/* lowest byte: the signal that swaps */
#define PCOUNTER_STATUS(d)	(0xa5c0 + 4 * (d))	/* chosen: on hardware bits of CTRL */
#define PCOUNTER_CTR_CYCLES(d)	(0xa600 + 4 * (d))
#define PCOUNTER_CTR_EVENT(d)	(0xa680 + 4 * (d))
#define PCOUNTER_CTR_START(d)	(0xa6c0 + 4 * (d))
#define PCOUNTER_RECORD_STATUS(d)	(0xa6e0 + 4 * (d))
#define PCOUNTER_CTR_PRE(d)	(0xa700 + 4 * (d))
#define PCOUNTER_RECORD_LIMIT(d)	(0xa720 + 4 * (d))
#define PCOUNTER_CTR_STOP(d)	(0xa740 + 4 * (d))
#define PCOUNTER_RECORD_START(d)	(0xa760 + 4 * (d))
#define PCOUNTER_GCTRL		0xa7a8
#define PCOUNTER_CTRL(d)	(0xa7c0 + 4 * (d))
#define PCOUNTER_QUAD_ACK(d)	(0xa7e0 + 4 * (d))
#define PGRAPH_PM_TRIGGER	0x400084
#define PGRAPH_PM_TRIGGER_PULSE	0x20

/* SRC: four signals, the first in the lowest byte */
#define PCOUNTER_SRC_SIGNAL(src, n)	(((src) >> (8 * (n))) & 0xff)

/* OP: bit i of the lower half is the output for ARG0 | ARG1 << 1 | ARG2 << 2 | ARG3 << 3 = i */
#define PCOUNTER_OP_TABLE	0xffff

/* CTRL */
#define PCOUNTER_CTRL_MODE	GENMASK(1, 0)
#define PCOUNTER_CTRL_COUNT	GENMASK(6, 4)
#define PCOUNTER_CTRL_COUNT_SHIFT	4
#define PCOUNTER_CTRL_RECORD_SHORT	BIT(20)	/* RECORD: packets of 16 bytes */
/* PERIODIC each 0x400 << k clocks, k = 0..6; a field of 0: never */
#define PCOUNTER_CTRL_PERIODIC	GENMASK(23, 21)
#define PCOUNTER_CTRL_PERIODIC_SHIFT	21
#define PCOUNTER_CTRL_PERIODIC_OF(k)	((u32)((k) + 1) << PCOUNTER_CTRL_PERIODIC_SHIFT)
#define PCOUNTER_PERIODIC_MAX	6
#define PCOUNTER_PERIODIC_CLOCKS(k)	(0x400u << (k))

enum pcounter_mode {
	PCOUNTER_MODE_SINGLE,	/* not modelled, not used */
	PCOUNTER_MODE_QUAD,
	PCOUNTER_MODE_RECORD,
	PCOUNTER_MODE_OFF,	/* chosen: not documented */
};

/*
 * increment per clock. B4: START's four sources as an integer; B6: the same, with EVENT's sources
 * 2 and 3 as bits 4 and 5.
 */
enum pcounter_count_mode {
	PCOUNTER_SIMPLE,
	PCOUNTER_EVENT_B4,
	PCOUNTER_EVENT_B6,
};

/* STATUS of a domain in QUAD mode; SWAP increments it, a write to QUAD_ACK decrements it */
enum pcounter_quad_status {
	PCOUNTER_QUAD_EMPTY,
	PCOUNTER_QUAD_VALID,
	PCOUNTER_QUAD_OVERFLOW,
};

#define PCOUNTER_GCTRL_PERIODIC_RESET	BIT(4)	/* restarts PERIODIC in all domains */

/* trailer: signals of every domain, relative to its trailer base */
#define PCOUNTER_TRAILER_ZERO		0x0c
#define PCOUNTER_TRAILER_PERIODIC	0x0d
#define PCOUNTER_TRAILER_PM_TRIGGER	0x0f

/* trailer base, on G84 and later */
static inline u8 pcounter_trailer(unsigned int d)
{
	static const u8 first[PCOUNTER_DOMAINS] = { 0x00, 0xe0, 0x80, 0x20 };

	return first[d];
}

/* --- record packets --------------------------------------------------------- */

#define PCOUNTER_SHORT_BYTES	16
#define PCOUNTER_SHORT_COUNTERS	4
#define PCOUNTER_RECORD_FULL	0xf000	/* a counter that reaches it causes a packet */
#define PCOUNTER_RECORD_CYCLES	GENMASK_ULL(47, 0)
#define PCOUNTER_RECORD_STOP_SHIFT	48
#define PCOUNTER_RECORD_STOP_MAX	0xfff

/*
 * RECORD_START and RECORD_LIMIT are byte offsets in the domain's memory. The packet that begins at
 * or beyond the limit is the last one. Counters and STOP pulses then accumulate until RECORD_START
 * is written; a single packet holds them. A counter that reaches 0xffff stays there and loses
 * counts.
 */

/*
 * a SHORT packet in memory; little-endian. Counters 0..2 count the macro signals PRE, START and
 * EVENT (in the count mode), counter 3 counts clocks with FLAG, which nothing here sets.
 */
struct pcounter_packet {
	/* cycles since the last packet, and number of STOP pulses; 0: caused by a full counter */
	__le64 cycles_stop;
	__le16 counters[PCOUNTER_SHORT_COUNTERS];	/* saturating */
};

/* RECORD_STATUS */
#define PCOUNTER_RECORD_POSITION	GENMASK(30, 0)	/* offset of the next packet */
#define PCOUNTER_RECORD_OVERRUN		BIT(31)		/* no more packets are written */

/* --- MP counters, programmed by methods of the command stream ---------------- */

#define MP_SLOTS		4
#define MP_PM_SET(slot)		(0x02d0 + 4 * (slot))
#define MP_PM_CONTROL(slot)	(0x02e0 + 4 * (slot))

#define MP_CONTROL_PULSE	BIT(0)
#define MP_CONTROL_UNIT		GENMASK(6, 4)
#define MP_CONTROL_UNIT_SHIFT	4
#define MP_CONTROL_FUNC		GENMASK(23, 8)
#define MP_CONTROL_FUNC_SHIFT	8
#define MP_CONTROL_SIGNAL	GENMASK(31, 24)
#define MP_CONTROL_SIGNAL_SHIFT	24
#define MP_UNITS		6

enum mp_mode {
	MP_LOGOP, /* clocks in which the function is true */
	MP_LOGOP_PULSE, /* clocks in which it becomes true */
};

/* the function that selects only a slot's own signal: argument i is the signal of slot i */
static inline u16 mp_func_own(unsigned int slot)
{
	static const u16 func[MP_SLOTS] = { 0xaaaa, 0xcccc, 0xf0f0, 0xff00 };

	return func[slot];
}

#endif /* _PCOUNTER_HW_H_ */
