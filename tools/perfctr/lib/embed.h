/* SPDX-License-Identifier: MIT */
/* Files of the source tree that are built into a program. */
#pragma once

/*
 * Define embed_SYMBOL[], the text of a file with a NUL behind it, and embed_SYMBOL_end, after that.
 * @path: from the top of the checkout, where the assembler searches; the Makefile lists the files
 * that have one.
 */
#define EMBED(symbol, path)                       \
	__asm__(".section .rodata\n"              \
		".global embed_" #symbol "\n"     \
		"embed_" #symbol ":\n"            \
		".incbin \"" path "\"\n"          \
		".byte 0\n"                       \
		".global embed_" #symbol "_end\n" \
		"embed_" #symbol "_end:\n"        \
		".previous\n");                   \
	extern const char embed_##symbol[], embed_##symbol##_end[]
