/* SPDX-License-Identifier: MIT */
/* What the parts of perfctr record share. */
#pragma once

#include <perfctr/capture.h>

#include "lib/command.h"
#include "lib/counting.h"
#include "flight.h"
#include "lib/output.h"
#include "lib/signals.h"
#include "pack.h"

enum { RECORD_FLIGHT_LIMIT_MIB = 1024 };

/* --switch-output and its limits; 0: there is none */
struct record_switch_options {
	uint64_t bytes, ns; /* of a file */
	uint64_t most; /* files that stay */
};

/* the command line */
struct record_options {
	struct counting counting;
	uint64_t flight_ns; /* time that the flight recorder keeps, 0: record all */
	int level; /* of zstd, 0: not compressed */
	struct record_switch_options switching;
	bool in_stream;
	bool automatic;
	bool progress;
};

/* marks of the command: what is in the pipe, and read of it */
struct record_marks {
	int fds[2];
	size_t used; /* bytes of an incomplete mark */
	uint64_t count;
	uint64_t lost;
	const char *trouble; /* why there are no more marks, or NULL */
	struct flight flight;
	/* of several files: phases that have not ended and latest frames, and those in this file */
	unsigned char *open;
	size_t open_count, carried;
	unsigned char bytes[8192];
};

/* where a file begins among the samples of a session */
struct record_origin {
	struct drm_perfctr_status status;
	uint64_t taken;
	bool was_gone;
};

/* one recording as several files */
struct record_switch {
	char name[OUTPUT_PATH_BYTES]; /* of the file once it is complete */
	char part[OUTPUT_PATH_BYTES]; /* until then; empty: there is none */
	int64_t named_ms; /* the time in its name */
	uint64_t begun_ns, taken; /* samples of all sessions in the files before */
	uint64_t files, removed; /* complete ones, and how many were removed */
	bool has_failed; /* to remove one */
	struct record_origin origins[COUNTING_DEVICES];
};

struct record {
	struct app *app;
	struct record_options options;
	struct perfctr_capture_writer *writer; /* NULL in flight mode until something is written */
	struct pack *pack; /* what @writer, or that of a flight, writes to; NULL: to the file */
	struct flight flight;
	struct record_marks marks;
	struct record_switch switching;
	struct command command;
	struct signals signals;
	int file_fd;
	bool file_is_new; /* record_open_output() created it */
	char part[OUTPUT_PATH_BYTES]; /* name until the first byte, if there is an older file */
	/* what reached the files; of the flight recorder, the last one; without the last file */
	struct perfctr_capture_written written, before;
	bool write_failed; /* the error is one of the file */
	uint64_t begin_ns, end_ns;
	uint64_t flushed_ns, anchored_ns, shown_ns;
	unsigned int dumps, failed_dumps; /* files that the flight recorder wrote, and could not */
	int ended_by; /* signal that ended it, 0 if none */
	bool shows_progress;
	bool progress_on_screen;
	bool flight_was_cut; /* memory was too small for all of flight_ns */
	bool device_is_gone; /* all of them */
};

/*
 * --- file.c: all return 0 or an exit status, the message was printed, unless stated
 */

/* Check that the file can be written, before anything is counted. */
int record_open_output(struct record *r);

/* Nothing was recorded: remove a new file. An old one is as it was, if it was not truncated. */
void record_discard_output(const struct record *r);

/* Write what precedes the samples. Return: 0 or a negative errno. */
int record_begin_file(struct record *r, int fd, struct perfctr_capture_writer **writer);

/*
 * Write totals and another time anchor. @goes_on: later samples are in another file.
 * Return: 0 or a negative errno.
 */
int record_end_file(struct record *r, struct perfctr_capture_writer *writer, bool goes_on);

/* Note what reached the file, and free the writer; NULL: there was none. */
void record_end_writer(struct record *r, struct perfctr_capture_writer *writer);

/* Close the file, which is on the disk then. Return: 0 or a negative errno. */
int record_close_output(struct record *r);

/* Print that the file could not be written. Return: EXIT_FAILED. */
int record_file_failed(const struct record *r, const char *path, int error);

/* Write what the flight recorder keeps into a file. */
int record_dump(struct record *r, const char *path);

/* The same into FILE.1, FILE.2, ... */
int record_dump_numbered(struct record *r);

/*
 * --- part.c
 */

/* --switch-output's SIZE or TIME into struct record_switch_options. Return: 0 or EXIT_USAGE. */
int record_take_switch(const struct app *app, void *to, const char *text);

/* Length of the part of a path before the time. @suffix: set to what is behind it. */
int record_stem(const char *path, const char **suffix);

/* Create a file under its name of an incomplete one. Return: descriptor; a negative errno. */
int record_open_part(struct record *r);

/* Totals of a session's samples in this file. @goes_on: as of record_end_file(). */
struct drm_perfctr_status record_part_status(const struct record *r, unsigned int session,
					     bool goes_on);

/*
 * --- switch.c
 */

/* Whether the file is as long as it may be. */
bool record_switch_is_due(const struct record *r, uint64_t now_ns);

/* Complete the file, and begin the next one. Return: 0 or a negative errno. */
int record_switch_file(struct record *r);

/* Close a file, name it, and remove the oldest. Return: 0 or a negative errno. */
int record_complete_part(struct record *r);

/*
 * --- marks.c
 */

/* Let the command mark times, before it is prepared. Return: 0 or an exit status. */
int record_open_marks(struct record *r);

/* Write the marks that are there, or keep them for the flight. Return: 0 or a negative errno. */
int record_take_marks(struct record *r, uint64_t now_ns);

/* Write the marks of the flight. Return: 0 or a negative errno. */
int record_write_marks(struct record *r, struct perfctr_capture_writer *writer);

/* Begin a file with the phases that have not ended. Return: 0 or a negative errno. */
int record_carry_marks(struct record *r);

/* Why marks of the command are not in the file, or NULL. */
const char *record_marks_trouble(const struct record *r);
void record_close_marks(struct record *r);

/*
 * --- end.c
 */

/* Of all devices: the kernel's totals after counting_status(); samples that were taken. */
struct drm_perfctr_status record_status(const struct record *r);
uint64_t record_taken(const struct record *r);

/* Samples and marks that were taken and are not in the file. */
uint64_t record_lost_samples(const struct record *r);
uint64_t record_lost_marks(const struct record *r);

/* "12.3 kB"; 40 bytes are enough. Return: @text. */
char *record_bytes_text(uint64_t bytes, char *text, size_t size);

/* Print what was recorded: a line for people, and JSON. whole: the recording is complete. */
void record_print_end(const struct record *r, bool whole);
void record_print_json(const struct record *r, int exit_status, bool whole);
