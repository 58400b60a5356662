/* SPDX-License-Identifier: MIT */
/* Instruction listings as text, see vsoc-job(1). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <drm/vsoc_drm.h>

enum {
	LISTING_MAX_INSTRUCTIONS = 4096,
	LISTING_MAX_PARAMETERS = 16,
	LISTING_NAME_BYTES = 32,
	LISTING_MNEMONIC_BYTES = 24,
};

/* a name in the formulas of a listing */
struct listing_parameter {
	/* a letter or underscore, then letters, digits, underscores */
	char name[LISTING_NAME_BYTES];
	int64_t value; /* its value */
	bool used; /* set by listing_read() if a formula has it */
};

/* the instructions of a thread; zeroed when empty */
struct listing {
	struct drm_vsoc_instruction *instructions; /* in the kernel's format; owned */
	/* as written, with modifiers, one for each instruction; owned */
	char (*mnemonics)[LISTING_MNEMONIC_BYTES];
	size_t count; /* elements of @instructions */
	uint32_t *lines; /* in the file, from 1 on; owned */
	/* name and text of a disassembled program, whose guards have totals; NULL: others */
	const char *name, *source;
};

/*
 * Read a listing.
 * @file: open for reading; @name: of the file, for errors; @foreign: of any machine; @parameters:
 * names of formulas; @parameter_count: elements of @parameters, at most LISTING_MAX_PARAMETERS;
 * @listing: filled on success, to be given to listing_free(); @error: set to "NAME:LINE: reason" on
 * failure.
 *
 * With @foreign, an instruction that the virtual SoC does not have gets opcode 0 and may have small
 * letters, and @PT{FORMULA} sets @guard_times. BRA and EXIT still end a basic block. Parameters may
 * be unused.
 * Return: 0; -EINVAL with @error, also for an unused parameter; -ENOMEM; -EIO.
 */
int listing_read(FILE *file, const char *name, bool foreign, struct listing_parameter *parameters,
		 size_t parameter_count, struct listing *listing, char *error, size_t error_bytes);

void listing_free(struct listing *listing);

/*
 * Name of an opcode.
 * @opcode: enum drm_vsoc_opcode.
 * Return: the name without modifiers, NULL if unknown.
 */
const char *listing_mnemonic(uint16_t opcode);

/* length of the name that @text begins with, 0: none */
size_t listing_name_length(const char *text);

/* the line of a text that is @lines behind its first one */
const char *listing_line(const char *text, size_t lines);
