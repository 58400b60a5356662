// SPDX-License-Identifier: MIT
/*
 * Table and Column, which others read in place: by Python's buffer protocol (numpy, memoryview) and
 * by Arrow's C data interface (pyarrow, polars, duckdb, pandas).
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* --- Arrow: the structures are its binary interface -------------------------- */

enum { ARROW_NULLABLE = 2 };

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *schema);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *array);
	void *private_data;
};

/* Both release their children; what moved away has no release. The names belong to the store. */
static void release_schema(struct ArrowSchema *schema)
{
	for (int64_t n = 0; n < schema->n_children; n++) {
		if (schema->children[n] && schema->children[n]->release)
			schema->children[n]->release(schema->children[n]);
		free(schema->children[n]);
	}
	free(schema->children);
	store_unref(schema->private_data);
	schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
	for (int64_t n = 0; n < array->n_children; n++) {
		if (array->children[n] && array->children[n]->release)
			array->children[n]->release(array->children[n]);
		free(array->children[n]);
	}
	free(array->children);
	free(array->buffers);
	store_unref(array->private_data);
	array->release = NULL;
}

static void fill_schema(struct ArrowSchema *schema, struct store *store, const struct column *c)
{
	*schema = (struct ArrowSchema){
		.format = !c			? "+s" :
			  c->type == COLUMN_U64 ? "L" :
			  c->type == COLUMN_I64 ? "l" :
						  "I",
		.name = c ? c->name : "",
		.flags = c && c->valid ? ARROW_NULLABLE : 0,
		.release = release_schema,
		.private_data = store_ref(store),
	};
}

static bool fill_array(struct ArrowArray *array, struct store *store, const struct column *c)
{
	*array = (struct ArrowArray){
		.length = (int64_t)store->rows,
		.null_count = c ? (int64_t)c->missing : 0,
		.n_buffers = c ? 2 : 1,
		.buffers = calloc(2, sizeof(*array->buffers)),
		.release = release_array,
		.private_data = store_ref(store),
	};
	if (array->buffers && c) {
		array->buffers[0] = c->missing ? c->valid : NULL;
		array->buffers[1] = c->data;
	}
	return array->buffers;
}

/* A structure with all columns. Return: false without memory; then too it is to be released. */
static bool fill_children(struct ArrowSchema *schema, struct ArrowArray *array, struct store *store)
{
	schema->children = calloc(store->count, sizeof(*schema->children));
	array->children = calloc(store->count, sizeof(*array->children));
	if (!schema->children || !array->children)
		return false;
	schema->n_children = array->n_children = (int64_t)store->count;
	for (size_t n = 0; n < store->count; n++) {
		schema->children[n] = calloc(1, sizeof(*schema));
		array->children[n] = calloc(1, sizeof(*array));
		if (!schema->children[n] || !array->children[n])
			return false;
		fill_schema(schema->children[n], store, &store->columns[n]);
		if (!fill_array(array->children[n], store, &store->columns[n]))
			return false;
	}
	return true;
}

/* A consumer that takes the contents clears their release. */
static void free_schema(PyObject *capsule)
{
	struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");

	if (schema->release)
		schema->release(schema);
	free(schema);
}

static void free_array(PyObject *capsule)
{
	struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");

	if (array->release)
		array->release(array);
	free(array);
}

/* (schema, array) of a column, or of all with NULL. */
static PyObject *arrow_pair(struct store *store, const struct column *c)
{
	struct ArrowSchema *schema = calloc(1, sizeof(*schema));
	struct ArrowArray *array = calloc(1, sizeof(*array));
	PyObject *first = NULL, *second = NULL, *pair = NULL;
	bool filled = schema && array;

	if (filled) {
		fill_schema(schema, store, c);
		filled = fill_array(array, store, c) && (c || fill_children(schema, array, store));
	}
	if (filled)
		first = PyCapsule_New(schema, "arrow_schema", free_schema);
	if (first)
		second = PyCapsule_New(array, "arrow_array", free_array);
	if (second)
		pair = PyTuple_Pack(2, first, second);
	if (!filled)
		PyErr_NoMemory();
	if (!first && schema) {
		if (schema->release)
			schema->release(schema);
		free(schema);
	}
	if (!second && array) {
		if (array->release)
			array->release(array);
		free(array);
	}
	Py_XDECREF(first);
	Py_XDECREF(second);
	return pair;
}

/* --- Column ------------------------------------------------------------------ */

struct column_object {
	PyObject_HEAD struct store *store;
	size_t number;
};

struct table_object {
	PyObject_HEAD struct store *store;
	PyObject *columns; /* by name */
};

static const struct column *column_of(PyObject *self)
{
	const struct column_object *o = (struct column_object *)self;

	return &o->store->columns[o->number];
}

static size_t rows_of(PyObject *self)
{
	return ((struct column_object *)self)->store->rows;
}

static Py_ssize_t item_bytes(const struct column *c)
{
	return c->type == COLUMN_U32 ? 4 : 8;
}

static bool is_valid(const struct column *c, size_t row)
{
	return !c->valid || c->valid[row / 8] >> row % 8 & 1;
}

static void free_column(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	store_unref(((struct column_object *)self)->store);
	PyObject_Free(self);
	Py_DECREF(type);
}

static int column_buffer(PyObject *self, Py_buffer *view, int flags)
{
	static char formats[][2] = { "Q", "q", "I" };
	const struct column *c = column_of(self);
	struct shape {
		Py_ssize_t rows, stride;
	} * shape;

	view->obj = NULL;
	if (flags & PyBUF_WRITABLE) {
		PyErr_SetString(PyExc_BufferError, "a column cannot be written");
		return -1;
	}
	shape = malloc(sizeof(*shape));
	if (!shape) {
		PyErr_NoMemory();
		return -1;
	}
	*shape = (struct shape){ (Py_ssize_t)rows_of(self), item_bytes(c) };
	*view = (Py_buffer){
		.buf = c->data,
		.obj = Py_NewRef(self),
		.len = shape->rows * shape->stride,
		.itemsize = shape->stride,
		.readonly = 1,
		.ndim = 1,
		.format = flags & PyBUF_FORMAT ? formats[c->type == COLUMN_I64 ? 1 :
							 c->type == COLUMN_U32 ? 2 :
										 0] :
						 NULL,
		.shape = flags & PyBUF_ND ? &shape->rows : NULL,
		.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &shape->stride : NULL,
		.internal = shape,
	};
	return 0;
}

static void column_release(PyObject *self, Py_buffer *view)
{
	free(view->internal);
}

static Py_ssize_t column_length(PyObject *self)
{
	return (Py_ssize_t)rows_of(self);
}

static PyObject *number_at(const struct column *c, size_t row)
{
	if (!is_valid(c, row))
		Py_RETURN_NONE;
	if (c->type == COLUMN_U32)
		return PyLong_FromUnsignedLong(((const uint32_t *)c->data)[row]);
	if (c->type == COLUMN_I64)
		return PyLong_FromLongLong(((const int64_t *)c->data)[row]);
	return PyLong_FromUnsignedLongLong(((const uint64_t *)c->data)[row]);
}

static PyObject *column_item(PyObject *self, Py_ssize_t row)
{
	if (row < 0 || (size_t)row >= rows_of(self)) {
		PyErr_Format(PyExc_IndexError, "row %zd of %zu", row, rows_of(self));
		return NULL;
	}
	return number_at(column_of(self), (size_t)row);
}

/* A number, or a list of those of a slice. */
static PyObject *column_get(PyObject *self, PyObject *index)
{
	Py_ssize_t start, stop, step, count, row;
	PyObject *list;

	if (!PySlice_Check(index)) {
		row = PyNumber_AsSsize_t(index, PyExc_IndexError);
		if (row == -1 && PyErr_Occurred())
			return NULL;
		return column_item(self, row < 0 ? row + column_length(self) : row);
	}
	if (PySlice_Unpack(index, &start, &stop, &step))
		return NULL;
	count = PySlice_AdjustIndices(column_length(self), &start, &stop, step);
	list = PyList_New(count);
	for (Py_ssize_t n = 0; list && n < count; n++) {
		PyObject *number = column_item(self, start + n * step);

		if (!number || PyList_SetItem(list, n, number))
			Py_CLEAR(list);
	}
	return list;
}

/* The exact sum, beyond 64 bits too; of a level the last value. */
static PyObject *column_total(PyObject *self, PyObject *unused)
{
	const struct column *c = column_of(self);
	const size_t rows = rows_of(self);
	uint64_t low = 0, high = 0;
	PyObject *upper, *lower, *shift, *shifted = NULL, *sum = NULL;
	size_t row = rows;

	if (c->kind == PERFCTR_KIND_LEVEL) {
		while (row && !is_valid(c, row - 1))
			row--;
		if (row)
			return number_at(c, row - 1);
		Py_RETURN_NONE;
	}
	if (rows && c->missing == rows)
		Py_RETURN_NONE;
	/* what was not measured is 0 */
	for (row = 0; row < rows; row++)
		high += __builtin_add_overflow(low,
					       c->type == COLUMN_U32 ?
						       ((const uint32_t *)c->data)[row] :
						       ((const uint64_t *)c->data)[row],
					       &low);
	upper = PyLong_FromUnsignedLongLong(high);
	lower = PyLong_FromUnsignedLongLong(low);
	shift = PyLong_FromLong(64);
	if (upper && lower && shift)
		shifted = PyNumber_Lshift(upper, shift);
	if (shifted)
		sum = PyNumber_Add(shifted, lower);
	Py_XDECREF(upper);
	Py_XDECREF(lower);
	Py_XDECREF(shift);
	Py_XDECREF(shifted);
	return sum;
}

static PyObject *column_arrow(PyObject *self, PyObject *args, PyObject *keywords)
{
	return arrow_pair(((struct column_object *)self)->store, column_of(self));
}

static PyObject *get_name(PyObject *self, void *closure)
{
	return PyUnicode_DecodeUTF8(column_of(self)->name,
				    (Py_ssize_t)strlen(column_of(self)->name), "replace");
}

static PyObject *get_text(PyObject *self, void *closure)
{
	const char *text = closure ? column_of(self)->unit : column_of(self)->text;

	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *get_scale(PyObject *self, void *closure)
{
	return PyFloat_FromDouble(column_of(self)->scale);
}

static PyObject *get_kind(PyObject *self, void *closure)
{
	static const char *const kinds[] = { "count", "cycles", "bytes", "time", "level" };
	const unsigned int kind = column_of(self)->kind;

	return PyUnicode_FromString(kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : "count");
}

static PyObject *get_missing(PyObject *self, void *closure)
{
	return PyLong_FromSize_t(column_of(self)->missing);
}

/* The bits of Arrow: lowest first, one for each row. */
static PyObject *get_valid(PyObject *self, void *closure)
{
	const struct column *c = column_of(self);

	if (!c->valid)
		Py_RETURN_NONE;
	return PyBytes_FromStringAndSize((const char *)c->valid,
					 (Py_ssize_t)((rows_of(self) + 7) / 8));
}

static PyGetSetDef column_members[] = {
	{ "name", get_name, NULL, "name of the event, \"shader0/FRAGMENTS\"", NULL },
	{ "unit", get_text, NULL, "unit of a value times scale; empty: unknown", "" },
	{ "text", get_text, NULL, "what is counted, in a few words", NULL },
	{ "scale", get_scale, NULL, "factor from a value to the unit, 1 for most", NULL },
	{ "kind", get_kind, NULL, "count, cycles, bytes, time or level", NULL },
	{ "missing", get_missing, NULL, "rows that were not measured; their value is 0", NULL },
	{ "valid", get_valid, NULL, "a bit for each row that was measured; None: all", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef column_methods[] = {
	{ "total", column_total, METH_NOARGS,
	  "The exact sum of all rows; of a level the last value; None if nothing was measured." },
	{ "__arrow_c_array__", (PyCFunction)(void (*)(void))column_arrow,
	  METH_VARARGS | METH_KEYWORDS, "The column for Arrow, without a copy." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot column_slots[] = {
	{ Py_tp_doc, "Values of a counter, a row for each sample; a buffer of 64 or 32 bits." },
	{ Py_tp_dealloc, free_column },
	{ Py_bf_getbuffer, column_buffer },
	{ Py_bf_releasebuffer, column_release },
	{ Py_sq_length, column_length },
	{ Py_sq_item, column_item },
	{ Py_mp_length, column_length },
	{ Py_mp_subscript, column_get },
	{ Py_tp_getset, column_members },
	{ Py_tp_methods, column_methods },
	{ 0, NULL },
};

static PyType_Spec column_spec = {
	.name = "perfctr.Column",
	.basicsize = sizeof(struct column_object),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = column_slots,
};

/* --- Table ------------------------------------------------------------------- */

static void free_table(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct table_object *t = (struct table_object *)self;

	store_unref(t->store);
	Py_XDECREF(t->columns);
	PyObject_Free(self);
	Py_DECREF(type);
}

static Py_ssize_t table_length(PyObject *self)
{
	return (Py_ssize_t)((struct table_object *)self)->store->rows;
}

static PyObject *table_get(PyObject *self, PyObject *name)
{
	PyObject *column = PyDict_GetItemWithError(((struct table_object *)self)->columns, name);

	if (!column && !PyErr_Occurred())
		PyErr_Format(PyExc_KeyError, "no column %R; columns has the names", name);
	return Py_XNewRef(column);
}

static PyObject *table_iterate(PyObject *self)
{
	return PyObject_GetIter(((struct table_object *)self)->columns);
}

static int table_contains(PyObject *self, PyObject *name)
{
	return PyDict_Contains(((struct table_object *)self)->columns, name);
}

static PyObject *table_columns(PyObject *self, void *closure)
{
	return PyDictProxy_New(((struct table_object *)self)->columns);
}

static PyObject *table_arrow(PyObject *self, PyObject *args, PyObject *keywords)
{
	return arrow_pair(((struct table_object *)self)->store, NULL);
}

static PyGetSetDef table_members[] = {
	{ "columns", table_columns, NULL, "all columns by name, in order", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef table_methods[] = {
	{ "__arrow_c_array__", (PyCFunction)(void (*)(void))table_arrow,
	  METH_VARARGS | METH_KEYWORDS, "All columns for Arrow, without a copy." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot table_slots[] = {
	{ Py_tp_doc,
	  "Samples: a row for each, a column for each counter of each block.\n\n"
	  "As of a frame of pandas, len() is the number of rows; iteration and \"in\" are of the\n"
	  "columns' names." },
	{ Py_tp_dealloc, free_table },
	{ Py_mp_length, table_length },
	{ Py_mp_subscript, table_get },
	{ Py_tp_iter, table_iterate },
	{ Py_sq_contains, table_contains },
	{ Py_tp_getset, table_members },
	{ Py_tp_methods, table_methods },
	{ 0, NULL },
};

static PyType_Spec table_spec = {
	.name = "perfctr.Table",
	.basicsize = sizeof(struct table_object),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = table_slots,
};

static int add_columns(struct types *types, struct table_object *table)
{
	for (size_t n = 0; n < table->store->count; n++) {
		struct column_object *column = (struct column_object *)object_new(types->column);
		PyObject *name;
		int error;

		if (!column)
			return -1;
		column->store = store_ref(table->store);
		column->number = n;
		name = get_name((PyObject *)column, NULL);
		error = name ? PyDict_SetItem(table->columns, name, (PyObject *)column) : -1;
		Py_XDECREF(name);
		Py_DECREF(column);
		if (error)
			return -1;
	}
	return 0;
}

PyObject *table_new(PyObject *module, struct store *store)
{
	struct types *types = PyModule_GetState(module);
	struct table_object *table = (struct table_object *)object_new(types->table);

	if (!table) {
		store_unref(store);
		return NULL;
	}
	table->store = store;
	table->columns = PyDict_New();
	if (!table->columns || add_columns(types, table)) {
		Py_DECREF(table);
		return NULL;
	}
	return (PyObject *)table;
}

int columns_init(PyObject *module)
{
	struct types *types = PyModule_GetState(module);

	types->column = PyType_FromModuleAndSpec(module, &column_spec, NULL);
	types->table = PyType_FromModuleAndSpec(module, &table_spec, NULL);
	if (!types->column || !types->table)
		return -1;
	if (PyModule_AddObjectRef(module, "Column", types->column))
		return -1;
	return PyModule_AddObjectRef(module, "Table", types->table);
}
