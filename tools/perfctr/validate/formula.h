/* SPDX-License-Identifier: MIT */
/*
 * Integer formulas of campaigns: + - * / ( ) min(a, b) max(a, b), digits and names.
 * Exact: a division with a remainder and a result beyond 64 bits are errors.
 */
#ifndef VALIDATE_FORMULA_H
#define VALIDATE_FORMULA_H

#include "base.h"

/**
 * struct binding - a name and what it stands for
 */
struct binding {
	/** @name: letters, digits, underscores. */
	const char *name;
	/** @value: its value. */
	int64_t value;
};

/**
 * struct bindings - the names that a formula may use
 */
struct bindings {
	/** @items: the names; a later one hides an earlier one. */
	const struct binding *items;
	/** @count: elements of @items. */
	size_t count;
	/** @outer: looked at next, may be NULL. */
	const struct bindings *outer;
};

const int64_t *bindings_find(const struct bindings *bindings, const char *name, size_t length);

/**
 * formula_eval() - compute a formula
 * @text: formula
 * @bindings: names
 * @value: set on success
 * @failure: what is wrong otherwise
 *
 * Return: 0 or -1.
 */
int formula_eval(const char *text, const struct bindings *bindings, int64_t *value,
		 struct failure *failure);

/* Calls @use for each name in @text; stops and returns what is not zero. */
int formula_names(const char *text, int (*use)(void *data, const char *name, size_t length),
		  void *data);

#endif /* VALIDATE_FORMULA_H */
