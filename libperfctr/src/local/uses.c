// SPDX-License-Identifier: MIT
/* The account of DRM clients, each for itself. */
#include <stdlib.h>

#include "clients.h"

struct perfctr_clients {
	struct drm_clients all;
	/* inside perfctr_clients_read() */
	perfctr_client_use_fn fn;
	void *data;
};

static void pass_on(void *arg, const struct perfctr_client_use *use)
{
	const struct perfctr_clients *clients = arg;

	if (clients->fn)
		clients->fn(clients->data, use);
}

EXPORT int perfctr_clients_new(struct perfctr_ctx *ctx, struct perfctr_clients **clients)
{
	struct perfctr_clients *c = calloc(1, sizeof(*c));

	if (!c)
		return perfctr_no_memory(ctx);
	c->all.ctx = perfctr_ctx_ref(ctx);
	c->all.used = pass_on;
	c->all.used_arg = c;
	drm_clients_start(&c->all);
	*clients = c;
	return 0;
}

EXPORT void perfctr_clients_read(struct perfctr_clients *clients, perfctr_client_use_fn fn,
				 void *data)
{
	clients->fn = fn;
	clients->data = data;
	drm_clients_read(&clients->all, perfctr_time_raw_ns());
	clients->fn = NULL;
}

EXPORT struct perfctr_clients *perfctr_clients_unref(struct perfctr_clients *clients)
{
	struct perfctr_ctx *ctx = clients ? clients->all.ctx : NULL;

	if (!clients)
		return NULL;
	clients->fn = NULL;
	drm_clients_free(&clients->all);
	perfctr_ctx_unref(ctx);
	free(clients);
	return NULL;
}
