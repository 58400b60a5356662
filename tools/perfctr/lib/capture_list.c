// SPDX-License-Identifier: MIT
/* The captures that file names and directories stand for, each once. */

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file.h"

/* @stat: of the file, which is added once; NULL: always. */
static int add_path(const struct app *app, struct capture_list *list, const char *path,
		    const struct stat *stat)
{
	char **more = realloc(list->paths, (list->count + 1) * sizeof(*more));
	struct stat *stats = realloc(list->stats, (list->count + 1) * sizeof(*stats));

	list->paths = more ? more : list->paths;
	list->stats = stats ? stats : list->stats;
	for (size_t n = 0; stat && n < list->count; n++)
		if (list->stats[n].st_ino == stat->st_ino && list->stats[n].st_dev == stat->st_dev)
			return 0;
	if (more && stats) {
		stats[list->count] = stat ? *stat : (struct stat){ 0 };
		more[list->count] = strdup(path);
	}
	if (!more || !stats || !more[list->count]) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	list->count++;
	return 0;
}

bool capture_file_is(const char *path)
{
	static const char magic[] = "perfctr\n";
	char bytes[sizeof(magic) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, bytes, sizeof(bytes)) == sizeof(bytes) &&
	     !memcmp(bytes, magic, sizeof(bytes));
	close(fd);
	return is;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_word(const struct app *app, struct capture_list *list, char *word)
{
	char *const roots[] = { word, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	bool is_directory = false, found = false;
	int status = 0;
	FTSENT *e;

	while (walk && !status && (e = fts_read(walk))) {
		const bool is_word = e->fts_level == FTS_ROOTLEVEL;

		if (is_word && (e->fts_info == FTS_D || e->fts_info == FTS_DP)) {
			is_directory = true;
		} else if (e->fts_info == FTS_DNR || (e->fts_info == FTS_NS && !is_word)) {
			app_error(app, "%s: %s", e->fts_path, strerror(e->fts_errno));
			status = EXIT_FAILED;
		} else if (is_word || (e->fts_info == FTS_F && capture_file_is(e->fts_accpath))) {
			/* what is wrong with a file that was named, its reader says */
			status = add_path(app, list, e->fts_path,
					  e->fts_info == FTS_F ? e->fts_statp : NULL);
			found = true;
		}
	}
	if (!walk || (!status && !found)) {
		app_error(app, "%s: %s", word,
			  is_directory ? "no capture of perfctr record is in this directory" :
					 strerror(walk ? ENOENT : errno));
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
	return status;
}

void capture_list_free(struct capture_list *list)
{
	for (size_t n = 0; n < list->count; n++)
		free(list->paths[n]);
	free(list->paths);
	free(list->stats);
	*list = (struct capture_list){ 0 };
}
