/* SPDX-License-Identifier: MIT */
/* Jobs as text: converts words to commands of the virtual SoC. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/vsoc_drm.h>

#include "common/listing.h"

/* commands of one job, in order */
struct job {
	struct drm_vsoc_command *commands; /* in the kernel's format */
	size_t count; /* elements of @commands in use */
	size_t capacity; /* elements of @commands allocated */
	struct drm_vsoc_instruction **listings; /* that commands point to */
	size_t listing_count; /* elements of @listings */
};

void job_clear(struct job *job);
void job_free(struct job *job);

/* Append a command. @command: command, copied. Return: 0 or -ENOMEM. */
int job_add(struct job *job, const struct drm_vsoc_command *command);

/*
 * Let a command execute a listing.
 * @compute: of a command that is added to the job afterwards; @listing: copied; @error: set to a
 * reason on failure.
 * Return: 0; -EINVAL the virtual SoC has no such instruction; -ENOMEM.
 */
int job_add_listing(struct job *job, struct drm_vsoc_cmd_compute *compute,
		    const struct listing *listing, char *error, size_t error_bytes);

/*
 * Append commands from words.
 * @words: for example "x2", "draw", "vertices=300", "copy", "bytes=4Ki", "read"; a compute's
 * "listing=FILE" is read, "N=10" after it is a parameter of the listing; @count: number of words;
 * @error: set to a sentence on failure.
 * Return: 0; -EINVAL with @error; -ENOMEM.
 */
int job_parse(struct job *job, const char *const *words, size_t count, char *error,
	      size_t error_bytes);

/* Total of a numeric field of commands. */
struct command_amount {
	const char *command;
	const char *field;
	uint64_t sum;
};

enum { COMMAND_AMOUNTS = 16 };

/*
 * Add the fields of a command to totals.
 * @amounts: COMMAND_AMOUNTS elements, zeroed before the first call.
 */
void command_amounts_add(struct command_amount *amounts, const struct drm_vsoc_command *command);

/* Print the commands and their fields, one line each. */
void command_help(void);
