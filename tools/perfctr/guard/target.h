/* SPDX-License-Identifier: MIT */
/* What a budget holds, and how: a cgroup, a process with its children, contexts of a GPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum target_action {
	TARGET_DEFAULT, /* by what the target is */
	TARGET_REPORT, /* nothing */
	TARGET_FREEZE, /* cgroup.freeze */
	TARGET_CPU_MAX, /* cpu.max of the cgroup */
	TARGET_HOLD, /* the virtual GPU's scheduler holds contexts */
	TARGET_STOP, /* SIGSTOP */
};

struct target {
	enum target_action action;
	char *cgroup; /* path, NULL: none */
	pid_t pid; /* 0: the command */
	bool has_context;
	uint32_t context; /* DRM_VSOC_CTX_ALL: all */
	unsigned int cpu_percent; /* TARGET_CPU_MAX: of one CPU, while held */
	char cpu_max[64]; /* contents of the file before */
};

/* "freeze", "cpu.max" and so on */
const char *target_action_name(enum target_action action);

/* Read an action: a name, or "cpu.max:20%". Return: 0; -EINVAL. */
int target_parse_action(const char *text, struct target *target);

/*
 * Check that the target can be held, and release it. To be called before the first hold.
 * @error: set to the reason on failure.
 */
int target_open(struct target *target, char *error, size_t size);

/*
 * Hold or release. Returns when the target has stopped: a cgroup when the kernel reports it frozen.
 * Processes and contexts that come later are not held: repeat the call.
 * Return: 0 or a negative errno; -ESRCH there is nothing to hold any more; -ETIMEDOUT tasks of the
 * cgroup do not freeze, they stay in a system call.
 */
int target_set(const struct target *target, bool hold);
