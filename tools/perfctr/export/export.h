/* SPDX-License-Identifier: MIT */
/* The formats of perfctr export. */
#ifndef PERFCTR_EXPORT_H
#define PERFCTR_EXPORT_H

#include "lib/values.h"

/**
 * struct export - where to, and what
 */
struct export
{
	struct capture_file *file;
	FILE *out;
	/** @values: with lines of single blocks. */
	struct values values;
	/** @counts: Perfetto: counts of each sample instead of rates. */
	bool counts;
	/** @state: the format's own. */
	void *state;
};

/*
 * a way to write a capture
 *
 * All return 0 or a negative errno.
 */
struct export_format {
	const char *name;
	int (*begin)(struct export *e);
	/* values have been taken from the sample */
	int (*sample)(struct export *e, const struct perfctr_sample *sample);
	int (*end)(struct export *e);
};

extern const struct export_format export_csv;
extern const struct export_format export_json;
extern const struct export_format export_perfetto;

#endif /* PERFCTR_EXPORT_H */
