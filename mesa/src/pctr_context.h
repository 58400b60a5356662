/* SPDX-License-Identifier: MIT */
/*
 * Queries of one GL context, on one session of the device.
 *
 * A session counts what all queries of the context want and is replaced when a
 * query wants more. A query takes one sample when it begins and one when it
 * ends, however many counters it has; the samples between, whoever took them,
 * add up to its values. Samples that a job took between two of its commands
 * are the context's own: the counters of the GPU in an attributed query are
 * those of the context's commands only.
 *
 * A context and all that is made from it are for one thread at a time.
 */
#ifndef PCTR_CONTEXT_H
#define PCTR_CONTEXT_H

#include "pctr_catalogue.h"

struct pctr_context;
struct pctr_query;

/**
 * enum pctr_mark - user_data of samples: what ends with them
 */
enum pctr_mark {
	/** @PCTR_MARK_OTHER: something else. */
	PCTR_MARK_OTHER = 0,
	/** @PCTR_MARK_OWN: commands of the context, nobody else's. */
	PCTR_MARK_OWN = 1,
};

/**
 * enum pctr_query_flags - what a query is for
 */
enum pctr_query_flags {
	/** @PCTR_QUERY_ATTRIBUTED: jobs take samples for it, see pctr_context_handles(). */
	PCTR_QUERY_ATTRIBUTED = 1 << 0,
	/**
	 * @PCTR_QUERY_EXACT: it does not begin if its counters, or those of other such queries that
	 * are active, have to take turns.
	 */
	PCTR_QUERY_EXACT = 1 << 1,
	/**
	 * @PCTR_QUERY_FRAME: it is a frame of the HUD: the next one begins where it ends, and counters that
	 * take turns are the mean of a window, see struct pctr_window.
	 */
	PCTR_QUERY_FRAME = 1 << 2,
};

/**
 * typedef pctr_say_fn - tells the user, one line without a line feed
 */
typedef void (*pctr_say_fn)(const char *text);

/**
 * pctr_context_new() - open the device for a GL context
 * @catalogue: of the device, outlives the context
 * @say: where messages go
 *
 * Return: the context or NULL, after a message.
 */
struct pctr_context *pctr_context_new(const struct pctr_catalogue *catalogue, pctr_say_fn say);

/**
 * pctr_context_free() - close it and give up its queries
 * @context: context or NULL
 */
void pctr_context_free(struct pctr_context *context);

/**
 * pctr_context_fd() - file of the device, for the driver's own ioctls
 * @context: context
 *
 * Return: the file descriptor, owned by the context.
 */
int pctr_context_fd(const struct pctr_context *context);

/**
 * pctr_context_handles() - sessions that jobs must take samples of
 * @context: context
 * @handles: filled with the first @max handles
 * @max: elements of @handles
 *
 * Those of attributed queries that are active.
 *
 * Return: the number of such sessions, which may be above @max.
 */
unsigned int pctr_context_handles(struct pctr_context *context, uint32_t *handles,
				  unsigned int max);

/**
 * pctr_context_room() - make room for samples that a job will take
 * @context: context
 *
 * Return: samples that fit into the ring of each session now.
 */
unsigned int pctr_context_room(struct pctr_context *context);

/**
 * pctr_context_fail() - values cannot be trusted from here on
 * @context: context
 * @what: reason, one sentence without a full stop; only the first one is told
 */
void pctr_context_fail(struct pctr_context *context, const char *what);

/**
 * pctr_query_new() - create a query
 * @context: context
 * @counters: indices in the catalogue, any order, twice is fine
 * @count: number of them, at least 1
 * @flags: enum pctr_query_flags
 *
 * Return: the query; NULL if the device is gone or memory is short.
 */
struct pctr_query *pctr_query_new(struct pctr_context *context, const unsigned int *counters,
				  unsigned int count, unsigned int flags);

/**
 * pctr_query_begin() - begin to count
 * @query: query, may be active: then it begins again
 *
 * What one pass of the hardware cannot count at once, with what is active and with what others
 * count, is refused if the query is PCTR_QUERY_EXACT. That takes PCTR_LOOKS looks, PCTR_LOOK_NS apart,
 * which see two turns of others: a third pass is not seen. While that is tried active ones of this
 * kind stand still if they do not fit: of what the GPU does meanwhile, for others as the context's
 * work should be done, they count nothing. A query of a single counter always begins if no other
 * PCTR_QUERY_EXACT of the context is active: if others count it is extrapolated. All others always
 * begin, and may make active ones take turns; so may other contexts and processes later. Who had to
 * take turns is extrapolated, and pctr_query_end() tells it, once.
 *
 * Return: whether it counts. If not, and there was another reason than that, it was told, once.
 */
bool pctr_query_begin(struct pctr_query *query);

/**
 * pctr_query_end() - stop to count and compute the values
 * @query: query
 *
 * Return: whether it was active. The values are final when this returns.
 */
bool pctr_query_end(struct pctr_query *query);

/**
 * pctr_query_value() - result of the last pctr_query_end()
 * @query: query
 * @n: position in the array of pctr_query_new()
 *
 * Return: the value, zero if it was never measured.
 */
union pctr_value pctr_query_value(const struct pctr_query *query, unsigned int n);

/**
 * pctr_query_free() - give a query up, active or not
 * @query: query or NULL
 */
void pctr_query_free(struct pctr_query *query);

#endif /* PCTR_CONTEXT_H */
