// SPDX-License-Identifier: MIT
/*
 * Decoding sample bytes into blocks and counters.
 *
 * Uses offsets instead of structures: the bytes may be unaligned, and the file must build with only
 * <perfctr/decode.h>. layout.c compares the offsets with the kernel's header.
 */
#include <perfctr/decode.h>

#include "layout.h"

/* smallest header size for the format; unknown bits can only add bytes after that */
static inline uint32_t header_min(unsigned int format)
{
	enum { TIMES = LAYOUT_TIMES_BYTES, PMU = LAYOUT_PMU_BYTES, SPAN = LAYOUT_SPAN_BYTES };
	/* by format: each block of each sample is decoded */
	static const uint8_t optional[] = { 0,	  TIMES,	PMU,	    TIMES + PMU,
					    SPAN, SPAN + TIMES, SPAN + PMU, SPAN + TIMES + PMU };

	return (uint32_t)LAYOUT_BLOCK_MIN + optional[format % sizeof(optional)];
}

static inline uint16_t load16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load64(const unsigned char *p)
{
	return load32(p) | (uint64_t)load32(p + 4) << 32;
}

/* avoids the compiler's runtime library on CPUs without a population count */
static inline unsigned int count_bits(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (unsigned int)(x * 0x0101010101010101u >> 56);
}

/* fields that check_block() has read */
struct shape {
	uint64_t enable_mask;
	uint64_t valid_mask;
	uint32_t size;
	uint32_t header_size;
	uint16_t count;
	uint8_t format;
};

/* Check the block at @p, of which @left bytes may be read. Return: 1 or an error. */
static inline int check_block(const unsigned char *p, size_t left, struct shape *shape)
{
	uint32_t needed;

	if (left < LAYOUT_BLOCK_MIN)
		return PERFCTR_DECODE_BAD_BLOCK_COUNT;

	shape->size = load32(p + LAYOUT_BLOCK_SIZE);
	shape->header_size = load16(p + LAYOUT_BLOCK_HEADER_SIZE);
	shape->format = p[LAYOUT_BLOCK_FORMAT];
	if (shape->size < LAYOUT_BLOCK_MIN || shape->size % 8)
		return PERFCTR_DECODE_BAD_SIZE;
	if (shape->size > left)
		return PERFCTR_DECODE_TRUNCATED;
	if (shape->header_size < header_min(shape->format) || shape->header_size % 8 ||
	    shape->header_size > shape->size)
		return PERFCTR_DECODE_BAD_HEADER_SIZE;

	shape->enable_mask = load64(p + LAYOUT_BLOCK_ENABLE_MASK);
	shape->valid_mask = load64(p + LAYOUT_BLOCK_VALID_MASK);
	shape->count = (uint16_t)count_bits(shape->enable_mask);
	needed = shape->count * 8u * (shape->format & LAYOUT_FORMAT_RUNNING_TIMES ? 2 : 1);
	if (needed > shape->size - shape->header_size || shape->valid_mask & ~shape->enable_mask)
		return PERFCTR_DECODE_BAD_MASK;
	return 1;
}

static void fill_block(const unsigned char *p, const struct shape *shape,
		       struct perfctr_block *block)
{
	block->bytes = p;
	block->size = shape->size;
	block->type = load16(p + LAYOUT_BLOCK_TYPE);
	block->enable_mask = shape->enable_mask;
	block->valid_mask = shape->valid_mask;
	block->count = shape->count;
	block->index = load16(p + LAYOUT_BLOCK_INDEX);
	block->section = p[LAYOUT_BLOCK_SECTION];
	block->format = shape->format;
	block->product = load16(p + LAYOUT_BLOCK_PRODUCT);
	block->set = p[LAYOUT_BLOCK_SET];
	block->clock = p[LAYOUT_BLOCK_CLOCK];
	block->states = load32(p + LAYOUT_BLOCK_STATES);
	block->capture_ns = (int32_t)load32(p + LAYOUT_BLOCK_CAPTURE_NS);
	block->clock_cycles = load64(p + LAYOUT_BLOCK_CLOCK_CYCLES);
	block->values = p + shape->header_size;
	block->running = shape->format & LAYOUT_FORMAT_RUNNING_TIMES ?
				 block->values + shape->count * 8u :
				 NULL;
}

void perfctr_decode_rewind(struct perfctr_sample *sample)
{
	sample->next = sample->bytes + sample->header_size;
	sample->blocks_left = sample->block_count;
}

/* Read the next block; with @block NULL only check it. */
static inline int next_block(struct perfctr_sample *sample, struct perfctr_block *block)
{
	const unsigned char *p = sample->next;
	struct shape shape;
	int result;

	if (!sample->blocks_left)
		return 0;
	result = check_block(p, (size_t)(sample->end - p), &shape);
	if (result < 0)
		return result;
	sample->next += shape.size;
	sample->blocks_left--;
	if (block)
		fill_block(p, &shape, block);
	return 1;
}

int perfctr_decode_block(struct perfctr_sample *sample, struct perfctr_block *block)
{
	/* check again: another process may have changed the bytes */
	return next_block(sample, block);
}

long perfctr_decode_sample(const void *bytes, size_t size, struct perfctr_sample *sample)
{
	const unsigned char *p = bytes;
	int result;

	if (!size)
		return 0;
	if (size < LAYOUT_SAMPLE_MIN)
		return PERFCTR_DECODE_TRUNCATED;

	sample->size = load32(p + LAYOUT_SAMPLE_SIZE);
	sample->header_size = load16(p + LAYOUT_SAMPLE_HEADER_SIZE);
	if (sample->size < LAYOUT_SAMPLE_MIN || sample->size % 8 || sample->size > INT32_MAX)
		return PERFCTR_DECODE_BAD_SIZE;
	if (sample->size > size)
		return PERFCTR_DECODE_TRUNCATED;
	if (sample->header_size < LAYOUT_SAMPLE_MIN || sample->header_size % 8 ||
	    sample->header_size > sample->size)
		return PERFCTR_DECODE_BAD_HEADER_SIZE;

	sample->bytes = p;
	sample->end = p + sample->size;
	sample->block_count = load16(p + LAYOUT_SAMPLE_BLOCK_COUNT);
	sample->seq = load64(p + LAYOUT_SAMPLE_SEQ);
	sample->start_ns = load64(p + LAYOUT_SAMPLE_START_NS);
	sample->end_ns = load64(p + LAYOUT_SAMPLE_END_NS);
	sample->user_data = load64(p + LAYOUT_SAMPLE_USER_DATA);
	sample->flags = load32(p + LAYOUT_SAMPLE_FLAGS);
	sample->merged_periods = load32(p + LAYOUT_SAMPLE_MERGED_PERIODS);
	sample->lost_ns = load64(p + LAYOUT_SAMPLE_LOST_NS);
	sample->merged_others = load32(p + LAYOUT_SAMPLE_MERGED_OTHERS);
	sample->gpu_epoch = load32(p + LAYOUT_SAMPLE_GPU_EPOCH);
	sample->gpu_timestamp = load64(p + LAYOUT_SAMPLE_GPU_TIMESTAMP);
	if (sample->end_ns < sample->start_ns)
		return PERFCTR_DECODE_BAD_TIME;

	perfctr_decode_rewind(sample);
	do {
		result = next_block(sample, NULL);
	} while (result > 0);
	if (result < 0)
		return result;
	/* bytes outside of blocks could hide counts */
	if (sample->next != sample->end)
		return PERFCTR_DECODE_BAD_BLOCK_COUNT;

	perfctr_decode_rewind(sample);
	return (long)sample->size;
}

int perfctr_block_read_pmu(const struct perfctr_block *block, struct perfctr_block_pmu *pmu)
{
	const unsigned char *p =
		block->bytes + header_min(block->format & LAYOUT_FORMAT_RUNNING_TIMES);

	if (!(block->format & LAYOUT_FORMAT_PMU_IDENTITY))
		return 0;

	pmu->config = load64(p + LAYOUT_PMU_CONFIG);
	pmu->config1 = load64(p + LAYOUT_PMU_CONFIG1);
	pmu->config2 = load64(p + LAYOUT_PMU_CONFIG2);
	pmu->pmu_type = load32(p + LAYOUT_PMU_TYPE);
	pmu->cpu = (int32_t)load32(p + LAYOUT_PMU_CPU);
	memcpy(pmu->name, p + LAYOUT_PMU_NAME, sizeof(pmu->name));
	pmu->name[sizeof(pmu->name) - 1] = '\0';
	return 1;
}

int perfctr_block_read_times(const struct perfctr_block *block, uint64_t *enabled_ns,
			     uint64_t *running_ns)
{
	const unsigned char *p = block->bytes + LAYOUT_BLOCK_MIN;

	if (!(block->format & LAYOUT_FORMAT_RUNNING_TIMES))
		return 0;
	*enabled_ns = load64(p + LAYOUT_TIMES_ENABLED);
	*running_ns = load64(p + LAYOUT_TIMES_RUNNING);
	return 1;
}

int perfctr_block_read_span(const struct perfctr_block *block, uint64_t *start_ns, uint64_t *end_ns)
{
	const unsigned char *p =
		block->bytes + header_min(block->format & (LAYOUT_FORMAT_SPAN - 1));
	uint64_t start, end;

	if (!(block->format & LAYOUT_FORMAT_SPAN))
		return 0;
	start = load64(p + LAYOUT_SPAN_START_NS);
	end = load64(p + LAYOUT_SPAN_END_NS);
	/* the bytes may be in shared memory */
	if (end < start)
		return 0;
	*start_ns = start;
	*end_ns = end;
	return 1;
}

int perfctr_block_find(const struct perfctr_block *block, unsigned int position, uint64_t *value)
{
	unsigned int first = block->section * LAYOUT_SECTION_COUNTERS;
	uint64_t bit;

	if (position < first || position - first >= LAYOUT_SECTION_COUNTERS)
		return -1;
	bit = UINT64_C(1) << (position - first);
	if (!(block->enable_mask & bit))
		return -1;
	if (!(block->valid_mask & bit))
		return 0;
	*value = perfctr_block_value(block, count_bits(block->enable_mask & (bit - 1)));
	return 1;
}

const char *perfctr_decode_error_text(long error)
{
	switch (error) {
	case PERFCTR_DECODE_TRUNCATED:
		return "cut off: fewer bytes than in its header";
	case PERFCTR_DECODE_BAD_SIZE:
		return "a size that is too small or no multiple of 8";
	case PERFCTR_DECODE_BAD_HEADER_SIZE:
		return "a header size that does not fit";
	case PERFCTR_DECODE_BAD_BLOCK_COUNT:
		return "a number of blocks that does not fit its size";
	case PERFCTR_DECODE_BAD_MASK:
		return "masks that contradict each other or the block's size";
	case PERFCTR_DECODE_BAD_TIME:
		return "an end before its start";
	default:
		return error < 0 ? "an unknown error" : "no error";
	}
}
