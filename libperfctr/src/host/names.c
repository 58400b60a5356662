// SPDX-License-Identifier: MIT
/* Counters that a driver names at run time become a product of this process. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/catalogue.h"
#include "host.h"
#include "kernel.h"

struct names {
	struct perfctr_counter_desc *counters; /* NULL: count only */
	size_t count, bytes;
	char *at; /* where the next text goes */
};

static const char *keep(struct names *names, const char *text)
{
	const char *kept = names->at;

	names->bytes += strlen(text) + 1;
	if (names->counters)
		names->at = stpcpy(names->at, text) + 1;
	return kept;
}

/* Names are words of events; texts are printed. */
static void clean(struct host_text *text)
{
	for (char *c = text->name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '_';
	perfctr_clean_text(text->unit);
	perfctr_clean_text(text->text);
}

static uint8_t kind_of(const char *unit)
{
	return !strcmp(unit, "cycles") ? PERFCTR_KIND_CYCLES :
	       !strcmp(unit, "bytes")  ? PERFCTR_KIND_BYTES :
	       !strcmp(unit, "ns")     ? PERFCTR_KIND_TIME :
					 PERFCTR_KIND_COUNT;
}

static void add_counter(struct names *names, const struct drm_perfctr_block_desc *desc,
			unsigned int position, const struct host_text *text)
{
	char id[128];
	struct perfctr_counter_desc counter = {
		.sets = desc->sets,
		.block_type = desc->type,
		.position = (uint16_t)position,
		.clock = desc->clock,
		.kind = kind_of(text->unit),
		.pmu = "",
	};

	snprintf(id, sizeof(id), "driver.%u.%s", desc->type, text->name);
	counter.id = keep(names, id);
	counter.name = keep(names, text->name);
	counter.short_text = counter.long_text = keep(names, text->text);
	counter.unit = keep(names, text->unit);
	if (names->counters)
		names->counters[names->count] = counter;
	names->count++;
}

static bool is_first_of_type(const struct host_source *hs, unsigned int block)
{
	for (unsigned int n = 0; n < block; n++)
		if (hs->source.descs[n].type == hs->source.descs[block].type)
			return false;
	return true;
}

static void add_source(struct names *names, const struct host_source *hs)
{
	for (unsigned int n = 0; n < hs->source.block_count; n++) {
		const struct drm_perfctr_block_desc *desc = &hs->source.descs[n];

		for (unsigned int i = 0; is_first_of_type(hs, n) && i < desc->counters; i++) {
			struct host_text text = { 0 };

			if (hs->describe(hs, n, i, &text) || !*text.name)
				continue;
			clean(&text);
			add_counter(names, desc, i, &text);
		}
	}
}

static void add_all(struct names *names, const struct host *host)
{
	for (unsigned int i = 0; i < host->source_count; i++)
		if (host->sources[i]->describe)
			add_source(names, host->sources[i]);
}

int host_take_names(struct host *host)
{
	struct names names = { 0 };
	struct database_rows *rows;
	unsigned int product;

	add_all(&names, host);
	if (!names.count)
		return 0;
	rows = rows_new(names.count, 0, names.bytes);
	if (!rows)
		return perfctr_no_memory(host->ctx);
	names = (struct names){ .counters = (struct perfctr_counter_desc *)rows->counters };
	names.at = (char *)(rows->counters + rows->counter_count);
	add_all(&names, host);
	product = database_describe(host->config.name, rows);
	if (!product)
		return perfctr_no_memory(host->ctx);
	host->config.product = (u16)product;
	for (unsigned int i = 0; i < host->source_count; i++) {
		struct host_source *hs = host->sources[i];

		for (unsigned int n = 0; hs->describe && n < hs->source.block_count; n++)
			hs->source.blocks[n].desc.product = (u16)product;
	}
	return 0;
}
