// SPDX-License-Identifier: MIT
/* Event names: from the user's text to the requests of a selection. */
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "metric.h"

#define METRIC_PREFIX "metric:"

/* --- metrics ------------------------------------------------------------------- */

/* Add the counter of a name in a formula, in the blocks of one type. */
static int add_metric_counter(struct event_parser *p, const struct perfctr_metric_desc *metric,
			      const char *name)
{
	const char *dot = strchr(name, '.');
	char type[LABEL_BYTES];

	if (metric_is_variable(name))
		return 0;
	snprintf(type, sizeof(type), "%.*s", dot ? (int)(dot - name) : 0, dot ? name : "");
	if (!dot)
		snprintf(type, sizeof(type), "%s", perfctr_block_type_name(metric->block_type));
	name = dot ? dot + 1 : name;
	return event_is_gpu_block(p, type) ? event_add_gpu(p, type, name) :
					     event_add_pmu(p, type, name);
}

static int add_metric(struct event_parser *p, const struct perfctr_metric_desc *metric)
{
	struct perfctr_expr *expr;
	const char *name;
	int error;

	error = perfctr_expr_new(p->ctx, metric->formula, &expr);
	if (error)
		return error;
	for (size_t n = 0; !error && (name = perfctr_expr_name(expr, n)); n++)
		error = add_metric_counter(p, metric, name);
	perfctr_expr_unref(expr);
	return error ? error : selection_add_metric(p->selection, metric);
}

static bool has_product(void *parser, unsigned int product)
{
	return event_has_block(parser, product, 0);
}

/* Return: how many match, 0: none that this device can count, negative error. */
static int add_metrics(struct event_parser *p, const char *pattern)
{
	const struct perfctr_metric_desc *metric = NULL;
	size_t before = p->selection->metric_count;
	int found = 0;

	while ((metric = database_metric_next(metric, has_product, p))) {
		char full[2 * LABEL_BYTES];
		int error;

		if (!event_has_block(p, metric->product, metric->block_type))
			continue;
		snprintf(full, sizeof(full), "%s.%s", perfctr_block_type_name(metric->block_type),
			 metric->name);
		if (!event_matches(pattern, metric->name) && !event_matches(pattern, full) &&
		    !event_matches(pattern, metric->id))
			continue;
		found++;
		error = add_metric(p, metric);
		/* one of many matches may need a counter that this device lacks */
		if (error == -ENOENT && event_is_glob(pattern))
			continue;
		if (error)
			return error;
	}
	if (p->selection->metric_count == before && event_is_glob(pattern) && !p->found)
		return 0;
	return found;
}

/* --- the text -------------------------------------------------------------------- */

/* perf's short names of software events; events of perf's own tool; kinds without a PMU to count */
static const char *software_name(const char *name)
{
	static const char *const aliases[][2] = {
		{ "cs", "context-switches" },
		{ "faults", "page-faults" },
		{ "migrations", "cpu-migrations" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(aliases); n++)
		if (!strcmp(aliases[n][0], name))
			return aliases[n][1];
	return name;
}

static bool is_of_tool(const char *name)
{
	return !strcmp(name, "duration_time") || !strcmp(name, "user_time") ||
	       !strcmp(name, "system_time");
}

static bool has_tracepoints(const struct event_parser *p)
{
	for (size_t n = 0; n < p->pmus.count; n++)
		if (!strcmp(p->pmus.pmus[n].name, "tracepoint"))
			return true;
	return false;
}

/* Events that perf writes in ways of their own. Return: 1: it is none of them. */
static int add_special(struct event_parser *p, const char *name)
{
	const char *colon = strchr(name, ':');

	if (is_of_tool(name))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: perf stat measures it, no PMU does; "
				    "outputs of perfctr have the time of the counts",
				    name);
	if (!strncmp(name, "mem:", strlen("mem:")))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: perfctr counts no breakpoints", name);
	/* "sched:sched_switch" */
	if (!colon || !colon[1] || colon == name || strchr(colon + 1, ':') ||
	    !(p->device->info.features & DRM_PERFCTR_FEATURE_PMU) || event_load_pmus(p) ||
	    !has_tracepoints(p))
		return 1;
	if (event_is_glob(name))
		return perfctr_fail(p->ctx, -EOPNOTSUPP,
				    "%s is not supported: name one tracepoint at a time", name);
	return event_add_pmu(p, "tracepoint", name);
}

/* Counters, PMU events and metrics whose name, without a block or PMU, matches. */
static int add_by_name(struct event_parser *p, const char *name)
{
	int before = p->found;
	struct generic_event generic;
	uint64_t raw;
	int result;

	if (!strncmp(name, METRIC_PREFIX, strlen(METRIC_PREFIX))) {
		name += strlen(METRIC_PREFIX);
		result = add_metrics(p, name);
		return result ? (result < 0 ? result : 0) : event_fail_no_metric(p, name);
	}
	result = add_special(p, name);
	if (result <= 0)
		return result;
	p->alias = name;
	/* also where a fabric or a GPU has a counter of that name */
	if (!p->gpu_first && generic_event_find(name, &generic))
		return event_add_of_cores(p, name, &generic, 0);
	if (event_is_gpu_block_alone(p, name))
		return event_add_gpu(p, name, "");
	result = event_add_gpu_counters(p, NULL, name);
	if (result)
		return result < 0 ? result : 0;
	result = event_add_pmu_plain(p, software_name(name));
	if (result < 0)
		return result;
	result = p->found == before ? event_fail_other_set(p, NULL, name) : 0;
	if (result || p->found != before)
		return result;
	result = p->flags ? 0 : add_metrics(p, name);
	if (result)
		return result < 0 ? result : 0;
	if (generic_event_find(name, &generic))
		return event_add_of_cores(p, name, &generic, 0);
	if (raw_event_parse(name, &raw))
		return event_add_of_cores(p, name, NULL, raw);
	return event_fail_unknown(p, NULL, name, false);
}

/* Take perf's modifiers of an event, "u" or "kp". */
static int take_modifiers(struct event_parser *p, const char *event, const char *text,
			  size_t length)
{
	if (length >= sizeof(p->modifiers))
		return perfctr_fail(p->ctx, -EINVAL, "%s: too many modifiers", event);
	memcpy(p->modifiers, text, length);
	p->modifiers[length] = '\0';
	return modifiers_parse(p->ctx, event, p->modifiers, &p->flags);
}

/* "cycles" or "cycles:u". */
static int add_plain(struct event_parser *p, char *name)
{
	char *colon = strrchr(name, ':');
	int error = 0;

	/* all that perf knows, to name the one that is not supported */
	if (colon && colon[1] && strspn(colon + 1, PERF_MODIFIERS) == strlen(colon + 1) &&
	    strncmp(name, METRIC_PREFIX, strlen(METRIC_PREFIX)) != 0) {
		*colon = '\0';
		error = take_modifiers(p, name, colon + 1, strlen(colon + 1));
	}
	return error ? error : add_by_name(p, name);
}

static int cut(struct event_parser *p, char *to, const char *from, size_t length)
{
	if (length >= EVENT_BYTES)
		return perfctr_fail(p->ctx, -EINVAL, "an event name of %zu characters", length);
	memcpy(to, from, length);
	to[length] = '\0';
	return 0;
}

/*
 * Read one event at *text and advance past it.
 *
 * Commas separate events, but also the terms of a perf PMU between its slashes, so the text before
 * the first slash determines where the event ends.
 */
static int add_event(struct event_parser *p, const char **text)
{
	const char *start = *text;
	size_t head_length = strcspn(start, "/,{}");
	size_t length = strcspn(start, ",{}");
	char head[EVENT_BYTES], tail[EVENT_BYTES];
	const char *close;
	bool is_gpu;
	int error;

	p->flags = 0;
	p->modifiers[0] = '\0';
	p->alias = NULL;
	if (!strncmp(start, METRIC_PREFIX, strlen(METRIC_PREFIX)))
		head_length = length;
	error = cut(p, head, start, head_length);
	if (error)
		return error;
	if (!head_length)
		return perfctr_fail(p->ctx, -EINVAL, "an event without a name at \"%s\"", start);
	p->is_pattern = event_is_glob(head);
	if (start[head_length] != '/') {
		*text = start + head_length;
		return add_plain(p, head);
	}

	start += head_length + 1;
	close = strchr(start, '/');
	/* first, as a mistyped block would take the events after it for terms */
	is_gpu = event_is_gpu_block(p, head);
	error = is_gpu ? 0 : event_need_pmu(p, head);
	if (error)
		return error;
	if (is_gpu) {
		length = strcspn(start, "/,{}");
		*text = start + length + (start[length] == '/');
	} else if (close) {
		length = (size_t)(close - start);
		*text = close + 1;
	} else {
		length = strcspn(start, ",{}");
		*text = start + length;
	}
	error = cut(p, tail, start, length);
	if (error)
		return error;
	p->is_pattern |= event_is_glob(tail) || !*tail;
	*text += **text == ':' && close && close < *text;
	length = strcspn(*text, ",{} ");
	if (length && is_gpu)
		return perfctr_fail(
			p->ctx, -EINVAL,
			"\"%s\" after %s/%s/: modifiers have no meaning for these counters", *text,
			head, tail);
	error = take_modifiers(p, tail, *text, length);
	if (error)
		return error;
	*text += length;
	return is_gpu ? event_add_gpu(p, head, tail) : event_add_pmu(p, head, tail);
}

static int add_text(struct event_parser *p, const char *text)
{
	const char *open = NULL; /* the brace of a group */
	bool expect_event = true;
	int error = 0;

	while (!error && *text) {
		switch (*text) {
		case ',':
			if (expect_event)
				return perfctr_fail(p->ctx, -EINVAL, "an empty event at \"%s\"",
						    text);
			expect_event = true;
			text++;
			break;
		case '{':
		case '}':
			if (text[1] == ':')
				return perfctr_fail(
					p->ctx, -EINVAL,
					"\"%s\": modifiers of a group are not supported: "
					"write them behind each event",
					text + 1);
			if ((*text == '{') == !!open)
				return perfctr_fail(p->ctx, -EINVAL, "a brace too many at \"%s\"",
						    text);
			open = *text == '{' ? text : NULL;
			text++;
			break;
		case ' ':
			text++;
			break;
		default:
			/* perf's name of a group: "g1:{" */
			if (text[strcspn(text, ":,{}/ ")] == ':' &&
			    text[strcspn(text, ":,{}/ ") + 1] == '{') {
				text += strcspn(text, "{");
				break;
			}
			if (!expect_event)
				return perfctr_fail(p->ctx, -EINVAL, "a comma is missing at \"%s\"",
						    text);
			expect_event = false;
			error = add_event(p, &text);
		}
	}
	if (!error && expect_event)
		return perfctr_fail(p->ctx, -EINVAL, "an event name is missing at the end");
	if (!error && open)
		return perfctr_fail(p->ctx, -EINVAL, "\"%s\" has no closing brace", open);
	return error;
}

EXPORT size_t perfctr_event_length(struct perfctr_device *device, const char *text)
{
	const struct event_parser p = { .ctx = device->ctx, .device = device };
	size_t head_length = strcspn(text, "/,{}");
	const char *close;
	char head[EVENT_BYTES];

	if (!strncmp(text, METRIC_PREFIX, strlen(METRIC_PREFIX)) || text[head_length] != '/' ||
	    head_length >= sizeof(head))
		return strcspn(text, ",");
	memcpy(head, text, head_length);
	head[head_length] = '\0';
	close = strchr(text + head_length + 1, '/');
	if (event_is_gpu_block(&p, head) || !close)
		return strcspn(text, ",");
	return (size_t)(close - text) + strcspn(close, ",");
}

static int add_to(struct perfctr_selection *selection, const char *text, bool gpu_first)
{
	struct event_parser p = {
		.ctx = selection->device->ctx,
		.device = selection->device,
		.gpu_first = gpu_first,
	};
	int error;

	error = perfctr_selection_copy(selection, &p.selection);
	if (error)
		return error;
	error = add_text(&p, text);
	pmu_list_free(&p.pmus);
	if (error) {
		perfctr_selection_unref(p.selection);
		return error;
	}
	selection_take(selection, p.selection);
	return p.found;
}

EXPORT int perfctr_selection_add(struct perfctr_selection *selection, const char *text)
{
	return add_to(selection, text, false);
}

int selection_add_of_gpu(struct perfctr_selection *selection, const char *text)
{
	return add_to(selection, text, true);
}
