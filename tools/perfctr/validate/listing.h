/* SPDX-License-Identifier: MIT */
/*
 * Instruction listings: what a thread does, step by step, and how often each
 * instruction was executed, predicated off, or never reached.
 *
 * One instruction is one text:
 *
 *	[COUNT *] [LABEL:] [@GUARD] MNEMONIC [OPERANDS]
 *
 *	@PT  or none	always true
 *	@!PT		never true
 *	@P0{FORMULA}	true FORMULA times, then false once, and so on; the
 *			name of the predicate register is for people
 *
 * A BRA whose guard is true goes to the label that is its operand, or with "+n"
 * and "-n" to an instruction relative to itself. EXIT ends the thread.
 */
#ifndef VALIDATE_LISTING_H
#define VALIDATE_LISTING_H

#include "formula.h"
#include "json_read.h"

enum guard { GUARD_ALWAYS, GUARD_NEVER, GUARD_COUNTED };

/**
 * struct instruction - one place in a listing
 */
struct instruction {
	/** @text: as it stands in the campaign, without repetition. */
	const char *text;
	/** @label: name of the place, or NULL. */
	const char *label;
	/** @mnemonic: with modifiers, for example "IMAD.WIDE". */
	const char *mnemonic;
	/** @guard_times: formula of GUARD_COUNTED. */
	const char *guard_times;
	/** @target: of a BRA: index in the listing. */
	size_t target;
	/** @guard: enum guard. */
	enum guard guard;
	/** @is_branch: a BRA. */
	bool is_branch;
	/** @is_exit: an EXIT. */
	bool is_exit;
};

/**
 * struct listing - a program
 */
struct listing {
	/** @instructions: in the order of memory. */
	struct instruction *instructions;
	/** @count: elements of @instructions. */
	size_t count;
};

/**
 * struct tally - what one thread did with an instruction
 */
struct tally {
	/** @on: reached with the guard true. */
	uint64_t on;
	/** @off: reached with the guard false. */
	uint64_t off;
};

#define MAX_INSTRUCTIONS 4096
#define MAX_STEPS 10000000

/**
 * listing_parse() - read a listing
 * @file: names, owner and failure
 * @list: array of texts
 * @listing: filled on success
 *
 * Return: 0 or -1.
 */
int listing_parse(const struct json_file *file, const struct json *list, struct listing *listing);

/**
 * listing_run() - follow one thread
 * @listing: program
 * @bindings: parameters of the guards
 * @tallies: one for each instruction, filled
 * @failure: set if the thread leaves the listing or never ends
 *
 * Return: 0 or -1.
 */
int listing_run(const struct listing *listing, const struct bindings *bindings,
		struct tally *tallies, struct failure *failure);

/* Operation without modifiers: length of "IMAD" in "IMAD.WIDE". */
size_t mnemonic_base(const char *mnemonic);

#endif /* VALIDATE_LISTING_H */
