/* SPDX-License-Identifier: MIT */
/* Instruction listings as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* what an instruction does to the order of a thread's steps */
enum listing_kind {
	LISTING_STEP, /* nothing: the next one follows */
	LISTING_BRANCH, /* BRA: goes to @target if the guard is true */
	LISTING_EXIT, /* EXIT: the thread ends if the guard is true */
	LISTING_TRIGGER, /* PMTRIG: fires the profiler triggers in @target */
};

enum listing_guard {
	LISTING_ALWAYS, /* no guard predicate, or PT */
	LISTING_NEVER, /* !PT */
	/*
	 * true the first @guard_times times that a thread reaches it, then false once, then
	 * repeated
	 */
	LISTING_TIMES,
};

struct listing_instruction {
	enum listing_kind kind;
	enum listing_guard guard;
	uint32_t guard_times; /* of LISTING_TIMES, and what is stated of others; else 0 */
	/* of a branch, index of an instruction; of a trigger, a mask from 1 to 255; else 0 */
	uint32_t target;
};

/* a machine that executes listings */
struct listing_machine {
	const char *name; /* for errors */
	/* whether it has an instruction of that name; modifiers are cut off */
	bool (*knows)(const char *mnemonic, size_t length);
};

/* the instructions of a thread; zeroed when empty */
struct listing {
	struct listing_instruction *instructions; /* owned */
	/* as written, with modifiers, one for each instruction; owned */
	char (*mnemonics)[LISTING_MNEMONIC_BYTES];
	size_t count; /* elements of @instructions */
	uint32_t *lines; /* in the file, from 1 on; owned */
	/* name and text of a disassembled program, whose guards have totals; NULL: others */
	const char *name, *source;
};

/*
 * Read a listing.
 * @file: open for reading; @name: of the file, for errors; @machine: that is to execute it, NULL:
 * of any machine; @parameters: names of formulas; @parameter_count: elements of @parameters, at
 * most LISTING_MAX_PARAMETERS; @listing: filled on success, to be given to listing_free(); @error:
 * set to "NAME:LINE: reason" on failure.
 *
 * Of any machine, mnemonics may have small letters, @PT{FORMULA} sets @guard_times, and parameters
 * may be unused.
 * Return: 0; -EINVAL with @error, also for an instruction that the machine does not have and for an
 * unused parameter; -ENOMEM; -EIO.
 */
int listing_read(FILE *file, const char *name, const struct listing_machine *machine,
		 struct listing_parameter *parameters, size_t parameter_count,
		 struct listing *listing, char *error, size_t error_bytes);

void listing_free(struct listing *listing);

/* length of the name that @text begins with, 0: none */
size_t listing_name_length(const char *text);

/* the line of a text that is @lines behind its first one */
const char *listing_line(const char *text, size_t lines);
