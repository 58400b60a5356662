/* SPDX-License-Identifier: MIT */
/* What the parts of the module share. */
#pragma once

#include "columns.h"

#include <string.h>

PyObject *text_new(const char *text);
/* Add a value to a dictionary, whose reference it takes. Return: 0 or -1 with an exception. */
int put(PyObject *dict, const char *key, PyObject *value);
/* Raise what arguments make, whose reference it takes. Return: NULL. */
PyObject *raise_of(PyObject *type, PyObject *arguments);
/* Raise an OSError with the context's text, or a ValueError for a name. Return: NULL. */
PyObject *raise_error(struct perfctr_ctx *ctx, int error, const char *what);

/* --- totals.c: lists of dictionaries ------------------------------------------- */

PyObject *totals_list(struct perfctr_totals *totals, const struct perfctr_selection *selection,
		      bool per_block);
PyObject *metrics_list(struct perfctr_totals *totals, const struct perfctr_selection *selection);
PyObject *span_dict(const struct perfctr_totals *totals);

/* --- capture.c, session.c: functions of the module ------------------------------- */

PyObject *capture_read(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *capture_totals(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *session_new(PyObject *module, PyObject *args, PyObject *keywords);
/* Return: 0 or -1 with an exception. */
int session_init(PyObject *module);
