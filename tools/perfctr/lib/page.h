/* SPDX-License-Identifier: MIT */
/* What the pages (HTML) and pictures (SVG) of all commands have in common. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/*
 * Write the beginning of a self-contained page, up to <body>, which the caller ends. It may load
 * nothing.
 * @command: of perfctr, that makes the page; @style: rules besides tools/common/page.css.
 */
void page_begin(FILE *out, const char *command, const char *title, const char *style);

/* Write an element. @tag: its name and attributes; @words: its text, escaped here. */
void page_element(FILE *out, const char *tag, const char *words);

/* Write a name and a value in a list, <dl>. @value: without one nothing is written. */
void page_fact(FILE *out, const char *name, const char *value);

/*
 * what a class of a picture means, as attributes, which every renderer has: some have no variables
 * in style sheets
 */
struct picture_class {
	const char *name, *attributes;
};

/* Write the attribute "class" of an element, and what its words mean. @words: may be empty. */
void picture_class(FILE *out, const struct picture_class *classes, size_t count, const char *words);

/* Return: the least of 1, 2 and 5 times a power of ten of which @most cover @range, above 0. */
double picture_step(double range, int most);
