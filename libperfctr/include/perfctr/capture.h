/* SPDX-License-Identifier: MIT */
/*
 * Capture files: samples as they lay in the ring, and what is needed to read them.
 *
 * A file is a header of 16 bytes, "perfctr\n" and the version 3 as u64, and
 * then records until its end. The version is that of the kernel interface whose
 * structures are inside; the reader makes those of files of version 1, which have
 * the interface's versions 1 and 2, look the same. A record is a header of 8 bytes, u32 size of the
 * whole record and u32 type, and its content, filled up with zeroes to a
 * multiple of 8 bytes. All numbers are little-endian. A reader skips records of
 * types that it does not know and ignores what is longer than it knows.
 *
 * A file that was cut off is readable up to its last whole record. What comes
 * before the samples (device, session, counters by name) is enough to read them
 * with a library whose counter database does not know the device.
 */
#ifndef PERFCTR_CAPTURE_H
#define PERFCTR_CAPTURE_H

#include <perfctr/perfctr.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** PERFCTR_CAPTURE_MAX_RECORD - largest size of a record, in bytes. */
#define PERFCTR_CAPTURE_MAX_RECORD (16u << 20)

/**
 * enum perfctr_capture_type - what a record holds
 */
enum perfctr_capture_type {
	/** @PERFCTR_CAPTURE_DEVICE: struct drm_perfctr_device_info. */
	PERFCTR_CAPTURE_DEVICE = 1,
	/** @PERFCTR_CAPTURE_BLOCK: struct drm_perfctr_block_info, one for each block. */
	PERFCTR_CAPTURE_BLOCK = 2,
	/** @PERFCTR_CAPTURE_CLOCK: struct drm_perfctr_clock_info, one for each clock. */
	PERFCTR_CAPTURE_CLOCK = 3,
	/** @PERFCTR_CAPTURE_REQUEST: struct drm_perfctr_block_request of the session. */
	PERFCTR_CAPTURE_REQUEST = 4,
	/**
	 * @PERFCTR_CAPTURE_LABEL: u64 number of the request, then three texts, each NUL
	 * terminated: its name, its unit, and what one count stands for in that unit.
	 */
	PERFCTR_CAPTURE_LABEL = 5,
	/** @PERFCTR_CAPTURE_ANCHOR: struct perfctr_anchor. */
	PERFCTR_CAPTURE_ANCHOR = 6,
	/** @PERFCTR_CAPTURE_TEXT: a key and a value, each NUL terminated. */
	PERFCTR_CAPTURE_TEXT = 7,
	/** @PERFCTR_CAPTURE_SESSION: struct perfctr_capture_session. */
	PERFCTR_CAPTURE_SESSION = 8,
	/**
	 * @PERFCTR_CAPTURE_COUNTER: struct perfctr_capture_counter, then six texts, each NUL
	 * terminated: id, name, short_text, long_text, unit, pmu of struct perfctr_counter_desc.
	 */
	PERFCTR_CAPTURE_COUNTER = 9,
	/**
	 * @PERFCTR_CAPTURE_METRIC: struct perfctr_capture_metric, then six texts, each NUL
	 * terminated: id, name, short_text, long_text, unit, formula of struct
	 * perfctr_metric_desc. One for each metric that was selected.
	 */
	PERFCTR_CAPTURE_METRIC = 10,
	/**
	 * @PERFCTR_CAPTURE_STATUS: struct drm_perfctr_status at the end. A file without it was
	 * not finished.
	 */
	PERFCTR_CAPTURE_STATUS = 11,
	/**
	 * @PERFCTR_CAPTURE_NAMING: u64 number of a request, then two u64 masks of its counters:
	 * those that were named with the block's index, and those that were named for all blocks
	 * of the type. See perfctr_selection_naming().
	 */
	PERFCTR_CAPTURE_NAMING = 12,
	/** @PERFCTR_CAPTURE_SAMPLE: a sample as it lay in the ring. */
	PERFCTR_CAPTURE_SAMPLE = 16,
};

/**
 * struct perfctr_capture_session - how the session ran
 */
struct perfctr_capture_session {
	/** @period_ns: time between samples, 0: manual. */
	uint64_t period_ns;
	/** @flags: enum drm_perfctr_setup_flags. */
	uint32_t flags;
	/** @slots: samples that the ring held. */
	uint32_t slots;
	/** @sample_bytes: bytes of each sample. */
	uint32_t sample_bytes;
	/** @block_count: blocks of each sample. */
	uint32_t block_count;
	/** @set: enum drm_perfctr_set. */
	uint32_t set;
	/** @reserved: zero. */
	uint32_t reserved;
};

/**
 * struct perfctr_capture_counter - a counter that may be in the samples
 *
 * As in struct perfctr_counter_desc.
 */
struct perfctr_capture_counter {
	/** @event: perf config that selects it. */
	uint64_t event;
	/** @sets: bit n: present in counter set n. */
	uint32_t sets;
	/** @product: product number. */
	uint16_t product;
	/** @block_type: block type. */
	uint16_t block_type;
	/** @position: position in its block. */
	uint16_t position;
	/** @clock: clock domain or DRM_PERFCTR_CLOCK_NONE. */
	uint8_t clock;
	/** @kind: enum perfctr_kind. */
	uint8_t kind;
	/** @trust: enum perfctr_trust. */
	uint8_t trust;
	/** @optional: 1 if only some devices of the product have it. */
	uint8_t optional;
	/** @header_bytes: where the texts begin; at least 24. */
	uint16_t header_bytes;
};

/**
 * struct perfctr_capture_metric - a metric that was selected
 *
 * As in struct perfctr_metric_desc.
 */
struct perfctr_capture_metric {
	/** @product: product number. */
	uint16_t product;
	/** @block_type: block type. */
	uint16_t block_type;
	/** @scope: enum perfctr_scope. */
	uint8_t scope;
	/** @trust: enum perfctr_trust. */
	uint8_t trust;
	/** @header_bytes: where the texts begin; at least 8. */
	uint16_t header_bytes;
};

struct perfctr_capture_writer;
struct perfctr_capture_reader;

/**
 * perfctr_capture_writer_new() - begin a capture file
 * @ctx: context
 * @fd: file, pipe or socket, at its beginning; stays the caller's
 * @writer: set to the writer on success
 *
 * What is written is kept in memory until perfctr_capture_flush() or until
 * there is enough of it.
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_capture_writer_new(struct perfctr_ctx *ctx, int fd,
			       struct perfctr_capture_writer **writer);
struct perfctr_capture_writer *perfctr_capture_writer_ref(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_writer_unref() - drop a reference
 * @writer: writer or NULL
 *
 * What was not flushed is lost: flush before the last one.
 *
 * Return: NULL.
 */
struct perfctr_capture_writer *perfctr_capture_writer_unref(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_write_session() - write what a session is
 * @writer: writer
 * @session: session
 *
 * Device, blocks, clocks, how the session runs, requests, and name, unit and
 * meaning of all counters and metrics: what a reader needs, whatever its own
 * counter database knows.
 *
 * Return: 0 or a negative errno.
 */
int perfctr_capture_write_session(struct perfctr_capture_writer *writer,
				  const struct perfctr_session *session);

/**
 * perfctr_capture_write_anchor() - write the time on all clocks
 * @writer: writer
 *
 * At least at the beginning and at the end; more often makes conversions better.
 *
 * Return: 0 or a negative errno.
 */
int perfctr_capture_write_anchor(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_write_text() - write something about the capture
 * @writer: writer
 * @key: for example "command"
 * @value: text
 *
 * Return: 0; -E2BIG too long; another negative errno.
 */
int perfctr_capture_write_text(struct perfctr_capture_writer *writer, const char *key,
			       const char *value);

/**
 * perfctr_capture_write_sample() - write a sample
 * @writer: writer
 * @bytes: the sample, from perfctr_cursor_peek()
 * @size: bytes that may be read; the sample's own size is written
 *
 * Looks at nothing but the size.
 *
 * Return: 0; -EBADMSG the sample's size is not within @size; another negative errno.
 */
int perfctr_capture_write_sample(struct perfctr_capture_writer *writer, const void *bytes,
				 size_t size);

/**
 * perfctr_capture_write_status() - write the kernel's own totals of the session
 * @writer: writer
 * @session: session, stopped
 *
 * At the end: from it a reader knows that the file is whole, and how many
 * samples there were.
 *
 * Return: 0; -ENODEV the device is gone; another negative errno.
 */
int perfctr_capture_write_status(struct perfctr_capture_writer *writer,
				 struct perfctr_session *session);

/**
 * perfctr_capture_flush() - write to the file what is still in memory
 * @writer: writer
 *
 * Return: 0 or the negative errno of write(), for example -ENOSPC; what could
 * not be written is kept and tried again.
 */
int perfctr_capture_flush(struct perfctr_capture_writer *writer);

/**
 * perfctr_capture_bytes() - size of the file so far
 * @writer: writer
 *
 * Return: bytes, flushed or not.
 */
uint64_t perfctr_capture_bytes(const struct perfctr_capture_writer *writer);

/**
 * struct perfctr_capture_record - a record of a file
 */
struct perfctr_capture_record {
	/** @content: bytes, aligned to 8; valid until the next record is read. */
	const void *content;
	/** @size: bytes of the content, fill included. */
	size_t size;
	/** @offset: where the record begins in the file. */
	uint64_t offset;
	/** @type: enum perfctr_capture_type or something newer. */
	uint32_t type;
};

/**
 * perfctr_capture_reader_new() - begin to read a capture file
 * @ctx: context
 * @fd: file or pipe, at its beginning; stays the caller's
 * @reader: set to the reader on success
 *
 * Return: 0; -EBADMSG it is no capture file; -EPROTONOSUPPORT it is of a version
 * that this library cannot read; another negative errno.
 */
int perfctr_capture_reader_new(struct perfctr_ctx *ctx, int fd,
			       struct perfctr_capture_reader **reader);
struct perfctr_capture_reader *perfctr_capture_reader_ref(struct perfctr_capture_reader *reader);
struct perfctr_capture_reader *perfctr_capture_reader_unref(struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_next() - read the next record
 * @reader: reader
 * @record: filled if the result is 1
 *
 * A record may be shorter than its structure was when this library was built:
 * perfctr_capture_copy() takes what is there. Samples go to
 * perfctr_decode_sample(), which checks them.
 *
 * Return: 1; 0 at the end, also of a file that was cut off; -EBADMSG what follows
 * is no record; the negative errno of read().
 */
int perfctr_capture_next(struct perfctr_capture_reader *reader,
			 struct perfctr_capture_record *record);

/**
 * perfctr_capture_cut_bytes() - what was left of a record that was cut off
 * @reader: reader that has come to the end
 *
 * Return: bytes after the last whole record, 0 if the file is complete.
 */
uint64_t perfctr_capture_cut_bytes(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_copy() - take a structure from a record
 * @record: record
 * @to: where the structure goes; what the record does not have is zero
 * @size: bytes of the structure
 */
void perfctr_capture_copy(const struct perfctr_capture_record *record, void *to, size_t size);

/**
 * perfctr_capture_text() - take key and value from a record
 * @record: record of type PERFCTR_CAPTURE_TEXT
 * @key: set to the key
 * @value: set to the value
 *
 * Return: 0; -EBADMSG it holds no two texts.
 */
int perfctr_capture_text(const struct perfctr_capture_record *record, const char **key,
			 const char **value);

/**
 * perfctr_capture_device() - the device that was recorded
 * @reader: reader
 *
 * What the records that were read so far say of it: complete when the first
 * sample is reached. It answers as a device that is there, but no session can
 * be made from it; perfctr_device_fd() is -1.
 *
 * Return: the device, no reference is taken.
 */
struct perfctr_device *perfctr_capture_device(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_selection() - what was recorded
 * @reader: reader
 *
 * As perfctr_capture_device(). Gives names and units of counters to
 * perfctr_totals_label() and its like, and to totals by perfctr_totals_describe().
 *
 * Return: the selection, no reference is taken.
 */
struct perfctr_selection *perfctr_capture_selection(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_session() - how the session ran
 * @reader: reader
 *
 * Return: valid as long as the reader; NULL before its record.
 */
const struct perfctr_capture_session *
perfctr_capture_session(const struct perfctr_capture_reader *reader);

/**
 * perfctr_capture_status() - the kernel's totals at the end of the session
 * @reader: reader that has come to the end
 *
 * Return: valid as long as the reader; NULL if the recording was not finished.
 */
const struct drm_perfctr_status *
perfctr_capture_status(const struct perfctr_capture_reader *reader);

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_CAPTURE_H */
