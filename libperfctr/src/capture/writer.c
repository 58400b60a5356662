// SPDX-License-Identifier: MIT
/* Writing capture files. Recording never decodes: a sample is copied by its size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "decode/layout.h"
#include "session/session.h"

enum { BUFFER_BYTES = 256 * 1024 };

struct perfctr_capture_writer {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	int fd;
	perfctr_capture_write_fn write; /* instead of @fd, or NULL */
	void *write_data;
	unsigned char *buffer;
	size_t used, room;
	unsigned int session; /* that is written */
	/* samples and marks that the file does not have completely */
	uint64_t samples, marks;
	/* bytes of the buffer's beginning that belong to a record which is partly in the file */
	size_t torn;
	uint32_t torn_type;
	struct perfctr_capture_written written;
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

EXPORT int perfctr_capture_writer_new_to(struct perfctr_ctx *ctx, perfctr_capture_write_fn write,
					 void *data, struct perfctr_capture_writer **writer)
{
	int error = perfctr_capture_writer_new(ctx, -1, writer);

	if (error)
		return error;
	(*writer)->write = write;
	(*writer)->write_data = data;
	return 0;
}

static void free_capture_writer(struct perfctr_capture_writer *writer)
{
	perfctr_ctx_unref(writer->ctx);
	free(writer->buffer);
	free(writer);
}

DEFINE_REFS(EXPORT, perfctr_capture_writer, free_capture_writer)

/* The type of a whole record, of one of another session that of what is inside. */
static uint32_t type_of(const unsigned char *record)
{
	struct capture_record_header header;
	struct capture_of_session of;

	memcpy(&header, record, sizeof(header));
	if (le32toh(header.type) != PERFCTR_CAPTURE_OF_SESSION)
		return le32toh(header.type);
	memcpy(&of, record + sizeof(header), sizeof(of));
	return le32toh(of.type);
}

static void count_records(struct perfctr_capture_writer *w, uint64_t samples, uint64_t marks)
{
	w->written.samples += samples;
	w->written.marks += marks;
	w->samples -= samples;
	w->marks -= marks;
}

/* Count the records that end within the first bytes of the buffer, which the file now has. */
static void count_written(struct perfctr_capture_writer *w, size_t done)
{
	struct capture_record_header header;
	size_t at = 0, size;
	uint32_t type = 0;

	for (; at < done; at += size) {
		const bool is_header = !w->written.bytes && !at;

		if (w->torn) {
			size = w->torn;
			type = w->torn_type;
		} else if (is_header) {
			size = CAPTURE_HEADER_BYTES;
		} else {
			memcpy(&header, w->buffer + at, sizeof(header));
			size = le32toh(header.size);
			type = type_of(w->buffer + at);
		}
		w->torn = at + size > done ? at + size - done : 0;
		w->torn_type = w->torn && !is_header ? type : 0;
		if (w->torn || is_header)
			continue;
		count_records(w, type == PERFCTR_CAPTURE_SAMPLE, type == PERFCTR_CAPTURE_MARK);
	}
}

static ssize_t write_bytes(const struct perfctr_capture_writer *w, const void *bytes, size_t size)
{
	const struct perfctr_sys *sys = w->ctx->sys;

	return w->write ? w->write(w->write_data, bytes, size) :
			  sys->write(sys->data, w->fd, bytes, size);
}

EXPORT int perfctr_capture_flush(struct perfctr_capture_writer *writer)
{
	size_t done = 0;
	ssize_t result = 0;

	while (done < writer->used) {
		result = write_bytes(writer, writer->buffer + done, writer->used - done);
		if (result <= 0)
			break;
		done += (size_t)result;
	}
	/* a look at each record takes as long as a tenth of recording it */
	if (done < writer->used) {
		count_written(writer, done);
	} else {
		count_records(writer, writer->samples, writer->marks);
		writer->torn = 0;
	}
	writer->written.bytes += done;
	/* after an error continue with the first unwritten byte */
	memmove(writer->buffer, writer->buffer + done, writer->used - done);
	writer->used -= done;
	if (!writer->used)
		return 0;
	result = result ? result : -EIO;
	return perfctr_fail(writer->ctx, (int)result, "cannot write the capture: %s",
			    strerror((int)-result));
}

EXPORT uint64_t perfctr_capture_bytes(const struct perfctr_capture_writer *writer)
{
	return writer->written.bytes + writer->used;
}

EXPORT void perfctr_capture_written(const struct perfctr_capture_writer *writer,
				    struct perfctr_capture_written *written, size_t size)
{
	memset(written, 0, size);
	memcpy(written, &writer->written,
	       size < sizeof(writer->written) ? size : sizeof(writer->written));
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

/* A record of two parts, the second may be empty. @session: 0: the first, or all of them. */
static int write_parts(struct perfctr_capture_writer *w, unsigned int session, uint32_t type,
		       const void *first, size_t first_bytes, const void *second,
		       size_t second_bytes)
{
	const struct capture_of_session of = { htole32(session), htole32(type) };
	size_t of_bytes = session ? sizeof(of) : 0;
	size_t bytes = of_bytes + first_bytes + second_bytes;
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
	header.type = htole32(session ? PERFCTR_CAPTURE_OF_SESSION : type);
	memcpy(to, &header, sizeof(header));
	to += sizeof(header);
	/* most records are samples, and none of them needs more than one copy */
	if (session)
		memcpy(to, &of, sizeof(of));
	memcpy(to + of_bytes, first, first_bytes);
	if (second_bytes)
		memcpy(to + of_bytes + first_bytes, second, second_bytes);
	if (padded > bytes)
		memset(to + bytes, 0, padded - bytes);
	w->used += size;
	w->samples += type == PERFCTR_CAPTURE_SAMPLE;
	w->marks += type == PERFCTR_CAPTURE_MARK;
	return 0;
}

/* A record of the session that is written. */
static int write_record(struct perfctr_capture_writer *w, uint32_t type, const void *first,
			size_t first_bytes, const void *second, size_t second_bytes)
{
	return write_parts(w, w->session, type, first, first_bytes, second, second_bytes);
}

EXPORT int perfctr_capture_writer_select(struct perfctr_capture_writer *writer,
					 unsigned int session)
{
	if (session >= PERFCTR_CAPTURE_MAX_SESSIONS)
		return perfctr_fail(writer->ctx, -ERANGE, "a capture has at most %d sessions",
				    PERFCTR_CAPTURE_MAX_SESSIONS);
	writer->session = session;
	return 0;
}

/* Consecutive texts, each with its NUL. */
struct texts {
	char *bytes;
	size_t used, room;
};

static bool add_text(struct texts *t, const char *text)
{
	size_t length = strlen(text) + 1;

	if (length > t->room - t->used) {
		size_t room = 2 * (t->room + length);
		char *bytes = realloc(t->bytes, room);

		if (!bytes)
			return false;
		t->bytes = bytes;
		t->room = room;
	}
	memcpy(t->bytes + t->used, text, length);
	t->used += length;
	return true;
}

/* A record of a structure followed by texts. */
static int write_with_texts(struct perfctr_capture_writer *w, uint32_t type, const void *fixed,
			    size_t fixed_bytes, const char *const *texts, size_t count)
{
	struct texts t = { 0 };
	int error = 0;

	for (size_t n = 0; !error && n < count; n++)
		if (!add_text(&t, texts[n]))
			error = perfctr_no_memory(w->ctx);
	if (!error)
		error = write_record(w, type, fixed, fixed_bytes, t.bytes, t.used);
	free(t.bytes);
	return error;
}

static int write_naming(struct perfctr_capture_writer *w, uint64_t number,
			const struct selection_label *label)
{
	const uint64_t content[] = {
		htole64(number),
		htole64(label->single),
		htole64(label->summed),
	};

	/* requests without a name have no naming */
	if (!label->single && !label->summed)
		return 0;
	return write_record(w, PERFCTR_CAPTURE_NAMING, content, sizeof(content), NULL, 0);
}

static int write_requests(struct perfctr_capture_writer *w, const struct perfctr_selection *s)
{
	int error = 0;
	uint64_t n;

	for (n = 0; !error && n < s->request_count; n++) {
		const struct selection_label *label = &s->labels[n];
		uint64_t number = htole64(n);
		char scale[32];
		const char *texts[] = { label->text, label->unit, scale };

		snprintf(scale, sizeof(scale), "%.17g", label->scale > 0 ? label->scale : 1);
		error = write_record(w, PERFCTR_CAPTURE_REQUEST, &s->requests[n],
				     sizeof(s->requests[n]), NULL, 0);
		if (!error)
			error = write_naming(w, n, label);
		if (!error && label->text[0])
			error = write_with_texts(w, PERFCTR_CAPTURE_LABEL, &number, sizeof(number),
						 texts, ARRAY_SIZE(texts));
	}
	return error;
}

static bool is_product_of_device(const struct perfctr_device *d,
				 const struct perfctr_counter_desc *c)
{
	/* a PMU is described by its samples; it may be missing in the device's blocks */
	if (c->pmu[0])
		return true;
	for (size_t n = 0; n < d->block_count; n++)
		if (d->blocks[n].type == c->block_type && d->blocks[n].product == c->product)
			return true;
	return false;
}

/* Whether the counter can be in the samples. */
static bool is_selected(const struct perfctr_selection *s, const struct perfctr_counter_desc *c)
{
	for (size_t n = 0; n < s->request_count; n++) {
		const struct drm_perfctr_block_request *r = &s->requests[n];

		if (r->type == c->block_type && r->type != DRM_PERFCTR_BLOCK_GENERIC_PMU &&
		    c->position / DRM_PERFCTR_SECTION_COUNTERS == r->section && r->set < 32 &&
		    c->sets >> r->set & 1 &&
		    r->mask >> c->position % DRM_PERFCTR_SECTION_COUNTERS & 1)
			return is_product_of_device(s->device, c);
	}
	return false;
}

static int write_counter(struct perfctr_capture_writer *w, const struct perfctr_counter_desc *c)
{
	const struct perfctr_capture_counter fixed = {
		.event = c->event,
		.sets = c->sets,
		.product = c->product,
		.block_type = c->block_type,
		.position = c->position,
		.clock = c->clock,
		.kind = c->kind,
		.trust = c->trust,
		.optional = c->optional,
		.header_bytes = sizeof(fixed),
		.shift = c->shift,
	};
	const char *texts[] = { c->id, c->name, c->short_text, c->long_text, c->unit, c->pmu };

	return write_with_texts(w, PERFCTR_CAPTURE_COUNTER, &fixed, sizeof(fixed), texts,
				ARRAY_SIZE(texts));
}

static int write_metric(struct perfctr_capture_writer *w, const struct perfctr_metric_desc *m)
{
	const struct perfctr_capture_metric fixed = {
		.product = m->product,
		.block_type = m->block_type,
		.scope = m->scope,
		.trust = m->trust,
		.header_bytes = sizeof(fixed),
	};
	const char *texts[] = { m->id, m->name, m->short_text, m->long_text, m->unit, m->formula };

	return write_with_texts(w, PERFCTR_CAPTURE_METRIC, &fixed, sizeof(fixed), texts,
				ARRAY_SIZE(texts));
}

/* Names and meaning of the selected counters, so that readers need no database. */
static int write_catalogue(struct perfctr_capture_writer *w, const struct perfctr_selection *s)
{
	const struct perfctr_counter_desc *counter = NULL;
	int error = 0;

	while (!error && (counter = perfctr_counter_next(counter)))
		if (is_selected(s, counter))
			error = write_counter(w, counter);
	for (size_t n = 0; !error && n < s->metric_count; n++)
		error = write_metric(w, s->metrics[n]);
	return error;
}

static int write_text(struct perfctr_capture_writer *w, const char *key, const char *value)
{
	return write_record(w, PERFCTR_CAPTURE_TEXT, key, strlen(key) + 1, value,
			    strlen(value) + 1);
}

static int write_device(struct perfctr_capture_writer *w, const struct perfctr_device *d)
{
	char number[16];
	int error;

	error = write_record(w, PERFCTR_CAPTURE_DEVICE, &d->info, sizeof(d->info), NULL, 0);
	for (size_t n = 0; !error && n < d->block_count; n++)
		error = write_record(w, PERFCTR_CAPTURE_BLOCK, &d->blocks[n], sizeof(d->blocks[n]),
				     NULL, 0);
	for (size_t n = 0; !error && n < d->clock_count; n++)
		error = write_record(w, PERFCTR_CAPTURE_CLOCK, &d->clocks[n], sizeof(d->clocks[n]),
				     NULL, 0);
	if (!error)
		error = write_text(w, CAPTURE_KEY_DRIVER, d->driver);
	if (!error)
		error = write_text(w, CAPTURE_KEY_PATH, d->path);
	snprintf(number, sizeof(number), "%u", d->ext_bus_bytes);
	if (!error && d->ext_bus_bytes)
		error = write_text(w, CAPTURE_KEY_BUS, number);
	return error;
}

EXPORT int perfctr_capture_write_session(struct perfctr_capture_writer *writer,
					 const struct perfctr_session *session)
{
	struct perfctr_capture_session how;
	int error;

	if (!session->selection)
		return perfctr_fail(
			session_ctx(session), -EINVAL,
			"the session has no selection, and a capture names what it has");
	how = (struct perfctr_capture_session){
		.period_ns = session->period_ns,
		.flags = session->flags,
		.slots = session->sizes.slots,
		.sample_bytes = session->sizes.sample_bytes,
		.block_count = session->sizes.block_count,
		.set = session->selection->set,
	};
	error = write_device(writer, session->device);
	if (!error)
		error = write_record(writer, PERFCTR_CAPTURE_SESSION, &how, sizeof(how), NULL, 0);
	if (!error)
		error = write_requests(writer, session->selection);
	return error ? error : write_catalogue(writer, session->selection);
}

EXPORT int perfctr_capture_write_totals(struct perfctr_capture_writer *writer,
					const struct drm_perfctr_status *status)
{
	const struct perfctr_capture_totals totals = {
		.flags = status->flags,
		.slots = status->slots,
		.published = status->published,
		.read = status->published - (status->insert_idx - status->extract_idx),
		.merged_periods = status->merged_periods,
		.pending_merged = status->pending_merged,
		.lost_ns = status->lost_ns,
		.errors = status->errors,
		.overflows = status->overflows,
		.resets = status->resets,
		.bad_extract = status->bad_extract,
		.ring_full = status->ring_full,
		.wakeups = status->wakeups,
		.merged_others = status->merged_others,
	};

	return write_record(writer, PERFCTR_CAPTURE_STATUS, &totals, sizeof(totals), NULL, 0);
}

EXPORT int perfctr_capture_write_status(struct perfctr_capture_writer *writer,
					struct perfctr_session *session)
{
	struct drm_perfctr_status status;
	int error = perfctr_session_status(session, &status, sizeof(status));

	return error ? error : perfctr_capture_write_totals(writer, &status);
}

EXPORT int perfctr_capture_write_anchor(struct perfctr_capture_writer *writer)
{
	struct perfctr_anchor anchor;
	int error = perfctr_time_anchor(&anchor);

	if (error)
		return perfctr_fail(writer->ctx, error, "cannot read the clocks");
	return write_parts(writer, 0, PERFCTR_CAPTURE_ANCHOR, &anchor, sizeof(anchor), NULL, 0);
}

EXPORT int perfctr_capture_write_text(struct perfctr_capture_writer *writer, const char *key,
				      const char *value)
{
	return write_parts(writer, 0, PERFCTR_CAPTURE_TEXT, key, strlen(key) + 1, value,
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

EXPORT int perfctr_capture_write_mark(struct perfctr_capture_writer *writer, const void *bytes,
				      size_t size)
{
	struct perfctr_capture_mark mark;

	if (capture_mark_check(bytes, size, &mark))
		return perfctr_fail(writer->ctx, -EBADMSG, "bytes that are no mark");
	return write_parts(writer, 0, PERFCTR_CAPTURE_MARK, bytes, mark.bytes, NULL, 0);
}
