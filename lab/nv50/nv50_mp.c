// SPDX-License-Identifier: GPL-2.0
/*
 * MP counters of contexts, and those of the driver, which share the slots.
 */
#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/string.h>

#include "nv50_mp.h"

/**
 * DOC: slots
 *
 * A TPC has four slots, which are part of a context: what a job programs persists for the next job
 * of the same context, and is invisible to others. The driver counts for all contexts; in each of
 * them, it uses the slots that the context leaves free::
 *
 *     context A   programs nothing      driver: slots 0 1 2 3
 *     context B   CONTROL(1) != 0       driver: slots 0   2 3, its fourth counter misses B
 *     context B   CONTROL(1) := 0       driver: slots 0 1 2 3
 *
 * A context owns a slot while its CONTROL is not zero, and while the function of another of its
 * slots depends on the slot's signal: the driver's signal would change what the context counts.
 *
 * Before a context gets a slot, the driver's counts are read from it. Conversely, the context's
 * value of a free slot is saved while the driver uses the slot: it cannot change meanwhile,
 * because a slot whose CONTROL is zero does not count.
 *
 * A real driver would write the registers in a prologue of each job, and between two slices of
 * work.
 */

static bool depends_on(u32 control, unsigned int argument)
{
	const u32 op = (control & MP_CONTROL_FUNC) >> MP_CONTROL_FUNC_SHIFT;

	for (unsigned int args = 0; args < 16; args++)
		if (pm_table(op, args) != pm_table(op, args ^ BIT(argument)))
			return true;
	return false;
}

/* Slots that a context needs. @control: what it has programmed. Returns: a mask. */
u8 nv50_mp_claimed(const u32 control[MP_SLOTS])
{
	u8 claimed = 0;

	for (unsigned int slot = 0; slot < MP_SLOTS; slot++) {
		if (!control[slot])
			continue;
		claimed |= BIT(slot);
		for (unsigned int argument = 0; argument < MP_SLOTS; argument++)
			if (depends_on(control[slot], argument))
				claimed |= BIT(argument);
	}
	return claimed;
}

/*
 * Whether a job may contain a method.
 * @method: the method; @data: its value.
 * Returns: true if it sets or programs an MP counter, using defined bits only.
 */
bool nv50_mp_is_method(u32 method, u32 data)
{
	const u32 defined = MP_CONTROL_PULSE | MP_CONTROL_UNIT | MP_CONTROL_FUNC |
			    MP_CONTROL_SIGNAL;

	for (unsigned int slot = 0; slot < MP_SLOTS; slot++) {
		if (method == MP_PM_SET(slot))
			return true;
		if (method == MP_PM_CONTROL(slot))
			return !(data & ~defined) &&
			       (data & MP_CONTROL_UNIT) >> MP_CONTROL_UNIT_SHIFT < MP_UNITS;
	}
	return false;
}

/* a method for all TPCs */
static void broadcast(struct nv50_mp *m, u32 method, u32 data)
{
	for (unsigned int k = 0; k < m->cores; k++)
		mp_method(&m->tpc[k], method, data);
}

/* removes the driver's @counter from its slot and saves its counts */
static void vacate(struct nv50_mp *m, unsigned int counter)
{
	const unsigned int slot = m->slot[counter];

	if (slot == MP_SLOTS)
		return;
	for (unsigned int k = 0; k < m->cores; k++) {
		m->saved[k][counter] += m->tpc[k].value[slot];
		if (m->tpc[k].value[slot] == U32_MAX)
			m->full[k] |= BIT(counter);
	}
	broadcast(m, MP_PM_CONTROL(slot), 0);
	broadcast(m, MP_PM_SET(slot), 0);
	m->slot[counter] = MP_SLOTS;
}

static void copy_slot(struct mp_state *to, const struct mp_state *from, unsigned int slot)
{
	to->control[slot] = from->control[slot];
	to->value[slot] = from->value[slot];
	to->out = (to->out & ~BIT(slot)) | (from->out & BIT(slot));
}

/* saves a slot that the context no longer needs, or whose context stops */
static void put_aside(struct nv50_mp *m, unsigned int slot)
{
	for (unsigned int k = 0; k < m->cores; k++)
		copy_slot(&m->context->tpc[k], &m->tpc[k], slot);
	broadcast(m, MP_PM_CONTROL(slot), 0);
	broadcast(m, MP_PM_SET(slot), 0);
}

static void put_in(struct nv50_mp *m, unsigned int slot)
{
	for (unsigned int k = 0; k < m->cores; k++)
		copy_slot(&m->tpc[k], &m->context->tpc[k], slot);
}

/* the unplaced driver counter that missed the most time; MP_SLOTS: none */
static unsigned int next_counter(const struct nv50_mp *m)
{
	unsigned int counter, next = MP_SLOTS;

	for (counter = 0; counter < MP_SLOTS; counter++)
		if (m->wanted[counter] && m->slot[counter] == MP_SLOTS &&
		    (next == MP_SLOTS ||
		     m->missed_total_ns[counter] > m->missed_total_ns[next]))
			next = counter;
	return next;
}

/* places the driver's counters in free slots of the running context */
static void place(struct nv50_mp *m)
{
	unsigned int counter;
	u8 used = m->claimed;

	for (counter = 0; counter < MP_SLOTS; counter++)
		used |= m->slot[counter] < MP_SLOTS ? BIT(m->slot[counter]) : 0;
	for (unsigned int slot = 0; slot < MP_SLOTS; slot++) {
		if (used & BIT(slot))
			continue;
		counter = next_counter(m);
		if (counter == MP_SLOTS)
			return;
		m->slot[counter] = slot;
		broadcast(m, MP_PM_SET(slot), 0);
		broadcast(m, MP_PM_CONTROL(slot),
			  (m->wanted[counter] & ~MP_CONTROL_FUNC) |
			  (u32)mp_func_own(slot) << MP_CONTROL_FUNC_SHIFT);
	}
}

/* the set of slots that the running context needs has changed */
static void claim(struct nv50_mp *m, u8 claimed)
{
	const u8 before = m->claimed;

	for (unsigned int i = 0; i < MP_SLOTS; i++)
		if (m->slot[i] < MP_SLOTS && claimed & BIT(m->slot[i]))
			vacate(m, i);
	for (unsigned int i = 0; i < MP_SLOTS; i++) {
		if (before & ~claimed & BIT(i))
			put_aside(m, i);
		if (claimed & ~before & BIT(i))
			put_in(m, i);
	}
	m->claimed = claimed;
}

static void clear_slots(struct nv50_mp *m)
{
	memset(m->tpc, 0, sizeof(m->tpc));
	memset(m->slot, MP_SLOTS, sizeof(m->slot));
	m->claimed = 0;
}

static void clear_counters(struct nv50_mp *m)
{
	memset(m->wanted, 0, sizeof(m->wanted));
	memset(m->saved, 0, sizeof(m->saved));
	memset(m->full, 0, sizeof(m->full));
	memset(m->missed_ns, 0, sizeof(m->missed_ns));
	memset(m->missed_total_ns, 0, sizeof(m->missed_total_ns));
}

/*
 * Initialise without a context and driver counters.
 * @m: the MP counters; @cores: number of present TPCs.
 */
void nv50_mp_init(struct nv50_mp *m, unsigned int cores)
{
	memset(m, 0, sizeof(*m));
	m->cores = cores;
	clear_slots(m);
}

/* GPU reset: clears the registers, and those of all contexts. @m: the MP counters. */
void nv50_mp_reset(struct nv50_mp *m)
{
	clear_slots(m);
	clear_counters(m);
	m->resets++;
	/* the context still runs while the driver programs its counters again */
	if (m->context)
		memset(m->context->tpc, 0, sizeof(m->context->tpc));
}

/*
 * Start a job of a context.
 * @m: the MP counters; no context may be running; @context: the context; all zero before its first
 * job.
 */
void nv50_mp_begin(struct nv50_mp *m, struct nv50_mp_context *context)
{
	if (context->resets != m->resets)
		memset(context->tpc, 0, sizeof(context->tpc));
	m->context = context;
	claim(m, nv50_mp_claimed(context->tpc[0].control));
	place(m);
}

/* End the job. @m: the MP counters. */
void nv50_mp_end(struct nv50_mp *m)
{
	for (unsigned int counter = 0; counter < MP_SLOTS; counter++)
		vacate(m, counter);
	claim(m, 0);
	m->context->resets = m->resets;
	m->context = NULL;
}

/*
 * Execute a method of the running context.
 * @m: the MP counters; @method: accepted by nv50_mp_is_method(); @data: its value.
 */
void nv50_mp_method(struct nv50_mp *m, u32 method, u32 data)
{
	const unsigned int slot = method / 4 % MP_SLOTS;

	for (unsigned int k = 0; k < m->cores; k++)
		mp_method(m->claimed & BIT(slot) ? &m->tpc[k] : &m->context->tpc[k], method,
			  data);
	if (method != MP_PM_CONTROL(slot))
		return;
	for (unsigned int k = 0; k < m->cores; k++)
		m->context->tpc[k].control[slot] = data;
	claim(m, nv50_mp_claimed(m->context->tpc[0].control));
	place(m);
}

/*
 * Read a counter of the running context.
 * @m: the MP counters; @core: index among the present TPCs; @slot: the slot.
 * Returns: its value.
 */
u32 nv50_mp_read(const struct nv50_mp *m, unsigned int core, unsigned int slot)
{
	return m->claimed & BIT(slot) ? m->tpc[core].value[slot] :
					m->context->tpc[core].value[slot];
}

/*
 * Account for run time of the running context.
 * @m: the MP counters; @ns: time since it began or since the last change.
 */
void nv50_mp_passed(struct nv50_mp *m, u64 ns)
{
	for (unsigned int counter = 0; counter < MP_SLOTS; counter++) {
		if (!m->wanted[counter] || m->slot[counter] < MP_SLOTS)
			continue;
		m->missed_ns[counter] += ns;
		m->missed_total_ns[counter] += ns;
	}
}

/*
 * Set the driver's counters, for all contexts. Counters begin at 0.
 * @m: the MP counters; @control: of each counter, 0: none; its slot determines the function.
 */
void nv50_mp_program(struct nv50_mp *m, const u32 control[MP_SLOTS])
{
	for (unsigned int counter = 0; counter < MP_SLOTS; counter++)
		vacate(m, counter);
	clear_counters(m);
	memcpy(m->wanted, control, sizeof(m->wanted));
	if (m->context)
		place(m);
}

/*
 * Read and clear a driver counter.
 * @m: the MP counters; @core: index among the present TPCs; @counter: the counter; @saturated: set
 * to whether it was at its maximum.
 * Returns: the counts since the last call or since it was programmed.
 */
u64 nv50_mp_take(struct nv50_mp *m, unsigned int core, unsigned int counter, bool *saturated)
{
	const unsigned int slot = m->slot[counter];
	u64 value = m->saved[core][counter];

	*saturated = m->full[core] & BIT(counter);
	m->saved[core][counter] = 0;
	m->full[core] &= ~BIT(counter);
	if (slot == MP_SLOTS)
		return value;
	value += m->tpc[core].value[slot];
	*saturated |= m->tpc[core].value[slot] == U32_MAX;
	mp_method(&m->tpc[core], MP_PM_SET(slot), 0);
	return value;
}

/*
 * Read and clear the time in which a driver counter did not count.
 * @m: the MP counters; @counter: the counter.
 * Returns: run time of contexts that had no slot for it, since the last call or since it was
 * programmed.
 */
u64 nv50_mp_take_missed_ns(struct nv50_mp *m, unsigned int counter)
{
	const u64 ns = m->missed_ns[counter];

	m->missed_ns[counter] = 0;
	return ns;
}
