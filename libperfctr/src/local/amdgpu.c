// SPDX-License-Identifier: MIT
/*
 * GPUs of amdgpu, by what their firmware writes into gpu_metrics. A GPU that sleeps is not read;
 * the kernel would refuse that (EPERM) and not wake it.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "gpu_metrics.h"

#define DRM_CLASS "/sys/class/drm"

struct card {
	struct card *next;
	/* in sysfs, and where that leads: another GPU may get its number; empty: unknown */
	char folder[PATH_BYTES], target[PATH_BYTES];
	uint32_t header; /* of the file, as of the first reading: its size and format */
	unsigned char file[GPU_METRICS_BYTES];
	size_t bytes; /* of the file; 0: it could not be read */
};

/* an event of a session */
struct amdgpu_gauge {
	struct amdgpu_gauge *next;
	struct gauge gauge;
	struct gpu_field field;
	struct card *card;
};

/* a session */
struct amdgpu {
	struct card *cards;
	struct amdgpu_gauge *gauges; /* the newest first */
};

/* --- a card ------------------------------------------------------------------------- */

static void read_target(const struct perfctr_sys *sys, const struct card *card, char *target)
{
	if (sys->readlink(sys->data, card->folder, target, PATH_BYTES) < 0)
		*target = '\0';
}

/* Return: length; a negative errno: -EAGAIN the card sleeps, -ENODEV it is another one. */
static ssize_t read_card(const struct perfctr_sys *sys, struct card *card)
{
	char path[PATH_BYTES + 32], status[24], target[PATH_BYTES];
	size_t length = 0;
	ssize_t done;
	int fd;

	card->bytes = 0;
	read_target(sys, card, target);
	if (strcmp(target, card->target) != 0)
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/power/runtime_status", card->folder);
	if (perfctr_sys_read_text(sys, path, status, sizeof(status)) > 0 &&
	    !strcmp(status, "suspended"))
		return -EAGAIN;
	snprintf(path, sizeof(path), "%s/gpu_metrics", card->folder);
	fd = sys->open(sys->data, path, O_RDONLY);
	if (fd < 0)
		return fd;
	do {
		done = sys->read(sys->data, fd, card->file + length, sizeof(card->file) - length);
		length += done > 0 ? (size_t)done : 0;
	} while (done > 0 && length < sizeof(card->file));
	sys->close(sys->data, fd);
	/* the kernel's way to say that it fell asleep in between */
	if (done == -EPERM)
		return -EAGAIN;
	if (done < 0)
		return done;
	if (card->header && memcmp(card->file, &card->header, sizeof(card->header)) != 0)
		return -ENODEV;
	if (length >= sizeof(card->header))
		memcpy(&card->header, card->file, sizeof(card->header));
	card->bytes = length;
	return (ssize_t)length;
}

struct walk {
	struct perfctr_ctx *ctx;
	int (*fn)(struct walk *w, struct card *card, const char *place);
	/* of listing and of the search for one event */
	gauge_fn name_fn;
	void *arg;
	const struct card *card;
	char place[64], *reason;
	uint64_t hash;
	struct gpu_field field;
};

static int is_there(void *arg, const char *name)
{
	return !strcmp(name, "gpu_metrics");
}

static int visit_card(void *arg, const char *name)
{
	struct walk *w = arg;
	const struct perfctr_sys *sys = w->ctx->sys;
	struct card card = { .header = 0 };
	const char *place;

	/* "card0-DP-1" is a connector */
	if (strncmp(name, "card", 4) != 0 || !isdigit((unsigned char)name[4]) || strchr(name, '-'))
		return 0;
	snprintf(card.folder, sizeof(card.folder), DRM_CLASS "/%.32s/device", name);
	if (sys->list(sys->data, card.folder, is_there, NULL) != 1)
		return 0;
	read_target(sys, &card, card.target);
	place = strrchr(card.target, '/');
	snprintf(w->place, sizeof(w->place), "%s", place ? place + 1 : name);
	event_name_clean(w->place);
	return w->fn(w, &card, w->place);
}

static int walk_cards(struct walk *w)
{
	const int result = w->ctx->sys->list(w->ctx->sys->data, DRM_CLASS, visit_card, w);

	return result == -ENOENT ? 0 : result;
}

static int found(struct walk *w, struct card *card, const char *place)
{
	return 1;
}

static bool amdgpu_exists(struct perfctr_ctx *ctx)
{
	struct walk w = { .ctx = ctx, .fn = found };

	return walk_cards(&w) == 1;
}

/* --- names -------------------------------------------------------------------------- */

static void explain(const struct walk *w, const char *place, ssize_t error)
{
	if (error == -EAGAIN)
		snprintf(w->reason, GAUGE_REASON_BYTES,
			 "%s sleeps, and its events can be seen only while it is awake", place);
	else
		snprintf(w->reason, GAUGE_REASON_BYTES, "gpu_metrics of %s: %s", place,
			 strerror((int)-error));
}

/* Call fn for the fields of a card. Return: as gpu_metrics_walk(); 0 if it cannot be read. */
static int walk_fields(struct walk *w, struct card *card, const char *place, gpu_field_fn fn)
{
	char reason[GAUGE_REASON_BYTES];
	ssize_t length = read_card(w->ctx->sys, card);
	int result;

	if (length < 0) {
		explain(w, place, length);
		return 0;
	}
	w->card = card;
	*reason = '\0';
	result = gpu_metrics_walk(card->file, card->bytes, fn, w, reason);
	if (result != -EPROTO)
		return result;
	snprintf(w->reason, GAUGE_REASON_BYTES, "%s: %.250s", place, reason);
	return 0;
}

static int list_field(void *arg, const char *name, const struct gpu_field *field)
{
	const struct walk *w = arg;
	char event[sizeof(w->place) + GPU_METRICS_NAME_BYTES + 2];
	uint64_t value;

	/* what the firmware does not fill in is no event of this card */
	if (!gpu_metrics_read(w->card->file, w->card->bytes, field, &value))
		return 0;
	snprintf(event, sizeof(event), "%s:%s", w->place, name);
	return w->name_fn(w->arg, event, field->kind);
}

static int list_card(struct walk *w, struct card *card, const char *place)
{
	return walk_fields(w, card, place, list_field);
}

static int amdgpu_list(struct perfctr_ctx *ctx, gauge_fn fn, void *arg, char *reason)
{
	struct walk w = { .ctx = ctx, .fn = list_card, .name_fn = fn, .arg = arg };

	w.reason = reason;
	return walk_cards(&w);
}

/* --- a session's events ------------------------------------------------------------- */

static int match_field(void *arg, const char *name, const struct gpu_field *field)
{
	struct walk *w = arg;
	char event[sizeof(w->place) + GPU_METRICS_NAME_BYTES + 2];

	snprintf(event, sizeof(event), "%s:%s", w->place, name);
	if (perfctr_hash(event) != w->hash)
		return 0;
	w->field = *field;
	return 1;
}

/* Return: the card, NULL: out of memory. */
static struct card *keep_card(struct amdgpu *a, const struct card *card)
{
	struct card *kept;

	for (kept = a->cards; kept; kept = kept->next)
		if (!strcmp(kept->folder, card->folder))
			return kept;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = *card;
	kept->next = a->cards;
	a->cards = kept;
	return kept;
}

static int keep_gauge(struct amdgpu *a, const struct walk *w, const struct card *card)
{
	struct amdgpu_gauge *g = malloc(sizeof(*g));
	struct card *kept = keep_card(a, card);

	if (!g || !kept) {
		free(g);
		return -ENOMEM;
	}
	*g = (struct amdgpu_gauge){
		.next = a->gauges, .gauge.kind = w->field.kind, .field = w->field, .card = kept
	};
	a->gauges = g;
	return 1;
}

static int open_card(struct walk *w, struct card *card, const char *place)
{
	const int result = walk_fields(w, card, place, match_field);

	return result == 1 ? keep_gauge(w->arg, w, card) : result;
}

static int amdgpu_open(struct perfctr_ctx *ctx, void **state, uint64_t name, long pid,
		       struct gauge **gauge, char *reason)
{
	struct amdgpu *a = *state ? *state : calloc(1, sizeof(*a));
	struct walk w = { .ctx = ctx, .fn = open_card, .arg = a, .hash = name, .reason = reason };
	int result;

	if (!a)
		return -ENOMEM;
	*state = a;
	result = walk_cards(&w);
	if (result == 1)
		*gauge = &a->gauges->gauge;
	return result < 0 ? result : result == 1 ? 0 : -ENOENT;
}

static void amdgpu_start(void *state)
{
	struct amdgpu *a = state;

	for (struct amdgpu_gauge *g = a->gauges; g; g = g->next)
		gauge_start(&g->gauge);
}

static void amdgpu_read(struct perfctr_ctx *ctx, void *state)
{
	const uint64_t now_ns = perfctr_time_raw_ns();
	struct amdgpu *a = state;

	for (struct card *card = a->cards; card; card = card->next)
		read_card(ctx->sys, card);
	for (struct amdgpu_gauge *g = a->gauges; g; g = g->next) {
		uint64_t value;

		g->gauge.measured = false;
		if (g->card->bytes &&
		    gpu_metrics_read(g->card->file, g->card->bytes, &g->field, &value))
			gauge_take(&g->gauge, value, now_ns);
	}
}

static void amdgpu_close(void *state)
{
	struct amdgpu *a = state;

	for (struct card *card = a->cards, *next; card; card = next) {
		next = card->next;
		free(card);
	}
	for (struct amdgpu_gauge *g = a->gauges, *next; g; g = next) {
		next = g->next;
		free(g);
	}
	free(a);
}

const struct gauge_source amdgpu_source = {
	.pmu = "amdgpu",
	.exists = amdgpu_exists,
	.list = amdgpu_list,
	.open = amdgpu_open,
	.start = amdgpu_start,
	.read = amdgpu_read,
	.close = amdgpu_close,
};
