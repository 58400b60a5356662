/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring's two pairs of release and acquire on a weakly ordered machine.
 *
 * ring.pml interleaves statements in program order; here stores become visible in any order that
 * the architecture allows (arm64: any, but for one address and for a store-release), and loads may
 * have been done before the loads in front of them, but for a load-acquire. One slot of two words
 * is enough: it is the slot that is written again that both pairs protect.
 *
 * BUG=1: insert_idx is a plain store.    BUG=2: insert_idx is a plain load.
 * BUG=3: extract_idx is a plain store.   BUG=4: extract_idx is a plain load and the compiler,
 * which nothing forbids it then, has moved the stores to the slot in front of it.
 */
#ifndef BUG
#define BUG 0
#endif
#define SAMPLES 3

/* memory, as the other side sees it */
byte low, high, insert_idx, extract_idx;
/* stores of the kernel's CPU that are not visible yet: one for each address, those are in order */
bool wait_low, wait_high, wait_insert;
byte next_low, next_high, next_insert;

/* store buffer and interconnect: in any order, but a release after all that was stored before it */
active proctype visible()
{
end:	do
	:: d_step { wait_low -> low = next_low; wait_low = false }
	:: d_step { wait_high -> high = next_high; wait_high = false }
	:: d_step {
		wait_insert && (BUG == 1 || (!wait_low && !wait_high)) ->
		insert_idx = next_insert;
		wait_insert = false
	}
	od
}

/* perfctr_ring_free(), perfctr_ring_publish() */
active proctype kernel()
{
	byte n = 1;

	do
	:: n <= SAMPLES ->
		if
		:: BUG != 4 -> extract_idx == n - 1	/* smp_load_acquire() */
		:: BUG == 4 -> skip
		fi;
		d_step { !wait_low -> next_low = n; wait_low = true };
		d_step { !wait_high -> next_high = n; wait_high = true };
		if
		:: BUG == 4 -> extract_idx == n - 1
		:: BUG != 4 -> skip
		fi;
		/* smp_store_release() */
		d_step { !wait_insert -> next_insert = n; wait_insert = true };
		n++
	:: else -> break
	od
}

/* a reader: load-acquire of insert_idx, the slot, store-release of extract_idx */
active proctype user()
{
	byte n = 1, got_low, got_high;
	bool early;

	do
	:: n <= SAMPLES ->
		early = false;
		if
		:: BUG == 2 -> early = true; got_low = low; got_high = high
		:: true -> skip
		fi;
		insert_idx == n;			/* load-acquire */
		if
		:: BUG == 3 -> extract_idx = n;		/* visible before the reads are done */
			got_low = low; got_high = high
		:: early -> extract_idx = n
		:: !early ->
			got_low = low; got_high = high;
			extract_idx = n			/* store-release */
		fi;
		assert(got_low == n && got_high == n);
		n++
	:: else -> break
	od
}
