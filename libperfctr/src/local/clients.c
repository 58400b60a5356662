// SPDX-License-Identifier: MIT
/*
 * DRM clients of a session. A client may have several files and processes, and counts once. The
 * clock of an engine is the same for all clients: it is the engine's, so it goes on while clients
 * come and go. The time of a client that ends is lost from the last reading on; the sample says so
 * by lost_ns. A search for new clients takes at most a fiftieth of the time.
 */
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LOOK_NS = 10000000 };

/*
 * The largest growth of a client's time, and of its cycles at 4 GHz: that of so many engines (or
 * classes of them) since the value changed last, for some drivers add a job's time at its end; and
 * the delay of a driver.
 */
enum { MOST_ENGINES = 64, MOST_CYCLES_PER_NS = 4, MOST_DELAY_NS = 100000000 };

/* a DRM client, by all its files */
struct client {
	char *key; /* "i915@0000:00:02.0#7" */
	char path[64]; /* of the text of one of its files */
	long pid; /* of that file */
	char sysfs[DRM_SYSFS_BYTES];
	/* in this search: it was found, for the first time; it ended */
	bool seen, is_new, gone;
	uint64_t read_ns;
	/* of each counter */
	struct {
		struct meter meter; /* of a level or clock only the last value */
		uint64_t changed_ns; /* when a count was found to be another value */
		bool is_here; /* the last reading had it */
		bool of_pid; /* the counter's process has a file of the client */
		bool lost; /* something may be missing since the last reading */
	} values[];
};

uint64_t perfctr_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3;
	return h;
}

int drm_clients_add(struct drm_clients *clients, uint64_t name, unsigned int config, long pid,
		    unsigned int assumed)
{
	struct drm_counter *counters =
		realloc(clients->counters, (clients->counter_count + 1) * sizeof(*counters));

	if (!counters)
		return -ENOMEM;
	clients->counters = counters;
	assumed = assumed ? assumed : 1;
	counters[clients->counter_count++] = (struct drm_counter){
		.name = name, .config = config, .pid = pid, .assumed = assumed, .engines = assumed
	};
	return 0;
}

/* --- one client --------------------------------------------------------------------- */

/* Whether cycles "...:cycles-rcs" are counted beside their clock, which no client showed yet. */
static bool lacks_clock(const struct drm_clients *clients, const struct drm_value *value)
{
	const char *key = strrchr(value->name, ':') + 1;
	char clock[DRM_NAME_BYTES + 8];
	uint64_t name;

	snprintf(clock, sizeof(clock), "%.*stotal-%s", (int)(key - value->name), value->name, key);
	name = perfctr_hash(clock);
	for (size_t n = 0; n < clients->counter_count; n++)
		if (clients->counters[n].name == name && !clients->counters[n].clock.read)
			return true;
	return false;
}

/*
 * The first value of a client: all of it counts if it did it since START. Cycles begin with their
 * clock, though, so that they are never more, and with the end of the GPU's sleep, in which older
 * clients are not seen. Return: whether something may be missing.
 */
static bool begin(const struct drm_clients *clients, const struct drm_counter *counter,
		  const struct client *client, struct meter *meter, const struct drm_value *value)
{
	/* drivers leave out the time of an engine as long as it is zero */
	const bool whole = clients->started &&
			   (client->is_new || (counter->config == DRM_TIME && !counter->pid));
	const bool is_late = whole && counter->config == DRM_CYCLES &&
			     (lacks_clock(clients, value) ||
			      (clients->slept && drm_is_hidden_asleep(counter->driver)));

	meter_begin(meter, whole && !is_late ? 0 : value->value);
	return is_late;
}

/* Bring a count of a client up to date. @before_ns: the time of its reading before, 0: none. */
static void count_value(struct drm_clients *clients, size_t n, struct client *client,
			const struct drm_value *value, uint64_t before_ns)
{
	const unsigned int per_ns = value->config == DRM_CYCLES ? MOST_CYCLES_PER_NS : 1;
	const unsigned int engines = MOST_ENGINES * clients->counters[n].engines;
	struct meter *meter = &client->values[n].meter;
	uint64_t *changed_ns = &client->values[n].changed_ns;
	uint64_t total;
	bool lost = false;

	if (!meter->read) {
		lost = begin(clients, &clients->counters[n], client, meter, value);
		*changed_ns = client->is_new ? clients->started_ns : before_ns;
		if (meter->last == value->value)
			*changed_ns = client->read_ns;
	}
	if (meter->last == value->value) {
		client->values[n].lost |= lost;
		return;
	}
	total = meter->total;
	lost |= meter_step(meter, value->value);
	if ((meter->total - total) / per_ns / engines >
	    client->read_ns - *changed_ns + MOST_DELAY_NS) {
		meter->total = total;
		lost = true;
	}
	*changed_ns = client->read_ns;
	client->values[n].lost |= lost;
}

static void take_value(struct drm_clients *clients, struct client *client,
		       const struct drm_file *file, const char *text, const struct drm_value *value,
		       uint64_t before_ns)
{
	const uint64_t name = perfctr_hash(value->name);

	for (size_t n = 0; n < clients->counter_count; n++) {
		struct drm_counter *c = &clients->counters[n];

		if (c->name != name || c->config != value->config)
			continue;
		memcpy(c->driver, file->driver, sizeof(c->driver));
		memcpy(c->place, file->place, sizeof(c->place));
		client->values[n].is_here = true;
		if (drm_is_count(c->config) && !client->values[n].meter.read) {
			const unsigned int engines = drm_capacity(text, value->name);

			c->engines = engines > c->engines ? engines : c->engines;
		}
		if (drm_is_count(c->config))
			count_value(clients, n, client, value, before_ns);
		else
			client->values[n].meter.last = value->value;
	}
}

static void take_values(struct drm_clients *clients, struct client *client,
			const struct drm_file *file, const char *text)
{
	const uint64_t before_ns = client->read_ns;
	const char *at = text;
	struct drm_value value;

	client->read_ns = perfctr_time_raw_ns();
	for (size_t n = 0; n < clients->counter_count; n++)
		client->values[n].is_here = false;
	while (drm_next_value(file, &at, &value))
		take_value(clients, client, file, text, &value, before_ns);
}

/* Whether a count of the text is far below the client's: then it is another client's. */
static bool is_lower(const struct drm_clients *clients, const struct client *client,
		     const struct drm_file *file, const char *text)
{
	struct drm_value value;

	while (drm_next_value(file, &text, &value)) {
		const uint64_t name = perfctr_hash(value.name);

		for (size_t n = 0; n < clients->counter_count; n++)
			if (clients->counters[n].name == name && client->values[n].meter.read &&
			    value.value < client->values[n].meter.last / 2)
				return true;
	}
	return false;
}

static struct client *add_client(struct drm_clients *clients, const char *key)
{
	struct client **list = realloc(clients->list, (clients->count + 1) * sizeof(*list));
	struct client *c = NULL;

	if (!list)
		return NULL;
	clients->list = list;
	c = calloc(1, sizeof(*c) + clients->counter_count * sizeof(c->values[0]));
	if (c)
		c->key = strdup(key);
	if (!c || !c->key) {
		free(c);
		return NULL;
	}
	c->is_new = true;
	list[clients->count++] = c;
	return c;
}

/* A client that ended keeps its counts; what it did since its last reading is lost. */
static void end_client(struct drm_clients *clients, struct client *client, uint64_t now_ns)
{
	const uint64_t lost_ns = now_ns - client->read_ns;

	client->gone = true;
	for (size_t n = 0; n < clients->counter_count; n++) {
		client->values[n].is_here = false;
		if (!client->values[n].meter.read ||
		    (clients->counters[n].pid && !client->values[n].of_pid))
			continue;
		client->values[n].lost = true;
		if (lost_ns > clients->lost_ns)
			clients->lost_ns = lost_ns;
	}
}

/* --- all of them -------------------------------------------------------------------- */

/* The client of a file. An id may be that of a client that ended. NULL: it is a new one. */
static struct client *find_client(struct drm_clients *clients, const struct drm_file *file,
				  const char *text)
{
	struct client *found = NULL;

	for (size_t n = 0; n < clients->count; n++)
		if (!strcmp(clients->list[n]->key, file->client))
			found = clients->list[n];
	if (!found || found->seen ||
	    (found->pid == file->pid && (!found->gone || !is_lower(clients, found, file, text))) ||
	    (!found->gone && !is_lower(clients, found, file, text)))
		return found;
	if (!found->gone)
		end_client(clients, found, perfctr_time_raw_ns());
	return NULL;
}

static int see_client(void *arg, const struct drm_file *file, const char *text)
{
	struct drm_clients *clients = arg;
	struct client *c = find_client(clients, file, text);

	if (!c)
		c = add_client(clients, file->client);
	if (!c)
		return -ENOMEM;
	for (size_t n = 0; n < clients->counter_count; n++)
		c->values[n].of_pid |= clients->counters[n].pid == file->pid;
	/* its other files have the same values */
	if (c->seen)
		return 0;
	c->pid = file->pid;
	snprintf(c->path, sizeof(c->path), "%s", file->path);
	memcpy(c->sysfs, file->sysfs, sizeof(c->sysfs));
	c->seen = true;
	c->gone = false;
	take_values(clients, c, file, text);
	return 0;
}

static bool reread(struct drm_clients *clients, struct client *client)
{
	struct drm_file f = { .pid = client->pid };
	char *text;
	bool is_same;

	/* nothing changes while it sleeps */
	if (drm_read_wakes(clients->ctx->sys, client->sysfs))
		return true;
	/* the descriptor may be of another file by now */
	drm_set_sysfs(clients->ctx->sys, &f, client->sysfs);
	is_same = drm_file_read(clients->ctx->sys, client->path, &f, &text) &&
		  !strcmp(f.client, client->key);

	if (is_same)
		take_values(clients, client, &f, text);
	free(text);
	return is_same;
}

static void look(struct drm_clients *clients, uint64_t now_ns)
{
	uint64_t took_ns;

	for (size_t n = 0; n < clients->count; n++)
		clients->list[n]->seen = false;
	drm_scan(clients->ctx, see_client, clients);
	clients->slept = drm_read_wakes(clients->ctx->sys, "");
	took_ns = perfctr_time_raw_ns() - now_ns;
	clients->next_look_ns = now_ns + MIN_LOOK_NS + 50 * took_ns;
	for (size_t n = 0; n < clients->count; n++) {
		clients->list[n]->is_new = false;
		/* the search may have missed it, as a folder that is read changes */
		if (!clients->list[n]->seen && !clients->list[n]->gone &&
		    !reread(clients, clients->list[n]))
			end_client(clients, clients->list[n], now_ns);
	}
}

/* Count up to a sum of the clients, as part of the engines. */
static void add_growth(struct drm_counter *c, uint64_t sum)
{
	const uint64_t growth = sum - c->sum;

	c->sum = sum;
	c->value += growth / c->engines * c->assumed;
	c->rest += growth % c->engines * c->assumed;
	c->value += c->rest / c->engines;
	c->rest %= c->engines;
}

/* Add up a counter's clients. */
static void finish(struct drm_clients *clients, struct drm_counter *c, size_t n)
{
	uint64_t sum = 0, largest = 0;
	bool is_here = false, any_here = false;

	for (size_t i = 0; i < clients->count; i++) {
		const struct client *client = clients->list[i];
		const bool wanted = !c->pid || client->values[n].of_pid;
		const struct meter *meter = &client->values[n].meter;

		any_here |= client->values[n].is_here;
		is_here |= wanted && client->values[n].is_here;
		/* the clock of a process's engine is that of the others */
		if (client->values[n].is_here && (wanted || c->config == DRM_CLOCK) &&
		    meter->last > largest)
			largest = meter->last;
		if (wanted && drm_is_count(c->config))
			sum += meter->total;
		else if (wanted && client->values[n].is_here)
			sum += meter->last;
		c->lost |= wanted && client->values[n].lost;
		clients->list[i]->values[n].lost = false;
	}
	c->seen |= is_here;
	if (c->config == DRM_CLOCK && any_here && !c->clock.read) {
		meter_begin(&c->clock, largest);
		c->lost |= clients->started;
	} else if (c->config == DRM_CLOCK && any_here) {
		c->lost |= meter_step(&c->clock, largest);
	}
	if (drm_is_count(c->config))
		add_growth(c, sum);
	else
		c->value = c->config == DRM_CLOCK     ? c->clock.total :
			   c->config == DRM_FREQUENCY ? largest :
							sum;
	/* of clocks nothing is known without a client; the rest of them is zero then */
	c->measured = c->seen;
	if (c->config == DRM_CLOCK)
		c->measured &= any_here;
	else if (c->config == DRM_FREQUENCY)
		c->measured &= is_here;
	else if (c->seen && drm_is_count(c->config))
		c->measured = drm_measures(clients->ctx, c->driver, c->place, c->config, NULL, 0);
}

void drm_clients_read(struct drm_clients *clients, uint64_t now_ns)
{
	bool must_look = now_ns >= clients->next_look_ns;

	for (size_t n = 0; !must_look && n < clients->count; n++)
		must_look = !clients->list[n]->gone && !reread(clients, clients->list[n]);
	if (must_look)
		look(clients, now_ns);
	for (size_t n = 0; n < clients->counter_count; n++)
		finish(clients, &clients->counters[n], n);
}

static void forget(struct drm_clients *clients)
{
	while (clients->count) {
		struct client *c = clients->list[--clients->count];

		free(c->key);
		free(c);
	}
	for (size_t n = 0; n < clients->counter_count; n++) {
		clients->counters[n].clock = (struct meter){ 0 };
		clients->counters[n].seen = clients->counters[n].lost = false;
		clients->counters[n].value = clients->counters[n].sum = 0;
		clients->counters[n].rest = 0;
	}
	clients->next_look_ns = 0;
	clients->started = false;
}

void drm_clients_start(struct drm_clients *clients)
{
	forget(clients);
	drm_clients_read(clients, perfctr_time_raw_ns());
	clients->started = true;
	clients->started_ns = perfctr_time_raw_ns();
}

void drm_clients_free(struct drm_clients *clients)
{
	forget(clients);
	free(clients->list);
	free(clients->counters);
	*clients = (struct drm_clients){ 0 };
}
