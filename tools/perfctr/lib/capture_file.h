/* SPDX-License-Identifier: MIT */
/* A capture file as the commands that read one see it. */
#ifndef PERFCTR_CAPTURE_FILE_H
#define PERFCTR_CAPTURE_FILE_H

#include <perfctr/capture.h>

#include "app.h"
#include "json.h"

/* the file that record writes and the others read by default */
#define CAPTURE_DEFAULT_FILE "perfctr.capture"

/* something that the recorder wrote about the capture */
struct capture_text {
	char *key;
	char *value;
};

/* an open capture, read once */
struct capture_file {
	const char *path; /* as the user wrote it, "stdin" for - */
	int fd;
	struct perfctr_capture_reader *reader; /* keeps device and selection */
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	const struct perfctr_capture_session *session; /* NULL if the file has none */
	const struct drm_perfctr_status *status; /* NULL if recording was not finished */
	struct perfctr_totals *totals; /* of all samples */
	struct capture_text *texts;
	size_t text_count;
	struct perfctr_anchor *anchors;
	size_t anchor_count;
	uint64_t bytes; /* of the file */
	uint64_t cut_bytes; /* after the last whole record */
	uint64_t bad_samples; /* records that should be samples and are not */
	char *damage; /* what is wrong with the file from some byte on, NULL if nothing is */
};

/**
 * capture_file_open() - open a capture and add all of it up
 * @app: for messages
 * @path: file, - for standard input
 * @file: filled on success
 *
 * A file that was cut off or is damaged further on is opened; @file has where.
 *
 * Return: 0 or an exit status, the message was printed.
 */
int capture_file_open(const struct app *app, const char *path, struct capture_file *file);

/**
 * typedef capture_sample_fn - receives samples
 * @data: as given to capture_file_each()
 * @sample: valid during the call
 *
 * Return: 0 or a negative errno, which ends the walk.
 */
typedef int (*capture_sample_fn)(void *data, struct perfctr_sample *sample);

/**
 * capture_file_each() - walk through the samples of a capture
 * @app: for messages
 * @file: open capture
 * @fn: called for each sample, in the order of the file
 * @data: passed to @fn
 *
 * Return: 0 or an exit status, the message was printed.
 */
int capture_file_each(const struct app *app, struct capture_file *file, capture_sample_fn fn,
		      void *data);

void capture_file_close(struct capture_file *file);

/* What the recorder wrote under that key, or NULL. */
const char *capture_file_text(const struct capture_file *file, const char *key);

/* Time of a sample on the clock of the calendar. Return: false if the file does not have it. */
bool capture_file_realtime(const struct capture_file *file, uint64_t raw_ns, uint64_t *ns);

/* Samples that the session published and the file does not have; 0 if unknown. */
uint64_t capture_file_absent(const struct capture_file *file);

/* Say on app->err what is wrong with the file, nothing if it is whole. */
void capture_file_warn(const struct app *app, const struct capture_file *file);

/* EXIT_FAILED if part of the file could not be read, else 0. */
int capture_file_exit_status(const struct capture_file *file);

/* What the file is, for JSON of all commands. */
struct json_object *capture_file_json(const struct capture_file *file);

#endif /* PERFCTR_CAPTURE_FILE_H */
