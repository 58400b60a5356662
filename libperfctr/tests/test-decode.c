// SPDX-License-Identifier: MIT
/* The decoder: correct reads, and no reads outside of the input. */
#include <perfctr/decode.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "test.h"

static struct sample_writer w;
static const uint64_t numbers[64] = {
	1, 2, 3, UINT64_MAX, (UINT64_C(1) << 53) + 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
};

/* Decode an exact copy on the heap, so that the sanitizer detects overruns. */
static long decode_copy(const void *bytes, size_t size, unsigned int shift)
{
	unsigned char *copy = malloc(size + shift);
	struct perfctr_sample s;
	struct perfctr_block b;
	struct perfctr_block_pmu pmu;
	uint64_t sum = 0;
	long result;
	int more;

	memcpy(copy + shift, bytes, size);
	result = perfctr_decode_sample(copy + shift, size, &s);
	if (result > 0) {
		while ((more = perfctr_decode_block(&s, &b)) > 0) {
			for (unsigned int n = 0; n < b.count; n++)
				sum += perfctr_block_value(&b, n) + perfctr_block_running(&b, n);
			sum += (uint64_t)perfctr_block_read_pmu(&b, &pmu);
		}
		CHECK(more == 0);
		CHECK(s.next == s.end);
	}
	free(copy);
	/* keep the reads */
	__asm__ volatile("" : : "r"(sum));
	return result;
}

static void make_mixed(void)
{
	struct drm_perfctr_sample_header *h = sample_begin(&w);

	h->seq = 7;
	h->user_data = 0x1122334455667788;
	h->merged_periods = 3;
	h->lost_ns = 99;
	h->merged_others = 5;
	h->gpu_epoch = 2;
	h->gpu_timestamp = UINT64_MAX - 1;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_FW, 0, 0xf0, numbers);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 18, 0x8000000000000101, numbers);
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 1, 0x5, numbers, NULL, 1000);
}

TEST("reads headers and values")
{
	struct perfctr_sample s;
	struct perfctr_block b;
	struct perfctr_block_pmu pmu;
	uint64_t value = 0;

	make_mixed();
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(s.seq, 7);
	EQUAL(s.start_ns, 1000);
	EQUAL(s.end_ns, 2000);
	EQUAL(s.user_data, 0x1122334455667788);
	EQUAL(s.flags, DRM_PERFCTR_SAMPLE_MANUAL);
	EQUAL(s.merged_periods, 3);
	EQUAL(s.lost_ns, 99);
	EQUAL(s.merged_others, 5);
	EQUAL(s.block_count, 3);

	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.type, DRM_PERFCTR_MALI_BLOCK_FW);
	EQUAL(b.count, 4);
	EQUAL(b.clock_cycles, 500);
	EQUAL(b.product, DRM_VSOC_PRODUCT_CSF);
	EQUAL(perfctr_block_value(&b, 3), UINT64_MAX);
	EQUAL(perfctr_block_running(&b, 0), 0);
	EQUAL(perfctr_block_read_pmu(&b, &pmu), 0);

	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.index, 18);
	EQUAL(perfctr_block_find(&b, 63, &value), 1);
	EQUAL(value, 3);
	EQUAL(perfctr_block_find(&b, 8, &value), 1);
	EQUAL(value, 2);
	EQUAL(perfctr_block_find(&b, 1, &value), -1);
	EQUAL(perfctr_block_find(&b, 64, &value), -1);

	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_read_pmu(&b, &pmu), 1);
	EQUAL_TEXT(pmu.name, "software");
	EQUAL(pmu.cpu, -1);
	EQUAL(perfctr_block_running(&b, 1), 1000);
	EQUAL(perfctr_decode_block(&s, &b), 0);

	perfctr_decode_rewind(&s);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.type, DRM_PERFCTR_MALI_BLOCK_FW);
}

TEST("counts beyond double precision stay exact")
{
	const uint64_t value = (UINT64_C(1) << 53) + 1;
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 1, &value);
	perfctr_decode_sample(w.bytes, w.size, &s);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_value(&b, 0), value);
}

TEST("not measured differs from zero")
{
	const uint64_t zeroes[2] = { 0 };
	struct perfctr_sample s;
	struct perfctr_block b;
	uint64_t value = 5;

	sample_begin(&w);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 0x30, zeroes)->valid_mask = 0x20;
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	perfctr_decode_block(&s, &b);
	EQUAL(perfctr_block_find(&b, 4, &value), 0);
	EQUAL(value, 5);
	EQUAL(perfctr_block_find(&b, 5, &value), 1);
	EQUAL(value, 0);
}

TEST("sections number their counters")
{
	struct perfctr_sample s;
	struct perfctr_block b;
	uint64_t value;

	sample_begin(&w);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 0x2, numbers)->section = 2;
	perfctr_decode_sample(w.bytes, w.size, &s);
	perfctr_decode_block(&s, &b);
	EQUAL(perfctr_block_find(&b, 129, &value), 1);
	EQUAL(perfctr_block_find(&b, 1, &value), -1);
	/* 64 * section does not fit 8 bits */
	b.section = UINT8_MAX;
	EQUAL(perfctr_block_find(&b, 64u * UINT8_MAX + 1, &value), 1);
}

TEST("every shorter buffer is refused")
{
	make_mixed();
	EQUAL(decode_copy(w.bytes, 0, 0), 0);
	for (size_t size = 1; size < w.size; size++)
		EQUAL(decode_copy(w.bytes, size, 0), PERFCTR_DECODE_TRUNCATED);
	EQUAL(decode_copy(w.bytes, w.size, 0), w.size);
}

TEST("any alignment is read")
{
	make_mixed();
	for (unsigned int shift = 0; shift < 16; shift++)
		EQUAL(decode_copy(w.bytes, w.size, shift), w.size);
}

TEST("samples follow each other")
{
	static unsigned char two[2 * SAMPLE_ROOM];
	struct perfctr_sample s;
	long size;

	make_mixed();
	memcpy(two, w.bytes, w.size);
	sample_header(&w)->seq = 8;
	memcpy(two + w.size, w.bytes, w.size);
	size = perfctr_decode_sample(two, 2 * w.size, &s);
	EQUAL(size, w.size);
	EQUAL(perfctr_decode_sample(two + size, 2 * w.size - (size_t)size, &s), w.size);
	EQUAL(s.seq, 8);
}

TEST("longer headers are skipped")
{
	struct perfctr_sample s;
	struct perfctr_block b;

	make_mixed();
	sample_grow_header(&w, 24);
	sample_grow_block_header(&w, 16);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_value(&b, 0), 1);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_value(&b, 1), 2);
	EQUAL(perfctr_block_running(&b, 1), 1000);
	EQUAL(decode_copy(w.bytes, w.size, 0), w.size);
}

TEST("more after the counters is skipped")
{
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_FW, 0, 0x10, numbers);
	((struct drm_perfctr_block_header *)(w.bytes + w.block))->size += 16;
	w.size += 16;
	sample_header(&w)->size += 16;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 3, 0x10, numbers + 4);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.index, 3);
	EQUAL(perfctr_block_value(&b, 0), (UINT64_C(1) << 53) + 1);
}

TEST("unknown types are read by their format")
{
	const uint64_t running[2] = { 400, 1000 };
	struct perfctr_block_pmu pmu;
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	sample_add_block(&w, 900, 1, 0x3, numbers);
	/* multiplexed, as a later driver may have it, with an unknown flag */
	sample_add_mux(&w, 901, 2, 0x3, numbers, running, 1000)->block.format |= 0x80;
	sample_grow_block_header(&w, 24);
	sample_add_pmu(&w, 5, 0, 0x10, numbers, NULL, 1000);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.type, 900);
	EQUAL(b.format, 0);
	EQUAL(perfctr_block_value(&b, 1), 2);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(b.type, 901);
	EQUAL(b.format, DRM_PERFCTR_FORMAT_RUNNING_TIMES | 0x80);
	EQUAL(perfctr_block_value(&b, 1), 2);
	EQUAL(perfctr_block_running(&b, 0), 400);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_read_pmu(&b, &pmu), 1);
	EQUAL_TEXT(pmu.name, "software");
	EQUAL(perfctr_decode_block(&s, &b), 0);
}

TEST("a block may have a span of its own")
{
	uint64_t start_ns = 1, end_ns = 2;
	struct perfctr_block_pmu pmu;
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	sample_add_pmu(&w, 5, 0, 0x10, numbers, NULL, 1000);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_read_span(&b, &start_ns, &end_ns), 0);
	sample_add_span(&w, 900, 1100);
	sample_grow_block_header(&w, 8);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_read_span(&b, &start_ns, &end_ns), 1);
	EQUAL(start_ns, 900);
	EQUAL(end_ns, 1100);
	EQUAL(perfctr_block_read_pmu(&b, &pmu), 1);
	EQUAL_TEXT(pmu.name, "software");
	EQUAL(perfctr_block_value(&b, 0), numbers[0]);
	/* of a block without other extensions; an end before the start is none */
	sample_begin(&w);
	sample_add_block(&w, 900, 1, 0x3, numbers);
	sample_add_span(&w, 5, 4);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_read_span(&b, &start_ns, &end_ns), 0);
	EQUAL(start_ns, 900);
	EQUAL(perfctr_block_value(&b, 1), numbers[1]);
}

TEST("a sample of no blocks is a sample")
{
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), 72);
	EQUAL(perfctr_decode_block(&s, &b), 0);
}

/* --- one fault at a time ---------------------------------------------------- */

static struct drm_perfctr_block_header *block_at(size_t offset)
{
	return (struct drm_perfctr_block_header *)(w.bytes + offset);
}

static long with_sample_sizes(uint32_t size, uint16_t header_size, uint16_t blocks)
{
	make_mixed();
	sample_header(&w)->size = size;
	sample_header(&w)->header_size = header_size;
	sample_header(&w)->block_count = blocks;
	return decode_copy(w.bytes, w.size, 0);
}

TEST("bad sample headers are refused")
{
	uint32_t size;

	make_mixed();
	size = (uint32_t)w.size;
	EQUAL(with_sample_sizes(size, 72, 3), size);
	EQUAL(with_sample_sizes(0, 72, 3), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_sample_sizes(64, 72, 3), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_sample_sizes(size - 4, 72, 3), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_sample_sizes(UINT32_MAX - 7, 72, 3), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_sample_sizes(size + 8, 72, 3), PERFCTR_DECODE_TRUNCATED);
	EQUAL(with_sample_sizes(size, 0, 3), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_sample_sizes(size, 64, 3), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_sample_sizes(size, 76, 3), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_sample_sizes(size, (uint16_t)(size + 8), 3), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_sample_sizes(size, 72, 2), PERFCTR_DECODE_BAD_BLOCK_COUNT);
	EQUAL(with_sample_sizes(size, 72, 0), PERFCTR_DECODE_BAD_BLOCK_COUNT);
	EQUAL(with_sample_sizes(size, 72, 4), PERFCTR_DECODE_BAD_BLOCK_COUNT);
	EQUAL(with_sample_sizes(size, 72, UINT16_MAX), PERFCTR_DECODE_BAD_BLOCK_COUNT);
	make_mixed();
	sample_header(&w)->end_ns = 999;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_TIME);
}

static long with_block_sizes(uint32_t size, uint16_t header_size)
{
	make_mixed();
	block_at(72)->size = size;
	block_at(72)->header_size = header_size;
	return decode_copy(w.bytes, w.size, 0);
}

TEST("bad block headers are refused")
{
	EQUAL(with_block_sizes(0, 48), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_block_sizes(40, 48), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_block_sizes(84, 48), PERFCTR_DECODE_BAD_SIZE);
	EQUAL(with_block_sizes(UINT32_MAX - 7, 48), PERFCTR_DECODE_TRUNCATED);
	EQUAL(with_block_sizes(1 << 20, 48), PERFCTR_DECODE_TRUNCATED);
	EQUAL(with_block_sizes(80, 40), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_block_sizes(80, 52), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_block_sizes(80, 88), PERFCTR_DECODE_BAD_HEADER_SIZE);
	EQUAL(with_block_sizes(80, 56), PERFCTR_DECODE_BAD_MASK);
}

TEST("masks without room are refused")
{
	make_mixed();
	block_at(72)->enable_mask = UINT64_MAX;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_MASK);
	make_mixed();
	block_at(72)->valid_mask = 0x1f0;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_MASK);
	/* room for the counters of a PMU block but not for their times */
	make_mixed();
	block_at(w.block)->enable_mask = 0x7;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_MASK);
	/* a header too short for what its format adds */
	make_mixed();
	block_at(72)->format = DRM_PERFCTR_FORMAT_PMU_IDENTITY;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_HEADER_SIZE);
}

TEST("multiplexed blocks have times")
{
	const uint64_t values[2] = { 7, 9 }, running[2] = { 400, 1000 };
	struct sample_mux_block *m;
	uint64_t enabled_ns = 0, running_ns = 0;
	struct perfctr_block_pmu pmu;
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	m = sample_add_mux(&w, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 1, 0x11, values, running, 1000);
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	EQUAL(perfctr_block_value(&b, 1), 9);
	EQUAL(perfctr_block_running(&b, 0), 400);
	EQUAL(perfctr_block_running(&b, 1), 1000);
	EQUAL(perfctr_block_read_times(&b, &enabled_ns, &running_ns), 1);
	EQUAL(enabled_ns, 1000);
	EQUAL(running_ns, 400);
	EQUAL(perfctr_block_read_pmu(&b, &pmu), 0);
	/* the times of each counter must fit as well */
	m->block.enable_mask = 0x111;
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_MASK);
	m->block.enable_mask = 0x11;
	m->block.header_size = sizeof(m->block);
	EQUAL(decode_copy(w.bytes, w.size, 0), PERFCTR_DECODE_BAD_HEADER_SIZE);
	/* other blocks have no times */
	make_mixed();
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	perfctr_decode_block(&s, &b);
	EQUAL(perfctr_block_read_times(&b, &enabled_ns, &running_ns), 0);
}

TEST("names of PMUs end")
{
	struct sample_pmu_block *p;
	struct perfctr_block_pmu pmu;
	struct perfctr_sample s;
	struct perfctr_block b;

	sample_begin(&w);
	p = sample_add_pmu(&w, DRM_PERFCTR_BLOCK_GENERIC_PMU, 0, 1, numbers, NULL, 1);
	memset(p->pmu.pmu_name, 'x', sizeof(p->pmu.pmu_name));
	perfctr_decode_sample(w.bytes, w.size, &s);
	perfctr_decode_block(&s, &b);
	perfctr_block_read_pmu(&b, &pmu);
	EQUAL(strlen(pmu.name), 31);
}

/* In a ring the bytes can change after the check: never read outside of them. */
TEST("bytes that change are checked again")
{
	struct perfctr_sample s;
	struct perfctr_block b;
	int result;

	make_mixed();
	perfctr_decode_sample(w.bytes, w.size, &s);
	EQUAL(perfctr_decode_block(&s, &b), 1);
	memset(w.bytes + 72, 0xff, w.size - 72);
	do {
		result = perfctr_decode_block(&s, &b);
	} while (result > 0);
	CHECK(result < 0);
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

TEST("scribbled samples never lead outside")
{
	uint32_t seed = 1;

	for (int round = 0; round < 20000; round++) {
		make_mixed();
		for (int n = (int)(random_next(&seed) % 8); n >= 0; n--) {
			static const unsigned char likely[] = { 0, 1, 7, 8, 0x7f, 0x80, 0xff };
			size_t at = random_next(&seed) % w.size;

			w.bytes[at] = round % 2 ? likely[random_next(&seed) % sizeof(likely)] :
						  (unsigned char)random_next(&seed);
		}
		decode_copy(w.bytes, w.size, round % 3 ? 0 : random_next(&seed) % 8);
	}
}

TEST("errors have texts")
{
	int error;

	for (error = PERFCTR_DECODE_BAD_TIME; error < 0; error++)
		CHECK(strcmp(perfctr_decode_error_text(error), "an unknown error"));
	EQUAL_TEXT(perfctr_decode_error_text(-99), "an unknown error");
	EQUAL_TEXT(perfctr_decode_error_text(64), "no error");
}
