// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "lib/device.h"

/* The selection keeps the device open, too, and its number from being used again. */
static void close_session(struct source *s)
{
	struct perfctr_totals *const refer[] = { s->all, s->last, s->sums.sum, s->now.sum };

	for (size_t n = 0; n < ARRAY_SIZE(refer); n++)
		if (refer[n])
			perfctr_totals_describe(refer[n], NULL);
	s->selection = perfctr_selection_unref(s->selection);
	s->cursor = perfctr_cursor_unref(s->cursor);
	s->session = perfctr_session_unref(s->session);
	s->device = perfctr_device_unref(s->device);
}

/* Totals stay while the device is lost. */
static int describe_totals(struct exporter *e, struct source *s, struct perfctr_totals **totals)
{
	return *totals ? perfctr_totals_describe(*totals, s->selection) :
			 rows_totals(e->app, s->selection, totals);
}

static int start(struct exporter *e, struct source *s)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts),
					     .period_ns = e->once ? 0 : e->period_ns,
					     .flags = PERFCTR_SESSION_SKIP_UNSUPPORTED };
	int error = perfctr_session_new(s->selection, &opts, &s->session);

	if (!error)
		error = perfctr_cursor_new(s->session, &s->cursor);
	if (!error)
		error = describe_totals(e, s, &s->all);
	if (!error)
		error = describe_totals(e, s, &s->last);
	if (!error)
		error = perfctr_session_start(s->session, 0);
	return error ? app_failed(e->app, error) : 0;
}

/* Label and identity of a device that was opened for the first time. */
static void identify(struct source *s)
{
	char path[PATH_MAX];
	const char *slash;

	/* the broker's node may be hidden from this process */
	if (!realpath(perfctr_device_path(s->device), path))
		snprintf(path, sizeof(path), "%s", perfctr_device_path(s->device));
	slash = device_is_local(s->device) ? NULL : strrchr(path, '/');
	snprintf(s->label, sizeof(s->label), "%s", slash ? slash + 1 : PERFCTR_DEVICE_LOCAL);
	snprintf(s->driver, sizeof(s->driver), "%s", perfctr_device_driver(s->device));
	snprintf(s->name, sizeof(s->name), "%s", perfctr_device_info(s->device)->name);
	s->place = device_place(s->device);
	s->which = strcpy(s->node, s->label);
}

int source_open(struct exporter *e, struct source *s)
{
	int error, status = device_open(e->app, s->which, &s->device);

	if (status)
		return status;
	error = perfctr_selection_new(s->device, &s->selection);
	status = error ? app_failed(e->app, error) :
			 device_select(e->app, s->device, s->selection, s->events.words,
				       s->events.count);
	if (!*s->label && (status || !s->events.count))
		device_note_sleepers(e->app, s->which, s->device);
	if (!status && s->per_block)
		status = device_select_per_cpu(e->app, s->selection);
	if (!status)
		status = start(e, s);
	if (status)
		close_session(s);
	else if (!*s->label)
		identify(s);
	return status;
}

static bool retry(struct exporter *e, struct source *s)
{
	FILE *err = e->app->err;
	int status;

	/* a device may come back with another node, and another device with its */
	if (s->place && !device_at(s->place, s->node, sizeof(s->node)))
		return false;
	e->app->err = e->null;
	status = source_open(e, s);
	e->app->err = err;
	if (status)
		return false;
	s->restarts++;
	app_error(e->app, "%s counts again", s->label);
	return true;
}

bool source_take(struct exporter *e, struct source *s)
{
	struct drm_perfctr_status status;
	struct perfctr_sample sample;
	const uint64_t now = perfctr_time_raw_ns();
	const bool is_time = now >= s->retry_ns;
	bool changed = false;
	int result;

	if (is_time)
		s->retry_ns = now + NS_PER_S;
	if (!s->session)
		return is_time && retry(e, s);
	while ((result = perfctr_cursor_next(s->cursor, &sample)) > 0) {
		s->resets += !!(sample.flags & DRM_PERFCTR_SAMPLE_RESET);
		perfctr_totals_reset(s->last);
		result = perfctr_totals_add(s->all, &sample);
		if (!result)
			result = perfctr_totals_add(s->last, &sample);
		if (!result)
			result = perfctr_cursor_advance(s->cursor, 1);
		if (result)
			break;
		changed = true;
	}
	/* the ring of a local session does not tell that a broker was killed */
	if (!result && !changed && is_time)
		result = perfctr_session_status(s->session, &status, sizeof(status));
	if (result >= 0)
		return changed;
	app_error(e->app, "%s is lost: %s; trying again", s->label,
		  result == -ENODEV ? "the device or the broker is gone" :
				      perfctr_ctx_error(e->app->ctx));
	perfctr_totals_reset(s->last);
	source_rows(s);
	close_session(s);
	return true;
}

int source_rows(struct source *s)
{
	int error = 0;

	/* a lost one stays as it was */
	if (s->selection)
		error = rows_fill(&s->sums, s->all, s->selection, s->per_block);
	if (s->selection && !error)
		error = rows_fill(&s->now, s->last, s->selection, s->per_block);
	return error;
}

void source_free(struct source *s)
{
	close_session(s);
	rows_free(&s->sums);
	rows_free(&s->now);
	perfctr_totals_unref(s->all);
	perfctr_totals_unref(s->last);
	free(s->place);
	option_words_free(&s->events);
}
