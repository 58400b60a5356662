// SPDX-License-Identifier: MIT
/* Python's objects and exceptions, as all parts of the module make them. */
#include "module.h"

#include <errno.h>
#include <string.h>

PyObject *raise_error(struct perfctr_ctx *ctx, int error, const char *what)
{
	const char *text = ctx ? perfctr_ctx_error(ctx) : "";
	PyObject *values;

	if (error == -ENOMEM)
		return PyErr_NoMemory();
	if (!*text)
		text = strerror(-error);
	/* a name, not a file */
	if (ctx && what && (error == -ENOENT || error == -EINVAL)) {
		PyErr_SetString(PyExc_ValueError, text);
		return NULL;
	}
	values = what ? Py_BuildValue("iss", -error, text, what) :
			Py_BuildValue("is", -error, text);
	if (values)
		PyErr_SetObject(PyExc_OSError, values);
	Py_XDECREF(values);
	return NULL;
}

PyObject *object_new(PyObject *type)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);

	return alloc((PyTypeObject *)type, 0);
}

PyObject *text_new(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

int put(PyObject *dict, const char *key, PyObject *value)
{
	int error = value ? PyDict_SetItemString(dict, key, value) : -1;

	Py_XDECREF(value);
	return error;
}
