/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wake-up: a reader that sleeps until the eventfd has something, in all interleavings with the
 * kernel, for every watermark. See README.md for what stands for what. BUG=n breaks it in the n-th way.
 */
#ifndef SLOTS
#define SLOTS	2
#endif
#ifndef BUG
#define BUG	0
#endif
#define SPANS	2
#define DUE	(SLOTS + 1)
#define INDICES	(4 * SLOTS)
#define AHEAD(a, b)	(((a) + INDICES - (b)) % INDICES)

mtype = { stopped, running, dead };

/* shared memory, and the eventfd: something was signalled that was not read */
byte insert_idx;
byte extract_idx;
mtype state = stopped;
bool signalled;

/* ghosts */
byte asked;		/* the watermark of SETUP */
bool telling;		/* the kernel is between a sample and its signal */
bool asleep;
byte runs;

byte watermark;
byte insert, extract;
byte wake_due;

/* perfctr_ring_free() */
#define FREE	(SLOTS - AHEAD(insert, extract))

/* perfctr_sampler_publish() */
inline publish(is_final)
{
	telling = true;
	if
	:: BUG == 2 && AHEAD(insert, extract) + 1 >= watermark -> signalled = true
	:: else -> skip
	fi;
	insert = (insert + 1) % INDICES;
	insert_idx = insert;
	if
	:: is_final && BUG != 4 -> state = stopped
	:: else -> skip
	fi;
	if
	:: BUG == 2 -> skip
	:: BUG != 2 && (AHEAD(insert, extract) >= watermark || (is_final && BUG != 3)) -> wake_due++
	:: else -> skip
	fi
}

/* perfctr_wake(), perfctr_sampler_end_batch() */
inline wake()
{
	if
	:: wake_due -> signalled = true; wake_due = 0
	:: else -> skip
	fi;
	telling = false
}

active proctype kernel()
{
	byte due;

	/* SETUP: perfctr_session_create() */
	select(asked : 1 .. SLOTS);
	if
	:: BUG != 5 && SLOTS > 1 && asked == SLOTS -> watermark = SLOTS - 1
	:: else -> watermark = asked
	fi;

	do
	:: runs < SPANS ->
		/* START, with what was not read yet: refused while the ring is full */
		extract = extract_idx;
		if
		:: FREE >= 1 -> skip
		:: else -> extract_idx != extract; extract = extract_idx
		fi;
		d_step { runs++; state = running };
		due = 0;
		do
		:: due < DUE ->
			/* what is due now: one sample, or the samples of a batch */
			do
			:: due < DUE ->
				due++;
				extract = extract_idx;
				if
				:: FREE >= 2 -> publish(false)
				:: else -> skip		/* merged */
				fi
			:: break
			od;
			if
			:: BUG == 6 -> wake_due = 0
			:: else -> skip
			fi;
			wake()
		:: due == DUE -> break
		od;
		/* perfctr_session_stop() */
		extract = extract_idx;
		publish(true);
		wake();
		if
		:: BUG == 4 -> state = stopped
		:: else -> skip
		fi
	:: runs == SPANS -> break
	od;
	/* TEARDOWN or unplug; or nothing happens any more */
	if
	:: state = dead;
		telling = true;
		wake_due++;
		wake()
	:: skip
	fi
}

/* nobody sleeps while there is what it waits for, or while samples are merged for want of room */
active proctype watch()
{
end:	do
	:: d_step {
		asleep && !signalled && !telling &&
		(AHEAD(insert_idx, extract_idx) >= asked ||
		 (state == running && SLOTS > 1 && SLOTS - AHEAD(insert_idx, extract_idx) < 2)) ->
		assert(false)
	}
	od
}

/* perfctr_cursor_wait(): looks, sleeps, reads the eventfd, looks again */
active proctype user()
{
	byte at;
	mtype was;
	bool last;

	watermark;		/* SETUP is done */
	do
	:: 	d_step { was = state; last = runs == SPANS };
		if
		:: insert_idx != at ->
			at = insert_idx;
			extract_idx = at
		:: else ->
			if
			:: was == dead || (was == stopped && last) -> break
			:: else -> skip
			fi;
#if BUG == 1
			/* an event that is read after the look may be about what came since */
			signalled = false;
#endif
			asleep = true;
			d_step { signalled -> asleep = false; signalled = false }
		fi
	od
}
