/* SPDX-License-Identifier: MIT */
/*
 * Capture files: copies of samples in the ring, and the data needed to read them.
 *
 * A file is a header of 16 bytes, "perfctr\n" and the version 3 as u64, followed by
 * records. The version is that of the format; samples, devices, blocks and requests
 * are structures of perfctr_drm.h. Files of version 1 contain structures of the kernel
 * interface's versions 1 and 2; the reader converts them. A record is a header of 8
 * bytes, u32 size of the whole record and u32 type, and its content, padded with zeroes
 * to a multiple of 8 bytes.
 * All numbers are little-endian. A reader skips records of unknown types and ignores
 * unknown data at the end of a record.
 *
 * The samples of one session are of one device. Records of further sessions are inside
 * records of the type PERFCTR_CAPTURE_OF_SESSION, which older readers skip: they see the
 * first session, complete. Anchors, marks and texts of the recorder are of all sessions,
 * whose times are of one clock.
 *
 * A truncated file is readable up to its last whole record. The records before the
 * samples (device, session, counters by name) are sufficient to read the samples with
 * a library whose counter database does not know the device.
 */
#ifndef PERFCTR_CAPTURE_H
#define PERFCTR_CAPTURE_H

#include <perfctr/perfctr.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** PERFCTR_CAPTURE_MAX_RECORD - largest size of a record, in bytes. */
#define PERFCTR_CAPTURE_MAX_RECORD (16u << 20)

/** PERFCTR_CAPTURE_MAX_SESSIONS - most sessions of a file. */
#define PERFCTR_CAPTURE_MAX_SESSIONS 64

/** enum perfctr_capture_type - type of a record */
enum perfctr_capture_type {
	PERFCTR_CAPTURE_DEVICE = 1, /* struct drm_perfctr_device_info */
	PERFCTR_CAPTURE_BLOCK = 2, /* struct drm_perfctr_block_info, one for each block */
	PERFCTR_CAPTURE_CLOCK = 3, /* struct drm_perfctr_clock_info, one for each clock */
	PERFCTR_CAPTURE_REQUEST = 4, /* struct drm_perfctr_block_request of the session */
	/*
	 * u64 number of the request, then three texts, each NUL terminated: its name, its unit, and
	 * the value of one count in that unit
	 */
	PERFCTR_CAPTURE_LABEL = 5,
	PERFCTR_CAPTURE_ANCHOR = 6, /* struct perfctr_anchor */
	PERFCTR_CAPTURE_TEXT = 7, /* a key and a value, each NUL terminated */
	PERFCTR_CAPTURE_SESSION = 8, /* struct perfctr_capture_session */
	/*
	 * struct perfctr_capture_counter, then six texts, each NUL terminated: id, name,
	 * short_text, long_text, unit, pmu of struct perfctr_counter_desc
	 */
	PERFCTR_CAPTURE_COUNTER = 9,
	/*
	 * struct perfctr_capture_metric, then six texts, each NUL terminated: id, name, short_text,
	 * long_text, unit, formula of struct perfctr_metric_desc. One for each metric that was
	 * selected.
	 */
	PERFCTR_CAPTURE_METRIC = 10,
	/* struct perfctr_capture_totals at the end. A file without it is incomplete. */
	PERFCTR_CAPTURE_STATUS = 11,
	/*
	 * u64 number of a request, then two u64 masks of its counters: those that were named with
	 * the block's index, and those that were named for all blocks of the type. See
	 * perfctr_selection_naming().
	 */
	PERFCTR_CAPTURE_NAMING = 12,
	/* struct perfctr_capture_mark, then its name, NUL terminated; not in order of time */
	PERFCTR_CAPTURE_MARK = 13,
	PERFCTR_CAPTURE_SAMPLE = 16, /* the bytes of a sample in the ring */
	/*
	 * A record of a session after the first: u32 number of the session, from 1 on, u32 type of
	 * the record, then its content. Readers get what is inside.
	 */
	PERFCTR_CAPTURE_OF_SESSION = 17,
};

/** struct perfctr_capture_session - properties of the session */
struct perfctr_capture_session {
	uint64_t period_ns; /* time between samples, 0: manual */
	uint32_t flags; /* enum drm_perfctr_open_flags */
	uint32_t slots; /* samples that the ring held */
	uint32_t sample_bytes; /* bytes of each sample */
	uint32_t block_count; /* blocks of each sample */
	uint32_t set; /* enum drm_perfctr_set */
	uint32_t reserved; /* zero */
};

/** struct perfctr_capture_totals - totals of the session, as in struct drm_perfctr_status */
struct perfctr_capture_totals {
	uint32_t flags; /* enum drm_perfctr_status_flags */
	uint32_t slots;
	uint64_t published;
	uint64_t read; /* samples that were returned to the kernel */
	uint64_t merged_periods;
	uint64_t pending_merged;
	uint64_t lost_ns;
	uint64_t errors;
	uint64_t overflows;
	uint64_t resets;
	uint64_t bad_extract;
	uint64_t ring_full;
	uint64_t wakeups;
	uint64_t merged_others;
};

/**
 * struct perfctr_capture_counter - a counter that may be in the samples
 *
 * As in struct perfctr_counter_desc. Files of perfctr 0.1 end before @shift.
 */
struct perfctr_capture_counter {
	uint64_t event; /* perf config that selects it */
	uint32_t sets; /* bit n: present in counter set n */
	uint16_t product; /* product number */
	uint16_t block_type; /* block type */
	uint16_t position; /* position in its block */
	uint8_t clock; /* clock domain or DRM_PERFCTR_CLOCK_NONE */
	uint8_t kind; /* enum perfctr_kind */
	uint8_t trust; /* enum perfctr_trust */
	uint8_t optional; /* 1 if only some devices of the product have it */
	uint16_t header_bytes; /* offset of the texts; at least 24 */
	uint8_t shift; /* the hardware counts in units of 1 << shift */
	uint8_t reserved[7]; /* zero */
};

/**
 * struct perfctr_capture_metric - a metric that was selected
 *
 * As in struct perfctr_metric_desc.
 */
struct perfctr_capture_metric {
	uint16_t product; /* product number */
	uint16_t block_type; /* block type */
	uint8_t scope; /* enum perfctr_scope */
	uint8_t trust; /* enum perfctr_trust */
	uint16_t header_bytes; /* offset of the texts; at least 8 */
};

/**
 * PERFCTR_MARKS_VARIABLE - environment variable by which perfctr_mark() finds its recorder
 *
 * Process id, descriptor and inode of a pipe, "%u/%u/%llu": the reading end that the recorder
 * keeps open.
 */
#define PERFCTR_MARKS_VARIABLE "PERFCTR_MARKS"

/**
 * struct perfctr_capture_mark - a mark of perfctr_mark()
 *
 * These are also the bytes that perfctr_mark() writes to its recorder, with the name behind.
 */
struct perfctr_capture_mark {
	uint64_t time_ns; /* on the clock of samples */
	uint32_t pid; /* process, as it sees itself */
	uint32_t tid; /* thread */
	uint32_t lost; /* marks of the process that were lost before this one */
	uint16_t bytes; /* of this structure and the name with its NUL */
	uint8_t kind; /* enum perfctr_mark_kind */
	uint8_t reserved; /* zero */
};

struct perfctr_capture_writer;
struct perfctr_capture_reader;

/**
 * perfctr_capture_writer_new() - begin a capture file
 * @fd: file, pipe or socket, at its beginning; the caller keeps ownership
 * @writer: set to the writer on success
 *
 * Records are buffered in memory until perfctr_capture_flush() or until the
 * buffer is full.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_capture_writer_new(struct perfctr_ctx *ctx, int fd,
			       struct perfctr_capture_writer **writer);

/**
 * typedef perfctr_capture_write_fn - takes the bytes of a capture
 * @data: as given to perfctr_capture_writer_new_to()
 * @bytes: what follows the bytes that were taken before; valid during the call
 * @size: bytes, at least 1; those that were not taken come again, before others
 *
 * Return: bytes that were taken, at most @size; a negative errno: none.
 */
typedef ssize_t (*perfctr_capture_write_fn)(void *data, const void *bytes, size_t size);

/**
 * perfctr_capture_writer_new_to() - begin a capture that a function takes, to compress it
 * @write: called by perfctr_capture_flush(), and when the buffer is full; what it has taken counts
 * as written
 * @data: passed to @write
 * @writer: set to the writer on success
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_capture_writer_new_to(struct perfctr_ctx *ctx, perfctr_capture_write_fn write,
				  void *data, struct perfctr_capture_writer **writer);
struct perfctr_capture_writer *perfctr_capture_writer_ref(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_writer_unref() - drop a reference
 * @writer: writer or NULL
 *
 * Unflushed records are lost: flush before dropping the last reference.
 *
 * Return: NULL.
 */
struct perfctr_capture_writer *perfctr_capture_writer_unref(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_writer_select() - choose the session that is written
 * @session: number of the session in the file, 0 at first
 *
 * perfctr_capture_write_session(), _write_sample() and _write_status() write records of this
 * session. Describe all sessions before the first sample.
 *
 * Return: 0; -ERANGE PERFCTR_CAPTURE_MAX_SESSIONS or more.
 */
int perfctr_capture_writer_select(struct perfctr_capture_writer *writer, unsigned int session);

/**
 * perfctr_capture_write_session() - write the description of a session
 *
 * Writes device, blocks, clocks, properties of the session, requests, and name,
 * unit and meaning of all counters and metrics, so that a reader does not depend on
 * its own counter database.
 *
 * Return: 0; -EINVAL a session of perfctr_session_new_raw(); another negative errno.
 */
int perfctr_capture_write_session(struct perfctr_capture_writer *writer,
				  const struct perfctr_session *session);

/**
 * perfctr_capture_write_anchor() - write the time on all clocks
 *
 * Write one at least at the beginning and at the end; more make conversions more
 * accurate.
 *
 * Return: 0 or a negative errno.
 */
int perfctr_capture_write_anchor(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_write_text() - write a key and a value
 * @key: for example "command"
 * @value: text
 *
 * Return: 0; -E2BIG too long; another negative errno.
 */
int perfctr_capture_write_text(struct perfctr_capture_writer *writer, const char *key,
			       const char *value);

/**
 * perfctr_capture_write_sample() - write a sample
 * @bytes: the sample, from perfctr_cursor_peek()
 * @size: bytes that may be read; the number of bytes in the sample's header is written
 *
 * Reads only the size in the sample's header.
 *
 * Return: 0; -EBADMSG the sample's size is not within @size; another negative errno.
 */
int perfctr_capture_write_sample(struct perfctr_capture_writer *writer, const void *bytes,
				 size_t size);

/**
 * perfctr_capture_write_mark() - write a mark
 * @bytes: struct perfctr_capture_mark and its name, from perfctr_mark(); not trusted
 * @size: bytes that may be read; member bytes of them are written
 *
 * Return: 0; -EBADMSG this is no mark, or not all of one; another negative errno.
 */
int perfctr_capture_write_mark(struct perfctr_capture_writer *writer, const void *bytes,
			       size_t size);

/**
 * perfctr_capture_write_status() - write the kernel's totals of the session
 * @session: session, stopped
 *
 * Call it at the end: the record shows a reader that the file is complete, and the
 * number of samples.
 *
 * Return: 0; -ENODEV the device is gone; another negative errno.
 */
int perfctr_capture_write_status(struct perfctr_capture_writer *writer,
				 struct perfctr_session *session);

/**
 * perfctr_capture_write_totals() - write totals of the samples in this file
 * @status: instead of what perfctr_capture_write_status() asks the kernel for: of a file that has
 * only some of a session's samples, the totals of these
 *
 * Return: 0 or a negative errno.
 */
int perfctr_capture_write_totals(struct perfctr_capture_writer *writer,
				 const struct drm_perfctr_status *status);

/**
 * perfctr_capture_flush() - write buffered records to the file
 *
 * Return: 0 or the negative errno of write(), for example -ENOSPC; unwritten
 * bytes stay buffered for the next call.
 */
int perfctr_capture_flush(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_bytes() - size of the file so far
 *
 * Return: bytes, flushed or not.
 */
uint64_t perfctr_capture_bytes(const struct perfctr_capture_writer *writer);

/** struct perfctr_capture_written - what the file has, without what is buffered */
struct perfctr_capture_written {
	uint64_t bytes;
	uint64_t samples; /* whole ones */
	uint64_t marks; /* whole ones */
};

/**
 * perfctr_capture_written() - get what reached the file
 * @written: set to what write() has taken so far
 * @size: sizeof(struct perfctr_capture_written)
 */
void perfctr_capture_written(const struct perfctr_capture_writer *writer,
			     struct perfctr_capture_written *written, size_t size);

/** struct perfctr_capture_record - a record of a file */
struct perfctr_capture_record {
	const void *content; /* bytes, aligned to 8; valid until the next record is read */
	size_t size; /* bytes of the content, padding included */
	uint64_t offset; /* offset of the record in the file */
	uint32_t type; /* enum perfctr_capture_type or a newer type */
};

/**
 * perfctr_capture_reader_new() - begin to read a capture file
 * @fd: file or pipe, at its beginning; the caller keeps ownership
 * @reader: set to the reader on success
 *
 * Return: 0; -EBADMSG it is not a capture file; -EPROTONOSUPPORT this library
 * cannot read its version; another negative errno.
 */
int perfctr_capture_reader_new(struct perfctr_ctx *ctx, int fd,
			       struct perfctr_capture_reader **reader);
struct perfctr_capture_reader *perfctr_capture_reader_ref(struct perfctr_capture_reader *reader);
struct perfctr_capture_reader *perfctr_capture_reader_unref(struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_reader_select() - choose the session that is read
 * @reader: of which no record was read
 * @session: number of the session in the file, 0 at first
 *
 * Records of other sessions are left out. To read several sessions, use a reader for each.
 *
 * Return: 0; -ERANGE PERFCTR_CAPTURE_MAX_SESSIONS or more.
 */
int perfctr_capture_reader_select(struct perfctr_capture_reader *reader, unsigned int session);

/**
 * perfctr_capture_session_count() - sessions in the file
 *
 * Return: one more than the largest number of a session in the records that were read so far; all
 * sessions are known at the first sample.
 */
unsigned int perfctr_capture_session_count(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_next() - read the next record
 * @record: filled if the result is 1
 *
 * A record may be shorter than this library's version of its structure: copy it with
 * perfctr_capture_copy(). Decode samples with perfctr_capture_sample(), which checks
 * them.
 *
 * Return: 1; 0 at the end, also of a truncated file; -EBADMSG the next bytes are not
 * a record; the negative errno of read().
 */
int perfctr_capture_next(struct perfctr_capture_reader *reader,
			 struct perfctr_capture_record *record);

/**
 * perfctr_capture_cut_bytes() - size of a truncated record at the end
 * @reader: reader at the end of its file
 *
 * Return: bytes after the last whole record, 0 if the file is complete.
 */
uint64_t perfctr_capture_cut_bytes(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_copy() - copy a structure from a record
 * @to: destination; members that the record does not have are zero
 * @size: bytes of the structure
 */
void perfctr_capture_copy(const struct perfctr_capture_record *record, void *to, size_t size);

/**
 * perfctr_capture_text() - get key and value of a record
 * @record: record of type PERFCTR_CAPTURE_TEXT
 * @key: set to the key
 * @value: set to the value
 *
 * Return: 0; -EBADMSG it does not hold two texts.
 */
int perfctr_capture_text(const struct perfctr_capture_record *record, const char **key,
			 const char **value);

/**
 * perfctr_capture_sample() - decode a sample that a recording can have
 * @record: record of type PERFCTR_CAPTURE_SAMPLE that perfctr_capture_next() of @reader returned
 * last
 * @sample: filled on success; valid as long as the record
 *
 * Of a damaged file bytes may be wrong that perfctr_decode_sample() accepts. This one refuses
 * numbers that no recording has, also beside those of the samples before. Limits are generous: a
 * sample and a merged period each microsecond and a thousand more, an hour of lost counts, a
 * century since the boot. Call it once for each sample.
 *
 * Return: 0; -EBADMSG it is no sample, or an impossible one.
 */
int perfctr_capture_sample(struct perfctr_capture_reader *reader,
			   const struct perfctr_capture_record *record,
			   struct perfctr_sample *sample);

/**
 * perfctr_capture_anchor() - get an anchor that a recording can have
 * @record: record of type PERFCTR_CAPTURE_ANCHOR that perfctr_capture_next() of @reader returned
 * last
 * @anchor: filled on success
 *
 * Return: 0; -EBADMSG impossible times; -ERANGE its time is earlier than the last anchor's, or it
 * has none on the clock of samples: leave it out.
 */
int perfctr_capture_anchor(struct perfctr_capture_reader *reader,
			   const struct perfctr_capture_record *record,
			   struct perfctr_anchor *anchor);

/** enum perfctr_capture_bad - records with numbers that no recording has */
enum perfctr_capture_bad {
	PERFCTR_CAPTURE_BAD_ANCHOR = 1u << 0, /* of one that perfctr_capture_anchor() refused */
	PERFCTR_CAPTURE_BAD_SESSION = 1u << 1, /* of perfctr_capture_session() */
	/* of perfctr_capture_status(), beside the samples of perfctr_capture_sample() */
	PERFCTR_CAPTURE_BAD_STATUS = 1u << 2,
};

/**
 * perfctr_capture_bad_numbers() - which records besides samples have impossible numbers
 * @reader: reader at the end of its file
 *
 * Return: bitwise OR of enum perfctr_capture_bad.
 */
uint32_t perfctr_capture_bad_numbers(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_mark() - get a mark of a record
 * @record: record of type PERFCTR_CAPTURE_MARK
 * @mark: filled
 * @name: set to its name
 *
 * Return: 0; -EBADMSG it is no mark.
 */
int perfctr_capture_mark(const struct perfctr_capture_record *record,
			 struct perfctr_capture_mark *mark, const char **name);

/**
 * perfctr_capture_device() - the device of the session that is read
 *
 * Built from the records that were read so far; complete when the first sample is
 * reached. Queries work as with a present device, but it cannot create sessions;
 * perfctr_device_fd() is -1.
 *
 * Return: the device, no reference is taken.
 */
struct perfctr_device *perfctr_capture_device(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_selection() - the recorded counters
 *
 * Complete as for perfctr_capture_device(). perfctr_totals_label() and similar functions,
 * and perfctr_totals_describe(), take names and units of counters from it.
 *
 * Return: the selection, no reference is taken.
 */
struct perfctr_selection *perfctr_capture_selection(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_session() - properties of the session
 *
 * Return: valid as long as the reader; NULL before its record was read.
 */
const struct perfctr_capture_session *
perfctr_capture_session(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_status() - the kernel's totals at the end of the session
 * @reader: reader at the end of its file
 *
 * Indices and readers, which a file does not have, are 0.
 *
 * Return: valid as long as the reader; NULL if the recording is incomplete.
 */
const struct drm_perfctr_status *
perfctr_capture_status(const struct perfctr_capture_reader *reader);

/* --- marks in pairs --------------------------------------------------------- */

/**
 * PERFCTR_CAPTURE_KEY_FLIGHT - key of a text: this is what a flight recorder kept
 *
 * Its value is how long that is in nanoseconds. A phase whose beginning is not in the file then
 * began before.
 */
#define PERFCTR_CAPTURE_KEY_FLIGHT "flight_ns"

/**
 * PERFCTR_CAPTURE_KEY_PART - key of a text: number of the file among those of a recording
 *
 * From 1 on. Later files too begin amid phases.
 */
#define PERFCTR_CAPTURE_KEY_PART "part"

/** struct perfctr_marked - a point, a frame, or a phase from its beginning to its end */
struct perfctr_marked {
	const char *name; /* valid as long as the marks; any bytes */
	uint64_t start_ns; /* on the clock of samples */
	uint64_t end_ns; /* of a point: the same; of an open phase: the end of the samples */
	uint32_t pid; /* process of its beginning, or of its end if the file lacks that */
	uint32_t tid; /* thread of the same mark */
	uint8_t kind; /* PERFCTR_MARK_POINT, PERFCTR_MARK_FRAME, or PERFCTR_MARK_BEGIN of a phase */
	uint8_t is_open; /* 1 for a phase without an end */
};

struct perfctr_marks;

/**
 * perfctr_marks_new() - begin to collect marks
 * @marks: set to the marks on success
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_marks_new(struct perfctr_ctx *ctx, struct perfctr_marks **marks);
struct perfctr_marks *perfctr_marks_ref(struct perfctr_marks *marks);
struct perfctr_marks *perfctr_marks_unref(struct perfctr_marks *marks);

/**
 * perfctr_marks_add() - take a record
 * @record: any record of perfctr_capture_next(); used are marks and texts
 *
 * Return: 0, also if there are a million marks already, which leaves it out; -ENOMEM.
 */
int perfctr_marks_add(struct perfctr_marks *marks, const struct perfctr_capture_record *record);

/**
 * perfctr_marks_finish() - make frames and phases of the marks
 * @marks: with all records of the file
 * @reader: at the end of its file, whose samples perfctr_capture_sample() decoded
 *
 * An end belongs to the latest beginning of its name in the same thread, else in the same process,
 * else in the capture: marks of a shell are of a process each. A frame ends where the next one of
 * its name is marked, in the thread if that has several, else in the process, else in the capture.
 * What began before a flight recorder's or a later file's first sample begins with it.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_marks_finish(struct perfctr_marks *marks, const struct perfctr_capture_reader *reader);

/**
 * perfctr_marks_count() - points, frames and phases
 * @marks: after perfctr_marks_finish()
 *
 * Return: the number.
 */
size_t perfctr_marks_count(const struct perfctr_marks *marks);

/**
 * perfctr_marks_get() - one of them
 * @n: 0..count - 1, in the order of their start
 *
 * Return: valid as long as the marks; NULL if out of range.
 */
const struct perfctr_marked *perfctr_marks_get(const struct perfctr_marks *marks, size_t n);

/**
 * perfctr_marks_lost() - marks that the recorder did not get, or that were too many
 *
 * Return: at least how many.
 */
uint64_t perfctr_marks_lost(const struct perfctr_marks *marks);

/**
 * perfctr_marks_unmatched() - ends of phases that had not begun
 *
 * Return: the number.
 */
uint64_t perfctr_marks_unmatched(const struct perfctr_marks *marks);

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_CAPTURE_H */
