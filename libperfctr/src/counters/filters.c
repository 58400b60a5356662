// SPDX-License-Identifier: MIT
/* Filters of SoC blocks as text. */
#include "base/device.h"

#include <inttypes.h>
#include <stdio.h>

enum { FILTER_WORDS = 3 };

struct text {
	char *at;
	size_t size, length;
};

static void add_term(struct text *t, const char *name, uint64_t value, bool hex)
{
	size_t left = t->length < t->size ? t->size - t->length : 0;
	const char *comma = t->length ? "," : "";
	char *at = left ? t->at + t->length : NULL;
	int n;

	if (hex)
		n = snprintf(at, left, "%s%s=0x%" PRIx64, comma, name, value);
	else
		n = snprintf(at, left, "%s%s=%" PRIu64, comma, name, value);
	t->length += n > 0 ? (size_t)n : 0;
}

EXPORT int perfctr_filter_text(unsigned int block_type, uint64_t config, uint64_t config1,
			       uint64_t config2, char *text, size_t size)
{
	static const char *const word_names[FILTER_WORDS] = { "config", "config1", "config2" };
	uint64_t words[FILTER_WORDS] = { config, config1, config2 };
	const struct perfctr_filter_desc *f = NULL;
	struct text t = { text, size, 0 };

	if (size)
		text[0] = '\0';
	if (block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return 0;
	while ((f = perfctr_filter_next(f))) {
		uint64_t mask = f->width < 64 ? (UINT64_C(1) << f->width) - 1 : UINT64_MAX;
		uint64_t value = words[f->word] >> f->low & mask;

		if (f->block_type != block_type || !value)
			continue;
		add_term(&t, f->name, value, f->hex);
		words[f->word] &= ~(mask << f->low);
	}
	for (unsigned int i = 0; i < FILTER_WORDS; i++)
		if (words[i])
			add_term(&t, word_names[i], words[i], true);
	return (int)t.length;
}
