/* SPDX-License-Identifier: MIT */
/*
 * Verdicts of perfctr validate on this machine's counters, which list, stat and top show beside the
 * counter database. A verdict names the machine, kernel and firmware that it was found on; with
 * others it has lapsed, and counts no more than none.
 *
 * They are in a JSON file: $PERFCTR_VERDICTS if set. Else /var/lib/perfctr/verdicts.json (root's)
 * is read, and perfctr/verdicts.json below $XDG_STATE_HOME or ~/.local/state takes precedence.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <perfctr/perfctr.h>

struct verdicts;

/* verdict on a counter, beyond the database */
struct verdict_note {
	unsigned int trust; /* enum perfctr_trust */
	const char *definition; /* what it counts, if it differs from the database; else NULL */
	const char *reason; /* reason of the verdict, or NULL */
	const char *campaign; /* campaign that gave the verdict, or NULL */
	const char *time; /* time of the verdict as text, or NULL */
};

/*
 * Read the verdicts of this machine.
 * @err: stream for a message if a file is malformed.
 * Return: the verdicts, to be freed; without a file those of the database.
 */
struct verdicts *verdicts_load(FILE *err);
void verdicts_free(struct verdicts *verdicts);

/* What is known of a counter beyond the database, NULL if nothing, or it has lapsed. */
const struct verdict_note *verdicts_find(const struct verdicts *verdicts,
					 const struct perfctr_counter_desc *desc,
					 struct verdict_note *note);

/*
 * Why a verdict on a counter is not used: "trusted by cpu, 2026-11-28, lapsed: it is of kernel 6.1,
 * this is 6.12". Return: @text; NULL: there is none, or it is used.
 */
const char *verdicts_lapsed(const struct verdicts *verdicts,
			    const struct perfctr_counter_desc *desc, char *text, size_t size);

/* enum perfctr_trust of a counter; @desc may be NULL */
unsigned int verdicts_trust(const struct verdicts *verdicts,
			    const struct perfctr_counter_desc *desc);

/* enum perfctr_trust of the least trusted counter that a metric needs */
unsigned int verdicts_metric_trust(const struct verdicts *verdicts, struct perfctr_ctx *ctx,
				   const struct perfctr_metric_desc *metric);

/* "trusted" and so on, and the mark beside a name: + = ? ! or a blank */
const char *verdicts_trust_name(unsigned int trust);
char verdicts_mark(unsigned int trust);

/* One line that explains the marks. */
#define VERDICTS_LEGEND "+ trusted   = counts something else   ? quarantined   ! not to be trusted"

/*
 * Footnote of a counter that is not as documented, or whose verdict has lapsed. Prints nothing for
 * one that is trusted or was not validated.
 * @name: of the counter, for people; @desc: counter, may be NULL.
 */
void verdicts_print_note(const struct verdicts *verdicts, FILE *out, const char *name,
			 const struct perfctr_counter_desc *desc);

/* The counter of an event's name ("shader/THREAD_INST_MISC", "ucf0/cycles/"), NULL: none. */
const struct perfctr_counter_desc *verdicts_counter(const char *event, unsigned int set);

/* --- writing ------------------------------------------------------------------------- */

/*
 * Store a verdict for verdicts_save(), as one of this machine. Of several verdicts on one counter
 * since loading the worst stays.
 * @verdicts: from verdicts_load(); @note: texts are copied.
 */
void verdicts_put(struct verdicts *verdicts, const struct perfctr_counter_desc *desc,
		  const struct verdict_note *note);

/*
 * Write all verdicts.
 * @path: file, NULL: the file of this user's verdicts; @where: set to the file's name, also on
 * failure; up to @size bytes.
 * Return: 0 or a negative errno; on failure an existing file is unchanged.
 */
int verdicts_save(const struct verdicts *verdicts, const char *path, char *where, size_t size);
