// SPDX-License-Identifier: MIT
/*
 * Where cgroups are: version 2 wherever it is mounted, version 1's freezer, and the hierarchy in
 * which perf counts, which is one of its own on hosts with version 1 or both (hybrid).
 */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4000, MAX_DEPTH = 32 };

struct mounts {
	char *unified, *freezer, *perf;
};

static bool has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',') && strchr(",\n", at[length]))
			return true;
	return false;
}

static void set_once(char **to, const char *text)
{
	if (!*to)
		*to = strdup(text);
}

/* The first mount of each. */
static void find_mounts(struct mounts *m)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	*m = (struct mounts){ 0 };
	while (file && getline(&line, &size, file) > 0) {
		char folder[MAX_PATH + 1], options[512] = "";
		const char *type = strstr(line, " - ");

		if (!type || sscanf(line, "%*d %*d %*s %*s %4000s", folder) != 1)
			continue;
		if (!strncmp(type, " - cgroup2 ", strlen(" - cgroup2 ")))
			set_once(&m->unified, folder);
		if (sscanf(type, " - cgroup %*s %511s", options) != 1)
			continue;
		if (has_word(options, "freezer"))
			set_once(&m->freezer, folder);
		if (has_word(options, "perf_event"))
			set_once(&m->perf, folder);
	}
	free(line);
	if (file)
		fclose(file);
}

static void free_mounts(struct mounts *m)
{
	free(m->unified);
	free(m->freezer);
	free(m->perf);
}

/* What is left of a path below a mount; NULL: it is not below it. */
static const char *below(const char *path, const char *mount)
{
	const size_t length = mount ? strlen(mount) : 0;

	return mount && !strncmp(path, mount, length) && path[length] == '/' ? path + length + 1 :
									       NULL;
}

/* Whether a path goes up: a folder of it is "..". */
static bool goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

/*
 * The path of a cgroup in its hierarchy. Return: NULL, it is none.
 * @in: set to the mount that an absolute path names, NULL: it is relative
 */
static const char *relative(const struct mounts *m, const char *text, const char **in)
{
	const char *const mounts[] = { m->unified, m->freezer, m->perf };
	const char *path = *text == '/' ? NULL : text;
	size_t longest = 0;

	*in = NULL;
	for (size_t n = 0; *text == '/' && n < sizeof(mounts) / sizeof(mounts[0]); n++)
		if (below(text, mounts[n]) && strlen(mounts[n]) > longest) {
			longest = strlen(mounts[n]);
			*in = mounts[n];
			path = below(text, mounts[n]);
		}
	return path && *path && *path != '/' && !goes_up(path) && strlen(path) <= MAX_PATH ? path :
											     NULL;
}

bool cgroup_is_path(const char *text)
{
	struct mounts m;
	const char *in;
	bool is_path;

	find_mounts(&m);
	is_path = relative(&m, text, &in);
	free_mounts(&m);
	return is_path;
}

static bool has_file(const char *folder, const char *file)
{
	char path[MAX_PATH + 512];

	return snprintf(path, sizeof(path), "%s/%s", folder, file) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/*
 * The folder of a cgroup in a hierarchy, if it has a file. Return: NULL, errno is set.
 * @made: NULL: do not make it; set to whether it was made
 */
static char *take(const char *mount, const char *path, const char *file, bool *made)
{
	char *folder;
	bool is_new;

	if (asprintf(&folder, "%s/%s", mount, path) < 0)
		return NULL;
	is_new = made && !mkdir(folder, 0755);
	if (made && !is_new && errno != EEXIST) {
		free(folder);
		return NULL;
	}
	if (!file || has_file(folder, file)) {
		if (made)
			*made = is_new;
		return folder;
	}
	if (is_new)
		rmdir(folder);
	free(folder);
	errno = ENOENT;
	return NULL;
}

int cgroup_find(const char *text, bool make, struct cgroup *c, char *error, size_t size)
{
	struct mounts m;
	const char *in, *path, *counts;
	int result = 0;

	*c = (struct cgroup){ 0 };
	find_mounts(&m);
	path = relative(&m, text, &in);
	errno = ENOENT;
	if (path && m.unified && (!in || in == m.unified))
		c->hold = take(m.unified, path, "cgroup.freeze", make ? &c->made : NULL);
	if (path && !c->hold && m.freezer && (!in || in != m.unified)) {
		errno = 0;
		c->hold = take(m.freezer, path, "freezer.state", make ? &c->made : NULL);
		c->version_1 = c->hold;
	}
	if (!c->hold) {
		result = errno ? -errno : -ENOENT;
		snprintf(error, size, "%s%s%s/cgroup.freeze: %s%s%s%s%s",
			 m.unified ? m.unified : "", m.unified ? "/" : "", path ? path : text,
			 strerror(-result),
			 m.freezer ? "; neither is " : "; no freezer of version 1 is mounted",
			 m.freezer ? m.freezer : "", m.freezer ? "/" : "",
			 m.freezer ? path ? path : text : "");
	}
	counts = m.perf ? m.perf : m.unified;
	if (c->hold && counts) {
		errno = 0;
		c->count = take(counts, path, NULL, make ? &c->made_count : NULL);
	}
	if (c->hold && make && counts && !c->count) {
		result = errno ? -errno : -ENOMEM;
		snprintf(error, size, "%s/%s: %s", counts, path, strerror(-result));
		cgroup_remove(c);
	}
	free_mounts(&m);
	return result;
}

char *cgroup_find_counted(const char *text)
{
	struct mounts m;
	const char *in, *path, *mount;
	char *folder = NULL;

	find_mounts(&m);
	path = relative(&m, text, &in);
	/* as perf: below the root, and the root itself */
	if (!path && *text == '/' && !goes_up(text))
		path = text + strspn(text, "/");
	mount = m.perf ? m.perf : m.unified;
	errno = ENOENT;
	if (path && mount)
		folder = take(mount, path, "cgroup.procs", NULL);
	free_mounts(&m);
	return folder;
}

void cgroup_remove(struct cgroup *c)
{
	if (c->made_count)
		rmdir(c->count);
	if (c->made)
		rmdir(c->hold);
	free(c->hold);
	free(c->count);
	*c = (struct cgroup){ 0 };
}

int cgroup_join(const char *folder, pid_t pid)
{
	char path[MAX_PATH + 512];
	FILE *file;
	int error;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	error = fprintf(file, "%d\n", (int)pid) < 0 ? -EIO : 0;
	return fclose(file) ? -errno : error;
}

/* --- processes ----------------------------------------------------------------------- */

/* When a process began, as it is in its stat. Return: 0, it ended. */
static uint64_t began(pid_t pid)
{
	char path[64], text[1024] = "", *at;
	unsigned long long ticks = 0;
	char state = 'Z';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		*text = '\0';
	if (file)
		fclose(file);
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			  "%*d %*d %*d %llu",
			  &state, &ticks) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : ticks + 1;
}

bool process_runs(pid_t pid)
{
	return began(pid);
}

static void add_processes(struct members *m, const char *folder, unsigned int depth)
{
	char path[MAX_PATH + 512];
	struct dirent *entry;
	FILE *file;
	DIR *dir;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		struct member *more = realloc(m->list, (m->count + 1) * sizeof(*more));

		if (!more)
			break;
		m->list = more;
		m->list[m->count++] = (struct member){ .pid = pid };
	}
	if (file)
		fclose(file);
	dir = depth < MAX_DEPTH ? opendir(folder) : NULL;
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(path))
			add_processes(m, path, depth + 1);
	if (dir)
		closedir(dir);
}

void members_read(struct members *m, const char *folder)
{
	*m = (struct members){ 0 };
	add_processes(m, folder, 0);
}

bool members_have(const struct members *m, pid_t pid)
{
	for (size_t n = 0; n < m->count; n++)
		if (m->list[n].pid == pid)
			return true;
	return false;
}

pid_t members_update(struct members *m, const char *folder)
{
	struct members now;
	pid_t left = 0;

	members_read(&now, folder);
	/* a known process keeps its time: the kernel may use its number again */
	for (size_t n = 0; n < now.count; n++)
		for (size_t i = 0; i < m->count && !now.list[n].began; i++)
			if (m->list[i].pid == now.list[n].pid)
				now.list[n].began = m->list[i].began;
	for (size_t n = 0; n < now.count; n++)
		if (!now.list[n].began)
			now.list[n].began = began(now.list[n].pid);
	for (size_t i = 0; i < m->count && !left; i++)
		if (m->list[i].began && !members_have(&now, m->list[i].pid) &&
		    began(m->list[i].pid) == m->list[i].began) {
			left = m->list[i].pid;
			/* the others are found by the next calls */
			m->list[i].began = 0;
		}
	if (left) {
		free(now.list);
		return left;
	}
	free(m->list);
	*m = now;
	return 0;
}

void members_free(struct members *m)
{
	free(m->list);
	*m = (struct members){ 0 };
}
