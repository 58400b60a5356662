/* SPDX-License-Identifier: MIT */
/* Lines of a table as JSON: the same members in every command. */
#ifndef PERFCTR_ROWS_JSON_H
#define PERFCTR_ROWS_JSON_H

#include <json.h>

#include "rows.h"

/* An object of the caller's. A value that nobody measured is null and never 0. */
struct json_object *rows_json_counter(const struct row *row);
struct json_object *rows_json_metric(const struct row *row);

/* Members that say what was added up, and what is wrong with it. */
void rows_json_add_span(struct json_object *object, const struct perfctr_span *span);

#endif /* PERFCTR_ROWS_JSON_H */
