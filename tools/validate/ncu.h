/* SPDX-License-Identifier: MIT */
/*
 * Measurements that NVIDIA's command ncu printed, with "--csv --print-units base --metrics
 * NAME.sum,...": a row for each metric of each launch. A launch is a point by its kernel, its
 * number of threads, and its place in the order. campaigns/format.md has the rules.
 */
#pragma once

#include "analysis.h"

/* Whether a file is one. */
bool is_ncu(const struct document *file);

/*
 * Read the measurements.
 * @file: that was opened; @analysis: begun; its readings are filled.
 * Return: 0; -1 with a failure that names file and line.
 */
int ncu_parse(const struct document *file, struct analysis *analysis);
