// SPDX-License-Identifier: MIT
/* Streams of i915: records with a header, one of which has a report. */
#include <string.h>

#include "intel.h"
#include "intel_ioctls.h"

enum {
	POLL_REVISION = 5,
	POLL_NS = 1000000, /* in which the driver looks for reports; without it 5 ms */
	PROPERTIES = 5,
};

static int get_param(const struct intel *i, enum i915_param param, int *value)
{
	struct i915_getparam args = { .param = (int)param, .value = value };

	return intel_ioctl(i, i->hs.host->fd, I915_GETPARAM, &args);
}

static int i915_identify(struct intel *i)
{
	int id = 0, hz = 0, eus = 0, revision = 0;
	int error = get_param(i, I915_CHIPSET_ID, &id);

	if (error)
		return error;
	i->device_id = (u16)id;
	/* drivers before these parameters do not count the GPUs that perfctr knows */
	if (!get_param(i, I915_OA_TIMESTAMP_FREQUENCY, &hz))
		i->hz = (u64)max(hz, 0);
	if (!get_param(i, I915_EU_TOTAL, &eus))
		i->eus = (unsigned int)max(eus, 0);
	if (!get_param(i, I915_PERF_REVISION, &revision))
		i->revision = (u32)max(revision, 0);
	return 0;
}

static int i915_add_config(struct intel *i)
{
	const struct oa_list *list = i->generation->list;
	struct i915_perf_oa_config args = {
		.n_mux_regs = list->mux_count,
		.n_boolean_regs = list->boolean_count,
		.n_flex_regs = list->flex_count,
		.mux_regs_ptr = (uintptr_t)list->mux,
		.boolean_regs_ptr = (uintptr_t)list->boolean,
		.flex_regs_ptr = (uintptr_t)list->flex,
	};

	memcpy(args.uuid, list->uuid, sizeof(args.uuid));
	return intel_ioctl(i, i->hs.host->fd, I915_PERF_ADD_CONFIG, &args);
}

static int i915_open(struct intel *i)
{
	u64 properties[PROPERTIES][2] = {
		{ I915_SAMPLE_OA, 1 },
		{ I915_OA_METRICS_SET, i->config },
		{ I915_OA_FORMAT, i->generation->format->of_i915 },
		{ I915_OA_EXPONENT, i->exponent },
		{ I915_POLL_OA_PERIOD, POLL_NS },
	};
	struct i915_perf_open_param args = {
		.flags = I915_CLOEXEC | I915_NONBLOCK | I915_DISABLED,
		.num_properties = PROPERTIES - (i->revision < POLL_REVISION),
		.properties_ptr = (uintptr_t)properties,
	};

	return intel_ioctl(i, i->hs.host->fd, I915_PERF_OPEN, &args);
}

static ssize_t i915_read(struct intel *i, bool *overflow)
{
	const struct perfctr_sys *sys = i->hs.host->ctx->sys;
	ssize_t got = sys->read(sys->data, i->stream, i->buffer, sizeof(i->buffer));

	return got == -EAGAIN ? 0 : got ? got : -EIO;
}

static const void *i915_next(struct intel *i, bool *restarted)
{
	struct i915_perf_record_header header;

	while (i->bytes - i->at >= sizeof(header)) {
		const unsigned char *record = i->buffer + i->at;

		memcpy(&header, record, sizeof(header));
		if (header.size < sizeof(header) || header.size > i->bytes - i->at)
			break;
		i->at += header.size;
		if (header.type == I915_BUFFER_LOST)
			*restarted = true;
		/* a lost report has nothing that the next one has not */
		if (header.type == I915_SAMPLE &&
		    header.size >= sizeof(header) + i->generation->format->bytes)
			return record + sizeof(header);
	}
	return NULL;
}

static const struct intel_calls calls = {
	.identify = i915_identify,
	.add_config = i915_add_config,
	.open = i915_open,
	.read = i915_read,
	.next = i915_next,
	.needs = "CAP_PERFMON, which root and \"perfctr serve\" have, or for all users "
		 "\"sysctl dev.i915.perf_stream_paranoid=0\"",
	.stream_name = "anon_inode:[i915_perf]",
};

static int probe(struct host *host)
{
	return intel_probe(host, &calls);
}

const struct host_driver host_i915 = {
	.name = "i915",
	.by_name = true,
	.probe = probe,
	.remove = intel_remove,
};
