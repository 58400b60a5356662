/* SPDX-License-Identifier: MIT */
/* A stream of msm: which counters a GPU has, opening it, its records one by one. */
#pragma once

#include "host.h"
#include "msm_ioctls.h"

#include "../../counters/adreno/perfctr_adreno.h"

enum {
	MSM_MOST_VALUES = 512, /* twice what the largest GPU has */
	MSM_RECORD_BYTES = sizeof(struct msm_record) + MSM_MOST_VALUES * sizeof(u64),
};

/* one value of each record: a block of the source, and the position in it */
struct msm_slot {
	u8 block, position;
};

struct msm_stream {
	int fd; /* -1: none */
	u64 period_ns;
	struct msm_slot slots[MSM_MOST_VALUES]; /* ordered by block */
	unsigned int count;
	/* of the last -E2BIG: the first block with too few free counters, how many it has */
	unsigned int full_block, free;

	/* what was read, from @at on not used yet */
	size_t at, bytes;
	_Alignas(u64) unsigned char buffer[4 * MSM_RECORD_BYTES];
};

int msm_get_param(const struct host *host, enum msm_param which, u64 *value);
int msm_set_param(const struct host *host, enum msm_param which, u64 value);

/* The driver's name of a block type: "BV_CP". */
void msm_group_name(u16 type, char *name);
/*
 * How many counters the GPU has of a block type at a time, 0: none. They are reserved for this file
 * until msm_release(). Return: 0; an errno of the driver.
 */
int msm_count_counters(const struct host *host, u16 type, unsigned int *counters);
/* Return: 0; -EINVAL the driver has no streams; -ENXIO not of this GPU. */
int msm_release(const struct host *host);

void msm_stream_add(struct msm_stream *stream, unsigned int block, unsigned int position);
/* @less: leave out what others have reserved. @descs: of the blocks. */
int msm_stream_open(const struct host *host, struct msm_stream *stream,
		    const struct drm_perfctr_block_desc *descs, bool less);
void msm_stream_close(const struct host *host, struct msm_stream *stream);
/* Records that the driver's buffer has room for. */
u64 msm_stream_room(const struct msm_stream *stream);
/* Never waits. Return: 1 with the next record, until the next call; 0: there is none; an errno. */
int msm_stream_next(const struct host *host, struct msm_stream *stream,
		    const struct msm_record **record);
