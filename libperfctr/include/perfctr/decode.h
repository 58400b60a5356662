/* SPDX-License-Identifier: MIT */
/*
 * The decoder: from the bytes of a sample to its blocks and counters.
 *
 * It trusts no input: the bytes may come from a ring, a file or an attacker, at
 * any alignment. Every length is checked before it is used. Additions newer than
 * this library (longer headers, formats that extend a block) are skipped by their
 * size; the counters of blocks of unknown type are read normally.
 *
 * This header and decode.c need only a C compiler, so programs that cannot link
 * the library can include them.
 *
 *	struct perfctr_sample s;
 *	struct perfctr_block b;
 *
 *	if (perfctr_decode_sample(bytes, size, &s) > 0)
 *		while (perfctr_decode_block(&s, &b) > 0)
 *			for (unsigned int i = 0; i < b.count; i++)
 *				total += perfctr_block_value(&b, i);
 */
#ifndef PERFCTR_DECODE_H
#define PERFCTR_DECODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

#pragma GCC visibility push(default)

/** enum perfctr_decode_error - errors of the decoder; all negative */
enum perfctr_decode_error {
	PERFCTR_DECODE_TRUNCATED = -1, /* fewer bytes than the header's size */
	PERFCTR_DECODE_BAD_SIZE = -2, /* a size below its minimum or not a multiple of 8 */
	PERFCTR_DECODE_BAD_HEADER_SIZE = -3, /* a header size that does not fit its size */
	PERFCTR_DECODE_BAD_BLOCK_COUNT = -4, /* more or fewer blocks than bytes for them */
	/* valid counters that are not enabled, or no space for them */
	PERFCTR_DECODE_BAD_MASK = -5,
	PERFCTR_DECODE_BAD_TIME = -6, /* the end lies before the start */
};

/**
 * struct perfctr_sample - the header of a sample, and the position of its blocks
 *
 * Points into the decoded bytes and is valid as long as they are.
 */
struct perfctr_sample {
	const unsigned char *bytes; /* first byte of the sample */
	/* first byte of the block that perfctr_decode_block() returns next */
	const unsigned char *next;
	const unsigned char *end; /* byte after the sample */
	uint32_t size; /* bytes of the sample */
	uint16_t header_size; /* bytes of its header; the first block follows */
	uint16_t block_count; /* blocks of the sample */
	uint16_t blocks_left; /* blocks that perfctr_decode_block() has not returned yet */
	uint64_t seq; /* number of the sample in its session, from 0 on */
	uint64_t start_ns; /* CLOCK_MONOTONIC_RAW of the earliest count in the sample */
	uint64_t end_ns; /* CLOCK_MONOTONIC_RAW of the latest count in the sample */
	uint64_t user_data; /* as given to START, SAMPLE or STOP */
	uint32_t flags; /* enum drm_perfctr_sample_flags */
	uint32_t merged_periods; /* periods that ended in the sample without a separate sample */
	uint64_t lost_ns; /* upper bound of the time for which the hardware lost counts */
	uint32_t merged_others; /* AUTOMATIC and IN_STREAM samples that are part of this one */
	uint32_t gpu_epoch; /* timestamps of equal epochs can be compared; 0: no timestamp */
	uint64_t gpu_timestamp; /* raw value of the GPU's timestamp counter at the end */
};

/** struct perfctr_block - the header of a block, and the position of its counters */
struct perfctr_block {
	const unsigned char *bytes; /* first byte of the block */
	const unsigned char *values; /* the counters, @count times u64 at any alignment */
	/* time in ns that each counter ran, @count times u64, or NULL */
	const unsigned char *running;
	uint32_t size; /* bytes of the block */
	uint16_t type; /* block type, see "Block types" in perfctr_drm.h */
	uint16_t index; /* physical index */
	uint8_t section; /* bit n of a mask is counter 64 * @section + n */
	uint8_t format; /* enum drm_perfctr_block_format */
	uint16_t product; /* see "Products" in perfctr_drm.h */
	uint8_t set; /* enum drm_perfctr_set */
	uint8_t clock; /* clock domain or DRM_PERFCTR_CLOCK_NONE */
	uint16_t count; /* counters stored, 0..64 */
	uint32_t states; /* enum drm_perfctr_block_states */
	int32_t capture_ns; /* when the block was read, relative to the sample's end_ns */
	uint64_t clock_cycles; /* cycles of @clock in the span */
	uint64_t enable_mask; /* counters stored, lowest bit first */
	uint64_t valid_mask; /* counters that were measured; the others read as zero */
};

/** struct perfctr_block_pmu - the perf PMU of a block, and its filters */
struct perfctr_block_pmu {
	uint64_t config; /* perf config, or the filter bits of it */
	uint64_t config1; /* perf config1 */
	uint64_t config2; /* perf config2 */
	uint32_t pmu_type; /* perf type number on the machine that sampled */
	int32_t cpu; /* CPU that counted, -1 for several */
	char name[32]; /* the PMU's name, always NUL terminated */
};

/**
 * perfctr_decode_sample() - check and read the header of a sample
 * @bytes: first byte of a sample; any alignment
 * @size: bytes that may be read
 * @sample: filled on success
 *
 * Checks all blocks too: after success perfctr_decode_block() cannot fail.
 *
 * Return: bytes of the sample, the offset of the next one; 0 if @size is 0;
 * enum perfctr_decode_error if the bytes are not a sample.
 */
long perfctr_decode_sample(const void *bytes, size_t size, struct perfctr_sample *sample);

/**
 * perfctr_decode_block() - read the next block of a sample
 * @sample: from perfctr_decode_sample(); its position advances
 * @block: filled on success
 *
 * Return: 1 if there was a block, 0 after the last one, enum
 * perfctr_decode_error if the bytes have changed since they were checked.
 */
int perfctr_decode_block(struct perfctr_sample *sample, struct perfctr_block *block);

/**
 * perfctr_decode_rewind() - move back to the first block
 * @sample: from perfctr_decode_sample()
 */
void perfctr_decode_rewind(struct perfctr_sample *sample);

/**
 * perfctr_block_read_pmu() - read the perf PMU of a block
 * @block: from perfctr_decode_block()
 * @pmu: filled on success
 *
 * Return: 1, or 0 if the block does not come from a perf PMU.
 */
int perfctr_block_read_pmu(const struct perfctr_block *block, struct perfctr_block_pmu *pmu);

/**
 * perfctr_block_read_times() - read how long a block counted
 * @block: from perfctr_decode_block()
 * @enabled_ns: ns for which its counters were enabled, filled on success
 * @running_ns: smallest running time of its counters in ns, filled on success
 *
 * perfctr_block_running() has the running time of each counter.
 *
 * Return: 1, or 0 if the hardware does not multiplex the block's counters.
 */
int perfctr_block_read_times(const struct perfctr_block *block, uint64_t *enabled_ns,
			     uint64_t *running_ns);

/**
 * perfctr_block_read_span() - read the span of a block's counts
 * @block: from perfctr_decode_block()
 * @start_ns: CLOCK_MONOTONIC_RAW of the begin of its counts, filled on success
 * @end_ns: CLOCK_MONOTONIC_RAW of their end, filled on success
 *
 * Blocks of perf PMUs have a span of their own: it differs from the sample's in samples that a job
 * took (DRM_PERFCTR_SAMPLE_IN_STREAM), where it is mostly that of the command before.
 *
 * Return: 1, or 0 if the span is the sample's.
 */
int perfctr_block_read_span(const struct perfctr_block *block, uint64_t *start_ns,
			    uint64_t *end_ns);

/**
 * perfctr_block_find() - read one counter by its position
 * @block: from perfctr_decode_block()
 * @position: position of the counter in the block, 64 * section + bit
 * @value: filled if the result is 1
 *
 * Return: 1 if it was measured, 0 if it is stored but was not measured, -1 if
 * the block does not have it.
 */
int perfctr_block_find(const struct perfctr_block *block, unsigned int position, uint64_t *value);

/**
 * perfctr_decode_error_text() - description of an error
 * @error: enum perfctr_decode_error
 *
 * Return: a constant text, never NULL.
 */
const char *perfctr_decode_error_text(long error);

/**
 * perfctr_block_value() - value of a stored counter
 * @block: from perfctr_decode_block()
 * @n: 0..count - 1; counters are stored in the order of enable_mask's bits
 *
 * Inline, so that a loop over all counters costs no more than the memory reads.
 *
 * Return: the value; zero if it was not measured.
 */
static inline uint64_t perfctr_block_value(const struct perfctr_block *block, unsigned int n)
{
	uint64_t value;

	memcpy(&value, block->values + (size_t)n * sizeof(value), sizeof(value));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

/**
 * perfctr_block_running() - time in ns that a stored counter ran
 * @block: from perfctr_decode_block()
 * @n: 0..count - 1
 *
 * Return: the time; zero if the block has no running times.
 */
static inline uint64_t perfctr_block_running(const struct perfctr_block *block, unsigned int n)
{
	uint64_t value;

	if (!block->running)
		return 0;
	memcpy(&value, block->running + (size_t)n * sizeof(value), sizeof(value));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

#pragma GCC visibility pop

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_DECODE_H */
