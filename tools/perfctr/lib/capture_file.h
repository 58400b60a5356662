/* SPDX-License-Identifier: MIT */
/* A capture file as the subcommands read it. */
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <perfctr/capture.h>

#include "app.h"
#include "json.h"
#include "marks.h"
#include <stddef.h>

/* file that record writes and the other subcommands read by default */
#define CAPTURE_DEFAULT_FILE "perfctr.capture"

/* end of the names of files that record --switch-output has not completed */
#define CAPTURE_PART ".part"

/* key of a text: cgroup that a session counts; the number of the session follows, from 0 on */
#define CAPTURE_KEY_CGROUP "cgroup."

/* a key and a text that the recorder wrote into the capture */
struct capture_text {
	char *key;
	char *value;
};

/* a session of an open capture, read once */
struct capture_file {
	const char *path; /* as the user wrote it, "stdin" for - */
	int fd;
	unsigned int number, session_count; /* of the session, and how many the file has */
	/*
	 * owned, of the device: "renderD128", "local", or its cgroup; no two sessions have the
	 * same; NULL: the file has one session
	 */
	char *node;
	char *name; /* owned: "cgroup batch.slice"; NULL: that of the device */
	struct perfctr_capture_reader *reader; /* NULL once the samples are walked through */
	struct perfctr_device *device; /* owned, as the selection */
	struct perfctr_selection *selection;
	bool has_session; /* false if the file has none, or one of impossible numbers */
	uint64_t period_ns; /* of the session, 0: none */
	bool has_status; /* false if it was not finished, or its numbers are impossible */
	uint64_t published; /* of the status: samples of the session */
	struct perfctr_totals *totals; /* over all samples */
	struct capture_text *texts;
	size_t text_count;
	struct perfctr_anchor *anchors;
	size_t anchor_count;
	struct perfctr_marks *raw_marks; /* NULL once @marks is made of them */
	struct marks marks; /* of all sessions */
	uint64_t bytes; /* of the file */
	uint64_t cut_bytes; /* bytes after the last whole record */
	uint64_t bad_samples; /* records of samples that are invalid, or impossible */
	bool has_bad_numbers; /* other records have impossible numbers, which were left out */
	bool is_finished; /* it has the totals of its end */
	bool cut_is_packed; /* @cut_bytes are those after the last whole frame of zstd */
	char *damage; /* description of the damage, NULL if the file is intact */
};

/* a capture: its sessions, each of one device; all have the same clock */
struct capture {
	struct capture_file *files;
	size_t count;
};

/*
 * Open a capture, also one that gzip or zstd compressed, and add up its samples. A truncated or
 * damaged file is opened too; each of @files records where it ends. What is wrong with it is
 * printed.
 * @path: file, - for standard input.
 * Return: 0 or an exit status, the message was printed; the caller closes in any case.
 */
int capture_open(const struct app *app, const char *path, struct capture *capture);
void capture_close(struct capture *capture);

/*
 * Free the totals of single blocks, and what rows have of them; the sums of types of blocks, and
 * the span of all samples, stay.
 * Return: 0 or -ENOMEM.
 */
int capture_file_drop_blocks(struct capture_file *file);

/* EXIT_FAILED if part of the file could not be read, else 0. */
int capture_exit_status(const struct capture *capture);

/* What precedes names of events of a session: @node; NULL: the file has one session. */
static inline const char *capture_file_device(const struct capture_file *file)
{
	return file->node;
}

/* Name of what a session counts, for people: of the device, or a cgroup's. */
static inline const char *capture_file_name(const struct capture_file *file)
{
	return file->name ? file->name : perfctr_device_info(file->device)->name;
}

/**
 * typedef capture_sample_fn - receives samples
 * @data: as given to capture_file_each()
 * @file: the session
 * @sample: valid during the call
 *
 * Return: 0 or a negative errno, which ends the walk.
 */
typedef int (*capture_sample_fn)(void *data, struct capture_file *file,
				 struct perfctr_sample *sample);

/*
 * Walk through the samples of a capture, those of all its sessions in the order of their ends.
 * @fn: called for each sample; @data: passed to @fn.
 * Return: 0 or an exit status, the message was printed.
 */
int capture_each(const struct app *app, struct capture *capture, capture_sample_fn fn, void *data);

/* The same of one session. */
int capture_file_each(const struct app *app, struct capture_file *file, capture_sample_fn fn,
		      void *data);

/* Text that the recorder wrote under @key, or NULL. */
const char *capture_file_text(const struct capture_file *file, const char *key);

/* A sample's time on CLOCK_REALTIME, BOOTTIME or MONOTONIC. Return: false if the file lacks it. */
bool capture_file_time(const struct capture_file *file, uint64_t raw_ns, int clock, uint64_t *ns);

/* Samples that the session published and the file lacks; 0 if unknown. */
uint64_t capture_file_absent(const struct capture_file *file);

/* Description of the file, for the JSON of all subcommands. */
struct json_object *capture_file_json(const struct capture_file *file);

/* Captures that a command line names as files and directories. */

/* a time of --from or --to */
struct capture_time {
	bool is_given;
	uint64_t ns; /* CLOCK_REALTIME */
};

/* captures that begin from one time on, before another */
struct capture_times {
	struct capture_time from, to;
};

/* clang-format off */
#define CAPTURE_OPTIONS_TIMES(times) \
	OPTION(0, "from", CALL, &(times)->from, .call = capture_take_time), \
	OPTION(0, "to", CALL, &(times)->to, .call = capture_take_time)
/* clang-format on */

/* Take a time as text into a struct capture_time. Return: 0 or EXIT_USAGE, message printed. */
int capture_take_time(const struct app *app, void *to, const char *text);

struct capture_list {
	char *first; /* the first one's path, NULL: there is none */
	size_t count;
	/* of each its folder, with a / at the end, or nothing, and its name there, in @texts */
	struct capture_place {
		uint32_t folder, name;
	} * places;
	char *texts; /* each with its NUL; files of one folder share it */
	size_t used, room; /* bytes of @texts */
	char *opened_path;
	void *seen; /* while they are added: files that are there, by device and inode */
	bool has_left_out; /* something in a directory could not be read, which was printed */
	struct capture_times times;
	size_t opened, others; /* by capture_list_open(), and outside of @times */
};

/* Whether perfctr record is writing a part: it holds the lock. */
bool capture_is_written(const char *path);

/* Whether a file begins as captures do. */
bool capture_file_is(const char *path);

/* Whether a file is compressed and has a capture, or too little to tell. */
bool capture_is_packed(const char *path);

/*
 * Add captures in the order of the words. A directory stands for the captures in it and in those
 * below it, by name, compressed or not. Its other files are left out, those that cannot be read,
 * are empty, or are a part of record --switch-output, with a message. A file with several names
 * counts once.
 * @words: files, directories, or - for standard input; @count: of @words, 0: the file that record
 * writes by default; @list: zeroed or filled
 * before; call capture_list_free() also after a failure.
 * Return: 0 or an exit status, the message was printed.
 */
int capture_list_add(const struct app *app, char *const *words, int count,
		     struct capture_list *list);

/* of capture_list_open(): not to be analysed, and closed */
enum { CAPTURE_LEFT_OUT = -1 };

/*
 * Open capture @n of a list, from 0 on. Of several, one that cannot be read is left out with a
 * message, and @damage is set to EXIT_FAILED.
 * Return: 0; an exit status, the message was printed; CAPTURE_LEFT_OUT, also outside of the list's
 * times. The caller closes after 0, before the next one of the list is opened.
 */
int capture_list_open(const struct app *app, struct capture_list *list, size_t n,
		      struct capture *capture, int *damage);

/* The path of capture @n, until the next one is asked for or opened; NULL: there is no memory. */
const char *capture_list_path(struct capture_list *list, size_t n);

void capture_list_free(struct capture_list *list);
