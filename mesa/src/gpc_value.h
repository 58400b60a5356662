/* SPDX-License-Identifier: MIT */
/*
 * Values of counters: what samples that were added up make of one, in its own unit, rounded and
 * limited as its users take it.
 */
#ifndef GPC_VALUE_H
#define GPC_VALUE_H

#include "gpc_catalogue.h"

/**
 * struct gpc_view - samples of a query, added up
 */
struct gpc_view {
	/** @single: each block for itself. */
	const struct perfctr_totals *single;
	/** @sum: blocks of a type added up. */
	struct perfctr_totals *sum;
	/** @frames: of how many frames, at least 1: amounts are the mean of them. */
	unsigned int frames;
};

/**
 * gpc_value_of() - value of a counter
 * @counter: counter of the catalogue
 * @view: samples
 * @selection: of their session
 * @is_exact: out: whether @view has all of it; if not it is extrapolated, or there is none
 *
 * Return: the value in the counter's own unit, zero if it was never measured.
 */
union gpc_value gpc_value_of(const struct gpc_counter *counter, const struct gpc_view *view,
			     const struct perfctr_selection *selection, bool *is_exact);

#endif /* GPC_VALUE_H */
