// SPDX-License-Identifier: MIT
/*
 * A stream of msm. A file of the driver has at most one configuration beside streams: the counters
 * that its own jobs may program. Here it only serves to ask how many there are.
 */
#include "msm_stream.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "counters/catalogue.h"
#include "kernel.h"

enum {
	/* that the kernel can allocate at once; at least 15 of the largest records */
	BUFFER_SHIFT = 16,
	MOST_COUNTERS = 63, /* of a group */
};

/* --- the driver ------------------------------------------------------------------- */

static int call(const struct host *host, unsigned long request, void *argument)
{
	return host->ctx->sys->ioctl(host->ctx->sys->data, host->fd, request, argument);
}

int msm_get_param(const struct host *host, enum msm_param which, u64 *value)
{
	struct msm_param_args args = { .pipe = MSM_PIPE_GPU, .param = which };
	int error = call(host, MSM_GET_PARAM, &args);

	*value = args.value;
	return error;
}

int msm_set_param(const struct host *host, enum msm_param which, u64 value)
{
	struct msm_param_args args = { .pipe = MSM_PIPE_GPU, .param = which, .value = value };

	return call(host, MSM_SET_PARAM, &args);
}

void msm_group_name(u16 type, char *name)
{
	snprintf(name, MSM_GROUP_NAME_BYTES, "%s", perfctr_block_type_name(type));
	for (; *name; name++)
		*name = (char)toupper((unsigned char)*name);
}

int msm_release(const struct host *host)
{
	struct msm_perfcntr_config config = { 0 };

	return call(host, MSM_PERFCNTR_CONFIG, &config);
}

/* Whether a group has so many counters, free or not. Return: 1, 0, or another errno. */
static int has_counters(const struct host *host, u16 type, unsigned int count)
{
	struct msm_perfcntr_group group = { .nr_countables = count };
	struct msm_perfcntr_config config = {
		.nr_groups = 1,
		.groups = (uintptr_t)&group,
		.group_stride = sizeof(group),
	};
	int error;

	msm_group_name(type, group.group_name);
	error = call(host, MSM_PERFCNTR_CONFIG, &config);
	return !error || error == -E2BIG ? 1 : error == -EINVAL ? 0 : error;
}

int msm_count_counters(const struct host *host, u16 type, unsigned int *counters)
{
	unsigned int least = 0, most = MOST_COUNTERS;
	/* also of a group that does not exist */
	int has = has_counters(host, type, 0);

	while (has > 0 && least < most) {
		unsigned int middle = (least + most + 1) / 2;

		has = has_counters(host, type, middle);
		if (has > 0)
			least = middle;
		else
			most = middle - 1;
		has = has < 0 ? has : 1;
	}
	*counters = least;
	return has < 0 ? has : 0;
}

/* --- a stream ------------------------------------------------------------------------ */

void msm_stream_add(struct msm_stream *stream, unsigned int block, unsigned int position)
{
	stream->slots[stream->count++] =
		(struct msm_slot){ .block = (u8)block, .position = (u8)position };
}

static size_t record_bytes(const struct msm_stream *stream)
{
	return sizeof(struct msm_record) + stream->count * sizeof(u64);
}

u64 msm_stream_room(const struct msm_stream *stream)
{
	return (1u << BUFFER_SHIFT) / record_bytes(stream);
}

/* the arguments of an ioctl */
struct request {
	struct msm_perfcntr_group groups[PERFCTR_ADRENO_BLOCKS];
	unsigned int asked[PERFCTR_ADRENO_BLOCKS]; /* counters of each group */
	u8 blocks[PERFCTR_ADRENO_BLOCKS];
	unsigned int count;
	u32 countables[MSM_MOST_VALUES];
};

static void make_request(const struct msm_stream *stream,
			 const struct drm_perfctr_block_desc *descs, struct request *r)
{
	r->count = 0;
	for (unsigned int i = 0; i < stream->count; i++) {
		const struct msm_slot *slot = &stream->slots[i];
		struct msm_perfcntr_group *group = &r->groups[r->count];

		r->countables[i] = slot->position;
		if (i && slot->block == stream->slots[i - 1].block) {
			group[-1].nr_countables++;
			continue;
		}
		*group = (struct msm_perfcntr_group){ .nr_countables = 1,
						      .countables = (uintptr_t)&r->countables[i] };
		msm_group_name(descs[slot->block].type, group->group_name);
		r->blocks[r->count++] = slot->block;
	}
	for (unsigned int n = 0; n < r->count; n++)
		r->asked[n] = r->groups[n].nr_countables;
}

/* Leave out the counters that are not free, by what the driver answered. */
static void trim(struct msm_stream *stream, const struct request *r)
{
	unsigned int from = 0, to = 0;

	for (unsigned int n = 0; n < r->count; n++) {
		memmove(&stream->slots[to], &stream->slots[from],
			r->groups[n].nr_countables * sizeof(*stream->slots));
		to += r->groups[n].nr_countables;
		from += r->asked[n];
	}
	stream->count = to;
}

static void note_full(struct msm_stream *stream, const struct request *r)
{
	unsigned int n = 0;

	while (n + 1 < r->count && r->groups[n].nr_countables == r->asked[n])
		n++;
	stream->full_block = r->blocks[n];
	stream->free = r->groups[n].nr_countables;
}

int msm_stream_open(const struct host *host, struct msm_stream *stream,
		    const struct drm_perfctr_block_desc *descs, bool less)
{
	struct request r;
	struct msm_perfcntr_config config = {
		.flags = MSM_STREAM | MSM_UPDATE,
		.groups = (uintptr_t)r.groups,
		.period = stream->period_ns,
		.bufsz_shift = BUFFER_SHIFT,
		.group_stride = sizeof(*r.groups),
	};

	stream->at = stream->bytes = 0;
	do {
		make_request(stream, descs, &r);
		config.nr_groups = r.count;
		stream->fd = r.count ? call(host, MSM_PERFCNTR_CONFIG, &config) : -E2BIG;
		if (stream->fd == -E2BIG && r.count) {
			note_full(stream, &r);
			trim(stream, &r);
		}
	} while (stream->fd == -E2BIG && less && r.count);
	return stream->fd < 0 ? stream->fd : 0;
}

void msm_stream_close(const struct host *host, struct msm_stream *stream)
{
	if (stream->fd >= 0)
		host->ctx->sys->close(host->ctx->sys->data, stream->fd);
	stream->fd = -1;
}

/* A read that would wait if the buffer were empty. It ends where the driver's buffer does. */
static int fill(const struct host *host, struct msm_stream *stream)
{
	const struct perfctr_sys *sys = host->ctx->sys;
	ssize_t got;
	int ready = sys->poll(sys->data, &stream->fd, 1, 0);

	if (ready <= 0)
		return ready;
	memmove(stream->buffer, stream->buffer + stream->at, stream->bytes - stream->at);
	stream->bytes -= stream->at;
	stream->at = 0;
	got = sys->read(sys->data, stream->fd, stream->buffer + stream->bytes,
			sizeof(stream->buffer) - stream->bytes);
	if (got <= 0)
		return got == -EAGAIN ? 0 : got < 0 ? (int)got : -EIO;
	stream->bytes += (size_t)got;
	return 1;
}

int msm_stream_next(const struct host *host, struct msm_stream *stream,
		    const struct msm_record **record)
{
	const size_t size = record_bytes(stream);
	int filled = 1;

	while (stream->bytes - stream->at < size && filled > 0)
		filled = fill(host, stream);
	if (filled <= 0)
		return filled;
	*record = (const void *)(stream->buffer + stream->at);
	stream->at += size;
	return 1;
}
