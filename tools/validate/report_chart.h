/* SPDX-License-Identifier: MIT */
#pragma once

#include "report.h"

/* Number of the first parameter that takes several values, or -1. */
long chart_parameter(const struct benchmark *benchmark);

/*
 * Plot an event over a parameter.
 * @out: HTML page; @benchmark: number of the benchmark; @parameter: number of the parameter; the
 * other parameters keep their last value; @event: number of the event; nothing is printed with
 * fewer than two points, or if all is zero.
 */
void chart_print(FILE *out, const struct study *study, size_t benchmark, size_t parameter,
		 size_t event);
