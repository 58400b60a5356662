// SPDX-License-Identifier: MIT
/* The module _perfctr, which the package perfctr is made of. */
#include "module.h"

#include <errno.h>
#include <string.h>

static PyObject *mark(PyObject *module, PyObject *args)
{
	const char *name;
	int kind, result;

	if (!PyArg_ParseTuple(args, "is", &kind, &name))
		return NULL;
	result = perfctr_mark(kind, name);
	/* the recorder did not keep up: the capture says how many marks are missing */
	if (result >= 0 || result == -EAGAIN)
		return PyBool_FromLong(result > 0);
	if (result == -EINVAL || result == -ENAMETOOLONG) {
		PyErr_Format(PyExc_ValueError, "the name of a mark has 1 to %d bytes, not %zu",
			     PERFCTR_MARK_NAME_MAX, strlen(name));
		return NULL;
	}
	return raise_error(NULL, result, NULL);
}

static PyObject *devices(PyObject *module, PyObject *unused)
{
	struct perfctr_device_list *all = NULL;
	struct perfctr_ctx *ctx = NULL;
	PyObject *list = NULL;
	int error = perfctr_ctx_new(&ctx);

	if (!error)
		error = perfctr_device_list_new(ctx, &all);
	if (error)
		raise_error(ctx, error, NULL);
	else
		list = PyList_New(0);
	for (size_t n = 0; list && n < perfctr_device_list_count(all); n++) {
		const struct perfctr_device_entry *entry = perfctr_device_list_get(all, n);
		PyObject *item = Py_BuildValue("{sNsNsNss}", "path", text_new(entry->path),
					       "driver", text_new(entry->driver), "name",
					       text_new(entry->name), "error",
					       entry->error ? strerror(-entry->error) : "");

		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	perfctr_device_list_unref(all);
	perfctr_ctx_unref(ctx);
	return list;
}

static PyObject *now(PyObject *module, PyObject *unused)
{
	return PyLong_FromUnsignedLongLong(perfctr_time_raw_ns());
}

#define WITH_KEYWORDS(function) \
	(PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
	{ "session", WITH_KEYWORDS(session_new), NULL },
	{ "read", WITH_KEYWORDS(capture_read), NULL },
	{ "totals", WITH_KEYWORDS(capture_totals), NULL },
	{ "mark", mark, METH_VARARGS, NULL },
	{ "devices", devices, METH_NOARGS, NULL },
	{ "now", now, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static int init(PyObject *module)
{
	return columns_init(module) ? -1 : session_init(module);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
	struct types *types = PyModule_GetState(module);

	Py_VISIT(types->table);
	Py_VISIT(types->column);
	Py_VISIT(types->session);
	return 0;
}

static int clear(PyObject *module)
{
	struct types *types = PyModule_GetState(module);

	Py_CLEAR(types->table);
	Py_CLEAR(types->column);
	Py_CLEAR(types->session);
	return 0;
}

static PyModuleDef_Slot slots[] = { { Py_mod_exec, init }, { 0, NULL } };

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, .m_name = "_perfctr", .m_size = sizeof(struct types),
	.m_methods = methods,  .m_slots = slots,     .m_traverse = traverse,
	.m_clear = clear,
};

PyMODINIT_FUNC PyInit__perfctr(void);

PyMODINIT_FUNC PyInit__perfctr(void)
{
	return PyModuleDef_Init(&definition);
}
