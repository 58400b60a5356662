// SPDX-License-Identifier: MIT
/*
 * perfctr record --switch-output: a recording as several files. Each is a capture by itself, whose
 * totals are of its own samples. It gets its name when it is complete.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/capture_file.h"
#include "record.h"

/* what names have behind FILE, by which they sort: UTC; a digit for each 0 */
static const char stamp_form[] = ".00000000T000000.000Z";

enum { STAMP_BYTES = sizeof(stamp_form) - 1 };

/* --- a limit on the number of files ------------------------------------------------------ */

/* Whether a name is that of a file of this recording, or of an earlier one. */
static bool is_ours(const char *name, const char *stem, size_t length, const char *suffix)
{
	const char *rest = name + length + STAMP_BYTES;

	if (strlen(name) < length + STAMP_BYTES || strncmp(name, stem, length))
		return false;
	for (size_t n = 0; n < STAMP_BYTES; n++) {
		const char c = name[length + n];

		if (stamp_form[n] == '0' ? c < '0' || c > '9' : c != stamp_form[n])
			return false;
	}
	if (strncmp(rest, suffix, strlen(suffix)))
		return false;
	rest += strlen(suffix);
	return !*rest || !strcmp(rest, CAPTURE_PART);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of this name as paths, sorted. Return: how many. */
static size_t find_files(const char *path, char ***files)
{
	const char *slash = strrchr(path, '/'), *suffix;
	const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
	const size_t stem = (size_t)record_stem(path, &suffix) - folder;
	char name[OUTPUT_PATH_BYTES];
	size_t count = 0, room = 0;
	struct dirent *e;
	DIR *all;

	*files = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)folder, path);
	all = opendir(folder ? name : ".");
	while (all && (e = readdir(all))) {
		if (!is_ours(e->d_name, path + folder, stem, suffix))
			continue;
		snprintf(name, sizeof(name), "%.*s%.*s", (int)folder, path, NAME_MAX, e->d_name);
		/* another recording's */
		if (capture_is_written(name))
			continue;
		if (count == room) {
			char **more = realloc(*files, (2 * room + 16) * sizeof(*more));

			if (!more)
				break;
			*files = more;
			room = 2 * room + 16;
		}
		(*files)[count] = strdup(name);
		if (!(*files)[count])
			break;
		count++;
	}
	if (all)
		closedir(all);
	if (count)
		qsort(*files, count, sizeof(**files), by_text);
	return count;
}

/* Remove the oldest. What cannot be removed is printed, and the recording goes on. */
static void remove_oldest(struct record *r)
{
	const uint64_t most = r->options.switching.most;
	char **files;
	size_t count;

	if (!most)
		return;
	count = find_files(r->options.counting.output, &files);
	for (size_t n = 0; n < count; n++) {
		if (n + most < count && !unlink(files[n])) {
			r->switching.removed++;
		} else if (n + most < count && errno != ENOENT) {
			app_error(r->app, "%s cannot be removed: %s", files[n], app_reason(errno));
			r->switching.has_failed = true;
		}
		free(files[n]);
	}
	free(files);
}

/* --- from file to file ------------------------------------------------------------------ */

bool record_switch_is_due(const struct record *r, uint64_t now_ns)
{
	const struct record_switch_options *o = &r->options.switching;
	const uint64_t bytes = r->pack ? pack_bytes(r->pack) : perfctr_capture_bytes(r->writer);

	/* a file has at least one sample */
	if ((!o->bytes && !o->ns) || record_taken(r) == r->switching.taken)
		return false;
	return (o->bytes && bytes >= o->bytes) ||
	       (o->ns && now_ns - r->switching.begun_ns >= o->ns);
}

int record_complete_part(struct record *r)
{
	struct record_switch *s = &r->switching;
	int error = record_close_output(r);

	if (!error && rename(s->part, s->name))
		error = -errno;
	if (error)
		return error;
	s->part[0] = '\0';
	s->files++;
	remove_oldest(r);
	return 0;
}

int record_switch_file(struct record *r)
{
	const struct counting *c = &r->options.counting;
	int error = record_end_file(r, r->writer, true);

	/* what is in the file is counted also if it is not complete */
	if (error)
		return error;
	record_end_writer(r, r->writer);
	r->writer = NULL;
	r->before = r->written;
	r->switching.taken = record_taken(r);
	for (size_t n = 0; n < c->count; n++) {
		struct record_origin *from = &r->switching.origins[n];

		from->taken = c->counted[n].taken;
		from->was_gone = c->counted[n].is_gone;
		if (c->counted[n].has_status)
			from->status = c->counted[n].status;
	}
	error = record_complete_part(r);
	if (error)
		return error;
	r->file_fd = record_open_part(r);
	error = r->file_fd < 0 ? r->file_fd : record_begin_file(r, r->file_fd, &r->writer);
	return error ? error : record_carry_marks(r);
}
