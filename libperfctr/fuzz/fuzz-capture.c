// SPDX-License-Identifier: MIT
/* Any bytes as a capture file. */
#include <perfctr/capture.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

/* In pieces, as from a pipe. */
static ssize_t read_input(void *data, int fd, void *bytes, size_t size)
{
	struct input *in = data;
	size_t part = size < in->size ? size : in->size;

	(void)fd;
	if (part > 100)
		part = 100;
	memcpy(bytes, in->data, part);
	in->data += part;
	in->size -= part;
	return (ssize_t)part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct perfctr_sys sys = { .data = &in, .read = read_input };
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_capture_record record;
	struct drm_perfctr_device_info info;
	struct perfctr_sample sample;
	struct perfctr_ctx *ctx;
	const char *key, *value;
	size_t used = 16;

	if (perfctr_ctx_new_with(&sys, &ctx))
		abort();
	if (!perfctr_capture_reader_new(ctx, 0, &reader)) {
		while (perfctr_capture_next(reader, &record) > 0) {
			if (record.offset != used)
				abort();
			used += record.size + 8;
			perfctr_capture_copy(&record, &info, sizeof(info));
			perfctr_decode_sample(record.content, record.size, &sample);
			if (!perfctr_capture_text(&record, &key, &value) &&
			    strlen(key) + strlen(value) + 2 > record.size)
				abort();
		}
		if (used > size)
			abort();
	}
	perfctr_capture_reader_unref(reader);
	perfctr_ctx_unref(ctx);
	return 0;
}
