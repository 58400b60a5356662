/* SPDX-License-Identifier: MIT */
/* The parts of perfctr-exporter: devices, their text, the scrapers. */
#pragma once

#include "clients.h"
#include "lib/app.h"
#include "lib/option.h"
#include "lib/rows.h"
#include "lib/signals.h"

enum { MAX_DEVICES = 16 };

/* a device: one session, made again when it is lost */
struct exported {
	const char *which; /* of the command line: node, driver or name; NULL: the first */
	bool is_of_all; /* of -d all: it counts those of the events that it has, or is left out */
	char *place; /* which device it is: device_place(); NULL: the local one, or never open */
	char name[64]; /* value of the label "device": its node, "local"; a lost one's last node */
	struct option_words events; /* names; empty: the defaults */
	bool per_block;
	struct perfctr_device *device; /* as all below but the sums: NULL while it is lost */
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_totals *all; /* since the exporter began, over all sessions */
	struct perfctr_totals *last; /* the last sample; empty if there are no gauges */
	struct rows sums, now; /* of these totals; filled by exported_rows() */
	uint64_t resets; /* samples in which the device was reset */
	uint64_t restarts; /* sessions after the first */
	uint64_t retry_ns; /* when to try again, or to ask whether it counts; clock of samples */
};

struct exporter {
	struct app *app;
	const struct option_spec *options; /* the command line's, for the configuration */
	const char *listen, *textfile; /* NULL: none */
	struct option_words host_names; /* by which requests may call this machine */
	uint64_t period_ns;
	bool once, json, per_client;
	struct uses uses; /* if @per_client */
	uint64_t uses_ns; /* when to read them next; clock of samples */
	/* users of this machine and addresses of others that may see the clients */
	struct option_words viewers;
	FILE *null; /* for messages that were printed before */
	bool write_failed; /* the last write of the textfile */
	struct exported devices[MAX_DEVICES];
	size_t count;
	struct signals signals;
	struct http *http;
};

/*
 * Open a device and begin to count. It has the name of its node, also of another one than before;
 * a lost device whose node it took then has the name of what that one was attached to.
 * Return: 0 or an exit status, the message was printed.
 */
int exported_open(struct exporter *exporter, struct exported *device);

/* Whether two that are open are the same device, whatever they were opened by. */
bool exported_is_same(const struct exported *a, const struct exported *b);

/*
 * Take in the samples of the ring. A session that ended is closed, with a message; its counts stay,
 * and it is made again for the same device, at most once a second.
 * Return: whether anything changed.
 */
bool exported_take(struct exporter *exporter, struct exported *device);

/* Fill the tables. Return: 0 or a negative errno. */
int exported_rows(struct exported *device);
void exported_free(struct exported *device);

/*
 * Write all that the devices have; each family is in one piece.
 * @open: as OpenMetrics 1.0.0, else as Prometheus' text 0.0.4.
 * @clients: with the series of clients, which then are shown.
 * Return: 0, or a negative errno and nothing was written.
 */
int text_write(FILE *out, struct exporter *exporter, bool open, bool clients);

/*
 * Check the names and addresses of those who may see the clients.
 * Return: 0 or an exit status, the message was printed.
 */
int viewers_check(const struct exporter *exporter);

/* Whether who is at the other end of a TCP connection may see the clients. */
bool viewers_include(const struct exporter *exporter, int fd);

/* Listen at @listen. Return: 0 or an exit status, the message was printed. */
int http_open(struct exporter *exporter);

/* File to poll for input; -1: not open. */
int http_fd(const struct http *http);

/* Serve what can be served without waiting. Return: longest time to wait, at most 1000 ms. */
int http_run(struct http *http);

/* The devices have new samples. */
void http_refresh(struct http *http);
void http_free(struct http *http);
