// SPDX-License-Identifier: MIT
/* Reading capture files: any input leads to an error or to the end of the file. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"

enum { FIRST_ROOM_BYTES = 64 * 1024 };

/*
 * Make that many bytes from start on available.
 * Return: 1; 0 the file ends before; a negative errno.
 */
static int fill(struct perfctr_capture_reader *r, size_t wanted)
{
	const struct perfctr_sys *sys = r->ctx->sys;
	ssize_t result;

	if (r->used - r->start >= wanted)
		return 1;
	memmove(r->buffer, r->buffer + r->start, r->used - r->start);
	r->offset += r->start;
	r->used -= r->start;
	r->start = 0;
	while (r->used < wanted && !r->at_end) {
		/* memory grows with the bytes read, not with the size that the file claims */
		if (r->used == r->room) {
			unsigned char *buffer = realloc(r->buffer, 2 * r->room);

			if (!buffer)
				return perfctr_no_memory(r->ctx);
			r->buffer = buffer;
			r->room *= 2;
		}
		result = sys->read(sys->data, r->fd, r->buffer + r->used, r->room - r->used);
		if (result < 0)
			return perfctr_fail(r->ctx, (int)result, "cannot read the capture: %s",
					    strerror((int)-result));
		r->at_end = !result;
		r->used += (size_t)result;
	}
	return r->used >= wanted;
}

static int read_header(struct perfctr_capture_reader *r)
{
	int result = fill(r, CAPTURE_HEADER_BYTES);
	uint64_t version;

	if (result < 0)
		return result;
	if (!result || memcmp(r->buffer, CAPTURE_MAGIC, sizeof(uint64_t)))
		return perfctr_fail(r->ctx, -EBADMSG, "this is no capture file");
	memcpy(&version, r->buffer + sizeof(uint64_t), sizeof(version));
	version = le64toh(version);
	if (version != CAPTURE_VERSION && version != CAPTURE_VERSION_OLD)
		return perfctr_fail(
			r->ctx, -EPROTONOSUPPORT,
			"the capture is of version %llu, this library reads versions %d and %d",
			(unsigned long long)version, CAPTURE_VERSION_OLD, CAPTURE_VERSION);
	r->is_old = version == CAPTURE_VERSION_OLD;
	r->current = CAPTURE_HEADER_BYTES;
	return 0;
}

EXPORT int perfctr_capture_reader_new(struct perfctr_ctx *ctx, int fd,
				      struct perfctr_capture_reader **reader)
{
	struct perfctr_capture_reader *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return perfctr_no_memory(ctx);
	atomic_init(&r->refs, 1);
	r->ctx = perfctr_ctx_ref(ctx);
	r->fd = fd;
	r->room = FIRST_ROOM_BYTES;
	r->session_count = 1;
	r->buffer = malloc(r->room);
	error = r->buffer ? capture_meta_init(&r->meta, ctx) : perfctr_no_memory(ctx);
	if (!error)
		error = read_header(r);
	if (error) {
		perfctr_capture_reader_unref(r);
		return error;
	}
	*reader = r;
	return 0;
}

static void free_capture_reader(struct perfctr_capture_reader *reader)
{
	capture_meta_free(&reader->meta);
	perfctr_ctx_unref(reader->ctx);
	free(reader->buffer);
	free(reader);
}

DEFINE_REFS(EXPORT, perfctr_capture_reader, free_capture_reader)

/* Make a record of the session that is read what it is inside. Return: false for other sessions. */
static bool unwrap(struct perfctr_capture_reader *r, struct perfctr_capture_record *record)
{
	struct capture_of_session of;

	if (record->type != PERFCTR_CAPTURE_OF_SESSION)
		return !r->session || capture_is_common(record);
	perfctr_capture_copy(record, &of, sizeof(of));
	of.session = le32toh(of.session);
	if (record->size < sizeof(of) || !of.session || of.session >= PERFCTR_CAPTURE_MAX_SESSIONS)
		return false;
	if (of.session >= r->session_count)
		r->session_count = of.session + 1;
	record->content = (const unsigned char *)record->content + sizeof(of);
	record->size -= sizeof(of);
	record->type = le32toh(of.type);
	return of.session == r->session;
}

/* Read the next record, of any session. Return: as perfctr_capture_next(). */
static int read_record(struct perfctr_capture_reader *reader, struct perfctr_capture_record *record)
{
	struct capture_record_header header;
	uint32_t size;
	int result;

	reader->start += reader->current;
	reader->current = 0;
	result = fill(reader, sizeof(header));
	if (result <= 0)
		return result;
	memcpy(&header, reader->buffer + reader->start, sizeof(header));
	size = le32toh(header.size);
	if (size < sizeof(header) || size % CAPTURE_ALIGN || size > PERFCTR_CAPTURE_MAX_RECORD)
		return perfctr_fail(reader->ctx, -EBADMSG,
				    "the capture is damaged at byte %llu: a record of %u bytes",
				    (unsigned long long)(reader->offset + reader->start), size);
	result = fill(reader, size);
	if (result <= 0)
		return result;
	*record = (struct perfctr_capture_record){
		.content = reader->buffer + reader->start + sizeof(header),
		.size = size - sizeof(header),
		.offset = reader->offset + reader->start,
		.type = le32toh(header.type),
	};
	reader->current = size;
	if (reader->is_old)
		capture_upgrade(record, reader->buffer + reader->start + sizeof(header));
	return 1;
}

EXPORT int perfctr_capture_next(struct perfctr_capture_reader *reader,
				struct perfctr_capture_record *record)
{
	int result;

	do
		result = read_record(reader, record);
	while (result > 0 && !unwrap(reader, record));
	if (result <= 0)
		return result;
	result = capture_meta_take(&reader->meta, record);
	return result < 0 ? result : 1;
}

EXPORT int perfctr_capture_reader_select(struct perfctr_capture_reader *reader,
					 unsigned int session)
{
	if (session >= PERFCTR_CAPTURE_MAX_SESSIONS)
		return perfctr_fail(reader->ctx, -ERANGE, "a capture has at most %d sessions",
				    PERFCTR_CAPTURE_MAX_SESSIONS);
	reader->session = session;
	return 0;
}

EXPORT unsigned int perfctr_capture_session_count(const struct perfctr_capture_reader *reader)
{
	return reader->session_count;
}

EXPORT uint64_t perfctr_capture_cut_bytes(const struct perfctr_capture_reader *reader)
{
	return reader->used - reader->start - reader->current;
}

EXPORT struct perfctr_device *perfctr_capture_device(const struct perfctr_capture_reader *reader)
{
	return reader->meta.device;
}

EXPORT struct perfctr_selection *
perfctr_capture_selection(const struct perfctr_capture_reader *reader)
{
	return reader->meta.selection;
}

EXPORT const struct perfctr_capture_session *
perfctr_capture_session(const struct perfctr_capture_reader *reader)
{
	return reader->meta.has_session ? &reader->meta.session : NULL;
}

EXPORT const struct drm_perfctr_status *
perfctr_capture_status(const struct perfctr_capture_reader *reader)
{
	return reader->meta.has_status ? &reader->meta.status : NULL;
}
