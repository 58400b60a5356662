// SPDX-License-Identifier: MIT
/*
 * DRM clients of a session. A client may have several files and processes, and counts once. The
 * clock of an engine is the same for all clients: it is the engine's, so it goes on while clients
 * come and go. The time of a client that ends is lost from the last reading on; the sample says so
 * by lost_ns. A search for new clients takes at most a fiftieth of the time, whatever ends.
 *
 * What a client did moves into the counters at each reading, so one that ended leaves nothing
 * behind. It is remembered for a while, because a search may miss one that is still there: it must
 * not count again what it did before.
 *
 * A client has values of the counters of all clients and of its own processes only, so counters of
 * each process cost as much as there are clients, not the square of that. Its share of such a
 * counter begins when the process is found to have it.
 */
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LOOK_NS = 10000000, FIRST_BUCKETS = 64 };

/*
 * The largest growth of a client's time, and of its cycles at 4 GHz: that of so many engines (or
 * classes of them) since the value changed last, for some drivers add a job's time at its end; and
 * the delay of a driver.
 */
enum { MOST_ENGINES = 64, MOST_CYCLES_PER_NS = 4, MOST_DELAY_NS = 100000000 };

enum state {
	CLIENT_LIVE,
	CLIENT_MISSING, /* its file is gone; the next search may find another one */
	CLIENT_ENDED, /* a search did not find it, either */
};

/* a client's part of a counter */
struct value {
	size_t counter;
	/* of a level or clock only the last value; the total is not in the counter yet */
	struct meter meter;
	uint64_t changed_ns; /* when a count was found to be another value */
	bool is_here; /* the last reading had it */
	bool lost; /* something may be missing since the last reading */
};

/* a DRM client, by all its files */
struct client {
	struct client *next; /* of the same bucket */
	uint64_t hash;
	char *key; /* "i915@0000:00:02.0#7" */
	enum state state;
	char path[64]; /* of the text of one of its files */
	long pid; /* of that file */
	char sysfs[DRM_SYSFS_BYTES];
	/* in this search: it was found, for the first time */
	bool seen, is_new;
	uint64_t read_ns;
	/* of the counters of all clients, then of its processes */
	struct value *values;
	size_t value_count;
	/* of its process, for @used: text of /proc/PID/cgroup, owned, or NULL; its name */
	char *cgroup;
	char command[24]; /* longer than a name of the kernel */
};

uint64_t perfctr_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3;
	return h;
}

/* --- counters by their process -------------------------------------------------------- */

/* The first counter of a bucket, from 1; 0: none. */
static size_t *bucket_of(const struct drm_clients *clients, long pid)
{
	return &clients->processes[(size_t)pid & (clients->process_buckets - 1)];
}

/* The next counter of a process, from 1; 0: none. @n: the one before, 0: the first. */
static size_t next_of(const struct drm_clients *clients, long pid, size_t n)
{
	if (!clients->process_buckets)
		return 0;
	n = n ? clients->counters[n - 1].next : *bucket_of(clients, pid);
	while (n && clients->counters[n - 1].pid != pid)
		n = clients->counters[n - 1].next;
	return n;
}

static void enter(struct drm_clients *clients, size_t n)
{
	size_t *bucket = bucket_of(clients, clients->counters[n].pid);

	clients->counters[n].next = *bucket;
	*bucket = n + 1;
}

/* Keep at most one counter a bucket on average. Return: 0; -ENOMEM. */
static int make_buckets(struct drm_clients *clients)
{
	const size_t count = clients->process_buckets ? 2 * clients->process_buckets :
							FIRST_BUCKETS;
	size_t *processes;

	if (clients->counter_count < clients->process_buckets)
		return 0;
	processes = calloc(count, sizeof(*processes));
	if (!processes)
		return -ENOMEM;
	free(clients->processes);
	clients->processes = processes;
	clients->process_buckets = count;
	for (size_t n = 0; n < clients->counter_count; n++)
		enter(clients, n);
	return 0;
}

/* The counter of all clients' values of a kind; the number of counters: there is none. */
static size_t find_counter(const struct drm_clients *clients, uint64_t name, unsigned int config)
{
	for (size_t n = next_of(clients, 0, 0); n; n = next_of(clients, 0, n))
		if (clients->counters[n - 1].name == name &&
		    clients->counters[n - 1].config == config)
			return n - 1;
	return clients->counter_count;
}

int drm_clients_add(struct drm_clients *clients, uint64_t name, unsigned int config, long pid,
		    unsigned int assumed)
{
	struct drm_counter *counters =
		realloc(clients->counters, (clients->counter_count + 1) * sizeof(*counters));
	size_t n = clients->counter_count;

	if (counters)
		clients->counters = counters;
	if (!counters || make_buckets(clients))
		return -ENOMEM;
	assumed = assumed ? assumed : 1;
	counters[n] = (struct drm_counter){
		.name = name, .config = config, .pid = pid, .assumed = assumed, .engines = assumed
	};
	clients->counter_count++;
	enter(clients, n);
	if (config != DRM_CLOCK || !pid)
		return 0;
	/* other processes show the engine's clock, too: a counter of all keeps it */
	counters[n].leader = find_counter(clients, name, DRM_CLOCK);
	return counters[n].leader < clients->counter_count ?
		       0 :
		       drm_clients_add(clients, name, config, 0, assumed);
}

/* --- one client --------------------------------------------------------------------- */

/* Whether cycles "...:cycles-rcs" are counted beside their clock, which no client showed yet. */
static bool lacks_clock(const struct drm_clients *clients, const struct drm_value *value)
{
	const char *key = strrchr(value->name, ':') + 1;
	char clock[DRM_NAME_BYTES + 8];
	size_t n;

	snprintf(clock, sizeof(clock), "%.*stotal-%s", (int)(key - value->name), value->name, key);
	n = find_counter(clients, perfctr_hash(clock), DRM_CLOCK);
	return n < clients->counter_count && !clients->counters[n].clock.read;
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
static void count_value(struct drm_clients *clients, struct value *v, struct client *client,
			const struct drm_value *value, uint64_t before_ns)
{
	const struct drm_counter *counter = &clients->counters[v->counter];
	const unsigned int per_ns = value->config == DRM_CYCLES ? MOST_CYCLES_PER_NS : 1;
	const unsigned int engines = MOST_ENGINES * counter->engines;
	struct meter *meter = &v->meter;
	uint64_t total;
	bool lost = false;

	if (!meter->read) {
		lost = begin(clients, counter, client, meter, value);
		v->changed_ns = client->is_new ? clients->started_ns : before_ns;
		if (meter->last == value->value)
			v->changed_ns = client->read_ns;
	}
	if (meter->last == value->value) {
		v->lost |= lost;
		return;
	}
	total = meter->total;
	lost |= meter_step(meter, value->value);
	if ((meter->total - total) / per_ns / engines >
	    client->read_ns - v->changed_ns + MOST_DELAY_NS) {
		meter->total = total;
		lost = true;
	}
	v->changed_ns = client->read_ns;
	v->lost |= lost;
}

static void take_value(struct drm_clients *clients, struct client *client, struct value *v,
		       const struct drm_file *file, const char *text, const struct drm_value *value,
		       uint64_t before_ns)
{
	struct drm_counter *c = &clients->counters[v->counter];

	memcpy(c->driver, file->driver, sizeof(c->driver));
	memcpy(c->place, file->place, sizeof(c->place));
	v->is_here = true;
	if (drm_is_count(c->config) && !v->meter.read) {
		const unsigned int engines = drm_capacity(text, value->name);

		c->engines = engines > c->engines ? engines : c->engines;
	}
	if (drm_is_count(c->config))
		count_value(clients, v, client, value, before_ns);
	else
		v->meter.last = value->value;
}

/* Take a text's values, those of the client from number @first on. */
static void take_values(struct drm_clients *clients, struct client *client, size_t first,
			const struct drm_file *file, const char *text)
{
	const uint64_t before_ns = client->read_ns;
	const char *at = text;
	struct drm_value value;

	client->read_ns = perfctr_time_raw_ns();
	for (size_t n = first; n < client->value_count; n++)
		client->values[n].is_here = false;
	while (drm_next_value(file, &at, &value)) {
		const uint64_t name = perfctr_hash(value.name);

		for (size_t n = first; n < client->value_count; n++) {
			const struct drm_counter *c = &clients->counters[client->values[n].counter];

			if (c->name == name && c->config == value.config)
				take_value(clients, client, &client->values[n], file, text, &value,
					   before_ns);
		}
	}
}

/* Whether a count of the text is far below the client's: then it is another client's. */
static bool is_lower(const struct drm_clients *clients, const struct client *client,
		     const struct drm_file *file, const char *text)
{
	struct drm_value value;

	while (drm_next_value(file, &text, &value)) {
		const uint64_t name = perfctr_hash(value.name);

		for (size_t n = 0; n < client->value_count; n++) {
			const struct value *v = &client->values[n];

			if (clients->counters[v->counter].name == name && v->meter.read &&
			    value.value < v->meter.last / 2)
				return true;
		}
	}
	return false;
}

/*
 * Give a client values of the counters of a process, or of those of all clients: @pid 0.
 * Return: 0, also if it has them; -ENOMEM.
 */
static int attach(struct drm_clients *clients, struct client *client, long pid)
{
	const size_t first = next_of(clients, pid, 0);
	struct value *values;
	size_t count = 0;

	if (!first)
		return 0;
	for (size_t n = 0; n < client->value_count; n++)
		if (client->values[n].counter == first - 1)
			return 0;
	for (size_t n = first; n; n = next_of(clients, pid, n))
		count++;
	values = realloc(client->values, (client->value_count + count) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	client->values = values;
	for (size_t n = first; n; n = next_of(clients, pid, n))
		values[client->value_count++] = (struct value){ .counter = n - 1 };
	return 0;
}

/* Give a client its first values: none if each engine that it shows has a counter. */
static int attach_first(struct drm_clients *clients, struct client *client)
{
	return clients->used ? 0 : attach(clients, client, 0);
}

/* Give a client a value of an engine, and the engine a counter if there is none yet. */
static int attach_engine(struct drm_clients *clients, struct client *client, const char *text,
			 const struct drm_value *value)
{
	const uint64_t name = perfctr_hash(value->name);
	const size_t n = find_counter(clients, name, DRM_TIME);
	struct value *values;

	if (n == clients->counter_count) {
		char *event = strdup(value->name);

		if (!event ||
		    drm_clients_add(clients, name, DRM_TIME, 0, drm_capacity(text, value->name))) {
			free(event);
			return -ENOMEM;
		}
		clients->counters[n].event = event;
	}
	for (size_t i = 0; i < client->value_count; i++)
		if (client->values[i].counter == n)
			return 0;
	values = realloc(client->values, (client->value_count + 1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	client->values = values;
	values[client->value_count++] = (struct value){ .counter = n };
	return 0;
}

/* Prepare to tell of a client: all that it shows, and where its process is. */
static int get_to_know(struct drm_clients *clients, struct client *client,
		       const struct drm_file *file, const char *text)
{
	const struct perfctr_sys *sys = clients->ctx->sys;
	const char *at = text;
	struct drm_value value;
	char path[32], command[sizeof(client->command)], *cgroup;
	int error = 0;

	while (!error && drm_next_value(file, &at, &value))
		if (value.config == DRM_TIME)
			error = attach_engine(clients, client, text, &value);
	/* it may have ended meanwhile: what was read before stays */
	snprintf(path, sizeof(path), "/proc/%ld/comm", file->pid);
	if (perfctr_sys_read_text(sys, path, command, sizeof(command)) >= 0)
		memcpy(client->command, command, sizeof(command));
	snprintf(path, sizeof(path), "/proc/%ld/cgroup", file->pid);
	if (perfctr_sys_read_all(sys, path, &cgroup) < 0)
		return error;
	free(client->cgroup);
	client->cgroup = cgroup;
	return error;
}

/* --- the table of clients ------------------------------------------------------------- */

static struct client *find_client(const struct drm_clients *clients, const char *key)
{
	const uint64_t hash = perfctr_hash(key);
	struct client *c = NULL;

	if (clients->bucket_count)
		c = clients->buckets[hash & (clients->bucket_count - 1)];
	while (c && (c->hash != hash || strcmp(c->key, key) != 0))
		c = c->next;
	return c;
}

static void insert_client(struct client **buckets, size_t bucket_count, struct client *c)
{
	struct client **bucket = &buckets[c->hash & (bucket_count - 1)];

	c->next = *bucket;
	*bucket = c;
}

/* Keep at most one client a bucket on average. Return: 0; -ENOMEM, with no bucket at all. */
static int make_room(struct drm_clients *clients)
{
	const size_t count = clients->bucket_count ? 2 * clients->bucket_count : FIRST_BUCKETS;
	struct client **buckets;

	if (clients->known < clients->bucket_count)
		return 0;
	buckets = calloc(count, sizeof(*buckets));
	if (!buckets)
		return clients->bucket_count ? 0 : -ENOMEM;
	for (size_t n = 0; n < clients->bucket_count; n++)
		for (struct client *c = clients->buckets[n], *next; c; c = next) {
			next = c->next;
			insert_client(buckets, count, c);
		}
	free(clients->buckets);
	clients->buckets = buckets;
	clients->bucket_count = count;
	return 0;
}

static void free_client(struct client *c)
{
	free(c->values);
	free(c->cgroup);
	free(c->key);
	free(c);
}

static void drop_client(struct drm_clients *clients, struct client *c)
{
	struct client **at = &clients->buckets[c->hash & (clients->bucket_count - 1)];

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	clients->known--;
	free_client(c);
}

/* Return: 0; -ENOMEM. */
static int list_client(struct drm_clients *clients, struct client *c)
{
	struct client **list = realloc(clients->list, (clients->count + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	clients->list = list;
	list[clients->count++] = c;
	return 0;
}

static struct client *add_client(struct drm_clients *clients, const char *key)
{
	struct client *c = NULL;

	if (make_room(clients))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c)
		c->key = strdup(key);
	if (!c || !c->key || attach_first(clients, c) || list_client(clients, c)) {
		if (c)
			free_client(c);
		return NULL;
	}
	c->hash = perfctr_hash(key);
	c->is_new = true;
	insert_client(clients->buckets, clients->bucket_count, c);
	clients->known++;
	return c;
}

/* Remember a client that ended in place of the one that ended DRM_ENDED_CLIENTS before it. */
static void remember(struct drm_clients *clients, struct client *c)
{
	struct client **place = &clients->ended[clients->ended_count++ % DRM_ENDED_CLIENTS];

	if (*place)
		drop_client(clients, *place);
	*place = c;
	c->state = CLIENT_ENDED;
	free(c->cgroup);
	c->cgroup = NULL;
}

/* Return: 0; -ENOMEM. */
static int revive(struct drm_clients *clients, struct client *c)
{
	if (c->state != CLIENT_ENDED)
		return 0;
	if (list_client(clients, c))
		return -ENOMEM;
	for (size_t n = 0; n < DRM_ENDED_CLIENTS; n++)
		if (clients->ended[n] == c)
			clients->ended[n] = NULL;
	return 0;
}

static void tell(const struct drm_clients *clients, const struct client *client,
		 const struct value *v)
{
	const struct drm_counter *c = &clients->counters[v->counter];
	const bool is_here = client->state == CLIENT_LIVE && v->is_here;

	if (is_here || v->meter.total || v->lost)
		clients->used(clients->used_arg,
			      &(struct perfctr_client_use){
				      .event = c->event,
				      .cgroup = client->cgroup ? client->cgroup : "",
				      .command = client->command,
				      .ns = v->meter.total,
				      .engines = c->engines,
				      .pid = (int32_t)client->pid,
				      .is_here = is_here,
				      .lost = v->lost,
			      });
}

/* Move what a client did into the counters. */
static void settle(struct drm_clients *clients, struct client *client)
{
	for (size_t n = 0; n < client->value_count; n++) {
		struct value *v = &client->values[n];
		struct drm_counter *c = &clients->counters[v->counter];

		if (clients->used)
			tell(clients, client, v);
		c->lost |= v->lost;
		v->lost = false;
		if (!drm_is_count(c->config))
			continue;
		c->growth += v->meter.total;
		v->meter.total = 0;
	}
}

/* What a client that ended did since its last reading is lost. */
static void end_client(struct drm_clients *clients, struct client *client, uint64_t now_ns)
{
	const uint64_t lost_ns = now_ns - client->read_ns;

	client->state = CLIENT_MISSING;
	for (size_t n = 0; n < client->value_count; n++) {
		client->values[n].is_here = false;
		if (!client->values[n].meter.read)
			continue;
		client->values[n].lost = true;
		if (lost_ns > clients->lost_ns)
			clients->lost_ns = lost_ns;
	}
	settle(clients, client);
}

/* --- all of them -------------------------------------------------------------------- */

/* Whether the id of a client is that of another one by now. */
static bool is_another(const struct drm_clients *clients, const struct client *client,
		       const struct drm_file *file, const char *text)
{
	const bool is_same_process = client->pid == file->pid;

	if (client->seen)
		return false;
	if (is_lower(clients, client, file, text))
		return client->state != CLIENT_LIVE || !is_same_process;
	return client->state == CLIENT_ENDED && !is_same_process;
}

static int see_client(void *arg, const struct drm_file *file, const char *text)
{
	struct drm_clients *clients = arg;
	struct client *c = find_client(clients, file->client);
	size_t first = 0;

	if (c && is_another(clients, c, file, text)) {
		if (c->state == CLIENT_LIVE)
			end_client(clients, c, perfctr_time_raw_ns());
		c->value_count = 0;
		if (attach_first(clients, c))
			return -ENOMEM;
		c->read_ns = 0;
		c->is_new = true;
	}
	if (!c)
		c = add_client(clients, file->client);
	if (!c || revive(clients, c))
		return -ENOMEM;
	c->state = CLIENT_LIVE;
	if (clients->used && !c->seen && get_to_know(clients, c, file, text))
		return -ENOMEM;
	/* its other files have the same values, which other processes may count */
	if (c->seen)
		first = c->value_count;
	if (attach(clients, c, file->pid))
		return -ENOMEM;
	if (c->seen) {
		if (first < c->value_count)
			take_values(clients, c, first, file, text);
		return 0;
	}
	c->pid = file->pid;
	snprintf(c->path, sizeof(c->path), "%s", file->path);
	memcpy(c->sysfs, file->sysfs, sizeof(c->sysfs));
	c->seen = true;
	take_values(clients, c, first, file, text);
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
		take_values(clients, client, 0, &f, text);
	free(text);
	return is_same;
}

static void look(struct drm_clients *clients, uint64_t now_ns)
{
	const uint64_t begin_ns = perfctr_time_raw_ns();
	size_t kept = 0;

	for (size_t n = 0; n < clients->count; n++)
		clients->list[n]->seen = false;
	drm_scan(clients->ctx, see_client, clients);
	clients->slept = drm_read_wakes(clients->ctx->sys, "");
	clients->next_look_ns = now_ns + MIN_LOOK_NS + 50 * (perfctr_time_raw_ns() - begin_ns);
	for (size_t n = 0; n < clients->count; n++) {
		struct client *c = clients->list[n];

		c->is_new = false;
		/* the search may have missed it, as a folder that is read changes */
		if (!c->seen && c->state == CLIENT_LIVE && !reread(clients, c))
			end_client(clients, c, now_ns);
		if (c->state == CLIENT_LIVE)
			clients->list[kept++] = c;
		else
			remember(clients, c);
	}
	clients->count = kept;
}

/* Count what the clients did, as part of the engines. */
static void add_growth(struct drm_counter *c)
{
	c->value += c->growth / c->engines * c->assumed;
	c->rest += c->growth % c->engines * c->assumed;
	c->value += c->rest / c->engines;
	c->rest %= c->engines;
	c->growth = 0;
}

/* Add up the counters of a client that is there. */
static void add_client_up(struct drm_clients *clients, const struct client *client)
{
	for (size_t n = 0; n < client->value_count; n++) {
		const struct value *v = &client->values[n];
		struct drm_counter *c = &clients->counters[v->counter];

		if (!v->is_here)
			continue;
		c->is_here = true;
		c->sum += v->meter.last;
		c->largest = v->meter.last > c->largest ? v->meter.last : c->largest;
	}
}

/* Step a clock once a reading: that of all clients, for all processes. */
static void step_clock(const struct drm_clients *clients, struct drm_counter *c)
{
	const struct drm_counter *leader = c->pid ? &clients->counters[c->leader] : c;

	if (!leader->is_here)
		return;
	if (c->clock.read) {
		c->lost |= meter_step(&c->clock, leader->largest);
		return;
	}
	meter_begin(&c->clock, leader->largest);
	c->lost |= clients->started;
}

/* The value of a counter whose clients were added up. */
static void finish(struct drm_clients *clients, struct drm_counter *c)
{
	c->seen |= c->is_here;
	if (c->config == DRM_CLOCK)
		step_clock(clients, c);
	if (drm_is_count(c->config))
		add_growth(c);
	else
		c->value = c->config == DRM_CLOCK     ? c->clock.total :
			   c->config == DRM_FREQUENCY ? c->largest :
							c->sum;
	/* of clocks nothing is known without a client; the rest of them is zero then */
	c->measured = c->seen;
	if (c->config == DRM_CLOCK)
		c->measured &= (c->pid ? &clients->counters[c->leader] : c)->is_here;
	else if (c->config == DRM_FREQUENCY)
		c->measured &= c->is_here;
	else if (c->seen && drm_is_count(c->config))
		c->measured = drm_measures(clients->ctx, c->driver, c->place, c->config, NULL, 0);
}

void drm_clients_read(struct drm_clients *clients, uint64_t now_ns)
{
	if (now_ns >= clients->next_look_ns)
		look(clients, now_ns);
	else
		for (size_t n = 0; n < clients->count; n++)
			if (clients->list[n]->state == CLIENT_LIVE &&
			    !reread(clients, clients->list[n]))
				end_client(clients, clients->list[n], now_ns);
	for (size_t n = 0; n < clients->counter_count; n++) {
		clients->counters[n].is_here = false;
		clients->counters[n].sum = clients->counters[n].largest = 0;
	}
	for (size_t n = 0; n < clients->count; n++) {
		settle(clients, clients->list[n]);
		add_client_up(clients, clients->list[n]);
	}
	for (size_t n = 0; n < clients->counter_count; n++)
		finish(clients, &clients->counters[n]);
}

static void forget(struct drm_clients *clients)
{
	for (size_t n = 0; n < clients->bucket_count; n++)
		for (struct client *c = clients->buckets[n], *next; c; c = next) {
			next = c->next;
			free_client(c);
		}
	free(clients->buckets);
	clients->buckets = NULL;
	clients->bucket_count = clients->known = clients->count = clients->ended_count = 0;
	memset(clients->ended, 0, sizeof(clients->ended));
	for (size_t n = 0; n < clients->counter_count; n++) {
		clients->counters[n].clock = (struct meter){ 0 };
		clients->counters[n].seen = clients->counters[n].lost = false;
		clients->counters[n].value = clients->counters[n].growth = 0;
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
	for (size_t n = 0; n < clients->counter_count; n++)
		free(clients->counters[n].event);
	free(clients->list);
	free(clients->counters);
	free(clients->processes);
	*clients = (struct drm_clients){ 0 };
}
