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
	const char *formula;
	bool used; /* set if the program has such an instruction there */
};

/* Whether a text is a disassembly. */
bool is_disassembly(const char *text);

/*
 * Convert a function.
 * @name: of the file, for messages; @symbol: name of the function; NULL if there is only one;
 * @taken: for each instruction that depends on a predicate or a flag, and each branch back;
 * @failure: FILE:LINE:COLUMN and what is missing, if the flow does not follow from these numbers.
 * Return: the listing, NULL with a failure.
 */
const char *convert_disassembly(struct arena *arena, const char *name, const char *text,
				const char *symbol, struct taken *taken, size_t count,
				struct failure *failure);
