/* SPDX-License-Identifier: MIT */
/* What is counted if nobody says what. */
#ifndef PERFCTR_DEFAULTS_H
#define PERFCTR_DEFAULTS_H

#include "app.h"

/**
 * defaults_add() - select the events that tell most of what a device does
 * @selection: empty selection
 *
 * Metrics of the device and the counters that people look at first; what this
 * device lacks or this user may not see is left out.
 *
 * Return: number of counters, or a negative errno if nothing could be selected.
 */
int defaults_add(const struct app *app, struct perfctr_selection *selection);

#endif /* PERFCTR_DEFAULTS_H */
