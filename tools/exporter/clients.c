// SPDX-License-Identifier: MIT
/*
 * Who uses GPUs. The library says what each client did; here that becomes totals by place, so a
 * client that ends takes nothing away. What finds no series goes to that of all others, and a
 * series that is dropped leaves its total with its engine: the sum of all never falls, and what is
 * in one of them is in no other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "lib/output.h"
#include "lib/table.h"

enum {
	/* Prometheus looks back that far; another server may scrape, too */
	KEPT_S = 300,
	/* part of all series that one owner may have */
	OWNERS = 8,
};

static void label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", ftell(out) ? "," : "", name);
	label_text(out, value, true);
	fputc('"', out);
}

/* @place: NULL: all others. Return: labels for the caller to free; NULL: no memory. */
static char *labels_of(const struct use_engine *engine, const struct place *place)
{
	static const struct place others = {
		.pod = "other", .container = "other", .unit = "other", .command = "other"
	};
	const struct place *p = place ? place : &others;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(engine->labels, out);
	fflush(out);
	label(out, "pod_uid", p->pod);
	label(out, "container_id", p->container);
	label(out, "unit", p->unit);
	label(out, "command", p->command);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

char *uses_other_labels(const struct use_engine *engine)
{
	return labels_of(engine, NULL);
}

/* "i915@0000:00:02.0:engine-render": the device and the engine. */
static char *engine_labels(const char *event)
{
	const char *end = strrchr(event, ':'), *name = end ? end + 1 : event;
	char *gpu = strndup(event, end ? (size_t)(end - event) : 0), *text = NULL;
	size_t size;
	FILE *out = gpu ? open_memstream(&text, &size) : NULL;

	if (out) {
		label(out, "gpu", gpu);
		fflush(out);
		label(out, "engine", strncmp(name, "engine-", 7) ? name : name + strlen("engine-"));
		if (fclose(out)) {
			free(text);
			text = NULL;
		}
	}
	free(gpu);
	return text;
}

static struct use_engine *find_engine(struct uses *uses, const char *event)
{
	struct use_engine *e;

	for (size_t n = 0; n < uses->engine_count; n++)
		if (!strcmp(uses->engines[n].event, event))
			return &uses->engines[n];
	e = reallocarray(uses->engines, uses->engine_count + 1, sizeof(*e));
	if (!e)
		return NULL;
	uses->engines = e;
	e += uses->engine_count;
	*e = (struct use_engine){ .event = strdup(event), .labels = engine_labels(event) };
	if (e->event && e->labels) {
		uses->engine_count++;
		return e;
	}
	free(e->event);
	free(e->labels);
	return NULL;
}

static void drop(struct uses *uses, size_t n)
{
	struct use_series *s = &uses->series[n];

	uses->engines[s->engine].ended_ns += s->ns;
	free(s->labels);
	*s = uses->series[--uses->count];
}

/* Whether there is room for one more series, also of this owner; drops what is not needed. */
static bool has_room(struct uses *uses, uint64_t owner)
{
	const size_t most = uses->limit / OWNERS + 1;
	size_t own = 0, n;

	for (n = 0; n < uses->count; n++)
		own += uses->series[n].owner == owner;
	for (n = 0; n < uses->count && (uses->count >= uses->limit || own >= most);) {
		const struct use_series *s = &uses->series[n];

		if (s->is_here || !s->is_shown || (own >= most && s->owner != owner)) {
			n++;
			continue;
		}
		own -= s->owner == owner;
		drop(uses, n);
	}
	return uses->count < uses->limit && own < most;
}

/* The series of a place. Return: NULL: there is none, and no room for it. */
static struct use_series *find(struct uses *uses, const struct use_engine *engine,
			       const struct place *place, uint64_t owner)
{
	char *labels = labels_of(engine, place);
	const uint64_t hash = labels ? table_hash(TABLE_HASH, labels) : 0;
	struct use_series *s = uses->series;

	for (; labels && s < uses->series + uses->count; s++)
		if (s->hash == hash && !strcmp(s->labels, labels)) {
			free(labels);
			return s;
		}
	if (labels && has_room(uses, owner)) {
		s = reallocarray(uses->series, uses->count + 1, sizeof(*s));
		if (s) {
			uses->series = s;
			s += uses->count++;
			*s = (struct use_series){ .labels = labels,
						  .hash = hash,
						  .owner = owner,
						  .engine = (size_t)(engine - uses->engines) };
			return s;
		}
	}
	free(labels);
	return NULL;
}

static void take(void *data, const struct perfctr_client_use *use)
{
	struct uses *uses = data;
	struct use_engine *engine = find_engine(uses, use->event);
	struct use_series *s;
	struct place place, owner;
	char *text;

	if (!engine) {
		uses->failed = true;
		return;
	}
	if (use->engines > engine->engines)
		engine->engines = use->engines;
	engine->clients += use->is_here;
	engine->gaps += use->lost;
	if (!use->ns && !use->is_here)
		return;
	place_read(use->cgroup, use->command, &place);
	/* what the place's owner can choose does not make it another owner */
	owner = place;
	strcpy(owner.command, "other");
	if (owner.is_users || *owner.pod)
		*owner.container = '\0';
	text = labels_of(engine, &owner);
	/* of all engines */
	s = text ? find(uses, engine, &place,
			table_hash(TABLE_HASH, text + strlen(engine->labels))) :
		   NULL;
	if (text && !s)
		s = find(uses, engine, &owner, table_hash(TABLE_HASH, text));
	free(text);
	if (s) {
		s->ns += use->ns;
		s->is_here |= use->is_here;
		/* it grew after it ended */
		s->is_shown = false;
		s->ended_ns = uses->now_ns;
	} else {
		engine->other_ns += use->ns;
	}
}

int uses_open(struct app *app, struct uses *uses)
{
	return perfctr_clients_new(app->ctx, &uses->clients);
}

int uses_read(struct uses *uses)
{
	uses->now_ns = perfctr_time_raw_ns();
	uses->failed = false;
	for (size_t n = 0; n < uses->engine_count; n++)
		uses->engines[n].clients = 0;
	for (size_t n = 0; n < uses->count;) {
		struct use_series *s = &uses->series[n];

		if (!s->is_here && s->is_shown && uses->now_ns - s->ended_ns >= KEPT_S * NS_PER_S)
			drop(uses, n);
		else
			uses->series[n++].is_here = false;
	}
	perfctr_clients_read(uses->clients, take, uses);
	return uses->failed ? -ENOMEM : 0;
}

void uses_shown(struct uses *uses)
{
	for (size_t n = 0; n < uses->count; n++)
		uses->series[n].is_shown |= !uses->series[n].is_here;
}

void uses_free(struct uses *uses)
{
	perfctr_clients_unref(uses->clients);
	for (size_t n = 0; n < uses->count; n++)
		free(uses->series[n].labels);
	for (size_t n = 0; n < uses->engine_count; n++) {
		free(uses->engines[n].event);
		free(uses->engines[n].labels);
	}
	free(uses->series);
	free(uses->engines);
}
