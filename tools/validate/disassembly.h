/* SPDX-License-Identifier: MIT */
/*
 * Programs as disassemblers print them: cuobjdump -sass, nvdisasm, objdump -d of x86-64, arm64 and
 * RISC-V. An instruction that is missing, by its address, is an error.
 * They become listings, line by line, so that line numbers stay. The numbers of their
 * guards are totals. Branches of a CPU are BRA.<mnemonic>, its return is EXIT.
 */
#pragma once

#include "base.h"

/* how often a guard is true, or a branch is taken, in all */
struct taken {
	uint64_t address;
	bool from_start; /* @address counts from the first instruction */
	const char *formula;
	bool used; /* set if the program has such an instruction there */
};

/* Whether a text is a disassembly. */
bool is_disassembly(const char *text);

/* the instructions of a CPU's program, to find them in a process */
struct code {
	uint64_t end; /* of a region: where it ends; 0: a function, which returns */
	uint64_t *addresses; /* as linked, ascending */
	size_t count; /* 0: it is no program of a CPU */
	uint8_t *bytes; /* of all instructions, without gaps */
	size_t length; /* 0: the listing does not have the bytes */
	bool has_exclusive; /* an exclusive access, which fails if it is done step by step */
};

/* what to convert */
struct disassembly {
	struct arena *arena;
	const char *name; /* of the file, for messages */
	const char *text;
	const char *symbol; /* name of the function, or of a label where a region begins */
	const char *until; /* label where the region ends; NULL: @symbol is a function */
	/* for each instruction that depends on a predicate or a flag, and each branch back */
	struct taken *taken;
	size_t count; /* elements of @taken */
	struct failure *failure;
	/* set: all that the failure is about are numbers that @taken lacks */
	bool lacks_taken;
	struct code code; /* set */
};

/*
 * Convert a function, or a region of one.
 * @d: @symbol NULL if there is only one function; @failure: FILE:LINE:COLUMN and what is missing,
 * if the flow does not follow from the numbers.
 * Return: the listing, NULL with a failure.
 */
const char *convert_disassembly(struct disassembly *d);

/* what the listing of a region ends with; it is no instruction */
#define REGION_END "EXIT.region"
