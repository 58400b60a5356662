// SPDX-License-Identifier: MIT
/* The context: log and error text. */
#include "ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {
	[PERFCTR_LOG_NONE] = "none",	   [PERFCTR_LOG_ERROR] = "error",
	[PERFCTR_LOG_WARNING] = "warning", [PERFCTR_LOG_INFO] = "info",
	[PERFCTR_LOG_DEBUG] = "debug",
};

int ctx_new(const struct perfctr_sys *sys, const struct reading_ops *readings,
	    struct perfctr_ctx **ctx)
{
	const char *wanted = getenv("PERFCTR_LOG");
	struct perfctr_ctx *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	atomic_init(&c->refs, 1);
	c->sys = sys;
	c->readings = readings;
	for (size_t n = 0; wanted && n < ARRAY_SIZE(level_names); n++) {
		if (!strcmp(wanted, level_names[n])) {
			c->log_level = (int)n;
			c->log_from_environment = true;
		}
	}
	*ctx = c;
	return 0;
}

static void free_ctx(struct perfctr_ctx *ctx)
{
	free(ctx->pmus);
	free(ctx->capacities);
	free(ctx->sensors);
	free(ctx);
}

DEFINE_REFS(EXPORT, perfctr_ctx, free_ctx)

EXPORT void perfctr_ctx_set_log(struct perfctr_ctx *ctx, perfctr_log_fn fn, void *data)
{
	ctx->log = fn;
	ctx->log_data = data;
}

EXPORT void perfctr_ctx_set_log_level(struct perfctr_ctx *ctx, int level)
{
	if (!ctx->log_from_environment)
		ctx->log_level = level;
}

EXPORT int perfctr_ctx_log_level(const struct perfctr_ctx *ctx)
{
	return ctx->log_level;
}

EXPORT const char *perfctr_ctx_error(const struct perfctr_ctx *ctx)
{
	return ctx->error;
}

static void log_text(struct perfctr_ctx *ctx, int level, const char *text)
{
	if (level > ctx->log_level)
		return;
	if (ctx->log)
		ctx->log(ctx->log_data, level, text);
	else
		fprintf(stderr, "perfctr: %s: %s\n", level_names[level], text);
}

void perfctr_log(struct perfctr_ctx *ctx, int level, const char *format, ...)
{
	char text[sizeof(ctx->error)];
	va_list args;

	if (level > ctx->log_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_text(ctx, level, text);
}

int perfctr_fail(struct perfctr_ctx *ctx, int error, const char *format, ...)
{
	char text[sizeof(ctx->error)];
	va_list args;

	/* the old text may be among the arguments */
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	memcpy(ctx->error, text, sizeof(text));
	log_text(ctx, PERFCTR_LOG_ERROR, ctx->error);
	return error;
}

int perfctr_no_memory(struct perfctr_ctx *ctx)
{
	return perfctr_fail(ctx, -ENOMEM, "out of memory");
}

int perfctr_take_struct(struct perfctr_ctx *ctx, const char *what, const void *from,
			size_t from_bytes, void *to, size_t to_bytes)
{
	const unsigned char *bytes = from;

	if (from_bytes < sizeof(size_t))
		return perfctr_fail(ctx, -EINVAL, "%s: its size is not set", what);
	for (size_t n = to_bytes; n < from_bytes; n++) {
		if (bytes[n])
			return perfctr_fail(
				ctx, -E2BIG,
				"%s: the program sets fields that this older library does not know",
				what);
	}
	memset(to, 0, to_bytes);
	memcpy(to, from, from_bytes < to_bytes ? from_bytes : to_bytes);
	return 0;
}
