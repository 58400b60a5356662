// SPDX-License-Identifier: MIT
/* Any bytes into the decoder and into totals. */
#include <perfctr/perfctr.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct perfctr_totals *new_totals(struct perfctr_ctx **ctx)
{
	struct perfctr_totals *totals = NULL;

	if (perfctr_ctx_new(ctx) || perfctr_totals_new(*ctx, &totals))
		abort();
	return totals;
}

/* Pointers from the decoder must lie within the input. */
static void check_block(const struct perfctr_sample *s, const struct perfctr_block *b)
{
	struct perfctr_block_pmu pmu;
	uint64_t sum = 0, value;

	if (b->bytes < s->bytes || b->bytes + b->size > s->end || b->valid_mask & ~b->enable_mask)
		abort();
	for (unsigned int n = 0; n < b->count; n++)
		sum += perfctr_block_value(b, n) + perfctr_block_running(b, n);
	for (unsigned int n = 0; n < 64; n++)
		if (perfctr_block_find(b, b->section * 64u + n, &value) > 0)
			sum += value;
	if (perfctr_block_read_pmu(b, &pmu) && memchr(pmu.name, 0, sizeof(pmu.name)))
		sum++;
	__asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfctr_ctx *ctx = NULL;
	struct perfctr_totals *totals;
	struct perfctr_sample s;
	struct perfctr_block b;
	unsigned int blocks;
	long used;

	totals = new_totals(&ctx);
	while ((used = perfctr_decode_sample(data, size, &s)) > 0) {
		if ((size_t)used > size || used % 8)
			abort();
		for (blocks = 0; perfctr_decode_block(&s, &b) > 0; blocks++)
			check_block(&s, &b);
		if (blocks > s.block_count || s.next != s.end)
			abort();
		if (perfctr_totals_add(totals, &s))
			abort();
		data += used;
		size -= (size_t)used;
	}
	perfctr_totals_unref(totals);
	perfctr_ctx_unref(ctx);
	return 0;
}
