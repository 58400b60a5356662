// SPDX-License-Identifier: MIT
/*
 * Streams of xe: reports one after the other. What went wrong in between is a status, which makes
 * a read fail once.
 */
#include <stdlib.h>
#include <string.h>

#include "intel.h"
#include "intel_ioctls.h"

enum {
	OAG = 0, /* type of the unit of the whole GPU */
	ENGINE_BYTES = 8,
	MOST_QUERY_BYTES = 1 << 16,
	ID_BITS = 16,
	MOST_STATUS_READS = 4,
};

/* Ask for an array. Return: bytes of *data, which the caller frees; an errno. */
static int query(const struct intel *i, enum xe_query which, unsigned char **data)
{
	struct xe_device_query args = { .query = which };
	int error = intel_ioctl(i, i->hs.host->fd, XE_DEVICE_QUERY, &args);

	*data = NULL;
	if (!error && (!args.size || args.size > MOST_QUERY_BYTES))
		error = -EPROTO;
	if (error)
		return error;
	*data = calloc(1, args.size);
	if (!*data)
		return -ENOMEM;
	args.data = (uintptr_t)*data;
	error = intel_ioctl(i, i->hs.host->fd, XE_DEVICE_QUERY, &args);
	return error ? error : (int)args.size;
}

static int read_device_id(struct intel *i)
{
	unsigned char *data;
	u64 values[2]; /* number of parameters, the first one */
	int bytes = query(i, XE_QUERY_CONFIG, &data);

	if (bytes >= (int)sizeof(values)) {
		memcpy(values, data, sizeof(values));
		i->device_id = (u16)(values[1] & ((1u << ID_BITS) - 1));
	}
	free(data);
	return bytes < 0 ? bytes : bytes < (int)sizeof(values) ? -EPROTO : 0;
}

/* The first unit of the whole GPU; hz stays 0 if there is none. */
static int find_unit(struct intel *i, u16 *gt)
{
	unsigned char *data;
	struct xe_query_oa_units head = { 0 };
	struct xe_oa_unit unit;
	int bytes = query(i, XE_QUERY_OA_UNITS, &data);
	size_t at = sizeof(head), size = bytes > 0 ? (size_t)bytes : 0;

	if (size >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	for (u32 n = 0; n < head.num_oa_units && at <= size && size - at >= sizeof(unit); n++) {
		memcpy(&unit, data + at, sizeof(unit));
		if (unit.oa_unit_type == OAG && !i->hz) {
			i->unit = unit.oa_unit_id;
			i->hz = unit.oa_timestamp_freq;
			*gt = unit.gt_id;
		}
		if (unit.num_engines > MOST_QUERY_BYTES)
			break;
		at += sizeof(unit) + unit.num_engines * ENGINE_BYTES;
	}
	free(data);
	return min(bytes, 0);
}

static unsigned int count_bits(const unsigned char *mask, size_t bytes)
{
	unsigned int count = 0;

	for (size_t n = 0; n < bytes; n++)
		count += hweight64((u64)mask[n]);
	return count;
}

/* Execution units: those of a subslice times subslices, of either kind. 0: unknown. */
static void count_eus(struct intel *i, u16 gt)
{
	unsigned char *data;
	struct xe_query_topology_mask head;
	unsigned int eus = 0, geometry = 0, compute = 0;
	int bytes = query(i, XE_QUERY_GT_TOPOLOGY, &data);

	for (size_t at = 0; bytes > 0 && (size_t)bytes - at >= sizeof(head);) {
		unsigned int count;

		memcpy(&head, data + at, sizeof(head));
		at += sizeof(head);
		if (head.num_bytes > (size_t)bytes - at)
			break;
		count = head.gt_id == gt ? count_bits(data + at, head.num_bytes) : 0;
		at += head.num_bytes;
		if (head.type == XE_TOPO_DSS_GEOMETRY)
			geometry = max(geometry, count);
		else if (head.type == XE_TOPO_DSS_COMPUTE)
			compute = max(compute, count);
		else if (head.type == XE_TOPO_EU_PER_DSS || head.type == XE_TOPO_SIMD16_EU_PER_DSS)
			eus = max(eus, count);
	}
	free(data);
	i->eus = eus * max(geometry, compute);
}

static int xe_identify(struct intel *i)
{
	u16 gt = 0;
	int error = read_device_id(i);

	if (error)
		return error;
	/* drivers before 6.12 have no units */
	if (!find_unit(i, &gt))
		count_eus(i, gt);
	return 0;
}

static int observe(const struct intel *i, enum xe_observation op, void *param)
{
	struct xe_observation_param args = {
		.observation_type = XE_OBSERVATION_TYPE_OA,
		.observation_op = op,
		.param = (uintptr_t)param,
	};

	return intel_ioctl(i, i->hs.host->fd, XE_OBSERVATION, &args);
}

static int xe_add_config(struct intel *i)
{
	const struct oa_list *list = i->generation->list;
	const struct {
		const struct oa_register *registers;
		u32 count;
	} parts[] = { { list->mux, list->mux_count },
		      { list->boolean, list->boolean_count },
		      { list->flex, list->flex_count } };
	struct xe_oa_config args = { 0 };
	struct oa_register *all =
		calloc(list->mux_count + list->boolean_count + list->flex_count, sizeof(*all));
	int config;

	if (!all)
		return -ENOMEM;
	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++) {
		if (parts[n].count)
			memcpy(all + args.n_regs, parts[n].registers,
			       parts[n].count * sizeof(*all));
		args.n_regs += parts[n].count;
	}
	args.regs_ptr = (uintptr_t)all;
	memcpy(args.uuid, list->uuid, sizeof(args.uuid));
	config = observe(i, XE_OBSERVATION_ADD_CONFIG, &args);
	free(all);
	return config;
}

static int xe_open(struct intel *i)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;
	const u64 values[XE_PROPERTIES] = {
		i->unit, 1, i->config, i->generation->format->of_xe, i->exponent, 1,
	};
	struct xe_ext_set_property properties[XE_PROPERTIES] = { 0 };
	int made, fd, error;

	for (unsigned int n = 0; n < XE_PROPERTIES; n++) {
		properties[n].property = XE_OA_UNIT_ID + n;
		properties[n].value = values[n];
		if (n + 1 < XE_PROPERTIES)
			properties[n].next_extension = (uintptr_t)&properties[n + 1];
	}
	made = observe(i, XE_OBSERVATION_OPEN, properties);
	if (made < 0)
		return made;
	/* programs that the process starts would hold the stream, which has no close-on-exec */
	fd = sys->dup(sys->data, made);
	sys->close(sys->data, made);
	error = fd < 0 ? fd : sys->nonblock(sys->data, fd);
	if (error && fd >= 0)
		sys->close(sys->data, fd);
	return error ? error : fd;
}

/* With reports pending a status comes first; then they are there still. */
static ssize_t xe_read(struct intel *i, bool *overflow)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;
	struct xe_oa_stream_status status = { 0 };
	ssize_t got = -EIO;
	int error = 0;

	for (unsigned int n = 0; n < MOST_STATUS_READS && got == -EIO && !error; n++) {
		got = sys->read(sys->data, i->stream, i->buffer, sizeof(i->buffer));
		if (got == -EIO)
			error = intel_ioctl(i, i->stream, XE_STREAM_STATUS, &status);
		if (got == -EIO && status.oa_status & XE_BUFFER_OVERFLOW)
			*overflow = true;
	}
	return error ? error : got == -EAGAIN ? 0 : got ? got : -EIO;
}

static const void *xe_next(struct intel *i, bool *restarted)
{
	const size_t bytes = i->generation->format->bytes;
	const void *report = i->buffer + i->at;

	if (i->bytes - i->at < bytes)
		return NULL;
	i->at += bytes;
	return report;
}

static const struct intel_calls calls = {
	.identify = xe_identify,
	.add_config = xe_add_config,
	.open = xe_open,
	.read = xe_read,
	.next = xe_next,
	.needs = "CAP_PERFMON, which root and \"perfctr serve\" have, or for all users "
		 "\"sysctl dev.xe.observation_paranoid=0\", or from Linux 7.3 on "
		 "\"sysctl kernel.perf_event_paranoid=0\"",
	.stream_name = "anon_inode:[xe_oa]",
};

static int probe(struct host *host)
{
	return intel_probe(host, &calls);
}

const struct host_driver host_xe = {
	.name = "xe",
	.by_name = true,
	.probe = probe,
	.remove = intel_remove,
};
