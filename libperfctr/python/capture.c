// SPDX-License-Identifier: MIT
/* Reads capture files, without Python's lock. */
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TEXTS = 1000, MOST_MARKS = 1000000, MOST_ANCHORS = 1000000 };

/* a copy of a record's content */
struct copy {
	void *bytes;
	size_t size;
};

struct copies {
	struct copy *all;
	size_t count, room, most;
};

struct reading {
	struct perfctr_ctx *ctx;
	struct perfctr_capture_reader *reader;
	struct perfctr_totals *totals; /* or */
	struct store *store;
	struct copies texts, marks, anchors;
	uint64_t bad_samples;
	int damage; /* error that ended the reading */
	uint64_t bytes; /* of the file */
	int fd;
};

static int keep(struct copies *to, const struct perfctr_capture_record *record)
{
	struct copy *copy;

	if (to->count == to->most)
		return 0;
	if (to->count == to->room) {
		const size_t room = to->room ? 2 * to->room : 16;
		struct copy *all = realloc(to->all, room * sizeof(*all));

		if (!all)
			return -ENOMEM;
		to->all = all;
		to->room = room;
	}
	copy = &to->all[to->count];
	copy->size = record->size;
	copy->bytes = malloc(record->size + 1);
	if (!copy->bytes)
		return -ENOMEM;
	memcpy(copy->bytes, record->content, record->size);
	to->count++;
	return 0;
}

static void drop(struct copies *copies)
{
	for (size_t n = 0; n < copies->count; n++)
		free(copies->all[n].bytes);
	free(copies->all);
}

static struct perfctr_capture_record record_of(const struct copy *copy)
{
	return (struct perfctr_capture_record){ .content = copy->bytes, .size = copy->size };
}

/* As many rows as the file can have, if all samples are as the first. */
static size_t rows_hint(const struct reading *r, const struct perfctr_capture_record *record)
{
	return record->size ? (size_t)(r->bytes / record->size) + 1 : 0;
}

static int take_sample(struct reading *r, const struct perfctr_capture_record *record)
{
	struct perfctr_sample sample;
	int error;

	if (perfctr_decode_sample(record->content, record->size, &sample) <= 0) {
		r->bad_samples++;
		return 0;
	}
	if (!r->totals && !r->store) {
		r->store = store_new(r->ctx, perfctr_capture_selection(r->reader),
				     rows_hint(r, record));
		if (!r->store)
			return -ENOMEM;
	}
	error = r->store ? store_add(r->store, &sample) : perfctr_totals_add(r->totals, &sample);
	r->bad_samples += error == -EBADMSG;
	return error == -EBADMSG ? 0 : error;
}

static int take_record(struct reading *r, const struct perfctr_capture_record *record)
{
	switch (record->type) {
	case PERFCTR_CAPTURE_TEXT:
		return keep(&r->texts, record);
	case PERFCTR_CAPTURE_MARK:
		return keep(&r->marks, record);
	case PERFCTR_CAPTURE_ANCHOR:
		return keep(&r->anchors, record);
	case PERFCTR_CAPTURE_SAMPLE:
		return take_sample(r, record);
	default:
		return 0;
	}
}

static int read_records(struct reading *r)
{
	struct perfctr_capture_record record;
	int result;

	while ((result = perfctr_capture_next(r->reader, &record)) > 0) {
		result = take_record(r, &record);
		if (result)
			return result;
	}
	r->damage = result == -EBADMSG ? result : 0;
	return r->damage ? 0 : result;
}

/* --- time ------------------------------------------------------------------------ */

static struct perfctr_anchor anchor_at(const struct reading *r, size_t n)
{
	const struct perfctr_capture_record record = record_of(&r->anchors.all[n]);
	struct perfctr_anchor anchor;

	perfctr_capture_copy(&record, &anchor, sizeof(anchor));
	return anchor;
}

/* CLOCK_MONOTONIC stops in suspend, CLOCK_BOOTTIME does not. */
static bool suspended(const struct perfctr_anchor *from, const struct perfctr_anchor *to)
{
	return to->boottime_ns - to->monotonic_ns >
	       from->boottime_ns - from->monotonic_ns + 1000000;
}

/* The time of day of each sample's end: samples and anchors come in the order of time. */
static int add_realtime(struct reading *r)
{
	const struct column *ends = NULL;
	uint64_t *times, ns;
	size_t n = 0;

	if (!r->anchors.count)
		return 0;
	times = store_add_plain(r->store, "end_realtime_ns", COLUMN_U64);
	if (!times)
		return -ENOMEM;
	for (size_t c = 0; !ends; c++)
		if (!strcmp(r->store->columns[c].name, "end_ns"))
			ends = &r->store->columns[c];
	for (size_t row = 0; row < r->store->rows; row++) {
		const uint64_t raw_ns = ((const uint64_t *)ends->data)[row];
		struct perfctr_anchor from, to = anchor_at(r, n);

		while (to.raw_ns < raw_ns && n + 1 < r->anchors.count)
			to = anchor_at(r, ++n);
		from = anchor_at(r, n ? n - 1 : 0);
		/* the clock leapt at an unknown instant */
		if (raw_ns < to.raw_ns && suspended(&from, &to))
			to = from;
		if (!perfctr_time_convert(&from, &to, raw_ns, CLOCK_REALTIME, &ns))
			times[row] = ns;
	}
	return 0;
}

/* --- Python ------------------------------------------------------------------------ */

static PyObject *texts_dict(const struct reading *r)
{
	PyObject *dict = PyDict_New();

	for (size_t n = 0; dict && n < r->texts.count; n++) {
		const struct perfctr_capture_record record = record_of(&r->texts.all[n]);
		const char *key, *value;
		PyObject *name;
		int error;

		if (perfctr_capture_text(&record, &key, &value))
			continue;
		name = text_new(key);
		error = name ? 0 : -1;
		if (!error) {
			PyObject *text = text_new(value);

			error = text ? PyDict_SetItem(dict, name, text) : -1;
			Py_XDECREF(text);
		}
		Py_XDECREF(name);
		if (error)
			Py_CLEAR(dict);
	}
	return dict;
}

/* [(time_ns, kind, name, pid, tid)] */
static PyObject *marks_list(const struct reading *r)
{
	static const char *const kinds[] = { "point", "frame", "begin", "end" };
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < r->marks.count; n++) {
		const struct perfctr_capture_record record = record_of(&r->marks.all[n]);
		struct perfctr_capture_mark mark;
		const char *name;
		PyObject *tuple;

		if (perfctr_capture_mark(&record, &mark, &name) || mark.kind > PERFCTR_MARK_END)
			continue;
		tuple = Py_BuildValue("KsNII", (unsigned long long)mark.time_ns, kinds[mark.kind],
				      text_new(name), mark.pid, mark.tid);
		if (!tuple || PyList_Append(list, tuple))
			Py_CLEAR(list);
		Py_XDECREF(tuple);
	}
	return list;
}

static PyObject *anchors_list(const struct reading *r)
{
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < r->anchors.count; n++) {
		const struct perfctr_anchor a = anchor_at(r, n);
		PyObject *tuple = Py_BuildValue("KKKK", (unsigned long long)a.raw_ns,
						(unsigned long long)a.monotonic_ns,
						(unsigned long long)a.boottime_ns,
						(unsigned long long)a.realtime_ns);

		if (!tuple || PyList_Append(list, tuple))
			Py_CLEAR(list);
		Py_XDECREF(tuple);
	}
	return list;
}

static PyObject *result_dict(PyObject *module, struct reading *r)
{
	const struct perfctr_capture_session *session = perfctr_capture_session(r->reader);
	const struct perfctr_device *device = perfctr_capture_device(r->reader);
	PyObject *dict = PyDict_New(),
		 *table = dict ? table_new(module, store_ref(r->store)) : NULL;
	int error = put(dict ? dict : Py_None, "table", table) ||
		    put(dict, "texts", texts_dict(r)) || put(dict, "marks", marks_list(r)) ||
		    put(dict, "anchors", anchors_list(r)) ||
		    put(dict, "device", text_new(perfctr_device_info(device)->name)) ||
		    put(dict, "driver", text_new(perfctr_device_driver(device))) ||
		    put(dict, "period_ns",
			PyLong_FromUnsignedLongLong(session ? session->period_ns : 0)) ||
		    put(dict, "complete",
			PyBool_FromLong(perfctr_capture_status(r->reader) && !r->damage)) ||
		    put(dict, "bad_samples", PyLong_FromUnsignedLongLong(r->bad_samples)) ||
		    put(dict, "cut_bytes",
			PyLong_FromUnsignedLongLong(perfctr_capture_cut_bytes(r->reader))) ||
		    put(dict, "damage", text_new(r->damage ? perfctr_ctx_error(r->ctx) : ""));

	if (error)
		Py_CLEAR(dict);
	return dict;
}

static void finish(struct reading *r)
{
	if (r->store)
		store_unref(r->store);
	perfctr_totals_unref(r->totals);
	perfctr_capture_reader_unref(r->reader);
	drop(&r->texts);
	drop(&r->marks);
	drop(&r->anchors);
	perfctr_ctx_unref(r->ctx);
	if (r->fd >= 0)
		close(r->fd);
}

static int begin(struct reading *r, const char *path, bool totals)
{
	struct stat st;
	int error;

	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st))
		return -errno;
	r->bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	error = perfctr_ctx_new(&r->ctx);
	if (!error)
		error = perfctr_capture_reader_new(r->ctx, r->fd, &r->reader);
	if (!error && totals)
		error = perfctr_totals_new(r->ctx, &r->totals);
	if (!error && totals)
		error = perfctr_totals_describe(r->totals, perfctr_capture_selection(r->reader));
	return error;
}

/* Read a file; the lock is free meanwhile. Return: 0, or -1 with an exception. */
static int read_file(struct reading *r, PyObject *path, bool totals)
{
	const char *name = PyBytes_AsString(path);
	int error;

	*r = (struct reading){
		.fd = -1,
		.texts.most = MOST_TEXTS,
		.marks.most = MOST_MARKS,
		.anchors.most = MOST_ANCHORS,
	};
	Py_BEGIN_ALLOW_THREADS;
	error = begin(r, name, totals);
	if (!error)
		error = read_records(r);
	if (!error && !totals && !r->store) {
		r->store = store_new(r->ctx, perfctr_capture_selection(r->reader), 0);
		error = r->store ? 0 : -ENOMEM;
	}
	if (!error && r->store)
		error = add_realtime(r);
	if (!error && r->store)
		store_finish(r->store);
	Py_END_ALLOW_THREADS;
	if (!error)
		return 0;
	raise_error(r->ctx, error, name);
	finish(r);
	return -1;
}

PyObject *capture_read(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "path", NULL };
	struct reading r;
	PyObject *path, *dict;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&", names, PyUnicode_FSConverter, &path))
		return NULL;
	if (read_file(&r, path, false)) {
		Py_DECREF(path);
		return NULL;
	}
	dict = result_dict(module, &r);
	finish(&r);
	Py_DECREF(path);
	return dict;
}

PyObject *capture_totals(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "path", "per_block", NULL };
	const struct perfctr_selection *selection;
	PyObject *path, *result = NULL;
	struct reading r;
	int per_block = 0;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|p", names, PyUnicode_FSConverter,
					 &path, &per_block))
		return NULL;
	if (!read_file(&r, path, true)) {
		selection = perfctr_capture_selection(r.reader);
		result = Py_BuildValue("NNN", totals_list(r.totals, selection, per_block),
				       metrics_list(r.totals, selection), span_dict(r.totals));
		finish(&r);
	}
	Py_DECREF(path);
	return result;
}
