// SPDX-License-Identifier: MIT
/* Reduces the linear system, then walks the weights that are left, with bounds. */
#include "solve.h"

#include <stdlib.h>
#include <string.h>

/* a row stays unreduced if a coefficient would exceed this: sums must fit in 64 bits */
#define MAX_COEFFICIENT ((wide)1 << 40)
/* partial sum of a row that is satisfied for all values of the remaining variables */
#define SATISFIED INT64_MAX
#define NO_CHILD UINT32_MAX
/* limit of the sum of a row, so that no sum equals SATISFIED */
#define MAX_ROW_SUM ((wide)1 << 62)

/* nodes before a variable is assigned; the last layer has at most one node */
struct layer {
	size_t variable;
	uint8_t *weights; /* those that the variable may have, ascending */
	size_t weight_count;
	size_t nodes;
	int64_t *sums; /* partial sums, one for each row of the component */
	/* node in the next layer for each of @weights, NO_CHILD if none */
	uint32_t *children;
	uint64_t *solutions;
};

int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* --- reduction ---------------------------------------------------------------- */

/*
 * row := pivot * row - factor * pivot row, divided by the common divisor of its numbers. Returns
 * false, and changes nothing, if a number gets too large.
 */
static bool eliminate(struct solve_fact *row, const struct solve_fact *by, size_t column,
		      size_t variables, wide *scratch)
{
	const wide p = by->coefficients[column], f = row->coefficients[column];
	wide divisor = 0;

	for (size_t v = 0; v <= variables; v++) {
		wide own = v < variables ? row->coefficients[v] : row->lo;
		wide other = v < variables ? by->coefficients[v] : by->lo;
		wide a, b;

		scratch[v] = p * own - f * other;
		a = divisor;
		b = scratch[v] < 0 ? -scratch[v] : scratch[v];
		while (b) {
			wide rest = a % b;

			a = b;
			b = rest;
		}
		divisor = a;
	}
	if (!divisor)
		divisor = 1;
	for (size_t v = 0; v <= variables; v++) {
		scratch[v] /= divisor;
		if (scratch[v] > MAX_COEFFICIENT || scratch[v] < -MAX_COEFFICIENT)
			return false;
	}
	for (size_t v = 0; v < variables; v++)
		row->coefficients[v] = (int64_t)scratch[v];
	row->lo = row->hi = (int64_t)scratch[variables];
	return true;
}

/* Divides a row by the common divisor of its numbers, so that sums stay small. */
static void normalize(struct solve_fact *row, size_t variables)
{
	int64_t divisor = row->lo;

	for (size_t v = 0; v < variables; v++)
		divisor = gcd(divisor, row->coefficients[v]);
	for (size_t v = 0; divisor > 1 && v < variables; v++)
		row->coefficients[v] /= divisor;
	if (divisor > 1)
		row->lo = row->hi = row->lo / divisor;
}

/*
 * Limits the interval of a row to what its variables can reach. Fails if the sums of a row could
 * overflow, because the result would be wrong.
 */
static int bound(struct solve_fact *row, const weight_set *choices, size_t variables,
		 struct failure *failure)
{
	wide reach = 0;

	for (size_t v = 0; v < variables; v++) {
		wide c = row->coefficients[v];

		reach += (c < 0 ? -c : c) * (choices[v] ? weights_most(choices[v]) : 0);
	}
	if (reach > MAX_ROW_SUM)
		return fail(failure,
			    "a benchmark does so much that sums of it do not fit in 62 bits; give "
			    "it less work or the event a smaller max_weight");
	if (row->lo > reach)
		row->lo = row->hi = (int64_t)reach + 1;
	else if (row->hi > reach)
		row->hi = (int64_t)reach;
	return 0;
}

/* Gauss-Jordan elimination of the exact rows, which come first. */
static void reduce(struct solve_fact *rows, size_t exact, size_t variables, wide *scratch)
{
	size_t rank = 0;

	for (size_t column = 0; column < variables && rank < exact; column++) {
		size_t pivot = rank;
		struct solve_fact swap;

		while (pivot < exact && !rows[pivot].coefficients[column])
			pivot++;
		if (pivot == exact)
			continue;
		swap = rows[pivot];
		rows[pivot] = rows[rank];
		rows[rank] = swap;
		for (size_t r = 0; r < exact; r++)
			if (r != rank && rows[r].coefficients[column])
				eliminate(&rows[r], &rows[rank], column, variables, scratch);
		rank++;
	}
}

/* --- components --------------------------------------------------------------- */

static size_t find(size_t *parent, size_t v)
{
	while (parent[v] != v) {
		parent[v] = parent[parent[v]];
		v = parent[v];
	}
	return v;
}

static void join_rows(const struct solve_fact *rows, size_t count, size_t variables, size_t *parent)
{
	for (size_t v = 0; v < variables; v++)
		parent[v] = v;
	for (size_t r = 0; r < count; r++) {
		size_t first = variables;

		for (size_t v = 0; v < variables; v++) {
			if (!rows[r].coefficients[v])
				continue;
			if (first == variables)
				first = find(parent, v);
			else
				parent[find(parent, v)] = first;
		}
	}
}

/* --- the graph of a component --------------------------------------------------- */

/* range and common divisor of the sums that the variables from a layer on can add to a row */
struct rest {
	int64_t min;
	int64_t max;
	int64_t divisor;
};

struct builder {
	struct arena *arena;
	struct failure *failure;
	const struct solve_fact **rows;
	size_t row_count;
	struct layer *layers;
	size_t count;
	struct rest *rests;
	size_t *nodes;
	/* open-addressing hash of the layer that is being filled: node + 1 */
	uint32_t *hash;
	size_t hash_size;
};

static const struct rest *rest_at(const struct builder *b, size_t depth, size_t row)
{
	return &b->rests[depth * b->row_count + row];
}

static void find_rests(struct builder *b)
{
	b->rests = arena_array(b->arena, (b->count + 1) * b->row_count, sizeof(*b->rests));
	for (size_t depth = b->count; depth-- > 0;) {
		const struct layer *layer = &b->layers[depth];

		for (size_t r = 0; r < b->row_count; r++) {
			struct rest *rest = &b->rests[depth * b->row_count + r];
			const size_t last = layer->weight_count;
			const int64_t c = b->rows[r]->coefficients[layer->variable];
			const int64_t least = last ? c * layer->weights[0] : 0;
			const int64_t most = last ? c * layer->weights[last - 1] : 0;

			*rest = *rest_at(b, depth + 1, r);
			rest->divisor = gcd(rest->divisor, c);
			rest->min += c < 0 ? most : least;
			rest->max += c < 0 ? least : most;
		}
	}
}

/* Whether a solution may follow; sums that no longer matter become SATISFIED. */
static bool promising(const struct builder *b, size_t depth, int64_t *sums)
{
	for (size_t r = 0; r < b->row_count; r++) {
		const struct rest *rest = rest_at(b, depth, r);
		const struct solve_fact *row = b->rows[r];

		if (sums[r] == SATISFIED)
			continue;
		if (sums[r] + rest->min > row->hi || sums[r] + rest->max < row->lo)
			return false;
		if (row->lo == row->hi && rest->divisor && (row->lo - sums[r]) % rest->divisor)
			return false;
		if (sums[r] + rest->min >= row->lo && sums[r] + rest->max <= row->hi)
			sums[r] = SATISFIED;
	}
	return true;
}

static size_t hash_sums(const struct builder *b, const int64_t *sums)
{
	uint64_t hash = 0x9e3779b97f4a7c15;

	for (size_t r = 0; r < b->row_count; r++) {
		hash ^= (uint64_t)sums[r];
		hash *= 0xff51afd7ed558ccd;
		hash ^= hash >> 32;
	}
	return (size_t)hash & (b->hash_size - 1);
}

static void hash_grow(struct builder *b, const struct layer *layer)
{
	if (2 * (layer->nodes + 1) < b->hash_size)
		return;
	b->hash_size = b->hash_size ? 4 * b->hash_size : 256;
	b->hash = arena_array(b->arena, b->hash_size, sizeof(*b->hash));
	for (size_t n = 0; n < layer->nodes; n++) {
		size_t slot = hash_sums(b, layer->sums + n * b->row_count);

		while (b->hash[slot])
			slot = (slot + 1) & (b->hash_size - 1);
		b->hash[slot] = (uint32_t)n + 1;
	}
}

/* Adds a node with these sums if it is new. */
static uint32_t intern_node(struct builder *b, struct layer *layer, const int64_t *sums)
{
	const size_t bytes = b->row_count * sizeof(*sums);
	size_t slot;

	hash_grow(b, layer);
	slot = hash_sums(b, sums);
	for (; b->hash[slot]; slot = (slot + 1) & (b->hash_size - 1))
		if (!bytes ||
		    !memcmp(layer->sums + (b->hash[slot] - 1) * b->row_count, sums, bytes))
			return b->hash[slot] - 1;
	layer->sums = arena_grow(b->arena, layer->sums, layer->nodes, bytes ? bytes : 1);
	if (bytes)
		memcpy(layer->sums + layer->nodes * b->row_count, sums, bytes);
	b->hash[slot] = (uint32_t)++layer->nodes;
	++*b->nodes;
	return b->hash[slot] - 1;
}

static int build_layer(struct builder *b, size_t depth)
{
	struct layer *layer = &b->layers[depth], *next = &b->layers[depth + 1];
	const size_t weights = layer->weight_count;
	int64_t *sums = arena_array(b->arena, b->row_count + 1, sizeof(*sums));

	b->hash = NULL;
	b->hash_size = 0;
	layer->children = arena_array(b->arena, layer->nodes * weights, sizeof(*layer->children));
	for (size_t n = 0; n < layer->nodes; n++) {
		for (size_t w = 0; w < weights; w++) {
			for (size_t r = 0; r < b->row_count; r++) {
				sums[r] = layer->sums[n * b->row_count + r];
				if (sums[r] != SATISFIED)
					sums[r] += layer->weights[w] *
						   b->rows[r]->coefficients[layer->variable];
			}
			layer->children[n * weights + w] = promising(b, depth + 1, sums) ?
								   intern_node(b, next, sums) :
								   NO_CHILD;
			if (*b->nodes > MAX_SOLVE_NODES ||
			    *b->nodes * (b->row_count + 1) > MAX_SOLVE_SUMS)
				return fail(b->failure,
					    "the space of rules is too large (%zu nodes of %zu "
					    "sums); give the event fewer candidates or a smaller "
					    "max_weight",
					    *b->nodes, b->row_count);
		}
	}
	return 0;
}

static void count_solutions(struct builder *b)
{
	for (size_t depth = b->count + 1; depth-- > 0;) {
		struct layer *layer = &b->layers[depth];
		const size_t weights = layer->weight_count;

		layer->solutions = arena_array(b->arena, layer->nodes, sizeof(*layer->solutions));
		for (size_t n = 0; n < layer->nodes; n++) {
			if (depth == b->count) {
				layer->solutions[n] = 1;
				continue;
			}
			for (size_t w = 0; w < weights; w++) {
				uint32_t child = layer->children[n * weights + w];

				if (child != NO_CHILD)
					layer->solutions[n] = add_saturated(
						layer->solutions[n], layer[1].solutions[child]);
			}
		}
	}
}

/*
 * every node is reachable from the first one: a child with solutions proves that its weight is
 * possible
 */
static void find_allowed(const struct builder *b, weight_set *allowed)
{
	for (size_t depth = 0; depth < b->count; depth++) {
		const struct layer *layer = &b->layers[depth];
		const size_t weights = layer->weight_count;

		for (size_t i = 0; i < layer->nodes * weights; i++)
			if (layer->children[i] != NO_CHILD &&
			    layer[1].solutions[layer->children[i]])
				allowed[layer->variable] |= weight_bit(layer->weights[i % weights]);
	}
}

static int build(struct builder *b, weight_set *allowed, uint64_t *solutions)
{
	struct layer *first = &b->layers[0];
	int64_t *zeros = arena_array(b->arena, b->row_count + 1, sizeof(*zeros));

	/* discard the hash of the previous component's last layer */
	b->hash = NULL;
	b->hash_size = 0;
	find_rests(b);
	if (promising(b, 0, zeros))
		intern_node(b, first, zeros);
	for (size_t depth = 0; depth < b->count; depth++)
		if (build_layer(b, depth) < 0)
			return -1;
	count_solutions(b);
	find_allowed(b, allowed);
	*solutions = first->nodes ? first->solutions[0] : 0;
	return 0;
}

/* --- all together --------------------------------------------------------------- */

struct order {
	size_t variable;
	int64_t size;
};

/* large coefficients first: they decide early */
static int by_size(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x->variable < y->variable ? -1 : x->variable > y->variable;
}

static int64_t magnitude(const struct solve_fact *rows, size_t count, size_t variable)
{
	int64_t largest = 0;

	for (size_t r = 0; r < count; r++) {
		int64_t c = rows[r].coefficients[variable];

		largest = c > largest ? c : -c > largest ? -c : largest;
	}
	return largest;
}

static void list_weights(struct arena *arena, weight_set set, struct layer *layer)
{
	layer->weights = arena_array(arena, weights_count(set), sizeof(*layer->weights));
	for (; set; set &= set - 1)
		layer->weights[layer->weight_count++] = (uint8_t)weights_least(set);
}

static int solve_component(struct builder *b, const struct solve_problem *problem,
			   const struct solve_fact *rows, size_t row_count,
			   struct component *component, weight_set *allowed)
{
	struct order *order = arena_array(b->arena, component->count, sizeof(*order));
	size_t *variables = arena_array(b->arena, component->count, sizeof(*variables));

	for (size_t i = 0; i < component->count; i++) {
		order[i].variable = component->variables[i];
		order[i].size = magnitude(rows, row_count, order[i].variable);
	}
	qsort(order, component->count, sizeof(*order), by_size);
	b->count = component->count;
	b->layers = arena_array(b->arena, component->count + 1, sizeof(*b->layers));
	for (size_t i = 0; i < component->count; i++) {
		variables[i] = order[i].variable;
		b->layers[i].variable = order[i].variable;
		list_weights(b->arena, problem->choices[order[i].variable], &b->layers[i]);
	}
	b->rows = arena_array(b->arena, row_count, sizeof(const struct solve_fact *));
	b->row_count = 0;
	for (size_t r = 0; r < row_count; r++) {
		bool ours = false;

		for (size_t i = 0; i < component->count; i++)
			ours |= rows[r].coefficients[component->variables[i]] != 0;
		if (ours)
			b->rows[b->row_count++] = &rows[r];
	}
	component->variables = variables;
	component->layers = b->layers;
	component->facts = b->rows;
	component->fact_count = b->row_count;
	return build(b, allowed, &component->solutions);
}

int solve(struct arena *arena, const struct solve_problem *problem, struct space *space,
	  struct failure *failure)
{
	const size_t n = problem->variables;
	struct solve_fact *rows = arena_array(arena, problem->row_count, sizeof(*rows));
	size_t *parent = arena_array(arena, n, sizeof(*parent));
	struct builder b = { .arena = arena, .failure = failure, .nodes = &space->nodes };
	size_t exact = 0, count = 0;

	*space = (struct space){ .variables = n, .solutions = 1 };
	space->allowed = arena_array(arena, n, sizeof(*space->allowed));
	space->components = arena_array(arena, n, sizeof(*space->components));

	for (int pass = 0; pass < 2; pass++) {
		for (size_t r = 0; r < problem->row_count; r++) {
			const struct solve_row *from = &problem->rows[r];

			if ((from->lo == from->hi) != !pass)
				continue;
			rows[count] = (struct solve_fact){ .lo = from->lo, .hi = from->hi };
			rows[count].coefficients = arena_array(arena, n, sizeof(int64_t));
			memcpy(rows[count++].coefficients, from->coefficients, n * sizeof(int64_t));
		}
		if (!pass)
			exact = count;
	}
	for (size_t r = 0; r < exact; r++)
		normalize(&rows[r], n);
	for (size_t r = 0; r < count; r++)
		if (bound(&rows[r], problem->choices, n, failure) < 0)
			return -1;
	reduce(rows, exact, n, arena_array(arena, n + 1, sizeof(wide)));

	for (size_t r = 0; r < count; r++) {
		bool empty = true;

		for (size_t v = 0; v < n; v++)
			empty &= !rows[r].coefficients[v];
		if (empty && (rows[r].lo > 0 || rows[r].hi < 0))
			space->solutions = 0;
	}
	join_rows(rows, count, n, parent);
	for (size_t v = 0; v < n; v++) {
		struct component *component = &space->components[space->count];
		size_t *members;

		if (find(parent, v) != v)
			continue;
		members = arena_array(arena, n, sizeof(*members));
		for (size_t u = 0; u < n; u++)
			if (find(parent, u) == v)
				members[component->count++] = u;
		component->variables = members;
		if (solve_component(&b, problem, rows, count, component, space->allowed) < 0)
			return -1;
		space->solutions = multiply_saturated(space->solutions, component->solutions);
		space->count++;
	}
	if (!space->solutions)
		memset(space->allowed, 0, n * sizeof(*space->allowed));
	return 0;
}

void component_solution(const struct component *component, uint64_t number, uint8_t *weights)
{
	size_t node = 0;

	for (size_t depth = 0; depth < component->count; depth++) {
		const struct layer *layer = &component->layers[depth];
		const size_t choices = layer->weight_count;

		for (size_t w = 0; w < choices; w++) {
			uint32_t child = layer->children[node * choices + w];
			uint64_t below = child == NO_CHILD ? 0 : layer[1].solutions[child];

			if (number >= below) {
				number -= below;
				continue;
			}
			weights[layer->variable] = layer->weights[w];
			node = child;
			break;
		}
	}
}

void space_solution(const struct space *space, uint64_t number, uint8_t *weights)
{
	for (size_t i = space->count; i-- > 0;) {
		const struct component *component = &space->components[i];

		component_solution(component, number % component->solutions, weights);
		number /= component->solutions;
	}
}
