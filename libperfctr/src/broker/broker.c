// SPDX-License-Identifier: MIT
/*
 * Client side of the protocol in perfctr/broker.h.
 *
 * The operations of a device's link become messages, so the code for devices and sessions does not
 * depend on which process has the DRM file.
 */
#include "session/link.h"

#include <stdlib.h>
#include <string.h>

#include <perfctr/broker.h>

/* files that come with the reply to SESSION, in this order */
enum broker_file { BROKER_READER, BROKER_EVENTFD, BROKER_FILES };

_Static_assert((int)BROKER_FILES == PERFCTR_BROKER_FILES, "as documented");

enum { CONTENT_BYTES = PERFCTR_BROKER_MAX_BYTES - sizeof(struct perfctr_broker_header) };

struct message {
	struct perfctr_broker_header header;
	unsigned char content[CONTENT_BYTES];
};

struct broker {
	struct perfctr_ctx *ctx;
	int fd;
	bool explained;
	/* files of the last SESSION, -1: none */
	int files[BROKER_FILES];
	struct message message;
};

/* --- messages --------------------------------------------------------------------- */

static void drop_files(struct broker *b)
{
	for (size_t n = 0; n < ARRAY_SIZE(b->files); n++) {
		if (b->files[n] >= 0)
			b->ctx->sys->close(b->ctx->sys->data, b->files[n]);
		b->files[n] = -1;
	}
}

/* Messages of a broker are printed on terminals: one line, without control characters. */
static void clean_text(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	perfctr_clean_text(text);
}

static int refused(struct broker *b, size_t bytes)
{
	struct message *m = &b->message;
	int error = m->header.error;

	if (error >= 0 || error < -4095)
		return perfctr_fail(b->ctx, -EPROTO, "the broker does not follow the protocol");
	/* without a text the error is the kernel's and is explained as usual */
	b->explained = bytes && m->content[0];
	if (!b->explained)
		return error;
	m->content[bytes < CONTENT_BYTES ? bytes : CONTENT_BYTES - 1] = '\0';
	clean_text((char *)m->content);
	return perfctr_fail(b->ctx, error, "%s", (const char *)m->content);
}

static int receive_reply(struct broker *b, uint16_t type, size_t *bytes)
{
	const struct perfctr_sys *sys = b->ctx->sys;
	struct message *m = &b->message;
	size_t file_count = ARRAY_SIZE(b->files);
	ssize_t got = sys->receive(sys->data, b->fd, m, sizeof(*m), b->files, &file_count);

	/* the broker hung up with our request unread: first the reset, then its last message */
	if (got == -ECONNRESET) {
		file_count = ARRAY_SIZE(b->files);
		got = sys->receive(sys->data, b->fd, m, sizeof(*m), b->files, &file_count);
	}
	for (size_t n = file_count; n < ARRAY_SIZE(b->files); n++)
		b->files[n] = -1;
	if (!got || got == -ECONNRESET || got == -EPIPE) {
		b->explained = true;
		return perfctr_fail(b->ctx, -ECONNRESET, "the broker ended the connection");
	}
	if (got < 0) {
		b->explained = true;
		return perfctr_fail(b->ctx, (int)got, "no reply from the broker: %s",
				    strerror((int)-got));
	}
	if ((size_t)got < sizeof(m->header) || m->header.size != (size_t)got ||
	    m->header.version != PERFCTR_BROKER_VERSION ||
	    (m->header.type != type && m->header.type != PERFCTR_BROKER_END)) {
		b->explained = true;
		return perfctr_fail(b->ctx, -EPROTO, "the broker does not follow the protocol");
	}
	*bytes = (size_t)got - sizeof(m->header);
	if (m->header.error || m->header.type != type)
		return refused(b, *bytes);
	return 0;
}

/* Send the message with @bytes of content. Return: 0, the reply replaces the message. */
static int ask(struct broker *b, uint16_t type, size_t *bytes)
{
	const struct perfctr_sys *sys = b->ctx->sys;
	struct message *m = &b->message;
	int error;

	drop_files(b);
	b->explained = false;
	m->header.size = (uint32_t)(sizeof(m->header) + *bytes);
	m->header.version = PERFCTR_BROKER_VERSION;
	m->header.type = type;
	m->header.error = 0;
	error = sys->send(sys->data, b->fd, m, m->header.size);
	/* a broker that hung up may have sent a reason before */
	if (error && error != -EPIPE && error != -ECONNRESET) {
		b->explained = true;
		return perfctr_fail(b->ctx, error, "cannot ask the broker: %s", strerror(-error));
	}
	error = receive_reply(b, type, bytes);
	if (error)
		drop_files(b);
	return error;
}

static int malformed(struct broker *b)
{
	b->explained = true;
	return perfctr_fail(b->ctx, -EPROTO, "the broker does not follow the protocol");
}

/* --- operations ------------------------------------------------------------------- */

/* The reply may need several messages. */
static int ask_query(void *data, struct drm_perfctr_query *q)
{
	struct broker *b = data;
	struct message *m = &b->message;
	unsigned char *to = (unsigned char *)(uintptr_t)q->pointer;
	uint32_t done = 0, total;
	size_t bytes;
	int error;

	do {
		m->header = (struct perfctr_broker_header){
			.code = q->type,
			.first = done,
			.count = q->count - done,
			.stride = q->stride,
		};
		bytes = 0;
		error = ask(b, PERFCTR_BROKER_QUERY, &bytes);
		if (error)
			return error;
		total = m->header.first;
		if (m->header.count > q->count - done ||
		    (m->header.count &&
		     (!m->header.stride || m->header.stride > bytes / m->header.count)))
			return malformed(b);
		for (uint32_t n = 0; n < m->header.count; n++) {
			size_t size = m->header.stride < q->stride ? m->header.stride : q->stride;

			memcpy(to + (size_t)(done + n) * q->stride,
			       m->content + (size_t)n * m->header.stride, size);
		}
		done += m->header.count;
	} while (m->header.count && done < q->count && done < total);
	/* fewer elements than announced would leave holes */
	if (q->count && done < total && done < q->count)
		return malformed(b);
	q->count = total;
	return 0;
}

static int broker_open(void *data, struct session_setup *s, int *session)
{
	struct broker *b = data;
	const struct drm_perfctr_open open = {
		.flags = s->flags,
		.slots = s->slots,
		.period_ns = s->period_ns,
		.eventfd = -1,
		.watermark = s->watermark,
		.request_count = s->request_count,
		.request_stride = sizeof(*s->requests),
	};
	const bool check = s->flags & DRM_PERFCTR_OPEN_CHECK;
	size_t request_bytes = (size_t)s->request_count * sizeof(*s->requests);
	size_t bytes = sizeof(open) + request_bytes;
	struct message *m = &b->message;
	int error;

	if (request_bytes > CONTENT_BYTES - sizeof(open)) {
		b->explained = true;
		return perfctr_fail(b->ctx, -E2BIG, "%u requests do not fit a broker's message",
				    s->request_count);
	}
	m->header = (struct perfctr_broker_header){
		.count = s->request_count,
		.stride = sizeof(*s->requests),
	};
	memcpy(m->content, &open, sizeof(open));
	memcpy(m->content + sizeof(open), s->requests, request_bytes);
	error = ask(b, PERFCTR_BROKER_SESSION, &bytes);
	if (error)
		return error;
	if (bytes < sizeof(s->layout) || (!check && b->files[BROKER_EVENTFD] < 0) ||
	    m->header.handle > INT32_MAX)
		return malformed(b);
	memcpy(&s->layout, m->content, sizeof(s->layout));
	s->ring_fd = b->files[BROKER_READER];
	s->eventfd = b->files[BROKER_EVENTFD];
	b->files[BROKER_READER] = b->files[BROKER_EVENTFD] = -1;
	*session = check ? -1 : (int)m->header.handle;
	return 0;
}

/* A request about a session. @argument: replaced by the reply's content of @reply bytes. */
static int ask_session(struct broker *b, uint16_t type, int session, void *argument, size_t bytes,
		       size_t reply)
{
	struct message *m = &b->message;
	int error;

	m->header = (struct perfctr_broker_header){ .handle = (uint32_t)session };
	memcpy(m->content, argument, bytes);
	error = ask(b, type, &bytes);
	if (error)
		return error;
	if (bytes < reply)
		return malformed(b);
	memcpy(argument, m->content, reply);
	return 0;
}

static int run_command(void *data, uint16_t type, int session, uint64_t user_data)
{
	struct drm_perfctr_command command = { .user_data = user_data };

	return ask_session(data, type, session, &command, sizeof(command), 0);
}

static int broker_start(void *data, int session, uint64_t user_data)
{
	return run_command(data, PERFCTR_BROKER_START, session, user_data);
}

static int broker_sample(void *data, int session, uint64_t user_data)
{
	return run_command(data, PERFCTR_BROKER_SAMPLE, session, user_data);
}

static int broker_stop(void *data, int session, uint64_t user_data)
{
	return run_command(data, PERFCTR_BROKER_STOP, session, user_data);
}

static int broker_status(void *data, int session, struct drm_perfctr_status *status)
{
	return ask_session(data, PERFCTR_BROKER_STATUS, session, status, 0, sizeof(*status));
}

static int broker_map(void *data, int session, const struct session_setup *setup,
		      struct mapping *control, struct mapping *ring)
{
	struct broker *b = data;

	return session_map_ring(b->ctx, setup->ring_fd, setup, control, ring);
}

static void broker_close(void *data, int session)
{
	uint64_t none = 0;

	ask_session(data, PERFCTR_BROKER_CLOSE, session, &none, 0, 0);
}

static bool broker_explained(const void *data)
{
	const struct broker *b = data;

	return b->explained;
}

/* --- life ------------------------------------------------------------------------- */

static void broker_free(void *data)
{
	struct broker *b = data;

	drop_files(b);
	if (b->fd >= 0)
		b->ctx->sys->close(b->ctx->sys->data, b->fd);
	free(b);
}

static const struct device_link broker_link = {
	.kind = LINK_BROKER,
	.query = ask_query,
	.open = broker_open,
	.start = broker_start,
	.sample = broker_sample,
	.stop = broker_stop,
	.status = broker_status,
	.map = broker_map,
	.close = broker_close,
	.explained = broker_explained,
	.free = broker_free,
};

static int broker_connect(struct perfctr_ctx *ctx, const char *path, struct broker **broker)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (!b)
		return perfctr_no_memory(ctx);
	b->ctx = ctx;
	for (size_t n = 0; n < BROKER_FILES; n++)
		b->files[n] = -1;
	b->fd = ctx->sys->connect(ctx->sys->data, path);
	if (b->fd < 0) {
		int error = b->fd;

		free(b);
		return perfctr_fail(ctx, error, "no broker answers at %s: %s", path,
				    strerror(-error));
	}
	*broker = b;
	return 0;
}

EXPORT int perfctr_device_open_broker(struct perfctr_ctx *ctx, const char *socket,
				      const char *which, struct perfctr_device **device)
{
	struct perfctr_broker_opened opened;
	struct broker *b = NULL;
	size_t bytes = which ? strlen(which) + 1 : 1;
	int error;

	error = broker_connect(ctx, socket ? socket : PERFCTR_BROKER_SOCKET, &b);
	if (error)
		return error;
	if (bytes > sizeof(opened.path)) {
		broker_free(b);
		return perfctr_fail(ctx, -ENAMETOOLONG, "no device has a name of %zu characters",
				    bytes - 1);
	}
	b->message.header = (struct perfctr_broker_header){ 0 };
	memcpy(b->message.content, which ? which : "", bytes);
	error = ask(b, PERFCTR_BROKER_OPEN, &bytes);
	if (!error && bytes < sizeof(opened))
		error = malformed(b);
	if (error) {
		broker_free(b);
		return error;
	}
	memcpy(&opened, b->message.content, sizeof(opened));
	opened.path[sizeof(opened.path) - 1] = '\0';
	opened.driver[sizeof(opened.driver) - 1] = '\0';
	return perfctr_device_from_link(ctx, &broker_link, b, opened.path, opened.driver, device);
}
