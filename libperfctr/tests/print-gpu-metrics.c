// SPDX-License-Identifier: MIT
/*
 * Print where the library finds the values of a file gpu_metrics on standard input: name, place,
 * bytes, kind of value. kernel-headers.py compares them with the kernel's structures.
 */
#include <stdio.h>

#include "local/gpu_metrics.h"

static int print_field(void *arg, const char *name, const struct gpu_field *field)
{
	printf("%s %u %u %u\n", name, field->at, field->bytes, field->kind->config);
	return 0;
}

int main(void)
{
	static unsigned char file[GPU_METRICS_BYTES];
	char reason[GAUGE_REASON_BYTES] = "";
	const size_t bytes = fread(file, 1, sizeof(file), stdin);
	const int error = gpu_metrics_walk(file, bytes, print_field, NULL, reason);

	if (error)
		printf("refused: %s\n", reason);
	return 0;
}
