// SPDX-License-Identifier: MIT
/* Reads capture files, without Python's lock. */
#include "module.h"

#include "common/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TEXTS = 1000, MOST_ANCHORS = 1000000 };

struct text {
	char *key, *value;
};

/* the device of a session */
struct head {
	char *driver, *path;
};

struct reading {
	struct perfctr_ctx *ctx;
	struct perfctr_capture_reader *reader;
	struct perfctr_totals *totals; /* or */
	struct store *store;
	struct perfctr_marks *marks;
	struct text *texts;
	struct perfctr_anchor *anchors;
	struct head *heads; /* of all sessions */
	size_t text_count, anchor_count, head_count;
	uint64_t bad_samples;
	bool is_damaged; /* the context has the text of the error that ended the reading */
	struct unpacked unpacked;
	uint64_t bytes; /* of the file, unpacked */
	int fd;
};

/* Make room for one more element, at each power of two. Return: the array, NULL: no memory. */
static void *make_room(void *array, size_t count, size_t bytes)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * bytes);
}

static int take_text(struct reading *r, const struct perfctr_capture_record *record)
{
	const char *key, *value;
	struct text *texts;

	if (r->text_count == MOST_TEXTS || perfctr_capture_text(record, &key, &value))
		return 0;
	texts = make_room(r->texts, r->text_count, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	r->texts = texts;
	texts[r->text_count] = (struct text){ strdup(key), strdup(value) };
	r->text_count++;
	return texts[r->text_count - 1].key && texts[r->text_count - 1].value ? 0 : -ENOMEM;
}

static int take_anchor(struct reading *r, const struct perfctr_capture_record *record)
{
	struct perfctr_anchor anchor, *anchors;

	if (perfctr_capture_anchor(r->reader, record, &anchor) || r->anchor_count == MOST_ANCHORS)
		return 0;
	anchors = make_room(r->anchors, r->anchor_count, sizeof(*anchors));
	if (!anchors)
		return -ENOMEM;
	r->anchors = anchors;
	anchors[r->anchor_count++] = anchor;
	return 0;
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

	if (perfctr_capture_sample(r->reader, record, &sample)) {
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
	int error = perfctr_marks_add(r->marks, record);

	if (error)
		return error;
	switch (record->type) {
	case PERFCTR_CAPTURE_TEXT:
		return take_text(r, record);
	case PERFCTR_CAPTURE_ANCHOR:
		return take_anchor(r, record);
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
	r->is_damaged = result == -EBADMSG;
	if (result && !r->is_damaged)
		return result;
	return perfctr_marks_finish(r->marks, r->reader);
}

/* The time of day of each sample's end. */
static int add_realtime(struct reading *r)
{
	struct column *times;
	uint64_t ns;

	if (!r->anchor_count)
		return 0;
	times = store_add_times(r->store, "end_realtime_ns");
	if (!times)
		return -ENOMEM;
	for (size_t row = 0; row < r->store->rows; row++)
		if (!perfctr_time_of_anchors(r->anchors, r->anchor_count,
					     store_end_ns(r->store, row), CLOCK_REALTIME, &ns))
			column_set(times, row, ns);
	return 0;
}

/* --- sessions -------------------------------------------------------------------- */

static int take_head(struct reading *r, const struct perfctr_capture_reader *reader)
{
	const struct perfctr_device *device = perfctr_capture_device(reader);
	struct head *heads = make_room(r->heads, r->head_count, sizeof(*heads)), *head;

	if (!heads)
		return -ENOMEM;
	r->heads = heads;
	head = &heads[r->head_count++];
	head->driver = strdup(perfctr_device_driver(device));
	head->path = strdup(perfctr_device_path(device));
	return head->driver && head->path ? 0 : -ENOMEM;
}

/* Read what precedes the samples of a session. Return: 0 or a negative errno. */
static int read_head(struct reading *r, unsigned int session)
{
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_capture_record record;
	int error = lseek(r->fd, 0, SEEK_SET) ? -errno : 0, result = 1;

	if (!error)
		error = perfctr_capture_reader_new(r->ctx, r->fd, &reader);
	if (!error)
		error = perfctr_capture_reader_select(reader, session);
	do
		result = error ? error : perfctr_capture_next(reader, &record);
	while (result > 0 && record.type != PERFCTR_CAPTURE_SAMPLE);
	/* what is damaged is known from the session that was read */
	error = result >= 0 || result == -EBADMSG ? take_head(r, reader) : result;
	perfctr_capture_reader_unref(reader);
	return error;
}

static int read_heads(struct reading *r)
{
	const unsigned int count = perfctr_capture_session_count(r->reader);
	int error = 0;

	/* a pipe cannot be read again */
	if (count == 1)
		return take_head(r, r->reader);
	for (unsigned int n = 0; !error && n < count; n++)
		error = read_head(r, n);
	return error;
}

/* --- Python ------------------------------------------------------------------------ */

static PyObject *texts_dict(const struct reading *r)
{
	PyObject *dict = PyDict_New();

	for (size_t n = 0; dict && n < r->text_count; n++) {
		PyObject *key = text_new(r->texts[n].key), *value = text_new(r->texts[n].value);

		if (!key || !value || PyDict_SetItem(dict, key, value))
			Py_CLEAR(dict);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return dict;
}

/* Append an item, whose reference it takes. The list is freed after an error. */
static void append(PyObject **list, PyObject *item)
{
	if (!item || PyList_Append(*list, item))
		Py_CLEAR(*list);
	Py_XDECREF(item);
}

/* [(kind, name, start_ns, end_ns, pid, tid)] */
static PyObject *marks_list(const struct reading *r)
{
	static const char *const kinds[] = { "point", "frame", "phase" };
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < perfctr_marks_count(r->marks); n++) {
		const struct perfctr_marked *m = perfctr_marks_get(r->marks, n);
		PyObject *end = m->is_open ? Py_NewRef(Py_None) :
					     PyLong_FromUnsignedLongLong(m->end_ns);

		append(&list, Py_BuildValue("sNKNII", kinds[m->kind], text_new(m->name),
					    (unsigned long long)m->start_ns, end, m->pid, m->tid));
	}
	return list;
}

static PyObject *anchors_list(const struct reading *r)
{
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < r->anchor_count; n++) {
		const struct perfctr_anchor *a = &r->anchors[n];

		append(&list, Py_BuildValue("KKKK", (unsigned long long)a->raw_ns,
					    (unsigned long long)a->monotonic_ns,
					    (unsigned long long)a->boottime_ns,
					    (unsigned long long)a->realtime_ns));
	}
	return list;
}

/* [(driver, path)] */
static PyObject *heads_list(const struct reading *r)
{
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < r->head_count; n++) {
		const struct head *h = &r->heads[n];

		append(&list, Py_BuildValue("NN", text_new(h->driver), text_new(h->path)));
	}
	return list;
}

static PyObject *result_dict(PyObject *module, struct reading *r)
{
	const struct perfctr_capture_session *session = perfctr_capture_session(r->reader);
	const struct perfctr_device *device = perfctr_capture_device(r->reader);
	const uint32_t bad = perfctr_capture_bad_numbers(r->reader);
	const char *damage = r->unpacked.damage ? r->unpacked.damage :
			     r->is_damaged	? perfctr_ctx_error(r->ctx) :
						  "";
	const uint64_t cut_bytes = r->unpacked.cut_bytes ? r->unpacked.cut_bytes :
							   perfctr_capture_cut_bytes(r->reader);
	const uint64_t period_ns =
		session && !(bad & PERFCTR_CAPTURE_BAD_SESSION) ? session->period_ns : 0;
	PyObject *dict = PyDict_New(),
		 *table = dict ? table_new(module, store_ref(r->store)) : NULL;
	int error = put(dict ? dict : Py_None, "table", table) ||
		    put(dict, "sessions", heads_list(r)) || put(dict, "texts", texts_dict(r)) ||
		    put(dict, "marks", marks_list(r)) || put(dict, "anchors", anchors_list(r)) ||
		    put(dict, "marks_lost",
			PyLong_FromUnsignedLongLong(perfctr_marks_lost(r->marks))) ||
		    put(dict, "device", text_new(perfctr_device_info(device)->name)) ||
		    put(dict, "driver", text_new(perfctr_device_driver(device))) ||
		    put(dict, "period_ns", PyLong_FromUnsignedLongLong(period_ns)) ||
		    put(dict, "complete",
			PyBool_FromLong(perfctr_capture_status(r->reader) && !*damage)) ||
		    put(dict, "bad_samples", PyLong_FromUnsignedLongLong(r->bad_samples)) ||
		    put(dict, "bad_numbers", PyBool_FromLong(bad)) ||
		    put(dict, "cut_bytes", PyLong_FromUnsignedLongLong(cut_bytes)) ||
		    put(dict, "damage", text_new(damage));

	if (error)
		Py_CLEAR(dict);
	return dict;
}

static void finish(struct reading *r)
{
	store_unref(r->store);
	perfctr_totals_unref(r->totals);
	perfctr_marks_unref(r->marks);
	perfctr_capture_reader_unref(r->reader);
	for (size_t n = 0; n < r->text_count; n++) {
		free(r->texts[n].key);
		free(r->texts[n].value);
	}
	for (size_t n = 0; n < r->head_count; n++) {
		free(r->heads[n].driver);
		free(r->heads[n].path);
	}
	free(r->texts);
	free(r->heads);
	free(r->anchors);
	perfctr_ctx_unref(r->ctx);
	if (r->fd >= 0)
		close(r->fd);
}

/* what is wanted of a file */
struct wanted {
	PyObject *path; /* bytes */
	unsigned int session;
	bool totals; /* instead of a table */
};

static int open_file(struct reading *r, const char *path)
{
	struct stat st;
	int error;

	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	r->unpacked.is_quiet = true;
	error = unpack(&r->fd, &r->unpacked);
	if (!error && fstat(r->fd, &st))
		error = -errno;
	if (error)
		return error;
	r->bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return perfctr_ctx_new(&r->ctx);
}

static int read_session(struct reading *r, unsigned int session, bool totals)
{
	int error = perfctr_capture_reader_new(r->ctx, r->fd, &r->reader);

	if (!error)
		error = perfctr_capture_reader_select(r->reader, session);
	if (!error)
		error = perfctr_marks_new(r->ctx, &r->marks);
	if (!error && totals)
		error = perfctr_totals_new(r->ctx, &r->totals);
	if (!error && totals)
		error = perfctr_totals_describe(r->totals, perfctr_capture_selection(r->reader));
	if (!error)
		error = read_records(r);
	return error;
}

/* A table has all columns, even without samples. */
static int finish_table(struct reading *r)
{
	int error;

	if (!r->store)
		r->store = store_new(r->ctx, perfctr_capture_selection(r->reader), 0);
	if (!r->store)
		return -ENOMEM;
	error = add_realtime(r);
	store_finish(r->store);
	return error;
}

static int read_wanted(struct reading *r, const char *path, const struct wanted *wanted)
{
	int error = open_file(r, path);

	if (!error)
		error = read_session(r, wanted->session, wanted->totals);
	if (!error && !wanted->totals)
		error = finish_table(r);
	if (!error)
		error = read_heads(r);
	return error;
}

/*
 * Read a file, whose path it gives back; the lock is free meanwhile.
 * Return: 0, or -1 with an exception; call finish() after 0.
 */
static int read_file(struct reading *r, const struct wanted *wanted)
{
	const char *path = PyBytes_AsString(wanted->path);
	int error;

	*r = (struct reading){ .fd = -1 };
	Py_BEGIN_ALLOW_THREADS;
	error = read_wanted(r, path, wanted);
	Py_END_ALLOW_THREADS;
	if (error && *r->unpacked.error)
		raise_of(PyExc_OSError, Py_BuildValue("iNN", -error, text_new(r->unpacked.error),
						      PyUnicode_DecodeFSDefault(path)));
	else if (error)
		raise_error(r->ctx, error, path);
	if (error)
		finish(r);
	Py_DECREF(wanted->path);
	return error ? -1 : 0;
}

PyObject *capture_read(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "path", "session", NULL };
	struct wanted wanted = { .totals = false };
	struct reading r;
	PyObject *dict;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|I", names, PyUnicode_FSConverter,
					 &wanted.path, &wanted.session) ||
	    read_file(&r, &wanted))
		return NULL;
	dict = result_dict(module, &r);
	finish(&r);
	return dict;
}

PyObject *capture_totals(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "path", "per_block", "session", NULL };
	struct wanted wanted = { .totals = true };
	const struct perfctr_selection *selection;
	struct reading r;
	PyObject *result;
	int per_block = 0;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|pI", names, PyUnicode_FSConverter,
					 &wanted.path, &per_block, &wanted.session) ||
	    read_file(&r, &wanted))
		return NULL;
	selection = perfctr_capture_selection(r.reader);
	result = Py_BuildValue("NNN", totals_list(r.totals, selection, per_block),
			       metrics_list(r.totals, selection), span_dict(r.totals));
	finish(&r);
	return result;
}
