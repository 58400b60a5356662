// SPDX-License-Identifier: MIT
/*
 * Who uses GPUs. The library says what each client did; here that becomes totals by place, so a
 * client that ends takes nothing away. What finds no series goes to that of all others, and a
 * series that is dropped leaves its total with its engine: the sum of all never falls, and what is
 * in one of them is in no other.
 */
#include <errno.h>
#include <search.h>
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

/* --- series: found in a tree, whose cost nobody's choice of names can raise -------- */

static uint64_t comparisons;

uint64_t uses_comparisons(void)
{
	return comparisons;
}

static int by_labels(const void *a, const void *b)
{
	const struct use_series *x = a, *y = b;

	comparisons++;
	return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) :
				    strcmp(x->labels, y->labels);
}

static int by_hash(const void *a, const void *b)
{
	const struct use_owner *x = a, *y = b;

	comparisons++;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* The owner of one more series. Return: NULL: no memory. */
static struct use_owner *hold_owner(struct uses *uses, uint64_t hash)
{
	struct use_owner *owner = calloc(1, sizeof(*owner)), **known;

	if (!owner)
		return NULL;
	owner->hash = hash;
	TAILQ_INIT(&owner->shown);
	known = tsearch(owner, &uses->owners, by_hash);
	if (!known || *known != owner)
		free(owner);
	if (known)
		(*known)->count++;
	return known ? *known : NULL;
}

static void release_owner(struct uses *uses, struct use_owner *owner)
{
	if (--owner->count)
		return;
	tdelete(owner, &uses->owners, by_hash);
	free(owner);
}

static void set_shown(struct uses *uses, struct use_series *s, bool is_shown)
{
	if (is_shown && !s->is_shown) {
		TAILQ_INSERT_TAIL(&uses->shown, s, of_all);
		TAILQ_INSERT_TAIL(&s->owner->shown, s, of_owner);
	} else if (!is_shown && s->is_shown) {
		TAILQ_REMOVE(&uses->shown, s, of_all);
		TAILQ_REMOVE(&s->owner->shown, s, of_owner);
	}
	s->is_shown = is_shown;
}

static void free_series(void *series)
{
	struct use_series *s = series;

	free(s->labels);
	free(s);
}

static void drop(struct uses *uses, struct use_series *s)
{
	struct use_series *last = uses->series[--uses->count];

	uses->engines[s->engine].ended_ns += s->ns;
	set_shown(uses, s, false);
	tdelete(s, &uses->by_labels, by_labels);
	release_owner(uses, s->owner);
	last->number = s->number;
	uses->series[s->number] = last;
	free_series(s);
}

/* Whether there is room for one more series, which its owner holds; may drop the oldest one. */
static bool has_room(struct uses *uses, struct use_owner *owner)
{
	struct use_series *s;

	if (owner->count > uses->limit / OWNERS + 1)
		s = TAILQ_FIRST(&owner->shown);
	else if (uses->count == uses->limit)
		s = TAILQ_FIRST(&uses->shown);
	else
		return true;
	if (s)
		drop(uses, s);
	return s;
}

/* Put a series, which is complete, into the array and the tree. Return: false: no memory. */
static bool append(struct uses *uses, struct use_series *s)
{
	struct use_series **more = uses->series;

	/* grows at each power of two */
	if (!(uses->count & (uses->count - 1)))
		more = reallocarray(more, 2 * uses->count + 1, sizeof(*more));
	if (!more)
		return false;
	uses->series = more;
	s->number = uses->count;
	if (!tsearch(s, &uses->by_labels, by_labels))
		return false;
	uses->series[uses->count++] = s;
	return true;
}

/* @labels: becomes the series'. Return: NULL: there is no room, or no memory. */
static struct use_series *add(struct uses *uses, size_t engine, char *labels, uint64_t hash,
			      uint64_t owner)
{
	struct use_series *s = malloc(sizeof(*s));
	struct use_owner *held = hold_owner(uses, owner);

	if (s && held && has_room(uses, held)) {
		*s = (struct use_series){
			.labels = labels, .hash = hash, .owner = held, .engine = engine
		};
		if (append(uses, s))
			return s;
	}
	if (held)
		release_owner(uses, held);
	free(s);
	free(labels);
	return NULL;
}

/* The series of a place. Return: NULL: there is none, and no room for it. */
static struct use_series *find(struct uses *uses, const struct use_engine *engine,
			       const struct place *place, uint64_t owner)
{
	struct use_series key = { .labels = labels_of(engine, place) }, **known;

	if (!key.labels)
		return NULL;
	key.hash = table_hash(TABLE_HASH, key.labels);
	known = tfind(&key, &uses->by_labels, by_labels);
	if (!known)
		return add(uses, (size_t)(engine - uses->engines), key.labels, key.hash, owner);
	free(key.labels);
	return *known;
}

void uses_take(struct uses *uses, const struct perfctr_client_use *use)
{
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
		set_shown(uses, s, false);
		s->ended_ns = uses->now_ns;
	} else {
		engine->other_ns += use->ns;
	}
}

static void take(void *data, const struct perfctr_client_use *use)
{
	uses_take(data, use);
}

int uses_open(struct app *app, struct uses *uses)
{
	TAILQ_INIT(&uses->shown);
	return perfctr_clients_new(app->ctx, &uses->clients);
}

int uses_read(struct uses *uses)
{
	uses->now_ns = perfctr_time_raw_ns();
	uses->failed = false;
	for (size_t n = 0; n < uses->engine_count; n++)
		uses->engines[n].clients = 0;
	for (size_t n = 0; n < uses->count;) {
		struct use_series *s = uses->series[n];

		if (s->is_shown && uses->now_ns - s->ended_ns >= KEPT_S * NS_PER_S)
			drop(uses, s);
		else
			uses->series[n++]->is_here = false;
	}
	perfctr_clients_read(uses->clients, take, uses);
	return uses->failed ? -ENOMEM : 0;
}

void uses_shown(struct uses *uses)
{
	for (size_t n = 0; n < uses->count; n++)
		if (!uses->series[n]->is_here)
			set_shown(uses, uses->series[n], true);
}

void uses_free(struct uses *uses)
{
	perfctr_clients_unref(uses->clients);
	tdestroy(uses->by_labels, free_series);
	tdestroy(uses->owners, free);
	for (size_t n = 0; n < uses->engine_count; n++) {
		free(uses->engines[n].event);
		free(uses->engines[n].labels);
	}
	free(uses->series);
	free(uses->engines);
}
