// SPDX-License-Identifier: MIT
/*
 * A day of a machine of a fleet: 100,000 GPU clients come and go, each in a pod of its own, under
 * an exporter with --per-client, which is scraped, and a local session as "perfctr record" has one.
 * CPU time for the last tenth, beside that of others that begin then, which a busy machine slows as
 * much; memory that came after the first tenth. Prints JSON.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "client_churn.h"
#include "exporter/exporter.h"

enum { PARTS = 10, GENERATIONS = 1000, SCRAPED = 20 /* a scrape for so many */ };

/* the exporter's account of clients, with the time of the benchmark */
struct perfctr_clients {
	struct drm_clients all;
	uint64_t now_ns;
	perfctr_client_use_fn fn;
	void *data;
};

/* an exporter and a local session, and what they took */
struct fleet {
	struct exporter e;
	struct drm_clients record;
	double exporter_us, record_us;
	unsigned int clients; /* that it saw come and go */
};

/* Pods instead of the units of the model. */
static void pass_on(void *arg, const struct perfctr_client_use *use)
{
	const struct perfctr_clients *clients = arg;
	const unsigned int id = (unsigned int)strtoul(use->command + strlen("app"), NULL, 10);
	struct perfctr_client_use of_pod = *use;
	char cgroup[128];

	snprintf(cgroup, sizeof(cgroup), "0::/kubepods/pod%032x/%064x", id, id);
	of_pod.cgroup = cgroup;
	clients->fn(clients->data, &of_pod);
}

/* these three are in the place of the library's, whose time is that of the machine */
int perfctr_clients_new(struct perfctr_ctx *ctx, struct perfctr_clients **clients)
{
	struct perfctr_clients *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->all.ctx = ctx;
	c->all.used = pass_on;
	c->all.used_arg = c;
	drm_clients_start(&c->all);
	*clients = c;
	return 0;
}

void perfctr_clients_read(struct perfctr_clients *clients, perfctr_client_use_fn fn, void *data)
{
	clients->fn = fn;
	clients->data = data;
	drm_clients_read(&clients->all, clients->now_ns++);
}

struct perfctr_clients *perfctr_clients_unref(struct perfctr_clients *clients)
{
	drm_clients_free(&clients->all);
	free(clients);
	return NULL;
}

static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int begin(struct fleet *f, struct app *app)
{
	int error;

	*f = (struct fleet){
		.e = { .app = app, .per_client = true, .uses.limit = DEFAULT_SERIES },
		.record.ctx = app->ctx,
	};
	error = uses_open(app, &f->e.uses);
	error = error ? error : drm_clients_add(&f->record, ENGINE_TIME, DRM_TIME, 0, 0);
	drm_clients_start(&f->record);
	return error;
}

static void end(struct fleet *f)
{
	uses_free(&f->e.uses);
	drm_clients_free(&f->record);
}

static int read_both(struct fleet *f, uint64_t record_ns)
{
	const double start = cpu_us();
	const int error = uses_read(&f->e.uses);
	const double middle = cpu_us();

	drm_clients_read(&f->record, record_ns);
	f->exporter_us += middle - start;
	f->record_us += cpu_us() - middle;
	return error;
}

static int scrape(struct fleet *f)
{
	const double start = cpu_us();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error = out ? text_write(out, &f->e, true, true) : -ENOMEM;

	if (out)
		fclose(out);
	free(text);
	f->exporter_us += cpu_us() - start;
	return error;
}

/* A generation of clients, as proc_live_and_end() has it. */
static int live_and_end(struct fleet *f, unsigned int first)
{
	const uint64_t record_ns = f->record.next_look_ns;
	int error;

	for (unsigned int n = 0; n < GENERATION; n++)
		proc_add(1000 + n, first + n, 3);
	f->e.uses.clients->now_ns = f->e.uses.clients->all.next_look_ns;
	error = read_both(f, record_ns);
	for (size_t n = 0; n < proc.count; n++)
		proc.clients[n].busy_ns += 4;
	error = error ? error : read_both(f, record_ns + 1);
	proc.count = 0;
	error = error ? error : read_both(f, record_ns + 2);
	f->clients += GENERATION;
	return error;
}

/* What the exporter counted, in nanoseconds. */
static uint64_t sum_of(const struct uses *uses)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < uses->engine_count; n++)
		sum += uses->engines[n].other_ns + uses->engines[n].ended_ns;
	for (size_t n = 0; n < uses->count; n++)
		sum += uses->series[n]->ns;
	return sum;
}

/* Whether all that clients did is in the counts once. */
static bool is_exact(const struct fleet *f)
{
	return f->record.counters[0].value == 7ull * f->clients &&
	       sum_of(&f->e.uses) == 7ull * f->clients && f->e.uses.count == DEFAULT_SERIES &&
	       !f->e.uses.engines[0].other_ns;
}

static double allocated_kb(void)
{
	const struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd) / 1e3;
}

int main(void)
{
	struct app app = { .name = "exporter" };
	struct fleet fleets[2], *old = &fleets[0], *new = &fleets[1];
	double first_kb = 0, last_kb = 0;
	unsigned int id = 0;
	int error = perfctr_ctx_new_with(&proc_sys, &app.ctx);

	error = error ? error : begin(old, &app);
	for (unsigned int part = 0; !error && part < PARTS; part++) {
		const bool is_last = part == PARTS - 1;

		if (is_last) {
			last_kb = allocated_kb();
			old->exporter_us = old->record_us = 0;
			error = begin(new, &app);
		}
		for (unsigned int g = 1; !error && g <= GENERATIONS; g++, id += GENERATION) {
			for (unsigned int n = 0; !error && n < (is_last ? 2 : 1); n++) {
				error = live_and_end(&fleets[n], id);
				if (!error && g % SCRAPED == 0)
					error = scrape(&fleets[n]);
			}
		}
		first_kb = part ? first_kb : allocated_kb();
	}
	if (error || !is_exact(old) || !is_exact(new)) {
		fprintf(stderr, "bench-fleet: counts are missing, or too many: %d\n", error);
		return 1;
	}
	printf("{\"ended\": %u, \"each\": %u, \"exporter_us\": %.2f, \"exporter_peer_us\": %.2f, "
	       "\"exporter_ratio\": %.3f, \"record_us\": %.2f, \"record_peer_us\": %.2f, "
	       "\"record_ratio\": %.3f, \"memory_kb\": %.1f, \"grown_kb\": %.1f}\n",
	       id, new->clients, old->exporter_us / new->clients, new->exporter_us / new->clients,
	       old->exporter_us / new->exporter_us, old->record_us / new->clients,
	       new->record_us / new->clients, old->record_us / new->record_us, last_kb,
	       last_kb - first_kb);
	end(old);
	end(new);
	perfctr_ctx_unref(app.ctx);
	return 0;
}
