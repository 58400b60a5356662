// SPDX-License-Identifier: MIT
/*
 * What clients of GPUs that ended cost a local session: CPU time of its readings after 100,000 of
 * them, beside that after the first 2,000. Prints JSON.
 */
#include <stdio.h>
#include <time.h>

#include "client_churn.h"

enum { ALL = 100000, FIRST = 2000, MEASURED = 2000 };

static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* CPU time of a reading while clients come and go, up to a client. */
static double live_up_to(struct drm_clients *clients, unsigned int *id, unsigned int last)
{
	const double begin = cpu_us();
	const unsigned int first = *id;

	for (; *id < last; *id += GENERATION)
		proc_live_and_end(clients, *id);
	return (cpu_us() - begin) / (3.0 * (*id - first) / GENERATION);
}

int main(void)
{
	struct drm_clients clients = { 0 };
	unsigned int id = 0;
	double early, late;

	if (perfctr_ctx_new_with(&proc_sys, &clients.ctx) ||
	    drm_clients_add(&clients, ENGINE_TIME, DRM_TIME, 0, 0))
		return 1;
	drm_clients_start(&clients);
	live_up_to(&clients, &id, FIRST);
	early = live_up_to(&clients, &id, FIRST + MEASURED);
	live_up_to(&clients, &id, ALL);
	late = live_up_to(&clients, &id, ALL + MEASURED);
	if (clients.counters[0].value != 7ull * id)
		return 1;
	printf("{\"ended\": %u, \"known\": %zu, \"reading_us\": %.2f, \"reading_peer_us\": %.2f, "
	       "\"ratio\": %.3f}\n",
	       id, clients.known, late, early, late / early);
	drm_clients_free(&clients);
	perfctr_ctx_unref(clients.ctx);
	return 0;
}
