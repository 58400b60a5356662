// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: what descriptors of Midgard, Bifrost and Valhall let a job manager do.
 *
 * A descriptor begins with a header of eight words; fields are as in Mesa's genxml. All that is
 * read here lies in its first 64 bytes. A job that faults is executed again from its beginning.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>

#include "mali_jm.h"
#include "mali_raster.h"
#include "mali_regs.h"

#define JOB_ALIGN		64
#define HEADER_TYPE		GENMASK(7, 1)	/* word 4 */
#define HEADER_INDEX		GENMASK(31, 16)
#define HEADER_DEPENDENCY_1	GENMASK(15, 0)	/* word 5 */
#define HEADER_DEPENDENCY_2	GENMASK(31, 16)
#define HEADER_NEXT		6		/* words: two */
#define PAYLOAD			8

enum job_type {
	JOB_NULL = 1,
	JOB_WRITE_VALUE,
	JOB_CACHE_FLUSH,
	JOB_COMPUTE,
	JOB_VERTEX,
	JOB_TILER = 7,
	JOB_FRAGMENT = 9,
	JOB_INDEXED_VERTEX,
	JOB_MALLOC_VERTEX,
};

enum value_type {
	VALUE_CYCLES = 1,
	VALUE_TIMESTAMP,
	VALUE_ZERO,
	VALUE_IMMEDIATE_8,	/* up to 64 bits; not on Midgard */
	VALUE_IMMEDIATE_64 = 7,
};

/* numbers of workgroups, packed into one word; the next one has the shifts */
#define INVOCATION_X		GENMASK(15, 10)
#define INVOCATION_Y		GENMASK(21, 16)
#define INVOCATION_Z		GENMASK(27, 22)

#define PRIMITIVE_MODE		GENMASK(7, 0)
#define PRIMITIVE_RESTART	GENMASK(20, 19)
#define PRIMITIVE_RESTART_V9	BIT(19)

#define BOX_X			GENMASK(11, 0)	/* tiles */
#define BOX_Y			GENMASK(27, 16)

static bool is_midgard(const struct mali_gpu *gpu)
{
	return gpu->product->layout < MALI_LAYOUT_V6;
}

static bool is_valhall(const struct mali_gpu *gpu)
{
	return mali_arch(gpu) >= 9;
}

static u64 words64(const u32 *words)
{
	return (u64)words[1] << 32 | words[0];
}

u16 mali_job_index(const struct mali_job *job)
{
	return FIELD_GET(HEADER_INDEX, job->words[4]);
}

u64 mali_job_next(const struct mali_job *job)
{
	return words64(&job->words[HEADER_NEXT]);
}

/* index 0 is no job */
bool mali_job_ready(const struct mali_job *job, const unsigned long *done)
{
	const u16 first = FIELD_GET(HEADER_DEPENDENCY_1, job->words[5]);
	const u16 second = FIELD_GET(HEADER_DEPENDENCY_2, job->words[5]);

	return (!first || test_bit(first, done)) && (!second || test_bit(second, done));
}

static int write_value(struct mali_gpu *gpu, const struct mali_job *job)
{
	const u32 *payload = &job->words[PAYLOAD];
	const u32 type = payload[2];
	u64 value = words64(&payload[4]);

	if (type < VALUE_IMMEDIATE_8)
		value = type == VALUE_CYCLES ? mali_cycles(gpu) :
			type == VALUE_TIMESTAMP ? mali_timestamp() : 0;
	else if (is_midgard(gpu) || type > VALUE_IMMEDIATE_64)
		return MALI_EXCEPTION_DATA_INVALID_FAULT;
	if (!type)
		return MALI_EXCEPTION_DATA_INVALID_FAULT;
	return mali_mem_write(gpu, job->as, words64(payload), &value,
			      type < VALUE_IMMEDIATE_8 ? sizeof(value) :
			      BIT(type - VALUE_IMMEDIATE_8));
}

/* a number less 1 in the bits from @low up to @end of @word */
static u64 unpack(u32 word, u32 low, u32 end)
{
	end = min(end, 32u);
	return low < end ? (u64)((word >> low) & (u32)(BIT_ULL(end - low) - 1)) + 1 : 1;
}

/* workgroups in three dimensions */
static void workgroups(const struct mali_gpu *gpu, const struct mali_job *job, u64 *count)
{
	const u32 *payload = &job->words[PAYLOAD];

	if (is_valhall(gpu)) {
		for (int i = 0; i < 3; i++)
			count[i] = payload[2 + i];
		return;
	}
	count[0] = unpack(payload[0], FIELD_GET(INVOCATION_X, payload[1]),
			  FIELD_GET(INVOCATION_Y, payload[1]));
	count[1] = unpack(payload[0], FIELD_GET(INVOCATION_Y, payload[1]),
			  FIELD_GET(INVOCATION_Z, payload[1]));
	count[2] = unpack(payload[0], FIELD_GET(INVOCATION_Z, payload[1]), 32);
}

static int compute(struct mali_gpu *gpu, struct mali_job *job)
{
	u64 count[3];

	workgroups(gpu, job, count);
	job->counts[MALI_JOBS_COMPUTE] = 1;
	job->counts[MALI_COMPUTE_TASKS] = count[0] * count[1] * count[2];
	job->counts[MALI_TASKS_OTHER] = job->counts[MALI_COMPUTE_TASKS];
	return 0;
}

/* @shades: positions too, which are in memory otherwise */
static int tile(struct mali_gpu *gpu, struct mali_job *job, bool shades)
{
	const u32 *primitive = &job->words[is_valhall(gpu) ? PAYLOAD : PAYLOAD + 2];
	const u32 restart = is_valhall(gpu) ? PRIMITIVE_RESTART_V9 : PRIMITIVE_RESTART;
	u32 indices = primitive[3] + !is_valhall(gpu);
	u64 instances = primitive[4], count[3];
	enum mali_event event;

	if (!is_valhall(gpu)) {
		workgroups(gpu, job, count);
		instances = count[2];
	}
	job->counts[MALI_JOBS_TILER] = 1;
	job->counts[MALI_POSITION_TASKS] =
		shades ? DIV_ROUND_UP((u64)indices, MALI_TASK_VERTICES) * instances : 0;
	job->counts[MALI_TASKS_OTHER] = job->counts[MALI_POSITION_TASKS];
	/* restart positions are in the index buffer, which is not read */
	indices = mali_primitives(FIELD_GET(PRIMITIVE_MODE, primitive[0]), indices, &event);
	job->counts[event] = primitive[0] & restart ? 0 : indices * instances;
	return 0;
}

static int fragment(struct mali_gpu *gpu, struct mali_job *job)
{
	const u32 *payload = &job->words[PAYLOAD];
	const struct mali_box box = {
		.x0 = FIELD_GET(BOX_X, payload[0]) * MALI_TILE_PIXELS,
		.y0 = FIELD_GET(BOX_Y, payload[0]) * MALI_TILE_PIXELS,
		.x1 = (FIELD_GET(BOX_X, payload[1]) + 1) * MALI_TILE_PIXELS - 1,
		.y1 = (FIELD_GET(BOX_Y, payload[1]) + 1) * MALI_TILE_PIXELS - 1,
	};

	job->counts[MALI_JOBS_FRAGMENT] = 1;
	job->counts[MALI_TASKS_FRAGMENT] = mali_squares(&box, mali_task_pixels(gpu));
	job->counts[MALI_FRAGMENT_TILES] = mali_squares(&box, MALI_TILE_PIXELS);
	return mali_clear(gpu, job->as, words64(&payload[2]), &box);
}

/*
 * Call without lock. @job: with slot, as and va. Returns 0, an exception, or -EFAULT if the
 * descriptor is not mapped.
 */
int mali_job_read(struct mali_gpu *gpu, struct mali_job *job)
{
	memset(job->counts, 0, sizeof(job->counts));
	if (job->va % JOB_ALIGN)
		return MALI_EXCEPTION_JOB_CONFIG_FAULT;
	return mali_mem_read(gpu, job->as, job->va, job->words, sizeof(job->words));
}

/* likewise; @job has been read */
int mali_job_execute(struct mali_gpu *gpu, struct mali_job *job)
{
	const u32 type = FIELD_GET(HEADER_TYPE, job->words[4]);

	switch (type) {
	case JOB_NULL:
		return 0;
	case JOB_WRITE_VALUE:
		return write_value(gpu, job);
	case JOB_CACHE_FLUSH:
		job->counts[MALI_CACHE_FLUSHES] = 1;
		return 0;
	case JOB_COMPUTE:
	case JOB_VERTEX:
		if (job->slot && (type == JOB_COMPUTE || !is_valhall(gpu)))
			return compute(gpu, job);
		break;
	case JOB_TILER:
		if (job->slot)
			return tile(gpu, job, false);
		break;
	case JOB_INDEXED_VERTEX:
		if (job->slot && !is_midgard(gpu) && !is_valhall(gpu))
			return tile(gpu, job, true);
		break;
	case JOB_MALLOC_VERTEX:
		if (job->slot && is_valhall(gpu))
			return tile(gpu, job, true);
		break;
	case JOB_FRAGMENT:
		if (!job->slot)
			return fragment(gpu, job);
		break;
	}
	return MALI_EXCEPTION_JOB_CONFIG_FAULT;
}
