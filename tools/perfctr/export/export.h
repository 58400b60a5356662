/* SPDX-License-Identifier: MIT */
/* The formats of perfctr export. */
#pragma once

#include "lib/values.h"

/* One export. */
struct export
{
	struct capture_file *file;
	FILE *out;
	/** @values: including lines of single blocks. */
	struct values values;
	/** @counts: Perfetto: counts of each sample instead of rates. */
	bool counts;
	/** @state: private to the format. */
	void *state;
};

/* an output format; its functions return 0 or a negative errno */
struct export_format {
	const char *name;
	int (*begin)(struct export *e);
	/* @values holds the values of the sample */
	int (*sample)(struct export *e, const struct perfctr_sample *sample);
	int (*end)(struct export *e);
};

extern const struct export_format export_csv;
extern const struct export_format export_json;
extern const struct export_format export_perfetto;
