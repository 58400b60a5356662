// SPDX-License-Identifier: MIT
/* Writing capture files. Recording never decodes: a sample is copied by its size. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "layout.h"

enum { BUFFER_BYTES = 256 * 1024 };

struct perfctr_capture_writer {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	int fd;
	unsigned char *buffer;
	size_t used, room;
	uint64_t flushed;
};

EXPORT int perfctr_capture_writer_new(struct perfctr_ctx *ctx, int fd,
				      struct perfctr_capture_writer **writer)
{
	struct perfctr_capture_writer *w = calloc(1, sizeof(*w));
	uint64_t version = htole64(CAPTURE_VERSION);

	if (!w)
		return perfctr_no_memory(ctx);
	w->room = BUFFER_BYTES;
	w->buffer = malloc(w->room);
	if (!w->buffer) {
		free(w);
		return perfctr_no_memory(ctx);
	}
	atomic_init(&w->refs, 1);
	w->ctx = perfctr_ctx_ref(ctx);
	w->fd = fd;
	memcpy(w->buffer, CAPTURE_MAGIC, sizeof(uint64_t));
	memcpy(w->buffer + sizeof(uint64_t), &version, sizeof(version));
	w->used = CAPTURE_HEADER_BYTES;
	*writer = w;
	return 0;
}

EXPORT struct perfctr_capture_writer *
perfctr_capture_writer_ref(struct perfctr_capture_writer *writer)
{
	if (writer)
		perfctr_refs_get(&writer->refs);
	return writer;
}

EXPORT struct perfctr_capture_writer *
perfctr_capture_writer_unref(struct perfctr_capture_writer *writer)
{
	if (!writer || !perfctr_refs_put(&writer->refs))
		return NULL;
	perfctr_ctx_unref(writer->ctx);
	free(writer->buffer);
	free(writer);
	return NULL;
}

EXPORT int perfctr_capture_flush(struct perfctr_capture_writer *writer)
{
	const struct perfctr_sys *sys = writer->ctx->sys;
	size_t done = 0;
	ssize_t result = 0;

	while (done < writer->used) {
		result = sys->write(sys->data, writer->fd, writer->buffer + done,
				    writer->used - done);
		if (result <= 0)
			break;
		done += (size_t)result;
	}
	/* after an error go on where it stopped: no byte twice, none left out */
	memmove(writer->buffer, writer->buffer + done, writer->used - done);
	writer->used -= done;
	writer->flushed += done;
	if (!writer->used)
		return 0;
	result = result ? result : -EIO;
	return perfctr_fail(writer->ctx, (int)result, "cannot write the capture: %s",
			    strerror((int)-result));
}

EXPORT uint64_t perfctr_capture_bytes(const struct perfctr_capture_writer *writer)
{
	return writer->flushed + writer->used;
}

static int make_room(struct perfctr_capture_writer *w, size_t size)
{
	unsigned char *buffer;
	int error;

	if (size <= w->room - w->used)
		return 0;
	error = perfctr_capture_flush(w);
	if (error || size <= w->room)
		return error;
	buffer = realloc(w->buffer, size);
	if (!buffer)
		return perfctr_no_memory(w->ctx);
	w->buffer = buffer;
	w->room = size;
	return 0;
}

/* A record of two parts, the second may be empty. */
static int write_record(struct perfctr_capture_writer *w, uint32_t type, const void *first,
			size_t first_bytes, const void *second, size_t second_bytes)
{
	size_t bytes = first_bytes + second_bytes;
	size_t padded = (bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
	size_t size = CAPTURE_RECORD_HEADER_BYTES + padded;
	struct capture_record_header header;
	unsigned char *to;
	int error;

	if (size > PERFCTR_CAPTURE_MAX_RECORD)
		return perfctr_fail(w->ctx, -E2BIG, "a capture record of %zu bytes", size);
	error = make_room(w, size);
	if (error)
		return error;
	to = w->buffer + w->used;
	header.size = htole32((uint32_t)size);
	header.type = htole32(type);
	memcpy(to, &header, sizeof(header));
	to += sizeof(header);
	memcpy(to, first, first_bytes);
	if (second_bytes)
		memcpy(to + first_bytes, second, second_bytes);
	memset(to + bytes, 0, padded - bytes);
	w->used += size;
	return 0;
}

static int write_requests(struct perfctr_capture_writer *w, const struct perfctr_selection *s)
{
	int error = 0;
	uint64_t n;

	for (n = 0; !error && n < s->request_count; n++) {
		uint64_t number = htole64(n);

		error = write_record(w, PERFCTR_CAPTURE_REQUEST, &s->requests[n],
				     sizeof(s->requests[n]), NULL, 0);
		if (!error && s->labels[n].text[0])
			error = write_record(w, PERFCTR_CAPTURE_LABEL, &number, sizeof(number),
					     s->labels[n].text, strlen(s->labels[n].text) + 1);
	}
	return error;
}

EXPORT int perfctr_capture_write_session(struct perfctr_capture_writer *writer,
					 const struct perfctr_session *session)
{
	const struct perfctr_device *d = session->selection->device;
	int error;
	size_t n;

	error = write_record(writer, PERFCTR_CAPTURE_DEVICE, &d->info, sizeof(d->info), NULL, 0);
	for (n = 0; !error && n < d->block_count; n++)
		error = write_record(writer, PERFCTR_CAPTURE_BLOCK, &d->blocks[n],
				     sizeof(d->blocks[n]), NULL, 0);
	for (n = 0; !error && n < d->clock_count; n++)
		error = write_record(writer, PERFCTR_CAPTURE_CLOCK, &d->clocks[n],
				     sizeof(d->clocks[n]), NULL, 0);
	return error ? error : write_requests(writer, session->selection);
}

EXPORT int perfctr_capture_write_anchor(struct perfctr_capture_writer *writer)
{
	struct perfctr_anchor anchor;
	int error = perfctr_time_anchor(&anchor);

	if (error)
		return perfctr_fail(writer->ctx, error, "cannot read the clocks");
	return write_record(writer, PERFCTR_CAPTURE_ANCHOR, &anchor, sizeof(anchor), NULL, 0);
}

EXPORT int perfctr_capture_write_text(struct perfctr_capture_writer *writer, const char *key,
				      const char *value)
{
	return write_record(writer, PERFCTR_CAPTURE_TEXT, key, strlen(key) + 1, value,
			    strlen(value) + 1);
}

EXPORT int perfctr_capture_write_sample(struct perfctr_capture_writer *writer, const void *bytes,
					size_t size)
{
	uint32_t own;

	if (size >= LAYOUT_SAMPLE_MIN) {
		memcpy(&own, (const unsigned char *)bytes + LAYOUT_SAMPLE_SIZE, sizeof(own));
		own = le32toh(own);
		if (own >= LAYOUT_SAMPLE_MIN && own <= size)
			return write_record(writer, PERFCTR_CAPTURE_SAMPLE, bytes, own, NULL, 0);
	}
	return perfctr_fail(writer->ctx, -EBADMSG, "a sample whose size is not within its slot");
}
