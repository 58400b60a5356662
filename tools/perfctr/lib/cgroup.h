/* SPDX-License-Identifier: MIT */
/* cgroups: where they are, and which processes are in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* a cgroup in the hierarchies that the guard needs */
struct cgroup {
	char *hold; /* its folder where it is frozen */
	char *count; /* where perf counts; often the same one. NULL: nowhere */
	bool version_1; /* @hold is of the freezer of version 1 */
	bool made, made_count; /* @hold and @count did not exist */
};

/* Whether a text is a relative path, or one below a mount of cgroups. */
bool cgroup_is_path(const char *text);

/*
 * Find a cgroup that can be frozen: of version 2, else of the freezer of version 1.
 * @make: make it where it is missing
 * @error: set to the reason on failure
 * Return: 0 or a negative errno. @c is to be freed with cgroup_remove().
 */
int cgroup_find(const char *text, bool make, struct cgroup *c, char *error, size_t size);

/*
 * Find a cgroup where perf counts.
 * Return: its folder, which the caller frees; NULL: there is none, errno is set.
 */
char *cgroup_find_counted(const char *text);

/* Remove the folders that were made, if they are empty, and free @c. */
void cgroup_remove(struct cgroup *c);

/* Move a process there. Return: 0 or a negative errno. */
int cgroup_join(const char *folder, pid_t pid);

/* processes of a cgroup and of those below it */
struct members {
	size_t count;
	struct member {
		pid_t pid;
		uint64_t began; /* 0: it ended, or nobody looked */
	} * list;
};

void members_read(struct members *m, const char *folder);
bool members_have(const struct members *m, pid_t pid);

/*
 * Read them again. Return: a process that runs, and left since the last call; call again then.
 * 0: there is none, and @m is what is there now.
 */
pid_t members_update(struct members *m, const char *folder);
void members_free(struct members *m);

/* Whether a process runs, and is no zombie. */
bool process_runs(pid_t pid);
