/* SPDX-License-Identifier: MIT */
/* Rows of a table as JSON: the same members in every subcommand. */
#pragma once

#include <json.h>

#include "rows.h"

/* An object that the caller owns. A value that was not measured is null, never 0. */
struct json_object *rows_json_counter(const struct row *row);
struct json_object *rows_json_metric(const struct row *row);

/* Add members with what was added up and what is wrong with it. */
void rows_json_add_span(struct json_object *object, const struct perfctr_span *span);
