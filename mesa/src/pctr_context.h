/* SPDX-License-Identifier: MIT */
/*
 * Queries of one GL context, on one session of the device.
 *
 * A session has the counters of all queries of the context and is replaced when a query needs more.
 * A query takes one sample when it begins and one when it ends. Its values are the sum of all
 * samples in between, from any requester. Samples that a job takes between two of its commands
 * belong to the context: an attributed query counts only the context's own commands on the GPU.
 *
 * A context and everything made from it belong to one thread at a time.
 */
#pragma once

#include "pctr_catalogue.h"

struct pctr_context;
struct pctr_query;

/* user_data of samples: the owner of the commands before the sample */
enum pctr_mark {
	PCTR_MARK_OTHER = 0, /* anything else */
	PCTR_MARK_OWN = 1, /* commands of this context only */
};

/* purpose of a query */
enum pctr_query_flags {
	PCTR_QUERY_ATTRIBUTED = 1 << 0, /* jobs take samples for it, see pctr_context_sessions() */
	/*
	 * Begin is refused if its counters, or those of other active exact queries, would have to
	 * be multiplexed.
	 */
	PCTR_QUERY_EXACT = 1 << 1,
	/*
	 * a frame of the HUD. The next one begins where it ends, and values of
	 * multiplexed counters are the mean over a window, see struct pctr_window.
	 */
	PCTR_QUERY_FRAME = 1 << 2,
};

/* reports one line, without a line feed, to the user */
typedef void (*pctr_say_fn)(const char *text);

/*
 * Open the device for a GL context.
 * @catalogue: of the device, outlives the context; @say: where messages go.
 * Return: the context or NULL, after a message.
 */
struct pctr_context *pctr_context_new(const struct pctr_catalogue *catalogue, pctr_say_fn say);

/* Also frees the queries. @context: may be NULL */
void pctr_context_free(struct pctr_context *context);

/*
 * File of the device, for the driver's own ioctls.
 * Return: the file descriptor, owned by the context.
 */
int pctr_context_fd(const struct pctr_context *context);

/*
 * Sessions that jobs must take samples of. Those of attributed queries that are active.
 * @sessions: filled with the first @max descriptors.
 * Return: the number of such sessions, which may be above @max.
 */
unsigned int pctr_context_sessions(struct pctr_context *context, int *sessions, unsigned int max);

/*
 * Make room for samples that a job will take.
 * Return: samples that fit into the ring of each session now.
 */
unsigned int pctr_context_room(struct pctr_context *context);

/*
 * Values are not reliable from here on.
 * @what: reason, one sentence without a full stop; only the first reason is reported.
 */
void pctr_context_fail(struct pctr_context *context, const char *what);

/*
 * Create a query.
 * @counters: indices in the catalogue, any order, twice is fine; @count: number of them, at least
 * 1; @flags: enum pctr_query_flags.
 * Return: the query; NULL if the device is gone or memory is short.
 */
struct pctr_query *pctr_query_new(struct pctr_context *context, const unsigned int *counters,
				  unsigned int count, unsigned int flags);

/*
 * Begin to count. A PCTR_QUERY_EXACT query is refused if its counters do not fit in one pass
 * together with all active queries. The trial takes PCTR_LOOKS samples, PCTR_LOOK_NS apart, which
 * cover two multiplexing slots of other sessions; it cannot detect a third pass. If the query does
 * not fit, active exact queries count nothing during the trial. A query of a single counter always
 * begins if no other exact query of the context is active; it is extrapolated if other sessions
 * count. All other queries always begin and may cause active ones to be multiplexed, as may other
 * contexts and processes later. Multiplexed counters are extrapolated, and pctr_query_end() reports
 * that once.
 * @query: query; an active one begins again.
 * Return: whether it counts. Any other reason for a refusal is reported once.
 */
bool pctr_query_begin(struct pctr_query *query);

/*
 * Stop counting and compute the values.
 * Return: whether it was active. The values are final when this returns.
 */
bool pctr_query_end(struct pctr_query *query);

/*
 * Result of the last pctr_query_end().
 * @n: position in the array of pctr_query_new().
 * Return: the value, zero if it was never measured.
 */
union pctr_value pctr_query_value(const struct pctr_query *query, unsigned int n);

/* @query: active or not, may be NULL */
void pctr_query_free(struct pctr_query *query);
