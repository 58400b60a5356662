/* SPDX-License-Identifier: MIT */
/* Format of a capture file, see <perfctr/capture.h>. */
#pragma once

#include <endian.h>
#include <perfctr/capture.h>

#include "base/device.h"

#define CAPTURE_MAGIC "perfctr\n"

/* keys of the texts that the library writes */
#define CAPTURE_KEY_DRIVER "driver"
#define CAPTURE_KEY_PATH "path"
#define CAPTURE_KEY_BUS "ext_bus_bytes"

enum {
	/* version of the kernel interface whose structures are inside; 1: its versions 1 and 2 */
	CAPTURE_VERSION = 3,
	CAPTURE_VERSION_OLD = 1,
	CAPTURE_HEADER_BYTES = 16,
	CAPTURE_RECORD_HEADER_BYTES = 8,
	CAPTURE_ALIGN = 8,
};

struct capture_record_header {
	uint32_t size;
	uint32_t type;
};

/* what the content of PERFCTR_CAPTURE_OF_SESSION begins with */
struct capture_of_session {
	uint32_t session;
	uint32_t type;
};

_Static_assert(sizeof(struct capture_of_session) % CAPTURE_ALIGN == 0, "content is aligned");
_Static_assert(sizeof(struct capture_record_header) == CAPTURE_RECORD_HEADER_BYTES, "record");
_Static_assert(sizeof(CAPTURE_MAGIC) - 1 == sizeof(uint64_t), "magic");

/* Convert a record of CAPTURE_VERSION_OLD with that content to the current version. */
void capture_upgrade(struct perfctr_capture_record *record, unsigned char *content);

/* Contents of the records before the samples; one object each, created with the reader. */
struct capture_meta {
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct perfctr_capture_session session;
	struct drm_perfctr_status status;
	bool has_session, has_status;
};

int capture_meta_init(struct capture_meta *meta, struct perfctr_ctx *ctx);
void capture_meta_free(struct capture_meta *meta);

/*
 * Add a record. A malformed one is skipped.
 * Return: 0 or -ENOMEM.
 */
int capture_meta_take(struct capture_meta *meta, const struct perfctr_capture_record *record);

/* what the records that were checked say of those that follow */
struct capture_checks {
	uint64_t samples; /* that were possible; the members up to @last_end_ns are of these */
	uint64_t start_ns, end_ns; /* earliest and latest */
	uint64_t next_seq, last_end_ns; /* behind the last one */
	uint64_t anchor_ns; /* CLOCK_MONOTONIC_RAW of the last anchor; 0: none */
	bool has_bad_anchor;
};

struct perfctr_capture_reader {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	int fd;
	/* bytes of the file from offset on; the current record begins at start */
	unsigned char *buffer;
	size_t start, used, room;
	uint64_t offset;
	/* size of the record returned last; the next call skips it */
	size_t current;
	bool at_end, is_old;
	unsigned int session, session_count; /* the one that is read; those that were seen */
	struct capture_meta meta;
	struct capture_checks checks;
};

/* Whether a record that names no session is about all sessions, not the first one. */
bool capture_is_common(const struct perfctr_capture_record *record);

/* Check a mark and the name behind it, up to @size bytes. Return: 0 or -EBADMSG. */
int capture_mark_check(const void *bytes, size_t size, struct perfctr_capture_mark *mark);
