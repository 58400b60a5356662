/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring protocol: kernel and user space, all interleavings. See README.md
 * for what stands for what. SLOTS is 1, 2 or 4; indices run modulo INDICES, so
 * that they wrap many times over in a run. HOSTILE replaces the reader by one
 * that writes any extract_idx. BUG=n breaks the protocol in the n-th way, which
 * the model must notice.
 */
#ifndef SLOTS
#define SLOTS	2
#endif
#ifndef BUG
#define BUG	0
#endif
/* due samples of the session; the last one is STOP */
#define DUE	(2 * SLOTS + 3)
/* free-running index modulo this: a multiple of SLOTS, so that it wraps in a run */
#define INDICES	(2 * SLOTS)

#define SLOT(index)	((index) % SLOTS)
#define AHEAD(a, b)	(((a) + INDICES - (b)) % INDICES)

/* shared memory */
byte insert_idx;
byte extract_idx;
bool dead;
/* a sample has two words, written and read one after the other */
byte low[SLOTS];
byte high[SLOTS];
/* merged_periods of the sample in the slot */
byte merged_in[SLOTS];

/* ghosts, which the protocol does not see */
bool writing[SLOTS];
bool reading[SLOTS];
byte published;
byte consumed;
byte periods;
bool stopped;

active proctype kernel()
{
	byte insert = 0, extract = 0, seen, free, merged = 0, due = 0;

	do
	:: due < DUE ->
		due++;
		/* perfctr_ring_free(): read once, accept what is possible */
		seen = extract_idx;
		if
		:: AHEAD(seen, extract) <= AHEAD(insert, extract) -> extract = seen
#ifdef HOSTILE
		/* ignored and counted; BUG=4 believes it */
		:: else ->
			if
			:: BUG == 4 -> extract = seen
			:: BUG != 4 -> skip
			fi
#else
		:: else -> assert(false)	/* user space here is honest */
#endif
		fi;
		/* never more unread samples than slots, whatever was written */
		assert(AHEAD(insert, extract) <= SLOTS);
		free = SLOTS - AHEAD(insert, extract);
		if
		/* STOP publishes in the last slot, everything else keeps it free */
		:: (due == DUE && free >= 1) || (due < DUE && free >= (BUG == 1 -> 1 : 2)) ->
			/* perfctr_ring_slot() */
			writing[SLOT(insert)] = true;
			assert(!reading[SLOT(insert)]);
#if BUG == 2
			insert_idx = (insert + 1) % INDICES;
#endif
			low[SLOT(insert)] = published;
			assert(!reading[SLOT(insert)]);
			high[SLOT(insert)] = published;
			merged_in[SLOT(insert)] = merged;
			merged = 0;
			writing[SLOT(insert)] = false;
			/* perfctr_ring_publish() */
			d_step {
				published++;
				insert = (insert + 1) % INDICES;
				insert_idx = insert;
				if
				:: due == DUE -> stopped = true
				:: else -> skip
				fi
			}
		:: else ->
			/* stretched: part of the next sample */
			assert(due < DUE);
			merged++
		fi
	:: else -> break
	od;
	assert(stopped);
	assert(merged == 0);
	dead = true
}

#ifdef HOSTILE
/* writes whatever it likes whenever it likes; what it reads is its own affair */
active proctype user()
{
	byte any;

	do
	:: any < INDICES - 1 -> any++
	:: any > 0 -> any--
	:: extract_idx = any
	:: dead -> break
	od
}
#else
active proctype user()
{
	byte extract = 0, insert, l, h;
	bool end;

	do
	:: 	end = dead;
		insert = insert_idx;
		assert(AHEAD(insert, extract) <= SLOTS);
		if
		:: insert == extract && end -> break
		:: insert == extract && !end ->
			/* eventfd: nothing to do until one of the two changes */
			(insert_idx != extract || dead)
		:: else ->
			reading[SLOT(extract)] = true;
			assert(!writing[SLOT(extract)]);
			l = low[SLOT(extract)];
			assert(!writing[SLOT(extract)]);
#if BUG == 3
			extract_idx = (extract + 1) % INDICES;
#endif
			h = high[SLOT(extract)];
			/* the right sample, complete */
			assert(l == consumed && h == consumed);
			periods = periods + 1 + merged_in[SLOT(extract)];
			reading[SLOT(extract)] = false;
			consumed++;
			extract = (extract + 1) % INDICES;
			extract_idx = extract
		fi
	od;
	/* nothing was dropped: every due sample is in one that was read */
	assert(consumed == published);
	assert(periods == DUE)
}
#endif
