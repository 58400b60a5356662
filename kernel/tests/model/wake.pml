/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wake-up: a reader that sleeps until the eventfd is signalled, in all interleavings with the
 * kernel, for every watermark. README.md maps the model to the code. BUG=n adds the n-th defect.
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

/* shared memory; signalled: the eventfd's count is not zero */
byte insert_idx;
byte extract_idx;
mtype state = stopped;
bool signalled;

/* for the assertions */
byte asked;		/* the watermark of SETUP */
bool publishing;	/* the kernel is between a sample and the queueing of its signal */
bool asleep;
byte runs;

byte watermark;
byte insert, extract;
/* the session's work item is pending; it is signalling; the same of SAMPLE's caller */
bool queued, signalling, unsent, sending;

/* perfctr_ring_free() */
#define FREE	(SLOTS - AHEAD(insert, extract))

/* queue_work(): no effect if it is pending */
#define WAKE	queued = true

/* publish: the sample, the state if it is the final one, then the work */
inline publish(is_final)
{
	publishing = true;
	if
	:: BUG == 2 && AHEAD(insert, extract) + 1 >= watermark -> WAKE
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
	:: BUG != 2 && (AHEAD(insert, extract) >= watermark || (is_final && BUG != 3)) ->
		if
		:: WAKE
		:: !is_final && SLOTS < 4 -> unsent = true	/* for lack of memory */
		fi
	:: else -> skip
	fi;
	if
	:: is_final && BUG == 4 -> state = stopped
	:: else -> skip
	fi;
	publishing = false
}

/* work is not pending while its function runs, and may be queued again */
active proctype worker()
{
end:	do
	:: queued ->
		if
		:: BUG == 6 -> skip
		:: else -> d_step { signalling = true; queued = false }
		fi;
		signalled = true;
		if
		:: BUG == 6 -> queued = false
		:: else -> signalling = false
		fi
	od
}

/* SAMPLE's caller has released its locks */
active proctype caller()
{
end:	do
	:: unsent ->
		d_step { unsent = false; sending = true };
		signalled = true;
		sending = false
	od
}

active proctype kernel()
{
	byte due;

	/* SETUP */
	select(asked : 1 .. SLOTS);
	if
	:: BUG != 5 && SLOTS > 1 && asked == SLOTS -> watermark = SLOTS - 1
	:: else -> watermark = asked
	fi;

	do
	:: runs < SPANS ->
		/* START with unread samples: refused while the ring is full */
		extract = extract_idx;
		if
		:: FREE >= 1 -> skip
		:: else -> extract_idx != extract; extract = extract_idx
		fi;
		d_step { runs++; state = running };
		due = 0;
		do
		:: due < DUE ->
			due++;
			extract = extract_idx;
			if
			:: FREE >= 2 -> publish(false)
			:: else -> skip		/* merged */
			fi
		:: due == DUE -> break
		od;
		/* STOP */
		extract = extract_idx;
		publish(true)
	:: runs == SPANS -> break
	od;
	/* TEARDOWN, unplug, or nothing more */
	if
	:: state = dead; WAKE
	:: skip
	fi
}

/* the reader never sleeps at its watermark, or while samples are merged for lack of a slot */
active proctype watch()
{
end:	do
	:: d_step {
		asleep && !signalled && !publishing &&
		!queued && !signalling && !unsent && !sending &&
		(AHEAD(insert_idx, extract_idx) >= asked ||
		 (state == running && SLOTS > 1 && SLOTS - AHEAD(insert_idx, extract_idx) < 2)) ->
		assert(false)
	}
	od
}

/* perfctr_cursor_wait(): reads the ring, polls, reads the eventfd, reads the ring again */
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
			/* discards a signal of samples published since the ring was read */
			signalled = false;
#endif
			asleep = true;
			d_step { signalled -> asleep = false; signalled = false }
		fi
	od
}
