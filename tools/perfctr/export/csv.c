// SPDX-License-Identifier: MIT
/* A capture as CSV: a line for each counter of each block of each sample. */
#include <inttypes.h>

#include "lib/escape.h"
#include "export.h"

static int csv_begin(struct export *e)
{
	fputs("seq,start_ns,end_ns,user_data,flags,merged_periods,lost_ns,event,unit,scale,value\n",
	      e->out);
	return 0;
}

/* Counters only: a spreadsheet can compute the metrics. */
static int csv_sample(struct export *e, const struct perfctr_sample *sample)
{
	char flags[256];

	perfctr_flag_text(sample->flags, flags, sizeof(flags));
	for (char *c = flags; *c; c++)
		if (*c == ',')
			*c = '+';
	for (size_t n = 0; n < e->values.count; n++) {
		const struct values_line *line = &e->values.lines[n];
		const struct values_item *item = &e->values.items[n];

		if (!line->is_block || line->row->metric || !item->is_present)
			continue;
		fprintf(e->out,
			"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%u,%" PRIu64 ",",
			sample->seq, sample->start_ns, sample->end_ns, sample->user_data, flags,
			sample->merged_periods, sample->lost_ns);
		csv_field(e->out, line->row->event, ",");
		fputc(',', e->out);
		csv_field(e->out, line->row->unit, ",");
		fprintf(e->out, ",%.17g,", line->row->scale);
		if (item->is_measured)
			fprintf(e->out, "%" PRIu64, item->count);
		fputc('\n', e->out);
	}
	return 0;
}

static int csv_end(struct export *e)
{
	return 0;
}

const struct export_format export_csv = { "csv", csv_begin, csv_sample, csv_end };
