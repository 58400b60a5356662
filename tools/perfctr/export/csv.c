// SPDX-License-Identifier: MIT
/* Captures as CSV: a line for each counter and metric of each block of each sample. */
#include <errno.h>
#include <inttypes.h>

#include "lib/output.h"
#include "export.h"

/* Fields, each with a comma before it, then @end. Return: 0 or -ENOMEM. */
static int fields(const char *const *texts, size_t count, const char *end, struct piece *piece)
{
	FILE *out = open_memstream(&piece->bytes, &piece->size);

	bool is_whole = out;

	for (size_t n = 0; out && n < count; n++) {
		fputc(',', out);
		is_whole &= csv_field(out, texts[n] ? texts[n] : "", ",");
	}
	if (out)
		fputs(end, out);
	/* glibc's fclose() succeeds without the bytes */
	return out && !fclose(out) && piece->bytes && is_whole ? 0 : -ENOMEM;
}

static int csv_begin(struct export *e)
{
	const char *const origin[] = {
		e->file->path,
		capture_file_text(e->file, "host"),
		capture_file_name(e->file),
	};
	char scale[40];
	int error = fields(origin, ARRAY_SIZE(origin), "\n", &e->origin);

	for (size_t n = 0; !error && n < e->values.count; n++) {
		const struct row *row = e->values.lines[n].row;
		const char *const texts[] = { row->event, row->unit, scale };

		snprintf(scale, sizeof(scale), "%.17g", row->scale);
		error = fields(texts, ARRAY_SIZE(texts), ",", &e->names[n]);
	}
	if (e->is_first)
		text_put(e->text,
			 "seq,start_ns,end_ns,user_data,flags,merged_periods,lost_ns,event,unit,"
			 "scale,value,metric,counts_start_ns,counts_end_ns,end_realtime_ns,file,"
			 "host,device\n");
	return error;
}

static int csv_sample(struct export *e, const struct perfctr_sample *sample)
{
	char flags[256], before[512], after[32] = ",";
	size_t size, after_size = 1;
	uint64_t ns;

	perfctr_flag_text(sample->flags, flags, sizeof(flags));
	for (char *c = flags; *c; c++)
		if (*c == ',')
			*c = '+';
	size = (size_t)snprintf(before, sizeof(before),
				"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%u,%" PRIu64,
				sample->seq, sample->start_ns, sample->end_ns, sample->user_data,
				flags, sample->merged_periods, sample->lost_ns);
	if (capture_file_time(e->file, sample->end_ns, CLOCK_REALTIME, &ns))
		after_size = (size_t)snprintf(after, sizeof(after), ",%" PRIu64, ns);
	for (size_t n = 0; n < e->values.count; n++) {
		const struct values_item *item = &e->values.items[n];
		const bool is_metric = e->values.lines[n].row->metric;

		if (!e->values.lines[n].is_block || !item->is_present)
			continue;
		text_add(e->text, before, size);
		text_piece(e->text, &e->names[n]);
		if (item->is_measured && !is_metric)
			text_value(e->text, e->values.lines[n].row, item->count);
		text_put(e->text, ",");
		if (item->is_measured && is_metric && isfinite(item->number))
			text_double(e->text, item->number);
		text_put(e->text, ",");
		if (item->has_span)
			text_u64(e->text, item->start_ns);
		text_put(e->text, ",");
		if (item->has_span)
			text_u64(e->text, item->end_ns);
		text_add(e->text, after, after_size);
		text_piece(e->text, &e->origin);
	}
	return 0;
}

static int csv_end(struct export *e)
{
	return 0;
}

const struct export_format export_csv = { "csv", csv_begin, csv_sample, csv_end };
