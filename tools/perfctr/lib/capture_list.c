// SPDX-License-Identifier: MIT
/* The captures that file names and directories stand for, each once. */

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "capture_file.h"
#include "common/unpack.h"

struct seen {
	dev_t device;
	ino_t inode;
};

static int by_place(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->inode != y->inode ? (x->inode > y->inode) - (x->inode < y->inode) :
				      (x->device > y->device) - (x->device < y->device);
}

/* Note a file. Return: 1: it is there; 0; -ENOMEM. */
static int see(struct capture_list *list, const struct stat *stat)
{
	struct seen *seen = malloc(sizeof(*seen)), **found;

	if (!seen)
		return -ENOMEM;
	*seen = (struct seen){ stat->st_dev, stat->st_ino };
	found = tsearch(seen, &list->seen, by_place);
	if (found && *found == seen)
		return 0;
	free(seen);
	return found ? 1 : -ENOMEM;
}

/* Keep a text. Return: whether there is memory. */
static bool keep_text(struct capture_list *list, const char *text, size_t length, uint32_t *at)
{
	const size_t used = list->used + length + 1;
	char *more = list->texts;

	if (used > UINT32_MAX)
		return false;
	if (used > list->room) {
		more = realloc(list->texts, 2 * used);
		if (!more)
			return false;
		list->texts = more;
		list->room = 2 * used;
	}
	*at = (uint32_t)list->used;
	memcpy(more + list->used, text, length);
	more[list->used + length] = '\0';
	list->used = used;
	return true;
}

/* Add a path behind the last one. Return: whether there is memory. */
static bool keep_path(struct capture_list *list, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t folder = (size_t)(name - path);
	struct capture_place *last, *place;

	/* grows at each power of two */
	if (!(list->count & (list->count - 1))) {
		place = realloc(list->places, (2 * list->count + 1) * sizeof(*place));
		if (!place)
			return false;
		list->places = place;
	}
	place = &list->places[list->count];
	last = list->count ? place - 1 : NULL;
	if (last && !strncmp(list->texts + last->folder, path, folder) &&
	    !list->texts[last->folder + folder])
		place->folder = last->folder;
	else if (!keep_text(list, path, folder, &place->folder))
		return false;
	list->first = last ? list->first : strdup(path);
	return list->first && keep_text(list, name, strlen(name), &place->name);
}

/* @stat: of the file, which is added once; NULL: always. */
static int add_path(const struct app *app, struct capture_list *list, const char *path,
		    const struct stat *stat)
{
	const int seen = stat ? see(list, stat) : 0;

	if (seen > 0)
		return 0;
	if (seen || !keep_path(list, path)) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	list->count++;
	return 0;
}

const char *capture_list_path(struct capture_list *list, size_t n)
{
	const struct capture_place *place = &list->places[n];

	free(list->opened_path);
	if (asprintf(&list->opened_path, "%s%s", list->texts + place->folder,
		     list->texts + place->name) < 0)
		list->opened_path = NULL;
	return list->opened_path;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

bool capture_is_written(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is;
}

static bool is_part(const char *name)
{
	const size_t length = strlen(name), own = strlen(CAPTURE_PART);

	return length > own && !strcmp(name + length - own, CAPTURE_PART);
}

/* What a directory has, if it is a capture. Return: 0 or an exit status. */
static int add_found(const struct app *app, struct capture_list *list, const FTSENT *e)
{
	const char *path = e->fts_accpath, *reason = "it is empty";
	int error = 0;

	if (e->fts_info == FTS_DNR || e->fts_info == FTS_NS)
		error = e->fts_errno;
	else if (e->fts_info == FTS_SLNONE)
		error = ENOENT;
	else if (e->fts_info != FTS_F)
		return 0;
	else if (access(path, R_OK))
		error = errno;
	else if (is_part(e->fts_name) && capture_is_written(path))
		reason = "it is being written";
	else if (e->fts_statp->st_size && !capture_file_is(path) && !capture_is_packed(path))
		return 0;
	else if (e->fts_statp->st_size && !is_part(e->fts_name))
		return add_path(app, list, e->fts_path, e->fts_statp);
	else if (e->fts_statp->st_size)
		reason = "it is a part whose recording did not end; give its name to read it";
	/* nothing is wrong with one that is being written */
	list->has_left_out |= error || strcmp(reason, "it is being written") != 0;
	app_error(app, "%s is left out: %s", e->fts_path, error ? strerror(error) : reason);
	return 0;
}

static int add_word(const struct app *app, struct capture_list *list, char *word)
{
	char *const roots[] = { word, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	const size_t before = list->count;
	bool is_directory = false;
	int status = 0;
	FTSENT *e;

	while (walk && !status && (e = fts_read(walk))) {
		if (e->fts_level != FTS_ROOTLEVEL) {
			status = add_found(app, list, e);
		} else if (e->fts_info == FTS_DNR) {
			app_error(app, "%s: %s", word, strerror(e->fts_errno));
			status = EXIT_FAILED;
		} else if (e->fts_info == FTS_D || e->fts_info == FTS_DP) {
			is_directory = true;
		} else {
			/* what is wrong with a file that was named, its reader says */
			status = add_path(app, list, e->fts_path,
					  e->fts_info == FTS_F ? e->fts_statp : NULL);
		}
	}
	if (!walk || (!status && is_directory && list->count == before)) {
		app_error(app, "%s: %s", word,
			  walk ? "no capture of perfctr record is in this directory" :
				 strerror(errno));
		status = EXIT_FAILED;
	}
	if (walk)
		fts_close(walk);
	return status;
}

int capture_list_add(const struct app *app, char *const *words, int count,
		     struct capture_list *list)
{
	int status = count ? 0 : add_path(app, list, CAPTURE_DEFAULT_FILE, NULL);

	for (int n = 0; !status && n < count; n++)
		status = strcmp(words[n], "-") ? add_word(app, list, words[n]) :
						 add_path(app, list, words[n], NULL);
	tdestroy(list->seen, free);
	list->seen = NULL;
	return status;
}

void capture_list_free(struct capture_list *list)
{
	free(list->first);
	free(list->places);
	free(list->texts);
	free(list->opened_path);
	*list = (struct capture_list){ 0 };
}

static bool is_capture(const char *bytes, ssize_t length)
{
	return length == 8 && !memcmp(bytes, "perfctr\n", 8);
}

bool capture_is_packed(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = -1;
	char bytes[8];

	if (fd >= 0) {
		length = unpack_peek(fd, bytes, sizeof(bytes));
		close(fd);
	}
	/* what is too short to tell is named when it is read */
	return length >= 0 && (length < (ssize_t)sizeof(bytes) || is_capture(bytes, length));
}

bool capture_file_is(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[8];
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, bytes, sizeof(bytes));
	close(fd);
	return is_capture(bytes, length);
}
