// SPDX-License-Identifier: MIT
/*
 * A capture as a Perfetto trace.
 *
 * Counters of a GPU are those of perfetto_gpu.c. For all else there is a track for the capture,
 * below it one for the samples, and one for each block of another PMU with a counter track for each
 * of its counters and metrics. Times are in CLOCK_BOOTTIME, the clock of Perfetto's
 * own traces, so that both can be concatenated. The value of a sample is written at the sample's
 * start: a counter track keeps a value until the next one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/table.h"
#include "perfetto.h"

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
	ORDER_EXPLICIT = 3,
};

/* --- the capture ------------------------------------------------------------ */

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
	return perfetto_write(e, &packet);
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
	return perfetto_write(e, &packet);
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
	return perfetto_write(e, &packet);
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

/* what is looked for among the lines of blocks */
struct key {
	const struct values *of;
	const char *label;
};

static bool is_label(const void *data, size_t number)
{
	const struct key *key = data;

	return !strcmp(key->of->lines[number].row->label, key->label);
}

/* Find the first line of each label. */
static int find_first_lines(struct export *e)
{
	struct track *tracks = ((struct perfetto *)e->state)->tracks;
	struct table table = { 0 };
	int error = 0;

	for (size_t n = 0; !error && n < e->values.count; n++) {
		const struct key key = { &e->values, e->values.lines[n].row->label };

		if (e->values.lines[n].is_block)
			error = table_add(&table, table_hash(TABLE_HASH, key.label), is_label, &key,
					  n, &tracks[n].first);
	}
	table_free(&table);
	return error;
}

/* UUID of the track of a block, made with the first of its counters. */
static int block_track(struct export *e, size_t line, uint64_t *uuid)
{
	const size_t first = ((struct perfetto *)e->state)->tracks[line].first;

	*uuid = perfetto_id(e, ID_FIRST + first);
	return first < line ?
		       0 :
		       write_group(e, *uuid, perfetto_id(e, ID_CAPTURE),
				   e->values.lines[line].row->label, NULL, (int32_t)line + 1);
}

static int write_counter_track(struct export *e, size_t line)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	struct perfetto *p = e->state;
	const struct row *row = e->values.lines[line].row;
	bool is_rate = e->values.lines[line].is_rate && !e->counts;
	char unit[2 * ROW_UNIT_BYTES];
	uint64_t parent;
	int error = block_track(e, line, &parent);

	if (error)
		return error;
	p->tracks[line].uuid = perfetto_id(e, ID_FIRST + e->values.count + line);
	counter.unit_name = perfetto_unit(e, line, unit, sizeof(unit), &p->tracks[line].scale);
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
	int error;

	error = write_group(e, perfetto_id(e, ID_CAPTURE), 0, capture_file_name(e->file),
			    capture_file_text(e->file, "command"), -1);
	if (!error)
		error = write_group(e, perfetto_id(e, ID_SAMPLES), perfetto_id(e, ID_CAPTURE),
				    "samples", "what is to be known about samples", 0);
	/* marks are of all sessions */
	for (int n = 0; !error && !e->file->number && n < e->file->marks.lanes; n++)
		error = write_group(e, perfetto_id(e, ID_MARKS + (uint64_t)n),
				    perfetto_id(e, ID_CAPTURE), "marks",
				    "what the recorded program marked", 0);
	for (size_t n = 0; !error && n < e->values.count; n++)
		/* a metric of the whole device has no block: use its line of sums */
		if (e->values.lines[n].is_block && !((struct perfetto *)e->state)->tracks[n].is_gpu)
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
	p->identity = perfetto_identify(e);
	p->tracks = calloc(e->values.count + 1, sizeof(*p->tracks));
	p->track_count = e->values.count;
	error = p->tracks ? write_first(e) : -ENOMEM;
	for (size_t n = 0; !error && n < e->file->anchor_count; n++)
		error = write_anchor(e, &e->file->anchors[n]);
	if (!error)
		error = find_first_lines(e);
	if (!error)
		error = perfetto_gpu_begin(e);
	if (!error)
		error = write_tracks(e);
	if (!error)
		error = write_marks(e);
	if (error)
		perfetto_end(e);
	return error;
}

/* --- samples ----------------------------------------------------------------- */

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
	return perfetto_write(e, &packet);
}

static int write_marks(struct export *e)
{
	int error = 0;

	for (size_t n = 0; !error && !e->file->number && n < e->file->marks.count; n++) {
		const struct mark *m = &e->file->marks.all[n];
		const bool is_point = m->kind == PERFCTR_MARK_POINT;
		const uint64_t track = perfetto_id(e, ID_MARKS + (uint64_t)m->lane);
		Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

		if (m->lane < 0)
			continue;
		event.name = m->name;
		error = write_event(e, perfetto_time(e, m->start_ns), &event,
				    is_point ? PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT :
					       PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
				    track);
		event.name = NULL;
		if (!error && !is_point)
			error = write_event(e, perfetto_time(e, m->end_ns), &event,
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
	error = write_event(e, perfetto_time(e, sample->start_ns), &begin,
			    PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
			    perfetto_id(e, ID_SAMPLES));
	if (!error)
		error = write_event(e, perfetto_time(e, sample->end_ns), &end,
				    PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END,
				    perfetto_id(e, ID_SAMPLES));
	return error;
}

static int perfetto_sample(struct export *e, const struct perfctr_sample *sample)
{
	int error = write_slice(e, sample);

	if (!error)
		perfetto_gpu_sample(e, sample);
	for (size_t n = 0; !error && n < e->values.count; n++) {
		const struct values_item *item = &e->values.items[n];

		if (e->values.lines[n].is_block && item->is_present &&
		    !((struct perfetto *)e->state)->tracks[n].is_gpu)
			error = write_value(e, n,
					    perfetto_time(e, item->has_span ? item->start_ns :
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
		error = write_value(e, n, perfetto_time(e, span->end_ns));
	}
	return error;
}

static int perfetto_end(struct export *e)
{
	struct perfetto *p = e->state;
	int error = p->tracks ? write_last(e) : 0;

	perfetto_gpu_end(e);
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
