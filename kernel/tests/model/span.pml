/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Repeated START with unread samples in the ring: seq, spans, values, merged_periods and
 * merged_others of the samples. README.md maps the model to the code. The kernel publishes a sample
 * in one step. BUG=n adds the n-th defect.
 */
#ifndef SLOTS
#define SLOTS	2
#endif
#ifndef BUG
#define BUG	0
#endif
#define SPANS	2
/* samples that are due between START and STOP */
#define DUE	SLOTS
#define INDICES	(4 * SLOTS)

#define SLOT(index)	((index) % SLOTS)
#define AHEAD(a, b)	(((a) + INDICES - (b)) % INDICES)

mtype = { periodic, other, final };

typedef sample {
	byte seq;
	mtype reason;
	/* totals of the hardware at start_ns and at end_ns */
	byte start;
	byte end;
	byte merged_periods;
	byte merged_others;
}

/* shared memory */
byte insert_idx;
byte extract_idx;
sample ring[SLOTS];

/* for the assertions: the truth of each span */
byte started_at[SPANS];
byte stopped_at[SPANS];
byte periods_due[SPANS];
byte others_due[SPANS];
bool ended;

byte total;				/* of the hardware */
byte insert, extract;			/* struct perfctr_ring */
byte base, pending_periods, pending_others;
byte free;

/* perfctr_ring_free() */
inline room()
{
	extract = extract_idx;
	free = SLOTS - AHEAD(insert, extract)
}

/* perfctr_sampler_publish() */
inline publish(why)
{
	/* it must not be in use */
	assert(AHEAD(insert, extract_idx) < SLOTS);
	ring[SLOT(insert)].seq = insert;
	ring[SLOT(insert)].reason = why;
	ring[SLOT(insert)].start = base;
	ring[SLOT(insert)].end = total;
	ring[SLOT(insert)].merged_periods = pending_periods + (BUG == 4 -> pending_others : 0);
	ring[SLOT(insert)].merged_others = (BUG == 4 -> 0 : pending_others);
	base = total;
	pending_periods = 0;
	if
	:: BUG != 5 -> pending_others = 0
	:: else -> skip
	fi;
	insert = (insert + 1) % INDICES;
	insert_idx = insert
}

active proctype kernel()
{
	byte span, due;

	do
	:: span < SPANS ->
		/* counts before START, for another session */
		total++;
		/* check_start(): refused while all slots are unread; the caller retries */
		do
		:: d_step { room() };
			if
			:: free >= (BUG == 2 -> 0 : 1) -> break
			:: else -> extract_idx != extract
			fi
		od;
		due = 0;
		/* activate(), perfctr_sampler_baseline() */
		d_step {
			if
			:: BUG != 3 -> base = total
			:: else -> skip
			fi;
			pending_periods = 0;
			pending_others = 0;
			started_at[span] = total
#if BUG == 1
			/* begins with an empty ring */
			; insert_idx = extract_idx; insert = extract_idx
#endif
		};
		do
		:: due < DUE ->
			/* session_due() */
			d_step {
				due++;
				total++;
				periods_due[span]++;
				pending_periods++;
				room();
				if
				:: free >= 2 -> pending_periods--; publish(periodic)
				:: else -> skip
				fi
			}
		:: due < DUE ->
			/* drm_perfctr_session_sample(), perfctr_event() */
			d_step {
				due++;
				total++;
				others_due[span]++;
				room();
				if
				:: free >= 2 -> publish(other)
				:: else -> pending_others++
				fi
			}
		:: break
		od;
		/* perfctr_session_stop() */
		total++;
		d_step {
			stopped_at[span] = total;
			room();
			publish(final);
			span++
		}
	:: else -> break
	od;
	ended = true
}

active proctype user()
{
	byte at, span, from, periods, others;
	bool begun;

	do
	:: ended && insert_idx == at -> break
	:: insert_idx != at ->
		d_step {
			assert(ring[SLOT(at)].seq == at);
			/* no gap within a span, and no counts from between spans */
			assert(ring[SLOT(at)].start == (begun -> from : started_at[span]));
			begun = true;
			from = ring[SLOT(at)].end;
			periods = periods + ring[SLOT(at)].merged_periods +
				  (ring[SLOT(at)].reason == periodic -> 1 : 0);
			others = others + ring[SLOT(at)].merged_others +
				 (ring[SLOT(at)].reason == other -> 1 : 0);
			if
			:: ring[SLOT(at)].reason == final ->
				assert(from == stopped_at[span]);
				assert(periods == periods_due[span]);
				assert(others == others_due[span]);
				span++;
				begun = false;
				periods = 0;
				others = 0
			:: else -> skip
			fi;
			at = (at + 1) % INDICES
		};
		extract_idx = at
	od;
	assert(span == SPANS)
}
