// SPDX-License-Identifier: MIT
/* Device, session and counters of a capture file. The bytes of the file are not trusted. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "counters/selection.h"

/* the kernel's limits; a file with more is not a recording */
enum { MAX_BLOCKS = 65536, MAX_REQUESTS = 65536 };

int capture_meta_init(struct capture_meta *meta, struct perfctr_ctx *ctx)
{
	struct perfctr_device *d = calloc(1, sizeof(*d));
	int error;

	if (!d)
		return perfctr_no_memory(ctx);
	atomic_init(&d->refs, 1);
	d->ctx = perfctr_ctx_ref(ctx);
	d->fd = -1;
	meta->device = d;
	error = perfctr_selection_new(d, &meta->selection);
	return error ? error : catalogue_new(ctx, &meta->selection->catalogue);
}

void capture_meta_free(struct capture_meta *meta)
{
	perfctr_selection_unref(meta->selection);
	perfctr_device_unref(meta->device);
}

/* Copy text of a file, made safe for terminals. */
static void take_name(char *to, size_t size, const char *from, size_t room)
{
	size_t length = strnlen(from, room);

	if (length >= size)
		length = size - 1;
	memmove(to, from, length);
	to[length] = '\0';
	perfctr_clean_text(to);
}

static void *grow(struct perfctr_device *d, void *array, size_t count, size_t bytes)
{
	void *more;

	/* capacities are powers of two */
	if (count & (count - 1))
		return array;
	more = realloc(array, (count ? 2 * count : 1) * bytes);
	if (!more)
		perfctr_no_memory(d->ctx);
	return more;
}

static int take_block(struct perfctr_device *d, const struct perfctr_capture_record *record)
{
	struct drm_perfctr_block_info *blocks;

	if (d->block_count == MAX_BLOCKS)
		return 0;
	blocks = grow(d, d->blocks, d->block_count, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	d->blocks = blocks;
	perfctr_capture_copy(record, &blocks[d->block_count++], sizeof(*blocks));
	return 0;
}

static int take_clock(struct perfctr_device *d, const struct perfctr_capture_record *record)
{
	struct drm_perfctr_clock_info *clocks, *clock;

	/* one more for the GPU's timestamp */
	if (d->clock_count == DRM_PERFCTR_MAX_CLOCKS + 1)
		return 0;
	clocks = grow(d, d->clocks, d->clock_count, sizeof(*clocks));
	if (!clocks)
		return -ENOMEM;
	d->clocks = clocks;
	clock = &clocks[d->clock_count++];
	perfctr_capture_copy(record, clock, sizeof(*clock));
	take_name(clock->name, sizeof(clock->name), clock->name, sizeof(clock->name));
	return 0;
}

static int take_request(struct perfctr_selection *s, const struct perfctr_capture_record *record)
{
	struct drm_perfctr_block_request request;

	if (s->request_count == MAX_REQUESTS)
		return 0;
	perfctr_capture_copy(record, &request, sizeof(request));
	return selection_append(s, &request, NULL);
}

/* How the request's counters were named; masks are limited to its counters. */
static void take_naming(struct perfctr_selection *s, const struct perfctr_capture_record *record)
{
	uint64_t content[3], number;

	perfctr_capture_copy(record, content, sizeof(content));
	number = le64toh(content[0]);
	if (record->size < sizeof(content) || number >= s->request_count)
		return;
	s->labels[number].single = le64toh(content[1]) & s->requests[number].mask;
	s->labels[number].summed = le64toh(content[2]) & s->requests[number].mask;
}

/* Name, unit and scale; files of the first library have only the name. */
static int take_label(struct perfctr_selection *s, const struct perfctr_capture_record *record)
{
	const char *text = (const char *)record->content + sizeof(uint64_t);
	const char *end = (const char *)record->content + record->size;
	char name[EVENT_BYTES], unit[UNIT_BYTES], scale[32];
	uint64_t number;
	double value;

	if (record->size < sizeof(number))
		return 0;
	memcpy(&number, record->content, sizeof(number));
	number = le64toh(number);
	if (number >= s->request_count)
		return 0;
	take_name(name, sizeof(name), text, (size_t)(end - text));
	text += strnlen(text, (size_t)(end - text));
	if (text < end)
		text++;
	take_name(unit, sizeof(unit), text, (size_t)(end - text));
	text += strnlen(text, (size_t)(end - text));
	if (text < end)
		text++;
	take_name(scale, sizeof(scale), text, (size_t)(end - text));
	value = perfctr_strtod(scale, NULL);
	s->labels[number].scale = value > 0 && value < 1e30 ? value : 1;
	return selection_rename(s, number, name, unit);
}

static void take_text(struct perfctr_device *d, const struct perfctr_capture_record *record)
{
	const char *key, *value;

	if (perfctr_capture_text(record, &key, &value))
		return;
	if (!strcmp(key, CAPTURE_KEY_DRIVER))
		take_name(d->driver, sizeof(d->driver), value, strlen(value));
	else if (!strcmp(key, CAPTURE_KEY_PATH))
		take_name(d->path, sizeof(d->path), value, strlen(value));
	else if (!strcmp(key, CAPTURE_KEY_BUS))
		d->ext_bus_bytes = (unsigned int)strtoul(value, NULL, 10);
}

static int take_metric(struct perfctr_selection *s, const struct perfctr_capture_record *record)
{
	const struct perfctr_metric_desc *metric;
	int error = catalogue_take_metric(s->catalogue, record, &metric);

	return metric ? selection_add_metric(s, metric) : error;
}

static void take_totals(struct capture_meta *meta, const struct perfctr_capture_record *record)
{
	struct perfctr_capture_totals t;

	perfctr_capture_copy(record, &t, sizeof(t));
	meta->status = (struct drm_perfctr_status){
		.flags = t.flags,
		.slots = t.slots,
		.published = t.published,
		.merged_periods = t.merged_periods,
		.merged_others = t.merged_others,
		.pending_merged = t.pending_merged,
		.lost_ns = t.lost_ns,
		.errors = t.errors,
		.overflows = t.overflows,
		.resets = t.resets,
		.bad_extract = t.bad_extract,
		.ring_full = t.ring_full,
		.wakeups = t.wakeups,
	};
	meta->has_status = true;
}

int capture_meta_take(struct capture_meta *meta, const struct perfctr_capture_record *record)
{
	struct perfctr_device *d = meta->device;

	switch (record->type) {
	case PERFCTR_CAPTURE_DEVICE:
		perfctr_capture_copy(record, &d->info, sizeof(d->info));
		take_name(d->info.name, sizeof(d->info.name), d->info.name, sizeof(d->info.name));
		return 0;
	case PERFCTR_CAPTURE_BLOCK:
		return take_block(d, record);
	case PERFCTR_CAPTURE_CLOCK:
		return take_clock(d, record);
	case PERFCTR_CAPTURE_REQUEST:
		return take_request(meta->selection, record);
	case PERFCTR_CAPTURE_LABEL:
		return take_label(meta->selection, record);
	case PERFCTR_CAPTURE_NAMING:
		take_naming(meta->selection, record);
		return 0;
	case PERFCTR_CAPTURE_TEXT:
		take_text(d, record);
		return 0;
	case PERFCTR_CAPTURE_SESSION:
		perfctr_capture_copy(record, &meta->session, sizeof(meta->session));
		meta->selection->set = meta->session.set;
		meta->has_session = true;
		return 0;
	case PERFCTR_CAPTURE_COUNTER:
		return catalogue_take_counter(meta->selection->catalogue, record);
	case PERFCTR_CAPTURE_METRIC:
		return take_metric(meta->selection, record);
	case PERFCTR_CAPTURE_STATUS:
		take_totals(meta, record);
		return 0;
	default:
		return 0;
	}
}

bool capture_is_common(const struct perfctr_capture_record *record)
{
	const char *key, *value;

	switch (record->type) {
	case PERFCTR_CAPTURE_TEXT:
		return !perfctr_capture_text(record, &key, &value) &&
		       strcmp(key, CAPTURE_KEY_DRIVER) != 0 && strcmp(key, CAPTURE_KEY_PATH) != 0 &&
		       strcmp(key, CAPTURE_KEY_BUS) != 0;
	case PERFCTR_CAPTURE_ANCHOR:
	case PERFCTR_CAPTURE_MARK:
		return true;
	default:
		return false;
	}
}

EXPORT void perfctr_capture_copy(const struct perfctr_capture_record *record, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, record->content, record->size < size ? record->size : size);
}

EXPORT int perfctr_capture_text(const struct perfctr_capture_record *record, const char **key,
				const char **value)
{
	const char *text = record->content;
	size_t length = record->size ? strnlen(text, record->size) + 1 : record->size;

	if (length >= record->size ||
	    strnlen(text + length, record->size - length) == record->size - length)
		return -EBADMSG;
	*key = text;
	*value = text + length;
	return 0;
}
