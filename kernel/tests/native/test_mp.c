// SPDX-License-Identifier: GPL-2.0
/*
 * MP counters of contexts and of the driver share slots: a context counts as if it were alone on
 * the GPU, and the driver's counters count always, or report the missed time.
 */
#include "nv50_mp.h"
#include "test.h"

#define CORES		3
#define CONTEXTS	3
#define STEPS		200000

static struct nv50_mp mp;
static struct nv50_mp_context image[CONTEXTS];

static u32 control_of(u32 unit, u32 signal, u16 func, bool pulse)
{
	return (pulse ? MP_CONTROL_PULSE : 0) | unit << MP_CONTROL_UNIT_SHIFT |
	       (u32)func << MP_CONTROL_FUNC_SHIFT | signal << MP_CONTROL_SIGNAL_SHIFT;
}

static u32 own_control(u32 unit, u32 signal, unsigned int slot)
{
	return control_of(unit, signal, mp_func_own(slot), false);
}

static void run(const struct mp_signals *signals, u64 clocks)
{
	unsigned int k;

	for (k = 0; k < CORES; k++)
		mp_run(&mp.tpc[k], &signals[k], clocks);
}

/* one wire of each TPC */
static void run_wire(u32 unit, u32 signal, u64 clocks)
{
	struct mp_signals s[CORES] = { 0 };
	unsigned int k;

	for (k = 0; k < CORES; k++)
		pm_signal_set(&s[k].unit[unit], signal, true);
	run(s, clocks);
}

static void set_up(void)
{
	memset(image, 0, sizeof(image));
	nv50_mp_init(&mp, CORES);
}

TEST(context_claims_the_slots_of_its_functions)
{
	u32 control[MP_SLOTS] = { 0 };

	check_eq(nv50_mp_claimed(control), 0);
	control[2] = own_control(4, 2, 2);
	check_eq(nv50_mp_claimed(control), BIT(2));
	/* a function that is never true also needs its slot */
	control[2] = control_of(4, 2, 0, false);
	check_eq(nv50_mp_claimed(control), BIT(2));
	/* slots 0 and 3 at once */
	control[2] = control_of(4, 2, 0xaa00, false);
	check_eq(nv50_mp_claimed(control), BIT(0) | BIT(2) | BIT(3));
	control[2] = control_of(4, 2, 0x8000, true);
	check_eq(nv50_mp_claimed(control), BIT(0) | BIT(1) | BIT(2) | BIT(3));
	control[2] = control_of(4, 2, 0xffff, false);
	check_eq(nv50_mp_claimed(control), BIT(2));
}

/* two counters, one slot, two jobs: each counter gets the slot once */
TEST(counter_that_missed_most_gets_the_slot)
{
	const u32 wanted[MP_SLOTS] = { own_control(4, 2, 0), own_control(4, 9, 1) };
	unsigned int slot, job;

	set_up();
	nv50_mp_program(&mp, wanted);
	nv50_mp_begin(&mp, &image[0]);
	for (slot = 0; slot + 1 < MP_SLOTS; slot++)
		nv50_mp_method(&mp, MP_PM_CONTROL(slot), own_control(0, 0x0b, slot));
	nv50_mp_end(&mp);
	for (job = 0; job < 2; job++) {
		nv50_mp_begin(&mp, &image[0]);
		check_eq(mp.slot[job], 3);
		check_eq(mp.slot[!job], MP_SLOTS);
		nv50_mp_passed(&mp, 100);
		nv50_mp_end(&mp);
	}
	for (slot = 0; slot < 2; slot++)
		check_eq(nv50_mp_take_missed_ns(&mp, slot), 100);
}

TEST(saturation_stays_with_its_counter)
{
	const u32 wanted[MP_SLOTS] = { own_control(4, 2, 0), own_control(4, 9, 1) };
	bool saturated;

	set_up();
	nv50_mp_program(&mp, wanted);
	nv50_mp_begin(&mp, &image[0]);
	run_wire(4, 2, 5000000000ull);
	nv50_mp_method(&mp, MP_PM_CONTROL(0), own_control(4, 9, 0));
	run_wire(4, 2, 1);
	check_eq(nv50_mp_take(&mp, 0, 1, &saturated), 0);
	check(!saturated);
	check_eq(nv50_mp_take(&mp, 0, 0, &saturated), U32_MAX + 1ull);
	check(saturated);
	nv50_mp_take(&mp, 0, 0, &saturated);
	check(!saturated);
	nv50_mp_end(&mp);
}

/* --- random contexts against contexts on their own GPU ---------------------------------- */

static struct {
	/* each context on a GPU of its own */
	struct mp_state alone[CONTEXTS][CORES];
	int running;
	u32 wanted[MP_SLOTS];
	u64 count[CORES][MP_SLOTS], missed_ns[MP_SLOTS];
	struct mp_signals signals[CORES];
} ideal;

static u32 random_control(struct random_state *r)
{
	static const u16 own[] = { 0xaaaa, 0xcccc, 0xf0f0, 0xff00 };

	if (!random_below(r, 3))
		return 0;
	return control_of(random_below(r, 2), random_below(r, 4),
			  random_below(r, 2) ? own[random_below(r, 4)] : random_u64(r),
			  random_below(r, 2));
}

static void random_signals(struct random_state *r)
{
	unsigned int k, unit;

	for (k = 0; k < CORES; k++)
		for (unit = 0; unit < 2; unit++)
			ideal.signals[k].unit[unit].bits[0] = random_below(r, 16);
}

static void check_driver(void)
{
	unsigned int wanted = 0, placed = 0, counter, k;
	u8 used = 0;

	for (counter = 0; counter < MP_SLOTS; counter++) {
		bool saturated;

		wanted += !!ideal.wanted[counter];
		if (mp.slot[counter] < MP_SLOTS) {
			check(!(used & BIT(mp.slot[counter])));
			used |= BIT(mp.slot[counter]);
			placed++;
		}
		for (k = 0; k < CORES; k++) {
			check_eq(nv50_mp_take(&mp, k, counter, &saturated),
				 ideal.count[k][counter]);
			ideal.count[k][counter] = 0;
		}
		check_eq(nv50_mp_take_missed_ns(&mp, counter), ideal.missed_ns[counter]);
		ideal.missed_ns[counter] = 0;
	}
	check(!(used & mp.claimed));
	/* no slot is unused while a counter waits for one */
	if (ideal.running >= 0)
		check_eq(placed, min_t(unsigned int, wanted, MP_SLOTS - hweight64(mp.claimed)));
}

static void random_clocks(struct random_state *r)
{
	const u64 clocks = 1 + random_below(r, 5);
	unsigned int k, counter;

	random_signals(r);
	run(ideal.signals, clocks);
	if (ideal.running < 0)
		return;
	nv50_mp_passed(&mp, clocks);
	for (counter = 0; counter < MP_SLOTS; counter++)
		if (ideal.wanted[counter] && mp.slot[counter] == MP_SLOTS)
			ideal.missed_ns[counter] += clocks;
	for (k = 0; k < CORES; k++) {
		mp_run(&ideal.alone[ideal.running][k], &ideal.signals[k], clocks);
		for (counter = 0; counter < MP_SLOTS; counter++) {
			const u32 control = ideal.wanted[counter];
			const u32 unit = (control & MP_CONTROL_UNIT) >> MP_CONTROL_UNIT_SHIFT;

			if (control && mp.slot[counter] < MP_SLOTS &&
			    pm_signal(&ideal.signals[k].unit[unit],
				      control >> MP_CONTROL_SIGNAL_SHIFT))
				ideal.count[k][counter] += clocks;
		}
	}
}

static void random_method(struct random_state *r)
{
	const unsigned int slot = random_below(r, MP_SLOTS);
	const bool set = random_below(r, 2);
	const u32 method = set ? MP_PM_SET(slot) : MP_PM_CONTROL(slot);
	/* also values that saturate soon */
	const u32 data = set ? random_u64(r) | (random_below(r, 4) ? 0 : 0xfffffff0) :
			       random_control(r);
	unsigned int k;

	nv50_mp_method(&mp, method, data);
	for (k = 0; k < CORES; k++)
		mp_method(&ideal.alone[ideal.running][k], method, data);
}

static void check_context(void)
{
	unsigned int k, slot;

	for (k = 0; k < CORES; k++)
		for (slot = 0; slot < MP_SLOTS; slot++)
			check_eq(nv50_mp_read(&mp, k, slot),
				 ideal.alone[ideal.running][k].value[slot]);
}

static void random_step(struct random_state *r)
{
	unsigned int counter;

	if (!random_below(r, 1000)) {
		nv50_mp_reset(&mp);
		memset(ideal.alone, 0, sizeof(ideal.alone));
		memset(ideal.wanted, 0, sizeof(ideal.wanted));
		memset(ideal.count, 0, sizeof(ideal.count));
		memset(ideal.missed_ns, 0, sizeof(ideal.missed_ns));
	} else if (!random_below(r, 40)) {
		for (counter = 0; counter < MP_SLOTS; counter++)
			ideal.wanted[counter] = random_below(r, 4) ?
				own_control(random_below(r, 2), random_below(r, 4), counter) : 0;
		memset(ideal.count, 0, sizeof(ideal.count));
		memset(ideal.missed_ns, 0, sizeof(ideal.missed_ns));
		nv50_mp_program(&mp, ideal.wanted);
	} else if (!random_below(r, 10)) {
		if (ideal.running < 0) {
			ideal.running = random_below(r, CONTEXTS);
			nv50_mp_begin(&mp, &image[ideal.running]);
		} else {
			nv50_mp_end(&mp);
			ideal.running = -1;
		}
	} else if (ideal.running >= 0 && random_below(r, 2)) {
		random_method(r);
	}
	random_clocks(r);
	if (!random_below(r, 4))
		check_driver();
	if (ideal.running >= 0)
		check_context();
}

TEST(contexts_count_as_if_alone)
{
	struct random_state r = { test_seed() + 8 };
	const unsigned long rounds = test_rounds(STEPS);
	unsigned long i;

	set_up();
	memset(&ideal, 0, sizeof(ideal));
	ideal.running = -1;
	for (i = 0; i < rounds; i++)
		random_step(&r);
}
