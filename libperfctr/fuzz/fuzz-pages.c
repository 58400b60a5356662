// SPDX-License-Identifier: MIT
/* Any bytes into the loader of pages: twice, the second time beside what the first one added. */
#include "counters/pages.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(void *arg, unsigned int line, unsigned int column, const char *text)
{
	unsigned int *problems = arg;

	if (!line || !column || !text[0])
		abort();
	++*problems;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pages pages = { 0 };
	unsigned int problems = 0;
	int first = pages_add(&pages, (const char *)data, size, note, &problems);

	if (first < 0 || (unsigned int)first != problems)
		abort();
	for (size_t n = 0; n < pages.counter_count; n++)
		if (!strlen(pages.counters[n].desc.id) || !strlen(pages.counters[n].desc.name))
			abort();
	for (size_t n = 0; n < pages.metric_count; n++)
		if (!strlen(pages.metrics[n].desc.id) || !strlen(pages.metrics[n].desc.formula))
			abort();
	pages_add(&pages, (const char *)data, size, note, &problems);
	pages_free(&pages);
	return 0;
}
