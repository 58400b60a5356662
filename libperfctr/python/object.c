// SPDX-License-Identifier: MIT
/* Python's objects and exceptions, as all parts of the module make them. */
#include "module.h"

#include <errno.h>
#include <string.h>

PyObject *raise_of(PyObject *type, PyObject *arguments)
{
	if (arguments)
		PyErr_SetObject(type, arguments);
	Py_XDECREF(arguments);
	return NULL;
}

PyObject *raise_error(struct perfctr_ctx *ctx, int error, const char *what)
{
	const char *text = ctx ? perfctr_ctx_error(ctx) : "";

	if (error == -ENOMEM)
		return PyErr_NoMemory();
	if (!*text)
		text = strerror(-error);
	/* a name, not a file */
	if (ctx && what && (error == -ENOENT || error == -EINVAL))
		return raise_of(PyExc_ValueError, text_new(text));
	if (!what)
		return raise_of(PyExc_OSError, Py_BuildValue("iN", -error, text_new(text)));
	return raise_of(PyExc_OSError, Py_BuildValue("iNN", -error, text_new(text),
						     PyUnicode_DecodeFSDefault(what)));
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
