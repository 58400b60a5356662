// SPDX-License-Identifier: MIT
/*
 * A capture as a Perfetto trace.
 *
 * A track for the capture, below it one for the samples, and one for each block with a counter
 * track for each of its counters and metrics. Times are in CLOCK_BOOTTIME, the clock of Perfetto's
 * own traces, so that both can be concatenated. The value of a sample is written at the sample's
 * start: a counter track keeps a value until the next one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "perfetto.pb-c.h"

enum {
	CLOCK_ID_REALTIME = 1,
	CLOCK_ID_MONOTONIC = 3,
	CLOCK_ID_MONOTONIC_RAW = 5,
	CLOCK_ID_BOOTTIME = 6,
	/*
	 * The clock of samples in this sequence of packets only. It makes the snapshots of each
	 * capture a kind of their own: readers want the times of one kind in ascending order, also
	 * in concatenated traces.
	 */
	CLOCK_ID_SAMPLES = 64,
	INCREMENTAL_STATE_CLEARED = 1,
	NEEDS_INCREMENTAL_STATE = 2,
	ORDER_EXPLICIT = 3,
	/* field 1, length-delimited */
	TAG_PACKET = 1 << 3 | 2,
};

/* what has an id of its own in the trace */
enum {
	ID_SEQUENCE,
	ID_CAPTURE,
	ID_SAMPLES,
	ID_MARKS, /* a track for each lane */
	ID_FIRST = ID_MARKS + MARKS_LANES /* of blocks; then those of counters */
};

struct track {
	uint64_t uuid;
	/* current value of the track; an unchanged value is not written again */
	double shown;
	bool has_shown;
	double scale; /* from the sample's value */
};

struct perfetto {
	uint8_t *bytes;
	size_t room;
	struct track *tracks;
	size_t track_count;
	uint64_t identity; /* of the capture */
};

/* --- ids ------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	/* FNV-1a */
	for (size_t n = 0; n < size; n++)
		hash = (hash ^ ((const uint8_t *)bytes)[n]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Of the host, the command, the device and the time: the same whenever a capture is exported. */
static uint64_t identify(const struct export *e)
{
	const struct capture_file *file = e->file;
	const char *name = perfctr_device_info(file->device)->name;
	uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1);

	for (size_t n = 0; n < file->text_count; n++) {
		const struct capture_text *text = &file->texts[n];

		hash = hash_bytes(hash, text->key, strlen(text->key) + 1);
		hash = hash_bytes(hash, text->value, strlen(text->value) + 1);
	}
	if (file->anchor_count)
		hash = hash_bytes(hash, file->anchors, sizeof(*file->anchors));
	hash = hash_bytes(hash, &perfctr_totals_span(file->totals)->start_ns, sizeof(uint64_t));
	if (file->number)
		hash = hash_bytes(hash, &file->number, sizeof(file->number));
	/* rates and counts of the same capture are different tracks */
	return hash_bytes(hash, &e->counts, sizeof(e->counts));
}

/* The id of a track. Ids of other numbers differ: each step can be undone (as in splitmix64). */
static uint64_t track_id(const struct export *e, uint64_t number)
{
	uint64_t id = ((const struct perfetto *)e->state)->identity + number;

	id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
	return id ^ id >> 31;
}

/* Perfetto's service numbers its sequences from 1 on. */
static uint32_t sequence_id(const struct export *e)
{
	return (uint32_t)track_id(e, ID_SEQUENCE) | UINT32_C(1) << 31;
}

/* --- packets --------------------------------------------------------------- */

static int write_packet(struct export *e, Perfetto__TracePacket *packet)
{
	struct perfetto *p = e->state;
	uint8_t head[11] = { TAG_PACKET };
	size_t size, left, head_bytes = 1;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = sequence_id(e);
	if (!packet->has_sequence_flags) {
		/* the defaults in the first packet are needed to read this one */
		packet->has_sequence_flags = true;
		packet->sequence_flags = NEEDS_INCREMENTAL_STATE;
	}
	size = perfetto__trace_packet__get_packed_size(packet);
	if (size > p->room) {
		uint8_t *bytes = realloc(p->bytes, 2 * size);

		if (!bytes)
			return -ENOMEM;
		p->bytes = bytes;
		p->room = 2 * size;
	}
	perfetto__trace_packet__pack(packet, p->bytes);
	for (left = size; left > 0x7f; left >>= 7)
		head[head_bytes++] = (uint8_t)(left | 0x80);
	head[head_bytes++] = (uint8_t)left;
	fwrite(head, 1, head_bytes, e->out);
	fwrite(p->bytes, 1, size, e->out);
	return 0;
}

static int write_first(struct export *e)
{
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = e->file->anchor_count ? CLOCK_ID_BOOTTIME :
							      CLOCK_ID_MONOTONIC_RAW;
	packet.trace_packet_defaults = &defaults;
	packet.has_sequence_flags = true;
	packet.sequence_flags = INCREMENTAL_STATE_CLEARED;
	return write_packet(e, &packet);
}

static int write_anchor(struct export *e, const struct perfctr_anchor *anchor)
{
	const struct {
		uint32_t id;
		uint64_t ns;
	} readings[] = {
		{ CLOCK_ID_BOOTTIME, anchor->boottime_ns },
		{ CLOCK_ID_MONOTONIC_RAW, anchor->raw_ns },
		{ CLOCK_ID_MONOTONIC, anchor->monotonic_ns },
		{ CLOCK_ID_REALTIME, anchor->realtime_ns },
		{ CLOCK_ID_SAMPLES, anchor->raw_ns },
	};
	Perfetto__ClockSnapshot__Clock clocks[ARRAY_SIZE(readings)];
	Perfetto__ClockSnapshot__Clock *pointers[ARRAY_SIZE(readings)];
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	for (size_t n = 0; n < ARRAY_SIZE(readings); n++) {
		perfetto__clock_snapshot__clock__init(&clocks[n]);
		clocks[n].has_clock_id = true;
		clocks[n].clock_id = readings[n].id;
		clocks[n].has_timestamp = true;
		clocks[n].timestamp = readings[n].ns;
		pointers[n] = &clocks[n];
	}
	snapshot.n_clocks = ARRAY_SIZE(readings);
	snapshot.clocks = pointers;
	packet.clock_snapshot = &snapshot;
	return write_packet(e, &packet);
}

static int write_track(struct export *e, Perfetto__TrackDescriptor *track, uint64_t uuid,
		       uint64_t parent, const char *name, int32_t rank)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	track->has_parent_uuid = parent != 0;
	track->parent_uuid = parent;
	track->name = (char *)(uintptr_t)name;
	track->has_sibling_order_rank = rank >= 0;
	track->sibling_order_rank = rank;
	packet.track_descriptor = track;
	return write_packet(e, &packet);
}

static int write_group(struct export *e, uint64_t uuid, uint64_t parent, const char *name,
		       const char *description, int32_t rank)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

	track.has_child_ordering = true;
	track.child_ordering = ORDER_EXPLICIT;
	track.description = (char *)(uintptr_t)description;
	return write_track(e, &track, uuid, parent, name, rank);
}

/* --- tracks ---------------------------------------------------------------- */

/* UUID of the track of a block, made with the first of its counters. */
static int block_track(struct export *e, size_t line, uint64_t *uuid)
{
	const struct values *v = &e->values;
	const char *label = v->lines[line].row->label;

	for (size_t n = 0; n < line; n++) {
		if (!v->lines[n].is_block || strcmp(v->lines[n].row->label, label))
			continue;
		*uuid = track_id(e, ID_FIRST + n);
		return 0;
	}
	*uuid = track_id(e, ID_FIRST + line);
	return write_group(e, *uuid, track_id(e, ID_CAPTURE), label, NULL, (int32_t)line + 1);
}

static int write_counter_track(struct export *e, size_t line)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	struct perfetto *p = e->state;
	const struct row *row = e->values.lines[line].row;
	bool is_rate = e->values.lines[line].is_rate && !e->counts;
	char unit[ROW_UNIT_BYTES + sizeof("CPUs")];
	uint64_t parent;
	double scale;
	const char *per_second = row_rate_unit(row, &scale);
	int error = block_track(e, line, &parent);

	if (error)
		return error;
	p->tracks[line].uuid = track_id(e, ID_FIRST + e->values.count + line);
	p->tracks[line].scale = is_rate ? scale : 1;
	snprintf(unit, sizeof(unit), "%s%s", is_rate && scale != 1 ? "" : row->unit,
		 is_rate ? per_second : "");
	counter.unit_name = unit;
	/* counters of a block that have the same unit are drawn to the same scale */
	if (*row->unit)
		counter.y_axis_share_key = unit;
	if (!is_rate && !strcmp(row->unit, "bytes")) {
		counter.has_unit = true;
		counter.unit = PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
	}
	track.counter = &counter;
	if (row->metric)
		track.description = (char *)(uintptr_t)row->metric->short_text;
	else if (row->desc)
		track.description = (char *)(uintptr_t)row->desc->short_text;
	return write_track(e, &track, p->tracks[line].uuid, parent, row->counter, (int32_t)line);
}

static int write_tracks(struct export *e)
{
	const struct perfctr_device *device = e->file->device;
	int error;

	error = write_group(e, track_id(e, ID_CAPTURE), 0, perfctr_device_info(device)->name,
			    capture_file_text(e->file, "command"), -1);
	if (!error)
		error = write_group(e, track_id(e, ID_SAMPLES), track_id(e, ID_CAPTURE), "samples",
				    "what is to be known about samples", 0);
	/* marks are of all sessions */
	for (int n = 0; !error && !e->file->number && n < e->file->marks.lanes; n++)
		error = write_group(e, track_id(e, ID_MARKS + (uint64_t)n), track_id(e, ID_CAPTURE),
				    "marks", "what the recorded program marked", 0);
	for (size_t n = 0; !error && n < e->values.count; n++)
		/* a metric of the whole device has no block: use its line of sums */
		if (e->values.lines[n].is_block)
			error = write_counter_track(e, n);
	return error;
}

static int perfetto_end(struct export *e);
static int write_marks(struct export *e);

static int perfetto_begin(struct export *e)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return -ENOMEM;
	e->state = p;
	p->identity = identify(e);
	p->tracks = calloc(e->values.count + 1, sizeof(*p->tracks));
	p->track_count = e->values.count;
	error = p->tracks ? write_first(e) : -ENOMEM;
	for (size_t n = 0; !error && n < e->file->anchor_count; n++)
		error = write_anchor(e, &e->file->anchors[n]);
	if (!error)
		error = write_tracks(e);
	if (!error)
		error = write_marks(e);
	if (error)
		perfetto_end(e);
	return error;
}

/* --- samples ----------------------------------------------------------------- */

/* The time of the trace. A capture without anchors has the clock of samples only. */
static uint64_t trace_time(const struct export *e, uint64_t raw_ns)
{
	uint64_t ns;

	return capture_file_time(e->file, raw_ns, CLOCK_BOOTTIME, &ns) ? ns : raw_ns;
}

static int write_event(struct export *e, uint64_t time_ns, Perfetto__TrackEvent *event,
		       Perfetto__TrackEvent__Type type, uint64_t track)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	event->has_type = true;
	event->type = type;
	event->has_track_uuid = true;
	event->track_uuid = track;
	packet.has_timestamp = true;
	packet.timestamp = time_ns;
	packet.track_event = event;
	return write_packet(e, &packet);
}

static int write_marks(struct export *e)
{
	int error = 0;

	for (size_t n = 0; !error && !e->file->number && n < e->file->marks.count; n++) {
		const struct mark *m = &e->file->marks.all[n];
		const bool is_point = m->kind == PERFCTR_MARK_POINT;
		const uint64_t track = track_id(e, ID_MARKS + (uint64_t)m->lane);
		Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

		if (m->lane < 0)
			continue;
		event.name = m->name;
		error = write_event(e, trace_time(e, m->start_ns), &event,
				    is_point ? PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT :
					       PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
				    track);
		event.name = NULL;
		if (!error && !is_point)
			error = write_event(e, trace_time(e, m->end_ns), &event,
					    PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, track);
	}
	return error;
}

static int write_value(struct export *e, size_t line, uint64_t time_ns)
{
	const struct values_item *item = &e->values.items[line];
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	struct track *track = &((struct perfetto *)e->state)->tracks[line];
	bool is_count = e->counts && !e->values.lines[line].row->metric;
	const struct row *row = e->values.lines[line].row;
	double number = is_count ? row_number(row, item->count) : item->number * track->scale;

	if (!item->is_measured || !isfinite(number))
		number = 0;
	if (is_count) {
		/* the trace's integers are signed */
		event.has_counter_value = item->count <= INT64_MAX || row_is_level(row);
		event.counter_value = (int64_t)item->count;
		event.has_double_counter_value = !event.has_counter_value;
		event.double_counter_value = number;
	} else {
		if (track->has_shown && track->shown == number)
			return 0;
		event.has_double_counter_value = true;
		event.double_counter_value = number;
	}
	track->shown = number;
	track->has_shown = true;
	return write_event(e, time_ns, &event, PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER,
			   track->uuid);
}

/* Names of the sample's counters that were not measured; a list that is too long ends in "...". */
static void unmeasured(const struct export *e, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t n = 0; n < e->values.count && used < size; n++) {
		const struct values_line *line = &e->values.lines[n];

		if (line->is_block && !line->row->metric && e->values.items[n].is_present &&
		    !e->values.items[n].is_measured)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
						 line->row->event);
	}
	if (used >= size)
		memcpy(text + size - 4, "...", 4);
}

/* A slice shows what counters do not: holes, merged and lost time, tags. */
static int write_slice(struct export *e, const struct perfctr_sample *sample)
{
	Perfetto__TrackEvent begin = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__TrackEvent end = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation notes[6], *pointers[6];
	char flags[256], holes[1024];
	const uint32_t usual = DRM_PERFCTR_SAMPLE_PERIODIC | DRM_PERFCTR_SAMPLE_MANUAL |
			       DRM_PERFCTR_SAMPLE_FINAL;
	const struct {
		const char *name;
		uint64_t number;
		const char *text;
	} facts[] = {
		{ .name = "seq", .number = sample->seq },
		{ .name = "user_data", .number = sample->user_data },
		{ .name = "merged_periods", .number = sample->merged_periods },
		{ .name = "lost_ns", .number = sample->lost_ns },
		{ .name = "flags", .text = flags },
		{ .name = "not_measured", .text = holes },
	};
	int error;

	_Static_assert(ARRAY_SIZE(facts) == ARRAY_SIZE(notes), "one note for each fact");
	perfctr_flag_text(sample->flags, flags, sizeof(flags));
	unmeasured(e, holes, sizeof(holes));
	if (!*holes && !sample->user_data && !sample->merged_periods && !sample->lost_ns &&
	    !(sample->flags & ~usual))
		return 0;
	for (size_t n = 0; n < ARRAY_SIZE(facts); n++) {
		perfetto__debug_annotation__init(&notes[n]);
		notes[n].name = (char *)(uintptr_t)facts[n].name;
		notes[n].string_value = (char *)(uintptr_t)facts[n].text;
		notes[n].has_uint_value = !facts[n].text;
		notes[n].uint_value = facts[n].number;
		pointers[n] = &notes[n];
	}
	begin.n_debug_annotations = ARRAY_SIZE(notes);
	begin.debug_annotations = pointers;
	begin.name = flags;
	error = write_event(e, trace_time(e, sample->start_ns), &begin,
			    PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track_id(e, ID_SAMPLES));
	if (!error)
		error = write_event(e, trace_time(e, sample->end_ns), &end,
				    PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END,
				    track_id(e, ID_SAMPLES));
	return error;
}

static int perfetto_sample(struct export *e, const struct perfctr_sample *sample)
{
	int error = write_slice(e, sample);

	for (size_t n = 0; !error && n < e->values.count; n++) {
		const struct values_item *item = &e->values.items[n];

		if (e->values.lines[n].is_block && item->is_present)
			error = write_value(e, n,
					    trace_time(e, item->has_span ? item->start_ns :
									   sample->start_ns));
	}
	return error;
}

/* End the last values where the capture ends. */
static int write_last(struct export *e)
{
	const struct perfctr_span *span = perfctr_totals_span(e->file->totals);
	struct perfetto *p = e->state;
	int error = 0;

	for (size_t n = 0; !error && n < p->track_count; n++) {
		if (!p->tracks[n].has_shown)
			continue;
		e->values.items[n] = (struct values_item){ .is_present = true };
		error = write_value(e, n, trace_time(e, span->end_ns));
	}
	return error;
}

static int perfetto_end(struct export *e)
{
	struct perfetto *p = e->state;
	int error = p->tracks ? write_last(e) : 0;

	free(p->bytes);
	free(p->tracks);
	free(p);
	e->state = NULL;
	return error;
}

const struct export_format export_perfetto = {
	"perfetto",
	perfetto_begin,
	perfetto_sample,
	perfetto_end,
};
