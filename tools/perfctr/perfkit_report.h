/* SPDX-License-Identifier: MIT */
/* perfctr perfkit: what was measured, and how it is shown. */
#ifndef PERFCTR_PERFKIT_REPORT_H
#define PERFCTR_PERFKIT_REPORT_H

#include <perfctr/perfkit.h>

#include "app.h"

/**
 * struct ratio - an exact number
 */
struct ratio {
	/** @numerator: over @denominator, in lowest terms. */
	__extension__ __int128 numerator;
	/** @denominator: at least 1; 0: it does not fit, and the number is unknown. */
	__extension__ __int128 denominator;
};

struct ratio ratio_of(int64_t numerator, int64_t denominator);
struct ratio ratio_add(struct ratio a, struct ratio b);
struct ratio ratio_divide(struct ratio a, uint64_t by);
/* Negative, zero or positive. */
int ratio_compare(struct ratio a, struct ratio b);
double ratio_number(struct ratio a);

/*
 * As people read it: "1,234,567" or "98.813", to three digits behind the point, the half up.
 * Return: text.
 */
const char *ratio_text(struct ratio a, char *text, size_t size);

/**
 * struct perfkit_stat - the values of one counter over all frames or repetitions
 */
struct perfkit_stat {
	/** @measured: values that went in. */
	uint64_t measured;
	/** @sum: of them. */
	struct ratio sum;
	/** @min: smallest. */
	struct ratio min;
	/** @max: largest. */
	struct ratio max;
	/** @cycles: of the blocks' clock in all of them. */
	uint64_t cycles;
	/** @elapsed_ns: time of all of them. */
	uint64_t elapsed_ns;
	/** @flags: enum perfctr_perfkit_flags of all of them. */
	uint32_t flags;
	/** @state: why the last one that was none was none; enum perfctr_value_state. */
	uint32_t state;
};

void perfkit_stat_add(struct perfkit_stat *stat, const struct perfctr_perfkit_value *value);

/**
 * struct perfkit_report - the result
 */
struct perfkit_report {
	struct app *app;
	struct perfctr_device *device;
	struct perfctr_perfkit *kit;
	char **command;
	/* one for each counter of the kit */
	struct perfkit_stat *stats;
	unsigned int passes;
	/* one of the two: experiments that were completed, or frames */
	uint64_t repetitions, frames;
	/* 0: experiments */
	uint64_t frame_ns;
	int exit_status;
	FILE *out;
};

void perfkit_print_text(const struct perfkit_report *report);
void perfkit_print_json(const struct perfkit_report *report);

#endif /* PERFCTR_PERFKIT_REPORT_H */
