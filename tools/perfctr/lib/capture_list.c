// SPDX-License-Identifier: MIT

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file.h"

static int add_path(const struct app *app, struct capture_list *list, const char *path)
{
	char **more = realloc(list->paths, (list->count + 1) * sizeof(*more));

	if (more) {
		list->paths = more;
		more[list->count] = strdup(path);
	}
	if (!more || !more[list->count]) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	list->count++;
	return 0;
}

static bool is_capture(const char *path)
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
	const size_t before = list->count;
	bool is_directory = false;
	int status = 0;
	FTSENT *e;

	while (walk && !status && (e = fts_read(walk))) {
		const bool is_word = e->fts_level == FTS_ROOTLEVEL;

		if (is_word && (e->fts_info == FTS_D || e->fts_info == FTS_DP)) {
			is_directory = true;
		} else if (e->fts_info == FTS_DNR || (e->fts_info == FTS_NS && !is_word)) {
			app_error(app, "%s: %s", e->fts_path, strerror(e->fts_errno));
			status = EXIT_FAILED;
		} else if (is_word || (e->fts_info == FTS_F && is_capture(e->fts_accpath))) {
			/* what is wrong with a file that was named, its reader says */
			status = add_path(app, list, e->fts_path);
		}
	}
	if (!walk || (!status && list->count == before)) {
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
	int status = count ? 0 : add_path(app, list, CAPTURE_DEFAULT_FILE);

	for (int n = 0; !status && n < count; n++)
		status = strcmp(words[n], "-") ? add_word(app, list, words[n]) :
						 add_path(app, list, words[n]);
	return status;
}

void capture_list_free(struct capture_list *list)
{
	for (size_t n = 0; n < list->count; n++)
		free(list->paths[n]);
	free(list->paths);
	*list = (struct capture_list){ 0 };
}
