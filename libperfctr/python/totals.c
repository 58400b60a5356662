// SPDX-License-Identifier: MIT
/* Totals of samples as Python's objects. */
#include "module.h"

#include <math.h>

enum { TEXT_BYTES = 768 };

static PyObject *number_or_none(double number)
{
	if (isfinite(number))
		return PyFloat_FromDouble(number);
	Py_RETURN_NONE;
}

/* Of a counter that has a value. */
static PyObject *exact(const struct perfctr_value *value, uint64_t number, bool is_level)
{
	if (value->state != PERFCTR_VALUE_OK)
		Py_RETURN_NONE;
	return is_level ? PyLong_FromLongLong((int64_t)number) :
			  PyLong_FromUnsignedLongLong(number);
}

static PyObject *counter_new(const struct perfctr_selection *selection,
			     const struct perfctr_totals_block *block, size_t n)
{
	const struct perfctr_totals_block_info *info = perfctr_totals_block_info(block);
	const struct perfctr_total *total = perfctr_totals_counter(block, n);
	const bool is_level = total->desc && total->desc->kind == PERFCTR_KIND_LEVEL;
	char name[TEXT_BYTES], counter[TEXT_BYTES], unit[TEXT_BYTES];
	double scale = 1, running, number = NAN, rate = NAN;
	struct perfctr_value value;
	PyObject *dict = PyDict_New();
	int error = !dict;

	perfctr_totals_label(selection, block, n, counter, sizeof(counter));
	perfctr_totals_unit(selection, block, n, unit, sizeof(unit), &scale);
	event_name(info, selection, counter, name, sizeof(name));
	perfctr_totals_value(block, n, &value, &running);
	if (value.state == PERFCTR_VALUE_OK)
		number = value.number * scale;
	if (!is_level && info->elapsed_ns)
		rate = number * 1e9 / (double)info->elapsed_ns;
	error = error || put(dict, "event", text_new(name)) ||
		put(dict, "block", text_new(info->label)) ||
		put(dict, "counter", text_new(counter)) || put(dict, "unit", text_new(unit)) ||
		put(dict, "value", exact(&value, total->sum, is_level)) ||
		put(dict, "number", number_or_none(number)) ||
		put(dict, "rate", number_or_none(rate)) ||
		put(dict, "minimum", exact(&value, total->min, is_level)) ||
		put(dict, "maximum", exact(&value, total->max, is_level)) ||
		put(dict, "measured", PyLong_FromUnsignedLongLong(total->measured)) ||
		put(dict, "missed", PyLong_FromUnsignedLongLong(total->missed)) ||
		put(dict, "running", PyFloat_FromDouble(running));
	if (!error)
		return dict;
	Py_XDECREF(dict);
	return NULL;
}

static int append(PyObject *list, PyObject *item)
{
	int error = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	return error;
}

PyObject *totals_list(struct perfctr_totals *totals, const struct perfctr_selection *selection,
		      bool per_block)
{
	const struct perfctr_totals *from = per_block ? totals : perfctr_totals_by_type(totals);
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < perfctr_totals_block_count(from); n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(from, n);

		for (size_t i = 0; list && i < perfctr_totals_counter_count(block); i++)
			if (append(list, counter_new(selection, block, i)))
				Py_CLEAR(list);
	}
	return list;
}

PyObject *metrics_list(struct perfctr_totals *totals, const struct perfctr_selection *selection)
{
	const struct perfctr_totals *sums = perfctr_totals_by_type(totals);
	PyObject *list = PyList_New(0);

	for (size_t n = 0; list && n < perfctr_selection_metric_count(selection); n++) {
		const struct perfctr_metric_desc *metric = perfctr_selection_metric(selection, n);
		struct perfctr_value value = { .state = PERFCTR_VALUE_NOT_MEASURED };
		PyObject *dict = PyDict_New();
		int error = !dict;
		char type[64];

		perfctr_block_label(metric->block_type, DRM_PERFCTR_INDEX_ALL, type, sizeof(type));
		perfctr_totals_metric(sums, metric, NULL, &value);
		error = error ||
			put(dict, "event",
			    PyUnicode_FromFormat("metric:%s.%s", type, metric->name)) ||
			put(dict, "value",
			    number_or_none(value.state == PERFCTR_VALUE_OK ? value.number : NAN)) ||
			put(dict, "unit", text_new(metric->unit)) ||
			put(dict, "state", text_new(perfctr_value_state_text(value.state)));
		if (!error)
			error = PyList_Append(list, dict);
		Py_XDECREF(dict);
		if (error)
			Py_CLEAR(list);
	}
	return list;
}

PyObject *span_dict(const struct perfctr_totals *totals)
{
	const struct perfctr_span *span = perfctr_totals_span(totals);
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "samples", span->samples },
		{ "start_ns", span->start_ns },
		{ "end_ns", span->end_ns },
		{ "elapsed_ns", span->elapsed_ns },
		{ "merged_periods", span->merged_periods },
		{ "lost_ns", span->lost_ns },
		{ "missing_samples", span->missing_samples },
	};
	PyObject *dict = PyDict_New();

	for (size_t n = 0; dict && n < sizeof(members) / sizeof(*members); n++)
		if (put(dict, members[n].name, PyLong_FromUnsignedLongLong(members[n].value)))
			Py_CLEAR(dict);
	return dict;
}
