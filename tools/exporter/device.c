// SPDX-License-Identifier: MIT
/* A device of the exporter: its session, which is made again, and its name, which may change. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "lib/device.h"

enum { SLOTS = 4 };

/* The selection keeps the device open, too, and its number from being used again. */
static void close_session(struct exported *d)
{
	struct perfctr_totals *const refer[] = { d->all, d->last };

	for (size_t n = 0; n < ARRAY_SIZE(refer); n++)
		if (refer[n])
			perfctr_totals_describe(refer[n], NULL);
	d->selection = perfctr_selection_unref(d->selection);
	d->cursor = perfctr_cursor_unref(d->cursor);
	d->session = perfctr_session_unref(d->session);
	d->device = perfctr_device_unref(d->device);
}

/* Totals stay while the device is lost. */
static int describe_totals(struct exporter *e, struct exported *d, struct perfctr_totals **totals)
{
	return *totals ? perfctr_totals_describe(*totals, d->selection) :
			 rows_totals(e->app, d->selection, totals);
}

static int start(struct exporter *e, struct exported *d)
{
	/* each sample is taken at once; with a full ring the periods of the next one are longer */
	struct perfctr_session_opts opts = { .size = sizeof(opts),
					     .slots = e->period_ns >= NS_PER_S ? SLOTS : 0,
					     .period_ns = e->once ? 0 : e->period_ns,
					     .flags = PERFCTR_SESSION_SKIP_UNSUPPORTED };
	int error = perfctr_session_new(d->selection, &opts, &d->session);

	if (!error)
		error = perfctr_cursor_new(d->session, &d->cursor);
	if (!error)
		error = describe_totals(e, d, &d->all);
	if (!error)
		error = describe_totals(e, d, &d->last);
	if (!error)
		error = perfctr_session_start(d->session, 0);
	return error ? app_failed(e->app, error) : 0;
}

/* A lost device whose node this one has now gets the name of what it was attached to. */
static void take_name(struct exporter *e, const struct exported *d)
{
	for (size_t n = 0; n < e->count; n++) {
		struct exported *lost = &e->devices[n];
		char *end, place[PATH_MAX];

		if (lost == d || !lost->place || strcmp(lost->name, d->name))
			continue;
		/* ".../0000:03:00.0/drm/renderD*" */
		snprintf(place, sizeof(place), "%s", lost->place);
		for (int parts = 0; parts < 2 && (end = strrchr(place, '/')); parts++)
			*end = '\0';
		end = strrchr(place, '/');
		snprintf(lost->name, sizeof(lost->name), "%s", end ? end + 1 : lost->place);
	}
}

/* Name and, the first time, identity of a device that was opened. */
static void identify(struct exporter *e, struct exported *d)
{
	device_node(d->device, d->name, sizeof(d->name));
	if (!d->place)
		d->place = device_place(d->device);
	take_name(e, d);
}

/* @which: what opens the device now. */
static int open_as(struct exporter *e, struct exported *d, const char *which)
{
	const bool is_first = !*d->name;
	int error, status = device_open(e->app, which, false, &d->device);

	if (status)
		return status;
	error = perfctr_selection_new(d->device, &d->selection);
	if (error)
		status = app_failed(e->app, error);
	else if (!d->is_of_all)
		status = device_select(e->app, d->device, d->selection, d->events.words,
				       d->events.count);
	else if (d->events.count)
		status = device_select_existing(e->app, d->device, d->selection, &d->events,
						device_is_local(d->device));
	else
		status = device_select_defaults(e->app, d->device, d->selection,
						device_is_local(d->device));
	if (!status && !perfctr_selection_request_count(d->selection)) {
		app_error(e->app, "%s has none of the events", perfctr_device_path(d->device));
		status = EXIT_USAGE;
	}
	if (is_first && (status || !d->events.count))
		device_note_others(e->app, which, d->device);
	if (!status && d->per_block)
		status = device_select_per_cpu(e->app, d->selection);
	if (!status)
		status = start(e, d);
	if (status)
		close_session(d);
	else
		identify(e, d);
	return status;
}

int exported_open(struct exporter *e, struct exported *d)
{
	return open_as(e, d, d->which);
}

bool exported_is_same(const struct exported *a, const struct exported *b)
{
	return a->place && b->place ? !strcmp(a->place, b->place) : !a->place && !b->place;
}

static bool retry(struct exporter *e, struct exported *d)
{
	const char *which = PERFCTR_DEVICE_LOCAL;
	FILE *err = e->app->err;
	char node[64], before[sizeof(d->name)];
	int status;

	/* a device may come back with another node, and another device with its */
	if (d->place) {
		if (!device_at(d->place, node, sizeof(node)))
			return false;
		which = node;
	}
	snprintf(before, sizeof(before), "%s", d->name);
	e->app->err = e->null;
	status = open_as(e, d, which);
	e->app->err = err;
	if (status)
		return false;
	d->restarts++;
	app_error(e->app, "%s counts again%s%s", before, strcmp(before, d->name) ? ", it is " : "",
		  strcmp(before, d->name) ? d->name : "");
	return true;
}

/* Whether anything that is counted is a gauge, whose value is that of the last sample alone. */
static bool has_gauges(const struct exported *d)
{
	const struct perfctr_totals *types = perfctr_totals_by_type(d->all);
	const struct perfctr_totals_block *block;
	const struct perfctr_total *total;

	if (perfctr_selection_metric_count(d->selection))
		return true;
	for (size_t n = 0; (block = perfctr_totals_block(types, n)); n++)
		for (size_t c = 0; (total = perfctr_totals_counter(block, c)); c++)
			if (total->desc && total->desc->kind == PERFCTR_KIND_LEVEL)
				return true;
	return false;
}

bool exported_take(struct exporter *e, struct exported *d)
{
	struct drm_perfctr_status status;
	struct perfctr_sample sample;
	const uint64_t now = perfctr_time_raw_ns();
	const bool is_time = now >= d->retry_ns;
	bool changed = false;
	int result;

	if (is_time)
		d->retry_ns = now + NS_PER_S;
	if (!d->session)
		return is_time && retry(e, d);
	while ((result = perfctr_cursor_next(d->cursor, &sample)) > 0) {
		d->resets += !!(sample.flags & DRM_PERFCTR_SAMPLE_RESET);
		perfctr_totals_reset(d->last);
		result = perfctr_totals_add(d->all, &sample);
		if (!result && has_gauges(d))
			result = perfctr_totals_add(d->last, &sample);
		if (!result)
			result = perfctr_cursor_advance(d->cursor, 1);
		if (result)
			break;
		changed = true;
	}
	/* the ring of a local session does not tell that a broker was killed */
	if (!result && !changed && is_time)
		result = perfctr_session_status(d->session, &status, sizeof(status));
	if (result >= 0)
		return changed;
	app_error(e->app, "%s is lost: %s; trying again", d->name,
		  result == -ENODEV ? "the device or the broker is gone" :
				      perfctr_ctx_error(e->app->ctx));
	perfctr_totals_reset(d->last);
	exported_rows(d);
	close_session(d);
	return true;
}

int exported_rows(struct exported *d)
{
	int error = 0;

	/* a lost one stays as it was */
	if (d->selection)
		error = rows_fill(&d->sums, d->all, d->selection, d->per_block);
	if (d->selection && !error)
		error = rows_fill(&d->now, d->last, d->selection, d->per_block);
	return error;
}

void exported_free(struct exported *d)
{
	close_session(d);
	rows_free(&d->sums);
	rows_free(&d->now);
	perfctr_totals_unref(d->all);
	perfctr_totals_unref(d->last);
	free(d->place);
	option_words_free(&d->events);
}
