// SPDX-License-Identifier: MIT
/*
 * Sessions. All calls keep Python's lock, but wait(): that touches only the cursor, so that other
 * threads may start, sample and stop the session meanwhile; nothing else may use the cursor then.
 */
#include "module.h"

#include <errno.h>
#include <math.h>
#include <time.h>

struct session_object {
	PyObject_HEAD PyObject *module;
	struct perfctr_ctx *ctx;
	struct perfctr_device *device;
	struct perfctr_session *session; /* NULL: closed */
	struct perfctr_cursor *cursor;
	struct perfctr_totals *totals;
	struct store *store; /* of the samples since table() was called last */
	bool keeps, waits;
};

static void drop(struct session_object *s)
{
	s->cursor = perfctr_cursor_unref(s->cursor);
	s->totals = perfctr_totals_unref(s->totals);
	store_unref(s->store);
	s->store = NULL;
	s->session = perfctr_session_unref(s->session);
	s->device = perfctr_device_unref(s->device);
	s->ctx = perfctr_ctx_unref(s->ctx);
}

static void free_session(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct session_object *s = (struct session_object *)self;

	drop(s);
	Py_XDECREF(s->module);
	PyObject_Free(self);
	Py_DECREF(type);
}

/*
 * The session, if it is open, and no thread waits for it. Taking arguments runs Python code, which
 * may close it: take them before. Return: NULL with an exception.
 */
static struct session_object *session_of(PyObject *self, bool alone)
{
	struct session_object *s = (struct session_object *)self;

	if (!s->session)
		PyErr_SetString(PyExc_ValueError, "the session is closed");
	else if (alone && s->waits)
		PyErr_SetString(PyExc_RuntimeError, "a thread waits for the session's samples");
	else
		return s;
	return NULL;
}

static struct perfctr_selection *selection_of(const struct session_object *s)
{
	return perfctr_session_selection(s->session);
}

static PyObject *simple(PyObject *self, PyObject *args,
			int (*call)(struct perfctr_session *session, uint64_t user_data))
{
	unsigned long long user_data = 0;
	struct session_object *s;
	int error;

	if (!PyArg_ParseTuple(args, "|K", &user_data))
		return NULL;
	s = session_of(self, false);
	if (!s)
		return NULL;
	error = call(s->session, user_data);
	if (error)
		return raise_error(s->ctx, error, NULL);
	Py_RETURN_NONE;
}

static PyObject *session_start(PyObject *self, PyObject *args)
{
	return simple(self, args, perfctr_session_start);
}

static PyObject *session_sample(PyObject *self, PyObject *args)
{
	return simple(self, args, perfctr_session_sample);
}

static PyObject *session_stop(PyObject *self, PyObject *args)
{
	return simple(self, args, perfctr_session_stop);
}

static PyObject *session_close(PyObject *self, PyObject *unused)
{
	struct session_object *s = (struct session_object *)self;

	if (s->session && !session_of(self, true))
		return NULL;
	drop(s);
	Py_RETURN_NONE;
}

/* Take what is in the ring. Return: the number of samples, -1 with an exception. */
static long take_samples(struct session_object *s)
{
	struct perfctr_sample sample;
	long count = 0;
	int result;

	while ((result = perfctr_cursor_next(s->cursor, &sample)) > 0) {
		int error = perfctr_totals_add(s->totals, &sample);

		if (!error && s->keeps && !s->store) {
			s->store = store_new(s->ctx, selection_of(s), 0);
			error = s->store ? 0 : -ENOMEM;
		}
		if (!error && s->store)
			error = store_add(s->store, &sample);
		/* also one that cannot be kept: it is not to be added up once more */
		perfctr_cursor_advance(s->cursor, 1);
		if (error) {
			raise_error(s->ctx, error, NULL);
			return -1;
		}
		count++;
	}
	if (!result || result == -ENODEV)
		return count;
	raise_error(s->ctx, result, "a sample in the ring");
	return -1;
}

static PyObject *session_read(PyObject *self, PyObject *unused)
{
	struct session_object *s = session_of(self, true);
	long count = s ? take_samples(s) : -1;

	return count < 0 ? NULL : PyLong_FromLong(count);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static PyObject *session_wait(PyObject *self, PyObject *args)
{
	PyObject *timeout = Py_None;
	int64_t left_ns = -1, deadline = 0;
	struct session_object *s;
	bool interrupted = false;
	int result;

	if (!PyArg_ParseTuple(args, "|O", &timeout))
		return NULL;
	if (timeout != Py_None) {
		const double seconds = PyFloat_AsDouble(timeout);

		if (seconds == -1 && PyErr_Occurred())
			return NULL;
		if (!(seconds >= 0 && seconds < 1e9)) {
			PyErr_SetString(PyExc_ValueError,
					"the timeout is a number of seconds, from 0 on, or None");
			return NULL;
		}
		left_ns = (int64_t)(seconds * 1e9);
		deadline = now_ns() + left_ns;
	}
	s = session_of(self, true);
	if (!s)
		return NULL;
	/* also while a signal's handler runs, and other threads beside it */
	s->waits = true;
	do {
		Py_BEGIN_ALLOW_THREADS;
		result = perfctr_cursor_wait(s->cursor, left_ns);
		Py_END_ALLOW_THREADS;
		interrupted = result == -EINTR && PyErr_CheckSignals();
		if (timeout != Py_None) {
			left_ns = deadline - now_ns();
			left_ns = left_ns > 0 ? left_ns : 0;
		}
	} while (result == -EINTR && !interrupted);
	s->waits = false;
	if (interrupted)
		return NULL;
	if (result == -ENODEV)
		return raise_of(PyExc_OSError,
				Py_BuildValue("is", ENODEV,
					      "the device is gone: no sample will follow"));
	if (result < 0)
		return raise_error(s->ctx, result, NULL);
	return PyBool_FromLong(result > 0);
}

static PyObject *session_table(PyObject *self, PyObject *unused)
{
	struct session_object *s = session_of(self, true);
	struct store *store;

	if (!s || take_samples(s) < 0)
		return NULL;
	if (!s->keeps) {
		PyErr_SetString(PyExc_ValueError, "the session was made with columns=False");
		return NULL;
	}
	store = s->store ? s->store : store_new(s->ctx, selection_of(s), 0);
	s->store = NULL;
	if (!store)
		return PyErr_NoMemory();
	store_finish(store);
	return table_new(s->module, store);
}

static PyObject *session_totals(PyObject *self, PyObject *args)
{
	struct perfctr_selection *selection;
	struct perfctr_totals *totals;
	struct session_object *s;
	PyObject *result;
	int per_block = 0;

	if (!PyArg_ParseTuple(args, "|p", &per_block))
		return NULL;
	s = session_of(self, true);
	if (!s || take_samples(s) < 0)
		return NULL;
	/* new objects make Python collect others, whose end may close the session */
	totals = perfctr_totals_ref(s->totals);
	selection = perfctr_selection_ref(selection_of(s));
	result = Py_BuildValue("NNN", totals_list(totals, selection, per_block),
			       metrics_list(totals, selection), span_dict(totals));
	perfctr_selection_unref(selection);
	perfctr_totals_unref(totals);
	return result;
}

static PyObject *session_status(PyObject *self, PyObject *unused)
{
	struct session_object *s = session_of(self, false);
	struct drm_perfctr_status status;
	int error;

	if (!s)
		return NULL;
	error = perfctr_session_status(s->session, &status, sizeof(status));
	if (error)
		return raise_error(s->ctx, error, NULL);
	return Py_BuildValue("{sKsKsKsKsK}", "published", (unsigned long long)status.published,
			     "merged_periods", (unsigned long long)status.merged_periods, "lost_ns",
			     (unsigned long long)status.lost_ns, "errors",
			     (unsigned long long)status.errors, "resets",
			     (unsigned long long)status.resets);
}

static PyObject *get_device(PyObject *self, void *closure)
{
	struct session_object *s = session_of(self, false);

	if (!s)
		return NULL;
	return text_new(closure ? perfctr_device_driver(s->device) :
				  perfctr_device_info(s->device)->name);
}

static PyObject *get_closed(PyObject *self, void *closure)
{
	return PyBool_FromLong(!((struct session_object *)self)->session);
}

static PyGetSetDef members[] = {
	{ "device", get_device, NULL, "name of the device", NULL },
	{ "driver", get_device, NULL, "name of its driver", "" },
	{ "closed", get_closed, NULL, "whether close() was called", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef methods[] = {
	{ "start", session_start, METH_VARARGS, NULL },
	{ "sample", session_sample, METH_VARARGS, NULL },
	{ "stop", session_stop, METH_VARARGS, NULL },
	{ "close", session_close, METH_NOARGS, NULL },
	{ "read", session_read, METH_NOARGS, NULL },
	{ "wait", session_wait, METH_VARARGS, NULL },
	{ "table", session_table, METH_NOARGS, NULL },
	{ "totals", session_totals, METH_VARARGS, NULL },
	{ "status", session_status, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, "A session; perfctr.Session is made of it." },
	{ Py_tp_dealloc, free_session },
	{ Py_tp_getset, members },
	{ Py_tp_methods, methods },
	{ 0, NULL },
};

static PyType_Spec spec = {
	.name = "_perfctr.Session",
	.basicsize = sizeof(struct session_object),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

struct options {
	const char *events, *device, *broker, *cgroup;
	int pid;
	struct perfctr_session_opts opts;
};

/* Return: 0 or a negative errno; then @what is the name that is wrong, or NULL. */
static int begin(struct session_object *s, const struct options *o, const char **what)
{
	struct perfctr_selection *selection = NULL;
	int error = perfctr_ctx_new(&s->ctx);

	if (!error && o->broker)
		error = perfctr_device_open_broker(s->ctx, *o->broker ? o->broker : NULL, o->device,
						   &s->device);
	else if (!error)
		error = perfctr_device_open(s->ctx, o->device, &s->device);
	if (!error && o->pid)
		error = perfctr_device_count_task(s->device, o->pid);
	if (!error && o->cgroup)
		error = perfctr_device_count_cgroup(s->device, o->cgroup);
	if (!error)
		error = perfctr_selection_new(s->device, &selection);
	if (!error) {
		error = perfctr_selection_add(selection, o->events);
		*what = error < 0 ? o->events : NULL;
		error = error > 0 ? 0 : error;
	}
	if (!error)
		error = perfctr_session_new(selection, &o->opts, &s->session);
	perfctr_selection_unref(selection);
	if (!error)
		error = perfctr_cursor_new(s->session, &s->cursor);
	if (!error)
		error = perfctr_totals_new(s->ctx, &s->totals);
	if (!error)
		error = perfctr_totals_describe(s->totals, selection_of(s));
	return error;
}

static PyObject *open_session(PyObject *module, const struct options *o, bool columns)
{
	struct types *types = PyModule_GetState(module);
	struct session_object *s = (struct session_object *)object_new(types->session);
	const char *what = NULL;
	int error;

	if (!s)
		return NULL;
	s->module = Py_NewRef(module);
	s->keeps = columns;
	error = begin(s, o, &what);
	if (!error)
		return (PyObject *)s;
	raise_error(s->ctx, error, what);
	Py_DECREF(s);
	return NULL;
}

/* For "O&": a name of a file or device as bytes; None leaves NULL. */
static int take_name(PyObject *from, void *to)
{
	return from == Py_None ? 1 : PyUnicode_FSConverter(from, to);
}

PyObject *session_new(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "events",    "device", "broker", "cgroup",  "pid",
				 "period_ns", "slots",	"flags",  "columns", NULL };
	PyObject *device = NULL, *broker = NULL, *cgroup = NULL, *result = NULL;
	struct options o = { .opts.size = sizeof(o.opts) };
	unsigned long long period_ns = 0;
	unsigned int slots_wanted = 0, flags = 0;
	int columns = 1;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|O&O&O&iKIIp", names, &o.events,
					 take_name, &device, take_name, &broker, take_name, &cgroup,
					 &o.pid, &period_ns, &slots_wanted, &flags, &columns))
		return NULL;
	o.device = device ? PyBytes_AsString(device) : NULL;
	o.broker = broker ? PyBytes_AsString(broker) : NULL;
	o.cgroup = cgroup ? PyBytes_AsString(cgroup) : NULL;
	o.opts.period_ns = period_ns;
	o.opts.slots = slots_wanted;
	o.opts.flags = flags;
	if (o.pid < 0)
		PyErr_Format(PyExc_ValueError, "a process has a number from 1 on, not %d", o.pid);
	else if (o.pid && o.cgroup)
		PyErr_SetString(PyExc_ValueError, "count a process or a cgroup, not both");
	else
		result = open_session(module, &o, columns);
	Py_XDECREF(device);
	Py_XDECREF(broker);
	Py_XDECREF(cgroup);
	return result;
}

int session_init(PyObject *module)
{
	struct types *types = PyModule_GetState(module);

	types->session = PyType_FromModuleAndSpec(module, &spec, NULL);
	return types->session ? PyModule_AddObjectRef(module, "Session", types->session) : -1;
}
