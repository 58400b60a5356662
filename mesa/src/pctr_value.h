/* SPDX-License-Identifier: MIT */
/*
 * Values of counters from added-up samples, in the counter's own unit, rounded and limited as the
 * users of the values require.
 */
#pragma once

#include "pctr_catalogue.h"

/* samples of a query, added up */
struct pctr_sums {
	const struct perfctr_totals *single; /* each block for itself */
	struct perfctr_totals *sum; /* blocks of a type added up */
	unsigned int frames; /* of how many frames, at least 1: amounts are the mean of them */
};

/*
 * Value of a counter.
 * @counter: counter of the catalogue; @sums: samples; @selection: of their session; @is_exact: out:
 * whether @sums has all of it; if not it is extrapolated, or there is none.
 * Return: the value in the counter's own unit, zero if it was never measured.
 */
union pctr_value pctr_value_of(const struct pctr_counter *counter, const struct pctr_sums *sums,
			       const struct perfctr_selection *selection, bool *is_exact);
