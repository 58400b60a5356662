// SPDX-License-Identifier: MIT
/* The pages of this process: those of the machine and of the user, and those it names. */
#include "pages.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct loading {
	struct pages pages;
	char problems[4096];
	const char *path;
	const struct stat *without; /* a file that is not to be read */
};

static _Atomic(struct loading *) loaded;
static atomic_flag reported = ATOMIC_FLAG_INIT;

static void note_problem(void *data, unsigned int line, unsigned int column, const char *text)
{
	struct loading *l = data;
	size_t used = strlen(l->problems);
	char place[32] = "";

	if (line)
		snprintf(place, sizeof(place), "%u:%u:", line, column);
	snprintf(l->problems + used, sizeof(l->problems) - used, "%s%s:%s %s", used ? "\n" : "",
		 l->path, place, text);
}

/* NULL: *why is the reason. */
static char *pages_read(const char *path, struct stat *status, size_t *size, const char **why)
{
	enum { MOST_BYTES = 16 << 20 };
	/* a FIFO or a device may block */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = NULL;
	char *text = NULL;

	*why = "out of memory";
	if (fd < 0 || fstat(fd, status))
		*why = strerror(errno);
	else if (!S_ISREG(status->st_mode))
		*why = S_ISDIR(status->st_mode) ? "is a directory" : "is no regular file";
	else if (status->st_size > MOST_BYTES)
		*why = "has more than 16 MiB";
	else if ((file = fdopen(fd, "r")) && (text = malloc((size_t)status->st_size + 1)))
		*size = fread(text, 1, (size_t)status->st_size, file);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return text;
}

static int is_page(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".toml");
}

static void load_file(struct loading *l, const char *path)
{
	struct stat status;
	const char *why;
	size_t size = 0;
	char *text = pages_read(path, &status, &size, &why);

	l->path = path;
	if (!text)
		note_problem(l, 0, 0, why);
	else if (!l->without || l->without->st_ino != status.st_ino ||
		 l->without->st_dev != status.st_dev)
		pages_add(&l->pages, text, size, note_problem, l);
	free(text);
}

static void load_folder(struct loading *l, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_page, alphasort);

	l->path = folder;
	if (count < 0 && errno != ENOENT)
		note_problem(l, 0, 0, strerror(errno));
	for (int n = 0; n < count; n++) {
		char path[PATH_BYTES];

		snprintf(path, sizeof(path), "%s/%s", folder, entries[n]->d_name);
		load_file(l, path);
		free(entries[n]);
	}
	if (count >= 0)
		free(entries);
}

/* Counters first, so that metrics of another page find them; later pages come before. */
static void load_all(struct loading *l)
{
	static const char *const folders[] = { "counters.d", "metrics.d" };
	const char *more_pages = secure_getenv("PERFCTR_COUNTERS");
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	char path[PATH_BYTES];

	for (size_t n = 0; n < ARRAY_SIZE(folders); n++) {
		snprintf(path, sizeof(path), "/etc/perfctr/%s", folders[n]);
		load_folder(l, path);
		if (!config && !home)
			continue;
		snprintf(path, sizeof(path), "%s%s/perfctr/%s", config ? config : home,
			 config ? "" : "/.config", folders[n]);
		/* sudo -u may leave the HOME of a user whose files this one may not read */
		if (!access(path, R_OK | X_OK) || errno != EACCES)
			load_folder(l, path);
	}
	for (const char *at = more_pages; at && *at; at += strspn(at, ":")) {
		size_t length = strcspn(at, ":");
		struct stat status;

		snprintf(path, sizeof(path), "%.*s", (int)length, at);
		at += length;
		if (!stat(path, &status) && S_ISDIR(status.st_mode))
			load_folder(l, path);
		else if (length)
			load_file(l, path);
	}
}

static struct loading *load_once(void)
{
	static struct loading none;
	struct loading *l = atomic_load_explicit(&loaded, memory_order_acquire), *before = NULL;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return &none;
	load_all(l);
	if (!atomic_compare_exchange_strong(&loaded, &before, l)) {
		pages_free(&l->pages);
		free(l);
		l = before;
	}
	return l;
}

const struct pages *pages_loaded(void)
{
	return &load_once()->pages;
}

EXPORT const char *perfctr_page_problems(void)
{
	const struct loading *l = load_once();

	atomic_flag_test_and_set(&reported);
	return l->problems[0] ? l->problems : NULL;
}

void pages_report(struct perfctr_ctx *ctx)
{
	const struct loading *l = load_once();

	if (l->problems[0] && !atomic_flag_test_and_set(&reported))
		perfctr_log(ctx, PERFCTR_LOG_WARNING, "mistakes in pages of counters: %s",
			    l->problems);
}

EXPORT int perfctr_page_check(struct perfctr_ctx *ctx, const char *path, perfctr_page_problem fn,
			      void *data)
{
	struct loading *l = calloc(1, sizeof(*l));
	struct stat status;
	const char *why;
	size_t size = 0, rows;
	char *text = pages_read(path, &status, &size, &why);
	int problems = -ENOMEM;

	if (l && text) {
		/* beside those that this process reads */
		l->without = &status;
		load_all(l);
		rows = l->pages.counter_count + l->pages.metric_count + l->pages.gpu_count;
		problems = pages_add(&l->pages, text, size, fn, data);
		rows -= l->pages.counter_count + l->pages.metric_count + l->pages.gpu_count;
		if (!problems && !rows) {
			problems = 1;
			if (fn)
				fn(data, 1, 1, "no counter and no metric in it");
		}
		pages_free(&l->pages);
	}
	free(l);
	if (!text)
		return perfctr_fail(ctx, -ENOENT, "%s: %s", path, why);
	free(text);
	return problems < 0 ? perfctr_no_memory(ctx) : problems;
}
