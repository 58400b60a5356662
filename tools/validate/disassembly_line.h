/* SPDX-License-Identifier: MIT */
/* The lines that disassemblers print, and where their instructions go. */
#pragma once

#include "architecture.h"
#include "base.h"

/* a line of the text: an instruction, the name of a function, a label, or nothing of these */
struct line {
	const char *start;
	size_t number;
	size_t index; /* instructions of the function above it */
	bool is_code;
	bool is_data; /* it has an address and no instruction */
	bool is_gpu;
	uint64_t address;
	const char *name; /* of a function, or label; NULL: none */
	size_t name_length;
	bool is_function;
	const char *guard; /* "@!P0", as printed */
	size_t guard_length;
	const char *mnemonic;
	size_t length; /* of @mnemonic */
	const char *operands;
	const char *bytes; /* of the instruction, as printed; NULL: none */
	size_t bytes_length;
	bool is_more; /* @bytes are of the instruction above, on a line of their own */
	const char *end;
};

enum flow { FLOW_NEXT, FLOW_BRANCH, FLOW_IF, FLOW_END, FLOW_UNKNOWN };

/* Read the next line. @l: the line before, zeroed at first. Returns false at the end. */
bool line_next(struct line *l, const char *text);

/* Whether the mnemonic is one of the words; "rep*": all that begin so. */
bool line_is_one_of(const struct line *l, const char *words);

/* Where the instruction goes on a machine. */
enum flow line_flow(const struct line *l, enum architecture_support machine);

/* the end of the operands, without a name or a comment behind them */
const char *line_operands_end(const struct line *l);

/* the last operand; @end: set to its end */
const char *line_last_operand(const struct line *l, const char **end);

/* hexadecimal digits that @stop follows; NULL: there are none */
const char *line_read_hex(const char *at, const char *end, const char *stop, uint64_t *value);
