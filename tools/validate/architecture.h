/* SPDX-License-Identifier: MIT */
/*
 * Which machine a program is for. Only x86-64, arm64, RISC-V and NVIDIA's SASS have known branches;
 * the program of another machine would be read as straight code, so it is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum architecture_support {
	ARCHITECTURE_UNKNOWN, /* not recognised */
	ARCHITECTURE_FOREIGN, /* recognised, and not supported */
	ARCHITECTURE_X86,
	ARCHITECTURE_ARM64,
	ARCHITECTURE_RISCV,
	ARCHITECTURE_SASS,
};

/* an instruction as a disassembler printed it; the texts are not terminated */
struct printed {
	const char *mnemonic, *operands, *bytes;
	size_t mnemonic_length;
	size_t operands_length; /* without a comment */
	size_t bytes_length; /* hexadecimal digits and blanks of the instruction; 0: not printed */
	bool is_gpu; /* its address is in a comment */
};

/* what a program's instructions have said so far; zeroed at first */
struct architecture {
	size_t x86, arm64, sass; /* instructions that only this machine has */
	size_t x86_bytes; /* printed byte by byte */
	/* an instruction that this machine does not have, from 1 on; 0: none */
	size_t not_x86, not_arm64, not_sass;
	size_t count;
	unsigned int names; /* machines that are not supported and alone have such instructions */
};

/* Consider the next instruction. */
void architecture_take(struct architecture *a, const struct printed *printed);

/*
 * The machine of the instructions.
 * @format: "file format" of objdump, not terminated, NULL: not printed; it decides; @length: of it;
 * @name: set to the name of a machine that is not supported; NULL: nothing shows it.
 */
enum architecture_support architecture_of(const struct architecture *a, const char *format,
					  size_t length, const char **name);

/* "file format" of the last line before @end that has one; NULL: none. @length: of it */
const char *architecture_format(const char *text, const char *end, size_t *length);

/*
 * Whether a mnemonic of a written listing is of another machine, or may go elsewhere. There only
 * BRA and EXIT end a block.
 */
bool architecture_is_foreign(const char *mnemonic);
