// SPDX-License-Identifier: MIT
/* Opens a capture, reads all its samples into totals, and notes damage. */
#include "capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/number.h"
#include "rows.h"

enum { MAX_TEXTS = 1000, MAX_ANCHORS = 1000000 };

static int out_of_memory(const struct app *app)
{
	app_error(app, "out of memory");
	return EXIT_FAILED;
}

static int take_text(struct capture_file *file, const struct perfctr_capture_record *record)
{
	struct capture_text *texts, *text;
	const char *key, *value;

	if (file->text_count == MAX_TEXTS || perfctr_capture_text(record, &key, &value))
		return 0;
	texts = realloc(file->texts, (file->text_count + 1) * sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	file->texts = texts;
	text = &texts[file->text_count++];
	text->key = json_clean_line(key);
	text->value = json_clean_line(value);
	return text->key && text->value ? 0 : -ENOMEM;
}

/*
 * Numbers that no recording has are damage, and are neither shown nor added up. Limits are
 * generous: a sample or a merged period each microsecond and a thousand more, an hour of lost
 * counts, a century since the boot.
 */
enum { LEAST_PERIOD_NS = 1000, MOST_AT_ONCE = 1000, MOST_YEARS = 100, MOST_LOST_S = 3600 };

static bool is_time(uint64_t ns)
{
	return ns < MOST_YEARS * 366ull * 86400 * NS_PER_S;
}

static int take_anchor(struct capture_file *file, const struct perfctr_capture_record *record)
{
	struct perfctr_anchor *anchors, anchor;

	perfctr_capture_copy(record, &anchor, sizeof(anchor));
	if (!is_time(anchor.raw_ns) || !is_time(anchor.monotonic_ns) ||
	    !is_time(anchor.boottime_ns) || !is_time(anchor.realtime_ns)) {
		file->has_bad_numbers = true;
		return 0;
	}
	/* conversion needs ascending times; skip an anchor that is out of order */
	if (file->anchor_count == MAX_ANCHORS || !anchor.raw_ns ||
	    (file->anchor_count && anchor.raw_ns < file->anchors[file->anchor_count - 1].raw_ns))
		return 0;
	if (!(file->anchor_count & (file->anchor_count - 1))) {
		size_t room = file->anchor_count ? 2 * file->anchor_count : 1;

		anchors = realloc(file->anchors, room * sizeof(*anchors));
		if (!anchors)
			return -ENOMEM;
		file->anchors = anchors;
	}
	file->anchors[file->anchor_count++] = anchor;
	return 0;
}

/* @at: of the samples before, updated if the sample is plausible */
static bool is_plausible(const struct perfctr_sample *s, struct capture_position *at)
{
	const uint64_t ns = s->end_ns - s->start_ns;
	bool plausible = is_time(s->start_ns) && is_time(s->end_ns) && s->end_ns >= s->start_ns &&
			 s->merged_periods <= ns / LEAST_PERIOD_NS + MOST_AT_ONCE &&
			 s->lost_ns <= ns + MOST_LOST_S * NS_PER_S;

	/* a flight recorder begins with any number */
	if (at->is_known)
		plausible = plausible && s->seq >= at->next_seq &&
			    s->seq - at->next_seq <=
				    (s->end_ns > at->end_ns ? s->end_ns - at->end_ns : 0) /
						    LEAST_PERIOD_NS +
					    MOST_AT_ONCE;
	if (plausible)
		*at = (struct capture_position){ s->seq + 1, s->end_ns, true };
	return plausible;
}

static bool is_plausible_status(const struct capture_file *file,
				const struct drm_perfctr_status *status)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	const uint64_t ns = span->samples ? span->end_ns - span->start_ns : 0;
	const uint64_t most = ns / LEAST_PERIOD_NS + MOST_LOST_S * (NS_PER_S / LEAST_PERIOD_NS);

	return status->published >= span->samples &&
	       status->published - span->samples <= most + file->at.next_seq;
}

static int take_record(struct capture_file *file, const struct perfctr_capture_record *record)
{
	struct perfctr_sample sample;
	int error;

	switch (record->type) {
	case PERFCTR_CAPTURE_TEXT:
		return take_text(file, record);
	case PERFCTR_CAPTURE_ANCHOR:
		return take_anchor(file, record);
	case PERFCTR_CAPTURE_MARK:
		return marks_add(&file->marks, record);
	case PERFCTR_CAPTURE_SAMPLE:
		if (perfctr_decode_sample(record->content, record->size, &sample) <= 0 ||
		    !is_plausible(&sample, &file->at)) {
			file->bad_samples++;
			return 0;
		}
		error = perfctr_totals_add(file->totals, &sample);
		if (error == -EBADMSG)
			file->bad_samples++;
		return error == -ENOMEM ? error : 0;
	default:
		return 0;
	}
}

/* A pipe can be read only once: copy it to an unnamed file. */
static int spool(const struct app *app)
{
	FILE *file = tmpfile();
	char buffer[65536];
	ssize_t bytes;
	int fd = -1;

	if (!file) {
		app_error(app, "a temporary file: %s", strerror(errno));
		return -1;
	}
	while ((bytes = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, (size_t)bytes, file) != (size_t)bytes)
			break;
	if (bytes < 0)
		app_error(app, "reading standard input: %s", app_reason(errno));
	else if (bytes || fflush(file))
		app_error(app, "a copy of standard input: %s", app_reason(errno));
	else
		fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
	fclose(file);
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static int open_file(const struct app *app, const char *path, struct capture_file *file)
{
	struct stat stat;

	*file = (struct capture_file){ .path = path, .fd = -1 };
	if (!strcmp(path, "-")) {
		file->path = "stdin";
		file->fd = spool(app);
		return file->fd < 0 ? EXIT_FAILED : 0;
	}
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0 || fstat(file->fd, &stat)) {
		app_error(app, "%s: %s%s", path, strerror(errno),
			  errno == ENOENT && !strcmp(path, CAPTURE_DEFAULT_FILE) ?
				  "; perfctr record writes it, or give a FILE" :
				  "");
		return EXIT_FAILED;
	}
	if (S_ISREG(stat.st_mode))
		return 0;
	app_error(app, "%s: this is no file; a pipe is read as standard input, with -", path);
	return EXIT_FAILED;
}

/* What the recorder and the kernel say of the whole, if it is possible. */
static void take_totals(struct capture_file *file)
{
	const struct perfctr_capture_session *session = perfctr_capture_session(file->reader);
	const struct drm_perfctr_status *status = perfctr_capture_status(file->reader);

	file->is_finished = status;
	if (session && is_time(session->period_ns))
		file->session = session;
	if (status && is_plausible_status(file, status))
		file->status = status;
	file->has_bad_numbers |= (session && !file->session) || (status && !file->status);
}

static int read_file(const struct app *app, struct capture_file *file)
{
	struct perfctr_capture_record record;
	int result;

	result = perfctr_totals_new(app->ctx, &file->totals);
	if (!result)
		result = perfctr_capture_reader_new(app->ctx, file->fd, &file->reader);
	if (result) {
		app_error(app, "%s: %s", file->path, perfctr_ctx_error(app->ctx));
		return EXIT_FAILED;
	}
	file->device = perfctr_capture_device(file->reader);
	file->selection = perfctr_capture_selection(file->reader);
	perfctr_totals_describe(file->totals, file->selection);
	while ((result = perfctr_capture_next(file->reader, &record)) > 0) {
		result = take_record(file, &record);
		if (result)
			return out_of_memory(app);
	}
	if (result == -EBADMSG) {
		file->damage = json_clean_line(perfctr_ctx_error(app->ctx));
	} else if (result) {
		app_error(app, "%s: %s", file->path, strerror(-result));
		return EXIT_FAILED;
	}
	/* a flight recorder has forgotten marks of before */
	if (marks_finish(&file->marks,
			 capture_file_text(file, "flight_ns") ?
				 perfctr_totals_span(file->totals)->start_ns :
				 0,
			 perfctr_totals_span(file->totals)->end_ns))
		return out_of_memory(app);
	take_totals(file);
	file->cut_bytes = perfctr_capture_cut_bytes(file->reader);
	file->bytes = (uint64_t)lseek(file->fd, 0, SEEK_END);
	return 0;
}

int capture_file_open(const struct app *app, const char *path, struct capture_file *file)
{
	int status = open_file(app, path, file);

	if (!status)
		status = read_file(app, file);
	if (status)
		capture_file_close(file);
	return status;
}

int capture_file_each(const struct app *app, struct capture_file *file, capture_sample_fn fn,
		      void *data)
{
	struct capture_position at = { .is_known = false };
	struct perfctr_capture_reader *reader;
	struct perfctr_capture_record record;
	struct perfctr_sample sample;
	int result;

	if (lseek(file->fd, 0, SEEK_SET)) {
		app_error(app, "%s: %s", file->path, strerror(errno));
		return EXIT_FAILED;
	}
	result = perfctr_capture_reader_new(app->ctx, file->fd, &reader);
	if (result)
		return app_failed(app, result);
	while ((result = perfctr_capture_next(reader, &record)) > 0) {
		if (record.type != PERFCTR_CAPTURE_SAMPLE ||
		    perfctr_decode_sample(record.content, record.size, &sample) <= 0 ||
		    !is_plausible(&sample, &at))
			continue;
		result = fn(data, &sample);
		if (result)
			break;
	}
	perfctr_capture_reader_unref(reader);
	/* damage ends the samples; it was reported when the file was opened */
	if (!result || result == -EBADMSG)
		return 0;
	if (result == -ENOMEM)
		return out_of_memory(app);
	app_error(app, "%s: %s", file->path, strerror(-result));
	return EXIT_FAILED;
}

void capture_file_close(struct capture_file *file)
{
	perfctr_totals_unref(file->totals);
	perfctr_capture_reader_unref(file->reader);
	for (size_t n = 0; n < file->text_count; n++) {
		free(file->texts[n].key);
		free(file->texts[n].value);
	}
	free(file->texts);
	marks_free(&file->marks);
	free(file->anchors);
	free(file->damage);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct capture_file){ .fd = -1 };
}

const char *capture_file_text(const struct capture_file *file, const char *key)
{
	for (size_t n = 0; n < file->text_count; n++)
		if (!strcmp(file->texts[n].key, key))
			return file->texts[n].value;
	return NULL;
}

/* CLOCK_MONOTONIC stops in suspend, CLOCK_BOOTTIME does not. */
static bool suspended(const struct perfctr_anchor *from, const struct perfctr_anchor *to)
{
	return to->boottime_ns - to->monotonic_ns >
	       from->boottime_ns - from->monotonic_ns + NS_PER_MS;
}

bool capture_file_time(const struct capture_file *file, uint64_t raw_ns, int clock, uint64_t *ns)
{
	const struct perfctr_anchor *from, *to;
	size_t last = 0;

	if (!file->anchor_count)
		return false;
	/* the first anchor that is not before, or the last one */
	for (size_t end = file->anchor_count - 1; last < end;) {
		const size_t middle = (last + end) / 2;

		if (file->anchors[middle].raw_ns < raw_ns)
			last = middle + 1;
		else
			end = middle;
	}
	to = &file->anchors[last];
	from = &file->anchors[last ? last - 1 : 0];
	/* the clock leapt at an unknown instant: not a rate that one may interpolate with */
	if (raw_ns < to->raw_ns && suspended(from, to))
		to = from;
	return !perfctr_time_convert(from, to, raw_ns, clock, ns);
}

uint64_t capture_file_absent(const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);

	if (!file->status || file->status->published < span->samples)
		return 0;
	return file->status->published - span->samples;
}

void capture_file_warn(const struct app *app, const struct capture_file *file)
{
	if (file->damage)
		app_error(app, "%s: %s; shown is what comes before", file->path, file->damage);
	if (file->cut_bytes && !file->damage)
		app_error(app,
			  "%s: cut off in the middle of a record (%" PRIu64 " byte%s left out)",
			  file->path, file->cut_bytes, plural(file->cut_bytes));
	else if (!file->is_finished && !file->damage &&
		 !(perfctr_totals_span(file->totals)->flags & DRM_PERFCTR_SAMPLE_UNPLUGGED))
		app_error(app, "%s: recording was not finished, the end is missing", file->path);
	if (file->bad_samples)
		app_error(app, "%s: %" PRIu64 " record%s left out", file->path, file->bad_samples,
			  file->bad_samples == 1 ? " is no sample and was" :
						   "s are no samples and were");
	if (file->has_bad_numbers)
		app_error(app, "%s: damaged: numbers that no recording has were left out",
			  file->path);
	if (file->marks.lost)
		app_error(app, "%s: at least %" PRIu64 " mark%s lost or left out", file->path,
			  file->marks.lost, file->marks.lost == 1 ? " was" : "s were");
	if (capture_file_text(file, "marks_damaged"))
		app_error(app, "%s: %s", file->path, capture_file_text(file, "marks_damaged"));
}

int capture_file_exit_status(const struct capture_file *file)
{
	return file->damage || file->bad_samples || file->has_bad_numbers ? EXIT_FAILED : EXIT_FINE;
}

struct json_object *capture_file_json(const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	struct json_object *o = json_object_new_object(), *device = json_object_new_object();
	struct json_object *texts = json_object_new_object();
	uint64_t ns = 0;
	bool known;

	json_add_text(o, "file", file->path);
	json_add_u64(o, "bytes", file->bytes);
	json_add_text(device, "name", perfctr_device_info(file->device)->name);
	json_add_text(device, "driver", perfctr_device_driver(file->device));
	json_add_text(device, "path", perfctr_device_path(file->device));
	json_add(o, "device", device);
	for (size_t n = 0; n < file->text_count; n++)
		json_add_text(texts, file->texts[n].key, file->texts[n].value);
	json_add(o, "texts", texts);
	json_add_known(o, "period_ns", file->session, file->session ? file->session->period_ns : 0);
	known = span->samples && capture_file_time(file, span->start_ns, CLOCK_REALTIME, &ns);
	json_add_known(o, "start_realtime_ns", known, ns);
	json_add_bool(o, "finished", file->is_finished);
	json_add_u64(o, "cut_bytes", file->cut_bytes);
	json_add_text(o, "damage", file->damage);
	json_add_u64(o, "bad_samples", file->bad_samples);
	json_add_bool(o, "bad_numbers", file->has_bad_numbers);
	json_add_u64(o, "samples_not_in_file", capture_file_absent(file));
	json_add_u64(o, "marks_lost", file->marks.lost);
	json_add_u64(o, "marks_unmatched", file->marks.unmatched);
	rows_json_add_span(o, span);
	return o;
}
