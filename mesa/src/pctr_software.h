/* SPDX-License-Identifier: MIT */
/*
 * Counters of the driver itself, one value for each frame: its own queries, of which drivers have
 * "draw-calls" and others, and the pipeline's statistics.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pipe_context;
struct pipe_driver_query_info;
struct pipe_query;
struct pipe_screen;
union pipe_query_result;

/* Functions of a context that are replaced. */
struct pctr_functions {
	void (*destroy)(struct pipe_context *pipe);
	struct pipe_query *(*create_query)(struct pipe_context *pipe, unsigned type,
					   unsigned index);
	struct pipe_query *(*create_batch_query)(struct pipe_context *pipe, unsigned count,
						 unsigned *types);
	void (*destroy_query)(struct pipe_context *pipe, struct pipe_query *query);
	bool (*begin_query)(struct pipe_context *pipe, struct pipe_query *query);
	bool (*end_query)(struct pipe_context *pipe, struct pipe_query *query);
	bool (*get_query_result)(struct pipe_context *pipe, struct pipe_query *query, bool wait,
				 union pipe_query_result *result);
};

/* the driver's own function, see struct pipe_screen */
typedef int (*pctr_query_info_fn)(struct pipe_screen *screen, unsigned index,
				  struct pipe_driver_query_info *info);

struct pctr_software;

/*
 * Begin to count.
 * @driver: functions of the context, not hooked; must outlive the result; @query_info: may be NULL;
 * @has_statistics: the driver counts the pipeline's statistics.
 * Return: NULL if out of memory.
 */
struct pctr_software *pctr_software_new(struct pipe_context *pipe,
					const struct pctr_functions *driver,
					pctr_query_info_fn query_info, bool has_statistics);

/* The program draws, @draws times in a call of the driver. */
void pctr_software_draw(struct pctr_software *software, unsigned draws);

/*
 * End a frame whose rendering has finished.
 * @is_complete: pctr_software_draw() was called for all draws.
 * Return: its values, as the protocol of perfctr-perfkit(1) has them behind "frame"; valid until
 * the next call.
 */
const char *pctr_software_end(struct pctr_software *software, bool is_complete);

/* Begin the next frame. */
void pctr_software_begin(struct pctr_software *software);

/* @software: may be NULL */
void pctr_software_free(struct pctr_software *software);
