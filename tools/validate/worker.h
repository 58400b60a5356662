/* SPDX-License-Identifier: MIT */
/*
 * Devices that execute a campaign's commands and listings themselves. On others a campaign names
 * programs: "run PROGRAM ARGUMENT...". No GPU of the kernel's drivers is one; a program that has
 * one adds it before main().
 */
#pragma once

#include "analysis.h"

struct worker {
	const char *driver; /* name of the kernel's driver; a campaign's "device" */

	/*
	 * Begin to use a device.
	 * @state: set to what the other operations get.
	 * Return: 0; a negative errno with the analysis' failure.
	 */
	int (*open)(struct analysis *a, const struct perfctr_device *device, void **state);
	void (*close)(void *state);

	/*
	 * Do a point's work once, as often as it has kernels, and wait for its end.
	 * @words: of the benchmark's command, @count of them, formulas evaluated; 0: its listing.
	 * Return: 0; -1 with the analysis' failure.
	 */
	int (*work)(void *state, struct analysis *a, const struct point *point,
		    const char *const *words, size_t count);

	/* the cores that the device has, a mask; work may depend on their number */
	uint64_t (*cores)(const void *state);

	/* Add what else of the device the measurements depend on. */
	void (*configure)(const void *state, struct analysis *a);

	/* whether it executes an instruction of that name, without modifiers */
	bool (*executes)(const char *mnemonic, size_t length);

	struct worker *next; /* of the list */
};

/* @worker: stays in the list until the program ends */
void worker_add(struct worker *worker);

/* Return: the one for a driver; NULL: there is none. */
const struct worker *worker_of(const char *driver);
