/* SPDX-License-Identifier: MIT */
/*
 * All counting rules that fit: weights 0..max for each feature such that every measurement lies in
 * its interval.
 *
 * Exact measurements are a linear system over the integers. It is reduced, which shows variables
 * that no measurement connects, and divided into independent components. Each component becomes a
 * layered graph: a layer for each feature, a node for each combination of partial sums from which a
 * solution can be reached. Nodes with equal sums are shared, so the number of solutions can be far
 * larger than the graph; counts are exact and any solution can be fetched by its number.
 */
#pragma once

#include "base.h"

#define MAX_WEIGHT 15
#define MAX_SOLVE_NODES 2000000
/* limit of the partial sums of all nodes: 64 MiB, and as much again while they grow */
#define MAX_SOLVE_SUMS ((size_t)8 << 20)

/* one measurement: lo <= sum of coefficient * weight <= hi */
struct solve_row {
	const int64_t *coefficients; /* one for each variable, may be negative */
	int64_t lo; /* least value */
	int64_t hi; /* greatest value; equal to @lo if the measurement is exact */
};

struct solve_problem {
	const unsigned int *max_weight; /* of each variable, 0..MAX_WEIGHT */
	const struct solve_row *rows; /* measurements */
	size_t variables; /* number of features */
	size_t row_count; /* elements of @rows */
	/* bit w of element v: variable v may have the weight w; NULL: all up to @max_weight */
	const uint32_t *choices;
};

/* a row after reduction: lo <= sum <= hi */
struct solve_fact {
	int64_t *coefficients; /* one for each variable */
	int64_t lo;
	int64_t hi;
};

/* variables that depend on each other and on no others */
struct component {
	const size_t *variables; /* their numbers in the problem */
	size_t count; /* elements of @variables */
	uint64_t solutions; /* number of solutions, UINT64_MAX if more */
	const struct layer *layers; /* of the graph */
	const struct solve_fact **facts; /* facts that connect the variables */
	size_t fact_count;
};

/* all solutions: each combination of the components' solutions */
struct space {
	struct component *components; /* independent of each other */
	size_t count; /* elements of @components */
	size_t variables; /* of the problem */
	uint64_t solutions; /* product of the components' numbers, UINT64_MAX if more */
	/* bit w of element v: some solution gives variable v the weight w */
	uint32_t *allowed;
	size_t nodes; /* size of the graphs, for statistics */
};

/*
 * Find all solutions.
 * @arena: owner of the result; @failure: set if the graph would get too large.
 * Return: 0 or -1.
 */
int solve(struct arena *arena, const struct solve_problem *problem, struct space *space,
	  struct failure *failure);

/* Greatest common divisor. */
int64_t gcd(int64_t a, int64_t b);

/*
 * Fetch a solution of a component.
 * @number: 0..solutions - 1, in lexical order; @weights: weights of the problem's variables; those
 * of the component are set.
 */
void component_solution(const struct component *component, uint64_t number, uint8_t *weights);

/* As component_solution(), for the whole space; the last component varies fastest. */
void space_solution(const struct space *space, uint64_t number, uint8_t *weights);
