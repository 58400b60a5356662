/* SPDX-License-Identifier: MIT */
/*
 * Which unit of a GPU limits, and what helps: what the database says of its units. The busiest one
 * is that which worked for the largest part of the cycles of its own clock; estimates do not count.
 */
#pragma once

#include <json-c/json.h>
#include <perfctr/perfctr.h>

/* the advice where no unit is busy half of the time */
extern const char busiest_idle[];

enum { BUSIEST_BYTES = 400 }; /* of busiest_text() */

/*
 * "TEX, 83 % of its cycles, of 3 of 8 units counted. The texture unit limits. ..."
 * @totals: of a sample or more; @text: BUSIEST_BYTES bytes, "" if nothing can be advised.
 * Return: @text.
 */
char *busiest_text(const struct perfctr_totals *totals, char *text);

/* The busiest unit as an object, advice or not; NULL: counters of no unit were measured. */
struct json_object *busiest_json(const struct perfctr_totals *totals);
