// SPDX-License-Identifier: MIT
/*
 * gpu_stats of v3d: a table of its queues, with the time in which each was busy and its jobs since
 * the driver was bound. It has all programs, also those that ended and those of others; any user
 * may read it, and that does not wake the GPU. The time of a job that runs is in it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "fdinfo.h"
#include "gauge.h"
#include "gpu_stats.h"

#define DRM_CLASS "/sys/class/drm"
#define HEADER "queue\ttimestamp\tjobs\truntime"

enum { TEXT_BYTES = 2048, QUEUE_BYTES = 24 };

static const struct {
	const char *prefix;
	struct gauge_kind kind;
} columns[] = {
	/* an engine is busy for no longer than there is time */
	{ "engine", { GPU_STATS_TIME, true, 1, 1, 2 * NS_PER_S } },
	{ "jobs", { GPU_STATS_JOBS, true, 1, 1, 0 } },
};

struct row {
	char queue[QUEUE_BYTES];
	unsigned long long values[ARRAY_SIZE(columns)];
};

/* where an event is */
struct place {
	/* in sysfs, and where that leads: another GPU may get its number */
	char folder[PATH_BYTES], target[PATH_BYTES], queue[QUEUE_BYTES];
	unsigned int column;
};

/* an event of a session */
struct stats_gauge {
	struct stats_gauge *next;
	struct gauge gauge;
	struct place place;
};

/* --- the table -------------------------------------------------------------------- */

/* Return: whether there is another row; @text is behind it. */
static bool next_row(const char **text, struct row *row)
{
	unsigned long long timestamp;
	int length = 0;

	if (sscanf(*text, "%23s %llu %llu %llu%n", row->queue, &timestamp, &row->values[1],
		   &row->values[0], &length) != 4)
		return false;
	*text += length;
	event_name_clean(row->queue);
	return true;
}

/* The table of a card, without its first line. Return: its length; a negative errno. */
static int read_table(const struct perfctr_sys *sys, const char *folder, char *text)
{
	char path[PATH_BYTES + 16];
	int length;

	snprintf(path, sizeof(path), "%s/gpu_stats", folder);
	length = perfctr_sys_read_text(sys, path, text, TEXT_BYTES);
	if (length < 0)
		return length;
	if (strncmp(text, HEADER "\n", strlen(HEADER "\n")) != 0)
		return -EPROTO;
	length -= (int)strlen(HEADER "\n");
	memmove(text, text + strlen(HEADER "\n"), (size_t)length + 1);
	return length;
}

/* --- cards ------------------------------------------------------------------------ */

struct walk {
	struct perfctr_ctx *ctx;
	gauge_fn fn;
	void *arg;
	char *reason;
	uint64_t hash; /* of the event that is searched for */
	struct place *found; /* NULL: all are listed */
	bool only_files; /* whether there is one */
};

static int is_there(void *arg, const char *name)
{
	return !strcmp(name, "gpu_stats");
}

static void read_target(const struct perfctr_sys *sys, const char *folder, char *target)
{
	if (sys->readlink(sys->data, folder, target, PATH_BYTES) < 0)
		*target = '\0';
}

static int visit_event(struct walk *w, const struct place *place, const char *event)
{
	if (!w->found)
		return w->fn(w->arg, event, &columns[place->column].kind);
	if (perfctr_hash(event) != w->hash)
		return 0;
	*w->found = *place;
	return 1;
}

static int visit_table(struct walk *w, struct place *place, const char *device)
{
	char text[TEXT_BYTES], event[160];
	const char *at = text;
	struct row row;
	int result = read_table(w->ctx->sys, place->folder, text);

	if (result < 0) {
		snprintf(w->reason, GAUGE_REASON_BYTES, "gpu_stats of %s: %s", device,
			 result == -EPROTO ? "its columns are not those that this perfctr knows" :
					     strerror(-result));
		return 0;
	}
	for (result = 0; !result && next_row(&at, &row);)
		for (unsigned int i = 0; !result && i < ARRAY_SIZE(columns); i++) {
			memcpy(place->queue, row.queue, sizeof(row.queue));
			place->column = i;
			snprintf(event, sizeof(event), "%s:%s-%s", device, columns[i].prefix,
				 row.queue);
			result = visit_event(w, place, event);
		}
	return result;
}

static int visit_card(void *arg, const char *name)
{
	struct walk *w = arg;
	const struct perfctr_sys *sys = w->ctx->sys;
	struct place place;
	char device[64];
	const char *last;

	/* "card0-DP-1" is a connector */
	if (strncmp(name, "card", 4) != 0 || !isdigit((unsigned char)name[4]) || strchr(name, '-'))
		return 0;
	snprintf(place.folder, sizeof(place.folder), DRM_CLASS "/%.32s/device", name);
	if (sys->list(sys->data, place.folder, is_there, NULL) != 1)
		return 0;
	if (w->only_files)
		return 1;
	read_target(sys, place.folder, place.target);
	last = strrchr(place.target, '/');
	snprintf(device, sizeof(device), "%s", last ? last + 1 : name);
	event_name_clean(device);
	return visit_table(w, &place, device);
}

static int walk_cards(struct walk *w)
{
	const int result = w->ctx->sys->list(w->ctx->sys->data, DRM_CLASS, visit_card, w);

	return result == -ENOENT ? 0 : result;
}

static bool gpu_stats_exists(struct perfctr_ctx *ctx)
{
	struct walk w = { .ctx = ctx, .only_files = true };

	return walk_cards(&w) == 1;
}

static int gpu_stats_list(struct perfctr_ctx *ctx, gauge_fn fn, void *arg, char *reason)
{
	struct walk w = { .ctx = ctx, .fn = fn, .arg = arg, .reason = reason };

	return walk_cards(&w);
}

/* --- a session's events ----------------------------------------------------------- */

static int gpu_stats_open(struct perfctr_ctx *ctx, void **state, uint64_t name, long pid,
			  struct gauge **gauge, char *reason)
{
	struct stats_gauge **first = *state ? *state : calloc(1, sizeof(*first)), *g;
	struct walk w = { .ctx = ctx, .hash = name, .reason = reason };
	int result;

	if (!first)
		return -ENOMEM;
	*state = first;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	w.found = &g->place;
	result = walk_cards(&w);
	if (result != 1) {
		free(g);
		return result < 0 ? result : -ENOENT;
	}
	g->gauge.kind = &columns[g->place.column].kind;
	g->next = *first;
	*first = g;
	*gauge = &g->gauge;
	return 0;
}

static void gpu_stats_start(void *state)
{
	struct stats_gauge **first = state;

	for (struct stats_gauge *g = *first; g; g = g->next)
		gauge_start(&g->gauge);
}

static bool is_same_card(const struct perfctr_sys *sys, const struct place *place)
{
	char target[PATH_BYTES];

	read_target(sys, place->folder, target);
	return !strcmp(target, place->target);
}

static void gpu_stats_read(struct perfctr_ctx *ctx, void *state)
{
	struct stats_gauge **first = state;
	char text[TEXT_BYTES] = "", folder[PATH_BYTES] = "";
	uint64_t now_ns = 0;
	struct row row;

	for (struct stats_gauge *g = *first; g; g = g->next) {
		const char *at = text;

		/* events of a card mostly follow each other: one reading serves them */
		if (strcmp(folder, g->place.folder) != 0) {
			memcpy(folder, g->place.folder, sizeof(folder));
			now_ns = perfctr_time_raw_ns();
			if (!is_same_card(ctx->sys, &g->place) ||
			    read_table(ctx->sys, folder, text) < 0)
				*text = '\0';
		}
		g->gauge.measured = false;
		while (next_row(&at, &row))
			if (!strcmp(row.queue, g->place.queue))
				gauge_take(&g->gauge, row.values[g->place.column], now_ns);
	}
}

static void gpu_stats_close(void *state)
{
	struct stats_gauge **first = state;

	for (struct stats_gauge *g = *first, *next; g; g = next) {
		next = g->next;
		free(g);
	}
	free(first);
}

const struct gauge_source gpu_stats_source = {
	.pmu = "gpu_stats",
	.exists = gpu_stats_exists,
	.list = gpu_stats_list,
	.open = gpu_stats_open,
	.start = gpu_stats_start,
	.read = gpu_stats_read,
	.close = gpu_stats_close,
};
