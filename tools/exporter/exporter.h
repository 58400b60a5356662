/* SPDX-License-Identifier: MIT */
/* The parts of perfctr-exporter: devices, their text, the scrapers. */
#pragma once

#include "lib/app.h"
#include "lib/option.h"
#include "lib/rows.h"
#include "lib/signals.h"

enum { MAX_SOURCES = 16 };

/* a device: one session, made again when it is lost */
struct source {
	const char *which; /* node, driver or name; NULL: the first; once open: @node */
	char node[64];
	char *place; /* of the device, NULL: it has no node */
	struct option_words events; /* names; empty: the defaults */
	bool per_block;
	char label[64]; /* value of the label "device": "renderD128", "local" */
	char driver[64], name[64];
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct perfctr_session *session; /* NULL: lost */
	struct perfctr_cursor *cursor;
	struct perfctr_totals *all; /* since the exporter began, over all sessions */
	struct perfctr_totals *last; /* the last sample */
	struct rows sums, now; /* of these totals; filled by source_rows() */
	uint64_t resets; /* samples in which the device was reset */
	uint64_t restarts; /* sessions after the first */
	uint64_t retry_ns; /* when to try again, or to ask whether it counts; clock of samples */
};

struct exporter {
	struct app *app;
	const struct option_spec *options; /* the command line's, for the configuration */
	const char *listen, *textfile; /* NULL: none */
	uint64_t period_ns;
	bool once, json;
	FILE *null; /* for messages that were printed before */
	bool write_failed; /* the last write of the textfile */
	struct source sources[MAX_SOURCES];
	size_t count;
	struct signals signals;
	struct http *http;
};

/*
 * Open a device and begin to count. After a failure it can be opened again, if it is the same one.
 * Return: 0 or an exit status, the message was printed.
 */
int source_open(struct exporter *exporter, struct source *source);

/*
 * Take in the samples of the ring. A session that ended is closed, with a message; its counts stay,
 * and it is made again for the same device, at most once a second.
 * Return: whether anything changed.
 */
bool source_take(struct exporter *exporter, struct source *source);

/* Fill the tables. Return: 0 or a negative errno. */
int source_rows(struct source *source);
void source_free(struct source *source);

/*
 * Write all that the sources have; each family is in one piece.
 * @open: as OpenMetrics 1.0.0, else as Prometheus' text 0.0.4.
 * Return: 0, or a negative errno and nothing was written.
 */
int text_write(FILE *out, struct exporter *exporter, bool open);

/* Listen at @listen. Return: 0 or an exit status, the message was printed. */
int http_open(struct exporter *exporter);

/* File to poll for input; -1: not open. */
int http_fd(const struct http *http);

/* Serve what can be served without waiting. Return: longest time to wait, at most 1000 ms. */
int http_run(struct http *http);

/* The sources have changed. */
void http_refresh(struct http *http);
void http_free(struct http *http);
