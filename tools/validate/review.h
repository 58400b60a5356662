/* SPDX-License-Identifier: MIT */
/* The programs of a campaign's benchmarks, with what a thread executes of them. */
#pragma once

#include <stdio.h>

#include "analysis.h"

/*
 * Print each program at each point.
 * @analysis: begun; @json: as one document.
 * Return: 0; -1 with the analysis' failure.
 */
int review_listings(struct analysis *analysis, bool json, FILE *out);
