// SPDX-License-Identifier: MIT
/* The last line of perfctr record: what the file contains. */
#include <inttypes.h>

#include "common/number.h"
#include "lib/json.h"
#include "lib/rows.h"
#include "record.h"

char *record_bytes_text(uint64_t bytes, char *text, size_t size)
{
	char number[32];

	snprintf(text, size, "%sB", number_short((double)bytes, number, sizeof(number)));
	return text;
}

struct drm_perfctr_status record_status(const struct record *r)
{
	const struct counting *c = &r->options.counting;
	struct drm_perfctr_status sum = { 0 };

	for (const struct counted *d = c->counted; d < c->counted + c->count; d++) {
		sum.merged_periods += d->has_status ? d->status.merged_periods : 0;
		sum.lost_ns += d->has_status ? d->status.lost_ns : 0;
		/* of one that is gone, what it gave */
		sum.published += d->has_status ? d->status.published : d->taken;
	}
	return sum;
}

uint64_t record_taken(const struct record *r)
{
	const struct counting *c = &r->options.counting;
	uint64_t taken = 0;

	for (size_t n = 0; n < c->count; n++)
		taken += c->counted[n].taken;
	return taken;
}

uint64_t record_lost_samples(const struct record *r)
{
	if (r->options.flight_ns)
		return r->flight.count - r->written.samples;
	/* after a failed write, more remain in the ring */
	return record_status(r).published - r->written.samples;
}

uint64_t record_lost_marks(const struct record *r)
{
	return r->marks.lost + r->marks.count - r->written.marks;
}

static void print_lost_samples(const struct record *r)
{
	const uint64_t lost = record_lost_samples(r);

	fprintf(r->app->err, "; %" PRIu64 " sample%s NOT in the file", lost,
		lost == 1 ? " is" : "s are");
}

/* What the kernel says of a device's samples. */
static void print_status(const struct counted *d, FILE *err)
{
	const struct drm_perfctr_status *st = &d->status;
	char merged[32];

	if (!d->has_status) {
		fputs("the device is gone, its totals with it", err);
		return;
	}
	if (st->merged_periods)
		fprintf(err, "%s period%s merged into longer samples, ",
			number_group(st->merged_periods, merged, sizeof(merged)),
			st->merged_periods == 1 ? "" : "s");
	else
		fputs("nothing merged, ", err);
	if (st->lost_ns)
		fprintf(err, "counts of up to %.6f s LOST %s", (double)st->lost_ns * 1e-9,
			device_is_local(d->device) ? "between two readings" : "by the hardware");
	else
		fputs("no counts lost", err);
	if (st->errors || st->overflows || st->resets)
		fprintf(err,
			"; samples with errors %" PRIu64 ", overflows %" PRIu64 ", resets %" PRIu64,
			(uint64_t)st->errors, (uint64_t)st->overflows, (uint64_t)st->resets);
	/* the last totals may have been read before */
	if (d->is_gone)
		fputs("; the device is gone", err);
}

void record_print_end(const struct record *r, bool whole)
{
	const uint64_t published = record_status(r).published;
	const struct counting *c = &r->options.counting;
	const bool switches = r->switching.name[0];
	const char *suffix;
	const int stem = record_stem(c->output, &suffix);
	double seconds = (double)(r->end_ns - r->begin_ns) * 1e-9;
	char samples[32], size[40];
	FILE *err = r->app->err;

	fprintf(err, "perfctr record: %.*s%s%s: ", stem, c->output, switches ? ".*" : "",
		switches ? suffix : c->output + stem);
	if (switches)
		fprintf(err, "%" PRIu64 " file%s, %" PRIu64 " removed, ", r->switching.files,
			plural(r->switching.files), r->switching.removed);
	fprintf(err, "%s sample%s, %s, %.3f s",
		number_group(r->written.samples, samples, sizeof(samples)),
		r->written.samples == 1 ? "" : "s",
		record_bytes_text(r->written.bytes, size, sizeof(size)), seconds);
	for (size_t n = 0; n < c->count; n++) {
		fputs("; ", err);
		if (c->count > 1)
			fprintf(err, "%s: ", c->counted[n].name);
		print_status(&c->counted[n], err);
	}
	if (r->options.flight_ns)
		fprintf(err, "; the last %.3f s of %s sample%s",
			(double)r->options.flight_ns * 1e-9,
			number_group(published, samples, sizeof(samples)),
			published == 1 ? "" : "s");
	if (record_lost_samples(r))
		print_lost_samples(r);
	if (r->flight_was_cut)
		fprintf(err, "; %d MiB of memory were not enough for all of it",
			RECORD_FLIGHT_LIMIT_MIB);
	if (r->marks.count || r->marks.lost || record_marks_trouble(r))
		fprintf(err, "; %" PRIu64 " mark%s", r->written.marks, plural(r->written.marks));
	if (record_lost_marks(r))
		fprintf(err, ", at least %" PRIu64 " LOST", record_lost_marks(r));
	if (record_marks_trouble(r))
		fprintf(err, ", %s", record_marks_trouble(r));
	if (r->switching.part[0])
		fprintf(err, "; %s is not complete", r->switching.part);
	if (!whole)
		fputs("; recording ended early", err);
	fputc('\n', err);
}

/* The totals of the device, or of each one. */
static void add_status(const struct counting *c, struct json_object *root)
{
	struct json_object *devices = json_object_new_array();

	for (size_t n = 0; n < c->count; n++) {
		const struct counted *d = &c->counted[n];
		struct json_object *o = json_append(devices);

		json_add_text(o, "node", d->name);
		json_add_bool(o, "gone", d->is_gone);
		json_add(o, "kernel", d->has_status ? rows_json_status(&d->status) : NULL);
	}
	json_add(root, "devices", devices);
	json_add(root, "kernel",
		 c->count == 1 && c->counted[0].has_status ?
			 rows_json_status(&c->counted[0].status) :
			 NULL);
}

void record_print_json(const struct record *r, int exit_status, bool whole)
{
	struct json_object *root = json_object_new_object();

	json_add_u64(root, "version", 1);
	json_add_text(root, "file", r->options.counting.output);
	if (r->switching.name[0]) {
		json_add_u64(root, "files", r->switching.files);
		json_add_u64(root, "files_removed", r->switching.removed);
		json_add_text(root, "file_not_complete",
			      r->switching.part[0] ? r->switching.part : NULL);
	}
	json_add_u64(root, "bytes", r->written.bytes);
	json_add_u64(root, "samples", r->written.samples);
	json_add_u64(root, "samples_not_in_file", record_lost_samples(r));
	json_add_text(root, "excludes", counting_excludes(&r->options.counting));
	json_add_u64(root, "duration_ns", r->end_ns - r->begin_ns);
	json_add_u64(root, "period_ns", r->options.counting.period_ns);
	json_add_bool(root, "whole", whole);
	json_add_u64(root, "flight_dumps", r->dumps);
	json_add_u64(root, "flight_dumps_failed", r->failed_dumps);
	json_add_u64(root, "marks", r->written.marks);
	json_add_u64(root, "marks_lost", record_lost_marks(r));
	json_add_bool(root, "marks_damaged", record_marks_trouble(r) != NULL);
	add_status(&r->options.counting, root);
	json_add_text(root, "ended_by", r->ended_by ? sigabbrev_np(r->ended_by) : NULL);
	json_add(root, "exit_status", json_object_new_int(exit_status));
	json_write(r->app->out, root, true);
}
