/* SPDX-License-Identifier: MIT */
/* A folder with everything that an assessor needs, from which the verdicts can be made again. */
#pragma once

#include "report.h"

/*
 * Create the folder and write a study's inputs: campaign, listings, readings.
 * @from: the file of --from, or NULL; @folder: must not exist.
 * Return: 0; -1 with the analysis' failure.
 */
int evidence_inputs(const struct study *study, const char *from, const char *folder);

/*
 * Write the results, a description and the hashes of all files into the current directory.
 * @report: of one study, evaluated from the inputs there.
 * Return: 0; -1 with @failure.
 */
int evidence_results(const struct report *report, struct failure *failure);
