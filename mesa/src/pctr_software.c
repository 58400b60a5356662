// SPDX-License-Identifier: MIT
/* Counters of the driver itself, as text for perfctr perfkit. */
#include "pctr_software.h"

#include "pipe/p_context.h"
#include "pipe/p_defines.h"
#include "pipe/p_screen.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the tool takes 64 values in 4096 bytes; names of drivers are short */
enum { MOST_QUERIES = 48, TEXT_BYTES = 3072 };

struct pctr_software {
	struct pipe_context *pipe;
	const struct pctr_functions *driver;
	struct software_query {
		const char *name, *unit;
		struct pipe_query *query;
		bool active;
	} queries[MOST_QUERIES];
	unsigned count;
	struct software_query statistics;
	/* of the frame; the driver's own count, which may be another, takes precedence */
	uint64_t draws;
	bool counts_draws;
	char text[TEXT_BYTES];
};

/* as in the HUD */
static const struct {
	const char *name;
	size_t offset;
} statistics_names[] = {
#define STATISTIC(name, member)                                                    \
	{                                                                          \
		name, offsetof(struct pipe_query_data_pipeline_statistics, member) \
	}
	STATISTIC("ia-vertices", ia_vertices),
	STATISTIC("ia-primitives", ia_primitives),
	STATISTIC("vs-invocations", vs_invocations),
	STATISTIC("gs-invocations", gs_invocations),
	STATISTIC("gs-primitives", gs_primitives),
	STATISTIC("clipper-invocations", c_invocations),
	STATISTIC("clipper-primitives-generated", c_primitives),
	STATISTIC("ps-invocations", ps_invocations),
	STATISTIC("hs-invocations", hs_invocations),
	STATISTIC("ds-invocations", ds_invocations),
	STATISTIC("cs-invocations", cs_invocations),
#undef STATISTIC
};

/* NULL: not a whole number */
static const char *unit_of(const struct pipe_driver_query_info *info)
{
	switch (info->type) {
	case PIPE_DRIVER_QUERY_TYPE_UINT64:
	case PIPE_DRIVER_QUERY_TYPE_UINT:
		return "";
	case PIPE_DRIVER_QUERY_TYPE_BYTES:
		return "bytes";
	case PIPE_DRIVER_QUERY_TYPE_MICROSECONDS:
		return "us";
	case PIPE_DRIVER_QUERY_TYPE_HZ:
		return "Hz";
	default:
		return NULL;
	}
}

/* Batch queries are hardware counters, which some drivers can count for one reader only. */
static void add_queries(struct pctr_software *s, pctr_query_info_fn query_info)
{
	struct pipe_screen *screen = s->pipe->screen;
	unsigned count = query_info ? (unsigned)query_info(screen, 0, NULL) : 0;

	for (unsigned n = 0; n < count && s->count < MOST_QUERIES; n++) {
		struct pipe_driver_query_info info = { 0 };
		struct software_query *q = &s->queries[s->count];

		if (!query_info(screen, n, &info) || info.flags & PIPE_DRIVER_QUERY_FLAG_BATCH ||
		    !unit_of(&info))
			continue;
		q->name = info.name;
		q->unit = unit_of(&info);
		q->query = s->driver->create_query(s->pipe, info.query_type, 0);
		s->count += !!q->query;
		if (q->query && strstr(info.name, "draw-calls"))
			s->counts_draws = false;
	}
}

struct pctr_software *pctr_software_new(struct pipe_context *pipe,
					const struct pctr_functions *driver,
					pctr_query_info_fn query_info, bool has_statistics)
{
	struct pctr_software *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pipe = pipe;
	s->driver = driver;
	s->counts_draws = true;
	add_queries(s, query_info);
	if (has_statistics)
		s->statistics.query = driver->create_query(pipe, PIPE_QUERY_PIPELINE_STATISTICS, 0);
	pctr_software_begin(s);
	return s;
}

static void begin(const struct pctr_software *s, struct software_query *q)
{
	q->active = q->query && s->driver->begin_query(s->pipe, q->query);
}

void pctr_software_begin(struct pctr_software *software)
{
	for (unsigned n = 0; n < software->count; n++)
		begin(software, &software->queries[n]);
	begin(software, &software->statistics);
}

static bool end(const struct pctr_software *s, struct software_query *q,
		union pipe_query_result *result)
{
	bool ok = q->active && s->driver->end_query(s->pipe, q->query);

	q->active = false;
	*result = (union pipe_query_result){ 0 };
	return ok && s->driver->get_query_result(s->pipe, q->query, true, result);
}

static void add_value(struct pctr_software *s, size_t *used, const char *name, uint64_t value,
		      const char *unit)
{
	int length = snprintf(s->text + *used, sizeof(s->text) - *used, "\n%s %" PRIu64 "%s%s",
			      name, value, *unit ? " " : "", unit);

	/* a value that does not fit is left out */
	if (length > 0 && (size_t)length < sizeof(s->text) - *used)
		*used += (size_t)length;
	s->text[*used] = '\0';
}

void pctr_software_draw(struct pctr_software *software, unsigned draws)
{
	software->draws += draws;
}

const char *pctr_software_end(struct pctr_software *software, bool is_complete)
{
	struct pctr_software *s = software;
	union pipe_query_result result;
	size_t used = 0;

	s->text[0] = '\0';
	if (s->counts_draws && is_complete)
		add_value(s, &used, "draw-calls", s->draws, "");
	s->draws = 0;
	for (unsigned n = 0; n < s->count; n++)
		if (end(s, &s->queries[n], &result))
			add_value(s, &used, s->queries[n].name, result.u64, s->queries[n].unit);
	if (!end(s, &s->statistics, &result))
		return s->text;
	for (unsigned n = 0; n < sizeof(statistics_names) / sizeof(statistics_names[0]); n++)
		add_value(s, &used, statistics_names[n].name,
			  *(const uint64_t *)((const char *)&result.pipeline_statistics +
					      statistics_names[n].offset),
			  "");
	return s->text;
}

void pctr_software_free(struct pctr_software *software)
{
	union pipe_query_result result;

	if (!software)
		return;
	for (unsigned n = 0; n < software->count; n++) {
		end(software, &software->queries[n], &result);
		software->driver->destroy_query(software->pipe, software->queries[n].query);
	}
	end(software, &software->statistics, &result);
	if (software->statistics.query)
		software->driver->destroy_query(software->pipe, software->statistics.query);
	free(software);
}
