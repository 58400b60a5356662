/* SPDX-License-Identifier: MIT */
/* Perfetto traces: what both kinds of tracks share. */
#pragma once

#include "export.h"
#include "perfetto.pb-c.h"

struct track {
	uint64_t uuid;
	/* current value of the track; an unchanged value is not written again */
	double shown;
	bool has_shown;
	double scale; /* from the sample's value */
	bool is_gpu; /* shown by a counter of the GPU instead */
	size_t first; /* the first line of the block's label, which is this one or before */
};

struct perfetto {
	uint8_t *bytes;
	size_t room;
	struct track *tracks;
	size_t track_count;
	uint64_t identity; /* of the capture */
	struct gpu *gpu; /* NULL if there is no counter of a GPU */
};

enum {
	/* sequence_flags: what the first packet says is needed to read this one */
	NEEDS_INCREMENTAL_STATE = 2,
	/* a packet's tag: field 1, with a length */
	TAG_PACKET = 1 << 3 | 2,
};

/* what has an id of its own in the trace */
enum {
	ID_SEQUENCE,
	ID_CAPTURE,
	ID_SAMPLES,
	ID_COUNTERS, /* of the GPU: the first of them */
	ID_MARKS, /* a track for each lane */
	ID_FIRST = ID_MARKS + MARKS_LANES /* of blocks; then those of counters */
};

/* --- perfetto_packet.c ------------------------------------------------------------ */

uint64_t perfetto_hash(uint64_t hash, const void *bytes, size_t size);
/* Of the host, the command, the device and the time: the same whenever a capture is exported. */
uint64_t perfetto_identify(const struct export *e);
/* The id of a track. Ids of other numbers differ. */
uint64_t perfetto_id(const struct export *e, uint64_t number);
uint32_t perfetto_sequence(const struct export *e);
/* The time of the trace. A capture without anchors has the clock of samples only. */
uint64_t perfetto_time(const struct export *e, uint64_t raw_ns);
/* Return: 0 or -ENOMEM. */
int perfetto_write(struct export *e, Perfetto__TracePacket *packet);
/*
 * Unit of a line's values: of its rate, or of its count with --counts.
 * @scale: set to the factor from the item's number. Return: @unit.
 */
char *perfetto_unit(const struct export *e, size_t line, char *unit, size_t size, double *scale);

/* --- perfetto_gpu.c: counters of GPUs, GpuCounterEvent ---------------------------- */

/*
 * Find these lines, and describe the GPU and its counters. perfetto_gpu_end() frees, also after an
 * error.
 * Return: 0 or a negative errno.
 */
int perfetto_gpu_begin(struct export *e);
void perfetto_gpu_sample(struct export *e, const struct perfctr_sample *sample);
void perfetto_gpu_end(struct export *e);
