// SPDX-License-Identifier: MIT
/* Opens a capture, reads all its samples into totals, and notes damage. */
#include "capture_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/number.h"
#include "common/unpack.h"
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

static int take_anchor(struct capture_file *file, const struct perfctr_capture_record *record)
{
	struct perfctr_anchor *anchors, anchor;

	if (perfctr_capture_anchor(file->reader, record, &anchor) ||
	    file->anchor_count == MAX_ANCHORS)
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

static int take_record(struct capture_file *file, const struct perfctr_capture_record *record)
{
	struct perfctr_sample sample;
	int error;

	switch (record->type) {
	case PERFCTR_CAPTURE_TEXT:
		error = take_text(file, record);
		return error ? error : perfctr_marks_add(file->raw_marks, record);
	case PERFCTR_CAPTURE_ANCHOR:
		return take_anchor(file, record);
	case PERFCTR_CAPTURE_MARK:
		return perfctr_marks_add(file->raw_marks, record);
	case PERFCTR_CAPTURE_SAMPLE:
		if (perfctr_capture_sample(file->reader, record, &sample)) {
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

/* Go on with what is in a compressed file. Return: 0 or an exit status, the message was printed. */
static int unpack_file(const struct app *app, struct capture_file *file)
{
	struct unpacked u = { .is_quiet = false };

	if (unpack(&file->fd, &u)) {
		app_error(app, "%s: %s", file->path, u.error);
		return EXIT_FAILED;
	}
	file->damage = u.damage ? json_clean_line(u.damage) : NULL;
	file->cut_bytes = u.cut_bytes;
	file->cut_is_packed = u.cut_bytes;
	return 0;
}

static int open_file(const struct app *app, const char *path, struct capture_file *file)
{
	struct stat stat;

	*file = (struct capture_file){ .path = path, .fd = -1 };
	if (!strcmp(path, "-")) {
		file->path = "stdin";
		file->fd = spool(app);
		return file->fd < 0 ? EXIT_FAILED : unpack_file(app, file);
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
		return unpack_file(app, file);
	app_error(app, "%s: this is no file; a pipe is read as standard input, with -", path);
	return EXIT_FAILED;
}

/* What the recorder and the kernel say of the whole, if it is possible. */
static void take_totals(struct capture_file *file)
{
	const struct perfctr_capture_session *session = perfctr_capture_session(file->reader);
	const struct drm_perfctr_status *status = perfctr_capture_status(file->reader);
	const uint32_t bad = perfctr_capture_bad_numbers(file->reader);

	file->is_finished = status;
	file->has_session = session && !(bad & PERFCTR_CAPTURE_BAD_SESSION);
	file->period_ns = file->has_session ? session->period_ns : 0;
	file->has_status = status && !(bad & PERFCTR_CAPTURE_BAD_STATUS);
	file->published = file->has_status ? status->published : 0;
	file->has_bad_numbers = bad;
}

/* The cgroup that a session counts, or NULL. */
static const char *cgroup_of(const struct capture_file *file)
{
	char key[sizeof(CAPTURE_KEY_CGROUP) + 10];

	snprintf(key, sizeof(key), CAPTURE_KEY_CGROUP "%u", file->number);
	return capture_file_text(file, key);
}

/* The cgroup that was counted, else as device_node(); the device may be of another machine. */
static char *make_node(const struct capture_file *file)
{
	const char *path = perfctr_device_path(file->device), *slash = strrchr(path, '/');
	const bool is_local = !strcmp(perfctr_device_driver(file->device), PERFCTR_DEVICE_LOCAL);
	const char *name = slash ? slash + 1 : path;
	char *node;

	if (file->name)
		return strdup(cgroup_of(file));
	if (!*name && !is_local)
		return asprintf(&node, "device%u", file->number) < 0 ? NULL : node;
	node = strdup(is_local ? PERFCTR_DEVICE_LOCAL : name);
	/* a damaged file may have any bytes */
	for (char *c = node; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '?';
	return node;
}

static bool is_taken(const struct capture *capture, const char *node, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (!strcmp(capture->files[n].node, node))
			return true;
	return false;
}

/* Name each of several sessions; those of one name are "local", "local.1", ... */
static int name_nodes(const struct app *app, struct capture *capture)
{
	for (size_t n = 0; n < capture->count; n++) {
		const char *cgroup = cgroup_of(&capture->files[n]);
		char *name = NULL, *node, *first;

		if (cgroup && *cgroup && asprintf(&name, "cgroup %s", cgroup) < 0)
			return out_of_memory(app);
		capture->files[n].name = name;
		if (capture->count < 2)
			return 0;
		node = first = make_node(&capture->files[n]);
		for (unsigned int i = 1; node && is_taken(capture, node, n); i++) {
			if (node != first)
				free(node);
			if (asprintf(&node, "%s.%u", first, i) < 0)
				node = NULL;
		}
		if (node != first)
			free(first);
		if (!node)
			return out_of_memory(app);
		capture->files[n].node = node;
	}
	return 0;
}

static int read_file(const struct app *app, struct capture_file *file)
{
	struct perfctr_capture_record record;
	int result;

	result = perfctr_totals_new(app->ctx, &file->totals);
	if (!result)
		result = perfctr_marks_new(app->ctx, &file->raw_marks);
	if (!result)
		result = perfctr_capture_reader_new(app->ctx, file->fd, &file->reader);
	if (!result)
		result = perfctr_capture_reader_select(file->reader, file->number);
	if (result) {
		app_error(app, "%s: %s", file->path, perfctr_ctx_error(app->ctx));
		return EXIT_FAILED;
	}
	file->device = perfctr_device_ref(perfctr_capture_device(file->reader));
	file->selection = perfctr_selection_ref(perfctr_capture_selection(file->reader));
	perfctr_totals_describe(file->totals, file->selection);
	while ((result = perfctr_capture_next(file->reader, &record)) > 0) {
		result = take_record(file, &record);
		if (result)
			return out_of_memory(app);
	}
	if (result == -EBADMSG) {
		free(file->damage);
		file->damage = json_clean_line(perfctr_ctx_error(app->ctx));
	} else if (result) {
		app_error(app, "%s: %s", file->path, strerror(-result));
		return EXIT_FAILED;
	}
	if (marks_take(&file->marks, file->raw_marks, file->reader))
		return out_of_memory(app);
	file->raw_marks = perfctr_marks_unref(file->raw_marks);
	take_totals(file);
	if (!file->cut_is_packed)
		file->cut_bytes = perfctr_capture_cut_bytes(file->reader);
	file->session_count = perfctr_capture_session_count(file->reader);
	file->bytes = (uint64_t)lseek(file->fd, 0, SEEK_END);
	return 0;
}

static void close_file(struct capture_file *file)
{
	perfctr_totals_unref(file->totals);
	perfctr_selection_unref(file->selection);
	perfctr_device_unref(file->device);
	perfctr_capture_reader_unref(file->reader);
	for (size_t n = 0; n < file->text_count; n++) {
		free(file->texts[n].key);
		free(file->texts[n].value);
	}
	free(file->texts);
	perfctr_marks_unref(file->raw_marks);
	marks_free(&file->marks);
	free(file->anchors);
	free(file->damage);
	free(file->node);
	free(file->name);
	if (file->fd >= 0)
		close(file->fd);
}

/* Open the same file once more: each session is read at a place of its own. */
static int open_again(const struct app *app, const struct capture_file *first,
		      struct capture_file *file)
{
	char path[64];

	*file = (struct capture_file){ .path = first->path };
	/* also of standard input, which has no name */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", first->fd);
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd >= 0)
		return 0;
	app_error(app, "%s: %s", first->path, strerror(errno));
	return EXIT_FAILED;
}

static void warn(const struct app *app, const struct capture_file *file);

int capture_open(const struct app *app, const char *path, struct capture *capture)
{
	unsigned int count = 1;
	int status = 0;

	*capture = (struct capture){ 0 };
	for (unsigned int n = 0; !status && n < count; n++) {
		struct capture_file *files, *file;

		files = realloc(capture->files, (n + 1) * sizeof(*files));
		if (!files)
			return out_of_memory(app);
		capture->files = files;
		file = &files[n];
		status = n ? open_again(app, &files[0], file) : open_file(app, path, file);
		capture->count++;
		file->number = n;
		status = status ? status : read_file(app, file);
		count = n ? count : file->session_count;
	}
	status = status ? status : name_nodes(app, capture);
	for (size_t n = 0; !status && n < capture->count; n++)
		warn(app, &capture->files[n]);
	return status;
}

void capture_close(struct capture *capture)
{
	for (size_t n = 0; n < capture->count; n++)
		close_file(&capture->files[n]);
	free(capture->files);
	*capture = (struct capture){ 0 };
}

int capture_file_drop_blocks(struct capture_file *file)
{
	struct perfctr_totals *sum;
	int error = perfctr_totals_sum(file->totals, &sum);

	if (error)
		return error;
	perfctr_totals_unref(file->totals);
	file->totals = sum;
	return 0;
}

/* a session that is read once more, up to its next sample */
struct walker {
	struct perfctr_capture_reader *reader;
	struct perfctr_sample sample;
	int result; /* 1: there is a sample; 0: it has ended; a negative errno */
};

static void find_next(struct walker *w)
{
	struct perfctr_capture_record record;

	while ((w->result = perfctr_capture_next(w->reader, &record)) > 0)
		if (record.type == PERFCTR_CAPTURE_SAMPLE &&
		    !perfctr_capture_sample(w->reader, &record, &w->sample))
			return;
	/* damage ends the samples; it was reported when the file was opened */
	w->result = w->result == -EBADMSG ? 0 : w->result;
}

static int begin_walk(const struct app *app, struct capture_file *file, struct walker *w)
{
	int result = lseek(file->fd, 0, SEEK_SET) ? -errno : 0;

	/* all of it was read, and each reader has memory for the largest record */
	file->reader = perfctr_capture_reader_unref(file->reader);
	if (!result)
		result = perfctr_capture_reader_new(app->ctx, file->fd, &w->reader);
	if (!result)
		result = perfctr_capture_reader_select(w->reader, file->number);
	if (!result)
		find_next(w);
	return result ? result : w->result;
}

static int walk(const struct app *app, struct capture_file *files, size_t count,
		capture_sample_fn fn, void *data)
{
	struct walker *walkers = calloc(count, sizeof(*walkers)), *first;
	int result = walkers ? 0 : -ENOMEM;

	for (size_t n = 0; result >= 0 && n < count; n++)
		result = begin_walk(app, &files[n], &walkers[n]);
	for (first = walkers; result >= 0 && first;) {
		first = NULL;
		for (struct walker *w = walkers; w < walkers + count; w++)
			if (w->result > 0 && (!first || w->sample.end_ns < first->sample.end_ns))
				first = w;
		if (!first)
			break;
		result = fn(data, &files[first - walkers], &first->sample);
		if (result < 0)
			break;
		find_next(first);
		result = first->result;
	}
	for (size_t n = 0; walkers && n < count; n++)
		perfctr_capture_reader_unref(walkers[n].reader);
	free(walkers);
	if (result >= 0)
		return 0;
	if (result == -ENOMEM)
		return out_of_memory(app);
	app_error(app, "%s: %s", files->path, strerror(-result));
	return EXIT_FAILED;
}

int capture_each(const struct app *app, struct capture *capture, capture_sample_fn fn, void *data)
{
	return walk(app, capture->files, capture->count, fn, data);
}

int capture_file_each(const struct app *app, struct capture_file *file, capture_sample_fn fn,
		      void *data)
{
	return walk(app, file, 1, fn, data);
}

const char *capture_file_text(const struct capture_file *file, const char *key)
{
	for (size_t n = 0; n < file->text_count; n++)
		if (!strcmp(file->texts[n].key, key))
			return file->texts[n].value;
	return NULL;
}

bool capture_file_time(const struct capture_file *file, uint64_t raw_ns, int clock, uint64_t *ns)
{
	return !perfctr_time_of_anchors(file->anchors, file->anchor_count, raw_ns, clock, ns);
}

uint64_t capture_file_absent(const struct capture_file *file)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);

	if (!file->has_status || file->published < span->samples)
		return 0;
	return file->published - span->samples;
}

/* Print what is wrong with a session; what is wrong with the file only once. */
static void warn(const struct app *app, const struct capture_file *file)
{
	const bool is_first = !file->number;
	const char *node = file->node ? file->node : "", *colon = file->node ? ": " : "";

	if (file->damage && is_first)
		app_error(app, "%s: %s; shown is what comes before", file->path, file->damage);
	if (file->cut_bytes && !file->damage && is_first)
		app_error(app, "%s: cut off in the middle of a %s (%" PRIu64 " byte%s left out)",
			  file->path, file->cut_is_packed ? "frame of zstd" : "record",
			  file->cut_bytes, plural(file->cut_bytes));
	else if (!file->cut_bytes && !file->is_finished && !file->damage &&
		 !(perfctr_totals_span(file->totals)->flags & DRM_PERFCTR_SAMPLE_UNPLUGGED))
		app_error(app, "%s%s%s: recording was not finished, the end is missing", file->path,
			  colon, node);
	if (file->bad_samples)
		app_error(app, "%s%s%s: %" PRIu64 " record%s left out", file->path, colon, node,
			  file->bad_samples,
			  file->bad_samples == 1 ? " is no sample and was" :
						   "s are no samples and were");
	if (file->has_bad_numbers)
		app_error(app, "%s%s%s: damaged: numbers that no recording has were left out",
			  file->path, colon, node);
	if (!is_first)
		return;
	if (file->marks.lost)
		app_error(app, "%s: at least %" PRIu64 " mark%s lost or left out", file->path,
			  file->marks.lost, file->marks.lost == 1 ? " was" : "s were");
	if (capture_file_text(file, "marks_damaged"))
		app_error(app, "%s: %s", file->path, capture_file_text(file, "marks_damaged"));
}

int capture_exit_status(const struct capture *capture)
{
	bool bad = false;

	for (const struct capture_file *file = capture->files;
	     file < capture->files + capture->count; file++)
		bad |= file->damage || file->bad_samples || file->has_bad_numbers;
	return bad ? EXIT_FAILED : EXIT_FINE;
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
	json_add_text(device, "name", capture_file_name(file));
	json_add_text(device, "driver", perfctr_device_driver(file->device));
	json_add_text(device, "path", perfctr_device_path(file->device));
	if (capture_file_device(file))
		json_add_text(device, "node", capture_file_device(file));
	json_add(o, "device", device);
	for (size_t n = 0; n < file->text_count; n++)
		json_add_text(texts, file->texts[n].key, file->texts[n].value);
	json_add(o, "texts", texts);
	json_add_known(o, "period_ns", file->has_session, file->period_ns);
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
