// SPDX-License-Identifier: MIT
/*
 * The client with a broker that may send anything: scripted connections and messages, no sockets.
 * The VM tests use a real broker and kernel.
 */
#include <stdlib.h>
#include <string.h>

#include <perfctr/broker.h>

#include "fake.h"
#include "test.h"

enum { MAX_BYTES = PERFCTR_BROKER_MAX_BYTES, FIRST_FILE = 1000 };

/* a broker whose n-th answer, from 1 on, can be corrupted */
static struct script {
	struct fake *fake;
	struct perfctr_ctx *ctx;
	struct perfctr_sys sys;
	int answers;
	const char *driver;
	int setup_error; /* of perf: without a text */
	/* how to corrupt answer number spoil_at */
	int spoil_at;
	void (*spoil)(struct script *s, struct perfctr_broker_header *h);
	/* the pending answer */
	_Alignas(8) unsigned char bytes[MAX_BYTES];
	size_t size;
	int receive_error, file_count;
	/* the broker sent END */
	bool gone;
	int open_files;
} script;

static void answer_query(struct perfctr_broker_header *h, unsigned char *content)
{
	struct fake *f = script.fake;
	struct drm_perfctr_query q = { .type = h->code };
	uint32_t first = h->first;

	/* a message holds only two blocks, so that a client must query again */
	q.count = h->count < 2 ? h->count : 2;
	h->stride = h->code == DRM_PERFCTR_QUERY_DEVICE ? sizeof(f->info) :
		    h->code == DRM_PERFCTR_QUERY_BLOCKS ? sizeof(f->blocks[0]) :
							  sizeof(struct drm_perfctr_clock_info);
	h->first = h->code == DRM_PERFCTR_QUERY_DEVICE ? 1 :
		   h->code == DRM_PERFCTR_QUERY_BLOCKS ? (uint32_t)f->block_count :
							 0;
	h->count = first < h->first ? q.count : 0;
	if (h->count > h->first - first)
		h->count = h->first - first;
	if (h->code == DRM_PERFCTR_QUERY_DEVICE)
		memcpy(content, &f->info, sizeof(f->info));
	else if (h->code == DRM_PERFCTR_QUERY_BLOCKS && h->count)
		memcpy(content, &f->blocks[first], (size_t)h->count * h->stride);
	script.size = sizeof(*h) + (size_t)h->count * h->stride;
}

static void answer_session(struct perfctr_broker_header *h, unsigned char *content)
{
	struct drm_perfctr_open open;
	struct drm_perfctr_layout layout;

	memcpy(&open, content, sizeof(open));
	EQUAL(open.eventfd, -1);
	EQUAL(open.requests, 0);
	layout = (struct drm_perfctr_layout){
		.slots = open.slots,
		.slot_stride = 256,
		.sample_size = 200,
		.ring_offset = 4096,
		.map_bytes = 4096 + open.slots * 256,
		.block_count = h->count,
	};
	memcpy(content, &layout, sizeof(layout));
	h->handle = 7;
	script.file_count = open.flags & DRM_PERFCTR_OPEN_CHECK ? 0 : PERFCTR_BROKER_FILES;
	script.size = sizeof(*h) + sizeof(layout);
}

static int script_send(void *data, int fd, const void *bytes, size_t size)
{
	struct perfctr_broker_header *h = (void *)script.bytes;
	unsigned char *content = script.bytes + sizeof(*h);
	struct perfctr_broker_opened opened = { .path = "/dev/dri/renderD128" };

	if (script.gone)
		return -EPIPE;
	memcpy(script.bytes, bytes, size);
	EQUAL(h->size, size);
	script.size = size;
	script.file_count = 0;
	script.receive_error = 0;
	if (h->type == PERFCTR_BROKER_OPEN) {
		strcpy(opened.driver, script.driver);
		memcpy(content, &opened, sizeof(opened));
		script.size = sizeof(*h) + sizeof(opened);
	} else if (h->type == PERFCTR_BROKER_QUERY) {
		answer_query(h, content);
	} else if (script.setup_error) {
		h->error = script.setup_error;
		script.size = sizeof(*h);
	} else if (h->type == PERFCTR_BROKER_SESSION) {
		answer_session(h, content);
	} else {
		EQUAL(h->handle, 7);
		script.size = sizeof(*h);
		if (h->type == PERFCTR_BROKER_STATUS)
			script.size += sizeof(struct drm_perfctr_status);
	}
	h->size = (uint32_t)script.size;
	if (++script.answers == script.spoil_at)
		script.spoil(&script, h);
	return 0;
}

static ssize_t script_receive(void *data, int fd, void *bytes, size_t size, int *files,
			      size_t *file_count)
{
	if (script.gone) {
		*file_count = 0;
		return 0;
	}
	if (script.receive_error) {
		int error = script.receive_error;

		script.receive_error = 0;
		*file_count = 0;
		return error;
	}
	if (script.size > size)
		abort();
	memcpy(bytes, script.bytes, script.size);
	for (int n = 0; n < script.file_count; n++)
		files[n] = FIRST_FILE + n;
	*file_count = (size_t)script.file_count;
	script.open_files += script.file_count;
	return (ssize_t)script.size;
}

static int script_connect(void *data, const char *path)
{
	if (strcmp(path, PERFCTR_BROKER_SOCKET))
		return -ENOENT;
	script.open_files++;
	return FIRST_FILE - 1;
}

static int script_close(void *data, int fd)
{
	/* sysfs is read normally */
	if (fd < FIRST_FILE - 1)
		return script.fake->sys.close(data, fd);
	script.open_files--;
	return 0;
}

static int script_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable,
		       void **address)
{
	EQUAL(fd, FIRST_FILE);
	/* the client maps no more of the ring than the broker announced */
	EQUAL(offset, writable ? 0 : 4096);
	*address = calloc(1, size);
	return *address ? 0 : -ENOMEM;
}

static int script_munmap(void *data, void *address, size_t size)
{
	free(address);
	return 0;
}

static void begin(int spoil_at, void (*spoil)(struct script *s, struct perfctr_broker_header *h))
{
	memset(&script, 0, sizeof(script));
	script.fake = fake_new();
	script.driver = "vsoc";
	script.spoil_at = spoil_at;
	script.spoil = spoil;
	script.sys = script.fake->sys;
	script.sys.connect = script_connect;
	script.sys.send = script_send;
	script.sys.receive = script_receive;
	script.sys.close = script_close;
	script.sys.mmap = script_mmap;
	script.sys.munmap = script_munmap;
	perfctr_ctx_new_with(&script.sys, &script.ctx);
}

static void end(void)
{
	perfctr_ctx_unref(script.ctx);
	EQUAL(script.open_files, 0);
	fake_free(script.fake);
}

/* All steps of a program, until one fails. */
static int use_broker(void)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = 4 };
	struct perfctr_selection *selection = NULL;
	struct perfctr_session *session = NULL;
	struct perfctr_device *device = NULL;
	struct drm_perfctr_status status;
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_slot slot;
	int error;

	error = perfctr_device_open_broker(script.ctx, NULL, "vsoc", &device);
	if (error)
		return error;
	EQUAL(perfctr_device_fd(device), -1);
	EQUAL_TEXT(perfctr_device_driver(device), "vsoc");
	EQUAL(perfctr_device_block_count(device), script.fake->block_count);
	EQUAL(perfctr_device_block(device, 8)->index, 18);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, "FRAGMENTS") > 0);
	EQUAL(perfctr_selection_add(selection, "software/cpu-clock/"), -EACCES);
	error = perfctr_session_new(selection, &opts, &session);
	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (!error)
		error = perfctr_session_status(session, &status, sizeof(status));
	if (!error) {
		EQUAL(perfctr_session_eventfd(session), FIRST_FILE + 1);
		EQUAL(perfctr_session_fd(session), -1);
		EQUAL(perfctr_cursor_peek(cursor, 0, &slot), 0);
		error = perfctr_session_stop(session, 0);
	}
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	perfctr_selection_unref(selection);
	perfctr_device_unref(device);
	return error;
}

static int spoilt(int at, void (*spoil)(struct script *s, struct perfctr_broker_header *h))
{
	int error;

	begin(at, spoil);
	error = use_broker();
	/* the last answer, to CLOSE, is irrelevant */
	if (error && !perfctr_ctx_error(script.ctx)[0])
		test_fail(__FILE__, __LINE__, "answer %d: error %d without a reason", at, error);
	end();
	return error;
}

TEST("everything works")
{
	begin(0, NULL);
	EQUAL(use_broker(), 0);
	CHECK(script.answers > 10);
	end();
}

TEST("nobody listens")
{
	struct perfctr_device *device;

	begin(0, NULL);
	EQUAL(perfctr_device_open_broker(script.ctx, "/no/where", NULL, &device), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(script.ctx), "no broker answers at /no/where");
	end();
}

static void refuse(struct script *s, struct perfctr_broker_header *h)
{
	static const char text[] = "the\tpolicy \033[1msays no";

	memcpy(s->bytes + sizeof(*h), text, sizeof(text));
	h->error = -EACCES;
	s->size = sizeof(*h) + sizeof(text);
	h->size = (uint32_t)s->size;
	s->file_count = 0;
}

TEST("a refusal has the broker's message")
{
	begin(1, refuse);
	EQUAL(use_broker(), -EACCES);
	/* without terminal control characters */
	EQUAL_TEXT(perfctr_ctx_error(script.ctx), "the policy  [1msays no");
	end();
}

TEST("an error of perf in the broker is explained as the broker's")
{
	static const struct {
		int error;
		const char *text;
	} cases[] = {
		{ -EPERM, "the broker may not open perf events" },
		{ -EMFILE, "LimitNOFILE" },
		{ -EINVAL, "it does not take these terms" },
	};
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_device *device;

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		begin(0, NULL);
		script.driver = PERFCTR_DEVICE_LOCAL;
		EQUAL(perfctr_device_open_broker(script.ctx, NULL, "local", &device), 0);
		EQUAL(perfctr_selection_new(device, &selection), 0);
		CHECK(perfctr_selection_add(selection, "software/cpu-clock/") > 0);
		script.setup_error = cases[n].error;
		EQUAL(perfctr_session_new(selection, NULL, &session), cases[n].error);
		HAS_TEXT(perfctr_ctx_error(script.ctx), cases[n].text);
		perfctr_selection_unref(selection);
		perfctr_device_unref(device);
		end();
	}
}

static void hang_up(struct script *s, struct perfctr_broker_header *h)
{
	s->gone = true;
}

static void reset_first(struct script *s, struct perfctr_broker_header *h)
{
	refuse(s, h);
	s->receive_error = -ECONNRESET;
}

static void cut(struct script *s, struct perfctr_broker_header *h)
{
	s->size = 5;
}

static void wrong_size(struct script *s, struct perfctr_broker_header *h)
{
	h->size++;
}

static void wrong_version(struct script *s, struct perfctr_broker_header *h)
{
	h->version = 9;
}

static void wrong_type(struct script *s, struct perfctr_broker_header *h)
{
	h->type = 55;
}

static void positive_error(struct script *s, struct perfctr_broker_header *h)
{
	h->error = 13;
}

static void many_elements(struct script *s, struct perfctr_broker_header *h)
{
	if (h->type == PERFCTR_BROKER_QUERY) {
		h->count = 0x10000001;
		h->stride = 0x100;
	} else {
		h->error = -EPROTO;
	}
}

static void few_elements(struct script *s, struct perfctr_broker_header *h)
{
	h->count = 0;
	if (h->type != PERFCTR_BROKER_QUERY)
		h->error = -EPROTO;
}

/* Any corrupt answer leads to an error with a reason and leaves nothing open. */
TEST("broken answers are errors")
{
	void (*const wrongs[])(struct script * s, struct perfctr_broker_header * h) = {
		hang_up, reset_first, cut, wrong_size, wrong_version, wrong_type, positive_error,
	};
	int answers;

	begin(0, NULL);
	use_broker();
	answers = script.answers;
	end();
	for (size_t n = 0; n < ARRAY_SIZE(wrongs); n++)
		for (int at = 1; at < answers; at++)
			CHECK(spoilt(at, wrongs[n]) < 0);
	EQUAL(spoilt(2, many_elements), -EPROTO);
	EQUAL(spoilt(3, many_elements), -EPROTO);
	/* the client queries the number of devices first, then the device */
	EQUAL(spoilt(3, few_elements), -EPROTO);
}

static void no_files(struct script *s, struct perfctr_broker_header *h)
{
	s->file_count = s->file_count ? 2 : 0;
}

static void short_content(struct script *s, struct perfctr_broker_header *h)
{
	s->size = sizeof(*h);
	h->size = (uint32_t)s->size;
}

static void sizes_that_lie(struct script *s, struct perfctr_broker_header *h)
{
	struct drm_perfctr_layout *layout = (void *)(s->bytes + sizeof(*h));

	if (h->type == PERFCTR_BROKER_SESSION) {
		layout->map_bytes = 4096 + 512;
		layout->slot_stride = 4096;
	} else {
		h->error = -EPROTO;
	}
}

TEST("answers without what belongs to them")
{
	int answers;

	begin(0, NULL);
	use_broker();
	answers = script.answers;
	end();
	for (int at = 1; at < answers; at++) {
		int error = spoilt(at, short_content);

		CHECK(error == 0 || error == -EPROTO || error == -ENOTTY);
		CHECK(spoilt(at, sizes_that_lie) < 0);
		error = spoilt(at, no_files);
		CHECK(error == 0 || error == -EPROTO);
	}
}
