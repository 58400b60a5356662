// SPDX-License-Identifier: MIT
/* Any bytes as a capture file. */
#include <perfctr/capture.h>
#include <stdlib.h>
#include <string.h>

#include "host/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

/* Return data in pieces, as a pipe does. */
static ssize_t read_input(void *data, int fd, void *bytes, size_t size)
{
	struct input *in = data;
	size_t part = size < in->size ? size : in->size;

	if (part > 100)
		part = 100;
	memcpy(bytes, in->data, part);
	in->data += part;
	in->size -= part;
	return (ssize_t)part;
}

/* Use the file like a report: names, units, metrics. */
static void use(const struct perfctr_capture_reader *reader, const struct perfctr_totals *totals)
{
	const struct perfctr_selection *selection = perfctr_capture_selection(reader);
	const struct perfctr_totals_block *block;
	struct perfctr_totals *sum;
	struct perfctr_value value;
	char text[64];

	for (size_t b = 0; (block = perfctr_totals_block(totals, b)); b++) {
		for (size_t n = 0; perfctr_totals_counter(block, n); n++) {
			perfctr_totals_label(selection, block, n, text, sizeof(text));
			perfctr_totals_unit(selection, block, n, text, sizeof(text), NULL);
			perfctr_totals_value(block, n, &value, NULL);
		}
	}
	if (perfctr_totals_sum(totals, &sum))
		return;
	for (size_t n = 0; n < perfctr_selection_metric_count(selection); n++)
		perfctr_totals_metric(sum, perfctr_selection_metric(selection, n), NULL, &value);
	perfctr_totals_unref(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct perfctr_sys sys = { .data = &in, .read = read_input };
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_capture_record record;
	struct drm_perfctr_device_info info;
	struct perfctr_totals *totals;
	struct perfctr_sample sample;
	struct perfctr_ctx *ctx;
	struct perfctr_capture_mark mark;
	struct perfctr_anchor anchor;
	struct perfctr_marks *marks;
	uint64_t possible = 0;
	const char *key, *value;
	size_t used = 16;

	if (perfctr_ctx_new_with(&sys, &ctx))
		abort();
	/* one of the sessions of a file of several */
	if (!perfctr_capture_reader_new(ctx, 0, &reader) &&
	    !perfctr_capture_reader_select(reader, size ? data[size - 1] % 3 : 0)) {
		if (perfctr_totals_new(ctx, &totals) || perfctr_marks_new(ctx, &marks) ||
		    perfctr_totals_describe(totals, perfctr_capture_selection(reader)))
			abort();
		while (perfctr_capture_next(reader, &record) > 0) {
			/*
			 * Records of other sessions are passed over; a sample of a file of version
			 * 1 has grown by 8 bytes
			 */
			if (record.offset + 8 < used)
				abort();
			used = record.offset + record.size + 8;
			perfctr_capture_copy(&record, &info, sizeof(info));
			if (record.type == PERFCTR_CAPTURE_SAMPLE &&
			    !perfctr_capture_sample(reader, &record, &sample))
				possible++;
			perfctr_capture_anchor(reader, &record, &anchor);
			if (perfctr_decode_sample(record.content, record.size, &sample) > 0)
				perfctr_totals_add(totals, &sample);
			if (perfctr_marks_add(marks, &record))
				abort();
			if (!perfctr_capture_text(&record, &key, &value) &&
			    strlen(key) + strlen(value) + 2 > record.size)
				abort();
			perfctr_capture_mark(&record, &mark, &key);
		}
		if (used > size + 8)
			abort();
		use(reader, totals);
		if (perfctr_totals_span(totals)->samples < possible ||
		    perfctr_marks_finish(marks, reader))
			abort();
		perfctr_capture_bad_numbers(reader);
		for (size_t n = 0; n < perfctr_marks_count(marks); n++)
			if (perfctr_marks_get(marks, n)->kind > PERFCTR_MARK_BEGIN)
				abort();
		perfctr_marks_unref(marks);
		perfctr_totals_unref(totals);
	}
	perfctr_capture_reader_unref(reader);
	perfctr_ctx_unref(ctx);
	return 0;
}
