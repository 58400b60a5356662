/* SPDX-License-Identifier: MIT */
/*
 * Drivers whose scheduler can hold the contexts of a GPU. None of the kernel's drivers can; a
 * program that has one adds it before main().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* instead of the number of a context: all contexts, and those created later */
#define HOLDER_ALL_CONTEXTS UINT32_MAX

struct context_holder {
	const char *driver; /* name of the kernel's driver */
	/*
	 * Hold a context or let it run.
	 * @fd: a file of the device that stays open while something is held; @tree: the process
	 * with whose descendants the context is looked for; @context: its number, or
	 * HOLDER_ALL_CONTEXTS.
	 * Return: 0 or a negative errno; -ESRCH there is no such process, -ENOENT no such context.
	 */
	int (*set)(int fd, pid_t tree, uint32_t context, bool hold);
	struct context_holder *next; /* of the list */
};

/* @holder: stays in the list until the program ends */
void holder_add(struct context_holder *holder);

/* Return: what holds contexts of the driver; NULL: nothing. */
const struct context_holder *holder_of(const char *driver);
