// SPDX-License-Identifier: MIT
/* Capture files: round trips, and detection of truncated or damaged files. */
#include <errno.h>
#include <fcntl.h>
#include <perfctr/capture.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "samples.h"
#include "test.h"

enum { SAMPLES = 3 };

static struct perfctr_ctx *ctx;
static unsigned char file[1 << 20];
static size_t file_bytes;
static struct sample_writer by_hand;

/* A file in memory with these bytes, at its beginning. */
static int open_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* a session of a machine in memory */
struct recording {
	struct fake *fake;
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	unsigned int number; /* in the file */
};

/* Of the fake machine, or of an unknown GPU. */
static void begin_recording(struct recording *r, const char *events, uint64_t step, uint32_t gpu_id)
{
	struct fake *fake = r->fake = fake_new();

	fake->step = step;
	fake->info.gpu_id = gpu_id;
	for (size_t n = 0; gpu_id && n < fake->block_count; n++)
		fake->info.product = fake->blocks[n].product = 0;
	perfctr_ctx_new_with(&fake->sys, &r->ctx);
	EQUAL(perfctr_device_open(r->ctx, NULL, &r->device), 0);
	r->device->ext_bus_bytes = 16;
	EQUAL(perfctr_selection_new(r->device, &r->selection), 0);
	CHECK(perfctr_selection_add(r->selection, events) > 0);
	EQUAL(perfctr_session_new(r->selection, NULL, &r->session), 0);
	EQUAL(perfctr_cursor_new(r->session, &r->cursor), 0);
	EQUAL(perfctr_session_start(r->session, 0), 0);
}

static void write_one_sample(struct recording *r, struct perfctr_capture_writer *writer, uint64_t n)
{
	struct perfctr_slot slot;

	EQUAL(perfctr_capture_writer_select(writer, r->number), 0);
	EQUAL(perfctr_session_sample(r->session, n), 0);
	EQUAL(perfctr_cursor_peek(r->cursor, 0, &slot), 1);
	EQUAL(perfctr_capture_write_sample(writer, slot.bytes, slot.size), 0);
	perfctr_cursor_advance(r->cursor, 1);
}

static void end_recording(struct recording *r)
{
	perfctr_cursor_unref(r->cursor);
	perfctr_session_unref(r->session);
	perfctr_selection_unref(r->selection);
	perfctr_device_unref(r->device);
	perfctr_ctx_unref(r->ctx);
	fake_free(r->fake);
}

/* Record sessions that were begun; the file's bytes are in file. */
static void record_sessions(struct recording *r, unsigned int count)
{
	struct perfctr_capture_writer *writer;
	int fd = open_bytes("", 0);

	EQUAL(perfctr_capture_writer_new(ctx, fd, &writer), 0);
	for (unsigned int n = 0; n < count; n++) {
		r[n].number = n;
		EQUAL(perfctr_capture_writer_select(writer, n), 0);
		EQUAL(perfctr_capture_write_session(writer, r[n].session), 0);
	}
	EQUAL(perfctr_capture_write_anchor(writer), 0);
	EQUAL(perfctr_capture_write_text(writer, "command", "sleep 1"), 0);
	for (unsigned int n = 0; n < SAMPLES * count; n++)
		write_one_sample(&r[n % count], writer, n / count);
	for (unsigned int n = 0; n < count; n++) {
		EQUAL(perfctr_session_stop(r[n].session, 0), 0);
		EQUAL(perfctr_capture_writer_select(writer, n), 0);
		EQUAL(perfctr_capture_write_status(writer, r[n].session), 0);
	}
	file_bytes = perfctr_capture_bytes(writer);
	EQUAL(perfctr_capture_flush(writer), 0);
	EQUAL(perfctr_capture_bytes(writer), file_bytes);
	writer = perfctr_capture_writer_unref(writer);
	CHECK(!writer);
	EQUAL(lseek(fd, 0, SEEK_END), file_bytes);
	EQUAL(pread(fd, file, sizeof(file), 0), file_bytes);
	close(fd);
	for (unsigned int n = 0; n < count; n++)
		end_recording(&r[n]);
}

static void record_session(const char *events, uint64_t step, uint32_t gpu_id)
{
	struct recording r;

	begin_recording(&r, events, step, gpu_id);
	record_sessions(&r, 1);
}

struct seen {
	int result, records, samples, blocks, requests, labels;
	unsigned int sessions;
	uint64_t cut_bytes, last_seq, sum;
	uint64_t end; /* end of the last whole record */
};

static void see_sample(const struct perfctr_capture_record *record, struct seen *seen)
{
	struct perfctr_sample sample;
	struct perfctr_block block;

	if (!CHECK(perfctr_decode_sample(record->content, record->size, &sample) > 0))
		return;
	seen->samples++;
	seen->last_seq = sample.seq;
	while (perfctr_decode_block(&sample, &block) > 0)
		seen->sum += perfctr_block_value(&block, 0);
}

static struct seen read_session(const void *bytes, size_t size, unsigned int session)
{
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_capture_record record;
	struct seen seen = { 0 };
	int fd = open_bytes(bytes, size);

	seen.result = perfctr_capture_reader_new(ctx, fd, &reader);
	if (reader)
		EQUAL(perfctr_capture_reader_select(reader, session), 0);
	while (reader && (seen.result = perfctr_capture_next(reader, &record)) > 0) {
		seen.records++;
		seen.end = record.offset + record.size + 8;
		seen.blocks += record.type == PERFCTR_CAPTURE_BLOCK;
		seen.requests += record.type == PERFCTR_CAPTURE_REQUEST;
		seen.labels += record.type == PERFCTR_CAPTURE_LABEL;
		if (record.type == PERFCTR_CAPTURE_SAMPLE)
			see_sample(&record, &seen);
	}
	if (reader) {
		seen.cut_bytes = perfctr_capture_cut_bytes(reader);
		seen.sessions = perfctr_capture_session_count(reader);
	}
	perfctr_capture_reader_unref(reader);
	close(fd);
	return seen;
}

static struct seen read_bytes(const void *bytes, size_t size)
{
	return read_session(bytes, size, 0);
}

static void begin(void)
{
	perfctr_ctx_new(&ctx);
	record_session("GPU_ACTIVE,software/cpu-clock/,metric:gpu_utilization",
		       (UINT64_C(1) << 53) + 1, 0);
}

static void end(void)
{
	ctx = perfctr_ctx_unref(ctx);
}

/* Read all of a session; the reader stays, its totals are the caller's. */
static struct perfctr_capture_reader *
read_all_of(const void *bytes, size_t size, unsigned int session, struct perfctr_totals **totals)
{
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_capture_record record;
	struct perfctr_sample sample;
	int fd = open_bytes(bytes, size);

	EQUAL(perfctr_totals_new(ctx, totals), 0);
	EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
	EQUAL(perfctr_capture_reader_select(reader, session), 0);
	EQUAL(perfctr_totals_describe(*totals, perfctr_capture_selection(reader)), 0);
	while (perfctr_capture_next(reader, &record) > 0)
		if (record.type == PERFCTR_CAPTURE_SAMPLE &&
		    perfctr_decode_sample(record.content, record.size, &sample) > 0)
			EQUAL(perfctr_totals_add(*totals, &sample), 0);
	close(fd);
	return reader;
}

static struct perfctr_capture_reader *read_all(const void *bytes, size_t size,
					       struct perfctr_totals **totals)
{
	return read_all_of(bytes, size, 0, totals);
}

/* a new product, and another unit, shift and metric of a built-in one */
#define PAGE(name, unit, shift)                                                               \
	"[page]\nproduct = \"" name "\"\nblock = \"SHADER\"\ngpu_id = 9\n[[counter]]\n"       \
	"bit = 5\nname = \"" name "\"\nshort = \"x\"\nunit = \"" unit "\"\nshift = " shift    \
	"\n[" name ".SHADER]\nproduct = \"" shift " * " name "\"\n[page]\nproduct = \""       \
	"VSOC_CSF\"\nblock = \"CSHW\"\n[[counter]]\nbit = 4\nname = \"GPU_ACTIVE\"\nshort = " \
	"\"x\"\nunit = \"" unit "\"\nshift = " shift                                          \
	"\n[VSOC_CSF.CSHW]\ngpu_utilization = \"" shift " * GPU_ACTIVE\"\n"

static void print_capture(int out)
{
	struct perfctr_totals *totals;
	struct perfctr_capture_reader *reader = read_all(file, file_bytes, &totals);
	const struct perfctr_metric_desc *metric =
		perfctr_selection_metric(perfctr_capture_selection(reader), 0);
	const struct perfctr_total *total =
		perfctr_totals_counter(perfctr_totals_block(totals, 0), 0);
	struct perfctr_value value;

	/* the descriptions live as long as the totals */
	perfctr_capture_reader_unref(reader);
	perfctr_totals_metric(totals, metric, NULL, &value);
	dprintf(out, "%s %llu %s, %s %.0f %s\n", total->desc->name, (unsigned long long)total->sum,
		total->desc->unit, metric->name, value.number, metric->unit);
}

TEST("unknown devices are read by the descriptions in the file")
{
	static const char *const pages[] = { PAGE("ALPHA", "cycles", "4"),
					     PAGE("BETA", "bytes", "3"), "" };
	int capture = open_bytes("", 0), out = open_bytes("", 0);
	char text[512] = "";

	/* a process reads its pages once: record and read, read with another page, without one */
	for (int n = 0; n < 6; n++) {
		if (!fork()) {
			snprintf(text, sizeof(text), "/proc/self/fd/%d",
				 open_bytes(pages[n % 3], strlen(pages[n % 3])));
			setenv("PERFCTR_COUNTERS", text, 1);
			perfctr_ctx_new(&ctx);
			if (n == 0)
				record_session("ALPHA,metric:product", 1000, 9);
			else if (n == 3)
				record_session("GPU_ACTIVE,metric:gpu_utilization", 1000, 0);
			if (n % 3 == 0)
				EQUAL(pwrite(capture, file, file_bytes, 0), file_bytes);
			file_bytes = (size_t)pread(capture, file, sizeof(file), 0);
			print_capture(out);
			_exit(0);
		}
		wait(NULL);
	}
	EQUAL(pread(out, text, sizeof(text) - 1, 0), lseek(out, 0, SEEK_CUR));
#define UNKNOWN "ALPHA 48000 cycles, product 192000 cycles\n"
#define CORRECTED "GPU_ACTIVE 48000 cycles, gpu_utilization 192000 cycles\n"
	EQUAL_TEXT(text, UNKNOWN UNKNOWN UNKNOWN CORRECTED CORRECTED CORRECTED);
	close(capture);
	close(out);
}

TEST_WITH(begin, end, "what is written is read")
{
	struct seen seen;

	seen = read_bytes(file, file_bytes);
	EQUAL(seen.result, 0);
	EQUAL(seen.samples, SAMPLES);
	EQUAL(seen.last_seq, SAMPLES - 1);
	EQUAL(seen.blocks, 9);
	EQUAL(seen.requests, 2);
	EQUAL(seen.labels, 1);
	EQUAL(seen.cut_bytes, 0);
	EQUAL(seen.end, file_bytes);
	/* two counters, exact */
	EQUAL(seen.sum, 2 * SAMPLES * ((UINT64_C(1) << 53) + 1));
}

TEST_WITH(begin, end, "records contain what they describe")
{
	struct drm_perfctr_device_info info;
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_record record;
	struct perfctr_anchor anchor = { 0 };
	const char *key = "", *value = "";
	int fd;

	fd = open_bytes(file, file_bytes);
	EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
	EQUAL(perfctr_capture_next(reader, &record), 1);
	EQUAL(record.type, PERFCTR_CAPTURE_DEVICE);
	perfctr_capture_copy(&record, &info, sizeof(info));
	EQUAL_TEXT(info.name, "Fake SoC");
	while (perfctr_capture_next(reader, &record) > 0) {
		if (record.type == PERFCTR_CAPTURE_ANCHOR)
			perfctr_capture_copy(&record, &anchor, sizeof(anchor));
		if (record.type == PERFCTR_CAPTURE_TEXT)
			EQUAL(perfctr_capture_text(&record, &key, &value), 0);
	}
	EQUAL_TEXT(key, "command");
	EQUAL_TEXT(value, "sleep 1");
	CHECK(anchor.raw_ns && anchor.realtime_ns);
	perfctr_capture_reader_unref(reader);
	close(fd);
}

TEST_WITH(begin, end, "a file explains itself")
{
	const struct perfctr_capture_session *session;
	const struct drm_perfctr_status *status;
	struct perfctr_capture_reader *reader;
	struct perfctr_selection *selection;
	struct perfctr_device *device;
	struct perfctr_totals *totals;
	double scale = 0;
	char text[64];

	reader = read_all(file, file_bytes, &totals);
	device = perfctr_capture_device(reader);
	EQUAL(device->ext_bus_bytes, 16);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Fake SoC");
	EQUAL(perfctr_device_fd(device), -1);
	CHECK(*perfctr_device_driver(device));
	CHECK(*perfctr_device_path(device));
	EQUAL(perfctr_device_block_count(device), 9);
	selection = perfctr_capture_selection(reader);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(perfctr_selection_metric_count(selection), 1);
	EQUAL_TEXT(perfctr_selection_metric(selection, 0)->name, "gpu_utilization");
	session = perfctr_capture_session(reader);
	status = perfctr_capture_status(reader);
	if (CHECK(session && status)) {
		EQUAL(session->period_ns, 0);
		CHECK(session->sample_bytes > 0 && session->slots > 0);
		EQUAL(session->block_count, 2);
	}
	/* names without a device and without sysfs */
	EQUAL(perfctr_totals_block_count(totals), 2);
	perfctr_totals_label(selection, perfctr_totals_block(totals, 1), 0, text, sizeof(text));
	EQUAL_TEXT(text, "cpu-clock");
	perfctr_totals_unit(selection, perfctr_totals_block(totals, 1), 0, text, sizeof(text),
			    &scale);
	CHECK(scale > 0);
	EQUAL(perfctr_totals_counter(perfctr_totals_block(totals, 0), 0)->sum,
	      SAMPLES * ((UINT64_C(1) << 53) + 1));
	/* the selection of a capture cannot create sessions */
	CHECK(perfctr_session_check(selection, NULL, NULL) < 0);
	perfctr_totals_unref(totals);
	perfctr_capture_reader_unref(reader);
}

/* Drop the records of a type, as a reader that does not know it. Return: bytes that are left. */
static size_t drop_records(unsigned char *bytes, size_t size, uint32_t type)
{
	size_t to = 16;
	uint32_t header[2];

	for (size_t at = 16; at < size; at += header[0]) {
		memcpy(header, bytes + at, sizeof(header));
		if (header[1] == type)
			continue;
		memmove(bytes + to, bytes + at, header[0]);
		to += header[0];
	}
	return to;
}

TEST("a file has the samples of several sessions, each as if it were alone")
{
	enum { STEP = 1000 };
	struct recording r[2];
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_writer *writer;
	struct perfctr_totals *totals;
	struct seen first, second;

	perfctr_ctx_new(&ctx);
	begin_recording(&r[0], "GPU_ACTIVE,software/cpu-clock/,metric:gpu_utilization", STEP, 0);
	/* a product that no database has */
	begin_recording(&r[1], "shader0/C5", 3 * STEP, 9);
	record_sessions(r, 2);
	first = read_session(file, file_bytes, 0);
	second = read_session(file, file_bytes, 1);
	EQUAL(first.sessions, 2);
	EQUAL(second.sessions, 2);
	EQUAL(first.samples, SAMPLES);
	EQUAL(second.samples, SAMPLES);
	EQUAL(first.requests, 2);
	EQUAL(second.requests, 1);
	EQUAL(first.sum, 2 * SAMPLES * STEP);
	EQUAL(second.sum, 3 * SAMPLES * STEP);
	EQUAL(read_session(file, file_bytes, 2).samples, 0);
	/* text and anchor are of both; device, status and totals are not */
	reader = read_all_of(file, file_bytes, 1, &totals);
	EQUAL(perfctr_device_info(perfctr_capture_device(reader))->gpu_id, 9);
	CHECK(*perfctr_device_driver(perfctr_capture_device(reader)));
	EQUAL(perfctr_device_block_count(perfctr_capture_device(reader)), 9);
	EQUAL(perfctr_selection_metric_count(perfctr_capture_selection(reader)), 0);
	if (CHECK(perfctr_capture_session(reader) && perfctr_capture_status(reader))) {
		EQUAL(perfctr_capture_session(reader)->block_count, 1);
		/* and that of the stop */
		EQUAL(perfctr_capture_status(reader)->published, SAMPLES + 1);
	}
	EQUAL(perfctr_totals_span(totals)->samples, SAMPLES);
	perfctr_totals_unref(totals);
	perfctr_capture_reader_unref(reader);
	/* a reader of before has the first session, whole */
	file_bytes = drop_records(file, file_bytes, PERFCTR_CAPTURE_OF_SESSION);
	EQUAL(read_bytes(file, file_bytes).records, first.records);
	EQUAL(read_bytes(file, file_bytes).sum, first.sum);
	EQUAL(perfctr_capture_writer_new(ctx, 1, &writer), 0);
	EQUAL(perfctr_capture_writer_select(writer, PERFCTR_CAPTURE_MAX_SESSIONS), -ERANGE);
	perfctr_capture_writer_unref(writer);
	end();
}

TEST_WITH(begin, end, "a file cut anywhere reads to its last whole record")
{
	struct seen whole;

	whole = read_bytes(file, file_bytes);
	for (size_t size = 0; size < file_bytes; size++) {
		struct seen seen = read_bytes(file, size);

		if (size < 16) {
			EQUAL(seen.result, -EBADMSG);
			continue;
		}
		EQUAL(seen.result, 0);
		CHECK(seen.samples <= whole.samples);
		EQUAL((seen.records ? seen.end : 16) + seen.cut_bytes, size);
	}
	/* one byte less costs the last record and nothing else */
	EQUAL(read_bytes(file, file_bytes - 1).records, whole.records - 1);
}

TEST_WITH(begin, end, "unknown records are skipped")
{
	static unsigned char longer[sizeof(file)];
	const uint32_t unknown[] = { 24, 999, 1, 2, 3, 4 };
	struct seen seen;

	memcpy(longer, file, 16);
	memcpy(longer + 16, unknown, sizeof(unknown));
	memcpy(longer + 40, file + 16, file_bytes - 16);
	seen = read_bytes(longer, file_bytes + 24);
	EQUAL(seen.result, 0);
	EQUAL(seen.samples, SAMPLES);
}

TEST_WITH(begin, end, "damage is named with its place")
{
	struct seen seen;

	file[0] ^= 1;
	EQUAL(read_bytes(file, file_bytes).result, -EBADMSG);
	file[0] ^= 1;
	file[8] = 2;
	EQUAL(read_bytes(file, file_bytes).result, -EPROTONOSUPPORT);
	HAS_TEXT(perfctr_ctx_error(ctx), "version 2");
	file[8] = 1;
	memcpy(file + 16, "\4\0\0\0", 4);
	seen = read_bytes(file, file_bytes);
	EQUAL(seen.result, -EBADMSG);
	HAS_TEXT(perfctr_ctx_error(ctx), "damaged at byte 16");
	memcpy(file + 16, "\xf8\xff\xff\xff", 4);
	EQUAL(read_bytes(file, file_bytes).result, -EBADMSG);
	/* a size beyond the end of the file: truncated, without allocating that much */
	memcpy(file + 16, "\0\0\xff\0", 4);
	seen = read_bytes(file, file_bytes);
	EQUAL(seen.result, 0);
	EQUAL(seen.records, 0);
	EQUAL(seen.cut_bytes, file_bytes - 16);
}

static int write_error;
static unsigned char written[1 << 20];
static size_t written_bytes;

static ssize_t short_write(void *data, int fd, const void *bytes, size_t size)
{
	size_t part = size < 100 ? size : 100;

	if (write_error && written_bytes > 300)
		return write_error;
	memcpy(written + written_bytes, bytes, part);
	written_bytes += part;
	return (ssize_t)part;
}

TEST("a full disk loses nothing that was kept")
{
	struct perfctr_sys sys = perfctr_sys_real;
	struct perfctr_capture_writer *writer;
	struct perfctr_ctx *small;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	perfctr_ctx_new(&ctx);
	sys.write = short_write;
	perfctr_ctx_new_with(&sys, &small);
	EQUAL(perfctr_capture_writer_new(small, 0, &writer), 0);
	EQUAL(perfctr_capture_write_text(writer, "key", text), 0);
	write_error = -ENOSPC;
	EQUAL(perfctr_capture_flush(writer), -ENOSPC);
	HAS_TEXT(perfctr_ctx_error(small), "No space left");
	write_error = 0;
	EQUAL(perfctr_capture_write_text(writer, "more", text), 0);
	EQUAL(perfctr_capture_flush(writer), 0);
	EQUAL(perfctr_capture_bytes(writer), written_bytes);
	EQUAL(read_bytes(written, written_bytes).records, 2);
	perfctr_capture_writer_unref(writer);
	perfctr_ctx_unref(small);
	end();
}

static size_t room_bytes;

static ssize_t write_with_room(void *data, int fd, const void *bytes, size_t size)
{
	const size_t left = room_bytes - written_bytes, part = size < left ? size : left;

	if (!part)
		return -ENOSPC;
	memcpy(written + written_bytes, bytes, part);
	written_bytes += part;
	return (ssize_t)part;
}

/* Of both sessions. */
static uint64_t count_samples(void)
{
	uint64_t count = 0;

	for (unsigned int session = 0; session < 2; session++) {
		struct perfctr_capture_reader *reader;
		struct perfctr_capture_record record;
		int fd = open_bytes(written, written_bytes);

		EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
		EQUAL(perfctr_capture_reader_select(reader, session), 0);
		while (perfctr_capture_next(reader, &record) > 0)
			count += record.type == PERFCTR_CAPTURE_SAMPLE;
		perfctr_capture_reader_unref(reader);
		close(fd);
	}
	return count;
}

TEST("what a writer counts as written is what a reader finds, wherever the disk was full")
{
	enum { WHOLE = 16 + 2 * (8 + 128) + 8 + 2 * (8 + 16) };
	struct perfctr_capture_written now, all;
	struct perfctr_capture_writer *writer;
	struct perfctr_sys sys = perfctr_sys_real;
	uint32_t sample[32] = { sizeof(sample) };
	struct perfctr_ctx *small;

	perfctr_ctx_new(&ctx);
	sys.write = write_with_room;
	perfctr_ctx_new_with(&sys, &small);
	for (size_t limit = 0; limit < 700; limit++) {
		written_bytes = 0;
		room_bytes = limit;
		EQUAL(perfctr_capture_writer_new(small, 0, &writer), 0);
		for (int n = 0; n < 2; n++) {
			/* a header of 8 bytes each, and 8 of the other session */
			EQUAL(perfctr_capture_writer_select(writer, n), 0);
			EQUAL(perfctr_capture_write_sample(writer, sample, sizeof(sample)), 0);
			EQUAL(perfctr_capture_write_text(writer, "key", "value"), 0);
		}
		EQUAL(perfctr_capture_flush(writer), limit < WHOLE ? -ENOSPC : 0);
		perfctr_capture_written(writer, &now, sizeof(now));
		EQUAL(now.bytes, written_bytes);
		if (written_bytes >= 16)
			EQUAL(now.samples, count_samples());
		/* it goes on with the first unwritten byte, also within a record */
		room_bytes = sizeof(written);
		EQUAL(perfctr_capture_write_sample(writer, sample, sizeof(sample)), 0);
		EQUAL(perfctr_capture_flush(writer), 0);
		perfctr_capture_written(writer, &all, sizeof(all));
		EQUAL(all.samples, 3);
		EQUAL(all.samples, count_samples());
		EQUAL(all.bytes, perfctr_capture_bytes(writer));
		/* the same after all was written */
		room_bytes = written_bytes + 1 + limit % 143;
		EQUAL(perfctr_capture_write_sample(writer, sample, sizeof(sample)), 0);
		EQUAL(perfctr_capture_flush(writer), -ENOSPC);
		perfctr_capture_written(writer, &now, sizeof(now));
		EQUAL(now.bytes, written_bytes);
		EQUAL(now.samples, 3);
		perfctr_capture_writer_unref(writer);
	}
	perfctr_ctx_unref(small);
	end();
}

/* Take at most 7 bytes, or fail when there is no room for all. */
static ssize_t take_bytes(void *data, const void *bytes, size_t size)
{
	const size_t part = size < 7 ? size : 7;

	EQUAL(data == &room_bytes, 1);
	if (room_bytes - written_bytes < part)
		return -EDQUOT;
	memcpy(written + written_bytes, bytes, part);
	written_bytes += part;
	return (ssize_t)part;
}

TEST("a function gets the bytes of a capture, and what it refuses comes again")
{
	const struct drm_perfctr_status status = {
		.published = 3, .lost_ns = 9, .resets = 2, .insert_idx = 5, .extract_idx = 4
	};
	const struct drm_perfctr_status *found;
	struct perfctr_capture_writer *writer;
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_record record;
	struct perfctr_capture_totals totals;
	struct perfctr_capture_written now;
	uint32_t sample[32] = { sizeof(sample) };
	int fd;

	perfctr_ctx_new(&ctx);
	written_bytes = 0;
	room_bytes = 100;
	EQUAL(perfctr_capture_writer_new_to(ctx, take_bytes, &room_bytes, &writer), 0);
	EQUAL(perfctr_capture_write_sample(writer, sample, sizeof(sample)), 0);
	EQUAL(perfctr_capture_write_totals(writer, &status), 0);
	EQUAL(perfctr_capture_flush(writer), -EDQUOT);
	perfctr_capture_written(writer, &now, sizeof(now));
	EQUAL(now.bytes, written_bytes);
	EQUAL(now.samples, 0);
	room_bytes = sizeof(written);
	EQUAL(perfctr_capture_flush(writer), 0);
	perfctr_capture_written(writer, &now, sizeof(now));
	EQUAL(now.bytes, written_bytes);
	EQUAL(now.bytes, perfctr_capture_bytes(writer));
	EQUAL(now.samples, 1);
	perfctr_capture_writer_unref(writer);

	fd = open_bytes(written, written_bytes);
	EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
	EQUAL(perfctr_capture_next(reader, &record), 1);
	EQUAL(record.type, PERFCTR_CAPTURE_SAMPLE);
	EQUAL(perfctr_capture_next(reader, &record), 1);
	EQUAL(record.type, PERFCTR_CAPTURE_STATUS);
	perfctr_capture_copy(&record, &totals, sizeof(totals));
	EQUAL(totals.read, 2);
	EQUAL(perfctr_capture_next(reader, &record), 0);
	found = perfctr_capture_status(reader);
	EQUAL(found->published, 3);
	EQUAL(found->lost_ns, 9);
	EQUAL(found->resets, 2);
	perfctr_capture_reader_unref(reader);
	close(fd);
	end();
}

TEST("impossible samples are not written")
{
	struct perfctr_capture_writer *writer;
	uint32_t bytes[32] = { 256 };

	perfctr_ctx_new(&ctx);
	EQUAL(perfctr_capture_writer_new(ctx, -1, &writer), 0);
	EQUAL(perfctr_capture_write_sample(writer, bytes, sizeof(bytes)), -EBADMSG);
	bytes[0] = 8;
	EQUAL(perfctr_capture_write_sample(writer, bytes, sizeof(bytes)), -EBADMSG);
	EQUAL(perfctr_capture_write_sample(writer, bytes, 3), -EBADMSG);
	EQUAL(perfctr_capture_bytes(writer), 16);
	EQUAL(perfctr_capture_flush(writer), -EBADF);
	perfctr_capture_writer_unref(writer);
	end();
}

/* Read a mark from the recorder's pipe. Return: its name, or NULL. */
static const char *read_mark(int fd, struct perfctr_capture_mark *mark)
{
	static char name[PERFCTR_MARK_NAME_MAX + 1];

	if (read(fd, mark, sizeof(*mark)) != sizeof(*mark) ||
	    read(fd, name, mark->bytes - sizeof(*mark)) != (ssize_t)(mark->bytes - sizeof(*mark)))
		return NULL;
	return name;
}

TEST("marks reach the recorder, and those that find no room are counted")
{
	char text[PERFCTR_MARK_NAME_MAX + 2];
	struct perfctr_capture_mark mark;
	unsigned int sent = 0, missing = 0;
	uint64_t before_ns;
	struct stat stat;
	int fds[2], result;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	EQUAL(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	EQUAL(fstat(fds[0], &stat), 0);
	snprintf(text, sizeof(text), "%d/%d/%llu", (int)getpid(), fds[0],
		 (unsigned long long)stat.st_ino);
	setenv(PERFCTR_MARKS_VARIABLE, text, 1);
	memset(text, 'x', sizeof(text) - 1);

	EQUAL(perfctr_mark(PERFCTR_MARK_POINT, ""), -EINVAL);
	EQUAL(perfctr_mark(PERFCTR_MARK_POINT, NULL), -EINVAL);
	EQUAL(perfctr_mark((enum perfctr_mark_kind)4, "x"), -EINVAL);
	EQUAL(perfctr_mark(PERFCTR_MARK_POINT, text), -ENAMETOOLONG);
	before_ns = perfctr_time_raw_ns();
	EQUAL(perfctr_mark(PERFCTR_MARK_FRAME, text + 1), 1);
	EQUAL_TEXT(read_mark(fds[0], &mark), text + 1);
	CHECK(mark.time_ns >= before_ns && mark.time_ns <= perfctr_time_raw_ns());
	EQUAL(mark.kind, PERFCTR_MARK_FRAME);
	EQUAL(mark.pid, getpid());
	EQUAL(mark.lost, 0);

	while (perfctr_mark(PERFCTR_MARK_BEGIN, "full") == 1)
		sent++;
	EQUAL(perfctr_mark(PERFCTR_MARK_BEGIN, "full"), -EAGAIN);
	CHECK(sent > 1000);
	while (read_mark(fds[0], &mark))
		missing++;
	EQUAL(missing, sent);
	EQUAL(perfctr_mark(PERFCTR_MARK_END, "full"), 1);
	EQUAL_TEXT(read_mark(fds[0], &mark), "full");
	EQUAL(mark.lost, 2);
	/* without a reader there is no signal */
	close(fds[0]);
	close(fds[1]);
	EQUAL(perfctr_mark(PERFCTR_MARK_END, "late"), 1);
	while ((result = perfctr_mark(PERFCTR_MARK_BEGIN, "full")) == 1)
		;
	EQUAL(result, 0);
	/* the descriptor of the mark's end is the next one: closed, it is a file of the program */
	EQUAL(close(fds[1] + 1), 0);
	EQUAL(pipe(fds), 0);
	EQUAL(dup2(fds[1], fds[1] + 1), fds[1] + 1);
	EQUAL(perfctr_mark(PERFCTR_MARK_END, "closed"), 0);
	EQUAL(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	CHECK(!read_mark(fds[0], &mark));
}

TEST("what is no mark is not written")
{
	struct {
		struct perfctr_capture_mark mark;
		char name[8];
	} message = { { .bytes = sizeof(message.mark) + 5 }, "name" };
	struct perfctr_capture_writer *writer;
	const size_t size = sizeof(message.mark) + 5;

	perfctr_ctx_new(&ctx);
	EQUAL(perfctr_capture_writer_new(ctx, -1, &writer), 0);
	EQUAL(perfctr_capture_write_mark(writer, &message, size), 0);
	EQUAL(perfctr_capture_write_mark(writer, &message, size - 1), -EBADMSG);
	message.name[2] = '\0';
	EQUAL(perfctr_capture_write_mark(writer, &message, size), -EBADMSG);
	message.name[2] = message.name[4] = 'm';
	EQUAL(perfctr_capture_write_mark(writer, &message, sizeof(message)), -EBADMSG);
	message.name[4] = '\0';
	message.mark.kind = PERFCTR_MARK_END + 1;
	EQUAL(perfctr_capture_write_mark(writer, &message, size), -EBADMSG);
	message.mark.kind = 0;
	message.mark.bytes = sizeof(message.mark) + 1;
	EQUAL(perfctr_capture_write_mark(writer, &message, size), -EBADMSG);
	EQUAL(perfctr_capture_bytes(writer), 16 + 8 + sizeof(message));
	perfctr_capture_writer_unref(writer);
	end();
}

/* --- records that are made by hand ------------------------------------------------- */

static void put_record(uint32_t type, const void *content, size_t size)
{
	const uint32_t header[2] = { (uint32_t)(sizeof(header) + (size + 7) / 8 * 8), type };

	memcpy(file + file_bytes, header, sizeof(header));
	memset(file + file_bytes + sizeof(header), 0, header[0] - sizeof(header));
	memcpy(file + file_bytes + sizeof(header), content, size);
	file_bytes += header[0];
}

static void put_sample(uint64_t seq, uint64_t start_ns, uint64_t end_ns)
{
	struct drm_perfctr_sample_header *h = sample_begin(&by_hand);

	h->seq = seq;
	h->start_ns = start_ns;
	h->end_ns = end_ns;
	put_record(PERFCTR_CAPTURE_SAMPLE, by_hand.bytes, by_hand.size);
}

static void put_thread_mark(enum perfctr_mark_kind kind, const char *name, uint64_t time_ns,
			    uint32_t pid, uint32_t tid)
{
	struct {
		struct perfctr_capture_mark mark;
		char name[8];
	} m = { { .time_ns = time_ns,
		  .pid = pid,
		  .tid = tid,
		  .kind = (uint8_t)kind,
		  .bytes = (uint16_t)(sizeof(m.mark) + strlen(name) + 1) },
		"" };

	strcpy(m.name, name);
	put_record(PERFCTR_CAPTURE_MARK, &m, m.mark.bytes);
}

static void put_mark(enum perfctr_mark_kind kind, const char *name, uint64_t time_ns, uint32_t pid)
{
	put_thread_mark(kind, name, time_ns, pid, pid);
}

static void begin_file(void)
{
	const uint64_t version = 3;

	memcpy(file, "perfctr\n", 8);
	memcpy(file + 8, &version, sizeof(version));
	file_bytes = 16;
	perfctr_ctx_new(&ctx);
}

/* The only record of a file, beside those of a reader before. */
static struct perfctr_capture_record next_of(struct perfctr_capture_reader *reader)
{
	struct perfctr_capture_record record = { .size = 0 };

	EQUAL(perfctr_capture_next(reader, &record), 1);
	return record;
}

TEST_WITH(begin_file, end, "samples and anchors that no recording has are refused")
{
	const struct perfctr_anchor anchors[] = {
		{ .raw_ns = 5000 },
		{ .raw_ns = 4999 },
		{ .raw_ns = 0 },
		{ .raw_ns = UINT64_MAX },
		{ .raw_ns = 5000, .realtime_ns = UINT64_MAX },
		{ .raw_ns = 6000 },
	};
	const int expected[] = { 0, -ERANGE, -ERANGE, -EBADMSG, -EBADMSG, 0 };
	const struct perfctr_capture_session session = { .period_ns = UINT64_MAX };
	const struct perfctr_capture_totals status = { .published = 1 };
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_record record;
	struct perfctr_anchor anchor;
	struct perfctr_sample sample;
	int fd;

	put_sample(1000000, 5000, 6000);
	put_sample(1000000, 6000, 7000); /* once more */
	put_sample(1002002, 6000, 7000); /* beyond what one microsecond and a thousand allow */
	put_sample(1002001, 6000, UINT64_MAX); /* beyond a century */
	put_sample(1001002, 6000, 7000);
	for (size_t n = 0; n < 6; n++)
		put_record(PERFCTR_CAPTURE_ANCHOR, &anchors[n], sizeof(anchors[n]));
	put_record(PERFCTR_CAPTURE_SESSION, &session, sizeof(session));
	put_record(PERFCTR_CAPTURE_STATUS, &status, sizeof(status));
	fd = open_bytes(file, file_bytes);
	EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
	for (size_t n = 0; n < 5; n++) {
		record = next_of(reader);
		EQUAL(perfctr_capture_sample(reader, &record, &sample), n % 4 == 0 ? 0 : -EBADMSG);
	}
	EQUAL(perfctr_capture_bad_numbers(reader), 0);
	for (size_t n = 0; n < 6; n++) {
		record = next_of(reader);
		EQUAL(perfctr_capture_anchor(reader, &record, &anchor), expected[n]);
	}
	EQUAL(perfctr_capture_bad_numbers(reader), PERFCTR_CAPTURE_BAD_ANCHOR);
	next_of(reader);
	next_of(reader);
	/* one sample was published, and the file has two */
	EQUAL(perfctr_capture_bad_numbers(reader), PERFCTR_CAPTURE_BAD_ANCHOR |
							   PERFCTR_CAPTURE_BAD_SESSION |
							   PERFCTR_CAPTURE_BAD_STATUS);
	perfctr_capture_reader_unref(reader);
	close(fd);
}

/* Pair the marks of the file. */
static struct perfctr_marks *pair(void)
{
	const int fd = open_bytes(file, file_bytes);
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_record record;
	struct perfctr_sample sample;
	struct perfctr_marks *marks;

	EQUAL(perfctr_capture_reader_new(ctx, fd, &reader), 0);
	EQUAL(perfctr_marks_new(ctx, &marks), 0);
	while (perfctr_capture_next(reader, &record) > 0) {
		EQUAL(perfctr_marks_add(marks, &record), 0);
		if (record.type == PERFCTR_CAPTURE_SAMPLE)
			EQUAL(perfctr_capture_sample(reader, &record, &sample), 0);
	}
	EQUAL(perfctr_marks_finish(marks, reader), 0);
	perfctr_capture_reader_unref(reader);
	close(fd);
	return marks;
}

static void check_mark(const struct perfctr_marks *marks, size_t n, int kind, const char *name,
		       uint64_t start_ns, uint64_t end_ns)
{
	const struct perfctr_marked *m = perfctr_marks_get(marks, n);

	if (!CHECK(m))
		return;
	EQUAL(m->kind, kind);
	EQUAL_TEXT(m->name, name);
	EQUAL(m->start_ns, start_ns);
	EQUAL(m->end_ns, end_ns);
}

TEST_WITH(begin_file, end, "marks are paired within a thread, else a process, else the capture")
{
	struct perfctr_marks *marks;

	put_sample(0, 1000, 9000);
	/* of a shell: each of a process */
	put_mark(PERFCTR_MARK_BEGIN, "load", 2000, 1);
	put_mark(PERFCTR_MARK_FRAME, "f", 2500, 2);
	put_mark(PERFCTR_MARK_END, "load", 3000, 3);
	put_mark(PERFCTR_MARK_FRAME, "f", 3500, 4);
	/* of two processes that overlap */
	put_mark(PERFCTR_MARK_BEGIN, "both", 4000, 5);
	put_mark(PERFCTR_MARK_BEGIN, "both", 4100, 6);
	put_mark(PERFCTR_MARK_END, "both", 4200, 5);
	put_mark(PERFCTR_MARK_END, "both", 4300, 6);
	/* at one instant, in the order of the file */
	put_mark(PERFCTR_MARK_BEGIN, "now", 5000, 7);
	put_mark(PERFCTR_MARK_END, "now", 5000, 7);
	put_mark(PERFCTR_MARK_END, "early", 1500, 8);
	put_mark(PERFCTR_MARK_BEGIN, "open", 6000, 8);
	put_mark(PERFCTR_MARK_POINT, "p", 7000, 8);
	marks = pair();
	EQUAL(perfctr_marks_count(marks), 7);
	EQUAL(perfctr_marks_unmatched(marks), 1);
	EQUAL(perfctr_marks_lost(marks), 0);
	check_mark(marks, 0, PERFCTR_MARK_BEGIN, "load", 2000, 3000);
	check_mark(marks, 1, PERFCTR_MARK_FRAME, "f", 2500, 3500);
	check_mark(marks, 2, PERFCTR_MARK_BEGIN, "both", 4000, 4200);
	check_mark(marks, 3, PERFCTR_MARK_BEGIN, "both", 4100, 4300);
	check_mark(marks, 4, PERFCTR_MARK_BEGIN, "now", 5000, 5000);
	check_mark(marks, 5, PERFCTR_MARK_BEGIN, "open", 6000, 9000);
	check_mark(marks, 6, PERFCTR_MARK_POINT, "p", 7000, 7000);
	EQUAL(perfctr_marks_get(marks, 4)->is_open, 0);
	EQUAL(perfctr_marks_get(marks, 5)->is_open, 1);
	CHECK(!perfctr_marks_get(marks, 7));
	perfctr_marks_unref(marks);
}

TEST_WITH(begin_file, end, "the end of a kind of frames makes no frame of the pause after it")
{
	struct perfctr_marks *marks;

	put_sample(0, 1000, 9000);
	/* the first mark by another thread of the process */
	put_thread_mark(PERFCTR_MARK_FRAME, "f", 2000, 1, 2);
	put_mark(PERFCTR_MARK_FRAME, "f", 2100, 1);
	put_mark(PERFCTR_MARK_FRAME, "f", 2300, 1);
	put_mark(PERFCTR_MARK_END, "f", 3000, 1);
	put_mark(PERFCTR_MARK_FRAME, "f", 5000, 1);
	put_mark(PERFCTR_MARK_FRAME, "f", 5200, 1);
	/* ends that have nothing to end */
	put_mark(PERFCTR_MARK_END, "f", 6000, 1);
	put_mark(PERFCTR_MARK_END, "f", 6100, 1);
	marks = pair();
	EQUAL(perfctr_marks_count(marks), 3);
	EQUAL(perfctr_marks_unmatched(marks), 1);
	check_mark(marks, 0, PERFCTR_MARK_FRAME, "f", 2000, 2100);
	check_mark(marks, 1, PERFCTR_MARK_FRAME, "f", 2100, 2300);
	check_mark(marks, 2, PERFCTR_MARK_FRAME, "f", 5000, 5200);
	perfctr_marks_unref(marks);
}

TEST_WITH(begin_file, end, "in a file that begins late, phases without a beginning begin with it")
{
	struct perfctr_marks *marks;

	put_record(PERFCTR_CAPTURE_TEXT,
		   "part\0"
		   "2",
		   7);
	put_sample(0, 1000, 9000);
	put_mark(PERFCTR_MARK_BEGIN, "before", 500, 1);
	put_mark(PERFCTR_MARK_END, "early", 1500, 1);
	put_mark(PERFCTR_MARK_END, "before", 2000, 1);
	marks = pair();
	EQUAL(perfctr_marks_count(marks), 2);
	EQUAL(perfctr_marks_unmatched(marks), 0);
	check_mark(marks, 0, PERFCTR_MARK_BEGIN, "before", 1000, 2000);
	check_mark(marks, 1, PERFCTR_MARK_BEGIN, "early", 1000, 1500);
	perfctr_marks_unref(marks);
}
