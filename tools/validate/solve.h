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

/* weights of a feature; a wavefront of 64 lanes fits */
#define MAX_WEIGHT 127

/* bit w: the weight w belongs to the set */
typedef unsigned __int128 weight_set;

#define ALL_WEIGHTS (~(weight_set)0)

static inline weight_set weight_bit(unsigned int weight)
{
	return (weight_set)1 << weight;
}

/* 0..@most */
static inline weight_set weights_up_to(unsigned int most)
{
	return ALL_WEIGHTS >> (MAX_WEIGHT - most);
}

/* The least and the largest weight of a set that is not empty. */
static inline unsigned int weights_least(weight_set set)
{
	return (uint64_t)set ? (unsigned int)__builtin_ctzll((uint64_t)set) :
			       64 + (unsigned int)__builtin_ctzll((uint64_t)(set >> 64));
}

static inline unsigned int weights_most(weight_set set)
{
	return set >> 64 ? 127 - (unsigned int)__builtin_clzll((uint64_t)(set >> 64)) :
			   63 - (unsigned int)__builtin_clzll((uint64_t)set);
}

static inline unsigned int weights_count(weight_set set)
{
	return (unsigned int)(__builtin_popcountll((uint64_t)set) +
			      __builtin_popcountll((uint64_t)(set >> 64)));
}

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
	const weight_set *choices; /* weights that each variable may have */
	const struct solve_row *rows; /* measurements */
	size_t variables; /* number of features */
	size_t row_count; /* elements of @rows */
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
	weight_set *allowed; /* of each variable: weights that some solution gives it */
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
